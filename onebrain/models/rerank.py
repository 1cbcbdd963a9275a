"""Cross-encoders: one the user supplies, through fastembed, or our compact one; with neither, the evidence score stands alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from onebrain.errors import ModelUnavailable
from onebrain.models.compact import SHIPPED, CompactReranker
from onebrain.models.embed import E5Embedder
from onebrain.models.folders import MODEL_FILES, ModelFolder, open_folder
from onebrain.models.lazy import Lazy, free_cores
from onebrain.models.ports import Floats, Reranker
from onebrain.models.words import WordTable

_BATCH = 4


class FastembedReranker:
    """A Reranker over `fastembed.TextCrossEncoder` and a folder of the user's."""

    def __init__(self, folder: ModelFolder, cache_dir: Path, threads: int | None = None) -> None:
        self._folder = folder
        self._cache_dir = cache_dir
        self._threads = threads or free_cores()
        self._model: Lazy[Any] = Lazy(self._load, 1, "rerank")

    @property
    def model_id(self) -> str:
        return self._folder.model_id

    def score(self, query: str, passages: Sequence[str]) -> Floats:
        if not passages:
            return np.zeros(0, np.float32)
        order = sorted(range(len(passages)), key=lambda index: len(passages[index].encode()))
        scores = np.zeros(len(passages), np.float32)
        scores[order] = list(self._model.get().rerank(query, [passages[index] for index in order], batch_size=_BATCH))
        return scores

    def unload(self) -> None:
        self._model.unload()

    def _load(self) -> Any:
        from fastembed.rerank.cross_encoder import TextCrossEncoder
        from loguru import logger

        logger.disable("fastembed")  # it reports on our stderr what the error below says
        try:
            return TextCrossEncoder(
                _register(self._folder),
                cache_dir=str(self._cache_dir),
                threads=self._threads,
                providers=["CPUExecutionProvider"],
                local_files_only=True,
                specific_model_path=str(self._folder.path),
            )
        except Exception as error:  # fastembed and onnxruntime raise types of their own, all meaning: this model can't be used
            hint = f"use a folder with one of {', '.join(MODEL_FILES)}"
            raise ModelUnavailable(f"The cross-encoder {self._folder.path} can't be loaded: {error}", hint=hint) from error


def make_reranker(folder: Path | None, cache_dir: Path, embedder: E5Embedder | None, model: ModelFolder | None) -> Reranker | None:
    """The cross-encoder in `folder`, else our compact one, which `embedder` and its folder `model` lend words and tokens; None when there
    is none. Raises ModelUnavailable for a folder that holds no model."""
    if folder is not None:
        return FastembedReranker(open_folder(folder), cache_dir)
    if embedder is None or model is None or not SHIPPED.is_file() or not WordTable.exists(model.path):
        return None
    return CompactReranker(model.path, embedder.token_ids)


def _register(folder: ModelFolder) -> str:
    from fastembed.common.model_description import ModelSource
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    name = f"onebrain/{folder.fingerprint}/{folder.model_file}"
    if not any(known["model"].lower() == name.lower() for known in TextCrossEncoder.list_supported_models()):
        # The source is a required field and never used: `specific_model_path` comes first.
        TextCrossEncoder.add_custom_model(name, sources=ModelSource(hf=name), model_file=folder.model_file)
    return name

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
from onebrain.models.ports import Floats, Reranker, RerankSettings
from onebrain.models.words import WordTable

_BATCH = 4


class FastembedReranker:
    """A Reranker over `fastembed.TextCrossEncoder`: a local folder, or a model that `download_reranker` put into the cache."""

    def __init__(self, settings: RerankSettings, cache_dir: Path) -> None:
        self._folder: ModelFolder | None = open_folder(settings.folder) if settings.folder else None
        self._model_name = settings.model or ""
        self._cache_dir = cache_dir
        self._threads = settings.threads or free_cores()
        self._model: Lazy[Any] = Lazy(self._load, 1, "rerank")

    @property
    def model_id(self) -> str:
        return self._folder.model_id if self._folder else self._model_name

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
        name = _register(self._folder) if self._folder else self._model_name
        folder = str(self._folder.path) if self._folder else None
        return _cross_encoder(name, self._cache_dir, self._threads, folder=folder, offline=True)


def make_reranker(settings: RerankSettings, cache_dir: Path, embedder: E5Embedder | None, model: ModelFolder | None) -> Reranker | None:
    """The cross-encoder to use, None when there is none. `embedder` and its folder `model` lend the compact one words and tokens."""
    if settings.folder is not None or settings.model is not None:
        return FastembedReranker(settings, cache_dir)
    if not settings.compact or embedder is None or model is None or not SHIPPED.is_file() or not WordTable.exists(model.path):
        return None
    return CompactReranker(model.path, embedder.token_ids, threads=settings.threads)


def download_reranker(name: str, cache_dir: Path) -> None:
    """Fetch one of fastembed's cross-encoders into the cache. Only for `onebrain search model prepare --download`."""
    _cross_encoder(name, cache_dir, 1, folder=None, offline=False)


def _register(folder: ModelFolder) -> str:
    from fastembed.common.model_description import ModelSource
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    name = f"onebrain/{folder.fingerprint}/{folder.model_file}"
    if not any(known["model"].lower() == name.lower() for known in TextCrossEncoder.list_supported_models()):
        # The source is a required field and never used: `specific_model_path` comes first.
        TextCrossEncoder.add_custom_model(name, sources=ModelSource(hf=name), model_file=folder.model_file)
    return name


def _cross_encoder(name: str, cache_dir: Path, threads: int, *, folder: str | None, offline: bool) -> Any:
    from fastembed.rerank.cross_encoder import TextCrossEncoder
    from loguru import logger

    logger.disable("fastembed")  # it reports on our stderr what the error below says
    options: dict[str, Any] = {"specific_model_path": folder} if folder else {}
    try:
        return TextCrossEncoder(
            name, cache_dir=str(cache_dir), threads=threads, providers=["CPUExecutionProvider"], local_files_only=offline, **options
        )
    except Exception as error:  # fastembed and onnxruntime raise types of their own, all meaning: this model can't be used
        hint = f"use a folder with one of {', '.join(MODEL_FILES)}, or `onebrain search model prepare --download`"
        raise ModelUnavailable(f"The cross-encoder {folder or name} can't be loaded: {error}", hint=hint) from error

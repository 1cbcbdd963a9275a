"""The embedder: multilingual-e5-small through fastembed, from a folder, never from the network.

One text per run and one run per core. The int8 layers scale per token, so a text on its own gives the same vector as in any batch; and on
two cores two runs of one thread each are faster than one run of two threads (measured: 50 against 40 chunks/s), need no padding and no
spinning threads, and leave a question at most one core away from its answer.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np

from onebrain.errors import ModelUnavailable
from onebrain.models.folders import ModelFolder
from onebrain.models.lazy import Lazy
from onebrain.models.ports import Floats

QUERY_PREFIX = "query: "
PASSAGE_PREFIX = "passage: "
_REMEMBERED = 256  # query vectors, 1.5 kB each


class E5Embedder:
    """An Embedder over a model folder; loads on first use, safe to call from several threads."""

    def __init__(self, folder: ModelFolder, threads: int | None = None) -> None:
        self._folder = folder
        self._model: Lazy[Any] = Lazy(lambda: _load(folder), threads, "embed")
        self._queries: OrderedDict[str, Floats] = OrderedDict()
        self._queries_lock = Lock()

    @property
    def model_id(self) -> str:
        return self._folder.model_id

    @property
    def fingerprint(self) -> str:
        return self._folder.fingerprint

    @property
    def dim(self) -> int:
        return self._folder.dim

    @property
    def loaded(self) -> bool:
        return self._model.loaded

    def embed_query(self, text: str) -> Floats:
        """(dim,) read-only; recent questions are remembered."""
        with self._queries_lock:
            known = self._queries.get(text)
            if known is not None:
                self._queries.move_to_end(text)
                return known
        vector = _embed(self._model.get(), QUERY_PREFIX + text)
        vector.flags.writeable = False
        with self._queries_lock:
            self._queries[text] = vector
            while len(self._queries) > _REMEMBERED:
                self._queries.popitem(last=False)
        return vector

    def embed_passages(self, texts: Sequence[str]) -> Floats:
        """(len(texts), dim); texts beyond 512 tokens are read up to there."""
        if not texts:
            return np.zeros((0, self.dim), np.float32)
        return np.stack(self._model.each(lambda model, text: _embed(model, PASSAGE_PREFIX + text), texts))

    def token_ids(self, text: str) -> list[int]:
        """Ids of `text` without special tokens, at most 512; the cross-encoder reads with the same tokenizer."""
        ids: list[int] = self._model.get().model.tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def unload(self) -> None:
        """Drop the model; remembered questions stay."""
        self._model.unload()


def _embed(model: Any, text: str) -> Floats:
    vector: Floats = next(iter(model.embed([text], batch_size=1)))
    return vector.astype(np.float32, copy=False)


def _load(folder: ModelFolder) -> Any:
    """A fastembed model bound to the folder: a local path leaves it nothing to fetch."""
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    name = f"onebrain/{folder.fingerprint}/{folder.model_file}"
    if not any(known["model"].lower() == name.lower() for known in TextEmbedding.list_supported_models()):
        # The source is a required field and never used: `specific_model_path` comes first.
        TextEmbedding.add_custom_model(
            name, PoolingType.MEAN, True, ModelSource(hf=name), folder.dim, model_file=folder.model_file, license="mit"
        )
    try:
        model = TextEmbedding(
            name,
            cache_dir=str(folder.path),
            threads=1,
            providers=["CPUExecutionProvider"],
            specific_model_path=str(folder.path),
            local_files_only=True,
        )
        size = int(_embed(model, "").shape[0])
    except Exception as error:  # onnxruntime and tokenizers raise types of their own, all meaning: these files don't work
        message = f"The embedding model in {folder.path} can't be loaded: {error}"
        raise ModelUnavailable(message, hint="remove it with `onebrain search model remove`, then prepare it again") from error
    if size != folder.dim:
        message = f"The model in {folder.path} makes vectors of {size}, not {folder.dim}."
        raise ModelUnavailable(message, hint="correct hidden_size in its config.json")
    return model

"""Our own cross-encoder: the six lowest layers of e5, trained to say how well a passage answers a question.

It reads `<s> question </s></s> passage </s>` as word vectors from the table that the embedder already has on disk, so the file itself is
small. One pair per run, one run per core, for the reasons given in `embed`: a pair's logit never depends on the other candidates.
Inputs `word_vectors` (b, s, 384) float32, `attention_mask` and `token_type` (b, s) int64, 1 on passage tokens; output `logit` (b,).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebrain.errors import ModelUnavailable
from onebrain.models.folders import sha256
from onebrain.models.lazy import Lazy
from onebrain.models.ports import Floats
from onebrain.models.words import WordTable

SHIPPED = Path(__file__).parent / "data" / "reranker.onnx"
MAX_QUERY = 40  # tokens; the graph's head looks at 44 places for the question
MAX_PAIR = 192  # tokens in all, as trained
BOS, EOS = 0, 2


@dataclass(frozen=True, slots=True)
class _Loaded:
    """Dropped together, so an idle process holds no pages of the table."""

    session: Any
    words: WordTable


class CompactReranker:
    """A Reranker over one ONNX file, the word table of a converted model and the embedder's tokenizer.

    Loads on first use, safe to call from several threads.
    """

    def __init__(
        self, words_folder: Path, token_ids: Callable[[str], Sequence[int]], path: Path = SHIPPED, threads: int | None = None
    ) -> None:
        self._token_ids = token_ids
        self._path = path
        self._model: Lazy[_Loaded] = Lazy(lambda: _load(path, words_folder), threads, "rerank")

    @cached_property
    def model_id(self) -> str:
        return f"compact:{sha256(self._path)[:16]}"

    def score(self, query: str, passages: Sequence[str]) -> Floats:
        """(len(passages),) logits; empty in, empty out."""
        question = self._token_ids(query) if passages else ()
        return np.array(self._model.each(lambda model, text: self._logit(model, question, text), passages), np.float32)

    def unload(self) -> None:
        self._model.unload()

    def _logit(self, model: _Loaded, question: Sequence[int], passage: str) -> float:
        ids, types = pair(question, self._token_ids(passage))
        vectors = model.words.rows(ids[None])
        inputs = {"word_vectors": vectors, "attention_mask": np.ones((1, len(ids)), np.int64), "token_type": types[None]}
        return float(model.session.run(["logit"], inputs)[0][0])


def pair(question: Sequence[int], passage: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Token ids (s,) and types (s,) of one pair, s ≤ 192: the question is cut at 40 tokens, the passage to what is left."""
    question = question[:MAX_QUERY]
    passage = passage[: MAX_PAIR - len(question) - 4]
    ids = np.array([BOS, *question, EOS, EOS, *passage, EOS], np.int64)
    types = np.zeros(len(ids), np.int64)
    types[len(question) + 3 :] = 1
    return ids, types


def _load(path: Path, words_folder: Path) -> _Loaded:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        return _Loaded(session, WordTable(words_folder))
    except Exception as error:  # onnxruntime raises types of its own, all meaning: this file doesn't work
        raise ModelUnavailable(f"The cross-encoder {path} can't be loaded: {error}", hint="reinstall onebrain") from error

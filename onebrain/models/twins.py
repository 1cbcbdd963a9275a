"""In-memory twins of the ports: no weights, no time, the same answers everywhere. For tests, and they pass the ports' contract."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from onebrain.models.ports import Floats, WriterUnavailable

_WORD = re.compile(r"\w+")


class HashEmbedder:
    """Character 3-grams hashed into 64 signed buckets: texts that share spelling are near, nothing else is."""

    model_id = "hash-3gram"
    fingerprint = "hash-3gram-1"
    dim = 64

    def __init__(self) -> None:
        self.embedded: list[str] = []  # every passage ever asked for, so tests can count what was embedded again

    def embed_query(self, text: str) -> Floats:
        return self._vector(text)

    def embed_passages(self, texts: Sequence[str]) -> Floats:
        self.embedded.extend(texts)
        return np.stack([self._vector(text) for text in texts]) if texts else np.zeros((0, self.dim), np.float32)

    def unload(self) -> None:
        """Nothing is held."""

    def _vector(self, text: str) -> Floats:
        vector = np.zeros(self.dim, np.float32)
        padded = f" {' '.join(text.lower().split())} "
        for start in range(max(1, len(padded) - 2)):
            digest = hashlib.blake2b(padded[start : start + 3].encode(), digest_size=2).digest()
            vector[digest[0] % self.dim] += 1.0 if digest[1] & 1 else -1.0
        length = float(np.linalg.norm(vector))
        if length == 0.0:  # signs can cancel out; any fixed direction keeps the promise of unit length
            vector[0] = length = 1.0
        return vector / np.float32(length)


class OverlapReranker:
    """Logit from the share of question words that the passage has: all of them +4, none -4."""

    model_id = "word-overlap"

    def score(self, query: str, passages: Sequence[str]) -> Floats:
        asked = set(_WORD.findall(query.lower()))
        shares = [len(asked & set(_WORD.findall(text.lower()))) / max(1, len(asked)) for text in passages]
        return np.array([8.0 * share - 4.0 for share in shares], np.float32)

    def unload(self) -> None:
        """Nothing is held."""


class ConstantHyde:
    """Always the same passage; with None it is always unavailable."""

    name = "constant"

    def __init__(self, passage: str | None) -> None:
        self._passage = passage

    def write(self, question: str) -> str:
        if self._passage is None:
            raise WriterUnavailable("no passage writer")
        return self._passage

    def unload(self) -> None:
        """Nothing is held."""


class ConstantSynthesis:
    """Always the same reply; with None it is always unavailable. `asked` holds what it was sent."""

    name = "constant"

    def __init__(self, reply: str | None) -> None:
        self._reply = reply
        self.asked: list[tuple[str, str]] = []

    def write(self, instructions: str, quotes: str) -> str:
        self.asked.append((instructions, quotes))
        if self._reply is None:
            raise WriterUnavailable("no writer today")
        return self._reply

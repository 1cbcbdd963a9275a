"""Spellings seen in the vault, for typing errors. The word index keeps stems, and a misspelt word is near its spelling, not near a stem.

An append-only text file, one folded word a line. A word that has left the vault does no harm: suggestions are checked against the index.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from rapidfuzz import process
from rapidfuzz.distance import OSA


def allowed_distance(word: str) -> int:
    """How many typing errors a word of this length may hold: none under 4 letters, one up to 5, two above."""
    return 0 if len(word) < 4 else 1 if len(word) < 6 else 2


class Vocabulary:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._known: dict[str, None] | None = None
        self._by_length: dict[int, list[str]] = {}

    def _load(self) -> dict[str, None]:
        if self._known is None:
            try:
                lines = self._file.read_text(encoding="utf-8", errors="surrogatepass").split("\n")
            except FileNotFoundError:
                lines = []
            self._known = dict.fromkeys(word for word in lines if word)
            self._by_length = {}
            for word in self._known:
                self._by_length.setdefault(len(word), []).append(word)
        return self._known

    def add(self, words: Collection[str]) -> None:
        known = self._load()
        new = sorted(set(words) - known.keys())
        if not new:
            return
        with self._file.open("a", encoding="utf-8", errors="surrogatepass") as out:
            out.write("".join(f"{word}\n" for word in new))
        for word in new:
            known[word] = None
            self._by_length.setdefault(len(word), []).append(word)

    def similar(self, word: str, *, limit: int) -> list[tuple[str, float]]:
        """Known words within the allowed distance, best first. Swapped neighbours count as one error (optimal string alignment)."""
        self._load()
        most = allowed_distance(word)
        if not most:
            return []
        near = [known for length in range(len(word) - most, len(word) + most + 1) for known in self._by_length.get(length, ())]
        found = process.extract(word, near, scorer=OSA.distance, score_cutoff=most, limit=None)
        scored = [(known, 1 - (distance - 0.3 * (known[0] == word[0])) / len(word)) for known, distance, _ in found if known != word]
        return sorted(scored, key=lambda item: (-item[1], item[0]))[:limit]

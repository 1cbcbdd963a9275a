"""The few words of a passage that are shown with a hit: around the best cluster of question words, on one line, marks removed."""

from __future__ import annotations

from collections.abc import Collection

from onebrain.text import analysis
from onebrain.text.sentences import plain

LENGTH = 160  # characters


def snippet(text: str, words: Collection[str], length: int = LENGTH) -> str:
    """`words` are analysed terms. Cut at word borders; an ellipsis marks a cut."""
    line = " ".join(plain(text).split())
    if len(line) <= length:
        return line
    start = _best_start(line, set(words), length)
    end = start + length
    if start:
        start = line.find(" ", start, start + 20) + 1 or start
    if end < len(line):
        space = line.rfind(" ", start, end)
        end = space if space > start + length // 2 else end
    return f"{'…' if start else ''}{line[start:end].strip()}{'…' if end < len(line) else ''}"


def _best_start(line: str, words: set[str], length: int) -> int:
    """Where a window of `length` holds the most different question words, a little before the first of them."""
    places = [(start, term) for start, term in analysis.spans(line) if term in words]
    if not places:
        return 0
    windows = ((len({term for place, term in places if start <= place < start + length}), -start) for start, _ in places)
    best = -max(windows)[1]
    return max(0, min(best - 20, len(line) - length))

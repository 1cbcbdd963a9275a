"""The few words of a passage that are shown with a hit: around the best cluster of question words, on one line, marks removed."""

from __future__ import annotations

from collections.abc import Collection

from onebrain.text import analysis
from onebrain.text.sentences import plain
from onebrain.vault.chunk import is_matter
from onebrain.vault.frontmatter import entries
from onebrain.vault.note import Chunk

__all__ = ["is_matter", "matter_lines", "passage", "snippet"]

LENGTH = 160  # characters


def matter_lines(text: str) -> list[tuple[int, str]]:
    """(line from 0, `key: value, value`) of each entry of a frontmatter that says something."""
    return [(number, f"{key}: {value}") for number, key, value in entries(text)]


def passage(chunk: Chunk, words: Collection[str]) -> str:
    """The snippet of a passage; of frontmatter, its entries in one line."""
    text = " · ".join(entry for _, entry in matter_lines(chunk.text)) if is_matter(chunk) else chunk.text
    return snippet(text, words)


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

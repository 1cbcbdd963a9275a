"""What the indexer tells: how far it is, and what it did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from onebrain.index.rows import Failure


@dataclass(frozen=True, slots=True)
class Progress:
    """`phase` is `words` (counts notes) or `vectors` (counts passages)."""

    phase: str
    done: int
    total: int


Report = Callable[[Progress], None]
Stop = Callable[[], bool]
"""Asked between batches; true means: leave the rest for another time."""


@dataclass(frozen=True, slots=True)
class ReindexResult:
    """What was done, in notes. `failures` are all notes that can't be indexed now, `problems` those indexed although something is odd.

    `held_back` is why removals were left out; `reasons` why more was done than the edits called for, or less; `embedded` counts passages.
    """

    added: int = 0
    updated: int = 0
    removed: int = 0
    moved: int = 0
    unchanged: int = 0
    failed: int = 0
    failures: tuple[Failure, ...] = ()
    problems: tuple[Failure, ...] = ()
    embedded: int = 0
    held_back: str | None = None
    reasons: tuple[str, ...] = ()


def never() -> bool:
    return False

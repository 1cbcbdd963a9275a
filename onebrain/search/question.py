"""What was asked, as a value. Built by the faces from a command line, a tool call or a form; the reading of the words is in `reading`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum


class Legs(StrEnum):
    """Which listing was asked for: the whole cascade, or one leg alone (`search search`, `search vsearch`)."""

    HYBRID = "hybrid"
    LEX = "lex"
    VEC = "vec"


@dataclass(frozen=True, slots=True)
class Filters:
    """Narrow the notes a question may be answered from; all given ones must hold. Empty means no restriction.

    `paths` are directories or notes, by whole names (`.` is the vault), `tags` match nested tags too (`a` matches `a/b`),
    `types` match the note's source or its frontmatter `type`, dates are inclusive days compared with the note's date.
    """

    paths: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    after: str | None = None
    before: str | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """A question with everything that may change its answer. `now` is the day it is asked on: no part of the search reads a clock.

    `lex`, `vec`, `hyde` are sub-queries written by a calling agent (CONTRACTS: `--lex/--vec/--hyde`); they add to `text`.
    `write_synthesis` lets the configured endpoint word the answer: off unless a face asks, since it sends quotes there.
    Nothing of an answer rests on hits or decisions below `min_score`, of the calibrated score where there is one.
    `mode` None means: find out. `limit` caps listings, and the sources shown with an answer; `everything` lifts it (`--all`).
    """

    text: str
    now: date
    mode: str | None = None
    legs: Legs = Legs.HYBRID
    filters: Filters = Filters()
    lex: tuple[str, ...] = ()
    vec: tuple[str, ...] = ()
    hyde: tuple[str, ...] = ()
    limit: int = 5
    everything: bool = False
    rerank: bool = True
    write_hyde: bool = True
    write_synthesis: bool = False
    min_score: float | None = None

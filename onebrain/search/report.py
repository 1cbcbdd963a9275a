"""The nouns of an answer. A question comes out as one Report; every face renders the same one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

CONFIDENT = 0.60  # seed 003: cite directly
POSSIBLE = 0.30  # seed 003: Sources only


class Mode(StrEnum):
    WHAT = "what"
    WHY = "why"


class Band(StrEnum):
    """How far a single hit can be trusted. UNRANKED: no calibrated score was produced (a bare lexical or vector listing)."""

    CONFIDENT = "confident"
    POSSIBLE = "possible"
    WEAK = "weak"
    UNRANKED = "unranked"


class Verdict(StrEnum):
    CONFIDENT = "confident"
    POSSIBLE = "possible"
    NONE = "none"


class StageStatus(StrEnum):
    RAN = "ran"
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of the cascade as it went: `reason` in words, `ms` wall time, `hits` what it contributed (None: no meaning here)."""

    name: str
    status: StageStatus
    reason: str | None = None
    ms: float = 0.0
    hits: int | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage found. `score` orders hits of one question; `rerank_score` is P(this passage answers), None when unranked.

    `why` holds the parts of both, by name, for `--explain`.
    """

    chunk_id: str
    doc_path: str
    heading_path: str
    line_start: int
    line_end: int
    title: str
    source: str
    score: float
    snippet: str
    band: Band
    legs: tuple[str, ...]
    rerank_score: float | None = None
    date: str | None = None
    status: str = "active"
    why: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence or list of a note, verbatim but for Markdown marks, white space and `…` for items left out, with the place it begins at.

    `date`: that of its section or note, where the question asks when and the words don't tell, or where a later quote moves on from one.
    """

    text: str
    path: str
    heading: str
    line: int
    date: str | None = None


@dataclass(frozen=True, slots=True)
class ChainLink:
    """A dated decision. `superseded_by` is the note that replaced it, "" where nothing says which; `tellings` are the notes its words,
    score and end were taken from, which every change of theirs may undo (faces show the one at `path`)."""

    date: str
    event: str
    quote: str
    path: str
    heading: str
    line: int
    rerank_score: float | None = None
    superseded_by: str | None = None
    tellings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Worded:
    """A sentence that a model wrote. `cites` are the places, from 1, of the quotes that back it in `Report.quoted`."""

    text: str
    cites: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Synthesis:
    """What the configured model wrote from the quotes, as far as they back it; `by` says who and where. Never a part of the answer."""

    by: str
    sentences: tuple[Worded, ...]


@dataclass(frozen=True, slots=True)
class IndexState:
    """`pending` passages have no vector yet; `as_of` is the ISO time of the last commit, None before the first."""

    pending: int
    as_of: str | None


@dataclass(frozen=True, slots=True)
class Report:
    """The whole answer to one question. `hits` are all hits in order; `sources` the few that are shown with the answer. A `chain` has an
    `answer` beside it only where none of its links gives a reason and a sentence does."""

    query: str
    mode: Mode
    verdict: Verdict
    hits: tuple[Hit, ...]
    sources: tuple[Hit, ...]
    answer: tuple[Quote, ...] = ()
    chain: tuple[ChainLink, ...] = ()
    below_threshold: tuple[int, float] | None = None  # how many hits fell under POSSIBLE, and the best of their scores
    notes: tuple[str, ...] = ()
    stages: tuple[Stage, ...] = ()
    index: IndexState = IndexState(0, None)
    synthesis: Synthesis | None = None

    @property
    def quoted(self) -> tuple[Quote | ChainLink, ...]:
        """What the question was answered with, in order: the links of a chain, then the sentences of an answer."""
        return (*self.chain, *self.answer)

    @property
    def paths(self) -> frozenset[str]:
        """Every note that anything in it was taken from."""
        links = (path for link in self.chain for path in (link.path, link.superseded_by, *link.tellings) if path)
        return frozenset((*(hit.doc_path for hit in (*self.hits, *self.sources)), *(quote.path for quote in self.answer), *links))

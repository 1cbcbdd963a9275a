"""What an index knows about a note and a passage: the rows that `index` keeps and `search`, `memory` and the faces read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onebrain.vault.note import Chunk, Event, LinkKind, Source, Status

Vector: TypeAlias = NDArray[np.float32]
"""Shape (dim,), L2-normalised."""


@dataclass(frozen=True, slots=True)
class NoteRecord:
    """A note as the manifest lists it. `links` and `backlinks` hold resolved vault paths with their kinds.

    `mtime_ns`, `size`, `inode` are those of its file when it was read, `seen_ns` the wall clock then (see `files.unchanged`).
    """

    path: str
    title: str
    source: Source
    aliases: tuple[str, ...]
    tags: tuple[str, ...]
    date: str | None
    status: Status
    type: str | None
    sha256: str
    mtime_ns: int
    size: int
    links: tuple[tuple[str, LinkKind], ...]
    backlinks: tuple[tuple[str, LinkKind], ...]
    has_events: bool
    inode: int = 0
    seen_ns: int = 0


@dataclass(frozen=True, slots=True)
class WordQuery:
    """What the word index is asked. Terms are analysed tokens (see `text.analysis`), each with a weight (1.0 plain, less for fuzzy).

    A passage matches when it holds at least one of `terms`, every phrase, and no excluded term. Terms that stand for the same word
    share a name in `same` (term → word): only the best of them counts. A term not named there stands for itself.
    """

    terms: Mapping[str, float]
    same: Mapping[str, str] = field(default_factory=dict)
    phrases: tuple[tuple[str, ...], ...] = ()
    excluded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WordHit:
    """`score` is the BM25F sum (unbounded); `parts` the share of each matched word, so that the score explains itself."""

    chunk_id: str
    score: float
    parts: Mapping[str, float]


class Words(Protocol):
    """The lexical index: scores, term statistics and term suggestions. `allowed` holds vault paths: only their passages are found."""

    def search(self, query: WordQuery, *, limit: int, allowed: Collection[str] | None = None) -> list[WordHit]: ...

    def idf(self, terms: Collection[str]) -> Mapping[str, float]:
        """ln(1 + (N - df + .5)/(df + .5)) of each term over passages; df 0 gives the highest value."""
        ...

    def similar(self, term: str, *, limit: int = 8) -> list[tuple[str, float]]:
        """Terms of indexed words within a small edit distance of the folded word `term`, with similarity in (0, 1)."""
        ...

    def expand(self, prefix: str, *, limit: int = 16) -> list[str]:
        """The `limit` most frequent indexed terms that begin with `prefix`."""
        ...


class Meaning(Protocol):
    """The vector index. Cosines in [-1, 1]; `allowed` holds vault paths: only their passages are found."""

    def nearest(self, vector: Vector, *, limit: int, allowed: Collection[str] | None = None) -> list[tuple[str, float]]: ...

    def cosines(self, vector: Vector, chunk_ids: Sequence[str]) -> Mapping[str, float]:
        """Exact cosines of the passages that have a vector; others are left out."""
        ...

    def vectors(self, chunk_ids: Sequence[str]) -> Mapping[str, Vector]: ...


class Library(Protocol):
    """A consistent snapshot of one index, for one question."""

    @property
    def generation(self) -> int:
        """Grows with every commit; equal generations mean equal content."""
        ...

    @property
    def words(self) -> Words: ...

    @property
    def meaning(self) -> Meaning | None:
        """None while no passage has a vector."""
        ...

    def notes(self) -> Mapping[str, NoteRecord]: ...

    def chunks(self, ids: Sequence[str]) -> Mapping[str, Chunk]: ...

    def chunks_of(self, path: str) -> Sequence[Chunk]: ...

    def events(self, paths: Collection[str]) -> Mapping[str, Sequence[Event]]: ...

    def pending(self) -> int:
        """Passages whose words are indexed but whose vectors are not yet."""
        ...

"""A why-answer: dated decisions, oldest first, each with the sentence that gives the reason. Events come from the index, none is made up.

    relevant notes → their events → along supersession links, both ways → P(belongs to this story) → one of each → by date

Whether an event belongs is a fitted logistic over plain features (how relevant its note is, whether the event itself speaks of the
question's words, how it is linked to the best note, how alike the two notes are), so that a chain never mixes two stories and yet is
whole where later records use other words.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TypeAlias

import numpy as np

from onebrain.search.evidence import Candidate, Pool, probability
from onebrain.search.report import ChainLink
from onebrain.text import analysis
from onebrain.vault.library import Library, NoteRecord, Vector
from onebrain.vault.note import Event, EventKind, LinkKind, Source, Status

Weights: TypeAlias = "Mapping[str, Mapping[str, float]]"

BELONGS = 0.5
_CARRIED = (
    "cover_note",
    "names",
    "title",
    "heading",
    "cos_z",
    "cos_raw",
    "lex",
    "lex_abs",
    "adjacent",
    "foreign",
    "unknown",
    "crowd",
    "agree",
)
_SEEDS = 30  # notes whose events are looked at
_LINKED_FROM = 8  # best notes whose plain links are followed, one step
_LONGEST = 12  # links of a chain
_HOPS = 3  # steps along "supersedes"
_REPLACES = (LinkKind.SUPERSEDES, LinkKind.SUPERSEDED_BY)


@dataclass(frozen=True, slots=True)
class Story:
    """A note that may belong to the chain. `best` is its best passage, None when it was reached by a link only; `rank` counts notes."""

    note: NoteRecord
    best: Candidate | None
    rank: int
    passages: int  # of this note among the candidates


@dataclass(frozen=True, slots=True)
class Option:
    """An event that was considered. `alone` is what its own features say, `belongs` what they say with those of its neighbours."""

    event: Event
    story: Story
    features: Mapping[str, float]
    belongs: float


def build_chain(library: Library, pool: Pool) -> tuple[ChainLink, ...]:
    """Empty when no dated decision clears the bar."""
    chosen = _one_of_each([option for option in chain_options(library, pool) if option.belongs >= BELONGS])
    kept = sorted(chosen, key=lambda o: (-o.belongs, o.story.note.path, o.event.line))[:_LONGEST]
    kept.sort(key=lambda o: (o.event.date, o.story.note.path, o.event.line))
    notes = library.notes()
    return tuple(_link(option, notes) for option in kept)


def chain_options(library: Library, pool: Pool, weights: Weights | None = None) -> list[Option]:
    """Every event that was considered, with its features; fitting reads these."""
    weights = weights or _shipped()
    stories = _stories(library, pool)
    paths = [story.note.path for story in stories]
    events, vectors = library.events(paths), _first_vectors(library, paths)
    asked = _Asked(pool, stories, vectors)
    alone = [asked.features(story) for story in stories]
    found: list[tuple[Story, Event, dict[str, float]]] = []
    for story, about in zip(stories, alone, strict=True):
        for event in events.get(story.note.path, ()):
            found.append((story, event, about | asked.event_features(event)))
    first: dict[str, float] = {}
    for story, _, features in found:
        first[story.note.path] = max(first.get(story.note.path, 0.0), probability(features, weights["alone"]))
    options = []
    for story, event, features in found:
        together = features | _neighbours(story, stories, first, vectors)
        options.append(Option(event, story, together, probability(together, weights["together"])))
    return options


@cache
def _shipped() -> Weights:
    weights: Weights = json.loads((files("onebrain.search") / "data" / "chain.json").read_text(encoding="utf-8"))
    return weights


def _stories(library: Library, pool: Pool) -> list[Story]:
    """Notes with events: those found, best first; those the best ones link to; those that replace them or were replaced by them."""
    notes = library.notes()
    best: dict[str, Candidate] = {}
    for c in sorted(pool.candidates, key=lambda c: (-c.score, c.chunk.path, c.chunk.ordinal)):
        best.setdefault(c.chunk.path, c)
    ranks = {path: rank for rank, path in enumerate(best)}
    passages = Counter(c.chunk.path for c in pool.candidates)
    seeds = [path for path in best if notes[path].has_events][:_SEEDS]
    reached = dict.fromkeys(seeds)
    reached |= dict.fromkeys(path for seed in seeds[:_LINKED_FROM] for path, _ in sorted((*notes[seed].links, *notes[seed].backlinks)))
    frontier = list(reached)
    for _ in range(_HOPS):
        frontier = sorted({path for seed in frontier if seed in notes for path in _replaced(notes[seed])} - reached.keys())
        reached |= dict.fromkeys(frontier)
    return [
        Story(notes[path], best.get(path), ranks.get(path, len(best)), passages[path])
        for path in reached
        if path in notes and notes[path].has_events
    ]


def _replaced(note: NoteRecord) -> Iterable[str]:
    return (path for path, kind in (*note.links, *note.backlinks) if kind in _REPLACES)


def _first_vectors(library: Library, paths: Sequence[str]) -> dict[str, Vector]:
    """The first passage's vector stands for the note: it carries title and opening."""
    if library.meaning is None:
        return {}
    found = library.meaning.vectors([f"{path}#0" for path in paths])
    return {id_.rpartition("#")[0]: vector for id_, vector in found.items()}


class _Asked:
    """What is true of the question, and the features of a note or an event by itself."""

    def __init__(self, pool: Pool, stories: Sequence[Story], vectors: Mapping[str, Vector]) -> None:
        groups = [group for group in pool.reading.groups if not group.optional]
        self.weights = {group.key: pool.lexical.idf.get(group.key, 0.0) for group in groups}
        self.total = sum(self.weights.values()) or 1.0
        self.terms = {term: g.key for g in groups for term in (*g.alternatives, *pool.lexical.guesses.get(g.key, ()))}
        self.top = max((c.score for c in pool.candidates), default=1.0) or 1.0
        question = pool.semantic.vector
        self.cosines = {path: float(np.dot(vector, question)) for path, vector in vectors.items()} if question is not None else {}
        self.best_cosine = max(self.cosines.values(), default=0.0)
        self.best_rank = min((story.rank for story in stories), default=0)

    def features(self, story: Story) -> dict[str, float]:
        best = story.best
        own = {f"note_{name}": best.features.get(name, 0.0) if best else 0.0 for name in _CARRIED}
        cosine = self.cosines.get(story.note.path, 0.8)
        return own | {
            "probability": best.probability or 0.0 if best else 0.0,
            "score": best.score / self.top if best else 0.0,
            "rank": 1 / (1 + story.rank),
            "leads": float(story.rank == self.best_rank),
            "linked_only": float(best is None),
            "passages": math.log1p(story.passages) / 3,
            "opening": (cosine - 0.8) * 10,
            "opening_gap": (cosine - self.best_cosine) * 10,
            "record": float(story.note.source is Source.DECISION),
        }

    def event_features(self, event: Event) -> dict[str, float]:
        """How much of the question the event's own words hold; a record speaks for its whole note, a row or bullet only for itself."""
        said = {self.terms[t.text] for t in analysis.terms(f"{event.what} {event.reason or ''}") if t.text in self.terms}
        cover = sum(self.weights[word] for word in said) / self.total
        part = event.kind is not EventKind.RECORD
        return {"record_cover": 0.0 if part else cover, "part": float(part), "part_cover": cover if part else 0.0}


def _neighbours(story: Story, stories: Sequence[Story], first: Mapping[str, float], vectors: Mapping[str, Vector]) -> dict[str, float]:
    """What the notes it is tied to say for it: the best of them, each by how far it belongs by itself."""
    path, folder = story.note.path, story.note.path.rpartition("/")[0]
    replaced = set(_replaced(story.note))
    linked = {other for other, _ in (*story.note.links, *story.note.backlinks)} - replaced
    own = vectors.get(path)
    found = {"first": first.get(path, 0.0), "by_replacing": 0.0, "by_link": 0.0, "by_likeness": 0.0, "by_folder": 0.0, "rivals": 0.0}
    for other in stories:
        belongs, name = first.get(other.note.path, 0.0), other.note.path
        if name == path:
            continue
        vector = vectors.get(name)
        likeness = max(0.0, (float(np.dot(own, vector)) - 0.85) * 10) if own is not None and vector is not None else 0.0
        found["by_replacing"] = max(found["by_replacing"], belongs * (name in replaced))
        found["by_link"] = max(found["by_link"], belongs * (name in linked))
        found["by_likeness"] = max(found["by_likeness"], belongs * likeness)
        found["by_folder"] = max(found["by_folder"], belongs * (name.rpartition("/")[0] == folder))
        found["rivals"] += (belongs > first.get(path, 0.0)) / 10
    return found


def _one_of_each(options: Sequence[Option]) -> list[Option]:
    """The same decision on the same day told in two notes counts once: the better told, a session log before its checkpoint."""
    kept: list[Option] = []
    order = sorted(options, key=lambda o: (o.story.note.source is Source.CHECKPOINT, -o.belongs, o.story.note.path, o.event.line))
    for option in order:
        if not any(option.event.date == other.event.date and _same(option.event, other.event) for other in kept):
            kept.append(option)
    return kept


def _same(one: Event, other: Event) -> bool:
    a, b = ({t.text for t in analysis.terms(event.what)} for event in (one, other))
    return len(a & b) >= 0.6 * min(len(a), len(b))


def _link(option: Option, notes: Mapping[str, NoteRecord]) -> ChainLink:
    event, note = option.event, option.story.note
    later = sorted(path for path, kind in note.links if kind is LinkKind.SUPERSEDED_BY)
    later += sorted(path for path, kind in note.backlinks if kind is LinkKind.SUPERSEDES)
    replaced = next((path for path in later if path in notes), None)
    if replaced is None and event.status in (Status.SUPERSEDED, Status.DEPRECATED):
        replaced = ""
    return ChainLink(
        date=event.date,
        event=event.what,
        quote=event.reason or event.what,
        path=note.path,
        heading=event.heading,
        line=event.reason_line if event.reason else event.line,
        rerank_score=round(option.belongs, 4),
        superseded_by=replaced,
    )

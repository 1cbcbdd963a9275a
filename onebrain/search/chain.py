"""A why-answer: dated decisions, oldest first, each with the sentence that gives the reason. Events come from the index, none is made up.

    relevant notes → their events → along supersession links, both ways → P(belongs to this story) → one of each → by date

Whether an event belongs is a fitted logistic over plain features (how relevant its note is, whether the event itself speaks of the
question's words, how it is linked to the best note, how alike the two notes are), so that a chain never mixes two stories and yet is
whole where later records use other words.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from onebrain.search.evidence import Candidate, Pool, probability
from onebrain.search.report import ChainLink, Hit
from onebrain.text import analysis
from onebrain.vault.library import Library, NoteRecord, Vector
from onebrain.vault.note import Event, EventKind, LinkKind, Source, Status

BELONGS = 0.5
_SEEDS = 12  # notes whose events are looked at
_LONGEST = 12  # links of a chain
_HOPS = 3
_REPLACES = (LinkKind.SUPERSEDES, LinkKind.SUPERSEDED_BY)


@dataclass(frozen=True, slots=True)
class Story:
    """A note that may belong to the chain: how well it was found, and how it hangs together with the best one."""

    note: NoteRecord
    best: Candidate | None
    rank: int  # among notes, best first; the number of notes when it was reached by a link only
    hops: int  # supersession steps from a note that was found; 0 for one that was


@dataclass(frozen=True, slots=True)
class Option:
    event: Event
    story: Story
    features: Mapping[str, float]
    belongs: float


def build_chain(library: Library, pool: Pool, hits: Sequence[Hit]) -> tuple[ChainLink, ...]:
    """Empty when no dated decision clears the bar."""
    options = chain_options(library, pool)
    chosen = [option for option in options if option.belongs >= BELONGS]
    if not chosen:
        return ()
    unique = _one_of_each(chosen)
    kept = sorted(unique, key=lambda o: (-o.belongs, o.story.note.path, o.event.line))[:_LONGEST]
    notes = library.notes()
    kept.sort(key=lambda o: (o.event.date, o.story.note.path, o.event.line))
    return tuple(_link(option, notes) for option in kept)


def chain_options(library: Library, pool: Pool) -> list[Option]:
    """Every event that was considered, with its features; fitting reads these."""
    stories = _stories(library, pool)
    if not stories:
        return []
    events = library.events([story.note.path for story in stories])
    vectors = _note_vectors(library, [story.note.path for story in stories])
    weights = {g.key: pool.lexical.idf.get(g.key, 0.0) for g in pool.reading.groups if not g.optional}
    terms = {term: g.key for g in pool.reading.groups for term in (*g.alternatives, *pool.lexical.guesses.get(g.key, ()))}
    lead = stories[0]
    found = []
    for story in stories:
        about = _features(story, lead, pool, vectors)
        for event in events.get(story.note.path, ()):
            features = about | _event_features(event, story.note, weights, terms)
            found.append(Option(event, story, features, probability(features, _weights())))
    return found


@cache
def _weights() -> Mapping[str, float]:
    weights: Mapping[str, float] = json.loads((files("onebrain.search") / "data" / "chain.json").read_text(encoding="utf-8"))
    return weights


def _stories(library: Library, pool: Pool) -> list[Story]:
    """Notes with events among the candidates, best first, then notes that replace them or were replaced by them."""
    notes = library.notes()
    best: dict[str, Candidate] = {}
    for c in sorted(pool.candidates, key=lambda c: (-c.score, c.chunk.path, c.chunk.ordinal)):
        best.setdefault(c.chunk.path, c)
    ranks = {path: rank for rank, path in enumerate(best)}
    seeds = [path for path in best if notes[path].has_events][:_SEEDS]
    stories = {path: Story(notes[path], best[path], ranks[path], 0) for path in seeds}
    frontier = seeds
    for hop in range(1, _HOPS + 1):
        reached = sorted({target for path in frontier for target in _replaced(notes[path]) if target in notes and target not in stories})
        for path in reached:
            if notes[path].has_events:
                stories[path] = Story(notes[path], best.get(path), ranks.get(path, len(best)), hop)
        frontier = reached
    return list(stories.values())


def _replaced(note: NoteRecord) -> Iterable[str]:
    return (path for path, kind in (*note.links, *note.backlinks) if kind in _REPLACES)


def _note_vectors(library: Library, paths: Sequence[str]) -> dict[str, Vector]:
    """The first passage's vector stands for the note: it carries title and opening."""
    if library.meaning is None:
        return {}
    found = library.meaning.vectors([f"{path}#0" for path in paths])
    return {id_.rpartition("#")[0]: vector for id_, vector in found.items()}


def _features(story: Story, lead: Story, pool: Pool, vectors: Mapping[str, Vector]) -> dict[str, float]:
    best, top = story.best, max((c.score for c in pool.candidates), default=1.0) or 1.0
    linked = {path: kind for path, kind in (*story.note.links, *story.note.backlinks)}
    own, leading = vectors.get(story.note.path), vectors.get(lead.note.path)
    alike = float(np.dot(own, leading)) if own is not None and leading is not None else 0.8
    return {
        "probability": best.probability or 0.0 if best else 0.0,
        "score": best.score / top if best else 0.0,
        "rank": 1 / (1 + story.rank),
        "lead": float(story is lead),
        "hops": float(story.hops),
        "replaces_lead": float(linked.get(lead.note.path) in _REPLACES),
        "linked_to_lead": float(lead.note.path in linked),
        "same_folder": float(story.note.path.rpartition("/")[0] == lead.note.path.rpartition("/")[0]),
        "alike": (alike - 0.8) * 10,
        "cover_note": best.features.get("cover_note", 0.0) if best else 0.0,
        "title": best.features.get("title", 0.0) if best else 0.0,
        "cos_z": best.features.get("cos_z", 0.0) if best else 0.0,
        "record": float(story.note.source is Source.DECISION),
    }


def _event_features(event: Event, note: NoteRecord, weights: Mapping[str, float], terms: Mapping[str, str]) -> dict[str, float]:
    """How much of the question's weight the event's own words hold; a record speaks for its whole note."""
    said = {terms[t.text] for t in analysis.terms(f"{event.what} {event.reason or ''}") if t.text in terms}
    cover = sum(weights.get(word, 0.0) for word in said) / (sum(weights.values()) or 1.0)
    whole = event.kind is EventKind.RECORD
    return {"event_cover": 0.0 if whole else cover, "event_part": float(not whole), "reason": float(event.reason is not None)}


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

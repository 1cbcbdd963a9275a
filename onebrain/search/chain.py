"""A why-answer: dated decisions, oldest first, each with the sentence that gives the reason. Events come from the index, none is made up.

    relevant notes → notes near the best one, by links and by likeness → worth of each → P(belongs) → tellings of one decision → by date

Two kinds of event are judged apart. A record (an ADR, a PEP) speaks for its whole note: its worth is a fitted listwise score of plain
facts about the note and its ties to the best note, and what counts is how far it stands behind the best. A part of a note (a row of a
table, a bullet, an entry) speaks only for itself: its own words must speak of the question. Weights are data (`data/chain.json`),
fitted by `evaluate/fit_chain.py`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from typing import TypeAlias

import numpy as np

from onebrain.search.evidence import Candidate, Pool, covered, probability, rank_score
from onebrain.search.evidence import names_in as names_in
from onebrain.search.filters import allowed
from onebrain.search.report import POSSIBLE, Band, ChainLink, Hit, Quote
from onebrain.search.statements import LONGEST
from onebrain.text import analysis
from onebrain.text.sentences import Kind, sentences
from onebrain.vault.events.cues import explains
from onebrain.vault.library import Library, NoteRecord, WordQuery
from onebrain.vault.note import Event, EventKind, LinkKind, Source, Status

Weights: TypeAlias = "Mapping[str, Mapping[str, float]]"
"""`worth` orders records, `record` and `part` make P(belongs) of a record and of a part, `bars` are the least P of each link by place."""

_SEEDS = 30  # notes whose events are looked at
_LINKED_FROM = 8  # best notes whose plain links are followed, one step
_AKIN = 15  # notes nearest to question and best note together that are looked at too
_AKIN_POOL = 100  # passages among which those are sought
_HOPS = 3  # steps along "supersedes"
_LONGEST = 12  # links of a chain
_RANK_SCALE = 5  # a reciprocal rank of 5/(5 + rank)
_CHANGELOG_OWN = 0.6  # of the question's weight that a changelog's bullet itself must hold: what else a release brought is another matter
_HALF = 0.5  # of the question's weight, that a sentence beside a chain holds together with its heading and title
_SAME_WORDS = 0.6  # share of the shorter telling's words that the other has too
_SAME_TEXT = 0.35  # the same with the reasons, of which less need be alike
_REPLACES = (LinkKind.SUPERSEDES, LinkKind.SUPERSEDED_BY)
_STALE = (Status.SUPERSEDED, Status.DEPRECATED)
_MIXED = (Source.SESSION, Source.CHECKPOINT, Source.PAUSE, Source.DAILY, Source.PROJECT, Source.DECISION, Source.LOG, Source.INBOX)
_BEST_TOLD = (EventKind.RECORD, EventKind.SESSION, EventKind.TABLE, EventKind.DAILY, EventKind.MEMORY, EventKind.CHANGELOG)


@dataclass(frozen=True, slots=True)
class Story:
    """A note with events that may belong to the chain. `best` is its best passage, None when it was reached by a tie only."""

    note: NoteRecord
    best: Candidate | None
    features: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Option:
    """An event that was considered. `belongs` is P(it belongs), from `features`; `part` where it speaks only for itself."""

    event: Event
    story: Story
    part: bool
    features: Mapping[str, float]
    belongs: float = 0.0


def build_chain(library: Library, pool: Pool, weights: Weights | None = None) -> tuple[ChainLink, ...]:
    """Empty when the best decision can't be trusted to be about this."""
    weights = weights or _shipped()
    decisions = chosen(judge(considered(library, pool), weights), weights["bars"])
    ordered = sorted(decisions, key=lambda told: (told[0].event.date, told[0].story.note.path, told[0].event.line))
    notes = library.notes()
    return tuple(_link(told, notes) for told in ordered)


def gives_reason(chain: Iterable[ChainLink]) -> bool:
    """Whether any link says why."""
    return any(explains(link.quote) for link in chain)


def explanation(library: Library, pool: Pool, hits: Iterable[Hit]) -> tuple[Quote, ...]:
    """The sentence of a confident hit that gives a reason and holds most of the question's words, where its note holds half of them: what
    is shown beside a chain that gives none."""
    confident = {hit.chunk_id: hit for hit in hits if hit.band is Band.CONFIDENT and hit.status not in _STALE}
    words, found = _Words(pool), []
    for id_, chunk in library.chunks(list(confident)).items():
        hit = confident[id_]
        for sentence in sentences(chunk.text):
            text = " ".join(sentence.text.split())
            if sentence.kind not in (Kind.PROSE, Kind.ITEM) or len(text) > LONGEST or not explains(text):
                continue
            own = words.share(text)
            if own and words.share(text, hit.heading_path, hit.title) >= _HALF:
                heading = chunk.heading_path.rpartition(" > ")[2] or hit.title
                found.append((own, hit.score, Quote(text, chunk.path, heading, chunk.line_start + sentence.line_offset)))
    best = min(found, key=lambda f: (-f[0], -f[1], f[2].path, f[2].line), default=None)
    return (best[2],) if best else ()


def considered(library: Library, pool: Pool) -> list[Option]:
    """Every event that may belong, with what its own words hold of the question; not judged yet. Fitting begins with these.

    None where no note with decisions may be an answer at all: there is no story to tell then.
    """
    found = stories(library, pool)
    if max((story.features["proof"] for story in found), default=0.0) < POSSIBLE:
        return []
    events = library.events([story.note.path for story in found])
    words = _Words(pool)
    told = [
        (story, event, event.kind is not EventKind.RECORD or len(events[story.note.path]) > 1)
        for story in found
        for event in events.get(story.note.path, ())
    ]
    of_lead = [event for story, event, _ in told if story.features["leads"]]
    lead = max(of_lead, key=lambda event: (words.share(event.what, event.reason or ""), -event.line), default=None)
    options = [Option(event, story, part, _of_part(event, story, lead, words, pool) if part else {}) for story, event, part in told]
    return [o for o in options if o.event.kind is not EventKind.CHANGELOG or o.features["own"] >= _CHANGELOG_OWN]


def judge(options: Sequence[Option], weights: Weights) -> list[Option]:
    """The same options, each with where it stands among the others and with P(it belongs)."""
    worths = [rank_score(option.story.features, weights["worth"]) for option in options]
    best = max(worths, default=0.0)
    places = iter(standing([worth for option, worth in zip(options, worths, strict=True) if not option.part], best))
    beaten = min((option.story.features["beaten"] for option in options), default=0.0)
    judged = []
    for option, worth in zip(options, worths, strict=True):
        about = option.story.features
        tied = {"below": best - worth, "leads": about["leads"]} if option.part else next(places) | {"cover": about["cover"]}
        features = {**option.features, **tied, "beaten": beaten}
        judged.append(replace(option, features=features, belongs=probability(features, weights["part" if option.part else "record"])))
    return judged


@cache
def _shipped() -> Weights:
    weights: Weights = json.loads((files("onebrain.search") / "data" / "chain.json").read_text(encoding="utf-8"))
    return weights


# Which notes, and what is true of them


def stories(library: Library, pool: Pool) -> list[Story]:
    """Notes with events, in the order reached: found by the question, best first; tied to the best by links; near to it."""
    notes = library.notes()
    inside = allowed(notes.values(), pool.reading.filters)
    usable = {path for path, note in notes.items() if note.has_events and (inside is None or path in inside)}
    best: dict[str, Candidate] = {}
    for c in sorted(pool.candidates, key=lambda c: (-c.score, c.chunk.path, c.chunk.ordinal)):
        best.setdefault(c.chunk.path, c)
    seeds = [path for path in best if path in usable][:_SEEDS]
    if not seeds:
        return []
    near = _nearest(library, pool, notes[seeds[0]], usable)
    reached = [path for path in _reached(seeds, near, notes) if path in usable]
    tied = _Ties(notes[seeds[0]], near, best, covered(pool))
    return [Story(notes[path], best.get(path), tied.features(notes[path], best.get(path))) for path in reached]


def _reached(seeds: Sequence[str], near: Sequence[str], notes: Mapping[str, NoteRecord]) -> list[str]:
    reached = dict.fromkeys(seeds)
    reached |= dict.fromkeys(path for seed in seeds[:_LINKED_FROM] for path, _ in sorted((*notes[seed].links, *notes[seed].backlinks)))
    frontier = list(reached)
    for _ in range(_HOPS):
        frontier = sorted({path for seed in frontier if seed in notes for path in _replaced(notes[seed])} - reached.keys())
        reached |= dict.fromkeys(frontier)
    return list(reached | dict.fromkeys(near[:_AKIN]))


def _replaced(note: NoteRecord) -> Iterable[str]:
    """What a note replaces and what replaced it."""
    return (path for path, kind in (*note.links, *note.backlinks) if kind in _REPLACES)


def _nearest(library: Library, pool: Pool, lead: NoteRecord, usable: Collection[str]) -> list[str]:
    """Other notes nearest to the question and the best note taken together (Rocchio), best first; by words where there are no vectors."""
    if library.meaning is not None and pool.semantic.vector is not None:
        first = f"{lead.path}#0"  # it carries title and opening, and stands for the note
        opening = library.meaning.vectors([first]).get(first)
        asked = pool.semantic.vector + opening if opening is not None else pool.semantic.vector
        near = library.meaning.nearest(asked / (float(np.linalg.norm(asked)) or 1.0), limit=_AKIN_POOL)
        ids = [id_ for id_, _ in near]
    else:
        terms = {term: 1.0 for group in pool.reading.groups for term in group.alternatives} | dict.fromkeys(_terms(lead.title), 1.0)
        ids = [hit.chunk_id for hit in library.words.search(WordQuery(terms), limit=_AKIN_POOL)] if terms else []
    paths = dict.fromkeys(id_.rpartition("#")[0] for id_ in ids)
    return [path for path in paths if path in usable and path != lead.path]


class _Ties:
    """What is true of a note by itself, and of its ties to the best note, the lead."""

    def __init__(self, lead: NoteRecord, near: Sequence[str], best: Mapping[str, Candidate], covered: Mapping[str, float]) -> None:
        self.lead, self.near = lead, {path: rank for rank, path in enumerate(near)}
        top = max((c.score for c in best.values()), default=1.0) or 1.0
        self.ranks = {path: rank for rank, path in enumerate(best)}
        self.scores = {path: max(0.0, c.score / top) for path, c in best.items()}
        self.proof = max((c.probability or 0.0 for c in best.values()), default=0.0)
        self.cited = {path for path, kind in lead.links if kind not in _REPLACES}
        self.covered = covered

    def features(self, note: NoteRecord, best: Candidate | None) -> dict[str, float]:
        path = note.path
        proof = best.probability or 0.0 if best else 0.0
        return {
            "score": self.scores.get(path, 0.0),
            "rank": _reciprocal(self.ranks.get(path)),
            "leads": float(path == self.lead.path),
            "akin": _reciprocal(self.near.get(path)),
            "cited": float(path in self.cited),
            "replacing": max((self.scores.get(other, 0.0) for other in _replaced(note)), default=0.0),
            "proof": proof,
            "beaten": self.proof - proof,
            "cover": self.covered.get(path, 0.0),
        }


def _reciprocal(rank: int | None) -> float:
    return 0.0 if rank is None else _RANK_SCALE / (_RANK_SCALE + rank)


def standing(worths: Sequence[float], best: float) -> list[dict[str, float]]:
    """Where each record stands: its worth, how far below `best`, the worth of the best note of any kind, how far above the next record."""
    order = sorted(range(len(worths)), key=lambda n: (-worths[n], n))
    found: list[dict[str, float]] = [{}] * len(worths)
    for place, n in enumerate(order):
        following = worths[order[place + 1]] if place + 1 < len(order) else worths[n] - 1.0
        found[n] = {"worth": worths[n], "below": best - worths[n], "ahead": worths[n] - following}
    return found


# What an event's own words say


@lru_cache(maxsize=20_000)
def _terms(text: str) -> frozenset[str]:
    return frozenset(term.text for term in analysis.terms(text))


class _Words:
    """The question's words that can be missed, weighted by idf."""

    def __init__(self, pool: Pool) -> None:
        groups = [group for group in pool.reading.groups if not group.optional]
        self.weights = {group.key: pool.lexical.idf.get(group.key, 0.0) for group in groups}
        self.total = sum(self.weights.values()) or 1.0
        named = names_in(pool.reading)
        self.names = [frozenset((group.key, *group.alternatives)) for group in groups if group.key in named]
        self.terms = {term: g.key for g in groups for term in (*g.alternatives, *pool.lexical.guesses.get(g.key, ()))}

    def share(self, *texts: str) -> float:
        """Share of the question's weight that texts hold together, in [0, 1]."""
        said = {self.terms[term] for text in texts for term in _terms(text) if term in self.terms}
        return sum(self.weights[word] for word in said) / self.total

    def held(self, event: Event, note: NoteRecord, lead: Event | None) -> dict[str, float]:
        """Of the question: what an event's own words hold, and with heading and title; which of its names; and what it shares with the
        best note's decision, for where the question is in another language or other words."""
        own, said = self.share(event.what, event.reason or ""), _terms(f"{event.what} {event.reason or ''}")
        kin = _overlap(_terms(event.what), _terms(f"{lead.what} {lead.reason or ''}")) if lead and lead is not event else 0.0
        return {
            "own": own,
            "around": self.share(event.what, event.reason or "", event.heading, note.title),
            "named": sum(not terms.isdisjoint(said) for terms in self.names) / (len(self.names) or 1),
            "nameless": float(not self.names),
            "kin": kin,
        }


def _of_part(event: Event, story: Story, lead: Event | None, words: _Words, pool: Pool) -> dict[str, float]:
    """What an event's own words hold; how far the passage it stands in answers, which in a log that mixes topics says nothing of a bullet
    that shares no word with the question; and whether its note is the best one and keeps to one topic."""
    held, mixed = words.held(event, story.note, lead), story.note.source in _MIXED
    around = [c for c in pool.candidates if c.chunk.path == story.note.path and c.chunk.line_start <= event.line <= c.chunk.line_end]
    passage = max((c.probability or 0.0 for c in around), default=0.0)
    return held | {
        "passage": 0.0 if mixed and not held["own"] else passage,
        "topical": float(not mixed and story.features["rank"] == 1.0),
    }


# One decision, told once


def chosen(options: Sequence[Option], bars: Mapping[str, float]) -> list[list[Option]]:
    """The decisions of the chain, likeliest first, each with all its tellings, the best told first.

    The likelier ones pass lower bars: a decision that has a history has at least two links, where the second is plausible. A row or a
    bullet has no such history: what only they tell, and what is added to it, passes `part`.
    """
    told = [(max(option.belongs for option in group), group) for group in _decisions(options)]
    told.sort(key=lambda d: (-d[0], d[1][0].story.note.path, d[1][0].event.line))
    if told and not max(told[0][1], key=lambda option: option.belongs).story.features.get("score", 1.0):
        return []  # only ties to another note speak for the likeliest: the question itself doesn't reach this story
    kept: list[list[Option]] = []
    for belongs, group in told[:_LONGEST]:
        if not kept:
            bar = bars["first"]
        elif _told_in_part(group) or _told_in_part(kept[0]):
            bar = bars["part"]
        else:
            bar = bars["second"] if len(kept) == 1 else max(bars["more"], bars["share"] * told[1][0])
        if belongs >= bar:
            kept.append(group)
    return kept


def _told_in_part(group: Sequence[Option]) -> bool:
    return all(option.part for option in group)


def _decisions(options: Sequence[Option]) -> list[list[Option]]:
    """Same day and same words, or the same words in the reasons: one decision. Two records are two decisions, whatever they say. What two
    changelogs tell in the very same words is one change, of the earlier day: a release often repeats those before it."""
    groups: list[list[Option]] = []
    for option in sorted(options, key=_telling):
        same = next((group for group in groups if any(_same(option, other) for other in group)), None)
        groups.append([option]) if same is None else same.append(option)
    return groups


def _telling(option: Option) -> tuple[bool, bool, bool, int, str, float, str, int]:
    """Sorts the best telling first: current before outdated, with a reason, a session log before its checkpoint, the earlier day."""
    event, note = option.event, option.story.note
    outdated = option.part and (note.status in _STALE or note.source is Source.ARCHIVE)
    copied, kind = note.source is Source.CHECKPOINT, _BEST_TOLD.index(event.kind)
    day = event.date if event.kind is EventKind.CHANGELOG else ""
    return outdated, event.reason is None, copied, kind, day, -option.belongs, note.path, event.line


def _same(one: Option, other: Option) -> bool:
    a, b = one.event, other.event
    if a.kind is b.kind is EventKind.CHANGELOG and _terms(a.what) == _terms(b.what):
        return True
    if a.date != b.date or not (one.part or other.part):
        return False
    if _overlap(_terms(a.what), _terms(b.what)) >= _SAME_WORDS:
        return True
    whole = _overlap(_terms(f"{a.what} {a.reason or ''}"), _terms(f"{b.what} {b.reason or ''}"))
    return whole >= _SAME_TEXT and one.story.note.path != other.story.note.path


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / (min(len(one), len(other)) or 1)


def _link(told: Sequence[Option], notes: Mapping[str, NoteRecord]) -> ChainLink:
    event, note = told[0].event, told[0].story.note
    return ChainLink(
        date=event.date,
        event=event.what,
        quote=event.reason or event.what,
        path=note.path,
        heading=event.heading,
        line=event.reason_line if event.reason else event.line,
        rerank_score=round(max(option.belongs for option in told), 4),
        superseded_by=_superseded_by(told, notes),
        tellings=tuple(sorted({option.story.note.path for option in told})),
    )


def _superseded_by(told: Sequence[Option], notes: Mapping[str, NoteRecord]) -> str | None:
    """The note that replaced the decision, in whichever telling says so; "" where one says only that it no longer holds."""
    for option in told:
        note = option.story.note
        later = sorted(path for path, kind in note.links if kind is LinkKind.SUPERSEDED_BY)
        later += sorted(path for path, kind in note.backlinks if kind is LinkKind.SUPERSEDES)
        if found := next((path for path in later if path in notes), None):
            return found
    of_decision = [option for option in told if option.event.kind in (EventKind.RECORD, EventKind.TABLE)] or told[:1]
    return "" if any(option.event.status in _STALE for option in of_decision) else None  # a note's own status isn't its decision's

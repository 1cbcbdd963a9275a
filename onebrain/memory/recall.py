"""Recall (seed 001): what the two layers found, reconciled into one answer in which every sentence is quoted and cited.

What must stay true: nothing without a citation is said; nothing found is said as nothing found; the newest record wins and a superseded
one is never given as current; a layer that failed is named, except where the project is regulated and has none on purpose.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from onebrain.memory.activation import topic
from onebrain.memory.audit import EXPORT, TOO_MANY, Archive, LineHit, Record, plain, strongest
from onebrain.memory.audit import search as grep
from onebrain.memory.words import Keyword
from onebrain.text.analysis import fold

THRESHOLD = 0.5  # of the semantic layer, as in the seed's third example
SHOWN = 20  # `| head -20`
TOP = 5  # of the semantic layer
ENOUGH = 0.5  # share of the question a line must hold to be part of the answer
CLAIMS = 4

_METHOD = re.compile(
    r"\bCCM\b|claude[- ]code[- ]methodology|\barib-[a-z]|MEMORY_PROTOCOL|\bthis (?:skill|methodology)\b|\bmethodology\b", re.IGNORECASE
)
_EMPTY_WORDS = frozenset(
    """
    decide decided decides decision decisions discover discovered document documented record recorded remember recall memory memories
    say said talk talked discuss discussed do done make made choose chose chosen pick picked find found write wrote project
    anything everything something nothing stuff
    """.split()  # noqa: SIM905 - a list of words reads as a list of words
)


class Outcome(StrEnum):
    ANSWERED = "answered"
    EMPTY = "empty"
    TOO_VAGUE = "too-vague"
    TOO_MANY = "too-many"
    REDIRECTED = "redirected"


class LayerState(StrEnum):
    """`HIDDEN` is a regulated project's: there is no first layer, and not a word about it."""

    ACTIVE = "active"
    UNSET = "unset"
    FAILED = "failed"
    OFF = "off"
    HIDDEN = "hidden"


@dataclass(frozen=True, slots=True)
class SemanticHit:
    """`score` is 0..1 and ours; `measure` says of what. `cite` is a session or `path:line`."""

    score: float
    measure: str
    cite: str
    day: str | None
    text: str


@dataclass(frozen=True, slots=True)
class LayerOne:
    """The first layer's part. `name` is `claude-mem` or `local`; `newest` is the ISO time of its newest record, None when unknown."""

    name: str
    state: LayerState
    reason: str = ""
    hits: tuple[SemanticHit, ...] = ()
    newest: str | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A verbatim sentence with what it was found in. `lead` says what it is: the record, an older one, the same in the other layer."""

    lead: str
    quote: str
    cite: str
    day: str | None = None


@dataclass(frozen=True, slots=True)
class Recalled:
    """The whole answer. `total` counts the hits of layer 2 before they were cut to twenty; `flags` are sentences for the user."""

    question: str
    outcome: Outcome
    layer_one: LayerOne
    words: tuple[str, ...] = ()
    lines: tuple[LineHit, ...] = ()
    total: int = 0
    claims: tuple[Claim, ...] = ()
    say: str = ""
    flags: tuple[str, ...] = ()


def refusal(question: str) -> Recalled | None:
    """What is said instead of searching, for a question that names nothing or asks about the method; None for a question to search."""
    nobody = LayerOne("claude-mem", LayerState.HIDDEN)
    if _METHOD.search(question):
        where = "This searches memory/, which is project state. Questions about the method belong in CLAUDE.md, Training/, or reference/."
        return Recalled(question, Outcome.REDIRECTED, nobody, say=where)
    if all(group.key in _EMPTY_WORDS for group in topic(question)):
        ask = f'Which topic? "{question.strip()}" names none, so everything would match. Name the thing, e.g. "auth token rotation".'
        return Recalled(question, Outcome.TOO_VAGUE, nobody, say=ask)
    return None


def keywords(question: str, archive: Archive) -> tuple[Keyword, ...]:
    return tuple(word for word in strongest(question, archive) if word.folded not in _EMPTY_WORDS) or strongest(question, archive)


def recall(question: str, archive: Archive, layer_one: LayerOne) -> Recalled:
    """Steps 3 to 5 of the protocol; the question has passed `refusal`, and `layer_one` has been asked."""
    words = keywords(question, archive)
    named = tuple(word.text for word in words)
    lines = grep(question, words, archive)
    semantic = tuple(hit for hit in layer_one.hits if hit.score >= THRESHOLD)[:TOP]
    layer_one = LayerOne(layer_one.name, layer_one.state, layer_one.reason, semantic, layer_one.newest)
    flags = _flags(layer_one, archive)
    if len(lines) >= TOO_MANY:
        ask = f"{len(lines)} lines match. Please give a tighter phrase than {', '.join(named)}."
        return Recalled(question, Outcome.TOO_MANY, layer_one, named, total=len(lines), say=ask, flags=flags)
    claims = _claims(lines, archive)
    apart = _divergence(layer_one, lines, claims)
    claims = _with_semantic(claims, semantic, diverging=bool(apart) and not apart[0].startswith("Both"))
    if not claims:
        thing = " ".join(named) or question
        return Recalled(question, Outcome.EMPTY, layer_one, named, tuple(lines[:SHOWN]), len(lines), say=_nothing(thing), flags=flags)
    return Recalled(question, Outcome.ANSWERED, layer_one, named, tuple(lines[:SHOWN]), len(lines), claims, flags=(*apart, *flags))


def _nothing(thing: str) -> str:
    return (
        f"No prior decision recorded about {thing}. If you're about to make a decision, consider:\n"
        "- Adding an ADR to architecture/DECISIONS.md\n"
        "- Recording the decision in memory/architecture_decisions.md after the session"
    )


def _flags(layer_one: LayerOne, archive: Archive) -> tuple[str, ...]:
    flags: list[str] = []
    if layer_one.state is LayerState.ACTIVE and archive.exported and layer_one.newest and archive.exported > layer_one.newest:
        flags.append(
            f"memory/{EXPORT} ({archive.exported}) is newer than layer 1's newest record ({layer_one.newest}): layer 1 may be stale."
            " Run `onebrain recall export` (scripts/memory-export.sh) and reindex."
        )
    if archive.problems:
        flags.append("Memory needs attention before decisions rest on it: " + " ".join(archive.problems))
    return tuple(flags)


def _claims(lines: Sequence[LineHit], archive: Archive) -> tuple[Claim, ...]:
    """The answer from layer 2: records newest first, each with its decision, then further lines. A superseded record is followed."""
    best = [hit for hit in lines if hit.share >= ENOUGH]
    records = archive.records()
    current: dict[str, Record] = {}
    older = {hit.record.id: hit.record for hit in lines if hit.record and hit.record.deprecated and best}
    for hit in best:
        if hit.record:
            newest = _follow(hit.record, records)
            if not newest.deprecated:
                current.setdefault(newest.id, newest)
    claims = [claim for record in sorted(current.values(), key=_newest_first) for claim in _of_record(record, "", lines)]
    loose = [hit for hit in lines if best and (hit.record is None or hit.record.id not in current | older)]
    claims += [Claim("", plain(hit.text), hit.citation, hit.day) for hit in loose]
    claims = claims[:CLAIMS]
    for record in sorted(older.values(), key=_newest_first):
        end = f"superseded by {record.superseded_by}" if record.superseded_by else "no longer in force"
        claims += _of_record(record, f"Older, for context ({end}): ", lines)[:1]
    return tuple({claim.cite: claim for claim in claims}.values())


def _follow(record: Record, records: Mapping[str, Record]) -> Record:
    """The record at the end of a chain of supersessions; the record itself where the chain leads nowhere or back."""
    seen = {record.id}
    while record.superseded_by and (successor := records.get(record.superseded_by.casefold())) and successor.id not in seen:
        record = successor
        seen.add(record.id)
    return record


def _newest_first(record: Record) -> tuple[int, str, int]:
    return -int((record.day or "0000-00-00").replace("-", "")), record.path, -record.line


def _of_record(record: Record, lead: str, hits: Sequence[LineHit]) -> list[Claim]:
    """The heading of a record, its decision, and the best lines of it that were found."""
    found = [(hit.line, hit.text) for hit in hits if hit.record == record][:2]
    quoted = dict([(record.line, record.text), *([record.decision] if record.decision else []), *found])
    return [Claim(lead if line == record.line else "", plain(text), f"{record.path}:{line}", record.day) for line, text in quoted.items()]


def _with_semantic(claims: tuple[Claim, ...], hits: Sequence[SemanticHit], *, diverging: bool) -> tuple[Claim, ...]:
    """Layer 1's records join behind what the files say; where the layers differ and its newest is the newer one, that one leads."""
    newest = max((claim.day for claim in claims if claim.day), default="")
    ahead = [hit for hit in hits if diverging and claims and hit.day and hit.day > newest][:1]
    first = [Claim("Newest, layer 1 alone: ", hit.text, hit.cite, hit.day) for hit in ahead]
    behind = [Claim("Layer 1: ", hit.text, hit.cite, hit.day) for hit in hits[:CLAIMS] if hit not in ahead]
    return (*first, *claims, *behind)


def _divergence(layer_one: LayerOne, lines: Sequence[LineHit], claims: Sequence[Claim]) -> tuple[str, ...]:
    if layer_one.state is not LayerState.ACTIVE:
        return ()
    if layer_one.hits and not claims:
        miss = "the discussion is paraphrased there, or the export hasn't captured it yet"
        return (f"The layers diverge: layer 1 has records, the files have no line with these words ({miss}).",)
    if claims and not layer_one.hits:
        return ("The layers diverge: the files have lines that layer 1 has not (it may not have indexed them yet).",)
    if claims and not _agreeing(layer_one.hits, lines):
        return ("The layers diverge: they found different things. Both are shown.",)
    return ("Both layers agree.",) if claims else ()


def _agreeing(hits: Sequence[SemanticHit], lines: Sequence[LineHit]) -> bool:
    return any(agree(hit.text, line.text) for hit in hits for line in lines)


def agree(one: str, other: str) -> bool:
    """Whether two quotes speak of the same: they share a record's id, or half of the topic of the shorter."""
    ids = set(re.findall(r"\b[A-Z][A-Z]+-\d+\b", one)) & set(re.findall(r"\b[A-Z][A-Z]+-\d+\b", other))
    first, second = ({fold(group.key) for group in topic(text)} for text in (one, other))
    return bool(ids) or 2 * len(first & second) >= max(1, min(len(first), len(second)))

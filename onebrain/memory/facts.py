"""Memory search (seed 000): the words and the meaning of a question, natural activation, and who a memory is about.

What must stay true: a search changes nothing. A memory surfaces when it is named or strongly paraphrased and active enough; noise is
dropped, not ranked low. A superseded memory is never current: it shows only as a dated record of the past, when it is named.

    relevance = 0.3 * words + 0.7 * meaning                 words alone where a passage has no vector
    score     = (relevance * (0.5 + 0.5 * prominence) + 0.3 * exp(-age in hours / 3))
                * 1.5 if the memory holds the question literally * 1.5 if it is about the user

`words` is BM25 over the sum of the idf of the question's words: 1.0 when each of them stands in a passage of ordinary length.
`meaning` is the cosine on the embedder's own scale: measured on short memories, multilingual-e5-small gives 0.72-0.82 to what is
unrelated and 0.86-0.90 to a paraphrase, so 0.75 counts as 0 and 0.90 as 1. The gate also takes the calibrated rerank_score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path, PurePosixPath

from onebrain.memory.activation import (
    ACTIVE,
    DIRECT,
    DORMANT,
    activation,
    is_recalled,
    prominence,
    recency_boost,
    relevance,
    topic,
)
from onebrain.memory.memories import TYPES, Memory, mapped
from onebrain.search.question import Filters, Request
from onebrain.search.report import CONFIDENT, POSSIBLE, Report
from onebrain.text.analysis import fold, groups
from onebrain.vault import files
from onebrain.vault.library import Library, Vector, WordQuery
from onebrain.vault.note import Chunk

WORDS, MEANING = 0.3, 0.7
USER_BOOST = LITERAL_BOOST = 1.5
UNRELATED, PARAPHRASE = 0.75, 0.90  # cosines
LEAST = 0.05
WHOLE = 1500  # characters up to which a memory is shown whole, not by its best passage
JUDGED = 50  # hits whose calibrated score is asked for


@dataclass(frozen=True, slots=True)
class Ask:
    """A valid search: `type` is a key of TYPES, `limit` is 1..50."""

    query: str
    type: str = "fact"
    subject: str | None = None
    limit: int = 10


@dataclass(frozen=True, slots=True)
class Signals:
    """What the shared core says about passages, by chunk id: `words` 0..1, cosines, and calibrated rerank scores where any were given."""

    words: Mapping[str, float] = field(default_factory=dict)
    cosines: Mapping[str, float] = field(default_factory=dict)
    judged: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """A memory that surfaced, by its best passage. `why` holds the parts of the score by name."""

    memory: Memory
    passage: str
    score: float
    prominence: float
    why: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Answer:
    """`by_meaning` is False where there were no vectors and words decided alone."""

    found: tuple[Found, ...]
    by_meaning: bool


def answer(
    library: Library,
    vault: Path,
    embed: Callable[[str], Vector | None],
    judge: Callable[[Request], Report],
    memories: Iterable[Memory],
    ask: Ask,
    today: date,
) -> Answer:
    """A search over the memory notes and the vault's logs, with everything the core has: both legs, and its calibrated judgement.

    `embed` makes a question's vector, None where there is no model; `judge` is the core's own answer.
    """
    kept = candidates([*memories, *mapped(library.notes().values())], ask, today)
    if not kept:
        return Answer((), library.meaning is not None)
    vector = embed(ask.query) if library.meaning is not None else None
    folders = tuple(sorted({PurePosixPath(memory.path).parent.as_posix() for memory in kept}))
    report = judge(Request(text=ask.query, now=today, filters=Filters(paths=folders), limit=JUDGED, everything=True, write_hyde=False))
    judged = {hit.chunk_id: hit.rerank_score for hit in report.hits if hit.rerank_score is not None}
    passages = {memory.path: _passages(library, vault, memory) for memory in kept}
    found = search(ask, kept, passages, signals(library, ask, kept, vector, judged), today)
    return Answer(tuple(found), vector is not None)


def _passages(library: Library, vault: Path, memory: Memory) -> list[Chunk]:
    """Those of the index where the note is as it was indexed; else the memory as it was read just now. A log isn't read: it has none."""
    note = library.notes().get(memory.path)
    if note is not None and files.unchanged(vault, note):
        return [c for c in library.chunks_of(memory.path) if c.line_end >= memory.body_line]
    text, line = memory.content, memory.body_line
    return [Chunk(f"{memory.path}#", memory.path, 0, memory.title, line, line + text.count("\n"), text, text)] if text else []


def candidates(memories: Iterable[Memory], ask: Ask, today: date) -> list[Memory]:
    """Memories of the type and subject asked for that are for the user and not archived."""
    kinds, subject = TYPES[ask.type], (ask.subject or "").casefold()
    return [
        memory
        for memory in memories
        if (kinds is None or memory.category in kinds)
        and (not subject or (memory.subject or "").casefold() == subject)
        and not memory.for_assistant
        and prominence(memory.strength, today) >= DORMANT
    ]


def signals(library: Library, ask: Ask, memories: Sequence[Memory], vector: Vector | None, judged: Mapping[str, float]) -> Signals:
    """Both legs of the index, restricted to the passages of `memories`."""
    paths = [memory.path for memory in memories]
    ids = [chunk.id for path in paths for chunk in library.chunks_of(path)]
    asked = groups(ask.query)
    terms = {term: group.weight for group in asked for term in group.alternatives}
    if not ids or not terms:
        return Signals(judged=judged)
    same = {term: group.key for group in asked for term in group.alternatives}
    idf = library.words.idf(terms)
    full = sum(max(idf[term] for term in group.alternatives) * group.weight for group in asked if not group.optional) or 1.0
    hits = library.words.search(WordQuery(terms, same=same), limit=len(ids), allowed=paths)
    cosines = library.meaning.cosines(vector, ids) if vector is not None and library.meaning else {}
    return Signals({hit.chunk_id: min(1.0, hit.score / full) for hit in hits}, cosines, judged)


def meaning(cosine: float) -> float:
    return max(0.0, min(1.0, (cosine - UNRELATED) / (PARAPHRASE - UNRELATED)))


def search(ask: Ask, memories: Sequence[Memory], passages: Mapping[str, Sequence[Chunk]], given: Signals, today: date) -> list[Found]:
    """The memories that surface, best first, each by its best passage; ties by path. `passages` are by path."""
    asked = topic(ask.query)
    best: dict[str, Found] = {}
    for memory in memories:
        for chunk in passages.get(memory.path, ()):
            named = relevance(asked, f"{memory.names} {chunk.text}")
            found = _scored(ask, memory, chunk, named, given, today)
            kept = best.get(memory.path)
            if found and (kept is None or found.score > kept.score):
                best[memory.path] = found
    found_all = sorted(best.values(), key=lambda found: (-found.score, found.memory.path))
    if any(found.memory.superseded for found in found_all):  # a named record of the past: its companions must be named as well
        found_all = [found for found in found_all if found.why["named"] >= DIRECT]
    return found_all[: ask.limit]


def _scored(ask: Ask, memory: Memory, chunk: Chunk, named: float, given: Signals, today: date) -> Found | None:
    words = given.words.get(chunk.id, 0.0)
    cosine = given.cosines.get(chunk.id)
    likeness = max(meaning(cosine) if cosine is not None else 0.0, given.judged.get(chunk.id, 0.0))
    if not _surfaces(memory, named, likeness, given.judged.get(chunk.id, 0.0), today):
        return None
    relevant = WORDS * words + MEANING * meaning(cosine) if cosine is not None else words or named
    present = prominence(memory.strength, today)
    age = (today - memory.strength.stored).days
    score = relevant * (0.5 + 0.5 * present) + (recency_boost(age) if memory.distilled else 0.0)
    literal = LITERAL_BOOST if fold(ask.query.strip()) in fold(chunk.text) else 1.0
    user = USER_BOOST if (memory.subject or "").casefold() == "user" else 1.0
    score *= literal * user
    if score <= LEAST:
        return None
    why = {"words": words, "named": named, "likeness": likeness, "literal_boost": literal, "user_boost": user}
    why["activation"] = activation(memory.strength, max(named, likeness), today)
    whole = memory.content if 0 < len(memory.content) <= WHOLE else chunk.text.strip()
    return Found(memory, whole, score, present, why)


def _surfaces(memory: Memory, named: float, likeness: float, judged: float, today: date) -> bool:
    if memory.superseded:
        return memory.strength.event_date is not None and named >= DIRECT
    if memory.distilled:
        return is_recalled(named, likeness) and activation(memory.strength, max(named, likeness), today) >= ACTIVE
    # Logs and summaries are asked for by type. They don't fade, but a shared word alone is noise there too.
    return is_recalled(named, likeness) or judged >= (POSSIBLE if named else CONFIDENT)

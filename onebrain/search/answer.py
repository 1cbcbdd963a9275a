"""A what-answer: one to three statements quoted from confident hits, chosen by how well each answers. Nothing is written, only chosen.

All statements of the hits that are read stand on one scale: the question's words they hold (by idf, together with heading and title, which
may leave them unsaid), their likeness to the question, whether they have the kind of thing asked for (a number, a date, a reason), and how
far their hit lies behind the first. Stale notes lend none while a current one can answer, and of two dated statements that differ in a
value the later one stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from onebrain.models.ports import Embedder
from onebrain.search.backing import denies
from onebrain.search.evidence import Pool
from onebrain.search.report import CONFIDENT, Hit, Mode, Quote
from onebrain.search.statements import Statement, statements, together
from onebrain.text import analysis
from onebrain.text.dates import Found, find_dates, order_of
from onebrain.text.sentences import plain
from onebrain.vault.events import cues
from onebrain.vault.library import Library
from onebrain.vault.note import Chunk

MOST = 3
_HITS = 4  # confident hits that are read
_COMPARED = 12  # statements that are compared by meaning, at some 5 ms each; twenty were no better
# The weights were chosen by kind on questions with a labelled answer (docs/quality.md): between half and twice of each little changes.
_WORDS, _MEANING, _ASKED_FOR, _REASON, _EARLY = 0.6, 0.8, 0.25, 0.3, 0.06
_UNSAID = 0.5  # the worth of a word that only heading or title says
_BEHIND = 1.0  # a hit that scores one less than the first lends at half its worth
_LED, _GATHERED = -0.1, -0.2  # a whole list, with words that lead it in and without, gives way to an item that does as well …
_ASKED_LIST, _OPENED = 0.1, 0.5  # … unless what opens it, lead-in or heading, holds so many of the question's words
_MATTER = 0.7  # an entry of a frontmatter answers only where no prose does nearly as well
_BARE = 0.5  # an address answers what asks for one, and hardly anything else
_KEEP = 0.75  # of the best statement's score: a further one must be this good, or it only dilutes the answer
_ALIKE = 0.7  # of the words of the shorter of two statements
_STALE = frozenset({"deprecated", "superseded", "rejected"})

_MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATED = re.compile(
    rf"(?<![\w.#/-])(?:1[5-9]|20)\d\d(?!\w)|\b\d{{1,2}}/\d{{1,2}}(?:/\d\d)?|\b\d{{1,2}}\.\d{{1,2}}\.(?:19|20)\d\d|\b(?:{_MONTH})\b"
)
_WHEN = re.compile(
    r"\b(?:when|what (?:date|day|year|time)|wann|quand|cuándo|quando|когда)\b|เมื่อไ|いつ|什么时候|什麼時候|何时|何時|언제|متى", re.IGNORECASE
)
_HAVE = (
    (
        re.compile(
            r"\bhow (?:many|much|long|often|large|big|old|fast)\b|\bwhat (?:number|share|cap|limit|size|version|port|cost|price)\b"
            r"|\bwie (?:viele?|lange|oft|groß|alt|hoch)\b|\bcombien\b|\bcuánt[oa]s?\b|\bquant[oaie]s?\b|\bсколько\b"
            r"|多少|几|幾|กี่|เท่าไ|いくつ|몇|كم",
            re.IGNORECASE,
        ),
        re.compile(r"\d"),
    ),
    (_WHEN, _DATED),
    (re.compile(r"\b(?:who|whose|whom|wer|qui|quién|кто)\b", re.IGNORECASE), re.compile(r"[A-Z][a-z]+ [A-Z][a-z]+|@\w+")),
)
_BYGONE = re.compile(  # what asks for a time that may be over
    r"\b(?:(?:19|20)\d\d|first|original\w*|initial\w*|previous\w*|former\w*|older|oldest|before|used to|history)\b", re.IGNORECASE
)
_DAY_LINE, _DAY_LABEL = 80, 16  # characters of a line that tells the day of what stands below it, and letters of that before the day
_ADDRESS = re.compile(r"\bhttps?://\S+|\b[0-9a-f]{12,}\b")  # or the hash of a commit
_ASKS_ADDRESS = re.compile(r"\b(?:links?|urls?|address|site|website|page|where|repo\w*|pull|pr)\b", re.IGNORECASE)
_VALUE = re.compile(r"[\w.,:/@-]*\d[\w.,:/@-]*|[^\W\d_]+(?:['’-][^\W\d_]+)*")


@dataclass(frozen=True, slots=True)
class _Option:
    """A statement that may be quoted, from the passage of that number, whose hit scores `behind` less than the first.

    `words` is the share of the question it holds, `opened` that of its lead-in or heading in number, `held` the words in it or around it;
    `day` its section's or note's.
    """

    said: Statement
    text: str
    path: str
    heading: str
    line: int
    passage: int
    behind: float = 0.0
    place: int = 0
    words: float = 0.0
    opened: float = 0.0
    held: frozenset[str] = frozenset()
    day: str | None = None
    dated: bool = False  # whether the day is told
    score: float = 0.0


def answer(library: Library, pool: Pool, hits: Sequence[Hit], embedder: Embedder | None) -> tuple[Quote, ...]:
    """Best first, then in the order of the notes. Empty when no hit is confident, or none of them states anything."""
    confident = [hit for hit in hits if hit.rerank_score is not None and hit.rerank_score >= CONFIDENT]
    read = ([hit for hit in confident if hit.status not in _STALE] or confident)[:_HITS]
    chunks = library.chunks([hit.chunk_id for hit in read])
    best = max((hit.score for hit in read), default=0.0)
    passages = [(hit, chunks[hit.chunk_id]) for hit in read if hit.chunk_id in chunks]
    options = [option for n, (hit, chunk) in enumerate(passages) for option in _options(hit, chunk, n, best - hit.score, pool)]
    likeness = _likeness(options, pool, embedder)
    scored = [replace(option, score=_score(option, like, pool)) for option, like in zip(options, likeness, strict=True)]
    question = pool.reading.text
    chosen = _choose(scored) if _BYGONE.search(question) else _overtaken(_choose(_current(scored)), scored, question)
    tells = [o.dated or bool(_WHEN.search(question) and not _DATED.search(o.text)) for o in chosen]
    return tuple(Quote(o.text, o.path, o.heading, o.line, o.day if told else None) for o, told in zip(chosen, tells, strict=True))


def _options(hit: Hit, chunk: Chunk, passage: int, behind: float, pool: Pool) -> list[_Option]:
    weights = {g.key: pool.lexical.idf.get(g.key, 0.0) for g in pool.reading.groups if not g.optional}
    terms = {term: g.key for g in pool.reading.groups for term in (*g.alternatives, *pool.lexical.guesses.get(g.key, ()))}
    total = sum(weights.values()) or 1.0

    def held(text: str) -> frozenset[str]:
        return frozenset(terms[term.text] for term in analysis.terms(text) if term.text in terms)

    def share(words: Iterable[str]) -> float:
        return sum(weights.get(word, 0.0) for word in words) / total

    around = held(f"{hit.title} {chunk.heading_path}")
    heading = chunk.heading_path.rpartition(" > ")[2] or hit.title
    found: list[_Option] = []
    for said in statements(chunk):
        if said.states():
            text = said.text
            own = held(_ADDRESS.sub(" ", text))  # the name of a site is no word of what is said
            option = _Option(said, text, chunk.path, heading, chunk.line_start + said.line, passage, behind, len(found))
            found.append(
                replace(
                    option,
                    words=share(own) + _UNSAID * share(around - own),
                    opened=len(held(said.lead[1] if said.lead else heading) & weights.keys()) / (len(weights) or 1),
                    held=own | around,
                    day=_day(hit, chunk, said.line),
                )
            )
    return found


def _day(hit: Hit, chunk: Chunk, line: int) -> str | None:
    """The day of what stands at `line`: told by a line above it that says no more, by the heading, or by the note."""
    order = order_of([chunk.text])
    for text in reversed(chunk.text.split("\n")[:line]):
        label = plain(text).rstrip(" .|)") if len(text) <= _DAY_LINE else ""
        days = find_dates(label, order)
        if days and days[-1].end == len(label) and sum(map(str.isalpha, label[: days[-1].start])) <= _DAY_LABEL:
            return _sure(days[-1], order)
    days = find_dates(chunk.heading_path.rpartition(" > ")[2], order)
    return (_sure(days[0], order) if days else None) or hit.date


def _sure(day: Found, order: str | None) -> str | None:
    return day.iso if order or not day.ambiguous else None


def _likeness(options: Sequence[_Option], pool: Pool, embedder: Embedder | None) -> list[float]:
    """Cosine with the question, min-max normalised over all that are compared; 0 for the others, or without vectors."""
    likeness = [0.0] * len(options)
    if embedder is None or pool.semantic.vector is None or len(options) < 2:
        return likeness
    promising = sorted(range(len(options)), key=lambda n: (-options[n].words / (1 + _BEHIND * options[n].behind), n))
    compared = sorted(promising[:_COMPARED])
    cosines = embedder.embed_passages([options[n].text for n in compared]) @ pool.semantic.vector
    low, high = float(np.min(cosines)), float(np.max(cosines))
    for n, cosine in zip(compared, cosines, strict=True):
        likeness[n] = (float(cosine) - low) / (high - low) if high > low else 0.0
    return likeness


def _score(option: _Option, likeness: float, pool: Pool) -> float:
    question, said = pool.reading.text, option.said
    score = _WORDS * option.words + _MEANING * likeness + _EARLY / (1 + option.place)
    score += _ASKED_FOR * any(asked.search(question) and given.search(option.text) for asked, given in _HAVE)
    score += _REASON * (pool.reading.mode is Mode.WHY and cues.explains(option.text))
    score += (_ASKED_LIST if option.opened >= _OPENED else _LED if said.lead else _GATHERED) * said.whole
    bare = 2 * len(_ADDRESS.sub("", option.text)) < len(option.text) and not _ASKS_ADDRESS.search(question)
    return score * (_MATTER if said.matter else _BARE if bare else 1.0) / (1 + _BEHIND * option.behind)


def _current(options: Sequence[_Option]) -> list[_Option]:
    """Without statements that another of a later day contradicts: alike, but with another value. What holds more of the question stays."""
    return [
        option
        for option in options
        if not any(
            option.day and later.day and later.day > option.day and option.held <= later.held and _contradicts(option.text, later.text)
            for later in options
        )
    ]


def _overtaken(chosen: list[_Option], options: Sequence[_Option], question: str) -> list[_Option]:
    """With the latest decision of a later day that moves on from what the best statement names (`from X to Y`), both with their days.

    It comes first where it holds half of what the best holds of the question; else it may be about something else.
    """
    best = chosen[0] if chosen else None
    if best is None or best.day is None:
        return chosen
    named, known = _values(best.text) - _words(question), _words(best.text)
    after = [option for option in options if option.day and option.day > best.day and cues.decides(option.text)]
    later = [option for option in after if named & _words(option.text) and _words(option.text) - known]
    if not later:
        return chosen
    newest = max(later, key=lambda option: (option.day or "", option.score))
    pair = [replace(best, dated=True), replace(newest, dated=True)]
    rest = [option for option in chosen[1:] if not _says_the_same(option, newest)]
    return [*(pair[::-1] if newest.words >= best.words / 2 else pair), *rest[: MOST - 2]]


def _choose(options: Sequence[_Option]) -> list[_Option]:
    """The best statement, and up to two more that are nearly as good and say something else, in reading order of the best's note first.
    Prose is not mixed with a frontmatter's keys and values, and items of one list become one statement."""
    chosen: list[_Option] = []
    for option in sorted(options, key=lambda o: (-o.score, o.path, o.line)):
        if chosen and option.said.matter is not chosen[0].said.matter:
            continue
        if chosen and option.score < _KEEP * chosen[0].score:
            break
        joined = _joined(chosen, option)
        if joined is not None:
            chosen[joined[0]] = joined[1]
        elif len(chosen) < MOST and not any(_says_the_same(option, other) for other in chosen):
            chosen.append(option)
    rest = sorted(chosen[1:], key=lambda o: (o.path != chosen[0].path, o.path, o.line))
    return [*chosen[:1], *rest]


def _joined(chosen: Sequence[_Option], option: _Option) -> tuple[int, _Option] | None:
    for n, other in enumerate(chosen):
        both = together(other.said, option.said) if other.passage == option.passage else None
        if both is not None:
            return n, replace(other, said=both, text=both.text)
    return None


# Whether two statements say the same


def _says_the_same(one: _Option, other: _Option) -> bool:
    """One holds a part of the other, or mostly its words and no number, name or denial that sets them apart."""
    if any(part in b.text for a, b in ((one, other), (other, one)) for _, part in a.said.parts):
        return True
    a, b = _words(one.text), _words(other.text)
    return len(a & b) >= _ALIKE * min(len(a), len(b)) and not _contradicts(one.text, other.text)


def _contradicts(one: str, other: str) -> bool:
    """Whether two statements are alike but for their values: each has a number or a name that the other hasn't, or one denies."""
    a, b = _words(one), _words(other)
    values = _values(one) | _values(other)
    bare_a, bare_b = a - values, b - values
    if not bare_a or not bare_b or len(bare_a & bare_b) < _ALIKE * min(len(bare_a), len(bare_b)):
        return False
    return bool((a - b) & values and (b - a) & values) or denies(one) != denies(other)


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold().rstrip(".,:/-") for word in _VALUE.findall(text))


def _values(text: str) -> frozenset[str]:
    """Numbers and what has them, and words written large within a sentence."""
    told = [word for n, word in enumerate(_VALUE.findall(text)) if any(map(str.isdigit, word)) or (n and any(map(str.isupper, word)))]
    return _words(" ".join(told))

"""What the templates show, decided without a template: pure functions from a query string and a Report to words and small values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from onebrain.errors import BadRequest
from onebrain.render.plain import clean
from onebrain.search.question import Filters, Legs, Request
from onebrain.search.report import Band, ChainLink, Hit, Mode, Quote, Report, StageStatus, Verdict
from onebrain.search.report import Stage as Step
from onebrain.text import analysis
from onebrain.vault.library import NoteRecord

if TYPE_CHECKING:
    from onebrain.render.state import Status

SHOWN = 5  # sources under an answer, as the seed has it
LISTED = 30  # hits behind "all matches"
LONGEST = 5_000  # characters of a question; what is longer is no question
FEW_TAGS = 60  # tags offered as a filter, the most used first

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_WORD = re.compile(r"\w+(?:[-./'’]\w+)*")  # a compound is marked as one: terms know only where it begins
_DENSE = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_MARKUP = re.compile(r"(?m)^\s{0,3}(?:#{1,6}\s+|>\s?|[-*+]\s+(?:\[[ xX]\]\s+)?|\d+\.\s+)|\[!\w+\][+-]?\s*|[*_]{2,3}|`+|\^[\w-]+\s*$")
_LINK = re.compile(r"!?\[\[(?:[^\[\]|]*\|)?([^\[\]|]+)\]\]|!?\[([^\[\]]*)\]\([^()\s]*\)")


@dataclass(frozen=True, slots=True)
class Asked:
    """The state of the form. It is the whole state of the page: an address can be kept and opened again."""

    q: str = ""
    mode: str = ""
    folder: str = ""
    tag: str = ""
    type: str = ""
    after: str = ""
    before: str = ""

    @property
    def filtered(self) -> int:
        return sum(1 for value in (self.folder, self.tag, self.type, self.after, self.before) if value)

    def query_string(self, **more: str) -> str:
        pairs = {name: getattr(self, name) for name in self.__slots__} | more
        return urlencode({name: value for name, value in pairs.items() if value}, errors="surrogateescape")


def asked(params: Mapping[str, str]) -> Asked:
    """The form from a query string. BadRequest where a value is none the form can have."""
    found = Asked(**{name: params.get(name, "").strip() for name in Asked.__slots__})
    if len(found.q) > LONGEST:
        raise BadRequest(f"The question has {len(found.q):,} characters.", hint=f"Shorten it to {LONGEST:,}.")
    if found.mode not in ("", Mode.WHAT, Mode.WHY):
        raise BadRequest(f"There is no mode {found.mode!r}.", hint="Choose what or why.")
    for name in ("after", "before"):
        value = getattr(found, name)
        try:
            if value:
                date.fromisoformat(value)
        except ValueError as error:
            raise BadRequest(f"{value!r} is no day.", hint="Write it as 2026-04-19.") from error
    return found


class Stage(StrEnum):
    """How far a question is taken: what typing can wait for, what a pause can, and all there is."""

    WORDS = "words"
    MEANING = "meaning"
    FULL = "full"  # the whole cascade, a hypothetical passage and a configured synthesis included


def request_of(form: Asked, now: date, stage: Stage) -> Request:
    filters = Filters(
        paths=(form.folder,) if form.folder else (),
        tags=(form.tag,) if form.tag else (),
        types=(form.type,) if form.type else (),
        after=form.after or None,
        before=form.before or None,
    )
    return Request(
        text=form.q,
        now=now,
        mode=form.mode or None,
        legs=Legs.LEX if stage is Stage.WORDS else Legs.HYBRID,
        filters=filters,
        limit=SHOWN,
        write_hyde=stage is Stage.FULL,
        write_synthesis=stage is Stage.FULL,
    )


@dataclass(frozen=True, slots=True)
class BandWords:
    """How a band is named; `chance` is what the calibrated score says, in per cent, None where there is no score."""

    css: str
    name: str
    chance: int | None
    meaning: str


_BANDS = {
    Band.CONFIDENT: ("Confident", "answers the question; safe to cite"),
    Band.POSSIBLE: ("Possible", "may help; not settled fact"),
    Band.WEAK: ("Weak", "probably does not answer"),
    Band.UNRANKED: ("Words", "holds your words; not judged yet"),
}


def band(hit: Hit) -> BandWords:
    name, meaning = _BANDS[hit.band]
    return BandWords(hit.band.value, name, None if hit.rerank_score is None else round(hit.rerank_score * 100), meaning)


@dataclass(frozen=True, slots=True)
class Event:
    """A link of the chain as the timeline shows it. `later` is the time since the one before, in words."""

    link: ChainLink
    day: str
    later: str | None


def timeline(chain: Sequence[ChainLink]) -> list[Event]:
    before: str | None = None
    events = []
    for link in chain:
        events.append(Event(link, day(link.date), gap(before, link.date) if before else None))
        before = link.date
    return events


def day(iso: str) -> str:
    """`2026-04-19` → `19 Apr 2026`; what is no date stays as it is."""
    try:
        found = date.fromisoformat(iso[:10])
    except ValueError:
        return iso
    return f"{found.day} {_MONTHS[found.month - 1]} {found.year}"


def gap(earlier: str, later: str) -> str | None:
    """The time between two days as people say it, None within the same day: `3 days later`, `5 months later`."""
    try:
        days = (date.fromisoformat(later) - date.fromisoformat(earlier)).days
    except ValueError:
        return None
    if days <= 0:
        return None
    count, unit = (days, "day") if days < 14 else (round(days / 7), "week") if days < 60 else (round(days / 30.44), "month")
    if unit == "month" and count >= 24:
        count, unit = round(days / 365.25), "year"
    return f"{count} {unit}{'s' if count != 1 else ''} later"


def plain(text: str) -> str:
    """A snippet without Markdown marks, on one line: links by their words, no control characters."""
    without = _LINK.sub(lambda match: match[1] or match[2] or "", text)
    return " ".join(clean(_MARKUP.sub(" ", without)).split())


def marked(text: str, question: str) -> list[tuple[str, bool]]:
    """`text` in pieces, each with whether it is a word of the question (by its stem, in any script)."""
    wanted = {term for group in analysis.groups(question) for term in group.alternatives} if question.strip() else set()
    lit = bytearray(len(text))
    for start, term in analysis.spans(text):
        if term not in wanted:
            continue
        if _DENSE.match(term):  # a pair of letters somewhere in a run without spaces
            found = text.find(term, start)
            start, end = max(found, start), found + len(term)
        else:
            end = word.end() if (word := _WORD.match(text, start)) else start
        lit[start:end] = b"\x01" * max(0, end - start)
    pieces: list[tuple[str, bool]] = []
    begin = 0
    for end in range(1, len(text) + 1):
        if end == len(text) or lit[end] != lit[begin]:
            pieces.append((text[begin:end], bool(lit[begin])))
            begin = end
    return pieces


def summary(report: Report) -> str:
    """One sentence for people who hear the page."""
    if report.mode is Mode.WHY and report.chain:
        return f"A chain of {_count(len(report.chain), 'decision')}, {day(report.chain[0].date)} to {day(report.chain[-1].date)}."
    if report.answer:
        return f"An answer of {_count(len(report.answer), 'quoted sentence')}, {_count(len(report.sources), 'source')}."
    if report.verdict is Verdict.NONE:
        return "No strong match."
    return f"{_count(len(report.sources), 'possible source')}, no certain answer."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class Cited:
    """The sentences of an answer that stand in one passage, best first; `first` and `last` are the lines from which they were taken."""

    path: str
    heading: str
    quotes: tuple[Quote, ...]

    @property
    def first(self) -> int:
        return min(quote.line for quote in self.quotes)

    @property
    def last(self) -> int:
        return max(quote.line for quote in self.quotes)


def cited(answer: Sequence[Quote], hits: Sequence[Hit]) -> list[Cited]:
    """Neighbouring sentences from the same passage together, so that each place is named once. Headings alone don't tell: they repeat."""
    passages: list[tuple[str, str | int]] = []
    places: list[Cited] = []
    for quote in answer:
        holding = (hit.chunk_id for hit in hits if hit.doc_path == quote.path and hit.line_start <= quote.line <= hit.line_end)
        passage = (quote.path, next(holding, quote.line))
        if passages[-1:] == [passage]:
            places[-1] = Cited(quote.path, quote.heading, (*places[-1].quotes, quote))
        else:
            passages.append(passage)
            places.append(Cited(quote.path, quote.heading, (quote,)))
    return places


def worded(report: Report) -> list[tuple[str, list[tuple[int, Quote | ChainLink]]]]:
    """The sentences of a synthesis, each with the numbers and places of the quotes that back it."""
    sentences = report.synthesis.sentences if report.synthesis else ()
    return [(sentence.text, [(n, report.quoted[n - 1]) for n in sentence.cites]) for sentence in sentences]


def others(report: Report) -> list[Hit]:
    """The hits that are not among the sources, as many as can be read."""
    shown = {hit.chunk_id for hit in report.sources}
    return [hit for hit in report.hits if hit.chunk_id not in shown][:LISTED]


_STAGES = {
    "exact": "names and titles",
    "lex": "the search by words",
    "vec": "the search by meaning",
    "hyde": "an imagined answer to search with",
    "rerank": "the reranker",
    "grep": "a look into the files",
    "synthesis": "a wording by your model",
}


def troubles(report: Report) -> list[str]:
    """The stages that failed, in a line each: the answer stands, but without them. A synthesis that was asked for is missed as well."""
    failed = [stage for stage in report.stages if stage.status is StageStatus.FAILED or _missed(stage, report)]
    return [f"Answered without {_STAGES.get(stage.name, stage.name)}: {stage.reason or 'it failed'}" for stage in failed]


def _missed(stage: Step, report: Report) -> bool:
    return stage.name == "synthesis" and report.synthesis is None and bool(report.quoted)


@dataclass(frozen=True, slots=True)
class Facets:
    """What the filters offer, each with its number of notes."""

    folders: tuple[tuple[str, int], ...] = ()
    tags: tuple[tuple[str, int], ...] = ()
    types: tuple[tuple[str, int], ...] = ()


def facets(notes: Iterable[NoteRecord]) -> Facets:
    folders: Counter[str] = Counter()
    tags: Counter[str] = Counter()
    types: Counter[str] = Counter()
    for note in notes:
        parts = note.path.split("/")[:-1]
        folders.update("/".join(parts[:depth]) for depth in range(1, min(len(parts), 2) + 1) if not parts[0].startswith("."))
        tags.update(set(note.tags))
        types[note.source.value] += 1
    return Facets(
        tuple(sorted(folders.items())),
        tuple(sorted(sorted(tags.items(), key=lambda item: (-item[1], item[0]))[:FEW_TAGS])),
        tuple(sorted(types.items())),
    )


@dataclass(frozen=True, slots=True)
class Health:
    """The index in one line, with a mark of `good`, `busy`, `bad`; and the lines behind it. What is unknown says so."""

    mark: str
    line: str
    facts: tuple[tuple[str, str], ...] = ()
    failures: tuple[tuple[str, str], ...] = ()


def health(status: Status) -> Health:
    facts = (
        ("Notes", _known(status.doc_count)),
        ("Passages", _known(status.chunk_count)),
        ("Waiting for words", _known(status.pending_words)),
        ("Waiting for meaning", _known(status.pending_vectors)),
        ("Last indexed", moment(status.last_indexed_at) if status.last_indexed_at else "never"),
        ("Meaning", status.embed_model if status.semantic_available else "off — run onebrain search model prepare"),
        ("Reranker", status.reranker or "none"),
        ("Owner", status.owner or "nobody"),
    )
    failures = tuple((failure.path, failure.reason) for failure in status.failed)
    mark, line = _state(status)
    return Health(mark, line, facts, failures)


def _state(status: Status) -> tuple[str, str]:
    if status.error:
        return "bad", plain(status.error)
    if not status.doc_count:
        return "bad", "No index yet"
    notes = f"{status.doc_count:,} notes"
    waiting = (status.pending_words or 0) + (status.pending_vectors or 0)
    if waiting:
        return "busy", f"{notes}, {waiting:,} still waiting"
    if not status.semantic_available:
        return "busy", f"{notes}, by words only"
    if status.pending_words is None or status.pending_vectors is None:
        return "busy", f"{notes}, freshness unknown"
    return "good", notes + (f", {len(status.failed)} unreadable" if status.failed else "")


def _known(count: int | None) -> str:
    return "unknown" if count is None else f"{count:,}"


def moment(iso: str) -> str:
    """An ISO time to the minute, in the time zone of this machine: `13 Oct 2026, 09:41`."""
    try:
        at = datetime.fromisoformat(iso).astimezone()
    except ValueError:
        return iso
    return f"{day(at.date().isoformat())}, {at:%H:%M}"


EXCERPT_LINES = 600  # of a note too large to be shown whole


def excerpt(text: str, first: int, limit: int = 400_000) -> tuple[str, int]:
    """The part of a very large note around line `first`, and how many lines were left out above it."""
    if len(text) <= limit:
        return text, 0
    lines = text.split("\n")
    start = max(0, first - EXCERPT_LINES // 2)
    return "\n".join(lines[start : start + EXCERPT_LINES])[:limit], start

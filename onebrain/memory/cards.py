"""Session memory (seed 002): knowledge cards and the events of sessions, as values; found, scored and ordered by pure functions.

What must stay true: the weights are the seed's (title 3, tags 2, TL;DR 1.5, body 1); `score` is their sum times two bonuses that are
published here; a card that lacks a field is still a card. The seed leaves the bonuses open. Ours:

    recency    = 1 + 0.5 * 0.5 ** (age in days / 30)        1.50 new, 1.25 after a month, 1.00 for ever or without a date
    importance = 1 + 0.15 * (importance - 1)                1.00, 1.15, 1.30, …; never under 1
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from onebrain.memory.card_query import CardQuery
from onebrain.memory.words import Keyword, Text

TITLE, TAGS, TLDR, BODY = 3.0, 2.0, 1.5, 1.0
SUMMARY = 1.0  # an event has one text, and no field that weighs more than another
RECENCY_DAYS = 30.0
RESULTS = 10
DEPRECATED = "deprecated"


@dataclass(frozen=True, slots=True)
class Card:
    """A knowledge card. `created` is an ISO day or None; `path` is relative to the project."""

    path: str
    title: str
    type: str = "note"
    importance: int = 1
    status: str = "active"
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    author: str | None = None
    created: str | None = None
    tldr: str = ""
    problems: tuple[str, ...] = ()
    title_text: Text = Text(frozenset(), "")
    tags_text: Text = Text(frozenset(), "")
    tldr_text: Text = Text(frozenset(), "")
    body_text: Text = Text(frozenset(), "")

    @property
    def fields(self) -> tuple[tuple[Text, float], ...]:
        return (self.title_text, TITLE), (self.tags_text, TAGS), (self.tldr_text, TLDR), (self.body_text, BODY)


@dataclass(frozen=True, slots=True)
class SessionEvent:
    """A line of `events/*.jsonl`. `at` is the time as written, `day` its ISO day or None."""

    path: str
    line: int
    at: str
    tool: str
    summary: str
    importance: int
    day: str | None
    files: tuple[str, ...]
    author: str | None
    text: Text

    @property
    def fields(self) -> tuple[tuple[Text, float], ...]:
        return ((self.text, SUMMARY),)


@dataclass(frozen=True, slots=True)
class Scored:
    """A card or event with its score, which is `keywords * recency * importance`."""

    item: Card | SessionEvent
    keywords: float
    recency: float
    importance: float

    @property
    def score(self) -> float:
        return self.keywords * self.recency * self.importance


def recency_bonus(day: str | None, today: date) -> float:
    if day is None:
        return 1.0
    age = max(0, (today - date.fromisoformat(day)).days)
    return 1 + 0.5 * math.pow(0.5, age / RECENCY_DAYS)


def importance_bonus(importance: int) -> float:
    return 1 + 0.15 * max(0, importance - 1)


def keyword_score(keywords: Iterable[Keyword], fields: Sequence[tuple[Text, float]]) -> float:
    """The weights of all fields that hold a keyword, summed over the keywords."""
    return sum(weight for keyword in keywords for text, weight in fields if keyword.found_in(text))


def find(query: CardQuery, cards: Iterable[Card], events: Iterable[SessionEvent], today: date) -> list[Scored]:
    """At most ten results, best first. Events join when fewer than ten cards were found. Without keywords the bonuses alone decide."""
    found = _scored(query, (c for c in cards if card_passes(query, c)), today)
    if len(found) < RESULTS and query.events_can_match:
        found += _scored(query, (e for e in events if _event_passes(query, e)), today)
    found.sort(key=_order)
    return found[:RESULTS]


def _scored(query: CardQuery, items: Iterable[Card | SessionEvent], today: date) -> list[Scored]:
    found = []
    for item in items:
        keywords = keyword_score(query.keywords, item.fields) if query.keywords else 1.0
        if keywords:
            day = item.created if isinstance(item, Card) else item.day
            found.append(Scored(item, keywords, recency_bonus(day, today), importance_bonus(item.importance)))
    return found


def _order(scored: Scored) -> tuple[float, bool, str, int]:
    item = scored.item
    return -scored.score, isinstance(item, SessionEvent), item.path, item.line if isinstance(item, SessionEvent) else 0


def card_passes(query: CardQuery, card: Card) -> bool:
    """Whether every filter holds. Deprecated cards show only to someone who asks for them."""
    status = card.status.casefold()
    if status == DEPRECATED and DEPRECATED not in query.statuses:
        return False
    tags = [tag.casefold() for tag in card.tags]
    return (
        all(any(tag == want or tag.startswith(f"{want}/") for tag in tags) for want in query.tags)
        and all(want == card.type.casefold() for want in query.types)
        and all(want == status for want in query.statuses)
        and _common_filters(query, card.importance, card.files, card.author)
    )


def _event_passes(query: CardQuery, event: SessionEvent) -> bool:
    return _common_filters(query, event.importance, event.files, event.author)


def _common_filters(query: CardQuery, importance: int, files: Sequence[str], author: str | None) -> bool:
    names = (author or "").casefold()
    return (
        all(bound.holds(importance) for bound in query.importance)
        and all(any(_names_file(want, file) for file in files) for want in query.files)
        and all(want == names or want in names.split() for want in query.authors)
    )


def _names_file(want: str, file: str) -> bool:
    """`src/auth.ts` the file, `src/api` the directory and what begins so, `auth.ts` the name in any directory."""
    return f"/{want}" in f"/{file.casefold()}"


NO_MEMORY = "No session memory found. Start working and cards will be auto-created."


def no_results(query: str) -> str:
    return f"No results for '{query}'. Try broader keywords or check /session-memory:status."


def render(scored: Scored) -> str:
    """One result in the display form of the seed; a line whose field the card lacks is left out."""
    item = scored.item
    if isinstance(item, SessionEvent):
        return f"[event] {item.at} | {item.tool} | {item.summary} (importance: {item.importance})"
    created = f", created: {item.created}" if item.created else ""
    lines = [f"[{item.type}] {item.title} (importance: {item.importance}{created})"]
    for label, value in (("TL;DR", item.tldr), ("Files", ", ".join(item.files)), ("Tags", ", ".join(item.tags))):
        if value:
            lines.append(f"  {label}: {value}")
    return "\n".join(lines)

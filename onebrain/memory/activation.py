"""Natural activation and real reinforcement (seed 000), as functions of plain numbers and strings.

A memory does not become false by growing old. It fades from what surfaces by itself, and returns when a question names its topic. Only
what the user says or confirms strengthens it: nothing here knows how often a memory was found, so finding it can't change it.

The formulas are those of the system the seed describes (MIT, tashfeenahmed/scallopbot, `state-relevance.ts`, `decay.ts`), except that
words are our script-aware terms: a question in Thai or Russian has a topic too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache

from onebrain.text.analysis import Group, empty_words, groups
from onebrain.text.languages import language_of

DIRECT = 0.65  # word relevance from which a memory counts as named
SIMILAR = 0.70  # semantic relevance from which a paraphrase counts
ACTIVE = 0.50  # activation a memory needs to surface
SURFACES, DORMANT = 0.5, 0.1  # prominence: under 0.5 only for a question, under 0.1 archived
HALF_LIFE_DAYS = {"event": 14.0, "insight": 23.0, "fact": 69.0, "preference": 138.0, "relationship": 346.0}
OTHER_HALF_LIFE_DAYS = 30.0
DAILY_RATE = {"event": 0.95, "insight": 0.97, "fact": 0.99, "preference": 0.995, "relationship": 0.998}
OTHER_DAILY_RATE = 0.97
SUPERSEDED_RATE = 0.90

# Words that ask for a state or a list, and so name no topic.
_GENERIC = frozenset(
    {
        "about",
        "before",
        "current",
        "currently",
        "goal",
        "goals",
        "happen",
        "happened",
        "happens",
        "history",
        "know",
        "last",
        "latest",
        "milestone",
        "milestones",
        "need",
        "needs",
        "now",
        "old",
        "past",
        "plate",
        "please",
        "priorities",
        "priority",
        "recent",
        "show",
        "status",
        "task",
        "tasks",
        "tell",
        "thing",
        "things",
        "today",
        "update",
        "updates",
        "use",
        "used",
        "uses",
        "using",
        "whatever",
        "work",
        "workflow",
        "workflows",
        "working",
    }
)


@dataclass(frozen=True, slots=True)
class Strength:
    """What the user's own statements gave a memory: `importance` 1..10, `confidence` 0..1, `confirmed` how often it was said."""

    category: str
    stored: date
    event_date: date | None = None
    importance: float = 5.0
    confidence: float = 0.8
    confirmed: int = 1
    last_confirmed: date | None = None
    superseded: bool = False

    @property
    def anchor(self) -> date:
        return self.event_date or self.stored


def topic(question: str) -> tuple[Group, ...]:
    """The words of a question that name something; empty for "what is on my plate today?"."""
    empty = _GENERIC | empty_words(language_of(question))
    return tuple(g for g in groups(question) if not g.optional and g.key not in empty and _is_word(g.key))


def _is_word(key: str) -> bool:
    """Two Latin letters name nothing; two of a script without spaces, or a digit, do."""
    return len(key) > 2 or not (key.isascii() and key.isalpha())


@lru_cache(maxsize=20_000)
def content_terms(text: str) -> frozenset[str]:
    """The terms of a text without its function words."""
    return frozenset(term for group in groups(text) for term in group.alternatives)


def relevance(question: tuple[Group, ...], content: str) -> float:
    """0 without a shared word, 0.9 when the one word asked for is there, else by coverage, number and density of shared words."""
    if not question:
        return 0.0
    words = content_terms(content)
    shared = sum(1 for group in question if not words.isdisjoint(group.alternatives))
    if not shared:
        return 0.0
    if len(question) == 1:
        return 0.9
    return _unit(0.2 + 0.55 * shared / len(question) + 0.2 * min(1.0, shared / 3) + 0.05 * shared / max(1, len(words)))


def is_recalled(words: float, semantic: float) -> bool:
    """The recall gate: a memory is named, or strongly paraphrased. One shared common word is noise, and noise is dropped, not ranked."""
    return words >= DIRECT or semantic >= SIMILAR


def freshness(age_days: float, category: str) -> float:
    """1 today, 0.5 after a half-life of the category."""
    return float(0.5 ** (max(0.0, age_days) / HALF_LIFE_DAYS.get(category, OTHER_HALF_LIFE_DAYS)))


def activation(memory: Strength, relevant: float, today: date) -> float:
    """0..1; `relevant` is the greater of word and semantic relevance. A superseded memory is never active."""
    if memory.superseded:
        return 0.0
    fresh = freshness((today - memory.anchor).days, memory.category)
    salience = (_unit(memory.importance / 10) + _unit(memory.confidence) + prominence(memory, today)) / 3
    confirmation = _unit(math.log2(1 + max(1, memory.confirmed)) / 3)
    return _unit(0.52 * fresh + 0.58 * relevant + 0.08 * salience + 0.07 * confirmation)


def prominence(memory: Strength, today: date) -> float:
    """How present a memory is without being asked for, 0..1: age, confirmations and how recent they are, importance, confidence."""
    age = max(0, (today - memory.anchor).days)
    if age < 1:
        return 1.0
    rate = DAILY_RATE.get(memory.category, OTHER_DAILY_RATE)
    if memory.superseded:
        rate = min(rate, SUPERSEDED_RATE)
    count = max(1, memory.confirmed)
    since = max(0, (today - (memory.last_confirmed or memory.stored)).days)
    value = (
        0.55 * rate**age
        + 0.20 * min(1.0, math.log2(1 + count) / math.log2(9))
        + (0.10 * math.exp(-since / 30) if count > 1 else 0.0)
        + 0.10 * memory.importance / 10
        + 0.05 * memory.confidence
    )
    protected = memory.importance >= 8 and memory.category in ("fact", "relationship")
    return _unit(max(0.2, value) if protected else value)


def state(prominent: float) -> str:
    return "active" if prominent >= SURFACES else "dormant" if prominent >= DORMANT else "archived"


def reinforce(memory: Strength, today: date) -> Strength:
    """One statement or confirmation by the user. The only function that makes a memory stronger."""
    return replace(memory, confirmed=memory.confirmed + 1, confidence=min(1.0, round(memory.confidence + 0.05, 4)), last_confirmed=today)


def recency_boost(age_days: float) -> float:
    """0.3 for what was said today, almost nothing a day later (a time constant of three hours)."""
    return 0.3 * math.exp(-max(0.0, age_days) * 24 / 3)


def _unit(value: float) -> float:
    return max(0.0, min(1.0, value))

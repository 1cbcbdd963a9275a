"""The query language of session memory (seed 002, "Query Syntax"): words, quoted phrases and `key:value` filters.

What must stay true: nothing a user types is an error. `foo:bar`, a URL, `C:\\`, a lone quote and a dash are words to look for; only the six
filters of the seed, with a value, filter. Keys given twice must both hold.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

from onebrain.text.analysis import fold, groups, terms

FILTER_KEYS = ("tag", "type", "file", "importance", "status", "author")
_TOKEN = re.compile(
    r'(?P<key>[A-Za-z]+):(?P<op>>=|<=|>|<|=)?(?:"(?P<quoted>[^"]*)"|(?P<value>[^\s"]+))|"(?P<phrase>[^"]+)"|(?P<word>[^\s"]\S*|")'
)
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
}


@dataclass(frozen=True, slots=True)
class Bound:
    """A comparison with the importance of a card: `>=2`, `<3`, `=1`."""

    op: str
    value: int

    def holds(self, importance: int) -> bool:
        return _COMPARE[self.op](importance, self.value)


@dataclass(frozen=True, slots=True)
class Text:
    """A text made ready to be looked through: its analysed terms, and itself folded on one line."""

    terms: frozenset[str]
    folded: str

    @classmethod
    def of(cls, text: str) -> Text:
        return cls(frozenset(term.text for term in terms(text)), " ".join(fold(text).split()))


@dataclass(frozen=True, slots=True)
class Keyword:
    """A word or quoted phrase. `needs` holds the analysed terms that must all be there, each with its alternatives; a phrase is literal."""

    text: str
    folded: str
    needs: tuple[tuple[str, ...], ...] = ()

    def found_in(self, text: Text) -> bool:
        """A phrase as it stands; a word in any inflection, or at the beginning of a longer word (`auth` in "authentication")."""
        if not self.needs:
            return self.folded in text.folded
        if all(not text.terms.isdisjoint(alternatives) for alternatives in self.needs):
            return True
        return len(self.folded) >= _SHORTEST_PREFIX and _begins_a_word(self.folded, text.folded)


_SHORTEST_PREFIX = 3


def _begins_a_word(word: str, text: str) -> bool:
    at = text.find(word)
    while at > 0 and text[at - 1].isalnum():
        at = text.find(word, at + 1)
    return at >= 0


@dataclass(frozen=True, slots=True)
class CardQuery:
    """A parsed query. Filter values are folded to lower case; `text` is the query as typed."""

    text: str
    keywords: tuple[Keyword, ...] = ()
    tags: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    importance: tuple[Bound, ...] = ()

    @property
    def events_can_match(self) -> bool:
        """Events carry no tags, card type or status, so a query that asks for one of these is about cards alone."""
        return not (self.tags or self.types or self.statuses)


def parse_query(text: str) -> CardQuery:
    filters: dict[str, list[str]] = {key: [] for key in FILTER_KEYS}
    bounds: list[Bound] = []
    keywords: list[Keyword] = []
    for match in _TOKEN.finditer(text):
        key = (match["key"] or "").lower()
        value = match["quoted"] if match["quoted"] is not None else match["value"] or ""
        bound = _bound(match["op"], value) if key == "importance" else None
        if bound:
            bounds.append(bound)
        elif key in FILTER_KEYS and key != "importance" and value and not match["op"]:
            filters[key].append(value.casefold())
        else:
            keywords += _keyword(match["phrase"], literal=True) if match["phrase"] else _keyword(match.group(), literal=False)
    content = {group.key for group in groups(" ".join(k.text for k in keywords))}
    keywords = [k for k in keywords if not k.needs or any(group.key in content for group in groups(k.text))]
    return CardQuery(
        text=text,
        keywords=tuple({k.folded: k for k in keywords}.values()),
        tags=tuple(t.removeprefix("#") for t in filters["tag"]),
        types=tuple(filters["type"]),
        files=tuple(f.replace("\\", "/").removeprefix("./") for f in filters["file"]),
        statuses=tuple(filters["status"]),
        authors=tuple(filters["author"]),
        importance=tuple(bounds),
    )


def _bound(op: str | None, value: str) -> Bound | None:
    return Bound(op or "=", int(value)) if re.fullmatch(r"\d{1,6}", value) else None


def _keyword(text: str, *, literal: bool) -> list[Keyword]:
    """Nothing for a text without a letter or digit. An identifier asks for itself, a hyphenated word for its parts."""
    found = groups(text)
    needs = () if literal else tuple(group.alternatives for group in found if not group.optional)
    return [Keyword(text, " ".join(fold(text).split()), needs)] if found else []

"""The query language of session memory (seed 002, "Query Syntax"): words, quoted phrases and `key:value` filters.

What must stay true: nothing a user types is an error. `foo:bar`, a URL, `C:\\`, a lone quote and a dash are words to look for; only the six
filters of the seed, with a value, filter. Keys given twice must both hold.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

from onebrain.memory.words import Keyword, keyword
from onebrain.text.analysis import groups

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
        elif word := keyword(match["phrase"], literal=True) if match["phrase"] else keyword(match.group()):
            keywords.append(word)
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

"""The words of a question, read: mode, operators, filters and the terms to look for. Pure; ordinary punctuation is text, never syntax.

Operators (CONTRACTS): `"a phrase"`, `-word`, `tag:x`, `path:x`, `type:x`, `after:2026-01-01`, `before:…`. A lone quote, a dash before a
space, `note: x`, an address or `C:\\x` are words like any other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from onebrain.errors import BadRequest
from onebrain.search.question import Filters, Request
from onebrain.search.report import Mode
from onebrain.text import analysis
from onebrain.text.dates import parse_day
from onebrain.text.identifiers import is_precise

HOW_MUCH = r"\bhow (many|much|long|often|large|big|old|fast|far|high)\b"  # asks for a number; the group is its measure
_HOW_MUCH = re.compile(HOW_MUCH, re.IGNORECASE)
LONGEST_QUESTION = 4000  # characters read; a longer text is cut at a word, with a note

_OPERATOR = re.compile(r'(?<!\S)(?:"([^"]+)"|(tag|path|type|after|before):("[^"]+"|\S+)|-(\w[\w-]*))(?!\S)')


@dataclass(frozen=True, slots=True)
class Reading:
    """`text` is embedded and shown, `groups` are looked up. `asks` tells a question from keywords: they are calibrated apart."""

    text: str
    mode: Mode
    groups: tuple[analysis.Group, ...]
    phrases: tuple[tuple[str, ...], ...]
    excluded: tuple[str, ...]
    filters: Filters
    asks: bool
    today: str
    cut: bool = False

    @property
    def identifiers(self) -> tuple[str, ...]:
        return tuple(group.key for group in self.groups if group.whole)

    @property
    def identifies(self) -> bool:
        """Whether identifiers that name one thing are all there is to look for: what holds them is what was asked for."""
        missed = [group for group in self.groups if not group.optional]
        return bool(missed) and all(group.whole and is_precise(group.key) for group in missed)


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    """Section of `data/question_words.txt` → one pattern."""
    sections: dict[str, list[str]] = {}
    section: list[str] = []
    for line in (files("onebrain.search") / "data" / "question_words.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("= "):
            section = sections.setdefault(line[2:], [])
        elif line and not line.startswith("#"):
            section.append(line)
    begins = r"^[\s¿¡\"'«»“”(]*(?:{})(?![\w-])"
    return {
        name: re.compile((begins if name.endswith("start") else "{}").format("|".join(patterns)), re.IGNORECASE)
        for name, patterns in sections.items()
    }


def mode_of(text: str) -> Mode:
    """WHY when the text begins with a why-word of a known language, or asks for a reason by phrase; otherwise WHAT."""
    return Mode.WHY if _patterns()["why at the start"].search(text) or _patterns()["why anywhere"].search(text) else Mode.WHAT


def asks(text: str) -> bool:
    """Whether the text is put as a question, rather than as keywords or a heading."""
    found = any(_patterns()[name].search(text) for name in ("question at the start", "question anywhere"))
    return found or mode_of(text) is Mode.WHY


def _day(key: str, value: str) -> str:
    day = parse_day(value, None)
    if day is None:
        raise BadRequest(f"{key}:{value} is not a date", hint=f"Write it as {key}:2026-01-31.")
    return day


def _narrow(filters: Filters, key: str, value: str) -> Filters:
    match key:
        case "tag":
            return replace(filters, tags=(*filters.tags, value.lstrip("#")))
        case "path":
            return replace(filters, paths=(*filters.paths, value))
        case "type":
            return replace(filters, types=(*filters.types, value))
        case "after":
            return replace(filters, after=_day(key, value))
        case _:
            return replace(filters, before=_day(key, value))


def read(request: Request) -> Reading:
    """Raises BadRequest when nothing is left to look for, or a date filter can't be read."""
    text = " ".join(request.text.split())
    cut = len(text) > LONGEST_QUESTION
    text = text[:LONGEST_QUESTION].rsplit(" ", 1)[0] if cut else text
    filters, phrases, excluded, kept, end = request.filters, [], [], [], 0
    for match in _OPERATOR.finditer(text):
        quoted, key, value, without = match.groups()
        if quoted is None and key is None and not text[: match.start()].strip():
            continue  # a dash that begins the question belongs to it
        kept.append(text[end : match.start()])
        end = match.end()
        if quoted:
            kept.append(quoted)
            phrases.append(analysis.phrase(quoted))
        elif key:
            filters = _narrow(filters, key, value.strip('"'))
        else:
            excluded += [term.text for term in analysis.terms(without, "english")]
    plain = " ".join(" ".join([*kept, text[end:]]).split())
    after, before = (value and _day(key, value) for key, value in (("after", filters.after), ("before", filters.before)))
    filters = replace(filters, after=after, before=before)
    if not plain and filters == Filters():
        raise BadRequest("the question is empty", hint='Ask something, for example: onebrain search "why did we drop Kafka?"')
    words = [plain, *request.lex]
    groups = {group.key: group for part in reversed(words) for group in analysis.groups(part)}
    for match in _HOW_MUCH.finditer(plain):  # `how long` asks for a length; a passage that gives it needn't say "long"
        measure = match[1].casefold()
        if measure in groups:
            groups[measure] = replace(groups[measure], optional=True)
    mode = Mode(request.mode) if request.mode in ("what", "why") else mode_of(plain)
    return Reading(
        text=plain,
        mode=mode,
        groups=tuple(groups.values()),
        phrases=tuple(p for p in phrases if p),
        excluded=tuple(excluded),
        filters=filters,
        asks=asks(plain),
        today=request.now.isoformat(),
        cut=cut,
    )

"""Identifiers: the ways one name is written (`ADR-0013`, `adr 13`; `v3.2.0`, `3.2.0`), and whether a text holds it whole.

What must stay true: `2.0` doesn't stand in `v3.2.0` or `12.0`, `#12` not in `#123`, `max_len` not in `max_length`.
"""

from __future__ import annotations

import re
from functools import lru_cache

_NUMBERED = re.compile(r"([^\W\d_]{2,})[-_#]?0*(\d{1,6})")
_VERSION = re.compile(r"v?(\d+(?:\.\d+)+\S*)")
_ISSUE = re.compile(r"#0*(\d+)")
_HASH = re.compile(r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,39}")
_PADDED = (1, 2, 3, 4)  # digits a record's number is filled up to


def is_precise(key: str) -> bool:
    """Whether a whole identifier can name one thing only: `DEC-0054`, `snake_case`, `3.2.0`; not `GitHub`, `node.js` or `C++`."""
    return any(char.isdigit() or char == "_" for char in key)


@lru_cache(maxsize=1000)
def numbered(key: str) -> str | None:
    """`adr-13` for a folded `adr-0013`, `adr_13`, `adr13`; `#13` for `#013`; None for what isn't a kind and a number."""
    if match := _NUMBERED.fullmatch(key):
        return f"{match[1]}-{match[2]}"
    match = _ISSUE.fullmatch(key)
    return f"#{match[1]}" if match else None


@lru_cache(maxsize=1000)
def spellings(key: str) -> tuple[str, ...]:
    """A folded identifier and the other terms the word index may hold it as."""
    if match := _NUMBERED.fullmatch(key):
        numbers = dict.fromkeys(match[2].zfill(width) for width in _PADDED)
        return tuple(dict.fromkeys((key, *(f"{match[1]}{joint}{number}" for number in numbers for joint in ("-", "", "_")))))
    if match := _ISSUE.fullmatch(key):
        return (match[1],)
    if match := _VERSION.fullmatch(key):
        return tuple(dict.fromkeys((key, match[1], f"v{match[1]}")))
    return (key,)


@lru_cache(maxsize=1000)
def pattern(key: str) -> re.Pattern[str]:
    """What finds a folded identifier, however it is written, where it stands by itself; a short hash also as the start of a longer one."""
    if match := _NUMBERED.fullmatch(key):
        body = rf"(?<![^\W_]){re.escape(match[1])}[-_ #]{{0,2}}0*{match[2]}(?!\w|\.\d)"
    elif match := _ISSUE.fullmatch(key):
        body = rf"(?:(?<!\w)#|(?<!\w)(?:issues?|pull|pr|gh)[-/ #]{{1,2}})0*{match[1]}(?!\w)"
    elif match := _VERSION.fullmatch(key):
        body = rf"(?<![\w.])v?{re.escape(match[1])}(?!\w|\.\d)"
    else:
        body = rf"(?<!\w){re.escape(key)}{'[0-9a-f]*' if _HASH.fullmatch(key) else ''}(?!\w)"
    return re.compile(body, re.IGNORECASE)


def part_of(key: str) -> str:
    """What every way of writing the identifier holds, in lower case: a text without it needn't be searched."""
    match = _NUMBERED.fullmatch(key) or _ISSUE.fullmatch(key) or _VERSION.fullmatch(key)
    return match[match.lastindex or 0] if match else key


def stands(key: str, text: str) -> bool:
    return bool(pattern(key).search(text))

"""A Markdown file of a memory system as a page: frontmatter, title and body lines. Liberal about everything people's tools write."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Generic, TypeVar

from onebrain.text.dates import keyed_day
from onebrain.vault import files
from onebrain.vault.files import decode
from onebrain.vault.frontmatter import Frontmatter, read, text_of, texts
from onebrain.vault.note import Value

_T = TypeVar("_T")
_H1 = re.compile(r"^#\s+(?P<title>.+?)\s*#*\s*$")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")
_INLINE_LIST = re.compile(r"\[(?P<items>.*)\]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Page:
    """`body` is the text below the frontmatter, whose first line is line `body_line` of the file. `problems` are for the user."""

    meta: Frontmatter
    body: str
    body_line: int
    heading: str | None
    problems: tuple[str, ...] = ()

    def text(self, *keys: str) -> str:
        """The first of `keys` that has a value, on one line; empty if none has."""
        return text_of(self.meta.find(*keys)[0]) or ""

    def items(self, *keys: str) -> tuple[str, ...]:
        return items(self.meta.find(*keys)[0])

    def day(self, *keys: str) -> str | None:
        return next((day for key in keys if (day := day_of(self.text(key)))), None)


def read_page(raw: bytes) -> Page:
    text, problem = decode(raw)
    meta = read(text)
    lines = text.split("\n")[meta.body_line - 1 :]
    heading = next((match["title"] for line in lines if (match := _H1.match(line))), None)
    return Page(meta, "\n".join(lines), meta.body_line, heading, meta.problems + ((problem,) if problem else ()))


def items(value: Value) -> tuple[str, ...]:
    """A list however it was written: a block or inline list, or one text with commas."""
    listed = [value] if isinstance(value, str) else texts(value)
    bare = [match["items"] if (match := _INLINE_LIST.fullmatch(text.strip())) else text for text in listed]
    split = [piece for text in bare for piece in (text.split(",") if isinstance(value, str) else [text])]
    return tuple(dict.fromkeys(piece.strip(" \"'\n") for piece in split if piece.strip(" \"'\n")))


def day_of(text: str) -> str | None:
    """The ISO day of a date in any form, of an ISO time, or of epoch seconds or milliseconds."""
    if match := _ISO.match(text):
        try:
            return date.fromisoformat(match.group()).isoformat()
        except ValueError:
            return None
    return keyed_day(text)


def number(text: object, default: float) -> float:
    """A number however it was written; `default` for anything that isn't finite."""
    try:
        value = float(str(text))
    except ValueError:
        return default
    return value if abs(value) < 1e9 else default


@dataclass(slots=True)
class ReadOnce(Generic[_T]):
    """Parsed files of a folder, read again only when their stat changed. `parse` is given a file's path in the folder and its bytes; what
    was written so lately that it may change again under the same time is not kept."""

    parse: Callable[[str, bytes], _T]
    kept: dict[Path, tuple[files.Stat, _T]] = field(default_factory=dict)
    now_ns: Callable[[], int] = time.time_ns

    def get(self, root: Path, path: str) -> _T:
        """Raises NoteUnreadable, with the reason in words, also for a link that leads out of `root`."""
        mark = files.stat(root, path)
        known = self.kept.get(root / path)
        if known is not None and known[0] == mark:
            return known[1]
        found = self.parse(path, files.read(root, path))
        if mark is not None and files.settled(mark.mtime_ns, self.now_ns()):
            self.kept[root / path] = (mark, found)
        return found

"""Session memory on disk: `.claude/memory/cards/*.md` and `.claude/memory/events/*.jsonl` of a project, read liberally.

What must stay true: a file that can't be used takes nothing else down. It is skipped and named, and a bad line of an event file is
skipped and counted. Files are read again only when their size or time changed, so that a search over ten thousand events stays quick.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypeVar

from onebrain.errors import NoteUnreadable
from onebrain.memory.cards import Card, SessionEvent
from onebrain.memory.notes import ReadOnce, day_of, number, read_page
from onebrain.memory.words import Text
from onebrain.vault.files import decode

ROOT = ".claude/memory"
_TLDR_LINE = re.compile(r"^\s*(?:[-*>]\s*)?(?:\*\*|__)?tl;?dr:?(?:\*\*|__)?:?\s+(?P<text>\S.*)$", re.IGNORECASE)
_TLDR_HEADING = re.compile(r"^#{1,6}\s+tl;?dr\b", re.IGNORECASE)
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class EventFile:
    events: tuple[SessionEvent, ...]
    bad_lines: int = 0


@dataclass(frozen=True, slots=True)
class SessionMemory:
    """Everything that was found for one project; `problems` are sentences for the user."""

    cards: tuple[Card, ...] = ()
    events: tuple[SessionEvent, ...] = ()
    problems: tuple[str, ...] = ()
    event_files: int = 0
    bad_lines: int = 0

    @property
    def empty(self) -> bool:
        return not self.cards and not self.events


class Shelf:
    """Reads the session memory of projects and keeps what it read for the next question of the same process."""

    def __init__(self) -> None:
        self._cards = ReadOnce(read_card)
        self._events = ReadOnce(read_events)

    def load(self, project: Path) -> SessionMemory:
        problems: list[str] = []
        cards = [card for _, card in _each(self._cards, project, "cards", "*.md", problems)]
        files = list(_each(self._events, project, "events", "*.jsonl", problems))
        problems += [f"{card.path}: {problem}" for card in cards if card for problem in card.problems]
        for name, file in files:
            if file.bad_lines:
                problems.append(f"{name}: {file.bad_lines} of {file.bad_lines + len(file.events)} lines can't be read")
        return SessionMemory(
            cards=tuple(card for card in cards if card is not None),
            events=tuple(event for _, file in files for event in file.events),
            problems=tuple(problems),
            event_files=len(files),
            bad_lines=sum(file.bad_lines for _, file in files),
        )


def _each(cache: ReadOnce[_T], project: Path, folder: str, pattern: str, problems: list[str]) -> Iterable[tuple[str, _T]]:
    found = []
    for path in sorted((project / ROOT / folder).glob(pattern)):
        name = path.relative_to(project).as_posix()
        try:
            found.append((name, cache.get(project, name)))
        except NoteUnreadable as error:
            problems.append(error.message.rstrip("."))
    return found


def read_card(path: str, raw: bytes) -> Card | None:
    """None for a card with nothing in it."""
    page = read_page(raw)
    if not page.meta.values and not page.body.strip():
        return None
    title = page.text("title") or page.heading or PurePosixPath(path).stem
    tldr = page.text("tldr", "tl;dr") or _tldr(page.body)
    tags = tuple(tag.removeprefix("#") for tag in page.items("tags", "tag"))
    return Card(
        path=path,
        title=title,
        type=page.text("type") or "note",
        importance=int(number(page.text("importance"), 1)),
        status=page.text("status") or "active",
        tags=tags,
        files=tuple(file.replace("\\", "/").removeprefix("./") for file in page.items("files", "file")),
        author=page.text("author") or None,
        created=page.day("created", "date", "updated"),
        tldr=tldr,
        problems=page.problems,
        title_text=Text.of(title),
        tags_text=Text.of(" ".join(tags)),
        tldr_text=Text.of(tldr),
        body_text=Text.of(page.body),
    )


def _tldr(body: str) -> str:
    """The text after `TL;DR:`, or the first line under a heading of that name."""
    lines = iter(body.splitlines())
    for line in lines:
        if _TLDR_HEADING.match(line):
            return next((below.strip() for below in lines if below.strip()), "")
        if match := _TLDR_LINE.match(line):
            return match["text"].strip()
    return ""


def read_events(path: str, raw: bytes) -> EventFile:
    lines = [(at, line) for at, line in enumerate(decode(raw)[0].split("\n"), start=1) if line.strip()]
    events = [event for at, line in lines if (event := _event(path, at, line))]
    return EventFile(tuple(events), bad_lines=len(lines) - len(events))


def _event(path: str, line_number: int, line: str) -> SessionEvent | None:
    """None for a line that isn't a JSON object with a summary."""
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    summary = _first(fields, "summary", "message", "description")
    if not summary:
        return None
    at = _first(fields, "ts", "timestamp", "time", "date")
    files = fields.get("files", fields.get("file"))
    return SessionEvent(
        path=path,
        line=line_number,
        at=at,
        tool=_first(fields, "tool", "type"),
        summary=summary,
        importance=int(number(fields.get("importance"), 1)),
        day=day_of(at),
        files=tuple(str(file) for file in (files if isinstance(files, list) else [files] if files else [])),
        author=_first(fields, "author", "user") or None,
        text=Text.of(summary),
    )


def _first(fields: dict[str, object], *keys: str) -> str:
    values = (fields.get(key) for key in keys)
    return next((" ".join(str(value).split()) for value in values if isinstance(value, str | int | float) and str(value).strip()), "")

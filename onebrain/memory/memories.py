"""Memories (seed 000): Markdown notes in `[agent]/memory/`, as values. OneBrain's own notes are memories too.

What must stay true: every note there is a memory, whatever its frontmatter lacks; a deprecated or superseded one is never current.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path, PurePosixPath

from onebrain.config import Config
from onebrain.errors import NoteUnreadable
from onebrain.memory.activation import Strength
from onebrain.memory.notes import Page, ReadOnce, number, read_page
from onebrain.vault.files import is_note
from onebrain.vault.library import NoteRecord
from onebrain.vault.note import Source

DISTILLED = ("fact", "preference", "event", "relationship", "insight")
TYPES: Mapping[str, frozenset[str] | None] = {
    "raw": frozenset({"raw"}),
    "fact": frozenset({"fact", "relationship"}),
    "summary": frozenset({"summary"}),
    "preference": frozenset({"preference"}),
    "context": frozenset({"context"}),
    "event": frozenset({"event"}),
    "insight": frozenset({"insight"}),
    "relationship": frozenset({"relationship"}),
    "all": None,
}
"""The `type` parameter of a search → the categories it means; None is every one. `event`, `insight`, `relationship` are the original's."""

_FROM_ONEBRAIN = {
    "behavioral": "preference",
    "behavioural": "preference",
    "context": "context",
    "dev": "fact",
    "project": "fact",
    "reference": "fact",
}
_CONFIDENCE = {"high": 0.95, "medium": 0.8, "low": 0.5}
_SUMMARY_LOGS = ("recap", "weekly", "summary", "distill", "consolidate")


@dataclass(frozen=True, slots=True)
class Memory:
    """`id` is the file name without suffix, `path` vault-relative. `content` is what was said, without title or frontmatter.

    The body begins on line `body_line` of the file: passages above it are frontmatter, which says nothing about anyone.
    """

    id: str
    path: str
    title: str
    content: str
    strength: Strength
    body_line: int = 1
    subject: str | None = None
    topics: tuple[str, ...] = ()
    superseded_by: str | None = None
    for_assistant: bool = False
    problems: tuple[str, ...] = ()

    @property
    def category(self) -> str:
        return self.strength.category

    @property
    def superseded(self) -> bool:
        return self.strength.superseded

    @property
    def distilled(self) -> bool:
        """Whether it is one statement of or about someone, which fades and can be confirmed; logs and summaries don't."""
        return self.category not in ("raw", "summary", "context")

    @property
    def names(self) -> str:
        """What stands beside a passage: words a question may name the memory by."""
        return " ".join((self.title, *self.topics))


@dataclass(slots=True)
class MemoryShelf:
    """Reads the memory notes of vaults and keeps what it read for the next question of the same process."""

    files: ReadOnce[Page] = field(default_factory=lambda: ReadOnce(lambda _, raw: read_page(raw)))

    def load(self, config: Config) -> tuple[list[Memory], list[str]]:
        """All memories by path, but for what the configuration excludes; and what could not be read, in words."""
        found: list[Memory] = []
        problems: list[str] = []
        for path in sorted(folder(config).rglob("*.md")):
            inside = path.relative_to(config.vault).as_posix()
            if not is_note(inside, config.search.exclude):
                continue
            try:
                page = self.files.get(config.vault, inside)
                found.append(memory_of(inside, page, datetime.fromtimestamp(path.stat().st_mtime).date()))
            except NoteUnreadable as error:
                problems.append(f"{error.message.rstrip('.')}.")
            except FileNotFoundError:
                continue  # deleted between the look and the reading
        return found, problems


def folder(config: Config) -> Path:
    return config.vault / config.folders.agent / "memory"


def memory_of(path: str, page: Page, modified: date) -> Memory:
    """A note as a memory. `modified` dates one that says no day itself."""
    name = PurePosixPath(path).stem
    kind = page.text("type", "category").casefold() or "fact"
    status = page.text("status").casefold()
    by = page.text("superseded_by").strip("[]").removesuffix(".md") or None
    stored = page.day("created", "stored", "date") or modified.isoformat()
    event = page.day("event_date")
    confirmed = page.day("last_confirmed", "verified")
    strength = Strength(
        category=_FROM_ONEBRAIN.get(kind, kind),
        stored=date.fromisoformat(stored),
        event_date=date.fromisoformat(event) if event else None,
        importance=min(10.0, max(1.0, number(page.text("importance"), 5.0))),
        confidence=min(1.0, max(0.0, number(page.text("confidence"), _CONFIDENCE.get(page.text("conf").casefold(), 0.8)))),
        confirmed=max(1, int(number(page.text("confirmed", "times_confirmed"), 1))),
        last_confirmed=date.fromisoformat(confirmed) if confirmed else None,
        superseded=status in ("deprecated", "superseded") or by is not None,
    )
    subject = page.text("subject") or None
    return Memory(
        id=name,
        path=path,
        title=page.heading or page.text("title") or name.replace("-", " "),
        content=_content(page.body),
        strength=strength,
        body_line=page.body_line,
        subject=subject,
        topics=page.items("topics"),
        superseded_by=by,
        for_assistant=page.text("audience").casefold() == "assistant" or (subject or "").casefold() == "agent",
        problems=page.problems,
    )


def _content(body: str) -> str:
    lines = body.strip().split("\n")
    return "\n".join(lines[1:] if lines and lines[0].startswith("# ") and any(line.strip() for line in lines[1:]) else lines).strip()


def mapped(notes: Iterable[NoteRecord]) -> list[Memory]:
    """The vault's other notes that the seed's types stand for: session logs are `raw`, recaps `summary`, MEMORY.md is `context`."""
    return [_of_record(note, category) for note in notes if (category := _category(note))]


def _category(note: NoteRecord) -> str | None:
    name = PurePosixPath(note.path).stem.casefold()
    if name.startswith("_"):  # `pause/_active.md` names a pause, and is none
        return None
    if note.source in (Source.SESSION, Source.CHECKPOINT, Source.PAUSE):
        return "raw"
    if note.type in ("summary", "recap") or (note.source is Source.LOG and any(word in name for word in _SUMMARY_LOGS)):
        return "summary"
    return "context" if note.source is Source.MEMORY else None


def _of_record(note: NoteRecord, category: str) -> Memory:
    stored = date.fromisoformat(note.date) if note.date else date(1970, 1, 1) + timedelta(seconds=note.mtime_ns // 10**9)
    return Memory(PurePosixPath(note.path).stem, note.path, note.title, "", Strength(category, stored))

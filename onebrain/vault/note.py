"""The nouns of a vault: what a note is, once read. Plain frozen values, no disk, no clock.

Lines are 1-based and count from the top of the file, frontmatter included. Paths are vault-relative,
`/`-separated and verbatim as the file system gave them (no Unicode normalisation), so they can be opened again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePosixPath
from typing import TypeAlias

Value: TypeAlias = "str | list[Value] | dict[str, Value] | None"
"""A frontmatter value as we keep it: text, list, mapping or null. Numbers, dates and booleans stay the text the author typed."""


_ADDED_TO_NAME = re.compile(r"(?<=\S) [0-9a-f]{32}$|(?<=[^/])\.excalidraw$")


def name_of(path: str) -> str:
    """What a note's file is called, without its suffix and without what Notion (` 0123…`, 32 digits) or Excalidraw adds to it."""
    return _ADDED_TO_NAME.sub("", PurePosixPath(path).stem)


class Source(StrEnum):
    """Which knowledge layer of the vault a note belongs to (seed 003, "Sources searched")."""

    MEMORY = "memory-file"  # MEMORY.md
    MEMORY_INDEX = "memory-index"
    MEMORY_NOTE = "memory"  # [agent]/memory/*.md
    SESSION = "session"
    CHECKPOINT = "checkpoint"
    PAUSE = "pause"
    DECISION = "decision"  # an ADR, a PEP-like record, a decision log
    PROJECT = "project"
    AREA = "area"
    KNOWLEDGE = "knowledge"
    RESOURCE = "resource"
    INBOX = "inbox"
    DAILY = "daily"
    ARCHIVE = "archive"
    LOG = "log"  # audit logs and the scheduler's output
    CARD = "card"  # .claude/memory/cards/*.md
    EVENT = "event"  # .claude/memory/events/*.jsonl
    NOTE = "note"  # any other note of the vault


class Status(StrEnum):
    """Whether what a note (or an event) says still holds."""

    ACTIVE = "active"
    DRAFT = "draft"
    NEEDS_REVIEW = "needs-review"
    REJECTED = "rejected"
    DEPRECATED = "deprecated"
    SUPERSEDED = "superseded"


class LinkKind(StrEnum):
    LINK = "link"
    EMBED = "embed"
    SUPERSEDES = "supersedes"  # this note replaces the target
    SUPERSEDED_BY = "superseded-by"


@dataclass(frozen=True, slots=True)
class Heading:
    """`text` without the id that some generators write behind it (`## Set up {#setup}`), which is `id`; empty where there is none."""

    level: int
    text: str
    line: int
    id: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """`target` as written (`Note`, `folder/Note`, `0033-ip-ranges.md`, `PEP 345` for a numbered reference); becomes a path when indexed."""

    target: str
    kind: LinkKind
    line: int
    heading: str | None = None
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """The text under one heading, without its sub-sections. `heading_path` is empty before the first heading.

    `text` is exactly lines `line_start`..`line_end`, the heading line and outer blank lines left out; it is empty for a heading
    with nothing under it, and both lines are then the heading's own.
    """

    heading_path: tuple[str, ...]
    level: int
    line_start: int
    line_end: int
    text: str


class EventKind(StrEnum):
    RECORD = "record"  # an ADR or PEP-like file: one decision, one date
    TABLE = "table"  # a row of a decision table
    SESSION = "session"  # a bullet under `Key Decisions` of a session log or checkpoint
    MEMORY = "memory"  # a memory note of type project, or a card of type decision
    DAILY = "daily"  # a decision-like line of a dated note
    CHANGELOG = "changelog"


@dataclass(frozen=True, slots=True)
class Event:
    """One dated decision found in a note.

    `date` is ISO `YYYY-MM-DD`, the decision's own (not a review date); `what` is the decision in the note's own words;
    `reason` is the sentence that gives the rationale, quoted verbatim from `reason_line`, or None where the note gives none.
    """

    date: str
    what: str
    reason: str | None
    line: int
    reason_line: int
    heading: str
    kind: EventKind
    status: Status = Status.ACTIVE


@dataclass(frozen=True, slots=True)
class Note:
    """A note after parsing. `problems` says what was odd (bad YAML, decoding), in words for the user; the rest is still usable."""

    path: str
    title: str
    source: Source
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  # without `#`, nested tags as `a/b`
    date: str | None = None  # ISO day the note speaks of: frontmatter, file name, `Date:` line; None when it has none
    status: Status = Status.ACTIVE
    type: str | None = None  # frontmatter `type`
    frontmatter: Mapping[str, Value] = field(default_factory=dict)
    headings: tuple[Heading, ...] = ()
    sections: tuple[Section, ...] = ()
    links: tuple[Link, ...] = ()
    events: tuple[Event, ...] = ()
    problems: tuple[str, ...] = ()
    matter: Section | None = None  # the frontmatter as it stands, without its `---` or `+++` lines


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage that is indexed, found and cited. `id` is `<path>#<ordinal>`, ordinals count from 0 in file order.

    `text` is verbatim from the note (lines `line_start`..`line_end`). `heading_path` is joined with ` > `.
    `embed_text` (title, heading path, text) is what the vector stands for; its sha256 is the key of the vector.
    """

    id: str
    path: str
    ordinal: int
    heading_path: str
    line_start: int
    line_end: int
    text: str
    embed_text: str

"""Dated decisions of a note: what was decided, when, and why, each with the line it is quoted from.

Six shapes are known: a record file (ADR, PEP), a record block in a longer file, a row of a decision table, a bullet under a
`Key Decisions` heading, an entry under a dated heading, and a sentence that decides something in a dated note. A date that stands
with the decision itself (cell, bullet, heading) outranks the note's. An event without a day is none: days are never guessed.
"""

from __future__ import annotations

import re

from onebrain.vault.events.log import changelog_entries, log_entries
from onebrain.vault.events.reader import Reader
from onebrain.vault.events.record import clean_title, holds_many, record_blocks, record_file
from onebrain.vault.note import Event, EventKind, Note, Source, name_of
from onebrain.vault.records import Dated

__all__ = ["clean_title", "find"]

MAX_EVENTS = 400  # of one note; a longer log keeps its first

_CHANGELOG_NAME = re.compile(r"(?:^|[-_ ])(?:change[-_ ]?log|changes|history|releases?|release[-_ ]notes|news)$", re.IGNORECASE)
_CHANGELOG_FOLDER = re.compile(r"(?:^|/)(?:change[-_ ]?logs?|releases|release[-_ ]notes)/[^/]+$", re.IGNORECASE)


def _one_record(reader: Reader) -> list[Event]:
    """A record without a day may still hold a table or a list of dated decisions."""
    return list(record_file(reader)) or [e for e in log_entries(reader) if e.kind in (EventKind.TABLE, EventKind.SESSION)]


def find(note: Note, dated: Dated | None = None, order: str | None = None) -> tuple[Event, ...]:
    """The decisions of a note, in the order of the file. `dated` is where `note.date` comes from; `order` reads open dates."""
    reader = Reader(note, dated.line if dated else 1, order, speaks=dated is not None and not dated.made)
    if note.source in (Source.EVENT, Source.MEMORY_INDEX):
        return ()
    if note.source is Source.DECISION:
        found = list(record_blocks(reader)) or list(log_entries(reader) if holds_many(reader) else _one_record(reader))
    elif _CHANGELOG_NAME.search(name_of(note.path)):
        found = list(changelog_entries(reader))
    elif _CHANGELOG_FOLDER.search(note.path):
        found = list(changelog_entries(reader, one_release=True)) or list(log_entries(reader))
    else:
        found = list(record_blocks(reader)) or list(log_entries(reader))
    unique = {(event.date, event.what): event for event in reversed(found)}
    return tuple(sorted(unique.values(), key=lambda event: (event.line, event.reason_line, event.what)))[:MAX_EVENTS]

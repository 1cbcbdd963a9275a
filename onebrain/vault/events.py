"""Dated decisions of a note."""

from __future__ import annotations

from onebrain.vault.note import Event, Note


def find(note: Note, dated_line: int = 1, order: str | None = None) -> tuple[Event, ...]:
    return ()

"""Bringing the memories of a scallopbot `memories.db` (SQLite) along. Read-only, one user at a time.

What must stay true: the database is never written; every row becomes a note or is counted with the reason why it did not.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from onebrain.errors import BadRequest
from onebrain.memory.activation import Strength
from onebrain.memory.remember import Statement

SOURCE = "memories.db"


@dataclass(frozen=True, slots=True)
class Row:
    """A memory of the database: its id there, the id of what replaced it, and itself as a statement."""

    id: str
    statement: Statement
    replaced_by: str | None = None


@dataclass(frozen=True, slots=True)
class Dump:
    """`left_out` counts rows by the reason they stay behind; `users` are all there are."""

    rows: tuple[Row, ...]
    left_out: Mapping[str, int]
    users: tuple[str, ...]


def read_database(path: Path, user: str = "default") -> Dump:
    """Raises BadRequest where it isn't such a database, or has no memory of `user`."""
    if not path.is_file():
        raise BadRequest(f"There is no file {path}.", hint="Name the memories.db to import.")
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)) as database:
            database.row_factory = sqlite3.Row
            users = tuple(str(row[0]) for row in database.execute("SELECT DISTINCT user_id FROM memories ORDER BY user_id"))
            rows = [dict(row) for row in database.execute("SELECT * FROM memories WHERE user_id = ? ORDER BY document_date, id", (user,))]
            replaced = _replacements(database)
    except sqlite3.Error as error:
        raise BadRequest(f"{path} can't be read as a memories.db: {error}.", hint="It needs the table `memories` of scallopbot.") from error
    if not rows and users:
        raise BadRequest(f"{path} has no memories of user {user!r}.", hint=f"It has those of: {', '.join(users)}. Name one with --user.")
    return _dump(rows, replaced, users)


def _replacements(database: sqlite3.Connection) -> dict[str, str]:
    """Old id → new id, from the relations of the original; none where the table is missing."""
    if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'memory_relations'").fetchone():
        return {}
    found = database.execute("SELECT source_id, target_id FROM memory_relations WHERE relation_type = 'UPDATES'")
    return {str(target): str(source) for source, target in found}


def _dump(rows: Sequence[Mapping[str, Any]], replaced: Mapping[str, str], users: tuple[str, ...]) -> Dump:
    kept: list[Row] = []
    left_out: dict[str, int] = {}
    for row in rows:
        reason = _left_out(row)
        if reason:
            left_out[reason] = left_out.get(reason, 0) + 1
        else:
            kept.append(Row(str(row["id"]), _statement(row), replaced.get(str(row["id"]))))
    return Dump(tuple(kept), left_out, users)


def _left_out(row: Mapping[str, Any]) -> str | None:
    metadata = _metadata(row)
    if not str(row.get("content") or "").strip():
        return "empty"
    if row.get("source") not in (None, "user") or metadata.get("audience") == "assistant" or metadata.get("subject") == "agent":
        return "of the assistant, not of the user"
    return None


def _statement(row: Mapping[str, Any]) -> Statement:
    metadata = _metadata(row)
    count = int(row.get("times_confirmed") or 1)
    updated = _day(row.get("updated_at"))
    strength = Strength(
        category=str(row.get("category") or "fact"),
        stored=_day(row.get("document_date")) or _day(row.get("created_at")) or date(1970, 1, 1),
        event_date=_day(row.get("event_date")),
        importance=float(min(10, max(1, row.get("importance") or 5))),
        confidence=round(min(1.0, max(0.0, float(row["confidence"]))), 4) if row.get("confidence") is not None else 0.8,
        confirmed=max(1, count),
        last_confirmed=updated if count > 1 else None,
        superseded=row.get("memory_type") == "superseded" or row.get("is_latest") == 0,
    )
    subject = metadata.get("subject")
    return Statement(" ".join(str(row["content"]).split()), strength, str(subject) if subject else None, source=SOURCE)


def _metadata(row: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        found = json.loads(row.get("metadata") or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _day(value: object) -> date | None:
    """A day from epoch milliseconds, in UTC as the original prints it."""
    try:
        return datetime.fromtimestamp(int(str(value)) / 1000, UTC).date()
    except (ValueError, OverflowError, OSError):
        return None

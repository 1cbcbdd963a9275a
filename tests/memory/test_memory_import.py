"""Taking over a scallopbot memories.db: a small one with the original's schema."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from memory_shell import Shell

SCHEMA = """
CREATE TABLE memories (
  id TEXT PRIMARY KEY, user_id TEXT NOT NULL, content TEXT NOT NULL, category TEXT NOT NULL, memory_type TEXT NOT NULL DEFAULT 'regular',
  importance INTEGER DEFAULT 5, confidence REAL DEFAULT 0.8, is_latest INTEGER DEFAULT 1, source TEXT DEFAULT 'user',
  document_date INTEGER NOT NULL, event_date INTEGER, prominence REAL DEFAULT 1.0, last_accessed INTEGER, access_count INTEGER DEFAULT 0,
  source_chunk TEXT, embedding TEXT, metadata TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
  learned_from TEXT DEFAULT 'conversation', times_confirmed INTEGER DEFAULT 1, contradiction_ids TEXT DEFAULT NULL
);
CREATE TABLE memory_relations (
  id TEXT PRIMARY KEY, source_id TEXT, target_id TEXT, relation_type TEXT, confidence REAL, created_at INTEGER
);
"""


def ms(day: str) -> int:
    return int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() * 1000)


def row(number: str, content: str, **more: Any) -> dict[str, Any]:
    day = ms("2026-05-01")
    base = {
        "id": number,
        "user_id": "default",
        "content": content,
        "category": "fact",
        "document_date": day,
        "created_at": day,
        "updated_at": day,
    }
    return {**base, **more}


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "memories.db"
    rows = [
        row("a", "User lives in Kiel", memory_type="superseded", is_latest=0, event_date=ms("2024-05-01"), metadata='{"subject": "user"}'),
        row("b", "User lives in Bremen", metadata='{"subject": "user"}', times_confirmed=3, confidence=0.9, updated_at=ms("2026-06-01")),
        row("c", "Bob likes tea", category="preference", importance=8, metadata='{"subject": "Bob"}'),
        row("d", "Ask better questions", source="assistant"),
        row("e", "my password is hunter2"),
        row("f", "Agent likes plans", metadata='{"subject": "agent"}'),
        row("g", "Another user", user_id="zoe"),
        row("h", "Broken metadata", metadata="{"),
    ]
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript(SCHEMA)
        for each in rows:
            db.execute(f"INSERT INTO memories ({', '.join(each)}) VALUES ({', '.join('?' * len(each))})", list(each.values()))
        db.execute("INSERT INTO memory_relations VALUES ('r', 'b', 'a', 'UPDATES', 1.0, 0)")
    return path


def test_import_brings_facts_with_their_strength(shell: Shell, database: Path) -> None:
    ran = shell("memory", "import", str(database), "--json")
    data = json.loads(ran.out)["data"]
    assert data["imported"] == 4
    assert data["left_out"] == {
        "of the assistant, not of the user": 2,
        "refused: This holds a password, so it isn't kept: notes are synced and quoted.": 1,
    }
    bremen = shell.text("05-agent/memory/user-lives-bremen.md")
    assert (
        "subject: user\n" in bremen
        and "confirmed: 3\n" in bremen
        and "confidence: 0.9\n" in bremen
        and "last_confirmed: 2026-06-01\n" in bremen
    )
    kiel = shell.text("05-agent/memory/user-lives-kiel.md")
    assert "status: deprecated\n" in kiel and "superseded_by: user-lives-bremen.md\n" in kiel and "event_date: 2024-05-01\n" in kiel
    found = json.loads(shell("memory", "search", "Kiel").out)
    assert "Status: historical record (not current state)" in found["output"]


def test_a_second_import_adds_nothing(shell: Shell, database: Path) -> None:
    shell("memory", "import", str(database))
    again = json.loads(shell("memory", "import", str(database), "--json").out)["data"]
    assert again["imported"] == 0
    assert again["left_out"]["already there"] == 4


def test_a_dry_run_writes_nothing(shell: Shell, database: Path) -> None:
    before = database.read_bytes()
    assert shell("memory", "import", str(database), "--dry-run").out.startswith("4 memories would be imported\n")
    assert not (shell.cwd / "05-agent").exists()
    assert database.read_bytes() == before


def test_another_users_memories_are_asked_for_by_name(shell: Shell, database: Path) -> None:
    assert json.loads(shell("memory", "import", str(database), "--user", "zoe", "--json").out)["data"]["imported"] == 1
    wrong = shell("memory", "import", str(database), "--user", "nobody")
    assert wrong.code == 2
    assert "default, zoe" in wrong.err


def test_a_file_that_is_no_database_is_said(shell: Shell) -> None:
    shell.note("x.db", "not sqlite, although it is long enough to be looked at as a database header")
    wrong = shell("memory", "import", "x.db")
    assert wrong.code == 2
    assert "can't be read as a memories.db" in wrong.err

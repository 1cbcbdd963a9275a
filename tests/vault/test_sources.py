"""Which knowledge layer a note belongs to."""

from __future__ import annotations

import pytest

from onebrain.config import Folders
from onebrain.vault import Settings, read_note
from onebrain.vault.note import Source


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("05-agent/MEMORY.md", Source.MEMORY),
        ("05-agent/MEMORY-INDEX.md", Source.MEMORY_INDEX),
        ("05-agent/memory/kafka-event-transport.md", Source.MEMORY_NOTE),
        ("05-agent/digest.md", Source.NOTE),
        ("memory/session_notes.md", Source.SESSION),
        ("memory/project_status.md", Source.MEMORY_NOTE),
        ("memory/architecture_decisions.md", Source.DECISION),
        ("07-logs/session/2026/04/2026-04-22-session-01.md", Source.SESSION),
        ("07-logs/2025/09/2025-09-23-session-01.md", Source.SESSION),
        ("07-logs/checkpoint/2026-04-22-b7e405-checkpoint-01.md", Source.CHECKPOINT),
        ("07-logs/2025/09/2025-09-23-ab-c-checkpoint-02.md", Source.CHECKPOINT),
        ("07-logs/pause/_active.md", Source.PAUSE),
        ("07-logs/pause/2026-10-12-harbor-pause-01.md", Source.PAUSE),
        ("07-logs/log/2026/10/2026-10-09-recap.md", Source.LOG),
        ("07-logs/scheduler/2026/10/2026-10-09-weekly.err.md", Source.LOG),
        ("07-logs/update/2026-10-09-update-v3.md", Source.LOG),
        ("00-inbox/2026-09-02-cafe.md", Source.INBOX),
        ("00-inbox/imports/x.md", Source.INBOX),
        ("01-projects/beacon/Beacon.md", Source.PROJECT),
        ("01-projects/beacon/ADR-007 Redis Streams.md", Source.DECISION),
        ("02-areas/x.md", Source.AREA),
        ("02-areas/journal/2026-06-11.md", Source.DAILY),
        ("03-knowledge/x.md", Source.KNOWLEDGE),
        ("03-knowledge/writing/Decision Records.md", Source.KNOWLEDGE),
        ("04-resources/x.md", Source.RESOURCE),
        ("06-archive/2026/05/Kafka Runbook.md", Source.ARCHIVE),
        (".claude/memory/cards/queue.md", Source.CARD),
        (".claude/memory/events/jay.jsonl", Source.EVENT),
        ("Daily/2023-09-12.md", Source.DAILY),
        ("Daily/2023-09-12 Meeting.md", Source.NOTE),
        ("docs/adr/0001-use-x.md", Source.DECISION),
        ("docs/decisions/2024-01-02-use-x.md", Source.NOTE),
        ("Architecture Decisions/About Architecture Decisions.md", Source.NOTE),
        ("adr/README.md", Source.NOTE),
        ("adr/0000-TEMPLATE.md", Source.NOTE),
        ("decisions.md", Source.DECISION),
        ("Decision Log.md", Source.DECISION),
        ("nats/ADR-14.md", Source.DECISION),
        ("001 Lecture.md", Source.NOTE),
        ("MOC.md", Source.NOTE),
    ],
)
def test_by_path(path: str, source: Source) -> None:
    assert read_note(path, b"").source is source


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("# 3. X\n\n## Status\n\nAccepted\n\n## Context\n\n## Decision\n", Source.DECISION),
        ("# X\n\nDate: 11/11/2024\n\n## Status\n\nAccepted\n\n## What's proposed\n", Source.DECISION),
        ("# 28 X\n\nDate: 2021-11-05\n\n**Link to this ADR: https://x.y**\n", Source.DECISION),
        ("- Start Date: 2014-10-30\n- RFC PR: 401\n\n## Summary\n", Source.DECISION),
        ("---\npep: 345\n---\n", Source.DECISION),
        ("---\ntype: adr\n---\n", Source.DECISION),
        ("---\ntags: [decision]\n---\n", Source.DECISION),
        ("---\ntags: [checkpoint, session-log]\n---\n", Source.CHECKPOINT),
        ("---\ntags: session-log\n---\n", Source.SESSION),
        ("---\ntags: [agent-memory]\n---\n", Source.MEMORY_NOTE),
        ("# Lecture\n\nDate: 2024-01-02\n\n## Summary\n", Source.NOTE),
        ("# Thoughts\n\n## Status\n\nfine\n", Source.NOTE),
    ],
)
def test_by_content(text: str, source: Source) -> None:
    assert read_note("somewhere/022-X.md", text.encode()).source is source


def test_folders_are_remappable() -> None:
    settings = Settings(Folders(projects="Work", logs="Journal/logs", archive="Old"))
    assert read_note("Work/x.md", b"", settings).source is Source.PROJECT
    assert read_note("01-projects/x.md", b"", settings).source is Source.NOTE
    assert read_note("Old/x.md", b"", settings).source is Source.ARCHIVE
    assert read_note("Journal/logs/log/x.md", b"", settings).source is Source.LOG

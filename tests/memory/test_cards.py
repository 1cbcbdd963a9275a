"""Session memory as seed 002 describes it; each transcript names the section of the seed it stands for."""

from __future__ import annotations

import json
import time
from datetime import date
from pathlib import Path

import pytest

from onebrain.memory.card_files import SessionMemory, Shelf, read_card, read_events
from onebrain.memory.card_query import Bound, parse_query
from onebrain.memory.cards import NO_MEMORY, find, importance_bonus, no_results, recency_bonus, render

TODAY = date(2026, 3, 9)

NULL_CHECK = """---
title: Auth module null check
type: gotcha
importance: 2
created: 2026-03-09
files: [src/auth.ts, src/middleware/auth.ts]
tags: [auth, null-safety]
author: jay
---
## TL;DR
req.user can be null before auth middleware runs

Guard every handler.
"""
UNTITLED = NULL_CHECK.replace("title: Auth module null check\n", "").replace("## TL", "# Auth module null check\n\n## TL")
MIGRATION = """---
title: "Database migration: lock first"
type: runbook
importance: 3
created: 2026-02-07
files:
  - src/api/migrate.ts
tags: db, auth/oauth
author: Noor Park
---
TL;DR: take the advisory lock before a migration
"""
OLD = """---
title: Auth cookies
type: constraint
status: deprecated
importance: 1
tags: [auth]
---
Cookies are signed.
"""
EVENTS = """{"ts": "2026-03-09T10:00:00Z", "tool": "Edit", "summary": "Fixed null check in auth.ts", "importance": 1, "file": "src/auth.ts"}
{"ts": "2026-03-08T10:00:00Z", "tool": "Bash", "summary": "Ran the database migration", "importance": 2, "author": "jay"}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    cards, events = tmp_path / ".claude/memory/cards", tmp_path / ".claude/memory/events"
    cards.mkdir(parents=True)
    events.mkdir()
    for name, text in {"null": NULL_CHECK, "migration": MIGRATION, "old": OLD}.items():
        (cards / f"{name}.md").write_text(text, encoding="utf-8")
    (events / "jay.jsonl").write_text(EVENTS, encoding="utf-8")
    return tmp_path


def ask(memory: SessionMemory, query: str) -> list[str]:
    return [render(found) for found in find(parse_query(query), memory.cards, memory.events, TODAY)]


def titles(memory: SessionMemory, query: str) -> list[str]:
    return [shown.splitlines()[0].partition(" (")[0] for shown in ask(memory, query)]


def test_display_format_for_cards_and_events(project: Path) -> None:
    """Seed 002, "Search Algorithm" 5, "Display format": both blocks, to the letter. Query of "Query Syntax", "Simple"."""
    assert ask(Shelf().load(project), "auth null") == [
        "[gotcha] Auth module null check (importance: 2, created: 2026-03-09)\n"
        "  TL;DR: req.user can be null before auth middleware runs\n"
        "  Files: src/auth.ts, src/middleware/auth.ts\n"
        "  Tags: auth, null-safety",
        "[runbook] Database migration: lock first (importance: 3, created: 2026-02-07)\n"
        "  TL;DR: take the advisory lock before a migration\n"
        "  Files: src/api/migrate.ts\n"
        "  Tags: db, auth/oauth",
        "[event] 2026-03-09T10:00:00Z | Edit | Fixed null check in auth.ts (importance: 1)",
    ]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        # "Query Syntax", "Structured filters"
        ("tag:auth", ["[runbook] Database migration: lock first", "[gotcha] Auth module null check"]),
        ("type:gotcha", ["[gotcha] Auth module null check"]),
        ("file:src/auth.ts", ["[gotcha] Auth module null check", "[event] 2026-03-09T10:00:00Z | Edit | Fixed null check in auth.ts"]),
        ("importance:>=3", ["[runbook] Database migration: lock first"]),
        ("importance:1", ["[event] 2026-03-09T10:00:00Z | Edit | Fixed null check in auth.ts"]),
        ("status:active type:runbook", ["[runbook] Database migration: lock first"]),
        ("status:draft", []),
        ("author:jay", ["[gotcha] Auth module null check", "[event] 2026-03-08T10:00:00Z | Bash | Ran the database migration"]),
        ('author:"noor park"', ["[runbook] Database migration: lock first"]),
        # "Examples"
        ("tag:auth type:gotcha", ["[gotcha] Auth module null check"]),
        (
            "database migration importance:>=2",
            ["[runbook] Database migration: lock first", "[event] 2026-03-08T10:00:00Z | Bash | Ran the database migration"],
        ),
        ("file:src/api", ["[runbook] Database migration: lock first"]),
        # "Edge Cases": deprecated only when asked for
        ("cookies", []),
        ("cookies status:deprecated", ["[constraint] Auth cookies"]),
        # a key given twice must hold twice; what is no filter is a word
        ("tag:auth tag:db", ["[runbook] Database migration: lock first"]),
        ('"advisory lock"', ["[runbook] Database migration: lock first"]),
        ('"lock advisory"', []),
        ("foo:bar", []),
    ],
)
def test_query_syntax(project: Path, query: str, expected: list[str]) -> None:
    found = titles(Shelf().load(project), query)
    assert sorted(found) == sorted(expected)


def test_weights_of_the_seed(project: Path) -> None:
    """Seed 002, "Search Algorithm" 2: title 3, tags 2, TL;DR 1.5, body 1, times recency, times importance."""
    memory = Shelf().load(project)
    null = find(parse_query("auth"), memory.cards, (), TODAY)[0]
    # "auth" stands in title, tags, TL;DR and body of the card, which is new and of importance 2
    assert (null.keywords, null.recency, null.importance) == (3 + 2 + 1.5 + 1, 1.5, 1.15)
    assert null.score == pytest.approx(7.5 * 1.5 * 1.15)


@pytest.mark.parametrize(
    ("day", "bonus"), [("2026-03-09", 1.5), ("2026-02-07", 1.25), ("2026-01-08", 1.125), (None, 1.0), ("2027-01-01", 1.5)]
)
def test_recency_bonus(day: str | None, bonus: float) -> None:
    assert recency_bonus(day, TODAY) == pytest.approx(bonus)


@pytest.mark.parametrize(("importance", "bonus"), [(0, 1.0), (1, 1.0), (2, 1.15), (3, 1.3), (-4, 1.0)])
def test_importance_bonus(importance: int, bonus: float) -> None:
    assert importance_bonus(importance) == pytest.approx(bonus)


def test_events_join_only_under_ten_cards(project: Path) -> None:
    """Seed 002, "Search Algorithm" 3: "Only include if fewer than 10 card results"."""
    cards = project / ".claude/memory/cards"
    for number in range(9):
        (cards / f"n{number}.md").write_text(f"# Null pointer {number}\n", encoding="utf-8")
    found = titles(Shelf().load(project), "null")
    assert len(found) == 10
    assert not any(title.startswith("[event]") for title in found)
    (cards / "n8.md").unlink()
    assert "[event] 2026-03-09T10:00:00Z | Edit | Fixed null check in auth.ts" in titles(Shelf().load(project), "null")


def test_edge_strings() -> None:
    """Seed 002, "Edge Cases"."""
    assert NO_MEMORY == "No session memory found. Start working and cards will be auto-created."
    assert no_results("zebra") == "No results for 'zebra'. Try broader keywords or check /session-memory:status."


def test_no_project_folder_is_empty_memory(tmp_path: Path) -> None:
    assert Shelf().load(tmp_path).empty


@pytest.mark.parametrize(
    "text", ["", '"', "-", 'tag: type:""', "importance:high", "C:\\", "https://example.org/a?b=c", "a:b:c", "()[]{}*", "🐘"]
)
def test_nothing_a_user_types_is_an_error(project: Path, text: str) -> None:
    memory = Shelf().load(project)
    find(parse_query(text), memory.cards, memory.events, TODAY)


def test_what_is_no_filter_is_a_word() -> None:
    query = parse_query("foo:bar importance:high tag: importance:>=2")
    assert [keyword.text for keyword in query.keywords] == ["foo:bar", "importance:high", "tag:"]
    assert query.importance == (Bound(">=", 2),)


def test_function_words_are_dropped_unless_nothing_is_left() -> None:
    assert [k.text for k in parse_query("the auth in it").keywords] == ["auth"]
    assert [k.text for k in parse_query("the").keywords] == ["the"]


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("windows line ends", NULL_CHECK.replace("\n", "\r\n").encode()),
        ("byte order mark", b"\xef\xbb\xbf" + NULL_CHECK.encode()),
        ("rule in the body", NULL_CHECK.encode() + b"\n---\n\ntype: runbook\n"),
        ("block lists", NULL_CHECK.replace("[auth, null-safety]", "\n  - auth\n  - null-safety").encode()),
        ("comma text", NULL_CHECK.replace("[auth, null-safety]", "auth, null-safety").encode()),
        ("quoted list text", NULL_CHECK.replace("[auth, null-safety]", '"[auth, null-safety]"').encode()),
        ("quoted title", NULL_CHECK.replace("title: Auth module null check", 'title: "Auth module null check"').encode()),
        ("title as heading", UNTITLED.encode()),
        ("TL;DR line", NULL_CHECK.replace("## TL;DR\n", "**TL;DR:** ").encode()),
        ("TL;DR key", NULL_CHECK.replace("## TL;DR\nreq.user can be null before auth middleware runs\n", "").replace(
            "author:", "tldr: req.user can be null before auth middleware runs\nauthor:").encode()),
        ("date for created", NULL_CHECK.replace("created: 2026-03-09", "date: March 9, 2026").encode()),
    ],
)  # fmt: skip
def test_cards_are_read_liberally(name: str, raw: bytes) -> None:
    card = read_card("c.md", raw)
    assert card is not None
    assert (card.title, card.type, card.importance, card.created) == ("Auth module null check", "gotcha", 2, "2026-03-09"), name
    assert card.tags == ("auth", "null-safety")
    assert card.files == ("src/auth.ts", "src/middleware/auth.ts")
    assert card.tldr == "req.user can be null before auth middleware runs"


def test_a_card_without_any_field_is_still_a_card() -> None:
    card = read_card(".claude/memory/cards/pool-size.md", b"Keep the pool at 20.\n")
    assert card is not None
    memory = SessionMemory(cards=(card,))
    assert ask(memory, "pool") == ["[note] pool-size (importance: 1)"]


def test_bad_event_lines_are_skipped_and_counted(project: Path) -> None:
    lines = b'{"timestamp": 1773050400000, "type": "Write", "message": "Wrote the null guard"}\nnot json\n[1]\n{"tool": "Edit"}\n\n'
    file = read_events("e.jsonl", lines)
    assert [(e.line, e.tool, e.summary, e.importance, e.day) for e in file.events] == [
        (1, "Write", "Wrote the null guard", 1, "2026-03-09")
    ]
    assert file.bad_lines == 3
    (project / ".claude/memory/events/zoe.jsonl").write_bytes(lines)
    assert Shelf().load(project).problems == (".claude/memory/events/zoe.jsonl: 3 of 4 lines can't be read",)


@pytest.mark.parametrize("folder", ["cards", "events"])
def test_a_link_that_leads_out_of_the_project_is_not_read(project: Path, tmp_path_factory: pytest.TempPathFactory, folder: str) -> None:
    outside = tmp_path_factory.mktemp("outside") / "secret"
    outside.write_text('{"timestamp": 1773050400000, "type": "Write", "message": "the pool password"}\n', encoding="utf-8")
    link = project / ".claude/memory" / folder / ("pool.md" if folder == "cards" else "pool.jsonl")
    link.symlink_to(outside)
    memory = Shelf().load(project)
    assert memory.problems == (f"{link.relative_to(project).as_posix()} leads out of the vault",)
    assert not any("password" in text for text in ask(memory, "pool password"))


def test_words_without_spaces_are_found(project: Path) -> None:
    (project / ".claude/memory/cards/th.md").write_text("# เราเลิกใช้คิวข้อความ\n", encoding="utf-8")
    assert titles(Shelf().load(project), "คิว") == ["[note] เราเลิกใช้คิวข้อความ"]


def test_a_changed_card_is_read_again(project: Path) -> None:
    shelf = Shelf()
    assert titles(shelf.load(project), "zebra") == []
    (project / ".claude/memory/cards/null.md").write_text("# Zebra crossing\n", encoding="utf-8")
    assert titles(shelf.load(project), "zebra") == ["[note] Zebra crossing"]


def test_ten_thousand_events_stay_quick_warm(tmp_path: Path) -> None:
    events = tmp_path / ".claude/memory/events"
    events.mkdir(parents=True)
    with (events / "a.jsonl").open("w", encoding="utf-8") as out:
        for number in range(10_000):
            line = {
                "ts": "2026-03-01T10:00:00Z",
                "tool": "Edit",
                "summary": f"Fixed null check {number} in auth_{number}.ts",
                "importance": number % 3,
            }
            out.write(json.dumps(line) + "\n")
    shelf = Shelf()
    shelf.load(tmp_path)
    best = min(_timed(lambda: ask(shelf.load(tmp_path), "null check importance:>=2")) for _ in range(3))
    assert best < 0.2


def _timed(job: object) -> float:
    start = time.perf_counter()
    assert callable(job)
    assert len(job()) == 10
    return time.perf_counter() - start

"""Decision chains: one story, each decision once in its best telling, in the order of days, and nothing where there is none.

The demo vault tells one decision up to five times; `tests/data/vault_example_why.jsonl` says which days a chain about it must hold.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_library import MemoryLibrary

from onebrain.models.embed import E5Embedder
from onebrain.models.folders import ModelFolder
from onebrain.models.ports import Embedder, Floats
from onebrain.models.twins import HashEmbedder
from onebrain.search.chain import Option, Story, build_chain, chosen, considered, standing
from onebrain.search.evidence import Pool
from onebrain.search.question import Filters, Request
from onebrain.search.report import ChainLink
from onebrain.search.searcher import Models, Searcher
from onebrain.vault import files
from onebrain.vault.library import NoteRecord
from onebrain.vault.note import Event, EventKind, Source, Status

ROOT = Path(__file__).parent.parent
VAULT = ROOT.parent / "vault_example"
QUESTIONS = [json.loads(line) for line in (ROOT / "data" / "vault_example_why.jsonl").read_text(encoding="utf-8").splitlines()]
BY_WORDS = [question for question in QUESTIONS if question["lang"] == "en" and question["id"] != "tomatoes"]  # that one needs meaning


def notes_of_the_example() -> dict[str, str]:
    walk = files.stat_all(VAULT, ("attachments",))
    return {path: files.read(VAULT, path).decode("utf-8", "replace") for path in sorted(walk.stats)}


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> MemoryLibrary:
    return MemoryLibrary(tmp_path_factory.mktemp("example"), notes_of_the_example())


def pool_of(library: MemoryLibrary, text: str, embedder: Embedder | None = None, filters: Filters | None = None) -> Pool:
    request = Request(text, date(2026, 10, 14), mode="why", filters=filters or Filters(), write_hyde=False)
    return Searcher(library, Models(embedder)).trace(request)[0]


def chain(library: MemoryLibrary, text: str, embedder: Embedder | None = None, filters: Filters | None = None) -> tuple[ChainLink, ...]:
    return build_chain(library, pool_of(library, text, embedder, filters))


def days(links: tuple[ChainLink, ...]) -> list[str]:
    return [link.date for link in links]


# The story of the demo vault, by words alone


def test_why_kafka_was_dropped_is_told_whole_once_and_in_order(example: MemoryLibrary) -> None:
    links = chain(example, "why did we drop Kafka?")
    told = days(links)
    assert told == sorted(set(told))
    assert {"2025-10-02", "2026-01-19", "2026-03-12", "2026-04-19", "2026-04-22", "2026-07-08"} <= set(told)
    by_day = {link.date: link for link in links}
    assert by_day["2026-04-19"].path.endswith("ADR-007 Redis Streams for Event Transport.md")
    assert "headcount didn't justify" in by_day["2026-04-19"].quote
    assert by_day["2025-10-02"].superseded_by == by_day["2026-04-19"].path and by_day["2026-04-19"].superseded_by is None
    assert not any(unrelated in link.event for link in links for unrelated in ("side by side", "72 hours", "April review", "every quarter"))


@pytest.mark.parametrize("question", BY_WORDS, ids=lambda q: q["id"])
def test_a_chain_holds_no_day_of_another_story(example: MemoryLibrary, question: Mapping[str, list[str]]) -> None:
    told = days(chain(example, str(question["query"])))
    strange = set(told) - {*question["dates"], *question["also"]}
    assert len(strange) <= len(told) // 4, strange
    if not question["dates"]:
        assert told == []


def test_most_days_of_every_story_are_told(example: MemoryLibrary) -> None:
    found = wanted = 0
    for question in BY_WORDS:
        found += len(set(days(chain(example, question["query"]))) & set(question["dates"]))
        wanted += len(question["dates"])
    assert found >= 0.7 * wanted, f"{found} of {wanted}"


@pytest.mark.slow
def test_questions_in_four_languages_find_their_story_by_meaning(tmp_path: Path, e5_folder: ModelFolder) -> None:
    embedder = E5Embedder(e5_folder)
    library = MemoryLibrary(tmp_path, notes_of_the_example(), embedder)
    found = wanted = 0
    for question in QUESTIONS:
        told = set(days(chain(library, question["query"], embedder)))
        found, wanted = found + len(told & set(question["dates"])), wanted + len(question["dates"])
        assert len(told - {*question["dates"], *question["also"]}) <= 1, question["id"]
    assert found >= 0.75 * wanted, f"{found} of {wanted}"


# A decision told more than once

RECORD = """# ADR-1 Postgres for orders

Date: 2026-03-02

Status: {status}

## Decision

We keep orders in Postgres because the team knows it and backups are in place.
"""
LOG = """---
date: 2026-03-02
---
# Session Summary : March 2, 2026 (Session 1)

## Key Decisions

- Put the orders into Postgres, because the whole team knows how to run its backups.
- Order new chairs for the office.
"""
MEMORY = """---
type: project
status: deprecated
created: 2026-03-02
---
# Orders live in Postgres

Decided 2026-03-02: orders are kept in Postgres, because the team knows it.
"""
SESSION = "07-logs/session/2026/03/2026-03-02-session-01.md"
CHECKPOINT = "07-logs/checkpoint/2026-03-02-abc-checkpoint-01.md"
ORDERS = {
    "projects/orders/ADR-1.md": RECORD.format(status="Accepted"),
    SESSION: LOG,
    CHECKPOINT: LOG,
    "05-agent/memory/orders.md": MEMORY,
    "knowledge/Tea.md": "# Tea\n\nGreen tea steeps for two minutes.\n",
}
WHY_POSTGRES = "why are the orders kept in Postgres?"


def test_a_decision_told_by_record_log_checkpoint_and_memory_counts_once_as_the_record_tells_it(tmp_path: Path) -> None:
    links = chain(MemoryLibrary(tmp_path, ORDERS), WHY_POSTGRES)
    assert [(link.date, link.path, link.superseded_by) for link in links] == [("2026-03-02", "projects/orders/ADR-1.md", None)]
    assert links[0].quote.startswith("We keep orders in Postgres because") and links[0].line == 9


@pytest.mark.parametrize(
    ("left_out", "told_by"),
    [
        ((), "projects/orders/ADR-1.md"),
        (("projects/orders/ADR-1.md",), SESSION),
        (("projects/orders/ADR-1.md", SESSION), CHECKPOINT),
    ],
)  # fmt: skip
def test_the_best_telling_is_shown_and_an_outdated_note_last(tmp_path: Path, left_out: tuple[str, ...], told_by: str) -> None:
    notes = {path: text for path, text in ORDERS.items() if path not in left_out}
    assert [link.path for link in chain(MemoryLibrary(tmp_path, notes), WHY_POSTGRES)] == [told_by]


def test_what_was_replaced_says_by_what_though_another_note_tells_it(tmp_path: Path) -> None:
    later = RECORD.format(status="Accepted. Supersedes [ADR-1](ADR-1.md)").replace("ADR-1 Postgres", "ADR-2 Postgres cluster")
    notes = ORDERS | {
        "projects/orders/ADR-1.md": RECORD.format(status="Superseded by [ADR-2](ADR-2.md)"),
        "projects/orders/ADR-2.md": later.replace("2026-03-02", "2026-06-01"),
    }
    links = chain(MemoryLibrary(tmp_path, notes), WHY_POSTGRES)
    assert [(link.date, link.superseded_by) for link in links] == [("2026-03-02", "projects/orders/ADR-2.md"), ("2026-06-01", None)]


def note(path: str, source: Source = Source.DECISION, status: Status = Status.ACTIVE) -> NoteRecord:
    return NoteRecord(path, "", source, (), (), None, status, None, "", 0, 0, (), (), True)


def option(path: str, day: str, what: str, belongs: float, kind: EventKind = EventKind.RECORD, reason: str | None = None) -> Option:
    event = Event(day, what, reason, 1, 1, "", kind)
    return Option(event, Story(note(path), None, {}), kind is not EventKind.RECORD, {}, belongs)


BARS = {"first": 0.5, "second": 0.25, "more": 0.4, "share": 0.6, "part": 0.5}


def shown(*options: Option) -> list[str]:
    return [told[0].story.note.path for told in chosen(options, BARS)]


def test_two_records_of_one_day_are_two_decisions(tmp_path: Path) -> None:
    assert shown(option("a", "2026-01-01", "Use tea", 0.9), option("b", "2026-01-01", "Use tea", 0.8)) == ["a", "b"]


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ("Move docs into the repository", True),
        ("Docs go to the repository, reviewed with code", True),
        ("Buy new chairs", False),
    ],
)
def test_the_same_day_and_the_same_words_are_one_decision(other: str, same: bool) -> None:
    record = option("a", "2026-01-01", "Docs in the repository", 0.9)
    row = option("b", "2026-01-01", other, 0.8, EventKind.TABLE)
    assert shown(record, row) == (["a"] if same else ["a", "b"])
    assert shown(record, replace(row, event=replace(row.event, date="2026-01-02"))) == ["a", "b"]


# How many are shown


@pytest.mark.parametrize(
    ("belongs", "expected"),
    [
        ([0.49, 0.48], 0),  # the best may as well be wrong: no chain
        ([0.5], 1),
        ([0.9, 0.24], 1),
        ([0.9, 0.25], 2),  # a plausible second
        ([0.9, 0.8, 0.47], 2),  # a third must come near the second
        ([0.9, 0.8, 0.48], 3),
        ([0.9, 0.5, 0.39], 2),
        ([0.9] * 20, 12),
    ],
)
def test_a_link_needs_its_probability(belongs: list[float], expected: int) -> None:
    options = [option(f"n{n:02}", f"2026-01-{n + 1:02}", f"word{n}", value) for n, value in enumerate(belongs)]
    assert len(chosen(options, BARS)) == expected


@given(st.lists(st.floats(-5, 5), max_size=12))
def test_standing_says_how_far_each_is_from_the_best_and_the_next(worths: list[float]) -> None:
    found = standing(worths, max(worths, default=0.0))
    assert [f["worth"] for f in found] == worths
    assert all(f["below"] >= 0 and f["ahead"] >= 0 for f in found)
    assert (min((f["below"] for f in found), default=0.0)) == 0.0


def test_standing_by_numbers() -> None:
    first, third, second = standing([3.0, 0.5, 2.0], 3.5)
    assert (first["below"], first["ahead"]) == (0.5, 1.0)
    assert (second["below"], second["ahead"]) == (1.5, 1.5)
    assert (third["below"], third["ahead"]) == (3.0, 1.0)


# What surrounds a chain


def test_no_chain_where_nothing_found_may_answer(example: MemoryLibrary) -> None:
    for question in ("why did we migrate from Jira to Linear", "why was MongoDB chosen for the invoices?"):
        assert considered(example, pool_of(example, question)) == [], question


def test_a_chain_stays_inside_the_filters(example: MemoryLibrary) -> None:
    links = chain(example, "why did we drop Kafka?", filters=Filters(paths=("07-logs",)))
    assert links and all(link.path.startswith("07-logs/") for link in links)


class Translating(HashEmbedder):
    """Knows what one German question means, as a multilingual embedder does."""

    def embed_query(self, text: str) -> Floats:
        return super().embed_query(f"ADR-1\nDecision\n{RECORD.partition('## Decision')[2]}" if "Warum" in text else text)


@pytest.mark.usefixtures("plain_calibration")
def test_a_question_in_another_language_is_answered_by_meaning(tmp_path: Path) -> None:
    links = chain(MemoryLibrary(tmp_path, ORDERS), "Warum sind die Bestellungen in Postgres?", Translating())
    assert [link.path for link in links] == ["projects/orders/ADR-1.md"]


def test_a_vault_without_decisions_has_no_chain(tmp_path: Path) -> None:
    library = MemoryLibrary(tmp_path, {"Tea.md": "# Tea\n\nGreen tea steeps for two minutes.\n"})
    assert chain(library, "why does green tea steep for two minutes?") == ()


# Changelogs and dated notes

CHANGES = """# Changelog

## [2.0.0] - 2026-05-01

### Changed

- Renamed the option `--fast` to `--quick`.
- Renamed the option `--out` to `--target`.
- Switched the cache from Redis to SQLite.
- Exports are written as UTF-8.

### Removed

- Removed the telemetry module.
- Removed the old importer.

## [1.4.0] - 2026-01-20

- Added the cache in Redis.
- Fixed the crash on empty exports.
"""
HOSTING = """---
created: 2025-11-01
---
# Hosting

## 2026-01-15

Switched from Hetzner to OVH because the Falkenstein outage took us down for six hours.

## 2026-05-20

Moved back from OVH to Hetzner. The reason: OVH support needed four days for a disk.
"""
OTHERS = {"knowledge/Tea.md": "# Tea\n\nGreen tea steeps for two minutes.\n", "01-projects/Hosting.md": HOSTING, "CHANGELOG.md": CHANGES}


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("why was the telemetry module removed?", ["Removed the telemetry module."]),
        ("why is the cache in SQLite and not in Redis?", ["Added the cache in Redis.", "Switched the cache from Redis to SQLite."]),
        ("why was the option --fast renamed?", ["Renamed the option --fast to --quick."]),
        ("why are the orders kept in Postgres?", ["Postgres for orders"]),
    ],
)
def test_of_a_release_only_the_bullet_about_the_question_is_told(tmp_path: Path, question: str, told: list[str]) -> None:
    assert [link.event for link in chain(MemoryLibrary(tmp_path, ORDERS | OTHERS), question)] == told


def test_an_ordinary_note_with_dated_headings_tells_its_story(tmp_path: Path) -> None:
    links = chain(MemoryLibrary(tmp_path, ORDERS | OTHERS), "why did we move from OVH back to Hetzner?")
    assert [(link.date, link.line) for link in links] == [("2026-01-15", 8), ("2026-05-20", 12)]
    assert links[1].quote == "The reason: OVH support needed four days for a disk."


def test_a_change_that_two_releases_tell_in_the_same_words_is_one() -> None:
    first = option("v3.1-beta", "2026-05-28", "Removed the spinner", 0.8, EventKind.CHANGELOG)
    again = option("v3.1", "2026-06-15", "Removed the spinner", 0.9, EventKind.CHANGELOG)
    assert shown(again, first) == ["v3.1-beta"]
    assert shown(replace(again, event=replace(again.event, kind=EventKind.SESSION)), first) == ["v3.1", "v3.1-beta"]

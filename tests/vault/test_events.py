"""Dated decisions: each shape they are written in, with the day, the reason and the lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onebrain.vault import read_note
from onebrain.vault.events import clean_title
from onebrain.vault.note import Event, EventKind, Status

PACK = Path(__file__).parents[3] / "shared" / "eval"


def events(path: str, text: str) -> tuple[Event, ...]:
    return read_note(path, text.encode()).events


def short(path: str, text: str) -> list[tuple[str, str, str | None]]:
    return [(event.date, event.what, event.reason) for event in events(path, text)]


# ---- records ----

NYGARD = """\
# 7. Use Redis Streams

Date: 19/04/2026

## Status

✅ Accepted

## Context

Kafka takes two of four engineers a day each per week.

## Decision

We drop Kafka. We move to Redis Streams because the team headcount didn't justify Kafka's ops cost.

## Consequences

Replay reaches back 72 hours.
"""


def test_a_record_file_is_one_event() -> None:
    assert events("adr/0007-use-redis-streams.md", NYGARD) == (
        Event(
            date="2026-04-19",
            what="Use Redis Streams",
            reason="We move to Redis Streams because the team headcount didn't justify Kafka's ops cost.",
            line=3,
            reason_line=15,
            heading="Decision",
            kind=EventKind.RECORD,
            status=Status.ACTIVE,
        ),
    )


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (
            "0005-dashes.md",
            "---\nstatus: superseded by ADR-0009\ndate: 2020-02-03\n---\n"
            "# Use Dashes\n\n## Context and Problem Statement\n\nWhat is the pattern?\n\n"
            '## Decision Outcome\n\nChosen option: "dashes", because they ease work on the command line.\n\n'
            "## More Information\n\nSee https://x.y because.\n",
            ("2020-02-03", "Use Dashes", 'Chosen option: "dashes", because they ease work on the command line.', Status.SUPERSEDED),
        ),
        (
            "ADR-15.md",
            "# Subscribe Workflow\n\n| Metadata | Value      |\n|----------|------------|\n"
            "| Date     | 2021-08-11 |\n| Status   | Deprecated |\n\n"
            "## Revision History\n\n| Revision | Date | Description |\n"
            "|---|---|---|\n| final | 2024/07/17 | Deprecate in favor of ADR-37 |\n\n"
            "## Context\n\nClients differ in how they subscribe, so we need one description to avoid confusion.\n",
            (
                "2021-08-11",
                "Subscribe Workflow",
                "Clients differ in how they subscribe, so we need one description to avoid confusion.",
                Status.DEPRECATED,
            ),
        ),
        (
            "pep-0212-loop.md",
            '---\npep: 212\ntitle: "Loop Counter"\nstatus: Rejected\n'
            "created: 2000-08-22\n---\n# PEP 212 – Loop Counter\n\n## Rejection Notice\n\n"
            "This PEP has been rejected because ``enumerate()``, introduced in :pep:`279`, covers the use case.\n\n"
            "## Motivation\n\nLoops.\n",
            (
                "2000-08-22",
                "Loop Counter",
                "This PEP has been rejected because enumerate(), introduced in PEP 279, covers the use case.",
                Status.REJECTED,
            ),
        ),
        (
            "ADR-002 - Security.md",
            "# ADR-002 - Security Response\n\n## Status\n\n"
            "**ACCEPTED** - Decision made on 2026-04-20\n\nImplemented 2026-05-08.\n\n## Decision\n\n"
            "Add a setting, off by default, to avoid running code that came with a note.\n",
            (
                "2026-04-20",
                "Security Response",
                "Add a setting, off by default, to avoid running code that came with a note.",
                Status.ACTIVE,
            ),
        ),
        (
            "adr/0004-deutsch.md",
            "# 4. Wechsel zu Postgres\n\nDatum: 05.03.2024\n\n## Status\n\nAkzeptiert\n\n"
            "## Entscheidung\n\nWir wechseln zu Postgres, weil MySQL keine Fenster kennt.\n",
            ("2024-03-05", "Wechsel zu Postgres", "Wir wechseln zu Postgres, weil MySQL keine Fenster kennt.", Status.ACTIVE),
        ),
        (
            "adr/0005-日本語.md",
            "# 5. SMSに変更\n\n日付: 2026年3月4日\n\n## ステータス\n\n承認\n\n"
            "## 決定\n\n配達通知をSMSに変更した。メールの開封率が31%にとどまったためである。\n",
            ("2026-03-04", "SMSに変更", "メールの開封率が31%にとどまったためである。", Status.ACTIVE),
        ),
        (
            "text/0401-coercions.md",
            "- Start Date: 2014-10-30\n- RFC PR: 401\n\n## Motivation\n\nCoercions are not well described, therefore people avoid them.\n",
            ("2014-10-30", "0401-coercions", "Coercions are not well described, therefore people avoid them.", Status.ACTIVE),
        ),
    ],
)
def test_records_of_many_styles(path: str, text: str, expected: tuple[str, str, str, Status]) -> None:
    (event,) = events(path, text)
    assert (event.date, clean_title(event.what), event.reason, event.status) == (
        expected[0],
        clean_title(expected[1]),
        expected[2],
        expected[3],
    )
    assert event.reason is not None and event.heading in text


def test_a_record_without_a_day_or_a_template_is_no_event() -> None:
    assert events("adr/0001-x.md", NYGARD.replace("Date: 19/04/2026", "")) == ()
    assert events("adr/0000-template.md", NYGARD.replace("19/04/2026", "YYYY-MM-DD")) == ()


@pytest.mark.parametrize(
    ("title", "clean"),
    [
        ("44. New Platform Name", "New Platform Name"),
        ("PEP 345 – Metadata 1.2", "Metadata 1.2"),
        ("ADR-001 - Names", "Names"),
        ("ADR-007: Redis", "Redis"),
        ("25 Domain names", "Domain names"),
        ("3.5 inch disks", "3.5 inch disks"),
        ("2FA for all", "2FA for all"),
        ("12-factor apps", "12-factor apps"),
        ("EKS", "EKS"),
    ],
)
def test_titles_lose_their_numbers(title: str, clean: str) -> None:
    assert clean_title(title) == clean


def test_blocks_of_a_decision_file() -> None:
    text = """\
# Architecture Decisions

## ADR-001: Use Postgres
- **Date**: 2026-01-05
- **Status**: Superseded by ADR-002
**Context**
We need transactions.
**Decision**
Postgres, because the team knows it.
**Review Date**
2027-01-01

## ADR-002: Use SQLite
- **Date**: 2026-02-06
- **Status**: Accepted

**Decision**: One file, since there is one user.
"""
    found = events("memory/architecture_decisions.md", text)
    assert [(e.date, e.what, e.reason, e.line, e.reason_line, e.heading, e.status) for e in found] == [
        ("2026-01-05", "Use Postgres", "Postgres, because the team knows it.", 4, 9, "ADR-001: Use Postgres", Status.SUPERSEDED),
        ("2026-02-06", "Use SQLite", "One file, since there is one user.", 14, 17, "ADR-002: Use SQLite", Status.ACTIVE),
    ]


def test_blocks_of_a_bug_file() -> None:
    text = (
        "# Bugs\n\n## BUG-003: Consumer stuck\n\n- **Date**: 3 March 2026\n- **Severity**: high\n"
        "- **Root Cause**: a malformed message, because nothing checked it.\n"
    )
    assert short("memory/bugs_and_fixes.md", text) == [("2026-03-03", "Consumer stuck", "a malformed message, because nothing checked it.")]


# ---- tables ----


def test_a_decision_table() -> None:
    text = r"""---
created: 2025-09-18
---
# Beacon

## Decisions Log

| When | What we chose | Reason | Status | Record |
| --- | --- | --- | --- | --- |
| 23 Sep 2025 | Email and `password \| key` | One web app | superseded | [[ADR-002 S\|ADR-002]] |
| [[2026-06-11]] | Leave [Gatewright](g.md) | Price went from €0.03 to €0.11 | done | |
| next week | Nothing yet | | open | |
| 26/03/2026 | Shorten tokens | | current | |
"""
    found = events("01-projects/Beacon.md", text)
    assert [(e.date, e.what, e.reason, e.line, e.status) for e in found] == [
        ("2025-09-23", "Email and password | key", "One web app", 10, Status.SUPERSEDED),
        ("2026-06-11", "Leave Gatewright", "Price went from €0.03 to €0.11", 11, Status.ACTIVE),
        ("2026-03-26", "Shorten tokens", None, 13, Status.ACTIVE),
    ]
    assert {e.kind for e in found} == {EventKind.TABLE}
    assert {e.heading for e in found} == {"Decisions Log"}


@pytest.mark.parametrize(
    ("header", "row", "expected"),
    [
        ("| Date | Decision |", "| 2024-01-02 | Use X |", ("2024-01-02", "Use X", None)),
        ("| # | Decision | Rationale | Decided on |", "| 1 | Use X | cheap | 3 March 2024 |", ("2024-03-03", "Use X", "cheap")),
        ("| วันที่ | การตัดสินใจ | เหตุผล |", "| 5 มีนาคม 2567 | ย้ายคลัง | ใกล้ท่าเรือ |", ("2024-03-05", "ย้ายคลัง", "ใกล้ท่าเรือ")),
        ("| 日期 | 决定 | 理由 |", "| 2024年3月5日 | 改用 X | 便宜 |", ("2024-03-05", "改用 X", "便宜")),
        ("| Datum | Entscheidung | Begründung |", "| 05.03.2024 | X nutzen | günstig |", ("2024-03-05", "X nutzen", "günstig")),
        ("| Fecha | Decisión | Motivo |", "| 5 de marzo de 2024 | Usar X | barato |", ("2024-03-05", "Usar X", "barato")),
        ("| Дата | Решение | Причина |", "| 5 марта 2024 | Взять X | дёшево |", ("2024-03-05", "Взять X", "дёшево")),
    ],
)
def test_table_headers_in_many_languages(header: str, row: str, expected: tuple[str, str, str | None]) -> None:
    columns = header.count("|") - 1
    assert short("p.md", f"{header}\n|{'---|' * columns}\n{row}\n") == [expected]


@pytest.mark.parametrize(
    "table",
    [
        "| Date | Author | Description |\n|---|---|---|\n| 2024-01-02 | me | first draft |",
        "| Decision | Owner |\n|---|---|\n| Use X | me |",
        "| Released | Version |\n|---|---|\n| 2024-01-02 | 1.2 |",
    ],
)
def test_tables_without_decisions(table: str) -> None:
    assert events("p.md", f"# P\n\n{table}\n") == ()


# ---- logs ----

SESSION = """\
---
tags: [session-log]
date: 2026-04-22
---

# Session Summary : April 22, 2026 (Session 1)

## What We Worked On

Kafka, decided nothing here.

## Key Decisions

- Cap at 1M msg/day; revisit at 800K, because a bigger node takes six weeks.
- **Both systems run side by side** until seven nights pass.
  - Why: nobody trusts the new one yet.
- 2026-04-20: Postgres table declined
- [ ] not decided yet
- LATER nor is this

## Insights & Learnings

- Memory decides.
"""


def test_bullets_under_key_decisions() -> None:
    found = events("07-logs/session/2026/04/2026-04-22-session-01.md", SESSION)
    assert [(e.date, e.what, e.reason, e.line, e.kind) for e in found] == [
        (
            "2026-04-22",
            "Cap at 1M msg/day; revisit at 800K, because a bigger node takes six weeks.",
            "Cap at 1M msg/day; revisit at 800K, because a bigger node takes six weeks.",
            14,
            EventKind.SESSION,
        ),
        (
            "2026-04-22",
            "Both systems run side by side until seven nights pass.",
            "Why: nobody trusts the new one yet.",
            15,
            EventKind.SESSION,
        ),
        ("2026-04-20", "Postgres table declined", None, 17, EventKind.SESSION),
    ]


@pytest.mark.parametrize(
    "heading",
    [
        "Key Decisions",
        "Decisions Made",
        "Decisions",
        "Decision Log",
        "What we decided",
        "Entscheidungen",
        "Décisions prises",
        "Decisiones clave",
        "Ключевые решения",
        "关键决定",
        "決定事項",
        "결정 사항",
        "การตัดสินใจสำคัญ",
        "🧭 Key Decisions",
    ],
)
def test_decision_headings(heading: str) -> None:
    assert short("2026-04-22 Meeting.md", f"# M\n\n## {heading}\n\n- Use the red one for now\n") == [
        ("2026-04-22", "Use the red one for now", None)
    ]


def test_the_day_above_outranks_the_notes() -> None:
    text = "# Notes\n\n## Session: 2026-04-15 14:30 → 16:45\n\n### Decisions Made\n\n- Keep it simple, so that all can follow\n"
    assert short("memory/session_notes.md", text) == [
        ("2026-04-15", "Keep it simple, so that all can follow", "Keep it simple, so that all can follow")
    ]


def test_entries_under_dated_headings() -> None:
    text = """# Lieferant

## 30.06.2026: Wechsel zu Papierhof

Der Preis ist höher. Wir wechseln, weil er in 48 Stunden liefert.

## Due on 2026-07-01

text

## [2026-08-01] Second switch

It broke.
"""
    found = events("02-areas/Lieferant.md", text)
    assert [(e.date, e.what, e.reason, e.line, e.reason_line, e.heading) for e in found] == [
        ("2026-06-30", "Wechsel zu Papierhof", "Wir wechseln, weil er in 48 Stunden liefert.", 5, 5, "30.06.2026: Wechsel zu Papierhof"),
        ("2026-08-01", "Second switch", "It broke.", 13, 13, "[2026-08-01] Second switch"),
    ]


def test_dated_bullets_in_a_decision_log() -> None:
    text = (
        "# 方針\n\n## 決定の記録\n\n- **2025-10-15** メールだけで送ることにした。費用がかからないため。\n- **2026-03-04** SMSに変更した。\n"
    )
    assert short("方針.md", text) == [
        ("2025-10-15", "メールだけで送ることにした。", "費用がかからないため。"),
        ("2026-03-04", "SMSに変更した。", None),
    ]


def test_sentences_that_decide_in_a_dated_note() -> None:
    text = (
        "# 2026-06-11\n\n"
        "The price list came at nine, and by noon we had agreed to leave Gatewright. Rain. Should we have switched earlier?\n"
    )
    (event,) = events("journal/2026-06-11.md", text)
    assert event.date == "2026-06-11"
    assert event.what == "The price list came at nine, and by noon we had agreed to leave Gatewright."
    assert event.kind is EventKind.DAILY


MOVED = "We moved the customer database from MySQL to PostgreSQL because partial indexes were missing."


@pytest.mark.parametrize(
    ("path", "text", "day"),
    [
        ("01-projects/Database.md", f"---\ndate: 2026-02-03\n---\n# Database\n\nFive tables. {MOVED}\n", "2026-02-03"),
        ("01-projects/Database.md", f"---\ndatum: 3.2.2026\n---\n# Database\n\n{MOVED}\n", "2026-02-03"),
        ("notes/Database.md", f"# Database\n\nDate: 2026-02-03\n\n{MOVED}\n", "2026-02-03"),
        ("notes/Database 2026-02-03.md", f"{MOVED}\n", "2026-02-03"),
        ("notes/Log.md", f"---\ncreated: 2025-01-01\n---\n# Log\n\n## 2026-02-03\n\n{MOVED}\n\n## Costs\n\nTwo euro.\n", "2026-02-03"),
        ("notes/Log.md", f"# Log\n\n## 2026-02-03\n\n### Storage\n\n{MOVED}\n", "2026-02-03"),
        ("notes/Log.md", f"# Log\n\n## Tuesday, February 3, 2026\n\n{MOVED}\n", "2026-02-03"),
        ("notes/Log.md", f"# Log\n\n## 2026-02-03 (Tue)\n\n{MOVED}\n", "2026-02-03"),
        ("notes/Log.md", f"# Log\n\n## Sprint 4\n\nDate: 2026-02-03\n\n{MOVED}\n\n## Sprint 5\n\nDate: 2026-02-17\n", "2026-02-03"),
        ("notes/Log.md", f"---\ncreated: 2025-01-01\n---\n2026-02-03: It took all day. {MOVED}\n", "2026-02-03"),
    ],
)
def test_a_dated_note_of_any_kind_tells_of_a_change(path: str, text: str, day: str) -> None:
    assert short(path, text) == [(day, MOVED, MOVED)]


@pytest.mark.parametrize(
    "text",
    [
        "We use PostgreSQL because partial indexes were missing.",
        "When we moved to PostgreSQL the archive was lost, because nobody looked.",
        "If we moved to Vercel, the bill would triple because of the traffic.",
        "In 2019 we moved to PostgreSQL because partial indexes were missing.",
        "Last year we moved to PostgreSQL because partial indexes were missing.",
        "Should we have moved to PostgreSQL because of the partial indexes?",
        "Bought a plant because the room looked empty.",
        "- TODO Ask Jana why the lamp flickers, because it does.",
        "- [ ] Ask Jana why the lamp flickers, because it does.",
    ],
)
def test_a_dated_note_that_tells_of_no_change_of_its_day(text: str) -> None:
    assert short("01-projects/Database.md", f"---\ndate: 2026-02-03\n---\n# Database\n\n{text}\n") == []


def test_the_day_a_note_was_made_is_not_the_day_of_what_it_tells() -> None:
    assert short("01-projects/Database.md", f"---\ncreated: 2026-02-03\n---\n# Database\n\n{MOVED}\n") == []
    assert short("01-projects/Database.md", f"# Database\n\nCreated: 2026-02-03\n\n{MOVED}\n") == []


def test_the_reason_may_stand_in_the_next_sentence_but_not_in_another_item() -> None:
    text = (
        "# 2026-05-20\n\nWent back to Hetzner. The reason: OVH support needed four days for a disk.\n\n"
        "- Moved the stand-up to Tuesday for the whole team.\n- Bought a plant because the room looked empty.\n"
    )
    assert short("journal/2026-05-20.md", text) == [
        ("2026-05-20", "Went back to Hetzner.", "The reason: OVH support needed four days for a disk."),
        ("2026-05-20", "Moved the stand-up to Tuesday for the whole team.", None),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Heute haben wir die Zeiterfassung von Toggl auf Kimai umgestellt, weil Toggl teurer wurde.",
        "Nous sommes passés de Toggl à Kimai parce que Toggl est devenu plus cher.",
        "Hemos cambiado de Toggl a Kimai porque Toggl ha subido el precio.",
        "Mudamos de Toggl para Kimai porque o Toggl ficou mais caro.",
        "Siamo passati da Toggl a Kimai perché Toggl è diventato più caro.",
        "Мы перешли с Toggl на Kimai, потому что Toggl подорожал.",
        "Przeszliśmy z Toggl na Kimai, ponieważ Toggl podrożał.",
        "We zijn overgestapt van Toggl naar Kimai omdat Toggl duurder werd.",
        "Toggl pahalandığı için değil, çünkü destek yoktu; Kimai'ye geçtik.",
        "勤怠管理をTogglからKimaiに移行しました。費用が上がったためです。",
        "我们把考勤从Toggl迁移到Kimai，因为Toggl涨价了。",
        "근태 관리를 Toggl에서 Kimai로 바꾸었다. 요금이 올랐기 때문이다.",
        "เปลี่ยนจาก Toggl มาใช้ Kimai เพราะราคาขึ้น",
    ],
)
def test_changes_are_told_in_many_languages(text: str) -> None:
    (event,) = events("notes/Zeit.md", f"---\ndate: 2026-03-10\n---\n# Zeit\n\n{text}\n")
    assert event.date == "2026-03-10" and event.reason


def test_a_sentence_with_its_own_day_that_decides_and_explains() -> None:
    text = "---\ncreated: 2025-09-29\n---\n## Freeze\n\nOn 2026-02-12 hiring was frozen, because one customer left. In 2024 we hired two.\n"
    sentence = "On 2026-02-12 hiring was frozen, because one customer left."
    assert short("02-areas/Headcount.md", text) == [("2026-02-12", sentence, sentence)]


@pytest.mark.parametrize(
    "text",
    [
        "On 6 October 1973, Syria and Egypt launched a surprise attack on Israel.",
        "The treaty of 1951-04-18 was a first step.",
        "- [ ] Alert before the line 📅 2026-10-30",
        "We use Redis because it is there.",
        "created on 2024-01-02",
    ],
)
def test_what_is_no_decision(text: str) -> None:
    assert events("notes/Essay.md", f"---\ncreated: 2024-05-05\n---\n# Essay\n\n{text}\n") == ()


def test_a_memory_note_and_a_card() -> None:
    memory = (
        "---\ntags: [agent-memory]\ncreated: 2026-04-24\ntype: project\nstatus: deprecated\n---\n"
        "# Queues run on Redis\n\nDecided 2026-04-19 in ADR-007. Kafka was dropped because nobody could run it.\n"
    )
    (event,) = events("05-agent/memory/redis.md", memory)
    assert (event.date, event.what, event.reason) == ("2026-04-19", "Queues run on Redis", "Kafka was dropped because nobody could run it.")
    assert (event.kind, event.status) == (EventKind.MEMORY, Status.DEPRECATED)
    card = (
        "---\ntype: decision\ncreated: 2026-03-09\n---\n# Null checks first\n\n## TL;DR\n\nCheck for null, since req.user may be missing.\n"
    )
    assert short(".claude/memory/cards/null.md", card) == [
        ("2026-03-09", "Null checks first", "Check for null, since req.user may be missing.")
    ]
    assert events("05-agent/memory/food.md", memory.replace("type: project", "type: reference").replace("Decided", "Seen")) == ()


def test_changelogs() -> None:
    text = """# Changelog

## [1.2.0] - 2024-05-01

### Removed

- The old importer, because nobody used it.

## 2024-04-02

### [fix]: Null check
- Commit: abc1234
- Guard the handler, since it may be missing.

## Unreleased

- nothing
"""
    assert short("CHANGELOG.md", text) == [
        ("2024-05-01", "The old importer, because nobody used it.", "The old importer, because nobody used it."),
        ("2024-04-02", "[fix]: Null check", "Guard the handler, since it may be missing."),
    ]


def test_a_changelog_of_one_file_a_release_and_of_days_in_tables() -> None:
    release = "---\ndate: 2026-06-15\n---\n## Improved\n\n- Removed the spinner, because it drained the battery.\n"
    bullet = "Removed the spinner, because it drained the battery."
    assert short("Release notes/v3.1.md", release) == [("2026-06-15", bullet, bullet)]
    assert short("Trips/v3.1.md", release) == []
    table = "|||\n|-|-|\n| **Date** | {} |\n\n"
    tables = f"# Portal\n\n## v2\n{table.format('1/27/2021')}Fixed:\n- The lost badge\n\n## v1\n{table.format('2/3/2020')}- The first one\n"
    assert short("changelogs/portal.md", tables) == [("2021-01-27", "The lost badge", None), ("2020-02-03", "The first one", None)]


def test_a_duplicate_is_told_once() -> None:
    text = "## Decisions\n\n- 2024-01-02: Use the red one\n- 2024-01-02: Use the red one\n"
    assert len(events("x.md", text)) == 1


# ---- real records ----


def test_the_days_of_labelled_records() -> None:
    labels = PACK / "queries" / "dev"
    if not labels.is_dir():
        pytest.skip("no ../shared beside this checkout")
    cited: dict[tuple[str, str], dict[str, object]] = {}
    for name in ("hand-why", "hand-multilingual"):
        for line in (labels / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            question = json.loads(line)
            cited |= {(question["corpus"], cite["path"]): cite for cite in question.get("chain_cite", [])}
    assert len(cited) > 100
    wrong = []
    for (corpus, path), cite in cited.items():
        found = read_note(path, (PACK / "vaults" / corpus / path).read_bytes()).events
        if [(event.date, event.line, event.kind) for event in found] != [(cite["date"], cite["date_line"], EventKind.RECORD)] or not found[
            0
        ].reason:
            wrong.append((path, cite["date"], found))
    assert len(wrong) <= len(cited) * 0.03, wrong

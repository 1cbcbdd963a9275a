from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from onebrain.config import Scheduled
from onebrain.daemon import schedule
from onebrain.errors import StorageFull

WEEKLY = Scheduled(("search", "reindex"), cron="0 3 * * 0")
HOURLY = Scheduled(("search", "--", "what changed?"), cron="0 * * * *")
ONCE = Scheduled(("search", "query", "x"), at="2026-06-01T09:00")
NOON = datetime(2026, 6, 1, 12, 0)


def run(entry: Scheduled, last: datetime | None, now: datetime) -> bool:
    known = {} if last is None else {schedule.name(entry): last}
    return schedule.due([entry], known, now).run == (entry,)


@pytest.mark.parametrize(
    ("entry", "last", "now", "runs"),
    [
        (HOURLY, None, NOON, False),  # never seen: waits for its next time
        (HOURLY, NOON, NOON + timedelta(minutes=59), False),
        (HOURLY, NOON, NOON + timedelta(hours=1), True),
        (HOURLY, NOON, NOON + timedelta(days=3), True),  # asleep for days: once
        (HOURLY, NOON, NOON - timedelta(hours=1), False),  # the clock went back: not again
        (HOURLY, NOON, NOON, False),
        (WEEKLY, datetime(2026, 6, 6), datetime(2026, 6, 7, 2, 59), False),
        (WEEKLY, datetime(2026, 6, 6), datetime(2026, 6, 7, 3, 0), True),
        (ONCE, None, datetime(2026, 6, 1, 8, 59), False),
        (ONCE, None, datetime(2026, 6, 1, 9, 0), True),
        (ONCE, None, datetime(2026, 6, 2, 8, 0), True),  # the machine was off
        (ONCE, None, datetime(2026, 6, 3, 9, 1), False),  # long past
        (ONCE, datetime(2026, 6, 1, 9, 0), datetime(2026, 6, 1, 9, 1), False),
    ],
)
def test_when_an_entry_runs(entry: Scheduled, last: datetime | None, now: datetime, runs: bool) -> None:
    assert run(entry, last, now) is runs


def test_a_day_of_looks_once_a_minute_runs_each_hour_once_though_the_clock_goes_back() -> None:
    last: dict[str, datetime] = {}
    runs = []
    looks = [NOON + timedelta(minutes=n) for n in range(200)]
    looks += [NOON + timedelta(minutes=n) for n in range(100, 300)]  # back by 100 minutes
    for now in looks:
        due = schedule.due([HOURLY, ONCE], last, now)
        last = dict(due.last)
        runs += [(entry, now.hour) for entry in due.run]
    assert [hour for entry, hour in runs if entry is HOURLY] == [13, 14, 15, 16]
    assert [hour for entry, hour in runs if entry is ONCE] == [12]


def test_a_clock_that_was_far_ahead_does_not_silence_an_entry_for_ever() -> None:
    wrong = datetime(2036, 1, 1)
    due = schedule.due([HOURLY], {schedule.name(HOURLY): wrong}, NOON)
    assert due.run == () and due.last == {schedule.name(HOURLY): NOON}
    assert schedule.due([HOURLY], due.last, NOON + timedelta(hours=1)).run == (HOURLY,)


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        (HOURLY, None),
        (ONCE, None),
        (Scheduled(("search", "x"), at="2026-06-01T09:00:00+02:00"), None),
        (Scheduled(("search", "x"), cron="every day"), "`every day` isn't a cron expression"),
        (Scheduled(("search", "x"), at="tomorrow"), "`tomorrow` isn't a time such as 2026-12-24T18:00"),
        (Scheduled(("daemon", "stop"), at="2026-06-01"), "`onebrain daemon stop` isn't something the daemon runs"),
        (Scheduled(("search", "model", "prepare"), at="2026-06-01"), "isn't something the daemon runs"),
    ],
)
def test_what_can_not_be_carried_out_is_said(entry: Scheduled, problem: str | None) -> None:
    found = schedule.problem_of(entry)
    assert found is None if problem is None else found is not None and problem in found


@pytest.mark.parametrize(
    ("argv", "question"),
    [
        (("search", "--", "status"), True),
        (("search", "query", "x"), True),
        (("search", "why did we?"), True),
        (("recall", "x"), True),
        (("cards", "search", "x"), True),
        (("search", "reindex"), False),
        (("search", "--quiet", "reindex"), False),
        (("search", "status"), False),
        (("memory", "add", "x"), False),
    ],
)
def test_what_is_a_question(argv: tuple[str, ...], question: bool) -> None:
    assert schedule.is_question(argv) is question


def test_a_question_is_answered_in_markdown_unless_it_says_otherwise() -> None:
    assert schedule.as_markdown(("search", "--", "x")) == ("search", "--format", "markdown", "--", "x")
    assert schedule.as_markdown(("search", "query", "x")) == ("search", "query", "x", "--format", "markdown")
    assert schedule.as_markdown(("search", "x", "--json")) == ("search", "x", "--json")


def test_the_log_of_a_day_as_the_original_writes_it(tmp_path: Path) -> None:
    path = schedule.append(tmp_path, "07-logs", ("search", "--", "what changed?"), "📌 Nothing.\n", datetime(2026, 6, 1, 9, 0))
    schedule.append(tmp_path, "07-logs", ("search", "--", "what changed?"), "📌 Something.", datetime(2026, 6, 1, 18, 30))
    assert path == tmp_path / "07-logs/log/2026/06/2026-06-01-search.md"
    assert path.read_text(encoding="utf-8") == (
        "---\n"
        "tags: [audit-log, search]\n"
        "skill: search\n"
        "date: 2026-06-01\n"
        "---\n"
        "\n"
        "## Run 09:00\n"
        "\n"
        '`onebrain search -- "what changed?"`\n'
        "\n"
        "📌 Nothing.\n"
        "\n"
        "## Run 18:30\n"
        "\n"
        '`onebrain search -- "what changed?"`\n'
        "\n"
        "📌 Something.\n"
    )
    assert [p.name for p in path.parent.iterdir()] == ["2026-06-01-search.md"]


def test_a_log_that_others_have_written_in_stays_as_it_is_but_for_the_answer(tmp_path: Path) -> None:
    path = schedule.append(tmp_path, "07-logs", ("search", "x"), "one", NOON)
    path.write_bytes(path.read_bytes() + "\r\ncafé\r\n".encode("latin-1"))
    path.chmod(0o600)
    before = path.read_bytes()
    schedule.append(tmp_path, "07-logs", ("search", "x"), "two", NOON)
    after = path.read_bytes()
    assert after.startswith(before.rstrip()) and after.endswith(b"\n\ntwo\n")
    assert os.name == "nt" or path.stat().st_mode & 0o777 == 0o600


def test_a_log_never_leaves_the_vault(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    with pytest.raises(StorageFull, match="lies outside"):
        schedule.append(tmp_path / "vault", "../elsewhere", ("search", "x"), "y", NOON)
    assert not (tmp_path / "elsewhere").exists()

"""When the entries of `schedule:` are due, and what is written down of a scheduled question. Pure but for `append`.

Wall clocks jump: back at the end of summer time or when a battery was empty, ahead when a laptop wakes. An entry runs once for each
time that has come, once in all for several it missed while nobody was awake, and never again because the clock went back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path

from croniter import croniter

from onebrain.config import Scheduled
from onebrain.daemon import client
from onebrain.disk import replace_file
from onebrain.errors import NoteUnreadable

LATE = timedelta(days=1)  # an `at` missed by more than this is history, not a reminder
CLOCK_WAS_WRONG = timedelta(days=1)  # further back than this the last run was noted under a wrong clock
QUESTIONS = frozenset({"search", "recall", "cards"})
NOT_QUESTIONS = frozenset({"reindex", "status", "get", "model"})


@dataclass(frozen=True, slots=True)
class Due:
    """Entries to run now, and when each entry was last dealt with, to be remembered."""

    run: tuple[Scheduled, ...]
    last: Mapping[str, datetime]


def name(entry: Scheduled) -> str:
    """What an entry is remembered by: itself. An entry that was edited is a new one."""
    return f"{entry.cron or entry.at} {' '.join(entry.argv)}"


def due(entries: Sequence[Scheduled], last: Mapping[str, datetime], now: datetime) -> Due:
    """`now` is local time without a zone, as people write schedules. An entry never seen before waits for its next time."""
    run: list[Scheduled] = []
    kept: dict[str, datetime] = {}
    for entry in entries:
        known = last.get(name(entry))
        if known is not None and known - now > CLOCK_WAS_WRONG:
            known = None
        kept[name(entry)] = max(known or now, now)
        if entry.at is not None:
            moment = moment_of(entry.at)
            kept[name(entry)] = known or datetime.min
            if (known is None or known < moment) and moment <= now:
                kept[name(entry)] = now
                if now - moment <= LATE:
                    run.append(entry)
        elif entry.cron is not None and known is not None and known < now and next_time(entry.cron, known) <= now:
            run.append(entry)
    return Due(tuple(run), kept)


def next_time(cron: str, after: datetime) -> datetime:
    moment = croniter(cron, after).get_next(datetime)
    assert isinstance(moment, datetime)
    return moment


def moment_of(at: str) -> datetime:
    """`at` as local time without a zone."""
    moment = datetime.fromisoformat(at.strip())
    return moment.astimezone().replace(tzinfo=None) if moment.tzinfo else moment


def problem_of(entry: Scheduled) -> str | None:
    """Why an entry can't be carried out, None when it can."""
    if client.first_word(entry.argv) not in client.ANSWERED_BY_DAEMON:
        return f"`onebrain {' '.join(entry.argv)}` isn't something the daemon runs: it takes `search reindex` and questions"
    try:
        if entry.cron is not None:
            croniter(entry.cron)
        elif entry.at is not None:
            moment_of(entry.at)
    except ValueError:
        return f"`{entry.cron or entry.at}` isn't a {'cron expression' if entry.cron else 'time such as 2026-12-24T18:00'}"
    return None


def is_question(argv: Sequence[str]) -> bool:
    """Whether an entry asks something, so that its answer is worth keeping. What follows `--` is always a question."""
    words = client.words(argv)
    return bool(words) and words[0] in QUESTIONS and not NOT_QUESTIONS & set(words[1:])


def as_markdown(argv: Sequence[str]) -> tuple[str, ...]:
    """A question with its answer asked for in Markdown, unless it names a format itself."""
    if {"--format", "--json"} & set(argv):
        return tuple(argv)
    end = list(argv).index("--") if "--" in argv else len(argv)
    return (*argv[:end], "--format", "markdown", *argv[end:])


def log_path(logs: str, day: date) -> str:
    """Vault-relative place of the day's log of scheduled questions."""
    return f"{logs}/log/{day:%Y}/{day:%m}/{day:%Y-%m-%d}-search.md"


def logged(before: str | None, argv: Sequence[str], answer: str, now: datetime) -> str:
    """The log with one more run; `before` None: the day's first."""
    head = before if before else f"---\ntags: [audit-log, search]\nskill: search\ndate: {now:%Y-%m-%d}\n---\n"
    command = " ".join(word if word and " " not in word and '"' not in word else _quoted(word) for word in argv)
    return f"{head.rstrip()}\n\n## Run {now:%H:%M}\n\n`onebrain {command}`\n\n{answer.strip()}\n"


def _quoted(word: str) -> str:
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


def append(vault: Path, logs: str, argv: Sequence[str], answer: str, now: datetime) -> Path:
    """Add an answer to the day's log, atomically: a reader (or a sync tool) sees the old file or the new one."""
    path = vault / log_path(logs, now.date())
    try:
        before = path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        before = None
    except OSError as refused:
        raise NoteUnreadable(f"{path} can't be read, so the answer isn't added: {refused.strerror or refused}.") from refused
    replace_file(path, logged(before, argv, answer, now), within=vault)
    return path

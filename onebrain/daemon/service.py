"""The life of a daemon around one Brain: who starts when, who looks after what, and in which order everything ends.

    claim (the caller's: an open Brain owns its index) → socket → watcher → writer → first look at the whole vault
    stop: server (no new questions, running ones finish) → watcher → writer drains → the caller closes the Brain, which frees the lock

Losing an event is allowed, staying wrong is not: the whole vault is looked at after the start, after dropped events, after sleep, when
the vault comes back, and every few minutes.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from io import StringIO
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Protocol, TextIO

from onebrain import __version__
from onebrain.config import Config, Scheduled
from onebrain.daemon import schedule, wire
from onebrain.daemon.inbox import Inbox
from onebrain.daemon.schedule import next_time
from onebrain.daemon.server import Call, Newer, Run, Server
from onebrain.daemon.watcher import Watcher
from onebrain.daemon.writer import Engine, Writer
from onebrain.disk import replace_file
from onebrain.errors import OneBrainError, StorageFull
from onebrain.models import heap

log = logging.getLogger(__name__)

TICK = 1.0
FRESH_SECONDS = 0.3  # how long a question waits for what was saved just before it
AT_ONCE = max(2, min(8, os.cpu_count() or 2))  # questions answered side by side; more only makes all of them late
SLEPT = 2.0  # a difference of the clocks beyond this was sleep
STALLED = 30.0
IDLE_MB = 150.0  # an idle daemon that is bigger starts afresh: onnxruntime and Chroma can be unloaded, their libraries can't
UNWATCHED_SECONDS = 60.0  # how often a vault is looked at that can't be watched


class Brain(Engine, Protocol):
    def unload(self) -> None:
        """Let go of models and engines; they come back when needed."""
        ...


class Ending(StrEnum):
    STOP = "stop"
    RESTART = "restart"  # the configuration changed, or a newer release takes over


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a daemon ended; `executable` is the interpreter to go on with."""

    ending: Ending
    why: str
    executable: str = sys.executable


@dataclass(frozen=True, slots=True)
class Clocks:
    """One look at all clocks: `monotonic` stands still while the machine sleeps (Linux, macOS), `boot` doesn't where there is one."""

    monotonic: float
    boot: float
    wall: datetime

    @staticmethod
    def now() -> Clocks:
        boot = time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.time()
        return Clocks(time.monotonic(), boot, datetime.now())


def slept(before: Clocks, after: Clocks) -> bool:
    """Whether the machine, or this process, stood still between two looks that should be a second apart."""
    ran = after.monotonic - before.monotonic
    return after.boot - before.boot - ran > SLEPT or ran > STALLED


@dataclass
class Service:
    """`run` carries out a command line with the Brain; `reload` reads the configuration again."""

    config: Config
    brain: Brain
    run: Run
    names: tuple[Path, ...]
    reload: Callable[[], Config] | None = None
    clocks: Callable[[], Clocks] = Clocks.now
    tick: float = TICK
    outcome: Outcome | None = None
    notices: dict[str, str] = field(default_factory=dict)
    _wake: SimpleQueue[None] = field(default_factory=SimpleQueue)  # an Event would deadlock: signal handlers run in the thread that waits
    _loaded: bool = True
    _used: float = 0.0

    def __post_init__(self) -> None:
        now = self.clocks()
        self._began, self._before, self._used = now, now, now.monotonic
        self._ask_slots = threading.BoundedSemaphore(AT_ONCE)
        self._questions = 0
        settings = self.config.daemon
        self.watcher = Watcher(self.config.vault, self._put, self._lost)
        self.writer = Writer(
            self.brain,
            Inbox(quiet=settings.quiet_ms / 1000, cap=settings.cap_ms / 1000),
            auto=self.config.search.embed.auto,
            there=self._can_look,
        )
        self.server = Server(
            run_dir=self.config.data_dir / "run",
            names=self.names,
            run=self._command,
            controls={
                "ping": lambda: {"pid": os.getpid(), "version": __version__},
                "status": self.status,
                "stop": lambda: self.stop("asked to stop"),
                "pause": self._pause,
                "resume": self._resume,
            },
            newer=self._make_room,
        )
        self._config_seen = _signature(self.config.file)
        self._models_seen = _models(self.config.data_dir / "models")
        self._schedule_file = self.config.data_dir / "run" / f"{wire.key(str(self.config.vault))}.schedule.json"
        self._last_runs = _read_runs(self._schedule_file)
        self._job: threading.Thread | None = None
        self._check_schedules()
        self._embed_due = self._next_embed(now.wall)

    def _check_schedules(self) -> None:
        """An entry that can't be carried out is named and left out: the others and the index still count."""
        problems = {entry: schedule.problem_of(entry) for entry in self.config.schedule}
        self._entries = tuple(entry for entry, problem in problems.items() if problem is None)
        self._embed_cron = self.config.search.embed.schedule
        if self._embed_cron and (bad := schedule.problem_of(Scheduled(("search", "reindex"), cron=self._embed_cron))):
            self.notices["search.embed.schedule"], self._embed_cron = f"search.embed.schedule: {bad}", None
        for entry, problem in problems.items():
            if problem is not None:
                self.notices[f"schedule {schedule.name(entry)}"] = f"schedule: {problem}"

    # life

    def serve(self) -> Outcome:
        """Run until told to stop. The Brain is open before and closed after, by the caller."""
        self.server.start()
        try:
            self.writer.start()
            self._watch("the daemon has started")
            while self.outcome is None:
                self._look_after()
                with contextlib.suppress(Empty):
                    self._wake.get(timeout=self.tick)
        finally:
            log.info("stopping: %s", self.outcome.why if self.outcome else "a fault")
            self.server.stop()
            self.watcher.stop()
            self.writer.stop()
        return self.outcome

    def stop(self, why: str) -> dict[str, Any]:
        return self._end(Outcome(Ending.STOP, why))

    def _make_room(self, newer: Newer) -> None:
        self._end(Outcome(Ending.RESTART, f"release {newer.version} takes over", newer.executable))

    def _end(self, outcome: Outcome) -> dict[str, Any]:
        if self.outcome is None:
            self.outcome = outcome
        self._wake.put(None)
        return {"pid": os.getpid()}

    # what happens to the vault

    def _put(self, path: str) -> None:
        self.writer.put(path)

    def _lost(self, why: str) -> None:
        self.writer.put_all(why)

    def _watch(self, why: str) -> None:
        """Watch from now on, and look at everything once: what happened before nobody saw."""
        self.watcher.stop()
        if self.watcher.start():
            self.notices.pop("watch", None)
        else:
            self.notices["watch"] = f"{self.watcher.problem}; looking every {UNWATCHED_SECONDS:.0f} s instead"
        self.writer.put_all(why)
        self.writer.retry()

    def _can_look(self) -> bool:
        """Whether the directory under the vault's name is the one we know. Another one, or none, tells nothing about the notes."""
        return self.watcher.same_vault()

    def _lost_sight(self) -> bool:
        """Whether there is a vault to watch that we don't watch, though the system could."""
        watcher = self.watcher
        return watcher.there() and not (watcher.same_vault() if watcher.problem else watcher.still_valid())

    # questions

    def _command(self, call: Call, out: TextIO, err: TextIO) -> int:
        self._use()
        try:
            return self.run(call, out, err)
        finally:
            self._use()

    def catch_up(self) -> str | None:
        """Let the words of what was saved just now be indexed first; why an answer may still miss something, None when it doesn't."""
        if self.writer.catch_up(FRESH_SECONDS):
            return None
        if self.writer.problem is not None:
            return self.writer.problem
        done = self.writer.progress
        if done.doing == "words" and done.total:
            return f"{done.done} of {done.total} changed notes are indexed so far; the rest is still being read."
        return "some changed notes are still being read."

    @contextlib.contextmanager
    def asking(self) -> Iterator[None]:
        """A question's turn: only so many at once, and embedding stands still meanwhile."""
        self._use()
        with self._ask_slots, self.writer.asking():
            self._questions += 1
            yield
        self._use()

    def _use(self) -> None:
        self._used = self.clocks().monotonic
        self._loaded = True

    # what has to be looked after, once a second

    def _look_after(self) -> None:
        now = self.clocks()
        if slept(self._before, now):
            self._watch("the machine slept")
        elif self._lost_sight():
            self._watch("the vault came back, or another one is mounted in its place")
        self._before = now
        self._periodic(now)
        self._configuration()
        self._idle(now)
        self._scheduled(now)

    def _periodic(self, now: Clocks) -> None:
        every = UNWATCHED_SECONDS if self.watcher.problem else self.config.daemon.rescan_minutes * 60
        last = self.writer.last_full
        if last is not None and now.monotonic - last >= every and self.writer.progress.doing is None:
            self.writer.put_all("it was time for a look at everything")
        if self._embed_due is not None and now.wall >= self._embed_due:
            self._embed_due = self._next_embed(now.wall)
            self.writer.put_all("search.embed.schedule")
            self.writer.embed()

    def _next_embed(self, after: datetime) -> datetime | None:
        return next_time(self._embed_cron, after) if self._embed_cron else None

    def _configuration(self) -> None:
        # `search model prepare` and `remove` run in processes of their own
        if _models(self.config.data_dir / "models") != self._models_seen:
            self._end(Outcome(Ending.RESTART, "a model was prepared or removed"))
            return
        seen = _signature(self.config.file)
        if self.reload is None or seen == self._config_seen:
            return
        self._config_seen = seen
        try:
            fresh = self.reload()
        except OneBrainError as broken:
            self.notices["config"] = f"going on with the former configuration: {broken.message}"
            log.warning("%s", self.notices["config"])
            return
        self.notices.pop("config", None)
        if fresh != self.config:
            self._end(Outcome(Ending.RESTART, "the configuration changed"))

    def _idle(self, now: Clocks) -> None:
        quiet_since = max(self._used, self.writer.last_worked)
        if self._loaded and self.writer.idle and now.monotonic - quiet_since >= self.config.daemon.idle_minutes * 60:
            self.brain.unload()
            self._loaded = False
            heap.release()
            if (memory_mb() or 0.0) > IDLE_MB and not self.writer.paused:
                self._end(Outcome(Ending.RESTART, "idle, and libraries keep memory that only a fresh process gives back"))
        elif self.writer.progress.doing is not None:
            self._loaded = True

    def _scheduled(self, now: Clocks) -> None:
        if not self._entries or (self._job is not None and self._job.is_alive()):
            return
        found = schedule.due(self._entries, self._last_runs, now.wall.replace(microsecond=0))
        if found.run or found.last.keys() != self._last_runs.keys():
            _write_runs(self._schedule_file, found.last)  # before they run: what kills the daemon must not kill it again and again
        self._last_runs = found.last
        if found.run:
            self._job = threading.Thread(target=self._run_entries, args=(found.run, now.wall), name="onebrain-schedule", daemon=True)
            self._job.start()

    def _run_entries(self, entries: tuple[Scheduled, ...], now: datetime) -> None:
        for entry in entries:
            if self.outcome is not None:
                return
            try:
                self.run_entry(entry, now)
            except OneBrainError as problem:
                self._entry_failed(entry, problem.message)
            except Exception as fault:  # one entry must not keep the others from running; the log has the place
                log.exception("a scheduled command failed")
                self._entry_failed(entry, f"{type(fault).__name__}: {fault}")

    def run_entry(self, entry: Scheduled, now: datetime) -> None:
        """Carry out one entry; a question's answer goes into the day's log in the vault."""
        question = schedule.is_question(entry.argv)
        argv = schedule.as_markdown(entry.argv) if question else entry.argv
        out, err = StringIO(), StringIO()
        code = self._command(Call(argv, self.config.vault, {"NO_COLOR": "1"}), out, err)
        if code != 0:
            self._entry_failed(entry, err.getvalue().strip().splitlines()[-1] if err.getvalue().strip() else f"exit {code}")
        elif question:
            schedule.append(self.config.vault, self.config.folders.logs, entry.argv, out.getvalue(), now)
        if code == 0:
            self.notices.pop(f"schedule {schedule.name(entry)}", None)

    def _entry_failed(self, entry: Scheduled, why: str) -> None:
        log.warning("scheduled `onebrain %s`: %s", " ".join(entry.argv[:2]), why)
        self.notices[f"schedule {schedule.name(entry)}"] = f"scheduled `onebrain {' '.join(entry.argv)}` failed: {why}"

    # what it says of itself

    def _pause(self) -> dict[str, Any]:
        self.writer.pause()
        return self.status()

    def _resume(self) -> dict[str, Any]:
        self.writer.resume()
        return self.status()

    def status(self) -> dict[str, Any]:
        """As JSON: `state` is starting, words, vectors, paused, held or idle; unknown counts are null."""
        now = self.clocks()
        progress = self.writer.progress
        return {
            "running": True,
            "pid": os.getpid(),
            "version": __version__,
            "vault": str(self.config.vault),
            "since": self._began.wall.isoformat(timespec="seconds"),
            "state": self._state(),
            "pending": {"words": self.writer.unindexed, "vectors": self._unembedded()},
            "progress": {"doing": progress.doing, "done": progress.done, "total": progress.total, "why": progress.why},
            "paused": self.writer.paused,
            "watching": self.watcher.problem is None,
            "loaded": self._loaded,
            "questions": self._questions,
            "memory_mb": memory_mb(),
            "last_full_s": None if self.writer.last_full is None else round(now.monotonic - self.writer.last_full, 1),
            "notices": self._told(),
        }

    def _told(self) -> list[str]:
        writer = self.writer
        return [text for text in (writer.problem, writer.held_back, writer.embedding_problem, *self.notices.values()) if text]

    def _state(self) -> str:
        if self.writer.problem is not None:
            return "held"
        if self.writer.last_full is None:
            return "starting"
        if self.writer.progress.doing is not None:
            return self.writer.progress.doing
        return "paused" if self.writer.paused else "idle"

    def _unembedded(self) -> int | None:
        try:
            return self.brain.pending()
        except OneBrainError:
            return None


def _signature(path: Path | None) -> tuple[int, int, int] | None:
    """Tells one state of a file from another; None while it isn't there."""
    if path is None:
        return None
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _models(folder: Path) -> tuple[tuple[str, int], ...]:
    """The prepared models, in a form that differs when one of them does; what is still being made has a name with a dot."""
    try:
        with os.scandir(folder) as entries:
            return tuple(sorted((entry.name, entry.stat().st_mtime_ns) for entry in entries if entry.is_dir() and entry.name[0] != "."))
    except OSError:
        return ()


def _read_runs(path: Path) -> Mapping[str, datetime]:
    try:
        return {name: datetime.fromisoformat(when) for name, when in json.loads(path.read_text(encoding="utf-8")).items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def _write_runs(path: Path, runs: Mapping[str, datetime]) -> None:
    try:
        replace_file(path, json.dumps({name: when.isoformat() for name, when in runs.items()}))
    except StorageFull as full:
        log.warning("what was run can't be remembered: %s", full.message)


def memory_mb() -> float | None:
    """Resident memory of this process, None where the system doesn't tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return None
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1)


def on_signals(service: Service) -> None:
    """SIGTERM, SIGINT and a closed terminal end the daemon in order; call in the main thread."""
    for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGBREAK"):
        if number := getattr(signal, name, None):
            signal.signal(number, lambda received, _: service.stop(signal.Signals(received).name) and None)

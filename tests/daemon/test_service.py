"""A whole daemon in this process: real socket, real watcher, a Brain whose index is a dictionary."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TextIO

import pytest
from disk_brain import DiskBrain, until

from onebrain import __version__
from onebrain.config import Config, Daemon, Embed, Scheduled, Search
from onebrain.daemon import client, service, watcher, wire
from onebrain.daemon.server import Call
from onebrain.daemon.service import Clocks, Ending, Outcome, Service, slept
from onebrain.errors import BadConfig, ConfigProblem, OneBrainError

START = datetime(2026, 6, 1, 12, 0)


class Life:
    """A service in a thread, with clocks that can be set. `find` asks it as a client would."""

    def __init__(self, config: Config, brain: DiskBrain, reload: Callable[[], Config] | None = None) -> None:
        self.brain, self.config = brain, config
        self.ahead = self.slept = 0.0
        self.wall_ahead = timedelta()
        self.outcome: Outcome | None = None
        names = (config.vault, config.file.parent) if config.file else (config.vault,)
        self.service = Service(config, brain, self._run, names, reload, self._clocks, tick=0.02)
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    def _clocks(self) -> Clocks:
        now = time.monotonic() + self.ahead
        return Clocks(now, now + self.slept, START + self.wall_ahead)

    def _serve(self) -> None:
        self.outcome = self.service.serve()

    def _run(self, call: Call, out: TextIO, err: TextIO) -> int:
        word = call.argv[-1]
        if word == "fail":
            err.write("it failed\n")
            return 1
        self.service.catch_up()
        with self.service.asking():
            found = (path for path, text in self.brain.words.items() if word in text and (self.brain.vault / path).exists())
            out.write(" ".join(sorted(found)))
        return 0

    def find(self, word: str) -> str:
        address = wire.read_address(wire.address_file(str(self.config.data_dir / "run"), str(self.config.vault)))
        assert address is not None
        got: list[bytes] = []
        request = client.command(["search", word], {}, "/")
        assert client.converse(address, request, lambda _, piece: got.append(piece)) == 0
        return b"".join(got).decode()

    def end(self) -> None:
        self.service.stop("the test is over")
        self.thread.join(20)
        assert not self.thread.is_alive()


Begin = Callable[..., Life]


@pytest.fixture
def config(vault: Path, tmp_path: Path) -> Config:
    return Config(vault=vault, file=None, data_dir=tmp_path / "data", search=Search("test"), daemon=Daemon(quiet_ms=50, cap_ms=250))


@pytest.fixture
def begin(config: Config, brain: DiskBrain) -> Iterator[Begin]:
    lives: list[Life] = []

    def start(own: Config = config, reload: Callable[[], Config] | None = None) -> Life:
        life = Life(own, brain, reload)
        lives.append(life)
        assert until(lambda: life.service.writer.last_full is not None)
        return life

    yield start
    for life in lives:
        life.end()


def test_what_is_there_at_the_start_is_found(begin: Begin, vault: Path) -> None:
    (vault / "a.md").write_text("kafka")
    assert begin().find("kafka") == "a.md"


def test_a_note_saved_just_now_is_found_while_the_inbox_is_still_restless(begin: Begin, config: Config, vault: Path) -> None:
    life = begin(replace(config, daemon=Daemon(quiet_ms=30_000, cap_ms=60_000)))
    for n in range(5):
        (vault / "a.md").write_text(f"word{n}")
        assert until(lambda: len(life.service.writer._inbox) > 0)  # what the system takes to tell us: a millisecond
        assert life.find(f"word{n}") == "a.md"


def test_a_deleted_note_is_gone(begin: Begin, vault: Path, brain: DiskBrain) -> None:
    (vault / "a.md").write_text("kafka")
    life = begin()
    (vault / "a.md").unlink()
    assert life.find("kafka") == ""
    assert until(lambda: brain.words == {})


def test_a_folder_moved_out_is_gone_and_its_ghost_stays_away(begin: Begin, vault: Path, tmp_path: Path, brain: DiskBrain) -> None:
    (vault / "sub").mkdir()
    (vault / "sub/a.md").write_text("kafka")
    (vault / "sub/b.md").write_text("kafka")
    begin()
    (vault / "sub").rename(tmp_path / "away")
    assert until(lambda: brain.words == {})
    for n in range(10):
        (tmp_path / "away/ghost.md").write_text(str(n))
        time.sleep(0.02)
    time.sleep(0.4)
    assert brain.words == {}


def test_a_checkout_of_thousands_of_files_is_one_look(begin: Begin, vault: Path, brain: DiskBrain) -> None:
    begin()
    before = len(brain.applied)
    aside = vault.parent / "aside"  # made beside the vault, so that they come in at once on a slow disk too
    for folder in range(20):
        (aside / str(folder)).mkdir(parents=True)
        for n in range(100):
            (aside / f"{folder}/{n}.md").write_text("x")
    for made in aside.iterdir():
        made.rename(vault / made.name)
    assert until(lambda: len(brain.words) == 2000, 15)
    looks = brain.applied[before:]
    assert looks.count(None) <= 2 and sum(len(paths) for paths in looks if paths) <= 1001, [len(p or ()) for p in looks]


def test_random_edits_end_in_what_is_on_the_disk(begin: Begin, vault: Path, brain: DiskBrain) -> None:
    begin()
    names = [f"{n}.md" for n in range(8)]
    for n in range(120):
        one, other = vault / names[n % 8], vault / names[(n * 5 + 3) % 8]
        kind = n % 5
        if kind < 2:
            one.write_text(str(n))
        elif kind == 2 and one.exists():
            one.rename(other)
        elif kind == 3:
            one.unlink(missing_ok=True)
        else:
            (vault / ".tmp").write_text(str(n))
            os.replace(vault / ".tmp", other)
        time.sleep(0.003)
    assert until(lambda: brain.words == brain.disk())
    assert until(lambda: {path: brain.vectors.get(path) for path in brain.words} == brain.words)
    assert brain.most_writers == 1


def test_a_vault_made_again_is_watched_again(begin: Begin, vault: Path, brain: DiskBrain) -> None:
    (vault / "a.md").write_text("1")
    begin()
    shutil.rmtree(vault)
    time.sleep(0.2)
    vault.mkdir()
    (vault / "b.md").write_text("2")
    assert until(lambda: brain.words == {"b.md": "2"})
    assert until(lambda: (vault / "c.md").write_text("3") and "c.md" in brain.words)


def test_an_unmounted_vault_keeps_its_index_and_says_so(begin: Begin, vault: Path, brain: DiskBrain) -> None:
    (vault / "a.md").write_text("1")
    life = begin()
    vault.rename(vault.with_name("unmounted"))
    life.service.writer.put("a.md")
    assert until(lambda: "isn't there" in " ".join(life.service.status()["notices"]))
    assert brain.words == {"a.md": "1"} and life.service.status()["state"] == "held"
    vault.with_name("unmounted").rename(vault)
    assert until(lambda: life.service.status()["state"] == "idle" and life.service.status()["notices"] == [])
    assert brain.words == {"a.md": "1"}


def test_after_sleep_everything_is_looked_at(begin: Begin, brain: DiskBrain) -> None:
    life = begin()
    before = brain.applied.count(None)
    life.slept = 3600.0
    assert until(lambda: brain.applied.count(None) == before + 1)


def test_dropped_events_make_it_look_at_everything(begin: Begin, brain: DiskBrain) -> None:
    life = begin()
    before = brain.applied.count(None)
    life.service._lost("overflow")
    assert until(lambda: brain.applied.count(None) == before + 1)


def test_every_ten_minutes_everything_is_looked_at(begin: Begin, config: Config, brain: DiskBrain) -> None:
    begin(replace(config, daemon=replace(config.daemon, rescan_minutes=0.005)))
    assert until(lambda: brain.applied.count(None) >= 4)


def test_what_can_not_be_watched_is_looked_at_often(begin: Begin, brain: DiskBrain, vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def schedule(self, *_: object, **__: object) -> None:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(watcher, "Observer", Full)
    monkeypatch.setattr(service, "UNWATCHED_SECONDS", 0.1)
    life = begin()
    (vault / "a.md").write_text("1")
    assert until(lambda: brain.words == {"a.md": "1"})
    assert not life.service.status()["watching"]
    told = f"the system can't watch {os.path.realpath(vault)}: No space left on device; looking every 0 s instead"
    assert life.service.status()["notices"] == [told]


def test_an_idle_daemon_that_stays_big_starts_afresh(begin: Begin, config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "memory_mb", lambda: 400.0)
    life = begin(replace(config, daemon=replace(config.daemon, idle_minutes=0.005)))
    life.thread.join(10)
    assert life.outcome is not None and life.outcome.ending is Ending.RESTART and life.outcome.why.startswith("idle")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test process is bigger than a daemon."""
    monkeypatch.setattr(service, "memory_mb", lambda: 60.0)


@pytest.mark.usefixtures("small")
def test_models_are_unloaded_when_idle_and_come_back_with_a_question(begin: Begin, config: Config, brain: DiskBrain) -> None:
    life = begin(replace(config, daemon=replace(config.daemon, idle_minutes=0.005)))
    assert until(lambda: brain.unloaded == 1)
    assert life.service.status()["loaded"] is False
    time.sleep(0.5)
    assert brain.unloaded == 1
    life.find("x")
    assert until(lambda: brain.unloaded == 2)


def test_the_status_of_a_daemon_at_rest(begin: Begin, config: Config, vault: Path) -> None:
    life = begin()
    assert until(lambda: life.service.writer.idle)
    status = life.service.status()
    assert status | {"memory_mb": 0, "last_full_s": 0} == {
        "running": True,
        "pid": os.getpid(),
        "version": __version__,
        "vault": str(vault),
        "since": "2026-06-01T12:00:00",
        "state": "idle",
        "pending": {"words": 0, "vectors": 0},
        "progress": {"doing": None, "done": 0, "total": 0, "why": None},
        "paused": False,
        "watching": True,
        "loaded": True,
        "questions": 0,
        "memory_mb": 0,
        "last_full_s": 0,
        "notices": [],
    }


def test_the_status_of_a_daemon_that_has_looked_at_nothing_yet(config: Config, brain: DiskBrain) -> None:
    status = Service(config, brain, lambda call, out, err: 0, (config.vault,)).status()
    assert status["state"] == "starting" and status["pending"] == {"words": None, "vectors": 0}


def test_pausing_over_the_socket(begin: Begin, config: Config) -> None:
    life = begin()
    address = wire.read_address(str(life.service.server.addresses()[0]))
    assert address is not None
    assert client.control(address, "pause")["paused"] is True
    assert client.control(address, "status")["paused"] is True
    assert client.control(address, "resume")["paused"] is False


def test_two_hundred_questions_at_once(begin: Begin, vault: Path) -> None:
    for n in range(200):
        (vault / f"{n}.md").write_text(f"word{n}.")
    life = begin()
    with ThreadPoolExecutor(200) as pool:
        assert list(pool.map(lambda n: life.find(f"word{n}."), range(200))) == [f"{n}.md" for n in range(200)]
    assert life.service.status()["questions"] == 200


def test_a_stop_over_the_socket_ends_everything(begin: Begin, config: Config) -> None:
    life = begin()
    address = wire.read_address(str(life.service.server.addresses()[0]))
    assert address is not None
    client.control(address, "stop")
    life.thread.join(10)
    assert life.outcome is not None and life.outcome.ending is Ending.STOP
    assert sorted(path.name for path in (config.data_dir / "run").iterdir()) == []
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("onebrain")]


def test_a_newer_release_takes_over(begin: Begin) -> None:
    life = begin()
    address = wire.read_address(str(life.service.server.addresses()[0]))
    assert address is not None
    with pytest.raises(client.Older):
        newer = client.command(["search", "x"], {}, "/") | {"version": "9.0", "executable": "/new/python"}
        client.converse(address, newer, lambda *_: None)
    life.thread.join(10)
    assert life.outcome == Outcome(Ending.RESTART, "release 9.0 takes over", "/new/python")


def test_a_changed_configuration_starts_it_again_a_broken_one_does_not(begin: Begin, config: Config, tmp_path: Path) -> None:
    file = tmp_path / "onebrain.yml"
    file.write_text("a")
    own = replace(config, file=file)
    answer: list[Config | OneBrainError] = [own]

    def reload() -> Config:
        if isinstance(answer[0], OneBrainError):
            raise answer[0]
        return answer[0]

    life = begin(own, reload)
    file.write_text("the same in other words")
    time.sleep(0.2)
    answer[0] = BadConfig(str(file), (ConfigProblem(1, "tab"),))
    file.write_text("broken")
    assert until(lambda: "going on with the former configuration" in " ".join(life.service.status()["notices"]))
    assert life.thread.is_alive()
    answer[0] = replace(own, search=replace(own.search, exclude=("private",)))
    file.write_text("exclude")
    life.thread.join(10)
    assert life.outcome is not None and (life.outcome.ending, life.outcome.why) == (Ending.RESTART, "the configuration changed")


def test_a_prepared_model_is_taken_up(begin: Begin, config: Config) -> None:
    (config.data_dir / "models" / ".making-e5").mkdir(parents=True)
    life = begin()
    (config.data_dir / "models" / ".lock").write_text("")
    time.sleep(0.2)
    assert life.thread.is_alive()
    (config.data_dir / "models" / ".making-e5").rename(config.data_dir / "models" / "e5")
    life.thread.join(10)
    assert life.outcome is not None and (life.outcome.ending, life.outcome.why) == (Ending.RESTART, "a model was prepared or removed")


def test_a_scheduled_question_is_asked_and_its_answer_kept(begin: Begin, config: Config, vault: Path) -> None:
    (vault / "a.md").write_text("kafka")
    hourly = Scheduled(("search", "--", "kafka"), cron="0 * * * *")
    life = begin(replace(config, schedule=(hourly,)))
    time.sleep(0.1)
    log = vault / "07-logs/log/2026/06/2026-06-01-search.md"
    assert not log.exists()
    life.wall_ahead = timedelta(hours=1, minutes=1)
    assert until(log.exists)
    assert log.read_text().endswith("## Run 13:01\n\n`onebrain search -- kafka`\n\na.md\n")
    life.wall_ahead = timedelta(minutes=30)  # the clock goes back, and passes the hour again
    time.sleep(0.1)
    life.wall_ahead = timedelta(hours=1, minutes=2)
    time.sleep(0.2)
    assert log.read_text().count("## Run") == 1


def test_what_was_run_is_remembered_over_a_restart(begin: Begin, config: Config, vault: Path) -> None:
    own = replace(config, schedule=(Scheduled(("search", "--", "x"), at="2026-06-01T12:00"),))
    log = vault / "07-logs/log/2026/06/2026-06-01-search.md"
    first = begin(own)
    assert until(log.exists)
    first.end()
    begin(own)
    time.sleep(0.3)
    assert log.read_text().count("## Run") == 1


def test_a_scheduled_command_that_fails_or_can_not_be_is_said(begin: Begin, config: Config) -> None:
    entries = (
        Scheduled(("search", "--", "fail"), at="2026-06-01T12:00"),
        Scheduled(("daemon", "stop"), cron="* * * * *"),
        Scheduled(("search", "reindex"), cron="sometimes"),
    )
    life = begin(replace(config, schedule=entries, search=replace(config.search, embed=Embed(schedule="never"))))
    assert until(lambda: len(life.service.status()["notices"]) == 4)
    told = "\n".join(sorted(life.service.status()["notices"]))
    assert "scheduled `onebrain search -- fail` failed: it failed" in told
    assert "isn't something the daemon runs" in told
    assert "`sometimes` isn't a cron expression" in told
    assert "search.embed.schedule: `never` isn't a cron expression" in told


def test_the_cron_of_embedding_looks_at_everything_and_embeds(begin: Begin, config: Config, brain: DiskBrain, vault: Path) -> None:
    (vault / "a.md").write_text("1")
    life = begin(replace(config, search=replace(config.search, embed=Embed(auto=False, schedule="0 3 * * *"))))
    time.sleep(0.2)
    assert brain.vectors == {}
    life.wall_ahead = timedelta(hours=16)
    assert until(lambda: brain.vectors == {"a.md": "1"})


@pytest.mark.parametrize(
    ("later", "asleep"),
    [
        (Clocks(101.0, 201.0, START), False),
        (Clocks(101.0, 3801.0, START), True),  # an hour of sleep: only the boot clock went on
        (Clocks(160.0, 260.0, START), True),  # the process was stopped for a minute
        (Clocks(101.0, 201.0, START - timedelta(days=400)), False),  # the wall clock was set: no matter
        (Clocks(101.0, 150.0, START), False),
    ],
)
def test_what_counts_as_sleep(later: Clocks, asleep: bool) -> None:
    assert slept(Clocks(100.0, 200.0, START), later) is asleep

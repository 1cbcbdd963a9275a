"""Real daemons in processes of their own, treated badly. Each test says what it proves; the index must equal the disk afterwards."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from disk_brain import until
from index_rig import equal
from real_daemon import WORDS, Home, command_line, open_brain

from onebrain import __version__
from onebrain.daemon import client, process, wire

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="uses signals")


def compare(home: Home) -> None:
    """With no daemon running: catch up as the next command does, then manifest, Whoosh, Chroma and disk are equal, vectors found."""
    with open_brain(home.config) as brain:
        brain.reindex()
        assert brain._index.indexer is not None
        equal(brain._index.indexer)


def edit(home: Home, chance: random.Random, turn: int) -> None:
    """One thing that people, editors and sync tools do to a vault."""
    notes = sorted(home.vault.glob("*.md"))
    one, other = chance.choice(notes), home.vault / f"m{chance.randrange(20)}.md"
    kind = chance.random()
    text = f"# Turn {turn}\n\nword{chance.randrange(50)} {chance.random()}\n\n## Part\n\nmore of {turn}\n"
    if kind < 0.4:
        one.write_text(text)
    elif kind < 0.6:
        other.write_text(text)
    elif kind < 0.75:
        outside = home.vault.parent / "staged"
        outside.write_text(text)
        os.replace(outside, one)
    elif kind < 0.9:
        one.rename(other)
    elif len(notes) > 6:
        one.unlink()


def kill_while_editing(home: Home, seed: int) -> None:
    chance = random.Random(seed)
    child = home.daemon()
    stop = threading.Event()

    def edits() -> None:
        turn = 0
        while not stop.wait(chance.random() * 0.03):
            edit(home, chance, turn)
            turn += 1

    editing = threading.Thread(target=edits)
    editing.start()
    try:
        time.sleep(random.Random(-seed).random() * 1.5)
        child.kill()
        child.wait()
    finally:
        stop.set()
        editing.join()


def test_a_daemon_killed_during_edits_leaves_nothing_lost_or_doubled(home: Home) -> None:
    """kill -9 at a random moment; the next daemon finds the dead one's socket, heals, and equals the disk."""
    kill_while_editing(home, 1)
    child = home.daemon()
    assert until(home.settled, 20)
    child.terminate()
    assert child.wait(20) == 0
    compare(home)


@pytest.mark.slow
def test_a_daemon_killed_at_ten_moments_of_one_index(home: Home) -> None:
    for seed in range(10, 20):
        kill_while_editing(home, seed)
    compare(home)


def test_of_a_vault_that_is_gone_nobody_says_that_it_is_up_to_date(home: Home) -> None:
    with open_brain(home.config) as brain:
        brain.reindex()
        assert brain.status().pending_words == 0
        home.vault.rename(home.vault.with_name("unmounted"))
        gone = brain.status()
    assert (gone.pending_words, gone.doc_count) == (None, 12)


def test_a_daemon_that_lacks_a_key_says_so(home: Home) -> None:
    """A session manager knows nothing of what a shell exports, so a key that works on the command line may be missing in the daemon."""
    keyed = "search:\n  hyde: {writer: off}\n  synthesis: {url: 'http://127.0.0.1:9/v1', api_key_env: NO_SUCH_KEY}\n"
    (home.vault / "onebrain.yml").write_text(keyed)
    home.daemon()
    state = home.told("status")
    expected = "NO_SUCH_KEY (search.synthesis.api_key_env) isn't set where the daemon runs: see docs/language-model.md, Keys."
    assert state is not None and state["notices"] == [expected]
    found = json.loads(home.command("doctor", "--json", NO_SUCH_KEY="known here").stdout)["data"]["checks"]
    assert [one["message"] for one in found if one["check"] == "daemon" and one["health"] == "warn"] == [expected]


def test_two_daemons_on_one_vault_are_impossible(home: Home) -> None:
    """The second one ends with 77 and names the first; so does every other attempt to own the index."""
    first = home.daemon()
    again = home.command("daemon", "run")
    assert again.returncode == 77
    assert f"A daemon already runs for {home.vault} (process {first.pid})." in again.stderr
    assert home.told("ping") == {"pid": first.pid, "version": __version__}


def test_two_starts_at_once_end_with_one_daemon(home: Home) -> None:
    """Both succeed and name the same process; a third start says it already runs; a stop leaves nobody."""
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda _: home.command("daemon", "start", "--json"), range(2)))
    assert [done.returncode for done in both] == [0, 0], [done.stderr for done in both]
    pids = {json.loads(done.stdout)["data"]["pid"] for done in both}
    assert home.told("ping") is not None
    assert pids == home.strangers
    third = json.loads(home.command("daemon", "start", "--json").stdout)["data"]
    assert third["already_running"] is True and third["pid"] in pids
    stopped = home.command("daemon", "stop", "--json")
    assert json.loads(stopped.stdout)["data"] == {"stopped": True, "pid": third["pid"]}
    assert until(lambda: str(home.vault) not in command_line(third["pid"]))
    assert list((home.data / "run").iterdir()) == []


@pytest.mark.slow
def test_a_started_daemon_has_a_session_of_its_own(home: Home) -> None:
    """Closing the terminal, or Ctrl-C in it, doesn't reach it."""
    done = home.command("daemon", "start", "--json")
    pid = json.loads(done.stdout)["data"]["pid"]
    home.strangers.add(pid)
    assert os.getsid(pid) == pid != os.getsid(0)
    assert home.command("daemon", "stop").returncode == 0


def test_what_a_crash_leaves_is_no_daemon(home: Home) -> None:
    """A stale socket, and an address with the number of a process that lives: a command answers by itself, a start works."""
    child = home.daemon()
    child.kill()
    child.wait()
    file = Path(wire.address_file(str(home.data / "run"), str(home.vault)))
    stale = json.loads(file.read_text())
    assert Path(stale["unix"]).exists()
    file.write_text(json.dumps(stale | {"pid": os.getpid()}))
    answer = home.command("search", "search", "dragon", "--json")
    assert [hit["doc_path"] for hit in json.loads(answer.stdout)["data"]["hits"]] == ["n3.md"]
    added = home.command("memory", "add", "-", piped="The shed is locked.\n")
    assert added.returncode == 0, added.stderr
    assert "The shed is locked." in next((home.vault / "05-agent/memory").iterdir()).read_text()
    status = json.loads(home.command("daemon", "status", "--json").stdout)
    assert status["ok"] and status["data"]["running"] is False
    assert home.daemon().pid != os.getpid()
    assert home.find("dragon") == ["n3.md"]


SLOW = pytest.mark.slow


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=SLOW), pytest.param(signal.SIGHUP, marks=SLOW)])
def test_every_polite_signal_ends_it_in_order(home: Home, number: signal.Signals) -> None:
    """What was saved just before is indexed, the socket is gone, the exit code is 0."""
    child = home.daemon()
    assert until(home.settled, 20)
    home.write("last.md", "# Last\n\nlastword\n")
    time.sleep(0.1)
    child.send_signal(number)
    assert child.wait(20) == 0
    assert list((home.data / "run").iterdir()) == []
    with open_brain(home.config) as brain, brain.library() as library:
        assert "last.md" in library.notes()


@pytest.mark.slow
def test_a_frozen_owner_is_read_beside(home: Home) -> None:
    """A daemon that owns the index and doesn't answer: the command answers from what is indexed, says so, and exits 0."""
    child = home.daemon()
    assert until(home.settled, 20)
    child.send_signal(signal.SIGSTOP)
    try:
        answer = home.command("search", "search", "dragon", "--json")
        stop = home.command("daemon", "stop")
    finally:
        child.send_signal(signal.SIGCONT)
    assert answer.returncode == 0, answer.stderr
    told = json.loads(answer.stdout)
    assert [hit["doc_path"] for hit in told["data"]["hits"]] == ["n3.md"]
    assert [warning["code"] for warning in told["warnings"]] == ["W_ENGINE_BUSY"]
    assert stop.returncode == 77 and str(child.pid) in stop.stderr


@pytest.mark.slow
def test_a_newer_release_takes_over_and_answers(home: Home) -> None:
    """The old daemon lets running questions end and becomes the new one, under the same number and with the socket in the same place."""
    done = json.loads(home.command("daemon", "start", "--json").stdout)["data"]
    before = json.loads(home.command("daemon", "status", "--json").stdout)["data"]
    address = process.address_of(home.config)
    assert address is not None
    newer = client.command(["search", "status"], home.env, str(home.vault)) | {"version": "999.0"}
    with pytest.raises(client.Older):
        client.converse(address, newer, lambda *_: None)
    time.sleep(0.2)
    assert until(lambda: (home.told("status") or {"since": before["since"]})["since"] != before["since"], 30)
    after = home.told("status")
    assert after is not None and after["pid"] == done["pid"]
    assert home.find("dragon") == ["n3.md"]
    assert home.command("daemon", "stop").returncode == 0


@pytest.mark.slow
def test_a_changed_configuration_is_taken_over(home: Home) -> None:
    home.write("private/a.md", "# A\n\nquartz\n")
    assert home.command("daemon", "start").returncode == 0
    assert until(lambda: home.find("quartz") == ["private/a.md"])
    (home.vault / "onebrain.yml").write_text("search:\n  exclude: [private]\n  hyde:\n    writer: off\n")
    assert until(lambda: home.find_if_there("quartz") == [], 30)
    assert home.told("ping") is not None
    assert home.command("daemon", "stop").returncode == 0


def test_a_broken_configuration_is_said_at_the_start(home: Home) -> None:
    (home.vault / "onebrain.yml").write_text("search: [\n")
    done = home.command("daemon", "start")
    assert done.returncode == 65 and "onebrain.yml" in done.stderr


def test_a_data_directory_that_can_not_be_written_is_said(home: Home) -> None:
    """The daemon can't start, says where and what to do, and nothing is left running."""
    home.data.write_text("a file where a directory should be")
    done = home.command("daemon", "run")
    assert done.returncode == 1
    assert str(home.data) in done.stderr and "Traceback" not in done.stderr


def test_garbage_and_hanging_clients_of_a_real_daemon(home: Home) -> None:
    child = home.daemon()
    address = process.address_of(home.config)
    assert address is not None
    rude = []
    for sent in (b"", b"\xff" * 64, b"GET /", b"\x00\x00\x00\x10{", wire.packed({"protocol": 1, "control": "stop!"})):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(address["unix"])
        connection.sendall(sent)
        rude.append(connection)
    assert home.find("dragon") == ["n3.md"]
    for connection in rude:
        connection.close()
    assert child.poll() is None


@pytest.mark.slow
def test_two_hundred_questions_at_once_to_a_real_daemon(home: Home) -> None:
    """All are answered, each with its own answer, none twice."""
    home.daemon()
    assert until(home.settled, 20)
    with ThreadPoolExecutor(200) as pool:
        found = list(pool.map(lambda n: home.find(WORDS[n % 12]), range(200)))
    assert found == [[f"n{n % 12}.md"] for n in range(200)]


def test_what_was_saved_is_found_at_once(home: Home) -> None:
    """Never wrong: new, changed, renamed and deleted notes, each asked for in the same moment."""
    home.daemon()
    assert until(home.settled, 20)
    steps: list[tuple[Callable[[], object], str, list[str]]] = [
        (lambda: home.write("new.md", "# New\n\npumpernickel\n"), "pumpernickel", ["new.md"]),
        (lambda: home.write("new.md", "# New\n\nzeppelin\n"), "pumpernickel", []),
        (lambda: None, "zeppelin", ["new.md"]),
        (lambda: (home.vault / "new.md").rename(home.vault / "New.md"), "zeppelin", ["New.md"]),
        (lambda: (home.vault / "New.md").unlink(), "zeppelin", []),
    ]
    for step, word, expected in steps:
        step()
        time.sleep(0.03)  # the system tells of an event within a millisecond or two; a loaded machine takes longer
        assert home.find(word) == expected, word


@pytest.mark.slow
def test_a_checkout_of_five_thousand_files(home: Home) -> None:
    home.daemon()
    assert until(home.settled, 20)
    for n in range(5000):
        home.write(f"many/{n % 50}/c{n}.md", f"# C{n}\n\nchecked out{' with the quartz' if n == 4999 else ''}\n")
    assert until(lambda: home.find("quartz") == ["many/49/c4999.md"], 60)
    assert until(lambda: (home.told("status") or {"pending": {"words": None}})["pending"]["words"] == 0, 60)

"""The socket, spoken to as clients do and as they should not."""

from __future__ import annotations

import io
import json
import os
import socket
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TextIO

import pytest
from disk_brain import until

from onebrain import __version__
from onebrain.daemon import client, server, wire
from onebrain.daemon.server import Call, Newer, Server

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="this system has no Unix sockets")
Start = Callable[..., Server]


def echo(call: Call, out: TextIO, err: TextIO) -> int:
    out.write(f"{' '.join(call.argv[1:])} in {call.cwd.name} at {call.width}\n")
    err.write(f"tty {call.out_tty}/{out.isatty()}\n")
    return 3


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    running: list[Server] = []

    def begin(run: server.Run = echo, **more: Any) -> Server:
        settings: dict[str, Any] = {
            "run_dir": tmp_path / "run",
            "names": (tmp_path,),
            "controls": {"ping": lambda: {"pid": 7}},
            "newer": lambda _: None,
        }
        one = Server(run=run, **(settings | more))
        one.start()
        running.append(one)
        return one

    yield begin
    for one in running:
        one.stop()


def address(one: Server) -> dict[str, Any]:
    found = wire.read_address(str(one.addresses()[0]))
    assert found is not None
    return found


def request(*argv: str, **more: object) -> dict[str, Any]:
    return client.command(["search", *argv], {"COLUMNS": "60"}, "/tmp") | more


def ask(one: Server, *argv: str, **more: object) -> tuple[int, str, str]:
    got: dict[bytes, bytes] = {wire.OUT: b"", wire.ERR: b""}

    def keep(kind: bytes, payload: bytes) -> None:
        got[kind] += payload

    code = client.converse(address(one), request(*argv, **more), keep)
    return code, got[wire.OUT].decode(), got[wire.ERR].decode()


def raw(one: Server) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(10)
    connection.connect(address(one)["unix"])
    return connection


def ended(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:  # it left without reading all we sent
        return True


def test_a_command_comes_back_with_output_and_exit_code(start: Start) -> None:
    assert ask(start(), "why?", out_tty=True) == (3, "why? in tmp at 60\n", "tty True/True\n")


def test_the_socket_belongs_to_its_user_alone_and_says_where_it_is(start: Start, tmp_path: Path) -> None:
    one = start(names=(tmp_path / "vault", tmp_path / "repo"))
    found = address(one)
    assert stat.S_IMODE(os.stat(found["unix"]).st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "run").stat().st_mode) == 0o700
    path = str(tmp_path / "run" / f"{wire.key(str(tmp_path / 'vault'))}.sock")
    assert found == {"protocol": 1, "version": __version__, "pid": os.getpid(), "unix": path}
    for name in ("vault", "repo"):
        file = Path(wire.address_file(str(tmp_path / "run"), str(tmp_path / name)))
        assert wire.read_address(str(file)) == found
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_nothing_is_left_behind(start: Start, tmp_path: Path) -> None:
    start().stop()
    assert list((tmp_path / "run").iterdir()) == []


def test_a_path_too_long_for_a_socket_is_shortened(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    deep = tmp_path / ("d" * 90) / "run"
    one = start(run_dir=deep)
    place = Path(address(one)["unix"])
    assert place.parent == tmp_path / f"onebrain-{os.getuid()}"
    assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
    assert ask(one, "x")[0] == 3


def test_a_directory_somebody_else_prepared_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / f"onebrain-{os.getuid()}").mkdir(mode=0o755)
    with pytest.raises(PermissionError, match="belongs to you alone"):
        server.socket_path(tmp_path / ("d" * 120), tmp_path)


def test_a_dead_daemons_socket_is_taken_over(start: Start, tmp_path: Path) -> None:
    first = start()
    dead = socket.socket(socket.AF_UNIX)
    path = Path(address(first)["unix"])
    first.stop()
    dead.bind(str(path))  # a file that nobody listens at
    dead.close()
    assert path.exists()
    assert ask(start(), "x")[0] == 3


def test_a_dead_daemons_address_means_no_daemon(start: Start, tmp_path: Path) -> None:
    (tmp_path / "onebrain.yml").write_text("")
    one = start()
    left = address(one)
    one.stop()
    Path(one.addresses()[0]).write_text(json.dumps(left))
    env = {"ONEBRAIN_DATA_DIR": str(tmp_path)}
    assert client.forward(["search", "x"], env, str(tmp_path)) is None


REMEMBER = ["memory", "add", "-"]


def forwarded(piped: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> int | None:
    (tmp_path / "onebrain.yml").write_text("")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(piped)))
    return client.forward(REMEMBER, {"ONEBRAIN_DATA_DIR": str(tmp_path)}, str(tmp_path))


def test_what_is_piped_in_travels_as_the_command_reads_it(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Call] = []

    def keep(call: Call, out: TextIO, err: TextIO) -> int:
        calls.append(call)
        return 0

    start(keep)
    assert forwarded(b"caf\xe9\r\nau lait\n", tmp_path, monkeypatch) == 0
    assert calls[0].stdin == "caf\udce9\nau lait\n"


@pytest.mark.parametrize("daemon", ["gone", "refuses", "is offered too much"])
def test_what_is_piped_in_is_still_there_when_no_daemon_takes_it(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, daemon: str
) -> None:
    calls: list[Call] = []

    def refuse(call: Call, out: TextIO, err: TextIO) -> int:
        calls.append(call)
        raise server.Refused("another vault's")

    one = start(refuse)
    if daemon == "gone":
        left = address(one)
        one.stop()
        Path(one.addresses()[0]).write_text(json.dumps(left))
    piped = "é" * wire.LIMIT if daemon == "is offered too much" else "The goblin is called Struan.\n"
    assert forwarded(piped.encode(), tmp_path, monkeypatch) is None
    assert sys.stdin.read() == piped
    assert len(calls) == (daemon == "refuses")


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xff\xff\xff\xff",
        b"\x00\x00\x00\x02{]",
        b"\x00\x00\x00\x04null",
        wire.packed({"protocol": 99}),
        wire.packed({"protocol": 1, "version": __version__}),
        wire.packed({"protocol": 1, "version": __version__, "control": "rm"}),
        wire.packed({"protocol": 1, "version": __version__, "control": ["stop"]}),
        wire.packed(request("x", argv="search x")),
        wire.packed(request("x", argv=[])),
        wire.packed(request("x", argv=["daemon", "stop"])),
        wire.packed(request("x", argv=["init"])),
        wire.packed(request("x", env={"A": 1})),
        wire.packed(request("x", width="wide")),
        wire.packed(request("x", cwd=None)),
    ],
)
def test_garbage_is_refused_and_harms_nobody(start: Start, sent: bytes) -> None:
    one = start()
    with raw(one) as rude:
        rude.sendall(sent)
        kind, _ = wire.read_frame(rude.recv)
        assert kind == wire.BUSY
        assert ended(rude)
    assert ask(one, "still there")[1] == "still there in tmp at 60\n"


def test_clients_that_hang_harm_nobody(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "READ_SECONDS", 0.5)
    one = start()
    hanging = [raw(one) for _ in range(50)]
    for number, rude in enumerate(hanging):
        rude.sendall(b"\x00\x00"[: number % 3])
    began = time.monotonic()
    assert ask(one, "x")[0] == 3
    assert time.monotonic() - began < 1.0
    for rude in hanging:  # each is let go after the time-out
        assert ended(rude)
        rude.close()


def test_a_client_that_never_reads_is_dropped(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "WRITE_SECONDS", 0.3)
    failures: list[BaseException] = []

    def flood(call: Call, out: TextIO, err: TextIO) -> int:
        try:
            for _ in range(10_000):
                out.write("x" * 1000)
        except BrokenPipeError as gone:
            failures.append(gone)
            raise
        return 0

    one = start(flood)
    with raw(one) as rude:
        rude.sendall(wire.packed(request("x")))
        assert until(lambda: failures)


def test_two_hundred_clients_at_once_are_all_answered_and_none_twice(start: Start) -> None:
    answered: list[str] = []
    lock = threading.Lock()

    def count(call: Call, out: TextIO, err: TextIO) -> int:
        time.sleep(0.005)
        with lock:
            answered.append(call.argv[1])
        out.write(call.argv[1])
        return 0

    one = start(count)
    with ThreadPoolExecutor(200) as pool:
        results = list(pool.map(lambda n: ask(one, f"q{n}"), range(200)))
    assert results == [(0, f"q{n}", "") for n in range(200)]
    assert sorted(answered) == sorted(f"q{n}" for n in range(200))


def test_more_clients_than_threads_wait_their_turn(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    most = 0

    def count(call: Call, out: TextIO, err: TextIO) -> int:
        nonlocal most
        most = max(most, sum(t.name == "onebrain-client" for t in threading.enumerate()))
        time.sleep(0.01)
        return 0

    monkeypatch.setattr(server, "CONNECTIONS", 4)
    one = start(count)
    with ThreadPoolExecutor(20) as pool:
        assert list(pool.map(lambda n: ask(one, str(n))[0], range(40))) == [0] * 40
    assert most <= 5  # the one that is being let go, too


def test_a_newer_client_makes_an_older_daemon_leave(start: Start) -> None:
    knocked: list[Newer] = []
    one = start(newer=knocked.append)
    with pytest.raises(client.Older):
        ask(one, "x", version="99.0.0", executable="/newer/python")
    assert until(lambda: knocked == [Newer("99.0.0", "/newer/python")])


def test_an_older_client_is_served(start: Start) -> None:
    assert ask(start(), "x", version="0.0.1")[0] == 3


def test_a_fault_in_one_command_costs_only_that_command(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    def fails(call: Call, out: TextIO, err: TextIO) -> int:
        if call.argv[1] == "bad":
            raise RuntimeError("our bug")
        return 0

    one = start(fails)
    with pytest.raises(client.Unanswered):
        ask(one, "bad")
    assert ask(one, "good")[0] == 0
    assert until(lambda: "our bug" in caplog.text)


def test_a_daemon_that_dies_halfway_is_reported_not_hidden(start: Start) -> None:
    def dies(call: Call, out: TextIO, err: TextIO) -> int:
        out.write("half an ans")
        out.flush()
        raise RuntimeError("killed")

    code, out, err = ask(start(dies), "x")
    assert (code, out) == (1, "half an ans")
    assert "went away before it had finished" in err


def test_a_change_is_never_sent_twice(start: Start) -> None:
    calls: list[Call] = []

    def lost(call: Call, out: TextIO, err: TextIO) -> int:
        calls.append(call)
        raise RuntimeError("after it was done")

    got: list[bytes] = []
    one = start(lost)
    code = client.converse(address(one), request("x", argv=["memory", "add", "x"]), lambda _, piece: got.append(piece), repeatable=False)
    assert code == 1 and len(calls) == 1
    assert b"went away" in b"".join(got)


def test_a_slow_answer_is_waited_for_while_the_daemon_lives(start: Start) -> None:
    def slow(call: Call, out: TextIO, err: TextIO) -> int:
        time.sleep(0.5)
        return 0

    one = start(slow)
    assert client.converse(address(one), request("x"), lambda *_: None, silence=0.1) == 0


def test_a_frozen_daemon_is_given_up(tmp_path: Path) -> None:
    frozen = socket.socket(socket.AF_UNIX)
    frozen.bind(str(tmp_path / "s"))
    frozen.listen(5)
    began = time.monotonic()
    try:
        with pytest.raises(client.Unanswered):
            client.converse({"unix": str(tmp_path / "s")}, request("x"), lambda *_: None, silence=0.1)
    finally:
        frozen.close()
    assert time.monotonic() - began < 4


def test_a_loopback_port_wants_its_token(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HAS_UNIX", False)
    one = start()
    assert "unix" not in address(one)
    assert ask(one, "x")[0] == 3
    for token in (None, "", "0" * 64, 7):
        with pytest.raises(client.Unanswered):
            client.converse(address(one) | {"token": token}, request("x"), lambda *_: None)


def test_stopping_lets_running_answers_finish(start: Start) -> None:
    entered, go = threading.Event(), threading.Event()

    def waits(call: Call, out: TextIO, err: TextIO) -> int:
        entered.set()
        go.wait(5)
        out.write("done")
        return 0

    one = start(waits)
    got: list[tuple[int, str, str]] = []
    asking = threading.Thread(target=lambda: got.append(ask(one, "x")))
    asking.start()
    assert entered.wait(5)
    stopping = threading.Thread(target=one.stop)
    stopping.start()
    go.set()
    stopping.join(5)
    asking.join(5)
    assert got == [(0, "done", "")]


def test_a_connection_during_the_stop_is_told_to_help_itself(start: Start) -> None:
    one = start()
    with raw(one) as late:
        one._closing.set()
        late.sendall(wire.packed(request("x")))
        assert wire.read_frame(late.recv) == (wire.BUSY, b"stopping")


def test_control_verbs(start: Start) -> None:
    assert client.control(address(start()), "ping") == {"pid": 7}

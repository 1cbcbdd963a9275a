"""The thin client: send a command to the vault's daemon and copy back what it prints, before anything heavy is imported.

It knows nothing of the grammar, only which first words a daemon answers. Whatever goes wrong before the first byte was shown ends in
None, "answer it yourself"; no failure here may be worse than having no daemon. Imports are counted in milliseconds: `_socket` instead of
`socket`, no pathlib, no dataclasses, no typing (`python -X importtime -m onebrain search x`).
"""

from __future__ import annotations

import _socket
import io
import json
import os
import sys
import time

from onebrain import __version__
from onebrain.daemon import wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

ANSWERED_BY_DAEMON = frozenset({"search", "recall", "cards", "memory", "qmd", "qmd-reindex"})
CHANGES_FILES = frozenset({("memory", verb) for verb in ("add", "confirm", "supersede", "import", "export")} | {("recall", "export")})
"""Sent once and never again by ourselves: a lost answer doesn't mean it wasn't done."""
ENVIRONMENT = frozenset(
    {
        "CLAUDE_MEM_API_KEY",
        "CLAUDE_MEM_DATA_DIR",
        "CLAUDE_MEM_WORKER_HOST",
        "CLAUDE_MEM_WORKER_PORT",
        "HOME",
        "NO_COLOR",
        "SKILL_ARGS",
    }
)
"""What commands read of their environment besides our own ONEBRAIN_*, no more and no less: a test compares them."""
CONNECT_SECONDS = 2.0
SILENCE_SECONDS = 5.0  # then a second connection asks whether the daemon is alive at all
RESTART_SECONDS = 8.0  # how long to wait for an older daemon to be replaced


class Unanswered(Exception):
    """The daemon can't answer this one; nothing was shown yet."""


class Older(Unanswered):
    """The daemon is older than we are and restarts."""


def forward(argv: Sequence[str], env: Mapping[str, str] = os.environ, cwd: str | None = None) -> int | None:
    """Exit code of `argv` run by the daemon, its output copied to ours; None when the caller has to run it."""
    word = first_word(argv)
    if word not in ANSWERED_BY_DAEMON or _declined(argv, env):
        return None
    try:
        cwd = cwd or os.getcwd()
        directory = wire.vault_directory(argv, env, cwd)
    except OSError:
        return None
    if directory is None:
        return None
    path = wire.address_file(wire.run_dir(env, cwd), directory)
    address = wire.read_address(path)
    if address is None:
        return None
    deadline = time.monotonic() + RESTART_SECONDS
    try:
        request = command(argv, env, cwd, read_stdin() if words(argv) == ["memory", "add"] and "-" in argv else None)
    except OSError:
        return None
    except KeyboardInterrupt:
        return 130
    while True:
        try:
            return converse(address, request, _copy, repeatable=repeatable(argv))
        except Older:
            if not (address := _successor(path, address, deadline)):
                return None
        except Unanswered:
            return None
        except KeyboardInterrupt:  # leaving closes the connection, which ends the work over there
            return 130


def first_word(argv: Sequence[str]) -> str | None:
    """The verb; None where there is none, or where it stays here (`search model …` loads, converts and downloads weights)."""
    found = words(argv)
    return None if not found or found == ["search", "model"] else found[0]


def words(argv: Sequence[str]) -> list[str]:
    """The first two words of a command line, what follows `--` left out; none where it only asks for help or the version."""
    found: list[str] = []
    skip = False
    for word in argv:
        if skip:
            skip = False
        elif word == "--" or len(found) == 2:
            break
        elif word == "--vault":
            skip = True
        elif not word.startswith("-"):
            found.append(word)
        elif not found and word in ("--help", "--version"):
            break
    return found


def repeatable(argv: Sequence[str]) -> bool:
    """Whether a command may be run here after a daemon began with it and was lost."""
    return tuple(words(argv)) not in CHANGES_FILES


def _declined(argv: Sequence[str], env: Mapping[str, str]) -> bool:
    options = argv[: list(argv).index("--")] if "--" in argv else argv
    return "--no-daemon" in options or env.get("ONEBRAIN_NO_DAEMON", "0") not in ("", "0")


def command(argv: Sequence[str], env: Mapping[str, str], cwd: str, stdin: str | None = None) -> dict[str, Any]:
    """A command line as a request. Only the part of the environment that changes an answer travels."""
    return {
        "protocol": wire.PROTOCOL,
        "version": __version__,
        "executable": sys.executable,
        "argv": list(argv),
        "cwd": cwd,
        "env": {name: value for name, value in env.items() if name.startswith("ONEBRAIN_") or name in ENVIRONMENT},
        "out_tty": _is_terminal(1),
        "err_tty": _is_terminal(2),
        "width": _width(env),
        "stdin": stdin,
    }


def _is_terminal(descriptor: int) -> bool:
    try:
        return os.isatty(descriptor)
    except OSError:
        return False


def _width(env: Mapping[str, str]) -> int:
    given = env.get("COLUMNS", "")
    if given.isdigit() and int(given):
        return int(given)
    for descriptor in (1, 2, 0):
        try:
            return os.get_terminal_size(descriptor).columns or 80
        except OSError:
            continue
    return 80


def read_stdin() -> str:
    """All of stdin; odd bytes survive as surrogates. It is put back, for the command may have to be run here after all."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="surrogateescape")
    text = sys.stdin.read() if sys.stdin is not None else ""
    sys.stdin = io.StringIO(text)
    return text


def _copy(kind: bytes, payload: bytes) -> None:
    stream = sys.stdout if kind == wire.OUT else sys.stderr
    if stream is None:
        return
    stream.buffer.write(payload)
    stream.flush()


def converse(
    address: Mapping[str, Any],
    request: Mapping[str, Any],
    show: Callable[[bytes, bytes], None],
    *,
    repeatable: bool = True,
    silence: float = SILENCE_SECONDS,
) -> int:
    """Exit code of one request; `show(kind, payload)` gets each piece of output. Unanswered before the first piece, exit 1 after it."""
    packed = wire.packed({**request, "token": address.get("token")})
    if len(packed) - wire.HEAD > wire.LIMIT:
        raise Unanswered("longer than a request may be")
    connection = connect(address)
    shown = False
    sent = False
    try:
        connection.settimeout(silence)
        _send(connection, packed)
        sent = True
        while True:
            kind, payload = wire.read_frame(lambda count: _patient(connection, count, address))
            if kind == wire.EXIT:
                return int(payload)
            if kind == wire.OLDER:
                raise Older(payload.decode("utf-8", "replace"))
            if kind not in (wire.OUT, wire.ERR):
                raise Unanswered(payload.decode("utf-8", "replace"))
            try:
                show(kind, payload)
            except BrokenPipeError:
                _silence_stdout()
                return 0
            shown = True
    except (OSError, ValueError) as problem:
        if not shown and (repeatable or not sent):
            raise Unanswered(str(problem)) from problem
        show(wire.ERR, b"onebrain: the daemon went away before it had finished. Run `onebrain daemon status`, then try again.\n")
        return 1
    finally:
        connection.close()


def _silence_stdout() -> None:
    """The reader of our stdout is gone; the interpreter's own flush at exit must not complain about it."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except OSError:
        return


def connect(address: Mapping[str, Any], seconds: float = CONNECT_SECONDS) -> _socket.socket:
    """A connection to the daemon at `address`; Unanswered when nobody listens there (a crashed daemon leaves its address behind)."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            if path := address.get("unix"):
                connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
                target: Any = path
            else:
                connection = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
                target = ("127.0.0.1", int(address["port"]))
            connection.settimeout(seconds)
            try:
                connection.connect(target)
            except BaseException:
                connection.close()
                raise
            return connection
        except BlockingIOError as crowded:  # so many clients at once that the queue of the socket is full
            if time.monotonic() > deadline:
                raise Unanswered(str(crowded)) from crowded
            time.sleep(0.02)
        except (OSError, KeyError, TypeError, ValueError) as problem:
            raise Unanswered(str(problem)) from problem


def _send(connection: _socket.socket, data: bytes) -> None:
    connection.sendall(data)


def _patient(connection: _socket.socket, count: int, address: Mapping[str, Any]) -> bytes:
    """Bytes of the answer, however long it takes, while the daemon shows that it is alive."""
    while True:
        try:
            return connection.recv(count)
        except TimeoutError:
            if not alive(address):
                raise


def alive(address: Mapping[str, Any], seconds: float = CONNECT_SECONDS) -> bool:
    try:
        return control(address, "ping", seconds=seconds) is not None
    except Unanswered:
        return False


def control(address: Mapping[str, Any], verb: str, seconds: float = CONNECT_SECONDS) -> dict[str, Any]:
    """The daemon's reply to `ping`, `status`, `stop`, `pause` or `resume`; Unanswered when it gives none within `seconds`."""
    connection = connect(address, seconds)
    try:
        connection.settimeout(seconds)
        _send(connection, wire.packed({"protocol": wire.PROTOCOL, "version": __version__, "control": verb, "token": address.get("token")}))
        kind, payload = wire.read_frame(connection.recv)
        reply = json.loads(payload) if kind == wire.OUT else None
    except (OSError, ValueError) as problem:
        raise Unanswered(str(problem)) from problem
    finally:
        connection.close()
    if not isinstance(reply, dict):
        raise Unanswered("no reply")
    return reply


def _successor(path: str, old: Mapping[str, Any], deadline: float) -> dict[str, Any] | None:
    """The address of the daemon that replaces an older one, once it is there; None when it doesn't come in time."""
    while time.monotonic() < deadline:
        time.sleep(0.05)
        found = wire.read_address(path)
        if found and found.get("version") != old.get("version") and alive(found, 1.0):
            return found
    return None

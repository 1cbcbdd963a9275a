"""The daemon's ear: a Unix socket (0600), on Windows a loopback port with a token, one thread for each connection.

A client may hang, send garbage, leave, or never read its answer: every wait has an end and costs only that client's thread. What a
request means is the caller's business (`run` for commands, `controls` for the daemon's own verbs); this module moves bytes.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import secrets
import socket
import stat
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from onebrain import __version__
from onebrain.daemon import client, wire
from onebrain.disk import replace_file

if TYPE_CHECKING:
    from typing_extensions import Buffer

log = logging.getLogger(__name__)

READ_SECONDS = 5.0  # to send a request once connected
WRITE_SECONDS = 15.0  # to take a piece of the answer
CONNECTIONS = 256  # threads; further clients wait in the socket's queue
HAS_UNIX = hasattr(socket, "AF_UNIX")
PIECE = 1 << 13  # bytes of output sent at once
SOCKET_PATH_BYTES = 104 if sys.platform == "darwin" else 108  # with the closing zero


@dataclass(frozen=True, slots=True)
class Call:
    """A command line that a client wants run, with the surroundings it is run in. `stdin` is what was piped into the client."""

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    width: int = 80
    out_tty: bool = False
    err_tty: bool = False
    stdin: str | None = None


@dataclass(frozen=True, slots=True)
class Newer:
    """A client of a later release knocked; `executable` is the interpreter that runs it."""

    version: str
    executable: str


Run = Callable[[Call, TextIO, TextIO], int]
Controls = Mapping[str, Callable[[], dict[str, Any]]]


class Refused(Exception):
    """A request that can't be taken, in words for whoever wrote the client."""


class Frames(io.RawIOBase):
    """Bytes that leave as frames of one kind. BrokenPipeError once the client is gone; silent after `end`."""

    def __init__(self, connection: socket.socket, kind: bytes, lock: threading.Lock, tty: bool) -> None:
        self._connection, self._kind, self._lock, self._tty = connection, kind, lock, tty
        self._ended = False

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._tty

    def write(self, data: Buffer, /) -> int:
        payload = bytes(data)
        if payload and not self._ended:
            try:
                with self._lock:
                    self._connection.sendall(wire.frame(self._kind, payload))
            except OSError as gone:
                self._ended = True  # whatever a text stream still holds back must not fail once more when it is collected
                raise BrokenPipeError("the client went away") from gone
        return len(payload)

    def end(self) -> None:
        self._ended = True


def _text(frames: Frames, *, by_line: bool) -> TextIO:
    return io.TextIOWrapper(
        io.BufferedWriter(frames, PIECE), encoding="utf-8", errors="surrogateescape", newline="", line_buffering=by_line
    )


@dataclass
class Server:
    """`names` are the directories clients may know the vault by; each gets an address file in `run_dir`."""

    run_dir: Path
    names: tuple[Path, ...]
    run: Run
    controls: Controls
    newer: Callable[[Newer], None]
    _listener: socket.socket | None = None
    _socket_path: Path | None = None
    _token: str | None = None
    _closing: threading.Event = field(default_factory=threading.Event)
    _slots: threading.BoundedSemaphore = field(default_factory=lambda: threading.BoundedSemaphore(CONNECTIONS))
    _accepting: threading.Thread | None = None
    _active: set[threading.Thread] = field(default_factory=set)
    _active_lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self) -> None:
        """Listen and say where. Whoever calls owns the vault's index, so whatever is left at this place is a dead daemon's."""
        self.run_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        address: dict[str, Any] = {"protocol": wire.PROTOCOL, "version": __version__, "pid": os.getpid()}
        if HAS_UNIX:
            self._socket_path = socket_path(self.run_dir, self.names[0])
            self._listener = _listen_unix(self._socket_path)
            address["unix"] = str(self._socket_path)
        else:
            self._listener, self._token = socket.create_server(("127.0.0.1", 0), backlog=128), secrets.token_hex(32)
            address |= {"port": self._listener.getsockname()[1], "token": self._token}
        for path in self.addresses():
            replace_file(path, json.dumps(address), mode=0o600)
        self._accepting = threading.Thread(target=self._accept, name="onebrain-accept", daemon=True)
        self._accepting.start()

    def addresses(self) -> tuple[Path, ...]:
        return tuple(dict.fromkeys(Path(wire.address_file(str(self.run_dir), str(name))) for name in self.names))

    def stop(self, seconds: float = 5.0) -> None:
        """Take no more requests, give running ones `seconds` to finish, leave no file behind."""
        self._closing.set()
        for path in self.addresses():
            path.unlink(missing_ok=True)
        if self._listener is not None:
            with contextlib.suppress(OSError):  # wakes the accepting thread; not every system allows it on a listener
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
        if self._accepting is not None:
            self._accepting.join(2)
        with self._active_lock:
            busy = list(self._active - {threading.current_thread()})
        for thread in busy:
            thread.join(max(0.05, seconds / max(1, len(busy))))
        if self._socket_path is not None:
            self._socket_path.unlink(missing_ok=True)

    def _accept(self) -> None:
        assert self._listener is not None
        while not self._closing.is_set():
            self._slots.acquire()
            try:
                connection, _ = self._listener.accept()
            except OSError:
                self._slots.release()
                if not self._closing.is_set():  # out of descriptors, perhaps: the clients that hold them will leave
                    log.exception("could not accept a connection")
                    self._closing.wait(0.2)
                continue
            thread = threading.Thread(target=self._serve, args=(connection,), name="onebrain-client", daemon=True)
            with self._active_lock:
                self._active.add(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection:
                connection.settimeout(READ_SECONDS)
                self._answer(connection)
        except Refused as refused:
            log.info("a request was refused: %s", refused)
        except (OSError, BrokenPipeError):
            log.debug("a client went away", exc_info=True)
        except Exception:  # a fault of ours in one request must not end the daemon; it is in the log with its place
            log.exception("a request failed")
        finally:
            self._slots.release()
            with self._active_lock:
                self._active.discard(threading.current_thread())

    def _answer(self, connection: socket.socket) -> None:
        try:
            request = self._request(connection)
            connection.settimeout(WRITE_SECONDS)
            if "control" in request:
                self._control(connection, request["control"])
            elif self._closing.is_set():
                raise Refused("stopping")
            elif wire.release(str(request.get("version", ""))) > wire.release(__version__):
                connection.sendall(wire.frame(wire.OLDER, __version__.encode()))
                self.newer(Newer(str(request["version"]), str(request.get("executable") or sys.executable)))
            else:
                self._command(connection, call_of(request))
        except Refused as refused:
            connection.sendall(wire.frame(wire.BUSY, str(refused).encode()))
            raise

    def _request(self, connection: socket.socket) -> dict[str, Any]:
        length = int.from_bytes(wire.read_exactly(connection.recv, wire.HEAD), "big")
        if length > wire.LIMIT:
            raise Refused(f"a request of {length} bytes is longer than the {wire.LIMIT} allowed")
        try:
            request = json.loads(wire.read_exactly(connection.recv, length))
        except ValueError as broken:
            raise Refused("the request isn't JSON") from broken
        if not isinstance(request, dict) or request.get("protocol") != wire.PROTOCOL:
            raise Refused(f"this daemon speaks protocol {wire.PROTOCOL}")
        if self._token is not None and not secrets.compare_digest(str(request.get("token")), self._token):
            raise Refused("the token is wrong")
        return request

    def _control(self, connection: socket.socket, verb: object) -> None:
        known = self.controls.get(verb) if isinstance(verb, str) else None
        if known is None:
            raise Refused("unknown verb")
        connection.sendall(wire.frame(wire.OUT, json.dumps(known()).encode()))

    def _command(self, connection: socket.socket, call: Call) -> None:
        lock = threading.Lock()
        frames = Frames(connection, wire.OUT, lock, call.out_tty), Frames(connection, wire.ERR, lock, call.err_tty)
        out, err = _text(frames[0], by_line=False), _text(frames[1], by_line=True)
        try:
            code = self.run(call, out, err)
            out.flush()
            err.flush()
            connection.sendall(wire.frame(wire.EXIT, str(code).encode()))
        finally:
            for one in frames:
                one.end()


def call_of(request: Mapping[str, Any]) -> Call:
    """The command of a request; Refused when a part is missing or of the wrong kind."""
    argv, env, cwd = request.get("argv"), request.get("env"), request.get("cwd")
    width, stdin = request.get("width"), request.get("stdin")
    if not (isinstance(argv, list) and argv and all(isinstance(word, str) for word in argv)):
        raise Refused("argv must be a list of words")
    if not (isinstance(env, dict) and all(isinstance(value, str) for value in env.values())):
        raise Refused("env must map names to text")
    if not (isinstance(cwd, str) and isinstance(width, int) and (stdin is None or isinstance(stdin, str))):
        raise Refused("cwd, width or stdin is missing or of the wrong kind")
    if argv[0] == "daemon" or client.first_word(argv) not in client.ANSWERED_BY_DAEMON:
        raise Refused(f"{argv[0]} isn't run by a daemon")
    return Call(
        tuple(argv), Path(cwd), env, min(max(width, 20), 1000), request.get("out_tty") is True, request.get("err_tty") is True, stdin
    )


def socket_path(run_dir: Path, vault: Path) -> Path:
    """`<run dir>/<key>.sock`, or the same name in a private directory with a short path where that one is too long for a socket."""
    name = wire.key(str(vault)) + ".sock"
    if len(os.fsencode(run_dir / name)) < SOCKET_PATH_BYTES:
        return run_dir / name
    for base in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp"):
        if base and len(os.fsencode(os.path.join(base, f"onebrain-{_uid()}", name))) < SOCKET_PATH_BYTES:
            return _private_directory(Path(base) / f"onebrain-{_uid()}") / name
    raise OSError(f"no directory with a path short enough for a socket: tried $XDG_RUNTIME_DIR, {tempfile.gettempdir()} and /tmp")


def _uid() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def _private_directory(path: Path) -> Path:
    """`path`, ours alone. Others may write to where it lies, so one that somebody else prepared is refused."""
    path.mkdir(mode=0o700, exist_ok=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != _uid() or found.st_mode & 0o077:
        raise PermissionError(f"{path} isn't a directory that belongs to you alone: remove it, then start again")
    return path


def _listen_unix(path: Path) -> socket.socket:
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        before = os.umask(0o177)  # the socket is born private; a chmod afterwards would leave a moment for others
        try:
            listener.bind(str(path))
        finally:
            os.umask(before)
        listener.listen(512)
    except BaseException:
        listener.close()
        raise
    return listener

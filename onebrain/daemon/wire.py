"""What client and daemon agree on: where they meet, and how bytes travel. Imported before anything else, so it imports almost nothing.

The daemon of a vault leaves an address file in `<data dir>/run/`, named after the vault's directory (and a second one named after the
directory that holds `onebrain.yml`, where that is another). It says where to connect: a Unix socket, or on Windows a loopback port
with a token.

A conversation is one request and its answer. Request: length (4 bytes, big-endian), then JSON. Answer: frames, each of a kind (1 byte),
a length and a payload.
"""

from __future__ import annotations

import json
import os
import sys

try:
    from _blake2 import blake2b
except ImportError:  # an interpreter built without it: hashlib costs a few milliseconds more
    from hashlib import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

PROTOCOL = 1
LIMIT = 4 << 20  # bytes of one request; a longer one is refused unread
HEAD = 4

OUT, ERR, EXIT = b"o", b"e", b"x"  # a piece of stdout, a piece of stderr, the exit code (ends the answer)
BUSY = b"b"  # the daemon is leaving or full: help yourself
OLDER = b"v"  # the daemon is older than the client and makes room for a newer one

CONFIG_NAMES = ("onebrain.yml", "vault.yml")


def key(directory: str) -> str:
    """Name of a vault's directory in the run directory: 16 hex digits of its real path."""
    return blake2b(os.fsencode(os.path.realpath(directory)), digest_size=8).hexdigest()


def data_dir(env: Mapping[str, str], cwd: str) -> str:
    """Same place as `config` gives (a test compares them): platformdirs is too slow to ask here."""
    if own := env.get("ONEBRAIN_DATA_DIR"):
        return os.path.normpath(os.path.join(cwd, os.path.expanduser(own)))
    home = env.get("HOME") or os.path.expanduser("~")
    if sys.platform == "win32":
        return os.path.join(env.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local"), "onebrain")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "onebrain")
    return os.path.join(env.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share"), "onebrain")


def run_dir(env: Mapping[str, str], cwd: str) -> str:
    return os.path.join(data_dir(env, cwd), "run")


def vault_directory(argv: Sequence[str], env: Mapping[str, str], cwd: str) -> str | None:
    """The directory a command speaks of: `--vault`, ONEBRAIN_VAULT, or the nearest parent with a configuration file."""
    named = _option(argv, "--vault") or env.get("ONEBRAIN_VAULT")
    if named:
        place = os.path.normpath(os.path.join(cwd, os.path.expanduser(named)))
        return os.path.dirname(place) if place.endswith((".yml", ".yaml")) else place
    here = cwd
    while True:
        if any(os.path.isfile(os.path.join(here, name)) for name in CONFIG_NAMES):
            return here
        parent = os.path.dirname(here)
        if parent == here:
            return None
        here = parent


def _option(argv: Sequence[str], name: str) -> str | None:
    for index, word in enumerate(argv):
        if word == "--":
            return None
        if word == name and index + 1 < len(argv):
            return argv[index + 1]
        if word.startswith(name + "="):
            return word[len(name) + 1 :]
    return None


def address_file(run: str, directory: str) -> str:
    return os.path.join(run, key(directory) + ".at")


def read_address(path: str) -> dict[str, Any] | None:
    """`{protocol, version, pid, unix}` or `{…, port, token}`; None where no daemon has left one, or it can't be read."""
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def frame(kind: bytes, payload: bytes) -> bytes:
    return kind + len(payload).to_bytes(HEAD, "big") + payload


def packed(request: Mapping[str, Any]) -> bytes:
    """A request as it travels; text that is no valid Unicode (a path with odd bytes) survives as escaped surrogates."""
    body = json.dumps(request).encode("ascii")
    return len(body).to_bytes(HEAD, "big") + body


def read_exactly(receive: Callable[[int], bytes], count: int) -> bytes:
    """`count` bytes from `receive`; ConnectionError when the other side ends before."""
    pieces = []
    while count:
        piece = receive(min(count, 1 << 16))
        if not piece:
            raise ConnectionError("the other side closed the connection")
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)


def read_frame(receive: Callable[[int], bytes]) -> tuple[bytes, bytes]:
    head = read_exactly(receive, 1 + HEAD)
    return head[:1], read_exactly(receive, int.from_bytes(head[1:], "big"))


def release(version: str) -> tuple[int, ...]:
    """`0.10.2rc1` → (0, 10, 2): enough to tell an older daemon from a newer client."""
    numbers = []
    for part in version.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers)

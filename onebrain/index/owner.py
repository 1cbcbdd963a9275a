"""One process owns an index: the lock it holds for life. Two Chroma processes on one path lose vectors silently (facts/engines.md §4).

The operating system holds the lock and frees it when the process ends, however it ends. What the file says (who, since when) is
for people; no decision is taken from it, so a reused process number or a copied file can't mislead anybody.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from datetime import datetime
from pathlib import Path
from types import TracebackType

from onebrain.disk import try_lock, unlock
from onebrain.errors import IndexBusy, StorageFull

LOCK_FILE = "owner.lock"
_RETRY_SECONDS = 0.02


class Owner:
    """Proof of ownership. Give it back with `release`, or use it as a context manager."""

    def __init__(self, directory: Path, descriptor: int) -> None:
        self.directory = directory
        self._descriptor: int | None = descriptor

    @property
    def held(self) -> bool:
        return self._descriptor is not None

    def release(self) -> None:
        """Safe to call twice. The file stays: removing it would let two processes lock two files of one name."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            unlock(descriptor)
            os.close(descriptor)

    def __enter__(self) -> Owner:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.release()


def claim(directory: Path, *, timeout: float = 0.0) -> Owner:
    """Become the owner of the index in `directory` (made if missing), waiting up to `timeout` seconds.

    Raises IndexBusy, naming who holds it, and StorageFull where the lock can't be written.
    """
    deadline = time.monotonic() + timeout
    while True:
        owner = _attempt(directory)
        if owner is not None:
            return owner
        if time.monotonic() >= deadline:
            raise IndexBusy(
                f"The index in {directory} is in use by {holder(directory) or 'another process'}.",
                hint="Ask through the daemon (`onebrain daemon status`), or wait until the other command is done.",
            )
        time.sleep(_RETRY_SECONDS)


def holder(directory: Path) -> str | None:
    """Who last claimed the index, in words; None when that isn't known. Says nothing about whether it still does."""
    try:
        told = json.loads((directory / LOCK_FILE).read_text(encoding="utf-8"))
        return f"process {int(told['pid'])} since {told['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _attempt(directory: Path) -> Owner | None:
    file = directory / LOCK_FILE
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise StorageFull(
            f"The index folder {directory} can't be written: {error.strerror or error}.",
            hint="Check its permissions and the free space of its disk, or choose another folder with ONEBRAIN_DATA_DIR.",
        ) from error
    if not try_lock(descriptor):
        os.close(descriptor)
        return None
    if not _is_same_file(descriptor, file):  # somebody removed the file between opening and locking it
        os.close(descriptor)
        return None
    with contextlib.suppress(OSError):  # a full disk must not keep anybody from owning, and so from reading
        os.ftruncate(descriptor, 0)
        os.write(descriptor, json.dumps(_about_me()).encode())
    return Owner(directory, descriptor)


def _about_me() -> dict[str, str | int]:
    return {"pid": os.getpid(), "since": datetime.now().astimezone().isoformat(timespec="seconds")}


def _is_same_file(descriptor: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), file.stat())
    except FileNotFoundError:
        return False

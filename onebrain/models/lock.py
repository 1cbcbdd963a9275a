"""A lock between processes on one file: two `model prepare` at once must not make the same folder twice. Freed by the system on a crash."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from onebrain.errors import ModelUnavailable

_PAUSE_S = 0.1


@contextmanager
def process_lock(path: Path, wait_s: float, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the lock on `path`, calling `waiting` once if another process has it. Raises ModelUnavailable after `wait_s` seconds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + wait_s
    with path.open("a+b") as file:
        if not _try_lock(file):
            waiting()
            while not _try_lock(file):
                if time.monotonic() > deadline:
                    raise ModelUnavailable("Another process is still preparing the model.", hint="wait for it, then run the command again")
                time.sleep(_PAUSE_S)
        try:
            yield
        finally:
            _unlock(file)


if sys.platform == "win32":
    import msvcrt

    def _try_lock(file: IO[bytes]) -> bool:
        try:
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(file: IO[bytes]) -> None:
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(file: IO[bytes]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)

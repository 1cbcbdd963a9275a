"""A lock between processes on one file: two `model prepare` at once must not make the same folder twice. Freed by the system on a crash."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from onebrain.disk import try_lock, unlock
from onebrain.errors import ModelUnavailable

_PAUSE_S = 0.1


@contextmanager
def process_lock(path: Path, wait_s: float, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the lock on `path`, calling `waiting` once if another process has it. Raises ModelUnavailable after `wait_s` seconds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + wait_s
    with path.open("a+b") as file:
        if not try_lock(file.fileno()):
            waiting()
            while not try_lock(file.fileno()):
                if time.monotonic() > deadline:
                    raise ModelUnavailable("Another process is still preparing the model.", hint="wait for it, then run the command again")
                time.sleep(_PAUSE_S)
        try:
            yield
        finally:
            unlock(file.fileno())

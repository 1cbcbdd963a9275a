"""watchdog → paths. The one module that knows watchdog.

The handler only names paths: it must keep up with 60,000 events a second, and what an event claims is not to be trusted anyway (measured):
a rename-over from outside arrives as Created, a folder moved away as one DirDeleted while its watch lives on and reports writes elsewhere
as writes here. Who is told a path looks at the disk.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable
from pathlib import Path

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

INTERESTING: list[type[FileSystemEvent]] = [
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
]
HIDDEN_BUT_OURS = ".claude/memory"
OVERFLOW = "overflowed"  # watchdog repairs its watches after an overflow but tells nobody what it missed; its log line is the only sign


def relevant(path: str, is_directory: bool) -> bool:
    """Whether a vault-relative path can matter to the index at all. Cheap and generous: the index decides what it keeps."""
    if not is_directory and not path.lower().endswith((".md", ".jsonl")):
        return False
    if path.startswith(HIDDEN_BUT_OURS):
        return True
    parts = path.split("/")
    return not any(part.startswith(".") or part == "node_modules" for part in parts)


class Handler(FileSystemEventHandler):
    """Names each path of each event, source and destination, relative to the vault."""

    def __init__(self, vault: str, put: Callable[[str], None]) -> None:
        self._prefix = vault.rstrip("/" + os.sep) + os.sep
        self._put = put

    def on_any_event(self, event: FileSystemEvent) -> None:
        for raw in (event.src_path, event.dest_path):
            path = os.fsdecode(raw)
            if not path.startswith(self._prefix):
                continue
            inside = path[len(self._prefix) :].replace(os.sep, "/")
            if inside and relevant(inside, event.is_directory):
                self._put(inside)


class Overflow(logging.Handler):
    def __init__(self, lost: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._lost = lost

    def emit(self, record: logging.LogRecord) -> None:
        if OVERFLOW in record.getMessage():
            self._lost("the system dropped file events (queue overflow)")


class Watcher:
    """Watches one vault. `identity` tells a vault that was deleted and made again, unmounted or mounted over, from the one watched."""

    def __init__(self, vault: Path, put: Callable[[str], None], lost: Callable[[str], None]) -> None:
        self._vault = os.path.realpath(vault)
        self._put = put
        self._overflow = Overflow(lost)
        self._observer: BaseObserver | None = None
        self.identity: tuple[int, int] | None = None
        self.problem: str | None = None  # why changes are not noticed at once, in words

    def start(self) -> bool:
        """Begin to watch; False when that isn't possible now, with `problem` saying why. Changes before it returns are not seen."""
        self.identity = identity(self._vault)
        if self.identity is None:
            self.problem = f"{self._vault} isn't there"
            return False
        # A directory made while its parent is being watched is sometimes watched twice: harmless, and nothing a user can act on.
        warnings.filterwarnings("ignore", message="Callback with id", category=RuntimeWarning)
        observer = Observer()
        try:
            observer.schedule(Handler(self._vault, self._put), self._vault, recursive=True, event_filter=INTERESTING)
            observer.start()
        except OSError as refused:  # out of watches (ENOSPC), or a file system without any
            self.problem = f"the system can't watch {self._vault}: {refused.strerror or refused}"
            return False
        logging.getLogger("watchdog").addHandler(self._overflow)
        self._observer = observer
        self.problem = None
        return True

    def stop(self) -> None:
        logging.getLogger("watchdog").removeHandler(self._overflow)
        observer, self._observer = self._observer, None
        if observer is not None:
            observer.stop()
            observer.join(5)

    def same_vault(self) -> bool:
        """Whether the directory that bears the vault's name now is the one that was there at the start."""
        return self.identity is not None and self.identity == identity(self._vault)

    def still_valid(self) -> bool:
        """Whether the vault is watched. A directory made anew may get the number of one that was deleted, but nobody watches it."""
        observer = self._observer
        if observer is None or not observer.is_alive() or not self.same_vault():
            return False
        reader = getattr(observer, "_inotify_fd", None)  # watchdog's own thread, of which it has no public name
        return all(emitter.is_alive() for emitter in observer.emitters) and (reader is None or reader.is_alive())

    def there(self) -> bool:
        return identity(self._vault) is not None


def identity(directory: str) -> tuple[int, int] | None:
    """(device, inode) of a directory, None when there is none: an unmounted vault leaves another directory, or none, in its place."""
    try:
        found = os.stat(directory)
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if os.path.isdir(directory) else None

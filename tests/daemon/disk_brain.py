"""A stand-in for a Brain whose index is a dictionary, and `until`, which waits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from onebrain.errors import OneBrainError


@dataclass(frozen=True)
class Applied:
    held_back: str | None = None
    reasons: tuple[str, ...] = ()


class DiskBrain:
    """Keeps the text of every note, as an index would: paths are looked at, never believed. `stop_after` fails the n-th call."""

    def __init__(self, vault: Path) -> None:
        self.vault = vault
        self.words: dict[str, str] = {}
        self.vectors: dict[str, str] = {}
        self.applied: list[tuple[str, ...] | None] = []
        self.writers = 0
        self.most_writers = 0
        self.unloaded = 0
        self.slow = 0.0
        self.stuck = False
        self.held_back: str | None = None
        self.reasons: tuple[str, ...] = ()
        self.fail: OneBrainError | Exception | None = None
        self.fail_vectors: OneBrainError | None = None
        self._lock = threading.Lock()

    def disk(self) -> dict[str, str]:
        return {p.relative_to(self.vault).as_posix(): p.read_text() for p in self.vault.rglob("*.md") if p.is_file()}

    def apply_words(self, paths: Collection[str] | None, *, progress: Callable[[int, int], None] | None = None) -> Applied:
        with self._alone():
            self.applied.append(None if paths is None else tuple(paths))
            if self.fail is not None:
                raise self.fail
            time.sleep(self.slow)
            if progress is not None:
                progress(0, 1)
            if paths is None:
                self.words = self.disk()
                return Applied(self.held_back, self.reasons)
            for path in paths:
                for known in [k for k in self.words if k == path or k.startswith(path + "/")]:
                    del self.words[known]
                place = self.vault / path
                for file in [place] if place.is_file() else sorted(place.rglob("*.md")):
                    self.words[file.relative_to(self.vault).as_posix()] = file.read_text()
            return Applied()

    def apply_vectors(
        self,
        *,
        budget_s: float | None,
        stop: Callable[[], bool] | None,
        progress: Callable[[int, int], None] | None = None,
    ) -> int:
        with self._alone():
            if self.fail_vectors is not None:
                raise self.fail_vectors
            for path in self._drift() if not self.stuck else ():
                if stop is not None and stop():
                    break
                time.sleep(self.slow)
                self.vectors[path] = self.words[path]
            return len(self._drift())

    def _drift(self) -> list[str]:
        return [path for path, text in self.words.items() if self.vectors.get(path) != text]

    def pending(self) -> int:
        return len(self._drift())

    def unload(self) -> None:
        self.unloaded += 1

    def _alone(self) -> _Alone:
        return _Alone(self)


class _Alone:
    def __init__(self, brain: DiskBrain) -> None:
        self.brain = brain

    def __enter__(self) -> None:
        with self.brain._lock:
            self.brain.writers += 1
            self.brain.most_writers = max(self.brain.most_writers, self.brain.writers)

    def __exit__(self, *_: object) -> None:
        with self.brain._lock:
            self.brain.writers -= 1


def until(truth: Callable[[], object], seconds: float = 5.0) -> bool:
    """Whether `truth` comes true within `seconds`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if truth():
            return True
        time.sleep(0.005)
    return bool(truth())

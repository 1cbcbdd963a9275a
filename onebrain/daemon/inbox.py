"""What has to be looked at again: a set of dirty paths that waits until they are quiet. Pure: the time is an argument.

An event only names a path; what happened to it is found out by looking. So an inbox may forget order and kind, may hold a path twice as
long as needed, may turn many paths into one look at everything; what it may never do is lose a path.
"""

from __future__ import annotations

from dataclasses import dataclass

QUIET = 0.4
CAP = 2.0
STORM = 5  # caps that a look at everything waits for quiet: half a checkout is no state of a vault worth indexing
MANY = 500  # more dirty paths than this: stat everything once instead (a git checkout names each file six times)


@dataclass(frozen=True, slots=True)
class Batch:
    """Paths to look at (files or directories, vault-relative), or everything, for the reason given in `full`."""

    paths: tuple[str, ...] = ()
    full: str | None = None


class Inbox:
    """Not thread-safe; times are seconds on one monotonic clock. Ready `quiet` after the last event, at latest `cap` after the first."""

    def __init__(self, *, quiet: float = QUIET, cap: float = CAP, many: int = MANY) -> None:
        self._quiet, self._cap, self._many = quiet, cap, many
        self._paths: dict[str, None] = {}
        self._full: str | None = None
        self._first: float | None = None
        self._last = 0.0

    def __len__(self) -> int:
        return len(self._paths) + (self._full is not None)

    @property
    def everything(self) -> bool:
        """Whether the next batch is a look at everything."""
        return self._full is not None

    def put(self, path: str, now: float) -> None:
        self._touch(now)
        if self._full is None:
            self._paths[path] = None
            if len(self._paths) > self._many:
                self._everything(f"more than {self._many} files changed at once")

    def put_all(self, why: str, now: float) -> None:
        """Look at everything. Waits for quiet as well: what made it necessary is often still going on."""
        self._touch(now)
        self._everything(why)

    def due_in(self, now: float) -> float | None:
        """Seconds until the batch may be taken, 0 when it may be now, None when there is nothing."""
        if self._first is None:
            return None
        cap = self._cap * STORM if self.everything else self._cap
        return min(max(min(self._last + self._quiet, self._first + cap) - now, 0.0), self._quiet)

    def take(self, now: float, *, hurry: bool = False) -> Batch | None:
        """All there is, once it is due, or at once with `hurry`; the inbox is empty afterwards."""
        if self._first is None or not (hurry or self.due_in(now) == 0):
            return None
        batch = Batch(full=self._full) if self._full is not None else Batch(tuple(self._paths))
        self._paths = {}
        self._full = self._first = None
        return batch

    def put_back(self, batch: Batch, now: float) -> None:
        """A batch that could not be carried out waits for the next time."""
        if batch.full is not None:
            self.put_all(batch.full, now)
        for path in batch.paths:
            self.put(path, now)

    def _everything(self, why: str) -> None:
        self._full = self._full or why
        self._paths = {}

    def _touch(self, now: float) -> None:
        if self._first is None or now < self._first:  # a clock that went backwards must not make us wait for it
            self._first = now
        self._last = now

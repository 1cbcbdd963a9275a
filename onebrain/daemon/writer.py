"""The one thread that writes. Words first, because people look for what they have just saved; vectors in the time that is left.

Questions and new events interrupt embedding, which takes up where it left off. Whatever goes wrong is kept as `problem` in words, and tried
again later: a batch is never dropped. While the vault isn't there nothing is applied at all, for a missing vault looks like a deleted one.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from onebrain.daemon.inbox import Batch, Inbox
from onebrain.errors import ModelUnavailable, OneBrainError
from onebrain.models import heap

log = logging.getLogger(__name__)

VECTOR_SLICE = 5.0  # seconds of embedding before the writer looks up by itself
UNDER_FIRE_EVERY, UNDER_FIRE_SLICE = 2.0, 0.5  # somebody who asks without a pause slows embedding down, but doesn't end it
STARTING_PATIENCE = 5.0  # a question waits this long for the first look at the vault
RETRY_FIRST, RETRY_LAST = 1.0, 60.0
DRAIN_SECONDS = 10.0
NICENESS = 10


Tell = Callable[[int, int], None]
"""Told of each step of a long job: done, total."""


class Applied(Protocol):
    @property
    def held_back(self) -> str | None:
        """Why removals were left out, None where none were."""
        ...

    @property
    def reasons(self) -> Sequence[str]:
        """Why more was done than the edits called for."""
        ...


class Engine(Protocol):
    """The part of a Brain that keeps an index; one caller at a time may write."""

    def apply_words(self, paths: Collection[str] | None, *, progress: Tell | None = None) -> Applied: ...

    def apply_vectors(
        self, *, budget_s: float | None = None, stop: Callable[[], bool] | None = None, progress: Tell | None = None
    ) -> int: ...

    def pending(self) -> int: ...


class Stopped(Exception):
    """Raised through a piece of work that reports its progress, to end it: the daemon stops, the next start looks again."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What the writer is doing. `doing`: `words`, `vectors`, or None while there is nothing to do; `done` of `total` where known."""

    doing: str | None = None
    done: int = 0
    total: int = 0
    why: str | None = None


class Writer:
    """`there` says whether the vault can be looked at; `auto` whether to embed without being asked to."""

    def __init__(
        self, engine: Engine, inbox: Inbox, *, auto: bool, there: Callable[[], bool], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._engine, self._inbox, self._auto, self._there, self._now = engine, inbox, auto, there, monotonic
        self._changed = threading.Condition()
        self._writing = threading.Lock()
        self._received = self._applied = 0
        self._started = self._hurry = self._stopping = False
        self._embed = auto
        self._under_fire = self._cut_short = self._settled = False
        self._embedded_at = monotonic()
        self._asking = self._waiting = 0
        self._not_before: float | None = None
        self._failures = 0
        self._drain_until = 0.0
        self._thread: threading.Thread | None = None
        self.paused = False
        self.problem: str | None = None
        self.embedding_problem: str | None = None
        self.held_back: str | None = None
        self.progress = Progress()
        self.last_worked = monotonic()
        self.last_full: float | None = None

    # what others ask of the writer

    def start(self) -> None:
        self._thread = threading.Thread(target=self._work, name="onebrain-writer", daemon=True)
        self._thread.start()

    def put(self, path: str) -> None:
        with self._changed:
            self._received += 1
            self._inbox.put(path, self._now())
            self._changed.notify_all()

    def put_all(self, why: str) -> None:
        with self._changed:
            self._received += 1
            self._inbox.put_all(why, self._now())
            self._changed.notify_all()

    def embed(self) -> None:
        """Embed what is pending, also where that isn't automatic."""
        with self._changed:
            self._embed = True
            self._changed.notify_all()

    def pause(self) -> None:
        """No embedding until `resume`. Words stay in step: a note that can't be found is worse than a busy machine."""
        with self._changed:
            self.paused = True

    def resume(self) -> None:
        with self._changed:
            self.paused = False
            self._embed = True
            self._changed.notify_all()

    def catch_up(self, seconds: float) -> bool:
        """Wait until what has been noticed so far can be found by words, `seconds` at most; whether it can."""
        with self._changed:
            target = self._received
            if self._applied >= target:
                return True
            self._hurry = True
            self._changed.notify_all()
            patience = seconds if self._started else max(seconds, STARTING_PATIENCE)
            return self._changed.wait_for(lambda: self._applied >= target or self.problem is not None, patience)

    @contextlib.contextmanager
    def asking(self) -> Iterator[None]:
        """While a question is answered embedding stands still: both want the same cores."""
        with self._changed:
            self._asking += 1
        try:
            yield
        finally:
            with self._changed:
                self._asking -= 1
                self._changed.notify_all()

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """The right to write for somebody else (`search reindex`), once the writer has put its work down."""
        with self._changed:
            self._waiting += 1
        try:
            with self._writing:
                yield
        finally:
            with self._changed:
                self._waiting -= 1
                self._changed.notify_all()

    @property
    def unindexed(self) -> int | None:
        """What waits to be found by words; None while nobody knows, for everything has to be looked at first."""
        with self._changed:
            doing, waiting = self.progress, len(self._inbox)
            if doing.doing == "words":
                known = doing.total > 0
                waiting += doing.total - doing.done
            else:
                known = self._started
            return waiting if known and not self._inbox.everything else None

    @property
    def idle(self) -> bool:
        return self.progress.doing is None and not len(self._inbox) and not self._asking and not self._waiting

    def stop(self, seconds: float = DRAIN_SECONDS) -> None:
        """Apply the words that are known to be dirty, as far as `seconds` allow, and end. The rest is found by the next full look."""
        with self._changed:
            self._stopping = self._hurry = True
            self._drain_until = self._now() + seconds
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(seconds + VECTOR_SLICE)

    # the thread

    def _work(self) -> None:
        _be_nice()
        while True:
            with self._changed:
                batch = self._next()
                mark = self._received
                if batch is not None:
                    self._working("words", batch.full or f"{len(batch.paths)} changed")
            if batch is not None:
                self._apply(batch, mark)
            elif self._stopping:
                return
            else:
                self._embed_some()

    def _next(self) -> Batch | None:
        """The next batch, or None when it is time to embed, or to stop. Waits, with the condition held."""
        while True:
            now = self._now()
            if self._stopping:
                drained = not len(self._inbox) or now >= self._drain_until or self.problem is not None
                batch = None if drained else self._inbox.take(now, hurry=True)
                # a full look may take minutes and is made at the next start anyway
                return batch if batch is None or batch.full is None else None
            if self._waiting:  # somebody else writes; we are told when they are done
                self._changed.wait()
                continue
            resting = 0.0 if self._not_before is None else min(self._not_before - now, RETRY_LAST)
            if resting <= 0:
                hurry = not self._started or (self._hurry and not self._inbox.everything)
                batch = self._inbox.take(now, hurry=hurry)
                if batch is not None:
                    self._hurry = False
                    return batch
                if self._embed_in(now) == 0:
                    self._hurry = False  # whoever was in a hurry waited for a batch that is applied by now
                    return None
            waits = [w for w in (self._inbox.due_in(now), self._embed_in(now)) if w is not None]
            self._changed.wait(max(min(waits), resting, 0.001) if waits else None)

    def _embed_in(self, now: float) -> float | None:
        """Seconds until passages may be embedded, None when there is nothing to do."""
        if not self._embed or not self._started or self.paused:
            return None
        return max(self._embedded_at + UNDER_FIRE_EVERY - now, 0.0) if self._asking else 0.0

    def _apply(self, batch: Batch, mark: int) -> None:
        if not self._there():
            self._failed(batch, "the vault isn't there (not mounted?): changes wait until it is back, the index is kept as it is")
            return
        try:
            with self._writing:
                applied = self._engine.apply_words(None if batch.full is not None else batch.paths, progress=self._report)
        except Stopped:
            return
        except OneBrainError as problem:
            self._failed(batch, f"{problem.message} {problem.hint or ''}".strip())
            return
        except Exception as fault:  # a fault of ours must not end the only writer: it is logged, shown, and repaired by a full look
            log.exception("the index could not be updated")
            self._failed(Batch(full="repair after a fault"), f"the index could not be updated ({type(fault).__name__}: {fault})")
            return
        for reason in applied.reasons:
            log.info("%s", reason)
        with self._changed:
            self._applied = mark
            self._failures = 0
            self.problem = None
            if batch.full is not None:
                self._started = True
                self.held_back = applied.held_back
                self.last_full = self._now()
            self._embed = self._embed or self._auto
            self._rest()
            self._changed.notify_all()

    def _embed_some(self) -> None:
        self._working("vectors", None)
        self._under_fire, self._cut_short = bool(self._asking), False
        began = self._now()
        slice_s = UNDER_FIRE_SLICE if self._under_fire else VECTOR_SLICE
        try:
            with self._writing:
                left = self._engine.apply_vectors(budget_s=slice_s, stop=self._interrupted, progress=self._report)
        except Stopped:
            return
        except ModelUnavailable as missing:
            self._no_embedding(f"{missing.message} {missing.hint or ''}".strip())
            return
        except OneBrainError as problem:
            self._failed(None, f"{problem.message} {problem.hint or ''}".strip())
            return
        except Exception as fault:  # as in _apply
            log.exception("passages could not be embedded")
            self._failed(Batch(full="repair after a fault"), f"passages could not be embedded ({type(fault).__name__}: {fault})")
            return
        with self._changed:
            gave_up = left > 0 and not self._cut_short and self._now() - began < slice_s
            self.embedding_problem = f"{left} passages can't be embedded: see `onebrain search status`." if gave_up else None
            self._embed = left > 0 and not gave_up  # what can't be done now is tried again with the next change
            self._embedded_at = self._now()
            self._rest()
            self._changed.notify_all()
        if not self._settled and not self._embed:
            self._settled = True
            heap.settle()

    def _no_embedding(self, why: str) -> None:
        """Search by words goes on; embedding is tried again with the next change."""
        with self._changed:
            self.embedding_problem = why
            self._embed = False
            self._rest()

    def _interrupted(self) -> bool:
        asked = self._asking and not self._under_fire
        if asked or self._stopping or self.paused or self._waiting or self._hurry or self._inbox.due_in(self._now()) == 0:
            self._cut_short = True
        return self._cut_short

    def _failed(self, batch: Batch | None, why: str) -> None:
        with self._changed:
            if why != self.problem:
                log.warning("%s", why)
            self.problem = why
            if batch is not None:
                self._inbox.put_back(batch, self._now())
            self._not_before = self._now() + min(RETRY_FIRST * 2**self._failures, RETRY_LAST)
            self._failures = min(self._failures + 1, 10)
            self._hurry = False
            self._rest()
            self._changed.notify_all()

    def retry(self) -> None:
        """Whatever made the last attempt fail may be gone (the vault is back): try at once."""
        with self._changed:
            self._not_before = None
            self._changed.notify_all()

    def _working(self, doing: str, why: str | None) -> None:
        self.progress = Progress(doing, why=why)
        self.last_worked = self._now()

    def _rest(self) -> None:
        self.progress = Progress()
        self.last_worked = self._now()

    def _report(self, done: int, total: int) -> None:
        if self._stopping and self._now() >= self._drain_until:
            raise Stopped
        now = self.progress
        self.progress = Progress(now.doing, done, total, now.why)


def _be_nice() -> None:
    """Linux knows a niceness for each thread; elsewhere the whole process would have to be slow to answer."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)

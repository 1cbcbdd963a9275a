"""A model that is loaded on first use, run by a few threads, and dropped when idle."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Generic, TypeVar

from onebrain.models.heap import release

Model = TypeVar("Model")
Item = TypeVar("Item")
Result = TypeVar("Result")

_MOST_WORKERS = 4  # more cores don't speed up one person's vault enough to take them all


def free_cores() -> int:
    """Cores this process may use; a container or `taskset` counts."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Lazy(Generic[Model]):
    """Loads once however many threads ask. `unload` never disturbs a call under way: each holds the model until it is done."""

    def __init__(self, load: Callable[[], Model], threads: int | None, name: str) -> None:
        self._load = load
        self._workers = threads or min(_MOST_WORKERS, free_cores())
        self._name = name
        self._lock = Lock()
        self._model: Model | None = None
        self._pool: ThreadPoolExecutor | None = None

    @property
    def loaded(self) -> bool:
        return self._model is not None

    def get(self) -> Model:
        """The model. Raises what `load` raises, and tries again the next time."""
        with self._lock:
            return self._get()

    def each(self, call: Callable[[Model, Item], Result], items: Sequence[Item]) -> list[Result]:
        """`call(model, item)` for every item, one item per thread at a time, results in the order of `items`."""
        with self._lock:  # submitting under the lock: `unload` then can't close the pool in between
            model = self._get()
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix=self._name)
            pending = [self._pool.submit(call, model, item) for item in items]
        return [future.result() for future in pending]

    def unload(self) -> None:
        with self._lock:
            pool, self._pool, self._model = self._pool, None, None
        if pool is not None:
            pool.shutdown(wait=False)
        release()

    def _get(self) -> Model:
        if self._model is None:
            self._model = self._load()
        return self._model

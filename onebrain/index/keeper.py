"""Keeps the vector index equal to the vectors in the manifest, and never lets anybody search one that may not be.

Opening proves it: its ids against the manifest's, then a search for vectors that are known to be in it (its own count can lie).
Any doubt ends in a reset and a refill from the manifest, without embedding anything again; until that is done exact search answers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

from onebrain.errors import OneBrainError
from onebrain.index import rows
from onebrain.index.manifest import Manifest
from onebrain.index.vectors import SAME, Hit, VectorIndex, VectorsDamaged
from onebrain.vault.library import Vector

Maker = Callable[[str], VectorIndex]
"""Makes the vector index for a model fingerprint, unopened."""

_PROBES = 20
_NEIGHBOURS = 3  # how deep a probe looks
_SYNC = 500
_RESETS = 3  # more than this within one process, and the disk or the library is at fault
_WAIT = 0.05  # seconds a search waits for a writer before it searches exactly instead


class VectorKeeper:
    """The owner's vector index. `trouble` says in words why it isn't used, where it isn't."""

    def __init__(self, manifest: Manifest, make: Maker | None) -> None:
        self._manifest = manifest
        self._make = make
        self._index: VectorIndex | None = None
        self._lock = threading.RLock()
        self._suspect = False
        self._resets = 0
        self.trouble: str | None = None

    @property
    def is_open(self) -> bool:
        return self._index is not None

    def open(self) -> bool:
        """Open and prove the vector index. False where there is none to open, or where it can't be used (see `trouble`)."""
        with self._lock:
            index = self._index or self._made()
            if index is not None and self._index is None:
                try:
                    index.open()
                    self._prove(index)
                    self._index, self.trouble, self._suspect = index, None, False
                except OneBrainError as error:
                    self._recover(index, error)
            return self._index is not None

    def warm(self) -> bool:
        """Open it, prove it and bring it in step, so that the next search goes by it. False where it can't be used."""
        if self.open():
            self.sync()
        return self.is_open

    def sync(self, stop: Callable[[], bool] = lambda: False) -> int:
        """Bring the vector index to the manifest's state: upsert what it lacks, then delete what is gone. How many were upserted.

        Opens it if there is anything to do. Ends where it can't be written (see `trouble`); the next call tries again. Safe to
        interrupt anywhere and to repeat.
        """
        done = 0
        manifest = self._manifest
        while not stop() and (self._suspect or manifest.count("unserved") or manifest.count("gone")) and self.open():
            with self._lock:
                if self._index is not None:
                    try:
                        done += self._step(self._index)
                    except OneBrainError as error:
                        self._recover(self._index, error)
                        if not self.is_open:  # an index that opens and can't be written would be opened again for ever
                            break
        if self.is_open and not manifest.count("unserved"):
            self.trouble = None
        return done

    def nearest(self, vector: Vector, *, limit: int) -> list[Hit] | None:
        """None where the vector index isn't open, is being written just now, or failed: search exactly instead."""
        if self._index is None or not self._lock.acquire(timeout=_WAIT):
            return None
        try:
            return self._index.nearest(vector, limit=limit) if self._index is not None else None
        except OneBrainError as error:
            # Not mended here: a question must not wait for a refill. The next `sync` proves it anew and finds what is wrong.
            self._suspect = True
            self._give_up(error)
            return None
        finally:
            self._lock.release()

    def reset(self) -> None:
        """Start anew, to be filled by `sync`: for another model, or when asked to."""
        with self._lock:
            index = self._index or self._made()
            self._manifest.distrust_vectors()
            if index is not None:
                try:
                    index.reset()
                    index.trust()
                    self._index = index
                except OneBrainError as error:
                    self._give_up(error)

    def close(self) -> None:
        """Give memory and files back; opened again when needed."""
        with self._lock:
            index, self._index = self._index, None
            if index is not None:
                with suppress(OneBrainError):
                    index.close()

    def _made(self) -> VectorIndex | None:
        model = self._manifest.meta("model")
        return None if self._make is None or model is None or self._resets > _RESETS else self._make(model)

    def _step(self, index: VectorIndex) -> int:
        keys, ids, matrix = self._manifest.unserved(_SYNC)
        if ids:
            index.upsert(ids, matrix)
            self._manifest.served(keys)
        else:
            gone = self._manifest.gone()
            index.delete(gone)
            self._manifest.buried(gone)
        return len(ids)

    def _recover(self, index: VectorIndex, error: OneBrainError) -> None:
        """Damage: empty the index, to be filled again. Anything else (full disk, no server): do without it for now."""
        self._index = index
        if not isinstance(error, VectorsDamaged):
            self._give_up(error)
            return
        self._resets += 1
        if self._resets > _RESETS:
            self._give_up(error)
            return
        self.reset()
        self.trouble = self.trouble or error.message

    def _prove(self, index: VectorIndex) -> None:
        """Raises VectorsDamaged unless all that was acknowledged is there and can be found."""
        manifest = self._manifest
        present = index.ids()
        served = rows.chunk_ids(manifest.connection, rows.SERVED)
        if lost := served - present:
            raise VectorsDamaged(f"{len(lost)} of {len(served)} vectors are missing from the vector index")
        manifest.bury(present - rows.chunk_ids(manifest.connection))
        sample = _spread(sorted(served), _PROBES)
        ids, matrix = rows.vectors(manifest.connection, sample)
        for chunk, vector in zip(ids, matrix, strict=True):
            # Graph search may miss a vector among many that are nearly equal; a lost one can't be read either.
            if not finds(index, vector) and not index.holds(chunk, vector):
                raise VectorsDamaged(f"the vector of {chunk} can't be found in the vector index")
        if len(ids) < len(sample):
            raise VectorsDamaged("the vector index knows vectors that the manifest lost")
        index.trust()

    def _give_up(self, error: OneBrainError) -> None:
        self.trouble = error.message
        self.close()


def finds(index: VectorIndex, vector: Vector) -> bool:
    """Whether a search for the vector comes to an equal one."""
    return any(cosine >= SAME for _, cosine in index.nearest(vector, limit=_NEIGHBOURS))


def _spread(items: Sequence[str], count: int) -> list[str]:
    """`count` items, evenly spaced; all of them where there are no more."""
    return [items[number * len(items) // count] for number in range(count)] if len(items) > count else list(items)

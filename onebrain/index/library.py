"""What a question sees of an index: `vault.library.Library` over the manifest, the word index and the vectors.

A snapshot reads one commit of the manifest for as long as it is open; passages that the word or vector index knows and the manifest
doesn't are not there. Close it: SQLite can't shorten its journal while a reader is open.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Collection, Mapping, Sequence
from types import TracebackType

from onebrain.index import rows
from onebrain.index.keeper import VectorKeeper
from onebrain.index.vectors import ExactVectors, Hit, ranked
from onebrain.vault.library import Meaning, NoteRecord, Vector, Words
from onebrain.vault.note import Chunk, Event

_FEW = 2000  # vectors read one by one sooner than all of them are loaded
_SPARE = 32  # asked of the vector index beyond the limit, for hits that have gone or wait to be replaced
_FILTERED = 8  # times as many hits are asked for when a filter follows


class Cache:
    """What snapshots of one process share: the notes and the matrix of the newest generation seen. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._notes: tuple[int, Mapping[str, NoteRecord]] = (-1, {})  # with the generation that last changed a note
        self._exact = ExactVectors()
        self._exact_generation = -1
        self._ids: dict[int, list[str]] = {}  # note row → its chunk ids in the matrix

    def notes(self, connection: sqlite3.Connection, changed: int) -> Mapping[str, NoteRecord]:
        with self._lock:
            if self._notes[0] == changed:
                return self._notes[1]
        found = rows.notes(connection)
        with self._lock:
            if changed > self._notes[0]:
                self._notes = (changed, found)
        return found

    def nearest(
        self, connection: sqlite3.Connection, generation: int, vector: Vector, limit: int, allowed: Collection[str] | None
    ) -> list[Hit]:
        with self._lock:
            if generation > self._exact_generation:
                self._update(connection)
                self._exact_generation = generation
            return self._exact.nearest(vector, limit=limit, allowed=allowed)

    def release(self) -> None:
        """Give the memory back; loaded again when needed."""
        with self._lock:
            self._notes = (-1, {})
            self._exact.reset()
            self._exact_generation = -1
            self._ids = {}

    def _update(self, connection: sqlite3.Connection) -> None:
        """Take over what changed since the generation that is loaded: of each changed note all passages, and notes that went."""
        listed = {note for (note,) in connection.execute("SELECT id FROM notes")}
        changed = {note for (note,) in connection.execute("SELECT id FROM notes WHERE generation > ?", (self._exact_generation,))}
        for note in [note for note in self._ids if note in changed or note not in listed]:
            self._exact.delete(self._ids.pop(note))
        found = connection.execute(
            "SELECT n.id, n.path, c.ordinal, v.vector FROM notes n JOIN chunks c ON c.note = n.id JOIN vectors v ON v.sha = c.sha "
            "WHERE n.generation > ? ORDER BY n.path, c.ordinal",
            (self._exact_generation,),
        )
        for batch in rows.batches(found, 5000):
            ids = [rows.chunk_id(path, ordinal) for _, path, ordinal, _ in batch]
            matrix = rows.unpack([blob for *_, blob in batch])
            if not len(self._exact):
                self._exact.reserve(rows.count(connection, "chunks"), matrix.shape[1])
            self._exact.upsert(ids, matrix)
            for (note, *_), chunk in zip(batch, ids, strict=True):
                self._ids.setdefault(note, []).append(chunk)


class Snapshot:
    """One commit of an index. A context manager; may be used by several threads of one question."""

    def __init__(self, connection: sqlite3.Connection, words: Words, cache: Cache, keeper: VectorKeeper | None = None) -> None:
        """Takes over the connection."""
        self._connection = connection
        self._words = words
        self._cache = cache
        self._keeper = keeper
        self._shown: Mapping[str, NoteRecord] | None = None
        connection.execute("BEGIN")
        self._meta = rows.meta(connection)  # the first read fixes which commit is seen

    @property
    def generation(self) -> int:
        return int(self._meta.get("generation", "0"))

    @property
    def as_of(self) -> str | None:
        """ISO time of the last commit; None before the first."""
        return self._meta.get("as_of")

    @property
    def model(self) -> str | None:
        """Fingerprint of the model that made the vectors. A question embedded by another one can't be compared with them."""
        return self._meta.get("model")

    @property
    def words(self) -> Words:
        return self._words

    @property
    def meaning(self) -> Meaning | None:
        some = self._connection.execute("SELECT EXISTS (SELECT 1 FROM vectors)").fetchone()[0]
        return _Meaning(self._connection, self.generation, self._cache, self._keeper) if some else None

    def notes(self) -> Mapping[str, NoteRecord]:
        return self._cache.notes(self._connection, int(self._meta.get("notes", "0"))) if self._shown is None else self._shown

    def hide(self, paths: Collection[str]) -> None:
        """Take notes off the list for whoever uses this snapshot: what `notes` doesn't list does not exist."""
        self._shown = {path: note for path, note in self.notes().items() if path not in paths}

    def chunks(self, ids: Sequence[str]) -> Mapping[str, Chunk]:
        return rows.chunks(self._connection, ids)

    def chunks_of(self, path: str) -> Sequence[Chunk]:
        return rows.chunks_of(self._connection, path)

    def events(self, paths: Collection[str]) -> Mapping[str, Sequence[Event]]:
        return rows.events(self._connection, paths)

    def pending(self) -> int:
        return rows.count(self._connection, "pending")

    def count(self, what: str) -> int:
        """Of `notes`, `chunks`, `vectors`, `failures`, `pending`."""
        return rows.count(self._connection, what)

    def failures(self) -> Sequence[rows.Failure]:
        return rows.failures(self._connection)

    def problems(self) -> Sequence[rows.Failure]:
        return rows.problems(self._connection)

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class _Meaning:
    """Implements `vault.library.Meaning`. Whoever finds the candidates, their cosines come from the manifest's vectors."""

    def __init__(self, connection: sqlite3.Connection, generation: int, cache: Cache, keeper: VectorKeeper | None) -> None:
        self._connection = connection
        self._generation = generation
        self._cache = cache
        self._keeper = keeper

    def nearest(self, vector: Vector, *, limit: int, allowed: Collection[str] | None = None) -> list[Hit]:
        if allowed is not None:
            few = rows.vector_ids_under(self._connection, allowed, _FEW)
            if few is not None:
                return self._ranked(vector, few, limit)
        found = self._indexed(vector, limit, allowed)
        return self._cache.nearest(self._connection, self._generation, vector, limit, allowed) if found is None else found

    def cosines(self, vector: Vector, chunk_ids: Sequence[str]) -> Mapping[str, float]:
        return dict(self._ranked(vector, chunk_ids, len(chunk_ids)))

    def vectors(self, chunk_ids: Sequence[str]) -> Mapping[str, Vector]:
        ids, matrix = rows.vectors(self._connection, chunk_ids)
        return dict(zip(ids, matrix, strict=True))

    def _ranked(self, vector: Vector, chunk_ids: Sequence[str], limit: int) -> list[Hit]:
        ids, matrix = rows.vectors(self._connection, list(dict.fromkeys(chunk_ids)))
        return ranked(ids, matrix @ vector, limit) if ids else []

    def _indexed(self, vector: Vector, limit: int, allowed: Collection[str] | None) -> list[Hit] | None:
        """By the vector index; None where exact search has to do it: no index, too much of it behind, or a filter left too little."""
        if self._keeper is None or not self._keeper.is_open:
            return None
        behind = rows.unserved_ids(self._connection, _FEW)
        if behind is None:
            return None
        found = self._keeper.nearest(vector, limit=_SPARE + limit * (1 if allowed is None else _FILTERED))
        if found is None:
            return None
        ids = [*behind, *(chunk for chunk, _ in found)]
        if allowed is not None:
            ids = [chunk for chunk in ids if rows.split_id(chunk)[0] in allowed]
        hits = self._ranked(vector, ids, limit)
        return hits if len(hits) >= limit or allowed is None else None

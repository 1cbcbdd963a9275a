"""Vectors by chunk id. Chroma is the index at size; exact search with numpy is its oracle, its stand-in, and what readers use.

Chroma is a cache of the vectors in the manifest and is treated as one: any doubt about it ends in `reset` and a refill, never in
repairs (deleting a lost id wedges a collection for good, facts/engines.md §4). Only the owner of an index may open it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import socket
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from onebrain.errors import IndexDamaged, OneBrainError
from onebrain.index.rows import Matrix, batches, split_id
from onebrain.index.storage import full
from onebrain.vault.library import Vector

Hit = tuple[str, float]  # chunk id, cosine in [-1, 1]

SAME = 0.999  # cosine of a stored vector with itself, after rounding
_UPSERT = 500
_DELETE = 5000  # Chroma takes at most 5,461 ids a call
_DECIMALS = 5  # rounding takes the last bits of float32 out of the order, so that every way of computing gives the same one
_COLLECTION = "passages"
_HNSW = {"space": "cosine", "ef_search": 300}  # at the default of 100 one neighbour in twenty is missed at rank 80, for no less time
_STATE = "state"
_SERVER_SECONDS = 10.0


class VectorsDamaged(IndexDamaged):
    """The vector index can't be trusted. Caught inside this room: it is reset, refilled, and exact search answers meanwhile."""


class VectorsUnreachable(OneBrainError):
    """The Chroma server does not answer. What it holds may be fine."""

    code = "E_VECTORS_UNREACHABLE"


class VectorIndex(Protocol):
    """Making one is free; `open` it, or `reset` it, before anything else."""

    def open(self) -> None: ...

    def trust(self) -> None:
        """What was opened has been proved good."""

    def ids(self) -> set[str]: ...

    def holds(self, chunk: str, vector: Vector) -> bool:
        """Whether this is the vector stored for the id, found by its id alone."""

    def upsert(self, ids: Sequence[str], vectors: Matrix) -> None:
        """Add or replace; `vectors` (len(ids), dim), rows of length 1, ids all different."""

    def delete(self, ids: Collection[str]) -> None:
        """Ids that aren't there are no error."""

    def nearest(self, vector: Vector, *, limit: int) -> list[Hit]:
        """Best first, ties by id."""

    def reset(self) -> None:
        """Open and empty, whatever state it was in."""

    def close(self) -> None:
        """Let go of memory and files."""


def ranked(ids: Sequence[str], cosines: NDArray[np.float32], limit: int) -> list[Hit]:
    """The `limit` best of aligned ids and cosines, ties by id."""
    if limit <= 0 or not len(ids):
        return []
    rounded = np.round(cosines.astype(np.float64), _DECIMALS)
    best = np.flatnonzero(rounded >= np.partition(rounded, -limit)[-limit]) if len(ids) > limit else np.arange(len(ids))
    return sorted(((ids[int(row)], float(rounded[row])) for row in best), key=lambda hit: (-hit[1], hit[0]))[:limit]


class ExactVectors:
    """All vectors as one matrix: 3.4 ms a search at 50,000 passages, any filter for free. Not safe for concurrent use."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._ids: list[str] = []
        self._matrix: Matrix = np.zeros((0, 0), np.float32)  # rows behind len(self._ids) are spare room
        self._notes: dict[str, int] = {}
        self._note_of: NDArray[np.int32] = np.zeros(0, np.int32)

    def __len__(self) -> int:
        return len(self._ids)

    def reserve(self, more: int, dim: int) -> None:
        """Make room at once for what comes in batches: growing by a quarter again and again copied 80,000 vectors for two seconds."""
        self._make_room(more, dim)

    def open(self) -> None:
        """Nothing to do."""

    def trust(self) -> None:
        """Nothing to do."""

    def ids(self) -> set[str]:
        return set(self._ids)

    def holds(self, chunk: str, vector: Vector) -> bool:
        return chunk in self._rows and float(self._matrix[self._rows[chunk]] @ vector) >= SAME

    def upsert(self, ids: Sequence[str], vectors: Matrix) -> None:
        if not ids:
            return
        self._make_room(len(ids), vectors.shape[1])
        for chunk in ids:
            if chunk not in self._rows:
                self._rows[chunk] = len(self._ids)
                self._note_of[len(self._ids)] = self._notes.setdefault(split_id(chunk)[0], len(self._notes))
                self._ids.append(chunk)
        self._matrix[[self._rows[chunk] for chunk in ids]] = vectors

    def delete(self, ids: Collection[str]) -> None:
        for chunk in ids:
            row = self._rows.pop(chunk, None)
            if row is None:
                continue
            last = self._ids.pop()
            if last != chunk:  # the last row fills the gap
                self._ids[row] = last
                self._rows[last] = row
                self._matrix[row] = self._matrix[len(self._ids)]
                self._note_of[row] = self._note_of[len(self._ids)]

    def nearest(self, vector: Vector, *, limit: int, allowed: Collection[str] | None = None) -> list[Hit]:
        """`allowed` holds note paths; None allows all."""
        size = len(self._ids)
        if not size:
            return []
        cosines = self._matrix[:size] @ vector
        if allowed is None:
            return ranked(self._ids, cosines, limit)
        wanted = np.zeros(len(self._notes), bool)
        wanted[[self._notes[path] for path in allowed if path in self._notes]] = True
        rows = np.flatnonzero(wanted[self._note_of[:size]])
        return ranked([self._ids[row] for row in rows], cosines[rows], limit)

    def reset(self) -> None:
        self.__init__()  # type: ignore[misc]

    def close(self) -> None:
        self.reset()

    def _make_room(self, more: int, dim: int) -> None:
        need = len(self._ids) + more
        if need > len(self._matrix) or self._matrix.shape[1] != dim:
            room = max(need, len(self._ids) * 5 // 4)
            matrix, note_of = np.zeros((room, dim), np.float32), np.zeros(room, np.int32)
            if self._ids:
                matrix[: len(self._ids)] = self._matrix[: len(self._ids)]
            note_of[: len(self._ids)] = self._note_of[: len(self._ids)]
            self._matrix, self._note_of = matrix, note_of


@dataclass(frozen=True, slots=True)
class Server:
    """A Chroma server. `collection` tells our passages from other vaults'; `token` goes along as a bearer token; `index` tells whose
    collection it is (see `owned_by`): two indexes that fill one collection would each remove what the other's notes brought."""

    url: str
    collection: str
    token: str | None = None
    index: str | None = None

    @property
    def name(self) -> str:
        """The collection's name in the letters Chroma allows."""
        return f"onebrain-{re.sub(r'[^A-Za-z0-9._-]+', '-', self.collection)}"[:200].rstrip("._-")

    def owned_by(self, directory: Path) -> Server:
        """The same index by the same name after its folder was emptied and made anew; neither machine nor folder can be read from it."""
        place = f"{socket.gethostname()}\0{directory.resolve()}"
        return replace(self, index=hashlib.sha256(place.encode("utf-8", "surrogateescape")).hexdigest()[:16])


class ChromaVectors:
    """Chroma's HNSW over cosine distance. `place` is a folder of our own, or a server. Every failure is VectorsDamaged (or
    VectorsUnreachable, or StorageFull): whatever Chroma raises, panics of its native half included."""

    def __init__(self, place: Path | Server, *, model: str) -> None:
        """`model` is the fingerprint of the vectors: on opening, those of another are thrown away."""
        self._place = place
        self._model = model
        self._client: Any = None
        self._collection: Any = None
        self._trusted = False

    def open(self) -> None:
        with self._chroma("open"):
            self._open()

    def ids(self) -> set[str]:
        with self._chroma("list"):
            return set(self._collection.get(include=[])["ids"])

    def holds(self, chunk: str, vector: Vector) -> bool:
        with self._chroma("read"):
            stored = self._collection.get(ids=[chunk], include=["embeddings"])["embeddings"]
        return len(stored) == 1 and len(stored[0]) == len(vector) and float(np.asarray(stored[0], np.float32) @ vector) >= SAME

    def upsert(self, ids: Sequence[str], vectors: Matrix) -> None:
        with self._chroma("write"):
            for rows in batches(range(len(ids)), _UPSERT):
                self._collection.upsert(ids=[ids[row] for row in rows], embeddings=vectors[rows])

    def delete(self, ids: Collection[str]) -> None:
        """Asks first which of them are there: deleting an unknown id has wedged collections."""
        with self._chroma("delete"):
            for batch in batches(ids, _DELETE):
                there = self._collection.get(ids=batch, include=[])["ids"]
                if there:
                    self._collection.delete(ids=there)

    def nearest(self, vector: Vector, *, limit: int) -> list[Hit]:
        with self._chroma("search"):
            found = self._collection.query(query_embeddings=[vector], n_results=max(1, limit), include=["distances"])
        ids, cosines = found["ids"][0], 1 - np.asarray(found["distances"][0], np.float32)
        return ranked(ids, cosines, limit)

    def trust(self) -> None:
        if isinstance(self._place, Path) and self._client is not None:
            _note(self._place, _IN_USE)
            self._trusted = True

    def reset(self) -> None:
        with self._chroma("reset"):
            if isinstance(self._place, Server):
                if self._client is None:
                    self._open()
                self._client.delete_collection(self._place.name)
                self._collection = self._collection_of(self._place.name)
            else:
                self._trusted = False
                self.close()
                _next_folder(self._place)
                self._open()

    def close(self) -> None:
        client, self._client, self._collection = self._client, None, None
        trusted, self._trusted = self._trusted, False
        if client is not None:
            with self._chroma("close"):
                sessions = _sessions(client)
                client.close()  # Chroma shares one system per folder and process; the last close ends it
                for session in sessions:
                    session.close()
                if isinstance(self._place, Path) and trusted:
                    _note(self._place, _sealed(_current_folder(self._place)))

    def _open(self) -> None:
        if isinstance(self._place, Server):
            self._client = _server_client(self._place)
            name = self._place.name
        else:
            folder = _current_folder(self._place)
            _check_state(self._place, folder)
            _note(self._place, _OPENING)
            self._client = _local_client(folder)
            name = _COLLECTION
        collection = self._collection_of(name)
        stated = collection.metadata or {}
        self._refuse_another(stated.get("index"))
        if stated.get("model") != self._model:
            self._client.delete_collection(name)
            collection = self._collection_of(name)
        elif stated != self._metadata:
            collection.modify(metadata=self._metadata)
        self._collection = collection

    @property
    def _metadata(self) -> dict[str, str]:
        owner = self._place.index if isinstance(self._place, Server) else None
        return {"model": self._model} | ({"index": owner} if owner else {})

    def _refuse_another(self, owner: object) -> None:
        place = self._place
        if isinstance(place, Server) and place.index and owner not in (None, place.index):
            self.close()
            raise VectorsUnreachable(
                f"The collection {place.name} on {place.url} is filled by another index: give this vault a search.collection of its own.",
                hint="If that index is gone for good, delete the collection on the server.",
            )

    def _collection_of(self, name: str) -> Any:
        return self._client.get_or_create_collection(
            name, embedding_function=None, metadata=self._metadata, configuration={"hnsw": _HNSW}
        )

    @contextmanager
    def _chroma(self, doing: str) -> Iterator[None]:
        try:
            yield
        except (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError, OneBrainError):
            raise
        except BaseException as error:  # a panic of Chroma's native half is a BaseException
            raise self._translated(doing, error) from error

    def _translated(self, doing: str, error: BaseException) -> OneBrainError:
        said = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:200]
        if isinstance(self._place, Server):
            return VectorsUnreachable(
                f"The Chroma server {self._place.url} failed ({doing}): {said}.", hint="Check search.chroma.url and its token."
            )
        if any(sign in str(error) for sign in ("disk is full", "No space left", "readonly database", "Read-only file system")):
            return full(self._place, said)
        return VectorsDamaged(f"The vector index in {self._place} failed ({doing}): {said}.")


def _local_client(folder: Path) -> Any:
    import chromadb  # takes half a second and 60 MB: only when vectors are really wanted
    from chromadb.config import Settings

    return chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))


def _server_client(server: Server) -> Any:
    import chromadb
    from chromadb.config import Settings

    parts = urlsplit(server.url)
    secure = parts.scheme == "https"
    client = chromadb.HttpClient(
        host=parts.hostname or "localhost",
        port=parts.port or (443 if secure else 8000),
        ssl=secure,
        headers={"Authorization": f"Bearer {server.token}"} if server.token else None,
        settings=Settings(anonymized_telemetry=False),
    )
    for session in _sessions(client):
        session.timeout = _SERVER_SECONDS
    return client


def _sessions(client: Any) -> list[Any]:
    """The HTTP sessions of a client: Chroma makes two, gives neither a time-out, and closes neither."""
    servers = [getattr(part, "_server", None) for part in (client, getattr(client, "_admin_client", None))]
    return [session for server in servers if (session := getattr(server, "_session", None)) is not None]


def _folders(place: Path) -> list[int]:
    try:
        return sorted(int(name) for name in os.listdir(place) if name.isdecimal())
    except FileNotFoundError:
        return []


def _current_folder(place: Path) -> Path:
    numbers = _folders(place)
    folder = place / str(numbers[-1] if numbers else 1)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for number in numbers[:-1]:
        shutil.rmtree(place / str(number), ignore_errors=True)
    return folder


def _next_folder(place: Path) -> None:
    """Go on in a folder of another name. A Chroma that is closing would remove files of the same name under a new one's feet
    (SQLite unlinks its journal by name), and Windows doesn't remove open files at all."""
    numbers = _folders(place)
    (place / str((numbers[-1] if numbers else 0) + 1)).mkdir(parents=True, mode=0o700)
    (place / _STATE).unlink(missing_ok=True)
    for number in numbers:
        shutil.rmtree(place / str(number), ignore_errors=True)


# Damaged files crash Chroma's native half, and the process with it, where nothing can be caught. So a folder is sealed with a digest
# of its files when it is closed, and not opened unless the digest is still right; and one whose last opening never came to an end is
# not opened again. Only damage done while a process that was then killed had it open is left to chance.
_OPENING, _IN_USE = "opening", "in use"


def _check_state(place: Path, folder: Path) -> None:
    """Raises VectorsDamaged."""
    try:
        state = (place / _STATE).read_text(encoding="ascii", errors="replace")
    except FileNotFoundError:
        return
    if state == _OPENING:
        raise VectorsDamaged(f"the last opening of the vector index in {place} never came to an end")
    if state != _IN_USE and state != _sealed(folder):
        raise VectorsDamaged(f"the files of the vector index in {place} are not as they were left")


def _note(place: Path, state: str) -> None:
    (place / _STATE).write_text(state, encoding="ascii")


def _sealed(folder: Path) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            digest.update(f"{file.relative_to(folder).as_posix()}\0{file.stat().st_size}\0".encode())
            with file.open("rb") as content:
                while block := content.read(1 << 20):
                    digest.update(block)
    return f"sealed {digest.hexdigest()}"

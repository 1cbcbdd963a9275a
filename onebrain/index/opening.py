"""An index as a whole: opened by its owner (`open_index`), or beside it for reading (`read_index`)."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from onebrain.errors import IndexDamaged, OneBrainError
from onebrain.index import owner
from onebrain.index.indexer import Indexer, WordIndex
from onebrain.index.keeper import VectorKeeper
from onebrain.index.lexical import LexicalIndex
from onebrain.index.library import Cache, Snapshot
from onebrain.index.manifest import FILE, Manifest
from onebrain.index.reading import Reader
from onebrain.index.storage import empty, open_for_reading, storage
from onebrain.index.vectors import ChromaVectors, Server
from onebrain.models.ports import Embedder


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """Facts about an index; None is unknown. Sizes are bytes on disk. `trouble` says what is wrong with it, where something is."""

    notes: int | None = None
    passages: int | None = None
    pending: int | None = None
    failed: int | None = None
    generation: int | None = None
    as_of: str | None = None
    model: str | None = None
    manifest_bytes: int | None = None
    words_bytes: int | None = None
    vectors_bytes: int | None = None
    trouble: str | None = None


class Index:
    """An open index. `indexer` is None for a reader. A context manager."""

    def __init__(self, directory: Path, words: WordIndex, indexer: Indexer | None, mine: owner.Owner | None) -> None:
        self.directory = directory
        self.indexer = indexer
        self._words = words
        self._mine = mine
        self._cache = Cache()
        self._generation = -1

    def snapshot(self) -> Snapshot:
        """The newest commit, for one question. Cheap. Raises IndexDamaged."""
        with storage(self.directory):
            connection = _connect(self.directory)
            try:
                snapshot = Snapshot(connection, self.words, self._cache, self.indexer.keeper if self.indexer else None)
                if self.indexer is None and snapshot.generation != self._generation:
                    with _reading_words(self.directory):
                        self._words.refresh()
                    self._generation = snapshot.generation
            except BaseException:
                connection.close()
                raise
        return snapshot

    @property
    def words(self) -> WordIndex:
        return self.indexer.words if self.indexer is not None else self._words

    def status(self) -> IndexStatus:
        manifest, words, vectors = (_size(self.directory / name) for name in (FILE, "words", "vectors"))
        try:
            with self.snapshot() as now:
                return IndexStatus(
                    notes=now.count("notes"),
                    passages=now.count("chunks"),
                    pending=now.pending(),
                    failed=now.count("failures"),
                    generation=now.generation,
                    as_of=now.as_of,
                    model=now.model,
                    manifest_bytes=manifest,
                    words_bytes=words,
                    vectors_bytes=vectors,
                    trouble=None if self.indexer is None else self.indexer.trouble or self.indexer.keeper.trouble,
                )
        except OneBrainError as error:
            return IndexStatus(trouble=error.message, manifest_bytes=manifest, words_bytes=words, vectors_bytes=vectors)

    def rest(self) -> None:
        """Let go of what takes memory; everything comes back when needed."""
        self._cache.release()
        if self.indexer is not None:
            self.indexer.keeper.close()

    def close(self) -> None:
        """Stores first, the lock last."""
        self._cache.release()
        if self.indexer is not None:
            self.indexer.close()
        else:
            self._words.close()
        if self._mine is not None:
            self._mine.release()

    def __enter__(self) -> Index:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def open_index(
    directory: Path,
    reader: Reader,
    *,
    embedder: Embedder | None = None,
    server: Server | None = None,
    timeout: float = 0.0,
    now_ns: Callable[[], int] = time.time_ns,
) -> Index:
    """Own the index in `directory`, made if missing, and bring it back in step after whatever happened to it.

    `server` keeps the vector index on a Chroma server instead of in the directory.

    Raises IndexBusy when another process owns it (after `timeout` seconds) and StorageFull when its folder can't be written.
    A disk that is too full to heal is told in `Indexer.trouble`: what can be read can still be searched.
    """
    mine = owner.claim(directory, timeout=timeout)
    try:
        manifest = _open_manifest(directory)
        place = server.owned_by(directory) if server else directory / "vectors"
        keeper = VectorKeeper(manifest, lambda model: ChromaVectors(place, model=model))
        indexer = Indexer(reader, manifest, lambda anew: _open_words(directory, anew), keeper, embedder, now_ns=now_ns)
    except BaseException:
        mine.release()
        raise
    index = Index(directory, indexer.words, indexer, mine)
    try:
        indexer.settle()
    except OneBrainError as error:
        indexer.trouble = error.message
    except BaseException:
        index.close()
        raise
    return index


def read_index(directory: Path) -> Index:
    """Read the index beside its owner: words, and exact search over the vectors. An index that isn't there is an empty one.

    Raises IndexDamaged.
    """
    with _reading_words(directory):
        return Index(directory, LexicalIndex(directory / "words", writable=False), None, None)


@contextmanager
def _reading_words(directory: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # damaged files of a foreign format can raise anything
        raise IndexDamaged(
            f"The word index in {directory} can't be read: {type(error).__name__}: {error}.",
            hint="The next process that owns it makes it anew: end the present one (`onebrain daemon stop`), then ask again.",
        ) from error


def _connect(directory: Path) -> sqlite3.Connection:
    try:
        return open_for_reading(directory / FILE)
    except FileNotFoundError:
        return empty()


def _open_manifest(directory: Path) -> Manifest:
    try:
        return Manifest(directory)
    except IndexDamaged as damage:
        for name in (FILE, f"{FILE}-wal", f"{FILE}-shm"):
            if (directory / name).exists():
                os.replace(directory / name, directory / f"damaged-{name}")
        manifest = Manifest(directory)
        manifest.remade = f"{damage.message} It was put aside as damaged-{FILE}; everything is indexed anew."
        return manifest


def _open_words(directory: Path, anew: bool) -> WordIndex:
    if anew:
        shutil.rmtree(directory / "words", ignore_errors=True)
    with storage(directory):
        return LexicalIndex(directory / "words", writable=True)


def _size(place: Path) -> int | None:
    """Bytes of a file with its companions, or of a folder; None where it doesn't exist. Its owner may be removing files meanwhile."""
    with suppress(FileNotFoundError):
        files = place.rglob("*") if place.is_dir() else place.parent.glob(f"{place.name}*")
        sizes = [size for file in files if (size := _file_size(file)) is not None]
        return sum(sizes) if sizes or place.is_dir() else None
    return None


def _file_size(file: Path) -> int | None:
    try:
        found = file.stat()
    except FileNotFoundError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None

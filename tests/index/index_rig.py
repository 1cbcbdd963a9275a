"""A small vault on disk with its index, for tests: real parser, real word index; vectors exact, unless a test asks for Chroma."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from onebrain.index import rows
from onebrain.index.indexer import Indexer
from onebrain.index.keeper import VectorKeeper, finds
from onebrain.index.lexical import LexicalIndex
from onebrain.index.library import Cache, Snapshot
from onebrain.index.manifest import FILE, Manifest
from onebrain.index.reading import VaultReader
from onebrain.index.storage import open_for_reading
from onebrain.index.vectors import ExactVectors
from onebrain.models.twins import HashEmbedder
from onebrain.vault.library import WordQuery
from onebrain.vault.note import Chunk

START_NS = 1_700_000_000 * 10**9
LONG_AGO = START_NS - 3600 * 10**9


class Clock:
    """A wall clock that only moves when told to."""

    def __init__(self) -> None:
        self.now = START_NS

    def __call__(self) -> int:
        return self.now


class Vault:
    """Notes are written as if an hour ago, so that the racy window is only met by tests that mean it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(exist_ok=True)
        self._ticks = 0

    def write(self, path: str, text: str | bytes, mtime_ns: int | None = None) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        self._ticks += 1
        when = LONG_AGO + self._ticks * 10**6 if mtime_ns is None else mtime_ns
        os.utime(file, ns=(when, when))

    def move(self, old: str, new: str) -> None:
        (self.root / new).parent.mkdir(parents=True, exist_ok=True)
        (self.root / old).rename(self.root / new)

    def remove(self, path: str) -> None:
        (self.root / path).unlink()


class Rig:
    """An indexer over one vault; `reopen` is what the next process does."""

    def __init__(self, base: Path, *, embedder: HashEmbedder | None = None) -> None:
        self.vault = Vault(base / "vault")
        self.directory = base / "index"
        self.directory.mkdir(exist_ok=True)
        self.clock = Clock()
        self.embedder = embedder or HashEmbedder()
        self.reader = VaultReader(self.vault.root)
        self.exact = ExactVectors()  # stands for files: it outlives a closed keeper
        self.exact.close = lambda: None  # type: ignore[method-assign]
        self.cache = Cache()
        self.open()

    def open(self) -> None:
        self.manifest = Manifest(self.directory)
        self.keeper = VectorKeeper(self.manifest, lambda model: self.exact)
        words: Callable[[bool], LexicalIndex] = lambda anew: LexicalIndex(self.directory / "words", writable=True)  # noqa: E731
        self.indexer = Indexer(self.reader, self.manifest, words, self.keeper, self.embedder, now_ns=self.clock)

    def reopen(self) -> tuple[str, ...]:
        self.indexer.close()
        self.open()
        self.indexer.settle()
        return self.indexer.told()

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        with Snapshot(open_for_reading(self.directory / FILE), self.indexer.words, self.cache, self.keeper) as snapshot:
            yield snapshot

    def found(self, *terms: str) -> set[str]:
        """Paths of notes found by words."""
        with self.snapshot() as library:
            hits = library.words.search(WordQuery({term: 1.0 for term in terms}), limit=100)
            return {chunk.path for chunk in library.chunks([hit.chunk_id for hit in hits]).values()}

    def consistent(self) -> None:
        equal(self.indexer)

    def close(self) -> None:
        self.indexer.close()


def equal(indexer: Indexer, *, vectors: bool = True) -> None:
    """Manifest, word index and vector index equal the disk: nothing lost, nothing doubled."""
    manifest, reader = indexer.manifest, indexer.reader
    disk = reader.stat_all().stats
    listed = {path: known for path, known in manifest.known().items() if known.sha256 is not None}
    failed = manifest.failed()
    assert listed.keys() | failed == disk.keys() and not listed.keys() & failed
    expected: dict[str, Chunk] = {}
    for path in listed:
        _, chunks = reader.note(path, reader.read(path))
        expected |= {chunk.id: chunk for chunk in chunks}
    assert rows.chunks(manifest.connection, list(expected)) == expected
    ids = rows.chunk_ids(manifest.connection)
    assert ids == expected.keys()
    indexer.words.refresh()
    assert indexer.words.ids() == ids
    assert manifest.journal() == []
    if vectors:
        assert manifest.count("pending") == 0 and manifest.count("unserved") == 0 and manifest.gone() == []
        index = indexer.keeper
        assert index.open() and index._index is not None
        assert index._index.ids() == ids
        names, matrix = rows.vectors(manifest.connection, sorted(ids))
        assert names == sorted(ids)
        for name, vector in list(zip(names, matrix, strict=True))[:: max(1, len(names) // 25)]:
            assert finds(index._index, vector) or index._index.holds(name, vector), name

"""What things cost, in operations rather than seconds: a slow path that creeps in fails here, on any machine and under any load."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from onebrain.index import rows
from onebrain.index.indexer import Indexer
from onebrain.index.keeper import VectorKeeper
from onebrain.index.lexical import LexicalIndex
from onebrain.index.library import Cache, Snapshot
from onebrain.index.manifest import FILE, Manifest
from onebrain.index.reading import VaultReader
from onebrain.index.storage import open_for_reading
from onebrain.index.vectors import ExactVectors
from onebrain.models.twins import HashEmbedder, OverlapReranker
from onebrain.search.question import Request
from onebrain.search.searcher import Models, Searcher

WORDS = [f"{a}{b}{c}" for a in ("ba", "de", "ki", "lo", "mu") for b in ("ra", "ne", "si", "to") for c in ("lan", "mer", "dis", "vok")]


class Counted(VaultReader):
    """A vault that counts what is done to it."""

    counts: Counter[str] = Counter()

    def stat(self, path: str) -> Any:
        self.counts["stat"] += 1
        return super().stat(path)

    def stat_all(self) -> Any:
        self.counts["walk"] += 1
        return super().stat_all()

    def read(self, path: str) -> bytes:
        self.counts["read"] += 1
        return super().read(path)

    def note(self, path: str, raw: bytes) -> Any:
        self.counts["parse"] += 1
        return super().note(path, raw)


class Vault:
    """An indexed vault of `notes` notes with three passages each, and its counters."""

    def __init__(self, base: Path, notes: int) -> None:
        self.root, self.directory = base / "vault", base / "index"
        self.root.mkdir(parents=True)
        self.directory.mkdir()
        self.chance = random.Random(1)
        for number in range(notes):
            self.write(number)
        self.counts: Counter[str] = Counter()
        Counted.counts = self.counts
        self.embedder = HashEmbedder()
        self.manifest = Manifest(self.directory)
        self.manifest.connection.set_trace_callback(self._traced)
        self.cache = Cache()
        exact = ExactVectors()
        keeper = VectorKeeper(self.manifest, lambda model: exact)
        self.indexer = Indexer(Counted(self.root), self.manifest, self._words, keeper, self.embedder)
        self.indexer.reindex()
        self.start()

    def _words(self, anew: bool) -> LexicalIndex:
        words = LexicalIndex(self.directory / "words", writable=True)
        replace = words.replace

        def counted(notes: Iterable[Any], *rest: Any, **more: Any) -> None:
            self.counts["word commit"] += 1
            replace(notes, *rest, **more)

        words.replace = counted  # type: ignore[method-assign]
        return words

    def _traced(self, sql: str) -> None:
        self.counts["transaction"] += sql == "COMMIT"
        self.counts["statement"] += 1

    def write(self, number: int, last: str = "") -> str:
        chance = random.Random(number)
        parts = [f"## Part {part}\n\n{' '.join(chance.choices(WORDS, k=80))}\n" for part in range(2)]
        name = f"note-{number:03}.md"
        (self.root / name).write_text(f"# Note {number}\n\n" + "\n".join(parts) + f"\n## Last\n\n{last or 'The end.'}\n", encoding="utf-8")
        return name

    def start(self) -> None:
        """Count from here."""
        self.manifest.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self.counts.clear()
        self.embedder.embedded.clear()
        self._files = self._sizes()

    def _sizes(self) -> dict[str, int]:
        return {str(file): file.stat().st_size for file in self.directory.rglob("*") if file.is_file()}

    def written(self) -> int:
        """Bytes of files that are new or have grown since `start`; nothing here writes into the middle of one."""
        return sum(size - min(size, self._files.get(file, 0)) for file, size in self._sizes().items())

    def close(self) -> None:
        self.indexer.close()


@pytest.fixture
def vault_of(tmp_path: Path) -> Any:
    made: list[Vault] = []

    def make(notes: int) -> Vault:
        made.append(Vault(tmp_path / str(notes), notes))
        return made[-1]

    yield make
    for vault in made:
        vault.close()


def test_one_edit_reads_one_note_and_embeds_one_passage(vault_of: Callable[[int], Vault]) -> None:
    vault = vault_of(40)
    name = vault.write(7, "The end was another one.")
    result = vault.indexer.reindex([name])
    assert result.updated == 1 and result.embedded == 1
    assert vault.embedder.embedded == ["Note 7\nLast\nThe end was another one."]
    assert vault.counts["parse"] == 1 and vault.counts["word commit"] == 1 and vault.counts["walk"] == 0
    assert vault.counts["read"] <= 2  # its digest, then itself
    assert vault.counts["transaction"] <= 5
    assert vault.counts["statement"] <= 75


def test_an_edit_costs_the_same_in_a_large_vault(vault_of: Callable[[int], Vault]) -> None:
    spent: list[Counter[str]] = []
    bytes_: list[int] = []
    for notes in (20, 120):
        vault = vault_of(notes)
        vault.indexer.apply_words(vault.indexer.plan([vault.write(7, "The end was another one.")]))
        vault.indexer.apply_vectors()
        spent.append(+vault.counts)
        bytes_.append(vault.written())
    assert spent[0] == spent[1]
    assert bytes_[1] <= bytes_[0] * 1.5 and bytes_[1] < 150_000, bytes_


def test_catching_up_with_an_unchanged_vault_reads_and_writes_nothing(vault_of: Callable[[int], Vault]) -> None:
    vault = vault_of(40)
    for file in vault.root.iterdir():  # written long ago: right after a save, equal times would not prove equal content
        os.utime(file, (1_600_000_000, 1_600_000_000))
    vault.indexer.reindex()
    vault.start()
    result = vault.indexer.reindex()
    assert result.unchanged == 40
    assert [vault.counts[what] for what in ("read", "parse", "word commit")] == [0, 0, 0] and vault.counts["walk"] == 1
    assert vault.embedder.embedded == [] and vault.written() == 0
    assert vault.counts["statement"] <= 26


def test_a_question_asks_as_much_of_a_large_index_as_of_a_small_one(vault_of: Callable[[int], Vault]) -> None:
    spent: list[Counter[str]] = []
    for notes in (40, 120):
        vault = vault_of(notes)
        asked: Counter[str] = Counter()
        connection = open_for_reading(vault.directory / FILE)
        with Snapshot(connection, vault.indexer.words, vault.cache, vault.indexer.keeper) as library:
            searcher = Searcher(library, Models(vault.embedder, OverlapReranker()))
            searcher.ask(Request(f"what is {WORDS[3]} {WORDS[9]}?", now=date(2026, 1, 1)))  # the note list is read once a commit
            connection.set_trace_callback(lambda sql: asked.update([" ".join(sql.split()[:2])]))  # noqa: B023
            searcher.ask(Request(f"what is {WORDS[4]} {WORDS[8]}?", now=date(2026, 1, 1)))
        spent.append(asked)
    assert sum(spent[1].values()) <= 12, spent[1]
    assert sum(spent[1].values()) <= sum(spent[0].values()) + 2, spent


def test_an_index_stays_small(vault_of: Callable[[int], Vault]) -> None:
    vault = vault_of(60)
    notes = sum(file.stat().st_size for file in vault.root.iterdir())
    words = sum(file.stat().st_size for file in (vault.directory / "words").iterdir())
    postings = 60 * 2 * 70
    assert words < 6 * postings + 20_000, words
    [(vectors, size)] = vault.manifest.connection.execute("SELECT COUNT(*), MAX(length(vector)) FROM vectors").fetchall()
    assert vectors == 60 * 3 and size == vault.embedder.dim  # a byte a number
    assert (vault.directory / FILE).stat().st_size < 4 * notes


def test_equal_passages_are_embedded_once(vault_of: Callable[[int], Vault]) -> None:
    vault = vault_of(5)
    (vault.root / "copy.md").write_text((vault.root / "note-003.md").read_text("utf-8"), encoding="utf-8")
    vault.indexer.reindex()
    assert vault.embedder.embedded == []


HEAVY = ("numpy", "whoosh", "chromadb", "onnxruntime", "fastembed", "tokenizers", "watchdog", "starlette", "uvicorn", "mcp", "pydantic")


def modules_after(code: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_help_starts_light() -> None:
    loaded = modules_after("from onebrain.cli import direct\ndirect.main(['--help'])")
    assert not loaded & {*HEAVY, "sqlite3"}
    assert len(loaded) < 220, len(loaded)


def test_the_thin_client_starts_lighter() -> None:
    loaded = modules_after("from onebrain.daemon import client")
    assert not loaded & {*HEAVY, "typer", "rich", "dataclasses", "pathlib", "typing", "socket"}
    assert len(loaded) < 75, len(loaded)


def test_an_index_is_opened_without_the_vector_engine_and_the_models() -> None:
    assert not modules_after("import onebrain.brain") & {"chromadb", "onnxruntime", "fastembed", "tokenizers", "watchdog"}


def test_vectors_survive_packing() -> None:
    import numpy as np

    vectors = rows.normalised(np.random.default_rng(1).standard_normal((200, 384)).astype(np.float32))
    kept = rows.unpack([rows.pack(vector) for vector in vectors])
    assert float(np.abs(kept @ vectors.T - vectors @ vectors.T).max()) < 0.004
    assert float((kept * vectors).sum(axis=1).min()) > 0.9999
    assert rows.unpack([rows.pack(np.zeros(8, np.float32))]).tolist() == [[0.0] * 8]


def test_sqlite_can_be_traced() -> None:
    """The counts above rest on it."""
    seen: list[str] = []
    connection = sqlite3.connect(":memory:")
    connection.set_trace_callback(seen.append)
    connection.execute("SELECT 1")
    connection.close()
    assert seen == ["SELECT 1"]

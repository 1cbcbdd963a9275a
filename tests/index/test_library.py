"""What a question sees: one commit, whatever happens meanwhile; vectors by index or exactly, with the same answer."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from index_rig import Rig, Vault

from onebrain.index import library as module
from onebrain.index.library import Cache, _Meaning
from onebrain.index.opening import open_index, read_index
from onebrain.index.reading import VaultReader
from onebrain.index.vectors import ranked
from onebrain.models.twins import HashEmbedder
from onebrain.vault.note import Chunk, EventKind, LinkKind, Source, Status

ADR = """---
status: accepted
date: 2026-03-04
tags: [storage, db/sqlite]
aliases: [The database choice]
---
# 7. Use SQLite

## Decision

We decided to use SQLite because one file is enough. See [[Hub]].
"""


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    made = Rig(tmp_path)
    yield made
    made.close()


def test_a_note_comes_back_as_it_was_read(rig: Rig) -> None:
    rig.vault.write("decisions/0007-use-sqlite.md", ADR)
    rig.vault.write("Hub.md", "# Hub\n\nAll about it: [[0007-use-sqlite]]")
    rig.indexer.reindex()
    path = "decisions/0007-use-sqlite.md"
    read, chunks = rig.reader.note(path, rig.reader.read(path))
    with rig.snapshot() as library:
        assert list(library.notes()) == ["Hub.md", path]
        note = library.notes()[path]
        assert (note.title, note.source, note.status, note.date) == (read.title, read.source, Status.ACTIVE, "2026-03-04")
        assert (note.tags, note.aliases) == (("storage", "db/sqlite"), ("The database choice",))
        assert note.links == note.backlinks == (("Hub.md", LinkKind.LINK),)
        assert note.source is Source.DECISION and note.has_events and not library.notes()["Hub.md"].has_events
        assert note.size == len(ADR) and len(note.sha256) == 64
        assert library.events([path, "Hub.md", "unknown.md"]) == {path: list(read.events)}
        assert read.events[0].kind is EventKind.RECORD
        assert tuple(library.chunks_of(path)) == chunks and library.chunks_of("unknown.md") == []


def test_chunks_come_in_the_order_asked_for_and_unknown_ones_are_left_out(rig: Rig) -> None:
    rig.vault.write("a#1.md", "# One\n\ntext\n\n## Two\n\nmore\n\n## Three\n\nlast")
    rig.indexer.reindex()
    with rig.snapshot() as library:
        count = len(library.chunks_of("a#1.md"))
        assert count >= 2
        asked = [f"a#1.md#{count - 1}", "a#1.md#99", "nothing", "#", "a#1.md#", "b.md#0", "a#1.md#0", "a#1.md#x"]
        assert list(library.chunks(asked)) == [f"a#1.md#{count - 1}", "a#1.md#0"]


def test_an_embed_text_that_does_not_end_with_the_passage_is_kept_as_it_is(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    real = type(rig.reader).note
    odd = Chunk("a.md#0", "a.md", 0, "H", 1, 2, "passage", "something else entirely")
    monkeypatch.setattr(type(rig.reader), "note", lambda self, path, raw: (real(self, path, raw)[0], (odd,)))
    rig.vault.write("a.md", "x")
    rig.indexer.reindex()
    assert rig.embedder.embedded == ["something else entirely"]
    with rig.snapshot() as library:
        assert library.chunks(["a.md#0"]) == {"a.md#0": odd}


def test_a_snapshot_does_not_move(rig: Rig) -> None:
    rig.vault.write("a.md", "# A\n\nbefore")
    rig.indexer.reindex()
    with rig.snapshot() as old:
        seen = old.generation, old.as_of, dict(old.notes()), old.chunks(["a.md#0"])
        rig.vault.write("a.md", "# A\n\nafterwards")
        rig.vault.write("b.md", "# B")
        rig.indexer.reindex()
        assert (old.generation, old.as_of, dict(old.notes()), old.chunks(["a.md#0"])) == seen
        with rig.snapshot() as new:
            assert new.generation > old.generation and set(new.notes()) == {"a.md", "b.md"}
            assert set(old.notes()) == {"a.md"}


def test_a_sync_that_finds_nothing_is_the_same_generation(rig: Rig) -> None:
    rig.vault.write("a.md", "# A")
    rig.indexer.reindex()
    generation = rig.manifest.generation
    rig.indexer.reindex()
    rig.reopen()
    assert rig.manifest.generation == generation


# Meaning


def filled(rig: Rig, count: int = 40) -> None:
    for i in range(count):
        rig.vault.write(f"d{i % 4}/n{i}.md", f"# Note {i}\n\nword{i} {'ab' * (i % 7)}\n\n## More\n\nsecond part number {i}")
    rig.indexer.reindex()


def by_hand(rig: Rig, query: np.ndarray, limit: int, folders: tuple[str, ...] = ("",)) -> list[tuple[str, float]]:
    """All vectors, one dot product each."""
    with rig.snapshot() as library:
        assert library.meaning is not None
        ids = [chunk.id for path in library.notes() if path.startswith(folders) for chunk in library.chunks_of(path)]
        found = library.meaning.vectors(ids)
    return ranked(list(found), np.asarray([vector @ query for vector in found.values()], np.float32), limit)


@pytest.mark.parametrize("indexed", [True, False])
def test_nearest_with_and_without_the_vector_index(rig: Rig, monkeypatch: pytest.MonkeyPatch, indexed: bool) -> None:
    filled(rig)
    query = rig.embedder.embed_query("second part number 17")
    if not indexed:
        rig.keeper.close()
    assert rig.keeper.is_open is indexed
    with rig.snapshot() as library:
        meaning = library.meaning
        assert meaning is not None
        assert meaning.nearest(query, limit=7) == by_hand(rig, query, 7)
        some = {path for path in library.notes() if path.startswith(("d1/", "d3/"))}
        for few in (module._FEW, 3):  # by the rows of the allowed notes, and by filtering
            monkeypatch.setattr(module, "_FEW", few)
            assert meaning.nearest(query, limit=7, allowed=some) == by_hand(rig, query, 7, ("d1/", "d3/"))
        assert meaning.nearest(query, limit=7, allowed=set()) == []
        assert meaning.nearest(query, limit=0) == []


def test_cosines_and_vectors_of_given_passages(rig: Rig) -> None:
    filled(rig, 4)
    query = rig.embedder.embed_query("word2")
    with rig.snapshot() as library:
        assert library.meaning is not None
        ids = [chunk.id for chunk in library.chunks_of("d2/n2.md")]
        cosines = library.meaning.cosines(query, [*ids, "unknown.md#0", ids[0]])
        assert set(cosines) == set(ids)
        texts = {chunk.id: chunk.embed_text for chunk in library.chunks(ids).values()}
        for chunk, vector in library.meaning.vectors(ids).items():
            assert vector.dtype == np.float32 and float(np.linalg.norm(vector)) == pytest.approx(1, abs=1e-6)
            assert cosines[chunk] == pytest.approx(float(rig.embedder.embed_query(texts[chunk]) @ query), abs=1e-3)


def test_vectors_that_the_index_does_not_know_yet_are_found_and_replaced_ones_are_not(rig: Rig) -> None:
    filled(rig)
    rig.vault.write("d0/n0.md", "# Note 0\n\nentirely new text about giraffes")
    rig.indexer.reindex(lex_only=True)
    query = rig.embedder.embed_query("Note 0 word0")
    with rig.snapshot() as library:
        assert library.meaning is not None and library.pending() == 1
        assert "d0/n0.md#0" not in dict(library.meaning.nearest(query, limit=5)), "its old vector must not speak for the new text"
    kept, rig.keeper.sync = rig.keeper.sync, lambda stop=None: 0  # type: ignore[method-assign,assignment,misc]
    rig.indexer.apply_vectors()
    rig.keeper.sync = kept  # type: ignore[method-assign]
    assert rig.manifest.count("unserved") == 1 and rig.keeper.is_open
    with rig.snapshot() as library:
        assert library.meaning is not None
        assert library.meaning.nearest(rig.embedder.embed_query("giraffes"), limit=1)[0][0] == "d0/n0.md#0"


def test_the_shared_matrix_follows_every_commit(rig: Rig) -> None:
    """One cache kept up to date, against a new one each time."""
    chance = random.Random(3)
    rig.keeper.close()
    for turn in range(12):
        for _ in range(3):
            there = sorted(path.relative_to(rig.vault.root).as_posix() for path in rig.vault.root.rglob("*.md"))
            name = f"d{chance.randrange(3)}/n{chance.randrange(8)}.md"
            what = chance.random()
            if what < 0.6 or not there:
                rig.vault.write(name, f"# T\n\nword{chance.randrange(50)}\n\n## B\n\nturn {turn}")
            elif what < 0.8:
                rig.vault.move(chance.choice(there), name)
            else:
                rig.vault.remove(chance.choice(there))
        rig.indexer.reindex(lex_only=chance.random() < 0.3)
        query = rig.embedder.embed_query(f"word{chance.randrange(50)}")
        with rig.snapshot() as library:
            fresh = _Meaning(library._connection, library.generation, Cache(), None)
            kept = _Meaning(library._connection, library.generation, rig.cache, None)
            assert kept.nearest(query, limit=50) == fresh.nearest(query, limit=50)


def test_memory_is_given_back_and_comes_again(rig: Rig) -> None:
    filled(rig, 4)
    rig.keeper.close()
    query = rig.embedder.embed_query("word1")
    with rig.snapshot() as library:
        assert library.meaning is not None
        before = library.meaning.nearest(query, limit=3), library.notes()
        rig.cache.release()
        assert len(rig.cache._exact) == 0
        assert (library.meaning.nearest(query, limit=3), library.notes()) == before


# The index as a whole


def test_status_tells_what_is_known_and_memory_is_given_back(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "vault")
    vault.write("a.md", "# A\n\ntext")
    vault.write("b.md", "---\ntags: [x\n---\nodd but indexed")
    with read_index(tmp_path / "index") as nobody:
        empty = nobody.status()
        assert (empty.notes, empty.as_of, empty.manifest_bytes, empty.vectors_bytes) == (0, None, None, None)
    with open_index(tmp_path / "index", VaultReader(vault.root), embedder=HashEmbedder()) as index:
        assert index.indexer is not None and index.indexer.told() == () and index.status().trouble is None
        index.indexer.reindex(lex_only=True)
        assert (index.status().passages, index.status().pending, index.status().vectors_bytes) == (2, 2, None)
        assert not index.indexer.keeper.is_open, "Chroma is not even imported while there is nothing to put into it"
        index.indexer.apply_vectors()
        status = index.status()
        assert (status.notes, status.passages, status.pending, status.failed, status.model) == (2, 2, 0, 0, "hash-3gram-1")
        assert status.as_of is not None and status.generation and status.trouble is None
        assert status.manifest_bytes and status.words_bytes and status.vectors_bytes
        assert index.indexer.keeper.is_open
        index.rest()
        assert not index.indexer.keeper.is_open
        with index.snapshot() as library:
            assert library.meaning is not None and len(library.meaning.nearest(HashEmbedder().embed_query("text"), limit=5)) == 2
            assert [problem.path for problem in library.problems()] == ["b.md"] and library.failures() == []
        assert index.indexer.keeper.warm() and index.indexer.keeper.is_open


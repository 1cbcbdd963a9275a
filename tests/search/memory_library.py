"""An in-memory `Library` made from Markdown texts by the real parser, chunker and word index, for tests of the search room."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np

from onebrain.index.lexical import LexicalIndex, LexNote
from onebrain.models.ports import Embedder
from onebrain.models.twins import HashEmbedder
from onebrain.vault.chunk import chunk
from onebrain.vault.library import NoteRecord, Vector, Words
from onebrain.vault.links import LinkResolver
from onebrain.vault.note import Chunk, Event, LinkKind
from onebrain.vault.parse import read_note


class MemoryLibrary:
    generation = 1

    def __init__(self, directory: Path, texts: Mapping[str, str], embedder: Embedder | None = None) -> None:
        self.embedder = embedder or HashEmbedder()
        notes = [read_note(path, text.encode()) for path, text in texts.items()]
        self._of = {note.path: chunk(note) for note in notes}
        self._chunks = {c.id: c for chunks in self._of.values() for c in chunks}
        words = LexicalIndex(directory / "words", writable=True)
        words.replace([LexNote(n.path, n.title, n.aliases, n.tags, self._of[n.path], n.source.value) for n in notes])
        self.words: Words = words
        resolver = LinkResolver(list(texts), {n.path: n.aliases for n in notes if n.aliases}, {n.path: n.title for n in notes})
        forward = {n.path: resolver.links(n) for n in notes}
        back: dict[str, list[tuple[str, LinkKind]]] = {n.path: [] for n in notes}
        for path, links in forward.items():
            for target, kind in links:
                back[target].append((path, kind))
        self._events = {n.path: n.events for n in notes}
        self._notes = {
            n.path: NoteRecord(n.path, n.title, n.source, n.aliases, n.tags, n.date, n.status, n.type, "", 0, 0, forward[n.path],
                               tuple(back[n.path]), bool(n.events))
            for n in notes
        }  # fmt: skip
        self._ids = sorted(self._chunks)
        self._matrix = self.embedder.embed_passages([self._chunks[i].embed_text for i in self._ids])

    @property
    def meaning(self) -> MemoryLibrary:
        return self

    def notes(self) -> Mapping[str, NoteRecord]:
        return self._notes

    def chunks(self, ids: Sequence[str]) -> Mapping[str, Chunk]:
        return {i: self._chunks[i] for i in ids if i in self._chunks}

    def chunks_of(self, path: str) -> Sequence[Chunk]:
        return self._of.get(path, ())

    def events(self, paths: Collection[str]) -> Mapping[str, Sequence[Event]]:
        return {path: self._events[path] for path in paths}

    def pending(self) -> int:
        return 0

    def nearest(self, vector: Vector, *, limit: int, allowed: Collection[str] | None = None) -> list[tuple[str, float]]:
        cosines = self.cosines(vector, [i for i in self._ids if allowed is None or i.rpartition("#")[0] in allowed])
        return sorted(cosines.items(), key=lambda item: (-item[1], item[0]))[:limit]

    def cosines(self, vector: Vector, chunk_ids: Sequence[str]) -> Mapping[str, float]:
        return {i: float(np.dot(v, vector)) for i, v in self.vectors(chunk_ids).items()}

    def vectors(self, chunk_ids: Sequence[str]) -> Mapping[str, Vector]:
        return {i: self._matrix[self._ids.index(i)] for i in chunk_ids if i in self._chunks}

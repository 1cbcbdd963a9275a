"""The word index: Whoosh keeps the postings, we score them.

Each passage is one Whoosh document with one indexed field. A term's weight in a posting is the sum of its occurrences, each counted by
where it stands (title ≫ headings > tags > body): the weighted term frequency of BM25F (Robertson, Zaragoza, Taylor 2004), so one posting
list a term is read instead of one a field. Postings are scored with numpy over cached arrays: Whoosh's own scorers walk them one at a
time in Python (80 ms for four terms at 48,000 passages, facts/engines.md §2).

Whoosh never sees the user's text: no query parser, no wildcards. Only the owner of the index may open it writable.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from whoosh import index as whoosh_index
from whoosh.codec.whoosh3 import W3LeafMatcher
from whoosh.fields import ID, FieldType, Schema
from whoosh.formats import Positions
from whoosh.index import clean_files
from whoosh.query import Phrase
from whoosh.scoring import BM25F

from onebrain.index.vocabulary import Vocabulary
from onebrain.text.analysis import ANALYSER_VERSION, Term, surfaces, terms
from onebrain.text.languages import language_of
from onebrain.vault.library import WordHit, WordQuery
from onebrain.vault.note import Chunk

K1, B = 1.2, 0.75  # Okapi BM25's customary values
TITLE, ALIAS, HEADING, TAG, BODY = 2.5, 2.0, 1.8, 1.2, 1.0
_FIELD_GAP = 50  # positions left free between fields, so that no phrase spans two of them
_CACHED_POSTINGS = 4_000_000
_SCHEMA_VERSION = 1

_Ints = NDArray[np.int32]
_Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class LexNote:
    """What is indexed of one note: all its passages, with the words that stand for the whole note."""

    path: str
    title: str
    aliases: tuple[str, ...]
    tags: tuple[str, ...]
    chunks: tuple[Chunk, ...]
    source: str


class _Terms(FieldType):  # type: ignore[misc]
    """A field whose value is already analysed: (term, position, weight) triples."""

    def __init__(self) -> None:
        self.format = Positions()
        self.analyzer = None
        self.scorable = True
        self.stored = False
        self.unique = False
        self.vector = None
        self.column_type = None
        self.spelling = False
        self.multitoken_query = "default"

    def index(self, value: Iterable[tuple[str, int, float]], **_: Any) -> Iterator[tuple[bytes, int, float, bytes]]:
        places: dict[str, list[int]] = {}
        weights: Counter[str] = Counter()
        for term, position, weight in value:
            places.setdefault(term, []).append(position)
            weights[term] += weight  # type: ignore[assignment]
        for term in sorted(places):
            yield term.encode(), len(places[term]), weights[term], self.format.encode(places[term])


def _weighted(note: LexNote, chunk: Chunk) -> Iterator[tuple[str, int, float]]:
    language = language_of(f"{note.title}\n{chunk.text}")
    offset = 0
    about = ((note.title, TITLE), *((alias, ALIAS) for alias in note.aliases), (" ".join(note.tags), TAG))
    for text, weight in (*about, (chunk.heading_path, HEADING), (chunk.text, BODY)):
        last = Term("", -1)
        for last in terms(text, language):
            yield last.text, offset + last.position, weight
        offset += last.position + 1 + _FIELD_GAP


@dataclass(frozen=True, slots=True)
class _Segment:
    """One immutable Whoosh segment as arrays; `live` is False where the document has been deleted."""

    name: str
    reader: Any
    ids: list[str]
    lengths: _Floats
    live: NDArray[np.bool_]

    @classmethod
    def load(cls, reader: Any, known: _Segment | None) -> _Segment:
        """`known` is the same segment as seen before: only deletions can have changed since."""
        size: int = reader.doc_count_all()
        live = np.ones(size, dtype=bool)
        live[list(reader.segment().deleted_docs())] = False
        if known is not None:
            return cls(known.name, reader, known.ids, known.lengths, live)
        lengths = np.fromiter((reader.doc_field_length(n, "terms") for n in range(size)), np.float32, size)
        return cls(reader.segment().segment_id(), reader, [reader.stored_fields(n)["id"] for n in range(size)], lengths, live)

    def read(self, term: str) -> tuple[_Ints, _Floats]:
        """Document numbers and weights of a term's postings, deleted ones included; empty where the term is unknown."""
        if ("terms", term) not in self.reader:
            return np.empty(0, np.int32), np.empty(0, np.float32)
        # `reader.postings` filters deletions one posting at a time; its matcher underneath decodes whole blocks, which is what makes
        # this fast. Both are private to Whoosh, whose version is pinned.
        matcher = self.reader._terms.matcher("terms", term.encode(), self.reader.schema["terms"].format)
        ids: list[int] = []
        weights: list[float] = []
        while matcher.is_active():
            matcher.id(), matcher.weight()
            ids.extend(matcher._ids)
            weights.extend(matcher._weights)
            if not isinstance(matcher, W3LeafMatcher):
                break  # a short list, kept whole in the term dictionary
            matcher._next_block()
        return np.asarray(ids, np.int32), np.asarray(weights, np.float32)


@dataclass(frozen=True, slots=True)
class _View:
    """One commit, as readers see it. Never changed: a search that has begun goes on undisturbed by the next commit."""

    segments: tuple[_Segment, ...] = ()
    count: int = 0
    mean_length: float = 1.0


class LexicalIndex:
    """Implements `vault.library.Words`. One writer, any number of reading threads, which see the state of the last `refresh`."""

    fingerprint: ClassVar[str] = f"words-{_SCHEMA_VERSION}.{ANALYSER_VERSION}"

    def __init__(self, directory: Path, *, writable: bool) -> None:
        self._directory = directory
        self._writable = writable
        if writable:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._index = self._open()
        self._vocabulary = Vocabulary(directory / "vocabulary.txt")
        self._view = _View()
        self._postings: OrderedDict[tuple[str, str], tuple[_Ints, _Floats]] = OrderedDict()
        self._cached = 0
        self._reading = Lock()  # Whoosh seeks in files that readers share
        self.refresh()

    def _open(self) -> Any:
        if whoosh_index.exists_in(str(self._directory)):
            return whoosh_index.open_dir(str(self._directory), readonly=not self._writable)
        if self._writable:
            return whoosh_index.create_in(str(self._directory), Schema(id=ID(stored=True), path=ID(), terms=_Terms()))
        return None

    # Writing

    def replace(self, notes: Iterable[LexNote], removed: Collection[str] = (), *, merge: bool = True) -> None:
        """One commit: `removed` paths and the old passages of each note go, the new ones come. All of it or nothing."""
        writer = self._index.writer()
        words: set[str] = set()
        try:
            for path in removed:
                writer.delete_by_term("path", path)
            for note in notes:
                writer.delete_by_term("path", note.path)
                for chunk in note.chunks:
                    writer.add_document(id=chunk.id, path=note.path, terms=tuple(_weighted(note, chunk)))
                    words.update(surfaces(chunk.embed_text))
            self._vocabulary.add(words)
            writer.commit(merge=merge)
        except BaseException:
            self._give_up(writer)
            raise
        self.refresh()

    def _give_up(self, writer: Any) -> None:
        """Free the writer's lock, which would outlive the error, and the space of half-written files, even where the disk is full."""
        try:
            writer.cancel()
        except Exception:  # a full disk: Whoosh flushes what it is about to throw away
            lock = writer.writelock
            if lock is not None and lock.fd is not None:
                lock.release()
        info = self._index._read_toc()
        clean_files(self._index.storage, self._index.indexname, info.generation, info.segments)

    def optimise(self) -> None:
        self._index.optimize()
        self.refresh()

    # Reading

    def refresh(self) -> None:
        """See the newest commit. Arrays of unchanged segments stay.

        Never hand Whoosh the old reader to reuse: 2.7.5 then keeps deleted passages and brings merged segments back.
        """
        self._index = self._index or self._open()
        if self._index is None:
            return
        known = {segment.name: segment for segment in self._view.segments}
        leaves = [leaf for leaf, _ in self._index.reader().leaf_readers() if leaf.segment() is not None]
        segments = tuple(_Segment.load(leaf, known.get(leaf.segment().segment_id())) for leaf in leaves)
        count = int(sum(s.live.sum() for s in segments))
        total = float(sum(s.lengths[s.live].sum() for s in segments))
        names = {segment.name for segment in segments}
        with self._reading:
            for key in [key for key in self._postings if key[0] not in names]:
                self._cached -= len(self._postings.pop(key)[0])
        self._view = _View(segments, count, max(1.0, total / count) if count else 1.0)

    def close(self) -> None:
        self._view = _View()
        self._postings.clear()
        if self._index is not None:
            self._index.close()
            self._index = None

    def ids(self) -> set[str]:
        return {segment.ids[n] for segment in self._view.segments for n in np.flatnonzero(segment.live)}

    def _read(self, segment: _Segment, term: str) -> tuple[_Ints, _Floats]:
        key = (segment.name, term)
        with self._reading:
            found = self._postings.get(key)
            if found is None:
                found = self._postings[key] = segment.read(term)
                self._cached += len(found[0])
                while self._cached > _CACHED_POSTINGS and len(self._postings) > 1:
                    self._cached -= len(self._postings.popitem(last=False)[1][0])
            self._postings.move_to_end(key)
        return found

    def _frequency(self, view: _View, term: str) -> int:
        return int(sum(segment.live[self._read(segment, term)[0]].sum() for segment in view.segments))

    def frequency(self, term: str) -> int:
        """How many live passages hold the term."""
        return self._frequency(self._view, term)

    def idf(self, words: Collection[str]) -> Mapping[str, float]:
        view = self._view
        return {word: _idf(view.count, self._frequency(view, word)) for word in words}

    def search(self, query: WordQuery, *, limit: int, allowed: Collection[str] | None = None) -> list[WordHit]:
        """Passages by falling score, ties by id. Only phrases and no terms: every match, at score 0."""
        view = self._view
        words: dict[str, list[tuple[str, float]]] = {}
        for term, weight in query.terms.items():
            words.setdefault(query.same.get(term, term), []).append((term, weight))
        weighed = {
            word: [(term, weight * _idf(view.count, max(self._frequency(view, t) for t, _ in named))) for term, weight in named]
            for word, named in words.items()
        }
        found = [hit for segment in view.segments for hit in self._search(view, segment, query, weighed, limit, allowed)]
        return sorted(found, key=lambda hit: (-hit.score, hit.chunk_id))[:limit]

    def _search(
        self,
        view: _View,
        segment: _Segment,
        query: WordQuery,
        weighed: Mapping[str, list[tuple[str, float]]],
        limit: int,
        allowed: Collection[str] | None,
    ) -> list[WordHit]:
        shares = {word: self._share(view, segment, named) for word, named in weighed.items()}
        score = np.sum(list(shares.values()), axis=0) if shares else np.zeros(len(segment.ids), np.float32)
        keep = segment.live & self._matches(segment, query)
        if shares:
            keep &= score > 0
        candidates = np.flatnonzero(keep)
        if allowed is not None:
            candidates = np.asarray([n for n in candidates if segment.ids[n].rpartition("#")[0] in allowed], np.int64)
        if len(candidates) > limit:
            least = np.partition(score[candidates], -limit)[-limit]
            candidates = candidates[score[candidates] >= least]
        return [
            WordHit(segment.ids[n], round(float(score[n]), 5), {word: round(float(s[n]), 5) for word, s in shares.items() if s[n] > 0})
            for n in candidates
        ]

    def _share(self, view: _View, segment: _Segment, named: list[tuple[str, float]]) -> _Floats:
        """What one word of the question adds to each document: BM25 of the best of its terms."""
        share = np.zeros(len(segment.ids), np.float32)
        for term, weight in named:
            ids, frequencies = self._read(segment, term)
            norm = K1 * (1 - B + B * segment.lengths[ids] / view.mean_length)
            share[ids] = np.maximum(share[ids], weight * frequencies * (K1 + 1) / (frequencies + norm))
        return share

    def _matches(self, segment: _Segment, query: WordQuery) -> NDArray[np.bool_]:
        """Which documents hold every phrase and no excluded term."""
        keep = np.ones(len(segment.ids), dtype=bool)
        for term in query.excluded:
            keep[self._read(segment, term)[0]] = False
        for phrase in query.phrases:
            has = np.zeros(len(segment.ids), dtype=bool)
            if len(phrase) == 1:
                has[self._read(segment, phrase[0])[0]] = True
            elif all(len(self._read(segment, term)[0]) for term in phrase):
                with self._reading:
                    has[_phrase_documents(segment.reader, phrase)] = True
            keep &= has
        return keep

    def similar(self, term: str, *, limit: int = 8) -> list[tuple[str, float]]:
        found: dict[str, float] = {}
        for surface, likeness in self._vocabulary.similar(term, limit=limit * 3):
            for spelled in terms(surface, "english"):
                if spelled.text not in found and self.frequency(spelled.text):
                    found[spelled.text] = likeness
        return sorted(found.items(), key=lambda item: (-item[1], item[0]))[:limit]

    def expand(self, prefix: str, *, limit: int = 16) -> list[str]:
        """Bounded on purpose: a union over every expansion took seconds (facts/engines.md §2)."""
        counts: Counter[str] = Counter()
        for segment in self._view.segments if prefix else ():
            with self._reading:
                for raw in segment.reader.expand_prefix("terms", prefix):
                    counts[raw.decode()] += segment.reader.doc_frequency("terms", raw)
        return sorted(counts, key=lambda term: (-counts[term], term))[:limit]


def _idf(count: int, frequency: int) -> float:
    """Robertson–Spärck Jones weight, kept positive: ln(1 + (N - df + .5)/(df + .5))."""
    return math.log1p((count - frequency + 0.5) / (frequency + 0.5))


def _phrase_documents(reader: Any, phrase: tuple[str, ...]) -> list[int]:
    from whoosh.searching import Searcher

    with Searcher(reader, weighting=BM25F(), closereader=False) as searcher:
        return list(Phrase("terms", list(phrase)).matcher(searcher).all_ids())

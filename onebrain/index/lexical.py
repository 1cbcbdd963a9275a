"""The word index: Whoosh keeps the postings, we score them.

Each passage is one Whoosh document with one indexed field. A term's weight in a posting is the sum of its occurrences, each counted by
where it stands (title ≫ headings > tags > body): the weighted term frequency of BM25F (Robertson, Zaragoza, Taylor 2004), so one posting
list a term is read instead of one a field. Postings are scored with numpy over cached arrays: Whoosh's own scorers walk them one at a
time in Python (80 ms for four terms at 48,000 passages, facts/engines.md §2).

Whoosh never sees the user's text: no query parser, no wildcards. Only the owner of the index may open it writable.
"""

from __future__ import annotations

import math
import shutil
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from whoosh import index as whoosh_index
from whoosh.columns import NumericColumn
from whoosh.fields import COLUMN, ID, FieldType, Schema
from whoosh.index import clean_files
from whoosh.util.numeric import byte_to_length

from onebrain.index import postings
from onebrain.index.rows import chunk_id
from onebrain.index.vocabulary import Vocabulary
from onebrain.text.analysis import ANALYSER_VERSION, placed, raw_words, terms
from onebrain.text.languages import language_of
from onebrain.vault.library import WordHit, WordQuery
from onebrain.vault.note import Chunk

K1, B = 1.2, 0.75  # Okapi BM25's customary values
TITLE, ALIAS, HEADING, TAG, BODY = 25, 20, 18, 12, 10  # what one occurrence counts, in tenths
_FIELD_GAP = 50  # positions left free between fields, so that no phrase spans two of them
_CACHED_POSTINGS = 4_000_000
_SCHEMA_VERSION = 2
_NAME = f"words{_SCHEMA_VERSION}"  # an index of another layout isn't seen, so that nobody stumbles over it

_Ints = NDArray[np.int64]
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
    """A field that Whoosh never analyses: its postings are given to the pool."""

    def __init__(self) -> None:
        self.format = postings.Places()
        self.analyzer = None
        self.scorable = True
        self.stored = False
        self.unique = False
        self.vector = None
        self.column_type = None
        self.spelling = False
        self.multitoken_query = "default"


def _weighted(note: LexNote, chunk: Chunk, spellings: set[str]) -> dict[str, list[int]]:
    """Term → its weight in tenths, then its positions. Words as they are spelt are added to `spellings`."""
    language = language_of(f"{note.title}\n{chunk.text}")
    found: dict[str, list[int]] = {}
    about = ((note.title, TITLE), *((alias, ALIAS) for alias in note.aliases), (" ".join(note.tags), TAG))
    position = 0
    for text, weight in (*about, (chunk.heading_path, HEADING), (chunk.text, BODY)):
        position = _gather(found, text, language, weight, position, spellings) + _FIELD_GAP
    return found


def _gather(found: dict[str, list[int]], text: str, language: str, weight: int, position: int, spellings: set[str]) -> int:
    """Count the terms of a text in; the first position after it."""
    for raw in raw_words(text):
        cut, width, spelt = placed(raw, language)
        spellings.update(spelt)
        for term, shift in cut:
            entry = found.get(term)
            if entry is None:
                found[term] = [weight, position + shift]
            else:
                entry[0] += weight
                entry.append(position + shift)
        position += width
    return position


def _add(writer: Any, path: str, chunk: Chunk, found: Mapping[str, Sequence[int]]) -> None:
    """What `writer.add_document` does, without its tuple for each posting."""
    doc, schema, document = writer.docnum, writer.schema, writer.perdocwriter
    document.start_doc(doc)
    document.add_column_value("ordinal", schema["ordinal"].column_type, chunk.ordinal)
    document.add_field("terms", schema["terms"], None, sum(map(len, found.values())) - len(found))
    document.finish_doc()
    pool: postings.Pool = writer.pool
    pool.run("path", path.encode("utf-8", "surrogatepass")).add(doc, postings.TENTHS, ())
    for term, (tenths, *places) in found.items():
        pool.run("terms", term.encode()).add(doc, tenths, places)
    writer.docnum += 1
    writer._added = True


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
        return cls(reader.segment().segment_id(), reader, _ids(reader, size), _lengths(reader, size), live)

    def read(self, term: str) -> tuple[_Ints, _Floats]:
        """Document numbers and weights of a term's postings, deleted ones included; empty where the term is unknown."""
        found = postings.read(self.reader, "terms", term.encode())
        return (np.empty(0, np.int64), np.empty(0, np.float32)) if found is None else (found.docs, found.weights)

    def with_phrase(self, phrase: tuple[str, ...]) -> _Ints:
        """Documents in which the terms stand side by side."""
        meeting: _Ints | None = None
        for shift, term in enumerate(phrase):
            found = postings.read(self.reader, "terms", term.encode())
            if found is None:
                return np.empty(0, np.int64)
            docs, places = found.places()
            begins = (docs << 32) + places - shift  # where the phrase would have to begin
            meeting = begins if meeting is None else np.intersect1d(meeting, begins)
        return np.empty(0, np.int64) if meeting is None else np.unique((meeting + len(phrase)) >> 32)


def _ids(reader: Any, size: int) -> list[str]:
    """Chunk ids by document number. A path is kept once a segment, as a term, and a document's ordinal in a column."""
    ids = [""] * size
    ordinals = reader.column_reader("ordinal")
    for path in reader.lexicon("path"):
        name, found = path.decode("utf-8", "surrogatepass"), postings.read(reader, "path", path)
        for doc in found.docs.tolist() if found is not None else ():
            ids[doc] = chunk_id(name, ordinals[doc])
    return ids


def _lengths(reader: Any, size: int) -> _Floats:
    """Terms of each document, as Whoosh rounds them."""
    column = reader._perdoc._cached_reader("_terms_len", NumericColumn("B", default=0))
    table = np.array([byte_to_length(byte) if byte else 0 for byte in range(256)], np.float32)
    return table[[column[doc] for doc in range(size)]] if column is not None else np.zeros(size, np.float32)


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
        self._index = self._open()
        self._vocabulary = Vocabulary(directory / "vocabulary.txt")
        self._view = _View()
        self._postings: OrderedDict[tuple[str, str], tuple[_Ints, _Floats]] = OrderedDict()
        self._cached = 0
        self._reading = Lock()  # Whoosh seeks in files that readers share
        self.refresh()

    def _open(self) -> Any:
        if whoosh_index.exists_in(str(self._directory), indexname=_NAME):
            return whoosh_index.open_dir(str(self._directory), indexname=_NAME, readonly=not self._writable)
        if self._writable:
            shutil.rmtree(self._directory, ignore_errors=True)  # whatever is there is of another layout
            self._directory.mkdir(parents=True, mode=0o700, exist_ok=True)
            schema = Schema(path=ID(), ordinal=COLUMN(NumericColumn("I")), terms=_Terms())
            return whoosh_index.create_in(str(self._directory), schema, indexname=_NAME)
        return None

    # Writing

    def replace(self, notes: Iterable[LexNote], removed: Collection[str] = (), *, merge: bool = True) -> None:
        """One commit: `removed` paths and the old passages of each note go, the new ones come. All of it or nothing."""
        writer = self._index.writer(codec=postings.Codec())
        writer.pool = postings.Pool()
        words: set[str] = set()
        try:
            for path in removed:
                writer.delete_by_term("path", path)
            for note in notes:
                writer.delete_by_term("path", note.path)
                for chunk in note.chunks:
                    _add(writer, note.path, chunk, _weighted(note, chunk, words))
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
                    has[segment.with_phrase(phrase)] = True
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

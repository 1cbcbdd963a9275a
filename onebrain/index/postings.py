"""How postings lie on the disk: a codec for Whoosh.

Whoosh pickles and compresses every posting list and every posting in it on its own: 20 bytes a posting, and half of the time it takes to
write an index. Here a term's postings are four runs of variable-length numbers (LEB128): gaps between document numbers, weights in
tenths, how many positions each document has, and gaps between those positions. That is 5 bytes a posting before compression, can be
gathered while documents come in, and decodes as whole arrays. Everything else (dictionary, columns, segments, commits) is Whoosh's.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from whoosh.codec.whoosh3 import W3Codec, W3FieldWriter, W3TermInfo
from whoosh.formats import Format
from whoosh.matching import ListMatcher

TENTHS = 10  # weights are kept as whole tenths
_WORTH_COMPRESSING = 96  # bytes; below that zlib adds more than it saves

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]


def number(value: int) -> bytes:
    """LEB128: seven bits a byte, lowest first, the high bit set on all but the last."""
    if value < _TABLED:
        return _TABLE[value]
    return _number(value)


def _number(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


_TABLED = 4096  # gaps are rarely wider, and a look-up is several times faster
_TABLE = tuple(_number(value) for value in range(_TABLED))
_ONE = _TABLE[1]


def numbers(data: bytes) -> Ints:
    """Every number of a run."""
    raw = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(raw < 128)
    if len(ends) == len(raw):
        return raw.astype(np.int64)
    sizes = np.diff(ends, prepend=-1)
    starts = ends + 1 - sizes
    shift = (np.arange(len(raw)) - np.repeat(starts, sizes)) * 7
    return np.add.reduceat((raw & 127).astype(np.int64) << shift, starts)


class Run:
    """The postings of one term while they are gathered, by rising document number."""

    __slots__ = ("count", "counts", "docs", "last", "places", "weights")

    def __init__(self) -> None:
        self.count = self.last = 0
        self.docs, self.weights, self.counts, self.places = bytearray(), bytearray(), bytearray(), bytearray()

    def add(self, doc: int, tenths: int, places: Sequence[int]) -> None:
        """Positions rise."""
        gap = doc - self.last
        self.docs += _TABLE[gap] if gap < _TABLED else _number(gap)
        self.weights += _TABLE[tenths] if tenths < _TABLED else _number(tenths)
        self.counts += _ONE if len(places) == 1 else number(len(places))
        before = 0
        for place in places:
            gap, before = place - before, place
            self.places += _TABLE[gap] if gap < _TABLED else _number(gap)
        self.last = doc
        self.count += 1

    def add_encoded(self, doc: int, tenths: int, places: bytes) -> None:
        """`places` as `Postings.each_places` gives them."""
        self.docs += number(doc - self.last)
        self.weights += number(tenths)
        self.counts += number(sum(byte < 128 for byte in places))
        self.places += places
        self.last = doc
        self.count += 1

    def packed(self) -> bytes:
        """A byte that tells whether the rest is compressed, the lengths of the first three runs, then all four."""
        runs = (self.docs, self.weights, self.counts)
        body = b"".join((*(number(len(run)) for run in runs), *runs, self.places))
        if len(body) >= _WORTH_COMPRESSING:
            small = zlib.compress(body, 6)
            if len(small) < len(body):
                return b"\x01" + small
        return b"\x00" + body


@dataclass(frozen=True, slots=True)
class Postings:
    """A term's postings: (n,) document numbers and weights; positions are decoded when asked for."""

    docs: Ints
    weights: Floats
    _counts: bytes
    _places: bytes

    @classmethod
    def of(cls, packed: bytes) -> Postings:
        body = zlib.decompress(packed[1:]) if packed[0] else packed[1:]
        ends, at = [], 0
        for _ in range(3):
            size, shift = 0, 0
            while body[at] > 127:
                size |= (body[at] & 127) << shift
                shift, at = shift + 7, at + 1
            size |= body[at] << shift
            ends.append(size)
            at += 1
        docs, weights, counts = (body[at + sum(ends[:n]) : at + sum(ends[: n + 1])] for n in range(3))
        tenths = numbers(weights).astype(np.float64) / TENTHS
        return cls(np.cumsum(numbers(docs)), tenths.astype(np.float32), counts, body[at + sum(ends) :])

    def places(self) -> tuple[Ints, Ints]:
        """(document, position) of every occurrence, in order."""
        counts, steps = numbers(self._counts), numbers(self._places)
        total = np.cumsum(steps)
        starts = np.cumsum(counts) - counts
        before = np.where(starts > 0, total[np.maximum(starts - 1, 0)], 0) if len(total) else starts
        return np.repeat(self.docs, counts), total - np.repeat(before, counts)

    def each_places(self) -> Iterator[bytes]:
        """The encoded positions of each document, as `Run.add_encoded` takes them."""
        ends = np.flatnonzero(np.frombuffer(self._places, np.uint8) < 128) + 1
        last = start = 0
        for count in numbers(self._counts).tolist():
            last += count
            end = int(ends[last - 1]) if last else 0
            yield self._places[start:end]
            start = end


class Pool:
    """Stands in for Whoosh's pool of postings, which keeps a tuple for each and sorts them in the end."""

    def __init__(self) -> None:
        self._fields: defaultdict[str, dict[bytes, Run]] = defaultdict(dict)

    def run(self, field: str, term: bytes) -> Run:
        runs = self._fields[field]
        run = runs.get(term)
        if run is None:
            run = runs[term] = Run()
        return run

    def add(self, item: tuple[str, bytes, int, float, bytes | None]) -> None:
        """One posting as Whoosh hands it over when it merges segments."""
        field, term, doc, weight, places = item
        self.run(field, term).add_encoded(doc, round(weight * TENTHS), places or b"")

    def iter_postings(self) -> Iterator[tuple[str, bytes, Run]]:
        for field in sorted(self._fields):
            runs = self._fields[field]
            for term in sorted(runs):
                yield field, term, runs[term]

    def cleanup(self) -> None:
        self._fields.clear()


class Places(Format):  # type: ignore[misc]
    """Tells Whoosh that values are opaque bytes: only this module reads positions."""

    def __init__(self) -> None:
        super().__init__()

    def fixed_value_size(self) -> None:
        return None


class Codec(W3Codec):  # type: ignore[misc]
    """Kept by name in the index's table of contents: to move or rename it is to change the format."""

    length_stats = False

    def field_writer(self, storage: Any, segment: Any) -> Any:
        return _FieldWriter(self, storage, segment)

    def postings_reader(self, file: Any, info: Any, format_: Any, term: Any = None, scorer: Any = None) -> Any:
        found = Postings.of(_bytes(file, info))
        values = list(found.each_places())
        return ListMatcher(found.docs.tolist(), found.weights.tolist(), values, format_, scorer=scorer, term=term, terminfo=info)


class _FieldWriter(W3FieldWriter):  # type: ignore[misc]
    def add_postings(self, schema: Any, lengths: Any, items: Iterable[tuple[str, bytes, Run]]) -> None:
        for field, term, run in items:
            number_of_field = self._fieldmap.setdefault(field, len(self._fieldmap))
            packed = run.packed()
            info = W3TermInfo()
            info._df = run.count
            info._maxid = run.last
            info.set_extent(self._postfile.tell(), len(packed))
            self._postfile.write(packed)
            self._tindex.add(number_of_field.to_bytes(2, "big") + term, info.to_bytes())


def read(reader: Any, field: str, term: bytes) -> Postings | None:
    """The postings of a term in one segment, deleted documents included. None where the term is unknown.

    Goes past `reader.postings`, which filters deletions one posting at a time. Private to Whoosh, whose version is pinned.
    """
    terms = reader._terms
    if (field, term) not in terms:
        return None
    return Postings.of(_bytes(terms._postfile, terms.term_info(field, term)))


def _bytes(file: Any, info: Any) -> bytes:
    offset, length = info.extent()
    return bytes(file.get(offset, length[0] if isinstance(length, tuple) else length))  # Whoosh reads the length back as a tuple

"""Values to rows and back: the one place that knows the columns. Functions of a connection, for the writer and for readers alike."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from onebrain.vault.library import NoteRecord, Vector
from onebrain.vault.note import Chunk, Event, EventKind, Link, LinkKind, Source, Status

Matrix = NDArray[np.float32]  # (n, dim), rows L2-normalised
T = TypeVar("T")

NO_VECTOR, HAS_VECTOR, SERVED = 0, 1, 2
"""How far a passage's vector has come: still to be embedded, kept in the manifest, known to the vector index as well."""

_SHA_BYTES = 16
_LEVELS = 127
_CHUNK = "n.path, c.ordinal, c.heading_path, c.line_start, c.line_end, c.text, c.lead, c.embed_text"


@dataclass(frozen=True, slots=True)
class Failure:
    """A note that could not be indexed, or was indexed although something about it is odd."""

    path: str
    reason: str
    line: int | None = None


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


def chunk_id(path: str, ordinal: int) -> str:
    return f"{path}#{ordinal}"


def split_id(chunk: str) -> tuple[str, int]:
    """Path and ordinal of a chunk id. A path may hold `#` itself; the last one counts. Raises ValueError for no such id."""
    path, mark, ordinal = chunk.rpartition("#")
    if not mark:
        raise ValueError(f"{chunk!r} is not a chunk id")
    return path, int(ordinal)


def vector_key(embed_text: str) -> bytes:
    """The first 128 bits of the text's sha256: equal texts share one vector."""
    return hashlib.sha256(embed_text.encode("utf-8", "surrogatepass")).digest()[:_SHA_BYTES]


def pack(vector: Vector) -> bytes:
    """One byte a number, the largest at 127. Lengths are lost, and unit vectors have none to lose. Measured on 4,000 passages of e5:
    cosines move by 0.0002 (root mean square) and 0.001 at most."""
    most = float(np.abs(vector).max(initial=0.0)) or 1.0
    return bytes(np.rint(vector * (_LEVELS / most)).astype(np.int8).tobytes())


def unpack(blobs: Sequence[bytes]) -> Matrix:
    """Blobs of one length to unit rows."""
    if not blobs:
        return np.zeros((0, 0), np.float32)
    return normalised(np.frombuffer(b"".join(blobs), np.int8).reshape(len(blobs), -1).astype(np.float32))


def repack(half: bytes) -> bytes:
    """A blob of layout 1, which kept half precision."""
    return pack(np.frombuffer(half, "<f2").astype(np.float32))


def normalised(matrix: Matrix) -> Matrix:
    """Rows of length 1; a row of zeros stays."""
    lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))[:, None]
    return np.asarray(matrix / np.maximum(lengths, np.float32(1e-12)), np.float32)


def lead_of(chunk: Chunk) -> tuple[str, str | None]:
    """What stands before the passage in its embed text, so that the text is kept once; else the whole embed text."""
    if chunk.embed_text.endswith(chunk.text):
        return chunk.embed_text[: len(chunk.embed_text) - len(chunk.text)], None
    return "", chunk.embed_text


def chunk_values(chunk: Chunk) -> tuple[object, ...]:
    """Columns sha … embed_text of a chunk's row."""
    return (vector_key(chunk.embed_text), chunk.heading_path, chunk.line_start, chunk.line_end, chunk.text, *lead_of(chunk))


def _chunk(row: tuple[str, int, str, int, int, str, str, str | None]) -> Chunk:
    path, ordinal, heading_path, start, end, text, lead, whole = row
    return Chunk(chunk_id(path, ordinal), path, ordinal, heading_path, start, end, text, lead + text if whole is None else whole)


def _wanted(ids: Iterable[str]) -> str:
    """For json_each. What is no chunk id is left out: nothing can be found under it."""
    return json.dumps([split_id(chunk) for chunk in ids if chunk.rpartition("#")[2].isdecimal() and "#" in chunk])


def chunks(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, Chunk]:
    """The chunks that exist, in the order asked for."""
    found: dict[str, Chunk] = {}
    for batch in batches(ids, 1000):
        rows = connection.execute(
            f"SELECT {_CHUNK} FROM json_each(?) w JOIN notes n ON n.path = json_extract(w.value, '$[0]') "
            "JOIN chunks c ON c.note = n.id AND c.ordinal = json_extract(w.value, '$[1]') ORDER BY w.id",
            (_wanted(batch),),
        )
        for row in rows:
            chunk = _chunk(row)
            found[chunk.id] = chunk
    return found


def chunks_of(connection: sqlite3.Connection, path: str) -> list[Chunk]:
    rows = connection.execute(f"SELECT {_CHUNK} FROM notes n JOIN chunks c ON c.note = n.id WHERE n.path = ? ORDER BY c.ordinal", (path,))
    return [_chunk(row) for row in rows]


def chunk_ids(connection: sqlite3.Connection, least_state: int = NO_VECTOR) -> set[str]:
    rows = connection.execute("SELECT n.path, c.ordinal FROM chunks c JOIN notes n ON n.id = c.note WHERE c.state >= ?", (least_state,))
    return {chunk_id(path, ordinal) for path, ordinal in rows}


def vectors(connection: sqlite3.Connection, ids: Sequence[str]) -> tuple[list[str], Matrix]:
    """Ids that have a vector, in the order asked for, and their vectors (n, dim)."""
    names: list[str] = []
    blobs: list[bytes] = []
    for batch in batches(ids, 1000):
        rows = connection.execute(
            "SELECT n.path, c.ordinal, v.vector FROM json_each(?) w JOIN notes n ON n.path = json_extract(w.value, '$[0]') "
            "JOIN chunks c ON c.note = n.id AND c.ordinal = json_extract(w.value, '$[1]') JOIN vectors v ON v.sha = c.sha ORDER BY w.id",
            (_wanted(batch),),
        )
        for path, ordinal, blob in rows:
            names.append(chunk_id(path, ordinal))
            blobs.append(blob)
    return names, unpack(blobs)


def vector_ids_under(connection: sqlite3.Connection, paths: Collection[str], most: int) -> list[str] | None:
    """Ids with a vector of these notes; None where there are more than `most` of them."""
    found: list[str] = []
    for batch in batches(sorted(paths), 1000):
        rows = connection.execute(
            "SELECT n.path, c.ordinal FROM json_each(?) w JOIN notes n ON n.path = w.value "
            f"JOIN chunks c ON c.note = n.id WHERE c.state >= {HAS_VECTOR}",
            (json.dumps(batch),),
        )
        found += [chunk_id(path, ordinal) for path, ordinal in rows]
        if len(found) > most:
            return None
    return found


def unserved_ids(connection: sqlite3.Connection, most: int) -> list[str] | None:
    """Ids that have a vector which the vector index doesn't know yet; None where there are more than `most` of them."""
    found = connection.execute(
        "SELECT n.path, c.ordinal FROM chunks c JOIN notes n ON n.id = c.note "
        f"WHERE c.state < 2 AND c.state = {HAS_VECTOR} LIMIT ?",
        (most + 1,),
    ).fetchall()
    return None if len(found) > most else [chunk_id(path, ordinal) for path, ordinal in found]


def events(connection: sqlite3.Connection, paths: Collection[str]) -> dict[str, list[Event]]:
    rows = connection.execute(
        "SELECT n.path, e.json FROM json_each(?) w JOIN notes n ON n.path = w.value JOIN events e ON e.note = n.id ORDER BY n.path",
        (json.dumps(sorted(paths)),),
    )
    return {path: [_event(fields) for fields in json.loads(text)] for path, text in rows}


def dump_events(found: Sequence[Event]) -> str:
    return json.dumps([asdict(event) for event in found], ensure_ascii=False)


def _event(fields: dict[str, str | int | None]) -> Event:
    return Event(**{**fields, "kind": EventKind(fields["kind"]), "status": Status(fields["status"])})  # type: ignore[arg-type]


def dump_links(found: Sequence[Link]) -> str:
    return json.dumps([[x.target, x.kind, x.line, x.heading, x.alias] for x in found], ensure_ascii=False)


def load_links(text: str) -> tuple[Link, ...]:
    return tuple(Link(target, LinkKind(kind), line, heading, alias) for target, kind, line, heading, alias in json.loads(text))


def notes(connection: sqlite3.Connection) -> dict[str, NoteRecord]:
    """Every note by its path, sorted, with links and backlinks resolved."""
    paths: dict[int, str] = dict(connection.execute("SELECT id, path FROM notes"))
    out: dict[int, list[tuple[str, LinkKind]]] = {}
    back: dict[int, list[tuple[str, LinkKind]]] = {}
    for note, target, kind in connection.execute(
        "SELECT p.note, p.target, p.kind FROM pointers p JOIN notes n ON n.id = p.note ORDER BY n.path, p.ordinal"
    ):
        out.setdefault(note, []).append((paths[target], LinkKind(kind)))
        back.setdefault(target, []).append((paths[note], LinkKind(kind)))
    dated = {note for (note,) in connection.execute("SELECT note FROM events")}
    records: dict[str, NoteRecord] = {}
    for row in connection.execute(
        "SELECT id, path, title, source, aliases, tags, date, status, type, sha256, mtime_ns, size, inode, seen_ns FROM notes ORDER BY path"
    ):
        note, path, title, source, aliases, tags, date, status, kind, sha256, mtime_ns, size, inode, seen_ns = row
        records[path] = NoteRecord(
            path=path,
            title=title,
            source=Source(source),
            aliases=tuple(json.loads(aliases)),
            tags=tuple(json.loads(tags)),
            date=date,
            status=Status(status),
            type=kind,
            sha256=sha256,
            mtime_ns=mtime_ns,
            size=size,
            links=tuple(out.get(note, ())),
            backlinks=tuple(back.get(note, ())),
            has_events=note in dated,
            inode=inode,
            seen_ns=seen_ns,
        )
    return records


def count(connection: sqlite3.Connection, what: str) -> int:
    """`what` is one of the fixed names below, never user text."""
    return int(connection.execute(_COUNTS[what]).fetchone()[0])


_COUNTS: Mapping[str, str] = {
    "notes": "SELECT COUNT(*) FROM notes",
    "chunks": "SELECT COUNT(*) FROM chunks",
    "failures": "SELECT COUNT(*) FROM failures",
    "pending": f"SELECT COUNT(*) FROM chunks WHERE state < 2 AND state = {NO_VECTOR}",
    "unserved": f"SELECT COUNT(*) FROM chunks WHERE state < 2 AND state = {HAS_VECTOR}",
    "vectors": "SELECT COUNT(*) FROM vectors",
    "journal": "SELECT COUNT(*) FROM journal",
    "gone": "SELECT COUNT(*) FROM gone",
}


def meta(connection: sqlite3.Connection) -> dict[str, str]:
    return dict(connection.execute("SELECT key, value FROM meta"))


def failures(connection: sqlite3.Connection) -> list[Failure]:
    found = connection.execute("SELECT path, reason, line FROM failures ORDER BY path")
    return [Failure(*columns) for columns in found]


def problems(connection: sqlite3.Connection) -> list[Failure]:
    """Notes that are indexed although something about them is odd."""
    rows = connection.execute("SELECT path, problems FROM notes WHERE problems <> '[]' ORDER BY path")
    return [Failure(path, reason) for path, text in rows for reason in json.loads(text)]

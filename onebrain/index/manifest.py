"""What has been indexed: one SQLite file that is the truth about the two derived indexes, and keeps text and vectors.

A note's rows commit after its words did, in one transaction; what the manifest does not list does not exist. Before the word index is
touched, the paths concerned are written to the journal: a crash in between leaves their names there, and their words are then put
back in step. The vectors of passages are kept here, so that the vector index can be rebuilt without embedding anything again.

One process writes (the owner). Readers open the file read-only at the same time and see the last commit.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from onebrain.index import rows
from onebrain.index.lexical import LexNote
from onebrain.index.plan import Known, Stat
from onebrain.index.rows import HAS_VECTOR, NO_VECTOR, SERVED, Failure, Matrix, chunk_id
from onebrain.index.storage import open_for_writing, storage
from onebrain.vault.note import Chunk, Link, LinkKind, Note

FILE = "manifest.sqlite"
Pointer = tuple[str, LinkKind]  # the path a link leads to, and what kind of link it is


@dataclass(frozen=True, slots=True)
class Entry:
    """A note ready to be listed. `facts.sha256` is set; `was` is the path it had before, if it moved."""

    facts: Known
    note: Note
    chunks: tuple[Chunk, ...]
    was: str | None = None


@dataclass(frozen=True, slots=True)
class Broken:
    """A note that could not be read or parsed. `retry`: its stat doesn't tell when it could be read again."""

    facts: Known
    failure: Failure
    retry: bool


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk on its way to the vector index."""

    row: int
    id: str
    sha: bytes
    embed_text: str


class Manifest:
    """The owner's handle. Every method is one transaction; all may raise StorageFull or IndexDamaged."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        with storage(directory):
            self.connection, self.remade = open_for_writing(directory / FILE)

    def close(self) -> None:
        self.connection.close()

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        with storage(self.directory):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:  # SQLite has rolled back by itself when the disk is full
                    self.connection.execute("ROLLBACK")
                raise

    # Facts about the whole

    @property
    def generation(self) -> int:
        with storage(self.directory):
            return int(rows.meta(self.connection).get("generation", "0"))

    def meta(self, key: str) -> str | None:
        with storage(self.directory):
            return rows.meta(self.connection).get(key)

    def set_meta(self, **values: str) -> None:
        with self._write() as db:
            _set_meta(db, values)

    def count(self, what: str) -> int:
        with storage(self.directory):
            return rows.count(self.connection, what)

    def known(self) -> dict[str, Known]:
        """Listed notes, and broken files; those to be tried again whatever their stat have a size that no file has."""
        with storage(self.directory):
            found = self.connection.execute(
                "SELECT path, mtime_ns, size, inode, seen_ns, sha256 FROM notes UNION ALL "
                "SELECT path, mtime_ns, CASE WHEN retry THEN -1 ELSE size END, inode, seen_ns, NULL FROM failures"
            )
            return {path: Known(*facts) for path, *facts in found}

    def listed(self, paths: Collection[str]) -> set[str]:
        with storage(self.directory):
            sql = "SELECT n.path FROM json_each(?) w JOIN notes n ON n.path = w.value"
            return {path for (path,) in self.connection.execute(sql, (json.dumps(list(paths)),))}

    def failed(self) -> set[str]:
        with storage(self.directory):
            return {path for (path,) in self.connection.execute("SELECT path FROM failures")}

    # Notes

    def begin(self, paths: Collection[str]) -> None:
        """Note down whose words are about to change."""
        if not paths:
            return
        with self._write() as db:
            db.executemany("INSERT OR IGNORE INTO journal VALUES (?)", [(path,) for path in paths])

    def journal(self) -> list[str]:
        with storage(self.directory):
            return [path for (path,) in self.connection.execute("SELECT path FROM journal ORDER BY path")]

    def settled(self, paths: Collection[str]) -> None:
        """The words of these paths equal their rows again."""
        with self._write() as db:
            _settle(db, paths)

    def distrust_words(self, fingerprint: str) -> None:
        """Have the words of every note written anew, by the analyser of that fingerprint."""
        with self._write() as db:
            db.execute("INSERT OR IGNORE INTO journal SELECT path FROM notes")
            _set_meta(db, {"words": fingerprint})

    def distrust_notes(self, fingerprint: str) -> None:
        """Have every note read anew, by the reader of that fingerprint. Each is trusted again once it is listed again."""
        with self._write() as db:
            db.execute("UPDATE notes SET size = -1, sha256 = ''")
            db.execute("DELETE FROM failures")
            _set_meta(db, {"reader": fingerprint})

    def commit(self, entries: Sequence[Entry], removed: Collection[str], broken: Sequence[Broken], *, as_of: str) -> None:
        """List `entries`, forget `removed`, remember what is `broken` (and forget its rows), and strike all of them off the journal."""
        with self._write() as db:
            generation = _next_generation(db, as_of)
            _set_meta(db, {"links": "stale"})
            for path in [*removed, *(one.failure.path for one in broken)]:
                _forget(db, path)
            for entry in entries:
                _list(db, entry, generation)
            for one in broken:
                db.execute(
                    "INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (one.failure.path, *_stat(one.facts), one.failure.line, one.failure.reason, one.retry),
                )
            concerned = [*removed, *(e.note.path for e in entries), *(e.was for e in entries if e.was), *(b.failure.path for b in broken)]
            _settle(db, concerned)

    def touch(self, stats: Collection[tuple[str, Stat]], seen_ns: int, *, as_of: str) -> None:
        """New stats of notes whose content is the old one."""
        with self._write() as db:
            _next_generation(db, as_of)
            db.executemany(
                "UPDATE notes SET mtime_ns = ?, size = ?, inode = ?, seen_ns = ? WHERE path = ?",
                [(stat.mtime_ns, stat.size, stat.inode, seen_ns, path) for path, stat in stats],
            )

    def lex_notes(self, paths: Collection[str]) -> list[LexNote]:
        """What the word index should hold of these paths; unlisted ones are left out."""
        found: list[LexNote] = []
        with storage(self.directory):
            for path in paths:
                row = self.connection.execute("SELECT title, aliases, tags, source FROM notes WHERE path = ?", (path,)).fetchone()
                if row is not None:
                    title, aliases, tags, source = row
                    passages = tuple(rows.chunks_of(self.connection, path))
                    found.append(LexNote(path, title, tuple(json.loads(aliases)), tuple(json.loads(tags)), passages, source))
        return found

    # Links

    def names(self) -> list[tuple[str, str, list[str]]]:
        """(path, title, aliases) of every note, by path: all that decides where a link leads."""
        with storage(self.directory):
            found = self.connection.execute("SELECT path, title, aliases FROM notes ORDER BY path")
            return [(path, title, json.loads(aliases)) for path, title, aliases in found]

    def links(self, paths: Collection[str] | None = None) -> Iterator[tuple[int, str, tuple[Link, ...], list[Pointer]]]:
        """Of some notes or of all that have links: note id, path, links as written, and where they lead now."""
        sql = "SELECT l.note, n.path, l.json FROM {} ORDER BY n.path"
        with storage(self.directory):
            if paths is None:
                found = self.connection.execute(sql.format("links l JOIN notes n ON n.id = l.note")).fetchall()
            else:
                some = "json_each(?) w JOIN notes n ON n.path = w.value JOIN links l ON l.note = n.id"
                found = self.connection.execute(sql.format(some), (json.dumps(sorted(paths)),)).fetchall()
            targets: dict[int, list[Pointer]] = {}
            for note, path, kind in self.connection.execute(
                "SELECT p.note, n.path, p.kind FROM pointers p JOIN notes n ON n.id = p.target ORDER BY p.note, p.ordinal"
            ):
                targets.setdefault(note, []).append((path, LinkKind(kind)))
        for note, path, text in found:
            yield note, path, rows.load_links(text), targets.get(note, [])

    def point(self, pointers: Mapping[int, Sequence[Pointer]], *, as_of: str) -> None:
        """Set where the links of these note ids lead. After this all links are as they should be."""
        with self._write() as db:
            if pointers:
                _next_generation(db, as_of)
            _set_meta(db, {"links": "fresh"})
            for note, targets in pointers.items():
                db.execute("DELETE FROM pointers WHERE note = ?", (note,))
                db.executemany(
                    "INSERT INTO pointers SELECT ?, ?, id, ? FROM notes WHERE path = ?",
                    [(note, ordinal, kind, path) for ordinal, (path, kind) in enumerate(targets)],
                )

    # Vectors

    def to_embed(self) -> list[tuple[int, int, int, int]]:
        """Passages without a vector as (row, characters, the note's mtime_ns, links to the note), in path order."""
        with storage(self.directory):
            return self.connection.execute(
                "SELECT c.id, length(c.text), n.mtime_ns, (SELECT COUNT(*) FROM pointers p WHERE p.target = n.id) "
                f"FROM chunks c JOIN notes n ON n.id = c.note WHERE c.state < 2 AND c.state = {NO_VECTOR} ORDER BY n.path, c.ordinal"
            ).fetchall()

    def passages(self, chunk_rows: Sequence[int]) -> list[Passage]:
        """Those of the rows that still exist and still lack a vector."""
        with storage(self.directory):
            found = self.connection.execute(
                "SELECT c.id, n.path, c.ordinal, c.sha, c.lead, c.text, c.embed_text FROM json_each(?) w JOIN chunks c ON c.id = w.value "
                f"JOIN notes n ON n.id = c.note WHERE c.state = {NO_VECTOR} ORDER BY w.id",
                (json.dumps(list(chunk_rows)),),
            )
            return [
                Passage(row, chunk_id(path, ordinal), sha, lead + text if whole is None else whole)
                for row, path, ordinal, sha, lead, text, whole in found
            ]

    def add_vectors(self, shas: Sequence[bytes], matrix: Matrix, *, as_of: str) -> None:
        """Keep vectors. Every passage with one of these keys has a vector from now on."""
        with self._write() as db:
            generation = _next_generation(db, as_of, notes=False)
            blobs = [rows.pack(vector) for vector in matrix]
            db.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", list(zip(shas, blobs, strict=True)))
            db.executemany(
                "UPDATE notes SET generation = ? WHERE id IN (SELECT note FROM chunks WHERE sha = ?)", [(generation, sha) for sha in shas]
            )
            db.executemany(f"UPDATE chunks SET state = {HAS_VECTOR} WHERE sha = ? AND state = {NO_VECTOR}", [(sha,) for sha in shas])

    def unserved(self, limit: int) -> tuple[list[tuple[int, bytes]], list[str], Matrix]:
        """Passages with a vector that the vector index doesn't know yet: (row, key) to give to `served`, ids, vectors."""
        with storage(self.directory):
            found = self.connection.execute(
                "SELECT c.id, c.sha, n.path, c.ordinal, v.vector "
                "FROM chunks c JOIN notes n ON n.id = c.note JOIN vectors v ON v.sha = c.sha "
                f"WHERE c.state < 2 AND c.state = {HAS_VECTOR} LIMIT ?",
                (limit,),
            ).fetchall()
        ids = [chunk_id(path, ordinal) for _, _, path, ordinal, _ in found]
        return [(row, sha) for row, sha, *_ in found], ids, rows.unpack([blob for *_, blob in found])

    def served(self, chunk_rows: Sequence[tuple[int, bytes]]) -> None:
        with self._write() as db:
            db.executemany(f"UPDATE chunks SET state = {SERVED} WHERE id = ? AND sha = ? AND state = {HAS_VECTOR}", chunk_rows)

    def distrust_vectors(self) -> None:
        """The vector index is empty, or as good as."""
        with self._write() as db:
            db.execute(f"UPDATE chunks SET state = {HAS_VECTOR} WHERE state = {SERVED}")
            db.execute("DELETE FROM gone")

    def gone(self) -> list[str]:
        """Ids of passages that no longer exist, and may still be in the vector index."""
        with storage(self.directory):
            return [chunk for (chunk,) in self.connection.execute("SELECT chunk FROM gone ORDER BY chunk")]

    def bury(self, ids: Collection[str]) -> None:
        """These are in the vector index and should not be."""
        if not ids:
            return
        with self._write() as db:
            _bury(db, ids)

    def buried(self, ids: Collection[str]) -> None:
        with self._write() as db:
            db.executemany("DELETE FROM gone WHERE chunk = ?", [(chunk,) for chunk in ids])

    def drop_vectors(self, model: str, *, as_of: str) -> None:
        """Another model: none of the vectors can be compared with its own."""
        with self._write() as db:
            generation = _next_generation(db, as_of, notes=False)
            db.execute("DELETE FROM vectors")
            db.execute("DELETE FROM gone")
            db.execute(f"UPDATE chunks SET state = {NO_VECTOR}")
            db.execute("UPDATE notes SET generation = ?", (generation,))
            _set_meta(db, {"model": model})

    def tidy(self) -> None:
        """Let go of vectors that no passage uses, and of the space they took."""
        with self._write() as db:
            db.execute("DELETE FROM vectors WHERE sha NOT IN (SELECT sha FROM chunks)")
        with storage(self.directory):
            self.connection.execute("PRAGMA incremental_vacuum").fetchall()
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _set_meta(db: sqlite3.Connection, values: Mapping[str, str]) -> None:
    db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(values.items()))


def _next_generation(db: sqlite3.Connection, as_of: str, *, notes: bool = True) -> int:
    """`notes` False: only vectors changed, so that lists of notes made before are still right."""
    found = db.execute("SELECT value FROM meta WHERE key = 'generation'").fetchone()
    generation = (int(found[0]) if found else 0) + 1
    _set_meta(db, {"generation": str(generation), "as_of": as_of} | ({"notes": str(generation)} if notes else {}))
    return generation


def _settle(db: sqlite3.Connection, paths: Collection[str]) -> None:
    db.executemany("DELETE FROM journal WHERE path = ?", [(path,) for path in paths])


def _stat(facts: Known) -> tuple[int, int, int, int]:
    return facts.mtime_ns, facts.size, facts.inode, facts.seen_ns


def _note_row(db: sqlite3.Connection, path: str) -> int | None:
    found = db.execute("SELECT id FROM notes WHERE path = ?", (path,)).fetchone()
    return None if found is None else int(found[0])


def _forget(db: sqlite3.Connection, path: str) -> None:
    db.execute("DELETE FROM failures WHERE path = ?", (path,))
    note = _note_row(db, path)
    if note is None:
        return
    ordinals = db.execute("SELECT ordinal FROM chunks WHERE note = ?", (note,)).fetchall()
    _bury(db, [chunk_id(path, ordinal) for (ordinal,) in ordinals])
    for table in ("chunks", "events", "links", "pointers"):
        db.execute(f"DELETE FROM {table} WHERE note = ?", (note,))
    db.execute("DELETE FROM pointers WHERE target = ?", (note,))
    db.execute("DELETE FROM notes WHERE id = ?", (note,))


def _bury(db: sqlite3.Connection, ids: Collection[str]) -> None:
    db.executemany("INSERT OR IGNORE INTO gone VALUES (?)", [(chunk,) for chunk in ids])


def _list(db: sqlite3.Connection, entry: Entry, generation: int) -> None:
    note = entry.note
    values = (
        note.path, generation, *_stat(entry.facts), entry.facts.sha256, note.title, note.source,
        json.dumps(note.aliases, ensure_ascii=False), json.dumps(note.tags, ensure_ascii=False),
        note.date, note.status, note.type, json.dumps(note.problems, ensure_ascii=False),
    )  # fmt: skip
    row = _note_row(db, entry.was or note.path)
    db.execute("DELETE FROM failures WHERE path = ?", (note.path,))
    # `id` NULL makes a new row; a known id replaces its row, so links to a moved note still lead to it.
    row = db.execute(f"INSERT OR REPLACE INTO notes VALUES (?{', ?' * len(values)})", (row, *values)).lastrowid
    assert row is not None
    _list_chunks(db, row, entry)
    db.execute("DELETE FROM events WHERE note = ?", (row,))
    if note.events:
        db.execute("INSERT INTO events VALUES (?, ?)", (row, rows.dump_events(note.events)))
    db.execute("DELETE FROM links WHERE note = ?", (row,))
    if note.links:
        db.execute("INSERT INTO links VALUES (?, ?)", (row, rows.dump_links(note.links)))
    else:
        db.execute("DELETE FROM pointers WHERE note = ?", (row,))


def _list_chunks(db: sqlite3.Connection, row: int, entry: Entry) -> None:
    old = {ordinal: (sha, state) for ordinal, sha, state in db.execute("SELECT ordinal, sha, state FROM chunks WHERE note = ?", (row,))}
    path, new = entry.note.path, {chunk.ordinal for chunk in entry.chunks}
    moved = entry.was is not None and entry.was != path
    _bury(db, [chunk_id(entry.was if moved else path, ordinal) for ordinal in old if moved or ordinal not in new])  # type: ignore[arg-type]
    db.execute("DELETE FROM chunks WHERE note = ?", (row,))
    for chunk in entry.chunks:
        sha, *columns = rows.chunk_values(chunk)
        if not moved and old.get(chunk.ordinal) == (sha, SERVED):
            state = SERVED
        else:
            kept = db.execute("SELECT 1 FROM vectors WHERE sha = ?", (sha,)).fetchone()
            state = HAS_VECTOR if kept else NO_VECTOR
        db.execute(
            "INSERT INTO chunks (note, ordinal, state, sha, heading_path, line_start, line_end, text, lead, embed_text) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (row, chunk.ordinal, state, sha, *columns),
        )
        db.execute("DELETE FROM gone WHERE chunk = ?", (chunk.id,))

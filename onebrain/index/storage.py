"""Opening the manifest's SQLite file, and turning what a disk can do to us into errors a user can act on."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from onebrain.errors import IndexBusy, IndexDamaged, StorageFull
from onebrain.index.rows import repack

SCHEMA = 2  # 2: vectors of one byte a number

# `vectors` stays when the schema changes: it is the one table that is expensive to make again, and its key stands on its own.
_TABLES = """
CREATE TABLE IF NOT EXISTS vectors (sha BLOB PRIMARY KEY, vector BLOB NOT NULL);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE notes (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, generation INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL, inode INTEGER NOT NULL, seen_ns INTEGER NOT NULL, sha256 TEXT NOT NULL,
    title TEXT NOT NULL, source TEXT NOT NULL, aliases TEXT NOT NULL, tags TEXT NOT NULL,
    date TEXT, status TEXT NOT NULL, type TEXT, problems TEXT NOT NULL
);
CREATE INDEX notes_generation ON notes (generation);
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY, note INTEGER NOT NULL, ordinal INTEGER NOT NULL, state INTEGER NOT NULL, sha BLOB NOT NULL,
    heading_path TEXT NOT NULL, line_start INTEGER NOT NULL, line_end INTEGER NOT NULL, text TEXT NOT NULL,
    lead TEXT NOT NULL, embed_text TEXT
);
CREATE UNIQUE INDEX chunks_note ON chunks (note, ordinal);
CREATE INDEX chunks_sha ON chunks (sha);
CREATE INDEX chunks_behind ON chunks (state) WHERE state < 2;
CREATE TABLE events (note INTEGER PRIMARY KEY, json TEXT NOT NULL);
CREATE TABLE links (note INTEGER PRIMARY KEY, json TEXT NOT NULL);
CREATE TABLE pointers (note INTEGER NOT NULL, ordinal INTEGER NOT NULL, target INTEGER NOT NULL, kind TEXT NOT NULL,
    PRIMARY KEY (note, ordinal)) WITHOUT ROWID;
CREATE INDEX pointers_target ON pointers (target);
CREATE TABLE failures (
    path TEXT PRIMARY KEY, mtime_ns INTEGER NOT NULL, size INTEGER NOT NULL, inode INTEGER NOT NULL, seen_ns INTEGER NOT NULL,
    line INTEGER, reason TEXT NOT NULL, retry INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE journal (path TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE gone (chunk TEXT PRIMARY KEY) WITHOUT ROWID;
"""
_KEPT = {"vectors"}

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM}
_SQLITE_FULL = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PERM}
_SQLITE_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}
_SQLITE_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


@contextmanager
def storage(directory: Path) -> Iterator[None]:
    """Raise StorageFull, IndexDamaged or IndexBusy for what SQLite and the file system report about `directory`."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the low byte is the kind, the rest says which call
        if code in _SQLITE_FULL:
            raise full(directory, str(error)) from error
        if code in _SQLITE_DAMAGED:
            raise IndexDamaged(
                f"The index in {directory} is damaged: {error}.", hint="Rebuild it with `onebrain search reindex --force`."
            ) from error
        if code in _SQLITE_BUSY:
            raise IndexBusy(f"The index in {directory} is being written by another process.", hint="Try again in a moment.") from error
        raise
    except OSError as error:
        if error.errno in _FULL:
            raise full(directory, error.strerror or str(error)) from error
        raise


def full(directory: Path, reason: str) -> StorageFull:
    return StorageFull(
        f"The index in {directory} can't be written: {reason}.",
        hint="Free some space, or check the permissions of the folder; what was indexed before is intact.",
    )


def open_for_writing(file: Path) -> tuple[sqlite3.Connection, str | None]:
    """The connection, and why its tables were made anew (None where they weren't, or where there were none)."""
    connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False, timeout=5.0)
    try:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # heeded only by a file that has no table yet
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA temp_store = MEMORY")
        found = _schema(connection)
        if found == SCHEMA:
            return connection, None
        _make_tables(connection, found)
    except BaseException:
        connection.close()
        raise
    return connection, None if found is None else f"the index was made by another version of onebrain (layout {found}, now {SCHEMA})"


def open_for_reading(file: Path) -> sqlite3.Connection:
    """Read-only, beside a writer that may be at work. Raises IndexDamaged for another version's file, FileNotFoundError for none."""
    if not file.exists():
        raise FileNotFoundError(file)
    connection = _read_only(file, "mode=ro")
    try:
        found = _schema(connection)
    except sqlite3.OperationalError:
        connection.close()
        if file.with_name(file.name + "-wal").exists():
            raise
        # On a read-only medium SQLite can't make the shared memory that WAL needs. Without a WAL file there is no writer to watch.
        connection = _read_only(file, "mode=ro&immutable=1")
        found = _schema(connection)
    if found != SCHEMA:
        connection.close()
        raise IndexDamaged(
            f"{file} was made by another version of onebrain (layout {found}, now {SCHEMA}).",
            hint="Run `onebrain search reindex`; if a daemon is running, restart it first.",
        )
    return connection


def empty() -> sqlite3.Connection:
    """An index that holds nothing, for readers that come before the first commit."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.executescript(_TABLES)
    return connection


def _read_only(file: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{file.absolute().as_uri()}?{mode}", uri=True, isolation_level=None, check_same_thread=False, timeout=5.0)


def _schema(connection: sqlite3.Connection) -> int | None:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    return version or None


def _make_tables(connection: sqlite3.Connection, found: int | None) -> None:
    """Drop what another layout made, but for its vectors: they are kept, in today's form."""
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")]
    connection.create_function("repacked", 1, repack, deterministic=True)
    model = connection.execute("SELECT value FROM meta WHERE key = 'model'").fetchone() if "meta" in tables else None
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in filter(None, (*(f'DROP TABLE "{name}"' for name in tables if name not in _KEPT), *_TABLES.split(";"))):
            connection.execute(statement)
        if found == 1:
            connection.execute("UPDATE vectors SET vector = repacked(vector)")
        if model is not None:  # without it the vectors would be taken for those of another model, and made again
            connection.execute("INSERT INTO meta VALUES ('model', ?)", model)
        connection.execute(f"PRAGMA user_version = {SCHEMA}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise

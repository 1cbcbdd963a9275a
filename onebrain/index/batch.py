"""Notes of a plan, read from the vault in batches. Reading one note never stops the others."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from onebrain.errors import NoteUnreadable
from onebrain.index.manifest import Broken, Entry
from onebrain.index.plan import Known, Plan
from onebrain.index.reading import Reader
from onebrain.index.rows import Failure

NOTES, BYTES = 500, 8_000_000  # one commit of the word index; larger ones gain nothing and cost memory
_REASON = 500  # characters of a reason: an exception may quote a whole note


@dataclass(slots=True)
class Batch:
    """What to list, what couldn't be read or parsed, what was gone by then, and the former paths of moved notes."""

    entries: list[Entry] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)
    vanished: list[str] = field(default_factory=list)
    origins: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.entries) + len(self.broken) + len(self.vanished)

    @property
    def left(self) -> list[str]:
        """Paths whose words go."""
        return [*self.vanished, *self.origins, *(one.failure.path for one in self.broken)]

    @property
    def lost(self) -> list[str]:
        """Paths whose rows go: a moved note's rows stay with it, unless it vanished or broke on the way."""
        kept = {entry.was for entry in self.entries}
        return [*self.vanished, *(path for path in self.origins if path not in kept)]


def in_batches(todo: Plan, reader: Reader, now_ns: Callable[[], int]) -> Iterator[Batch]:
    work: Sequence[tuple[str, str | None]] = [(new, old) for old, new in todo.moved]
    work = [*work, *((path, None) for path in (*todo.changed, *todo.added))]
    batch, size = Batch(), 0
    for path, was in work:
        size += _read(path, was, batch, reader, now_ns())
        if len(batch) >= NOTES or size >= BYTES:
            yield batch
            batch, size = Batch(), 0
    if len(batch):
        yield batch


def _read(path: str, was: str | None, batch: Batch, reader: Reader, seen_ns: int) -> int:
    """Read one note into the batch; its size in bytes."""
    stat = reader.stat(path)  # before reading: a change in between is then seen by the next plan
    if was is not None:
        batch.origins.append(was)
    if stat is None:
        batch.vanished.append(path)
        return 0
    facts = Known(stat.mtime_ns, stat.size, stat.inode, seen_ns, None)
    try:
        raw = reader.read(path)
    except NoteUnreadable as error:
        batch.broken.append(Broken(facts, Failure(path, error.message), retry=True))
        return 0
    try:
        note, chunks = reader.note(path, raw)
    except Exception as error:  # whatever one note's text brings about is that note's failure, not the vault's
        reason = f"{path} can't be parsed: {type(error).__name__}: {error}"
        batch.broken.append(Broken(facts, Failure(path, reason[:_REASON]), retry=False))
        return len(raw)
    batch.entries.append(Entry(replace(facts, sha256=hashlib.sha256(raw).hexdigest()), note, chunks, was))
    return len(raw)

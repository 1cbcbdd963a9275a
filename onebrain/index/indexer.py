"""Carries out plans: words first, vectors after, each in batches that a crash can't leave half done.

    read → parse → chunk → journal → words commit → manifest commit          (`apply_words`)
    embed → manifest commit → vector index: upsert, then delete → marked     (`apply_vectors`)

`settle` brings everything back in step after a crash, an upgrade or damage; it runs when an index is opened and before each `reindex`.
What it did beyond the edits is told by the next result. One thread at a time: the indexer belongs to the owner's writer.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Protocol

import numpy as np

from onebrain.errors import IndexDamaged, ModelUnavailable, OneBrainError, VaultNotFound
from onebrain.index import rows
from onebrain.index.batch import NOTES, Batch, in_batches
from onebrain.index.keeper import VectorKeeper
from onebrain.index.lexical import LexNote
from onebrain.index.manifest import Entry, Manifest, Pointer
from onebrain.index.plan import Plan, Stat, plan
from onebrain.index.reading import Reader, digest
from onebrain.index.results import Progress, ReindexResult, Report, Stop, never
from onebrain.index.rows import Failure
from onebrain.index.storage import storage
from onebrain.models.ports import Embedder
from onebrain.vault.library import Words
from onebrain.vault.links import LinkResolver
from onebrain.vault.note import Note, Source

_DAMAGED = "damaged"  # in place of the word index's fingerprint
_EMBED = 32  # passages a call of the model: about a second, the longest a newer save has to wait
_WINDOW = 8  # batches that are sorted by length together, so that short texts aren't padded to long ones
_SYNC_EVERY = 16  # batches after which the vector index gets what was embedded


class WordIndex(Words, Protocol):
    """What the indexer needs of the word index besides `Words`; `index.lexical.LexicalIndex` has it."""

    @property
    def fingerprint(self) -> str: ...
    def replace(self, notes: Iterable[LexNote], removed: Collection[str] = (), *, merge: bool = True) -> None: ...
    def ids(self) -> set[str]: ...
    def refresh(self) -> None: ...
    def close(self) -> None: ...


class Indexer:
    """`open_words` opens the word index, after throwing away what is there if its argument is true.

    `trouble`: what kept the index from being settled when it was opened, until it is. Each plan tries again.
    """

    def __init__(
        self,
        reader: Reader,
        manifest: Manifest,
        open_words: Callable[[bool], WordIndex],
        keeper: VectorKeeper,
        embedder: Embedder | None = None,
        *,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.reader = reader
        self.manifest = manifest
        self.keeper = keeper
        self.embedder = embedder
        self._open_words = open_words
        self._now_ns = now_ns
        self.trouble: str | None = None
        self._compared = False
        self._queue: deque[int] | None = None  # chunk rows to embed, in order; None: look again
        self._unseen: tuple[Failure, ...] = ()  # what the last look at the disk couldn't look at
        self._reasons: list[str] = [manifest.remade] if manifest.remade else []
        self.words = self._words()

    # Healing

    def settle(self) -> None:
        """Put words and rows back in step, and act on changed fingerprints. Raises StorageFull, IndexDamaged."""
        self._mend()
        manifest, found = self.manifest, self._reasons
        if manifest.meta("words") != self.words.fingerprint:
            if manifest.meta("words") is not None:
                found.append("words are cut in another way since the last version: the word index is made anew")
                self.words.close()
                self.words = self._open_words(True)
            manifest.distrust_words(self.words.fingerprint)
        if manifest.meta("reader") != self.reader.fingerprint:
            if manifest.meta("reader") is not None:
                found.append("notes are read in another way since the last version or configuration: all are read again")
            manifest.distrust_notes(self.reader.fingerprint)
        journal = manifest.journal()
        drifted = set() if self._compared else {rows.split_id(chunk)[0] for chunk in self.words.ids() ^ rows.chunk_ids(manifest.connection)}
        self._compared = True  # from here on nobody else writes, and what fails half-way is in the journal
        if drifted - set(journal):
            found.append(f"the word index had drifted in {len(drifted)} notes: written again")
        elif journal and manifest.generation:
            found.append(f"a sync was interrupted: the words of {len(journal)} notes are written again")
        manifest.begin(drifted)
        self._replay()
        if manifest.meta("links") == "stale":
            self._point(None)
        self._adopt_model()
        self.trouble = None

    def told(self) -> tuple[str, ...]:
        """What was done beyond the edits since this was last asked, in words."""
        told, self._reasons = tuple(dict.fromkeys(self._reasons)), []
        return told

    def _mend(self) -> None:
        """A word index that failed in this process is made anew before it is used again."""
        if self.manifest.meta("words") == _DAMAGED:
            self.words.close()
            self.words = self._words()

    def _replay(self) -> None:
        """Write the words of journalled paths as the manifest has them."""
        for batch in rows.batches(self.manifest.journal(), NOTES):
            listed = self.manifest.lex_notes(batch)
            self._write_words(listed, set(batch) - {note.path for note in listed})
            self.manifest.settled(batch)

    def _adopt_model(self) -> None:
        """Vectors of two models are never mixed."""
        if self.embedder is None or self.manifest.meta("model") == self.embedder.fingerprint:
            return
        before = self.manifest.meta("model")
        self.keeper.close()
        self.manifest.drop_vectors(self.embedder.fingerprint, as_of=self._as_of())
        self._queue = None
        if before is not None:
            self._reasons.append(
                f"the embedding model changed from {before} to {self.embedder.fingerprint}: all passages are embedded again"
            )

    # Planning

    def plan(self, paths: Collection[str] | None = None, *, force: bool = False, confirmed: bool = False) -> Plan:
        """What differs between vault and index; of some paths (notes, or folders with all below them), or of all.

        A vault that isn't there, and folders that can't be listed, remove nothing. `confirmed` lets most of the index be removed.
        """
        if self.trouble is not None:
            self.settle()
        known = self.manifest.known()
        seen_ns = self._now_ns()
        paths = None if paths is None else _tidied(paths)
        try:
            disk, blind = self._look(paths)
        except VaultNotFound as error:
            return Plan(held_back=f"{error.message}; the index is kept as it was.", withheld=len(known), seen_ns=seen_ns)
        inside = _inside(paths)
        return plan(
            {path: stat for path, stat in disk.items() if inside(path)},
            {path: facts for path, facts in known.items() if inside(path) and not blind(path)},
            lambda path: digest(self.reader, path),
            lists=self.reader.lists,
            force=force,
            confirmed=confirmed,
            out_of=len(known),
            seen_ns=seen_ns,
        )

    def _look(self, paths: Collection[str] | None) -> tuple[dict[str, Stat], Callable[[str], bool]]:
        """Stats, and which paths lie in folders that couldn't be listed. A few single notes are looked at without walking the vault."""
        if paths is not None and len(paths) <= 100 and all(path.lower().endswith((".md", ".jsonl")) for path in paths):
            return dict(self.reader.stat_some(paths)), lambda path: False
        walk = self.reader.stat_all()
        self._unseen = tuple(Failure(path, reason) for path, reason in walk.failures)
        folders = tuple("" if path == "." else path + "/" for path, _ in walk.failures)
        return dict(walk.stats), lambda path: bool(folders) and path.startswith(folders)

    # Words

    def apply_words(self, todo: Plan, progress: Report | None = None, stop: Stop = never) -> ReindexResult:
        """Read what changed, and make it findable by words. A note that can't be read or parsed is reported; the rest goes on.

        Raises StorageFull, with everything as it was before the batch that didn't fit.
        """
        self._mend()
        if self.manifest.journal():
            self._replay()
        result = ReindexResult(unchanged=todo.unchanged, held_back=todo.held_back)
        names = None if self.manifest.meta("links") == "stale" else self.manifest.names()
        if todo.touched:
            self.manifest.touch(todo.touched, todo.seen_ns, as_of=self._as_of())
        total = todo.total - len(todo.removed)
        if todo.removed:
            result = self._commit(Batch(vanished=list(todo.removed)), result, merge=not total)
        changed: set[str] = set()
        done = 0
        for batch in in_batches(todo, self.reader, self._now_ns):
            if stop():
                break
            done += len(batch)
            result = self._commit(batch, result, merge=done >= total)
            changed.update(entry.note.path for entry in batch.entries)
            if progress is not None:
                progress(Progress("words", done, total))
        if done or todo.removed:
            self._point(changed if self.manifest.names() == names else None)
        return self._standing(result)

    def _commit(self, batch: Batch, result: ReindexResult, *, merge: bool) -> ReindexResult:
        """Words, then rows. The result with the batch counted in."""
        manifest = self.manifest
        gone = manifest.listed(batch.left)
        notes = [lex_note(entry) for entry in batch.entries]
        new = [entry.note.path for entry in batch.entries if entry.was is None]
        known = manifest.listed(new)
        self._queue = None
        manifest.begin([*batch.left, *(note.path for note in notes)])
        if notes or gone:
            self._write_words(notes, gone, merge=merge)
        manifest.commit(batch.entries, batch.lost, batch.broken, as_of=self._as_of())
        return replace(
            result,
            added=result.added + len(new) - len(known),
            updated=result.updated + len(known),
            moved=result.moved + len(batch.entries) - len(new),
            removed=result.removed + len(gone.intersection(batch.lost)),
        )

    def _write_words(self, notes: Sequence[LexNote], removed: Collection[str], *, merge: bool = True) -> None:
        try:
            with storage(self.manifest.directory):
                self.words.replace(notes, removed, merge=merge)
        except OneBrainError:
            raise
        except Exception as error:  # the word index is foreign files and foreign code; it is made anew when next opened
            self.manifest.set_meta(words=_DAMAGED)
            raise IndexDamaged(
                f"Words could not be written: {type(error).__name__}: {error}.",
                hint="Try again: the word index will be made anew from what is known, which takes a while.",
            ) from error

    def _standing(self, result: ReindexResult) -> ReindexResult:
        failures = (*self._unseen, *rows.failures(self.manifest.connection))
        problems = tuple(rows.problems(self.manifest.connection))
        return replace(result, failures=failures, failed=len(failures), problems=problems, reasons=self.told())

    def _point(self, changed: Collection[str] | None) -> None:
        """Say where links lead: those of the changed notes, or all where a name came, went or changed (None)."""
        names = self.manifest.names()
        resolver = LinkResolver(
            [path for path, _, _ in names],
            {path: aliases for path, _, aliases in names if aliases},
            {path: title for path, title, _ in names},
        )
        moved: dict[int, list[Pointer]] = {}
        for note, path, links, targets in self.manifest.links(changed):
            found = list(resolver.links(Note(path, "", Source.NOTE, links=links)))
            if found != targets:
                moved[note] = found
        self.manifest.point(moved, as_of=self._as_of())

    # Vectors

    def apply_vectors(self, limit: int | None = None, progress: Report | None = None, stop: Stop = never) -> int:
        """Embed up to `limit` passages that have no vector, and bring the vector index in step. How many were embedded.

        Newest and most linked notes first. May be stopped between batches and taken up again. Raises ModelUnavailable, StorageFull.
        """
        self._adopt_model()
        done, batches = 0, 0
        total = self.manifest.count("pending") if self.embedder is not None else 0
        while self.embedder is not None and not stop() and (limit is None or done < limit):
            chunk_rows = self._next_rows(_EMBED if limit is None else min(_EMBED, limit - done))
            if not chunk_rows:
                break
            try:
                done += self._embed(self.embedder, chunk_rows)
            except BaseException:
                self._queue = None  # these were taken off it
                raise
            batches += 1
            if batches % _SYNC_EVERY == 0:
                self.keeper.sync(stop)
            if progress is not None:
                progress(Progress("vectors", min(done, total), total))
        self.keeper.sync(stop)
        return done

    def _embed(self, embedder: Embedder, chunk_rows: Sequence[int]) -> int:
        passages = self.manifest.passages(chunk_rows)
        texts = {passage.sha: passage.embed_text for passage in passages}
        if texts:
            matrix = np.asarray(embedder.embed_passages(list(texts.values())), np.float32)
            if matrix.shape != (len(texts), embedder.dim) or not np.isfinite(matrix).all():
                raise ModelUnavailable(
                    f"The model {embedder.model_id} gave vectors of shape {matrix.shape} for {len(texts)} texts, or not finite ones.",
                    hint="Prepare the model again with `onebrain search model prepare`.",
                )
            self.manifest.add_vectors(list(texts), matrix, as_of=self._as_of())
        return len(passages)

    def _next_rows(self, size: int) -> list[int]:
        if self._queue is None:
            self._queue = deque(_order(self.manifest.to_embed()))
        return [self._queue.popleft() for _ in range(min(size, len(self._queue)))]

    # All of it

    def reindex(
        self,
        paths: Collection[str] | None = None,
        *,
        force: bool = False,
        lex_only: bool = False,
        pending_only: bool = False,
        confirmed: bool | None = None,
        progress: Report | None = None,
        stop: Stop = never,
    ) -> ReindexResult:
        """Settle, plan, words, vectors. `force` reads every note again, and confirms removals unless `confirmed` says otherwise."""
        self.settle()
        if pending_only:
            result = self._standing(ReindexResult(unchanged=self.manifest.count("notes")))
        else:
            todo = self.plan(paths, force=force, confirmed=force if confirmed is None else confirmed)
            result = self.apply_words(todo, progress, stop)
        embedded = 0 if lex_only else self.apply_vectors(None, progress, stop)
        reasons = (*result.reasons, *self.told())
        if self.keeper.trouble:
            reasons += (f"the vector index can't be used now, so all vectors are compared: {self.keeper.trouble}",)
        if paths is None and not stop():
            self.manifest.tidy()
        return replace(result, embedded=embedded, reasons=reasons)

    def close(self) -> None:
        self.words.close()
        self.keeper.close()
        self.manifest.close()

    def _words(self) -> WordIndex:
        if self.manifest.meta("words") != _DAMAGED:
            try:
                return self._open_words(False)
            except Exception as error:  # damaged files of a foreign format can raise anything; they hold nothing that isn't in the manifest
                self._reasons.append(f"the word index could not be opened ({type(error).__name__}: {error}) and is made anew")
        else:
            self._reasons.append("the word index was damaged and is made anew")
        words = self._open_words(True)
        self.manifest.distrust_words(words.fingerprint)
        return words

    def _as_of(self) -> str:
        return datetime.fromtimestamp(self._now_ns() / 1e9, UTC).isoformat(timespec="milliseconds")


def lex_note(entry: Entry) -> LexNote:
    note = entry.note
    return LexNote(note.path, note.title, note.aliases, note.tags, entry.chunks, note.source)


def _tidied(paths: Collection[str]) -> set[str] | None:
    """Paths without `./` and trailing `/`; None where the whole vault is among them."""
    tidied = {str(path).removeprefix("./").rstrip("/") for path in paths}
    return None if tidied & {"", "."} else tidied


def _inside(paths: Collection[str] | None) -> Callable[[str], bool]:
    """Whether a path is one of the given notes, or below one of the given folders."""
    if paths is None:
        return lambda path: True
    folders = tuple(path + "/" for path in paths)
    return lambda path: path in paths or path.startswith(folders)


def _order(pending: Sequence[tuple[int, int, int, int]]) -> list[int]:
    """Chunk rows in the order to embed them: notes that are among the newest or among the most linked first, and within a window of
    batches the short passages before the long ones."""
    newest = _ranks({mtime for _, _, mtime, _ in pending})
    linked = _ranks({links for _, _, _, links in pending})
    first = sorted(pending, key=lambda row: (min(newest[row[2]], linked[row[3]]), newest[row[2]]))
    windows = rows.batches(first, _WINDOW * _EMBED)
    return [row for window in windows for row, *_ in sorted(window, key=lambda one: one[1])]


def _ranks(values: set[int]) -> dict[int, int]:
    return {value: rank for rank, value in enumerate(sorted(values, reverse=True))}


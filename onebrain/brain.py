"""The only wiring: configuration, index, models and search, put together for one vault. Faces and the daemon talk to a Brain.

An owner keeps the index and may write it; a reader (another process owns the index) answers from what was indexed so far, with exact
vector search. Before an answer leaves, every note it was made from is compared with the disk: what is gone or changed is read again or
left out, and the question asked anew.
"""

from __future__ import annotations

import difflib
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import TypeVar

from onebrain.config import Config
from onebrain.errors import IndexBusy, ModelUnavailable, NoteUnreadable, OneBrainError
from onebrain.index import owner
from onebrain.index.indexer import Indexer
from onebrain.index.library import Snapshot
from onebrain.index.opening import Index, open_index, read_index
from onebrain.index.reading import VaultReader
from onebrain.index.results import Progress, ReindexResult
from onebrain.index.rows import Failure
from onebrain.index.vectors import Server
from onebrain.models import weights
from onebrain.models.embed import E5Embedder
from onebrain.models.hyde import make_writer
from onebrain.models.ports import EmbedSettings, EndpointSettings, HydeSettings, HydeWriter, Reranker
from onebrain.models.rerank import make_reranker
from onebrain.models.synthesis import EndpointSynthesis
from onebrain.search.grep import Line, Needle
from onebrain.search.question import Request
from onebrain.search.report import Report, Stage, StageStatus, Verdict
from onebrain.search.searcher import Models, Searcher
from onebrain.search.synthesis import Writing, add_synthesis
from onebrain.vault import files, links, places
from onebrain.vault.library import NoteRecord, Vector
from onebrain.vault.parse import Settings, headings, shown

Made = TypeVar("Made")
Step = Callable[[str, int, int], None]
"""Told of a long job: phase, done, total."""

_WAIT_TO_REREAD = 0.3  # seconds a question waits for the writer before it leaves changed notes out
_TRIES = 3  # times a question is asked anew while notes change under it
_GREP_SECONDS = 1.5
_SYNTHESIS_TOKENS = 400  # three sentences, also in a script that takes several tokens a letter


class Access(Enum):
    OWNER = "owner"
    READER = "reader"


@dataclass(frozen=True, slots=True)
class NoteText:
    """Lines of a note as it stands on the disk; 1-based, inclusive."""

    path: str
    line_start: int
    line_end: int
    text: str
    problem: str | None = None  # what was odd about its bytes


@dataclass(frozen=True, slots=True)
class Status:
    """None is unknown, never nought."""

    collection: str
    embed_model: str
    data_dir: Path
    doc_count: int | None = None
    chunk_count: int | None = None
    pending_words: int | None = None
    pending_vectors: int | None = None
    failed: tuple[Failure, ...] = ()
    last_indexed_at: str | None = None
    index_size_bytes: int | None = None
    semantic_available: bool = False
    reranker: str | None = None
    hyde: str | None = None
    owner: str | None = None
    error: str | None = None


class _Learned:
    """The models of a configuration, found once and loaded when first used. `troubles` says in words what can't be used."""

    def __init__(self, config: Config, environ: Mapping[str, str]) -> None:
        self.troubles: list[str] = []
        cache = config.data_dir / "models"
        search = config.search
        named = None if search.embed_model == weights.CONVERTED else search.embed_model  # the default takes whichever copy is there
        folder = self._try(lambda: weights.locate(EmbedSettings(folder=search.embed_folder, model=named), cache))
        self.embedder = E5Embedder(folder) if folder else None
        self.reranker: Reranker | None = None
        if search.rerank_model != "off":
            own = None if search.rerank_model == "onebrain-compact" else Path(search.rerank_model)
            self.reranker = self._try(lambda: make_reranker(own, cache, self.embedder, folder))
        self.hyde: HydeWriter | None = None
        if search.hyde.writer != "off":
            self.hyde = self._try(lambda: make_writer(_hyde_settings(config), environ))
        self.writing = _writing(config, environ)

    def _try(self, make: Callable[[], Made | None]) -> Made | None:
        try:
            return make()
        except OneBrainError as error:
            self.troubles.append(error.message)
            return None

    def unload(self) -> None:
        for model in (self.embedder, self.reranker, self.hyde):
            if model is not None:
                model.unload()


def _hyde_settings(config: Config) -> HydeSettings:
    hyde = config.search.hyde
    return HydeSettings(
        endpoint=hyde.endpoint,
        model=hyde.model or "",
        key_env=hyde.api_key_env,
        local=hyde.writer in ("auto", "local"),
        timeout_s=hyde.timeout_seconds,
    )


def _writing(config: Config, environ: Mapping[str, str]) -> Writing | None:
    """Who words answers; None unless the user named an address. In a regulated vault nobody does but a model on this machine."""
    wanted = config.search.synthesis
    if wanted is None or wanted.endpoint is None:
        return None
    settings = EndpointSettings(wanted.endpoint, wanted.model or "", wanted.api_key_env, _SYNTHESIS_TOKENS)
    try:
        return Writing(EndpointSynthesis(settings, environ, wanted.timeout_seconds, here_only=config.regulated))
    except OneBrainError as error:
        return Writing(None, error.message)


class Brain:
    """One vault's memory. Any number of threads may ask; writing is one at a time. Made by `open`, ended by `close`."""

    def __init__(self, config: Config, index: Index, access: Access, learned: _Learned) -> None:
        self.config = config
        self.access = access
        self._index = index
        self._learned = learned
        self._writing = RLock()

    @classmethod
    def open(cls, config: Config, *, access: Access = Access.OWNER, progress: Step | None = None) -> Brain:
        """Raises IndexBusy when another process owns the index and OWNER was asked for."""
        learned = _Learned(config, os.environ)
        directory = config.data_dir / "search" / config.search.collection
        if access is Access.READER:
            return cls(config, read_index(directory), access, learned)
        reader = VaultReader(config.vault, config.search.exclude, Settings(config.folders, config.search.date_order))
        return cls(config, open_index(directory, reader, embedder=learned.embedder, server=_server(config)), access, learned)

    def close(self) -> None:
        with self._writing:
            self._learned.unload()
            self._index.close()

    def __enter__(self) -> Brain:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Asking

    def ask(self, request: Request) -> Report:
        """One question, answered from what is on the disk now. Raises BadRequest, or IndexDamaged where even reading fails.

        A synthesis is written last, from the quotes that are shown in the end, and while no snapshot of the index is held.
        """
        report, notes = self._current(request)
        writing = self._learned.writing if request.write_synthesis else None
        if writing is None:
            return report
        worded = add_synthesis(report, writing)
        if not self._stale(worded, notes):
            return worded
        report, _ = self._current(request)  # the writer may take many seconds
        skipped = Stage("synthesis", StageStatus.SKIPPED, "notes changed while it was written")
        return replace(report, stages=(*report.stages, skipped))

    def _current(self, request: Request) -> tuple[Report, Mapping[str, NoteRecord]]:
        """The report with nothing in it that isn't so on the disk any more, and the notes it was made from.

        Never taken out of a finished report: a chain, an end of a decision and a verdict rest on more notes than the one that went.
        """
        report, notes = self._ask(request)
        stale = self._stale(report, notes)
        if not stale:
            return report, notes
        began = time.perf_counter()
        reread = self._reread(stale)
        for _ in range(_TRIES):
            report, notes = self._ask(request, stale)
            stale = self._stale(report, notes)
            if not stale:
                break
        else:
            report = _emptied(report)
        reason = "notes had changed since they were indexed and were " + ("read again" if reread else "left out")
        stage = Stage("fresh", StageStatus.RAN, reason, round((time.perf_counter() - began) * 1000, 2), len(report.hits))
        return replace(report, stages=(*report.stages, stage)), notes

    def _ask(self, request: Request, suspects: Collection[str] | None = None) -> tuple[Report, Mapping[str, NoteRecord]]:
        """The report of the newest commit, and the notes of that commit. With `suspects` the index isn't trusted to be in step: all files
        are looked at first, those closely, and notes that are gone or changed are left out."""
        with self._index.snapshot() as library:
            grep = _VaultGrep(self, library, keeps_up=self.access is Access.OWNER and suspects is None)
            if suspects is not None:
                notes = library.notes()
                library.hide({*grep.outdated(), *(path for path in suspects if path in notes and not self._stands(notes[path]))})
            models = Models(self._embedder_for(library), self._learned.reranker, self._learned.hyde)
            return Searcher(library, models, grep=grep, as_of=library.as_of).ask(request), library.notes()

    def searcher(self, *, vectors: bool = True) -> Searcher:
        """A Searcher over the newest commit, for measuring and fitting; its snapshot lives as long as it is used."""
        library, learned = self._index.snapshot(), self._learned
        models = Models(learned.embedder, learned.reranker, learned.hyde) if vectors else Models()
        return Searcher(library, models, as_of=library.as_of)

    def library(self) -> Snapshot:
        """The newest commit; close it, or use it as a context manager."""
        return self._index.snapshot()

    def embed_query(self, text: str) -> Vector | None:
        """None where no embedding model works, or where the index's vectors are another one's."""
        with self._index.snapshot() as library:
            embedder = self._embedder_for(library)
        try:
            return None if embedder is None else embedder.embed_query(text)
        except ModelUnavailable:
            return None

    def _embedder_for(self, library: Snapshot) -> E5Embedder | None:
        """Vectors of another model can't be compared with ours."""
        embedder = self._learned.embedder
        return embedder if embedder is not None and library.model in (None, embedder.fingerprint) else None

    def _stale(self, report: Report, notes: Mapping[str, NoteRecord]) -> set[str]:
        """What a report was made from that is gone, is not as it was indexed, or is not to be indexed any more. `notes` are those of the
        commit it was made from; what isn't among them was found in its file a moment ago."""
        return {path for path in report.paths if not (self._stands(notes[path]) if path in notes else self._exists(path))}

    def _stands(self, note: NoteRecord) -> bool:
        return files.is_note(note.path, self.config.search.exclude) and files.unchanged(self.config.vault, note)

    def _exists(self, path: str) -> bool:
        return files.is_note(path, self.config.search.exclude) and files.stat(self.config.vault, path) is not None

    def _reread(self, paths: Collection[str]) -> bool:
        """Only what is there is read: a question is no reason to remove notes, whose vault may just not be mounted."""
        changed = [path for path in paths if self._exists(path)]
        if not changed or self.access is Access.READER or not self._writing.acquire(timeout=_WAIT_TO_REREAD):
            return False
        try:
            self.apply_words(changed)
        except OneBrainError:
            return False
        finally:
            self._writing.release()
        return True

    def get(self, target: str, from_line: int | None = None, max_lines: int | None = None) -> NoteText:
        """Lines of a note as it is on the disk. `target` is a path, after `:` a line, a range of lines or a heading if wanted.

        Raises NoteUnreadable with near names, BadRequest for a place that the note doesn't have.
        """
        path, place = (target, "") if files.stat(self.config.vault, target) is not None else places.split(target)
        in_agent = f"{self.config.folders.agent}/{path}"  # as `recall` cites the vault's own memory
        if files.stat(self.config.vault, path) is None and files.stat(self.config.vault, in_agent) is not None:
            path = in_agent
        try:
            raw = files.read(self.config.vault, path)
        except NoteUnreadable as error:
            raise NoteUnreadable(error.message, hint=self._near_names(path) or error.hint) from error
        text, problem = files.decode(raw)
        if problem and not text:
            raise NoteUnreadable(f"{path} can't be shown: {problem}.")
        lines = text.split("\n")
        count = max(1, len(lines) - (not lines[-1]))
        place = str(from_line) if from_line else place
        if place.startswith("^") and (named := links.block_line(lines, place)):
            place = f"{named}-{named}"
        known = headings(text) if place and not place[:1].isdigit() else ()
        first, last = places.lines_at(path, place, count, known)
        last = len(lines) if last == count else last
        last = last if max_lines is None else min(last, first + max(1, max_lines) - 1)
        return NoteText(path, first, last, "\n".join(lines[first - 1 : last]), problem)

    def _near_names(self, path: str) -> str | None:
        with self._index.snapshot() as library:
            known = list(library.notes())
        wanted = path.casefold()
        names = {known_path.casefold(): known_path for known_path in known}
        found = [names[name] for name in names if name.endswith(f"/{wanted}") or name.rpartition("/")[2].removesuffix(".md") == wanted]
        found = found or [names[name] for name in difflib.get_close_matches(wanted, names, n=3, cutoff=0.6)]
        found = [known_path for known_path in found if self._exists(known_path)]
        return f"Did you mean {', '.join(found[:3])}?" if found else None

    # Keeping

    def reindex(
        self,
        paths: Sequence[str] = (),
        force: bool = False,
        lex_only: bool = False,
        pending_only: bool = False,
        progress: Step | None = None,
    ) -> ReindexResult:
        """All words and all vectors, which may take minutes, and a clean-up: on command, never inside a question."""
        with self._writing:
            return self._indexer.reindex(
                paths or None, force=force, lex_only=lex_only, pending_only=pending_only, progress=_steps(progress)
            )

    def apply_words(self, paths: Collection[str] | None, *, progress: Callable[[int, int], None] | None = None) -> ReindexResult:
        """Make what changed findable by words: of these notes and folders, or (None) of the whole vault."""
        with self._writing:
            indexer = self._indexer
            return indexer.apply_words(indexer.plan(paths), _counts(progress))

    def apply_vectors(
        self,
        *,
        budget_s: float | None = None,
        stop: Callable[[], bool] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> int:
        """Embed what is pending, for `budget_s` seconds at most; how many passages are left."""
        until = None if budget_s is None else time.monotonic() + budget_s
        with self._writing:
            self._indexer.apply_vectors(
                progress=_counts(progress), stop=lambda: bool(stop and stop()) or until is not None and time.monotonic() >= until
            )
        return self.pending()

    @property
    def _indexer(self) -> Indexer:
        if self._index.indexer is None:
            raise IndexBusy("Another process owns the index; this one may only read it.", hint="Wait until the other one has ended.")
        return self._index.indexer

    def pending(self) -> int:
        """Passages without a vector."""
        with self._index.snapshot() as library:
            return library.pending()

    def unload(self) -> None:
        """Let go of models and engines; they come back when needed."""
        self._learned.unload()
        if self._writing.acquire(blocking=False):
            try:
                self._index.rest()
            finally:
                self._writing.release()

    def status(self) -> Status:
        facts, learned = self._index.status(), self._learned
        sizes = [size for size in (facts.manifest_bytes, facts.words_bytes, facts.vectors_bytes) if size is not None]
        failed: tuple[Failure, ...] = ()
        unindexed: int | None = None
        if facts.notes is not None:
            with self._index.snapshot() as library:
                failed = tuple(library.failures())
                with suppress(OneBrainError):  # where the vault can't be looked at nobody knows
                    unindexed = len(_VaultGrep(self, library, keeps_up=False).behind())
        return Status(
            collection=self.config.search.collection,
            embed_model=learned.embedder.model_id if learned.embedder else self.config.search.embed_model,
            data_dir=self._index.directory,
            doc_count=facts.notes,
            chunk_count=facts.passages,
            pending_words=unindexed,
            pending_vectors=facts.pending,
            failed=failed,
            last_indexed_at=facts.as_of,
            index_size_bytes=sum(sizes) if sizes else None,
            semantic_available=learned.embedder is not None,
            reranker=_reranker_name(learned.reranker),
            hyde=learned.hyde.name if learned.hyde else None,
            owner=owner.holder(self._index.directory) if self.access is Access.READER else None,
            error="; ".join([*learned.troubles, *([facts.trouble] if facts.trouble else [])]) or None,
        )


class _VaultGrep:
    """Implements `search.grep.Grep` over the files of the vault. `keeps_up`: what the index lists is all there is, no need to look."""

    def __init__(self, brain: Brain, library: Snapshot, *, keeps_up: bool) -> None:
        self._config = brain.config
        self._library = library
        self._keeps_up = keeps_up

    def lines(self, needles: Sequence[Needle], allowed: Collection[str] | None, limit: int) -> list[Line]:
        """Every file is read once. Stops after a second and a half: a floor must not be a wait."""
        until = time.monotonic() + _GREP_SECONDS
        found: dict[Needle, list[Line]] = {needle: [] for needle in needles}
        parts = {needle: needle.part.encode() for needle in found}
        paths = [path for path in self._paths() if allowed is None or path in allowed] if found else []
        for path, raw in files.read_all(self._config.vault, paths):
            lower = raw.lower()
            sought = [needle for needle, lines in found.items() if len(lines) < limit and parts[needle] in lower]
            lines = shown(files.decode(raw)[0]) if sought else []
            for needle in sought:
                number = next((number for number, line in enumerate(lines, 1) if needle.pattern.search(line)), None)
                if number is not None:
                    found[needle].append(Line(path, number, lines[number - 1]))
            if time.monotonic() > until or all(len(lines) >= limit for lines in found.values()):
                break
        return [line for lines in found.values() for line in lines]

    def _paths(self) -> list[str]:
        """An owner knows the files, those included that can't be indexed; a reader may be behind, and looks."""
        if self._keeps_up:
            return sorted({*self._library.notes(), *(failure.path for failure in self._library.failures())})
        return sorted(self._disk)

    @cached_property
    def _disk(self) -> Mapping[str, files.Stat]:
        return files.stat_all(self._config.vault, self._config.search.exclude).stats

    def unindexed(self) -> list[str]:
        """Nothing for an owner, which catches up before it answers: looking at every file would cost each question tens of ms."""
        try:
            return [] if self._keeps_up else self.behind()
        except OneBrainError:
            return []

    def behind(self) -> list[str]:
        """Paths on the disk that are new, or not as they were indexed; those that can't be indexed are not among them.

        Raises VaultNotFound where there is no disk to compare with.
        """
        notes = self._library.notes()
        failed = {failure.path for failure in self._library.failures()}
        disk = self._disk
        return sorted(path for path, stat in disk.items() if path not in failed and (path not in notes or _differs(stat, notes[path])))

    def outdated(self) -> set[str]:
        """Notes of the index that are gone from the disk, or not as they were indexed."""
        notes = self._library.notes()
        try:
            disk = self._disk
        except OneBrainError:
            return set(notes)
        return {path for path, note in notes.items() if path not in disk or _differs(disk[path], note)}


def _differs(stat: files.Stat, note: NoteRecord) -> bool:
    return (stat.mtime_ns, stat.size) != (note.mtime_ns, note.size)


def _emptied(report: Report) -> Report:
    """For a vault that changes faster than it can be asked: nothing is better than something that may be wrong by now."""
    note = "The notes kept changing while they were read. Ask again in a moment."
    nothing = replace(report, verdict=Verdict.NONE, hits=(), sources=(), answer=(), chain=(), below_threshold=None)
    return replace(nothing, notes=(*report.notes, note))


def _reranker_name(reranker: Reranker | None) -> str | None:
    """Our own by its name in the configuration, with the start of its sum; others by theirs."""
    if reranker is None:
        return None
    kind, _, digest = reranker.model_id.partition(":")
    return f"onebrain-compact ({digest[:8]})" if kind == "compact" else reranker.model_id


def _server(config: Config) -> Server | None:
    chroma = config.search.chroma
    return None if chroma is None else Server(chroma.url, config.search.collection, os.environ.get(chroma.token_env or "") or None)


def _steps(progress: Step | None) -> Callable[[Progress], None] | None:
    return None if progress is None else lambda step: progress(step.phase, step.done, step.total)


def _counts(progress: Callable[[int, int], None] | None) -> Callable[[Progress], None] | None:
    return None if progress is None else lambda step: progress(step.done, step.total)

"""Where a long-lived face (MCP, the web page) takes its questions: the vault's daemon when one runs, else a Brain of its own.

What must stay true: a face that waits for its user owns nothing. A Brain of ours is opened by the first question and let go of when
idle, so that other commands find the index free. Whichever way a question goes, a `Report` comes back.
"""

from __future__ import annotations

import io
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from onebrain import errors
from onebrain.cli.direct import caught_up
from onebrain.cli.terminal import BrainPort, Opened, Progress, Terminal
from onebrain.daemon import client, wire
from onebrain.daemon.writer import Engine
from onebrain.errors import IndexBusy, OneBrainError
from onebrain.search.question import Legs, Request
from onebrain.search.report import Band, ChainLink, Hit, IndexState, Mode, Quote, Report, Stage, StageStatus, Synthesis, Verdict, Worded

if TYPE_CHECKING:
    from onebrain.config import Config
    from onebrain.render.state import Status
    from onebrain.vault.library import Library

IDLE_SECONDS = 20.0  # an own Brain is closed this long after the last question
FRESH_SECONDS = 2.0  # typing asks several times a second; the disk is looked at once
_NEVER: Mapping[bool, float] = {False: float("-inf"), True: float("-inf")}  # with vectors or without → when the disk was looked at last

T = TypeVar("T")


class OwnBrain(BrainPort, Engine, Protocol):
    """A Brain that a desk opened for itself, which any number of threads may use at once."""

    def close(self) -> None: ...


Open = Callable[[bool], OwnBrain]
"""`open(owner)`: a Brain that owns the index, or one that only reads. Raises IndexBusy where another process owns it."""


class Desk:
    """May be used from any number of threads. Close it when the face ends."""

    def __init__(
        self,
        config: Config,
        env: Mapping[str, str],
        open_brain: Open | None = None,
        *,
        idle_seconds: float = IDLE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.config = config
        self._env = env
        self._open = open_brain or (lambda owner: _open_brain(config, owner))
        self._idle_seconds = idle_seconds
        self._clock = clock
        self._lock = threading.RLock()
        self._brain: OwnBrain | None = None
        self._owns = False
        self._users = 0
        self._looked_at = _NEVER
        self._timer: threading.Timer | None = None
        self._indexed = False

    def has_index(self) -> bool:
        """Whether there is an index to ask. Asking a Brain of one's own would build it, which may take minutes nobody agreed to."""
        if not self._indexed:
            self._indexed = indexed(self.status()) is not False
        return self._indexed

    def ask(self, request: Request) -> Report:
        data = self.command(argv_of(request))
        if data is not None:
            return report_of(data, request)
        with self._asking(vectors=request.legs is not Legs.LEX) as opened:
            return opened.brain.ask(request)

    def status(self) -> Status:
        with self._reading() as brain:
            return brain.status()

    def peek(self, look: Callable[[Library], T]) -> T:
        """What `look` finds in the index as it stands, without owning it. `look` must keep no Library."""
        with self._reading() as brain, brain.library() as library:
            return look(library)

    def command(self, argv: Sequence[str]) -> Mapping[str, Any] | None:
        """The `data` of a command line with `--json`, run by the daemon; None when none answers. Raises what the command raised."""
        output = through_daemon(argv, self.config, self._env)
        return None if output is None else data_of(output)

    def run(self, argv: Sequence[str]) -> Mapping[str, Any]:
        """The `data` of any command line with `--json`: run by the daemon, else here, by the same application on a Brain of ours."""
        data = self.command(argv)
        return data_of(self._here(argv)) if data is None else data

    def _here(self, argv: Sequence[str]) -> str:
        from onebrain.cli import app

        @contextmanager
        def brains(config: Config, *, sync: bool, progress: Progress | None) -> Iterator[Opened]:
            with self._asking() as opened:
                yield opened

        out = io.StringIO()
        words = ("--vault", str(self.config.file or self.config.vault), *argv)
        app.run(Terminal(words, self._env, self.config.vault, out, io.StringIO(), brains))
        return out.getvalue()

    def close(self) -> None:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._release()

    @contextmanager
    def _asking(self, *, vectors: bool = True) -> Iterator[Opened]:
        """A Brain for a question, caught up with the disk where it is the owner's to do so: typing waits for words alone."""
        with self._lock:
            brain, now = self._kept(), self._clock()
            self._users += 1
            stale = self._owns and now - self._looked_at[vectors] >= FRESH_SECONDS
            if stale:
                self._looked_at = {False: now, True: now if vectors else self._looked_at[True]}
        try:
            yield Opened(brain, caught_up(brain, self.config, vectors=vectors) if stale else ())
        finally:
            with self._lock:
                self._users -= 1
                self._rest()

    @contextmanager
    def _reading(self) -> Iterator[OwnBrain]:
        """The Brain that is open anyway, else a reader for this one look."""
        with self._lock:
            kept = self._brain
            self._users += kept is not None
        if kept is None:
            brain = self._open(False)
            try:
                yield brain
            finally:
                brain.close()
            return
        try:
            yield kept
        finally:
            with self._lock:
                self._users -= 1
                self._rest()

    def _kept(self) -> OwnBrain:
        """The Brain we hold. A reader asks for the index again whenever it is not in use: its owner may have left."""
        if self._brain is not None and (self._owns or self._users):
            return self._brain
        try:
            owner = self._open(True)
        except IndexBusy:
            if self._brain is None:
                self._brain = self._open(False)
            return self._brain
        self._release()
        self._brain, self._owns = owner, True
        return owner

    def _rest(self) -> None:
        """Count down again, if nobody is being served."""
        if self._timer is not None:
            self._timer.cancel()
        if not self._users and self._brain is not None:
            self._timer = threading.Timer(self._idle_seconds, self._leave)
            self._timer.daemon = True
            self._timer.start()

    def _leave(self) -> None:
        with self._lock:
            if not self._users:
                self._release()

    def _release(self) -> None:
        brain, self._brain, self._owns, self._looked_at = self._brain, None, False, _NEVER
        if brain is not None:
            brain.close()


def _open_brain(config: Config, owner: bool) -> OwnBrain:
    from onebrain.brain import Access, Brain  # imports the engines: not before the first question

    return Brain.open(config, access=Access.OWNER if owner else Access.READER)


def through_daemon(argv: Sequence[str], config: Config, env: Mapping[str, str]) -> str | None:
    """What the vault's daemon prints for a command line; None when none runs or it can't answer this one."""
    if env.get("ONEBRAIN_NO_DAEMON", "0") not in ("", "0"):
        return None
    run = os.path.join(config.data_dir, "run")
    names = dict.fromkeys([str(config.vault), *([str(config.file.parent)] if config.file else [])])
    address = next((found for name in names if (found := wire.read_address(wire.address_file(run, name)))), None)
    if address is None:
        return None
    words = ["--vault", str(config.file or config.vault), *argv]
    request = client.command(words, env, str(config.vault)) | {"out_tty": False, "err_tty": False, "width": 80}
    printed: list[bytes] = []

    def keep(kind: bytes, piece: bytes) -> None:
        if kind == wire.OUT:
            printed.append(piece)

    try:
        client.converse(address, request, keep, repeatable=client.repeatable(argv))
    except client.Unanswered:
        return None
    return b"".join(printed).decode("utf-8", "surrogateescape")


def data_of(output: str) -> Mapping[str, Any]:
    """The `data` of an envelope, or the error it tells, as the exception it was."""
    try:
        envelope = json.loads(output)
        if envelope["ok"]:
            data: Mapping[str, Any] = envelope["data"]
            return data
        told = envelope["error"]
        kind = _ERRORS.get(told["code"], OneBrainError)
        raise kind(told["message"], hint=told.get("hint"))
    except (ValueError, KeyError, TypeError) as broken:
        raise OneBrainError(
            "The daemon's answer can't be read.", hint="Run `onebrain daemon stop`, then `onebrain daemon start`."
        ) from broken


_ERRORS: Mapping[str, type[OneBrainError]] = {
    kind.code: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, OneBrainError) and kind is not errors.BadConfig
}


def argv_of(request: Request) -> list[str]:
    """A request as the command line that asks the same. `now` is the daemon's own."""
    verb = {Legs.HYBRID: [], Legs.LEX: ["search"], Legs.VEC: ["vsearch"]}[request.legs]
    words = ["search", *verb, "--json", "-n", str(request.limit)]
    filters = request.filters
    repeated = {
        "--lex": request.lex, "--vec": request.vec, "--hyde": request.hyde,
        "--path": filters.paths, "--tag": filters.tags, "--type": filters.types,
    }  # fmt: skip
    single = {"--mode": request.mode, "--after": filters.after, "--before": filters.before}
    words += [word for name, values in repeated.items() for value in values for word in (name, value)]
    words += [word for name, value in single.items() if value is not None for word in (name, value)]
    if request.everything:
        words.append("--all")
    if not request.rerank:
        words.append("--no-rerank")
    if not request.write_hyde:
        words.append("--no-hyde")
    if not request.write_synthesis:
        words.append("--no-synthesis")
    if request.min_score is not None:
        words += ["--min-score", str(request.min_score)]
    return [*words, "--", request.text]


def report_of(data: Mapping[str, Any], request: Request) -> Report:
    """The `data` of `search`, or of a listing, as the Report it was made from."""
    hits = tuple(_hit(hit) for hit in data["hits"])
    below = data.get("below_threshold")
    index = data.get("index", {})
    return Report(
        query=data.get("query", request.text),
        mode=Mode(data.get("mode", Mode.WHAT)),
        verdict=Verdict(data["verdict"]) if "verdict" in data else Verdict.POSSIBLE if hits else Verdict.NONE,
        hits=hits,
        sources=tuple(_hit(hit) for hit in data["sources"]) if "sources" in data else hits[: request.limit],
        answer=tuple(Quote(**sentence) for sentence in (data.get("answer") or {}).get("sentences", ())),
        chain=tuple(ChainLink(**link) for link in data.get("chain") or ()),
        below_threshold=(below["count"], below["best"]) if below else None,
        notes=tuple(data.get("notes", ())),
        stages=tuple(Stage(**(stage | {"status": StageStatus(stage["status"])})) for stage in data.get("stages", ())),
        index=IndexState(index.get("pending") or 0, index.get("as_of")),
        synthesis=_synthesis(data["synthesis"]) if "synthesis" in data else None,
    )


def _synthesis(data: Mapping[str, Any]) -> Synthesis:
    worded = (Worded(sentence["text"], tuple(cite["n"] for cite in sentence["cites"])) for sentence in data["sentences"])
    return Synthesis(data["by"], tuple(worded))


def _hit(data: Mapping[str, Any]) -> Hit:
    known = {name: data[name] for name in Hit.__dataclass_fields__ if name in data}
    return Hit(**(known | {"band": Band(data["band"]), "legs": tuple(data["legs"])}))


def indexed(status: Status) -> bool | None:
    """Whether there is anything to ask: None when it can't be known."""
    if status.doc_count is None:
        return None if status.error else False
    return status.last_indexed_at is not None

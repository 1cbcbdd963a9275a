"""Where a long-lived face (MCP, the web page) takes its questions: the vault's daemon when one runs, else a Brain of its own.

What must stay true: a face that waits for its user owns nothing. A Brain of ours is opened by the first question, used by one thread,
and let go of when idle, so that other commands find the index free. Whichever way a question goes, a `Report` comes back.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from onebrain import errors
from onebrain.daemon import client, wire
from onebrain.errors import IndexBusy, OneBrainError
from onebrain.search.question import Legs, Request
from onebrain.search.report import Band, ChainLink, Hit, IndexState, Mode, Quote, Report, Stage, StageStatus, Verdict

if TYPE_CHECKING:
    from onebrain.config import Config
    from onebrain.render.state import Status
    from onebrain.vault.library import Library

IDLE_SECONDS = 20.0  # an own Brain is closed this long after the last question
FRESH_SECONDS = 2.0  # typing asks several times a second; the disk is looked at once

T = TypeVar("T")


class BrainLike(Protocol):
    def ask(self, request: Request) -> Report: ...
    def status(self) -> Status: ...
    def library(self) -> Library: ...
    def sync(self) -> object: ...
    def close(self) -> None: ...


Open = Callable[[bool], BrainLike]
"""`open(owner)`: a Brain that owns the index, or one that only reads. Raises IndexBusy where another process owns it."""


class Desk:
    """`ask`, `status` and `peek` may be called from any thread; they are carried out one at a time. Close it when the face ends."""

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
        self._brain: BrainLike | None = None
        self._owns = False
        self._synced_at = float("-inf")
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="onebrain-desk")
        self._timer: threading.Timer | None = None

    def ask(self, request: Request) -> Report:
        data = self.command(argv_of(request))
        if data is not None:
            return report_of(data, request)
        return self._on_worker(lambda: self._answer(request))

    def status(self) -> Status:
        return self._on_worker(lambda: self._reading(lambda brain: brain.status()))

    def peek(self, look: Callable[[Library], T]) -> T:
        """What `look` finds in the index as it stands, without owning it. `look` runs on the desk's thread; keep no Library."""
        return self._on_worker(lambda: self._reading(lambda brain: look(brain.library())))

    def command(self, argv: Sequence[str]) -> Mapping[str, Any] | None:
        """The `data` of a command of the CLI, run by the daemon; None when no daemon answers. Raises what the command raised."""
        output = through_daemon([*argv, "--json"], self.config, self._env)
        return None if output is None else data_of(output)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._worker.submit(self._release).result()
        self._worker.shutdown()

    def _on_worker(self, job: Callable[[], T]) -> T:
        future: Future[T] = self._worker.submit(job)
        return future.result()

    def _answer(self, request: Request) -> Report:
        brain = self._own_brain()
        if self._owns and self._clock() - self._synced_at >= FRESH_SECONDS:
            brain.sync()
            self._synced_at = self._clock()
        return brain.ask(request)

    def _own_brain(self) -> BrainLike:
        """The Brain, as owner if the index is free. A reader asks again each time: the owner may have left."""
        self._rest()
        if self._brain is not None and self._owns:
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

    def _reading(self, use: Callable[[BrainLike], T]) -> T:
        if self._brain is not None:
            return use(self._brain)
        brain = self._open(False)
        try:
            return use(brain)
        finally:
            brain.close()

    def _rest(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(self._idle_seconds, lambda: self._worker.submit(self._release))
        self._timer.daemon = True
        self._timer.start()

    def _release(self) -> None:
        brain, self._brain, self._owns, self._synced_at = self._brain, None, False, float("-inf")
        if brain is not None:
            brain.close()


def _open_brain(config: Config, owner: bool) -> BrainLike:
    from onebrain.brain import Access, Brain  # imports the engines: not before the first question

    brain: BrainLike = Brain.open(config, access=Access.OWNER if owner else Access.READER)
    return brain


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
    try:
        client.converse(address, request, lambda kind, piece: printed.append(piece) if kind == wire.OUT else None, repeatable="memory" not in argv[:1])
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
    words = ["search", *verb, "-n", str(request.limit)]
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
    )


def _hit(data: Mapping[str, Any]) -> Hit:
    known = {name: data[name] for name in Hit.__dataclass_fields__ if name in data}
    return Hit(**(known | {"band": Band(data["band"]), "legs": tuple(data["legs"])}))


def indexed(status: Status) -> bool | None:
    """Whether there is anything to ask: None when it can't be known."""
    if status.doc_count is None:
        return None if status.error else False
    return status.last_indexed_at is not None


def vault_name(config: Config) -> str:
    return Path(config.vault).name

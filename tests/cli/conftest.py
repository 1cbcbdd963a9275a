"""A command line in memory: a small vault, a Brain that answers from literals, and transcripts to compare with."""

from __future__ import annotations

import io
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from onebrain.cli.app import run
from onebrain.cli.terminal import Opened, Progress, Terminal
from onebrain.config import Config
from onebrain.errors import OneBrainError
from onebrain.render.json import Caution
from onebrain.search.question import Request
from onebrain.search.report import Band, ChainLink, Hit, IndexState, Mode, Quote, Report, Stage, StageStatus, Verdict

AS_OF = IndexState(0, "2026-05-04T08:00:00Z")
STAGES = (Stage("lex", StageStatus.RAN, None, 1.5, 2), Stage("hyde", StageStatus.SKIPPED, "no writer"))


def hit(path: str, heading: str, snippet: str, score: float, rank: float | None, **more: Any) -> Hit:
    band = Band.UNRANKED if rank is None else Band.CONFIDENT if rank >= 0.6 else Band.POSSIBLE if rank >= 0.3 else Band.WEAK
    base = Hit(f"{path}#0", path, heading, 10, 20, Path(path).stem, "project", score, snippet, band, ("lex", "vec"), rank)
    return replace(base, **more)


REDIS = hit("01-projects/queue.md", "Queue > Decision", "Redis Streams carry all\nevents since May.", 0.91, 0.83, why={"coverage": 1.2})
KAFKA = hit("03-knowledge/kafka.md", "", "Kafka is a log.", 0.4, 0.41)
OLD = hit("06-archive/mq.md", "RabbitMQ", "We ran RabbitMQ.", 0.2, 0.12, status="superseded")

WHAT = Report(
    query="which queue do we use",
    mode=Mode.WHAT,
    verdict=Verdict.CONFIDENT,
    hits=(REDIS, KAFKA, OLD),
    sources=(REDIS, KAFKA),
    answer=(Quote("Redis Streams carry all events since May.", REDIS.doc_path, "Decision", 12),),
    stages=STAGES,
    index=AS_OF,
)
WHY = Report(
    query="why did we drop kafka",
    mode=Mode.WHY,
    verdict=Verdict.CONFIDENT,
    hits=(REDIS,),
    sources=(REDIS,),
    chain=(
        ChainLink("2024-01-10", "Kafka chosen", "replay for auditors", REDIS.doc_path, "Decisions", 30, 0.7, "01-projects/adr-7.md"),
        ChainLink("2026-04-19", "Kafka dropped", "headcount didn't justify it", "01-projects/adr-7.md", "ADR-007", 3),
    ),
    stages=STAGES,
    index=AS_OF,
)
NOTHING = Report("graphql", Mode.WHAT, Verdict.NONE, (OLD,), (), below_threshold=(1, 0.12), stages=STAGES, index=AS_OF)


@dataclass(frozen=True)
class Failure:
    path: str
    line: int | None
    reason: str


@dataclass(frozen=True)
class Status:
    collection: str = "notes-1a2b3c"
    embed_model: str = "multilingual-e5-small"
    data_dir: str = "/data"
    doc_count: int | None = 1208
    chunk_count: int | None = 9000
    pending_words: int | None = 0
    pending_vectors: int | None = 0
    failed: tuple[Failure, ...] = ()
    last_indexed_at: str | None = "2026-05-04T08:00:00Z"
    index_size_bytes: int | None = 93_000_000
    semantic_available: bool = True
    reranker: str | None = "onebrain-compact"
    hyde: str | None = None
    owner: str | None = None
    error: str | None = None


@dataclass(frozen=True)
class Reindexed:
    added: int = 0
    updated: int = 0
    removed: int = 0
    moved: int = 0
    unchanged: int = 0
    failed: int = 0
    embedded: int = 0
    failures: tuple[Failure, ...] = ()
    problems: tuple[Failure, ...] = ()
    held_back: str | None = None
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Lines:
    path: str
    line_start: int
    line_end: int
    text: str
    problem: str | None = None


@dataclass
class FakeBrain:
    report: Report = WHAT
    state: Status = Status()
    result: Reindexed = Reindexed(unchanged=3)
    error: BaseException | None = None
    asked: list[Request] = field(default_factory=list)
    reindexed: list[dict[str, Any]] = field(default_factory=list)

    def ask(self, request: Request) -> Report:
        self._maybe_fail()
        self.asked.append(request)
        return replace(self.report, query=request.text)

    def get(self, target: str, from_line: int | None = None, max_lines: int | None = None) -> Lines:
        self._maybe_fail()
        return Lines(target, 2, 3, "# Title\x1b[31m\ntext")

    def status(self) -> Status:
        return self.state

    def reindex(
        self,
        paths: Sequence[str] = (),
        force: bool = False,
        lex_only: bool = False,
        pending_only: bool = False,
        progress: Progress | None = None,
    ) -> Reindexed:
        self._maybe_fail()
        self.reindexed.append({"paths": tuple(paths), "force": force, "lex_only": lex_only, "pending_only": pending_only})
        return self.result

    def _maybe_fail(self) -> None:
        if self.error is not None:
            raise self.error


@dataclass
class Result:
    code: int
    out: str
    err: str

    def __str__(self) -> str:
        told = "".join(f"! {line}\n" for line in self.err.splitlines())
        return self.out + told + (f"[exit {self.code}]\n" if self.code else "")


@dataclass
class Shell:
    """Runs command lines in a vault. `brain` is what they find there."""

    cwd: Path
    brain: FakeBrain = field(default_factory=FakeBrain)
    env: dict[str, str] = field(default_factory=dict)
    opening: OneBrainError | None = None
    cautions: tuple[Caution, ...] = ()
    synced: list[bool] = field(default_factory=list)

    def __call__(self, *argv: str, **surroundings: Any) -> Result:
        out, err = io.StringIO(), io.StringIO()
        terminal = Terminal(
            argv=argv, env=self.env, cwd=self.cwd, out=out, err=err, brains=self.open, today=lambda: date(2026, 5, 4), **surroundings
        )
        return Result(run(terminal), out.getvalue(), err.getvalue())

    @contextmanager
    def open(self, config: Config, *, sync: bool, progress: Progress | None) -> Iterator[Opened]:
        self.synced.append(sync)
        if self.opening:
            raise self.opening
        yield Opened(self.brain, self.cautions)  # type: ignore[arg-type]  # `memory search` alone asks for more

    def shows(self, transcript: str) -> None:
        """Compare with `$ command` lines, each followed by stdout, then stderr (`! `), then the exit code where it isn't 0."""
        lines = [line.removeprefix("    ") for line in transcript.strip("\n").splitlines()]
        actual = []
        for line in lines:
            if line.startswith("$ onebrain"):
                actual.append(line + "\n" + str(self(*shlex.split(line)[2:])).rstrip("\n"))
        assert "\n".join(actual) == "\n".join(line.rstrip() for line in lines).rstrip()


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    place = tmp_path / "notes"
    place.mkdir()
    (place / "onebrain.yml").write_text("search: {collection: notes-1a2b3c}\n")
    return Shell(place, env={"ONEBRAIN_DATA_DIR": str(tmp_path / "data")})


@pytest.fixture
def reports() -> Any:
    """The literals above, for tests that change them. Not `sys.modules`: there, the conftest of another folder may have taken the name."""
    return SimpleNamespace(**globals())

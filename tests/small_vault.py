"""A vault of six notes and a Brain that answers from a table, for the tests of the page and of MCP."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from onebrain.config import Config, Search
from onebrain.daemon.desk import Desk
from onebrain.search.question import Legs, Request
from onebrain.search.report import Band, ChainLink, Hit, IndexState, Mode, Quote, Report, Stage, StageStatus, Synthesis, Verdict, Worded
from onebrain.vault.library import NoteRecord
from onebrain.vault.note import Event, EventKind, Source, Status

TOKEN = "t0ken-of-the-tests"
PORT = 8123

HOSTILE = """---
tags: [x]
---
# <img src=x onerror="document.title='owned'">

<script>document.title = 'owned'</script>

[click](javascript:alert(1)) and <a href="javascript:alert(1)">raw</a> ![pixel](https://tracker.example/pixel.png)

<iframe src="https://evil.example"></iframe><form action="https://evil.example"><input name=q></form>

<style>body { display: none }</style>

| a <svg onload=alert(1)> | b |
|---|---|
| [[Kafka\\|<b onclick=x>]] | `</code><script>` |
"""

NOTES = {
    "01-projects/beacon/ADR-007 Redis Streams.md": (
        "---\ntags: [adr, beacon]\ndate: 2026-04-19\n---\n\n# ADR-007: Redis Streams\n\n"
        "It replaces [[ADR-003 Kafka|ADR-003]]. See also [[Glossary]], [[Nowhere]] and [docs](https://example.org/a).\n\n"
        "## Decision\n\nWe dropped Kafka because the team headcount didn't justify its ops cost. ^why\n\n"
        "> [!warning] Careful\n> Replay reaches back 72 hours.\n\n- [ ] order a node\n- [x] test it\n"
    ),
    "01-projects/beacon/ADR-003 Kafka.md": "---\nstatus: superseded\n---\n# ADR-003: Kafka\n\nThree brokers that we run ourselves.\n",
    "03-knowledge/Glossary.md": "# Glossary\n\n**Kafka**: a log.\n",
    "03-knowledge/返品の手順.md": "# 返品の手順\n\n返品は三十日以内に受け付ける。\n",
    "03-knowledge/Hostile.md": HOSTILE,
    "attachments/secret.md": "# not a note of this vault\n",
    ".obsidian/app.md": "# hidden\n",
    "03-knowledge/data.txt": "not Markdown\n",
}
ADR7, ADR3 = "01-projects/beacon/ADR-007 Redis Streams.md", "01-projects/beacon/ADR-003 Kafka.md"


def hit(path: str = ADR7, *, band: Band = Band.CONFIDENT, score: float | None = 0.87, **more: Any) -> Hit:
    given: dict[str, Any] = {
        "chunk_id": f"{path}#1", "doc_path": path, "heading_path": "ADR-007 > Decision", "line_start": 12, "line_end": 12,
        "title": "ADR-007: Redis Streams", "source": "decision", "score": 0.9,
        "snippet": "We dropped Kafka.", "band": band,
        "legs": ("lex", "vec"), "rerank_score": score, "date": "2026-04-19", "status": "active",
    }  # fmt: skip
    return Hit(**(given | more))


OLDER = hit(ADR3, band=Band.POSSIBLE, score=0.41, title="ADR-003: Kafka", status="superseded")
WHAT = Report(
    query="what replaced kafka",
    mode=Mode.WHAT,
    verdict=Verdict.CONFIDENT,
    hits=(hit(), OLDER, hit("03-knowledge/Glossary.md", band=Band.WEAK, score=0.08, title="Glossary")),
    sources=(hit(), OLDER),
    answer=(Quote("We dropped Kafka because the team headcount didn't justify its ops cost.", ADR7, "ADR-007 > Decision", 12),),
    stages=(Stage("hyde", StageStatus.FAILED, "the model took longer than 3 s", 3000.0),),
    index=IndexState(2, "2026-10-13T09:41:00+00:00"),
)
WHY = Report(
    query="why did we drop kafka",
    mode=Mode.WHY,
    verdict=Verdict.CONFIDENT,
    hits=(hit(),),
    sources=(hit(),),
    chain=(
        ChainLink("2025-10-02", "Kafka, three brokers that we run", "it keeps events after they are read", ADR3, "ADR-003", 5, 0.7, ADR7),
        ChainLink("2026-04-19", "Redis Streams", "the headcount didn't justify Kafka's ops cost", ADR7, "Decision", 12, 0.9, None),
    ),
)
BY = "llama3.2 at <b>127.0.0.1"
WORDED = replace(WHAT, synthesis=Synthesis(BY, (Worded("Kafka was dropped for its *ops* cost <img src=x>.", (1,)),)))
WORDED_WHY = replace(WHY, synthesis=Synthesis(BY, (Worded("Kafka kept events.", (1,)), Worded("Redis Streams cost less.", (2, 1)))))
NOTHING = Report("zebra", Mode.WHAT, Verdict.NONE, hits=(hit(band=Band.WEAK, score=0.12),), sources=(), below_threshold=(1, 0.12))


@dataclass
class FakeStatus:
    collection: str = "test"
    embed_model: str = "multilingual-e5-small"
    data_dir: Path = Path("data")
    doc_count: int | None = 6
    chunk_count: int | None = 9
    pending_words: int | None = 0
    pending_vectors: int | None = 0
    failed: tuple[Any, ...] = ()
    last_indexed_at: str | None = "2026-10-13T09:41:00+00:00"
    index_size_bytes: int | None = 1000
    semantic_available: bool = True
    reranker: str | None = "onebrain-compact"
    hyde: str | None = None
    owner: str | None = None
    error: str | None = None


def record(path: str, title: str, **more: Any) -> NoteRecord:
    raw = NOTES[path].encode()
    given: dict[str, Any] = {
        "path": path, "title": title, "source": Source.DECISION if "ADR" in path else Source.KNOWLEDGE, "aliases": (), "tags": (),
        "date": None, "status": Status.ACTIVE, "type": None, "sha256": sha256(raw).hexdigest(), "mtime_ns": 0, "size": len(raw),
        "links": (), "backlinks": (), "has_events": False,
    }  # fmt: skip
    return NoteRecord(**(given | more))


class FakeLibrary:
    generation = 1

    def notes(self) -> Mapping[str, NoteRecord]:
        found = [
            record(ADR7, "ADR-007: Redis Streams", tags=("adr", "beacon"), date="2026-04-19", has_events=True),
            record(ADR3, "ADR-003: Kafka", tags=("adr",), status=Status.SUPERSEDED, has_events=True),
            record("03-knowledge/Glossary.md", "Glossary"),
            record("03-knowledge/返品の手順.md", "返品の手順"),
            record("03-knowledge/Hostile.md", "<img src=x onerror=\"document.title='owned'\">"),
        ]
        return {note.path: note for note in found}

    def events(self, paths: Any) -> Mapping[str, tuple[Event, ...]]:
        found = Event("2026-04-19", "Redis Streams for **event** transport", None, 10, 10, "Decision", EventKind.RECORD)
        return {path: (found,) for path in paths}


@dataclass
class FakeBrain:
    owner: bool
    status_now: FakeStatus = field(default_factory=FakeStatus)
    asked: list[Request] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    left: int = 0

    def ask(self, request: Request) -> Report:
        self.asked.append(request)
        if request.legs is Legs.LEX:
            return Report(request.text, Mode.WHAT, Verdict.POSSIBLE, hits=(hit(band=Band.UNRANKED, score=None),), sources=())
        return WHY if request.text.startswith("why") else NOTHING if request.text == "zebra" else WHAT

    def status(self) -> FakeStatus:
        return self.status_now

    def library(self) -> AbstractContextManager[FakeLibrary]:
        return nullcontext(FakeLibrary())

    def apply_words(self, paths: None, *, progress: object = None) -> Any:
        self.log.append("words")
        return SimpleNamespace(held_back=None)

    def pending(self) -> int:
        return self.left

    def apply_vectors(self, *, budget_s: float, progress: object = None) -> int:
        self.log.append(f"vectors for {budget_s} s")
        return self.left

    def close(self) -> None:
        self.log.append("close")


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    root = tmp_path / "My Vault"
    for path, text in NOTES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def config(vault: Path, tmp_path: Path) -> Config:
    return Config(vault=vault, file=None, data_dir=tmp_path / "data", search=Search(collection="test"))


@pytest.fixture
def brain() -> FakeBrain:
    return FakeBrain(owner=True)


@pytest.fixture
def desk(config: Config, brain: FakeBrain) -> Iterator[Desk]:
    made = Desk(config, {}, lambda owner: brain)  # type: ignore[arg-type, return-value]
    yield made
    made.close()

"""The claude-mem adapter against a worker of our own on loopback, which answers well, badly, slowly or not at all."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from onebrain.errors import BadRequest
from onebrain.memory import claude_mem
from onebrain.memory.activation import topic
from onebrain.memory.claude_mem import Worker
from onebrain.memory.observations import LayerOneFailed, Observation, observations
from onebrain.memory.recall import LayerState

Route = Callable[[dict[str, str]], Any]


def record(number: int, text: str, created: str = "2026-04-19T13:22:01.000Z") -> dict[str, Any]:
    fields = {
        "id": number,
        "memory_session_id": "manual-beacon-claude",
        "project": "beacon",
        "text": text,
        "title": "",
        "created_at": created,
    }
    return {**fields, "narrative": None, "facts": "[]", "created_at_epoch": 0}


class FakeWorker:
    """`routes` maps a path to a function of its query; what it returns is sent as JSON, bytes as they are, an int as a bare status."""

    def __init__(self) -> None:
        self.routes: dict[str, Route] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.drip = 0.0
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                url = urlsplit(self.path)
                query = {key: values[0] for key, values in parse_qs(url.query).items()}
                fake.asked.append((url.path, query))
                answer = fake.routes.get(url.path, lambda _: 404)(query)
                body = answer if isinstance(answer, bytes) else b"{}" if isinstance(answer, int) else json.dumps(answer).encode()
                self.send_response(answer if isinstance(answer, int) else 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                try:
                    for byte in [body] if not fake.drip else [bytes([b]) for b in body]:
                        self.wfile.write(byte)
                        self.wfile.flush()
                        time.sleep(fake.drip)
                except OSError:
                    pass  # the client has given up

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.block_on_close = False
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.thread.start()

    @property
    def worker(self) -> Worker:
        return Worker("127.0.0.1", self.server.server_address[1])

    def holds(self, *records: dict[str, Any]) -> None:
        """As the real one: a text is found where it stands as a whole."""

        def search(query: dict[str, str]) -> Any:
            found = [r for r in records if query["query"].lower() in r["text"].lower()]
            return {"observations": found, "sessions": [], "prompts": [], "totalResults": len(found), "query": query["query"]}

        def listed(query: dict[str, str]) -> Any:
            newest = sorted(records, key=lambda r: r["created_at"], reverse=True)
            start, size = int(query["offset"]), int(query["limit"])
            return {"items": newest[start : start + size], "hasMore": start + size < len(newest), "offset": start, "limit": size}

        self.routes |= {"/api/search": search, "/api/observations": listed}

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def fake() -> Iterator[FakeWorker]:
    worker = FakeWorker()
    yield worker
    worker.stop()


def test_the_question_and_its_words_are_asked_and_merged(fake: FakeWorker) -> None:
    """The worker matches whole phrases: only the fan-out to words finds "why did we drop kafka"."""
    fake.holds(record(1, "decided to drop kafka in favor of redis streams"), record(2, "kafka mention: redis caps at 1M msg/day"))
    layer = claude_mem.ask(fake.worker, "why did we drop kafka", ["drop", "kafka"])
    assert layer.state is LayerState.ACTIVE
    assert [(hit.text, hit.measure) for hit in layer.hits] == [
        ("decided to drop kafka in favor of redis streams", "ours: shared words"),
        ("kafka mention: redis caps at 1M msg/day", "ours: shared words"),
    ]
    assert layer.hits[0].score > layer.hits[1].score >= 0.5
    assert layer.hits[0].cite == "session manual-beacon-claude (#1, 2026-04-19T13:22:01.000Z)"
    assert layer.newest == "2026-04-19T13:22:01.000Z"
    searches = [query for path, query in fake.asked if path == "/api/search"]
    assert [query["query"] for query in searches] == ["why did we drop kafka", "drop", "kafka"]
    assert all(query["dateStart"] == "1970-01-01" and query["format"] == "json" for query in searches)


def test_nothing_found_is_active_and_empty(fake: FakeWorker) -> None:
    fake.holds()
    layer = claude_mem.ask(fake.worker, "graphql federation", ["graphql"])
    assert (layer.state, layer.hits, layer.newest) == (LayerState.ACTIVE, (), None)


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>",
        b"",
        [],
        {"content": [{"type": "text", "text": "Found 2 result(s)"}]},
        {"observations": {}},
        {"observations": [1]},
        {"observations": [{**record(1, "x"), "id": "1"}]},
        {"observations": [{**record(1, "x"), "id": True}]},
        {"observations": [{**record(1, "x"), "created_at": "yesterday"}]},
        {"observations": [{key: value for key, value in record(1, "x").items() if key != "created_at"}]},
        500,
        302,
    ],
)
def test_a_malformed_answer_counts_as_a_time_out(fake: FakeWorker, answer: Any) -> None:
    """Seed 001, "Failure modes (extended)": "claude-mem returns malformed response: treat as timeout."."""
    fake.holds()
    fake.routes["/api/search"] = lambda _: answer
    layer = claude_mem.ask(fake.worker, "kafka", [])
    assert layer.state is LayerState.FAILED
    assert "malformed answer" in layer.reason


@pytest.mark.parametrize("drip", [True, False])
def test_a_slow_worker_is_given_up(fake: FakeWorker, drip: bool) -> None:
    """Seed 001, "Failure modes (extended)": "claude-mem MCP timeout (>3s) … Never wait indefinitely."; dripping counts in full."""
    fake.holds(record(1, "kafka"))
    if drip:
        fake.drip = 0.05
    else:
        fake.routes["/api/search"] = lambda _: time.sleep(2) or {}  # type: ignore[func-returns-value]
    start = time.monotonic()
    layer = claude_mem.ask(fake.worker, "kafka", [], seconds=0.3)
    assert time.monotonic() - start < 1.0
    assert layer.state is LayerState.FAILED
    assert layer.reason.startswith("timed out")


def test_the_budget_is_the_seeds() -> None:
    assert claude_mem.BUDGET_SECONDS == 3.0


def test_no_worker_is_a_reason_and_not_an_error() -> None:
    layer = claude_mem.ask(Worker("127.0.0.1", 9), "kafka", [])
    assert layer.state is LayerState.FAILED
    assert layer.reason.startswith("no worker answers on 127.0.0.1:9")


@pytest.mark.parametrize("host", ["example.org", "10.0.0.1", "127.0.0.1.example.org", "0.0.0.0"])
def test_only_this_machine_is_asked(host: str) -> None:
    layer = claude_mem.ask(Worker(host, 37777), "kafka", [])
    assert layer.reason == f"the worker's host {host} is not this machine"


@pytest.mark.parametrize(
    ("env", "settings", "address"),
    [
        ({}, None, ("127.0.0.1", 37742)),
        ({}, '{"CLAUDE_MEM_WORKER_PORT": "40000"}', ("127.0.0.1", 40000)),
        ({}, '{"env": {"CLAUDE_MEM_WORKER_PORT": 40001}}', ("127.0.0.1", 40001)),
        (
            {"CLAUDE_MEM_WORKER_PORT": "41000", "CLAUDE_MEM_WORKER_HOST": "localhost"},
            '{"CLAUDE_MEM_WORKER_PORT": "40000"}',
            ("localhost", 41000),
        ),
        ({}, "{broken", ("127.0.0.1", 37742)),
        ({}, "[]", ("127.0.0.1", 37742)),
    ],
)
def test_where_the_worker_is_looked_for(env: dict[str, str], settings: str | None, address: tuple[str, int]) -> None:
    worker = Worker.located(env, 1042, settings)
    assert (worker.host, worker.port) == address


@pytest.mark.parametrize("port", ["0", "65536", "http", "-1"])
def test_a_port_that_is_none_is_said(port: str) -> None:
    with pytest.raises(BadRequest, match="CLAUDE_MEM_WORKER_PORT is not a port"):
        Worker.located({"CLAUDE_MEM_WORKER_PORT": port}, 0)


def test_status_keeps_worker_and_semantic_search_apart(fake: FakeWorker) -> None:
    fake.routes |= {
        "/api/health": lambda _: {"status": "ok", "version": "13.25.3"},
        "/api/chroma/status": lambda _: {"status": "disabled"},
        "/api/stats": lambda _: {"database": {"observations": 7}},
    }
    state = fake.worker.within(3, claude_mem.state)
    assert (state.version, state.semantic, state.observations) == ("13.25.3", "disabled", 7)


def test_a_worker_that_is_starting_is_not_ready(fake: FakeWorker) -> None:
    fake.routes["/api/health"] = lambda _: {"status": "starting"}
    with pytest.raises(LayerOneFailed, match="not ready"):
        fake.worker.within(3, claude_mem.state)


def test_a_dump_holds_every_record_oldest_first(fake: FakeWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claude_mem, "PAGE", 2)
    fake.holds(*(record(n, f"text {n}", f"2026-04-{n:02}T10:00:00.000Z") for n in (3, 1, 2, 5, 4)))
    assert [r.id for r in fake.worker.within(3, claude_mem.dump)] == [1, 2, 3, 4, 5]


def test_facts_and_narrative_are_read_as_text() -> None:
    read = observations(
        [{**record(1, ""), "title": "Drop\nkafka", "narrative": "No one to run it."}, {**record(2, ""), "facts": '["a b", "c"]'}]
    )
    assert [r.content for r in read] == ["Drop kafka. No one to run it.", "a b c"]


def test_our_score_orders_by_shared_words_then_newest() -> None:
    def made(number: int, day: str, text: str) -> Observation:
        return Observation(number, "s", f"{day}T00:00:00Z", "p", "", text)

    records = [made(1, "2026-01-01", "kafka"), made(2, "2026-02-01", "kafka"), made(3, "2026-01-01", "drop kafka")]
    assert [r.id for r, _ in claude_mem.ranked(topic("why did we drop kafka"), records)] == [3, 2, 1]

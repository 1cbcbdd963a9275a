"""Layer 1 of recall: a claude-mem worker, spoken to over HTTP on loopback. The one HTTP client of this room.

What must stay true: a question waits three seconds for all requests together, however slowly the worker drips; nothing but loopback is
contacted, no proxy, no redirect; an answer that isn't exactly what the worker is known to send (13.x) counts as a time-out.

The worker gives no scores, so ours are ours and say so. Its text mode matches a whole query as one phrase: "why did we drop kafka" finds
nothing where "kafka" finds two. So we ask for the query and for its strongest words, and merge. Its vector mode silently looks at the
last 90 days alone unless a start date is given, so one always is.
"""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from typing import TypeVar
from urllib.parse import urlencode

from onebrain.errors import BadRequest
from onebrain.memory.activation import relevance, topic
from onebrain.memory.observations import LayerOneFailed, Observation, as_object, observations
from onebrain.memory.recall import TOP, LayerOne, LayerState, SemanticHit
from onebrain.text.analysis import Group

GATE = "CLAUDE_MEM_API_KEY"
NAME = "claude-mem"
MEASURE = "ours: shared words"
BUDGET_SECONDS = 3.0
EPOCH = "1970-01-01"
PAGE = 100
_LARGEST = 16 * 1024 * 1024
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class WorkerState:
    """What a running worker says of itself; `semantic` is its vector search: `disabled`, `ready` or the worker's own word."""

    version: str
    semantic: str
    observations: int | None


@dataclass(frozen=True, slots=True)
class Worker:
    """Where a worker listens. `settings` is the text of claude-mem's settings.json, when there is one."""

    host: str
    port: int

    @classmethod
    def located(cls, env: Mapping[str, str], uid: int, settings: str | None = None) -> Worker:
        """Environment, then claude-mem's settings file, then its default port. Raises BadRequest for a port that isn't one."""
        known = _settings(settings)
        port = env.get("CLAUDE_MEM_WORKER_PORT") or known.get("CLAUDE_MEM_WORKER_PORT") or str(37700 + uid % 100)
        host = env.get("CLAUDE_MEM_WORKER_HOST") or known.get("CLAUDE_MEM_WORKER_HOST") or "127.0.0.1"
        if not port.isdigit() or not 0 < int(port) < 65536:
            raise BadRequest(f"CLAUDE_MEM_WORKER_PORT is not a port: {port!r}", hint="Set it to the port the claude-mem worker listens on.")
        return cls(host, int(port))

    def within(self, seconds: float, job: Callable[[Worker, float], _T]) -> _T:
        """Runs `job(self, deadline)` and gives up after `seconds`, whatever the other side does. Raises LayerOneFailed."""
        if self.host not in _LOOPBACK:
            raise LayerOneFailed(f"the worker's host {self.host} is not this machine", hint="Only a worker on 127.0.0.1 is asked.")
        done: queue.Queue[_T | Exception] = queue.Queue()

        def run() -> None:
            try:
                done.put(job(self, time.monotonic() + seconds))
            except Exception as error:  # handed to the waiting thread, which raises it
                done.put(error)

        threading.Thread(target=run, name="claude-mem", daemon=True).start()
        try:
            result = done.get(timeout=seconds)
        except queue.Empty:
            raise LayerOneFailed(f"timed out after {seconds:g} s") from None
        if isinstance(result, Exception):
            raise result
        return result

    def get(self, path: str, deadline: float, **query: str | int) -> object:
        """The JSON of one request. Raises LayerOneFailed for anything but a 200 with JSON before `deadline` (time.monotonic)."""
        try:
            with closing(HTTPConnection(self.host, self.port, timeout=max(0.01, deadline - time.monotonic()))) as connection:
                connection.request("GET", f"{path}?{urlencode(query)}" if query else path, headers={"Accept": "application/json"})
                with connection.getresponse() as response:
                    status, body = response.status, response.read(_LARGEST + 1)
        except TimeoutError:
            raise LayerOneFailed("timed out") from None
        except (OSError, HTTPException) as error:
            raise LayerOneFailed(f"no worker answers on {self.host}:{self.port} ({error or type(error).__name__})") from error
        if status != 200 or len(body) > _LARGEST:
            raise LayerOneFailed(f"malformed answer from the worker ({path}: HTTP {status})")
        try:
            return json.loads(body)
        except ValueError:
            raise LayerOneFailed(f"malformed answer from the worker ({path}: not JSON)") from None


def _settings(text: str | None) -> Mapping[str, str]:
    """claude-mem keeps flat strings, older versions under `env`. A broken file is as good as none: its defaults apply there too."""
    try:
        parsed = json.loads(text) if text else {}
    except ValueError:
        return {}
    fields = parsed.get("env", parsed) if isinstance(parsed, dict) else {}
    return {key: str(value) for key, value in fields.items()} if isinstance(fields, dict) else {}


def state(worker: Worker, deadline: float) -> WorkerState:
    health = as_object(worker.get("/api/health", deadline), "/api/health")
    if health.get("status") != "ok":
        raise LayerOneFailed("the worker is not ready yet")
    try:
        semantic = str(as_object(worker.get("/api/chroma/status", deadline), "/api/chroma/status").get("status") or "unknown")
    except LayerOneFailed:
        semantic = "unknown"  # older workers lack the route
    stats = as_object(worker.get("/api/stats", deadline), "/api/stats").get("database")
    count = stats.get("observations") if isinstance(stats, dict) else None
    return WorkerState(str(health.get("version") or "unknown"), semantic, count if isinstance(count, int) else None)


def search(
    worker: Worker, question: str, keywords: Sequence[str], *, project: str | None, limit: int, deadline: float
) -> list[Observation]:
    """Records found by the question and by each keyword, each once, in the worker's order (by relevance, then by keyword)."""
    found: dict[int, Observation] = {}
    only = {"project": project} if project else {}
    for text in dict.fromkeys((question, *keywords)):
        answer = worker.get("/api/search", deadline, query=text, limit=limit, type="observations", dateStart=EPOCH, format="json", **only)
        for record in observations(as_object(answer, "/api/search").get("observations")):
            found.setdefault(record.id, record)
    return list(found.values())


def newest(worker: Worker, deadline: float) -> str | None:
    """When the newest record was made (ISO), None for an empty store."""
    items = as_object(worker.get("/api/observations", deadline, limit=1, offset=0), "/api/observations").get("items")
    return max((record.created_at for record in observations(items)), default=None)


def dump(worker: Worker, deadline: float, project: str | None = None) -> list[Observation]:
    """Every record, oldest first."""
    found: dict[int, Observation] = {}
    only = {"project": project} if project else {}
    while True:
        page = as_object(worker.get("/api/observations", deadline, limit=PAGE, offset=len(found), **only), "/api/observations")
        records = observations(page.get("items"))
        before = len(found)
        found.update((record.id, record) for record in records)
        if not page.get("hasMore") or len(found) == before:
            return sorted(found.values(), key=lambda record: (record.created_at, record.id))


def ranked(question: tuple[Group, ...], records: Sequence[Observation]) -> list[tuple[Observation, float]]:
    """Records by our own score: the share of the question's words they hold, 0..1. Newest first among equals."""
    scored = [(record, round(relevance(question, record.content), 2)) for record in records]
    return sorted(scored, key=lambda pair: (pair[1], pair[0].created_at, pair[0].id), reverse=True)


def ask(worker: Worker, question: str, keywords: Sequence[str], *, project: str | None = None, seconds: float = BUDGET_SECONDS) -> LayerOne:
    """Layer 1's part of an answer. Never raises for what the other side does: a failure is a state with a reason."""

    def job(worker: Worker, deadline: float) -> tuple[list[Observation], str | None]:
        found = search(worker, question, keywords, project=project, limit=4 * TOP, deadline=deadline)
        return found, newest(worker, deadline)

    try:
        found, latest = worker.within(seconds, job)
    except LayerOneFailed as failure:
        return LayerOne(NAME, LayerState.FAILED, failure.message)
    hits = [SemanticHit(score, MEASURE, record.citation, record.day, record.content) for record, score in ranked(topic(question), found)]
    return LayerOne(NAME, LayerState.ACTIVE, hits=tuple(hits), newest=latest)

"""The three examples of seed 001 against a real claude-mem worker, installed from the npm registry and run on loopback alone.

Its telemetry and its vector database are off, its home is a temporary folder, and it is stopped by its process id.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest
from memory_shell import Shell

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

CLAUDE_MEM = "claude-mem@13.25.3"
BUN = {("linux", "x86_64"): "bun-linux-x64", ("linux", "aarch64"): "bun-linux-aarch64", ("darwin", "arm64"): "bun-darwin-aarch64"}
BUN_VERSION = "1.4.5"
# Beside the packages, so `make clean` removes it and one download serves every run.
INSTALLED = Path(__file__).parents[2] / ".venv" / "onebrain-test-claude-mem"
READY_SECONDS = 60
STOP_SECONDS = 20


def installed(package: str, folder: str) -> Path:
    """`npm pack` and unpack: both packages need a step of npm that scripts may not run, and neither has dependencies to install."""
    place = INSTALLED / folder
    if not place.exists():
        INSTALLED.mkdir(parents=True, exist_ok=True)
        packed = subprocess.run(["npm", "pack", package, "--silent"], cwd=INSTALLED, capture_output=True, text=True, timeout=200)
        if packed.returncode:
            pytest.skip(f"the npm registry doesn't give {package}: {packed.stderr.strip()[:200]}")
        unpacking = INSTALLED / f"{folder}.part"
        shutil.rmtree(unpacking, ignore_errors=True)
        archive = INSTALLED / packed.stdout.strip().splitlines()[-1]
        with tarfile.open(archive) as tar:
            tar.extractall(unpacking, filter="data")
        archive.unlink()
        unpacking.rename(place)
    return place / "package"


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    bun = BUN.get((sys.platform, platform.machine()))
    if bun is None:
        pytest.skip(f"no bun for {sys.platform} {platform.machine()}")
    program = installed(f"@oven/{bun}@{BUN_VERSION}", "bun") / "bin" / "bun"
    worker = installed(CLAUDE_MEM, "claude-mem") / "plugin" / "scripts" / "worker-service.cjs"
    program.chmod(0o755)
    home = tmp_path_factory.mktemp("home")
    number = free_port()
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "DO_NOT_TRACK": "1",
        "CLAUDE_MEM_TELEMETRY": "0",
        "CLAUDE_MEM_CHROMA_ENABLED": "false",
        "CLAUDE_MEM_TRANSCRIPTS_ENABLED": "false",
        "CLAUDE_MEM_WORKER_HOST": "127.0.0.1",
        "CLAUDE_MEM_WORKER_PORT": str(number),
        "CLAUDE_MEM_DATA_DIR": str(home / ".claude-mem"),
    }
    log = (home / "worker.log").open("wb")
    process = subprocess.Popen([str(program), str(worker)], env=env, cwd=home, stdout=log, stderr=log, start_new_session=True)
    try:
        wait_until_ready(number, process, home / "worker.log")
        yield number
    finally:
        stop(process)
        log.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
        return number


def wait_until_ready(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until:
        assert process.poll() is None, log.read_text(encoding="utf-8", errors="replace")[-2000:]
        try:
            if request(port, "GET", "/api/readiness").get("status") == "ready":
                return
        except (OSError, ValueError):
            pass
        time.sleep(0.2)
    pytest.fail(f"the worker is not ready after {READY_SECONDS} s: {log.read_text(encoding='utf-8', errors='replace')[-2000:]}")


def stop(process: subprocess.Popen[bytes]) -> None:
    """The worker and what it started: they share a process group that is ours alone."""
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def request(port: int, method: str, path: str, body: dict[str, str] | None = None) -> dict[str, object]:
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"})
        with connection.getresponse() as response:
            answer = json.loads(response.read())
    finally:
        connection.close()
    assert isinstance(answer, dict)
    return answer


def save(port: int, text: str) -> None:
    assert request(port, "POST", "/api/memory/save", {"text": text, "project": "beacon"})["success"] is True


@pytest.fixture(scope="module")
def records(port: int) -> int:
    save(port, "decided to drop kafka in favor of redis streams because the team headcount didn't justify kafka ops cost")
    save(port, "kafka mention: confirmed redis streams cap at 1M msg/day; revisit at 800K")
    save(port, "considered SQS as a queue for the depot but went with redis streams")
    return port


@pytest.fixture
def project(shell: Shell, records: int, tmp_path: Path) -> Shell:
    shell.cwd = tmp_path / "beacon"
    adr = "ADR-007: dropped kafka in favor of redis streams. Headcount didn't justify kafka ops cost."
    shell.note("memory/architecture_decisions.md", "\n" * 141 + adr + "\n")
    shell.note("memory/change_log.md", "\n" * 87 + "kafka producer code removed in PR #421\n")
    shell.env |= {"CLAUDE_MEM_WORKER_PORT": str(records)}
    return shell


def test_example_1_without_the_gate(project: Shell) -> None:
    """Seed 001, "Example 1": a worker that runs is not asked while CLAUDE_MEM_API_KEY is unset."""
    out = project("recall", "why did we drop kafka").out
    assert out.startswith("Layer 1 (claude-mem): not configured (CLAUDE_MEM_API_KEY unset).\nLayer 2 (grep): 2 hits.\n")
    assert "(memory/architecture_decisions.md:142)" in out
    assert "(memory/change_log.md:88)" in out


def test_example_1_with_both_layers(project: Shell) -> None:
    """Seed 001, "Step 2" and "Step 4": the worker's text mode finds nothing for the question as a whole; its words do."""
    project.env["CLAUDE_MEM_API_KEY"] = "on"
    data = json.loads(project("recall", "why did we drop kafka", "--json").out)["data"]
    assert data["layer1"]["state"] == "active"
    assert {hit["score_source"] for hit in data["layer1"]["hits"]} == {"ours: shared words"}
    assert data["layer1"]["hits"][0]["text"].startswith("decided to drop kafka in favor of redis streams")
    assert data["layer1"]["hits"][0]["cite"].startswith("session ")
    assert data["layer1"]["newest"] is not None
    assert data["flags"] == ["Both layers agree."]
    assert {claim["cite"] for claim in data["answer"]} >= {"memory/architecture_decisions.md:142", data["layer1"]["hits"][0]["cite"]}


def test_example_2_semantic_layer_alone(project: Shell) -> None:
    """Seed 001, "Example 2": nothing in the files says "queue", a record does."""
    project.env["CLAUDE_MEM_API_KEY"] = "on"
    out = project("recall", "should we use a queue").out
    assert out.startswith("Layer 1 (claude-mem): 1 result, score 0.90 (ours: shared words).\n")
    assert 'Layer 2 (grep): 0 hits for "queue".' in out
    assert "considered SQS as a queue for the depot but went with redis streams" in out
    assert "The layers diverge: layer 1 has records" in out


def test_example_3_empty_is_empty(project: Shell) -> None:
    """Seed 001, "Example 3"."""
    project.env["CLAUDE_MEM_API_KEY"] = "on"
    assert (
        project("recall", "graphql federation strategy").out
        == """\
Layer 1 (claude-mem): 0 results above 0.5 threshold.
Layer 2 (grep): 0 hits for "graphql", "federation", "strategy".

Answer: No prior decision recorded about graphql federation strategy. If you're about to make a decision, consider:
- Adding an ADR to architecture/DECISIONS.md
- Recording the decision in memory/architecture_decisions.md after the session
"""
    )


def test_status_tells_gate_worker_and_meaning_apart(project: Shell) -> None:
    status = json.loads(project("recall", "status", "--json").out)["data"]["layer1"]
    assert status["gate"] is False
    assert status["worker"]["answers"] is True
    assert status["semantic"] == "disabled"
    assert status["observations"] == 3
    assert status["version"] == "13.25.3"


def test_export_then_find_by_line(project: Shell) -> None:
    project.env["CLAUDE_MEM_API_KEY"] = "on"
    assert project("recall", "export").out == f"3 record(s) appended to {project.cwd / 'memory/semantic_export.md'}\n"
    assert project("recall", "export").out.startswith("0 record(s) appended")
    out = project("recall", "SQS depot").out
    assert "memory/semantic_export.md:" in out
    assert "may be stale" not in out

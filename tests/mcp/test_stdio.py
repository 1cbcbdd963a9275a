"""The real process over real pipes: how it starts, that stdout stays the protocol's, that it ends with its parent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import anyio
import pytest
from mcp import Client, StdioServerParameters

T = TypeVar("T")

HEAVY = ("chromadb", "whoosh", "onnxruntime", "numpy", "tokenizers", "fastembed", "jinja2", "nh3")
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


def environment(tmp_path: Path, vault: Path) -> dict[str, str]:
    return {"ONEBRAIN_DATA_DIR": str(tmp_path / "data"), "ONEBRAIN_VAULT": str(vault)}


def with_process(tmp_path: Path, vault: Path, use: Callable[[Client], Awaitable[T]]) -> T:
    server = StdioServerParameters(command=sys.executable, args=["-m", "onebrain", "mcp"], env=environment(tmp_path, vault), cwd=tmp_path)

    async def main() -> T:
        async with Client(server) as client:
            return await use(client)

    return anyio.run(main)


def test_a_client_lists_calls_and_reads(tmp_path: Path, vault: Path) -> None:
    async def use(client: Client) -> None:
        assert "query" in [tool.name for tool in (await client.list_tools()).tools]
        note = await client.call_tool("get", {"file": "Glossary"})
        assert note.structured_content is not None
        assert note.structured_content["file"] == "03-knowledge/Glossary.md"
        nothing = await client.call_tool("query", {"searches": [{"type": "lex", "query": "kafka"}]})
        assert nothing.structured_content is not None
        assert "onebrain search reindex" in nothing.structured_content["note"]
        assert not (tmp_path / "data" / "search").exists()  # asking built nothing

    with_process(tmp_path, vault, use)


def test_it_answers_from_a_real_index(tmp_path: Path, vault: Path) -> None:
    made = subprocess.run(
        [sys.executable, "-m", "onebrain", "search", "reindex", "--lex-only", "--json"],
        env={**os.environ, **environment(tmp_path, vault)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert json.loads(made.stdout)["ok"], made.stdout

    async def use(client: Client) -> None:
        found = await client.call_tool("query", {"searches": [{"type": "lex", "query": "ADR-007"}], "limit": 3})
        assert found.structured_content is not None
        assert found.structured_content["results"][0]["file"] == "01-projects/beacon/ADR-007 Redis Streams.md"
        (vault / "03-knowledge" / "New.md").write_text("# Zebra crossing\n\nA zebra crossing has stripes.\n", encoding="utf-8")
        await anyio.sleep(2.1)  # a look at the disk every two seconds
        fresh = await client.call_tool("query", {"query": "zebra crossing"})
        assert fresh.structured_content is not None
        assert fresh.structured_content["results"][0]["file"] == "03-knowledge/New.md"

    with_process(tmp_path, vault, use)


def start(tmp_path: Path, vault: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "onebrain", "mcp"],
        env={**os.environ, **environment(tmp_path, vault)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_stdout_is_the_protocols_alone_and_the_end_of_stdin_is_the_end(tmp_path: Path, vault: Path) -> None:
    process = start(tmp_path, vault)
    sent = b"".join(json.dumps(message).encode() + b"\n" for message in (HELLO, INITIALIZED, LIST))
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(sent)
    process.stdin.flush()
    answers = [json.loads(process.stdout.readline()) for _ in range(2)]
    assert [answer["id"] for answer in answers] == [1, 2]
    out, err = process.communicate(timeout=10)
    assert (process.returncode, out, err) == (0, b"", b"")


def test_a_vault_that_is_not_there_is_told_at_once(tmp_path: Path) -> None:
    process = start(tmp_path, tmp_path / "nowhere")
    out, err = process.communicate(timeout=20)
    assert process.returncode == 64
    assert out == b""
    assert b"nowhere" in err and b"Traceback" not in err


def test_the_start_imports_no_engine(tmp_path: Path, vault: Path) -> None:
    """What keeps the start under a second on a free core; the time itself depends on what else the machine does."""
    code = textwrap.dedent(
        f"""
        import sys
        from onebrain import mcp
        from onebrain.config import load
        from onebrain.daemon.desk import Desk
        import anyio
        from mcp import Client
        async def main():
            async with Client(mcp.create(Desk(load(), {{}}))) as client:
                await client.list_tools()
        anyio.run(main)
        print([name for name in {HEAVY!r} if name in sys.modules])
        """
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment(tmp_path, vault)}, capture_output=True, text=True, timeout=60
    )
    assert ran.stdout == "[]\n", ran.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX processes")
def test_it_ends_when_its_parent_is_killed_though_its_stdin_stays_open(tmp_path: Path, vault: Path) -> None:
    read_end, write_end = os.pipe()  # we hold the write end: the server's stdin never ends
    launcher = "import subprocess, sys; p = subprocess.Popen([sys.executable, '-m', 'onebrain', 'mcp']); print(p.pid, flush=True); p.wait()"
    parent = subprocess.Popen(
        [sys.executable, "-c", launcher],
        env={**os.environ, **environment(tmp_path, vault)},
        stdin=read_end,
        stdout=subprocess.PIPE,
        text=True,
    )
    os.close(read_end)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    os.write(write_end, json.dumps(HELLO).encode() + b"\n")
    assert json.loads(parent.stdout.readline())["id"] == 1  # it is up
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 15
    while _alive(child) and time.monotonic() < deadline:
        time.sleep(0.1)
    os.close(write_end)
    parent.stdout.close()
    assert not _alive(child)


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] != "Z"
    except FileNotFoundError:
        return False

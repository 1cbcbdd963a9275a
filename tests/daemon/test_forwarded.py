"""Every command that a client forwards, answered by a real daemon as it is answered without one."""

from __future__ import annotations

import io
import json
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from real_daemon import Home, open_brain

from onebrain.brain import Brain
from onebrain.cli import app
from onebrain.cli.direct import direct
from onebrain.cli.terminal import Terminal
from onebrain.daemon import client

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="uses signals")

WORKER = {"CLAUDE_MEM_API_KEY": "x", "CLAUDE_MEM_WORKER_HOST": "127.0.0.1", "CLAUDE_MEM_WORKER_PORT": "9"}
READS: tuple[tuple[str, ...], ...] = (
    ("search", "--json", "which anvil was said?"),
    ("search", "query", "--json", "anvil"),
    ("search", "search", "--json", "anvil"),
    ("search", "vsearch", "--json", "anvil"),
    ("search", "get", "--json", "n0.md:3"),
    ("search", "status", "--json"),
    ("search", "reindex", "--json"),
    ("qmd-reindex", "--json"),
    ("qmd", "reindex", "--json"),
    ("recall", "--json", "anvil"),
    ("recall", "--json", "--layer1", "local", "anvil"),
    ("recall", "status", "--json"),
    ("recall", "export", "--json"),
    ("cards", "search", "--json", "null"),
    ("cards", "status", "--json"),
    ("memory", "search", "--explain", "anvil"),
    ("memory", "search"),
    ("memory", "list", "--json"),
    ("memory", "status", "--json"),
    ("memory", "import", "--json", "nowhere.db"),
)


def test_what_a_client_forwards_a_daemon_answers_as_the_command_does_itself(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    env = {"SKILL_ARGS": '{"query": "shed", "subject": "user"}', "HOME": str(home.vault.parent), **WORKER}
    home.write(".claude/memory/cards/null.md", "---\ntitle: Null check\n---\nTL;DR: it can be null\n")
    home.write("05-agent/memory/anvil.md", "---\ntype: fact\nsubject: user\n---\n# Anvil\n\nUser keeps the anvil in the shed.\n")
    home.write("05-agent/memory/goblin.md", "---\ntype: fact\n---\n# Goblin\n\nThe goblin is called Struan.\n")
    child = home.daemon()
    changed = [
        home.ask("memory", "add", "--subject", "Bob", "Bob collects kettles", **env),
        home.ask("memory", "confirm", "anvil", **env),
        home.ask("memory", "supersede", "goblin", "--with", "The goblin is called Moira", **env),
        home.ask("memory", "export", "out.json", **env),
    ]
    assert [code for code, _, _ in changed] == [0, 0, 0, 0], changed
    assert len(json.loads((home.vault / "out.json").read_text())["memories"]) == 4
    assert home.ask("search", "reindex")[0] == 0  # also what the watcher hasn't told of yet
    answers = [home.ask(*argv, **env) for argv in READS]
    with ThreadPoolExecutor(12) as pool:  # more than are answered at once
        crowd = set(pool.map(lambda _: home.ask("memory", "search", "anvil", **env)[:2], range(24)))
    child.terminate()
    assert child.wait(20) == 0
    assert len(crowd) == 1 and "User keeps the anvil in the shed." in crowd.pop()[1]

    monkeypatch.setattr(Brain, "open", lambda config, **_: open_brain(config))
    for argv, (code, out, err) in zip(READS, answers, strict=True):
        assert (code, told(out), err) == itself(home, argv, env), argv


def itself(home: Home, argv: tuple[str, ...], env: dict[str, str]) -> tuple[int, Any, str]:
    out, err = io.StringIO(), io.StringIO()
    code = app.run(Terminal(argv, {**home.env, **env}, home.vault, out, err, direct))
    return code, told(out.getvalue()), err.getvalue()


def told(out: str) -> Any:
    """What was printed, without what no two runs have in common: how long a step took, when the last look was, the size of a journal."""
    return json.loads(re.sub(r'"(ms|as_of|last_indexed_at|index_size_bytes)": ?("[^"]+"|[0-9.]+)', r'"\1": 0', out))


def test_no_forwarded_command_is_left_out() -> None:
    asked = {" ".join(argv[:2]) for argv in READS} | {"memory add", "memory confirm", "memory supersede", "memory export"}
    groups = client.ANSWERED_BY_DAEMON & app.GROUPS.keys()
    verbs = {f"{group} {verb}" for group in groups for verb in app._group(group).commands} - {"search model", "search ask", "recall ask"}
    assert verbs <= asked and {older.split()[0] for older in app.OLDER} == client.ANSWERED_BY_DAEMON - groups

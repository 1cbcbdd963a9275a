"""`onebrain cards` and `onebrain recall` as people type them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from memory_shell import Shell

CARD = """---
title: Auth module null check
type: gotcha
importance: 2
created: 2026-03-09
files: [src/auth.ts, src/middleware/auth.ts]
tags: [auth, null-safety]
author: Noor Park
---
TL;DR: req.user can be null before auth middleware runs
"""
SHOWN = """\
[gotcha] Auth module null check (importance: 2, created: 2026-03-09)
  TL;DR: req.user can be null before auth middleware runs
  Files: src/auth.ts, src/middleware/auth.ts
  Tags: auth, null-safety
"""


@pytest.fixture
def project(shell: Shell, tmp_path: Path) -> Shell:
    """A project that is no vault."""
    shell.cwd = tmp_path / "project"
    shell.note(".claude/memory/cards/null.md", CARD)
    shell.note(
        "memory/architecture_decisions.md",
        "## ADR-007: dropped kafka\n- **Date**: 2026-04-19\n\nNobody had the time to look after kafka.\n",
    )
    return shell


@pytest.mark.parametrize(
    "words",
    [
        ("auth", "null"),
        ("auth null",),
        ("tag:auth", "type:gotcha"),
        ("tag:auth type:gotcha",),
        ("author:noor park", "null"),
        ('author:"noor park"',),
        ("module null check", "tag:auth"),
        ("importance:>=2",),
    ],
)
def test_cards_search(project: Shell, words: tuple[str, ...]) -> None:
    """Seed 002, "Examples": a query is one argument or several; the shell may have taken its quotes."""
    assert project("cards", "search", *words).out == SHOWN


def test_cards_edge_strings(project: Shell, tmp_path: Path) -> None:
    """Seed 002, "Edge Cases"."""
    assert project("cards", "search", "zebra").out == "No results for 'zebra'. Try broader keywords or check /session-memory:status.\n"
    assert project("cards", "search", "-zebra").out == "No results for '-zebra'. Try broader keywords or check /session-memory:status.\n"
    empty = tmp_path / "empty"
    empty.mkdir()
    assert project("cards", "search", "zebra", "--project", str(empty)).out == (
        "No session memory found. Start working and cards will be auto-created.\n"
    )
    assert (
        project("cards", "status", "--project", str(empty)).out
        == "No session memory found. Start working and cards will be auto-created.\n"
    )


def test_cards_explain_and_json(project: Shell) -> None:
    explained = project("cards", "search", "null", "--explain").out
    assert explained == SHOWN + "  Score: 8.849 = words 7.5 × recency 1.026 × importance 1.15\n"
    data = json.loads(project("cards", "search", "null", "--json").out)
    assert data["command"] == "cards.search"
    assert data["data"]["results"][0]["title"] == "Auth module null check"
    assert data["data"]["results"][0]["why"]["keywords"] == 7.5


def test_cards_status(project: Shell) -> None:
    project.note(".claude/memory/events/a.jsonl", '{"tool": "Edit", "summary": "x"}\nbroken\n')
    assert project("cards", "status").out == (
        "Cards: 1\n  types: gotcha 1\n  statuses: active 1\nEvents: 1 in 1 file(s), 1 line(s) can't be read\n"
        "⚠️  .claude/memory/events/a.jsonl: 1 of 2 lines can't be read\n"
    )


def test_cards_need_a_query_and_a_folder(project: Shell) -> None:
    assert project("cards", "search").code == 2
    assert project("cards", "search", "x", "--project", "nowhere").code == 2


def test_recall_in_a_project_without_a_vault(project: Shell) -> None:
    """Seed 001, "Overview": "By default there is NO vector recall."; layer 2 is the whole surface, and it works anywhere."""
    assert (
        project("recall", "why", "did", "we", "drop", "kafka").out
        == """\
Layer 1 (claude-mem): not configured (CLAUDE_MEM_API_KEY unset).
Layer 2 (grep): 2 hits.
  - memory/architecture_decisions.md:1
    "ADR-007: dropped kafka"
  - memory/architecture_decisions.md:4
    "Nobody had the time to look after kafka."

Answer: "ADR-007: dropped kafka" (memory/architecture_decisions.md:1)
        "Nobody had the time to look after kafka." (memory/architecture_decisions.md:4)

Citations: memory/architecture_decisions.md:1; memory/architecture_decisions.md:4
"""
    )


def test_recall_without_a_worker(project: Shell) -> None:
    """Seed 001, "Failure modes": layer 2 alone, and the failure named."""
    project.env |= {"CLAUDE_MEM_API_KEY": "x", "CLAUDE_MEM_WORKER_PORT": "9"}
    out = project("recall", "kafka").out
    assert out.startswith("Layer 1 (claude-mem): failed (no worker answers on 127.0.0.1:9")
    assert "Layer 2 (grep): 2 hits." in out


def test_the_gate_stays_shut_for_an_explicit_wish(project: Shell) -> None:
    assert project("recall", "kafka", "--layer1", "claude-mem").out.startswith("Layer 1 (claude-mem): not configured")
    assert project("recall", "--layer1", "off", "kafka").out.startswith("Layer 1 (claude-mem): off.\n")


def test_recall_is_silent_about_layer_one_where_regulated(project: Shell) -> None:
    """Seed 001, "Edge cases": "Regulated-data project with MCP disabled"."""
    project.note("onebrain.yml", "regulated: true\n")
    project.env["CLAUDE_MEM_API_KEY"] = "x"
    assert project("recall", "kafka").out.startswith("Layer 2 (grep): 2 hits.\n")
    assert json.loads(project("recall", "status", "--json").out)["data"]["regulated"] is True
    assert project("recall", "export").code == 2


@pytest.mark.parametrize(
    ("question", "start"), [("what did we decide", 'Which topic? "what did we decide"'), ("how does CCM work", "This searches memory/")]
)
def test_recall_refuses_and_redirects(project: Shell, question: str, start: str) -> None:
    ran = project("recall", question)
    assert ran.code == 0
    assert ran.out.startswith(start)


def test_recall_json(project: Shell) -> None:
    answer = json.loads(project("recall", "kafka", "--json").out)
    assert answer["command"] == "recall"
    assert answer["data"]["outcome"] == "answered"
    assert answer["data"]["layer1"]["state"] == "unset"
    assert answer["data"]["answer"][0]["cite"] == "memory/architecture_decisions.md:1"


def test_a_verb_after_dashes_is_a_question(project: Shell) -> None:
    assert "Layer 2 (grep)" in project("recall", "--", "export", "status", "bridge").out


def test_recall_uses_the_vaults_memory_by_default(shell: Shell) -> None:
    shell.note("05-agent/memory/queue.md", "---\nstatus: active\n---\n# Queue\n\nRedis streams carry the queue.\n")
    assert "memory/queue.md:6" in shell("recall", "queue").out


def test_recall_over_our_own_index(shell: Shell) -> None:
    """Layer 1 `local`: the vault's index over the same memory/, with its calibrated score, cited by file and line."""
    shell.note("05-agent/memory/queue.md", "---\nstatus: active\n---\n# Queue\n\nRedis streams carry the message queue.\n")
    answer = json.loads(shell("recall", "which message queue carries it", "--layer1", "local", "--json").out)["data"]
    assert answer["layer1"]["name"] == "local"
    assert answer["layer1"]["state"] == "active"
    for hit in answer["layer1"]["hits"]:
        assert hit["score_source"] == "onebrain's rerank_score"
        assert hit["cite"].startswith("memory/queue.md:")


def test_the_local_layer_cites_files_that_are_there(shell: Shell) -> None:
    """A note beside memory/, and a folder of the same name elsewhere, are none of it; memory/ may also be the whole vault."""
    text = "---\nstatus: active\n---\n# Queue\n\nRedis streams carry the message queue.\n"
    for name in ("MEMORY.md", "memory-old/queue.md", "archive/05-agent/memory/queue.md", "memory/sub/queue.md"):
        shell.note(f"05-agent/{name}", text)

    def cited(*options: str) -> list[str]:
        out = shell("recall", "which message queue carries it", "--layer1", "local", "--json", *options).out
        return [hit["cite"].rpartition(":")[0] for hit in json.loads(out)["data"]["layer1"]["hits"]]

    assert cited() == ["memory/sub/queue.md"]
    project = shell.note("project/onebrain.yml", "vault: memory\nsearch: {collection: whole}\n").parent
    shell.note("project/memory/queue.md", text)
    assert cited("--project", str(project)) == ["memory/queue.md"]


def test_local_layer_needs_the_vault(project: Shell) -> None:
    assert "is in no vault, so it isn't indexed" in project("recall", "kafka", "--layer1", "local").out


def test_status_reports_gate_worker_and_meaning_apart(project: Shell) -> None:
    project.env["CLAUDE_MEM_WORKER_PORT"] = "9"
    status = json.loads(project("recall", "status", "--json").out)["data"]
    assert status["layer1"]["gate"] is False
    assert status["layer1"]["worker"]["answers"] is False
    assert status["layer1"]["semantic"] is None
    assert status["layer2"]["files"] == 1
    assert "CLAUDE_MEM_API_KEY is not set" in project("recall", "status").out


def test_export_needs_the_gate(project: Shell) -> None:
    ran = project("recall", "export")
    assert ran.code == 2
    assert "CLAUDE_MEM_API_KEY is not set" in ran.err

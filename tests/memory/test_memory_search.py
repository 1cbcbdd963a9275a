"""The memory_search skill (seed 000) over a real vault and index. Transcripts quote the section of the seed they stand for."""

from __future__ import annotations

import json
import os
import socket
from datetime import date
from pathlib import Path
from typing import Any, NoReturn

import pytest
from memory_shell import Shell

from onebrain.brain import Brain
from onebrain.config import load
from onebrain.memory.facts import Ask, Signals, search
from onebrain.memory.memories import MemoryShelf
from onebrain.memory.notes import ReadOnce
from onebrain.memory.secrets import secret_in
from onebrain.models.folders import ModelFolder
from onebrain.vault.chunk import chunk
from onebrain.vault.parse import read_note

MEMORY = "05-agent/memory"


def found(shell: Shell, **arguments: Any) -> dict[str, Any]:
    """Runs the skill as an agent does: arguments in SKILL_ARGS, one line of JSON on stdout, exit code as inside it."""
    shell.env["SKILL_ARGS"] = json.dumps(arguments)
    ran = shell("memory", "search")
    assert ran.out.count("\n") == 1 and ran.out.endswith("\n")
    result: dict[str, Any] = json.loads(ran.out)
    assert result["exitCode"] == ran.code
    return result


def contents(shell: Shell, **arguments: Any) -> list[str]:
    output = found(shell, **arguments)["output"]
    return [line.removeprefix("Content: ") for line in output.splitlines() if line.startswith("Content: ")]


def scores(shell: Shell, **arguments: Any) -> list[str]:
    return [line for line in found(shell, **arguments)["output"].splitlines() if line.startswith("--- Result")]


@pytest.fixture
def memories(shell: Shell) -> Shell:
    for text, more in (
        ("User's favorite food is Italian pasta", ("--subject", "user")),
        ("User's birthday is on 14 March", ("--subject", "user")),
        ("Bob's birthday is on 2 May", ("--subject", "Bob", "--type", "relationship")),
        ("User wants the notification settings quiet at night", ("--subject", "user", "--type", "preference")),
    ):
        assert shell("memory", "add", text, *more).code == 0
    shell.note(
        "07-logs/session/2026/07/2026-07-10-session-01.md",
        "---\ntags: [session-log]\ndate: 2026-07-10\n---\n# Session Summary : July 10, 2026 (Session 1)\n\n## What We Worked On\n\n"
        "A long conversation about work and the new office in Hamburg.\n",
    )
    shell.note(
        "07-logs/log/2026/07/2026-07-12-recap.md", "---\ndate: 2026-07-12\n---\n## Run 10:00\n\nThe Hamburg office opens in autumn.\n"
    )
    return shell


def test_basic_fact_search(memories: Shell) -> None:
    """Seed 000, "Examples", "Basic fact search", and "Output Format"."""
    result = found(memories, query="user's favorite food")
    assert list(result) == ["success", "output", "exitCode"]
    assert result["success"] is True
    assert result["exitCode"] == 0
    head, block = result["output"].split("\n\n", 1)
    assert head == "Found 1 memories:"
    lines = block.splitlines()
    assert lines[0].startswith("--- Result 1 (score: ") and lines[0].endswith(") ---")
    assert lines[1:] == [
        "Content: User's favorite food is Italian pasta",
        "Category: fact",
        "Stored: 2026-07-15T00:00:00.000Z",
        "Prominence: 1.00",
        "Subject: user",
        "Source: 05-agent/memory/user-favorite-food-italian-pasta.md",
    ]


def test_subject_filter(memories: Shell) -> None:
    """Seed 000, "Examples", "Search with subject filter"; exact, whatever the case."""
    assert contents(memories, query="birthday", subject="user") == ["User's birthday is on 14 March"]
    assert contents(memories, query="birthday", subject="BOB") == ["Bob's birthday is on 2 May"]
    assert contents(memories, query="birthday", subject="Bo") == []


def test_all_types(memories: Shell) -> None:
    """Seed 000, "Examples", "Search all memory types"."""
    assert contents(memories, query="conversation about work", type="all", limit=20) == [
        "A long conversation about work and the new office in Hamburg."
    ]


def test_preferences(memories: Shell) -> None:
    """Seed 000, "Examples", "Search for preferences"."""
    assert contents(memories, query="notification settings", type="preference") == ["User wants the notification settings quiet at night"]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("raw", ["A long conversation about work and the new office in Hamburg."]),
        ("summary", ["The Hamburg office opens in autumn."]),
        ("fact", []),
        ("context", []),
    ],
)
def test_memory_types(memories: Shell, kind: str, expected: list[str]) -> None:
    """Seed 000, "Memory Types"."""
    assert contents(memories, query="Hamburg office", type=kind) == expected


def test_default_type_is_fact(memories: Shell) -> None:
    """Seed 000, "Search Behavior", "Default type": facts, not raw logs; relationships are facts about people."""
    assert contents(memories, query="Hamburg") == []
    assert set(contents(memories, query="birthday")) == {"User's birthday is on 14 March", "Bob's birthday is on 2 May"}


def test_user_boost(memories: Shell) -> None:
    """Seed 000, "Search Behavior", "User boost: Facts about the user get 1.5x score boost"."""
    shown = memories("memory", "search", "--explain", "birthday")
    output = json.loads(shown.out)["output"]
    assert "user_boost 1.50" in output.split("\n\n")[1]
    assert "user_boost 1.00" in output.split("\n\n")[2]


def test_the_limit(shell: Shell) -> None:
    for number in range(12):
        assert shell("memory", "add", f"User keeps bees, hive {number}", "--subject", "user").code == 0
    assert len(contents(shell, query="bees")) == 10
    assert len(contents(shell, query="bees", limit=3)) == 3
    assert len(contents(shell, query="bees", limit=5000)) == 12


@pytest.mark.parametrize(
    ("skill_args", "error"),
    [
        (None, "SKILL_ARGS environment variable not set"),
        ("", "SKILL_ARGS environment variable not set"),
        ("{", "Invalid JSON in SKILL_ARGS: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ("[]", "SKILL_ARGS must be a JSON object"),
        ("null", "SKILL_ARGS must be a JSON object"),
        ("{}", "memory_search requires a specific, non-empty query tied to the current request"),
        ('{"query": " * "}', "memory_search requires a specific, non-empty query tied to the current request"),
        ('{"query": "Everything"}', "memory_search requires a specific, non-empty query tied to the current request"),
        ('{"query": 7}', "memory_search requires a specific, non-empty query tied to the current request"),
        ('{"query": "x", "limit": 0}', "limit must be a positive number"),
        ('{"query": "x", "limit": "5"}', "limit must be a positive number"),
        ('{"query": "x", "limit": true}', "limit must be a positive number"),
        ('{"query": "x", "limit": NaN}', "limit must be a positive number"),
        (
            '{"query": "x", "type": "gossip"}',
            "type must be one of raw, fact, summary, preference, context, event, insight, relationship, all",
        ),
        ('{"query": "x", "subject": 3}', "subject must be a string"),
    ],
)
def test_wrong_arguments(shell: Shell, skill_args: str | None, error: str) -> None:
    """Seed 000, "Response Fields": `error` if the search failed, exit code as inside the JSON."""
    if skill_args is not None:
        shell.env["SKILL_ARGS"] = skill_args
    ran = shell("memory", "search")
    assert json.loads(ran.out) == {"success": False, "output": "", "error": error, "exitCode": 1}
    assert ran.code == 1


def test_nothing_found(memories: Shell) -> None:
    assert found(memories, query="graphql federation") == {
        "success": True,
        "output": "No memories found matching the query.",
        "exitCode": 0,
    }


def test_no_vault_is_an_answer_in_the_contract(shell: Shell, tmp_path: Path) -> None:
    shell.cwd = tmp_path
    result = found(shell, query="birthday")
    assert result["success"] is False
    assert result["error"].startswith("Memory search failed: ")


def test_options_do_what_skill_args_do(memories: Shell) -> None:
    ran = memories("memory", "search", "birthday", "--subject", "Bob", "--limit", "1")
    assert json.loads(ran.out) == found(memories, query="birthday", subject="Bob", limit=1)
    assert json.loads(memories("memory", "search", "birthday", "--limit", "none").out)["error"] == "limit must be a positive number"


def test_without_vectors_words_decide_and_it_says_so(memories: Shell) -> None:
    assert "No vectors: memories are matched by words alone." in memories("memory", "search", "birthday").err


def test_beside_a_busy_owner_notes_are_told_as_they_stand(memories: Shell) -> None:
    """Another process owns the index and has not seen the changes: what is told of a memory is its own text, and of a log nothing."""
    assert contents(memories, query="Hamburg office", type="raw") and contents(memories, query="Hamburg office", type="summary")
    with Brain.open(load(memories.cwd, memories.env, memories.cwd)):
        session = "07-logs/session/2026/07/2026-07-10-session-01.md"
        memories.note(session, memories.text(session).replace("in Hamburg", "nowhere near Hamburg"))
        (memories.cwd / "07-logs/log/2026/07/2026-07-12-recap.md").unlink()
        assert contents(memories, query="Hamburg office", type="raw") == contents(memories, query="Hamburg office", type="summary") == []
        birthday = "05-agent/memory/user-birthday-14-march.md"
        long = "User's birthday is on 15 March, as the passport says. " + "It is kept with cake. " * 80
        memories.note(birthday, memories.text(birthday).replace("User's birthday is on 14 March", long))
        (told,) = contents(memories, query="birthday", subject="user")
        assert told.startswith("User's birthday is on 15 March")


def test_a_file_is_read_once_unless_it_may_have_changed_under_the_same_time(tmp_path: Path) -> None:
    file, now = tmp_path / "m.md", 10**18
    read: list[bytes] = []
    kept = ReadOnce(lambda path, raw: read.append(raw) or raw, now_ns=lambda: now)  # type: ignore[func-returns-value]

    def said(text: bytes, seconds: int) -> bytes:
        file.write_bytes(text)
        os.utime(file, ns=(now, now - seconds * 10**9))
        return kept.get(tmp_path, "m.md")

    steps = [(b"one", 1), (b"two", 1), (b"two", 60), (b"two", 60), (b"six", 50)]
    assert [said(*step) for step in steps] == [text for text, _ in steps]
    assert read == [b"one", b"two", b"two", b"six"]


def test_an_old_fact_returns_when_it_is_named(shell: Shell) -> None:
    """Seed 000, "Natural activation": "old memories … can return from a genuinely relevant topic/name"."""
    shell.today = date(2020, 1, 5)
    shell("memory", "add", "Prepare for the Struan client meeting", "--type", "event", "--event-date", "2020-01-10")
    shell.today = date(2026, 7, 15)
    assert contents(shell, query="Whatever happened with Struan?", type="event") == ["Prepare for the Struan client meeting"]
    assert contents(shell, query="what is on my plate today?", type="event") == []
    assert contents(shell, query="the yearly planning meeting in Oslo", type="event") == []


def test_a_thousand_searches_change_no_score_and_no_file(memories: Shell) -> None:
    """Seed 000, "Real reinforcement": "User confirmation strengthens memory; automatic retrieval does not"."""
    memories.today = date(2026, 9, 1)
    files = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in (memories.cwd / MEMORY).iterdir()}
    first = scores(memories, query="favorite food")
    kept, _ = MemoryShelf().load(load(memories.cwd, memories.env, memories.cwd))
    passages = {memory.path: chunk(read_note(memory.path, (memories.cwd / memory.path).read_bytes())) for memory in kept}
    found_once = search(Ask("favorite food"), kept, passages, Signals(), memories.today)
    for _ in range(1000):
        assert search(Ask("favorite food"), kept, passages, Signals(), memories.today) == found_once
    assert scores(memories, query="favorite food") == first
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in (memories.cwd / MEMORY).iterdir()} == files
    assert memories("memory", "confirm", "user-favorite-food-italian-pasta").out == (
        "Confirmed 05-agent/memory/user-favorite-food-italian-pasta.md (said 2 times)\n"
    )
    assert scores(memories, query="favorite food") > first


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("what does the user like to eat", "User enjoys Italian food"),
        ("where is Bob employed", "Bob works at Acme"),
        ("what is the capital of France", None),
        ("graphql federation strategy", None),
    ],
)
def test_paraphrases_surface_and_noise_does_not(shell: Shell, e5_folder: ModelFolder, question: str, expected: str | None) -> None:
    """Seed 000, "Input Format", with the real embedder: not one content word of the question need stand in the memory."""
    models = Path(shell.env["ONEBRAIN_DATA_DIR"]) / "models"
    models.parent.mkdir()
    models.symlink_to(e5_folder.path.parent)
    for text in ("User enjoys Italian food", "Bob works at Acme", "Prepare for the Struan client meeting", "Stand-up is at nine"):
        shell("memory", "add", text, "--subject", "user" if text.startswith("User") else "Bob")
    assert contents(shell, query=question)[:1] == ([expected] if expected else [])


def test_restating_a_fact_confirms_it(memories: Shell) -> None:
    memories.today = date(2026, 8, 1)
    said = memories("memory", "add", "The user's favourite foods: italian pasta", "--subject", "user")
    assert said.out.startswith("Added")  # favourite is not favorite: a twin is better than a lost word
    said = memories("memory", "add", "User's favorite foods: Italian pasta!", "--subject", "user")
    assert said.out == "Confirmed 05-agent/memory/user-favorite-food-italian-pasta.md (said 2 times)\n"
    text = memories.text(f"{MEMORY}/user-favorite-food-italian-pasta.md")
    assert "confirmed: 2\n" in text and "confidence: 0.85\n" in text and "last_confirmed: 2026-08-01\n" in text


def test_another_day_is_another_event(shell: Shell) -> None:
    shell("memory", "add", "Ran ten kilometres", "--type", "event", "--event-date", "2026-07-01")
    assert (
        shell("memory", "add", "Ran ten kilometres", "--type", "event", "--event-date", "2026-07-08").out
        == f"Added {MEMORY}/ran-ten-kilometres-02.md\n"
    )
    assert shell("memory", "add", "Ran ten kilometres", "--type", "event", "--event-date", "2026-07-08").out.startswith("Confirmed")


def test_a_longer_restatement_takes_the_texts_place(shell: Shell) -> None:
    shell("memory", "add", "User keeps bees near Lake Constance, Bodman")
    shell("memory", "add", "User keeps bees near Lake Constance, at Bodman, since childhood")
    assert shell.text(f"{MEMORY}/user-keeps-bees-near-lake.md").endswith(
        "---\n\nUser keeps bees near Lake Constance, at Bodman, since childhood\n"
    )


def test_a_superseded_fact_is_never_current(shell: Shell) -> None:
    shell("memory", "add", "User lives in Kiel", "--subject", "user", "--event-date", "2024-05-01")
    moved = shell("memory", "supersede", "user-lives-kiel", "--with", "User lives in Bremen")
    assert moved.out == "05-agent/memory/user-lives-kiel.md is superseded by user-lives-bremen\n"
    assert "supersedes: user-lives-kiel.md\n" in shell.text(f"{MEMORY}/user-lives-bremen.md")
    assert contents(shell, query="Bremen") == ["User lives in Bremen"]
    output = found(shell, query="Kiel")["output"]
    assert "Status: historical record (not current state)\nStored:" in output
    refused = shell("memory", "confirm", "user-lives-kiel")
    assert refused.code == 2
    assert "superseded" in refused.err


def test_a_superseded_fact_without_a_date_does_not_show(shell: Shell) -> None:
    shell("memory", "add", "User lives in Kiel")
    shell("memory", "supersede", "user-lives-kiel", "--with", "User lives in Bremen")
    assert contents(shell, query="Kiel") == []


def test_assistant_memories_are_not_the_users(shell: Shell) -> None:
    shell.note(f"{MEMORY}/coaching.md", "---\ntype: fact\naudience: assistant\n---\nAsk better workout questions\n")
    shell.note(f"{MEMORY}/self.md", "---\ntype: fact\nsubject: agent\n---\nAgent prefers workout plans\n")
    shell.note(f"{MEMORY}/own.md", "---\ntype: fact\n---\nUser prefers a short workout\n")
    assert contents(shell, query="workout", type="all") == ["User prefers a short workout"]


def test_memories_of_onebrain_are_memories_here(shell: Shell) -> None:
    shell.note(
        f"{MEMORY}/rota.md",
        "---\ntags: [agent-memory]\ntype: behavioral\nstatus: active\nconf: high\n---\n# Rota\n\nNoor is on call on Mondays.\n",
    )
    assert contents(shell, query="rota", type="preference") == ["Noor is on call on Mondays."]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("the key is AKIAIOSFODNN7EXAMPLE", "an AWS Access Key"),
        ("-----BEGIN RSA PRIVATE KEY-----\nabc", "a Private Key"),
        ("use ghp_1234567890abcdefghijklmnopqrstuvwxyz12", "a GitHub Token"),
        ("db is postgres://noor:pa55word@db/x", "a Basic Auth Credentials"),
        ("my password is hunter2", "a password"),
        ("token: 3f786850e387550fdab836ed7e6dc881de23001b", "a token or key"),
    ],
)
def test_secrets_are_refused_with_a_reason(shell: Shell, text: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(*_: object, **__: object) -> NoReturn:
        raise AssertionError("a secret was sent somewhere")

    monkeypatch.setattr(socket, "socket", offline)
    assert secret_in(text) == kind
    refused = shell("memory", "add", text)
    assert refused.code == 2
    assert kind in refused.err
    assert not (shell.cwd / MEMORY).exists()


@pytest.mark.parametrize(
    "text", ["User enjoys Italian food", "commit abc1234def5678 fixed it", "The wifi password is kept in the safe", "Her secret: garlic"]
)
def test_ordinary_texts_hold_no_secret(text: str) -> None:
    assert secret_in(text) is None


def test_other_notes_and_unknown_keys_are_left_alone(shell: Shell) -> None:
    note = shell.note(
        f"{MEMORY}/bees.md",
        "---\r\n# about bees\r\ntype: fact\r\nmood: 'fine'  # a guess\r\nconfirmed: 3 # times\r\ntopics:\r\n  - bees\r\n"
        "---\r\n\r\nUser keeps bees.\r\n",
    )
    other = shell.note("01-projects/bees.md", "# Bees\n\nUser keeps bees.\n")
    before = other.read_bytes(), other.stat().st_mtime_ns
    shell("memory", "confirm", "bees")
    assert note.read_bytes().decode() == (
        "---\r\n# about bees\r\ntype: fact\r\nmood: 'fine'  # a guess\r\nconfirmed: 4 # times\r\ntopics:\r\n  - bees\r\n"
        "confidence: 0.85\r\nlast_confirmed: 2026-07-15\r\nverified: 2026-07-15\r\nupdated: 2026-07-15\r\n---\r\n\r\nUser keeps bees.\r\n"
    )
    assert (other.read_bytes(), other.stat().st_mtime_ns) == before
    assert [path.name for path in (shell.cwd / MEMORY).iterdir()] == ["bees.md"]


def test_confirming_a_linked_memory_changes_the_note_that_the_link_names(shell: Shell) -> None:
    real = shell.note("03-knowledge/bees.md", "---\ntype: fact\n---\nUser keeps bees.\n")
    link = shell.note(f"{MEMORY}/bees.md", "")
    link.unlink()
    link.symlink_to("../../03-knowledge/bees.md")
    assert shell("memory", "confirm", "bees").code == 0
    assert link.is_symlink() and "confirmed: 2\n" in real.read_text()


def test_a_link_out_of_the_vault_is_neither_read_nor_written_through(shell: Shell, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside") / "notes.md"
    outside.write_text("User keeps bees.\n")
    link = shell.note(f"{MEMORY}/bees.md", "")
    link.unlink()
    link.symlink_to(outside)
    ran = shell("memory", "confirm", "bees")
    assert ran.code == 2 and "no memory 'bees'" in ran.err
    listed = shell("memory", "search", "bees")
    assert "leads out of the vault" in listed.err and "keeps bees" not in listed.out + listed.err
    assert outside.read_text() == "User keeps bees.\n" and link.is_symlink()


def test_what_is_excluded_is_no_memory(shell: Shell) -> None:
    shell.note(f"{MEMORY}/private/bees.md", "User keeps bees.\n")
    assert contents(shell, query="bees", type="fact") == ["User keeps bees."]
    (shell.cwd / "onebrain.yml").write_text("search: {collection: memories, exclude: [private]}\n", encoding="utf-8")
    assert contents(shell, query="bees", type="fact") == []
    assert shell("memory", "confirm", "bees").code == 2


def test_a_memory_without_frontmatter_can_be_confirmed(shell: Shell) -> None:
    shell.note(f"{MEMORY}/bees.md", "User keeps bees.\n")
    assert shell("memory", "confirm", "bees.md").code == 0
    assert shell.text(f"{MEMORY}/bees.md").endswith("---\n\nUser keeps bees.\n")
    assert shell.text(f"{MEMORY}/bees.md").startswith("---\nconfidence: 0.85\nconfirmed: 2\n")


def test_an_unknown_id_says_what_comes_near(memories: Shell) -> None:
    ran = memories("memory", "confirm", "birthday")
    assert ran.code == 2
    assert "Did you mean" in ran.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("add", ""),
        ("add", "..."),
        ("add", "x", "--type", "gossip"),
        ("add", "x", "--importance", "11"),
        ("add", "x", "--confidence", "1.5"),
        ("add", "x", "--event-date", "soon"),
        ("supersede", "user-birthday-14-march"),
        ("supersede", "user-birthday-14-march", "--by", "user-birthday-14-march"),
        ("list", "--type", "gossip"),
        ("import", "nowhere.db"),
    ],
)
def test_wrong_commands_are_said(memories: Shell, arguments: tuple[str, ...]) -> None:
    ran = memories("memory", *arguments)
    assert ran.code == 2
    assert ran.err.startswith("❌")


def test_add_reads_standard_input(shell: Shell) -> None:
    shell.stdin = "User keeps bees\n"
    assert shell("memory", "add", "-").out == f"Added {MEMORY}/user-keeps-bees.md\n"


def test_list_status_and_export(memories: Shell) -> None:
    memories("memory", "confirm", "user-birthday-14-march")
    listed = memories("memory", "list", "--subject", "Bob").out
    assert listed == "bob-birthday-2-may  [relationship] Bob's birthday is on 2 May (active 1.00, said 1×)\n"
    status = json.loads(memories("memory", "status", "--json").out)["data"]
    assert status["memories"] == 4
    assert status["types"] == {"fact": 2, "preference": 1, "relationship": 1}
    assert status["states"] == {"active": 4, "dormant": 0, "archived": 0}
    assert status["confirmations"] == 1
    assert memories("memory", "export", "out.json").out == f"4 memories written to {memories.cwd / 'out.json'}\n"
    assert len(json.loads(memories.text("out.json"))["memories"]) == 4
    assert memories("memory", "export", "out.json").code == 2

"""What is a question, what is a verb, what is an option: the table of `cli.words`, through the whole grammar."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from onebrain.cli.words import Spellings, sort, take_value
from onebrain.search.question import Filters, Legs

Shell = Any
KNOWN = Spellings(flags=frozenset({"--json", "--all", "-q", "--help"}), valued=frozenset({"--mode", "-n", "--lex"}))


@pytest.mark.parametrize(
    ("line", "options", "words"),
    [
        ("why kafka --json", "--json", "why kafka"),
        ("--mode why kafka -n 3", "--mode why -n 3", "kafka"),
        ("--mode=why -n3 kafka", "--mode=why -n3", "kafka"),
        ("--lex -foo kafka", "--lex -foo", "kafka"),
        ("kafka -redis", "", "kafka -redis"),
        ("-redis kafka", "-redis", "kafka"),
        ("kafka --redis", "--redis", "kafka"),
        ("-", "", "-"),
        ("---", "", "---"),
        ("kafka -n", "-n", "kafka"),
    ],
)
def test_sorting(line: str, options: str, words: str) -> None:
    found = sort(shlex.split(line), KNOWN)
    assert (found.options, found.words, found.quoted) == (tuple(options.split()), tuple(words.split()), ())


def test_after_two_dashes_everything_is_text() -> None:
    found = sort(["--json", "--", "--all", "status"], KNOWN)
    assert (found.options, found.words, found.quoted, found.first) == (("--json",), (), ("--all", "status"), None)


@pytest.mark.parametrize(
    ("arguments", "rest", "value"),
    [
        (["--vault", "v", "search", "x"], ["search", "x"], "v"),
        (["search", "x", "--vault=v"], ["search", "x"], "v"),
        (["search", "--", "--vault", "v"], ["search", "--", "--vault", "v"], None),
        (["search", "--vault"], ["search", "--vault"], None),
    ],
)
def test_an_option_that_may_stand_anywhere(arguments: list[str], rest: list[str], value: str | None) -> None:
    assert take_value(arguments, "--vault") == (rest, value)


QUESTIONS = """
C++ | - | " | ' | AND | * | note: x | 2024-2025 | 2026.4.10 | DEC-0054 | snake_case | gpt-4 | สุขภาพ | 飛書 | - item | a=b | search
--all of them | what? [x](y) `z` {a} $HOME ~ ! # % | tag:a -b "c d" after:2026-01-01 | -5 °C outside | --- | --- title: x ---
"""


@pytest.mark.parametrize("question", [text.strip() for line in QUESTIONS.strip().splitlines() for text in line.split("|")] + ["x" * 5000])
def test_ordinary_punctuation_is_text(shell: Shell, question: str) -> None:
    result = shell("search", "query", question)
    assert (result.code, shell.brain.asked[-1].text) == (0, question)


@pytest.mark.parametrize("question", ["why did we pick C++?", "kafka -redis", "note: x"])
def test_unquoted_words_are_one_question(shell: Shell, question: str) -> None:
    assert shell("search", *question.split()).code == 0
    assert shell.brain.asked[-1].text == question


@pytest.mark.parametrize(
    ("line", "text", "legs"),
    [
        ("search -- status", "status", Legs.HYBRID),
        ("search query status", "status", Legs.HYBRID),
        ("search search reindex", "reindex", Legs.LEX),
        ("search vsearch get", "get", Legs.VEC),
        ("search query query", "query", Legs.HYBRID),
        ("search --all query kafka", "kafka", Legs.HYBRID),
        ("search ask around", "ask around", Legs.HYBRID),
        ("search 'status report'", "status report", Legs.HYBRID),
        ("search kafka status", "kafka status", Legs.HYBRID),
    ],
)
def test_the_first_word_decides(shell: Shell, line: str, text: str, legs: Legs) -> None:
    assert shell(*shlex.split(line)).code == 0
    assert (shell.brain.asked[-1].text, shell.brain.asked[-1].legs) == (text, legs)


@pytest.mark.parametrize("line", ["status --json", "--json status", "--vault . --json status", "status --vault=. --json"])
def test_options_may_stand_before_a_verb(shell: Shell, line: str) -> None:
    line = f"search {line}"
    assert json.loads(shell(*line.split()).out)["command"] == "search.status"


def test_every_option_reaches_the_request(shell: Shell) -> None:
    line = (
        "search --mode why --all -n 7 kafka --lex a --lex b --vec c --hyde d --path 01-projects --tag x/y --type session "
        "--after 2026-01-01 --before 2026-02-01 --min-score 0.3 --no-rerank --no-hyde --no-synthesis -- -redis"
    )
    assert shell(*line.split()).code == 0
    asked = shell.brain.asked[-1]
    assert (asked.text, asked.mode, asked.everything, asked.limit) == ("kafka -redis", "why", True, 7)
    assert (asked.lex, asked.vec, asked.hyde) == (("a", "b"), ("c",), ("d",))
    assert asked.filters == Filters(("01-projects",), ("x/y",), ("session",), "2026-01-01", "2026-02-01")
    assert (asked.min_score, asked.rerank, asked.write_hyde, asked.write_synthesis) == (0.3, False, False, False)
    assert str(asked.now) == "2026-05-04"


def test_how_many_hits(shell: Shell) -> None:
    (shell.cwd / "onebrain.yml").write_text("search: {default_top_k: 17}\n")
    limits = []
    for line in ("search x", "search query x", "search x -n 3", "search query x --top-k 4", "search x --limit=2"):
        shell(*line.split())
        limits.append(shell.brain.asked[-1].limit)
    assert limits == [5, 17, 3, 4, 2]


def test_questions_catch_up_with_the_disk_first_and_verbs_need_not(shell: Shell) -> None:
    for line in ("search x", "search query x", "search status", "search get a.md", "search reindex"):
        shell(*line.split())
    assert shell.synced == [True, True, False, False, False]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("search reindex", {"paths": (), "force": False, "lex_only": False, "pending_only": False}),
        ("search reindex --force", {"paths": (), "force": True, "lex_only": False, "pending_only": False}),
        ("search reindex a.md sub --lex-only", {"paths": ("a.md", "sub"), "force": False, "lex_only": True, "pending_only": False}),
        ("search reindex -- -odd.md", {"paths": ("-odd.md",), "force": False, "lex_only": False, "pending_only": False}),
    ],
)
def test_reindex(shell: Shell, line: str, expected: dict[str, Any]) -> None:
    assert shell(*line.split()).code == 0
    assert shell.brain.reindexed == [expected]


def test_paths_count_from_where_one_stands_then_from_the_vault(shell: Shell) -> None:
    vault = shell.cwd
    (vault / "sub").mkdir()
    (vault / "sub" / "a.md").touch()
    shell.cwd = vault / "sub"
    assert shell("search", "reindex", "a.md", "gone.md", str(vault / "b.md")).code == 0
    assert shell.brain.reindexed[-1]["paths"] == ("sub/a.md", "gone.md", "b.md")
    outside = shell("search", "reindex", "../../elsewhere.md")
    assert (outside.code, outside.err) == (2, f"❌  ../../elsewhere.md is not inside the vault {vault}.\n")


@given(st.lists(st.text(alphabet=st.characters(codec="utf-8"), max_size=12), max_size=6))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(["--lex"])
@example(["-n", "x"])
@example(["--vault"])
@example(["--format", "json"])
@example(["model", "x"])
@example(["model"])
def test_no_command_line_ends_in_a_traceback(shell: Shell, words: list[str]) -> None:
    """Whatever is typed: an answer, or a usage error in words."""
    result = shell("search", *words)
    assert result.code in (0, 1, 2, 64)
    assert result.code == 0 or result.err or result.out.startswith(("{", "Usage:"))

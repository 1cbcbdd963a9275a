"""JSON envelopes, pipes, colour, start-up and what happens when the world misbehaves."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from onebrain.cli import direct
from onebrain.cli.app import GROUPS
from onebrain.errors import IndexBusy, StorageFull, VaultNotFound
from onebrain.render.json import Caution

Shell = Any


def envelope(result: Any) -> dict[str, Any]:
    assert result.out.count("\n") == 1 and result.out.endswith("\n")
    found: dict[str, Any] = json.loads(result.out)
    return found


def test_the_envelope_of_an_answer(shell: Shell) -> None:
    shell.cautions = (Caution("W_ENGINE_BUSY", "busy"),)
    result = shell("search", "kafka", "--json")
    found = envelope(result)
    assert list(found) == ["version", "command", "ok", "vault", "data", "warnings"]
    assert (found["version"], found["command"], found["ok"]) == ("1", "search", True)
    assert found["vault"] == {"name": "notes", "path": str(shell.cwd)}
    assert found["warnings"] == [{"code": "W_ENGINE_BUSY", "message": "busy"}]
    assert found["data"]["query"] == "kafka"
    assert result.err == ""


@pytest.mark.parametrize(
    ("line", "command"),
    [("search query x", "search.query"), ("search search x", "search.lex"), ("search vsearch x", "search.vec")],
)
def test_the_envelope_of_a_listing(shell: Shell, line: str, command: str) -> None:
    found = envelope(shell(*line.split(), "--json"))
    assert (found["command"], list(found["data"])) == (command, ["hits"])


@pytest.mark.parametrize("asking", [["--json"], ["--format", "json"], ["--format=json"]])
def test_errors_are_envelopes_too(shell: Shell, asking: list[str]) -> None:
    shell.opening = IndexBusy("Another process owns the index.", hint="Try again.")
    result = shell("search", "kafka", *asking)
    found = envelope(result)
    assert (result.code, result.err, found["ok"], found["data"]) == (77, "", False, None)
    assert found["error"] == {"code": "E_ENGINE_BUSY", "message": "Another process owns the index.", "hint": "Try again."}


@pytest.mark.parametrize(
    ("line", "code", "error", "command"),
    [
        ("search --json", 2, "E_USAGE", "search"),
        ("search kafka --json --nonsense", 2, "E_USAGE", "search"),
        ("search query --json -n many x", 2, "E_USAGE", "search.query"),
        ("search --format yaml x --json", 2, "E_USAGE", "search"),
        ("--vault /gone search kafka --json", 64, "E_VAULT_NOT_FOUND", "search"),
        ("nonsense --json", 2, "E_USAGE", "onebrain"),
    ],
)
def test_errors_before_a_command_runs_are_envelopes_too(shell: Shell, line: str, code: int, error: str, command: str) -> None:
    result = shell(*line.split())
    found = envelope(result)
    assert (result.code, found["error"]["code"], found["command"]) == (code, error, command)


def test_a_status_in_json_tells_unknown_from_nought(shell: Shell) -> None:
    shell.opening = IndexBusy("Another process owns the index.")
    result = shell("search", "status", "--json")
    found = envelope(result)
    assert (result.code, found["ok"], found["warnings"][0]["code"]) == (0, True, "W_ENGINE_BUSY")
    data = found["data"]
    assert [data[key] for key in ("doc_count", "pending_words", "pending_vectors", "failed", "indexed")] == [None] * 5
    assert data["status_error"] == "Another process owns the index."


def test_status_without_a_vault_is_an_error(shell: Shell) -> None:
    (shell.cwd / "onebrain.yml").unlink()
    assert shell("search", "status").code == VaultNotFound.exit_code


def test_reindex_and_get_in_json(shell: Shell) -> None:
    assert envelope(shell("search", "reindex", "--json"))["data"] == {
        "added": 0,
        "updated": 0,
        "removed": 0,
        "moved": 0,
        "unchanged": 3,
        "failed": 0,
        "embedded": 0,
        "failures": [],
        "problems": [],
        "held_back": None,
        "reasons": [],
    }
    assert envelope(shell("search", "get", "a.md", "--json"))["data"] == {
        "path": "a.md",
        "line_start": 2,
        "line_end": 3,
        "text": "# Title\x1b[31m\ntext",
    }


def test_the_older_configuration_file_is_a_warning(shell: Shell) -> None:
    (shell.cwd / "onebrain.yml").rename(shell.cwd / "vault.yml")
    assert shell("search", "kafka").err == "⚠️  Read the older vault.yml; rename it to onebrain.yml.\n"
    assert envelope(shell("search", "kafka", "--json"))["warnings"][0]["code"] == "W_CONFIG"


def test_markdown(shell: Shell) -> None:
    answer = shell("search", "kafka", "--format", "markdown").out
    assert answer.startswith("📌 Redis Streams carry all events since May. (`01-projects/queue.md:12`)\n")


def test_colour_is_for_terminals(shell: Shell, reports: Any) -> None:
    shell.brain.report = reports.WHY
    assert "\x1b[1m2024-01-10\x1b[0m" in shell("search", "why", out_tty=True).out
    assert "\x1b" not in shell("search", "why").out
    shell.env["NO_COLOR"] = "1"
    assert "\x1b" not in shell("search", "why", out_tty=True).out


def test_excerpts_fit_the_screen(shell: Shell, reports: Any) -> None:
    shell.env["NO_COLOR"] = "1"
    wide = replace(reports.REDIS, snippet="飛書" * 60)
    shell.brain.report = replace(reports.WHAT, answer=(), sources=(wide,))
    line = shell("search", "x", out_tty=True, width=70).out.splitlines()[1]
    assert line == "  1. 01-projects/queue.md:Decision — " + "飛書" * 8 + "…"


class Closed(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")


def test_a_closed_pipe_is_silent(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("io.StringIO", Closed)
    monkeypatch.setattr(Closed, "getvalue", lambda self: "")
    assert shell("search", "kafka").code == 0


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/d/x"), StorageFull.code, "No space left on device: /d/x."),
        (PermissionError(errno.EACCES, "Permission denied", "/v/a.md"), "E_FAILED", "Permission denied: /v/a.md."),
    ],
)
def test_what_no_room_put_into_words(shell: Shell, error: Exception, code: str, message: str) -> None:
    shell.brain.error = error
    result = shell("search", "kafka", "--json")
    found = envelope(result)["error"]
    assert (result.code, found["code"], found["message"]) == (1, code, message)
    assert found["hint"]


def test_a_fault_of_ours_is_the_callers_to_tell(shell: Shell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The daemon logs it; the program says so in words, with a traceback only for those who ask."""
    shell.brain.error = ZeroDivisionError("oops")
    with pytest.raises(ZeroDivisionError):
        shell("search", "kafka")
    monkeypatch.setattr("onebrain.cli.direct.direct", shell.open)
    assert direct.main(["search", "kafka", "--vault", str(shell.cwd)]) == 1
    told = capsys.readouterr()
    assert (told.out, told.err.splitlines()[0]) == ("", "❌  onebrain failed: ZeroDivisionError: oops")
    monkeypatch.setenv("ONEBRAIN_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        direct.main(["search", "kafka", "--vault", str(shell.cwd)])


def test_an_interrupt_ends_with_130(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.brain.error = KeyboardInterrupt()
    monkeypatch.setattr("onebrain.cli.direct.direct", shell.open)
    assert direct.main(["search", "kafka", "--vault", str(shell.cwd)]) == 130


def test_an_interrupt_is_left_to_the_program(shell: Shell) -> None:
    shell.brain.error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        shell("search", "kafka")


def test_help_goes_to_the_terminal_it_was_asked_on(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    for words in ("", "search", "search query", "search kafka", "search model", "search model list"):
        result = shell(*words.split(), "--help", width=100)
        assert (result.code, result.err, result.out[:15]) == (0, "", "Usage: onebrain"), words
    assert "Commands:\n  search " in shell("--help").out
    assert shell("--version").out.startswith("onebrain ")
    assert capsys.readouterr() == ("", "")


def test_every_group_of_the_table_has_its_application() -> None:
    """A module that is there must hold `app`; one that isn't is left out of the help."""
    import importlib
    import importlib.util

    there = [module for module, _ in GROUPS.values() if importlib.util.find_spec(module)]
    assert "onebrain.cli.search" in there
    for module in there:
        assert importlib.import_module(module).app.info.help


def program(*argv: str, cwd: Path, **more: Any) -> subprocess.CompletedProcess[bytes]:
    env = {"PATH": os.environ["PATH"], "ONEBRAIN_DATA_DIR": str(cwd / "data"), "ONEBRAIN_NO_DAEMON": "1", "PYTHONIOENCODING": "ascii"}
    return subprocess.run([sys.executable, "-m", "onebrain", *argv], cwd=cwd, env=env, capture_output=True, timeout=60, **more)


def test_the_program_itself_on_a_screen_that_is_not_utf8(tmp_path: Path) -> None:
    done = program("search", "kafka", cwd=tmp_path)
    assert done.returncode == 64
    assert done.stderr.startswith(b"\\u274c  No vault found")


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    code = "import sys; from onebrain.cli import direct; direct.main(['--help']); print(sorted(set(sys.modules) & set(sys.argv[1:])))"
    heavy = ["numpy", "whoosh", "chromadb", "onnxruntime", "fastembed", "pydantic", "rich", "starlette", "mcp", "yaml", "ruamel"]
    done = subprocess.run([sys.executable, "-c", code, *heavy], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("serach kafka", "❌  No such command: serach.\n→ Did you mean `onebrain search`?\n"),
        ("kafka", '❌  No such command: kafka.\n→ To ask the vault: onebrain search "kafka"\n'),
        ("--vault", "❌  --vault needs the directory that holds your notes.\n→ onebrain --vault DIR ...\n"),
        ("search kafka --vault", "❌  --vault needs the directory that holds your notes.\n→ onebrain --vault DIR ...\n"),
    ],
)
def test_slips_are_met_with_the_next_step(shell: Shell, line: str, told: str) -> None:
    result = shell(*line.split())
    assert (result.code, result.out, result.err) == (2, "", told)

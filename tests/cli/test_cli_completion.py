"""Completion offers the words of the grammar, where they may stand."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

Shell = Any


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["se"], "search serve"),
        (["search", "re"], "reindex"),
        (["search", "model", ""], "list prepare remove set"),
        (["search", "--mode", ""], "auto what why"),
        (["search", "--mode", "w"], "what why"),
        (["search", "query", "--fo"], "--format"),
        (["search", "kafka", "--expl"], "--explain"),
        (["search", "--m"], "--min-score --mode"),
        (["--vault", "notes", "daemon", "st"], "start status stop"),
        (["daemon", "start", "--v"], "--vault"),
        (["completion", ""], "bash fish zsh"),  # `words` is for scripts
        (["search", "why", "did", ""], ""),  # a question: anything may follow, files too
        (["search", "--path", ""], ""),
        (["--vault", ""], ""),
        (["search", "--", "st"], ""),
        (["nonsense", ""], ""),
    ],
)
def test_words(shell: Shell, words: list[str], offered: str) -> None:
    result = shell("completion", "words", "--", *words)
    assert (result.code, result.out.split(), result.err) == (0, offered.split(), "")


def test_every_command_is_offered_but_hidden_ones(shell: Shell) -> None:
    offered = shell("completion", "words", "--", "search", "").out.split()
    assert offered == ["get", "model", "query", "reindex", "search", "status", "vsearch"]


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell(shell: Shell, name: str) -> None:
    result = shell("completion", name)
    assert (result.code, result.err) == (0, "")
    assert "onebrain completion words -- " in result.out
    if shutil.which(name):
        assert subprocess.run([name, "-n"], input=result.out, text=True, timeout=20).returncode == 0


def test_an_unknown_shell_is_told_where_to_look(shell: Shell) -> None:
    result = shell("completion", "tcsh")
    assert (result.code, result.err) == (2, "❌  No such command 'tcsh'.\n→ See `onebrain completion --help`.\n")


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_in_a_real_bash(tmp_path: Path) -> None:
    program = tmp_path / "onebrain"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m onebrain "$@"\n')
    program.chmod(0o755)
    script = (
        'eval "$(onebrain completion bash)"\n'
        'COMP_WORDS=(onebrain search --mode w); COMP_CWORD=3; _onebrain; echo "${COMPREPLY[@]}"\n'
        'COMP_WORDS=(onebrain dae); COMP_CWORD=1; _onebrain; echo "${COMPREPLY[@]}"\n'
    )
    env = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["bash", "--norc", "-c", script], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("what why\ndaemon\n", "")


@pytest.mark.parametrize("words", [[], ["search", "model"], ["daemon"]])
def test_a_group_named_alone_shows_its_help_and_no_reproach(shell: Shell, words: list[str]) -> None:
    result = shell(*words)
    assert (result.code, result.err) == (2, "")
    assert result.out.startswith(f"Usage: onebrain{''.join(' ' + word for word in words)} ")

"""`init` and `doctor`: what a newcomer and somebody in trouble see, and that neither changes more than it says."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from onebrain.cli import doctor as doctoring
from onebrain.errors import IndexBusy, IndexDamaged

Shell = Any


@pytest.fixture
def notes(shell: Shell) -> Path:
    """A small vault without a configuration file."""
    place: Path = shell.cwd
    (place / "onebrain.yml").unlink()
    for name in ("a.md", "01-projects/b.md", "01-projects/deep/c.md", "attachments/d.md", ".trash/e.md", "07-logs/f.txt"):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("# x\n")
    return place


def test_init_shows_what_will_be_indexed_and_writes_the_file_once(shell: Shell, notes: Path) -> None:
    shell.shows(
        f"""
    $ onebrain init
    vault       {notes}
    collection  {collection(notes)}
    notes       3
            2  01-projects/
            1  (top level)
    layout      OneBrain (2 of 8 folders)
    excluded    attachments, hidden folders, node_modules
    file        {notes}/onebrain.yml · written
    ! → Next: onebrain search model prepare, then onebrain search reindex
    ! → onebrain daemon start keeps the index in step while you edit, and answers faster
    """
    )
    written = (notes / "onebrain.yml").read_text()
    (notes / "onebrain.yml").write_text(written + "# mine\n")
    assert f"file        {notes}/onebrain.yml · there already, left as it is\n" in shell("init").out
    assert (notes / "onebrain.yml").read_text() == written + "# mine\n"


def test_init_advises_nothing_that_is_done_already(shell: Shell, notes: Path) -> None:
    (notes / "onebrain.yml").write_text("search:\n  collection: c\n  embed_folder: model\n")
    assert "→ Next: onebrain search reindex\n" in shell("init").err
    (Path(shell.env["ONEBRAIN_DATA_DIR"]) / "search" / "c").mkdir(parents=True)
    assert "Next" not in shell("init").err


def collection(place: Path) -> str:
    import hashlib

    return f"{place.name}-{hashlib.sha256(os.fsencode(place)).hexdigest()[:6]}"


def test_init_can_only_show(shell: Shell, notes: Path) -> None:
    found = json.loads(shell("init", "--dry-run", "--json").out)["data"]
    assert (found["written"], found["notes"], found["layout"]) == (False, 3, ["projects", "logs"])
    assert found["folders"] == [{"folder": "01-projects", "notes": 2}, {"folder": ".", "notes": 1}]
    assert not (notes / "onebrain.yml").exists()


def test_init_finds_the_vault_it_stands_in(shell: Shell, notes: Path) -> None:
    (notes / ".obsidian").mkdir()
    shell.cwd = notes / "01-projects" / "deep"
    assert json.loads(shell("init", "--json").out)["data"]["file"] == str(notes / "onebrain.yml")
    assert json.loads(shell("init", "--json").out)["data"]["written"] is False


def test_init_leaves_the_older_file_in_force(shell: Shell, notes: Path) -> None:
    (notes / "vault.yml").write_text("qmd_collection: old\n")
    assert json.loads(shell("init", "--json").out)["data"]["collection"] == "old"
    assert not (notes / "onebrain.yml").exists()


@pytest.mark.parametrize("line", ["init elsewhere", "init --vault elsewhere"])
def test_init_of_another_directory(shell: Shell, notes: Path, line: str) -> None:
    (notes / "elsewhere").mkdir()
    result = shell(*line.split())
    assert (notes / "elsewhere" / "onebrain.yml").exists() and not (notes / "onebrain.yml").exists()
    assert "There are no Markdown notes here yet" in result.err and f"--vault {notes}/elsewhere search reindex" in result.err
    assert shell("init", "gone").code == 64


def test_a_unit_holds_no_keys_and_its_installer_says_so(shell: Shell) -> None:
    (shell.cwd / "onebrain.yml").write_text(
        "search:\n"
        "  hyde: {writer: local, url: 'http://localhost:1', api_key_env: UNUSED_KEY}\n"
        "  synthesis: {url: 'http://localhost:1', api_key_env: SYNTHESIS_KEY}\n"
        "  chroma: {url: 'http://localhost:2', token_env: CHROMA_TOKEN}\n"
    )
    shell.env |= {"SYNTHESIS_KEY": "sk-1", "CHROMA_TOKEN": "sk-2"}
    result = shell("daemon", "install", "--dry-run")
    assert result.code == 0 and "sk-" not in result.out
    assert [line.rpartition("says how ")[2] for line in result.err.splitlines()] == [
        "SYNTHESIS_KEY (search.synthesis.api_key_env) reaches the daemon.",
        "CHROMA_TOKEN (search.chroma.token_env) reaches the daemon.",
    ]


def checks(shell: Shell, *argv: str) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for check in json.loads(shell("doctor", *argv, "--json").out)["data"]["checks"]:
        found.setdefault(check["check"], []).append((check["health"], check["message"]))
    return found


def test_a_healthy_vault(shell: Shell) -> None:
    (shell.cwd / "a.md").touch()
    result = shell("doctor")
    assert result.code == 0
    assert f"✅  configuration  {shell.cwd}/onebrain.yml\n" in result.out
    assert f"✅  vault          1 note in {shell.cwd}\n" in result.out
    assert "✅  index          1,208 notes, in step with the vault\n" in result.out
    assert "⚠️   models         no embedding model: search works by words alone\n    → `onebrain search model prepare`\n" in result.out
    assert "✅  daemon         not running" in result.out


def test_a_broken_configuration_lists_its_faults(shell: Shell) -> None:
    file = shell.cwd / "onebrain.yml"
    file.write_text("search:\n  default_top_k: many\nregulated: 7\n")
    shell.shows(
        f"""
    $ onebrain doctor
    ❌  configuration  `search.default_top_k` must be a whole number of at least 1, not 'many'
        → {file}:2
    ❌  configuration  `regulated` must be true or false, not '7'
        → {file}:3
    [exit 65]
    """
    )


def test_keys_that_are_nearly_ours_and_crons_that_are_none(shell: Shell) -> None:
    text = "serach: {}\nsearch: {colection: x, mine: 1, synthesis: {modle: x, mine: 2}}\n"
    text += "schedule: [{cron: 'every day', command: onebrain search reindex}]\n"
    (shell.cwd / "onebrain.yml").write_text(text)
    assert checks(shell)["configuration"] == [
        ("warn", "`serach` is not known"),
        ("warn", "`search.colection` is not known"),
        ("warn", "`search.synthesis.modle` is not known"),
        ("warn", "'every day' is no cron expression"),
    ]


def test_older_names_are_moved_when_asked(shell: Shell) -> None:
    file = shell.cwd / "onebrain.yml"
    file.write_text("# mine\nqmd_collection: old\n\n# folders\nfolders: {}\n")
    assert checks(shell)["older names"] == [("warn", "`qmd_collection` is now `search.collection`")]
    assert file.read_text().startswith("# mine\nqmd_collection: old\n")
    assert checks(shell, "--fix")["older names"] == [("ok", "moved `qmd_collection` to `search.collection` in onebrain.yml")]
    assert file.read_text() == "# mine\n\n# folders\nfolders: {}\nsearch:\n  collection: old\n"
    assert "older names" not in checks(shell)


def test_fixing_keeps_the_collection_in_force(shell: Shell) -> None:
    (shell.cwd / "onebrain.yml").write_text("qmd_collection: old\nsearch: {collection: new}\n")
    shell("doctor", "--fix")
    assert (shell.cwd / "onebrain.yml").read_text() == "search: {collection: new}\n"


def test_an_index_that_lags_or_lost_notes(shell: Shell, reports: Any) -> None:
    failed = (reports.Failure("x.md", None, "not readable"),)
    shell.brain.state = replace(shell.brain.state, pending_words=2, pending_vectors=30, failed=failed, error="vectors are searched exactly")
    assert checks(shell)["index"] == [
        ("warn", "vectors are searched exactly"),
        ("warn", "behind by 2 notes and 30 passages"),
        ("warn", "x.md: not readable"),
    ]
    assert shell.brain.reindexed == []
    shell("doctor", "--fix")
    assert len(shell.brain.reindexed) == 1


@pytest.mark.parametrize(("error", "health", "code"), [(IndexBusy("busy"), "warn", 0), (IndexDamaged("damaged"), "fail", 1)])
def test_an_index_that_can_not_be_opened(shell: Shell, error: Any, health: str, code: int) -> None:
    shell.opening = error
    assert shell("doctor").code == code
    assert checks(shell)["index"] == [(health, error.message)]


def test_an_index_that_can_not_be_compared_with_the_vault_is_not_in_step(shell: Shell) -> None:
    shell.brain.state = replace(shell.brain.state, pending_words=None)
    assert checks(shell)["index"] == [("warn", "nobody can say whether it is in step with the vault")]


def test_an_unknown_state_is_a_fault_and_not_an_empty_index(shell: Shell) -> None:
    shell.brain.state = replace(shell.brain.state, doc_count=None, pending_words=None, pending_vectors=None)
    assert checks(shell)["index"] == [("fail", "its state can't be read")]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_an_index_that_others_may_read_is_made_private_when_asked(shell: Shell) -> None:
    place = Path(shell.env["ONEBRAIN_DATA_DIR"]) / "search" / "notes-1a2b3c"
    place.mkdir(parents=True)
    place.chmod(0o755)
    assert checks(shell)["data"][1] == ("warn", f"others may read {place}")
    assert checks(shell, "--fix")["data"][1] == ("ok", f"{place} is now private")
    assert place.stat().st_mode & 0o777 == 0o700


def test_two_whooshes_in_one_environment(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctoring, "_version", lambda name: "1.0")
    assert checks(shell)["parts"][0] == ("fail", "whoosh-reloaded and whoosh and whoosh3 overwrite each other")


def test_no_vault_is_told_as_everywhere(shell: Shell) -> None:
    (shell.cwd / "onebrain.yml").unlink()
    assert shell("doctor").code == 64

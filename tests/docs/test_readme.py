"""What README.md shows is what the program does: its commands run, and what they print is there."""

from __future__ import annotations

import io
import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import date
from pathlib import Path
from typing import Any, cast

import pytest

from onebrain.cli.app import run
from onebrain.cli.direct import direct
from onebrain.cli.terminal import Terminal
from onebrain.config import ChromaServer, Config, Daemon, Folders, Search, Writer
from onebrain.models.folders import ModelFolder

ROOT = Path(__file__).parent.parent.parent
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
HOLDERS = {"search": Search, "folders": Folders, "hyde": Writer, "synthesis": Writer, "chroma": ChromaServer, "daemon": Daemon}
OUTSIDE = ("daemon",)  # starts a process of its own; tests/daemon does that


@dataclass(frozen=True)
class Shown:
    """A command of a console block, and the lines under it."""

    command: str
    lines: tuple[str, ...]

    @property
    def argv(self) -> tuple[str, ...]:
        return tuple(shlex.split(self.command, comments=True)[1:])


def shown() -> Iterator[Shown]:
    for block in re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, lines = part.partition("\n")
            yield Shown(command, tuple(lines.splitlines()))


SHOWN = [one for one in shown() if one.argv[0] not in OUTSIDE]


@dataclass(frozen=True)
class Demo:
    """The demo vault as a clone has it, in a place of its own."""

    place: Path
    data: Path

    def __call__(self, *argv: str) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        env = {"ONEBRAIN_DATA_DIR": str(self.data)}
        terminal = Terminal(argv=argv, env=env, cwd=self.place, out=out, err=err, brains=direct, today=lambda: date(2026, 10, 14))
        return run(terminal), out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    place = tmp_path_factory.mktemp("clone")
    shutil.copy(ROOT / "onebrain.yml", place)
    shutil.copytree(ROOT / "vault_example", place / "vault_example")
    return Demo(place, place / "data")


@pytest.mark.parametrize("one", SHOWN, ids=lambda one: one.command)
def test_every_command_runs(demo: Demo, one: Shown) -> None:
    code, out, err = demo(*one.argv)
    assert (code, "❌" in err) == (0, False), err
    assert out


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_it_answers_as_shown(demo: Demo, e5_folder: ModelFolder) -> None:
    """With the models. `…` stands for anything; which further sources are listed is not promised."""
    models = demo.data / "models"
    if not models.exists():
        demo.data.mkdir(exist_ok=True)
        models.symlink_to(e5_folder.path.parent)
    assert demo("search", "reindex")[0] == 0
    for one in SHOWN:
        promised = [line for line in one.lines if line.strip(" …") and not line.startswith("📚")]
        if promised:
            _, out, _ = demo(*one.argv)
            for line in promised:
                pattern = ".*".join(re.escape(part) for part in line.rstrip("…").split("…"))
                assert re.search(f"^{pattern}", out, re.MULTILINE), f"{one.command}: {line}\n{out}"


def test_the_verbs_that_start_processes_are_in_the_grammar(demo: Demo) -> None:
    for one in shown():
        if one.argv[0] in OUTSIDE:
            assert demo(*one.argv, "--help")[0] == 0, one.command


def test_links_lead_somewhere() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_setting_of_the_table_is_one() -> None:
    """As dotted names: each part is a field of what the part before it is."""
    keys = re.findall(r"^\| `([a-z_.]+)(?:\.\*)?` \|", TEXT, re.MULTILINE)
    assert "search.exclude" in keys
    for key in keys:
        holder: object = Config
        for part in key.split("."):
            names = {field.name: field for field in fields(cast(Any, holder))}
            assert part in names, key
            holder = HOLDERS.get(part)

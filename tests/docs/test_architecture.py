"""docs/architecture.md names what is there, and draws the arrows that tests/test_walls.py checks."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
ROWS = [line for line in TEXT.splitlines() if line.startswith("| ") and not line.startswith("| room")]
NAMES = sorted({name for row in ROWS for name in re.findall(r"`([\w.]+)`", row.rsplit(" | ", 1)[1])})
ROOMS = {path.name.removesuffix(".py") for path in (ROOT / "onebrain").iterdir() if not path.name.startswith("_")} - {"py.typed"}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_the_table_is_there(name: str) -> None:
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(f"onebrain.{'.'.join(parts[:count])}")
        except ModuleNotFoundError as missing:
            if not (missing.name or "").startswith("onebrain"):
                raise
            continue
        for part in parts[count:]:
            found = getattr(found, part)
        return
    pytest.fail(f"there is no onebrain.{name}")


def test_every_room_is_in_the_table() -> None:
    told = {room for row in ROWS for room in re.findall(r"(\w+)(?:\.py|/)?`", row.split(" | ")[0])}
    faces = {name.split(".")[0] for name in NAMES}
    assert told | faces >= ROOMS


def test_the_files_named_in_passing_are_there() -> None:
    for path in re.findall(r"`((?:onebrain|tests|docs|cli|daemon|index)/[\w/]+\.py)`", TEXT):
        assert (ROOT / path).exists() or (ROOT / "onebrain" / path).exists(), path

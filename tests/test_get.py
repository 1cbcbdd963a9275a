"""A note is read from the disk by whatever our own output calls it."""

from __future__ import annotations

from pathlib import Path

import pytest

from onebrain.brain import Access, Brain
from onebrain.config import load
from onebrain.errors import BadRequest, NoteUnreadable

PLAN = "# Plan\n\nintro\n\n## Why\n\nbecause\n\n## Open\n\nnothing\n"


@pytest.fixture
def brain(tmp_path: Path) -> Brain:
    vault = tmp_path / "vault"
    for path, raw in {
        "plan.md": PLAN.encode(),
        "a: b.md": b"colon\n",
        "tips.md": b"Keep it cold. ^tip-1\n\nMore.\n",
        "05-agent/memory/redis.md": b"one\ntwo\n",
        "latin.md": "caf\xe9 au lait\n".encode("latin-1"),
        "image.md": bytes(range(32)) * 40,
        "empty.md": b"",
        "folder/note.md": b"x\n",
    }.items():
        (vault / path).parent.mkdir(parents=True, exist_ok=True)
        (vault / path).write_bytes(raw)
    return Brain.open(load(vault, {"ONEBRAIN_DATA_DIR": str(tmp_path / "data")}), access=Access.READER)


@pytest.mark.parametrize(
    ("target", "lines", "text"),
    [
        ("plan.md", (1, 12), PLAN),
        ("plan.md:3", (3, 12), PLAN.split("\n", 2)[2]),
        ("plan.md:3-3", (3, 3), "intro"),
        ("plan.md:Why", (5, 8), "## Why\n\nbecause\n"),
        ("plan.md#Open", (9, 12), "## Open\n\nnothing\n"),
        ("tips.md#^tip-1", (1, 1), "Keep it cold. ^tip-1"),
        ("a: b.md", (1, 2), "colon\n"),
        ("memory/redis.md:2", (2, 3), "two\n"),  # as recall cites it
        ("empty.md", (1, 1), ""),
    ],
)
def test_what_is_printed_is_read(brain: Brain, target: str, lines: tuple[int, int], text: str) -> None:
    found = brain.get(target)
    assert ((found.line_start, found.line_end), found.text) == (lines, text)


def test_lines_may_be_counted_out(brain: Brain) -> None:
    assert brain.get("plan.md", 5, 3).text == "## Why\n\nbecause"


@pytest.mark.parametrize("target", ["plan.md:99999", "plan.md:0", "plan.md:-1", "plan.md:5-2", "plan.md:Nothing"])
def test_a_place_that_is_not_there_is_refused(brain: Brain, target: str) -> None:
    with pytest.raises(BadRequest):
        brain.get(target)
    with pytest.raises(BadRequest):
        brain.get("plan.md", 99999)


@pytest.mark.parametrize(("target", "said"), [("folder", "is a folder"), ("image.md", "not a text file"), ("", "the vault itself")])
def test_what_is_no_note_is_named(brain: Brain, target: str, said: str) -> None:
    with pytest.raises(NoteUnreadable, match=said):
        brain.get(target)


def test_bytes_of_another_encoding_are_told(brain: Brain) -> None:
    assert "Windows-1252" in (brain.get("latin.md").problem or "")

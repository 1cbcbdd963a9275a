"""Places in a note, as our own output and people write them."""

from __future__ import annotations

import pytest

from onebrain.errors import BadRequest
from onebrain.vault.note import Heading
from onebrain.vault.places import lines_at, split

HEADINGS = (Heading(1, "Plan", 1), Heading(2, "Why `Redis`", 3), Heading(3, "Costs", 6), Heading(2, "Open", 9))


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("a/b.md", ("a/b.md", "")),
        ("a/b.md:12", ("a/b.md", "12")),
        ("a/b.md:3-9", ("a/b.md", "3-9")),
        ("a/b.md:Why: so", ("a/b.md", "Why: so")),
        ("a/b.md#Costs", ("a/b.md", "Costs")),
        ("b:7", ("b", "7")),
        ("C: notes.md", ("C: notes.md", "")),
    ],
)
def test_a_target_is_a_path_and_a_place(target: str, found: tuple[str, str]) -> None:
    assert split(target) == found


@pytest.mark.parametrize(
    ("place", "lines"),
    [("", (1, 12)), ("4", (4, 12)), ("12", (12, 12)), ("2-5", (2, 5)), ("11-99", (11, 12))]
    + [("plan", (1, 12)), ("Why Redis", (3, 8)), ("Plan > Why Redis > Costs", (6, 8)), ("Open", (9, 12))],
)
def test_a_place_is_lines(place: str, lines: tuple[int, int]) -> None:
    assert lines_at("a.md", place, 12, HEADINGS) == lines


@pytest.mark.parametrize(
    ("place", "said", "hint"),
    [
        ("99999", "a.md has 12 lines; there is no line 99999.", "Lines count from 1."),
        ("0", "a.md has 12 lines; there is no line 0.", "Lines count from 1."),
        ("-3", "a.md has 12 lines; there is no line -3.", "Lines count from 1."),
        ("5-2", "a.md:5-2 ends before it begins.", "Write it as a.md:2-5."),
        ("Cost", "a.md has no heading 'Cost'.", "Did you mean Costs?"),
    ],
)
def test_a_place_that_is_not_there_is_told(place: str, said: str, hint: str) -> None:
    with pytest.raises(BadRequest) as caught:
        lines_at("a.md", place, 12, HEADINGS)
    assert (caught.value.message, caught.value.hint) == (said, hint)

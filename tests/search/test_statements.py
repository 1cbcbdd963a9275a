"""What of a passage can be quoted: whole sentences, and lists with what leads them in."""

from __future__ import annotations

import pytest

from onebrain.search.statements import LONGEST, Statement, is_open, statements, together
from onebrain.vault.note import Chunk


def passage(text: str, heading: str = "Title > Part", line: int = 5) -> Chunk:
    return Chunk(f"{text[:8]}.md#1", "a.md", 1, heading, line, line + text.count("\n"), text, text)


def said(text: str) -> list[str]:
    return [statement.text for statement in statements(passage(text)) if statement.states()]


@pytest.mark.parametrize(
    ("text", "open_"),
    [
        ("Choose it when:", True),
        ('Chosen option: "dashes", because', True),
        ("The filenames follow a pattern, where", True),
        ("It works as follows", True),
        ("Wir nehmen es, weil", True),
        ("原因如下", True),
        ("We chose it because of that.", False),
        ("What we were looking at", False),
        ("This is what it's for", False),
    ],
)
def test_what_leaves_its_thought_open(text: str, open_: bool) -> None:
    assert is_open(text) is open_


def test_a_lead_in_brings_its_items_and_no_item_comes_without_it() -> None:
    text = "You can't have all of these:\n\n- Consistency\n- Availability\n- Partition tolerance\n\nSo we chose two of them."
    assert said(text) == [
        "You can't have all of these: Consistency; Availability; Partition tolerance",
        "So we chose two of them.",
    ]


def test_items_that_are_sentences_may_stand_alone_and_what_is_left_out_is_marked() -> None:
    one, two, three = (f"{word} provides a unique number, which can be used to refer to a record." for word in ("This", "That", "It"))
    assert said(f"Chosen option: numbers, because\n\n- {one}\n- {two}\n- {three}") == [
        f"Chosen option: numbers, because {one} {two} {three}",
        f"Chosen option: numbers, because {one} …",
        f"Chosen option: numbers, because … {two} …",
        f"Chosen option: numbers, because … {three}",
    ]


def test_items_of_one_list_are_joined_under_their_lead_in() -> None:
    lead = (0, "Because:")
    items = [Statement(((n, f"Reason {n}."),), lead, (n - 1,), 4) for n in (1, 2, 4)]
    first = together(items[2], items[0])
    assert first is not None and first.text == "Because: Reason 1. … Reason 4." and first.line == 0
    both = together(first, items[1])
    assert both is not None and both.text == "Because: Reason 1. Reason 2. … Reason 4."
    assert together(items[0], Statement(((9, "Elsewhere."),))) is None
    assert together(items[0], Statement(((9, "x" * LONGEST),), lead, (3,), 4)) is None


def test_a_list_without_a_lead_in_is_there_whole_and_by_item() -> None:
    assert said("- MIT\n- CC0, as it asks for nothing\n- Both of these two") == [
        "MIT; CC0, as it asks for nothing; Both of these two",
        "CC0, as it asks for nothing",
        "Both of these two",
    ]


def test_an_open_item_leads_in_the_items_below_it() -> None:
    text = "- It is fast.\n- What comes with it:\n  - A simulator\n  - Navigation\n- It is free."
    assert "What comes with it: A simulator; Navigation" in said(text) and "What comes with it:" not in said(text)


def test_what_states_nothing_is_not_quoted() -> None:
    assert said("What is the pattern of the name?") == said("For example:\n\n```\ncode\n```") == said("{{title}} is a placeholder") == []
    assert said("- [Overview](#overview)\n- [Install it first](#install)") == []
    assert said("Short one.") == [] and said("At 8080.") == ["At 8080."]


def test_marks_are_taken_off_once() -> None:
    assert said("The `<style>` tag and `_._.x` stay as they are.") == ["The <style> tag and _._.x stay as they are."]


def test_a_frontmatter_is_told_by_entry() -> None:
    entries = statements(passage("isbn: 9780201483406\ntopics:\n  - bees", "", 2))
    assert [(entry.text, entry.line, entry.matter) for entry in entries] == [("isbn: 9780201483406", 0, True), ("topics: bees", 1, True)]


def test_the_line_is_that_on_which_the_quote_begins() -> None:
    text = "Because:\n\n- we need it so much that nothing else at all would do for any of us\n- it is cheap\n\nSo be it from now on."
    found = [statement for statement in statements(passage(text)) if statement.states()]
    assert [(statement.line, statement.whole) for statement in found] == [(0, True), (0, False), (0, False), (5, False)]

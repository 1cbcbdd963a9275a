"""Passages: verbatim, whole, small enough, found by what they are about."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onebrain.vault import chunk, read_note
from onebrain.vault.chunk import BUDGET, TAIL, says_nothing
from onebrain.vault.note import Chunk


def chunks(text: str, path: str = "n.md") -> tuple[Chunk, ...]:
    return chunk(read_note(path, text.encode()))


def shape(text: str, path: str = "n.md") -> list[tuple[str, int, int, str]]:
    return [(c.heading_path, c.line_start, c.line_end, c.text) for c in chunks(text, path)]


def test_one_passage_a_section() -> None:
    assert shape("intro\n\n# One\n\ntext\n\n## Two\n### Three\nmore\n## Leaf\n") == [
        ("", 1, 1, "intro"),
        ("One", 5, 5, "text"),
        ("One > Two > Three", 9, 9, "more"),
        ("One > Leaf", 10, 10, "Leaf"),
    ]


def test_ids_count_in_file_order_and_the_embedded_text_says_where_it_is() -> None:
    first, second = chunks("# Title\n\na\n\n## `Part`\n\nb", "x/title.md")
    assert (first.id, second.id, second.ordinal) == ("x/title.md#0", "x/title.md#1", 1)
    assert first.embed_text == "Title\na"
    assert second.embed_text == "Title\nPart\nb"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\nauthor: Kevin Kelly\nisbn: 9780201483406\n---\n", [("", 2, 3, "author: Kevin Kelly\nisbn: 9780201483406")]),
        ("---\nauthor: K\ntags: [x]\n---\nbody", [("", 2, 3, "author: K\ntags: [x]"), ("", 5, 5, "body")]),
        ("---\ntags: [x]\ndate: 2024-01-02\n---\nbody", [("", 5, 5, "body")]),
        ("---\ntags: [x]\n---\n", [("", 2, 2, "tags: [x]")]),
        ("# Only a title", [("Only a title", 1, 1, "Only a title")]),
        ("", [("", 1, 1, "")]),
    ],
)
def test_frontmatter_and_empty_notes_are_found(text: str, expected: list[tuple[str, int, int, str]]) -> None:
    assert shape(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('+++\ntitle = "T"\nisbn = 9\n+++\n', [("", 2, 3, 'title = "T"\nisbn = 9')]),
        ('+++\ntitle = "T"\nauthor = ["K"]\n[taxonomies]\ntags = ["x"]\n+++\nbody', [("", 7, 7, "body")]),
    ],
)
def test_toml_frontmatter_is_found_like_yaml(text: str, expected: list[tuple[str, int, int, str]]) -> None:
    assert shape(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# Only a title",
        "---\ntitle: Only a title\ntags:\n  - x\n---\n",
        '+++\ntitle = "Only a title"\nauthor = ["K"]\ndraft = false\n+++\n',
        "# T\n\n#idea #todo\n",
        "![[picture.png]]",
        "# T\n\n%% later %%\n",
    ],
)
def test_a_stub_says_nothing(text: str) -> None:
    assert [says_nothing(found) for found in chunks(text)] == [True]


@pytest.mark.parametrize(
    "text",
    [
        "Yes.",
        "# Capital of France: Paris\n\nParis",
        "---\nauthor: Kevin Kelly\n---\n",
        "- [[Other]]",
        "```\nls\n```",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "#1 is the best",
        "字",
    ],
)
def test_what_says_something(text: str) -> None:
    assert [says_nothing(found) for found in chunks(text)] == [False]


def test_frontmatter_is_embedded_readably() -> None:
    (found,) = chunks('---\nauthor:\n  - "[[Kevin Kelly]]"\ncover:\nrating: 7\n---\n', "Out of Control.md")
    assert found.embed_text == "Out of Control\nKevin Kelly\nrating: 7"
    (found,) = chunks('+++\ntitle = "Out of Control"\nisbn = ["9", "8"]\n+++\n', "x.md")
    assert found.embed_text == "Out of Control\ntitle: Out of Control\nisbn: 9, 8"


def test_long_sections_are_cut_between_paragraphs() -> None:
    paragraph = "word " * 60
    found = chunks("# T\n\n" + "\n\n".join(f"{i} {paragraph.strip()}" for i in range(9)))
    assert [c.text[0] for c in found] == ["0", "2", "4", "6", "8"] or all(len(c.text) <= BUDGET + TAIL for c in found)
    assert all("word" in c.text and c.text.endswith("word") for c in found)


def test_a_fence_stays_whole_and_a_monster_is_cut() -> None:
    fence = "```py\n" + "x = 1\n" * 200 + "```"
    texts = [c.text for c in chunks("before " * 100 + "\n\n" + fence + "\n\nafter")]
    assert any(text.startswith("```py") and "```" in text[5:] for text in texts)
    assert all(len(c.text) <= 2 * BUDGET + TAIL for c in chunks("```\n" + "y = 2\n" * 5000 + "```"))


def test_rows_stay_whole_and_know_their_header() -> None:
    rows = "".join(f"| {i} | {'cell ' * 12}|\n" for i in range(60))
    found = chunks("| No | Text |\n|---|---|\n" + rows)
    assert len(found) > 2
    assert all(line.startswith("| ") and line.endswith("|") for c in found for line in c.text.split("\n") if "---" not in line)
    assert all("| No | Text |" in c.embed_text for c in found)


@pytest.mark.parametrize(
    "text",
    ["Sentence of words here. " * 400, "字" * 3000, "ภาษาไทย " * 500, "这是一个句子。" * 400, "x" * 10_000, "- item of a list\n" * 500],
)
def test_monsters_are_cut(text: str) -> None:
    found = chunks(text)
    assert len(found) > 1
    assert all(len(c.text) <= BUDGET + TAIL + BUDGET // 6 for c in found)
    assert "".join("".join(c.text.split()) for c in found) == "".join(text.split())


def test_wide_scripts_make_shorter_passages() -> None:
    assert max(len(c.text) for c in chunks("这是一个句子。" * 400)) <= 480


LINES = ["# A", "## B", "", "", "text of a line", "- item", "| a | b |", "|---|---|", "```", "> q", "word " * 80, "字" * 300, "---"]


@settings(deadline=None)
@given(st.lists(st.sampled_from(LINES), max_size=40))
def test_every_passage_is_verbatim(lines: list[str]) -> None:
    text = "\n".join(lines)
    last = 0
    for found in chunks(text):
        span = "\n".join(text.split("\n")[found.line_start - 1 : found.line_end])
        assert found.text in span or span.lstrip("# ") == found.text
        assert found.line_start >= last
        last = found.line_start


@settings(deadline=None)
@given(st.lists(st.sampled_from([line for line in LINES if line[:1] != "#" and "-" not in line]), max_size=40))
def test_nothing_is_lost(lines: list[str]) -> None:
    assert "".join("".join(c.text.split()) for c in chunks("\n".join(lines))) == "".join("".join(lines).split())

"""YAML as its author meant it."""

from __future__ import annotations

import time

import pytest

from onebrain.vault import frontmatter
from onebrain.vault.note import Value


def values(block: str) -> dict[str, Value]:
    return dict(frontmatter.read(f"---\n{block}\n---\nbody").values)


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("title: Plain", {"title": "Plain"}),
        (
            "a: 12:30\nb: 0123\nc: no\nd: 1.10\ne: 2024-01-02\nf: 2024-13-45",
            {"a": "12:30", "b": "0123", "c": "no", "d": "1.10", "e": "2024-01-02", "f": "2024-13-45"},
        ),
        ("a:\nb: ~\nc: null\nd: ''", {"a": None, "b": None, "c": None, "d": None}),
        ("tags: [a, b]\nlist:\n  - x\n  - y: z", {"tags": ["a", "b"], "list": ["x", {"y": "z"}]}),
        ("author: [[Kevin Kelly]]", {"author": "[[Kevin Kelly]]"}),
        ("related:\n  - [[A]]\n  - [[B|b]]\n  - '[[C]]'", {"related": ["[[A]]", "[[B|b]]", "[[C]]"]}),
        ("tags: #a #b", {"tags": "#a #b"}),
        ("replaces: [314, 315]", {"replaces": ["314", "315"]}),
        ("text: |\n  one\n  two", {"text": "one\ntwo"}),
        ("k: &x [1]\nl: *x", {"k": ["1"], "l": ["1"]}),
        ("", {}),
    ],
)
def test_values_stay_what_was_typed(block: str, expected: dict[str, Value]) -> None:
    assert values(block) == expected


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("title: Note: part 2\ndate: 2024-01-02", {"title": "Note: part 2", "date": "2024-01-02"}),
        (
            'categories:\n  - "[[Books]]"\ncreated: {{date}}\ntags:\n  - to-read',
            {"categories": ["[[Books]]"], "created": "{{date}}", "tags": ["to-read"]},
        ),
        ("tags:\n\t- inbox\n\t- phone\ndate: 2026-02-30", {"tags": ["inbox", "phone"], "date": "2026-02-30"}),
        (
            "title: {{title}}\nproject: status: draft\ntags: [template, inbox",
            {"title": "{{title}}", "project": "status: draft", "tags": "[template, inbox"},
        ),
        ('a: @bob\nb: `x`\nc: "C:\\dir"', {"a": "@bob", "b": "`x`", "c": "C:\\dir"}),
        ("related: [[A]], [[B]]", {"related": "[[A]], [[B]]"}),
        ("k: 'it's'\nok: yes", {"k": "it's", "ok": "yes"}),
    ],
)
def test_one_broken_key_costs_only_itself(block: str, expected: dict[str, Value]) -> None:
    found = frontmatter.read(f"---\n{block}\n---\nbody")
    assert dict(found.values) == expected
    assert len(found.problems) == 1
    assert found.problems[0].startswith("frontmatter line ")


def test_lines_count_in_the_file() -> None:
    found = frontmatter.read("---\na: 1\nlist:\n  - x\nb: 2\n---\n# Title\n")
    assert found.lines == {"a": 2, "list": 3, "b": 5}
    assert found.body_line == 7
    assert frontmatter.read("---\n  bad:\n x: {\n---\n").problems[0].startswith("frontmatter line ")


@pytest.mark.parametrize("text", ["", "# No", "---\nopen: yes\n", "--- x\na: b\n---", "\n---\na: b\n---\n", "----\na: b\n----\n"])
def test_what_is_no_frontmatter(text: str) -> None:
    assert frontmatter.read(text) == frontmatter.Frontmatter()


def test_keys_are_found_however_they_are_written() -> None:
    found = frontmatter.read("---\nSuperseded-By: x\nDate Created: 2024-01-02\nempty:\n---\n")
    assert found.find("superseded_by") == ("x", 2)
    assert found.find("empty", "date_created") == ("2024-01-02", 3)
    assert found.find("nothing") == (None, None)


def test_hostile_blocks_cost_no_time() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    deep = "a: " + "[" * 5000 + "]" * 5000
    huge = "a: x\n" * 100_000
    loop = "a: &a\n  - *a"
    begin = time.process_time()
    for block in (bomb, deep, huge, loop):
        found = frontmatter.read(f"---\n{block}\n---\nbody")
        assert found.problems
        assert "a" in found.values
    assert time.process_time() - begin < 3


def test_texts() -> None:
    assert frontmatter.texts({"a": ["x", None, {"b": "y"}], "c": ""}) == ["x", "y"]
    assert frontmatter.text_of(["a", " b\nc"]) == "a, b c"
    assert frontmatter.text_of([]) is None

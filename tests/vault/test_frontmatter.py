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


def toml(block: str) -> frontmatter.Frontmatter:
    return frontmatter.read(f"+++\n{block}\n+++\nbody")


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ('title = "A \\"b\\""\ndraft = true', {"title": 'A "b"', "draft": "true"}),
        ("date = 2023-04-05\nat = 2023-04-05T10:00:00Z\nv = 1.10", {"date": "2023-04-05", "at": "2023-04-05T10:00:00+00:00", "v": "1.10"}),
        ("tags = [\n  'a', # one\n  'b',\n]", {"tags": ["a", "b"]}),
        (
            'title = "T"\n[taxonomies]\ntags = ["rust"]\n[extra]\nstatus = "draft"\ntitle = "not this"\n[extra.place]\ncity = "Ulm"',
            {"title": "T", "tags": ["rust"], "status": "draft", "place": {"city": "Ulm"}},
        ),
        ("[[resources]]\nsrc = 'a'\n[[resources]]\nsrc = 'b'", {"resources": [{"src": "a"}, {"src": "b"}]}),
        ("", {}),
    ],
)
def test_toml_means_what_yaml_does(block: str, expected: dict[str, Value]) -> None:
    found = toml(block)
    assert (dict(found.values), found.problems) == (expected, ())
    assert found.body_line == block.count("\n") + 4


@pytest.mark.parametrize(
    ("block", "expected", "line"),
    [
        ('title = "Open\ndate = 2024-01-02\ntags = ["a"]', {"title": "Open", "date": "2024-01-02", "tags": ["a"]}, 2),
        ("title = 'T'\nkind = unquoted words\n[taxonomies]\ntags = ['x']", {"title": "T", "kind": "unquoted words", "tags": ["x"]}, 3),
        ("title = 'T'\ntitle = 'U'", {"title": "U"}, 3),
    ],
)
def test_one_broken_toml_key_costs_only_itself(block: str, expected: dict[str, Value], line: int) -> None:
    found = toml(block)
    assert dict(found.values) == expected
    assert len(found.problems) == 1 and found.problems[0].startswith(f"frontmatter line {line}: ")


def test_toml_lines_count_in_the_file() -> None:
    found = toml("title = 'T'\n\n[taxonomies]\ntags = ['x']\n[extra.place]\ncity = 'Ulm'")
    assert found.lines == {"title": 2, "tags": 5, "place": 6}


@pytest.mark.parametrize("text", ["+++\ntitle = 'open'\n", "+++ x\na = 1\n+++", "++++\na = 1\n++++\n", "+++\na = 1\n---\n"])
def test_what_is_no_toml(text: str) -> None:
    assert frontmatter.read(text) == frontmatter.Frontmatter()


@pytest.mark.parametrize("mark", ["---", "+++"])
def test_prose_between_two_rules_belongs_to_the_note(mark: str) -> None:
    found = frontmatter.read(f"{mark}\nOnly a sentence.\n{mark}\nbody")
    assert (found.body_line, dict(found.values), len(found.problems)) == (1, {}, 1)


def test_hostile_toml_costs_no_time() -> None:
    begin = time.process_time()
    blocks = ["a = " + "[" * 50_000, ".".join("a" * 50_000) + " = 1", "a = 1\n" * 40_000, "a = " + "{a = " * 30_000, "[[a]]\n" * 20_000]
    for block in blocks:
        assert toml(block).problems
    assert time.process_time() - begin < 3


def test_entries_of_a_block_or_a_part_of_one() -> None:
    assert frontmatter.entries("author:\n  - '[[K]]'\n  - L\nempty:\nrating: 7") == [(0, "author", "K, L"), (4, "rating", "7")]
    assert frontmatter.entries("title = 'T'\nby = [\n  'K',\n  'L',\n]\n[extra]\nx = 1") == [
        (0, "title", "T"),
        (1, "by", "K, L"),
        (6, "x", "1"),
    ]


def test_texts() -> None:
    assert frontmatter.texts({"a": ["x", None, {"b": "y"}], "c": ""}) == ["x", "y"]
    assert frontmatter.text_of(["a", " b\nc"]) == "a, b c"
    assert frontmatter.text_of([]) is None

"""Headings and code, held against a full CommonMark parser."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from onebrain.vault import blocks, files, frontmatter

VAULTS = Path(__file__).parents[3] / "shared" / "eval" / "vaults"


def headings(text: str) -> list[tuple[int, str, int]]:
    return [(heading.level, heading.text, heading.line) for heading in blocks.layout(text.split("\n"), 1).headings]


def oracle(text: str) -> list[tuple[int, str, int]]:
    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])
    tokens = parser.parse(text)
    found = [
        (int(t.tag[1]), tokens[i + 1].content.strip(), (t.map or [0])[0] + 1, t.markup)
        for i, t in enumerate(tokens)
        if t.type == "heading_open" and t.level == 0
    ]
    return [(level, words, line) for level, words, line, mark in found if mark[0] == "#" or ("\n" not in words and len(words) <= 160)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A\n## B ##\n#C\n####### D\n#\n   ### E", [(1, "A", 1), (2, "B", 2), (1, "", 5), (3, "E", 6)]),
        ("Setext\n===\n\nTwo\n---\ntext\nmore\n---\n", [(1, "Setext", 1), (2, "Two", 4)]),
        ("```\n# no\n```\n# yes\n~~~~\n```\n# no\n~~~\n~~~~\n# two", [(1, "yes", 4), (1, "two", 10)]),
        ("````\n```\n# no\n```\n````\n# yes", [(1, "yes", 6)]),
        ("<!--\n# no\n-->\n# yes", [(1, "yes", 4)]),
        ("<div>\n# no\n\n# yes\n</div>", [(1, "yes", 4)]),
        ("- item\n\n  # no\n\n  ```\n  # no\n  ```\n\n# yes", [(1, "yes", 9)]),
        ("> # no\n> ```\n> # no\n\n# yes", [(1, "yes", 5)]),
        ("    # no\n\n# yes", [(1, "yes", 3)]),
        ("- a\n---\n# yes", [(1, "yes", 3)]),
        ("| a |\n|---|\n| # |\n# yes", [(1, "yes", 4)]),
        ("```\n# never closed", []),
    ],
)
def test_headings(text: str, expected: list[tuple[int, str, int]]) -> None:
    assert headings(text) == expected == oracle(text)


@pytest.mark.parametrize(
    ("line", "text", "id"),
    [
        ("## Costs ^costs-1", "Costs", "^costs-1"),
        ("## Costs in m^2", "Costs in m^2", ""),
        ("## Set up {#setup}", "Set up", "setup"),
        ("## Set up {#setup .wide lang=en} ##", "Set up", "setup"),
        ("## Set up {: #setup}", "Set up", "setup"),
        ("## 設定 {#設定}", "設定", "設定"),
        ("## Set up {.unnumbered}", "Set up", ""),
        ("## Set up {-}", "Set up", ""),
        ("Set up {#setup}\n---", "Set up", "setup"),
        ("## {{title}}", "{{title}}", ""),
        ("## Loop {{#each}}", "Loop {{#each}}", ""),
        ("## {short title}", "{short title}", ""),
        ("## The set {x=1}", "The set {x=1}", ""),
        ("## {#alone}", "{#alone}", ""),
        ("## Not \\{#this}", "Not \\{#this}", ""),
    ],
)
def test_an_id_behind_a_heading_is_none_of_its_words(line: str, text: str, id: str) -> None:
    (found,) = blocks.layout(line.split("\n"), 1).headings
    assert (found.text, found.id) == (text, id)


def test_the_text_of_an_admonition_is_no_code() -> None:
    lines = ['!!! note "T"', "    a", "", "    b", "", "        code", "", "after", "", "    code"]
    assert list(blocks.layout(lines, 1).code) == [0, 0, 0, 0, 0, 1, 0, 0, 0, 1]


@pytest.mark.parametrize(
    "block",
    [
        "{% highlight sh %}\n# no\n{% endhighlight %}",
        "{{< highlight sh >}}\n# no\n{{< /highlight >}}",
        "#+BEGIN_SRC sh\n# no\n#+END_SRC",
    ],
)
def test_code_of_other_tools_has_no_headings(block: str) -> None:
    assert headings(f"# yes\n\n{block}\n\n# two") == [(1, "yes", 1), (1, "two", 7)]


def test_code_is_marked() -> None:
    lines = [
        "text",
        "",
        "    indented",
        "",
        "- item",
        "",
        "      code in item",
        "```x",
        "in",
        "```",
        "<!-- c",
        "c -->",
        "> ~~~",
        "> q",
        "after",
    ]
    assert list(blocks.layout(lines, 1).code) == [0, 0, 1, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0]


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(["# a", "## b", "text", "```", "~~~", "", "", "- item", "  # c", "> q", "---", "===", "1. one", "|a|b|"]),
        max_size=12,
    )
)
def test_like_the_parser_on_plain_notes(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert headings(text) == oracle(text)


def test_like_the_parser_on_real_notes() -> None:
    if not VAULTS.is_dir():
        pytest.skip("no ../shared beside this checkout")
    differing = []
    for vault in ("decisions", "tasks-docs", "kepano", "dataview", "horcy-zh"):
        for path in sorted((VAULTS / vault).rglob("*.md")):
            text, _ = files.decode(path.read_bytes())
            body = "\n".join(text.split("\n")[frontmatter.read(text).body_line - 1 :])[:40_000]
            shown = "\n".join(blocks.layout(body.split("\n"), 1).lines)  # the parser knows no `%%`
            if headings(body) != oracle(shown):
                differing.append(path.name)
    assert differing == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a %%b%% c\n%%d%%\n- %%e%%\n| x %%f%% |", "a c\n\n\n| x |"),
        ("a\n\n%%\nb\n\n# c\n%%\nd", "a\n\n\n\n\n\n\nd"),
        ("%% kanban:settings\n```\n{}\n```\n%%\n# H", "\n\n\n\n\n# H"),
        ("a %%b\nc%% d %%e%% f\n\n> %%g\n> h%%", "a\n d f\n\n\n"),
        ("# H %%x%%\ntext", "# H\ntext"),
        ("a %% b\n\nc %% d", "a %% b\n\nc %% d"),  # within a paragraph only
        ("a\n\n%%\nnever closed\n\n# H", "a\n\n%%\nnever closed\n\n# H"),
        *((code, code) for code in ("`%%x` and ``%%y``", "```\n%%x\n%%\n```\n\n%%", "a\n\n    %%x\n\n%%", "- a\n\n      %%x\n\n%%")),
        ("<!-- %% -->\na\n\n%% b", "<!-- %% -->\na\n\n%% b"),
    ],
)
def test_what_is_no_comment_is_shown(text: str, shown: str) -> None:
    found = blocks.layout(text.split("\n"), 1)
    assert "\n".join(found.lines) == shown
    assert [heading.text for heading in found.headings] == (["H"] if "# H" in shown else [])


@pytest.mark.parametrize("line", ["%% x", "x %%y", "%%x%%", "# h", "- item", "| a | b |", "> q", "text", "```", "<div>", "1. x"])
def test_a_hundred_thousand_lines_take_no_time(line: str) -> None:
    begin = time.process_time()
    blocks.layout([line] * 100_000, 1)
    assert time.process_time() - begin < 2

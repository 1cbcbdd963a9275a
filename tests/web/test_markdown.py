"""A note as safe HTML, with the cited lines marked."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_vault import HOSTILE

from onebrain.web.markdown import note_url, to_html

NOTE = """---
tags: [a]
---
# Title

First paragraph
on two lines. ^anchor

- one
- two
  - inner

| a | b |
|---|---|
| 1 | 2 |
| 3 | 4 |

```
code
```
"""


HIT = re.compile(r'<(?:p|li|tr|h1|code) class="hit">(.*?)(?:</p>|\n?<ul>|</li>|</tr>|</h1>|</code>)', re.DOTALL)


def marked(first: int, last: int) -> list[str]:
    return [re.sub(r"<[^>]+>", "", found).strip() for found in HIT.findall(to_html(NOTE, first=first, last=last))]


@pytest.mark.parametrize(
    ("lines", "blocks"),
    [
        ((4, 4), ["Title"]),
        ((6, 6), ["First paragraph\non two lines."]),
        ((7, 7), ["First paragraph\non two lines."]),
        ((10, 10), ["two"]),
        ((11, 11), ["inner"]),
        ((9, 11), ["one", "two", "inner"]),
        ((15, 15), ["1\n2"]),
        ((19, 19), ["code"]),
        ((2, 2), []),  # frontmatter is not shown
        ((0, 0), []),
        ((900, 901), []),
    ],
)
def test_the_smallest_blocks_of_the_cited_lines_are_marked(lines: tuple[int, int], blocks: list[str]) -> None:
    assert marked(*lines) == blocks


def test_links_lead_to_notes_of_the_vault_or_visibly_out_of_it_or_nowhere() -> None:
    known = {"ADR 7": "p/ADR 7.md", "../x.md": "x.md"}
    note = "[[ADR 7|seven]] [[Nowhere]] [up](../x.md) [out](https://a.example/?q=1) [f](file:///etc/passwd) [[ADR 7]]"
    html = to_html(note, resolve=known.get)
    assert '<a href="/note?path=p%2FADR%207.md" class="note-link" rel="noopener noreferrer nofollow">seven</a>' in html
    assert '<a class="dead" rel="noopener noreferrer nofollow">Nowhere</a>' in html
    assert '<a href="/note?path=x.md" class="note-link" rel="noopener noreferrer nofollow">up</a>' in html
    assert '<a href="https://a.example/?q=1" class="out" rel="noopener noreferrer nofollow">out</a>' in html
    assert "file:" not in re.sub(r">[^<]*<", "><", html)
    html = to_html('[a]({{< relref "a.md#b c" >}}) [[#Set up]]\n\n## Set up {#setup}', resolve=lambda target: "a.md")
    assert '<a href="/note?path=a.md&amp;at=Set%20up"' in html and "<h2>Set up</h2>" in html


def test_what_obsidian_shows_is_shown_and_what_it_hides_is_hidden() -> None:
    boxes = "> [!warning]- Stop here\n> text\n\n- [ ] open\n- [x] closed\n\nline ^id\n\n"
    html = to_html(boxes + "![[pic.png|A plan]] ![alt](http://x.example/y.png)")
    assert '<blockquote class="callout callout-strong">' in html
    assert '<span class="callout-title">Stop here</span>' in html
    assert "☐ open" in html and "☑ closed" in html
    assert "^id" not in html
    assert '<span class="image">alt</span>' in html
    assert "<img" not in html


def test_a_callout_without_a_title_has_its_kind_for_one() -> None:
    assert '<span class="callout-title">Note</span>' in to_html("> [!note]\n> text")


def test_a_heading_that_repeats_the_title_is_shown_once() -> None:
    assert to_html("# Kafka\n\ntext", title="Kafka") == "<p>text</p>\n"
    assert "<h1>" in to_html("# Kafka in short\n\ntext", title="Kafka")


TAG = re.compile(r"<(/?)([a-z][a-z0-9]*)((?:\s+[a-z-]+=\"[^\"]*\")*)\s*/?>")


def tags_are_harmless(html: str) -> None:
    rest = TAG.sub("", html)
    assert "<" not in rest, rest
    for _, name, attributes in TAG.findall(html):
        assert name not in {"script", "style", "iframe", "form", "input", "img", "svg", "object", "embed", "base", "meta", "link"}
        for attribute, value in re.findall(r'([a-z-]+)="([^"]*)"', attributes):
            assert attribute in {"href", "class", "rel", "title", "start", "align"}
            assert attribute != "href" or ":" not in value or value.startswith(("/note?path=", "http://", "https://", "mailto:"))


def test_a_hostile_note_is_text() -> None:
    html = to_html(HOSTILE, resolve=lambda target: "x.md")
    tags_are_harmless(html)
    assert "&lt;script&gt;" in html and "&lt;iframe" in html
    assert "tracker.example" not in html
    assert "javascript:" not in "".join(re.findall(r'<a href="[^"]*"', html))


MARKS = (
    "<script>", "</code>", "`", "[", "]", "(javascript:alert(1))", "[[", "]]", "|", "> [!x]", "\n", "\n\n", "- [ ] ", "# ",
    "<a href='x' onclick=y>", "data:text/html,", "&lt;", "\\", "![", "](http://e.example/\"onload=x)", "<!--", "-->", "```", "**", "~~",
    "<img src=x onerror=y>", " ^id",
)  # fmt: skip
PIECES = st.sampled_from(MARKS)


@given(st.lists(PIECES | st.text(max_size=5), max_size=25).map("".join))
def test_no_mix_of_marks_makes_anything_but_harmless_tags(text: str) -> None:
    tags_are_harmless(to_html(text, first=1, last=3, resolve=lambda target: "a.md" if len(target) % 2 else None))


def test_note_addresses_carry_any_name() -> None:
    assert note_url("a b/#1 & ü.md", 3, 9) == "/note?path=a%20b%2F%231%20%26%20%C3%BC.md&line=3&end=9"
    assert note_url("x.md") == "/note?path=x.md"
    assert note_url("x.md", 4, 4) == "/note?path=x.md&line=4"

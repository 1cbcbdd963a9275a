"""A note's text into a Note: titles, sections, tags, dates, statuses."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onebrain.vault import Settings, chunk, read_note
from onebrain.vault.note import Heading, Note, Source, Status
from onebrain.vault.parse import shown


def note(path: str, text: str, **settings: str) -> Note:
    return read_note(path, text.encode(), Settings(date_order=settings.get("order")))


@pytest.mark.parametrize(
    ("path", "text", "title"),
    [
        ("a/My Note.md", "---\ntitle: The **Real** Title\n---\n# Other", "The Real Title"),
        ("0033-ip-ranges.md", "# 33. `IP` [ranges](x.md)\n\ntext", "33. IP ranges"),
        ("README.md", "<!-- lint -->\n![badge](b.png)\n\n# Project\n## Use", "Project"),
        ("JPEG.md", "It is lossy.\n\n# Variants\n# Encoding", "JPEG"),
        ("Retro Computers.md", "# 16-bit\ntext", "Retro Computers"),
        ("Styling.md", "# Styling Tasks\n", "Styling Tasks"),
        ("Nanoparticles.md", "# Types\n# Kinds", "Nanoparticles"),
        ("会议记录.md", "# 三月会议记录\n", "三月会议记录"),
        ("Weekly.md", "---\ntitle: {{title}}\n---\ntext", "Weekly"),
        ("new file.md", "# <% tp.file.title %>", "new file"),
        ("Empty.md", "", "Empty"),
        ("Team Plans/Road Map 0a1b2c3d4e5f60718293a4b5c6d7e8f9.md", "Text.", "Road Map"),
        ("Road Map 0a1b2c3d4e5f60718293a4b5c6d7e8f9.md", "# Road Map\n\nText.\n\n# Later", "Road Map"),
        ("Commit 0a1b2c3d.md", "Text.", "Commit 0a1b2c3d"),
        ("Lake.excalidraw.md", "", "Lake"),
        ("guide.md", "Guide\n=====\n\ntext", "Guide"),
        ("guide.md", "import A from 'b';\n\n:PROPERTIES:\n:ID: x\n:END:\n{{< toc >}}\n# A Guide {#top}\n\ntext", "A Guide"),
    ],
)
def test_titles(path: str, text: str, title: str) -> None:
    assert note(path, text).title == title


def test_sections_are_exact() -> None:
    text = "---\na: b\n---\nintro\n\n# One\r\n\r\nfirst\r\nsecond\n\n## Two\n## Three\n### Four\nx\n# Five\n"
    found = note("n.md", text)
    assert found.headings == (
        Heading(1, "One", 6),
        Heading(2, "Two", 11),
        Heading(2, "Three", 12),
        Heading(3, "Four", 13),
        Heading(1, "Five", 15),
    )
    assert [(s.heading_path, s.level, s.line_start, s.line_end, s.text) for s in found.sections] == [
        ((), 0, 4, 4, "intro"),
        (("One",), 1, 8, 9, "first\nsecond"),
        (("One", "Two"), 2, 11, 11, ""),
        (("One", "Three"), 2, 12, 12, ""),
        (("One", "Three", "Four"), 3, 14, 14, "x"),
        (("Five",), 1, 15, 15, ""),
    ]
    assert found.matter is not None and found.matter.text == "a: b"


def test_tags() -> None:
    text = """---
tags: [one, "#two", a/b]
---
#start and #nested/tag/ and (#paren), `#code` #123 #1a http://x.y/#frag [[Note#Part]] [t](#anchor) a#b
#ไทย #日本語、#emoji😀 # not

```
#fenced
```
#ONE
"""
    assert note("n.md", text).tags == ("one", "two", "a/b", "start", "nested/tag", "paren", "1a", "ไทย", "日本語", "emoji😀")


def test_comments_are_no_text_and_what_a_short_one_links_to_counts() -> None:
    text = "# Oak\n\nWe planted it. %% [[Bill]] #paid %%\n\n"
    text += "%%\n## Hidden\n[[Gone]] #gone on 2024-05-01\n\ndecided: no\n%%\n\n## Care\n\nWater it."
    found = note("Oak.md", text)
    assert [(section.heading_path, section.text) for section in found.sections] == [
        (("Oak",), "We planted it."),
        (("Oak", "Care"), "Water it."),
    ]
    assert (found.tags, [link.target for link in found.links], found.date) == (("paid",), ["Bill"], None)


def test_the_shown_lines_stand_where_they_stood() -> None:
    assert shown("---\na: b\n---\nx %%y%%\n\n%%\nz\n%%\nend") == ["---", "a: b", "---", "x", "", "", "", "", "end"]
    assert shown("a\nb") == ["a", "b"]


def test_tags_of_several_words() -> None:
    text = "#two words# and #one, not # this #, #dotnet and C# either; #a/b c#\n## Closed ##\n`#x y#`"
    assert note("n.md", text).tags == ("two words", "a/b c", "one", "dotnet")


@pytest.mark.parametrize(
    ("line", "tags"), [("tags: #a #b", ("a", "b")), ("tags: a, b c", ("a", "b c")), ("tags: a b", ("a", "b")), ("tag: x", ("x",))]
)
def test_frontmatter_tags(line: str, tags: tuple[str, ...]) -> None:
    assert note("n.md", f"---\n{line}\n---\n").tags == tags


@pytest.mark.parametrize(
    ("line", "aliases"), [("aliases: [A, B b]", ("A", "B b")), ("alias: One, Two", ("One", "Two")), ("aliases:\n  - X", ("X",))]
)
def test_aliases(line: str, aliases: tuple[str, ...]) -> None:
    assert note("n.md", f"---\n{line}\n---\n").aliases == aliases


@pytest.mark.parametrize(
    ("path", "text", "iso"),
    [
        ("n.md", "---\ndate: 2024-01-02\ncreated: 2023-01-01\n---\nDate: 2022-01-01", "2024-01-02"),
        ("n.md", "---\ncreated: 2023-01-01T10:00\nupdated: 2024-01-01\n---\n", "2023-01-01"),
        ("2023-09-12 Talk 0a1b2c3d4e5f607182932024010293a4.md", "text", "2023-09-12"),
        ("Talk 0a1b2c3d4e5f6071 20240102.md", "text", "2024-01-02"),
        ("Talk 0a1b2c3d4e5f607182930a20240102a4.md", "text", None),
        ("n.md", "---\nid: a1\nupdated: 1700000000000\ncreated: 1690000000000\n---\n", "2023-07-22"),
        ("n.md", "---\nupdated: 1700000000000\n---\n", None),
        ("2024-03-05.md", "---\ncreated: 2024-06-01\n---\n", "2024-03-05"),
        ("2023-09-12 Meeting.md", "text", "2023-09-12"),
        ("2023-09-12 Meeting.md", "---\ncreated: 2023-09-13\n---\n", "2023-09-13"),
        ("0001-x.md", "# 1. X\n\nDate: 05/02/2018\n\n## Status\nAccepted\n", "2018-02-05"),
        ("0001-x.md", "# 1. X\n\nDate 09/04/2018\n\n## Status\nAccepted\n", "2018-04-09"),
        ("0001-x.md", "# X\n\n|Metadata|Value|\n|--|--|\n|Date|2021-07-21|\n|Status|Approved|\n", "2021-07-21"),
        ("0001-x.md", "# X\n\n* Status: accepted\n* Date: 2020-02-03\n", "2020-02-03"),
        ("x.md", "# X\n\n- **Date**: 3 March 2024\n- **Review Date**: 2025-01-01\n", "2024-03-03"),
        ("x.md", "# X\n\n**Review Date:** 2025-01-01\nLast updated: 2024-01-01\nAmended: 2019-01-29\n", None),
        ("x.md", "# X\n\n## Status\n\n**ACCEPTED** - Decision made on 2025-05-29\n", "2025-05-29"),
        ("x.md", "# Session 3 March 2024\n", "2024-03-03"),
        ("x.md", "Datum: 05.03.2024", "2024-03-05"),
        ("x.md", "วันที่: 5 มีนาคม 2567", "2024-03-05"),
        ("0001-x.md", "---\ncreated: 2024-09-09\n---\n# 1. X\n\nDate: 2018-02-05\n\n## Status\nAccepted\n## Decision\n", "2018-02-05"),
        ("x.md", "---\ndate: 2026-02-30\n---\n", None),
        ("x.md", "nothing here", None),
    ],
)
def test_dates(path: str, text: str, iso: str | None) -> None:
    assert note(path, text).date == iso


def test_open_dates_follow_the_note_then_the_settings() -> None:
    assert note("0001-x.md", "Date: 05/02/2018", order="mdy").date == "2018-05-02"
    assert note("0001-x.md", "Date: 05/02/2018\n\nReviewed 26/03/2018", order="mdy").date == "2018-02-05"
    assert note("0001-x.md", "Date: 05/02/2018\n\nReviewed 03/26/2018").date == "2018-05-02"


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("## Status\n\nAccepted", Status.ACTIVE),
        ("## Status\n\n✅ Accepted (documenting an existing thing)", Status.ACTIVE),
        ("## Status\n\n❌ Rejected (see [019](019.md))", Status.REJECTED),
        ("## Status\n\n🤔 Incomplete", Status.DRAFT),
        ("## Status\n\nPending", Status.DRAFT),
        ("## Status\n\n⌛️ Superseded by [036. Multi](036-multi.md)", Status.SUPERSEDED),
        ("## Status\n\nAccepted\n\nSuperceded by [3. X](0003-x.md)", Status.SUPERSEDED),
        ("## Status\n\nAccepted\n\nSupersedes [1. X](0001-x.md)", Status.ACTIVE),
        ("## Status\n\nPartly superseded", Status.ACTIVE),
        ("## Status\n\n~~Accepted~~ Deprecated (no superseding ADR)", Status.DEPRECATED),
        ("Date: 2018-12-12\nSuperseded: 2019-12-19 by [ADR 14](0014-x.md)", Status.SUPERSEDED),
        ("|Metadata|Value|\n|--|--|\n|Status|Partially Implemented|", Status.ACTIVE),
        ("* Status: proposed", Status.DRAFT),
        ("---\nstatus: Final\n---\n", Status.ACTIVE),
        ("---\nstatus: Withdrawn\n---\n", Status.REJECTED),
        ("---\nstatus: Deferred\n---\n", Status.REJECTED),
        ("---\nstatus: needs-review\n---\n", Status.NEEDS_REVIEW),
        ("---\nstatus: deprecated\n---\n", Status.DEPRECATED),
        ("---\nstatus: accepted\nsuperseded-by: '[[ADR-007]]'\n---\n", Status.SUPERSEDED),
        ("---\nstatus: reading\n---\n", Status.ACTIVE),
        ("plain", Status.ACTIVE),
    ],
)
def test_statuses(text: str, status: Status) -> None:
    assert note("0001-x.md", text).status is status


def test_what_is_odd_is_told_and_the_rest_is_read() -> None:
    found = read_note("x.md", b"---\ntitle: Caf\xe9: one\n---\n\n# H\n\nna\xefve\n")
    assert found.problems == (
        "line 2 is not UTF-8; the file was read as Windows-1252",
        "frontmatter line 2: mapping values are not allowed in this context",
    )
    assert found.title == "Café: one"
    assert found.sections[0].text == "naïve"


def test_events_of_a_session_are_a_note_of_their_own() -> None:
    found = read_note(".claude/memory/events/jay.jsonl", b'{"ts": "2026-03-09T10:00:00Z", "summary": "Fixed null check"}\n{"bad\n')
    assert found.source is Source.EVENT
    assert chunk(found)[0].text.startswith('{"ts"')


def test_a_toml_note_is_read_like_a_yaml_one() -> None:
    found = note(
        "posts/x.md",
        '+++\ntitle = "The **Real** Title"\ndate = 2024-01-02T10:00:00+02:00\naliases = ["Old name"]\ndraft = true\n'
        '[taxonomies]\ntags = ["rust", "a/b"]\n+++\n\n## Set up {#setup}\n\nRun it.\n',
    )
    assert (found.title, found.date, found.aliases, found.tags) == ("The Real Title", "2024-01-02", ("Old name",), ("rust", "a/b"))
    assert found.status is Status.DRAFT
    assert found.headings == (Heading(2, "Set up", 10, "setup"),)
    assert [(s.heading_path, s.line_start, s.text) for s in found.sections] == [(("Set up",), 12, "Run it.")]
    assert found.matter is not None and (found.matter.line_start, found.matter.line_end) == (2, 7)


@pytest.mark.parametrize("raw", [b"\xef\xbb\xbf---\ntitle: T\n...\nbody", b"\xef\xbb\xbf+++\r\ntitle = 'T'\r\n+++\r\nbody"])
def test_a_byte_order_mark_hides_no_frontmatter(raw: bytes) -> None:
    found = read_note("x.md", raw)
    assert (found.title, [section.text for section in found.sections]) == ("T", ["body"])


@pytest.mark.parametrize(
    ("line", "status"),
    [("draft: true", Status.DRAFT), ("draft: false", Status.ACTIVE), ("draft: true\nstatus: accepted", Status.ACTIVE)],
)
def test_a_draft_says_so(line: str, status: Status) -> None:
    assert note("x.md", f"---\n{line}\n---\n").status is status


def test_broken_toml_costs_nothing() -> None:
    found = note("x.md", '+++\ntitle = "Open\ntags = ["a"]\n+++\n\nThe body.\n')
    assert (found.title, found.tags, found.sections[0].text) == ("Open", ("a",), "The body.")
    assert found.problems[0].startswith("frontmatter line 2: ")


def test_type_and_frontmatter() -> None:
    found = note("x.md", "---\ntype: '[[Authors]]'\nrating: 7\n---\n")
    assert found.type == "Authors"
    assert found.frontmatter == {"type": "[[Authors]]", "rating": "7"}


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"## Heading {i}\n\nsome text for {i}\n\n" for i in range(20_000)),
        "We decided to use it because it was better. " * 110_000,
        "- item, we chose it\n" * 150_000,
        "| Date | Decision |\n|---|---|\n" + "| 2024-01-02 | use it |\n" * 100_000,
        "[" * 500_000,
        "[[" * 300_000,
        "`" * 500_000,
        "*a " * 200_000,
        "(" * 500_000,
        "<a " * 200_000,
        "#a " * 300_000,
        "> " * 200_000,
        "1" * 500_000,
        " " * 500_000 + "x",
        "<!--" * 200_000,
        "{{< " * 200_000,
        "{% x " * 200_000,
        "Status: " + "accepted " * 100_000,
    ],
    ids=[
        "headings",
        "prose",
        "list",
        "table",
        "brackets",
        "wiki",
        "ticks",
        "stars",
        "parens",
        "angles",
        "tags",
        "quotes",
        "digits",
        "spaces",
        "comments",
        "shortcodes",
        "liquid",
        "status",
    ],
)
def test_size_costs_no_more_than_its_share(text: str) -> None:
    begin = time.process_time()
    assert chunk(read_note("2024-01-01.md", text.encode()))
    assert time.process_time() - begin < 6  # each takes under 2 s on a loaded core


@settings(deadline=None)
@given(
    st.binary(max_size=300), st.sampled_from(["a.md", "adr/0001-x.md", "2024-01-01.md", ".claude/memory/events/x.jsonl", "CHANGELOG.md"])
)
def test_any_bytes_are_survived(raw: bytes, path: str) -> None:
    found = read_note(path, raw)
    assert read_note(path, raw) == found
    assert chunk(found) == chunk(found)


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "---",
                "# A",
                "## 2024-01-02 X",
                "Date: 05/02/2018",
                "| Date | Decision |",
                "|---|---|",
                "| 2024-01-02 | x because y |",
                "- **2024-01-02** chose x",
                "## Key Decisions",
                "",
                "text",
                "```",
                "status: x",
                "Superseded by [[B]]",
                "[[C]] #t",
                "> q",
                "\t- n",
                "## ADR-001: T",
                "- **Date**: 2024-01-02",
                "**Decision**",
            ]
        ),
        max_size=15,
    )
)
def test_any_mixture_of_lines_is_survived(lines: list[str]) -> None:
    for path in ("a.md", "adr/0001-x.md", "07-logs/2024/01/2024-01-02-session-01.md", "changelog.md"):
        found = read_note(path, "\n".join(lines).encode())
        for event in found.events:
            assert 1 <= event.line <= max(len(lines), 1)
            assert 1 <= event.reason_line <= max(len(lines), 1)

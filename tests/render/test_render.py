"""Answers as text, Markdown and data: nothing invented, nothing dangerous, unknown never nought."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from onebrain.config import Config, Search
from onebrain.errors import BadRequest
from onebrain.render import markdown, text
from onebrain.render.json import dumps, envelope, hit_data, listing_data, obsidian_uri, report_data
from onebrain.render.plain import Style, clean, clip, one_line
from onebrain.search.report import (
    Band,
    ChainLink,
    Hit,
    IndexState,
    Mode,
    Quote,
    Report,
    Stage,
    StageStatus,
    Synthesis,
    Verdict,
    Worded,
)

CONFIG = Config(Path("/v/my notes"), None, Path("/d"), Search("c"))
HIT = Hit(
    "a b.md#2", "a b.md", "A > B", 3, 9, "a b", "project", 0.5, "one\n two", Band.CONFIDENT, ("lex",), 0.75, "2026-01-02", why={"idf": 1.5}
)  # fmt: skip
INDEX = IndexState(3, "2026-05-04")
REPORT = Report("q", Mode.WHAT, Verdict.CONFIDENT, (HIT,), (HIT,), (Quote("One two.", "a b.md", "B", 4),), index=INDEX)
OTHER = Quote("Three.", "gone.md", "", 7)
WORDED = replace(
    REPORT, answer=(*REPORT.answer, OTHER), synthesis=Synthesis("llama at home", (Worded("Three *are* two.", (1, 2)), Worded("Two.", (2,))))
)
LINK = ChainLink("2024-01-10", "Kafka | chosen", 'a "quote"', "a b.md", "B", 4)


# Data


def test_a_hit_as_data() -> None:
    assert hit_data(HIT, CONFIG) == {
        "chunk_id": "a b.md#2",
        "doc_path": "a b.md",
        "heading_path": "A > B",
        "line_start": 3,
        "line_end": 9,
        "title": "a b",
        "source": "project",
        "date": "2026-01-02",
        "score": 0.5,
        "rerank_score": 0.75,
        "band": "confident",
        "status": "active",
        "snippet": "one\n two",
        "legs": ["lex"],
        "uri": "obsidian://open?vault=my%20notes&file=a%20b.md",
    }


def test_unknown_is_left_out_and_never_nought() -> None:
    bare = hit_data(replace(HIT, rerank_score=None, date=None, band=Band.UNRANKED), CONFIG, explain=True)
    assert not {"rerank_score", "date"} & bare.keys()
    assert (bare["band"], bare["why"]) == ("unranked", {"idf": 1.5})


def test_a_report_as_data() -> None:
    stages = (Stage("vec", StageStatus.FAILED, "no model", 0.1234567, None),)
    data = report_data(replace(REPORT, below_threshold=(2, 0.25), notes=("n",), stages=stages), CONFIG)
    assert list(data) == [
        "query", "mode", "verdict", "answer", "chain", "sources", "hits", "below_threshold", "notes", "stages", "index",
    ]  # fmt: skip
    assert data["answer"] == {"sentences": [{"text": "One two.", "path": "a b.md", "heading": "B", "line": 4}]}
    assert (data["chain"], data["below_threshold"]) == (None, {"count": 2, "best": 0.25})
    assert data["index"] == {"pending": 3, "as_of": "2026-05-04"}
    assert data["stages"] == [{"name": "vec", "status": "failed", "reason": "no model", "ms": 0.123, "hits": None}]


def test_no_answer_and_no_chain_are_null() -> None:
    data = report_data(replace(REPORT, answer=(), mode=Mode.WHY), CONFIG)
    assert (data["answer"], data["chain"], "below_threshold" in data) == (None, None, False)


def test_a_chain_as_data() -> None:
    data = report_data(replace(REPORT, mode=Mode.WHY, chain=(LINK, replace(LINK, rerank_score=0.5, superseded_by="c.md"))), CONFIG)
    plain = {"date": "2024-01-10", "event": "Kafka | chosen", "quote": 'a "quote"', "path": "a b.md", "heading": "B", "line": 4}
    assert data["chain"] == [plain, {**plain, "rerank_score": 0.5, "superseded_by": "c.md"}]


def test_a_synthesis_as_data_names_the_places_it_rests_on() -> None:
    data = report_data(WORDED, CONFIG)
    first, second = {"n": 1, "path": "a b.md", "heading": "B", "line": 4}, {"n": 2, "path": "gone.md", "heading": "", "line": 7}
    assert data["synthesis"] == {
        "by": "llama at home",
        "sentences": [{"text": "Three *are* two.", "cites": [first, second]}, {"text": "Two.", "cites": [second]}],
    }
    assert {**data, "synthesis": None} == {**report_data(replace(WORDED, synthesis=None), CONFIG), "synthesis": None}


def test_numbers_of_numpy_are_numbers() -> None:
    odd = replace(HIT, score=np.float32(0.5), rerank_score=np.float32(0.25), why={"a": np.float32(1)})  # type: ignore
    assert json.loads(dumps(hit_data(odd, CONFIG, explain=True)))["rerank_score"] == 0.25


@pytest.mark.parametrize(
    ("index", "hint"),
    [
        (IndexState(0, "2026-05-04"), None),
        (IndexState(0, None), "index is empty — run `onebrain search reindex` first"),
        (IndexState(7, "2026-05-04"), "index is behind — 7 passage(s) found by words only · run `onebrain search reindex --pending-only`"),
    ],
)
def test_a_listing_says_whether_the_index_lags(index: IndexState, hint: str | None) -> None:
    assert listing_data(replace(REPORT, index=index), CONFIG).get("index_hint") == hint


def test_an_envelope_of_an_error() -> None:
    assert envelope("search", None, error=BadRequest("No.", hint="Yes.")) == {
        "version": "1",
        "command": "search",
        "ok": False,
        "data": None,
        "warnings": [],
        "error": {"code": "E_USAGE", "message": "No.", "hint": "Yes."},
    }
    assert envelope("x", {}, error=BadRequest("No."))["error"] == {"code": "E_USAGE", "message": "No."}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a&b=c#d.md", "a%26b%3Dc%23d.md"),
        ("ü/🐘.md", "%C3%BC%2F%F0%9F%90%98.md"),
        ("caf\udce9.md", "caf%E9.md"),
    ],
)
def test_links_into_obsidian_carry_any_name(path: str, expected: str) -> None:
    assert obsidian_uri("v", path) == f"obsidian://open?vault=v&file={expected}"


@given(st.text())
def test_json_gives_back_every_text_and_moves_no_terminal(value: str) -> None:
    line = dumps({"t": value})
    assert json.loads(line) == {"t": value}
    assert not any(c < " " or "\x7f" <= c <= "\x9f" or c in "\u202e\u2028" for c in line)


def test_json_carries_names_that_are_no_utf8() -> None:
    line = dumps({"path": "caf\udce9.md", "text": "สุขภาพ 飛書"})
    assert line.encode() == '{"path": "caf\\udce9.md", "text": "สุขภาพ 飛書"}'.encode()


# Text


@pytest.mark.parametrize(
    ("raw", "safe"),
    [
        ("a\x1b[31mb\x07\x9b2J", "a[31mb2J"),
        ("a\r\nb\tc\x00\x7f", "a b c"),
        ("abc\u202edef\u2066", "abcdef"),
        ("caf\udce9", "caf\ufffd"),
        ("👩\u200d🔬 é\u0301", "👩\u200d🔬 é\u0301"),
        (" \u00a0x\u2028y ", "x y"),
    ],
)
def test_text_is_made_safe(raw: str, safe: str) -> None:
    assert one_line(raw) == safe


def test_lines_stay_lines() -> None:
    assert clean("a\r\nb\n\tc\x1b]0;title\x07\n") == "a\nb\n\tc]0;title\n"


@given(st.text(), st.integers(1, 40))
def test_clipped_text_fits(value: str, cells: int) -> None:
    line = one_line(value)
    cut = clip(line, cells)
    assert cell_len(cut) <= cells
    assert cut == line or (cut.endswith("…") and line.startswith(cut[:-1].rstrip()))


def test_clipping_prefers_the_end_of_a_word() -> None:
    assert clip("Redis Streams carry everything", 22) == "Redis Streams carry…"
    assert clip("飛書飛書飛書", 6) == "飛書…"


def test_a_sentence_names_its_source_by_number_or_by_place() -> None:
    assert text.answer(replace(REPORT, answer=(*REPORT.answer, OTHER))).splitlines()[0] == "📌 One two. [1] Three. (gone.md:7)"
    elsewhere = Quote("Four.", HIT.doc_path, "C", 40)  # of the same note, but no source holds it
    assert text.answer(replace(REPORT, answer=(elsewhere,))).splitlines()[0] == "📌 Four. (a b.md:40)"


def test_a_day_that_a_quote_does_not_tell_is_told_beside_it() -> None:
    dated = replace(REPORT, answer=(replace(REPORT.answer[0], date="2026-01-02"),))
    assert text.answer(dated).splitlines()[0] == "📌 One two. [1] (dated 2026-01-02)"
    assert markdown.answer(dated).splitlines()[0] == "📌 One two. (`a b.md:4`) (dated 2026-01-02)"
    assert report_data(dated, CONFIG)["answer"]["sentences"][0]["date"] == "2026-01-02"  # type: ignore[index]
    assert "date" not in report_data(REPORT, CONFIG)["answer"]["sentences"][0]  # type: ignore[index]


WRITTEN_BY = "written by llama at home from the quotes above; each sentence is backed by its quote"


def test_a_synthesis_stands_behind_the_quotes_under_its_own_mark() -> None:
    assert text.answer(WORDED).splitlines()[:5] == [
        "📌 One two. [1] Three. (gone.md:7)",
        "",
        f"✍️  In other words ({WRITTEN_BY}):",
        "  Three *are* two. [1] (gone.md:7) Two. (gone.md:7)",
        "",
    ]
    chain = (LINK, replace(LINK, date="2026-04-19", path="c.md"))
    blocks = text.answer(replace(WORDED, mode=Mode.WHY, answer=(), chain=chain)).split("\n\n")
    assert [block[:2] for block in blocks] == ["🕐 ", "✍️", "📚 "]
    assert blocks[1].endswith("\n  Three *are* two. (a b.md:4) (c.md:4) Two. (c.md:4)")


def test_a_synthesis_in_markdown_is_escaped_and_cited() -> None:
    said = "Three \\*are\\* two. (`a b.md:4`, `gone.md:7`) Two. (`gone.md:7`)"
    assert markdown.answer(WORDED).split("\n\n")[1] == f"✍️ *In other words* ({WRITTEN_BY}): {said}"
    chained = markdown.answer(replace(WORDED, mode=Mode.WHY, answer=(), chain=(LINK, LINK)))
    assert chained.split("\n\n")[2].endswith("Three \\*are\\* two. (`a b.md:4`) Two. (`a b.md:4`)")


def test_more_sources_than_five_are_counted() -> None:
    assert "📚 Sources (top 7 by relevance):" in text.answer(replace(REPORT, sources=(HIT,) * 7))


def test_notes_never_drive_the_terminal() -> None:
    evil = "\x1b]52;c;ZXZpbA==\x07\x1b[2J\nsecond"
    hit = replace(HIT, doc_path=f"a{evil}.md", heading_path=evil, snippet=evil)
    link = ChainLink("2024-01-10", evil, evil, evil, evil, 1, superseded_by=evil)
    report = replace(REPORT, query=evil, hits=(hit,), sources=(hit,), answer=(Quote(evil, evil, evil, 1),), notes=(evil,))
    report = replace(report, synthesis=Synthesis(evil, (Worded(evil, (1,)),)))
    shown = [
        text.answer(report, everything=True, explain=True),
        text.answer(replace(report, verdict=Verdict.NONE)),
        text.answer(replace(report, mode=Mode.WHY, chain=(link,))),
        text.listing(report, explain=True),
        markdown.answer(report),
        markdown.answer(replace(report, mode=Mode.WHY, chain=(link,))),
    ]
    assert all("\x1b" not in page and "\x07" not in page for page in shown)
    assert "\nsecond" not in "".join(shown)


def test_excerpts_grow_with_the_screen_and_end_at_eighty() -> None:
    long = replace(REPORT, answer=(), sources=(replace(HIT, snippet="word " * 80),))

    def excerpt(style: Style) -> str:
        return text.answer(long, style).splitlines()[1].split(" — ")[1]

    assert [len(excerpt(Style(width))) for width in (None, 200, 60, 10)] == [75, 75, 40, 15]


# Markdown


def test_an_answer_in_markdown() -> None:
    possible = replace(HIT, doc_path="c.md", heading_path="", band=Band.POSSIBLE, snippet="a *b* [c](d)")
    assert markdown.answer(replace(REPORT, sources=(HIT, possible), notes=("see _this_",))) == (
        "📌 One two. (`a b.md:4`)\n"
        "\n"
        "📚 **Sources** (top 5 by relevance):\n"
        "\n"
        "1. `a b.md:B` — one two\n"
        "2. `c.md:3` — a \\*b\\* \\[c\\](d) *(possible match)*\n"
        "\n"
        "> see \\_this\\_\n"
    )


def test_a_chain_in_markdown_is_a_table() -> None:
    chain = (LINK, replace(LINK, date="2026-04-19", event="dropped", quote="", path="x|`y`.md", superseded_by="z.md"))
    assert markdown.answer(replace(REPORT, mode=Mode.WHY, answer=(), chain=chain)) == (
        "🕐 **Decision chain** (chronological):\n"
        "\n"
        "| Date | Event | Rationale |\n"
        "| --- | --- | --- |\n"
        '| 2024-01-10 | Kafka \\| chosen | “a "quote"” (`a b.md:4`) |\n'
        "| 2026-04-19 | dropped *(superseded by z.md)* | (`` x\\|`y`.md:4 ``) |\n"
        "\n"
        "📚 **Sources:** `a b.md`, `` x|`y`.md ``\n"
    )


def test_the_sentence_that_explains_a_chain_stands_below_it() -> None:
    report = replace(REPORT, mode=Mode.WHY, answer=(OTHER,), chain=(LINK,), synthesis=Synthesis("llama", (Worded("Two.", (2,)),)))
    assert text.answer(report).split("\n\n")[1:] == [
        "📌 Three. (gone.md:7)",
        f"✍️  In other words ({WRITTEN_BY.replace('llama at home', 'llama')}):\n  Two. (gone.md:7)",
        "📚 Sources: a b.md, gone.md\n",
    ]
    assert markdown.answer(report).split("\n\n")[2::2] == ["📌 Three. (`gone.md:7`)", "📚 **Sources:** `a b.md`, `gone.md`\n"]
    data = report_data(report, CONFIG)
    assert data["chain"] and data["answer"] and data["synthesis"] == {
        "by": "llama", "sentences": [{"text": "Two.", "cites": [{"n": 2, "path": "gone.md", "heading": "", "line": 7}]}]
    }  # fmt: skip


def test_nothing_in_markdown() -> None:
    nothing = replace(REPORT, query="*x*", verdict=Verdict.NONE, sources=())
    assert markdown.answer(nothing) == '🔴 No strong match for "\\*x\\*" — nothing in the vault clears the confidence bar.\n'


def test_a_listing_without_a_model_says_how_to_get_one() -> None:
    """A reindex, which the usual hint asks for, would change nothing."""
    vec = Stage("vec", StageStatus.SKIPPED, "no embedding model: run `onebrain search model prepare`")
    report = replace(REPORT, index=IndexState(3, "2026-05-04T08:00:00Z"), stages=(vec,))
    hint = "found by words only — no embedding model: run `onebrain search model prepare`"
    assert listing_data(report, CONFIG)["index_hint"] == hint
    assert f"ℹ️  {hint}\n" in text.listing(report)


def test_a_decision_that_is_its_own_reason_is_said_once() -> None:
    said = "Keep 72 hours of messages, because replay needs no more."
    link = ChainLink("2026-04-19", said.rstrip("."), said, "a.md", "Decisions", 3)
    told = text.answer(replace(REPORT, mode=Mode.WHY, answer=(), chain=(link,)))
    assert f'  2026-04-19 · "{said}"\n' in told

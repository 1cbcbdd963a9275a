"""What the page says, as values."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from small_vault import ADR7, NOTHING, WHAT, WHY, WORDED_WHY, FakeLibrary, FakeStatus, hit

from onebrain.errors import BadRequest
from onebrain.search.question import Filters, Legs, Request
from onebrain.search.report import Band, Quote, StageStatus
from onebrain.search.report import Stage as Step
from onebrain.web import omnisearch, views
from onebrain.web.views import Asked, Stage


def test_a_form_becomes_a_request() -> None:
    given = {"mode": "why", "folder": "01-projects", "tag": "adr", "type": "decision", "after": "2026-01-01"}
    form = views.asked({"q": " why? ", "unknown": "y", **given})
    assert form == Asked(q="why?", **given)
    assert form.filtered == 4
    today = date(2026, 10, 13)
    assert views.request_of(form, today, Stage.FULL) == Request(
        text="why?",
        now=today,
        mode="why",
        limit=5,
        write_synthesis=True,
        filters=Filters(("01-projects",), ("adr",), ("decision",), "2026-01-01", None),
    )
    assert views.request_of(form, today, Stage.WORDS).legs is Legs.LEX
    assert not views.request_of(form, today, Stage.MEANING).write_synthesis  # typing sends nothing anywhere


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"q": "x" * 5001}, "The question has 5,001 characters."),
        ({"mode": "how"}, "There is no mode 'how'."),
        ({"after": "soon"}, "'soon' is no day."),
        ({"before": "2026-13-45"}, "'2026-13-45' is no day."),
    ],
)
def test_an_address_that_no_form_can_make_is_told(params: dict[str, str], message: str) -> None:
    with pytest.raises(BadRequest, match=re.escape(message)) as told:
        views.asked(params)
    assert told.value.hint


def test_the_address_holds_the_whole_form() -> None:
    form = Asked(q="why & how?", tag="a/b")
    assert form.query_string() == "q=why+%26+how%3F&tag=a%2Fb"
    assert form.query_string(stage="full") == "q=why+%26+how%3F&tag=a%2Fb&stage=full"


@pytest.mark.parametrize(
    ("text", "question", "lit"),
    [
        ("We dropped Kafka, then Kafka's topics.", "why drop kafka", ["dropped", "Kafka", "Kafka's"]),
        ("Der Rückstau und die langen Warteschlangen", "welche Warteschlange ist die Lange", ["langen", "Warteschlangen"]),
        ("返品は三十日以内に受け付ける", "返品", ["返品"]),
        ("ADR-007 stays, 007 too", "ADR-007", ["ADR-007", "007"]),
        ("nothing here", "", []),
        ("", "kafka", []),
        ("<b>Kafka</b>", "kafka", ["Kafka"]),
    ],
)
def test_words_of_the_question_are_marked_by_their_stem(text: str, question: str, lit: list[str]) -> None:
    pieces = views.marked(text, question)
    assert "".join(piece for piece, _ in pieces) == text
    assert [piece for piece, is_lit in pieces if is_lit] == lit


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("# Title\n\n- **bold** and `code`", "Title bold and code"),
        ("> [!note] Mind [[Path/Note|this]] and [[That]] ^id", "Mind this and That"),
        ("[words](http://x.example) \x1b[31mred\u202e", "words [31mred"),
        ("a * b, C# and 2 > 1", "a * b, C# and 2 > 1"),
    ],
)
def test_snippets_are_read_without_their_marks(source: str, shown: str) -> None:
    assert views.plain(source) == shown


@pytest.mark.parametrize(
    ("earlier", "later", "words"),
    [
        ("2026-04-19", "2026-04-19", None),
        ("2026-04-19", "2026-04-20", "1 day later"),
        ("2026-04-19", "2026-05-02", "13 days later"),
        ("2026-04-19", "2026-05-03", "2 weeks later"),
        ("2025-10-02", "2026-04-19", "7 months later"),
        ("2024-01-01", "2026-03-01", "2 years later"),
        ("2026-04-19", "2026-04-01", None),
        ("undated", "2026-04-01", None),
    ],
)
def test_time_between_decisions_is_told_as_people_do(earlier: str, later: str, words: str | None) -> None:
    assert views.gap(earlier, later) == words


def test_days_are_spelled_out() -> None:
    assert views.day("2026-04-09") == "9 Apr 2026"
    assert views.day("someday") == "someday"


def test_a_band_is_honest_about_what_it_knows() -> None:
    assert views.band(hit(score=0.874)) == views.BandWords("confident", "Confident", 87, "answers the question; safe to cite")
    assert views.band(hit(band=Band.UNRANKED, score=None)).chance is None


def test_neighbouring_sentences_of_one_passage_share_their_citation() -> None:
    first, second, third = Quote("A.", "a.md", "H", 3), Quote("B.", "a.md", "H", 1), Quote("C.", "b.md", "H", 1)
    again = Quote("D.", "b.md", "H", 90)  # below another heading of the same name
    hits = [hit("a.md", line_start=1, line_end=9), hit("b.md", line_start=1, line_end=9)]
    cited = views.cited([first, second, third, again], hits)
    assert [(place.quotes, place.first, place.last) for place in cited] == [((first, second), 1, 3), ((third,), 1, 1), ((again,), 90, 90)]


def test_the_summary_for_ears() -> None:
    assert views.summary(WHAT) == "An answer of 1 quoted sentence, 2 sources."
    assert views.summary(WHY) == "A chain of 2 decisions, 2 Oct 2025 to 19 Apr 2026."
    assert views.summary(NOTHING) == "No strong match."


def test_a_synthesis_names_the_links_it_rests_on() -> None:
    older, newer = WHY.chain
    assert views.worded(WORDED_WHY) == [("Kafka kept events.", [(1, older)]), ("Redis Streams cost less.", [(2, newer), (1, older)])]
    assert views.worded(WHY) == []


@pytest.mark.parametrize("status", StageStatus)
def test_a_synthesis_that_was_asked_for_is_missed(status: StageStatus) -> None:
    step = Step("synthesis", status, "no")
    assert views.troubles(replace(WHY, stages=(step,))) == ["Answered without a wording by your model: no"]
    assert views.troubles(replace(WORDED_WHY, stages=(replace(step, status=StageStatus.RAN),))) == []
    assert views.troubles(replace(NOTHING, stages=(replace(step, status=StageStatus.SKIPPED),))) == []


def test_hits_behind_the_sources_are_listed_once() -> None:
    assert [each.doc_path for each in views.others(WHAT)] == ["03-knowledge/Glossary.md"]


def test_facets_count_notes() -> None:
    found = views.facets(FakeLibrary().notes().values())
    assert found.folders == (("01-projects", 2), ("01-projects/beacon", 2), ("03-knowledge", 3))
    assert found.tags == (("adr", 2), ("beacon", 1))
    assert found.types == (("decision", 2), ("knowledge", 3))


@pytest.mark.parametrize(
    ("changes", "mark", "line"),
    [
        ({}, "good", "6 notes"),
        ({"pending_vectors": 12}, "busy", "6 notes, 12 still waiting"),
        ({"semantic_available": False}, "busy", "6 notes, by words only"),
        ({"pending_vectors": None}, "busy", "6 notes, freshness unknown"),
        ({"doc_count": 0, "last_indexed_at": None}, "bad", "No index yet"),
        ({"error": "the index is damaged", "doc_count": None}, "bad", "the index is damaged"),
    ],
)
def test_health_never_says_good_over_what_it_does_not_know(changes: dict[str, Any], mark: str, line: str) -> None:
    found = views.health(FakeStatus(**changes))
    assert (found.mark, found.line) == (mark, line)


def test_unknown_counts_are_unknown() -> None:
    facts = dict(views.health(FakeStatus(chunk_count=None, last_indexed_at=None, owner="daemon 42")).facts)
    assert facts["Passages"] == "unknown"
    assert facts["Last indexed"] == "never"
    assert facts["Owner"] == "daemon 42"


def test_a_huge_note_is_shown_around_its_passage() -> None:
    text = "\n".join(f"line {n}" for n in range(1, 100_001))
    part, above = views.excerpt(text, 50_000)
    assert part.startswith("line 49701\n") and above == 49_700
    assert len(part.split("\n")) == 600
    assert views.excerpt("short", 1) == ("short", 0)


def test_omnisearch_shape() -> None:
    found = omnisearch.results(WHAT, "My Vault")
    assert [entry["path"] for entry in found] == [ADR7, "01-projects/beacon/ADR-003 Kafka.md", "03-knowledge/Glossary.md"]
    first = found[0]
    assert first == {
        "score": 0.9,
        "vault": "My Vault",
        "path": ADR7,
        "basename": "ADR-007 Redis Streams",
        "foundWords": ["kafka"],
        "matches": [{"match": "Kafka", "offset": 11}],
        "excerpt": "We dropped Kafka.",
        "url": "obsidian://open?vault=My%20Vault&file=01-projects%2Fbeacon%2FADR-007%20Redis%20Streams.md",
    }


CSS = (Path(views.__file__).parent / "static" / "app.css").read_text(encoding="utf-8")


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("text", "grounds", "least"),
    [
        ("ink", ("paper", "card", "mark", "hit", "accent-wash", "gone-wash", "weak-wash"), 4.5),
        ("soft", ("paper", "card", "weak-wash"), 4.5),
        ("accent", ("paper", "card", "hit", "accent-wash", "gone-wash"), 4.5),
        ("good", ("good-wash",), 4.5),
        ("maybe", ("maybe-wash",), 4.5),
        ("weak", ("weak-wash",), 4.5),
        ("gone", ("gone-wash", "card", "paper"), 4.5),
        ("focus", ("paper", "card"), 3.0),
        ("paper", ("accent",), 4.5),
    ],
)
def test_colours_meet_wcag_aa(scheme: int, text: str, grounds: tuple[str, ...], least: float) -> None:
    block = re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)[scheme]
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))
    for ground in grounds:
        high, low = sorted((luminance(colours[text]), luminance(colours[ground])), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= least, f"{text} on {ground}"

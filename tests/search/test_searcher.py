"""The cascade end to end over a small library: what is found, what is claimed, and that nothing is made up."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from memory_library import MemoryLibrary

from onebrain.errors import IndexDamaged
from onebrain.models.ports import Floats
from onebrain.models.twins import ConstantHyde, HashEmbedder, OverlapReranker
from onebrain.search import searcher
from onebrain.search.grep import Line, Needle
from onebrain.search.question import Filters, Legs, Request
from onebrain.search.report import Band, Mode, Report, StageStatus, Verdict
from onebrain.search.searcher import Models, Searcher
from onebrain.text.sentences import plain

ADR_3 = """# ADR-003 Kafka for events

Date: 2025-10-02

Status: Superseded by [ADR-007](ADR-007.md)

## Decision

We adopt Kafka because we expect five million messages a day.
"""
ADR_7 = """# ADR-007 Redis Streams for events

Date: 2026-04-19

Status: Accepted. Supersedes [ADR-003](ADR-003.md)

## Decision

We drop Kafka in favour of Redis Streams because the team can't carry its operating cost.

## Consequences

The cap is 1M messages a day. Replays end after 72 hours.
"""
SESSION = """---
date: 2026-04-22
---
# Session Summary : April 22, 2026 (Session 1)

## Key Decisions

- Cap the event queue at 1M messages a day because a bigger node takes six weeks.
- Order new chairs for the office.
"""
NOTES = {
    "projects/ADR-003.md": ADR_3,
    "projects/ADR-007.md": ADR_7,
    "07-logs/session/2026/04/2026-04-22-session-01.md": SESSION,
    "07-logs/checkpoint/2026-04-22-abc-checkpoint-01.md": SESSION,
    "knowledge/Bread.md": "# Bread\n\nKnead the dough for ten minutes. Let it rest overnight.\n",
    "knowledge/DEC-0054.md": "# DEC-0054\n\nThe retention of invoices is ten years.\n",
    "knowledge/สุขภาพ.md": "# สุขภาพ\n\nการดูแลสุขภาพต้องนอนให้พอ\n",
}


@pytest.fixture
def library(tmp_path: Path) -> MemoryLibrary:
    return MemoryLibrary(tmp_path, NOTES)


class Files:
    """A Grep over the same texts."""

    def __init__(self, new: Collection[str] = ()) -> None:
        self.new = new

    def lines(self, needles: Sequence[Needle], allowed: Collection[str] | None, limit: int) -> list[Line]:
        found: list[Line] = []
        for needle in needles:
            found += [
                Line(path, number, line)
                for path, text in sorted(NOTES.items())
                for number, line in enumerate(text.split("\n"), 1)
                if needle.pattern.search(line) and (allowed is None or path in allowed)
            ][:limit]
        return found

    def unindexed(self) -> Collection[str]:
        return self.new


def ask(library: MemoryLibrary, text: str, *, grep: Files | None = None, models: Models | None = None, **more: object) -> Report:
    request = Request(text, date(2026, 10, 1), **more)  # type: ignore[arg-type]
    return Searcher(library, models or Models(HashEmbedder()), grep=grep).ask(request)


def test_the_note_that_answers_comes_first(library: MemoryLibrary) -> None:
    report = ask(library, "how long do I knead the dough")
    assert (report.mode, report.hits[0].doc_path) == (Mode.WHAT, "knowledge/Bread.md")


@pytest.mark.parametrize(
    "question", ["why did we drop Kafka?", "why is there a cap on the queue", "how long do I knead the dough", "DEC-0054", "สุขภาพ"]
)
def test_every_quote_stands_in_the_note_at_the_line_it_cites(library: MemoryLibrary, question: str) -> None:
    report = ask(library, question, everything=True)
    quoted = [(q.text, q.path, q.line) for q in report.answer] + [(link.quote, link.path, link.line) for link in report.chain]
    for text, path, line in quoted:
        around = "\n".join(NOTES[path].split("\n")[line - 1 : line + 4])
        assert " ".join(plain(text).split()) in " ".join(plain(around).split())


def test_a_chain_is_in_order_and_follows_what_was_replaced(library: MemoryLibrary) -> None:
    report = ask(library, "why did we drop Kafka for events?")
    dated = [(link.date, link.path) for link in report.chain]
    assert dated == sorted(dated) and [path for _, path in dated][:2] == ["projects/ADR-003.md", "projects/ADR-007.md"]
    assert report.chain[0].superseded_by == "projects/ADR-007.md" and report.chain[1].superseded_by is None


def test_a_decision_told_by_a_checkpoint_and_its_session_log_counts_once(library: MemoryLibrary) -> None:
    report = ask(library, "why do we cap the event queue at 1M messages a day")
    told = [link.path for link in report.chain if "Cap the event queue" in link.event]
    assert told in ([], ["07-logs/session/2026/04/2026-04-22-session-01.md"])
    assert not any("chairs" in link.event for link in report.chain)


def test_a_why_question_without_decisions_is_answered_as_what_with_a_note(library: MemoryLibrary) -> None:
    report = ask(library, "why should the dough rest overnight")
    assert report.mode is Mode.WHY and report.chain == () and any("No dated decisions" in note for note in report.notes)


def test_a_question_about_nothing_in_the_vault_gets_no_answer(library: MemoryLibrary) -> None:
    report = ask(library, "zyxwv qponm lkjih", grep=Files())
    assert report.verdict is not Verdict.CONFIDENT and report.answer == () and report.chain == ()


@pytest.mark.parametrize("text", ["DEC-0054", "dec-0054", "knowledge/DEC-0054.md", "Bread", "bread.md"])
def test_a_name_finds_its_note(library: MemoryLibrary, text: str) -> None:
    report = ask(library, text)
    assert "exact" in report.hits[0].legs and report.hits[0].doc_path.casefold().endswith(
        text.casefold().removesuffix(".md").split("/")[-1] + ".md"
    )


def test_a_literal_match_is_never_hidden(library: MemoryLibrary) -> None:
    for text in ("six weeks", "retention of invoices", "72 hours", "การดูแล"):
        report = ask(library, text, grep=Files())
        assert report.verdict is not Verdict.NONE, text


CHANGES = """# Changelog

## [2.0.0] - 2026-05-01

- Removed the telemetry module.
- Removed the old importer.
- Exports are written as UTF-8.
"""
TELEMETRY = "# Telemetry\n\nWas telemetry removed? The telemetry module was removed because two security reviews failed on it.\n"


@pytest.mark.usefixtures("plain_calibration")
def test_a_chain_without_a_reason_is_told_with_the_sentence_that_gives_it(tmp_path: Path) -> None:
    report = ask(MemoryLibrary(tmp_path, NOTES | {"CHANGELOG.md": CHANGES, "notes/Telemetry.md": TELEMETRY}), "why was telemetry removed?")
    assert [link.event for link in report.chain] == ["Removed the telemetry module."]
    assert [(quote.path, quote.line) for quote in report.answer] == [("notes/Telemetry.md", 3)]
    assert report.quoted == (*report.chain, *report.answer)


def test_a_chain_with_a_reason_stands_alone(library: MemoryLibrary) -> None:
    report = ask(library, "why did we drop Kafka for events?")
    assert report.chain and report.answer == ()


@pytest.mark.usefixtures("plain_calibration")
def test_the_sentence_beside_a_chain_keeps_what_stands_in_code(tmp_path: Path) -> None:
    told = TELEMETRY.replace("because two", "because `<style>` and two")
    report = ask(MemoryLibrary(tmp_path, NOTES | {"CHANGELOG.md": CHANGES, "notes/Telemetry.md": told}), "why was telemetry removed?")
    quoted = ["The telemetry module was removed because <style> and two security reviews failed on it."]
    assert [quote.text for quote in report.answer] == quoted


def test_grep_runs_only_when_called_for_and_says_why(library: MemoryLibrary) -> None:
    def stage(report: Report) -> tuple[StageStatus, str | None]:
        found = next(s for s in report.stages if s.name == "grep")
        return found.status, found.reason

    assert stage(ask(library, "Bread")) == (StageStatus.SKIPPED, "the files are not at hand")
    assert stage(ask(library, "Bread", grep=Files()))[0] is StageStatus.SKIPPED
    assert stage(ask(library, "Bread", grep=Files(new=["new.md"]))) == (StageStatus.RAN, "1 saved note(s) not indexed yet")
    assert stage(ask(library, "xyzzy plugh", grep=Files(), models=Models())) == (StageStatus.RAN, "nothing reached the confidence bar")


class Broken(HashEmbedder):
    def embed_query(self, text: str) -> Floats:
        raise RuntimeError("the model file is gone")


def test_a_leg_that_fails_is_named_and_the_others_answer(library: MemoryLibrary) -> None:
    report = ask(library, "how long do I knead the dough", models=Models(Broken()))
    failed = [(s.name, s.reason) for s in report.stages if s.status is StageStatus.FAILED]
    assert failed == [("vec", "RuntimeError: the model file is gone")]
    assert report.hits[0].doc_path == "knowledge/Bread.md"


@pytest.mark.parametrize(("step", "question"), [("chain", "why is the dough kneaded?"), ("answer", "how long do I knead the dough?")])
def test_an_answer_that_fails_leaves_the_hits(library: MemoryLibrary, monkeypatch: pytest.MonkeyPatch, step: str, question: str) -> None:
    def broken(*_: object) -> None:
        raise IndexDamaged("the postings are damaged")

    monkeypatch.setattr(searcher, "build_chain" if step == "chain" else "answer", broken)
    report = ask(library, question)
    assert [(s.name, s.reason) for s in report.stages if s.status is StageStatus.FAILED] == [(step, "the postings are damaged")]
    assert report.hits[0].doc_path == "knowledge/Bread.md"
    assert step == "answer" or "The decisions couldn't be read; answered as a what-question." in report.notes


def test_without_a_model_the_search_is_by_words_and_says_so(library: MemoryLibrary) -> None:
    report = ask(library, "knead dough", models=Models())
    assert next(s for s in report.stages if s.name == "vec").reason == "no embedding model: run `onebrain search model prepare`"
    assert report.hits[0].doc_path == "knowledge/Bread.md"


def test_hyde_is_given_or_written_and_left_out_where_it_can_only_harm(library: MemoryLibrary) -> None:
    models = Models(HashEmbedder(), hyde=ConstantHyde("The dough is kneaded for ten minutes."))

    def stage(report: Report) -> str | None:
        return next(s for s in report.stages if s.name == "hyde").reason

    assert stage(ask(library, "what is the zyxwv qponm?", models=models)) == f"written by {models.hyde.name}"  # type: ignore[union-attr]
    assert stage(ask(library, "how long?", hyde=("ten minutes",))) == "given"
    assert stage(ask(library, "what is DEC-0054 about?", models=models)) == "the question names an identifier"
    assert stage(ask(library, "dough", models=models)) == "keywords, not a question"
    assert stage(ask(library, "how long?", models=models, write_hyde=False)) == "switched off for this question"


def test_the_same_question_gives_the_same_report(library: MemoryLibrary) -> None:
    def shown(report: Report) -> Report:
        return replace(report, stages=tuple(replace(s, ms=0.0) for s in report.stages))

    assert shown(ask(library, "why did we drop Kafka?")) == shown(ask(library, "why did we drop Kafka?"))


def test_one_hit_a_section_and_every_number_with_its_reasons(library: MemoryLibrary) -> None:
    report = ask(library, "kafka messages a day", everything=True)
    places = [(h.doc_path, h.heading_path) for h in report.hits]
    assert len(places) == len(set(places))
    for hit in report.hits:
        assert hit.rerank_score is not None and 0 < hit.rerank_score < 1 and hit.why
        assert hit.band is (Band.CONFIDENT if hit.rerank_score >= 0.6 else Band.POSSIBLE if hit.rerank_score >= 0.3 else Band.WEAK)


@pytest.mark.usefixtures("plain_calibration")
def test_nothing_of_an_answer_scores_less_than_was_asked_for(library: MemoryLibrary) -> None:
    def said(text: str, least: float | None) -> tuple[list[float | None], int, int, Verdict, bool]:
        report = ask(library, text, grep=Files(), min_score=least)
        scores = [*(hit.rerank_score for hit in (*report.hits, *report.sources)), *(link.rerank_score for link in report.chain)]
        return scores, len(report.answer), len(report.chain), report.verdict, report.below_threshold is not None

    for text in ("what is the retention of invoices", "why did we drop Kafka for events?"):
        scores, quoted, links, verdict, below = said(text, None)
        assert min(score or 0.0 for score in scores) < 0.5 and quoted + links and verdict is Verdict.CONFIDENT and below
        scores, quoted, links, verdict, below = said(text, 0.5)
        assert scores and min(score or 0.0 for score in scores) >= 0.5 and quoted + links and verdict is Verdict.CONFIDENT and not below
        assert said(text, 0.999) == ([], 0, 0, Verdict.NONE, False)
    assert any("scores enough" in note for note in ask(library, "why did we drop Kafka for events?", min_score=0.999).notes)


def test_single_legs_are_listed_unranked(library: MemoryLibrary) -> None:
    for legs in (Legs.LEX, Legs.VEC):
        report = ask(library, "knead the dough", legs=legs, limit=2)
        assert report.hits and all(h.band is Band.UNRANKED and h.rerank_score is None for h in report.hits)
        assert len(report.sources) <= 2 and report.answer == () and report.chain == ()


def test_filters_hold_in_every_leg(library: MemoryLibrary) -> None:
    report = ask(library, "messages a day", filters=Filters(paths=("07-logs",)), everything=True)
    assert report.hits and all(h.doc_path.startswith("07-logs/") for h in report.hits)
    assert ask(library, "messages", filters=Filters(tags=("nowhere",))).hits == ()


def test_a_cross_encoder_is_read_for_the_best_and_can_be_left_out(library: MemoryLibrary) -> None:
    models = Models(HashEmbedder(), reranker=OverlapReranker())

    def stage(report: Report) -> StageStatus:
        return next(s for s in report.stages if s.name == "rerank").status

    assert stage(ask(library, "what is the qponm of messages?", models=models)) is StageStatus.RAN
    assert stage(ask(library, "what is the qponm of messages?", models=models, rerank=False)) is StageStatus.SKIPPED
    assert stage(ask(library, "DEC-0054", models=models)) is StageStatus.SKIPPED


def test_a_misspelt_word_is_guessed_said_so_and_never_beats_the_word_itself(library: MemoryLibrary) -> None:
    report = ask(library, "how long do I knaed the duogh", models=Models())
    assert report.hits[0].doc_path == "knowledge/Bread.md" and any("knaed" in note for note in report.notes)
    assert not any("spell" in note for note in ask(library, "knead dough").notes)


@pytest.mark.parametrize(
    "text", ["C++", '"', "-", "AND", "*", "note: x", "2026.4.10", "gpt-4", "snake_case", "飛書", "x" * 5000, "🐘", "(((", "\u202e"]
)
def test_any_text_is_a_question(library: MemoryLibrary, text: str) -> None:
    assert ask(library, text, grep=Files()).query


def test_the_steps_are_told_in_order(library: MemoryLibrary) -> None:
    steps: list[int] = []
    Searcher(library, Models()).ask(Request("dough", date(2026, 1, 1)), steps.append)
    assert steps == [1, 2, 3, 4]


def test_vectors_of_nothing_do_no_harm(library: MemoryLibrary) -> None:
    class Zero(HashEmbedder):
        def embed_query(self, text: str) -> Floats:
            return np.zeros(self.dim, np.float32)

    assert ask(library, "knead the dough", models=Models(Zero())).hits[0].doc_path == "knowledge/Bread.md"


def test_a_checkpoint_answers_only_on_its_own_day(tmp_path: Path) -> None:
    checkpoint = "---\ndate: 2026-05-04\n---\n# Checkpoint\n\n## Open Questions\n\n- The importer fails on umlauts in file names.\n"
    library = MemoryLibrary(tmp_path, {"07-logs/checkpoint/2026-05-04-abc-checkpoint-01.md": checkpoint})

    def best(day: date) -> float:
        report = Searcher(library, Models()).ask(Request("what does the importer fail on", day))
        return report.hits[0].rerank_score or 0.0

    assert best(date(2026, 5, 5)) < 0.6 and best(date(2026, 5, 5)) <= best(date(2026, 5, 4))


def test_what_no_longer_holds_is_not_given_as_current_but_can_be_asked_for(library: MemoryLibrary) -> None:
    report = ask(library, "which events transport do we use, kafka with millions of messages?", models=Models())
    stale = [hit for hit in report.hits if hit.doc_path == "projects/ADR-003.md"]
    assert stale and all(hit.band is not Band.CONFIDENT for hit in stale)
    assert not any(quote.path == "projects/ADR-003.md" for quote in report.answer)
    assert ask(library, "ADR-003 Kafka for events", models=Models()).hits[0].doc_path == "projects/ADR-003.md"

"""Asking labelled questions and judging the answers, held to the evaluation pack's own arithmetic where the pack is at hand."""

from __future__ import annotations

import itertools
import json
import random
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from onebrain.config import Config, Search
from onebrain.errors import BadRequest, NoteUnreadable
from onebrain.evaluate.page import page
from onebrain.evaluate.run import by_id, of_corpus, read_lines, run
from onebrain.evaluate.score import (
    Bin,
    auroc,
    bins,
    calibration_error,
    chain,
    judge,
    precision_coverage,
    quoting,
    ranking,
    score,
    table,
    worst,
)
from onebrain.search.question import Request
from onebrain.search.report import Mode, Report, Verdict

PACK = Path(__file__).parents[3] / "shared" / "eval"
CONFIG = Config(Path("/v/decisions"), None, Path("/d"), Search("c"))
DAY = date(2026, 5, 4)


def question(name: str = "q1", **more: Any) -> dict[str, Any]:
    base = {"id": name, "corpus": "decisions", "query": f"what is {name}", "mode": "what", "kind": "exact", "answerable": True}
    return {**base, "relevant": [{"path": "a.md", "heading": "H"}], **more}


def hit(path: str, rank: float | None = None, heading: str = "", band: str = "weak") -> dict[str, Any]:
    return {"doc_path": path, "heading_path": heading, "band": band} | ({} if rank is None else {"rerank_score": rank})


# Running


def asker(log: list[Request]) -> Callable[[Request], Report]:
    def ask(request: Request) -> Report:
        log.append(request)
        if "broken" in request.text:
            raise NoteUnreadable("a.md is gone")
        return Report(request.text, Mode.WHAT, Verdict.NONE, (), ())

    return ask


def go(questions: list[dict[str, Any]], out: Path, log: list[Request]) -> Any:
    ticks = itertools.count()
    return run(questions, asker(log), out, config=CONFIG, now=DAY, clock=lambda: next(ticks) / 4, progress=lambda *_: None)


def test_a_line_is_written_for_each_question(tmp_path: Path) -> None:
    log: list[Request] = []
    counts = go([question("q1"), question("q2")], tmp_path / "out", log)
    lines = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    shown = [(line["id"], line["ms"], line["report"]["query"]) for line in lines]
    assert shown == [("q1", 250.0, "what is q1"), ("q2", 250.0, "what is q2")]
    assert (counts.asked, counts.kept, counts.failed) == (2, 0, ())
    assert [(request.text, request.everything, request.now) for request in log] == [("what is q1", True, DAY), ("what is q2", True, DAY)]


def test_a_stopped_run_goes_on(tmp_path: Path) -> None:
    out, log = tmp_path / "out", list[Request]()
    go([question("q1")], out, log)
    whole = out.read_text()
    out.write_text(whole + '{"id": "q2", "ms": 1, "rep')
    counts = go([question("q1"), question("q2")], out, log)
    assert (counts.asked, counts.kept) == (1, 1)
    assert [request.text for request in log] == ["what is q1", "what is q2"]
    assert out.read_text().startswith(whole) and list(by_id(read_lines(out))) == ["q1", "q2"]


def test_a_question_that_fails_stops_nothing(tmp_path: Path) -> None:
    counts = go([question("q1", query="broken"), question("q2")], tmp_path / "out", [])
    assert (counts.asked, counts.failed) == (1, (("q1", "a.md is gone"),))


@pytest.mark.parametrize(
    ("text", "message"),
    [('{"id": "a"}\n{', r":2 is no JSON"), ("[1]\n", r":1 is no record: it needs an `id`"), ('\n{"id": 3}\n', r":2 is no record")],
)
def test_files_that_are_no_questions(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "q").write_text(text)
    with pytest.raises(BadRequest, match=message):
        read_lines(tmp_path / "q")
    with pytest.raises(BadRequest, match="can't be read"):
        read_lines(tmp_path / "gone")


def test_only_questions_about_the_vault_are_asked() -> None:
    mixed = [question("a"), question("b", corpus="vok")]
    assert [q["id"] for q in of_corpus(mixed, ["vok"], "x")] == ["b"]
    assert [q["id"] for q in of_corpus(mixed, [], "vok")] == ["b"]
    assert [q["id"] for q in of_corpus(mixed[:1], [], "x")] == ["a"]
    assert of_corpus(mixed, [], "x") == mixed
    with pytest.raises(BadRequest, match="No questions for nope; they are about: decisions, vok"):
        of_corpus(mixed, ["nope"], "x")


# Judging


@pytest.mark.parametrize(
    ("hits", "expected"),
    [
        ([], (0.0, 0.0, 0.0, 0.0, 0.0)),
        ([hit("a.md", heading="X > H")], (1.0, 1.0, 1.0, 1.0, 1.0)),
        ([hit("b.md"), hit("b.md"), hit("a.md")], (0.6309, 0.0, 1.0, 0.5, 0.0)),
        ([hit(f"{n}.md") for n in range(5)] + [hit("a.md", heading="H")], (0.3562, 0.0, 0.0, 1 / 6, 0.0)),
    ],
)
def test_ranking(hits: list[dict[str, Any]], expected: tuple[float, ...]) -> None:
    names = ("ndcg10", "hit1", "hit5", "mrr", "heading5")
    assert ranking(question(), {"hits": hits}) == pytest.approx(dict(zip(names, expected, strict=True)), abs=1e-4)


def test_other_notes_that_hold_the_string_are_neither_right_nor_wrong() -> None:
    assert ranking(question(also=["b.md"]), {"hits": [hit("b.md"), hit("a.md")]})["hit1"] == 1.0


def test_a_stale_note_above_the_current_one_is_an_error() -> None:
    assert ranking(question(stale="old.md"), {"hits": [hit("old.md"), hit("a.md")]})["stale_above_gold"] == 1.0
    assert ranking(question(stale=["old.md"]), {"hits": [hit("a.md"), hit("old.md")]})["stale_above_gold"] == 0.0


def said(*sentences: tuple[str, str, str]) -> dict[str, Any]:
    return {"answer": {"sentences": [{"path": path, "heading": heading, "text": text} for path, heading, text in sentences]}}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("15 minutes", (1.0, 0.0, 1.0)),
        ("5 minutes", (0.0, 0.0, 0.5)),  # no part of a word or number
        (["never", "ACCESS  *tokens*"], (1.0, 1.0, 1.0)),
        ("tokens end after 15 minutes", (0.0, 0.0, 0.6)),
    ],
)
def test_quoted_sentences_are_held_to_the_answer(answer: str | list[str], expected: tuple[float, ...]) -> None:
    report = said(("a.md", "H", "`Access` tokens expire."), ("b.md", "", "They do so in **15** minutes."))
    figures = quoting(question(answer=answer), report)
    assert tuple(figures[name] for name in ("quoted", "quoted_first", "quoted_words")) == expected and figures["quote_right"] == 0.5


def test_a_quote_stands_right_in_a_labelled_note_and_under_its_heading() -> None:
    here, elsewhere = said(("a.md", "H", "x")), said(("a.md", "Other", "x"))
    assert quoting(question(), here) == {"quote_right": 1.0} and quoting(question(), elsewhere) == {"quote_right": 0.0}
    assert quoting(question(relevant=[{"path": "a.md"}]), elsewhere) == {"quote_right": 1.0}


def test_an_answer_in_a_script_without_spaces_is_found_within_a_sentence() -> None:
    assert quoting(question(answer="复式记账"), said(("a.md", "H", "这就是复式记账法。")))["quoted"] == 1.0


def test_figures_of_quotes_are_there_only_where_a_what_question_was_answered_with_some() -> None:
    quoted = said(("a.md", "H", "It is 42."))
    assert quoting(question(answer="42"), {"answer": None}) == {} == quoting(question(answer="42", mode="why"), quoted)
    nothing = score([question(answer="42")], {"q1": {"id": "q1", "report": {}}})
    assert "Quotes" not in table(nothing) and "quoted" not in nothing.summary
    scores = score([question(answer="42"), question("q2")], {name: {"id": name, "report": quoted} for name in ("q1", "q2")})
    assert (scores.kinds["exact"]["quoted"], scores.summary["quoted_first"], scores.summary["quote_right"]) == (1.0, 1.0, 1.0)
    assert "answer in    in first   its words right place" in table(scores)


def test_chains() -> None:
    gold = question(chain=["a.md", "b.md"], chain_dates=["2024-01-01", "2025-01-01"])
    links = [{"path": "a.md", "date": "2024-01-01"}, {"path": "x.md", "date": "2024-06-01"}, {"path": "b.md", "date": "2026-01-01"}]
    assert chain(gold, {"chain": links}) == {
        "chain_recall": 1.0,
        "chain_precision": pytest.approx(2 / 3),
        "chain_ordered": 1.0,
        "chain_shown": 1.0,
        "date_right": 0.5,
    }
    assert chain(gold, {}) == {"chain_recall": 0.0, "chain_precision": 0.0, "chain_ordered": 0.0, "chain_shown": 0.0}
    assert chain(gold, {"chain": links[::-1]})["chain_ordered"] == 0.0


@pytest.mark.parametrize(
    ("positive", "negative", "expected"),
    [([1, 1], [0, 0], 1.0), ([0], [1], 0.0), ([0.5], [0.5], 0.5), ([1, 0.2], [0.5], 0.5), ([], [1], None), ([1], [], None)],
)
def test_auroc(positive: list[float], negative: list[float], expected: float | None) -> None:
    assert auroc(positive, negative) == expected


def test_calibration() -> None:
    pairs = [(0.95, 1.0), (1.0, 1.0), (0.12, 0.0), (0.18, 1.0)]
    assert bins(pairs) == [Bin(2, pytest.approx(0.15), 0.5), Bin(2, 0.975, 1.0)]  # type: ignore[arg-type]
    assert calibration_error(pairs) == pytest.approx(0.5 * 0.35 + 0.5 * 0.025)
    assert calibration_error([]) is None


def judged(name: str, rank: float, right: bool, answerable: bool = True) -> Any:
    relevant = [{"path": "a.md"}] if answerable else []
    report = {"verdict": "confident" if rank >= 0.6 else "none", "hits": [hit("a.md" if right else "b.md", rank, band="confident")]}
    return judge(question(name, answerable=answerable, kind="exact" if answerable else "absent", relevant=relevant), {"report": report})


def test_precision_against_coverage() -> None:
    four = [judged("a", 0.9, True), judged("b", 0.7, False), judged("c", 0.7, True), judged("d", 0.1, True, answerable=False)]
    assert precision_coverage(four) == [(0.25, 1.0, 0.9), (0.75, pytest.approx(2 / 3), 0.7), (1.0, 0.5, 0.1)]


def test_the_worst_questions_are_those_that_mislead() -> None:
    four = [judged("good", 0.9, True), judged("lost", 0.2, False), judged("misled", 0.95, False)]
    four.append(judged("absent", 0.99, False, answerable=False))
    assert [one.question["id"] for one in worst(four, 10)] == ["misled", "absent", "lost"]


# The page


def test_the_page_needs_nothing_else_and_quotes_safely() -> None:
    nasty = question("<q>", query="<script>alert(1)</script>", relevant=[{"path": "<a>.md"}])
    scores = score([nasty], {"<q>": {"id": "<q>", "ms": 3.0, "report": {"verdict": "confident", "hits": [hit("<b>.md", 0.9, "<h>")]}}})
    html = page(scores, "title & <date>")
    assert not re.search(r"<(script|link|img|iframe)|https?://|@import|url\(", html)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html and "title &amp; &lt;date&gt;" in html
    assert html.count("<svg") == 2 and "prefers-color-scheme: dark" in html
    assert "Worst questions" in html and "&lt;b&gt;.md" in html


def test_an_empty_evaluation_is_a_page_and_a_table_too() -> None:
    empty = score([], {})
    assert "Worst questions" not in page(empty, "t")
    assert table(empty).splitlines()[0] == "All together"


# The pack's own arithmetic


def invented(questions: list[dict[str, Any]], seed: int) -> list[dict[str, Any]]:
    """Results as a flawed engine might give them: right ones at chance, odd scores, missing lines, chains with wrong dates."""
    chance = random.Random(seed)
    out = []
    for q in questions:
        if chance.random() < 0.05:
            continue
        paths = [label["path"] for label in q["relevant"]] + [f"n{n}.md" for n in range(12)]
        paths += q.get("also") or []
        paths += [q["stale"]] if isinstance(q.get("stale"), str) else q.get("stale") or []
        chance.shuffle(paths)
        headings = [label.get("heading") or "" for label in q["relevant"]] + ["X > Y", ""]
        ranks = [None, 0.0, 1.0, *(round(chance.random(), 2) for _ in range(9))]
        bands = ["confident", "weak"]
        hits = [hit(path, chance.choice(ranks), chance.choice(headings), chance.choice(bands)) for path in paths[: chance.randrange(13)]]
        report = {"hits": hits, "verdict": chance.choice(["confident", "possible", "none"]), "mode": chance.choice(["what", "why"])}
        report["notes"] = chance.choice([[], ["n"]])
        if chance.random() < 0.7:
            dates = [*(q.get("chain_dates") or []), "2020-01-01", None]
            report["chain"] = [{"path": path, "date": chance.choice(dates)} for path in paths[: chance.randrange(1, 6)]]
        out.append({"id": q["id"], "ms": chance.choice([None, chance.random() * 100]), "report": report})
    return out


@pytest.mark.skipif(not (PACK / "score.py").exists(), reason="the evaluation pack (../shared/eval) is not here")
@pytest.mark.parametrize("seed", range(3))
def test_the_figures_are_those_of_the_packs_own_score(tmp_path: Path, seed: int) -> None:
    files = sorted((PACK / "queries" / "dev").glob("*.jsonl"))
    questions = [record for file in files for record in read_lines(file)]
    results = invented(questions, seed)
    written = tmp_path / "results.jsonl"
    written.write_text("".join(json.dumps(result) + "\n" for result in results))
    command = [sys.executable, str(PACK / "score.py"), *map(str, files), "--results", str(written), "--json"]
    theirs = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=60).stdout)
    ours = score(questions, by_id(results))
    assert {kind: dict(row) for kind, row in ours.kinds.items()} == theirs["kinds"]
    assert dict(ours.summary) == pytest.approx(theirs["summary"])

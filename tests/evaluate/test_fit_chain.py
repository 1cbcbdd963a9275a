"""The fit of chains on made-up questions: it finds what orders records, and its figures are those of the labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from onebrain.evaluate import fit_chain
from onebrain.evaluate.fit_chain import RECORD, WORTH, Row
from onebrain.search.chain import judge

STORY = dict.fromkeys((*WORTH, *RECORD), 0.0)
BARS = {"first": 0.5, "second": 0.25, "more": 0.4, "share": 0.0, "part": 0.5}


def considered(path: str, day: str, part: bool = False, features: dict[str, float] | None = None, **story: float) -> Row:
    event = {"date": day, "what": path, "reason": None, "line": 1, "reason_line": 1, "heading": "", "kind": "table" if part else "record"}
    about = dict.fromkeys(fit_chain.PART, 0.0) | (features or {}) if part else {}
    return {
        "event": event | {"status": "active"},
        "note": [path, "decision", "active"],
        "part": part,
        "features": about,
        "story": STORY | story,
    }


def asked(n: int, draw: np.random.Generator) -> Row:
    """Two of six notes are right: those that score. Where the best one ranks says nothing."""
    options = [considered(f"q{n}/{m}.md", f"2026-01-0{m + 1}", score=float(m < 2), rank=float(draw.random())) for m in range(6)]
    question: dict[str, Any] = {"id": f"q{n}", "chain": [f"q{n}/0.md", f"q{n}/1.md"], "relevant": []}
    return {"question": question, "means": "all", "options": options}


@pytest.fixture(scope="module")
def questions() -> list[fit_chain.Asked]:
    draw = np.random.default_rng(3)
    return fit_chain.read([asked(n, draw) for n in range(20)])


def test_the_fit_finds_what_orders_records(questions: list[fit_chain.Asked]) -> None:
    weights = fit_chain.named(WORTH, fit_chain.fit_worth(questions))
    assert weights["score"] > 1.0 and abs(weights["rank"]) < 0.3 * weights["score"] and weights["cited"] == 0.0


def test_questions_left_out_of_the_fit_get_their_chain(questions: list[fit_chain.Asked]) -> None:
    found = fit_chain.figures(fit_chain.cross_validated(questions, False, BARS), BARS)
    assert found == {"recall": 1.0, "precision": 1.0, "shown": 1.0}


def test_figures_count_a_chain_where_there_is_none_and_what_is_tolerated() -> None:
    weights = {"worth": {"score": 1.0}, "record": {"bias": -2.0, "worth": 4.0}, "part": {}}
    options = [considered("a.md", "2026-01-01", score=1.0), considered("b.md", "2026-01-02", score=1.0), considered("c.md", "2026-01-03")]
    rows = [
        {"question": {"id": "1", "chain": ["a.md", "c.md"], "relevant": [{"path": "b.md"}]}, "means": "all", "options": options},
        {"question": {"id": "2"}, "means": "stranger", "options": options},
    ]
    results = [(a, judge(a.options, weights)) for a in fit_chain.read(rows)]
    assert fit_chain.figures(results, BARS) == {"recall": 0.5, "precision": 1.0, "shown": 1.0, "wrongly": 1.0}


def test_labels_by_day_leave_out_what_nobody_can_say() -> None:
    said = {"around": 0.5}
    options = [
        considered("row.md", "2026-01-01", True, said),
        considered("row.md", "2026-01-01", True),  # another bullet of that day
        considered("row.md", "2026-01-02", True, said),
        considered("row.md", "2026-01-03", True, said),
    ]
    question = {"id": "1", "dates": ["2026-01-01"], "also": ["2026-01-02"]}
    (found,) = fit_chain.read([{"question": question, "means": "all", "options": options}])
    assert [None if np.isnan(v) else v for v in found.label] == [1.0, None, None, 0.0]


def test_questions_that_share_a_decision_are_held_out_together() -> None:
    rows = [
        {"question": {"id": name, "chain": chain, "relevant": []}, "means": "all", "options": []}
        for name, chain in (("1", ["x/a.md", "x/b.md"]), ("2", ["x/b.md", "x/c.md"]), ("3", ["y/d.md"]))
    ]
    assert fit_chain.groups(fit_chain.read(rows), False) == ["1", "1", "3"]
    assert fit_chain.groups(fit_chain.read(rows), True) == ["x", "x", "y"]


def test_each_corpus_is_asked_its_own_questions_three_ways_and_those_of_others() -> None:
    own = [{"id": "1", "corpus": "a", "query": "why tea?", "chain": ["t.md"]}]
    other = [{"id": "2", "corpus": "b", "query": "why coffee?", "chain": ["c.md"]}]
    planned = fit_chain.plan([*own, *other], own, "a")
    assert [(question["id"], means) for question, means in planned] == [
        ("1", "all"),
        ("1", "evidence"),
        ("1", "words"),
        ("a<2", "stranger"),
    ]
    assert "chain" not in planned[-1][0]

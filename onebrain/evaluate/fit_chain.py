"""Fits `search/data/chain.json` from labelled why-questions: what orders records, what makes it a probability, how many are shown.

    python -m onebrain.evaluate.fit_chain collect QUESTIONS.jsonl... --vaults DIR --out ROWS.jsonl     (opens each corpus; minutes)
    python -m onebrain.evaluate.fit_chain fit ROWS.jsonl [--write]                                     (seconds)

A question is labelled by `chain` (paths, with `relevant` tolerated) or by `dates` (days, with `also` tolerated). Each corpus is also
asked the why-questions of the others, by words alone too: there no chain may be shown.

Records are ordered by a listwise loss: of each right record, -log of its softmax against all wrong ones of the question. P(belongs) is a
logistic over where a record stands among the others; that of a part (a row, a bullet) a logistic over what its own words hold. The bars
are the ones of highest recall that keep precision and show no chain where there is none. All of it is cross-validated by question, those
that share a decision in one fold, and by folder.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from onebrain.brain import Access, Brain
from onebrain.config import load
from onebrain.evaluate.fit import DATA, FOLDS, Floats, fit_probability, minimise
from onebrain.search.chain import chain_options, chosen, judge
from onebrain.search.chain import Option as Option
from onebrain.search.evidence import Pool
from onebrain.search.question import Request
from onebrain.search.reading import mode_of
from onebrain.search.report import Mode
from onebrain.vault.library import Library

Row: TypeAlias = "dict[str, Any]"
WORTH = ("score", "rank", "title", "leads", "folder", "akin", "like", "cited", "replacing")
RECORD = ("worth", "below", "ahead", "first", "second", "third", "later", "proof", "beaten")
PART = ("own", "around", "below", "leads", "proof", "beaten")
SHARPNESS = 3.0  # of the softmax
STRANGERS = 24  # why-questions of other corpora that a corpus is asked
NO_WORTH = dict.fromkeys(WORTH, 0.0)


@dataclass(frozen=True, slots=True)
class Asked:
    """One why-question with every event considered. `right`/`fine` per option: labelled, labelled or tolerated."""

    id: str
    corpus: str
    weight: float
    wanted: tuple[str, ...]  # labelled paths, or days
    options: tuple[Option, ...]
    right: Floats
    fine: Floats


# Collecting


def collect(questions: Sequence[Row], vaults: Path, say: Callable[[str], None]) -> Iterator[tuple[Row, list[Option], float]]:
    """(question, options, weight) for each why-question of each corpus, with and without vectors, and for strangers' questions."""
    for corpus in sorted({question["corpus"] for question in questions}):
        own = [question for question in questions if question["corpus"] == corpus and mode_of(question["query"]) is Mode.WHY]
        if not any(question.get("chain") or question.get("dates") or question.get("fallback") for question in own):
            continue
        say(f"{corpus}: {len(own)} questions")
        with Brain.open(load(vaults / corpus, {}, Path.cwd()), access=Access.OWNER) as brain:
            brain.sync()
            for question, weight, vectors in plan(questions, own, corpus):
                with brain.library() as library:
                    pool, _ = brain.searcher(vectors=vectors).trace(_request(question))
                    yield question, considered_in(library, pool), weight


def plan(questions: Sequence[Row], own: Sequence[Row], corpus: str) -> list[tuple[Row, float, bool]]:
    """(question, weight, with vectors?): the corpus's own, the same by words alone, and those of others, which it can't answer."""
    others = [q for q in questions if q["corpus"] != corpus and mode_of(q["query"]) is Mode.WHY and (q.get("chain") or q.get("fallback"))]
    drawn = np.random.default_rng(len(corpus)).permutation(len(others))[:STRANGERS]
    absent = [{"id": f"{corpus}<{others[n]['id']}", "corpus": corpus, "query": others[n]["query"]} for n in sorted(drawn.tolist())]
    return [(q, 1.0, True) for q in own] + [(q, 0.3, False) for q in own] + [(q, 0.3, True) for q in absent]

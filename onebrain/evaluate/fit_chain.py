"""Fits `search/data/chain.json` from labelled why-questions: what orders records, what makes it a probability, how many are shown.

    python -m onebrain.evaluate.fit_chain collect QUESTIONS.jsonl... --vaults DIR --out ROWS.jsonl     (opens each corpus; minutes)
    python -m onebrain.evaluate.fit_chain fit ROWS.jsonl... [--write]                                  (a minute)

A question is labelled by `chain` (paths, with those of `relevant` tolerated) or by `dates` (days, with those of `also` tolerated). Each
corpus is also asked its questions by words alone, and the why-questions of others, for which no chain may be shown.

Records are ordered by a listwise loss: of each right record, -log of its softmax against all wrong ones of its question. P(belongs) is
a logistic over where a record stands among the others; that of a part (a row, a bullet) a logistic over what its own words hold. The
bars are those of the best sum of recall and precision. Cross-validated by question, those that share a decision being in
one fold, and by folder.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from onebrain.evaluate.fit import DATA, FOLDS, Floats, fit_probability, minimise, opened
from onebrain.search.chain import Option, Story, Weights, chosen, considered, judge
from onebrain.search.question import Request
from onebrain.search.reading import mode_of
from onebrain.search.report import Mode
from onebrain.vault.library import NoteRecord
from onebrain.vault.note import Event, EventKind, Source, Status

Row: TypeAlias = "dict[str, Any]"
WORTH = ("score", "rank", "leads", "akin", "cited", "replacing")
RECORD = ("worth", "below", "ahead", "beaten", "cover")
PART = ("own", "around", "named", "nameless", "kin", "passage", "topical", "below", "leads", "beaten")
SHARPNESS = 3.0  # of the softmax
STRANGERS = 24  # why-questions of other corpora that a corpus is asked
WEIGHTS = {"all": 1.0, "evidence": 0.5, "words": 0.3, "stranger": 0.3}  # of a question by the means it was asked with
WRONGLY = 0.5  # what a chain where there is none costs, in recall
BARS = {  # tried; lower ones would find more, and show what can't be trusted
    "first": (0.5,),  # a chain whose likeliest link is as likely wrong as right is none; so is a row or a bullet that nothing else tells
    "second": (0.4,),  # with .25 or .3 the precision of the product's chains falls below .80
    "more": (0.3, 0.35, 0.4, 0.45, 0.5),
    "share": (0.0, 0.4, 0.6, 0.8),
    "part": (0.5,),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A why-question with every event considered. `label` per option: 1 right, 0 wrong, nan where nobody can say."""

    id: str
    means: str
    wanted: frozenset[str]  # labelled paths, or days
    tolerated: frozenset[str]
    options: tuple[Option, ...]
    label: Floats

    def key(self, option: Option) -> str:
        """What labels speak of: the note's path, or the day."""
        return option.event.date if all(len(k) == 10 and k[4] == "-" for k in self.wanted) else option.story.note.path


# Collecting


def collect(questions: Sequence[Row], vaults: Path, say: Callable[[str], None]) -> Iterator[Row]:
    for corpus in sorted({question["corpus"] for question in questions}):
        own = [question for question in questions if question["corpus"] == corpus and mode_of(question["query"]) is Mode.WHY]
        if not any(labelled(question) for question in own):
            continue
        asked = plan(questions, own, corpus)
        say(f"{corpus}: {len(asked)} questions")
        with opened(vaults / corpus) as brain:
            for question, means in asked:
                pool, _ = brain.searcher(vectors=means != "words").trace(request(question, means))
                with brain.library() as library:
                    yield row(question, means, considered(library, pool))


def labelled(question: Mapping[str, Any]) -> bool:
    return bool(question.get("chain") or question.get("dates") or question.get("fallback"))


def plan(questions: Sequence[Row], own: Sequence[Row], corpus: str) -> list[tuple[Row, str]]:
    """(question, by what means): the corpus's own, as the product is, without its cross-encoder, and by words alone; and those of others,
    which it can't answer."""
    others = [q for q in questions if q["corpus"] != corpus and labelled(q) and mode_of(q["query"]) is Mode.WHY]
    drawn = sorted(np.random.default_rng(len(corpus)).permutation(len(others))[:STRANGERS].tolist())
    strangers = [{"id": f"{corpus}<{others[n]['id']}", "corpus": corpus, "query": others[n]["query"]} for n in drawn]
    return [(q, means) for means in ("all", "evidence", "words") for q in own] + [(q, "stranger") for q in strangers]


def request(question: Row, means: str) -> Request:
    return Request(question["query"], date(2026, 1, 1), everything=True, write_hyde=False, rerank=means in ("all", "stranger"))


def row(question: Row, means: str, options: Sequence[Option]) -> Row:
    kept = [
        {
            "event": asdict(option.event),
            "note": [option.story.note.path, option.story.note.source, option.story.note.status],
            "story": option.story.features,
            "part": option.part,
            "features": option.features,
        }
        for option in options
    ]
    return {"question": question, "means": means, "options": kept}


# Reading


def read(rows: Iterable[Row]) -> list[Asked]:
    return [_asked(one) for one in rows]


def _asked(one: Row) -> Asked:
    question = one["question"]
    wanted = frozenset(question.get("chain") or question.get("dates") or ())
    tolerated = wanted | {found["path"] for found in question.get("relevant") or ()} if question.get("chain") else wanted
    options = tuple(_option(kept) for kept in one["options"])
    asked = Asked(question["id"], one["means"], wanted, frozenset(tolerated | set(question.get("also") or ())), options, np.zeros(0))
    label = np.array([_label(asked, option, "dates" in question) for option in options], float)
    return Asked(asked.id, asked.means, wanted, asked.tolerated, options, label)


def _label(asked: Asked, option: Option, by_day: bool) -> float:
    """By day, an event that shares no word with the question may be another decision of that day: nobody can say."""
    key = asked.key(option)
    if not by_day:
        return float(bool(asked.wanted) and key in asked.tolerated)
    silent = option.part and not option.features["around"] and not option.features["named"]
    return float("nan") if key in asked.tolerated and (key not in asked.wanted or silent) else float(key in asked.wanted)


def _option(kept: Row) -> Option:
    event = Event(**(kept["event"] | {"kind": EventKind(kept["event"]["kind"]), "status": Status(kept["event"]["status"])}))
    path, source, status = kept["note"]
    note = NoteRecord(path, "", Source(source), (), (), None, Status(status), None, "", 0, 0, (), (), True)
    return Option(event, Story(note, None, kept["story"]), kept["part"], kept["features"])


# Fitting


def fit_worth(asked: Sequence[Asked], penalty: float = 0.006) -> Floats:
    features, right, sizes, share = [], [], [], []
    for a in asked:
        records = [n for n, option in enumerate(a.options) if not option.part]
        label = a.label[records]
        if a.wanted and label.any() and not label.all() and not np.isnan(label).any():
            features.append([[a.options[n].story.features[name] for name in WORTH] for n in records])
            right.append(label)
            sizes.append(len(records))
            share.append(WEIGHTS[a.means])
    x, y = np.concatenate([np.array(f, float) for f in features]), np.concatenate(right)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])

    def spread(per_question: Floats) -> Floats:
        return np.repeat(per_question, sizes)

    each = y * spread(np.array(share) / sum(share) / np.add.reduceat(y, starts))

    def loss(w: Floats) -> tuple[float, Floats]:
        s = SHARPNESS * (x @ w)
        e = np.exp(s - spread(np.maximum.reduceat(s, starts)))
        wrong = spread(np.add.reduceat(e * (1 - y), starts)) + 1e-12
        lost = each * wrong / (e + wrong)  # of each right record, how much of the mass the wrong ones have
        value = float(-(each * np.log(e / (e + wrong) + 1e-12)).sum()) + penalty * float(w @ w)
        pull = (1 - y) * e / wrong * spread(np.add.reduceat(lost, starts)) - lost
        return value, SHARPNESS * (x.T @ pull) + 2 * penalty * w

    return minimise(loss, np.zeros(len(WORTH)), steps=150, rate=0.1)


def fit_belongs(asked: Sequence[Asked], weights: Weights, part: bool, names: Sequence[str], penalty: float) -> dict[str, float]:
    x, y, share = [], [], []
    for a in asked:
        judged = judge(a.options, weights)
        of_kind = [n for n, option in enumerate(judged) if option.part is part and not np.isnan(a.label[n])]
        for n in of_kind:
            x.append([judged[n].features[name] for name in names])
            y.append(a.label[n])
            share.append(WEIGHTS[a.means] / len(of_kind) ** 0.5)
    if not x:
        return {}
    return named((*names, "bias"), fit_probability(np.array(x, float), np.array(y, float), np.array(share), penalty))


def fit_all(asked: Sequence[Asked], bars: Mapping[str, float]) -> dict[str, dict[str, float]]:
    weights: dict[str, dict[str, float]] = {"worth": named(WORTH, fit_worth(asked)), "record": {}, "part": {}, "bars": dict(bars)}
    weights["record"] = fit_belongs(asked, weights, False, RECORD, 0.0005)
    weights["part"] = fit_belongs(asked, weights, True, PART, 0.002)
    return weights


def named(names: Sequence[str], values: Floats) -> dict[str, float]:
    return {name: round(float(value), 3) for name, value in zip(names, values, strict=True)}


def groups(asked: Sequence[Asked], by_folder: bool) -> list[str]:
    """What must stay in one fold: questions that share a labelled decision, or a folder of them. One asked twice is one question."""
    if by_folder:
        return [min(a.wanted, default=a.id).rpartition("/")[0] or a.id for a in asked]
    first: dict[str, str] = {}
    found = []
    for a in asked:
        known = [first[path] for path in sorted(a.wanted) if path in first]
        group = known[0] if known else a.id
        first |= dict.fromkeys(a.wanted - first.keys(), group)
        found.append(group)
    return found


def cross_validated(asked: Sequence[Asked], by_folder: bool, bars: Mapping[str, float]) -> list[tuple[Asked, list[Option]]]:
    """Each question with its options judged by weights fitted without it and its like."""
    group = groups(asked, by_folder)
    names = np.random.default_rng(7).permutation(sorted(set(group))).tolist()
    fold = {name: place % FOLDS for place, name in enumerate(names)}
    results = []
    for held in range(FOLDS):
        weights = fit_all([a for a, g in zip(asked, group, strict=True) if fold[g] != held], bars)
        results += [(a, judge(a.options, weights)) for a, g in zip(asked, group, strict=True) if fold[g] == held]
    return results


# Reporting


def figures(results: Sequence[tuple[Asked, list[Option]]], bars: Mapping[str, float]) -> dict[str, float]:
    """Of the questions with a chain: its recall, precision, how often any was shown; of the others, how often one was shown anyway."""
    recall, precision, shown, wrongly = [], [], [], []
    for a, options in results:
        keys = [{a.key(option) for option in told} for told in chosen(options, bars)]
        if a.wanted:
            recall.append(sum(any(wanted in told for told in keys) for wanted in a.wanted) / len(a.wanted))
            precision.append(sum(bool(told & a.tolerated) for told in keys) / len(keys) if keys else 0.0)
            shown.append(float(bool(keys)))
        else:
            wrongly.append(float(bool(keys)))
    return {name: float(np.mean(v)) for name, v in
            {"recall": recall, "precision": precision, "shown": shown, "wrongly": wrongly}.items() if v}  # fmt: skip


def best_bars(results: Sequence[tuple[Asked, list[Option]]]) -> dict[str, float]:
    """The bars of the best sum of recall and precision, a chain where there is none counting against them; of equals the lowest."""
    grid = [dict(zip(BARS, values, strict=True)) for values in itertools.product(*BARS.values())]

    def worth(bars: Mapping[str, float]) -> float:
        found = figures(results, bars)
        return round(found["recall"] + found["precision"] - WRONGLY * found.get("wrongly", 0.0), 4)

    return max(grid, key=worth)


def show(title: str, results: Sequence[tuple[Asked, list[Option]]], bars: Mapping[str, float], say: Callable[[str], None]) -> None:
    kinds = {means: [r for r in results if r[0].means == means and not _by_day(r[0])] for means in WEIGHTS}
    kinds["all, labelled by day"] = [r for r in results if r[0].means == "all" and _by_day(r[0])]
    say(f"\n{title}")
    for kind, some in kinds.items():
        if some:
            say(f"  {kind:22} n={len(some):3}  " + "  ".join(f"{name}={value:.3f}" for name, value in figures(some, bars).items()))


def _by_day(a: Asked) -> bool:
    return any(len(key) == 10 and key[4] == "-" for key in a.wanted)


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(dest="step", required=True)
    collecting = steps.add_parser("collect")
    collecting.add_argument("questions", nargs="+", type=Path)
    collecting.add_argument("--vaults", type=Path, required=True)
    collecting.add_argument("--out", type=Path, required=True)
    fitting = steps.add_parser("fit")
    fitting.add_argument("rows", nargs="+", type=Path)
    fitting.add_argument("--write", action="store_true")
    options = parser.parse_args(argv)

    def say(text: str) -> None:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    if options.step == "collect":
        with options.out.open("w", encoding="utf-8") as out:
            for one in collect(_lines(options.questions), options.vaults, say):
                out.write(json.dumps(one) + "\n")
        return 0
    asked = read(_lines(options.rows))
    by_story = cross_validated(asked, False, {})
    own = [r for r in by_story if r[0].means == "all"]
    bars = best_bars(own)
    show("folds by question", by_story, bars, say)
    show("folds by folder", cross_validated(asked, True, bars), bars, say)
    weights = fit_all(asked, bars)
    show("all, as fitted", [(a, judge(a.options, weights)) for a in asked], bars, say)
    text = json.dumps(weights, indent=1) + "\n"
    say(text)
    if options.write:
        (DATA / "chain.json").write_text(text, encoding="utf-8")
    return 0


def _lines(paths: Iterable[Path]) -> list[Row]:
    return [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

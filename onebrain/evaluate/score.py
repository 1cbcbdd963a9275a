"""How good answers are, as plain arithmetic on reports and labels.

Ranking is judged on documents in the order of `hits` (first hit of each), and on headings where a label names one; answers on the
verdict and the top `rerank_score`; chains on their links. Those figures are the evaluation pack's own `score.py`'s, which a test holds
them to. Quoted sentences are judged where a what-question was answered with some: `quoted`, `quoted_first` and `quoted_words` against the
`answer` of a label, `quote_right` against its notes and headings (`quoting`).
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Pair: TypeAlias = "tuple[float, float]"
"""A score in [0, 1], and 1.0 if the hit that has it is right, else 0.0."""
Row: TypeAlias = "dict[str, float | int | None]"
BINS = 10


@dataclass(frozen=True, slots=True)
class Judged:
    """One question with what came out. `figures` by name; `pairs` of its first ten hits, `best` of its highest scored hit."""

    question: Mapping[str, Any]
    report: Mapping[str, Any] | None
    kind: str
    near: bool
    figures: Mapping[str, float]
    pairs: tuple[Pair, ...]
    best: Pair | None
    top: float
    confident: tuple[float, ...]
    ms: float | None

    @property
    def answerable(self) -> bool:
        return bool(self.question["answerable"])


@dataclass(frozen=True, slots=True)
class Scores:
    """`kinds` maps a kind to its row of means, `summary` holds what is said of all questions together."""

    kinds: Mapping[str, Row]
    summary: Row
    judged: tuple[Judged, ...]


def score(questions: Iterable[Mapping[str, Any]], results: Mapping[str, Mapping[str, Any]]) -> Scores:
    """Judge each question's result; one without a result counts as an empty report, and as `missing`."""
    judged = tuple(judge(question, results.get(question["id"])) for question in questions)
    return Scores(_kinds(judged), _summary(judged), judged)


def judge(question: Mapping[str, Any], result: Mapping[str, Any] | None) -> Judged:
    report: Mapping[str, Any] = (result or {}).get("report") or {}
    gold = {label["path"] for label in question["relevant"]}
    also = question.get("also") or []
    hits = report.get("hits") or []
    ranked = [hit for hit in hits if hit.get("rerank_score") is not None and hit["doc_path"] not in also]
    best = max(ranked, key=lambda hit: hit["rerank_score"], default=None)
    scores = [float(hit["rerank_score"]) for hit in hits if hit.get("rerank_score") is not None]
    return Judged(
        question=question,
        report=report if result else None,
        kind=kind_of(question),
        near=is_near(question),
        figures=_figures(question, report),
        pairs=tuple(_pair(hit, gold) for hit in hits[:10] if hit.get("rerank_score") is not None and hit["doc_path"] not in also),
        best=_pair(best, gold) if best else None,
        top=max(scores, default=0.0),
        confident=tuple(float(hit["doc_path"] in gold) for hit in hits if hit.get("band") == "confident"),
        ms=(result or {}).get("ms"),
    )


def is_near(question: Mapping[str, Any]) -> bool:
    """Whether the corpus has a question's topic even where it has no answer."""
    return bool(question["kind"] == "absent-near" or question.get("near") or question["corpus"].startswith("xquad"))


def kind_of(question: Mapping[str, Any]) -> str:
    kind = question["kind"] + ("/cross" if question.get("cross") else "")
    return f"{kind}/{question['mode']}" if question["kind"] == "multilingual" else kind


def _pair(hit: Mapping[str, Any], gold: set[str]) -> Pair:
    return min(1.0, max(0.0, hit["rerank_score"])), float(hit["doc_path"] in gold)


def _figures(question: Mapping[str, Any], report: Mapping[str, Any]) -> dict[str, float]:
    if not question["answerable"]:
        verdict = report.get("verdict")
        return {"false_answer": float(verdict == "confident"), "no_match_said": float(verdict == "none")}
    figures = {"abstained": float(report.get("verdict", "none") == "none")}
    if question.get("chain"):
        figures["mode_why"] = float(report.get("mode") == "why")
    if question.get("fallback"):
        figures["fallback_noted"] = float(not report.get("chain") and bool(report.get("notes")))
    figures |= ranking(question, report) | quoting(question, report)
    return figures | (chain(question, report) if question.get("chain") else {})


def ranking(question: Mapping[str, Any], report: Mapping[str, Any]) -> dict[str, float]:
    """nDCG@10, hit@1, hit@5 and reciprocal rank over documents; hit@5 over headings; whether a stale note outranks the current one."""
    gold = {label["path"] for label in question["relevant"]}
    also = set(question.get("also") or [])
    hits = report.get("hits") or []
    ranked = [path for path in dict.fromkeys(hit["doc_path"] for hit in hits) if path not in also]
    gain = sum(1 / math.log2(place + 2) for place, path in enumerate(ranked[:10]) if path in gold)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(10, len(gold))))
    first = next((place for place, path in enumerate(ranked) if path in gold), None)
    found = {
        "ndcg10": gain / ideal if ideal else 0.0,
        "hit1": float(first == 0),
        "hit5": float(first is not None and first < 5),
        "mrr": 1 / (first + 1) if first is not None else 0.0,
    }
    if headed := {(label["path"], label["heading"].strip()) for label in question["relevant"] if label.get("heading")}:
        top = {(hit["doc_path"], (hit.get("heading_path") or "").split(" > ")[-1].strip()) for hit in hits[:5]}
        found["heading5"] = float(bool(headed & top))
    if stale := question.get("stale"):
        outdated = {stale} if isinstance(stale, str) else set(stale)
        worst = next((place for place, path in enumerate(ranked) if path in outdated), None)
        found["stale_above_gold"] = float(worst is not None and (first is None or worst < first))
    return found


def chain(question: Mapping[str, Any], report: Mapping[str, Any]) -> dict[str, float]:
    """Recall and precision of a chain's files, whether its dates ascend, and how many of the found files carry their own date."""
    gold, dates = question["chain"], question.get("chain_dates") or []
    links = report.get("chain") or []
    found = [link["path"] for link in links]
    shown = [link.get("date") or "" for link in links]
    allowed = {label["path"] for label in question["relevant"]} | set(gold)
    figures = {
        "chain_recall": sum(path in found for path in gold) / len(gold),
        "chain_precision": sum(path in allowed for path in found) / len(found) if found else 0.0,
        "chain_ordered": float(bool(links) and all(shown) and shown == sorted(shown)),
        "chain_shown": float(bool(links)),
    }
    dated = {(link["path"], (link.get("date") or "")[:10]) for link in links}
    if hits := [(path, day) for path, day in zip(gold, dates, strict=False) if path in found]:
        figures["date_right"] = sum(hit in dated for hit in hits) / len(hits)
    return figures


def quoting(question: Mapping[str, Any], report: Mapping[str, Any]) -> dict[str, float]:
    """What the sentences quoted for a what-question are worth; nothing where none was quoted.

    `quote_right` is the share that stands in a labelled note, and under its heading where the label names one. With an `answer` (a string,
    or several of which any will do): whether a sentence holds it, `quoted`, and whether the first does, `quoted_first`, case, space and
    marks aside; and the share of its words that the sentences hold together, `quoted_words`, for answers in the labeller's own words.
    """
    quotes = (report.get("answer") or {}).get("sentences") or []
    if question["mode"] != "what" or not quotes:
        return {}
    places = {(label["path"], (label.get("heading") or "").strip()) for label in question["relevant"]}
    found = [places & {(quote["path"], ""), (quote["path"], (quote.get("heading") or "").strip())} for quote in quotes]
    figures = {"quote_right": sum(map(bool, found)) / len(quotes)}
    answers = question.get("answer")
    wanted = [folded for answer in ([answers] if isinstance(answers, str) else answers or []) if (folded := _folded(answer))]
    if not wanted:
        return figures
    said = [_folded(quote["text"]) for quote in quotes]
    words = {word for text in said for word in text.split()}
    return figures | {
        "quoted": float(any(_holds(text, answer) for text in said for answer in wanted)),
        "quoted_first": float(any(_holds(said[0], answer) for answer in wanted)),
        "quoted_words": max(len(set(answer.split()) & words) / len(set(answer.split())) for answer in wanted),
    }


def _folded(text: str) -> str:
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))


def _holds(text: str, answer: str) -> bool:
    """Whole words, but for scripts that write none apart."""
    return f" {answer} " in f" {text} " if answer.isascii() else answer in text


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float | None:
    """P(a positive scores above a negative), ties counting half (Mann–Whitney U); None without both."""
    if not positive or not negative:
        return None
    ordered = sorted([(value, 1) for value in positive] + [(value, 0) for value in negative])
    ranks, start = 0.0, 0
    while start < len(ordered):
        end = start
        while end < len(ordered) and ordered[end][0] == ordered[start][0]:
            end += 1
        ranks += sum(label for _, label in ordered[start:end]) * (start + end + 1) / 2
        start = end
    return (ranks - len(positive) * (len(positive) + 1) / 2) / (len(positive) * len(negative))


@dataclass(frozen=True, slots=True)
class Bin:
    """Pairs whose score falls into one tenth: how many, what they promised, what they kept."""

    count: int
    promised: float
    kept: float


def bins(pairs: Sequence[Pair]) -> list[Bin]:
    """The non-empty tenths of [0, 1], in order."""
    cells = [[pair for pair in pairs if min(int(pair[0] * BINS), BINS - 1) == number] for number in range(BINS)]
    return [Bin(len(cell), sum(s for s, _ in cell) / len(cell), sum(y for _, y in cell) / len(cell)) for cell in cells if cell]


def calibration_error(pairs: Sequence[Pair]) -> float | None:
    """Expected calibration error over ten bins (Naeini et al., 2015); None without pairs."""
    return sum(cell.count / len(pairs) * abs(cell.promised - cell.kept) for cell in bins(pairs)) if pairs else None


def precision_coverage(judged: Sequence[Judged]) -> list[tuple[float, float, float]]:
    """(coverage, precision, score) as the score asked for falls: of all questions, the share answered, and of those the share right.

    An absent question can only be answered wrongly. Questions with equal scores enter together.
    """
    best = sorted((one.best or (0.0, 0.0) for one in judged), key=lambda pair: -pair[0])
    points, right = [], 0.0
    for number, (value, correct) in enumerate(best, 1):
        right += correct
        if number == len(best) or best[number][0] != value:
            points.append((number / len(best), right / number, value))
    return points


def _kinds(judged: Sequence[Judged]) -> dict[str, Row]:
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    confident: dict[str, list[float]] = defaultdict(list)
    for one in judged:
        for name, value in one.figures.items():
            values[one.kind][name].append(value)
        if one.answerable:
            confident[one.kind] += one.confident
    counts = Counter(one.kind for one in judged)
    table: dict[str, Row] = {}
    for kind, row in sorted(values.items()):
        means = {name: _mean(found) for name, found in sorted(row.items())}
        table[kind] = {"n": counts[kind], **means, "precision_confident": _mean(confident[kind])}
    return table


def _summary(judged: Sequence[Judged]) -> Row:
    answerable = [one.top for one in judged if one.answerable]
    quoted = {name: _mean([one.figures[name] for one in judged if name in one.figures]) for name in QUOTING}
    latencies = sorted(one.ms for one in judged if one.ms is not None)
    return {
        "missing": sum(one.report is None for one in judged),
        "auroc_far": auroc(answerable, [one.top for one in judged if not one.answerable and not one.near]),
        "auroc_near": auroc(answerable, [one.top for one in judged if not one.answerable and one.near]),
        "ece": calibration_error([pair for one in judged for pair in one.pairs]),
        "ece_top": calibration_error([one.best for one in judged if one.best]),
        "precision_confident": _mean([value for one in judged if one.answerable for value in one.confident]),
        "ms_median": latencies[len(latencies) // 2] if latencies else None,
        **{name: value for name, value in quoted.items() if value is not None},
    }


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 3) if values else None


def table(scores: Scores) -> str:
    """The figures as aligned text: a block per family of figures, since no screen holds them all side by side."""
    out = []
    for title, names in FAMILIES.items():
        rows = {kind: row for kind, row in scores.kinds.items() if any(row.get(name) is not None for name in names)}
        shown = [name for name in names if any(row.get(name) is not None for row in rows.values())]
        if rows:
            out += [f"{title:<26}{'n':>6}" + "".join(f"{HEADS.get(name, name):>12}" for name in shown)]
            out += [f"  {kind:<24}{row['n']:>6}" + "".join(f"{_cell(row.get(name)):>12}" for name in shown) for kind, row in rows.items()]
            out += [""]
    out += ["All together", *(f"  {name:<24}{_cell(value, 4):>12}" for name, value in scores.summary.items())]
    return "\n".join(out) + "\n"


QUOTING = ("quoted", "quoted_first", "quoted_words", "quote_right")
FAMILIES = {
    "Ranking": ("hit1", "hit5", "heading5", "mrr", "ndcg10", "stale_above_gold"),
    "Answers": ("abstained", "precision_confident", "false_answer", "no_match_said", "fallback_noted", "mode_why"),
    "Quotes": QUOTING,
    "Chains": ("chain_recall", "chain_precision", "chain_ordered", "chain_shown", "date_right"),
}
HEADS = {
    "stale_above_gold": "stale>gold",
    "precision_confident": "conf.right",
    "false_answer": "false",
    "no_match_said": "none said",
    "fallback_noted": "noted",
    "quoted": "answer in",
    "quoted_first": "in first",
    "quoted_words": "its words",
    "quote_right": "right place",
    "chain_recall": "recall",
    "chain_precision": "precision",
    "chain_ordered": "ordered",
    "chain_shown": "shown",
    "date_right": "date",
}


def _cell(value: float | int | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:.{digits}f}" if isinstance(value, float) else str(value)


def worst(judged: Sequence[Judged], count: int) -> list[Judged]:
    """The questions that went most wrong: confident and wrong first, then not found, then said to be absent."""

    def harm(one: Judged) -> float:
        best_score, best_right = one.best or (0.0, 0.0)
        if not one.answerable:
            return 2.0 * one.top if one.figures["false_answer"] else 0.0
        lost = 1.0 - one.figures.get("chain_recall", one.figures["hit5"])
        return 2.0 * best_score * (1.0 - best_right) * (best_score >= 0.6) + lost + 0.5 * one.figures["abstained"]

    ordered = sorted(judged, key=lambda one: (-harm(one), str(one.question["id"])))
    return [one for one in ordered[:count] if harm(one) > 0]

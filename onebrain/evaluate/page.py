"""The figures of an evaluation as one page that needs nothing else: inline SVG, no scripts, readable in light and dark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from onebrain.evaluate.score import FAMILIES, HEADS, Bin, Judged, Scores, bins, precision_coverage, worst

WORST = 25
SIDE, LEFT, TOP = 320.0, 46.0, 14.0
TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)

NAMES = {
    "missing": "without a result",
    "auroc_far": "AUROC, far absents",
    "auroc_near": "AUROC, near absents",
    "ece": "ECE, first 10 hits",
    "ece_top": "ECE, top answer",
    "precision_confident": "confident hits that are right",
    "ms_median": "median ms",
    "quoted": "answers held by a quote",
    "quoted_first": "held by the first quote",
    "quoted_words": "words of the answer quoted",
    "quote_right": "quotes from the labelled place",
}


def page(scores: Scores, title: str) -> str:
    """A whole HTML document. `title` says what was measured and when; nothing here reads a clock."""
    body = "\n".join(
        (
            f"<h1>{escape(title)}</h1>",
            f"<p>{len(scores.judged)} questions, {sum(one.answerable for one in scores.judged)} of them answerable.</p>",
            _tiles(scores.summary),
            '<div class="figures">',
            _reliability(scores.judged),
            _coverage(scores.judged),
            "</div>",
            *_tables(scores.kinds),
            _worst(worst(scores.judged, WORST)),
        )
    )
    style = files("onebrain.evaluate").joinpath("page.css").read_text(encoding="utf-8")
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(title)}</title>'
    return f'<!doctype html>\n<html lang="en"><head>{head}<style>{style}</style></head>\n<body>\n{body}\n</body></html>\n'


def _number(value: Any, digits: int = 3) -> str:
    return "–" if value is None else f"{value:.{digits}f}" if isinstance(value, float) else str(value)


def _tiles(summary: Mapping[str, Any]) -> str:
    tiles = "".join(f"<div><dt>{escape(NAMES.get(name, name))}</dt><dd>{_number(value)}</dd></div>" for name, value in summary.items())
    return f'<dl class="tiles">{tiles}</dl>'


def _xy(x: float, y: float) -> tuple[float, float]:
    """Unit square to the drawing, y upwards."""
    return round(LEFT + x * SIDE, 1), round(TOP + (1 - y) * SIDE, 1)


def _frame(content: str, across: str, up: str, label: str) -> str:
    """Axes from 0 to 1 with names and a description for those who can't see the drawing."""
    (left, bottom), (right, top) = _xy(0, 0), _xy(1, 1)
    marks = [f'<path class="axis" fill="none" d="M{left} {top}V{bottom}H{right}"/>']
    for tick in TICKS:
        (x, _), (_, y) = _xy(tick, 0), _xy(0, tick)
        marks.append(f'<text x="{x}" y="{bottom + 16}" text-anchor="middle">{tick:g}</text>')
        marks.append(f'<text x="{left - 8}" y="{y + 4}" text-anchor="end">{tick:g}</text>')
    middle = LEFT + SIDE / 2
    marks.append(f'<text x="{middle}" y="{bottom + 34}" text-anchor="middle">{escape(across)}</text>')
    marks.append(f'<text transform="translate(12 {TOP + SIDE / 2}) rotate(-90)" text-anchor="middle">{escape(up)}</text>')
    width, height = LEFT + SIDE + 14, TOP + SIDE + 42
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return f'<svg role="img" aria-label="{escape(label)}" {size}>{"".join(marks)}{content}</svg>'


def _line(points: Iterable[tuple[float, float]], style: str) -> str:
    path = " ".join(f"{x},{y}" for x, y in (_xy(*point) for point in points))
    return f'<polyline class="{style}" points="{path}"/>' if path else ""


def _reliability(judged: Sequence[Judged]) -> str:
    every = bins([pair for one in judged for pair in one.pairs])
    best = bins([one.best for one in judged if one.best])
    drawn = _line(((0, 0), (1, 1)), "ideal")
    for cells, line, dot in ((every, "one", "dot"), (best, "two", "dot2")):
        drawn += _line([(cell.promised, cell.kept) for cell in cells], line) + "".join(_dot(cell, dot) for cell in cells)
    caption = (
        "How often hits are right against the rerank_score they were given. On the dashed line a promise is kept. "
        "Blue: the first ten hits of every question; orange: the top answer alone. Dots grow with the number of hits."
    )
    drawing = _frame(drawn, "rerank_score", "share that is right", "Reliability diagram")
    return f"<figure><h2>Reliability</h2>{drawing}<figcaption>{caption}</figcaption></figure>"


def _dot(cell: Bin, style: str) -> str:
    x, y = _xy(cell.promised, cell.kept)
    radius = round(min(3 + cell.count**0.5 / 4, 9), 1)
    meaning = f"<title>{cell.count} hits: {cell.promised:.2f} → {cell.kept:.2f}</title>"
    return f'<circle class="{style}" cx="{x}" cy="{y}" r="{radius}">{meaning}</circle>'


def _coverage(judged: Sequence[Judged]) -> str:
    points = precision_coverage(judged)
    drawn = _line([(coverage, precision) for coverage, precision, _ in points], "one")
    for band in (0.6, 0.3):
        at = [point for point in points if point[2] >= band]
        if at:
            x, y = _xy(at[-1][0], at[-1][1])
            drawn += f'<circle class="dot" cx="{x}" cy="{y}" r="4"/><text x="{x}" y="{y - 9}" text-anchor="middle">≥ {band:g}</text>'
    caption = (
        "Of all questions, absent ones included, the share answered if the best hit must score at least so much, and how many of "
        "those best hits are right. The dots mark the bands of the answers."
    )
    drawing = _frame(drawn, "coverage", "precision", "Precision against coverage")
    return f"<figure><h2>Precision and coverage</h2>{drawing}<figcaption>{caption}</figcaption></figure>"


def _tables(kinds: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    for title, names in FAMILIES.items():
        rows = {kind: row for kind, row in kinds.items() if any(row.get(name) is not None for name in names)}
        shown = [name for name in names if any(row.get(name) is not None for row in rows.values())]
        if not rows:
            continue
        head = "".join(f"<th>{escape(HEADS.get(name, name))}</th>" for name in ("n", *shown))
        body = "".join(
            f"<tr><td>{escape(kind)}</td><td>{row['n']}</td>{''.join(f'<td>{_number(row.get(name))}</td>' for name in shown)}</tr>"
            for kind, row in rows.items()
        )
        yield f'<h2>{title}</h2><div class="scroll"><table><thead><tr><th>kind</th>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _worst(judged: Sequence[Judged]) -> str:
    if not judged:
        return ""
    return f"<h2>Worst questions</h2><p>Confident and wrong first, then what was not found.</p>{''.join(_question(one) for one in judged)}"


def _question(one: Judged) -> str:
    question, report = one.question, one.report or {}
    gold = {label["path"] for label in question["relevant"]}
    wanted = ", ".join(f"<code>{escape(path)}</code>" for path in sorted(gold)) or "nothing: the topic is absent"
    hits = "".join(_hit(hit, gold) for hit in (report.get("hits") or [])[:5])
    said = escape(str(report.get("verdict") or "no result"))
    return (
        f"<details><summary><b>{escape(str(question['query']))}</b> "
        f'<span class="quiet">{escape(one.kind)} · {escape(str(question["id"]))} · said: {said}</span></summary>'
        f"<p>Wanted: {wanted}</p><ol>{hits}</ol></details>"
    )


def _hit(hit: Mapping[str, Any], gold: set[str]) -> str:
    style = "right" if hit["doc_path"] in gold else "wrong"
    heading = f" › {escape(str(hit['heading_path']))}" if hit.get("heading_path") else ""
    ranked = f" {hit['rerank_score']:.2f}" if hit.get("rerank_score") is not None else ""
    snippet = escape(" ".join(str(hit.get("snippet") or "").split())[:160])
    return f'<li><code class="{style}">{escape(hit["doc_path"])}</code>{heading}{ranked} <span class="quiet">{snippet}</span></li>'

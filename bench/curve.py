"""The time of a question over the size of the index, as a picture.

    python bench/side_by_side.py CORPUS --models DIR --only vectors,inside --shares 0.064,0.25,0.64,2.57 --json FILE
    python bench/curve.py FILE docs/img/question-time.svg
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 400, 64, 190, 24, 48
COLOURS = ("#b4451f", "#1f6fb4", "#3c8a3c", "#7a4fa3")
Point = tuple[int, float, float]  # passages, median ms, p95 ms


def curves(figures: Sequence[dict[str, object]]) -> dict[str, list[Point]]:
    found: dict[str, list[Point]] = {}
    for figure in figures:
        match = re.fullmatch(r"(a question in process|nearest vectors), (\d+) passages", str(figure["measure"]))
        if match:
            values = sorted(float(value) for value in figure["values"])  # type: ignore[attr-defined]
            name = "question" if match[1].startswith("a question") else "nearest vectors"
            p95 = values[min(len(values) - 1, int(len(values) * 0.95))]
            who = str(figure["who"]).replace("onebrain, ", "")
            curve = found.setdefault(f"{name}: {who.replace('onebrain', 'with the cross-encoder')}", [])
            curve.append((int(match[2]), statistics.median(values), p95))
    return {name: sorted(points) for name, points in found.items()}


def svg(found: dict[str, list[Point]]) -> str:
    widest = max(size for points in found.values() for size, _, _ in points) * 1.05
    highest = max(p95 for points in found.values() for _, _, p95 in points) * 1.1
    x = lambda size: LEFT + size / widest * (WIDTH - LEFT - RIGHT)  # noqa: E731
    y = lambda ms: HEIGHT - BOTTOM - ms / highest * (HEIGHT - TOP - BOTTOM)  # noqa: E731
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
    ]
    for ms in range(0, int(highest), 100):
        parts.append(f'<path d="M{LEFT} {y(ms):.0f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y(ms) + 4:.0f}" text-anchor="end">{ms} ms</text>')
    for size in range(0, int(widest), 25_000):
        parts.append(f'<text x="{x(size):.0f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{size // 1000}k</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 8}" text-anchor="middle">passages</text>')
    for (name, points), colour in zip(found.items(), COLOURS, strict=False):
        for which, style in ((1, ""), (2, ' stroke-dasharray="4 4" opacity=".6"')):
            line = "L".join(f"{x(point[0]):.1f} {y(point[which]):.1f}" for point in points)
            parts.append(f'<path d="M{line}" fill="none" stroke="{colour}" stroke-width="2"{style}/>')
        parts += [f'<circle cx="{x(size):.1f}" cy="{y(ms):.1f}" r="3" fill="{colour}"/>' for size, ms, _ in points]
        row = TOP + 12 + 34 * list(found).index(name)
        kind, _, who = name.partition(": ")
        parts.append(f'<text x="{WIDTH - RIGHT + 12}" y="{row}" fill="{colour}">{kind}</text>')
        parts.append(f'<text x="{WIDTH - RIGHT + 12}" y="{row + 14}" fill="{colour}" font-size="10">{who}</text>')
    parts.append(f'<text x="{WIDTH - RIGHT + 12}" y="{HEIGHT - BOTTOM}" fill="#666" font-size="10">solid: median, dashed: p95</text></svg>')
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(svg(curves(json.loads(Path(sys.argv[1]).read_text("utf-8"))["figures"])), encoding="utf-8")

"""`GET /search?q=` in the shape of Omnisearch's HTTP server, for the userscripts and plug-ins that speak to it.

Unlike the original this one never sends `Access-Control-Allow-Origin`: a web page that asks gets an answer it can't read.
"""

from __future__ import annotations

from datetime import date
from typing import Any

from onebrain.render.json import obsidian_uri
from onebrain.search.question import Request
from onebrain.search.report import Hit, Report
from onebrain.web import views

LIMIT = 50  # as many as Omnisearch gives


def request_of(question: str, now: date) -> Request:
    """As fast as it gets: the scripts ask beside every web search and wait for nobody to write a passage."""
    return Request(text=question, now=now, mode="what", limit=LIMIT, write_hyde=False)


def results(report: Report, vault: str) -> list[dict[str, Any]]:
    """One entry for each note, best passage first. `offset` counts characters of `excerpt`."""
    best: dict[str, Hit] = {}
    for hit in report.hits:
        best.setdefault(hit.doc_path, hit)
    return [_result(hit, report.query, vault) for hit in list(best.values())[:LIMIT]]


def _result(hit: Hit, question: str, vault: str) -> dict[str, Any]:
    excerpt = views.plain(hit.snippet)
    matches: list[tuple[str, int]] = []
    offset = 0
    for piece, lit in views.marked(excerpt, question):
        if lit:
            matches.append((piece, offset))
        offset += len(piece)
    return {
        "score": hit.score,
        "vault": vault,
        "path": hit.doc_path,
        "basename": hit.doc_path.rsplit("/", 1)[-1].removesuffix(".md"),
        "foundWords": sorted({word.casefold() for word, _ in matches}),
        "matches": [{"match": word, "offset": at} for word, at in matches],
        "excerpt": excerpt,
        "url": obsidian_uri(vault, hit.doc_path),
    }

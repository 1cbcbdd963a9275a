"""Answers as Markdown, for notes, chats and reports: the same content as `text`, the chain as a table, every claim with its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from onebrain.render.plain import one_line
from onebrain.render.text import TOP, dated, no_match, written_by
from onebrain.search.report import Band, ChainLink, Hit, Mode, Quote, Report, Synthesis, Verdict

_MARKS = re.compile(r"([\\`*_\[\]<>|#~$])")


def answer(report: Report, *, everything: bool = False) -> str:
    """The composed answer; see `text.answer`."""
    shown = report.hits if everything else report.sources
    if report.mode is Mode.WHY and report.chain:
        blocks = ["🕐 **Decision chain** (chronological):", _chain(report.chain), *([_direct(report.answer)] if report.answer else ())]
        blocks += [*_worded(report.synthesis, report.quoted), _files(report.quoted)]
    elif report.verdict is Verdict.NONE:
        blocks = [no_match(escape(report.query))]
    else:
        blocks = [_direct(report.answer), *_worded(report.synthesis, report.quoted)] if report.answer else []
    if shown and (everything or not (report.chain or report.verdict is Verdict.NONE)):
        blocks.append("\n".join(_sources(shown)))
    blocks += [f"> {escape(note)}" for note in report.notes]
    return "\n\n".join(blocks) + "\n"


def escape(text: str) -> str:
    """Text of a note as plain words: its own Markdown must not become ours."""
    return _MARKS.sub(r"\\\1", one_line(text))


def code(text: str) -> str:
    """A path as code, fenced with more backticks than it holds."""
    text = one_line(text)
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    return f"{fence} {text} {fence}" if len(fence) > 1 else f"`{text}`"


def _direct(quotes: Sequence[Quote]) -> str:
    return "📌 " + " ".join(f"{escape(quote.text)} ({_cited([quote])}){dated(quote)}" for quote in quotes)


def _worded(synthesis: Synthesis | None, quoted: Sequence[Quote | ChainLink]) -> Iterable[str]:
    """See `text`: what a model made of the quotes, under its own mark."""
    if synthesis is not None:
        said = (f"{escape(sentence.text)} ({_cited([quoted[n - 1] for n in sentence.cites])})" for sentence in synthesis.sentences)
        yield f"✍️ *In other words* ({escape(written_by(synthesis))}): {' '.join(said)}"


def _cited(quotes: Iterable[Quote | ChainLink]) -> str:
    return ", ".join(dict.fromkeys(code(f"{quote.path}:{quote.line}") for quote in quotes))


def _sources(hits: Sequence[Hit]) -> Iterable[str]:
    yield f"📚 **Sources** (top {max(TOP, len(hits))} by relevance):"
    yield ""
    for number, hit in enumerate(hits, 1):
        heading = hit.heading_path.rsplit(" > ", 1)[-1] or hit.line_start
        mark = {Band.POSSIBLE: " *(possible match)*", Band.WEAK: " *(no strong match)*"}.get(hit.band, "")
        yield f"{number}. {code(f'{hit.doc_path}:{heading}')} — {escape(hit.snippet)}{mark}"


def _chain(chain: Sequence[ChainLink]) -> str:
    return "\n".join(("| Date | Event | Rationale |", "| --- | --- | --- |", *(_row(link) for link in chain)))


def _row(link: ChainLink) -> str:
    superseded = f" *(superseded by {escape(link.superseded_by)})*" if link.superseded_by else ""
    cited = code(f"{link.path}:{link.line}").replace("|", "\\|")
    quote = f"“{escape(link.quote)}” " if link.quote else ""
    return f"| {link.date} | {escape(link.event)}{superseded} | {quote}({cited}) |"


def _files(quoted: Sequence[Quote | ChainLink]) -> str:
    return "📚 **Sources:** " + ", ".join(dict.fromkeys(code(quote.path) for quote in quoted))

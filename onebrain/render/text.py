"""Answers as people read them. The marks and the wording are the seed's: 📌 an answer, 📚 its sources, 🕐 a chain of decisions, 🔴 nothing.

Nothing here decides what is true: what was only possible stays marked as possible, and what is quoted stays verbatim but for line
breaks and control characters. Only excerpts are cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from onebrain.render.json import index_hint
from onebrain.render.plain import Style, clean, clip, one_line
from onebrain.render.state import Failure, Reindexed, Status
from onebrain.search.report import Band, ChainLink, Hit, Mode, Quote, Report, Stage, Synthesis, Verdict

STEPS = (
    "→ [step 1/4] detecting question type · routing to search...",
    "→ [step 2/4] running search lex+vec+hyde across all sources...",
    "→ [step 3/4] scoring + ranking results...",
    "→ [step 4/4] formatting answer...",
)
PLAIN = Style()
LONGEST_QUERY = 200  # cells of a question said back
EXCERPT = 80  # cells of a one-line excerpt, as the original's templates have it
NO_MODEL = "not available — run `onebrain search model prepare`"
TOP = 5  # sources that the seed shows


def answer(report: Report, style: Style = PLAIN, *, everything: bool = False, explain: bool = False) -> str:
    """The composed answer. `everything` lists all hits, weak ones too (`--all`); `explain` adds where the scores come from."""
    shown = report.hits if everything else report.sources
    if report.mode is Mode.WHY and report.chain:
        blocks = [_chain(report.chain, style), *([_direct(report.answer, ())] if report.answer else ())]
        blocks += [*_worded(report.synthesis, report.quoted, ()), _quoted_sources(report)]
        if everything:
            blocks.append(_candidates(shown, style))
    elif report.verdict is Verdict.NONE:
        blocks = [no_match(report.query)]
        if everything and shown:
            blocks.append(_candidates(shown, style))
    else:
        blocks = [_direct(report.answer, shown)] if report.answer else []
        blocks += _worded(report.synthesis, report.quoted, shown)
        if shown:
            blocks.append(_sources(shown, style))
    if report.notes:
        blocks.append("\n".join(f"ℹ️  {one_line(note)}" for note in report.notes))
    if explain:
        blocks.append(explanation(shown or report.hits, report.stages))
    return "\n\n".join(blocks) + "\n"


def no_match(query: str) -> str:
    return f'🔴 No strong match for "{clip(one_line(query), LONGEST_QUERY)}" — nothing in the vault clears the confidence bar.'


def _direct(quotes: Sequence[Quote], sources: Sequence[Hit]) -> str:
    """The sentences, each with the number of its source; a source that isn't listed is cited in place."""
    return "📌 " + " ".join(f"{one_line(quote.text)} {_reference(quote, sources)}{dated(quote)}" for quote in quotes)


def dated(quote: Quote) -> str:
    """The day of a quote's section or note, where the question asks when and the words don't tell."""
    return f" (dated {one_line(quote.date)})" if quote.date else ""


def _worded(synthesis: Synthesis | None, quoted: Sequence[Quote | ChainLink], sources: Sequence[Hit]) -> Iterable[str]:
    """What a model made of the quotes, under its own mark: nobody should take it for a quote."""
    if synthesis is None:
        return
    said = []
    for sentence in synthesis.sentences:
        references = dict.fromkeys(_reference(quoted[n - 1], sources) for n in sentence.cites)
        said.append(f"{one_line(sentence.text)} {' '.join(references)}")
    yield f"✍️  In other words ({written_by(synthesis)}):\n  {' '.join(said)}"


def written_by(synthesis: Synthesis) -> str:
    return f"written by {one_line(synthesis.by)} from the quotes above; each sentence is backed by its quote"


def _reference(quote: Quote | ChainLink, sources: Sequence[Hit]) -> str:
    """The number of the source that holds the very line, else the place itself: another passage of the note doesn't say it."""
    holding = (n for n, hit in enumerate(sources, 1) if hit.doc_path == quote.path and hit.line_start <= quote.line <= hit.line_end)
    number = next(holding, None)
    return f"({one_line(quote.path)}:{quote.line})" if number is None else f"[{number}]"


def _sources(hits: Sequence[Hit], style: Style) -> str:
    return "\n".join((f"📚 Sources (top {max(TOP, len(hits))} by relevance):", *_numbered(hits, style)))


def _candidates(hits: Sequence[Hit], style: Style) -> str:
    return "\n".join((f"Everything that was looked at ({len(hits)}, best first):", *_numbered(hits, style)))


def _numbered(hits: Sequence[Hit], style: Style) -> Iterable[str]:
    for number, hit in enumerate(hits, 1):
        head = f"{number:>3}. {place(hit)}"
        mark = _mark(hit)
        yield head + style.dim(f" — {clip(one_line(hit.snippet), _room(style, head, mark))}") + mark


def _room(style: Style, head: str, mark: str) -> int:
    """Cells left for the excerpt on one line of the screen; never so few that it says nothing."""
    if style.width is None:
        return EXCERPT
    from rich.cells import cell_len

    return max(20, min(EXCERPT, style.width - cell_len(head) - cell_len(mark) - 3))


def place(hit: Hit) -> str:
    """`path:heading`; the line where the passage stands under no heading."""
    heading = hit.heading_path.rsplit(" > ", 1)[-1]
    return f"{one_line(hit.doc_path)}:{one_line(heading) or hit.line_start}"


def _mark(hit: Hit) -> str:
    score = "" if hit.rerank_score is None else f" ({hit.rerank_score:.2f})"
    superseded = f"  · {hit.status}" if hit.status in ("superseded", "deprecated", "rejected") else ""
    if hit.band is Band.POSSIBLE:
        return f"  ⚠️ possible match{score}{superseded}"
    if hit.band is Band.WEAK:
        return f"  no strong match{score}{superseded}"
    return superseded


def _chain(chain: Sequence[ChainLink], style: Style) -> str:
    return "\n".join(("🕐 Decision chain (chronological):", *(_link(link, style) for link in chain)))


def _link(link: ChainLink, style: Style) -> str:
    event = one_line(link.event)
    quote = f' · "{one_line(link.quote)}"' if link.quote else ""
    if link.quote and one_line(link.quote).strip(" .") == event.strip(" ."):  # decision and reason are one sentence: once is enough
        event, quote = f'"{one_line(link.quote)}"', ""
    superseded = style.dim(f" (superseded by {one_line(link.superseded_by)})") if link.superseded_by else ""
    return f"  {style.bold(one_line(link.date))} · {event}{quote}{superseded}"


def _quoted_sources(report: Report) -> str:
    return "📚 Sources: " + ", ".join(dict.fromkeys(one_line(quoted.path) for quoted in report.quoted))


def listing(report: Report, style: Style = PLAIN, *, explain: bool = False) -> str:
    """Ranked hits of `search query|search|vsearch`, one block each."""
    hint = index_hint(report.index, report.stages)
    if not report.hits:
        return "🔍  No results\n" + (f"ℹ️  {hint}\n" if hint else "")
    blocks = [_block(number, hit, style) for number, hit in enumerate(report.hits, 1)]
    if hint:
        blocks.append(f"ℹ️  {hint}")
    if explain:
        blocks.append(explanation(report.hits, report.stages))
    return "\n\n".join(blocks) + "\n"


def _block(number: int, hit: Hit, style: Style) -> str:
    where = one_line(hit.doc_path) + (f" › {one_line(hit.heading_path)}" if hit.heading_path else "")
    mark = {Band.POSSIBLE: "  ⚠️ possible match", Band.WEAK: "  no strong match"}.get(hit.band, "")
    score = f" ({hit.rerank_score:.3f})" if mark and hit.rerank_score is not None else ""
    head = f"📄  {number}. {style.bold(where)}  ({hit.score:.3f}){mark}{score}"
    excerpt = one_line(hit.snippet)
    return f"{head}\n    {style.dim(clip(excerpt, max(20, (style.width or 160) - 4)))}" if excerpt else head


def explanation(hits: Sequence[Hit], stages: Sequence[Stage]) -> str:
    """The parts of each score, and how each step of the search went."""
    lines = ["🔎 Where the scores come from:"]
    for number, hit in enumerate(hits, 1):
        ranked = "unranked" if hit.rerank_score is None else f"rerank_score {hit.rerank_score:.3f}"
        lines.append(f"{number:>3}. {place(hit)} · score {hit.score:.3f} · {ranked} · {hit.band} · {', '.join(hit.legs)}")
        lines += [f"       {name:<24} {part:+.3f}" for name, part in hit.why.items()]
    lines.append("   steps:")
    for stage in stages:
        found = "" if stage.hits is None else f" · {stage.hits} hit(s)"
        reason = f" · {one_line(stage.reason)}" if stage.reason else ""
        lines.append(f"       {stage.name:<12} {stage.status:<8} {stage.ms:8.1f} ms{found}{reason}")
    return "\n".join(lines)


def status(state: Status, vault: str) -> str:
    """The state of the index. What isn't known is said to be unknown, and nothing is `up to date` that wasn't read."""
    behind = [f"{count} {what}" for count, what in ((state.pending_words, "by words"), (state.pending_vectors, "by meaning")) if count]
    known = state.doc_count is not None and state.pending_words is not None and state.pending_vectors is not None
    fresh = "behind: " + ", ".join(behind) + " to index" if behind else "up to date" if known else "unknown"
    empty = "empty — run `onebrain search reindex`" if state.last_indexed_at is None else "no notes in the vault, or all of them excluded"
    rows = [
        ("vault", vault),
        ("collection", state.collection),
        ("notes", _known(state.doc_count)),
        ("passages", _known(state.chunk_count)),
        ("state", fresh if state.doc_count != 0 or behind else empty),
        ("indexed", state.last_indexed_at or "never, or unknown"),
        ("size", "unknown" if state.index_size_bytes is None else _size(state.index_size_bytes)),
        ("meaning", f"{state.embed_model} · {'ready' if state.semantic_available else NO_MODEL}"),
        ("reranker", state.reranker or "none"),
        ("hyde", state.hyde or "none"),
        ("owner", state.owner or "none"),
        ("data", str(state.data_dir)),
    ]
    text = "\n".join(f"{name:<11} {one_line(value)}" for name, value in rows) + "\n"
    if state.error:
        text += f"⚠️  {one_line(state.error)}\n"
    return text + failures(state.failed)


def _known(count: int | None) -> str:
    return "unknown" if count is None else f"{count:,}"


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def reindexed(result: Reindexed) -> str:
    counts = (
        ("📄", result.added, "added"),
        ("♻️", result.updated, "updated"),
        ("🚚", result.moved, "moved"),
        ("🗑️", result.removed, "removed"),
        ("⏭️", result.unchanged, "unchanged"),
        ("⚠️", result.failed, "failed"),
    )
    touched = [f"{mark}  {count} {what}" for mark, count, what in counts if count]
    if result.embedded:
        touched.append(f"🧭  {result.embedded:,} passage{'' if result.embedded == 1 else 's'} embedded")
    changed = any((result.added, result.updated, result.moved, result.removed, result.failed, result.embedded))
    said = [f"✅  reindexed — {' · '.join(touched) if changed else 'nothing to update'}\n"]
    said += [f"  ℹ️  {one_line(reason)}\n" for reason in result.reasons]
    if result.held_back:
        said.append(f"  ⚠️  {one_line(result.held_back)}\n")
    if result.problems:
        said.append(f"  ℹ️  {len(result.problems)} note(s) indexed although something is odd; --json lists them\n")
    return "".join(said) + failures(result.failures)


def failures(failed: Sequence[Failure]) -> str:
    return "".join(f"  ⚠️  {one_line(f.path)}{f':{f.line}' if f.line else ''} — {one_line(f.reason)}\n" for f in failed)


def note_text(text: str) -> str:
    """A note as it stands, safe to print, ending with a line feed."""
    return clean(text) + ("" if text.endswith("\n") else "\n")

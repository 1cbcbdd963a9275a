"""`onebrain eval`: ask labelled questions, then judge the answers. Two steps, so that one run can be judged again and again."""

from __future__ import annotations

import time
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from onebrain.cli.base import App, Json, Quiet, session
from onebrain.errors import BadRequest, OneBrainError, StorageFull

app = App("Measure answers on labelled questions: `run` asks them, `score` judges what came out.")

Questions = Annotated[list[Path], typer.Argument(metavar="QUESTIONS.jsonl...", show_default=False)]


@app.command("run", help="Ask the questions of one vault and write a line for each. Goes on where it was stopped.")
def run(
    ctx: typer.Context,
    questions: Questions,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where the results go.")],
    corpus: Annotated[list[str] | None, typer.Option("--corpus", metavar="NAME", help="Only questions about this corpus.")] = None,
    now: Annotated[str | None, typer.Option("--now", metavar="DAY", help="The day the questions are asked on; default: today.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Throw away what the file holds and start again.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Keep the parts of every score.")] = False,
    hyde: Annotated[bool, typer.Option("--hyde", help="Write hypothetical passages too; seconds for each doubtful question.")] = False,
    no_rerank: Annotated[bool, typer.Option("--no-rerank", help="Leave the cross-encoder out.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    from onebrain.cli.progress import Bar
    from onebrain.evaluate import run as running

    current = session(ctx)
    here = current.terminal.cwd
    file = here / out
    records = [record for path in questions for record in running.read_lines(here / path)]
    asked = running.of_corpus(records, corpus or [], current.config.vault.name)
    if fresh:
        file.unlink(missing_ok=True)
    with current.brain() as brain, Bar(current.terminal, shown=current.terminal.err_tty and not quiet) as bar:
        brain.reindex(progress=bar.update)  # all of it: figures of half an index mean nothing
        counts = running.run(
            asked,
            brain.ask,
            file,
            config=current.config,
            now=_day(now) or current.terminal.today(),
            clock=time.perf_counter,
            progress=bar.update,
            explain=explain,
            write_hyde=hyde,
            rerank=not no_rerank,
        )
    for name, reason in counts.failed:
        current.warn("W_QUESTION", f"{name}: {reason}")
    current.give(
        lambda: {"asked": counts.asked, "kept": counts.kept, "failed": len(counts.failed), "out": str(file)},
        lambda: f"✅  {counts.asked} asked · {counts.kept} kept from before · {len(counts.failed)} failed → {file}\n",
    )
    if counts.failed:
        raise typer.Exit(OneBrainError.exit_code)


@app.command("score", help="Judge the results of a run.")
def score(
    ctx: typer.Context,
    questions: Questions,
    results: Annotated[list[Path], typer.Option("--results", metavar="FILE", help="What `eval run` wrote; may be given again.")],
    corpus: Annotated[list[str] | None, typer.Option("--corpus", metavar="NAME", help="Only questions about this corpus.")] = None,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write the figures as one self-contained page.")] = None,
    title: Annotated[str | None, typer.Option("--title", help="Heading of the page.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    from onebrain.evaluate import run as running
    from onebrain.evaluate.score import score as judge
    from onebrain.evaluate.score import table

    current = session(ctx)
    here = current.terminal.cwd
    records = [record for path in questions for record in running.read_lines(here / path)]
    asked = running.of_corpus(records, corpus, "") if corpus else records
    answers = running.by_id(record for path in results for record in running.read_lines(here / path))
    try:
        scores = judge(asked, answers)
    except (KeyError, TypeError) as fault:
        raise BadRequest(f"A question or a result lacks a field or has it wrong: {fault}.") from fault
    if html:
        from onebrain.evaluate.page import page

        _write(here / html, page(scores, title or f"onebrain on {len(asked)} questions, {current.terminal.today()}"))
        current.note(f"ℹ️  Wrote {here / html}.")
    current.give(lambda: {"kinds": dict(scores.kinds), "summary": dict(scores.summary)}, lambda: table(scores))


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageFull(f"{file} can't be written: {error.strerror}.") from error


def _day(text: str | None) -> date | None:
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        raise BadRequest(f"--now needs a day such as 2026-01-31, not {text!r}.") from None

"""`onebrain search`: a question, or a verb of the index. The first word decides; `--` or `search query` makes a verb a word again."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum
from math import isnan
from typing import Annotated, Any

import typer

from onebrain.cli.base import App, Group, Json, NoDaemon, Quiet, Session, session
from onebrain.cli.models import app as models
from onebrain.cli.words import Spellings, sort
from onebrain.errors import BadRequest, OneBrainError
from onebrain.render.json import listing_data, reindex_data, report_data, status_data
from onebrain.search.question import Filters, Legs, Request
from onebrain.search.report import Report, Verdict

QUESTION = "ask"  # the command a question is given to; hidden, since people just ask
TEXT_VERBS = {QUESTION: Legs.HYBRID, "query": Legs.HYBRID, "search": Legs.LEX, "vsearch": Legs.VEC}
ANSWER_LIMIT = 5  # sources of an answer (seed 003, "Top-K cap")

HELP = {
    QUESTION: "Ask: a composed answer to a what-question, the chain of decisions for a why-question.",
    "query": "Ranked hits of all legs together.",
    "search": "Ranked hits by words alone.",
    "vsearch": "Ranked hits by meaning alone.",
}


class ModeChoice(StrEnum):
    AUTO = "auto"
    WHAT = "what"
    WHY = "why"


class Format(StrEnum):
    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"


class SearchGroup(Group):
    """Sorts questions from verbs before the parser sees them, so that no punctuation of a question is taken for syntax."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        found = sort(args, self._spellings(ctx))
        word = found.words[0] if found.words else None
        if word in self.commands and word not in TEXT_VERBS and found.first is not None:
            return super().parse_args(ctx, [args[found.first], *args[: found.first], *args[found.first + 1 :]])
        if not found.words and not found.quoted and "--help" in found.options:
            return super().parse_args(ctx, ["--help"])
        verb, words = (word, found.words[1:]) if word in TEXT_VERBS and word != QUESTION else (QUESTION, found.words)
        return super().parse_args(ctx, [verb, *found.options, "--", *words, *found.quoted])

    def _spellings(self, ctx: Any) -> Spellings:
        commands = [*self.commands.values(), *getattr(self.commands.get("model"), "commands", {}).values()]
        options = [p for command in commands for p in command.get_params(ctx) if p.param_type_name == "option"]
        flags = {spelling for option in options if option.is_flag for spelling in option.opts}
        return Spellings(frozenset(flags), frozenset(s for option in options if not option.is_flag for s in option.opts))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return ["QUESTION... [OPTIONS]  |  VERB ..."]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        self.commands[QUESTION].format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


app = App(
    "Ask the vault what was decided, when and why. A first word that is one of the commands below is that command; "
    "anything else is the question.\n\n"
    'In the question: "a phrase", -word to exclude, tag:x path:x type:x after:2026-01-01 before:2026-02-01.',
    cls=SearchGroup,
)
app.add_typer(models, name="model")

Texts = list[str] | None


def _asker(verb: str) -> Callable[..., None]:
    """The four commands that take a text have one signature and one body; they differ in which hits are asked for and how shown."""

    def command(
        ctx: typer.Context,
        words: Annotated[Texts, typer.Argument(metavar="QUESTION...", show_default=False)] = None,
        mode: Annotated[ModeChoice, typer.Option(help="Kind of question; auto finds out.")] = ModeChoice.AUTO,
        everything: Annotated[bool, typer.Option("--all", help="The full ranked list.")] = False,
        limit: Annotated[int | None, typer.Option("--limit", "-n", "--top-k", metavar="N", help="How many hits.")] = None,
        lex: Annotated[Texts, typer.Option(metavar="TEXT", help="A further query for the word search.")] = None,
        vec: Annotated[Texts, typer.Option(metavar="TEXT", help="A further query for the meaning search.")] = None,
        hyde: Annotated[Texts, typer.Option(metavar="TEXT", help="A passage as the answer might read.")] = None,
        path: Annotated[Texts, typer.Option(metavar="PATH", help="Only this note or folder.")] = None,
        tag: Annotated[Texts, typer.Option(metavar="TAG", help="Only notes with this tag.")] = None,
        type_: Annotated[Texts, typer.Option("--type", metavar="TYPE", help="Only this kind of note: session, project, ...")] = None,
        after: Annotated[str | None, typer.Option(metavar="DAY", help="Only notes of this day or later.")] = None,
        before: Annotated[str | None, typer.Option(metavar="DAY", help="Only notes of this day or earlier.")] = None,
        min_score: Annotated[float | None, typer.Option(metavar="S", help="Leave out hits and decisions that score less.")] = None,
        no_rerank: Annotated[bool, typer.Option("--no-rerank", help="Leave the cross-encoder out: faster, a little less sure.")] = False,
        no_hyde: Annotated[bool, typer.Option("--no-hyde", help="Don't write a hypothetical passage.")] = False,
        no_synthesis: Annotated[bool, typer.Option("--no-synthesis", help="Don't word the answer, where that is configured.")] = False,
        explain: Annotated[bool, typer.Option("--explain", help="Show where every score comes from.")] = False,
        format_: Annotated[Format, typer.Option("--format", help="How to print the answer.")] = Format.TEXT,
        as_json: Json = False,
        progress: Annotated[bool, typer.Option("--progress", help="Show the steps also when piped.")] = False,
        quiet: Quiet = False,
        no_daemon: NoDaemon = False,
    ) -> None:
        current = session(ctx)
        composed = verb == QUESTION
        steps = Steps(current, shown=composed and not quiet and (progress or current.terminal.err_tty))
        text = " ".join(words or ()).strip()
        if not text:
            raise BadRequest("There is no question.", hint='Ask one: onebrain search "why did we drop Kafka?"')
        if min_score is not None and (isnan(min_score) or composed and not 0 <= min_score <= 1):
            raise BadRequest(f"--min-score needs a number from 0 to 1, not {min_score:g}.")
        steps.show(1)
        request = Request(
            text=text,
            now=current.terminal.today(),
            mode=None if mode is ModeChoice.AUTO else mode.value,
            legs=TEXT_VERBS[verb],
            filters=Filters(
                paths=_named("--path", path),
                tags=_named("--tag", tag),
                types=_named("--type", type_),
                after=_day("--after", after),
                before=_day("--before", before),
            ),
            lex=tuple(lex or ()),
            vec=tuple(vec or ()),
            hyde=tuple(hyde or ()),
            limit=_limit(limit, ANSWER_LIMIT if composed else current.config.search.default_top_k),
            everything=everything,
            rerank=not no_rerank,
            write_hyde=not no_hyde,
            write_synthesis=composed and not no_synthesis,
            min_score=min_score,
        )
        with current.brain(sync=True) as brain:
            steps.show(2)
            report = brain.ask(request)
        steps.show(3, 4)
        if not composed and not everything:
            report = replace(report, hits=report.hits[: request.limit])
        _give(current, report, Shape(composed, everything, explain, format_))

    return command


for _verb in TEXT_VERBS:
    app.command(_verb, help=HELP[_verb], hidden=_verb == QUESTION)(_asker(_verb))


@dataclass(frozen=True, slots=True)
class Shape:
    """How an answer is to be shown."""

    composed: bool
    everything: bool
    explain: bool
    form: Format


def _give(current: Session, report: Report, shape: Shape) -> None:
    from onebrain.render import markdown, text

    def data() -> dict[str, object]:
        return (report_data if shape.composed else listing_data)(report, current.config, explain=shape.explain)

    def words() -> str:
        if not shape.composed:
            return text.listing(report, current.terminal.style, explain=shape.explain)
        if shape.form is Format.MARKDOWN:
            return markdown.answer(report, everything=shape.everything)
        return text.answer(report, current.terminal.style, everything=shape.everything, explain=shape.explain)

    for note in () if shape.composed else report.notes:  # a listing has no place for them
        current.warn("W_NOTE", note)
    current.give(data, words)
    if not current.as_json and shape.composed and not shape.everything and report.verdict is Verdict.NONE and report.below_threshold:
        count, best = report.below_threshold
        current.note(f"ℹ️  {count} weaker hit(s) left out, the best at {best:.2f}; --all shows them.")


@dataclass(frozen=True, slots=True)
class Steps:
    """The four progress lines of the seed."""

    session: Session
    shown: bool

    def show(self, *numbers: int) -> None:
        from onebrain.render.text import STEPS

        for number in numbers if self.shown else ():
            self.session.note(STEPS[number - 1])


def _day(option: str, text: str | None) -> str | None:
    try:
        return None if text is None else date.fromisoformat(text).isoformat()
    except ValueError:
        raise BadRequest(f"{option} needs a day such as 2026-01-31, not {text!r}.") from None


def _named(option: str, values: list[str] | None) -> tuple[str, ...]:
    if not all(value.strip() for value in values or ()):
        raise BadRequest(f"{option} needs a name, not an empty text.")
    return tuple(values or ())


def _limit(given: int | None, default: int) -> int:
    if given is not None and given < 1:
        raise BadRequest(f"-n needs a number of at least 1, not {given}.", hint="--all shows every hit.")
    return default if given is None else given


@app.command("get", help="Print a note; from a line on, a range of lines (PATH:3-9) or a section (PATH:HEADING) where one is named.")
def get(
    ctx: typer.Context,
    target: Annotated[str, typer.Argument(metavar="PATH[:PLACE]")],
    from_line: Annotated[int | None, typer.Option(metavar="N", min=1, help="First line to print.")] = None,
    max_lines: Annotated[int | None, typer.Option(metavar="N", min=1, help="How many lines at most.")] = None,
    line_numbers: Annotated[bool, typer.Option("--line-numbers", help="Number the lines.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
    no_daemon: NoDaemon = False,
) -> None:
    from onebrain.render.text import note_text

    current = session(ctx)
    if not target.strip():
        raise BadRequest("There is no path.", hint="Name a note by its path in the vault: onebrain search get notes/plan.md")
    with current.brain() as brain:
        note = brain.get(_in_vault(target, current), from_line, max_lines)
    if note.problem:
        current.warn("W_NOTE_ODD", f"{note.path}: {note.problem}.")
    if not note.text.strip():
        current.note(f"ℹ️  {note.path} is empty{'' if note.line_start == 1 else ' from there on'}.")

    def words() -> str:
        if not line_numbers:
            return note_text(note.text)
        return "".join(f"{number:>6}  {note_text(line)}" for number, line in enumerate(note.text.split("\n"), note.line_start))

    current.give(lambda: {"path": note.path, "line_start": note.line_start, "line_end": note.line_end, "text": note.text}, words)


@app.command("status", help="Say what is indexed, what is not yet, and what could not be.")
def status(ctx: typer.Context, as_json: Json = False, quiet: Quiet = False, no_daemon: NoDaemon = False) -> None:
    from onebrain.brain import Status as Known
    from onebrain.render import text
    from onebrain.render.state import Status

    current = session(ctx)
    config = current.config
    state: Status
    try:
        with current.brain() as brain:
            state = brain.status()
    except OneBrainError as error:  # a status that fails would say least when it matters most
        code = "W_ENGINE_BUSY" if error.code == "E_ENGINE_BUSY" else "W_STATUS_UNREADABLE"
        current.warn(code, f"{error.message} {error.hint or ''}".strip())
        state = Known(config.search.collection, config.search.embed_model, config.data_dir, error=error.message)
    current.give(lambda: status_data(state), lambda: text.status(state, str(config.vault)))


@app.command("reindex", help="Bring the index in step with the vault, or with the PATHS alone.")
def reindex(
    ctx: typer.Context,
    paths: Annotated[Texts, typer.Argument(metavar="[PATHS]...", show_default=False)] = None,
    force: Annotated[bool, typer.Option("--force", help="Build everything anew.")] = False,
    lex_only: Annotated[bool, typer.Option("--lex-only", help="Words now; meaning stays pending.")] = False,
    pending_only: Annotated[bool, typer.Option("--pending-only", help="Only what has no vectors yet.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
    no_daemon: NoDaemon = False,
) -> None:
    from onebrain.cli.progress import Bar
    from onebrain.render import text

    current = session(ctx)
    if force + lex_only + pending_only > 1:
        raise BadRequest("--force, --lex-only and --pending-only exclude one another.")
    if force and paths:
        raise BadRequest("--force builds the whole index, so it takes no paths.")
    inside = tuple(_inside(path, current) for path in paths or ())
    with current.brain() as brain, Bar(current.terminal, shown=current.terminal.err_tty and not quiet) as bar:
        result = brain.reindex(inside, force=force, lex_only=lex_only, pending_only=pending_only, progress=bar.update)
    if not paths and not pending_only and not any((result.added, result.updated, result.moved, result.unchanged, result.failed)):
        current.note("ℹ️  There are no notes in the vault, or `search.exclude` leaves all of them out.")
    current.give(lambda: reindex_data(result), lambda: "" if quiet and not result.failed else text.reindexed(result))


def _in_vault(target: str, current: Session) -> str:
    """A path from the root of the disk, or with `./`, as the vault knows it; any other is the vault's own."""
    if not (os.path.isabs(target) or target.startswith(("./", f".{os.sep}"))):
        return target
    return _inside(target, current)


def _inside(path: str, current: Session) -> str:
    """A path as people give it (from where they are, or from the vault) as the vault knows it."""
    vault, here = current.config.vault, current.terminal.cwd / path
    base = here if here.exists() else vault / path
    inside = os.path.relpath(os.path.normpath(base), vault)
    if inside == ".." or inside.startswith(f"..{os.sep}") or os.path.isabs(inside):
        raise BadRequest(f"{path} is not inside the vault {vault}.")
    return inside.replace(os.sep, "/")

"""`onebrain memory`: what is remembered about people and preferences (seed 000, the memory_search skill), as notes of the vault."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, cast

import typer

from onebrain.cli.base import App, Json, NoDaemon, Quiet, Session, session
from onebrain.disk import replace_file
from onebrain.errors import BadRequest, OneBrainError
from onebrain.memory import facts, keeper, scallop, skill
from onebrain.memory.activation import Strength, prominence, state
from onebrain.memory.keeper import Kept
from onebrain.memory.memories import TYPES, Memory, MemoryShelf, folder
from onebrain.memory.remember import Statement
from onebrain.render.json import dumps
from onebrain.render.plain import clean, clip, one_line
from onebrain.text.dates import parse_day

app = App("Memories about people and preferences: each is a Markdown note in the vault's agent folder.")
SHELF = MemoryShelf()
"""What was read stays for the next question of this process."""

Type = Annotated[str | None, typer.Option("--type", metavar="TYPE", help=f"One of {', '.join(TYPES)}. Default: fact.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="File name of the memory, or its path.")]
Subject = Annotated[str | None, typer.Option("--subject", metavar="WHO", help="Who it is about: user, Bob, ...")]


@app.command(
    "search",
    help="Find memories. Reads SKILL_ARGS, or the options. Prints one line of JSON.",
    context_settings={"ignore_unknown_options": True},
)
def search(
    ctx: typer.Context,
    words: Annotated[list[str] | None, typer.Argument(metavar="QUERY...", show_default=False)] = None,
    type_: Type = None,
    subject: Subject = None,
    limit: Annotated[str | None, typer.Option("--limit", "-n", metavar="N", help="How many at most: 1 to 50. Default: 10.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show where every score comes from.")] = False,
    as_json: Annotated[bool, typer.Option("--json", hidden=True)] = False,
    quiet: Quiet = False,
    no_daemon: NoDaemon = False,
) -> None:
    current = session(ctx)
    result = _search(current, words, type_, subject, limit, explain)
    current.terminal.say(dumps(result.fields()) + "\n")
    if result.exit_code:
        raise typer.Exit(result.exit_code)


def _search(
    current: Session, words: Sequence[str] | None, kind: str | None, subject: str | None, limit: str | None, explain: bool
) -> skill.Result:
    current.as_json = False  # cautions go to stderr: stdout has one line
    try:
        given = words or (kind, subject, limit) != (None, None, None)
        ask = (
            skill.asked(" ".join(words or ()), kind, subject, _number(limit))
            if given
            else skill.read_arguments(current.terminal.env.get("SKILL_ARGS"))
        )
    except BadRequest as wrong:
        return skill.Result.failed(wrong.message)
    try:
        with current.brain(sync=True) as brain, brain.library() as library:
            vault, today = current.config.vault, current.terminal.today()
            any_notes = bool(library.notes())
            answer = facts.answer(library, vault, brain.embed_query, brain.ask, _memories(current), ask, today)
    except (OneBrainError, OSError) as error:
        return skill.Result.failed(f"Memory search failed: {error}")
    if not answer.by_meaning and any_notes:
        current.warn("W_NO_VECTORS", "No vectors: memories are matched by words alone.")
    return skill.Result(True, skill.output(answer.found, explain=explain), 0)


def _number(text: str | None) -> object:
    """A number, or the text itself for the contract to refuse."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def _memories(current: Session) -> list[Memory]:
    found, problems = SHELF.load(current.config)
    for problem in problems:
        current.warn("W_MEMORY", problem)
    return found


@app.command(
    "add",
    help="Remember what the user said. Saying it again confirms it. `-` reads it from standard input.",
    context_settings={"ignore_unknown_options": True},
)
def add(
    ctx: typer.Context,
    words: Annotated[list[str], typer.Argument(metavar="TEXT...")],
    type_: Annotated[
        str, typer.Option("--type", metavar="TYPE", help="fact, preference, event, relationship, insight or context.")
    ] = "fact",
    subject: Subject = None,
    importance: Annotated[float, typer.Option(metavar="1-10", help="How much it matters.")] = 5.0,
    confidence: Annotated[float, typer.Option(metavar="0-1", help="How sure it is.")] = 0.8,
    event_date: Annotated[str | None, typer.Option(metavar="DAY", help="The day it happened or happens.")] = None,
    topics: Annotated[str, typer.Option(metavar="A,B", help="Words it is to be found by.")] = "",
    as_json: Json = False,
    quiet: Quiet = False,
    no_daemon: NoDaemon = False,
) -> None:
    current = session(ctx)
    text = current.terminal.read_stdin() if list(words) == ["-"] else " ".join(words)
    day = _day(event_date)
    today = current.terminal.today()
    strength = Strength(type_.casefold(), today, day, importance, confidence)
    listed = tuple(topic.strip() for topic in topics.split(",") if topic.strip())
    _give(current, keeper.add(current.config, Statement(text.strip(), strength, subject, listed), _memories(current), today))


@app.command("confirm", help="The user said it again: it grows stronger. Only this does that; finding it does not.")
def confirm(ctx: typer.Context, memory_id: Id, as_json: Json = False, quiet: Quiet = False, no_daemon: NoDaemon = False) -> None:
    current = session(ctx)
    _give(current, keeper.confirm(current.config, keeper.one(_memories(current), memory_id), current.terminal.today()))


@app.command("supersede", help="Another memory holds instead: the old one stays as a record of the past.")
def supersede(
    ctx: typer.Context,
    memory_id: Id,
    by: Annotated[str | None, typer.Option("--by", metavar="ID", help="The memory that holds now.")] = None,
    text: Annotated[str | None, typer.Option("--with", metavar="TEXT", help="What holds now; becomes a new memory.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    no_daemon: NoDaemon = False,
) -> None:
    current = session(ctx)
    memories = _memories(current)
    if (by is None) == (text is None):
        raise BadRequest("Say what holds now: --by ID or --with TEXT.")
    old = keeper.one(memories, memory_id)
    new = keeper.one(memories, by) if by is not None else (text or "").strip()
    _give(current, keeper.supersede(current.config, memories, old, new, current.terminal.today()))


def _give(current: Session, kept: Kept) -> None:
    said = {"added": f"Added {kept.path}", "confirmed": f"Confirmed {kept.path} (said {kept.times} times)"}
    text = said.get(kept.action, f"{kept.path} is superseded by {kept.superseded_by}")
    replaced: dict[str, object] = {} if kept.superseded_by is None else {"superseded_by": kept.superseded_by}
    data = {"action": kept.action, "id": kept.id, "path": kept.path, "confirmed": kept.times, **replaced}
    current.give(lambda: data, lambda: clean(text) + "\n")


@app.command("list", help="List memories with what they are worth now.")
def list_(
    ctx: typer.Context,
    type_: Annotated[str, typer.Option("--type", metavar="TYPE", help=f"One of {', '.join(TYPES)}.")] = "all",
    subject: Subject = None,
    everything: Annotated[bool, typer.Option("--all", help="Superseded ones too.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
    no_daemon: NoDaemon = False,
) -> None:
    current = session(ctx)
    today = current.terminal.today()
    if type_.casefold() not in TYPES:
        raise BadRequest(f"type must be one of {', '.join(TYPES)}")
    kinds = TYPES[type_.casefold()]
    shown = [
        memory
        for memory in _memories(current)
        if (kinds is None or memory.category in kinds)
        and (subject is None or (memory.subject or "").casefold() == subject.casefold())
        and (everything or not memory.superseded)
    ]
    rows = [f"{memory.id}  [{memory.category}] {_first_line(memory)} ({_worth(memory, today)})" for memory in shown]
    current.give(
        lambda: {"memories": [_data(memory, today) for memory in shown]}, lambda: clean("\n".join(rows or ["No memories yet."])) + "\n"
    )


@app.command("status", help="Count memories by kind and by how present they are.")
def status(ctx: typer.Context, as_json: Json = False, quiet: Quiet = False, no_daemon: NoDaemon = False) -> None:
    current = session(ctx)
    today = current.terminal.today()
    memories = _memories(current)
    current_ones = [memory for memory in memories if not memory.superseded]
    kinds = sorted({memory.category for memory in memories})
    states = [state(prominence(memory.strength, today)) for memory in current_ones]
    data: dict[str, object] = {
        "folder": str(folder(current.config)),
        "memories": len(memories),
        "superseded": len(memories) - len(current_ones),
        "types": {kind: sum(memory.category == kind for memory in memories) for kind in kinds},
        "states": {name: states.count(name) for name in ("active", "dormant", "archived")},
        "confirmations": sum(memory.strength.confirmed - 1 for memory in current_ones),
        "problems": [f"{memory.path}: {problem}" for memory in memories for problem in memory.problems],
    }

    def shown() -> str:
        types = ", ".join(f"{kind} {count}" for kind, count in cast(dict[str, int], data["types"]).items())
        present = ", ".join(f"{name} {count}" for name, count in cast(dict[str, int], data["states"]).items())
        lines = [f"Memories: {len(memories)} in {data['folder']}", f"  types: {types or 'none'}", f"  present: {present}"]
        lines += [f"  superseded: {data['superseded']}", f"  confirmations: {data['confirmations']}"]
        return clean("\n".join([*lines, *(f"⚠️  {problem}" for problem in cast(list[str], data["problems"]))])) + "\n"

    current.give(lambda: data, shown)


@app.command("export", help="Print all memories, superseded ones too, as JSON; or write them to FILE.")
def export(
    ctx: typer.Context,
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", show_default=False)] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    no_daemon: NoDaemon = False,
) -> None:
    current = session(ctx)
    today = current.terminal.today()
    rows = [_data(memory, today) for memory in _memories(current)]
    text = json.dumps({"version": "1", "memories": rows}, ensure_ascii=False, indent=2) + "\n"
    if file is None:
        current.give(lambda: {"memories": rows}, lambda: clean(text))
        return
    target = current.terminal.cwd / file
    if target.exists():
        raise BadRequest(f"{target} is already there.", hint="Name another file.")
    replace_file(target, text)
    current.give(lambda: {"file": str(target), "memories": len(rows)}, lambda: f"{len(rows)} memories written to {target}\n")


@app.command("import", help="Take over the memories of a scallopbot memories.db. What is already there is not taken twice.")
def import_(
    ctx: typer.Context,
    database: Annotated[Path, typer.Argument(metavar="memories.db")],
    user: Annotated[str, typer.Option("--user", metavar="ID", help="Whose memories.")] = "default",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
    no_daemon: NoDaemon = False,
) -> None:
    current = session(ctx)
    dump = scallop.read_database(current.terminal.cwd / database, user)
    done = keeper.bring(current.config, dump, _memories(current), dry_run=dry_run)
    data: dict[str, object] = {"imported": len(done.ids), "left_out": dict(done.left_out), "dry_run": dry_run, "ids": list(done.ids)}
    verb = "would be imported" if dry_run else "imported"
    lines = [f"{len(done.ids)} memories {verb}", *(f"  left out: {count} {reason}" for reason, count in done.left_out.items())]
    current.give(lambda: data, lambda: clean("\n".join(lines)) + "\n")


def _day(text: str | None) -> date | None:
    if text is None:
        return None
    found = parse_day(text)
    if found is None:
        raise BadRequest(f"--event-date needs a day such as 2026-01-31, not {text!r}.")
    return date.fromisoformat(found)


def _first_line(memory: Memory) -> str:
    return clip(one_line(memory.content), 80)


def _worth(memory: Memory, today: date) -> str:
    if memory.superseded:
        return f"superseded by {memory.superseded_by}" if memory.superseded_by else "superseded"
    present = prominence(memory.strength, today)
    return f"{state(present)} {present:.2f}, said {memory.strength.confirmed}×"


def _data(memory: Memory, today: date) -> dict[str, object]:
    strength = memory.strength
    present = prominence(strength, today)
    return {
        "id": memory.id,
        "path": memory.path,
        "type": memory.category,
        "content": memory.content,
        "subject": memory.subject,
        "topics": list(memory.topics),
        "stored": strength.stored.isoformat(),
        "event_date": strength.event_date.isoformat() if strength.event_date else None,
        "importance": strength.importance,
        "confidence": strength.confidence,
        "confirmed": strength.confirmed,
        "last_confirmed": strength.last_confirmed.isoformat() if strength.last_confirmed else None,
        "prominence": round(present, 4),
        "state": "superseded" if strength.superseded else state(present),
        "superseded_by": memory.superseded_by,
    }

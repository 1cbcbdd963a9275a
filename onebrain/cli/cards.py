"""`onebrain cards`: the session memory of a project (seed 002), where people type `/session-memory:search`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from onebrain.cli.base import App, Json, NoDaemon, Quiet, Session, session
from onebrain.errors import BadRequest
from onebrain.memory.card_files import ROOT, SessionMemory, Shelf
from onebrain.memory.card_query import FILTER_KEYS, parse_query
from onebrain.memory.cards import NO_MEMORY, Card, Scored, find, no_results, render
from onebrain.render.plain import clean

app = App("Search knowledge cards and session events of a project: .claude/memory/cards and .claude/memory/events.")

SHELF = Shelf()
"""What was read stays for the next question of this process; a daemon answers from memory."""

Project = Annotated[Path | None, typer.Option("--project", metavar="DIR", help="The project; default: the current folder.")]
_FILTER = re.compile(rf"({'|'.join(FILTER_KEYS)}):", re.IGNORECASE)


@app.command(
    "search",
    help="Find cards and events by words and filters: tag: type: file: importance:>=2 status: author:",
    context_settings={"ignore_unknown_options": True},
)
def search(
    ctx: typer.Context,
    words: Annotated[list[str] | None, typer.Argument(metavar="QUERY...", show_default=False)] = None,
    project: Project = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show where every score comes from.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
    no_daemon: NoDaemon = False,
) -> None:
    current = session(ctx)
    text = _query(words or [])
    if not text:
        raise BadRequest("There is no query.", hint="Search for words or filters: onebrain cards search tag:auth type:gotcha")
    memory = _load(current, project)
    query = parse_query(text)
    found = find(query, memory.cards, memory.events, current.terminal.today())

    def shown() -> str:
        if memory.empty:
            return f"{NO_MEMORY}\n"
        blocks = [render(one) + (_explained(one) if explain else "") for one in found]
        return clean("\n\n".join(blocks) if blocks else no_results(text)) + "\n"

    current.give(lambda: {"query": text, "results": [_data(one) for one in found], "empty": memory.empty}, shown)


@app.command("status", help="Say what is there, of which kinds, and what can't be read.")
def status(ctx: typer.Context, project: Project = None, as_json: Json = False, quiet: Quiet = False, no_daemon: NoDaemon = False) -> None:
    current = session(ctx)
    memory = _load(current, project, warn=False)
    counts = _counts(memory)

    def shown() -> str:
        if memory.empty and not memory.problems:
            return f"{NO_MEMORY}\n"
        kinds = [f"  {name}: {', '.join(f'{key} {n}' for key, n in each.items())}" for name, each in counts.items() if each]
        events = f"Events: {len(memory.events)} in {memory.event_files} file(s)"
        bad = f", {memory.bad_lines} line(s) can't be read" if memory.bad_lines else ""
        return clean("\n".join([f"Cards: {len(memory.cards)}", *kinds, events + bad, *(f"⚠️  {p}" for p in memory.problems)])) + "\n"

    current.give(
        lambda: {
            "folder": str(_root(current, project) / ROOT),
            "cards": len(memory.cards),
            **counts,
            "events": len(memory.events),
            "bad_lines": memory.bad_lines,
            "problems": list(memory.problems),
        },
        shown,
    )


def _query(words: Sequence[str]) -> str:
    """The query as typed. The shell has taken the quotes from `author:"Noor Park"` and `"null check"`; among several words they return."""
    return " ".join(_requoted(word) if len(words) > 1 else word for word in words).strip()


def _requoted(word: str) -> str:
    if '"' in word or not re.search(r"\s", word):
        return word
    key = _FILTER.match(word)
    return f'{key.group()}"{word[key.end() :]}"' if key else f'"{word}"'


def _root(current: Session, project: Path | None) -> Path:
    return current.terminal.cwd / (project or "")


def _load(current: Session, project: Path | None, *, warn: bool = True) -> SessionMemory:
    root = _root(current, project)
    if not root.is_dir():
        raise BadRequest(f"There is no folder {root}.", hint="Name the project with --project DIR.")
    memory = SHELF.load(root)
    for problem in memory.problems if warn else ():
        current.warn("W_SESSION_MEMORY", problem)
    return memory


def _counts(memory: SessionMemory) -> dict[str, dict[str, int]]:
    by = {"types": [card.type for card in memory.cards], "statuses": [card.status for card in memory.cards]}
    return {name: {key: values.count(key) for key in sorted(set(values))} for name, values in by.items()}


def _explained(one: Scored) -> str:
    return f"\n  Score: {one.score:.3f} = words {one.keywords:g} × recency {one.recency:.3f} × importance {one.importance:.2f}"


def _data(one: Scored) -> dict[str, object]:
    item = one.item
    why = {"keywords": one.keywords, "recency": one.recency, "importance": one.importance}
    common: dict[str, object] = {
        "score": one.score,
        "why": why,
        "path": item.path,
        "importance": item.importance,
        "files": list(item.files),
    }
    if isinstance(item, Card):
        card = {"title": item.title, "type": item.type, "status": item.status, "created": item.created, "tldr": item.tldr or None}
        return {"kind": "card", **common, **card, "tags": list(item.tags)}
    return {"kind": "event", **common, "line": item.line, "at": item.at, "tool": item.tool, "summary": item.summary}

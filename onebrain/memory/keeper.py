"""Carrying out what the user said about memories: one note is written, or two where one takes another's place.

Every function answers with what it did; nothing here is called by a search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from onebrain.config import Config
from onebrain.disk import replace_file
from onebrain.errors import BadRequest
from onebrain.memory import remember
from onebrain.memory.activation import Strength
from onebrain.memory.memories import Memory, folder
from onebrain.memory.remember import Statement
from onebrain.memory.scallop import Dump, Row


@dataclass(frozen=True, slots=True)
class Kept:
    """`action` is added, confirmed or superseded; `times` how often the memory was said; `path` is vault-relative."""

    action: str
    id: str
    path: str
    times: int = 1
    superseded_by: str | None = None


@dataclass(frozen=True, slots=True)
class Imported:
    """Ids of the new memories, and how many were left out for which reason."""

    ids: tuple[str, ...]
    left_out: Mapping[str, int]


def add(config: Config, statement: Statement, memories: Sequence[Memory], today: date) -> Kept:
    """A new note, or one more confirmation of the memory that says the same. Raises BadRequest for a secret and the like."""
    statement = remember.checked(statement)
    twin = remember.twin_of(statement, memories)
    return confirm(config, twin, today, statement.content) if twin else _new(config, statement, memories)


def confirm(config: Config, memory: Memory, today: date, content: str | None = None) -> Kept:
    if memory.superseded:
        raise BadRequest(f"{memory.id} is superseded, so it can't be confirmed.", hint="Add what holds now.")
    file = config.vault / memory.path
    replace_file(file, remember.confirmed(_text(file), memory, today, content), within=config.vault)
    return Kept("confirmed", memory.id, memory.path, memory.strength.confirmed + 1)


def supersede(config: Config, memories: Sequence[Memory], old: Memory, new: Memory | str, today: date) -> Kept:
    """`new` is the memory that holds now, or its text. The old note stays, marked as a record of the past."""
    if isinstance(new, str):
        remember.superseded(_text(config.vault / old.path), old.id, today)  # raises before the new one is written
        strength = Strength(old.category, today, None, old.strength.importance)
        kept = _new(config, remember.checked(Statement(new, strength, old.subject)), memories)
        name, path = kept.id, kept.path
    else:
        name, path = new.id, new.path
    if path == old.path:
        raise BadRequest("A memory can't supersede itself.")
    successor, former = config.vault / path, config.vault / old.path
    begun, ended = remember.superseding(_text(successor), old.id, today), remember.superseded(_text(former), name, today)
    replace_file(successor, begun, within=config.vault)
    replace_file(former, ended, within=config.vault)
    return Kept("superseded", old.id, old.path, old.strength.confirmed, name)


def bring(config: Config, dump: Dump, memories: Sequence[Memory], *, dry_run: bool = False) -> Imported:
    """The rows of another database as notes. A row that is already there, or holds a secret, is left out and counted."""
    taken = [memory.id for memory in memories]
    have = {(memory.content, memory.strength.event_date) for memory in memories}
    left_out = dict(dump.left_out)
    chosen: list[tuple[str, Row]] = []
    for row in dump.rows:
        reason = _refusal(row, have)
        if reason:
            left_out[reason] = left_out.get(reason, 0) + 1
            continue
        chosen.append((remember.name_for(row.statement.content, taken), row))
        taken.append(chosen[-1][0])
        have.add((row.statement.content, row.statement.strength.event_date))
    names = {row.id: name for name, row in chosen}
    for name, row in chosen if not dry_run else ():
        statement = replace(row.statement, superseded_by=names.get(row.replaced_by or ""))
        replace_file(folder(config) / f"{name}.md", remember.note_text(statement), within=config.vault)
    return Imported(tuple(names.values()), left_out)


def _refusal(row: Row, have: set[tuple[str, date | None]]) -> str | None:
    try:
        statement = remember.checked(row.statement)
    except BadRequest as refused:
        return f"refused: {refused.message}"
    return "already there" if (statement.content, statement.strength.event_date) in have else None


def one(memories: Sequence[Memory], wanted: str) -> Memory:
    """The memory that an id, a file name or a path names. Raises BadRequest with what comes near."""
    name = wanted.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".md").casefold()
    found = [memory for memory in memories if memory.id.casefold() == name]
    exact = [memory for memory in found if memory.path in (wanted, f"{wanted}.md")]
    if len(exact or found) == 1:
        return (exact or found)[0]
    near = [memory.id for memory in memories if name and (name in memory.id.casefold() or memory.id.casefold() in name)][:3]
    hint = f"Did you mean {', '.join(near)}?" if near else "`onebrain memory list` shows the ids."
    raise BadRequest(f"{wanted!r} names {len(found)} memories; give the path." if found else f"There is no memory {wanted!r}.", hint=hint)


def _new(config: Config, statement: Statement, memories: Sequence[Memory]) -> Kept:
    name = remember.name_for(statement.content, [memory.id for memory in memories])
    file = folder(config) / f"{name}.md"
    replace_file(file, remember.note_text(statement), within=config.vault)
    return Kept("added", name, file.relative_to(config.vault).as_posix())


def _text(file: Path) -> str:
    return file.read_bytes().decode("utf-8", errors="surrogateescape")

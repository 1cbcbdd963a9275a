"""Which notes a question may be answered from. Decided before either index is asked, so that a small folder is never empty."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import PurePosixPath

from onebrain.search.question import Filters
from onebrain.vault.library import NoteRecord

NO_NOTES = "No note of this vault is indexed. `onebrain init --dry-run` shows the notes it has."
_NOTHING = Filters()


def matches(note: NoteRecord, filters: Filters) -> bool:
    """All given filters hold; within one kind, any value does. An undated note satisfies no date filter."""
    if filters.paths and not any(_under(note.path, prefix) for prefix in filters.paths):
        return False
    if filters.tags and not any(_tagged(note.tags, tag) for tag in filters.tags):
        return False
    if filters.types and not {t.casefold() for t in filters.types} & {note.source.value, (note.type or "").casefold()}:
        return False
    if filters.after and (note.date is None or note.date < filters.after):
        return False
    return not (filters.before and (note.date is None or note.date > filters.before))


def _under(path: str, prefix: str) -> bool:
    """A note, with or without `.md`, or a folder: whole names of the path, from the vault or from any folder on. `.` is the vault."""
    path, prefix = path.casefold(), prefix.casefold().removeprefix("./").strip("/")
    return prefix in ("", ".", path, path.removesuffix(".md")) or f"/{prefix}/" in f"/{path}"


def _tagged(tags: Iterable[str], wanted: str) -> bool:
    wanted = wanted.casefold()
    return any(tag == wanted or tag.startswith(f"{wanted}/") for tag in (tag.casefold() for tag in tags))


def allowed(notes: Iterable[NoteRecord], filters: Filters) -> frozenset[str] | None:
    """The paths that may be searched; None where there is no restriction."""
    if filters == Filters():
        return None
    return frozenset(note.path for note in notes if matches(note, filters))


def unmatched(notes: Collection[NoteRecord], filters: Filters) -> str | None:
    """Why no note may be answered from, in words for the user, with what comes near; None where one may."""
    if not notes:
        return NO_NOTES
    if any(matches(note, filters) for note in notes):
        return None
    alone: tuple[tuple[Filters, str, tuple[str, ...], set[str]], ...] = (
        (replace(_NOTHING, paths=filters.paths), "lies at", filters.paths, _places(notes)),
        (replace(_NOTHING, tags=filters.tags), "has the tag", filters.tags, {tag for note in notes for tag in note.tags}),
        (replace(_NOTHING, types=filters.types), "is of the type", filters.types, _types(notes)),
    )
    for one, says, wanted, known in alone:
        if wanted and not any(matches(note, one) for note in notes):
            return f"No note {says} {' or '.join(f'“{value}”' for value in wanted)}. {_near(wanted, known)}".rstrip()
    days = replace(_NOTHING, after=filters.after, before=filters.before)
    if days != _NOTHING and not any(matches(note, days) for note in notes):
        dated = sorted(note.date for note in notes if note.date)
        span = f"Their dates run from {dated[0]} to {dated[-1]}." if dated else "None of them has a date."
        limits = [f"{word} {day}" for word, day in (("from", filters.after), ("up to", filters.before)) if day]
        return f"No note is dated {' '.join(limits)}. {span}"
    return "Each filter matches notes, but no note passes all of them together."


def _places(notes: Iterable[NoteRecord]) -> set[str]:
    paths = [PurePosixPath(note.path) for note in notes]
    return {str(place) for path in paths for place in (path, *path.parents) if str(place) != "."}


def _types(notes: Iterable[NoteRecord]) -> set[str]:
    return {name for note in notes for name in (note.source.value, note.type) if name}


def _near(wanted: Iterable[str], known: Iterable[str]) -> str:
    """What was perhaps meant: a name much like it, its last part included."""
    names: dict[str, str] = {}
    for name in sorted(known):
        names.setdefault(name.casefold(), name)
        names.setdefault(name.casefold().rpartition("/")[2].removesuffix(".md"), name)
    sought = [value.casefold().strip("/#").removesuffix(".md") for value in wanted]
    found = [names[key] for value in sought for key in difflib.get_close_matches(value, names, n=3, cutoff=0.6)]
    return f"Near it: {', '.join(dict.fromkeys(found))}." if found else ""

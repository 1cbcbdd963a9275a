"""Which notes a question may be answered from. Decided before either index is asked, so that a small folder is never empty."""

from __future__ import annotations

from collections.abc import Iterable

from onebrain.search.question import Filters
from onebrain.vault.library import NoteRecord


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

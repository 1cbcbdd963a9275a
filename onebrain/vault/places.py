"""Places in a note as people and our own output write them: `note.md:12`, `note.md:12-20`, `note.md:Heading`, `note.md#Heading`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from onebrain.errors import BadRequest
from onebrain.text.marks import plain
from onebrain.vault.links import line_of
from onebrain.vault.note import Heading

_PLACE = re.compile(r"(?P<path>.+?\.(?:md|jsonl))[:#](?P<place>.*)|(?P<bare>.+?):(?P<line>-?\d+(?:-\d+)?)", re.IGNORECASE | re.DOTALL)
_RANGE = re.compile(r"(-?\d+)(?:-(\d+))?")


def split(target: str) -> tuple[str, str]:
    """The path, and the place in it; "" where there is none."""
    match = _PLACE.fullmatch(target)
    if match is None:
        return target, ""
    return (match["path"], match["place"].strip()) if match["path"] else (match["bare"], match["line"])


def lines_at(path: str, place: str, count: int, headings: Sequence[Heading]) -> tuple[int, int]:
    """First and last line of a place in a note of `count` lines, from 1, inclusive. BadRequest where the note has no such place."""
    stated = _RANGE.fullmatch(place)
    if not place:
        return 1, count
    if stated is None:
        return _section(path, place, count, headings)
    first, last = int(stated[1]), int(stated[2] or count)
    if not 1 <= first <= count:
        raise BadRequest(f"{path} has {count} line{'' if count == 1 else 's'}; there is no line {first}.", hint="Lines count from 1.")
    if stated[2] and last < first:
        raise BadRequest(f"{path}:{place} ends before it begins.", hint=f"Write it as {path}:{last}-{first}.")
    return first, min(last, count)


def _section(path: str, name: str, count: int, headings: Sequence[Heading]) -> tuple[int, int]:
    """A section with what is below it. A heading's path is named by its last part, as ours are printed."""
    last = name.rsplit(" > ", 1)[-1]
    line = line_of(headings, last)
    for at, heading in enumerate(headings):
        if heading.line == line:
            after = next((h.line for h in headings[at + 1 :] if h.level <= heading.level), count + 1)
            return heading.line, after - 1
    known = {_folded(heading.text): heading.text for heading in headings}
    near = [known[key] for key in difflib.get_close_matches(_folded(last), known, n=3, cutoff=0.6)]
    hint = f"Did you mean {', '.join(near)}?" if near else "Name a line, such as :12, or a heading that stands in the note."
    raise BadRequest(f"{path} has no heading {name!r}.", hint=hint)


def _folded(text: str) -> str:
    return plain(text, inline=True).casefold()

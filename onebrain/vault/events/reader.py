"""What every shape of decision needs: the note, its day, and the day that a heading, a bullet or a cell carries itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from onebrain.text import dates
from onebrain.text.sentences import plain
from onebrain.vault import records
from onebrain.vault.note import Note, Section

HEAD_LINES = 6  # of a section, where its own `Date:` stands
YEAR = re.compile(r"\d{4}|\d[./-]\d{1,2}[./-]\d\d|年")  # a text without it holds no day
_EDGES = " :.,|/–—-()[]*_"
_LEAD_DATE = re.compile(r"^[\s*_\[\]()`~:.,|/–—-]*$")


@dataclass(frozen=True, slots=True)
class Reader:
    """`speaks`: the note's date is the day it speaks of, as far as it says (`date:`, its name), not the day the file was made."""

    note: Note
    dated_line: int
    order: str | None
    speaks: bool = False

    def day(self, text: str) -> str | None:
        return dates.parse_day(text, self.order)

    def first(self, text: str) -> str | None:
        return dates.first_day(text, self.order)


def heading_day(heading: str, reader: Reader) -> tuple[str | None, str]:
    """The day a heading begins or ends with, and the rest of its words, if they say more than the weekday."""
    if not YEAR.search(heading):
        return None, heading
    text = plain(heading, inline=True)
    for found in dates.find_dates(text, reader.order):
        before, after = text[: found.start], text[found.end :]
        if _LEAD_DATE.match(before):
            rest = after.strip(_EDGES)
            return found.iso, "" if dates.is_weekday(rest) else rest
        if dates.is_weekday(before.strip(_EDGES)):
            return found.iso, ""
        if _LEAD_DATE.match(after) and before.rstrip()[-1:] in "([,:|/–—-":
            return found.iso, before.strip(_EDGES)
        return found.iso if re.fullmatch(
            r"\W*(?:session|meeting|update|entry|log|export|standup|review)\W*", before, re.IGNORECASE
        ) else None, ""
    return None, heading


def dated_sections(reader: Reader) -> Iterator[tuple[Section, str | None]]:
    """Each section with the day it stands under: that of the nearest heading that holds one or has a `Date:` line right below it."""
    told: dict[tuple[str, ...], str | None] = {}
    for section in reader.note.sections:
        path = section.heading_path
        told[path] = (heading_day(path[-1], reader)[0] or _stated_day(section, reader)) if path else None
        yield section, next((iso for end in range(len(path), 0, -1) if (iso := told.get(path[:end]))), None)


def _stated_day(section: Section, reader: Reader) -> str | None:
    """The day of a section's own metadata. Under the title it is the note's."""
    lines = section.text.split("\n", HEAD_LINES)[:HEAD_LINES]
    if section.level < 2 or not YEAR.search("\n".join(lines)):
        return None
    dated = records.field_date(records.fields(lines, section.line_start, bytearray(len(lines))), reader.order)
    return dated.iso if dated else None


def own_day(text: str, reader: Reader) -> tuple[str | None, str]:
    """The day that a bullet begins with, or ends with in brackets, and the bullet without it."""
    if not YEAR.search(text):
        return None, text
    for found in dates.find_dates(text, reader.order):
        before, after = text[: found.start], text[found.end :]
        if _LEAD_DATE.match(before):
            return found.iso, after.strip(_EDGES) or text
        if re.fullmatch(r"[)\]\s.]*", after) and before.rstrip()[-1:] in "([":
            return found.iso, before.rstrip(" ([–—-,")
    return None, text


def leading_day(text: str, reader: Reader) -> str | None:
    """The day that a paragraph or a bullet begins with."""
    if not YEAR.search(text[:40]):
        return None
    return next((found.iso for found in dates.find_dates(text, reader.order)[:1] if _LEAD_DATE.match(text[: found.start])), None)

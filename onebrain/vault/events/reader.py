"""What every shape of decision needs: the note, its day, and the day that a heading, a bullet or a cell carries itself."""

from __future__ import annotations

import re
from dataclasses import dataclass

from onebrain.text import dates
from onebrain.text.sentences import plain
from onebrain.vault.note import Note, Section

YEAR = re.compile(r"\d{4}|\d[./-]\d{1,2}[./-]\d\d|年")  # a text without it holds no day
_EDGES = " :.,|/–—-()[]*_"
_LEAD_DATE = re.compile(r"^[\s*_\[\]()`~:.,|/–—-]*$")


@dataclass(frozen=True, slots=True)
class Reader:
    note: Note
    dated_line: int
    order: str | None

    def day(self, text: str) -> str | None:
        return dates.parse_day(text, self.order)

    def first(self, text: str) -> str | None:
        return dates.first_day(text, self.order)


def heading_day(heading: str, reader: Reader) -> tuple[str | None, str]:
    """The day a heading begins or ends with, and the rest of its words."""
    if not YEAR.search(heading):
        return None, heading
    text = plain(heading, inline=True)
    for found in dates.find_dates(text, reader.order):
        before, after = text[: found.start], text[found.end :]
        if _LEAD_DATE.match(before):
            return found.iso, after.strip(_EDGES)
        if _LEAD_DATE.match(after) and before.rstrip()[-1:] in "([,:|/–—-":
            return found.iso, before.strip(_EDGES)
        return found.iso if re.fullmatch(
            r"\W*(?:session|meeting|update|entry|log|export|standup|review)\W*", before, re.IGNORECASE
        ) else None, ""
    return None, heading


def heading_day_above(reader: Reader, section: Section) -> str | None:
    """The day of the nearest dated heading above what stands in a section."""
    return next((iso for heading in reversed(section.heading_path) if (iso := heading_day(heading, reader)[0])), None)


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


def stem_of(path: str) -> str:
    return path.rsplit("/", 1)[-1].rsplit(".", 1)[0]

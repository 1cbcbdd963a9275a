"""Layer 2 of recall: the exact lines of `memory/**/*.md`, with the record each stands in. Needs no index and always runs.

What must stay true: a hit quotes a line that stands in the file now, at that number. A file that can't be read is named and takes nothing
else down. A `semantic_export.md` that holds only its header is no data, although it speaks of memory and search.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from onebrain.errors import NoteUnreadable
from onebrain.memory.activation import DIRECT, relevance, topic
from onebrain.memory.notes import Page, day_of, read_page
from onebrain.memory.words import Keyword, keyword, ready
from onebrain.text.analysis import fold
from onebrain.vault.files import read

MEMORY = "memory"
EXPORT = "semantic_export.md"
TOO_MANY = 1000
STRONGEST = 3
PARTLY = 0.3  # share of the question's weight a line must hold to be a hit: one common word of three is noise

_RECORD = re.compile(r"^#{1,6}\s+(?:\[[ x]\]\s*)?(?P<id>[A-Z][A-Z]+-\d+)\b[:.\s—–-]*(?P<title>.*)$")
_HEADING = re.compile(r"^(?P<marks>#{1,6})\s+(?P<text>.+?)\s*#*$")
_DATE_LINE = re.compile(r"^\W*date\W+(?P<day>.+)$", re.IGNORECASE)
_SUPERSEDED = re.compile(r"superseded\s+by\W+(?:\[\[)?(?P<by>[\w./-]+)", re.IGNORECASE)
_STATUS_LINE = re.compile(r"^\W*status\W+(?P<status>\w.*)$", re.IGNORECASE)
_DECISION_LINE = re.compile(r"^\W*decision\W+\w", re.IGNORECASE)
_EXPORTED = re.compile(r"^## Export\b\W*(?P<when>\S+)?")
_EXPORTED_RECORD = re.compile(r"\(#\d+, (?P<when>\d{4}-\d\d-\d\dT[^)]+)\)")
_MARKS = re.compile(r"^(?:\s*(?:[-*+]|\d+[.)]|>|#{1,6})\s+)+|\*\*|__|`")


@dataclass(frozen=True, slots=True)
class Record:
    """One decision, bug or memory note: where it stands, its own day, and the id of the record that replaced it, if one did."""

    id: str
    path: str
    line: int
    text: str
    day: str | None
    superseded_by: str | None = None
    deprecated: bool = False
    decision: tuple[int, str] | None = None  # its `**Decision**` line


@dataclass(frozen=True, slots=True)
class Line:
    number: int
    text: str
    day: str | None
    record: Record | None


@dataclass(frozen=True, slots=True)
class MemoryFile:
    path: str
    lines: tuple[Line, ...]
    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class Archive:
    """All of a project's `memory/`. `problems` are sentences for the user.

    `exported` is the time (ISO) of the newest record in the export, or of the export itself where its records carry no times.
    """

    files: tuple[MemoryFile, ...] = ()
    problems: tuple[str, ...] = ()
    exported: str | None = None

    def records(self) -> dict[str, Record]:
        return {record.id.casefold(): record for file in self.files for record in file.records}


@dataclass(frozen=True, slots=True)
class LineHit:
    """`share` of the question's weight that the line holds, 1.0 for the literal question."""

    path: str
    line: int
    text: str
    share: float
    day: str | None
    record: Record | None

    @property
    def citation(self) -> str:
        return f"{self.path}:{self.line}"


def read_archive(project: Path) -> Archive:
    """Reads `<project>/memory/**/*.md`; hidden files are tools' own."""
    root = project / MEMORY
    if not root.is_dir():
        return Archive(problems=(f"There is no {MEMORY}/ folder in {project}.",))
    files: list[MemoryFile] = []
    problems: list[str] = []
    exported: str | None = None
    for path in sorted(_notes(root)):
        name = path.relative_to(project).as_posix()
        try:
            page = read_page(read(project, name))
        except NoteUnreadable as error:
            problems.append(f"{error.message.rstrip('.')}.")
            continue
        problems += [f"{name}: {problem}." for problem in page.problems]
        if not page.body.strip():
            problems.append(f"{name} is empty; a session end may have been missed.")
        body = page.body
        if path.name == EXPORT:
            body, exported = _exports(body)
        files.append(read_lines(name, body, page.body_line, _note_record(name, page)))
    return Archive(tuple(files), tuple(problems), exported)


def _notes(root: Path) -> list[Path]:
    found: list[Path] = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(folder, name) for name in names if name.lower().endswith(".md") and not name.startswith(".")]
    return found


def _exports(body: str) -> tuple[str, str | None]:
    """The exported part of the export file, everything above blanked so that line numbers stay; and how new it is."""
    runs: list[str] = []
    records: list[str] = []
    lines = body.split("\n")
    for at, line in enumerate(lines):
        if match := _EXPORTED.match(line):
            runs.append(match["when"] or "")
        elif not runs:
            lines[at] = ""
        elif record := _EXPORTED_RECORD.search(line):
            records.append(record["when"])
    return "\n".join(lines), max((when for when in records or runs if day_of(when)), default=None)


def _note_record(path: str, page: Page) -> Record | None:
    """A memory note of OneBrain is one record; a file without a `status` in its frontmatter is not."""
    status, by = page.text("status").casefold(), _stem(page.text("superseded_by"))
    if not status:
        return None
    lines = list(enumerate(page.body.split("\n"), page.body_line))
    heading = next((at for at in lines if at[1].startswith("# ")), None) or next((at for at in lines if at[1].strip()), (1, _stem(path)))
    deprecated = bool(by) or status in ("deprecated", "superseded")
    return Record(_stem(path), path, *heading, page.day("event_date", "created"), by or None, deprecated)


def _stem(path: str) -> str:
    return path.strip("[]").rsplit("/", 1)[-1].removesuffix(".md")


def read_lines(path: str, body: str, first_line: int, note: Record | None = None) -> MemoryFile:
    """The lines of one file, each with the record and the day of the headings above it. A heading of no lower level ends a record."""
    texts = body.split("\n")
    record, day, depth = note, note.day if note else None, 0
    lines: list[Line] = []
    records: list[Record] = [note] if note else []
    for at, text in enumerate(texts):
        if heading := _HEADING.match(text):
            level, found = len(heading["marks"]), day_of(heading["text"])
            if match := _RECORD.match(text):
                record = _record(path, first_line + at, match, texts[at : _end(texts, at, level)])
                records.append(record)
                day, depth = record.day, level
            elif level <= depth or found:
                record, day, depth = note, found or (note.day if note else None), 0
        if text.strip():
            lines.append(Line(first_line + at, text, day, record))
    return MemoryFile(path, tuple(lines), tuple(records))


def _end(texts: Sequence[str], start: int, level: int) -> int:
    later = range(start + 1, len(texts))
    return next((at for at in later if (heading := _HEADING.match(texts[at])) and len(heading["marks"]) <= level), len(texts))


def _record(path: str, line: int, heading: re.Match[str], block: Sequence[str]) -> Record:
    day = next((day_of(match["day"]) for text in block if (match := _DATE_LINE.match(text))), None) or day_of(heading["title"])
    status = next((match["status"] for text in block if (match := _STATUS_LINE.match(text))), "")
    by = _SUPERSEDED.search(status)
    decision = next(((line + at, text) for at, text in enumerate(block) if at and _DECISION_LINE.match(text)), None)
    deprecated = by is not None or "deprecated" in status.casefold()
    return Record(heading["id"], path, line, block[0], day, by["by"] if by else None, deprecated, decision)


def plain(text: str) -> str:
    """A line without its Markdown marks, as it is quoted."""
    return " ".join(_MARKS.sub("", text).split())


def strongest(question: str, archive: Archive) -> tuple[Keyword, ...]:
    """The two or three words that say most: those of the topic that the fewest lines hold, in the order asked. Absent words say most."""
    named = {group.key for group in topic(question)}
    words = {word: found for word in question.split() if (found := keyword(word.strip(".,;:!?\"'()[]“”«»"))) and _names(found, named)}
    texts = [ready(line.text) for file in archive.files for line in file.lines]
    counts = {word: sum(1 for text in texts if found.found_in(text)) for word, found in words.items()}
    kept = sorted(words, key=lambda word: (counts[word], list(words).index(word)))[:STRONGEST]
    return tuple(found for word, found in words.items() if word in kept)


def _names(found: Keyword, named: set[str]) -> bool:
    return any(group.key in named for group in topic(found.text))


def search(question: str, words: Sequence[Keyword], archive: Archive) -> list[LineHit]:
    """Lines that hold the question literally, or enough of its strongest words; best first, then by file and line."""
    literal = " ".join(fold(question).split())
    asked = topic(question)
    lines = [(file.path, line, ready(line.text)) for file in archive.files for line in file.lines]
    counts = [sum(1 for _, _, text in lines if word.found_in(text)) for word in words]
    weights = [math.log(1 + (len(lines) + 1) / (count + 0.5)) for count in counts]
    total = sum(weights) or 1.0
    hits: list[LineHit] = []
    for path, line, text in lines:
        share = sum(weight for word, weight in zip(words, weights, strict=True) if word.found_in(text)) / total
        if literal in text.folded:
            share = 1.0
        elif share < PARTLY:
            close = relevance(asked, line.text)  # a question in a script without spaces is one long word
            share = close if close >= DIRECT else 0.0
        if share:
            hits.append(LineHit(path, line.number, line.text, round(share, 3), line.day, line.record))
    return sorted(hits, key=lambda hit: (-hit.share, "/archive/" in hit.path, hit.path, hit.line))

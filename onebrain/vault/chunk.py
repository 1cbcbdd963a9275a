"""A note into the passages that are indexed, found and cited.

One passage a section; a long section is cut between paragraphs, list items or table rows, never inside a fence unless the fence
alone is too long. Every passage is verbatim: lines `line_start`..`line_end` of the file, or a part of one line where a single line
is longer than a passage may be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from onebrain.text import sentences
from onebrain.vault import frontmatter
from onebrain.vault.frontmatter import texts
from onebrain.vault.note import Chunk, Note, Section

CHUNKER_VERSION = 2  # raise when the same note gives other passages: they are then embedded again

BUDGET = 900  # characters of a passage, about 200 tokens; a Chinese, Japanese, Korean or Thai character counts for more
WIDE = 2.2
FENCE_BUDGET = 2 * BUDGET  # code makes no sense in halves
TAIL = BUDGET // 6  # a shorter rest joins the passage before it

_WIDE = re.compile(
    r"[\u0e00-\u0fff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003134f]"
)
_ITEM = re.compile(r"^[ \t]*(?:>[ \t]?)*(?:[-+*]|\d{1,9}[.)])[ \t]")
_FENCE = re.compile(r"^[ \t>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)?(`{3,}(?=[^`]*$)|~{3,})")
_STOP = re.compile(r"[.!?…][\"')\]*_]*\s+|[。！？；]|\s+")

# Keys that describe the file rather than what it is about; a note that has nothing else is still found by them.
_BOOKKEEPING_KEYS = """
    title date created updated modified datecreated datemodified dateupdated createdat updatedat lastmodified creationdate
    tags tag aliases alias status type publish published draft cssclass cssclasses id uid uuid permalink slug layout lang
    language session sessiontoken checkpoint trigger pause taskslug pauseslug conf verified recapped autosaved autorecovered
    synthesizedfromcheckpoints synthesizedfrompause consumed pep eip adr rfc supersedes supersededby replaces replacedby
    weight order navorder sidebarposition toc kanbanplugin position excalidrawplugin source license
    lastmod publishdate pubdate expirydate url math template path sortby insearchindex
"""
_BOOKKEEPING = frozenset(_BOOKKEEPING_KEYS.split())
_PUBLISHED = _BOOKKEEPING | {"author", "authors"}  # TOML is what site generators read: the author is that of the page, not of its subject
_NO_WORDS = re.compile(r"!\[\[[^\]]*\]\]|!\[[^\]]*\]\([^)]*\)|(?<!\S)#[^\s#]+")


@dataclass(frozen=True, slots=True)
class _Piece:
    """`text` is lines `start`..`end` of the file; `lead` goes before it in `embed_text` (the header of a table that was cut)."""

    heading_path: tuple[str, ...]
    start: int
    end: int
    text: str
    readable: str = ""
    lead: str = ""


def chunk(note: Note) -> tuple[Chunk, ...]:
    """The passages of a note in file order. A note with any words, even if only in its frontmatter or its name, has at least one."""
    pieces = [*_matter(note), *(piece for section in _worth(note.sections) for piece in _cut(section))]
    if not pieces:
        pieces = _last_resort(note)
    return tuple(
        Chunk(
            f"{note.path}#{number}",
            note.path,
            number,
            " > ".join(piece.heading_path),
            piece.start,
            piece.end,
            piece.text,
            _embed(note, piece),
        )
        for number, piece in enumerate(pieces)
    )


def _embed(note: Note, piece: _Piece) -> str:
    headings = [words for heading in piece.heading_path if (words := _words_of(heading)) != note.title]
    parts = [note.title, " > ".join(headings), piece.lead, piece.readable or piece.text]
    return "\n".join(part for part in parts if part)


@lru_cache(1024)
def _words_of(heading: str) -> str:
    return sentences.plain(heading, inline=True)


def is_matter(chunk: Chunk) -> bool:
    """Whether a passage is a note's frontmatter, which begins on the second line, below `---` or `+++`."""
    return chunk.line_start == 2 and not chunk.heading_path and frontmatter.begins(chunk.text)


def says_nothing(chunk: Chunk) -> bool:
    """Whether a passage can be found but tells nothing: a heading with nothing under it, frontmatter that only describes the file (its
    title, its tags), a lone tag or picture, the name of an empty note."""
    if is_matter(chunk):
        about_file = _about_file(chunk.text)
        return all(frontmatter.normal(key) in about_file for _, key, _ in frontmatter.entries(chunk.text))
    if not chunk.text or f" > {chunk.heading_path}".endswith(f" > {chunk.text}"):
        return True
    read = sentences.sentences(_NO_WORDS.sub(" ", chunk.text), code=True)
    return all(sentence.kind is sentences.Kind.HEADING for sentence in read)


def _about_file(matter: str) -> frozenset[str]:
    return _PUBLISHED if frontmatter.is_toml(matter) else _BOOKKEEPING


def _matter(note: Note) -> Iterator[_Piece]:
    if not note.matter:
        return
    about_file = _about_file(note.matter.text)
    if any(frontmatter.normal(key) not in about_file and texts(value) for key, value in note.frontmatter.items()):
        for piece in _cut(note.matter):
            yield _Piece((), piece.start, piece.end, piece.text, _readable(piece.text))


def _readable(matter: str) -> str:
    if frontmatter.is_toml(matter):
        return "\n".join(f"{key}: {value}" for _, key, value in frontmatter.entries(matter))
    lines = (re.sub(r"^\s*-\s+", "", line).replace('"', "").replace("[[", "").replace("]]", "") for line in matter.split("\n"))
    return "\n".join(line for line in lines if not re.match(r"^[\w -]+:\s*(?:\[\])?\s*$", line))


def _last_resort(note: Note) -> list[_Piece]:
    """An empty section's heading, else the frontmatter, else the name: something to be found by."""
    if note.matter and note.matter.text.strip():
        return [_Piece((), note.matter.line_start, note.matter.line_end, note.matter.text, _readable(note.matter.text))]
    return [_Piece((), 1, 1, "")] if note.title else []


def _worth(sections: Sequence[Section]) -> Iterator[Section]:
    """Sections with text, and headings with nothing under them at all; a heading above sub-sections is found through their paths."""
    for index, section in enumerate(sections):
        if section.text:
            yield section
            continue
        following = sections[index + 1] if index + 1 < len(sections) else None
        if (
            following is None
            or following.heading_path[: len(section.heading_path)] != section.heading_path
            or following.level <= section.level
        ):
            yield Section(section.heading_path, section.level, section.line_start, section.line_end, section.heading_path[-1])


def _cut(section: Section) -> list[_Piece]:
    if _size(section.text) <= BUDGET + TAIL:
        return [_Piece(section.heading_path, section.line_start, section.line_end, section.text)]
    lines = section.text.split("\n")
    spans: list[tuple[int, int, float]] = []  # (first line, line after the last, size) of each passage
    for first, last in _units(lines):
        size = sum(_size(line) + 1 for line in lines[first:last])
        if spans and spans[-1][2] + size <= BUDGET:
            spans[-1] = (spans[-1][0], last, spans[-1][2] + size)
        else:
            spans.append((first, last, size))
    if len(spans) > 1 and spans[-1][2] < TAIL and spans[-2][2] <= BUDGET:
        spans[-2:] = [(spans[-2][0], spans[-1][1], spans[-2][2] + spans[-1][2])]
    headers = _table_headers(lines)
    return [piece for first, last, _ in spans for piece in _piece(section, lines, headers, first, last)]


def _piece(section: Section, lines: Sequence[str], headers: Sequence[str], first: int, last: int) -> Iterator[_Piece]:
    while last > first and not lines[last - 1].strip():
        last -= 1
    while first < last and not lines[first].strip():
        first += 1
    if first == last:
        return
    start, end = section.line_start + first, section.line_start + last - 1
    if last - first == 1 and _size(lines[first]) > BUDGET + TAIL:
        for text in _long_line(lines[first]):
            yield _Piece(section.heading_path, start, start, text)
        return
    yield _Piece(section.heading_path, start, end, "\n".join(lines[first:last]), lead=headers[first])


def _table_headers(lines: Sequence[str]) -> list[str]:
    """For each line the header row of the table that it continues, or nothing."""
    found, header = [], ""
    for number, line in enumerate(lines):
        if not sentences.is_row(line):
            header = ""
        found.append(header)
        if sentences.is_divider(line) and number:
            header = lines[number - 1]
    return found


def _units(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The smallest spans a passage is made of, as (first line, line after the last); together they are all lines."""
    at = 0
    while at < len(lines):
        end = _unit_end(lines, at)
        size = 0.0
        fenced = bool(_FENCE.match(lines[at]))
        begin = at
        for number in range(at, end):  # a unit that is too long is cut at its lines
            size += _size(lines[number]) + 1
            if number > begin and size > (FENCE_BUDGET if fenced else BUDGET):
                yield begin, number
                begin, size = number, _size(lines[number]) + 1
        yield begin, end
        at = end


def _unit_end(lines: Sequence[str], at: int) -> int:
    """The end of a paragraph, list item, table row or fence, with the blank lines after it."""
    match = _FENCE.match(lines[at])
    end = at + 1
    if match:
        while end < len(lines) and not (lines[end].lstrip("> \t").startswith(match[1]) and not lines[end].strip("> \t").strip(match[1][0])):
            end += 1
        end = min(end + 1, len(lines))
    elif lines[at].strip():
        single = sentences.is_row(lines[at]) and not (at + 1 < len(lines) and sentences.is_divider(lines[at + 1]))
        if not single and sentences.is_row(lines[at]):
            end = at + 2  # the header and its divider belong together
        elif not single:
            while (
                end < len(lines)
                and lines[end].strip()
                and not (_ITEM.match(lines[end]) or _FENCE.match(lines[end]) or sentences.is_row(lines[end]))
            ):
                end += 1
    while end < len(lines) and not lines[end].strip():
        end += 1
    return end


def _long_line(line: str) -> Iterator[str]:
    """One line in parts, cut after a sentence where there is one, else at a space, else anywhere."""
    budget = max(int(BUDGET * len(line) / _size(line)), 1)
    at = 0
    while len(line) - at > budget + budget // 6:
        window = line[at : at + budget]
        stops = [match.end() for match in _STOP.finditer(window, budget // 3)]
        full = [stop for stop in stops if window[:stop].rstrip()[-1:] in ".!?…。！？；\"')"]
        cut = (full or stops or [budget])[-1]
        if text := line[at : at + cut].strip():
            yield text
        at += cut
    if text := line[at:].strip():
        yield text


def _size(text: str) -> float:
    return float(len(text)) if text.isascii() else len(text) + (WIDE - 1) * len(_WIDE.findall(text))

"""A note's text into a Note. Pure: the same path, text and settings give the same Note."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from onebrain.config import Folders
from onebrain.text import dates
from onebrain.text.marks import TAG_NAME, TAG_OF_WORDS
from onebrain.text.sentences import plain, sentences
from onebrain.vault import blocks, dialects, events, files, frontmatter, links, records
from onebrain.vault.frontmatter import Frontmatter
from onebrain.vault.note import Heading, Link, Note, Section, Source, Status, name_of
from onebrain.vault.sources import classify

PARSER_VERSION = 2  # raise when the same text gives another Note: every note is then read again

PREAMBLE = 4000  # characters; more of them are a text, whatever they are

_TAG = re.compile(rf"(?<![^\s(,;:>|*_~（「、])(?<!\]\()#({TAG_NAME})")
_TAG_OF_WORDS = re.compile(rf"(?<![^\s(,;:>|*_~])(?<!\]\(){TAG_OF_WORDS}")
_CODE_SPAN = re.compile(r"(`+)[^`]+\1(?!`)")
_NOT_PROSE = re.compile(r"!?\[\[[^\]]*\]\]|!?\[[^\]]*\]\([^)]*\)|<[^>]*>|#\S+|%%.*?%%|https?://\S+")
_SUPERSEDED_FIELD = re.compile(r"super[sc]e+ded(?: by)?|replaced by|obsoleted by")


@dataclass(frozen=True, slots=True)
class Settings:
    """What may change how a note is read. `date_order` (`dmy`, `mdy`, `ymd`) decides dates that the note itself leaves open."""

    folders: Folders = Folders()
    date_order: str | None = None


def read_note(path: str, raw: bytes, settings: Settings = Settings()) -> Note:
    """A note from its bytes. Never raises: what is odd is told in `problems`, what can be read is read."""
    text, problem = files.decode(raw)
    note = parse(path, text, settings)
    if problem is None:
        return note
    return _with_problem(note, problem)


def parse(path: str, text: str, settings: Settings = Settings()) -> Note:
    """A note from its text (line ends `\\n`)."""
    if path.lower().endswith(".jsonl"):
        return _event_log(path, text)
    front, body = dialects.read(text)
    layout = blocks.layout(body, front.body_line)
    order = dates.order_of((text,)) or settings.date_order
    meta = records.fields(layout.lines, front.body_line, layout.code)
    sections = _sections(layout.lines, front.body_line, layout)
    stated = _status_section(sections)
    source = classify(path, front.values, settings.folders, [heading.text for heading in layout.headings], "\n".join(layout.lines[:25]))
    stem = name_of(path)
    dated = records.own_date(stem, front, meta, stated[0] if stated else None, layout.headings, order, record=source is Source.DECISION)
    note = Note(
        path=path,
        title=_title(stem, front, sections, layout.headings),
        source=source,
        aliases=_aliases(front),
        tags=_tags(front, body, layout.code),
        date=dated.iso if dated else None,
        status=_status(front, meta, stated),
        type=_type(front),
        frontmatter=front.values,
        headings=layout.headings,
        sections=sections,
        links=_links(front, meta, stated, body, layout),
        problems=front.problems,
        matter=_matter(text, front),
    )
    return replace(note, events=events.find(note, dated, order))


def headings(text: str) -> tuple[Heading, ...]:
    """The headings of a note's text (line ends `\\n`)."""
    front, body = dialects.read(text)
    return blocks.layout(body, front.body_line).headings


def line_at(text: str, place: str) -> int | None:
    """The line of what a link has behind `#`: a heading, by its id, words or slug, or a block (`^id`). None where the text has neither."""
    return links.line_of(headings(text), place) or links.block_line(text.split("\n"), place)


def shown(text: str) -> list[str]:
    """The lines of a note's text without what stands in Obsidian's comments or in the data of a drawing; empty where nothing is left."""
    if "%%" not in text and "excalidraw-plugin" not in text:
        return text.split("\n")
    front, body = dialects.read(text)
    return [*text.split("\n")[: front.body_line - 1], *blocks.layout(body, front.body_line).lines]


def _event_log(path: str, text: str) -> Note:
    """Session events are JSON, one object a line: kept verbatim, found by their words."""
    lines = text.rstrip("\n").split("\n")
    section = Section((), 0, 1, len(lines), "\n".join(lines))
    name = name_of(path)
    return Note(path=path, title=name, source=Source.EVENT, date=dates.day_in_name(name), sections=(section,) if text.strip() else ())


def _with_problem(note: Note, problem: str) -> Note:
    return replace(note, problems=(problem, *note.problems))


def _sections(body: Sequence[str], first_line: int, layout: blocks.Layout) -> tuple[Section, ...]:
    found: list[Section] = []
    path: list[tuple[int, str]] = []
    starts = [first_line - 1, *(heading.line for heading in layout.headings)]  # the line before each section's first
    ends = [heading.line - 1 for heading in layout.headings] + [first_line + len(body) - 1]
    for index, (before, end) in enumerate(zip(starts, ends, strict=True)):
        level = 0
        if index:
            heading = layout.headings[index - 1]
            level = heading.level
            while path and path[-1][0] >= level:
                path.pop()
            path.append((level, heading.text))
        start = before + 1 + (before in layout.setext)
        while start <= end and not body[start - first_line].strip():
            start += 1
        while end >= start and not body[end - first_line].strip():
            end -= 1
        names = tuple(name for _, name in path)
        if start <= end:
            found.append(Section(names, level, start, end, "\n".join(body[start - first_line : end - first_line + 1])))
        elif index:
            found.append(Section(names, level, before, before, ""))
    return tuple(found)


def _title(stem: str, front: Frontmatter, sections: Sequence[Section], headings: Sequence[Heading]) -> str:
    """Frontmatter title, else the H1 if it stands on top and alone, else the file name.

    Notes whose name is their title use H1 for chapters: several of them, one below the text, or one that shares no word with the
    name. Those are no titles. A name that is a slug (`0033-ip-ranges`, `README`) always gives way to the H1.
    """
    said, _ = front.find("title")
    if isinstance(said, str) and (title := plain(said, inline=True)) and "{{" not in title and "<%" not in title:
        return title
    top = [heading for heading in headings if heading.level == 1]
    if top and top[0] is headings[0] and (len(top) == 1 or _same(stem, top[0].text)) and _names(stem, top[0].text):
        preamble = sections[0].text if sections and not sections[0].heading_path else ""
        if not _says(preamble) and (title := plain(top[0].text, inline=True)):
            return stem if "{{" in title or "<%" in title else title
    return stem


_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


def _says(preamble: str) -> bool:
    """Whether there are words above the first heading: badges, comments, imports and shortcodes are none."""
    text = _COMMENT.sub("", preamble)
    if not re.search(r"[^\W\d_]", text):
        return False
    pieces = (text[found.start : found.end] for found in sentences(text[:PREAMBLE]))
    return len(text) > PREAMBLE or any(re.search(r"[^\W\d_]", _NOT_PROSE.sub("", piece)) for piece in pieces)


def _names(stem: str, heading: str) -> bool:
    """Whether a heading may be the title of a note of this name."""
    if _SLUG.fullmatch(stem):
        return True
    words, said = (set(re.findall(r"[^\W_]{3,}", text.casefold())) for text in (stem, heading))
    if any(one[:5] == other[:5] for one in words for other in said):
        return True
    return not stem.isascii() and len({char for char in stem if char > "\u2e7f"} & set(heading)) > 1


_SLUG = re.compile(r"(?:[^\W_]+[-_.])+[^\W_]*|[a-z0-9]+|README|INDEX|\d.*|[A-Z]{2,5}[-_ ]?\d+.*", re.ASCII)


def _same(stem: str, heading: str) -> bool:
    return bool(stem) and re.sub(r"[\W_\d]+", "", stem).casefold() == re.sub(r"[\W_\d]+", "", heading).casefold()


def _aliases(front: Frontmatter) -> tuple[str, ...]:
    value, _ = front.find("aliases", "alias")
    pieces = value.split(",") if isinstance(value, str) else frontmatter.texts(value)
    return tuple(dict.fromkeys(piece.strip() for piece in pieces if piece.strip()))


def _tags(front: Frontmatter, body: Sequence[str], code: bytearray) -> tuple[str, ...]:
    found: dict[str, str] = {}
    for tag in [*_front_tags(front), *_inline_tags(body, code)]:
        found.setdefault(tag.casefold(), tag)
    return tuple(found.values())


def _front_tags(front: Frontmatter) -> Iterator[str]:
    for key in ("tags", "tag"):
        value, _ = front.find(key)
        pieces = re.split(r"," if "," in value else r"\s+", value) if isinstance(value, str) else frontmatter.texts(value)
        yield from (tag for piece in pieces if (tag := piece.strip().lstrip("#").strip("/ ")))


def _inline_tags(body: Sequence[str], code: bytearray) -> Iterator[str]:
    for number in links.lines_with(body, ("#",)):
        line = body[number]
        if code[number]:
            continue
        shown = _CODE_SPAN.sub(" ", line) if "`" in line else line
        yield from (match[0].strip("#/") for match in _TAG_OF_WORDS.finditer(shown))
        for match in _TAG.finditer(_TAG_OF_WORDS.sub(" ", shown)):
            tag = match[1].strip("/")
            if tag and not tag.isdigit():
                yield tag


def _type(front: Frontmatter) -> str | None:
    value, _ = front.find("type")
    return re.sub(r"\[\[|\]\]", "", frontmatter.text_of(value) or "") or None


def _matter(text: str, front: Frontmatter) -> Section | None:
    last = front.body_line - 2  # the line before the closing one
    if last < 2:
        return None
    return Section((), 0, 2, last, "\n".join(text.split("\n", last)[1:last]))


def _status_section(sections: Sequence[Section]) -> list[tuple[str, int]]:
    """The lines of the Status section with their numbers."""
    for section in sections:
        if section.heading_path and records.is_status_key(section.heading_path[-1].strip(" :").casefold()) and section.level <= 3:
            return [(line, section.line_start + offset) for offset, line in enumerate(section.text.split("\n")[:20]) if line.strip()]
    return []


def _status(front: Frontmatter, meta: Sequence[records.Field], stated: Sequence[tuple[str, int]]) -> Status:
    """What the note says of its own standing. A supersession outranks the status line it was added under."""
    value, _ = front.find("status")
    replaced, _ = front.find("superseded_by", "replaced_by", "obsoleted_by")
    told = [field for field in meta if field.value.strip("- ") and _SUPERSEDED_FIELD.fullmatch(field.key)]
    if replaced or told:
        return Status.SUPERSEDED
    texts = [
        frontmatter.text_of(value) or "",
        *(line for line, _ in stated),
        *(item.value for item in meta if records.is_status_key(item.key)),
    ]
    found = [status for text in texts if (status := records.status_of(text))]
    if any(status is Status.SUPERSEDED for status in found[:1]) or any(_superseded(line) for line, _ in stated):
        return Status.SUPERSEDED
    if not found and front.find("draft")[0] == "true":
        return Status.DRAFT
    return found[0] if found else Status.ACTIVE


def _superseded(line: str) -> bool:
    return bool(re.match(r"\W*super[sc]e+ded\b", line, re.IGNORECASE))


def _links(
    front: Frontmatter, meta: Sequence[records.Field], stated: Sequence[tuple[str, int]], body: Sequence[str], layout: blocks.Layout
) -> tuple[Link, ...]:
    headings = {heading.line: heading.text for heading in layout.headings}
    found: dict[tuple[str, str], Link] = {}
    for link in _all_links(front, meta, stated, body, layout, headings):
        found.setdefault((link.target, link.kind), link)
    return tuple(found.values())


def _all_links(
    front: Frontmatter,
    meta: Sequence[records.Field],
    stated: Sequence[tuple[str, int]],
    body: Sequence[str],
    layout: blocks.Layout,
    headings: Mapping[int, str],
) -> Iterator[Link]:
    first_line = front.body_line
    yield from links.relations_in(front, meta, stated, body, first_line, layout.code)
    for key, value in front.values.items():
        yield from links.frontmatter_links(value, front.lines.get(key, 1))
    yield from links.links_in(body, first_line, layout.code, headings)

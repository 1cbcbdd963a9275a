"""Markdown as sentences a reader can be shown: whole, without marks, each with the place it was taken from.

What must stay true: no word is changed or dropped (marks, footnote numbers and comments are not words), offsets point at the very
characters of the text given, and a sentence never ends at an abbreviation, a version, a file name or a record number.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from onebrain.text.marks import ADMONITION, CONTROL, HARD_BREAK, LEAD, QUOTE_LEAD, SHORTCODE, TAG_NAME, TAG_OF_WORDS, code_block_end, plain

__all__ = ["Kind", "Sentence", "cells", "is_divider", "is_row", "plain", "row", "sentences"]


class Kind(StrEnum):
    PROSE = "prose"
    ITEM = "item"  # from a list
    ROW = "row"  # of a table
    FIELD = "field"  # `Key: value` on its own line
    HEADING = "heading"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Sentence:
    """`text` without Markdown marks; `source[start:end]` is where it stands, `line_offset` the 0-based line that `start` is on."""

    text: str
    start: int
    end: int
    line_offset: int
    kind: Kind = Kind.PROSE


# ---- units: paragraphs, items, rows ----

_FENCE = re.compile(r"^[ \t>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)?(`{3,}(?=[^`]*$)|~{3,})")
_HEADING = re.compile(r"^ {0,3}#{1,6}(?:[ \t]|$)")
_UNDERLINE = re.compile(r"^ {0,3}(?:=+|-+)[ \t]*$")
_RULE = re.compile(r"^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$")
_ITEM = re.compile(r"^[ \t]*(?:>[ \t]?)*[ \t]*(?:[-+*]|\d{1,9}[.)])[ \t]+\S")
_CALLOUT = re.compile(r"^[ \t]*>[ \t]*\[!")
_KEY = re.compile(r"^[ \t>]*(?:[*_]{0,3})[^\W\d_][^\n:|*_.,;!?]{0,38}[*_]{0,3}(?::[*_]{0,3}(?=\s|$)|::)")
_PROPERTY = re.compile(r"^[ \t>]*[^\W\d_][\w./-]*::[ \t]+\S")  # Logseq's and Dataview's, under the text it belongs to
_ROW = re.compile(r"^[ \t>]*\|.*\|[ \t]*(?:\^[\w-]+)?$")
_DIVIDER = re.compile(r"^[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)+\|?[ \t]*$|^[ \t>]*\|[ \t]*:?-+:?[ \t]*\|[ \t]*$")
_DIRECTIVE = re.compile(r"^\s*\.\. (?:[\w:+-]+::|_[^:]+:|\[)")
_DROPPED = re.compile(
    r"^\s*(?:\[[^\]^]+\]:\s*\S+.*|</?[a-zA-Z][^>]*>|:\w[\w -]*:(?:\s.*)?|#\+\w+(?::|$).*"
    r"|import\s+(?:[\w*{][^'\"]*\sfrom\s+)?(?:'[^']+'|\"[^\"]+\");?|export\s+(?:default\s+\w+;?|(?:const|let)\s+\w+\s*=.*|function\s+\w+\s*\(.*))\s*$"
)
_TAG = rf"(?:{TAG_OF_WORDS}|#(?!\d+(?!\S)){TAG_NAME})"
_TAGS = re.compile(
    rf"^[ \t>]*(?:[-+*][ \t]+)?(?:{_TAG}|[*_]{{0,3}}tags?[*_]{{0,3}}::?[*_]{{0,3}}(?=\s|$))(?:[\s,;]+{_TAG})*[\s,;]*$", re.IGNORECASE
)  # nothing else on the line
_EMBEDS = re.compile(r"^[ \t>]*(?:[-+*][ \t]+)?(?:!\[\[[^\[\]]*\]\][ \t]*)+$")  # what they show stands in another file
_DRAWER = re.compile(r"^\s*:(?:PROPERTIES|LOGBOOK):\s*$", re.IGNORECASE)
_COMMENT = re.compile(r"^[ \t>]*(?:[-+*][ \t]+)?(?:(?P<html><!--)|%%)")
_SHORTCODES = re.compile(rf"(?:>|\s|{SHORTCODE})+\Z", re.DOTALL)
_MOST_LINES = 50  # of a drawer or a shortcode
_GENERIC = {"metadata", "key", "field", "property", "attribute", "item", "name", ""}
_KEY_COLUMNS = {"value", "values", ""}
FIELD_MAX = 60  # a longer `Key: value` line is a sentence
SHORT_LINE = 45  # a line this short before a capital is a line of its own, not wrapped prose


def sentences(markdown: str, *, code: bool = False) -> list[Sentence]:
    """The sentences of a passage in order. Headings count only if there is nothing else; fenced code only with `code`, one unit a fence."""
    lines = markdown.split("\n")
    starts = _offsets(lines)
    found: list[Sentence] = []
    for kind, first, last, header in _units(lines):
        if kind is Kind.CODE:
            if code and last > first + 1:
                inner = slice(first + 1, max(last - 1, first + 1))
                text = "\n".join(lines[inner]).strip("\n")
                found.append(Sentence(CONTROL.sub("", text), starts[first], starts[last - 1] + len(lines[last - 1]), first, kind))
        elif kind is Kind.ROW:
            if text := row(lines[first], header):
                found.append(Sentence(text, starts[first], starts[first] + len(lines[first]), first, kind))
        else:
            found.extend(_split(markdown, lines, starts, first, last, kind))
    prose = [sentence for sentence in found if sentence.kind is not Kind.HEADING]
    return prose or found


def row(line: str, header: Sequence[str] = ()) -> str:
    """A table row as `Header: cell · Header: cell`; empty cells are left out."""
    values = [plain(cell, inline=True) for cell in cells(line)]
    names = [plain(name, inline=True) for name in header]
    if len(values) == 2 and len(names) == 2 and names[0].casefold() in _GENERIC and names[1].casefold() in _KEY_COLUMNS:
        return f"{values[0]}: {values[1]}" if values[0] and values[1] else values[0] or values[1]
    named = [(names[i] if i < len(names) else "", value) for i, value in enumerate(values) if value]
    return " · ".join(f"{name}: {value}" if name else value for name, value in named)


def cells(line: str) -> list[str]:
    """The cells of a table row, as written. An escaped pipe, and one in a code span or a wikilink, does not end a cell."""
    body = re.sub(r"\s+\^[\w-]+$", "", line.strip().lstrip(">").strip())
    guarded = re.sub(r"\\\||`[^`|]*`|(`+)[^`]*\1|\[\[[^\[\]]*\]\]", lambda match: match[0].replace("|", "\ue002"), body)
    guarded = guarded.removeprefix("|").removesuffix("|")
    return [cell.replace("\\\ue002", "|").replace("\ue002", "|").strip() for cell in guarded.split("|")]


def is_row(line: str) -> bool:
    return bool(_ROW.match(line))


def is_divider(line: str) -> bool:
    return "-" in line and "|" in line and bool(_DIVIDER.match(line))


def _offsets(lines: Sequence[str]) -> list[int]:
    starts, at = [], 0
    for line in lines:
        starts.append(at)
        at += len(line) + 1
    return starts


_Unit = tuple[Kind, int, int, Sequence[str]]


def _units(lines: Sequence[str]) -> Iterator[_Unit]:
    """(kind, first line, line after the last, table header) of every readable unit."""
    at = 0
    if lines and (close := _closing(lines)):
        yield from ((Kind.FIELD, number, number + 1, ()) for number in range(1, close) if lines[number].strip())
        at = close + 1
    literal = False  # whether an RST literal block may follow: after `::`, or as the content of a directive
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            at += 1
        elif literal and line[0] in " \t" and not _FENCE.match(line):
            at, literal = _indented_end(lines, at), False
        else:
            units, end = _units_at(lines, at)
            yield from units
            literal = bool(_DIRECTIVE.match(line)) or (bool(units) and lines[end - 1].rstrip().endswith("::"))
            at = end


def _units_at(lines: Sequence[str], at: int) -> tuple[list[_Unit], int]:
    """The units that begin with line `at`, and the line after them."""
    line = lines[at]
    if match := _FENCE.match(line):
        end = _fence_end(lines, at, match[1])
        return [(Kind.CODE, at, end, ())], end
    if _HEADING.match(line):
        return [(Kind.HEADING, at, at + 1, ())], at + 1
    if "|" in line and at + 1 < len(lines) and is_divider(lines[at + 1]):
        return _table(lines, at)
    if _ROW.match(line):
        return ([] if is_divider(line) else [(Kind.ROW, at, at + 1, ())]), at + 1
    if closing := code_block_end(line):
        end = next((number + 1 for number in range(at, len(lines)) if closing in lines[number].lower()), len(lines))
        return [(Kind.CODE, at, end, ())], end
    if (after := _skipped(lines, at)) is not None:
        return [], after
    end = _paragraph_end(lines, at)
    if end == at + 1 < len(lines) and _UNDERLINE.match(lines[end]):
        return [(Kind.HEADING, at, end, ())], end + 1
    kind = Kind.ITEM if _ITEM.match(line) else Kind.FIELD if end == at + 1 and len(line) <= FIELD_MAX and _KEY.match(line) else Kind.PROSE
    return [(kind, at, end, ())], end


def _skipped(lines: Sequence[str], at: int) -> int | None:
    """The line after what begins on line `at` and is shown to no reader, or is no text: a comment, a rule, a drawer, tags alone."""
    line = lines[at]
    if (comment := _COMMENT.match(line)) and (after := _comment_end(lines, at, comment)):
        return after
    if _DRAWER.match(line):
        return _drawer_end(lines, at)
    if any(pattern.match(line) for pattern in (_RULE, _DROPPED, _DIRECTIVE, ADMONITION, _TAGS, _EMBEDS)):
        return at + 1
    if "{{" in line or "{%" in line:
        for end in range(at + 1, min(at + _MOST_LINES, len(lines)) + 1):
            if _SHORTCODES.match("\n".join(lines[at:end])):
                return end
            if not lines[end - 1].strip() or "}" in lines[end - 1]:
                break
    return None


def _table(lines: Sequence[str], at: int) -> tuple[list[_Unit], int]:
    header = cells(lines[at])
    end = at + 2
    while end < len(lines) and "|" in lines[end] and lines[end].strip():
        end += 1
    return [(Kind.ROW, number, number + 1, header) for number in range(at + 2, end)], end


def _closing(lines: Sequence[str]) -> int | None:
    """The line that closes a frontmatter opened on line 0."""
    ends = {"---": ("---", "..."), "+++": ("+++",)}.get(lines[0].rstrip(), ())
    return next((number for number in range(1, min(len(lines), 500)) if lines[number].rstrip() in ends), None)


def _fence_end(lines: Sequence[str], at: int, fence: str) -> int:
    for number in range(at + 1, len(lines)):
        text = lines[number].strip().lstrip(">").strip()
        if text.startswith(fence) and not text.strip(fence[0]):
            return number + 1
    return len(lines)


def _drawer_end(lines: Sequence[str], at: int) -> int:
    ends = (number + 1 for number in range(at, min(at + _MOST_LINES, len(lines))) if lines[number].strip().upper() == ":END:")
    return next(ends, at + 1)


def _comment_end(lines: Sequence[str], at: int, opening: re.Match[str]) -> int | None:
    """The line after a comment of several lines; None where it is closed on its first line, or text follows on its last. HTML's may stay
    open to the end, Obsidian's is then none."""
    close = "-->" if opening["html"] else "%%"
    if close in lines[at][opening.end() :]:
        return None
    end = next((number for number in range(at + 1, len(lines)) if close in lines[number]), None)
    if end is None:
        return len(lines) if opening["html"] else None
    return None if lines[end].partition(close)[2].strip() else end + 1


def _indented_end(lines: Sequence[str], at: int) -> int:
    while at < len(lines) and (not lines[at].strip() or lines[at][0] in " \t"):
        at += 1
    return at


def _paragraph_end(lines: Sequence[str], at: int) -> int:
    """The line after a paragraph, list item or field that begins at `at`."""
    keyed = bool(_KEY.match(lines[at])) and not _ITEM.match(lines[at])
    quoted = lines[at].lstrip().startswith(">")
    wrapped = False  # whether the author wraps lines: then a short one is no thought of its own
    for number in range(at + 1, len(lines)):
        line = lines[number]
        text = line.lstrip("> \t") if quoted else line.strip()
        if not text or line.lstrip().startswith(">") != quoted:
            return number
        if text[0] in _BLOCK_FIRST and any(pattern.match(line) for pattern in _BLOCKS):
            return number
        if "::" in text and _PROPERTY.match(line):
            return number
        if (keyed and _KEY.match(line)) or (number == at + 1 and _CALLOUT.match(lines[at])):
            return number
        if not wrapped and _own_line(lines[number - 1], line):
            return number
        wrapped = wrapped or len(lines[number - 1].strip()) > SHORT_LINE
    return len(lines)


_TAG_LINE = re.compile(rf"^(?:\s|{SHORTCODE})+$")
_BLOCKS = (_ITEM, _HEADING, _FENCE, _ROW, _RULE, _UNDERLINE, _DIRECTIVE, ADMONITION, _TAGS, _TAG_LINE)  # what ends a paragraph
_BLOCK_FIRST = frozenset("-+*#`~|=_.>0123456789:!?{")  # the characters these begin with


def _own_line(before: str, line: str) -> bool:
    """Obsidian shows a line break as one: a short line before a capital letter is a thought of its own."""
    before, line = before.strip(), line.strip()
    return len(before) <= SHORT_LINE and line[:1].isupper() and before[-1:] not in ",;-–(" and not before[:1].islower()


# ---- sentences within a unit ----

_END = re.compile(
    r"[.!?…]+[\"'”’»)\]*_`~]*(?:\s?\[[#\w-]*\]_)*(?=\s|$)|[。！？｡؟۔।॥។။።]+[」』”’）)\]*_]*|[!?]+(?=[\u3040-\u30ff\u4e00-\u9fff])"
)
_MASK = re.compile(
    SHORTCODE
    + r"|`+[^`]*`+|\[\[[^\[\]]*\]\]|\]\([^()\s]*(?:\([^()]*\)[^()\s]*)*[^()]*\)|<[^<>\n]*>|\w+://\S+?(?=[.!?]?(?:\s|$))|<!--.*?-->"
    + r"|\{/\*.*?\*/\}|%%.*?%%",
    re.DOTALL,
)
_ABBREVIATED = """
    e.g i.e cf vs viz dr mr mrs ms prof st sr jr no nos nr fig figs vol ch sec eq p pp ed eds al approx est dept inc ltd co
    corp resp incl excl min max ca bzw z.b d.h u.a usw evtl ggf vgl abb bspw inkl s p.ej ej sra ud uds núm pág art c.-à-d m
    mme env т.е т.к т.д т.п г гг стр рис см напр им a.k.a aka w.r.t n.b ver rev ref refs
"""
_ABBREVIATIONS = frozenset(_ABBREVIATED.split())
_NOT_BEFORE_LOWER = {"etc", "usw", "ecc", "u.s", "u.k", "a.m", "p.m"}
_LAST_WORD = re.compile(r"[^\s(\[{\"'“‘*_`]+$")
_THAI = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
_THAI_GAP = re.compile(r"(?<=[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff])[ \u00a0]+(?=[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff])")
THAI_LEAST = 90  # Thai has no full stop: phrases are gathered to about a sentence


_DEFINES = re.compile(r"[ \t]*\n[ \t]*:[ \t]+")  # a definition list: the term on a line, `: ` and what it means on the next


def _split(markdown: str, lines: Sequence[str], starts: Sequence[int], first: int, last: int, kind: Kind) -> Iterator[Sentence]:
    begin, end = starts[first], starts[last - 1] + len(lines[last - 1])
    raw = HARD_BREAK.sub(r"\1 ", markdown[begin : end + 80])[: end - begin]  # as long as before: offsets stand
    marked = any(mark in raw for mark in ("`", "[", "<", ":", "{", "%%"))
    masked = _MASK.sub(lambda match: (" " if match[0][:2] in ("%%", "<!") else "x") * len(match[0]), raw) if marked else raw
    lead = LEAD.match(raw)
    at = lead.end() if lead else 0
    for cut in [*_cuts(masked, at), len(raw)]:
        piece = raw[at:cut]
        offset = len(piece) - len(piece.lstrip())
        body = piece.strip()
        said = _DEFINES.sub(": ", body, count=1) if "\n" in body else body
        text = plain("\n".join(QUOTE_LEAD.sub("", line) for line in said.split("\n")) if ">" in said else said, inline=True)
        if text and not _TAGS.match(text) and any(unicodedata.category(char)[0] in "LNS" for char in text):
            start = begin + at + offset
            yield Sentence(text, start, start + len(body), first + raw.count("\n", 0, at + offset), kind)
        at = cut


def _cuts(text: str, start: int) -> Iterator[int]:
    """Where a sentence ends, as offsets into `text` (masked: what may hold a full stop without ending anything is blotted out)."""
    if len(text) > THAI_LEAST and len(_THAI.findall(text)) * 2 > len(text):
        yield from _thai_cuts(text, start)
        return
    depth_from = last = start
    depth = 0
    for match in _END.finditer(text, start):
        depth = max(depth + text.count("(", depth_from, match.start()) - text.count(")", depth_from, match.start()), 0)
        depth_from = match.start()
        if match.end() >= len(text.rstrip()):
            return
        inside = depth > 0 and ")" not in match[0] and 0 <= text.find(")", match.end()) - match.end() < 200
        if not inside and (match[0][0] != "." or _ends(text, match, last)):
            yield match.end()
            last = match.end()


def _ends(text: str, match: re.Match[str], start: int) -> bool:
    """Whether a full stop ends the sentence that began at `start`."""
    after = text[match.end() :].lstrip()[:1]
    found = _LAST_WORD.search(text, max(start, match.start() - 60), match.start())
    word = found[0] if found else ""
    folded = word.casefold().rstrip(".")
    if after.islower() or folded in _ABBREVIATIONS:
        return False
    if folded in _NOT_BEFORE_LOWER or match[0].startswith("..."):
        return True
    before = text[max(start, match.start() - 70) : match.start() - len(word)].rstrip()
    if word.isdigit():
        return not (before.strip("[(*_ ") == "" or before[-1:] == "[" or re.search(r"\b(?:ADR|PEP|RFC|EIP|KEP|No|Nr)$", before))
    if len(word) == 1 and word.isupper():
        previous = before.rsplit(None, 1)[-1:] or [""]
        return bool(previous[0]) and not previous[0][:1].isupper()
    return True


def _thai_cuts(text: str, start: int) -> Iterator[int]:
    last = start
    for match in _THAI_GAP.finditer(text, start):
        if match.start() - last >= THAI_LEAST and len(text) - match.end() >= THAI_LEAST // 3:
            yield match.end()
            last = match.end()

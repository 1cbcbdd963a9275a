"""Where the headings and the code of a note are, by the block rules of CommonMark.

A heading is one that stands at the top level of the note: `# ...` inside a fence, a comment, an HTML block, a list or a quote is none.
One pass over the lines. A full Markdown parser costs 10 s a megabyte on long lists and tables (measured with markdown-it-py), and
the tests hold this one against it on real notes. Two differences are wanted: a setext heading is one line of at most `SETEXT_MAX`
characters (a whole paragraph that stands on a `---` is not a heading), and tables are text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from onebrain.text.marks import ADMONITION, BLOCK_ID, code_block_end
from onebrain.vault.note import Heading

SETEXT_MAX = 160
INDENT = 4  # of the text under an admonition

_ATX = re.compile(r"(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*$")
# `{#id}`, `{#id .class key=value}`, `{: #id}` or `{-}` behind the words: Pandoc, kramdown, Hugo, Docusaurus. `{{#if}}` is a template's.
_ATTRIBUTE = r"""(?:[#.][\w:.-]+|[\w-]+=(?:"[^"{}]*"|[^\s"{}]+))"""
_ATTRIBUTES = re.compile(rf"(?<=[^\s{{\\])[ \t]*\{{(?::[ \t]*|(?=[#.-]))((?:{_ATTRIBUTE}|-)(?:[ \t]+{_ATTRIBUTE})*)[ \t]*\}}[ \t]*$")
_FENCE = re.compile(r"(`{3,}(?=[^`]*$)|~{3,})")
_MARKER = re.compile(r"(?:[-+*]|\d{1,9}[.)])(?=[ \t]|$)")
_UNDERLINE = re.compile(r"(=+|-+)[ \t]*$")
_RULE = re.compile(r"(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$")
_CODE_SPAN = re.compile(r"(`+)[^`]+\1(?!`)")
_LEAD = re.compile(r"[ \t>]*(?:(?:[-+*]|\d{1,9}[.)])(?:[ \t]+|$)(?:\[.\][ \t]*)?)?")
_RAW = re.compile(r"<(script|pre|style|textarea)(?:[\s>]|$)", re.IGNORECASE)
_TAG = re.compile(
    r"</?(?:address|article|aside|base|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|"
    r"figure|footer|form|frame|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|nav|ol|optgroup|option|p|param|search|section|"
    r"summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul)(?:[\s>]|/>|$)",
    re.IGNORECASE,
)
_LONE_TAG = re.compile(r"</?[a-z][a-z0-9-]*(?:\s[^<>]*)?/?>[ \t]*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Layout:
    """`headings` with 1-based lines of the file; `setext`: those of them that take two lines.

    `code[i]` is 1 where line i of the body (0-based) is code or a comment: no tag, link or date is read there. `lines` are those of
    the body without Obsidian's comments (`%% … %%`): empty where nothing is left. As in Obsidian, the tags and links of a comment that
    ends on its line count, those of a longer one don't.
    """

    headings: tuple[Heading, ...]
    setext: frozenset[int]
    code: bytearray
    lines: Sequence[str]


@dataclass(slots=True)
class _Scan:
    code: bytearray
    first_line: int
    headings: list[Heading] = field(default_factory=list)
    setext: set[int] = field(default_factory=set)
    fence: str = ""  # the opening fence while inside one
    quoted: bool = False  # whether that fence stands in a quote, and ends with it
    until: str = ""  # an HTML block ends on the line that holds this; "\n" stands for a blank line
    hidden: bool = False  # whether that HTML block is a comment or raw text
    paragraph: int = 0  # lines of the open paragraph
    last: str = ""  # the newest of them
    lazy: bool = False  # whether a plain line would still belong to the quote above it
    content: int = 0  # the column where the text of the innermost open list item begins; 0 outside lists
    blank: bool = True  # whether the line before was blank
    marked: Sequence[int] = ()  # the lines that hold `%%`
    comment: bool = False  # whether an Obsidian comment is open


def layout(lines: Sequence[str], first_line: int) -> Layout:
    """`lines` is the note without its frontmatter, `first_line` the 1-based line of the file that `lines[0]` is. Linear."""
    scan = _Scan(bytearray(len(lines)), first_line)
    scan.marked = [number for number, line in enumerate(lines) if "%%" in line]
    shown = [*lines] if scan.marked else lines
    for number, line in enumerate(lines):
        if isinstance(shown, list) and ("%%" in line or scan.comment):
            shown[number] = line = _uncommented(scan, lines, number)
        _line(scan, number, line)
    return Layout(tuple(scan.headings), frozenset(scan.setext), scan.code, shown)


def _uncommented(scan: _Scan, lines: Sequence[str], number: int) -> str:
    """A line without what of it stands in comments. One that is opened at the start of a line may hold paragraphs, another ends with its
    own; one that isn't closed is none, so that a stray `%%` hides nothing."""
    line = rest = lines[number]
    kept = ""
    if scan.comment:
        _, mark, rest = line.partition("%%")
        scan.comment = not mark
        if not mark or not rest.strip():
            scan.code[number] = 1
            return ""
    elif _is_code(scan, line):
        return line
    while (at := _CODE_SPAN.sub(lambda match: "x" * len(match[0]), rest).find("%%")) >= 0:
        end = rest.find("%%", at + 2)
        kept += rest[:at]
        if end < 0:
            if not _closes(scan, lines, number, _LEAD.fullmatch(kept) is not None):
                return kept + rest[at:]
            scan.comment, kept, rest = True, kept.rstrip(" \t"), ""
        else:
            kept, rest = kept.rstrip(" \t") if rest[end + 2 : end + 3] in ("", " ") else kept, rest[end + 2 :]
    kept += rest
    return "" if _LEAD.fullmatch(kept) else kept


def _closes(scan: _Scan, lines: Sequence[str], number: int, block: bool) -> bool:
    after = bisect_right(scan.marked, number)
    return after < len(scan.marked) and (block or all(line.strip() for line in lines[number : scan.marked[after]]))


def _is_code(scan: _Scan, line: str) -> bool:
    text = line.lstrip()
    if scan.fence:
        return not scan.quoted or text[:1] == ">"
    if (scan.until and scan.hidden) or text.startswith("<!--") or _FENCE.match(text):
        return True
    return not scan.paragraph and _indent(line, text) >= scan.content + 4


def _line(scan: _Scan, number: int, line: str) -> None:
    text = line.lstrip()
    if scan.fence and _in_fence(scan, number, text):
        return
    if scan.until:
        _in_html(scan, number, text)
        return
    if not text:
        scan.paragraph, scan.blank, scan.lazy = 0, True, False
        return
    indent = 0 if text is line else _indent(line, text)
    if scan.content and indent < scan.content and (scan.blank or not scan.paragraph or text[0] in "#`~>") and not _MARKER.match(text):
        scan.content = 0  # the list is over; a lazy line right under it still belongs to it
    if indent >= scan.content + 4 and not scan.paragraph:
        scan.code[number] = 1
    elif text[0] == ">":
        _in_quote(scan, number, text)
    else:
        _text(scan, number, text, indent)
    scan.blank = False


def _text(scan: _Scan, number: int, text: str, indent: int) -> None:
    top = indent < 4 and not (scan.content and indent >= scan.content)
    first = text[0]
    lazy, scan.lazy = scan.lazy, False
    if first == "#" and indent < scan.content + 4 and (match := _ATX.match(text)):
        scan.paragraph = 0
        if top:
            scan.content = 0
            scan.headings.append(_heading(len(match[1]), (match[2] or "").strip(), scan.first_line + number))
    elif first in "=-" and scan.paragraph and top and not scan.content and (match := _UNDERLINE.match(text)):
        _underline(scan, number, match[1])
    elif first in "`~" and (match := _FENCE.match(text)) and indent < scan.content + 4:
        scan.fence, scan.quoted, scan.paragraph = match[1], False, 0
        scan.code[number] = 1
    elif first in "<{#" and _open_html(scan, number, text):
        scan.paragraph = 0
    elif text[:3] in ("!!!", "???", "===") and ADMONITION.match(text):
        scan.content, scan.paragraph = indent + INDENT, 0  # what is indented below is its text, as in a list item
    elif text.startswith(":::") and ADMONITION.match(text):
        scan.paragraph = 0
    elif first in "-*_" and _RULE.match(text):
        scan.paragraph = 0
        scan.content = scan.content if indent >= scan.content else 0
    elif first in "-+*0123456789" and (match := _MARKER.match(text)) and (not scan.paragraph or scan.content or match.end() < 3):
        _item(scan, number, text, indent, match.end())
    elif lazy:
        scan.lazy = True
    else:
        scan.paragraph += 1
        scan.last = text


def named(text: str) -> tuple[str, str]:
    """A heading's words, and the id behind them (that of Obsidian with its `^`) or an empty text."""
    if "^" in text and (block := BLOCK_ID.search(text)):
        return text[: block.start()].rstrip(), f"^{block['id']}"
    match = _ATTRIBUTES.search(text) if text.endswith("}") else None
    if match is None:
        return text, ""
    return text[: match.start()].rstrip(), next((part[1:] for part in match[1].split() if part[0] == "#"), "")


def _heading(level: int, text: str, line: int) -> Heading:
    words, name = named(text)
    return Heading(level, words, line, name)


def _indent(line: str, text: str) -> int:
    lead = line[: len(line) - len(text)]
    return len(lead.expandtabs(4)) if "\t" in lead else len(lead)


def _item(scan: _Scan, number: int, text: str, indent: int, marker: int) -> None:
    rest = text[marker:]
    inner = rest.lstrip()
    gap = len(rest) - len(inner)
    scan.content = indent + marker + (gap if inner and gap <= 4 else 1)
    scan.paragraph = 1 if inner else 0
    if inner and inner[0] in "`~" and (match := _FENCE.match(inner)):
        scan.fence, scan.quoted, scan.paragraph = match[1], False, 0
        scan.code[number] = 1


def _underline(scan: _Scan, number: int, underline: str) -> None:
    if scan.paragraph == 1:
        text = scan.last.rstrip()
        if len(text) <= SETEXT_MAX:
            line = scan.first_line + number - 1
            scan.headings.append(_heading(1 if underline[0] == "=" else 2, text, line))
            scan.setext.add(line)
    scan.paragraph = 0


def _in_fence(scan: _Scan, number: int, text: str) -> bool:
    if scan.quoted:
        if not text.startswith(">"):
            scan.fence = ""
            return False
        text = text[1:].lstrip()
    scan.code[number] = 1
    if text.startswith(scan.fence) and not text.strip(scan.fence[0] + " \t"):
        scan.fence = ""
    scan.blank, scan.paragraph = False, 0
    return True


def _in_quote(scan: _Scan, number: int, text: str) -> None:
    scan.paragraph = 0
    inner = text.lstrip("> \t")
    scan.lazy = bool(inner) and not (_ATX.match(inner) or _RULE.match(inner))
    if inner and inner[0] in "`~" and (match := _FENCE.match(inner)):
        scan.fence, scan.quoted, scan.lazy = match[1], True, False
        scan.code[number] = 1


def _open_html(scan: _Scan, number: int, text: str) -> bool:
    if text.startswith("<!--"):
        scan.until, scan.hidden = "-->", True
    elif match := _RAW.match(text):
        scan.until, scan.hidden = f"</{match[1].lower()}>", True
    elif _TAG.match(text) or (not scan.paragraph and _LONE_TAG.match(text)):
        scan.until, scan.hidden = "\n", False
    elif ending := code_block_end(text):
        scan.until, scan.hidden = ending, True
    else:
        return False
    _in_html(scan, number, text)
    return True


def _in_html(scan: _Scan, number: int, text: str) -> None:
    if scan.until == "\n":
        if not text:
            scan.until, scan.blank = "", True
        return
    scan.code[number] = scan.hidden
    scan.blank = False
    if scan.until in text.lower():
        scan.until = ""

"""What a note points at, and where that is in the vault.

Links are collected as written (`links_in`, `relations_in`); `LinkResolver` turns them into vault paths once all paths are known.
A supersession is only read where the note speaks of itself: its status, its metadata, or a sentence whose subject is this record.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import PurePosixPath
from posixpath import normpath
from urllib.parse import unquote

from onebrain.text.marks import BLOCK_ID, plain, referenced
from onebrain.vault.frontmatter import Frontmatter, texts
from onebrain.vault.note import Heading, Link, LinkKind, Note, Value, name_of
from onebrain.vault.records import Field, is_status_key

_WIKI = re.compile(r"(!?)\[\[([^\[\]]+)\]\]")
_MARKDOWN = re.compile(
    r"(!?)\[((?:[^\[\]\\]|\\.)*)\]\(\s*(?:<([^<>]*)>|([^\s()<>]*(?:\([^\s()]*\)[^\s()]*)*))(?:\s+[\"'(][^\"']*[\"')])?\s*\)"
)
_DEFINITION = re.compile(r"^ {0,3}\[[^\[\]]+\]:\s*<?(\S+?)>?(?:\s|$)")
_KINDS = ("ADR", "PEP", "RFC", "EIP", "ERC", "KEP", "DEP", "RFD")
_NUMBERED = re.compile(rf"(?<![\w/-])M?L?({'|'.join(_KINDS)})[-\s #:]{{0,2}}(\d{{1,5}})(?![\w-])")
_ROLE = re.compile(r":(pep|rfc):`(\d{1,5})")
_CODE_SPAN = re.compile(r"(`+)[^`]+\1(?!`)")
_BARE_NUMBER = re.compile(r"^#?(\d{1,5})\.?$")

_BY = r"(?:super[sc]e+ded|replaced|obsoleted|ersetzt|remplacée?|reemplazad[oa]|substitu[ií]d[oa])"
_SUPERSEDED = re.compile(rf"\b{_BY}\b", re.IGNORECASE)
_SUPERSEDES = re.compile(r"\b(?:super[sc]e+des?|replaces?|obsoletes?|ersetzt|remplace|reemplaza|substitui)\b", re.IGNORECASE)
_OWN_SUBJECT = re.compile(
    r"^[\s>*+-]*(?:(?:as such|therefore|so),?\s+)?(?:this|the present)\s+(?:\w+\s+)?"
    r"(?:adr|pep|rfc|eip|record|decision|document|proposal|note|memo|policy)\b"
    r"|^[\s>*+-]*[*_]*(?:partially |partly )?(?:super[sc]e|replace|obsolete)[a-z]*\b",
    re.IGNORECASE,
)
_OWN_FIRST = frozenset("tTaAsSoOrRpP.")  # what `_OWN_SUBJECT` and `_DIRECTIVE` can begin with
_DIRECTIVE = re.compile(r"^\s*\.\.\s+superseded::\s*(\S+)")
_KEYS = {
    **dict.fromkeys(("supersedes", "replaces", "obsoletes", "ersetzt"), LinkKind.SUPERSEDES),
    **dict.fromkeys(
        ("superseded by", "supersededby", "superseded", "replaced by", "replacedby", "obsoleted by", "obsoletedby"),
        LinkKind.SUPERSEDED_BY,
    ),
}  # fmt: skip


def targets_in(line: str, *, bare: bool = False) -> Iterator[tuple[str, str | None, bool]]:
    """(target, alias, embedded) of every link in a line, and of numbered references (`ADR 12`). `bare`: lone numbers count too."""
    rest = line
    if "[[" in line:
        for match in _WIKI.finditer(line):
            target, _, alias = match[2].replace("\\|", "|").partition("|")
            yield target.strip(), alias.strip() or None, match[1] == "!"
        rest = _WIKI.sub(" ", line)
    if "](" in rest:
        for match in _MARKDOWN.finditer(rest):
            target = unquote(match[3] or match[4] or "")
            if target and not re.match(r"[a-z][a-z0-9+.-]*:|//|#", target, re.IGNORECASE):
                yield target, match[2] or None, match[1] == "!"
        rest = _MARKDOWN.sub(" ", rest)
    for match in _NUMBERED.finditer(rest):
        yield f"{match[1].upper()} {int(match[2])}", None, False
    for match in _ROLE.finditer(rest):
        yield f"{match[1].upper()} {int(match[2])}", None, False
    if bare:
        for piece in re.split(r"[,;\s]+", rest.strip("[](){} ")):
            if match_bare := _BARE_NUMBER.match(piece):
                yield str(int(match_bare[1])), None, False


def lines_with(lines: Sequence[str], marks: Sequence[str]) -> list[int]:
    """The 0-based numbers of the lines that hold any of `marks`: a search of the whole text, since most lines hold none."""
    text = "\n".join(lines)
    ends = list(accumulate(len(line) + 1 for line in lines))
    found: set[int] = set()
    for mark in marks:
        at = text.find(mark)
        while at >= 0:
            number = bisect_right(ends, at)
            found.add(number)
            at = text.find(mark, ends[number])
    return sorted(found)


def links_in(lines: Sequence[str], first_line: int, code: bytearray, headings: Mapping[int, str]) -> Iterator[Link]:
    """Every link of the body outside code. `headings` maps a line to the heading that begins there."""
    starts = sorted(headings)
    for number in lines_with(lines, ("[", *_KINDS, ":pep:", ":rfc:")):
        line = lines[number]
        if code[number]:
            continue
        above = bisect_right(starts, first_line + number)
        heading = headings[starts[above - 1]] if above else None
        shown = referenced(_CODE_SPAN.sub(lambda match: " " * len(match[0]), line) if "`" in line and ":`" not in line else line)
        if match := _DEFINITION.match(shown):
            target = unquote(match[1])
            if not re.match(r"[a-z][a-z0-9+.-]*:|//|#", target, re.IGNORECASE):
                yield Link(target, LinkKind.LINK, first_line + number, heading)
            continue
        for target, alias, embedded in targets_in(shown):
            if target and not target.startswith("#"):
                yield Link(target, LinkKind.EMBED if embedded else LinkKind.LINK, first_line + number, heading, alias)


def frontmatter_links(value: Value, line: int) -> Iterator[Link]:
    """Wikilinks in a frontmatter value (`author: "[[Kevin Kelly]]"`)."""
    for text in texts(value):
        if "[[" in text:
            yield from (
                Link(target, LinkKind.LINK, line, None, alias) for target, alias, _ in targets_in(text) if not target.startswith("#")
            )


def relations_in(
    front: Frontmatter, meta: Iterable[Field], status: Sequence[tuple[str, int]], lines: Sequence[str], first_line: int, code: bytearray
) -> Iterator[Link]:
    """Supersessions the note states of itself. `status` holds the lines of its Status section."""
    for key, value in front.values.items():
        if kind := _KEYS.get(key.casefold().replace("_", " ").replace("-", " ")):
            for text in texts(value):
                found = list(targets_in(text, bare=True)) or [(text.strip(), None, False)]
                yield from (Link(target, kind, front.lines.get(key, 1), None, alias) for target, alias, _ in found)
    for item in meta:
        if kind := _KEYS.get(item.key):
            yield from _related(item.value, item.line, kind, bare=True)
        elif is_status_key(item.key):
            yield from _stated(item.value, item.line)
    for line, number in status:
        yield from _stated(line, number)
    for number, line in enumerate(lines):
        if line.lstrip(" \t>*+-_")[:1] not in _OWN_FIRST or code[number]:
            continue
        if match := _DIRECTIVE.match(line):
            yield Link(f"PEP {int(match[1])}" if match[1].isdigit() else match[1], LinkKind.SUPERSEDED_BY, first_line + number)
        elif _OWN_SUBJECT.match(line):
            yield from _stated(line, first_line + number)


def _stated(line: str, number: int) -> Iterator[Link]:
    """`Superseded by X` and `⌛️ Superseded [0019](…)` point forward, `supersedes X` back; a clause ends at the next verb."""
    marks = sorted(
        [(match.end(), LinkKind.SUPERSEDED_BY) for match in _SUPERSEDED.finditer(line)]
        + [(match.end(), LinkKind.SUPERSEDES) for match in _SUPERSEDES.finditer(line)]
    )
    for index, (start, kind) in enumerate(marks):
        end = marks[index + 1][0] if index + 1 < len(marks) else len(line)
        yield from _related(line[start:end], number, kind, bare=False)


def _related(text: str, number: int, kind: LinkKind, *, bare: bool) -> Iterator[Link]:
    for target, alias, embedded in targets_in(text, bare=bare):
        if not embedded and not target.startswith("#"):
            yield Link(target, kind, number, None, alias)


def line_of(headings: Iterable[Heading], place: str) -> int | None:
    """The line of the heading that `place` means, which is what a link has behind `#`: an id, the heading's words, or their slug."""
    wanted = unquote(place).rpartition("#")[2].strip()
    found: dict[int, int] = {}  # how well a heading fits → the first line that does
    for heading in headings if wanted else ():
        words = plain(heading.text, inline=True)
        fits = (heading.id == wanted, words.casefold() == wanted.casefold(), _slug(words) == _slug(wanted))
        if any(fits):
            found.setdefault(fits.index(True), heading.line)
    return found[min(found)] if found else None


def block_line(lines: Sequence[str], place: str) -> int | None:
    """The 1-based line of the paragraph or item that `place` (`^tip-1`, what a link has behind `#`) names; `lines` are the file's.

    An id may also stand alone below what it names: a table, a quote.
    """
    wanted = unquote(place).rpartition("#")[2].strip()
    for number, line in enumerate(lines if wanted[:1] == "^" else ()):
        if wanted in line and (found := BLOCK_ID.search(line)) and found["id"] == wanted[1:]:
            above = next((at for at in range(number, -1, -1) if lines[at].strip() and lines[at].strip() != wanted), number)
            return above + 1
    return None


def _slug(words: str) -> str:
    return re.sub(r"[^\w -]", "", words.casefold()).strip().replace(" ", "-")


def number_of(path: str) -> tuple[str | None, int] | None:
    """The record number in a file name: `0033-ip-ranges.md` → (None, 33), `pep-0345-x.md` → ("pep", 345), `ADR-14.md` → ("adr", 14)."""
    stem = PurePosixPath(path).stem
    match = re.match(r"(?:([A-Za-z]{2,5})[-_ ]?)?(\d{1,5})(?=$|[-_. )])(?![-_.]\d\d[-_.]\d\d)", stem)
    return (match[1].lower() if match[1] else None, int(match[2])) if match else None


class LinkResolver:
    """Targets to vault paths by Obsidian's rules, for a fixed set of notes.

    A full path wins, then a note of that name next to the source, then the one with the shortest path; then the same without
    regard to case, then aliases, then titles. Names are compared in Unicode form NFC. Numbered references (`ADR 14`, `PEP 345`, `14`)
    are looked up in the source's own folder, then, when the kind is named, in the whole vault if only one note has that number.
    """

    def __init__(
        self, paths: Iterable[str], aliases: Mapping[str, Sequence[str]] | None = None, titles: Mapping[str, str] | None = None
    ) -> None:
        self._paths: dict[str, str] = {}
        self._folded: dict[str, str] = {}
        self._names: dict[str, list[str]] = {}
        self._also: dict[str, str] = {}
        self._numbers: dict[tuple[str, int], list[str]] = {}
        self._kinds: dict[tuple[str, int], list[str]] = {}
        for path in sorted(paths, key=lambda p: (p.count("/"), len(p), p)):
            key = _nfc(path)
            self._paths[key] = path
            self._folded.setdefault(key.casefold(), path)
            name = _stem(key.rsplit("/", 1)[-1]).casefold()
            for called in {name, name_of(key).casefold()}:
                self._names.setdefault(called, []).append(path)
            if numbered := number_of(path):
                self._numbers.setdefault((_folder(path), numbered[1]), []).append(path)
                if numbered[0]:
                    self._kinds.setdefault((numbered[0], numbered[1]), []).append(path)
        for path, names in (aliases or {}).items():
            for alias in names:
                self._also.setdefault(_nfc(alias).casefold(), path)
        for path, title in (titles or {}).items():
            self._also.setdefault(_nfc(title).casefold(), path)

    def resolve(self, target: str, source: str) -> str | None:
        """The path `target` means in the note `source`, or None."""
        if match := re.fullmatch(r"(?:([A-Z]{2,5})[ -])?(\d{1,5})", target):
            return self._by_number(match[1], int(match[2]), source) or self._by_name(target, source)
        name = _nfc(re.split(r"[#^]", unquote(target), maxsplit=1)[0].strip().strip("/\\").replace("\\", "/"))
        if not name:
            return None
        relative = normpath(f"{_folder(source)}/{name}").lstrip("/") if _folder(source) else normpath(name)
        for candidate in (relative, f"{relative}.md", name, f"{name}.md"):
            if found := self._paths.get(candidate) or self._folded.get(candidate.casefold()):
                return found
        return self._by_name(name, source) or self._also.get(name.casefold())

    def links(self, note: Note) -> tuple[tuple[str, LinkKind], ...]:
        """The notes that `note` points at, each once per kind, in order; never itself. A supersession outranks a plain link."""
        found = dict.fromkeys((self.resolve(link.target, note.path), link.kind) for link in note.links)
        related = {path for path, kind in found if kind in (LinkKind.SUPERSEDES, LinkKind.SUPERSEDED_BY)}
        return tuple(
            (path, kind) for path, kind in found
            if path is not None and path != note.path and not (kind is LinkKind.LINK and path in related)
        )  # fmt: skip

    def _by_number(self, kind: str | None, number: int, source: str) -> str | None:
        here = self._numbers.get((_folder(source), number), [])
        if len(here) == 1:
            return here[0]
        if kind:
            everywhere = self._kinds.get((kind.lower(), number), [])
            return everywhere[0] if len(everywhere) == 1 else None
        return None

    def _by_name(self, name: str, source: str) -> str | None:
        parts = name.split("/")
        tail = "/".join([*parts[:-1], _stem(parts[-1])]).casefold()
        found = [
            path for path in self._names.get(_stem(parts[-1]).casefold(), [])
            if len(parts) == 1 or ("/" + _stem(_nfc(path)).casefold()).endswith("/" + tail)
        ]  # fmt: skip
        near = [path for path in found if _folder(path) == _folder(source)]
        return near[0] if near else found[0] if found else None


def _stem(name: str) -> str:
    return name[:-3] if name[-3:].lower() == ".md" else name


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _nfc(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)

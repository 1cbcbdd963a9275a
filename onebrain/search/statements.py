"""What of a passage can be quoted: its sentences, each whole, and its lists together with the words that lead them in.

A lead-in that is left open (`Choose it when:`, `…, because`) says nothing by itself: it is quoted with its items or not at all, and no item
without it. Every word is the note's own; a semicolon parts the items of a list, and `…` stands for items left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from onebrain.search.snippet import is_matter, matter_lines
from onebrain.text.sentences import Kind, Sentence, sentences
from onebrain.vault.note import Chunk

LONGEST = 400  # characters; what is longer is data in disguise
_SHORTEST = 16  # characters of what stands alone, unless it holds a number
_QUESTION = ("?", "？", "؟")
LEFT_OPEN = (*_QUESTION, ":", "：")  # what ends so states nothing by itself
_FULL_STOP = (".", "!", "…", "。", "！", "｡", "।", "۔")
_PARTED = (*_FULL_STOP, *LEFT_OPEN, ";", ",")  # what ends so needs no semicolon before the next item
_OPEN = re.compile(  # words that more must follow, where no full stop does
    r"(?:\b(?:because|since|where|which|that|as follows|following|includ(?:es?|ing)|namely|such as|e\.g|i\.e|and|or|but|if|the|an?|with"
    r"|weil|dass|nämlich|und|oder|wie folgt|folgende[mnrs]?|parce que|car|que|et|ou|comme suit|suivante?s?|porque|ya que|como sigue"
    r"|siguientes?|perché|poiché|seguenti?|потому что|так как|что|и|или|следующ\w+)"
    r"|因为|因為|由于|由於|如下|以下|ため|ดังนี้|เพราะ|เช่น)[,\s\"'”’]*$",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^[ \t>]*(?:[-+*]|\d{1,9}[.)])[ \t]+")
_CONTENTS = re.compile(r"^[ \t>]*(?:[-+*]|\d{1,9}[.)])[ \t]+\[[^\]]*\]\(#[^)]*\)\s*$")  # a line of a table of contents
_FRAGMENT = 60  # characters: items as short as this have their sense from the words that lead them in, and from each other


@dataclass(frozen=True, slots=True)
class Statement:
    """`parts` are (line from 0, words), in order. Of a list, `places` are theirs among its `of` items, and `lead` is what opens it, if
    anything does."""

    parts: tuple[tuple[int, str], ...]
    lead: tuple[int, str] | None = None
    places: tuple[int, ...] = ()
    of: int = 0
    matter: bool = False  # an entry of a frontmatter

    @property
    def line(self) -> int:
        return (self.lead or self.parts[0])[0]

    @property
    def whole(self) -> bool:
        """Whether it is all that a list holds."""
        return 0 < self.of == len(self.places)

    @property
    def text(self) -> str:
        words = ""
        for number, (_, part) in enumerate(self.parts):
            missing = bool(self.of) and self.places[number] != (self.places[number - 1] + 1 if number else 0)
            words += ("" if not words else " " if words.endswith(_PARTED) else "; ") + ("… " if missing else "") + part
        words += " …" if self.of and self.places[-1] + 1 < self.of else ""
        return f"{self.lead[1]} {words}" if self.lead else words

    def states(self) -> bool:
        """Whether it says something by itself. A question, a lead-in or a placeholder doesn't."""
        text = self.text
        if "{{" in text or text.endswith(_QUESTION) or is_open(self.parts[-1][1]):
            return False
        return len(text) >= _SHORTEST or (any(char.isdigit() for char in text) and len(text.split()) > 1)


def is_open(text: str) -> bool:
    """Whether a sentence ends with a colon, or without a full stop at a word that more must follow."""
    return text.endswith((":", "：")) or (not text.endswith((*_FULL_STOP, *_QUESTION)) and bool(_OPEN.search(text)))


def statements(chunk: Chunk) -> list[Statement]:
    """In the order of the passage; a list as a whole, where it can be quoted, stands before its items."""
    if is_matter(chunk):
        return [Statement(((line, text),), matter=True) for line, text in matter_lines(chunk.text)]
    return [said for said in _found(chunk.text) if 3 <= len(said.text) <= LONGEST]


def together(one: Statement, other: Statement) -> Statement | None:
    """Items of one list under the words that lead them in, said once; None where they don't belong together or grow too long."""
    if one.lead is None or one.lead != other.lead or not one.of == other.of > 0:
        return None
    found = dict(zip((*one.places, *other.places), (*one.parts, *other.parts), strict=True))
    both = replace(one, places=tuple(sorted(found)), parts=tuple(found[place] for place in sorted(found)))
    return both if len(both.text) <= LONGEST else None


def _found(text: str) -> Iterator[Statement]:
    lines = text.split("\n")
    said = [s for s in sentences(text) if not _CONTENTS.match(lines[s.line_offset])]
    at = 0
    while at < len(said):
        if not _begins_item(said[at], lines):
            yield Statement(((said[at].line_offset, said[at].text),))
            at += 1
            continue
        end = at + 1
        while end < len(said) and said[end].kind is Kind.ITEM and _touch(said[end - 1], said[end], lines):
            end += 1
        lead = said[at - 1] if at and is_open(said[at - 1].text) and _touch(said[at - 1], said[at], lines) else None
        yield from _listed(_items(said[at:end], lines), (lead.line_offset, lead.text) if lead else None, lines)
        at = end


def _begins_item(sentence: Sentence, lines: Sequence[str]) -> bool:
    return sentence.kind is Kind.ITEM and bool(_BULLET.match(lines[sentence.line_offset]))


def _touch(one: Sentence, other: Sentence, lines: Sequence[str]) -> bool:
    """Whether nothing that isn't read as sentences, or begins something new, lies between two of them."""
    between = lines[one.line_offset + 1 : other.line_offset]
    return not any(line.lstrip(" \t>").startswith(("#", "```", "~~~", "|")) for line in between)


def _items(said: Sequence[Sentence], lines: Sequence[str]) -> list[list[Sentence]]:
    items: list[list[Sentence]] = []
    for sentence in said:
        if not items or (_begins_item(sentence, lines) and items[-1][-1].line_offset != sentence.line_offset):
            items.append([])
        items[-1].append(sentence)
    return items


def _listed(items: Sequence[Sequence[Sentence]], lead: tuple[int, str] | None, lines: Sequence[str]) -> Iterator[Statement]:
    parts = tuple((item[0].line_offset, " ".join(sentence.text for sentence in item)) for item in items)
    whole = Statement(parts, lead, tuple(range(len(parts))), len(parts))
    if lead or len(parts) > 1:
        yield whole
    if lead and len(whole.text) <= LONGEST and all(len(part) <= _FRAGMENT for _, part in parts):
        return
    at = 0
    while at < len(items):
        below = at + 1
        while below < len(items) and _indent(items[below], lines) > _indent(items[at], lines):
            below += 1
        if below > at + 1 and is_open(parts[at][1]):
            yield from _listed(items[at + 1 : below], parts[at], lines)
            at = below
            continue
        if lead and len(items[at]) == 1:
            yield Statement(parts[at : at + 1], lead, (at,), len(parts))
        else:
            yield from (Statement(((sentence.line_offset, sentence.text),)) for sentence in items[at])
        at += 1


def _indent(item: Sequence[Sentence], lines: Sequence[str]) -> int:
    line = lines[item[0].line_offset].expandtabs(4)
    return len(line) - len(line.lstrip(" >"))

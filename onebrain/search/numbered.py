"""Records by their number: `ADR-0013`, `adr 13` and `0013` name `decisions/0013-use-yaml.md`, `PEP 8` names `pep-0008.md`.

A number stands in a file's name or a title, its kind there too or in the folder's name. What the question names is looked for as one
identifier, which all passages of the record hold: who asks what ADR 13 says need not know its words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from onebrain.search.reading import Reading
from onebrain.text.analysis import Group, fold
from onebrain.text.identifiers import numbered, spellings
from onebrain.vault.library import NoteRecord
from onebrain.vault.note import Source

_SAID = re.compile(r"(?<![\w.#/-])([^\W\d_]{2,})[-_ ]?#?0*(\d{1,6})(?![\w#]|[.,:/-]\d)")
_BARE = re.compile(r"(?<![\w.#/:-])0\d{1,5}(?![\w#]|[.,:/-]\d)")
_ISSUE = re.compile(r"(?<![\w&/])#0*(\d{1,7})(?!\w)")
_KIND_FIRST = re.compile(r"([^\W\d_]{2,})[-_ ]?#?0*(\d{1,6})(?!\w|[.,:/-]\d)")
_NUMBER_FIRST = re.compile(r"#?0*(\d{1,6})(?=[-_. ]+\D|$)")
_DECISION_KINDS = ("adr", "madr", "decision", "dec", "dr")
_FEWER = 0.5  # the weight of a part, as of the parts of every identifier


def numbers_of(note: NoteRecord) -> set[str]:
    """What a record goes by, such as `adr-13`, `decision-13` and `#13`."""
    path = PurePosixPath(note.path)
    folder = fold(path.parent.name)
    kinds = {folder, folder.removesuffix("s")} if folder.isalpha() else set()
    if note.source is Source.DECISION and not kinds & {"rfc", "pep"}:
        kinds.update(_DECISION_KINDS)
    found: set[str] = set()
    for name in (path.stem, note.title, *note.aliases):
        if match := _KIND_FIRST.match(name):
            abbreviated = match[1].isupper() and len(match[1]) <= 6
            found.update({f"{fold(match[1])}-{match[2]}"} if abbreviated or note.source is Source.DECISION else ())
        elif (match := _NUMBER_FIRST.match(name)) and kinds and (note.source is Source.DECISION or name == path.stem):
            found.update((f"#{match[1]}", *(f"{kind}-{match[1]}" for kind in kinds)))
    return found


def with_numbers(reading: Reading, known: Mapping[str, Sequence[str]]) -> tuple[Reading, dict[str, set[str]]]:
    """The reading with each record it names as one identifier, and path → the identifiers it is named by. `known`: number → paths."""
    named: dict[str, set[str]] = {}
    whole: dict[str, Group] = {}
    parts: set[str] = set()
    for key in reading.identifiers:
        _name(known.get(numbered(key) or "", ()), key, named)
    issues = {f"#{match[1]}" for match in _ISSUE.finditer(reading.text)}  # identifiers in any vault; `top 10` is one where it names a note
    for number, words in _said(reading.text):
        if number not in known and number not in issues:
            continue
        if not any(numbered(key) == number for key in reading.identifiers):
            whole[number] = Group(number, spellings(number), whole=True)
            parts.update(words)
            _name(known.get(number, ()), number, named)
    if whole:
        rest = [replace(g, weight=_FEWER, optional=True) if g.key in parts else g for g in reading.groups]
        reading = replace(reading, groups=(*whole.values(), *rest))
    return reading, named


def _name(paths: Iterable[str], key: str, named: dict[str, set[str]]) -> None:
    for path in paths:
        named.setdefault(path, set()).add(key)


def _said(text: str) -> Iterable[tuple[str, tuple[str, ...]]]:
    """Every number that a question gives, and the words that say it."""
    for match in _SAID.finditer(text):
        yield f"{fold(match[1])}-{match[2]}", tuple(fold(word) for word in re.findall(r"[^\W\d_]+|\d+", match[0]))
    for match in _ISSUE.finditer(text):
        yield f"#{match[1]}", (match[0].lstrip("#"),)
    for match in _BARE.finditer(text):
        yield f"#{int(match[0])}", (match[0],)

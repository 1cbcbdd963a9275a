"""The floor under both indexes: the literal words, looked for in the files themselves (seed 003: "Grep only on a fallback trigger").

Runs when nothing reached POSSIBLE, when a leg failed, when files were saved that are not indexed yet, or when an identifier that was asked
for stands in no hit. A literal match is shown without a calibrated score, since none was produced: as possible, or as confident where
an identifier was all that was asked for.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from onebrain.search.legs import attempt
from onebrain.search.reading import Reading
from onebrain.search.report import Band, Hit, Stage, StageStatus
from onebrain.search.snippet import snippet
from onebrain.text import identifiers
from onebrain.vault.library import Library

_SHORTEST = 3  # characters; shorter needles match everywhere
_MOST = 10


@dataclass(frozen=True, slots=True)
class Line:
    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Needle:
    """What to look for in a line; `part` is held, in lower case, by everything that `pattern` finds."""

    pattern: re.Pattern[str]
    part: str

    @classmethod
    def literal(cls, text: str) -> Needle:
        """The words as they are; a number at an end is a whole number."""
        body = (r"(?<![\w.])" if text[0].isdigit() else "") + re.escape(text) + (r"(?!\w|\.\d)" if text[-1].isdigit() else "")
        return cls(re.compile(body, re.IGNORECASE), text.lower() if text.isascii() else "")

    @classmethod
    def identifier(cls, key: str) -> Needle:
        return cls(identifiers.pattern(key), identifiers.part_of(key) if key.isascii() else "")


class Grep(Protocol):
    """Case-insensitive search in the files of the vault, in path order."""

    def lines(self, needles: Sequence[Needle], allowed: Collection[str] | None, limit: int) -> list[Line]:
        """The first line of each file that holds each needle, in the needles' order; at most `limit` of each."""
        ...

    def unindexed(self) -> Collection[str]:
        """Paths saved but not indexed yet."""
        ...


def trigger(hits: Sequence[Hit], stages: Sequence[Stage], unindexed: Collection[str], missing: Sequence[str] = ()) -> str | None:
    """Why to grep, in words; None when there is no need. `missing`: identifiers of the question that no hit is known to hold."""
    failed = [stage.name for stage in stages if stage.status is StageStatus.FAILED]
    if failed:
        return f"{', '.join(failed)} failed"
    if unindexed:
        return f"{len(unindexed)} saved note(s) not indexed yet"
    if not any(hit.band in (Band.CONFIDENT, Band.POSSIBLE, Band.UNRANKED) for hit in hits):
        return "nothing reached the confidence bar"
    return f"no passage is known to hold {', '.join(missing)}" if missing else None


def needles(reading: Reading) -> list[Needle]:
    """What is looked for literally: the whole text when it is short, and each identifier."""
    whole = [reading.text] if (not reading.asks or len(reading.groups) <= 1) and not reading.identifies else []
    found = [*map(Needle.literal, filter(_long_enough, whole)), *map(Needle.identifier, filter(_long_enough, reading.identifiers))]
    return list(dict.fromkeys(found))


def _long_enough(text: str) -> bool:
    return len(text) >= _SHORTEST


def rescue(
    grep: Grep | None,
    hits: tuple[Hit, ...],
    reading: Reading,
    stages: Sequence[Stage],
    allowed: Collection[str] | None,
    library: Library,
    missing: Sequence[str] = (),
) -> tuple[tuple[Hit, ...], Stage]:
    """The hits with literal matches added in front, and how it went. Files that can't be looked at take nothing from the hits."""
    if grep is None:
        return hits, Stage("grep", StageStatus.SKIPPED, "the files are not at hand")

    def looked() -> tuple[tuple[Hit, ...], Stage]:
        why = trigger(hits, stages, grep.unindexed(), missing)
        if why is None:
            return hits, Stage("grep", StageStatus.SKIPPED, "not needed")
        lines = grep.lines(needles(reading), allowed, _MOST)
        found = {line.path: line for line in reversed(lines)}
        new = [_hit(found[path], library, reading) for path in sorted(found)]
        known = {hit.chunk_id for hit in new}
        merged = (*new, *(hit for hit in hits if hit.chunk_id not in known)) if new else hits
        return merged, Stage("grep", StageStatus.RAN, why, hits=len(new))

    return attempt("grep", looked, hits)


def _hit(line: Line, library: Library, reading: Reading) -> Hit:
    note = library.notes().get(line.path)
    inside = [c for c in library.chunks_of(line.path) if c.line_start <= line.line <= c.line_end] if note else []
    return Hit(
        chunk_id=inside[0].id if inside else f"{line.path}#0",
        doc_path=line.path,
        heading_path=inside[0].heading_path if inside else "",
        line_start=line.line,
        line_end=line.line,
        title=note.title if note else line.path,
        source=note.source.value if note else "note",
        score=0.0,
        snippet=snippet(line.text, [term for group in reading.groups for term in group.alternatives]),
        band=Band.CONFIDENT if reading.identifies else Band.POSSIBLE,
        legs=("grep",),
        date=note.date if note else None,
        status=note.status.value if note else "active",
    )

"""Decision records: one a file (ADR, PEP), or one a block (`## ADR-001: title`) of a longer file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from onebrain.text.sentences import plain
from onebrain.vault import records
from onebrain.vault.events import reasons
from onebrain.vault.events.reader import Reader, heading_day
from onebrain.vault.note import Event, EventKind, Section, Status
from onebrain.vault.sources import is_log_name

_BLOCK_HEADING = re.compile(
    r"^\W*(?P<id>(?:ADR|BUG|DEC|DR|D|RFC|DECISION|PDR|TDR|ISSUE)[- #]?\d+)\W*[:.\-–— ]\s*(?P<title>\S.*)$", re.IGNORECASE
)
_BLOCK_DATE = re.compile(
    r"^[\s>*+-]*[*_]{0,2}(?:date|datum|fecha|decided(?: on)?|reported|found|fixed(?: on)?)\b[*_]{0,2}\s*:", re.IGNORECASE
)
_LABEL = re.compile(r"^[\s>*+-]*[*_]{2}(?P<name>[^*_:]{3,40}?):?[*_]{2}:?\s*(?P<rest>.*)$")
_REASON_LABEL = re.compile(r"\b(?:context|decision|rationale|reason|why|root cause|cause|consequences|motivation|problem)\b", re.IGNORECASE)
_NUMBERED_TITLE = re.compile(
    r"^\W*(?:(?:l?adr|madr|pep|rfc|eip|kep|dr|decision(?: record)?|architecture decision record)[-\s#:]*\d+(?:\s*[:.\-–—]+\s*|\s+)"
    r"|(?:adr|decision record|architecture decision record)\s*[:\-–—]+\s*"
    r"|\d{1,5}(?:[.:)]\s+|\s+[-–—:]+\s+)|(?!(?:19|20)\d\d\b)\d{2,5}\s+(?=[A-Z]))",
    re.IGNORECASE,
)
DECISIONS_HEADING = re.compile(
    r"^\W*(?:(?:key|main|important|major|recent|past|our|design|technical|architecture|architectural|project|strategic|open)\s+)*"
    r"(?:decisions?(?:\s+(?:made|taken|log|history|record|register|table))?(?:\s*(?:&|and|/)\s*\w+)?|what (?:we|was|i) decided"
    r"|resolutions?|agreements?|(?:getroffene )?(?:entscheidungen|beschlüsse)|entscheidungsprotokoll|décisions?(?: prises| clés)?"
    r"|decisiones(?: clave| tomadas)?|acuerdos|decisões(?: tomadas)?|decisioni(?: prese)?|(?:ключевые |принятые )?решения|besluiten"
    r"|decyzje|kararlar|quyết định|keputusan|(?:关键|主要|重要)?(?:决定|决策|決策|決定)(?:记录|記錄)?|(?:主な)?決定(?:事項|の記録|履歴)?"
    r"|(?:주요 )?결정(?: ?사항)?|(?:บันทึก)?การตัดสินใจ(?:สำคัญ)?|สิ่งที่ตัดสินใจ|(?:ال)?قرارات)\W*$",
    re.IGNORECASE,
)


def clean_title(title: str) -> str:
    """A record's title without its number: `44. New Platform Name` → `New Platform Name`, `PEP 345 – Metadata` → `Metadata`."""
    return _NUMBERED_TITLE.sub("", title).strip() or title


def record_file(reader: Reader) -> Iterator[Event]:
    note = reader.note
    if note.date is None:
        return
    title = clean_title(note.title)
    sections = _without_status(note.sections)
    reason = reasons.best(sections, title)
    heading = reason.heading if reason and reason.heading else note.headings[0].text if note.headings else ""
    yield Event(
        date=note.date,
        what=title,
        reason=reason.text if reason else None,
        line=reader.dated_line,
        reason_line=reason.line if reason else reader.dated_line,
        heading=heading,
        kind=EventKind.RECORD,
        status=note.status,
    )


def _without_status(sections: Sequence[Section]) -> list[Section]:
    return [
        section for section in sections if not (section.heading_path and records.is_status_key(section.heading_path[-1].casefold().strip()))
    ]


def holds_many(reader: Reader) -> bool:
    """Whether a decision file holds many decisions, each with its own date, rather than one."""
    if is_log_name(reader.note.path):
        return True
    if any(DECISIONS_HEADING.match(heading.text) and heading.level == 1 for heading in reader.note.headings):
        return True
    dated = sum(1 for heading in reader.note.headings if heading.level > 1 and heading_day(heading.text, reader)[0])
    return dated > 1 and dated * 2 >= sum(1 for heading in reader.note.headings if heading.level > 1)


def record_blocks(reader: Reader) -> Iterator[Event]:
    """`## ADR-001: title` blocks, each with a `Date:` of its own."""
    sections = reader.note.sections
    for index, section in enumerate(sections):
        match = _BLOCK_HEADING.match(section.heading_path[-1]) if section.level > 1 else None
        if not match:
            continue
        depth = len(section.heading_path)
        parts = [section]
        for following in sections[index + 1 :]:
            if following.heading_path[:depth] != section.heading_path or following.level <= section.level:
                break
            parts.append(following)
        if event := _block(reader, parts, plain(match["title"], inline=True)):
            yield event


def _block(reader: Reader, parts: Sequence[Section], title: str) -> Event | None:
    iso, line, status = None, parts[0].line_start, None
    for part in parts:
        for number, text in enumerate(part.text.split("\n")):
            if iso is None and _BLOCK_DATE.match(text) and (day := reader.first(text)):
                iso, line = day, part.line_start + number
            elif status is None and re.match(r"^[\s>*+-]*[*_]{0,2}status\b", text, re.IGNORECASE):
                status = records.status_of(text.split(":", 1)[-1])
    iso = iso or reader.first(parts[0].heading_path[-1])
    if iso is None:
        return None
    reason = _labelled_reason(parts, title)
    heading = parts[0].heading_path[-1]
    return Event(
        iso, title, reason.text if reason else None, line, reason.line if reason else line, reason.heading if reason else heading,
        EventKind.RECORD, status or Status.ACTIVE,
    )  # fmt: skip


def _labelled_reason(parts: Sequence[Section], title: str) -> reasons.Reason | None:
    """The best sentence of what follows `**Context**`, `**Decision**`, `**Root Cause**`, or of sub-sections of these names."""
    pieces: list[Section] = []
    for part in parts:
        lines = part.text.split("\n")
        names = [match["name"] if (match := _LABEL.match(line)) else None for line in lines]
        marks = [
            number
            for number, name in enumerate(names)
            if name and not records.is_status_key(name.casefold()) and name.casefold() not in ("date", "severity")
        ]
        for here, after in zip(marks, [*marks, len(lines)][1:], strict=True):
            match = _LABEL.match(lines[here])
            name = names[here] or ""
            if match and _REASON_LABEL.search(name):
                text = "\n".join([match["rest"], *lines[here + 1 : after]])
                pieces.append(
                    Section((*part.heading_path, name), part.level + 1, part.line_start + here, part.line_start + after - 1, text)
                )
        if not marks:
            pieces.append(part)
    best = reasons.best(pieces, title)
    if best is None:
        return None
    heading = next((part.heading_path[-1] for part in reversed(parts) if part.line_start <= best.line), parts[0].heading_path[-1])
    return reasons.Reason(best.text, best.line, heading, best.score)

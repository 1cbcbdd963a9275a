"""Decision tables: no fixed schema, a date-like column and a decision-like one, and whatever else helps."""

from __future__ import annotations

import re
from collections.abc import Iterator

from onebrain.text.sentences import cells, is_divider, plain
from onebrain.vault import records
from onebrain.vault.events.reader import Reader
from onebrain.vault.note import Event, EventKind, Section, Status

MAX_ROWS = 1000  # of one table that are read

_DATE_COLUMN = re.compile(
    r"^\W*(?:date|when|day|decided(?: on)?|datum|wann|fecha|cuándo|data|quando|дата|когда|日期|日付|날짜|التاريخ|ngày|tanggal|tarih)\b|วันที่",
    re.IGNORECASE,
)
_WHAT_COLUMN = re.compile(
    r"\b(?:decisions?|decided|chose|chosen|choice|resolution|outcome|entscheidung(?:en)?|beschluss|décision|decisión|decisão|decisione|решение"
    r"|besluit|decyzja|karar|quyết định|keputusan)\b|决定|决策|決策|決定|결정|การตัดสินใจ|ตัดสินใจ|قرار",
    re.IGNORECASE,
)
_LOOSE_COLUMN = re.compile(
    r"\b(?:what|change|event|summary|description|title|topic|item|action|subject|was|cambio|änderung)\b|内容|เรื่อง", re.IGNORECASE
)
_WHY_COLUMN = re.compile(
    r"\b(?:why|reasons?|reasoning|rationale|because|justification|motivation|context|grund|begründung|warum|raison|pourquoi|razón|motivo"
    r"|por qué|por que|perché|причина|почему|обоснование|waarom|powód|neden|lý do|alasan)\b|理由|原因|เหตุผล|이유|سبب",
    re.IGNORECASE,
)
_NOTES_COLUMN = re.compile(r"\b(?:notes?|comments?|details?|remarks?|impact|notizen|remarque|notas?)\b|备注|หมายเหตุ", re.IGNORECASE)
_STATUS_COLUMN = re.compile(r"\b(?:status|state|statut|estado|stato)\b|状态|สถานะ|статус", re.IGNORECASE)


def decision_rows(reader: Reader, section: Section, listed: bool) -> Iterator[Event]:
    lines = section.text.split("\n")
    for number, line in enumerate(lines[:-1]):
        if "|" not in line or not is_divider(lines[number + 1]):
            continue
        rows = []
        for offset in range(number + 2, min(number + 2 + MAX_ROWS, len(lines))):
            if "|" not in lines[offset] or not lines[offset].strip():
                break
            rows.append((section.line_start + offset, cells(lines[offset])))
        yield from _rows(reader, section, [plain(cell, inline=True) for cell in cells(line)], rows, listed)


def _rows(reader: Reader, section: Section, header: list[str], rows: list[tuple[int, list[str]]], listed: bool) -> Iterator[Event]:
    date_at = _column(header, _DATE_COLUMN)
    if date_at is None:
        date_at = next(
            (i for i in range(len(header)) if rows and sum(bool(i < len(c) and reader.day(c[i])) for _, c in rows) * 2 > len(rows)), None
        )
    what_at = _column(header, _WHAT_COLUMN, date_at)
    why_at = _column(header, _WHY_COLUMN, date_at, what_at)
    if what_at is None and (listed or why_at is not None):
        what_at = _column(header, _LOOSE_COLUMN, date_at, why_at)
    if date_at is None or what_at is None:
        return
    why_at = _column(header, _NOTES_COLUMN, date_at, what_at) if why_at is None else why_at
    status_at = _column(header, _STATUS_COLUMN, date_at, what_at, why_at)
    heading = section.heading_path[-1] if section.heading_path else ""
    for line, row in rows:
        what = plain(_cell(row, what_at), inline=True)
        iso = reader.day(_cell(row, date_at)) or reader.first(_cell(row, date_at))
        if not iso or not re.search(r"[^\W\d_]{2}", what):
            continue
        reason = plain(_cell(row, why_at), inline=True) or None
        status = records.status_of(_cell(row, status_at)) or Status.ACTIVE
        yield Event(iso, what, reason, line, line, heading, EventKind.TABLE, status)


def _column(header: list[str], pattern: re.Pattern[str], *taken: int | None) -> int | None:
    return next((i for i, name in enumerate(header) if i not in taken and pattern.search(name)), None)


def _cell(row: list[str], at: int | None) -> str:
    return row[at] if at is not None and at < len(row) else ""

"""What a note says about itself besides its frontmatter: `Date:` lines, metadata tables, a Status section.

Decision records state their date and status in many ways (Nygard, MADR, tables, PEP headers, emoji). Everything here is about
reading those the same way; what must stay true is that a review, update or supersession date is never taken for the record's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from onebrain.text import dates
from onebrain.vault.frontmatter import Frontmatter, text_of
from onebrain.vault.note import Heading, Status

HEAD_LINES = 60  # metadata stands at the top; a `Date:` further down belongs to something else

_OTHER_TONGUES = "datum entscheidungsdatum fecha data дата วันที่ 日期 日付 決定日 날짜 التاريخ ngày tanggal tarih"
_MADE_IN_OTHER_TONGUES = "erstellt creado создано 作成日 创建日期 작성일"
DATE_KEYS = (
    *("date", "day", "decided", "decided on", "decision date", "date decided", "date of decision", "accepted", "approved"),
    *_OTHER_TONGUES.split(),
)
CREATED_KEYS = (
    *("created", "created at", "date created", "creation date", "created on", "published", "ts", "timestamp", "time"),
    *_MADE_IN_OTHER_TONGUES.split(),
)
_MADE_FIELDS = {"date created", "created", "created on", *_MADE_IN_OTHER_TONGUES.split()}
_DATE_FIELDS = {*DATE_KEYS, "dated", "start date", "date proposed", "proposed on", *_MADE_FIELDS}

_FIELD = re.compile(
    r"^[\s>*+-]*(?P<cell>\|)?\s*[*_]{0,3}(?P<key>[^\W\d_][^\n:：|*_.,;!?]{0,40}?)[*_]{0,3}\s*"
    r"(?:::?|：|(?(cell)\||(?!)))\s*[*_]{0,3}\s*"
    r"(?P<value>\S.*?)[\s|]*$"
)
_BARE_DATE = re.compile(r"^[\s>*+-]*[*_]{0,3}(?:date|dated|datum|fecha)[*_]{0,3}\s+(?=\d)", re.IGNORECASE)
_SAID_DATE = re.compile(
    r"\b(?:decision made|decided|accepted|approved|adopted|agreed|ratified|resolved|proposed)\b(?: on| at| in|:|,)?\W{0,4}", re.IGNORECASE
)
_STRUCK = re.compile(r"~~.*?~~")

_PARTLY = re.compile(r"\b(?:part(?:ly|ially)|in part|teilweise|partiellement|parcialmente)\b", re.IGNORECASE)
_STATUS_WORDS: tuple[tuple[Status, str], ...] = (
    (
        Status.SUPERSEDED,
        r"super[sc]e+ded|replaced|obsoleted|ersetzt|abgelöst|remplacée?|reemplazad[oa]|substitu[ií]d[oa]|заменено|"
        r"已取代|已替代|置き換え|ถูกแทนที่|⌛",
    ),
    (Status.DEPRECATED, r"deprecated|obsolete|retired|veraltet|obsolète|obsolet[oa]|устарело|已弃用|已廢棄|非推奨|เลิกใช้"),
    (
        Status.REJECTED,
        r"rejected|withdrawn|declined|abandoned|deferred|cancell?ed|postponed|not accepted|won.?t do|abgelehnt|zurückgezogen|refusée?|"
        r"rechazad[oa]|rejeitad[oa]|отклонено|已拒绝|却下|ปฏิเสธ|❌",
    ),
    (Status.NEEDS_REVIEW, r"needs[- ]review"),
    (
        Status.DRAFT,
        r"draft|proposed|proposal|pending|incomplete|wip|work in progress|in progress|under review|in review|provisional|open|"
        r"vorgeschlagen|entwurf|brouillon|proposée?|borrador|propuest[oa]|rascunho|предложено|черновик|草案|提案|ร่าง|🤔",
    ),
    (
        Status.ACTIVE,
        r"accepted|approved|active|final|implemented|done|adopted|agreed|decided|completed?|current|in effect|in force|stable|"
        r"akzeptiert|angenommen|acceptée?|aceptad[oa]|aceit[oa]|принято|已接受|已采纳|採用|承認|อนุมัติ|✅",
    ),
)
_STATUS = re.compile("|".join(rf"(?P<s{i}>{words})" if not words[0].isascii() else rf"(?P<s{i}>(?<!\w)(?:{words})(?!\w))"
                              for i, (_, words) in enumerate(_STATUS_WORDS)), re.IGNORECASE)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Field:
    """One `key: value` of the note's own metadata; `key` is lower case, `line` counts in the file."""

    key: str
    value: str
    line: int


@dataclass(frozen=True, slots=True)
class Dated:
    """A day and the line it is written on (1 where it comes from the file name). `made`: the day the file was made, which need not be
    the day that its sentences speak of."""

    iso: str
    line: int
    made: bool = False


def fields(lines: Sequence[str], first_line: int, code: bytearray) -> list[Field]:
    """The metadata lines at the top of the body, in order."""
    found: list[Field] = []
    for number, line in enumerate(lines[:HEAD_LINES]):
        if code[number] or not line.strip():
            continue
        if match := _FIELD.match(line):
            found.append(Field(" ".join(match["key"].casefold().split()), match["value"], first_line + number))
        elif match := _BARE_DATE.match(line):
            found.append(Field("date", line[match.end() :].strip(), first_line + number))
    return found


def own_date(
    stem: str,
    front: Frontmatter,
    meta: Iterable[Field],
    status: tuple[str, int] | None,
    headings: Sequence[Heading],
    order: str | None,
    *,
    record: bool = False,
) -> Dated | None:
    """The day a note speaks of: frontmatter, file name, metadata line, status text, heading; the first that has one.

    In a decision `record` the `Date:` in its body outranks the day the file was made.
    """
    in_body = _body_date(list(meta), status, headings, order)
    in_name = dates.day_in_name(stem)
    created = _front_date(front, CREATED_KEYS, order, made=True)
    candidates = [_front_date(front, DATE_KEYS, order)]
    if in_name and dates.parse_day(stem.replace("_", "-")) == in_name:  # a daily note: its name outranks the day the file was made
        candidates.append(Dated(in_name, 1))
    candidates += [in_body if record else None, created, Dated(in_name, 1) if in_name else None, in_body]
    for dated in candidates:
        if dated:
            return dated
    return None


def _body_date(meta: list[Field], status: tuple[str, int] | None, headings: Sequence[Heading], order: str | None) -> Dated | None:
    if dated := field_date(meta, order):
        return dated
    if status and (match := _SAID_DATE.search(status[0])) and (iso := dates.first_day(status[0][match.end() :][:40], order)):
        return Dated(iso, status[1])
    for heading in headings[:1]:
        if iso := dates.first_day(heading.text, order):
            return Dated(iso, heading.line)
    return None


def field_date(meta: Iterable[Field], order: str | None) -> Dated | None:
    """The day that a metadata line gives."""
    for item in meta:
        if item.key in _DATE_FIELDS and (iso := dates.keyed_day(item.value, order)):
            return Dated(iso, item.line, item.key in _MADE_FIELDS)
    return None


def _front_date(front: Frontmatter, keys: tuple[str, ...], order: str | None, *, made: bool = False) -> Dated | None:
    for key in keys:
        value, line = front.find(key)
        if (text := text_of(value)) and (iso := dates.keyed_day(text, order) or dates.day_in_name(text)):
            return Dated(iso, line or 1, made)
    return None


def status_of(text: str) -> Status | None:
    """The status a text states, by its first status word; None where it states none. "Partly superseded" still holds."""
    text = _STRUCK.sub("", text)
    match = _STATUS.search(text)
    if not match or match.lastgroup is None:
        return None
    status = _STATUS_WORDS[int(match.lastgroup[1:])][0]
    if match[0] in "✅❌⌛🤔" and (said := status_of(text[match.end() :])):
        return said
    if status is Status.SUPERSEDED and _PARTLY.search(text[: match.start()]):
        return Status.ACTIVE
    return status


def is_status_key(key: str) -> bool:
    return key in {"status", "state", "statut", "estado", "stato", "статус", "สถานะ", "状态", "狀態", "ステータス", "상태"}

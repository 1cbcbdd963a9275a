"""Decisions in running notes: bullets under `Key Decisions`, entries under dated headings, changelogs, sentences that decide."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from onebrain.text import dates
from onebrain.text.marks import OPEN_TASK
from onebrain.text.sentences import Kind, Sentence, plain, sentences
from onebrain.vault.events import cues, reasons
from onebrain.vault.events.reader import YEAR, Reader, dated_sections, heading_day, leading_day, own_day
from onebrain.vault.events.record import DECISIONS_HEADING
from onebrain.vault.events.table import decision_rows
from onebrain.vault.note import Event, EventKind, Section, Source, name_of

MOST_TEXT = 20_000  # characters of one section that are read for bullets and sentences
CHANGELOG_BULLETS = 40
SHORTEST = 35  # characters; a shorter sentence (`Confirmed fix.`) tells nothing by itself

_LOGS = {Source.SESSION, Source.CHECKPOINT, Source.PAUSE}
_DATED_SOURCES = {*_LOGS, Source.DAILY}
_TOLD_BY_TITLE = {Source.MEMORY, Source.MEMORY_NOTE, Source.CARD}
_DATED_TYPE = {"meeting", "meetings", "journal", "log", "worklog", "standup", "retro", "retrospective", "minutes", "daily"}
_MEMORY_TYPES = {"project", "decision", "context", "dev"}
_OPEN_TASK = re.compile(rf"^[\s>]*(?:[-+*]|\d+[.)])\s+(?:\[ \]|{OPEN_TASK})")
_YEAR_ALONE = re.compile(r"(?<![\w.,/-])((?:19|20)\d\d)(?![\w/-]|[.,]\d)")
_ANOTHER_DAY = re.compile(
    r"\b(?:yesterday|tomorrow|ago|last (?:week|month|quarter|year|spring|summer|autumn|fall|winter)|originally|gestern|damals"
    r"|autrefois|ayer|hace|ontem|ieri|вчера|раньше|dün)\b|昨日|昨天|去年|어제|작년|เมื่อวาน|ปีที่แล้ว",
    re.IGNORECASE,
)
_BLANK = re.compile(r"\n[ \t]*\n\s*")
_REASON_LEAD = re.compile(
    r"^\W*(?:why|reason|rationale|because|context|grund|begründung|raison|motivo|razón|причина|理由|原因|เหตุผล)\b\W*", re.IGNORECASE
)
_VERSION_HEADING = re.compile(r"^\W*(?:[\w.-]+\s+){0,2}(?:v\d+(?:\.\d+)*|\d+(?:\.\d+)+)\S*", re.IGNORECASE)
_GROUP_HEADING = re.compile(
    r"\W*(?:added|new|changed|changes|improved|fixed|removed|deprecated|security|features?|bug ?fixes|improvements|breaking(?: changes)?"
    r"|other|misc|docs?)\W*",
    re.IGNORECASE,
)


def log_entries(reader: Reader) -> Iterator[Event]:
    note = reader.note
    yielded = False
    sections = list(dated_sections(reader))
    for section, day in sections:
        for event in _section_events(reader, section, day or note.date):
            yielded = yielded or event.kind is EventKind.SESSION
            yield event
    yield from _memory(reader)
    if not yielded and note.source not in _TOLD_BY_TITLE:
        own = note.date if _speaks_of_its_day(reader) else None
        for section, day in sections:
            yield from _deciding(reader, section, day or own)


def _section_events(reader: Reader, section: Section, day: str | None) -> Iterator[Event]:
    path = section.heading_path
    listed = any(DECISIONS_HEADING.match(heading) for heading in path[-2:])
    if "|" in section.text:
        yield from decision_rows(reader, section, listed)
    if listed:
        yield from _bullets(reader, section, day)
        return
    if not section.text or reader.note.source in _LOGS:
        return
    if path and section.level > 1 and (dated := heading_day(path[-1], reader))[0] and dated[1]:
        yield dated_entry(reader, section, dated[0] or "", dated[1])
    elif YEAR.search(section.text):
        for part in _dated_parts(section):
            yield from _bullets(reader, part, None, required=True)
            yield from _dated_sentences(reader, part)


def dated_entry(reader: Reader, section: Section, iso: str, what: str) -> Event:
    """An entry under a dated heading with a title (`### 30.06.2026: Wechsel zu Papierhof Anselm`)."""
    heading = section.heading_path[-1]
    found = sentences(section.text[:2000])
    reason = reasons.best_of(found, section.line_start, heading, what)
    if reason is None and found:
        reason = reasons.Reason(found[0].text, section.line_start + found[0].line_offset, heading, 0.0)
    line = section.line_start
    return Event(iso, what, reason.text if reason else None, line, reason.line if reason else line, heading, EventKind.DAILY)


def _bullets(reader: Reader, section: Section, above: str | None, *, required: bool = False) -> Iterator[Event]:
    """List items as decisions, of the day they begin with, else of the one above. `required`: an item counts only if it begins with a
    day and tells of a decision or its reason."""
    heading = section.heading_path[-1] if section.heading_path else ""
    kind = EventKind.SESSION if reader.note.source in _LOGS or not required else EventKind.DAILY
    lines = section.text.split("\n")
    for group in list_items(section.text):
        first = group[0]
        if _OPEN_TASK.match(lines[first.line_offset]):
            continue
        iso, words = own_day(first.text, reader)
        text = " ".join(sentence.text for sentence in group)
        if required and (iso is None or not (cues.explains(text) or cues.decides(words))):
            continue
        iso = iso or above
        if iso is None or not re.search(r"[^\W\d_]{2}", words):
            continue
        line = section.line_start + first.line_offset
        reason = _bullet_reason(group, words, section.line_start, heading)
        yield Event(iso, words, reason.text if reason else None, line, reason.line if reason else line, heading, kind)


def _dated_parts(section: Section) -> Iterator[Section]:
    """The paragraphs and lists of a section that hold a whole date and a word of decision or reason."""
    line = section.line_start
    for gap, text in zip(["", *_BLANK.findall(section.text)], _BLANK.split(section.text), strict=True):
        line += gap.count("\n")
        if YEAR.search(text) and (cues.may_decide(text) or cues.explains(text)):
            yield Section(section.heading_path, section.level, line, line + text.count("\n"), text)
        line += text.count("\n")


def _bullet_reason(group: Sequence[Sentence], words: str, first_line: int, heading: str) -> reasons.Reason | None:
    """The sentence of a bullet (or of the bullets under it) that explains; a label such as `Why:` counts as a cue."""
    for sentence in group[1:]:
        if _REASON_LEAD.match(sentence.text):
            return reasons.Reason(sentence.text, first_line + sentence.line_offset, heading, 9.0)
    found = reasons.best_of(group, first_line, heading)
    if found is None and len(group) > 1:
        second = group[1]
        return reasons.Reason(second.text, first_line + second.line_offset, heading, 0.0)
    if found is None and re.search(r"\s[–—-]\s|[:;]\s", words):
        return reasons.Reason(group[0].text, first_line + group[0].line_offset, heading, 0.0)
    return found


def list_items(text: str) -> Iterator[list[Sentence]]:
    """The top-level list items of a section (or its paragraphs, where it has no list), each as its sentences and those nested in it."""
    found = sentences(text[:MOST_TEXT])
    lines = text.split("\n")
    items = [sentence for sentence in found if sentence.kind is Kind.ITEM]
    chosen = items or [sentence for sentence in found if sentence.kind in (Kind.PROSE, Kind.FIELD)]
    if not chosen:
        return
    indents = [_indent(lines, sentence) for sentence in chosen]
    top = min(indents)
    group: list[Sentence] = []
    for index, sentence in enumerate(chosen):
        starts = indents[index] <= top and (not items or _begins_item(lines, sentence, chosen[index - 1] if index else None))
        if starts and group:
            yield group
            group = []
        group.append(sentence)
    yield group


def _indent(lines: Sequence[str], sentence: Sentence) -> int:
    line = lines[sentence.line_offset].expandtabs(4)
    return len(line) - len(line.lstrip())


def _begins_item(lines: Sequence[str], sentence: Sentence, before: Sentence | None) -> bool:
    if before is not None and before.line_offset == sentence.line_offset:
        return False
    return bool(re.match(r"^[ \t>]*(?:[-+*]|\d{1,9}[.)])[ \t]", lines[sentence.line_offset]))


def _dated_sentences(reader: Reader, section: Section) -> Iterator[Event]:
    """`On 2026-02-12 hiring was frozen for the year, because …`: a sentence with one day that decides and explains."""
    heading = section.heading_path[-1] if section.heading_path else ""
    for sentence in sentences(section.text[:MOST_TEXT]):
        if sentence.kind is not Kind.PROSE or not (cues.decides(sentence.text) and cues.explains(sentence.text)):
            continue
        found = dates.find_dates(sentence.text, reader.order)
        if len(found) == 1:
            line = section.line_start + sentence.line_offset
            yield Event(found[0].iso, sentence.text, sentence.text, line, line, heading, EventKind.DAILY)


def _speaks_of_its_day(reader: Reader) -> bool:
    """Whether the note's date is the day its sentences speak of, not just the day it was made: the note says so, or is a log, a diary,
    minutes."""
    note = reader.note
    if note.date is None:
        return False
    words = {note.type.casefold() if note.type else "", *(tag.casefold() for tag in note.tags)}
    if note.source in _DATED_SOURCES or dates.day_in_name(name_of(note.path)) == note.date or words & _DATED_TYPE:
        return True
    of_a_section = any(section.level > 1 and section.line_start <= reader.dated_line <= section.line_end for section in note.sections)
    return reader.speaks and not of_a_section


def _deciding(reader: Reader, section: Section, above: str | None) -> Iterator[Event]:
    """Sentences that tell of a decision or a change, of the day their paragraph begins with, else of the one above."""
    if not cues.may_decide(section.text) or not (above or YEAR.search(section.text)):
        return
    heading = section.heading_path[-1] if section.heading_path else ""
    if reader.note.source not in _LOGS and section.level > 1 and all(heading_day(heading, reader)):
        return  # the entry of this heading tells it
    text = section.text[:MOST_TEXT]
    found, day, end = sentences(text), None, 0
    for sentence, after in zip(found, [*found[1:], None], strict=False):
        if _BLANK.search(text, end, sentence.start) or sentence.kind is Kind.ITEM:
            day = None
        day, end = leading_day(sentence.text, reader) or day, sentence.end
        iso = day or above
        if iso is None or not _states(sentence, iso) or dates.find_dates(sentence.text, reader.order):
            continue
        reason = sentence if cues.explains(sentence.text) else after if after and _explains(text, sentence, after) else None
        if reason is None and reasons.size(sentence.text) < SHORTEST:
            continue
        line = section.line_start + sentence.line_offset
        at = section.line_start + reason.line_offset if reason else line
        yield Event(iso, sentence.text, reason.text if reason else None, line, at, heading, EventKind.DAILY)


def _states(sentence: Sentence, iso: str) -> bool:
    """Whether a sentence tells of a decision as of a day: no question, no aside (`when we moved`), no word of another year or day."""
    text = sentence.text
    if sentence.kind not in (Kind.PROSE, Kind.ITEM) or text.endswith(("?", "？")) or not cues.states(text):
        return False
    return all(year == iso[:4] for year in _YEAR_ALONE.findall(text)) and not _ANOTHER_DAY.search(text)


def _explains(text: str, sentence: Sentence, after: Sentence) -> bool:
    """Whether the sentence behind one that decides, in the same paragraph or item, gives its reason."""
    if after.kind not in (Kind.PROSE, Kind.ITEM) or not cues.explains(after.text) or cues.decides(after.text):
        return False
    lines = text.split("\n")
    begins = _begins_item(lines, after, sentence) and _indent(lines, after) <= _indent(lines, sentence)
    return not begins and not _BLANK.search(text, sentence.end, after.start)


def _memory(reader: Reader) -> Iterator[Event]:
    """A memory note that records a decision, and a card of type decision."""
    note = reader.note
    kind = (note.type or "").casefold()
    is_memory = note.source is Source.MEMORY_NOTE and kind in _MEMORY_TYPES
    if note.date is None or not (is_memory or (note.source is Source.CARD and kind == "decision")):
        return
    for section in note.sections:
        found = [sentence for sentence in sentences(section.text[:4000]) if sentence.kind in (Kind.PROSE, Kind.ITEM)]
        deciding = [sentence for sentence in found if cues.decides(sentence.text)]
        heading = section.heading_path[-1] if section.heading_path else ""
        reason = reasons.best_of(found, section.line_start, heading, note.title)
        if reason is None or not (deciding or kind == "decision"):
            continue
        own = [day for sentence in deciding for day in dates.find_dates(sentence.text, reader.order)]
        line = section.line_start + deciding[0].line_offset if deciding else reader.dated_line
        yield Event(own[0].iso if own else note.date, note.title, reason.text, line, reason.line, heading, EventKind.MEMORY, note.status)
        return


def changelog_entries(reader: Reader, *, one_release: bool = False) -> Iterator[Event]:
    """Entries under dated headings: `## [1.2.0] - 2024-05-01` with bullets, `## 2024-05-01` with `### [feat]: title` below. Where a file
    holds `one_release`, its own date stands above all."""
    of_release = reader.note.date if one_release and _speaks_of_its_day(reader) else None
    for section, day in dated_sections(reader):
        iso = day or of_release
        own = section.heading_path[-1] if section.heading_path else ""
        if iso is None:
            continue
        rest = heading_day(own, reader)[1]
        if day and rest and not _VERSION_HEADING.match(rest) and not _GROUP_HEADING.fullmatch(rest) and section.text:
            yield _changed(reader, section, iso, rest)
            continue
        for group in list(list_items(section.text))[:CHANGELOG_BULLETS]:
            first = group[0]
            if first.kind is not Kind.ITEM and len(first.text) < SHORTEST:
                continue
            at = section.line_start + first.line_offset
            reason = reasons.best_of(group, section.line_start, own)
            yield Event(iso, first.text, reason.text if reason else None, at, reason.line if reason else at, own, EventKind.CHANGELOG)


def _changed(reader: Reader, section: Section, iso: str, what: str) -> Event:
    entry = dated_entry(reader, section, iso, plain(what, inline=True))
    return Event(entry.date, entry.what, entry.reason, entry.line, entry.reason_line, entry.heading, EventKind.CHANGELOG)

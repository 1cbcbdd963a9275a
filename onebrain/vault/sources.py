"""Which knowledge layer a note belongs to: by its path first, then by what it says of itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from onebrain.config import Folders
from onebrain.text import dates
from onebrain.vault.frontmatter import text_of, texts
from onebrain.vault.note import Source, Value, name_of

_SESSION = re.compile(r"^\d{4}-\d{2}-\d{2}-(?:.+-)?session-\d+$", re.IGNORECASE)
_CHECKPOINT = re.compile(r"^\d{4}-\d{2}-\d{2}-.+-checkpoint-\d+$", re.IGNORECASE)
_PAUSE = re.compile(r"^\d{4}-\d{2}-\d{2}-.+-pause-\d+$", re.IGNORECASE)
_RECORD_FOLDER = re.compile(
    r"^(?:\d+[-_. ]+)?(?:adrs?|madrs?|decisions?|(?:architecture|architectural|design|technical)[-_ ]decisions?(?:[-_ ]records?)?|"
    r"decision[-_ ](?:records?|log|history)|"
    r"peps?|rfcs?|entscheidungen|décisions?|decisiones)$",
    re.IGNORECASE,
)
_RECORD_NAME = re.compile(
    r"^(?:l?adr|madr|pep|rfc|eip|kep|dr|decision|rfd)[-_ ]?\d+\b"
    r"|^\d{4}-\d{2}-\d{2}[-_ ](?:adr|decision)\b|^(?:adr|decision)(?:\s+-\s|:)",
    re.IGNORECASE,
)
_LOG_NAME = re.compile(
    r"^(?:(?:architecture|architectural|design|technical|key|project)[-_ ])?decisions?(?:[-_ ](?:log|register|history))?$",
    re.IGNORECASE,
)
_NOT_A_RECORD = re.compile(
    r"^(?:readme|index|source|license|_?template|\d+[-_ ]template|about\b.*|_index|toc|contributing)(?:\b.*)?$", re.IGNORECASE
)
_NUMBERED = re.compile(r"^\d{1,5}[-_. ]+\D")
_RECORD_KEYS = {"pep", "eip", "rfc", "adr", "madr", "adr-id", "decision-id", "deciders", "decision-makers"}
_RECORD_TYPES = {
    "adr",
    "madr",
    "decision",
    "decision-record",
    "architecture-decision",
    "decision record",
    "architecture decision record",
    "rfc",
    "pep",
}
_DECISION_HEADING = re.compile(
    r"(?:the )?(?:decisions?(?: outcome| made)?|decision drivers|considered options|options considered|entscheidung|décision|decisión|"
    r"decisão|decisione|решение|决策|决定|決定|"
    r"การตัดสินใจ)\b.*",
    re.IGNORECASE,
)
_STATED = re.compile(
    r"^#{1,4} *status\b|^[ >*|+-]*[*_]*status[*_]*\s*[:|]|\b(?:ADRs?|RFC)\b|^#.*\bdecision\b", re.IGNORECASE | re.MULTILINE
)
_DATED = re.compile(r"^[ >*|+-]*[*_]*(?:start |decision )?date\b", re.IGNORECASE | re.MULTILINE)
_CONTEXT_HEADING = re.compile(
    r"(?:context|status|consequences|context and problem statement|kontext|contexte|contexto|rationale|motivation)\b.*", re.IGNORECASE
)


def classify(path: str, frontmatter: Mapping[str, Value], folders: Folders, headings: Iterable[str] = (), opening: str = "") -> Source:
    """The source kind of a note. `headings` are its heading texts and `opening` its first lines: a record is also known by these."""
    place = PurePosixPath(path)
    if (name := name_of(path)) != place.stem:
        place = place.with_name(name + place.suffix)
    tags = {
        tag.strip("# ").casefold() for key in ("tags", "tag") for value in texts(frontmatter.get(key)) for tag in re.split(r"[,\s]+", value)
    }
    return (
        _special(path, place)
        or (Source.ARCHIVE if _inside(path, folders.archive) else None)
        or _logged(place, tags, _inside(path, folders.logs))
        or (Source.DECISION if _is_record(place, frontmatter, tags, list(headings), opening) else None)
        or (Source.MEMORY_NOTE if _is_memory(path, place, tags, folders) else None)
        or (Source.DAILY if dates.parse_day(place.stem) else None)
        or _by_folder(path, folders)
    )


def _special(path: str, place: PurePosixPath) -> Source | None:
    if path.startswith(".claude/memory/"):
        return Source.EVENT if place.suffix.lower() == ".jsonl" else Source.CARD
    if place.name == "MEMORY.md":
        return Source.MEMORY
    return Source.MEMORY_INDEX if place.name == "MEMORY-INDEX.md" else None


def _logged(place: PurePosixPath, tags: set[str], in_logs: bool) -> Source | None:
    """Both layouts: `logs/session/YYYY/MM/…` and the older flat `logs/YYYY/MM/…-session-NN.md`."""
    kind = place.parent.parts[1] if in_logs and len(place.parent.parts) > 1 else ""
    if _CHECKPOINT.match(place.stem) or "checkpoint" in tags or kind == "checkpoint":
        return Source.CHECKPOINT
    if _PAUSE.match(place.stem) or "pause" in tags or kind == "pause":
        return Source.PAUSE
    if _SESSION.match(place.stem) or "session-log" in tags or kind == "session" or place.stem.casefold() == "session_notes":
        return Source.SESSION
    return Source.LOG if in_logs or "audit-log" in tags else None


def is_log_name(path: str) -> bool:
    """`decisions.md`, `architecture_decisions.md`, `Decision Log.md`: a file that holds many decisions."""
    return bool(_LOG_NAME.match(PurePosixPath(path).stem))


def _is_record(place: PurePosixPath, frontmatter: Mapping[str, Value], tags: set[str], headings: list[str], opening: str) -> bool:
    if _NOT_A_RECORD.match(place.stem):
        return False
    kind = (text_of(frontmatter.get("type")) or "").strip("[]").casefold()
    if kind in _RECORD_TYPES or _RECORD_KEYS & {key.casefold() for key in frontmatter} or tags & _RECORD_TYPES:
        return True
    if _RECORD_NAME.match(place.stem) or _LOG_NAME.match(place.stem):
        return True
    sections = bool(any(map(_DECISION_HEADING.fullmatch, headings)) and any(map(_CONTEXT_HEADING.fullmatch, headings)))
    numbered = bool(_NUMBERED.match(place.stem))
    in_records = any(_RECORD_FOLDER.match(part) for part in place.parent.parts)
    stated = (
        numbered
        and bool(_STATED.search(opening))
        and (
            bool(_DATED.search(opening))
            or any(_CONTEXT_HEADING.fullmatch(heading) and not heading.casefold().startswith("status") for heading in headings)
        )
    )
    return (in_records and (numbered or bool(headings))) or sections or stated


def _is_memory(path: str, place: PurePosixPath, tags: set[str], folders: Folders) -> bool:
    parent = place.parent.name.casefold()
    return parent == "memory" and (_inside(path, folders.agent) or len(place.parent.parts) == 1) or "agent-memory" in tags


def _by_folder(path: str, folders: Folders) -> Source:
    for folder, source in (
        (folders.inbox, Source.INBOX),
        (folders.projects, Source.PROJECT),
        (folders.areas, Source.AREA),
        (folders.knowledge, Source.KNOWLEDGE),
        (folders.resources, Source.RESOURCE),
    ):
        if _inside(path, folder):
            return source
    return Source.NOTE


def _inside(path: str, folder: str) -> bool:
    return bool(folder) and path.startswith(folder.rstrip("/") + "/")

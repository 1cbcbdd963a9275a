"""What is to be written when the user says, confirms or replaces something: decided here as new texts of notes, carried out by `store`.

What must stay true: saying a thing twice makes one memory said twice, not a twin; another day's event is another memory; nothing but the
user's own statements counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from onebrain.errors import BadRequest
from onebrain.memory.activation import Strength, reinforce, topic
from onebrain.memory.memories import DISTILLED, Memory
from onebrain.memory.restating import restates
from onebrain.memory.secrets import secret_in
from onebrain.memory.store import with_keys
from onebrain.text.analysis import fold

LONGER = 1.1  # a restatement that is longer than this replaces the text
_NAME_WORDS = 5


@dataclass(frozen=True, slots=True)
class Statement:
    """Something the user said. `stored` is a day; `confirmed` is more than 1 only for a memory that is brought from elsewhere."""

    content: str
    strength: Strength
    subject: str | None = None
    topics: tuple[str, ...] = ()
    source: str = "onebrain memory add"
    superseded_by: str | None = None


def checked(statement: Statement) -> Statement:
    """Raises BadRequest for a text that says nothing or holds a secret, and for values out of range."""
    if not re.search(r"\w", statement.content):
        raise BadRequest("There is nothing to remember.", hint='Say it: onebrain memory add "User enjoys Italian food" --subject user')
    if kind := secret_in(statement.content):
        raise BadRequest(f"This holds {kind}, so it isn't kept: notes are synced and quoted.", hint="Remember where it is kept instead.")
    strength = statement.strength
    if strength.category not in (*DISTILLED, "context"):
        raise BadRequest(f"type must be one of {', '.join((*DISTILLED, 'context'))}, not {strength.category!r}.")
    if not 1 <= strength.importance <= 10:
        raise BadRequest(f"importance goes from 1 to 10, not {strength.importance:g}.")
    if not 0 <= strength.confidence <= 1:
        raise BadRequest(f"confidence goes from 0 to 1, not {strength.confidence:g}.")
    return statement


def twin_of(statement: Statement, memories: Iterable[Memory]) -> Memory | None:
    """The current memory that `statement` says again: near-identical, about the same subject, of the same event day if it names one."""
    event = statement.strength.event_date
    for memory in memories:
        same_day = event is None or event == memory.strength.event_date
        same_subject = (memory.subject or "").casefold() == (statement.subject or "").casefold()
        if not memory.superseded and same_day and same_subject and restates(memory.content, statement.content):
            return memory
    return None


def confirmed(text: str, memory: Memory, today: date, content: str | None = None) -> str:
    """The note of `memory` after the user said it once more. A `content` that is over a tenth longer takes the old one's place."""
    stronger = reinforce(memory.strength, today)
    changes = {"confidence": f"{stronger.confidence:g}", "confirmed": str(stronger.confirmed), "last_confirmed": today.isoformat()}
    text = with_keys(text, {**changes, "verified": today.isoformat(), "updated": today.isoformat()})
    if content and len(content) > LONGER * len(memory.content) and memory.content in text:
        head, _, tail = text.rpartition(memory.content)
        text = f"{head}{content}{tail}"
    return text


def superseded(text: str, by: str, today: date) -> str:
    return with_keys(text, {"status": "deprecated", "superseded_by": f"{by}.md", "updated": today.isoformat()})


def superseding(text: str, old: str, today: date) -> str:
    return with_keys(text, {"supersedes": f"{old}.md", "updated": today.isoformat()})


def note_text(statement: Statement) -> str:
    """A new memory as a note, with the frontmatter of OneBrain's own memories and ours beside it."""
    strength = statement.strength
    last = strength.last_confirmed or strength.stored
    level = "high" if strength.confidence >= 0.9 else "medium" if strength.confidence >= 0.65 else "low"
    keys = {
        "tags": "[agent-memory]",
        "created": strength.stored.isoformat(),
        "source": _yaml(statement.source),
        "topics": f"[{', '.join(map(_yaml, statement.topics or _topics(statement.content)))}]",
        "type": strength.category,
        "status": "deprecated" if strength.superseded else "active",
        "conf": level,
        "verified": last.isoformat(),
        "updated": last.isoformat(),
        "subject": _yaml(statement.subject) if statement.subject else "",
        "importance": f"{strength.importance:g}",
        "confidence": f"{strength.confidence:g}",
        "confirmed": str(strength.confirmed),
        "last_confirmed": last.isoformat(),
        "event_date": strength.event_date.isoformat() if strength.event_date else "",
        "superseded_by": f"{statement.superseded_by}.md" if statement.superseded_by else "",
    }
    head = "\n".join(f"{key}: {value}" for key, value in keys.items() if value)
    return f"---\n{head}\n---\n\n{statement.content.strip()}\n"


def name_for(content: str, taken: Iterable[str]) -> str:
    """A kebab-case file name of at most five words that no other note has; `-02` and so on where the words are the same."""
    words = re.findall(r"\w+", fold(content).replace("_", " "))
    said = [group.key for group in topic(content) if re.fullmatch(r"\w+", group.key)]
    chosen = [word for word in words if word in said or not said][:_NAME_WORDS] or words[:_NAME_WORDS] or ["memory"]
    base = "-".join(chosen)[:60].strip("-") or "memory"
    used = {name.casefold() for name in taken}
    names = (base if number == 1 else f"{base}-{number:02}" for number in range(1, 10_000))
    return next(name for name in names if name.casefold() not in used)


def _topics(content: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(group.key for group in topic(content) if group.key.isalpha()))[:3]


def _yaml(text: str) -> str:
    """A scalar that YAML reads back as the same text."""
    text = " ".join(text.split())
    if re.fullmatch(r"[\w/][\w /.@+-]*", text) and text.casefold() not in ("null", "true", "false", "yes", "no"):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

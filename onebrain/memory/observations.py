"""Records of claude-mem as values. Anything but what the worker is known to send is refused, never guessed at."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from onebrain.errors import OneBrainError


class LayerOneFailed(OneBrainError):
    """No usable answer in time. `reason` is what to tell the user; a malformed answer is one reason among others."""

    code = "E_CLAUDE_MEM"


@dataclass(frozen=True, slots=True)
class Observation:
    """A record of claude-mem. `created_at` is ISO with offset, `session` the worker's own id."""

    id: int
    session: str
    created_at: str
    project: str
    title: str
    text: str

    @property
    def citation(self) -> str:
        return f"session {self.session} (#{self.id}, {self.created_at})"

    @property
    def day(self) -> str:
        return self.created_at[:10]

    @property
    def content(self) -> str:
        return f"{self.title}. {self.text}" if self.title and not self.text.startswith(self.title) else self.text or self.title


def observations(items: object) -> list[Observation]:
    """Raises LayerOneFailed unless `items` is a list of records with an integer id and a readable time."""
    if not isinstance(items, list):
        raise LayerOneFailed("malformed answer from the worker (records are not a list)")
    return [_observation(item) for item in items]


def _observation(item: object) -> Observation:
    fields = as_object(item, "a record")
    number, created = fields.get("id"), fields.get("created_at")
    try:
        datetime.fromisoformat(str(created))
    except ValueError:
        raise LayerOneFailed("malformed answer from the worker (a record without a time)") from None
    if not isinstance(number, int) or isinstance(number, bool):
        raise LayerOneFailed("malformed answer from the worker (a record without an id)")
    told = " ".join(filter(None, (_line(fields.get(key)) for key in ("subtitle", "narrative", "text"))))
    return Observation(
        id=number,
        session=_line(fields.get("memory_session_id")) or "unknown",
        created_at=str(created),
        project=_line(fields.get("project")),
        title=_line(fields.get("title")),
        text=told or " ".join(_facts(fields.get("facts"))),
    )


def _facts(value: object) -> list[str]:
    """`facts` is a JSON list in a string; a plain string is one fact."""
    try:
        parsed = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        parsed = [value]
    return [_line(fact) for fact in parsed] if isinstance(parsed, list) else []


def as_object(value: object, what: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise LayerOneFailed(f"malformed answer from the worker ({what} is not an object)")
    return value


def _line(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""

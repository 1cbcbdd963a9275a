"""The memory_search skill's contract (seed 000): arguments in, one line of JSON out. The strings are the original's, to the letter."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from onebrain.errors import BadRequest
from onebrain.memory.facts import Ask, Found
from onebrain.memory.memories import TYPES

DEFAULT_LIMIT, MOST = 10, 50
UNSET = "SKILL_ARGS environment variable not set"
UNSPECIFIC = "memory_search requires a specific, non-empty query tied to the current request"
NOTHING = "No memories found matching the query."
_EVERYTHING = ("", "*", "all", "everything", "anything")


@dataclass(frozen=True, slots=True)
class Result:
    """What the skill prints. `error` is left out of the JSON of a success."""

    success: bool
    output: str
    exit_code: int
    error: str | None = None

    @classmethod
    def failed(cls, error: str) -> Result:
        return cls(False, "", 1, error)

    def fields(self) -> dict[str, object]:
        error = {} if self.error is None else {"error": self.error}
        return {"success": self.success, "output": self.output, **error, "exitCode": self.exit_code}


def read_arguments(skill_args: str | None) -> Ask:
    """The search that SKILL_ARGS asks for. Raises BadRequest with the message of the contract."""
    if not skill_args:
        raise BadRequest(UNSET)
    try:
        fields = json.loads(skill_args)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"Invalid JSON in SKILL_ARGS: {error}") from None
    if not isinstance(fields, dict):
        raise BadRequest("SKILL_ARGS must be a JSON object")
    return asked(fields.get("query"), fields.get("type"), fields.get("subject"), fields.get("limit"))


def asked(query: object, kind: object = None, subject: object = None, limit: object = None) -> Ask:
    """A search from unchecked values; None stands for a parameter that wasn't given. Raises BadRequest."""
    if not isinstance(query, str) or query.strip().casefold() in _EVERYTHING:
        raise BadRequest(UNSPECIFIC)
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int | float) or not limit >= 1):
        raise BadRequest("limit must be a positive number")
    if kind is not None and (not isinstance(kind, str) or kind.casefold() not in TYPES):
        raise BadRequest(f"type must be one of {', '.join(TYPES)}")
    if subject is not None and not isinstance(subject, str):
        raise BadRequest("subject must be a string")
    most = DEFAULT_LIMIT if limit is None else int(min(float(str(limit)), MOST))
    return Ask(query.strip(), kind.casefold() if isinstance(kind, str) else "fact", (subject or "").strip() or None, most)


def output(found: Sequence[Found], *, explain: bool = False) -> str:
    """The `output` of a search that went well."""
    if not found:
        return NOTHING
    blocks = [_block(number, one, explain) for number, one in enumerate(found, start=1)]
    return f"Found {len(found)} memories:\n\n" + "\n\n".join(blocks)


def _block(number: int, found: Found, explain: bool) -> str:
    memory, strength = found.memory, found.memory.strength
    lines = [f"--- Result {number} (score: {found.score:.3f}) ---", f"Content: {found.passage}", f"Category: {memory.category}"]
    if memory.superseded:
        lines.append("Status: historical record (not current state)")
    lines.append(f"Stored: {_instant(strength.stored)}")
    if strength.event_date:
        lines.append(f"Event date: {_instant(strength.event_date)}")
    lines.append(f"Prominence: {found.prominence:.2f}")
    if memory.subject:
        lines.append(f"Subject: {memory.subject}")
    lines.append(f"Source: {memory.path}")
    if explain:
        lines.append("Why: " + ", ".join(f"{name} {value:.2f}" for name, value in found.why.items()))
    return "\n".join(lines)


def _instant(day: date) -> str:
    return f"{day.isoformat()}T00:00:00.000Z"

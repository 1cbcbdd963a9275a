"""Every failure a user can cause, as one tree: what happened, where, and what to do next.

    OneBrainError            exit 1
    ├── BadRequest           exit 2    the words of the command, or the question, can't be used
    ├── VaultNotFound        exit 64
    ├── BadConfig            exit 65   carries every problem of the file at once
    ├── IndexBusy            exit 77   another process owns the index and did not answer
    ├── IndexDamaged         exit 1    healing failed; says how to rebuild
    ├── NoteUnreadable       exit 1    one note; carried as a failure, never stops the rest
    ├── StorageFull          exit 1    the disk the index lives on is full or read-only
    └── ModelUnavailable     exit 1    no weights, or an endpoint that doesn't answer
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


class OneBrainError(Exception):
    """Base of all: `message` says what and where, `hint` what to do next, `code` is stable for programs."""

    code: ClassVar[str] = "E_FAILED"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class BadRequest(OneBrainError):
    code = "E_USAGE"
    exit_code = 2


class VaultNotFound(OneBrainError):
    code = "E_VAULT_NOT_FOUND"
    exit_code = 64


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """One fault in a configuration file; `line` is 1-based, None where the fault has no place."""

    line: int | None
    message: str


class BadConfig(OneBrainError):
    code = "E_CONFIG"
    exit_code = 65

    def __init__(self, path: str, problems: tuple[ConfigProblem, ...], *, hint: str | None = None) -> None:
        lines = "\n".join(f"  line {p.line}: {p.message}" if p.line else f"  {p.message}" for p in problems)
        super().__init__(f"{path} can't be used:\n{lines}", hint=hint or f"Correct {path}, or run `onebrain doctor`.")
        self.path = path
        self.problems = problems


class IndexBusy(OneBrainError):
    code = "E_ENGINE_BUSY"
    exit_code = 77


class IndexDamaged(OneBrainError):
    code = "E_INDEX_DAMAGED"


class NoteUnreadable(OneBrainError):
    code = "E_NOTE_UNREADABLE"


class StorageFull(OneBrainError):
    code = "E_STORAGE"


class ModelUnavailable(OneBrainError):
    code = "E_MODEL"

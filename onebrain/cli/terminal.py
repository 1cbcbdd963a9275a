"""The surroundings of one command. Commands read nothing from `sys` or `os`, so the daemon can run them for a client elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TextIO, TypeAlias

from onebrain.render.plain import Style

if TYPE_CHECKING:
    from onebrain.config import Config
    from onebrain.render.json import Caution
    from onebrain.render.state import Reindexed, Status
    from onebrain.search.question import Request
    from onebrain.search.report import Report
    from onebrain.vault.library import Library, Vector

Progress: TypeAlias = "Callable[[str, int, int], None]"
"""Told of each step of a long job: phase, done, total."""


class NoteText(Protocol):
    """Lines of a note; `line_start` and `line_end` are 1-based and inclusive."""

    @property
    def path(self) -> str: ...
    @property
    def line_start(self) -> int: ...
    @property
    def line_end(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def problem(self) -> str | None:
        """What was odd about the bytes of the note, in words."""
        ...


class BrainPort(Protocol):
    """What commands ask of a Brain; the daemon lends one that has the same methods."""

    def ask(self, request: Request) -> Report: ...
    def library(self) -> AbstractContextManager[Library]: ...
    def embed_query(self, text: str) -> Vector | None:
        """None where no embedding model works, or where the index's vectors are another one's."""
        ...

    def get(self, target: str, from_line: int | None = None, max_lines: int | None = None) -> NoteText: ...
    def status(self) -> Status: ...
    def reindex(
        self,
        paths: Sequence[str] = (),
        force: bool = False,
        lex_only: bool = False,
        pending_only: bool = False,
        progress: Progress | None = None,
    ) -> Reindexed: ...


@dataclass(frozen=True, slots=True)
class Opened:
    """A Brain on loan for one command, and what the user should know about it (another process owns the index, say)."""

    brain: BrainPort
    cautions: tuple[Caution, ...] = ()


class Brains(Protocol):
    """Where a command gets its Brain: opened for it, or the daemon's own. `sync` asks to catch up with the disk first."""

    def __call__(self, config: Config, *, sync: bool, progress: Progress | None) -> AbstractContextManager[Opened]: ...


@dataclass(frozen=True, slots=True)
class Terminal:
    """`argv` is without the program's name; `out` and `err` take text; `width` is in columns.

    `read_stdin` gives all that is piped into the command. `today` is the only clock that answers depend on.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    out: TextIO
    err: TextIO
    brains: Brains
    out_tty: bool = False
    err_tty: bool = False
    width: int = 80
    read_stdin: Callable[[], str] = field(default=lambda: "")
    today: Callable[[], date] = date.today

    @property
    def style(self) -> Style:
        """Colour only on a terminal, and never where NO_COLOR is set (https://no-color.org)."""
        return Style(self.width if self.out_tty else None, self.out_tty and not self.env.get("NO_COLOR"))

    def say(self, text: str) -> None:
        """Part of the answer, which ends its own lines."""
        self.out.write(text)

    def tell(self, text: str) -> None:
        """A line beside the answer: progress, a notice, an error."""
        self.err.write(text + "\n")
        self.err.flush()

"""The daemon's Brain as a command sees it: each use takes its turn with the writer and with the other questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from onebrain.daemon.service import Service

if TYPE_CHECKING:
    from onebrain.brain import NoteText
    from onebrain.render.state import Reindexed, Status
    from onebrain.search.question import Request
    from onebrain.search.report import Report


Step = Callable[[str, int, int], None]
"""Told of each step of a long job: phase, done, total."""


class Whole(Protocol):
    """The part of a Brain that commands use."""

    def ask(self, request: Request) -> Report: ...
    def get(self, target: str, from_line: int | None = None, max_lines: int | None = None) -> NoteText: ...
    def status(self) -> Status: ...
    def reindex(
        self,
        paths: Sequence[str] = (),
        force: bool = False,
        lex_only: bool = False,
        pending_only: bool = False,
        progress: Step | None = None,
    ) -> Reindexed: ...


class Lent:
    """Has the methods of a Brain that commands use, and may be used by many of them at once."""

    def __init__(self, brain: Whole, service: Service) -> None:
        self._brain, self._service = brain, service

    def ask(self, request: Request) -> Report:
        with self._service.asking():
            return self._brain.ask(request)

    def get(self, target: str, from_line: int | None = None, max_lines: int | None = None) -> NoteText:
        return self._brain.get(target, from_line, max_lines)

    def status(self) -> Status:
        return self._brain.status()

    def reindex(
        self,
        paths: Sequence[str] = (),
        force: bool = False,
        lex_only: bool = False,
        pending_only: bool = False,
        progress: Step | None = None,
    ) -> Reindexed:
        with self._service.writer.writing():
            return self._brain.reindex(paths, force=force, lex_only=lex_only, pending_only=pending_only, progress=progress)

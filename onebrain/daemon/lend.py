"""The daemon's Brain as a command sees it. Whoever lends it takes the turn of a question (`process`); a reindex takes the writer's here."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from onebrain.cli.terminal import BrainPort, NoteText, Progress
from onebrain.daemon.service import Service

if TYPE_CHECKING:
    from onebrain.render.state import Reindexed, Status
    from onebrain.search.question import Request
    from onebrain.search.report import Report
    from onebrain.vault.library import Library, Vector


class Lent:
    """Has the methods of a Brain that commands use, and may be used by many of them at once."""

    def __init__(self, brain: BrainPort, service: Service) -> None:
        self._brain, self._service = brain, service

    def ask(self, request: Request) -> Report:
        return self._brain.ask(request)

    def library(self) -> AbstractContextManager[Library]:
        return self._brain.library()

    def embed_query(self, text: str) -> Vector | None:
        return self._brain.embed_query(text)

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
        progress: Progress | None = None,
    ) -> Reindexed:
        with self._service.writer.writing():
            return self._brain.reindex(paths, force=force, lex_only=lex_only, pending_only=pending_only, progress=progress)

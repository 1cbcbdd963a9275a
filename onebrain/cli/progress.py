"""A progress bar on stderr, drawn only for people: on a terminal, and only once a job has lasted long enough to be wondered about."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING

from onebrain.cli.terminal import Terminal

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE_SECONDS = 0.4


class Bar:
    """`update(phase, done, total)` may be called from any thread, as often as the job likes."""

    def __init__(self, terminal: Terminal, *, shown: bool) -> None:
        self._terminal = terminal
        self._shown = shown
        self._started = time.monotonic()
        self._bar: Progress | None = None
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def update(self, phase: str, done: int, total: int) -> None:
        if not self._shown or time.monotonic() - self._started < PATIENCE_SECONDS:
            return
        bar = self._bar or self._draw()
        if phase not in self._tasks:
            self._tasks[phase] = bar.add_task(phase, total=total)
        bar.update(self._tasks[phase], completed=done, total=total)

    def close(self) -> None:
        """Take the bar away; what comes next on the screen is the answer."""
        if self._bar is not None:
            self._bar.stop()
        self._bar, self._shown = None, False

    def _draw(self) -> Progress:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        terminal = self._terminal
        console = Console(file=terminal.err, force_terminal=True, width=terminal.width, no_color=bool(terminal.env.get("NO_COLOR")))
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=console, transient=True)
        self._bar.start()
        return self._bar

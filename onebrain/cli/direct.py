"""A command run in its own process: the surroundings it takes from `sys` and `os`, and a Brain opened for it alone."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from onebrain.cli.terminal import Opened, Progress, Terminal
from onebrain.config import Config
from onebrain.daemon import client
from onebrain.errors import IndexBusy, OneBrainError
from onebrain.render.json import Caution

if TYPE_CHECKING:
    from onebrain.daemon.writer import Engine

EMBED_SECONDS = 5.0
"""How long a question waits for passages to be embedded. A whole vault takes minutes, and its words answer at once."""


def main(argv: Sequence[str]) -> int:
    """Exit code of `argv`. An interrupt ends with 130, as shells expect."""
    from onebrain.cli.app import admit, run

    for stream in (sys.stdout, sys.stderr):  # a name with odd bytes, or a screen that isn't UTF-8, must not end in a traceback
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    terminal = Terminal(
        argv=tuple(argv),
        env=os.environ,
        cwd=_cwd(),
        out=sys.stdout,
        err=sys.stderr,
        brains=direct,
        out_tty=sys.stdout.isatty(),
        err_tty=sys.stderr.isatty(),
        width=shutil.get_terminal_size().columns,
        read_stdin=client.read_stdin,
    )
    try:
        return run(terminal)
    except KeyboardInterrupt:
        return 130
    except Exception as fault:
        if os.environ.get("ONEBRAIN_DEBUG"):
            raise
        return admit(terminal, fault)
    finally:
        _let_go()


def _cwd() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:  # the directory was removed under our feet
        return Path("/")


def _let_go() -> None:
    """Where the reader of stdout is gone, the interpreter's own flush at exit must not complain about it."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def direct(config: Config, *, sync: bool, progress: Progress | None) -> Iterator[Opened]:
    """Own the index for one command; where another process owns it, read what that one has written, and say so."""
    from onebrain.brain import Access, Brain

    cautions: tuple[Caution, ...] = ()
    try:
        brain = Brain.open(config, access=Access.OWNER, progress=progress)
    except IndexBusy:
        brain = Brain.open(config, access=Access.READER, progress=progress)
        sync = False
        cautions = (Caution("W_ENGINE_BUSY", "Another process owns the index; this answer comes from what it has indexed so far."),)
    try:
        if sync:
            cautions = caught_up(brain, config, progress)
        yield Opened(brain, cautions)
    finally:
        brain.close()


def caught_up(brain: Engine, config: Config, progress: Progress | None = None, *, vectors: bool = True) -> tuple[Caution, ...]:
    """What keeps the index from being all of the vault. A question waits for all words, and for vectors only so long, or not at all; a
    full disk, a broken model or a damaged index doesn't keep what is indexed from answering."""
    found: list[Caution] = []
    try:
        if held_back := brain.apply_words(None, progress=_phase("words", progress)).held_back:
            found.append(Caution("W_HELD_BACK", held_back))
        before = left = brain.pending() if vectors and config.search.embed.auto else 0
        if before:
            left = brain.apply_vectors(budget_s=EMBED_SECONDS, progress=_phase("vectors", progress))
        if 0 < left < before:  # with no model nothing was embedded, and `stages` says so
            advice = "`onebrain search reindex` finishes it, `onebrain daemon start` in the background."
            found.append(Caution("W_INDEX_BEHIND", f"{left:,} passages can't be found by meaning yet: {advice}"))
    except OneBrainError as trouble:
        told = f"The answer comes from what is indexed. {trouble.message} {trouble.hint or ''}"
        found.append(Caution(f"W_{trouble.code.removeprefix('E_')}", told.strip()))
    return tuple(found)


def _phase(name: str, progress: Progress | None) -> Callable[[int, int], None] | None:
    return None if progress is None else lambda done, total: progress(name, done, total)

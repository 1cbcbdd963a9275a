"""The grammar of the command line. `run` carries out one command in a Terminal; direct use and the daemon call the same function.

Groups are imported when their first word is used, so that `onebrain --help` and a question pay only for themselves. A new group is one
line in GROUPS; where its module isn't there, neither is the command.
"""

from __future__ import annotations

import difflib
import errno
import importlib
import importlib.util
from collections.abc import Sequence
from functools import cache
from typing import Any

import typer
from typer.main import get_command

from onebrain import __version__
from onebrain.cli.base import App, Call, Group, Session, name_of
from onebrain.cli.terminal import Terminal
from onebrain.cli.words import take_value
from onebrain.errors import BadRequest, OneBrainError, StorageFull

GROUPS = {
    "search": ("onebrain.cli.search", "Ask the vault: what was decided, and why. Also the index: status, reindex, models."),
    "recall": ("onebrain.cli.recall", "Ask project memory what was decided, found or written down; every claim is cited."),
    "cards": ("onebrain.cli.cards", "Search knowledge cards and session events."),
    "memory": ("onebrain.cli.memory", "Memories about people and preferences: search, add, confirm, supersede."),
    "daemon": ("onebrain.cli.daemon", "Keep the index in step with the vault, and answer at once."),
    "mcp": ("onebrain.cli.mcp", "Serve agents over MCP, on stdin and stdout."),
    "serve": ("onebrain.cli.serve", "Serve the search page on this machine."),
    "eval": ("onebrain.cli.evaluate", "Measure answers on labelled questions."),
    "init": ("onebrain.cli.init", "Prepare a directory of notes for onebrain."),
    "doctor": ("onebrain.cli.doctor", "Check vault, index and models, and say what to do."),
    "completion": ("onebrain.cli.completion", "Print a script that completes onebrain's words in bash, zsh or fish."),
}
"""First word → module with an `app`, and its line in the help."""

OLDER = {"qmd-reindex": 1, "qmd reindex": 2}
"""Words of older releases that mean `search reindex`, and how many they are."""

HELP = f"""Ask a Markdown vault what was decided and why, and get answers quoted from your own notes.

`--vault DIR` may stand anywhere; else ONEBRAIN_VAULT or the nearest onebrain.yml says which vault. This is onebrain {__version__}."""


class Root(Group):
    """The first word, looked up in GROUPS."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for name, (module, _) in GROUPS.items() if _exists(module)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return _group(cmd_name) if cmd_name in self.list_commands(ctx) else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            question = " ".join(args)
            near = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1, cutoff=0.75)
            hint = f"Did you mean `onebrain {near[0]}`?" if near else f'To ask the vault: onebrain search "{question[:60]}"'
            raise BadRequest(f"No such command: {args[0]}.", hint=hint)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """From the table: listing the commands must not import them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, GROUPS[name][1]) for name in self.list_commands(ctx)])


@cache
def _exists(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


@cache
def _group(name: str) -> Any:
    command = get_command(importlib.import_module(GROUPS[name][0]).app)
    command.name = name
    return command


@cache
def _root() -> Any:
    app = App(HELP, cls=Root, name="onebrain")

    @app.callback()
    def root(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
        pass

    return get_command(app)


def run(terminal: Terminal) -> int:
    """Carry out `terminal.argv` and give its exit code. Nothing a user can cause leaves as an exception but KeyboardInterrupt;
    what else does is a fault of ours, for the caller to put into a log or into words (`admit`)."""
    try:
        code = _run(terminal)
        terminal.out.flush()
        return code
    except BrokenPipeError:  # the reader has seen enough
        return 0


def admit(terminal: Terminal, fault: Exception) -> int:
    """Tell of a fault of ours without a traceback; the exit code."""
    hint = "This is a fault of onebrain, not yours. ONEBRAIN_DEBUG=1 shows where it happened; please report it."
    error = OneBrainError(f"onebrain failed: {type(fault).__name__}: {fault}", hint=hint)
    return _failed(_session(None, terminal, terminal.argv), error)


def _run(terminal: Terminal) -> int:
    argv, vault = take_value(_renamed(terminal), "--vault")
    if argv == ["--version"]:
        terminal.say(f"onebrain {__version__}\n")
        return 0
    context = None
    try:
        if argv[-1:] == ["--vault"] and "--" not in argv:
            raise BadRequest("--vault needs the directory that holds your notes.", hint="onebrain --vault DIR ...")
        context = _root().make_context("onebrain", argv, obj=Call(terminal, vault), terminal_width=min(terminal.width, 100))
        with context:
            context.command.invoke(context)
        return 0
    except typer.Exit as done:
        return done.exit_code
    except OneBrainError as error:
        return _failed(_session(context, terminal, argv), error)
    except typer.TyperException as error:
        fault = _usage(error)
        if fault.message.startswith("Usage:") and not _wants_json(argv):  # a group named alone: its help is the answer
            terminal.say(fault.message + "\n")
            return fault.exit_code
        return _failed(_session(getattr(error, "ctx", None), terminal, argv), fault)
    except BrokenPipeError:
        raise
    except OSError as error:
        return _failed(_session(context, terminal, argv), _translated(error))


def _renamed(terminal: Terminal) -> list[str]:
    argv = list(terminal.argv)
    for words, count in OLDER.items():
        if " ".join(argv[:count]) == words:
            terminal.tell(f"ℹ️  `onebrain {words}` is now `onebrain search reindex`.")
            return ["search", "reindex", *argv[count:]]
    return argv


def _session(context: Any, terminal: Terminal, argv: Sequence[str]) -> Session:
    """The Session that the failed command had, or one like it where the command line itself was wrong."""
    if context is not None and "session" in context.meta:
        found: Session = context.meta["session"]
        return found
    path = context.command_path if context is not None else "onebrain"
    return Session(terminal, name_of(path), as_json=_wants_json(argv))


def _wants_json(argv: Sequence[str]) -> bool:
    options = argv[: argv.index("--")] if "--" in argv else argv
    return "--json" in options or take_value(options, "--format")[1] == "json"


def _usage(error: typer.TyperException) -> BadRequest:
    context = getattr(error, "ctx", None)
    message = error.format_message()
    path = context.command_path.removesuffix(" ask") if context is not None else "onebrain"
    return BadRequest(message, hint=None if message.startswith("Usage:") else f"See `{path} --help`.")


def _translated(error: OSError) -> OneBrainError:
    """An error of the system that no room has put into words, with the place it happened at."""
    message = f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}."
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
        hint = "Make room there, or make it writable. ONEBRAIN_DATA_DIR moves the index and models, not your notes."
        return StorageFull(message, hint=hint)
    if error.errno in (errno.EACCES, errno.EPERM):
        return OneBrainError(message, hint="Check who owns it and who may read it, or run `onebrain doctor`.")
    return OneBrainError(message, hint="Run `onebrain doctor`.")


def _failed(session: Session, error: OneBrainError) -> int:
    session.fail(error)
    return error.exit_code

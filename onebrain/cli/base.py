"""What every command shares: a Typer application that speaks through a Terminal, and the Session of one command.

A command reads its Session with `session(ctx)`, and says its answer once, with `give`. `--json`, `--quiet` and `--format` are seen here by
the names `as_json`, `quiet` and `format_`, so a command only declares them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from onebrain import config as configuration
from onebrain.cli.progress import Bar
from onebrain.cli.terminal import BrainPort, Terminal
from onebrain.config import Config
from onebrain.errors import OneBrainError
from onebrain.render.json import Caution, Data, dumps, envelope

Json = Annotated[bool, typer.Option("--json", help="Print one JSON envelope.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no notices.")]
NoDaemon = Annotated[bool, typer.Option("--no-daemon", help="Don't ask a running daemon.")]

NAMES = {"search.ask": "search", "search.search": "search.lex", "search.vsearch": "search.vec"}
"""Commands whose name in an envelope isn't their words."""


def _help_to_terminal(option: Any) -> Any:
    """The help option of typer prints to sys.stdout, which belongs to someone else when the daemon runs the command."""

    def show(ctx: typer.Context, _: object, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            ctx.obj.terminal.say(ctx.get_help() + "\n")
            raise typer.Exit()

    if option is not None:
        option.callback = show
    return option


class Command(TyperCommand):
    def get_help_option(self, ctx: Any) -> Any:
        return _help_to_terminal(super().get_help_option(ctx))


class Group(TyperGroup):
    def get_help_option(self, ctx: Any) -> Any:
        return _help_to_terminal(super().get_help_option(ctx))


class App(typer.Typer):
    """A command, or a group of them. Plain help: markup and pretty tracebacks cost start-up time and say nothing to a user."""

    def __init__(self, help: str, cls: type[Group] = Group, name: str | None = None) -> None:
        super().__init__(
            name=name,
            cls=cls,
            help=help,
            no_args_is_help=True,
            add_completion=False,
            rich_markup_mode=None,
            pretty_exceptions_enable=False,
        )

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Any], Any]:
        return super().command(name, cls=Command, **settings)


@dataclass(frozen=True, slots=True)
class Call:
    """What the root of the grammar hands down: the Terminal, and the vault named with `--vault`."""

    terminal: Terminal
    vault: str | None = None


@dataclass(slots=True)
class Session:
    """One command while it runs. Cautions are told beside a text answer and inside a JSON one."""

    terminal: Terminal
    command: str
    vault_option: str | None = None
    as_json: bool = False
    quiet: bool = False
    cautions: list[Caution] = field(default_factory=list)
    _config: Config | None = None

    @property
    def config(self) -> Config:
        """VaultNotFound or BadConfig where there is none."""
        if self._config is None:
            named = Path(self.vault_option) if self.vault_option is not None else None
            self._config = configuration.load(named, self.terminal.env, self.terminal.cwd)
            for notice in self._config.notices:
                self.warn("W_CONFIG", notice)
        return self._config

    @contextmanager
    def brain(self, *, sync: bool = False, config: Config | None = None) -> Iterator[BrainPort]:
        """A Brain for this command, of its own vault or of the one given; `sync` catches up with the disk first. IndexBusy and the rest of
        the tree on failure."""
        config = config or self.config
        with Bar(self.terminal, shown=self.terminal.err_tty and not self.quiet) as bar, self.terminal.brains(
            config, sync=sync, progress=bar.update
        ) as opened:
            bar.close()
            for caution in opened.cautions:
                self.warn(caution.code, caution.message)
            yield opened.brain

    def warn(self, code: str, message: str) -> None:
        self.cautions.append(Caution(code, message))
        if not self.as_json:
            self.note(f"⚠️  {message}")

    def note(self, line: str) -> None:
        if not self.quiet:
            self.terminal.tell(line)

    def give(self, data: Callable[[], Data], text: Callable[[], str]) -> None:
        """The answer of the command, in the form that was asked for."""
        if self.as_json:
            vault = self._config.vault if self._config else None
            self.terminal.say(dumps(envelope(self.command, data(), vault=vault, cautions=self.cautions)) + "\n")
        else:
            self.terminal.say(text())

    def fail(self, error: OneBrainError) -> None:
        """What went wrong and what to do next: on stderr, or as an envelope on stdout."""
        if self.as_json:
            vault = self._config.vault if self._config else None
            self.terminal.say(dumps(envelope(self.command, None, vault=vault, cautions=self.cautions, error=error)) + "\n")
            return
        self.terminal.tell(f"❌  {error.message}")
        if error.hint:
            self.terminal.tell(f"→ {error.hint}")


def session(ctx: typer.Context) -> Session:
    """The Session of the command that `ctx` belongs to; the same one for the whole command line."""
    if "session" not in ctx.meta:
        call: Call = ctx.obj
        wants = ctx.params
        ctx.meta["session"] = Session(
            terminal=call.terminal,
            command=name_of(ctx.command_path),
            vault_option=call.vault,
            as_json=bool(wants.get("as_json")) or str(wants.get("format_")) == "json",
            quiet=bool(wants.get("quiet")),
        )
    found: Session = ctx.meta["session"]
    return found


def name_of(command_path: str) -> str:
    """`onebrain search vsearch` → `search.vec`."""
    name = ".".join(command_path.split()[1:])
    return NAMES.get(name, name) or "onebrain"

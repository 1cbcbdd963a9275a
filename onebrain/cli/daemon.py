"""`onebrain daemon`: the life of the process that keeps a vault's index in step and answers for it."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from onebrain.cli.base import App, Json, Quiet, session
from onebrain.cli.progress import Bar
from onebrain.cli.terminal import Terminal
from onebrain.config import Config
from onebrain.daemon import process, wire
from onebrain.errors import OneBrainError

app = App("Keep the index in step with the vault while notes change, and answer at once. One daemon for each vault.")


@app.command("run", help="Run in the foreground until stopped (Ctrl-C or SIGTERM); what `start` and autostart do in the background.")
def run_command(
    ctx: typer.Context,
    log_file: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the log there instead of to stderr.")] = None,
) -> None:
    from onebrain import config as configuration

    current = session(ctx)
    config = current.config
    process.log_to(log_file, current.terminal.err)

    def reload() -> Config:
        named = Path(current.vault_option) if current.vault_option is not None else None
        return configuration.load(named, current.terminal.env, current.terminal.cwd)

    outcome = process.serve(config, _owner, reload)
    if outcome.ending == "restart":
        logging.getLogger(__name__).info("starting again: %s", outcome.why)
        process.become(outcome.executable, config, log_file)


def _owner(config: Config) -> Any:
    from onebrain.brain import Access, Brain

    return Brain.open(config, access=Access.OWNER)


@app.command("start", help="Start in the background, and return as soon as it answers.")
def start(ctx: typer.Context, as_json: Json = False, quiet: Quiet = False) -> None:
    current = session(ctx)
    config = current.config
    running = process.told(config, "ping")
    already = running is not None
    if running is None:
        running = process.launch(config, current.terminal.env)
    data = {"pid": running["pid"], "already_running": already, "log": str(process.log_path(config, current.terminal.env))}
    words = "already runs" if already else "runs"
    current.give(lambda: data, lambda: f"🟢 The daemon {words} for {config.vault} (process {data['pid']}).\n")


@app.command("stop", help="Stop it; what is known to have changed is indexed first.")
def stop(ctx: typer.Context, as_json: Json = False, quiet: Quiet = False) -> None:
    current = session(ctx)
    config = current.config
    reply = process.told(config, "stop")
    if reply is None:
        process.complain_if_owned(config)
        current.give(lambda: {"stopped": False}, lambda: "⚪ No daemon runs for this vault.\n")
        return
    process.wait_until_gone(config, reply["pid"])
    current.give(lambda: {"stopped": True, "pid": reply["pid"]}, lambda: f"⚪ The daemon (process {reply['pid']}) has stopped.\n")


NOT_RUNNING: dict[str, Any] = {"running": False, "pid": None, "state": None, "pending": {"words": None, "vectors": None}, "notices": []}


@app.command("status", help="Say whether it runs, what it is doing, and what is still pending.")
def status(
    ctx: typer.Context,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Draw a bar until there is nothing left to do.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    current = session(ctx)
    config = current.config
    state = process.told(config, "status")
    if follow and state is not None:
        state = _followed(config, state, current.terminal)
    found = state if state is not None else NOT_RUNNING
    current.give(lambda: found, lambda: text_of(found, config, tty=current.terminal.out_tty))


def _followed(config: Config, state: dict[str, Any], terminal: Terminal) -> dict[str, Any]:
    with Bar(terminal, shown=terminal.err_tty) as bar:
        while state["state"] not in ("idle", "paused", "held"):
            progress = state["progress"]
            if progress["total"]:
                bar.update(progress["doing"] or "", progress["done"], progress["total"])
            time.sleep(0.5)
            state = process.told(config, "status") or state | NOT_RUNNING | {"state": "idle"}
    return state


DOING = {
    "starting": "looking at the whole vault",
    "words": "indexing words",
    "vectors": "embedding",
    "paused": "embedding is paused (`onebrain daemon resume`)",
    "held": "waiting",
    "idle": "up to date",
}


def text_of(state: Mapping[str, Any], config: Config, *, tty: bool) -> str:
    """The status for people; nothing is called up to date while anything is pending or unknown."""
    if not state["running"]:
        return f"⚪ No daemon runs for {config.vault}. Start it with `onebrain daemon start`.\n"
    progress, pending = state["progress"], state["pending"]
    doing = DOING[state["state"]]
    if state["state"] == "idle" and (pending["words"] or pending["vectors"] or None in pending.values()):
        doing = "idle"
    if progress["total"]:
        doing += f" · {progress['done']} of {progress['total']}"
        doing += f" {_bar(progress['done'], progress['total'])}" if tty else ""
    lines = [
        f"🟢 The daemon runs for {state['vault']} (process {state['pid']}, release {state['version']}, since {state['since']}).",
        f"   {doing}",
        f"   pending: {_count(pending['words'], 'note')} by words, {_count(pending['vectors'], 'passage')} by meaning",
        f"   {_count(state['questions'], 'question')} answered · {state['memory_mb'] or '?'} MB"
        + ("" if state["loaded"] else " · models unloaded"),
    ]
    return "\n".join([*lines, *(f"⚠️  {notice}" for notice in state["notices"])]) + "\n"


def _count(number: int | None, noun: str) -> str:
    return f"an unknown number of {noun}s" if number is None else f"{number:,} {noun}{'' if number == 1 else 's'}"


def _bar(done: int, total: int, width: int = 20) -> str:
    full = round(width * min(done, total) / total)
    return "█" * full + "░" * (width - full)


def _set_paused(ctx: typer.Context, verb: str) -> None:
    current = session(ctx)
    state = process.told(current.config, verb)
    if state is None:
        raise OneBrainError("No daemon runs for this vault.", hint="Start it with `onebrain daemon start`.")
    current.give(lambda: state, lambda: text_of(state, current.config, tty=current.terminal.out_tty))


@app.command("pause", help="No embedding until `resume`; words stay in step.")
def pause(ctx: typer.Context, as_json: Json = False, quiet: Quiet = False) -> None:
    _set_paused(ctx, "pause")


@app.command("resume", help="Embed again.")
def resume(ctx: typer.Context, as_json: Json = False, quiet: Quiet = False) -> None:
    _set_paused(ctx, "resume")


def _unit(config: Config, env: Mapping[str, str]) -> Any:
    from onebrain.daemon.autostart import Setting, unit

    return unit(
        Setting(
            platform=sys.platform,
            vault=config.file or config.vault,
            name=config.vault.name,
            key=wire.key(str(config.vault)),
            python=sys.executable,
            home=Path.home(),
            env=env,
            uid=os.getuid() if hasattr(os, "getuid") else 0,
        )
    )


@app.command("install", help="Start with your session, and again after a crash.")
def install(
    ctx: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the unit and change nothing.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    from onebrain.daemon import autostart

    current = session(ctx)
    made = _unit(current.config, current.terminal.env)
    data = {"name": made.name, "file": str(made.file), "text": made.text, "log": made.log, "dry_run": dry_run}
    for option, name in current.config.key_variables.items():
        current.warn("W_KEY", f"A unit holds no keys: docs/language-model.md, Keys, says how {name} ({option}) reaches the daemon.")
    if dry_run:
        current.give(lambda: data, lambda: f"# {made.file}\n{made.text}")
        return
    if process.told(current.config, "stop") is not None:  # the unit's daemon takes the place of one started by hand
        process.wait_until_gone(current.config, 0)
    for problem in autostart.install(made):
        current.warn("W_AUTOSTART", problem)
    current.give(lambda: data, lambda: f"🟢 Installed {made.file}\n   log: {made.log}\n")


@app.command("uninstall", help="Remove all that `install` made.")
def uninstall(ctx: typer.Context, as_json: Json = False, quiet: Quiet = False) -> None:
    from onebrain.daemon import autostart

    current = session(ctx)
    made = _unit(current.config, current.terminal.env)
    removed = autostart.uninstall(made)
    current.give(
        lambda: {"removed": removed, "file": str(made.file)},
        lambda: f"⚪ Removed {made.file}\n" if removed else "⚪ Nothing was installed for this vault.\n",
    )

"""`onebrain recall`: what a project's memory says, both layers reconciled and every claim cited (seed 001)."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from onebrain import config as configuration
from onebrain.cli.base import App, Group, Json, NoDaemon, Quiet, Session, session
from onebrain.cli.words import Spellings, sort
from onebrain.config import Config
from onebrain.disk import replace_file
from onebrain.errors import BadRequest, OneBrainError, VaultNotFound
from onebrain.memory import claude_mem, export
from onebrain.memory.audit import EXPORT, MEMORY, read_archive
from onebrain.memory.claude_mem import GATE, Worker
from onebrain.memory.recall import TOP, LayerOne, LayerState, SemanticHit, keywords, refusal
from onebrain.memory.recall import recall as reconcile
from onebrain.memory.recall_text import data, text
from onebrain.render.plain import clean
from onebrain.search.question import Filters, Request

QUESTION = "ask"
MEASURE = "onebrain's rerank_score"
DUMP_SECONDS = 60.0  # an export reads everything, and nobody waits for an answer


class Layer1(StrEnum):
    AUTO = "auto"
    CLAUDE_MEM = "claude-mem"
    LOCAL = "local"
    OFF = "off"


class RecallGroup(Group):
    """`status` and `export` as first word are commands; anything else is the question."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        options: list[Any] = [p for command in self.commands.values() for p in command.get_params(ctx) if p.param_type_name == "option"]
        flags = {spelling for option in options if option.is_flag for spelling in option.opts}
        found = sort(args, Spellings(frozenset(flags), frozenset(s for option in options if not option.is_flag for s in option.opts)))
        if not found.words and not found.quoted and "--help" in found.options:
            return super().parse_args(ctx, ["--help"])
        verb = found.words[0] if found.words and found.words[0] in ("status", "export") else None
        if verb and found.first is not None:
            return super().parse_args(ctx, [verb, *args[: found.first], *args[found.first + 1 :]])
        return super().parse_args(ctx, [QUESTION, *found.options, "--", *found.words, *found.quoted])

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return ["QUESTION... [OPTIONS]  |  status  |  export"]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        self.commands[QUESTION].format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


app = App(
    "Search a project's memory: memory/*.md line by line, and claude-mem where it runs. Every claim is cited; nothing found is said.\n\n"
    "The project is the current folder if it has memory/, else the vault's agent folder.",
    cls=RecallGroup,
)
Project = Annotated[Path | None, typer.Option("--project", metavar="DIR", help="The folder that holds memory/.")]
ClaudeProject = Annotated[str | None, typer.Option("--claude-project", metavar="NAME", help="Only this project of claude-mem.")]


@app.command(QUESTION, help="Ask.", hidden=True)
def ask(
    ctx: typer.Context,
    words: Annotated[list[str] | None, typer.Argument(metavar="QUESTION...", show_default=False)] = None,
    layer1: Annotated[Layer1, typer.Option("--layer1", help="The semantic layer.")] = Layer1.AUTO,
    project: Project = None,
    claude_project: ClaudeProject = None,
    as_json: Json = False,
    quiet: Quiet = False,
    no_daemon: NoDaemon = False,
) -> None:
    current = session(ctx)
    current.command = "recall"
    question = " ".join(words or ()).strip()
    recalled = refusal(question)
    if recalled is None:
        config = _config(current, project)
        folder = _project(current, project, config)
        archive = read_archive(folder)
        named = [word.text for word in keywords(question, archive)]
        recalled = reconcile(question, archive, _layer_one(current, layer1, config, folder, question, named, claude_project))
    current.give(lambda: data(recalled), lambda: clean(text(recalled)) + "\n")


def _layer_one(
    current: Session, choice: Layer1, config: Config | None, folder: Path, question: str, words: list[str], claude_project: str | None
) -> LayerOne:
    if choice is Layer1.LOCAL:
        return _local(current, config, folder, question)
    if config is not None and config.regulated:
        return LayerOne(claude_mem.NAME, LayerState.HIDDEN)
    if choice is Layer1.OFF:
        return LayerOne(claude_mem.NAME, LayerState.OFF)
    if not current.terminal.env.get(GATE):
        return LayerOne(claude_mem.NAME, LayerState.UNSET, f"{GATE} unset")
    return claude_mem.ask(_worker(current), question, words, project=claude_project)


def _local(current: Session, config: Config | None, folder: Path, question: str) -> LayerOne:
    """Our own index over the same memory/, where it lies in the vault."""
    memory = (folder / MEMORY).resolve()
    if config is None or not memory.is_relative_to(config.vault.resolve()):
        return LayerOne("local", LayerState.FAILED, f"{memory} is in no vault, so it isn't indexed")
    prefix = memory.relative_to(config.vault.resolve()).as_posix()
    request = Request(
        text=question, now=current.terminal.today(), filters=Filters(paths=(prefix,)), limit=TOP, everything=True, write_hyde=False
    )
    try:
        with current.brain(sync=True, config=config) as brain:
            report = brain.ask(request)
    except OneBrainError as error:
        return LayerOne("local", LayerState.FAILED, error.message)
    inside = "" if prefix == "." else f"{prefix}/"  # the filter also takes a folder of this name elsewhere
    hits = [
        SemanticHit(round(hit.rerank_score, 2), MEASURE, f"{MEMORY}/{hit.doc_path[len(inside) :]}:{hit.line_start}", hit.date, hit.snippet)
        for hit in report.hits
        if hit.rerank_score is not None and hit.doc_path.casefold().startswith(inside.casefold())
    ]
    return LayerOne("local", LayerState.ACTIVE, hits=tuple(sorted(hits, key=lambda hit: -hit.score)))


@app.command("status", help="Say what stands behind each layer: the gate, the worker, its semantic search, and the files.")
def status(ctx: typer.Context, project: Project = None, as_json: Json = False, quiet: Quiet = False, no_daemon: NoDaemon = False) -> None:
    current = session(ctx)
    config = _config(current, project)
    folder = _project(current, project, config)
    archive = read_archive(folder)
    worker = _worker(current)
    failure, state, newest = "", None, None
    if config is not None and config.regulated:
        failure = "not asked: this project is regulated"
    else:
        try:
            state = worker.within(claude_mem.BUDGET_SECONDS, claude_mem.state)
            newest = worker.within(claude_mem.BUDGET_SECONDS, claude_mem.newest)
        except OneBrainError as error:
            failure = error.message
    gate = bool(current.terminal.env.get(GATE))
    answers = state is not None
    found: dict[str, object] = {
        "layer1": {
            "gate": gate,
            "worker": {"address": f"{worker.host}:{worker.port}", "answers": answers, "reason": failure or None},
            "version": state.version if state else None,
            "semantic": state.semantic if state else None,
            "observations": state.observations if state else None,
            "newest": newest,
            "active": gate and answers,
        },
        "layer2": {
            "folder": str(folder / MEMORY),
            "files": len(archive.files),
            "lines": sum(len(file.lines) for file in archive.files),
            "exported": archive.exported,
            "problems": list(archive.problems),
        },
        "regulated": bool(config and config.regulated),
    }

    def shown() -> str:
        version = f"answers, version {state.version}, {state.observations} records" if state else f"no ({failure})"
        lines = [
            f"Layer 1 (claude-mem): {'active' if gate and state else 'off'}",
            f"  gate:     {GATE} {'is set' if gate else 'is not set'}",
            f"  worker:   {worker.host}:{worker.port} {version}",
            f"  semantic: {_semantic(state.semantic) if state else 'unknown'}",
            f"Layer 2 (grep): {folder / MEMORY}, {len(archive.files)} file(s)",
            f"  export:   {archive.exported or 'none yet'}",
            *(f"⚠️  {problem}" for problem in archive.problems),
        ]
        return clean("\n".join(lines)) + "\n"

    current.give(lambda: found, shown)


def _semantic(state: str) -> str:
    return f"{state} — the worker matches words, not meaning" if state == "disabled" else state


@app.command("export", help=f"Append claude-mem's new records to {MEMORY}/{EXPORT}; what stands there stays.")
def export_(
    ctx: typer.Context,
    project: Project = None,
    claude_project: ClaudeProject = None,
    as_json: Json = False,
    quiet: Quiet = False,
    no_daemon: NoDaemon = False,
) -> None:
    current = session(ctx)
    config = _config(current, project)
    if config is not None and config.regulated:
        raise BadRequest("This project is regulated: nothing is taken from claude-mem.", hint="Layer 2 needs no export.")
    if not current.terminal.env.get(GATE):
        raise BadRequest(f"claude-mem is not enabled here: {GATE} is not set.", hint="Set it, then see `onebrain recall status`.")
    folder = _project(current, project, config) / MEMORY
    if not folder.is_dir():
        raise BadRequest(f"There is no folder {folder}.", hint="Name the project with --project DIR.")
    records = _worker(current).within(DUMP_SECONDS, lambda worker, deadline: claude_mem.dump(worker, deadline, claude_project))
    file = folder / EXPORT
    before = file.read_bytes().decode("utf-8", errors="surrogateescape") if file.exists() else None
    after, added = export.appended(before, records, f"{datetime.now(UTC).replace(tzinfo=None).isoformat(timespec='seconds')}Z")
    if after != before:
        replace_file(file, after)
    current.give(lambda: {"file": str(file), "added": added, "records": len(records)}, lambda: f"{added} record(s) appended to {file}\n")


def _config(current: Session, project: Path | None) -> Config | None:
    """The configuration that holds for the project, None where it lies in no vault: recall works without one."""
    if current.vault_option is None and project is not None:
        try:
            return configuration.load(None, current.terminal.env, current.terminal.cwd / project)
        except VaultNotFound:
            return None
    try:
        return current.config
    except VaultNotFound:
        if current.vault_option is not None:
            raise
        return None


def _project(current: Session, project: Path | None, config: Config | None) -> Path:
    here = current.terminal.cwd
    if project is not None:
        if not (here / project).is_dir():
            raise BadRequest(f"There is no folder {here / project}.", hint="--project names the folder that holds memory/.")
        return here / project
    if (here / MEMORY).is_dir() or config is None:
        return here
    return config.vault / config.folders.agent


def _worker(current: Session) -> Worker:
    env = current.terminal.env
    home = Path(env.get("CLAUDE_MEM_DATA_DIR") or Path(env.get("HOME") or Path.home()) / ".claude-mem")
    settings = current.terminal.cwd / home / "settings.json"
    known = settings.read_text(encoding="utf-8", errors="replace") if settings.is_file() else None
    uid = os.getuid() if hasattr(os, "getuid") else 77  # as claude-mem does where there is none
    return Worker.located(env, uid, known)

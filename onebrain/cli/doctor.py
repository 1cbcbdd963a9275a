"""`onebrain doctor`: look at everything an answer depends on, and say of each fault what to do. `--fix` does what is safe to do.

A check is a function from Patient to findings; adding one is adding it to CHECKS. Only faults that keep onebrain from answering fail;
the rest are warnings.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated

import typer

from onebrain import config as configuration
from onebrain.cli.base import App, Json, Quiet, Session, session
from onebrain.config import Config
from onebrain.config.typos import likely_typos
from onebrain.errors import BadConfig, OneBrainError
from onebrain.render.json import Data
from onebrain.render.plain import one_line
from onebrain.render.state import Status

app = App("Check vault, index and models, and say what to do.")

LOW_DISK = 500_000_000  # bytes; a model and the index of a large vault
REACH_SECONDS = 2.0
PARTS = ("chromadb", "fastembed", "onnxruntime", "watchdog", "numpy")
WHOOSH = ("whoosh-reloaded", "whoosh", "whoosh3")  # all install the same package: two at once overwrite each other


class Health(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at and how it is; `hint` is the next step where something is to be done."""

    check: str
    health: Health
    message: str
    hint: str | None = None


@dataclass(slots=True)
class Patient:
    """What the checks look at. `status` is None where the index could not be opened, `trouble` says why."""

    session: Session
    config: Config
    fix: bool
    status: Status | None = None
    trouble: OneBrainError | None = None


@app.command("doctor", help="Check vault, index and models, and say what to do.")
def doctor(
    ctx: typer.Context,
    fix: Annotated[bool, typer.Option("--fix", help="Repair what can be repaired without asking.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    current = session(ctx)
    try:
        config = current.config
    except BadConfig as broken:
        found = [Finding("configuration", Health.FAIL, fault.message, f"{broken.path}:{fault.line or 1}") for fault in broken.problems]
        _give(current, found)
        raise typer.Exit(broken.exit_code) from broken
    patient = Patient(current, config, fix)
    found = [finding for check in CHECKS for finding in check(patient)]
    _give(current, found)
    if any(finding.health is Health.FAIL for finding in found):
        raise typer.Exit(OneBrainError.exit_code)


def _give(current: Session, found: list[Finding]) -> None:
    marks = {Health.OK: "✅", Health.WARN: "⚠️ ", Health.FAIL: "❌"}

    def data() -> Data:
        return {"checks": [{"check": f.check, "health": f.health, "message": f.message, "hint": f.hint} for f in found]}

    def shown() -> str:
        return "".join(
            f"{marks[f.health]}  {f.check:<14} {one_line(f.message)}\n" + (f"    → {one_line(f.hint)}\n" if f.hint else "") for f in found
        )

    current.give(data, shown)


def _configuration(patient: Patient) -> Iterable[Finding]:
    from croniter import croniter

    file = patient.config.file
    if file is None:
        yield Finding("configuration", Health.OK, "no onebrain.yml: the defaults hold", "`onebrain init` writes one, with comments")
        return
    typos = likely_typos(file)
    faults = [Finding("configuration", Health.WARN, f"`{key}` is not known", f"{file}:{line}: `{meant}`?") for line, key, meant in typos]
    crons = [entry.cron for entry in patient.config.schedule] + [patient.config.search.embed.schedule]
    faults += [
        Finding("configuration", Health.WARN, f"{cron!r} is no cron expression", f"Correct it in {file}; five fields, such as `0 3 * * 0`.")
        for cron in crons
        if cron is not None and not croniter.is_valid(cron)
    ]
    yield from faults or [Finding("configuration", Health.OK, str(file))]


def _older_names(patient: Patient) -> Iterable[Finding]:
    file = patient.config.file
    if file is None:
        return
    if file.name == configuration.OLDER_FILE_NAME:
        yield Finding("older names", Health.WARN, f"{file.name} is the older name", f"Rename it to {configuration.FILE_NAME}.")
    if not configuration.has_key(file, "qmd_collection"):
        return
    if not patient.fix:
        yield Finding("older names", Health.WARN, "`qmd_collection` is now `search.collection`", "`onebrain doctor --fix` moves it.")
        return
    configuration.set_value(file, "search.collection", patient.config.search.collection)  # the one in force: the newer key wins
    configuration.remove_key(file, "qmd_collection")
    yield Finding("older names", Health.OK, f"moved `qmd_collection` to `search.collection` in {file.name}")


def _vault(patient: Patient) -> Iterable[Finding]:
    from onebrain.vault import files

    walk = files.stat_all(patient.config.vault, patient.config.search.exclude)
    for path, reason in walk.failures[:5]:
        yield Finding("vault", Health.WARN, f"{path}: {reason}", "Check its permissions, or leave it out with search.exclude.")
    if walk.stats:
        yield Finding("vault", Health.OK, f"{_counted(len(walk.stats), 'note')} in {patient.config.vault}")
    else:
        hint = "Is it mounted, is it this directory, and does search.exclude leave any?"
        yield Finding("vault", Health.WARN, f"no notes in {patient.config.vault}", hint)
    yield from _watches(patient.config.vault)


def _watches(vault: Path) -> Iterable[Finding]:
    """Linux lets a user watch so many directories; a daemon that runs out of watches misses edits."""
    limit = Path("/proc/sys/fs/inotify/max_user_watches")
    if not limit.exists():
        return
    folders = sum(1 for _ in os.walk(vault))
    allowed = int(limit.read_text())
    if folders > allowed // 2:
        hint = f"sudo sysctl fs.inotify.max_user_watches={max(524_288, folders * 4)}"
        yield Finding("watching", Health.WARN, f"{folders:,} directories, and {allowed:,} watches for all programs", hint)
    else:
        yield Finding("watching", Health.OK, f"{folders:,} of {allowed:,} directories that may be watched")


def _data(patient: Patient) -> Iterable[Finding]:
    place = patient.config.data_dir
    standing = next(up for up in (place, *place.parents) if up.exists())
    if not os.access(standing, os.W_OK | os.X_OK):
        yield Finding("data", Health.FAIL, f"{standing} can't be written", "Correct its permissions, or set ONEBRAIN_DATA_DIR.")
        return
    free = shutil.disk_usage(standing).free
    room = f"{place}, {free / 1e9:.1f} GB free"
    low = Finding("data", Health.WARN, room, "Make room before a large reindex.")
    yield low if free < LOW_DISK else Finding("data", Health.OK, room)
    private = place / "search" / patient.config.search.collection
    if os.name == "posix" and private.exists() and private.stat().st_mode & 0o077:
        if patient.fix:
            private.chmod(0o700)
            yield Finding("data", Health.OK, f"{private} is now private")
        else:
            yield Finding("data", Health.WARN, f"others may read {private}", f"chmod 700 {private}, or `onebrain doctor --fix`")


def _index(patient: Patient) -> Iterable[Finding]:
    try:
        with patient.session.brain() as brain:
            if patient.fix:
                brain.reindex()
            patient.status = brain.status()
    except OneBrainError as error:
        busy = error.code == "E_ENGINE_BUSY"
        yield Finding("index", Health.WARN if busy else Health.FAIL, error.message, error.hint)
        return
    status = patient.status
    if status.error:
        yield Finding("index", Health.WARN, status.error, "`onebrain search reindex` heals it; with --force it is built anew.")
    if status.doc_count is None:
        yield Finding("index", Health.FAIL, "its state can't be read", "`onebrain search reindex --force` builds it anew.")
        return
    vectors = status.pending_vectors if status.semantic_available else 0  # without a model a reindex wouldn't help, and `models` says so
    behind = [_counted(count, what) for count, what in ((status.pending_words, "note"), (vectors, "passage")) if count]
    if behind:
        yield Finding("index", Health.WARN, f"behind by {' and '.join(behind)}", "`onebrain search reindex`")
    elif status.pending_words is None or vectors is None:
        yield Finding("index", Health.WARN, "nobody can say whether it is in step with the vault", "Is the vault mounted, and readable?")
    else:
        yield Finding("index", Health.OK, f"{_counted(status.doc_count, 'note')}, in step with the vault")
    for failure in status.failed[:5]:
        yield Finding("index", Health.WARN, f"{failure.path}: {failure.reason}", "Correct the note; it is read again when it changes.")


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _models(patient: Patient) -> Iterable[Finding]:
    from onebrain.models import folders, weights

    found = weights.list_models(patient.config.data_dir / "models")
    for model in found:
        if wrong := folders.damaged(model):
            hint = f"onebrain search model remove {model.model_id}, then onebrain search model prepare"
            yield Finding("models", Health.FAIL, f"{model.model_id}: {', '.join(wrong)} changed on the disk", hint)
        else:
            yield Finding("models", Health.OK, f"{model.model_id}, {model.size / 1e6:.0f} MB, from {model.origin}")
    if not found and patient.config.search.embed_folder is None:
        yield Finding("models", Health.WARN, "no embedding model: search works by words alone", "`onebrain search model prepare`")
    if patient.status is not None:
        yield Finding("models", Health.OK, f"reranker {patient.status.reranker or 'none'}, hyde {patient.status.hyde or 'none'}")


def _endpoints(patient: Patient) -> Iterable[Finding]:
    """The user's own language models: who they are, and whether anybody listens. Nothing is sent."""
    from onebrain.models.endpoint import Endpoint
    from onebrain.models.ports import EndpointSettings

    search = patient.config.search
    for task, named in (("hyde", search.hyde), ("synthesis", search.synthesis)):
        if named is None or named.endpoint is None:
            continue
        told, hint = f"{named.model or 'a model'} at {named.endpoint}", f"Start it, or correct `search.{task}`; answers come without it."
        try:
            endpoint = Endpoint(EndpointSettings(named.endpoint), {})
            if task == "synthesis" and patient.config.regulated and not endpoint.is_here:
                yield Finding(task, Health.WARN, f"{told} is not asked: the vault is regulated", "Name an address of this machine.")
                continue
            endpoint.reach(REACH_SECONDS)
        except OneBrainError as error:
            yield Finding(task, Health.WARN, f"{told}: {error.message}", error.hint or hint)
        else:
            sent = " gets each question and its quotes" if task == "synthesis" else " gets questions without an answer"
            yield Finding(task, Health.OK, told + sent)


def _parts(patient: Patient) -> Iterable[Finding]:
    whooshes = [name for name in WHOOSH if _version(name)]
    if len(whooshes) > 1:
        yield Finding("parts", Health.FAIL, f"{' and '.join(whooshes)} overwrite each other", f"pip uninstall {' '.join(whooshes[1:])}")
    known = [f"{name} {_version(name) or 'missing'}" for name in (*whooshes[:1], *PARTS)]
    missing = [name for name in PARTS if not _version(name)] + ([] if whooshes else ["whoosh-reloaded"])
    python = ".".join(map(str, sys.version_info[:3]))
    yield Finding(
        "parts",
        Health.FAIL if missing else Health.OK,
        f"onebrain {_version('onebrain')}, Python {python}, {', '.join(known)}",
        f"pip install {' '.join(missing)}" if missing else None,
    )


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _daemon(patient: Patient) -> Iterable[Finding]:
    from onebrain.daemon import process

    running = process.told(patient.config, "status")
    said = "not running; commands open the index themselves" if running is None else f"running as process {running.get('pid')}"
    yield Finding("daemon", Health.OK, said, "`onebrain daemon start` answers faster" if running is None else None)
    for notice in running["notices"] if running is not None else ():
        yield Finding("daemon", Health.WARN, notice, "`onebrain daemon status` shows when it is gone.")


CHECKS: tuple[Callable[[Patient], Iterable[Finding]], ...] = (
    _configuration, _older_names, _vault, _data, _daemon, _index, _models, _endpoints, _parts,
)  # fmt: skip

"""The daemon as a process: how it is started, found, replaced and stopped. Who owns the index is decided by the lock alone.

Process numbers and address files are for finding each other; none of them is ever taken as proof that a daemon lives.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from onebrain.config import Config
from onebrain.daemon import client, wire
from onebrain.errors import IndexBusy, OneBrainError

if TYPE_CHECKING:
    from onebrain.cli.terminal import Opened, Progress
    from onebrain.daemon.lend import Lent
    from onebrain.daemon.server import Call
    from onebrain.daemon.service import Outcome, Service

START_SECONDS = 30.0  # until a new daemon answers
CLAIM_SECONDS = 10.0  # another command may own the index for a moment
STOP_SECONDS = 60.0
POLL = 0.05
LOG_BYTES, LOGS = 1 << 20, 2

Open = Callable[[Config], Any]
"""Opens a Brain as owner (`BrainPort` and `service.Brain` say what is asked of it); IndexBusy where another process owns the index."""


def address_of(config: Config) -> Mapping[str, Any] | None:
    """Where the vault's daemon says it listens; a crashed one leaves an address that nobody answers at."""
    return wire.read_address(wire.address_file(str(config.data_dir / "run"), str(config.vault)))


def told(config: Config, verb: str, seconds: float = 5.0) -> dict[str, Any] | None:
    """The daemon's reply, None when no daemon answers."""
    address = address_of(config)
    try:
        return None if address is None else client.control(address, verb, seconds)
    except client.Unanswered:
        return None


def names_of(config: Config) -> tuple[Path, ...]:
    """The directories a vault is known by: its own, and the one of its configuration file."""
    return (config.vault, config.file.parent) if config.file is not None else (config.vault,)


def serve(config: Config, open_brain: Open, reload: Callable[[], Config] | None = None) -> Outcome:
    """Own the vault's index until told to stop. The main thread's; signals end it in order."""
    from onebrain.daemon.lend import Lent
    from onebrain.daemon.service import Service, on_signals

    brain = _claim(config, open_brain)
    try:
        lent: list[Lent] = []
        service = Service(config, brain, lambda call, out, err: _inside(call, out, err, config, lent[0], service), names_of(config), reload)
        lent.append(Lent(brain, service))
        service.notices |= _missing_keys(config, os.environ)
        on_signals(service)
        return service.serve()
    finally:
        brain.close()


def _missing_keys(config: Config, env: Mapping[str, str]) -> dict[str, str]:
    """A daemon that a session manager starts knows nothing of the variables that a shell exports."""
    return {
        option: f"{name} ({option}) isn't set where the daemon runs: see docs/language-model.md, Keys."
        for option, name in config.key_variables.items()
        if not env.get(name)
    }


def _claim(config: Config, open_brain: Open) -> Any:
    """The Brain, as owner. Waits for a command that owns it for a moment, not for another daemon."""
    deadline = time.monotonic() + CLAIM_SECONDS
    while True:
        try:
            return open_brain(config)
        except IndexBusy:
            if other := told(config, "ping", 1.0):
                raise IndexBusy(
                    f"A daemon already runs for {config.vault} (process {other['pid']}).", hint="See `onebrain daemon status`."
                ) from None
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.2)


def _inside(call: Call, out: TextIO, err: TextIO, own: Config, lent: Lent, service: Service) -> int:
    """A client's command, run by the same application as without a daemon, on our Brain."""
    from onebrain.cli.app import run
    from onebrain.cli.terminal import Opened, Terminal
    from onebrain.daemon.server import Refused
    from onebrain.render.json import Caution

    @contextmanager
    def brains(config: Config, *, sync: bool, progress: Progress | None) -> Iterator[Opened]:
        if (config.vault, config.data_dir) != (own.vault, own.data_dir):
            raise Refused(f"this daemon keeps {own.vault}")
        if not sync:
            yield Opened(lent)
            return
        behind = service.catch_up()
        with service.asking():
            yield Opened(lent, (Caution("W_INDEX_BEHIND", f"The index is behind: {behind}"),) if behind else ())

    return run(
        Terminal(
            argv=call.argv,
            env=call.env,
            cwd=call.cwd,
            out=out,
            err=err,
            brains=brains,
            out_tty=call.out_tty,
            err_tty=call.err_tty,
            width=call.width,
            read_stdin=lambda: call.stdin or "",
        )
    )


def log_to(file: Path | None, err: TextIO) -> None:
    """The log names files and faults, never what was asked."""
    handler: logging.Handler
    if file is None:
        handler = logging.StreamHandler(err)
    else:
        file.parent.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(file, maxBytes=LOG_BYTES, backupCount=LOGS, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)


def become(executable: str, config: Config, log_file: Path | None) -> None:
    """Go on as a fresh process under the same number, so that whoever watches over us need not notice."""
    python = executable if os.access(executable, os.X_OK) else sys.executable
    words = command(python, config, log_file)
    if sys.platform == "win32":  # has no exec; a new process takes over
        subprocess.Popen(words, creationflags=subprocess.DETACHED_PROCESS)
    else:
        os.execv(python, words)


def command(python: str, config: Config, log_file: Path | None) -> list[str]:
    """`-P`: the directory a daemon is started in must not be able to stand in for our modules."""
    words = [python, "-P", "-m", "onebrain", "--vault", str(config.file or config.vault), "daemon", "run"]
    return words if log_file is None else [*words, "--log-file", str(log_file)]


def launch(config: Config, env: Mapping[str, str]) -> dict[str, Any]:
    """The reply of a daemon that answers: the one we start, or another that was started at the same moment and won."""
    log = log_path(config, env)
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "ab") as output:
        before = output.tell()
        child = subprocess.Popen(
            command(sys.executable, config, log),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=log.parent,
            env=dict(env),
            **_detached(),
        )
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if (reply := told(config, "ping", 1.0)) is not None:
            return reply
        if (code := child.poll()) is not None and code != IndexBusy.exit_code:
            raise OneBrainError(f"The daemon ended at once (exit {code}). {_tail(log, before)}", hint=f"Its log is {log}.")
        if code is not None:
            raise IndexBusy(f"The daemon could not start. {_tail(log, before)}", hint=f"Its log is {log}.")
        time.sleep(POLL)
    child.terminate()
    raise OneBrainError(f"The daemon did not answer within {START_SECONDS:.0f} s and was stopped.", hint=f"Its log is {log}.")


def _detached() -> dict[str, Any]:
    """In a session of its own: neither the terminal's end nor its Ctrl-C reaches it."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def _tail(log: Path, start: int) -> str:
    """The last line that was written to `log` after `start`."""
    try:
        with open(log, "rb") as file:
            file.seek(start)
            lines = file.read(1 << 16).decode("utf-8", "replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1] if lines else ""


def log_path(config: Config, env: Mapping[str, str]) -> Path:
    """The platform's place for logs, or beside the data where that was put somewhere else."""
    from platformdirs import user_log_path

    place = config.data_dir / "logs" if env.get("ONEBRAIN_DATA_DIR") else user_log_path("onebrain", appauthor=False)
    return place / f"daemon-{wire.key(str(config.vault))[:6]}.log"


def wait_until_gone(config: Config, pid: int) -> None:
    """Gone is who no longer holds the lock; the number of a process may be somebody else's by now."""
    from onebrain.index.owner import claim

    try:
        claim(index_directory(config), timeout=STOP_SECONDS).release()
    except IndexBusy as busy:
        raise IndexBusy(
            f"The daemon (process {pid}) was asked to stop and still works after {STOP_SECONDS:.0f} s.",
            hint=f"See its log: {log_path(config, os.environ)}",
        ) from busy


def complain_if_owned(config: Config) -> None:
    """A process that owns the index and doesn't answer is worth saying; IndexBusy names it."""
    from onebrain.index.owner import claim

    if index_directory(config).is_dir():
        claim(index_directory(config)).release()


def index_directory(config: Config) -> Path:
    return config.data_dir / "search" / config.search.collection



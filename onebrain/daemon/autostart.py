"""Start with the session, restart after a crash: one unit for systemd, launchd or Windows' Task Scheduler, made from one description.

Deciding is pure: `unit` says which file with which text goes where, and which commands switch it on and off. `install` and
`uninstall` carry that out. The vault's name and key are in the name of the unit, so that each vault has its own.
"""

from __future__ import annotations

import plistlib
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from onebrain.errors import OneBrainError

RESTART_SECONDS = 10
HOPELESS = (2, 65)  # a wrong command or a broken configuration won't heal by starting again; a vault that isn't mounted yet may


@dataclass(frozen=True, slots=True)
class Setting:
    """`platform` as sys.platform names it; `vault` is the directory or its configuration file; `key` tells vaults of one `name` apart.

    `env` is the environment of now, of which a session manager knows nothing.
    """

    platform: str
    vault: Path
    name: str
    key: str
    python: str
    home: Path
    env: Mapping[str, str]
    uid: int = 0


@dataclass(frozen=True, slots=True)
class Unit:
    """What autostart is on one platform. `log` says where its output goes, as a command or a path."""

    name: str
    file: Path
    text: str
    on: tuple[tuple[str, ...], ...]
    off: tuple[tuple[str, ...], ...]
    log: str
    encoding: str = "utf-8"


def unit(setting: Setting) -> Unit:
    """The unit for this platform; OneBrainError where there is no way to start with the session."""
    make = {"linux": _systemd, "darwin": _launchd, "win32": _task}.get(setting.platform)
    if make is None:
        raise OneBrainError(f"Autostart isn't known on {setting.platform}.", hint="Start it yourself with `onebrain daemon start`.")
    return make(setting)


def command(setting: Setting) -> tuple[str, ...]:
    """`-P`: a directory the daemon is started in must not be able to stand in for our modules."""
    return (setting.python, "-P", "-m", "onebrain", "--vault", str(setting.vault), "daemon", "run")


def _name(setting: Setting) -> str:
    plain = re.sub(r"[^A-Za-z0-9]+", "-", setting.name).strip("-").lower() or "vault"
    return f"onebrain-{plain[:40]}-{setting.key[:6]}"


def _systemd(setting: Setting) -> Unit:
    name = _name(setting) + ".service"
    base = Path(setting.env.get("XDG_CONFIG_HOME") or setting.home / ".config")
    environment = "".join(f"Environment={_systemd_word(f'{n}={v}')}\n" for n, v in _kept(setting.env).items())
    text = f"""\
[Unit]
Description=onebrain for {_one_line(str(setting.vault)).replace("%", "%%")}

[Service]
Type=simple
ExecStart={" ".join(_systemd_word(word) for word in command(setting))}
{environment}Restart=on-failure
RestartSec={RESTART_SECONDS}
RestartPreventExitStatus={" ".join(map(str, HOPELESS))}
TimeoutStopSec=60
UMask=0077

[Install]
WantedBy=default.target
"""
    control = ("systemctl", "--user")
    return Unit(
        name,
        base / "systemd" / "user" / name,
        text,
        on=((*control, "daemon-reload"), (*control, "enable", "--now", name)),
        off=((*control, "disable", "--now", name), (*control, "daemon-reload")),
        log=f"journalctl --user -u {name}",
    )


def _systemd_word(word: str) -> str:
    """One word of a systemd command line: `%` starts a specifier, `$` a variable, and quotes are C-like."""
    plain = _one_line(word).replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{plain}"'


def _launchd(setting: Setting) -> Unit:
    name = "io.github." + _name(setting).replace("onebrain-", "onebrain.", 1)
    file = setting.home / "Library" / "LaunchAgents" / f"{name}.plist"
    log = setting.home / "Library" / "Logs" / "onebrain" / f"{_name(setting)}.log"
    content = {
        "Label": name,
        "ProgramArguments": list(command(setting)),
        "EnvironmentVariables": dict(_kept(setting.env)),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": RESTART_SECONDS,
        "ProcessType": "Adaptive",
        "StandardOutPath": str(log),
        "StandardErrorPath": str(log),
        "Umask": 0o077,
    }
    target = f"gui/{setting.uid}"
    return Unit(
        name,
        file,
        plistlib.dumps(content).decode("utf-8"),
        on=(("launchctl", "bootstrap", target, str(file)),),
        off=(("launchctl", "bootout", f"{target}/{name}"),),
        log=str(log),
    )


def _task(setting: Setting) -> Unit:
    name = _name(setting)
    local = Path(setting.env.get("LOCALAPPDATA") or setting.home / "AppData" / "Local")
    file = local / "onebrain" / f"{name}.xml"
    log = local / "onebrain" / "Logs" / f"{name}.log"
    windowless = re.sub(r"python(\.exe)?$", r"pythonw\1", setting.python)
    words = (*command(setting)[1:], "--log-file", str(log))
    arguments = escape(subprocess.list2cmdline(words))
    text = f"""\
<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.3" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo><Description>onebrain for {escape(str(setting.vault))}</Description></RegistrationInfo>
  <Triggers><LogonTrigger><Enabled>true</Enabled></LogonTrigger></Triggers>
  <Principals>
    <Principal id="Author"><LogonType>InteractiveToken</LogonType><RunLevel>LeastPrivilege</RunLevel></Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure><Interval>PT1M</Interval><Count>255</Count></RestartOnFailure>
    <Hidden>true</Hidden>
    <Priority>7</Priority>
  </Settings>
  <Actions Context="Author">
    <Exec><Command>{escape(windowless)}</Command><Arguments>{arguments}</Arguments></Exec>
  </Actions>
</Task>
"""
    return Unit(
        name,
        file,
        text,
        on=(("schtasks", "/Create", "/F", "/TN", name, "/XML", str(file)), ("schtasks", "/Run", "/TN", name)),
        off=(("schtasks", "/End", "/TN", name), ("schtasks", "/Delete", "/F", "/TN", name)),
        log=str(log),
        encoding="utf-16",
    )


def _kept(env: Mapping[str, str]) -> dict[str, str]:
    """A session manager starts with an environment of its own: what says where things are has to be written down."""
    return {name: env[name] for name in ("ONEBRAIN_DATA_DIR",) if env.get(name)}


def _one_line(text: str) -> str:
    if "\n" in text or "\r" in text:
        raise OneBrainError(f"A path with a line break can't be written into a unit: {text!r}.", hint="Rename the directory.")
    return text


Command = Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"]


def _run(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


def install(what: Unit, run: Command = _run) -> list[str]:
    """Write the unit and switch it on. Returns what did not work, in words; the unit stays written for the next session."""
    what.file.parent.mkdir(parents=True, exist_ok=True)
    if Path(what.log).is_absolute():
        Path(what.log).parent.mkdir(parents=True, exist_ok=True)
    what.file.write_text(what.text, encoding=what.encoding)
    return [problem for words in what.on if (problem := _attempt(words, run))]


def uninstall(what: Unit, run: Command = _run) -> bool:
    """Switch the unit off and remove all that `install` made but the logs; False when there was none."""
    there = what.file.exists()
    for words in what.off[:1] if there else ():
        _attempt(words, run)
    what.file.unlink(missing_ok=True)
    for words in what.off[1:] if there else ():
        _attempt(words, run)
    return there


def _attempt(words: Sequence[str], run: Command) -> str | None:
    try:
        done = run(words)
    except (OSError, subprocess.TimeoutExpired) as failed:
        return f"`{' '.join(words)}` could not be run: {failed}"
    if done.returncode == 0:
        return None
    return f"`{' '.join(words)}` failed: {(done.stderr or done.stdout).strip() or f'exit {done.returncode}'}"

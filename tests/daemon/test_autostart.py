from __future__ import annotations

import plistlib
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from onebrain.daemon import autostart
from onebrain.daemon.autostart import Setting, unit
from onebrain.errors import OneBrainError


def setting(platform: str, vault: str = "/home/ann/My Notes", home: Path = Path("/home/ann"), **env: str) -> Setting:
    return Setting(platform, Path(vault), Path(vault).name, "0123456789abcdef", "/opt/py/bin/python", home, env, uid=501)


def test_a_systemd_user_unit() -> None:
    made = unit(setting("linux", ONEBRAIN_DATA_DIR="/data"))
    assert made.file == Path("/home/ann/.config/systemd/user/onebrain-my-notes-012345.service")
    assert made.text == (
        "[Unit]\n"
        "Description=onebrain for /home/ann/My Notes\n"
        "\n"
        "[Service]\n"
        "Type=simple\n"
        'ExecStart="/opt/py/bin/python" "-P" "-m" "onebrain" "--vault" "/home/ann/My Notes" "daemon" "run"\n'
        'Environment="ONEBRAIN_DATA_DIR=/data"\n'
        "Restart=on-failure\n"
        "RestartSec=10\n"
        "RestartPreventExitStatus=2 65\n"
        "TimeoutStopSec=60\n"
        "UMask=0077\n"
        "\n"
        "[Install]\n"
        "WantedBy=default.target\n"
    )
    assert made.log == "journalctl --user -u onebrain-my-notes-012345.service"
    assert unit(setting("linux", XDG_CONFIG_HOME="/cfg")).file.parent == Path("/cfg/systemd/user")


def test_no_name_of_a_vault_escapes_from_a_unit() -> None:
    text = unit(setting("linux", '/v/100% "mine" $HOME\\x')).text
    assert '"--vault" "/v/100%% \\"mine\\" $$HOME\\\\x"' in text
    with pytest.raises(OneBrainError, match="line break"):
        unit(setting("linux", "/v/a\nExecStartPre=/bin/evil"))


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze isn't installed")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    made = unit(setting("linux"))
    file = tmp_path / made.name
    file.write_text(made.text.replace("/opt/py/bin/python", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", "--user", str(file)], capture_output=True, text=True, check=False)
    assert "Unknown" not in done.stderr and "ignoring" not in done.stderr


def test_a_launchd_agent() -> None:
    made = unit(setting("darwin", "/Users/ann/Büro & Co", Path("/Users/ann"), ONEBRAIN_DATA_DIR="/data"))
    assert made.file == Path("/Users/ann/Library/LaunchAgents/io.github.onebrain.b-ro-co-012345.plist")
    content = plistlib.loads(made.text.encode())
    assert content["ProgramArguments"] == ["/opt/py/bin/python", "-P", "-m", "onebrain", "--vault", "/Users/ann/Büro & Co", "daemon", "run"]
    assert content["KeepAlive"] == {"SuccessfulExit": False} and content["RunAtLoad"] is True
    assert content["EnvironmentVariables"] == {"ONEBRAIN_DATA_DIR": "/data"}
    assert content["StandardErrorPath"] == made.log == "/Users/ann/Library/Logs/onebrain/onebrain-b-ro-co-012345.log"
    assert made.on == (("launchctl", "bootstrap", "gui/501", str(made.file)),)
    assert made.off == (("launchctl", "bootout", "gui/501/io.github.onebrain.b-ro-co-012345"),)


def test_a_scheduled_task() -> None:
    made = unit(setting("win32", "C:/Users/Ann/R&D <notes>", Path("/home/ann"), LOCALAPPDATA="/local"))
    root = ElementTree.fromstring(made.text.encode("utf-16"))
    space = {"t": "http://schemas.microsoft.com/windows/2004/02/mit/task"}
    assert root.findtext(".//t:Command", namespaces=space) == "/opt/py/bin/pythonw"
    arguments = root.findtext(".//t:Arguments", namespaces=space)
    assert arguments is not None and arguments.startswith('-P -m onebrain --vault "C:/Users/Ann/R&D <notes>" daemon run --log-file ')
    assert root.findtext(".//t:RestartOnFailure/t:Count", namespaces=space) == "255"
    assert root.findtext(".//t:ExecutionTimeLimit", namespaces=space) == "PT0S"
    assert made.off[-1] == ("schtasks", "/Delete", "/F", "/TN", "onebrain-r-d-notes-012345")


def test_vaults_of_one_name_have_units_of_their_own() -> None:
    other = Setting("linux", Path("/other/My Notes"), "My Notes", "fedcba9876543210", "py", Path("/home/ann"), {})
    assert unit(other).name != unit(setting("linux")).name


def test_an_unknown_platform_says_what_to_do() -> None:
    with pytest.raises(OneBrainError, match="plan9") as failed:
        unit(setting("plan9"))
    assert failed.value.hint == "Start it yourself with `onebrain daemon start`."


class Shell:
    def __init__(self, code: int = 0, error: str = "") -> None:
        self.ran: list[tuple[str, ...]] = []
        self._code, self._error = code, error

    def __call__(self, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        self.ran.append(tuple(words))
        if self._code == 127:
            raise FileNotFoundError(words[0])
        return subprocess.CompletedProcess(list(words), self._code, "", self._error)


def test_install_then_uninstall_leaves_nothing(tmp_path: Path) -> None:
    for platform in ("linux", "darwin", "win32"):
        home = tmp_path / platform
        made, shell = unit(setting(platform, home=home)), Shell()
        assert autostart.install(made, shell) == []
        assert made.file.read_text(encoding=made.encoding) == made.text
        assert autostart.install(made, shell) == []  # twice is as good as once
        assert autostart.uninstall(made, shell) is True
        assert [path for path in home.rglob("*") if path.is_file()] == []
        assert shell.ran == [*made.on, *made.on, *made.off]
        assert autostart.uninstall(made, shell) is False
        assert len(shell.ran) == 2 * len(made.on) + len(made.off)


@pytest.mark.parametrize(("code", "words"), [(127, "could not be run"), (1, "failed: no bus")])
def test_a_session_without_its_manager_is_told(tmp_path: Path, code: int, words: str) -> None:
    made = unit(setting("linux", home=tmp_path))
    problems = autostart.install(made, Shell(code, "no bus"))
    assert len(problems) == 2 and words in problems[0]
    assert made.file.exists()

"""`onebrain serve` as a process: it prints one address, answers who has it, and ends when told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import pytest


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_told_to_stop(vault: Path, tmp_path: Path, stop: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "onebrain", "--vault", str(vault), "serve"],
        env={**os.environ, "ONEBRAIN_DATA_DIR": str(tmp_path / "data")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    place = urlsplit(address)
    assert (place.scheme, place.hostname) == ("http", "127.0.0.1")
    with urllib.request.urlopen(address) as answer:
        cookie = answer.headers["set-cookie"].split(";")[0]
    home = f"http://127.0.0.1:{place.port}/"
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(home)
    assert refused.value.code == 403
    refused.value.close()
    with urllib.request.urlopen(urllib.request.Request(home + "?q=kafka", headers={"cookie": cookie})) as answer:
        assert "This vault has no index yet" in answer.read().decode()
    process.send_signal(stop)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (0, "")
    assert err == "Serving My Vault. Open the address above; Ctrl-C ends it.\n"


def test_a_port_in_use_is_told(vault: Path, tmp_path: Path) -> None:
    from onebrain.web.serve import take_port

    taken = take_port(0)
    ran = subprocess.run(
        [sys.executable, "-m", "onebrain", "--vault", str(vault), "serve", "--port", str(taken.getsockname()[1])],
        env={**os.environ, "ONEBRAIN_DATA_DIR": str(tmp_path / "data")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    taken.close()
    assert ran.returncode == 2
    assert "can't be used: Address already in use" in ran.stderr
    assert "Choose another one with --port" in ran.stderr

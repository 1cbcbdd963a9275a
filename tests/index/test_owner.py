"""One owner, whatever happens to it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from onebrain.disk import try_lock
from onebrain.errors import IndexBusy, StorageFull
from onebrain.index.owner import LOCK_FILE, claim, holder

HOLD = """
import sys, time
from pathlib import Path
from onebrain.index.owner import claim
with claim(Path(sys.argv[1])):
    print("mine", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def hold(directory: Path, seconds: float) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(directory), str(seconds)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "mine\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def test_a_second_process_is_refused_and_told_by_whom(tmp_path: Path) -> None:
    other = hold(tmp_path, 60)
    try:
        with pytest.raises(IndexBusy, match=f"process {other.pid} since") as refused:
            claim(tmp_path)
        assert refused.value.exit_code == 77
        assert refused.value.hint is not None
    finally:
        end(other)


def test_kill_9_frees_the_lock_at_once(tmp_path: Path) -> None:
    other = hold(tmp_path, 60)
    other.send_signal(signal.SIGKILL)
    end(other)
    with claim(tmp_path) as mine:
        assert mine.held
        assert holder(tmp_path) is not None and f"process {os.getpid()}" in str(holder(tmp_path))


def test_waiting_gets_the_lock_when_it_is_given_back(tmp_path: Path) -> None:
    other = hold(tmp_path, 0.2)
    try:
        claim(tmp_path, timeout=20).release()
    finally:
        end(other)


def test_one_process_can_not_claim_twice_but_again_after_release(tmp_path: Path) -> None:
    first = claim(tmp_path)
    with pytest.raises(IndexBusy):
        claim(tmp_path)
    first.release()
    first.release()
    claim(tmp_path).release()


def test_what_the_file_says_decides_nothing(tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).write_text('{"pid": 1, "since": "1999-01-01"}')
    claim(tmp_path).release()
    (tmp_path / LOCK_FILE).write_bytes(b"\xff garbage")
    assert holder(tmp_path) is None
    claim(tmp_path).release()


def test_a_removed_lock_file_is_noticed_while_claiming(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def remove_first(descriptor: int) -> bool:
        monkeypatch.undo()
        (tmp_path / LOCK_FILE).unlink()
        return try_lock(descriptor)

    monkeypatch.setattr("onebrain.index.owner.try_lock", remove_first)
    with claim(tmp_path, timeout=5), pytest.raises(IndexBusy):
        claim(tmp_path)


def test_the_folder_is_private_and_an_impossible_one_is_an_error(tmp_path: Path) -> None:
    claim(tmp_path / "new" / "index").release()
    if os.name == "posix":
        assert (tmp_path / "new" / "index").stat().st_mode & 0o777 == 0o700
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFull, match="can't be written"):
        claim(tmp_path / "file" / "index")

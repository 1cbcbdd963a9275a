from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from disk_brain import DiskBrain
from real_daemon import WORDS, Home, command_line

sys.path.append(str(Path(__file__).parent.parent / "index"))  # for `equal`, the comparison of an index with its vault


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    place = tmp_path / "vault"
    place.mkdir()
    return place


@pytest.fixture
def brain(vault: Path) -> DiskBrain:
    return DiskBrain(vault)


@pytest.fixture
def home(tmp_path: Path, vault: Path) -> Iterator[Home]:
    (vault / "onebrain.yml").write_text("search:\n  hyde:\n    writer: off\n")
    own = Home(vault, tmp_path / "data")
    for n, word in enumerate(WORDS):
        own.write(f"n{n}.md", f"# Note {n}\n\nThe {word} was said.\n\n## More\n\nSecond part of {n}.\n")
    yield own
    for child in own.children:
        child.kill()
        child.wait()
    for pid in own.strangers - {child.pid for child in own.children}:
        if f"{own.vault}" in command_line(pid):
            os.kill(pid, signal.SIGKILL)

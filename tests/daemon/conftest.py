from __future__ import annotations

import sys
from pathlib import Path

import pytest
from disk_brain import DiskBrain

sys.path.append(str(Path(__file__).parent.parent / "index"))  # for `equal`, the comparison of an index with its vault


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    place = tmp_path / "vault"
    place.mkdir()
    return place


@pytest.fixture
def brain(vault: Path) -> DiskBrain:
    return DiskBrain(vault)

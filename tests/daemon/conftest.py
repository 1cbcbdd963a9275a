from __future__ import annotations

from pathlib import Path

import pytest
from disk_brain import DiskBrain


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    place = tmp_path / "vault"
    place.mkdir()
    return place


@pytest.fixture
def brain(vault: Path) -> DiskBrain:
    return DiskBrain(vault)

"""A shell in an empty vault, for the memory systems."""

from __future__ import annotations

from pathlib import Path

import pytest
from memory_shell import Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A vault with nothing in it but its configuration."""
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "onebrain.yml").write_text("search: {collection: memories}\n", encoding="utf-8")
    home = tmp_path / "home"
    home.mkdir()
    return Shell(vault, {"ONEBRAIN_DATA_DIR": str(tmp_path / "data"), "HOME": str(home)})

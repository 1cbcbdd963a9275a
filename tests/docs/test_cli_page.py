"""docs/cli.md is what the program says of itself."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

from onebrain.cli.app import GROUPS
from onebrain.errors import BadConfig, BadRequest, IndexBusy, OneBrainError, VaultNotFound

DOCS = Path(__file__).parent.parent.parent / "docs"


def writer() -> Any:
    spec = importlib.util.spec_from_file_location("write_cli", DOCS / "write_cli.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_help_says() -> None:
    assert (DOCS / "cli.md").read_text(encoding="utf-8") == writer().page(), "run: python docs/write_cli.py"


def test_every_group_has_its_place() -> None:
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert re.findall(r"^## `onebrain (\w+)`$", text, re.MULTILINE) == list(GROUPS)


def test_the_exit_codes_are_those_of_the_errors() -> None:
    text = (DOCS / "cli.md").read_text(encoding="utf-8").replace("\n", " ")
    told: dict[type[OneBrainError], str] = {
        OneBrainError: "failed",
        BadRequest: "the command line can't be used",
        VaultNotFound: "no vault",
        BadConfig: "the configuration can't be used",
        IndexBusy: "another process owns the index",
    }
    for error, words in told.items():
        assert f"{error.exit_code} {words}" in text

"""What docs/mcp.md and the skill tell people to paste is what the program takes."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import yaml

from onebrain.mcp import Result, Tools

ROOT = Path(__file__).parent.parent.parent
TEXT = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


def test_every_ready_made_configuration_starts_our_server() -> None:
    configurations = [json.loads(block)["mcpServers"]["onebrain"] for block in blocks("json") if "mcpServers" in block]
    configurations += [tomllib.loads(block)["mcp_servers"]["onebrain"] for block in blocks("toml")]
    assert len(configurations) == 4
    assert all((each["command"], each["args"]) == ("onebrain", ["mcp"]) for each in configurations)


def test_the_table_names_every_tool_and_only_tools() -> None:
    named = re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE)
    assert named == ["query", "why", "get", "multi_get", "status", "remember"]
    assert all(callable(getattr(Tools, name)) for name in named)


def test_the_shown_result_has_the_fields_of_a_result() -> None:
    shown = next(json.loads(block) for block in blocks("json") if "docid" in block)
    assert set(shown) == set(Result.model_fields)
    Result(**shown)


def test_the_skill_keeps_the_seeds_frontmatter() -> None:
    text = (ROOT / "skills" / "search" / "SKILL.md").read_text(encoding="utf-8")
    front = yaml.safe_load(text.split("---\n")[1])
    assert front["name"] == "search"
    assert front["auto-invoke"] == ["search vault", "find in vault", "why did"]
    assert (front["schedulable_with_args"], front["required_args"]) == (True, ["query"])
    for words in ("📌", "📚", "🕐", "🔴", "0.60", "0.30", "--all", 'onebrain search -- "<query>"'):
        assert words in text

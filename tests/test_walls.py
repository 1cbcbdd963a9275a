"""Import walls: an arrow only points down, and each foreign library is known to one module."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "onebrain"
BELOW = {
    "errors": set(),
    "disk": {"errors"},
    "config": {"errors", "disk"},
    "text": {"errors"},
    "vault": {"errors", "config", "text"},
    "models": {"errors", "disk", "text"},
    "index": {"errors", "disk", "config", "text", "vault", "models"},
    "search": {"errors", "config", "text", "vault", "models"},
    "memory": {"errors", "disk", "config", "text", "vault", "models", "search"},
    "render": {"errors", "config", "text", "vault", "search", "memory"},
    "brain": {"errors", "config", "text", "vault", "models", "index", "search", "memory"},
    "evaluate": {"errors", "config", "text", "vault", "search", "render", "brain"},
}
FACES = {"cli", "mcp", "web", "daemon", "__main__"}
ONLY = {
    "whoosh": {"index/lexical.py", "index/postings.py"},
    "chromadb": {"index/vectors.py"},
    "watchdog": {"daemon/watcher.py"},
    "markdown_it": {"web/"},
    "starlette": {"web/", "mcp.py"},
    "fastembed": {"models/"},
    "onnxruntime": {"models/"},
}


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


MODULES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_down(module: str) -> None:
    room = module.split("/")[0].removesuffix(".py")
    if room in FACES or room == "__init__":
        return
    used = {name.split(".")[1] for name in imports(ROOT / module) if name.startswith("onebrain.") and name.count(".")}
    assert used <= BELOW[room] | {room}, f"{module} reaches up or sideways: {sorted(used - BELOW[room] - {room})}"


@pytest.mark.parametrize("module", MODULES)
def test_foreign_libraries_stay_in_their_room(module: str) -> None:
    used = {name.split(".")[0] for name in imports(ROOT / module)}
    for library in used & ONLY.keys():
        at_home = any(module == place or (place.endswith("/") and module.startswith(place)) for place in ONLY[library])
        assert at_home, f"{library} in {module}"


def test_typer_belongs_to_the_command_line() -> None:
    assert [m for m in MODULES if "typer" in {n.split(".")[0] for n in imports(ROOT / m)} and not m.startswith("cli/")] == []

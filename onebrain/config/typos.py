"""Keys that look like one of ours misspelt. They are ignored like every unknown key; this only points them out."""

from __future__ import annotations

from difflib import get_close_matches
from functools import reduce
from pathlib import Path

from onebrain.config.section import Node, compose

_WRITER = ("writer", "url", "model", "api_key_env", "timeout_seconds")
_KNOWN = {
    "": ("vault", "search", "folders", "daemon", "schedule", "web", "regulated", "qmd_collection")
    + ("update_channel", "checkpoint", "recap", "notifications", "stats", "token_optimization"),  # the original's
    "search": ("collection", "embed_model", "embed_folder", "rerank_model", "default_top_k", "exclude", "date_order", "embed", "hyde")
    + ("synthesis", "chroma", "reranker"),
    "search.hyde": _WRITER,
    "search.synthesis": _WRITER,
    "folders": ("inbox", "projects", "areas", "knowledge", "resources", "agent", "archive", "logs", "import_inbox", "attachments"),
    "daemon": ("idle_minutes", "quiet_ms", "cap_ms", "rescan_minutes"),
    "web": ("port", "omnisearch"),
}


def likely_typos(file: Path) -> list[tuple[int, str, str]]:
    """(line, key as written, key that was probably meant) for each unknown key that is nearly a known one."""
    top: Node = compose(file)
    found = []
    for name, known in _KNOWN.items():
        section = reduce(_child, name.split(".") if name else (), top)
        for key, _ in section.value if section is not None and section.id == "mapping" else ():
            if key.id == "scalar" and key.value not in known and (near := get_close_matches(key.value, known, n=1, cutoff=0.8)):
                prefix = f"{name}." if name else ""
                found.append((key.start_mark.line + 1, prefix + key.value, prefix + near[0]))
    return sorted(found)


def _child(node: Node | None, name: str) -> Node | None:
    held = node.value if node is not None and node.id == "mapping" else ()
    return next((value for key, value in held if key.value == name), None)

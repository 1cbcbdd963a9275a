"""Memories as Markdown notes: read liberally from `[agent]/memory/`, written atomically, one note each.

What must stay true: a write touches the one note it is about, and of that note only the keys it means to change: comments, unknown keys,
their order and the body stay byte for byte. A note is replaced whole or not at all.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

_KEY = re.compile(r"^(?P<key>[A-Za-z_][\w-]*)\s*:")


def write_text(path: Path, text: str) -> None:
    """Replaces a file as one step; keeps its permissions. Text that came from odd bytes goes back as them."""
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".onebrain-", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8", errors="surrogateescape"))
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def with_keys(text: str, changes: Mapping[str, str]) -> str:
    """A note's text with frontmatter keys set to `changes`. A key that is missing joins at the end; a note without frontmatter gets one."""
    end = "\r\n" if "\r\n" in text.partition("\n")[0] + "\n" and text.startswith("---\r\n") else "\n"
    lines = text.split(end)
    close = next((at for at, line in enumerate(lines) if at and line.rstrip() in ("---", "...")), None)
    if lines[0].lstrip("\ufeff").rstrip() != "---" or close is None:
        head = [f"{key}: {value}" for key, value in changes.items()]
        return end.join(["---", *head, "---", "", *lines])
    todo = dict(changes)
    block: list[str] = []
    replaced = False
    for line in lines[1:close]:
        match = _KEY.match(line)
        if match and match["key"] in todo:
            block.append(f"{match['key']}: {todo.pop(match['key'])}{_comment(line)}")
            replaced = True
        elif replaced and (line[:1] in (" ", "\t") or line.startswith("- ")):
            continue  # the lines of the list or text that was replaced
        else:
            block.append(line)
            replaced = False
    block += [f"{key}: {value}" for key, value in todo.items()]
    return end.join([lines[0], *block, *lines[close:]])


def _comment(line: str) -> str:
    """A comment behind a plain value stays; one inside quotes is part of the value."""
    match = re.search(r"\s+#\s.*$", line)
    return match.group() if match and not re.search(r"[\"']", line[: match.start()]) else ""

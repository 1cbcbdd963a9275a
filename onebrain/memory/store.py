"""The text of a memory's note with some of its keys changed: comments, unknown keys, their order and the body stay byte for byte."""

from __future__ import annotations

import re
from collections.abc import Mapping

_KEY = re.compile(r"^(?P<key>[A-Za-z_][\w-]*)\s*:")


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

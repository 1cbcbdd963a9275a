"""The text of a memory's note with some of its keys changed: comments, unknown keys, their order and the body stay byte for byte."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from onebrain.errors import BadRequest
from onebrain.vault import frontmatter

_KEY = re.compile(r"^(?P<key>[A-Za-z_][\w-]*)\s*:")
_TOML_KEY = re.compile(r"""^[ \t]*["']?(?P<key>[A-Za-z_][\w-]*)["']?[ \t]*=""")
_TOML_COMMENT = re.compile(r"""=[ \t]*(?:"[^"]*"|'[^']*'|[^"'#]*?)(?P<comment>[ \t]+#.*)?$""")
_TOML_BARE = re.compile(r"-?\d+(?:\.\d+)?|\d{4}-\d\d-\d\d")


def with_keys(text: str, changes: Mapping[str, str]) -> str:
    """A note's text with frontmatter keys set to `changes`. A key that is missing joins at the end; a note without frontmatter gets one.

    Raises BadRequest where TOML is written so that a key can't be set without harm.
    """
    mark = text[: text.startswith("\ufeff")]
    end = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
    lines = text.removeprefix(mark).split(end)
    close = frontmatter.close_of(lines)
    if close is None:
        head = [f"{key}: {value}" for key, value in changes.items()]
        return mark + end.join(["---", *head, "---", "", *lines])
    block = _toml(lines[1:close], changes) if lines[0].startswith("+++") else _yaml(lines[1:close], changes)
    return mark + end.join([lines[0], *block, *lines[close:]])


def _yaml(lines: Sequence[str], changes: Mapping[str, str]) -> list[str]:
    todo = dict(changes)
    block: list[str] = []
    replaced = False
    for line in lines:
        match = _KEY.match(line)
        if match and match["key"] in todo:
            block.append(f"{match['key']}: {todo.pop(match['key'])}{_comment(line)}")
            replaced = True
        elif replaced and (line[:1] in (" ", "\t") or line.startswith("- ")):
            continue  # the lines of the list or text that was replaced
        else:
            block.append(line)
            replaced = False
    return block + [f"{key}: {value}" for key, value in todo.items()]


def _toml(lines: Sequence[str], changes: Mapping[str, str]) -> list[str]:
    """Keys stand above the first table, or they would be its own."""
    tables = next((at for at, line in enumerate(lines) if line.lstrip().startswith("[")), len(lines))
    todo = {key: value if _TOML_BARE.fullmatch(value) else json.dumps(value, ensure_ascii=False) for key, value in changes.items()}
    top: list[str] = []
    for line in lines[:tables]:
        match = _TOML_KEY.match(line)
        if match and match["key"] in todo:
            ended = _TOML_COMMENT.search(line)
            top.append(f"{match['key']} = {todo.pop(match['key'])}{(ended and ended['comment']) or ''}")
        else:
            top.append(line)
    at = max((number for number, line in enumerate(top, 1) if line.strip()), default=0)
    block = [*top[:at], *(f"{key} = {value}" for key, value in todo.items()), *top[at:], *lines[tables:]]
    before, after = (frontmatter.read("\n".join(["+++", *part, "+++"])) for part in (lines, block))
    if (after.problems and not before.problems) or any(after.values.get(key) != value for key, value in changes.items()):
        raise BadRequest(
            f"The frontmatter can't be changed without harm: it is TOML in which {', '.join(changes)} can't be set line by line.",
            hint="Write these keys by hand, each on a line of its own.",
        )
    return block


def _comment(line: str) -> str:
    """A comment behind a plain value stays; one inside quotes is part of the value."""
    match = re.search(r"\s+#\s.*$", line)
    return match.group() if match and not re.search(r"[\"']", line[: match.start()]) else ""

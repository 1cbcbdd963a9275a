"""The only writes to `onebrain.yml`: one value at a time, atomically, with comments, key order and line ends as they were."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

from onebrain.config.reading import FILE_NAME
from onebrain.config.section import compose, read_text
from onebrain.disk import replace_file
from onebrain.errors import BadConfig, ConfigProblem

COMMENTED = """\
# How onebrain reads this vault. Every line is optional; remove the `#` to change a value.

# search:
#   collection: my-notes            # name of the index; made from the directory's name otherwise
#   exclude: [attachments]          # a bare name: a directory at any depth; with a `/`: a path from here
#   default_top_k: 10               # hits of `onebrain search query`
#   date_order: dmy                 # how to read 05/02/2018 where a note itself doesn't tell: dmy, mdy or ymd
#   rerank_model: onebrain-compact  # or a folder with a cross-encoder, or off
#   hyde:
#     writer: auto                  # auto, off, endpoint, ollama or local
#     url: http://localhost:11434   # your own language model; nothing is sent anywhere unless this is set
#   synthesis:
#     url: http://localhost:11434   # it also words the answer, from the quotes alone; sends it the question and the quotes
#     model: llama3.2

# folders:                          # only if yours are named otherwise
#   inbox: 00-inbox
#   projects: 01-projects
#   areas: 02-areas
#   knowledge: 03-knowledge
#   resources: 04-resources
#   agent: 05-agent
#   archive: 06-archive
#   logs: 07-logs

# daemon:
#   idle_minutes: 5                 # models leave the memory after this

# schedule:                         # carried out by the daemon
#   - cron: "0 8 * * 1"
#     skill: /search
#     query: what did we decide last week?
"""


def write_commented(vault: Path) -> Path | None:
    """Write a commented `onebrain.yml` into `vault`. None, and nothing written, where there is one already."""
    file = vault / FILE_NAME
    if file.exists():
        return None
    _replace(file, COMMENTED)
    return file


def set_value(file: Path, dotted: str, value: str | int | float | bool | list[str]) -> None:
    """Set `search.collection` or any other dotted key, making sections and the file where they are missing.

    Raises BadConfig where the file is no YAML, or a part of the key is no section.
    """
    text = ""
    if file.exists():
        compose(file)  # says what is wrong, with lines, before anything is touched
        text = read_text(file)
    yaml = _round_trip(text)
    document = yaml.load(text)
    comments_alone = document is None
    if comments_alone:
        document = yaml.map()
    *parents, last = dotted.split(".")
    section = document
    for key in parents:
        if section.get(key) is None:
            section[key] = yaml.map()
        section = section[key]
        if not hasattr(section, "get"):
            raise BadConfig(str(file), (ConfigProblem(None, f"`{key}` is not a section, so `{dotted}` can't be set"),))
    section[last] = value
    out = io.StringIO()
    yaml.dump(document, out)
    _replace(file, (text + "\n" if text and comments_alone else "") + out.getvalue(), like=text)


def has_key(file: Path, key: str) -> bool:
    """Whether the file has this top-level key."""
    node = compose(file)
    return node is not None and any(name.value == key for name, _ in node.value)


def remove_key(file: Path, key: str) -> None:
    """Remove a top-level key that holds a scalar; the lines around it stay as they are. No such key: nothing happens."""
    node = compose(file)
    text = read_text(file)
    lines = text.splitlines(keepends=True)
    for name, value in node.value if node else ():
        if name.value == key and value.id == "scalar":
            del lines[name.start_mark.line : max(value.end_mark.line, name.start_mark.line) + 1]
            _replace(file, "".join(lines), like=text)
            return


def _round_trip(text: str) -> Any:
    """A ruamel.yaml reader and writer that lays lists out as `text` does."""
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 10_000  # never re-wrap what the user wrote
    step = next((len(m[1]) for m in re.finditer(r"^( +)[^\s#-]", text, re.MULTILINE)), 2)
    flush_lists = re.search(r"^( *)[^\s#][^\n]*:[ \t]*(?:#[^\n]*)?\n\1- ", text, re.MULTILINE)
    yaml.indent(mapping=step, sequence=2 if flush_lists else step + 2, offset=0 if flush_lists else step)
    return yaml


def _replace(file: Path, text: str, *, like: str = "") -> None:
    """Write the file, with the line ends of `like`."""
    if "\r\n" in like:
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    hint = "Make room or make it writable. The file is optional: --vault DIR or ONEBRAIN_VAULT names a vault without it."
    replace_file(file, text, hint=hint)

"""Writes docs/cli.md from the program's own `--help`, so that the page can't say what the program doesn't.

    python docs/write_cli.py

A test compares the page with what this makes.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

from onebrain.cli.app import GROUPS, run
from onebrain.cli.direct import direct
from onebrain.cli.terminal import Terminal

PAGE = Path(__file__).parent / "cli.md"
WIDTH = 100
HEAD = """# Command line

Every command and option, as `--help` tells them (made by `docs/write_cli.py`; don't edit).

Answers go to stdout, progress and notices to stderr. Exit codes: 0 done, also when nothing matched · 1 failed · 2 the command line
can't be used · 64 no vault · 65 the configuration can't be used · 77 another process owns the index and did not answer. With `--json`
every command prints one envelope, errors too: `{version, command, ok, vault, data, warnings, error}`.

A first word after `search` that is one of its commands is that command. `onebrain search -- status` or `onebrain search query status`
makes it a question again. Punctuation in a question (`C++`, `note: x`, a lone quote) is text, never syntax.

| variable | what it does |
|---|---|
| `ONEBRAIN_VAULT` | the vault, where neither `--vault` nor a nearby `onebrain.yml` names one |
| `ONEBRAIN_DATA_DIR` | where index and models are kept; else the platform's data directory |
| `ONEBRAIN_NO_DAEMON` | set to 1: never ask a running daemon |
| `ONEBRAIN_DEBUG` | set to 1: show the traceback of a fault of onebrain itself |
| `NO_COLOR` | no colour |
"""


def help_of(*words: str) -> str:
    out, err = io.StringIO(), io.StringIO()
    code = run(Terminal(argv=(*words, "--help"), env={}, cwd=Path("/"), out=out, err=err, brains=direct, width=WIDTH))
    if code:
        raise SystemExit(f"onebrain {' '.join(words)} --help ended with {code}: {err.getvalue()}")
    return out.getvalue().strip("\n")


def paths(*words: str) -> Iterator[tuple[str, ...]]:
    """Every command, groups before what is in them."""
    yield words
    for name in _inside(words):
        yield from paths(*words, name)


def _inside(words: tuple[str, ...]) -> list[str]:
    text = help_of(*words)
    if "\nCommands:\n" not in text:
        return []
    listed = text.split("\nCommands:\n")[1].splitlines()
    return [line.split()[0] for line in listed if line.startswith("  ") and line[2:3].strip()]


def page() -> str:
    parts = [HEAD]
    for words in [(), *(path for group in GROUPS for path in paths(group))]:
        name = " ".join(("onebrain", *words))
        parts.append(f"\n{'##' if len(words) < 2 else '###'} `{name}`\n\n```text\n{help_of(*words)}\n```\n")
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")

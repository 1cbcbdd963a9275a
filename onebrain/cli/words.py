"""Telling a question from its options. A question may be anything people type; only what is surely an option is one.

The rules, in order, for each argument:

    after `--`                      text
    `-`, `---`, or holds a blank    text (`- item`, `"--all of them"`), unless it is `--known=value`
    an option of ours               option, with its value
    `--other`                       option, which the parser then rejects by name
    `-other` after a word           text: an excluded word (`kafka -redis`)
    `-other` as first word          option, which the parser then rejects by name
    anything else                   text
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spellings:
    """All spellings of a command's options, by whether a value follows."""

    flags: frozenset[str]
    valued: frozenset[str]


@dataclass(frozen=True, slots=True)
class Sorted:
    """`words` stood before `--`, `quoted` after it; `first` is the place of the first word among the arguments."""

    options: tuple[str, ...]
    words: tuple[str, ...]
    quoted: tuple[str, ...]
    first: int | None


def sort(arguments: Sequence[str], known: Spellings) -> Sorted:
    options: list[str] = []
    words: list[str] = []
    first: int | None = None
    at = 0
    while at < len(arguments):
        argument = arguments[at]
        if argument == "--":
            return Sorted(tuple(options), tuple(words), tuple(arguments[at + 1 :]), first)
        if _is_option(argument, known, bool(words)):
            taken = 2 if argument in known.valued else 1
            options += arguments[at : at + taken]
            at += taken
        else:
            first = at if first is None else first
            words.append(argument)
            at += 1
    return Sorted(tuple(options), tuple(words), (), first)


def _is_option(argument: str, known: Spellings, after_word: bool) -> bool:
    name = argument.partition("=")[0]
    if argument in known.flags or argument in known.valued or (name in known.valued and "=" in argument):
        return True
    if not argument.startswith("-") or not argument.strip("-") or re.search(r"\s", argument):
        return False
    if argument[:2] in known.valued:  # -n5
        return True
    return argument.startswith("--") or not after_word


def take_value(arguments: Sequence[str], name: str) -> tuple[list[str], str | None]:
    """`arguments` without `name VALUE` or `name=VALUE` (the last counts), looked for before `--`; and the value."""
    rest: list[str] = []
    value: str | None = None
    at = 0
    while at < len(arguments):
        argument = arguments[at]
        if argument == "--":
            break
        if argument == name and at + 1 < len(arguments):
            value = arguments[at + 1]
            at += 2
        elif argument.startswith(f"{name}="):
            value = argument[len(name) + 1 :]
            at += 1
        else:
            rest.append(argument)
            at += 1
    return [*rest, *arguments[at:]], value

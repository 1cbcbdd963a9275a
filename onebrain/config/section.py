"""YAML as sections that know their lines, so that one reading finds every fault of a file and says where it stands."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from onebrain.errors import BadConfig, ConfigProblem

Node: TypeAlias = Any
"""A yaml.nodes.Node; its stubs don't know `id`, which tells scalar, sequence and mapping apart."""

_Default = TypeVar("_Default")


def compose(file: Path) -> Node | None:
    """The file's mapping as YAML nodes. None for an empty file; BadConfig for what is no YAML or no mapping."""
    import yaml

    raw = read_text(file)
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        node: Node = yaml.compose(raw, Loader=loader)
    except yaml.YAMLError as error:
        raise BadConfig(str(file), _syntax_problems(raw, error)) from error
    if node is None or node.tag.endswith(":null"):
        return None
    if node.id != "mapping":
        raise BadConfig(str(file), (ConfigProblem(node.start_mark.line + 1, "the file must hold `key: value` lines"),))
    return node


def read_text(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise BadConfig(str(file), (ConfigProblem(line, "this is not UTF-8 text; save the file as UTF-8"),)) from error
    except OSError as error:
        raise BadConfig(str(file), (ConfigProblem(None, f"it can't be read ({error.strerror})"),)) from error


def _syntax_problems(raw: str, error: Exception) -> tuple[ConfigProblem, ...]:
    """YAML stops at its first syntax error; tabs, its most frequent cause, are listed wherever they stand."""
    mark = getattr(error, "problem_mark", None)
    what = getattr(error, "problem", None) or str(error).splitlines()[0]
    first = ConfigProblem(mark.line + 1 if mark else None, f"not valid YAML: {what}")
    tabs = [n for n, line in enumerate(raw.splitlines(), 1) if re.match(r" *\t", line)]
    return (*(() if first.line in tabs else (first,)), *(ConfigProblem(n, "a tab stands where YAML wants spaces") for n in tabs))


class Section:
    """One mapping of the file. Every getter gives the default for an absent or empty key, and for a wrong value after
    noting the fault."""

    def __init__(self, node: Node | None, name: str, problems: list[ConfigProblem]) -> None:
        self._node = node
        self._name = name
        self._problems = problems
        self._values: dict[str, Node] = {}
        for key, value in node.value if node else ():
            if key.id != "scalar":
                continue
            if key.value in self._values:
                self._note(key, f"`{self._dotted(key.value)}` is given twice")
            self._values[key.value] = value

    def kind(self, key: str) -> str | None:
        """`scalar`, `sequence` or `mapping`; None for an absent or empty key."""
        node = self._values.get(key)
        return None if node is None or node.tag.endswith(":null") else str(node.id)

    def has(self, key: str) -> bool:
        return self.kind(key) is not None

    def fault(self, key: str | None, message: str) -> None:
        """Note what is wrong with the value of `key`, or with the section as a whole."""
        self._note(self._values.get(key) if key else self._node, message)

    def section(self, key: str) -> Section:
        fits = self._is(key, "mapping", "a section")
        return Section(self._values[key] if fits else None, self._dotted(key), self._problems)

    def items(self, key: str) -> list[Section]:
        """The sections of a list; entries that are no sections are faults."""
        if not self._is(key, "sequence", "a list of sections"):
            return []
        entries: list[Node] = self._values[key].value
        for entry in entries:
            if entry.id != "mapping":
                self._note(entry, f"every entry of `{self._dotted(key)}` must be a section")
        return [Section(entry, f"{self._dotted(key)}[{n}]", self._problems) for n, entry in enumerate(entries) if entry.id == "mapping"]

    def text(self, key: str, default: str) -> str:
        """Numbers and dates stay as typed: a folder may be called `2024`. A bare `yes` or `off` is no text: in quotes it is."""
        if self._tagged(key, "bool"):
            return self._wrong(key, "text", default)
        return str(self._values[key].value) if self._is(key, "scalar", "text") else default

    def optional(self, key: str) -> str | None:
        return self.text(key, "") or None

    def switchable(self, key: str, default: str) -> str:
        """Text, where YAML's own `off`, `no` and `false` all mean `off`."""
        if self._tagged(key, "bool") and self._values[key].value.lower() in ("off", "no", "false", "n"):
            return "off"
        return self.text(key, default)

    def choice(self, key: str, default: str, allowed: tuple[str, ...]) -> str:
        value = self.switchable(key, default)
        return value if value == default or value in allowed else self._wrong(key, f"one of {', '.join(allowed)}", default)

    def flag(self, key: str, default: bool) -> bool:
        if not self._is(key, "scalar", "true or false"):
            return default
        if not self._tagged(key, "bool"):
            return self._wrong(key, "true or false", default)
        return self._values[key].value.lower() in ("true", "yes", "on", "y")

    def number(self, key: str, default: float, *, least: float = 0.0) -> float:
        if not self._is(key, "scalar", "a number"):
            return default
        try:
            value = float(self._values[key].value)
        except ValueError:
            value = math.nan
        return value if math.isfinite(value) and value >= least else self._wrong(key, f"a number of at least {least:g}", default)

    def whole(self, key: str, default: int, *, least: int = 0, most: int | None = None) -> int:
        if not self._is(key, "scalar", "a whole number"):
            return default
        text = self._values[key].value
        value = int(text) if re.fullmatch(r"\d{1,9}", text) else -1
        if value < least or (most is not None and value > most):
            reach = f"of at least {least}" if most is None else f"from {least} to {most}"
            return self._wrong(key, f"a whole number {reach}", default)
        return value

    def texts(self, key: str, default: tuple[str, ...]) -> tuple[str, ...]:
        """A list of texts; one text alone is a list of one. An empty list is an answer, not an absence."""
        if self.kind(key) == "scalar":
            if any(self._tagged(key, tag) for tag in ("bool", "int", "float")):
                return self._wrong(key, "a list of texts", default)
            return (self.text(key, ""),)
        if not self._is(key, "sequence", "a list of texts"):
            return default
        entries: list[Node] = self._values[key].value
        for entry in entries:
            if entry.id != "scalar" or entry.tag.endswith(":bool"):
                self._note(entry, f"every entry of `{self._dotted(key)}` must be text; put it in quotes if it is a name")
                return default
        return tuple(str(entry.value) for entry in entries if entry.value)

    def _is(self, key: str, kind: str, wanted: str) -> bool:
        if self.kind(key) not in (None, kind):
            self._wrong(key, wanted, None)
        return self.kind(key) == kind

    def _tagged(self, key: str, tag: str) -> bool:
        return key in self._values and str(self._values[key].tag).endswith(f":{tag}")

    def _wrong(self, key: str, wanted: str, default: _Default) -> _Default:
        node = self._values[key]
        got = {"scalar": repr(node.value), "sequence": "a list"}.get(node.id, "a section")
        self._note(node, f"`{self._dotted(key)}` must be {wanted}, not {got}")
        return default

    def _dotted(self, key: str) -> str:
        return f"{self._name}.{key}" if self._name else key

    def _note(self, node: Node | None, message: str) -> None:
        self._problems.append(ConfigProblem(node.start_mark.line + 1 if node else None, message))

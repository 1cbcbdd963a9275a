"""The YAML block at the top of a note, read the way its author meant it.

What must stay true: a broken block never costs the note its body, nor one broken key the others; values stay the text that was
typed (no dates, no `12:30` → 750, no `no` → false); a hostile block (alias bomb, endless nesting) costs no time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import yaml

from onebrain.vault.note import Value

MAX_CHARS = 256 * 1024
MAX_VALUES = 10_000
MAX_DEPTH = 20

_Loader: type[yaml.BaseLoader] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_KEY = re.compile(r"""^(?:"(?P<q>[^"\n]+)"|'(?P<s>[^'\n]+)'|(?P<k>[^\s#:\-{\[&*!|>%@`"'][^:\n]*?))\s*:(?:[ \t]|$)""")
_CLOSE = re.compile(r"^(?:---|\.\.\.)[ \t]*$")
_BROKEN = (yaml.YAMLError, ValueError, TypeError, RecursionError)


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """`values` by key as typed; `lines` the 1-based line of each key; the body begins on line `body_line` (1 without frontmatter)."""

    values: Mapping[str, Value] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    body_line: int = 1
    problems: tuple[str, ...] = ()
    keys: Mapping[str, str] = field(default_factory=dict)  # `normal(key)` → key

    def find(self, *names: str) -> tuple[Value, int | None]:
        """The first of `names` that has a value, and its line. Case, `-`, `_` and spaces in a key make no difference."""
        for name in names if self.keys else ():
            key = self.keys.get(normal(name))
            if key is not None and self.values[key] not in (None, "", []):
                return self.values[key], self.lines.get(key)
        return None, None


def read(text: str) -> Frontmatter:
    """The frontmatter of a note whose line ends are `\\n`. Only a block that opens on the first line and is closed counts."""
    if not text.startswith("---"):
        return Frontmatter()
    first, _, rest = text.partition("\n")
    if first.rstrip() != "---":
        return Frontmatter()
    lines: list[str] = []
    for line in _lines(rest):
        if _CLOSE.match(line):
            return _parse(lines)
        lines.append(line)
    return Frontmatter()


@lru_cache(1024)
def normal(key: str) -> str:
    return re.sub(r"[-_\s]+", "", key).casefold()


def texts(value: Value) -> list[str]:
    """Every piece of text in a value, in order; a mapping gives its values."""
    if isinstance(value, str):
        return [value] if value.strip() else []
    items: list[Value] = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for item in items for text in texts(item)]


def text_of(value: Value) -> str | None:
    """A value as one line of text, or None if it holds none."""
    return " ".join(", ".join(texts(value)).split()) or None


def _lines(text: str) -> Iterator[str]:
    start = 0
    while start <= len(text):
        end = text.find("\n", start)
        if end < 0:
            yield text[start:]
            return
        yield text[start:end]
        start = end + 1


def _parse(lines: list[str]) -> Frontmatter:
    body_line = len(lines) + 3
    chunks = list(_chunks(lines))
    where = {key: line + 2 for key, line, _ in chunks}
    source = "\n".join(lines)
    problem: str | None = None
    values: dict[str, Value] | None = None
    if len(source) > MAX_CHARS:
        problem = f"the frontmatter is longer than {MAX_CHARS // 1024} KB; only its simple keys were read"
    else:
        try:
            values = _load(source)
        except _BROKEN as error:
            problem = _explain(error)
    if values is None:
        values = {key: _salvage(block, key) for key, _, block in chunks[:MAX_VALUES]}
    for key, _, block in chunks:  # `tags: #a #b` is a YAML comment; its author meant tags
        if values.get(key) is None and (match := re.match(r"[^:]*:\s*(#[^\s#].*)", block[0])):
            values[key] = match[1]
    return Frontmatter(values, where, body_line, (problem,) if problem else (), {normal(key): key for key in values})


def _load(source: str) -> dict[str, Value]:
    loaded = yaml.load(source, Loader=_Loader)  # the base loader builds only text, lists and mappings
    if not isinstance(loaded, dict):
        if loaded in (None, ""):
            return {}
        raise ValueError("it is not a list of `key: value` lines")
    budget = [MAX_VALUES]
    return {str(key): _coerce(value, budget, 0) for key, value in loaded.items()}


def _coerce(value: object, budget: list[int], depth: int) -> Value:
    budget[0] -= 1
    if budget[0] < 0 or depth > MAX_DEPTH:
        raise ValueError("it nests or repeats too much")
    if isinstance(value, dict):
        return {str(key): _coerce(item, budget, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        items = [_coerce(item, budget, depth + 1) for item in value]
        if len(items) == 1 and isinstance(items[0], list) and items[0] and all(isinstance(item, str) for item in items[0]):
            return f"[[{', '.join(texts(items[0]))}]]"  # an unquoted wikilink is a list in a list to YAML
        return items
    return None if value in (None, "", "~", "null") else str(value)


def _chunks(lines: list[str]) -> Iterator[tuple[str, int, list[str]]]:
    """Each top-level key with its 0-based line and its lines."""
    key, start = None, 0
    for number, line in enumerate(lines):
        if match := _KEY.match(line):
            if key is not None:
                yield key, start, lines[start:number]
            key, start = (match["q"] or match["s"] or match["k"]).strip(), number
    if key is not None:
        yield key, start, lines[start:]


def _salvage(block: list[str], key: str) -> Value:
    """One key of a block that is not YAML as a whole: by itself if it can be, else its bare text."""
    if sum(map(len, block)) < MAX_CHARS:
        for candidate in (block, [line.expandtabs(2) for line in block]):
            try:
                return _load("\n".join(candidate)).get(key)
            except _BROKEN:
                continue
    first = block[0].partition(":")[2].strip()
    more = [line.strip() for line in block[1:] if line.strip() and not line.lstrip().startswith("#")]
    if not more:
        return first.strip("\"'") or None
    items: list[Value] = [item.removeprefix("- ").strip("\"' ") for item in more]
    return items if not first and all(item.startswith("-") for item in more) else " ".join([first, *more]).strip()


def _explain(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    detail = getattr(error, "problem", None) or str(error) or type(error).__name__
    return f"frontmatter line {mark.line + 2}: {detail}" if mark is not None else f"frontmatter: {detail}"

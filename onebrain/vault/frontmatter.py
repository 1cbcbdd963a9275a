"""The YAML (`---`) or TOML (`+++`, Hugo and Zola) block at the top of a note, read the way its author meant it.

What must stay true: a broken block never costs the note its body, nor one broken key the others; values stay the text that was
typed (no dates, no `12:30` → 750, no `no` → false); a hostile block (alias bomb, endless nesting) costs no time.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time
from functools import lru_cache

import yaml

from onebrain.vault.note import Value

MAX_CHARS = 256 * 1024
MAX_VALUES = 10_000
MAX_DEPTH = 20

_Loader: type[yaml.BaseLoader] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_KEY = re.compile(r"""^(?:"(?P<q>[^"\n]+)"|'(?P<s>[^'\n]+)'|(?P<k>[^\s#:\-{\[&*!|>%@`"'][^:\n]*?))\s*:(?:[ \t]|$)""")
_TOML_KEY = re.compile(r"""^[ \t]*(?:"(?P<q>[^"\n]+)"|'(?P<s>[^'\n]+)'|(?P<k>[\w-]+))(?:\.[\w.\-"']+)?[ \t]*=""")
_TOML_TABLE = re.compile(r"""^[ \t]*\[{1,2}[ \t]*(?P<path>[\w"'-]+(?:\.[\w.\-"']+)?)[ \t]*\]{1,2}[ \t]*(?:#.*)?$""")
_DOTTED = re.compile(rf"""(?<![\w"'-])(?:[\w"'-]++[ \t]*+\.[ \t]*+){{{MAX_DEPTH}}}""")
_ITEM = re.compile(r"^\s*-\s+")
_BROKEN = (yaml.YAMLError, ValueError, TypeError, RecursionError)  # tomllib's error is a ValueError
_TABLES = ("taxonomies", "extra", "params")  # where Zola and Hugo keep what others write at the top level


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
    dialect = _DIALECTS.get(text[:3])
    if dialect is None:
        return Frontmatter()
    first, _, rest = text.partition("\n")
    if first.rstrip() != text[:3]:
        return Frontmatter()
    lines: list[str] = []
    for line in _lines(rest):
        if line.rstrip(" \t") in dialect.close:
            return _parse(lines, dialect)
        lines.append(line)
    return Frontmatter()


def close_of(lines: Sequence[str]) -> int | None:
    """The line from 0 that closes the block opened on `lines[0]`; None where none is opened there, or it isn't closed."""
    dialect = _DIALECTS.get(lines[0].lstrip("\ufeff").rstrip()) if lines else None
    ends = dialect.close if dialect else ()
    return next((at for at, line in enumerate(lines) if at and line.rstrip() in ends), None)


def entries(text: str) -> list[tuple[int, str, str]]:
    """(line from 0, key, its values with commas between) of each key of a block, or of a part of one, that has a value."""
    toml = is_toml(text)
    pattern = _TOML_KEY if toml else _KEY
    found: list[tuple[int, str, list[str]]] = []
    for number, line in enumerate(text.split("\n")):
        if match := pattern.match(line):
            value = _bare(line[match.end() :])
            found.append((number, _name(match), [value] if value else []))
        elif found and not (toml and _TOML_TABLE.match(line)) and (value := _bare(line)):
            found[-1][2].append(value)
    return [(number, key, ", ".join(values)) for number, key, values in found if values]


def is_toml(block: str) -> bool:
    """Whether the lines of a block are TOML: its first entry says it."""
    for line in block.split("\n"):
        if _TOML_KEY.match(line) or _TOML_TABLE.match(line):
            return True
        if _KEY.match(line):
            return False
    return False


def begins(block: str) -> bool:
    """Whether a text begins with a key, as the lines of a block do."""
    return bool(_KEY.match(block) or _TOML_KEY.match(block) or _TOML_TABLE.match(block.partition("\n")[0]))


def _bare(written: str) -> str:
    return re.sub(r"""["'](\s*,\s*)["']""", r"\1", written).strip(" \t-\"'[],")


def _name(match: re.Match[str]) -> str:
    return str(match["q"] or match["s"] or match["k"]).strip()


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


def _parse(lines: list[str], dialect: _Dialect) -> Frontmatter:
    body_line = len(lines) + 3
    chunks = list(dialect.chunks(lines))
    where = {key: line + 2 for key, line, _ in chunks}
    source = "\n".join(lines)
    problem: str | None = None
    values: dict[str, Value] | None = None
    if len(source) > MAX_CHARS:
        problem = f"the frontmatter is longer than {MAX_CHARS // 1024} KB; only its simple keys were read"
    else:
        try:
            values = dialect.load(source)
        except _BROKEN as error:
            problem = _explain(error)
    if values is None:
        values = {key: _salvage(block, key, dialect) for key, _, block in chunks[:MAX_VALUES]}
    if problem and not values:  # not one key: text between two rules, which is the note's
        return Frontmatter(problems=(problem,))
    for key, _, block in chunks if dialect is _YAML else ():  # `tags: #a #b` is a YAML comment; its author meant tags
        if values.get(key) is None and (match := re.match(r"[^:]*:\s*(#[^\s#].*)", block[0])):
            values[key] = match[1]
    for table in _TABLES:
        if isinstance(inner := values.get(table), dict):
            del values[table]
            values = {**inner, **values}
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
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, date | time):
        return value.isoformat()
    return None if value in (None, "", "~", "null") else str(value)


def _load_toml(source: str) -> dict[str, Value]:
    if _DOTTED.search(source):  # costs tomllib the square of its length
        raise ValueError("it nests or repeats too much")
    budget = [MAX_VALUES]
    loaded = tomllib.loads(f"{source}\n", parse_float=str)
    return {key: _coerce(value, budget, 0) for key, value in loaded.items()}


def _chunks(lines: list[str]) -> Iterator[tuple[str, int, list[str]]]:
    """Each top-level key with its 0-based line and its lines."""
    key, start = None, 0
    for number, line in enumerate(lines):
        if match := _KEY.match(line):
            if key is not None:
                yield key, start, lines[start:number]
            key, start = _name(match), number
    if key is not None:
        yield key, start, lines[start:]


def _toml_chunks(lines: list[str]) -> Iterator[tuple[str, int, list[str]]]:
    """The same of TOML. The keys of a table that stands for the top level are keys; any other table is one."""
    starts: list[tuple[str, int]] = []
    within = ""  # the table whose keys are not top-level ones
    for number, line in enumerate(lines):
        if match := _TOML_TABLE.match(line):
            names = [name.strip("\"'") for name in match["path"].split(".")]
            within = "".join(names[1:2] if names[0] in _TABLES else names[:1])
            starts.append((within, number))
        elif not within and (match := _TOML_KEY.match(line)):
            starts.append((_name(match), number))
    for at, (key, start) in enumerate(starts):
        if key:
            yield key, start, lines[start : starts[at + 1][1] if at + 1 < len(starts) else len(lines)]


def _salvage(block: list[str], key: str, dialect: _Dialect) -> Value:
    """One key of a block that is broken as a whole: by itself if it can be, else its bare text."""
    if sum(map(len, block)) < MAX_CHARS:
        for candidate in (block, [line.expandtabs(2) for line in block]):
            try:
                return dialect.load("\n".join(candidate)).get(key)
            except _BROKEN:
                continue
    first = block[0].partition(dialect.sign)[2].strip()
    more = [line.strip() for line in block[1:] if line.strip() and not line.lstrip().startswith("#")]
    if not more:
        return first.strip("\"'") or None
    items: list[Value] = [_ITEM.sub("", item).strip("\"' ") for item in more]
    return items if not first and all(item.startswith("-") for item in more) else " ".join([first, *more]).strip()


def _explain(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    detail = getattr(error, "problem", None) or str(error) or type(error).__name__
    if mark is not None:
        return f"frontmatter line {mark.line + 2}: {detail}"
    if match := re.search(r" \(at line (\d+), column \d+\)$", detail):  # TOML
        return f"frontmatter line {int(match[1]) + 1}: {detail[: match.start()]}"
    return f"frontmatter: {detail}"


@dataclass(frozen=True, slots=True)
class _Dialect:
    """How a block is closed, read as a whole, and cut into its keys; `sign` stands between a key and its value."""

    close: tuple[str, ...]
    load: Callable[[str], dict[str, Value]]
    chunks: Callable[[list[str]], Iterator[tuple[str, int, list[str]]]]
    sign: str


_YAML = _Dialect(("---", "..."), _load, _chunks, ":")
_DIALECTS = {"---": _YAML, "+++": _Dialect(("+++",), _load_toml, _toml_chunks, "=")}

"""Ask labelled questions and write down whole reports, one JSON line each, so that judging them is a separate, repeatable step.

A run that was stopped goes on where it stopped: questions whose line is complete in the file are not asked again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, TypeAlias

from onebrain.config import Config
from onebrain.errors import BadRequest, OneBrainError
from onebrain.render.json import dumps, report_data
from onebrain.search.question import Request
from onebrain.search.report import Report

Question: TypeAlias = Mapping[str, Any]
"""A labelled question as its file has it; `id`, `corpus`, `query` are read here, the rest by `score`."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How a run went. `failed` holds the id and the reason of each question that ended in an error."""

    asked: int
    kept: int
    failed: tuple[tuple[str, str], ...]


def read_lines(file: Path) -> list[dict[str, Any]]:
    """The JSON objects of a JSONL file. BadRequest names file and line of what is none."""
    found = []
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest(f"{file} can't be read: {getattr(error, 'strerror', None) or error}.") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError as error:
            raise BadRequest(f"{file}:{number} is no JSON: {error}.") from error
        if not isinstance(value, dict) or not isinstance(value.get("id"), str):
            raise BadRequest(f"{file}:{number} is no record: it needs an `id`.")
        found.append(value)
    return found


def of_corpus(questions: Sequence[dict[str, Any]], corpora: Sequence[str], vault: str) -> list[dict[str, Any]]:
    """The questions to ask of one vault: those of `corpora`; of the corpus named as the vault's directory is; or else all of them."""
    present = {str(question.get("corpus", "")) for question in questions}
    wanted = set(corpora) or {vault} & present or present
    if wanted - present:
        raise BadRequest(
            f"No questions for {', '.join(sorted(wanted - present))}; they are about: {', '.join(sorted(present))}.",
            hint="Name the corpus that the vault holds with --corpus.",
        )
    return [question for question in questions if question.get("corpus", "") in wanted]


def run(
    questions: Sequence[Question],
    ask: Callable[[Request], Report],
    out: Path,
    *,
    config: Config,
    now: date,
    clock: Callable[[], float],
    progress: Callable[[str, int, int], None],
    explain: bool = False,
    write_hyde: bool = False,
    rerank: bool = True,
) -> Counts:
    """Ask each question with `--all` semantics and append `{id, ms, report}` to `out`. `clock` gives seconds.

    Hypothetical passages are left out unless asked for: they take seconds each, and a time limit makes them differ from run to run.
    """
    done = _repair(out)
    failed = []
    asked = 0
    with out.open("a", encoding="utf-8") as lines:
        for number, question in enumerate(questions):
            progress("questions", number, len(questions))
            if question["id"] in done:
                continue
            started = clock()
            try:
                report = ask(Request(text=str(question["query"]), now=now, everything=True, write_hyde=write_hyde, rerank=rerank))
            except OneBrainError as error:
                failed.append((str(question["id"]), error.message))
                continue
            ms = round((clock() - started) * 1000, 3)
            lines.write(dumps({"id": question["id"], "ms": ms, "report": report_data(report, config, explain=explain)}) + "\n")
            lines.flush()
            asked += 1
    progress("questions", len(questions), len(questions))
    return Counts(asked, len([question for question in questions if question["id"] in done]), tuple(failed))


def _repair(out: Path) -> set[str]:
    """Ids already in `out`, after cutting off a last line that a stopped run left half written."""
    if not out.exists():
        return set()
    raw = out.read_bytes()
    whole = raw[: raw.rfind(b"\n") + 1]
    if len(whole) != len(raw):
        out.write_bytes(whole)
    return {record["id"] for record in read_lines(out)}


def by_id(records: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {record["id"]: record for record in records}

"""Command lines over a real vault and a real index, without models: words decide, so every score is the same everywhere."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from onebrain.cli.app import run
from onebrain.cli.direct import direct
from onebrain.cli.terminal import Terminal

TODAY = date(2026, 7, 15)


@dataclass
class Result:
    code: int
    out: str
    err: str


@dataclass
class Shell:
    """Runs command lines in `cwd`. `today` is the only clock."""

    cwd: Path
    env: dict[str, str] = field(default_factory=dict)
    today: date = TODAY
    stdin: str = ""

    def __call__(self, *argv: str) -> Result:
        out, err = io.StringIO(), io.StringIO()
        terminal = Terminal(
            argv=argv, env=self.env, cwd=self.cwd, out=out, err=err, brains=direct, today=lambda: self.today, read_stdin=lambda: self.stdin
        )
        return Result(run(terminal), out.getvalue(), err.getvalue())

    def note(self, name: str, text: str) -> Path:
        path = self.cwd / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def text(self, name: str) -> str:
        return (self.cwd / name).read_text(encoding="utf-8")

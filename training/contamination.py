"""Whether evaluation text is in the training data.

A passage is a hit when it repeats runs of eight words (24 characters where words are not spaced) of an evaluation note. Sections that
do are dropped when the data is made; this check then fails the run if a group still holds any.
"""

import re
from collections.abc import Iterator
from pathlib import Path

RUN, LETTERS, ENOUGH = 8, 24, 3
NOT_TEXT = ("SOURCE.md", "LICENSE.md")
UNSPACED_TEXT = re.compile(r"[\u0e00-\u0e7f\u3040-\u9fff]")


def _runs(text: str) -> Iterator[int]:
    words = re.findall(r"\w+", text.lower())
    for i in range(len(words) - RUN + 1):
        yield hash(" ".join(words[i : i + RUN]))
    letters = "".join(words)
    if UNSPACED_TEXT.search(letters):
        for i in range(len(letters) - LETTERS + 1):
            yield hash(letters[i : i + LETTERS])


class EvaluationText:
    """The runs of all notes under a folder, and the titles of its command pages."""

    def __init__(self, folder: Path) -> None:
        self._runs: set[int] = set()
        self.commands: set[str] = set()
        notes = [p for p in folder.rglob("*.md") if p.name not in NOT_TEXT]
        if not notes:
            raise FileNotFoundError(f"no evaluation notes under {folder}")
        for note in notes:
            self._runs.update(_runs(note.read_text(encoding="utf-8", errors="ignore")))
            if "tldr" in note.relative_to(folder).parts:
                self.commands.add(note.stem.lower())

    def repeats(self, text: str) -> int:
        """How many runs of the text are in an evaluation note."""
        return sum(run in self._runs for run in _runs(text))

    def holds(self, text: str) -> bool:
        return self.repeats(text) >= ENOUGH

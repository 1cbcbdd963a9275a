"""A record is found by its number, and what holds an identifier is never hidden."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date
from pathlib import Path

import pytest
from memory_library import MemoryLibrary

from onebrain.models.twins import HashEmbedder
from onebrain.search.grep import Line, Needle, needles
from onebrain.search.numbered import numbers_of
from onebrain.search.question import Request
from onebrain.search.reading import read
from onebrain.search.report import Band, Report, Verdict
from onebrain.search.searcher import Models, Searcher

HASH = "5b0ca878e008e82f91300091e793427205ce3544"
YAML = "docs/decisions/0013-use-yaml-front-matter.md"
NOTES = {
    YAML: "# Use YAML front matter\n\n## Context\n\nWhere do fields go?\n\n## Decision Outcome\n\nThe head of the file.\n",
    "docs/decisions/0008-status.md": "# Add a status\n\n## Context\n\nSee ADR-0013.\n\n## Decision Outcome\n\nA field.\n",
    "peps/pep-0008.md": "# PEP 8 – Style Guide\n\nPEP: 8\n\n## Decision\n\nFour spaces.\n",
    "rfcs/0042-queues.md": "# Queues\n\n## Decision\n\nOne queue a team.\n\n## Context\n\nMany queues.\n",
    "issues/123.md": "# The door sticks\n\nOil it.\n",
    "log.md": f"# Log\n\nA change: https://example.org/some/very/long/place/of/a/repository/commit/{HASH}\n\nFixes #771.\n",
    "releases.md": "# Releases\n\n## v3.2.0\n\nFaster.\n\n## v12.0\n\nSlower.\n",
    "lists/top.md": "# Top 10 albums\n\nLoud ones.\n",
    "daily/2024-03-01.md": "# 3. March\n\nRain.\n",
}


class Files:
    def lines(self, needles: Sequence[Needle], allowed: Collection[str] | None, limit: int) -> list[Line]:
        lines = [Line(path, at, line) for path, text in sorted(NOTES.items()) for at, line in enumerate(text.split("\n"), 1)]
        return [line for needle in needles for line in lines if needle.pattern.search(line.text)]

    def unindexed(self) -> Collection[str]:
        return ()


@pytest.fixture
def library(tmp_path: Path) -> MemoryLibrary:
    return MemoryLibrary(tmp_path, NOTES)


def ask(library: MemoryLibrary, text: str) -> Report:
    return Searcher(library, Models(HashEmbedder()), grep=Files()).ask(Request(text, date(2026, 10, 1)))


@pytest.mark.parametrize(
    ("text", "path"),
    [
        *((text, YAML) for text in ("ADR-0013", "ADR 13", "adr-13", "adr0013", "ADR-013", "0013", "decision 13", "what is ADR 13?")),
        *((text, "peps/pep-0008.md") for text in ("PEP 8", "pep8", "PEP-0008", "pep 0008")),
        *((text, "rfcs/0042-queues.md") for text in ("RFC 42", "rfc-0042", "rfc42")),
        *((text, "issues/123.md") for text in ("issue #123", "issue 123", "#123")),
        *((text, "releases.md") for text in ("v3.2.0", "3.2.0")),
        (HASH, "log.md"),
        ("5b0ca878e", "log.md"),
        ("#771", "log.md"),
    ],
)
def test_whoever_names_a_record_gets_it_first_and_for_sure(library: MemoryLibrary, text: str, path: str) -> None:
    report = ask(library, text)
    assert (report.hits[0].doc_path, report.hits[0].band, report.verdict) == (path, Band.CONFIDENT, Verdict.CONFIDENT)


def test_a_record_named_in_a_longer_question_is_among_the_sources(library: MemoryLibrary) -> None:
    assert YAML in [hit.doc_path for hit in ask(library, "what does ADR-13 say").sources]


@pytest.mark.parametrize("text", ["2.0", "ADR-99", "ADR 3", "5b0ca878f", "#77"])
def test_a_name_that_no_note_holds_is_not_found_inside_another(library: MemoryLibrary, text: str) -> None:
    assert ask(library, text).verdict is not Verdict.CONFIDENT


def test_numbers_of_other_notes_are_no_records(library: MemoryLibrary) -> None:
    found = {path: numbers_of(note) for path, note in library.notes().items()}
    assert found["lists/top.md"] == found["daily/2024-03-01.md"] == found["releases.md"] == set()
    assert "rfc-42" in found["rfcs/0042-queues.md"] and "adr-42" not in found["rfcs/0042-queues.md"]


def test_the_floor_looks_for_whole_numbers() -> None:
    (needle,) = needles(read(Request("release 2.0", date(2026, 10, 1))))[:1]
    assert needle.pattern.search("Release 2.0.") and not needle.pattern.search("release 2.05") and needle.part == "release 2.0"

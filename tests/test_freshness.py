"""Nothing an answer shows outlives its note: whatever went or changed since it was indexed is read again or left out, in every part.

The index is asked by its owner while the writer is at work elsewhere, and by a reader beside the owner; the vault changes between
indexing and asking, while a question is answered, and while a model words the answer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import pytest

from onebrain.brain import Access, Brain
from onebrain.config import Config, load
from onebrain.errors import NoteUnreadable
from onebrain.search.question import Request
from onebrain.search.report import Report, StageStatus, Verdict
from onebrain.search.searcher import Searcher
from onebrain.search.synthesis import Writing

KAFKA, TABLES = "adr/0001-kafka.md", "adr/0002-plain-tables.md"
NOTES = {
    KAFKA: "# ADR-001 Kafka for events\n\nDate: 2025-10-02\n\nStatus: Accepted\n\n## Decision\n\n"
    "We adopt Kafka for events because we expect five million messages a day.\n",
    TABLES: "# ADR-002 Plain tables\n\nDate: 2026-04-19\n\nStatus: Accepted. Supersedes ADR-001\n\n## Decision\n\n"
    "All rows live in one database because the team is small.\n",
    "knowledge/Bread.md": "# Bread\n\nKnead the dough for 10 minutes. Let it rest overnight.\n",
    "knowledge/Soup.md": "# Soup\n\nBoil the stock for two hours.\n",
    "private/Diary.md": "# Diary\n\nThe surprise for the wedding is a trip to Lisbon.\n",
}
WHY = Request("why did we adopt Kafka for events?", date(2026, 5, 1))
WHAT = Request("knead the dough, rest overnight", date(2026, 5, 1), everything=True)


@dataclass
class Place:
    """A vault with its index: `owner` wrote it, `reader` may only read it."""

    config: Config
    owner: Brain
    reader: Brain

    def write(self, path: str, text: str) -> None:
        file = self.config.vault / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def edit(self, path: str, old: str, new: str) -> None:
        text = (self.config.vault / path).read_text(encoding="utf-8")
        assert old in text
        self.write(path, text.replace(old, new))

    def remove(self, path: str) -> None:
        (self.config.vault / path).unlink()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    vault = tmp_path / "vault"
    vault.mkdir()
    config = load(vault, {"ONEBRAIN_DATA_DIR": str(tmp_path / "data")}, vault)
    for path, text in NOTES.items():
        (vault / path).parent.mkdir(exist_ok=True)
        (vault / path).write_text(text, encoding="utf-8")
    with Brain.open(config) as owner:
        owner.reindex()
        with Brain.open(config, access=Access.READER) as reader:
            yield Place(config, owner, reader)


@pytest.fixture(params=["owner", "reader"])
def brain(request: pytest.FixtureRequest, place: Place) -> Brain:
    found: Brain = getattr(place, request.param)
    return found


def shown(report: Report) -> str:
    """All that a face could print, but for how it went."""
    return repr(replace(report, stages=()))


def stage(report: Report, name: str) -> tuple[StageStatus, str | None] | None:
    return next(((each.status, each.reason) for each in report.stages if each.name == name), None)


def meanwhile(monkeypatch: pytest.MonkeyPatch, happens: Callable[[int], None]) -> None:
    """Let `happens(n)` happen after the n-th time the index was searched, before anybody sees what was found."""
    times = iter(range(1000))
    search = Searcher.ask

    def ask(self: Searcher, request: Request) -> Report:
        report = search(self, request)
        happens(next(times))
        return report

    monkeypatch.setattr(Searcher, "ask", ask)


def test_a_decision_ends_with_the_note_that_ended_it(place: Place, brain: Brain) -> None:
    report = brain.ask(WHY)
    assert [(link.path, link.superseded_by) for link in report.chain] == [(KAFKA, TABLES), (TABLES, None)]
    assert TABLES not in [hit.doc_path for hit in report.hits], "reached by its link alone"
    place.remove(TABLES)
    report = brain.ask(WHY)
    assert [(link.path, link.superseded_by) for link in report.chain] == [(KAFKA, None)]
    assert TABLES not in shown(report)


def test_a_decision_that_does_not_replace_another_any_more_does_not_end_it(place: Place, brain: Brain) -> None:
    place.edit(TABLES, "Supersedes ADR-001", "It stands beside all others.")
    assert [link.superseded_by for link in brain.ask(WHY).chain if link.path == KAFKA] == [None]


def test_a_decision_told_twice_rests_on_both_notes(place: Place, brain: Brain) -> None:
    """The session log says what the record doesn't: that the decision was replaced."""
    place.write("adr/0003-streams.md", "# ADR-003 Streams\n\nDate: 2026-06-01\n\nStatus: Accepted\n\n## Decision\n\nUse streams.\n")
    told = "We adopt Kafka for events because we expect five million messages a day."
    log = "07-logs/session/2025/10/2025-10-02-session-01.md"
    matter = "---\ndate: 2025-10-02\nsuperseded_by: 0003-streams.md\n---\n"
    place.write(log, f"{matter}# Session Summary : October 2, 2025 (Session 1)\n\n## Key Decisions\n\n- {told}\n")
    place.remove(TABLES)
    place.owner.reindex()
    (link,) = [link for link in brain.ask(WHY).chain if link.path == KAFKA]
    assert (link.superseded_by, link.tellings) == ("adr/0003-streams.md", (log, KAFKA))
    place.remove(log)
    assert [link.superseded_by for link in brain.ask(WHY).chain if link.path == KAFKA] == [None]


def test_without_the_note_that_answered_the_verdict_and_the_counts_are_others(place: Place, brain: Brain) -> None:
    before = brain.ask(WHAT)
    assert (before.verdict, before.answer[0].path) == (Verdict.CONFIDENT, "knowledge/Bread.md")
    for path in NOTES:
        place.remove(path)
    report = brain.ask(WHAT)
    assert (report.verdict, report.hits, report.sources, report.answer, report.below_threshold) == (Verdict.NONE, (), (), (), None)


def test_a_note_changed_to_the_same_length_at_the_same_time_is_not_the_same(place: Place, brain: Brain) -> None:
    """FAT tells time in steps of two seconds, and some tools set it: within that, only the content tells."""
    file = place.config.vault / "knowledge/Bread.md"
    before = file.stat()
    place.edit("knowledge/Bread.md", "10 minutes", "25 minutes")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "10 minutes" not in shown(brain.ask(WHAT))


def test_a_note_that_was_only_touched_is_still_shown(place: Place, brain: Brain) -> None:
    os.utime(place.config.vault / "knowledge/Bread.md", ns=(1, 1))
    report = brain.ask(WHAT)
    assert report.answer[0].path == "knowledge/Bread.md" and stage(report, "fresh") is None


def test_what_was_indexed_while_a_question_was_answered_is_not_taken_for_what_was_read(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk equals the new commit, and the answer is of the old one."""

    def happens(time: int) -> None:
        if time == 0:
            place.edit("knowledge/Bread.md", "10 minutes", "25 full minutes")
            place.owner.apply_words(None)

    meanwhile(monkeypatch, happens)
    report = place.reader.ask(WHAT)
    assert "10 minutes" not in shown(report) and "25 full minutes" in report.answer[0].text


def test_notes_that_change_faster_than_they_are_read_are_not_shown(place: Place, brain: Brain, monkeypatch: pytest.MonkeyPatch) -> None:
    def happens(time: int) -> None:
        place.edit("knowledge/Bread.md", "minutes.", "minutes. More.")
        place.owner.apply_words(None)

    meanwhile(monkeypatch, happens)
    report = brain.ask(WHAT)
    assert (report.verdict, report.hits, report.answer) == (Verdict.NONE, (), ())
    assert any("kept changing" in note for note in report.notes)


def test_what_is_left_out_of_the_vault_by_now_is_not_shown(place: Place) -> None:
    request = Request("what is the surprise for the wedding?", date(2026, 5, 1), everything=True)
    assert "Lisbon" in shown(place.reader.ask(request))
    hiding = replace(place.config, search=replace(place.config.search, exclude=("private",)))
    with Brain.open(hiding, access=Access.READER) as reader:
        assert "Lisbon" not in shown(reader.ask(request))


def test_a_reader_finds_what_is_not_indexed_yet_as_it_stands(place: Place) -> None:
    place.write("New.md", "# New\n\nThe code word is XK-2210.\n")
    place.edit("knowledge/Soup.md", "# Soup\n\nBoil", "# Broth\n\nIt is XK-2210 as well. Boil")
    report = place.reader.ask(Request("XK-2210", date(2026, 5, 1)))
    found = {hit.doc_path: (hit.title, hit.heading_path, hit.line_start) for hit in report.hits}
    assert found == {"New.md": ("New.md", "", 3), "knowledge/Soup.md": ("knowledge/Soup.md", "", 3)}


def test_questions_to_a_vault_that_is_not_mounted_remove_nothing(place: Place) -> None:
    place.config.vault.rename(place.config.vault.with_name("elsewhere"))
    for mounted in (False, True):
        if mounted:
            place.config.vault.mkdir()  # the empty folder that a disk is mounted over
        for brain in (place.owner, place.reader):
            report = brain.ask(WHAT)
            assert (report.verdict, report.hits) == (Verdict.NONE, ())
        assert place.owner.status().doc_count == len(NOTES)


def test_names_like_the_one_asked_for_are_of_notes_that_exist(place: Place) -> None:
    place.remove("knowledge/Bread.md")
    with pytest.raises(NoteUnreadable) as told:
        place.reader.get("Bread")
    assert "knowledge/Bread.md" not in str(told.value.hint)


class Slow:
    """A writer, and what happens while it writes."""

    name = "a slow model"

    def __init__(self, happens: Callable[[], None]) -> None:
        self.happens = happens

    def write(self, instructions: str, quotes: str) -> str:
        self.happens()
        return "Knead the dough for 10 minutes [1]."


def test_what_changed_while_the_answer_was_worded_is_not_quoted(place: Place, brain: Brain) -> None:
    request = replace(WHAT, write_synthesis=True)
    brain._learned.writing = Writing(Slow(lambda: None))
    assert brain.ask(request).synthesis is not None
    brain._learned.writing = Writing(Slow(lambda: place.edit("knowledge/Bread.md", "10 minutes", "25 full minutes")))
    report = brain.ask(request)
    assert "10 minutes" not in shown(report)
    assert stage(report, "synthesis") == (StageStatus.SKIPPED, "notes changed while it was written")

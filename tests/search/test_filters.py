"""Which notes pass a filter."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onebrain.search.filters import NO_NOTES, allowed, matches, unmatched
from onebrain.search.question import Filters
from onebrain.vault.library import NoteRecord
from onebrain.vault.note import Source, Status


def note(
    path: str = "01-projects/harbor/Harbor.md", tags: tuple[str, ...] = (), day: str | None = None, kind: str | None = None
) -> NoteRecord:
    return NoteRecord(path, "t", Source.PROJECT, (), tags, day, Status.ACTIVE, kind, "", 0, 0, (), (), False)


@pytest.mark.parametrize(
    ("filters", "passes"),
    [
        (Filters(), True),
        (Filters(paths=("01-projects",)), True),
        (Filters(paths=("01-projects/",)), True),
        (Filters(paths=("harbor",)), True),
        (Filters(paths=("01-PROJECTS/HARBOR/harbor.md",)), True),
        (Filters(paths=("01-projects/harbor/Harbor",)), True),
        (Filters(paths=("./01-projects",)), True),
        (Filters(paths=(".",)), True),
        (Filters(paths=("/",)), True),
        (Filters(paths=("01-proj",)), False),
        (Filters(paths=("01-projects/harbor/Harb",)), False),
        (Filters(paths=("01-projects/harbor/Harbor.md/",)), True),
        (Filters(paths=("projects/harbor",)), False),
        (Filters(paths=("arbor",)), False),
        (Filters(paths=("02-areas",)), False),
        (Filters(paths=("02-areas", "01-projects")), True),
        (Filters(tags=("queue",)), True),
        (Filters(tags=("queue/redis",)), True),
        (Filters(tags=("queu",)), False),
        (Filters(types=("project",)), True),
        (Filters(types=("Spec",)), True),
        (Filters(types=("session",)), False),
        (Filters(after="2026-04-19"), True),
        (Filters(after="2026-04-20"), False),
        (Filters(before="2026-04-19"), True),
        (Filters(before="2026-04-18"), False),
        (Filters(paths=("01-projects",), tags=("other",)), False),
    ],
)
def test_matches(filters: Filters, passes: bool) -> None:
    assert matches(note(tags=("queue/redis",), day="2026-04-19", kind="spec"), filters) is passes


def test_an_undated_note_passes_no_date_filter() -> None:
    assert not matches(note(), Filters(after="1970-01-01")) and not matches(note(), Filters(before="2999-01-01"))


def test_no_filter_is_no_restriction_and_a_filter_may_leave_nothing() -> None:
    assert allowed([note()], Filters()) is None
    assert allowed([note()], Filters(tags=("nowhere",))) == frozenset()


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        (Filters(tags=("kafca",)), "No note has the tag “kafca”. Near it: infra/kafka."),
        (Filters(tags=("zzz",)), "No note has the tag “zzz”."),
        (Filters(paths=("wrok",)), "No note lies at “wrok”. Near it: work."),
        (Filters(paths=("plam.md",)), "No note lies at “plam.md”. Near it: work/plan.md."),
        (Filters(types=("sesion",)), "No note is of the type “sesion”. Near it: session."),
        (Filters(after="2027-01-01"), "No note is dated from 2027-01-01. Their dates run from 2026-01-05 to 2026-03-01."),
        (Filters(before="2026-01-01"), "No note is dated up to 2026-01-01. Their dates run from 2026-01-05 to 2026-03-01."),
        (Filters(tags=("infra",), types=("session",)), "Each filter matches notes, but no note passes all of them together."),
        (Filters(tags=("infra",)), None),
        (Filters(), None),
    ],
)  # fmt: skip
def test_a_filter_that_no_note_passes_is_named_with_what_comes_near(filters: Filters, said: str | None) -> None:
    notes = [note("work/plan.md", ("infra/kafka",), "2026-01-05"), replace(note("logs/a.md", (), "2026-03-01"), source=Source.SESSION)]
    assert unmatched(notes, filters) == said


def test_a_vault_without_notes_says_so() -> None:
    assert unmatched([], Filters()) == unmatched([], Filters(tags=("a",))) == NO_NOTES

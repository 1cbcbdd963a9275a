from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebrain.daemon.inbox import Batch, Inbox


def filled(*events: tuple[str, float], many: int = 500) -> Inbox:
    inbox = Inbox(quiet=0.4, cap=2.0, many=many)
    for path, now in events:
        inbox.put(path, now)
    return inbox


@pytest.mark.parametrize(
    ("events", "now", "due"),
    [
        ([], 0.0, None),
        ([("a.md", 10.0)], 10.0, 0.4),
        ([("a.md", 10.0)], 10.3, 0.1),
        ([("a.md", 10.0)], 10.4, 0.0),
        ([("a.md", 10.0)], 99.0, 0.0),
        ([("a.md", 10.0), ("a.md", 10.3)], 10.4, 0.3),  # still being written
        ([("a.md", 10.0 + n / 10) for n in range(21)], 12.0, 0.0),  # never quiet, but the cap has come
        ([("a.md", 10.0 + n / 10) for n in range(18)], 11.9, 0.1),
    ],
)
def test_a_path_waits_for_quiet_but_not_for_ever(events: list[tuple[str, float]], now: float, due: float | None) -> None:
    assert filled(*events).due_in(now) == (None if due is None else pytest.approx(due, abs=1e-9))


def test_what_is_taken_is_gone_and_named_once() -> None:
    inbox = filled(("a.md", 0.0), ("b.md", 0.1), ("a.md", 0.2))
    assert inbox.take(0.3) is None
    assert inbox.take(0.7) == Batch(("a.md", "b.md"))
    assert (inbox.take(9.0), inbox.due_in(9.0), len(inbox)) == (None, None, 0)


def test_a_question_takes_what_is_still_restless() -> None:
    assert filled(("a.md", 0.0)).take(0.0, hurry=True) == Batch(("a.md",))
    assert Inbox().take(0.0, hurry=True) is None


def test_many_files_at_once_become_one_look_at_everything() -> None:
    inbox = filled(*[(f"{n}.md", 0.0) for n in range(5)], many=5)
    assert inbox.take(1.0) == Batch(tuple(f"{n}.md" for n in range(5)))
    inbox = filled(*[(f"{n}.md", 0.0) for n in range(6)], many=5)
    assert inbox.everything and len(inbox) == 1
    assert inbox.take(1.0) == Batch(full="more than 5 files changed at once")
    inbox.put("a.md", 2.0)
    assert inbox.take(3.0) == Batch(("a.md",))


def test_a_storm_is_waited_out_longer_than_a_note_that_never_rests() -> None:
    inbox = filled(*[(f"{n}.md", n / 10) for n in range(31)], many=5)
    assert inbox.take(3.0) is None
    assert inbox.take(3.4) == Batch(full="more than 5 files changed at once")
    inbox = filled(*[(f"{n}.md", n / 10) for n in range(101)], many=5)
    assert inbox.take(10.0) == Batch(full="more than 5 files changed at once")


def test_the_first_reason_for_a_look_at_everything_is_kept() -> None:
    inbox = filled(("a.md", 0.0))
    inbox.put_all("overflow", 0.0)
    inbox.put("b.md", 0.1)
    inbox.put_all("timer", 0.1)
    assert inbox.take(1.0) == Batch(full="overflow")


def test_a_batch_that_failed_comes_back() -> None:
    inbox = filled(("a.md", 0.0))
    first = inbox.take(1.0)
    assert first is not None
    inbox.put("b.md", 1.0)
    inbox.put_back(first, 1.1)
    assert inbox.take(2.0) == Batch(("b.md", "a.md"))
    inbox.put_back(Batch(full="start"), 3.0)
    assert inbox.take(4.0) == Batch(full="start")


@pytest.mark.parametrize("back_to", [9.9, 5.0, -1000.0])
def test_a_clock_that_jumps_back_delays_a_path_by_no_more_than_the_cap(back_to: float) -> None:
    inbox = filled(("a.md", 10.0))
    due = inbox.due_in(back_to)
    assert due is not None and due <= 2.0
    inbox.put("b.md", back_to)
    assert inbox.take(back_to + 2.0) == Batch(("a.md", "b.md"))


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.floats(0, 1), st.booleans())), st.integers(1, 5))
def test_no_path_is_ever_lost(steps: list[tuple[str, float, bool]], many: int) -> None:
    inbox, now, put, seen, everything_after = Inbox(many=many), 0.0, [], set(), -1
    for number, (path, wait, hurry) in enumerate(steps):
        now += wait
        inbox.put(path, now)
        put.append((number, path))
        if batch := inbox.take(now, hurry=hurry):
            seen |= {(n, p) for n, p in put if p in batch.paths}
            everything_after = number if batch.full else everything_after
    batch = inbox.take(now + 10)
    if batch is not None and batch.full:
        everything_after = len(steps)
    last = set(batch.paths) if batch else set()
    assert all(n <= everything_after or (n, p) in seen or p in last for n, p in put)

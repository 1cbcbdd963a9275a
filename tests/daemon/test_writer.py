"""The one writer: what it does in which order, what interrupts it, and what it does when things go wrong."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from disk_brain import Applied, DiskBrain, until

from onebrain.daemon import writer as writers
from onebrain.daemon.inbox import Inbox
from onebrain.daemon.writer import Writer
from onebrain.errors import ModelUnavailable, StorageFull

Start = Callable[..., Writer]


@pytest.fixture
def start(brain: DiskBrain) -> Iterator[Start]:
    running: list[Writer] = []

    def begin(*, auto: bool = True, quiet: float = 0.05, there: Callable[[], bool] = lambda: True, first: bool = True) -> Writer:
        one = Writer(brain, Inbox(quiet=quiet, cap=quiet * 5), auto=auto, there=there)
        running.append(one)
        one.start()
        if first:
            one.put_all("start")
            assert one.catch_up(5)
        return one

    yield begin
    for one in running:
        one.stop(1)


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What failed is tried again at once."""
    monkeypatch.setattr(writers, "RETRY_FIRST", 0.05)


def write(vault: Path, name: str, text: str = "x") -> str:
    (vault / name).write_text(text)
    return name


def test_a_saved_note_is_found_by_words_then_by_meaning(start: Start, brain: DiskBrain, vault: Path) -> None:
    one = start()
    one.put(write(vault, "a.md", "hello"))
    assert until(lambda: brain.words == {"a.md": "hello"})
    assert until(lambda: brain.vectors == {"a.md": "hello"})
    assert brain.applied == [None, ("a.md",)]
    assert until(lambda: one.idle)


def test_what_waits_is_counted_and_unknown_until_everything_was_looked_at(
    start: Start, brain: DiskBrain, vault: Path, soon: None
) -> None:
    assert start(first=False).unindexed is None
    one = start(quiet=0.2)
    assert one.unindexed == 0
    brain.fail = StorageFull("full")
    one.put(write(vault, "a.md"))
    one.put(write(vault, "b.md"))
    assert one.unindexed == 2
    assert until(lambda: one.problem is not None)
    assert one.unindexed in (2, None)  # None: just tried again
    one.put_all("overflow")
    assert one.unindexed is None
    brain.fail = None
    assert until(lambda: one.unindexed == 0) and brain.words == {"a.md": "x", "b.md": "x"}


def test_of_a_batch_under_way_the_rest_is_counted(start: Start, brain: DiskBrain, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int | None] = []

    def apply_words(paths: object, *, progress: Callable[[int, int], None]) -> Applied:
        seen.append(one.unindexed)
        progress(500, 1200)
        seen.append(one.unindexed)
        return Applied()

    one = start(first=False)
    monkeypatch.setattr(brain, "apply_words", apply_words)
    one.put_all("start")
    assert one.catch_up(5)
    assert seen == [None, 700] and one.unindexed == 0


def test_a_question_does_not_wait_for_quiet(start: Start, brain: DiskBrain, vault: Path) -> None:
    one = start(quiet=30)
    one.put(write(vault, "a.md", "just saved"))
    began = time.monotonic()
    assert one.catch_up(1.0)
    assert brain.words == {"a.md": "just saved"}
    assert time.monotonic() - began < 0.5
    assert one.catch_up(1.0)  # nothing to wait for


def test_a_question_waits_for_the_first_look_at_the_vault(start: Start, brain: DiskBrain, vault: Path) -> None:
    write(vault, "a.md")
    brain.slow = 0.5
    one = start(first=False)
    one.put_all("start")
    assert one.catch_up(0.1)
    assert brain.words == {"a.md": "x"}


def test_a_question_during_the_first_look_does_not_keep_embedding_from_starting(start: Start, brain: DiskBrain, vault: Path) -> None:
    """Who asked was in a hurry for the look that was already going on; once it is done nobody is."""
    write(vault, "a.md")
    brain.slow = 0.3
    one = start(first=False)
    one.put_all("start")
    time.sleep(0.1)
    assert one.catch_up(2)
    assert until(lambda: brain.vectors == {"a.md": "x"})


def test_a_question_waits_no_longer_than_it_must(start: Start, brain: DiskBrain, vault: Path) -> None:
    one = start()
    brain.slow = 1.0
    one.put(write(vault, "a.md"))
    began = time.monotonic()
    assert not one.catch_up(0.1)
    assert time.monotonic() - began < 0.5


def test_a_storm_is_not_hurried(start: Start, brain: DiskBrain) -> None:
    """A question in the middle of a checkout must not make us look at everything once more for each question."""
    one = start(quiet=0.3)
    before = len(brain.applied)
    for n in range(600):
        one.put(f"{n}.md")
    assert not one.catch_up(0.05)
    assert len(brain.applied) == before
    assert until(lambda: brain.applied[before:] == [None])


def test_embedding_gives_way_to_a_change_and_goes_on(start: Start, brain: DiskBrain, vault: Path) -> None:
    for n in range(40):
        write(vault, f"{n}.md")
    brain.slow = 0.02
    one = start()
    assert until(lambda: len(brain.vectors) > 2)
    one.put(write(vault, "new.md", "urgent"))
    assert until(lambda: brain.words.get("new.md") == "urgent")
    assert len(brain.vectors) < 40
    assert until(lambda: len(brain.vectors) == 41)


def test_embedding_stands_still_while_somebody_asks(start: Start, brain: DiskBrain, vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "UNDER_FIRE_EVERY", 60.0)
    for n in range(60):
        write(vault, f"{n}.md")
    brain.slow = 0.01
    one = start()
    assert until(lambda: brain.vectors)
    with one.asking():
        time.sleep(0.05)
        before = len(brain.vectors)
        time.sleep(0.15)
        assert len(brain.vectors) == before
    assert until(lambda: len(brain.vectors) == 60)


def test_questions_without_a_pause_do_not_end_embedding(
    start: Start, brain: DiskBrain, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writers, "UNDER_FIRE_EVERY", 0.05)
    one = start()
    with one.asking():
        one.put(write(vault, "a.md"))
        assert until(lambda: brain.vectors)


def test_paused_means_no_embedding_but_words_stay_in_step(start: Start, brain: DiskBrain, vault: Path) -> None:
    one = start()
    one.pause()
    one.put(write(vault, "a.md"))
    assert until(lambda: "a.md" in brain.words)
    time.sleep(0.1)
    assert brain.vectors == {}
    one.resume()
    assert until(lambda: "a.md" in brain.vectors)


def test_without_auto_embedding_waits_to_be_asked(start: Start, brain: DiskBrain, vault: Path) -> None:
    one = start(auto=False)
    one.put(write(vault, "a.md"))
    assert until(lambda: "a.md" in brain.words)
    time.sleep(0.1)
    assert brain.vectors == {}
    one.embed()
    assert until(lambda: "a.md" in brain.vectors)


def test_a_full_disk_is_said_and_tried_again_without_losing_a_path(start: Start, brain: DiskBrain, vault: Path, soon: None) -> None:
    one = start()
    brain.fail = StorageFull("The disk is full.", hint="Make room.")
    one.put(write(vault, "a.md"))
    assert until(lambda: one.problem == "The disk is full. Make room.")
    assert brain.words == {}
    one.put(write(vault, "b.md"))
    brain.fail = None
    assert until(lambda: set(brain.words) == {"a.md", "b.md"})
    assert one.problem is None


def test_a_fault_of_ours_is_repaired_by_a_look_at_everything(
    start: Start, brain: DiskBrain, vault: Path, soon: None, caplog: pytest.LogCaptureFixture
) -> None:
    one = start()
    brain.fail = ZeroDivisionError("a bug")
    one.put(write(vault, "a.md"))
    assert until(lambda: one.problem is not None and "ZeroDivisionError" in one.problem)
    brain.fail = None
    assert until(lambda: brain.words == {"a.md": "x"})
    assert brain.applied[-1] is None
    assert "a bug" in caplog.text


def test_a_missing_model_leaves_search_by_words(start: Start, brain: DiskBrain, vault: Path) -> None:
    brain.fail_vectors = ModelUnavailable("No embedding model.", hint="Run `onebrain search model prepare`.")
    one = start()
    one.put(write(vault, "a.md"))
    assert until(lambda: one.embedding_problem == "No embedding model. Run `onebrain search model prepare`.")
    assert until(lambda: brain.words == {"a.md": "x"})
    brain.fail_vectors = None
    one.put(write(vault, "b.md"))
    assert until(lambda: set(brain.vectors) == {"a.md", "b.md"} and one.embedding_problem is None)


def test_passages_that_can_not_be_embedded_are_said_and_not_tried_in_a_loop(start: Start, brain: DiskBrain, vault: Path) -> None:
    write(vault, "a.md")
    brain.stuck = True
    one = start()
    assert until(lambda: one.embedding_problem == "1 passages can't be embedded: see `onebrain search status`.")
    calls = []
    brain.apply_vectors = lambda **_: calls.append(1) or 1  # type: ignore[assignment,func-returns-value]
    time.sleep(0.2)
    assert calls == []
    del brain.apply_vectors
    brain.stuck = False
    one.put(write(vault, "b.md"))
    assert until(lambda: set(brain.vectors) == {"a.md", "b.md"} and one.embedding_problem is None)


def test_removals_that_were_held_back_are_said_until_they_are_not(start: Start, brain: DiskBrain) -> None:
    brain.held_back = "90 of 100 notes are missing"
    one = start()
    assert one.held_back == "90 of 100 notes are missing"
    brain.held_back = None
    one.put_all("timer")
    assert until(lambda: one.held_back is None)


def test_why_more_is_done_than_the_edits_called_for_is_logged(start: Start, brain: DiskBrain, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    brain.reasons = ("notes are read in another way since the last version: all are read again",)
    start()
    assert brain.reasons[0] in caplog.messages


def test_a_vault_that_is_not_there_holds_everything_back(start: Start, brain: DiskBrain, vault: Path, soon: None) -> None:
    present = True
    write(vault, "a.md")
    one = start(there=lambda: present)
    present = False
    (vault / "a.md").unlink()
    one.put("a.md")
    assert until(lambda: one.problem is not None and "isn't there" in one.problem)
    assert not one.catch_up(0.1) or brain.words == {"a.md": "x"}
    time.sleep(0.15)
    assert brain.words == {"a.md": "x"}
    present = True
    assert until(lambda: brain.words == {})


def test_two_never_write_at_once(start: Start, brain: DiskBrain, vault: Path) -> None:
    one = start(quiet=0.001)
    brain.slow = 0.002
    stop = threading.Event()

    def reindex() -> None:
        while not stop.is_set():
            with one.writing():
                brain.apply_words(None)

    other = threading.Thread(target=reindex)
    other.start()
    for n in range(50):
        one.put(write(vault, f"{n}.md"))
        time.sleep(0.002)
    stop.set()
    other.join(5)
    assert until(lambda: len(brain.vectors) == 50)
    assert brain.most_writers == 1


def test_the_end_applies_what_is_known(start: Start, brain: DiskBrain, vault: Path) -> None:
    one = start(quiet=30)
    one.put(write(vault, "a.md", "last words"))
    one.stop()
    assert brain.words == {"a.md": "last words"}


def test_the_end_does_not_wait_for_a_long_look(start: Start, brain: DiskBrain, vault: Path) -> None:
    write(vault, "a.md")
    brain.slow = 0.4
    one = start(first=False)
    one.put_all("start")
    assert until(lambda: brain.applied == [None])
    one.stop(0.1)
    assert brain.words == {}
    assert one.last_full is None


def test_a_clock_that_stands_still_or_jumps_back_stops_nothing(brain: DiskBrain, vault: Path) -> None:
    """The monotonic clock shouldn't, but virtual machines do: nothing may wait for a moment that has passed."""
    jump = 0.0
    one = Writer(brain, Inbox(quiet=0.02, cap=0.1), auto=True, there=lambda: True, monotonic=lambda: time.monotonic() + jump)
    one.start()
    try:
        one.put_all("start")
        assert until(lambda: one.last_full is not None)
        jump = -1_000_000.0
        one.put(write(vault, "a.md"))
        assert until(lambda: brain.vectors == {"a.md": "x"})
    finally:
        one.stop(1)

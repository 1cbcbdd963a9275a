"""A Brain opened for one command: owned where possible, read where another process owns it, and always given back."""

from __future__ import annotations

import sys
from dataclasses import replace
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from onebrain.cli.direct import direct
from onebrain.config import Config, Embed, Search
from onebrain.errors import IndexBusy, IndexDamaged, ModelUnavailable, StorageFull

CONFIG = Config(Path("/v"), None, Path("/d"), Search("c"))


class Access(Enum):
    OWNER = "owner"
    READER = "reader"


class Synced:
    held_back: str | None = None


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was done to the Brain, in order; an exception in `Brain.fails` is raised where its key is done."""
    done: list[Any] = []

    class Brain:
        fails: dict[str, Exception] = {}
        synced = Synced()

        @classmethod
        def open(cls, config: Config, *, access: Access, progress: object) -> Brain:
            done.append(access.value)
            if access.value in cls.fails:
                raise cls.fails[access.value]
            return cls()

        left = [0, 0]

        def apply_words(self, paths: None, *, progress: object) -> Synced:
            done.append("words")
            if "words" in self.fails:
                raise self.fails["words"]
            return self.synced

        def pending(self) -> int:
            return self.left[0]

        def apply_vectors(self, *, budget_s: float, progress: object) -> int:
            done.append(f"vectors for {budget_s} s")
            if "vectors" in self.fails:
                raise self.fails["vectors"]
            return self.left[1]

        def close(self) -> None:
            done.append("close")

    module = ModuleType("onebrain.brain")
    module.Brain, module.Access = Brain, Access  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "onebrain.brain", module)
    monkeypatch.setattr("onebrain.brain", module, raising=False)
    return done


def codes(log: list[Any], *, sync: bool) -> list[str]:
    with direct(CONFIG, sync=sync, progress=None) as opened:
        log.append("used")
        return [caution.code for caution in opened.cautions]


def brain() -> Any:
    return sys.modules["onebrain.brain"].Brain  # type: ignore[attr-defined]


def test_an_owner_catches_up_first_where_asked(log: list[Any]) -> None:
    assert codes(log, sync=True) == []
    assert codes(log, sync=False) == []
    assert log == ["owner", "words", "used", "close", "owner", "used", "close"]


def test_beside_an_owner_one_reads_and_says_so(log: list[Any]) -> None:
    brain().fails = {"owner": IndexBusy("busy")}
    assert codes(log, sync=True) == ["W_ENGINE_BUSY"]
    assert log == ["owner", "reader", "used", "close"]


def test_where_even_reading_fails_the_error_tells(log: list[Any]) -> None:
    brain().fails = {"owner": IndexBusy("busy"), "reader": IndexDamaged("damaged")}
    with pytest.raises(IndexDamaged):
        codes(log, sync=True)


@pytest.mark.parametrize(
    ("fails", "told"),
    [
        ({"words": StorageFull("full")}, ["W_STORAGE"]),
        ({"words": IndexDamaged("damaged")}, ["W_INDEX_DAMAGED"]),
        ({"vectors": ModelUnavailable("damaged")}, ["W_HELD_BACK", "W_MODEL"]),
    ],
)
def test_what_can_not_be_brought_in_step_does_not_keep_the_rest_from_answering(
    log: list[Any], monkeypatch: pytest.MonkeyPatch, fails: dict[str, Exception], told: list[str]
) -> None:
    monkeypatch.setattr(brain().synced, "held_back", "70 of 74 notes are gone")
    brain().fails, brain().left = fails, [3, 3]
    assert codes(log, sync=True) == told
    assert log[-2:] == ["used", "close"]


def test_what_is_held_back_is_told(log: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brain().synced, "held_back", "70 of 74 notes are gone")
    assert codes(log, sync=True) == ["W_HELD_BACK"]


@pytest.mark.parametrize(
    ("left", "auto", "told", "embedded"),
    [
        ([0, 0], True, [], False),
        ([255, 0], True, [], True),
        ([255, 40], True, ["W_INDEX_BEHIND"], True),
        ([255, 255], True, [], True),  # no model
        ([255, 40], False, [], False),
    ],
)
def test_a_question_waits_for_vectors_only_so_long(log: list[Any], left: list[int], auto: bool, told: list[str], embedded: bool) -> None:
    brain().left = left
    config = replace(CONFIG, search=Search("c", embed=Embed(auto=auto)))
    with direct(config, sync=True, progress=None) as opened:
        assert [caution.code for caution in opened.cautions] == told
    assert ("vectors for 5.0 s" in log) is embedded


def test_a_brain_is_given_back_whatever_happens(log: list[Any]) -> None:
    with pytest.raises(KeyboardInterrupt), direct(CONFIG, sync=False, progress=None):
        raise KeyboardInterrupt
    brain().fails = {"words": RecursionError("a fault of ours")}
    with pytest.raises(RecursionError):
        codes(log, sync=True)
    assert log == ["owner", "close", "owner", "words", "close"]


def test_an_interrupt_while_parts_are_imported_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    from onebrain import __main__ as program

    class Importing(ModuleType):
        def __getattr__(self, name: str) -> object:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "onebrain.daemon.client", Importing("onebrain.daemon.client"))
    monkeypatch.setattr(sys, "argv", ["onebrain", "search", "kafka"])
    monkeypatch.setattr("onebrain.daemon.client", sys.modules["onebrain.daemon.client"])
    assert program.main() == 130

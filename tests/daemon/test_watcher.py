"""What the system reports for what people and programs do to files, seen through the real watcher of this system."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import watchdog.observers.inotify
import watchdog.observers.inotify_c
from disk_brain import until

from onebrain.daemon import watcher
from onebrain.daemon.watcher import Watcher, relevant


class Seen:
    def __init__(self) -> None:
        self.paths: set[str] = set()
        self.lost: list[str] = []

    def has(self, *paths: str) -> bool:
        return until(lambda: set(paths) <= self.paths)


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
def watch(vault: Path, seen: Seen) -> Iterator[Callable[[], Watcher]]:
    running: list[Watcher] = []

    def begin() -> Watcher:
        one = Watcher(vault, seen.paths.add, seen.lost.append)
        assert one.start(), one.problem
        running.append(one)
        return one

    yield begin
    for one in running:
        one.stop()


@pytest.mark.parametrize(
    ("path", "directory", "matters"),
    [
        ("a.md", False, True),
        ("Deep/Er/A.MD", False, True),
        ("🐘.md", False, True),
        ("a.txt", False, False),
        ("a.md.tmp", False, False),
        ("folder", True, True),
        (".obsidian/workspace.md", False, False),
        (".git", True, False),
        ("x/.trash/a.md", False, False),
        ("x/node_modules/y/a.md", False, False),
        (".claude/memory/cards/a.md", False, True),
        (".claude/memory/events/a.jsonl", False, True),
        (".claude/commands/a.md", False, False),
    ],
)
def test_what_can_matter(path: str, directory: bool, matters: bool) -> None:
    assert relevant(path, directory) is matters


def test_a_save_in_place_and_a_save_by_rename(vault: Path, seen: Seen, watch: Callable[[], Watcher]) -> None:
    watch()
    (vault / "a.md").write_text("1")
    assert seen.has("a.md")
    seen.paths.clear()
    (vault / ".b.md.swp").write_text("1")
    os.replace(vault / ".b.md.swp", vault / "b.md")
    assert seen.has("b.md")
    assert ".b.md.swp" not in seen.paths


def test_a_rename_over_from_outside(vault: Path, tmp_path: Path, seen: Seen, watch: Callable[[], Watcher]) -> None:
    (vault / "a.md").write_text("old")
    watch()
    (tmp_path / "staged").write_text("new")
    os.replace(tmp_path / "staged", vault / "a.md")
    assert seen.has("a.md")


def test_a_rename_names_both_ends(vault: Path, seen: Seen, watch: Callable[[], Watcher]) -> None:
    (vault / "a.md").write_text("1")
    watch()
    (vault / "a.md").rename(vault / "b.md")
    assert seen.has("a.md", "b.md")


def test_a_rename_in_case_only(vault: Path, seen: Seen, watch: Callable[[], Watcher]) -> None:
    (vault / "note.md").write_text("1")
    watch()
    (vault / "note.md").rename(vault / "Note.md")
    assert seen.has("note.md", "Note.md")


def test_a_deletion(vault: Path, seen: Seen, watch: Callable[[], Watcher]) -> None:
    (vault / "a.md").write_text("1")
    watch()
    (vault / "a.md").unlink()
    assert seen.has("a.md")


def test_a_folder_that_is_renamed_names_itself(vault: Path, seen: Seen, watch: Callable[[], Watcher]) -> None:
    (vault / "old").mkdir()
    (vault / "old/a.md").write_text("1")
    watch()
    (vault / "old").rename(vault / "new")
    assert seen.has("old", "new")
    (vault / "new/b.md").write_text("1")
    assert seen.has("new/b.md")


def test_a_folder_moved_in_with_all_its_notes(vault: Path, tmp_path: Path, seen: Seen, watch: Callable[[], Watcher]) -> None:
    watch()
    (tmp_path / "in/deep").mkdir(parents=True)
    for n in range(20):
        (tmp_path / f"in/deep/{n}.md").write_text("1")
    (tmp_path / "in").rename(vault / "in")
    assert until(lambda: "in" in seen.paths or all(f"in/deep/{n}.md" in seen.paths for n in range(20)))
    (vault / "in/deep/later.md").write_text("1")
    assert seen.has("in/deep/later.md")


def test_a_folder_moved_out_names_itself_and_its_ghost_does_not_blind_us(
    vault: Path, tmp_path: Path, seen: Seen, watch: Callable[[], Watcher]
) -> None:
    (vault / "sub").mkdir()
    (vault / "sub/a.md").write_text("1")
    watch()
    (vault / "sub").rename(tmp_path / "away")
    assert seen.has("sub")
    (tmp_path / "away/ghost.md").write_text("1")  # may be reported as sub/ghost.md: whoever looks finds nothing there
    (vault / "sub").mkdir()
    assert until(lambda: (vault / "sub/again.md").write_text("1") and "sub/again.md" in seen.paths)


def test_a_folder_made_and_filled_in_one_breath(vault: Path, seen: Seen, watch: Callable[[], Watcher]) -> None:
    watch()
    (vault / "x/y").mkdir(parents=True)
    (vault / "x/y/a.md").write_text("1")
    assert until(lambda: seen.paths & {"x", "x/y", "x/y/a.md"})
    assert until(lambda: (vault / "x/y/b.md").write_text("1") and "x/y/b.md" in seen.paths)


def test_names_that_are_no_text(vault: Path, seen: Seen, watch: Callable[[], Watcher]) -> None:
    watch()
    try:
        with open(os.fsencode(vault) + b"/odd\xff.md", "w") as file:
            file.write("1")
    except OSError:
        pytest.skip("this file system takes only valid names")
    assert seen.has("odd\udcff.md")


def test_a_dropped_event_is_noticed_by_the_log_line_of_watchdog(seen: Seen, watch: Callable[[], Watcher]) -> None:
    watch()
    logging.getLogger("watchdog.observers.inotify_c").warning("Inotify queue overflowed; filesystem events were lost")
    assert seen.lost == ["the system dropped file events (queue overflow)"]
    logging.getLogger("watchdog").warning("something else")
    assert len(seen.lost) == 1


def test_watchdog_still_writes_that_line() -> None:
    for module in (watchdog.observers.inotify, watchdog.observers.inotify_c):
        assert watcher.OVERFLOW in Path(module.__file__ or "").read_text()


def test_the_log_line_is_nobodys_after_the_end(seen: Seen, watch: Callable[[], Watcher]) -> None:
    watch().stop()
    logging.getLogger("watchdog.observers.inotify_c").warning("Inotify queue overflowed")
    assert seen.lost == []


def test_a_vault_that_is_made_again_is_another_one(vault: Path, watch: Callable[[], Watcher]) -> None:
    one = watch()
    assert one.still_valid() and one.there()
    vault.rename(vault.with_name("elsewhere"))
    assert not one.still_valid() and not one.there()
    vault.mkdir()
    assert not one.still_valid() and one.there()
    assert one.start() and one.still_valid()
    shutil.rmtree(vault)
    vault.mkdir()  # may get the same inode: the number alone would not tell
    assert until(lambda: not one.still_valid())


def test_a_vault_that_is_not_there_is_said_to_be(tmp_path: Path) -> None:
    one = Watcher(tmp_path / "none", lambda _: None, lambda _: None)
    assert not one.start()
    assert one.problem == f"{os.path.realpath(tmp_path / 'none')} isn't there"


def test_a_system_that_is_out_of_watches_is_said_to_be(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def schedule(self, *_: object, **__: object) -> None:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(watcher, "Observer", Full)
    one = Watcher(vault, lambda _: None, lambda _: None)
    assert not one.start()
    assert one.problem is not None and "No space left on device" in one.problem
    one.stop()

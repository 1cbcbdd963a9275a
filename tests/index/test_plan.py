"""Planning is a pure function: tables of disk and manifest in, a plan out."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebrain.index.plan import Known, Plan, plan

SECOND = 1_000_000_000
THEN = 1_000 * SECOND  # when notes were written
SEEN = 2_000 * SECOND  # when they were indexed


@dataclass(frozen=True)
class File:
    """A file of the table: its stat, and the content that hashing would find (None: can't be read)."""

    content: str | None
    mtime_ns: int = THEN
    inode: int = 0

    @property
    def size(self) -> int:
        return len(self.content or "")


def known(content: str | None, mtime_ns: int = THEN, inode: int = 0, seen_ns: int = SEEN) -> Known:
    return Known(mtime_ns, len(content or ""), inode, seen_ns, content)


class Hashes:
    """Content stands for its own hash; remembers which files were read."""

    def __init__(self, disk: dict[str, File]) -> None:
        self.disk = disk
        self.read: list[str] = []

    def __call__(self, path: str) -> str | None:
        self.read.append(path)
        return self.disk[path].content


def run(disk: dict[str, File], manifest: dict[str, Known], **options: object) -> tuple[Plan, list[str]]:
    hashes = Hashes(disk)
    return plan(disk, manifest, hashes, **options), hashes.read  # type: ignore[arg-type]


def test_nothing_changed_reads_nothing() -> None:
    made, read = run({"a.md": File("one"), "b.md": File("two")}, {"a.md": known("one"), "b.md": known("two")})
    assert made == Plan(unchanged=2)
    assert made.empty and read == []


def test_a_first_index_reads_nothing_while_planning() -> None:
    made, read = run({"b.md": File("x"), "a.md": File("x")}, {})
    assert made.added == ("a.md", "b.md") and read == []


@pytest.mark.parametrize(
    ("now", "then", "expected", "reads"),
    [
        pytest.param(File("new"), known("old!"), "changed", 0, id="another size needs no reading"),
        pytest.param(File("new", mtime_ns=THEN + 1), known("old"), "changed", 1, id="same size, new time"),
        pytest.param(File("old", mtime_ns=THEN + 1), known("old"), "touched", 1, id="touch"),
        pytest.param(File("old", mtime_ns=THEN - 1), known("old"), "touched", 1, id="an older time counts as well"),
        pytest.param(File("old", inode=7), known("old", inode=6), "touched", 1, id="replaced by an equal file"),
        pytest.param(File("new", inode=7), known("old", inode=6), "changed", 1, id="replaced under the same time"),
        pytest.param(File("new", SEEN), known("old", SEEN), "changed", 1, id="edited right after it was indexed"),
        pytest.param(File("new", SEEN - 2 * SECOND), known("old", SEEN - 2 * SECOND), "changed", 1, id="within a coarse tick"),
        pytest.param(File("new", SEEN - 3 * SECOND), known("old", SEEN - 3 * SECOND), "unchanged", 0, id="older than a tick is trusted"),
        pytest.param(File("new", SEEN + 99 * SECOND), known("old", SEEN + 99 * SECOND), "changed", 1, id="time stamp in the future"),
        pytest.param(File(None, THEN + 1), known(""), "changed", 1, id="can't be read now"),
        pytest.param(File(None), known(None), "unchanged", 0, id="still broken, not read again"),
        pytest.param(File("ok"), known(None), "changed", 0, id="broken, now another file"),
    ],
)
def test_one_file(now: File, then: Known, expected: str, reads: int) -> None:
    made, read = run({"n.md": now}, {"n.md": then})
    found = {
        "changed": made.changed == ("n.md",),
        "touched": made.touched == (("n.md", now),),
        "unchanged": made == Plan(unchanged=int(then.sha256 is not None)),
    }
    assert [name for name, true in found.items() if true] == [expected]
    assert len(read) == reads


def test_force_takes_every_note_as_changed() -> None:
    made, read = run({"a.md": File("x"), "b.md": File("y")}, {"a.md": known("x")}, force=True, why="another chunker")
    assert (made.added, made.changed, made.unchanged, made.why, read) == (("b.md",), ("a.md",), 0, "another chunker", [])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a.md", "sub/a.md"),
        ("a.md", "b.md"),
        ("Note.md", "note.md"),
        ("caf\u00e9.md", "cafe\u0301.md"),
        ("a.md", "🧠.md"),
        ("#1 [x](y).md", "a b.md"),
    ],
)
def test_a_move_is_known_by_its_content(old: str, new: str) -> None:
    made, _ = run({new: File("text", mtime_ns=5)}, {old: known("text")})
    assert made == Plan(moved=((old, new),))


def test_only_new_files_of_a_missing_size_are_read() -> None:
    made, read = run({"b.md": File("text"), "c.md": File("another size")}, {"a.md": known("text")})
    assert (made.moved, made.added, read) == ((("a.md", "b.md"),), ("c.md",), ["b.md"])


def test_case_twins_are_two_notes() -> None:
    made, _ = run({"Note.md": File("x"), "note.md": File("x")}, {"Note.md": known("x")})
    assert (made.added, made.moved, made.unchanged) == (("note.md",), (), 1)
    made, _ = run({"note.md": File("x")}, {"Note.md": known("x"), "note.md": known("x")})
    assert (made.removed, made.moved, made.unchanged) == (("Note.md",), (), 1)


def test_a_copy_is_not_a_move() -> None:
    made, _ = run({"a.md": File("x"), "copy.md": File("x")}, {"a.md": known("x")})
    assert (made.added, made.moved) == (("copy.md",), ())


def test_of_equal_files_inode_then_name_then_folder_decides() -> None:
    disk = {"new/1.md": File("x", inode=12), "new/2.md": File("x", inode=11), "new/c.md": File("x"), "z/q.md": File("x")}
    manifest = {"old/a.md": known("x", inode=11), "old/b.md": known("x", inode=12), "old/c.md": known("x"), "z/d.md": known("x")}
    made, _ = run(disk, manifest)
    assert made.moved == (("old/a.md", "new/2.md"), ("old/b.md", "new/1.md"), ("old/c.md", "new/c.md"), ("z/d.md", "z/q.md"))


def test_moved_and_edited_at_once_is_a_removal_and_a_new_note() -> None:
    made, _ = run({"b.md": File("edited")}, {"a.md": known("before")})
    assert (made.added, made.removed, made.moved) == (("b.md",), ("a.md",), ())


def test_swapped_names_are_two_changes() -> None:
    made, _ = run({"a.md": File("2", THEN + 2), "b.md": File("1", THEN + 1)}, {"a.md": known("1"), "b.md": known("2")})
    assert made.changed == ("a.md", "b.md")


def notes(count: int) -> dict[str, Known]:
    return {f"n{i:03}.md": known(f"text {i}") for i in range(count)}


@pytest.mark.parametrize(
    ("before", "left", "held"),
    [(40, 0, True), (40, 18, True), (40, 20, False), (20, 0, False), (21, 0, True), (1000, 500, False), (1000, 499, True)],
)
def test_removing_most_notes_is_held_back(before: int, left: int, held: bool) -> None:
    manifest = notes(before)
    disk = {path: File(f"text {i}") for i, path in enumerate(list(manifest)[:left])} | {"new.md": File("brand new")}
    made, _ = run(disk, manifest)
    gone = before - left
    assert (made.held_back is not None, made.withheld, len(made.removed)) == ((True, gone, 0) if held else (False, 0, gone))
    assert made.added == ("new.md",), "what is there is still indexed"
    if held:
        assert f"{before - left} of {before}" in str(made.held_back)
        confirmed, _ = run(disk, manifest, confirmed=True)
        assert len(confirmed.removed) == before - left and confirmed.held_back is None


def test_a_removed_folder_is_judged_against_the_whole_index() -> None:
    made, _ = run({}, notes(30), out_of=1000)
    assert made.held_back is None and len(made.removed) == 30


def test_what_the_vault_would_not_list_any_more_goes_and_is_not_counted() -> None:
    def lists(path: str) -> bool:
        return not path.startswith("priv/")

    private = {f"priv/{path}": facts for path, facts in notes(300).items()}
    disk = {path: File(f"text {i}") for i, path in enumerate(notes(100))}
    made, _ = run(disk, private | notes(100), lists=lists)
    assert len(made.removed) == 300 and made.held_back is None

    made, _ = run({}, private | notes(100), lists=lists)
    assert set(made.removed) == private.keys() and made.withheld == 100, "the vault is gone as well: only what is excluded goes"
    assert "100 of 100" in str(made.held_back)


def test_moving_everything_is_no_removal() -> None:
    made, _ = run({f"archive/n{i:03}.md": File(f"text {i}") for i in range(40)}, notes(40))
    assert made.held_back is None and len(made.moved) == 40


FILES = st.dictionaries(st.sampled_from(["a.md", "A.md", "b/a.md", "é.md", "c#1.md"]), st.sampled_from(["", "x", "y", "zz"]))


@given(FILES, FILES)
def test_carrying_out_a_plan_gives_the_disk(before: dict[str, str], now: dict[str, str]) -> None:
    made, _ = run({p: File(c, THEN + 1) for p, c in now.items()}, {p: known(c) for p, c in before.items()})
    state = dict(before)
    for path in made.removed:
        del state[path]
    moves = [(new, state.pop(old)) for old, new in made.moved]
    state |= dict(moves) | {path: now[path] for path in made.added + made.changed}
    assert state == now
    assert all(before[path] == now[path] for path, _ in made.touched)
    assert len(made.added) + len(made.changed) + len(made.moved) + made.unchanged == len(now)

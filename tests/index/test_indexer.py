"""Syncing a vault: what is added, edited, moved, removed or broken on disk is so in the index, and no work is done twice."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from index_rig import LONG_AGO, START_NS, Rig

from onebrain.errors import ModelUnavailable
from onebrain.index.reading import VaultReader
from onebrain.index.results import Progress, ReindexResult
from onebrain.index.rows import Failure
from onebrain.models.twins import HashEmbedder
from onebrain.vault import files
from onebrain.vault.library import Library
from onebrain.vault.note import LinkKind, Note


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    made = Rig(tmp_path)
    yield made
    made.close()


def counts(result: ReindexResult) -> dict[str, int]:
    names = ("added", "updated", "removed", "moved", "unchanged", "failed", "embedded")
    return {name: value for name in names if (value := getattr(result, name))}


LONG = "\n\n".join(f"## Part {i}\n\nParagraph number {i} speaks about topic{i} and nothing else at all." for i in range(6))


def test_a_vault_is_indexed_and_then_nothing_is_left_to_do(rig: Rig) -> None:
    rig.vault.write("a.md", "# Alpha\n\nThe zebra decided.")
    rig.vault.write("sub/b.md", "# Beta\n\nThe giraffe [[a]] agreed.")
    assert counts(rig.indexer.reindex()) == {"added": 2, "embedded": 2}
    assert rig.found("zebra") == {"a.md"}
    rig.consistent()
    assert counts(rig.indexer.reindex()) == {"unchanged": 2}
    assert len(rig.embedder.embedded) == 2


def test_only_changed_passages_are_embedded_again(rig: Rig) -> None:
    rig.vault.write("long.md", f"# Long\n\n{LONG}")
    first = rig.indexer.reindex().embedded
    assert first >= 6
    rig.vault.write("long.md", f"# Long\n\n{LONG.replace('topic3', 'anothertopic')}")
    assert counts(rig.indexer.reindex()) == {"updated": 1, "embedded": 1}
    assert rig.found("anothertop") | rig.found("anothertopic") == {"long.md"}
    rig.consistent()


def test_a_moved_note_keeps_its_vectors_and_its_backlinks(rig: Rig) -> None:
    rig.vault.write("inbox/plan.md", f"# Plan\n\n{LONG}")
    rig.vault.write("hub.md", "See [[plan]].")
    rig.indexer.reindex()
    before = len(rig.embedder.embedded)
    rig.vault.move("inbox/plan.md", "projects/🚀/plan.md")
    assert counts(rig.indexer.reindex()) == {"moved": 1, "unchanged": 1}
    assert len(rig.embedder.embedded) == before
    rig.consistent()
    with rig.snapshot() as library:
        notes = library.notes()
        assert notes["projects/🚀/plan.md"].backlinks == (("hub.md", LinkKind.LINK),)
        assert notes["hub.md"].links == (("projects/🚀/plan.md", LinkKind.LINK),)


def test_a_new_title_is_a_new_meaning(rig: Rig) -> None:
    """A note without a heading is called after its file. Renamed, its vectors must speak of the new name, as a fresh index would."""
    rig.vault.write("Untitled.md", "Some words about nothing.")
    rig.indexer.reindex()
    rig.vault.move("Untitled.md", "Budget 2027.md")
    assert counts(rig.indexer.reindex()) == {"moved": 1, "embedded": 1}
    assert "Budget 2027" in rig.embedder.embedded[-1]
    rig.consistent()


def test_case_only_rename_and_case_twins(rig: Rig) -> None:
    rig.vault.write("Note.md", "---\ntitle: One\n---\nupper")
    rig.indexer.reindex()
    rig.vault.move("Note.md", "note.md")
    assert counts(rig.indexer.reindex()) == {"moved": 1}
    rig.consistent()
    rig.vault.write("NOTE.md", "# Two\n\ntwin")
    if len(os.listdir(rig.vault.root)) == 1:
        pytest.skip("this file system does not tell cases apart")
    assert counts(rig.indexer.reindex()) == {"added": 1, "unchanged": 1, "embedded": 1}
    rig.consistent()
    assert rig.found("twin") == {"NOTE.md"}


ODD_NAMES = ["🧠.md", "a b_c.md", "n #1 [x](y).md", "cafe\u0301.md", "caf\u00e9.md", "C++ & 'quotes\".md", "สุขภาพ.md", "-.md", "a#2.md"]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_any_file_name_can_be_indexed_moved_and_removed(rig: Rig, name: str) -> None:
    rig.vault.write(f"d/{name}", "# Head\n\nneedle in here")
    rig.vault.write("other.md", "haystack")
    rig.indexer.reindex()
    assert rig.found("needl", "needle") == {f"d/{name}"}
    rig.vault.move(f"d/{name}", name)
    rig.indexer.reindex()
    assert rig.found("needl", "needle") == {name}
    rig.vault.remove(name)
    assert counts(rig.indexer.reindex()) == {"removed": 1, "unchanged": 1}
    assert rig.found("needl", "needle") == set()
    rig.consistent()


def test_equal_passages_share_one_vector(rig: Rig) -> None:
    rig.vault.write("a.md", "# Same\n\nThe very same text.")
    rig.vault.write("b/a.md", "# Same\n\nThe very same text.")
    rig.indexer.reindex()
    assert len(rig.embedder.embedded) == 1 and rig.manifest.count("vectors") == 1
    rig.vault.remove("a.md")
    rig.indexer.reindex()
    rig.consistent()


def test_an_edit_right_after_indexing_under_the_same_stamp_is_seen(rig: Rig) -> None:
    rig.vault.write("a.md", "# A\n\nfirst", mtime_ns=START_NS)
    rig.indexer.reindex()
    file = rig.vault.root / "a.md"
    with file.open("r+b") as out:  # in place: same inode, same size
        out.write(b"# A\n\nother")
    os.utime(file, ns=(START_NS, START_NS))
    rig.clock.now += 60 * 10**9
    assert counts(rig.indexer.reindex()) == {"updated": 1, "embedded": 1}
    assert rig.found("other") == {"a.md"} and rig.found("first") == set()


def test_a_touched_note_is_read_once_and_not_written(rig: Rig) -> None:
    rig.vault.write("a.md", "# A\n\ntext")
    rig.indexer.reindex()
    os.utime(rig.vault.root / "a.md", ns=(LONG_AGO + 5, LONG_AGO + 5))
    assert [path for path, _ in rig.indexer.plan().touched] == ["a.md"]
    assert counts(rig.indexer.reindex()) == {"unchanged": 1}
    assert rig.indexer.plan().empty
    with rig.snapshot() as library:
        assert library.notes()["a.md"].mtime_ns == LONG_AGO + 5, "or it would be taken for stale for ever"


def test_a_clock_that_jumps_back_loses_nothing(rig: Rig) -> None:
    rig.vault.write("a.md", "# A\n\nfirst", mtime_ns=START_NS - 10**9)
    rig.indexer.reindex()
    rig.clock.now -= 10**15
    rig.vault.write("a.md", "# A\n\nother", mtime_ns=rig.clock.now)
    assert counts(rig.indexer.reindex()) == {"updated": 1, "embedded": 1}
    rig.vault.write("a.md", "# A\n\nthird", mtime_ns=rig.clock.now)
    assert counts(rig.indexer.reindex()) == {"updated": 1, "embedded": 1}
    rig.consistent()


# What can't be read


class Picky(Exception):
    """Raised by a parser that meets a note it can't bear."""


def break_parser(rig: Rig, monkeypatch: pytest.MonkeyPatch, bad: str) -> list[str]:
    real, asked = type(rig.reader).note, []

    def note(self: object, path: str, raw: bytes) -> tuple[Note, tuple[object, ...]]:
        asked.append(path)
        if path == bad:
            raise Picky("unheard of")
        return real(rig.reader, path, raw)

    monkeypatch.setattr(type(rig.reader), "note", note)
    return asked


def test_a_note_that_breaks_the_parser_is_reported_and_the_rest_goes_on(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abc":
        rig.vault.write(f"{name}.md", f"# {name}\n\ntext")
    asked = break_parser(rig, monkeypatch, "b.md")
    result = rig.indexer.reindex()
    assert counts(result) == {"added": 2, "failed": 1, "embedded": 2}
    assert result.failures == (Failure("b.md", "b.md can't be parsed: Picky: unheard of"),)
    rig.consistent()
    asked.clear()
    again = rig.indexer.reindex()
    assert (counts(again), asked, again.failures) == ({"unchanged": 2, "failed": 1}, [], result.failures), "told again, not tried again"
    rig.vault.write("b.md", "# b\n\nmended, yet still not borne")
    assert counts(rig.indexer.reindex()) == {"unchanged": 2, "failed": 1} and asked == ["b.md"]
    monkeypatch.undo()
    rig.vault.write("b.md", "# b\n\nfine now")
    assert counts(rig.indexer.reindex()) == {"added": 1, "unchanged": 2, "embedded": 1}
    rig.vault.remove("b.md")
    assert counts(rig.indexer.reindex()) == {"removed": 1, "unchanged": 2}


def test_a_note_that_becomes_unreadable_is_no_longer_shown_as_it_was(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.vault.write("a.md", "# A\n\nzebra")
    rig.indexer.reindex()
    asked = break_parser(rig, monkeypatch, "a.md")
    rig.vault.write("a.md", "# A\n\ngiraffe")
    assert counts(rig.indexer.reindex()) == {"failed": 1} and asked == ["a.md"]
    assert rig.found("zebra") == set() and rig.manifest.count("chunks") == 0
    rig.consistent()


def test_a_file_that_may_not_be_read_is_tried_again_each_time(rig: Rig) -> None:
    rig.vault.write("big.md", b"x")
    with (rig.vault.root / "big.md").open("r+b") as file:
        file.truncate(21 * 1024 * 1024)  # over the limit of a note; permissions would not stop a privileged user
    result = rig.indexer.reindex()
    assert counts(result) == {"failed": 1} and "22 MB" in result.failures[0].reason
    rig.vault.write("big.md", "# Small\n\nnow")
    assert counts(rig.indexer.reindex()) == {"added": 1, "embedded": 1}


def test_what_stands_oddly_on_the_disk_is_told(rig: Rig, tmp_path: Path) -> None:
    rig.vault.write("a.md", "text")
    (tmp_path / "outside.md").write_text("secret")
    (rig.vault.root / "link.md").symlink_to(tmp_path / "outside.md")
    result = rig.indexer.reindex()
    assert counts(result) == {"added": 1, "failed": 1, "embedded": 1}
    assert [failure.path for failure in result.failures] == ["link.md"]


@pytest.mark.parametrize("how", ["deleted", "excluded", "split"])
def test_a_note_that_can_not_be_read_is_told_until_it_is_dealt_with(rig: Rig, how: str) -> None:
    """The reason names the two remedies: to split the note, or to leave it out."""
    rig.vault.write("a.md", "# A")
    rig.vault.write("big.md", b"x" * (files.MAX_BYTES + 1))
    for _ in range(2):
        assert [failure.path for failure in rig.indexer.reindex().failures] == ["big.md"]
    if how == "split":
        rig.vault.write("big.md", "# Not so big\n\nzebra")
    elif how == "deleted":
        rig.vault.remove("big.md")
    else:
        rig.reader = VaultReader(rig.vault.root, ("./big.md",))
        rig.reopen()
    assert rig.indexer.reindex().failures == ()
    assert rig.found("zebra") == ({"big.md"} if how == "split" else set())
    rig.consistent()


def test_odd_notes_are_indexed_and_told(rig: Rig) -> None:
    rig.vault.write("bad.md", "---\ntitle: a: b\n---\nzebra")
    result = rig.indexer.reindex()
    assert counts(result) == {"added": 1, "embedded": 1}
    assert [problem.path for problem in result.problems] == ["bad.md"] and rig.found("zebra") == {"bad.md"}


def test_a_file_that_vanishes_between_plan_and_reading(rig: Rig) -> None:
    rig.vault.write("a.md", "# A\n\nzebra")
    rig.indexer.reindex()
    rig.vault.write("a.md", "# A\n\nlonger than before")
    rig.vault.write("b.md", "# B")
    todo = rig.indexer.plan()
    rig.vault.remove("a.md")
    rig.vault.remove("b.md")
    assert counts(rig.indexer.apply_words(todo)) == {"removed": 1}
    rig.indexer.apply_vectors()
    rig.consistent()


def test_a_move_that_breaks_on_the_way(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.vault.write("a.md", "# A\n\nzebra")
    rig.indexer.reindex()
    rig.vault.move("a.md", "b.md")
    break_parser(rig, monkeypatch, "b.md")
    assert counts(rig.indexer.reindex()) == {"removed": 1, "failed": 1}
    rig.consistent()
    rig.vault.move("b.md", "c.md")
    assert counts(rig.indexer.reindex()) == {"removed": 1, "added": 1} or rig.manifest.failed() == set()
    rig.consistent()


# Holding back


def fill(rig: Rig, count: int = 30) -> None:
    for i in range(count):
        rig.vault.write(f"n{i:02}.md", f"# Note {i}\n\ntext{i}")


def test_an_empty_vault_does_not_wipe_the_index(rig: Rig) -> None:
    fill(rig)
    rig.indexer.reindex()
    for file in list(rig.vault.root.iterdir()):
        file.rename(rig.vault.root.parent / file.name)
    result = rig.indexer.reindex()
    assert counts(result) == {} and "30 of 30" in str(result.held_back)
    assert rig.manifest.count("notes") == 30 and rig.found("text7") == {"n07.md"}
    for file in rig.vault.root.parent.glob("n*.md"):
        file.rename(rig.vault.root / file.name)
    assert counts(rig.indexer.reindex()) == {"unchanged": 30}
    for file in list(rig.vault.root.iterdir()):
        file.unlink()
    assert counts(rig.indexer.reindex(force=True)) == {"removed": 30}
    rig.consistent()


@pytest.mark.parametrize("paths", [None, ["priv"]])
def test_a_folder_that_is_excluded_goes_however_much_of_the_vault_it_is(rig: Rig, paths: list[str] | None) -> None:
    """Folders are excluded for privacy: what was indexed of them before must not be found any more."""
    rig.vault.write("public.md", "# Public\n\nzebra")
    for i in range(30):
        rig.vault.write(f"priv/n{i:02}.md", f"# Note {i}\n\nsecret{i}")
    rig.indexer.reindex()
    rig.reader = VaultReader(rig.vault.root, ("priv",))
    rig.reopen()
    result = rig.indexer.reindex(paths)
    assert result.removed == 30 and result.held_back is None
    assert rig.found("secret7") == set() and rig.found("zebra") == {"public.md"}
    rig.consistent()


def test_a_missing_vault_removes_nothing(rig: Rig) -> None:
    fill(rig, 3)
    rig.indexer.reindex()
    rig.vault.root.rename(rig.vault.root.parent / "unplugged")
    for paths in (None, ["n00.md"]):
        result = rig.indexer.reindex(paths, force=True)
        assert counts(result) == {} and "there is no folder" in str(result.held_back)
    assert rig.manifest.count("notes") == 3


def test_a_folder_that_can_not_be_listed_keeps_its_notes(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.vault.write("open/a.md", "# A")
    rig.vault.write("shut/b.md", "# B")
    rig.indexer.reindex()
    walk = rig.reader.stat_all()
    del walk.stats["shut/b.md"], walk.stats["open/a.md"]
    walk.failures.append(("shut", "the folder can't be listed: Input/output error"))
    monkeypatch.setattr(type(rig.reader), "stat_all", lambda self: walk)
    result = rig.indexer.reindex()
    assert counts(result) == {"removed": 1, "failed": 1} and rig.manifest.listed(["shut/b.md", "open/a.md"]) == {"shut/b.md"}


# Parts of the work


def test_reindex_of_some_paths(rig: Rig) -> None:
    for path in ("a.md", "p/b.md", "p/q/c.md", "pp/d.md"):
        rig.vault.write(path, f"# {path}")
    assert counts(rig.indexer.reindex(["p/"])) == {"added": 2, "embedded": 2}
    assert counts(rig.indexer.reindex(["./a.md"])) == {"added": 1, "embedded": 1}
    rig.vault.remove("p/b.md")
    rig.vault.remove("p/q/c.md")
    assert counts(rig.indexer.reindex(["a.md"]))["unchanged"] == 1
    assert rig.manifest.count("notes") == 3
    assert counts(rig.indexer.reindex(["p"])) == {"removed": 2}
    assert counts(rig.indexer.reindex(["pp/d.md", "gone.md"])) == {"added": 1, "embedded": 1}
    rig.consistent()


def test_words_first_then_vectors_when_there_is_time(rig: Rig) -> None:
    fill(rig, 5)
    assert counts(rig.indexer.reindex(lex_only=True)) == {"added": 5}
    with rig.snapshot() as library:
        assert library.pending() == 5 and library.meaning is None
    assert rig.found("text3") == {"n03.md"}
    assert rig.indexer.apply_vectors(2) == 2
    with rig.snapshot() as library:
        assert library.pending() == 3 and library.meaning is not None
    assert counts(rig.indexer.reindex(pending_only=True)) == {"unchanged": 5, "embedded": 3}
    rig.consistent()


def test_pending_only_looks_at_no_file(rig: Rig) -> None:
    rig.vault.write("a.md", "# A")
    assert counts(rig.indexer.reindex(pending_only=True)) == {}


def test_newest_and_most_linked_notes_are_embedded_first(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onebrain.index.indexer._WINDOW", 1)
    monkeypatch.setattr("onebrain.index.indexer._EMBED", 2)
    for i in range(40):
        rig.vault.write(f"plain{i:02}.md", f"# Plain {i}\n\nSee [[hub]].")
    rig.vault.write("hub.md", "# Hub\n\neverybody points here", mtime_ns=LONG_AGO - 10**12)
    rig.vault.write("fresh.md", "# Fresh\n\nwritten last")
    rig.indexer.reindex(lex_only=True)
    rig.indexer.apply_vectors(2)
    assert {text.split("\n")[0] for text in rig.embedder.embedded} == {"Hub", "Fresh"}


def test_embedding_can_be_stopped_and_goes_on(rig: Rig) -> None:
    fill(rig, 80)
    rig.indexer.reindex(lex_only=True)
    seen: list[Progress] = []
    embedded = rig.indexer.apply_vectors(progress=seen.append, stop=lambda: len(seen) >= 1)
    assert embedded == 32 and seen == [Progress("vectors", 32, 80)]
    assert rig.indexer.apply_vectors() == 48
    assert len(set(rig.embedder.embedded)) == len(rig.embedder.embedded) == 80
    rig.consistent()


def test_progress_counts_notes(rig: Rig) -> None:
    fill(rig, 4)
    seen: list[Progress] = []
    rig.indexer.reindex(progress=seen.append)
    assert seen == [Progress("words", 4, 4), Progress("vectors", 4, 4)]


def test_a_model_that_talks_nonsense_is_an_error_and_keeps_nothing(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.vault.write("a.md", "# A")
    monkeypatch.setattr(HashEmbedder, "embed_passages", lambda self, texts: self._vector("x")[None, :] * float("nan"))
    with pytest.raises(ModelUnavailable):
        rig.indexer.reindex()
    assert rig.manifest.count("vectors") == 0 and rig.manifest.count("pending") == 1
    monkeypatch.undo()
    assert counts(rig.indexer.reindex()) == {"unchanged": 1, "embedded": 1}


def test_without_a_model_words_alone(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.indexer.embedder = None
    rig.vault.write("a.md", "# A\n\nzebra")
    assert counts(rig.indexer.reindex()) == {"added": 1}
    assert rig.found("zebra") == {"a.md"}
    rig.close()


# Fingerprints


def test_force_reads_everything_again_and_embeds_nothing_again(rig: Rig) -> None:
    fill(rig, 3)
    rig.indexer.reindex()
    assert counts(rig.indexer.reindex(force=True)) == {"updated": 3}
    assert len(rig.embedder.embedded) == 3
    rig.consistent()


def test_another_model_embeds_all_again_and_says_why(rig: Rig) -> None:
    fill(rig, 3)
    rig.indexer.reindex()
    other = HashEmbedder()
    other.fingerprint = "hash-3gram-2"
    rig.indexer.embedder = other
    rig.indexer.settle()
    reasons = rig.indexer.told()
    assert len(reasons) == 1 and "hash-3gram-1 to hash-3gram-2" in reasons[0]
    assert rig.manifest.count("pending") == 3
    assert rig.indexer.apply_vectors() == 3 and len(other.embedded) == 3


def test_another_reader_reads_all_again_even_when_interrupted(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(rig, 3)
    rig.indexer.reindex()
    monkeypatch.setattr("onebrain.index.reading.CHUNKER_VERSION", 99)
    assert "read again" in rig.reopen()[0]
    assert rig.reopen() == (), "the reason is told once, the work is remembered"
    assert counts(rig.indexer.reindex()) == {"updated": 3}
    assert len(rig.embedder.embedded) == 3
    rig.consistent()


def test_another_analyser_writes_all_words_again(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(rig, 3)
    rig.indexer.reindex()
    monkeypatch.setattr("onebrain.index.lexical.LexicalIndex.fingerprint", "words-99")
    assert "made anew" in rig.reopen()[0]
    assert counts(rig.indexer.reindex()) == {"unchanged": 3}
    rig.consistent()


# Links


def test_links_follow_what_comes_and_goes(rig: Rig) -> None:
    rig.vault.write("a.md", "[[b]] and [[Nick]]")
    rig.indexer.reindex()

    def links(library: Library) -> dict[str, tuple[tuple[str, LinkKind], ...]]:
        return {path: note.links for path, note in library.notes().items()}

    with rig.snapshot() as library:
        assert links(library) == {"a.md": ()}
    rig.vault.write("b.md", "# B")
    rig.vault.write("c.md", "---\naliases: [Nick]\n---\n# C")
    rig.indexer.reindex()
    with rig.snapshot() as library:
        assert links(library)["a.md"] == (("b.md", LinkKind.LINK), ("c.md", LinkKind.LINK))
        assert library.notes()["c.md"].backlinks == (("a.md", LinkKind.LINK),)
    rig.vault.remove("b.md")
    rig.vault.write("c.md", "---\naliases: [Other]\n---\n# C")
    rig.indexer.reindex()
    with rig.snapshot() as library:
        assert links(library) == {"a.md": (), "c.md": ()}


# Random lives


NAMES = ["a.md", "A.md", "sub/a.md", "é.md", "e\u0301.md", "🧠 x.md", "n #1 [y](z).md"]
BODIES = st.sampled_from(["", "# One\n\nzebra", "# Two\n\ngiraffe [[a]]", f"# Long\n\n{LONG}", "---\na: b: c\n---\nbroken", "plain"])


class Life(RuleBasedStateMachine):
    """Any edits in any order, synced at any time: the index equals the disk, and moves cost no embedding."""

    def __init__(self) -> None:
        super().__init__()
        import tempfile

        self.base = tempfile.TemporaryDirectory()
        self.rig = Rig(Path(self.base.name))
        self.there: set[str] = set()
        self.synced = False

    @rule(name=st.sampled_from(NAMES), body=BODIES)
    def write(self, name: str, body: str) -> None:
        self.rig.vault.write(name, body)
        self.there.add(name)
        self.synced = False

    @precondition(lambda self: self.there)
    @rule(data=st.data(), to=st.sampled_from(NAMES))
    def move(self, data: st.DataObject, to: str) -> None:
        name = data.draw(st.sampled_from(sorted(self.there)))
        self.rig.vault.move(name, to)
        self.there = self.there - {name} | {to}
        self.synced = False

    @precondition(lambda self: self.there)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.there)))
        self.rig.vault.remove(name)
        self.there.remove(name)
        self.synced = False

    @rule(how=st.sampled_from(["all", "words", "single", "reopen"]))
    def sync(self, how: str) -> None:
        if how == "reopen":
            self.rig.reopen()
        elif how == "words":
            self.rig.indexer.reindex(lex_only=True)
        elif how == "single":
            for name in NAMES:
                self.rig.indexer.apply_words(self.rig.indexer.plan([name]))
        else:
            self.rig.indexer.reindex()
            self.synced = True

    @invariant()
    def equal(self) -> None:
        if self.synced:
            self.rig.consistent()

    def teardown(self) -> None:
        self.rig.indexer.reindex()
        self.rig.consistent()
        self.rig.close()
        self.base.cleanup()


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=12, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck))

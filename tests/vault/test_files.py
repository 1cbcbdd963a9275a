"""The vault on disk: what is listed, what is read, what is never touched."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from onebrain.errors import NoteUnreadable, VaultNotFound
from onebrain.vault import files


def put(vault: Path, *paths: str) -> None:
    for path in paths:
        target = vault / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("x", encoding="utf-8")


def test_only_notes_are_listed(tmp_path: Path) -> None:
    put(
        tmp_path,
        "a.md",
        "B.MD",
        "deep/er/c.md",
        "no.txt",
        "md",
        "canvas.canvas",
        ".hidden.md",
        ".obsidian/x.md",
        ".trash/y.md",
        "node_modules/z.md",
        "a/node_modules/z.md",
        "attachments/img.md",
        "deep/attachments/img.md",
        "templates/t.md",
        "templates2/t.md",
        "a.sync-conflict-20240101-120000-ABCDEFG.md",
        "a (Pim's conflicted copy 2024-01-01).md",
        "~$a.md",
        "._a.md",
        "fifo/ok.md",
    )
    walk = files.stat_all(tmp_path, ("attachments", "templates/"))
    assert sorted(walk.stats) == ["B.MD", "a.md", "deep/er/c.md", "fifo/ok.md", "templates2/t.md"]
    assert walk.failures == []
    assert walk.stats["a.md"].size == 1


def test_cards_and_events_are_the_only_hidden_sources(tmp_path: Path) -> None:
    put(
        tmp_path,
        ".claude/memory/cards/one.md",
        ".claude/memory/events/jay.jsonl",
        ".claude/memory/events/x.md",
        ".claude/other.md",
        ".claude/memory/cards/deep/two.md",
    )
    assert sorted(files.stat_all(tmp_path).stats) == [".claude/memory/cards/one.md", ".claude/memory/events/jay.jsonl"]
    assert sorted(files.stat_all(tmp_path, (".claude/memory/cards",)).stats) == [".claude/memory/events/jay.jsonl"]


@pytest.mark.parametrize(
    ("path", "listed"),
    [
        ("a.md", True),
        ("x/a.MD", True),
        ("a.txt", False),
        (".obsidian/a.md", False),
        ("x/node_modules/a.md", False),
        ("x/attachments/a.md", False),
        ("t/p/a.md", False),
        (".claude/memory/cards/a.md", True),
        (".claude/memory/events/a.jsonl", True),
        (".claude/a.md", False),
        ("a.sync-conflict-1.md", False),
        ("", False),
    ],
)
def test_a_single_path_is_judged_like_the_walk(path: str, listed: bool) -> None:
    assert files.is_note(path, ("attachments", "t/p")) is listed


def test_links_are_followed_only_inside(tmp_path: Path) -> None:
    vault, outside = tmp_path / "v", tmp_path / "o"
    put(vault, "a.md", "real/b.md")
    put(outside, "secret.md")
    (vault / "in.md").symlink_to(vault / "a.md")
    (vault / "out.md").symlink_to(outside / "secret.md")
    (vault / "dead.md").symlink_to(vault / "gone.md")
    (vault / "dir").symlink_to(vault / "real")
    (vault / "loop").symlink_to(vault)
    walk = files.stat_all(vault)
    assert sorted(walk.stats) == ["a.md", "in.md", "real/b.md"]
    assert sorted(path for path, _ in walk.failures) == ["dead.md", "out.md"]
    assert files.read(vault, "in.md") == b"x"
    with pytest.raises(NoteUnreadable, match="leads out of the vault"):
        files.read(vault, "out.md")


def test_many_are_read_as_one_is(tmp_path: Path) -> None:
    vault, outside = tmp_path / "v", tmp_path / "o"
    put(vault, "a.md", "real/b.md")
    put(outside, "secret.md")
    (vault / "in.md").symlink_to(vault / "real" / "b.md")
    (vault / "out.md").symlink_to(outside / "secret.md")
    (vault / "away").symlink_to(outside)
    asked = ["a.md", "real/b.md", "in.md", "out.md", "away/secret.md", "gone.md", "real/..", "../o/secret.md", "a\0.md", "real/a\0.md", ""]
    assert dict(files.read_all(vault, asked)) == {path: b"x" for path in ("a.md", "real/b.md", "in.md")}


@pytest.mark.parametrize("path", ["../secret.md", "a/../../secret.md", "/etc/passwd", "", ".", "a\0.md"])
def test_nothing_outside_the_vault_is_read(tmp_path: Path, path: str) -> None:
    put(tmp_path, "secret.md", "v/a.md")
    with pytest.raises(NoteUnreadable):
        files.read(tmp_path / "v", path)


def test_what_can_not_be_read_says_why(tmp_path: Path) -> None:
    put(tmp_path, "a.md")
    os.mkfifo(tmp_path / "pipe.md")
    with pytest.raises(NoteUnreadable, match="no note b.md"):
        files.read(tmp_path, "b.md")
    with pytest.raises(NoteUnreadable, match="not a note"):
        files.read(tmp_path, "pipe.md")
    with open(tmp_path / "big.md", "wb") as big:
        big.truncate(files.MAX_BYTES + 1)
    with pytest.raises(NoteUnreadable, match="more than the 20 MB"):
        files.read(tmp_path, "big.md")
    assert sorted(files.stat_all(tmp_path).stats) == ["a.md", "big.md"]
    assert files.stat(tmp_path, "a.md") == files.stat_all(tmp_path).stats["a.md"]
    assert files.stat(tmp_path, "pipe.md") is None
    assert files.stat(tmp_path, "../x.md") is None


def test_a_missing_vault(tmp_path: Path) -> None:
    with pytest.raises(VaultNotFound):
        files.stat_all(tmp_path / "none")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list every folder")
def test_a_folder_that_can_not_be_listed_is_reported(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "shut/b.md")
    (tmp_path / "shut").chmod(0)
    walk = files.stat_all(tmp_path)
    (tmp_path / "shut").chmod(0o700)
    assert sorted(walk.stats) == ["a.md"]
    assert [path for path, _ in walk.failures] == ["shut"]


def test_a_name_that_is_not_unicode_is_reported(tmp_path: Path) -> None:
    with open(os.fsencode(tmp_path) + b"/caf\xe9.md", "wb") as file:
        file.write(b"x")
    walk = files.stat_all(tmp_path)
    assert walk.stats == {}
    assert walk.failures == [("caf\\xe9.md", "the file name is not valid UTF-8; rename it")]


@pytest.mark.parametrize(
    ("raw", "text", "problem"),
    [
        (b"a\r\nb\rc\n", "a\nb\nc\n", None),
        (b"\xef\xbb\xbfhi", "hi", None),
        ("häß".encode("utf-16"), "häß", "UTF-16"),
        ("häß".encode("cp1252"), "häß", "line 1 is not UTF-8; the file was read as Windows-1252"),
        (b"a\nb\x81\xe9\n", "a\nb\x81é\n", "line 2 is not UTF-8; the file was read as Latin-1"),
        ("日本語".encode() + b"\xff" + "日本語".encode(), "日本語\ufffd日本語", "unreadable characters were replaced"),
        (b"x" * 300 + b"\0", "x" * 300 + " ", "NUL"),
        (b"\0\1\2\0" * 50, "", "not a text file"),
        (b"", "", None),
    ],
)
def test_bytes_become_text(raw: bytes, text: str, problem: str | None) -> None:
    found, told = files.decode(raw)
    assert found == text
    assert (told is None) if problem is None else (problem in (told or ""))


def test_five_thousand_files_are_walked_quickly(tmp_path: Path) -> None:
    for folder in range(50):
        (tmp_path / str(folder)).mkdir()
        for note in range(100):
            (tmp_path / str(folder) / f"{note}.md").touch()
    times = []
    for _ in range(3):
        begin = time.process_time()
        assert len(files.stat_all(tmp_path, ("attachments",)).stats) == 5000
        times.append(time.process_time() - begin)
    assert min(times) < 0.5  # 0.06 s on a quiet core

"""A file is replaced whole or not at all, where its name leads, with the permissions it had."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from onebrain.disk import replace_file
from onebrain.errors import StorageFull

posix = pytest.mark.skipif(os.name == "nt", reason="permissions are POSIX's")


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


def mode(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def test_a_file_is_made_with_its_folders_and_replaced(tmp_path: Path) -> None:
    file = tmp_path / "a" / "b" / ("n" * 250 + ".md")
    replace_file(file, "one\r\n")
    replace_file(file, "two\n\udcff")
    assert file.read_bytes() == b"two\n\xff", "neither line ends nor odd bytes are changed"
    assert list(file.parent.iterdir()) == [file]


@posix
@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize(
    ("before", "given", "after"), [(None, None, 0o640), (0o666, None, 0o666), (0o644, 0o600, 0o600), (None, 0o600, 0o600)]
)
def test_permissions_stay(tmp_path: Path, before: int | None, given: int | None, after: int) -> None:
    file = tmp_path / "note.md"
    if before is not None:
        file.write_text("old")
        file.chmod(before)
    replace_file(file, "new", mode=given)
    assert (file.read_text(), mode(file)) == ("new", after)


def test_a_link_keeps_pointing_to_the_file_it_names(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "vault").mkdir()
    (tmp_path / "shared" / "real.md").write_text("old")
    (tmp_path / "vault" / "link.md").symlink_to("../shared/real.md")
    replace_file(tmp_path / "vault" / "link.md", "new", within=tmp_path)
    assert (tmp_path / "vault" / "link.md").is_symlink() and (tmp_path / "shared" / "real.md").read_text() == "new"
    with pytest.raises(StorageFull, match="lies outside"):
        replace_file(tmp_path / "vault" / "link.md", "newer", within=tmp_path / "vault")
    assert (tmp_path / "shared" / "real.md").read_text() == "new"


@pytest.mark.parametrize("step", ["fsync", "chmod", "replace"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    file = tmp_path / "note.md"
    file.write_text("old")

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(StorageFull, match=r"note\.md can't be written: No space left") as told:
        replace_file(file, "new", hint="Make room.")
    monkeypatch.undo()
    assert told.value.hint == "Make room."
    assert file.read_text() == "old" and list(tmp_path.iterdir()) == [file]


def test_a_place_that_can_not_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    for place in (tmp_path / "file" / "note.md", tmp_path / "folder"):
        with pytest.raises(StorageFull, match="can't be written"):
            replace_file(place, "text")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]

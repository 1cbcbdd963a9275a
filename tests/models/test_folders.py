"""Model folders are whole or absent, whatever interrupts the writing."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
import tiny_models as tiny

from onebrain.errors import ModelUnavailable, StorageFull
from onebrain.models.folders import RECORD, damaged, open_folder, read_recorded, write_folder


def fill(making: Path) -> None:
    tiny.embedder(making)


def test_a_written_folder_is_recorded_and_reads_back(tmp_path: Path) -> None:
    written = write_folder(tmp_path / "cache" / "m", "print-1", "test", fill)
    assert read_recorded(written.path) == written == open_folder(written.path)
    assert (written.model_id, written.fingerprint, written.dim, written.model_file) == ("m", "print-1", tiny.DIM, "model.onnx")
    assert damaged(written) == [] and written.size > 1000
    assert [entry.name for entry in written.path.parent.iterdir()] == ["m"]


def test_a_truncated_file_makes_the_folder_absent(tmp_path: Path) -> None:
    written = write_folder(tmp_path / "m", "p", "test", fill)
    model = written.path / "model.onnx"
    model.write_bytes(model.read_bytes()[:-1])
    assert read_recorded(written.path) is None


def test_a_changed_byte_is_found_by_reading_everything(tmp_path: Path) -> None:
    written = write_folder(tmp_path / "m", "p", "test", fill)
    config = written.path / "config.json"
    config.write_text(config.read_text().replace("8", "9"))
    assert read_recorded(written.path) == written and damaged(written) == ["config.json"]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"files": {"../x": 1}}', '{"files": 3}'])
def test_a_broken_record_makes_the_folder_absent(tmp_path: Path, content: str) -> None:
    (tmp_path / RECORD).write_text(content)
    assert read_recorded(tmp_path) is None


@pytest.mark.parametrize(("code", "expected"), [(errno.ENOSPC, StorageFull), (errno.EROFS, StorageFull), (errno.EIO, OSError)])
def test_a_failing_disk_leaves_nothing_behind(tmp_path: Path, code: int, expected: type[Exception]) -> None:
    def fails(making: Path) -> None:
        fill(making)
        raise OSError(code, "no")

    with pytest.raises(expected):
        write_folder(tmp_path / "m", "p", "test", fails)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_cleared_and_a_broken_folder_replaced(tmp_path: Path) -> None:
    (tmp_path / ".making-dead").mkdir()
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "model.onnx").write_text("half")
    write_folder(tmp_path / "m", "p", "test", fill)
    assert [entry.name for entry in tmp_path.iterdir()] == ["m"]


def test_a_users_folder_is_identified_by_its_content(tmp_path: Path) -> None:
    first = open_folder(tiny.embedder(tmp_path / "mine"))
    assert first.origin == "folder" and first.dim == tiny.DIM
    (tmp_path / "mine" / "tokenizer.json").write_text("{}")
    assert open_folder(tmp_path / "mine").fingerprint != first.fingerprint


def test_a_model_in_a_subfolder_is_found_and_the_width_defaults(tmp_path: Path) -> None:
    tiny.embedder(tmp_path)
    (tmp_path / "onnx").mkdir()
    (tmp_path / "model.onnx").rename(tmp_path / "onnx" / "model_quantized.onnx")
    (tmp_path / "config.json").unlink()
    found = open_folder(tmp_path)
    assert (found.model_file, found.dim) == ("onnx/model_quantized.onnx", 384)


def test_a_folder_that_is_no_model_says_all_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"tokenizer\.json, tokenizer_config\.json, model\.onnx missing"):
        open_folder(tmp_path / "absent")

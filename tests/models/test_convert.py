"""The converter on a tiny source: right, repeatable, and clear about a file that is not one."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import tiny_source
from reference import encode

from onebrain.errors import ModelUnavailable
from onebrain.models.e5_convert import convert
from onebrain.models.e5_source import E5Source
from onebrain.models.embed import E5Embedder
from onebrain.models.folders import ModelFolder, open_folder
from onebrain.models.words import NIBBLES, SCALES, WordTable


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return tiny_source.write(tmp_path / "e5.bin")


@pytest.fixture
def folder(tmp_path: Path, source: Path) -> ModelFolder:
    made = tmp_path / "model"
    made.mkdir()
    convert(source, made)
    return open_folder(made)


def test_the_folder_has_all_that_fastembed_reads_and_the_shared_table(folder: ModelFolder) -> None:
    names = {entry.name for entry in folder.path.iterdir()}
    settings = {"config.json", "tokenizer_config.json", "special_tokens_map.json"}
    assert names == {"model.onnx", "tokenizer.json", NIBBLES, SCALES, *settings}
    assert folder.dim == tiny_source.HIDDEN and WordTable.exists(folder.path)


def test_the_graph_computes_what_the_reference_computes(folder: ModelFolder, source: Path) -> None:
    embedder = E5Embedder(folder, threads=1)
    assert embedder.token_ids("red  apples") == [5, 6, 7]
    text = "red apples ab"
    mean = encode(E5Source(source), np.array([0, *embedder.token_ids("passage: " + text), 2])).mean(0)
    assert float(embedder.embed_passages([text])[0] @ (mean / np.linalg.norm(mean))) > 0.999


def test_the_same_source_gives_the_same_bytes(folder: ModelFolder, source: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    again.mkdir()
    convert(source, again)
    assert all((again / entry.name).read_bytes() == entry.read_bytes() for entry in folder.path.iterdir())


@pytest.mark.parametrize(("content", "reason"), [(b"GGUF....", "not an E5S1 file"), (b"E5S1", "ends too early"), (None, "ends too early")])
def test_a_file_that_is_not_the_source_is_named(source: Path, content: bytes | None, reason: str) -> None:
    source.write_bytes(source.read_bytes()[:300] if content is None else content)
    with pytest.raises(ModelUnavailable, match=reason):
        E5Source(source)


def test_blocks_of_another_length_are_refused(source: Path) -> None:
    content = bytearray(source.read_bytes())
    content[40:44] = (64).to_bytes(4, "little")
    source.write_bytes(content)
    with pytest.raises(ModelUnavailable, match="blocks of 64"):
        E5Source(source)


def test_without_the_onnx_package_the_error_says_what_to_install(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "onebrain.models.e5_graph", raising=False)
    monkeypatch.setitem(sys.modules, "onebrain.models.onnx_graph", None)
    with pytest.raises(ModelUnavailable) as caught:
        convert(source, tmp_path)
    assert "onebrain[models]" in (caught.value.hint or "")

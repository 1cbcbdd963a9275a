"""Model folders: what makes one complete, what identifies it, and how one is written so that no crash leaves half of it.

A folder of ours carries `onebrain-model.json` with the size and sha256 of every file; it is written last, inside a temporary directory
that is then renamed. So a folder that has the record is whole, and a size that differs means that somebody changed it since.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onebrain.errors import ModelUnavailable, StorageFull

RECORD = "onebrain-model.json"
MODEL_FILES = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
NEEDED = ("tokenizer.json", "tokenizer_config.json")
DEFAULT_DIM = 384
_FULL = {errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EPERM, getattr(errno, "EDQUOT", errno.ENOSPC)}


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A complete model on disk. `fingerprint` names the vectors it makes; `origin` says where it came from."""

    path: Path
    model_id: str
    fingerprint: str
    model_file: str
    dim: int
    origin: str

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(entry.stat().st_size for entry in self.path.rglob("*") if entry.is_file())


def open_folder(path: Path) -> ModelFolder:
    """A folder the user named. Raises ModelUnavailable with everything that is missing."""
    recorded = read_recorded(path)
    if recorded:
        return recorded
    model_file = next((name for name in MODEL_FILES if (path / name).is_file()), None)
    missing = [name for name in NEEDED if not (path / name).is_file()] + ([] if model_file else ["model.onnx"])
    if missing or model_file is None:
        raise ModelUnavailable(
            f"{path} is not a model folder: {', '.join(missing)} missing.",
            hint="name a folder with model.onnx, tokenizer.json, config.json, tokenizer_config.json and special_tokens_map.json",
        )
    digest = sha256(path / model_file, path / "tokenizer.json")
    return ModelFolder(path, path.name, f"sha256:{digest[:32]}", model_file, _dim(path), "folder")


def read_recorded(path: Path) -> ModelFolder | None:
    """The folder if we wrote it and every file still has its size; None otherwise."""
    try:
        record = json.loads((path / RECORD).read_text(encoding="utf-8"))
        whole = all((path / name).stat().st_size == entry["bytes"] for name, entry in record["files"].items())
        return ModelFolder(path, path.name, record["fingerprint"], record["model_file"], record["dim"], record["origin"]) if whole else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def damaged(folder: ModelFolder) -> list[str]:
    """Names of files whose content is not what the record says; reads every byte."""
    record = json.loads((folder.path / RECORD).read_text(encoding="utf-8"))
    return [name for name, entry in record["files"].items() if sha256(folder.path / name) != entry["sha256"]]


def write_folder(target: Path, fingerprint: str, origin: str, fill: Callable[[Path], None]) -> ModelFolder:
    """Let `fill` write into a temporary directory beside `target`, record what it wrote, rename. The caller holds the lock."""
    with storage_errors(target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
        for stale in target.parent.glob(".making-*"):  # the lock is ours, so whoever made these has died
            shutil.rmtree(stale, ignore_errors=True)
        making = Path(tempfile.mkdtemp(prefix=".making-", dir=target.parent))
        try:
            fill(making)
            _record(making, fingerprint, origin)
            if target.exists():
                shutil.rmtree(target)
            making.rename(target)
        finally:
            shutil.rmtree(making, ignore_errors=True)
    written = read_recorded(target)
    if written is None:
        raise ModelUnavailable(f"{target} changed while it was written.", hint="run `onebrain search model prepare` again")
    return written


@contextmanager
def storage_errors(place: Path) -> Iterator[None]:
    """Turn a full or read-only disk into StorageFull; any other OSError passes."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        message = f"Could not write to {place}: {error.strerror}."
        raise StorageFull(message, hint="make it writable, free about 200 MB there and run the command again") from error


def sha256(*paths: Path) -> str:
    """Hex digest over the files' contents, one after the other."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def _record(folder: Path, fingerprint: str, origin: str) -> None:
    names = sorted(entry.relative_to(folder).as_posix() for entry in folder.rglob("*") if entry.is_file())
    files: dict[str, Any] = {name: {"bytes": (folder / name).stat().st_size, "sha256": sha256(folder / name)} for name in names}
    model_file = next(name for name in MODEL_FILES if name in files)
    record = {"fingerprint": fingerprint, "origin": origin, "model_file": model_file, "dim": _dim(folder), "files": files}
    for name in names:
        with (folder / name).open("rb+") as file:
            os.fsync(file.fileno())
    (folder / RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def _dim(folder: Path) -> int:
    try:
        return int(json.loads((folder / "config.json").read_text(encoding="utf-8"))["hidden_size"])
    except (OSError, ValueError, KeyError, TypeError):
        return DEFAULT_DIM

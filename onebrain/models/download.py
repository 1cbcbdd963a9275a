"""Fetch multilingual-e5-small from its public home. The only code in this room that opens a connection the user did not configure,
and it runs only for `onebrain search model prepare --download`. Every file is pinned: revision, size and sha256.
"""

from __future__ import annotations

import hashlib
import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from onebrain.errors import ModelUnavailable

HOST = "https://huggingface.co"
REPOSITORY = "Xenova/multilingual-e5-small"
REVISION = "761b726dd34fb83930e26aab4e9ac3899aa1fa78"
_BLOCK = 1 << 20
_TIMEOUT_S = 30.0  # per read: a slow line is fine, a dead one is not
_HINT = "check the connection and run it again; without a model, search works by words"


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """One file of the repository and the name it gets in the model folder."""

    source: str
    name: str
    size: int
    sha256: str


FILES = (
    PinnedFile("config.json", "config.json", 658, "cb99455288675345e1a4f411438d5d0adbba5fbd3a67ea4fb03c015433b996c1"),
    PinnedFile("tokenizer_config.json", "tokenizer_config.json", 443, "a1d6bc8734a6f635dc158508bef000f8e2e5a759c7d92f984b2c86e5ff53425b"),
    PinnedFile(
        "special_tokens_map.json", "special_tokens_map.json", 167, "d05497f1da52c5e09554c0cd874037a083e1dc1b9cfd48034d1c717f1afc07a7"
    ),
    PinnedFile("tokenizer.json", "tokenizer.json", 17_082_730, "0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39"),
    PinnedFile(
        "onnx/model_quantized.onnx", "model.onnx", 118_308_185, "f80102d3f2a1229f387d3c81909990d8945513e347b0eab049f7de3c6f98c193"
    ),
)


def download_model(folder: Path, progress: Callable[[str], None], *, host: str = HOST, files: tuple[PinnedFile, ...] = FILES) -> None:
    """Write every file into `folder`. Raises ModelUnavailable when one can't be had or is not the pinned one."""
    for file in files:
        progress(f"downloading {file.name} ({max(1, file.size >> 20)} MB)")
        url = f"{host.rstrip('/')}/{REPOSITORY}/resolve/{REVISION}/{file.source}"
        try:
            _fetch(url, folder / file.name, file)
        except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
            if isinstance(error, urllib.error.HTTPError):
                error.close()
            reason = getattr(error, "reason", None) or error
            raise ModelUnavailable(f"Could not download {url}: {reason}.", hint=_HINT) from error


def _fetch(url: str, target: Path, file: PinnedFile) -> None:
    digest = hashlib.sha256()
    received = 0
    with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as response, target.open("wb") as out:
        while block := response.read(_BLOCK):
            received += len(block)
            if received > file.size:
                break
            digest.update(block)
            out.write(block)
    if received != file.size or digest.hexdigest() != file.sha256:
        raise ModelUnavailable(f"{url} is not the pinned file ({received} bytes, {file.size} expected).", hint=_HINT)

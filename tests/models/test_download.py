"""Downloads are pinned; a host that answers anything else leaves nothing behind."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from fake_model import served

from onebrain.errors import ModelUnavailable
from onebrain.models import weights
from onebrain.models.download import FILES, REPOSITORY, REVISION, PinnedFile, download_model
from onebrain.models.weights import prepare

BODY = b"x" * 5000
GOOD = PinnedFile("good", "good", len(BODY), hashlib.sha256(BODY).hexdigest())


class Hub(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        name = self.path.removeprefix(f"/{REPOSITORY}/resolve/{REVISION}/")
        if name == "absent":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write({"truncated": BODY[:100], "other": b"y" * len(BODY)}.get(name, BODY))

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@pytest.fixture
def host() -> Iterator[str]:
    with served(Hub) as address:
        yield address


def test_a_pinned_file_arrives(tmp_path: Path, host: str) -> None:
    lines: list[str] = []
    download_model(tmp_path, lines.append, host=host + "/", files=(GOOD,))
    assert (tmp_path / "good").read_bytes() == BODY and lines == ["downloading good (1 MB)"]


@pytest.mark.parametrize("name", ["absent", "truncated", "other"])
def test_anything_else_is_refused_with_advice(tmp_path: Path, host: str, name: str) -> None:
    with pytest.raises(ModelUnavailable) as caught:
        download_model(tmp_path, lambda line: None, host=host, files=(PinnedFile(name, name, GOOD.size, GOOD.sha256),))
    assert "connection" in (caught.value.hint or "")


def test_a_longer_answer_is_cut_off_and_refused(tmp_path: Path, host: str) -> None:
    with pytest.raises(ModelUnavailable, match="not the pinned file"):
        download_model(tmp_path, lambda line: None, host=host, files=(PinnedFile("good", "good", 10, GOOD.sha256),))


def test_preparing_downloads_only_when_asked_and_a_failure_leaves_the_cache_empty(tmp_path: Path, host: str) -> None:
    with pytest.raises(ModelUnavailable, match="no embedding model yet"):
        prepare(tmp_path, source=lambda: None, host=host)
    with pytest.raises(ModelUnavailable, match="not the pinned file"):
        prepare(tmp_path, source=lambda: None, host=host, download=True)
    assert weights.list_models(tmp_path) == [] and [entry.name for entry in tmp_path.iterdir()] == [".lock"]


def test_a_closed_port_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="Could not download http://127"):
        download_model(tmp_path, lambda line: None, host="http://127.0.0.1:9", files=FILES)

"""The whole way with a real index and an embedding model that breaks: what is indexed still answers, and the fault is named."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from onebrain.brain import Access, Brain
from onebrain.cli.app import run
from onebrain.cli.direct import direct
from onebrain.cli.terminal import Terminal
from onebrain.config import Config
from onebrain.errors import ModelUnavailable
from onebrain.index.opening import open_index
from onebrain.index.reading import VaultReader
from onebrain.models.ports import Floats
from onebrain.models.twins import HashEmbedder
from onebrain.vault.parse import Settings


class Breaking(HashEmbedder):
    """Works until somebody damages its file."""

    whole = True

    def embed_query(self, text: str) -> Floats:
        self._load()
        return super().embed_query(text)

    def embed_passages(self, texts: Sequence[str]) -> Floats:
        self._load()
        return super().embed_passages(texts)

    def _load(self) -> None:
        if not self.whole:
            raise ModelUnavailable("The embedding model in models/x can't be loaded: bad protobuf", hint="Prepare it again.")


Ask = Callable[..., tuple[int, str, str]]


@pytest.fixture
def model() -> Breaking:
    return Breaking()


@pytest.fixture
def ask(tmp_path: Path, model: Breaking, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """A command line in `tmp_path/vault`."""

    def opened(config: Config, **_: object) -> Brain:
        reader = VaultReader(config.vault, config.search.exclude, Settings(config.folders, config.search.date_order))
        learned: Any = SimpleNamespace(embedder=model, reranker=None, hyde=None, writing=None, troubles=[], unload=lambda: None)
        return Brain(config, open_index(config.data_dir / "index", reader, embedder=model), Access.OWNER, learned)

    def command(*argv: str) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        env = {"ONEBRAIN_DATA_DIR": str(tmp_path / "data")}
        code = run(Terminal(argv, env, tmp_path / "vault", out, err, direct, today=lambda: date(2026, 7, 15)))
        return code, out.getvalue(), err.getvalue()

    monkeypatch.setattr(Brain, "open", opened)
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault/onebrain.yml").write_text("search: {collection: broken}\n")
    return command


def test_a_model_that_breaks_leaves_the_words(ask: Ask, model: Breaking, tmp_path: Path) -> None:
    memories = tmp_path / "vault/05-agent/memory"
    memories.mkdir(parents=True)
    (memories / "kettle.md").write_text("# Kettle\n\nUser keeps the kettle in the shed.\n")
    assert ask("search", "kettle")[2] == ""
    model.whole = False
    (memories / "anvil.md").write_text("# Anvil\n\nUser keeps the anvil in the shed.\n")

    code, out, err = ask("search", "query", "where is the anvil")
    assert (code, "05-agent/memory/anvil.md" in out) == (0, True)
    assert err == (
        "⚠️  The answer comes from what is indexed. The embedding model in models/x can't be loaded: bad protobuf Prepare it again.\n"
    )
    told = json.loads(ask("search", "--json", "anvil")[1])
    assert [caution["code"] for caution in told["warnings"]] == ["W_MODEL"]
    assert [stage["status"] for stage in told["data"]["stages"] if stage["name"] == "vec"] == ["failed"]

    code, out, err = ask("memory", "search", "anvil")
    assert (code, json.loads(out)["success"], "keeps the anvil" in out) == (0, True, True)
    assert "memories are matched by words alone" in err

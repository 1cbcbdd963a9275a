"""A daemon with the real Brain and an embedder that needs no weights: imported by tests, or run as `python real_daemon.py VAULT DATA`."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from onebrain.brain import Access, Brain
from onebrain.config import Config, load
from onebrain.daemon import process
from onebrain.index.opening import open_index
from onebrain.index.reading import VaultReader
from onebrain.models.twins import HashEmbedder, OverlapReranker
from onebrain.vault.parse import Settings


def config_of(vault: Path, data: Path) -> Config:
    return load(vault, {"ONEBRAIN_DATA_DIR": str(data)}, vault)


def open_brain(config: Config) -> Brain:
    """As `Brain.open` does for an owner, with models made of hashes."""
    embedder = HashEmbedder()
    reader = VaultReader(config.vault, config.search.exclude, Settings(config.folders, config.search.date_order))
    index = open_index(config.data_dir / "search" / config.search.collection, reader, embedder=embedder)
    learned: Any = SimpleNamespace(embedder=embedder, reranker=OverlapReranker(), hyde=None, writing=None, troubles=[], unload=lambda: None)
    return Brain(config, index, Access.OWNER, learned)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    process.serve(config_of(Path(sys.argv[1]), Path(sys.argv[2])), open_brain)

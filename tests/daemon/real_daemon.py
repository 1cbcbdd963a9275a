"""A daemon with the real Brain and an embedder that needs no weights, and a vault to run it on: imported by tests, or run as
`python real_daemon.py VAULT DATA`."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from disk_brain import until

from onebrain.brain import Access, Brain
from onebrain.config import Config, load
from onebrain.daemon import client, process, wire
from onebrain.index.opening import open_index
from onebrain.index.reading import VaultReader
from onebrain.models.twins import HashEmbedder, OverlapReranker
from onebrain.vault.parse import Settings

WORDS = ["anvil", "bucket", "cactus", "dragon", "eleven", "flute", "goblin", "hammock", "igloo", "jigsaw", "kettle", "lobster"]


def config_of(vault: Path, data: Path) -> Config:
    return load(vault, {"ONEBRAIN_DATA_DIR": str(data)}, vault)


def open_brain(config: Config) -> Brain:
    """As `Brain.open` does for an owner, with models made of hashes."""
    embedder = HashEmbedder()
    reader = VaultReader(config.vault, config.search.exclude, Settings(config.folders, config.search.date_order))
    index = open_index(config.data_dir / "search" / config.search.collection, reader, embedder=embedder)
    learned: Any = SimpleNamespace(embedder=embedder, reranker=OverlapReranker(), hyde=None, writing=None, troubles=[], unload=lambda: None)
    return Brain(config, index, Access.OWNER, learned)


@dataclass
class Home:
    """A vault with a daemon on it, and the `onebrain` command."""

    vault: Path
    data: Path
    children: list[subprocess.Popen[bytes]] = field(default_factory=list)
    strangers: set[int] = field(default_factory=set)

    @property
    def config(self) -> Config:
        return config_of(self.vault, self.data)

    @property
    def env(self) -> dict[str, str]:
        own = {"ONEBRAIN_DATA_DIR": str(self.data), "ONEBRAIN_VAULT": str(self.vault), "ONEBRAIN_NO_DAEMON": "0"}
        return {**os.environ, **own}

    def write(self, name: str, text: str) -> None:
        path = self.vault / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def daemon(self) -> subprocess.Popen[bytes]:
        """The real Brain with models made of hashes, once it answers."""
        child = subprocess.Popen([sys.executable, __file__, str(self.vault), str(self.data)], stderr=subprocess.DEVNULL)
        self.children.append(child)
        assert until(lambda: (self.told("ping") or {}).get("pid") == child.pid, 30)
        return child

    def command(self, *argv: str, piped: str | None = None, **more: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "onebrain", *argv]
        return subprocess.run(words, env=self.env | more, input=piped, capture_output=True, text=True, timeout=60, check=False)

    def told(self, verb: str) -> dict[str, Any] | None:
        found = process.told(self.config, verb)
        if found is not None:
            self.strangers.add(found["pid"])
        return found

    def find(self, word: str) -> list[str]:
        """Paths that a running daemon finds by words."""
        found = self.find_if_there(word)
        assert found is not None
        return found

    def find_if_there(self, word: str) -> list[str] | None:
        """None while no daemon answers, as between the end of one and the start of the next."""
        try:
            code, out, _ = self.ask("search", "search", word, "--json")
        except (OSError, client.Unanswered):
            return None
        return None if code != 0 else [hit["doc_path"] for hit in json.loads(out)["data"]["hits"]]

    def ask(self, *argv: str, **env: str) -> tuple[int, str, str]:
        """Exit code, stdout and stderr of a command line as the daemon answers it; Unanswered where it doesn't."""
        address = process.address_of(self.config)
        if address is None:
            raise client.Unanswered("no daemon runs")
        told = {wire.OUT: b"", wire.ERR: b""}

        def keep(kind: bytes, piece: bytes) -> None:
            told[kind] += piece

        code = client.converse(address, client.command(argv, self.env | env, str(self.vault)), keep)
        return code, told[wire.OUT].decode(), told[wire.ERR].decode()

    def settled(self) -> bool:
        state = self.told("status") or {}
        return state.get("state") == "idle" and state["pending"] == {"words": 0, "vectors": 0}


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    process.serve(config_of(Path(sys.argv[1]), Path(sys.argv[2])), open_brain)

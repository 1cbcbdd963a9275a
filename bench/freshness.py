"""How long after a save a note is found, by words and by meaning, while nobody asks in between.

    python bench/freshness.py [--notes 1000] [--saves 40] [--models DIR | --hash]

Makes a vault, runs a daemon on it, then saves notes one by one. `noticed` is how long the daemon itself takes (save → words, or vectors,
committed), seen by polling its index read-only: no question hurries it. `asked` is how long a question takes that is asked in the moment
of the save and must find it. `--models` names a folder of prepared models (`onebrain search model prepare` says where it put them);
`--hash` takes an embedder that needs no weights.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from onebrain.config import Config, load
from onebrain.daemon import client, process, wire
from onebrain.text import analysis
from onebrain.vault.library import WordQuery

ROOT = Path(__file__).parent.parent
WORDS = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").split()


def note(chance: random.Random, title: str, sections: int = 3) -> str:
    parts = [f"## Part {n}\n\n{' '.join(chance.choices(WORDS, k=60))}\n" for n in range(sections)]
    return f"# {title}\n\n" + "\n".join(parts)


def make_vault(vault: Path, notes: int, seed: int = 1) -> None:
    chance = random.Random(seed)
    vault.mkdir(parents=True)
    (vault / "onebrain.yml").write_text("search:\n  collection: bench\n  hyde:\n    writer: off\n", encoding="utf-8")
    for n in range(notes):
        path = vault / f"{n % 25:02}" / f"note-{n:05}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(note(chance, f"Note {n}"), encoding="utf-8")


@contextmanager
def daemon(vault: Path, data: Path, *, hashed: bool) -> Iterator[tuple[Config, subprocess.Popen[bytes], float]]:
    """A running daemon, and how many seconds it took until all notes were found by words."""
    env = {**os.environ, "ONEBRAIN_DATA_DIR": str(data)}
    config = load(vault, env, vault)
    words = [sys.executable, "-P", "-m", "onebrain", "--vault", str(vault), "daemon", "run"]
    if hashed:
        words = [sys.executable, str(ROOT / "tests" / "daemon" / "real_daemon.py"), str(vault), str(data)]
    began = time.monotonic()
    with open(data.parent / "daemon.log", "wb") as log:
        child = subprocess.Popen(words, env=env, stdout=log, stderr=log)
    try:
        wait(lambda: (process.told(config, "status") or {}).get("last_full_s") is not None, 600, child)
        yield config, child, time.monotonic() - began
    finally:
        child.terminate()
        child.wait(60)


def wait(truth: Callable[[], object], seconds: float, child: subprocess.Popen[bytes] | None = None, every: float = 0.02) -> float:
    began = time.monotonic()
    while not truth():
        if time.monotonic() - began > seconds:
            raise TimeoutError(f"not within {seconds} s")
        if child is not None and child.poll() is not None:
            raise ChildProcessError(f"the daemon ended with {child.returncode}")
        time.sleep(every)
    return time.monotonic() - began


def ask(config: Config, *words: str) -> dict[str, Any]:
    address = process.address_of(config)
    assert address is not None
    pieces: list[bytes] = []
    request = client.command(["search", *words, "--json"], {"ONEBRAIN_DATA_DIR": str(config.data_dir)}, str(config.vault))
    client.converse(address, request, lambda kind, piece: pieces.append(piece) if kind == wire.OUT else None)
    return json.loads(b"".join(pieces))


class Eye:
    """Looks at the index beside its owner: which notes' words, and which passages' vectors, have been committed."""

    def __init__(self, config: Config) -> None:
        from onebrain.index.opening import read_index

        self._index = read_index(config.data_dir / "search" / config.search.collection)

    def words(self, word: str) -> bool:
        terms = dict.fromkeys(analysis.groups(word)[0].alternatives, 1.0)
        with self._index.snapshot() as library:
            return bool(library.words.search(WordQuery(terms), limit=1))

    def vectors(self) -> bool:
        with self._index.snapshot() as library:
            return library.pending() == 0


def percentiles(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    p95 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    figures = {"p50": statistics.median(ordered), "p95": p95, "max": ordered[-1]}
    return "   ".join([*(f"{name} {value * 1000:7.0f} ms" for name, value in figures.items()), f"n {len(ordered)}"])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--notes", type=int, default=1000)
    options.add_argument("--saves", type=int, default=40)
    options.add_argument("--hash", action="store_true")
    options.add_argument("--models", type=Path)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as base:
        vault, data = Path(base) / "vault", Path(base) / "data"
        if given.models:
            data.mkdir()
            (data / "models").symlink_to(given.models.resolve())
        make_vault(vault, given.notes)
        with daemon(vault, data, hashed=given.hash) as (config, child, started):
            print(f"start: {given.notes} notes found by words after {started:.1f} s")
            eye = Eye(config)
            embedded = wait(eye.vectors, 3600, child, 0.2)
            print(f"start: all embedded {embedded:.0f} s later")
            files = [vault / f"{n % 25:02}" / f"note-{n:05}.md" for n in range(given.saves)]
            by_words, by_meaning, asked = saves(config, eye, files)
            print(f"noticed, by words    {percentiles(by_words)}   (limit: p95 1000 ms)")
            print(f"noticed, by meaning  {percentiles(by_meaning)}   (limit: p95 3000 ms)")
            print(f"asked at once        {percentiles(asked)}")
            state = process.told(config, "status")
            print(f"memory of the daemon: {state['memory_mb'] if state else '?'} MB; questions: {state['questions'] if state else '?'}")


def saves(config: Config, eye: Eye, files: Sequence[Path]) -> tuple[list[float], list[float], list[float]]:
    """Seconds until each of `files`, saved twice, is found: by words, by meaning, and by a question asked in the moment of its save."""
    chance = random.Random(7)
    by_words, by_meaning, asked = [], [], []
    for n, path in enumerate(files):
        word = _new_word(chance)
        path.write_text(note(chance, f"Saved {n} {word}"), encoding="utf-8")
        saved = time.monotonic()
        wait(lambda: eye.words(word), 30, every=0.005)  # noqa: B023
        by_words.append(time.monotonic() - saved)
        wait(eye.vectors, 60, every=0.005)
        by_meaning.append(time.monotonic() - saved)
        time.sleep(0.2)
        word = _new_word(chance)
        path.write_text(note(chance, f"Asked {n} {word}"), encoding="utf-8")
        began = time.monotonic()
        found = ask(config, "search", word)["data"]["hits"]
        asked.append(time.monotonic() - began)
        if path.name not in {Path(hit["doc_path"]).name for hit in found}:
            print(f"  missed: {path.name} was not found in the moment of its save")
        wait(eye.vectors, 60, every=0.02)
    return by_words, by_meaning, asked


def _new_word(chance: random.Random) -> str:
    return "quick" + "".join(chance.choices("bcdfghklmnprstvz", k=8))


if __name__ == "__main__":
    main()

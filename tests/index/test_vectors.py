"""One contract for every vector index: exact numpy, Chroma in a folder, Chroma on a server."""

from __future__ import annotations

import random
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from onebrain.errors import StorageFull
from onebrain.index import vectors as module
from onebrain.index.rows import Matrix, normalised
from onebrain.index.vectors import ChromaVectors, ExactVectors, Server, VectorIndex, VectorsDamaged, VectorsUnreachable, ranked

DIM = 32


def points(count: int, seed: int = 0) -> Matrix:
    return normalised(np.random.default_rng(seed).normal(size=(count, DIM)).astype(np.float32))


def opened(place: Path, model: str = "m") -> ChromaVectors:
    index = ChromaVectors(place, model=model)
    index.open()
    return index


def names(count: int, path: str = "n") -> list[str]:
    return [f"{path}{i // 3}.md#{i % 3}" for i in range(count)]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Chroma server of our own on the loopback; ended with the tests."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name("chroma")), "run", "--host", "127.0.0.1", "--port", str(port), "--path"]
    command.append(str(tmp_path_factory.mktemp("server")))
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        else:
            pytest.fail("the Chroma server did not start within 30 s")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(params=["exact", "chroma", pytest.param("server", marks=pytest.mark.slow)])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorIndex]:
    made: VectorIndex = ExactVectors()
    if request.param == "chroma":
        made = ChromaVectors(tmp_path / "vectors", model="m")
    elif request.param == "server":
        made = ChromaVectors(Server(request.getfixturevalue("server"), tmp_path.name, "secret"), model="m")
    made.open()
    yield made
    made.close()


def test_empty_index_finds_nothing(index: VectorIndex) -> None:
    assert index.ids() == set()
    assert index.nearest(points(1)[0], limit=5) == []
    index.delete(["never.md#0"])


def test_what_is_put_in_is_found_with_its_cosine(index: VectorIndex) -> None:
    made = points(60)
    index.upsert(names(60), made)
    assert index.ids() == set(names(60))
    query = normalised(made[7:8] + 0.2 * made[3:4])[0]
    found = index.nearest(query, limit=4)
    expected = sorted(((name, float(cosine)) for name, cosine in zip(names(60), made @ query, strict=True)), key=lambda hit: -hit[1])[:4]
    assert [name for name, _ in found] == [name for name, _ in expected]
    assert [c for _, c in found] == pytest.approx([c for _, c in expected], abs=2e-5)


def test_upsert_replaces_and_delete_removes(index: VectorIndex) -> None:
    made = points(9)
    index.upsert(names(9), made)
    index.upsert(["n0.md#0", "new.md#0"], made[[5, 0]])
    index.delete(["n1.md#2", "n2.md#2", "unknown.md#9"])
    assert index.ids() == set(names(9)) - {"n1.md#2", "n2.md#2"} | {"new.md#0"}
    assert index.nearest(made[0], limit=1) == [("new.md#0", 1.0)]
    assert index.nearest(made[5], limit=1) == [("n0.md#0", 1.0)]
    assert index.nearest(made[8], limit=1)[0][0] != "n2.md#2"


def test_a_stored_vector_is_known_by_its_id(index: VectorIndex) -> None:
    made = points(3)
    index.upsert(["a.md#0", "b.md#0"], made[:2])
    assert index.holds("a.md#0", made[0]) and index.holds("b.md#0", made[1])
    assert not index.holds("a.md#0", made[1]) and not index.holds("c.md#0", made[2])


def test_equal_vectors_come_in_the_order_of_their_ids(index: VectorIndex) -> None:
    one = points(1)
    index.upsert([f"{letter}.md#0" for letter in "dbca"], np.repeat(one, 4, axis=0))
    assert index.nearest(one[0], limit=4) == [("a.md#0", 1.0), ("b.md#0", 1.0), ("c.md#0", 1.0), ("d.md#0", 1.0)]


def test_any_file_name_is_an_id(index: VectorIndex) -> None:
    odd = ["🧠.md#0", "#1 [x](y).md#0", "cafe\u0301.md#0", "caf\u00e9.md#0", "Note.md#0", "note.md#0", "a b_c.md#12", "x" * 240 + ".md#0"]
    made = points(len(odd))
    index.upsert(odd, made)
    assert index.ids() == set(odd)
    for name, vector in zip(odd, made, strict=True):
        assert index.nearest(vector, limit=1) == [(name, 1.0)]
    index.delete(odd)
    assert index.ids() == set()


def test_reset_empties_and_goes_on(index: VectorIndex) -> None:
    index.upsert(names(30), points(30))
    index.reset()
    assert index.ids() == set() and index.nearest(points(1)[0], limit=3) == []
    index.upsert(names(5), points(5, seed=1))
    assert index.nearest(points(5, seed=1)[4], limit=1) == [(names(5)[4], 1.0)]


def test_random_edits_agree_with_the_oracle(index: VectorIndex) -> None:
    chance, oracle, pool = random.Random(5), ExactVectors(), points(400, seed=2)
    for _ in range(30):
        ids = chance.sample(names(90), chance.randint(1, 20))
        if chance.random() < 0.6:
            made = pool[[chance.randrange(400) for _ in ids]]
            index.upsert(ids, made)
            oracle.upsert(ids, made)
        else:
            index.delete(ids)
            oracle.delete(ids)
        assert index.ids() == oracle.ids()
        query = pool[chance.randrange(400)]
        found, expected = index.nearest(query, limit=5), oracle.nearest(query, limit=5)
        assert [c for _, c in found] == pytest.approx([c for _, c in expected], abs=3e-5)


# Exact search alone


def test_allowed_notes_only() -> None:
    index, made = ExactVectors(), points(30)
    index.upsert(names(30), made)
    found = index.nearest(made[0], limit=9, allowed={"n3.md", "n9.md", "unknown.md"})
    assert {name for name, _ in found} == {"n3.md#0", "n3.md#1", "n3.md#2", "n9.md#0", "n9.md#1", "n9.md#2"}
    assert index.nearest(made[0], limit=9, allowed=set()) == []


@pytest.mark.parametrize(
    ("cosines", "limit", "expected"),
    [
        ([0.1, 0.3, 0.2], 2, ["b", "c"]),
        ([0.5, 0.5, 0.5], 2, ["a", "b"]),
        ([0.500001, 0.500002, 0.1], 2, ["a", "b"]),
        ([0.1, 0.2, 0.3], 9, ["c", "b", "a"]),
        ([0.1, 0.2, 0.3], 0, []),
    ],
)
def test_ranked(cosines: list[float], limit: int, expected: list[str]) -> None:
    assert [name for name, _ in ranked(["a", "b", "c"], np.asarray(cosines, np.float32), limit)] == expected


# Chroma alone


def test_chroma_is_let_go_of_and_opened_again_in_one_process(tmp_path: Path) -> None:
    place = tmp_path / "vectors"
    for round_ in range(3):
        index = opened(place)
        index.upsert([f"r{round_}.md#0"], points(1, seed=round_))
        assert index.ids() == {f"r{r}.md#0" for r in range(round_ + 1)}
        index.trust()
        index.close()
        index.close()
    shutil.rmtree(place)
    index = opened(place)
    assert index.ids() == set()
    index.close()


def test_vectors_of_another_model_are_thrown_away(tmp_path: Path) -> None:
    index = opened(tmp_path, "one")
    index.upsert(names(6), points(6))
    index.trust()
    index.close()
    index = opened(tmp_path, "two")
    assert index.ids() == set()
    index.upsert(["a.md#0"], np.ones((1, 8), np.float32))  # another width as well
    index.close()


def test_more_than_one_batch(tmp_path: Path) -> None:
    index = opened(tmp_path)
    made = points(1203)
    index.upsert(names(1203), made)
    assert len(index.ids()) == 1203
    index.delete(names(1203))
    assert index.ids() == set()
    index.close()


def flip(folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            data = bytearray(file.read_bytes())
            for _ in range(max(8, len(data) // 400)):
                if data:
                    data[chance.randrange(len(data))] ^= 0xFF
            file.write_bytes(bytes(data))


@pytest.mark.parametrize("seed", range(3))
def test_a_damaged_folder_is_not_opened_and_reset_mends_it(tmp_path: Path, seed: int) -> None:
    index = opened(tmp_path)
    index.upsert(names(300), points(300))
    index.trust()
    index.close()
    flip(tmp_path / "1", seed)
    index = ChromaVectors(tmp_path, model="m")
    with pytest.raises(VectorsDamaged, match="not as they were left"):
        index.open()
    index.reset()
    index.upsert(names(3), points(3))
    assert index.nearest(points(3)[1], limit=1) == [("n0.md#1", 1.0)]
    index.close()


def test_a_folder_that_crashed_the_process_is_not_opened_again(tmp_path: Path) -> None:
    index = opened(tmp_path)
    index.upsert(["a.md#0"], points(1))
    index.close()  # without trust, as if the process had died while opening
    with pytest.raises(VectorsDamaged, match="never came to an end"):
        ChromaVectors(tmp_path, model="m").open()


def test_a_folder_whose_process_was_killed_is_opened(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; import numpy as np; from pathlib import Path; from onebrain.index.vectors import ChromaVectors;"
        "index = ChromaVectors(Path(sys.argv[1]), model='m'); index.open(); index.trust();"
        "index.upsert(['a.md#0'], np.eye(1, 4, dtype='f4')); os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)]).returncode == -9
    index = opened(tmp_path)
    assert index.ids() == {"a.md#0"}
    index.close()


def test_a_full_disk_is_said(tmp_path: Path) -> None:
    index = opened(tmp_path)
    with pytest.raises(StorageFull, match="No space left"), index._chroma("write"):
        raise RuntimeError("No space left on device (os error 28)")
    index.close()


def test_panics_of_native_code_are_caught_and_ctrl_c_is_not(tmp_path: Path) -> None:
    class PanicException(BaseException):
        """As pyo3 raises it."""

    index = opened(tmp_path)
    with pytest.raises(VectorsDamaged, match="range end index"), index._chroma("search"):
        raise PanicException("range end index 9 out of range")
    with pytest.raises(KeyboardInterrupt), index._chroma("search"):
        raise KeyboardInterrupt
    index.close()


def test_chroma_is_imported_only_when_opened() -> None:
    code = "import sys, onebrain.index.vectors; assert 'chromadb' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert module.ExactVectors().nearest(points(1)[0], limit=1) == []


def test_a_server_that_is_not_there_is_unreachable_not_damaged() -> None:
    with pytest.raises(VectorsUnreachable, match="127.0.0.1:9"):
        ChromaVectors(Server("http://127.0.0.1:9", "notes"), model="m").open()


@pytest.mark.slow
def test_a_collection_on_a_server_belongs_to_one_index(server: str, tmp_path: Path) -> None:
    """Two owners would each remove what the other's notes brought. An index made anew in its old folder is the same one."""
    place = Server(server, tmp_path.name)
    anyone = ChromaVectors(place, model="m")  # as collections were made before they said whose they are
    anyone.open()
    anyone.upsert(["a.md#0"], points(1))
    anyone.close()
    for _ in range(2):
        first = ChromaVectors(place.owned_by(tmp_path / "first"), model="m")
        first.open()
        assert first.ids() == {"a.md#0"}
        first.close()
    other = ChromaVectors(place.owned_by(tmp_path / "other"), model="another model")
    for act in (other.open, other.reset):
        with pytest.raises(VectorsUnreachable, match="filled by another index: give this vault"):
            act()
    first.open()
    assert first.ids() == {"a.md#0"}
    first.reset()
    assert first.ids() == set()
    with pytest.raises(VectorsUnreachable, match="another index"):
        other.open()
    first.close()


def test_whose_collection_it_is_tells_neither_machine_nor_folder(tmp_path: Path) -> None:
    one, two = (Server("http://x", "n").owned_by(tmp_path / name) for name in ("one", "two"))
    assert one.index and one.index != two.index and len(one.index) == 16
    assert one == Server("http://x", "n").owned_by(tmp_path / "two" / ".." / "one")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("notes-1a2b3c", "onebrain-notes-1a2b3c"), ("Mein Vault ü", "onebrain-Mein-Vault"), ("日記", "onebrain")],
)
def test_collections_are_named_in_letters_that_chroma_allows(name: str, expected: str) -> None:
    assert Server("http://x", name).name == expected

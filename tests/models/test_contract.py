"""One contract for every implementation of a port: the real ones and their in-memory twins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import tiny_models as tiny

from onebrain.models.compact import CompactReranker
from onebrain.models.embed import E5Embedder
from onebrain.models.folders import open_folder
from onebrain.models.ports import Embedder, HydeWriter, Reranker, WriterUnavailable
from onebrain.models.rerank import FastembedReranker
from onebrain.models.twins import ConstantHyde, HashEmbedder, OverlapReranker

EMBEDDERS: dict[str, Callable[[Path], Embedder]] = {
    "twin": lambda path: HashEmbedder(),
    "fastembed": lambda path: E5Embedder(open_folder(tiny.embedder(path / "e")), threads=2),
}
RERANKERS: dict[str, Callable[[Path], Reranker]] = {
    "twin": lambda path: OverlapReranker(),
    "fastembed": lambda path: FastembedReranker(open_folder(tiny.cross_encoder(path / "c")), path, threads=1),
    "compact": lambda path: CompactReranker(tiny.word_table(path / "w"), _ids, tiny.compact(path / "r"), threads=2),
}


def _ids(text: str) -> list[int]:
    return [tiny.WORDS.index(word) if word in tiny.WORDS else 3 for word in text.split()]


@pytest.fixture(params=EMBEDDERS)
def embedder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Embedder]:
    made = EMBEDDERS[request.param](tmp_path)
    yield made
    made.unload()


@pytest.fixture(params=RERANKERS)
def reranker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reranker]:
    made = RERANKERS[request.param](tmp_path)
    yield made
    made.unload()


def test_vectors_are_unit_float32_rows(embedder: Embedder) -> None:
    rows = embedder.embed_passages(["red apple", "green pear", "", "blue"])
    assert rows.shape == (4, embedder.dim) and rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    question = embedder.embed_query("red apple?")
    assert question.shape == (embedder.dim,) and question.dtype == np.float32
    assert embedder.embed_passages([]).shape == (0, embedder.dim)


def test_a_text_has_one_vector_whatever_it_is_embedded_with(embedder: Embedder) -> None:
    texts = ["red apple", "green pear apple red blue", "blue"]
    together = embedder.embed_passages(texts)
    for text, row in zip(texts, together, strict=True):
        assert embedder.embed_passages([text])[0].tobytes() == row.tobytes()
    assert embedder.embed_query("red").tobytes() == embedder.embed_query("red").tobytes()


def test_an_embedder_names_itself_and_works_again_after_unload(embedder: Embedder) -> None:
    before = embedder.embed_passages(["red apple"])
    embedder.unload()
    embedder.unload()
    assert embedder.model_id and embedder.fingerprint
    assert embedder.embed_passages(["red apple"]).tobytes() == before.tobytes()


def test_scores_keep_the_order_and_do_not_depend_on_company(reranker: Reranker) -> None:
    passages = ["blue", "red apple green pear", "apple"]
    scores = reranker.score("red apple", passages)
    assert scores.shape == (3,) and scores.dtype == np.float32
    assert scores[1] == max(scores)
    for passage, score in zip(passages, scores, strict=True):
        assert reranker.score("red apple", [passage])[0] == pytest.approx(score)
    assert reranker.score("red", []).shape == (0,)
    reranker.unload()
    assert reranker.model_id and reranker.score("red apple", passages).tobytes() == scores.tobytes()


def test_a_writer_writes() -> None:
    writer: HydeWriter = ConstantHyde("a passage")
    assert writer.write("why?") == "a passage" and writer.name
    writer.unload()


def test_a_writer_without_a_passage_says_why() -> None:
    with pytest.raises(WriterUnavailable, match="passage"):
        ConstantHyde(None).write("why?")

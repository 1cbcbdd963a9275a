"""Cross-encoders: which one is used, how a pair is laid out, and that broken ones say so."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
import tiny_models as tiny
from onnx import numpy_helper

from onebrain.brain import Brain
from onebrain.config import load
from onebrain.errors import ModelUnavailable
from onebrain.models.compact import MAX_PAIR, MAX_QUERY, SHIPPED, CompactReranker, pair
from onebrain.models.embed import E5Embedder
from onebrain.models.folders import ModelFolder, open_folder, sha256
from onebrain.models.rerank import FastembedReranker, make_reranker


@pytest.mark.parametrize(
    ("question", "passage", "total", "passage_tokens"),
    [(3, 5, 12, 6), (0, 0, 4, 1), (100, 5, MAX_QUERY + 9, 6), (40, 500, MAX_PAIR, MAX_PAIR - MAX_QUERY - 3), (3, 500, MAX_PAIR, 186)],
)
def test_a_pair_is_cut_to_what_the_model_was_trained_on(question: int, passage: int, total: int, passage_tokens: int) -> None:
    ids, types = pair([7] * question, [9] * passage)
    assert (len(ids), int(types.sum())) == (total, passage_tokens)
    assert ids[0] == 0 and ids[-1] == 2 and types[-1] == 1
    assert ids[types == 0].tolist()[-2:] == [2, 2] or total == 4


def test_the_compact_one_sums_the_passage_side_only(tmp_path: Path) -> None:
    made = CompactReranker(tiny.word_table(tmp_path), lambda text: [int(part) for part in text.split()], tiny.compact(tmp_path), 1)
    # Word i is i in all 32 places, and the closing </s> is word 2 on the passage side.
    assert made.score("11 11", ["5", "4 3 1"]).tolist() == [32.0 * (5 + 2), 32.0 * (8 + 2)]


def test_a_broken_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "reranker.onnx").write_bytes(b"no")
    made = CompactReranker(tiny.word_table(tmp_path), lambda text: [3], tmp_path / "reranker.onnx")
    with pytest.raises(ModelUnavailable, match="can't be loaded"):
        made.score("red", ["apple"])


def test_the_users_folder_wins_and_none_is_an_answer(tmp_path: Path) -> None:
    folder = tiny.cross_encoder(tmp_path / "mine")
    assert isinstance(make_reranker(folder, tmp_path, None, None), FastembedReranker)
    assert make_reranker(None, tmp_path, None, None) is None
    plain = open_folder(tiny.embedder(tmp_path / "e"))
    assert make_reranker(None, tmp_path, E5Embedder(plain), plain) is None  # no word table to lend


def test_a_folder_without_a_model_says_what_it_lacks(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="is not a model folder: tokenizer.json, tokenizer_config.json, model.onnx missing"):
        make_reranker(tmp_path / "Xenova" / "ms-marco-MiniLM-L-6-v2", tmp_path, None, None)


def test_the_folder_of_the_configuration_is_used_wherever_the_process_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "onebrain.yml").write_text("search: {rerank_model: models/mine, hyde: off}")
    tiny.cross_encoder(tmp_path / "models" / "mine")
    monkeypatch.chdir("/")
    with Brain.open(load(tmp_path, {"ONEBRAIN_DATA_DIR": str(tmp_path / "data")})) as brain:
        assert (brain.status().reranker, brain.status().error) == ("mine", None)


def test_the_shipped_one_prefers_the_passage_that_answers(e5_folder: ModelFolder) -> None:
    if not SHIPPED.is_file():
        pytest.skip(f"{SHIPPED.name} is not in this checkout")
    embedder = E5Embedder(e5_folder)
    made = make_reranker(None, e5_folder.path, embedder, e5_folder)
    assert made is not None
    passages = ["Kafka\nWe dropped Kafka because nobody wanted to operate a broker at night.", "Lunch\nThe canteen serves soup on Mondays."]
    scores = made.score("Why did we stop using Kafka?", passages)
    assert scores[0] > scores[1] + 1.0
    assert np.array_equal(made.score("Why did we stop using Kafka?", passages[::-1]), scores[::-1])
    embedder.unload()
    made.unload()


def test_what_is_said_of_the_shipped_one_is_about_this_file() -> None:
    assert json.loads(SHIPPED.with_suffix(".json").read_text(encoding="utf-8"))["sha256"] == sha256(SHIPPED)


@pytest.mark.parametrize("model", ["embedder", "cross-encoder"])
def test_no_two_products_of_int8_leave_sixteen_bits(model: str, e5_folder: ModelFolder) -> None:
    """x86 chips without VNNI add two products of an activation (0 to 255) and a weight in 16 bits and clip the sum: logits would be off
    by more than one, on those machines only. Every matrix of whole numbers must keep away from that."""
    path = SHIPPED if model == "cross-encoder" else e5_folder.path / e5_folder.model_file
    graph = onnx.load(str(path), load_external_data=False).graph
    constants = {constant.name: constant for constant in graph.initializer}
    products = [node for node in graph.node if node.op_type.startswith("MatMulInteger")]
    assert len(products) > 30
    for node in products:
        weights = numpy_helper.to_array(constants[node.input[1]]).astype(int)
        assert 2 * 255 * np.abs(weights).max() < 2**15, node.name

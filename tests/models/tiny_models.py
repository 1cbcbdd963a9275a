"""Model folders of a few kilobytes that the real loaders accept."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from onebrain.models.onnx_graph import IR_VERSION, OPSET, tensor
from onebrain.models.words import NIBBLES, SCALES

WORDS = ["<s>", "<pad>", "</s>", "<unk>", "query", "passage", ":", "red", "green", "blue", "apple", "pear"]
DIM = 8


def write_tokenizer(folder: Path) -> None:
    tokenizer = Tokenizer(models.WordLevel({word: index for index, word in enumerate(WORDS)}, "<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    single, pair = "<s> $A </s>", "<s> $A </s> </s> $B:1 </s>:1"
    tokenizer.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=[("<s>", 0), ("</s>", 2)])
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 16, "pad_token": "<pad>"}))
    (folder / "special_tokens_map.json").write_text(json.dumps({"pad_token": "<pad>", "unk_token": "<unk>"}))
    (folder / "config.json").write_text(json.dumps({"hidden_size": DIM, "pad_token_id": 1}))


def embedder(folder: Path) -> Path:
    """`last_hidden_state` is a row of a fixed table per token."""
    folder.mkdir(parents=True, exist_ok=True)
    write_tokenizer(folder)
    table = numpy_helper.from_array(np.random.default_rng(7).normal(size=(len(WORDS), DIM)).astype(np.float32), "table")
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"], axis=0)]
    inputs = [tensor("input_ids", TensorProto.INT64, "b", "s"), tensor("attention_mask", TensorProto.INT64, "b", "s")]
    nodes.append(helper.make_node("Identity", ["attention_mask"], ["unused"]))
    _save(folder, nodes, inputs, tensor("last_hidden_state", TensorProto.FLOAT, "b", "s", DIM), [table])
    return folder


def cross_encoder(folder: Path) -> Path:
    """`logits` (b, 1) is the sum of the ids of a pair: longer passages of later words score higher."""
    folder.mkdir(parents=True, exist_ok=True)
    write_tokenizer(folder)
    axis = numpy_helper.from_array(np.array([1], np.int64), "axis")
    nodes = [
        helper.make_node("Mul", ["input_ids", "attention_mask"], ["real"]),
        helper.make_node("Cast", ["real"], ["floats"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["floats", "axis"], ["logits"], keepdims=1),
    ]
    inputs = [tensor("input_ids", TensorProto.INT64, "b", "s"), tensor("attention_mask", TensorProto.INT64, "b", "s")]
    _save(folder, nodes, inputs, tensor("logits", TensorProto.FLOAT, "b", 1), [axis])
    return folder


def compact(folder: Path) -> Path:
    """A file with the inputs of our cross-encoder: the logit is the sum of the passage's word vectors."""
    folder.mkdir(parents=True, exist_ok=True)
    axes = numpy_helper.from_array(np.array([1, 2], np.int64), "axes")
    last = numpy_helper.from_array(np.array([2], np.int64), "last")
    nodes = [
        helper.make_node("Mul", ["attention_mask", "token_type"], ["side"]),
        helper.make_node("Cast", ["side"], ["side_float"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["side_float", "last"], ["weights"]),
        helper.make_node("Mul", ["word_vectors", "weights"], ["kept"]),
        helper.make_node("ReduceSum", ["kept", "axes"], ["logit"], keepdims=0),
    ]
    inputs = [tensor("word_vectors", TensorProto.FLOAT, "b", "s", 32)]
    inputs += [tensor(name, TensorProto.INT64, "b", "s") for name in ("attention_mask", "token_type")]
    _save(folder, nodes, inputs, tensor("logit", TensorProto.FLOAT, "b"), [axes, last], "reranker.onnx")
    return folder / "reranker.onnx"


def word_table(folder: Path) -> Path:
    """Row i is i, 32 wide: level 9 (that is, 1) times a scale of i."""
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / NIBBLES, np.full((len(WORDS), 16), 0x99, np.uint8))
    np.save(folder / SCALES, np.arange(len(WORDS), dtype=np.float16)[:, None])
    return folder


def _save(
    folder: Path,
    nodes: list[onnx.NodeProto],
    inputs: list[onnx.ValueInfoProto],
    output: onnx.ValueInfoProto,
    constants: list[onnx.TensorProto],
    name: str = "model.onnx",
) -> None:
    graph = helper.make_graph(nodes, "tiny", inputs, [output], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    (folder / name).write_bytes(model.SerializeToString())

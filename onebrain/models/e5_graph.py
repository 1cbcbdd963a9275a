"""multilingual-e5-small as an ONNX graph, built straight from the blocks of the source, one matrix at a time.

The plain BERT encoder: learned positions, layer norm after each residual, GELU, no pooling (that is the caller's). Activations are kept
as (tokens, width); only attention sees (batch, heads, sequence, 32). Inputs `input_ids` and `attention_mask` (b, s) int64, output
`last_hidden_state` (b, s, 384) float32. The 4-bit word table stays outside, in the two files that `WordTable` maps.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import TensorProto

from onebrain.models.e5_source import BLOCK, HALF, E5Source
from onebrain.models.onnx_graph import Graph, tensor
from onebrain.models.words import NIBBLES, SCALES

MASKED = -1e4  # added to the attention of padding: its softmax weight is exactly 0 in float32, and no infinities arise


def build(source: E5Source, folder: Path) -> bytes:
    """The serialised graph; the word table is written into `folder` on the way."""
    graph = Graph()
    x = _embed(graph, source, folder)
    _mask(graph)
    for layer in range(source.shape.layers):
        x = _attention(graph, source, x, f"l{layer}.")
        x = _feed_forward(graph, source, x, f"l{layer}.")
    graph.node("Concat", ["batch_sequence", graph.ints("width", source.shape.hidden)], "output_shape", axis=0)
    graph.node("Reshape", [x, "output_shape"], "last_hidden_state")
    inputs = [tensor(name, TensorProto.INT64, "b", "s") for name in ("input_ids", "attention_mask")]
    return graph.model("e5", inputs, [tensor("last_hidden_state", TensorProto.FLOAT, "b", "s", source.shape.hidden)])


def _embed(graph: Graph, source: E5Source, folder: Path) -> str:
    """Word rows unpacked from 4 bits, plus position and type, normalised: (tokens, hidden)."""
    shape = source.shape
    nibbles, scales = source.blocks("emb.word", shape.words, shape.hidden)
    graph.table("word_nibbles", folder / NIBBLES, nibbles.reshape(shape.words, -1))
    graph.table("word_scales", folder / SCALES, scales)
    graph.node("Gather", ["word_nibbles", "input_ids"], "packed", axis=0)
    graph.node("Reshape", ["packed", graph.ints("block_shape", 0, 0, shape.hidden // BLOCK, HALF)], "blocks")
    graph.node("BitwiseAnd", ["blocks", graph.const("low_bits", np.array(15, np.uint8))], "low")
    graph.node("BitShift", ["blocks", graph.const("four", np.array(4, np.uint8))], "high", direction="RIGHT")
    graph.node("Concat", ["low", "high"], "levels", axis=-1)
    graph.node("Cast", ["levels"], "levels_float", to=TensorProto.FLOAT)
    graph.node("Sub", ["levels_float", graph.const("eight", 8.0)], "centred")
    graph.node("Gather", ["word_scales", "input_ids"], "scales_half", axis=0)
    graph.node("Cast", ["scales_half"], "scales", to=TensorProto.FLOAT)
    graph.node("Unsqueeze", ["scales", graph.ints("axis_3", 3)], "block_scales")
    graph.node("Mul", ["centred", "block_scales"], "word_blocks")
    graph.node("Reshape", ["word_blocks", graph.ints("row_shape", 0, 0, shape.hidden)], "words")
    positions = source.floats("emb.pos", shape.positions, shape.hidden) + source.floats("emb.type", shape.types, shape.hidden)[0]
    graph.node("Shape", ["input_ids"], "batch_sequence")
    graph.node("Gather", ["batch_sequence", graph.ints("second", 1)], "sequence", axis=0)
    graph.node("Slice", [graph.const("all_positions", positions), graph.ints("zero", 0), "sequence", "zero"], "positions")
    graph.node("Add", ["words", "positions"], "summed")
    graph.node("Reshape", ["summed", graph.ints("flat", -1, shape.hidden)], "embedded")
    return _norm(graph, source, "embedded", "emb.ln", "x")


def _mask(graph: Graph) -> None:
    """`mask` (b, 1, 1, s): 0 on tokens, MASKED on padding."""
    graph.node("Cast", ["attention_mask"], "real", to=TensorProto.FLOAT)
    graph.node("Sub", ["real", graph.const("float_one", 1.0)], "minus_padding")
    graph.node("Mul", ["minus_padding", graph.const("far", -MASKED)], "penalty")
    graph.node("Unsqueeze", ["penalty", graph.ints("axes_1_2", 1, 2)], "mask")


def _attention(graph: Graph, source: E5Source, x: str, at: str) -> str:
    width, heads = source.shape.hidden, source.shape.heads
    size = width // heads
    if at == "l0.":
        graph.node("Concat", ["batch_sequence", graph.ints("heads", heads, size)], "head_shape", axis=0)

    def project(letter: str, order: list[int], factor: float = 1.0) -> str:
        weight = source.matrix(f"{at}{letter}.w", width, width) * np.float32(factor)
        bias = source.floats(f"{at}{letter}.b", width) * np.float32(factor)
        graph.linear(x, weight, bias, f"{at}{letter}")
        graph.node("Reshape", [f"{at}{letter}", "head_shape"], f"{at}{letter}.split")
        return graph.node("Transpose", [f"{at}{letter}.split"], f"{at}{letter}.heads", perm=order)

    # The softmax scale is folded into the query projection.
    query, key, value = project("q", [0, 2, 1, 3], size**-0.5), project("k", [0, 2, 3, 1]), project("v", [0, 2, 1, 3])
    graph.node("MatMul", [query, key], f"{at}scores")
    graph.node("Add", [f"{at}scores", "mask"], f"{at}masked")
    graph.node("Softmax", [f"{at}masked"], f"{at}weights", axis=-1)
    graph.node("MatMul", [f"{at}weights", value], f"{at}mixed")
    graph.node("Transpose", [f"{at}mixed"], f"{at}joined", perm=[0, 2, 1, 3])
    graph.node("Reshape", [f"{at}joined", "flat"], f"{at}context")
    graph.linear(f"{at}context", source.matrix(f"{at}ao.w", width, width), source.floats(f"{at}ao.b", width), f"{at}ao")
    graph.node("Add", [x, f"{at}ao"], f"{at}attended")
    return _norm(graph, source, f"{at}attended", f"{at}aln", f"{at}x1")


def _feed_forward(graph: Graph, source: E5Source, x: str, at: str) -> str:
    width, inner = source.shape.hidden, source.shape.inner
    graph.linear(x, source.matrix(f"{at}fi.w", inner, width), source.floats(f"{at}fi.b", inner), f"{at}fi")
    graph.node("Gelu", [f"{at}fi"], f"{at}gelu")
    graph.linear(f"{at}gelu", source.matrix(f"{at}fo.w", width, inner), source.floats(f"{at}fo.b", width), f"{at}fo")
    graph.node("Add", [x, f"{at}fo"], f"{at}fed")
    return _norm(graph, source, f"{at}fed", f"{at}oln", f"{at}x2")


def _norm(graph: Graph, source: E5Source, x: str, at: str, name: str) -> str:
    scale = graph.const(f"{name}.scale", source.floats(f"{at}.w", source.shape.hidden))
    shift = graph.const(f"{name}.shift", source.floats(f"{at}.b", source.shape.hidden))
    return graph.node("LayerNormalization", [x, scale, shift], name, axis=-1, epsilon=source.epsilon)

"""The trained cross-encoder as an int8 ONNX file.

Inputs `word_vectors` (b, s, 384), `attention_mask` (b, s), `token_type` (b, s; 1 on passage tokens); output `logit` (b). Word vectors come
from e5's own table, so no second one is shipped. The graph is written by hand, with the embedder's linear layers: one scale per token and
weights of 7 bits, so that a logit is the same on every processor and whatever else is in the batch.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto

from onebrain.models.onnx_graph import Graph as ProductGraph
from onebrain.models.onnx_graph import tensor

HEADS, WIDTH, EPSILON, QUESTION_ROWS, DOT_SCALE = 12, 384, 1e-12, 44, 4.0


class Graph(ProductGraph):
    """The product's graph builder with names by count; every call returns the name of its value."""

    def __init__(self) -> None:
        super().__init__()
        self._count = 0

    def _name(self, kind: str) -> str:
        self._count += 1
        return f"{kind}{self._count}"

    def constant(self, value: Any, kind: type[np.generic] = np.float32) -> str:
        return self.const(self._name("c"), np.ascontiguousarray(np.asarray(value, kind)).reshape(np.shape(value)))

    def whole(self, *values: int) -> str:
        return self.constant(list(values), np.int64)

    def __call__(self, operator: str, *inputs: str, name: str = "", **settings: Any) -> str:
        return self.node(operator, inputs, name or self._name(operator.lower()), **settings)

    def dense(self, x: str, weight: np.ndarray, bias: np.ndarray) -> str:
        return self.linear(x, weight, bias, self._name("linear"))

    def norm(self, x: str, weight: np.ndarray, bias: np.ndarray) -> str:
        return self("LayerNormalization", x, self.constant(weight), self.constant(bias), axis=-1, epsilon=EPSILON)

    def unit(self, x: str) -> str:
        size = self("Max", self("ReduceL2", x, self.whole(-1), keepdims=1), self.constant(1e-12))
        return self("Div", x, size)

    def mean(self, x: str, weights: str) -> str:
        total = self("ReduceSum", self("Mul", x, self("Unsqueeze", weights, self.whole(2))), self.whole(1), keepdims=0)
        return self("Div", total, self("Max", self("ReduceSum", weights, self.whole(1), keepdims=1), self.constant(1.0)))


def build(weights: Mapping[str, np.ndarray]) -> bytes:
    """The serialised graph. Layers work on (tokens, 384); only attention and the head see sequences."""
    g = Graph()
    mask = g("Cast", "attention_mask", to=TensorProto.FLOAT)
    flat, sequences = g.whole(-1, WIDTH), g("Shape", "word_vectors")
    blocked = g("Mul", g("Sub", g.constant(1.0), mask), g.constant(-1e4))
    bias = g("Unsqueeze", blocked, g.whole(1, 2))
    split = g("Concat", g("Slice", sequences, g.whole(0), g.whole(2), g.whole(0)), g.whole(HEADS, WIDTH // HEADS), axis=0)
    x = g("Reshape", _embeddings(g, weights, sequences), flat)
    layers = 1 + max(int(name.split(".")[1]) for name in weights if name.startswith("layers."))
    sides = g("Reshape", g("Gather", g.constant(weights["seg"]), "token_type", axis=0), flat)
    for number in range(layers):
        if number == int(weights["frozen"]):
            x = g("Add", x, sides)
        x = _layer(g, x, bias, split, flat, {k.split(".", 2)[2]: v for k, v in weights.items() if k.startswith(f"layers.{number}.")})
    _head(g, g("Reshape", x, sequences), mask, weights)
    inputs = [tensor("word_vectors", TensorProto.FLOAT, "b", "s", WIDTH)]
    inputs += [tensor(name, TensorProto.INT64, "b", "s") for name in ("attention_mask", "token_type")]
    model = g.model("rerank", inputs, [tensor("logit", TensorProto.FLOAT, "b")])
    onnx.checker.check_model(model)
    return model


def _embeddings(g: Graph, weights: Mapping[str, np.ndarray], sequences: str) -> str:
    places = g("Slice", g.constant(weights["pos"], np.float16), g.whole(0), g("Gather", sequences, g.whole(1), axis=0), g.whole(0))
    x = g("Add", "word_vectors", g("Cast", places, to=TensorProto.FLOAT))
    return g.norm(x, weights["ln.weight"], weights["ln.bias"])


def _layer(g: Graph, x: str, bias: str, split: str, flat: str, w: Mapping[str, np.ndarray]) -> str:
    matrices, biases = w["qkv.weight"].reshape(3, WIDTH, WIDTH), w["qkv.bias"].reshape(3, WIDTH)
    parts = []
    for number, (order, scale) in enumerate((([0, 2, 1, 3], (WIDTH // HEADS) ** -0.5), ([0, 2, 3, 1], 1.0), ([0, 2, 1, 3], 1.0))):
        part = g.dense(x, matrices[number] * np.float32(scale), biases[number] * np.float32(scale))
        parts.append(g("Transpose", g("Reshape", part, split), perm=order))
    shares = g("Softmax", g("Add", g("MatMul", parts[0], parts[1]), bias), axis=-1)
    mixed = g("Reshape", g("Transpose", g("MatMul", shares, parts[2]), perm=[0, 2, 1, 3]), flat)
    x = g.norm(g("Add", x, g.dense(mixed, w["ao.weight"], w["ao.bias"])), w["n1.weight"], w["n1.bias"])
    inner = g("Gelu", g.dense(x, w["fi.weight"], w["fi.bias"]))
    return g.norm(g("Add", x, g.dense(inner, w["fo.weight"], w["fo.bias"])), w["n2.weight"], w["n2.bias"])


def _head(g: Graph, x: str, mask: str, weights: Mapping[str, np.ndarray]) -> None:
    theirs = g("Mul", g("Cast", "token_type", to=TensorProto.FLOAT), mask)
    rows = g.whole(0), g.whole(QUESTION_ROWS), g.whole(1)
    states, ours = g("Slice", x, *rows), g("Slice", g("Sub", mask, theirs), *rows)
    passage, question = g.mean(x, theirs), g.mean(states, ours)
    product = g("Mul", g.unit(passage), g.unit(question))
    cosine = g("Mul", g("ReduceSum", product, g.whole(1), keepdims=1), g.constant(DOT_SCALE))
    similar = g("MatMul", g.unit(states), g("Transpose", g.unit(x), perm=[0, 2, 1]))
    off = g("Mul", g("Sub", theirs, g.constant(1.0)), g.constant(9.0))
    best = g("ReduceMax", g("Add", similar, g("Unsqueeze", off, g.whole(1))), g.whole(2), keepdims=0)
    count = g("Max", g("ReduceSum", ours, g.whole(1), keepdims=1), g.constant(1.0))
    maxsim = g("Mul", g("Div", g("ReduceSum", g("Mul", best, ours), g.whole(1), keepdims=1), count), g.constant(DOT_SCALE))
    first = g("Gather", x, g.constant(0, np.int64), axis=1)
    features = g("Concat", first, passage, g("Mul", product, g.constant(WIDTH**0.5)), cosine, maxsim, axis=1)
    hidden = g("Gelu", g.dense(features, weights["h1.weight"], weights["h1.bias"]))
    g("Squeeze", g.dense(hidden, weights["h2.weight"], weights["h2.bias"]), g.whole(1), name="logit")


def export(state: Mapping[str, Any], out: Path) -> str:
    """Writes the int8 file and returns its sha256."""
    model = build({name: value.float().numpy() for name, value in state.items()})
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(model)
    return hashlib.sha256(model).hexdigest()

"""The trained cross-encoder as an int8 ONNX file.

Inputs `word_vectors` (b, s, 384), `attention_mask` (b, s), `token_type` (b, s; 1 on passage tokens); output `logit` (b). Word vectors come
from e5's own table, so no second one is shipped. The graph is written by hand: no exporter decides what is in the file.
"""

import hashlib
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

HEADS, WIDTH, EPSILON, QUESTION_ROWS, DOT_SCALE = 12, 384, 1e-12, 44, 4.0


class Graph:
    """Nodes and constants in order; every call returns the name of its value."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self._count = 0

    def constant(self, value: Any, kind: type[np.generic] = np.float32) -> str:
        self._count += 1
        name = f"c{self._count}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(np.asarray(value, kind)).reshape(np.shape(value)), name))
        return name

    def ints(self, *values: int) -> str:
        return self.constant(list(values), np.int64)

    def __call__(self, operator: str, *inputs: str, name: str = "", **settings: Any) -> str:
        self._count += 1
        name = name or f"{operator.lower()}{self._count}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], name=name, **settings))
        return name

    def linear(self, x: str, weight: np.ndarray, bias: np.ndarray) -> str:
        return self("Add", self("MatMul", x, self.constant(weight.T)), self.constant(bias))

    def norm(self, x: str, weight: np.ndarray, bias: np.ndarray) -> str:
        return self("LayerNormalization", x, self.constant(weight), self.constant(bias), axis=-1, epsilon=EPSILON)

    def unit(self, x: str) -> str:
        size = self("Max", self("ReduceL2", x, self.ints(-1), keepdims=1), self.constant(1e-12))
        return self("Div", x, size)

    def mean(self, x: str, weights: str) -> str:
        total = self("ReduceSum", self("Mul", x, self("Unsqueeze", weights, self.ints(2))), self.ints(1), keepdims=0)
        return self("Div", total, self("Max", self("ReduceSum", weights, self.ints(1), keepdims=1), self.constant(1.0)))


def build(weights: Mapping[str, np.ndarray]) -> onnx.ModelProto:
    """The float model."""
    g = Graph()
    mask = g("Cast", "attention_mask", to=TensorProto.FLOAT)
    x = _embeddings(g, weights)
    blocked = g("Mul", g("Sub", g.constant(1.0), mask), g.constant(-1e4))
    bias = g("Unsqueeze", blocked, g.ints(1, 2))
    layers = 1 + max(int(name.split(".")[1]) for name in weights if name.startswith("layers."))
    sides = g("Gather", g.constant(weights["seg"]), "token_type", axis=0)
    for number in range(layers):
        if number == int(weights["frozen"]):
            x = g("Add", x, sides)
        x = _layer(g, x, bias, {k.split(".", 2)[2]: v for k, v in weights.items() if k.startswith(f"layers.{number}.")})
    _head(g, x, mask, weights)
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        g.nodes,
        "rerank",
        [
            value("word_vectors", TensorProto.FLOAT, ["b", "s", WIDTH]),
            value("attention_mask", TensorProto.INT64, ["b", "s"]),
            value("token_type", TensorProto.INT64, ["b", "s"]),
        ],
        [value("logit", TensorProto.FLOAT, ["b"])],
        g.constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.checker.check_model(model)
    return model


def _embeddings(g: Graph, weights: Mapping[str, np.ndarray]) -> str:
    size = g("Gather", g("Shape", "word_vectors"), g.ints(1), axis=0)
    places = g("Slice", g.constant(weights["pos"], np.float16), g.ints(0), size, g.ints(0))
    x = g("Add", "word_vectors", g("Cast", places, to=TensorProto.FLOAT))
    return g.norm(x, weights["ln.weight"], weights["ln.bias"])


def _layer(g: Graph, x: str, bias: str, w: Mapping[str, np.ndarray]) -> str:
    matrices, biases = w["qkv.weight"].reshape(3, WIDTH, WIDTH), w["qkv.bias"].reshape(3, WIDTH)
    split = g.ints(0, 0, HEADS, WIDTH // HEADS)
    parts = []
    for number, (order, scale) in enumerate((([0, 2, 1, 3], (WIDTH // HEADS) ** -0.5), ([0, 2, 3, 1], 1.0), ([0, 2, 1, 3], 1.0))):
        part = g.linear(x, matrices[number] * scale, biases[number] * scale)
        parts.append(g("Transpose", g("Reshape", part, split), perm=order))
    shares = g("Softmax", g("Add", g("MatMul", parts[0], parts[1]), bias), axis=-1)
    mixed = g("Reshape", g("Transpose", g("MatMul", shares, parts[2]), perm=[0, 2, 1, 3]), g.ints(0, 0, WIDTH))
    x = g.norm(g("Add", x, g.linear(mixed, w["ao.weight"], w["ao.bias"])), w["n1.weight"], w["n1.bias"])
    inner = g("Gelu", g.linear(x, w["fi.weight"], w["fi.bias"]))
    return g.norm(g("Add", x, g.linear(inner, w["fo.weight"], w["fo.bias"])), w["n2.weight"], w["n2.bias"])


def _head(g: Graph, x: str, mask: str, weights: Mapping[str, np.ndarray]) -> None:
    theirs = g("Mul", g("Cast", "token_type", to=TensorProto.FLOAT), mask)
    rows = g.ints(0), g.ints(QUESTION_ROWS), g.ints(1)
    states, ours = g("Slice", x, *rows), g("Slice", g("Sub", mask, theirs), *rows)
    passage, question = g.mean(x, theirs), g.mean(states, ours)
    product = g("Mul", g.unit(passage), g.unit(question))
    cosine = g("Mul", g("ReduceSum", product, g.ints(1), keepdims=1), g.constant(DOT_SCALE))
    similar = g("MatMul", g.unit(states), g("Transpose", g.unit(x), perm=[0, 2, 1]))
    off = g("Mul", g("Sub", theirs, g.constant(1.0)), g.constant(9.0))
    best = g("ReduceMax", g("Add", similar, g("Unsqueeze", off, g.ints(1))), g.ints(2), keepdims=0)
    count = g("Max", g("ReduceSum", ours, g.ints(1), keepdims=1), g.constant(1.0))
    maxsim = g("Mul", g("Div", g("ReduceSum", g("Mul", best, ours), g.ints(1), keepdims=1), count), g.constant(DOT_SCALE))
    first = g("Gather", x, g.constant(0, np.int64), axis=1)
    features = g("Concat", first, passage, g("Mul", product, g.constant(WIDTH**0.5)), cosine, maxsim, axis=1)
    hidden = g("Gelu", g.linear(features, weights["h1.weight"], weights["h1.bias"]))
    g("Squeeze", g.linear(hidden, weights["h2.weight"], weights["h2.bias"]), g.ints(1), name="logit")


def export(state: Mapping[str, Any], out: Path) -> str:
    """Writes the int8 file and returns its sha256."""
    weights = {name: value.float().numpy() for name, value in state.items()}
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "float.onnx"
        onnx.save(build(weights), path)
        quantize_dynamic(
            path,
            out,
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            weight_type=QuantType.QInt8,
            extra_options={"MatMulConstBOnly": True},
        )
    return hashlib.sha256(out.read_bytes()).hexdigest()

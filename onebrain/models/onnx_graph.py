"""A small builder for ONNX graphs: constants, nodes, tables kept in a file of their own, and int8 linear layers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

OPSET = 20  # the first with Gelu
IR_VERSION = 9
WEIGHT_LEVELS = 63  # 7 bits: with 8, two products can overflow the 16-bit sums of x86 chips that lack VNNI, silently
_MICROSOFT = "com.microsoft"


class Graph:
    """Collects nodes and constants; every method returns the name of what it made."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        self._quantised: dict[str, tuple[str, str]] = {}

    def const(self, name: str, value: NDArray[Any] | float) -> str:
        array = value if isinstance(value, np.ndarray) else np.asarray(value, np.float32)
        self._constants.append(numpy_helper.from_array(array, name))
        return name

    def ints(self, name: str, *values: int) -> str:
        return self.const(name, np.array(values, np.int64))

    def table(self, name: str, path: Path, array: NDArray[Any]) -> str:
        """Save `array` as .npy and refer to its bytes, so ONNX Runtime and numpy map the same pages of one file."""
        np.save(path, np.ascontiguousarray(array))
        tensor = TensorProto(name=name, data_type=helper.np_dtype_to_tensor_dtype(array.dtype), dims=array.shape)
        tensor.data_location = TensorProto.EXTERNAL
        place = {"location": path.name, "offset": path.stat().st_size - array.nbytes, "length": array.nbytes}
        for key, value in place.items():
            tensor.external_data.add(key=key, value=str(value))
        self._constants.append(tensor)
        return name

    def node(self, op: str, inputs: Sequence[str], name: str, *, domain: str = "", **attributes: Any) -> str:
        self._nodes.append(helper.make_node(op, list(inputs), [name], name=name, domain=domain, **attributes))
        return name

    def linear(self, x: str, weight: NDArray[np.float32], bias: NDArray[np.float32], name: str) -> str:
        """x · weightᵀ + bias for `x` (tokens, inputs) and `weight` (outputs, inputs), in int8.

        Weights have one scale per output, activations one per token. One scale per call would be a little faster, but then a
        vector would depend on what else is in the batch, and the error is 2.5 times larger.
        """
        values, steps = self._quantise(x)
        step = np.abs(weight).max(axis=1) / WEIGHT_LEVELS
        whole = np.rint(weight / step[:, None]).astype(np.int8)
        self.const(f"{name}.w", np.ascontiguousarray(whole.T))
        self.const(f"{name}.step", step.astype(np.float32))
        self.const(f"{name}.b", bias)
        operands = [values, f"{name}.w", "one", f"{name}.step", "uint8_zero"]
        self.node("MatMulIntegerToFloat", operands, f"{name}.product", domain=_MICROSOFT)
        self.node("Mul", [f"{name}.product", steps], f"{name}.scaled")
        return self.node("Add", [f"{name}.scaled", f"{name}.b"], name)

    def model(self, name: str, inputs: Sequence[onnx.ValueInfoProto], outputs: Sequence[onnx.ValueInfoProto]) -> bytes:
        graph = helper.make_graph(self._nodes, name, list(inputs), list(outputs), self._constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(_MICROSOFT, 1)]
        proto = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="onebrain")
        return bytes(proto.SerializeToString(deterministic=True))

    def _quantise(self, x: str) -> tuple[str, str]:
        """`x` as uint8 around 128 and its scales (tokens, 1); made once however many layers read it."""
        if x not in self._quantised:
            if not self._quantised:
                self._quantise_constants()
            self.node("Abs", [x], f"{x}.abs")
            self.node("ReduceMax", [f"{x}.abs", "axis_1"], f"{x}.max", keepdims=0)
            self.node("Mul", [f"{x}.max", "per_level"], f"{x}.raw_step")
            self.node("Max", [f"{x}.raw_step", "smallest"], f"{x}.step")
            self.node("Shape", [f"{x}.step"], f"{x}.tokens")
            middle = numpy_helper.from_array(np.array([128], np.uint8))
            self.node("ConstantOfShape", [f"{x}.tokens"], f"{x}.zero", value=middle)
            self.node("QuantizeLinear", [x, f"{x}.step", f"{x}.zero"], f"{x}.q", axis=0)
            self._quantised[x] = (f"{x}.q", self.node("Unsqueeze", [f"{x}.step", "axis_1"], f"{x}.steps"))
        return self._quantised[x]

    def _quantise_constants(self) -> None:
        self.const("per_level", 1 / 127)
        self.const("smallest", 1e-9)
        self.const("one", 1.0)
        self.ints("axis_1", 1)
        self.const("uint8_zero", np.array(128, np.uint8))


def tensor(name: str, kind: int, *dims: str | int) -> onnx.ValueInfoProto:
    """Declare an input or output of a graph."""
    return helper.make_tensor_value_info(name, kind, list(dims))

"""The e5 encoder once more, in numpy and float32 and one sequence at a time: what the ONNX graph is compared with."""

from __future__ import annotations

from math import erf

import numpy as np
from numpy.typing import NDArray

from onebrain.models.e5_source import E5Source, dequantise


def encode(source: E5Source, ids: NDArray[np.int64]) -> NDArray[np.float32]:
    """Ids (s,) to hidden states (s, hidden)."""
    shape = source.shape
    width, size = shape.hidden, shape.hidden // shape.heads

    def norm(x: NDArray[np.float32], at: str) -> NDArray[np.float32]:
        centred = x - x.mean(1, keepdims=True)
        scaled = centred / np.sqrt(centred.var(1, keepdims=True) + source.epsilon)
        return scaled * source.floats(f"{at}.w", width) + source.floats(f"{at}.b", width)

    def linear(x: NDArray[np.float32], at: str, out: int) -> NDArray[np.float32]:
        return x @ source.matrix(f"{at}.w", out, x.shape[1]).T + source.floats(f"{at}.b", out)

    def gelu(x: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.asarray(x * 0.5 * (1 + np.vectorize(erf)(x / np.sqrt(2))), np.float32)

    def heads(x: NDArray[np.float32]) -> NDArray[np.float32]:
        return x.reshape(-1, shape.heads, size).transpose(1, 0, 2)

    nibbles, scales = source.blocks("emb.word", shape.words, width)
    words = dequantise(nibbles[ids], scales[ids])
    positions = source.floats("emb.pos", shape.positions, width)[: len(ids)]
    x = norm(words + positions + source.floats("emb.type", shape.types, width)[0], "emb.ln")
    for layer in range(shape.layers):
        at = f"l{layer}."
        query, key, value = (heads(linear(x, at + letter, width)) for letter in "qkv")
        scores = query @ key.transpose(0, 2, 1) / np.sqrt(size)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        context = (weights / weights.sum(-1, keepdims=True) @ value).transpose(1, 0, 2).reshape(-1, width)
        x = norm(x + linear(context, at + "ao", width), at + "aln")
        x = norm(x + linear(gelu(linear(x, at + "fi", shape.inner)), at + "fo", width), at + "oln")
    return x

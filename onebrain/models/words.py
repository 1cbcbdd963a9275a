"""The word table of e5: 4-bit rows on disk, mapped, shared with the ONNX graph that refers to the same two files.

The encoder and our cross-encoder both start from these vectors. Mapping them means that one copy is on disk, one in the page cache,
and only the rows of words that really occur are ever read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onebrain.models.e5_source import HALF, dequantise

NIBBLES = "word_nibbles.npy"
SCALES = "word_scales.npy"


class WordTable:
    """Rows of the table as float32. Raises FileNotFoundError where the folder has none (a model that was not converted by us)."""

    def __init__(self, folder: Path) -> None:
        self._nibbles: NDArray[np.uint8] = np.load(folder / NIBBLES, mmap_mode="r")
        self._scales: NDArray[np.float16] = np.load(folder / SCALES, mmap_mode="r")

    @property
    def dim(self) -> int:
        return int(self._nibbles.shape[1]) * 2

    def __len__(self) -> int:
        return int(self._nibbles.shape[0])

    def rows(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """ids (...) to vectors (..., dim)."""
        packed: NDArray[Any] = np.asarray(self._nibbles[ids])
        return dequantise(packed.reshape(*ids.shape, -1, HALF), np.asarray(self._scales[ids]))

    @staticmethod
    def exists(folder: Path) -> bool:
        return (folder / NIBBLES).is_file() and (folder / SCALES).is_file()

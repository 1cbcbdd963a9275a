"""A data file of the E5S1 form with random weights, a few kilobytes, for the converter."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

PIECES = ["<s>", "<pad>", "</s>", "<unk>", "\u2581", "\u2581red", "\u2581apple", "s", "a", "b"]
HIDDEN, LAYERS, HEADS, INNER, POSITIONS, TYPES = 64, 2, 2, 128, 32, 2


def write(path: Path) -> Path:
    tensors = _tensors(np.random.default_rng(3))
    head = b"E5S1" + struct.pack("<I7ifi", 1, HIDDEN, LAYERS, HEADS, INNER, len(PIECES), POSITIONS, TYPES, 1e-12, 32)
    blob = "".join(PIECES).encode()
    ends = np.cumsum([0, *(len(piece.encode()) for piece in PIECES)]).astype("<u4")
    words = struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, len(blob)) + ends.tobytes()
    words += np.linspace(-1, -9, len(PIECES)).astype("<f4").tobytes() + blob + struct.pack("<iI", 1, 3) + b"xyz"
    entries = [(name.encode(), kind, content) for name, (kind, content) in tensors.items()]
    size = 4 + sum(2 + len(name) + 1 + 4 + 16 for name, _, _ in entries)
    offset = len(head) + len(words) + size
    directory = struct.pack("<i", len(entries))
    for name, kind, content in entries:
        directory += struct.pack("<H", len(name)) + name + struct.pack("<BIQQ", kind, 0, offset, len(content))
        offset += len(content)
    path.write_bytes(head + words + directory + b"".join(content for _, _, content in entries))
    return path


def _tensors(rng: np.random.Generator) -> dict[str, tuple[int, bytes]]:
    def floats(*shape: int, around: float = 0.0) -> tuple[int, bytes]:
        return 0, (rng.normal(size=shape) * 0.1 + around).astype("<f4").tobytes()

    def blocks(rows: int, columns: int) -> tuple[int, bytes]:
        raw = rng.integers(0, 256, (rows, columns // 32, 18), np.uint8)
        raw[:, :, :2] = rng.uniform(0.01, 0.05, (rows, columns // 32, 1)).astype("<f2").view(np.uint8)
        return 1, raw.tobytes()

    made = {"emb.word": blocks(len(PIECES), HIDDEN), "emb.pos": floats(POSITIONS, HIDDEN), "emb.type": floats(TYPES, HIDDEN)}
    norms = ["emb.ln"] + [f"l{layer}.{name}" for layer in range(LAYERS) for name in ("aln", "oln")]
    for name in norms:
        made |= {f"{name}.w": floats(HIDDEN, around=1.0), f"{name}.b": floats(HIDDEN)}
    for layer in range(LAYERS):
        for name, rows, columns in [*((n, HIDDEN, HIDDEN) for n in ("q", "k", "v", "ao")), ("fi", INNER, HIDDEN), ("fo", HIDDEN, INNER)]:
            made |= {f"l{layer}.{name}.w": blocks(rows, columns), f"l{layer}.{name}.b": floats(rows)}
    return made

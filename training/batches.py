"""Token ids of questions and passages, and pairs padded into arrays."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

START, PAD, END = 0, 1, 2
LONGEST, LONGEST_QUESTION = 192, 40

Ids = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Pair:
    """`<s> question </s></s> passage </s>`; `passage_at` is the first passage token."""

    ids: Ids
    passage_at: int


@dataclass(frozen=True, slots=True)
class Batch:
    ids: NDArray[np.int64]
    mask: NDArray[np.int64]
    side: NDArray[np.int64]  # 1 on passage tokens, the last </s> included


def tokenize(tokenizer: Path, texts: list[str]) -> list[Ids]:
    reader = Tokenizer.from_file(str(tokenizer))
    reader.no_padding()
    reader.no_truncation()
    return [np.array(e.ids, np.int32) for e in reader.encode_batch(texts, add_special_tokens=False)]


def pair(question: Ids, passage: Ids, longest: int = LONGEST) -> Pair:
    question = question[:LONGEST_QUESTION]
    passage = passage[: longest - len(question) - 4]
    return Pair(np.concatenate([[START], question, [END, END], passage, [END]]).astype(np.int32), len(question) + 3)


def batch(pairs: Sequence[Pair]) -> Batch:
    width = max(len(p.ids) for p in pairs)
    ids = np.full((len(pairs), width), PAD, np.int64)
    mask = np.zeros_like(ids)
    side = np.zeros_like(ids)
    for row, item in enumerate(pairs):
        ids[row, : len(item.ids)] = item.ids
        mask[row, : len(item.ids)] = 1
        side[row, item.passage_at : len(item.ids)] = 1
    return Batch(ids, mask, side)

"""An embedder at the real one's price that needs no half hour for 50,000 passages, and a daemon with it:

    python bench/stand_in.py --vault VAULT daemon run
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache

import numpy as np

import onebrain.brain
from onebrain.models.embed import E5Embedder
from onebrain.models.ports import Floats

SHARED = 0.88  # of all vectors: unrelated texts lie at its square


class StandIn(E5Embedder):
    """The real model's cost for a question, and instead of its vectors sums of one random direction a token, the rarer the longer, with
    e5's spread of cosines: texts that share words lie near each other, so that the cascade decides as it does with the real ones."""

    def embed_passages(self, texts: Sequence[str]) -> Floats:
        return np.stack([self._bag(text) for text in texts])

    def embed_query(self, text: str) -> Floats:
        super().embed_query(text)
        return self._bag(text)

    def _bag(self, text: str) -> Floats:
        tokens = sorted(set(self.token_ids(text)))
        weights = np.log1p(np.array(tokens or [1], np.float32)) ** 2  # the tokenizer's ids are in order of frequency
        noise = weights @ np.stack([_direction(token, self.dim) for token in tokens or [1]])
        mixed = SHARED * np.full(self.dim, 1 / np.sqrt(self.dim)) + np.sqrt(1 - SHARED**2) * noise / (np.linalg.norm(noise) or 1.0)
        return np.asarray(mixed / np.linalg.norm(mixed), np.float32)


@cache
def _direction(token: int, dim: int) -> Floats:
    drawn = np.random.default_rng(token).standard_normal(dim, np.float32)
    return np.asarray(drawn / np.linalg.norm(drawn), np.float32)


if __name__ == "__main__":
    onebrain.brain.E5Embedder = StandIn  # type: ignore[misc, attr-defined]
    from onebrain.cli import direct

    sys.exit(direct.main(sys.argv[1:]))

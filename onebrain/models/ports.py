"""The learned parts as small ports, and the settings that choose who stands behind them.

Every implementation is used through these protocols alone; `twins` holds in-memory ones that pass the same contract test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from onebrain.errors import ModelUnavailable

Floats = NDArray[np.float32]


class WriterUnavailable(ModelUnavailable):
    """Nothing was written this time; the message is the reason to show on the stage."""


class Embedder(Protocol):
    """Texts to unit vectors. The same text always gives the same bytes, whatever it was embedded together with."""

    @property
    def model_id(self) -> str: ...

    @property
    def fingerprint(self) -> str:
        """Changes exactly when vectors made before and after can't be compared; stored with each index."""

    @property
    def dim(self) -> int: ...

    def embed_query(self, text: str) -> Floats:
        """(dim,) of length 1."""

    def embed_passages(self, texts: Sequence[str]) -> Floats:
        """(len(texts), dim), every row of length 1, in the order given."""

    def unload(self) -> None:
        """Give the memory back; the next call loads again."""


class Reranker(Protocol):
    """A cross-encoder: reads question and passage together."""

    @property
    def model_id(self) -> str: ...

    def score(self, query: str, passages: Sequence[str]) -> Floats:
        """(len(passages),) logits, higher is more relevant; only a calibration turns them into probabilities."""

    def unload(self) -> None: ...


class HydeWriter(Protocol):
    """Writes the passage that would answer a question (hypothetical document embedding, Gao et al. 2022)."""

    @property
    def name(self) -> str: ...

    def write(self, question: str) -> str:
        """One short passage. Raises WriterUnavailable, at the latest after the seconds it was configured with."""

    def unload(self) -> None: ...


class SynthesisWriter(Protocol):
    """Words an answer from numbered quotes. What it writes is believed only as far as `search.synthesis` finds it backed."""

    @property
    def name(self) -> str:
        """Who writes, and where, as the reader is told."""

    def write(self, instructions: str, quotes: str) -> str:
        """The reply as it came. Raises WriterUnavailable, at the latest after the writer's own time limit."""


@dataclass(frozen=True, slots=True)
class EmbedSettings:
    """`folder` names a model on disk and wins over the cache; `model` picks one of the cache; `threads` None uses the free cores."""

    folder: Path | None = None
    model: str | None = None
    threads: int | None = None


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """`url` is that of a chat completion (OpenAI-compatible) or of Ollama's `/api/generate`; a bare address is Ollama's, `…/v1` an
    OpenAI-compatible server's. `key_env` names the environment variable that holds the key, so that no key is ever in a file.
    """

    url: str
    model: str = ""
    key_env: str | None = None
    max_tokens: int = 64


@dataclass(frozen=True, slots=True)
class HydeSettings:
    """`endpoint`, `model`, `key_env` as in EndpointSettings; None means none. `local` allows the small local model where its packages are
    installed.
    """

    endpoint: str | None = None
    model: str = ""
    key_env: str | None = None
    local: bool = True
    timeout_s: float = 3.0
    max_tokens: int = 64

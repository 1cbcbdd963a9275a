"""A calibration that a test can reason about. The shipped one knows the cosines of e5, which those of the tests' embedder are unlike."""

from __future__ import annotations

import pytest

from onebrain.search import searcher
from onebrain.search.evidence import Calibration

_BY_WORDS_AND_NEARNESS = {"cover": 5.0, "cos": 3.0, "bias": -4.0}
PLAIN = Calibration({"lex": 1.0, "cos": 0.5}, _BY_WORDS_AND_NEARNESS, _BY_WORDS_AND_NEARNESS)


@pytest.fixture
def plain_calibration(monkeypatch: pytest.MonkeyPatch) -> None:
    """What holds the question's words, or is nearest by meaning among the candidates, is likely right."""
    monkeypatch.setattr(searcher, "shipped", lambda reranked: PLAIN)

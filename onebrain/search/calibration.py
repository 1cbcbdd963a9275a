"""Reads the fitted weights that ship with the package."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from onebrain.search.evidence import Calibration


@cache
def shipped(reranked: bool) -> Calibration:
    """Weights for questions scored with a cross-encoder's logit among the features, or without."""
    name = "calibration-reranked.json" if reranked else "calibration.json"
    data = json.loads((files("onebrain.search") / "data" / name).read_text(encoding="utf-8"))
    return Calibration(data["rank"], data["question"], data["keywords"], tuple((at, told) for at, told in data["told"]))

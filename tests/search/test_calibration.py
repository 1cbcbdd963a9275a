"""What is told for a fitted probability rises with it, and the bars of the bands are where they were."""

from __future__ import annotations

import pytest

from onebrain.search.calibration import shipped
from onebrain.search.report import CONFIDENT, POSSIBLE


@pytest.mark.parametrize("reranked", [False, True])
def test_what_is_told_rises_and_leaves_the_bars_alone(reranked: bool) -> None:
    calibration = shipped(reranked)
    given, told = zip(*calibration.told, strict=True)
    assert list(given) == sorted(set(given)) and list(told) == sorted(set(told))
    assert (given[0], told[0], given[-1], told[-1]) == (0.0, 0.0, 1.0, 1.0)
    assert {(POSSIBLE, POSSIBLE), (CONFIDENT, CONFIDENT)} <= set(calibration.told)


def test_a_probability_lies_between_what_is_told_around_it() -> None:
    calibration = shipped(False)
    values = [calibration.probability({"cos_z": step / 2, "lex_abs": step / 10}, asks=True) for step in range(-4, 12)]
    assert all(0.0 <= value <= 1.0 for value in values) and len(set(values)) > 3

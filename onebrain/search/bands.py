"""Three bands over the calibrated score (seed 003): ≥ 0.60 confident, 0.30–0.60 possible, below no strong match."""

from __future__ import annotations

from collections.abc import Iterable

from onebrain.search.report import CONFIDENT, POSSIBLE, Band, Hit, Verdict


def band(probability: float | None) -> Band:
    """0.60 itself is confident, 0.30 itself possible."""
    if probability is None:
        return Band.UNRANKED
    return Band.CONFIDENT if probability >= CONFIDENT else Band.POSSIBLE if probability >= POSSIBLE else Band.WEAK


def verdict(hits: Iterable[Hit]) -> Verdict:
    """The best band among the hits; a listing without calibrated scores can claim no more than possible."""
    seen = {hit.band for hit in hits}
    if Band.CONFIDENT in seen:
        return Verdict.CONFIDENT
    return Verdict.POSSIBLE if seen & {Band.POSSIBLE, Band.UNRANKED} else Verdict.NONE

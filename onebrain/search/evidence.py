"""From what the legs found to one ordering and one probability, with the parts of both.

`score` orders the hits of one question: a fitted linear sum over features that are comparable within that question (min-max normalised
BM25F and cosine: convex score fusion, which beats reciprocal rank fusion wherever it was measured, facts/models.md §3).
`rerank_score` is P(this passage answers), a logistic over the same features plus ones that are comparable across questions and vaults
(coverage by idf, cosine z-score, agreement, gaps). The two are never mixed. Weights are data: `data/calibration.json`, fitted by
`evaluate/fit.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from onebrain.search.legs import Lexical, Semantic
from onebrain.search.reading import Reading
from onebrain.search.report import Mode
from onebrain.text import analysis
from onebrain.text.languages import language_of
from onebrain.vault.library import NoteRecord
from onebrain.vault.note import Chunk, Source, Status

_RANK_SCALE = 10  # a reciprocal rank of 10/(10 + rank)
_ADJACENCY_POOL = 30  # passages, best by words first, whose text is read for neighbouring words
_LANGUAGE_SAMPLE = 400
_DENSE_SOURCES = frozenset({Source.SESSION, Source.CHECKPOINT, Source.PAUSE, Source.DECISION, Source.MEMORY_NOTE, Source.MEMORY})


@dataclass(slots=True)
class Candidate:
    """A passage some leg found, with its features. Filled in by `measure`, ordered by `score`."""

    chunk: Chunk
    note: NoteRecord
    lex: float = 0.0
    cos: float | None = None
    ranks: dict[str, int] = field(default_factory=dict)  # leg → rank from 0
    parts: Mapping[str, float] = field(default_factory=dict)
    features: dict[str, float] = field(default_factory=dict)
    score: float = 0.0
    probability: float | None = None
    logit: float | None = None  # of the cross-encoder


@dataclass(frozen=True, slots=True)
class Pool:
    """All candidates of one question and what is true of the question as a whole."""

    candidates: Sequence[Candidate]
    reading: Reading
    lexical: Lexical
    semantic: Semantic


def measure(pool: Pool) -> None:
    """Fill in the features of every candidate, but for the cross-encoder's."""
    candidates = pool.candidates
    if not candidates:
        return
    weights = _weights(pool)
    total = sum(weights.values()) or 1.0
    identifiers = set(pool.reading.identifiers)
    rarest = max(weights.values(), default=0.0)
    ceiling = sum(pool.lexical.idf.get(g.key, 0.0) * g.weight for g in pool.reading.groups) * 2.2 or 1.0
    best_lex = max((c.lex for c in candidates), default=0.0)
    cosines = np.asarray([c.cos for c in candidates if c.cos is not None], np.float32)
    low, high = (float(cosines.min()), float(cosines.max())) if len(cosines) else (0.0, 1.0)
    near = np.sort(np.asarray([cos for _, cos in pool.semantic.near], np.float32))[::-1]
    mean, spread = (float(near.mean()), float(near.std()) or 1.0) if len(near) > 1 else (low, 1.0)
    of_note = _matched_in_note(candidates)
    language = language_of(pool.reading.text)
    closely_read = {c.chunk.id for c in sorted(candidates, key=lambda c: -c.lex)[:_ADJACENCY_POOL] if len(c.parts) > 1}
    lexes = sorted((c.lex for c in candidates), reverse=True)
    for c in candidates:
        here, whole_note = set(c.parts), of_note[c.chunk.path]
        cos = low if c.cos is None else c.cos
        title, heading = _fit(weights, c.note.title), _fit(weights, c.chunk.heading_path.rpartition(" > ")[2])
        c.features = {
            "lex": c.lex / best_lex if best_lex else 0.0,
            "lex_abs": min(1.0, c.lex / ceiling),
            "lex_gap": (c.lex - (lexes[1] if c.lex >= lexes[0] and len(lexes) > 1 else lexes[0])) / ceiling,
            "cos": (cos - low) / (high - low) if high > low else 0.0,
            "cos_raw": (cos - 0.8) * 10 if c.cos is not None else 0.0,
            "cos_z": (cos - mean) / spread / 3 if c.cos is not None else 0.0,
            "cos_gap": (cos - float(near[1] if cos >= near[0] and len(near) > 1 else near[0])) * 20 if len(near) else 0.0,
            "cover": sum(weights[key] for key in here & weights.keys()) / total,
            "cover_note": sum(weights[key] for key in whole_note & weights.keys()) / total,
            "rare_missing": float(bool(weights) and not any(weights[key] >= 0.8 * rarest for key in whole_note & weights.keys())),
            "title": title[0],
            "title_fit": math.sqrt(title[0] * title[1]),
            "heading": heading[0],
            "heading_fit": math.sqrt(heading[0] * heading[1]),
            "literal": len(here & identifiers) / len(identifiers) if identifiers else 0.0,
            "exact": float("exact" in c.ranks),
            "adjacent": _adjacency(pool.reading, c.chunk) if c.chunk.id in closely_read else 0.0,
            "agree": float("lex" in c.ranks and c.ranks["lex"] < 10 and "vec" in c.ranks and c.ranks["vec"] < 10),
            "rr_lex": _reciprocal(c.ranks.get("lex")),
            "rr_vec": _reciprocal(c.ranks.get("vec")),
            "rr_hyde": _reciprocal(c.ranks.get("hyde")),
            "guessed": float(any(key in pool.lexical.guesses for key in here)),
            "foreign": float(language_of(c.chunk.text[:_LANGUAGE_SAMPLE]) != language),
            "short": float(len(c.chunk.text) < 120),
            "log_words": math.log1p(len(weights)) / 3,
            "history": float(c.note.source in _DENSE_SOURCES),
            "stale": float(c.note.status in (Status.DEPRECATED, Status.SUPERSEDED)),
            "why": float(pool.reading.mode is Mode.WHY),
        }


def _weights(pool: Pool) -> dict[str, float]:
    """idf of each word of the question that can be missed; a word no passage holds weighs as the rarest."""
    return {g.key: pool.lexical.idf.get(g.key, 0.0) for g in pool.reading.groups if not g.optional}


def _matched_in_note(candidates: Iterable[Candidate]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for c in candidates:
        found.setdefault(c.chunk.path, set()).update(c.parts)
    return found


def _fit(weights: Mapping[str, float], name: str) -> tuple[float, float]:
    """(share of the question's weight that the name holds, share of the name's words that the question holds)."""
    named = _words_of(name)
    if not weights or not named:
        return 0.0, 0.0
    asked = {term: word for word in weights for term in (word, *_stems(word))}
    hit = {asked[term] for word in named for term in word if term in asked}
    said = sum(any(term in asked for term in word) for word in named) / len(named)
    return sum(weights[word] for word in hit) / (sum(weights.values()) or 1.0), said


@lru_cache(maxsize=50_000)
def _words_of(name: str) -> tuple[tuple[str, ...], ...]:
    return tuple((group.key, *group.alternatives) for group in analysis.groups(name)) if name else ()


@lru_cache(maxsize=10_000)
def _stems(word: str) -> tuple[str, ...]:
    return tuple(term.text for term in analysis.terms(word))


def _adjacency(reading: Reading, chunk: Chunk) -> float:
    """Share of neighbouring content words of the question that stand within three words of each other, in order, in the passage."""
    wanted = [group.alternatives for group in reading.groups if not group.optional]
    if len(wanted) < 2:
        return 0.0
    known = {term for alternatives in wanted for term in alternatives}
    places: dict[str, list[int]] = {}
    for term in analysis.terms(chunk.embed_text):
        if term.text in known:
            places.setdefault(term.text, []).append(term.position)
    met = sum(_near(places, left, right) for left, right in zip(wanted, wanted[1:], strict=False))
    return met / (len(wanted) - 1)


def _near(places: Mapping[str, Sequence[int]], left: Iterable[str], right: Iterable[str]) -> bool:
    after = [place for term in right for place in places.get(term, ())]
    return any(0 < second - first <= 3 for term in left for first in places.get(term, ()) for second in after)


def _reciprocal(rank: int | None) -> float:
    return 0.0 if rank is None else _RANK_SCALE / (_RANK_SCALE + rank)


def add_logits(read: Sequence[Candidate], logits: Sequence[float] | NDArray[np.float32]) -> None:
    """The cross-encoder's view. A bare logit can't be calibrated across vaults (facts/reranker.md §5): its place is among the features."""
    values = [float(logit) for logit in logits]
    top, low = max(values), min(values)
    runner_up = sorted(values)[-2] if len(values) > 1 else top
    for c, logit in zip(read, values, strict=True):
        c.logit = logit
        c.features |= {
            "ce": logit / 5,
            "ce_positive": max(0.0, logit) / 5,
            "ce_rel": (logit - low) / (top - low) if top > low else 0.0,
            "ce_gap": (logit - (runner_up if logit == top else top)) / 5,
        }


@dataclass(frozen=True, slots=True)
class Calibration:
    """Fitted weights by feature name. A feature without a weight counts nothing; one that was not measured counts as 0."""

    rank: Mapping[str, float]
    question: Mapping[str, float]  # with "bias"
    keywords: Mapping[str, float]


def rank_score(features: Mapping[str, float], weights: Mapping[str, float]) -> float:
    return sum(weights.get(name, 0.0) * value for name, value in features.items())


def probability(features: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Logistic of the weighted features and the bias; in (0, 1)."""
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, weights.get("bias", 0.0) + rank_score(features, weights)))))


def score(pool: Pool, calibration: Calibration) -> list[Candidate]:
    """Candidates in order. Both numbers are rounded here, so that ties break the same way everywhere: (score, path, ordinal)."""
    weights = calibration.question if pool.reading.asks else calibration.keywords
    for c in pool.candidates:
        c.score = round(rank_score(c.features, calibration.rank), 5)
        c.probability = round(probability(c.features, weights), 4)
    return sorted(pool.candidates, key=lambda c: (-c.score, c.chunk.path, c.chunk.ordinal))

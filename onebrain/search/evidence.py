"""From what the legs found to one ordering and one probability, with the parts of both.

`score` orders the hits of one question: a fitted linear sum over features that are comparable within that question (min-max normalised
BM25F and cosine: convex score fusion, which beats reciprocal rank fusion wherever it was measured, facts/models.md §3).
`rerank_score` is P(this passage answers), a logistic over the same features plus ones that are comparable across questions and vaults
(coverage by idf, cosine z-score, agreement, gaps). The two are never mixed. Weights are data: `data/calibration.json`, fitted by
`evaluate/fit.py`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from onebrain.search.legs import Lexical, Semantic
from onebrain.search.reading import HOW_MUCH, Reading
from onebrain.search.report import CONFIDENT, POSSIBLE, Mode
from onebrain.text import analysis, identifiers
from onebrain.text.languages import language_of
from onebrain.vault.chunk import says_nothing
from onebrain.vault.library import NoteRecord
from onebrain.vault.note import Chunk, Source, Status

_RANK_SCALE = 10  # a reciprocal rank of 10/(10 + rank)
_CLOSE = 10  # places from the top of a leg that count as close
_MOST_OF_A_WORD = 2.2  # BM25's limit for one word of idf 1: k1 + 1
_STALE = (Status.DEPRECATED, Status.SUPERSEDED)
_UNSETTLED = CONFIDENT - 0.01
_NAMED_GAIN = 5.0  # more than all fitted weights together
_STALE_LOSS = 0.25  # of the score: about the distance between a first and a third hit
_CAPITALISED = re.compile(r"(?<=[^.!?¿¡\s]\s)[A-ZÀ-ÞА-ЯΑ-Ω][\w'’.-]*")
_READ_CLOSELY = 30  # passages, best by words first, whose text is read for words that stand together
_TIGHT = 25  # words that are about a sentence
_AROUND = 2  # passages before and after one that speak for it
_CROWD = 3  # neighbours among the closest that say all that they can
_LANGUAGE_SAMPLE = 400
_ASKS_NUMBER = re.compile(  # English only: what counts as a number word is known for no other language
    rf"{HOW_MUCH}|\b(?:price|cost|number) of\b|\b(?:what|which) (?:\w+ )?"
    r"(?:number|percentage|share|cap|limit|size|version|port|cost|price|budget|year|amount|rate)\b",
    re.IGNORECASE,
)
_ASKS_DAY = re.compile(r"\bwhen (?:was|were|did|will|has|have)\b|\b(?:what|which) (?:date|day|month|time)\b", re.IGNORECASE)
NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|ninety|hundreds?|thousands?"
    r"|millions?|billions?|dozens?|half|quarter|third|double|single|once|twice|couple|every|each|all|none|no|never|always|unlimited|free|hourly"
    r"|daily|nightly|overnight|weekly|fortnight\w*|monthly|quarterly|yearly|annual\w*|forever|indefinitely|few|several|many|most"
    r"|january|february|march|april|june|july|august|september|october|november|december|(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
    r"|today|yesterday|tomorrow|soon|spring|summer|autumn|winter|noon|morning|evening)\b",
    re.IGNORECASE,
)
_HISTORY = frozenset({Source.SESSION, Source.CHECKPOINT, Source.PAUSE, Source.DECISION, Source.MEMORY_NOTE, Source.MEMORY})


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
    if not pool.candidates:
        return
    asked = _Asked(pool)
    for c in pool.candidates:
        c.features = _by_words(c, asked) | _by_meaning(c, asked) | _by_place(c, asked)
        alike = 0.0 if c.features["foreign"] else 1.0
        # Words that match say little, and cosines lie lower, where passage and question are in different languages.
        c.features |= {
            "cover_own": c.features["cover_near"] * alike,
            "names_own": c.features["names"] * alike,
            "cos_foreign": c.features["cos_raw"] * (1 - alike),
            "cos_z_foreign": c.features["cos_z"] * (1 - alike),
        }


class _Asked:
    """What is true of the question and of its pool as a whole."""

    def __init__(self, pool: Pool) -> None:
        reading, candidates = pool.reading, pool.candidates
        self.pool = pool
        self.weights = _weights(pool)
        self.total = sum(self.weights.values()) or 1.0
        self.rarest = max(self.weights.values(), default=0.0)
        self.identifiers = set(reading.identifiers)
        self.names = names_in(reading) & self.weights.keys()
        self.language = language_of(reading.text)
        self.ceiling = sum(pool.lexical.idf.get(g.key, 0.0) * g.weight for g in reading.groups) * _MOST_OF_A_WORD or 1.0
        lexes = sorted((c.lex for c in candidates), reverse=True)
        self.best_lex, self.second_lex = lexes[0], lexes[1] if len(lexes) > 1 else lexes[0]
        cosines = [c.cos for c in candidates if c.cos is not None]
        self.low, self.high = (min(cosines), max(cosines)) if cosines else (0.0, 1.0)
        near = np.sort(np.asarray([cos for _, cos in pool.semantic.near], np.float32))[::-1]
        self.nearest, self.second = (float(near[0]), float(near[min(1, len(near) - 1)])) if len(near) else (self.low, self.low)
        self.mean, self.spread = (float(near.mean()), float(near.std()) or 1.0) if len(near) > 1 else (self.low, 1.0)
        self.around = _matched_around(candidates)
        self.unknown = sum(w for word, w in self.weights.items() if not any(word in c.parts for c in candidates)) / self.total
        few = min(_CLOSE, len(near) // 5)  # of a handful of passages all are among the ten nearest, which says nothing
        self.close = [c.chunk for c in candidates if c.ranks.get("vec", few) < few]
        leads = [next((c.chunk for c in candidates if c.ranks.get(leg) == 0), None) for leg in ("lex", "vec")]
        self.leads = [lead for lead in leads if lead is not None] if None not in leads else []
        best = sorted(candidates, key=lambda c: -c.lex)[:_READ_CLOSELY]
        self.closely_read = {c.chunk.id for c in best if len(c.parts) > 1}
        self.wanted = [group for group in reading.groups if not group.optional]
        guesses = pool.lexical.guesses
        self.word_of = {term: g.key for g in self.wanted for term in (*g.alternatives, *guesses.get(g.key, ()))}


def _by_words(c: Candidate, asked: _Asked) -> dict[str, float]:
    weights, here, near = asked.weights, set(c.parts), asked.around[c.chunk.id]
    adjacent, tight = 0.0, _share(weights, sorted(here)[:1], asked.total)
    if c.chunk.id in asked.closely_read:
        adjacent, tight = _closely(asked, c.chunk)
    title, heading = _fit(weights, c.note.title), _fit(weights, c.chunk.heading_path.rpartition(" > ")[2])
    return {
        "lex": c.lex / asked.best_lex if asked.best_lex else 0.0,
        "lex_abs": min(1.0, c.lex / asked.ceiling),
        "lex_gap": (c.lex - (asked.second_lex if c.lex >= asked.best_lex else asked.best_lex)) / asked.ceiling,
        "rr_lex": _reciprocal(c.ranks.get("lex")),
        "cover": _share(weights, here, asked.total),
        "cover_near": _share(weights, near, asked.total),
        "cover_tight": tight,
        "rare_missing": float(bool(weights) and not any(weights[word] >= 0.8 * asked.rarest for word in near & weights.keys())),
        "unknown": asked.unknown,
        "names": len(asked.names & near) / len(asked.names) if asked.names else 1.0,
        "named": float(bool(asked.names)),
        "title": title[0],
        "title_fit": math.sqrt(title[0] * title[1]),
        "heading": heading[0],
        "heading_fit": math.sqrt(heading[0] * heading[1]),
        "literal": len(here & asked.identifiers) / len(asked.identifiers) if asked.identifiers else 0.0,
        "exact": float("exact" in c.ranks),
        "adjacent": adjacent,
        "guessed": float(any(word in asked.pool.lexical.guesses for word in here)),
        "log_words": math.log1p(len(weights)) / 3,
    }


def _by_meaning(c: Candidate, asked: _Asked) -> dict[str, float]:
    cos = asked.low if c.cos is None else c.cos
    best = asked.nearest if cos < asked.nearest else asked.second
    return {
        "cos": (cos - asked.low) / (asked.high - asked.low) if asked.high > asked.low else 0.0,
        # Clipped to where e5 puts real text: another embedder's scale must not drive the probability out of what was fitted.
        "cos_raw": _clip((cos - 0.8) * 10, -0.5, 1.5) if c.cos is not None else 0.0,
        "cos_z": _clip((cos - asked.mean) / asked.spread / 3, -1.0, 2.0) if c.cos is not None else 0.0,
        "cos_gap": _clip((cos - best) * 20, -2.0, 1.0) if asked.pool.semantic.near else 0.0,
        "no_vectors": float(not asked.pool.semantic.near),
        "rr_vec": _reciprocal(c.ranks.get("vec")),
        "rr_hyde": _reciprocal(c.ranks.get("hyde")),
        "crowd": _crowd(c, asked),
    }


def _crowd(c: Candidate, asked: _Asked) -> float:
    """How many passages beside this one are among the closest. What is most of its note has none, which says nothing against it."""
    if 2 * len(c.chunk.text.encode()) >= c.note.size:
        return 0.5 * (c.ranks.get("vec", _CLOSE) < _CLOSE)
    return min(_CROWD, sum(other.id != c.chunk.id and _beside(other, c.chunk) for other in asked.close)) / _CROWD


def _by_place(c: Candidate, asked: _Asked) -> dict[str, float]:
    return {
        "agree": float(c.ranks.get("lex", _CLOSE) < _CLOSE and c.ranks.get("vec", _CLOSE) < _CLOSE),
        "agreed_lead": float(bool(asked.leads) and all(_beside(lead, c.chunk) for lead in asked.leads)),
        "foreign": float(_language(c.chunk.text[:_LANGUAGE_SAMPLE]) != asked.language),
        "history": float(c.note.source in _HISTORY),
        "why": float(asked.pool.reading.mode is Mode.WHY),
        "history_why": float(c.note.source in _HISTORY and asked.pool.reading.mode is Mode.WHY),
    }


def _clip(value: float, low: float, high: float) -> float:
    return max(low, min(high, value))


def _share(weights: Mapping[str, float], words: Iterable[str], total: float) -> float:
    return sum(weights[word] for word in words if word in weights) / total


def names_in(reading: Reading) -> set[str]:
    """Words of the question that name something: capitalised inside it, or with a digit."""
    found = {group.key for group in reading.groups if any(ch.isdigit() for ch in group.key)}
    for match in _CAPITALISED.finditer(reading.text):
        found.update(group.key for group in analysis.groups(match.group()))
    return found


def _weights(pool: Pool) -> dict[str, float]:
    """idf of each word of the question that can be missed; a word no passage holds weighs as the rarest."""
    return {g.key: pool.lexical.idf.get(g.key, 0.0) for g in pool.reading.groups if not g.optional}


def _beside(one: Chunk, other: Chunk) -> bool:
    """Whether two passages stand together. What a long note or a changelog says elsewhere is no evidence for a passage of it."""
    return one.path == other.path and abs(one.ordinal - other.ordinal) <= _AROUND


def _matched_around(candidates: Sequence[Candidate]) -> dict[str, set[str]]:
    """By chunk id: the words matched in a passage and in those that stand around it."""
    here = {(c.chunk.path, c.chunk.ordinal): c.parts for c in candidates}
    steps = range(-_AROUND, _AROUND + 1)
    return {c.chunk.id: {word for step in steps for word in here.get((c.chunk.path, c.chunk.ordinal + step), ())} for c in candidates}


def covered(pool: Pool) -> dict[str, float]:
    """By note, the share of the question's weight that the passages found of it hold together: a record is told as a whole."""
    weights, found = _weights(pool), dict[str, set[str]]()
    for c in pool.candidates:
        found.setdefault(c.chunk.path, set()).update(c.parts)
    return {path: _share(weights, words, sum(weights.values()) or 1.0) for path, words in found.items()}


def _fit(weights: Mapping[str, float], name: str) -> tuple[float, float]:
    """(share of the question's weight that the name holds, share of the name's words that the question holds)."""
    named = _words_of(name)
    if not weights or not named:
        return 0.0, 0.0
    asked = {term: word for word in weights for term in (word, *_stems(word))}
    hit = {asked[term] for word in named for term in word if term in asked}
    said = sum(any(term in asked for term in word) for word in named) / len(named)
    return sum(weights[word] for word in hit) / (sum(weights.values()) or 1.0), said


@lru_cache(maxsize=20_000)
def _language(text: str) -> str:
    return language_of(text)


@lru_cache(maxsize=50_000)
def _words_of(name: str) -> tuple[tuple[str, ...], ...]:
    """Read in one language, as passages are: names are many, and new ones come with every question."""
    return tuple((group.key, *group.alternatives) for group in analysis.groups(name, (language_of(name),))) if name else ()


@lru_cache(maxsize=10_000)
def _stems(word: str) -> tuple[str, ...]:
    return tuple(term.text for term in analysis.terms(word))


def _closely(asked: _Asked, chunk: Chunk) -> tuple[float, float]:
    """What the order of a passage's words tells: the share of neighbouring words of the question that stand within three words of each
    other in order, and the largest share of the question's weight that stands within `_TIGHT` words."""
    found = sorted((term.position, term.text) for term in analysis.terms(chunk.embed_text) if term.text in asked.word_of)
    places: dict[str, list[int]] = {}
    for position, term in found:
        places.setdefault(term, []).append(position)
    pairs = list(zip(asked.wanted, asked.wanted[1:], strict=False))
    adjacent = sum(_near(places, left.alternatives, right.alternatives) for left, right in pairs) / len(pairs) if pairs else 0.0
    inside: Counter[str] = Counter()  # words of the question in the window that ends here
    tight, held, begin = 0.0, 0.0, 0
    for position, term in found:
        word = asked.word_of[term]
        held += 0.0 if inside[word] else asked.weights.get(word, 0.0)
        inside[word] += 1
        while found[begin][0] < position - _TIGHT:
            left = asked.word_of[found[begin][1]]
            inside[left] -= 1
            held -= 0.0 if inside[left] else asked.weights.get(left, 0.0)
            begin += 1
        tight = max(tight, held)
    return adjacent, tight / asked.total


def _near(places: Mapping[str, Sequence[int]], left: Iterable[str], right: Iterable[str]) -> bool:
    after = [place for term in right for place in places.get(term, ())]
    return any(0 < second - first <= 3 for term in left for first in places.get(term, ()) for second in after)


def _reciprocal(rank: int | None) -> float:
    return 0.0 if rank is None else _RANK_SCALE / (_RANK_SCALE + rank)


def add_logits(ordered: Sequence[Candidate], logits: Sequence[float] | NDArray[np.float32]) -> None:
    """The cross-encoder's view of the first `len(logits)` candidates; the others are marked as unread.

    A bare logit can't be calibrated across vaults (facts/reranker.md §5): its place is among the features, next to what is known of the
    question, and beside how it lies to the others of the same question.
    """
    values = [float(logit) for logit in logits]
    top, low = max(values), min(values)
    runner_up = sorted(values)[-2] if len(values) > 1 else top
    for c, logit in zip(ordered, values, strict=False):
        c.logit = logit
        c.features |= {
            "ce": logit / 5,
            "ce_positive": max(0.0, logit) / 5,
            "ce_rel": (logit - low) / (top - low) if top > low else 0.0,
            "ce_gap": (logit - (runner_up if logit == top else top)) / 5,
            "ce_foreign": logit / 5 * c.features["foreign"],
            "ce_why": logit / 5 * c.features["why"],
        }
    for c in ordered[len(values) :]:
        c.features["ce_unread"] = 1.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """Fitted weights by feature name. A feature without a weight counts nothing; one that was not measured counts as 0."""

    rank: Mapping[str, float]
    question: Mapping[str, float]  # with "bias"
    keywords: Mapping[str, float]
    told: Sequence[tuple[float, float]] = ((0.0, 0.0), (1.0, 1.0))
    """What the logistic gives and what is told for it, in between by straight lines; it rises, and leaves the bars of the bands alone."""

    def probability(self, features: Mapping[str, float], asks: bool) -> float:
        given, told = zip(*self.told, strict=True)
        return float(np.interp(probability(features, self.question if asks else self.keywords), given, told))


def rank_score(features: Mapping[str, float], weights: Mapping[str, float]) -> float:
    total = 0.0
    for name, value in features.items():  # a plain loop: a generator takes twice as long, for every candidate of every question
        if value:
            total += weights.get(name, 0.0) * value
    return total


def probability(features: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Logistic of the weighted features and the bias; in (0, 1)."""
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, weights.get("bias", 0.0) + rank_score(features, weights)))))


def _passed_over(c: Candidate, reading: Reading) -> bool:
    """A rule, not a fitted weight: what no longer holds, and the state a session was in on another day, is never given as current,
    unless the note itself was asked for."""
    if reading.mode is not Mode.WHAT or "exact" in c.ranks or c.features.get("literal"):
        return False
    return c.note.status in _STALE or c.note.source is Source.CHECKPOINT and c.note.date != reading.today


def _unsettled(c: Candidate, reading: Reading) -> bool:
    """What can't answer with confidence: what no longer holds, what repeats the question's words and tells nothing more, and what has no
    number or day where one is asked for. Of confident hits without a number, on notes that the fit has never seen, four in five were wrong.
    """
    if _passed_over(c, reading) or reading.asks and says_nothing(c.chunk):
        return True
    if c.features["foreign"]:
        return False
    timeless = bool(_ASKS_DAY.search(reading.text)) and c.note.date is None
    return (timeless or bool(_ASKS_NUMBER.search(reading.text))) and not NUMBER.search(c.chunk.embed_text)


def _of_another(c: Candidate, named: Sequence[str]) -> bool:
    """Whether a passage holds none of the identifiers that were asked about, though another does: it tells of another version or record."""
    return bool(named) and "exact" not in c.ranks and not any(identifiers.stands(key, c.chunk.embed_text) for key in named)


def identified(c: Candidate, reading: Reading) -> bool:
    """A rule, not a fitted weight: where identifiers are all that was asked for, what holds them answers."""
    return "exact" in c.ranks or all(identifiers.stands(key, c.chunk.embed_text) for key in reading.identifiers)


def held(key: str, pool: Pool) -> bool:
    """Whether a passage is known to hold an identifier: by its words, or inside a longer one, such as an address."""
    return any(key in c.parts for c in pool.candidates) or any(identifiers.stands(key, c.chunk.embed_text) for c in pool.candidates)


def score(pool: Pool, calibration: Calibration) -> list[Candidate]:
    """Candidates in order. Both numbers are rounded here, so that ties break the same way everywhere: (score, path, ordinal)."""
    # A why-question is answered by a story, in which other versions and records have their part.
    named = [key for key in pool.reading.identifiers if identifiers.is_precise(key)] if pool.reading.mode is Mode.WHAT else []
    named = [key for key in named if any(identifiers.stands(key, c.chunk.embed_text) for c in pool.candidates)]
    for c in pool.candidates:
        exact, holds = "exact" in c.ranks, pool.reading.identifies and identified(c, pool.reading)
        wanted = exact and (holds or not pool.reading.asks)  # who types a note's very name wants that note
        rules = _NAMED_GAIN * (wanted + holds) - _STALE_LOSS * _passed_over(c, pool.reading)
        c.score = round(rank_score(c.features, calibration.rank) + rules, 5)
        floor = CONFIDENT if holds else POSSIBLE if exact else 0.0  # a literal match is never hidden
        likely = max(calibration.probability(c.features, pool.reading.asks), floor)
        if likely >= CONFIDENT and (_unsettled(c, pool.reading) or _of_another(c, named)):
            likely = _UNSETTLED
        c.probability = round(likely, 4)
    return in_order(pool)


def in_order(pool: Pool) -> list[Candidate]:
    return sorted(pool.candidates, key=lambda c: (-c.score, c.chunk.path, c.chunk.ordinal))

"""A what-answer: one to three sentences quoted from confident hits, chosen by how well each answers. Nothing is written, only chosen.

A sentence is scored by the question's words it holds (by idf, together with its heading and title, which it may leave unsaid), by
whether it has the kind of thing asked for (a number, a date, a place to look), and by its passage's confidence. Stale notes lend no
sentence while a current one can answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from onebrain.models.ports import Embedder
from onebrain.search.evidence import Pool
from onebrain.search.report import CONFIDENT, Hit, Quote
from onebrain.search.snippet import is_matter, matter_lines
from onebrain.text import analysis
from onebrain.text.sentences import plain, sentences
from onebrain.vault.library import Library
from onebrain.vault.note import Chunk

MOST = 3
_HITS = 4  # confident hits that are read
_PER_HIT = 5  # sentences of a passage that are compared by meaning, at some 4 ms each
_TOLD = 0.6  # of the question's weight in one sentence: above this its words tell, and meaning isn't asked
_SHORTEST = 16  # characters of a sentence that stands alone, unless it holds a number
_MATTER = 0.7  # an entry of a frontmatter answers only where no prose does nearly as well
LONGEST = 400  # characters of a sentence; longer ones are lists or data in disguise
LEFT_OPEN = ("?", "？", "؟", ":", "：")  # a question, or the line before a list: what ends so states nothing by itself
_KEEP = 0.75  # of the best sentence's score: a further one must be this good, or it only dilutes the answer
_STALE = frozenset({"deprecated", "superseded", "rejected"})
_MONTH = r"january|february|march|april|may|june|july|august|september|october|november|december"
_ASKED_FOR = tuple(
    (re.compile(asked, re.IGNORECASE), re.compile(given))
    for asked, given in (
        (r"\bhow (?:many|much|long|often|large|big|old|fast)\b|\bwhat (?:number|share|cap|limit|size|version|port|cost|price)\b", r"\d"),
        (r"\b(?:when|what (?:date|day|year|time)|wann|quand|cuándo|когда)\b", rf"\b\d{{4}}\b|\d{{1,2}}[./]\d{{1,2}}|\b(?i:{_MONTH})\b"),
        (r"\b(?:who|whose|whom|wer|qui|quién|кто)\b", r"[A-Z][a-z]+ [A-Z][a-z]+|@\w+"),
    )
)


@dataclass(frozen=True, slots=True)
class _Option:
    quote: Quote
    score: float
    words: frozenset[str]
    matter: bool = False  # an entry of a frontmatter


def answer(library: Library, pool: Pool, hits: Sequence[Hit], embedder: Embedder | None) -> tuple[Quote, ...]:
    """Empty when no hit is confident."""
    confident = [hit for hit in hits if hit.rerank_score is not None and hit.rerank_score >= CONFIDENT]
    current = [hit for hit in confident if hit.status not in _STALE] or confident
    read = sorted(current, key=lambda hit: -(hit.rerank_score or 0.0))[:_HITS]
    chunks = library.chunks([hit.chunk_id for hit in read])
    options = [o for hit in read if hit.chunk_id in chunks for o in _options(hit, chunks[hit.chunk_id], pool, embedder)]
    return _choose([o for o in options if _states(o.quote.text)] or options)


def _options(hit: Hit, chunk: Chunk, pool: Pool, embedder: Embedder | None) -> list[_Option]:
    weights = {g.key: pool.lexical.idf.get(g.key, 0.0) for g in pool.reading.groups if not g.optional}
    terms = {term: g.key for g in pool.reading.groups for term in (*g.alternatives, *pool.lexical.guesses.get(g.key, ()))}
    around = _held(f"{hit.title} {chunk.heading_path}", terms)
    found: list[tuple[str, int, frozenset[str]]] = []
    for offset, text in _said(chunk):
        if 3 <= len(text) <= LONGEST:
            found.append((text, chunk.line_start + offset, _held(text, terms)))
    if not found:
        return []
    total = sum(weights.values()) or 1.0
    unsaid = 0.3  # the worth of a word that only the heading or title says
    words = [sum(weights.get(w, 0.0) * (1.0 if w in held else unsaid) for w in held | around) / total for _, _, held in found]
    meaning = _likeness([text for text, _, _ in found], words, pool, embedder)
    scored, matter = [], is_matter(chunk)
    for place, (text, line, held) in enumerate(found):
        score = 0.6 * words[place] + 0.6 * meaning[place] + 0.25 * _asked_for(pool.reading.text, text) + 0.06 / (1 + place)
        score *= _MATTER if matter else 1.0
        heading = chunk.heading_path.rpartition(" > ")[2] or hit.title
        scored.append(_Option(Quote(text, chunk.path, heading, line), score * (hit.rerank_score or 0.0), held, matter))
    return scored


def _said(chunk: Chunk) -> Iterator[tuple[int, str]]:
    """(line from 0, text) of each sentence of a passage, or of each entry of a frontmatter."""
    if is_matter(chunk):
        yield from matter_lines(chunk.text)
        return
    for sentence in sentences(chunk.text):
        yield sentence.line_offset, " ".join(plain(sentence.text).split())


def _states(text: str) -> bool:
    """Whether a sentence says something by itself: a question, or the line before a list, doesn't."""
    return (
        "{{" not in text and not text.endswith(LEFT_OPEN) and (len(text) >= _SHORTEST or any(ch.isdigit() for ch in text))
    )


def _held(text: str, terms: dict[str, str]) -> frozenset[str]:
    return frozenset(terms[term.text] for term in analysis.terms(text) if term.text in terms)


def _likeness(texts: Sequence[str], words: Sequence[float], pool: Pool, embedder: Embedder | None) -> list[float]:
    """Cosine with the question, min-max normalised over the sentences that are compared; 0 for the others, or without vectors."""
    if embedder is None or pool.semantic.vector is None or len(texts) < 2 or max(words) >= _TOLD:
        return [0.0] * len(texts)
    compared = sorted(sorted(range(len(texts)), key=lambda n: (-words[n], n))[:_PER_HIT])
    cosines = embedder.embed_passages([texts[n] for n in compared]) @ pool.semantic.vector
    low, high = float(np.min(cosines)), float(np.max(cosines))
    likeness = [0.0] * len(texts)
    for n, cosine in zip(compared, cosines, strict=True):
        likeness[n] = (float(cosine) - low) / (high - low) if high > low else 0.0
    return likeness


def _asked_for(question: str, sentence: str) -> float:
    return float(any(asked.search(question) and given.search(sentence) for asked, given in _ASKED_FOR))


def _choose(options: Sequence[_Option]) -> tuple[Quote, ...]:
    """The best sentence, and up to two more that are nearly as good and say something else, in reading order of the best's note first.
    Prose is not mixed with a frontmatter's keys and values."""
    chosen: list[_Option] = []
    for option in sorted(options, key=lambda o: (-o.score, o.quote.path, o.quote.line)):
        if chosen and option.matter is not chosen[0].matter:
            continue
        if len(chosen) == MOST or chosen and option.score < _KEEP * chosen[0].score:
            break
        if not any(_says_the_same(option.quote.text, other.quote.text) for other in chosen):
            chosen.append(option)
    first = chosen[0].quote.path if chosen else ""
    return tuple(o.quote for o in sorted(chosen, key=lambda o: (o.quote.path != first, o.quote.path, o.quote.line)))


def _says_the_same(one: str, other: str) -> bool:
    a, b = set(one.casefold().split()), set(other.casefold().split())
    return len(a & b) >= 0.7 * min(len(a), len(b))

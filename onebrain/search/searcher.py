"""A question becomes a Report. The cascade, top to bottom, in one place; each step is a pure function of values, tested on its own.

read → exact, lex, vec, hyde → candidates → features → score → (cross-encoder) → one hit a section → bands → grep rescue
→ answer (what) or chain (why) → Report
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from onebrain.models.ports import Embedder, HydeWriter, Reranker
from onebrain.search import bands, evidence, legs
from onebrain.search.answer import answer
from onebrain.search.calibration import shipped
from onebrain.search.chain import build_chain, explanation, gives_reason
from onebrain.search.evidence import Candidate, Pool
from onebrain.search.filters import allowed as paths_allowed
from onebrain.search.filters import unmatched
from onebrain.search.grep import Grep, rescue
from onebrain.search.numbered import numbers_of, with_numbers
from onebrain.search.question import Legs, Request
from onebrain.search.reading import LONGEST_QUESTION, Reading, read
from onebrain.search.report import POSSIBLE, Band, ChainLink, Hit, IndexState, Mode, Quote, Report, Stage, StageStatus
from onebrain.search.snippet import passage
from onebrain.text.identifiers import is_precise
from onebrain.vault.library import Library, NoteRecord
from onebrain.vault.note import Source

LISTED = 20  # hits of a report, unless all are asked for
# Above this the cross-encoder is spared: on the dev questions that is three in five, and reading those too made nothing better
# (ranking .929 against .926 mean reciprocal rank, the same false answers). It is what the curve `told` of the calibration makes of .8.
SETTLED = 0.96
RECORDS, PASSAGES = 20, 30  # notes that a number may name, and passages of each that are looked at
RERANKED = 10  # candidates the cross-encoder reads, 9 ms each; twenty were no better (docs/quality.md)


@dataclass(frozen=True, slots=True)
class Models:
    """The learned parts that are at hand; None where there is none."""

    embedder: Embedder | None = None
    reranker: Reranker | None = None
    hyde: HydeWriter | None = None


class Searcher:
    """Answers questions over one Library snapshot. `grep` reads the vault itself, for the floor under both indexes."""

    def __init__(self, library: Library, models: Models, *, grep: Grep | None = None, as_of: str | None = None) -> None:
        self._library = library
        self._models = models
        self._grep = grep
        self._as_of = as_of

    def ask(self, request: Request, progress: Callable[[int], None] = lambda step: None) -> Report:
        """Raises BadRequest for a question that can't be read. `progress` hears of the four steps of seed 003, from 1."""
        progress(1)
        reading, records = with_numbers(read(request), numbers(self._library))
        narrowed = paths_allowed(self._library.notes().values(), reading.filters)
        progress(2)
        pool, stages = self._gather(request, reading, records, narrowed)
        progress(3)
        ordered, ranked = self._rank(request, pool, stages)
        kept = _one_per_section(ordered)
        hits = tuple(self._hit(c, pool, ranked) for c in (kept if request.everything else kept[: max(LISTED, request.limit)]))
        missing = [key for key in reading.identifiers if is_precise(key) and not evidence.held(key, pool)]
        hits, stage = rescue(self._grep, hits, reading, stages, narrowed, self._library, missing)
        stages.append(stage)
        if request.min_score is not None:
            hits = tuple(hit for hit in hits if _measure(hit) >= request.min_score)
        progress(4)
        return self._report(request, reading, pool, hits, stages)

    def trace(self, request: Request) -> tuple[Pool, list[Candidate]]:
        """The candidates of a question in order, with all their features, the cross-encoder's always among them. For fitting."""
        reading, records = with_numbers(read(request), numbers(self._library))
        pool, stages = self._gather(request, reading, records, paths_allowed(self._library.notes().values(), reading.filters))
        return pool, self._rank(request, pool, stages, settled=2.0)[0]

    # Finding

    def _gather(
        self, request: Request, reading: Reading, records: Mapping[str, Collection[str]], allowed: Collection[str] | None
    ) -> tuple[Pool, list[Stage]]:
        """Exact names, words and meaning, weighed; and, where those leave doubt, a hypothetical passage. `records`: path → the
        identifiers of the question that name it."""
        library, models = self._library, self._models
        stages: list[Stage] = []
        named: dict[str, float] = {}
        words, near, imagined = legs.Lexical(), legs.Semantic(), legs.Semantic()
        if request.legs is not Legs.VEC:
            named, stage = legs.attempt("exact", lambda: legs.exact(library, names(library), reading, allowed), named)
            open_ = [path for path in sorted(records) if allowed is None or path in allowed]
            named = {**named, **{c.id: 1.0 for path in open_[:RECORDS] for c in library.chunks_of(path)[:PASSAGES]}}
            stages.append(replace(stage, hits=len(named)))
            words, stage = legs.attempt("lex", lambda: legs.lexical(library, reading, allowed), words)
            stages.append(stage)
        if request.legs is not Legs.LEX:
            near, stage = legs.attempt("vec", lambda: legs.semantic(library, models.embedder, reading, request.vec, allowed), near)
            stages.append(stage)
        pool = self._pool(reading, records, named, words, near, imagined)
        if request.legs is Legs.HYBRID:
            spent = _weigh(pool)
            needless = _needless(request, reading, named) or _settled(pool)
            imagined, stage = legs.attempt(
                "hyde",
                lambda: legs.hypothetical(library, models.embedder, models.hyde, reading, request.hyde, near, needless, allowed),
                imagined,
            )
            stages.append(stage)
            if imagined.near:
                pool = self._pool(reading, records, named, words, near, imagined)
                spent += _weigh(pool)
            stages.append(Stage("evidence", StageStatus.RAN, hits=len(pool.candidates), ms=round(spent, 2)))
        return pool, stages

    def _pool(
        self,
        reading: Reading,
        records: Mapping[str, Collection[str]],
        named: Mapping[str, float],
        words: legs.Lexical,
        near: legs.Semantic,
        imagined: legs.Semantic,
    ) -> Pool:
        ranked = {
            "exact": list(named),
            "lex": sorted(words.scores, key=lambda id_: (-words.scores[id_], id_)),
            "vec": [id_ for id_, _ in near.near],
            "hyde": [id_ for id_, _ in imagined.near],
        }
        ids = list(dict.fromkeys(id_ for found in ranked.values() for id_ in found))
        asked = imagined.vector if imagined.vector is not None else near.vector
        cosines = self._library.meaning.cosines(asked, ids) if asked is not None and self._library.meaning else {}
        chunks, notes = self._library.chunks(ids), self._library.notes()
        ranks = {leg: {id_: rank for rank, id_ in enumerate(found)} for leg, found in ranked.items()}
        candidates = [
            Candidate(
                chunk=chunks[id_],
                note=notes[chunks[id_].path],
                lex=words.scores.get(id_, 0.0),
                cos=cosines.get(id_),
                ranks={leg: placed[id_] for leg, placed in ranks.items() if id_ in placed},
                parts={**dict.fromkeys(records.get(chunks[id_].path, ()), 0.0), **words.parts.get(id_, {})},
            )
            for id_ in ids
            if id_ in chunks and chunks[id_].path in notes
        ]
        return Pool(candidates, reading, words, legs.Semantic(asked, near.near))

    # Ranking

    def _rank(self, request: Request, pool: Pool, stages: list[Stage], settled: float = SETTLED) -> tuple[list[Candidate], bool]:
        if request.legs is not Legs.HYBRID:
            return _single_leg(request.legs, pool), False
        ordered = evidence.in_order(pool)
        read_together, stage = legs.attempt("rerank", lambda: self._rerank(request, pool.reading, ordered, settled), False)
        stages.append(stage)
        if read_together:
            ordered = evidence.score(pool, shipped(reranked=True))
        return ordered, True

    def _rerank(self, request: Request, reading: Reading, ordered: Sequence[Candidate], settled: float) -> tuple[bool, Stage]:
        reranker = self._models.reranker
        if not request.rerank:
            return False, Stage("rerank", StageStatus.SKIPPED, "switched off for this question")
        if reranker is None:
            return False, Stage("rerank", StageStatus.SKIPPED, "no cross-encoder installed; the calibrated evidence stands alone")
        top = ordered[:RERANKED]
        if not top:
            return False, Stage("rerank", StageStatus.SKIPPED, "nothing to rerank")
        if reading.identifies and evidence.identified(top[0], reading):
            return False, Stage("rerank", StageStatus.SKIPPED, "the identifier that was asked for stands there")
        if max(c.probability or 0.0 for c in top) >= settled:
            return False, Stage("rerank", StageStatus.SKIPPED, "words and meaning settle it")
        evidence.add_logits(ordered, reranker.score(reading.text, [c.chunk.embed_text for c in top]))
        return True, Stage("rerank", StageStatus.RAN, reranker.model_id, hits=len(top))

    def _hit(self, c: Candidate, pool: Pool, ranked: bool) -> Hit:
        words = {term for group in pool.reading.groups for term in group.alternatives}
        words.update(term for terms in pool.lexical.guesses.values() for term in terms)
        return Hit(
            chunk_id=c.chunk.id,
            doc_path=c.chunk.path,
            heading_path=c.chunk.heading_path,
            line_start=c.chunk.line_start,
            line_end=c.chunk.line_end,
            title=c.note.title,
            source=c.note.source.value,
            score=c.score,
            snippet=passage(c.chunk, words),
            band=bands.band(c.probability) if ranked else Band.UNRANKED,
            legs=tuple(c.ranks),
            rerank_score=c.probability if ranked else None,
            date=c.note.date,
            status=c.note.status.value,
            why={name: round(value, 4) for name, value in c.features.items() if value},
        )

    # Answering

    def _report(self, request: Request, reading: Reading, pool: Pool, hits: tuple[Hit, ...], stages: list[Stage]) -> Report:
        notes = list(_remarks(reading, pool))
        if not hits and (nothing := unmatched(self._library.notes().values(), reading.filters)):
            notes.append(nothing)
        quotes: tuple[Quote, ...] = ()
        chain: tuple[ChainLink, ...] = ()
        if request.legs is Legs.HYBRID and reading.mode is Mode.WHY:
            chain, stage = legs.attempt("chain", lambda: self._chain(request, pool), chain)
            stages.append(stage)
            if not chain:
                found = "The decisions couldn't be read" if stage.status is StageStatus.FAILED else stage.reason
                notes.append(f"{found}; answered as a what-question.")
        if request.legs is Legs.HYBRID and not gives_reason(chain):
            listed = hits[:LISTED]  # no others with `--all`
            quotes, stage = legs.attempt("answer", lambda: self._quotes(pool, listed, beside=bool(chain)), quotes)
            stages.append(stage)
        below = [hit.rerank_score for hit in hits if hit.rerank_score is not None and hit.rerank_score < POSSIBLE]
        limit = len(hits) if request.everything else max(1, request.limit)
        listing = request.legs is not Legs.HYBRID
        shown = hits[:limit] if listing else tuple(h for h in hits if h.band in (Band.CONFIDENT, Band.POSSIBLE))[:limit]
        return Report(
            query=reading.text,
            mode=reading.mode,
            verdict=bands.verdict(hits),
            hits=hits,
            sources=shown,
            answer=quotes,
            chain=chain,
            below_threshold=(len(below), max(below)) if below else None,
            notes=tuple(notes),
            stages=tuple(stages),
            index=IndexState(self._library.pending(), self._as_of),
        )

    def _chain(self, request: Request, pool: Pool) -> tuple[tuple[ChainLink, ...], Stage]:
        told = build_chain(self._library, pool)
        chain = tuple(link for link in told if request.min_score is None or (link.rerank_score or 0.0) >= request.min_score)
        missing = "No decision about this scores enough" if told else "No dated decisions about this were found"
        return chain, Stage("chain", StageStatus.RAN, None if chain else missing, hits=len(chain))

    def _quotes(self, pool: Pool, hits: tuple[Hit, ...], *, beside: bool) -> tuple[tuple[Quote, ...], Stage]:
        """The answer; `beside` a chain only what gives the reason that it lacks."""
        quotes = explanation(self._library, pool, hits) if beside else answer(self._library, pool, hits, self._models.embedder)
        return quotes, Stage("answer", StageStatus.RAN, hits=len(quotes))


def _measure(hit: Hit) -> float:
    """What `--min-score` compares with: the calibrated score where there is one."""
    return hit.score if hit.rerank_score is None else hit.rerank_score


def _needless(request: Request, reading: Reading, named: Mapping[str, float]) -> str | None:
    """Why a passage needn't be written, before anything was scored."""
    if not request.write_hyde:
        return "switched off for this question"
    if reading.identifiers:
        return "the question names an identifier"
    if named:
        return "a note has this very name"
    if not reading.asks:
        return "keywords, not a question"
    return None


def _weigh(pool: Pool) -> float:
    """Features and scores without a cross-encoder; the milliseconds that took."""
    began = time.perf_counter()
    evidence.measure(pool)
    evidence.score(pool, shipped(reranked=False))
    return (time.perf_counter() - began) * 1000


def _settled(pool: Pool) -> str | None:
    """A hypothetical passage takes a second and rarely moves a ranking (facts/models.md §5): it is for questions without an answer."""
    best = max((c.probability or 0.0 for c in pool.candidates), default=0.0)
    return "words and meaning found something without it" if best >= POSSIBLE else None


def _single_leg(leg: Legs, pool: Pool) -> list[Candidate]:
    for c in pool.candidates:
        c.score = round((c.lex if leg is Legs.LEX else c.cos) or 0.0, 5)
    return sorted(pool.candidates, key=lambda c: ("exact" not in c.ranks, -c.score, c.chunk.path, c.chunk.ordinal))


def _one_per_section(ordered: Sequence[Candidate]) -> list[Candidate]:
    """The best passage of each section; and a checkpoint's passage gives way to the same words in another note."""
    kept: list[Candidate] = []
    sections: set[tuple[str, str]] = set()
    texts: set[str] = set()
    for c in sorted(ordered, key=lambda c: c.note.source is Source.CHECKPOINT):
        key, words = (c.chunk.path, c.chunk.heading_path), " ".join(c.chunk.text.split()).casefold()
        copied = c.note.source is Source.CHECKPOINT and words in texts
        texts.add(words)
        if key not in sections and not copied:
            sections.add(key)
            kept.append(c)
    place = {id(c): n for n, c in enumerate(ordered)}
    return sorted(kept, key=lambda c: place[id(c)])


def _remarks(reading: Reading, pool: Pool) -> list[str]:
    remarks = []
    if reading.cut:
        remarks.append(f"The question is long: its first {LONGEST_QUESTION} characters were used.")
    if pool.lexical.guesses:
        remarks.append("Not found as written: " + ", ".join(f"“{word}”" for word in pool.lexical.guesses) + "; near spellings were used.")
    return remarks


_Index = Mapping[str, Sequence[str]]
_newest: list[tuple[Mapping[str, NoteRecord], _Index, _Index]] = []


def names(library: Library) -> _Index:
    """Folded title, alias, file name or path → paths. The one of the newest note list is kept; it is the same object until a commit."""
    return _indexed(library)[1]


def numbers(library: Library) -> _Index:
    """`adr-13` and the like → paths of the records that go by it; kept like the names."""
    return _indexed(library)[2]


def _indexed(library: Library) -> tuple[Mapping[str, NoteRecord], _Index, _Index]:
    notes = library.notes()
    kept = _newest[0] if _newest else None
    if kept is None or kept[0] is not notes:
        index: dict[str, list[str]] = {}
        numbered: dict[str, list[str]] = {}
        for path in sorted(notes):
            for name in legs.names_of(notes[path]):
                index.setdefault(name, []).append(path)
            for number in numbers_of(notes[path]):
                numbered.setdefault(number, []).append(path)
        kept = (notes, index, numbered)
        _newest[:] = [kept]
    return kept

"""The legs of the cascade. Each finds passages its own way and ends as a Stage; a leg that fails is named and the others go on."""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import TypeVar

import numpy as np

from onebrain.errors import OneBrainError
from onebrain.models.ports import Embedder, HydeWriter
from onebrain.search.reading import Reading
from onebrain.search.report import Stage, StageStatus
from onebrain.text import analysis
from onebrain.vault.library import Library, NoteRecord, Vector, WordQuery, Words

T = TypeVar("T")

POOL = 100  # passages taken from each leg before anything is scored
HYDE_SHARE = 0.3  # of the question's vector; more, and invented passages lead the search astray (facts/models.md §5)
HYDE_POOL = 30
_FUZZY_WEIGHT = 0.7  # of a word the vault doesn't know, replaced by one it does


@dataclass(frozen=True, slots=True)
class Lexical:
    """`parts`: what each word of the question added to a passage; `guesses`: misspelt word → the terms taken instead."""

    scores: Mapping[str, float] = field(default_factory=dict)
    parts: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    idf: Mapping[str, float] = field(default_factory=dict)
    guesses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Semantic:
    """`vector` is what was asked, `near` the passages found by it, best first."""

    vector: Vector | None = None
    near: tuple[tuple[str, float], ...] = ()


def timed(stage: Stage, began: float) -> Stage:
    return replace(stage, ms=round((time.perf_counter() - began) * 1000, 2))


def attempt(name: str, leg: Callable[[], tuple[T, Stage]], otherwise: T) -> tuple[T, Stage]:
    """Run one leg; whatever it raises becomes a failed Stage that says why."""
    began = time.perf_counter()
    try:
        result, stage = leg()
    except OneBrainError as error:
        return otherwise, timed(Stage(name, StageStatus.FAILED, error.message), began)
    except Exception as error:  # the boundary where a broken leg must not take the answer with it
        return otherwise, timed(Stage(name, StageStatus.FAILED, f"{type(error).__name__}: {error}"), began)
    return result, timed(stage, began)


# Words


def guess(words: Words, group: analysis.Group, known: float, unknown: float) -> tuple[tuple[str, float], ...]:
    """Terms a misspelt word may have meant, with weights. Only for words the vault doesn't know: one that a single passage has is what
    was meant (of thirty such words in the labelled questions not one was misspelt, and the spelling taken instead was always another word).
    """
    if group.whole or group.optional or known < unknown:
        return ()
    near = words.similar(group.key)
    best = max((likeness for _, likeness in near), default=0.0)
    return tuple((term, _FUZZY_WEIGHT * likeness) for term, likeness in near[:4] if likeness >= best - 0.1)


def lexical(library: Library, reading: Reading, allowed: Collection[str] | None) -> tuple[Lexical, Stage]:
    words = library.words
    if not reading.groups and not reading.phrases:
        return Lexical(), Stage("lex", StageStatus.SKIPPED, "no words to look for")
    idf = {group.key: min(words.idf(group.alternatives).values()) for group in reading.groups}
    unknown = next(iter(words.idf(["\x00"]).values()))
    terms: dict[str, float] = {}
    same: dict[str, str] = {}
    guesses: dict[str, tuple[str, ...]] = {}
    for group in reading.groups:
        spelled = [(term, 1.0) for term in group.alternatives]
        guessed = guess(words, group, idf[group.key], unknown)
        if guessed:
            guesses[group.key] = tuple(term for term, _ in guessed)
        for term, weight in (*spelled, *guessed):
            if term not in terms:
                terms[term], same[term] = weight * group.weight, group.key
    hits = words.search(WordQuery(terms, same, reading.phrases, reading.excluded), limit=POOL, allowed=allowed)
    idf |= {key: min(words.idf(named).values()) for key, named in guesses.items()}
    found = Lexical({h.chunk_id: h.score for h in hits}, {h.chunk_id: h.parts for h in hits}, idf, guesses)
    reason = "spelling: " + ", ".join(f"{key} → {'/'.join(named)}" for key, named in guesses.items()) if guesses else None
    return found, Stage("lex", StageStatus.RAN, reason, hits=len(hits))


# Names


def plain_name(text: str) -> str:
    return " ".join(analysis.fold(re.sub(r"\.md$", "", unicodedata.normalize("NFC", text), flags=re.IGNORECASE)).split()).strip("?!. ")


def names_of(note: NoteRecord) -> set[str]:
    path = PurePosixPath(note.path)
    return {plain_name(name) for name in (note.title, path.name, note.path, *note.aliases)}


def exact(
    library: Library, names: Mapping[str, Sequence[str]], reading: Reading, allowed: Collection[str] | None
) -> tuple[dict[str, float], Stage]:
    """Notes whose title, alias, file name or path is what was typed: their first passage, at 1.0."""
    paths = [path for path in names.get(plain_name(reading.text), ()) if allowed is None or path in allowed]
    found = {chunks[0].id: 1.0 for path in paths[:20] if (chunks := library.chunks_of(path))}
    return found, Stage("exact", StageStatus.RAN, hits=len(found))


# Meaning


def semantic(
    library: Library, embedder: Embedder | None, reading: Reading, extra: Sequence[str], allowed: Collection[str] | None
) -> tuple[Semantic, Stage]:
    if embedder is None:
        return Semantic(), Stage("vec", StageStatus.SKIPPED, "no embedding model: run `onebrain search model prepare`")
    if library.meaning is None:
        return Semantic(), Stage("vec", StageStatus.SKIPPED, "no passage has a vector yet: run `onebrain search reindex`")
    asked = [text for text in (reading.text, *extra) if text.strip()]
    if not asked:
        return Semantic(), Stage("vec", StageStatus.SKIPPED, "nothing to embed")
    vector = unit(np.sum([embedder.embed_query(text) for text in asked], axis=0))
    near = library.meaning.nearest(vector, limit=POOL, allowed=allowed)
    return Semantic(vector, tuple(near)), Stage("vec", StageStatus.RAN, hits=len(near))


def hypothetical(
    library: Library,
    embedder: Embedder | None,
    writer: HydeWriter | None,
    reading: Reading,
    given: Sequence[str],
    asked: Semantic,
    needless: str | None,
    allowed: Collection[str] | None,
) -> tuple[Semantic, Stage]:
    """HyDE (Gao et al. 2022): look near a passage that might answer. `needless` names why it needn't be written, None when it may help."""
    if embedder is None or library.meaning is None or asked.vector is None:
        return Semantic(), Stage("hyde", StageStatus.SKIPPED, "no vectors to compare with")
    if not given and needless:
        return Semantic(), Stage("hyde", StageStatus.SKIPPED, needless)
    if not given and writer is None:
        return Semantic(), Stage("hyde", StageStatus.SKIPPED, "no HyDE writer is configured or installed")
    passages = list(given) or [writer.write(reading.text)] if writer else list(given)
    about = unit(np.mean(embedder.embed_passages(passages), axis=0))
    mixed = unit((1 - HYDE_SHARE) * asked.vector + HYDE_SHARE * about)
    near = library.meaning.nearest(mixed, limit=HYDE_POOL, allowed=allowed)
    by = "given" if given else f"written by {writer.name}" if writer else ""
    return Semantic(mixed, tuple(near)), Stage("hyde", StageStatus.RAN, by, hits=len(near))


def unit(vector: Vector) -> Vector:
    norm = float(np.linalg.norm(vector))
    return (vector / norm if norm else vector).astype(np.float32)

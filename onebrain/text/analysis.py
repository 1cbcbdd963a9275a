"""Terms: what the word index stores and what a question is looked up by. One function for both sides, so that they can't drift apart.

Script-aware. Words of spaced scripts are folded (case, accents, Arabic letter forms) and stemmed with Snowball; runs of Thai, Lao, Khmer,
Burmese, Han, kana and Hangul become overlapping character bigrams, since those scripts carry no spaces (facts: BM25 nDCG .342 → .955
on Japanese). Identifiers (`DEC-0054`, `snake_case`, `dv.io.csv`, `fixTimeZone`, `10.195.0.0/16`) are kept whole and in parts.

A word of a passage that isn't English is stored under both its own language's stem and the English one, because the language of a
three-word question can't be told; a question asks for both.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple

from py_rust_stemmers import SnowballStemmer

from onebrain.text.identifiers import spellings
from onebrain.text.languages import function_words, language_of, languages_of_question, script_language

ANALYSER_VERSION = 1

# Combining marks that belong to words: `\w` leaves them out, which would cut Thai and Indic words at every vowel sign.
_MARKS = (
    "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0900-\u0dff\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"
)
_RAW = re.compile(rf"[\w{_MARKS}]+(?:[-./:+#@&'’]+[\w{_MARKS}]+)*(?:\+\+|#)?")
_DENSE_CHARS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0002fa1f"
)
_DENSE = re.compile(rf"([{_DENSE_CHARS}]+)")
_PART = re.compile(r"[^-./:+#@&'’_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")
_ARABIC = str.maketrans({"آ": "ا", "أ": "ا", "إ": "ا", "ٱ": "ا", "ى": "ي", "ة": "ه", "ـ": None})
_ARABIC_MARKS = re.compile("[\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed]")
_HYPHENATED = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)+")
_LONG_NUMBER = 5  # digits from which a number is a name (an ISBN, a ticket) rather than a year or an amount
_LONGEST = 64  # of a whole identifier; longer ones (addresses, hashes of hashes) are found by their parts

_stemmers: dict[str, SnowballStemmer] = {}


class Term(NamedTuple):
    """`position` counts words; the whole of an identifier stands at the position of its first part."""

    text: str
    position: int


@dataclass(frozen=True, slots=True)
class Group:
    """One word of a question. Any of `alternatives` stands for it; `weight` is its share in the score.

    `whole` marks an identifier kept in one piece. `optional` groups add to a score but are not missed when absent: the hyphenated
    whole of `self-hosted`, and the parts of an identifier.
    """

    key: str
    alternatives: tuple[str, ...]
    weight: float = 1.0
    whole: bool = False
    optional: bool = False


def fold(text: str) -> str:
    """Lower case without accents or Arabic vowel marks, width-normalised. Thai and Indic vowel signs stay: they are letters."""
    text = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    if text.isascii():
        return text
    text = _ARABIC_MARKS.sub("", text).translate(_ARABIC)
    decomposed = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", "".join(c for c in decomposed if not "\u0300" <= c <= "\u036f"))


def stem(word: str, language: str) -> str:
    """The Snowball stem of a folded word; words with digits and very short ones are left alone."""
    if len(word) < 3 or not word.isalpha():
        return word
    stemmer = _stemmers.get(language)
    if stemmer is None:
        stemmer = _stemmers[language] = SnowballStemmer(language)
    return str(stemmer.stem_word(word)) or word


def bigrams(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[i : i + 2] for i in range(len(run) - 1)]


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a raw token: `terms` are alternatives at one position."""

    terms: tuple[str, ...]
    surface: str


def _word(part: str, language: str) -> _Piece:
    folded = fold(part)
    if folded.isdigit():
        return _Piece((folded.lstrip("0") or "0",), folded)
    script = script_language(folded)
    stems = (stem(folded, script),) if script else (stem(folded, language), stem(folded, "english"))
    return _Piece(tuple(dict.fromkeys(stems)), folded)


@cache
def empty_words(language: str) -> frozenset[str]:
    """Folded function words of a language, and of English, which stands in texts of every other."""
    named = function_words()
    return frozenset(fold(word) for word in named["english"] | named.get(language, frozenset()))


@lru_cache(maxsize=20_000)
def _pieces(raw: str, language: str) -> tuple[str | None, tuple[_Piece, ...]]:
    """(whole identifier or None, its parts) of one raw token."""
    parts: list[_Piece] = []
    for run in _DENSE.split(raw):
        if not run:
            continue
        if _DENSE.match(run):
            parts += [_Piece((gram,), gram) for gram in bigrams(fold(run))]
            continue
        for word in _PART.findall(run):
            split = [w for w in _CAMEL.split(word) if w]
            parts += [_word(w, language) for w in split]
    whole = fold(raw).strip("_")
    compound = len(parts) > 1 and not _DENSE.search(raw) and "'" not in whole and "://" not in whole and len(whole) <= _LONGEST
    symbol = whole.endswith(("++", "#"))
    return (whole if compound or symbol else None), tuple(p for p in parts if len(parts) == 1 or len(p.surface) > 1 or p.surface.isdigit())


def _pieces_in(raw: str, languages: tuple[str, ...]) -> tuple[str | None, list[_Piece]]:
    """The pieces of a raw token with the stems of every language it may be in."""
    whole, first = _pieces(raw, languages[0])
    others = [_pieces(raw, language)[1] for language in languages[1:]]
    spelled = [dict.fromkeys(term for pieces in (first, *others) for term in pieces[n].terms) for n in range(len(first))]
    return whole, [_Piece(tuple(names), piece.surface) for names, piece in zip(spelled, first, strict=True)]


def terms(text: str, language: str | None = None) -> Iterator[Term]:
    """The terms of a passage, in order. `language` is a Snowball name; None: told from the text."""
    language = language or language_of(text)
    position = 0
    for raw in _RAW.findall(text):
        found, width, _ = placed(raw, language)
        for term, shift in found:
            yield Term(term, position + shift)
        position += width


@lru_cache(maxsize=100_000)
def placed(raw: str, language: str) -> tuple[tuple[tuple[str, int], ...], int, tuple[str, ...]]:
    """(term, place) of each term of one raw word, places from 0; how many places it takes; its spellings for the vocabulary."""
    whole, parts = _pieces(raw, language)
    first = ((whole, 0),) if whole else ()
    spellings = tuple(part.surface for part in parts if _is_spelling(part.surface))
    return (*first, *((term, place) for place, part in enumerate(parts) for term in part.terms)), len(parts), spellings


def _is_spelling(surface: str) -> bool:
    """Whether a folded word is one that could be misspelt; bigrams and identifiers aren't."""
    return 3 <= len(surface) <= 30 and surface.isalpha() and not _DENSE.match(surface)


def spans(text: str) -> Iterator[tuple[int, str]]:
    """(character offset, term) of every term, for marking matches in a text."""
    language = language_of(text)
    for match in _RAW.finditer(text):
        yield from ((match.start(), term) for term, _ in placed(match.group(), language)[0])


def raw_words(text: str) -> list[str]:
    """The tokens of a text before they are cut into terms: equal ones need to be looked at only once."""
    return _RAW.findall(text)


def groups(question: str, languages: tuple[str, ...] | None = None) -> list[Group]:
    """The words of a question, each with the terms that stand for it. Function words are dropped unless nothing else is left.

    `languages` are Snowball names; None: those the question may be in. A dozen of them take ten times as long as one.
    """
    languages = languages or languages_of_question(question)
    found: dict[str, Group] = {}
    for match in _RAW.finditer(question):
        whole, parts = _pieces_in(match.group(), languages)
        identifier = whole is not None and not _HYPHENATED.fullmatch(whole)
        if not whole and len(match.group()) >= _LONG_NUMBER and match.group().isdigit():
            found.setdefault(match.group(), Group(match.group(), parts[0].terms, whole=True))
        if whole:
            found.setdefault(whole, Group(whole, spellings(whole), whole=identifier, optional=not identifier))
        for part in parts:
            weight = 0.5 if identifier else 1.0
            if part.surface not in found or found[part.surface].weight < weight:
                found[part.surface] = Group(part.surface, part.terms, weight, optional=identifier)
    dropped = empty_words(languages[0])
    content = [g for g in found.values() if g.key not in dropped]
    return content or list(found.values())


def phrase(text: str) -> tuple[str, ...]:
    """The terms of a quoted phrase, one a position, for a search by positions."""
    language = language_of(text)
    return tuple(p.terms[0] for m in _RAW.finditer(text) for p in _pieces(m.group(), language)[1])

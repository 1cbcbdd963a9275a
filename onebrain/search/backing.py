"""Whether a sentence that a model wrote is backed by the quotes it cites. Nothing is trusted; what can't be found there is a fault.

Words are compared, not meaning: a sentence made of a quote's own words can still turn them round. Where a rule can't tell, it drops.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from onebrain.search.statements import LEFT_OPEN, LONGEST
from onebrain.text import analysis
from onebrain.text.dates import find_dates, first_day
from onebrain.text.languages import function_words

_BACKED = 0.75  # of a sentence's content words: one in four may be the writer's own, which a paraphrase needs and a claim doesn't get by on
_BACKED_DENSE = 0.6  # … of its letter pairs, where a script has no spaces: two words that newly meet make a pair of their own
_QUOTED = 0.5  # … that the quotes hold themselves: a question that takes an answer for granted must not lend it most of its words


class Drop(StrEnum):
    """Why a sentence of the reply isn't shown."""

    UNCITED = "citing no quote"
    NO_SUCH_QUOTE = "citing a quote that isn't there"
    NO_STATEMENT = "stating nothing"
    AMOUNT = "with a number, amount or date its quotes don't have"
    NAME = "with a name its quotes don't have"
    WORDS = "with too few of its quotes' words"
    NOTHING_NEW = "only repeating the question"
    NEGATION = "denying what its quotes say, or saying what they deny"
    SURPLUS = "more than three"


@dataclass(frozen=True, slots=True)
class Numbered:
    """A quote as it is sent, and its statements, each of which affirms or denies by itself."""

    text: str
    said: tuple[str, ...]


def fault(text: str, cites: Sequence[int], quotes: Sequence[Numbered], question: str) -> Drop | None:
    """What is wrong with a sentence, None when the quotes it cites back it."""
    if not cites:
        return Drop.UNCITED
    if not all(1 <= number <= len(quotes) for number in cites):
        return Drop.NO_SUCH_QUOTE
    if not 3 <= len(text) <= LONGEST or text.endswith(LEFT_OPEN):
        return Drop.NO_STATEMENT
    cited = [quotes[number - 1] for number in cites]
    source = _flat(" \n".join(quote.text for quote in cited))
    rest, days_fit = _without_days(_flat(text), source)
    if not days_fit or not _amounts_fit(rest, source):
        return Drop.AMOUNT
    known, asked = _terms(source), _terms(_flat(question))
    if not _identifiers_fit(rest, known, source) or not _names_fit(rest, known | asked, source + _flat(question)):
        return Drop.NAME
    return _words_fault(rest, known, asked) or _negation_fault(text, cited)


def _flat(text: str) -> str:
    """One way of writing letters, digits and large numbers, so that only what is said makes a difference."""
    text = unicodedata.normalize("NFKC", text).replace("’", "'")
    text = "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in text)
    return _SPACED_PERCENT.sub("%", _GROUPED.sub("", text))


def _terms(text: str) -> frozenset[str]:
    return frozenset(term.text for term in analysis.terms(text))


# Numbers and dates

_NUMBER = re.compile(r"[$€£¥฿]?\d+(?:[.,:/\-]\d+)*(?:%|[A-Za-zµ]{1,3}(?![^\W_]))?")  # with what is written onto it: `412K`, `5ms`, `40%`
_GROUPED = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_SPACED_PERCENT = re.compile(r"(?<=\d)\s+%")
_MONTH_YEAR = re.compile(r"([^\W\d_]{3,})\.?,? (?:de |of )?(\d{4})\b")
_LETTERS = re.compile(r"[^\W\d_]+")
_NUMERALS = {
    word: value
    for value, words in {
        "1": "one", "2": "two zwei deux dos", "3": "three drei trois tres", "4": "four vier quatre cuatro", "5": "five fünf cinq cinco",
        "6": "six sechs seis", "7": "seven sieben sept siete", "8": "eight acht huit ocho", "9": "nine neun neuf nueve",
        "10": "ten zehn dix diez", "11": "eleven elf onze", "12": "twelve zwölf douze doce", "100": "hundred hundert cien",
        "1000": "thousand tausend mille", "1000000": "million millionen millones",
    }.items()
    for word in words.split()
}  # fmt: skip
_AMOUNT_WORDS = """
more less fewer most least only always every all both half twice double triple dozen before after first second third last next
yesterday today tomorrow gestern heute demain ayer hoy mañana
mehr weniger meisten nur immer alle beide halb doppelt moins seulement toujours tous toutes moitié
más menos solo siempre todos todas mitad doble
"""
_AMOUNTS = frozenset(_AMOUNT_WORDS.split())
_DENSE_AMOUNTS = (*"二三四五六七八九十百千万萬億亿两兩半", "หนึ่ง", "สอง", "สาม", "สี่", "ห้า", "หก", "เจ็ด", "แปด", "เก้า", "สิบ", "ร้อย", "พัน")
_MEASURED = re.compile(
    rf"(?<![\w-])(?!(?:19|20)\d\d\b)(?:\d+(?:[.,]\d+)*[A-Za-z]{{0,3}}|\b(?:{'|'.join(_NUMERALS)})\b)[ -]([^\W\d_]+)", re.IGNORECASE
)


def _stands(written: str, source: str) -> bool:
    """Whether a number stands in `source` by itself: `5` isn't in `3.5`, nor `40` in `40%`, nor `412` in `412K`."""
    return bool(re.search(rf"(?<!\d)(?<!\d[.,:/-]){re.escape(written)}(?![.,:]?\d|%|[A-Za-zµ]{{1,3}}(?![^\W_]))", source, re.IGNORECASE))


def _without_days(text: str, source: str) -> tuple[str, bool]:
    """`text` without its days and months, and whether all of them are the source's, in whatever form each is written."""
    days = {day.iso for day in find_dates(source) if not day.ambiguous}
    months = {iso[:7] for iso in days}
    for day in reversed(find_dates(text)):
        if not (day.iso in days and not day.ambiguous) and not _stands(text[day.start : day.end], source):
            return text, False
        text = f"{text[: day.start]} {text[day.end :]}"
    for month in reversed(list(_MONTH_YEAR.finditer(text))):
        first = first_day(f"1 {month[1]} {month[2]}")
        if first is None:
            continue
        if first[:7] not in months and month[0].casefold() not in source.casefold():
            return text, False
        text = f"{text[: month.start()]} {text[month.end() :]}"
    return text, True


def _amounts_fit(text: str, source: str) -> bool:
    """Whether every number is the source's, in digits or as a word, with the word it counts, and so is every `more`, `all`, `only`."""
    said, given = set(_LETTERS.findall(text.casefold())), set(_LETTERS.findall(source.casefold()))
    told = {_NUMERALS[word] for word in given & _NUMERALS.keys()}
    if not all(number in told or _stands(number, source) for number in _NUMBER.findall(text)):
        return False
    if not all(value in told or _stands(value, source) for value in (_NUMERALS[word] for word in said & _NUMERALS.keys())):
        return False
    if (said - given) & _AMOUNTS or any(word in text and word not in source for word in _DENSE_AMOUNTS):
        return False
    known = _terms(source)
    return all(_is_small(counted) or not known.isdisjoint(_terms(counted)) for counted in _MEASURED.findall(text))


# Names

_DENSE_CHARS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_DENSE = re.compile(f"[{_DENSE_CHARS}]")
_PART = re.compile(rf"[^\W_{_DENSE_CHARS}]+")
_ADDRESS = re.compile(r"\b\w+://\S+|\bwww\.\S+|\S+@\S+")
_KATAKANA = re.compile("[\u30a1-\u30fa\u30fc]{2,}")
_LATIN = re.compile(r"[A-Za-z][A-Za-z0-9]+")
_OPENERS = frozenset(
    ("However", "Instead", "Since", "Therefore", "Thus", "Additionally", "Although", "Though", "While", "Whereas", "Moreover", "Originally")
    + ("Initially", "Previously", "Later", "Subsequently", "Eventually", "Finally", "Overall")
)


def _identifiers_fit(text: str, known: frozenset[str], source: str) -> bool:
    """Whether every identifier is a quote's, and every address is to the letter."""
    return all(group.key in known for group in analysis.groups(text) if group.whole) and all(
        address.rstrip(".,;:!?)") in source for address in _ADDRESS.findall(text)
    )


def _names_fit(text: str, known: frozenset[str], source: str) -> bool:
    """Whether every word with a capital is known; and where a script has none, every Latin word and every run of katakana.

    The first word of a sentence counts as well: a verb new to the quotes is given up there, since a name would look the same.
    """
    named = [part for part in _PART.findall(text) if any(char.isupper() for char in part)]
    if _DENSE.search(text):
        named += _LATIN.findall(text)
    unknown = [part for part in named if not _is_small(part) and part not in _OPENERS and not _terms(part) <= known]
    return not unknown and all(run in source for run in _KATAKANA.findall(text))


@cache
def _small_words() -> frozenset[str]:
    return frozenset(analysis.fold(word) for words in function_words().values() for word in words)


def _is_small(word: str) -> bool:
    """A function word of some language: no name, nothing that is counted."""
    return analysis.fold(word) in _small_words()


# Words


def _words_fault(text: str, known: frozenset[str], asked: frozenset[str]) -> Drop | None:
    content = [group for group in analysis.groups(text) if not group.optional]
    if all(_is_small(group.key) for group in content):
        return Drop.NO_STATEMENT
    quoted = [not known.isdisjoint(group.alternatives) for group in content]
    held = [quotes or not asked.isdisjoint(group.alternatives) for quotes, group in zip(quoted, content, strict=True)]
    dense = sum(1 for group in content if _DENSE.match(group.key))
    if sum(held) < len(content) * (_BACKED_DENSE if 2 * dense > len(content) else _BACKED) or sum(quoted) < len(content) * _QUOTED:
        return Drop.WORDS
    return Drop.NOTHING_NEW if all((known - asked).isdisjoint(group.alternatives) for group in content) else None


# Yes and no

_NO = re.compile(
    r"\b(?:no|not|none|never|nor|neither|nobody|nothing|nowhere|without|cannot"  # English
    r"|nicht|nichts|nie|niemals|ohne|weder|kein\w{0,2}|ne|pas|jamais|sans|aucune?|rien|nunca|sin|ning[uú]n\w?|jam[aá]s|tampoco"
    r"|n[aã]o|nem|sem|nenhuma?|non|senza|nessun\w?|niet|geen|nooit|zonder|inte|aldrig|utan|ingen"
    r"|не|нет|ни|без|никогда|nie|bez|nigdy|değil|yok|không|chưa|chẳng|tidak|bukan|tanpa|belum|لا|لم|لن|ليس|بدون|नहीं|न|बिना)\b"
    r"|n't\b|\bn'(?=\w)"
    r"|ไม่|มิได้|[不没沒未无無]|な[いく]|なかった|ません|せず|않|없|못",
    re.IGNORECASE,
)


def denies(text: str) -> bool:
    """Whether a text says no to anything, in one of many languages."""
    return bool(_NO.search(_flat(text)))


def _negation_fault(text: str, cited: Sequence[Numbered]) -> Drop | None:
    """A sentence denies where one of its quotes does, and where all of them do."""
    said = [denies(statement) for quote in cited for statement in quote.said]
    fits = any(said) if denies(text) else not all(said)
    return None if fits else Drop.NEGATION

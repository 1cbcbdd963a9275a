"""Cheap language hints: by script where a script tells, else by function words. Good enough to choose a stemmer, for nothing more."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_WORD = re.compile(r"[^\W\d_]+")
_SCRIPTS = (("\u0370", "\u03ff", "greek"), ("\u0400", "\u052f", "russian"), ("\u0600", "\u06ff", "arabic"), ("\u0b80", "\u0bff", "tamil"))
_BY_SCRIPT = frozenset(name for _, _, name in _SCRIPTS)
UNTOLD = ("english", "german", "french", "spanish", "italian", "portuguese", "dutch", "swedish")
_SAMPLE = 2000  # characters read to tell a language


@cache
def function_words() -> dict[str, frozenset[str]]:
    """Language (a Snowball name) → its function words, lower case, with accents."""
    lines = (files("onebrain.text") / "data" / "function_words.txt").read_text(encoding="utf-8").splitlines()
    named = (line.split(": ", 1) for line in lines if line and not line.startswith("#"))
    return {language: frozenset(words.split()) for language, words in named}


@cache
def _latin_function_words() -> frozenset[str]:
    return frozenset().union(*(words for name, words in function_words().items() if name not in _BY_SCRIPT))


def script_language(word: str) -> str | None:
    """The stemmer that the script of the first letter calls for, None for Latin and scripts without one."""
    first = word[:1]
    return next((language for low, high, language in _SCRIPTS if low <= first <= high), None)


def language_of(text: str) -> str:
    """A Snowball language name. Latin text needs two function words of a language, and more than English has, to count as not English."""
    return _tell(text)[0]


def languages_of_question(text: str) -> tuple[str, ...]:
    """The languages a question may be in: the one it shows, or, where no function word tells, every Latin one with a stemmer."""
    language, told = _tell(text)
    return (language,) if told else UNTOLD


def _tell(text: str) -> tuple[str, bool]:
    words = _WORD.findall(text[:_SAMPLE].lower())
    if not words:
        return "english", True
    by_script = script_language(words[len(words) // 2])
    if by_script:
        return by_script, True
    telling = [word for word in words if word in _latin_function_words()]
    counts = {name: sum(map(known.__contains__, telling)) for name, known in function_words().items() if name not in _BY_SCRIPT}
    best = max(sorted(counts), key=lambda name: (counts[name], name == "english"))
    language = best if counts[best] >= 2 and counts[best] > counts["english"] else "english"
    return language, counts[language] > 0

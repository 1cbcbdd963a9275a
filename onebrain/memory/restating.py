"""Whether two statements say the same, decided by their words.

A vector can't tell: with multilingual-e5-small "likes Italian food" and "likes Japanese food" have a cosine of 0.93, two birthdays a day
apart 0.95, a liking and its denial 0.91. A word exchanged for another, or a "not", makes another fact. Where in doubt the answer is no:
a missed restatement leaves a twin, a false one would lose what the user said.
"""

from __future__ import annotations

from onebrain.memory.activation import content_terms
from onebrain.text.analysis import fold, groups

_NEGATORS = frozenset(
    {
        "aldrig",
        "bez",
        "bukan",
        "degil",
        "former",
        "formerly",
        "geen",
        "inte",
        "jamais",
        "kein",
        "keine",
        "khong",
        "mai",
        "nao",
        "never",
        "nicht",
        "nie",
        "niet",
        "no",
        "non",
        "nor",
        "not",
        "nunca",
        "ohne",
        "pas",
        "quit",
        "sans",
        "sem",
        "senza",
        "sin",
        "stopped",
        "tidak",
        "used",
        "was",
        "were",
        "without",
        "zonder",
        "без",
        "не",
        "нет",
        "никогда",
        "لا",
        "ليس",
        "नहीं",
    }
)
_DENSE_NEGATORS = ("不", "没", "沒", "無", "未", "ไม่", "ない", "ません", "안 ", "않", "못")


def _polarity(text: str) -> frozenset[str]:
    folded = fold(text)
    words = {w.strip('.,;:!?"()') for w in folded.split()}
    contracted = {"not" for word in words if word.endswith("n't")}
    return frozenset(contracted | (words & _NEGATORS) | {sign for sign in _DENSE_NEGATORS if sign in folded})


def restates(old: str, new: str) -> bool:
    """Whether `new` says what `old` says: the same words in any inflection and order, or one with at most a third more words."""
    before, after = groups(old), groups(new)
    gone = sum(1 for group in before if content_terms(new).isdisjoint(group.alternatives))
    came = sum(1 for group in after if content_terms(old).isdisjoint(group.alternatives))
    if not before or not after or (gone and came) or _polarity(old) != _polarity(new):
        return False
    shared = len(after) - came
    return shared / (shared + gone + came) >= 0.75

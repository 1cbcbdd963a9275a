"""Words to look for, and texts made ready to be looked through. Shared by cards and recall, whose texts are few and need no index."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from onebrain.text.analysis import fold, groups, terms

_SHORTEST_PREFIX = 3


@dataclass(frozen=True, slots=True)
class Text:
    """A text made ready to be looked through: its analysed terms, and itself folded on one line."""

    terms: frozenset[str]
    folded: str

    @classmethod
    def of(cls, text: str) -> Text:
        return cls(frozenset(term.text for term in terms(text)), " ".join(fold(text).split()))


@dataclass(frozen=True, slots=True)
class Keyword:
    """A word or quoted phrase. `needs` holds the analysed terms that must all be there, each with its alternatives; a phrase is literal."""

    text: str
    folded: str
    needs: tuple[tuple[str, ...], ...] = ()

    def found_in(self, text: Text) -> bool:
        """A phrase as it stands; a word in any inflection, or at the beginning of a longer word (`auth` in "authentication")."""
        if not self.needs:
            return self.folded in text.folded
        if all(not text.terms.isdisjoint(alternatives) for alternatives in self.needs):
            return True
        return len(self.folded) >= _SHORTEST_PREFIX and _begins_a_word(self.folded, text.folded)


def _begins_a_word(word: str, text: str) -> bool:
    at = text.find(word)
    while at > 0 and text[at - 1].isalnum():
        at = text.find(word, at + 1)
    return at >= 0


def keyword(text: str, *, literal: bool = False) -> Keyword | None:
    """None for a text without a letter or digit. An identifier asks for itself, a hyphenated word for its parts."""
    found = groups(text)
    needs = () if literal else tuple(group.alternatives for group in found if not group.optional)
    return Keyword(text, " ".join(fold(text).split()), needs) if found else None


@lru_cache(maxsize=50_000)
def ready(text: str) -> Text:
    """`Text.of`, remembered: the lines of a memory folder are the same for every question."""
    return Text.of(text)

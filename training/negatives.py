"""Groups for training: a question, its passage, and passages that look right but are not.

Negatives come from the product's own first stage (e5 and BM25 neighbours), from the same file, from passages in the question's language
when the answer is in another, and from anywhere.
"""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from training.queries import Question, content, passage
from training.sections import Section

SIZE = 4  # passages in a group
SOFT = frozenset({"heading", "cross-heading", "first", "keywords", "command", "cross-command", "reason", "asked", "change"})
ABOUT = frozenset({"attribute", "cross-attribute"})
GENERAL = re.compile(r"what (is|are) \(are\)|do you have information|what (is|are) ", re.I)  # questions whose answers may say anything
POOL = 5000  # sections of a language that neighbours are looked for in
MARGIN = 0.012  # e5 cosine above the positive's from which a neighbour is taken to answer such a question too


@dataclass(frozen=True, slots=True)
class Group:
    """`passages[0]` answers, unless `answered` is false; `passages[1]` is the near miss when there is one."""

    question: str
    kind: str
    lang: str
    repo: str
    key: str
    passages: list[str]
    near: bool
    answered: bool = True


def terms(text: str) -> list[str]:
    """Words cut to six letters, pairs of characters where words are not spaced."""
    out: list[str] = []
    for word in re.findall(r"\w+", text.lower()):
        if re.search(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]", word):
            out += [word[i : i + 2] for i in range(max(1, len(word) - 1))]
        else:
            out.append(word if re.search(r"\d", word) else word[:6])
    return out


class Bm25:
    """BM25 over the sections of one language; words in more than a twentieth of them are left out."""

    def __init__(self, texts: list[str], k1: float = 1.2, b: float = 0.75) -> None:
        documents = [Counter(terms(t)) for t in texts]
        sizes = np.array([sum(d.values()) for d in documents], np.float32)
        places: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for i, document in enumerate(documents):
            for term, count in document.items():
                places[term].append((i, count))
        self.size = len(texts)
        self._weights: dict[str, tuple[NDArray[np.int64], NDArray[np.float32]]] = {}
        for term, found in places.items():
            if len(found) > max(20, self.size / 20):
                continue
            rows = np.array([i for i, _ in found])
            counts = np.array([c for _, c in found], np.float32)
            idf = math.log(1 + (self.size - len(found) + 0.5) / (len(found) + 0.5))
            scale = k1 * (1 - b + b * sizes[rows] / sizes.mean())
            self._weights[term] = (rows, (idf * counts * (k1 + 1) / (counts + scale)).astype(np.float32))

    def scores(self, text: str) -> NDArray[np.float32]:
        total = np.zeros(self.size, np.float32)
        for term in set(terms(text)):
            if term in self._weights:
                rows, weights = self._weights[term]
                total[rows] += weights
        return total


class Miner:
    """Hard negatives for questions over a set of sections and their e5 vectors."""

    def __init__(self, sections: list[Section], vectors: NDArray[np.float32], random: Random) -> None:
        self._sections = sections
        self._vectors = vectors
        self._random = random
        self._known: dict[str, list[int]] = {}  # neighbours by meaning of the question at hand
        by_lang: dict[str, list[int]] = defaultdict(list)
        self._by_file: dict[tuple[str, str], list[int]] = defaultdict(list)
        for section in sections:
            by_lang[section.lang].append(section.id)
            self._by_file[section.repo, section.file].append(section.id)
        drawn = {lang: sorted(random.sample(ids, min(len(ids), POOL))) for lang, ids in by_lang.items()}
        self._pools = {lang: np.array(ids) for lang, ids in drawn.items()}
        self._meanings = {lang: vectors[ids] for lang, ids in self._pools.items()}
        self._words = {
            lang: Bm25([f"{sections[i].title} {sections[i].heading} {sections[i].body}" for i in ids]) for lang, ids in drawn.items()
        }

    def groups(self, questions: list[Question], vectors: NDArray[np.float32]) -> list[Group]:
        """A group for each question; neighbours by meaning are looked up for many at a time, which takes a twentieth of the time."""
        ours = self._all_by_meaning([self._sections[q.section].lang for q in questions], vectors)
        theirs = self._all_by_meaning([q.lang for q in questions], vectors)
        made = []
        for question, vector, own, foreign in zip(questions, vectors, ours, theirs, strict=True):
            self._known = {question.lang: foreign, self._sections[question.section].lang: own}
            made.append(self.group(question, vector))
        self._known = {}
        return made

    def _all_by_meaning(self, langs: list[str], vectors: NDArray[np.float32], block: int = 1024) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in langs]
        for lang, pool in self._pools.items():
            rows = [i for i, other in enumerate(langs) if other == lang]
            for start in range(0, len(rows), block):
                part = rows[start : start + block]
                cosines = vectors[part] @ self._meanings[lang].T
                for row, scores in zip(part, cosines, strict=True):
                    found[row] = _best(pool, scores, 25)
        return found

    def group(self, question: Question, vector: NDArray[np.float32]) -> Group:
        section = self._sections[question.section]
        about = content(question.text)
        wanted = SIZE - 1 - (question.near is not None)
        chosen: list[int] = []
        for candidates in self._candidates(question, section, vector):
            usable = [c for c in candidates if c not in chosen and self._fits(question, section, c, vector)]
            if usable and len(chosen) < wanted:
                chosen.append(usable[min(len(usable) - 1, int(self._random.expovariate(1 / 3)))])
        while len(chosen) < wanted:
            other = self._random.randrange(len(self._sections))
            if self._sections[other].key != section.key:
                chosen.append(other)
        others = [
            passage(self._sections[c], question.prefix, self._random, about if self._random.random() < 0.6 else None) for c in chosen
        ]
        near = [question.near] if question.near else []
        key = section.key.split("|")[1] if "|" in section.key else section.key
        family = f"{section.key.split('|')[0]}|{key}"
        return Group(question.text, question.kind, question.lang, section.repo, family, [question.positive, *near, *others], bool(near))

    def _candidates(self, question: Question, section: Section, vector: NDArray[np.float32]) -> list[list[int]]:
        """Lists to take one negative from each, in random order so that groups with a near miss see all of them over time."""
        lists = [self._by_meaning(section.lang, vector), self._by_words(section.lang, question.text)]
        if question.lang != section.lang and question.lang in self._pools:
            ways: list[Callable[[str, str, NDArray[np.float32]], list[int]]] = [self._by_words, self._by_meaning_of]
            lists[1] = self._random.choice(ways)(question.lang, question.text, vector)
        same_file = [i for i in self._by_file[section.repo, section.file] if i != section.id]
        self._random.shuffle(same_file)
        lists.append(same_file)
        self._random.shuffle(lists)
        lists.append(self._by_meaning(section.lang, vector))
        return lists

    def _by_meaning(self, lang: str, vector: NDArray[np.float32]) -> list[int]:
        if lang in self._known:
            return self._known[lang]
        return _best(self._pools[lang], self._meanings[lang] @ vector, 25)

    def _by_meaning_of(self, lang: str, _: str, vector: NDArray[np.float32]) -> list[int]:
        return self._by_meaning(lang, vector)

    def _by_words(self, lang: str, text: str, _: NDArray[np.float32] | None = None) -> list[int]:
        pool, scores = self._pools[lang], self._words[lang].scores(text)
        top = np.argpartition(-scores, min(20, len(pool) - 1))[:20]
        return [int(pool[i]) for i in top[np.argsort(-scores[top])] if scores[i] > 0]

    def _fits(self, question: Question, section: Section, other: int, vector: NDArray[np.float32]) -> bool:
        """Whether another section can stand as a wrong answer: no translation, not the same heading, not closer than the right one."""
        candidate = self._sections[other]
        if candidate.key == section.key:
            return False
        if question.kind in ABOUT and _document(candidate) == _document(section):
            return False  # may say it elsewhere
        if question.kind not in SOFT:
            return True
        if candidate.format == "medquad" and candidate.file == section.file and not GENERAL.match(candidate.questions[0]):
            return True  # the same disease, but its causes and not its symptoms
        if candidate.heading.lower() == section.heading.lower():
            return False
        foreign = 0.03 if candidate.lang == question.lang != section.lang else 0.0  # e5 favours pairs in one language
        return float(self._vectors[other] @ vector) <= float(self._vectors[section.id] @ vector) + MARGIN + foreign


def _best(pool: NDArray[np.int64], scores: NDArray[np.float32], count: int) -> list[int]:
    top = np.argpartition(-scores, min(count, len(pool) - 1))[:count]
    return [int(i) for i in pool[top[np.argsort(-scores[top])]]]


def _document(section: Section) -> str:
    """The same for a document and its translations."""
    return section.key.rsplit("|", 2)[0]


def save(groups: list[Group], path: Path) -> None:
    path.write_text("".join(json.dumps(asdict(g), ensure_ascii=False) + "\n" for g in groups), encoding="utf-8")


def load(path: Path) -> list[Group]:
    with path.open(encoding="utf-8") as lines:
        return [Group(**json.loads(line)) for line in lines]

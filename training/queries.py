"""Questions made by rule, each with the passage that answers it and, where one can be made, a near miss.

The point of most kinds is that the question and its passage share few words: they are in two languages, or the shared sentences are taken
out of the passage, or the words of the question are replaced by synonyms. A near miss is the same passage without what was asked.
Every function takes its randomness as an argument.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from random import Random

from training.phrases import ATTRIBUTES, CAUSES, GENERIC, ISSUES, WH, WRAPS
from training.sections import UNSPACED, Section
from training.synonyms import Synonyms

CAP = {"th": 380, "ja": 170, "zh": 150, "zh-hant": 150, "ko": 220}  # characters of about 90 tokens
SIZES = (0.35, 0.6, 0.8, 1.0, 1.0, 1.3, 1.8)
NUMBER = re.compile(r"\d[\d,.]*")
WORD = re.compile(r"[\w][\w./_-]+")
IDENTIFIER = re.compile(r"[a-z][A-Z]|\w[_./-]\w|[A-Za-z]\d|^--?\w|[A-Z]{2}")
SKIPPED_HEADING = re.compile(r"copyright|changelog|table of contents|contributors|sponsors|references?$|^\d+(\.\d+)*$", re.I)
TASK = re.compile(r"^(add(s|ed|ing)?|document(s|ed|ing)?|(updat|describ|explain|clarif|mention|improv|expand)\w*)\s+(the |an? )?", re.I)
NOT_A_NAME = re.compile(r"[?!:|()]|^(why|how|what|when|who|where|step|example)\b", re.I)
ASKED_IN = ("de", "es", "fr", "ru", "ar", "zh", "ja", "ko", "th")
REASONS = re.compile(r"motivation|rationale|decision|context|why|justification|background|reason|consequences|alternatives", re.I)


@dataclass(frozen=True, slots=True)
class Question:
    """`prefix` says how passages of its group begin: 0 title, 1 title and headings, 2 nothing."""

    text: str
    kind: str
    lang: str  # of the question
    section: int
    positive: str
    near: str | None
    prefix: int


@dataclass(frozen=True, slots=True)
class Described:
    """What the author of some lines of a section wrote about them."""

    section: int
    text: str
    lines: list[str]


def sentences(text: str, lang: str) -> list[str]:
    if lang in ("ja", "zh", "zh-hant"):
        parts = re.split(r"(?<=[。！？])|\n+", text)
    elif lang == "th":
        parts = re.split(r"\n+|(?<=\S{12}) (?=\S{8})", text)
    else:
        parts = re.split(r"(?<=[.!?])\s+(?=[^\sa-z])|\n+", text)
    return [p.strip() for p in parts if p and p.strip()] or [text]


def joined(parts: list[str], lang: str) -> str:
    return ("" if lang in ("ja", "zh", "zh-hant") else " ").join(parts)


def length(text: str, lang: str) -> float:
    """About how many words."""
    return len(text) / (5 if lang == "th" else 2) if lang in UNSPACED else len(text.split())


def content(text: str) -> set[str]:
    """Rough stems that carry meaning, to see whether two texts share words."""
    out: set[str] = set()
    for word in re.findall(r"\w+", text.lower()):
        if re.search(r"[\u0e00-\u0e7f\u3040-\u9fff]", word):
            out.update(word[i : i + 2] for i in range(max(1, len(word) - 1)))
        elif len(word) > 3:
            out.add(word[:5])
    return out


def window(parts: list[str], middle: int, limit: float, random: Random) -> tuple[int, int]:
    """[first, last] of a run of sentences around `middle` that fits `limit` characters."""
    first = last = middle
    size = len(parts[middle])
    while first > 0 or last < len(parts) - 1:
        left = first > 0 and (last == len(parts) - 1 or random.random() < 0.5)
        step = first - 1 if left else last + 1
        if size + len(parts[step]) > limit:
            break
        size += len(parts[step])
        first, last = min(first, step), max(last, step)
    return first, last


def limit_of(lang: str, random: Random) -> float:
    return CAP.get(lang, 420) * random.choice(SIZES)


def prefixed(section: Section, prefix: int, body: str) -> str:
    body = body[:1000]
    if prefix == 0 and section.title:
        return f"{section.title}\n{body}"
    if prefix == 1:  # as the product writes a passage
        return "\n".join(p for p in (section.title, " > ".join(section.path), body) if p)
    return body


def passage(section: Section, prefix: int, random: Random, about: set[str] | None = None) -> str:
    """A window of a section; with `about`, around the sentence that shares most words with it."""
    if section.format == "tldr":
        return f"{section.title}\n{section.body}"[:800]
    parts = sentences(section.body, section.lang)
    middle = random.randrange(min(len(parts), 3))
    if about:
        middle = max(range(len(parts)), key=lambda i: len(content(parts[i]) & about))
    first, last = window(parts, middle, limit_of(section.lang, random), random)
    return prefixed(section, prefix, joined(parts[first : last + 1], section.lang))


def heading_question(section: Section, random: Random) -> str | None:
    """The heading as a question; a heading such as `Usage` gets the one above it."""
    heading = section.heading
    if SKIPPED_HEADING.search(heading) or not 3 < len(heading) < 140:
        return None
    if heading.lower() in GENERIC or length(heading, section.lang) < 2:
        if not section.path:
            return None if length(heading, section.lang) < 2 else heading
        above = section.path[-2] if len(section.path) > 1 and section.path[-2].lower() not in GENERIC else section.title
        heading = random.choice([f"{above} {heading}", f"{heading} {above}", f"{above}: {heading}"])
    if random.random() < 0.3 and "?" not in heading:
        wraps = WRAPS.get(section.lang)
        heading = random.choice(wraps).format(heading) if wraps else heading
    elif section.lang == "en" and random.random() < 0.12:
        heading = random.choice(ISSUES).format(heading.lower())
    return heading


def subject_of(section: Section) -> str | None:
    """What a section is about, if its heading (or else its title) names it in a few words."""
    name = section.title if section.heading.lower() in GENERIC else section.heading
    fits = 3 < len(name) < 50 and len(name.split()) < 7 and not NOT_A_NAME.search(name)
    return name if fits and not SKIPPED_HEADING.search(name) and name.lower() not in GENERIC else None


def cloze(sentence: str, lang: str, random: Random) -> str | None:
    """A question out of a statement: a number, name or span gives way to a question word, the rest is cut and partly reordered."""
    words = WH.get(lang)
    text = re.sub(r"[`*_]", "", sentence).strip("-> ")
    if words is None:
        return None
    number = NUMBER.search(text)
    if lang in UNSPACED:
        if len(text) < (25 if lang == "th" else 12):
            return None
        size = random.randrange(6, 16) if lang == "th" else random.randrange(3, 7)
        if number and random.random() < 0.7:
            start, end, word = number.start(), number.end(), random.choice(words["number"])
        else:
            start = random.randrange(max(1, len(text) - size))
            end, word = start + size, random.choice(words["other"])
        reach = 110 if lang == "th" else 60
        left = text[max(0, start - random.randrange(reach // 3, reach)) : start]
        right = text[end : end + random.randrange(reach // 4, reach)]
        return (left + word + right).strip(" 。、，,") + random.choice(["", "?", "？"])
    tokens = text.split()
    if len(tokens) < 7:
        return None
    numbers = [i for i, t in enumerate(tokens) if NUMBER.search(t)]
    names = [i for i, t in enumerate(tokens) if i and t[:1].isupper()]
    if numbers and random.random() < 0.7:
        start, size, word = random.choice(numbers), 1, random.choice(words["number"])
    elif names and random.random() < 0.6:
        start, size, word = random.choice(names), 1, random.choice(words["other"])
    else:
        start, size, word = random.randrange(len(tokens) - 2), random.choice([1, 2, 3]), random.choice(words["other"])
    kept = 1 - random.choice([0, 0.1, 0.25])
    before = [t for t in tokens[max(0, start - random.randrange(3, 10)) : start] if random.random() < kept]
    after = [t for t in tokens[start + size : start + size + random.randrange(3, 12)] if random.random() < kept]
    shape = random.random()
    out = [word, *after, *before] if shape < 0.35 else [word, *before, *after] if shape < 0.6 else [*before, word, *after]
    return " ".join(out).strip(" .,;:") + random.choice(["", "?", "?"])


def typo(text: str, random: Random) -> str:
    """One or two slips of the keyboard in words of four letters or more."""
    words = list(re.finditer(r"[A-Za-zÀ-ɏЀ-ӿ]{4,}", text))
    for match in sorted(random.sample(words, min(len(words), random.choice([1, 1, 2]))), key=lambda m: -m.start()):
        letters = list(match.group())
        at = random.randrange(1, len(letters) - 1)
        slip = random.random()
        if slip < 0.3:
            letters[at], letters[at - 1] = letters[at - 1], letters[at]
        elif slip < 0.6:
            del letters[at]
        elif slip < 0.8:
            letters.insert(at, letters[at])
        else:
            letters[at] = random.choice("aeiourstln")
        text = text[: match.start()] + "".join(letters) + text[match.end() :]
    return text


def noisy(text: str, lang: str, random: Random) -> str:
    if lang not in UNSPACED and random.random() < 0.08:
        text = typo(text, random)
    if random.random() < 0.35:
        text = text.lower()
    return text.rstrip("?.!。？ ") if random.random() < 0.3 else text


def messy(parts: list[str], others: list[str], lang: str, random: Random) -> str:
    """Sentences as someone's notes or a log of a session: bullets, speakers, dates, lines about something else in between."""
    style = random.random()
    lines = list(parts)
    for other in others:
        lines.insert(int(random.random() * (len(lines) + 1)), other)
    if style < 0.3:
        lines = [f"{random.choice(['- ', '* ', '- [ ] ', '- [x] '])}{line}" for line in lines]
    elif style < 0.65:
        who = random.choice([("User", "Assistant"), ("Q", "A"), ("me", "them"), ("Ana", "Ben")])
        lines = [f"{who[i % 2]}: {line}" for i, line in enumerate(lines)]
    elif style < 0.8:
        start = random.randrange(8, 16)
        lines = [f"{start + i // 3:02}:{(i % 3) * 20:02} {line}" for i, line in enumerate(lines)]
    if lang not in UNSPACED and random.random() < 0.3:
        lines = [line.lower().rstrip(".") for line in lines]
    if random.random() < 0.3:
        lines.insert(0, f"20{random.randrange(18, 27)}-{random.randrange(1, 13):02}-{random.randrange(1, 29):02}")
    return "\n".join(lines)


class QuestionMaker:
    """All questions of a set of sections. `scale` multiplies how many are made."""

    def __init__(
        self,
        sections: list[Section],
        synonyms: Synonyms,
        random: Random,
        scale: float = 1.0,
        described: Iterable[Described] = (),
    ) -> None:
        self._sections = sections
        self._synonyms = synonyms
        self._random = random
        self._scale = scale
        self._translations: dict[str, list[Section]] = defaultdict(list)
        self._by_file: dict[tuple[str, str], list[Section]] = defaultdict(list)
        self._frequency: Counter[str] = Counter()
        for section in sections:
            self._translations[section.key].append(section)
            self._by_file[section.repo, section.file].append(section)
            self._frequency.update({w.lower() for w in WORD.findall(section.body)})
        self._described: dict[int, list[Described]] = defaultdict(list)
        for item in described:
            self._described[item.section].append(item)
        self._names = [w for w, n in self._frequency.items() if IDENTIFIER.search(w) and 3 <= n <= 40]

    def all(self) -> list[Question]:
        return [question for section in self._sections for question in self._of(section)]

    def _of(self, section: Section) -> Iterator[Question]:
        for item in self._described[section.id]:
            about = self._change(section, item)
            if about and _usable(about):
                yield about
        weight = LANGUAGE_WEIGHT.get(section.lang, 0.3) * self._scale
        for make, share in self._kinds(section):
            chance = weight * share
            while chance > 0 and self._random.random() < chance:
                question = make(section)
                if question and _usable(question):
                    yield question
                chance -= 1

    def _kinds(self, section: Section) -> list[tuple[Callable[[Section], Question | None], float]]:
        if section.format == "tldr":
            return [(self._command, 0.75)]
        if section.format in ("pubmedqa", "medquad"):
            return [(self._asked, 0.7 if section.format == "pubmedqa" else 0.35), (self._statement, 0.12), (self._note, 0.12)]
        kinds: list[tuple[Callable[[Section], Question | None], float]] = [
            (self._titled, 0.2),
            (self._statement, 0.17),
            (self._note, 0.15),
            (self._keywords, 0.09),
            (self._first, 0.08),
        ]
        if section.lang == "en":
            kinds += [(self._attribute, 0.7), (self._framed, 0.06)]
        if any(t.lang != section.lang for t in self._translations[section.key]):
            kinds.append((self._translated, 0.6))
        if section.lang == "en" and REASONS.search(section.heading) and len(section.title) > 8:
            kinds.append((self._reason, 0.6))
        return kinds

    def _prefix(self) -> int:
        return self._random.choices([0, 1, 2], [0.35, 0.45, 0.2])[0]

    def _say(
        self, text: str | None, kind: str, lang: str, section: Section, positive: str, near: str | None, prefix: int
    ) -> Question | None:
        """The question with its noise; English ones lose part of their words to synonyms."""
        if not text:
            return None
        if lang == "en" and kind not in ("keywords", "identifier") and self._random.random() < 0.55:
            text = self._synonyms.replace(text, self._random.choice([0.4, 0.7, 1.0]), self._random)
        return Question(noisy(text, lang, self._random), kind, lang, section.id, positive, near, prefix)

    def _cut(self, section: Section, middle: int | None = None) -> tuple[list[str], int, int, int]:
        parts = sentences(section.body, section.lang)
        middle = self._random.randrange(len(parts)) if middle is None else min(middle, len(parts) - 1)
        first, last = window(parts, middle, limit_of(section.lang, self._random), self._random)
        return parts, first, middle, last

    def _without(self, section: Section, parts: list[str], first: int, middle: int, last: int, prefix: int) -> str | None:
        rest = joined(parts[first:middle] + parts[middle + 1 : last + 1], section.lang)
        return prefixed(section, prefix, rest) if length(rest, section.lang) > 12 else None

    def _titled(self, section: Section) -> Question | None:
        """Heading -> body without it; half the time the sentences that repeat the heading's words go too."""
        text = heading_question(section, self._random)
        if not text:
            return None
        prefix = 1 if self._random.random() < 0.2 else self._random.choice([0, 2, 2])
        parts, first, _, last = self._cut(section, self._random.randrange(3))
        kept = parts[first : last + 1]
        if prefix != 1 and self._random.random() < 0.5:
            words = content(section.heading)
            far = [p for p in kept if len(content(p) & words) <= len(words) / 3]
            kept = far if length(joined(far, section.lang), section.lang) > 12 else kept
        return self._say(text, "heading", section.lang, section, prefixed(section, prefix, joined(kept, section.lang)), None, prefix)

    def _statement(self, section: Section) -> Question | None:
        parts = sentences(section.body, section.lang)
        long = [i for i, p in enumerate(parts) if length(p, section.lang) > 7]
        if not long:
            return None
        parts, first, middle, last = self._cut(section, self._random.choice(long))
        prefix = self._prefix()
        near = self._without(section, parts, first, middle, last, prefix)
        positive = prefixed(section, prefix, joined(parts[first : last + 1], section.lang))
        return self._say(cloze(parts[middle], section.lang, self._random), "statement", section.lang, section, positive, near, prefix)

    def _note(self, section: Section) -> Question | None:
        """A sentence hidden among lines about something else; the near miss has the other lines and its neighbours, not the sentence."""
        parts = sentences(section.body, section.lang)
        long = [i for i, p in enumerate(parts) if 7 < length(p, section.lang) < 60]
        if not long:
            return None
        middle = self._random.choice(long)
        around = parts[max(0, middle - 1) : middle] + parts[middle + 1 : middle + 1 + self._random.randrange(2)]
        elsewhere = self._random.choice(self._by_file[section.repo, section.file])
        lines = [p for p in sentences(elsewhere.body, section.lang) if p != parts[middle] and len(p) < 200]
        others = self._random.sample(lines, min(len(lines), self._random.randrange(1, 4)))
        seed = self._random.random()
        positive = messy([parts[middle], *around], others, section.lang, Random(seed))
        near = messy(around or others[:1], others, section.lang, Random(seed)) if around or others else None
        prefix = self._random.choice([0, 2, 2])
        return self._say(
            cloze(parts[middle], section.lang, self._random),
            "note",
            section.lang,
            section,
            prefixed(section, prefix, positive),
            prefixed(section, prefix, near) if near else None,
            prefix,
        )

    def _first(self, section: Section) -> Question | None:
        parts = sentences(section.body, section.lang)
        text = " ".join(parts[0].split()[:22])[:120]
        if len(parts) < 4 or length(text, section.lang) < 4:
            return None
        prefix = self._prefix()
        body = joined(parts[1:6], section.lang)[: int(limit_of(section.lang, self._random))]
        return self._say(text, "first", section.lang, section, prefixed(section, prefix, body), None, prefix)

    def _keywords(self, section: Section) -> Question | None:
        """Rare words or one identifier; the near miss of an identifier is the passage with another name in its place."""
        parts, first, _, last = self._cut(section)
        prefix = self._random.choice([0, 2])
        body = joined(parts[first : last + 1], section.lang)
        positive = prefixed(section, prefix, body)
        if section.lang in UNSPACED:
            pieces = [p for p in re.split(r"[\s、。，,()（）「」]+", body) if 2 <= len(p) <= (24 if section.lang == "th" else 10)]
            text = " ".join(self._random.sample(pieces, min(len(pieces), self._random.choice([1, 2]))))
            return self._say(text, "keywords", section.lang, section, positive, None, prefix)
        words = sorted({w for w in WORD.findall(body) if 2 <= self._frequency[w.lower()] <= 400 and len(w) > 2})
        words.sort(key=lambda w: self._frequency[w.lower()])
        names = [w for w in words if IDENTIFIER.search(w)]
        if names and self._random.random() < 0.6:
            name = self._random.choice(names[:4])
            near = positive.replace(name, self._random.choice(self._names))
            return self._say(name, "identifier", section.lang, section, positive, near if name not in near else None, prefix)
        if not words:
            return None
        text = " ".join(self._random.sample(words[:8], min(len(words[:8]), self._random.choice([1, 2, 3, 4]))))
        return self._say(text, "keywords", section.lang, section, positive, None, prefix)

    def _translated(self, section: Section) -> Question | None:
        """A question from a translation: its heading, or its first sentence (then the near miss lacks that sentence)."""
        others = [t for t in self._translations[section.key] if t.lang != section.lang]
        other = self._random.choices(others, [LANGUAGE_WEIGHT.get(t.lang, 0.3) for t in others])[0]
        prefix, shape = self._prefix(), self._random.random()
        text = heading_question(other, self._random) if shape < 0.35 else None
        if text:
            return self._say(text, "cross-heading", other.lang, section, passage(section, prefix, self._random), None, prefix)
        theirs, ours = sentences(other.body, other.lang), sentences(section.body, section.lang)
        at = 0
        if len(theirs) == len(ours):  # then sentence follows sentence
            at = self._random.randrange(len(ours))
        text = cloze(theirs[at], other.lang, self._random) if shape < 0.85 else " ".join(theirs[at].split()[:22])[:120]
        parts, first, middle, last = self._cut(section, at)
        near = self._without(section, parts, first, middle, last, prefix)
        positive = prefixed(section, prefix, joined(parts[first : last + 1], section.lang))
        return self._say(text, "cross-statement", other.lang, section, positive, near, prefix)

    def _reason(self, section: Section) -> Question | None:
        """`why` of a proposal's title against its motivation, context or decision; or the last sentence of the context."""
        prefix = self._random.choice([0, 2, 2])
        title = re.sub(r"^(ADR|RFC|EIP|KEP)?[-\s#:\d.]*", "", section.title) or section.title
        return self._say(
            self._random.choice(CAUSES).format(title[:100]), "reason", "en", section, passage(section, prefix, self._random), None, prefix
        )

    def _attribute(self, section: Section) -> Question | None:
        """A property of the section's subject, half the time in another language; the near miss is about the subject but doesn't say it."""
        subject = subject_of(section)
        parts = sentences(section.body, "en")
        if not subject or len(parts) < 3:
            return None
        names = list(ATTRIBUTES)
        self._random.shuffle(names)
        for name in names:
            pattern, asks = ATTRIBUTES[name]
            said = [i for i, p in enumerate(parts) if re.search(pattern, p, re.I)]
            if said and len(said) < len(parts) - 1 and not re.search(pattern, subject, re.I):
                break
        else:
            return None
        first, last = window(parts, self._random.choice(said), limit_of("en", self._random) * 1.3, self._random)
        rest = joined([p for i, p in enumerate(parts) if first <= i <= last and i not in said], "en")
        lang = self._random.choice(ASKED_IN) if self._random.random() < 0.5 else "en"
        text = self._random.choice(asks[lang]).format(subject)
        prefix = self._random.choice([0, 1, 1])
        if length(rest, "en") <= 12:
            return None
        positive = prefixed(section, prefix, joined(parts[first : last + 1], "en"))
        kind = "attribute" if lang == "en" else "cross-attribute"
        return self._say(text, kind, lang, section, positive, prefixed(section, prefix, rest), prefix)

    def _framed(self, section: Section) -> Question | None:
        """An English heading in a question of another language, as people ask whose notes are in English."""
        subject = subject_of(section)
        if not subject:
            return None
        lang = self._random.choice(ASKED_IN)
        prefix = self._prefix()
        text = self._random.choice(WRAPS[lang]).format(subject)
        return self._say(text, "cross-heading", lang, section, passage(section, prefix, self._random), None, prefix)

    def _change(self, section: Section, item: Described) -> Question | None:
        """A commit's subject, often without `Add` or `Update`; the near miss is the section without the lines it added."""
        parts = sentences(section.body, section.lang)
        added = [i for i, p in enumerate(parts) if any(p in line or line in p for line in item.lines)]
        if not added:
            return None
        first, last = window(parts, self._random.choice(added), limit_of(section.lang, self._random), self._random)
        prefix = self._prefix()
        rest = joined([p for i, p in enumerate(parts) if first - 2 <= i <= last + 2 and i not in added], section.lang)
        near = prefixed(section, prefix, rest) if length(rest, section.lang) > 12 and self._random.random() < 0.6 else None
        text = TASK.sub("", item.text) if self._random.random() < 0.6 else item.text
        positive = prefixed(section, prefix, joined(parts[first : last + 1], section.lang))
        return self._say(text, "change", "en", section, positive, near, prefix)

    def _asked(self, section: Section) -> Question | None:
        if not section.questions:
            return None
        prefix = self._random.choice([0, 2])
        text = self._random.choice(section.questions)
        return self._say(text, "asked", "en", section, passage(section, prefix, self._random), None, prefix)

    def _command(self, section: Section) -> Question | None:
        """What a command is for, half the time asked in another language, against its page without that line."""
        other = self._random.choice(self._translations[section.key])
        text = self._random.choice(other.questions)
        body = "\n".join(line for line in section.body.split("\n") if line.strip("- :") != text)
        kind = "command" if other is section else "cross-command"
        return self._say(text, kind, other.lang, section, f"{section.title}\n{body}"[:800], None, 0)


def _usable(question: Question) -> bool:
    return 2 < len(question.text) < 260 and len(question.positive) > 40


LANGUAGE_WEIGHT = {
    "en": 1.0,
    "th": 2.5,
    "ar": 1.8,
    "de": 1.8,
    "ru": 1.2,
    "es": 1.0,
    "zh": 0.9,
    "ja": 0.8,
    "ko": 0.7,
    "fr": 0.7,
    "hi": 0.6,
    "pt": 0.5,
    "zh-hant": 0.4,
    "it": 0.4,
    "uk": 0.4,
    "tr": 0.4,
    "vi": 0.4,
}

"""Which sentence of a decision gives its reason: cue words of many languages, the section it stands in, and what the title says.

Everything is a score of plain text. Nothing is made up: what comes out is a sentence of the note with its line and heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from onebrain.text.sentences import Kind, Sentence, sentences
from onebrain.vault.events import cues
from onebrain.vault.note import Section

OPENING = 1100  # characters of a section that are looked at: reasons stand near its top
SECTIONS = 5  # sections of a record that are looked at, best headings first

_HEADINGS: tuple[tuple[float, str], ...] = (
    (
        -9.0,
        "references?|copyright|acknowledge?ments?|footnotes?|links?|related|see also|appendix|changelog|revision|release history|status"
        "|open (?:issues|questions)|post.history|notes?$|more information|date|deciders|examples?|tags",
    ),
    (
        3.0,
        "rationale|reasons?|reasoning|why(?: (?:this|we)\\b.*)?$|motivation|justification|arguments?|rejection|deprecat|withdraw"
        "|pep (?:withdrawal|rejection|deferral|acceptance)|decision drivers|begründung|warum|raison|motivación|motivação|motivazione"
        "|обоснование|причин|理由|原因|เหตุผล|근거|السبب",
    ),
    (
        2.6,
        "decisions?|decision outcome|outcome|conclusion|resolution|chosen|entscheidung|décision|decisión|decisão|decisione|решение"
        "|决定|决策|決定|การตัดสินใจ|결정|القرار",
    ),
    (
        1.6,
        "context|problem|background|introduction|issue|what.s proposed|proposal|overview|kontext|contexte|contexto|contesto|контекст"
        "|背景|บริบท|배경",
    ),
    (1.4, "abstract|summary|zusammenfassung|résumé|resumen|概要"),
    (0.8, "consequences?|implications?|impact|benefits?|advantages|pros|konsequenzen|conséquences|consecuencias|последствия|影响|影響"),
    (
        -1.5,
        "alternatives?|(?:considered |other )?options?|options considered|rejected|specification|implementation|design"
        "|backwards?.compat|how to teach|security|future|migration|positions|assumptions|constraints|cons\\b",
    ),
)
_HEADING_WEIGHT = tuple((weight, re.compile(rf"^\W*(?:\d+\W+)?(?:the )?(?:{words})\b", re.IGNORECASE)) for weight, words in _HEADINGS)
_DANGLING = re.compile(  # a sentence that needs the one before it
    r"^\W*(?:however|but|although|this|that|these|those|it|they|such|also|additionally|furthermore|for example|as such|so|then)\b",
    re.IGNORECASE,
)
_COMMON_WORDS = "with from that this than into have will been were used using their they which when what where about over only more"
_COMMON = frozenset(_COMMON_WORDS.split())


@dataclass(frozen=True, slots=True)
class Reason:
    """A sentence of the note, as it reads, the 1-based line it begins on, the heading above it, and how well it explains."""

    text: str
    line: int
    heading: str
    score: float


def best(sections: Sequence[Section], title: str) -> Reason | None:
    """The sentence of a record that says best why it was decided so."""
    weighted = [(heading_weight(section), number, section) for number, section in enumerate(sections) if section.text]
    chosen = sorted((entry for entry in weighted if entry[0] > -5), key=lambda entry: (-entry[0], entry[1]))[:SECTIONS]
    topic = _stems(cues.words_in(title))
    found = [reason for weight, _, section in chosen for reason in _scored(section, weight, topic)]
    return max(found, key=lambda reason: (reason.score, -reason.line)) if found else None


def best_of(found: Iterable[Sentence], first_line: int, heading: str, title: str = "") -> Reason | None:
    """The most explaining of a few sentences, if any of them explains; `first_line` is the 1-based line of line_offset 0."""
    topic = _stems(cues.words_in(title))
    scored = [
        Reason(s.text, first_line + s.line_offset, heading, _score(s, n, topic)) for n, s in enumerate(found) if cues.explains(s.text)
    ]
    return max(scored, key=lambda reason: (reason.score, -reason.line)) if scored else None


def size(text: str) -> int:
    """Characters, those of dense scripts counted twice."""
    return len(text) if text.isascii() else len(text) + sum(1 for char in text if char > "\u2e7f")


def heading_weight(section: Section) -> float:
    """How likely the reason stands under this heading. A sub-section without a telling heading takes part of its parent's weight."""
    if not section.heading_path:
        return 0.2
    weights = [_one_weight(heading) for heading in section.heading_path[1:] or section.heading_path]
    own, above = weights[-1], [weight for weight in weights[:-1] if weight is not None]
    if any(weight < 0 for weight in above) or (own is not None and own < 0):
        return min(weight for weight in [*above, own or 0.0] if weight < 0)
    if own is None:
        return above[-1] * 0.6 if above else 0.3
    return own if len(weights) == 1 else own * 0.7  # a detail's own rationale explains the detail


def _one_weight(heading: str) -> float | None:
    for weight, pattern in _HEADING_WEIGHT:
        if pattern.match(heading):
            return weight
    return None


def _scored(section: Section, weight: float, topic: frozenset[str]) -> Iterable[Reason]:
    heading = section.heading_path[-1] if section.heading_path else ""
    text = section.text
    if len(text) > OPENING:
        cut = text.rfind("\n", OPENING // 2, OPENING)
        text = text[: cut if cut > 0 else OPENING]
    for number, sentence in enumerate(sentences(text)):
        whole = sentence.end < len(text) or len(text) == len(section.text) or sentence.text[-1:] in ".!?。"
        if sentence.kind in (Kind.PROSE, Kind.ITEM) and whole:
            yield Reason(
                sentence.text,
                section.line_start + sentence.line_offset,
                heading,
                weight + _score(sentence, number, topic, 1.0 if weight >= 0.8 else 0.5),
            )


def _score(sentence: Sentence, position: int, topic: frozenset[str], trust: float = 1.0) -> float:
    """`trust` scales the cue words: under a heading that promises no reasons, `in order to` mostly tells how something works."""
    text = sentence.text
    words = cues.words_in(text)
    chars = size(text)
    score = (2.2 if cues.explains(text, words) else 0.0) * trust
    score += min(cues.hints(text, words), 3) * 0.4 * trust
    score += 0.7 if cues.decides(text, words) else 0.0
    score += min(len(topic & _stems(words)), 3) * 0.5
    score -= min(position, 12) * 0.12
    score -= 2.0 if chars < 30 else 0.8 if chars < 50 else 0.0
    score -= 1.5 if chars > 420 else 0.5 if chars > 300 else 0.0
    score -= 6.0 if text.endswith((":", ";", "：", "including", "include")) else 0.0  # the reason itself comes after
    score -= 1.2 if text.endswith(("?", "？")) else 0.0
    score -= 0.5 if _DANGLING.match(text) else 0.0
    score -= 0.3 if sentence.kind is Kind.ITEM else 0.0
    score -= 0.6 if "://" in text or text[:1] in "[(" else 0.0
    return score


def _stems(words: Iterable[str]) -> frozenset[str]:
    return frozenset(word[:6] for word in words if len(word) > 3 and word not in _COMMON)

"""Reading a question: mode, operators and filters; ordinary punctuation is text."""

from __future__ import annotations

from datetime import date

import pytest

from onebrain.errors import BadRequest
from onebrain.search.question import Filters, Request
from onebrain.search.reading import LONGEST_QUESTION, Reading, asks, mode_of, read
from onebrain.search.report import Mode


def reading(text: str, **more: object) -> Reading:
    return read(Request(text, date(2026, 1, 1), **more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "why did we drop Kafka?", "Why is it so", "WHY", "when did we move the docs", "how come it is slow",
        "¿Por qué cambiaron los rangos?",
        "Warum wurde Concourse ersetzt?", "wieso", "weshalb nicht", "pourquoi Redis", "perché no", "por que mudamos", "почему так", "зачем",
        "لماذا يأتي pip", "tại sao", "mengapa", "kenapa", "neden", "waarom", "dlaczego", "क्यों", "ทำไมเราเลิกใช้ Kafka", "なぜ移行したのか",
        "どうして", "为什么", "為什麼", "为何改变", "왜 바꿨나", "what was the reason for the move",
        "What is the reasoning behind renumbering",
        "How did we end up with staff identities?", "What convinced the developers to leave?", "What explains expiry markers?",
        "do you remember why we left", "rationale behind the cap",
    ],
)  # fmt: skip
def test_why_questions_of_many_languages(text: str) -> None:
    assert mode_of(text) is Mode.WHY


@pytest.mark.parametrize(
    "text",
    [
        "what did we settle on",
        "whyever.py",
        "kafka",
        "which IP ranges",
        "when is the meeting",
        "warumada",
        "neden-lib",
        "how it works",
        "C++",
    ],
)
def test_everything_else_is_a_what_question(text: str) -> None:
    assert mode_of(text) is Mode.WHAT


def test_the_mode_option_overrides_the_words() -> None:
    assert reading("why kafka", mode="what").mode is Mode.WHAT
    assert reading("kafka", mode="why").mode is Mode.WHY


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("what is the cap?", True),
        ("message cap", False),
        ("キューは何を使う", True),
        ("ขีดจำกัดคือเท่าไร", True),
        ("DEC-0054", False),
        ("the cap?", True),
    ],
)
def test_questions_are_told_from_keywords(text: str, question: bool) -> None:
    assert asks(text) is question


@pytest.mark.parametrize(
    "text",
    ["C++", '"', "-", "AND", "*", "note: x", "2026.4.10", "a - b", 'a "lone quote', "C:\\temp", "-word", "path:", "x OR NOT y", "(("],
)
def test_punctuation_is_text(text: str) -> None:
    found = reading(text)
    assert (found.text, found.phrases, found.excluded, found.filters) == (" ".join(text.split()), (), (), Filters())


def test_operators_are_taken_out_of_the_text() -> None:
    found = reading('"drop kafka" redis -legacy tag:#queue/redis path:01-projects type:session after:2026-01-01 before:2026/03/01')
    assert found.text == "drop kafka redis"
    assert found.phrases == (("drop", "kafka"),)
    assert found.excluded == ("legaci",)
    assert found.filters == Filters(("01-projects",), ("queue/redis",), ("session",), "2026-01-01", "2026-03-01")


def test_a_filter_alone_is_a_question_and_nothing_is_not() -> None:
    assert reading("tag:queue").filters.tags == ("queue",)
    with pytest.raises(BadRequest, match="empty"):
        reading("  ")


def test_a_date_that_is_none_is_refused_with_an_example() -> None:
    with pytest.raises(BadRequest, match="after:soon") as caught:
        reading("kafka after:soon")
    assert "2026-01-31" in (caught.value.hint or "")


def test_a_long_text_is_cut_at_a_word_and_says_so() -> None:
    found = reading("word " * 2000)
    assert found.cut and len(found.text) <= LONGEST_QUESTION and found.text.endswith("word")

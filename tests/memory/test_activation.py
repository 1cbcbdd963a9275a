"""Natural activation and real reinforcement (seed 000, "Search Behavior"), as tables. Examples of the original carry its texts."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebrain.memory.activation import (
    ACTIVE,
    Strength,
    activation,
    freshness,
    is_recalled,
    prominence,
    recency_boost,
    reinforce,
    relevance,
    state,
    topic,
)
from onebrain.memory.restating import restates

NOW = date(2026, 7, 15)


def aged(days: int, category: str = "fact", **more: object) -> Strength:
    return replace(Strength(category, NOW - timedelta(days=days)), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "content", "expected"),
    [
        ("what is on my plate today?", "Prepare for the Struan client meeting", 0.0),  # names no topic
        ("Whatever happened with Struan?", "Prepare for the Struan client meeting", 0.9),  # names it, without the word "history"
        ("What was my Struan meeting about?", "Annual Global Shapers meeting", 0.554),  # one generic word of two
        ("YouTube subscriber goal growth phases", "Become YouTube Famous - 100K Subscribers", 0.623),  # plural is singular
        ("YouTube subscriber goal growth phases", "Test Goal", 0.0),
        ("birthday", "Noor's birthday is on 14 March", 0.9),
        ("when is Bob's birthday", "Bob's birthday is on 2 May", 0.91),
        ("день рождения Боба", "У Боба день рождения 2 мая", 0.98),
        ("วันเกิดของบ๊อบ", "วันเกิดของบ๊อบคือ 2 พฤษภาคม", 0.97),
        ("", "anything", 0.0),
        ("?!", "anything", 0.0),
    ],
)
def test_word_relevance(question: str, content: str, expected: float) -> None:
    assert relevance(topic(question), content) == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize(
    ("words", "semantic", "recalled"),
    [(0.9, 0.0, True), (0.65, 0.0, True), (0.64, 0.0, False), (0.0, 0.70, True), (0.0, 0.69, False), (0.64, 0.69, False)],
)
def test_recall_gate(words: float, semantic: float, recalled: bool) -> None:
    assert is_recalled(words, semantic) is recalled


@pytest.mark.parametrize(
    ("category", "half_life"), [("event", 14), ("insight", 23), ("other", 30), ("fact", 69), ("preference", 138), ("relationship", 346)]
)
def test_half_lives(category: str, half_life: int) -> None:
    assert freshness(0, category) == 1
    assert freshness(half_life, category) == pytest.approx(0.5)
    assert freshness(2 * half_life, category) == pytest.approx(0.25)
    assert freshness(-3, category) == 1


@pytest.mark.parametrize(
    ("days", "category", "relevant", "active"),
    [
        (0, "fact", 0.0, True),  # fresh memories surface easily
        (120, "event", 0.0, False),  # old memories fade
        (120, "event", 0.9, True),  # and return on a direct name or topic match
        (3650, "event", 0.9, True),
        (3650, "fact", 0.7, False),  # a merely similar thing does not bring them back
        (30, "preference", 0.65, True),
    ],
)
def test_natural_activation(days: int, category: str, relevant: float, active: bool) -> None:
    """Seed 000: "Fresh memories surface easily; old memories fade but can return from a genuinely relevant topic/name"."""
    assert (activation(aged(days, category), relevant, NOW) >= ACTIVE) is active


def test_activation_is_the_published_sum() -> None:
    memory = aged(69, importance=5, confidence=0.8)
    salience = (0.5 + 0.8 + prominence(memory, NOW)) / 3
    assert activation(memory, 0.9, NOW) == pytest.approx(0.52 * 0.5 + 0.58 * 0.9 + 0.08 * salience + 0.07 * 1 / 3)


def test_a_superseded_memory_is_never_active() -> None:
    assert activation(aged(0, superseded=True), 1.0, NOW) == 0


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        (aged(0), 1.0),  # a day of grace
        (aged(1), 0.55 * 0.99 + 0.2 * 1 / 3.1699 + 0.05 + 0.04),
        (aged(100, "event"), 0.55 * 0.95**100 + 0.2 * 1 / 3.1699 + 0.05 + 0.04),
        (aged(3000, importance=9), 0.2),  # an important fact stays findable
        (aged(3000, "event", importance=9), 0.0631 + 0.09 + 0.04),
        (aged(100, confirmed=8, last_confirmed=NOW), 0.55 * 0.99**100 + 0.2 + 0.1 + 0.05 + 0.04),
        (aged(100, superseded=True), 0.55 * 0.9**100 + 0.0631 + 0.05 + 0.04),
    ],
)
def test_prominence(memory: Strength, expected: float) -> None:
    assert prominence(memory, NOW) == pytest.approx(expected, abs=0.001)


def test_age_counts_from_the_event_where_there_is_one() -> None:
    assert prominence(aged(400, "event", event_date=NOW), NOW) == 1.0


@pytest.mark.parametrize(("value", "name"), [(0.5, "active"), (0.49, "dormant"), (0.1, "dormant"), (0.09, "archived")])
def test_states(value: float, name: str) -> None:
    assert state(value) == name


@pytest.mark.parametrize(("days", "boost"), [(0, 0.3), (1, 0.3 * 0.000335), (-1, 0.3)])
def test_recency_boost(days: float, boost: float) -> None:
    assert recency_boost(days) == pytest.approx(boost, rel=0.01)


def test_one_confirmation_strengthens() -> None:
    """Seed 000: "User confirmation strengthens memory"."""
    before = aged(50)
    after = reinforce(before, NOW)
    assert (after.confirmed, after.confidence, after.last_confirmed) == (2, 0.85, NOW)
    assert prominence(after, NOW) > prominence(before, NOW)
    assert activation(after, 0.9, NOW) > activation(before, 0.9, NOW)
    assert reinforce(replace(before, confidence=0.98), NOW).confidence == 1.0


@given(
    st.integers(0, 5000),
    st.integers(1, 40),
    st.floats(0, 1),
    st.sampled_from(["fact", "event", "preference", "relationship", "insight", "x"]),
)
def test_confirmation_never_weakens_and_scores_stay_in_bounds(days: int, count: int, relevant: float, category: str) -> None:
    memory = aged(days, category, confirmed=count)
    stronger = reinforce(memory, NOW)
    assert 0 <= prominence(memory, NOW) <= prominence(stronger, NOW) <= 1
    assert 0 <= activation(memory, relevant, NOW) <= activation(stronger, relevant, NOW) <= 1


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("User likes Italian food", "The user likes italian foods.", True),
        ("User likes Italian food", "User likes Italian food, very much", True),
        ("User likes Italian food", "User likes Japanese food", False),  # cosine 0.93 with multilingual-e5-small
        ("Bob's birthday is May 2", "Bob's birthday is May 3", False),  # cosine 0.95
        ("User likes olives", "User doesn't like olives", False),  # cosine 0.91
        ("Bob works at Acme", "Bob worked at Acme and was fired", False),
        ("ชอบกาแฟ", "ไม่ชอบกาแฟ", False),
        ("ชอบกาแฟดำ", "ชอบกาแฟดำ", True),
        ("我喜欢咖啡", "我不喜欢咖啡", False),
        ("", "", False),
    ],
)
def test_what_restates(old: str, new: str, same: bool) -> None:
    assert restates(old, new) is same
    assert restates(new, old) is same

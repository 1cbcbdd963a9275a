"""Which of the sentences that could answer are quoted together."""

from __future__ import annotations

from onebrain.search.answer import _choose, _Option
from onebrain.search.report import Quote


def option(text: str, line: int, score: float, matter: bool = False) -> _Option:
    return _Option(Quote(text, "a.md", "", line), score, frozenset(), matter)


def chosen(*options: _Option) -> list[str]:
    return [quote.text for quote in _choose(options)]


def test_a_sentence_is_not_mixed_with_the_entries_of_a_frontmatter() -> None:
    prose, more = option("Queues run on Redis.", 9, 0.9), option("Redis was chosen in May.", 12, 0.8)
    assert chosen(prose, option("topics: queues", 2, 0.85, True), more) == ["Queues run on Redis.", "Redis was chosen in May."]


def test_where_only_a_frontmatter_tells_it_is_quoted() -> None:
    assert chosen(option("isbn: 9780201483406", 2, 0.9, True), option("A book about bees.", 9, 0.7)) == ["isbn: 9780201483406"]


def test_what_is_much_weaker_or_says_the_same_is_left_out() -> None:
    best = option("Queues run on Redis.", 9, 0.9)
    assert chosen(best, option("Queues run on Redis.", 20, 0.9), option("Kafka is loud and heavy.", 30, 0.6)) == ["Queues run on Redis."]

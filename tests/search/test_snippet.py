"""The words shown with a hit: on one line, around what was asked, frontmatter as entries."""

from __future__ import annotations

from onebrain.search.snippet import is_matter, matter_lines, passage, snippet
from onebrain.vault.note import Chunk

MATTER = 'title: Out of Control\nisbn13: 9780201483406\nauthor:\n  - "[[Kevin Kelly]]"\n  - "[[Someone Else]]"\nempty:\n---'
TOML = 'title = "Out of Control"\nisbn = 9780201483406\nempty = ""\n[taxonomies]'


def chunk(text: str, line: int = 1, heading: str = "") -> Chunk:
    return Chunk("a.md#0", "a.md", 0, heading, line, line + text.count("\n"), text, text)


def test_a_short_text_is_shown_whole_without_marks() -> None:
    assert snippet("We **dropped** [[Kafka|the broker]].\nIt was `slow`.", []) == "We dropped the broker. It was slow."


def test_a_long_text_is_cut_at_words_around_what_was_asked() -> None:
    text = "filler words here " * 40 + "the queue holds a million messages " + "and more filler " * 40
    shown = snippet(text, {"queue", "million"})
    assert len(shown) <= 165 and "queue holds a million" in shown and shown.startswith("…") and shown.endswith("…")


def test_frontmatter_is_told_by_its_place_and_read_as_entries() -> None:
    assert is_matter(chunk(MATTER, line=2)) and not is_matter(chunk(MATTER, line=9)) and not is_matter(chunk("plain words", line=2))
    assert matter_lines(MATTER) == [(0, "title: Out of Control"), (1, "isbn13: 9780201483406"), (2, "author: Kevin Kelly, Someone Else")]
    assert is_matter(chunk(TOML, line=2)) and not is_matter(chunk(TOML, line=9))
    assert matter_lines(TOML) == [(0, "title: Out of Control"), (1, "isbn: 9780201483406")]
    assert passage(chunk(MATTER, line=2), []) == "title: Out of Control · isbn13: 9780201483406 · author: Kevin Kelly, Someone Else"

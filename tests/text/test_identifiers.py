"""One name, many spellings; and whole names only."""

from __future__ import annotations

import pytest

from onebrain.text.identifiers import is_precise, numbered, part_of, spellings, stands

HASH = "07b26ea6671d6a0c6ae0cdd973402e93cf518799"


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("adr-13", "see ADR-0013."),
        ("adr-0013", "as ADR 13 says"),
        ("adr13", "(adr_013)"),
        ("pep-8", "PEP 0008, PEP8"),
        ("#123", "fixes #123"),
        ("#123", "https://example.org/pull/123"),
        ("#7", "Issue #0007"),
        ("3.2.0", "since v3.2.0"),
        ("v3.2.0", "In 3.2.0."),
        ("2.0", "moved to 2.0."),
        (HASH, f"https://example.org/commit/{HASH}"),
        ("07b26ea", HASH),
        ("snake_case", "`snake_case`"),
    ],
)
def test_a_name_stands_in_a_text_however_it_is_written(key: str, text: str) -> None:
    assert stands(key, text) and part_of(key) in text.casefold()


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("2.0", "v3.2.0"),
        ("2.0", "12.0"),
        ("2.0", "2.0.1"),
        ("v3.2.0", "3.2.01"),
        ("adr-1", "ADR-13"),
        ("adr-13", "ADR-0130"),
        ("adr-13", "madr-13"),
        ("#12", "#123"),
        ("#12", "12"),
        ("max_len", "max_length"),
        ("case_x", "snake_case_x"),
        (HASH, HASH[:-1]),
        ("26ea667", HASH),
    ],
)
def test_a_part_of_another_name_is_not_the_name(key: str, text: str) -> None:
    assert not stands(key, text)


def test_the_spellings_of_a_name_begin_with_the_one_that_was_asked_for() -> None:
    assert spellings("adr-0013")[0] == "adr-0013" and {"adr-13", "adr13", "adr_0013"} <= set(spellings("adr-0013"))
    assert set(spellings("3.2.0")) == set(spellings("v3.2.0")) == {"3.2.0", "v3.2.0"}
    assert spellings("snake_case") == ("snake_case",)


def test_only_a_kind_with_a_number_is_numbered() -> None:
    assert [numbered(key) for key in ("adr-0013", "pep8", "#007", "3.2.0", "2026-01-05", "a-1", "snake_case")] == [
        "adr-13", "pep-8", "#7", None, None, None, None,
    ]  # fmt: skip


def test_a_brand_is_not_precise() -> None:
    assert [is_precise(key) for key in ("dec-0054", "snake_case", HASH, "github", "node.js", "c++")] == [True] * 3 + [False] * 3

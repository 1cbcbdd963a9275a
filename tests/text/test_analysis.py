"""Terms: the same function for notes and questions, script by script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebrain.text.analysis import fold, groups, phrase, placed, raw_words, terms


def texts(text: str) -> list[str]:
    return [term.text for term in terms(text)]


@pytest.mark.parametrize(
    ("written", "found_by"),
    [
        ("DEC-0054", {"dec-0054", "dec", "54"}),
        ("snake_case", {"snake_case", "snake", "case"}),
        ("editTaskLineModal", {"edittasklinemodal", "edit", "task", "line", "modal"}),
        ("gpt-4", {"gpt-4", "gpt", "4"}),
        ("10.195.0.0/16", {"10.195.0.0/16", "195", "16"}),
        ("2026.4.10", {"2026.4.10", "2026", "4", "10"}),
        ("dv.io.csv", {"dv.io.csv", "csv"}),
        ("C++", {"c++"}),
        ("C#", {"c#"}),
        ("PX1125S-01", {"px1125s-01"}),
        ("NEW_TASK_FIELD", {"new_task_field", "task", "field"}),
    ],
)
def test_identifiers_are_kept_whole_and_in_parts(written: str, found_by: set[str]) -> None:
    assert found_by <= set(texts(f"see {written}, please"))


@pytest.mark.parametrize(
    ("text", "grams"),
    [
        ("สุขภาพ", ["สุ", "ุข", "ขภ", "ภา", "าพ"]),
        ("飛書", ["飛書"]),
        ("テスト", ["テス", "スト"]),
        ("京", ["京"]),
        ("한국어", ["한국", "국어"]),
        ("ຂ່າວ", ["ຂ່", "່າ", "າວ"]),
        ("မြန်မာ", ["မြ", "ြန", "န်", "်မ", "မာ"]),
        ("ខ្មែរ", ["ខ្", "្ម", "មែ", "ែរ"]),
    ],
)
def test_scripts_without_spaces_become_bigrams(text: str, grams: list[str]) -> None:
    assert texts(text) == grams


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ("running", "They run the queue."),
        ("Straße", "die STRASSE"),
        ("café", "the cafe"),
        ("cafe\u0301", "the café"),
        ("Entscheidungen", "Die Entscheidung ist nicht mehr die gleiche wie im Mai."),
        ("décisions", "La décision est dans les notes de la réunion."),
        ("решения", "Это решение было принято в мае."),
        ("كتاب", "الكتاب"),
        ("ADR-33", "ADR 0033"),
        ("ﬁle", "file"),
        ("ｑｕｅｕｅ", "queue"),
    ],
)
def test_a_word_is_found_in_its_other_forms(asked: str, written: str) -> None:
    found = set(texts(written))
    assert any(found & set(group.alternatives) for group in groups(asked)), (groups(asked), found)


def test_function_words_are_dropped_unless_nothing_else_is_left() -> None:
    assert [g.key for g in groups("why did we drop the queue")] == ["drop", "queue"]
    assert [g.key for g in groups("to be or not to be")] == ["to", "be", "or", "not"]
    assert [g.key for g in groups("Warum wurde die Warteschlange nicht ersetzt?")] == ["warteschlange", "ersetzt"]


def test_an_identifier_is_asked_for_whole_and_its_parts_are_no_loss() -> None:
    whole, *parts = groups("snake_case")
    assert (whole.key, whole.whole, whole.optional) == ("snake_case", True, False)
    assert all(part.optional and part.weight < whole.weight for part in parts)


def test_a_hyphenated_word_is_missed_by_its_parts_not_its_whole() -> None:
    found = {g.key: g for g in groups("self-hosted search")}
    assert found["self-hosted"].optional and not found["hosted"].optional


def test_positions_count_words_so_that_phrases_can_be_found() -> None:
    placed = [(t.text, t.position) for t in terms("use snake_case names")]
    assert placed == [("use", 0), ("snake_case", 1), ("snake", 1), ("case", 2), ("name", 3)]
    assert phrase("snake_case names") == ("snake", "case", "name")


def test_the_spelling_vocabulary_holds_words_as_written() -> None:
    spelt = [word for raw in raw_words("Breaking changes: สุขภาพ gpt-4 x") for word in placed(raw, "english")[2]]
    assert spelt == ["breaking", "changes", "gpt"]


@pytest.mark.parametrize("text", ["", " ", "-", '"', "*", "…", "🐘", "\u0000", "\ud83d"])
def test_text_without_words_has_no_terms(text: str) -> None:
    assert texts(text) == []


@given(st.text(max_size=300))
def test_any_text_gives_finite_terms_in_order(text: str) -> None:
    found = list(terms(text))
    assert all(term.text for term in found)
    assert [term.position for term in found] == sorted(term.position for term in found)
    assert list(terms(text)) == found


@given(st.text(alphabet=st.characters(categories=["Ll", "Lu", "Lo", "Nd"]), min_size=1, max_size=20))
def test_folding_twice_changes_nothing(word: str) -> None:
    assert fold(fold(word)) == fold(word)

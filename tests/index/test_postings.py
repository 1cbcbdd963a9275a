"""The codec's numbers and runs: whatever goes in comes out, in fewer bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebrain.index.lexical import ALIAS, BODY, HEADING, TAG, TITLE
from onebrain.index.postings import Postings, Run, number, numbers

posting = st.tuples(st.integers(1, 9000), st.integers(1, 500), st.lists(st.integers(0, 70_000), unique=True, max_size=6).map(sorted))


@pytest.mark.parametrize(
    ("value", "written"),
    [(0, b"\x00"), (127, b"\x7f"), (128, b"\x80\x01"), (4095, b"\xff\x1f"), (4096, b"\x80\x20"), (300_000, b"\xe0\xa7\x12")],
)
def test_a_number_takes_seven_bits_a_byte(value: int, written: bytes) -> None:
    assert number(value) == written and numbers(written).tolist() == [value]


@given(st.lists(st.integers(0, 2**40)))
def test_runs_of_numbers_are_read_back(values: list[int]) -> None:
    assert numbers(b"".join(map(number, values))).tolist() == values


@given(st.lists(posting, min_size=1, max_size=200))
def test_postings_are_read_back(given_: list[tuple[int, int, list[int]]]) -> None:
    run, doc = Run(), 0
    expected = []
    for gap, tenths, places in given_:
        doc += gap
        run.add(doc, tenths, places)
        expected.append((doc, tenths, places))
    found = Postings.of(run.packed())
    assert found.docs.tolist() == [doc for doc, _, _ in expected]
    assert [round(float(weight) * 10) for weight in found.weights] == [tenths for _, tenths, _ in expected]
    docs, where = found.places()
    assert list(zip(docs.tolist(), where.tolist(), strict=True)) == [(doc, place) for doc, _, places in expected for place in places]


@given(st.lists(posting, min_size=1, max_size=50))
def test_a_merge_hands_postings_on_unchanged(given_: list[tuple[int, int, list[int]]]) -> None:
    first, second, doc = Run(), Run(), 0
    for gap, tenths, places in given_:
        doc += gap
        first.add(doc, tenths, places)
    read = Postings.of(first.packed())
    for number_, weight, encoded in zip(read.docs.tolist(), read.weights.tolist(), read.each_places(), strict=True):
        second.add_encoded(number_, round(weight * 10), encoded)
    assert second.packed() == first.packed()


def test_weights_are_whole_tenths() -> None:
    assert all(isinstance(weight, int) for weight in (TITLE, ALIAS, HEADING, TAG, BODY)) and BODY == 10

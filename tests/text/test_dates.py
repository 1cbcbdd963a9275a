"""Days as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onebrain.text.dates import day_in_name, find_dates, first_day, keyed_day, order_of, parse_day


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2024-06-24", "2024-06-24"),
        ("2024-6-24", "2024-06-24"),
        ("2024/07/17", "2024-07-17"),
        ("26/03/2018", "2018-03-26"),
        ("03/15/2024", "2024-03-15"),
        ("05/02/2018", "2018-02-05"),
        ("10/04/18", "2018-04-10"),
        ("05.03.2024", "2024-03-05"),
        ("5. März 2024", "2024-03-05"),
        ("3 March 2024", "2024-03-03"),
        ("3rd March 2024", "2024-03-03"),
        ("21st of August, 2019", "2019-08-21"),
        ("March 3, 2024", "2024-03-03"),
        ("Sept. 9 2024", "2024-09-09"),
        ("12-Mar-2024", "2024-03-12"),
        ("12-Mar-24", "2024-03-12"),
        ("[[2026-04-19]]", "2026-04-19"),
        ("**2024-03-05**", "2024-03-05"),
        ("2024-03-05T10:20:30Z", "2024-03-05"),
        ("2021-10-01T02:00:00+02:00", "2021-10-01"),
        ("Tuesday, 5 March 2024", "2024-03-05"),
        ("le 1er février 2024", "2024-02-01"),
        ("5 de marzo de 2024", "2024-03-05"),
        ("5 de março de 2024", "2024-03-05"),
        ("5 marzo 2024", "2024-03-05"),
        ("5 марта 2024 г.", "2024-03-05"),
        ("2024年3月5日", "2024-03-05"),
        ("令和6年3月5日", "2024-03-05"),
        ("民國113年3月5日", "2024-03-05"),
        ("2024년 3월 5일", "2024-03-05"),
        ("2024. 3. 5.", "2024-03-05"),
        ("5 มีนาคม 2567", "2024-03-05"),
        ("5 มี.ค. 2567", "2024-03-05"),
        ("วันที่ 5 มีนาคม พ.ศ. 2567", "2024-03-05"),
        ("5/3/2567", "2024-03-05"),
        ("5 مارس 2024", "2024-03-05"),
        ("٥ مارس ٢٠٢٤", "2024-03-05"),
        ("ngày 5 tháng 3 năm 2024", "2024-03-05"),
    ],
)
def test_every_form_is_read(text: str, iso: str) -> None:
    assert parse_day(text) == iso
    assert [found.iso for found in find_dates(f"x: {text}, and more")] == [iso]


@pytest.mark.parametrize(
    "text",
    [
        "2024-13-45",
        "2024-02-30",
        "version 2026.4.10",
        "v1.2.2024",
        "10.1.0.0/16",
        "192.168.100.24",
        "2024.03.10",
        "1/2/3",
        "https://example.org/2017/12/13/post",
        "3.5",
        "12:30",
        "1.10",
        "March 2024",
        "2024",
        "ADR-0012",
        "12 Marching 2024",
        "0/0/2024",
        "",
        "555-01-2024-12",
        "a2024-01-02",
    ],
)
def test_what_is_no_day(text: str) -> None:
    assert find_dates(text) == []
    assert parse_day(text) is None


def test_a_cell_that_says_more_than_a_day_is_not_a_day() -> None:
    assert parse_day("2024-03-05 we met") is None
    assert first_day("2024-03-05 we met") == "2024-03-05"
    assert parse_day("5 March 2024 and 6 March 2024") is None


@pytest.mark.parametrize(("order", "iso"), [(None, "2018-02-05"), ("dmy", "2018-02-05"), ("mdy", "2018-05-02"), ("ymd", "2018-02-05")])
def test_the_order_decides_what_is_open(order: str | None, iso: str) -> None:
    (found,) = find_dates("on 05/02/2018", order)
    assert (found.iso, found.ambiguous) == (iso, True)


def test_a_day_over_twelve_is_never_open() -> None:
    (found,) = find_dates("26/03/2018", "mdy")
    assert (found.iso, found.ambiguous) == ("2018-03-26", False)


@pytest.mark.parametrize(
    ("texts", "order"),
    [
        (["Date: 26/03/2018"], "dmy"),
        (["3/26/2018", "1/2/2018"], "mdy"),
        (["05/02/2018", "10/04/18"], None),
        (["26/03/2018", "3/26/2018"], None),
        (["192.168.26.2018", "a/26/03/2018"], None),
    ],
)
def test_the_evidence_of_unambiguous_dates(texts: list[str], order: str | None) -> None:
    assert order_of(texts) == order


@pytest.mark.parametrize(
    ("stem", "iso"),
    [
        ("2024-03-05", "2024-03-05"),
        ("2026-04-22-b7e405-checkpoint-01", "2026-04-22"),
        ("20240305 Standup", "2024-03-05"),
        ("Notes 2024_03_05", "2024-03-05"),
        ("05-03-2024", "2024-03-05"),
        ("Meeting 3 March 2024", "2024-03-03"),
        ("2026-02-30-phone-notes", None),
        ("release v2024.03.05", None),
        ("0033-ip-ranges", None),
        ("12345678", None),
    ],
)
def test_file_names(stem: str, iso: str | None) -> None:
    assert day_in_name(stem) == iso


@pytest.mark.parametrize(
    ("value", "iso"),
    [
        ("1690000000000", "2023-07-22"),
        (" 1690000000 ", "2023-07-22"),
        ("2023-07-22T10:00", "2023-07-22"),
        ("9780306406157", None),  # an ISBN
        ("0306406152", None),
        ("16900000000", None),
        ("1690000000 or so", None),
    ],
)
def test_a_date_key_may_hold_a_time_stamp(value: str, iso: str | None) -> None:
    assert keyed_day(value) == iso


def test_places_are_exact_and_never_overlap() -> None:
    text = "From 3 March 2024 to 2024-04-01 (or 05/06/2024)."
    assert [text[found.start : found.end] for found in find_dates(text)] == ["3 March 2024", "2024-04-01", "05/06/2024"]


@settings(deadline=None)
@given(st.dates())
def test_iso_days_are_read_back(day) -> None:  # type: ignore[no-untyped-def]
    known = day.year < 2400 and day.year >= 1000
    assert parse_day(day.isoformat()) == (day.isoformat() if known else parse_day(day.isoformat()))


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_survived(text: str) -> None:
    for found in find_dates(text):
        assert 0 <= found.start < found.end <= len(text)

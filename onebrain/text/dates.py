"""Every form in which people write a day, read into ISO `YYYY-MM-DD`.

What must stay true: a version (`2026.4.10`), an IP address or part of a URL is never a day; a day that does not exist
(`2024-13-45`) is never made up; `05/02/2018` is marked ambiguous, and its reading depends on `order` alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime

DEFAULT_ORDER = "dmy"  # most of the world; used where neither the note nor the configuration tells


@dataclass(frozen=True, slots=True)
class Found:
    """A day in a text: `text[start:end]`. `ambiguous`: day and month could be swapped, and `order` decided."""

    iso: str
    start: int
    end: int
    ambiguous: bool


_MONTHS = """
jan january januar jänner janvier enero janeiro gennaio ene januari stycznia styczeń ocak январь января янв ม.ค. มกราคม يناير
feb february februar février févr fevrier febrero fevereiro fev febbraio februari lutego luty şubat февраль февраля фев ก.พ. กุมภาพันธ์ فبراير
mar march märz mär maerz mars marzo março marco maart maret marca marzec mart март марта มี.ค. มีนาคม مارس
apr april avril avr abril abr aprile kwietnia kwiecień nisan апрель апреля апр เม.ย. เมษายน أبريل ابريل
may mai mayo maio maggio mag mei maja maj mayıs май мая พ.ค. พฤษภาคม مايو
jun june juni juin junio junho giugno giu czerwca czerwiec haziran июнь июня июн มิ.ย. มิถุนายน يونيو
jul july juli juillet juil julio julho luglio lug lipca lipiec temmuz июль июля июл ก.ค. กรกฎาคม يوليو
aug august août aout agosto ago augustus agustus sierpnia sierpień ağustos август августа авг ส.ค. สิงหาคม أغسطس اغسطس
sep sept september septembre septiembre setembro set settembre września wrzesień eylül сентябрь сентября сен ก.ย. กันยายน سبتمبر
oct october oktober okt octobre octubre outubro out ottobre ott października październik ekim октябрь октября окт ต.ค. ตุลาคม أكتوبر اكتوبر
nov november novembre noviembre novembro listopada listopad kasım ноябрь ноября ноя พ.ย. พฤศจิกายน نوفمبر
dec december dezember dez décembre déc decembre diciembre dic dezembro dicembre desember grudnia grudzień aralık декабрь декабря дек ธ.ค.
""".strip().splitlines()
_MONTHS[11] += " ธันวาคม ديسمبر"


def _fold(word: str) -> str:
    return unicodedata.normalize("NFC", word).casefold()


_MONTH = {_fold(name): number for number, line in enumerate(_MONTHS, 1) for name in line.split()}
_NAMES = "|".join(re.escape(name) for name in sorted(_MONTH, key=len, reverse=True))
_ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925, "民國": 1911, "民国": 1911, "中華民國": 1911}

# A day's own edges: no digit, letter or further part may touch it, else it is a version, an address or an identifier.
_LEFT = r"(?<![\w.:])(?<!\d[-/])"
_RIGHT = r"(?![\w%]|[-/.:]\d)"
_YMD = re.compile(_LEFT + r"(?P<y>\d{4})(?P<s>[-/]|\.\s)(?P<m>\d{1,2})(?P=s)(?P<d>\d{1,2})(?!\d|[/.]\d|%)(?![a-su-z])", re.IGNORECASE)
_NUMERIC = re.compile(_LEFT + r"(?P<a>\d{1,2})(?P<s>[-/.])(?P<b>\d{1,2})(?P=s)(?P<y>\d{4}|(?<=/)\d{2})" + _RIGHT)
_TELLING = re.compile(r"(?P<a>[0-9]{1,2})(?P<s>[-/])(?P<b>[0-9]{1,2})(?P=s)(?P<y>[0-9]{4}|(?<=/)[0-9]{2})" + _RIGHT)  # no look-behind: fast
_SHORT = re.compile(r"(?P<a>\d{2})(?P<s>[-.])(?P<b>\d{2})(?P=s)(?P<y>\d{2})")
_NAMED_DMY = re.compile(
    r"(?<![\w.,/:])(?P<d>\d{1,2})(?:st|nd|rd|th|er|[.ºª])?[\s\-/]*(?:of\s+|de\s+|d['’]\s*)?"
    rf"(?P<n>{_NAMES})(?![^\W\d_])\.?,?[\s\-/]*(?:(?:de|del|do)\s+|พ\.?ศ\.?\s*|ค\.?ศ\.?\s*|['’])?(?P<y>\d{{4}}|\d{{2}}(?=\s|$|[,;.)|]))(?!\w)",
    re.IGNORECASE,
)
_NAMED_MDY = re.compile(
    rf"(?<![^\W\d_])(?P<n>{_NAMES})(?![^\W\d_])\.?[\s\-]+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?:\s*,\s*|\s+)(?P<y>\d{{4}})(?!\w)", re.IGNORECASE
)
_NAMED_YMD = re.compile(rf"(?<![\w.])(?P<y>\d{{4}})[\s\-,]+(?P<n>{_NAMES})(?![^\W\d_])\.?[\s\-]+(?P<d>\d{{1,2}})(?!\w)", re.IGNORECASE)
_HAN = re.compile(
    r"(?P<e>令和|平成|昭和|(?:中華)?民[國国])?\s*(?P<y>\d{1,4}|元)\s*[年년]\s*(?P<m>\d{1,2})\s*[月월]\s*(?P<d>\d{1,2})\s*[日号號일]"
)
_VIETNAMESE = re.compile(r"(?P<d>\d{1,2})\s+tháng\s+(?P<m>\d{1,2})[,\s]+(?:năm\s+)?(?P<y>\d{4})(?!\w)", re.IGNORECASE)
_URL = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s<>)\]]+", re.IGNORECASE)
_EPOCH = re.compile(r"([1-3][0-9]{9})(?:[0-9]{3})?")  # from 2001 to 2096
_DIGIT = re.compile(r"\d")
_COMPACT = re.compile(r"(?<!\d)(?P<y>(?:19|20)\d\d)(?P<s>[-_.]?)(?P<m>[01]\d)(?P=s)(?P<d>[0-3]\d)(?!\d)")
_NAME_DMY = re.compile(r"(?<!\d)(?P<d>[0-3]?\d)[-_.](?P<m>[01]?\d)[-_.](?P<y>(?:19|20)\d\d)(?!\d)")


def find_dates(text: str, order: str | None = None) -> list[Found]:
    """All days in `text`, from left to right, never overlapping. `order` (`dmy`, `mdy`, `ymd`) decides what the text leaves open."""
    if not _DIGIT.search(text):
        return []
    urls = [match.span() for match in _URL.finditer(text)] if "://" in text else []
    found: list[Found] = []
    for start, end, iso, ambiguous in sorted(_candidates(text, order or DEFAULT_ORDER), key=lambda c: (c[0], -c[1])):
        free = not found or start >= found[-1].end
        if free and not any(a <= start < b for a, b in urls):
            found.append(Found(iso, start, end, ambiguous))
    return found


def first_day(text: str, order: str | None = None) -> str | None:
    """The first day in `text`, or None."""
    found = find_dates(text, order)
    return found[0].iso if found else None


def keyed_day(value: str, order: str | None = None) -> str | None:
    """The day that the value of a date key (`created:`) gives: its first, or that of a time stamp as Dendron writes it, in seconds or
    milliseconds since 1970 (UTC)."""
    stamp = _EPOCH.fullmatch(value.strip())
    return datetime.fromtimestamp(int(stamp[1]), UTC).date().isoformat() if stamp else first_day(value, order)


def parse_day(text: str, order: str | None = None) -> str | None:
    """The day `text` as a whole stands for (`[[2026-04-19]]`, `**3 March 2024**`, `2024-03-05T10:00`), or None if it says anything else."""
    bare = re.sub(r"^[\s\[\]*_`\"'<(~]+|[\s\[\]*_`\"'>)~,;.]+$", "", text)
    if match := _SHORT.fullmatch(bare):
        return _numeric(match, order or DEFAULT_ORDER)[0]
    found = find_dates(bare, order)
    if not found:
        return None
    rest = bare[: found[0].start] + bare[found[0].end :]
    rest = re.sub(r"T?\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?\s*(?:Z|[ap]m|utc|[+-]\d{2}:?\d{2}|\[[\w/]+\])?", "", rest, flags=re.IGNORECASE)
    return None if re.search(r"[^\W_]", _FILLER.sub("", _WEEKDAY.sub("", rest))) else found[0].iso


_WEEKDAY = re.compile(
    r"\b(?:mon|tue|wed|thu|fri|sat|sun|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|lundi|mardi|mercredi|jeudi|vendredi|"
    r"samedi|dimanche|lunes|martes|mi[ée]rcoles|jueves|viernes|s[áa]bado|domingo)(?:day|s|nes|rs|ur|es)*(?:day)?\b|[（(]?[月火水木金土日]曜?日?[)）]?",
    re.IGNORECASE,
)


def is_weekday(text: str) -> bool:
    """Whether a text is the name of a weekday and no more."""
    return bool(_WEEKDAY.fullmatch(text))


_FILLER = re.compile(r"\b(?:le|am|den|el|il|on|the|as of|г|года|ngày)\b|วันที่|(?:พ|ค)\.ศ\.?", re.IGNORECASE)


def day_in_name(stem: str) -> str | None:
    """The day in a file name without its suffix: `2024-03-05-session-01`, `20240305 Standup`, `Notes 2024_03_05`, `05-03-2024`."""
    for match in _COMPACT.finditer(stem):
        iso = _iso(int(match["y"]), int(match["m"]), int(match["d"]))
        if iso and (match["s"] != "." or not stem[: match.start()].rstrip().lower().endswith(("v", "version"))):
            return iso
    if day_first := _NAME_DMY.search(stem):
        return _iso(int(day_first["y"]), int(day_first["m"]), int(day_first["d"]))
    return first_day(stem.replace("_", " "))


def order_of(texts: Iterable[str]) -> str | None:
    """`dmy` or `mdy`, whichever the unambiguous numeric dates of `texts` show more often; None where they don't tell."""
    dmy = mdy = 0
    for text in texts:
        for match in _TELLING.finditer(text):
            if match.start() and (text[match.start() - 1].isalnum() or text[match.start() - 1] in "_.:/-"):
                continue
            a, b, year = int(match["a"]), int(match["b"]), _year(match["y"])
            dmy += _iso(year, b, a) is not None and a > 12
            mdy += _iso(year, a, b) is not None and b > 12
    return None if dmy == mdy else "dmy" if dmy > mdy else "mdy"


def _candidates(text: str, order: str) -> list[tuple[int, int, str, bool]]:
    out: list[tuple[int, int, str, bool]] = []
    for match in _YMD.finditer(text):
        _keep(out, match, _iso(int(match["y"]), int(match["m"]), int(match["d"])))
    for match in _NUMERIC.finditer(text):
        iso, ambiguous = _numeric(match, order)
        _keep(out, match, iso, ambiguous)
    if "年" in text or "년" in text:
        for match in _HAN.finditer(text):
            year = 1 if match["y"] == "元" else int(match["y"])
            year += _ERAS.get(match["e"] or "", 0)
            _keep(out, match, _iso(year, int(match["m"]), int(match["d"])))
    if "tháng" in text:
        for match in _VIETNAMESE.finditer(text):
            _keep(out, match, _iso(int(match["y"]), int(match["m"]), int(match["d"])))
    for pattern in (_NAMED_DMY, _NAMED_MDY, _NAMED_YMD):
        for match in pattern.finditer(text):
            _keep(out, match, _iso(_year(match["y"]), _MONTH[_fold(match["n"])], int(match["d"])))
    return out


def _keep(out: list[tuple[int, int, str, bool]], match: re.Match[str], iso: str | None, ambiguous: bool = False) -> None:
    if iso:
        out.append((match.start(), match.end(), iso, ambiguous))


def _numeric(match: re.Match[str], order: str) -> tuple[str | None, bool]:
    a, b, year = int(match["a"]), int(match["b"]), _year(match["y"])
    if order == "ymd" and len(match["y"]) == 2 and (iso := _iso(_year(match["a"]), b, int(match["y"]))):
        return iso, True
    day_first, month_first = _iso(year, b, a), _iso(year, a, b)
    if match["s"] == ".":  # dots are written day first everywhere
        return day_first, False
    if day_first and month_first and a != b:
        return (month_first if order == "mdy" else day_first), True
    return day_first or month_first, False


def _year(digits: str) -> int:
    year = int(digits)
    return year if len(digits) == 4 else year + (2000 if year < 70 else 1900)


def _iso(year: int, month: int, day: int) -> str | None:
    if 2443 <= year <= 2643:  # the Buddhist era
        year -= 543
    if not 1000 <= year <= 2400:
        return None
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None

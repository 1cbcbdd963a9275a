"""Text that is safe and fits: what a note says must neither drive a terminal nor break a line of output."""

from __future__ import annotations

import re
from dataclasses import dataclass

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""C0 but for tab and line feed, C1, and the marks that reorder what is read (Trojan Source)."""
_NO_UTF8 = re.compile("[\ud800-\udfff]")
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Style:
    """How wide the reader's screen is, None when the output goes elsewhere, and whether it shows colour."""

    width: int | None = None
    colour: bool = False

    def bold(self, text: str) -> str:
        return f"\x1b[1m{text}\x1b[0m" if self.colour and text else text

    def dim(self, text: str) -> str:
        return f"\x1b[2m{text}\x1b[0m" if self.colour and text else text


def clean(text: str) -> str:
    """`text` without control characters; bytes of a name that were no UTF-8 show as �. Line feeds and tabs stay."""
    return _NO_UTF8.sub("\ufffd", _CONTROLS.sub("", text))


def one_line(text: str) -> str:
    return clean(_BLANKS.sub(" ", text)).strip()


def clip(text: str, cells: int) -> str:
    """The beginning of `text` that fits `cells` columns (East Asian letters take two), cut at a word where one ends near."""
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) <= cells:
        return text
    cut = set_cell_size(text, max(cells - 1, 0)).rstrip()
    blank = cut.rfind(" ")
    return (cut[:blank] if blank > len(cut) * 2 // 3 else cut) + "…"

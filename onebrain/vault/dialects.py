"""What a note's tool keeps in it that is none of its text: the drawing of an Excalidraw note, the properties and macros of Logseq.

Lines are rewritten one for one, so that every place in the file stays where it is. What a note of neither tool holds stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from onebrain.vault import frontmatter
from onebrain.vault.frontmatter import Frontmatter

_BANNER = "Switch to EXCALIDRAW VIEW"
_PART = re.compile(r"#{1,2} (Excalidraw Data|Text Elements|Element Links|Embedded Files|Drawing)\s*$", re.IGNORECASE)
_KEPT_FILE = re.compile(r"[\w-]+:\s*(?P<link>\[\[.*\]\])?(?P<equation>\$\$.*)?")


def read(text: str) -> tuple[Frontmatter, list[str]]:
    """The frontmatter of a note (line ends `\\n`), and the lines of its body as its tool shows them."""
    front = frontmatter.read(text)
    body = text.split("\n")[front.body_line - 1 :]
    if front.find("excalidraw-plugin")[0]:
        body = list(_drawing(body))
    return front, body


def _drawing(lines: Sequence[str]) -> Iterator[str]:
    """The text elements of a drawing and what its author wrote beside it. A picture or a note in the drawing is an embed."""
    part = ""
    for line in lines:
        if match := _PART.match(line):
            part = match[1].casefold()
        elif line.startswith("# "):
            part = ""
        if match or part == "drawing" or line.strip() == "%%" or _BANNER in line:
            yield ""
        elif part in ("element links", "embedded files") and (kept := _KEPT_FILE.match(line)):
            yield f"!{kept['link']}" if kept["link"] else kept["equation"] or ""
        else:
            yield line

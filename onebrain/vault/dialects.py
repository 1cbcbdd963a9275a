"""What a note's tool keeps in it that is none of its text: the drawing of an Excalidraw note, the properties and macros of Logseq.

Lines are rewritten one for one, so that every place in the file stays where it is. What a note of neither tool holds stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from onebrain.vault import frontmatter
from onebrain.vault.frontmatter import Frontmatter
from onebrain.vault.note import Value

_BANNER = "Switch to EXCALIDRAW VIEW"
_PART = re.compile(r"#{1,2} (Excalidraw Data|Text Elements|Element Links|Embedded Files|Drawing)\s*$", re.IGNORECASE)
_FENCE = re.compile(r"[ \t]*(?:[-+*][ \t]+)?(`{3,}(?=[^`]*$)|~{3,})")
_LEAD = re.compile(r"[ \t]*(?:[-+*][ \t]*)?(?:(?:TODO|DONE)[ \t]*)?")
_PROPERTY = re.compile(r"[ \t]*(?P<first>[-+*][ \t]+)?(?P<key>[^\W\d_][\w./-]*)::[ \t]+(?P<value>\S.*)")
_LISTED = re.compile(r"#?\[\[(?P<page>[^\[\]]+)\]\]|#(?P<tag>[^\s,]+)|(?P<words>[^\s,#\[][^,#\[]*)")
_ABOUT_FILE = {"title", "tags", "tag", "alias", "aliases", "type", "icon", "public", "created", "createdat", "updated", "updatedat", "id"}
_OUTLINE_SIGNS = ("::", "((", "{{", "SCHEDULED:", "DEADLINE:", "CLOSED:", ":LOGBOOK:", ":PROPERTIES:")
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_OWN_PROPERTY = re.compile(
    rf"[ \t]*(?:[-+*][ \t]+)?(?:id::[ \t]+{_UUID}|(?:collapsed|heading|exclude-from-graph-view)::[ \t]+(?:true|false|\d)"
    r"|(?:logseq\.[\w.-]+|background-color|ls-type|(?:query|card|hl)-[\w-]+|(?:created|updated)-at)::.*)[ \t]*$"
)
_PLANNED = re.compile(r"[ \t]*(?<!\w)(?:SCHEDULED|DEADLINE|CLOSED):[ \t]*(?:<\d{4}-\d\d-\d\d[^<>]*>|\[\d{4}-\d\d-\d\d[^\[\]]*\])")
_EMBED = re.compile(r"\{\{embed[ \t]+(\[\[[^\[\]]+\]\])[ \t]*\}\}")
_MACRO = re.compile(r"\{\{(?:embed|query|renderer|video|youtube|youtube-timestamp|tweet|twitter|namespace|function)[ \t]+[^{}]*\}\}")
_LABELLED = re.compile(rf"\[([^\[\]]*)\]\(\(\({_UUID}\)\)\)")
_BLOCK = re.compile(rf"[ \t]?\(\({_UUID}\)\)")
_DRAWER_LINES = 50
_KEPT_FILE = re.compile(r"[\w-]+:\s*(?P<link>\[\[.*\]\])?(?P<equation>\$\$.*)?")


def read(text: str) -> tuple[Frontmatter, list[str]]:
    """The frontmatter of a note (line ends `\\n`), and the lines of its body as its tool shows them."""
    front = frontmatter.read(text)
    body = text.split("\n")[front.body_line - 1 :]
    if front.find("excalidraw-plugin")[0]:
        body = list(_drawing(body))
    if any(sign in text for sign in _OUTLINE_SIGNS):
        if front.body_line == 1 and not front.problems:
            front, body = _page(body)
        body = _outline(body)
    return front, body


def _page(lines: list[str]) -> tuple[Frontmatter, list[str]]:
    """The properties of a Logseq page, which are its first lines or its first block, as frontmatter. Those that tell of the file are none
    of the text that is left."""
    values: dict[str, Value] = {}
    where: dict[str, int] = {}
    left = [*lines]
    for number, line in enumerate(lines):
        match = _PROPERTY.match(line)
        if match is None or (number and match["first"]):
            break
        key = frontmatter.normal(match["key"])
        listed = [(item["page"] or item["tag"] or item["words"]).strip() for item in _LISTED.finditer(match["value"])]
        values[match["key"]] = [*listed] if key in ("tags", "tag", "alias", "aliases") else match["value"].strip()
        where[match["key"]] = number + 1
        if key in _ABOUT_FILE:
            left[number] = ""
    return Frontmatter(values, where, keys={frontmatter.normal(key): key for key in values}), left


def _outline(lines: Sequence[str]) -> list[str]:
    """The lines of a note without what Logseq (and org-mode) hides or replaces: its own properties, drawers, planned days, references to
    blocks, queries. An embedded page is an embed."""
    shown = [*lines]
    fence, hidden = "", 0
    for number, line in enumerate(lines):
        if number < hidden:
            shown[number] = ""
        elif fence:
            fence = "" if line.strip().startswith(fence) and not line.strip().strip(fence[0]) else fence
        elif match := _FENCE.match(line):
            fence = match[1]
        elif _OWN_PROPERTY.match(line):
            shown[number] = ""
        elif line.strip().upper() in (":LOGBOOK:", ":PROPERTIES:"):
            within = range(number, min(number + _DRAWER_LINES, len(lines)))
            hidden = next((at + 1 for at in within if lines[at].strip().upper() == ":END:"), 0)
            shown[number] = "" if hidden else line
        elif "((" in line or "{{" in line or ": " in line:
            shown[number] = _without_macros(line)
    return shown


def _without_macros(line: str) -> str:
    text = _PLANNED.sub("", _LABELLED.sub(r"\1", _EMBED.sub(r"!\1", line)))
    text = _BLOCK.sub("", _MACRO.sub("", text))
    return line if text == line else "" if _LEAD.fullmatch(text) else text.rstrip()


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

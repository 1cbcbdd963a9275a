"""Markdown marks off, words on: the text that a reader of the rendered note sees. Obsidian's, Dataview's and RST's marks too, and those
of site generators: Hugo's shortcodes, Liquid's tags, the admonitions of MkDocs and Docusaurus."""

from __future__ import annotations

import html
import re

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069]")
_COMMENT = re.compile(r"<!--.*?-->|\{/\*.*?\*/\}", re.DOTALL)
_ASIDE = re.compile(r"%%.*?%%", re.DOTALL)  # Obsidian's comment; `%%time` in code is none
# `{{< figure … >}}`, `{{% notice %}}`, `{% include … %}`; `{{</* figure */>}}` shows a shortcode and is none.
SHORTCODE = r"\{\{[<%](?!/\*)(?:(?![%>]\}\}).){0,500}[%>]\}\}|\{%(?:(?!%\}).){0,500}%\}"
_SHORTCODE = re.compile(SHORTCODE, re.DOTALL)
_REFERENCE = re.compile(
    r"""\{\{[<%]-?[ \t]*(?:rel)?ref[ \t]+(?:path=)?["'`]?(?P<hugo>[^"'`\s{}]+)["'`]?[^{}]*[>%]\}\}"""
    r"|(?:\{\{[ \t]*site\.baseurl[ \t]*\}\})?\{%-?[ \t]*(?:link|post_url)[ \t]+(?P<jekyll>[^\s%{}]+)[ \t]*-?%\}"
)
_CAPTION = re.compile(r'\b(?:caption|title|alt)="((?:[^"\\]|\\.)*)"')
ADMONITION = re.compile(
    r"^[ \t>]*(?:(?:!{3}|\?{3}\+?)[ \t]+[A-Za-z][\w-]*(?:[ \t]+[\w-]+)*[ \t]*(?:\"(?P<mkdocs>[^\"]*)\")?|={3}[!+]?[ \t]+\"(?P<tab>[^\"]*)\""
    r"|:{3,}[ \t]*(?:\{[^{}]*\}|[\w-]+)?(?:\[(?P<docusaurus>[^\]]*)\]|[ \t]+(?P<vuepress>[^{}\n]*?))?(?:\{[^{}]*\})?)[ \t]*$"
)
_CODE_BLOCK = re.compile(
    r"^[ \t]*(?:(?P<tag>\{\{[<%]|\{%)-?[ \t]*(?P<name>highlight|mermaid|comment)\b|#\+begin_(?P<org>src|example|export|comment)\b)",
    re.IGNORECASE,
)
OPEN_TASK = r"(?:TODO|DOING|NOW|LATER|WAIT(?:ING)?|IN-PROGRESS)(?=[ \t]+[^\s:])"  # Logseq's `[ ]`, at the start of an item
_TASK = rf"(?:\[.\]|{OPEN_TASK}|(?:DONE|CANCELL?ED)(?=[ \t]+[^\s:]))[ \t]+(?:\[#[A-C]\][ \t]+)?"
LEAD = re.compile(
    rf"^[ \t]*(?:>(?!\}}\}})[ \t]?)*[ \t]*(?:#{{1,6}}[ \t]+|(?:[-+*]|\d{{1,9}}[.)])[ \t]+(?:{_TASK})?)?(?:\[!\w[\w-]*\][-+]?[ \t]*)?"
)
QUOTE_LEAD = re.compile(r"^[ \t]*(?:>(?!\}\})[ \t]?)+(?:\[!\w[\w-]*\][-+]?[ \t]*)?")
BLOCK_ID = re.compile(r"(?:^|[ \t])\^(?P<id>[A-Za-z0-9-]+)[ \t]*$")  # what other notes name a paragraph by; no word of it
TAG_NAME = r"[^\s!-,.:-@\[-^`{-~\u2000-\u200a\u2010-\u2027\u2030-\u205e\u3000-\u303f\uff00-\uff20]+"
TAG_OF_WORDS = r"#[\w/&'’-]+(?: [\w/&'’-]+){1,5}(?<! [CFJ])#(?![\w#])"  # Bear's `#two words#`; `#dotnet and C#` is none
_FOOTNOTE = re.compile(r"^\[\^[^\]\s]+\]:[ \t]*|\[\^[^\]\s]+\]|[ ]?\[(?:\d{1,3}|#[\w-]*|[a-z])\]_")
_ROLE = re.compile(r":([a-z][\w+.-]*(?::[a-z][\w+.-]*)?):`([^`]+)`")
_RST_LINK = re.compile(r"`([^`<]+?)\s*<[^`>]+>`__?")
_RST_NAME = re.compile(r"(?<!`)`(?=\S)([^`\n]+)(?<=\S)`__?(?![\w`])")
_CODE = re.compile(r"(`{1,3})(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_IMAGE = re.compile(r"!\[((?:[^\[\]\\]|\\.)*)\]\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+[\"'][^\"']*[\"'])?\)")
_WIKI = re.compile(r"!?\[\[([^\[\]]+)\]\]")
_LINK = re.compile(
    r"\[((?:[^\[\]\\]|\\.)*)\](?:\((?:<[^<>]*>|[^()\s]*(?:\([^()]*\)[^()\s]*)*)(?:\s+[\"'(][^\"']*[\"')])?\s*\)|\[[^\[\]]*\])"
)
_AUTOLINK = re.compile(r"<((?:https?|ftp|mailto):[^\s<>]+|[^\s<>@]+@[^\s<>]+)>")
_FIELD_MARK = re.compile(r"[\[(]([^\[\]():]{1,40})::[ ]?([^\[\]()]*)[\])]|(?<![:\w])(\w[\w -]{0,39})::(?=[ ])")
_TAG = re.compile(r"<br\s*/?>|</?[a-zA-Z][a-zA-Z0-9-]*(?:\s+[^<>]*)?/?>")
_STRONG = re.compile(r"(\*{1,3}|(?<!\w)_{1,3}|~~|==)(?=\S)(.+?)(?<=\S)\1(?!\w)|(?<!\d)(\*{1,3}|~~|==)(?=\S)(.+?)(?<=\S)\3", re.DOTALL)
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+\-.!|~<>=:\"'$&%^/@,;?])")
HARD_BREAK = re.compile(r"(?<!\\)((?:\\\\)*)\\(?=\n[ \t]*\S)")  # a backslash at the end of a line that another follows
_SPACE = re.compile(r"\s+")
_MARKED = re.compile(r"[^\w ,.()'’\"/!?;–—-]|_|  |^ *[\d+-]|!!!|\?\?\?")  # anything that may be a mark; most headings and cells have none
_HOLD = re.compile("\ue000(\\d+)\ue001")


def plain(markdown: str, *, inline: bool = False) -> str:
    """`markdown` as one line of plain text: the words a reader of the rendered note sees, in order.

    `inline`: the text is a part of a line (a title, a cell, a sentence), so that `3. March` begins with a number, not a list.
    """
    if not _MARKED.search(markdown):
        return markdown.strip()
    text = _COMMENT.sub(" ", markdown) if "<!--" in markdown or "{/*" in markdown else markdown
    text = HARD_BREAK.sub(r"\1 ", text) if "\\\n" in text else text
    lines = text.split("\n")
    if not all(line.isprintable() for line in lines) or "\ue000" in text or "\ue001" in text:
        lines = [CONTROL.sub("", line).replace("\ue000", "").replace("\ue001", "") for line in lines]
    if not inline:
        lines = [LEAD.sub("", _unfenced(line), count=1) for line in lines]
    text = "\n".join(BLOCK_ID.sub("", line) if "^" in line else line for line in lines)
    held: list[str] = []

    def hold(words: str) -> str:
        held.append(words)
        return f"\ue000{len(held) - 1}\ue001"

    if "`" in text:
        text = _ROLE.sub(lambda match: hold(_role(match[1], match[2])), text)
        text = _RST_LINK.sub(lambda match: hold(match[1]), text)
        text = _RST_NAME.sub(lambda match: hold(match[1]), text) if "`_" in text else text
        text = _CODE.sub(lambda match: hold(match[2].strip() if match[2].strip() else match[2]), text)
    text = _ASIDE.sub(" ", text) if "%%" in text else text
    if "{{" in text or "{%" in text:
        text = _SHORTCODE.sub(_caption, referenced(text))
    text = _ESCAPE.sub(lambda match: hold(match[1]), text) if "\\" in text else text
    text = _unlinked(_FOOTNOTE.sub("", text)) if "[" in text else text
    if "::" in text:
        text = _FIELD_MARK.sub(lambda match: f"{match[1] or match[3]}: {match[2] or ''}".rstrip(), text)
    if "<" in text:
        text = _TAG.sub(lambda match: " " if match[0][1:3].lower() == "br" else "", _AUTOLINK.sub(lambda match: hold(match[1]), text))
    for _ in range(3 if "*" in text or "_" in text or "~~" in text or "==" in text else 0):  # emphasis nests
        text, count = _STRONG.subn(lambda match: match[2] or match[4], text)
        if not count:
            break
    text = html.unescape(text) if "&" in text else text
    for _ in range(2 if held else 0):
        text = _HOLD.sub(lambda match: held[int(match[1])], text)
    return _SPACE.sub(" ", text).strip()


def referenced(text: str) -> str:
    """`text` with the target itself where a generator's reference stands: `[x]({{< relref "x.md" >}})` becomes `[x](x.md)`."""
    return _REFERENCE.sub(lambda match: match["hugo"] or match["jekyll"], text) if "{" in text else text


def code_block_end(line: str) -> str | None:
    """What the last line of a block holds (in lower case) that `line` opens and that is code to its reader, or not shown: Hugo's and
    Liquid's `highlight`, org's `#+begin_src`; None where it opens none."""
    match = _CODE_BLOCK.match(line)
    if match is None:
        return None
    if match["org"]:
        return f"#+end_{match['org'].lower()}"
    return f"{'end' if match['tag'] == '{%' else '/'}{match['name'].lower()}"


def _caption(match: re.Match[str]) -> str:
    found = _CAPTION.search(match[0])
    return found[1].replace('\\"', '"') if found else " "


def _unfenced(line: str) -> str:
    """The title of an admonition, without its marks."""
    match = ADMONITION.match(line) if line.lstrip("> \t")[:3] in ("!!!", "???", "===", ":::") else None
    return next((title for title in match.groups() if title), "") if match else line


def _unlinked(text: str) -> str:
    text = _IMAGE.sub(lambda match: match[1], text)
    text = _WIKI.sub(_wiki_words, text)
    for _ in range(2):  # a linked image is a link in a link
        text = _LINK.sub(lambda match: match[1], text)
    return text


def _wiki_words(match: re.Match[str]) -> str:
    target, _, alias = match[1].replace("\\|", "|").partition("|")
    if alias.strip() and not re.fullmatch(r"[\dx]+", alias):
        return alias.strip()
    name, _, place = target.partition("#")
    return " > ".join(part.strip() for part in (name.rsplit("/", 1)[-1], place.lstrip("^")) if part.strip())


def _role(role: str, content: str) -> str:
    words = re.sub(r"\s*<[^>]*>$", "", content).lstrip("~!")
    return f"{role.upper()} {words}" if role in ("pep", "rfc") and words[:1].isdigit() else words

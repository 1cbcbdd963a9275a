"""A note as HTML that is safe to show, with the cited passage marked.

What must stay true: nothing a note contains can run, load or call anything. HTML in a note is shown as the text it is (markdown-it
passes none through), what markdown-it writes is sanitised once more by nh3, images are named and never fetched, and links lead to
notes of this vault or visibly out of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from onebrain.text.marks import BLOCK_ID, referenced
from onebrain.vault import blocks, dialects

Resolve = Callable[[str], str | None]
"""A link target as written → the vault path it means, or None."""

_CALLOUT = re.compile(r"^\[!([\w-]+)\][+-]?[ \t]*")
_WIKILINK = re.compile(r"!?\[\[([^\[\]\n]+)\]\]")
_TASK = re.compile(r"^\[([ xX])\][ \t]+")
_OUTSIDE = re.compile(r"^(?:https?:|mailto:|//)", re.IGNORECASE)
_HIT = "hit"
_CALLOUTS = {"warning", "danger", "error", "caution", "attention", "bug", "failure", "fail", "missing"}

_TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s", "span",
    "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_CLASSES = {_HIT, "callout", "callout-title", "callout-strong", "dead", "image", "note-link", "done", "task", "out"}


def to_html(text: str, *, first: int = 0, last: int = 0, title: str | None = None, resolve: Resolve = lambda _: None) -> str:
    """The body of a note. Blocks that overlap the 1-based file lines `first`..`last` carry the class `hit`. `text` has `\\n` line ends.

    A first heading that only repeats `title` is left out: the page shows it already.
    """
    front, lines = dialects.read(text)
    skipped = front.body_line - 1
    body = "\n".join(blocks.layout(lines, 1).lines)
    markdown = _markdown()
    env: MutableMapping[str, Any] = {"resolve": resolve}
    tokens = markdown.parse(referenced(body), env)
    if len(tokens) > 2 and tokens[0].tag == "h1" and tokens[1].content.strip() == title:
        del tokens[:3]
    if last >= first > 0:
        _mark(tokens, first - skipped, last - skipped)
    for opening, token in zip(["", *(token.type for token in tokens)], tokens, strict=False):
        if token.type == "inline":
            if opening == "heading_open" and token.children and token.children[-1].type == "text":
                token.children[-1].content = blocks.named(token.children[-1].content)[0]
            _rewrite_links(token.children or [], resolve)
    _callouts(tokens)
    _tasks(tokens)
    return clean(markdown.renderer.render(tokens, markdown.options, env))


def clean(html: str) -> str:
    return nh3.clean(
        html,
        tags=_TAGS,
        attributes={"a": {"href", "title"}, "ol": {"start"}, "td": {"align"}, "th": {"align"}},
        allowed_classes={tag: _CLASSES for tag in _TAGS},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )


def note_url(path: str, first: int | None = None, last: int | None = None, place: str = "") -> str:
    """`place`: what a link has behind `#`."""
    if place:
        return f"/note?path={quote(path, safe='', errors='surrogateescape')}&at={quote(place, safe='')}"
    lines = f"&line={first}" + (f"&end={last}" if last and last != first else "") if first else ""
    return f"/note?path={quote(path, safe='', errors='surrogateescape')}{lines}"


def _markdown() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False, "linkify": False, "maxNesting": 20}).enable(["table", "strikethrough"])
    markdown.inline.ruler.before("link", "wikilink", _wikilink)
    markdown.add_render_rule("image", _image)
    return markdown


def _wikilink(state: StateInline, silent: bool) -> bool:
    match = _WIKILINK.match(state.src, state.pos)
    if match is None:
        return False
    if not silent:
        target, _, alias = match[1].partition("|")
        opening = state.push("link_open", "a", 1)
        opening.attrs = {"href": target.strip()}
        state.push("text", "", 0).content = alias.strip() or target.strip().lstrip("#").replace("#", " › ")
        state.push("link_close", "a", -1)
    state.pos = match.end()
    return True


def _image(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
    """An image by its description: nothing is loaded from outside, and attachments are no notes."""
    words = renderer.renderInlineAsText(tokens[index].children, options, env) or str(tokens[index].attrs.get("src", "")).rsplit("/", 1)[-1]
    return f'<span class="image">{_escaped(words)}</span>'


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _rewrite_links(tokens: list[Token], resolve: Resolve) -> None:
    """Links to notes lead to their preview here; links to other files lead nowhere; the rest leaves and says so."""
    for token in tokens:
        if token.type != "link_open":
            continue
        target = str(token.attrs.get("href", ""))
        if _OUTSIDE.match(target):
            token.attrJoin("class", "out")
        elif path := resolve(target):
            token.attrs = {"href": note_url(path, place=unquote(target.partition("#")[2])), "class": "note-link"}
        else:
            token.attrs = {"class": "dead"}


def _mark(tokens: list[Token], first: int, last: int) -> None:
    """Mark the smallest blocks of lines `first`..`last` (1-based, of the body)."""
    items: list[Token] = []
    for token in tokens:
        if token.type == "list_item_open":
            items.append(token)
        elif token.type == "list_item_close":
            items.pop()
        if token.map is None or token.nesting < 0 or not (token.map[0] < last and first <= token.map[1]):
            continue
        if token.type == "paragraph_open" and token.hidden:  # the text of a tight list item has no tag of its own
            items[-1].attrJoin("class", _HIT)
        elif token.type in ("paragraph_open", "heading_open", "tr_open", "fence", "code_block"):
            token.attrJoin("class", _HIT)


def _callouts(tokens: list[Token]) -> None:
    """`> [!warning] Title` as Obsidian shows it: the quote gets a class, its first line becomes the title."""
    for index, token in enumerate(tokens[:-2]):
        inline = tokens[index + 2]
        if token.type != "blockquote_open" or inline.type != "inline" or not inline.children:
            continue
        match = _CALLOUT.match(inline.children[0].content)
        if match is None:
            continue
        kind = match[1].lower()
        token.attrJoin("class", "callout callout-strong" if kind in _CALLOUTS else "callout")
        inline.children[0].content = inline.children[0].content[match.end() :] or kind.capitalize()
        end = next((i for i, child in enumerate(inline.children) if child.type == "softbreak"), len(inline.children))
        opening, closing = Token("span_open", "span", 1), Token("span_close", "span", -1)
        opening.attrs = {"class": "callout-title"}
        inline.children[:] = [opening, *inline.children[:end], closing, *inline.children[end:]]


def _tasks(tokens: list[Token]) -> None:
    """Boxes of task lists and the `^ids` that only Obsidian needs to see."""
    for index, token in enumerate(tokens):
        if token.type != "inline" or not token.children:
            continue
        last = token.children[-1]
        if last.type == "text":
            last.content = BLOCK_ID.sub("", last.content).rstrip()
        first = token.children[0]
        if index < 2 or tokens[index - 2].type != "list_item_open" or not (box := _TASK.match(first.content)):
            continue
        done = box[1] != " "
        first.content = ("☑ " if done else "☐ ") + first.content[box.end() :]
        tokens[index - 2].attrJoin("class", "task done" if done else "task")

"""Documents cut at their headings: the passages that questions are made from.

Two sections with the same `key` are translations of one another. A section whose text was seen before is dropped, which also removes
the untranslated copies that translation repositories are full of.
"""

import hashlib
import html
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from training.sources import Document, drawn

UNSPACED = frozenset({"th", "ja", "zh", "zh-hant"})  # written without spaces between words
SCRIPTS = {
    "th": r"[\u0e00-\u0e7f]",
    "ja": r"[\u3040-\u30ff]",
    "zh": r"[\u4e00-\u9fff]",
    "zh-hant": r"[\u4e00-\u9fff]",
    "ko": r"[\uac00-\ud7af]",
    "ru": r"[\u0400-\u04ff]",
    "uk": r"[\u0400-\u04ff]",
    "ar": r"[\u0600-\u06ff]",
    "fa": r"[\u0600-\u06ff]",
    "ur": r"[\u0600-\u06ff]",
    "hi": r"[\u0900-\u097f]",
    "bn": r"[\u0980-\u09ff]",
    "ta": r"[\u0b80-\u0bff]",
    "el": r"[\u0370-\u03ff]",
}
ENGLISH = re.compile(r"\b(the|of|and|to|is|that|with|for|are|this|you|can)\b", re.I)
FENCE = re.compile(r"^(```|~~~).*?^\1[`~]*\s*$", re.M | re.S)
LONGEST = 1300  # characters of a section that are kept


@dataclass(frozen=True, slots=True)
class Section:
    """A passage with its place. `questions` are ones people wrote about it."""

    id: int
    repo: str
    file: str
    lang: str
    key: str
    title: str
    path: list[str]
    body: str
    questions: list[str] = field(default_factory=list)
    format: str = "markdown"

    @property
    def heading(self) -> str:
        return self.path[-1] if self.path else self.title


def clean(text: str) -> str:
    """Markdown (and MDX) to plain text: no comments, images, link targets, tags or long code blocks."""
    text = html.unescape(text)
    text = re.sub(r"<!--.*?-->|\{/\*.*?\*/\}", "", text, flags=re.S)
    text = FENCE.sub(lambda m: "\n".join(m.group(0).split("\n")[1:7]).replace("```", "") if len(m.group(0)) < 400 else "", text)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]+)\](\([^)]*\)|\[[^\]]*\])", r"\1", text)
    text = re.sub(r"^(import|export)\s.*$", "", text, flags=re.M)
    text = re.sub(r"</?[A-Za-z][^>\n]*>|\{#[^}]*\}|\{:[^}]*\}|\{\{[^}]*\}\}|\{%[^%]*%\}|\[\[[^\]]*\]\]|^<\w+.*$", "", text, flags=re.M)
    text = re.sub(r"^\s*:::.*$|^\s*///.*$|^\[[^\]]+\]:.*$", "", text, flags=re.M)
    text = re.sub(r"\*\*|__|(?<!\w)\*(?=\w)|(?<=\w)\*(?!\w)", "", text)
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+", " ", text)).strip()


def clean_heading(text: str) -> str:
    return clean(re.sub(r"`|\{[^}]*\}|\s#+\s*$|^\d+\.\s+", "", text)).strip(" #")


def split_headings(text: str) -> tuple[str | None, list[tuple[list[str], str]]]:
    """(title, [(heading path, body)]) of a Markdown text; headings inside fences do not count."""
    title = None
    front = re.match(r"^---\s*\n(.*?)\n---\s*\n", text, re.S)
    if front:
        text = text[front.end() :]
        found = re.search(r"^title:\s*(.+)$", front.group(1), re.M)
        title = found.group(1).strip().strip("\"'") if found else None
    parts: list[tuple[list[str], str]] = []
    stack: list[tuple[int, str]] = []
    lines: list[str] = []
    fence = None
    for line in text.split("\n"):
        mark = re.match(r"^\s*(```+|~~~+)", line)
        if mark:
            fence = None if fence and line.strip().startswith(fence) else (fence or mark.group(1))
        match = None if fence or mark else re.match(r"^(?:\d+\.\s+)?(#{1,5})\s+(.*\S)", line)
        if match:
            parts.append(([name for _, name in stack], clean("\n".join(lines))))
            depth, lines = len(match.group(1)), []
            stack = [*(item for item in stack if item[0] < depth), (depth, clean_heading(match.group(2)))]
        else:
            lines.append(line)
    parts.append(([name for _, name in stack], clean("\n".join(lines))))
    return title or next((path[0] for path, _ in parts if path), None), parts


def in_its_language(body: str, lang: str) -> bool:
    """Whether a translation is one: enough of its own script, or few English function words."""
    letters = sum(c.isalpha() for c in body) or 1
    if lang in SCRIPTS:
        return len(re.findall(SCRIPTS[lang], body)) / letters > (0.12 if lang == "ja" else 0.25)
    return lang == "en" or len(ENGLISH.findall(body)) / (len(body.split()) or 1) < 0.08


def _markdown(document: Document) -> Iterator[Section]:
    title, parts = split_headings(document.text)
    name = document.path.split("/")[-1].rsplit(".", 1)[0].replace("-", " ")
    title = clean_heading(title or name)
    shortest = 50 if document.lang in UNSPACED or document.lang == "ko" else 110
    for index, (path, body) in enumerate(parts):
        if len(body) >= shortest and in_its_language(body, document.lang):
            key = f"{document.key}|{index}|{len(parts)}"
            yield _section(document, key, title, [p for p in path if p != title], body[:LONGEST])


def _tldr(document: Document) -> Iterator[Section]:
    lines = document.text.split("\n")
    title = lines[0].lstrip("# ").strip()
    about = " ".join(line[2:] for line in lines if line.startswith("> ") and "http" not in line)
    uses = [line[2:].rstrip(":").strip() for line in lines if line.startswith("- ")]
    body = about + "\n" + "\n".join(line.strip("`") for line in lines[1:] if line and not line.startswith(">"))
    if len(uses) >= 2 and in_its_language(about + " ".join(uses), document.lang):
        yield _section(document, document.key, title, [], body[:900], [about, *uses])


def _pubmedqa(document: Document) -> Iterator[Section]:
    for number, record in json.loads(document.text).items():
        for label, context in zip(record["LABELS"], record["CONTEXTS"], strict=True):
            yield _section(document, f"{number}|{label}", "", [label.capitalize()], context[:LONGEST])
        yield _section(document, f"{number}|answer", "", ["Conclusion"], record["LONG_ANSWER"][:LONGEST], [record["QUESTION"]])


def _medquad(document: Document) -> Iterator[Section]:
    tree = ET.fromstring(document.text)
    focus = tree.findtext("Focus") or ""
    for pair in tree.iter("QAPair"):
        question, answer = pair.findtext("Question"), re.sub(r"\s+", " ", pair.findtext("Answer") or "").strip()
        if question and len(answer) > 80:
            yield _section(document, f"{document.key}|{pair.get('pid')}", focus, [], answer[:LONGEST], [question.strip()])


def _section(
    document: Document, key: str, title: str, path: list[str], body: str, questions: list[str] | None = None
) -> Section:
    source = document.source
    return Section(0, source.repo, document.path, document.lang, key, title, path, body, questions or [], source.format)


FORMATS = {"markdown": _markdown, "tldr": _tldr, "pubmedqa": _pubmedqa, "medquad": _medquad}


def sections(source_documents: Iterable[Document]) -> list[Section]:
    """Numbered sections of all documents, each text once."""
    seen: set[str] = set()
    kept: list[Section] = []
    for document in source_documents:
        for section in FORMATS[document.source.format](document):
            digest = hashlib.md5(re.sub(r"\W+", "", section.body).lower().encode()).hexdigest()
            if digest in seen:
                continue
            seen.add(digest)
            if section.format != "pubmedqa" or drawn(section.file + section.key.split("|")[0], 0.6):
                kept.append(Section(**{**asdict(section), "id": len(kept)}))
    return kept


def save(items: list[Section], path: Path) -> None:
    path.write_text("".join(json.dumps(asdict(s), ensure_ascii=False) + "\n" for s in items), encoding="utf-8")


def load(path: Path) -> list[Section]:
    with path.open(encoding="utf-8") as lines:
        return [Section(**json.loads(line)) for line in lines]

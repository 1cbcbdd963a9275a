"""What people wrote about a text: subject lines of commits, with the lines they added that the documents still hold.

A subject says in its author's own words what a text is for, often in none of the text's. Only English documents are looked at, and only
commits that touch one or two of their sections.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from training.queries import Described, content
from training.sections import Section, clean
from training.sources import Source, git, git_dir

EMPTY = re.compile(
    r"\b(typos?|links?|urls?|merge|revert|bump|lint\w*|format(ting)?|prettier|whitespace|gramm[ae]r|wording|spelling|punctuation|translat\w+|"
    r"sync|wip|review|suggestions?|feedback|release|renam\w+|mov(e|ed|ing)|ci|deps|dependenc\w+|nits?|minor|clean-?up|redirects?|broken|"
    r"frontmatter|front matter|toc|table of contents|metadata|kep\.yaml|owners|readme|apply|crowdin|i18n|l10n|chinese|japanese|korean|"
    r"remov\w+|delet\w+|drop(ped|s)?|rephras\w+|"
    r"copyright|apostrophe|commas?|capitali\w+|markdown|anchors?|headings?|headers?|comments?|images?|screenshots?)\b|\.mdx?\b",
    re.I,
)
MARKS = re.compile(
    r"^\W*(\[[^\]]*\]|\(?(docs?|feat|fix|chore|content|style|refactor|blog)\)?(\([^)]*\))?!?:|"
    r"(KEP|EIP|RFC|ADR)[-\s]?\d+:?|[\w./-]+:)\s*",
    re.I,
)
TAIL = re.compile(r"\s*(\(?(#|gh-|PR )\d+\)?[.,]?\s*)+$", re.I)
LEAST_LINE, MOST_SECTIONS, PER_SECTION, PER_REPO = 40, 2, 2, 900


@dataclass(frozen=True, slots=True)
class Commit:
    subject: str
    added: list[str]


def subject_text(subject: str) -> str | None:
    """A subject without prefix, number and icon; nothing if it tells of form rather than of content."""
    text = TAIL.sub("", MARKS.sub("", MARKS.sub("", subject))).strip(" .:-`'\"")
    if not 3 <= len(text.split()) <= 20 or EMPTY.search(text) or len(content(text)) < 2:
        return None
    return text if text.isascii() else None


def history(directory: Path, commit: str) -> Iterator[Commit]:
    """Commits that add lines to Markdown, newest first."""
    log = git(directory, "log", commit, "--no-merges", "--no-renames", "--format=%x01%s", "-p", "-U0", "--", "*.md", "*.mdx")
    for part in log.decode("utf-8", "replace").split("\x01")[1:]:
        subject, _, patch = part.partition("\n")
        yield Commit(subject, [line[1:] for line in patch.split("\n") if line.startswith("+") and not line.startswith("+++")])


def describe(commits: Iterable[Commit], sections: list[Section]) -> list[Described]:
    """Subjects with the section whose lines they added, for the sections of one source."""
    owner: dict[str, int] = {}
    by_id = {s.id: s for s in sections}
    for section in sections:
        owner.update({line.strip(): section.id for line in section.body.split("\n") if len(line) >= LEAST_LINE})
    found: list[Described] = []
    used: Counter[int] = Counter()
    for commit in commits:
        text = subject_text(commit.subject)
        if not text or len(commit.added) > 400:
            continue
        lines: dict[int, list[str]] = defaultdict(list)
        for line in commit.added:
            tidy = clean(line) if len(line) >= LEAST_LINE else ""
            if tidy in owner:
                lines[owner[tidy]].append(tidy)
        if not lines or len(lines) > MOST_SECTIONS:
            continue
        best = max(lines, key=lambda i: sum(map(len, lines[i])))
        section = by_id[best]
        about = content(f"{section.title} {' '.join(section.path)} {' '.join(lines[best])}")
        if used[best] < PER_SECTION and content(text) & about and len(found) < PER_REPO:
            used[best] += 1
            found.append(Described(best, text, lines[best]))
    return found


def described(root: Path, sources: Iterable[Source], sections: list[Section]) -> list[Described]:
    """For every source of English documents."""
    by_repo: dict[str, list[Section]] = defaultdict(list)
    for section in sections:
        if section.lang == "en" and section.format == "markdown":
            by_repo[section.repo].append(section)
    found: list[Described] = []
    for source in sources:
        if by_repo[source.repo]:
            found += describe(history(git_dir(root, source.repo), source.commit), by_repo[source.repo])
    return found


def save(items: list[Described], path: Path) -> None:
    path.write_text("".join(json.dumps(asdict(d), ensure_ascii=False) + "\n" for d in items), encoding="utf-8")


def load(path: Path) -> list[Described]:
    with path.open(encoding="utf-8") as lines:
        return [Described(**json.loads(line)) for line in lines]

"""The manifest of training sources, and text read from their git snapshots.

Only what `sources.json` names is read, at the commit it names, and only after the licence phrase was found in the source's own licence
file. Snapshots are bare or plain checkouts under one folder: `owner+name/repo` or `owner+name`.
"""

import hashlib
import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MANIFEST = Path(__file__).with_name("sources.json")
PERMISSIVE = frozenset(
    {"MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "CC-BY-3.0", "CC-BY-4.0", "MIT OR Apache-2.0", "MIT OR CC0-1.0"}
)
LANGUAGES = {"cn": "zh", "zh-cn": "zh", "zh-hans": "zh", "zh-tw": "zh-hant", "zh-hant": "zh-hant", "gr": "el"}


class SourceError(Exception):
    """A source that cannot be used: not there, or not under the licence the manifest states."""


@dataclass(frozen=True, slots=True)
class Source:
    """One repository: what is taken from it, and by what right."""

    repo: str
    commit: str
    licence: str
    licence_file: str
    licence_phrase: str
    attribution: str
    family: str  # sources of one family hold translations of one another
    pick: str  # full match on the path; may name groups `lang` and `key`
    lang: str = "en"
    share: float = 1.0  # part of the files used, chosen by the hash of the key so that translations stay together
    skip: str = ""
    format: str = "markdown"
    held_out: bool = False  # for validation only


@dataclass(frozen=True, slots=True)
class Document:
    """A picked file; `key` is the same for every translation of it."""

    source: Source
    path: str
    lang: str
    key: str
    text: str


def load_manifest(path: Path = MANIFEST) -> list[Source]:
    sources = [Source(**entry) for entry in json.loads(path.read_text(encoding="utf-8"))]
    for source in sources:
        if source.licence not in PERMISSIVE:
            raise SourceError(f"{source.repo}: {source.licence} is not a permissive licence; take it out of {path.name}")
    return sources


def language(code: str) -> str:
    """`zh-CN` -> `zh`, `pt_BR` -> `pt`, `zh-TW` -> `zh-hant`."""
    code = code.lower().replace("_", "-")
    return LANGUAGES.get(code) or code.split("-")[0]


def drawn(key: str, share: float) -> bool:
    """Whether a key belongs to the share that is used; stable over runs and machines."""
    return int(hashlib.md5(key.encode()).hexdigest()[:8], 16) / 0xFFFFFFFF < share


def git_dir(root: Path, repo: str) -> Path:
    base = root / repo.replace("/", "+")
    for candidate in (base / "repo" / ".git", base / "repo", base / ".git", base):
        if (candidate / "HEAD").exists():
            return candidate
    raise SourceError(f"{repo}: no git snapshot under {base}")


def git(directory: Path, *arguments: str) -> bytes:
    done = subprocess.run(["git", "-C", str(directory), *arguments], capture_output=True, check=False)
    if done.returncode:
        raise SourceError(f"{directory}: git {' '.join(arguments)}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def check_licence(directory: Path, source: Source) -> None:
    text = git(directory, "show", f"{source.commit}:{source.licence_file}").decode("utf-8", "replace")
    if source.licence_phrase.lower() not in text.lower():
        raise SourceError(f"{source.repo}: {source.licence_file} does not say «{source.licence_phrase}»")


def picked(source: Source, paths: list[str]) -> list[tuple[str, str, str]]:
    """(path, language, key) of the files to read, English first, so that untranslated copies are the ones dropped as duplicates."""
    found = []
    for path in paths:
        match = re.fullmatch(source.pick, path)
        if not match or (source.skip and re.search(source.skip, path)):
            continue
        groups = match.groupdict()
        key = f"{source.family}|{groups.get('key') or path}"
        if drawn(key, source.share):
            found.append((path, language(groups.get("lang") or source.lang), key))
    return sorted(found, key=lambda item: (item[1] != "en", item[0]))


def documents(root: Path, source: Source) -> Iterator[Document]:
    """Every picked file of a source, after its licence was checked."""
    directory = git_dir(root, source.repo)
    check_licence(directory, source)
    paths = git(directory, "ls-tree", "-r", "--name-only", source.commit).decode("utf-8", "replace").split("\n")
    with subprocess.Popen(["git", "-C", str(directory), "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reader:
        assert reader.stdin and reader.stdout
        for path, lang, key in picked(source, paths):
            reader.stdin.write(f"{source.commit}:{path}\n".encode())
            reader.stdin.flush()
            header = reader.stdout.readline().split()
            if len(header) < 3 or not header[2].isdigit():
                continue
            text = reader.stdout.read(int(header[2])).decode("utf-8", "ignore")
            reader.stdout.read(1)
            yield Document(source, path, lang, key, text.replace("\r", ""))
        reader.stdin.close()

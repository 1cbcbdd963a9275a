"""The vault on disk: which files are notes, how they stand, and their bytes. The only module of this room that touches a disk.

What must stay true: nothing outside the vault is ever listed or read (no `..`, no absolute path, no symlink that leaves), and one
odd file is reported, never fatal.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat as modes
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from onebrain.errors import NoteUnreadable, VaultNotFound

if TYPE_CHECKING:
    from onebrain.vault.library import NoteRecord

MAX_BYTES = 20 * 1024 * 1024
_RACY_NS = 2_000_000_000  # FAT keeps 2 s
MEMORY_FOLDERS = (".claude/memory/cards", ".claude/memory/events")  # the only hidden folders that hold sources

_ALWAYS_SKIPPED = {"node_modules"}
# Left behind by sync tools and editors: Syncthing, Dropbox, Nextcloud, office locks, AppleDouble (`._x`), Emacs (`.#x`), vim backups.
_LEFTOVER = re.compile(
    r"^\.|^~\$|\.sync-conflict-|[ (_-]conflict(?:ed)?[ _-]cop(?:y|ia)\b|\(conflict(?:ed copy)?\b|~\.md$|\.(?:tmp|swp|bak)\.md$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Stat:
    """`mtime_ns` and `size` in bytes as the file system tells them; `inode` recognises a rename."""

    mtime_ns: int
    size: int
    inode: int


@dataclass(frozen=True, slots=True)
class Walk:
    """Every note of a vault by its path, and what could not be looked at: (path, reason in words)."""

    stats: dict[str, Stat]
    failures: list[tuple[str, str]]


def stat_all(vault: Path, exclude: Sequence[str] = ()) -> Walk:
    """All `*.md` files of the vault, plus cards and events. Hidden folders and `node_modules` are never entered.

    `exclude`: a bare name is a folder at any depth, an entry with `/` a vault-relative prefix.
    Raises VaultNotFound if there is no such folder.
    """
    if not vault.is_dir():
        raise VaultNotFound(f"there is no folder {vault}", hint="Give the vault with --vault PATH, or run the command inside it.")
    names, prefixes = _exclusions(exclude)
    walk = Walk({}, [])
    root = os.path.realpath(vault)
    pending = [""]
    while pending:
        folder = pending.pop()
        for entry in _entries(root, folder, walk):
            path = folder + entry.name
            if _is_folder(entry):
                hidden = entry.name.startswith(".") or entry.name in _ALWAYS_SKIPPED or entry.name in names
                if not hidden and not _under(path, prefixes):
                    pending.append(path + "/")
            elif entry.name[-3:].lower() == ".md" and not _LEFTOVER.search(entry.name) and not _under(path, prefixes):
                _add(walk, root, path, entry)
    for folder, suffix in zip(MEMORY_FOLDERS, (".md", ".jsonl"), strict=True):
        if os.path.isdir(os.path.join(root, folder)) and not _under(folder, prefixes):
            for entry in _entries(root, folder + "/", walk):
                if entry.name.lower().endswith(suffix) and not _LEFTOVER.search(entry.name) and not _is_folder(entry):
                    _add(walk, root, f"{folder}/{entry.name}", entry)
    return walk


def stat(vault: Path, path: str) -> Stat | None:
    """The file as it stands now, or None if it is gone or may not be read."""
    try:
        found = os.stat(_confined(vault, path))
    except (OSError, NoteUnreadable):
        return None
    return Stat(found.st_mtime_ns, found.st_size, found.st_ino) if modes.S_ISREG(found.st_mode) else None


def settled(mtime_ns: int, seen_ns: int) -> bool:
    """Whether a file that was looked at then can't have changed since under the same time stamp: it was written well before the look."""
    return mtime_ns < seen_ns - _RACY_NS


def unchanged(vault: Path, note: NoteRecord) -> bool:
    """Whether a note's file still holds what was indexed. It is read only where its stat can't tell."""
    now = stat(vault, note.path)
    if now is None or now.size != note.size:
        return False
    if (now.mtime_ns, now.inode) == (note.mtime_ns, note.inode) and settled(note.mtime_ns, note.seen_ns):
        return True
    try:
        return hashlib.sha256(read(vault, note.path)).hexdigest() == note.sha256
    except NoteUnreadable:
        return False


def is_note(path: str, exclude: Sequence[str] = ()) -> bool:
    """Whether `stat_all` would list a file of this vault-relative path (as far as its name tells)."""
    parts = PurePosixPath(path).parts
    if not parts or _LEFTOVER.search(parts[-1]):
        return False
    names, prefixes = _exclusions(exclude)
    folder, lower = "/".join(parts[:-1]), parts[-1].lower()
    if folder in MEMORY_FOLDERS:
        return lower.endswith(".md" if folder == MEMORY_FOLDERS[0] else ".jsonl") and not _under(path, prefixes)
    skipped = any(part.startswith(".") or part in _ALWAYS_SKIPPED or part in names for part in parts[:-1])
    return lower.endswith(".md") and not skipped and not _under(path, prefixes)


def read(vault: Path, path: str) -> bytes:
    """The bytes of one note. Raises NoteUnreadable if it is outside the vault, gone, not a regular file, or over 20 MB."""
    return _read(_confined(vault, path), path)


def read_all(vault: Path, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """(path, bytes) of each that can be read. Whether a folder lies inside the vault is found out once for all of its files."""
    folders = {"": os.path.realpath(vault)}
    for path in paths:
        folder, _, name = path.rpartition("/")
        try:
            if folder not in folders:
                folders[folder] = _confined(vault, folder)
            real = os.path.join(folders[folder], name)
            plain = name not in ("", ".", "..") and "\0" not in name and not os.path.islink(real)
            yield path, _read(real if plain else _confined(vault, path), path)
        except NoteUnreadable:
            continue


def _read(real: str, path: str) -> bytes:
    try:
        found = os.stat(real)
        if not modes.S_ISREG(found.st_mode):
            kind = "a folder" if modes.S_ISDIR(found.st_mode) else "no regular file"
            raise NoteUnreadable(f"{path} is {kind}, not a note.", hint="Name a note in it: `onebrain search get FOLDER/NOTE.md`.")
        if found.st_size > MAX_BYTES:
            raise NoteUnreadable(
                f"{path} is {found.st_size / 1e6:.0f} MB, more than the {MAX_BYTES // (1024 * 1024)} MB a note may have",
                hint="Split the note, or leave it out with search.exclude.",
            )
        with open(real, "rb") as file:
            return file.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise NoteUnreadable(f"There is no note {path} in the vault.", hint="It was deleted or renamed, or never there.") from error
    except OSError as error:
        raise NoteUnreadable(f"{path} can't be read: {error.strerror or error}", hint="Check its permissions.") from error


def decode(raw: bytes) -> tuple[str, str | None]:
    """The text of a note, with every line end as `\\n`, and a problem in words where the bytes were not plain UTF-8 text."""
    text, problem = _decoded(raw)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" not in text:
        return text, problem
    if text.count("\0") * 100 > len(text):
        return "", "this is not a text file"
    return text.replace("\0", " "), problem or "NUL characters were left out"


def _decoded(raw: bytes) -> tuple[str, str | None]:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return raw.decode("utf-16"), "the file is UTF-16, not UTF-8"
        except UnicodeDecodeError:
            return raw[2:].decode("utf-16", errors="replace"), "the file is broken UTF-16"
    try:
        return raw.decode("utf-8-sig"), None
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
    text = raw.decode("utf-8-sig", errors="replace")
    damaged = text.count("\ufffd")
    if sum(1 for char in text if char > "\x7f") > 2 * damaged:  # mostly UTF-8 with a few broken bytes
        return text, f"line {line} is not UTF-8; unreadable characters were replaced"
    try:
        return raw.decode("cp1252"), f"line {line} is not UTF-8; the file was read as Windows-1252"
    except UnicodeDecodeError:
        return raw.decode("latin-1"), f"line {line} is not UTF-8; the file was read as Latin-1"


def _exclusions(exclude: Sequence[str]) -> tuple[set[str], tuple[str, ...]]:
    names = {rule for rule in exclude if rule and "/" not in rule}
    prefixes = tuple(rule.removeprefix("./").strip("/") for rule in exclude if rule.strip("/") and "/" in rule)
    return names, prefixes


def _under(path: str, prefixes: tuple[str, ...]) -> bool:
    return any(path == prefix or path.startswith(prefix + "/") for prefix in prefixes)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _entries(root: str, folder: str, walk: Walk) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(os.path.join(root, folder)) as found:
            yield from found
    except OSError as error:
        walk.failures.append((folder.rstrip("/") or ".", f"the folder can't be listed: {error.strerror or error}"))


def _add(walk: Walk, root: str, path: str, entry: os.DirEntry[str]) -> None:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        shown = os.fsencode(path).decode("utf-8", errors="backslashreplace")
        walk.failures.append((shown, "the file name is not valid UTF-8; rename it"))
        return
    try:
        if entry.is_symlink():
            if not _inside(root, os.path.realpath(entry.path)):
                walk.failures.append((path, "the link leads out of the vault"))
                return
            found = os.stat(entry.path)
        else:
            found = entry.stat(follow_symlinks=False)
    except OSError as error:
        walk.failures.append((path, f"can't be looked at: {error.strerror or error}"))
        return
    if modes.S_ISREG(found.st_mode):
        walk.stats[path] = Stat(found.st_mtime_ns, found.st_size, found.st_ino)


def _inside(root: str, real: str) -> bool:
    return real.startswith(root.rstrip(os.sep) + os.sep)


def _confined(vault: Path, path: str) -> str:
    root = os.path.realpath(vault)
    if "\0" in path or os.path.isabs(path) or ".." in PurePosixPath(path.replace(os.sep, "/")).parts:
        raise NoteUnreadable(f"{path!r} is not a path inside the vault", hint="Give a path relative to the vault.")
    real = os.path.realpath(os.path.join(root, path))
    if real == root:
        raise NoteUnreadable("That is the vault itself, not a note.", hint="Name a note by its path in the vault.")
    if not _inside(root, real):
        raise NoteUnreadable(f"{path} leads out of the vault", hint="Links that leave the vault are never followed.")
    return real

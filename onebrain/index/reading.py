"""The vault as the indexer sees it: what stands on the disk, and a note with its passages from a file's bytes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol

from onebrain.errors import NoteUnreadable, VaultNotFound
from onebrain.vault import files
from onebrain.vault.chunk import CHUNKER_VERSION, chunk
from onebrain.vault.files import Stat, Walk
from onebrain.vault.note import Chunk, Note
from onebrain.vault.parse import PARSER_VERSION, Settings, read_note


class Reader(Protocol):
    """Where notes come from. `fingerprint` changes when the same bytes would give other notes or passages."""

    @property
    def fingerprint(self) -> str: ...

    def stat_all(self) -> Walk:
        """Raises VaultNotFound."""

    def stat_some(self, paths: Collection[str]) -> dict[str, Stat]:
        """Those of the paths that are notes and exist, under exactly this name. Raises VaultNotFound."""

    def lists(self, path: str) -> bool:
        """Whether `stat_all` would list a file of this name."""

    def stat(self, path: str) -> Stat | None:
        """None where the file is gone."""

    def read(self, path: str) -> bytes:
        """Raises NoteUnreadable."""

    def note(self, path: str, raw: bytes) -> tuple[Note, tuple[Chunk, ...]]: ...


@dataclass(frozen=True, slots=True)
class VaultReader:
    """A vault folder, what is left out of it, and how its notes are read."""

    root: Path
    exclude: tuple[str, ...] = ()
    settings: Settings = Settings()

    @property
    def fingerprint(self) -> str:
        how = hashlib.sha256(repr(self.settings).encode()).hexdigest()[:8]
        return f"parser-{PARSER_VERSION}.chunker-{CHUNKER_VERSION}.{how}"

    def stat_all(self) -> Walk:
        return files.stat_all(self.root, self.exclude)

    def stat_some(self, paths: Collection[str]) -> dict[str, Stat]:
        if not self.root.is_dir():
            raise VaultNotFound(f"there is no folder {self.root}", hint="Is the disk that holds the vault connected?")
        listed = _listed(self.root, paths)
        found = {path: files.stat(self.root, path) for path in paths if path in listed and self.lists(path)}
        return {path: stat for path, stat in found.items() if stat is not None}

    def lists(self, path: str) -> bool:
        return files.is_note(path, self.exclude)

    def stat(self, path: str) -> Stat | None:
        return files.stat(self.root, path)

    def read(self, path: str) -> bytes:
        return files.read(self.root, path)

    def note(self, path: str, raw: bytes) -> tuple[Note, tuple[Chunk, ...]]:
        note = read_note(path, raw, self.settings)
        return note, chunk(note)


def digest(reader: Reader, path: str) -> str | None:
    """A file's sha256, or None where it can't be read."""
    try:
        return hashlib.sha256(reader.read(path)).hexdigest()
    except NoteUnreadable:
        return None


def _listed(root: Path, paths: Iterable[str]) -> set[str]:
    """Paths whose every part is listed by its folder. Where case doesn't matter, `note.md` can be opened although the file is now
    called `Note.md`; only the listing tells."""
    names: dict[str, set[str]] = {}

    def lists(folder: str, name: str) -> bool:
        if folder not in names:
            try:
                names[folder] = set(os.listdir(root / folder))
            except OSError:
                names[folder] = set()
        return name in names[folder]

    def there(path: PurePosixPath) -> bool:
        return all(lists(str(part.parent), part.name) for part in (path, *path.parents) if part.name)

    return {path for path in paths if there(PurePosixPath(path))}

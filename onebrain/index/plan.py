"""What has to be done so that the index equals the disk: a pure function of what the disk shows and what the manifest knows.

A note's content decides, never its time stamp. Time stamps only spare reading files that can't have changed. A plan that would
remove most of the index is held back, because an unmounted or half-copied vault looks exactly like that; a note that the vault
wouldn't list even if it were there (the user excludes its folder by now) is no sign of it, and always goes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Protocol

from onebrain.vault.files import settled

MANY = 20  # fewer notes than this are removed without asking
MOST = 0.5


class Stat(Protocol):
    """What one look at a file tells, without reading it. `inode` is 0 where the file system has none."""

    @property
    def mtime_ns(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def inode(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Known:
    """What the manifest remembers of a file. `seen_ns`: the wall clock when it was last read. `sha256` None: it never could be read."""

    mtime_ns: int
    size: int
    inode: int
    seen_ns: int
    sha256: str | None


@dataclass(frozen=True, slots=True)
class Plan:
    """Paths to act on, each list sorted. `touched` files have a new stat (given here, as it was before they were read, at `seen_ns`)
    and their old content. `unchanged` counts notes whose content is as indexed, touched ones included; broken files are not notes.

    `held_back` says in words why the removals are left out of this plan (`withheld` counts them); None when all may go on.
    """

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    moved: tuple[tuple[str, str], ...] = ()  # (old, new)
    removed: tuple[str, ...] = ()
    touched: tuple[tuple[str, Stat], ...] = ()
    unchanged: int = 0
    seen_ns: int = 0
    why: str = ""
    held_back: str | None = None
    withheld: int = 0

    @property
    def empty(self) -> bool:
        """Nothing to read and nothing to write."""
        return not (self.added or self.changed or self.moved or self.removed or self.touched)

    @property
    def total(self) -> int:
        return len(self.added) + len(self.changed) + len(self.moved) + len(self.removed)


def plan(
    disk: Mapping[str, Stat],
    known: Mapping[str, Known],
    hash_of: Callable[[str], str | None],
    *,
    lists: Callable[[str], bool] = lambda path: True,
    force: bool = False,
    confirmed: bool = False,
    out_of: int | None = None,
    seen_ns: int = 0,
    why: str = "",
) -> Plan:
    """Compare `disk` with `known`, both path → facts, for the same part of the vault.

    `hash_of` gives a file's sha256, or None where it can't be read (the note is then planned as changed; reading it tells the reason).
    `lists` says whether the vault would list a file of this name. `force` plans every note as changed. `out_of` is the size of the
    whole index when only a part is planned, for the judgement whether "most" would go; `confirmed` lets even that happen. `seen_ns`
    is the wall clock at which `disk` was looked at.
    """
    missing = {path: facts for path, facts in known.items() if path not in disk}
    new = sorted(path for path in disk if path not in known)
    moved = _moves(missing, {path: disk[path] for path in new}, hash_of)
    came = {target for _, target in moved}
    gone = missing.keys() - {origin for origin, _ in moved}
    changed: list[str] = []
    touched: list[tuple[str, Stat]] = []
    for path in sorted(disk.keys() & known.keys()):
        verdict = _compare(disk[path], known[path], lambda path=path: hash_of(path), force)  # type: ignore[misc]
        if verdict:
            changed.append(path)
        elif verdict is not None:
            touched.append((path, disk[path]))
    vanished = {path for path in gone if lists(path)}
    excluded = gone - vanished
    held_back = None if confirmed else _too_many(len(vanished), (len(known) if out_of is None else out_of) - len(excluded))
    return Plan(
        added=tuple(path for path in new if path not in came),
        changed=tuple(changed),
        moved=tuple(moved),
        removed=tuple(sorted(excluded if held_back else gone)),
        touched=tuple(touched),
        unchanged=sum(known[path].sha256 is not None for path in disk.keys() & known.keys() - set(changed)),
        seen_ns=seen_ns,
        why=why,
        held_back=held_back,
        withheld=len(vanished) if held_back else 0,
    )


def _compare(now: Stat, then: Known, content: Callable[[], str | None], force: bool) -> bool | None:
    """True: changed. False: only touched. None: nothing to do."""
    if force:
        return True
    same_stat = (now.mtime_ns, now.size, now.inode) == (then.mtime_ns, then.size, then.inode)
    if same_stat and settled(then.mtime_ns, then.seen_ns):
        return None
    if then.sha256 is None or now.size != then.size:
        return True
    return content() != then.sha256


def _moves(missing: Mapping[str, Known], new: Mapping[str, Stat], hash_of: Callable[[str], str | None]) -> list[tuple[str, str]]:
    """Pairs of a missing path and a new one with the same content; each path at most once. Only files of a missing size are read."""
    sizes = {facts.size for facts in missing.values()}
    origins: dict[str, list[str]] = defaultdict(list)
    for path in sorted(missing):
        digest = missing[path].sha256
        if digest is not None:
            origins[digest].append(path)
    pairs: list[tuple[str, str]] = []
    for path in sorted(new, key=lambda path: _rank(path, new[path], missing)):
        content = hash_of(path) if new[path].size in sizes else None
        candidates = origins.get(content, []) if content is not None else []
        if candidates:
            origin = min(candidates, key=lambda old: _likeness(old, path, missing[old], new[path]))
            candidates.remove(origin)
            pairs.append((origin, path))
    return sorted(pairs)


def _rank(path: str, stat: Stat, missing: Mapping[str, Known]) -> tuple[bool, str]:
    """Files that kept their inode choose first: of several equal copies, the one that was moved gets the history."""
    return (not any(stat.inode and stat.inode == facts.inode for facts in missing.values()), path)


def _likeness(old: str, path: str, then: Known, now: Stat) -> tuple[bool, bool, bool, str]:
    before, after = PurePosixPath(old), PurePosixPath(path)
    return (not (now.inode and now.inode == then.inode), before.name != after.name, before.parent != after.parent, old)


def _too_many(gone: int, known: int) -> str | None:
    if gone <= MANY or gone <= MOST * known:
        return None
    return (
        f"{gone} of {known} indexed notes are missing from the vault. That looks like a vault that isn't mounted or still being copied, "
        "so they stay in the index. If they are really gone, run `onebrain search reindex --force`."
    )

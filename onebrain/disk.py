"""What every room that writes needs of a disk: a file replaced whole, and a lock that ends with the process that holds it."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from onebrain.errors import StorageFull

_LOCKED_BYTE = 1 << 30  # Windows locks bytes, and a locked byte can't be read: lock one far behind the text


def replace_file(path: Path, text: str, *, mode: int | None = None, within: Path | None = None, hint: str | None = None) -> None:
    """Write beside the file and rename over it: whoever reads sees the old text or the new one, and so does the next start.

    A link keeps pointing to the file it names. A file keeps its permissions unless `mode` gives them; folders are made. Text that came
    from odd bytes (`surrogateescape`) goes back as them. Raises StorageFull, with `hint`, and where a link leads out of `within`.
    """
    target = Path(os.path.realpath(path))
    if within is not None and not target.is_relative_to(os.path.realpath(within)):
        raise StorageFull(f"{path} lies outside {within}, so it isn't written.", hint="Correct the link, or `folders` in onebrain.yml.")
    fresh = target.with_name(f".onebrain-{os.urandom(6).hex()}.tmp")  # short: a name that is as long as may be has no room for more
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        kept = _mode(target) if mode is None else mode
        try:
            with open(fresh, "xb", opener=lambda name, flags: os.open(name, flags, 0o666 if kept is None else kept)) as out:
                out.write(text.encode("utf-8", "surrogateescape"))
                out.flush()
                os.fsync(out.fileno())
            if kept is not None:
                os.chmod(fresh, kept)  # exactly: the umask took its part when the file was made
            os.replace(fresh, target)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
    except OSError as error:
        advice = hint or "Make room, or make it writable."
        raise StorageFull(f"{path} can't be written: {error.strerror or error}.", hint=advice) from error


def _mode(file: Path) -> int | None:
    try:
        return stat.S_IMODE(file.stat().st_mode)
    except FileNotFoundError:
        return None


if sys.platform == "win32":
    import msvcrt

    def try_lock(descriptor: int) -> bool:
        """Lock the open file against every other descriptor of it, of this process as well; False where another holds it."""
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)
        return True

    def unlock(descriptor: int) -> None:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def try_lock(descriptor: int) -> bool:
        """Lock the open file against every other descriptor of it, of this process as well; False where another holds it."""
        # flock, not lockf: lockf's lock is lost as soon as any descriptor of the file is closed, and is no bar within one process.
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)

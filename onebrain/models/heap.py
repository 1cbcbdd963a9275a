"""Give freed memory back to the system. glibc keeps what a model leaves behind; without this an idle daemon looks as big as a busy one."""

from __future__ import annotations

import ctypes
import gc
import sys


def settle() -> None:
    """What lives now lives long: the collector looks at it no more. It did so in the middle of questions, 85 ms each time in a process that
    knows 2,700 notes, whenever a quarter more had come to live."""
    gc.collect()
    gc.freeze()


def release() -> None:
    """Collect cycles and trim the heap where the C library can."""
    gc.unfreeze()
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)

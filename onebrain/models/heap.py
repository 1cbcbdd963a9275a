"""Give freed memory back to the system. glibc keeps what a model leaves behind; without this an idle daemon looks as big as a busy one."""

from __future__ import annotations

import ctypes
import gc
import sys


def release() -> None:
    """Collect cycles and trim the heap where the C library can."""
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)

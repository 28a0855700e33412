"""Memory limits: checks that there is enough, and recognises exhausted memory; keeps freed memory.

Polars and Arrow do not survive an allocation that fails: they abort, or wait for ever for a thread
that never began. So where `ulimit -v` sets a limit, room is asked for before they are loaded.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import re
import sys

try:
    import resource
except ImportError:  # Windows sets no such limits
    _LIMITS: tuple[int, ...] = ()
else:
    _LIMITS = (resource.RLIMIT_AS, resource.RLIMIT_DATA)

START = 400_000_000
"""What NumPy and SciPy take: without it OpenBLAS ends the process by 1, or tries for ever."""
ENGINE = 1_800_000_000
"""The address space that Polars, Arrow and their threads take for a small file, and some spare."""
WRITTEN = 400_000_000
"""The part of `ENGINE` that is written to, which `ulimit -d` limits."""
START_WRITTEN = 250_000_000
_LITTLE = 200_000_000
"""If a limit leaves less than this, a crash is attributed to the limit."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""What `mallopt` of glibc calls how much may lie free, and what is given back at once."""
_KEPT, _LARGE = 2**28, 2**25
"""Bytes that may stay free; a larger allocation is returned at once."""

_WORDS = re.compile(
    r"cannot allocate|out of memory|failed to map segment|memory allocation|new thread"
    r"|spawn\w* (?:a )?thread|capacity overflow|resource temporarily unavailable",
    re.IGNORECASE,
)


def is_limited() -> bool:
    """Whether a limit is set on the memory of this process."""
    return any(resource.getrlimit(limit)[0] != resource.RLIM_INFINITY for limit in _LIMITS)


def has_room(size: int, written: int = 0) -> bool:
    """Whether the current limits leave room for a number of bytes, `written` of them written to."""
    if not is_limited():
        return True
    return _can_reserve(size, 0) and _can_reserve(written, mmap.PROT_READ | mmap.PROT_WRITE)


def has_room_for_engine(mapped: int = 0) -> bool:
    """Whether Polars can be loaded (unless it is) and this number of bytes mapped."""
    if "polars" in sys.modules:
        return not mapped or has_room(mapped)
    return has_room(ENGINE + mapped, WRITTEN)


def leave_by(code: int) -> None:
    """Sets the exit code of this process if a library calls C's `exit`, for example out of memory.

    Does nothing if memory has no limit, since it takes time.
    """
    if not is_limited():
        return
    import ctypes

    with contextlib.suppress(AttributeError, OSError):
        library = ctypes.CDLL(None)
        # What C calls at the end: `_exit(code)`, before anything else.
        library["__cxa_atexit"](library["_exit"], ctypes.c_void_p(code), None)


def keep_freed() -> None:
    """Lets a process that soon ends keep freed memory, for the next arrays of large tables.

    glibc returns it to the system at once, and the system clears it before it is used again: a
    tenth of the time to judge fifty thousand cells. Nothing changes with other C libraries.
    """
    # Windows takes no None, musl has no `mallopt`.
    with contextlib.suppress(ImportError, AttributeError, OSError, TypeError):
        import ctypes

        library = ctypes.CDLL(None)
        library.mallopt(_TRIM_THRESHOLD, _KEPT)
        library.mallopt(_MMAP_THRESHOLD, _LARGE)


def ran_out(error: BaseException) -> bool:
    """Whether an error, or what caused it, is that memory or threads ran out."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError):
            return True
        if isinstance(cause, OSError) and cause.errno == errno.ENOMEM:
            return True
        # A panic of Polars is not an `Exception`, and gives its reason only as text.
        of_library = isinstance(cause, ImportError | RuntimeError)
        if (of_library or not isinstance(cause, Exception)) and _WORDS.search(str(cause)):
            return True
        cause = cause.__cause__ or cause.__context__
    return not has_room(_LITTLE)


def _can_reserve(size: int, access: int) -> bool:
    """Whether this number of bytes can be allocated; they are freed untouched."""
    if not size:
        return True
    try:
        mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=access).close()
    except (OSError, ValueError, MemoryError):
        return False
    return True

"""Memory limits: checks that enough memory is left, recognises errors of memory, reuses memory.

Polars and Arrow abort or hang if an allocation fails. Therefore, if `ulimit -v` sets a limit, this
module checks that enough memory is left before they are loaded.
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
"""The address space of NumPy and SciPy. With less, OpenBLAS hangs or exits with code 1."""
START_WRITTEN = 250_000_000
"""The bytes of `START` that are written to; `ulimit -d` limits them."""
ENGINE = 1_800_000_000
"""The address space of Polars, Arrow and their threads for a small file, with a reserve."""
WRITTEN = 400_000_000
"""The bytes of `ENGINE` that are written to."""
_LITTLE = 200_000_000
"""If a limit leaves less than this, a crash is attributed to the limit."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""The numbers of these two parameters of `mallopt` in glibc."""
_KEPT, _LARGE = 2**28, 2**25
"""The freed bytes that the process keeps, and the size from which freed memory is not kept."""

_WORDS = re.compile(
    r"cannot allocate|out of memory|failed to map segment|memory allocation|new thread"
    r"|spawn\w* (?:a )?thread|capacity overflow|resource temporarily unavailable",
    re.IGNORECASE,
)


def is_limited() -> bool:
    """Whether a limit is set on the memory of this process."""
    return any(resource.getrlimit(limit)[0] != resource.RLIM_INFINITY for limit in _LIMITS)


def has_room(size: int, written: int = 0) -> bool:
    """Whether the limits leave room for `size` bytes, and for `written` bytes of data."""
    if not is_limited():
        return True
    return _can_reserve(size, 0) and _can_reserve(written, mmap.PROT_READ | mmap.PROT_WRITE)


def has_room_for_engine(mapped: int = 0) -> bool:
    """Whether memory suffices to load Polars (if it is not loaded) and to map `mapped` bytes."""
    if "polars" in sys.modules:
        return not mapped or has_room(mapped)
    return has_room(ENGINE + mapped, WRITTEN)


def leave_by(code: int) -> None:
    """Sets the exit code of this process for the case that a library calls C's `exit`.

    Libraries call `exit` if memory runs out. To save time, nothing happens if memory has no limit.
    """
    if not is_limited():
        return
    import ctypes

    with contextlib.suppress(AttributeError, OSError):
        library = ctypes.CDLL(None)
        # At the end of the process, C calls `_exit(code)` before anything else.
        library["__cxa_atexit"](library["_exit"], ctypes.c_void_p(code), None)


def keep_freed() -> None:
    """Lets a short process keep freed memory, and reuse it for the next large arrays.

    By default glibc returns freed memory to the system, which clears it before the next use. This
    takes a tenth of the time to judge 50,000 cells. Other C libraries are not changed.
    """
    # Windows does not accept None, and musl has no `mallopt`.
    with contextlib.suppress(ImportError, AttributeError, OSError, TypeError):
        import ctypes

        library = ctypes.CDLL(None)
        library.mallopt(_TRIM_THRESHOLD, _KEPT)
        library.mallopt(_MMAP_THRESHOLD, _LARGE)


def ran_out(error: BaseException) -> bool:
    """Whether an error or one of its causes means that memory or threads ran out."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError):
            return True
        if isinstance(cause, OSError) and cause.errno == errno.ENOMEM:
            return True
        # A panic of Polars is not an `Exception`, and states its reason only as text.
        of_library = isinstance(cause, ImportError | RuntimeError)
        if (of_library or not isinstance(cause, Exception)) and _WORDS.search(str(cause)):
            return True
        cause = cause.__cause__ or cause.__context__
    return not has_room(_LITTLE)


def _can_reserve(size: int, access: int) -> bool:
    """Whether `size` bytes can be allocated; they are freed at once."""
    if not size:
        return True
    try:
        mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=access).close()
    except (OSError, ValueError, MemoryError):
        return False
    return True

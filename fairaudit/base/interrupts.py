"""Ctrl-C: notices it from the start of the process; its exit code and its last line.

Python raises `KeyboardInterrupt` wherever it happens to be. In the middle of an import, or of a
library's own code, that may be swallowed, or come out as any other error; what was noticed stays.
"""

from __future__ import annotations

import os
import signal

CODE = 130
WORDS = "INTERRUPTED  no verdict"

_noticed = False


def listen() -> None:
    """Notices interrupts from now on, unless the parent process ignores them."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _notice)


def noticed() -> bool:
    """Whether there was one."""
    return _noticed


def _notice(_number: int, _frame: object) -> None:
    global _noticed  # noqa: PLW0603  # a signal is one of the whole process
    if _noticed:
        # The first one is being served, and somebody does not want to wait.
        os._exit(CODE)
    _noticed = True
    raise KeyboardInterrupt

"""Records Ctrl-C from the start of the process; the exit code and last line after Ctrl-C.

Python raises `KeyboardInterrupt` at any point of the program. An import or a library may hide this
exception, or turn it into another error. Therefore this module remembers that the user pressed
Ctrl-C.
"""

from __future__ import annotations

import os
import signal

CODE = 130
WORDS = "INTERRUPTED  no verdict"

_noticed = False


def listen() -> None:
    """Records Ctrl-C from now on, unless the parent process ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _notice)


def noticed() -> bool:
    """Whether the user pressed Ctrl-C."""
    return _noticed


def _notice(_number: int, _frame: object) -> None:
    global _noticed  # noqa: PLW0603  # a signal concerns the whole process
    if _noticed:
        # The first Ctrl-C is still being handled, and the user does not want to wait.
        os._exit(CODE)
    _noticed = True
    raise KeyboardInterrupt

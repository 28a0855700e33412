"""Entry point of the process: starts the command line, and exits with its code.

Python's own code for an error is 1, which here says that a check failed.
"""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_NO_VERDICT = 2


def main() -> NoReturn:
    """Runs the command and exits with its code."""
    code = _NO_VERDICT
    # Little of what a command makes is ever garbage, and what it loads least of all.
    gc.set_threshold(1_000_000, 50, 50)
    try:
        from fairaudit.base import interrupts

        interrupts.listen()
        from fairaudit.cli import main as run_command

        code = run_command(sys.argv[1:])
    except BaseException as error:  # noqa: BLE001  # memory may be too short to load what words it
        code = _end_early(error)
    finally:
        # All is written and closed: taking Polars and Arrow apart again would only cost time.
        os._exit(code)


def _end_early(error: BaseException) -> int:
    """Writes, with what is loaded already, why the command could not begin; its exit code."""
    if isinstance(error, MemoryError):
        _write("out of memory\nERROR  no verdict")
        return _NO_VERDICT
    from fairaudit.base import interrupts

    if isinstance(error, KeyboardInterrupt) or interrupts.noticed():
        _write(interrupts.WORDS)
        return interrupts.CODE
    from fairaudit.base import memory
    from fairaudit.base.errors import OutOfMemory

    is_memory = isinstance(error, OutOfMemory) or memory.ran_out(error)
    what = "out of memory" if is_memory else f"internal error in fairaudit: {error!r:.200}"
    _write(f"{what}\nERROR  no verdict")
    return _NO_VERDICT


def _write(words: str) -> None:
    try:  # noqa: SIM105  # contextlib need not be there
        os.write(2, f"{words}\n".encode(errors="backslashreplace"))
    except OSError:
        pass


if __name__ == "__main__":
    main()

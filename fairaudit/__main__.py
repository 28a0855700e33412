"""The command, from its first moment on: whatever happens, it ends with a code of its own.

Python's own code for an error is 1, which here says that a check failed.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_NO_VERDICT = 2


def main() -> NoReturn:
    """Runs the command and exits with its code."""
    code = _NO_VERDICT
    try:
        from fairaudit import interrupts

        interrupts.listen()
        from fairaudit.cli import main as carried_out

        code = carried_out(sys.argv[1:])
    except BaseException as error:  # noqa: BLE001  # memory may be too short to load what tells it
        code = _without_command(error)
    finally:
        # All is written and closed: taking Polars and Arrow apart again would only cost time.
        os._exit(code)


def _without_command(error: BaseException) -> int:
    """Tells with what is there already why the command could not even begin; the exit code."""
    if isinstance(error, MemoryError):
        _say("out of memory\nERROR  no verdict")
        return _NO_VERDICT
    from fairaudit import interrupts

    if isinstance(error, KeyboardInterrupt) or interrupts.noticed():
        _say(interrupts.WORDS)
        return interrupts.CODE
    what = "out of memory" if _is_memory(error) else f"fairaudit itself failed: {error!r:.200}"
    _say(f"{what}\nERROR  no verdict")
    return _NO_VERDICT


def _is_memory(error: BaseException) -> bool:
    from fairaudit import memory
    from fairaudit.errors import OutOfMemory

    return isinstance(error, OutOfMemory) or memory.ran_out(error)


def _say(words: str) -> None:
    try:  # noqa: SIM105  # contextlib need not be there
        os.write(2, f"{words}\n".encode(errors="backslashreplace"))
    except OSError:
        pass


if __name__ == "__main__":
    main()

"""How the files of a pass are opened and checked, in the memory that there is."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from fairaudit import memory
from fairaudit.engine.copies import Copies
from fairaudit.engine.files import name_file
from fairaudit.engine.formats import format_of
from fairaudit.engine.sources import CheckedFile, SourceFile, inspect_file
from fairaudit.errors import OutOfMemory, UsageError
from fairaudit.names import quoted
from fairaudit.plan import Plan
from fairaudit.progress import SILENT, Progress
from fairaudit.spec import CsvFormat

_THREADS = "POLARS_MAX_THREADS"


def begin_pass(paths: Sequence[Path]) -> Copies:
    """Room for the copies that a pass makes; raises `OutOfMemory` where there is none for itself.

    A limit on memory that is met in the middle of it would abort Polars, or let it wait for ever.
    """
    if memory.is_limited():
        mapped = sum(path.stat().st_size for path in paths if _is_mapped(path))
        if not memory.has_room_for_engine(mapped):
            room = f"{(memory.ENGINE + mapped) / 1e9:.1f} GB of address space"
            written = f"{memory.WRITTEN / 1e9:.1f} GB of data"
            raise OutOfMemory(f"out of memory: an audit of these files needs {room}, {written}")
    return Copies()


def _is_mapped(path: Path) -> bool:
    """Whether a file takes address space of its size while it is read."""
    form = format_of(path)
    return form is not None and form.is_text


def open_file(path: Path, form: CsvFormat, copies: Copies) -> SourceFile:
    """A file with its columns."""
    threads = os.environ.get(_THREADS)
    if threads is not None and not re.fullmatch(r"0*[1-9][0-9]{0,2}", threads):
        what = f"{_THREADS} is {quoted(threads)}, which is no number of threads"
        raise UsageError(what, f"unset {_THREADS}, or set it to a whole number from 1 to 999")
    file = inspect_file(path, name_file(path))
    return file.reader.read_columns(file, form, copies)


def thread_count() -> int:
    """As many threads as Polars takes: the machine's, or as its variable says."""
    setting = os.environ.get(_THREADS, "")
    return int(setting) if setting.isdecimal() and int(setting) else os.cpu_count() or 1


def check_file(
    file: SourceFile, plans: Sequence[Plan], copies: Copies, progress: Progress = SILENT
) -> CheckedFile:
    """A file once all is proven that the passes of these plans rely on."""
    return file.reader.check_file(file, plans, copies, progress)

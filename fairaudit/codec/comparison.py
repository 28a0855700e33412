"""The document of a comparison of two results: of all documents only this one needs `compare`."""

from __future__ import annotations

from typing import Annotated

from fairaudit.codec import Writer
from fairaudit.compare import Changes
from fairaudit.frozen import Frozen, field
from fairaudit.json_marks import FLAT, Member


class Comparison(Frozen):
    """A comparison of two results; `exit_code` is that of the command."""

    exit_code: Annotated[int, Member("summary.exit_code")]
    changes: Annotated[Changes, FLAT]
    writer: Annotated[Writer, FLAT] = field(default_factory=Writer)

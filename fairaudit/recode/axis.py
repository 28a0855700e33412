"""One recoded column: a code for every cell, and which cells are missing or leave the audit."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fairaudit.counts import RawKey
from fairaudit.cube import Ints, KeyColumn, Marks
from fairaudit.disclosure import Notice
from fairaudit.errors import Fault
from fairaudit.plan import MISSING
from fairaudit.spec import MissingPolicy

DROP = -2
"""The code of a raw value whose rows leave the audit."""


@dataclass(slots=True)
class Axis:
    """One recoded column: its key, a code for each cell, and which cells are missing.

    `rule` is what `missing:` calls its policy. `words` are the texts that mean missing in this
    column, beside the tokens of the spec.
    """

    key: KeyColumn
    codes: Ints
    column: str
    rule: str
    policy: MissingPolicy
    missing: Marks
    dropped_values: Marks
    words: tuple[str, ...] = ()


@dataclass(slots=True)
class Findings:
    """What is found on the way: faults that refuse the data, notices that do not."""

    faults: list[Fault] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)


def with_missing_last(raw_key: RawKey) -> Ints:
    """The codes of intervals, a missing number as the one after the last."""
    last = len(raw_key.key.edges or ()) + 1
    return np.where(raw_key.codes == MISSING, last, raw_key.codes)

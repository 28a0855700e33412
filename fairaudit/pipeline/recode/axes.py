"""`Axis`: the type of a recoded column: codes, missing cells; refuses rows without `cluster`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct, field

from fairaudit.base.arrays import Ints
from fairaudit.base.errors import DataError, Fault, Faults, Seek
from fairaudit.base.names import quoted
from fairaudit.base.notice import Notice
from fairaudit.counting.counts import Counts
from fairaudit.counting.plan import MISSING
from fairaudit.counting.raw_keys import RawKey
from fairaudit.cube import KeyColumn, Marks
from fairaudit.spec import MissingPolicy

DROP = -2
"""The code of a raw value whose rows leave the audit."""


class Axis(Struct):
    """One recoded column: its key, a code for each cell, and which cells are missing.

    `rule` is what `missing:` calls its policy. `words` are the texts that mean missing in this
    column, beside the tokens of the spec. `alike` are the levels that look like one, and `joined`
    the codes if they were, None where there are none.
    """

    key: KeyColumn
    codes: Ints
    column: str
    rule: str
    policy: MissingPolicy
    missing: Marks
    words: tuple[str, ...] = ()
    alike: Sequence[Sequence[str]] = ()
    joined: Ints | None = None

    @property
    def written_rule(self) -> str:
        """The key of `missing` that says what becomes of it; a decision has its own."""
        is_decision = self.rule == "prediction" and self.key.name == "decision"
        return "decision" if is_decision else self.rule

    @property
    def leaves_as_missing(self) -> Marks:
        """The cells that leave the audit because their value is missing."""
        return np.asarray(self.missing & (self.codes == DROP))

    @property
    def leaves_by_value(self) -> Marks:
        """The cells that leave the audit for their value (`others: drop`)."""
        return np.asarray(~self.missing & (self.codes == DROP))


class Problems(Struct):
    """What is wrong with the data: faults, which refuse it, and notices, which do not."""

    faults: list[Fault] = field(default_factory=Faults)
    notices: list[Notice] = field(default_factory=list)


def with_missing_last(raw_key: RawKey) -> Ints:
    """The codes of intervals, a missing number as the one after the last."""
    last = len(raw_key.key.edges or ()) + 1
    return np.where(raw_key.codes == MISSING, last, raw_key.codes)


def cluster_codes(counts: Counts) -> Ints | None:
    """The number of the cluster of each raw cell; None where the spec names no clusters.

    Raises `DataError` for rows that the filter keeps and that lack a cluster: whoever belongs to an
    unknown one may belong with anybody.
    """
    if counts.plan.cluster is None:
        return None
    raw = counts.text_key(counts.plan.cluster)
    number: dict[str, int] = {}
    missing = {None, *counts.plan.tokens}
    texts = [None if level is None else level.strip() for level in raw.levels]
    places = [
        -1 if text is None or text in missing else number.setdefault(text, len(number))
        for text in texts
    ]
    codes = np.array(places, dtype=np.int64)[raw.codes]
    lacking = int(counts.rows[(counts.kept == 1) & (codes < 0)].sum())
    if lacking:
        raise DataError(
            f"{lacking:,} {'row has' if lacking == 1 else 'rows have'} no value in the cluster "
            f"{quoted(counts.plan.cluster)}",
            "give each independent row its own cluster, or exclude these rows with a filter",
            seek=Seek(counts.plan.cluster, (None, *counts.plan.tokens)),
        )
    return codes

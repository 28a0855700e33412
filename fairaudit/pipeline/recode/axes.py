"""`Axis`: a recoded column with its codes and missing cells; the codes of clusters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct, field

from fairaudit.base.arrays import Ints
from fairaudit.base.disclosure_marks import Notice
from fairaudit.base.errors import DataError, Fault, Faults, Seek
from fairaudit.base.names import quoted
from fairaudit.counting.counts import Counts
from fairaudit.counting.plan import MISSING
from fairaudit.counting.raw_keys import RawKey
from fairaudit.cube import KeyColumn, Marks, SampleStrata
from fairaudit.spec import MissingPolicy

DROP = -2
"""The code of a raw value whose rows leave the audit."""


class Axis(Struct):
    """A recoded column: its key, a code for each cell, and which cells are missing.

    `rule` is the key of its policy in `missing:`. `words` are the texts that mean missing in this
    column, in addition to the tokens of the spec. `alike` are the sets of levels with similar
    spelling, and `joined` the codes after joining them, or None without such levels.
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
        """The key of `missing` for this column, as the user writes it: a decision has its own."""
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
    """The problems of the data: faults, which refuse the data, and notices, which do not."""

    faults: list[Fault] = field(default_factory=Faults)
    notices: list[Notice] = field(default_factory=list)


def with_missing_last(raw_key: RawKey) -> Ints:
    """The codes of intervals; a missing number has the code after the last interval."""
    last = len(raw_key.key.edges or ()) + 1
    return np.where(raw_key.codes == MISSING, last, raw_key.codes)


def cluster_codes(counts: Counts) -> tuple[Ints, SampleStrata | None] | None:
    """The number of the cluster of each raw cell, and the strata of the sample; None without any.

    The same cluster name in two strata means two clusters. The units of a stratum include those
    that a filter removes: a part of a sample has the design of the whole sample. Raises `DataError`
    for rows that the filter keeps and that have no cluster.
    """
    if counts.plan.cluster is None:
        return None
    codes = _number_levels(counts, counts.plan.cluster, "cluster", "give each independent row its "
                           "own cluster")  # fmt: skip
    if counts.plan.sample_strata is None:
        return codes, None
    stratum = _number_levels(counts, counts.plan.sample_strata, "stratum of the sample",
                             "give them a stratum")  # fmt: skip
    known = (codes >= 0) & (stratum >= 0)
    drawn, index = np.unique(np.stack([stratum, codes])[:, known], axis=1, return_inverse=True)
    codes = np.full(len(codes), -1, dtype=np.int64)
    codes[known] = index
    return codes, SampleStrata(drawn[0], np.bincount(drawn[0]))


def _number_levels(counts: Counts, column: str, what: str, remedy: str) -> Ints:
    """The number of the level of each raw cell; raises `DataError` if a kept row has no level."""
    raw = counts.text_key(column)
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
            f"{lacking:,} {'row has' if lacking == 1 else 'rows have'} no value in the {what} "
            f"{quoted(column)}",
            f"{remedy}, or exclude these rows with a filter",
            seek=Seek(column, (None, *counts.plan.tokens)),
        )
    return codes

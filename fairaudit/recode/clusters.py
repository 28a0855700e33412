"""Clusters: which rows belong together, by the level of a column that nobody is grouped by."""

from __future__ import annotations

import numpy as np

from fairaudit.arrays import Ints
from fairaudit.counts import Counts
from fairaudit.errors import DataError, Seek
from fairaudit.names import quoted


def cluster_codes(
    counts: Counts,
) -> Ints | None:
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
            "give each row that belongs to no other one a cluster of its own, or filter such rows",
            seek=Seek(counts.plan.cluster, (None, *counts.plan.tokens)),
        )
    return codes

"""What a reader should know beside the tables: models at unequal rates, where a median lies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from fairaudit.cube import GroupTable
from fairaudit.histogram import median_bin
from fairaudit.metrics.counts import tally_of
from fairaudit.metrics.rates import SELECTION_RATE
from fairaudit.metrics.scores import SCORING_RATE
from fairaudit.spec import Shown
from fairaudit.tables.entries import TableOf, quantities

_ONE_POINT = 0.01


def unequal_rates(table: TableOf, models: Iterable[str]) -> Iterator[str]:
    """Predictions that select more people than others by over a point.

    Žliobaitė (2015) §4 compares classifiers only at equal rates: at unequal ones a difference of
    selection rates is partly one of how many are selected at all.
    """
    readings = {name: SELECTION_RATE.read(tally_of(table((), (), name))) for name in models}
    known = {
        name: float(one.value[0, 0])
        for name, one in readings.items()
        if one.value.size and not np.isnan(one.value[0, 0])
    }
    if known and max(known.values()) - min(known.values()) > _ONE_POINT:
        listed = ", ".join(f"{name} {value:.1%}" for name, value in known.items())
        yield (
            f"the models do not select equally many ({listed}): compare their disparities by "
            "`normalized_difference`, which takes account of that"
        )


def medians(table: TableOf, shown: Iterable[Shown]) -> Iterator[str]:
    """Where the median lies that scoring rates are taken above, and how many share it."""
    asked = {one.of for one in shown if SCORING_RATE in quantities(one.asked)}
    for of in sorted(asked):
        yield from _median_of(table((), (), of))


def _median_of(table: GroupTable) -> Iterator[str]:
    scores = tally_of(table).scores
    if scores is None or not scores.everybody.sum():
        return
    people = scores.everybody
    at = median_bin(people)
    low, high = float(scores.low[at]), float(scores.high[at])
    where = f"{low:g}" if low == high else f"between {low:g} and {high:g}"
    above, below = int(people[at + 1 :].sum()), int(people[:at].sum())
    yield (
        f"{table.of}: the median of the score is {where}: {above:,} above, "
        f"{int(people[at]):,} at it, {below:,} below"
    )

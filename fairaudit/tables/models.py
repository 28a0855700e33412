"""Every two models of a spec on the same rows: which groups one treats unlike the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from fairaudit.cube import GroupTable
from fairaudit.estimate import Significance
from fairaudit.evidence import corrected, pairs_tested
from fairaudit.metrics import Quantity, paired, participants, standing_of
from fairaudit.metrics.reading import read, tally_for
from fairaudit.result import ModelChange
from fairaudit.spec import Shown
from fairaudit.tables.entries import TableOf, asked_of, quantities


def model_changes(
    table: TableOf, shown: Sequence[Shown], models: Sequence[str]
) -> Iterator[ModelChange]:
    """A row for each rate of two models that counts the same people, of everybody and each group.

    Of the rates that a spec names for any of its models; none by a threshold, of one class, or
    averaged, for which no person is a hit or not.
    """
    plain = [
        one
        for one in shown
        if one.of in models and one.at is None and one.of_class is None and one.average is None
    ]
    for first, second in combinations(models, 2):
        seen: set[tuple[object, ...]] = set()
        for one, by, given in asked_of(plain, everybody=True):
            for quantity in quantities(one.asked):
                if (quantity.id, by, given) not in seen:
                    seen.add((quantity.id, by, given))
                    yield from _rows(quantity, one, table(by, given, first, second), second)


def _rows(quantity: Quantity, one: Shown, table: GroupTable, second: str) -> Iterator[ModelChange]:
    """The rows of one rate, corrected over the groups of each stratum."""
    pairs = paired(quantity, table)
    if pairs is None:
        return
    reading = read(quantity, tally_for(quantity, table))
    takes_part = participants(table, reading, one.minimum)
    alpha = one.inference.alpha
    low, high = pairs.ends(alpha)
    tests = pairs_tested(pairs, (quantity.id, "paired"))
    value = pairs.difference
    cells = np.stack([pairs.both, pairs.first, pairs.second, pairs.neither])
    total = cells.sum(axis=0)
    for z, stratum in enumerate(table.strata):
        p = np.where(takes_part[z] & (total[z] > 0), tests.p[z], np.nan)
        adjusted = corrected(p, one.inference.correction)
        family = int(np.count_nonzero(~np.isnan(p)))
        for g, group in enumerate(table.groups):
            if not total[z, g] > 0:
                continue
            n = int(reading.n[z, g])
            standing = standing_of(table, g, n, one.minimum, takes_part=bool(takes_part[z, g]))
            both, mine, theirs, _ = cells[:, z, g]
            significance = None
            if not np.isnan(p[g]):
                significance = Significance(
                    tests.name(z, g),
                    float(p[g]),
                    float(adjusted[g]),
                    family,
                    one.inference.correction.words,
                )
            yield ModelChange(
                metric=quantity.id,
                first=table.of,
                second=second,
                by=table.by,
                stratum=stratum,
                group=group,
                standing=standing,
                n=n,
                **_counts(cells[:, z, g], weighted=pairs.weighted),
                first_value=float((both + mine) / total[z, g]),
                second_value=float((both + theirs) / total[z, g]),
                difference=0.0 - float(value[z, g]),
                low=0.0 - float(high[z, g]),
                high=0.0 - float(low[z, g]),
                significance=significance,
            )


def _counts(
    cells: np.ndarray[tuple[int, ...], np.dtype[np.float64]], *, weighted: bool
) -> dict[str, int | None]:
    """Who is a hit of both, of one alone, of neither; None under survey weights."""
    names = ("both", "first_only", "second_only", "neither")
    return {
        name: None if weighted else round(float(cell))
        for name, cell in zip(names, cells, strict=True)
    }

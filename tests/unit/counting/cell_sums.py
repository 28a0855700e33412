"""What the cells of counts hold, by raw levels: equal for every route."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from fairaudit.counting.counts import Counts


def tally(cells: Counts) -> Counter[tuple[str | None, ...]]:
    """Rows by raw levels."""
    found: Counter[tuple[str | None, ...]] = Counter()
    for at, rows in enumerate(cells.rows.tolist()):
        found[tuple(key.levels[key.codes[at]] for key in cells.keys)] += rows
    return found


def sums(cells: Counts) -> dict[tuple[object, ...], list[Fraction]]:
    """Rows, people, weights and squares by raw levels and intervals, exactly."""
    found: dict[tuple[object, ...], list[Fraction]] = {}
    for at in range(len(cells.rows)):
        codes = [(key, int(key.codes[at])) for key in cells.keys]
        group = tuple(key.levels[code] if key.levels else code for key, code in codes)
        measured = [Fraction(int(cells.rows[at])), Fraction(int(cells.people[at]))]
        weights = cells.weights
        sums = () if weights is None else (weights.total, weights.squares)
        measured += [Fraction(int(one.values[at]), one.scale) for one in sums]
        old = found.get(group, [Fraction(0)] * len(measured))
        found[group] = [one + two for one, two in zip(old, measured, strict=True)]
    return found

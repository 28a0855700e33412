"""What stands behind a value: the two sides that were compared, each with its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fairaudit.cube import Floats, Group
from fairaudit.estimate import Estimate
from fairaudit.metrics import NOBODY, Evaluation, Measure, Rate, Reading
from fairaudit.stats import proportions

CONFIDENCE = 0.95
"""The level of every interval."""


@dataclass(frozen=True, slots=True)
class Side:
    """A group (or a crowd: `rest`, `overall`) with its value."""

    group: Group
    estimate: Estimate
    crowd: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """One comparison behind a value: of which rate (or outcome), its value, and both sides."""

    metric: str
    value: float
    first: Side | None = None
    second: Side | None = None
    outcome: str | None = None


def interval(reading: Reading) -> tuple[Floats, Floats]:
    """The bounds of each value, [Z, G]; NaN where the quantity has no interval.

    A proportion gets Wilson's; under survey weights with the effective size in place of n. What is
    averaged over strata has no denominator of its own, and none.
    """
    quantity = reading.quantity
    if not isinstance(quantity, Rate) or not quantity.proportion or reading.under is None:
        nothing = np.full_like(reading.value, np.nan)
        return nothing, nothing
    return proportions.wilson(reading.value, reading.size, 1 - CONFIDENCE)


def estimate_at(reading: Reading, z: int, g: int) -> Estimate:
    """One value of a reading with its counts and interval."""
    known = reading.estimates
    if (z, g) not in known:
        if not reading.intervals:
            reading.intervals.append(interval(reading))
        low, high = reading.intervals[0]
        known[z, g] = _estimate(reading, (float(low[z, g]), float(high[z, g])), (z, g))
    return known[z, g]


def parts_of(evaluation: Evaluation, z: int, w: int) -> tuple[Part, ...]:
    """The comparisons behind one value, both sides of each."""
    if evaluation.parts:
        return tuple(part for one in evaluation.parts for part in parts_of(one, z, w))
    if evaluation.whole is not None:
        return _outcome_parts(evaluation, z)
    reading = evaluation.reading
    if reading is None or not isinstance(evaluation.asked, Measure):
        return ()
    first, second = int(evaluation.first[z, w]), int(evaluation.second[z, w])
    return (
        Part(
            reading.quantity.id,
            float(evaluation.value[z, w]),
            None if first == NOBODY else _side(evaluation, reading, z, first),
            _other_side(evaluation, z, w, second),
        ),
    )


def _other_side(evaluation: Evaluation, z: int, w: int, second: int) -> Side | None:
    if second != NOBODY and evaluation.averaged is not None and evaluation.against is not None:
        # Averaged over the strata that both sides share, so beside each group another number.
        return Side(evaluation.table.groups[second], estimate_at(evaluation.against, z, w))
    if second != NOBODY and evaluation.reading is not None:
        return _side(evaluation, evaluation.reading, z, second)
    if evaluation.against is None or evaluation.terms.reference is None:
        return None
    one = estimate_at(evaluation.against, z, w)
    return Side((), one, crowd=str(evaluation.terms.reference.policy))


def _side(evaluation: Evaluation, reading: Reading, z: int, g: int) -> Side:
    return Side(evaluation.table.groups[g], estimate_at(reading, z, g))


def _estimate(reading: Reading, bounds: tuple[float, float], at: tuple[int, int]) -> Estimate:
    low, high = bounds
    return Estimate(
        value=float(reading.value[at]),
        n=int(reading.n[at]),
        numerator=None if reading.over is None else int(reading.over[at]),
        denominator=None if reading.under is None else int(reading.under[at]),
        scale=reading.scale,
        low=None if math.isnan(low) else low,
        high=None if math.isnan(high) else high,
        error=0.0 if reading.error is None else float(reading.error[at]),
    )


def _outcome_parts(evaluation: Evaluation, z: int) -> tuple[Part, ...]:
    """The pair and outcome that attain ε; both of them where two ε are subtracted."""
    whole = evaluation.whole
    assert whole is not None
    groups = evaluation.table.groups
    found = []
    for name, one in whole.parts or ((evaluation.asked.id, whole),):
        y = int(one.outcome[z])
        if y == NOBODY:
            if whole.parts:
                found.append(Part(name, float(one.value[z])))
            continue
        sides = []
        for g in (int(one.high[z]), int(one.low[z])):
            count, total = float(one.counts[z, y, g]), float(one.counts[z, :, g].sum())
            whole_numbers = evaluation.table.squares is None
            sides.append(
                Side(
                    groups[g],
                    Estimate(
                        value=count / total if total else float("nan"),
                        n=int(one.n[z, g]),
                        numerator=round(count) if whole_numbers else None,
                        denominator=round(total) if whole_numbers else None,
                    ),
                )
            )
        found.append(Part(name, float(one.value[z]), sides[0], sides[1], one.outcomes[y]))
    return tuple(found)

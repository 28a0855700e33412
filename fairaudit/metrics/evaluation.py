"""What comes of asking one measure of one table: values, pairs, and the terms it was asked on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, TypeAlias

import numpy as np

from fairaudit.cube import Floats, GroupTable, Ints, Marks
from fairaudit.members import FLAT, Member
from fairaudit.metrics.average import Average, StratifiedAverages
from fairaudit.metrics.disparities import Comparison, Disparity, TableMetric, TableValue
from fairaudit.metrics.group_metrics import GroupMetric, GroupValues
from fairaudit.metrics.inference import DEFAULT_INFERENCE, Inference
from fairaudit.metrics.minimum import NO_MINIMUM, Minimum
from fairaudit.metrics.records import NO_PARAMETERS, Parameters
from fairaudit.metrics.reference import NO_GROUP, Reference, ReferencePolicy

Metric: TypeAlias = GroupMetric | Disparity | TableMetric


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms a measure is asked: the reference, who is large enough, its parameters.

    `average` says how rates are averaged over the strata before they are compared; `of_class` which
    class counts as positive against all others, `at` from which score on somebody is selected;
    `inference` how sure the answer is to be.
    """

    reference: Reference | None = None
    minimum: Annotated[Minimum, FLAT] = NO_MINIMUM
    parameters: Parameters = NO_PARAMETERS
    average: Average | None = None
    of_class: Annotated[str | None, Member("class")] = None
    at: Annotated[Decimal | None, Member(text=True)] = None
    inference: Inference = DEFAULT_INFERENCE

    @property
    def policy(self) -> ReferencePolicy | None:
        """Whom groups are compared with; None where there is no reference."""
        return None if self.reference is None else self.reference.policy


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Evaluation:
    """One measure on one table.

    `value` is [Z, W]: W = G where each group has a value, 1 for a spread. `first` and `second` are
    the groups compared (group and reference, or highest and lowest), `NOBODY` for a crowd. `judged`
    marks the entries that answer: those of groups that take part, other than the reference itself.
    `takes_part` is [Z, G]; `attained` is the part (or the outcome) that decides, among `names`.
    `error` [Z, W] bounds what the bins of a score hide. Where strata are averaged, `table` has none
    left, `strata` is the table that has them, and `averaged` holds their weights. `averaged_parts`
    are the parts of what was averaged over groups.
    """

    metric: Metric
    table: GroupTable
    terms: Terms
    value: Floats
    first: Ints
    second: Ints
    judged: Marks
    takes_part: Marks
    names: tuple[str, ...] = ()
    attained: Ints | None = None
    parts: tuple[Evaluation, ...] = ()
    group_values: GroupValues | None = None
    reference_values: GroupValues | None = None
    error: Floats | None = None
    fraction: Callable[[int, int], Fraction | None] | None = None
    table_value: TableValue | None = None
    strata: GroupTable | None = None
    averaged: StratifiedAverages | None = None
    averaged_parts: tuple[Evaluation, ...] = ()

    @property
    def leaves(self) -> tuple[Evaluation, ...]:
        """The evaluations of one quantity each that it is made of."""
        inner = self.parts or self.averaged_parts
        return tuple(leaf for one in inner for leaf in one.leaves) if inner else (self,)

    @property
    def spread(self) -> bool:
        """Whether there is one value a stratum, not one a group."""
        return isinstance(self.metric, TableMetric) or (
            isinstance(self.metric, Disparity)
            and (self.metric.mean or not self.metric.to_reference)
        )

    @property
    def subtracts(self) -> bool:
        """Whether it is one outcome's value less another's: both are its parts."""
        return bool(self.parts) and self.parts[0].metric is self.metric

    def decided_by(self, z: int, w: int) -> str | None:
        """The part (a rate, an outcome) that decides a value; None where all parts do."""
        if self.attained is None or not self.names:
            return None
        at = int(self.attained[z, w])
        return None if at == NO_GROUP else self.names[at]

    def exact(self, z: int, w: int) -> Fraction | None:
        """The value as a fraction; None where it is no rational number."""
        if not isinstance(self.metric, GroupMetric) and not np.isfinite(self.value[z, w]):
            return None
        if self.fraction is not None:
            return self.fraction(z, w)
        if not self.parts or not isinstance(self.metric, Disparity):
            return None
        parts = [part.exact(z, w) for part in self.parts]
        known = [part for part in parts if part is not None]
        return self.metric.fold.exact(known) if len(known) == len(parts) else None


def evaluate_to_reference(  # the pieces of one evaluation, gathered by its callers
    measure: Disparity,
    table: GroupTable,
    terms: Terms,
    readings: tuple[GroupValues, GroupValues],
    value: Floats,
    takes_part: Marks,
    place: tuple[Ints | None, Marks],
    exact: Callable[[int, int], Fraction | None],
) -> Evaluation:
    """Each group beside its reference: `place` is the index of that, and where it can be used."""
    index, usable = place
    reading, against = readings
    index = np.full((len(usable), 1), NO_GROUP) if index is None else index
    own = np.broadcast_to(np.arange(len(table.groups)), value.shape)
    # Where there is no reference to use, nobody is it: every group is left without a value.
    second = np.where(usable, np.broadcast_to(index, value.shape), NO_GROUP)
    usable = usable & (takes_part.sum(axis=1, keepdims=True) >= 2)
    return Evaluation(
        metric=measure,
        table=table,
        terms=terms,
        value=np.where(usable & takes_part, value, np.nan),
        first=own,
        second=second,
        judged=takes_part & (own != second),
        takes_part=takes_part,
        group_values=reading,
        reference_values=against,
        error=_error_to_reference(measure.comparison, reading, against),
        fraction=exact,
    )


def _error_to_reference(
    comparison: Comparison, reading: GroupValues, against: GroupValues
) -> Floats | None:
    """How far a comparison may be off for what bins hide on both sides."""
    if reading.error is None or against.error is None:
        return None
    if not comparison.quotient:
        return np.asarray(reading.error + against.error)
    with np.errstate(divide="ignore", invalid="ignore"):
        most = (reading.value + reading.error) / np.maximum(against.value - against.error, 0.0)
        return np.asarray(most - reading.value / against.value)

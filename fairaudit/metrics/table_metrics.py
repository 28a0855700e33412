"""`TableMetric`, a metric with one value for a whole table, and its `TableValue`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fairaudit.base.arrays import Alpha, Ends
from fairaudit.base.frozen import Frozen, replace
from fairaudit.cube import Floats, GroupTable, Ints, Marks
from fairaudit.metrics.definitions import Bounds, CatalogueEntry, Requirement
from fairaudit.metrics.group_metrics import GroupMetric
from fairaudit.metrics.terms import NO_PARAMETERS, Minimum, Parameters


class TableMetric(CatalogueEntry, kw_only=True):
    """A metric of a whole table that is not a comparison of rates, such as differential fairness.

    `interval` returns the ends [Z] of its interval by the method in `method`, `independence` the
    tables [Z, classes, G] in which classes are independent of groups under no disparity;
    `information` selects the likelihood-ratio test of them. Tables of two classes are those of a
    rate with the `cells`. If it is `of_log_ratios` of rates (with two outcomes), a limit
    applies to the log-ratio of each pair. `p_of` returns the p-values [Z] of the `test`. `value_at`
    computes a number that depends on the confidence: it also takes α. `varies_by_cluster`: its
    variance between clusters is known. `subtracts_label`: it is a number of the decisions minus
    that of the labels, of people with both. `parity` describes the value of equal groups if it is
    not one number for all data, and `ideal` does not apply. If it `judges_all_attributes`, an
    entry without a grouping checks all attributes together. `no_test` says why its interval cannot
    be used as a test of no disparity.
    """

    value_of: Callable[[GroupTable, Minimum, Parameters], TableValue]
    formula: str
    requirements: frozenset[Requirement] = frozenset({Requirement.CLASSES})
    ideal: int = 0
    parity: str = ""
    bounds: Bounds = (0, None)
    parameters: tuple[str, ...] = ()
    conditional: bool = False
    undefined: str = "an outcome that never varies, or a group without a known one"
    interval: Callable[[GroupTable, Minimum, Parameters, Alpha], Ends] | None = None
    method: str = ""
    independence: Callable[[GroupTable, Minimum, Parameters], Sequence[Floats]] | None = None
    cells: frozenset[str] = frozenset({"selected", "rejected"})
    information: bool = False
    of_log_ratios: tuple[GroupMetric, ...] = ()
    p_of: Callable[[GroupTable, Minimum, Parameters], Floats] | None = None
    value_at: Callable[[GroupTable, Minimum, Parameters, float], TableValue] | None = None
    varies_by_cluster: bool = False
    subtracts_label: bool = False
    judges_all_attributes: bool = False
    no_test: str = ""

    def compute(
        self, table: GroupTable, minimum: Minimum, parameters: Parameters, alpha: float
    ) -> TableValue:
        """The number for a table, with `alpha` if it depends on the confidence."""
        if self.value_at is not None:
            return self.value_at(table, minimum, parameters, alpha)
        value = self.value_of(table, minimum, parameters)
        if "towards" in self.parameters and parameters.per_outcome(1):
            raw = self.value_of(table, minimum, NO_PARAMETERS)
            value = replace(value, unsmoothed=raw.value)
        return value


class TableValue(Frozen):
    """A number of a whole table, [Z]: value, and the pair and outcome that attain it.

    Indices are -1 without such a pair. `takes_part` and `n` (people in the denominator) are
    [Z, G]; `counts` [Z, Y, G] are the outcomes before smoothing, if the value uses them,
    `everybody` [Z, Y, 1] those of all known groups together, `overall` [Z, Y, 1] the shares of all
    groups that take part. `unsmoothed` is the value without pseudo-counts, if it has any.
    """

    value: Floats
    outcome: Ints
    highest_group: Ints
    lowest_group: Ints
    takes_part: Marks
    n: Ints
    counts: Floats
    outcomes: tuple[str, ...]
    parts: tuple[tuple[str, TableValue], ...] = ()
    error: Floats | None = None
    everybody: Ints | None = None
    overall: Floats | None = None
    unsmoothed: Floats | None = None

    @classmethod
    def of(
        cls,
        value: Floats,
        takes_part: Marks,
        n: Ints,
        *,
        defined: Marks | None = None,
        high: Ints | None = None,
        low: Ints | None = None,
        error: Floats | None = None,
    ) -> TableValue:
        """A number that is not attained by one outcome; NaN where not `defined` [Z]."""
        is_defined = np.ones(len(value), np.bool_) if defined is None else defined
        nobody = np.full(len(value), -1, dtype=np.int64)
        highest, lowest = (
            nobody if index is None else np.where(is_defined, index, -1) for index in (high, low)
        )
        counts = n[:, None].astype(np.float64)
        return cls(
            np.where(is_defined, value, np.nan),
            nobody,
            highest,
            lowest,
            takes_part,
            n,
            counts,
            (),
            error=None if error is None else np.where(is_defined, error, 0.0),
        )

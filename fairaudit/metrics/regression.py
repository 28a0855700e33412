"""`regression_slope`: groups against the reference; maximum of columns, collinear controls.

The regression of the outcome has a dummy variable (1 or 0) for every group that takes part and for
every level of every control. The groups are eliminated first (Frisch & Waugh 1933), so the
remaining system has one column for each level of a control, for any number of groups or people.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.names import describe_group
from fairaudit.cube import Floats, Group, Grouping, GroupTable, Ints, Marks
from fairaudit.metrics.confusion_counts import GroupCounts, collapse_strata
from fairaudit.metrics.disparities import Disparity
from fairaudit.metrics.eligibility import find_participants_overall, find_reference
from fairaudit.metrics.evaluation_record import (
    Evaluation,
    compare_exactly,
    compute,
    counts_for,
    evaluate_to_reference,
    exact_values,
)
from fairaudit.metrics.group_metrics import GroupValues, RegressionFit
from fairaudit.metrics.means_and_errors import ADJUSTED_MEAN
from fairaudit.metrics.terms import MetricOptions
from fairaudit.stats import means

MOST_COLUMNS = 500
"""Maximum number of columns of controls in a fit."""

_ALONE = 1e-9
"""If a leverage is this close to 1, the residual of the person is 0, regardless of the outcome."""
_AT_A_TIME = 500_000
"""Maximum of (number of cells) · (number of groups) in one computation."""
_ROUNDING = 1e-12
"""A smaller share of a sum of squares is a rounding error."""

_COLLINEAR = 1e-12
"""A column is a combination of earlier columns if less than this share of its square remains."""

_OPEN = 1e-6
"""A remaining factor below this share of the largest factor is a rounding error."""


def regress_on_reference(
    disparity: Disparity, table: GroupTable, terms: MetricOptions, counts: GroupCounts
) -> Evaluation:
    """The coefficient of each group against the reference; the strata of `table` are the controls.

    People with an unknown level of a control are left out (complete cases).
    """
    (metric, comparison), reference = disparity.parts[0], terms.reference
    assert reference is not None
    collapsed = collapse_strata(table)
    bare = counts_for(metric, collapsed)
    crude, cells = (
        compute(metric, bare, terms.parameters),
        compute(metric, counts, terms.parameters),
    )
    takes_part = find_participants_overall(table, crude.n, cells, terms.minimum)
    index, usable = find_reference(reference, collapsed, crude.value, crude.n, takes_part)
    if index is None:
        raise ValueError(f"{disparity.id} compares with one group, not with {reference.policy}")
    base = max(int(index[0, 0]), 0)
    fit = RegressionFit.nothing(crude.value.shape)
    if usable[0, 0] and crude.n[0, base]:
        fit = _fitted(table, crude, cells, np.flatnonzero(takes_part[0] & (crude.n[0] > 0)), base)

    exact_at = exact_values(crude.metric, bare, terms.parameters)

    def exact(_: int, g: int) -> Fraction | None:
        if table.given:
            return None
        return compare_exactly(comparison, exact_at(0, g), exact_at(0, base))

    adjusted_values = replace(crude, fit=fit)
    if table.given:
        # The mean that each group would have with the controls of the reference.
        adjusted = crude.value[:, base : base + 1] + fit.value
        adjusted_values = GroupValues(ADJUSTED_MEAN, adjusted, crude.n, crude.effective_n, fit=fit)
    value, place, sides = fit.value, (index, usable), (adjusted_values, adjusted_values)
    evaluation = evaluate_to_reference(
        disparity, collapsed, terms, sides, value, takes_part, place, exact
    )
    return replace(evaluation, strata=table if table.given else None)


class Fit(Frozen, eq=False):
    """The coefficients [P], and the residual variance.

    `products` is X'X, and `inverse` is a generalized inverse of X'X, with 0 for missing
    coefficients.
    """

    coefficients: Floats
    df: float
    residual_variance: float
    products: Floats
    inverse: Floats

    def combined(self, rows: Floats) -> Floats:
        """K weighted sums of coefficients, as an array [K]; the weights are `rows` [K, P].

        A sum is NaN if the data does not determine it (see `left_open`), so the sums do not depend
        on the order of the columns.
        """
        unknown = self.left_open(rows).any(axis=1)
        return np.where(unknown, np.nan, rows @ np.nan_to_num(self.coefficients))

    def left_open(self, rows: Floats) -> Marks:
        """Marks columns, [K, P], in which a row is not a combination of the rows of the data.

        A sum of coefficients is estimable if no column is marked in its row: Searle (1971), Linear
        Models, ch. 5.4.
        """
        largest = np.abs(rows).max(axis=1, initial=0.0, keepdims=True)
        gap = np.abs(rows @ self.inverse @ self.products - rows)
        return np.asarray(gap > _OPEN * largest)


def least_squares(xx: Floats, xy: Floats, yy: float, n: float) -> Fit:
    """The fit of y by P columns of X in `n` rows, from X'X [P, P], X'y [P] and y'y.

    The intercept is one of the columns. A column that is a combination of earlier columns has no
    coefficient (NaN), as in R's `lm`, and does not reduce the degrees of freedom. Without degrees
    of freedom, the residual variance is NaN. The caller should centre values that are far from 0,
    because sums of products need twice as many digits. Draper & Smith (1998), Applied Regression
    Analysis, 3rd ed., ch. 5.

    >>> x = np.array([[1.0, 0], [1, 1], [1, 2], [1, 3]])
    >>> y = np.array([1.0, 2, 2, 4])
    >>> fit = least_squares(x.T @ x, x.T @ y, float(y @ y), 4)
    >>> fit.coefficients.round(6).tolist(), round(fit.residual_variance, 6)
    ([0.9, 0.9], 0.35)
    """
    xx, xy = np.asarray(xx, dtype=np.float64), np.asarray(xy, dtype=np.float64)
    coefficients = np.full(xy.size, np.nan)
    if not (np.isfinite(xx).all() and np.isfinite(xy).all() and np.isfinite([yy, n]).all()):
        nothing = np.full_like(xx, np.nan)
        return Fit(coefficients, float("nan"), float("nan"), nothing, nothing)
    scale = np.sqrt(np.diagonal(xx))
    with np.errstate(all="ignore"):
        scaled = xx / np.outer(scale, scale)
    # Keep the columns that are not a combination of earlier columns. All columns have length 1.
    kept: list[int] = []
    remainder = np.nan_to_num(scaled)
    for j in range(len(remainder)):
        if remainder[j, j] > _COLLINEAR:
            kept.append(j)
            column = remainder[j:, j] / np.sqrt(remainder[j, j])
            remainder[j:, j:] -= np.outer(column, column)
    inverse = np.linalg.inv(scaled[np.ix_(kept, kept)])
    target = xy[kept] / scale[kept]
    solution = inverse @ target
    solution += inverse @ (target - scaled[np.ix_(kept, kept)] @ solution)
    df = float(n) - len(kept)
    variance = max(float(yy) - float(solution @ target), 0.0) / df if df > 0 else float("nan")
    coefficients[kept] = solution / scale[kept]
    whole = np.zeros_like(xx)
    whole[np.ix_(kept, kept)] = inverse / np.outer(scale[kept], scale[kept])
    return Fit(coefficients, df, variance, xx, whole)


class _Controls(Frozen, eq=False):
    """The L levels of all controls, with dummies for all but the most common level of each control.

    `people` [L, G] is the number of people with each level in each group. `kept` are the indices of
    the K levels that have `dummies` [Z, K]; the dummies of all other levels follow from `dummies`
    and the groups.
    """

    names: tuple[tuple[str, str], ...]
    people: Floats
    kept: Ints
    dummies: Floats

    @classmethod
    def of(cls, given: Grouping, codes: list[tuple[list[str], Ints]], n: Floats) -> _Controls:
        """The dummies of the controls, from the number of people `n` [Z, G]."""
        blocks = [np.eye(len(levels))[code] for levels, code in codes]
        dummies = np.hstack([np.empty((len(n), 0)), *blocks])
        kept, start = np.ones(dummies.shape[1], dtype=np.bool_), 0
        for block in blocks:
            kept[start + (block.T @ n).sum(axis=1).argmax()] = False
            start += block.shape[1]
        names = [
            (name, level)
            for name, (levels, _) in zip(given, codes, strict=True)
            for level in levels
        ]
        return cls(tuple(names), dummies.T @ n, np.flatnonzero(kept), dummies[:, kept])

    def explain_collinear(
        self, size: Floats, groups: Sequence[Group], pair: tuple[int, int], open_: Marks
    ) -> str:
        """The reason why the controls do not separate a group from the reference.

        `size` [G] is the number of people in each group; `open_` marks the collinear columns.
        """
        everybody = self.people.sum(axis=1)
        for g in pair:
            same = (self.people[:, g] == size[g]) & (everybody == size[g])
            for name, level in (self.names[number] for number in np.flatnonzero(same).tolist()):
                return f"collinear, {describe_group(groups[g])} coincides with {name}={level}"
        names = dict.fromkeys(self.names[number][0] for number in self.kept[open_].tolist())
        group, reference = (describe_group(groups[g]) for g in pair)
        return f"collinear, the levels of {' and '.join(names)} separate {group} from {reference}"


def _fitted(
    table: GroupTable, crude: GroupValues, cells: GroupValues, among: Ints, reference_index: int
) -> RegressionFit:
    """The fit of the groups `among` against the group at `reference_index`."""
    nothing = RegressionFit.nothing(crude.value.shape)
    if crude.deviation is None or cells.deviation is None or table.squares is not None:
        return replace(nothing, why=dict.fromkeys(among.tolist(), "it is fitted to people alone"))
    # The levels of each control, and the level of each known stratum.
    codes: list[tuple[list[str], Ints]] = []
    strata = [table.strata[z] for z in np.flatnonzero(table.known_strata).tolist()]
    for axis in range(len(table.given)):
        levels = [stratum[axis][1] for stratum in strata]
        place = {level: code for code, level in enumerate(dict.fromkeys(levels))}
        codes.append((list(place), np.array([place[level] for level in levels], dtype=np.int64)))
    columns = sum(len(levels) - 1 for levels, _ in codes)
    if columns > MOST_COLUMNS:
        reason = f"the controls have {columns:,} columns, more than {MOST_COLUMNS:,}"
        return replace(nothing, why=dict.fromkeys(among.tolist(), reason))
    n = cells.n[table.known_strata][:, among].astype(np.float64)
    mean, size = crude.value[0, among], n.sum(axis=0)
    apart = np.nan_to_num(cells.value[table.known_strata][:, among] - mean)
    deviation = np.nan_to_num(cells.deviation[table.known_strata][:, among])
    within = float(deviation.sum() + (n * apart**2).sum())
    controls = _Controls.of(table.given, codes, n)
    people, dummies = controls.people[controls.kept], controls.dummies
    # For a level that contains only whole groups, the remainder is exactly 0.
    remainder = (dummies.T * n.sum(axis=1)) @ dummies - (people / size) @ people.T
    deviations = dummies.T @ (n * apart).sum(axis=1)
    fit = least_squares(remainder, deviations, within, float(size.sum()) - len(size))
    mix = (people / size).T
    base = int(np.flatnonzero(among == reference_index)[0])
    rows = mix - mix[base]
    gap = mean - mean[base]
    # If the outcomes do not vary about the fit, the error of the fit is unknown.
    spreads = fit.residual_variance * fit.df > _ROUNDING * (within + float(size @ gap**2))
    value, error, df = (np.full(crude.value.shape, np.nan) for _ in range(3))
    value[0, among] = gap - fit.combined(rows)
    if spreads:
        moments = (n, apart, deviation)
        robust = _robust_errors(moments, dummies, mix, fit, rows, base, 2 * crude.binomial)
        error[0, among], df[0, among] = robust
    open_ = fit.left_open(rows)
    groups = [table.groups[g] for g in among.tolist()]
    why = {
        int(among[g]): controls.explain_collinear(size, groups, (g, base), open_[g])
        for g in np.flatnonzero(open_.any(axis=1)).tolist()
    }
    return RegressionFit(value, error, df, why)


def _robust_errors(
    moments: tuple[Floats, Floats, Floats],
    dummies: Floats,
    mix: Floats,
    fit: Fit,
    rows: Floats,
    base: int,
    pseudo: int,
) -> tuple[Floats, Floats]:
    """The standard error of every group's coefficient, and its degrees of freedom, [G].

    - `moments` are three arrays [Z, G]: the number of people, the mean of the cell minus the mean
      of the group, and the sum of squared deviations.
    - `dummies` [Z, L] are the dummies of each stratum. `mix` [G, L] are the means of the dummies in
      each group. `rows` [G, L] are these means minus the means of the reference.

    The variance is HC2, Σ c² e² / (1 - h), where c is the weight of a person in the coefficient and
    h the leverage (MacKinnon & White 1985, Journal of Econometrics 29:305). Each group is one
    component with n - 1 degrees of freedom (Satterthwaite 1946), where n = (Σ c²)² / Σ c⁴ is the
    effective number of people. For two groups without controls, this is Welch's test. The variance
    of a group with few effective people is at least a share of the pooled variance, as in `means`.
    The variance of a yes/no outcome is at least the variance with `pseudo` more hits and misses
    (Agresti & Coull 1998, Am Stat 52:119), or with fewer if both sides have similar sizes. It is
    NaN if it depends on a person whose residual is 0, regardless of the outcome.
    """
    n, apart, deviation = moments
    group, z = np.nonzero(n.T)
    size, count = n.sum(axis=0), len(mix)
    of_strata, of_groups = dummies @ fit.inverse, mix @ fit.inverse
    coefficients = np.nan_to_num(fit.coefficients)
    leverage = 1 / size + ((of_groups * mix).sum(axis=1) - 2 * of_strata @ mix.T)
    leverage = (leverage + (of_strata * dummies).sum(axis=1)[:, None])[z, group]
    residual = (apart - (dummies @ coefficients)[:, None] + mix @ coefficients)[z, group]
    by_stratum, by_group = of_strata @ rows.T, of_groups @ rows.T
    people, starts = n[z, group], np.flatnonzero(np.diff(group, prepend=-1))
    found = []
    left = np.where(leverage > 1 - _ALONE, 0.0, 1 - leverage)
    squares = (deviation[z, group] + people * residual**2) / left
    for chosen in np.array_split(np.arange(count), 1 + count * len(z) // _AT_A_TIME):
        weight = by_group.T[chosen][:, group] - by_stratum.T[chosen][:, z]
        weight += (group == chosen[:, None]) / size[chosen, None] - (group == base) / size[base]
        weight[np.abs(weight) <= _ROUNDING * np.abs(weight).max(axis=1, keepdims=True)] = 0.0
        moved = np.where(weight == 0, 0.0, squares)
        parts = np.add.reduceat(weight**2 * moved, starts, axis=1)
        weights = np.add.reduceat(people * weight**2, starts, axis=1)
        quartic = np.add.reduceat(people * weight**4, starts, axis=1)
        # The effective number of people: few if most are in strata without the reference.
        deciding = np.minimum(np.round(np.divide(weights**2, quartic), 9), size)
        variance = parts / weights
        others = fit.residual_variance * fit.df - variance * (size - 1), size.sum() - size
        variance, df = means.moderated_variance(variance * (deciding - 1), deciding, *others)
        share = (1 - np.sqrt(np.maximum(1 - 4 * variance, 0.0))) / 2
        more = pseudo * np.maximum(1 - deciding / others[1], 0.0)
        share = (share * deciding + more) / (deciding + 2 * more)
        variance = np.maximum(variance, share * (1 - share))
        parts = np.where(weights > 0, variance * weights, 0.0)
        total = parts.sum(axis=1)
        found.append((np.sqrt(total), total**2 / np.where(parts > 0, parts**2 / df, 0).sum(1)))
    errors, freedom = (np.concatenate(part) for part in zip(*found, strict=True))
    return errors, freedom

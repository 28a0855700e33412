"""Catalogue: protected attributes that are numbers (age): slope, correlation, trend."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairaudit.base.arrays import Alpha, Ends
from fairaudit.base.frozen import Frozen
from fairaudit.cube import Floats, GroupTable, Ints, Marks
from fairaudit.metrics import citations
from fairaudit.metrics.definitions import IS_TEST, Requirement
from fairaudit.metrics.table_metrics import TableMetric, TableValue
from fairaudit.metrics.terms import Minimum, Parameters
from fairaudit.stats import distributions

_UNDEFINED = "a number that never varies, in the attribute or the outcome"
_OF_THE_NUMBER = "The number itself, not its bins; of one attribute at a time."


class _Line(Frozen):
    """The sums for a line through points (s, x), [Z]: people, and sums about the means."""

    n: Floats
    ss: Floats
    sx: Floats
    xx: Floats


def _line(table: GroupTable) -> tuple[_Line, Marks, Ints]:
    """The attribute's numbers s against the outcome x: 1 if positive, 0 if not, or a number.

    Sums are Python's integers, so that large numbers with a small spread lose no digits.
    """
    takes_part = np.asarray(table.eligible & (table.n > 0))
    name = f"attribute:{table.by[0]}" if len(table.by) == 1 else ""
    amount = table.amounts.get(name)
    nothing = np.full(len(table.strata), np.nan)
    if amount is None:
        return _Line(nothing, nothing, nothing, nothing), takes_part, table.n

    def total(values: Ints, classes: Marks) -> Ints:
        part = values.astype(object)[:, :, classes][..., table.eligible]
        return np.asarray(part.sum(axis=(1, 2, 3)))

    known = np.arange(table.people.shape[2]) < len(table.classes)
    value, product = table.amounts.get("value"), table.amounts.get(f"{name}*value")
    if value is not None and product is not None:
        known = np.ones_like(known)
        n = total(amount.n, known)
        # The attribute's sums include people without a number of the outcome.
        whole = (n == total(value.n, known)) & (n == total(product.n, known))
        x, xx, sx = value.total, value.squares, product.total
        parts = [(total(sums.values, known), sums.scale) for sums in (x, xx, sx)]
    else:
        positive = np.zeros_like(known) if table.positive is None else table.positive
        n, whole = total(amount.n, known), np.ones(len(table.strata), np.bool_)
        hits = total(amount.n, known & positive)
        parts = [
            (hits, 1),
            (hits, 1),
            (total(amount.total.values, known & positive), amount.total.scale),
        ]
    s = total(amount.total.values, known)
    ss = total(amount.squares.values, known)
    (x_sum, x_scale), (xx_sum, xx_scale), (sx_sum, sx_scale) = parts
    scale = amount.total.scale
    return (
        _Line(
            np.where(whole, n, np.nan).astype(np.float64),
            _about(n, ss, amount.squares.scale, (s, scale), (s, scale)),
            _about(n, sx_sum, sx_scale, (s, scale), (x_sum, x_scale)),
            _about(n, xx_sum, xx_scale, (x_sum, x_scale), (x_sum, x_scale)),
        ),
        takes_part,
        np.asarray(amount.n.sum(axis=(1, 2))),
    )


def _about(
    n: Ints, products: Ints, scale: int, first: tuple[Ints, int], second: tuple[Ints, int]
) -> Floats:
    """Σ(a - mean a)(b - mean b) by exact integers; NaN without people."""
    (a, a_scale), (b, b_scale) = first, second
    count = np.where(n > 0, n, 1)
    over = count * products * (a_scale * b_scale) - a * b * scale
    sums = (over / (count * (scale * a_scale * b_scale))).astype(np.float64)
    return np.where(n > 0, sums, np.nan)


def _read(
    number: Callable[[_Line], Floats],
) -> Callable[[GroupTable, Minimum, Parameters], TableValue]:
    def read(table: GroupTable, minimum: Minimum, _: Parameters) -> TableValue:
        line, takes_part, n = _line(table)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.where(line.ss > 0, number(line), np.nan)
        answered = np.isfinite(value) & ~np.isnan(line.n) & minimum.admits(line.n)
        value = np.where(answered, value, np.nan)
        return TableValue.of(value, takes_part, n)

    return read


def _interval_of_slope(
    table: GroupTable, minimum: Minimum, parameters: Parameters, alpha: Alpha
) -> Ends:
    """Least squares: Student's t with n - 2 degrees of freedom."""
    line, value = _line(table)[0], SLOPE.value_of(table, minimum, parameters).value
    with np.errstate(divide="ignore", invalid="ignore"):
        residual = np.maximum(line.xx - line.sx**2 / line.ss, 0.0)
        error = np.sqrt(residual / (line.n - 2) / line.ss)
        reach = distributions.t_critical(line.n - 2, alpha) * error
    return value - reach, value + reach


def _interval_of_correlation(
    table: GroupTable, minimum: Minimum, parameters: Parameters, alpha: Alpha
) -> Ends:
    """Fisher's z transformation, with √(n - 3)."""
    line = _line(table)[0]
    value = NUMERIC_CORRELATION.value_of(table, minimum, parameters).value
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.where(line.n > 3, line.n - 3, np.nan)
        reach = distributions.normal_critical(alpha) / np.sqrt(size)
        middle = np.arctanh(value)
        return np.tanh(middle - reach), np.tanh(middle + reach)


SLOPE = TableMetric(
    id="slope",
    title="Slope on the attribute",
    short="slope",
    family="independence",
    description="The change of the selection rate (or of the mean of a number) per unit of a "
    "numeric attribute.",
    caution="A straight line: it misses a rate that rises and then falls. " + _OF_THE_NUMBER,
    source=citations.ZLIOBAITE,
    other_tools="The coefficient of ordinary least squares on the attribute alone.",
    formula="Σ (s - mean s)(ŷ - mean ŷ) / Σ (s - mean s)²",
    bounds=(None, None),
    requirements=frozenset({Requirement.NUMERIC_ATTRIBUTE}),
    undefined=_UNDEFINED,
    value_of=_read(lambda line: line.sx / line.ss),
    hypothesis="no trend",
    interval=_interval_of_slope,
    method="Student",
)

NUMERIC_CORRELATION = TableMetric(
    id="numeric_correlation",
    title="Correlation with the attribute",
    short="r",
    family="independence",
    description="Pearson's correlation of the outcome with a numeric attribute.",
    caution="A straight line: it misses a rate that rises and then falls. " + _OF_THE_NUMBER,
    source=citations.ZLIOBAITE,
    formula="Pearson's r of s and ŷ",
    bounds=(-1, 1),
    requirements=frozenset({Requirement.NUMERIC_ATTRIBUTE}),
    undefined=_UNDEFINED,
    value_of=_read(lambda line: line.sx / np.sqrt(line.ss * line.xx)),
    hypothesis="no correlation",
    interval=_interval_of_correlation,
    method="Fisher's z",
)

_find_trend = _read(lambda line: line.sx / np.sqrt(line.xx / line.n * line.ss))

TREND = TableMetric(
    id="trend",
    title="Cochran–Armitage trend",
    short="trend z",
    aliases=("cochran_armitage",),
    family="independence",
    description="The trend of the selection rate along a numeric attribute, in standard errors.",
    caution="Grows with the number of people: it measures evidence, not size. " + _OF_THE_NUMBER,
    source=citations.ARMITAGE,
    other_tools="The signed root of R's `prop.trend.test`; statsmodels divides by n - 1.",
    formula="Σ (s - mean s)(ŷ - mean ŷ) / √(mean ŷ (1 - mean ŷ) Σ (s - mean s)²)",
    bounds=(None, None),
    requirements=frozenset({Requirement.PREDICTION, Requirement.NUMERIC_ATTRIBUTE}),
    undefined=_UNDEFINED,
    value_of=_find_trend,
    no_interval="it is a test statistic itself",
    hypothesis="no trend",
    test=IS_TEST,
    p_of=lambda *asked: distributions.normal_two_sided(_find_trend(*asked).value),
)

TABLE_METRICS = (SLOPE, NUMERIC_CORRELATION, TREND)

"""Formats numbers, per cent, points, p-values, intervals, groups, and lists (`and 3 more`)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

from fairaudit.base import names
from fairaudit.cube import Group
from fairaudit.evidence.value_intervals import UNPAIRED
from fairaudit.metrics.estimate import MASKED_RANGE, Estimate, Significance, Unsmoothed
from fairaudit.metrics.terms import Correction, Inference

_MOST_DIGITS = 17
_MOST_APART = 8
_SAME = 1e-9
"""If two numbers differ by less, they are the same number, computed in two ways."""
_ONE_PERCENT, _NO_POINT = 0.01, 0.0005
_TINY = 0.0001
_WRITTEN_OUT = 1e-6
"""A smaller number is written with an exponent."""

_LONGEST_LABEL = 36
_DIGITS = re.compile(r"(\d+)")

SUPPRESSED = "suppressed"
"""The text instead of a number that is hidden."""


def number(value: float, digits: int | None = None) -> str:
    """A number with this many decimals, four by default; `undefined`, `∞`, `-∞`."""
    digits = 4 if digits is None else digits
    if math.isnan(value):
        return "undefined"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value and abs(value) < _WRITTEN_OUT:
        return f"{value:.2e}"
    if value and abs(value) < 10**-digits:
        digits = 1 - math.floor(math.log10(abs(value)))  # two digits that are not zero
    return f"{value:.{digits}f}"


def fixed(value: float, digits: int) -> str:
    """A number with exactly this many decimals, as in a column."""
    return f"{value:.{digits}f}" if math.isfinite(value) else number(value)


def digits_apart(rows: Iterable[Sequence[float | None]], least: int, *, scale: int = 1) -> int:
    """The number of decimals with which different numbers of a row are printed differently.

    The numbers are multiplied by `scale`, such as 100 for per cent.
    """
    digits = least
    for row in rows:
        known = sorted({value for value in row if value is not None and math.isfinite(value)})
        for low, high in pairwise(known):
            while (
                digits < _MOST_APART
                and high - low > _SAME
                and f"{low * scale:.{digits}f}" == f"{high * scale:.{digits}f}"
            ):
                digits += 1
    return digits


Result: TypeAlias = tuple[float, float, str, bool]
"""Two numbers, the text of their difference or ratio (`62 %`), and whether it is a ratio."""


def digits_that_give(results: Iterable[Result], least: int, *, scale: int = 100) -> int:
    """The number of decimals, at least `least`, with which printed numbers give printed results.

    The numbers are multiplied by `scale`, such as 100 for per cent.
    """
    known = [result for result in results if all(map(math.isfinite, result[:2]))]
    every = range(least, _MOST_APART)
    return next((at for at in every if all(_gives(one, at, scale) for one in known)), least)


def digits_of_gaps(pairs: Iterable[tuple[float, float]]) -> int:
    """The number of decimals with which printed shares (%) give their printed gaps in points."""
    return digits_that_give([(a, b, gap(a - b), False) for a, b in pairs if a != b], 1)


def _gives(result: Result, digits: int, scale: int) -> bool:
    """Whether two numbers with `digits` decimals give the printed result at its precision."""
    first, second, text, is_ratio = result
    a, b = (Fraction(f"{number * scale:.{digits}f}") / scale for number in (first, second))
    if is_ratio and not b:
        return False
    printed, per = Decimal(text.split()[0]), 100 if "%" in text or "points" in text else 1
    half = Fraction(101, 200) * Fraction(10) ** int(printed.as_tuple().exponent)  # ties included
    return abs(abs(a / b if is_ratio else a - b) * per - abs(Fraction(printed))) <= half


def digits_of_shares(rows: Iterable[Sequence[float | None]]) -> int:
    """The number of decimals of per cent, at least one, that distinguishes the shares of a row.

    A share that is not 0 is also distinguished from 0.
    """
    return digits_apart(([0.0, *row] for row in rows), 1, scale=100)


def digits_of_values(
    estimates: Iterable[Estimate], bounds: Sequence[Decimal] = (), least: int = 3
) -> int:
    """The number of decimals with which values differ from 0, their intervals and their limits."""
    limits = [*map(float, bounds)]
    written = max((-int(bound.as_tuple().exponent) for bound in bounds), default=0)
    rows = ([0.0, *told_apart(e), *limits] for e in estimates if not e.suppressed)
    return digits_apart(rows, max(least, min(written, _MOST_APART)))


def told_apart(estimate: Estimate) -> list[float | None]:
    """A value and the ends of its interval; these numbers must be printed differently."""
    is_range = estimate.method == MASKED_RANGE
    return [estimate.value, *(() if is_range else (estimate.low, estimate.high))]


def percent(value: float, digits: int | None = None) -> str:
    """A share in per cent. By default it has one decimal, or two digits if it is less than 1 %."""
    if not math.isfinite(value):
        return number(value)
    if digits is None and 0 < abs(value) < _ONE_PERCENT:
        return f"{100 * value:.2g} %"
    return f"{per_cent(value, digits or 1)} %"


def points(value: float, digits: int | None = None) -> str:
    """A difference of shares in percentage points with its sign; a small one has two digits."""
    digits = 1 if digits is None and not 0 < abs(value) < _NO_POINT else digits
    shown = percent(value, digits).removesuffix(" %")
    return f"+{shown}" if 0 <= value < math.inf else shown


def gap(value: float) -> str:
    """The size of a difference of shares, `14.2 points`, with enough decimals not to be 0."""
    return f"{percent(abs(value)).removesuffix(' %')} points"


def doubt(error: float) -> str:
    """The error of a number: `± 0.002`."""
    return f"± {error:.1g}"


def whole(value: int | None) -> str:
    """A count with thousands separators; `suppressed` if it is hidden."""
    return SUPPRESSED if value is None else f"{value:,}"


def value_of(estimate: Estimate, digits: int = 4) -> str:
    """The number of an estimate with this many decimals; `suppressed` if it is hidden."""
    value = SUPPRESSED if estimate.suppressed else number(estimate.value, digits)
    return f"{value}{unsmoothed(estimate.unsmoothed, digits)}"


def unsmoothed(raw: Unsmoothed | None, digits: int = 4) -> str:
    """The value without pseudo-counts, in brackets: ` (0.12 without smoothing)`."""
    return "" if raw is None else f" ({number(raw.value, digits)} without smoothing)"


def counts(estimate: Estimate) -> str:
    """The counts, `52/70`; with survey weights, the scaled sums and the number of people."""
    if estimate.numerator is None or estimate.denominator is None:
        return f"n = {whole(estimate.n)}" if estimate.n is not None else ""
    parts, scale = (estimate.numerator, estimate.denominator), estimate.scale
    sums = "/".join(whole(part) if scale == 1 else f"{part / scale:,.1f}" for part in parts)
    if estimate.numerators is not None and estimate.denominators is not None:
        ends = (dict.fromkeys(pair) for pair in (estimate.numerators, estimate.denominators))
        sums = "/".join("–".join(map(whole, pair)) for pair in ends)
    is_weighted = estimate.weighted or scale != 1
    return f"{sums} weighted, n = {whole(estimate.n or 0)}" if is_weighted else sums


def interval(estimate: Estimate, *, share: bool = True, digits: int | None = None) -> str:
    """The ends of an interval, `[70.1, 78.2]` (shares in per cent); empty without an interval.

    A range over masked counts has no brackets: `70.1 to 78.2`. An interval of two models with
    unknown correlation has a note.
    """
    if estimate.low is None or estimate.high is None:
        return ""

    def write(end: float) -> str:
        return per_cent(end, digits or 1) if share else number(end, digits or 3)

    if estimate.method == MASKED_RANGE:
        return f"{write(estimate.low)} to {write(estimate.high)}"
    text = bounds(estimate.low, estimate.high, write)
    return f"{text} {UNPAIRED}" if UNPAIRED in (estimate.method or "") else text


def interval_heading(level: str, estimates: Iterable[Estimate]) -> str:
    """The heading of a column of intervals; `range` for ranges over masked counts."""
    kinds = {one.method == MASKED_RANGE for one in estimates if one.low is not None}
    return " or ".join([level] * (kinds != {True}) + ["range"] * (True in kinds))


def probability(p: float, alpha: float) -> str:
    """A p-value, `= .0123` or `< .0001`, with enough digits to compare it with `alpha`."""
    if p < _TINY <= alpha:
        return "< .0001"
    level = Fraction(str(alpha))  # the number as written, because the float for .05 is larger
    for digits in range(4, _MOST_DIGITS):
        text = f"{p:.{digits}f}"
        if _side(Fraction(text), level) == _side(p, alpha):
            return f"= {text.removeprefix('0')}"
    return f"= {p!r}"


def compact_probability(p: float, alpha: float) -> str:
    """A p-value in a table: `.0123` or `<.0001`."""
    return probability(p, alpha).removeprefix("= ").replace(" ", "")


def starred_p(test: Significance | None, alpha: float, mark: str = "") -> str:
    """A p-value in a table, with a mark for its test, and a star if the adjusted p is small."""
    if test is None:
        return ""
    return f"{compact_probability(test.p, alpha)}{mark}{'*' if test.adjusted < alpha else ''}"


def corrected_over(test: Significance, noun: str = "test") -> str:
    """The correction of a p-value and its family: `corrected for 11 tests, method of Holm`."""
    family = counted(test.family, noun)
    if test.correction == "none":
        return f"uncorrected, one of {family}"
    return f"corrected for {family}, method of {test.correction}"


def adjusted_p(test: Significance, alpha: float, noun: str = "test") -> str:
    """The adjusted p-value with its correction: `p = .0123 (corrected for 11 tests, …)`."""
    p = f"p {probability(test.adjusted, alpha)}"
    return f"{p} ({corrected_over(test, noun)})" if test.family > 1 else p


def corrected(inference: Inference) -> str:
    """The words after a p-value on its correction: `corrected by Holm`, `uncorrected`."""
    is_raw = inference.correction is Correction.NONE
    return "uncorrected" if is_raw else f"corrected by {inference.correction.words}"


def bounds(low: float, high: float, write: Callable[[float], str] = number) -> str:
    """Both ends of an interval, each written by `write`: `[-0.10, 0.20]`."""
    return f"[{write(low)}, {write(high)}]"


def per_cent(value: float, digits: int = 1) -> str:
    """A share in per cent without the % sign, for an end of an interval: `12.3`."""
    return f"{100 * value:.{digits}f}"


def test(test: Significance) -> str:
    """The name of a test, with its statistic and its degrees of freedom: `z, χ²(1) = 9.60`."""
    if test.statistic is None:
        return test.test
    freedom = ", ".join(f"{df:.4g}" for df in test.freedom)
    freedom = f"({freedom})" if freedom else ""
    name = "" if test.test == test.letter else f"{test.test}, "
    return f"{name}{test.letter}{freedom} = {number(test.statistic, 2)}"


def number_beside(
    value: float,
    bounds: Sequence[Decimal | int | Fraction],
    exact: Fraction | None = None,
    *,
    digits: int = 4,
    scale: int = 1,
) -> str:
    """A number times `scale`, with enough digits to show on which side of each bound it is.

    A number that is not 0 is also distinguished from 0.
    """
    if not math.isfinite(value):
        return number(value)
    digits = digits_apart([[0.0, value], *([value, float(bound)] for bound in bounds)], digits,
        scale=scale)  # fmt: skip
    true = [
        _side(value, float(bound)) if exact is None else _side(exact, Fraction(bound))
        for bound in bounds
    ]
    for decimals in range(digits, _MOST_DIGITS):
        text = f"{value * scale:.{decimals}f}"
        if [_side(Fraction(text), Fraction(bound) * scale) for bound in bounds] == true:
            return text
    return repr(value * scale)


def estimate_beside(
    estimate: Estimate, bounds: Sequence[Decimal], digits: int, scale: int = 1
) -> str:
    """A value with this many digits, or more to show on which side of each bound it is."""
    if estimate.suppressed:
        return SUPPRESSED
    value = number_beside(estimate.value, bounds, estimate.exact, digits=digits, scale=scale)
    return f"{value}{unsmoothed(estimate.unsmoothed, digits)}"


def group(levels: Group) -> str:
    """A group by its levels alone: `female × Black`."""
    return " × ".join(names.name(level) for _, level in levels) or "everybody"


def counted(count: int, noun: str) -> str:
    """A count with its noun: `1 group`, `1,200 groups`."""
    return f"{whole(count)} {noun if count == 1 else f'{noun}s'}"


def more_groups(count: int, file: str = "report.json") -> str:
    """The number of groups that a table leaves out, and the file that has them; empty for 0."""
    if count <= 0:
        return ""
    return f"and {counted(count, 'more group')}: --verbose or -o {file} lists them"


def first_few(texts: Sequence[str], most: int = 5, separator: str = ", ") -> str:
    """The first few of several texts, and the number of the other texts."""
    more = f" and {whole(len(texts) - most)} more" if len(texts) > most else ""
    return separator.join(texts[:most]) + more


def short(label: str, most: int = _LONGEST_LABEL) -> str:
    """A label; if it is long, its middle is left out, so that a line has room for others."""
    if len(label) <= most:
        return label
    half = (most - 1) // 2
    return f"{label[:half]}…{label[-half:]}"


def natural(text: str) -> tuple[tuple[int, str], ...]:
    """A key that sorts `day 2` before `day 10`."""
    parts = enumerate(_DIGITS.split(text.casefold()))
    return tuple((len(part.lstrip("0")) if index % 2 else 0, part) for index, part in parts)


def group_in(group: Group, stratum: Group) -> str:
    """A group within a stratum, `race=A in department=y`; empty without group and stratum."""
    return " in ".join(names.describe_group(part) for part in (group, stratum) if part)


def in_stratum(stratum: Group, separator: str = " in ") -> str:
    """The words for the stratum of a value: ` in department=y`; empty without a stratum."""
    return f"{separator}{names.describe_group(stratum)}" if stratum else ""


def subset(columns: tuple[str, ...]) -> str:
    """A grouping: `gender × race`."""
    return " × ".join(map(names.name, columns))


def _side(value: Fraction | float, bound: Fraction | float) -> int:
    return (value > bound) - (value < bound)

"""Measures one change: whether it is one at all (`SAME`), its interval and its test.

Shares are tested by their counts, means by Welch; of everything else the variance of each number
is recovered from its own interval (MOVER: Zou & Donner 2008), and the change is tested by z. So an
interval excludes no change exactly where p is below its level.
"""

from __future__ import annotations

import math

import numpy as np

from fairaudit.base.arrays import Floats
from fairaudit.base.frozen import Frozen, replace
from fairaudit.evidence import Sample, bound_share_gap, compare_shares, name_share_test
from fairaudit.metrics.estimate import Estimate, Significance, State
from fairaudit.metrics.inference import Inference
from fairaudit.stats import distributions, means, mover, multiplicity
from fairaudit.stats.distributions import normal_critical, normal_two_sided
from fairaudit.tools.compare.records import Change, Direction, Scale

_NEAR = 1e-12
"""A change of less is rounding."""

_STUDENT = "Student"
_TOO_LITTLE = "not tested: too little variation to test"


class ChangeTerms(Frozen):
    """How a change is measured and tested; `barred` says why it is not tested at all.

    `share`: of people, by whole counts. `mean`: of a group's people, each counted once. `values`:
    the number is the worst of so many, which chance helps to pick, so a change is tested for each
    of them (Šidák). `middle` is where one side ends and the other begins, where two sides count
    alike; None elsewhere. `same_people`: the change is of the people themselves, no matter of
    chance.
    """

    inference: Inference
    barred: str = ""
    same_people: bool = False
    scale: Scale = Scale.DIFFERENCE
    share: bool = False
    mean: bool = False
    values: int = 1
    middle: float | None = None


def measure_change(before: Estimate, after: Estimate, terms: ChangeTerms) -> Change:
    """The change between two independent samples; `way` is left open but for no change at all."""
    change = Change(before, after, terms.scale, math.nan, Direction.UNKNOWN)
    why = _explain_unknown(before, after)
    if why:
        return replace(change, why=why)
    if before.value == after.value and not math.isfinite(after.value):
        nothing = 1.0 if terms.scale is Scale.RATIO else 0.0
        return replace(
            change, value=nothing, way=Direction.SAME, why="not tested: infinite both times"
        )
    turned = _changes_side(before.value, after.value, terms)
    base, now = _mirror_to_one_side(before, after, terms) if turned else (before, after)
    if terms.scale is Scale.RATIO and 0 in {before.value, after.value}:
        # A ratio of 0 has no logarithm; its difference has an interval all the same.
        terms = replace(terms, scale=Scale.DIFFERENCE)
    value = _subtract(base.value, now.value, terms.scale)
    change = replace(
        change, scale=terms.scale, value=value, turned=turned, certain=terms.same_people
    )
    if _is_same(value, terms.scale):
        change = replace(change, way=Direction.SAME)
    if terms.barred:
        return replace(change, why=terms.barred)
    return replace(_test_change(replace(change, after=now), base, terms), after=after)


def _explain_unknown(before: Estimate, after: Estimate) -> str:
    """Why there is no change to tell."""
    for estimate, when in ((before, "before"), (after, "after")):
        if estimate.state is State.SUPPRESSED:
            return f"suppressed {when}"
        if estimate.state is State.UNDEFINED:
            return f"undefined {when}" + (f": {estimate.reason}" if estimate.reason else "")
    return ""


def _changes_side(before: float, after: float, terms: ChangeTerms) -> bool:
    """Whether the numbers lie on different sides of the middle."""
    middle = terms.middle
    return middle is not None and (before < middle < after or after < middle < before)


def _mirror_to_one_side(
    before: Estimate, after: Estimate, terms: ChangeTerms
) -> tuple[Estimate, Estimate]:
    """Both numbers on the side of the later one; on that of a ratio of 0, which has no mirror."""
    if terms.scale is Scale.RATIO and before.value == 0:
        return before, _mirror(after, terms)
    return _mirror(before, terms), after


def _mirror(estimate: Estimate, terms: ChangeTerms) -> Estimate:
    """The number as far from the middle on its other side."""
    middle = terms.middle
    assert middle is not None

    def turn(value: float | None) -> float | None:
        if value is None:
            return None
        if terms.scale is Scale.RATIO:
            return middle * middle / value if value else math.inf
        return 2 * middle - value

    value = turn(estimate.value)
    assert value is not None
    return replace(
        estimate,
        value=value,
        low=turn(estimate.high),
        high=turn(estimate.low),
        numerator=None,
        method="",
    )


def _subtract(before: float, after: float, scale: Scale) -> float:
    with np.errstate(all="ignore"):
        later, earlier = np.float64(after), np.float64(before)
        return float(later / earlier if scale is Scale.RATIO else later - earlier)


def _is_same(value: float, scale: Scale) -> bool:
    return abs(value - (1 if scale is Scale.RATIO else 0)) <= _NEAR


def _test_change(change: Change, base: Estimate, terms: ChangeTerms) -> Change:
    after = change.after
    if not (math.isfinite(base.value) and math.isfinite(after.value)):
        return replace(change, why="not tested: infinite")
    if terms.share and base.numerator is not None and after.numerator is not None:
        return _test_shares(change, base, terms)
    if terms.mean and _STUDENT == base.method == after.method:
        return _test_means(change, base, terms)
    return _test_by_intervals(change, base, terms)


def _test_shares(change: Change, base: Estimate, terms: ChangeTerms) -> Change:
    """The change of a share of people with its test: z or Fisher, and Newcombe's interval."""
    after, before = _make_sample(change.after), _make_sample(base)
    p, exact = compare_shares(after, before, terms.inference)
    level = multiplicity.sidak_level(terms.inference.alpha, terms.values)
    ends = bound_share_gap(after, before, level)
    name = name_share_test(exact=bool(exact[0]), inference=terms.inference)
    return _add_test(change, ends, "Newcombe", p, name, terms)


def _make_sample(estimate: Estimate) -> Sample:
    assert estimate.numerator is not None
    assert estimate.denominator is not None
    return Sample.of_counts(np.array([estimate.numerator]), np.array([estimate.denominator]))


def _test_means(change: Change, base: Estimate, terms: ChangeTerms) -> Change:
    """The change of a mean with its test: Welch's t, sums of squares from Student's intervals."""
    alpha = terms.inference.alpha
    after, before = (_read_moments(estimate, alpha) for estimate in (change.after, base))
    if after is None or before is None:
        return replace(change, why=_TOO_LITTLE)
    gap = means.welch(after, before)
    *_, p = gap.test()
    ends = gap.ends(multiplicity.sidak_level(alpha, terms.values))
    return _add_test(change, ends, "Welch", p, "Welch", terms)


def _read_moments(estimate: Estimate, alpha: float) -> means.Summary | None:
    """A mean, the sum of squares behind its interval, its people; None without an interval."""
    low, high, n = estimate.low, estimate.high, estimate.n
    if low is None or high is None or n is None or n < 2:
        return None
    error = (high - low) / 2 / float(distributions.t_critical(np.array(n - 1.0), alpha))
    deviation = error * error * n * (n - 1)
    return means.Summary(np.array(estimate.value), np.array(deviation), np.array(float(n)))


def _test_by_intervals(change: Change, base: Estimate, terms: ChangeTerms) -> Change:
    """The change of a number with its test: each variance from the number's own interval."""
    later, alpha = change.after, terms.inference.alpha
    for estimate in (base, later):
        if estimate.low is None or estimate.high is None:
            why = estimate.no_interval.removeprefix("none: ") or "it has no interval"
            return replace(change, why=f"not tested: {why}")
    error = later.error + base.error
    if error and terms.scale is Scale.RATIO:
        return replace(change, why="not tested: what bins hide has no logarithm")
    after, before = (_scale_ends(estimate, terms.scale) for estimate in (later, base))
    low, high = mover.difference(after[0], after[1:], before[0], before[1:])
    gap = float(after[0] - before[0])
    reach = float(gap - low if gap > 0 else high - gap)
    critical = float(normal_critical(alpha))
    with np.errstate(all="ignore"):
        z = max(abs(gap) - error, 0.0) / np.float64(reach) * critical if gap else 0.0
    p = normal_two_sided(np.array([0.0 if math.isnan(z) else z]))
    # The reaches are those of one number: of several they are as much longer as their z is.
    longer = float(normal_critical(multiplicity.sidak_level(alpha, terms.values))) / critical
    ends = gap - (gap - low) * longer - error, gap + (high - gap) * longer + error
    if terms.scale is Scale.RATIO:
        with np.errstate(all="ignore"):
            ends = np.exp(ends[0]), np.exp(ends[1])
    return _add_test(change, ends, "MOVER", p, "z by MOVER", terms)


def _scale_ends(estimate: Estimate, scale: Scale) -> tuple[Floats, Floats, Floats]:
    """Value and ends, in logarithms where the change is a ratio."""
    numbers = np.array([estimate.value, estimate.low, estimate.high], dtype=np.float64)
    if scale is Scale.RATIO:
        with np.errstate(divide="ignore"):
            numbers = np.log(numbers)
    return numbers[0], numbers[1], numbers[2]


def _add_test(
    change: Change,
    ends: tuple[Floats, Floats],
    method: str,
    p: Floats,
    test: str,
    terms: ChangeTerms,
) -> Change:
    """The change with its interval and test; the family corrects it later."""
    low, high = (float(np.ravel(end)[0]) for end in ends)
    corrected = float(np.ravel(multiplicity.sidak(p, terms.values))[0])
    if terms.values > 1:
        method, test = (f"{name}, Šidák over {terms.values}" for name in (method, test))
    if math.isnan(corrected) or math.isnan(low) or math.isnan(high):
        return replace(change, why=_TOO_LITTLE)
    significance = Significance(test, corrected, corrected, 1, "none")
    return replace(change, low=low, high=high, method=method, significance=significance)

"""The test of a change: of two numbers from independent samples, by what each says of itself.

Shares are tested by their counts, means by Welch; of everything else the variance of each number
is recovered from its own interval (MOVER: Zou & Donner 2008), and the change is tested by z. So an
interval excludes no change exactly where p is below its level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from fairaudit.arrays import Floats
from fairaudit.compare.records import Change, Direction, Scale
from fairaudit.estimate import Estimate, Significance, State
from fairaudit.evidence import Sample, compare_shares, name_share_test
from fairaudit.metrics.terms import Inference
from fairaudit.stats import distributions, means, mover, multiplicity, proportions
from fairaudit.stats.distributions import normal_critical, normal_two_sided

RECOVERED = "z by MOVER"
WELCH = "Welch"
_NEAR = 1e-12
"""A change of less is rounding."""

_STUDENT = "Student"


@dataclass(frozen=True, slots=True)
class ChangeTerms:
    """What kind of number changed.

    `share`: of people, by whole counts. `values`: the number is the worst of so many, which chance
    helps to pick, so a change is tested for each of them (Šidák). `barred` says why there is no
    test at all. `middle` is where one side of parity ends and the other begins, where two sides
    count alike; None elsewhere. `mean`: a mean over a group's people, each counted once.
    """

    scale: Scale = Scale.DIFFERENCE
    share: bool = False
    values: int = 1
    barred: str = ""
    middle: float | None = None
    mean: bool = False


def measure_change(
    before: Estimate, after: Estimate, kind: ChangeTerms, inference: Inference
) -> Change:
    """The change between two independent samples; `way` is left open but for no change at all."""
    told = Change(before, after, kind.scale, math.nan, Direction.UNKNOWN)
    why = _untold(before, after)
    if why:
        return replace(told, why=why)
    if before.value == after.value and not math.isfinite(after.value):
        nothing = 1.0 if kind.scale is Scale.RATIO else 0.0
        return replace(
            told, value=nothing, way=Direction.SAME, why="not tested: infinite both times"
        )
    turned = _is_turned(before.value, after.value, kind)
    base, now = _on_one_side(before, after, kind) if turned else (before, after)
    if kind.scale is Scale.RATIO and 0 in {before.value, after.value}:
        # A ratio of 0 has no logarithm; its difference has an interval all the same.
        kind = replace(kind, scale=Scale.DIFFERENCE)
    value = _moved(base.value, now.value, kind.scale)
    told = replace(told, scale=kind.scale, value=value, turned=turned)
    if _is_same(value, kind.scale):
        told = replace(told, way=Direction.SAME)
    if kind.barred:
        return replace(told, why=kind.barred)
    return replace(_tested(replace(told, after=now), base, kind, inference), after=after)


def _untold(before: Estimate, after: Estimate) -> str:
    """Why there is no change to tell."""
    for one, when in ((before, "before"), (after, "after")):
        if one.state is State.SUPPRESSED:
            return f"suppressed {when}"
        if one.state is State.UNDEFINED:
            return f"undefined {when}" + (f": {one.reason}" if one.reason else "")
    return ""


def _is_turned(before: float, after: float, kind: ChangeTerms) -> bool:
    """Whether the numbers lie on different sides of the middle."""
    middle = kind.middle
    return middle is not None and (before < middle < after or after < middle < before)


def _on_one_side(before: Estimate, after: Estimate, kind: ChangeTerms) -> tuple[Estimate, Estimate]:
    """Both numbers on the side of the later one; on that of a ratio of 0, which has no mirror."""
    if kind.scale is Scale.RATIO and before.value == 0:
        return before, _mirrored(after, kind)
    return _mirrored(before, kind), after


def _mirrored(one: Estimate, kind: ChangeTerms) -> Estimate:
    """The number as far from the middle on its other side."""
    middle = kind.middle
    assert middle is not None

    def turn(value: float | None) -> float | None:
        if value is None:
            return None
        if kind.scale is Scale.RATIO:
            return middle * middle / value if value else math.inf
        return 2 * middle - value

    value = turn(one.value)
    assert value is not None
    return replace(
        one, value=value, low=turn(one.high), high=turn(one.low), numerator=None, method=""
    )


def _moved(before: float, after: float, scale: Scale) -> float:
    with np.errstate(all="ignore"):
        one, other = np.float64(after), np.float64(before)
        return float(one / other if scale is Scale.RATIO else one - other)


def _is_same(value: float, scale: Scale) -> bool:
    return abs(value - (1 if scale is Scale.RATIO else 0)) <= _NEAR


def _tested(told: Change, base: Estimate, kind: ChangeTerms, inference: Inference) -> Change:
    after = told.after
    if not (math.isfinite(base.value) and math.isfinite(after.value)):
        return replace(told, why="not tested: infinite")
    if kind.share and base.numerator is not None and after.numerator is not None:
        return _shares(told, base, kind, inference)
    if kind.mean and _STUDENT == base.method == after.method:
        return _means(told, base, kind, inference)
    return _recovered(told, base, kind, inference)


def _shares(told: Change, base: Estimate, kind: ChangeTerms, inference: Inference) -> Change:
    """Of shares of people: z or Fisher, and Newcombe's interval."""
    one, two = _sample(told.after), _sample(base)
    p, exact = compare_shares(one, two, inference)
    level = multiplicity.sidak_level(inference.alpha, kind.values)
    ends = proportions.newcombe(one.share, one.size, two.share, two.size, level)
    name = name_share_test(exact=bool(exact[0]), inference=inference)
    return _with(told, ends, "Newcombe", p, name, kind)


def _sample(one: Estimate) -> Sample:
    assert one.numerator is not None
    assert one.denominator is not None
    over, under = np.array([one.numerator]), np.array([one.denominator])
    return Sample(np.array([one.value]), under.astype(np.float64), over, under)


def _means(told: Change, base: Estimate, kind: ChangeTerms, inference: Inference) -> Change:
    """Of means: Welch's t, the sums of squares recovered from Student's intervals."""
    after, alpha = told.after, inference.alpha
    one, two = (_squares(each, alpha) for each in (after, base))
    if one is None or two is None:
        return replace(told, why="not tested: too little varies to tell")
    mine = _mean(after, one)
    theirs = _mean(base, two)
    *_, p = means.welch_test(*mine, *theirs)
    level = multiplicity.sidak_level(alpha, kind.values)
    return _with(told, means.welch(*mine, *theirs, level), WELCH, p, WELCH, kind)


def _mean(one: Estimate, squares: float) -> tuple[Floats, Floats, Floats]:
    """A mean, its sum of squares and its people."""
    assert one.n is not None
    return np.array(one.value), np.array(squares), np.array(float(one.n))


def _squares(one: Estimate, alpha: float) -> float | None:
    """The sum of squared deviations behind Student's interval of a mean; None without one."""
    if one.low is None or one.high is None or one.n is None or one.n < 2:
        return None
    t = float(distributions.t_critical(np.array(one.n - 1.0), alpha))
    error = (one.high - one.low) / 2 / t
    return error * error * one.n * (one.n - 1)


def _recovered(told: Change, base: Estimate, kind: ChangeTerms, inference: Inference) -> Change:
    """Of whatever has an interval: each variance from the number's own interval."""
    after = told.after
    lacking = next((one for one in (base, after) if one.low is None or one.high is None), None)
    if lacking is not None:
        why = lacking.no_interval.removeprefix("none: ") or "it has no interval"
        return replace(told, why=f"not tested: {why}")
    one, two = (_numbers(each, kind.scale) for each in (after, base))
    error = after.error + base.error
    if error and kind.scale is Scale.RATIO:
        return replace(told, why="not tested: what bins hide has no logarithm")
    low, high = mover.difference(one[0], one[1:], two[0], two[1:])
    gap = float(one[0] - two[0])
    reach = float(gap - low if gap > 0 else high - gap)
    usual = float(normal_critical(inference.alpha))
    with np.errstate(all="ignore"):
        z = max(abs(gap) - error, 0.0) / np.float64(reach) * usual if gap else 0.0
    p = normal_two_sided(np.array([0.0 if math.isnan(z) else z]))
    # The reaches are those of one number: of several they are as much longer as their z is.
    longer = float(normal_critical(multiplicity.sidak_level(inference.alpha, kind.values))) / usual
    ends = gap - (gap - low) * longer - error, gap + (high - gap) * longer + error
    if kind.scale is Scale.RATIO:
        with np.errstate(all="ignore"):
            ends = np.exp(ends[0]), np.exp(ends[1])
    return _with(told, ends, "MOVER", p, RECOVERED, kind)


def _numbers(one: Estimate, scale: Scale) -> tuple[Floats, Floats, Floats]:
    """Value and ends, in logarithms where the change is a ratio."""
    assert one.low is not None
    assert one.high is not None
    found = np.array([one.value, one.low, one.high], dtype=np.float64)
    if scale is Scale.RATIO:
        with np.errstate(divide="ignore"):
            found = np.log(found)
    return found[0], found[1], found[2]


def _with(
    told: Change,
    ends: tuple[Floats, Floats],
    method: str,
    p: Floats,
    test: str,
    kind: ChangeTerms,
) -> Change:
    """The change with its interval and test; the family corrects it later."""
    low, high = (float(np.ravel(end)[0]) for end in ends)
    found = float(np.ravel(multiplicity.sidak(p, kind.values))[0])
    if kind.values > 1:
        method, test = (f"{name}, Šidák over {kind.values}" for name in (method, test))
    if math.isnan(found) or math.isnan(low) or math.isnan(high):
        return replace(told, why="not tested: too little varies to tell")
    significance = Significance(test, found, found, 1, "none")
    return replace(told, low=low, high=high, method=method, significance=significance)

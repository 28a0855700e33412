"""The statements of the survey on its figures, each compared with the curves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from curves import (
    AUC,
    ELIFT,
    ELIFT_OF_PROTECTED,
    IMPACT_RATIO,
    LEVELS,
    MEAN_DIFFERENCE,
    MUTUAL_INFORMATION,
    NORMALIZED_DIFFERENCE,
    ODDS_RATIO,
    SHARES,
    Curves,
    Means,
    place,
)

LINE = np.array(LEVELS)
CLOSE = 0.1
"""One step of the x axis: two levels that are farther off are mistaken for each other."""
NEARLY_NOTHING = 0.15
ROUNDING = 1e-9
NO, YES, PARTLY, UNSAID = "no", "yes", "in part", "not said"


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of the survey, the finding, and whether they agree."""

    says: str
    found: str
    agrees: str


def statements(means: Means) -> list[Statement]:
    """Every statement of §4.1 to §4.3 that the curves can decide."""
    return [
        _normalized_on_the_diagonal(means),
        _chance_magnified(means),
        _mean_difference_bent(means),
        _blind_corner(means),
        _what_bends(means),
        _linear(means),
        _mutual_information(means),
        _balanced_suffices(means),
        _ratios_unstable(means),
        _ratios_grow_fast(means),
        _ratios_asymmetric(means),
        _ratios_turned(means),
        _area_is_mean_difference(means),
    ]


def _normalized_on_the_diagonal(means: Means) -> Statement:
    off = np.abs(means[NORMALIZED_DIFFERENCE] - LINE)
    worst, where = _largest(off)
    return Statement(
        "The normalized difference runs along the diagonal.",
        f"at most {worst:.3f} off it ({where}), {off.mean():.3f} on average",
        _yes(worst <= CLOSE),
    )


def _chance_magnified(means: Means) -> Statement:
    """The largest possible difference of either side divides what chance leaves on that side."""
    none = means[NORMALIZED_DIFFERENCE][..., LEVELS.index(0)]
    worst, where = _largest(np.abs(none))
    plain = float(np.abs(means[MEAN_DIFFERENCE][..., LEVELS.index(0)]).max())
    return Statement(
        "Not in the survey: where nothing is injected, the normalized difference of imbalanced "
        "data is not 0 on average, for chance is magnified on one side.",
        f"{worst:.3f} at most ({where}), in balanced data {abs(none[_at(0.5), _at(0.5)]):.3f}; "
        f"mean difference {plain:.3f} at most",
        UNSAID,
    )


def _mean_difference_bent(means: Means) -> Statement:
    curves = means[MEAN_DIFFERENCE]
    off = np.abs(curves - LINE)
    worst, where = _largest(off)
    balanced = off[_at(0.5), _at(0.5)].max()
    rises = bool((np.diff(curves) > 0).all())
    return Statement(
        "The mean difference captures the trend, but depends on the balance of classes and groups.",
        f"{'rises' if rises else 'does not rise'} everywhere; off the diagonal by {balanced:.3f} "
        f"where both are balanced, by {worst:.3f} at worst ({where})",
        _yes(rises and balanced <= CLOSE < worst),
    )


def _blind_corner(means: Means) -> Statement:
    full, none = (
        [
            float(means[one][_at(0.9), _at(0.9), end])
            for one in (MEAN_DIFFERENCE, MUTUAL_INFORMATION)
        ]
        for end in (-1, 0)
    )
    return Statement(
        "At p(s1) = p(y+) = 90 %, both the mean difference and mutual information are nearly 0 "
        "though discrimination is full.",
        f"{full[0]:.3f} and {full[1]:.3f}; if it is reversed in full, {none[0]:.3f} and "
        f"{none[1]:.3f}",
        _yes(max(full) < NEARLY_NOTHING),
    )


def _what_bends(means: Means) -> Statement:
    """On either side the largest mean difference is 1 where as many are favoured as selected."""
    off = np.abs(means[MEAN_DIFFERENCE] - LINE).reshape(-1, len(LEVELS))
    protected, positive = (one.ravel() for one in np.meshgrid(SHARES, SHARES, indexing="ij"))
    matched = [np.isclose(protected, positive), np.isclose(1 - protected, positive)]
    sides = (off[:, LINE < 0].max(axis=1), off[:, LINE > 0].max(axis=1))
    on = max(side[fits].max() for side, fits in zip(sides, matched, strict=True))
    bent = min(side[~fits].min() for side, fits in zip(sides, matched, strict=True))
    return Statement(
        "Not in the survey: imbalance bends the mean difference only where the favoured group is "
        "not as large as the number of the selected.",
        f"where they are equal, {on:.3f} off the diagonal at most, be they 10 % or 90 %; "
        f"where they are not, {bent:.3f} at least",
        UNSAID,
    )


def _linear(means: Means) -> Statement:
    off = 0.0
    for one in (MEAN_DIFFERENCE, NORMALIZED_DIFFERENCE):
        curves = means[one]
        ends = np.where(LINE < 0, -curves[..., :1], curves[..., -1:])
        off = max(off, float(np.abs(curves - LINE * ends).max()))
    return Statement(
        "Mean difference and normalized difference are linear.",
        f"at most {off:.3f} off a straight line on either side of 0",
        _yes(off <= CLOSE),
    )


def _mutual_information(means: Means) -> Statement:
    curve = means[MUTUAL_INFORMATION][_at(0.5), _at(0.5)]
    half, turned = float(curve[LEVELS.index(0.5)]), float(np.abs(curve - curve[::-1]).max())
    return Statement(
        "Mutual information is not linear, underestimates the medium ranges, and has no sign.",
        f"where both are balanced {half:.3f} at d 0.5, and at -d what it is at d, "
        f"within {turned:.3f}",
        _yes(half < 0.5 - CLOSE and turned < CLOSE),
    )


def _balanced_suffices(means: Means) -> Statement:
    apart = np.abs(means[MEAN_DIFFERENCE] - means[NORMALIZED_DIFFERENCE])[_at(0.5), _at(0.5)].max()
    return Statement(
        "In balanced data the mean difference suffices.",
        f"at most {apart:.3f} from the normalized difference",
        _yes(apart <= CLOSE),
    )


def _ratios_unstable(means: Means) -> Statement:
    """How many times the lowest panel the highest shows, at half discrimination."""

    def spread(curves: Curves, level: float) -> float:
        panels = curves[..., LEVELS.index(level)]
        with np.errstate(divide="ignore", invalid="ignore"):  # a few people may all be rejected
            return float(panels.max() / panels.min())

    ratios = (IMPACT_RATIO, ODDS_RATIO, ELIFT)
    found = {one.title: [spread(means[one], level) for level in (-0.5, 0.5)] for one in ratios}
    impact, odds, elift = (max(spreads) for spreads in found.values())
    words = ", ".join(f"{name} {low:.1f} and {high:.1f}" for name, (low, high) in found.items())
    return Statement(
        "Impact ratio and odds ratio are very sensitive to imbalance, elift is more stable.",
        f"the highest of 25 panels divided by the lowest, at d -0.5 and 0.5: {words}",
        _yes(elift < min(impact, odds)),
    )


def _ratios_grow_fast(means: Means) -> Statement:
    ratios, level = (IMPACT_RATIO, ELIFT, ODDS_RATIO), LEVELS.index(0.3)
    many, few = (
        [float(means[one][_at(share), _at(0.1), level]) for one in ratios] for share in (0.9, 0.1)
    )
    return Statement(
        "All ratios grow very fast at low rates of positive decisions, as at p(y+) = 10 %, "
        "p(s1) = 90 %.",
        f"at d 0.3 there {_listed(many)}; with 10 % protected, not 90 %, {_listed(few)}",
        _yes(min(many) > 3 and min(few) > 3, PARTLY if min(many) > 3 else NO),
    )


def _ratios_asymmetric(means: Means) -> Statement:
    curve = means[IMPACT_RATIO][_at(0.5), _at(0.5)]
    above, below = curve[LEVELS.index(0.5)] - 1, 1 - curve[LEVELS.index(-0.5)]
    return Statement(
        "All ratios are asymmetric in terms of reverse discrimination.",
        f"impact ratio in balanced data: {above:.2f} above 1 at d 0.5, {below:.2f} below at -0.5",
        _yes(above > 2 * below),
    )


def _ratios_turned(means: Means) -> Statement:
    full = min(means[one][..., -1].min() for one in (IMPACT_RATIO, ELIFT, ODDS_RATIO))
    reverse, where = _largest(means[ELIFT_OF_PROTECTED][..., 0])
    return Statement(
        "Table 4: at full discrimination the ratios are 0, if it is reversed infinite.",
        f"Figure 3 has them the other way up, at full discrimination {full:.2f} or more; elift "
        f"has a limit in both directions: {reverse:.1f} of the protected at most ({where})",
        _yes(full < CLOSE and np.isinf(reverse)),
    )


def _area_is_mean_difference(means: Means) -> Statement:
    apart = np.abs(means[AUC] - (1 + means[MEAN_DIFFERENCE]) / 2).max()
    return Statement(
        "The AUC is equivalent to the mean difference, ½ + ½ d.",
        f"at most {apart:.1g} apart",
        _yes(apart < ROUNDING),
    )


def _yes(holds: object, otherwise: str = NO) -> str:
    return YES if holds else otherwise


def _at(share: float) -> int:
    return SHARES.index(share)


def _largest(values: Curves) -> tuple[float, str]:
    """The largest of them, and where it is."""
    at = np.unravel_index(int(np.argmax(values)), values.shape)
    return float(values[at]), place(tuple(int(one) for one in at))


def _listed(values: list[float]) -> str:
    return ", ".join(f"{value:.1f}" for value in values)

"""Catalogue: presets (measures under one name), and ranges that a source calls fair.

A preset is printed in every report that uses it. Ranges mark values and never judge them.
"""

from __future__ import annotations

from decimal import Decimal

from fairaudit.base.frozen import Frozen
from fairaudit.metrics import citations
from fairaudit.metrics.citations import Citation
from fairaudit.metrics.disparities import Disparity


class Preset(Frozen):
    """Metrics that a source uses together; a limit applies to the first of them."""

    name: str
    metrics: tuple[str, ...]
    why: str
    source: Citation


PRESETS = (
    Preset(
        name="survey",
        metrics=(
            "normalized_difference",
            "mean_difference",
            "between_group_auc_score",
            "unexplained_difference",
        ),
        why="differences are easier to read than ratios, and the normalized difference does not "
        "depend on the number of selected people; within uniform segments, because nothing else "
        "explains a difference there",
        source=citations.ZLIOBAITE,
    ),
    Preset(
        name="fairmlhealth",
        metrics=(
            "disparate_impact_ratio",
            "statistical_parity_difference",
            "fairmlhealth_equal_odds_ratio",
            "fairmlhealth_equal_odds_difference",
            "average_odds_difference",
            "average_odds_error",
            "true_positive_rate_ratio",
            "true_positive_rate_difference",
            "false_positive_rate_ratio",
            "false_positive_rate_difference",
            "positive_predictive_value_ratio",
            "positive_predictive_value_difference",
            "balanced_accuracy_ratio",
            "balanced_accuracy_difference",
            "mean_prediction_ratio",
            "mean_prediction_difference",
            "mae_ratio",
            "mae_difference",
            "between_group_generalized_entropy",
            "generalized_entropy",
            "base_rate",
            "accuracy",
            "f1",
            "auc",
            "average_precision",
            "mean_label",
            "rmse",
            "r2",
        ),
        why="its fairness table and its performance table, of classes or of numbers",
        source=citations.MLHEALTH,
    ),
)

_BY_NAME = {preset.name: preset for preset in PRESETS}


def find_preset(name: str) -> Preset | None:
    """The preset with a name; None for an unknown name."""
    return _BY_NAME.get(name)


class FairRanges(Frozen):
    """Values that a source calls fair: ratios between two bounds, differences up to a limit.

    The limit of differences is a `part` of their range. Fair ranges mark values in a report and
    never judge them.
    """

    name: str
    ratio: tuple[Decimal, Decimal]
    part: Decimal
    source: Citation

    def range_of(self, metric: Disparity) -> tuple[Decimal, Decimal] | None:
        """The bounds between which a metric is called fair; None if the source has none.

        Differences of unbounded numbers have no bounds: the source uses the range in the data.
        """
        rate, comparison = metric.parts[0]
        if comparison.id in _RATIOS:
            return self.ratio
        low, high = rate.bounds
        if comparison.id not in _DIFFERENCES or low is None or high is None:
            return None
        return -self.part * (high - low), self.part * (high - low)


_RATIOS = frozenset({"ratio", "min_ratio"})
_DIFFERENCES = frozenset({"difference", "gap"})


FAIR_RANGES = (
    FairRanges(
        name="fairmlhealth",
        ratio=(Decimal("0.8"), Decimal("1.2")),
        part=Decimal("0.1"),
        source=citations.MLHEALTH,
    ),
)


def find_ranges(name: str | None) -> FairRanges | None:
    """The ranges with a name; None for an unknown name."""
    return next((ranges for ranges in FAIR_RANGES if ranges.name == name), None)

"""The curves of a figure: what fairaudit measures at each level of injected discrimination."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from ranking import Setting, draw

import fairaudit

SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Of protected people (the rows of a figure) and of positive decisions (its columns)."""
LEVELS = tuple(step / 10 for step in range(-10, 11))
"""Of injected discrimination: the x axis."""
GROUPS = ("others", "protected")


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure by the survey's name: fairaudit's metric, and the group whose row it is."""

    title: str
    metric: str
    group: str | None


MEAN_DIFFERENCE = Measure("mean difference", "mean_difference", "protected")
NORMALIZED_DIFFERENCE = Measure("normalized difference", "normalized_difference", "protected")
MUTUAL_INFORMATION = Measure("mutual information", "normalized_mutual_information", None)
# The figures show the ratios as they are for the unprotected.
IMPACT_RATIO = Measure("impact ratio", "disparate_impact_ratio", "others")
ELIFT = Measure("elift", "elift", "others")
ODDS_RATIO = Measure("odds ratio", "selection_odds_ratio", "others")
AUC = Measure("AUC", "between_group_auc", "protected")
CORRELATION = Measure("correlation", "correlation", "others")
IMPACT_RATIO_OF_PROTECTED = Measure("impact ratio", "disparate_impact_ratio", "protected")
ELIFT_OF_PROTECTED = Measure("elift", "elift", "protected")
ODDS_RATIO_OF_PROTECTED = Measure("odds ratio", "selection_odds_ratio", "protected")


@dataclass(frozen=True, slots=True)
class Figure:
    """Measures that are shown together; `limits` are those of the y axis."""

    title: str
    measures: tuple[Measure, ...]
    limits: tuple[int, int]


DRAWN = {
    2: Figure("differences", (MEAN_DIFFERENCE, NORMALIZED_DIFFERENCE, MUTUAL_INFORMATION), (-1, 1)),
    3: Figure("ratios, unprotected to protected", (IMPACT_RATIO, ELIFT, ODDS_RATIO), (0, 3)),
}
"""By the survey's number."""
BESIDE = (
    AUC,
    CORRELATION,
    IMPACT_RATIO_OF_PROTECTED,
    ELIFT_OF_PROTECTED,
    ODDS_RATIO_OF_PROTECTED,
)
"""Not in the figures; the ratios are those that Table 4 has in mind."""
MEASURES = (*DRAWN[2].measures, *DRAWN[3].measures, *BESIDE)

Curves = NDArray[np.float64]
"""By the share of the protected, the share of the positive, and the level."""
Means = dict[Measure, Curves]


def measure_all(rows: int, repetitions: int, seed: int, *, exact: bool) -> Means:
    """The means over the repetitions, in every setting and at every level."""
    means = {one: np.zeros((len(SHARES), len(SHARES), len(LEVELS))) for one in MEASURES}
    for i, protected in enumerate(SHARES):
        for j, positive in enumerate(SHARES):
            random = np.random.default_rng([seed, i, j])
            draws = [
                draw(random, rows, Setting(protected, positive), level, exact=exact)
                for level in LEVELS
                for _ in range(repetitions)
            ]
            found = measure(people(draws), repetitions)
            for one, values in found.items():
                means[one][i, j] = values.mean(axis=1)
    return means


def people(draws: Sequence[tuple[NDArray[np.bool_], NDArray[np.bool_]]]) -> pl.DataFrame:
    """The rows of all data sets, one after the other; `run` is the number of the data set."""
    sizes = [len(selected) for _, selected in draws]
    return pl.DataFrame(
        {
            "person": np.concatenate([protected for protected, _ in draws]).astype(np.int8),
            "decision": np.concatenate([selected for _, selected in draws]).astype(np.int8),
            "run": np.repeat(np.arange(len(draws), dtype=np.int32), sizes),
        }
    )


def measure(data: pl.DataFrame, repetitions: int) -> dict[Measure, NDArray[np.float64]]:
    """What fairaudit measures in each data set: levels by repetitions; NaN where undefined."""
    found = {one: np.full(len(LEVELS) * repetitions, np.nan) for one in MEASURES}
    asked = {(one.metric, one.group): one for one in MEASURES}
    for row in fairaudit.audit(_spec(), data).comparisons:
        group = GROUPS[int(dict(row.group)["person"])] if row.group else None
        if one := asked.get((row.metric, group)):
            found[one][int(dict(row.stratum)["run"])] = row.estimate.value
    return {one: values.reshape(len(LEVELS), repetitions) for one, values in found.items()}


def _spec() -> dict[str, object]:
    """Every measure within every data set, the ratios to either group."""
    names = dict.fromkeys(one.metric for one in MEASURES)
    ratios = (IMPACT_RATIO.metric, ODDS_RATIO.metric)
    return {
        "columns": {
            "protected": {"person": {"reference": 0}},
            "decision": {"column": "decision", "positive": 1},
            "strata": ["run"],
        },
        "metrics": [
            *({"metric": name, "given": "run"} for name in names),
            *({"metric": name, "given": "run", "reference": 1} for name in ratios),
        ],
    }


def place(at: tuple[int, ...]) -> str:
    """A setting, and a level if there is one, from their places in `Curves`."""
    words = f"p(s1) {SHARES[at[0]]:.0%}, p(y+) {SHARES[at[1]]:.0%}"
    return words if len(at) == 2 else f"{words}, d {LEVELS[at[2]]:g}"

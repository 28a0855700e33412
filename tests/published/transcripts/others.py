"""What AIF360 and Aequitas print for tables of counts, as `others.json` beside this file.

python tests/published/transcripts/others.py ../shared/data/compas-scores-two-years.csv

Both hold other packages back, so neither is installed where the tests run: this is run by hand in
an environment of their own, and test_crosscheck_others.py compares. Numbers stand as they were
printed, NaN and infinity as the texts "nan" and "inf".
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

logging.disable(logging.WARNING)  # hints at extras that are not installed

import numpy as np  # noqa: E402  # after the logging
import pandas as pd  # noqa: E402  # the same
from aequitas.bias import Bias  # noqa: E402  # the same
from aequitas.group import Group  # noqa: E402  # the same
from aif360.datasets import BinaryLabelDataset  # noqa: E402  # the same
from aif360.metrics import BinaryLabelDatasetMetric, ClassificationMetric  # noqa: E402  # the same
from aif360.sklearn import metrics as functions  # noqa: E402  # the same

COMMAND = "python tests/published/transcripts/others.py ../shared/data/compas-scores-two-years.csv"
CELLS = ("tp", "fp", "fn", "tn")
Cells = dict[str, tuple[int, int, int, int]]
TABLES: dict[str, tuple[str, Cells]] = {
    "two groups": ("men", {"women": (20, 10, 10, 60), "men": (40, 20, 10, 30)}),
    "three groups": ("c", {"a": (7, 3, 4, 11), "b": (13, 9, 2, 5), "c": (31, 17, 19, 23)}),
    "four groups": (
        "d",
        {"a": (1, 2, 3, 4), "b": (8, 7, 6, 5), "c": (30, 20, 10, 40), "d": (50, 25, 15, 60)},
    ),
    "a group without positives": ("m", {"f": (0, 3, 0, 9), "m": (12, 4, 6, 18)}),
    "a group without negatives": ("m", {"f": (5, 0, 3, 0), "m": (12, 4, 6, 18)}),
    "nobody selected in a group": ("m", {"f": (0, 0, 7, 9), "m": (12, 4, 6, 18)}),
    "everybody selected in a group": ("m", {"f": (7, 9, 0, 0), "m": (12, 4, 6, 18)}),
    "nobody selected in the reference": ("m", {"f": (12, 4, 6, 18), "m": (0, 0, 7, 9)}),
    "nobody selected at all": ("m", {"f": (0, 0, 6, 18), "m": (0, 0, 7, 9)}),
    "no error in the reference": ("m", {"f": (12, 4, 6, 18), "m": (7, 0, 0, 9)}),
    "twenty times the reference": ("m", {"f": (12, 8, 8, 12), "m": (1, 0, 19, 20)}),
}
"""The reference, and tp, fp, fn and tn of each group."""

AIF_RATES = (
    "selection_rate",
    "true_positive_rate",
    "false_positive_rate",
    "false_negative_rate",
    "true_negative_rate",
    "positive_predictive_value",
    "negative_predictive_value",
    "false_discovery_rate",
    "false_omission_rate",
    "accuracy",
    "error_rate",
    "base_rate",
)
AIF_COMPARISONS = (
    "statistical_parity_difference",
    "disparate_impact",
    "average_odds_difference",
    "average_abs_odds_difference",
    "equal_opportunity_difference",
    "equalized_odds_difference",
    "true_positive_rate_difference",
    "false_positive_rate_difference",
    "false_positive_rate_ratio",
    "false_negative_rate_difference",
    "false_negative_rate_ratio",
    "false_discovery_rate_difference",
    "false_discovery_rate_ratio",
    "false_omission_rate_difference",
    "false_omission_rate_ratio",
    "error_rate_difference",
    "error_rate_ratio",
)
AIF_EVERYBODY = ("theil_index", "coefficient_of_variation")
AIF_ENTROPIES = {
    "generalized_entropy_index": (0, 1, 2, 3),
    "between_all_groups_generalized_entropy_index": (0, 1, 2),
}
FUNCTIONS = (
    "statistical_parity_difference",
    "disparate_impact_ratio",
    "equal_opportunity_difference",
    "average_odds_difference",
    "average_odds_error",
    "kl_divergence",
)
FUNCTIONS_OF_ALL = (
    "smoothed_edf",
    "df_bias_amplification",
    "between_group_generalized_entropy_error",
)
AEQUITAS_RATES = (
    "tpr",
    "tnr",
    "for",
    "fdr",
    "fpr",
    "fnr",
    "npv",
    "precision",
    "ppr",
    "pprev",
    "prev",
    "accuracy",
)


def main() -> None:
    """Write the transcript."""
    parser = argparse.ArgumentParser()
    parser.add_argument("compas", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    cases = [
        case(name, ["group"], {(level,): cells for level, cells in table.items()}, (reference,))
        for name, (reference, table) in TABLES.items()
    ]
    people = pd.read_csv(asked.compas, usecols=["race", "sex", "score_text", "two_year_recid"])
    cases += [
        case("COMPAS by race", ["race"], counted(people, ["race"]), ("Caucasian",)),
        case(
            "COMPAS by race and sex",
            ["race", "sex"],
            counted(people, ["race", "sex"]),
            ("Caucasian", "Male"),
        ),
    ]
    predictions = Path(__file__).with_name("predictions.json").read_text(encoding="utf-8")
    cases += [
        case(
            one["name"],
            one["by"],
            {tuple(group[:-4]): tuple(group[-4:]) for group in one["groups"]},
            tuple(one["reference"]),
        )
        for one in json.loads(predictions)
    ]
    transcript = {
        "command": COMMAND,
        "versions": {name: version(name) for name in ("aif360", "aequitas", "numpy", "pandas")},
        "cases": cases,
    }
    text = json.dumps(transcript, indent=1, ensure_ascii=False, allow_nan=False)
    Path(__file__).with_suffix(".json").write_text(text + "\n", encoding="utf-8")


def counted(people: pd.DataFrame, by: list[str]) -> dict[tuple[str, ...], tuple[int, ...]]:
    """tp, fp, fn, tn of each group: predicted is a score of Medium or High."""
    label, selected = people["two_year_recid"] == 1, people["score_text"] != "Low"
    cells = pd.DataFrame(
        {
            "tp": label & selected,
            "fp": ~label & selected,
            "fn": label & ~selected,
            "tn": ~label & ~selected,
        }
    )
    sums = cells.groupby([people[name] for name in by]).sum()
    found: dict[tuple[str, ...], tuple[int, ...]] = {}
    for levels, row in sums.iterrows():
        key = levels if isinstance(levels, tuple) else (levels,)
        found[key] = tuple(int(row[cell]) for cell in CELLS)
    return found


def case(
    name: str,
    by: list[str],
    groups: dict[tuple[str, ...], Any],
    reference: tuple[str, ...],
) -> dict[str, Any]:
    """One table and all that is printed for it, group by group in the table's order."""
    rows = pd.DataFrame(
        [
            (code, label, predicted)
            for code, (tp, fp, fn, tn) in enumerate(groups.values())
            for label, predicted, people in ((1, 1, tp), (0, 1, fp), (1, 0, fn), (0, 0, tn))
            for _ in range(people)
        ],
        columns=["group", "label", "prediction"],
    )
    at = list(groups).index(reference)
    return {
        "name": name,
        "by": by,
        "reference": list(reference),
        "groups": [
            {"levels": list(levels), **dict(zip(CELLS, cells, strict=True))}
            for levels, cells in groups.items()
        ],
        "aif360": aif360(rows, len(groups), at),
        "aif360.sklearn": aif360_functions(rows, len(groups), at),
        "aequitas": aequitas(rows, len(groups), at),
    }


def plain(value: Any) -> float | str:
    """A number as JSON can carry it."""
    number = float(value)
    return number if math.isfinite(number) else str(number)


def attempt(function: Callable[..., Any], *given: Any, **named: Any) -> float | str:
    """What it prints, or the name of its error."""
    try:
        return plain(function(*given, **named))
    except (ValueError, TypeError, ZeroDivisionError, AttributeError) as error:
        return f"{type(error).__name__}: {error}".split("\n")[0]


def aif360(rows: pd.DataFrame, groups: int, reference: int) -> dict[str, Any]:
    """The classes: every group against the reference, and the numbers of the table as a whole."""
    truth, decided = (dataset(rows, name, groups, reference) for name in ("label", "prediction"))

    def metric(group: int) -> Any:
        other = next(one for one in (reference, 0, 1) if one != group)
        return ClassificationMetric(
            truth,
            decided,
            unprivileged_groups=[{"group": group}],
            privileged_groups=[{"group": other}],
        )

    rates: list[dict[str, float | str]] = []
    comparisons: list[dict[str, float | str] | None] = []
    for group in range(groups):
        one = metric(group)
        rates.append({name: attempt(getattr(one, name), privileged=False) for name in AIF_RATES})
        comparisons.append(
            None
            if group == reference
            else {name: attempt(getattr(one, name)) for name in AIF_COMPARISONS}
        )
    whole = metric(1 if reference == 0 else 0)
    everybody = {name: attempt(getattr(whole, name)) for name in AIF_EVERYBODY}
    for name, alphas in AIF_ENTROPIES.items():
        for alpha in alphas:
            everybody[f"{name}(alpha={alpha})"] = attempt(getattr(whole, name), alpha=alpha)
    for pseudo in (1.0, 0.0):
        for kind, data in (("prediction", decided), ("label", truth)):
            smoothed = BinaryLabelDatasetMetric(data).smoothed_empirical_differential_fairness
            key = f"smoothed_empirical_differential_fairness({kind}, concentration={pseudo})"
            everybody[key] = attempt(smoothed, concentration=pseudo)
        key = f"differential_fairness_bias_amplification(concentration={pseudo})"
        amplified = whole.differential_fairness_bias_amplification
        everybody[key] = attempt(amplified, concentration=pseudo)
    return {"rates": rates, "comparisons": comparisons, "everybody": everybody}


def dataset(rows: pd.DataFrame, outcome: str, groups: int, reference: int) -> BinaryLabelDataset:
    """The rows with one outcome as the label; without lists of levels they are all one group."""
    return BinaryLabelDataset(
        df=pd.DataFrame(
            {"group": rows["group"].astype(float), "label": rows[outcome].astype(float)}
        ),
        label_names=["label"],
        protected_attribute_names=["group"],
        privileged_protected_attributes=[np.array([float(reference)])],
        unprivileged_protected_attributes=[
            np.array([float(code) for code in range(groups) if code != reference])
        ],
    )


def aif360_functions(rows: pd.DataFrame, groups: int, reference: int) -> dict[str, Any]:
    """The functions after scikit-learn's manner: each group with the reference alone."""

    def of(group: int) -> dict[str, float | str]:
        two = rows[rows["group"].isin([group, reference])]
        index = pd.Index((two["group"] == reference).astype(int), name="group")
        truth = pd.Series(two["label"].to_numpy(), index=index)
        decided = two["prediction"].to_numpy()
        compared = {
            name: attempt(getattr(functions, name), truth, decided, prot_attr="group", priv_group=1)
            for name in FUNCTIONS
        }
        unordered = {
            name: attempt(getattr(functions, name), truth, decided, prot_attr="group")
            for name in FUNCTIONS_OF_ALL
        }
        return compared | unordered

    return {"comparisons": [None if one == reference else of(one) for one in range(groups)]}


def aequitas(rows: pd.DataFrame, groups: int, reference: int) -> dict[str, Any]:
    """The crosstabs, and the disparities to the reference."""
    data = pd.DataFrame(
        {
            "group": rows["group"].astype(str),
            "label_value": rows["label"],
            "score": rows["prediction"],
        }
    )
    crosstabs, _ = Group().get_crosstabs(data, attr_cols=["group"])
    compared = Bias().get_disparity_predefined_groups(
        crosstabs,
        original_df=data,
        ref_groups_dict={"group": str(reference)},
        check_significance=False,
    )
    compared = compared.set_index("attribute_value")
    disparities = [name for name in AEQUITAS_RATES if f"{name}_disparity" in compared]
    return {
        "rates": [
            {name: plain(compared.loc[str(code), name]) for name in AEQUITAS_RATES}
            for code in range(groups)
        ],
        "disparities": [
            {name: plain(compared.loc[str(code), f"{name}_disparity"]) for name in disparities}
            for code in range(groups)
        ],
    }


if __name__ == "__main__":
    main()

"""Rates of every group, and its comparison with a reference, of all subsets by AIF360.

python aif360_metrics.py FILE --keys sex race age --out rates.csv

Every subset is one protected attribute whose codes are its groups, and every group but the largest
is compared with the largest by a `ClassificationMetric`.
"""

from __future__ import annotations

import argparse
import csv
import logging
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

logging.disable(logging.WARNING)  # hints at extras that are not installed

import pandas as pd  # noqa: E402  # after the logging
from aif360.datasets import BinaryLabelDataset  # noqa: E402  # the same
from aif360.metrics import ClassificationMetric  # noqa: E402  # the same

RATES = (
    "n",
    "selection_rate",
    "true_positive_rate",
    "false_positive_rate",
    "positive_predictive_value",
    "accuracy",
)


def main() -> None:
    """Audit and write the rates by group."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("--keys", nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    data = pd.read_parquet(asked.file, columns=[*asked.keys, "label", "prediction"])
    outcomes = pd.DataFrame(
        {
            "label": (data["label"] == "yes").astype("float64"),
            "prediction": (data["prediction"] == "approve").astype("float64"),
        }
    )
    with asked.out.open("w", encoding="utf-8", newline="") as stream:
        table = csv.DictWriter(stream, [*asked.keys, *RATES], restval="")
        table.writeheader()
        for size in range(1, len(asked.keys) + 1):
            for subset in combinations(asked.keys, size):
                table.writerows(_rows(data[list(subset)], outcomes))


def _rows(keys: pd.DataFrame, outcomes: pd.DataFrame) -> Iterator[dict[str, object]]:
    """The rates of every group of a subset."""
    grouped = keys.groupby(list(keys.columns), observed=True, sort=False)
    codes = grouped.ngroup()
    sizes = codes.value_counts()
    reference = int(sizes.index[0])
    truth = _dataset(codes, outcomes["label"])
    decided = truth.copy()
    decided.labels = outcomes[["prediction"]].to_numpy()
    names = keys.loc[~codes.duplicated()].set_index(codes[~codes.duplicated()])
    for code in sizes.index:
        other = sizes.index[1] if code == reference else reference
        metric = ClassificationMetric(
            truth,
            decided,
            unprivileged_groups=[{"group": code}],
            privileged_groups=[{"group": other}],
        )
        metric.disparate_impact()
        metric.statistical_parity_difference()
        metric.equal_opportunity_difference()
        metric.average_odds_difference()
        yield dict(names.loc[code]) | {
            "n": int(metric.num_instances(privileged=False)),
            "selection_rate": metric.selection_rate(privileged=False),
            "true_positive_rate": metric.true_positive_rate(privileged=False),
            "false_positive_rate": metric.false_positive_rate(privileged=False),
            "positive_predictive_value": metric.positive_predictive_value(privileged=False),
            "accuracy": metric.accuracy(privileged=False),
        }


def _dataset(codes: pd.Series, label: pd.Series) -> BinaryLabelDataset:
    return BinaryLabelDataset(
        df=pd.DataFrame({"group": codes.astype("float64"), "label": label}),
        label_names=["label"],
        protected_attribute_names=["group"],
    )


if __name__ == "__main__":
    main()

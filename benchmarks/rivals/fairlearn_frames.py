"""Rates, differences and ratios of all seven subsets by Fairlearn's `MetricFrame`.

python fairlearn_frames.py FILE --keys sex race age --out rates.csv
"""

from __future__ import annotations

import argparse
from itertools import combinations
from pathlib import Path

import pandas as pd
from fairlearn.metrics import (
    MetricFrame,
    count,
    false_positive_rate,
    selection_rate,
    true_positive_rate,
)
from sklearn.metrics import accuracy_score, precision_score

METRICS = {
    "n": count,
    "selection_rate": selection_rate,
    "true_positive_rate": true_positive_rate,
    "false_positive_rate": false_positive_rate,
    "positive_predictive_value": lambda y_true, y_pred: precision_score(
        y_true, y_pred, zero_division=0.0
    ),
    "accuracy": accuracy_score,
}


def main() -> None:
    """Audit and write the rates by group."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("--keys", nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    data = pd.read_parquet(asked.file, columns=[*asked.keys, "label", "prediction"])
    data[asked.keys] = data[asked.keys].astype("category")
    label = (data["label"] == "yes").to_numpy("int8")
    prediction = (data["prediction"] == "approve").to_numpy("int8")
    tables = []
    for size in range(1, len(asked.keys) + 1):
        for subset in combinations(asked.keys, size):
            frame = MetricFrame(
                metrics=METRICS,
                y_true=label,
                y_pred=prediction,
                sensitive_features=data[list(subset)],
            )
            frame.difference()
            frame.ratio()
            tables.append(frame.by_group.dropna(subset=["n"]).reset_index())
    pd.concat(tables)[[*asked.keys, *METRICS]].to_csv(asked.out, index=False)


if __name__ == "__main__":
    main()

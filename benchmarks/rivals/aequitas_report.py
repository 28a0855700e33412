"""Rates of every group, and its disparities, of all subsets by Aequitas' crosstabs.

python aequitas_report.py FILE --keys sex race age --out rates.csv

Aequitas knows single attributes; every subset is one of joined texts.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import combinations
from pathlib import Path

import pandas as pd
from aequitas.bias import Bias
from aequitas.group import Group

SEPARATOR = "|"
RATES = {
    "group_size": "n",
    "pprev": "selection_rate",
    "tpr": "true_positive_rate",
    "fpr": "false_positive_rate",
    "precision": "positive_predictive_value",
    "accuracy": "accuracy",
}


def main() -> None:
    """Audit and write the rates by group."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("--keys", nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    data = pd.read_parquet(asked.file, columns=[*asked.keys, "label", "prediction"])
    subsets = [
        SEPARATOR.join(subset)
        for size in range(1, len(asked.keys) + 1)
        for subset in combinations(asked.keys, size)
    ]
    for subset in subsets:
        first, *others = subset.split(SEPARATOR)
        if others:
            data[subset] = data[first].str.cat(data[others], sep=SEPARATOR)
    data["label_value"] = (data.pop("label") == "yes").astype("int8")
    data["score"] = (data.pop("prediction") == "approve").astype("int8")
    crosstabs, _ = Group().get_crosstabs(data, attr_cols=subsets)
    Bias().get_disparity_major_group(crosstabs, original_df=data, check_significance=False)
    _by_columns(crosstabs, asked.keys).to_csv(asked.out, index=False)


def _by_columns(crosstabs: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """The crosstabs with a column for each key again."""
    rows = [
        dict(zip(name.split(SEPARATOR), value.split(SEPARATOR), strict=True))
        for name, value in zip(
            crosstabs["attribute_name"], crosstabs["attribute_value"], strict=True
        )
    ]
    groups = pd.DataFrame(rows, columns=keys)
    rates = crosstabs[list(RATES)].rename(columns=RATES).reset_index(drop=True)
    return pd.concat([groups, rates], axis="columns")


if __name__ == "__main__":
    main()

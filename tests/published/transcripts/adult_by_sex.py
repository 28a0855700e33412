"""How badly scikit-learn's classifiers tell the sexes of Adult apart by their features: one number.

python tests/published/transcripts/adult_by_sex.py

The mean chance of boosted trees and of a logistic regression, both cross-validated, takes most of a
minute: it is printed once, for test_models_of_strata.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl
import sklearn
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from test_models_of_strata import CATEGORIES, NUMBERS, read_adult


def main() -> None:
    """Print the balanced error rate, and the version that has it."""
    data, matrix, member = read_adult()
    codes = [data[name].cast(pl.Categorical).to_physical().to_numpy() for name in CATEGORIES]
    table = np.column_stack([data.select(NUMBERS).to_numpy(), *codes]).astype(np.float64)
    trees = HistGradientBoostingClassifier(
        categorical_features=[3, 4], class_weight="balanced", max_iter=50, early_stopping=False
    )
    linear = LogisticRegression(class_weight="balanced", max_iter=5000)
    folds = StratifiedKFold(5, shuffle=True, random_state=7)
    chance = sum(
        cross_val_predict(model, x, member, cv=folds, method="predict_proba")[:, 1]
        for model, x in ((trees, table), (linear, matrix / matrix.std(axis=0)))
    )
    found = 1 - balanced_accuracy_score(member, chance / 2 >= 0.5)
    sys.stdout.write(f"{found} {sklearn.__version__}\n")


if __name__ == "__main__":
    main()

"""People with features, made by chance or read from Adult."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from fairaudit.base.arrays import Floats, Marks
from fairaudit.cube.rows import Features

ADULT = Path(__file__).parents[4] / "shared" / "data" / "adult_train.csv"
NUMBERS = ("age", "education_num", "hours_per_week")
CATEGORIES = ("workclass", "marital_status")


def number(values: Floats, name: str = "x") -> Features:
    """One numeric feature."""
    column = np.asarray(values, dtype=np.float64)[:, None]
    return Features((name,), column, (), np.zeros((len(column), 0), dtype=np.int64), ())


def draw(seed: int, n: int = 300) -> tuple[Features, Marks]:
    """People of two sides who differ in one number and in a category."""
    generator = np.random.default_rng(seed)
    member = generator.random(n) < 0.4
    numbers = np.stack([generator.normal(size=n) + member, generator.integers(0, 4, n)], axis=1)
    codes = np.where(generator.random(n) < 0.3, member, generator.integers(0, 3, n))
    levels = (("a", "b", "c"),)
    return Features(("x", "y"), numbers.round(2), ("z",), codes[:, None], levels), member


def adult() -> tuple[Features, Marks]:
    """The people of Adult, and who of them is a woman."""
    if not ADULT.exists():
        pytest.skip("needs adult_train.csv in ../shared/data")
    data = pl.read_csv(ADULT, infer_schema_length=None)
    levels = [tuple(sorted(data[name].unique().to_list())) for name in CATEGORIES]
    codes = [
        data[name].replace_strict(list(known), list(range(len(known)))).to_numpy()
        for name, known in zip(CATEGORIES, levels, strict=True)
    ]
    numbers = data.select(NUMBERS).to_numpy().astype(np.float64)
    features = Features(NUMBERS, numbers, CATEGORIES, np.stack(codes, axis=1), tuple(levels))
    return features, (data["sex"] == "Female").to_numpy()

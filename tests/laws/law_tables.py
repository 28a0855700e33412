"""Random people for the laws of evidence, and a spec that asks every measure of them at once.

Groups of 1 to 100,000 people in one to four strata, with a label, a decision, a score, three
classes, two numbers and a numeric attribute, as rows that stand for many; some values are missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from evidence_specs import YES, document
from numpy.random import Generator

from fairaudit.metrics import CATALOGUE, Disparity, GroupMetric, Metric, Requirement, TableMetric

SCORES = (0.1, 0.3, 0.45, 0.6, 0.8, 0.95)
NUMBERS = {Requirement.NUMBER, Requirement.NUMERIC_LABEL}
UTILITIES = {"tp": 2, "fp": 1, "fn": -1, "tn": "0.5"}


def is_numeric(record: Metric) -> bool:
    """Whether it takes a number for a label, or an attribute that is one."""
    other = record.id in {"mean_residual", "balanced_residuals"}
    return (
        other
        or bool(record.requirements & NUMBERS)
        or Requirement.NUMERIC_ATTRIBUTE in record.requirements
    )


def looks_at_people(record: Metric) -> bool:
    """Whether it is made of features of people, of whom these tables have none."""
    by_model = record.id == "propensity_stratified_difference"
    return by_model or Requirement.FEATURES in record.requirements


COMPARING: list[Disparity | TableMetric] = [
    metric
    for metric in CATALOGUE
    if not (isinstance(metric, GroupMetric) or is_numeric(metric) or looks_at_people(metric))
    and Requirement.DRAWS not in metric.requirements  # test_draws.py
]
"""Every measure that compares groups by outcomes and scores, but for those of single people."""


NUMERIC = [
    metric
    for metric in CATALOGUE
    if isinstance(metric, Disparity)
    and is_numeric(metric)
    and Requirement.NUMERIC_ATTRIBUTE not in metric.requirements
]
"""Every measure that compares groups by numbers, such as absolute errors."""


def rows_of(
    random: Generator, people: Mapping[str, Sequence[int]], chances: Mapping[str, Sequence[float]]
) -> pl.DataFrame:
    """People of every group by stratum; `chances` of a label, and of a decision by the label."""
    rows: list[tuple[str, str, int | None, int | None, str, float, int]] = []
    for g, sizes in people.items():
        base, tpr, fpr = chances[g]
        for z, n in enumerate(sizes):
            cells = [(1 - base) * (1 - fpr), (1 - base) * fpr, base * (1 - tpr), base * tpr]
            for cell, count in enumerate(random.multinomial(n, cells).tolist()):
                y, p = divmod(cell, 2)
                weights = np.array([5, 4, 3, 3, 2, 1]) if not y else np.array([1, 2, 3, 3, 4, 5])
                by_score = random.multinomial(count, weights / weights.sum()).tolist()
                for s, number in zip(SCORES, by_score, strict=True):
                    of_class = random.multinomial(number, (0.5, 0.3, 0.2)).tolist()
                    rows += [
                        (g, f"z{z}", y, p, c, s, k)
                        for c, k in zip("uvw", of_class, strict=True)
                        if k
                    ]
    return pl.DataFrame(rows, ["g", "z", "y", "p", "c", "s", "n"], orient="row")


def random_people(random: Generator, *, alike: bool) -> pl.DataFrame:
    """Two to six groups of 1 to 100,000 people; `alike` are all of one distribution."""
    names = [f"g{number}" for number in range(int(random.integers(2, 7)))]
    strata = int(random.integers(1, 5))
    sizes = {
        g: random.multinomial(
            round(10 ** random.choice([0, 0.5, 1, 2, 3, 4, 5])), random.dirichlet(np.ones(strata))
        ).tolist()
        for g in names
    }
    common = random.uniform(0.15, 0.85), random.uniform(0.3, 0.95), random.uniform(0.05, 0.5)
    chances = {
        g: common if alike else tuple(np.clip(common + random.normal(0, 0.1, 3), 0.02, 0.98))
        for g in names
    }
    people = rows_of(random, sizes, chances)
    if random.random() < 0.3:
        unknown = people.head(2).with_columns(y=pl.lit(None, pl.Int64), n=pl.lit(2, pl.Int64))
        people = pl.concat([people, unknown])
    return people


def large_people(random: Generator) -> pl.DataFrame:
    """Three groups of thousands in two strata who differ widely in everything."""
    sizes = {"g0": (3000, 2000), "g1": (2500, 2500), "g2": (2000, 1500)}
    chances = {"g0": (0.6, 0.9, 0.1), "g1": (0.35, 0.55, 0.35), "g2": (0.5, 0.75, 0.2)}
    g, s, c = (pl.col(name) for name in "gsc")
    return rows_of(random, sizes, chances).with_columns(
        s=pl.when((g == "g1") & (s > 0.5)).then(0.3).otherwise(s),
        c=pl.when((g == "g1") & (c == "u")).then(pl.lit("v")).otherwise(c),
    )


def one_cell(  # the columns of a row
    group: str | None, *, z: int = 0, y: int | None, p: int, n: int = 1, s: float = 0.95
) -> pl.DataFrame:
    """So many people who are alike in everything."""
    row = [(group, f"z{z}", y, p, "u", s, n)]
    schema = {"g": pl.String, "z": pl.String, "y": pl.Int64, "p": pl.Int64, "c": pl.String,
              "s": pl.Float64, "n": pl.Int64}  # fmt: skip
    return pl.DataFrame(row, schema, orient="row")


def numeric_people(random: Generator, *, alike: bool) -> pl.DataFrame:
    """Two to five groups of 1 to 300 people with a number and its prediction, in two strata."""
    rows = []
    for group in range(int(random.integers(2, 6))):
        shift = 0.0 if alike else float(random.normal(0, 1))
        for _ in range(int(random.choice([1, 2, 5, 30, 300]))):
            number = round(float(random.normal(10 + shift, 2)), 2)
            guess = round(number + float(random.normal(shift / 2, 1)), 2)
            rows.append((f"g{group}", f"z{int(random.integers(2))}", number, guess, 1))
    return pl.DataFrame(rows, ["g", "z", "y", "p", "n"], orient="row")


def numeric_checks(
    people: pl.DataFrame, metrics: Sequence[Mapping[str, Any]], **more: Any
) -> list[dict[str, Any]]:
    """What an audit finds of numbers."""
    columns = {
        "protected": ["g"], "strata": ["z"], "count": "n",
        "label": {"column": "y", "number": True}, "prediction": {"column": "p", "number": True},
    }  # fmt: skip
    spec = {"columns": columns, "metrics": [*metrics], "groups": {"by": ["g"]}, **more}
    checks: list[dict[str, Any]] = document(spec, people)["checks"]
    return checks


def entry(record: Disparity | TableMetric, **more: Any) -> dict[str, Any]:
    """A metric of a spec: to the group g0 where it takes a reference, given strata if it must."""
    metric: dict[str, Any] = {"metric": record.id}
    if isinstance(record, Disparity) and record.to_reference and record.reference is None:
        metric["reference"] = "g0"
    if record.conditional:
        metric["given"] = "z"
    if record.id == "expected_utility":
        metric["utilities"] = UTILITIES
    return {**metric, **more}


def spec_of(
    metrics: Sequence[Mapping[str, Any]],
    prediction: Mapping[str, Any] | None = None,
    *,
    weighted: bool = False,
    **more: Any,
) -> dict[str, Any]:
    """The spec that asks these metrics of such people."""
    return {
        "columns": {
            "protected": ["g"], "strata": ["z"], "count": "n",
            **({"weight": "w"} if weighted else {"score": "s"}),
            "label": {"column": "y", **YES},
            "prediction": prediction or {"column": "p", **YES, "order": [0, 1]},
        },
        "missing": {"label": "aside"},
        "metrics": [*metrics],
        "groups": {"by": ["g"]},
        **more,
    }  # fmt: skip


def checks_of(
    people: pl.DataFrame, metrics: Sequence[Mapping[str, Any]], **more: Any
) -> list[dict[str, Any]]:
    """What an audit finds."""
    checks: list[dict[str, Any]] = document(spec_of(metrics, **more), people)["checks"]
    return checks

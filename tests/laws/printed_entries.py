"""Random specs and people for the laws of printed numbers: every measure, compared in every way."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from law_tables import COMPARING, NUMERIC, UTILITIES, entry, is_numeric, looks_at_people
from numpy.random import Generator

import fairaudit
from fairaudit import AuditResult
from fairaudit.base.errors import SpecError
from fairaudit.metrics import CATALOGUE, Disparity, GroupMetric, Requirement
from fairaudit.metrics.comparisons import COMPARISONS
from fairaudit.metrics.terms import ReferencePolicy

YES: dict[str, Any] = {"positive": 1, "negative": 0}
KINDS = ("plain", "plain", "weighted", "models", "classes", "numbers")
AVERAGES = ("pooled", "uniform", "reference", "group", "reference_people", "group_people")
AGGREGATES = ("mean", "sum", "max", "min")
_RATES = [
    metric
    for metric in CATALOGUE
    if isinstance(metric, GroupMetric)
    and not looks_at_people(metric)
    and Requirement.DRAWS not in metric.requirements
]
_OF_CLASSES = ("selection_rate", "true_positive_rate", "false_positive_rate", "accuracy")


def random_rows(random: Generator, kind: str) -> pl.DataFrame:
    """Three groups in two strata: few people or many, common events or rare ones."""
    size = 10 ** random.uniform(0.7, 6)
    common = random.uniform(0.1, 0.9) if random.random() < 0.6 else 10 ** random.uniform(-4, -1)
    rows = []
    for g in ("ada", "bob", "cyd"):
        for z in "xy":
            if random.random() < 0.08:
                continue
            n = round(size * 10 ** random.uniform(-1, 0))
            chance = np.clip(common * 10 ** random.normal(0, 0.2, 4), 0, 0.95)
            for c in "uvw":
                for y in (0, 1):
                    of_label = n * (chance[0] if y else 1 - chance[0]) / 3
                    for p in (0, 1):
                        of_both = of_label * (chance[1 + y] if p else 1 - chance[1 + y])
                        for q in (0, 1):
                            count = int(
                                random.poisson(of_both * (chance[3] if q else 1 - chance[3]))
                            )
                            d = "uvw"[int(random.integers(3))]
                            score = round(float(random.uniform(0, 1)), 2)
                            weight = round(float(random.uniform(0.5, 2)), 1)
                            rows.append((g, z, y, p, q, c, d, score, weight, count))
    names = ["g", "z", "y", "p", "q", "c", "d", "s", "w", "n"]
    frame = pl.DataFrame(rows, names, orient="row").filter(pl.col("n") > 0)
    if kind == "numbers":
        return frame.head(300).with_columns(
            y=pl.Series(random.normal(10, 3, min(len(frame), 300)).round(2)),
            p=pl.Series(random.normal(10, 3, min(len(frame), 300)).round(2)),
            n=pl.lit(1),
        )
    return frame


def columns_of(kind: str) -> dict[str, Any]:
    outcomes: dict[str, Any] = {"label": {"column": "y", **YES}}
    match kind:
        case "models":
            models = {"new": {"prediction": {"column": "p", **YES}}}
            models |= {"old": {"prediction": {"column": "q", **YES}}}
            outcomes |= {"models": models}
        case "classes":
            outcomes = {"label": {"column": "c"}, "prediction": {"column": "d"}}
        case "numbers":
            number = {"number": True}
            outcomes = {"label": {"column": "y", **number}, "prediction": {"column": "p", **number}}
        case _:
            order = {} if kind == "weighted" else {"order": [0, 1]}
            outcomes |= {"prediction": {"column": "p", **YES, **order}}
            outcomes |= {"weight": "w"} if kind == "weighted" else {"score": "s"}
    return {"protected": {"g": {"reference": "ada"}}, "strata": ["z"], "count": "n", **outcomes}


def limit_of(random: Generator, ideal: float) -> dict[str, Any]:
    """A limit near parity that parity does not cross."""
    apart = float(random.choice([0.0001, 0.01, 0.2]))
    below, above = round(ideal - apart, 6), round(ideal + apart, 6)
    how = random.integers(4)
    if how == 0:
        return {}
    if how == 1:
        return {"fail": {"above": above}}
    if how == 2 and ideal == 1:
        return {"fail": {"below": below}}
    return {"fail": {"outside": [below, above]}}


def random_entry(  # noqa: C901, PLR0912  # the options that an entry has
    random: Generator, kind: str
) -> dict[str, Any]:
    """A measure, or a rate and how it is compared, with options that may not go together."""
    pool = NUMERIC if kind == "numbers" else COMPARING
    if random.random() < 0.45:
        record = pool[int(random.integers(len(pool)))]
        chosen = entry(record)
        if "reference" in chosen:
            chosen["reference"] = {"g": "ada"}
        ideal = float(getattr(record, "ideal", 0))
        if random.random() < 0.15 and isinstance(record, Disparity) and record.to_reference:
            chosen["aggregate"] = str(random.choice(AGGREGATES))
    else:
        rates = [rate for rate in _RATES if is_numeric(rate) is (kind == "numbers")]
        rate = rates[int(random.integers(len(rates)))]
        if kind == "classes":
            wanted = str(random.choice(_OF_CLASSES))
            rate = next(one for one in rates if one.id == wanted)
        comparison = COMPARISONS[int(random.integers(len(COMPARISONS)))]
        chosen = {"metric": rate.id, "compare": comparison.id}
        ideal = float(comparison.ideal)
        if rate.id == "expected_utility":
            chosen["utilities"] = UTILITIES
        if not comparison.is_max_min:
            if random.random() < 0.6:
                chosen["reference"] = str(random.choice([*ReferencePolicy]))
            if random.random() < 0.2:
                chosen["aggregate"] = str(random.choice(AGGREGATES))
    if random.random() < 0.3:
        chosen["given"] = "z"
        if random.random() < 0.7:
            chosen["average"] = str(random.choice(AVERAGES))
    if kind == "classes":
        chosen["class"] = str(random.choice(["u", "macro"]))
    if kind == "models":
        chosen["of"] = "new"
        if random.random() < 0.4:
            chosen["against"] = "old"
    if kind == "plain" and random.random() < 0.1:
        chosen["at"] = 0.5
    return {**chosen, **limit_of(random, ideal)}


def audit_entries(
    kind: str, entries: Sequence[Mapping[str, Any]], rows: pl.DataFrame
) -> AuditResult | None:
    """The audit of the entries that the spec takes; None where it takes none."""
    left = [*entries]
    while left:
        spec = {"columns": columns_of(kind), "metrics": left, "simpson": False}
        try:
            return fairaudit.audit(spec, rows)
        except SpecError as error:
            wrong = {
                int(found[1])
                for fault in error.faults
                if (found := re.match(r"metrics\[(\d+)\]", fault.path))
            }
            if not wrong:
                return None
            left = [one for index, one in enumerate(left) if index not in wrong]
        except fairaudit.base.errors.FairauditError:
            return None
    return None

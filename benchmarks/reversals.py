"""How often a scan finds a reversal where nothing reverses, and where one is planted."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.random import Generator

from fairaudit.base.processes import SILENT
from fairaudit.counting import polars_engine
from fairaudit.counting.sources import Frame
from fairaudit.judge.simpson import Reversal, ReversalKind
from fairaudit.pipeline.audit_task import AuditTask, get_or_raise
from fairaudit.pipeline.tables.audit import Audit

ALPHA = 0.05
SETTINGS = ("independent", "mix")
PEOPLE = (1_000, 3_000, 10_000, 100_000)


@dataclass(frozen=True, slots=True)
class Found:
    """In how many data sets a scan finds a reversal in every stratum, and a significant one."""

    sets: int
    every: int
    sure_every: int
    sure: int


def nothing(random: Generator, setting: str) -> pl.DataFrame:
    """People where nothing reverses: columns are independent, or groups differ by their mix alone.

    Two attributes of three and two groups, two further columns, two outcomes. By mix alone, the gap
    overall is there, and the one within a stratum is what chance makes.
    """
    people = int(random.choice([60, 200, 600]))
    z, g = random.integers(0, 2, people), random.integers(0, 3, people)
    rate = np.full(people, 0.4)
    if setting == "mix":
        g = np.where(random.random(people) < 0.6 * z, 0, g)
        rate = 0.2 + 0.4 * z
    columns = {
        "g": g,
        "h": random.integers(0, 2, people),
        "z": z,
        "q": random.integers(0, 3, people),
        "y": (random.random(people) < rate).astype(np.int64),
    }
    return pl.DataFrame({name: values.astype(str) for name, values in columns.items()})


def planted(random: Generator, people: int) -> pl.DataFrame:
    """Group `a` is 10 points ahead in both strata, but mostly where few people are selected."""
    hard = random.integers(0, 2, people) == 1
    g = np.where(random.random(people) < np.where(hard, 0.84, 0.16), "a", "b")
    rate = np.where(hard, 0.25, 0.75) + 0.1 * (g == "a")
    y = (random.random(people) < rate).astype(np.int64).astype(str)
    return pl.DataFrame({"g": g, "z": np.where(hard, "hard", "easy"), "y": y})


def scanned(data: pl.DataFrame) -> Sequence[Reversal]:
    """The reversals among such people: every pair of groups, every column held fixed, every two.

    By the stages of an audit that find them: the other parts of a report take most of its time.
    """
    spec = {
        "columns": {
            "protected": [name for name in data.columns if name in {"g", "h"}],
            "strata": [name for name in data.columns if name in {"z", "q"}],
            "decision": {"column": "y", "positive": 1, "negative": 0},
        },
        "metrics": ["selection_rate"],
        "simpson": {"together": 2},
    }
    task = AuditTask.read(spec)
    (counts,) = polars_engine.count([task.plan], Frame(data), SILENT)
    return Audit.of(task, get_or_raise(counts)).reversals.found


def count(several: Sequence[Sequence[Reversal]]) -> Found:
    """The findings in several data sets."""
    every = sure_every = sure = 0
    for reversals in several:
        turned = [one for one in reversals if one.kind.reverses]
        strong = [one for one in turned if one.kind is ReversalKind.EVERY_STRATUM]
        every += bool(strong)
        sure_every += any(one.is_significant(ALPHA) for one in strong)
        sure += any(one.is_significant(ALPHA) for one in turned)
    return Found(len(several), every, sure_every, sure)


def of_nothing(setting: str, sets: int, seed: int = 2026) -> Found:
    """Data sets where nothing reverses."""
    draws = (np.random.default_rng([seed, at]) for at in range(sets))
    return count([scanned(nothing(random, setting)) for random in draws])


def of_planted(people: int, sets: int, seed: int = 2026) -> Found:
    """Data sets with a planted reversal."""
    draws = (np.random.default_rng([seed, people, at]) for at in range(sets))
    return count([scanned(planted(random, people)) for random in draws])


def main() -> None:
    """A row for each setting, as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=200, help="data sets in each setting")
    sets = parser.parse_args().sets
    print("| setting | data sets | in every stratum | of these significant | any, significant |")
    print("|---|---|---|---|---|")
    rows = {f"nothing reverses: {setting}": of_nothing(setting, sets) for setting in SETTINGS}
    rows |= {f"planted, {people:,} people": of_planted(people, sets) for people in PEOPLE}
    for name, one in rows.items():
        print(f"| {name} | {one.sets} | {one.every} | {one.sure_every} | {one.sure} |")


if __name__ == "__main__":
    main()

"""The cost of the whole catalogue after the scan: every measure of every subset of five attributes.

python benchmarks/catalogue.py [--cells 50000]
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

import numpy as np

from fairaudit.base.frozen import replace
from fairaudit.base.ledger import Ledger
from fairaudit.cube import Amount, Cube, GroupTable, KeyColumn, Role, Sum
from fairaudit.cube.histogram import Bins, Histogram
from fairaudit.metrics import CATALOGUE, Disparity, Metric, Requirement, evaluate
from fairaudit.metrics.terms import MetricOptions, Parameters, Reference, ReferencePolicy

LEVELS = (3, 5, 9, 6, 51)
BINS = 64
UTILITIES = tuple((cell, Decimal(1)) for cell in ("tp", "fp", "fn", "tn"))
COUNTED = {
    Requirement.LABEL,
    Requirement.PREDICTION,
    Requirement.CLASSES,
    Requirement.SCORE,
    Requirement.DISTRIBUTION,
}
MOST_SHOWN = 5


def main() -> None:
    """Make a cube, evaluate, and print the time."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cells", type=int, default=50_000)
    cube = cube_of(parser.parse_args().cells)
    started = time.perf_counter()
    tables = list(tables_of(cube))
    rolled = time.perf_counter() - started
    groups = sum(len(table.groups) for table in tables)
    asked = [one for one in CATALOGUE if one.requirements <= COUNTED and not one.conditional]
    cost: Counter[str] = Counter()
    for table in tables:
        for one in asked:
            before = time.perf_counter()
            evaluate(one, table, _terms(one))
            cost[one.id] += time.perf_counter() - before
    print(f"{len(cube.codes):,} cells, {len(tables)} subsets, {groups:,} groups")
    print(f"roll-ups and histograms: {rolled:.2f} s")
    print(f"{len(asked)} measures of every subset: {cost.total():.2f} s")
    for name, seconds in cost.most_common(MOST_SHOWN):
        print(f"  {name}: {seconds:.2f} s")


def _terms(one: Metric) -> MetricOptions:
    """To the largest group, where a reference is needed."""
    reference = (
        Reference(ReferencePolicy.LARGEST)
        if isinstance(one, Disparity) and one.to_reference
        else None
    )
    return MetricOptions(reference, parameters=Parameters(utilities=UTILITIES))


def cube_of(cells: int) -> Cube:
    """People in random combinations of five attributes, label and prediction, with scores."""
    random = np.random.default_rng(0)
    keys = [
        KeyColumn(f"attribute{at}", Role.PROTECTED, tuple(f"level{code:02}" for code in range(n)))
        for at, n in enumerate(LEVELS)
    ]
    for name, role in (("label", Role.LABEL), ("prediction", Role.PREDICTION)):
        keys.append(KeyColumn(name, role, ("no", "yes"), positive=frozenset({1})))
    # Some combinations are drawn twice.
    drawn = int(cells * 1.2)
    codes = np.stack([random.integers(0, len(key.levels), drawn) for key in keys], axis=1)
    people = random.integers(1, 2000, drawn)
    tenths = random.integers(0, 10, drawn)
    score = Amount(people, Sum(tenths * people, 10), Sum(tenths**2 * people, 100))
    return Cube.gather(
        keys,
        codes.astype(np.int32),
        people,
        people,
        Ledger(0, 0, 0, 0, 0),
        amounts={("prediction", "score"): score},
    )


def tables_of(cube: Cube) -> Iterator[GroupTable]:
    """The table of each subset, with a histogram of the score."""
    random = np.random.default_rng(1)
    edges = np.arange(BINS) / BINS
    for by in cube.subsets():
        table = cube.table(by, (), "prediction")
        counts = random.integers(0, 50, (1, 3, len(table.groups), BINS))
        nothing = np.zeros((1, len(table.groups)))
        yield replace(
            table,
            histogram=Histogram(
                by=by,
                given=(),
                groups=table.groups,
                strata=((),),
                known=table.known,
                people=counts,
                everybody=counts.sum(axis=(0, 1, 2)),
                bins=Bins(np.arange(BINS), edges, edges + 0.5 / BINS),
                low=nothing,
                high=nothing,
                moments=None,
            ),
        )


if __name__ == "__main__":
    main()

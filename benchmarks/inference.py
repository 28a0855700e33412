"""What inference costs: twenty checks of every subset of five attributes, tested as one family.

python benchmarks/inference.py [--cells 50000]
"""

from __future__ import annotations

import argparse
import gc
import resource
import time
from collections import Counter
from decimal import Decimal

from catalogue import cube_of, tables_of

from fairaudit.base import memory
from fairaudit.base.frozen import replace
from fairaudit.cube import GroupTable
from fairaudit.evidence import correct_families, find_significances
from fairaudit.evidence.value_intervals import find_intervals
from fairaudit.judge import Check, Limit
from fairaudit.judge.judging import judge
from fairaudit.metrics import (
    Disparity,
    Evaluation,
    Metric,
    build_disparity,
    evaluate,
    find_comparison,
    find_metric,
)
from fairaudit.metrics.terms import MetricOptions, Reference, ReferencePolicy

NAMES = (
    "demographic_parity_difference",
    "demographic_parity_ratio",
    "impact_ratio",
    "statistical_parity_difference",
    "disparate_impact_ratio",
    "selection_odds_ratio",
    "normalized_difference",
    "equal_opportunity_difference",
    "equalized_odds_difference",
    "equalized_odds_ratio",
    "average_odds_difference",
    "predictive_parity",
    "overall_accuracy_equality",
    "balanced_accuracy_difference",
    "elift",
    "between_group_auc_score",
    "differential_fairness",
    "differential_equalized_odds",
    "mutual_information",
    "f1",
)
MOST_SHOWN = 8
WIDE = Limit(Decimal("-0.2"), Decimal("0.2"), significant=True)


def main() -> None:
    """Find every interval and test, prove and judge the gates; print the time."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cells", type=int, default=50_000)
    # As `fairaudit run` begins.
    gc.set_threshold(1_000_000, 50, 50)
    memory.keep_freed()
    tables = list(tables_of(cube_of(parser.parse_args().cells)))
    started = time.process_time()
    evaluations = [
        evaluate(one, table, check_of(one, table).terms) for table in tables for one in asked()
    ]
    evaluated = time.process_time() - started
    started = time.process_time()
    for each in evaluations:
        find_intervals(each)
        find_significances(each)
    listed = time.process_time() - started
    # Each gate on another subset, the widest first; then all of them on the widest.
    spread = _judged(list(zip(asked(), reversed(tables), strict=False)))
    widest = _judged([(one, tables[-1]) for one in asked()])
    groups = sum(len(table.groups) for table in tables)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{len(tables)} subsets, {groups:,} groups; processor time:")
    print(f"{len(NAMES)} measures evaluated: {evaluated:.2f} s")
    print(f"their intervals, and the tests of every group against its reference: {listed:.2f} s")
    print(f"{len(NAMES)} gates, each on another subset: {spread[0]:.2f} s, {spread[1]:,} tests")
    print(f"in all {evaluated + listed + spread[0]:.2f} s, at most {peak:.0f} MiB")
    last = len(tables[-1].groups)
    print(f"and {len(NAMES)} gates on {last:,} groups: {widest[0]:.2f} s, {widest[1]:,} tests")
    _slowest(evaluations)


def _judged(gates: list[tuple[Metric, GroupTable]]) -> tuple[float, int]:
    """How long it takes to evaluate, prove and judge gates as one family, and of how many tests."""
    started = time.process_time()
    checks = {one.id: check_of(one, table) for one, table in gates}
    evaluations = {one.id: evaluate(one, table, checks[one.id].terms) for one, table in gates}
    evidence_of = correct_families({name: (one, "all") for name, one in evaluations.items()})
    for name, check in checks.items():
        judge(check, evaluations[name], evidence_of[name])
    return time.process_time() - started, next(iter(evidence_of.values())).family


def asked() -> list[Metric]:
    """The twenty measures."""
    found = []
    for name in NAMES:
        one = find_metric(name)
        assert one is not None
        how = find_comparison("difference")
        found.append(build_disparity(one, how) if name == "f1" and how is not None else one)  # type: ignore[arg-type]
    return found


def check_of(one: Metric, table: GroupTable) -> Check:
    """A gate on a measure, to the largest group where it needs one."""
    reference = (
        Reference(ReferencePolicy.LARGEST)
        if isinstance(one, Disparity) and one.to_reference
        else None
    )
    check = Check(
        "", one, "prediction", table.by, terms=MetricOptions(reference=reference), fail=WIDE
    )
    return replace(check, id=f"{one.id}/{'+'.join(table.by)}")


def _slowest(evaluations: list[Evaluation]) -> None:
    cost: Counter[str] = Counter()
    for one in evaluations:
        for what, find_it in (("interval", find_intervals), ("tests", find_significances)):
            before = time.process_time()
            find_it(one)
            cost[f"{what} of {one.metric.id}"] += time.process_time() - before
    for name, seconds in cost.most_common(MOST_SHOWN):
        print(f"  {name}: {seconds:.2f} s")


if __name__ == "__main__":
    main()

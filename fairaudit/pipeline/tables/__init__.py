"""Tabulates a result: all rows of a report, and what searches find (entry point)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from fairaudit.base.frozen import Frozen, replace
from fairaudit.counting.counts import Median
from fairaudit.judge import AnyCheck, Check
from fairaudit.judge.simpson import Scanned, ScanResult, scan_reversals
from fairaudit.judge.subgroups import Discovery, search_subgroups
from fairaudit.metrics import Disparity, Metric, TableMetric, find_comparison_id, find_ranges
from fairaudit.pipeline.recode import Cubes
from fairaudit.pipeline.tables.evaluation_cache import Tables, evaluate_check, list_rates
from fairaudit.pipeline.tables.lattice import epsilons, lattice
from fairaudit.pipeline.tables.models import model_changes
from fairaudit.pipeline.tables.rates import comparisons, groups, rates
from fairaudit.pipeline.tables.request_refusals import check_requests, has_room_for_lattice
from fairaudit.pipeline.tables.scores import curves, features, local_rates, scores
from fairaudit.result import (
    ComparisonRow,
    Curve,
    Definition,
    EpsilonReading,
    FeatureRow,
    GroupRow,
    LatticeRow,
    LocalRates,
    ModelChange,
    RateRow,
    ScoreRow,
    Searched,
    definition,
)
from fairaudit.spec import MetricRequest, Spec

__all__ = [
    "Listing",
    "Searches",
    "Tables",
    "check_requests",
    "evaluate_check",
    "search",
    "tabulate",
]


class Listing(Frozen):
    """The rows of a report."""

    groups: tuple[GroupRow, ...]
    rates: tuple[RateRow, ...]
    comparisons: tuple[ComparisonRow, ...]
    lattice: tuple[LatticeRow, ...]
    epsilons: tuple[EpsilonReading, ...]
    definitions: tuple[Definition, ...]
    model_changes: tuple[ModelChange, ...]
    scores: tuple[ScoreRow, ...]
    curves: tuple[Curve, ...]
    features: tuple[FeatureRow, ...] = ()
    local_rates: tuple[LocalRates, ...] = ()


def tabulate(
    spec: Spec,
    checks: Sequence[AnyCheck],
    cubes: Cubes,
    tables: Tables,
    medians: Mapping[str, Median],
) -> Listing:
    """All rows that a spec's metrics ask for; its models are set beside each other, every two.

    Where all subsets have too many groups, the lattice has the groupings that an entry asks for.
    """
    requests = spec.requests
    is_whole = has_room_for_lattice(cubes.cube, requests)
    on_metrics = [check for check in checks if isinstance(check, Check)]
    models = [model.name for model in spec.predictions]
    summaries = {
        name: tuple(score.summaries())
        for name, score in cubes.scores.items()
        if name in spec.score_columns
    }
    known = medians if spec.suppress_below is None else {}
    alpha = spec.inference.alpha
    return Listing(
        groups=tuple(groups(tables, requests)),
        rates=tuple(rates(tables, requests)),
        comparisons=tuple(comparisons(tables, requests, find_ranges(spec.flags))),
        lattice=tuple(lattice(tables, requests, on_metrics, whole=is_whole)),
        epsilons=tuple(epsilons(tables, requests, whole=is_whole)),
        definitions=tuple(_definitions(requests)),
        model_changes=tuple(model_changes(tables, requests, models)),
        scores=tuple(
            row for name, summary in summaries.items() for row in scores(name, summary, known)
        ),
        curves=tuple(
            curve for name, summary in summaries.items() for curve in curves(name, summary, alpha)
        ),
        features=tuple(features(cubes)),
        local_rates=tuple(local_rates(cubes, alpha)),
    )


class Searches(Frozen):
    """What the searches of a spec found: reversals, subgroups, and columns to condition on."""

    reversals: ScanResult
    scanned: Scanned | None
    subgroups: Discovery | None
    columns: Searched | None


def search(spec: Spec, cubes: Cubes, tables: Tables) -> Searches:
    """What the searches that a spec asks for find."""
    reversals, scanned, columns = ScanResult(), None, cubes.searched_columns
    if spec.simpson is not None:
        more = () if columns is None else columns.columns
        given = (*spec.simpson.given, *((name,) for name in more))
        table = tables.table if spec.cluster is None else cache(tables.table_of_rows)
        reversals = scan_reversals(table, replace(spec.simpson, given=given))
        scanned = Scanned(spec.simpson.of, spec.simpson.scope, reversals.pairs)
    subgroups = None
    if spec.subgroups is not None:
        subgroups = search_subgroups(cubes.tables or (cubes.cube,), spec.subgroups)
    return Searches(reversals, scanned, subgroups, columns)


def _definitions(requests: Sequence[MetricRequest]) -> Iterator[Definition]:
    """The records behind the rows in words, each once."""
    seen: set[str] = set()
    for request in requests:
        metric = request.metric
        records: list[Metric] = [*list_rates(metric)]
        is_of_rate = isinstance(metric, Disparity) and find_comparison_id(metric) is not None
        if isinstance(metric, TableMetric) or (isinstance(metric, Disparity) and not is_of_rate):
            records.insert(0, metric)
        comparison = [metric.comparison] if isinstance(metric, Disparity) else []
        for record in (*records, *comparison):
            if record.id not in seen:
                seen.add(record.id)
                yield definition(record)

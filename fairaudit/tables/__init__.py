"""Everything a report lists, read from the cube: groups, rates, comparisons, the lattice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fairaudit.cube import Cube
from fairaudit.metrics import Disparity, Metric, TableMetric
from fairaudit.result import (
    ComparisonRow,
    Definition,
    EpsilonReading,
    GroupRow,
    LatticeRow,
    ModelChange,
    RateRow,
    definition,
)
from fairaudit.spec import MetricRequest
from fairaudit.tables.comparisons import comparisons
from fairaudit.tables.entries import TableOf, compare_of, quantities
from fairaudit.tables.lattice import epsilons, lattice
from fairaudit.tables.models import model_changes
from fairaudit.tables.rates import groups, rates
from fairaudit.verdict import AnyCheck, Check


@dataclass(frozen=True, slots=True)
class Listing:
    """The rows of a report."""

    groups: tuple[GroupRow, ...]
    rates: tuple[RateRow, ...]
    comparisons: tuple[ComparisonRow, ...]
    lattice: tuple[LatticeRow, ...]
    epsilons: tuple[EpsilonReading, ...]
    definitions: tuple[Definition, ...]
    model_changes: tuple[ModelChange, ...] = ()


def tabulate(
    cube: Cube,
    table: TableOf,
    shown: tuple[MetricRequest, ...],
    checks: Iterable[AnyCheck],
    models: Sequence[str] = (),
    *,
    whole: bool = True,
) -> Listing:
    """All rows that a spec's metrics ask for; `models` are set beside each other, every two.

    Without the `whole` lattice, only the groupings that an entry asks for are looked at.
    """
    spreads = [check for check in checks if isinstance(check, Check)]
    return Listing(
        groups=tuple(groups(table, shown)),
        rates=tuple(rates(table, shown)),
        comparisons=tuple(comparisons(table, shown)),
        lattice=tuple(lattice(cube, table, shown, spreads, whole=whole)),
        epsilons=tuple(epsilons(cube, table, shown, whole=whole)),
        definitions=tuple(_definitions(shown)),
        model_changes=tuple(model_changes(table, shown, models)),
    )


def _definitions(shown: tuple[MetricRequest, ...]) -> Iterator[Definition]:
    seen: dict[str, None] = {}
    for one in shown:
        records: list[Metric] = [*quantities(one.metric)]
        if isinstance(one.metric, TableMetric) or (
            isinstance(one.metric, Disparity) and compare_of(one.metric) is None
        ):
            records.insert(0, one.metric)
        comparison = [one.metric.comparison] if isinstance(one.metric, Disparity) else []
        for record in (*records, *comparison):
            if record.id not in seen:
                seen[record.id] = None
                yield definition(record)

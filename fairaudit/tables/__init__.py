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
from fairaudit.spec import Shown
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
    shown: tuple[Shown, ...],
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


def _definitions(shown: tuple[Shown, ...]) -> Iterator[Definition]:
    seen: dict[str, None] = {}
    for one in shown:
        records: list[Metric] = [*quantities(one.asked)]
        if isinstance(one.asked, TableMetric) or (
            isinstance(one.asked, Disparity) and compare_of(one.asked) is None
        ):
            records.insert(0, one.asked)
        comparison = [one.asked.comparison] if isinstance(one.asked, Disparity) else []
        for record in (*records, *comparison):
            if record.id not in seen:
                seen[record.id] = None
                yield definition(record)

"""The searches of an audit: Simpson's reversals and subgroups, in the tables of its cubes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from fairaudit.recode import Cubes
from fairaudit.result import Searched
from fairaudit.simpson import ScanResult, scan_reversals
from fairaudit.spec import Spec
from fairaudit.subgroups import Discovery, search_subgroups
from fairaudit.tables.evaluations import Tables


@dataclass(frozen=True, slots=True)
class Searches:
    """What the searches of a spec found: reversals, subgroups, and columns to condition on."""

    reversals: ScanResult
    subgroups: Discovery | None
    columns: Searched | None


def search(spec: Spec, cubes: Cubes, tables: Tables) -> Searches:
    """What the searches that a spec asks for find."""
    reversals, columns = ScanResult(), cubes.searched_columns
    if spec.simpson is not None:
        more = () if columns is None else columns.columns
        given = (*spec.simpson.given, *((name,) for name in more))
        table = tables.table if spec.cluster is None else cache(tables.table_of_rows)
        reversals = scan_reversals(table, replace(spec.simpson, given=given))
    subgroups = None
    if spec.subgroups is not None:
        subgroups = search_subgroups(cubes.tables or (cubes.cube,), spec.subgroups)
    return Searches(reversals, subgroups, columns)

"""Subgroups: a row for each that is told, and one for the search of each rate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from fairaudit.cube import Group
from fairaudit.estimate import State
from fairaudit.report import subgroups
from fairaudit.report.json.reading import Member
from fairaudit.report.json.values import read_group, write_group
from fairaudit.result import AuditResult
from fairaudit.subgroups import ParentGroup, SearchedRate, Subgroup, Subgroups

_Rows: TypeAlias = Mapping[tuple[str, str], Mapping[Group, tuple[Subgroup, bool]]]
"""By rate and outcome, and by group: the subgroup, and whether it is listed."""


def write_subgroups(result: AuditResult) -> Iterator[dict[str, Any]]:
    """The subgroups that are told, by rate; `listed` those of the list, in its order."""
    if result.subgroups is None:
        return
    inference = result.provenance.inference
    for one in result.subgroups.rates:
        told = {each.group: each for each in one.listed}
        for each in (one.widest, one.unfairest):
            if each is not None:
                told.setdefault(each.group, each)
        listed = {each.group for each in one.listed}
        for each in told.values():
            yield {
                "metric": one.rate,
                "of": one.of,
                "listed": each.group in listed,
                **write_subgroup(each),
                "sentence": subgroups.sentence(each, one, inference),
            }


def write_searches(result: AuditResult) -> Iterator[dict[str, Any]]:
    """What was looked at for each rate, how much of it stood out, and Kearns' measure."""
    search = result.subgroups
    if search is None:
        return
    for one in search.rates:
        yield {
            "metric": one.rate,
            "of": one.of,
            "over": list(search.over),
            "depth": search.depth,
            "min_size": search.min_size,
            "top": search.top,
            "numerator": one.over,
            "denominator": one.under,
            "people": one.n,
            "looked_at": one.looked_at,
            "family": search.looked_at,
            "significant": one.significant,
            "explained": one.explained,
            "widest": one.widest and write_group(one.widest.group),
            "unfairness": _unfairness(one),
        }


def read_subgroups(rows: Member, searches: Member) -> Subgroups | None:
    """The search: what each rate looked at, and the subgroups it tells; None where none was."""
    told: dict[tuple[str, str], dict[Group, tuple[Subgroup, bool]]] = {}
    for of, found, is_listed in rows.each(_read_row):
        told.setdefault(of, {})[found.group] = found, is_listed
    rates = searches.each(lambda row: _read_search(row, told))
    if not rates:
        return None
    whole = searches.each(lambda row: row)[0]
    return Subgroups(
        over=whole["over"].texts(),
        depth=whole["depth"].count(),
        min_size=whole["min_size"].count(),
        top=whole["top"].count(),
        looked_at=whole["family"].count(),
        rates=rates,
    )


def _read_row(row: Member) -> tuple[tuple[str, str], Subgroup, bool]:
    return (row["metric"].text(), row["of"].text()), read_subgroup(row), row["listed"].flag()


def _read_search(row: Member, rows: _Rows) -> SearchedRate:
    of = row["metric"].text(), row["of"].text()
    mine = rows.get(of, {})
    return SearchedRate(
        *of,
        over=row["numerator"].count(),
        under=row["denominator"].count(),
        n=row["people"].count(),
        looked_at=row["looked_at"].count(),
        significant=row["significant"].count(),
        explained=row["explained"].count(),
        listed=tuple(found for found, is_listed in mine.values() if is_listed),
        widest=_read_one_of(row["widest"], mine),
        unfairest=_read_one_of(row["unfairness"]["group"], mine),
    )


def _read_one_of(row: Member, mine: Mapping[Group, tuple[Subgroup, bool]]) -> Subgroup | None:
    """The subgroup that is named; None where none is."""
    if row.value is None:
        return None
    found = mine.get(read_group(row))
    return row.refuse("is not among the subgroups") if found is None else found[0]


def _unfairness(one: SearchedRate) -> dict[str, Any]:
    worst = one.unfairest
    if worst is None:
        return {"state": State.UNDEFINED.value, "value": None, "group": None}
    found = {"state": State.DEFINED.value, "value": worst.unfairness}
    return {**found, "group": write_group(worst.group)}


def write_subgroup(one: Subgroup) -> dict[str, Any]:
    """A subgroup, how far it lies from everybody, and the groups it is part of."""
    return {
        "group": write_group(one.group),
        "state": State.DEFINED.value,
        "value": one.divergence,
        "exact": str(one.exact),
        "numerator": one.over,
        "denominator": one.under,
        "rate": one.value,
        "everybody": one.everybody,
        "share": one.share,
        "low": one.low,
        "high": one.high,
        "p": one.p,
        "adjusted": one.adjusted,
        "test": one.test,
        "significant": one.significant,
        "unfairness": one.unfairness,
        "parts": [_part(part) for part in one.parts],
    }


def read_subgroup(row: Member) -> Subgroup:
    """The subgroup."""
    return Subgroup(
        group=read_group(row["group"]),
        over=row["numerator"].count(),
        under=row["denominator"].positive(),
        everybody=row["everybody"].number(),
        share=row["share"].number(),
        divergence=row["value"].number(),
        exact=row["exact"].fraction(),
        low=row["low"].number(),
        high=row["high"].number(),
        p=row["p"].number(),
        adjusted=row["adjusted"].number(),
        test=row["test"].text(),
        unfairness=row["unfairness"].number(),
        significant=row["significant"].flag(),
        parts=row["parts"].each(_read_part),
    )


def _part(one: ParentGroup) -> dict[str, Any]:
    return {
        "group": write_group(one.group),
        "numerator": one.over,
        "denominator": one.under,
        "value": one.divergence,
    }


def _read_part(row: Member) -> ParentGroup:
    return ParentGroup(
        read_group(row["group"]),
        row["numerator"].count(),
        row["denominator"].positive(),
        row["value"].number(),
    )

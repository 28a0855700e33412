"""Values with their evidence: the interval, the test, both sides, the groups that attain them."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any, NamedTuple

from fairaudit.cube import Group
from fairaudit.estimate import Beside, Estimate, Significance
from fairaudit.evidence import ComparisonPart, Side
from fairaudit.report.json.reading import Member
from fairaudit.report.json.values import (
    finite,
    read_end,
    read_group,
    read_value,
    write_end,
    write_group,
    write_value,
)
from fairaudit.result import ComparisonRow, LatticeEntry
from fairaudit.verdict import Finding


class Witness(NamedTuple):
    """The pair that attains a value, and by which outcome or rate."""

    first: Group = ()
    second: Group = ()
    decided_by: str | None = None


def write_value_of(one: Estimate) -> dict[str, Any]:
    """State and value of an estimate."""
    return write_value(None if one.suppressed else one.value)


def write_estimate(one: Estimate) -> dict[str, Any]:
    """A value, its counts, interval and test.

    Its fraction is written by those rows alone whose digits a report takes from it: the checks.
    """
    return {
        **write_value_of(one),
        "reason": one.reason,
        "n": one.n,
        "numerator": one.numerator,
        "denominator": one.denominator,
        "scale": one.scale,
        **_interval(one),
        "significance": write_significance(one.significance),
        **_error(one),
    }


def read_estimate(row: Member) -> Estimate:
    """The value; without a fraction, and without a test in rows that have none."""
    tested = "significance" in row
    return _read(
        row,
        n=row["n"].or_none(Member.count),
        numerator=row["numerator"].or_none(Member.integer),
        denominator=row["denominator"].or_none(Member.integer),
        scale=row["scale"].positive(),
        significance=row["significance"].or_none(read_significance) if tested else None,
    )


def write_untested(one: Estimate) -> dict[str, Any]:
    """The share of a group or of a crowd; its test stands where it is compared."""
    return {name: value for name, value in write_estimate(one).items() if name != "significance"}


def write_uncounted(one: Estimate) -> dict[str, Any]:
    """The value of a comparison, which has no counts of its own, and its interval."""
    return {**write_value_of(one), "reason": one.reason, **_interval(one)}


def write_compared(one: Estimate) -> dict[str, Any]:
    """The value of a comparison with its test."""
    tested = {"significance": write_significance(one.significance)}
    return {**write_uncounted(one), **tested, **_error(one)}


def read_uncounted(row: Member) -> Estimate:
    """The value of a comparison, with its test where it has one."""
    tested = "significance" in row
    return _read(
        row, significance=row["significance"].or_none(read_significance) if tested else None
    )


def _read(row: Member, **more: Any) -> Estimate:  # noqa: ANN401  # the fields that only some rows have
    value, reason = read_value(row), row["reason"].or_none(Member.text)
    if value is None:
        return Estimate(math.nan, reason=reason, suppressed=True)
    return Estimate(
        value,
        low=read_end(row, "low"),
        high=read_end(row, "high"),
        method=row["method"].text() if "method" in row else "",
        no_interval=row["no_interval"].text() if "no_interval" in row else "",
        reason=reason,
        error=_read_error(row),
        **more,
    )


def _error(one: Estimate) -> dict[str, Any]:
    """By how much the bins of a score may be off; null where by any amount."""
    return {"error": finite(one.error)} if one.error else {}


def _read_error(row: Member) -> float:
    if "error" not in row:
        return 0.0
    found = row["error"].or_none(Member.number)
    return math.inf if found is None else found


def _interval(one: Estimate) -> dict[str, Any]:
    """The ends of an interval, null where there are none; an infinite one is null and says so."""
    ends = {**write_end("low", one.low), **write_end("high", one.high)}
    if one.method:
        return {**ends, "method": one.method}
    return {**ends, "no_interval": one.no_interval} if one.no_interval else ends


def write_significance(one: Significance | None) -> dict[str, Any] | None:
    """A test, its p-value and the corrected one, its statistic, and the test beside it."""
    if one is None:
        return None
    statistic = {"letter": one.letter, "value": one.statistic, "freedom": list(one.freedom)}
    return {
        "test": one.test,
        "p": one.p,
        "adjusted": one.adjusted,
        "family": one.family,
        "correction": one.correction,
        "statistic": None if one.statistic is None else statistic,
        "beside": None if one.beside is None else asdict(one.beside),
    }


def read_significance(row: Member) -> Significance:
    """The test."""
    return Significance(
        row["test"].text(),
        row["p"].number(),
        row["adjusted"].number(),
        row["family"].positive(),
        row["correction"].text(),
        *_read_statistic(row["statistic"]),
        row["beside"].or_none(_read_beside),
    )


def _read_statistic(row: Member) -> tuple[str, float | None, tuple[float, ...]]:
    def known(one: Member) -> tuple[str, float, tuple[float, ...]]:
        return one["letter"].text(), one["value"].number(), one["freedom"].each(Member.number)

    return row.or_none(known) or ("", None, ())


def _read_beside(row: Member) -> Beside:
    return Beside(row["test"].text(), row["hypothesis"].text(), row["p"].number())


def write_part(part: ComparisonPart) -> dict[str, Any]:
    """One comparison behind a value."""
    return {
        "metric": part.metric,
        "outcome": part.outcome,
        **write_value(part.value),
        "first": _side(part.first),
        "second": _side(part.second),
    }


def read_part(row: Member) -> ComparisonPart:
    """The comparison behind a value; of a published one no part is left that could be hidden."""
    value = read_value(row)
    return ComparisonPart(
        row["metric"].text(),
        row["state"].refuse("is no state of a part") if value is None else value,
        row["first"].or_none(_read_side),
        row["second"].or_none(_read_side),
        row["outcome"].or_none(Member.text),
    )


def _side(side: Side | None) -> dict[str, Any] | None:
    """One side of a comparison."""
    if side is None:
        return None
    return {"group": write_group(side.group), "crowd": side.crowd, **write_estimate(side.estimate)}


def _read_side(row: Member) -> Side:
    return Side(read_group(row["group"]), read_estimate(row), row["crowd"].or_none(Member.text))


def write_witness(
    row: ComparisonRow | Finding | LatticeEntry, *, spread: bool
) -> dict[str, Any] | None:
    """The pair, and the outcome or the rate, that attain a value; null where none does.

    A spread names the highest and the lowest group, any other comparison group and reference.
    """
    if not row.first and not row.second:
        return None
    names = ("high", "low") if spread else ("group", "reference")
    outcomes = {part.outcome for part in row.parts if part.outcome}
    key = "outcome" if row.decided_by in outcomes else "metric"
    return {
        **({key: row.decided_by} if row.decided_by else {}),
        names[0]: write_group(row.first),
        names[1]: write_group(row.second),
    }


def read_witness(row: Member, *, spread: bool) -> Witness:
    """Who attains a value; nobody where it is null."""
    if row.value is None:
        return Witness()
    names = ("high", "low") if spread else ("group", "reference")
    decided_by = next((row[key].text() for key in ("outcome", "metric") if key in row), None)
    first, second = (read_group(row[name]) for name in names)
    return Witness(first, second, decided_by)

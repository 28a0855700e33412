"""What stands behind an average over strata: both sides' counts in each, and the weights."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from fairaudit.cube import Group
from fairaudit.evidence import ComparisonPart, Side
from fairaudit.metrics.terms import Weights
from fairaudit.report.filled import Line, Term
from fairaudit.result import AuditResult, RateRow
from fairaudit.simpson import GroupRate
from fairaudit.verdict import Check

_NEAR = 1e-9


@dataclass(frozen=True, slots=True)
class Weighed:
    """A stratum where both sides have somebody: their counts, and the weight of the stratum."""

    stratum: Group
    first: GroupRate
    second: GroupRate
    weight: Fraction


def weighed(check: Check, part: ComparisonPart, result: AuditResult) -> tuple[Weighed, ...]:
    """The strata behind a part whose rates are averaged; none where they do not lead to it.

    Weights add up to 1. What the sides come to must be the values that the finding has.
    """
    if check.terms.average is None or part.first is None or part.second is None:
        return ()
    rows = [one for one in result.rates if _is_of(one, check, part.metric)]
    found = []
    for stratum in dict.fromkeys(one.stratum for one in rows):
        groups = {one.group: _share(one) for one in rows if one.stratum == stratum}
        pair = [_of_side(side, part.first.group, groups) for side in (part.first, part.second)]
        if pair[0] is None or pair[1] is None:
            continue
        weight = _weight(check, stratum, (pair[0], pair[1]))
        if weight is not None and pair[0].under and pair[1].under:
            found.append(Weighed(stratum, pair[0], pair[1], weight))
    total = sum(one.weight for one in found)
    if not total:
        return ()
    told = [Weighed(one.stratum, one.first, one.second, one.weight / total) for one in found]
    values = (part.first.estimate.value, part.second.estimate.value)
    sums = (_sum(told, first=True), _sum(told, first=False))
    fits = all(abs(one - two) <= _NEAR for one, two in zip(sums, values, strict=True))
    return tuple(told) if fits else ()


def lines(strata: tuple[Weighed, ...], names: tuple[str, str]) -> tuple[Line, Line]:
    """Both sides' averages, filled in."""
    told = []
    for at, name in enumerate(names):
        terms = [
            f"{one.weight} · {share.over:,}/{share.under:,}"
            for one in strata
            for share in ((one.first, one.second)[at],)
        ]
        value = Term(" + ".join(terms), _sum(strata, first=at == 0))
        told.append(Line(name, "Σ weight · rate", value))
    return told[0], told[1]


def _is_of(one: RateRow, check: Check, metric: str) -> bool:
    columns = {name for name, _ in one.stratum}
    same = one.metric == metric and one.of == check.of and set(one.by) == set(check.by)
    return same and columns == set(check.given) and not {"class", "at"} & set(one.parameters)


def _share(one: RateRow) -> GroupRate | None:
    found = one.estimate
    if found.numerator is None or found.denominator is None or found.n is None:
        return None
    return GroupRate(found.numerator, found.denominator, found.n, found.scale)


def _of_side(side: Side, group: Group, groups: dict[Group, GroupRate | None]) -> GroupRate | None:
    """The counts of a side in one stratum: of a group, of everybody, or of all but the group."""
    if side.crowd is None:
        return groups.get(side.group)
    others = [share for whose, share in groups.items() if side.crowd != "rest" or whose != group]
    known = [share for share in others if share is not None]
    if side.crowd not in {"rest", "overall"} or len(known) != len(others):
        return None
    over, under, n = (sum(one[at] for one in known) for at in range(3))
    return GroupRate(over, under, n)


def _weight(check: Check, stratum: Group, pair: tuple[GroupRate, GroupRate]) -> Fraction | None:
    """What a stratum weighs, before weights are scaled; None where that is not so simple."""
    assert check.terms.average is not None
    first, second = pair
    match check.terms.average.weights:
        case Weights.POOLED:
            return Fraction(first.under + second.under)
        case Weights.UNIFORM:
            return Fraction(1)
        case Weights.REFERENCE:
            return Fraction(second.under)
        case Weights.GROUP:
            return Fraction(first.under)
        case Weights.LEVELS:
            name = ", ".join(level for _, level in stratum)
            return Fraction(check.terms.average.levels.get(name, 0))
        case _:
            return None


def _sum(strata: tuple[Weighed, ...] | list[Weighed], *, first: bool) -> Fraction:
    sides = ((one.weight, one.first if first else one.second) for one in strata)
    return sum((weight * Fraction(one.over, one.under) for weight, one in sides), Fraction(0))

"""How the rates of groups changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from fairaudit.compare.records import Change, Direction, RateChange, Scale
from fairaudit.compare.testing import ChangeTerms, measure_change
from fairaudit.estimate import Estimate
from fairaudit.metrics import Better, Eligibility, GroupMetric, Rate, find_metric
from fairaudit.metrics.terms import Inference
from fairaudit.result import RateRow

RateKey: TypeAlias = tuple[
    str, str, frozenset[tuple[str, str]], frozenset[tuple[str, str]], str, int
]
"""What makes two rows one: metric, outcome, stratum, group, parameters, and how many columns."""


def compare_rates(
    before: Mapping[RateKey, RateRow],
    after: Mapping[RateKey, RateRow],
    inference: Inference,
    burdens: frozenset[str],
    *,
    barred: str = "",
    weighted: bool = False,
) -> Iterator[RateChange]:
    """A change for each rate of a group that is in both, in the order of the later result.

    `barred` says why no test is valid; `burdens` are outcomes whose positive is one.
    """
    for place, now in after.items():
        then = before.get(place)
        if then is not None:
            yield _changed(then, now, inference, burdens, barred, weighted=weighted)


def index_rates(rows: tuple[RateRow, ...]) -> dict[RateKey, RateRow]:
    """The rows by what they are about."""
    return {rate_key(row): row for row in rows}


def rate_key(row: RateRow | RateChange) -> RateKey:
    """What a row is about, whatever the order of its columns."""
    said = repr((sorted(row.parameters.items(), key=str), sorted(row.averaged)))
    metric, of, stratum, group = row.metric, row.of, row.stratum, row.group
    return metric, of, frozenset(stratum), frozenset(group), said, len(group)


def _changed(
    then: RateRow,
    now: RateRow,
    inference: Inference,
    burdens: frozenset[str],
    barred: str,
    *,
    weighted: bool,
) -> RateChange:
    record = find_metric(now.metric)
    quantity = record if isinstance(record, GroupMetric) else None
    aside = {then.standing, now.standing} - {Eligibility.ELIGIBLE}
    if aside:
        barred = f"not compared: {', '.join(sorted(one.replace('_', ' ') for one in aside))}"
    kind = find_change_terms(
        quantity, then.estimate, now.estimate, barred=barred, weighted=weighted
    )
    change = measure_change(then.estimate, now.estimate, kind, inference)
    return RateChange(
        metric=now.metric,
        of=now.of,
        by=now.by,
        stratum=now.stratum,
        group=now.group,
        standing_before=then.standing,
        standing_after=now.standing,
        change=judge_direction(change, quantity, favourable=_favourable(now, burdens)),
        parameters=now.parameters,
        averaged=now.averaged,
    )


def _favourable(row: RateRow, burdens: frozenset[str]) -> bool | None:
    """Whether the positive of a row is a benefit; of one class of several nobody says."""
    return None if "class" in row.parameters else row.of not in burdens


def find_change_terms(
    quantity: GroupMetric | None,
    before: Estimate,
    after: Estimate,
    *,
    barred: str = "",
    weighted: bool = False,
) -> ChangeTerms:
    """How the change of a quantity of one group is told and tested."""
    scale = Scale.DIFFERENCE
    if isinstance(quantity, Rate) and quantity.bounds[1] is None:
        scale = Scale.RATIO
    is_share = (
        quantity is not None and quantity.is_proportion and _counted(before) and _counted(after)
    )
    return ChangeTerms(scale, share=is_share, barred=barred, mean=not weighted)


def _counted(one: Estimate) -> bool:
    """Whether whole people stand behind a share: no survey weights, each counted once."""
    return one.scale == 1 and one.numerator is not None and one.denominator == one.n


def judge_direction(
    change: Change, quantity: GroupMetric | None, *, favourable: bool | None
) -> Change:
    """The change with its word: better or worse for the group, where either way is.

    `favourable` is whether the positive is a benefit, None where nobody says, as of one class.
    """
    if change.way is Direction.SAME or change.value != change.value:
        return change
    rises = change.value > (1 if change.scale is Scale.RATIO else 0)
    better = Better.NEITHER if quantity is None else quantity.better.given(favourable=favourable)
    if better is Better.NEITHER:
        return replace(change, way=Direction.HIGHER if rises else Direction.LOWER)
    return replace(
        change, way=Direction.BETTER if rises is (better is Better.HIGHER) else Direction.WORSE
    )

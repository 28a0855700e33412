"""Everything a report lists, read from the cube: groups, rates, comparisons, the lattice."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from fairaudit.cube import Cube, Group, Grouping, GroupTable
from fairaudit.estimate import Estimate
from fairaudit.evidence import estimates, parts_of
from fairaudit.metrics import (
    NOBODY,
    Asked,
    Better,
    Evaluation,
    Measure,
    Policy,
    Quantity,
    Reading,
    Reference,
    Terms,
    Whole,
    compared,
    describe,
    evaluate,
    find_group,
)
from fairaudit.metrics.comparisons import DIFFERENCE, GAP, RATIO
from fairaudit.metrics.epsilon import DIFFERENTIAL_FAIRNESS
from fairaudit.result import (
    ComparisonRow,
    Definition,
    EpsilonReading,
    GroupRow,
    LatticeEntry,
    LatticeRow,
    RateRow,
    Standing,
    definition,
)
from fairaudit.spec import Shown
from fairaudit.verdict import Check, ReversalCheck

TableOf: TypeAlias = Callable[[Grouping, Grouping, str], GroupTable]


@dataclass(frozen=True, slots=True)
class Listing:
    """The rows of a report."""

    groups: tuple[GroupRow, ...]
    rates: tuple[RateRow, ...]
    comparisons: tuple[ComparisonRow, ...]
    lattice: tuple[LatticeRow, ...]
    epsilons: tuple[EpsilonReading, ...]
    definitions: tuple[Definition, ...]


def tabulate(
    cube: Cube,
    table: TableOf,
    shown: tuple[Shown, ...],
    checks: Iterable[Check | ReversalCheck],
) -> Listing:
    """All rows that a spec's metrics ask for."""
    spreads = [check for check in checks if isinstance(check, Check)]
    return Listing(
        groups=tuple(_groups(table, shown)),
        rates=tuple(_rates(table, shown)),
        comparisons=tuple(_comparisons(table, shown)),
        lattice=tuple(_lattice(cube, table, shown, spreads)),
        epsilons=tuple(_epsilons(cube, table, shown)),
        definitions=tuple(_definitions(shown)),
    )


def _asked_of(shown: Iterable[Shown]) -> Iterator[tuple[Shown, Grouping, Grouping]]:
    """Every grouping and conditioning of every entry; a column never conditions on itself."""
    for one in shown:
        for given in one.given:
            for by in one.by:
                if not set(by) & set(given):
                    yield one, by, given


def _groups(table: TableOf, shown: tuple[Shown, ...]) -> Iterator[GroupRow]:
    places = dict.fromkeys((one.of, by, given) for one, by, given in _asked_of(shown))
    min_size = next((one.min_size for one in shown), None)
    for of, by, given in places:
        cut = table(by, given, of)
        by_class = cut.people.sum(axis=1)
        for z, stratum in enumerate(cut.strata):
            known = int(cut.n[z][cut.known].sum())
            for g, group in enumerate(cut.groups):
                n = int(cut.n[z, g])
                if n:
                    counts = [int(by_class[z, p, g]) for p in range(len(cut.classes))]
                    yield GroupRow(
                        of=of,
                        by=by,
                        stratum=stratum,
                        group=group,
                        n=n,
                        share=n / known if cut.known[g] else None,
                        counts=dict(zip(cut.classes, counts, strict=True)),
                        standing=_standing(cut, g, n, min_size),
                    )


def _standing(table: GroupTable, g: int, n: int, min_size: int | None) -> Standing:
    if not table.known[g]:
        return Standing.UNKNOWN
    return Standing.SMALL if min_size is not None and n < min_size else Standing.ELIGIBLE


def _rates(table: TableOf, shown: tuple[Shown, ...]) -> Iterator[RateRow]:
    seen: set[tuple[str, str, Grouping, Grouping]] = set()
    for one, by, given in _asked_of(shown):
        for quantity in _quantities(one.asked):
            key = (quantity.id, one.of, by, given)
            if key not in seen:
                seen.add(key)
                yield from _rate_rows(quantity, one, table(by, given, one.of))


def _rate_rows(quantity: Quantity, one: Shown, table: GroupTable) -> list[RateRow]:
    """The rows of one rate, worst first in each stratum; small and unknown groups last."""
    reading = _reading(evaluate(quantity, table, Terms(min_size=one.min_size)))
    found = estimates(reading, table.scale)
    beside = Terms(_beside(one, table), one.min_size)
    difference, ratio = (
        evaluate(compared(quantity, how), table, beside) for how in (DIFFERENCE, RATIO)
    )
    rows = []
    for z, stratum in enumerate(table.strata):
        for g, group in enumerate(table.groups):
            if not table.n[z, g]:
                continue
            estimate = found[z][g]
            if math.isnan(estimate.value):
                reason = f"{quantity.id}: nobody to count in {describe(group)}"
                estimate = replace(estimate, reason=reason)
            rows.append(
                RateRow(
                    metric=quantity.id,
                    of=one.of,
                    by=table.by,
                    stratum=stratum,
                    group=group,
                    estimate=estimate,
                    standing=_standing(table, g, int(reading.n[z, g]), one.min_size),
                    reference=_group_at(table, difference.second[z, g]),
                    difference=float(difference.value[z, g]),
                    ratio=float(ratio.value[z, g]),
                )
            )
    low_is_worse = _low_is_worse(quantity, favourable=table.favourable)
    order = list(Standing)

    def worst_first(row: RateRow) -> tuple[int, int, float]:
        value = row.estimate.value
        rank = math.inf if math.isnan(value) else value if low_is_worse else -value
        return table.strata.index(row.stratum), order.index(row.standing), rank

    return sorted(rows, key=worst_first)


def _reading(evaluation: Evaluation) -> Reading:
    if evaluation.reading is None:
        raise ValueError(f"{evaluation.asked.id} is not one quantity")
    return evaluation.reading


def _low_is_worse(quantity: Quantity, *, favourable: bool) -> bool:
    if quantity.better is Better.POLARITY:
        return favourable
    return quantity.better is not Better.LOWER


def _beside(one: Shown, table: GroupTable) -> Reference:
    """Whom a table of rates compares with: the declared reference, else the largest group."""
    declared = one.declared.get(table.by)
    if declared is not None and find_group(table.groups, declared.group) != NOBODY:
        return declared
    return Reference(Policy.LARGEST)


def _quantities(asked: Asked) -> list[Quantity]:
    if isinstance(asked, Quantity):
        return [asked]
    return [quantity for quantity, _ in asked.parts] if isinstance(asked, Measure) else []


def _comparisons(table: TableOf, shown: tuple[Shown, ...]) -> Iterator[ComparisonRow]:
    for one, by, given in _asked_of(shown):
        if isinstance(one.asked, Quantity):
            continue
        evaluation = _evaluated(one, by, table(by, given, one.of))
        if evaluation is None:
            continue
        for z, stratum in enumerate(evaluation.table.strata):
            if not evaluation.table.known_strata[z]:
                continue
            for w in np.flatnonzero(evaluation.judged[z]).tolist():
                yield _comparison_row(one, evaluation, stratum, (z, w))


def _evaluated(one: Shown, by: Grouping, table: GroupTable) -> Evaluation | None:
    """The measure on a table; None where it needs a reference that the grouping lacks."""
    reference = one.references.get(by)
    if one.reference is not None and reference is None:
        return None
    return evaluate(one.asked, table, Terms(reference, one.min_size, one.parameters))


def _comparison_row(
    one: Shown, evaluation: Evaluation, stratum: Group, at: tuple[int, int]
) -> ComparisonRow:
    z, w = at
    table = evaluation.table
    estimate = _estimate(evaluation, z, w)
    first, second = (_group_at(table, side[z, w]) for side in (evaluation.first, evaluation.second))
    policy = evaluation.terms.reference
    return ComparisonRow(
        metric=evaluation.asked.id,
        title=one.asked.title,
        compare=_compare_of(one.asked),
        of=table.of,
        by=table.by,
        stratum=stratum,
        group=None if evaluation.spread else table.groups[w],
        reference=str(policy.policy) if policy and not evaluation.spread else None,
        parameters=_parameters(one),
        estimate=estimate,
        parts=parts_of(evaluation, z, w),
        decided_by=evaluation.decided_by(z, w),
        first=first,
        second=second,
        takes_part=int(evaluation.takes_part[z].sum()),
    )


def _estimate(evaluation: Evaluation, z: int, w: int) -> Estimate:
    value = float(evaluation.value[z, w])
    if math.isnan(value):
        return Estimate(value, reason=evaluation.reason(z, w))
    return Estimate(value, exact=evaluation.exact(z, w))


def _compare_of(asked: Asked) -> str | None:
    """The comparison's id, where a spec asked for a rate with `compare:`."""
    if isinstance(asked, Measure) and asked.id == asked.parts[0][0].id:
        return asked.comparison.id
    return None


def _group_at(table: GroupTable, index: int) -> Group:
    return table.groups[int(index)] if index >= 0 else ()


def _lattice(
    cube: Cube, table: TableOf, shown: tuple[Shown, ...], checks: list[Check]
) -> Iterator[LatticeRow]:
    asked = [one for one in shown if one.given == ((),)]
    for by in cube.subsets():
        entries = []
        groups, smallest = 0, 0
        for one in asked:
            cut = table(by, (), one.of)
            part = cut.known & (cut.n[0] > 0)
            groups, smallest = int(part.sum()), int(cut.n[0][part].min()) if part.any() else 0
            mine = [check for check in checks if _asks(check, one)]
            judged = any(check.by == by for check in mine)
            spread = replace(one, asked=_as_spread(one.asked))
            evaluation = _evaluated(spread, by, cut)
            if evaluation is not None:
                entries.append(_worst(spread, evaluation, judged=judged, limited=bool(mine)))
        yield LatticeRow(by, groups, smallest, tuple(entries))


def _asks(check: Check, one: Shown) -> bool:
    """Whether a check asks what an entry of the report shows."""
    return (
        check.asked == one.asked
        and check.of == one.of
        and not check.given
        and check.parameters == one.parameters
        and (check.reference and check.reference.policy) == (one.reference and one.reference.policy)
    )


def _title(one: Shown) -> str:
    """The short name of an entry, with what sets it apart."""
    words = [one.asked.short or one.asked.id]
    if one.reference is not None:
        words.append(f"to {one.reference.policy}")
    return " ".join(words) + _parameters_in_words(one)


def _parameters(one: Shown) -> dict[str, float]:
    named = {"smoothing": one.parameters.smoothing, "concentration": one.parameters.concentration}
    return {name: float(value) for name, value in named.items() if value is not None}


def _parameters_in_words(one: Shown) -> str:
    """The pseudo-counts of an entry: both parameters, whichever the spec names."""
    parameters = one.parameters
    if parameters.smoothing:
        return f", smoothing {parameters.smoothing}"
    if parameters.concentration:
        return f", concentration {parameters.concentration}"
    return ""


def _epsilons(cube: Cube, table: TableOf, shown: tuple[Shown, ...]) -> Iterator[EpsilonReading]:
    """ε of the full intersection for every entry that asks for it, with its bounds."""
    full = cube.subsets()[-1]
    for one in shown:
        if one.asked is not DIFFERENTIAL_FAIRNESS or one.given != ((),):
            continue
        values = {}
        for by in cube.subsets():
            evaluation = evaluate(
                one.asked, table(by, (), one.of), Terms(None, one.min_size, one.parameters)
            )
            values[by] = float(evaluation.value[0, 0]) if len(evaluation.table.strata) else math.nan
        epsilon = values[full]
        if math.isnan(epsilon):
            continue
        cut = table(full, (), one.of)
        classes = len(cut.classes)
        pseudo = one.parameters.per_outcome(classes)
        bounds = not pseudo and _same_rows(table, cube, one)
        largest = max(values.values())
        if bounds and largest > epsilon + 1e-9:
            raise AssertionError(
                f"ε of a subset ({largest}) exceeds the intersection's ({epsilon})"
            )
        yield EpsilonReading(
            of=one.of,
            by=full,
            parameters=f"smoothing {pseudo:g} for each outcome (concentration {pseudo * classes:g})"
            if pseudo
            else "no smoothing",
            epsilon=epsilon,
            factor=math.exp(epsilon),
            twice=2 * epsilon,
            bounds_subsets=bounds,
            regime=_regime(epsilon),
        )


def _same_rows(table: TableOf, cube: Cube, one: Shown) -> bool:
    """Whether every subset counts the same people and no group is set aside in any."""
    totals = set()
    for by in cube.subsets():
        cut = table(by, (), one.of)
        known = cut.known & (cut.n[0] > 0)
        by_group = cut.people[0, :, :-1].sum(axis=(0, 1))
        small = one.min_size is not None and bool((by_group[known] < one.min_size).any())
        if small or not cut.known.all() or (by_group == 0).any():
            return False
        totals.add(int(by_group.sum()))
    return len(totals) == 1


def _regime(epsilon: float) -> str:
    """How strong a promise ε is, on the scale of differential privacy (Foulds & Pan §3.3)."""
    if math.isinf(epsilon):
        return "no bound at all: an outcome that one group has, another never has"
    if epsilon < 1:
        return "below 1, the high-privacy regime"
    return (
        "above the high-privacy regime (ε < 1); randomized response with a fair coin has "
        "ln 3 = 1.0986, and far above 1 ε promises nothing"
    )


def _as_spread(asked: Asked) -> Asked:
    """A bare rate is shown in the lattice by its gap."""
    return compared(asked, GAP) if isinstance(asked, Quantity) else asked


def _worst(one: Shown, evaluation: Evaluation, *, judged: bool, limited: bool) -> LatticeEntry:
    """The value that departs most from the ideal."""
    ideal = 0 if isinstance(evaluation.asked, Quantity) else evaluation.asked.ideal
    answered = np.flatnonzero(evaluation.judged[0])
    departures = [_departure(float(evaluation.value[0, w]), ideal) for w in answered]
    known = [(d, w) for d, w in zip(departures, answered, strict=True) if not math.isnan(d)]
    departure, w = max(known, key=lambda pair: pair[0]) if known else (math.nan, 0)
    table = evaluation.table
    blocked = len(known) < len(answered) or not known
    estimate = _estimate(evaluation, 0, int(w)) if known else _nothing(evaluation, answered)
    first, second = (_group_at(table, side[0, w]) for side in (evaluation.first, evaluation.second))
    return LatticeEntry(
        metric=one.asked.id,
        title=_title(one),
        of=table.of,
        estimate=estimate,
        first=first if known else (),
        second=second if known else (),
        decided_by=evaluation.decided_by(0, int(w)) if known else None,
        judged=judged,
        limited=limited,
        departure=math.nan if blocked and not known else departure,
    )


def _nothing(
    evaluation: Evaluation, answered: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> Estimate:
    w = int(answered[0]) if len(answered) else 0
    if not evaluation.table.groups:
        return Estimate(math.nan, reason="no group is known")
    return Estimate(math.nan, reason=evaluation.reason(0, w))


def _departure(value: float, ideal: int) -> float:
    """How far from parity: on the log scale for ratios."""
    if ideal == 0 or math.isnan(value):
        return abs(value)
    return math.inf if value in {0, math.inf} else abs(math.log(value))


def _definitions(shown: tuple[Shown, ...]) -> Iterator[Definition]:
    seen: dict[str, None] = {}
    for one in shown:
        records: list[Asked] = [*_quantities(one.asked)]
        if isinstance(one.asked, Whole) or (
            isinstance(one.asked, Measure) and _compare_of(one.asked) is None
        ):
            records.insert(0, one.asked)
        comparison = [one.asked.comparison] if isinstance(one.asked, Measure) else []
        for record in (*records, *comparison):
            if record.id not in seen:
                seen[record.id] = None
                yield definition(record)

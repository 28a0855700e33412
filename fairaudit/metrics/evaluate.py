"""Asking one measure of one table: its values, who was compared with whom, and what is missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from fairaudit.cube import Floats, GroupTable, Ints, Marks
from fairaudit.metrics.average import Average, Averaged, Weights, averaged, exactly
from fairaudit.metrics.classes import Macro
from fairaudit.metrics.counts import Tally, against_rest, collapsed, tally_of
from fairaudit.metrics.measures import (
    Comparison,
    Measure,
    Shape,
    Sides,
    Whole,
    WholeReading,
)
from fairaudit.metrics.picking import pick_pair
from fairaudit.metrics.quantities import Quantity, Reading
from fairaudit.metrics.rates import SELECTION_RATE
from fairaudit.metrics.records import NO_PARAMETERS, Parameters
from fairaudit.metrics.reference import NOBODY, Policy, Reference, reference_index
from fairaudit.metrics.thresholds import cut_at
from fairaudit.once import once

Asked: TypeAlias = Quantity | Measure | Whole

_COMPLEMENT = replace(
    SELECTION_RATE,
    id="rate_of_not_being_selected",
    over=("rejected",),
    title="Rate of not being selected",
    short="not selected",
    means="The share of the group that is spared: the positive is a burden.",
)


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms a measure is asked: the reference, who is large enough, its parameters.

    `average` says how rates are averaged over the strata before they are compared; `of_class` which
    class counts as positive against all others, `at` from which score on somebody is selected.
    """

    reference: Reference | None = None
    min_size: int | None = None
    parameters: Parameters = NO_PARAMETERS
    average: Average | None = None
    of_class: str | None = None
    at: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One measure on one table.

    `value` is [Z, W]: W = G where each group has a value, 1 for a spread. `first` and `second` are
    the groups compared (group and reference, or highest and lowest), `NOBODY` for a crowd. `judged`
    marks the entries that answer: those of groups that take part, other than the reference itself.
    `takes_part` is [Z, G]; `attained` is the part (or the outcome) that decides, among `names`.
    `error` [Z, W] bounds what the bins of a score hide. Where strata are averaged, `table` has none
    left, `strata` is the table that has them, and `averaged` holds their weights.
    """

    asked: Asked
    table: GroupTable
    terms: Terms
    value: Floats
    first: Ints
    second: Ints
    judged: Marks
    takes_part: Marks
    names: tuple[str, ...] = ()
    attained: Ints | None = None
    parts: tuple[Evaluation, ...] = ()
    reading: Reading | None = None
    against: Reading | None = None
    error: Floats | None = None
    fraction: Callable[[int, int], Fraction | None] | None = None
    whole: WholeReading | None = None
    strata: GroupTable | None = None
    averaged: Averaged | None = None

    @property
    def spread(self) -> bool:
        """Whether there is one value a stratum, not one a group."""
        return isinstance(self.asked, Whole) or (
            isinstance(self.asked, Measure) and (self.asked.mean or not self.asked.to_reference)
        )

    def decided_by(self, z: int, w: int) -> str | None:
        """The part (a rate, an outcome) that decides a value; None where all parts do."""
        if self.attained is None or not self.names:
            return None
        at = int(self.attained[z, w])
        return None if at == NOBODY else self.names[at]

    def exact(self, z: int, w: int) -> Fraction | None:
        """The value as a fraction; None where it is no rational number."""
        if not isinstance(self.asked, Quantity) and not np.isfinite(self.value[z, w]):
            return None
        if self.fraction is not None:
            return self.fraction(z, w)
        if not self.parts or not isinstance(self.asked, Measure):
            return None
        parts = [part.exact(z, w) for part in self.parts]
        known = [part for part in parts if part is not None]
        return self.asked.fold.exact(known) if len(known) == len(parts) else None


def evaluate(asked: Asked, table: GroupTable, terms: Terms) -> Evaluation:
    """The values of a measure on a table, on the given terms."""
    if terms.at is not None:
        return _at_threshold(asked, table, terms, terms.at)
    if terms.of_class is not None:
        table = against_rest(table)[terms.of_class]
    if isinstance(asked, Whole):
        return _whole(asked, table, terms)
    if isinstance(asked, Quantity):
        return _bare(asked, table, terms)
    if asked.mean:
        return _mean(asked, evaluate(replace(asked, mean=False), table, terms))
    parts = [
        _compared(asked, part, table, _on_average(asked, at, terms))
        for at, part in enumerate(asked.parts)
    ]
    return parts[0] if len(parts) == 1 else _folded(asked, parts)


def _at_threshold(asked: Asked, table: GroupTable, terms: Terms, at: Decimal) -> Evaluation:
    """The values at a threshold of the score, and by how much a bin across it may change them."""
    above, below = cut_at(table, at)
    terms = replace(terms, at=None)
    found = evaluate(asked, above, terms)
    if above is below:
        return found
    other = evaluate(asked, below, terms)
    with np.errstate(invalid="ignore"):
        return replace(found, error=np.nan_to_num(np.abs(found.value - other.value)))


def _mean(asked: Measure, each: Evaluation) -> Evaluation:
    """The mean departure from parity over the groups that are judged, weighed by people.

    Ratios are averaged on the log scale, either side alike: 1 at parity, never below.
    """
    values, judged, n = each.value, each.judged, np.where(each.judged, _people(each), 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.abs(np.log(values) if asked.comparison.quotient else values - float(asked.ideal))
        weighed = np.where(n > 0, n * apart, 0.0).sum(axis=1) / n.sum(axis=1)
        value = np.exp(weighed) if asked.comparison.quotient else weighed
    undefined = (judged & np.isnan(values)).any(axis=1)
    value = np.where(undefined, np.nan, value)[:, None]

    def fraction(z: int, _: int) -> Fraction | None:
        found = [(int(n[z, g]), each.exact(z, g)) for g in np.flatnonzero(judged[z]).tolist()]
        total = sum(people for people, _ in found)
        if asked.comparison.quotient or not total:
            return None
        ideal, parts = Fraction(asked.ideal), [(m, v) for m, v in found if v is not None]
        if len(parts) < len(found):
            return None
        return sum((m * abs(v - ideal) for m, v in parts), Fraction(0)) / total

    nobody = np.full(value.shape, NOBODY)
    return replace(
        each,
        asked=asked,
        value=value,
        first=nobody,
        second=nobody,
        judged=np.ones(value.shape, dtype=np.bool_),
        parts=(),
        names=(),
        attained=None,
        error=None,
        fraction=fraction,
    )


def _people(each: Evaluation) -> Ints:
    """People in the denominators behind each value; of several parts the fewest."""
    readings = [one.reading for one in each.parts or (each,)]
    return np.asarray(np.min([one.n for one in readings if one is not None], axis=0))


def evaluate_against(
    asked: Asked, table: GroupTable, terms: Terms, against: GroupTable | None = None
) -> Evaluation:
    """The values of a measure, less those of another outcome where one is given."""
    evaluation = evaluate(asked, table, terms)
    return evaluation if against is None else less(evaluation, evaluate(asked, against, terms))


def less(evaluation: Evaluation, other: Evaluation) -> Evaluation:
    """The values of one outcome minus those of another, on tables of the same groups."""

    def fraction(z: int, w: int) -> Fraction | None:
        one, two = evaluation.exact(z, w), other.exact(z, w)
        return None if one is None or two is None else one - two

    with np.errstate(invalid="ignore"):
        value = evaluation.value - other.value
    errors = [one.error for one in (evaluation, other) if one.error is not None]
    error = np.sum(errors, axis=0) if errors else None
    return replace(
        evaluation,
        value=value,
        judged=evaluation.judged & other.judged,
        error=error,
        fraction=fraction,
        parts=(evaluation, other),
        names=(),
        attained=None,
    )


def _on_average(measure: Measure, at: int, terms: Terms) -> Terms:
    """The terms of a part: what the definition says of averaging holds where the spec is silent."""
    if not measure.averages or (terms.average is not None and len(measure.averages) == 1):
        return terms
    return replace(terms, average=measure.averages[at])


@once
def _readings(tally: Tally) -> dict[tuple[str, Parameters], Reading]:  # noqa: ARG001  # what it remembers for
    return {}


@once
def _others(tally: Tally) -> dict[tuple[Policy, bytes], Tally]:  # noqa: ARG001  # the same
    return {}


@once
def _fractions(
    tally: Tally,  # noqa: ARG001  # the same
) -> dict[tuple[str, Parameters, int, int], Fraction | None]:
    return {}


@once
def _each_class(table: GroupTable) -> Tally:
    """The tally of a table, with that of each class against the rest."""
    return replace(
        tally_of(table), each=tuple(tally_of(one) for one in against_rest(table).values())
    )


def read(quantity: Quantity, tally: Tally, parameters: Parameters = NO_PARAMETERS) -> Reading:
    """A quantity in every stratum and group, read once for each table."""
    known, key = _readings(tally), (quantity.id, parameters if quantity.takes else NO_PARAMETERS)
    if key not in known:
        known[key] = quantity.read(tally, parameters)
    return known[key]


def _tally(quantity: Quantity, table: GroupTable) -> Tally:
    return _each_class(table) if isinstance(quantity, Macro) else tally_of(table)


def _beside(table: GroupTable, tally: Tally, policy: Policy, index: Ints | None) -> Tally:
    """The cells of the reference, beside each group."""
    known, key = _others(tally), (policy, b"" if index is None else index.tobytes())
    if key not in known:
        if index is not None:
            known[key] = tally.taken(np.maximum(index, 0))
        elif policy is Policy.EVERYBODY:
            known[key] = tally.everywhere(table.known_strata)
        else:
            known[key] = tally.rest() if policy is Policy.REST else tally.overall()
    return known[key]


def _participants(table: GroupTable, n: Ints, min_size: int | None) -> Marks:
    """Who takes part, [Z, G]: known groups with people, of at least `min_size` in the rate."""
    takes_part = table.known & (table.n > 0)
    return takes_part if min_size is None else takes_part & (n >= min_size)


def _participants_overall(table: GroupTable, n: Ints, min_size: int | None) -> Marks:
    """The same without strata, [1, G]: whoever occurs takes part, in a known stratum or not."""
    takes_part = np.asarray((table.known & (table.n.sum(axis=0) > 0))[None])
    return takes_part if min_size is None else takes_part & (n >= min_size)


def _bare(quantity: Quantity, table: GroupTable, terms: Terms) -> Evaluation:
    tally = _tally(quantity, table)
    reading = read(quantity, tally, terms.parameters)
    takes_part = _participants(table, reading.n, terms.min_size)

    def fraction(z: int, g: int) -> Fraction | None:
        return _exact_of(reading.quantity, tally, terms.parameters, z, g)

    if terms.average is not None:
        return _bare_average(reading, table, terms, terms.average, fraction)
    own = np.broadcast_to(np.arange(len(table.groups)), reading.value.shape)
    return Evaluation(
        asked=quantity,
        table=table,
        terms=terms,
        value=reading.value,
        first=own,
        second=np.full_like(own, NOBODY),
        judged=takes_part,
        takes_part=takes_part,
        reading=reading,
        error=reading.error,
        fraction=fraction,
    )


def _bare_average(
    reading: Reading,
    table: GroupTable,
    terms: Terms,
    how: Average,
    fraction: Callable[[int, int], Fraction | None],
) -> Evaluation:
    """The rate of each group, averaged over the strata where it has somebody."""
    everybody = np.where(table.known, _mass(reading), 0).sum(axis=1, keepdims=True)
    both = np.broadcast_to(everybody, reading.value.shape)
    # Whatever the rule, the weights are those of all groups together: a group has no other side.
    how = Average(Weights.REFERENCE) if how.weights is Weights.POOLED else how
    found = averaged(
        how,
        table.strata,
        (reading.value, reading.value),
        (_mass(reading), both),
        table.known_strata,
    )
    whole = collapsed(table)
    n = np.asarray((reading.n * found.support).sum(axis=0, keepdims=True))
    takes_part = _participants_overall(table, n, terms.min_size)
    own = np.arange(len(table.groups))[None]

    def exact(_: int, g: int) -> Fraction | None:
        values = [fraction(z, g) for z in range(len(table.strata))]
        pairs = [(int(reading.n[z, g]), int(everybody[z, 0])) for z in range(len(table.strata))]
        if reading.scale != 1:
            return None
        pair = exactly(
            how, table.strata, [(v, v) for v in values], pairs, table.known_strata.tolist()
        )
        return pair and pair[0]

    return Evaluation(
        asked=reading.quantity,
        table=whole,
        terms=terms,
        value=found.first,
        first=own,
        second=np.full_like(own, NOBODY),
        judged=takes_part,
        takes_part=takes_part,
        reading=Reading(reading.quantity, found.first, n, n.astype(np.float64)),
        fraction=exact,
        strata=table,
        averaged=found,
    )


def _compared(
    measure: Measure, part: tuple[Quantity, Comparison], table: GroupTable, terms: Terms
) -> Evaluation:
    quantity, comparison = part
    if measure.four_fifths and not table.favourable:
        quantity = _COMPLEMENT
    single = measure
    if measure.parts != (part,) or quantity is not part[0]:
        single = replace(measure, parts=((quantity, comparison),))
    tally = _tally(quantity, table)
    if comparison.shape is Shape.SPREAD:
        return _spread(single, table, terms, tally)
    return _to_reference(single, table, terms, tally)


def _spread(measure: Measure, table: GroupTable, terms: Terms, tally: Tally) -> Evaluation:
    (quantity, comparison) = measure.parts[0]
    strata = weights = None

    reading = read(quantity, tally, terms.parameters)

    def of_group(z: int, g: int) -> Fraction | None:
        return _exact_of(quantity, tally, terms.parameters, z, g)

    fraction: Callable[[int, int], Fraction | None] = of_group
    takes_part = _participants(table, reading.n, terms.min_size)
    if terms.average is not None:
        one = _common_average(reading, table, terms, terms.average, fraction)
        table, reading, weights, strata = one.table, _reading_of(one), one.averaged, table
        takes_part, fraction = one.takes_part, one.exact
    high, low = pick_pair(reading.value, takes_part, reading.n)
    at = np.arange(len(high))
    ends = (high, low) if comparison.highest_first else (low, high)
    pair = [reading.value[at, end] for end in ends]
    with np.errstate(divide="ignore", invalid="ignore"):
        value = _values_compared(quantity, comparison, *pair)
    answered = (takes_part.sum(axis=1) >= 2) & ~(takes_part & np.isnan(reading.value)).any(axis=1)
    value = np.where(answered, value, np.nan)
    known = ~np.isnan(value)

    def exact(z: int, _: int) -> Fraction | None:
        return _applied(comparison, *(fraction(z, int(end[z])) for end in ends))

    return Evaluation(
        asked=measure,
        table=table,
        terms=terms,
        value=value[:, None],
        first=np.where(known, high, NOBODY)[:, None],
        second=np.where(known, low, NOBODY)[:, None],
        judged=np.ones((len(value), 1), dtype=np.bool_),
        takes_part=takes_part,
        reading=reading,
        error=_error_of_spread(comparison, reading, takes_part, (high, low)),
        fraction=exact,
        strata=strata,
        averaged=weights,
    )


def _error_of_spread(
    comparison: Comparison, reading: Reading, takes_part: Marks, pair: tuple[Ints, Ints]
) -> Floats | None:
    """How far a spread may be off: each end by no more than the worst group."""
    if reading.error is None:
        return None
    worst = np.where(takes_part, reading.error, 0.0).max(axis=1, initial=0.0)
    if not comparison.quotient:
        return np.asarray(2 * worst)[:, None]
    at = np.arange(len(worst))
    high, low = (reading.value[at, end] for end in pair)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.minimum((low + worst) / (high - worst) - low / high, 1.0))[:, None]


def _common_average(
    reading: Reading,
    table: GroupTable,
    terms: Terms,
    how: Average,
    fraction: Callable[[int, int], Fraction | None],
) -> Evaluation:
    """The rate of each group, averaged over the strata where every group has somebody."""
    mass = _mass(reading)
    n = reading.n[table.known_strata].sum(axis=0, keepdims=True)
    part = _participants_overall(table, n, terms.min_size)
    occurs = ((mass > 0) & ~np.isnan(reading.value)) | ~part
    common = occurs.all(axis=1, keepdims=True)
    everybody = np.where(part, mass, 0).sum(axis=1, keepdims=True)
    one = replace(
        reading,
        value=np.where(common, reading.value, np.nan),
        n=np.asarray(reading.n * common),
    )
    known = replace(table, known=part[0])
    found = _bare_average(one, known, terms, how, fraction)
    assert found.averaged is not None
    # Of the weight of all groups, what stood in strata where one of them is missing.
    left_out = np.where(common, 0.0, everybody / max(float(everybody.sum()), 1.0))
    shown = replace(found.averaged, left_out=np.broadcast_to(left_out, mass.shape))

    def exact(z: int, g: int) -> Fraction | None:
        return None if found.fraction is None else found.fraction(z, g)

    return replace(found, table=collapsed(table), averaged=shown, fraction=exact)


def _to_reference(measure: Measure, table: GroupTable, terms: Terms, tally: Tally) -> Evaluation:
    (quantity, comparison) = measure.parts[0]
    reference = terms.reference
    if measure.reference is not None:
        reference = Reference(measure.reference)
    if reference is None:
        raise ValueError(f"{measure.id} needs a reference")
    if reference is not terms.reference:
        terms = replace(terms, reference=reference)
    if terms.average is not None:
        return _average_to_reference(measure, table, terms, tally)
    reading = read(quantity, tally, terms.parameters)
    takes_part = _participants(table, reading.n, terms.min_size)
    index, usable = reference_index(reference, table, reading.value, reading.n, takes_part)
    beside = _beside(table, tally, reference.policy, index)
    against = read(quantity, beside, terms.parameters)
    with np.errstate(divide="ignore", invalid="ignore"):
        if comparison.contrast is None:
            value = _values_compared(quantity, comparison, reading.value, against.value)
        else:
            everybody = read(
                quantity, _beside(table, tally, Policy.OVERALL, None), terms.parameters
            )
            value = comparison.contrast(Sides(reading, against, everybody))

    def exact(z: int, g: int) -> Fraction | None:
        if comparison.exact_of is not None:
            pairs = [(one.over, one.under) for one in (reading, against)]
            ints = [
                (int(over[z, g]), int(under[z, g]))
                for over, under in pairs
                if over is not None and under is not None
            ]
            return comparison.exact_of(ints[0], ints[1]) if len(ints) == 2 else None
        return _applied(
            comparison,
            _exact_of(reading.quantity, tally, terms.parameters, z, g),
            _exact_of(against.quantity, beside, terms.parameters, z, g),
        )

    return _beside_reference(
        measure, table, terms, (reading, against), value, takes_part, (index, usable), exact
    )


def _beside_reference(  # the pieces of one evaluation, gathered by its callers
    measure: Measure,
    table: GroupTable,
    terms: Terms,
    readings: tuple[Reading, Reading],
    value: Floats,
    takes_part: Marks,
    place: tuple[Ints | None, Marks],
    exact: Callable[[int, int], Fraction | None],
) -> Evaluation:
    index, usable = place
    reading, against = readings
    index = np.full((len(usable), 1), NOBODY) if index is None else index
    own = np.broadcast_to(np.arange(len(table.groups)), value.shape)
    # Where there is no reference to use, nobody is it: every group is left without a value.
    second = np.where(usable, np.broadcast_to(index, value.shape), NOBODY)
    usable = usable & (takes_part.sum(axis=1, keepdims=True) >= 2)
    return Evaluation(
        asked=measure,
        table=table,
        terms=terms,
        value=np.where(usable & takes_part, value, np.nan),
        first=own,
        second=second,
        judged=takes_part & (own != second),
        takes_part=takes_part,
        reading=reading,
        against=against,
        error=_error_to_reference(measure.comparison, reading, against),
        fraction=exact,
    )


def _error_to_reference(
    comparison: Comparison, reading: Reading, against: Reading
) -> Floats | None:
    """How far a comparison may be off for what bins hide on both sides."""
    if reading.error is None or against.error is None:
        return None
    if not comparison.quotient:
        return np.asarray(reading.error + against.error)
    with np.errstate(divide="ignore", invalid="ignore"):
        most = (reading.value + reading.error) / np.maximum(against.value - against.error, 0.0)
        return np.asarray(most - reading.value / against.value)


def _average_to_reference(
    measure: Measure, table: GroupTable, terms: Terms, tally: Tally
) -> Evaluation:
    """Both sides averaged over the strata with the same weights, then compared."""
    (quantity, comparison), reference, how = measure.parts[0], terms.reference, terms.average
    assert reference is not None
    assert how is not None
    whole = collapsed(table)
    crude = read(quantity, _tally(quantity, whole), terms.parameters)
    takes_part = _participants_overall(table, crude.n, terms.min_size)
    index, usable = reference_index(reference, whole, crude.value, crude.n, takes_part)
    in_strata = None if index is None else np.broadcast_to(index, (len(table.strata), 1))
    beside = _beside(table, tally, reference.policy, in_strata)
    reading, against = (read(quantity, one, terms.parameters) for one in (tally, beside))
    if how.weights is Weights.POOLED and reference.policy is Policy.OVERALL:
        # The group is among everybody already.
        how = Average(Weights.REFERENCE)
    found = averaged(
        how,
        table.strata,
        (reading.value, against.value),
        (_mass(reading), _mass(against)),
        table.known_strata,
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        value = _values_compared(quantity, comparison, found.first, found.second)

    def exact(_: int, g: int) -> Fraction | None:
        strata = range(len(table.strata))
        values = [
            (
                _exact_of(quantity, tally, terms.parameters, z, g),
                _exact_of(quantity, beside, terms.parameters, z, g),
            )
            for z in strata
        ]
        sizes = (_whole_mass(reading), _whole_mass(against))
        people = [(int(sizes[0][z, g]), int(sizes[1][z, g])) for z in strata]
        pair = exactly(how, table.strata, values, people, table.known_strata.tolist())
        return pair and _applied(comparison, *pair)

    n, m = (
        np.asarray((one.n * found.support).sum(axis=0, keepdims=True)) for one in (reading, against)
    )
    sides = (
        Reading(quantity, found.first, n, n.astype(np.float64)),
        Reading(quantity, found.second, m, m.astype(np.float64)),
    )
    evaluation = _beside_reference(
        measure, whole, terms, sides, value, takes_part, (index, usable), exact
    )
    return replace(evaluation, strata=table, averaged=found)


def _folded(measure: Measure, parts: list[Evaluation]) -> Evaluation:
    fold = measure.fold
    values = np.stack([part.value for part in parts])
    undefined = np.isnan(values).any(axis=0)
    with np.errstate(invalid="ignore"):
        if fold.rank is not None:
            ranks = np.where(np.isnan(values), -np.inf, fold.rank(values))
            attained = np.argmax(ranks, axis=0)
            value = np.take_along_axis(values, attained[None], axis=0)[0]
        elif fold.combine is not None:
            attained, value = None, fold.combine(list(values))
    value = np.where(undefined, np.nan, value)
    takes_part = np.logical_and.reduce([part.takes_part for part in parts])

    def decided(arrays: list[Ints]) -> Ints:
        stacked = np.stack(arrays)
        picked = np.zeros_like(stacked[0]) if attained is None else attained
        return np.asarray(np.take_along_axis(stacked, picked[None], axis=0)[0])

    return replace(
        parts[0],
        asked=measure,
        value=value,
        first=decided([part.first for part in parts]),
        second=decided([part.second for part in parts]),
        judged=takes_part & np.logical_or.reduce([part.judged for part in parts])
        if measure.to_reference
        else parts[0].judged,
        takes_part=takes_part,
        names=tuple(part.reading.quantity.id for part in parts if part.reading),
        attained=attained,
        parts=tuple(parts),
        reading=None,
        against=None,
        fraction=None,
    )


def _whole(asked: Whole, table: GroupTable, terms: Terms) -> Evaluation:
    reading = asked.read(table, terms.min_size, terms.parameters)
    return Evaluation(
        asked=asked,
        table=table,
        terms=terms,
        value=reading.value[:, None],
        first=reading.high[:, None],
        second=reading.low[:, None],
        judged=np.ones((len(reading.value), 1), dtype=np.bool_),
        takes_part=reading.takes_part,
        names=reading.outcomes,
        attained=reading.outcome[:, None],
        error=None if reading.error is None else reading.error[:, None],
        whole=reading,
    )


def _reading_of(evaluation: Evaluation) -> Reading:
    assert evaluation.reading is not None
    return evaluation.reading


def _mass(reading: Reading) -> Floats:
    """What weighs in an average over strata: the denominator, of people or of survey weights."""
    return np.asarray(_whole_mass(reading) / reading.scale)


def _whole_mass(reading: Reading) -> Ints:
    return reading.n if reading.under is None or reading.scale == 1 else reading.under


def _values_compared(
    quantity: Quantity, comparison: Comparison, first: Floats, second: Floats
) -> Floats:
    """A comparison of values; a ratio of numbers with a sign needs both to be positive."""
    value = np.asarray(comparison.apply(first, second))
    if comparison.quotient and quantity.bounds[0] != 0:
        return np.where((first > 0) & (second > 0), value, np.nan)
    return value


def _applied(comparison: Comparison, *values: Fraction | None) -> Fraction | None:
    """A comparison of fractions; None where it is not rational, or not defined."""
    one, two = values
    if one is None or two is None or not comparison.rational:
        return None
    try:
        return Fraction(comparison.apply(one, two))
    except ZeroDivisionError:
        return None


def _exact_of(
    quantity: Quantity, tally: Tally, parameters: Parameters, z: int, g: int
) -> Fraction | None:
    known = _fractions(tally)
    key = (quantity.id, parameters if quantity.takes else NO_PARAMETERS, z, g)
    if key not in known:
        known[key] = quantity.exact(tally, z, g, parameters)
    return known[key]

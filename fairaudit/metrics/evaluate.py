"""Asking one measure of one table: its values, who was compared with whom, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from fairaudit.cube import Floats, GroupTable, Ints, Marks
from fairaudit.metrics.counts import Tally, tally_of
from fairaudit.metrics.picking import pick_pair
from fairaudit.metrics.rates import SELECTION_RATE
from fairaudit.metrics.records import (
    NO_PARAMETERS,
    Comparison,
    Measure,
    Parameters,
    Quantity,
    Reading,
    Shape,
    Whole,
    WholeReading,
)
from fairaudit.metrics.reference import NOBODY, Policy, Reference, reference_index
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
    """On what terms a measure is asked: the reference, who is large enough, its parameters."""

    reference: Reference | None = None
    min_size: int | None = None
    parameters: Parameters = NO_PARAMETERS


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One measure on one table.

    `value` is [Z, W]: W = G where each group has a value, 1 for a spread. `first` and `second` are
    the groups compared (group and reference, or highest and lowest), `NOBODY` for a crowd. `judged`
    marks the entries that answer: those of groups that take part, other than the reference itself.
    `takes_part` is [Z, G]; `attained` is the part (or the outcome) that decides, among `names`.
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
    tallies: tuple[Tally, Tally | None] | None = None
    whole: WholeReading | None = None

    @property
    def spread(self) -> bool:
        """Whether there is one value a stratum, not one a group."""
        return isinstance(self.asked, Whole) or (
            isinstance(self.asked, Measure) and not self.asked.to_reference
        )

    def decided_by(self, z: int, w: int) -> str | None:
        """The part (a rate, an outcome) that decides a value; None where all parts do."""
        if self.attained is None or not self.names:
            return None
        at = int(self.attained[z, w])
        return None if at == NOBODY else self.names[at]

    def exact(self, z: int, w: int) -> Fraction | None:
        """The value as a fraction; None where it is no rational number."""
        if isinstance(self.asked, Quantity):
            return _exact_of(self.asked, self.tallies, z, w)
        if not isinstance(self.asked, Measure) or not np.isfinite(self.value[z, w]):
            return None
        if not self.parts:
            return self._exact_comparison(self.asked.parts[0], z, w)
        parts = [part.exact(z, w) for part in self.parts]
        known = [part for part in parts if part is not None]
        return self.asked.fold.exact(known) if len(known) == len(parts) else None

    def _exact_comparison(
        self, part: tuple[Quantity, Comparison], z: int, w: int
    ) -> Fraction | None:
        quantity, comparison = part
        first, second = int(self.first[z, w]), int(self.second[z, w])
        if self.tallies is None:
            return None
        mine, theirs = self.tallies
        one = _exact_of(quantity, (mine, None), z, first)
        two = (
            _exact_of(quantity, (mine, None), z, second)
            if theirs is None
            else _exact_of(quantity, (theirs, None), z, w)
        )
        if one is None or two is None:
            return None
        if comparison.shape is Shape.SPREAD and not comparison.highest_first:
            one, two = two, one
        return None if comparison.quotient and not two else Fraction(comparison.apply(one, two))


def evaluate(asked: Asked, table: GroupTable, terms: Terms) -> Evaluation:
    """The values of a measure on a table, on the given terms."""
    if isinstance(asked, Whole):
        return _whole(asked, table, terms)
    tally = tally_of(table)
    if isinstance(asked, Quantity):
        return _bare(asked, table, terms, tally)
    parts = [_compared(asked, part, table, terms, tally) for part in asked.parts]
    return parts[0] if len(parts) == 1 else _folded(asked, parts)


@once
def _readings(tally: Tally) -> dict[str, Reading]:  # noqa: ARG001  # what it remembers for
    return {}


@once
def _others(tally: Tally) -> dict[tuple[Policy, bytes], Tally]:  # noqa: ARG001  # the same
    return {}


@once
def _fractions(tally: Tally) -> dict[tuple[str, int, int], Fraction | None]:  # noqa: ARG001  # the same
    return {}


def read(quantity: Quantity, tally: Tally) -> Reading:
    """A quantity in every stratum and group, read once for each table."""
    known = _readings(tally)
    if quantity.id not in known:
        known[quantity.id] = quantity.read(tally)
    return known[quantity.id]


def _beside(tally: Tally, policy: Policy, index: Ints | None) -> Tally:
    """The cells of the reference, beside each group."""
    known, key = _others(tally), (policy, b"" if index is None else index.tobytes())
    if key not in known:
        if index is not None:
            known[key] = tally.taken(np.maximum(index, 0))
        else:
            known[key] = tally.rest() if policy is Policy.REST else tally.overall()
    return known[key]


def _bare(quantity: Quantity, table: GroupTable, terms: Terms, tally: Tally) -> Evaluation:
    reading = read(quantity, tally)
    takes_part = _participants(table, reading.n, terms.min_size)
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
        tallies=(tally, None),
    )


def _participants(table: GroupTable, n: Ints, min_size: int | None) -> Marks:
    """Who takes part, [Z, G]: known groups with people, of at least `min_size` in the rate."""
    takes_part = table.known & (table.n > 0)
    return takes_part if min_size is None else takes_part & (n >= min_size)


def _compared(
    measure: Measure,
    part: tuple[Quantity, Comparison],
    table: GroupTable,
    terms: Terms,
    tally: Tally,
) -> Evaluation:
    quantity, comparison = part
    if measure.four_fifths and not table.favourable:
        quantity = _COMPLEMENT
    reading = read(quantity, tally)
    takes_part = _participants(table, reading.n, terms.min_size)
    single = measure
    if measure.parts != (part,) or quantity is not part[0]:
        single = replace(measure, parts=((quantity, comparison),))
    if comparison.shape is Shape.SPREAD:
        return _spread(single, table, terms, tally, reading, takes_part)
    return _to_reference(single, table, terms, tally, reading, takes_part)


def _spread(  # the pieces of one evaluation, gathered by its only caller
    measure: Measure,
    table: GroupTable,
    terms: Terms,
    tally: Tally,
    reading: Reading,
    takes_part: Marks,
) -> Evaluation:
    comparison = measure.comparison
    high, low = pick_pair(reading.value, takes_part, reading.n)
    at = np.arange(len(high))
    top, bottom = reading.value[at, high], reading.value[at, low]
    pair = (top, bottom) if comparison.highest_first else (bottom, top)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = comparison.apply(*pair)
    answered = (takes_part.sum(axis=1) >= 2) & ~(takes_part & np.isnan(reading.value)).any(axis=1)
    value = np.where(answered, value, np.nan)
    known = ~np.isnan(value)
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
        tallies=(tally, None),
    )


def _to_reference(  # the pieces of one evaluation, gathered by its only caller
    measure: Measure,
    table: GroupTable,
    terms: Terms,
    tally: Tally,
    reading: Reading,
    takes_part: Marks,
) -> Evaluation:
    reference = terms.reference
    if measure.reference is not None:
        reference = Reference(measure.reference)
    if reference is None:
        raise ValueError(f"{measure.id} needs a reference")
    if reference is not terms.reference:
        terms = replace(terms, reference=reference)
    index, usable = reference_index(reference, table, reading.value, reading.n, takes_part)
    beside = _beside(tally, reference.policy, index)
    index = np.full((len(usable), 1), NOBODY) if index is None else index
    against = read(reading.quantity, beside)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = measure.comparison.apply(reading.value, against.value)
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
        tallies=(tally, beside),
    )


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
        tallies=None,
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
        whole=reading,
    )


def _exact_of(
    quantity: Quantity, tallies: tuple[Tally, Tally | None] | None, z: int, g: int
) -> Fraction | None:
    if tallies is None:
        return None
    known, key = _fractions(tallies[0]), (quantity.id, z, g)
    if key not in known:
        known[key] = quantity.exact(tallies[0].mass.at(z, g))
    return known[key]

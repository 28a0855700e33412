"""Cuts by share: the quantiles that a spec asks for, and the spec once they are found.

The q-quantile is the smallest value with so large a share of the people at or below it. `top: 3%`
is strictly above the 97 % one, so it never selects more. Bins by quantiles begin at them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from fairaudit.disclosure import Notice, Subjects
from fairaudit.errors import Fault, SpecError, did_you_mean
from fairaudit.names import quoted
from fairaudit.spec.model import Outcome, Protected, Spec, Threshold, written

Quantile: TypeAlias = tuple[str, Fraction]
"""A column of numbers, and the share of the people at or below."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A quantile that was found, with the people above, at and below it."""

    value: float
    above: int
    at: int
    below: int

    @property
    def edge(self) -> Decimal:
        """The value, exactly as it is written."""
        return Decimal(repr(self.value).removesuffix(".0"))


def quantiles_of(spec: Spec) -> tuple[Quantile, ...]:
    """The quantiles that must be found before the people can be counted."""
    asked = [
        (one.column.value, share) for one in spec.outcomes if (share := _share_of(one)) is not None
    ]
    asked += [(one.column.value, share) for one in _binnable(spec) for share in _shares(one)]
    return tuple(dict.fromkeys(asked))


def closed(spec: Spec, found: Mapping[Quantile, Cut]) -> Spec:
    """The spec with the cuts that were found in place of shares, and with notices that tell them.

    Raises `SpecError` where a reference is none of the bins that come out.
    """
    cuts = {
        one.name: found[one.column.value, share]
        for one in spec.outcomes
        if (share := _share_of(one)) is not None
    }
    bins = {
        one.name: tuple(sorted({found[one.column.value, share].edge for share in _shares(one)}))
        for one in _binnable(spec)
        if one.quantiles
    }

    def cut(one: Outcome) -> Outcome:
        if one.name not in cuts:
            return one
        return replace(one, threshold=Threshold(above=cuts[one.name].edge))

    def binned(one: Protected) -> Protected:
        return replace(one, bins=bins[one.name], quantiles=None) if one.name in bins else one

    made = replace(
        spec,
        label=spec.label and cut(spec.label),
        predictions=tuple(map(cut, spec.predictions)),
        protected=tuple(map(binned, spec.protected)),
        strata=tuple(map(binned, spec.strata)),
        features=tuple(map(binned, spec.features)),
        notices=(
            *spec.notices,
            *(_told(one, cuts[one.name]) for one in spec.outcomes if one.name in cuts),
            *(
                Notice(
                    f"{one.name}: {one.quantiles} quantiles of {one.column.value} make only "
                    f"{len(bins[one.name]) + 1} bins: cuts that are equal are joined",
                    Subjects.NOBODY,
                )
                for one in _binnable(spec)
                if one.quantiles and len(bins[one.name]) + 1 < one.quantiles
            ),
        ),
    )
    faults = [fault for one in made.protected for fault in reference_faults(one)]
    if faults:
        raise SpecError(faults)
    return made


def reference_faults(one: Protected) -> list[Fault]:
    """The fault of a reference that is none of the bins."""
    labels = one.bin_labels()
    if not labels or one.reference is None or one.reference.value in labels:
        return []
    known = ", ".join(quoted(label) for label in labels)
    hint = did_you_mean(one.reference.value, labels) or f"; there are {known}"
    return [one.reference.fault(f"no such bin{hint}")]


def _binnable(spec: Spec) -> tuple[Protected, ...]:
    return (*spec.groupable, *spec.features)


def _told(one: Outcome, cut: Cut) -> Notice:
    """Where the cut is, which is somebody's score."""
    share = _share_of(one) or Fraction(0)
    top = f"for the top {float(100 * (1 - share)):g}%"
    what = "the median" if share == Fraction(1, 2) else top
    return Notice(
        f"{one.name}: the cut is {written(cut.edge)}, {what} of {one.column.value}: "
        f"{cut.above:,} above, {cut.at:,} at it, {cut.below:,} below",
        Subjects.NEVER,
    )


def _share_of(one: Outcome) -> Fraction | None:
    return None if one.threshold is None else one.threshold.beyond


def _shares(one: Protected) -> list[Fraction]:
    """The shares at which the quantiles of a column cut it."""
    parts = one.quantiles or 1
    return [Fraction(at, parts) for at in range(1, parts)]

"""What a spec takes from data: quantiles (bins, top shares, medians), notices on them; models.

The q-quantile is the smallest value with so large a share of the people at or below it. `top: 3%`
is strictly above the 97 % one, so it never selects more. Bins by quantiles begin at them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from fairaudit.base.disclosure_marks import Subjects
from fairaudit.base.errors import SpecError
from fairaudit.base.frozen import replace
from fairaudit.base.notice import Notice
from fairaudit.counting.columns import Cut, Quantile
from fairaudit.metrics import Requirement
from fairaudit.spec.attributes import reference_faults
from fairaudit.spec.column_model import OtherValues, Outcome, Protected, Threshold, format_edge
from fairaudit.spec.model import MissingPolicy, Spec


def needed_quantiles(spec: Spec) -> tuple[Quantile, ...]:
    """The quantiles that must be found before the people can be counted."""
    quantiles = [
        (outcome.column.value, share)
        for outcome in spec.outcomes
        if (share := _share_of(outcome)) is not None
    ]
    quantiles += [
        (column.column.value, share) for column in _binnable(spec) for share in _shares(column)
    ]
    return tuple(dict.fromkeys(quantiles))


def apply_cuts(spec: Spec, cuts: Mapping[Quantile, Cut]) -> Spec:
    """The spec with the cuts that were found in place of shares, and with notices that tell them.

    Raises `SpecError` where a reference is none of the bins that come out.
    """

    def with_cut(outcome: Outcome) -> Outcome:
        share = _share_of(outcome)
        if share is None:
            return outcome
        return replace(outcome, threshold=Threshold(above=cuts[outcome.column.value, share].edge))

    def with_bins(column: Protected) -> Protected:
        if not column.quantiles:
            return column
        edges = {cuts[column.column.value, share].edge for share in _shares(column)}
        return replace(column, bins=tuple(sorted(edges)), quantiles=None)

    derived = replace(
        spec,
        label=spec.label and with_cut(spec.label),
        predictions=tuple(map(with_cut, spec.predictions)),
        protected=tuple(map(with_bins, spec.protected)),
        strata=tuple(map(with_bins, spec.strata)),
        features=tuple(map(with_bins, spec.features)),
        notices=(*spec.notices, *_cut_notices(spec, cuts), *_bin_notices(spec, cuts)),
    )
    faults = [fault for column in derived.protected for fault in reference_faults(column)]
    if faults:
        raise SpecError(faults)
    return derived


def _bin_notices(spec: Spec, cuts: Mapping[Quantile, Cut]) -> Iterator[Notice]:
    """Which quantiles make fewer bins with people than they should."""
    for column in _binnable(spec):
        edges = {cuts[column.column.value, share] for share in _shares(column)}
        number = len(edges) + all(edge.below for edge in edges)
        if column.quantiles and number < column.quantiles:
            bins = "1 bin" if number == 1 else f"{number} bins"
            yield Notice(
                f"{column.name}: {column.quantiles} quantiles of {column.column.value} make only "
                f"{bins} with people: too many have the same number",
                Subjects.NOBODY,
            )


def _binnable(spec: Spec) -> tuple[Protected, ...]:
    return (*spec.groupable, *spec.features)


def _cut_notices(spec: Spec, cuts: Mapping[Quantile, Cut]) -> Iterator[Notice]:
    """Where the cuts are: never published, since each is one person's score."""
    for outcome in spec.outcomes:
        share = _share_of(outcome)
        if share is not None:
            name, cut = outcome.column.value, cuts[outcome.column.value, share]
            top = f"for the top {float(100 * (1 - share)):g}%"
            what = "the median" if share == Fraction(1, 2) else top
            yield Notice(
                f"{outcome.name}: the cut is {format_edge(cut.edge)}, {what} of {name}: "
                f"{cut.above:,} above, {cut.at:,} at it, {cut.below:,} below",
                Subjects.NEVER,
            )


def _share_of(outcome: Outcome) -> Fraction | None:
    return None if outcome.threshold is None else outcome.threshold.beyond


def _shares(column: Protected) -> list[Fraction]:
    """The shares at which the quantiles of a column cut it."""
    parts = column.quantiles or 1
    return [Fraction(part, parts) for part in range(1, parts)]


def spec_to_fit(spec: Spec) -> Spec:
    """The spec of the people whom models are fitted to: all who are audited, and no check."""
    strata = tuple(stratum for stratum in spec.strata if stratum.model is None)
    return replace(_without_questions(spec), strata=strata)


def _without_questions(spec: Spec) -> Spec:
    return replace(spec, features=(), subgroups=None, requests=(), checks=(), simpson=None)


def candidate_spec(spec: Spec) -> Spec | None:
    """The spec of the tables of a search, without their candidates; None where it asks for none.

    It has the attributes that are compared and the outcome, and what else may drop a row: whoever
    is not counted in the cube is counted in no table beside it.
    """
    scan = spec.simpson
    if scan is None or not scan.search:
        return None
    roles = ("strata", "label", "prediction", "score", "numbers")
    drops = {role for role in roles if getattr(spec.missing, role) is MissingPolicy.DROP}
    of = {scan.of}
    if any(Requirement.LABEL in rate.requirements for rate in scan.rates):
        of.add("label")

    def reduced(outcome: Outcome, role: str) -> Outcome | None:
        score = outcome.score if "score" in drops else None
        may_drop = outcome.others is OtherValues.DROP
        is_needed = outcome.has_classes and (outcome.name in of or may_drop)
        drops_rows = role in drops or score is not None
        return replace(outcome, score=score) if is_needed or drops_rows else None

    predictions = (reduced(outcome, "prediction") for outcome in spec.predictions)
    return replace(
        _without_questions(spec),
        protected=tuple(column for column in spec.protected if column.name in scan.attributes),
        strata=spec.strata if "strata" in drops else (),
        label=spec.label and reduced(spec.label, "label"),
        predictions=tuple(outcome for outcome in predictions if outcome is not None),
        numbers=spec.numbers if "numbers" in drops else (),
    )

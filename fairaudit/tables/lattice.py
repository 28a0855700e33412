"""The lattice: the worst value of every metric in every subset, where a gap first appears, ε."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from fairaudit.cube import Floats, Grouping, GroupTable, Ints
from fairaudit.estimate import Estimate
from fairaudit.evidence import find_intervals, find_parts
from fairaudit.evidence.appearances import (
    Appearance,
    RateInSubsets,
    find_appearances,
    rank_appearances,
)
from fairaudit.metrics import (
    Disparity,
    Evaluation,
    GroupMetric,
    Metric,
    Rate,
    TableMetric,
    Terms,
    build_disparity,
    describe_group,
    explain_undefined,
)
from fairaudit.metrics.comparisons import GAP
from fairaudit.metrics.differential_fairness import DIFFERENTIAL_FAIRNESS
from fairaudit.metrics.rates import BASE_RATE, SELECTION_RATE
from fairaudit.metrics.terms import ReferencePolicy
from fairaudit.result import EpsilonReading, LatticeEntry, LatticeRow
from fairaudit.spec import MetricRequest
from fairaudit.tables.evaluations import Tables, group_at, write_estimate
from fairaudit.verdict import Check


def lattice(
    tables: Tables,
    requests: tuple[MetricRequest, ...],
    checks: list[Check],
    *,
    whole: bool,
) -> Iterator[LatticeRow]:
    """A row for each subset, with the worst value of each measure that a spec asks for.

    Without the `whole` lattice, a row for each grouping that an entry asks for.
    """
    asked = [one for one in requests if one.given == ((),)]
    titles = _titles(asked)
    subsets = (
        tables.cube.subsets()
        if whole
        else list(dict.fromkeys(by for one in asked for by in one.by))
    )
    compared = asked if whole and tables.cube.clusters is None else ()
    first = first_appearances(subsets, tables, compared)
    for by in subsets:
        entries = []
        groups, smallest = 0, 0
        for title, one in zip(titles, asked, strict=True):
            if not whole and by not in one.by:
                continue
            cut = tables.table(by, (), one.of)
            people = cut.n[:1].sum(axis=0)  # there is no stratum where nobody is known
            part = cut.known & (people > 0)
            groups, smallest = int(part.sum()), int(people[part].min()) if part.any() else 0
            mine = [check for check in checks if _asks(check, one)]
            judged = any(check.by == by for check in mine)
            spread = replace(one, metric=_as_spread(one.metric))
            evaluation = tables.evaluate_request(spread, by, ())
            if evaluation is not None:
                entries.append(_worst(title, evaluation, judged=judged, limited=bool(mine)))
        yield LatticeRow(by, groups, smallest, tuple(entries), first.found[by], first.tested[by])


def _asks(check: Check, one: MetricRequest) -> bool:
    """Whether a check asks what an entry of the report shows."""
    return (
        check.asked == one.metric
        and check.of == one.of
        and not check.given
        and check.terms.parameters == one.terms.parameters
        and (check.terms.of_class, check.against, check.terms.at)
        == (one.terms.of_class, one.against, one.terms.at)
        and (check.terms.reference and check.terms.reference.policy)
        == (one.terms.reference and one.terms.reference.policy)
    )


def _titles(asked: Sequence[MetricRequest]) -> list[str]:
    """A title for each entry, none like another: with its outcome, and how it differs."""
    titles = [_title(one) for one in asked]
    if len({one.of for one in asked}) > 1:
        outcomes = (one.of for one in asked)
        titles = [f"{title} of {of}" for title, of in zip(titles, outcomes, strict=True)]
    same: dict[str, list[int]] = {}
    for at, title in enumerate(titles):
        same.setdefault(title, []).append(at)
    for entries in same.values():
        if len(entries) > 1:
            words = _differences([asked[at] for at in entries])
            for at, said in zip(entries, words, strict=True):
                titles[at] += f" ({said or f'entry {at + 1} of the spec'})"
    return [
        f"{title}, entry {at + 1}" if titles.count(title) > 1 else title
        for at, title in enumerate(titles)
    ]


def _differences(several: Sequence[MetricRequest]) -> list[str]:
    """In what entries of one title differ, of each in a few words; empty where in nothing."""
    found: list[list[str]] = [[] for _ in several]
    for tell in _TOLD_APART:
        words = [tell(one) for one in several]
        if len({*words}) > 1:
            for parts, word in zip(found, words, strict=True):
                parts.append(word)
    return [", ".join(filter(None, parts)) for parts in found]


_TOLD_APART: tuple[Callable[[MetricRequest], str], ...] = (
    lambda one: one.metric.id,
    lambda one: f"by {', '.join(' × '.join(by) for by in one.by)}",
    lambda one: "; ".join(
        dict.fromkeys(
            f"to {describe_group(to.group)}" for to in one.references.values() if to.group
        )
    ),
)
"""What may differ between two entries of one title, in words."""


def _title(one: MetricRequest) -> str:
    """The short name of an entry, with what sets it apart."""
    # A bare rate is requests by its gap.
    gap = " gap" if isinstance(one.metric, GroupMetric) else ""
    # Nobody is selected by a label.
    asked = BASE_RATE if one.metric is SELECTION_RATE and one.of == "label" else one.metric
    words = [f"{asked.short or asked.id}{gap}"]
    if one.terms.of_class is not None:
        words.append(f"of {one.terms.of_class}")
    if one.terms.at is not None:
        words.append(f"at {one.terms.at}")
    if one.against is not None:
        words.append(f"against {one.against}")
    if one.terms.reference is not None:
        policy = one.terms.reference.policy
        words.append(f"to {'reference' if policy is ReferencePolicy.DECLARED else policy}")
    return " ".join(words) + _parameters_in_words(one)


def _parameters_in_words(one: MetricRequest) -> str:
    """The pseudo-counts of an entry: both parameters, whichever the spec names."""
    return "".join(f", {name} {value}" for name, value in one.terms.parameters.as_texts().items())


def _as_spread(asked: Metric) -> Metric:
    """What is compared over all groups: of a bare rate its gap."""
    return build_disparity(asked, GAP) if isinstance(asked, GroupMetric) else asked


def _worst(title: str, evaluation: Evaluation, *, judged: bool, limited: bool) -> LatticeEntry:
    """The value that departs most from the ideal."""
    ideal = 0 if isinstance(evaluation.metric, GroupMetric) else evaluation.metric.ideal
    answered = np.flatnonzero(evaluation.judged[:1].any(axis=0))
    departures = _departures(evaluation.value[:1, answered].reshape(-1), ideal)
    known = bool(len(answered)) and not np.isnan(departures).all()
    worst = int(np.nanargmax(departures)) if known else 0
    departure, w = (float(departures[worst]), int(answered[worst])) if known else (math.nan, 0)
    table = evaluation.table
    estimate = (
        write_estimate(evaluation, 0, w, find_intervals(evaluation))
        if known
        else _nothing(evaluation, answered)
    )
    pair = (evaluation.first, evaluation.second) if known else ()
    first, second = (group_at(table, side[0, w]) for side in pair) if pair else ((), ())
    return LatticeEntry(
        metric=evaluation.metric.id,
        title=title,
        of=table.of,
        estimate=estimate,
        first=first,
        second=second,
        parts=find_parts(evaluation, 0, w) if known else (),
        spread=evaluation.spread,
        decided_by=evaluation.decided_by(0, w) if known else None,
        judged=judged,
        limited=limited,
        departure=departure,
    )


def _nothing(evaluation: Evaluation, answered: Ints) -> Estimate:
    w = int(answered[0]) if len(answered) else 0
    if not evaluation.table.groups:
        return Estimate(math.nan, reason="no group is known")
    return Estimate(math.nan, reason=explain_undefined(evaluation, 0, w))


def _departures(values: Floats, ideal: int | Fraction) -> Floats:
    """How far from parity each value is: on the log scale for ratios."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.abs(np.log(values) if ideal == 1 else values - float(ideal))


def epsilons(
    tables: Tables, requests: tuple[MetricRequest, ...], *, whole: bool
) -> Iterator[EpsilonReading]:
    """ε of the full intersection for every entry that asks for it, with its bounds."""
    full = tables.cube.protected
    for one in requests:
        if one.metric is not DIFFERENTIAL_FAIRNESS or one.given != ((),):
            continue
        subsets = tables.cube.subsets() if whole else one.by
        if full not in subsets:
            continue
        terms = Terms(None, one.terms.minimum, one.terms.parameters)
        found = {by: tables.evaluate(one.metric, (by, (), one.of), terms) for by in subsets}
        values = {
            by: float(each.value[0, 0]) if len(each.table.strata) else math.nan
            for by, each in found.items()
        }
        epsilon = values[full]
        if math.isnan(epsilon):
            continue
        cut = tables.table(full, (), one.of)
        classes = len(cut.classes)
        pseudo = one.terms.parameters.per_outcome(classes)
        unbounded = _why_unbounded(found.values(), smoothed=bool(pseudo))
        bounds = not unbounded
        largest = max(values.values())
        if bounds and largest > epsilon + 1e-9:
            raise AssertionError(
                f"ε of a subset ({largest}) exceeds the intersection's ({epsilon})"
            )
        ends = find_intervals(found[full]).at(0, 0) or (None, None)
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
            low=ends[0],
            high=ends[1],
            unbounded=unbounded,
        )


def _why_unbounded(subsets: Iterable[Evaluation], *, smoothed: bool) -> str:
    """Why the ε of a subset may exceed twice that of all attributes; empty where it cannot.

    Theorem 3.2 is about one distribution: a subset's rate must be an average of the rates of its
    parts. Smoothed rates are no such average, nor are those of other people.
    """
    if smoothed:
        return "the rates are smoothed"
    totals = set()
    for each in subsets:
        by_group = each.table.people[0, :, :-1].sum(axis=(0, 1))
        if (~each.takes_part & each.table.known & (by_group > 0)).any():
            return "some groups are not compared"
        if (by_group[~each.table.known] > 0).any():
            return "some levels are not known"
        if not each.takes_part.all():
            return "some groups have nobody with a known outcome"
        totals.add(int(by_group.sum()))
    return "" if len(totals) == 1 else "some levels are not known"


def _regime(epsilon: float) -> str:
    """What ε can be held against: a scale, no promise (Foulds & Pan §3.3)."""
    if math.isinf(epsilon):
        return "no bound: some outcome has probability 0 in a group, and not in another"
    return "for scale: a ratio of four fifths is 0.22, randomized response with a fair coin 1.10"


@dataclass(frozen=True, slots=True)
class First:
    """What first appears in each subset, and for each outcome how many groups were tested."""

    found: Mapping[Grouping, tuple[Appearance, ...]]
    tested: Mapping[Grouping, Mapping[str, int]]


def first_appearances(
    subsets: Sequence[Grouping], tables: Tables, requests: Iterable[MetricRequest]
) -> First:
    """The groups where a gap first appears, by the rates that the lattice compares.

    Of what is no rate (ε, mutual information) the selection rate is looked at. The tests of one
    outcome are one family; rates of the same cells, such as those of true positives and of false
    negatives, are one rate. What conditions on strata, subtracts outcomes or cuts a score is left
    to its own tables.
    """
    by_outcome: dict[str, list[RateInSubsets]] = {}
    for rate, one in _rates(requests):
        by_subset = {by: tables.table(by, (), one.of) for by in subsets}
        terms = replace(one.terms_for(()), reference=None)
        if one.terms.of_class or rate is not SELECTION_RATE or _has_positive(by_subset.values()):
            by_outcome.setdefault(one.of, []).append(RateInSubsets(rate, by_subset, terms))
    each = {of: find_appearances(family) for of, family in by_outcome.items()}
    return First(
        {
            by: rank_appearances(found for one in each.values() for found in one.found.get(by, ()))
            for by in subsets
        },
        {by: {of: one.tested[by] for of, one in each.items() if one.tested[by]} for by in subsets},
    )


def _rates(requests: Iterable[MetricRequest]) -> Iterator[tuple[Rate, MetricRequest]]:
    """Each rate of an outcome once, with the first entry that asks for it."""
    seen = set()
    for one in requests:
        if (
            one.given != ((),)
            or one.terms.at is not None
            or one.against is not None
            or one.terms.average
        ):
            continue
        of_class = one.terms.of_class
        for rate in _rates_of(one.metric):
            key = (one.of, of_class, rate.cells)
            if key not in seen:
                seen.add(key)
                yield rate, one


def _rates_of(asked: Metric) -> list[Rate]:
    """The shares of a group's own people behind what is asked; for a whole the selection rate."""
    if isinstance(asked, TableMetric):
        return [SELECTION_RATE]
    parts = [quantity for quantity, _ in asked.parts] if isinstance(asked, Disparity) else [asked]
    return [one for one in parts if isinstance(one, Rate) and one.of_group and not one.conditional]


def _has_positive(tables: Iterable[GroupTable]) -> bool:
    """Whether the outcome has a positive class, and so a selection rate."""
    return all(one.positive is not None for one in tables)

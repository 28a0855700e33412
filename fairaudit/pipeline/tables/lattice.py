"""Rows of the lattice: the worst value in each subset of attributes; rows of ε."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

import numpy as np

from fairaudit.base.frozen import replace
from fairaudit.cube import Grouping
from fairaudit.evidence import find_intervals, find_parts, group_at
from fairaudit.evidence.appearances import Appearances, RateInSubsets, find_appearances
from fairaudit.judge import Check
from fairaudit.metrics import (
    Disparity,
    Evaluation,
    Formula,
    GroupMetric,
    MetricOptions,
    Rate,
    TableMetric,
    build_disparity,
    describe_group,
    explain_undefined,
    is_over_classes,
    list_quantities,
)
from fairaudit.metrics.comparisons import GAP
from fairaudit.metrics.differential_fairness import BIAS_AMPLIFICATION, DIFFERENTIAL_FAIRNESS
from fairaudit.metrics.estimate import Estimate
from fairaudit.metrics.evaluation_record import write_unsmoothed
from fairaudit.metrics.rates import BASE_RATE, SELECTION_RATE
from fairaudit.metrics.terms import Parameters, ReferencePolicy
from fairaudit.pipeline.tables.audit import Tables, write_estimate
from fairaudit.result import EpsilonReading, LatticeEntry, LatticeRow
from fairaudit.spec import MetricRequest


def lattice(
    tables: Tables,
    requests: tuple[MetricRequest, ...],
    checks: list[Check],
    *,
    whole: bool,
) -> Iterator[LatticeRow]:
    """A row for each subset, with the worst value of each metric of the spec.

    Unless the lattice is `whole`, it has a row for each grouping that an entry asks for.
    """
    unconditional = [
        request
        for request in requests
        if request.given == ((),)
        and not (isinstance(request.metric, Formula) and request.metric.compares)
    ]
    titles = _titles(unconditional)
    subsets = (
        tables.cube.subsets()
        if whole
        else list(dict.fromkeys(by for request in unconditional for by in request.by))
    )
    compared = unconditional if whole and tables.cube.clusters is None else ()
    search = first_appearances(subsets, tables, compared)
    asking_of: dict[Hashable, list[Check]] = {}
    for check in checks:
        if not check.given:
            asking_of.setdefault(_question(check), []).append(check)
    matching = [asking_of.get(_question(request), []) for request in unconditional]
    for by in subsets:
        entries = []
        groups, smallest = 0, 0
        for title, request, asking in zip(titles, unconditional, matching, strict=True):
            if not whole and by not in request.by:
                continue
            table = tables.table(by, (), request.of)
            people = table.n[:1].sum(axis=0)  # each stratum has known people
            part = table.known & (people > 0)
            groups, smallest = int(part.sum()), int(people[part].min()) if part.any() else 0
            judged = any(check.by == by for check in asking)
            metric = request.metric
            if isinstance(metric, GroupMetric):
                metric = build_disparity(metric, GAP)
            spread = replace(request, metric=metric)
            evaluation = tables.evaluate_request(spread, by, ())
            if evaluation is not None:
                entries.append(_worst(title, evaluation, judged=judged, limited=bool(asking)))
        yield LatticeRow(
            by, groups, smallest, tuple(entries), search.appearances[by], search.tested[by]
        )


def _question(asked: Check | MetricRequest) -> Hashable:
    """The question of a check or an entry, without its groups."""
    terms = asked.terms
    options = (terms.parameters, terms.of_class, terms.at, terms.policy)
    return asked.metric, asked.of, asked.against, *options


def _titles(unconditional: Sequence[MetricRequest]) -> list[str]:
    """A unique title for each entry: with its outcome, and how it differs from others."""
    titles = [_title(request) for request in unconditional]
    if len({request.of for request in unconditional}) > 1:
        outcomes = (request.of for request in unconditional)
        titles = [f"{title} of {of}" for title, of in zip(titles, outcomes, strict=True)]
    same: dict[str, list[int]] = {}
    for number, title in enumerate(titles):
        same.setdefault(title, []).append(number)
    for entries in same.values():
        if len(entries) > 1:
            differences: list[list[str]] = [[] for _ in entries]
            for write in _DISTINCTIONS:
                words = [write(unconditional[number]) for number in entries]
                if len({*words}) > 1:
                    for parts, word in zip(differences, words, strict=True):
                        parts.append(word)
            for number, parts in zip(entries, differences, strict=True):
                said = ", ".join(filter(None, parts)) or f"entry {number + 1} of the spec"
                titles[number] += f" ({said})"
    return [
        f"{title}, entry {number + 1}" if titles.count(title) > 1 else title
        for number, title in enumerate(titles)
    ]


_DISTINCTIONS: tuple[Callable[[MetricRequest], str], ...] = (
    lambda request: request.metric.id,
    lambda request: f"by {', '.join(' × '.join(by) for by in request.by)}",
    lambda request: "; ".join(
        dict.fromkeys(
            f"to {describe_group(to.group)}" for to in request.references.values() if to.group
        )
    ),
)
"""The possible differences between two entries with the same title, as text."""


def _title(request: MetricRequest) -> str:
    """The short name of an entry, with its options."""
    # A bare rate is compared by its gap.
    gap = " gap" if isinstance(request.metric, GroupMetric) else ""
    # A label does not select people.
    metric = (
        BASE_RATE if request.metric is SELECTION_RATE and request.of == "label" else request.metric
    )
    words = [f"{metric.short or metric.id}{gap}"]
    if request.terms.of_class is not None:
        words.append(f"of {request.terms.of_class}")
    if isinstance(metric, Disparity) and is_over_classes(metric):
        words.append("over classes")
    if request.terms.at is not None:
        words.append(f"at {request.terms.at}")
    if request.against is not None:
        words.append(f"against {request.against}")
    if isinstance(metric, Disparity) and metric.over_groups is not None:
        words.append(f"{metric.over_groups} over groups")
    policy = request.terms.policy
    if policy is not None:
        words.append(f"to {'reference' if policy is ReferencePolicy.DECLARED else policy}")
    parameters = request.terms.parameters.as_texts()
    return " ".join(words) + "".join(f", {name} {value}" for name, value in parameters.items())


def _worst(title: str, evaluation: Evaluation, *, judged: bool, limited: bool) -> LatticeEntry:
    """The entry of the value that is farthest from the ideal."""
    table, answered = evaluation.table, np.flatnonzero(evaluation.judged[:1].any(axis=0))
    is_aside = table.known & (table.n[:1] > 0) & ~evaluation.takes_part[:1]
    nothing = LatticeEntry(
        metric=evaluation.metric.id,
        title=title,
        of=table.of,
        estimate=Estimate(math.nan),
        first=(),
        second=(),
        parts=(),
        spread=evaluation.spread,
        decided_by=None,
        judged=judged,
        limited=limited,
        departure=math.nan,
        set_aside=int(is_aside.sum()),
    )
    ideal = 0 if isinstance(evaluation.metric, GroupMetric) else evaluation.metric.ideal
    departures = evaluation.value[:1, answered].reshape(-1)
    # Foulds & Pan §3.1: the lower the better, and below 0 the prediction is the fairer.
    if evaluation.metric is not BIAS_AMPLIFICATION:
        # How far from parity each value is: on the log scale for ratios.
        with np.errstate(divide="ignore", invalid="ignore"):
            departures = np.abs(np.log(departures) if ideal == 1 else departures - float(ideal))
    if np.isnan(departures).all():
        w = int(answered[0]) if len(answered) else 0
        why = explain_undefined(evaluation, 0, w) if table.groups else "no group is known"
        return replace(nothing, estimate=Estimate(math.nan, reason=why))
    worst = int(np.nanargmax(departures))
    w = int(answered[worst])
    return replace(
        nothing,
        estimate=write_estimate(evaluation, 0, w, find_intervals(evaluation)),
        first=group_at(table, evaluation.first[0, w]),
        second=group_at(table, evaluation.second[0, w]),
        parts=find_parts(evaluation, 0, w),
        decided_by=evaluation.decided_by(0, w),
        departure=float(departures[worst]),
    )


def epsilons(
    tables: Tables, requests: tuple[MetricRequest, ...], *, whole: bool
) -> Iterator[EpsilonReading]:
    """ε of the full intersection for each entry that asks for it, with its bounds."""
    full = tables.cube.protected
    for request in requests:
        if request.metric is not DIFFERENTIAL_FAIRNESS or request.given != ((),):
            continue
        subsets = tables.cube.subsets() if whole else request.by
        if full not in subsets:
            continue
        terms = MetricOptions(None, request.terms.minimum, request.terms.parameters)
        evaluations = {
            by: tables.evaluate(request.metric, (by, (), request.of), terms) for by in subsets
        }
        values = {
            by: float(evaluation.value[0, 0]) if len(evaluation.table.strata) else math.nan
            for by, evaluation in evaluations.items()
        }
        epsilon = values[full]
        if math.isnan(epsilon):
            continue
        full_table = tables.table(full, (), request.of)
        classes = len(full_table.classes)
        pseudo = request.terms.parameters.per_outcome(classes)
        unbounded = _why_unbounded(evaluations.values(), smoothed=bool(pseudo))
        bounds = not unbounded
        largest = max(values.values())
        if bounds and largest > epsilon + 1e-9:
            raise AssertionError(
                f"ε of a subset ({largest}) exceeds the intersection's ({epsilon})"
            )
        # Values to compare ε with: a scale, not a guarantee (Foulds & Pan §3.3).
        regime = "for scale: a ratio of four fifths is 0.22, randomized response with a fair coin "
        regime += "1.10"
        if math.isinf(epsilon):
            regime = "no bound: some outcome has probability 0 in a group, and not in another"
        ends = find_intervals(evaluations[full]).at(0, 0) or (None, None)
        yield EpsilonReading(
            of=request.of,
            by=full,
            parameters=_describe_smoothing(request.terms.parameters, classes),
            epsilon=epsilon,
            factor=math.exp(epsilon),
            twice=2 * epsilon,
            bounds_subsets=bounds,
            regime=regime,
            low=ends[0],
            high=ends[1],
            unbounded=unbounded,
            unsmoothed=write_unsmoothed(evaluations[full], 0),
        )


def _describe_smoothing(parameters: Parameters, outcomes: int) -> str:
    """The number of pseudo-counts for each outcome, as text."""
    pseudo = parameters.per_outcome(outcomes)
    if not pseudo:
        return "no smoothing"
    if parameters.towards is not None:
        return f"concentration {pseudo * outcomes:g}, spread as the outcomes of all groups"
    return f"smoothing {pseudo:g} for each outcome (concentration {pseudo * outcomes:g})"


def _why_unbounded(subsets: Iterable[Evaluation], *, smoothed: bool) -> str:
    """Why the ε of a subset may exceed twice that of all attributes; empty if it cannot.

    Theorem 3.2 requires that a subset's rate is an average of the rates of its parts. Smoothed
    rates are not such averages, and neither are rates of other people.
    """
    if smoothed:
        return "the rates are smoothed"
    totals = set()
    for evaluation in subsets:
        by_group = evaluation.table.people[0, :, :-1].sum(axis=(0, 1))
        if (~evaluation.takes_part & evaluation.table.known & (by_group > 0)).any():
            return "some groups are not compared"
        if (by_group[~evaluation.table.known] > 0).any():
            return "some levels are not known"
        if not evaluation.takes_part.all():
            return "some groups have no one with a known outcome"
        totals.add(int(by_group.sum()))
    return "" if len(totals) == 1 else "some levels are not known"


def first_appearances(
    subsets: Sequence[Grouping], tables: Tables, requests: Iterable[MetricRequest]
) -> Appearances:
    """The groups where a gap first appears, by the rates that the lattice compares.

    For metrics that are not rates (ε, mutual information) the selection rate is used. The tests of
    one outcome are one family. Rates of the same cells, such as the true positive and the false
    negative rate, are one rate. Entries that condition on strata, subtract outcomes or cut a score
    are not searched.
    """
    by_outcome: dict[str, list[RateInSubsets]] = {}
    for rate, request in _rates(requests):
        by_subset = {by: tables.table(by, (), request.of) for by in subsets}
        terms = replace(request.terms_for(()), reference=None)
        has_positive = all(table.positive is not None for table in by_subset.values())
        if request.terms.of_class or rate is not SELECTION_RATE or has_positive:
            by_outcome.setdefault(request.of, []).append(RateInSubsets(rate, by_subset, terms))
    return find_appearances(by_outcome, subsets)


def _rates(requests: Iterable[MetricRequest]) -> Iterator[tuple[Rate, MetricRequest]]:
    """The rates of each outcome, each once, with the first entry that asks for the rate."""
    seen = set()
    for request in requests:
        if (
            request.given != ((),)
            or request.terms.at is not None
            or request.against is not None
            or request.terms.average
        ):
            continue
        of_class, metric = request.terms.of_class, request.metric
        # For a metric of a whole table, the selection rate.
        parts = [SELECTION_RATE] if isinstance(metric, TableMetric) else list_quantities(metric)
        for rate in parts:
            # Only shares of a group's people.
            if not isinstance(rate, Rate) or not rate.of_group or rate.conditional:
                continue
            key = (request.of, of_class, rate.cells)
            if key not in seen:
                seen.add(key)
                yield rate, request

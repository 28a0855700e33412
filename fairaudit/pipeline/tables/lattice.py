"""Rows of the lattice (the worst values by each subset of attributes), ε, scores, features."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from fairaudit.base.arrays import Floats, Ints
from fairaudit.base.frozen import replace
from fairaudit.base.names import describe_group
from fairaudit.counting.counts import Median
from fairaudit.cube import Grouping
from fairaudit.cube.histogram import Histogram, quantile, rank_error, ranked
from fairaudit.evidence.appearances import Appearances, RateInSubsets, find_appearances
from fairaudit.evidence.records import find_parts, group_at
from fairaudit.evidence.value_intervals import find_intervals
from fairaudit.judge import Check
from fairaudit.metrics import (
    Disparity,
    Evaluation,
    GroupMetric,
    Rate,
    TableMetric,
    build_disparity,
    find_comparison_id,
    is_over_classes,
    list_quantities,
)
from fairaudit.metrics.comparisons import GAP
from fairaudit.metrics.confusion_counts import ScoreCounts
from fairaudit.metrics.differential_fairness import BIAS_AMPLIFICATION, DIFFERENTIAL_FAIRNESS
from fairaudit.metrics.estimate import Estimate
from fairaudit.metrics.evaluation_record import write_unsmoothed
from fairaudit.metrics.formulas import Formula
from fairaudit.metrics.rates import BASE_RATE, SELECTION_RATE
from fairaudit.metrics.reasons import explain_undefined
from fairaudit.metrics.scores import calibration_bins
from fairaudit.metrics.terms import MetricOptions, ReferencePolicy
from fairaudit.pipeline.recode import Cubes
from fairaudit.pipeline.recode.scores import Described, Distribution
from fairaudit.pipeline.tables.audit import Tables, write_estimate
from fairaudit.result.rows import (
    Calibration,
    Curve,
    EpsilonReading,
    FeatureRow,
    LatticeEntry,
    LatticeRow,
    LocalRate,
    LocalRates,
    ScoreRow,
    Threshold,
)
from fairaudit.spec import MetricRequest
from fairaudit.stats import pooling, proportions


def lattice(
    tables: Tables,
    requests: tuple[MetricRequest, ...],
    checks: list[Check],
    *,
    whole: bool,
) -> Iterator[LatticeRow]:
    """A row for each subset of attributes, with the worst value of each metric of the spec.

    If the lattice is not `whole`, it only has rows for the groupings of the spec.
    """
    unconditional = [
        request
        for request in requests
        if request.given == ((),)
        and not (isinstance(request.metric, Formula) and request.metric.compares)
    ]
    titles = _make_titles(unconditional)
    subsets = (
        tables.cube.subsets()
        if whole
        else list(dict.fromkeys(by for request in unconditional for by in request.by))
    )
    compared = unconditional if whole and tables.cube.clusters is None else ()
    search = find_first_appearances(subsets, tables, compared)
    asking_of: dict[Hashable, list[Check]] = {}
    for check in checks:
        if not check.given:
            asking_of.setdefault(_identify(check), []).append(check)
    matching = [asking_of.get(_identify(request), []) for request in unconditional]
    for by in subsets:
        entries = []
        # Count all people, because an outcome such as a stage may apply only to some of them.
        _, people, known = tables.cube.count_people(by)
        groups, smallest = int(known.sum()), int(people[known].min()) if known.any() else 0
        for title, request, asking in zip(titles, unconditional, matching, strict=True):
            if not whole and by not in request.by:
                continue
            judged = any(check.by == by for check in asking)
            metric = request.metric
            if isinstance(metric, GroupMetric):
                metric = build_disparity(metric, GAP)
            spread = replace(request, metric=metric)
            evaluation = tables.evaluate_request(spread, by, ())
            if evaluation is not None:
                entries.append(_find_worst(title, evaluation, judged=judged, limited=bool(asking)))
        yield LatticeRow(
            by, groups, smallest, tuple(entries), search.appearances[by], search.tested[by]
        )


def _identify(asked: Check | MetricRequest) -> Hashable:
    """A key of the metric, outcome and options of a check or an entry, without its groups."""
    terms = asked.terms
    options = (terms.parameters, terms.of_class, terms.at, terms.policy)
    return asked.metric, asked.of, asked.against, *options


def _make_titles(unconditional: Sequence[MetricRequest]) -> list[str]:
    """A unique title for each entry; titles show outcomes and differences if this is needed."""
    titles = [_make_title(request) for request in unconditional]
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
                difference = ", ".join(filter(None, parts)) or f"entry {number + 1} of the spec"
                titles[number] += f" ({difference})"
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
"""Functions that describe an entry, to distinguish entries with the same title."""


def _make_title(request: MetricRequest) -> str:
    """The short name of an entry, with its options."""
    # If an entry is a rate without a comparison, the lattice shows its gap.
    gap = " gap" if isinstance(request.metric, GroupMetric) else ""
    # The selection rate of a label has another name, because a label does not select people.
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


def _find_worst(title: str, evaluation: Evaluation, *, judged: bool, limited: bool) -> LatticeEntry:
    """The lattice entry with the value that is farthest from the ideal."""
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
        compare=find_comparison_id(evaluation.metric),
    )
    ideal = 0 if isinstance(evaluation.metric, GroupMetric) else evaluation.metric.ideal
    departures = evaluation.value[:1, answered].reshape(-1)
    # Bias amplification has no ideal: lower is always fairer (Foulds & Pan §3.1).
    if evaluation.metric is not BIAS_AMPLIFICATION:
        # The distance of each value from parity, for ratios on the log scale.
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
    """ε of the full intersection for each entry of differential fairness, with its interval."""
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
        unbounded = _explain_unbounded(evaluations.values(), smoothed=bool(pseudo))
        parameters, smoothing = request.terms.parameters, "no smoothing"
        if pseudo and parameters.towards is not None:
            smoothing = f"smoothing: {pseudo * classes:g} is added to the counts of each group, "
            smoothing += "in the proportions of the outcomes of all groups together"
        elif pseudo:
            smoothing = f"smoothing: {pseudo:g} is added to the count of each outcome, "
            smoothing += f"{pseudo * classes:g} in total"
        largest = max(values.values())
        if not unbounded and largest > epsilon + 1e-9:
            raise AssertionError(
                f"ε of a subset ({largest}) exceeds the intersection's ({epsilon})"
            )
        # Values to compare ε with: a scale, not a guarantee (Foulds & Pan §3.3).
        regime = (
            "for comparison: a ratio of four fifths gives ε = 0.22, a ratio of a third ε = 1.10"
        )
        if math.isinf(epsilon):
            regime = "an infinite ε bounds nothing: an outcome has probability 0 in one group, but "
            regime += "not in another"
        ends = find_intervals(evaluations[full]).at(0, 0) or (None, None)
        yield EpsilonReading(
            of=request.of,
            by=full,
            parameters=smoothing,
            epsilon=epsilon,
            factor=math.exp(epsilon),
            twice=2 * epsilon,
            bounds_subsets=not unbounded,
            regime=regime,
            low=ends[0],
            high=ends[1],
            unbounded=unbounded,
            unsmoothed=write_unsmoothed(evaluations[full], 0),
        )


def _explain_unbounded(subsets: Iterable[Evaluation], *, smoothed: bool) -> str:
    """Why the ε of a subset may exceed the ε of all attributes; empty if this is impossible.

    Theorem 3.2 of Foulds & Pan requires that the rate of a group by fewer attributes is an average
    of the rates of the groups in it by all attributes. This is not true for smoothed rates, or for
    rates of different people.
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


def find_first_appearances(
    subsets: Sequence[Grouping], tables: Tables, requests: Iterable[MetricRequest]
) -> Appearances:
    """The groups where a gap first appears, for the rates that the lattice compares.

    For metrics of a whole table (ε, mutual information), the rate is the selection rate. The tests
    of one outcome are one family. Rates of the same counts, such as the true positive rate and the
    false negative rate, are searched once. Entries with strata, with two outcomes or with a
    threshold of a score are not searched.
    """
    by_outcome: dict[str, list[RateInSubsets]] = {}
    seen = set()
    for request in requests:
        terms, metric = request.terms, request.metric
        if request.given != ((),) or terms.at is not None or request.against or terms.average:
            continue
        parts = [SELECTION_RATE] if isinstance(metric, TableMetric) else list_quantities(metric)
        for rate in parts:
            # Only rates that are shares of the people of a group can be tested.
            if not isinstance(rate, Rate) or not rate.of_group or rate.conditional:
                continue
            key = (request.of, terms.of_class, rate.cells)
            if key in seen:
                continue
            seen.add(key)
            by_subset = {by: tables.table(by, (), request.of) for by in subsets}
            has_positive = all(table.positive is not None for table in by_subset.values())
            if terms.of_class or rate is not SELECTION_RATE or has_positive:
                own = replace(request.terms_for(()), reference=None)
                found = RateInSubsets(rate, by_subset, own)
                by_outcome.setdefault(request.of, []).append(found)
    return find_appearances(by_outcome, subsets)


_HALF = Fraction(1, 2)
_PLACES = 41
_TAIL = 0.01
"""The share of people that a local curve leaves out at each end, where there are few people."""


def scores(
    column: str, histograms: Iterable[Histogram], medians: Mapping[str, Median]
) -> Iterator[ScoreRow]:
    """Summaries of a score: a row for all people, and for each group of each attribute.

    The median of all people is exact if it is in `medians` for the same number of people.
    """
    exact = medians.get(column)
    for histogram in histograms:
        negative, positive = (histogram.people[:1, label].swapaxes(1, 2) for label in (0, 1))
        with np.errstate(invalid="ignore"):
            areas = ranked(positive, negative)
            errors = rank_error(positive, negative, histogram.bins.single)
        for g, group in enumerate(histogram.groups):
            n = int(histogram.people[0, :, g].sum())
            if not n:
                continue
            has_pairs = not np.isnan(areas[0, g])
            numbers = _describe(histogram, g)
            if not histogram.by and exact is not None and exact.people == n:
                numbers["median"] = exact.value, exact.value
            yield ScoreRow(
                column=column,
                by=histogram.by,
                group=group,
                known=bool(histogram.known[g]),
                n=n,
                **numbers,
                auc=float(areas[0, g]) if has_pairs else None,
                auc_error=float(errors[0, g]) if has_pairs else None,
            )


_THRESHOLDS = 20
"""The number of thresholds of a curve, at equal shares of people: enough for a picture."""


def curves(column: str, histograms: Iterable[Histogram], alpha: float) -> Iterator[Curve]:
    """The curves of a score for all people, and for each group (by one attribute) with labels."""
    thresholds: Ints | None = None
    for histogram in histograms:
        scores = ScoreCounts(
            histogram.people, histogram.bins.low, histogram.bins.high, histogram.everybody
        )
        number = calibration_bins(scores)
        if thresholds is None:
            # Thresholds are the bins at which each twentieth of all people begins, in order.
            everybody = histogram.everybody
            reached = np.cumsum(everybody) - everybody
            steps = reached * _THRESHOLDS // max(int(everybody.sum()), 1)
            _, first = np.unique(np.where(everybody > 0, steps, -1), return_index=True)
            thresholds = np.asarray(first[everybody[first] > 0])
        for g, group in enumerate(histogram.groups):
            by_label = histogram.people[0, :, g]
            if not by_label[:2].any():
                continue
            # Compute the share of people at or above each threshold, of all people and by label.
            totals, rates = by_label.sum(axis=1).tolist(), []
            for threshold in thresholds.tolist():
                above = by_label[:, threshold:].sum(axis=1).tolist()
                negative, positive = (
                    above[side] / totals[side] if totals[side] else None for side in (0, 1)
                )
                rates.append(
                    Threshold(
                        at=float(scores.low[threshold]),
                        selected=sum(above) / sum(totals),
                        true_positive_rate=positive,
                        false_positive_rate=negative,
                    )
                )
            yield Curve(
                column=column,
                by=histogram.by,
                group=group,
                known=bool(histogram.known[g]),
                calibration=tuple(_calibrate(scores, number, by_label, alpha)),
                thresholds=tuple(rates),
            )


def _calibrate(
    scores: ScoreCounts, number: Ints, by_label: Ints, alpha: float
) -> Iterator[Calibration]:
    """A point of a calibration curve for each bin in [0, 1] that has people with a known label."""
    negative, positive = by_label[0], by_label[1]
    middle: Floats = (scores.low + scores.high) / 2
    for bin_number in np.unique(number[number >= 0]).tolist():
        inside = number == bin_number
        people = (positive + negative)[inside]
        n, hits = int(people.sum()), int(positive[inside].sum())
        if n:
            low, high = proportions.share_interval(np.array(hits / n), np.array(float(n)), alpha)
            yield Calibration(
                lowest=float(scores.low[inside][people > 0].min()),
                highest=float(scores.high[inside][people > 0].max()),
                n=n,
                mean_score=float((people * middle[inside]).sum() / n),
                share=hits / n,
                low=float(low),
                high=float(high),
            )


def local_rates(cubes: Cubes, alpha: float) -> Iterator[LocalRates]:
    """Curves of the rate of an outcome along a numeric attribute, if a metric uses its slope."""
    for counted in cubes.attributes:
        at, hits, people = counted.at, counted.hits, counted.people
        width = pooling.bandwidth(at, people)
        if not np.isfinite(width):
            continue
        reached = np.cumsum(people) / people.sum()
        first, last = at[np.searchsorted(reached, [_TAIL, 1 - _TAIL])].tolist()
        places = np.linspace(first, last, _PLACES)
        found = pooling.smooth(places, at, hits, people, width, alpha)
        points = zip(places.tolist(), *(part.tolist() for part in found), strict=True)
        yield LocalRates(
            attribute=counted.attribute,
            of=counted.of,
            bandwidth=width,
            points=tuple(LocalRate(*point) for point in points if np.isfinite(point[1])),
        )


def features(cubes: Cubes) -> Iterator[FeatureRow]:
    """Rows for each feature: a row for all people, and for each group by each attribute."""
    listed: set[str] = set()
    for described in cubes.described:
        score = cubes.scores.get(described.column)
        if described.column not in listed:
            listed.add(described.column)
            everybody = replace(
                described,
                by=(),
                groups=((),),
                known=np.ones(1, np.bool_),
                missing=described.missing.sum(keepdims=True),
                people=described.people.sum(axis=1, keepdims=True),
            )
            yield from _describe_feature(everybody, score)
        yield from _describe_feature(described, score)


def _describe_feature(described: Described, score: Distribution | None) -> Iterator[FeatureRow]:
    histogram = None
    if score is not None:
        histogram = score.histogram(described.by, (), described.groups, ((),))
    for g, group in enumerate(described.groups):
        people, missing = described.people[:, g], int(described.missing[g])
        n = int(people.sum())
        if not n + missing:
            continue
        row = FeatureRow(
            feature=described.column,
            by=described.by,
            group=group,
            known=bool(described.known[g]),
            n=n,
            missing=missing,
        )
        if histogram is not None:
            has_numbers = histogram.people[0, :, g].any()
            yield replace(row, **_describe(histogram, g)) if has_numbers else row
        elif not n:
            yield replace(row, levels=0)
        else:
            shares = people[people > 0] / n
            yield replace(
                row,
                levels=len(shares),
                commonest=described.levels[int(people.argmax())],
                entropy=0.0 - float((shares * np.log2(shares)).sum()),
            )


def _describe(histogram: Histogram, g: int) -> dict[str, Any]:
    """The summary numbers of a group in a histogram; the median is a pair of bounds."""
    moments = histogram.moments[0][g] if histogram.moments else None
    mean = None if moments is None else moments.mean
    people = histogram.people[0, :, g].sum(axis=0)
    return {
        "mean": None if mean is None else float(mean),
        "deviation": None if moments is None else moments.deviation,
        "lowest": float(histogram.low[0, g]),
        "highest": float(histogram.high[0, g]),
        "median": quantile(people, histogram.bins, _HALF),
    }

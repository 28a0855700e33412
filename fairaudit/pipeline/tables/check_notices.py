"""Notices on checks: limits that exclude each other, small groups, averages, changes of ε."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from fairaudit.base.disclosure_marks import Notice, NoticeRate, Subjects
from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.names import describe_group, listing, name, percent, quoted
from fairaudit.cube import Floats, Grouping, GroupTable, Marks
from fairaudit.cube.histogram import Bins
from fairaudit.judge import AnyCheck, Check, Finding, Limit, Status
from fairaudit.judge.entries import UNSEARCHED, mark_underweighted
from fairaudit.metrics import (
    Disparity,
    GroupMetric,
    GroupValues,
    Rate,
    TableMetric,
    list_quantities,
)
from fairaudit.metrics.confusion_counts import count_groups
from fairaudit.metrics.criteria import KL_DIVERGENCE
from fairaudit.metrics.differential_fairness import BIAS_AMPLIFICATION
from fairaudit.metrics.evaluate import evaluate
from fairaudit.metrics.pair_intervals import Scale
from fairaudit.metrics.rates import (
    BASE_RATE,
    FALSE_DISCOVERY_RATE,
    FALSE_NEGATIVE_RATE,
    FALSE_OMISSION_RATE,
    FALSE_POSITIVE_RATE,
    NEGATIVE_PREDICTIVE_VALUE,
    POSITIVE_PREDICTIVE_VALUE,
    SELECTION_RATE,
    TRUE_NEGATIVE_RATE,
    TRUE_POSITIVE_RATE,
)
from fairaudit.metrics.reasons import describe_people
from fairaudit.metrics.scores import AUC
from fairaudit.metrics.terms import EXTREME_REFERENCES, MIDDLE, NO_GROUP, NO_MINIMUM
from fairaudit.pipeline.tables.audit import Tables, evaluate_check, list_places
from fairaudit.result.rows import LatticeEntry, LatticeRow
from fairaudit.spec import RESERVED, MetricRequest
from fairaudit.stats import distributions
from fairaudit.stats.strata import breslow_day

_ONE_POINT = 0.01
_SAME_SIZE = 1e-9
_MOST_TURNED = 3
_MOST_NAMED = 5
_FEW_IN_STRATUM = 10
_FAR = 10
"""Strata determine an outcome if this many times fewer people are unusual in their stratum."""

_RATES = {
    "PPV": (POSITIVE_PREDICTIVE_VALUE, FALSE_DISCOVERY_RATE),
    "NPV": (NEGATIVE_PREDICTIVE_VALUE, FALSE_OMISSION_RATE),
    "FPR": (FALSE_POSITIVE_RATE, TRUE_NEGATIVE_RATE),
    "TPR": (TRUE_POSITIVE_RATE, FALSE_NEGATIVE_RATE),
    "selection rate": (SELECTION_RATE,),
}
"""The rates that depend on each other by the base rate, each with its complement."""
_TIED = {rate.id: tied for tied, rates in _RATES.items() for rate in rates}

_MEANS = {"calibration_in_the_large": 1, "mean_residual": 1, "outcome_mean": 0, "mean_score": 0}
_MEANS |= {"mean_score_positives": 0, "mean_score_negatives": 0}
"""Means of scores (0), and means of differences from scores (1)."""


class _Impossibility(Frozen):
    """Three rates that cannot all be equal in groups with different base rates.

    `find` computes the last rate from the base rate and the other two; NaN if no such rate exists.
    """

    criteria: str
    rates: tuple[str, str, str]
    find: Callable[[float, float, float], float]


_IMPOSSIBILITIES = (
    # Chouldechova 2017; Kleinberg et al. 2017.
    _Impossibility(
        "sufficiency and separation",
        ("PPV", "TPR", "FPR"),
        lambda base, ppv, tpr: base / (1 - base) * (1 - ppv) / ppv * tpr,
    ),
    # Barocas, Hardt & Narayanan, Fairness and Machine Learning, ch. 3.
    _Impossibility(
        "independence and separation",
        ("TPR", "FPR", "selection rate"),
        lambda base, tpr, fpr: tpr * base + fpr * (1 - base),
    ),
    _Impossibility(
        "independence and sufficiency",
        ("PPV", "NPV", "selection rate"),
        lambda base, ppv, npv: (base - 1 + npv) / (ppv - 1 + npv),
    ),
)


def notice_unsearched(findings: Iterable[Finding]) -> Iterator[Notice]:
    """Notices on checks that pass although opposite gaps in their strata could not be found."""
    passed = [finding for finding in findings if finding.status is Status.PASS]
    told = {
        (item.reason, row.check.metric_id): None for row in passed for item in row.not_evaluated
    }
    for reason in dict.fromkeys(reason for reason, _ in told if reason.startswith(UNSEARCHED)):
        metrics = [metric for other, metric in told if other == reason]
        yield Notice(f"{listing(metrics)}: {reason}", Subjects.ANYBODY)


def notice_impossible_gates(checks: Iterable[AnyCheck], tables: Tables) -> Iterator[Notice]:
    """Notices on checks that cannot all pass if base rates differ, for each pair of criteria."""
    gates: dict[tuple[str, Grouping], list[Check]] = {}
    for check in checks:
        if isinstance(check, Check) and _tied(check):
            gates.setdefault((check.of, check.by), []).append(check)
    for (of, by), gated_checks in gates.items():
        tied = set().union(*map(_tied, gated_checks))
        for impossible in _IMPOSSIBILITIES:
            if tied.issuperset(impossible.rates):
                concerned = [check for check in gated_checks if _tied(check) & {*impossible.rates}]
                yield from _notice_impossible(impossible, concerned, tables.table(by, (), of))


def _tied(check: Check) -> set[str]:
    """The rates of `_RATES` that a check requires to be equal; empty for a check of one rate."""
    plain = not (check.given or check.against or check.terms.of_class or check.terms.at)
    if check.fail is None or not plain or not isinstance(check.metric, Disparity):
        return set()
    quantities = list_quantities(check.metric)
    return {_TIED[quantity.id] for quantity in quantities if quantity.id in _TIED}


def _notice_impossible(
    impossible: _Impossibility, checks: list[Check], table: GroupTable
) -> Iterator[Notice]:
    sizes = [check.terms.minimum.size for check in checks]
    smallest = 1 if None in sizes else min(size for size in sizes if size is not None)
    counts = count_groups(table).weighted
    tp, fp, fn, tn = (
        larger[:1].sum(axis=0) for larger in (counts.tp, counts.fp, counts.fn, counts.tn)
    )
    n = table.n[:1].sum(axis=0)
    takes_part = np.flatnonzero(table.eligible & (n >= smallest) & (tp + fn > 0) & (fp + tn > 0))
    if not len(takes_part):
        return
    with np.errstate(divide="ignore", invalid="ignore"):
        base = (tp + fn) / (tp + fp + fn + tn)
        rates = {
            "PPV": tp / (tp + fp),
            "NPV": tn / (tn + fn),
            "TPR": tp / (tp + fn),
            "FPR": fp / (fp + tn),
            "selection rate": (tp + fp) / (tp + fp + fn + tn),
        }
    low, high = (takes_part[find(base[takes_part])] for find in (np.argmin, np.argmax))
    if base[high] - base[low] <= _ONE_POINT:
        return
    larger, smaller = (low, high) if n[low] > n[high] else (high, low)
    first, second, last = impossible.rates
    given = [rates[name][larger] for name in (first, second)]
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = impossible.find(base[smaller], *given)
    if math.isnan(needed) or abs(needed - rates[last][larger]) < _SAME_SIZE:
        # The rates can be equal for a perfect, an always wrong, or an uninformative classifier.
        return
    names = {g: describe_group(table.groups[int(g)]) for g in (larger, smaller)}
    would = f"be {percent(needed)}" if 0 <= needed <= 1 else "pass 100 %, which no rate can"
    if needed < 0:
        would = "lie below 0, which no rate can"
    # The two groups are chosen among all groups.
    yield Notice(
        f"{', '.join(check.id for check in checks)}: {first}, {second} and {last} cannot all be "
        f"equal while base rates differ ({impossible.criteria}; {names[larger]} "
        f"{percent(base[larger])}, {names[smaller]} {percent(base[smaller])}), so these checks "
        f"hold together only as far as their limits leave room: with the {first} "
        f"({percent(given[0])}) and the {second} ({percent(given[1])}) of {names[larger]}, "
        f"the {last} of {names[smaller]} would {would}, where that of "
        f"{names[larger]} is {percent(rates[last][larger])}",
        Subjects.ROW,
        (
            NoticeRate(rate.id, table.of, table.by)
            for rate in (*(_RATES[name][0] for name in impossible.rates), BASE_RATE)
        ),
    )


def notice_limits_out_of_reach(
    checks: Iterable[AnyCheck], tables: Tables, bins_of: Mapping[str, Bins]
) -> Iterator[Notice]:
    """Notices on limits that no value can cross with the groups or the scores of the data.

    The sizes of groups limit an entropy. The spec itself refuses limits that no data can cross.
    Scores may have any value from 0 to 1.
    """
    for check in (check for check in checks if isinstance(check, Check)):
        metric, bins = check.metric, bins_of.get(check.of)
        part = metric.parts[0][0] if isinstance(metric, Disparity) else metric
        is_plain = metric.bounds[1] is None and not (check.given or check.against)
        if isinstance(metric, TableMetric) and metric.information and is_plain:
            assert metric.independence is not None
            table = tables.table(check.by, (), check.of)
            with np.errstate(all="ignore"):  # undefined is NaN
                people = metric.independence(table, check.terms)[0].sum(axis=(0, 1))
            share = people[people > 0] / max(np.nansum(people), 1e-300)
            low, high, why = 0.0, -float(np.sum(share * np.log2(share))), "with these groups"
        elif bins is not None and part.id in _MEANS:
            if isinstance(metric, Disparity) and (
                metric.fitted or metric.over_groups or metric.comparison.scale != Scale.DIFFERENCE
            ):
                continue
            low, high = float(bins.low.min(initial=0)), float(bins.high.max(initial=1))
            why = f"with scores from {low:g} to {high:g}"
            # A residual is a difference, too.
            if times := _MEANS[part.id] + isinstance(metric, Disparity) + bool(check.against):
                low, high = times * (low - high), times * (high - low)
        else:
            continue
        for limit in filter(None, (check.warn, check.fail)):
            is_above = limit.above is None or limit.above >= high
            if is_above and (limit.below is None or limit.below <= low):
                what = f"{check.id}: the limit ({limit}) can never be crossed: {why}, all values "
                yield Notice(f"{what}are from {low:.4g} to {high:.4g}", Subjects.NEVER)


def notice_other_side(checks: Iterable[AnyCheck], tables: Tables) -> Iterator[Notice]:
    """Notices on changes of an outcome that exceed the limit in the opposite direction."""
    for check in checks:
        limit = check.fail or check.warn
        if not isinstance(check, Check) or check.against is None or not isinstance(limit, Limit):
            continue
        (bound, *others), evaluation = limit.bounds, evaluate_check(check, tables)
        values = evaluation.value[evaluation.judged & ~np.isnan(evaluation.value)]
        farthest = values.min(initial=0) if limit.above is not None else values.max(initial=0)
        if not others and abs(farthest) > abs(float(bound)) and farthest * float(bound) <= 0:
            yield Notice(
                f"{check.id}: {quoted(check.of)} minus {quoted(check.against)} is {farthest:.3f}, "
                "on the side that the limit does not look at; are `of` and `against` swapped?",
                Subjects.ANYBODY,
            )


def notice_misread_values(checks: Iterable[AnyCheck], tables: Tables) -> Iterator[Notice]:
    """Notices on reversed scores, and on burdens that a ratio of the people without them hides."""
    for check in (check for check in checks if isinstance(check, Check) and not check.against):
        is_burden = check.burden and not check.given and getattr(check.metric, "four_fifths", False)
        limit, leaf = check.fail or check.warn, evaluate_check(check, tables).leaves[0]
        values, among = leaf.group_values, leaf.takes_part
        if values is None or values.ends is None or not (is_burden or values.metric is AUC):
            continue
        with np.errstate(all="ignore"):  # a group may have no people
            low, high = (end[among] for end in values.ends(check.inference.alpha))
        if values.metric is AUC and len(high) and (high < 1 - high).all():
            text = "in all groups the area under the curve is below 0.5: reverse the score, if low "
            yield Notice(f"{check.id}: {text}scores stand for the positive label", Subjects.ANYBODY)
        elif is_burden and limit and limit.below and len(high) and high.min() < low.max():
            # 0.94 and 0.99 without the burden have the ratio 0.95, but 0.06 is six times 0.01.
            least, most = values.value[among].min(), values.value[among].max()
            if (1 - most) / (1 - least) < limit.below <= least / most:
                one, other = percent(1 - least), percent(1 - most)
                text = f"{one} of a group and {other} of another have the burden, which a ratio of "
                text += "the others hides: limit `demographic_parity_ratio` as well"
                yield Notice(f"{check.id}: {text}", Subjects.ANYBODY)


def notice_changes_without_direction(
    checks: Iterable[AnyCheck], tables: Tables
) -> Iterator[Notice]:
    """Notices on changes of metrics that do not show which group has the higher rate."""
    for check in checks:
        if not isinstance(check, Check) or check.against is None:
            continue
        whole = evaluate_check(check, tables).parts[0].table_value
        is_distance = check.metric is KL_DIVERGENCE or (
            whole is not None and not whole.apart and bool((whole.highest_group < 0).all())
        )
        if is_distance:
            yield Notice(
                f"{check.id}: {check.metric.id} has no direction, so it does not show whether "
                f"groups trade places from {check.against} to {check.of}; a limit on "
                "`demographic_parity_difference` does",
                Subjects.NOBODY,
            )


def notice_turned_gaps(rows: Iterable[LatticeRow]) -> Iterator[Notice]:
    """Notices on subsets of attributes in which prediction and label favour different groups."""
    turned = list[tuple[LatticeRow, LatticeEntry]]()
    for row in rows:
        for entry in row.entries:
            if entry.metric != BIAS_AMPLIFICATION.id or len(entry.parts) != 2:
                continue
            # Both parts have the same two groups in opposite order, and the same outcome.
            (higher, lower), others = (
                (part.first and part.first.group, part.second and part.second.group)
                for part in entry.parts
            )
            is_same_outcome = entry.parts[0].outcome == entry.parts[1].outcome
            if higher and lower and is_same_outcome and (lower, higher) == others:
                turned.append((row, entry))
    for row, entry in turned[:_MOST_TURNED]:
        predicted, labelled = entry.parts
        sides = []
        for part in (labelled, predicted):
            assert part.first is not None
            assert part.second is not None
            first, second = (describe_group(side.group) for side in (part.first, part.second))
            sides.append(f"{first} has {quoted(str(part.outcome))} more often than {second}")
        change = entry.estimate.value
        # Foulds & Pan §3.1: Δε compares sizes of gaps, which do not show who is worse off.
        is_complete = abs(change) < _SAME_SIZE
        whole = ": a complete reversal of equal size, which Δε = 0 does not show"
        factor = f" (by size the factor e^Δε is {math.exp(change):.3g})"
        yield Notice(
            f"{entry.title} by {' × '.join(row.by)} is {entry.estimate.value:.4f}, but the gap "
            f"changed its sign: by the label {sides[0]}, by the {predicted.metric} {sides[1]}"
            f"{whole if is_complete else factor if math.isfinite(change) else ''}",
            Subjects.ANYBODY,
        )
    if (more := len(turned) - _MOST_TURNED) > 0:
        what = f"Δε: in {more:,} more combinations of columns the largest gap changed its sign, too"
        yield Notice(what, Subjects.ANYBODY)


_MOST_OF_GROUP = 0.5
_LITTLE = 0.1
"""An average dilutes a stratum if its weight is less than this part of its share of the people."""


def notice_lone_strata(tables: Tables, requests: tuple[MetricRequest, ...]) -> Iterator[Notice]:
    """Notices on strata that an average leaves out, since they lack weight or people of a side."""
    told: set[str] = set()
    for request, by, given in list_places(requests):
        evaluation = tables.evaluate_request(request, by, given)
        leaf = None if evaluation is None else evaluation.leaves[0]
        if leaf is None or leaf.averaged is None or leaf.strata is None:
            continue
        table, judged = leaf.strata, leaf.judged[0]
        n = np.where(table.known & table.known_strata[:, None], table.n, 0)
        everybody, others = n.sum(axis=1, keepdims=True), np.maximum(leaf.second[0], 0)
        is_alone = isinstance(request.metric, GroupMetric)
        both = n if is_alone else np.where(leaf.second == NO_GROUP, everybody, n + n[:, others])
        no_weight = mark_underweighted(leaf, table)[:, None]
        lone = np.where(leaf.averaged.support & ~no_weight, 0, both)
        if leaf.spread:
            is_left_out = (leaf.averaged.left_out[:, :1] > 0) | no_weight
            both, lone = everybody, np.where(is_left_out, everybody, 0)
        g = int(np.where(judged, lone.sum(axis=0), 0).argmax())
        people = int(lone[:, g].sum())
        if not people or not judged[g]:
            continue
        strata = [describe_group(table.strata[z]) for z in np.flatnonzero(lone[:, g]).tolist()]
        whose = "all groups" if leaf.spread else describe_group(table.groups[g])
        if not leaf.spread and leaf.second[0, g] != NO_GROUP:
            whose += f" and {describe_group(table.groups[int(leaf.second[0, g])])}"
        is_lone, has_both = lone[:, g] > 0, leaf.averaged.support.any(axis=1)
        sides = {"one side lacks": ~has_both, "have almost no weight": has_both}
        why = " or that ".join(side for side, marks in sides.items() if (is_lone & marks).any())
        text = (
            f"averages over {' × '.join(given)} leave out strata that {why}: of "
            f"{describe_people(int(both[:, g].sum()))} of {whose}, {people:,} are in "
            f"{_list_some(strata)}"
        )
        if text in told:
            continue
        told.add(text)
        if isinstance(request.metric, Disparity) and MIDDLE in request.metric.averages:
            text += (
                "; so the unexplained and the explained difference do not add up to the "
                "difference of all people, only to that of the others"
            )
        yield Notice(text, Subjects.ANYBODY)


def notice_diluted_strata(tables: Tables, requests: tuple[MetricRequest, ...]) -> Iterator[Notice]:
    """Notices on strata with most people of a group, to which an average gives little weight."""
    told: set[str] = set()
    for request, by, given in list_places(requests):
        evaluation = tables.evaluate_request(request, by, given)
        leaf = None if evaluation is None else evaluation.leaves[0]
        if leaf is None or leaf.averaged is None or leaf.strata is None:
            continue
        values = leaf.group_values
        n = leaf.strata.n if values is None or values.strata is None else values.strata.n
        n, weights = np.where(leaf.averaged.support, n, 0), leaf.averaged.first_weights
        people = n / np.maximum(n.sum(axis=0), 1)
        weights = weights / np.where(weights.sum(axis=0) > 0, weights.sum(axis=0), 1)
        is_diluted = leaf.judged[0] & (people >= _MOST_OF_GROUP) & (weights < people * _LITTLE)
        for z, g in np.argwhere(is_diluted).tolist():
            average = f"averages over {' × '.join(given)} ({leaf.terms.average})"
            text = (
                f"{100 * people[z, g]:.0f} % of {describe_group(leaf.strata.groups[g])} are in "
                f"{describe_group(leaf.strata.strata[z])}, which has only "
                f"{100 * weights[z, g]:.1f} % of the weight in {average}: compare this stratum by "
                "`given` without `average`"
            )
            if text not in told:
                told.add(text)
                yield Notice(text, Subjects.ANYBODY)


def notice_unequal_odds_ratios(checks: Iterable[AnyCheck], tables: Tables) -> Iterator[Notice]:
    """Notices on strata whose odds ratio is over the limit, although the common ratio is not.

    These strata have half of the people of a group or more, and Breslow and Day's test is
    significant, corrected for the number of groups.
    """
    for check in checks:
        if not isinstance(check, Check) or not check.weighs_strata:
            continue
        limit = check.fail or check.warn
        if limit is None:
            continue
        leaf = evaluate_check(check, tables).leaves[0]
        if leaf.strata is None or leaf.averaged is None or leaf.spread:
            continue
        assert isinstance(leaf.metric, Disparity)
        terms = replace(leaf.terms, average=None, at=None)
        within = evaluate(replace(leaf.metric, averages=()), leaf.strata, terms)
        for g in np.flatnonzero(leaf.judged[0] & ~(limit.find_excess(leaf.value[0]) > 0)).tolist():
            second = int(leaf.second[0, g])
            own, other = within.group_values, within.reference_values
            sides = [(own, g), (other, g) if second == NO_GROUP else (own, second)]
            counts = list[Floats]()
            for side, at in sides:
                assert side is not None
                n = np.nan_to_num(side.effective_n[:, at])
                counts += [np.nan_to_num(side.value[:, at]) * n, n]
            p = float(breslow_day(*counts)[-1]) * int(leaf.judged[0].sum())
            a, n, c, m = counts
            with np.errstate(all="ignore"):
                odds = a * (m - c) / ((n - a) * c)
                is_beyond = leaf.averaged.support[:, g] & (limit.find_excess(odds) > 0)
            people = leaf.strata.n[:, g]
            share = people[is_beyond].sum() / max(int(people.sum()), 1)
            if p < check.inference.alpha and share >= _MOST_OF_GROUP:
                z = int(np.where(is_beyond, people, -1).argmax())
                yield Notice(
                    f"{check.id}: {100 * share:.0f} % of {describe_group(leaf.strata.groups[g])} "
                    "are in strata over the limit, such as "
                    f"{describe_group(leaf.strata.strata[z])} (odds ratio {odds[z]:.3g}), and the "
                    "odds ratios differ (Breslow–Day): judge the strata by `given`, with "
                    "`compare: odds_ratio` of selection_rate",
                    Subjects.ANYBODY,
                )


def notice_deciding_strata(tables: Tables, requests: tuple[MetricRequest, ...]) -> Iterator[Notice]:
    """Notices on strata that almost determine an outcome, such as strata by a copy of the outcome.

    Almost all people of a stratum have the same outcome, so gaps within strata disappear. Strata of
    few people are ignored.
    """
    told: set[tuple[Grouping, str]] = set()
    for request, by, given in list_places(requests):
        if not given or (given, request.of) in told:
            continue
        told.add((given, request.of))
        table = tables.table(by, given, request.of)
        people = table.people[table.known_strata].sum(axis=(1, 3))[:, :-1]
        people = people[people.sum(axis=1) >= _FEW_IN_STRATUM]
        everybody = max(int(people.sum()), 1)
        unusual = everybody - int(people.sum(axis=0).max(initial=0))
        within = everybody - int(people.max(axis=1, initial=0).sum())
        if unusual >= _FEW_IN_STRATUM and 0 < _FAR * within <= unusual:
            yield Notice(
                f"{' × '.join(given)} almost determines the {request.of}: "
                f"{percent(1 - within / everybody)} of the people have the most common one of "
                "their stratum, so gaps within strata say little; compare without these strata as "
                "well",
                Subjects.ANYBODY,
            )


def _list_some(texts: Sequence[str]) -> str:
    """The first texts, and the number of all other texts."""
    more = f" and {len(texts) - _MOST_NAMED:,} more" if len(texts) > _MOST_NAMED else ""
    return f"{', '.join(texts[:_MOST_NAMED])}{more}"


def notice_few_people(checks: Iterable[AnyCheck], tables: Tables) -> Iterator[Notice]:
    """Notices on groups that are so small that a gap as wide as the limit is not significant.

    Such a group may have the highest or lowest rate by chance. There is a notice for each grouping
    and outcome, if a check over all groups sets no minimum size.
    """
    places: set[tuple[Grouping, str]] = set()
    for check in checks:
        if not isinstance(check, Check) or (check.by, check.of) in places:
            continue
        # The check must judge the largest gap of a rate over all groups, or to an extreme group.
        metric, rate = check.metric, None
        if isinstance(metric, TableMetric):
            rate = SELECTION_RATE if metric.of_log_ratios and metric.cells else None
        elif isinstance(metric, Disparity) and metric.over_groups is None:
            policy = metric.reference or check.terms.policy
            over_all = not metric.to_reference or policy in EXTREME_REFERENCES
            quantity = list_quantities(metric)[0]
            if over_all and isinstance(quantity, Rate) and quantity.of_group:
                rate = quantity
        limit = check.fail or check.warn
        if rate is None or limit is None or check.terms.minimum != NO_MINIMUM or check.given:
            continue
        table = tables.table(check.by, (), check.of)
        reading = rate.compute(count_groups(table))
        few = _few_people(reading, table.eligible, check, limit, favourable=table.favourable)
        if few:
            places.add((check.by, check.of))
            smallest = [
                f"{describe_group(table.groups[g])} ({describe_people(int(reading.n[0, g]))})"
                for g in few
            ]
            of = "" if check.of in RESERVED else f", of {name(check.of)}"
            yield Notice(
                f"by {' × '.join(map(name, check.by))}{of}, chance alone can put small groups over "
                f"the limit ({limit}): {_list_some(smallest)}",
                Subjects.ANYBODY,
            )


def notice_light_groups(checks: Iterable[AnyCheck], tables: Tables) -> Iterator[Notice]:
    """Notices on groups that have enough people, but weights that are worth too few people.

    Rows of weight 0 count as people, so a weight cannot remove a group from a comparison.
    """
    places: set[tuple[Grouping, str]] = set()
    for check in checks:
        size = check.terms.minimum.size if isinstance(check, Check) else None
        if not isinstance(check, Check) or size is None or (check.by, check.of) in places:
            continue
        places.add((check.by, check.of))
        table = tables.table(check.by, (), check.of)
        if table.squares is None:
            continue
        people, mass, squares = (
            one.sum(axis=(0, 1, 2)) for one in (table.people, table.mass, table.squares)
        )
        worth = (mass / table.scale) ** 2 / np.where(squares > 0, squares, 1)
        if light := np.flatnonzero(table.eligible & (people >= size) & (worth < size)).tolist():
            named = [
                f"{describe_group(table.groups[g])} ({describe_people(int(people[g]))}, worth "
                f"{worth[g]:.0f})"
                for g in light
            ]
            yield Notice(
                f"{check.id}: groups whose weights are worth fewer people than `min_size` "
                f"({size:,}): {_list_some(named)}",
                Subjects.ANYBODY,
            )


def _few_people(
    values: GroupValues, eligible: Marks, check: Check, limit: Limit, *, favourable: bool
) -> list[int]:
    """The groups in which chance alone could cause a gap to all others as wide as the limit.

    Groups are not listed if their actual gap to all others is wider than chance can explain.
    """
    if not len(values.value):
        return []  # this grouping has no known group
    n = np.where(eligible, values.effective_n[0], 0.0)
    positives = np.nan_to_num(values.value[0]) * n
    total = float(n.sum())
    share = float(positives.sum()) / total if total else 0.0
    if isinstance(check.metric, Disparity) and check.metric.four_fifths and not favourable:
        # For a burden, the four-fifths rule compares the people without the burden.
        share = 1 - share
    if not 0 < share < 1:
        return []
    # The gap between two rates at the limit, if both are near the overall rate.
    metric, bounds = check.metric, [abs(float(bound)) for bound in limit.bounds]
    if isinstance(metric, TableMetric):
        gap = share * (1 - math.exp(-min(bounds)))
    else:
        assert isinstance(metric, Disparity)
        of_ratio = share * min(abs(1 - bound) for bound in bounds)
        gap = of_ratio if metric.comparison.is_ratio else min(bounds)
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes = 1 / n + 1 / (total - n)
        by_chance = float(distributions.normal_critical(check.inference.alpha)) * np.sqrt(
            share * (1 - share) * sizes
        )
        others = (float(positives.sum()) - positives) / (total - n)
        # Use Yates's correction, because the groups are small.
        shown = np.abs(positives / n - others) - sizes / 2
    few = (n > 0) & (n < total) & (gap < by_chance) & ~(shown > by_chance)
    return sorted(np.flatnonzero(few).tolist(), key=lambda g: float(n[g]))

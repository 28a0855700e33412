"""All notices of a result in order. `recode` writes the notices on filters, levels and outcomes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import combinations

import numpy as np

from fairaudit.base.disclosure_marks import Notice, NoticeRate, Subjects
from fairaudit.base.names import describe_group, listing, percent
from fairaudit.counting.raw_rows import BUDGET
from fairaudit.cube import NO_LEVEL, Cube, Role, Rows, distinct_rows
from fairaudit.cube.histogram import median_bin
from fairaudit.judge import AnyCheck, Check, ReversalCheck
from fairaudit.judge.simpson import ScanResult
from fairaudit.judge.simpson.scanning import MOST_SUSPECTS
from fairaudit.metrics import Requirement, find_metric
from fairaudit.metrics.confusion_counts import count_groups
from fairaudit.metrics.individual import (
    BALANCED_ERROR_RATE,
    CAUSAL_DISCRIMINATION,
    CONSISTENCY,
    LIPSCHITZ_VIOLATIONS,
    MOST_TOLD_APART,
    NEIGHBOURS,
    UNAWARENESS_VIOLATIONS,
    choose_asked,
    score_of,
)
from fairaudit.metrics.rates import SELECTION_RATE
from fairaudit.metrics.scores import SCORING_RATE
from fairaudit.metrics.situation import DISPARITIES, TWIN_TEST, find_gaps
from fairaudit.pipeline.audit_task import AuditTask
from fairaudit.pipeline.recode.cells import notice_undecided
from fairaudit.pipeline.tables.audit import (
    Audit,
    Tables,
    has_room_for_lattice,
    list_places,
    list_rates,
    write_weight_notices,
)
from fairaudit.pipeline.tables.check_notices import (
    notice_changes_without_direction,
    notice_deciding_strata,
    notice_diluted_strata,
    notice_few_people,
    notice_impossible_gates,
    notice_light_groups,
    notice_limits_out_of_reach,
    notice_lone_strata,
    notice_misread_values,
    notice_other_side,
    notice_turned_gaps,
    notice_unequal_odds_ratios,
)
from fairaudit.result.rows import LatticeRow
from fairaudit.rows.neighbours import find_neighbours, locate
from fairaudit.rows.similar_people import choose_people, find_steepest_pair, find_twins
from fairaudit.spec import MetricRequest, Outcome, OutcomeKind, Spec

_ONE_POINT = 0.01

_ENOUGH_CELLS = 20
"""With this number of cells, all counts are even by chance only once in a million runs."""

_ENOUGH_PEOPLE = 30
"""With fewer people, outcomes may be the same by chance."""

_MOST_LEVELS = 4
"""Maximum number of levels that the notice on rows with the count 0 names."""

_MANY_STRATA = 30
_FEW_PEOPLE = 6
"""Strata by legitimate factors are fewer or larger than this. A matched set has a few people."""

_DECIDED = {Requirement.PREDICTION, Requirement.CLASSES}
"""The requirements of metrics about decisions."""


def write_notices(audit: Audit, lattice: Sequence[LatticeRow]) -> Iterator[Notice]:
    """All notices in the order of the stages: notices on the data come before notices on limits."""
    spec, counts, cubes, tables = audit.spec, audit.counts, audit.cubes, audit.tables
    checks = audit.task.checks
    if not_run := audit.task.not_run:
        count = f"{len(not_run):,} of {len(spec.checks):,} checks"
        yield Notice(f"{count} are not run, because of --only: {listing(not_run)}", Subjects.NOBODY)
    yield from notice_undecided(cubes.left_out, spec)
    yield from counts.notices
    yield from spec.notices
    if spec.suppress_below is not None and len(spec.predictions) > 1:
        yield Notice(
            "models: `suppress_below` hides how many people two models treat differently, because "
            "these are counts of few people",
            Subjects.NOBODY,
        )
    yield from counts.describe_files()
    yield from cubes.notices
    yield from _notice_draws(audit.task)
    yield from write_weight_notices(spec.requests, cubes.cube)
    if spec.counts is None and spec.count is not None:
        yield from notice_empty_rows(cubes.cube, spec.count.value)
    if cubes.rows is not None:
        described = _describe_rows(spec, cubes.rows, tables)
        yield from (Notice(text, Subjects.NEVER) for text in described)
    # Stages of one column are not compared, because each stage selects fewer people.
    if len({model.column.value for model in spec.predictions}) == len(spec.predictions):
        binary = [one.name for one in spec.predictions if one.binary]
        yield from notice_unequal_rates(tables, binary)
    if not spec.stages:
        yield from notice_equal_outcomes(cubes.cube)
    yield from notice_unjudged_models(spec.checks, spec.predictions)
    yield from notice_idle_thresholds(tables, spec.requests)
    columns = {one.name: one.score.value for one in spec.outcomes if one.score is not None}
    bins = {name: score.raw.bins for name, score in cubes.scores.items()}
    scores = {of: bins[name] for of, name in columns.items() if name in bins}
    yield from notice_limits_out_of_reach(checks, tables, scores)
    yield from notice_impossible_gates(checks, tables)
    yield from notice_other_side(checks, tables)
    yield from notice_misread_values(checks, tables)
    yield from notice_changes_without_direction(checks, tables)
    yield from notice_turned_gaps(lattice)
    yield from notice_few_people(checks, tables)
    yield from notice_light_groups(checks, tables)
    yield from notice_lone_strata(tables, spec.requests)
    yield from notice_diluted_strata(tables, spec.requests)
    yield from notice_unequal_odds_ratios(checks, tables)
    yield from _notice_unused_strata(spec)
    yield from notice_deciding_strata(tables, spec.requests)
    yield from notice_repeated_rows(cubes.cube)
    yield from (
        notice_matched_sets(cubes.cube, spec.requests)
        if spec.cluster is None
        else notice_ignored_clusters(spec)
    )
    yield from notice_medians(tables, spec.requests)
    if not has_room_for_lattice(cubes.cube, spec.requests):
        what = "not every combination of the protected columns is looked at, only those that the "
        yield Notice(f"{what}spec asks for: together they have too many groups", Subjects.ANYBODY)
    yield from _notice_unscanned_groups(audit.reversals, checks)


def _notice_draws(task: AuditTask) -> Iterator[Notice]:
    """A notice on the file and the number of the draws, if there are draws."""
    if task.draws is not None:
        count = len(task.draws.probability)
        what = f"`model: draws` judges {count:,} {'draw' if count == 1 else 'draws'} of the shares"
        yield Notice(f"{what} in {task.draws.path}, not the counted shares", Subjects.NOBODY)


def notice_unequal_rates(tables: Tables, models: Iterable[str]) -> Iterator[Notice]:
    """A notice on predictions whose selection rates differ by more than a point.

    Žliobaitė (2015) §4 compares classifiers only at equal selection rates: otherwise a difference
    in disparity partly reflects how many people are selected.
    """
    values_of = {
        name: SELECTION_RATE.compute(count_groups(tables.table((), (), name))) for name in models
    }
    known = {
        name: float(values.value[0, 0])
        for name, values in values_of.items()
        if values.value.size and not np.isnan(values.value[0, 0])
    }
    if known and max(known.values()) - min(known.values()) > _ONE_POINT:
        listed = ", ".join(f"{name} {percent(value)}" for name, value in known.items())
        yield Notice(
            f"the predictions select different shares of people ({listed}): compare their gaps by "
            "`normalized_difference`",
            Subjects.ROW,
            (NoticeRate(SELECTION_RATE.id, name) for name in known),
        )


def notice_equal_outcomes(cube: Cube) -> Iterator[Notice]:
    """Notices on two outcomes that are the same for all people; one may be a copy of the other."""
    keys = [
        (np.isin(cube.codes[:, column], list(key.positive)), cube.codes[:, column] >= 0, key.name)
        for column, key in enumerate(cube.keys)
        if key.positive is not None and key.role in {Role.LABEL, Role.PREDICTION}
    ]
    for (first, known, name), (second, also_known, other) in combinations(keys, 2):
        there = known & also_known & (cube.people > 0)
        people = int(cube.people[there].sum())
        is_varied = len(np.unique(first[there])) > 1
        if people >= _ENOUGH_PEOPLE and is_varied and np.array_equal(first[there], second[there]):
            yield Notice(
                f"{name} and {other} are the same for all {people:,} people who have both: if one "
                "is a copy of the other, errors and changes between them show nothing",
                Subjects.ANYBODY,
            )


def notice_medians(tables: Tables, requests: Iterable[MetricRequest]) -> Iterator[Notice]:
    """Notices on the median that scoring rates use, and on the numbers of people around it."""
    outcomes = {request.of for request in requests if SCORING_RATE in list_rates(request.metric)}
    for of in sorted(outcomes):
        scores = count_groups(tables.table((), (), of)).scores
        if scores is None or not scores.everybody.sum():
            continue
        people = scores.everybody
        middle = median_bin(people)
        low, high = float(scores.low[middle]), float(scores.high[middle])
        where = f"{low:g}" if low == high else f"between {low:g} and {high:g}"
        above, below = int(people[middle + 1 :].sum()), int(people[:middle].sum())
        yield Notice(
            f"{of}: the median of the score is {where}: {above:,} above, "
            f"{int(people[middle]):,} at it, {below:,} below",
            Subjects.NEVER,
        )


def notice_unjudged_models(
    checks: Sequence[AnyCheck], models: Iterable[Outcome]
) -> Iterator[Notice]:
    """Notices on models whose decisions no limit judges, if there are limits.

    A limit on a change, or on the score of a model that has decisions, does not judge decisions.
    """
    scored = {model.name for model in models if model.kind is OutcomeKind.SCORE}
    judged = set()
    for check in checks:
        metric = check.metric if isinstance(check, Check) else find_metric(check.rate)
        is_change = isinstance(check, Check) and check.against is not None
        is_decided = metric is not None and metric.requirements & _DECIDED
        if not is_change and (is_decided or check.of in scored):
            judged.add(check.of)
    for model in models if checks else ():
        if model.name in judged or not (model.has_classes or model.name in scored):
            continue
        what = f"the decisions of {model.name} alone"
        where = f"add a limit on decisions with `of: {model.name}`"
        if model.name in scored:
            what = f"{model.name}, which has only a score"
            where = "add `prediction: {column: …, positive: {at_least: …}}` and limit its decisions"
        yield Notice(f"no limit judges {what}: {where}", Subjects.NOBODY)


def _notice_unused_strata(spec: Spec) -> Iterator[Notice]:
    """A notice on declared strata in which nothing is compared, if there are limits.

    The search for reversals uses strata, but it needs a decision with two classes.
    """
    used = {name for request in spec.requests for given in request.given for name in given}
    used |= {name for request in spec.requests for name in request.terms.parameters.controls}
    unused = [column.name for column in spec.strata if column.name not in used]
    is_binary = any(model.binary for model in spec.predictions)
    if unused and spec.checks and spec.simpson is None and not is_binary:
        yield Notice(
            f"nothing is compared within the strata of {listing(unused)}, where gaps can be "
            "opposite: opposite gaps are searched for only in decisions with two classes; add "
            "`given` to a measure",
            Subjects.NOBODY,
        )


def notice_idle_thresholds(tables: Tables, requests: Iterable[MetricRequest]) -> Iterator[Notice]:
    """Notices on thresholds `at` that all scores reach, or that no score reaches."""
    for of, at in dict.fromkeys((request.of, request.terms.at) for request in requests):
        if at is not None and (missing := find_missing_side(tables, of, at)):
            yield Notice(f"{of}: at a score of {at} no row is {missing}", Subjects.ANYBODY)


def find_missing_side(tables: Tables, of: str, at: Decimal | None) -> str:
    """The side without decisions (`positive` or `negative`); empty if both sides have decisions."""
    counts = count_groups(tables.table((), (), of))
    if at is None:
        rate = SELECTION_RATE.compute(counts).value
        return {0.0: "positive", 1.0: "negative"}.get(float(rate[0, 0]), "") if rate.size else ""
    if counts.scores is None or not counts.scores.everybody.any():
        return ""
    occurs = counts.scores.everybody > 0
    if float(counts.scores.low[occurs].min()) >= at:
        return "negative"
    return "positive" if float(counts.scores.high[occurs].max()) < at else ""


def notice_empty_rows(cube: Cube, count: str) -> Iterator[Notice]:
    """A notice if `count` is 0 in more than a tenth of the rows, unless the rows are totals.

    If a cell has more rows than people, at least this many more rows have the count 0. A table
    of totals has more people than rows, and its rows with the count 0 are combinations that do not
    occur.
    """
    empty, rows = np.maximum(cube.rows - cube.people, 0), int(cube.rows.sum())
    if cube.masked or int(cube.people.sum()) >= rows or 10 * int(empty.sum()) <= rows:
        return
    parts = []
    for key in (key for key in cube.keys if key.role is Role.PROTECTED):
        codes = cube.codes[:, cube.places((key.name,))[0]]
        for code, level in enumerate(key.levels):
            of_level = codes == code
            if lost := int(empty[of_level].sum()):
                total = int(cube.rows[of_level].sum())
                parts.append((lost / total, f"{lost:,} of {total:,} of {key.name}={level}"))
    parts.sort(key=lambda part: -part[0])
    where = ", ".join(text for _, text in parts[:_MOST_LEVELS]) or "all of unknown group"
    yield Notice(
        f"{count}: at least {int(empty.sum()):,} of {rows:,} rows have the count 0, so they are "
        f"not counted: {where}. If every row is a person, remove `count`",
        Subjects.NEVER,
    )


def notice_matched_sets(cube: Cube, requests: Iterable[MetricRequest]) -> Iterator[Notice]:
    """Notices on strata that may be matched sets, because many strata have few people.

    The rows of a matched set are similar, so tests that treat rows as independent are wrong.
    """
    for given in dict.fromkeys(given for request in requests for given in request.given if given):
        codes = cube.codes[:, cube.places(given)]
        known = np.all(codes != NO_LEVEL, axis=1) & (cube.people > 0)
        for column, name in enumerate(given):
            known &= ~np.isin(codes[:, column], list(cube.key(name).unknown))
        strata, index = distinct_rows(codes[known])
        people = np.bincount(index, cube.people[known], minlength=len(strata))
        if len(people) >= _MANY_STRATA and float(np.median(people)) <= _FEW_PEOPLE:
            yield Notice(
                f"{' × '.join(given)}: {len(people):,} strata, and the median stratum has "
                f"{float(np.median(people)):g} people. If these are matched people, or decisions "
                "about the same person or the same job, the rows are not independent, and the "
                "tests treat them as independent: `columns: {cluster: column}` names the column "
                "of rows that belong together",
                Subjects.ANYBODY,
            )


def notice_ignored_clusters(spec: Spec) -> Iterator[Notice]:
    """A notice on results that treat rows as independent although the spec names clusters."""
    has_score = any(outcome.score is not None for outcome in spec.predictions)
    listed = [
        *(["the tests of Simpson's reversals"] if spec.simpson else []),
        *(["the intervals of curves and of score summaries"] if has_score else []),
        *(["the tests of one model against another"] if len(spec.predictions) > 1 else []),
    ]
    if listed:
        assert spec.cluster is not None
        yield Notice(
            f"clusters by {spec.cluster.value} are not in {' and '.join(listed)}, which treat rows "
            "as independent",
            Subjects.NOBODY,
        )


def notice_repeated_rows(cube: Cube) -> Iterator[Notice]:
    """A notice if all counts are multiples of one number: people may not be independent."""
    people = cube.people[cube.people > 0]
    times = int(np.gcd.reduce(people)) if len(people) >= _ENOUGH_CELLS else 1
    if times > 1:
        yield Notice(
            f"each of the {len(people):,} combinations of the audited columns occurs a multiple of "
            f"{times:,} times: are rows repeated, or people counted in units of {times:,}? Then "
            f"every interval is {math.sqrt(times):.2f} times too narrow (√{times:,})",
            Subjects.ANYBODY,
        )


def _notice_unscanned_groups(scanned: ScanResult, checks: Sequence[AnyCheck]) -> Iterator[Notice]:
    """Notices on pairs that the scan could not compare, test or list, or that no limit judges."""
    for check in (check for check in checks if isinstance(check, ReversalCheck)):
        kinds = [row.kind for row in scanned.found if row.rate == check.rate and row.kind.reverses]
        limits = [limit.kind.strength for limit in (check.warn, check.fail) if limit is not None]
        if weaker := [kind for kind in kinds if kind.strength < min(limits)]:
            what = (
                f"{check.id}: {len(weaker):,} of the reversals are of kinds that the limit ignores"
            )
            yield Notice(f"{what}: {listing([*dict.fromkeys(weaker)])}", Subjects.NEVER)
    whys = [one.why for group, one in scanned.left_out if not group] + [*scanned.too_many]
    if count := scanned.untested:
        whys.append(
            f"{count:,} pairs of groups whose gaps in strata may be opposite are not tested, of "
            f"more than {MOST_SUSPECTS:,} in one scan: write `pairs: reference`, or fewer columns"
        )
    if count := scanned.repeated:
        why = "given several columns, where fewer of them show as much as surely"
        whys.append(f"{count:,} {'is' if count == 1 else 'are'} not listed: {why}")
    yield from (Notice(f"Simpson's reversals: {why}", Subjects.ANYBODY) for why in whys)


_OF_EQUALS = (UNAWARENESS_VIOLATIONS, CAUSAL_DISCRIMINATION, TWIN_TEST)
"""Metrics that count people with equal features and do not read people one by one."""

_BUDGET = f"the {BUDGET >> 30} GiB that an audit of people may take"

_MOST_GROUPS = 10
"""The number of groups whose gaps or twins are described."""


def _describe_rows(spec: Spec, rows: Rows, tables: Tables) -> Iterator[str]:
    """Notices on people without a feature, on samples, and on metrics of individual fairness."""
    requests = [request for request in spec.requests if request.uses(Requirement.FEATURES)]
    names = ", ".join(dict.fromkeys(request.metric.id for request in requests))
    read = f"{names}: {rows.complete:,} of {rows.audited:,} people were read one by one"
    if rows.missing:
        lacking = ", ".join(f"{name} {n:,}" for name, n in rows.missing.items())
        read += f"; the others lack a feature ({lacking}) and are left out"
    yield read
    # If not all people fit into the memory budget, profiles or people were sampled.
    of_equals, one_by_one = (
        ", ".join(
            dict.fromkeys(one.metric.id for one in requests if (one.metric in _OF_EQUALS) is side)
        )
        for side in (True, False)
    )
    if of_equals and rows.share < 1:
        yield (
            f"{of_equals}: {int(rows.n.sum()):,} of these people, all who have one of the "
            f"features' combinations that a hash of them chose (1 in {round(1 / rows.share):,}), "
            f"fit into {_BUDGET}; intervals allow for it"
        )
    if one_by_one and rows.is_sample:
        yield (
            f"{one_by_one}: {len(rows.people.entries):,} of these people, a sample by a hash of "
            f"their values, fit into {_BUDGET}; neighbours are farther apart in it than in the "
            "whole data"
        )
    constant = rows.features.constant
    if constant and rows.complete:
        verb = "does not vary and has" if len(constant) == 1 else "do not vary and have"
        yield f"{names}: {' and '.join(constant)} {verb} no effect"
    # Protected attributes and outcomes should not be features.
    features = {*spec.similarity.columns}
    inside = [attribute.name for attribute in spec.protected if attribute.column.value in features]
    if inside:
        listed = " and ".join(inside)
        yield (
            f"{names}: {listed} is protected and among the features: people who differ in it do "
            "not count as similar, so differences that it causes count as explained"
        )
    audited = {
        text.value for outcome in spec.outcomes for text in (outcome.column, outcome.score) if text
    }
    outcomes = [name for name in sorted(features) if name in audited]
    if outcomes:
        listed = " and ".join(outcomes)
        yield (
            f"{names}: {listed} is an outcome and among the features: people with different "
            "outcomes do not count as similar, so differences are explained away"
        )
    yield from _describe_searches(requests, tables)
    yield from _describe_sides(requests, tables)


def _describe_searches(requests: list[MetricRequest], tables: Tables) -> Iterator[str]:
    """Notices on samples, on ties among neighbours, and on the pair of people that differs most."""
    for request in requests:
        rows, metric = tables.table((), (), request.of).rows, request.metric
        if rows is None or metric in _OF_EQUALS:
            continue
        table, name = rows.people, f"{metric.id} of the {request.of}"
        if metric is BALANCED_ERROR_RATE and len(table.n) > MOST_TOLD_APART:
            yield (
                f"{metric.id}: the model is of at most {MOST_TOLD_APART:,} people of each "
                "side, a sample by a hash of their values"
            )
        if metric is CONSISTENCY:
            k, people = request.terms.parameters.k or NEIGHBOURS, table.in_stratum(0)
            neighbours = find_neighbours(table.features, people, k, without_self=True)
            if not neighbours.has_enough_people:
                continue
            sample = neighbours.search(choose_asked(table, 0, people))
            sizes = neighbours.sizes[neighbours.row[locate(table.features).profile[sample]]]
            if tied := int((sizes > k).sum()):
                yield (
                    f"{name}, k {k}: for {tied:,} of {len(sample):,} people more than {k} "
                    f"neighbours tie, {int(sizes.max()):,} at most, and all are taken"
                )
            if len(sample) < len(people):
                yield (
                    f"{name}, k {k}: neighbours were looked up for {len(sample):,} of "
                    f"{len(people):,} people, a sample by a hash of their values, and among all of "
                    "them"
                )
        if metric is LIPSCHITZ_VIOLATIONS:
            score = score_of(table)
            people = choose_people(table.places, table.in_stratum(0))
            pair = find_steepest_pair(table.features, score, people[~np.isnan(score[people])])
            if pair is None:
                continue
            first, second = (int(table.numbers[index]) for index in (pair.first, pair.second))
            ratio = f"{pair.ratio:.4g} times their distance"
            if np.isinf(pair.ratio):
                ratio = "though they are equal in every feature"
            yield (
                f"{name}: the steepest pair that was looked at are the rows {first:,} and "
                f"{second:,}, whose scores differ by {pair.gap:.4g}, {ratio}"
            )


def _describe_sides(requests: list[MetricRequest], tables: Tables) -> Iterator[str]:
    """Notices on the distribution of gaps over the people of a group, and on people with a twin."""
    described: dict[str, None] = {}
    for request, by, given in list_places(requests):
        if request.metric not in DISPARITIES or given:
            continue
        evaluation = tables.evaluate_request(request, by, given)
        if evaluation is None or not evaluation.group_values or not evaluation.reference_values:
            continue
        values, others = evaluation.group_values.rows, evaluation.reference_values.rows
        if values is None or others is None:
            continue
        table, groups, of = values.table, evaluation.table.groups, evaluation.table.of
        for g in np.flatnonzero(evaluation.judged[0])[:_MOST_GROUPS].tolist():
            members, reference = values.members(0, g), others.members(0, g)
            if not len(members) or not len(reference):
                continue
            group, second = describe_group(groups[g]), int(evaluation.second[0, g])
            against = "all others" if second < 0 else describe_group(groups[second])
            if request.metric is TWIN_TEST:
                twins = find_twins(table.features, members, reference)
                sides = (twins.members, members, twins.others, reference)
                having, people, being, referred = (int(table.n[side].sum()) for side in sides)
                described[
                    f"twin_test of the {of}: {having:,} of {people:,} people of {group} have a "
                    f"twin in {against}, where {being:,} of {referred:,} people are one"
                ] = None
            elif len(gaps := find_gaps(values, others, 0, g)):
                low, *quartiles, high = np.quantile(gaps, [0, 0.25, 0.5, 0.75, 1]).tolist()
                first, middle, third = quartiles
                described[
                    f"situation testing of the {of}, k {values.parameters.k or NEIGHBOURS}: the "
                    f"gaps of {len(gaps):,} people of {group} to {against} go from {low:.2f} to "
                    f"{high:.2f}, with quartiles {first:.2f}, {middle:.2f} and {third:.2f}"
                ] = None
    yield from described

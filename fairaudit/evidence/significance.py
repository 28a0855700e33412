"""The test of no disparity behind whatever an audit compares, from counts alone.

Two shares: a z test, or Fisher's exact one where a count below 5 is expected. Several: chi-square,
and every pair where some are few (`maxima`). Means: Welch. Ranks: Mann–Whitney. Coefficients:
Student's t. What is made of several numbers, as an average over strata is, is tested by its
interval: p is the level at which parity leaves it, so that both are about the printed number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from fairaudit.arrays import Floats, Ints, Marks
from fairaudit.evidence import clusters as by_clusters
from fairaudit.evidence.intervals import (
    Intervals,
    explain_no_interval,
    find_intervals,
    has_extreme_interval,
    pairs_of,
)
from fairaudit.evidence.joint_tests import Alike, alike_classes, alike_means
from fairaudit.evidence.pair_tests import Chosen, pair_test, to_extreme
from fairaudit.evidence.samples import Sample, compare_shares, name_share_test
from fairaudit.metrics import (
    NO_GROUP,
    Disparity,
    Evaluation,
    FirstOf,
    GroupMetric,
    GroupValues,
    Metric,
    PairedCounts,
    ReferencePolicy,
    TableMetric,
)
from fairaudit.metrics.disparities import MEAN, REMAINDER, ComparisonShape
from fairaudit.metrics.effect_sizes import Shares
from fairaudit.metrics.evaluation import (
    compare_values,
    compute,
    counts_for,
    counts_of_others,
    reference_counts,
)
from fairaudit.metrics.formulas import Formula
from fairaudit.metrics.group_metrics import CLUSTER_ROBUST
from fairaudit.metrics.numbers import NumberMean
from fairaudit.metrics.scores import Distribution
from fairaudit.metrics.terms import EXTREME_REFERENCES, INCLUDING_GROUP, TTest
from fairaudit.stats import contingency, distributions, means, multiplicity, ranks
from fairaudit.stats import strata as stratified

_MOST_STANDARDIZED = 300
_MOST_EXTREME = 100
_NEAR = 1e-12
_FARTHEST = 38.0
_STEPS = 60
_CLOSE = 1e-9
_FEW_CLUSTERS = by_clusters.TOO_FEW.removeprefix("none: ")
_NOT_BY_CLUSTERS = by_clusters.NOT_BY_CLUSTERS.removeprefix("none: ")

Key: TypeAlias = tuple[object, ...]
"""What makes two tests one: the same counts, compared in the same way."""

Crosses: TypeAlias = Callable[[Floats], Marks]
"""Which values of a measure lie beyond a limit."""


@dataclass(frozen=True, slots=True, eq=False)
class Statistic:
    """What a test computes before its p-value, [Z, W]: its letter, values, degrees of freedom."""

    letter: str
    value: Floats
    freedom: tuple[Floats, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Together:
    """A test of another hypothesis, which stands beside the printed number: its name and p-values.

    Such as that groups are alike in every stratum, beside an average over them: where that is
    refuted and the average beyond a limit is not significant, the check `stays_open`.
    """

    name: str
    hypothesis: str
    p: Floats
    stays_open: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Tests:
    """The p-value of every value, [Z, W], and the test that gave it; NaN, and `why`, without one.

    `which` of the `names` is that of each. `about` is what is tested: tests of the same about the
    same groups are one. Those that are `joint` allow for each other already: in a family they are
    one test, that of the smallest p-value. `beyond` gives the p-values of what lies beyond a limit,
    where a value is the largest of many: of these alone.
    """

    p: Floats
    names: tuple[str, ...] = ("",)
    which: Ints | None = None
    about: Key = ()
    why: str = ""
    joint: bool = False
    statistic: Statistic | None = None
    beyond: Callable[[Crosses], Floats] | None = None
    together: Together | None = None

    def name(self, z: int, w: int) -> str:
        """The test behind one p-value."""
        return self.names[0 if self.which is None else int(self.which[z, w])]


def run_tests(evaluation: Evaluation) -> Tests:
    """The test of no disparity for every value of an evaluation."""
    lacking = by_clusters.lacks_clusters(evaluation)
    if lacking is not None:
        return _none(evaluation, lacking.removeprefix("none: "))
    with np.errstate(invalid="ignore", divide="ignore"):
        tests = _tests(evaluation)
    unknown = np.isnan(evaluation.value) | by_clusters.few_clusters(evaluation)
    p = np.where(unknown, np.nan, tests.p)
    return replace(tests, p=p)


def explain_no_test(asked: Metric, policy: str | None = None) -> str | None:
    """Why a measure has no test of no disparity, whatever the data; None where it has one.

    The policy is that of its reference: to which group it is compared.
    """
    if isinstance(asked, GroupMetric):
        return f"{asked.title.lower()} compares nobody: `conclusive` holds it against the limit"
    if isinstance(asked, TableMetric):
        has_one = asked.independence is not None or asked.standard_normal
        return None if has_one else explain_no_interval(asked)
    if asked.mean and asked.fitted:
        return explain_no_interval(asked)
    quantities = [quantity for quantity, _ in asked.parts]
    if asked.fold is not REMAINDER and all(map(has_direct_test, quantities)):
        return None
    if policy in EXTREME_REFERENCES and not has_extreme_interval(asked):
        return f"the {policy} group is chosen from the same data: `conclusive` allows for that"
    return explain_no_interval(asked)


def has_direct_test(quantity: GroupMetric) -> bool:
    """Whether its values can be tested without their interval: shares, means, ranks, classes."""
    by_deviation = isinstance(quantity, Formula) and quantity.deviation_of is not None
    whole = isinstance(quantity, NumberMean | Distribution | Shares)
    if isinstance(quantity, FirstOf):
        return all(map(has_direct_test, quantity.options))
    return by_deviation or whole or quantity.is_proportion


def _tests(evaluation: Evaluation) -> Tests:
    asked = evaluation.metric
    if evaluation.subtracts:
        return _of_change(evaluation)
    if isinstance(asked, GroupMetric):
        return _none(evaluation, f"{asked.title.lower()} compares nobody")
    if isinstance(asked, TableMetric):
        return _of_whole(asked, evaluation)
    return _of_measure(asked, evaluation)


def _of_measure(asked: Disparity, evaluation: Evaluation) -> Tests:
    if asked.fold is REMAINDER:
        return _none(evaluation, (explain_no_interval(asked) or "").removeprefix("none: "))
    if evaluation.parts:
        cancel = asked.fold is MEAN and asked.to_reference
        return _of_mean(evaluation) if cancel else _of_parts(evaluation)
    reading = evaluation.group_values
    if reading is None:
        return _none(evaluation, "there is nothing to compare")
    if evaluation.averaged is not None and by_clusters.is_clustered(evaluation):
        return _averages_by_clusters(evaluation, reading)
    if reading.strata is not None and asked.comparison.exact_in_strata is not None:
        return _common_to_strata(evaluation, reading, reading.strata)
    if evaluation.averaged is not None:
        return replace(_by_interval(evaluation), together=_in_strata(evaluation, asked, reading))
    if asked.mean or asked.comparison.shape is ComparisonShape.SPREAD:
        return _among_all(evaluation, reading)
    return _between_two(evaluation, reading)


def _none(evaluation: Evaluation, why: str) -> Tests:
    return Tests(np.full_like(evaluation.value, np.nan), why=why)


def _of_mean(evaluation: Evaluation) -> Tests:
    """Of a mean of two differences: they may cancel, so that its test is not that of both."""
    both = _of_parts(evaluation)
    beside = Together(both.names[0], "no difference in either rate", both.p)
    return replace(_by_interval(evaluation), together=beside)


def _of_parts(evaluation: Evaluation) -> Tests:
    """Of what is as far from parity as one of several rates: the smallest p-value, for so many."""
    parts = [_tests(part) for part in evaluation.parts]
    least = np.min([part.p for part in parts], axis=0)
    which = np.max([_which(part) for part in parts], axis=0)
    longest = max((part.names for part in parts), key=len)

    def beyond(crosses: Crosses) -> Floats:
        pairs = zip(parts, evaluation.parts, strict=True)
        found = [_beyond(part, at.value, crosses) for part, at in pairs]
        return np.asarray(multiplicity.sidak(np.fmin.reduce(found), len(parts)))

    return Tests(
        np.asarray(multiplicity.sidak(least, len(parts))),
        tuple(f"{name}, Šidák over {len(parts)}" for name in longest),
        which,
        about=tuple(part.about for part in parts),
        why=next((part.why for part in parts if part.why), ""),
        beyond=None if evaluation.metric.mean else beyond,  # type: ignore[union-attr]  # a measure
    )


def _which(tests: Tests) -> Ints:
    return np.zeros(tests.p.shape, dtype=np.int64) if tests.which is None else tests.which


def _beyond(tests: Tests, value: Floats, crosses: Crosses) -> Floats:
    """The p-values of what lies beyond a limit; NaN where nothing does."""
    if tests.beyond is not None:
        return tests.beyond(crosses)
    return np.where(crosses(value), tests.p, np.nan)


def _about(reading: GroupValues, evaluation: Evaluation) -> Key:
    """What a share is of: a true positive and a false negative rate are tested by one table."""
    quantity = reading.metric
    cells = frozenset(getattr(quantity, "cells", ()))
    parameters = evaluation.terms.parameters if quantity.takes else None
    return (cells,) if reading.binomial else (quantity.id, parameters)


def _chosen(evaluation: Evaluation, crosses: Crosses) -> Chosen:
    """Which pairs of values lie beyond a limit, compared as the measure compares them."""
    asked = evaluation.metric
    assert isinstance(asked, Disparity)
    (quantity, how) = asked.parts[0]
    turned = how.shape is ComparisonShape.SPREAD and not how.highest_first

    def chosen(first: Floats, second: Floats) -> Marks:
        pair = (second, first) if turned else (first, second)
        with np.errstate(divide="ignore", invalid="ignore"):
            return crosses(compare_values(quantity, how, *pair))

    return chosen


def _between_two(evaluation: Evaluation, reading: GroupValues) -> Tests:
    """Each group against its reference; against everybody means against the rest."""
    policy = evaluation.terms.policy
    other = evaluation.reference_values
    if policy in EXTREME_REFERENCES and evaluation.metric.comparison.contrast is None:  # type: ignore[union-attr]
        return _to_extreme(evaluation, reading)
    if policy is not None and policy in INCLUDING_GROUP:
        rest = counts_of_others(counts_for(reading.metric, evaluation.table), policy)
        other = compute(reading.metric, rest, evaluation.terms.parameters)
    if other is None:
        return _none(evaluation, "there is no other side")
    tests = _two_sides(evaluation, reading, other)
    if policy not in EXTREME_REFERENCES:
        return tests
    # Of no other pair the value is known, so that all groups together must do.
    return replace(_over_pairs(tests, evaluation), together=_all_alike(evaluation, reading))


def _all_alike(evaluation: Evaluation, reading: GroupValues) -> Together | None:
    """Whether all groups are alike, beside a comparison with an extreme one."""
    if not reading.binomial and reading.deviation is None:
        return None
    alike = _of_groups(evaluation, reading)
    p = np.array([one.p for one in alike], dtype=np.float64).reshape(-1, 1)
    p = np.broadcast_to(p, evaluation.value.shape)
    return Together(alike[0].name if alike else "", "alike", p, stays_open=True)


def _to_extreme(evaluation: Evaluation, reading: GroupValues) -> Tests:
    """Each group against all that lie farther out: the extreme one may be a handful of people."""
    inference, policy = evaluation.terms.inference, evaluation.terms.policy
    if by_clusters.is_pair(evaluation) and evaluation.reference_values is not None:
        # Of two groups the pair is known, and with it what its clusters have in common.
        return _two_sides(evaluation, reading, evaluation.reference_values)
    reading = by_clusters.for_pairs(reading, evaluation.takes_part)
    tests = [pair_test(reading, z, inference) for z in range(len(reading.value))]
    if any(test is None for test in tests):
        return _by_interval(evaluation)
    weight = reading.effective_n
    if not reading.binomial and reading.deviation is not None:
        weight = np.nan_to_num(reading.effective_n**2 / reading.deviation)

    def smallest(chosen: Chosen | None) -> tuple[Floats, Marks]:
        rows = [
            to_extreme(test, reading.value[z], weight[z], evaluation.takes_part[z], chosen,
                       lowest=policy is ReferencePolicy.LOWEST)
            for z, test in enumerate(tests)
            if test is not None
        ]  # fmt: skip
        return np.stack([p for p, _ in rows]), np.stack([exact for _, exact in rows])

    p, exact = smallest(None)
    names = _two_sides(evaluation, reading, reading).names
    return Tests(
        p,
        tuple(f"{name} over pairs" for name in names),
        exact.astype(np.int64),
        about=(*_about(reading, evaluation), "to extreme", policy, evaluation.takes_part.tobytes()),
        joint=True,
        beyond=lambda crosses: smallest(_chosen(evaluation, crosses))[0],
    )


def _over_pairs(tests: Tests, evaluation: Evaluation) -> Tests:
    """The extreme group is chosen from the same data: p for as many tests as there are pairs."""
    groups = np.maximum(evaluation.takes_part.sum(axis=1, keepdims=True), 2)
    if (groups == 2).all():
        return tests
    p = multiplicity.tukey_kramer(tests.p, groups)
    names = tuple(f"{name} over pairs" for name in tests.names)
    about = (*tests.about, "pairs", evaluation.takes_part.tobytes())
    return replace(tests, p=p, names=names, about=about, joint=True, statistic=None)


def _two_sides(evaluation: Evaluation, one: GroupValues, two: GroupValues) -> Tests:
    inference = evaluation.terms.inference
    if one.fit is not None:
        t, df = one.fit.value / one.fit.error, np.asarray(one.fit.df)
        about = ("least squares", one.metric.id, evaluation.terms.parameters)
        statistic = Statistic("t", t, (np.broadcast_to(df, t.shape),))
        return Tests(
            distributions.t_two_sided(t, df), ("least squares t",), about=about, statistic=statistic
        )
    if one.binomial and two.binomial and by_clusters.is_clustered(evaluation):
        p = by_clusters.of_pair_tested(one, two)
        return Tests(p, (f"z, {CLUSTER_ROBUST}",), about=_about(one, evaluation), why=_FEW_CLUSTERS)
    if one.binomial and two.binomial:
        first, second = Sample.of(one), Sample.of(two)
        p, exact = compare_shares(first, second, inference)
        weighted = one.weight_sum is not None
        names = tuple(
            name_share_test(exact=few, inference=inference, weighted=weighted)
            for few in (False, True)
        )
        sides = (first.share, first.size, second.share, second.size)
        z, _ = contingency.z_test(*sides, yates=inference.yates)
        freedom = np.ones_like(z)
        statistic = Statistic("χ²", np.where(exact, np.nan, z * z), (freedom,))
        return Tests(p, names, exact.astype(np.int64), _about(one, evaluation), statistic=statistic)
    if one.deviation is not None and two.deviation is not None:
        both = (
            one.value,
            one.deviation,
            one.effective_n,
            two.value,
            two.deviation,
            two.effective_n,
        )
        if inference.t is TTest.WELCH:
            t, df, p = means.welch_test(*both, moderated=True)
        else:
            t, df, p = means.student_test(*both)
        name = "Welch" if inference.t is TTest.WELCH else "Student"
        return Tests(p, (name,), about=_about(one, evaluation), statistic=Statistic("t", t, (df,)))
    if one.scores is not None and two.scores is not None:
        *_, p = ranks.mann_whitney(one.scores.astype(np.float64), two.scores.astype(np.float64))
        return Tests(p, ("Mann–Whitney",), about=_about(one, evaluation))
    if one.shares is not None and two.shares is not None:
        counts = one.shares * one.effective_n[:, None], two.shares * two.effective_n[:, None]
        value, df, p = contingency.g_test(np.stack(counts, axis=-1).swapaxes(1, 2))
        return Tests(
            p, ("G",), about=_about(one, evaluation), statistic=Statistic("G", value, (df,))
        )
    return _by_interval(evaluation)


def _among_all(evaluation: Evaluation, reading: GroupValues) -> Tests:
    """All groups that take part at once."""
    asked = evaluation.metric
    assert isinstance(asked, Disparity)
    if reading.clustered is not None:
        return _among_clusters(evaluation, reading)
    if not reading.binomial and reading.deviation is None:
        why = "no test of a mean over groups"
        return _none(evaluation, why) if asked.mean else _by_interval(evaluation)
    alike = _of_groups(evaluation, reading)
    chosen = None if asked.mean else lambda crosses: _chosen(evaluation, crosses)
    return _of_strata(alike, _about(reading, evaluation), chosen)


def _of_groups(evaluation: Evaluation, reading: GroupValues) -> list[Alike]:
    """Whether the groups that take part are alike, in every stratum; of shares or of means."""
    among, inference = evaluation.takes_part, evaluation.terms.inference
    if not reading.binomial:
        return [alike_means(reading, z, some, inference) for z, some in enumerate(among)]
    hits = np.nan_to_num(reading.value) * reading.effective_n
    tables = np.stack([reading.effective_n - hits, hits], axis=1)
    weighted = reading.weight_sum is not None
    return [
        alike_classes(counts, some, inference, weighted=weighted)
        for counts, some in zip(tables, among, strict=True)
    ]


def _among_clusters(evaluation: Evaluation, reading: GroupValues) -> Tests:
    """The same of shares in clusters: z of two groups, of more the sizes that serve every pair."""
    alone, among = by_clusters.of_two_groups(evaluation), evaluation.takes_part
    robust = by_clusters.for_pairs(reading, among)
    size = np.nan_to_num(robust.effective_n)
    hits = np.nan_to_num(robust.value) * size
    alike = [
        alike_classes(counts, some, evaluation.terms.inference, weighted=True)
        for counts, some in zip(np.stack([size - hits, hits], axis=1), among, strict=True)
    ]
    asked = evaluation.metric
    is_mean = isinstance(asked, Disparity) and asked.mean
    of_pairs = None if is_mean else lambda crosses: _chosen(evaluation, crosses)
    tests = _of_strata(alike, _about(reading, evaluation), of_pairs)
    pair = by_clusters.of_pair_tested(*by_clusters.pair_of_spread(evaluation, reading))[:, :1]
    names = (f"z, {CLUSTER_ROBUST}", *(f"{name}, {CLUSTER_ROBUST}" for name in tests.names))
    which = np.where(alone, 0, _which(tests) + 1)
    beyond = tests.beyond

    def beyond_or_pair(crosses: Crosses) -> Floats:
        assert beyond is not None
        return np.where(alone, pair, beyond(crosses))

    return replace(
        tests, p=np.where(alone, pair, tests.p), names=names, which=which, why=_FEW_CLUSTERS,
        statistic=None, beyond=None if beyond is None else beyond_or_pair,
    )  # fmt: skip


def _of_strata(
    alike: Sequence[Alike], about: Key, chosen: Callable[[Crosses], Chosen] | None = None
) -> Tests:
    """The tests of all strata, each that groups are alike, as a column."""
    names = tuple(dict.fromkeys(one.name for one in alike)) or ("χ²",)
    which = np.array([[names.index(one.name)] for one in alike], dtype=np.int64).reshape(-1, 1)

    def beyond(crosses: Crosses) -> Floats:
        assert chosen is not None
        pairs = chosen(crosses)
        return np.array([[one.p if one.beyond is None else one.beyond(pairs)] for one in alike])

    p = np.array([[one.p] for one in alike], dtype=np.float64).reshape(-1, 1)
    return Tests(
        p, names, which, about,
        statistic=_statistics([one.statistic for one in alike]),
        beyond=None if chosen is None else beyond,
    )  # fmt: skip


def _statistics(each: Sequence[tuple[str, float, tuple[float, ...]] | None]) -> Statistic | None:
    """Those of all strata as columns; NaN where a stratum has another test."""
    known = next((one for one in each if one is not None), None)
    if known is None:
        return None
    letter, _, freedom = known
    nothing = (letter, float("nan"), (float("nan"),) * len(freedom))
    rows = [nothing if one is None or one[0] != letter else one for one in each]
    return Statistic(
        letter,
        np.array([[value] for _, value, _ in rows]),
        tuple(np.array([[df[at]] for _, _, df in rows]) for at in range(len(freedom))),
    )


def _of_whole(asked: TableMetric, evaluation: Evaluation) -> Tests:
    if asked.standard_normal:
        p = np.asarray(distributions.normal_two_sided(evaluation.value))
        return Tests(p, (asked.title,), about=(asked.id,))
    if asked.independence is None:
        return _by_interval(evaluation)
    terms, table = evaluation.terms, evaluation.table
    gap = by_clusters.rate_gap(evaluation) if table.clusters is not None else None
    if gap is not None and gap.group_values is not None:
        return replace(_among_clusters(gap, gap.group_values), beyond=None)
    tables = asked.independence(table, terms.minimum, terms.parameters)
    shown = [_shown(asked, evaluation, counts) for counts in tables]
    each = [
        _of_strata(
            [
                alike_classes(
                    counts[z], some, terms.inference,
                    weighted=table.squares is not None or table.clusters is not None,
                    information=asked.information,
                    shown=None if values is None else values[z],
                )
                for z, some in enumerate(evaluation.takes_part)
            ],
            (asked.independence, asked.information),
            None if values is None else _log_ratios,
        )
        for counts, values in zip(tables, shown, strict=True)
    ]  # fmt: skip
    cells = asked.cells if len(table.classes) == 2 and not asked.information else frozenset()
    if len(each) == 1:
        return each[0] if not cells else replace(each[0], about=(cells,))
    return _of_labels(each)


def _of_labels(each: Sequence[Tests]) -> Tests:
    """Of several tables the smallest p-value, for so many (Šidák)."""

    def beyond(crosses: Crosses) -> Floats:
        found = [one.p if one.beyond is None else one.beyond(crosses) for one in each]
        return np.asarray(multiplicity.sidak(np.fmin.reduce(found), len(each)))

    p = np.asarray(multiplicity.sidak(np.fmin.reduce([one.p for one in each]), len(each)))
    name = f"{each[0].names[0]}, Šidák over {len(each)}"
    return Tests(p, (name,), about=each[0].about, beyond=beyond)


def _shown(asked: TableMetric, evaluation: Evaluation, counts: Floats) -> Floats | None:
    """The probabilities [Z, K, G] whose log-ratios a limit on ε is held against; else None."""
    if not asked.of_log_ratios:
        return None
    alpha = evaluation.terms.parameters.per_outcome(counts.shape[1])
    smoothed = counts + alpha
    return np.asarray(smoothed / smoothed.sum(axis=1, keepdims=True))


def _log_ratios(crosses: Crosses) -> Chosen:
    """Which pairs of probabilities are so far apart."""

    def chosen(high: Floats, low: Floats) -> Marks:
        with np.errstate(divide="ignore", invalid="ignore"):
            return crosses(np.log(high) - np.log(low))

    return chosen


def _averages_by_clusters(evaluation: Evaluation, reading: GroupValues) -> Tests:
    """Averages over strata whose clusters tell how they vary: z."""
    other = evaluation.reference_values
    if other is None or evaluation.terms.policy in INCLUDING_GROUP:
        return _none(evaluation, _NOT_BY_CLUSTERS)
    p, about = (
        by_clusters.of_pair_tested(reading, other),
        (*_about(reading, evaluation), "averages"),
    )
    average = None if evaluation.terms.average is None else str(evaluation.terms.average)
    return Tests(p, (f"z, {CLUSTER_ROBUST}",), about=(*about, average), why=_FEW_CLUSTERS)


def _common_to_strata(evaluation: Evaluation, reading: GroupValues, inner: GroupValues) -> Tests:
    """An odds ratio that strata have in common: Cochran–Mantel–Haenszel."""
    policy, table = evaluation.terms.policy, evaluation.strata
    outer = None if evaluation.reference_values is None else evaluation.reference_values.strata
    if policy in INCLUDING_GROUP and table is not None:
        others = counts_of_others(counts_for(reading.metric, table), ReferencePolicy.OVERALL)
        outer = compute(reading.metric, others, evaluation.terms.parameters)
    if outer is None:
        return _none(evaluation, "there is no other side")
    joined = stratified.mantel_haenszel(*inner.trials, *outer.trials)
    value = np.asarray(joined.statistic)[None]
    tests = Tests(
        joined.p[None],
        ("Cochran–Mantel–Haenszel",),
        about=(*_about(inner, evaluation), "common odds ratio"),
        statistic=Statistic("χ²", value, (np.ones_like(value),)),
    )
    if policy not in EXTREME_REFERENCES:
        return tests
    asked = evaluation.metric
    assert isinstance(asked, Disparity)
    beside = _in_strata(evaluation, asked, reading)
    return replace(_over_pairs(tests, evaluation), together=beside)


def _in_strata(evaluation: Evaluation, asked: Disparity, reading: GroupValues) -> Together | None:
    """Whether groups are alike in every stratum, beside an average over them."""
    table, terms = evaluation.strata, evaluation.terms
    policy = terms.policy
    if table is None:
        return None
    tally = counts_for(reading.metric, table)
    each = compute(reading.metric, tally, terms.parameters)
    strata, name = table.known_strata, "Cochran–Mantel–Haenszel"
    alike = "alike in every stratum"
    if not reading.metric.is_proportion:
        return None if each.deviation is None else _means_in_strata(evaluation, each, strata)
    if asked.comparison.shape is ComparisonShape.SPREAD or policy in EXTREME_REFERENCES:
        among = evaluation.takes_part[0]
        if among.sum() > _MOST_STANDARDIZED:
            return None
        size = np.where(np.isnan(each.value), 0.0, each.effective_n)[strata][:, among]
        hits = np.nan_to_num(each.value)[strata][:, among] * size
        *_, p = stratified.generalized_cmh(np.stack([hits, size - hits], axis=1))
        return Together(name, alike, np.full_like(evaluation.value, float(p)), stays_open=True)
    others = reference_counts(tally, ReferencePolicy.REST, None)
    if policy not in {ReferencePolicy.REST, ReferencePolicy.OVERALL}:
        index = evaluation.second.max(axis=1)
        if (index == NO_GROUP).any():
            return None
        others = reference_counts(
            tally, ReferencePolicy.LEVEL, np.broadcast_to(index[:, None], (len(strata), 1))
        )
    rest = compute(reading.metric, others, terms.parameters)
    n, m = (np.where(np.isnan(one.value), 0.0, one.effective_n)[strata] for one in (each, rest))
    a, c = (np.nan_to_num(one.value)[strata] * size for one, size in ((each, n), (rest, m)))
    p = stratified.mantel_haenszel(a, n, c, m).p[None]
    return Together(name, alike, p, stays_open=True)


def _means_in_strata(evaluation: Evaluation, each: GroupValues, strata: Marks) -> Together:
    """Whether means are alike in every stratum: the smallest p-value of all strata (Šidák)."""
    among = evaluation.takes_part[0] & (each.effective_n > 0) & ~np.isnan(each.value)
    inference = evaluation.terms.inference
    p = np.array([
        alike_means(each, z, among[z], inference).p if among[z].sum() > 1 else np.nan
        for z in np.flatnonzero(strata).tolist()
    ])  # fmt: skip
    least = multiplicity.sidak(np.fmin.reduce(p, initial=1.0), max(int((~np.isnan(p)).sum()), 1))
    name = "Welch in every stratum, Šidák"
    shape = evaluation.value.shape
    return Together(name, "alike in every stratum", np.full(shape, least), stays_open=True)


def _of_change(evaluation: Evaluation) -> Tests:
    """One outcome against another of the same people: who changes, where that can be counted."""
    groups = pairs_of(evaluation)
    if groups is None or not isinstance(evaluation.metric, GroupMetric):
        return _by_interval(evaluation)
    return run_mcnemar(groups, (evaluation.metric.id, "paired"))


def run_mcnemar(groups: PairedCounts, about: Key) -> Tests:
    """McNemar's test that as many change one way as the other, of every group."""
    if groups.weighted:
        with np.errstate(divide="ignore", invalid="ignore"):
            z = (groups.first - groups.second) / np.sqrt(groups.first + groups.second)
        p = np.asarray(distributions.normal_two_sided(np.nan_to_num(z)))
        return Tests(p, ("McNemar",), about=about)
    counts = (np.rint(one).astype(np.int64) for one in (groups.first, groups.second))
    value, p, exact = contingency.mcnemar(*counts)
    statistic = Statistic("χ²", np.where(exact, np.nan, value), (np.ones_like(value),))
    names = ("McNemar", "McNemar, exact")
    return Tests(p, names, exact.astype(np.int64), about, statistic=statistic)


def _by_interval(evaluation: Evaluation) -> Tests:
    """The level at which parity leaves the interval, on the scale of z."""
    asked = evaluation.metric
    ideal = 0.0 if isinstance(asked, GroupMetric) or evaluation.subtracts else float(asked.ideal)
    first: Intervals = find_intervals(evaluation)
    if not first.method:
        return _none(evaluation, first.why.removeprefix("none: "))
    extreme = evaluation.terms.policy in EXTREME_REFERENCES
    judged = np.flatnonzero(evaluation.judged.any(axis=0)).tolist() if extreme else []
    if len(judged) > _MOST_EXTREME:
        return _none(evaluation, f"no test of over {_MOST_EXTREME} groups to an extreme one")
    apart = evaluation.value - ideal

    def room(z: Floats) -> Floats:
        """How far parity lies outside the interval of that z; negative inside."""
        alpha = _wide(evaluation, np.asarray(distributions.normal_two_sided(z)))
        if extreme:
            # All hold together, at one level in a stratum: each group has a level of its own.
            low, high = np.full_like(z, np.nan), np.full_like(z, np.nan)
            for at in judged:
                ends = find_intervals(evaluation, alpha[:, at : at + 1])
                low[:, at], high[:, at] = ends.low[:, at], ends.high[:, at]
        else:
            ends = find_intervals(evaluation, alpha)
            low, high = ends.low, ends.high
        return np.where(apart > 0, low - ideal, ideal - high)

    z = _root(room, np.abs(apart))
    open_ = np.isnan(first.low) | np.isnan(first.high)
    # Where parity is the value itself no interval is without it.
    p = np.where(np.abs(apart) < _NEAR, 1.0, distributions.normal_two_sided(z))
    p = np.where(open_, np.nan, p)
    return Tests(p, ("its interval",), about=_about_interval(evaluation), joint=extreme)


def _root(room: Callable[[Floats], Floats], apart: Floats) -> Floats:
    """The z at which room, `apart` at 0 and falling, is none: by secants that halving rescues."""
    low, at_low = np.zeros_like(apart), np.array(apart)
    high, at_high = np.full_like(apart, _FARTHEST), np.full_like(apart, np.nan)
    z = np.full_like(apart, 2.0)
    for _ in range(_STEPS):
        here = room(z)
        outside = here > 0
        settled = (np.abs(here) < _NEAR * apart) & (here != 0)
        # The end that stays counts half, so that the other one moves, too (Illinois).
        at_high = np.where(outside & (low > 0), at_high / 2, np.where(outside, at_high, here))
        at_low = np.where(outside, here, np.where(high < _FARTHEST, at_low / 2, at_low))
        low, high = np.where(outside, z, low), np.where(outside, high, z)
        secant = low + (high - low) * at_low / (at_low - at_high)
        # Ends that are cut off at parity, or infinite, tell no slope.
        usable = np.isfinite(secant) & (at_high < 0) & (secant > low) & (secant < high)
        middle = np.where(high == _FARTHEST, np.minimum(2 * z, (z + high) / 2), (low + high) / 2)
        z = np.where(settled, z, np.where(usable, secant, middle))
        if not (~settled & (high - low > _CLOSE * np.maximum(high, 1.0))).any():
            break
    return z


def _about_interval(evaluation: Evaluation) -> Key:
    """What makes an interval another one: a ratio's is not that of a difference."""
    asked, terms = evaluation.metric, evaluation.terms
    how = asked.comparison.id if isinstance(asked, Disparity) else ""
    average = None if terms.average is None else str(terms.average)
    return asked.id, how, terms.parameters, average


def _wide(evaluation: Evaluation, alpha: Any) -> Any:  # noqa: ANN401  # an array, or a column of it
    """The α of each value, as the interval takes it: one a stratum where the value is one."""
    return alpha[:, 0] if isinstance(evaluation.metric, TableMetric) else alpha

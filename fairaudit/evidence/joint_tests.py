"""Tests of several groups or strata: χ², Welch, permutations, Mantel–Haenszel; sparse strata.

If all groups are large, one joint test is enough: χ², G or Welch's F. Small groups would have no
influence on this test, or too much. So if there are small groups, the large groups are tested
jointly, all pairs are tested separately, and the smaller p-value counts. The joint test gets 9/10
of α, and the tests of pairs get 1/10 (weighted Bonferroni; Genovese, Roeder & Wasserman 2006,
Biometrika 93:509).

In a stratum of few people, such as a matched set, the interval is very wide. The sum of many such
intervals is far too wide on one side. So sparse strata use variances that add up over all strata.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairaudit.base.arrays import Alpha, Floats, Ints, Marks
from fairaudit.base.frozen import Frozen, replace
from fairaudit.evidence import clusters_and_pairs as clusters
from fairaudit.evidence.pair_tests import (
    LARGE_GROUP,
    PAIR_METHODS,
    PairTest,
    Sample,
    choose_pair_test,
    compare_shares,
    correct_over_pairs,
    find_smallest_p_of_pairs,
    make_pair_filter,
    make_share_test,
    name_share_test,
)
from fairaudit.evidence.records import (
    FEW_CLUSTERS,
    NO_CLUSTER_VARIANCE,
    NO_WEIGHTED_VARIANCE,
    IsBeyond,
    JointTest,
    PairFilter,
    SideTest,
    Statistic,
    Tests,
    find_test_key,
    stack_strata,
    take_smallest,
)
from fairaudit.metrics import (
    Comparison,
    Disparity,
    Evaluation,
    GroupMetric,
    GroupValues,
    Requirement,
    TableMetric,
)
from fairaudit.metrics.differential_fairness import find_overall_shares
from fairaudit.metrics.evaluation_record import (
    compute,
    counts_for,
    counts_of_others,
    reference_counts,
)
from fairaudit.metrics.group_metrics import CLUSTER_ROBUST, ValueKind
from fairaudit.metrics.pair_intervals import Interval, Scale, weigh_alike
from fairaudit.metrics.terms import (
    EXTREME_REFERENCES,
    INCLUDING_GROUP,
    NO_GROUP,
    Inference,
    ReferencePolicy,
    ZTest,
)
from fairaudit.stats import contingency, means, multiplicity
from fairaudit.stats import strata as stratified
from fairaudit.stats.contingency import LEAST_EXPECTED, MOST_DEALT

MOST_PERMUTED = 300
"""With more groups than this, the exact moments of χ² are used instead of permutations."""

FOR_ALL, FOR_PAIRS = 0.9, 0.1
"""The shares of α for the joint test and for the tests of pairs."""

_FAR, _OFF = 0.01, 2.0
"""If the p of χ² or G is below `_FAR`, the other p replaces it if over `_OFF` times as large."""

_WHOLE = 1e-6
"""Effective numbers of people that differ from whole numbers by less than this count as whole."""


def compare_classes(
    counts: Floats,
    among: Marks,
    inference: Inference,
    *,
    weighted: bool,
    information: bool = False,
    limited: Floats | None = None,
) -> JointTest:
    """The test of whether classes depend on groups, in a table [K, G] of (effective) people.

    If `information` is set, G replaces χ². A limit applies to `limited`, or to the shares if it is
    None.
    """
    occurs, present = counts[:, among].sum(axis=1) > 0, among & (counts.sum(axis=0) > 0)
    groups_present = np.flatnonzero(present)
    kept = counts[occurs][:, groups_present]
    # Effective counts are counts of people if all weights are equal.
    weighted = weighted and not np.allclose(kept, np.rint(kept), rtol=0.0, atol=_WHOLE)
    classes, groups = kept.shape
    if min(classes, groups) < 2:
        return JointTest(1.0, "χ²")
    few = contingency.expected_counts(kept) < LEAST_EXPECTED
    if classes == groups == 2 and (few.any() or not information):
        # Two groups and two classes are tested as two shares.
        pair = _sample(kept, 0, weighted=weighted)
        p, exact = make_share_test(pair, inference)(np.array([0]), np.array([1]))
        name = name_share_test(exact=bool(exact[0]), inference=inference, weighted=weighted)
        (a, b), (n, m) = pair.share, pair.size
        pooled = inference.z is ZTest.POOLED
        z = float(contingency.find_z(a, n, b, m, pooled=pooled, yates=inference.yates))
        return JointTest(float(p[0]), name, None if exact[0] else ("χ²", z * z, (1.0,)))
    core = np.asarray(~few.any(axis=0))
    if core.all():
        return _compare_large_groups(kept, information=information)
    name, joint = "χ²", float("nan")
    if core.sum() > 1:
        large = _compare_large_groups(kept[:, core], information=information)
        name, joint = large.name, large.p
    else:
        core = np.ones_like(core)
        if not weighted:
            # Draws depend on the order of groups. Sort by counts, so that names have no influence.
            whole = np.rint(kept[:, np.lexsort(kept)]).astype(np.int64)
            joint, name = _compare_few(whole, inference, information=information)
    samples = [_sample(kept, y, weighted=weighted) for y in range(classes)]
    pairs = _AllPairs(
        tests=[make_share_test(sample, inference) for sample in samples],
        shares=[sample.share for sample in samples],
        values=[sample.share for sample in samples]
        if limited is None
        else limited[occurs][:, groups_present],
        precision=samples[0].size,
    )
    return _with_pairs(joint, name, core, pairs)


def _compare_large_groups(counts: Floats, *, information: bool) -> JointTest:
    """χ², or G with `information`, of groups with enough expected people.

    Far in the tail, χ² is too large if a class is rare, and G is too large if a cell is nearly
    empty. So the other test replaces a very small p-value if its p-value is over twice as large.
    """
    tests = (("χ²", contingency.chi_square), ("G", contingency.g_test))
    found = []
    for name, test in reversed(tests) if information else tests:
        value, df, p = (float(part) for part in test(counts))
        found.append(JointTest(p, name, (name, value, (df,))))
    asked, other = found
    return other if asked.p < _FAR and other.p > _OFF * asked.p else asked


def _sample(counts: Floats, y: int, *, weighted: bool) -> Sample:
    """The share of one class in each group of a table [K, G]."""
    size = counts.sum(axis=0)
    share = counts[y] / size
    if weighted:
        return Sample(share, size, None, None)
    over, under = (np.rint(count).astype(np.int64) for count in (counts[y], size))
    return Sample(share, size, over, under)


class _AllPairs(Frozen):
    """All pairs of groups, with a test, the shares [G] and the `values` [G] for each class.

    Limits apply to `values`. `precision` is larger for groups that are known more precisely.
    """

    tests: Sequence[PairTest]
    shares: Sequence[Floats]
    values: Sequence[Floats] | Floats
    precision: Floats

    def smallest(self, pair_filter: PairFilter | None = None) -> float:
        """The smallest p-value of the pairs that the filter keeps, corrected for all pairs."""
        among = np.ones(len(self.precision), dtype=np.bool_)
        values = self.shares if pair_filter is None else self.values
        p = [
            find_smallest_p_of_pairs(test, value, self.precision, among, pair_filter)
            for test, value in zip(self.tests, values, strict=True)
        ]
        # Two classes have the same differences, with opposite signs.
        distinct = 1 if len(self.tests) == 2 else len(self.tests)
        return float(multiplicity.sidak(float(np.fmin.reduce(p)), distinct))

    def may_decide(self, core: Marks, pair_filter: PairFilter) -> bool:
        """Whether the filter keeps the pair of the highest and the lowest large group (`core`)."""
        ends = [(value[core].max(), value[core].min()) for value in self.values]
        return any(bool(pair_filter(*map(np.atleast_1d, pair)).any()) for pair in ends)


def _with_pairs(joint: float, name: str, core: Marks, pairs: _AllPairs) -> JointTest:
    """The joint test of the large groups `core`, combined with the tests of all pairs."""
    if np.isnan(joint):
        return JointTest(pairs.smallest(), "pairs", beyond=pairs.smallest)
    joint = min(joint / FOR_ALL, 1.0)

    def test_pairs(pair_filter: PairFilter | None = None) -> float:
        return float(np.minimum(pairs.smallest(pair_filter) / FOR_PAIRS, 1.0))

    def beyond(pair_filter: PairFilter) -> float:
        p = test_pairs(pair_filter)
        return float(np.fmin(p, joint)) if pairs.may_decide(core, pair_filter) else p

    return JointTest(float(np.fmin(joint, test_pairs())), f"{name} and every pair", beyond=beyond)


def _compare_few(counts: Ints, inference: Inference, *, information: bool) -> tuple[float, str]:
    """The p-value of a table [K, G] with small expected counts, and the name of its test."""
    if counts.sum() >= MOST_DEALT:
        # Compare the share of each class in each group with its share in all other groups.
        of_group, of_class = counts.sum(axis=0, keepdims=True), counts.sum(axis=1, keepdims=True)
        group = Sample.of_counts(counts, of_group)
        others = Sample.of_counts(of_class - counts, of_group.sum() - of_group)
        p, _ = compare_shares(group, others, inference)
        # Two classes, or two groups, have the same differences, with opposite signs.
        tests = np.prod([1 if number == 2 else number for number in counts.shape])
        smallest = float(np.minimum(np.nanmin(p, initial=1.0) * tests, 1.0))
        return smallest, "each against the rest, Bonferroni"
    if counts.shape[1] > MOST_PERMUTED:
        return contingency.moment_test(counts), "χ² by exact moments"
    if len(counts) == 2 and not information:
        return contingency.permute_chi_square(counts), "permutations"
    test = contingency.g_test if information else contingency.chi_square
    return contingency.permutation_test(counts, lambda dealt: test(dealt)[0]), "permutations"


def compare_means(values: GroupValues, z: int, among: Marks, inference: Inference) -> JointTest:
    """The test of whether all group means in a stratum are equal."""
    assert values.deviation is not None
    value, deviation, size = values.value[z], values.deviation[z], values.effective_n[z]
    test = choose_pair_test(values, z, inference)
    assert test is not None
    members = np.flatnonzero(among)
    if len(members) == 2:
        p = float(test(members[:1], members[1:])[0][0])
        return JointTest(p, PAIR_METHODS[ValueKind.MEAN].name(values, inference)[0])
    large = (size[members] >= LARGE_GROUP) & (deviation[members] > 0)
    joint = float("nan")
    if large.sum() > 1:
        sides = (part[members][large] for part in (value, deviation, size))
        statistic, first, second, joint = (float(part) for part in means.welch_anova(*sides))
        if large.all():
            return JointTest(joint, "Welch's F", ("F", statistic, (first, second)))
    precision = np.nan_to_num(size[members] ** 2 / deviation[members])
    pairs = _AllPairs(
        [lambda i, j: test(members[i], members[j])], [value[members]], [value[members]], precision
    )
    return _with_pairs(joint, "Welch's F", large, pairs)


def run_spread_tests(evaluation: Evaluation, values: GroupValues) -> Tests:
    """The tests of whether all groups that take part are equal."""
    if values.clustered is not None:
        return _run_clustered_tests(evaluation, values)
    joint_tests = run_joint_tests(evaluation, values)
    return _stack_spread_tests(evaluation, values, joint_tests)


def run_joint_tests(evaluation: Evaluation, values: GroupValues) -> list[JointTest]:
    """For each stratum, the test of whether its groups have equal shares or means."""
    among, inference = evaluation.takes_part, evaluation.terms.inference
    if not values.binomial:
        return [compare_means(values, z, groups, inference) for z, groups in enumerate(among)]
    effective_n = np.nan_to_num(values.effective_n)
    hits = np.nan_to_num(values.value) * effective_n
    weighted = values.weight_sum is not None or values.clustered is not None
    return [
        compare_classes(counts, groups, inference, weighted=weighted)
        for counts, groups in zip(np.stack([effective_n - hits, hits], axis=1), among, strict=True)
    ]


def _run_clustered_tests(evaluation: Evaluation, values: GroupValues) -> Tests:
    """The tests of shares in clusters: z for two groups, joint tests for more groups."""
    robust = clusters.adjust_for_pairs(values, evaluation.takes_part)
    joint_tests = run_joint_tests(evaluation, robust)
    tests = _stack_spread_tests(evaluation, values, joint_tests)
    is_pair = clusters.has_two_groups(evaluation)
    pair_p = clusters.run_pair_z_test(*clusters.find_spread_pair(evaluation, values))[:, :1]
    beyond = tests.beyond

    def beyond_or_pair(is_beyond: IsBeyond) -> Floats:
        assert beyond is not None
        return np.where(is_pair, pair_p, beyond(is_beyond))

    return replace(
        tests,
        p=np.where(is_pair, pair_p, tests.p),
        names=(f"z, {CLUSTER_ROBUST}", *(f"{name}, {CLUSTER_ROBUST}" for name in tests.names)),
        index=np.where(is_pair, 0, tests.name_index + 1),
        why=FEW_CLUSTERS,
        statistic=None,
        beyond=None if beyond is None else beyond_or_pair,
    )


def _stack_spread_tests(
    evaluation: Evaluation, values: GroupValues, joint_tests: Sequence[JointTest]
) -> Tests:
    key = find_test_key(values, evaluation)
    return stack_strata(joint_tests, key, lambda is_beyond: make_pair_filter(evaluation, is_beyond))


def run_table_tests(metric: TableMetric, evaluation: Evaluation) -> Tests:
    """The tests of whether outcomes are independent of groups."""
    assert metric.independence is not None
    table = evaluation.table
    by_classes = table.clusters is not None and Requirement.CLASSES in metric.requirements
    gap = clusters.evaluate_rate_gap(evaluation) if by_classes else None
    if gap is not None and gap.group_values is not None:
        return replace(_run_clustered_tests(gap, gap.group_values), beyond=None)

    def filter_log_ratios(is_beyond: IsBeyond) -> PairFilter:
        """A filter that marks the pairs of probabilities whose log-ratio is beyond a limit."""

        def is_pair_beyond(high: Floats, low: Floats) -> Marks:
            with np.errstate(divide="ignore", invalid="ignore"):
                return is_beyond(np.log(high) - np.log(low))

        return is_pair_beyond

    terms, among, tests = evaluation.terms, evaluation.takes_part, []
    for counts in metric.independence(table, terms):
        limited = None
        if metric.of_log_ratios:
            # A limit on ε applies to the log-ratios of these probabilities.
            smoothed = counts + terms.parameters.pseudo_counts(find_overall_shares(counts, among))
            limited = np.asarray(smoothed / smoothed.sum(axis=1, keepdims=True))
        joint_tests = [
            compare_classes(
                counts[z],
                groups,
                terms.inference,
                weighted=table.squares is not None or table.clusters is not None,
                information=metric.information,
                limited=None if limited is None else limited[z],
            )
            for z, groups in enumerate(among)
        ]
        key = (metric.independence, metric.information)
        tests.append(
            stack_strata(joint_tests, key, filter_log_ratios if metric.of_log_ratios else None)
        )
    if len(tests) > 1:
        return take_smallest(tests)
    cells = metric.cells if len(table.classes) == 2 and not metric.information else frozenset()
    return replace(tests[0], key=(cells,)) if cells else tests[0]


_FEW = 20
"""A stratum is sparse if a side has fewer people than this."""

_MANY = 10
"""A sum over at least this number of strata with equal weights is approximately normal."""

_MOST_STANDARDIZED = 300
"""Averages of more groups than this are not tested, because all pairs would need variances."""

_ALIKE_IN_STRATA = "equal in every stratum"


def find_sparse_interval(
    evaluation: Evaluation, comparison: Comparison, alpha: Alpha
) -> Interval | None:
    """Intervals of averages over mostly sparse strata; NaN for other averages, None without any."""
    table, averaged = evaluation.strata, evaluation.averaged
    if table is None or averaged is None or table.squares is not None:
        return None
    of_gap = comparison.scale is Scale.DIFFERENCE
    known = of_gap or comparison.scale is Scale.RATIO
    if evaluation.terms.policy in EXTREME_REFERENCES or not known:
        return None
    values, reference = evaluation.group_values, evaluation.terms.reference
    if values is None or reference is None:
        return None
    own = compute(values.metric, counts_for(values.metric, table), evaluation.terms.parameters)
    sides = own, _compute_reference(evaluation, values.metric, reference.policy)
    if not all(side.binomial for side in sides):
        return None
    weights = averaged.first_weights
    if not np.array_equal(weights, averaged.second_weights, equal_nan=True):
        return None
    n, m = (np.where(averaged.support, side.effective_n, 0.0) for side in sides)
    # Strata count as mostly sparse if they are many and sparse strata have most of the weight.
    mix = np.nan_to_num(weights)
    is_many = mix.sum(axis=0) ** 2 / np.square(mix).sum(axis=0) >= _MANY
    few = np.where(np.minimum(n, m) < _FEW, mix, 0.0).sum(axis=0)
    a, c = (np.nan_to_num(side.value) * size for side, size in zip(sides, (n, m), strict=True))
    is_sparse = is_many & (few > mix.sum(axis=0) / 2) & stratified.are_enough(mix, a, n, c, m)
    if not is_sparse.any():
        return None
    find_ends = stratified.average_difference if of_gap else stratified.average_ratio
    low, high = (
        np.atleast_2d(np.where(is_sparse, end, np.nan))
        for end in find_ends(weights, a, n, c, m, alpha)
    )
    interval = Interval(low, high, f"{'Sato' if of_gap else 'Greenland–Robins'}, for sparse strata")
    return comparison.rescale(interval)


def _compute_reference(
    evaluation: Evaluation, metric: GroupMetric, policy: ReferencePolicy
) -> GroupValues:
    """The values of the reference in each stratum: of a group, or of the people of `policy`."""
    table, index = evaluation.strata, None
    assert table is not None
    if (evaluation.second != NO_GROUP).any():
        index = np.broadcast_to(evaluation.second.max(), (len(table.strata), 1))
        policy = ReferencePolicy.LEVEL
    others = reference_counts(counts_for(metric, table), policy, index)
    return compute(metric, others, evaluation.terms.parameters)


def run_clustered_average_tests(evaluation: Evaluation, values: GroupValues) -> Tests:
    """The z tests of averages over strata, using the variance between clusters."""
    reference, terms = evaluation.reference_values, evaluation.terms
    if reference is None or terms.policy in INCLUDING_GROUP:
        return Tests.none(evaluation, NO_CLUSTER_VARIANCE)
    p = clusters.run_pair_z_test(values, reference)
    average = None if terms.average is None else str(terms.average)
    key = (*find_test_key(values, evaluation), "averages", average)
    return Tests(p, (f"z, {CLUSTER_ROBUST}",), key=key, why=FEW_CLUSTERS)


def run_common_odds_tests(
    evaluation: Evaluation, values: GroupValues, in_strata: GroupValues
) -> Tests:
    """Cochran–Mantel–Haenszel tests of the common odds ratio over all strata."""
    policy, table = evaluation.terms.policy, evaluation.strata
    reference = evaluation.reference_values
    others = None if reference is None else reference.strata
    if policy in INCLUDING_GROUP and table is not None:
        counts = counts_of_others(counts_for(values.metric, table), ReferencePolicy.OVERALL)
        others = compute(values.metric, counts, evaluation.terms.parameters)
    if others is None:
        return Tests.none(evaluation, "no group to compare with")
    if not weigh_alike(in_strata, others):
        return Tests.none(evaluation, NO_WEIGHTED_VARIANCE)
    joined = stratified.mantel_haenszel(*in_strata.trials, *others.trials)
    value = np.asarray(joined.statistic)[None]
    tests = Tests(
        joined.p[None],
        ("Cochran–Mantel–Haenszel",),
        key=(*find_test_key(in_strata, evaluation), "common odds ratio"),
        statistic=Statistic("χ²", value, (np.ones_like(value),)),
    )
    if policy not in EXTREME_REFERENCES:
        return tests
    side_test = run_strata_side_test(evaluation, values)
    return replace(correct_over_pairs(tests, evaluation), side_test=side_test)


def run_strata_side_test(evaluation: Evaluation, values: GroupValues) -> SideTest | None:
    """The additional test of whether groups are equal in each stratum; None if impossible."""
    table, policy, disparity = evaluation.strata, evaluation.terms.policy, evaluation.metric
    assert isinstance(disparity, Disparity)
    if table is None:
        return None
    in_strata = compute(
        values.metric, counts_for(values.metric, table), evaluation.terms.parameters
    )
    strata = table.known_strata
    if not values.metric.is_proportion:
        if in_strata.summary is None:
            return None
        # Test means in each stratum, and correct the smallest p-value for all strata (Šidák).
        known = (in_strata.effective_n > 0) & ~np.isnan(in_strata.value)
        present, inference = evaluation.takes_part[0] & known, evaluation.terms.inference
        each = np.array([
            compare_means(in_strata, z, present[z], inference).p if present[z].sum() > 1 else np.nan
            for z in np.flatnonzero(strata).tolist()
        ])  # fmt: skip
        tested = max(int((~np.isnan(each)).sum()), 1)
        smallest = multiplicity.sidak(np.fmin.reduce(each, initial=1.0), tested)
        p = np.full(evaluation.value.shape, smallest)
        return SideTest("Welch in every stratum, Šidák", _ALIKE_IN_STRATA, p, stays_open=True)
    if disparity.comparison.is_max_min or policy in EXTREME_REFERENCES:
        among = evaluation.takes_part[0]
        if among.sum() > _MOST_STANDARDIZED:
            return None
        hits, people = (counts[:, among] for counts in _count_hits(in_strata, strata))
        *_, joint = stratified.generalized_cmh(np.stack([hits, people - hits], axis=1))
        p = np.full_like(evaluation.value, float(joint))
    else:
        is_pooled = evaluation.terms.policy in {ReferencePolicy.REST, ReferencePolicy.OVERALL}
        if not is_pooled and (evaluation.second.max(axis=1) == NO_GROUP).any():
            return None
        others = _compute_reference(evaluation, values.metric, ReferencePolicy.REST)
        sides = (*_count_hits(in_strata, strata), *_count_hits(others, strata))
        p = stratified.mantel_haenszel(*sides).p[None]
    return SideTest("Cochran–Mantel–Haenszel", _ALIKE_IN_STRATA, p, stays_open=True)


def _count_hits(values: GroupValues, strata: Marks) -> tuple[Floats, Floats]:
    """The numerators (hits) and the people of some strata; 0 if the share is undefined."""
    people = np.where(np.isnan(values.value), 0.0, values.effective_n)[strata]
    return np.nan_to_num(values.value)[strata] * people, people

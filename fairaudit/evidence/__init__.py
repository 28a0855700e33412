"""Evidence for values: their intervals and tests, and the families in which tests are corrected.

By default, the tests of all checks that can fail are one family (`inference.family`): their
p-values are adjusted for the number of different tests. Checks that only warn are another family.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np

from fairaudit.base.arrays import Floats, Marks
from fairaudit.base.frozen import Frozen, field, replace
from fairaudit.evidence.methods import has_direct_test
from fairaudit.evidence.records import IsBeyond, SignificanceAt, TestKey, Tests
from fairaudit.evidence.value_intervals import Intervals, find_check_intervals
from fairaudit.evidence.value_tests import run_tests
from fairaudit.metrics import Disparity, Evaluation
from fairaudit.metrics.estimate import Significance
from fairaudit.metrics.terms import (
    EXTREME_REFERENCES,
    NO_GROUP,
    Correction,
    Family,
    Inference,
    ReferencePolicy,
)


class Evidence(Frozen, eq=False):
    """The evidence for values [Z, W]; `adjusted` are the p-values corrected for `family` tests."""

    intervals: Intervals
    tests: Tests
    adjusted: Floats
    family: int
    inference: Inference

    def significance_at(self, z: int, w: int) -> Significance | None:
        """The test result of one value; None if the value has no test."""
        if np.isnan(self.tests.p[z, w]):
            return None
        adjusted, words = float(self.adjusted[z, w]), self.inference.correction.words
        return self.tests.significance_at(z, w, adjusted, self.family, words)

    def is_significant(self, z: int, w: int) -> bool:
        """Whether the adjusted p-value is below the level."""
        return bool(self.adjusted[z, w] < self.inference.alpha)

    def mark_significant_beyond(self, is_beyond: IsBeyond) -> Marks:
        """Marks the values that are significantly beyond a limit, as an array [Z, W].

        A maximum is marked if any of its candidates is beyond the limit and significant.
        """
        if self.tests.beyond is None:
            return np.asarray(self.adjusted < self.inference.alpha)
        p = self.tests.beyond(is_beyond)
        bonferroni = np.fmax(self.inference.correction.bound(p, self.family), self.adjusted)
        # The family contains only the largest candidate, so only its p-value is adjusted.
        adjusted = np.where(p <= self.tests.p, self.adjusted, bonferroni)
        return np.asarray(~np.isnan(p) & (adjusted < self.inference.alpha))

    def side_test_leaves_open(self, z: int, w: int) -> bool:
        """Whether the additional test of a value is significant and leaves its check undecided."""
        side_test = self.tests.side_test
        if side_test is None or not side_test.stays_open:
            return False
        return bool(side_test.p[z, w] * self.family < self.inference.alpha)


def correct_families(
    evaluations: Mapping[Hashable, tuple[Evaluation, bool]],
) -> dict[Hashable, Evidence]:
    """The evidence for each evaluation, with p-values adjusted within its family.

    `evaluations` maps names to an evaluation and to whether its check can fail (not only warn).
    """
    families: dict[Hashable, _Family] = {}
    tested: dict[Hashable, tuple[Hashable, Tests, TestKey]] = {}
    for name, (evaluation, fails) in evaluations.items():
        family: Hashable
        match evaluation.terms.inference.family:
            case Family.SPEC:
                family = fails
            case Family.OUTCOME:
                against = evaluation.parts[1].table.of if evaluation.subtracts else None
                family = (evaluation.table.of, against, fails)
            case Family.CHECK:
                family = name
        members = families.setdefault(family, _Family(evaluation.terms.inference.correction))
        tests = run_tests(evaluation)
        tested[name] = family, tests, members.add(evaluation, tests)
    adjusted = {family: members.adjust() for family, members in families.items()}
    sizes = {family: members.size for family, members in families.items()}
    evidence: dict[Hashable, Evidence] = {}
    for name, (evaluation, _) in evaluations.items():
        family, tests, key = tested[name]
        p = np.where(_mark_tested(evaluation, tests), adjusted[family][key], np.nan)
        size, inference = sizes[family], evaluation.terms.inference
        if tests.joint:
            # Only the smallest p-value is in the family. Other p-values are corrected by
            # Bonferroni, an upper bound for every available correction.
            raw, smallest = tests.p, np.fmax.reduce(p, axis=1, keepdims=True)
            bonferroni = np.maximum(inference.correction.bound(raw, size), smallest)
            known = evaluation.judged & ~np.isnan(raw) & ~np.isnan(smallest)
            p = np.where(np.isnan(p) & known, bonferroni, p)
        evidence[name] = Evidence(find_check_intervals(evaluation), tests, p, size, inference)
    return evidence


class _Family(Frozen, eq=False):
    """The tests of a family by key: `counted` marks the tested values, and `p` are the p-values."""

    correction: Correction
    counted: dict[TestKey, Marks] = field(default_factory=dict)
    p: dict[TestKey, Floats] = field(default_factory=dict)

    def add(self, evaluation: Evaluation, tests: Tests) -> TestKey:
        """Adds the tests of an evaluation, and returns their key in this family.

        A test is added once. A test with a known key but other p-values gets a longer key.
        """
        test, places = _identify_test(evaluation, tests), _mark_tested(evaluation, tests)
        p = tests.p
        if _is_of_one_pair(evaluation, tests):
            p = np.fmax.reduce(np.where(places, p, np.nan), axis=1, keepdims=True)
            places = np.asarray(places.any(axis=1, keepdims=True))
        while not _agree(self.p.get(test, p), p):
            test = (*test, "another")
        self.counted[test] = self.counted.get(test, places) | places
        # Evaluations with the same test may have p-values for different values: a ratio may be
        # undefined where a difference is defined.
        known = self.p.get(test, p)
        self.p[test] = np.where(np.isnan(known), p, known)
        return test

    @property
    def size(self) -> int:
        """The number of different tests."""
        return sum(int(marks.sum()) for marks in self.counted.values())

    def adjust(self) -> dict[TestKey, Floats]:
        """The adjusted p-values of each test; NaN for values that are not tested."""
        p = [self.p[test][marks] for test, marks in self.counted.items()]
        ends = np.cumsum([len(row) for row in p])[:-1]
        rows = np.split(self.correction.adjust(np.concatenate(p)), ends)
        adjusted = {test: np.full(marks.shape, np.nan) for test, marks in self.counted.items()}
        for (test, marks), row in zip(self.counted.items(), rows, strict=True):
            adjusted[test][marks] = row
        return adjusted


def _agree(first: Floats, second: Floats) -> bool:
    """Whether two arrays of p-values are equal up to rounding, except where a p-value is NaN."""
    if first.shape != second.shape:
        return False
    both = ~np.isnan(first) & ~np.isnan(second)
    return bool(np.allclose(first[both], second[both], rtol=1e-6, atol=0.0))


def _is_of_one_pair(evaluation: Evaluation, tests: Tests) -> bool:
    """Whether there are only two groups, so that all comparisons test the same pair."""
    table = evaluation.table
    two = ((table.n > 0) & table.known).sum(axis=1) == 2
    compared = isinstance(evaluation.metric, Disparity) and not tests.joint
    return compared and bool((two | ~table.known_strata).all())


def _mark_tested(evaluation: Evaluation, tests: Tests) -> Marks:
    """Marks the tests of judged values in known strata, as an array [Z, W].

    Of the joint tests in a stratum, only the test with the smallest p-value is marked.
    """
    known = evaluation.table.known_strata[:, None]
    has_test = np.asarray(evaluation.judged & known & ~np.isnan(tests.p))
    if not tests.joint:
        return has_test
    smallest = np.argmin(np.where(has_test, tests.p, np.inf), axis=1)
    return np.asarray(has_test & (np.arange(has_test.shape[1]) == smallest[:, None]))


def _identify_test(evaluation: Evaluation, tests: Tests) -> TestKey:
    """The key of a tested hypothesis and its groups: evaluations with equal keys have one test.

    The key of a spread depends on the groups, so a difference and a ratio of the same rates are one
    test. Two rates have different tests if a group has too few events for only one of the rates. A
    comparison with everybody has the same test as a comparison with the rest. If there are only two
    groups, all these comparisons are one test.
    """
    table, terms = evaluation.table, evaluation.terms
    given = () if evaluation.strata is None else evaluation.strata.given
    subtracted = evaluation.parts[1].table.of if evaluation.subtracts else None
    people = (table.of, subtracted, table.by, table.given, given, terms.of_class, terms.at)
    if _is_of_one_pair(evaluation, tests):
        return tests.key, people, "pair"
    if evaluation.spread:
        return tests.key, people, evaluation.takes_part.tobytes()
    policy = terms.policy
    # An extreme group is chosen from the data: its test differs from the test of a named group.
    extreme = policy if policy in EXTREME_REFERENCES else None
    if (evaluation.second != NO_GROUP).any():
        return tests.key, people, extreme, evaluation.second.tobytes()
    pooled = ReferencePolicy.REST if policy is ReferencePolicy.OVERALL else policy
    return tests.key, people, extreme, pooled


def find_significances(evaluation: Evaluation) -> SignificanceAt:
    """The test of each group against its reference; the tests of one stratum are a family.

    Only shares, means, ranks and classes are tested, because their tests need no interval.
    """
    metric, alone = evaluation.metric, evaluation.spread or evaluation.subtracts
    if alone or not isinstance(metric, Disparity) or not has_direct_test(metric):
        tests = Tests.none(evaluation, "")
    else:
        tests = run_tests(evaluation)
    return tests.correct_strata(evaluation.judged, evaluation.terms.inference.correction)


def extend_family(evaluation: Evaluation, before: Evidence) -> Evidence:
    """The evidence for a spread that is judged again without excluded groups.

    Bonferroni corrects the p-value for the family of `before`: an upper bound for every correction.
    """
    alone = correct_families({"": (evaluation, True)})[""]
    adjusted = before.inference.correction.bound(alone.tests.p, before.family)
    return replace(alone, adjusted=adjusted, family=before.family)

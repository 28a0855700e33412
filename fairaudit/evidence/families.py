"""What speaks for each value a check judges: its interval, its test, its place among all tests.

The tests behind the gates of one spec and outcome are one family: their p-values are adjusted for
how many different ones there are. Gates that only warn are a family of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from fairaudit.arrays import Floats, Marks
from fairaudit.estimate import Beside, Significance
from fairaudit.evidence.intervals import Intervals, find_intervals
from fairaudit.evidence.significance import Crosses, Tests, has_direct_test, run_tests
from fairaudit.metrics import NO_GROUP, Disparity, Evaluation, ReferencePolicy
from fairaudit.metrics.terms import EXTREME_REFERENCES, Correction, Inference
from fairaudit.stats import multiplicity

_CORRECTIONS: Mapping[Correction, Callable[[Floats], Floats]] = {
    Correction.HOLM: multiplicity.holm,
    Correction.BENJAMINI_HOCHBERG: multiplicity.benjamini_hochberg,
    Correction.NONE: np.asarray,
}


def correct_p_values(p: Floats, correction: Correction) -> Floats:
    """The p-values of one family, adjusted; NaN stays NaN and does not count."""
    return np.asarray(_CORRECTIONS[correction](p))


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """The evidence for every value of an evaluation, [Z, W]; `adjusted` is NaN without a test."""

    intervals: Intervals
    tests: Tests
    adjusted: Floats
    family: int
    inference: Inference

    def significance(self, z: int, w: int) -> Significance | None:
        """The test of one value; None where it has none."""
        p = float(self.tests.p[z, w])
        if np.isnan(p):
            return None
        correction = self.inference.correction.words
        adjusted = float(self.adjusted[z, w])
        return significance_at(self.tests, z, w, adjusted, self.family, correction)

    def significant(self, z: int, w: int) -> bool:
        """Whether the adjusted p-value is below what the audit allows."""
        return bool(self.adjusted[z, w] < self.inference.alpha)

    def significant_beyond(self, crosses: Crosses) -> Marks:
        """Whether what lies beyond a limit is significant, [Z, W].

        Of a value that is the largest of many not the largest alone counts: any that lies beyond.
        """
        if self.tests.beyond is None:
            return np.asarray(self.adjusted < self.inference.alpha)
        p = self.tests.beyond(crosses)
        times = 1 if self.inference.correction is Correction.NONE else self.family
        others = np.fmax(np.minimum(p * times, 1.0), self.adjusted)
        adjusted = np.where(p <= self.tests.p, self.adjusted, others)
        return np.asarray(~np.isnan(p) & (adjusted < self.inference.alpha))

    def together(self, z: int, w: int) -> bool:
        """Whether the test beside the value is significant, and so leaves its check open."""
        other = self.tests.together
        if other is None or not other.stays_open:
            return False
        return bool(other.p[z, w] * self.family < self.inference.alpha)


def significance_at(  # the parts of one row
    tests: Tests, z: int, w: int, adjusted: float, family: int, correction: str
) -> Significance:
    """The test of one value, with its statistic where it has one."""
    statistic: float | None = None
    freedom: tuple[float, ...] = ()
    letter = ""
    if tests.statistic is not None and np.isfinite(tests.statistic.value[z, w]):
        letter, statistic = tests.statistic.letter, float(tests.statistic.value[z, w])
        freedom = tuple(float(df[z, w]) for df in tests.statistic.freedom)
    other = tests.together
    beside = None
    if other is not None and not np.isnan(other.p[z, w]):
        beside = Beside(other.name, other.hypothesis, float(other.p[z, w]))
    return Significance(
        tests.name(z, w), float(tests.p[z, w]), adjusted, family, correction,
        letter, statistic, freedom, beside,
    )  # fmt: skip


def correct_families(
    asked: Mapping[Hashable, tuple[Evaluation, Hashable]],
) -> dict[Hashable, Evidence]:
    """The evidence for each evaluation, adjusted within the family that stands beside it."""
    bands = {name: find_intervals(one) for name, (one, _) in asked.items()}
    found = {name: run_tests(one) for name, (one, _) in asked.items()}
    counted = {name: _counted(one, found[name]) for name, (one, _) in asked.items()}
    kinds = {name: (family, _kind(one, found[name])) for name, (one, family) in asked.items()}
    members: dict[Hashable, dict[Hashable, Marks]] = {}
    for name, (family, kind) in kinds.items():
        mine = members.setdefault(family, {})
        mine[kind] = mine[kind] | counted[name] if kind in mine else counted[name]
    # Of one kind all have the same p-values, wherever they have one: a ratio may be undefined.
    values: dict[Hashable, Floats] = {}
    for name, kind_of in kinds.items():
        p = found[name].p
        known = values.get(kind_of, p)
        values[kind_of] = np.where(np.isnan(known), p, known)
    adjusted = {
        family: _adjusted(mine, {kind: values[family, kind] for kind in mine}, asked)
        for family, mine in members.items()
    }
    sizes = {
        family: sum(int(marks.sum()) for marks in mine.values()) for family, mine in members.items()
    }
    proofs: dict[Hashable, Evidence] = {}
    for name, (evaluation, _) in asked.items():
        family, kind = kinds[name]
        of_values = np.where(counted[name], adjusted[family][kind], np.nan)
        if found[name].joint:
            of_values = _joined(of_values, found[name].p, sizes[family], evaluation)
        inference = evaluation.terms.inference
        proofs[name] = Evidence(bands[name], found[name], of_values, sizes[family], inference)
    return proofs


def _adjusted(
    members: Mapping[Hashable, Marks],
    values: Mapping[Hashable, Floats],
    asked: Mapping[Hashable, tuple[Evaluation, Hashable]],
) -> dict[Hashable, Floats]:
    """The adjusted p-values of one family, by kind; all of a spec are corrected alike."""
    inference = next(iter(asked.values()))[0].terms.inference
    flat = [values[kind][marks] for kind, marks in members.items()]
    adjusted = correct_p_values(np.concatenate(flat), inference.correction)
    found, start = {}, 0
    for kind, marks in members.items():
        found[kind] = np.full(marks.shape, np.nan)
        stop = start + int(marks.sum())
        found[kind][marks] = adjusted[start:stop]
        start = stop
    return found


def _counted(evaluation: Evaluation, found: Tests) -> Marks:
    """Which tests count in the family, [Z, W]: of those that are judged, in a known stratum.

    Of joint ones that of the smallest p-value.
    """
    known = evaluation.table.known_strata[:, None]
    has_test = np.asarray(evaluation.judged & known & ~np.isnan(found.p))
    if not found.joint:
        return has_test
    smallest = np.argmin(np.where(has_test, found.p, np.inf), axis=1)
    return np.asarray(has_test & (np.arange(has_test.shape[1]) == smallest[:, None]))


def _joined(adjusted: Floats, p: Floats, family: int, evaluation: Evaluation) -> Floats:
    """The adjusted p-values of joint tests: the smallest as it is, the others at most that sure.

    Theirs are multiplied by the size of the family, which no correction exceeds.
    """
    smallest = np.fmax.reduce(adjusted, axis=1, keepdims=True)
    times = 1 if evaluation.terms.inference.correction is Correction.NONE else family
    others = np.maximum(np.minimum(p * times, 1.0), smallest)
    known = evaluation.judged & ~np.isnan(p) & ~np.isnan(smallest)
    return np.where(np.isnan(adjusted) & known, others, adjusted)


def _kind(evaluation: Evaluation, found: Tests) -> Hashable:
    """What makes the tests of two evaluations one: what is tested, of whom, against whom.

    A spread is tested by all its groups, so that a difference and a ratio of the same rates are one
    test; of other groups, as where a rate has too few events, it is another. Against everybody is
    tested against the rest.
    """
    table, terms = evaluation.table, evaluation.terms
    given = () if evaluation.strata is None else evaluation.strata.given
    whom = (table.of, table.by, table.given, given, terms.of_class, terms.at)
    if evaluation.spread:
        return found.about, whom, evaluation.takes_part.tobytes()
    crowd = ReferencePolicy.REST if terms.policy is ReferencePolicy.OVERALL else terms.policy
    is_crowd = bool((evaluation.second == NO_GROUP).all())
    # An extreme group is chosen from the data: its test is not that of a group named beforehand.
    chosen = terms.policy if terms.policy in EXTREME_REFERENCES else None
    return found.about, whom, chosen, crowd if is_crowd else evaluation.second.tobytes()


def find_significances(evaluation: Evaluation) -> dict[tuple[int, int], Significance]:
    """The tests of every group against its reference, by place; those of one table are a family.

    Only shares, means, ranks and classes are tested here: they have a test of their own.
    """
    asked = evaluation.metric
    if evaluation.spread or evaluation.subtracts or not isinstance(asked, Disparity):
        return {}
    if not all(has_direct_test(quantity) for quantity, _ in asked.parts):
        return {}
    inference, found = evaluation.terms.inference, run_tests(evaluation)
    p = np.where(evaluation.judged, found.p, np.nan)
    correction = inference.correction
    places = {}
    for z, row in enumerate(p):
        at = np.flatnonzero(~np.isnan(row)).tolist()
        adjusted = correct_p_values(row, correction).tolist()
        for w in at:
            places[z, w] = significance_at(found, z, w, adjusted[w], len(at), correction.words)
    return places


def extend_family(evaluation: Evaluation, before: Evidence) -> Evidence:
    """The evidence where groups of a spread are set aside: a test more in the family it was of.

    It is adjusted for the whole family (Bonferroni), which no method of correction exceeds.
    """
    alone, inference = correct_families({"": (evaluation, "")})[""], before.inference
    adjusted = alone.tests.p
    if inference.correction is not Correction.NONE:
        adjusted = np.minimum(adjusted * before.family, 1.0)
    return replace(alone, adjusted=adjusted, family=before.family)

"""What speaks for each value a check judges: its interval, its test, its place among all tests.

The tests behind the gates of one spec and outcome are one family: their p-values are adjusted for
how many different ones there are. Gates that only warn are a family of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from fairaudit.arrays import Floats
from fairaudit.estimate import Significance
from fairaudit.evidence.intervals import Band, band
from fairaudit.evidence.significance import Tests, is_tested, tested
from fairaudit.metrics import NOBODY, Evaluation, Measure, Policy, Terms
from fairaudit.metrics.inference import Correction, Inference
from fairaudit.stats import families

_CORRECTIONS: Mapping[Correction, Callable[[Floats], Floats]] = {
    Correction.HOLM: families.holm,
    Correction.BENJAMINI_HOCHBERG: families.benjamini_hochberg,
    Correction.NONE: np.asarray,
}
_NAMES = {
    Correction.HOLM: "Holm",
    Correction.BENJAMINI_HOCHBERG: "Benjamini–Hochberg",
    Correction.NONE: "none",
}


@dataclass(frozen=True, slots=True, eq=False)
class Proof:
    """The evidence for every value of an evaluation, [Z, W]; `adjusted` is NaN without a test."""

    band: Band
    tests: Tests
    adjusted: Floats
    family: int
    inference: Inference

    def significance(self, z: int, w: int) -> Significance | None:
        """The test of one value; None where it has none."""
        p = float(self.tests.p[z, w])
        if np.isnan(p):
            return None
        correction = _NAMES[self.inference.correction]
        name, adjusted = self.tests.name(z, w), float(self.adjusted[z, w])
        return Significance(name, p, adjusted, self.family, correction)

    def significant(self, z: int, w: int) -> bool:
        """Whether the adjusted p-value is below what the audit allows."""
        return bool(self.adjusted[z, w] < self.inference.alpha)


def prove(asked: Mapping[Hashable, tuple[Evaluation, Hashable]]) -> dict[Hashable, Proof]:
    """The evidence for each evaluation, adjusted within the family that stands beside it."""
    bands = {name: band(one) for name, (one, _) in asked.items()}
    found = {name: tested(one) for name, (one, _) in asked.items()}
    members: dict[Hashable, dict[Hashable, float]] = {}
    for name, (evaluation, family) in asked.items():
        mine = members.setdefault(family, {})
        mine.update({key: p for key, _, p in _keyed(evaluation, found[name])})
    adjusted: dict[Hashable, dict[Hashable, float]] = {}
    proofs = {}
    for name, (evaluation, family) in asked.items():
        inference = evaluation.terms.inference
        if family not in adjusted:
            correct = _CORRECTIONS[inference.correction]
            values = correct(np.array(list(members[family].values()), dtype=np.float64))
            adjusted[family] = dict(zip(members[family], values.tolist(), strict=True))
        of_values = np.full_like(evaluation.value, np.nan)
        for key, at, _ in _keyed(evaluation, found[name]):
            of_values[at] = adjusted[family][key]
        size = len(members[family])
        proofs[name] = Proof(bands[name], found[name], of_values, size, inference)
    return proofs


def significances(evaluation: Evaluation) -> dict[tuple[int, int], Significance]:
    """The tests of every group against its reference, by place; those of one table are a family.

    Only shares, means, ranks and classes are tested here: they have a test of their own.
    """
    asked = evaluation.asked
    if evaluation.spread or evaluation.subtracts or not isinstance(asked, Measure):
        return {}
    if not all(is_tested(quantity) for quantity, _ in asked.parts):
        return {}
    inference, found = evaluation.terms.inference, tested(evaluation)
    p = np.where(evaluation.judged, found.p, np.nan)
    correct, name = _CORRECTIONS[inference.correction], _NAMES[inference.correction]
    places = {}
    for z in range(len(p)):
        adjusted, family = correct(p[z]), int((~np.isnan(p[z])).sum())
        for w in np.flatnonzero(~np.isnan(p[z])).tolist():
            test = found.name(z, w)
            places[z, w] = Significance(test, float(p[z, w]), float(adjusted[w]), family, name)
    return places


def _crowd(terms: Terms) -> Policy | None:
    policy = None if terms.reference is None else terms.reference.policy
    return Policy.REST if policy is Policy.OVERALL else policy


def prove_again(evaluation: Evaluation, before: Proof) -> Proof:
    """The evidence where groups of a spread are set aside: a test more in the family it was of.

    It is adjusted for the whole family (Bonferroni), which no method of correction exceeds.
    """
    alone, inference = prove({"": (evaluation, "")})[""], before.inference
    adjusted = alone.tests.p
    if inference.correction is not Correction.NONE:
        adjusted = np.minimum(adjusted * before.family, 1.0)
    return replace(alone, adjusted=adjusted, family=before.family)


def _keyed(
    evaluation: Evaluation, found: Tests
) -> Iterator[tuple[Hashable, tuple[int, int], float]]:
    """Every test of an evaluation: what makes it one, its place, its p-value.

    A spread is tested by all its groups, so that a difference and a ratio of the same rates are one
    test. Of other groups, as where a rate has too few events, it is another test.
    """
    table, terms = evaluation.table, evaluation.terms
    given = () if evaluation.strata is None else evaluation.strata.given
    terms_of_test = (table.of, table.by, table.given, given, terms.of_class, terms.at)
    for z in np.flatnonzero(table.known_strata).tolist():
        for w in np.flatnonzero(evaluation.judged[z] & ~np.isnan(found.p[z])).tolist():
            pair: Hashable = tuple(np.flatnonzero(evaluation.takes_part[z]).tolist())
            if not evaluation.spread:
                other = int(evaluation.second[z, w])
                # Against everybody is tested against the rest.
                pair = (table.groups[w], _crowd(terms) if other == NOBODY else table.groups[other])
            key = (found.about, terms_of_test, table.strata[z], pair)
            yield key, (z, w), float(found.p[z, w])

"""What speaks for each value a check judges: its interval, its test, its place among all tests.

The tests behind the gates of one spec and outcome are one family: their p-values are adjusted for
how many different ones there are. Gates that only warn are a family of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from fairaudit.arrays import Floats
from fairaudit.estimate import Significance
from fairaudit.evidence.intervals import Band, band
from fairaudit.evidence.significance import Tests, tested
from fairaudit.metrics import NOBODY, Evaluation
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


def _keyed(
    evaluation: Evaluation, found: Tests
) -> Iterator[tuple[Hashable, tuple[int, int], float]]:
    """Every test of an evaluation: what makes it one, its place, its p-value.

    A spread is tested by all its groups, so that a difference and a ratio of the same rates are one
    test.
    """
    table, terms = evaluation.table, evaluation.terms
    given = () if evaluation.strata is None else evaluation.strata.given
    terms_of_test = (table.of, table.by, table.given, given, terms.of_class, terms.at)
    for z in np.flatnonzero(table.known_strata).tolist():
        for w in np.flatnonzero(evaluation.judged[z] & ~np.isnan(found.p[z])).tolist():
            pair: Hashable = "all"
            if not evaluation.spread:
                other = int(evaluation.second[z, w])
                crowd = terms.reference and terms.reference.policy
                pair = (table.groups[w], crowd if other == NOBODY else table.groups[other])
            key = (found.about, terms_of_test, table.strata[z], pair)
            yield key, (z, w), float(found.p[z, w])

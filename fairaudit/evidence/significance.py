"""The test of no disparity behind whatever an audit compares, from counts alone.

Two shares: a z test, or Fisher's exact one where a count below 5 is expected. Several: chi-square,
or permutations. Means: Welch. Ranks: Mann–Whitney. Coefficients: Student's t. Shares alike in
strata: Cochran–Mantel–Haenszel. What has an interval and none of these is tested by it: p is the
level at which parity leaves it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from fairaudit.arrays import Floats, Ints, Marks
from fairaudit.evidence import clusters as by_clusters
from fairaudit.evidence.intervals import Band, band, lacks_interval, pairs_of
from fairaudit.evidence.samples import EXPECTED, Sample, name_of_test, two_samples
from fairaudit.metrics import (
    NOBODY,
    Asked,
    Evaluation,
    FirstOf,
    Measure,
    Paired,
    Policy,
    Quantity,
    Reading,
    Whole,
)
from fairaudit.metrics.classes import Shares
from fairaudit.metrics.inference import TTest
from fairaudit.metrics.measures import REMAINDER, Shape
from fairaudit.metrics.quantities import BY_CLUSTERS, Formula
from fairaudit.metrics.reading import all_others, beside, read, tally_for
from fairaudit.metrics.reference import EXTREMES, WITH_ITSELF
from fairaudit.metrics.scores import Average, Distribution
from fairaudit.stats import families, means, normal, permutation, proportions, ranks, simultaneous
from fairaudit.stats import strata as stratified

MOST_PERMUTED = 300
"""Of more groups than that no people are dealt out anew: χ² is judged by its exact moments."""

MOST_DEALT = 10**9
"""So many people, and more, are not dealt out: each group is tested against all others."""

_MOST_STANDARDIZED = 300
_FARTHEST = 38.0
_STEPS = 36
_FEW_CLUSTERS = by_clusters.TOO_FEW.removeprefix("none: ")
_NOT_BY_CLUSTERS = by_clusters.NOT_BY_CLUSTERS.removeprefix("none: ")

Key: TypeAlias = tuple[object, ...]
"""What makes two tests one: the same counts, compared in the same way."""


@dataclass(frozen=True, slots=True, eq=False)
class Tests:
    """The p-value of every value, [Z, W], and the test that gave it; NaN, and `why`, without one.

    `exact` marks where a test that counts tables took the place of the usual one. `about` is what
    is tested: tests of the same about the same groups are one. Those that are `joint` allow for
    each other already: in a family they are one test, that of the smallest p-value.
    """

    p: Floats
    usual: str
    exactly: str = ""
    exact: Marks | None = None
    about: Key = ()
    why: str = ""
    joint: bool = False

    def name(self, z: int, w: int) -> str:
        """The test behind one p-value."""
        return self.exactly if self.exact is not None and self.exact[z, w] else self.usual


def tested(evaluation: Evaluation) -> Tests:
    """The test of no disparity for every value of an evaluation."""
    lacking = by_clusters.lacks_clusters(evaluation)
    if lacking is not None:
        return _none(evaluation, lacking.removeprefix("none: "))
    with np.errstate(invalid="ignore", divide="ignore"):
        found = _tests(evaluation)
    unknown = np.isnan(evaluation.value) | by_clusters.few_clusters(evaluation)
    p = np.where(unknown, np.nan, found.p)
    return replace(found, p=p)


def lacks_test(asked: Asked, policy: str | None = None) -> str | None:
    """Why a measure has no test of no disparity, whatever the data; None where it has one.

    The policy is that of its reference: to which group it is compared.
    """
    if isinstance(asked, Quantity):
        return f"{asked.title.lower()} compares nobody: `conclusive` holds it against the limit"
    if isinstance(asked, Whole):
        has_one = asked.independence is not None or asked.standard_normal
        return None if has_one else lacks_interval(asked)
    if asked.mean and asked.fitted:
        return lacks_interval(asked)
    quantities = [quantity for quantity, _ in asked.parts]
    if asked.fold is not REMAINDER and all(map(is_tested, quantities)):
        return None
    if policy in EXTREMES:
        return f"chance picks the {policy} group: `conclusive` allows for that"
    return lacks_interval(asked)


def is_tested(quantity: Quantity) -> bool:
    """Whether its values can be tested without their interval: shares, means, ranks, classes."""
    by_deviation = isinstance(quantity, Formula) and quantity.deviation_of is not None
    whole = isinstance(quantity, Average | Distribution | Shares)
    if isinstance(quantity, FirstOf):
        return all(map(is_tested, quantity.options))
    return by_deviation or whole or quantity.share


def _tests(evaluation: Evaluation) -> Tests:
    asked = evaluation.asked
    if evaluation.subtracts:
        return _of_change(evaluation)
    if isinstance(asked, Quantity):
        return _none(evaluation, f"{asked.title.lower()} compares nobody")
    if isinstance(asked, Whole):
        return _of_whole(asked, evaluation)
    if evaluation.parts:
        return _of_parts([_tests(part) for part in evaluation.parts])
    reading = evaluation.reading
    if reading is None:
        return _none(evaluation, "there is nothing to compare")
    if evaluation.averaged is not None:
        return _in_strata(evaluation, asked, reading)
    if asked.mean or asked.comparison.shape is Shape.SPREAD:
        return _among_all(evaluation, reading)
    return _between_two(evaluation, reading)


def _none(evaluation: Evaluation, why: str) -> Tests:
    return Tests(np.full_like(evaluation.value, np.nan), "", why=why)


def _of_parts(parts: Sequence[Tests]) -> Tests:
    """Of what is made of several rates: the smallest p-value, for so many (Šidák)."""
    least = np.min([part.p for part in parts], axis=0)
    exact = [part.exact for part in parts if part.exact is not None]
    return Tests(
        np.asarray(families.sidak(least, len(parts))),
        f"{parts[0].usual}, Šidák over {len(parts)}",
        f"{parts[0].exactly}, Šidák over {len(parts)}",
        np.logical_or.reduce(exact) if exact else None,
        about=tuple(part.about for part in parts),
        why=next((part.why for part in parts if part.why), ""),
    )


def _about(reading: Reading) -> Key:
    """What a share is of: a true positive and a false negative rate are tested by one table."""
    quantity = reading.quantity
    cells = frozenset(getattr(quantity, "cells", ()))
    return (cells,) if reading.binomial else (quantity.id,)


def _between_two(evaluation: Evaluation, reading: Reading) -> Tests:
    """Each group against its reference; against everybody means against the rest."""
    policy = evaluation.terms.policy
    other = evaluation.against
    if policy is not None and policy in WITH_ITSELF:
        rest = all_others(tally_for(reading.quantity, evaluation.table), policy)
        other = read(reading.quantity, rest, evaluation.terms.parameters)
    if other is None:
        return _none(evaluation, "there is no other side")
    found = _two_sides(evaluation, reading, other)
    return _over_pairs(found, evaluation) if policy in EXTREMES else found


def _over_pairs(found: Tests, evaluation: Evaluation) -> Tests:
    """Chance has a part in who is the highest: p for as many tests as there are pairs (Šidák)."""
    pairs = [max(simultaneous.pairs(int(k)), 1) for k in evaluation.takes_part.sum(axis=1)]
    if max(pairs, default=1) == 1:
        return found
    p = np.asarray(families.sidak(found.p, np.array(pairs)[:, None]))
    names = (f"{name}, Šidák over pairs" for name in (found.usual, found.exactly))
    about = (*found.about, "pairs", *pairs)
    return Tests(p, next(names), next(names), found.exact, about, joint=True)


def _two_sides(evaluation: Evaluation, one: Reading, two: Reading) -> Tests:
    if one.fit is not None:
        p = means.two_sided(one.fit.value / one.fit.error, np.asarray(one.fit.df))
        return Tests(p, "least squares t", about=("least squares", one.quantity.id))
    if one.binomial and two.binomial and by_clusters.is_clustered(evaluation):
        p = by_clusters.of_pair_tested(one, two)
        return Tests(p, f"z, {BY_CLUSTERS}", about=_about(one), why=_FEW_CLUSTERS)
    if one.binomial and two.binomial:
        inference = evaluation.terms.inference
        p, exact = two_samples(Sample.of(one), Sample.of(two), inference)
        usual, exactly = (name_of_test(exact=each, inference=inference) for each in (False, True))
        return Tests(p, usual, exactly, exact, _about(one))
    if one.deviation is not None and two.deviation is not None:
        welch = evaluation.terms.inference.t is TTest.WELCH
        test = means.welch_test if welch else means.student_test
        *_, p = test(one.value, one.deviation, one.size, two.value, two.deviation, two.size)
        return Tests(p, "Welch" if welch else "Student", about=_about(one))
    if one.scores is not None and two.scores is not None:
        *_, p = ranks.mann_whitney(one.scores.astype(np.float64), two.scores.astype(np.float64))
        return Tests(p, "Mann–Whitney", about=_about(one))
    if one.shares is not None and two.shares is not None:
        counts = one.shares * one.size[:, None], two.shares * two.size[:, None]
        *_, p = proportions.g_test(np.stack(counts, axis=-1).swapaxes(1, 2))
        return Tests(p, "G", about=_about(one))
    return _by_interval(evaluation)


def _among_all(evaluation: Evaluation, reading: Reading) -> Tests:
    """All groups that take part at once."""
    among = evaluation.takes_part
    if reading.clustered is not None:
        return _among_clusters(evaluation, reading)
    if reading.binomial:
        hits = np.nan_to_num(reading.value) * reading.size
        tables = np.stack([hits, reading.size - hits], axis=1)
        weighted = reading.weight is not None
        found = _independent([tables], among, weighted=weighted)
        return _reshaped(found, _about(reading), evaluation)
    if reading.deviation is not None:
        rows = [
            means.welch_anova(
                reading.value[z][one], reading.deviation[z][one], reading.size[z][one]
            )
            for z, one in enumerate(among)
        ]
        p = np.array([float(row[-1]) for row in rows])
        return _reshaped(Tests(p, "Welch's F"), _about(reading), evaluation)
    if isinstance(evaluation.asked, Measure) and evaluation.asked.mean:
        return _none(evaluation, "no test of a mean over groups")
    return _by_interval(evaluation)


def _among_clusters(evaluation: Evaluation, reading: Reading) -> Tests:
    """The same of shares in clusters: z of two groups, χ² of more, with the sizes for pairs."""
    alone, among = by_clusters.of_two_groups(evaluation), evaluation.takes_part
    robust = by_clusters.for_pairs(reading, among)
    hits = np.nan_to_num(robust.value) * np.nan_to_num(robust.size)
    tables = np.stack([hits, np.nan_to_num(robust.size) - hits], axis=1)
    found = _independent([tables], among, weighted=True)
    p = by_clusters.of_pair_tested(*by_clusters.pair_of_spread(evaluation, reading))[:, :1]
    name = "z" if alone.all() else found.usual
    p = np.where(alone, p, found.p.reshape(p.shape))
    return Tests(p, f"{name}, {BY_CLUSTERS}", about=_about(reading), why=_FEW_CLUSTERS)


def _reshaped(found: Tests, about: Key, evaluation: Evaluation) -> Tests:
    """One p-value a stratum, [Z], as a column."""
    shape = (len(evaluation.value), 1)
    exact = None if found.exact is None else found.exact.reshape(shape)
    return Tests(found.p.reshape(shape), found.usual, found.exactly, exact, about, found.why)


def _of_whole(asked: Whole, evaluation: Evaluation) -> Tests:
    if asked.standard_normal:
        p = np.asarray(normal.two_sided(evaluation.value))
        return Tests(p, asked.title, about=(asked.id,))
    if asked.independence is None:
        return _by_interval(evaluation)
    terms, table = evaluation.terms, evaluation.table
    gap = by_clusters.rate_gap(evaluation) if table.clusters is not None else None
    if gap is not None and gap.reading is not None:
        return _among_clusters(gap, gap.reading)
    tables = asked.independence(table, terms.minimum, terms.parameters)
    among = evaluation.takes_part
    weighted = table.squares is not None or table.clusters is not None
    by_information = asked.information
    found = _independent(tables, among, weighted=weighted, by_information=by_information)
    about: Key = ("classes", len(tables), by_information)
    if len(table.classes) == 2 and len(tables) == 1 and not by_information:
        # Of two classes it is the test of the selection rate.
        about = (frozenset({"selected", "rejected"}),)
    if table.clusters is not None:
        # The classes of a group have one effective size, the lowest: not that of a rate's own test.
        found = replace(found, usual=f"{found.usual}, {BY_CLUSTERS}")
        about = (*about, BY_CLUSTERS)
    return _reshaped(found, about, evaluation)


def _independent(
    tables: Sequence[Floats],
    among: Marks,
    *,
    weighted: bool,
    by_information: bool = False,
) -> Tests:
    """Whether classes are independent of groups, in every stratum: tables [Z, K, G].

    Of several tables the smallest p-value counts, for so many.
    """
    usual = "G" if by_information else "χ²"
    few_name, test_few = _test_of_few(tables, among, by_information=by_information)
    found, exact = [], np.zeros(len(among), dtype=np.bool_)
    for counts in tables:
        kept = np.where(among[:, None], counts, 0.0)
        test = proportions.g_test if by_information else proportions.chi_square
        *_, p = test(kept)
        p = np.array(p, dtype=np.float64)
        for z in np.flatnonzero(_few(kept)).tolist():
            if not weighted:
                p[z], exact[z] = test_few(_occurring(np.rint(kept[z]).astype(np.int64))), True
        found.append(p)
    if len(found) == 1:
        return Tests(found[0], usual, few_name, exact)
    p = np.asarray(families.sidak(np.nanmin(found, axis=0), len(found)))
    more = f", Šidák over {len(found)}"
    return Tests(p, usual + more, few_name + more, exact)


def _few(counts: Floats) -> Marks:
    """Where a cell of a table [Z, K, G] is expected to have fewer than five people."""
    of_class, of_group = counts.sum(axis=2), counts.sum(axis=1)
    of_class = np.where(of_class > 0, of_class, np.inf).min(axis=1, initial=np.inf)
    of_group = np.where(of_group > 0, of_group, np.inf).min(axis=1, initial=np.inf)
    total = counts.sum(axis=(1, 2))
    return np.asarray((of_class * of_group < EXPECTED * total) & np.isfinite(of_class * of_group))


def _test_of_few(
    tables: Sequence[Floats], among: Marks, *, by_information: bool
) -> tuple[str, Callable[[Ints], float]]:
    """The test of a table [K, G] where few people are expected in a cell, and its name."""
    if max(counts.sum(axis=(1, 2)).max(initial=0) for counts in tables) >= MOST_DEALT:
        return "each against the rest, Bonferroni", _each
    if among.sum(axis=1).max(initial=0) > MOST_PERMUTED:
        return "χ² by exact moments", permutation.by_moments
    if by_information:
        return "permutations", _permuted(lambda counts: proportions.g_test(counts)[0])
    if tables[0].shape[1] == 2:
        return "permutations", _permuted(_gap)
    return "permutations", _permuted(lambda counts: proportions.chi_square(counts)[0])


def _permuted(statistic: Callable[[Floats], Floats]) -> Callable[[Ints], float]:
    """A test by dealing people out anew."""

    def test(counts: Ints) -> float:
        return 1.0 if min(counts.shape) < 2 else permutation.permuted(counts, statistic)

    return test


def _each(counts: Ints) -> float:
    """The smallest p-value of a class in a group against all other groups, for so many."""
    of_group, of_class = counts.sum(axis=0, keepdims=True), counts.sum(axis=1, keepdims=True)
    others = of_group.sum() - of_group
    sides = np.broadcast_arrays(counts, of_group, of_class - counts, others)
    shares = (counts / of_group, of_group, sides[2] / others, others)
    _, p = proportions.z_test(*shares)
    few = proportions.smallest_expected(*shares) < EXPECTED
    p = np.where(few, 1.0, p)
    p[few] = proportions.fisher(*(side[few] for side in sides))
    # Of two, the one mirrors the other.
    tests = np.prod([1 if number == 2 else number for number in counts.shape])
    return float(np.minimum(np.nanmin(p, initial=1.0) * tests, 1.0))


def _occurring(counts: Ints) -> Ints:
    """The classes and the groups of a table [K, G] that have people."""
    return np.asarray(counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0])


def _gap(tables: Floats) -> Floats:
    """The highest share of a group minus the lowest, of each table [D, 2, G]."""
    shares = tables[:, 0] / tables.sum(axis=1)
    return np.asarray(shares.max(axis=1) - shares.min(axis=1))


def _in_strata(evaluation: Evaluation, asked: Measure, reading: Reading) -> Tests:
    """Rates averaged over strata: Cochran–Mantel–Haenszel within them."""
    if by_clusters.is_clustered(evaluation):
        return _averages_by_clusters(evaluation, reading)
    if reading.strata is not None and asked.comparison.exact_in_strata is not None:
        return _common_to_strata(evaluation, reading, reading.strata)
    table, terms = evaluation.strata, evaluation.terms
    policy = terms.policy
    if table is None or not reading.quantity.share:
        return _by_interval(evaluation)
    tally = tally_for(reading.quantity, table)
    each = read(reading.quantity, tally, terms.parameters)
    strata = table.known_strata
    if asked.comparison.shape is Shape.SPREAD:
        among = evaluation.takes_part[0]
        if among.sum() > _MOST_STANDARDIZED:
            return _none(evaluation, f"no test of over {_MOST_STANDARDIZED} groups in strata")
        size = np.where(np.isnan(each.value), 0.0, each.size)[strata][:, among]
        hits = np.nan_to_num(each.value)[strata][:, among] * size
        *_, p = stratified.generalized(np.stack([hits, size - hits], axis=1))
        found = Tests(np.array([float(p)]), "Cochran–Mantel–Haenszel")
        return _reshaped(found, (*_about(each), "in strata"), evaluation)
    others = beside(tally, Policy.REST, None)
    if policy not in {Policy.REST, Policy.OVERALL}:
        index = evaluation.second.max(axis=1)
        if (index == NOBODY).any():
            return _none(evaluation, "there is no other side")
        others = beside(tally, Policy.LEVEL, np.broadcast_to(index[:, None], (len(strata), 1)))
    rest = read(reading.quantity, others, terms.parameters)
    n, m = (np.where(np.isnan(one.value), 0.0, one.size)[strata] for one in (each, rest))
    a, c = (np.nan_to_num(one.value)[strata] * size for one, size in ((each, n), (rest, m)))
    p = stratified.mantel_haenszel(a, n, c, m).p
    found = Tests(p[None], "Cochran–Mantel–Haenszel", about=(*_about(each), "in strata"))
    return _over_pairs(found, evaluation) if policy in EXTREMES else found


def _averages_by_clusters(evaluation: Evaluation, reading: Reading) -> Tests:
    """Averages over strata whose clusters tell how they vary: z."""
    other = evaluation.against
    if other is None or evaluation.terms.policy in WITH_ITSELF:
        return _none(evaluation, _NOT_BY_CLUSTERS)
    p, about = by_clusters.of_pair_tested(reading, other), (*_about(reading), "averages")
    average = None if evaluation.terms.average is None else str(evaluation.terms.average)
    return Tests(p, f"z, {BY_CLUSTERS}", about=(*about, average), why=_FEW_CLUSTERS)


def _common_to_strata(evaluation: Evaluation, reading: Reading, inner: Reading) -> Tests:
    """An odds ratio that strata have in common: Cochran–Mantel–Haenszel."""
    policy, table = evaluation.terms.policy, evaluation.strata
    outer = None if evaluation.against is None else evaluation.against.strata
    if policy in WITH_ITSELF and table is not None:
        others = all_others(tally_for(reading.quantity, table), Policy.OVERALL)
        outer = read(reading.quantity, others, evaluation.terms.parameters)
    if outer is None:
        return _none(evaluation, "there is no other side")
    p = stratified.mantel_haenszel(*inner.trials, *outer.trials).p
    found = Tests(p[None], "Cochran–Mantel–Haenszel", about=(*_about(inner), "common odds ratio"))
    return _over_pairs(found, evaluation) if policy in EXTREMES else found


def _of_change(evaluation: Evaluation) -> Tests:
    """One outcome against another of the same people: who changes, where that can be counted."""
    groups = pairs_of(evaluation)
    if groups is None or not isinstance(evaluation.asked, Quantity):
        return _by_interval(evaluation)
    return pairs_tested(groups, (evaluation.asked.id, "paired"))


def pairs_tested(groups: Paired, about: Key) -> Tests:
    """McNemar's test that as many change one way as the other, of every group."""
    if groups.weighted:
        with np.errstate(divide="ignore", invalid="ignore"):
            z = (groups.first - groups.second) / np.sqrt(groups.first + groups.second)
        return Tests(np.asarray(normal.two_sided(np.nan_to_num(z))), "McNemar", about=about)
    counts = (np.rint(one).astype(np.int64) for one in (groups.first, groups.second))
    _, p, exact = proportions.mcnemar(*counts)
    return Tests(p, "McNemar", "McNemar, exact", exact, about)


def _by_interval(evaluation: Evaluation) -> Tests:
    """The level at which parity leaves the interval, found by halving on the scale of z."""
    asked = evaluation.asked
    ideal = 0.0 if isinstance(asked, Quantity) or evaluation.subtracts else float(asked.ideal)
    first: Band = band(evaluation)
    policy = evaluation.terms.policy
    if not first.method or policy in EXTREMES:
        return _none(evaluation, first.why.removeprefix("none: ") or "chance picks the reference")
    low = np.zeros_like(evaluation.value)
    high = np.full_like(evaluation.value, _FARTHEST)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        found = band(evaluation, _wide(evaluation, normal.two_sided(middle)))
        inside = (found.low <= ideal) & (ideal <= found.high)
        low, high = np.where(inside, low, middle), np.where(inside, middle, high)
    p = np.asarray(normal.two_sided((low + high) / 2))
    open_ = np.isnan(first.low) | np.isnan(first.high)
    return Tests(np.where(open_, np.nan, p), "its interval", about=_about_interval(evaluation))


def _about_interval(evaluation: Evaluation) -> Key:
    """What makes an interval another one: over pairs a ratio's is not that of a difference."""
    asked, terms = evaluation.asked, evaluation.terms
    how = asked.comparison.id if isinstance(asked, Measure) and evaluation.spread else ""
    average = None if terms.average is None else str(terms.average)
    return asked.id, how, terms.parameters, average


def _wide(evaluation: Evaluation, alpha: Any) -> Any:  # noqa: ANN401  # an array, or a column of it
    """The α of each value, as the interval takes it: one a stratum where the value is one."""
    return alpha[:, 0] if isinstance(evaluation.asked, Whole) else alpha

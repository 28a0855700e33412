"""Where a number becomes pass, warn or fail: limits, checks and findings.

A limit is the decimal as written. Floats decide far from it and fractions within 1e-9 of it, so
48/100 against 60/100 is not below 0.8.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

import numpy as np

from fairaudit.cube import Floats, Group, Grouping, GroupTable, Ints, Marks
from fairaudit.errors import Place
from fairaudit.estimate import Estimate
from fairaudit.evidence import (
    TOO_LITTLE,
    MissingBounds,
    Part,
    Proof,
    estimate_at,
    missing_at,
    parts_of,
    prove,
)
from fairaudit.evidence.practice import (
    FOUR_FIFTHS,
    Detectable,
    Practice,
    detectable,
    practice,
)
from fairaudit.metrics import (
    NO_MINIMUM,
    NO_PARAMETERS,
    NOBODY,
    Asked,
    Average,
    Better,
    Evaluation,
    Measure,
    Minimum,
    Parameters,
    Policy,
    Quantity,
    Reference,
    Terms,
    describe,
    find_group,
    reason_of,
    set_aside,
    why_excluded,
)
from fairaudit.metrics.inference import USUAL, Inference
from fairaudit.simpson import Kind, Reversal, Scanned

_NEAR = 1e-9
_MOST_EXACT = 1000
_MOST_OFF = 0.5
"""Where more of the people are not compared, an average over strata is no answer."""


class Status(StrEnum):
    """What became of a check, the worst last."""

    PASS = "pass"
    SKIPPED = "skipped"
    WAIVED = "waived"
    WARN = "warn"
    INCONCLUSIVE = "inconclusive"
    FAIL = "fail"


class OnUndefined(StrEnum):
    """What a value that does not exist does to its check."""

    FAIL = "fail"
    WARN = "warn"
    SKIP = "skip"


class Backing(StrEnum):
    """What the evidence says of a value, where a limit asks for evidence."""

    UNASKED = "unasked"
    SUPPORTED = "supported"
    NOT_SIGNIFICANT = "not_significant"
    NOT_CONCLUSIVE = "not_conclusive"
    SIGNIFICANT_WITHIN = "significant_within"
    UNTESTED = "untested"


@dataclass(frozen=True, slots=True)
class Limit:
    """What a value may reach: `below` and `above` are strict, both together mean outside.

    `significant`: only a disparity that chance hardly explains may cross it. `conclusive`: only one
    whose whole interval lies beyond; and to pass, the whole interval must lie within.
    """

    below: Decimal | None = None
    above: Decimal | None = None
    significant: bool = False
    conclusive: bool = False

    def __str__(self) -> str:
        if self.below is not None and self.above is not None:
            return f"outside [{self.below}, {self.above}]"
        return f"below {self.below}" if self.below is not None else f"above {self.above}"

    def excess(self, value: float) -> float:
        """How far beyond the nearer bound a value is; negative within."""
        sides = []
        if self.below is not None:
            sides.append(float(self.below) - value)
        if self.above is not None:
            sides.append(value - float(self.above))
        return max(sides)

    def crossed(self, value: float, exact: Fraction | None) -> bool:
        """Whether the value is beyond a bound; `exact` decides where floats cannot."""
        if exact is None or abs(self.excess(value)) > _NEAR:
            return self.excess(value) > 0
        too_low = self.below is not None and exact < Fraction(self.below)
        return too_low or (self.above is not None and exact > Fraction(self.above))

    @property
    def asks(self) -> bool:
        """Whether it asks for evidence."""
        return self.significant or self.conclusive

    def beyond(self, low: float, high: float) -> bool:
        """Whether a whole interval lies beyond one bound."""
        too_low = self.below is not None and high < self.below
        return too_low or (self.above is not None and low > self.above)

    def within(self, low: float, high: float) -> bool:
        """Whether no part of an interval lies beyond a bound."""
        high_enough = self.below is None or low >= self.below
        return high_enough and (self.above is None or high <= self.above)


@dataclass(frozen=True, slots=True)
class Check:
    """One question with a limit: a measure, one grouping, one conditioning, one outcome."""

    id: str
    asked: Asked
    of: str
    by: Grouping
    given: Grouping = ()
    reference: Reference | None = None
    parameters: Parameters = NO_PARAMETERS
    average: Average | None = None
    of_class: str | None = None
    against: str | None = None
    at: Decimal | None = None
    minimum: Minimum = NO_MINIMUM
    inference: Inference = USUAL
    undefined: OnUndefined = OnUndefined.FAIL
    warn: Limit | None = None
    fail: Limit | None = None
    place: Place | None = None

    @property
    def strata(self) -> Grouping:
        """The columns by which its table is stratified: what it is given, and its controls."""
        return (*self.given, *self.parameters.controls)

    @property
    def terms(self) -> Terms:
        """On what terms the measure is asked."""
        return Terms(
            self.reference,
            self.minimum,
            self.parameters,
            self.average,
            self.of_class,
            self.at,
            self.inference,
        )

    @property
    def family(self) -> tuple[str, str | None, bool]:
        """Whose tests its own are corrected with: those of the gates on the same outcome."""
        return self.of, self.against, self.fail is not None


@dataclass(frozen=True, slots=True)
class ReversalCheck:
    """A gate on Simpson's reversals: of which kind or stronger none may be found."""

    id: str
    rate: str
    of: str
    warn: Kind | None = None
    fail: Kind | None = None
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Crossing:
    """A value beyond the limit: of which group (in a spread: of none), in which stratum.

    `backing` is what the evidence says of it, where the limit asks; `between` are the groups it is
    about: that group, or the pair that makes a spread.
    """

    group: Group
    stratum: Group
    value: float
    exact: Fraction | None = None
    between: tuple[Group, ...] = ()
    backing: Backing = Backing.UNASKED


@dataclass(frozen=True, slots=True)
class NotEvaluated:
    """Who or what a check could not judge, and why; `blocks` where that leaves it open.

    `detail` are the numbers of a group that a rule sets aside.
    """

    group: Group
    stratum: Group
    reason: str
    blocks: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Waived:
    """What somebody accepts of a check: for which group (() is everybody), why, who, how long."""

    group: Group
    reason: str
    approved_by: str
    expires: date
    crossed: tuple[Crossing, ...] = ()


@dataclass(frozen=True, slots=True)
class Earlier:
    """A result that is compared with: where it lies, its age in days, and what is allowed for."""

    path: str | None
    created: str
    days: int
    tolerance: Decimal


@dataclass(frozen=True, slots=True)
class Before:
    """What a check said in an earlier result.

    `worse_by` is how much farther beyond the limit the value is now, None where that is no number;
    `worse` are the crossings, and `reversals` the reversals, that were not there or not so bad.
    """

    earlier: Earlier
    status: str
    value: float | None
    worse_by: float | None = None
    worse: tuple[Crossing, ...] = ()
    reversals: tuple[Reversal, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer to a check: the value that decides, whose it is, and the word for it.

    `limit` is the one that was crossed, or else the one it was held against. `first` and `second`
    are the groups compared; `worse_off` is the one that the direction of the rate disadvantages;
    `spread` says which of the two it is, `decided_by` which rate or outcome attains the value.
    `backing` is what the evidence says of it; `practice` tells it in people, `detectable` what a
    pass on so many people may have missed, `missing` what values that are not known could make of
    it. `definition` is a fingerprint of all that the check asks.
    """

    check: Check | ReversalCheck
    status: Status
    estimate: Estimate | None
    limit: Limit | Kind | None
    why: str
    stratum: Group = ()
    first: Group = ()
    second: Group = ()
    worse_off: Group = ()
    spread: bool = False
    decided_by: str | None = None
    parts: tuple[Part, ...] = ()
    crossed: tuple[Crossing, ...] = ()
    not_evaluated: tuple[NotEvaluated, ...] = ()
    reversals: tuple[Reversal, ...] = ()
    backing: Backing = Backing.UNASKED
    practice: Practice | None = None
    detectable: Detectable | None = None
    waived: tuple[Waived, ...] = ()
    before: Before | None = None
    definition: str = ""
    missing: MissingBounds | None = None


@dataclass(frozen=True, slots=True)
class _Entry:
    """One value to judge, at its place in the evaluation."""

    z: int
    w: int
    value: float
    exact: Fraction | None
    n: int


def judge(check: Check, evaluation: Evaluation, proof: Proof | None = None) -> Finding:
    """The finding of a check on an evaluated measure, with what speaks for each value.

    Without a proof the check stands alone: its tests are a family of their own.
    """
    limit = check.fail or check.warn
    if limit is None:
        raise ValueError(f"{check.id} has no limit")
    proof = prove({check.id: (evaluation, None)})[check.id] if proof is None else proof
    entries, missing = _collect(check, evaluation)
    found = _weighed(check, entries, proof)
    missing += [_untested(evaluation, one, found.limit, proof) for one in found.untested]
    status = max(found.status, _status_of_missing(check, entries, missing), key=list(Status).index)
    chosen = _farthest(found.deciding or entries, found.limit or limit)
    finding = Finding(
        check=check,
        status=status,
        estimate=None,
        limit=found.limit or limit,
        why="; ".join(dict.fromkeys(_reason(one) for one in missing if one.blocks)),
        crossed=_crossings(evaluation, found),
        not_evaluated=tuple(missing),
        backing=found.backing,
    )
    if chosen is None:
        return finding
    return _in_practice(_witnessed(finding, evaluation, chosen, proof), evaluation)


@dataclass(frozen=True, slots=True)
class _Weighed:
    """What the limits of a check make of its values, and of the evidence for them.

    `crossed` are all values beyond the `limit` (None: none is), `deciding` those that the status
    rests on, `untested` those beyond it that no test can be made of; `backings` are what the
    evidence says of each that is crossed.
    """

    status: Status = Status.PASS
    limit: Limit | None = None
    crossed: Sequence[_Entry] = ()
    deciding: Sequence[_Entry] = ()
    untested: Sequence[_Entry] = ()
    backing: Backing = Backing.UNASKED
    backings: Sequence[Backing] = ()


def _weighed(check: Check, entries: Sequence[_Entry], proof: Proof) -> _Weighed:
    """The worst that holds: a limit crossed with the evidence it asks for, a halfway case, none."""
    halfway = _Weighed()
    for status, limit in ((Status.FAIL, check.fail), (Status.WARN, check.warn)):
        if limit is None:
            continue
        beyond = [one for one in entries if limit.crossed(one.value, one.exact)]
        backings = [_backing(one, limit, proof) for one in beyond]
        pairs = list(zip(beyond, backings, strict=True))
        supported = [one for one, kind in pairs if kind in {Backing.SUPPORTED, Backing.UNASKED}]
        if supported:
            backing = Backing.SUPPORTED if limit.asks else Backing.UNASKED
            untested = [one for one, kind in pairs if kind is Backing.UNTESTED]
            return _Weighed(status, limit, beyond, supported, untested, backing, backings)
        found = _in_doubt(status, limit, entries, pairs, proof)
        if halfway.backing in {Backing.UNASKED, Backing.SUPPORTED}:
            halfway = found
    return halfway


def _in_doubt(
    status: Status,
    limit: Limit,
    entries: Sequence[_Entry],
    beyond: Sequence[tuple[_Entry, Backing]],
    proof: Proof,
) -> _Weighed:
    """What a limit makes of values none of which is proven to lie beyond it.

    A limit that fails warns where it is in doubt. One that warns says so, and lets pass.
    """
    short = Status.WARN if status is Status.FAIL else Status.PASS
    if beyond:
        untested = [one for one, kind in beyond if kind is Backing.UNTESTED]
        deciding = untested or [one for one, _ in beyond]
        backing = _backing(_farthest(deciding, limit) or deciding[0], limit, proof)
        told = beyond if short is Status.WARN else []
        crossed, backings = [one for one, _ in told], [kind for _, kind in told]
        return _Weighed(short, limit, crossed, deciding, untested, backing, backings)
    if limit.conclusive:
        without = [one for one in entries if proof.band.at(one.z, one.w) is None]
        if without:
            return _Weighed(short, limit, (), without, without, Backing.UNTESTED)
        unproven = [one for one in entries if not _lies_within(one, limit, proof)]
        if unproven:
            return _Weighed(short, limit, (), unproven, (), Backing.NOT_CONCLUSIVE)
    found = [one for one in entries if limit.significant and proof.significant(one.z, one.w)]
    if found:
        return _Weighed(short, limit, (), found, (), Backing.SIGNIFICANT_WITHIN)
    return _Weighed(backing=Backing.SUPPORTED if limit.asks and entries else Backing.UNASKED)


def _lies_within(entry: _Entry, limit: Limit, proof: Proof) -> bool:
    ends = proof.band.at(entry.z, entry.w)
    return ends is not None and limit.within(*ends)


def _backing(entry: _Entry, limit: Limit | None, proof: Proof) -> Backing:
    """What the evidence says of a value beyond a limit."""
    if limit is None or not limit.asks:
        return Backing.UNASKED
    ends = proof.band.at(entry.z, entry.w)
    no_test = limit.significant and math.isnan(float(proof.adjusted[entry.z, entry.w]))
    if no_test or (limit.conclusive and ends is None):
        return Backing.UNTESTED
    if limit.significant and not proof.significant(entry.z, entry.w):
        return Backing.NOT_SIGNIFICANT
    if limit.conclusive and ends is not None and not limit.beyond(*ends):
        return Backing.NOT_CONCLUSIVE
    return Backing.SUPPORTED


def _untested(
    evaluation: Evaluation, entry: _Entry, limit: Limit | None, proof: Proof
) -> NotEvaluated:
    """A value whose side of the limit asks for evidence that cannot be had."""
    group = () if evaluation.spread else evaluation.table.groups[entry.w]
    within = limit is not None and not limit.crossed(entry.value, entry.exact)
    # Within a limit only an interval is asked for, so a missing test is not the reason.
    why = ("" if within else proof.tests.why) or (proof.band.why or TOO_LITTLE)
    side = "within the limit, and the interval that a pass" if within else (
        "beyond the limit, and the evidence it"
    )  # fmt: skip
    reason = f"{side} asks for cannot be had: {why.removeprefix('none: ')}"
    return NotEvaluated(group, evaluation.table.strata[entry.z], reason, blocks=True)


def judge_reversals(check: ReversalCheck, scanned: Scanned) -> Finding:
    """The finding of a gate on reversals: crossed by one of that kind, or a stronger one."""
    mine = [one for one in scanned.found if one.rate == check.rate and one.of == check.of]
    left_out = tuple(
        NotEvaluated(group, (), reason, blocks=False, detail=detail)
        for group, reason, detail in scanned.left_out
    )
    for status, bound in ((Status.FAIL, check.fail), (Status.WARN, check.warn)):
        beyond = [one for one in mine if bound and one.kind.strength >= bound.strength]
        if beyond:
            return Finding(
                check, status, None, bound, "", not_evaluated=left_out, reversals=tuple(beyond)
            )
    limit = check.fail or check.warn
    if scanned.compared.get(check.rate):
        return Finding(check, Status.PASS, None, limit, "", not_evaluated=left_out)
    why = "no two groups could be compared within a stratum"
    nobody = NotEvaluated((), (), why, blocks=True)
    return Finding(check, Status.INCONCLUSIVE, None, limit, why, not_evaluated=(*left_out, nobody))


def _reason(one: NotEvaluated) -> str:
    """The reason, with the stratum it holds in."""
    return f"{one.reason} in {describe(one.stratum)}" if one.stratum else one.reason


def _collect(check: Check, evaluation: Evaluation) -> tuple[list[_Entry], list[NotEvaluated]]:
    """What can be judged, and what cannot, over strata and groups."""
    table = evaluation.table
    entries: list[_Entry] = []
    missing: list[NotEvaluated] = [*_excluded(table)]
    if check.given and _strata_decide(evaluation.strata or table):
        reason = f"the strata determine the {check.of}: within them there is nothing to compare"
        return [], [*missing, NotEvaluated((), (), reason, blocks=True)]
    if evaluation.strata is not None:
        missing += _off_support(evaluation, evaluation.strata)
    values, people = evaluation.value.tolist(), _people(evaluation).tolist()
    near = _near_a_limit(check, evaluation.value)
    for z, stratum in enumerate(table.strata):
        if not table.known_strata[z]:
            reason = f"the stratum is not known ({_crowd(table, z)})"
            missing.append(NotEvaluated((), stratum, reason, blocks=False))
            continue
        alone = _stands_alone(evaluation, z) if check.given and not check.average else None
        if alone is not None:
            missing.append(alone)
            continue
        missing += _too_small(evaluation, z)
        for w in np.flatnonzero(evaluation.judged[z]).tolist():
            value = values[z][w]
            if math.isnan(value):
                group = () if evaluation.spread else table.groups[w]
                missing.append(
                    NotEvaluated(group, stratum, reason_of(evaluation, z, w), blocks=True)
                )
                continue
            if (
                evaluation.averaged is not None
                and evaluation.averaged.off_support[0, w] > _MOST_OFF
            ):
                group = () if evaluation.spread else table.groups[w]
                off = evaluation.averaged.off_support[0, w]
                reason = f"{off:.1%} of the people stand in strata where one side is missing"
                missing.append(NotEvaluated(group, (), reason, blocks=True))
                continue
            doubt = 0.0 if evaluation.error is None else float(evaluation.error[z, w])
            if doubt and _may_cross(check, value, doubt):
                group = () if evaluation.spread else table.groups[w]
                reason = f"the bins of the score leave open by {doubt:.1g} what the value is"
                missing.append(NotEvaluated(group, stratum, reason, blocks=True))
                continue
            exact = evaluation.exact(z, w) if near[z, w] else None
            entries.append(_Entry(z, w, value, exact, people[z][w]))
    if not entries and not any(one.blocks for one in missing):
        reason = reason_of(evaluation, 0, 0) if table.strata and not check.given else ""
        reason = reason or "no group could be judged"
        missing.append(NotEvaluated((), (), reason, blocks=True))
    return entries, missing


def _stands_alone(evaluation: Evaluation, z: int) -> NotEvaluated | None:
    """Why a stratum is not estimable; None if it is.

    With one group there is nobody to compare. Without the reference there would be, so that leaves
    the check open, as does a reference that is excluded: the values say so themselves.
    """
    table, terms = evaluation.table, evaluation.terms
    if isinstance(evaluation.asked, Quantity):
        return None
    present = table.eligible & (table.n[z] > 0)
    people = f"({_crowd(table, z)})"
    named = terms.reference.group if terms.reference else ()
    at = find_group(table.groups, named) if named else NOBODY
    if at != NOBODY and table.known[at] and not table.eligible[at]:
        return None
    if present.sum() < 2:
        besides = " besides those excluded" if (table.known & ~table.eligible).any() else ""
        reason = f"fewer than two groups occur in the stratum {people}{besides}: not estimable"
        return NotEvaluated((), table.strata[z], reason, blocks=False)
    if named and (at == NOBODY or not present[at]):
        reason = f"the reference {describe(named)} does not occur in the stratum {people}"
        return NotEvaluated((), table.strata[z], reason, blocks=True)
    return None


def _crowd(table: GroupTable, z: int) -> str:
    n = int(table.n[z].sum())
    return f"{n:,} {'person' if n == 1 else 'people'}"


def _too_small(evaluation: Evaluation, z: int) -> Iterator[NotEvaluated]:
    """The groups that are there, but too small to take part, and in which rate."""
    table = evaluation.table
    for part in evaluation.leaves:
        rate = f"{part.reading.quantity.id}: " if part.reading else ""
        small = table.eligible & (table.n[z] > 0) & ~part.takes_part[z]
        for g in np.flatnonzero(small).tolist():
            why, detail = set_aside(part, z, g)
            group, stratum = table.groups[g], table.strata[z]
            yield NotEvaluated(group, stratum, rate + why, blocks=False, detail=detail)


def _excluded(table: GroupTable) -> Iterator[NotEvaluated]:
    """The groups that are too small a share of the whole grouping, whatever the stratum."""
    for g in np.flatnonzero(table.known & ~table.eligible).tolist():
        why, detail = why_excluded(table, g)
        yield NotEvaluated(table.groups[g], (), why, blocks=False, detail=detail)


def _strata_decide(table: GroupTable) -> bool:
    """Whether the strata determine the audited outcome, so that no gap is left within them."""
    occurs = table.people[table.known_strata].sum(axis=(1, 3))[:, :-1] > 0
    return bool((occurs.sum(axis=1) <= 1).all() and occurs.any(axis=0).sum() > 1)


def _off_support(evaluation: Evaluation, table: GroupTable) -> Iterator[NotEvaluated]:
    """The strata that an average leaves out: those not known, and those without one of the sides.

    Of an average each with the share of the weight that it would have had; the others make up for
    it. A fit has no weights of strata: it leaves out people, who are told at once.
    """
    if evaluation.averaged is None and not table.known_strata.all():
        n, names = int(table.n[~table.known_strata].sum()), " or ".join(table.given)
        reason = f"{n:,} {'person is' if n == 1 else 'people are'} left out: {names} is not known"
        yield NotEvaluated((), (), reason, blocks=False)
        return
    for z, stratum in enumerate(table.strata):
        if not table.known_strata[z]:
            reason = f"the stratum is not known ({_crowd(table, z)})"
            yield NotEvaluated((), stratum, reason, blocks=False)
        elif evaluation.averaged is not None:
            shares = np.broadcast_to(
                evaluation.averaged.left_out[z], evaluation.takes_part.shape[1:]
            )
            about = evaluation.takes_part[0] if evaluation.spread else evaluation.judged[0]
            judged = np.flatnonzero(about & (shares > 0)).tolist()
            whose = [(table.groups[g], shares[g]) for g in judged]
            if evaluation.spread:
                whose = [((), share) for _, share in whose[:1]]
            for group, share in whose:
                reason = f"not estimable, one side is missing: {share:.1%} of the weight left out"
                yield NotEvaluated(group, stratum, reason, blocks=False)


def _may_cross(check: Check, value: float, doubt: float) -> bool:
    """Whether a value known up to a doubt may lie on either side of a bound."""
    limits = [limit for limit in (check.fail, check.warn) if limit is not None]
    bounds = [bound for limit in limits for bound in (limit.below, limit.above)]
    return any(bound is not None and abs(value - float(bound)) <= doubt for bound in bounds)


def _near_a_limit(check: Check, values: Floats) -> Marks:
    """Which values lie so near a bound that fractions decide."""
    limits = [limit for limit in (check.fail, check.warn) if limit is not None]
    bounds = [bound for limit in limits for bound in (limit.below, limit.above)]
    near = np.zeros(values.shape, dtype=np.bool_)
    for bound in bounds:
        if bound is not None:
            near |= np.abs(values - float(bound)) <= _NEAR
    return near


def _status_of_missing(
    check: Check, entries: Sequence[_Entry], missing: Sequence[NotEvaluated]
) -> Status:
    if not any(one.blocks for one in missing):
        return Status.PASS
    match check.undefined:
        case OnUndefined.FAIL:
            return Status.INCONCLUSIVE
        case OnUndefined.WARN:
            return Status.WARN
        case _:
            return Status.PASS if entries else Status.SKIPPED


def _farthest(entries: Sequence[_Entry], limit: Limit) -> _Entry | None:
    """The value that decides: the farthest beyond the limit; ties: larger n, then the first."""
    if not entries:
        return None
    return max(entries, key=lambda one: (limit.excess(one.value), one.n, -one.z, -one.w))


def _witnessed(finding: Finding, evaluation: Evaluation, entry: _Entry, proof: Proof) -> Finding:
    """The finding with the value that decides and those it is about."""
    z, w = entry.z, entry.w
    parts = parts_of(evaluation, z, w)
    first, second = (
        _group(evaluation, evaluation.first[z, w]),
        _group(evaluation, evaluation.second[z, w]),
    )
    return replace(
        finding,
        estimate=_estimate(evaluation, entry, proof),
        stratum=evaluation.table.strata[z],
        first=first,
        second=second,
        worse_off=_worse_off(evaluation, entry, first, second),
        spread=evaluation.spread,
        decided_by=evaluation.decided_by(z, w),
        parts=parts,
        missing=_missing(finding.check, evaluation, entry),
        why=finding.why or _why_infinite(entry.value),
    )


def _missing(
    check: Check | ReversalCheck, evaluation: Evaluation, entry: _Entry
) -> MissingBounds | None:
    if not isinstance(check, Check):
        return None
    return missing_at(evaluation, entry.z, entry.w, check.fail, check.warn)


def _why_infinite(value: float) -> str:
    return "infinite: a positive share against none at all" if math.isinf(value) else ""


def _in_practice(finding: Finding, evaluation: Evaluation) -> Finding:
    """The finding with its gap told in people, and a pass with what it may have missed."""
    asked, limit = evaluation.asked, finding.limit
    shares = isinstance(asked, Measure) and len(asked.parts) == 1 and len(finding.parts) == 1
    crowd = finding.parts[0].second.crowd if shares and finding.parts[0].second else None
    shares = shares and crowd not in {Policy.OVERALL, Policy.EVERYBODY}
    reading = evaluation.reading
    if not shares or reading is None or not reading.binomial or not isinstance(limit, Limit):
        return finding
    assert isinstance(asked, Measure)
    goal = FOUR_FIFTHS
    if asked.comparison.quotient and limit.below is not None and 0 < limit.below <= 1:
        goal = Fraction(limit.below)
    thin = None
    if finding.status is Status.PASS:
        thin = detectable(evaluation, limit.below, limit.above)
    kit = practice(finding.parts[0], goal, burden=_is_burden(asked, evaluation.table))
    return replace(finding, practice=kit, detectable=thin)


def _is_burden(asked: Measure, table: GroupTable) -> bool:
    """Whether more of the rate is worse for the people; four fifths are of those spared already."""
    better = asked.parts[0][0].better
    if asked.four_fifths:
        return False
    return better is Better.LOWER or (better is Better.POLARITY and not table.favourable)


def _estimate(evaluation: Evaluation, entry: _Entry, proof: Proof) -> Estimate:
    z, w = entry.z, entry.w
    ends = proof.band.at(z, w)
    estimate = Estimate(
        entry.value,
        n=entry.n,
        exact=evaluation.exact(z, w),
        low=None if ends is None else ends[0],
        high=None if ends is None else ends[1],
        method=proof.band.method if ends is not None else "",
        no_interval="" if ends is not None else proof.band.why or TOO_LITTLE,
        significance=proof.significance(z, w),
    )
    reading = evaluation.reading
    if reading is None or not isinstance(evaluation.asked, Quantity):
        return estimate
    found = estimate_at(reading, z, w, proof.inference.alpha)
    return replace(
        estimate,
        numerator=found.numerator,
        denominator=found.denominator,
        scale=found.scale,
        error=found.error,
    )


def _worse_off(evaluation: Evaluation, entry: _Entry, first: Group, second: Group) -> Group:
    """Whom the direction of the deciding rate disadvantages; () where it says nothing."""
    asked = evaluation.asked
    if not isinstance(asked, Measure):
        return ()
    at = 0 if evaluation.attained is None else int(evaluation.attained[entry.z, entry.w])
    if asked.fold.rank is None:
        return ()
    better = asked.parts[at][0].better
    if better is Better.NEITHER:
        return ()
    favourable = evaluation.table.favourable
    more_is_better = favourable if better is Better.POLARITY else better is Better.HIGHER
    if entry.value == asked.ideal or (evaluation.parts and evaluation.fraction is not None):
        return ()
    if evaluation.spread:
        return second if more_is_better else first
    less_than_parity = entry.value < asked.ideal
    if (asked.four_fifths and not favourable) or not asked.follows_the_order:
        less_than_parity = not less_than_parity
    return first if less_than_parity == more_is_better else second


def _crossings(evaluation: Evaluation, found: _Weighed) -> tuple[Crossing, ...]:
    """All values beyond the limit; where they are very many, not as fractions."""
    exactly = len(found.crossed) <= _MOST_EXACT
    groups, strata, spread = evaluation.table.groups, evaluation.table.strata, evaluation.spread
    crossings = []
    for one, backing in zip(found.crossed, found.backings, strict=True):
        z, w = one.z, one.w
        group = () if spread else groups[w]
        between: tuple[Group, ...] = (group,)
        if spread:
            ends = (evaluation.first[z, w], evaluation.second[z, w])
            between = tuple(filter(None, (_group(evaluation, end) for end in ends)))
        exact = evaluation.exact(z, w) if exactly else None
        crossings.append(Crossing(group, strata[z], one.value, exact, between, backing))
    return tuple(crossings)


def _group(evaluation: Evaluation, index: int) -> Group:
    return evaluation.table.groups[int(index)] if index >= 0 else ()


def _people(evaluation: Evaluation) -> Ints:
    """The people in the denominator of every value, [Z, W]; for a spread those who take part."""
    among = evaluation.takes_part
    counts = [leaf.reading.n for leaf in evaluation.leaves if leaf.reading is not None]
    if evaluation.whole is not None:
        counts = [evaluation.whole.n]
    if evaluation.spread:
        counts = [np.where(among, n, 0).sum(axis=1, keepdims=True) for n in counts]
    return np.broadcast_to(np.min(counts, axis=0), evaluation.value.shape)

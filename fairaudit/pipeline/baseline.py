"""Baselines: comparison of findings with an earlier JSON report; fingerprints of checks.

Values that are newly over a limit, or farther over it than in the baseline, fail; other values over
a limit warn. A fingerprint of each check shows whether the report has the same checks. Another
column, cut or formula changes the fingerprint; another spelling of a limit does not.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from fairaudit.base import names
from fairaudit.base.errors import UsageError, check_type
from fairaudit.base.frozen import Frozen, default_of, fields, replace
from fairaudit.cube import Grouping
from fairaudit.evidence.missing_bounds import UncertainValue, list_possible_breaches
from fairaudit.judge import (
    AnyCheck,
    Breach,
    Check,
    EvidenceStatus,
    Finding,
    Limit,
    ReversalCheck,
    Status,
    SubgroupCheck,
    leave_open,
)
from fairaudit.judge.checks import find_bounds
from fairaudit.judge.departures import find_fallen, index_departures
from fairaudit.judge.findings import Before, Departure, Earlier, NotEvaluated
from fairaudit.judge.judging import status_of_unevaluated, worst_status
from fairaudit.judge.simpson import Reversal
from fairaudit.judge.waivers import Exclusion, Rejudge
from fairaudit.metrics import (
    Comparison,
    Disparity,
    Evaluation,
    GroupMetric,
    Requirement,
    TableMetric,
    find_metric,
)
from fairaudit.metrics.definitions import Bounds, CatalogueEntry
from fairaudit.metrics.disparities import OverGroups
from fairaudit.metrics.terms import format_decimal
from fairaudit.result import AuditResult
from fairaudit.result.rows import GroupKey, IndexedRows, deciding_key, find_entries, index_rows
from fairaudit.spec import LocatedText, Spec
from fairaudit.spec.reading import read_number

_LENGTH = 16
_HASHED = {"most_people": "most_strata", "columns": "texts"}
"""Former names that are hashed instead of the current names, so that baselines stay valid."""

_PLACES = {"place", "path", "source", "id", "about", "scope"}
"""Fields that are not hashed: places, names, explanations, and repeated scopes."""


def compute_fingerprints(spec: Spec) -> dict[str, str]:
    """The fingerprints of all checks of a spec, by id."""
    return {check.id: compute_fingerprint(check, spec) for check in spec.checks}


def compute_fingerprint(check: AnyCheck, spec: Spec) -> str:
    """A short hash of the metric, options, limits and columns of a check, and of who is counted.

    Metrics are hashed by id, version and formula. Defaults are left out, so a new key of a later
    version does not change the hash. The hash does not show that a default was changed, so a test
    keeps the defaults fixed; after the first release, a change of a default must add the former
    value to the hash. Data, titles and places are not hashed.
    """
    if isinstance(check, Check):
        columns: Grouping = (*check.by, *check.strata)
        of = {check.of, check.against, "label"}
        search_terms: dict[str, Any] = {}
        if Requirement.FEATURES in check.metric.requirements:
            search_terms = {"similarity": _plain(spec.similarity)}
    else:
        of, rate = {check.of, "label"}, find_metric(check.rate)
        search_terms = {"rate": rate and _plain(rate)}
        if isinstance(check, SubgroupCheck):
            # The number of listed subgroups does not change a check, but the searched rates do.
            search = spec.subgroups and replace(spec.subgroups, top=0)
            columns = () if search is None else search.over
            search_terms["search"] = search and _plain(search)
        else:
            scan = spec.simpson
            columns = () if scan is None else (*scan.attributes, *chain.from_iterable(scan.given))
            search_terms["scan"] = scan and _plain(replace(scan, rates=()))
    # In the hash, terms are fields of the check itself, and `metric` has its former name.
    plain_check = _plain(check)
    former = {"asked": plain_check.pop("metric")} if "metric" in plain_check else {}
    terms = plain_check.pop("terms", {})
    whole = {
        **search_terms,
        "check": {**plain_check, **former, **terms},
        "columns": [
            _plain(column) for column in (*spec.groupable, *spec.features) if column.name in columns
        ],
        "outcomes": [_plain(outcome) for outcome in spec.outcomes if outcome.name in of],
        "counted": _plain((spec.count, spec.weight, spec.filter, spec.missing, spec.exclude_below)),
    }
    # Newer keys are hashed only if they are set, so that earlier hashes stay valid.
    design = (spec.repeats, spec.cluster, spec.sample_strata, spec.format.dates)
    whole |= {"design": _plain(design)} if any(design) else {}
    text = json.dumps(whole, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:_LENGTH]


def _plain(value: object) -> Any:  # noqa: ANN401  # plain data of any shape
    """A value as plain data. A record of the catalogue becomes its id, version and formulas."""
    match value:
        case CatalogueEntry():
            words: dict[str, Any] = {"id": value.id, "version": value.version}
            if isinstance(value, Disparity):
                words["parts"] = [[_plain(member) for member in part] for part in value.parts]
                words |= {"fold": value.fold.id, "reference": _plain(value.reference)}
                words |= {"averages": _plain(value.averages)}
                # The hash of a mean did not change when other numbers over groups were added.
                words["mean"] = value.over_groups is OverGroups.MEAN
                if value.over_groups not in {None, OverGroups.MEAN}:
                    words["aggregate"] = _plain(value.over_groups)
                words["four_fifths"] = value.four_fifths
                if value.per_class is not None:
                    words["per_class"] = _plain(value.per_class)
            elif isinstance(value, GroupMetric | Comparison | TableMetric):
                words["formula"] = value.formula
            return words
        case LocatedText():
            return value.value
        case Decimal():
            return format_decimal(value)
        case Enum() | Fraction():
            return _HASHED.get(str(value), str(value))
        case Mapping():
            return {str(name): _plain(member) for name, member in value.items()}
        case tuple() | list() | frozenset():
            members = [_plain(member) for member in value]
            return sorted(members, key=repr) if isinstance(value, frozenset) else members
        case Frozen():
            return {
                _HASHED.get(member.name, member.name): _plain(getattr(value, member.name))
                for member in fields(type(value))
                if member.name not in _PLACES and getattr(value, member.name) != default_of(member)
            }
        case _:
            return value


NO_TOLERANCE = "0"
"""The default tolerance: the amount by which a value may be worse than in the baseline."""

BaselineSource: TypeAlias = str | Path | Mapping[str, Any] | AuditResult
"""The path of a JSON report, the report as plain data, or a result."""

PROVEN = {EvidenceStatus.UNASKED, EvidenceStatus.SUPPORTED}
"""A value beyond a limit fails only with one of these states of evidence."""

_SHARE: Bounds = (0, 1)
_OF_WHOLE_CHECK = ("crossed", "departures", "not_evaluated", "why", "waived", "left_out")
_AGAIN = "create a new one: fairaudit run SPEC -o baseline.json"
_BreachKey: TypeAlias = tuple[frozenset[tuple[str, str]], frozenset[tuple[str, str]], bool]
_ReversalKey: TypeAlias = tuple[str, str, str, tuple[str, ...], frozenset[str]]


class PreviousFinding(Frozen):
    """The finding of a check in an earlier report.

    `crossed` are the proven values beyond the limit that are not waived. `own` maps each judged
    group, with its stratum, to its value; a spread has one value for each stratum. `worse_off` are
    the groups, with their stratum, that were worse off in a spread beyond the limit.
    """

    finding: Finding
    crossed: Mapping[_BreachKey, Breach]
    own: Mapping[GroupKey, float]
    worse_off: AbstractSet[GroupKey]

    @classmethod
    def of(cls, finding: Finding, rows: IndexedRows) -> PreviousFinding:
        """The previous finding, from a finding of an earlier report and the rows of this report."""
        waived = [breach for waiver in finding.waived for breach in waiver.crossed]
        # All values of a spread have the same key, so waived values are found by their groups, too.
        spared = {(breach_key(breach), groups_of(breach)) for breach in waived}
        crossed = [breach for breach in finding.crossed if breach.backing in PROVEN]
        unspared = [
            breach for breach in crossed if (breach_key(breach), groups_of(breach)) not in spared
        ]
        crossed_values = {breach_key(breach): breach for breach in unspared}
        worse_off = {
            (group, frozenset(breach.stratum))
            for breach in unspared
            if (group := _find_worse_off(breach, finding))
        }
        worse_off |= {(group, stratum) for _, group, stratum, _ in index_departures(finding)}
        return cls(finding, crossed_values, _own_values(finding, rows), worse_off)


class Baseline(Frozen):
    """An earlier report: its checks, its reversals, and the versions of its metrics."""

    earlier: Earlier
    checks: Mapping[str, PreviousFinding]
    reversals: Mapping[_ReversalKey, Reversal]
    versions: Mapping[str, int]

    def is_new(self, reversal: Reversal, check: ReversalCheck, previous: PreviousFinding) -> bool:
        """Whether the baseline lacks this reversal, or lists only a weaker one.

        A reversal that was waived or lacked the required evidence in the baseline counts as new.
        """
        was = self.reversals.get(reversal_key(reversal))
        if was is None or previous.finding.status not in {Status.FAIL, Status.WARN}:
            return True
        needs_proof = check.fail is not None and check.fail.significant
        proven = was.is_significant(check.inference.alpha)
        return was.kind.strength < reversal.kind.strength or (needs_proof and not proven)


def load(source: BaselineSource, tolerance: object, now: str) -> Baseline:
    """The baseline in a JSON report; raises `UsageError` if it is invalid or suppressed."""
    from fairaudit import codec

    if isinstance(source, AuditResult):
        source = codec.write(codec.Result(source))
    check_type(source, str | Path | Mapping, "a baseline is a path, a report or a result")
    path = None if isinstance(source, Mapping) else str(source)
    name = "the baseline" if path is None else f"the baseline {names.copied(path)}"
    result = codec.choose_result(codec.load(source, "the baseline"), name)
    if result.provenance.suppress_below is not None:
        hint = "use an unsuppressed report as the baseline, and restrict who can read it"
        raise UsageError(f"{name} is suppressed: some values are hidden", hint)
    try:
        created = datetime.fromisoformat(result.provenance.created).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{name} cannot be read: `created` is not a time", _AGAIN) from error
    days = (datetime.fromisoformat(now).astimezone(UTC).date() - created.date()).days
    rows = index_rows(result.rates, result.comparisons)
    try:
        allowed = read_number(str(tolerance))
    except ValueError:
        allowed = None
    if allowed is None or allowed < 0:
        raise UsageError(
            f"the tolerance must be a number of 0 or more, not {tolerance!r:.80}", "such as 0.01"
        )
    return Baseline(
        Earlier(path, created.isoformat(), days, allowed),
        {finding.check.id: PreviousFinding.of(finding, rows) for finding in result.findings},
        {reversal_key(reversal): reversal for reversal in result.reversals},
        {definition.id: definition.version for definition in result.definitions},
    )


def refuse_other(baseline: Baseline, spec: Spec, chosen: Mapping[str, str]) -> None:
    """Raises `UsageError` if the baseline and the spec differ in checks or in their metrics.

    `chosen` are the fingerprints of the checks to judge, by id.
    """
    every = chosen if len(chosen) == len(spec.checks) else compute_fingerprints(spec)
    checks = baseline.checks
    faults = [f"{name}: only in the baseline" for name in checks if name not in every]
    faults += [f"{name}: not in the baseline" for name in chosen if name not in checks]
    for name, previous in checks.items():
        if name in every and previous.finding.definition != every[name]:
            metric = previous.finding.check.metric_id
            record, version = find_metric(metric), baseline.versions.get(metric)
            why = "it asks something else now"
            if record is not None and version not in {None, record.version}:
                why = f"{metric} was of version {version} and is of version {record.version}"
            faults.append(f"{name}: {why}")
    for check in spec.checks:
        if check.id in chosen:
            _refuse_wide_tolerance(check, baseline)
    if faults:
        more = f"\n  and {len(faults) - 5} more" if len(faults) > 5 else ""
        what = "the baseline answers other questions than the spec asks"
        raise UsageError("\n  ".join([what, *faults[:5]]) + more, _AGAIN)


def _refuse_wide_tolerance(check: AnyCheck, baseline: Baseline) -> None:
    """Raises `UsageError` for a tolerance that accepts every value of a check or of a group.

    A tolerance of up to a tenth of the range beyond the limit is never refused, even if a group was
    so near the end of the range that it cannot become worse by more than the tolerance.
    """
    if isinstance(check, ReversalCheck) or check.fail is None:
        return
    limit, ends = check.fail, _SHARE
    if isinstance(check, Check):
        ends = find_bounds(check.metric, check.terms.policy, check.against)
    sides = [
        (sign, Fraction(bound), Fraction(end))
        for sign, bound, end in ((-1, limit.below, ends[0]), (1, limit.above, ends[1]))
        if bound is not None and end is not None
    ]
    tolerance, previous = Fraction(baseline.earlier.tolerance), baseline.checks.get(check.id)
    is_bounded = tolerance and len(sides) == len(limit.bounds)
    is_too_wide = is_bounded and all(tolerance >= abs(end - at) for _, at, end in sides)
    whose = "" if is_too_wide else None
    for breach in () if previous is None else previous.crossed.values():
        value = breach.value if breach.exact is None else breach.exact
        for sign, bound, end in sides:
            left, fine = sign * (end - value), sign * (end - bound) / 10
            if sign * (value - bound) > 0 and tolerance >= left and tolerance > fine:
                groups = " against ".join(map(names.describe_group, breach.between))
                whose = f"; {groups} was at {breach.signed_value:.4g}"
    if whose is not None:
        what = f"the tolerance {baseline.earlier.tolerance} accepts every value of {check.id} "
        hint = "give a smaller one: for a rate, 0.01 is one percentage point"
        raise UsageError(f"{what}({limit}{whose})", hint)


def _own_values(finding: Finding, rows: IndexedRows) -> Mapping[GroupKey, float]:
    """The values of the groups that a check judged, if the report lists these values.

    If several entries have the value of the check, groups with different values are left out.
    """
    decisive = finding.value
    if decisive is None:
        return {}
    entries = [
        {key: estimate.value for key, (_, _, estimate) in values.items()}
        for values in find_entries(finding, rows).values()
    ]
    agreed = {
        key: own
        for values in entries
        for key, own in values.items()
        if all(other.get(key) == own for other in entries)
    }
    crossed = {breach_key(breach)[:2]: breach.signed_value for breach in finding.crossed}
    return {**agreed, deciding_key(finding): decisive, **crossed}


def breach_key(breach: Breach) -> _BreachKey:
    """The group, the stratum, and whether the value is a negative difference without its sign."""
    return frozenset(breach.group), frozenset(breach.stratum), breach.lower


def groups_of(breach: Breach) -> frozenset[frozenset[tuple[str, str]]]:
    """The groups that a value compares."""
    return frozenset(map(frozenset, breach.between))


def reversal_key(reversal: Reversal) -> _ReversalKey:
    """The key of a reversal. The group with the higher rate overall comes first in the pair."""
    pair = reversal.pair if reversal.crude > 0 else reversal.pair[::-1]
    return reversal.rate, reversal.of, reversal.attribute, pair, frozenset(reversal.given)


_ROUNDING = 1e-12
"""If there are no exact fractions, differences smaller than this count as rounding."""
_UNKNOWN = "other groups may be over the limit, which the baseline does not show: create a new one"


def name_status_before(
    finding: Finding, baseline: Baseline, judged: Collection[GroupKey], failing: AbstractSet[Status]
) -> Finding:
    """A finding to publish, with the earlier status of the check; open if groups are missing now.

    Values are not compared with the baseline: the status would show whether the earlier value,
    possibly of a few people, was higher or lower than the printed value.
    """
    previous = baseline.checks[finding.check.id]
    before = Before(baseline.earlier, previous.finding.status.value, None, None)
    return leave_open(replace(finding, before=before), _list_missing(previous, judged), failing)


def compare(
    finding: Finding,
    baseline: Baseline,
    rejudge: Rejudge,
    judged: Collection[GroupKey],
    failing: AbstractSet[Status],
) -> Finding:
    """The finding after comparison with the baseline: known failures become warnings.

    A value beyond the limit is known if the same group in the same stratum was beyond the limit,
    and if the value is worse by at most the tolerance. The farthest value that is new or worse
    decides a failure. The check is open if values cannot be evaluated, or if a group that was over
    the limit is not `judged` now. It is also open if groups other than the groups that the value
    compares may be newly or farther over the limit.
    """
    previous, check = baseline.checks[finding.check.id], finding.check
    worse: tuple[Breach, ...] = ()
    others: dict[Breach, Finding] = {}
    new: tuple[Reversal, ...] = ()
    is_unknown = False
    if finding.status is Status.FAIL and isinstance(check, ReversalCheck):
        new = tuple(
            reversal for reversal in finding.reversals if baseline.is_new(reversal, check, previous)
        )
        finding = replace(finding, reversals=tuple(dict.fromkeys((*new, *finding.reversals))))
    elif finding.status is Status.FAIL:
        failed = [breach for breach in finding.crossed if breach.backing in PROVEN]
        fallen = find_fallen(previous.finding, finding, float(baseline.earlier.tolerance))
        worse = tuple(
            breach for breach in failed if is_worse(breach, previous, finding, baseline.earlier)
        )
        if not worse and fallen:
            others = _judge_others(finding, failed, fallen, rejudge)
        # A value without a pair of groups and without departures is about all groups together.
        is_of_each = bool(finding.first) or finding.departures is not None
        if finding.spread and fallen is None and not worse and is_of_each:
            is_unknown = len({group for group, _ in judged}) > 2
        if others:
            worse, shown = tuple(others), next(iter(others.values()))
            finding = replace(shown, **{name: getattr(finding, name) for name in _OF_WHOLE_CHECK})
        if worse and deciding_key(finding) not in {breach_key(breach)[:2] for breach in worse}:
            accepted = tuple(breach for breach in failed if breach not in worse)
            groups = tuple(row.group for row in finding.waived) if finding.spread else ()
            if not finding.spread:
                accepted += tuple(breach for row in finding.waived for breach in row.crossed)
            decided = rejudge(Exclusion(groups, accepted))
            assert decided is not None
            finding = replace(decided, **{name: getattr(finding, name) for name in _OF_WHOLE_CHECK})
    was, own = previous.finding, previous.own.get(deciding_key(finding))
    own_worse: list[float | None] = []
    for breach in worse:
        crossed = previous.crossed.get(breach_key(breach))
        if crossed is None:
            value = previous.own.get(breach_key(breach)[:2])
        else:
            value = crossed.signed_value
            # If a spread is as wide between other groups now, these groups have become worse.
            if crossed.between != breach.between and value == breach.signed_value:
                value = None
        own_worse.append(None if breach in others else value)
    # The groups of the earlier spread, if the spread is between other groups now.
    pairs = ((breach, previous.crossed.get(breach_key(breach))) for breach in finding.crossed)
    moved = (
        crossed.between
        for breach, crossed in pairs
        if crossed is not None and groups_of(crossed) != groups_of(breach)
    )
    before = Before(
        baseline.earlier,
        was.status.value,
        was.value,
        _worse_by(finding, own),
        worse=worse,
        reversals=new,
        between=next(moved, ()) if finding.spread and finding.status is Status.FAIL else (),
        own=own,
        own_worse=tuple(own_worse),
        decided_by=tuple(group for group in (was.first, was.second) if group),
        stratum=was.stratum,
    )
    status = finding.status
    if status is Status.FAIL and not worse and not new:
        status = worst_status(Status.WARN, status_of_unevaluated(finding))
    finding = replace(finding, status=status, before=before)
    missing = _list_missing(previous, judged)
    missing += [NotEvaluated((), (), _UNKNOWN, blocks=True)] if is_unknown else []
    return leave_open(finding, missing, failing)


def _judge_others(
    finding: Finding,
    failed: Iterable[Breach],
    fallen: Mapping[Departure, float | None],
    rejudge: Rejudge,
) -> dict[Breach, Finding]:
    """Maps the value of each fallen group that does not decide the check to its finding.

    A fallen group is newly or farther over the limit. Its value is found by excluding the groups
    over the limit that are not fallen, except the group that it is compared with. Values without
    the required evidence do not count.
    """
    waived, found = tuple(row.group for row in finding.waived), dict[Breach, Finding]()
    limit = finding.check.fail
    for breach in failed:
        stratum, worst = frozenset(breach.stratum), _find_worse_off(breach, finding)
        new = {frozenset(row.group) for row in fallen if frozenset(row.stratum) == stratum}
        if not finding.spread:
            new &= {frozenset(breach.group)}
        rows = index_departures(finding)
        known = {group for _, group, where, _ in rows if where == stratum} - new
        for best in map(frozenset, breach.between) if new and finding.spread else ():
            aside = sorted(tuple(sorted(group)) for group in known - {best})
            rest = rejudge(Exclusion((*waived, *aside))) if best != worst else None
            for other in () if rest is None else rest.crossed:
                if frozenset(other.stratum) == stratum and other.backing in PROVEN:
                    assert rest is not None
                    found[other] = rest
        if new and not found and isinstance(limit, Limit) and not limit.asks:
            found[breach] = finding
    return found


def _list_missing(previous: PreviousFinding, judged: Collection[GroupKey]) -> list[NotEvaluated]:
    """Reasons to leave a check open: groups that were over the limit and are not judged now."""
    over = {*previous.worse_off}
    over |= {(group, stratum) for group, stratum, _ in previous.crossed if group}
    reason = "it was over the limit in the baseline and is not judged now"
    return [
        NotEvaluated(tuple(sorted(group)), tuple(sorted(stratum)), reason, blocks=True)
        for group, stratum in sorted(over.difference(judged) if judged else (), key=repr)
    ]


def is_worse(breach: Breach, previous: PreviousFinding, finding: Finding, earlier: Earlier) -> bool:
    """Whether a value is newly beyond the limit, or farther beyond it by more than the tolerance.

    A spread is also worse if its worse-off group was within the limit before.
    """
    was, limit = previous.crossed.get(breach_key(breach)), finding.check.fail
    if was is None or not isinstance(limit, Limit):
        return True
    below = replace(limit, above=None)
    too_low = limit.below is not None and below.is_crossed(breach.value, breach.exact)
    side = below if too_low else replace(limit, below=None)
    if not side.is_crossed(was.value, was.exact):
        return True
    group = _find_worse_off(breach, finding)
    if group and (group, frozenset(breach.stratum)) not in previous.worse_off:
        return True
    sign = -1 if side.above is None else 1
    if breach.exact is not None and was.exact is not None:
        return sign * (breach.exact - was.exact) > Fraction(earlier.tolerance)
    return sign * (breach.value - was.value) > float(earlier.tolerance) + _ROUNDING


def list_possibly_worse(
    evaluation: Evaluation, finding: Finding, baseline: Baseline
) -> list[UncertainValue] | None:
    """The values that could be over the limit and worse than before; None if they have no bounds.

    A spread may be between other groups if it has more than two groups or could reach parity.
    """
    check, previous = finding.check, baseline.checks[finding.check.id]
    assert isinstance(check, Check)
    assert check.fail is not None
    possible, worse = list_possible_breaches(evaluation, check.fail), list[UncertainValue]()
    now = {breach_key(breach)[:2]: breach for breach in finding.crossed}
    ideal = 0 if isinstance(check.metric, GroupMetric) else check.metric.ideal
    for value in possible or ():
        breach = now.get((frozenset(value.group), frozenset(value.stratum)))
        may_move = (finding.spread and value.low < value.high) and (
            breach is None
            or evaluation.takes_part[evaluation.table.strata.index(value.stratum)].sum() > 2
            or value.low <= ideal <= value.high
        )
        breach = breach or Breach(value.group, value.stratum, value.low)
        if may_move or any(
            check.fail.is_crossed(end, None)
            and is_worse(
                replace(breach, value=end, exact=None), previous, finding, baseline.earlier
            )
            for end in (value.low, value.high)
        ):
            worse.append(value)
    return None if possible is None else worse


def _find_worse_off(breach: Breach, finding: Finding) -> frozenset[tuple[str, str]]:
    """The worse-off group of a spread, which is its highest or lowest group; empty if unknown."""
    if not finding.spread or not finding.worse_off or len(breach.between) < 2:
        return frozenset()
    return frozenset(breach.between[finding.worse_off == finding.second])


def _worse_by(finding: Finding, own: float | None) -> float | None:
    """The distance by which the value is farther beyond the limit than `own`; None if unknown."""
    estimate, limit = finding.estimate, finding.limit
    if estimate is None or not isinstance(limit, Limit) or own is None:
        return None
    if isinstance(finding.check, SubgroupCheck):
        own = abs(own)
    if math.isinf(estimate.value) and estimate.value == own:
        return 0.0
    apart = limit.excess(estimate.value) - limit.excess(own)
    return apart if math.isfinite(apart) else None

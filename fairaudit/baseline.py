"""Baselines: an earlier JSON report, and which checks are worse than they were in it.

What is compared is a fingerprint of all that a check asks, so that a comment or another limit
written `0.80` changes nothing, and another column, cut or formula is refused.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from fairaudit import inputs
from fairaudit.cube import Group, Grouping
from fairaudit.errors import UsageError
from fairaudit.estimate import Estimate
from fairaudit.metrics import (
    Comparison,
    Disparity,
    Eligibility,
    GroupMetric,
    ReferencePolicy,
    TableMetric,
    find_metric,
)
from fairaudit.metrics.definitions import CatalogueEntry
from fairaudit.metrics.terms import format_decimal
from fairaudit.result import SCHEMA_VERSION, AuditResult, ComparisonRow, RateRow
from fairaudit.simpson import Reversal, ReversalKind
from fairaudit.simpson.records import FORMER_NAMES
from fairaudit.spec import Spec, Text
from fairaudit.spec.fields import read_number
from fairaudit.verdict import (
    AnyCheck,
    Backing,
    Before,
    Breach,
    Check,
    Earlier,
    Finding,
    Limit,
    ReversalCheck,
    Status,
    SubgroupCheck,
)
from fairaudit.waivers import status_of_unevaluated, worst_status

Source: TypeAlias = str | Path | Mapping[str, Any]
"""A path of a JSON report, or the report itself as plain data."""

_LENGTH = 16
_FORMER = {str(kind): name for name, kind in FORMER_NAMES.items()}
_NEAR = 1e-12
"""Where there are no fractions, less than this is rounding: the same value, not a worse one."""

_PROVEN = {Backing.UNASKED, Backing.SUPPORTED}
"""A value beyond a limit without the evidence that it asks for only warns: it is no failure."""

_PLACES = {"place", "path", "source", "id"}
"""Where something is written, and under what name, is no part of what it asks."""

_AGAIN = "make a new one: fairaudit run SPEC -o baseline.json"
_Where: TypeAlias = tuple[frozenset[tuple[str, str]], frozenset[tuple[str, str]], bool]
_Place: TypeAlias = tuple[frozenset[tuple[str, str]], frozenset[tuple[str, str]]]
"""A group (none: all of them) in a stratum."""
_Rows: TypeAlias = dict[tuple[str, str], list[RateRow | ComparisonRow]]
_Turned: TypeAlias = tuple[str, str, str, tuple[str, ...], frozenset[str]]


class _Was(NamedTuple):
    """What an earlier report says of a reversal: its kind, and its adjusted p-value."""

    kind: ReversalKind
    adjusted: float | None


@dataclass(frozen=True, slots=True)
class Then:
    """What an earlier report says of a check; `crossed` are the values that no waiver covered.

    `own` are the values of all groups that were judged, beyond the limit or not: of a spread one
    for each stratum. The groups `decided_by` in `stratum` had the value that decided.
    """

    definition: str
    metric: str
    status: str
    value: float | None
    crossed: Mapping[_Where, Breach] = field(default_factory=dict)
    own: Mapping[_Place, float] = field(default_factory=dict)
    decided_by: tuple[Group, ...] = ()
    stratum: Group = ()


@dataclass(frozen=True, slots=True)
class Baseline:
    """An earlier report: its checks, the reversals it lists, and the versions of its metrics."""

    earlier: Earlier
    checks: Mapping[str, Then]
    reversals: Mapping[_Turned, _Was]
    versions: Mapping[str, int]


def load(source: Source, tolerance: object, now: str) -> Baseline:
    """The baseline in a JSON report; raises `UsageError` where it is none, or a suppressed one."""
    from fairaudit import codec

    path = None if isinstance(source, Mapping) else str(source)
    tree = source if isinstance(source, Mapping) else _read(Path(source))
    name = "the baseline" if path is None else f"the baseline {path}"
    _refuse(tree, name)
    result = codec.read_result(tree, name, _AGAIN)
    try:
        created = datetime.fromisoformat(result.provenance.created).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{name} cannot be read: created is no time", _AGAIN) from error
    days = (datetime.fromisoformat(now).astimezone(UTC).date() - created.date()).days
    rows = _rows_of(result)
    return Baseline(
        Earlier(path, created.isoformat(), days, _tolerance(tolerance)),
        {finding.check.id: _then(finding, rows) for finding in result.findings},
        {_turned(reversal): _was(reversal) for reversal in result.reversals},
        {definition.id: definition.version for definition in result.definitions},
    )


def refuse_other(baseline: Baseline, spec: Spec, chosen: Mapping[str, str]) -> None:
    """Raises `UsageError` where the baseline is one of another spec, or of other definitions.

    `chosen` are the definitions of the checks to judge, by id.
    """
    every = chosen if len(chosen) == len(spec.checks) else definitions(spec)
    then = baseline.checks
    faults = [f"{name}: only in the baseline" for name in then if name not in every]
    faults += [f"{name}: not in the baseline" for name in chosen if name not in then]
    faults += [
        f"{name}: {_changed(baseline, one.metric)}"
        for name, one in then.items()
        if name in every and one.definition != every[name]
    ]
    if faults:
        more = f"\n  and {len(faults) - 5} more" if len(faults) > 5 else ""
        what = "the baseline answers other questions than the spec asks"
        raise UsageError("\n  ".join([what, *faults[:5]]) + more, _AGAIN)


def compare(finding: Finding, baseline: Baseline) -> Finding:
    """The finding beside the baseline: what fails no worse than before is a warning.

    A value beyond the limit is as before where the same group (and stratum) was beyond it, by no
    less than the tolerance allows. What could not be evaluated stays open.
    """
    then = baseline.checks[finding.check.id]
    own = then.own.get(_place_of(finding))
    before = Before(
        baseline.earlier,
        then.status,
        then.value,
        _worse_by(finding, own),
        own=own,
        decided_by=then.decided_by,
        stratum=then.stratum,
    )
    check = finding.check
    if finding.status is not Status.FAIL:
        return replace(finding, before=before)
    if isinstance(check, ReversalCheck):
        new = tuple(one for one in finding.reversals if _is_new(one, check, then, baseline))
        before = replace(before, reversals=new)
    else:
        failed = (one for one in finding.crossed if one.backing in _PROVEN)
        worse = tuple(one for one in failed if _is_worse(one, then, check, baseline.earlier))
        before = replace(
            before,
            worse=worse,
            own_worse=tuple(_own(one, then) for one in worse),
            between=_moved(finding, then),
        )
    as_before = not before.worse and not before.reversals
    status = worst_status(Status.WARN, status_of_unevaluated(finding)) if as_before else Status.FAIL
    return replace(finding, status=status, before=before)


def definitions(spec: Spec) -> dict[str, str]:
    """The fingerprint of every check of a spec, by id."""
    return {one.id: definition(one, spec) for one in spec.checks}


def definition(check: AnyCheck, spec: Spec) -> str:
    """A short hash of all that a check asks: measure, terms, limits, columns, who is counted.

    Of a record it holds id, version and formula; what is left at its default is left out, so that
    a key that is new in a later version changes nothing. Data, titles and places are no part.
    """
    if isinstance(check, Check):
        columns: Grouping = (*check.by, *check.strata)
        of = {check.of, check.against, "label"}
        asked: dict[str, Any] = {}
    elif isinstance(check, SubgroupCheck):
        search = spec.subgroups
        columns = () if search is None else search.over
        of = {check.of, "label"}
        rate = find_metric(check.rate)
        # How many are listed is nothing that is asked of a subgroup; with which rates is.
        search = search and replace(search, top=0)
        asked = {"rate": rate and _plain(rate), "search": search and _plain(search)}
    else:
        scan = spec.simpson
        columns = () if scan is None else (*scan.attributes, *chain.from_iterable(scan.given))
        of = {check.of, "label"}
        rate = find_metric(check.rate)
        asked = {"rate": rate and _plain(rate), "scan": scan and _plain(replace(scan, rates=()))}
    whole = {
        **asked,
        "check": _flat(_plain(check)),
        "columns": [
            _plain(one) for one in (*spec.groupable, *spec.features) if one.name in columns
        ],
        "outcomes": [_plain(one) for one in spec.outcomes if one.name in of],
        "counted": _plain((spec.count, spec.weight, spec.filter, spec.missing, spec.exclude_below)),
    }
    text = json.dumps(whole, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:_LENGTH]


def _flat(check: dict[str, Any]) -> dict[str, Any]:
    """A check with its terms among its own members, as fingerprints have always had them."""
    terms = check.pop("terms", {})
    return {**check, **terms}


def _plain(value: object) -> Any:  # noqa: ANN401  # plain data of any shape, a line a kind
    match value:
        case CatalogueEntry():
            return _words(value)
        case Text():
            return value.value
        case Decimal():
            return format_decimal(value)
        case Enum() | Fraction():
            # By its former name, so that a baseline of an earlier version asks the same.
            return _FORMER.get(str(value), str(value))
        case Mapping():
            return {str(name): _plain(one) for name, one in value.items()}
        case tuple() | list() | frozenset():
            listed = [_plain(one) for one in value]
            return sorted(listed, key=repr) if isinstance(value, frozenset) else listed
        case _ if is_dataclass(value):
            return {
                one.name: _plain(getattr(value, one.name))
                for one in fields(value)
                if one.name not in _PLACES and getattr(value, one.name) != _default(one)
            }
        case _:
            return value


def _default(one: Any) -> object:  # noqa: ANN401  # a field of any dataclass
    return one.default_factory() if one.default_factory is not MISSING else one.default


def _words(record: CatalogueEntry) -> dict[str, Any]:
    """What a record computes: its formula and those of its parts."""
    found: dict[str, Any] = {"id": record.id, "version": record.version}
    match record:
        case Disparity():
            found["parts"] = [[_plain(one) for one in part] for part in record.parts]
            found |= {"fold": record.fold.id, "reference": _plain(record.reference)}
            found |= {"averages": _plain(record.averages), "mean": record.mean}
            found["four_fifths"] = record.four_fifths
        case GroupMetric() | Comparison() | TableMetric():
            found["formula"] = record.formula
    return found


def _read(path: Path) -> Mapping[str, Any]:
    try:
        tree = json.loads(inputs.read(path, inputs.REPORT))
    except OSError as error:
        why = error.strerror or str(error)
        raise UsageError(f"the baseline {path} cannot be read: {why}", "check the path") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the baseline {path} is not JSON", _AGAIN) from error
    if not isinstance(tree, dict):
        raise UsageError(f"the baseline {path} is no report of fairaudit", _AGAIN)
    return tree


def _refuse(tree: Mapping[str, Any], name: str) -> None:
    """Raises `UsageError` for what is no report that values can be compared with."""
    tool = tree.get("tool")
    version = tree.get("schema_version")
    why = None
    if not isinstance(tool, Mapping) or tool.get("name") != "fairaudit":
        why = "is no report of fairaudit"
    elif "answers" in tree:
        raise UsageError(f"{name} holds several results", "take one of its `answers[].result`")
    elif "error" in tree:
        why = "is the report of an error: it has no verdict"
    elif version != SCHEMA_VERSION:
        why = f"has the schema version {version}, not {SCHEMA_VERSION}"
    if why:
        raise UsageError(f"{name} {why}", _AGAIN)
    options = tree.get("options")
    if isinstance(options, Mapping) and options.get("suppress_below") is not None:
        hint = "keep an unsuppressed report where only those may read it who may see its counts"
        raise UsageError(f"{name} is suppressed: its values are not all there", hint)


def _rows_of(result: AuditResult) -> _Rows:
    """The comparisons, and the rates of groups that are judged, by metric and outcome."""
    rows: _Rows = {}
    listed: Iterable[RateRow | ComparisonRow] = (*result.comparisons, *result.rates)
    for row in listed:
        if not isinstance(row, RateRow) or row.standing is Eligibility.ELIGIBLE:
            rows.setdefault((row.metric, row.of), []).append(row)
    return rows


def _then(finding: Finding, rows: _Rows) -> Then:
    waived = [breach for waiver in finding.waived for breach in waiver.crossed]
    # In a spread all share a place: its groups tell the pair that is waived from the one left.
    spared = {(_where(breach), _pair(breach)) for breach in waived}
    crossed = [breach for breach in finding.crossed if breach.backing in _PROVEN]
    return Then(
        finding.definition,
        finding.check.metric_id,
        finding.status.value,
        _number(finding.estimate),
        {_where(one): one for one in crossed if (_where(one), _pair(one)) not in spared},
        _own_values(finding, rows),
        tuple(group for group in (finding.first, finding.second) if group),
        finding.stratum,
    )


def _own_values(finding: Finding, rows: _Rows) -> Mapping[_Place, float]:
    """The value of every group that a check judged, as far as the report tells them.

    They stand in the rows of the entry that was checked: of those of its measure, outcome and
    groups, the entry whose row for the deciding group has the check's value. Where two entries have
    it, a group is told for which both say the same.
    """
    value, decided = _number(finding.estimate), _place_of(finding)
    if value is None:
        return {}
    entries: dict[str, dict[_Place, float]] = {}
    for row in rows.get((finding.check.metric_id, finding.check.of), ()):
        own = _number(row.estimate)
        if own is not None and _is_of(row, finding):
            place = frozenset(row.group or ()), frozenset(row.stratum)
            entries.setdefault(_entry(row), {})[place] = own
    fitting = [values for values in entries.values() if values.get(decided) == value]
    agreed = {
        place: own
        for values in fitting
        for place, own in values.items()
        if all(other.get(place) == own for other in fitting)
    }
    crossed = {_where(breach)[:2]: _signed(breach) for breach in finding.crossed}
    return {**agreed, decided: value, **crossed}


def _number(estimate: Estimate | None) -> float | None:
    """The value; None where there is none."""
    return None if estimate is None or math.isnan(estimate.value) else estimate.value


def _signed(one: Breach) -> float:
    return -one.value if one.lower else one.value


def _entry(row: RateRow | ComparisonRow) -> str:
    """What tells the rows of one entry of a spec from those of another."""
    terms = sorted(row.parameters.items()), row.by, row.averaged
    if isinstance(row, RateRow):
        return repr(terms)
    # Two entries may name two references.
    level = row.second if row.reference == ReferencePolicy.LEVEL else None
    return repr((terms, row.compare, row.reference, level))


def _is_of(row: RateRow | ComparisonRow, finding: Finding) -> bool:
    """Whether a row of a rate or a comparison may be one of those a check judged."""
    check = finding.check
    asked = check.asked if isinstance(check, Check) else None
    of_rate = isinstance(asked, Disparity) and asked.id == asked.parts[0][0].id
    compare = asked.comparison.id if isinstance(asked, Disparity) and of_rate else None
    own = row.compare if isinstance(row, ComparisonRow) else None
    by = check.by if isinstance(check, Check) else ()
    return {*row.by} == {*by} and own == compare and bool(row.group) is not finding.spread


def _place_of(finding: Finding) -> _Place:
    """Whose value decides a finding: a group's, or in a spread that of all."""
    group = () if finding.spread else finding.first
    return frozenset(group), frozenset(finding.stratum)


def _own(crossing: Breach, then: Then) -> float | None:
    """What a group that is beyond its limit had then, with its sign."""
    was = then.crossed.get(_where(crossing))
    return then.own.get(_where(crossing)[:2]) if was is None else _signed(was)


def _where(one: Breach) -> _Where:
    return frozenset(one.group), frozenset(one.stratum), one.lower


def _pair(one: Breach) -> frozenset[frozenset[tuple[str, str]]]:
    return frozenset(map(frozenset, one.between))


def _moved(finding: Finding, then: Then) -> tuple[Group, ...]:
    """The groups that made the spread then, where it is between others now."""
    for now in finding.crossed:
        was = then.crossed.get(_where(now))
        if finding.spread and was is not None and _pair(was) != _pair(now):
            return was.between
    return ()


def _turned(reversal: Reversal) -> _Turned:
    """Which reversal it is; of the pair the group that is ahead overall comes first."""
    pair = reversal.pair if reversal.crude > 0 else reversal.pair[::-1]
    return reversal.rate, reversal.of, reversal.attribute, pair, frozenset(reversal.given)


def _was(reversal: Reversal) -> _Was:
    test = reversal.significance
    return _Was(reversal.kind, None if test is None else test.adjusted)


def _is_new(one: Reversal, check: ReversalCheck, then: Then, baseline: Baseline) -> bool:
    """Whether the baseline lists no such reversal, of that kind or a stronger one.

    One that was waived there was not accepted for good, nor one that was not proven yet.
    """
    was = baseline.reversals.get(_turned(one))
    if was is None or then.status not in {Status.FAIL, Status.WARN}:
        return True
    asks = check.fail is not None and check.fail.significant
    proven = was.adjusted is not None and was.adjusted < check.inference.alpha
    return was.kind.strength < one.kind.strength or (asks and not proven)


def _is_worse(now: Breach, then: Then, check: Check | SubgroupCheck, earlier: Earlier) -> bool:
    """Whether a value is beyond the limit where none was, or farther by more than is allowed."""
    was, limit = then.crossed.get(_where(now)), check.fail
    if was is None or limit is None:
        return True
    side = _side(now, limit)
    if not side.crossed(was.value, was.exact):
        return True
    if math.isinf(now.value) or math.isinf(was.value):
        return math.isinf(now.value) and not math.isinf(was.value)
    sign = -1 if side.above is None else 1
    if now.exact is not None and was.exact is not None:
        return sign * (now.exact - was.exact) > Fraction(earlier.tolerance)
    return sign * (now.value - was.value) > float(earlier.tolerance) + _NEAR


def _side(one: Breach, limit: Limit) -> Limit:
    """The bound of a limit that a value is beyond."""
    below = replace(limit, above=None)
    too_low = limit.below is not None and below.crossed(one.value, one.exact)
    return below if too_low else replace(limit, below=None)


def _worse_by(finding: Finding, own: float | None) -> float | None:
    """How much farther out a group's value is than its own was; None where one is no number."""
    estimate, limit = finding.estimate, finding.limit
    if estimate is None or not isinstance(limit, Limit) or own is None:
        return None
    if isinstance(finding.check, SubgroupCheck):
        own = abs(own)
    if math.isinf(estimate.value) and estimate.value == own:
        return 0.0
    apart = limit.excess(estimate.value) - limit.excess(own)
    return apart if math.isfinite(apart) else None


def _changed(baseline: Baseline, metric: str) -> str:
    """What makes a check another one, as far as can be told."""
    record, then = find_metric(metric), baseline.versions.get(metric)
    if record is None or then in {None, record.version}:
        return "it asks something else now"
    return f"{metric} was of version {then} and is of version {record.version}"


def _tolerance(value: object) -> Decimal:
    try:
        found = read_number(str(value))
    except ValueError:
        found = None
    if found is None or found < 0:
        raise UsageError(
            f"the tolerance is a number of 0 or more, not {value!r:.80}", "such as 0.01"
        )
    return found

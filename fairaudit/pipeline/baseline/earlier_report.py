"""Reads a baseline (an earlier JSON report), or refuses it; parses the tolerance, default 0."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from fairaudit.base import inputs
from fairaudit.base.errors import UsageError, check_type
from fairaudit.base.frozen import Frozen, field
from fairaudit.cube import Group
from fairaudit.judge import Backing, Breach, Check, Earlier, Finding
from fairaudit.judge.simpson import Reversal, ReversalKind
from fairaudit.metrics import (
    Disparity,
    Eligibility,
    ReferencePolicy,
    find_metric,
)
from fairaudit.metrics.estimate import Estimate
from fairaudit.pipeline.baseline.fingerprints import compute_fingerprints
from fairaudit.result import SCHEMA_VERSION, AuditResult, ComparisonRow, RateRow
from fairaudit.spec import Spec
from fairaudit.spec.fields import read_number

NO_TOLERANCE = "0"
"""By how much a value may be worse than before, where an audit does not say so."""

BaselineSource: TypeAlias = str | Path | Mapping[str, Any] | AuditResult
"""A path of a JSON report, the report itself as plain data, or the result that it tells."""

PROVEN = {Backing.UNASKED, Backing.SUPPORTED}
"""A value beyond a limit without the evidence that it asks for only warns: it is no failure."""

_AGAIN = "make a new one: fairaudit run SPEC -o baseline.json"
_BreachKey: TypeAlias = tuple[frozenset[tuple[str, str]], frozenset[tuple[str, str]], bool]
_Place: TypeAlias = tuple[frozenset[tuple[str, str]], frozenset[tuple[str, str]]]
"""A group (none: all of them) in a stratum."""
_Rows: TypeAlias = dict[tuple[str, str], list[RateRow | ComparisonRow]]
_ReversalKey: TypeAlias = tuple[str, str, str, tuple[str, ...], frozenset[str]]


class PreviousReversal(NamedTuple):
    """A reversal in an earlier report: its kind, and its adjusted p-value."""

    kind: ReversalKind
    adjusted: float | None


class PreviousFinding(Frozen):
    """The finding of a check in an earlier report; `crossed` are the values that no waiver covers.

    `own` are the values of all groups that were judged, beyond the limit or not: of a spread one
    for each stratum. The groups `decided_by` in `stratum` had the value that decided.
    """

    definition: str
    metric: str
    status: str
    value: float | None
    crossed: Mapping[_BreachKey, Breach] = field(default_factory=dict)
    own: Mapping[_Place, float] = field(default_factory=dict)
    decided_by: tuple[Group, ...] = ()
    stratum: Group = ()


class Baseline(Frozen):
    """An earlier report: its checks, the reversals it lists, and the versions of its metrics."""

    earlier: Earlier
    checks: Mapping[str, PreviousFinding]
    reversals: Mapping[_ReversalKey, PreviousReversal]
    versions: Mapping[str, int]


def load(source: BaselineSource, tolerance: object, now: str) -> Baseline:
    """The baseline in a JSON report; raises `UsageError` where it is none, or a suppressed one."""
    from fairaudit import codec

    if isinstance(source, AuditResult):
        source = codec.write(codec.Result(source))
    check_type(source, str | Path | Mapping, "a baseline is a path, a report or a result")
    path = None if isinstance(source, Mapping) else str(source)
    tree = source if isinstance(source, Mapping) else _read_json(Path(source))
    name = "the baseline" if path is None else f"the baseline {path}"
    _refuse_unusable(tree, name)
    result = codec.read_result(tree, name, _AGAIN)
    try:
        created = datetime.fromisoformat(result.provenance.created).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{name} cannot be read: created is no time", _AGAIN) from error
    days = (datetime.fromisoformat(now).astimezone(UTC).date() - created.date()).days
    rows = _rows_of(result)
    return Baseline(
        Earlier(path, created.isoformat(), days, _read_tolerance(tolerance)),
        {finding.check.id: _read_finding(finding, rows) for finding in result.findings},
        {reversal_key(reversal): _read_reversal(reversal) for reversal in result.reversals},
        {definition.id: definition.version for definition in result.definitions},
    )


def refuse_other(baseline: Baseline, spec: Spec, chosen: Mapping[str, str]) -> None:
    """Raises `UsageError` where the baseline is of another spec, or of other definitions.

    `chosen` are the fingerprints of the checks to judge, by id.
    """
    every = chosen if len(chosen) == len(spec.checks) else compute_fingerprints(spec)
    checks = baseline.checks
    faults = [f"{name}: only in the baseline" for name in checks if name not in every]
    faults += [f"{name}: not in the baseline" for name in chosen if name not in checks]
    faults += [
        f"{name}: {_explain_change(baseline, previous.metric)}"
        for name, previous in checks.items()
        if name in every and previous.definition != every[name]
    ]
    if faults:
        more = f"\n  and {len(faults) - 5} more" if len(faults) > 5 else ""
        what = "the baseline answers other questions than the spec asks"
        raise UsageError("\n  ".join([what, *faults[:5]]) + more, _AGAIN)


def _read_json(path: Path) -> Mapping[str, Any]:
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


def _refuse_unusable(tree: Mapping[str, Any], name: str) -> None:
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


def _read_finding(finding: Finding, rows: _Rows) -> PreviousFinding:
    waived = [breach for waiver in finding.waived for breach in waiver.crossed]
    # In a spread all values share a key: their groups distinguish the waived pair from the other.
    spared = {(breach_key(breach), groups_of(breach)) for breach in waived}
    crossed = [breach for breach in finding.crossed if breach.backing in PROVEN]
    return PreviousFinding(
        finding.definition,
        finding.check.metric_id,
        finding.status.value,
        _value_of(finding.estimate),
        {
            breach_key(breach): breach
            for breach in crossed
            if (breach_key(breach), groups_of(breach)) not in spared
        },
        _own_values(finding, rows),
        tuple(group for group in (finding.first, finding.second) if group),
        finding.stratum,
    )


def _own_values(finding: Finding, rows: _Rows) -> Mapping[_Place, float]:
    """The value of every group that a check judged, as far as the report has them.

    They stand in the rows of the entry that was checked: of those of its metric, outcome and
    groups, the entry whose row for the deciding group has the check's value. Where two entries have
    it, only the groups count for which both have the same value.
    """
    value, decided = _value_of(finding.estimate), place_of(finding)
    if value is None:
        return {}
    entries: dict[str, dict[_Place, float]] = {}
    for row in rows.get((finding.check.metric_id, finding.check.of), ()):
        own = _value_of(row.estimate)
        if own is not None and _may_be_judged_by(row, finding):
            place = frozenset(row.group or ()), frozenset(row.stratum)
            entries.setdefault(_entry_key(row), {})[place] = own
    fitting = [values for values in entries.values() if values.get(decided) == value]
    agreed = {
        place: own
        for values in fitting
        for place, own in values.items()
        if all(other.get(place) == own for other in fitting)
    }
    crossed = {breach_key(breach)[:2]: breach.signed_value for breach in finding.crossed}
    return {**agreed, decided: value, **crossed}


def _value_of(estimate: Estimate | None) -> float | None:
    """The value; None where there is none."""
    return None if estimate is None or math.isnan(estimate.value) else estimate.value


def _entry_key(row: RateRow | ComparisonRow) -> str:
    """What distinguishes the rows of one entry of a spec from those of another."""
    terms = sorted(row.parameters.items()), row.by, row.averaged
    if isinstance(row, RateRow):
        return repr(terms)
    # Two entries may name two references.
    level = row.second if row.reference == ReferencePolicy.LEVEL else None
    return repr((terms, row.compare, row.reference, level))


def _may_be_judged_by(row: RateRow | ComparisonRow, finding: Finding) -> bool:
    """Whether a row of a rate or a comparison may be one of those a check judged."""
    check = finding.check
    metric = check.metric if isinstance(check, Check) else None
    of_rate = isinstance(metric, Disparity) and metric.id == metric.parts[0][0].id
    compare = metric.comparison.id if isinstance(metric, Disparity) and of_rate else None
    own = row.compare if isinstance(row, ComparisonRow) else None
    by = check.by if isinstance(check, Check) else ()
    return {*row.by} == {*by} and own == compare and bool(row.group) is not finding.spread


def place_of(finding: Finding) -> _Place:
    """The group and stratum whose value decides a finding; in a spread no group."""
    group = () if finding.spread else finding.first
    return frozenset(group), frozenset(finding.stratum)


def breach_key(breach: Breach) -> _BreachKey:
    """The group and stratum of a value, and which limit it is beyond."""
    return frozenset(breach.group), frozenset(breach.stratum), breach.lower


def groups_of(breach: Breach) -> frozenset[frozenset[tuple[str, str]]]:
    """The groups that a value is between."""
    return frozenset(map(frozenset, breach.between))


def reversal_key(reversal: Reversal) -> _ReversalKey:
    """What identifies a reversal; of its pair the group that is ahead overall comes first."""
    pair = reversal.pair if reversal.crude > 0 else reversal.pair[::-1]
    return reversal.rate, reversal.of, reversal.attribute, pair, frozenset(reversal.given)


def _read_reversal(reversal: Reversal) -> PreviousReversal:
    test = reversal.significance
    return PreviousReversal(reversal.kind, None if test is None else test.adjusted)


def _explain_change(baseline: Baseline, metric: str) -> str:
    """Why a check is another one than before, as far as is known."""
    record, version = find_metric(metric), baseline.versions.get(metric)
    if record is None or version in {None, record.version}:
        return "it asks something else now"
    return f"{metric} was of version {version} and is of version {record.version}"


def _read_tolerance(value: object) -> Decimal:
    try:
        tolerance = read_number(str(value))
    except ValueError:
        tolerance = None
    if tolerance is None or tolerance < 0:
        raise UsageError(
            f"the tolerance is a number of 0 or more, not {value!r:.80}", "such as 0.01"
        )
    return tolerance

"""Checks when reading JSON that hold of this project alone: names of records, sound rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Annotated, Any, TypeAlias

from fairaudit.codec.values import Unreadable
from fairaudit.evidence.appearances import Appearance
from fairaudit.json_marks import RARE
from fairaudit.ledger import Ledger
from fairaudit.metrics import (
    Disparity,
    GroupMetric,
    Metric,
    OverGroups,
    average_classes,
    build_disparity,
    find_comparison,
    find_comparison_id,
    find_metric,
    suggest,
)
from fairaudit.metrics.formulas import Macro
from fairaudit.metrics.terms import Inference
from fairaudit.result import AuditResult
from fairaudit.verdict import Before, Breach, Check, Finding, Limit, ReversalCheck, SubgroupCheck

Faults: TypeAlias = Iterator[tuple[tuple[str | int, ...], str]]
"""The paths of members, and what is wrong with each."""


@dataclass(frozen=True, slots=True)
class MetricName:
    """What a spec asks for: the id of a record of the catalogue, and what was made of it.

    `compare` is how a rate is compared, null where none is; `macro` whether it is the mean over
    classes; `mean` whether it is the mean over groups, `aggregate` another number over groups.
    """

    metric: str
    compare: str | None
    macro: bool
    mean: bool
    aggregate: Annotated[OverGroups | None, RARE] = None


def name_record(record: Metric) -> MetricName:
    """The names that a record is found by."""
    compare, rate, over_groups = find_comparison_id(record), record, None
    if isinstance(record, Disparity):
        rate = record.parts[0][0]
        known = None if compare else find_metric(record.id)
        is_defined_so = isinstance(known, Disparity) and known.over_groups is not None
        over_groups = None if is_defined_so else record.over_groups
    base = rate.base if isinstance(rate, Macro) else rate
    is_criterion = isinstance(record, Disparity) and compare is None
    metric = record.id if is_criterion else base.id
    is_mean = over_groups is OverGroups.MEAN
    aggregate = None if is_mean else over_groups
    return MetricName(metric, compare, macro=base is not rate, mean=is_mean, aggregate=aggregate)


def find_record(name: MetricName) -> Metric:
    """The record of this version that the names mean, whatever its version was."""
    record = find_metric(name.metric)
    if record is None:
        why = f"is no metric of this version{suggest(name.metric)}"
        raise Unreadable(f'{why}: "{name.metric[:40]}"').within("metric")
    if name.macro:
        record = average_classes(record)
        if record is None:
            raise Unreadable(f"cannot be said of {name.metric}").within("macro")
    if name.compare is not None:
        comparison = find_comparison(name.compare)
        if comparison is None or not isinstance(record, GroupMetric):
            raise Unreadable(f"is no comparison of {name.metric}").within("compare")
        record = build_disparity(record, comparison)
    over_groups = OverGroups.MEAN if name.mean else name.aggregate
    if over_groups is not None:
        if not isinstance(record, Disparity) or (name.mean and name.aggregate is not None):
            member = "mean" if name.mean else "aggregate"
            raise Unreadable(f"cannot be said of {name.metric}").within(member)
        record = replace(record, over_groups=over_groups)
    return record


def faults(row: Any) -> Faults:
    """What cannot be true of a row that is read."""
    match row:
        case Limit(below=None, above=None):
            yield (), "has neither `below` nor `above`"
        case Inference() if not Decimal("0.5") <= row.confidence < 1:
            yield ("confidence_text",), "does not lie from 0.5 to below 1"
        case Appearance() if len(row.group) < 2:
            yield ("group",), "is of one attribute"
        case Appearance() if len(row.parents) < 2:
            yield ("parents",), "are too few"
        case Breach() if math.isnan(row.value):
            yield ("state",), "is of no value beyond a limit"
        case Before() if len(row.own_worse) != len(row.worse):
            yield ("own_worse",), "is not one for each"
        case Check() | ReversalCheck() | SubgroupCheck() if row.warn is row.fail is None:
            yield ("fail",), "and `warn` are both null, so nothing is judged"
        case Finding():
            yield from _faults_of_finding(row)
        case AuditResult():
            yield from _faults_of_result(row)


def _faults_of_finding(finding: Finding) -> Faults:
    if finding.limit not in {finding.check.fail, finding.check.warn} - {None}:
        yield ("limit",), "is neither limit of the check"
    if finding.estimate is not None and isinstance(finding.check, ReversalCheck):
        yield ("state",), "is no state of a check on reversals"
    if finding.practice is not None:
        has_value = isinstance(finding.check, Check) and finding.estimate is not None
        sides = [side for part in finding.parts[:1] for side in (part.first, part.second) if side]
        if not has_value or len(sides) < 2:
            yield ("practice",), "is said of a check without a value and its sides"


def _faults_of_result(result: AuditResult) -> Faults:
    if not isinstance(result.ledger, Ledger) and result.provenance.suppress_below is None:
        yield ("ledger",), "hides numbers, and the result is not suppressed"
    ids: Counter[str] = Counter()
    for index, finding in enumerate(result.findings):
        ids[finding.check.id] += 1
        if ids[finding.check.id] > 1:
            yield ("checks", index, "id"), "stands twice"
        before = finding.before
        if before is not None and before.earlier != result.earlier:
            yield ("checks", index, "baseline", "earlier"), "is not the baseline of the result"
        listed = (*finding.reversals, *(before.reversals if before else ()))
        if any(reversal not in result.reversals for reversal in listed):
            yield ("checks", index, "reversals"), "are not among the reversals"
    known = {definition.id for definition in result.definitions}
    for index, rate in enumerate(result.rates):
        if rate.metric not in known:
            yield ("rates", index, "metric"), "is not among the definitions"

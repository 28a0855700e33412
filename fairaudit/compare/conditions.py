"""Conditions of two audits: whether of the same people, other settings; reversals, notices."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fairaudit.compare.records import CheckChange, RateChange, ReversalChange, Sampling
from fairaudit.metrics import Rate, describe_rule, find_metric
from fairaudit.result import AuditResult, GroupRow
from fairaudit.simpson import Reversal, ReversalKind
from fairaudit.verdict import Check

_LABEL = "label"
_OF_LABEL = {frozenset({"tp", "fn"}), frozenset({"fp", "tn"})}
"""Whom rates count whose denominator no prediction changes: those of one label."""
_NUMBER = re.compile(r"\d[\d.,]*")
_OTHER_SPEC = (
    "spec: not the same text, and no check tells whether all rates are of columns defined alike"
)


def detect_sampling(before: AuditResult, after: AuditResult) -> Sampling:
    """The same people where the files are of one size and length, or every group is as large.

    Two months with as many rows, and as many people in every group and with every label, are one.
    """
    is_one = _have_same_files(before, after) or _have_same_groups(before, after)
    return Sampling.SAME_PEOPLE if is_one else Sampling.INDEPENDENT


def _have_same_files(before: AuditResult, after: AuditResult) -> bool:
    """Whether files of the same bytes and lines were read, whatever they are called."""
    then, now = (
        sorted((file.bytes, file.lines or 0) for file in result.provenance.files)
        for result in (before, after)
    )
    known = all(size for size, _ in (*then, *now))
    return known and then == now and before.provenance.rows == after.provenance.rows


def _have_same_groups(before: AuditResult, after: AuditResult) -> bool:
    """Whether every group of every grouping in both has as many people, and of them as many labels.

    Unknown sizes do not speak for it.
    """
    if before.provenance.rows is None or before.provenance.rows != after.provenance.rows:
        return False
    then, now = dict(_list_sizes(before)), dict(_list_sizes(after))
    groupings = {key[1] for key in then} & {key[1] for key in now}
    outcomes = {key[0] for key in then} & {key[0] for key in now}
    then, now = (
        {key: size for key, size in sizes.items() if key[1] in groupings and key[0] in outcomes}
        for sizes in (then, now)
    )
    return bool(then) and then == now


def _list_sizes(result: AuditResult) -> Iterator[tuple[tuple[str, frozenset[str], object], object]]:
    """How many people each group has, and with which labels; everybody is no group.

    Where labels are not listed, the denominators of rates that condition on them tell them.
    """
    for row in result.groups:
        if row.by and row.n is not None:
            key = frozenset(row.by), (frozenset(row.stratum), frozenset(row.group))
            yield ("", *key), row.n
            if row.of == _LABEL and _has_labels(row):
                yield (_LABEL, *key), tuple(sorted(row.counts.items()))
    for rate in result.rates:
        metric, n = find_metric(rate.metric), rate.estimate.n
        if rate.by and n is not None and isinstance(metric, Rate):
            under = frozenset(metric.under)
            if under in _OF_LABEL and not rate.parameters:
                group = frozenset(rate.stratum), frozenset(rate.group)
                yield (repr(sorted(under)), frozenset(rate.by), group), n


def _has_labels(row: GroupRow) -> bool:
    return bool(row.counts) and None not in row.counts.values()


def list_conditions(
    before: AuditResult,
    after: AuditResult,
    checks: Sequence[CheckChange],
    rates: Sequence[RateChange],
) -> Iterator[str]:
    """What the two audits did not do alike, one sentence each.

    The specs of both are not at hand: that columns are defined alike is known of those of `checks`.
    """
    settings = _list_settings(after)
    for name, was in _list_settings(before).items():
        if was != settings[name]:
            yield f"{name}: {was or 'none'} before, {settings[name] or 'none'} after"
    texts = {(side.provenance.spec_sha256, side.provenance.settings) for side in (before, after)}
    if len(texts) > 1 and not all(_is_defined_alike(rate, checks) for rate in rates):
        yield _OTHER_SPEC
    then, now = _list_rates(before), _list_rates(after)
    for names, others, when in ((then, now, "before"), (now, then, "after")):
        alone = [name for name in names if name not in others]
        if alone:
            yield f"rates told only {when}: {', '.join(alone)}"


def _is_defined_alike(rate: RateChange, checks: Sequence[CheckChange]) -> bool:
    """Whether a check of both results, equal in all it asks, is of the columns of a rate."""
    columns = {*rate.by, *(name for name, _ in rate.stratum)}
    return any(
        change.before.definition == change.after.definition
        and change.check.of == rate.of
        and isinstance(change.check, Check)
        and columns <= {*change.check.by, *change.check.given}
        for change in checks
    )


def _list_settings(result: AuditResult) -> dict[str, object]:
    """How an audit was run, by name."""
    provenance = result.provenance
    rule, inference = provenance.exclude_below, provenance.inference
    return {
        "set on the command line": ", ".join(provenance.settings),
        "a burden": ", ".join(result.burdens),
        "filter": provenance.filter,
        "people per row": provenance.count,
        "survey weight": provenance.weight,
        "clusters": provenance.cluster,
        "smallest group": provenance.minimum.size,
        "fewest events": provenance.minimum.events,
        "excluded groups": rule and describe_rule(rule),
        "confidence": f"{float(100 * inference.confidence):g} %",
        "correction": inference.correction.words,
        "suppressed below": provenance.suppress_below,
        "version of fairaudit": provenance.version,
    }


def _list_rates(result: AuditResult) -> list[str]:
    """The rates that a result lists, with the outcome and the groups they are of."""
    return [
        *dict.fromkeys(
            f"{row.metric} of the {row.of}" + (f" by {' × '.join(row.by)}" if row.by else "")
            for row in result.rates
        )
    ]


def compare_reversals(before: AuditResult, after: AuditResult) -> list[ReversalChange]:
    """The reversals that are new, of another kind, or gone; the surest and strongest first."""
    then, now = ({_identify(row): row for row in side.reversals} for side in (before, after))
    alpha_then, alpha = (side.provenance.inference.alpha for side in (before, after))
    changes = []
    for key, reversal in now.items():
        was = then[key].kind if key in then else None
        if was is not reversal.kind:
            significant = reversal.is_significant(alpha)
            changes.append(_describe_change(reversal, was, reversal.kind, significant=significant))
    for key, reversal in then.items():
        if key not in now:
            significant = reversal.is_significant(alpha_then)
            changes.append(_describe_change(reversal, reversal.kind, None, significant=significant))
    return sorted(changes, key=lambda change: change.strength, reverse=True)


def _identify(reversal: Reversal) -> tuple[object, ...]:
    """What makes two reversals one, whatever the order of groups and columns."""
    groups, columns = frozenset(reversal.pair), frozenset(reversal.given)
    return reversal.rate, reversal.of, reversal.attribute, groups, columns


def _describe_change(
    reversal: Reversal, was: ReversalKind | None, kind: ReversalKind | None, *, significant: bool
) -> ReversalChange:
    name = (reversal.rate, reversal.of, reversal.attribute, reversal.pair, reversal.given)
    return ReversalChange(*name, was, kind, significant)


def compare_notices(
    before: Sequence[str], after: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The notices that are new, and those that are gone; other numbers make no other notice."""
    then, now = ({_NUMBER.sub("#", text) for text in texts} for texts in (before, after))
    return (
        tuple(text for text in after if _NUMBER.sub("#", text) not in then),
        tuple(text for text in before if _NUMBER.sub("#", text) not in now),
    )

"""Conditions that two audits do not share: settings, specs, rates; changed reversals, notices."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fairaudit.judge import Check
from fairaudit.judge.simpson import Reversal, ReversalKind
from fairaudit.metrics import describe_rule
from fairaudit.result import AuditResult
from fairaudit.tools.compare.records import CheckChange, RateChange, ReversalChange

_NUMBER = re.compile(r"\d[\d.,]*")
_OTHER_SPEC = (
    "spec: not the same text, and no check tells whether all rates are of columns defined alike"
)


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

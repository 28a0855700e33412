"""What else is not alike: how the audits were run, the reversals they list, their notices."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from fairaudit.compare.records import CheckChange, RateChange, ReversalChange
from fairaudit.metrics import describe_rule
from fairaudit.result import AuditResult
from fairaudit.simpson import Reversal, ReversalKind
from fairaudit.verdict import Check

_NUMBER = re.compile(r"\d[\d.,]*")
_Turned: TypeAlias = tuple[str, str, str, frozenset[str], frozenset[str]]


def list_conditions(
    before: AuditResult,
    after: AuditResult,
    checks: Sequence[CheckChange],
    rates: Sequence[RateChange],
) -> Iterator[str]:
    """What the two audits did not do alike, one sentence each.

    The specs of both are not at hand: that columns are defined alike is known of those of `checks`.
    """
    for name, was, now in zip(_NAMES, _settings(before), _settings(after), strict=True):
        if was != now:
            yield f"{name}: {was or 'none'} before, {now or 'none'} after"
    same_text = before.provenance.spec_sha256 == after.provenance.spec_sha256
    if not (same_text or all(_is_defined_alike(one, checks) for one in rates)):
        yield _OTHER_SPEC
    then, now = _asked(before), _asked(after)
    for mine, others, when in ((then, now, "before"), (now, then, "after")):
        alone = [name for name in mine if name not in others]
        if alone:
            yield f"rates told only {when}: {', '.join(alone)}"


_OTHER_SPEC = (
    "spec: not the same text, and no check tells whether all rates are of columns defined alike"
)


def _is_defined_alike(one: RateChange, checks: Sequence[CheckChange]) -> bool:
    """Whether a check of both results, equal in all it asks, is of the columns of a rate."""
    columns = {*one.by, *(name for name, _ in one.stratum)}
    return any(
        each.before.definition == each.after.definition
        and each.check.of == one.of
        and isinstance(each.check, Check)
        and columns <= {*each.check.by, *each.check.given}
        for each in checks
    )


_NAMES = (
    "a burden",
    "filter",
    "people per row",
    "survey weight",
    "clusters",
    "smallest group",
    "fewest events",
    "excluded groups",
    "confidence",
    "correction",
    "suppressed below",
    "version of fairaudit",
)


def _settings(result: AuditResult) -> Sequence[object]:
    made = result.provenance
    return (
        ", ".join(result.burdens),
        made.filter,
        made.count,
        made.weight,
        made.cluster,
        made.minimum.size,
        made.minimum.events,
        made.exclude_below and describe_rule(made.exclude_below),
        f"{float(100 * made.inference.confidence):g} %",
        made.inference.correction.words,
        made.suppress_below,
        made.version,
    )


def _asked(result: AuditResult) -> list[str]:
    """The rates that a result lists, with the outcome and the groups they are of."""
    return [
        *dict.fromkeys(
            f"{row.metric} of the {row.of}" + (f" by {' × '.join(row.by)}" if row.by else "")
            for row in result.rates
        )
    ]


def compare_reversals(before: AuditResult, after: AuditResult) -> list[ReversalChange]:
    """The reversals that are new, of another kind, or gone; the surest and strongest first."""
    found = _reversal_changes(before, after)
    return sorted(found, key=lambda one: one.strength, reverse=True)


def _reversal_changes(before: AuditResult, after: AuditResult) -> Iterator[ReversalChange]:
    then = {_turned(one): one for one in before.reversals}
    now = {_turned(one): one for one in after.reversals}
    alpha, alpha_then = (one.provenance.inference.alpha for one in (after, before))
    for key, one in now.items():
        was = then.get(key)
        if was is None or was.kind is not one.kind:
            kinds = (None if was is None else was.kind, one.kind)
            yield _reversal_change(one, *kinds, significant=one.is_significant(alpha))
    for key, one in then.items():
        if key not in now:
            sure = one.is_significant(alpha_then)
            yield _reversal_change(one, one.kind, None, significant=sure)


def _turned(one: Reversal) -> _Turned:
    return one.rate, one.of, one.attribute, frozenset(one.pair), frozenset(one.given)


def _reversal_change(
    one: Reversal, before: ReversalKind | None, after: ReversalKind | None, *, significant: bool
) -> ReversalChange:
    named = (one.rate, one.of, one.attribute, one.pair, one.given)
    return ReversalChange(*named, before, after, significant)


def compare_notices(
    before: Sequence[str], after: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The notices that are new, and those that are gone; other numbers make no other notice."""
    then, now = ({_NUMBER.sub("#", text) for text in texts} for texts in (before, after))
    return (
        tuple(text for text in after if _NUMBER.sub("#", text) not in then),
        tuple(text for text in before if _NUMBER.sub("#", text) not in now),
    )

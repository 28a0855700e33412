"""Conditions that two audits do not share: settings, specs, rates; changed reversals, notices."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fairaudit.judge import Check
from fairaudit.judge.simpson import Reversal
from fairaudit.metrics import describe_rule
from fairaudit.result import AuditResult
from fairaudit.tools.compare.records import CheckChange, RateChange, ReversalChange

_NUMBER = re.compile(r"\d[\d.,]*")
_OTHER_SPEC = (
    "spec: the text differs, and no check shows whether the rates use the same column definitions"
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
            yield f"rates only {when}: {', '.join(alone)}"


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
    """The reversals that are new, of another kind, or gone; the surest and strongest first.

    Where the other result did not look for one, it is none of these: nobody can tell.
    """
    then, now = ({_identify(row): row for row in side.reversals} for side in (before, after))
    changes = []
    for key in (*now, *(key for key in then if key not in now)):
        was, reversal = then.get(key), now.get(key)
        if was is not None and reversal is not None and was.kind is reversal.kind:
            continue
        known, side, other = (was, before, after) if reversal is None else (reversal, after, before)
        assert known is not None
        unknown = "" if was and reversal else explain_unseen(known, side, other)
        changes.append(
            ReversalChange(
                *(known.rate, known.of, known.attribute, known.pair, known.given),
                before=None if was is None else was.kind,
                after=None if reversal is None else reversal.kind,
                significant=known.is_significant(side.provenance.inference.alpha),
                unknown=unknown,
            )
        )
    return sorted(changes, key=lambda change: change.strength, reverse=True)


def explain_unseen(reversal: Reversal, side: AuditResult, other: AuditResult) -> str:
    """Why another result does not tell whether it has a reversal of `side`; empty where it does."""
    key = (reversal.rate, reversal.attribute, reversal.pair, reversal.given)
    if other.scanned is None:
        if other.reversals_off:
            return "it was not looked for: no scan was made"
        return "it is unknown whether it was looked for: the report does not say what it scanned"
    if other.scanned.of != reversal.of or not other.scanned.have(*key):
        return "it was not looked for: no scan compared these groups given these columns"
    if any(
        _identify(found)[:4] == _identify(reversal)[:4] and {*found.given} < {*reversal.given}
        for found in other.reversals
    ):
        return "it is not listed: the same reversal is listed given fewer columns"
    if side.scanned is None or _list_sizes(side) != _list_sizes(other):
        return "it is unknown: gaps counted from another size or at another level on"
    return ""


def _list_sizes(result: AuditResult) -> tuple[float, ...]:
    """What a gap and the evidence of opposite gaps had to reach to count."""
    assert result.scanned is not None
    scope = result.scanned.scope
    return scope.min_gap, scope.min_odds_ratio, result.provenance.inference.alpha


def _identify(reversal: Reversal) -> tuple[object, ...]:
    """What makes two reversals one, whatever the order of groups and columns."""
    groups, columns = frozenset(reversal.pair), frozenset(reversal.given)
    return reversal.rate, reversal.of, reversal.attribute, groups, columns


def compare_notices(
    before: Sequence[str], after: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The notices that are new, and those that are gone; other numbers make no other notice."""
    then, now = ({_NUMBER.sub("#", text) for text in texts} for texts in (before, after))
    return (
        tuple(text for text in after if _NUMBER.sub("#", text) not in then),
        tuple(text for text in before if _NUMBER.sub("#", text) not in now),
    )

"""Keys refused beside `suppress_below`, `describe`, `weight`, `cluster`; most limits there."""

from __future__ import annotations

from collections.abc import Iterable

from fairaudit.base.small_counts import LEAST_THRESHOLD
from fairaudit.judge import AnyCheck, Check
from fairaudit.metrics import Requirement, list_requirements
from fairaudit.spec import schema
from fairaudit.spec.column_model import OutcomeKind
from fairaudit.spec.columns import Columns
from fairaudit.spec.text import Draft

_MOST_LIMITS = 4
"""So many entries, each to warn and to fail, may judge the same counts where some are hidden."""

_OF_CLASSES = {Requirement.PREDICTION, Requirement.CLASSES}


def refuse_suppression(
    draft: Draft, shape: schema.AuditSpec, columns: Columns, checks: Iterable[AnyCheck]
) -> None:
    """Faults of a spec that hides small counts, and has verdicts or searches that tell them.

    Each verdict tells on which side of its limit a number lies: a ladder of limits would tell it.
    """
    threshold, where = shape.suppress_below, ("suppress_below",)
    if threshold is None:
        return
    judging: dict[frozenset[str], list[str]] = {}
    for check in checks:
        if isinstance(check, Check):
            judging.setdefault(_find_counted(check, columns), []).append(check.metric.id)
    for counted, metrics in judging.items():
        if len(metrics) > _MOST_LIMITS:
            draft.fault(
                where,
                f"{len(metrics)} entries judge the same counts of people by "
                f"{' × '.join(sorted(counted))} ({', '.join(dict.fromkeys(metrics))}): each "
                "verdict shows on which side of its limit a hidden number is. At most "
                f"{_MOST_LIMITS} may do so: leave out entries, or `suppress_below`",
            )
    if threshold < LEAST_THRESHOLD:
        least = f"expected a whole number of people from {LEAST_THRESHOLD} up, such as 11"
        draft.fault(where, least)
    if shape.subgroups is not None:
        message = (
            "subgroups are thousands of tables, and a count that is suppressed would follow from "
            "their differences: leave out `subgroups` or `suppress_below`"
        )
        draft.fault(("subgroups",), message)
    if shape.simpson.search:
        message = (
            "`search` counts by columns whose small counts `suppress_below` does not hide: "
            "leave out one of them, or name the columns as `strata`"
        )
        draft.fault(("simpson", "search"), message)


def _find_counted(check: Check, columns: Columns) -> frozenset[str]:
    """The columns by which the people that a check looks at are counted, whatever it is called."""
    needs = list_requirements(check.metric)
    by_name = {column.name: column for column in (*columns.protected, *columns.strata)}
    found = {by_name[name].column.value for name in (*check.by, *check.strata)}
    if needs & {Requirement.LABEL, Requirement.NUMERIC_LABEL} and columns.label is not None:
        found.add(columns.label.column.value)
    for name in filter(None, (check.of, check.against)):
        outcome = columns.outcomes[name]
        if outcome.score and (Requirement.SCORE in needs or check.terms.at is not None):
            found.add(outcome.score.value)
        elif needs & _OF_CLASSES or outcome.kind is OutcomeKind.NUMBER:
            found.add(outcome.column.value)
    return frozenset(found)


def refuse_description(draft: Draft, shape: schema.AuditSpec, columns: Columns) -> None:
    """Faults where features are to be described that are not declared, or must not be told."""
    if not shape.describe:
        return
    if not columns.similarity.columns:
        what = "no feature to describe: `columns: {features: {numeric: […], categorical: […]}}`"
        draft.fault(("describe",), what)
    if shape.suppress_below is not None:
        what = "features have levels of few people: leave out `describe` or `suppress_below`"
        draft.fault(("describe",), what)
    if shape.columns.weight is not None and columns.similarity.numeric:
        what = "numbers are not described under survey weights yet: leave out one of the two"
        draft.fault(("describe",), what)


def refuse_weight(draft: Draft, shape: schema.AuditSpec, columns: Columns) -> None:
    """A fault where numbers would be added up in a weighted sample."""
    outcomes = columns.outcomes.items()
    number = next((name for name, outcome in outcomes if outcome.kind is OutcomeKind.NUMBER), None)
    if number is not None and shape.columns.weight is not None:
        draft.fault(
            ("columns", "weight"),
            f"the numbers of a weighted sample ({number}) are not added up yet: leave out "
            "the weight, or the numbers",
        )
    if shape.subgroups is not None and shape.columns.weight is not None:
        message = "subgroups of a weighted sample are not looked for yet: leave out one of the two"
        draft.fault(("subgroups",), message)


def refuse_cluster(draft: Draft, shape: schema.AuditSpec) -> None:
    """Faults where clusters meet what has no cluster-robust counts."""
    where = ("columns", "cluster")
    if shape.columns.cluster is None:
        return
    if shape.subgroups is not None:
        message = "subgroups of clustered rows are not looked for yet: leave out one of the two"
        draft.fault(where, message)
    if shape.simpson.search:
        message = "`simpson: {search: …}` cannot be combined with `cluster`: leave out one"
        draft.fault(where, message)
    if shape.suppress_below is not None:
        message = (
            "intervals by clusters tell how alike the members of clusters are, which are "
            "counts of few people: leave out `cluster` or `suppress_below`"
        )
        draft.fault(where, message)

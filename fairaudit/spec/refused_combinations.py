"""Keys refused beside `suppress_below`, `describe`, `weight`, `cluster`; most limits there."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator

from fairaudit.base.errors import Fault
from fairaudit.base.small_counts import LEAST_THRESHOLD
from fairaudit.cube import Grouping
from fairaudit.judge import AnyCheck, Check
from fairaudit.metrics import Requirement, list_requirements
from fairaudit.spec import schema
from fairaudit.spec.column_model import OutcomeKind
from fairaudit.spec.columns import Columns
from fairaudit.spec.text import Draft

_MOST_LIMITS = 4
"""So many entries, each to warn and to fail, may judge the same counts where some are hidden."""


def refuse_suppression(
    draft: Draft, shape: schema.AuditSpec, columns: Columns, checks: Iterable[AnyCheck]
) -> None:
    """Faults of a spec that hides small counts, and has verdicts or searches that tell them.

    Each verdict tells on which side of its limit a number lies: a ladder of limits would tell it.
    """
    threshold, where = shape.suppress_below, ("suppress_below",)
    if threshold is None:
        return
    by_name = {attribute.name: attribute.column.value for attribute in columns.protected}

    def name_counts(by: Iterable[str], of: str) -> tuple[frozenset[str], str]:
        counted = frozenset({*map(by_name.__getitem__, by), columns.outcomes[of].column.value})
        return counted, " × ".join(sorted(counted))

    for fault in find_ladders(checks, name_counts):
        draft.fault(where, fault.message)
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


def find_ladders(
    checks: Iterable[AnyCheck], name_counts: Callable[[Grouping, str], tuple[Hashable, str]]
) -> Iterator[Fault]:
    """Faults where too many verdicts tell of the same counts of people.

    `name_counts` says which counts those by some columns and an outcome are, and names them. Strata
    are no other counts: one of a single level leaves the counts what they are. The base rate of a
    model is the label's, and utilities may weigh both decisions alike.
    """
    judging: dict[Hashable, list[str]] = {}
    named: dict[Hashable, str] = {}
    for check in (check for check in checks if isinstance(check, Check)):
        outcomes = {check.of, check.against}
        if list_requirements(check.metric) <= {Requirement.LABEL, Requirement.NUMERIC_LABEL}:
            outcomes = {"label"}
        elif check.terms.parameters.utilities:
            outcomes.add("label")
        for of in sorted(filter(None, outcomes)):
            counts, name = name_counts(check.by, of)
            judging.setdefault(counts, []).append(check.metric.id)
            named.setdefault(counts, name)
    for counts, metrics in judging.items():
        if len(metrics) > _MOST_LIMITS:
            yield Fault(
                f"{len(metrics)} entries judge the same counts of people by {named[counts]} "
                f"({', '.join(dict.fromkeys(metrics))}): each verdict shows on which side of its "
                f"limit a hidden number is. At most {_MOST_LIMITS} may do so: leave out entries, "
                "or `suppress_below`",
                "suppress_below",
            )


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

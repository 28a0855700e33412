"""How people are spread over the groups: their shares before and after."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from fairaudit.compare.records import PeopleChange, ShareChange
from fairaudit.cube import Group, Grouping
from fairaudit.estimate import Significance
from fairaudit.evidence.joint_tests import MOST_DEALT, MOST_PERMUTED
from fairaudit.metrics import Eligibility
from fairaudit.result import AuditResult, GroupRow
from fairaudit.stats import contingency
from fairaudit.stats.contingency import EXPECTED

_TOO_FEW = "not tested: too many groups of too few people"


def compare_people(
    before: AuditResult, after: AuditResult, *, barred: str = ""
) -> Iterator[PeopleChange]:
    """A change for each grouping in both; strata are not told."""
    then, now = _by_grouping(before.groups), _by_grouping(after.groups)
    for key, (by, rows) in now.items():
        if key in then:
            yield _moved(by, then[key][1], rows, barred)


def _by_grouping(
    rows: Iterable[GroupRow],
) -> dict[frozenset[str], tuple[Grouping, dict[frozenset[tuple[str, str]], GroupRow]]]:
    """The groups of each grouping, as the first outcome that is listed counts them."""
    found: dict[frozenset[str], tuple[str, Grouping, dict[frozenset[tuple[str, str]], GroupRow]]]
    found = {}
    for row in rows:
        if row.by and not row.stratum:
            of, _, groups = found.setdefault(frozenset(row.by), (row.of, row.by, {}))
            if row.of == of:
                groups[frozenset(row.group)] = row
    return {key: (by, groups) for key, (_, by, groups) in found.items()}


def _moved(
    by: Grouping,
    then: dict[frozenset[tuple[str, str]], GroupRow],
    now: dict[frozenset[tuple[str, str]], GroupRow],
    barred: str,
) -> PeopleChange:
    every = [*now, *(key for key in then if key not in now)]
    rows = [_share_change(then.get(key), now.get(key)) for key in every]
    known = [
        one
        for key, one in zip(every, rows, strict=True)
        if not {Eligibility.UNKNOWN} & {side[key].standing for side in (then, now) if key in side}
    ]
    significance, why = (None, barred) if barred else _tested(known)
    return PeopleChange(
        by=by,
        groups=tuple(rows),
        new=_names(now, then),
        gone=_names(then, now),
        significance=significance,
        why=why,
    )


def _names(
    mine: dict[frozenset[tuple[str, str]], GroupRow],
    others: dict[frozenset[tuple[str, str]], GroupRow],
) -> tuple[Group, ...]:
    return tuple(row.group for key, row in mine.items() if key not in others)


def _share_change(then: GroupRow | None, now: GroupRow | None) -> ShareChange:
    """The group both times; one that does not occur has nobody, and a share of 0."""
    row = now or then
    assert row is not None
    is_told = (then or row).share is not None and (now or row).share is not None
    nobody = 0.0 if is_told else None
    return ShareChange(
        row.group,
        0 if then is None else then.n,
        0 if now is None else now.n,
        nobody if then is None else then.share,
        nobody if now is None else now.share,
    )


def _tested(rows: list[ShareChange]) -> tuple[Significance | None, str]:
    """Whether both results are spread alike: χ², or permutations where few are expected."""
    if any(one.n_before is None or one.n_after is None for one in rows):
        return None, "not tested: suppressed"
    counts = np.array([[one.n_before, one.n_after] for one in rows], dtype=np.int64).T
    counts = counts.reshape(2, len(rows))
    if len(rows) < 2 or not counts.sum(axis=1).all():
        return None, "not tested: fewer than two groups"
    table = counts.astype(np.float64)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    name, p = "χ²", float(contingency.chi_square(table)[2])
    if expected.min() < EXPECTED:
        if table.sum() >= MOST_DEALT:
            return None, _TOO_FEW
        if len(rows) > MOST_PERMUTED:
            name, p = "χ² by exact moments", contingency.moment_test(counts)
        else:
            name = "permutations"
            p = contingency.permutation_test(
                counts, lambda tables: contingency.chi_square(tables)[0]
            )
    if math.isnan(p):
        return None, _TOO_FEW
    return Significance(name, p, p, 1, "none"), ""

"""Whether two results are of the same people: `detect_sampling`, the default of `--same-people`."""

from __future__ import annotations

from collections.abc import Iterator

from fairaudit.compare.groups import group_key
from fairaudit.compare.records import Sampling
from fairaudit.metrics import Rate, find_metric
from fairaudit.result import AuditResult, GroupRow

_LABEL = "label"
_OF_LABEL = {frozenset({"tp", "fn"}), frozenset({"fp", "tn"})}
"""Whom rates count whose denominator no prediction changes: those of one label."""


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
            key = frozenset(row.by), group_key(row.group, row.stratum)
            yield ("", *key), row.n
            if row.of == _LABEL and _has_labels(row):
                yield (_LABEL, *key), tuple(sorted(row.counts.items()))
    for rate in result.rates:
        metric, n = find_metric(rate.metric), rate.estimate.n
        if rate.by and n is not None and isinstance(metric, Rate):
            under = frozenset(metric.under)
            if under in _OF_LABEL and not rate.parameters:
                key = frozenset(rate.by), group_key(rate.group, rate.stratum)
                yield (repr(sorted(under)), *key), n


def _has_labels(row: GroupRow) -> bool:
    return bool(row.counts) and None not in row.counts.values()

"""Whether two results are of the same people: `detect_sampling`, the default of `--same-people`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from fairaudit.metrics import Rate, find_metric
from fairaudit.result import AuditResult, GroupRow
from fairaudit.tools.compare.groups import GroupKey, group_key
from fairaudit.tools.compare.records import Sampling

_LABEL = "label"
_OF_LABEL = {frozenset({"tp", "fn"}), frozenset({"fp", "tn"})}
"""Whom rates count whose denominator no prediction changes: those of one label."""


_SizeKey: TypeAlias = tuple[str, frozenset[str], GroupKey]
"""Of what a size is (people, or labels), a grouping, and a group of it in a stratum."""


def detect_sampling(before: AuditResult, after: AuditResult) -> Sampling:
    """The same people where every group is as large, or the files are of one size and length.

    Two months with as many rows, and as many people in every group and with every label, are one.
    Files of one size are others where their groups are; but one file may be grouped in two ways.
    """
    is_one = before.provenance.rows == after.provenance.rows and (
        _have_one_file(before, after) or _have_same_groups(before, after)
    )
    return Sampling.SAME_PEOPLE if is_one else Sampling.INDEPENDENT


def _have_one_file(before: AuditResult, after: AuditResult) -> bool:
    """Whether the very same files were read, not written anew in between."""
    files = before.provenance.files
    return bool(files) and files == after.provenance.files and all(file.modified for file in files)


def _have_same_files(before: AuditResult, after: AuditResult) -> bool:
    """Whether files of the same bytes and lines were read, whatever they are called."""
    then, now = (
        sorted((file.bytes or 0, file.lines or 0) for file in result.provenance.files)
        for result in (before, after)
    )
    return then == now and all(size for size, _ in then)


def _have_same_groups(before: AuditResult, after: AuditResult) -> bool:
    """Whether every group of every grouping in both has as many people, and of them as many labels.

    Where no size is known in both, or of how many rows, the files speak for it.
    """
    sizes = dict(_list_sizes(before)), dict(_list_sizes(after))
    common = {*map(_find_grouping, sizes[0])} & {*map(_find_grouping, sizes[1])}
    then, now = (
        {key: size for key, size in side.items() if _find_grouping(key) in common} for side in sizes
    )
    is_known = bool(then) and before.provenance.rows is not None
    return then == now and (is_known or _have_same_files(before, after))


def _find_grouping(key: _SizeKey) -> tuple[str, frozenset[str], frozenset[str]]:
    """Of what a size is, of groups by which columns, in strata by which columns."""
    of, by, (_, stratum) = key
    return of, by, frozenset(name for name, _ in stratum)


def _list_sizes(result: AuditResult) -> Iterator[tuple[_SizeKey, object]]:
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

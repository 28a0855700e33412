"""Where a gap first appears: the group, everybody else, and the groups it is part of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fairaudit.estimate import Estimate
from fairaudit.evidence.appearances import Appearance, Parent
from fairaudit.evidence.pooled_groups import ShareGap
from fairaudit.report import appearances
from fairaudit.report.json.estimates import (
    read_estimate,
    read_significance,
    write_significance,
    write_untested,
)
from fairaudit.report.json.reading import Member
from fairaudit.report.json.values import read_group, write_group


def write_appearance(one: Appearance, alpha: float) -> dict[str, Any]:
    """A group where a gap first appears."""
    return {
        "metric": one.metric,
        "of": one.of,
        "class": one.of_class,
        "group": write_group(one.group),
        **write_untested(one.estimate),
        "everybody_else": _apart(one.apart),
        "worse_off": one.worse_off,
        "significance": write_significance(one.significance),
        "parents": [_parent(parent) for parent in one.parents],
        "sentence": appearances.sentence(one, alpha),
    }


def read_appearance(row: Member) -> Appearance:
    """The group where a gap first appears; of two attributes or more, so of as many groups."""
    group, parents = read_group(row["group"]), row["parents"].each(_read_parent)
    if len(group) < 2:
        row["group"].refuse("is of one attribute")
    if len(parents) < 2:
        row["parents"].refuse("are too few")
    return Appearance(
        metric=row["metric"].text(),
        of=row["of"].text(),
        of_class=row["class"].or_none(Member.text),
        group=group,
        estimate=_read_untested(row),
        apart=_read_apart(row["everybody_else"]),
        parents=parents,
        worse_off=row["worse_off"].or_none(Member.flag),
        significance=row["significance"].or_none(read_significance),
    )


def _read_untested(row: Member) -> Estimate:
    """The share of a crowd: the test that may stand in its row is another one."""
    return replace(read_estimate(row), significance=None)


def _parent(one: Parent) -> dict[str, Any]:
    return {
        "group": write_group(one.group),
        **write_untested(one.estimate),
        "everybody_else": one.apart and _apart(one.apart),
        "rest": _apart(one.rest),
    }


def _read_parent(row: Member) -> Parent:
    return Parent(
        read_group(row["group"]),
        _read_untested(row),
        row["everybody_else"].or_none(_read_apart),
        _read_apart(row["rest"]),
    )


def _apart(one: ShareGap) -> dict[str, Any]:
    """How a crowd differs from one it shares nobody with."""
    return {
        "other": write_untested(one.other),
        "difference": one.difference,
        "low": one.low,
        "high": one.high,
        "p": one.p,
        "test": one.test,
    }


def _read_apart(row: Member) -> ShareGap:
    return ShareGap(
        _read_untested(row["other"]),
        row["difference"].number(),
        row["low"].number(),
        row["high"].number(),
        row["p"].number(),
        row["test"].text(),
    )

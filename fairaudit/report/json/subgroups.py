"""Subgroups in the machine-readable report: a row for each, and one for the search of each rate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairaudit.estimate import State
from fairaudit.report import sentences
from fairaudit.result import AuditResult
from fairaudit.subgroups import Part, Searched, Subgroup


def rows(result: AuditResult) -> Iterator[dict[str, Any]]:
    """The subgroups that are told, by rate; `listed` those of the list, in its order."""
    if result.subgroups is None:
        return
    alpha = result.provenance.inference.alpha
    for one in result.subgroups.rates:
        told = {each.group: each for each in one.listed}
        for each in (one.widest, one.unfairest):
            if each is not None:
                told.setdefault(each.group, each)
        listed = {each.group for each in one.listed}
        for each in told.values():
            yield {
                "metric": one.rate,
                "of": one.of,
                "group": dict(each.group),
                "listed": each.group in listed,
                **_numbers(each),
                "parts": [_part(part) for part in each.parts],
                "sentence": sentences.subgroup(each, one.rate, alpha),
            }


def searches(result: AuditResult) -> Iterator[dict[str, Any]]:
    """What was looked at for each rate, how much of it stood out, and Kearns' measure."""
    search = result.subgroups
    if search is None:
        return
    for one in search.rates:
        yield {
            "metric": one.rate,
            "of": one.of,
            "over": list(search.over),
            "depth": search.depth,
            "min_size": search.min_size,
            "top": search.top,
            "numerator": one.over,
            "denominator": one.under,
            "people": one.n,
            "looked_at": one.looked_at,
            "family": search.looked_at,
            "significant": one.significant,
            "explained": one.explained,
            "widest": None if one.widest is None else dict(one.widest.group),
            "unfairness": _unfairness(one),
        }


def _unfairness(one: Searched) -> dict[str, Any]:
    worst = one.unfairest
    if worst is None:
        return {"state": State.UNDEFINED.value, "value": None, "group": None}
    found = {"state": State.DEFINED.value, "value": worst.unfairness}
    return {**found, "group": dict(worst.group)}


def _numbers(one: Subgroup) -> dict[str, Any]:
    return {
        "state": State.DEFINED.value,
        "value": one.divergence,
        "exact": str(one.exact),
        "numerator": one.over,
        "denominator": one.under,
        "rate": one.value,
        "everybody": one.everybody,
        "share": one.share,
        "low": one.low,
        "high": one.high,
        "p": one.p,
        "adjusted": one.adjusted,
        "test": one.test,
        "significant": one.significant,
        "unfairness": one.unfairness,
    }


def _part(one: Part) -> dict[str, Any]:
    return {
        "group": dict(one.group),
        "numerator": one.over,
        "denominator": one.under,
        "value": one.divergence,
    }

"""Fingerprints: hashes of the questions of checks, to recognise a baseline of the same checks.

A comment or another spelling of a limit does not change them; another column, cut or formula does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from itertools import chain
from typing import Any

from fairaudit.base.frozen import NODEFAULT, Frozen, fields, replace
from fairaudit.cube import Grouping
from fairaudit.judge import AnyCheck, Check, SubgroupCheck
from fairaudit.metrics import (
    Comparison,
    Disparity,
    GroupMetric,
    OverGroups,
    Requirement,
    TableMetric,
    find_metric,
)
from fairaudit.metrics.definitions import CatalogueEntry
from fairaudit.metrics.terms import format_decimal
from fairaudit.spec import LocatedText, Spec

_LENGTH = 16
_HASHED = {"most_people": "most_strata", "columns": "texts"}
"""Former names that are hashed in place of new ones, so that baselines stay valid."""

_PLACES = {"place", "path", "source", "id", "about", "scope"}
"""Members that are not part of the question: places, names, explanations, and repeated scopes."""


def compute_fingerprints(spec: Spec) -> dict[str, str]:
    """The fingerprint of every check of a spec, by id."""
    return {check.id: compute_fingerprint(check, spec) for check in spec.checks}


def compute_fingerprint(check: AnyCheck, spec: Spec) -> str:
    """A short hash of the question of a check: metric, terms, limits, columns and people counted.

    Metrics are hashed by id, version and formula. Defaults are left out, so a key that is new in a
    later version does not change the hash. A changed default would go unnoticed: a test keeps the
    defaults fixed, and from the first release on a change of one must add the former value to the
    hash. Data, titles and places are not hashed.
    """
    if isinstance(check, Check):
        columns: Grouping = (*check.by, *check.strata)
        of = {check.of, check.against, "label"}
        search_terms: dict[str, Any] = {}
        if Requirement.FEATURES in check.metric.requirements:
            search_terms = {"similarity": _plain(spec.similarity)}
    elif isinstance(check, SubgroupCheck):
        search = spec.subgroups
        columns = () if search is None else search.over
        of = {check.of, "label"}
        rate = find_metric(check.rate)
        # The number of listed subgroups does not matter for a check; the searched rates do.
        search = search and replace(search, top=0)
        search_terms = {"rate": rate and _plain(rate), "search": search and _plain(search)}
    else:
        scan = spec.simpson
        columns = () if scan is None else (*scan.attributes, *chain.from_iterable(scan.given))
        of = {check.of, "label"}
        rate = find_metric(check.rate)
        search_terms = {
            "rate": rate and _plain(rate),
            "scan": scan and _plain(replace(scan, rates=())),
        }
    # Fingerprints have the terms of a check among its members, and the former name of `metric`.
    plain_check = _plain(check)
    former = {"asked": plain_check.pop("metric")} if "metric" in plain_check else {}
    terms = plain_check.pop("terms", {})
    whole = {
        **search_terms,
        "check": {**plain_check, **former, **terms},
        "columns": [
            _plain(column) for column in (*spec.groupable, *spec.features) if column.name in columns
        ],
        "outcomes": [_plain(outcome) for outcome in spec.outcomes if outcome.name in of],
        "counted": _plain((spec.count, spec.weight, spec.filter, spec.missing, spec.exclude_below)),
    }
    text = json.dumps(whole, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:_LENGTH]


def _plain(value: object) -> Any:  # noqa: ANN401  # plain data of any shape, a line a kind
    match value:
        case CatalogueEntry():
            return _describe_record(value)
        case LocatedText():
            return value.value
        case Decimal():
            return format_decimal(value)
        case Enum() | Fraction():
            return _HASHED.get(str(value), str(value))
        case Mapping():
            return {str(name): _plain(member) for name, member in value.items()}
        case tuple() | list() | frozenset():
            members = [_plain(member) for member in value]
            return sorted(members, key=repr) if isinstance(value, frozenset) else members
        case Frozen():
            return {
                _HASHED.get(member.name, member.name): _plain(getattr(value, member.name))
                for member in fields(type(value))
                if member.name not in _PLACES and getattr(value, member.name) != _default_of(member)
            }
        case _:
            return value


def _default_of(member: Any) -> object:  # noqa: ANN401  # a field of any class
    if member.default_factory is not NODEFAULT:
        return member.default_factory()
    return member.default


def _describe_record(record: CatalogueEntry) -> dict[str, Any]:
    """The formulas of a record of the catalogue and of its parts."""
    words: dict[str, Any] = {"id": record.id, "version": record.version}
    match record:
        case Disparity():
            words["parts"] = [[_plain(member) for member in part] for part in record.parts]
            words |= {"fold": record.fold.id, "reference": _plain(record.reference)}
            words |= {"averages": _plain(record.averages)}
            # A mean is hashed as before the other numbers existed.
            words["mean"] = record.over_groups is OverGroups.MEAN
            if record.over_groups not in {None, OverGroups.MEAN}:
                words["aggregate"] = _plain(record.over_groups)
            words["four_fifths"] = record.four_fifths
            if record.per_class is not None:
                words["per_class"] = _plain(record.per_class)
        case GroupMetric() | Comparison() | TableMetric():
            words["formula"] = record.formula
    return words

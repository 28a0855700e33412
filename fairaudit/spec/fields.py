"""Types of keys of a spec that need more than a scalar: names, limits, groupings, short forms."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Any, TypeAlias

from fairaudit.base.errors import suggest_known
from fairaudit.judge.simpson import ReversalKind
from fairaudit.metrics import (
    CATALOGUE,
    COMPARISONS,
    PRESETS,
    find_comparison,
    find_metric,
    find_preset,
    suggest,
)
from fairaudit.metrics.conditional import PROPENSITY_STRATIFIED_DIFFERENCE
from fairaudit.spec.reading import (
    DIGITS,
    ITEM,
    NUMBER,
    SCALARS,
    ColumnName,
    Reader,
    Short,
    read_number,
    read_text,
)
from fairaudit.spec.text import UNWRITTEN, LocatedText

SCALAR = SCALARS[str].described
NUMERIC = SCALARS[Decimal].described
WORDS = ("each", "full", "all")
"""Words for groupings: each column alone, all columns together, every subset."""

NO_REPLICATES = (
    "replicate weights are not supported: name the full-sample weight in `columns: {weight: …}`, "
    "and the sampling design in `design: {strata: …, cluster: …}`"
)
_LIMIT = re.compile(
    rf"(?P<side>[<>])\s*(?P<bound>{DIGITS})"
    rf"|outside\s+(?P<low>{DIGITS})\s*\.\.\s*(?P<high>{DIGITS})",
    re.ASCII,
)
_KINDS = [str(kind) for kind in ReversalKind]
_METRIC_NAMES = {
    *(name for metric in CATALOGUE for name in (metric.id, *metric.aliases)),
    *(preset.name for preset in PRESETS),
}
_COMPARISONS = [comparison.id for comparison in COMPARISONS]
_AVERAGES = (
    "pooled", "uniform", "reference", "group", "reference_people", "group_people", "overlap",
)  # fmt: skip


def as_list(value: object) -> object:
    """A list; one item alone needs no list."""
    return value if isinstance(value, list) else [value]


def _read_number_or_median(value: object) -> Decimal | str:
    if value == "median":
        return "median"
    try:
        return read_number(value)
    except ValueError as error:
        raise ValueError(f"{error}, or `median`") from None


def _read_reason(value: object) -> str:
    if not (text := read_text(value)).strip():
        raise ValueError("give a reason: every report prints it")
    return text


def _read_words(value: object) -> str:
    if not (text := read_text(value)).strip():
        raise ValueError("expected a text that is not empty")
    return text


def _read_metric_name(value: object) -> str:
    name = read_text(value)
    if find_metric(name) is None and find_preset(name) is None:
        if find_comparison(name) is not None:
            raise ValueError(f"{name!r} is a comparison: use a rate with `compare: {name}`")
        raise ValueError(f"unknown metric {name!r}{suggest(name)}")
    return name


def _read_comparison(value: object) -> str:
    name = read_text(value)
    if name not in _COMPARISONS:
        raise ValueError(f"unknown comparison {name!r}{suggest_known(name, _COMPARISONS)}")
    return name


def _expand_average(value: object) -> object:
    """A rule becomes a mapping of its word to 1; a mapping gives each stratum its weight."""
    if isinstance(value, dict):
        if not value:
            raise ValueError("name a weight for each stratum")
        if any(str(name).startswith(UNWRITTEN) for name in value):
            raise ValueError("the name of a stratum cannot begin with a DEL character")
        return value
    name = read_text(value)
    if name not in _AVERAGES:
        hint = suggest_known(name, _AVERAGES)
        raise ValueError(f"unknown weights {name!r}{hint}, or a weight for each stratum")
    return {f"{UNWRITTEN}{name}": "1"}


def _expand_groupings(value: object) -> object:
    if value == [] or (isinstance(value, list) and [] in value):
        raise ValueError("an empty list names no grouping")
    return as_list(value)


def expand_reversal_limit(value: object) -> object:
    """A kind by its name, or a mapping; `true` is any reversal, and `false` no limit."""
    if not isinstance(value, dict):
        name = read_text(value)
        if name == "false":
            return None
        if name != "true" and name not in _KINDS:
            raise ValueError(f"unknown kind {name!r}{suggest_known(name, (*_KINDS, 'true'))}")
        value = {} if name == "true" else {"kind": name}
    return {"kind": str(ReversalKind.MOST_PEOPLE), **value}


def expand_columns(value: object) -> object:
    """A mapping of columns; in a list, or alone, names have no body."""
    names = [value] if isinstance(value, str) else value
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        if len(set(names)) < len(names):
            raise ValueError("a name is listed twice")
        return dict.fromkeys(names)
    return value


def expand_features(value: object) -> object:
    """Features as columns; a list instead of a body names columns that define similarity."""
    if not isinstance(value, dict):
        return expand_columns(value)
    return {
        name: {UNWRITTEN: body} if isinstance(body, list | str) else body
        for name, body in value.items()
    }


def under_key(key: str) -> Any:  # noqa: ANN401  # a function of any input
    """The function that takes a value other than a mapping as the value of a key."""
    return lambda value: value if isinstance(value, dict) else {key: value}


def expand_metric(value: object) -> object:
    """The name of a metric, or an entry; a model in `given` becomes a stratum with a name."""
    entry = value if isinstance(value, dict) else {"metric": value}
    metric = find_metric(str(entry.get("metric")))
    default: object = {"propensity": {}} if metric is PROPENSITY_STRATIFIED_DIFFERENCE else None
    model = entry.get("given", default)
    if not isinstance(model, dict):
        return entry
    name = str(next(iter(model), "strata"))
    if name == "propensity":
        body, of = model[name], entry.get("by")
        if isinstance(of, list) and len(of) == 1:
            of = of[0]
        if isinstance(body, dict) and body.get("of") is not None:
            of = body["of"]
        if isinstance(of, str) and of not in WORDS:
            name = f"propensity of {of}"
    return {**entry, "given": name, f"{UNWRITTEN}given": model}


def expand_bound(value: object) -> object:
    """A limit as a mapping: `< 0.8`, and `outside: [lowest, highest]`, which sets both bounds.

    `none` sets no limit, for an entry that must ignore the limit of `defaults`.
    """
    if value == "none":
        return None
    if isinstance(value, str):
        return _expand_limit_text(value.strip())
    if isinstance(value, dict) and "outside" in value:
        pair = value["outside"]
        if not isinstance(pair, list) or len(pair) != 2 or {"below", "above"} & set(value):
            raise ValueError("expected only `outside: [lowest, highest]`, without another bound")
        return {**value, "below": pair[0], "above": pair[1]}
    return value


def _expand_limit_text(text: str) -> dict[str, str]:
    limit = _LIMIT.fullmatch(text)
    if limit is None:
        hint = ""
        if NUMBER.fullmatch(text):
            hint = f"; is it `< {text}` or `> {text}`?"
        elif text.startswith(("<=", ">=")):
            hint = "; limits are strict: a value equal to the limit passes"
        elif text.endswith("%"):
            hint = "; write 0.8 for 80 %"
        elif text.endswith(("significant", "conclusive")):
            word = text.rsplit(maxsplit=1)[-1]
            hint = f"; to require evidence, use a mapping, {{below: 0.8, {word}: true}}"
        raise ValueError(f"expected a limit, `< 0.8`, `> 0.05` or `outside -0.05..0.05`{hint}")
    if limit["side"]:
        return {"below" if limit["side"] == "<" else "above": limit["bound"]}
    return {"below": limit["low"], "above": limit["high"]}


Words: TypeAlias = Annotated[str, Reader(_read_words, SCALAR)]
Reason: TypeAlias = Annotated[str, Reader(_read_reason, {"type": "string", "minLength": 1})]
METRIC_NAME = {"$ref": "#/$defs/_metric_name"}
METRIC_NAMES = {"enum": sorted(_METRIC_NAMES)}
MetricName: TypeAlias = Annotated[str, Reader(_read_metric_name, METRIC_NAME)]
Comparison: TypeAlias = Annotated[str, Reader(_read_comparison, {"enum": _COMPARISONS})]
Above: TypeAlias = Annotated[
    Decimal | str, Reader(_read_number_or_median, {"anyOf": [NUMERIC, {"const": "median"}]})
]
Texts: TypeAlias = Annotated[list[str], Short(as_list, (ITEM,))]
LocatedTexts: TypeAlias = Annotated[tuple[LocatedText, ...], Short(as_list, (ITEM,))]
ColumnNames: TypeAlias = Annotated[tuple[ColumnName, ...], Short(as_list, (ITEM,))]
Numbers: TypeAlias = Annotated[list[Decimal], Short(as_list, (ITEM,))]
Groupings: TypeAlias = Annotated[list[Texts], Short(_expand_groupings, (SCALAR,))]
GroupingsOrNone: TypeAlias = Annotated[
    list[Texts], Short(lambda value: [] if value == [] else _expand_groupings(value), (SCALAR,))
]
Average: TypeAlias = Annotated[
    dict[str, Decimal], Short(_expand_average, ({"enum": list(_AVERAGES)},))
]
ReferenceMap: TypeAlias = Annotated[dict[str, str], Short(under_key(""), (SCALAR,))]
LIMIT_TEXT = {"type": "string", "pattern": "^\\s*([<>]|outside\\s|none$)"}
TURNED_WORDS = {"enum": [True, False, *_KINDS]}

"""Values in a spec (numbers, limits, metric names): parsing, short forms, errors, JSON Schema."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, TypeAlias

from fairaudit.base.errors import suggest_known
from fairaudit.base.fixed_point import LARGEST_WHOLE
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
from fairaudit.spec.shape import Reader

_DIGITS = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?"
_NUMBER = re.compile(_DIGITS, re.ASCII)
_LIMIT = re.compile(
    rf"(?P<side>[<>])\s*(?P<bound>{_DIGITS})"
    rf"|outside\s+(?P<low>{_DIGITS})\s*\.\.\s*(?P<high>{_DIGITS})",
    re.ASCII,
)
_LONGEST = 400
"""So many signs a number may have: exact arithmetic with a million digits would take for ever."""
SCALAR = {"type": ["string", "number", "boolean"]}
NUMERIC = {"type": "number"}
KINDS = [str(kind) for kind in ReversalKind]

NO_REPLICATES = (
    "replicate weights are not supported: name the full-sample weight in `columns: {weight: …}`, "
    "and the sampling design in `design: {strata: …, cluster: …}`"
)


def _read_text(value: object) -> object:
    if value is None:
        raise ValueError("expected a text, found nothing; write '' for an empty text")
    if isinstance(value, dict | list):
        kind = "a list" if isinstance(value, list) else "a mapping"
        message = f"expected a text, found {kind}; use quotes to make it a text"
        raise ValueError(message)  # noqa: TRY004  # readers raise ValueError
    return value


def read_number(value: object) -> Decimal:
    """A number as it is written; raises `ValueError` for what is none, or none to reckon with."""
    if not isinstance(value, str) or not _NUMBER.fullmatch(value):
        is_percentage = isinstance(value, str) and value.endswith("%")
        hint = "; write 0.8 for 80 %" if is_percentage else ""
        raise ValueError(f"expected a number, such as 0.8{hint}")
    if len(value) > _LONGEST:
        raise ValueError(f"a number has at most {_LONGEST} digits")
    number = Decimal(value)
    if abs(float(number)) > LARGEST_WHOLE:
        raise ValueError(f"this number is too large: the maximum is {LARGEST_WHOLE:,}")
    return number


def _read_number_or_median(value: object) -> Decimal | str:
    if value == "median":
        return "median"
    try:
        return read_number(value)
    except ValueError as error:
        raise ValueError(f"{error}, or `median`") from None


def _read_share(value: object) -> Fraction:
    text = value.strip() if isinstance(value, str) else ""
    written = text.removesuffix("%").strip()
    if not _NUMBER.fullmatch(written):
        raise ValueError("expected a share of the people, such as 3% or 0.03")
    share = Fraction(read_number(written)) / (100 if text.endswith("%") else 1)
    if not 0 < share < 1:
        raise ValueError("a share of the people must be between 0 and 1, or 0% and 100%")
    return share


def _read_reason(value: object) -> object:
    if not str(_read_text(value)).strip():
        raise ValueError("give a reason: every report prints it")
    return value


def _read_whole(value: object) -> int:
    if not isinstance(value, str) or not re.fullmatch(r"[0-9]{1,15}", value):
        raise ValueError("expected a whole number")
    return int(value)


def _read_flag(value: object) -> bool:
    if not isinstance(value, str) or value not in {"true", "false"}:
        raise ValueError("expected true or false")
    return value == "true"


def _read_words(value: object) -> object:
    text = _read_text(value)
    if not str(text).strip():
        raise ValueError("expected a text that is not empty")
    return text


def _read_day(value: object) -> date:
    if not isinstance(value, str) or not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
        raise ValueError("expected a date, such as 2026-03-31")
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise ValueError(f"{value} is not a date") from None


def _as_list(value: object) -> object:
    return value if isinstance(value, list) else [value]


def _read_metric_name(value: object) -> str:
    name = str(_read_text(value))
    if find_metric(name) is None and find_preset(name) is None:
        if find_comparison(name) is not None:
            raise ValueError(f"{name!r} is a comparison: use a rate with `compare: {name}`")
        raise ValueError(f"unknown metric {name!r}{suggest(name)}")
    return name


def _read_comparison(value: object) -> str:
    name = str(_read_text(value))
    if name not in _COMPARISONS:
        raise ValueError(f"unknown comparison {name!r}{suggest_known(name, _COMPARISONS)}")
    return name


def _read_average(value: object) -> object:
    """A rule as a mapping of its word to 1; a mapping gives each stratum its weight."""
    if isinstance(value, dict):
        if not value:
            raise ValueError("give a weight for each stratum")
        if any(str(name).startswith(RULE) for name in value):
            raise ValueError("no stratum has a name that begins with a NUL")
        return value
    name = str(_read_text(value))
    if name not in _AVERAGES:
        hint = suggest_known(name, _AVERAGES)
        raise ValueError(f"unknown weights {name!r}{hint}, or a weight for each stratum")
    return {f"{RULE}{name}": "1"}


def _read_groupings(value: object) -> object:
    if value == [] or (isinstance(value, list) and [] in value):
        raise ValueError("an empty list names no grouping")
    return [_as_list(item) for item in value] if isinstance(value, list) else [[value]]


def read_reversal_limit(value: object) -> object:
    """A kind by its name; `true` is any reversal, `false` none at all."""
    if isinstance(value, dict):
        return value
    name = str(_read_text(value))
    if name in {"true", "false"}:
        return {} if name == "true" else None
    if name not in KINDS:
        hint = suggest_known(name, (*KINDS, "true"))
        raise ValueError(f"unknown kind {name!r}{hint}")
    return {"kind": name}


def read_row_limits(value: object) -> object:
    """How many rows are expected: a mapping, never a number alone."""
    if not isinstance(value, dict):
        raise ValueError("use `{at_least: 500}`, `{at_most: 500}` or both")  # noqa: TRY004  # as above
    return value


def read_entries(value: object) -> object:
    """A list of at least one entry; one alone needs no list."""
    if value in ([], None):
        raise ValueError("list at least one metric")
    return _as_list(value)


def read_columns(value: object) -> object:
    """A list of names as a mapping; an entry without a body is an empty one."""
    if isinstance(value, str):
        value = [value]
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        if len(set(value)) < len(value):
            raise ValueError("a name is listed twice")
        return {name: {} for name in value}
    if isinstance(value, dict):
        return {name: {} if body is None else body for name, body in value.items()}
    return value


def read_features(value: object) -> object:
    """Features as a mapping; a list in place of a body names columns that people are alike in."""
    if not isinstance(value, dict):
        return read_columns(value)
    bodies = {
        name: {"names": body} if isinstance(body, list | str) else body
        for name, body in value.items()
    }
    return read_columns(bodies)


def under_key(key: str) -> Any:  # noqa: ANN401  # a validator of any input
    """A validator that takes what is no mapping for the value of a key."""

    def wrap(value: object) -> object:
        return value if isinstance(value, dict) else {key: value}

    return wrap


WORDS = ("each", "full", "all")
"""Words that stand for groupings: of each column alone, of all together, of every subset."""

GIVEN_MODEL = "given_model"
"""Where a `given` stands that is a model: beside it stands the name of the stratum it makes."""


def read_metric(value: object) -> object:
    """A metric by its name alone, or an entry; a model in `given` becomes a stratum by its name."""
    entry = value if isinstance(value, dict) else {"metric": value}
    if GIVEN_MODEL in entry:
        raise ValueError(f"unknown key `{GIVEN_MODEL}`: put the model into `given`")
    metric = find_metric(str(entry.get("metric")))
    default: object = {"propensity": {}} if metric is PROPENSITY_STRATIFIED_DIFFERENCE else None
    model = entry.get("given", default)
    if not isinstance(model, dict):
        return entry
    return {**entry, "given": _name_model(model, entry.get("by")), GIVEN_MODEL: model}


def _name_model(model: dict[str, Any], by: object) -> str:
    """The name of the stratum: `propensity of sex`, `clusters`."""
    kind = next(iter(model), "strata")
    body = model.get(kind)
    if kind != "propensity":
        return str(kind)
    of = body.get("of") if isinstance(body, dict) else None
    if of is None:
        of = by[0] if isinstance(by, list) and len(by) == 1 else by
    is_named = isinstance(of, str) and of not in WORDS
    return f"propensity of {of}" if is_named else "propensity"


def read_design(value: object) -> object:
    """The design of a sample as it stands: strata and clusters, without replicate weights."""
    if isinstance(value, dict) and "replicates" in value:
        raise ValueError(NO_REPLICATES)
    return value


def read_scan(value: object) -> object:
    """A scan for reversals: `false` makes none."""
    return {"scan": "false"} if value == "false" else value


def read_bound(value: object) -> object:
    """A limit as a text, `< 0.8`, as a mapping; `outside: [lo, hi]` is both bounds.

    `none` is no limit, for an entry that shall not take that of `defaults`.
    """
    if value == "none":
        return None
    if isinstance(value, str):
        return _read_limit_text(value.strip())
    if isinstance(value, dict) and "outside" in value:
        pair = value["outside"]
        if not isinstance(pair, list) or len(pair) != 2 or {"below", "above"} & set(value):
            raise ValueError("expected `outside: [lowest, highest]` and no other bound")
        return {**value, "below": pair[0], "above": pair[1]}
    return value


def _read_limit_text(text: str) -> dict[str, str]:
    limit = _LIMIT.fullmatch(text)
    if limit is None:
        hint = ""
        if _NUMBER.fullmatch(text):
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


LIMIT_TEXT = {"type": "string", "pattern": "^\\s*([<>]|outside\\s|none$)"}
"""A limit as a text, as editors see it."""


Text: TypeAlias = Annotated[str, Reader(_read_text, SCALAR)]
Number: TypeAlias = Annotated[Decimal, Reader(read_number, NUMERIC)]
ABOVE = {"anyOf": [NUMERIC, {"const": "median"}]}
Above: TypeAlias = Annotated[Decimal | str, Reader(_read_number_or_median, ABOVE)]
SHARE = {"type": ["string", "number"]}
Share: TypeAlias = Annotated[Fraction, Reader(_read_share, SHARE)]
Whole: TypeAlias = Annotated[int, Reader(_read_whole, {"type": "integer"})]
Words: TypeAlias = Annotated[str, Reader(_read_words, SCALAR)]
Reason: TypeAlias = Annotated[str, Reader(_read_reason, {"type": "string", "minLength": 1})]
Day: TypeAlias = Annotated[date, Reader(_read_day, {"type": "string"})]
Flag: TypeAlias = Annotated[bool, Reader(_read_flag, {"type": "boolean"})]
TEXTS = {"anyOf": [SCALAR, {"type": "array", "items": SCALAR}]}
Texts: TypeAlias = Annotated[list[Text], Reader(_as_list, TEXTS)]
NUMBERS = {"anyOf": [NUMERIC, {"type": "array", "items": NUMERIC}]}
Numbers: TypeAlias = Annotated[list[Number], Reader(_as_list, NUMBERS)]
_GROUPINGS = {"anyOf": [SCALAR, {"type": "array", "items": TEXTS}]}
Groupings: TypeAlias = Annotated[list[list[Text]], Reader(_read_groupings, _GROUPINGS)]
GroupingsOrNone: TypeAlias = Annotated[
    list[list[Text]],
    Reader(lambda value: [] if value == [] else _read_groupings(value), _GROUPINGS),
]
_METRIC_NAMES = {
    *(name for metric in CATALOGUE for name in (metric.id, *metric.aliases)),
    *(preset.name for preset in PRESETS),
}
MetricName: TypeAlias = Annotated[str, Reader(_read_metric_name, {"enum": sorted(_METRIC_NAMES)})]
_COMPARISONS = [comparison.id for comparison in COMPARISONS]
Comparison: TypeAlias = Annotated[str, Reader(_read_comparison, {"enum": _COMPARISONS})]
RULE = "\0"
"""Before the word of a rule, where else the name of a stratum stands."""
_AVERAGES = (
    "pooled", "uniform", "reference", "group", "reference_people", "group_people", "overlap",
)  # fmt: skip
_WEIGHTS = {"type": "object", "additionalProperties": NUMERIC, "minProperties": 1}
Average: TypeAlias = Annotated[
    dict[str, Number], Reader(_read_average, {"anyOf": [{"enum": list(_AVERAGES)}, _WEIGHTS]})
]
_LEVELS = {"type": "object", "additionalProperties": SCALAR}
ReferenceMap: TypeAlias = Annotated[
    dict[str, Text], Reader(under_key(""), {"anyOf": [SCALAR, _LEVELS]})
]
POSITIVE = {
    "anyOf": [
        *TEXTS["anyOf"],
        {
            "type": "object",
            "additionalProperties": False,
            "minProperties": 1,
            "properties": {
                **dict.fromkeys(("at_least", "at_most", "below"), NUMERIC),
                "above": ABOVE,
                "top": SHARE,
            },
        },
    ]
}
"""The positive values of an outcome, or a cut on its number, as editors see them."""

"""What a check asks: its measure, on which terms.

A record of the catalogue is written by its id, with what a spec
made of it (`compare`, `macro`, `mean`); it is found again by that id, whatever version it has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from fairaudit.metrics import (
    Average,
    Disparity,
    GroupMetric,
    Metric,
    Parameters,
    Reference,
    ReferencePolicy,
    Terms,
    Weights,
    build_disparity,
    find_comparison,
    find_metric,
    macro_average,
    suggest,
)
from fairaudit.metrics.formulas import Macro
from fairaudit.report.json.limits import read_limit, read_reversal_limit, write_limit
from fairaudit.report.json.options import (
    read_inference,
    read_minimum,
    write_inference,
    write_minimum,
)
from fairaudit.report.json.reading import Member
from fairaudit.report.json.values import read_group, read_place, write_group, write_place
from fairaudit.verdict import (
    AnyCheck,
    Check,
    OnUndefined,
    ReversalCheck,
    SubgroupCheck,
)

_REVERSAL, _SUBGROUP = "simpson_reversal", "subgroup_divergence"


def write_check(check: AnyCheck) -> dict[str, Any]:
    """What is asked, of whom, with which limits, and where the spec says so."""
    return {
        "metric": _metric(check),
        "of": check.of,
        "by": list(check.by) if isinstance(check, Check) else [],
        "given": list(check.given) if isinstance(check, Check) else [],
        "asked": _terms(check) if isinstance(check, Check) else _searched(check),
        "warn": write_limit(check.warn),
        "fail": write_limit(check.fail),
        "place": write_place(check.place),
    }


def read_check(row: Member) -> AnyCheck:
    """What is asked; at least one limit is set."""
    if row["warn"].value is None and row["fail"].value is None:
        row["fail"].refuse("and `warn` are both null, so nothing is judged")
    if row["metric"].value == _REVERSAL:
        return _read_search(row, ReversalCheck, read_reversal_limit)
    if row["metric"].value == _SUBGROUP:
        return _read_search(row, SubgroupCheck, read_limit)
    asked = row["asked"]
    record = _read_record(asked)
    if record.id != row["metric"].text():
        row["metric"].refuse(f"is not what `asked` makes, {record.id}")
    return Check(
        id=row["id"].text(),
        asked=record,
        of=row["of"].text(),
        by=row["by"].texts(),
        given=row["given"].texts(),
        against=asked["against"].or_none(Member.text),
        terms=Terms(
            reference=asked["reference"].or_none(_read_reference),
            minimum=read_minimum(asked),
            parameters=_read_parameters(asked["parameters"]),
            average=asked["average"].or_none(_read_average),
            of_class=asked["class"].or_none(Member.text),
            at=asked["at"].or_none(Member.decimal),
            inference=read_inference(asked["inference"]),
        ),
        undefined=asked["undefined"].one_of(OnUndefined),
        warn=row["warn"].or_none(read_limit),
        fail=row["fail"].or_none(read_limit),
        place=read_place(row["place"]),
    )


def _metric(check: AnyCheck) -> str:
    if isinstance(check, Check):
        return check.asked.id
    return _SUBGROUP if isinstance(check, SubgroupCheck) else _REVERSAL


def _searched(check: ReversalCheck | SubgroupCheck) -> dict[str, Any]:
    return {"rate": check.rate, "inference": write_inference(check.inference)}


_Search = TypeVar("_Search", ReversalCheck, SubgroupCheck)


def _read_search(
    row: Member, kind: Callable[..., _Search], limit: Callable[[Member], object]
) -> _Search:
    return kind(
        id=row["id"].text(),
        rate=row["asked"]["rate"].text(),
        of=row["of"].text(),
        inference=read_inference(row["asked"]["inference"]),
        warn=row["warn"].or_none(limit),
        fail=row["fail"].or_none(limit),
        place=read_place(row["place"]),
    )


def _terms(check: Check) -> dict[str, Any]:
    """The measure, and on which terms it is asked."""
    terms = check.terms
    to, average = terms.reference, terms.average
    return {
        **_record(check.asked),
        "reference": to and {"policy": str(to.policy), "group": write_group(to.group)},
        "parameters": _parameters(terms.parameters),
        "average": average and {"weights": str(average.weights), "levels": _texts(average.levels)},
        "class": terms.of_class,
        "against": check.against,
        "at": None if terms.at is None else str(terms.at),
        **write_minimum(terms.minimum),
        "undefined": str(check.undefined),
        "inference": write_inference(terms.inference),
    }


def _record(asked: Metric) -> dict[str, Any]:
    """A record by the one of the catalogue that it is made from, and what was made of it."""
    if not isinstance(asked, Disparity):
        base = asked.base if isinstance(asked, Macro) else asked
        return {"metric": base.id, "compare": None, "macro": base is not asked, "mean": False}
    quantity, how = asked.parts[0]
    base = quantity.base if isinstance(quantity, Macro) else quantity
    of_rate = asked.id == quantity.id
    known = None if of_rate else find_metric(asked.id)
    return {
        "metric": base.id if of_rate else asked.id,
        "compare": how.id if of_rate else None,
        "macro": base is not quantity,
        "mean": asked.mean and not (isinstance(known, Disparity) and known.mean),
    }


def _read_record(row: Member) -> Metric:
    """The record of this version that the names mean."""
    name = row["metric"].text()
    record = find_metric(name)
    if record is None:
        row["metric"].refuse(f"is no metric of this version{suggest(name)}")
    if row["macro"].flag():
        if isinstance(record, GroupMetric):
            record = macro_average(record)
        elif isinstance(record, Disparity):
            parts = tuple((macro_average(one), how) for one, how in record.parts)
            record = replace(record, parts=parts)
        else:
            row["macro"].refuse(f"cannot be said of {name}")
    compare = row["compare"].or_none(Member.text)
    if compare is not None:
        how = find_comparison(compare)
        if how is None or not isinstance(record, GroupMetric):
            row["compare"].refuse(f"is no comparison of {name}")
        record = build_disparity(record, how)
    if row["mean"].flag():
        if not isinstance(record, Disparity):
            row["mean"].refuse(f"cannot be said of {name}")
        record = replace(record, mean=True)
    return record


def _read_reference(row: Member) -> Reference:
    return Reference(row["policy"].one_of(ReferencePolicy), read_group(row["group"]))


def _read_average(row: Member) -> Average:
    levels = {name: weight.decimal() for name, weight in row["levels"].members()}
    return Average(row["weights"].one_of(Weights), levels)


_DECIMALS = ("smoothing", "concentration", "alpha")


def _parameters(one: Parameters) -> dict[str, Any]:
    """The parameters that are set, numbers as texts."""
    values = {name: getattr(one, name) for name in _DECIMALS}
    return {
        **{name: str(value) for name, value in values.items() if value is not None},
        **({"utilities": _texts(dict(one.utilities))} if one.utilities else {}),
        **({"controls": list(one.controls)} if one.controls else {}),
    }


def _read_parameters(row: Member) -> Parameters:
    utilities = row["utilities"].members() if "utilities" in row else ()
    smoothing, concentration, alpha = (
        row[name].decimal() if name in row else None for name in _DECIMALS
    )
    return Parameters(
        smoothing,
        concentration,
        alpha,
        utilities=tuple((name, value.decimal()) for name, value in utilities),
        controls=row["controls"].texts() if "controls" in row else (),
    )


def _texts(numbers: Any) -> dict[str, str]:  # noqa: ANN401  # a mapping of names to decimals
    return {name: str(value) for name, value in numbers.items()}

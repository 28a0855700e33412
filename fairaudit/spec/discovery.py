"""The search for subgroups that a spec asks for: its columns, its rates, its limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import comb

from fairaudit.cube import Grouping
from fairaudit.errors import did_you_mean
from fairaudit.metrics.terms import Inference
from fairaudit.spec import schema
from fairaudit.spec.model import Kind, Outcome
from fairaudit.spec.scans import Fault, chosen_outcome, chosen_rates
from fairaudit.spec.text import Document, Path
from fairaudit.subgroups import MOST_DEEP, SubgroupSearch
from fairaudit.verdict import Limit, SubgroupCheck

_MOST_COMBINATIONS = 2_000
"""More combinations of columns than that are not gone through."""

_HERE = "subgroups"


def read_search(
    document: Document,
    shape: schema.AuditSpec,
    outcomes: Mapping[str, Outcome],
    of: str,
    inference: Inference,
    fault: Fault,
) -> tuple[SubgroupSearch | None, list[SubgroupCheck]]:
    """The search of a spec and a check for each of its rates, None and none where it has none.

    Whatever stands in its way is told to `fault`, with its path.
    """
    asked, columns = shape.subgroups, shape.columns
    if asked is None:
        if columns.features:
            message = "features are columns to look for subgroups in: add `subgroups:`"
            fault(("columns", "features"), message)
        return None, []
    for path, message in _in_the_way(shape, outcomes):
        fault(path, message)
    over = _over(asked.over, (*columns.protected, *columns.strata, *columns.features), fault)
    _refuse_sizes(asked, over, fault)
    gated = asked.fail is not None or asked.warn is not None
    of = chosen_outcome((_HERE, "of"), asked.of, of, outcomes, fault, gated=gated)
    if asked.rates == []:
        fault((_HERE, "rates"), "name at least one rate, such as `selection_rate`")
    so = "no subgroup diverges by it"
    rates = chosen_rates(_HERE, asked.rates, of, outcomes, fault, so=so)
    search = SubgroupSearch(
        rates=tuple(rates),
        of=of,
        over=over,
        depth=asked.depth,
        min_size=asked.min_size,
        top=asked.top,
        inference=inference,
    )
    limits = {
        side: _limit((_HERE, side), bound, fault)
        for side, bound in (("warn", asked.warn), ("fail", asked.fail))
    }
    side = "warn" if asked.fail is None else "fail"
    checks = [
        SubgroupCheck(
            id=f"subgroup_divergence/{rate.id}/{of}",
            rate=rate.id,
            of=of,
            inference=inference,
            warn=limits["warn"],
            fail=limits["fail"],
            place=document.place((_HERE, side), key=True),
        )
        for rate in rates
        if limits["warn"] or limits["fail"]
    ]
    return search, checks


def _in_the_way(
    shape: schema.AuditSpec, outcomes: Mapping[str, Outcome]
) -> Iterator[tuple[Path, str]]:
    """What cannot be asked together with a search, and why."""
    if shape.columns.weight is not None:
        message = "subgroups of a weighted sample are not looked for yet: leave out one of the two"
        yield (_HERE,), message
    if shape.suppress_below is not None:
        message = (
            "subgroups are thousands of tables, and a count that is suppressed would follow from "
            "their differences: leave out `subgroups` or `suppress_below`"
        )
        yield (_HERE,), message
    if not shape.columns.features:
        return
    numbers = any(one.kind is Kind.NUMBER for one in outcomes.values())
    scores = any(one.score is not None for one in outcomes.values())
    dropping = {
        "strata": True,
        "score": scores,
        "numbers": numbers,
        "label": "label" in outcomes and outcomes["label"].kind is Kind.NUMBER,
        "prediction": numbers,
    }
    for rule, there in dropping.items():
        if there and getattr(shape.missing, rule) == "drop":
            message = (
                "rows that are dropped for a column that is in none of the tables of subgroups "
                "over `features` would be counted there: say `aside`, or leave out the features"
            )
            yield ("missing", rule), message


def _over(names: Sequence[str], known: Sequence[str], fault: Fault) -> Grouping:
    chosen: list[str] = []
    for at, name in enumerate(names):
        if name in {"all", "each"}:
            chosen += known
        elif name in known:
            chosen.append(name)
        else:
            hint = did_you_mean(name, known) or f"; there is {', '.join(known)}"
            fault((_HERE, "over", at), f"no such column: {name!r}{hint}")
    return tuple(dict.fromkeys(chosen))


def _refuse_sizes(asked: schema.Subgroups, over: Grouping, fault: Fault) -> None:
    if not asked.over:
        fault((_HERE, "over"), "name the columns whose levels make subgroups, or `all`")
    if not 1 <= asked.depth <= MOST_DEEP:
        fault((_HERE, "depth"), f"subgroups have from 1 to {MOST_DEEP} conditions")
        return
    for key in ("min_size", "top"):
        if getattr(asked, key) < 1:
            fault((_HERE, key), "expected a whole number from 1 up")
    deepest = min(asked.depth, len(over))
    several = sum(comb(len(over), size) for size in range(1, deepest + 1))
    if several > _MOST_COMBINATIONS:
        fault(
            (_HERE,),
            f"{len(over)} columns at depth {asked.depth} are {several:,} combinations, and at most "
            f"{_MOST_COMBINATIONS:,} are gone through: name fewer columns in `over`, or lower "
            "`depth`",
        )


def _limit(path: Path, bound: schema.Bound | None, fault: Fault) -> Limit | None:
    """The limit on how far a subgroup may diverge, whichever way."""
    if bound is None:
        return None
    if bound.conclusive:
        fault((*path, "conclusive"), "of the farthest of many subgroups nothing is conclusive: "
              "say `significant`")  # fmt: skip
    if bound.below is not None or bound.above is None:
        fault(path, "a divergence is held against `above`, whichever way it points")
        return None
    if not 0 <= Fraction(bound.above) < 1:
        percent = 1 <= bound.above <= 100
        hint = f"; {bound.above} points are written {bound.above / 100}" if percent else ""
        fault((*path, "above"), f"a divergence of rates lies between 0 and 1{hint}")
        return None
    return Limit(above=bound.above, significant=bound.significant)

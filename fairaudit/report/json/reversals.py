"""Simpson's reversals, with the strata that prove them."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

from fairaudit.report import reversals
from fairaudit.report.json.estimates import read_significance, write_significance
from fairaudit.report.json.reading import Member
from fairaudit.report.json.values import (
    finite,
    read_end,
    read_group,
    read_value,
    write_end,
    write_group,
    write_value,
)
from fairaudit.simpson import (
    CombinedStrata,
    ExplainedShare,
    GroupRate,
    Reversal,
    ReversalKind,
    Stratum,
)


def write_reversal(one: Reversal, alpha: float) -> dict[str, Any]:
    """A reversal with its strata."""
    return {
        "rate": one.rate,
        "of": one.of,
        "attribute": one.attribute,
        "pair": list(one.pair),
        "given": list(one.given),
        "kind": str(one.kind),
        **_numbers(one),
        "sentence": reversals.sentence(one, alpha),
    }


def read_reversal(row: Member) -> Reversal:
    """The reversal."""
    pair = row["pair"].texts()
    if len(pair) != 2:
        row["pair"].refuse("is no pair")
    named: dict[str, Any] = {
        "rate": row["rate"].text(),
        "of": row["of"].text(),
        "attribute": row["attribute"].text(),
        "pair": pair,
        "given": row["given"].texts(),
        "kind": row["kind"].one_of(ReversalKind),
    }
    return _read_numbers(row, named)


def _numbers(one: Reversal) -> dict[str, Any]:
    return {
        "crude": one.crude,
        "crude_pair": [_share(share) for share in one.crude_pair],
        "crude_everybody": finite(one.crude_everybody),
        "standardized": one.standardized,
        "standardized_pair": list(one.standardized_pair),
        "composition": one.composition,
        "within": one.within,
        "mantel_haenszel_odds_ratio": write_value(one.mantel_haenszel_odds_ratio),
        "joined": one.joined and _joined(one.joined),
        "crude_p": one.crude_p,
        "significance": write_significance(one.significance),
        "explained": one.explained and _explained(one.explained),
        "opposite_weight": one.opposite_weight,
        "facts": {
            "reversed_strata": f"{one.reversed_strata}/{one.estimable_strata}",
            "reversed": one.reversed_strata,
            "estimable": one.estimable_strata,
            "share_of_strata": one.opposite_strata,
            "adjusted": one.adjusted,
        },
        "strata": [_stratum(stratum) for stratum in one.strata],
        "off_support": [write_group(stratum) for stratum in one.off_support],
        "incomplete": one.incomplete,
    }


def _read_numbers(row: Member, named: dict[str, Any]) -> Reversal:
    everybody = row["crude_everybody"].or_none(Member.number)
    odds = row["mantel_haenszel_odds_ratio"]
    ratio = read_value(odds)
    return Reversal(
        **named,
        crude=row["crude"].number(),
        crude_pair=_two(row["crude_pair"], row["crude_pair"].each(_read_share)),
        crude_everybody=math.nan if everybody is None else everybody,
        standardized=row["standardized"].number(),
        standardized_pair=_two(
            row["standardized_pair"], row["standardized_pair"].each(Member.number)
        ),
        composition=row["composition"].number(),
        within=row["within"].number(),
        mantel_haenszel_odds_ratio=odds.refuse("is suppressed") if ratio is None else ratio,
        joined=row["joined"].or_none(_read_joined),
        crude_p=row["crude_p"].or_none(Member.number),
        significance=row["significance"].or_none(read_significance),
        opposite_weight=row["opposite_weight"].number(),
        reversed_strata=row["facts"]["reversed"].count(),
        estimable_strata=row["facts"]["estimable"].count(),
        adjusted=row["facts"]["adjusted"].flag(),
        strata=row["strata"].each(_read_stratum),
        off_support=row["off_support"].each(read_group),
        incomplete=row["incomplete"].count(),
        explained=row["explained"].or_none(_read_explained) if "explained" in row else None,
    )


def _two(row: Member, found: tuple[Any, ...]) -> Any:  # noqa: ANN401  # two of whatever was read
    return found if len(found) == 2 else row.refuse("is no pair")


def _stratum(one: Stratum) -> dict[str, Any]:
    return {
        "given": write_group(one.stratum),
        "first": _share(one.first),
        "second": _share(one.second),
        "difference": one.difference,
        "weight": one.weight,
        "significance": write_significance(one.significance),
    }


def _read_stratum(row: Member) -> Stratum:
    return Stratum(
        read_group(row["given"]),
        _read_share(row["first"]),
        _read_share(row["second"]),
        row["weight"].number(),
        row["significance"].or_none(read_significance),
    )


def _explained(one: ExplainedShare) -> dict[str, Any]:
    """The share of a gap that goes with the mix of strata."""
    return {"share": one.value, "low": one.low, "high": one.high}


def _read_explained(row: Member) -> ExplainedShare:
    ends = (row[name].or_none(Member.number) for name in ("low", "high"))
    return ExplainedShare(row["share"].number(), *ends)


def _joined(one: CombinedStrata) -> dict[str, Any]:
    """What strata say together; an end that is infinite is null, and says so."""
    found: dict[str, Any] = {}
    for each in fields(one):
        found |= write_end(each.name, getattr(one, each.name))
    return found


def _read_joined(row: Member) -> CombinedStrata:
    return CombinedStrata(
        **{each.name: read_end(row, each.name) for each in fields(CombinedStrata)}
    )


def _share(one: GroupRate) -> dict[str, Any]:
    """A rate with its counts."""
    return {
        "value": one.value,
        "numerator": one.over,
        "denominator": one.under,
        "scale": one.scale,
        "n": one.n,
    }


def _read_share(row: Member) -> GroupRate:
    return GroupRate(
        row["numerator"].count(),
        row["denominator"].positive(),
        row["n"].count(),
        row["scale"].positive(),
    )

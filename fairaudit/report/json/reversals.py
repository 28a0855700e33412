"""Simpson's reversals, with the strata that prove them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fairaudit.estimate import State
from fairaudit.metrics.inference import Inference
from fairaudit.report import reversals
from fairaudit.report.json.estimates import (
    write_significance,
)
from fairaudit.report.json.values import finite, write_group, write_value
from fairaudit.simpson import Joined, Reversal, Share

_NUMBERS_OF_A_REVERSAL = (
    "crude",
    "crude_everybody",
    "standardized",
    "composition",
    "within",
    "crude_p",
    "significance",
    "opposite_weight",
    "incomplete",
)


def write_reversal(one: Reversal, inference: Inference) -> dict[str, Any]:
    """A reversal with its strata."""
    named = {
        "rate": one.rate,
        "of": one.of,
        "attribute": one.attribute,
        "pair": list(one.pair),
        "given": list(one.given),
        "kind": str(one.kind),
    }
    if one.suppressed:
        return {
            **named,
            "state": State.SUPPRESSED.value,
            **dict.fromkeys(_NUMBERS_OF_A_REVERSAL),
            "mantel_haenszel_odds_ratio": write_value(None),
            "joined": None,
            "crude_pair": [],
            "standardized_pair": [],
            "facts": None,
            "strata": [],
            "off_support": [],
            "sentence": reversals.sentence(one, inference.alpha),
        }
    return {
        **named,
        "crude": one.crude,
        "crude_pair": [write_share(share) for share in one.crude_pair],
        "crude_everybody": finite(one.crude_everybody),
        "standardized": one.standardized,
        "standardized_pair": list(one.standardized_pair),
        "composition": one.composition,
        "within": one.within,
        "mantel_haenszel_odds_ratio": write_value(one.mantel_haenszel_odds_ratio),
        "joined": None if one.joined is None else write_joined(one.joined),
        "crude_p": one.crude_p,
        "significance": write_significance(one.significance),
        "opposite_weight": one.opposite_weight,
        "facts": {
            "reversed_strata": f"{one.reversed_strata}/{one.estimable_strata}",
            "adjusted": one.adjusted,
        },
        "strata": [
            {
                "given": write_group(stratum.stratum),
                "first": write_share(stratum.first),
                "second": write_share(stratum.second),
                "difference": stratum.difference,
                "weight": stratum.weight,
                "significance": write_significance(stratum.significance),
            }
            for stratum in one.strata
        ],
        "off_support": [write_group(stratum) for stratum in one.off_support],
        "incomplete": one.incomplete,
        "sentence": reversals.sentence(one, inference.alpha),
    }


def write_joined(one: Joined) -> dict[str, Any]:
    """What strata say together; an end that is infinite is null, as one that does not exist."""
    ends = asdict(one)
    return {name: None if value is None else finite(value) for name, value in ends.items()}


def write_share(one: Share) -> dict[str, Any]:
    """A rate with its counts."""
    return {
        "value": one.value,
        "numerator": one.over,
        "denominator": one.under,
        "scale": one.scale,
        "n": one.n,
    }

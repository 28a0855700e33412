"""The law that group and reference can be swapped, for every comparison of the catalogue.

The value is negated, or inverted; status, p and interval stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from conftest import examples, sampled
from hypothesis import example, given
from hypothesis import strategies as st
from law_tables import COMPARING, checks_of, entry, rows_of

from fairaudit.metrics import Disparity
from fairaudit.metrics.comparisons import COMPARISONS
from fairaudit.metrics.disparities import MEAN_MAGNITUDE, MEAN_RATIO

RAW = {"correction": "none"}
DIRECTED = {
    "kl_divergence": "it is defined in one direction",
    "fairmlhealth_equal_odds_ratio": "fairMLHealth ranks ratios by their distance from 1",
    "fairmlhealth_equal_odds_smaller_ratio": "fairMLHealth takes the smaller ratio as it is",
}
"""Comparisons that have another value by definition, with the reason."""
SWAPPED = [
    one
    for one in COMPARING
    if isinstance(one, Disparity)
    and one.to_reference
    and one.reference is None
    and one.id not in DIRECTED
]
SHARES = ("selection_rate", "true_positive_rate", "false_positive_rate", "accuracy")
FORMULAS = ("f1", "balanced_accuracy", "error_type_ratio")
SCORES = ("mean_score", "mean_score_positives", "mean_score_negatives", "auc", "brier")
TO_REFERENCE = [one.id for one in COMPARISONS if not one.is_max_min]
BY_PAIR = {
    **dict.fromkeys((*SHARES, *SCORES), TO_REFERENCE),
    **dict.fromkeys(FORMULAS, ("difference", "ratio")),
}
"""Rates by what a spec may compare them."""
LIMITS = {0.0: ("-0.05", "0.05"), 1.0: ("0.8", "1.25"), 0.5: ("0.45", "0.55")}
"""Limits that are alike on both sides of parity."""

Check = dict[str, Any]


class Asked(NamedTuple):
    """A gate: what a spec asks, its value at parity, and whether it has no direction."""

    entry: dict[str, Any]
    ideal: float
    is_size: bool


def gates() -> Iterator[Asked]:
    """Every comparison, gated a little way from parity."""
    for one in SWAPPED:
        ideal, is_size = float(one.ideal), one.fold in {MEAN_MAGNITUDE, MEAN_RATIO}
        low, high = LIMITS[ideal]
        limit: dict[str, Any] = {"outside": [low, high]}
        if is_size:
            limit = {"below": low} if ideal else {"above": high}
        yield Asked(entry(one, undefined="skip", fail=limit), ideal, is_size)
    for name, comparisons in BY_PAIR.items():
        for compare in comparisons:
            ideal = float(compare in {"ratio", "odds_ratio"})
            limit = {"outside": LIMITS[ideal]}
            yield Asked(
                {"metric": name, "compare": compare, "undefined": "skip", "fail": limit},
                ideal,
                is_size=False,
            )


def turn(value: float | None, asked: Asked) -> float | None:
    """The value with group and reference swapped; a report writes an infinite one as null."""
    if asked.is_size:
        return value
    if asked.ideal == 1:
        return None if value == 0 else 0.0 if value is None else 1 / value
    return None if value is None else 2 * asked.ideal - value


def assert_close(found: float | None, expected: float | None, told: str) -> None:
    if found is None or expected is None:
        assert found is expected, told
    else:
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-9), told


@pytest.mark.long
@given(
    seed=st.integers(0, 10**6),
    sizes=st.lists(st.integers(3, 400), min_size=4, max_size=4),
    shares=st.lists(st.floats(0.1, 0.9), min_size=6, max_size=6),
)
@example(seed=3, sizes=[9, 5, 12, 21], shares=[0.4, 0.5, 0.3, 0.6, 0.2, 0.7])
@examples(6)
def test_group_and_reference_can_be_swapped(
    seed: int, sizes: list[int], shares: list[float]
) -> None:
    people = rows_of(
        np.random.default_rng(seed),
        {"g0": sizes[:2], "g1": sizes[2:]},
        {"g0": shares[:3], "g1": shares[3:]},
    )
    asked = sampled([*gates()])
    one, other = (
        checks_of(people, [{**gate.entry, "reference": g} for gate in asked], inference=RAW)
        for g in ("g0", "g1")
    )
    for gate, first, second in zip(asked, one, other, strict=True):
        told = f"{first['sentence']} | {second['sentence']}"
        assert first["status"] == second["status"], told
        if "undefined" in {first["state"], second["state"]}:
            assert first["state"] == second["state"], told
            continue
        assert_close(second["value"], turn(first["value"], gate), told)
        assert first.get("method") == second.get("method"), told
        if first.get("method"):
            ends = [turn(first[end], gate) for end in ("low", "high")]
            low, high = ends if gate.is_size else ends[::-1]
            assert_close(second["low"], low, told)
            assert_close(second["high"], high, told)
        p = [check["significance"] and check["significance"]["p"] for check in (first, second)]
        assert_close(p[0], p[1], told)

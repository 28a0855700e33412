"""How often gates cry wolf where nothing is wrong, and how often they find what is.

Whole specs are judged: every check is evaluated on the counts, all tests of a spec are corrected
together, and every check has its finding, as in an audit after the file is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from fairaudit import spec as specs
from fairaudit.base.ledger import Ledger
from fairaudit.cube import Cube, KeyColumn, Role
from fairaudit.evidence import correct_families
from fairaudit.judge import Check, Finding, Status, judge
from fairaudit.metrics import evaluate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEVELS = {"sex": 2, "race": 3, "age": 4}
"""The attributes of the specs that are judged, and how many levels each has."""
LIMITS: dict[str, dict[str, object]] = {
    "demographic_parity_difference": {"above": "0.1"},
    "impact_ratio": {"below": "0.8"},
    "equalized_odds_difference": {"above": "0.1"},
    "differential_fairness": {"above": "0.2231"},
}
"""What is gated by each attribute and every intersection: by 0.1, four fifths, and ε of ln 1.25."""


@dataclass(frozen=True, slots=True)
class Alarms:
    """What came of one spec where nothing is wrong."""

    checks: int
    tests: int
    smallest: int
    failed: tuple[str, ...]
    crossed: tuple[str, ...]
    inconclusive: tuple[str, ...]
    warned_within: tuple[str, ...]


@cache
def checks(correction: str = "holm") -> tuple[Check, ...]:
    """The checks of the spec: four measures by seven groupings, each asking for significance."""
    return _checks(
        list(LEVELS),
        [
            {"metric": metric, "by": "all", "fail": {**limit, "significant": True}}
            for metric, limit in LIMITS.items()
        ],
        correction,
    )


def _checks(protected: object, metrics: Sequence[object], correction: str) -> tuple[Check, ...]:
    spec = {
        "columns": {
            "protected": protected,
            "label": {"column": "label", "positive": "yes"},
            "prediction": {"column": "prediction", "positive": "yes"},
        },
        "metrics": metrics,
        "inference": {"correction": correction},
    }
    return tuple(one for one in specs.of_mapping(spec).checks if isinstance(one, Check))


def cube_of(levels: dict[str, int], people: Ints) -> Cube:
    """The cube of counts [combinations of levels, label, prediction]."""
    keys = [
        KeyColumn(name, Role.PROTECTED, tuple(f"{name}{at}" for at in range(size)))
        for name, size in levels.items()
    ]
    for name, role in (("label", Role.LABEL), ("prediction", Role.PREDICTION)):
        keys.append(KeyColumn(name, role, ("no", "yes"), positive=frozenset({1})))
    sizes = (*levels.values(), 2, 2)
    codes = np.stack(np.unravel_index(np.arange(people.size), sizes), axis=1).astype(np.int32)
    count = people.ravel()
    return Cube.gather(keys, codes, count, count, Ledger(0, 0, 0, 0, 0))


def findings(asked: Sequence[Check], cube: Cube) -> tuple[list[Finding], int]:
    """The findings of the checks of one spec, and how many tests are corrected together."""
    evaluations = {
        one.id: evaluate(one.metric, cube.table(one.by, one.given, one.of), one.terms)
        for one in asked
    }
    evidence_of = correct_families({one.id: (evaluations[one.id], one.fails) for one in asked})
    found = [judge(one, evaluations[one.id], evidence_of[one.id]) for one in asked]
    return found, max(evidence.family for evidence in evidence_of.values())


def nothing_wrong(random: Generator, *, tiny: bool = False) -> Ints:
    """People whose label and prediction have nothing to do with their groups.

    Each intersection has 20 to 2,000 people, in a spread that differs from audit to audit; with
    `tiny` a third of them has 1 to 8.
    """
    middle, spread = random.uniform(np.log(20), np.log(2000)), random.uniform(0, 1.5)
    count = int(np.prod(list(LEVELS.values())))
    sizes = np.exp(np.clip(random.normal(middle, spread, count), np.log(20), np.log(2000)))
    if tiny:
        sizes = np.where(random.random(count) < 1 / 3, random.integers(1, 9, count), sizes)
    base, tpr = random.uniform(0.1, 0.9), random.uniform(0.4, 0.95)
    fpr = random.uniform(0.02, 0.5)
    chances = [(1 - base) * (1 - fpr), (1 - base) * fpr, base * (1 - tpr), base * tpr]
    return random.multinomial(np.rint(sizes).astype(np.int64), chances).reshape(-1, 2, 2)


def alarms(random: Generator, correction: str = "holm", *, tiny: bool = False) -> Alarms:
    """What one spec says of people among whom nothing is wrong."""
    people = nothing_wrong(random, tiny=tiny)
    found, tests = findings(checks(correction), cube_of(LEVELS, people))

    def those(status: Status) -> tuple[str, ...]:
        return tuple(str(one.check.id) for one in found if one.status is status)

    warned = tuple(one.check.id for one in found if one.status is Status.WARN and not one.crossed)
    crossed = tuple(one.check.id for one in found if one.crossed)
    return Alarms(
        len(found), tests, int(people.sum(axis=(1, 2)).min()), those(Status.FAIL), crossed,
        those(Status.INCONCLUSIVE), warned,
    )  # fmt: skip


@cache
def gate(metric: str, limit: str, reference: str | None = None) -> tuple[Check, ...]:
    """One gate on one attribute, which asks for significance."""
    protected: Any = {"group": {"reference": reference}} if reference else ["group"]
    key, number = limit.split()
    bounds = {"outside": [f"-{number}", number]} if key == "outside" else {key: number}
    entry = {"metric": metric, "fail": {**bounds, "significant": True}}
    return _checks(protected, [entry], "holm")


def found_share(
    random: Generator, asked: tuple[Check, ...], rates: Sequence[float], sizes: Sequence[int],
    runs: int,
) -> float:  # fmt: skip
    """How often a gate fails where groups are selected at these rates."""
    fails = 0
    for _ in range(runs):
        hits = random.binomial(sizes, rates)
        people = np.zeros((len(sizes), 2, 2), dtype=np.int64)
        people[:, 0] = np.stack([np.asarray(sizes) - hits, hits], axis=1)
        found, _tests = findings(asked, cube_of({"group": len(sizes)}, people))
        fails += found[0].status is Status.FAIL
    return fails / runs

"""How often gates cry wolf where nothing is wrong, and how often they find what is.

Whole specs are judged: every check is evaluated on the counts, all tests of a spec are corrected
together, and every check has its finding, as in an audit after the file is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import polars as pl
from numpy.random import Generator
from numpy.typing import NDArray

import fairaudit
from fairaudit import spec as specs
from fairaudit.base.ledger import Ledger
from fairaudit.cube import Cube, KeyColumn, Role
from fairaudit.evidence import correct_families
from fairaudit.judge import Check, Finding, Status
from fairaudit.judge.judging import judge
from fairaudit.judge.subgroups import SubgroupSearch, search_subgroups
from fairaudit.metrics import Rate, evaluate, find_metric

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
"""The gates for each attribute and every intersection: by 0.1, four fifths, and ε of ln 1.25."""


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


def _checks(
    protected: object, metrics: Sequence[object], correction: str, level: float = 0.05
) -> tuple[Check, ...]:
    spec = {
        "columns": {
            "protected": protected,
            "label": {"column": "label", "positive": "yes"},
            "prediction": {"column": "prediction", "positive": "yes"},
        },
        "metrics": metrics,
        "inference": {"correction": correction, "confidence": f"{1 - level:.9f}".rstrip("0")},
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
    """The verdict of one spec on people without a disparity."""
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
def gate(
    metric: str, limit: str, reference: str | None = None, level: float = 0.05
) -> tuple[Check, ...]:
    """One gate on one attribute, which asks for significance at a level."""
    protected: Any = {"group": {"reference": reference}} if reference else ["group"]
    key, number = limit.split()
    bounds = {"outside": [f"-{number}", number]} if key == "outside" else {key: number}
    entry = {"metric": metric, "fail": {**bounds, "significant": True}}
    return _checks(protected, [entry], "holm", level)


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


# Designs in which nothing is wrong ------------------------------------------------------------

WIDE = (140, 142)
"""Levels of two columns: 19,880 intersections, and 282 subgroups of one condition."""


def rare_subgroups(random: Generator, rate: float) -> bool:
    """Whether a search over 20,162 subgroups finds one; 5 to 50 hits are expected in each."""
    sizes = np.rint(np.exp(random.uniform(np.log(5 / rate), np.log(50 / rate), WIDE)))
    hits = random.binomial(sizes.astype(np.int64), rate)
    people = np.zeros((*WIDE, 2, 2), dtype=np.int64)
    people[:, :, 0, 1], people[:, :, 0, 0] = hits, sizes - hits
    selected = find_metric("selection_rate")
    assert isinstance(selected, Rate)
    search = SubgroupSearch((selected,), "prediction", ("a", "b"), 2, 1, 1)
    cube = cube_of(dict(zip("ab", WIDE, strict=True)), people)
    return search_subgroups([cube], search).reported.rates[0].significant > 0


def rare_groups(random: Generator, reference: str | None) -> bool:
    """Whether a gate fails on 2,000 groups at 1 % of which each has a test; or on their gap."""
    metric = "statistical_parity_difference" if reference else "demographic_parity_difference"
    sizes = random.integers(500, 5000, 2000)
    entry: dict[str, object] = {"metric": metric, "fail": {"above": 0.0001, "significant": True}}
    if reference:
        entry = {**entry, "reference": reference, "fail": {**_NONE, "significant": True}}
    hits = random.binomial(sizes, 0.01)
    people = np.zeros((len(sizes), 2, 2), dtype=np.int64)
    people[:, 0] = np.stack([sizes - hits, hits], axis=1)
    found, _ = findings(_checks(["group"], [entry], "holm"), cube_of({"group": 2000}, people))
    return found[0].status is Status.FAIL


_NONE = {"outside": ["-0.0001", "0.0001"]}
_YES = {"positive": 1, "negative": 0}


def slope(random: Generator) -> bool:
    """Whether a slope next to strata is found: 2,000 people at 50 and 2 %, 200 the other way."""
    mix, rates = {"A": (200, 1800), "B": (180, 20)}, (0.5, 0.02)
    rows = [
        (g, z, d, n)
        for g, sizes in mix.items()
        for z, (size, rate) in enumerate(zip(sizes, rates, strict=True))
        for d, n in _drawn(random, size, rate)
    ]
    frame = pl.DataFrame(rows, ["g", "z", "d", "n"], orient="row")
    columns = {"protected": {"g": {"reference": "A"}}, "decision": {"column": "d", **_YES}}
    entry = {"metric": "regression_slope", "controls": ["z"]}
    return _fails(frame, {**columns, "strata": ["z"]}, [{**entry, "fail": _NONE}])


def _drawn(random: Generator, size: int, rate: float) -> list[tuple[int, int]]:
    hits = int(random.binomial(size, rate))
    return [(1, hits), (0, size - hits)]


def six_models(random: Generator) -> bool:
    """Whether a spec fails that gates six models, which treat three groups equally."""
    group, size = np.repeat([0, 1, 2], (400, 300, 200)), 900
    names = [f"m{at}" for at in range(6)]
    chosen = {name: random.binomial(1, 0.4, size) for name in names}
    frame = pl.DataFrame({"g": group, "n": 1, **chosen})
    models = {name: {"prediction": {"column": name, **_YES}} for name in names}
    limit = {"metric": "demographic_parity_difference", "fail": {"above": "0.0001"}}
    gates = [{**limit, "of": name} for name in names]
    return _fails(frame, {"protected": ["g"], "models": models}, gates)


def paired_models(random: Generator, moved: float = 0.1) -> bool:
    """Whether a gap is found to change between two models that treat nine in ten people equally."""
    rows = []
    for g, size, rate in (("F", 500, 0.4), ("M", 700, 0.6)):
        chances = [rate - moved / 2, moved / 2, moved / 2, 1 - rate - moved / 2]
        counts = random.multinomial(size, chances).tolist()
        rows += [
            (g, old, new, n)
            for (old, new), n in zip([(1, 1), (1, 0), (0, 1), (0, 0)], counts, strict=True)
        ]
    frame = pl.DataFrame(rows, ["g", "old", "new", "n"], orient="row")
    models = {name: {"prediction": {"column": name, **_YES}} for name in ("old", "new")}
    gate = {"metric": "demographic_parity_difference", "of": "new", "against": "old"}
    return _fails(frame, {"protected": ["g"], "models": models}, [{**gate, "fail": {**_NONE}}])


def _fails(frame: pl.DataFrame, columns: dict[str, Any], gates: Sequence[dict[str, Any]]) -> bool:
    asked = [{**gate, "fail": {**gate["fail"], "significant": True}} for gate in gates]
    spec = {"columns": {**columns, "count": "n"}, "metrics": asked}
    return fairaudit.audit(spec, frame.filter(pl.col("n") > 0)).exit_code == 1


@dataclass(frozen=True, slots=True)
class Design:
    """A design in which nothing is wrong, how often its spec fails, and of how many data sets."""

    name: str
    failed: float
    runs: int


_DESIGNS: tuple[tuple[str, float, Callable[[Generator], bool]], ...] = (
    ("20,162 subgroups at 1 %", 0.4, lambda random: rare_subgroups(random, 0.01)),
    ("20,162 subgroups at 30 %", 0.2, lambda random: rare_subgroups(random, 0.3)),
    ("2,000 groups at 1 %, each against the rest", 1, lambda random: rare_groups(random, "rest")),
    ("2,000 groups at 1 %, the gap", 1, lambda random: rare_groups(random, None)),
    ("a slope next to strata, groups of 2,000 and 200", 2, slope),
    ("six models, three groups", 1, six_models),
    ("two models of the same people", 2, paired_models),
)


def designs(random: Generator, runs: int) -> Iterator[Design]:
    """How often the spec of each design fails."""
    for name, share, fails in _DESIGNS:
        repeated = max(round(runs * share), 10)
        yield Design(name, sum(fails(random) for _ in range(repeated)) / repeated, repeated)

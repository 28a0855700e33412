"""How often a comparison of two months cries wolf where nothing changed, and what it misses.

Two samples are drawn from one population, audited and compared, as often as asked; for each check
the share of pairs whose p-value is below .05 is printed, and the share of families with any
significant change after Holm. Both must not lie above .05 by more than chance: with 1,000 pairs,
.064. The last part compares the same people as if they were two samples.

    python benchmarks/changes.py [pairs]
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from itertools import product

import numpy as np
import polars as pl

import fairaudit
from fairaudit.result import AuditResult
from fairaudit.tools.compare import compare, compare_models
from fairaudit.tools.compare.records import Changes

NAMES = "abcdefghij"
LEVEL = 0.05
SCENARIOS: Mapping[str, tuple[list[int], list[int], list[float]]] = {
    "2 groups, equal": ([300, 200], [300, 200], [0.4, 0.4]),
    "2 groups, different": ([300, 200], [300, 200], [0.5, 0.3]),
    "5 groups, equal": ([200] * 5, [200] * 5, [0.4] * 5),
    "4 groups, different": ([400, 200, 90, 60], [400, 200, 90, 60], [0.6, 0.5, 0.4, 0.2]),
    "10 groups, equal, a small month": ([2000] * 10, [100] * 10, [0.4] * 10),
    "5 groups, rare": ([300] * 5, [300] * 5, [0.03] * 5),
}  # fmt: skip
CHECKS = (
    {"metric": "selection_rate", "fail": {"below": 0.1}},
    {"metric": "f1", "fail": {"below": 0.1}},
    {"metric": "statistical_parity_difference", "fail": {"outside": [-0.1, 0.1]}},
    {"metric": "disparate_impact_ratio", "fail": {"outside": [0.8, 1.25]}},
    {"metric": "demographic_parity_difference", "fail": {"above": 0.1}},
    {"metric": "demographic_parity_ratio", "fail": {"below": 0.8}},
    {"metric": "impact_ratio", "fail": {"below": 0.8}},
    {"metric": "equalized_odds_difference", "fail": {"above": 0.1}},
    {"metric": "average_odds_difference", "fail": {"outside": [-0.1, 0.1]}},
    {"metric": "differential_fairness", "fail": {"above": 1}},
)
SPEC = {
    "columns": {
        "protected": {"group": {"reference": "a"}},
        "label": {"column": "label", "positive": "1", "negative": "0"},
        "prediction": {"column": "prediction", "positive": "1", "negative": "0"},
        "count": "n",
    },
    "metrics": [*CHECKS],
}


def drawn(sizes: list[int], rates: list[float], generator: np.random.Generator) -> pl.DataFrame:
    """People by group, label and prediction: group sizes vary as in a sample of people."""
    total = sum(sizes)
    cells = []
    for size, rate in zip(sizes, rates, strict=True):
        hit, miss = min(1.5 * rate, 0.9), rate / 2
        label = (rate - miss) / (hit - miss)
        for y, p in product((0, 1), repeat=2):
            among = (hit, miss)[1 - y]
            cells.append(size / total * (label if y else 1 - label) * (among if p else 1 - among))
    counts = generator.multinomial(total, np.array(cells) / sum(cells)).tolist()
    rows = list(product(NAMES[: len(sizes)], "01", "01"))
    return pl.DataFrame(
        [(*row, n) for row, n in zip(rows, counts, strict=True) if n],
        schema=["group", "label", "prediction", "n"],
        orient="row",
    )


def audited(frame: pl.DataFrame) -> AuditResult:
    """The audit of a sample."""
    return fairaudit.audit(SPEC, frame)


def alarms(
    name: str, pairs: int, seed: int = 0
) -> tuple[Counter[str], Counter[str], dict[str, int]]:
    """How many pairs are tested, and how many are below the level, by check and by family."""
    before, after, rates = SCENARIOS[name]
    generator = np.random.default_rng(seed)
    tested: Counter[str] = Counter()
    below: Counter[str] = Counter()
    family = {"checks": 0, "rates": 0, "people": 0}
    for _ in range(pairs):
        one, two = (audited(drawn(sizes, rates, generator)) for sizes in (before, after))
        found = compare(one, two, same_people=False)
        for check in found.checks:
            if check.change.significance is not None:
                metric = check.check.id.split("/")[0]
                tested[metric] += 1
                below[metric] += check.change.significance.p < LEVEL
        for rate in found.rates:
            if rate.change.significance is not None and rate.by:
                tested[f"rate: {rate.metric}"] += 1
                below[f"rate: {rate.metric}"] += rate.change.significance.p < LEVEL
        family["checks"] += any(each.change.significant for each in found.checks)
        family["rates"] += any(each.change.significant for each in found.rates)
        if len(set(before)) == len(set(after)) and sum(before) == sum(after):
            family["people"] += any(
                each.significance is not None and each.significance.adjusted < LEVEL
                for each in found.people
            )
    return tested, below, family


MODELS = {
    "columns": {
        "protected": ["group"],
        "models": {
            name: {"prediction": {"column": name, "positive": "1", "negative": "0"}}
            for name in ("old", "new")
        },
        "count": "n",
    },
    "metrics": ["selection_rate", {"metric": "selection_rate", "of": "new"}],
}


def same_people(
    pairs: int, agree: float, moved: float, seed: int = 0, size: int = 1000
) -> tuple[float, float]:
    """How often p is below the level for two models on the same people: as two samples, paired.

    A share `agree` is treated equally by both models for sure, the others by each model on its own
    (agree > 0), or in the opposite way (agree < 0); the new model selects `moved` fewer.
    """
    generator = np.random.default_rng(seed)
    found = [0, 0]
    for _ in range(pairs):
        old = generator.random(size) < 0.5  # noqa: PLR2004  # half are selected
        other = generator.random(size) < 0.5  # noqa: PLR2004  # the same
        kept = generator.random(size) < abs(agree)
        new = np.where(kept, old if agree > 0 else ~old, other)
        new &= generator.random(size) >= moved
        table = Counter(zip(old.tolist(), new.tolist(), strict=True))
        rows = [("a", str(int(a)), str(int(b)), n) for (a, b), n in table.items()]
        frame = pl.DataFrame(rows, schema=["group", "old", "new", "n"], orient="row")
        result = fairaudit.audit(MODELS, frame)
        naive = compare(result, result, outcomes=("old", "new"), same_people=False)
        for at, one in enumerate((naive, compare_models(result, "old", "new"))):
            found[at] += below_level(one)
    return found[0] / pairs, found[1] / pairs


def below_level(changes: Changes) -> bool:
    """Whether the change of everybody's rate is below the level."""
    (one,) = (each for each in changes.rates if not each.by)
    return one.change.significance is not None and one.change.significance.p < LEVEL


def main() -> None:
    """Prints a table for each scenario."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    for name in SCENARIOS:
        tested, below, family = alarms(name, pairs)
        print(f"\n{name}: {pairs} pairs without a change")
        for metric, count in tested.items():
            print(f"  {metric:36} {below[metric] / count:.3f} of {count}")
        print("  any after Holm: " + ", ".join(f"{k} {v / pairs:.3f}" for k, v in family.items()))
    print("\nThe same people by two models: p below .05 as two samples, and paired")
    for agree, moved in ((0.8, 0.0), (0.8, 0.1), (-0.8, 0.0)):
        one, two = same_people(pairs, agree, moved)
        print(f"  agree {agree:+.1f}, selected less often {moved:.2f}: {one:.3f}  {two:.3f}")


if __name__ == "__main__":
    main()

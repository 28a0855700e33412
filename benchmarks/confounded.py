"""How much confounding strata of a model leave, and how often their interval has the true gap.

nice -n 15 python confounded.py --runs 100

The features of two groups differ, and the selection depends on these features alone, or on
the group as well. The true gap of people with equal features is the same for all of them.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np
import polars as pl
from numpy.random import Generator
from scipy.special import expit

import fairaudit

MODELS = {
    "five": {"propensity": {"of": "g", "bins": 5}},
    "likely": {"propensity": {"of": "g"}},
    "few": {"clusters": {"k": 5}},
    "many": {"clusters": {"k": 20}},
}
STRATA = {
    "none": {},
    "propensity, 5 strata": {"given": "five", "average": "pooled"},
    "propensity": {"given": "likely", "average": "pooled"},
    "propensity, overlap weights": {"given": "likely", "average": "overlap"},
    "k-means, 5 clusters": {"given": "few", "average": "pooled"},
    "k-means, 20 clusters": {"given": "many", "average": "pooled"},
    "k-means, 20 clusters, overlap weights": {"given": "many", "average": "overlap"},
}
"""Ways to compare people with similar features, as a spec asks for them."""
PEOPLE, SHIFTS, GAPS = (500, 2000), (0.5, 1.0), (0.0, -0.1)


def main() -> None:
    """Print a line for each way, number of people and distance of the groups."""
    parser = argparse.ArgumentParser(description="Bias and coverage of strata of a model.")
    parser.add_argument("--runs", type=int, default=100)
    runs, random = parser.parse_args().runs, np.random.default_rng(2024)
    print("| strata | people | features apart | confounding left | covered, gap 0 | gap -0.1 |")
    print("|---|--:|--:|--:|--:|--:|")
    for n, shift in product(PEOPLE, SHIFTS):
        found = np.stack([
            [estimates(random, n, shift, gap) for _ in range(runs)] for gap in GAPS
        ])  # fmt: skip
        truth = np.array(GAPS)[:, None, None]
        left = np.nanmean(found[..., 0] - truth, axis=(0, 1))
        covered = np.mean((found[..., 1] <= truth) & (truth <= found[..., 2]), axis=1)
        for at, name in enumerate(STRATA):
            shares = (left[at] / left[0], *covered[:, at])
            line = (name, f"{n:,}", f"{shift}", *(f"{share:.3f}" for share in shares))
            print(f"| {' | '.join(line)} |", flush=True)


def estimates(random: Generator, n: int, shift: float, gap: float) -> list[list[float]]:
    """The difference in one sample, and the ends of its interval, by each way."""
    member = random.random(n) < 1 / 3
    features = random.normal(size=(n, 2)) + shift * member[:, None]
    chance = 0.15 + 0.5 * expit(features @ [1.2, 0.6]) + gap * member
    people = pl.DataFrame({
        "g": np.where(member, "b", "a"),
        "x": features[:, 0],
        "w": features[:, 1],
        "p": (random.random(n) < chance).astype(int),
    })  # fmt: skip
    asked = [
        {"metric": "selection_rate", "by": "g", "compare": "difference", **strata}
        for strata in STRATA.values()
    ]
    columns = {
        "protected": {"g": {"reference": "a"}},
        "prediction": {"column": "p", "positive": 1, "negative": 0},
        "features": {"numeric": ["x", "w"]},
        "strata": MODELS,
    }
    spec = {"columns": columns, "simpson": {"given": []}, "metrics": asked}
    found = [row.estimate for row in fairaudit.audit(spec, people).comparisons if not row.stratum]
    return [[one.value, one.low, one.high] for one in found]


if __name__ == "__main__":
    main()

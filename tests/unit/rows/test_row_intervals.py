"""How often the intervals of people one by one hold the truth; ties, and who is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from fairaudit.base.arrays import Floats
from fairaudit.cube.rows import Features
from fairaudit.rows.neighbours import find_neighbours
from fairaudit.rows.similar_people import Mean, compare_twins, consistency, differing_pairs
from fairaudit.stats import proportions

DRAWS = 400


def features_of(numbers: Floats) -> Features:
    """Features that are all numbers."""
    names = tuple(f"x{at}" for at in range(numbers.shape[1]))
    return Features(names, numbers, (), np.zeros((len(numbers), 0), dtype=np.int64), ())


def of_consistency(draw: np.random.Generator, n: int, *, lattice: bool) -> Mean:
    """Consistency of outcomes that rise with the first of two numbers."""
    numbers = draw.integers(0, 5, (n, 2)).astype(float) if lattice else draw.normal(size=(n, 2))
    chance = 1 / (1 + np.exp(-1.5 * numbers[:, 0] + 2 * lattice))
    outcome = (draw.random(n) < chance).astype(float)
    everybody = np.arange(n)
    neighbours = find_neighbours(features_of(numbers), everybody, 5, without_self=True)
    return consistency(outcome, neighbours, neighbours.search(everybody))


def of_pairs(draw: np.random.Generator, n: int, kind: str) -> Mean:
    """Pairs of equals and twins, of people in six profiles and two groups."""
    profile, group = draw.integers(0, 6, n), draw.integers(0, 2, n)
    outcome = (draw.random(n) < (profile + 1) / 8 + 0.1 * group).astype(float)
    if kind == "equals":
        return differing_pairs(profile, outcome)
    if kind == "groups":
        return differing_pairs(profile, outcome, group=group)
    sides = (np.flatnonzero(group == side) for side in (0, 1))
    members, others = sides
    features = features_of(profile[:, None].astype(float))
    return compare_twins(features, outcome, members, others).gap


def intervals(means: list[Mean], *, signed: bool) -> Iterator[tuple[float, float]]:
    """The interval of each, as the metrics have it."""
    for one in means:
        if signed:
            half = 1.96 * one.variance**0.5
            yield one.value - half, one.value + half
        else:
            size = np.array([one.value * (1 - one.value) / one.variance])
            low, high = proportions.wilson(np.array([one.value]), size, 0.05)
            yield float(low[0]), float(high[0])


@pytest.mark.long
@pytest.mark.parametrize("n", [60, 400])
@pytest.mark.parametrize(
    "draw_one",
    [
        lambda draw, n: of_consistency(draw, n, lattice=False),
        lambda draw, n: of_consistency(draw, n, lattice=True),
        lambda draw, n: of_pairs(draw, n, "equals"),
        lambda draw, n: of_pairs(draw, n, "groups"),
        lambda draw, n: of_pairs(draw, n, "twins"),
    ],
    ids=["consistency", "consistency with ties", "equals", "equals between groups", "twins"],
)
def test_intervals_hold_the_expectation(
    draw_one: Callable[[np.random.Generator, int], Mean], n: int
) -> None:
    draw = np.random.default_rng(5)
    means = [draw_one(draw, n) for _ in range(DRAWS)]
    truth = float(np.mean([one.value for one in means]))
    signed = min(one.value for one in means) < 0
    held = [low <= truth <= high for low, high in intervals(means, signed=signed)]
    assert 0.905 <= np.mean(held) <= 0.995


@pytest.mark.long
@pytest.mark.parametrize("kind", ["equals", "groups", "twins"])
@pytest.mark.parametrize("share", [1.0, 0.5, 0.125])
def test_intervals_allow_for_the_profiles_that_were_left_out(kind: str, share: float) -> None:
    """Of 1,600 profiles with rates of their own a share is known, each with all its people."""
    draw = np.random.default_rng(6)
    rates, means = draw.random(1600), []
    for _ in range(DRAWS):
        profile, group = draw.integers(0, 1600, 6400), draw.integers(0, 2, 6400)
        outcome = (draw.random(6400) < rates[profile]).astype(float)
        kept = (draw.random(1600) < share)[profile]
        profile, group, outcome = profile[kept], group[kept], outcome[kept]
        if kind == "equals":
            means.append(differing_pairs(profile, outcome, share=share))
        elif kind == "groups":
            means.append(differing_pairs(profile, outcome, group=group, share=share))
        else:
            features = features_of(profile[:, None].astype(float))
            members, others = (np.flatnonzero(group == side) for side in (0, 1))
            means.append(compare_twins(features, outcome, members, others, share=share).gap)
    truth = float(np.mean([mean.value for mean in means]))
    held = [low <= truth <= high for low, high in intervals(means, signed=kind == "twins")]
    assert 0.905 <= np.mean(held) <= 0.995, np.mean(held)


def test_ties_at_the_last_distance_are_all_neighbours() -> None:
    """On a lattice of unit steps a person has four nearest; with k of 1 all of them count."""
    points = np.array([(x, y) for x in range(5) for y in range(5)], dtype=float)
    neighbours = find_neighbours(features_of(points), np.arange(25), 1, without_self=True)
    neighbours.search(np.arange(25))
    sizes = neighbours.sizes[neighbours.row[neighbours.space.profile]].reshape(5, 5)
    assert sizes[2, 2] == 4
    assert sizes[0, 0] == 2
    assert sizes[0, 2] == 3


def test_rounding_breaks_no_tie() -> None:
    """0.1 + 0.2 is not 0.3 in floats; the distances are equal all the same."""
    points = np.array([[0.3], [0.0], [0.1 + 0.2 + 0.3], [9.0]])
    neighbours = find_neighbours(features_of(points), np.arange(4), 1, without_self=True)
    neighbours.search(np.arange(4))
    assert neighbours.sizes[neighbours.row[neighbours.space.profile[0]]] == 2


def test_a_sample_of_those_asked_is_the_beginning_of_one_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Too many links to hold: whose neighbours are known are the first of those asked."""
    monkeypatch.setattr("fairaudit.rows.neighbours.MOST_LINKS", 50)
    monkeypatch.setattr("fairaudit.rows.neighbours._CHUNK", 10)
    draw = np.random.default_rng(1)
    everybody = np.arange(200)
    neighbours = find_neighbours(
        features_of(draw.normal(size=(200, 2))), everybody, 5, without_self=True
    )
    order = draw.permutation(200)
    asked = neighbours.search(order)
    assert 0 < len(asked) < 200
    assert asked.tolist() == order[: len(asked)].tolist()

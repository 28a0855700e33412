"""The nearest points, however large the combinations of categories are, beside plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairaudit.cube.rows import Features
from fairaudit.rows import neighbours as search
from fairaudit.rows.neighbours import NearestPoints, find_neighbours, locate

SIZES = [(0, 1, 1), (0, 4, 2), (0, 10**6, 1), (0, 3, 10**6), (10**6, 1, 1)]
"""What few points are, from how many on a combination has a tree, how many are taken together."""


def draw_features(seed: int, people: int, numbers: int, categories: int) -> Features:
    """People on a coarse lattice, so that many tie."""
    draw = np.random.default_rng(seed)
    names = [tuple(f"{kind}{place}" for place in range(9)) for kind in "xc"]
    return Features(
        names[0][:numbers],
        draw.integers(0, 4, (people, numbers)).astype(float),
        names[1][:categories],
        draw.integers(0, 3, (people, categories)),
        (("a", "b", "c"),) * categories,
    )


def squares_of(features: Features) -> list[list[float]]:
    """The squared distance of each pair of people."""
    deviations = [float(np.std(column)) for column in features.numbers.T]
    people = [*zip(features.numbers.tolist(), features.codes.tolist(), strict=True)]
    return [
        [
            sum(
                ((a - b) / s) ** 2
                for a, b, s in zip(first, other, deviations, strict=True)
                if s > 0
            )
            + sum(a != b for a, b in zip(codes, others, strict=True))
            for other, others in people
        ]
        for first, codes in people
    ]


@pytest.mark.parametrize("sizes", SIZES)
@given(
    seed=st.integers(0, 10**6),
    people=st.integers(7, 60),
    numbers=st.integers(0, 3),
    categories=st.integers(0, 3),
    k=st.integers(1, 5),
)
def test_neighbours_are_those_within_the_kth_distance(
    sizes: tuple[int, int, int], seed: int, people: int, numbers: int, categories: int, k: int
) -> None:
    features = draw_features(seed, people, numbers, categories)
    with pytest.MonkeyPatch.context() as patch:
        for name, size in zip(("_FEW", "_LEAST_IN_TREE", "_LEAST_AT_ONCE"), sizes, strict=True):
            patch.setattr(search, name, size)
        neighbours = find_neighbours(features, np.arange(people), k, without_self=True)
        neighbours.search(np.arange(people))
    profile = neighbours.space.profile
    for person, squares in enumerate(squares_of(features)):
        others = sorted(squares[:person] + squares[person + 1 :])
        near = {other for other in range(people) if squares[other] <= others[k - 1] + 1e-9}
        row = neighbours.row[profile[person]]
        links = neighbours.links[neighbours.starts[row] : neighbours.starts[row + 1]]
        assert set(neighbours.among[links].tolist()) == {int(profile[other]) for other in near}
        assert neighbours.sizes[row] == len(near - {person})


def test_a_tree_and_plain_distances_find_the_same_points() -> None:
    """Numbers that do not tie: trees of large combinations, and all distances of small ones."""
    draw = np.random.default_rng(3)
    features = Features(
        ("x", "y"),
        draw.normal(size=(600, 2)),
        ("c",),
        draw.integers(0, 3, (600, 1)),
        (("a", "b", "c"),),
    )
    points = locate(features).points(np.arange(600))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "_FEW", 0)
        patch.setattr(search, "_LEAST_IN_TREE", 1)
        squares, places = NearestPoints(points).find(points, 7)
    plain_squares, plain_places = NearestPoints(points).find(points, 7)
    assert places.tolist() == plain_places.tolist()
    np.testing.assert_allclose(squares, plain_squares, atol=1e-12)
    assert (squares[:, 0] < 1e-12).all()

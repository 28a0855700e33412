"""Intervals of groups of a few people, exactly: every table there can be, with its chance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, multinomial

from fairaudit.metrics.terms import Reference, ReferencePolicy

REST, OVERALL, HIGHEST, LOWEST = (
    Reference(policy)
    for policy in (
        ReferencePolicy.REST,
        ReferencePolicy.OVERALL,
        ReferencePolicy.HIGHEST,
        ReferencePolicy.LOWEST,
    )
)


def coverage(low: Any, high: Any, truth: Any, chance: Any) -> float:
    """How often all intervals that there are have the truth, among samples with any."""
    there = ~np.isnan(low)
    missed = there & ((low > np.asarray(truth) + 1e-9) | (high < np.asarray(truth) - 1e-9))
    known = there.any(axis=1)
    return float(chance[known & ~missed.any(axis=1)].sum() / chance[known].sum())


def every_table(bench: Any, sizes: tuple[int, ...], rates: tuple[float, ...]) -> tuple[Any, Any]:
    """The tables of all numbers of selected people, and their chances."""
    axes = np.meshgrid(*(np.arange(n + 1) for n in sizes), indexing="ij")
    hits = np.stack(axes, axis=-1).reshape(-1, len(sizes))
    joint = np.stack([np.array(sizes) - hits, hits], axis=1)[:, None]
    return bench("samples").table_of(joint), binom.pmf(hits, sizes, rates).prod(axis=1)


@pytest.mark.parametrize(
    ("sizes", "rates"),
    [
        ((1, 1), (0.3, 0.7)),
        ((3, 3), (0.9, 0.1)),
        ((4, 5), (0.93, 0.07)),
        ((20, 20), (0.9845, 0.0155)),
    ],
)
def test_two_groups_of_which_almost_all_and_almost_nobody_is_selected(
    bench: Any, sizes: tuple[int, int], rates: tuple[float, float]
) -> None:
    """MOVER of both shares covers .91 to .927 of these."""
    table, chance = every_table(bench, sizes, rates)
    samples, how = bench("samples"), bench("singles").how
    (n, m), (p, q) = sizes, rates
    apart, highest, lowest = p - q, max(rates), min(rates)
    for by, reference, truth in (
        ("difference", REST, [apart, -apart]),
        ("difference", OVERALL, [apart * m / (n + m), -apart * n / (n + m)]),
        ("difference", HIGHEST, [p - highest, q - highest]),
        ("difference", LOWEST, [p - lowest, q - lowest]),
        ("gap", None, [abs(apart)]),
    ):
        found = samples.intervals(how("selection_rate", by), table, reference)
        assert coverage(found.low, found.high, truth, chance) >= 0.93, (by, reference)
    everybody = (n * p + m * q) / (n + m)
    phi = apart * np.sqrt(n * m / (everybody * (1 - everybody))) / (n + m)
    found = samples.intervals(bench("singles").measure("correlation"), table, REST)
    if n + m < 9:
        assert np.isnan(found.low).all()
    else:
        assert coverage(found.low, found.high, [phi, -phi], chance) >= 0.93


@pytest.mark.parametrize(
    ("sizes", "rates"),
    [((5, 5, 5), (0.94, 0.05, 0.05)), ((3, 3, 3, 3), (0.9, 0.08, 0.08, 0.08))],
)
def test_several_groups_against_the_highest(
    bench: Any, sizes: tuple[int, ...], rates: tuple[float, ...]
) -> None:
    """All intervals of a table hold together; MOVER of both shares covers .89 and less."""
    table, chance = every_table(bench, sizes, rates)
    asked = bench("singles").how("selection_rate", "difference")
    found = bench("samples").intervals(asked, table, HIGHEST)
    truth = np.array(rates) - max(rates)
    assert coverage(found.low, found.high, truth, chance) >= 0.93


@pytest.mark.parametrize("n", [3, 8, 30])
def test_balanced_accuracy_of_almost_perfect_predictions(bench: Any, n: int) -> None:
    """MOVER's sum of both shares covers .92 of them."""
    missed, false = (axis.ravel() for axis in np.mgrid[: n + 1, : n + 1])
    cells = np.stack([np.stack([n - false, false]), np.stack([missed, n - missed])])
    table = bench("samples").table_of(np.moveaxis(cells, -1, 0)[..., None])
    error = 0.31 / n
    chance = binom.pmf(missed, n, error) * binom.pmf(false, n, error)
    found = bench("samples").intervals(bench("singles").quantity("balanced_accuracy"), table)
    assert coverage(found.low, found.high, [1 - error], chance) >= 0.93


@pytest.mark.parametrize("wronged", [0.97, 0.999])
@pytest.mark.parametrize("n", [1, 6, 8])
def test_inequality_of_a_few_people_of_whom_hardly_one_has_a_benefit(
    bench: Any, n: int, wronged: float
) -> None:
    """Only a sample with a benefit has a value: intervals of all samples cover .90 and less."""
    counts = np.array([(w, r, n - w - r) for w in range(n + 1) for r in range(n - w + 1)])
    cells = np.zeros((len(counts), 2, 2, 1), dtype=np.int64)
    cells[:, 1, 0, 0], cells[:, 0, 0, 0], cells[:, 0, 1, 0] = counts.T
    table = bench("samples").table_of(cells)
    shares = np.array([wronged, (1 - wronged) * 0.7, (1 - wronged) * 0.3])
    chance = multinomial.pmf(counts, n, shares)
    mean = shares @ [0, 1, 2]
    half_square = (shares @ [0, 1, 4] / mean**2 - 1) / 2
    theil = shares[1] / mean * np.log(1 / mean) + 2 * shares[2] / mean * np.log(2 / mean)
    for name, truth in (
        ("generalized_entropy", half_square),
        ("coefficient_of_variation", np.sqrt(2 * half_square)),
        ("theil", theil),
    ):
        found = bench("samples").intervals(bench("singles").quantity(name), table)
        assert coverage(found.low, found.high, [truth], chance) >= 0.93, name
        # Of one person with a benefit nobody knows how rare it is.
        single = (counts[:, 1] + counts[:, 2] == 1)[:, None]
        assert np.isposinf(found.high[single]).all()

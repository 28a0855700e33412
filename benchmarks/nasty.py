"""Designs in which intervals cover badly if they can: `twice.py` draws them.

Each case draws samples and says which of its intervals have the truth. The truth is the value of
the table that has the expected number of people in every cell.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from decimal import Decimal
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
from calibrated import labelled
from designs import two_tables
from numpy.random import Generator
from samples import TO_FIRST, Floats, Ints, names, table_of
from scipy.special import betaincinv
from singles import how, measure, quantity

from fairaudit.base.frozen import replace
from fairaudit.cube import GroupTable
from fairaudit.cube.group_table import ClusteredTable, Clusters
from fairaudit.cube.histogram import Bins, Histogram
from fairaudit.evidence.value_intervals import find_intervals
from fairaudit.metrics import Metric, evaluate
from fairaudit.metrics.evaluate import evaluate_against
from fairaudit.metrics.terms import Average, MetricOptions, Parameters, Reference, Weights

_CLOSE = 1e-9
_MANY = 10**12
"""The people of a group in the table of the truth."""
_SCALE = 1000
"""Weights are rounded to this many parts of one."""


class Hits(NamedTuple):
    """How many samples have an interval, and how many of these have the truth in it."""

    there: int
    hits: int

    def __add__(self, other: object) -> Hits:  # type: ignore[override]
        """Both together."""
        assert isinstance(other, Hits)
        return Hits(self.there + other.there, self.hits + other.hits)

    @property
    def covered(self) -> float:
        """The share of samples that are covered."""
        return self.hits / self.there

    @property
    def error(self) -> float:
        """Its standard error, as if one more were covered and one more were not."""
        share = (self.hits + 1) / (self.there + 2)
        return float(np.sqrt(share * (1 - share) / self.there))


Only = Container[str]
"""The measures that are asked for."""


class Everything(Container[str]):
    """All measures."""

    def __contains__(self, _: object) -> bool:
        """Whether a measure is asked for: always."""
        return True


class Case(NamedTuple):
    """A setting, and the function that draws that many samples of it and finds some intervals."""

    setting: str
    draw: Callable[[Only, Generator, int], dict[str, Hits]]


class Ask(NamedTuple):
    """A measure with its options, under the title of its intervals."""

    title: str
    metric: Metric
    terms: MetricOptions


def _ask(title: str, metric: Metric, reference: Reference | None = None, **terms: object) -> Ask:
    return Ask(title, metric, MetricOptions(reference, **terms))  # type: ignore[arg-type]


def _hits(
    asked: Sequence[Ask],
    table: GroupTable,
    truth: GroupTable | Mapping[str, Floats],
    only: Only,
) -> dict[str, Hits]:
    """The intervals of the judged values of a table, whose strata are samples."""
    found = {}
    for title, metric, terms in asked:
        if title not in only:
            continue
        true = truth[title] if isinstance(truth, Mapping) else evaluate(metric, truth, terms).value
        evaluation = evaluate(metric, table, terms)
        ends = find_intervals(evaluation)
        found |= _of_values(title, ends.low, ends.high, true, evaluation.judged)
    return found


def _of_values(
    title: str, low: Floats, high: Floats, true: Floats, judged: Floats
) -> dict[str, Hits]:
    found = {}
    for at in np.flatnonzero(judged.any(axis=0)):
        there = ~np.isnan(low[:, at])
        value = np.broadcast_to(true, low.shape)[:, at]
        inside = (low[:, at] <= value + _CLOSE) & (high[:, at] >= value - _CLOSE)
        name = f"{title}, {at}" if judged.shape[1] > 1 else title
        found[name] = Hits(int(there.sum()), int((inside & there).sum()))
    return found


_OF_RATES = (
    _ask("rate", quantity("selection_rate")),
    _ask("difference", how("selection_rate", "difference"), TO_FIRST),
    _ask("ratio", how("selection_rate", "ratio"), TO_FIRST),
    _ask("odds ratio", how("selection_rate", "odds_ratio"), TO_FIRST),
    _ask("gap", measure("demographic_parity_difference")),
    _ask("smallest ratio", measure("demographic_parity_ratio")),
    _ask("ε", measure("differential_fairness")),
)

# Clusters -------------------------------------------------------------------------------------

_CLUSTERS: Mapping[str, Sequence[int]] = {
    "10 of 5": [5] * 10,
    "20 of 3": [3] * 20,
    "one of 100, 60 of 4": [100, *[4] * 60],
    "three of 50, 50 of 2": [50] * 3 + [2] * 50,
    "25 that grow by 10 %": [round(4 * 1.1**at) for at in range(25)],
    "12 that grow by 28 %": [round(3 * 1.28**at) for at in range(12)],
    "150 people alone": [1] * 150,
    "100 alone, 5 of 20": [1] * 100 + [20] * 5,
    "one of 60, 35 of 5": [60, *[5] * 35],
    "two of 80, 60 of 5": [80, 80, *[5] * 60],
}


def clusters() -> list[Case]:
    """Unequal clusters: both groups with equal or unequal rates, in their own or in common ones."""
    kinds = ((1.0, False), (1.6, False), (1.6, True))
    every = [
        Case(
            f"{name} at {rate} and {min(rate * factor, 0.95):g}, {'common' if shared else 'own'} "
            f"clusters, correlation {alike}",
            partial(_draw_clusters, sizes, (rate, min(rate * factor, 0.95)), alike, shared),
        )
        for (name, sizes), rate, alike, (factor, shared) in product(
            _CLUSTERS.items(), (0.03, 0.1, 0.3, 0.5, 0.8), (0.0, 0.05, 0.3, 0.8), kinds
        )
    ]
    # One of the three kinds of each, in turn.
    return [case for at, case in enumerate(every) if at % len(kinds) == at // len(kinds) % 3]


def _draw_clusters(
    sizes: Sequence[int],
    rates: tuple[float, float],
    alike: float,
    shared: bool,  # noqa: FBT001  # of a product
    only: Only,
    random: Generator,
    runs: int,
) -> dict[str, Hits]:
    of_sizes, p = np.asarray(sizes)[None, :, None], np.asarray(rates)
    chances = np.broadcast_to(p, (runs, len(sizes), 2))
    if alike:
        place = random.random((runs, len(sizes), 1 if shared else 2))
        a, b = p * (1 - alike) / alike, (1 - p) * (1 - alike) / alike
        chances = betaincinv(a, b, place)
    hits = random.binomial(np.broadcast_to(of_sizes, chances.shape), chances)
    both = np.stack([of_sizes - hits, hits], axis=1)
    table = table_of(both.sum(axis=2)[:, None])
    run, outcome, cluster, group = np.nonzero(both)
    cell = np.ravel_multi_index((run, np.zeros_like(run), outcome, group), table.people.shape)
    code = cluster if shared else cluster * 2 + group
    gathered = Clusters.gather(cell, code, both[run, outcome, cluster, group].astype(np.float64))
    place_of = np.arange(table.people.size)
    table = replace(table, clusters=ClusteredTable(gathered, place_of, table.people.shape))
    whole = np.rint(np.stack([1 - p, p]) * _MANY).astype(np.int64)
    return _hits(_OF_RATES, table, table_of(whole[None, None]), only)


# Weights ----------------------------------------------------------------------------------------

_UTILITIES = tuple((cell, Decimal(u)) for cell, u in
                   (("tp", "1"), ("fp", "-5"), ("fn", "-0.5"), ("tn", "0.1")))  # fmt: skip
_UTILITY = {"parameters": Parameters(utilities=_UTILITIES)}


def _of_cells(*, terms: Mapping[str, object] | None = None) -> tuple[Ask, ...]:
    """Means and formulas of four cells, and their comparisons."""
    asked = []
    for name in ("expected_utility", "mean_residual", "balanced_accuracy", "f1",
                 "true_positive_rate", "positive_predictive_value"):  # fmt: skip
        own = {**(terms or {}), **(_UTILITY if name == "expected_utility" else {})}
        words = name.replace("_", " ")
        asked.append(_ask(words, quantity(name), **own))
        signed = name in {"expected_utility", "mean_residual"}
        asked += [
            _ask(f"{by} of {words}", how(name, by), TO_FIRST, **own)
            for by in ("difference", "ratio")
            if by == "difference" or not signed
        ]
        if signed:
            asked.append(_ask(f"gap of {words}", how(name, "gap"), **own))
    return tuple(asked)


_OF_CELLS = (
    *_of_cells(),
    _ask("average odds difference", measure("average_odds_difference"), TO_FIRST),
    _ask("equalized odds difference", measure("equalized_odds_difference")),
    _ask("generalized entropy", quantity("generalized_entropy")),
    _ask("theil", quantity("theil")),
)
_CHANCES = {
    "usual": ((0.4, 0.1, 0.1, 0.4), (0.3, 0.1, 0.15, 0.45)),
    "rare label": ((0.02, 0.05, 0.02, 0.91), (0.03, 0.04, 0.01, 0.92)),
    "rare errors": ((0.5, 0.01, 0.02, 0.47), (0.4, 0.02, 0.01, 0.57)),
    "rare selection": ((0.02, 0.01, 0.3, 0.67), (0.01, 0.01, 0.28, 0.7)),
}
"""The chances of tp, fp, fn, tn in both groups."""
_SIZES = ((60, 200), (300, 300), (1000, 150))
_SPREADS = (0.0, 0.7, 1.5)
"""Coefficients of variation of the weights."""
_SAMPLED = {
    "by chance": (1.0, 1.0, 1.0, 1.0),
    "selected 20 times": (1.0, 1.0, 0.05, 0.05),
    "rejected 5 times": (0.2, 0.2, 1.0, 1.0),
    "errors 10 times": (0.1, 1.0, 1.0, 0.1),
    "right ones 5 times": (1.0, 0.2, 0.2, 1.0),
    "positives 10 times": (1.0, 0.1, 1.0, 0.1),
}
"""The chance with which a person of each cell comes into the sample."""


def weights() -> list[Case]:
    """People of four cells who come in with a chance of their cell, and weigh its inverse."""
    every = [
        Case(
            f"{n} and {m} people, {name}, {sampled}, weights vary by {spread}",
            partial(_draw_weights, (n, m), np.array(chances).T, np.array(factors), spread),
        )
        for (n, m), (name, chances), (sampled, factors), spread in product(
            _SIZES, _CHANCES.items(), _SAMPLED.items(), _SPREADS
        )
    ]
    # One spread of each, in turn.
    return [case for at, case in enumerate(every) if at % 3 == at // 3 % 3]


def _weighted_cells(
    random: Generator, n: int, chances: Floats, factors: Floats, spread: float, runs: int
) -> tuple[Ints, Floats, Floats]:
    """People, weights and squared weights of n people in cells, [runs, cells]."""
    drawn = chances * factors / (chances @ factors)
    cell = np.searchsorted(np.cumsum(drawn)[:-1], random.random((runs, n)))
    sigma = np.sqrt(np.log1p(spread**2))
    weight = random.lognormal(-(sigma**2) / 2, sigma, cell.shape) / factors[cell]
    weight = np.maximum(np.rint(weight * _SCALE), 1) / _SCALE
    place = (np.arange(runs)[:, None] * len(chances) + cell).ravel()
    sums = [
        np.bincount(place, (weight**power).ravel(), runs * len(chances)).reshape(runs, -1)
        for power in (0, 1, 2)
    ]
    return sums[0].astype(np.int64), sums[1], sums[2]


def _of_four(cells: Floats | Ints) -> Floats | Ints:
    """Numbers of tp, fp, fn, tn [..., 4, groups] by label and decision, [..., 2, 2, groups]."""
    tp, fp, fn, tn = np.moveaxis(cells, -2, 0)
    return np.stack([np.stack([tn, fp], axis=-2), np.stack([fn, tp], axis=-2)], axis=-3)


def _with_weights(joint: Ints, mass: Floats, squares: Floats) -> GroupTable:
    """The table of people with these weights, all [runs, labels, decisions, groups]."""
    table = table_of(joint)
    around = [(0, have - own) for have, own in zip(table.people.shape, joint.shape, strict=True)]
    whole = np.rint(np.pad(mass, around) * _SCALE).astype(np.int64)
    return replace(table, mass=whole, scale=_SCALE, squares=np.pad(squares, around))


def _draw_weights(
    sizes: Sequence[int],
    chances: Floats,
    factors: Floats,
    spread: float,
    only: Only,
    random: Generator,
    runs: int,
) -> dict[str, Hits]:
    groups = [
        _weighted_cells(random, n, chances[:, g], factors, spread, runs)
        for g, n in enumerate(sizes)
    ]
    sums = [_of_four(np.stack(some, axis=-1)) for some in zip(*groups, strict=True)]
    table = _with_weights(sums[0].astype(np.int64), sums[1], sums[2])
    whole = np.rint(_of_four(chances * _MANY)).astype(np.int64)
    return _hits(_OF_CELLS, table, table_of(whole[None]), only)


# Averages over strata ---------------------------------------------------------------------------

_STRATA = (2, 5, 15, 50)
_STRATIFIED = 30
_AVERAGED = {"rate", "difference", "ratio", "odds ratio"}
_OUTCOMES = {
    "by chance": (1.0, 1.0),
    "approvals 20 times": (0.05, 1.0),
    "rejections 5 times": (1.0, 0.2),
}
"""The chance with which people who are not selected, or selected, come into the sample."""


def strata() -> list[Case]:
    """Rates, their comparisons and means of cells averaged over strata, by chance combinations."""
    random = np.random.default_rng(7)
    return [_stratified(random, of_cells=at % 3 == 2) for at in range(_STRATIFIED)]


def _stratified(random: Generator, *, of_cells: bool) -> Case:
    count = int(random.choice(_STRATA))
    shape = random.choice(["equal", "unequal", "one large"])
    people = {
        "equal": np.full(count, 40),
        "unequal": random.permutation(np.rint(np.geomspace(8, 400, count)).astype(int)),
        "one large": np.where(np.arange(count) == 0, 1500, 12),
    }[str(shape)]
    sizes = np.stack([people, np.maximum(people // int(random.choice([1, 3])), 4)], axis=1)
    level = str(random.choice(["rare", "usual", "varied"]))
    middle = {"rare": 0.02, "usual": 0.3, "varied": 0.25}[level]
    base = np.full(count, middle) if level != "varied" else random.uniform(0.03, 0.6, count)
    apart = float(random.choice([1.0, 1.0, 1.4]))
    rule = str(random.choice(["uniform", "levels", "pooled"]))
    raw = {
        "uniform": np.ones(count),
        "levels": random.permutation(np.rint(np.geomspace(1, 100, count))),
        "pooled": sizes.sum(axis=1).astype(float),
    }[rule]
    levels = {f"{at:03}": Decimal(int(one)) for at, one in enumerate(raw)}
    # The shares of strata in the population are known: weights are fixed.
    average = Average(Weights.UNIFORM) if rule == "uniform" else Average(Weights.LEVELS, levels)
    sampled = str(random.choice([*_OUTCOMES]))
    spread = float(random.choice([0.0, 0.7]))
    words = f"{count} strata, {shape} sizes, {level} rates, ratio {apart:g}, weights {rule}"
    what = f"{words}; {sampled}, weights vary by {spread}{'; cells' if of_cells else ''}"
    rates = np.stack([base, base * apart], axis=1)
    inputs = (sizes, rates, average, _OUTCOMES[sampled], spread)
    return Case(what, partial(_draw_strata, inputs, of_cells))


def _draw_strata(
    inputs: tuple[Ints, Floats, Average, tuple[float, float], float],
    of_cells: bool,  # noqa: FBT001  # of a partial
    only: Only,
    random: Generator,
    runs: int,
) -> dict[str, Hits]:
    sizes, rates, average, sampled, spread = inputs
    # Selected people have a positive label in two of three cases, others in one of five.
    given = np.array([2 / 3, 1 / 3, 0.2, 0.8])
    chances = np.stack([rates, rates, 1 - rates, 1 - rates], axis=-1) * given
    factors = np.array([sampled[1], sampled[1], sampled[0], sampled[0]])
    terms: dict[str, object] = {"average": average}
    if of_cells:
        asked = _of_cells(terms=terms)
    else:
        of_rates = (one for one in _OF_RATES if one.title in _AVERAGED)
        plain = (_ask(one.title, one.metric, one.terms.reference, **terms) for one in of_rates)
        asked = (*plain, _ask("gap", how("selection_rate", "gap"), **terms))
    whole = np.rint(_of_four(np.swapaxes(chances, 1, 2) * _MANY)).astype(np.int64)
    truth_table = table_of(whole if of_cells else whole.sum(axis=1, keepdims=True))
    truth = {one.title: evaluate(one.metric, truth_table, one.terms).value for one in asked}
    found: dict[str, Hits] = {}
    cells = [
        [_weighted_cells(random, int(sizes[z, g]), chances[z, g], factors, spread, runs)
         for g in (0, 1)]
        for z in range(len(sizes))
    ]  # fmt: skip
    people, mass, squares = (
        _of_four(np.array([[one[at] for one in row] for row in cells]).transpose(2, 0, 3, 1))
        for at in range(3)
    )
    if not of_cells:
        people, mass, squares = (x.sum(axis=2, keepdims=True) for x in (people, mass, squares))
    for run in range(runs):
        table = _with_weights(people[run].astype(np.int64), mass[run], squares[run])
        for title, hits in _hits(asked, table, truth, only).items():
            found[title] = found.get(title, Hits(0, 0)) + hits
    return found


# Calibration ------------------------------------------------------------------------------------

_SCORES = {
    "uniform": (1.0, 1.0), "low": (1.0, 6.0), "middle": (6.0, 6.0), "extreme": (0.4, 0.4),
    "rare": (1.0, 20.0),
}  # fmt: skip
_OF_FITS = (
    _ask("slope", quantity("calibration_slope")),
    _ask("difference of slopes", how("calibration_slope", "difference"), TO_FIRST),
    _ask("gap of slopes", how("calibration_slope", "gap")),
)
_OF_MEANS = (
    _ask("intercept", quantity("calibration_intercept")),
    _ask("difference of intercepts", how("calibration_intercept", "difference"), TO_FIRST),
    _ask("gap of intercepts", how("calibration_intercept", "gap")),
)


def slopes() -> list[Case]:
    """Slopes and intercepts of calibration of two groups."""
    errors = ((1.0, 0.0), (0.7, 0.0), (1.5, 0.0), (0.0, 0.0), (1.0, -0.5), (1.0, 1.0))
    every = [
        Case(
            f"{n} and {m} people, {shape} scores, slope {slope:g}, intercept {intercept:g}",
            partial(_draw_scores, (n, m), parameters, (slope, intercept)),
        )
        for (n, m), (shape, parameters), (slope, intercept) in product(
            ((30, 60), (60, 200), (100, 100), (200, 1000), (1000, 30), (500, 500)),
            _SCORES.items(), errors,
        )
    ]  # fmt: skip
    # Two of the six errors of each, in turn.
    return [case for at, case in enumerate(every) if at % 3 == at // 6 % 3]


def _draw_scores(
    sizes: Sequence[int],
    shape: tuple[float, float],
    error: tuple[float, float],
    only: Only,
    random: Generator,
    runs: int,
) -> dict[str, Hits]:
    slope, intercept = error
    table, _ = labelled(random, sizes, shape, runs, ((1.0, 0.0), error))
    of_slopes = np.array([[1.0, slope]])
    found = _hits(_OF_FITS, table, _three(_OF_FITS, of_slopes), only)
    if slope == 1:
        found |= _hits(_OF_MEANS, table, _three(_OF_MEANS, np.array([[0.0, intercept]])), only)
    return found


def _three(asked: Sequence[Ask], values: Floats) -> dict[str, Floats]:
    apart = values - values[:, :1]
    return dict(zip([one.title for one in asked], [values, apart, abs(apart).max()[None, None]],
                    strict=True))  # fmt: skip


# Two models -------------------------------------------------------------------------------------

_TWICE = (
    _ask("rate", quantity("selection_rate")),
    _ask("true positive rate", quantity("true_positive_rate")),
    _ask("PPV", quantity("positive_predictive_value")),
    _ask("accuracy", quantity("accuracy")),
    _ask("difference", how("selection_rate", "difference"), TO_FIRST),
    _ask("ratio", how("selection_rate", "ratio"), TO_FIRST),
    _ask("odds ratio", how("selection_rate", "odds_ratio"), TO_FIRST),
    _ask("average odds difference", measure("average_odds_difference"), TO_FIRST),
    _ask("gap", measure("demographic_parity_difference")),
    _ask("smallest ratio", measure("demographic_parity_ratio")),
    _ask("equalized odds difference", measure("equalized_odds_difference")),
    _ask("ε", measure("differential_fairness")),
)


def models() -> list[Case]:
    """Two models that judge the same people: few of them, rare decisions, opposite decisions."""
    random, found = np.random.default_rng(11), []
    kinds = ("equal", "one changes", "all change", "opposite")
    for kind, alike, groups in product(kinds, (-0.4, 0.0, 0.5, 0.95), (2, 2, 3, 5)):
        sizes = np.rint(np.exp(random.uniform(np.log(25), np.log(800), groups))).astype(int)
        level = float(random.choice([0.03, 0.1, 0.4, 0.7, 0.93]))
        first = np.clip(level * np.exp(random.normal(0, 0.3, groups)), 0.01, 0.97)
        second = first.copy()
        if kind == "one changes":
            second[-1] = 0.6 * second[-1]
        elif kind == "all change":
            second *= 0.8
        elif kind == "opposite":
            second = np.clip(1 - first, 0.02, 0.95)
        setting = f"{kind}, {sizes} people at {first.round(2)}, correlation {alike}"
        found.append(Case(setting, partial(_draw_models, sizes, first, second, alike)))
    return found


def _joint(first: Floats, second: Floats, alike: float) -> Floats:
    """The chances of neither, the second, the first and both, [4, G], as correlated as may be."""
    both = first * second + alike * np.sqrt(first * (1 - first) * second * (1 - second))
    both = np.clip(both, np.maximum(first + second - 1, 0), np.minimum(first, second))
    return np.maximum(np.stack([1 - first - second + both, second - both, first - both, both]), 0)


def _draw_models(
    sizes: Ints,
    first: Floats,
    second: Floats,
    alike: float,
    only: Only,
    random: Generator,
    runs: int,
) -> dict[str, Hits]:
    # Half of the people have a positive label; of the others half as many are selected.
    of_labels = np.stack([_joint(first / 2, second / 2, alike), _joint(first, second, alike)]) / 2
    chances = of_labels.reshape(8, -1)
    chances /= chances.sum(axis=0)
    drawn = np.stack(
        [random.multinomial(n, chances[:, g], runs) for g, n in enumerate(sizes.tolist())], axis=-1
    )
    sides = two_tables(drawn.reshape(runs, 2, 2, 2, -1))
    truth = two_tables(np.rint(chances * _MANY).astype(np.int64).reshape(1, 2, 2, 2, -1))
    found = {}
    for title, metric, terms in _TWICE:
        if title not in only:
            continue
        true = evaluate_against(metric, truth[0], terms, truth[1]).value
        evaluation = evaluate_against(metric, sides[0], terms, sides[1])
        ends = find_intervals(evaluation)
        found |= _of_values(title, ends.low, ends.high, true, evaluation.judged)
    return found


# Areas of two models ----------------------------------------------------------------------------

_VALUES = 40
_AREAS = (
    _ask("AUC", quantity("auc")),
    _ask("difference of AUC", how("auc", "difference"), TO_FIRST),
    _ask("gap of AUC", how("auc", "gap")),
)


def areas() -> list[Case]:
    """Areas under the curve of two scores of the same people, whose scores are correlated."""
    return [
        Case(f"{n} with each label, areas by {a} and {b}, correlation {alike}",
             partial(_draw_areas, n, (a, b), alike))
        for n, (a, b), alike in product(
            (30, 200), ((1.0, 1.0), (1.0, 1.5), (2.5, 2.5)), (0.0, 0.5, 0.9)
        )
    ]  # fmt: skip


def scored_twice(
    random: Generator, people: int, moved: tuple[float, float], alike: float, runs: int
) -> Ints:
    """Scores of two models in bins, [runs, 2 models, 2 labels, 2 groups, people]."""
    shape = (runs, 2, 2, people)
    common, own = random.normal(size=shape), random.normal(size=(2, *shape))
    labels = np.arange(2)[:, None, None]
    normal = np.sqrt(alike) * common + np.sqrt(1 - alike) * own
    normal = normal + np.asarray(moved)[:, None, None, None, None] * labels
    cut = np.clip(np.floor((normal + 3) * _VALUES / 8.5), 0, _VALUES - 1)
    return np.moveaxis(cut.astype(np.int64), 0, 1)


def _draw_areas(
    people: int, moved: tuple[float, float], alike: float, only: Only, random: Generator, runs: int
) -> dict[str, Hits]:
    bins = scored_twice(random, people, moved, alike, runs)
    tables = [_ranked(bins[:, model]) for model in (0, 1)]
    large = scored_twice(np.random.default_rng(1), 200_000, moved, 0.0, 1)
    truth = [_ranked(large[:, model]) for model in (0, 1)]
    found = {}
    for title, metric, terms in _AREAS:
        if title not in only:
            continue
        true = evaluate_against(metric, truth[0], terms, truth[1]).value
        true = true if title == "AUC" else np.zeros_like(true)  # both groups have equal scores
        evaluation = evaluate_against(metric, tables[0], terms, tables[1])
        ends = find_intervals(evaluation)
        found |= _of_values(title, ends.low, ends.high, true, evaluation.judged)
    return found


def _ranked(bins: Ints) -> GroupTable:
    """The table of scores in bins, [runs, labels, groups, people]."""
    runs, labels, groups, people = bins.shape
    place = np.arange(runs * labels * groups).reshape(runs, labels, groups, 1) * _VALUES + bins
    counts = np.bincount(place.ravel(), minlength=runs * labels * groups * _VALUES)
    counts = counts.reshape(runs, labels, groups, _VALUES)
    padded = np.pad(counts, ((0, 0), (0, 1), (0, 0), (0, 0)))
    values, nothing = np.arange(_VALUES) / _VALUES, np.zeros((runs, groups))
    histogram = Histogram(
        by=("group",), given=("run",), groups=names("group", groups), strata=names("run", runs),
        known=np.ones(groups, dtype=np.bool_), people=padded, everybody=padded.sum(axis=(0, 1, 2)),
        bins=Bins(np.arange(_VALUES), values, values), low=nothing, high=nothing, moments=None,
    )  # fmt: skip
    joint = np.full((runs, labels, 1, groups), people, dtype=np.int64)
    return table_of(joint, None, histogram)


DESIGNS: Mapping[str, Callable[[], list[Case]]] = {
    "clusters": clusters,
    "models": models,
    "slopes": slopes,
    "weights": weights,
    "strata": strata,
    "areas": areas,
}

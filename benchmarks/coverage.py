"""Show by simulation whether intervals cover, gates cry wolf, and disparities are found.

nice -n 15 python coverage.py
python coverage.py --runs 0.1 --only maxima

Tables are drawn from known rates, fairaudit evaluates and judges them, and Markdown says how often
it was right. Equal seeds and runs, equal tables.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import alarms
import averages
import calibrated
import designs
import maxima
import numpy as np
import power
import singles
from numpy.random import Generator
from singles import Study

from fairaudit.metrics.differential_fairness import credible_ends

BAR = maxima.BAR
ENOUGH = 5
"""The expected counts on either side from which on an approximation should hold."""


def main() -> None:
    """Print the tables that are asked for."""
    asked = _arguments()
    print(f"seed {asked.seed}, {asked.runs:g} times the usual repetitions")
    for at, (name, part) in enumerate(PARTS.items()):
        if asked.only and name not in asked.only:
            continue
        started = time.process_time()
        print("", *part(np.random.default_rng([asked.seed, at]), asked.runs), sep="\n", flush=True)
        print("", f"({name}: {time.process_time() - started:.0f} s)", sep="\n", flush=True)


def _singles(random: Generator, scale: float) -> Iterator[str]:
    runs = round(4000 * scale)
    studies = [
        singles.wilson(),
        singles.one_rate_at_worst(),
        *singles.enumerated(),
        *singles.pairs(random, runs),
        *singles.composites(random, runs),
        *averages.in_strata(random, max(runs // 4, 10)),
        *averages.in_sparse_strata(random, max(runs // 16, 10)),
        *averages.numbers(random, runs),
        *averages.ranks(random, runs),
    ]
    yield f"### One rate, one pair, one formula: {runs:,} repetitions; every table exactly"
    yield ""
    yield from _studies(studies)
    yield ""
    yield from _below(studies, least=ENOUGH)
    yield from (
        "",
        "### F1 and the ratio of error types: the share of hits, or the delta method",
        "",
    )
    yield from _studies(list(singles.formulas(random, runs)))


def _designs(random: Generator, scale: float) -> Iterator[str]:
    runs = round(1000 * scale)
    yield f"### Outcome-dependent weights, unequal clusters, strata: {runs:,} repetitions"
    yield ""
    parts = (designs.weights, designs.clusters, designs.strata)
    studies = [study for part in parts for study in part(random, runs)]
    yield from _studies(studies)
    yield ""
    yield from _below(studies)


def _models(random: Generator, scale: float) -> Iterator[str]:
    runs = round(2000 * scale)
    yield f"### Two models that judge the same people: {runs:,} repetitions"
    yield ""
    studies = [*designs.models(random, runs)]
    yield from _studies(studies)
    yield ""
    yield from _below(studies)


def _maxima(random: Generator, scale: float) -> Iterator[str]:
    runs = {False: round(600 * scale), True: max(round(100 * scale), 10)}
    studies = [maxima.maxima(random, runs[one.slow], one) for one in maxima.MAXIMA]
    yield (
        f"### Maxima over pairs: {runs[False]:,} repetitions, where Koopman's are asked "
        f"{runs[True]:,}; five times as many, all of them new, where those are under .945"
    )
    yield ""
    yield from _studies(studies)
    yield ""
    yield from _below(studies)


def _rivals(random: Generator, scale: float) -> Iterator[str]:
    runs = round(1000 * scale)
    yield f"### The gap by other intervals: coverage and width, {runs:,} repetitions"
    yield ""
    yield _joined([
        "setting", "ours", "Bonferroni", "the observed pair alone", "bootstrap",
        "bootstrap above 0", "width", "Bonferroni's", "bootstrap's",
    ])  # fmt: skip
    yield "|---|--:|--:|--:|--:|--:|--:|--:|--:|"
    for one in maxima.rivals(random, runs):
        shares = (one.ours, one.bonferroni, one.pointwise, one.bootstrap, one.missing_0)
        widths = (one.width, one.bonferroni_width, one.bootstrap_width)
        yield _joined([one.setting, *map(_three, shares), *(f"{width:.4f}" for width in widths)])


def _alarms(random: Generator, scale: float) -> Iterator[str]:
    runs = round(2000 * scale)
    for tiny in (False, True):
        yield from _alarms_of([alarms.alarms(random, tiny=tiny) for _ in range(runs)], tiny=tiny)


def _designed(random: Generator, scale: float) -> Iterator[str]:
    yield "### Nothing is wrong: rare rates in large families, slopes, models of the same people"
    yield ""
    yield _joined(["design", "data sets", "the spec fails", "± 2 standard errors"])
    yield "|---|--:|--:|--:|"
    for one in alarms.designs(random, round(500 * scale)):
        error = 2 * np.sqrt(one.failed * (1 - one.failed) / one.runs)
        yield _joined([one.name, f"{one.runs:,}", _three(one.failed), _three(float(error))])


def _alarms_of(found: Sequence[alarms.Alarms], *, tiny: bool) -> Iterator[str]:
    groups = ", a third of the intersections of 1 to 8 people" if tiny else ""
    yield f"### Nothing is wrong: {len(found):,} specs of {found[0].checks} gates{groups}"
    yield ""
    heads = ("smallest intersection", "specs", "a gate fails, `significant`", "± 2 standard errors")
    others = ("a bare limit is crossed", "inconclusive", "warned within the limit")
    yield _joined([*heads, *others])
    yield "|---|--:|--:|--:|--:|--:|--:|"
    edges = (0, 40, 150, 2001)
    for low, high in (*pairwise(edges), (edges[0], edges[-1])):
        some = [one for one in found if low <= one.smallest < high]
        if not some:
            continue
        failed = _share([one.failed for one in some])
        error = 2 * np.sqrt(failed * (1 - failed) / len(some))
        rest = (
            [one.crossed for one in some],
            [one.inconclusive for one in some],
            [one.warned_within for one in some],
        )
        shares = (failed, error, *map(_share, rest))
        yield _joined([f"{low} to {high - 1:,} people", f"{len(some):,}", *map(_three, shares)])
    yield from (
        "",
        _joined(["which gate fails", "specs", "its bare limit is crossed"]),
        "|---|--:|--:|",
    )
    for metric in alarms.LIMITS:
        each = [
            [any(name.startswith(metric) for name in names) for names in kind]
            for kind in ([one.failed for one in found], [one.crossed for one in found])
        ]
        yield _joined([metric, *(_three(float(np.mean(one))) for one in each)])


def _share(some: Sequence[Sequence[str]]) -> float:
    return float(np.mean([bool(one) for one in some]))


def _power(random: Generator, scale: float) -> Iterator[str]:
    runs = round(1000 * scale)
    yield f"### Something is wrong: how often a `significant` gate fails, {runs:,} repetitions"
    yield ""
    yield _joined(["gate", "setting", "found", "closed form", "what that is"])
    yield "|---|---|--:|--:|---|"
    for one in power.powers(random, runs):
        yield _joined(
            [one.gate, one.setting, _three(one.found), _three(one.expected), one.reference]
        )


def _calibrated(random: Generator, scale: float) -> Iterator[str]:
    runs = round(1000 * scale)
    yield f"### Calibration: how often scores are refuted at .05, {runs:,} repetitions"
    yield ""
    heads = [name for error in calibrated.ERRORS for name in (f"{error}: refuted", "covered")]
    yield _joined(["metric", "setting", *heads])
    yield f"|---|---|{'--:|' * len(heads)}"
    found: dict[tuple[str, str], list[float]] = {}
    for one in calibrated.refuted(random, runs):
        found.setdefault((one.metric, one.setting), []).extend([one.refuted, one.covered])
    for (metric, setting), shares in sorted(found.items()):
        texts = ("" if np.isnan(share) else _three(share) for share in shares)
        missing = [""] * (len(heads) - len(shares))
        yield _joined([metric, setting, *texts, *missing])


def _credible(random: Generator, scale: float) -> Iterator[str]:
    """Coverage of the credible region of ε: of its posterior, and of truths from the prior."""
    draws = max(round(20_000 * scale), 1000)
    yield f"### The credible region of ε, prior ½ an outcome: {draws:,} draws a setting"
    yield ""
    yield _joined(["outcomes", "groups", "people a group", "asked", "of its posterior, lowest of 5",
                   "of truths from the prior"])  # fmt: skip
    yield "|--:|--:|--:|--:|--:|--:|"
    for outcomes in (2, 3, 5):
        for groups in (2, 4, 10):
            for people in (10, 1000):
                for alpha in (0.05, 0.2):
                    setting = (outcomes, groups, people, alpha)
                    found = _held(random, draws, *setting)
                    asked = (str(outcomes), str(groups), f"{people:,}", f"{1 - alpha:g}")
                    yield _joined([*asked, *map(_three, found)])


def _held(
    random: Generator, draws: int, outcomes: int, groups: int, people: int, alpha: float
) -> tuple[float, float]:
    """How much of five posteriors their regions hold at least, and of how many truths."""
    truths = random.dirichlet(np.full(outcomes, 0.5), (draws, groups))
    counts = random.multinomial(people, truths).astype(np.float64)
    low, high = credible_ends(
        counts.swapaxes(1, 2), 0.5, np.full(draws, groups, dtype=np.int64), alpha
    )
    ends = [side.swapaxes(1, 2) for side in (low, high)]
    of_truths = ((truths >= ends[0]) & (truths <= ends[1])).all(axis=(1, 2)).mean()
    held = []
    for at in range(5):
        drawn = np.stack([random.dirichlet(one + 0.5, draws) for one in counts[at]], axis=1)
        held.append(((drawn >= ends[0][at]) & (drawn <= ends[1][at])).all(axis=(1, 2)).mean())
    return float(min(held)), float(of_truths)


def _studies(studies: Sequence[Study]) -> Iterator[str]:
    """A line for each interval."""
    yield _joined(["interval of", "by", "settings", "mean", "lowest", "there",
                   f"mean from {ENOUGH} expected", "lowest", "there", f"settings under {BAR}",
                   "no interval, at most"])  # fmt: skip
    yield "|---|---|--:|--:|--:|---|--:|--:|---|--:|--:|"
    for one in studies:
        enough = [point for point in one.points if point.few >= ENOUGH]
        lowest, best = (min(some, key=lambda point: point.covered) for some in (one.points, enough))
        means = [np.mean([point.covered for point in some]) for some in (one.points, enough)]
        under = sum(point.covered < BAR for point in one.points)
        yield _joined([
            one.title, one.method, str(len(one.points)), _three(float(means[0])),
            _three(lowest.covered), lowest.setting, _three(float(means[1])), _three(best.covered),
            best.setting, str(under), _three(max(point.without for point in one.points)),
        ])  # fmt: skip


def _below(studies: Sequence[Study], least: float = 0.0) -> Iterator[str]:
    """Every setting under the bar, from this expected count on."""
    words = f" from {least:g} expected" if least else ""
    yield f"Every setting under {BAR}{words}, the worst first:"
    yield ""
    for study in studies:
        under = sorted(
            (one for one in study.points if one.covered < BAR and one.few >= least),
            key=lambda one: one.covered,
        )
        listed = "; ".join(f"{one.setting} ({_three(one.covered)})" for one in under)
        if listed:
            yield f"- {study.title}: {listed}"


def _joined(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _three(share: float) -> str:
    return f"{share:.3f}"


PARTS: dict[str, Callable[[Generator, float], Iterator[str]]] = {
    "singles": _singles,
    "designs": _designs,
    "models": _models,
    "maxima": _maxima,
    "rivals": _rivals,
    "alarms": _alarms,
    "designed": _designed,
    "power": _power,
    "calibrated": _calibrated,
    "credible": _credible,
}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Intervals, false alarms and power by simulation.")
    parser.add_argument("--seed", type=int, default=2024)
    parser.add_argument(
        "--runs", type=float, default=1.0, help="0.1 for a tenth of the repetitions"
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, help="these tables alone")
    asked = parser.parse_args()
    if asked.runs <= 0 or asked.seed < 0:
        parser.error("--runs is above 0, --seed 0 or more")
    return asked


if __name__ == "__main__":
    main()

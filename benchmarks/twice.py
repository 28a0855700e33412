"""Coverage in two steps: many intervals a few times, then the lowest of them with new seeds.

nice -n 10 python twice.py clusters weights
python twice.py --first 100 --second 500 strata

The lowest of many estimates is too low by chance. So the lowest twentieth of the first step is
drawn again from other seeds, and only the second step counts: the estimate of each of its
intervals is not selected. Designs: `nasty.py`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence

import nasty
import numpy as np
from maxima import BAR
from nasty import Case, Everything, Hits, Only

_PART = 0.05
"""The part of the intervals that is drawn again."""
_CHUNK = 500
"""Samples that are drawn at a time."""
_MOST = 3
"""How many times as many samples are drawn if few of them have an interval."""
_FEW = 30
"""Intervals that fewer samples of the first step have are not judged."""


def main() -> None:
    """Print a line for each kind of interval, and the lowest ones of the second step."""
    asked = _arguments()
    print(f"seed {asked.seed}, {asked.first:,} samples, then {asked.second:,}", flush=True)
    for name in asked.designs:
        started = time.process_time()
        cases = nasty.DESIGNS[name]()
        print("", f"### {name}", "", *_twice(cases, asked), sep="\n", flush=True)
        print("", f"({name}: {time.process_time() - started:.0f} s)", flush=True)


def _twice(cases: Sequence[Case], asked: argparse.Namespace) -> Iterator[str]:
    first = {
        (at, title): hits
        for at, case in enumerate(cases)
        for title, hits in _draw(case, [asked.seed, 0, at], asked.first, None).items()
    }
    judged = {key: hits for key, hits in first.items() if hits.there >= _FEW}
    ranked = sorted(judged, key=lambda key: judged[key].covered)
    chosen = {*ranked[: int(np.ceil(_PART * len(ranked)))]}
    second: dict[tuple[int, str], Hits] = {}
    for at in sorted({at for at, _ in chosen}):
        titles = {title for one, title in chosen if one == at}
        again = _draw(cases[at], [asked.seed, 1, at], asked.second, titles)
        second |= {(at, title): hits for title, hits in again.items() if title in titles}
    yield "| interval | designs | intervals | lowest, first | repeated | lowest | ± | under .93 |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|"
    kinds = dict.fromkeys(title.split(",")[0] for _, title in judged)
    for kind in ("all", *kinds):
        mine = [
            {key: hits for key, hits in some.items() if kind in {"all", key[1].split(",")[0]}}
            for some in (judged, second)
        ]
        yield _row(kind, *mine)
    yield ""
    for at, title in sorted(second, key=lambda key: second[key].covered)[: asked.show]:
        hits = second[at, title]
        yield (
            f"- {cases[at].setting}: {title} {hits.covered:.3f} ± {hits.error:.3f} "
            f"of {hits.there:,} (first {first[at, title].covered:.3f})"
        )


def _row(
    kind: str, judged: Mapping[tuple[int, str], Hits], second: Mapping[tuple[int, str], Hits]
) -> str:
    lowest = min(hits.covered for hits in judged.values())
    cells = [kind, f"{len({at for at, _ in judged}):,}", f"{len(judged):,}", f"{lowest:.3f}"]
    cells.append(f"{len(second):,}")
    if second:
        worst = min(second.values(), key=lambda hits: hits.covered)
        under = sum(hits.covered < BAR for hits in second.values())
        cells += [f"{worst.covered:.3f}", f"{worst.error:.3f}", str(under)]
    else:
        cells += ["", "", ""]
    return f"| {' | '.join(cells)} |"


def _draw(case: Case, seed: Sequence[int], wanted: int, titles: set[str] | None) -> dict[str, Hits]:
    """That many samples; more if these intervals are rarely there."""
    random, found, drawn = np.random.default_rng(seed), dict[str, Hits](), 0
    only: Only = Everything() if titles is None else {title.split(",")[0] for title in titles}
    while drawn < wanted or (
        titles is not None
        and drawn < _MOST * wanted
        and min((found[title].there for title in titles if title in found), default=0) < wanted
    ):
        runs = min(_CHUNK, wanted)
        for title, hits in case.draw(only, random, runs).items():
            found[title] = found.get(title, Hits(0, 0)) + hits
        drawn += runs
    return found


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Coverage in two steps.")
    parser.add_argument("designs", nargs="+", choices=nasty.DESIGNS)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--first", type=int, default=300, help="samples of every design")
    parser.add_argument("--second", type=int, default=2000, help="samples of the lowest twentieth")
    parser.add_argument("--show", type=int, default=8, help="intervals to list")
    return parser.parse_args()


if __name__ == "__main__":
    main()

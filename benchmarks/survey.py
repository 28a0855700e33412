"""Draw the survey's Figures 2 and 3 again, and compare its statements with the curves.

python survey.py
python survey.py --rows 1e4 --repetitions 100 --exact --svg figures

Data sets with a known level of discrimination are drawn from a seed, fairaudit counts and measures
each of them, and the tables show the means. Žliobaitė, Measuring discrimination in algorithmic
decision making, Data Mining and Knowledge Discovery 31 (2017), §4.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from curves import (
    BESIDE,
    DRAWN,
    ELIFT,
    IMPACT_RATIO,
    LEVELS,
    MEAN_DIFFERENCE,
    MUTUAL_INFORMATION,
    NORMALIZED_DIFFERENCE,
    ODDS_RATIO,
    SHARES,
    Curves,
    Means,
    Measure,
    measure_all,
    place,
)
from drawing import svg
from statements import statements

PANELS = ((0.5, 0.5), (0.9, 0.9), (0.9, 0.1), (0.1, 0.9), (0.1, 0.1))
"""The panel in the middle and those in the corners."""
COLUMNS = {
    MEAN_DIFFERENCE: 1,
    NORMALIZED_DIFFERENCE: 2,
    IMPACT_RATIO: 3,
    ELIFT: 4,
    ODDS_RATIO: 5,
    MUTUAL_INFORMATION: 6,
}
"""Of the files that the survey's author published."""


def main() -> None:
    """Print the tables of the figures and the verdict on each statement."""
    asked = _arguments()
    means = measure_all(asked.rows, asked.repetitions, asked.seed, exact=asked.exact)
    chosen = [(i, j) for i in SHARES for j in SHARES] if asked.every_panel else PANELS
    print(
        f"{asked.rows:,} people, {asked.repetitions} repetitions, seed {asked.seed}, "
        f"protected people {'in exact shares' if asked.exact else 'by chance'}"
    )
    for number, one in DRAWN.items():
        title = f"### Figure {number}: {one.title}"
        print("", title, "", *_table(one.measures, means, chosen), sep="\n")
    title = "### In no figure: AUC, correlation, and the ratios of protected to unprotected"
    print("", title, "", *_table(BESIDE, means, chosen), sep="\n")
    print("", "### What the survey says", "", *_verdicts(means), sep="\n")
    if asked.published:
        print("", "### Against the published numbers", "", *_held(means, asked.published), sep="\n")
    if asked.svg:
        asked.svg.mkdir(parents=True, exist_ok=True)
        for number, one in DRAWN.items():
            (asked.svg / f"figure-{number}.svg").write_text(svg(one, means), encoding="utf-8")


def _table(
    measures: Sequence[Measure], means: Means, chosen: Sequence[tuple[float, float]]
) -> Iterator[str]:
    """A line for each panel and measure, a column for every other level."""
    shown = range(0, len(LEVELS), 2)
    yield _joined(["p(s1)", "p(y+)", "measure", *(f"{LEVELS[at]:g}" for at in shown)])
    yield f"|--:|--:|---|{'--:|' * len(shown)}"
    for i, j in chosen:
        for one in measures:
            curve = means[one][SHARES.index(i), SHARES.index(j)]
            yield _joined([f"{i:.0%}", f"{j:.0%}", one.title, *(_brief(curve[at]) for at in shown)])


def _verdicts(means: Means) -> Iterator[str]:
    yield _joined(["the survey", "here", "agree"])
    yield "|---|---|---|"
    for one in statements(means):
        yield _joined([one.says, one.found, one.agrees])


def _held(means: Means, folder: Path) -> Iterator[str]:
    """How far the means are from the published ones, as far as the figures reach."""
    yield _joined(["measure", "numbers", "mean distance", "largest", "where"])
    yield "|---|--:|--:|--:|---|"
    for one, column in COLUMNS.items():
        theirs = _published(folder, column)
        apart = np.where(theirs <= 3, np.abs(means[one] - theirs), 0)
        at = tuple(int(i) for i in np.unravel_index(int(apart.argmax()), apart.shape))
        number = int((theirs <= 3).sum())
        figures = [f"{apart.sum() / number:.4f}", f"{apart.max():.3f}"]
        yield _joined([one.title, str(number), *figures, place(at)])


def _published(folder: Path, column: int) -> Curves:
    """One column of the published files, a file for each panel."""
    files = [
        [folder / f"out_pF{round(100 * i)}_pp{round(100 * j)}.dat" for j in SHARES] for i in SHARES
    ]
    return np.array([[np.loadtxt(file, skiprows=1)[:, column] for file in row] for row in files])


def _joined(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _brief(value: float) -> str:
    """Three decimals, fewer for a large number."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞"
    return f"{value + 0.0:.3f}" if abs(value) < 10 else f"{value:.3g}"


def _whole(text: str) -> int:
    """A number of people; 1e4 is one."""
    number = float(text)
    if number != int(number) or number < 100:
        raise argparse.ArgumentTypeError("expected a whole number from 100")
    return int(number)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Draw the survey's Figures 2 and 3 again.")
    parser.add_argument("--rows", type=_whole, default=10_000, help="people in a data set")
    parser.add_argument("--repetitions", type=int, default=20, help="data sets for each point")
    parser.add_argument("--seed", type=int, default=2017)
    parser.add_argument("--exact", action="store_true", help="exact shares of protected people")
    parser.add_argument("--every-panel", action="store_true", help="print all 25, not 5")
    parser.add_argument("--svg", type=Path, metavar="FOLDER", help="write the figures there")
    words = "compare the means with the author's published ones"
    parser.add_argument("--published", type=Path, metavar="FOLDER", help=words)
    asked = parser.parse_args()
    if asked.repetitions < 1 or asked.seed < 0:
        parser.error("--repetitions is 1 or more, --seed 0 or more")
    if asked.published and not asked.published.is_dir():
        parser.error(f"{asked.published} is not a folder")
    return asked


if __name__ == "__main__":
    main()

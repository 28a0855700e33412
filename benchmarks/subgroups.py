"""The cost of a search for subgroups in an audit: whole processes, in turn.

Ten columns of ten levels, nine of texts and one of numbers cut at nine edges, to three conditions:
every subgroup is counted, tested and corrected for. One intersection of three columns is planted,
and has to come out on top before anything is timed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np
import polars as pl
from measure import Command, Pairs, in_turn, middle_seconds, peak_mib

TEXTS = [f"column{at}" for at in range(9)]
PLANTED = {"column0": "level1", "column1": "level2", "column2": "level3"}


def people(rows: int, seed: int) -> pl.DataFrame:
    """Everybody is selected at 30 %, those of the planted intersection at 50 %."""
    random = np.random.default_rng(seed)
    levels = np.array([f"level{at}" for at in range(10)])
    columns = {name: levels[random.integers(0, 10, rows)] for name in TEXTS}
    planted = np.all([columns[name] == level for name, level in PLANTED.items()], axis=0)
    selected = random.random(rows) < np.where(planted, 0.5, 0.3)
    truths = np.array(["no", "yes"])
    return pl.DataFrame(
        {
            **columns,
            "number": random.uniform(0, 100, rows),
            "group": np.array(["a", "b"])[random.integers(0, 2, rows)],
            "label": truths[random.integers(0, 2, rows)],
            "decision": truths[selected.astype(np.int64)],
        }
    )


def write(folder: Path, rows: int, seed: int) -> None:
    """The people as a file of each kind."""
    frame = people(rows, seed)
    frame.write_parquet(folder / "people.parquet")
    frame.write_csv(folder / "people.csv")


def spec(data: Path, rates: list[str]) -> str:
    """The spec of an audit; with rates it looks for subgroups, too."""
    columns = {
        "protected": ["group"],
        "label": {"column": "label", "positive": "yes"},
        "decision": {"column": "decision", "positive": "yes"},
    }
    asked = {"version": 1, "data": str(data), "columns": columns, "metrics": ["selection_rate"]}
    if rates:
        bins = [10 * at for at in range(1, 10)]
        columns["features"] = {**{name: {} for name in TEXTS}, "number": {"bins": bins}}
        asked["subgroups"] = {"over": [*TEXTS, "number"], "rates": rates, "depth": 3}
    # JSON is YAML.
    return json.dumps(asked)


def command(path: Path) -> Command:
    """The audit of a spec, its report into a file."""
    words = (sys.executable, "-m", "fairaudit", "run", str(path), "-q", "-o", f"{path}.json")
    return Command(words)


def check(path: Path) -> int:
    """How many subgroups were looked at; raises where the planted one is not the first."""
    subprocess.run(command(path).words, check=True, stdout=subprocess.DEVNULL)
    report = json.loads(Path(f"{path}.json").read_text("utf-8"))
    search = report["subgroups"]
    first = search["rates"][0]["listed"][0]
    if first["group"] != PLANTED:
        raise SystemExit(f"the planted subgroup is not on top: {first['sentence']}")
    return int(search["family"])


def rows_of(options: argparse.Namespace, folder: Path) -> Iterator[str]:
    """The rows of the table of results, one for each kind of file and number of rates."""
    words = ["--rows", str(options.rows), "--seed", str(options.seed), "--write", str(folder)]
    # A separate process: the parent stays smaller than what it measures.
    subprocess.run([sys.executable, __file__, *words], check=True)
    for kind in ("parquet", "csv"):
        data = folder / f"people.{kind}"
        plain = folder / f"{kind}.plain.yaml"
        plain.write_text(spec(data, []), "utf-8")
        for rates in (["selection_rate"], ["selection_rate", "false_positive_rate"]):
            asked = folder / f"{kind}.{len(rates)}.yaml"
            asked.write_text(spec(data, rates), "utf-8")
            family = check(asked)
            found = in_turn(command(asked), command(plain), options.pairs, folder)
            yield told(kind, len(rates), family, found)


def told(kind: str, rates: int, family: int, found: Pairs) -> str:
    """A row of the table of results."""
    seconds = [f"{middle_seconds(runs):.3g}" for runs in (found.ours, found.theirs)]
    peaks = [f"{peak_mib(runs):.0f}" for runs in (found.ours, found.theirs)]
    ratio = f"{median(found.ratios):.2f}"
    cells = [kind, str(rates), f"{family:,}", *seconds, ratio, *peaks]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Writes the people into a folder that is deleted afterwards, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=1_000_000)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", type=Path, help="only write the people into this folder")
    options = parser.parse_args()
    if options.write is not None:
        write(options.write, options.rows, options.seed)
        return
    folder = Path(tempfile.mkdtemp(prefix="subgroups-"))
    try:
        print("| file | rates | subgroups | s | plain s | ratio | MiB | plain MiB |")
        print("|---|--:|--:|--:|--:|--:|--:|--:|")
        for row in rows_of(options, folder):
            print(row, flush=True)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()

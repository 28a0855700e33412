"""The same people give the same report, to the byte, however their rows are stored and read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import long

ROWS = 6_000
SPEC: dict[str, Any] = {
    "version": 1,
    "columns": {
        "protected": {"race": {"reference": "a"}, "sex": {}, "age": {"bins": [30, 50]}},
        "label": {"column": "y", "positive": 1, "negative": 0},
        "prediction": {"column": "s", "positive": {"at_least": 0.5}},
        "strata": ["site"],
    },
    "missing": {"label": "aside", "prediction": "aside", "score": "aside"},
    "groups": {"min_size": 30},
    "metrics": [
        "selection_rate",
        {"metric": "demographic_parity_ratio", "by": "all", "fail": {"below": 0.8}},
        {"metric": "equalized_odds_difference", "fail": {"above": 0.1}},
        {"metric": "true_positive_rate", "given": "site", "fail": {"below": 0.6}},
        "differential_fairness",
    ],
    "simpson": {"rates": ["selection_rate"]},
}
WEIGHTED = {**SPEC, "columns": {**SPEC["columns"], "weight": "w"}}
SCORED = {**SPEC, "columns": {**SPEC["columns"], "score": "s"}}
FILTERED = {**SCORED, "filter": "w > 1 and site <> 'x'"}
HEAVY = {**SPEC, "columns": {**SPEC["columns"], "weight": "h"}}
NUMBERS = {
    **SPEC,
    "columns": {
        "protected": SPEC["columns"]["protected"],
        "label": SPEC["columns"]["label"],
        "models": {
            "one": {"prediction": {"column": "s", "positive": {"top": "20%"}}, "score": "s"},
            "two": {"prediction": {"column": "h", "number": True}, "score": "w"},
        },
        "numbers": {"hours": "h"},
        "strata": {"site": {}, "part": {"column": "w", "quantiles": 5}},
    },
}
SEARCHED = {
    **SPEC,
    "columns": {**SPEC["columns"], "features": {"part": {"column": "w", "quantiles": 4}}},
    "subgroups": {
        "over": ["race", "sex", "site", "part"],
        "rates": ["selection_rate", "accuracy"],
        "min_size": 50,
        "fail": {"above": 0.2},
    },
}
QUICK = {"weighted"}
SPECS = {
    "weighted": WEIGHTED,
    "heavy": HEAVY,
    "scored": SCORED,
    "filtered": FILTERED,
    "numbers": NUMBERS,
    "searched": SEARCHED,
}


def people() -> pl.DataFrame:
    """Rows with missing values, empty or null, and weights of two and of seventeen digits."""
    rng = np.random.default_rng(7)
    weights = np.where(rng.random(ROWS) < 0.9, rng.integers(1, 500, ROWS) / 100, rng.random(ROWS))
    frame = pl.DataFrame(
        {
            "race": rng.choice(["a", "b", "c c", 'd "d"', ""], ROWS),
            "sex": rng.choice(["m", "f"], ROWS),
            "age": rng.integers(18, 80, ROWS),
            "site": rng.choice(["x", "y", "z"], ROWS),
            "y": rng.integers(0, 2, ROWS),
            "s": rng.random(ROWS),
            "w": weights,
            "h": rng.random(ROWS) * 1e8,
        }
    )
    some = pl.Series(rng.random(ROWS) < 0.05)
    return frame.with_columns(
        y=pl.when(~some).then("y"),
        s=pl.when(~some.reverse()).then("s"),
        # Some of the empty ones are null: both mean that the race is not known.
        race=pl.when((pl.col("race") != "") | (pl.col("sex") == "m")).then("race"),
    )


_AS_ONE = """
import sys, fairaudit
from fairaudit.report import json
for file in sys.argv[2:]:
    sys.stdout.write(json.render(fairaudit.audit(sys.argv[1], file)) + "\\0")
"""
FILES = ("one.parquet", "shuffled.parquet", "fifty", "emptied.parquet", "one.csv", "shuffled.csv")


def reports(folder: Path, spec: str, files: Iterable[str], threads: int) -> list[bytes]:
    """The JSON reports of files, or of a folder as one, but for where their data lies."""
    done = subprocess.run(
        [sys.executable, "-c", _AS_ONE, f"{spec}.yaml", *files],
        capture_output=True,
        check=True,
        cwd=folder,
        env={**os.environ, "SOURCE_DATE_EPOCH": "0", "POLARS_MAX_THREADS": str(threads)},
    )
    return [_placeless(json.loads(text)) for text in done.stdout.split(b"\0")[:-1]]


def _placeless(report: Any) -> bytes:
    del report["provenance"]["files"], report["provenance"]["route"]
    report["provenance"].pop("notation", None)  # only CSV files have one
    return json.dumps(report).encode()


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same people in one file, in fifty, in another order, and as text."""
    folder = tmp_path_factory.mktemp("stored")
    frame = people()
    frame.write_parquet(folder / "one.parquet", row_group_size=1_000)
    shuffled = frame.sample(fraction=1, shuffle=True, seed=3)
    shuffled.write_parquet(folder / "shuffled.parquet", row_group_size=777, compression="snappy")
    frame.write_csv(folder / "one.csv")
    shuffled.write_csv(folder / "shuffled.csv", quote_style="always")
    emptied = frame.with_columns(pl.col("race").fill_null(""))
    emptied.write_parquet(folder / "emptied.parquet")
    (folder / "fifty").mkdir()
    for at in range(50):
        shuffled[at::50].write_parquet(folder / "fifty" / f"{at}.parquet")
    for name, spec in SPECS.items():
        (folder / f"{name}.yaml").write_text(json.dumps(spec))
    return folder


@pytest.mark.long
@pytest.mark.parametrize("name", [name if name in QUICK else long(name) for name in SPECS])
def test_reports_are_equal_to_the_byte(stored: Path, name: str) -> None:
    (first,) = reports(stored, name, ["one.parquet"], threads=1)
    assert len(first) > 10_000
    for file, text in zip(FILES, reports(stored, name, FILES, threads=2), strict=True):
        assert text == first, file


@pytest.mark.long
def test_a_report_tells_one_person_more(stored: Path) -> None:
    """What is compared can differ: one row less changes it."""
    people()[1:].write_parquet(stored / "less.parquet")
    less, whole = reports(stored, "scored", ["less.parquet", "one.parquet"], threads=1)
    assert less != whole

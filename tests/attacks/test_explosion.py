"""Attributes explode: what it would cost is known before it is paid, and what to change is told."""

from __future__ import annotations

import random
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import fairaudit
from fairaudit.base.errors import SpecError
from fairaudit.judge.simpson import scanning
from fairaudit.pipeline.tables import audit

QUICK = 60.0
"""Seconds of processor time; without a budget each doubled what was minutes already."""


def written(folder: Path, attributes: int, levels: int, more: str = "") -> Path:
    """Writes 3,000 rows by chance, and a spec of all their attributes."""
    chance = random.Random(0)
    names = [f"a{at}" for at in range(attributes)]
    rows = [
        ",".join(str(chance.randrange(levels)) for _ in names) + f",{chance.randrange(2)}"
        for _ in range(3_000)
    ]
    (folder / "data.csv").write_text("\n".join([",".join([*names, "y"]), *rows]) + "\n")
    path = folder / "spec.yaml"
    path.write_text(
        "data: data.csv\ncolumns:\n"
        f"  protected: [{', '.join(names)}]\n"
        "  decision: {column: y, positive: 1}\n"
        f"metrics: [selection_rate]\n{more}"
    )
    return path


def test_too_many_groups_are_refused_with_the_line_to_change(tmp_path: Path) -> None:
    started = time.process_time()
    with pytest.raises(SpecError) as caught:
        fairaudit.audit(written(tmp_path, 9, 50))
    told = str(caught.value)
    assert "spec.yaml:3:" in told
    assert "over 500,000 groups, in 511 combinations of 9 columns" in told
    assert "set `groups: {by: each}`" in told
    assert time.process_time() - started < QUICK


@pytest.mark.parametrize(
    ("groups", "strata", "classes", "largest"),
    [(3_000, 3_000, 2, "g"), (1_000, 1_500, 5, "s"), (300, 50, 80, "g"), (2, 1, 4_000, "label")],
)
def test_tables_of_mostly_empty_cells_are_refused(
    groups: int, strata: int, classes: int, largest: str
) -> None:
    """A file of 86 kB took 3.6 GB, and one of 177 kB more than 12 GB, for rows in few cells."""
    chance = np.random.default_rng(0)
    sizes = {"g": groups, "s": strata, "y": classes, "p": classes}
    rows = max(5_000, classes)
    people = pl.DataFrame(
        {name: [f"{name[:1]}{at % n}" for at in chance.permutation(rows).tolist()]
         for name, n in sizes.items()}
    ).with_columns(p=pl.col("y"))  # fmt: skip
    others = [f"y{at}" for at in range(1, classes)]
    outcome = {"positive": "y0", "negative": others}
    columns = {
        "protected": ["g"],
        "strata": ["s"],
        "label": {"column": "y", **outcome},
        "prediction": {"column": "p", **outcome},
    }
    spec = {"columns": columns, "metrics": [{"metric": "selection_rate", "given": "s"}]}
    started = time.process_time()
    with pytest.raises(SpecError, match="over 20,000,000 counts, and") as caught:
        fairaudit.audit(spec, people)
    levels = sizes.get(largest, classes)
    assert f"'{largest}' has {levels:,} levels: name fewer" in str(caught.value)
    assert time.process_time() - started < QUICK


@pytest.mark.parametrize(("metric", "is_refused"), [({"class": "macro"}, True), ({}, False)])
def test_a_table_for_each_of_many_classes_is_refused(
    metric: dict[str, str], is_refused: bool
) -> None:
    """600 classes took over 280 s: a table of all labels and classes for each of them."""
    names = [f"y{at}" for at in range(300)]
    people = pl.DataFrame({"y": names * 2, "p": names * 2, "g": ["a", "b"] * 300})
    outcome = {"positive": "y0", "negative": names[1:]}
    columns = {"label": {"column": "y", **outcome}, "prediction": {"column": "p", **outcome}}
    entry = {"metric": "true_positive_rate", **metric}
    spec = {"columns": {"protected": ["g"], **columns}, "metrics": [entry]}
    started = time.process_time()
    with pytest.raises(SpecError, match="over 20,000,000 counts") if is_refused else nullcontext():
        fairaudit.audit(spec, people)
    assert time.process_time() - started < QUICK


def test_too_many_attributes_are_refused_before_the_data_is_read(tmp_path: Path) -> None:
    spec = written(tmp_path, 40, 2)
    (tmp_path / "data.csv").unlink()
    with pytest.raises(
        SpecError, match="makes 1,099,511,627,775 combinations of 40 columns, and the maximum is 12"
    ):
        fairaudit.audit(spec)


@pytest.mark.long
@pytest.mark.parametrize(("attributes", "levels"), [(9, 50), (16, 3)])
def test_by_each_does_not_pay_for_all(tmp_path: Path, attributes: int, levels: int) -> None:
    more = "groups: {by: each}\nsimpson: {given: [a0]}\n"
    started = time.process_time()
    result = fairaudit.audit(written(tmp_path, attributes, levels, more))
    assert [len(row.by) for row in result.lattice] == [1] * attributes
    assert any(
        one.startswith("not every combination of the protected columns") for one in result.notices
    )
    assert time.process_time() - started < QUICK


def test_where_it_costs_little_every_subset_is_looked_at(tmp_path: Path) -> None:
    result = fairaudit.audit(written(tmp_path, 3, 4, "groups: {by: each}\n"))
    assert len(result.lattice) == 7
    assert not any(one.startswith("not every subset of the") for one in result.notices)


def test_the_narrow_lattice_is_that_part_of_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = written(tmp_path, 3, 4, "groups: {by: [each, [a0, a1]]}\n")
    whole = {row.by: row.entries for row in fairaudit.audit(spec).lattice}
    monkeypatch.setattr(audit, "MOST_UNASKED", 0)
    narrow = {row.by: row.entries for row in fairaudit.audit(spec).lattice}
    assert narrow.keys() == {("a0",), ("a1",), ("a2",), ("a0", "a1")}
    assert narrow == {by: whole[by] for by in narrow}


def test_a_scan_for_reversals_has_a_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "MOST_SUSPECTS", 3)
    result = fairaudit.audit(written(tmp_path, 3, 6))
    assert any("is not looked at: a scan tests 3 pairs" in one for one in result.notices)
    monkeypatch.setattr(scanning, "MOST_SUSPECTS", 5_000)
    monkeypatch.setattr(scanning, "MOST_STRATA", 20)
    result = fairaudit.audit(written(tmp_path, 3, 6))
    assert any("that may turn, in 20 strata together" in one for one in result.notices)

"""A site hides its small cells before its counts leave: what the file tells, and what may pass."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
from conftest import judge

import fairaudit
from fairaudit.base.errors import DataError, NothingToAudit, UsageError
from fairaudit.base.ledger import Ledger
from fairaudit.counting import counts_file
from fairaudit.counting.counts_file import hide_small_cells
from fairaudit.pipeline import stages as pipeline
from fairaudit.pipeline.audit_task import AuditTask

Row = tuple[str, str, str, str]

NAMES = ("sex", "place", "y", "d")
SPEC: dict[str, Any] = {
    "columns": {
        "protected": ["sex", "place"],
        "label": {"column": "y", "positive": "1", "negative": "0"},
        "decision": {"column": "d", "positive": "1", "negative": "0"},
    },
    "groups": {"min_size": 60},
    "metrics": [{"metric": "selection_rate", "by": ["sex"], "fail": {"below": 0.5}}],
}


def test_few_repeats_of_people_are_not_told(tmp_path: Path) -> None:
    people = [(f"{number}", "fm"[number % 2], "1", str(number % 3 % 2)) for number in range(400)]
    spec = {**SPEC, "repeats": "first", "columns": {**SPEC["columns"], "id": "id"}}
    spec["columns"]["protected"] = ["sex"]
    names = ("id", "sex", "y", "d")
    for repeats in (0, 3, 30):
        data = write_csv(tmp_path / "site.csv", [*people, *people[:repeats]], names)
        counts = counts_file.add([count_hidden(spec, data, 11)])
        assert counts.repeated == (repeats if repeats > 10 else 0)
        assert counts.read == 400 + counts.repeated
        assert counts.rows.sum() + sum(hidden.rows for hidden in counts.hidden) == 400


def write_csv(path: Path, rows: Iterable[Sequence[object]], names: Sequence[str] = NAMES) -> Path:
    path.write_text("\n".join(",".join(map(str, row)) for row in (names, *rows)) + "\n")
    return path


def count_hidden(spec: dict[str, Any], data: Path, below: int) -> Path:
    """The file that a site sends."""
    counts = hide_small_cells(pipeline.count(AuditTask.read(spec), data), below)
    path = data.with_suffix(".counts")
    path.write_bytes(counts_file.write(counts_file.hash_sources(counts, [data])))
    return path


def draw_site(draw: random.Random, size: int) -> list[Row]:
    """People of two sexes in five places, of whom places are unlike in size."""
    return [
        (
            draw.choice("fm"),
            "abcde"[min(int(draw.expovariate(1.0)), 4)],
            draw.choice("01"),
            draw.choice("011"),
        )
        for _ in range(size)
    ]


@pytest.mark.parametrize("seed", range(30))
def test_no_cell_below_the_threshold_is_told_or_bounded(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    below = draw.randint(2, 12)
    rows = draw_site(draw, draw.randint(40, 300))
    cells = Counter(rows)
    told = pq.read_table(count_hidden(SPEC, write_csv(tmp_path / "a.csv", rows), below)).to_pylist()
    left = {tuple(line[f"level:{name}"] for name in NAMES): line["people"] for line in told}
    assert all(cells[cell] == people >= below for cell, people in left.items())
    gone = {cell: people for cell, people in cells.items() if cell not in left}
    assert {cell for cell, people in cells.items() if people < below} <= {*gone}
    if not gone:
        return
    # With one in each other hidden cell, each may still have as many as the threshold.
    assert not left or sum(gone.values()) - (len(gone) - 1) >= below
    # What is hidden beside the small ones are the smallest, and no more than it takes.
    also = [people for people in gone.values() if people >= below]
    assert len({*also}) <= 1
    assert not also or max(also) < min(left.values(), default=max(also) + 1)
    small = [people for people in gone.values() if people < below]
    assert not also or sum(small) - (len(small) - 1) < below


def test_a_small_cell_alone_takes_another_with_it(tmp_path: Path) -> None:
    rows = [("f", "a", "1", "1")] * 20 + [("m", "a", "1", "1")] * 30 + [("m", "a", "1", "0")] * 3
    path = count_hidden(SPEC, write_csv(tmp_path / "a.csv", rows), 11)
    counts = counts_file.read(path)
    assert counts.people.tolist() == [30]
    assert [(cells.below, cells.rows, cells.people) for cells in counts.hidden] == [(11, 23, 23)]
    assert counts.read == 53


def test_what_stands_beside_the_cells_tells_nobody(tmp_path: Path) -> None:
    spec = {**SPEC, "columns": {**SPEC["columns"], "weight": "w"}}
    draw = random.Random(3)
    rows = [(*row, draw.random()) for row in draw_site(draw, 200)]
    rows[7] = (*rows[7][:4], 987.654321)
    rows[8] = (*rows[8][:4], 0.0001234)
    data = write_csv(tmp_path / "a.csv", rows, (*NAMES, "w"))
    path = count_hidden(spec, data, 11)
    counts = counts_file.read(path)
    (source,) = counts.sources
    assert (source.records, source.file.bytes, source.file.lines) == (None, None, None)
    assert source.sha256 != counts_file.hash_file(data)
    assert counts.weights is not None
    assert counts.weights.largest == 1
    assert not any(counts.weights.sums[1])
    assert not any(counts.weights.sums[3])
    assert counts.weights.errors == (1e-6, 1e-18)  # of any weights, and so of none of these
    content = str(pq.read_table(path).schema.metadata)
    assert "987.65" not in content
    # Not `1234` alone, which a hash has by chance.
    assert "0001234" not in content
    assert "1.234" not in content


def test_weights_of_what_is_left_are_those_of_its_rows(tmp_path: Path) -> None:
    spec = {**SPEC, "columns": {**SPEC["columns"], "weight": "w"}}
    draw = random.Random(4)
    rows = [(*row, draw.randint(1, 9)) for row in draw_site(draw, 200)]
    people = Counter(row[:4] for row in rows)
    path = count_hidden(spec, write_csv(tmp_path / "a.csv", rows, (*NAMES, "w")), 5)
    told = pq.read_table(path).to_pylist()
    assert 0 < len(told) < len(people)
    for line in told:
        cell = tuple(line[f"level:{name}"] for name in NAMES)
        weights = [row[4] for row in rows if row[:4] == cell]
        assert int(line["weight"]) == sum(weights) * 10**9
        assert int(line["square"]) == sum(weight**2 for weight in weights) * 10**12


def test_merged_counts_say_how_many_are_hidden(tmp_path: Path) -> None:
    draw = random.Random(5)
    sites = [draw_site(draw, 200), draw_site(draw, 300)]
    for number, (rows, below) in enumerate(zip(sites, (5, 11), strict=True)):
        count_hidden(SPEC, write_csv(tmp_path / f"{number}.csv", rows), below)
    found = fairaudit.audit(SPEC, str(tmp_path / "*.counts"))
    ledger = found.ledger
    assert isinstance(ledger, Ledger)
    lines = {line.reason: line.rows for line in ledger.dropped}
    assert {reason.rsplit("than ", 1)[1] for reason in lines} == {"5 people", "11 people"}
    assert ledger.read == 500
    assert ledger.counted + sum(lines.values()) == 500
    hidden = sum(lines.values())
    (told,) = [note for note in found.notices if "are hidden where they were counted" in note]
    assert told.startswith(f"{hidden:,} people are hidden where they were counted, in cells of")
    found.save(tmp_path / "report.md")
    page = (tmp_path / "report.md").read_text()
    assert "hidden where they were counted: cells of fewer than 11" in page


def expand(path: Path) -> list[Row]:
    """The rows that a file of counts tells."""
    return [
        (line["level:sex"], line["level:place"], line["level:y"], line["level:d"])
        for line in pq.read_table(path).to_pylist()
        for _ in range(line["people"])
    ]


@pytest.mark.long
def test_nothing_passes_that_hidden_people_could_make_fail(tmp_path: Path) -> None:
    passed = left_open = 0
    for seed in range(6):
        draw = random.Random(seed)
        sides = {
            "selection_rate": {"below": draw.uniform(0.5, 0.66)},
            "impact_ratio": {"below": draw.uniform(0.6, 0.95)},
            "demographic_parity_difference": {"above": draw.uniform(0.05, 0.35)},
            "equalized_odds_difference": {"above": draw.uniform(0.1, 0.5)},
        }
        metrics = [{"metric": name, "by": ["sex"], "fail": side} for name, side in sides.items()]
        spec = {**SPEC, "metrics": metrics}
        path = count_hidden(spec, write_csv(tmp_path / "a.csv", draw_site(draw, 900)), 8)
        statuses = {
            finding.check.id: finding.status for finding in fairaudit.audit(spec, path).findings
        }
        (cells,) = counts_file.read(path).hidden
        passing = {check for check, status in statuses.items() if status == "pass"}
        left_open += sum(status == "inconclusive" for status in statuses.values())
        passed += len(passing)
        for sexes in ("f", "m", "x", "fm"):
            for y, d in ("00", "01", "10", "11"):
                # Of "fm" the men have the other outcome.
                people = [
                    (sex, "a", y, d if sex != "m" or len(sexes) == 1 else "10"[int(d)])
                    for sex in (sexes * cells.people)[: cells.people]
                ]
                frame = pl.DataFrame([*expand(path), *people], schema=NAMES, orient="row")
                for finding in judge(spec, frame)[1]:
                    assert finding.check.id not in passing or finding.status == "pass"
    assert passed > 5
    assert left_open > 5


def test_without_a_minimum_nothing_passes_beside_hidden_people(tmp_path: Path) -> None:
    cells = {("f", "1"): 500, ("m", "1"): 600, ("m", "0"): 100, ("x", "0"): 12}
    rows = [(sex, "a", "1", d) for (sex, d), people in cells.items() for _ in range(people)]
    spec = {**SPEC, "groups": {}}
    data = write_csv(tmp_path / "a.csv", rows)
    (before,) = fairaudit.audit(spec, data).findings
    (after,) = fairaudit.audit(spec, count_hidden(spec, data, 20)).findings
    assert (before.status, after.status) == ("fail", "inconclusive")
    assert "people whom sites hid in their counts" in after.why


def test_reversals_and_strata_stay_open_beside_hidden_people(tmp_path: Path) -> None:
    draw = random.Random(6)
    columns = {**SPEC["columns"], "protected": ["sex"], "strata": ["place"]}
    given = {"metric": "selection_rate", "given": "place", "fail": {"below": 0.01}}
    spec = {
        **SPEC,
        "columns": columns,
        "metrics": [given],
        "simpson": {"rates": ["selection_rate"], "fail": "every_stratum"},
    }
    data = write_csv(tmp_path / "a.csv", draw_site(draw, 3000))
    path = count_hidden(spec, data, 60)
    assert {finding.status for finding in fairaudit.audit(spec, data).findings} == {"pass"}
    assert {finding.status for finding in fairaudit.audit(spec, path).findings} == {"inconclusive"}


def test_a_site_that_is_hidden_wholly_is_merged_and_passes_nothing(tmp_path: Path) -> None:
    few = [(sex, place, "1", d) for sex in "fm" for place in "abc" for d in "01"] * 4
    alone = count_hidden(SPEC, write_csv(tmp_path / "few.csv", few), 11)
    assert pq.read_table(alone).num_rows == 0
    with pytest.raises(NothingToAudit, match="48 hidden where they were counted"):
        fairaudit.audit(SPEC, alone)
    rows = [(sex, "a", y, "1") for sex in "fm" for y in "01"] * 100
    other = count_hidden(SPEC, write_csv(tmp_path / "many.csv", rows), 11)
    assert counts_file.read(other).hidden == ()
    assert {finding.status for finding in fairaudit.audit(SPEC, other).findings} == {"pass"}
    found = fairaudit.audit(SPEC, str(tmp_path / "*.counts"))
    assert (found.ledger.read, found.ledger.counted) == (448, 400)
    strict = {"metric": "selection_rate", "by": ["sex"], "fail": {"below": 0.95}}
    (finding,) = fairaudit.audit({**SPEC, "metrics": [strict]}, str(tmp_path / "*.counts")).findings
    assert finding.status == "inconclusive"


def test_fewer_people_than_the_threshold_send_nothing(tmp_path: Path) -> None:
    data = write_csv(tmp_path / "a.csv", [("f", "a", "1", "1")] * 10)
    with pytest.raises(DataError, match="fewer than 11 people"):
        count_hidden(SPEC, data, 11)
    assert count_hidden(SPEC, data, 10).exists()
    nobody = counts_file.read(count_hidden(SPEC, write_csv(tmp_path / "b.csv", []), 11))
    assert (nobody.read, nobody.hidden) == (0, ())


def test_the_same_site_is_not_counted_twice(tmp_path: Path) -> None:
    rows = draw_site(random.Random(7), 200)
    first = count_hidden(SPEC, write_csv(tmp_path / "a.csv", rows), 11)
    again = count_hidden(SPEC, write_csv(tmp_path / "b.csv", rows), 11)
    with pytest.raises(DataError, match=r"is already counted, as .*a\.csv"):
        counts_file.add([first, again])
    other = count_hidden(SPEC, write_csv(tmp_path / "c.csv", rows[1:]), 11)
    assert counts_file.add([first, other]).read == 399


def test_a_site_with_and_without_its_small_cells_is_known_for_the_same(tmp_path: Path) -> None:
    """Their hashes tell nothing of each other, and must not: path and time are the same."""
    data = write_csv(tmp_path / "a.csv", draw_site(random.Random(7), 200))
    hidden = [count_hidden(SPEC, data, below).rename(tmp_path / f"{below}.counts")
              for below in (11, 20)]  # fmt: skip
    plain = tmp_path / "plain.counts"
    plain.write_bytes(
        counts_file.write(
            counts_file.hash_sources(pipeline.count(AuditTask.read(SPEC), data), [data])
        )
    )
    for pair in ([hidden[0], plain], [plain, hidden[0]], hidden):
        with pytest.raises(DataError, match=r"a\.csv is already counted.*the same path and time"):
            counts_file.add(pair)
        assert counts_file.add(pair, repeated=True).read == 400
    os.utime(data, (1, 1))
    later = count_hidden(SPEC, data, 11)
    assert counts_file.add([plain, later]).read == 400


@pytest.mark.parametrize(
    ("more", "metrics", "words"),
    [
        ({"score": "s"}, ["auc"], "the score of each person"),
        ({"cluster": "place"}, ["selection_rate"], "each cluster by its name"),
    ],
)
def test_what_tells_single_people_is_refused(
    more: dict[str, Any], metrics: list[str], words: str
) -> None:
    spec = {**SPEC, "columns": {**SPEC["columns"], **more}, "metrics": metrics}
    rows = pl.DataFrame(
        [(*row, number / 200) for number, row in enumerate(draw_site(random.Random(8), 200))],
        schema=[*NAMES, "s"],
        orient="row",
    )
    counts = pipeline.count(AuditTask.read(spec), rows)
    with pytest.raises(UsageError, match=words):
        hide_small_cells(counts, 11)

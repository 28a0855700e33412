"""Counts in files add up to those of all rows: the same report, to the byte."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import fewer, long

import fairaudit
from fairaudit.base.errors import DataError, NothingToAudit, UsageError
from fairaudit.counting import counts_file
from fairaudit.pipeline import stages as pipeline
from fairaudit.pipeline.audit_task import AuditTask
from fairaudit.report import json as report_json
from fairaudit.result import AuditResult

COLUMNS: dict[str, Any] = {
    "protected": {"sex": {}, "age": {"bins": [30, 50]}},
    "label": {"column": "y", "positive": "1"},
    "decision": {"column": "d", "positive": "1"},
}
RATES = [
    "selection_rate",
    {"metric": "impact_ratio", "by": [["sex", "age"]], "warn": {"below": 0.8}},
    {"metric": "equalized_odds_difference", "by": ["sex"], "warn": {"above": 0.9}},
]


def _with(columns: Mapping[str, Any], metrics: list[Any], **more: Any) -> dict[str, Any]:
    return {"columns": {**COLUMNS, **columns}, "metrics": metrics, **more}


SPECS = {
    "rates": _with({"strata": ["place"]}, [*RATES, {"metric": "selection_rate", "given": "place"}]),
    "a filter": _with({}, RATES, filter="place != 'C'"),
    "columns made of others": _with(
        {
            "protected": {
                "sex": {},
                "who": {"combine": ["sex", "place"]},
                "gap": {"column": "x", "minus": "z", "bins": [0]},
            }
        },
        ["selection_rate", {"metric": "impact_ratio", "by": ["who"], "warn": {"below": 0.8}}],
        filter="place != 'C'",
    ),
    "weights": _with({"weight": "w"}, RATES),
    "counts": _with({"count": "n"}, RATES),
    "clusters": _with({"cluster": "family"}, RATES),
    "a score": _with(
        {"score": "s"},
        ["auc", {"metric": "auc", "by": ["sex"], "warn": {"below": 0.1}}],
        suppress_below=3,
    ),
    "coarse scores": _with(
        {"score": "tenths"}, ["auc", "score_parity_gap", "expected_calibration_error"]
    ),
    "numbers": {
        "columns": {
            "protected": ["sex"],
            "label": {"column": "x", "number": True},
            "prediction": {"column": "z", "number": True},
        },
        "metrics": ["mean_prediction", "mean_absolute_error", "root_mean_squared_error"],
    },
    "a weighted filter with strata": _with(
        {"weight": "w", "strata": ["place"]}, RATES, filter="colour is not null"
    ),
    "models": {
        "columns": {
            "protected": ["sex"],
            "label": {"column": "y", "positive": "1"},
            "models": {
                "old": {"prediction": {"column": "d", "positive": "1"}, "score": "s"},
                "new": {"prediction": {"column": "s", "positive": {"at_least": 0.5}}},
            },
        },
        "metrics": ["selection_rate", "auc"],
    },
    "described people": _with(
        {"features": {"categorical": ["colour"], "numeric": ["x"]}}, RATES, describe=True
    ),
    "tables beside the cells": _with(
        {"features": ["place", "colour"]},
        RATES,
        subgroups={"over": ["sex", "place", "colour"], "depth": 2, "rates": ["selection_rate"]},
    ),
}


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Five sites: levels that one of them has alone, tiny weights, blank lines, and no row."""
    draw, folder = random.Random(5), tmp_path_factory.mktemp("parts")
    header = "sex,age,y,d,place,colour,s,tenths,x,z,w,n,family"
    paths = []
    for site in range(5):
        lines = [header]
        for number in range(0 if site == 3 else 90):
            scale = 1e-5 if site == 1 else 1
            values = [
                draw.choice(["f", "m", "x"] if site == 2 else ["f", "m"]),
                draw.choice(["", draw.randint(18, 70)]),
                draw.randint(0, 1),
                draw.randint(0, 1),
                "ABC"[draw.randrange(2 + (site == 4))],
                draw.choice(["red", "blue", ""]),
                draw.random() * (10 if site == 4 else 1),
                draw.randint(0, 10) / 10,
                round(draw.gauss(0, 3), 4),
                round(draw.gauss(0, 3), 4),
                draw.random() * scale,
                draw.randint(0, 3),
                f"{site}-{number // 3}" if number % 2 else f"both-{number}",
            ]
            lines.append(",".join(map(str, values)))
            lines += [""] * (number % 50 == 7)
        paths.append(folder / f"site{site}.csv")
        paths[-1].write_text("\n".join(lines) + "\n")
    return paths


def count_into(spec: Any, data: Any, path: Path) -> Path:
    counts = pipeline.count(AuditTask.read(spec), data)
    if isinstance(data, Path):
        counts = counts_file.hash_sources(counts, [data])
    path.write_bytes(counts_file.write(counts))
    return path


def document(result: AuditResult) -> dict[str, Any]:
    """The JSON of a result but for where the counts came from."""
    tree = report_json.document(result)
    for name in ("route", "files", "created", "spec_path", "spec_sha256"):
        tree["provenance"].pop(name, None)
    return tree


QUICK = {"rates", "clusters", "coarse scores", "numbers", "tables beside the cells"}


@pytest.mark.long
@pytest.mark.parametrize("name", [name if name in QUICK else long(name) for name in SPECS])
def test_five_sites_added_up_are_all_rows_together(
    name: str, parts: list[Path], tmp_path: Path
) -> None:
    spec = SPECS[name]
    counted = [count_into(spec, part, tmp_path / f"{part.stem}.counts") for part in parts]
    everybody = fairaudit.audit({**spec, "data": [*map(str, parts)]})
    # Of counts, in any order; and of counts that were added up before.
    (tmp_path / "all").mkdir()
    merged = tmp_path / "all" / "all.counts"
    merged.write_bytes(counts_file.write(counts_file.add([counted[3], *counted[:3], counted[4]])))
    for data in (str(tmp_path / "*.counts"), merged):
        found = fairaudit.audit(spec, data)
        assert "from files of counts" in found.provenance.route
        own, other = document(found), document(everybody)
        assert json.dumps(own) == json.dumps(other)


def test_sites_of_another_format_are_all_rows_together(parts: list[Path], tmp_path: Path) -> None:
    spec = SPECS["a weighted filter with strata"]
    for number, part in enumerate(parts):
        data = part
        if number % 2:
            data = tmp_path / f"{part.stem}.parquet"
            rows = pl.read_csv(part, schema_overrides={"age": pl.Int64})
            rows.filter(pl.col("y").is_not_null()).write_parquet(data)
        count_into(spec, data, tmp_path / f"{part.stem}.counts")
    found = fairaudit.audit(spec, str(tmp_path / "*.counts"))
    everybody = fairaudit.audit({**spec, "data": [*map(str, parts)]})
    own, other = document(found), document(everybody)
    for tree in (own, other):  # lines are blank in CSV alone, and a file without rows has its name
        tree["notices"] = [note for note in tree["notices"] if "blank line" not in note]
        tree["notices"] = [note for note in tree["notices"] if "holds no row" not in note]
    assert json.dumps(own) == json.dumps(other)


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["rates", "a score", *map(long, ("a filter", "weights", "counts", "numbers"))]
)
def test_what_is_published_of_merged_counts_is_what_is_of_all_rows(
    name: str, parts: list[Path], tmp_path: Path
) -> None:
    # Counted for everybody's eyes, and audited to be published.
    counted_by = {key: value for key, value in SPECS[name].items() if key != "suppress_below"}
    for part in parts:
        count_into(counted_by, part, tmp_path / f"{part.stem}.counts")
    published = {**counted_by, "suppress_below": 40}
    found = fairaudit.audit(published, str(tmp_path / "*.counts"))
    everybody = fairaudit.audit({**published, "data": [*map(str, parts)]})
    own, other = document(found), document(everybody)
    assert json.dumps(own) == json.dumps(other)
    told = [row["n"] for row in own["groups"]]
    assert not any(0 < n < 40 for n in told if n is not None)
    whole = document(fairaudit.audit(counted_by, str(tmp_path / "*.counts")))
    assert any(0 < row["n"] < 40 for row in whole["groups"])
    assert {(file.bytes, file.lines) for file in found.provenance.files} == {(None, None)}


def test_another_question_of_the_same_columns_is_answered(
    parts: list[Path], tmp_path: Path
) -> None:
    counted = count_into(SPECS["rates"], parts[0], tmp_path / "a.counts")
    other = _with({}, [{"metric": "false_positive_rate", "by": ["age"], "warn": {"above": 0.9}}])
    assert document(fairaudit.audit(other, counted)) == document(fairaudit.audit(other, parts[0]))
    for columns in ({"score": "s"}, {"strata": ["colour"]}, {"weight": "w"}):
        with pytest.raises(
            UsageError, match=("the counts file does not contain what the spec needs")
        ):
            fairaudit.audit(_with(columns, RATES), counted)
    coarser = {"protected": {"sex": {}, "age": {"bins": [30]}}}
    fairaudit.audit(_with(coarser, RATES), counted)
    finer = {"protected": {"sex": {}, "age": {"bins": [30, 40]}}}
    with pytest.raises(UsageError, match="the counts file does not contain what the spec needs"):
        fairaudit.audit(_with(finer, RATES), counted)


def test_no_row_and_no_word_of_one_is_in_the_file(parts: list[Path], tmp_path: Path) -> None:
    table = pq.read_table(count_into(SPECS["rates"], parts[0], tmp_path / "a.counts"))
    assert sum(table["rows"].to_pylist()) == 90
    assert {*table["level:sex"].to_pylist()} == {"f", "m"}
    assert table.num_rows < 90
    assert "family" not in str(table.schema)


def test_what_must_not_be_added_is_refused(parts: list[Path], tmp_path: Path) -> None:
    first = count_into(SPECS["rates"], parts[0], tmp_path / "a.counts")
    same = tmp_path / "copy.csv"
    same.write_bytes(parts[0].read_bytes())
    again = count_into(SPECS["rates"], same, tmp_path / "b.counts")
    with pytest.raises(DataError, match=r"copy.csv is already counted, as .*site0.csv: the same"):
        counts_file.add([first, again])
    assert counts_file.add([first, again], repeated=True).read == 180
    weighted = count_into(SPECS["weights"], parts[1], tmp_path / "c.counts")
    with pytest.raises(DataError, match="count differently: keys, weight"):
        counts_file.add([first, weighted])
    tokens = {**SPECS["rates"], "missing": {"tokens": ["-"]}}
    other = count_into(tokens, parts[1], tmp_path / "d.counts")
    with pytest.raises(DataError, match="count differently: tokens"):
        counts_file.add([first, other])


def test_parts_with_quantiles_of_their_own_do_not_add_up(parts: list[Path], tmp_path: Path) -> None:
    quantiles = {"protected": {"sex": {}, "age": {"quantiles": 3}}}
    sent = [
        count_into(_with(quantiles, RATES), part, tmp_path / f"{part.stem}.counts")
        for part in parts[:2]
    ]
    with pytest.raises(DataError, match=r"count differently: keys, .*cuts") as refused:
        counts_file.add(sent)
    assert refused.value.hint == (
        "each part has its own quantiles: write the edges in the spec, `bins: [30, 50]`"
    )
    alone = fairaudit.audit(_with(quantiles, RATES), sent[0])
    assert document(alone) == document(fairaudit.audit(_with(quantiles, RATES), parts[0]))


def test_the_median_of_one_part_is_not_the_median_of_all(tmp_path: Path) -> None:
    columns = {"protected": ["sex"], "label": COLUMNS["label"], "score": "s"}
    spec = {"columns": columns, "metrics": ["auc"]}
    rows = "".join(f"f,{n % 2},{0.5 + n * 2**-40}\n" for n in range(60))
    for site in range(2):
        path = tmp_path / f"{site}.csv"
        path.write_text("sex,y,s\n" + rows + "\n" * site)
        counted = count_into(spec, path, tmp_path / f"{site}.counts")
        assert counts_file.read(counted).medians["s"].people == 60
    (score,) = (
        row for row in fairaudit.audit(spec, str(tmp_path / "*.counts")).scores if not row.group
    )
    assert score.median is not None
    assert score.median[0] < score.median[1]


def test_a_separator_is_no_difference(parts: list[Path], tmp_path: Path) -> None:
    first = count_into(SPECS["rates"], parts[0], tmp_path / "a.counts")
    other = tmp_path / "other.csv"
    other.write_text(parts[1].read_text().replace(",", ";"))
    spec = {**SPECS["rates"], "format": {"separator": ";"}}
    second = count_into(spec, other, tmp_path / "b.counts")
    assert counts_file.add([first, second]).read == 180


def test_rows_and_counts_do_not_mix(parts: list[Path], tmp_path: Path) -> None:
    counted = count_into(SPECS["rates"], parts[0], tmp_path / "a.counts")
    spec = {**SPECS["rates"], "data": [str(parts[1]), str(counted)]}
    with pytest.raises(UsageError, match="mixes files of rows and files of counts"):
        fairaudit.audit(spec)


def test_counts_of_nobody_pass_nothing(parts: list[Path], tmp_path: Path) -> None:
    nobody = count_into(SPECS["rates"], parts[3], tmp_path / "a.counts")
    with pytest.raises(NothingToAudit):
        fairaudit.audit(SPECS["rates"], nobody)


def test_people_one_by_one_are_not_stored() -> None:
    spec = {
        "columns": {
            "protected": ["sex"],
            "decision": {"column": "d", "positive": "1"},
            "features": {"numeric": ["x"]},
        },
        "metrics": ["consistency"],
    }
    rows = pl.DataFrame({"sex": ["f", "m"] * 50, "d": ["0", "1"] * 50, "x": [*range(100)]})
    counts = pipeline.count(AuditTask.read(spec), rows)
    with pytest.raises(UsageError, match="measures of individuals; these need rows"):
        counts_file.write(counts)


@pytest.mark.parametrize("version", [3, 5])
def test_a_file_of_another_version_is_refused(
    version: int, parts: list[Path], tmp_path: Path
) -> None:
    path = count_into(SPECS["rates"], parts[0], tmp_path / "a.counts")
    table = pq.read_table(path)
    header = json.loads(table.schema.metadata[b"fairaudit.counts"]) | {"version": version}
    metadata = {b"fairaudit.counts": json.dumps(header).encode()}
    pq.write_table(table.replace_schema_metadata(metadata), path)
    with pytest.raises(
        DataError,
        match=f"has version {version} of the counts format, and this program reads version 4",
    ):
        counts_file.read(path)


def test_another_file_is_no_counts(tmp_path: Path) -> None:
    path = tmp_path / "a.counts"
    for content in (b"", b"PAR1", b"sex,d\nf,1\n"):
        path.write_bytes(content)
        with pytest.raises(DataError, match="is damaged or not a counts file"):
            counts_file.read(path)
    nested = {b"fairaudit.counts": b"[" * 100_000}
    pq.write_table(pa.table({"x": [1]}).replace_schema_metadata(nested), path)
    with pytest.raises(DataError, match="is damaged or not a counts file"):
        counts_file.read(path)
    pq.write_table(pa.table({"x": [1]}), path)
    with pytest.raises(DataError, match="is not a counts file"):
        counts_file.read(path)
    with pytest.raises(DataError, match="does not exist"):
        fairaudit.audit(SPECS["rates"], tmp_path / "missing.counts")


@pytest.mark.long
def test_a_damaged_file_is_refused_or_read_as_it_was(parts: list[Path], tmp_path: Path) -> None:
    whole = count_into(SPECS["rates"], parts[0], tmp_path / "a.counts").read_bytes()
    expected = document(fairaudit.audit(SPECS["rates"], tmp_path / "a.counts"))
    draw, path, refused = random.Random(7), tmp_path / "b.counts", 0
    number = fewer(300)
    for _ in range(number):
        damaged = bytearray(whole)
        damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
        path.write_bytes(damaged)
        try:
            found = document(fairaudit.audit(SPECS["rates"], path))
        except DataError:
            refused += 1
        else:
            assert found == expected
    assert refused > number / 4  # of the others most hit what Parquet writes twice


def test_a_part_that_was_cut_off_is_never_merged(parts: list[Path], tmp_path: Path) -> None:
    whole = count_into(SPECS["a score"], parts[0], tmp_path / "a.counts").read_bytes()
    other = count_into(SPECS["a score"], parts[1], tmp_path / "b.counts")
    assert counts_file.add([tmp_path / "a.counts", other]).read == 180
    path = tmp_path / "half.counts"
    for part in range(16):
        path.write_bytes(whole[: len(whole) * part // 16])
        for order in ([path, other], [other, path]):
            with pytest.raises(DataError, match=r"half\.counts"):
                counts_file.add(order)

"""Masked counts: bounds over all completions, enumerated in plain Python; equal on all routes."""

from __future__ import annotations

import itertools
import json
import random
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import seeds
from stats_oracle import share_bounds

import fairaudit
from fairaudit import cli
from fairaudit.base.errors import SpecError
from fairaudit.judge import Status

MASKED_RANGE = "least and greatest value over all masked counts"
MASKS = {"<5": [0, 4], "*": [1, 3], "-1": [2, 2]}
Row = dict[str, str]
Totals = dict[str, tuple[int, int]]

SIDE = {"protected": ["g"], "decision": {"counts": {"yes": "y", "total": "n"}, "positive": "yes"}}
APART = {"protected": ["g"], "decision": {"counts": {"yes": "y", "no": "n"}, "positive": "yes"}}
LONG = {"protected": ["g"], "decision": {"column": "d", "positive": "yes"}, "count": "n"}


def spec_of(columns: Mapping[str, Any], limit: object = None) -> dict[str, Any]:
    limit = limit or {"outside": [0.5, 2]}
    entry = {"metric": "selection_rate", "compare": "ratio", "reference": {"g": "a"}, "fail": limit}
    return {"columns": columns, "missing": {"masked": MASKS}, "metrics": [entry]}


def choices(cell: str) -> range:
    least, most = MASKS.get(cell, [int(cell) if cell.isdigit() else 0] * 2)
    return range(least, most + 1)


def complete(rows: Sequence[Row], columns: Mapping[str, Any]) -> Iterator[Totals]:
    """The selected people and all people of each group, in every completion of the masks."""
    names = [name for name in ("y", "n") if name in rows[0]]
    cells = [(row, name) for row in rows for name in names]
    for counts in itertools.product(*(choices(row[name]) for row, name in cells)):
        count = {(id(row), name): n for (row, name), n in zip(cells, counts, strict=True)}
        totals: dict[str, tuple[int, int]] = {}
        for row in rows:
            n = count[id(row), "n"]
            if columns is LONG:
                selected, people = n * (row["d"] == "yes"), n
            elif columns is APART:
                selected, people = count[id(row), "y"], count[id(row), "y"] + n
            else:
                selected, people = count[id(row), "y"], n
                if selected > people:
                    break
            before = totals.get(row["g"], (0, 0))
            totals[row["g"]] = before[0] + selected, before[1] + people
        else:
            yield totals


def ratios(rows: Sequence[Row], columns: Mapping[str, Any]) -> list[float]:
    return [(t["b"][0] / t["b"][1]) / (t["a"][0] / t["a"][1]) for t in complete(rows, columns)]


def draw(seed: int, columns: Mapping[str, Any]) -> list[Row]:
    """Few rows, so that all completions can be listed; half of them with a masked cell."""
    made = random.Random(seed)
    rows = []
    for place, g in enumerate("aabb"):
        mask = made.choice([*MASKS]) if made.random() < 0.6 else str(made.randrange(3, 9))
        mask = mask if place else "6"  # a reference of nobody has no ratio
        row = {"g": g, "n": str(made.randrange(20, 40))}
        if columns is LONG:
            row |= {"d": ["yes", "no"][place % 2], "n": mask if place != 1 else "30"}
        else:
            row["y"] = mask
            if columns is APART and made.random() < 0.5:
                row["n"] = "*"
        rows.append(row)
    return rows


def text_of(rows: Sequence[Row]) -> str:
    return "\n".join([",".join(rows[0]), *(",".join(row.values()) for row in rows)]) + "\n"


def bounds_of(data: Any, spec: Mapping[str, Any]) -> tuple[Any, ...]:
    (finding,) = fairaudit.audit(spec, data).findings
    missing = finding.missing
    if missing is None:
        return finding.status, finding.value, None, None
    return finding.status, finding.value, missing.low, missing.high


@pytest.mark.parametrize("columns", [SIDE, APART, LONG], ids=["total", "apart", "long"])
@pytest.mark.parametrize("seed", seeds(6, quick=2))
def test_the_bounds_are_those_of_all_completions(
    tmp_path: Path, seed: int, columns: Mapping[str, Any]
) -> None:
    rows = draw(seed, columns)
    file = tmp_path / "data.csv"
    file.write_text(text_of(rows))
    possible = ratios(rows, columns)
    least, most = min(possible), max(possible)
    status, value, low, high = bounds_of(file, spec_of(columns))
    if low is None:
        assert most == pytest.approx(least)
        assert value == pytest.approx(most)
    else:
        assert (low, high) == pytest.approx((least, most))
    failing = {not 0.5 <= ratio <= 2 for ratio in possible}
    if len(failing) > 1:
        assert status is Status.INCONCLUSIVE
    else:
        assert status is (Status.FAIL if failing == {True} else Status.PASS)


def ends_of(values: Sequence[float]) -> Any:
    return pytest.approx((min(values), max(values)))


@pytest.mark.long
@pytest.mark.parametrize("columns", [SIDE, APART, LONG], ids=["total", "apart", "long"])
@pytest.mark.parametrize("seed", seeds(6, quick=2))
@pytest.mark.parametrize("is_judged", [False, True])
def test_a_table_of_rates_has_the_range_over_all_completions(
    tmp_path: Path, seed: int, columns: Mapping[str, Any], is_judged: bool
) -> None:
    rows = draw(seed, columns)
    file = tmp_path / "data.csv"
    file.write_text(text_of(rows))
    entry = {"metric": "selection_rate", "compare": "difference", "reference": {"g": "a"}}
    gate = {"metric": "selection_rate", "by": "g", "fail": "> 0.9"}
    spec = {
        **spec_of(columns),
        "metrics": ["selection_rate", entry, *([gate] if is_judged else [])],
    }
    result = fairaudit.audit(spec, file)
    completions = [*complete(rows, columns)]
    is_open = {g: len({totals[g] for totals in completions}) > 1 for g in "ab"}
    rates = {g: [totals[g][0] / totals[g][1] for totals in completions] for g in "ab"}
    gaps = [b - a for a, b in zip(rates["a"], rates["b"], strict=True)]
    for row in result.rates:
        if not row.group:
            continue
        g, estimate = row.group[0][1], row.estimate
        assert (estimate.method == MASKED_RANGE) is is_open[g]
        expected = ends_of(rates[g])
        if not is_open[g]:
            expected = pytest.approx(share_bounds(*completions[0][g], 0.05))
        assert (estimate.low, estimate.high) == expected
        if any(is_open.values()):
            assert estimate.significance is None
            assert estimate.numerators == ends_of([totals[g][0] for totals in completions])
            assert estimate.denominators == ends_of([totals[g][1] for totals in completions])
        if g == "b" and any(is_open.values()):
            assert (row.difference_low, row.difference_high) == ends_of(gaps)
            assert (row.ratio_low, row.ratio_high) == ends_of(ratios(rows, columns))
    (comparison,) = result.comparisons
    if any(is_open.values()):
        assert comparison.estimate.significance is None
        assert comparison.estimate.method == MASKED_RANGE
        assert (comparison.estimate.low, comparison.estimate.high) == ends_of(gaps)
    else:
        assert comparison.estimate.significance is not None
        assert comparison.estimate.method != MASKED_RANGE
    assert result.scanned is None
    assert not result.reversals


@pytest.mark.parametrize("columns", [SIDE, APART, LONG], ids=["total", "apart", "long"])
@pytest.mark.parametrize("seed", seeds(6, quick=2))
def test_both_sides_of_a_comparison_have_the_range_over_all_completions(
    tmp_path: Path, seed: int, columns: Mapping[str, Any]
) -> None:
    rows = draw(seed, columns)
    file = tmp_path / "data.csv"
    file.write_text(text_of(rows))
    metrics: list[Any] = ["differential_fairness"]
    metrics += [
        {"metric": "selection_rate", "compare": "difference", "reference": crowd}
        for crowd in ("rest", "overall")
    ]
    result = fairaudit.audit({**spec_of(columns), "metrics": metrics}, file)
    completions = [*complete(rows, columns)]

    def ends_of_share(counts: Sequence[tuple[int, int]]) -> Any:
        return ends_of([hits / total for hits, total in counts])

    seen = set()
    for row in result.comparisons:
        (part,) = row.parts
        for side in part.sides:
            counts = [
                [totals[g] for g in ("a", "b")]
                if side.crowd == "overall"
                else [totals["ba"["ab".index(row.group[0][1])]]]
                if side.crowd == "rest" and row.group
                else [totals[side.group[0][1]]]
                for totals in completions
            ]
            sums = [(sum(hits for hits, _ in one), sum(n for _, n in one)) for one in counts]
            if row.metric == "differential_fairness" and part.outcome != "yes":
                sums = [(n - hits, n) for hits, n in sums]
            estimate = side.estimate
            if len({*sums}) == 1:
                continue
            assert estimate.method == MASKED_RANGE
            assert (estimate.low, estimate.high) == ends_of_share(sums)
            seen.add(side.crowd or row.metric)
            if side.crowd is None:
                assert estimate.numerators == ends_of([hits for hits, _ in sums])
                assert estimate.denominators == ends_of([n for _, n in sums])
    assert (
        seen >= {"rest", "overall", "differential_fairness"} or len({*map(str, completions)}) == 1
    )


def test_every_form_of_a_report_says_what_the_range_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("g,y,n\na,30,100\na,4,50\nb,<5,60\nb,20,60\nb,0,<5\nc,7,70\n")
    entry = {"metric": "selection_rate", "compare": "ratio", "reference": {"g": "a"}}
    spec = {**spec_of(SIDE), "data": "data.csv", "metrics": ["selection_rate", entry]}
    Path("spec.json").write_text(json.dumps(spec))
    least, most = 20 / 124, 24 / 120  # the row of <5 people has none who are selected
    outputs = [word for form in ("md", "html", "csv", "json") for word in ("-o", f"r.{form}")]
    assert cli.main(["run", "spec.json", "--full", *outputs]) == 0
    said = "the least and the greatest rate over all values that masked counts may have"
    for report in (capsys.readouterr().out, *(Path(f"r.{f}").read_text() for f in ("md", "html"))):
        assert f"{100 * least:.1f} to {100 * most:.1f}" in report
        assert f"{least / (34 / 150):.3f} to {most / (34 / 150):.3f}" in report
        assert "20–24/120–124" in report
        assert said in " ".join(report.split())
    result = fairaudit.load("r.json")
    written = pl.read_csv("r.csv", infer_schema_length=None)
    for frame in (written, result.group_rates("g")):
        (row,) = frame.filter(
            pl.col("group").is_in(["b", "g=b"]) & (pl.col("metric") == "selection_rate")
            & pl.col("compare").is_null() if "compare" in frame.columns else pl.col("group") == "b"
        ).to_dicts()  # fmt: skip
        assert (row["low"], row["high"]) == pytest.approx((least, most))
        assert row["method"] == MASKED_RANGE


def test_people_who_may_not_exist_are_called_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("g,y,n\na,9,40\nb,2,<5\nb,9,30\n")
    Path("spec.json").write_text(json.dumps({**spec_of(SIDE), "data": "data.csv"}))
    cli.main(["run", "spec.json", "--full"])
    printed = " ".join(capsys.readouterr().out.split())
    words = "depending on up to 2 people who may not exist (masked counts), the value can be"
    assert words in printed  # 2 to 4 people
    assert "unknown group, the value" not in printed
    (finding,) = fairaudit.audit("spec.json").findings
    assert finding.missing is not None
    assert (finding.missing.missing_group, finding.missing.possible) == (0, 2)


@pytest.mark.parametrize("columns", [SIDE, APART, LONG], ids=["total", "apart", "long"])
def test_the_ledger_counts_the_rows_of_the_file(tmp_path: Path, columns: Mapping[str, Any]) -> None:
    rows = draw(1, columns)
    file = tmp_path / "data.csv"
    file.write_text(text_of([*rows, {**rows[-1], "g": "z"}]))
    result = fairaudit.audit({**spec_of(columns), "filter": "g <> 'z'"}, file)
    ledger = result.ledger
    assert (ledger.read, ledger.counted, ledger.filtered) == (len(rows) + 1, len(rows), 1)
    assert result.provenance.rows == len(rows) + 1


@pytest.mark.parametrize("limit", ["> 1.2", "> 9"])
def test_a_masked_total_is_bounded(tmp_path: Path, limit: str) -> None:
    rows = [
        {"g": "a", "y": "5", "n": "40"},
        {"g": "b", "y": "2", "n": "<5"},
        {"g": "b", "y": "*", "n": "12"},
    ]
    file = tmp_path / "data.csv"
    file.write_text(text_of(rows))
    possible = ratios(rows, SIDE)
    status, _, low, high = bounds_of(file, spec_of(SIDE, limit))
    # A masked count of a masked total may be of any level: the bounds hold, and may be wider.
    assert (low, high) == pytest.approx((min(possible), max(possible)))
    assert status is (Status.FAIL if limit == "> 1.2" else Status.PASS)


@pytest.mark.long
@pytest.mark.parametrize("columns", [SIDE, APART, LONG], ids=["total", "apart", "long"])
def test_all_routes_count_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: Mapping[str, Any]
) -> None:
    rows, spec = draw(1, columns), spec_of(columns)
    file, other = tmp_path / "data.csv", tmp_path / "data.parquet"
    file.write_text(text_of(rows))
    frame = pl.DataFrame(rows)
    frame.write_parquet(other)
    with sqlite3.connect(tmp_path / "data.db") as base:
        base.execute(f"create table t ({', '.join(f'{name} text' for name in rows[0])})")
        marks = ", ".join("?" * len(rows[0]))
        base.executemany(f"insert into t values ({marks})", [(*row.values(),) for row in rows])
    expected = bounds_of(file, spec)
    sources = [other, frame, frame.to_pandas(), f"sqlite:///{tmp_path / 'data.db'}?table=t"]
    assert [bounds_of(source, spec) for source in sources] == [expected] * len(sources)
    monkeypatch.setenv("FAIRAUDIT_ROUTE", "lazy")
    assert bounds_of(file, spec) == expected


def test_counts_files_keep_what_is_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = draw(1, LONG)
    Path("data.csv").write_text(text_of(rows))
    Path("spec.yaml").write_text(
        "columns: {protected: [g], decision: {column: d, positive: 'yes'}, count: n}\n"
        'missing: {masked: {"<5": [0, 4], "*": [1, 3], "-1": [2, 2]}}\n'
        "metrics: [{metric: selection_rate, compare: ratio, reference: {g: a}, fail: '> 3'}]\n"
    )
    assert cli.main(["count", "spec.yaml", "--data", "data.csv", "-o", "a.counts"]) == 0
    cli.main(["run", "spec.yaml", "--data", "a.counts", "-o", "a.json", "-q"])
    cli.main(["run", "spec.yaml", "--data", "data.csv", "-o", "b.json", "-q"])
    capsys.readouterr()
    first, second = (fairaudit.load(path).findings[0] for path in ("a.json", "b.json"))
    assert first.missing == second.missing
    assert first.status is second.status


def test_numbers_stand_for_masks_in_typed_columns() -> None:
    frame = pl.DataFrame({"g": ["a", "b"], "y": [5, -1], "n": [40, 20]})
    spec = {**spec_of(SIDE), "missing": {"masked": {-1: [1, 4]}}}
    _, _, low, high = bounds_of(frame, spec)
    assert (low, high) == pytest.approx((0.05 / 0.125, 0.2 / 0.125))


def test_a_group_of_which_nobody_is_certain_leaves_the_check_open(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_text("g,d,n\na,yes,5\na,no,5\nb,yes,50\nb,no,50\nc,yes,<5\nc,no,<5\n")
    status, *_ = bounds_of(file, spec_of(LONG))
    assert status is Status.INCONCLUSIVE


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"masked": {"<5": [4, 0]}}, "expected the smallest and the largest count"),
        ({"masked": {"<5": [6, 6]}}, "'<5' means at most 4, not 6"),
        ({"masked": {"fewer than 10": [0, 10]}}, "means at most 9, not 10"),
        ({"masked": {"<5": [4]}}, "expected the smallest and the largest count"),
        ({"masked": {"*": [0, 4]}, "tokens": ["*"]}, "is also in `tokens`"),
        ({"masked": {"*": [0, 4]}, "decision": "drop"}, "use `aside` instead of `drop`"),
    ],
)
def test_faults_of_masks(changes: Mapping[str, Any], words: str) -> None:
    with pytest.raises(SpecError, match=words):
        fairaudit.audit(spec_of(SIDE) | {"missing": changes}, pl.DataFrame())


@pytest.mark.parametrize(
    ("columns", "more", "words"),
    [
        ({"protected": ["g"], "decision": {"column": "d", "positive": 1}}, {}, "has no counts"),
        (SIDE, {"suppress_below": 11}, "bounds, which reveal small counts"),
        ({**LONG, "score": "s"}, {}, "hidden people have no score"),
        ({**LONG, "strata": {"x": {"quantiles": 4}}}, {}, "hidden people have no number"),
        (
            {**SIDE, "protected": ["g", "h"]},
            {"simpson": {"fail": "every_stratum"}},
            "reverse any difference",
        ),
        (SIDE, {"subgroups": {}}, "the rates of small subgroups"),
    ],
)
def test_what_masks_do_not_support(
    columns: Mapping[str, Any], more: Mapping[str, Any], words: str
) -> None:
    with pytest.raises(SpecError, match=words):
        fairaudit.audit({**spec_of(columns), **more}, pl.DataFrame())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("metric", ["true_positive_rate", "precision", "false_positive_rate"])
def test_rates_of_a_label_have_ranges_over_all_completions(seed: int, metric: str) -> None:
    made = random.Random(seed)
    kinds = [(g, y, d) for g in "ab" for y in (0, 1) for d in (0, 1)]
    cells = {kind: made.choice([*MASKS, *map(str, range(3, 20))]) for kind in kinds}
    # The label and the decision of the people in the numerator, and in the denominator.
    over, under = {
        "true_positive_rate": ({(1, 1)}, {(1, 0), (1, 1)}),
        "precision": ({(1, 1)}, {(0, 1), (1, 1)}),
        "false_positive_rate": ({(0, 1)}, {(0, 0), (0, 1)}),
    }[metric]
    columns = {"protected": ["g"], "label": "y", "decision": "d", "count": "n"}
    frame = pl.DataFrame([dict(zip("gydn", (*kind, n), strict=True)) for kind, n in cells.items()])
    spec = {"columns": columns, "missing": {"masked": MASKS}, "metrics": metric}
    for row in fairaudit.audit(spec, frame).rates:
        if not row.group:
            continue
        own = [kind for kind in kinds if kind[0] == row.group[0][1]]
        found = []
        for counts in itertools.product(*(choices(cells[kind]) for kind in own)):
            pairs = [*zip(counts, own, strict=True)]
            found.append(
                [sum(n for n, (_, *of) in pairs if (*of,) in side) for side in (over, under)]
            )
        rates = [hits / people for hits, people in found if people]
        if row.estimate.method == MASKED_RANGE:
            assert (row.estimate.low, row.estimate.high) == ends_of(rates)
        else:
            assert max(rates) == pytest.approx(min(rates))
        if row.estimate.numerators is not None:
            assert row.estimate.numerators == ends_of([hits for hits, _ in found])
            assert row.estimate.denominators == ends_of([people for _, people in found])

"""Cuts by share: medians, tops and quantiles, held against sorting the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st

import fairaudit
from fairaudit.base.errors import DataError, NothingToAudit, SpecError
from fairaudit.result import AuditResult

Row = tuple[str, float | None, int]
Audit = Callable[..., AuditResult]

VALUES = st.one_of(
    st.none(),
    st.sampled_from([0.0, -0.0, 0.25, 0.5, 1.0, 7.0, -3.0, 1e300, 1e-300]),
    st.floats(0, 1),
    st.floats(allow_nan=False, allow_infinity=False),
)
ROWS = st.lists(
    st.tuples(st.sampled_from(["a", "b"]), VALUES, st.integers(0, 4)), min_size=1, max_size=40
)


def spec(positive: dict[str, Any], **columns: Any) -> dict[str, Any]:
    """A spec that cuts the risk of the rows."""
    return {
        "columns": {
            "protected": ["race"],
            "prediction": {"column": "risk", "positive": positive},
            **columns,
        },
        "missing": {"prediction": "aside"},
        "metrics": ["selection_rate"],
    }


def write(path: Path, rows: Sequence[Row]) -> Path:
    """The rows as a file of the kind that its name says."""
    schema = {"race": pl.String, "risk": pl.Float64, "n": pl.Int64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    if path.suffix == ".csv":
        frame.write_csv(path)
    else:
        frame.write_parquet(path, row_group_size=max(5, len(rows) // 9))
    return path


def quantile(people: Sequence[float], share: Fraction) -> float:
    """The smallest value with so large a share at or below it, by sorting."""
    return next(x for x in sorted(people) if sum(y <= x for y in people) >= share * len(people))


def selected(result: AuditResult) -> tuple[int, int]:
    """The people selected, and all who could be."""
    (row,) = (row for row in result.rates if not row.by)
    return row.estimate.numerator or 0, row.estimate.denominator or 0


@given(
    rows=ROWS,
    kind=st.sampled_from(["csv", "parquet"]),
    cut=st.sampled_from(["median", "3%", "0.25", "50 %", "99.9%"]),
    bins=st.sampled_from([4, 2**16]),
)
@examples(60)
def test_a_cut_by_share_is_the_one_that_sorting_finds(
    rows: list[Row], kind: str, cut: str, bins: int, tmp_path: Path
) -> None:
    rows = [*rows, ("a", 0.5, 1)]
    share = {
        "median": Fraction(1, 2), "3%": Fraction(97, 100), "0.25": Fraction(3, 4),
        "50 %": Fraction(1, 2), "99.9%": Fraction(1, 1000),
    }[cut]  # fmt: skip
    asked = spec({"above": "median"} if cut == "median" else {"top": cut}, count="n")
    people = [x for _, x, n in rows if x is not None for _ in range(n)]
    value = quantile(people, share)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairaudit.counting.routes.quantiles._BINS", bins)
        result = fairaudit.audit(asked, write(tmp_path / f"rows.{kind}", rows))
    above = sum(x > value for x in people)
    assert selected(result) == (above, len(people))
    if cut != "median":
        assert above <= (1 - share) * len(people)
    (told,) = (one for one in result.notices if one.startswith("prediction: the cut is "))
    assert float(told.removeprefix("prediction: the cut is ").split(",")[0]) == value
    at = sum(x == value for x in people)
    assert told.endswith(f": {above} above, {at} at it, {len(people) - above - at} below")


TEXT = "race,risk\n" + "".join(f"a,{at / 100}\n" for at in range(100))


def test_the_notice_of_a_median(audit_csv: Audit) -> None:
    result = audit_csv(TEXT, spec({"above": "median"}))
    expected = "prediction: the cut is 0.49, the median of risk: 50 above, 1 at it, 49 below"
    assert expected in result.notices
    result = audit_csv(TEXT, {**spec({"top": "3%"}), "filter": "risk >= 0.5"})
    expected = "prediction: the cut is 0.98, for the top 3% of risk: 1 above, 1 at it, 48 below"
    assert expected in result.notices
    assert selected(result) == (1, 50)
    with pytest.raises(AssertionError):
        assert selected(audit_csv(TEXT, spec({"top": "3%"}))) == (1, 50)


def test_a_cut_found_is_the_cut_written(audit_csv: Audit) -> None:
    found = audit_csv(TEXT, spec({"above": "median"}))
    written = audit_csv(TEXT, spec({"above": "0.49"}))
    assert list(map(repr, found.rates)) == list(map(repr, written.rates))
    assert found.provenance.cube_sha256 == written.provenance.cube_sha256


def written(edge: float) -> str:
    """A number as a level names it: of few decimals without the exponent that Python gives it."""
    text = repr(edge)
    return str(Decimal(text)) if text.endswith(("e-05", "e-06")) else text.removesuffix(".0")


@given(rows=ROWS, parts=st.integers(2, 12), kind=st.sampled_from(["csv", "parquet", "frame"]))
@examples(40)
def test_quantiles_cut_where_sorting_does(
    rows: list[Row], parts: int, kind: str, tmp_path: Path
) -> None:
    rows = [*rows, ("a", 0.5, 1), ("b", 0.75, 1)]
    people = [x for _, x, _ in rows if x is not None]
    asked = spec({"above": "0"}, strata={"part": {"column": "risk", "quantiles": parts}})
    asked["metrics"] = [{"metric": "selection_rate", "given": "part"}]
    data: Any = write(tmp_path / f"rows.{'csv' if kind == 'frame' else kind}", rows)
    result = fairaudit.audit(asked, pl.read_csv(data) if kind == "frame" else data)
    edges = sorted({quantile(people, Fraction(at, parts)) for at in range(1, parts)})
    sizes = {}
    for row in result.groups:
        if not row.by and row.stratum and row.stratum[0][1] != "(unknown)":
            sizes[row.stratum[0][1]] = row.n
    numbers = [written(edge + 0.0) for edge in edges]
    labels = [f"{low} to {high}" for low, high in pairwise(numbers)]
    labels = [f"under {numbers[0]}", *labels, f"{numbers[-1]} and over"]
    expected = [
        sum(sum(edge <= x for edge in edges) == at for x in people) for at in range(len(labels))
    ]
    assert sizes == {label: n for label, n in zip(labels, expected, strict=True) if n}
    made = sum(n > 0 for n in expected)
    bins = "1 bin" if made == 1 else f"{made} bins"
    told = [one for one in result.notices if "make only" in one]
    words = f"part: {parts} quantiles of risk make only {bins} with people"
    assert told == ([f"{words}: too many have the same number"] if made < parts else [])


def test_protected_quantiles_and_their_reference(audit_csv: Audit) -> None:
    columns = {"protected": {"risk": {"quantiles": 4, "reference": "under 0.24"}}}
    result = audit_csv(TEXT, spec({"above": "0.1"}, **columns))
    sizes = {row.group[0][1]: row.n for row in result.groups if row.by}
    assert sizes == {
        "under 0.24": 24, "0.24 to 0.49": 25, "0.49 to 0.74": 25, "0.74 and over": 26
    }  # fmt: skip
    columns["protected"]["risk"]["reference"] = "under 0.25"
    with pytest.raises(SpecError, match=r"unknown bin; did you mean 'under 0\.24'"):
        audit_csv(TEXT, spec({"above": "0.1"}, **columns))


def test_each_file_has_its_own_cut(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", [("a", float(at), 1) for at in range(10)])
    write(tmp_path / "b.parquet", [("a", float(at * 100), 1) for at in range(20)])
    (tmp_path / "c.csv").write_text("race,risk\na\n")
    found = fairaudit.audit_each(spec({"above": "median"}), tmp_path)
    told: list[object] = []
    for one in found.values():
        told += [*one.notices] if isinstance(one, AuditResult) else [one]
    assert str(told[0]).startswith("prediction: the cut is 4, the median of risk: 5 above")
    assert str(told[1]).startswith("prediction: the cut is 900, the median of risk: 10 above")
    assert "1 field where the header has 2" in str(told[2])


def test_several_specs_have_their_own_cuts(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(TEXT)
    asked = [spec({"above": "median"}), spec({"top": "3%"}), spec({"above": "0.2"})]
    found = fairaudit.audit_together(asked, path)
    rates = [selected(one) for one in found if isinstance(one, AuditResult)]
    assert rates == [(50, 100), (3, 100), (79, 100)]
    for one, alone in zip(found, asked, strict=True):
        assert isinstance(one, AuditResult)
        expected = fairaudit.audit(alone, path).rates
        assert list(map(repr, one.rates)) == list(map(repr, expected))


def test_a_cut_keeps_the_width_of_its_column(tmp_path: Path) -> None:
    """0.7 as 32 bits hold it is not above the cut that it is itself."""
    frame = pl.DataFrame({"race": ["a"] * 3, "risk": [0.1, 0.7, 0.9]})
    narrow = frame.with_columns(pl.col("risk").cast(pl.Float32))
    narrow.write_parquet(tmp_path / "rows.parquet")
    for data in (tmp_path / "rows.parquet", narrow, frame):
        assert selected(fairaudit.audit(spec({"above": "median"}), data)) == (1, 3)


def test_a_cut_where_no_row_is_left_is_nothing_to_audit(audit_csv: Audit) -> None:
    with pytest.raises(NothingToAudit, match="no rows are left to audit"):
        audit_csv(TEXT, {**spec({"above": "median"}), "filter": "risk > 2"})
    with pytest.raises(NothingToAudit, match="no rows are left to audit"):
        audit_csv("race,risk\n", spec({"above": "median"}))


def test_a_cut_of_nobody_and_of_no_numbers_is_refused(audit_csv: Audit, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no row has a number in the column 'risk'"):
        audit_csv("race,risk\na,\nb,\n", spec({"above": "median"}))
    with pytest.raises(DataError, match=r"1 row holds no number in the column 'risk'; .*csv:3"):
        audit_csv("race,risk\na,1\nb,x\n", spec({"above": "median"}))
    with pytest.raises(SpecError, match="no column 'risk'"):
        audit_csv("race,rsk\na,1\n", spec({"above": "median"}))
    pl.DataFrame({"race": ["a"], "risk": [[1]]}).write_parquet(tmp_path / "lists.parquet")
    with pytest.raises(DataError, match="holds List"):
        fairaudit.audit(spec({"above": "median"}), tmp_path / "lists.parquet")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"positive": {"above": "medain"}}, "expected a number, such as 0.8, or `median`"),
        (
            {"positive": {"top": "300%"}},
            ("a share of the people must be between 0 and 1, or 0% and 100%"),
        ),
        ({"positive": {"top": "few"}}, "expected a share of the people, such as 3% or 0.03"),
        (
            {"positive": {"top": "3%", "at_least": 1}},
            "a threshold by share .* cannot have other keys",
        ),
        (
            {"positive": {"top": "3%", "above": "median"}},
            "a threshold by share .* cannot have other keys",
        ),
        ({"positive": {"above": "median"}, "negative": 0}, "a threshold cannot have `negative`"),
    ],
)
def test_cuts_that_cannot_be_are_faults(columns: dict[str, Any], message: str) -> None:
    asked = spec({}, prediction={"column": "risk", **columns})
    with pytest.raises(SpecError, match=message):
        fairaudit.audit(asked, Path("none.csv"))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({"quantiles": 4, "bins": [1]}, "either .bins. or .quantiles."),
        ({"quantiles": 1}, "a number from 2 to 100"),
        ({"quantiles": 4, "keep": ["a"]}, "a column with bins cannot have"),
    ],
)
def test_quantiles_that_cannot_be_are_faults(column: dict[str, Any], message: str) -> None:
    asked = spec({"above": 1}, protected={"race": column})
    with pytest.raises(SpecError, match=message):
        fairaudit.audit(asked, Path("none.csv"))


def test_quantiles_of_many_rows_are_exact(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    values = np.concatenate([rng.lognormal(0, 3, 30_000), 0.5 + rng.random(3_001) * 1e-12])
    rows = [("a", float(x), 1) for x in values]
    path = write(tmp_path / "rows.parquet", rows)
    ordered = np.sort(values)
    for share in (Fraction(1, 2), Fraction(1, 100), Fraction(2, 5)):
        result = fairaudit.audit(spec({"top": str(float(share))}), path)
        wanted = ordered[-(-(1 - share) * len(values) // 1) - 1]
        (told,) = (one for one in result.notices if "the cut is" in one)
        assert float(told.split(" is ")[1].split(",")[0]) == wanted

"""What a spec costs grows as the spec does; what would cost more is refused, with the limit.

Work is counted in calls, never in seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from cProfile import Profile
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import ATTACKS, long

import fairaudit
from fairaudit.base.errors import FairauditError, SpecError
from fairaudit.base.frozen import replace
from fairaudit.counting.columns import CsvFormat
from fairaudit.counting.plan import Edge, Key, Plan
from fairaudit.counting.routes.polars_numbers import Numbers
from fairaudit.counting.routes.polars_route import interval, intervals_of_texts
from fairaudit.counting.sources.batches import Batch
from fairaudit.counting.sources.profiles import profile_file
from fairaudit.report import content
from fairaudit.report.blocks import Table
from fairaudit.result import AuditResult
from fairaudit.result.rows import ComparisonRow
from fairaudit.spec import checks
from fairaudit.tools import verify

SIZES = (60, 180, 540) if ATTACKS >= 1 else (20, 60, 180)
MOST = 5
"""So many times the first step the second one may cost: 3 is linear, 9 is quadratic."""


def _listed(items: Iterable[object]) -> str:
    return ", ".join(map(str, items))


def _protected(written: str) -> str:
    return (
        f"data: data.csv\ncolumns:\n  protected: {{{written}}}\n"
        "  decision: {column: y, positive: 1}\n"
        "groups: {by: each}\nsimpson: false\nmetrics: [selection_rate]\n"
    )


def _metrics(written: str) -> str:
    return (
        "data: data.csv\ncolumns:\n  protected: [g]\n  score: s\n"
        "  label: {column: y, positive: 1}\n"
        f"simpson: false\nmetrics:\n{written}"
    )


KINDS: dict[str, Callable[[int], str]] = {
    "bins": lambda n: _protected(f"x: {{bins: [{_listed(range(1, n))}]}}"),
    "bins, and a cut": lambda n: _protected(f"x: {{bins: [{_listed(range(1, n))}]}}").replace(
        "{column: y, positive: 1}", "{column: x, positive: {at_least: 3}}"
    ),
    "labels of bins": lambda n: _protected(
        f"x: {{bins: [{_listed(range(1, n))}], labels: "
        f"{{{_listed(f'{i} to {i + 1}: l{i}' for i in range(1, n - 1))}}}}}"
    ),
    "wrong labels of bins": lambda n: _protected(
        f"x: {{bins: [{_listed(range(1, n))}], labels: "
        f"{{{_listed(f'{i} too {i + 1}: l{i}' for i in range(1, n - 1))}}}}}"
    ),
    "labels": lambda n: _protected(
        f"x: {{labels: {{{_listed(f'{i}.0: b' for i in range(n))}}}, keep: [b]}}"
    ),
    "keep": lambda n: _protected(f"x: {{keep: [{_listed(f'{i}.0' for i in range(n))}]}}"),
    "keep nobody": lambda n: _protected(f"x: {{keep: [{_listed(f'{i}.5' for i in range(n))}]}}"),
    "merge": lambda n: _protected(f"x: {{merge: {{o: [{_listed(f'{i}.0' for i in range(n))}]}}}}"),
    "unknown": lambda n: _protected(f"x: {{unknown: [{_listed(range(n))}]}}"),
    "levels": lambda n: _protected(
        f"x: {{levels: [{_listed(range(n))}, {_listed(f'z{i}' for i in range(n))}]}}"
    ),
    "levels that are none": lambda n: _protected(
        f"g: {{levels: [a, b, {_listed(f'z{i}' for i in range(n))}], "
        f"keep: [{_listed(f'y{i}' for i in range(n))}]}}"
    ),
    "rules": lambda n: _protected(
        f"c: {{combine: [g, x], other: o, levels: [a], rule: "
        f"{{{_listed(f'r{i}: {{x: {i}}}' for i in range(n // 6))}}}}}"
    ),
    "positive": lambda n: _protected("g:").replace(
        "y, positive: 1", f"x, positive: [{_listed(range(4, n))}], others: drop, negative: [2]"
    ),
    "metrics that are none": lambda n: _metrics(
        "".join(f"  - selection_rat{i}\n" for i in range(n))
    ),
    "keys that are none": lambda n: (
        _metrics("  - selection_rate\n") + "".join(f"key{i}: 1\n" for i in range(n))
    ),
    "checks": lambda n: _metrics(
        "".join(
            f"  - {{id: c{i}, metric: equal_opportunity_difference, at: [0.5], "
            f"fail: '> 0.{9000 + i}'}}\n"
            for i in range(1, n)
        )
    ),
    "thresholds": lambda n: _metrics(
        "  - {metric: equal_opportunity_difference, fail: '> 0.9', at: "
        f"[{_listed(i / (n // 6 + 1) for i in range(1, n // 6 + 1))}]}}\n"
    ),
}


def _write_data(folder: Path, levels: int) -> None:
    rows = (f"{'ab'[i % 2]},{i % levels},{i % 97 / 97:.3f},{i // 2 % 2}" for i in range(2 * levels))
    (folder / "data.csv").write_text("\n".join(["g,x,s,y", *rows]) + "\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    _write_data(tmp_path, 100)
    return tmp_path


def _count_calls(work: Callable[[], object], module: str = "") -> int:
    """How many calls are made, each step of a generator among them; from one module, or all."""
    profile = Profile(builtins=not module)
    profile.runcall(work)
    return sum(
        entry.callcount
        for entry in profile.getstats()
        if not module or getattr(entry.code, "co_filename", "").endswith(module)
    )


def _audit_whole(path: Path) -> None:
    try:
        result = fairaudit.audit(path)
        result.save(path.with_suffix(".md"))
        result.save(path.with_suffix(".json"))
    except FairauditError:
        pass


QUICK = {"bins", "merge", "rules", "keys that are none", "checks"}


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "route"),
    [
        *((kind, "") if kind in QUICK else long(kind, "") for kind in KINDS),
        long("bins", "lazy"),
    ],
)
def test_costs_grow_as_the_spec_does(
    kind: str, route: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRAUDIT_ROUTE", route)
    path, calls = folder / "spec.yaml", []
    for size in (SIZES[0], *SIZES):
        _write_data(folder, size)
        path.write_text(KINDS[kind](size))
        calls.append(_count_calls(lambda: _audit_whole(path)))
    _, *calls = calls  # what is imported and remembered is paid once
    assert calls[2] - calls[1] <= MOST * (calls[1] - calls[0]) + calls[0] // 2, calls


def test_bins_are_walked_once(folder: Path) -> None:
    path, calls = folder / "spec.yaml", []
    for size in SIZES:
        _write_data(folder, size)
        path.write_text(KINDS["bins"](size))
        calls.append(_count_calls(lambda: _audit_whole(path), "recode/groups.py"))
    assert calls[2] - calls[1] <= MOST * (calls[1] - calls[0]), calls


@pytest.mark.long
def test_checks_are_walked_once(folder: Path) -> None:
    path, calls = folder / "spec.yaml", []
    for size in SIZES:
        path.write_text(KINDS["checks"](size))
        work = partial(_audit_whole, path)
        calls.append(_count_calls(work, "pipeline/plan_builder.py"))
    assert calls[2] - calls[1] <= MOST * (calls[1] - calls[0]), calls


def test_a_first_spec_asks_for_each_column_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A query of Polars reads the names of all columns of its frame."""
    widths: list[int] = []
    select = pl.DataFrame.select

    def watched(frame: pl.DataFrame, *columns: Any, **more: Any) -> pl.DataFrame:
        widths.append(frame.width)
        return select(frame, *columns, **more)

    monkeypatch.setattr(pl.DataFrame, "select", watched)
    path = tmp_path / "wide.csv"
    path.write_text("\n".join(_listed(range(at, at + 40)) for at in (0, 1, 2, 3)) + "\n")
    form = CsvFormat(",", ".", "utf-8", multiline=False)
    profile_file(path, form, lambda _: False, lambda _: ())
    assert sum(widths) < 40 * 10, widths


@pytest.mark.long
def test_suppression_looks_at_each_group_once() -> None:
    """Of each group once, and not once for each other group: in its row, and in those that compare.

    The counts of one group are small, so that there is something to hide.
    """
    calls = []
    for size in SIZES:
        rows = [(f"g{i}", d, 20) for i in range(size) for d in "10"] + [("few", "1", 3)]
        people = pl.DataFrame(rows, ["g", "d", "n"], orient="row")
        spec = {
            "columns": {
                "protected": ["g"], "decision": {"column": "d", "positive": "1"}, "count": "n",
            },
            "metrics": ["selection_rate", {"metric": "impact_ratio", "fail": {"below": 0.8}}],
            "simpson": False,
            "suppress_below": 11,
        }  # fmt: skip
        work = partial(fairaudit.audit, spec, people)
        calls.append(_count_calls(work, "suppress/cell_sets.py"))
    assert calls[2] - calls[1] <= MOST * (calls[1] - calls[0]), calls


class _Walked(tuple[ComparisonRow, ...]):
    """Comparisons that count the loops over all of them."""

    __slots__ = ()
    walks = 0

    def __iter__(self) -> Iterator[ComparisonRow]:
        type(self).walks += 1
        return super().__iter__()


def _audit_strata(strata: int) -> AuditResult:
    """Two groups whose order of selection rates is reversed in every stratum."""
    counts = {"low": {"a": (30, 70), "b": (4, 16)}, "high": {"a": (18, 2), "b": (80, 20)}}
    rows = [
        (group, f"{part}{i}", decision, n)
        for i in range(strata // 2)
        for part, of_group in counts.items()
        for group, both in of_group.items()
        for decision, n in zip("10", both, strict=True)
    ]
    spec = {
        "columns": {
            "protected": ["g"], "strata": ["s"], "decision": {"column": "d", "positive": "1"},
            "count": "n",
        },
        "metrics": [
            {"metric": "selection_rate", "compare": "gap", "given": "s", "fail": {"above": 0.9}},
        ],
    }  # fmt: skip
    return fairaudit.audit(spec, pl.DataFrame(rows, ["g", "s", "d", "n"], orient="row"))


def test_a_report_walks_as_often_through_comparisons_of_many_strata() -> None:
    walks = []
    for strata in (6, 12, 24):
        result = _audit_strata(strata)
        _Walked.walks = 0
        walked = replace(result, comparisons=_Walked(result.comparisons))
        content.document(walked, all_rows=True)
        walks.append(_Walked.walks)
    assert walks[0] > 0
    assert len({*walks}) == 1, walks


@pytest.mark.long
def test_a_report_lists_a_hundred_strata_of_a_reversal_and_counts_the_others() -> None:
    for strata, note in ((100, ""), (130, "Not shown: 30 strata, those with the fewest people")):
        result = _audit_strata(strata)
        (reversal,) = result.reversals
        assert len(reversal.strata) == strata
        (table,) = [
            block
            for block in content.document(result, all_rows=True)
            if isinstance(block, Table) and block.header[-2:] == ["of people", "p"]
        ]
        assert len(table.rows) == 100
        assert table.more.startswith(note)
        assert bool(table.more) is bool(note)


@pytest.mark.long
def test_no_statement_is_nested_as_deep_as_it_has_bins(tmp_path: Path) -> None:
    """DuckDB refuses a statement of a thousand nested sums."""
    duckdb = pytest.importorskip("duckdb")
    _write_data(tmp_path, 2_000)
    with duckdb.connect(str(tmp_path / "d.duckdb")) as database:
        file = tmp_path / "data.csv"
        database.execute(f"CREATE TABLE t AS SELECT * FROM read_csv('{file}')")
    path = tmp_path / "spec.yaml"
    path.write_text(KINDS["bins"](2_000))
    table = fairaudit.audit(path, data=f"duckdb:///{tmp_path}/d.duckdb?table=t")
    counted = {row.group: row.estimate.denominator for row in table.rates if row.by == ("x",)}
    names = ["under 1", *(f"{i} to {i + 1}" for i in range(1, 1_999)), "1999 and over"]
    assert counted == {(("x", name),): 2 for name in names}


def _plan(edges: int) -> Plan:
    keys = (Key("x", tuple(Edge(Decimal(i), beyond=i % 3 == 0) for i in range(edges))),)
    return Plan(keys, ("x",), (), CsvFormat(",", ".", "utf-8", multiline=False))


def test_a_number_is_looked_up_among_its_bins() -> None:
    """The expression of a row is the same of few bins and of many."""
    sizes = []
    for edges in (2, 200):
        plan, frame = _plan(edges), pl.LazyFrame(schema={"x": pl.Float64})
        numbers = Numbers(Batch(frame, frame.collect_schema(), ("",)), plan)
        sizes.append(str(interval(plan.keys[0], numbers)).count("("))
    assert sizes[0] == sizes[1]


def test_bins_beyond_sixteen_bits() -> None:
    """Several attributes may cut one column, each at ten thousand edges."""
    edges = 40_000
    texts = ["-1", "0", "0.5", "1", "3", "3.5", "39999", "39999.5", ""]
    codes = intervals_of_texts(_plan(edges).keys[0], texts, _plan(edges))
    passed = [
        sum(float(text) > i if i % 3 == 0 else float(text) >= i for i in range(edges))
        if text
        else -1
        for text in texts
    ]
    assert codes is not None
    assert codes.tolist() == passed


def _refusal(folder: Path, text: str) -> str:
    path = folder / "spec.yaml"
    path.write_text(text)
    with pytest.raises(SpecError) as caught:
        fairaudit.audit(path)
    return str(caught.value)


def test_more_than_the_limits_is_refused_where_it_stands(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = _refusal(folder, KINDS["bins"](10_001))
    assert "spec.yaml:3:25: " in told
    assert "these values make 10,001 groups, and the maximum is 10,000" in told
    told = _refusal(folder, KINDS["thresholds"](6 * 101))
    assert "spec.yaml:8:" in told
    assert "`at` has 101 thresholds, and the maximum is 100" in told
    told = _refusal(folder, KINDS["rules"](6 * 101))
    assert "`rule` has 101 conditions, and the maximum is 100" in told
    models = _listed(f"m{i}: {{prediction: {{column: y, positive: 1}}}}" for i in range(101))
    told = _refusal(
        folder, _metrics("  - selection_rate\n").replace("score: s", f"models: {{{models}}}")
    )
    assert "spec.yaml:4:" in told
    assert "101 models, and the maximum is 100" in told
    monkeypatch.setattr(checks, "MOST_ASKED", 20)
    told = _refusal(folder, KINDS["checks"](30))
    assert "spec.yaml:28:" in told
    assert "has 21 measures and 21 checks, and the maximum is 20" in told


@pytest.mark.parametrize("role", ["group", "decision", "stratum", "feature"])
@pytest.mark.parametrize("route", ["", "lazy"])
def test_a_text_is_no_level(
    role: str, route: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRAUDIT_ROUTE", route)
    columns = ["group", "decision", "stratum", "feature"]
    header, rows = ",".join(columns), ["a,1,u,k", "b,0,v,l"] * 20
    spec = (
        "data: long.csv\ncolumns:\n  protected: [group]\n  strata: [stratum]\n"
        "  features: [feature]\n  decision: {column: decision, positive: 1}\n"
        "metrics: [selection_rate]\nsubgroups: {min_size: 1}\n"
    )
    long = ["x" * 100_001 if column == role else "1" for column in columns]
    (folder / "long.csv").write_text("\n".join([header, *rows, ",".join(long)]) + "\n")
    told = _refusal(folder, spec)
    line = {"group": 3, "decision": 6, "stratum": 4, "feature": 5}[role]
    assert f"spec.yaml:{line}:" in told
    assert f"'{role}' holds a text of 100,001 characters; a level can have at most 100,000" in told
    assert len(told) < 1_000


def test_the_hundredth_fault_ends_the_search(folder: Path) -> None:
    told = _refusal(folder, KINDS["keys that are none"](1_000))
    assert told.startswith("only the first 100 faults are listed: correct these first\n")
    assert "key99" in told
    assert "key100" not in told


@pytest.mark.parametrize("shown", ["n,selected,rate,ratio", "n,selected", "rate,ratio"])
def test_a_verification_costs_what_its_table_has(shown: str, tmp_path: Path) -> None:
    calls = []
    for size in (30, 90):
        lines = [f"g,h,{shown}"]
        for i in range(size):
            cells = {"n": 999, "selected": 500 + i, "rate": 0.5 + i / 999, "ratio": 0.8 + i / 9999}
            numbers = ",".join(str(cells[name]) for name in shown.split(","))
            lines += [f"a{i},,{numbers}", f"a{i},b{i},{numbers}"]
        path = tmp_path / f"{size}.csv"
        path.write_text("\n".join([*lines, ""]))
        rows = verify.read_table(str(path))
        calls += [
            _count_calls(partial(work, rows))
            for work in (verify.find_faults, partial(verify.can_be_verified, excluded_below=None))
        ]
    assert calls[2] < MOST * calls[0]
    assert calls[3] < MOST * calls[1]

"""A batch into a folder: every file has its report, and the index leads to all of them."""

from __future__ import annotations

import csv
import json
import math
import random
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl
import pytest
from conftest import is_quick

import fairaudit
from fairaudit import audit, cli
from fairaudit.base.errors import UsageError
from fairaudit.base.frozen import replace
from fairaudit.base.processes import Workers
from fairaudit.cli import command_line, files
from fairaudit.cli.app import Request
from fairaudit.pipeline import batch
from fairaudit.pipeline import stages as pipeline
from fairaudit.report.blocks import Cell, Entries, Figure, Heading, Paragraph, Table, Tone
from fairaudit.report.html.plots import axis_names, strokes
from fairaudit.report.numbers import natural, short
from fairaudit.report.pictures import Lines
from fairaudit.report.summary import document, labels
from fairaudit.result import Answer

COLUMNS: dict[str, Any] = {
    "protected": ["group"],
    "decision": {"column": "hired", "positive": "1", "negative": "0"},
}
SPEC: dict[str, Any] = {
    "version": 1,
    "columns": COLUMNS,
    "metrics": [{"metric": "demographic_parity_ratio", "fail": {"below": 0.5}}],
}
HOSTILE = (
    "a<b>&amp;\"'.csv",
    "50 % of #1?.csv",
    "x..y.csv",
    "%2e%2e%2fup.csv",
    "münchen 日本.csv",
    "index.csv",
    "Index.csv",
    "aux.csv",
    "-o.csv",
    "javascript:alert(1).csv",
    "same.csv",
    "SAME.parquet",
    "jan/same.csv",
    "feb/same.csv",
    "jan-same.csv",
    "n" * 200 + ".csv",
)


def rows(chance: random.Random, gap: float = 0.0) -> pl.DataFrame:
    groups = [chance.choice("ab") for _ in range(40)]
    hired = [int(chance.random() < 0.6 - gap * (one == "b")) for one in groups]
    return pl.DataFrame({"group": groups, "hired": hired})


def exports(path: Path) -> list[str]:
    """200 files: 20 with a gap, three broken ones, and names that nobody should give a file."""
    chance = random.Random(20240131)
    names = [*HOSTILE, *(f"day {at}.csv" for at in range(200 - len(HOSTILE) - 3))]
    for at, name in enumerate(names):
        one = path / name
        one.parent.mkdir(parents=True, exist_ok=True)
        frame = rows(chance, gap=0.55 if at % 10 == 0 else 0.0)
        frame.write_parquet(one) if name.endswith("parquet") else frame.write_csv(one)
    (path / "ragged.csv").write_text("group,hired\na,1\nb\n")
    (path / "lacks.csv").write_text("group,fired\na,1\nb,0\n")
    rows(chance).write_parquet(path / "cut.parquet")
    whole = (path / "cut.parquet").read_bytes()
    (path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    return [*names, "ragged.csv", "lacks.csv", "cut.parquet"]


class _Links(HTMLParser):
    """The addresses of a page, and its texts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.texts: list[str] = []
        self.tags: Counter[str] = Counter()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.links += [value or "" for name, value in attrs if tag == "a" and name == "href"]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a spec, to run the command in."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.yaml").write_text(json.dumps(SPEC))
    return tmp_path


def listed(path: Path) -> list[dict[str, Any]]:
    """The audits that the index of a folder lists."""
    found: list[dict[str, Any]] = json.loads((path / "index.json").read_text("utf-8"))["audits"]
    return found


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file, strict=True))


@pytest.mark.long
def test_200_files_and_three_broken_ones(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = exports(place / "exports")
    assert len(names) == 200
    assert cli.run_line(["run", "spec.yaml", "--data", "exports", "-o", "reports/", "-q"]) == 2
    told = capsys.readouterr()
    reports = place / "reports"
    audits = listed(reports)
    assert {one["data"] for one in audits} == {f"exports/{name}" for name in names}
    words = Counter(one["verdict"] for one in audits)
    assert words["error"] == 3
    assert words["fail"] >= 15
    assert words["error"] + words["fail"] + words["pass"] == 200
    errors = {one["data"]: one["error"] for one in audits if one["verdict"] == "error"}
    assert "exports/ragged.csv:3" in errors["exports/ragged.csv"]
    assert "'hired'" in errors["exports/lacks.csv"]
    assert "exports/cut.parquet" in errors["exports/cut.parquet"]
    assert all(name in told.err for name in errors)

    # Every report is there, holds what it says, and no other file does.
    written = [name for one in audits for name in one["reports"].values()]
    assert len({name.casefold() for name in written}) == len(written) == 400
    assert {path.name for path in reports.iterdir()} == {
        *written,
        *("index.html", "index.json", "summary.csv", "checks.csv"),
    }
    assert {path.name for path in place.iterdir()} == {"spec.yaml", "exports", "reports"}
    for one in audits:
        tree = json.loads((reports / one["reports"]["json"]).read_text("utf-8"))
        assert tree["summary"]["verdict"] == one["verdict"]
        if one["verdict"] != "error":
            assert [file["path"] for file in tree["provenance"]["files"]] == [one["data"]]

    # The index lists all, worst first, and each link leads to the report of that file.
    page = _Links((reports / "index.html").read_text("utf-8"))
    pages = [link for link in page.links if "://" not in link and not link.startswith("#")]
    assert sorted(unquote(link) for link in pages) == sorted(
        one["reports"]["html"] for one in audits
    )
    assert [unquote(link) for link in pages[:3]] == ["cut.html", "lacks.html", "ragged.html"]
    for link in pages:
        assert (reports / unquote(link)).resolve().parent == reports.resolve()
        assert (reports / unquote(link)).is_file()
        assert not set(link) & set(' <>"#?:/\\')
    text = " ".join(page.texts)
    assert all(name in text for name in errors)
    assert "a<b>&amp;\"'.csv" in text
    assert page.tags["b"] == 0
    assert page.tags["svg"] >= 1

    # The lists say the same.
    found = table(reports / "summary.csv")
    assert [one["verdict"] for one in found] == [one["verdict"] for one in audits]
    assert [one["rows"] for one in found] == ["" if one["error"] else "40" for one in found]
    checks = table(reports / "checks.csv")
    assert len(checks) == 197
    for one in checks:
        tree = json.loads((reports / one["report"]).read_text("utf-8"))["checks"][0]
        assert (one["status"], one["check"]) == (tree["status"], tree["id"])
        assert (float(one["value"]) if one["value"] else None) == tree["value"]


def test_equal_files_make_equal_folders(place: Path) -> None:
    rows(random.Random(1)).write_csv(place / "a.csv")
    rows(random.Random(2)).write_csv(place / "b.csv")
    written = []
    for name in ("one", "two"):
        (place / name).mkdir()
        assert cli.run_line(["run", "spec.yaml", "--data", "*.csv", "-o", name, "-q"]) in {0, 1}
        written.append({path.name: path.read_bytes() for path in (place / name).iterdir()})
    assert written[0] == written[1]


@pytest.mark.long
def test_processes_write_what_one_writes(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken files, quantiles of each file, and what `--only` leaves out are as in one process."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    for number in range(3):
        rows(random.Random(number)).write_csv(place / f"{number}.csv")
    (place / "ragged.csv").write_text("group,hired\na,1\nb\n")
    (place / "lacks.csv").write_text("group,fired\na,1\nb,0\n")
    (place / "none.csv").write_text("group,hired\n")
    cut = {"column": "hired", "positive": {"above": "median"}}
    check = {"metric": "impact_ratio", "warn": {"below": 0.9}}
    other = {**SPEC, "columns": {**COLUMNS, "decision": cut}, "metrics": [*SPEC["metrics"], check]}
    (place / "cut.yaml").write_text(json.dumps(other))
    lines = (
        ["run", "spec.yaml", "cut.yaml", "--data", "*.csv"],
        ["run", "cut.yaml", "--data", "*.csv", "--only", "impact*", "--fail-on", "never"],
    )
    for specs, line in [(1, lines[1])] if is_quick() else [(2, lines[0]), (1, lines[1])]:
        written, told = [], []
        for jobs in ("1", "2"):
            (place / jobs).mkdir(exist_ok=True)
            assert cli.run_line([*line, "-o", f"{jobs}/", "-q", "--jobs", jobs]) == 2
            written.append({path.name: path.read_bytes() for path in (place / jobs).iterdir()})
            streams = capsys.readouterr()
            told.append([row.rsplit("  ", 1)[0] for row in (streams.out + streams.err).split("\n")])
        assert written[0] == written[1]
        assert [row.replace("2: ", "1: ") for row in told[1]] == told[0]
        words = Counter(audit["verdict"] for audit in listed(place / "2"))
        assert words["error"] + words["nothing"] == 3 * specs
        assert words.total() == 6 * specs


@pytest.mark.long
def test_a_spec_that_changes_under_way_gives_no_verdict(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(2):
        rows(random.Random(number)).write_csv(place / f"{number}.csv")

    def change(*arguments: Any, **options: Any) -> Any:
        (place / "spec.yaml").write_text(json.dumps({**SPEC, "title": "another one"}))
        return pipeline.count_files(*arguments, **options)

    monkeypatch.setattr("fairaudit.pipeline.batch.count_files", change)
    with Workers(2) as workers:
        answers = batch.answer([Path("spec.yaml")], "*.csv", workers=workers)
    assert [str(answer.result) for answer in answers] == [
        "spec.yaml was changed during the run\n  hint: run again"
    ] * 2


def test_a_single_audit_has_a_folder_too(place: Path) -> None:
    rows(random.Random(1)).write_csv(place / "a.csv")
    assert cli.run_line(["run", "spec.yaml", "--data", "a.csv", "-o", "new/deep/", "-q"]) in {0, 1}
    assert [one["reports"]["json"] for one in listed(place / "new" / "deep")] == ["a.json"]


def test_other_files_are_left_alone(place: Path) -> None:
    for name in ("a", "b", "c"):
        rows(random.Random(name)).write_csv(place / f"{name}.csv")
    reports = place / "reports"
    reports.mkdir()
    (reports / "mine.html").write_text("mine")
    (reports / "mine.json").write_text("mine")
    line = ["run", "spec.yaml", "-o", "reports", "-q", "--data"]
    cli.run_line([*line, "*.csv"])
    (place / "c.csv").unlink()
    cli.run_line([*line, "*.csv"])
    assert [one["data"] for one in listed(reports)] == ["a.csv", "b.csv"]
    assert "c.html" not in (reports / "index.html").read_text()
    assert (reports / "c.json").exists()
    assert (reports / "mine.html").read_text() == (reports / "mine.json").read_text() == "mine"


@pytest.mark.parametrize(
    "left", ["[", '{"audits": [{"reports": {"json": "../spec.yaml"}}]}', "[1]"]
)
def test_an_index_that_is_not_ours_is_no_obstacle(place: Path, left: str) -> None:
    rows(random.Random(1)).write_csv(place / "a.csv")
    (place / "reports").mkdir()
    (place / "reports" / "index.json").write_text(left)
    assert cli.run_line(["run", "spec.yaml", "--data", "a.csv", "-o", "reports"]) in {0, 1}
    assert len(listed(place / "reports")) == 1


def test_where_nothing_is_found_the_folder_says_so(place: Path) -> None:
    rows(random.Random(1)).write_csv(place / "a.csv")
    line = ["run", "spec.yaml", "--data", "*.csv", "-o", "reports/", "-q"]
    assert cli.run_line(line) in {0, 1}
    (place / "a.csv").unlink()
    assert cli.run_line(line) == 3
    assert [one["verdict"] for one in listed(place / "reports")] == ["nothing"]


@pytest.mark.parametrize("outcome", [COLUMNS["decision"], {**COLUMNS["decision"], "column": "x"}])
def test_what_a_folder_of_data_holds_beside_is_told_once(
    place: Path, capsys: pytest.CaptureFixture[str], outcome: dict[str, Any]
) -> None:
    """Also where each file has an error; files that are not read change no exit code."""
    (place / "spec.yaml").write_text(
        json.dumps({**SPEC, "columns": {**COLUMNS, "decision": outcome}})
    )
    (place / "f").mkdir()
    for name in ("a.csv", "b.csv"):
        rows(random.Random(1)).write_csv(place / "f" / name)
    line = ["run", "spec.yaml", "--data", "f", "-o", "reports/"]
    code = cli.run_line(line)
    assert "not read" not in "".join(capsys.readouterr())
    for name in "1234567":
        (place / "f" / f"{name}.docx").write_text("?")
    assert cli.run_line(line) == code
    shown = ", ".join(f"'{name}.docx'" for name in "12345")
    told = f"7 other files in f are not read: {shown}, …"
    printed = capsys.readouterr()
    assert told in " ".join(printed.out.split())
    assert printed.err.count(told) == 1
    reports = place / "reports"
    assert json.loads((reports / "index.json").read_text("utf-8"))["notices"] == [told]
    assert told in " ".join(_Links((reports / "index.html").read_text("utf-8")).texts)


def test_a_spec_that_cannot_be_read_stops_no_other(place: Path) -> None:
    for name in ("a", "b"):
        rows(random.Random(name)).write_csv(place / f"{name}.csv")
    (place / "bad.yaml").write_text("version: 1\ncolumns: 3\n")
    line = ["run", "bad.yaml", "spec.yaml", "--data", "*.csv", "-o", "reports/", "-q"]
    assert cli.run_line(line) == 2
    found = listed(place / "reports")
    assert [(one["spec"], one["data"]) for one in found] == [
        ("bad.yaml", "*.csv"),
        ("spec.yaml", "a.csv"),
        ("spec.yaml", "b.csv"),
    ]
    assert [one["reports"]["json"] for one in found] == ["bad.json", "spec-a.json", "spec-b.json"]


def test_what_is_no_folder_is_refused_before_anything_is_read(place: Path) -> None:
    (place / "file").write_text("")
    line = ["run", "no such spec.yaml", "-o"]
    for name, why in (
        ("file/", "File exists"),
        ("file/x/", "Not a directory"),
        ("reports", "suffix"),
    ):
        with pytest.raises(UsageError, match=why):
            command_line("run").main([*line, name], standalone_mode=False, obj=Request())


def test_a_folder_that_is_called_like_a_report_is_meant_only_with_a_slash(place: Path) -> None:
    rows(random.Random(1)).write_csv(place / "a.csv")
    (place / "all.json").mkdir()
    line = ["run", "spec.yaml", "--data", "a.csv", "-q", "-o"]
    assert cli.run_line([*line, "all.json"]) == 2
    assert not [*(place / "all.json").iterdir()]
    assert cli.run_line([*line, "all.json/"]) in {0, 1}
    assert len(listed(place / "all.json")) == 1


NOTHING = UsageError("no")


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ([("s.yaml", None)], ["s"]),
        ([("a/s.yaml", None), ("b/s.yaml", None)], ["a-s", "b-s"]),
        ([("s.yaml", "x/d.csv"), ("t.yaml", "x/d.csv")], ["s-d", "t-d"]),
        ([("s.yaml", "d.csv"), ("s.yaml", "d.parquet")], ["d.csv", "d.parquet"]),
        ([("s.yaml", "d.csv.gz"), ("s.yaml", "D.csv")], ["d.csv.gz", "D.csv"]),
        ([("s.yaml", "p/d.csv"), ("s.yaml", "q/d.csv")], ["p-d", "q-d"]),
        ([("s.yaml", "a b.csv"), ("s.yaml", "a#b.csv")], ["a-b", "a-b-2"]),
        ([("s.yaml", "../../d.csv"), ("s.yaml", "summary.csv")], ["d", "summary.csv"]),
        ([("s.yaml", "checks.csv"), ("s.yaml", "nul.txt")], ["checks.csv", "data-nul"]),
        ([("s.yaml", "...csv"), ("s.yaml", "2024.01.31.csv.zst")], ["data", "2024.01.31"]),
    ],
)
def test_names_are_safe_and_no_two_alike(
    asked: list[tuple[str, str | None]], expected: list[str]
) -> None:
    found = files.file_names(asked)
    assert found == expected


def test_names_that_are_equal_to_a_file_system_are_not_both_used() -> None:
    composed, apart = "caf\u00e9.csv", "cafe\u0301.csv"
    first, second = files.file_names([("s", composed), ("s", apart)])
    assert first.casefold() != second.casefold()
    (long,) = files.file_names([("s", "é" * 300 + "1.csv")])
    assert len(long.encode()) <= 120
    assert long.endswith("1")


def test_labels_leave_out_what_all_share() -> None:
    def of(*asked: tuple[str, str | None]) -> list[str]:
        return labels([Answer(spec, data, NOTHING) for spec, data in asked])

    assert of(("s.yaml", "x/y/1.csv"), ("s.yaml", "x/z/2.csv")) == ["y/1.csv", "z/2.csv"]
    assert of(("p/s.yaml", None), ("p/t.yaml", None)) == ["s.yaml", "t.yaml"]
    assert of(("s.yaml", "x/1.csv"), ("t.yaml", "x/2.csv")) == ["s.yaml 1.csv", "t.yaml 2.csv"]
    assert of(("s.yaml", "/x/1.csv"), ("s.yaml", "2.csv")) == ["/x/1.csv", "2.csv"]
    assert len(short("a" * 100)) <= 36
    assert sorted(["10", "2b", "2a", "a", "02"], key=natural) == ["02", "2a", "2b", "10", "a"]


NOBODY = -1


@pytest.fixture
def audits(tmp_path: Path) -> Callable[..., list[Answer]]:
    """Answers to a spec on files: 8 of 10 in group a are hired, so many of 10 in group b."""

    def made(*hired: int | None, **more: Any) -> list[Answer]:
        found = []
        for at, count in enumerate(hired):
            name = f"day {at}.csv"
            if count is None:
                found.append(Answer("spec.yaml", name, UsageError("broken")))
                continue
            best = 8 if count != NOBODY else 0
            people = [("a", int(row < best)) for row in range(10)]
            people += [("b", int(row < count)) for row in range(10)]
            columns = {name: [who for who, _ in people] for name in ("group", *"xyz")}
            frame = pl.DataFrame({**columns, "hired": [hired for _, hired in people]})
            frame.write_csv(tmp_path / name)
            result = audit({**SPEC, **more}, tmp_path / name)
            found.append(Answer("spec.yaml", name, result))
        return found

    return made


def test_the_summary_says_who_is_worst_and_which_checks_fail(
    audits: Callable[..., list[Answer]],
) -> None:
    two = [*SPEC["metrics"], {"metric": "demographic_parity_difference", "warn": {"above": 0.3}}]
    answers = audits(8, 7, None, 2, 1, *[6] * 7, metrics=two)
    answers[0], answers[9] = answers[9], answers[0]
    blocks = document(answers)
    last, summary, checks = [one for one in blocks if isinstance(one, Table)]
    assert [*last.header] == ["check", "day 10.csv", "day 11.csv"]
    verdict = next(one for one in blocks if isinstance(one, Entries))
    assert verdict.rows == [
        (Cell("ERROR", Tone.BAD), "12 audits: 1 error, 2 fail, 9 pass, worst first")
    ]
    names = [row[0].text for row in summary.rows]
    assert names[:5] == ["day 2.csv", "day 3.csv", "day 4.csv", "day 0.csv", "day 1.csv"]
    assert names[-2:] == ["day 10.csv", "day 11.csv"]
    assert [cell.text for cell in checks.rows[0]] == [
        "demographic_parity_ratio/group/decision", "2", "0", "9", "11",
    ]  # fmt: skip
    assert [cell.text for cell in checks.rows[1]][1:] == ["0", "2", "9", "11"]


def test_a_trend_has_a_point_for_each_number_in_natural_order(
    audits: Callable[..., list[Answer]],
) -> None:
    hired = (8, None, 0, 4, 6, 6, 6, 6, 6, 6, 6, 2)
    figure = next(one for one in document(audits(*hired)) if isinstance(one, Figure))
    assert isinstance(figure.picture, Lines)
    (line,) = figure.picture.lines
    wanted = {f"day {at}.csv": count / 8 for at, count in enumerate(hired) if count is not None}
    drawn = {point.x: point.y for point in line.points if math.isfinite(point.y)}
    assert drawn == pytest.approx(wanted)
    assert [point.x for point in line.points] == [f"day {at}.csv" for at in range(12)]
    (rule,) = figure.picture.limits
    assert (rule.value, rule.limit) == (0.5, "fail")
    words = "from 0.0000 (day 2.csv) to 1.0000 (day 0.csv); fail below 0.5."
    assert figure.description == words


def test_many_files_stand_by_their_numbers_and_leave_gaps(
    audits: Callable[..., list[Answer]],
) -> None:
    (figure,) = _figures(audits(*[8] * 9, NOBODY, *[4] * 6))
    assert isinstance(figure.picture, Lines)
    points = figure.picture.lines[0].points
    assert [point.x for point in points] == [*range(1, 17)]
    assert [point.x for point in points if math.isnan(point.y)] == [10]
    assert figure.picture.x == "file, from day 0.csv to day 15.csv"
    assert figure.description == "from 0.5000 (11) to 1.0000 (1); fail below 0.5."


def test_every_point_has_its_interval(audits: Callable[..., list[Answer]]) -> None:
    answers = audits(6, 6)
    (figure,) = _figures([replace(answers[0], data=f"{at}.csv") for at in range(61)])
    assert isinstance(figure.picture, Lines)
    assert all(point.low is not None for point in figure.picture.lines[0].points)


def test_undefined_values_are_no_points(audits: Callable[..., list[Answer]]) -> None:
    (figure,) = _figures(audits(8, 4, NOBODY, 0))
    assert isinstance(figure.picture, Lines)
    (line,) = figure.picture.lines
    assert [point.x for point in line.points] == [f"day {at}.csv" for at in range(4)]
    drawn = [[dot.x for dot in stroke] for stroke in strokes(figure.picture, line)]
    assert [len(stroke) for stroke in drawn] == [2, 1], "day 2 is a gap in the line"
    assert _figures(audits(NOBODY, 4, NOBODY)) == []


MONTHS = "sex,job,hired,n\n"
JOBS = {
    "a": "F,a,1,20\nF,a,0,70\nM,a,1,40\nM,a,0,60\n",
    "b": "F,b,1,20\nF,b,0,70\nM,b,1,40\nM,b,0,60\n",
}


def test_lines_of_other_strata_share_one_axis_in_the_order_of_the_files(tmp_path: Path) -> None:
    """The job `a` lacks February, and `b` has only February and April."""
    for month, jobs in enumerate(("a", "b", "a", "ab"), start=1):
        rows = "".join(JOBS[job] for job in jobs)
        (tmp_path / f"2025-0{month}.csv").write_text(MONTHS + rows)
    spec = {
        "columns": {
            "protected": ["sex"],
            "decision": {"column": "hired", "positive": "1"},
            "count": "n",
            "strata": ["job"],
        },
        "metrics": [{"metric": "impact_ratio", "given": "job", "fail": {"below": 0.8}}],
    }
    results = fairaudit.audit_each(spec, str(tmp_path / "*.csv"))
    (figure,) = _figures([Answer("spec", name, result) for name, result in results.items()])
    assert isinstance(figure.picture, Lines)
    assert [Path(name).name for name in axis_names(figure.picture)] == [
        f"2025-0{month}.csv" for month in (1, 2, 3, 4)
    ]
    runs = {
        line.label: [len(stroke) for stroke in strokes(figure.picture, line)]
        for line in figure.picture.lines
    }
    assert runs == {"F × a": [1, 2], "F × b": [1, 1]}


@pytest.mark.long
def test_many_checks_are_drawn_worst_first_and_the_rest_is_told(
    audits: Callable[..., list[Answer]],
) -> None:
    limits = {
        "demographic_parity_ratio": ("below", 0.3, 0.6, 0.9),
        "demographic_parity_difference": ("above", 0.5, 0.3, 0.1),
        "impact_ratio": ("below", 0.3, 0.6, 0.9),
    }
    spec = {
        "columns": {**COLUMNS, "protected": ["x", "y", "z"]},
        "metrics": [
            {"metric": metric, "by": [name], "fail": {side: limit}}
            for metric, (side, *each) in limits.items()
            for name, limit in zip("xyz", each, strict=True)
        ],
    }
    figures = _figures(audits(8, 6, 4, 2, **spec))
    assert len(figures) == 6
    pictures = [one.picture for one in figures]
    drawn = [tuple(r.value for r in one.limits) for one in pictures if isinstance(one, Lines)]
    # Of the ratios 1, 0.75, 0.5 and 0.25 three are below 0.9, two below 0.6, one below 0.3.
    assert drawn == [(0.9,), (0.1,), (0.9,), (0.6,), (0.3,), (0.6,)]
    text = "Not shown: 3 checks as pictures, those that fail most often come first."
    assert _texts(audits(8, 6, 4, 2, **spec))[-1] == text


def test_each_group_has_a_line_of_its_own_the_worst_first() -> None:
    """Where another group is the worst, no line leads from the one to the other."""
    spec = {
        "columns": {**COLUMNS, "count": "n"},
        "metrics": [{"metric": "selection_rate", "fail": {"below": "0.1"}}],
    }
    shares = {"a": (20, 60, 60), "b": (50, 40, 30), "c": (70, 70, 70)}
    answers = []
    for at in range(3):
        found = [
            {"group": group, "hired": hired, "n": n}
            for group, several in shares.items()
            for hired, n in ((1, several[at]), (0, 100 - several[at]))
        ]
        answers.append(Answer("s.yaml", f"{at}.csv", fairaudit.audit(spec, pl.DataFrame(found))))
    (figure,) = _figures(answers)
    assert isinstance(figure.picture, Lines)
    lines = {line.label: [point.y for point in line.points] for line in figure.picture.lines}
    assert lines == {
        group: [pytest.approx(one / 100) for one in several] for group, several in shares.items()
    }
    assert [point.x for point in figure.picture.lines[0].points] == ["0.csv", "1.csv", "2.csv"]
    assert [*lines] == ["b", "a", "c"]
    assert "a: from 0.2000 (0.csv) to 0.6000 (1.csv);" in figure.description


def _texts(answers: list[Answer]) -> list[str]:
    return [one.text for one in document(answers) if isinstance(one, Paragraph)]


def _figures(answers: list[Answer]) -> list[Figure]:
    return [one for one in document(answers) if isinstance(one, Figure)]


def test_a_long_summary_is_cut_and_says_what_it_leaves_out() -> None:
    answers = [Answer("s.yaml", f"{at}.csv", UsageError("broken")) for at in range(300)]
    (table_,) = [one for one in document(answers) if isinstance(one, Table)]
    assert len(table_.rows) == 24
    assert "and 276 more (276 error)" in table_.more
    (whole,) = [one for one in document(answers, all_rows=True) if isinstance(one, Table)]
    assert len(whole.rows) == 300


def test_a_series_begins_with_what_changed_and_shows_its_gaps(tmp_path: Path) -> None:
    """Of 100 men 80 are selected each month, of 100 women 72, 76 and 20; April has no file."""
    head = "sex,decision,n\n"
    for month, women in (("02", 72), ("03", 76), ("05", 20)):
        cells = [f"f,1,{women}", f"f,0,{100 - women}", "m,1,80", "m,0,20"]
        (tmp_path / f"2026-{month}.csv").write_text(head + "\n".join(cells) + "\n")
    decision = {"column": "decision", "positive": 1}
    spec = {
        "columns": {"protected": ["sex"], "decision": decision, "count": "n"},
        "metrics": [{"metric": "impact_ratio", "fail": {"below": 0.8}}],
    }
    results = fairaudit.audit_each(spec, tmp_path)
    answers = [Answer("s.yaml", name, result) for name, result in results.items()]
    blocks = document(answers, all_rows=True)
    assert [one.text for one in blocks if isinstance(one, Heading)][:3] == [
        "Summary", "What changed last", "All audits",
    ]  # fmt: skip
    table = next(one for one in blocks if isinstance(one, Table))
    assert [*table.header[1:]] == ["2026-03.csv", "2026-05.csv"]
    assert [cell.text for cell in table.rows[0][1:]] == ["PASS 0.9500", "FAIL 0.2500"]
    (figure,) = [one for one in blocks if isinstance(one, Figure)]
    assert isinstance(figure.picture, Lines)
    (line,) = figure.picture.lines
    assert [str(point.x)[:7] for point in line.points] == [
        "2026-02",
        "2026-03",
        "2026-04",
        "2026-05",
    ]
    assert [math.isnan(point.y) for point in line.points] == [False, False, True, False]

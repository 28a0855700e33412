"""Several specs, and several files: each answer as if it were the only one, from shared scans."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fairaudit import audit, audit_each, audit_together, cli
from fairaudit.base.errors import DataError, FairauditError, NothingToAudit, SpecError, UsageError
from fairaudit.counting import polars_engine as routes
from fairaudit.cube import GroupTable
from fairaudit.pipeline import tables
from fairaudit.report import json as report_json
from fairaudit.result import Answer, AuditResult, exit_code

ROWS: dict[str, list[Any]] = {
    "race": ["a", "a", "b", "b", "b", None],
    "sex": ["f", "m", "f", "m", "m", "f"],
    "y": [1, 0, 1, 0, 1, 0],
    "p": [1, 1, 0, 0, 1, 1],
    "s": [0.9, 0.1, 0.4, 0.6, 0.5, 0.2],
    "w": [1.5, 0.25, 2.0, 1.0, 0.75, 1.0],
}
LABEL = {"column": "y", "positive": 1}
RATE = {"metrics": [{"metric": "demographic_parity_ratio", "fail": {"below": 0.2}}]}
SPECS: dict[str, dict[str, Any]] = {
    "plain": {
        "columns": {
            "protected": ["race"],
            "label": LABEL,
            "prediction": {"column": "p", "positive": 1},
        },
        **RATE,
    },
    "cut": {
        "columns": {
            "protected": ["sex"],
            "prediction": {"column": "s", "positive": {"at_least": 0.5}},
        },
        **RATE,
    },
    "cut elsewhere": {
        "columns": {
            "protected": {
                "race": {"merge": {"all": ["a", "b"]}},
                "score": {"column": "s", "bins": [0.4]},
            },
            "decision": {"column": "s", "positive": {"above": 0.2, "below": 0.9}},
        },
        "missing": {"protected": "group"},
        **RATE,
    },
}  # fmt: skip
WEIGHTED = {**SPECS["plain"], "columns": {**SPECS["plain"]["columns"], "weight": "w"}}


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many files each pass over the data counted."""
    found: list[int] = []
    count = routes.count_by_route

    def seen(plan: Any, ready: Any, *rest: Any, **options: Any) -> Any:
        found.append(len(ready))
        return count(plan, ready, *rest, **options)

    monkeypatch.setattr("fairaudit.counting.polars_engine.count_by_route", seen)
    return found


def write(path: Path, rows: dict[str, list[Any]] | None = None) -> Path:
    """A file of rows, of the kind that its name says."""
    frame = pl.DataFrame(rows or ROWS)
    frame.write_parquet(path) if path.suffix == ".parquet" else frame.write_csv(path)
    return path


def said(result: AuditResult | FairauditError) -> dict[str, Any]:
    """What a result says, but for when it was made, and by which route it was counted."""
    assert isinstance(result, AuditResult), result
    tree = report_json.document(result)
    return {**tree, "provenance": {**tree["provenance"], "created": None, "route": None}}


@pytest.mark.parametrize("name", ["data.csv", "data.parquet"])
def test_specs_of_the_same_file_share_one_pass(
    tmp_path: Path, passes: list[int], name: str
) -> None:
    path = write(tmp_path / name)
    together = audit_together(SPECS.values(), path)
    assert passes == [1]
    assert [said(one) for one in together] == [said(audit(one, path)) for one in SPECS.values()]


def test_specs_that_count_otherwise_have_passes_of_their_own(
    tmp_path: Path, passes: list[int]
) -> None:
    path = write(tmp_path / "data.csv")
    specs = [SPECS["plain"], WEIGHTED, {**SPECS["cut"], "filter": "sex = 'f'"}, SPECS["cut"]]
    together = audit_together(specs, path)
    assert len(passes) == 3
    assert [said(one) for one in together] == [said(audit(one, path)) for one in specs]


def test_cells_beyond_the_budget_are_not_counted_together(
    tmp_path: Path, passes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "data.csv")
    monkeypatch.setattr("fairaudit.counting.polars_engine.MOST_CELLS", 6)
    together = audit_together([SPECS["plain"], SPECS["cut"]], path)
    assert len(passes) == 2
    first, second = together
    assert isinstance(first, AuditResult)
    assert isinstance(second, AuditResult)
    assert "counted in a separate pass" not in str(first.notices)
    assert "counted in a separate pass: together with other specs it would have over 6" in str(
        second.notices
    )


def test_a_cube_beyond_the_budget_names_its_widest_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "data.csv", {**ROWS, "race": list("abcdef")})
    monkeypatch.setattr("fairaudit.counting.polars_engine.MOST_CELLS", 5)
    with pytest.raises(DataError, match=r"6 combinations .* 'race' alone has 6 levels"):
        audit(SPECS["plain"], path)
    monkeypatch.setattr("fairaudit.counting.polars_engine.MOST_CELLS", 6)
    audit(SPECS["plain"], path)


def test_a_spec_that_fails_stops_no_other(tmp_path: Path) -> None:
    path = write(tmp_path / "data.csv")
    typo: dict[str, Any] = {"columns": {"protected": ["rase"], "decision": LABEL}, **RATE}
    bad = {"columns": {"protected": ["race"], "decision": {"column": "w", "positive": 7}}, **RATE}
    first, second, third = audit_together([typo, bad, SPECS["plain"]], path)
    assert isinstance(first, SpecError)
    assert "did you mean 'race'?" in str(first)
    assert isinstance(second, SpecError)
    assert "the positive value '7' never occurs" in str(second)
    assert said(third) == said(audit(SPECS["plain"], path))


def test_a_number_that_is_none_stops_only_the_spec_that_needs_it(tmp_path: Path) -> None:
    path = write(tmp_path / "data.csv", {**ROWS, "s": ["0.9", "0.1", "0.4", "much", "0.5", "0.2"]})
    plain, cut = audit_together([SPECS["plain"], SPECS["cut"]], path)
    assert said(plain) == said(audit(SPECS["plain"], path))
    assert isinstance(cut, DataError)
    assert "data.csv:5" in str(cut)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("name", SPECS)
def test_many_files_have_a_pass_and_a_result_each(
    tmp_path: Path, passes: list[int], kind: str, name: str
) -> None:
    paths = [tmp_path / f"{at}.{kind}" for at in range(7)]
    for at, path in enumerate(paths):
        write(path, {key: values[at % 2 :] for key, values in ROWS.items()})
    each = audit_each(SPECS[name], tmp_path)
    assert passes == [1] * 7
    alone = [audit(SPECS[name], path) for path in paths]
    assert [said(one) for one in each.values()] == [said(one) for one in alone]


def spoilt(folder: Path) -> Iterator[tuple[str, type[FairauditError]]]:
    """Files that cannot be audited, each with the error it has."""
    (folder / "3.csv").write_text("race,sex,y,p,s\na,f,1\n")
    yield "3.csv", DataError
    (folder / "4.csv").write_text("race,sex,y\na,f,1\n")
    yield "4.csv", SpecError
    (folder / "5.csv").write_text("race,sex,y,p,s,w\n")
    yield "5.csv", NothingToAudit
    (folder / "6.csv").write_text("race,sex,y,p,s,w\na,f,1,1,much,1\na,f,1,0,1,1\n")
    yield "6.csv", DataError


def test_a_broken_file_stops_no_other(tmp_path: Path) -> None:
    for at in range(3):
        write(tmp_path / f"{at}.csv")
    bad = dict(spoilt(tmp_path))
    each = audit_each(SPECS["cut"], tmp_path / "*.csv")
    found = {Path(name).name: one for name, one in each.items()}
    assert {name: type(found[name]) for name in bad} == bad
    assert "6.csv:2" in str(found["6.csv"])
    assert said(found["0.csv"])["groups"] == said(audit(SPECS["cut"], tmp_path / "0.csv"))["groups"]


def test_our_own_crash_over_one_file_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for at in range(3):
        write(tmp_path / f"{at}.csv")
    tabulate = tables.tabulate
    calls = []

    def crash(*arguments: Any, **options: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 2:
            raise RuntimeError("secret")
        return tabulate(*arguments, **options)

    monkeypatch.setattr("fairaudit.pipeline.stages.tabulate", crash)
    first, second, third = audit_each(SPECS["plain"], tmp_path).values()
    assert isinstance(first, AuditResult)
    assert isinstance(third, AuditResult)
    assert str(second).startswith("internal error in fairaudit: RuntimeError\n")
    assert isinstance(second, FairauditError)
    assert isinstance(second.__cause__, RuntimeError)


def test_an_audit_leaves_nothing_in_memory(tmp_path: Path) -> None:
    """What is remembered of a table goes with it: a batch of many files does not grow."""
    path = write(tmp_path / "data.csv")
    audit(SPECS["plain"], path)
    gc.collect()
    before = sum(isinstance(one, GroupTable) for one in gc.get_objects())
    for _ in range(3):
        audit(SPECS["plain"], path)
    gc.collect()
    assert sum(isinstance(one, GroupTable) for one in gc.get_objects()) <= before


def test_the_worst_exit_code_wins(tmp_path: Path) -> None:
    def code(*found: AuditResult | FairauditError) -> int:
        return exit_code(Answer("", None, one) for one in found)

    passed = audit(SPECS["plain"], write(tmp_path / "data.csv"))
    limit = {"metric": "demographic_parity_ratio", "fail": {"below": 0.99}}
    failed = audit({**SPECS["plain"], "metrics": [limit]}, tmp_path / "data.csv")
    error, nothing = UsageError("no"), NothingToAudit("no")
    assert (passed.exit_code, failed.exit_code) == (0, 1)
    assert code(passed, nothing) == 3
    assert code(passed, nothing, failed) == 1
    assert code(failed, error, nothing, passed) == 2
    assert code(passed, passed) == 0


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two files and two specs, to run the command in."""
    monkeypatch.chdir(tmp_path)
    for at in range(2):
        write(tmp_path / f"{at}.csv")
    (tmp_path / "plain.yaml").write_text(json.dumps(SPECS["plain"]))
    (tmp_path / "cut.yaml").write_text(json.dumps(SPECS["cut"]))
    return tmp_path


def test_the_command_answers_for_each_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "2.csv").write_text("race\n")
    line = ["run", "plain.yaml", "cut.yaml", "--data", "*.csv"]
    assert cli.run_line([*line, "--format", "json", "-o", "all.json", "-o", "all.txt"]) == 2
    told = capsys.readouterr()
    tree = json.loads(told.out)
    assert [(one["spec"], one["data"]) for one in tree["answers"]] == [
        (spec, f"{at}.csv") for spec in ("plain.yaml", "cut.yaml") for at in range(3)
    ]
    assert tree["summary"]["exit_code"] == 2
    assert [one["exit_code"] for one in tree["answers"]].count(2) == 2
    assert tree["answers"][2]["result"]["error"]["kind"] == "SpecError"
    assert json.loads((folder / "all.json").read_text())["answers"][0]["result"]["groups"]
    assert "6 audits: " in (folder / "all.txt").read_text()
    assert len([one for one in told.err.splitlines() if " data=" in one]) == 6
    assert told.err.splitlines()[-1].startswith("ERROR  6 audits: 2 error, ")
    assert cli.run_line(line) == 2
    assert "Summary" in capsys.readouterr().out
    assert cli.run_line([*line, "-q"]) == 2
    assert "1 of 6 people (16.7 %) are left out: with unknown group" in capsys.readouterr().out


def test_the_command_answers_for_each_spec(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run_line(
        ["run", "plain.yaml", "cut.yaml", "--data", str(folder / "0.csv"), "-v"]
    ) in {
        0,
        1,
    }
    told = capsys.readouterr()
    assert told.out.count("Audit: ") == 2
    assert told.err.count("spec=plain.yaml") == told.err.count("spec=cut.yaml") == 1
    assert cli.run_line(["run", "plain.yaml", "cut.yaml", "--data", "0.csv", "--only", "x"]) == 2
    assert "--only works with one spec" in capsys.readouterr().err

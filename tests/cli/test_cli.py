"""The command as a user runs it: exit codes, streams, files."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from commands import run, start
from conftest import ROOT, SAMPLES, SPECS, long
from schemas import validate

import fairaudit
from fairaudit import cli
from fairaudit.base.errors import FairauditError
from fairaudit.cli import command_line, read_request
from fairaudit.report import json as report_json
from fairaudit.report import terminal
from fairaudit.tools.compare import document_schema

EXIT_CODES = {
    "adult_counts": 0,
    "berkeley_admissions": 1,
    "fairlearn_page": 0,
    "florida_1976": 0,
    "florida_1987": 0,
    "kidney_admissions": 1,
    "loans": 1,
    "compas_scores": 1,
    "loans_propensity": 0,
    "loans_theta": 0,
    "loans_score": 0,
    "loans_subgroups": 1,
    "titanic": 1,
}
SPEC = """\
data: {data}
columns:
  protected: [group]
  decision: {{column: y, positive: 1, negative: 0}}
  count: n
metrics:
  - {{metric: demographic_parity_ratio, warn: {{below: 0.9}}, fail: {{below: 0.8}}}}
"""
LAST_LINE = re.compile(
    r"(NO LIMITS  no limits are set|(PASS|FAIL|INCONCLUSIVE)  \d+ checks?: \d+ passed, "
    r"\d+ warned, \d+ failed, \d+ inconclusive, \d+ waived(, \d+ skipped)?"
    r"(; [^;]+ are left out: .+?)?(; missing values could change the verdict of [^;]+?)?"
    r"(; \d+ notices?)?)"
    r"  spec=\S+ rows=[\d,]+ \d+\.\ds"
)


def spec_file(folder: Path, *rows: str, **replaced: str) -> Path:
    """A spec and its data in a folder."""
    (folder / "data.csv").write_text("\n".join(["group,y,n", *rows]) + "\n")
    text = SPEC.format(data="data.csv")
    for old, new in replaced.items():
        text = text.replace(old, new)
    (folder / "spec.yaml").write_text(text)
    return folder / "spec.yaml"


GOOD = ("a,1,48", "a,0,52", "b,1,50", "b,0,50")
BAD = ("a,1,30", "a,0,70", "b,1,50", "b,0,50")
WARNED = ("a,1,44", "a,0,56", "b,1,50", "b,0,50")


@pytest.mark.long
@pytest.mark.parametrize(
    "name", [long(name) if name.startswith("loans_") else name for name in sorted(EXIT_CODES)]
)
def test_every_sample_spec_runs(name: str) -> None:
    done = run("run", SPECS / f"{name}.yaml")
    assert done.returncode == EXIT_CODES[name]
    assert LAST_LINE.fullmatch(done.stderr.splitlines()[-1])
    assert "\nnext: fairaudit run" in done.stdout


@pytest.mark.parametrize("quiet", ["-q", "-qq"])
def test_a_quiet_pass_says_that_it_has_notices(quiet: str) -> None:
    done = run("run", quiet, SPECS / "florida_1987.yaml")
    assert done.stdout == ""
    assert "0 waived; 2 notices  spec=" in done.stderr.splitlines()[-1]


def test_no_sample_spec_is_left_out() -> None:
    assert sorted(EXIT_CODES) == sorted(path.stem for path in SPECS.glob("*.yaml"))


@pytest.mark.long
def test_the_process_exits_with_the_code_of_the_command(tmp_path: Path) -> None:
    assert start("run", spec_file(tmp_path, *GOOD)).returncode == 0
    assert start("run", spec_file(tmp_path, *BAD)).returncode == 1
    assert start("run", spec_file(tmp_path, *GOOD, group="grup")).returncode == 2
    assert start("run", spec_file(tmp_path, "a,1,5", "a,0,5")).returncode == 3


def test_exit_codes(tmp_path: Path) -> None:
    assert run("run", spec_file(tmp_path, *BAD), "--fail-on", "never").returncode == 0
    assert run("run", spec_file(tmp_path, *WARNED)).returncode == 0
    assert run("run", spec_file(tmp_path, *WARNED), "--fail-on", "warn").returncode == 1
    assert run("run", spec_file(tmp_path, *GOOD, **{"data.csv": "'*.parquet'"})).returncode == 3
    assert run("run", spec_file(tmp_path, *GOOD, **{"data.csv": "gone.csv"})).returncode == 2
    assert run("run", tmp_path / "gone.yaml").returncode == 2
    assert run("run").returncode == 2
    assert run("audit").returncode == 2


def test_an_error_is_told_without_a_traceback(tmp_path: Path) -> None:
    done = run("run", spec_file(tmp_path, *GOOD, metrics="metrix"))
    assert done.returncode == 2
    assert done.stdout == ""
    assert "metrix: unknown key; did you mean 'metrics'?" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1] == "ERROR  no verdict  spec=spec.yaml"
    assert "Traceback" in run("run", spec_file(tmp_path, *GOOD, metrics="metrix"), "--debug").stderr
    told = run("--debug", "run", spec_file(tmp_path, *GOOD, metrics="metrix")).stderr
    assert "Traceback" in told
    assert "metrix" in told


@pytest.mark.long
@pytest.mark.parametrize(
    ("rows", "replaced", "code"),
    [(GOOD, {}, 0), (BAD, {}, 1), (GOOD, {"group": "grup"}, 2), (GOOD, {"data.csv": "'*.pq'"}, 3)],
)
def test_json_is_one_document_also_on_failure(
    tmp_path: Path, rows: tuple[str, ...], replaced: dict[str, str], code: int
) -> None:
    done = run("run", spec_file(tmp_path, *rows, **replaced), "--format", "json")
    assert done.returncode == code
    document = json.loads(done.stdout)
    assert document["summary"]["exit_code"] == code
    validate(document)


def test_usage_errors_are_json_too() -> None:
    done = run("run", "--format", "json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["summary"]["verdict"] == "error"


def test_only_judges_what_is_named(tmp_path: Path) -> None:
    spec = spec_file(tmp_path, *BAD)
    spec.write_text(spec.read_text() + "  - {metric: selection_rate, fail: {below: 0.01}}\n")
    assert run("run", spec).returncode == 1
    done = run("run", spec, "--only", "selection_rate/group/decision")
    assert done.returncode == 0
    assert "1 of 2 checks (--only):" in done.stderr
    typo = run("run", spec, "--only", "selection_rat/group/decision")
    assert typo.returncode == 2
    assert "did you mean 'selection_rate/group/decision'" in typo.stderr


def test_output_files_by_suffix_and_never_half_written(tmp_path: Path) -> None:
    spec = spec_file(tmp_path, *GOOD)
    done = run("run", spec, "-o", tmp_path / "r.json", "-o", tmp_path / "r.txt", "-q")
    assert done.returncode == 0
    assert done.stdout == ""
    assert json.loads((tmp_path / "r.json").read_text("utf-8"))["summary"]["verdict"] == "pass"
    assert "Demographic parity ratio" in (tmp_path / "r.txt").read_text("utf-8")
    refused = run("run", spec, "-o", tmp_path / "r.doc")
    assert refused.returncode == 2
    assert "the suffix '.doc' is not a known format" in refused.stderr
    assert run("run", spec, "-o", tmp_path / "no" / "r.json").returncode == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "data.csv", "r.json", "r.txt", "spec.yaml"
    ]  # fmt: skip


def test_data_replaces_the_specs_own(tmp_path: Path) -> None:
    spec = spec_file(tmp_path, *GOOD)
    (tmp_path / "other.csv").write_text("\n".join(["group,y,n", *BAD]) + "\n")
    other = run("run", spec, "--data", tmp_path / "other.csv")
    assert other.returncode == 1
    assert other.stdout.splitlines()[0].endswith(", other.csv")
    assert "other.csv" not in run("run", spec).stdout.splitlines()[0]
    assert run("run", spec, "--data", str(tmp_path / "oth*.csv")).returncode == 1
    several = run("run", spec, "--data", str(tmp_path / "*.csv"))
    assert several.returncode == 1
    assert several.stderr.count(" data=") == 2
    assert run("run", spec, "--data", str(tmp_path / "*.parquet")).returncode == 3


def test_an_unknown_format_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    done = run("run", tmp_path / "missing.yaml", "--format", "jsn")
    assert done.returncode == 2
    assert "no format 'jsn'; did you mean 'json'?" in done.stderr


def test_a_report_of_an_earlier_run_does_not_stay_where_there_is_no_verdict(tmp_path: Path) -> None:
    for name in ("r.json", "r.txt"):
        (tmp_path / name).write_text("PASS")
    spec = spec_file(tmp_path, "race,y", "a,1", "b,")
    done = run("run", spec, *(f"-o{tmp_path / name}" for name in ("r.json", "r.txt")))
    assert done.returncode == 2
    assert json.loads((tmp_path / "r.json").read_text())["summary"]["verdict"] == "error"
    assert "error" in (tmp_path / "r.txt").read_text()


@pytest.mark.parametrize("columns", ["80", long("200")])
def test_the_report_fits_its_terminal(columns: str) -> None:
    for options in ((), ("--full",)):
        done = run("run", SPECS / "titanic.yaml", *options, COLUMNS=columns)
        assert max(len(line) for line in done.stdout.splitlines()) <= int(columns)
    assert "…" not in done.stdout


def test_off_a_terminal_nothing_is_cropped_to_80_columns() -> None:
    done = run("run", SPECS / "berkeley_admissions.yaml", "--full")
    assert max(len(line.rstrip()) for line in done.stdout.splitlines()) > 80
    assert "…" not in done.stdout
    assert "\x1b" not in done.stdout


def test_a_pipe_has_the_first_screen_and_a_file_the_whole_report(tmp_path: Path) -> None:
    done = run("run", SPECS / "titanic.yaml", "-o", tmp_path / "report.txt", COLUMNS="80")
    assert len(done.stdout.splitlines()) <= terminal.MOST_LINES
    whole = (tmp_path / "report.txt").read_text("utf-8")
    assert len(whole.splitlines()) > 200
    assert "Meaning of a pass" in whole
    assert "Meaning of a pass" in run("run", SPECS / "titanic.yaml", "-v").stdout


@pytest.mark.long
def test_a_stream_without_signs_gets_ascii() -> None:
    for full, words in (((), "83.3 % with the same mix"), (("--full",), "gender x race")):
        done = start("run", SPECS / "kidney_admissions.yaml", *full, PYTHONIOENCODING="ascii")
        assert done.returncode == 1
        assert done.stdout.isascii()
        assert words in done.stdout


def test_colours_only_repeat_words() -> None:
    spec = SPECS / "kidney_admissions.yaml"
    plain = run("run", spec, COLUMNS="120")
    coloured = run("run", spec, COLUMNS="120", FORCE_COLOR="1")
    stripped = re.sub(r"\x1b\[[0-9;]*m", "", coloured.stdout)
    assert "\x1b[" in coloured.stdout
    assert [line.rstrip() for line in stripped.splitlines()] == plain.stdout.splitlines()


def test_explain() -> None:
    page = run("explain", "tpr")
    assert page.returncode == 0
    for text in (
        "True positive rate",
        "tp / (tp + fn)",
        "Hardt",
        "Women: 20 true positives",
        "0.6667",
    ):
        assert text in page.stdout
    listed = run("explain")
    assert "differential_fairness" in listed.stdout
    typo = run("explain", "selection_rat")
    assert typo.returncode == 2
    assert "did you mean 'selection_rate'" in typo.stderr


def test_schemas_are_printed() -> None:
    assert json.loads(run("schema").stdout)["title"] == "fairaudit spec"
    assert json.loads(run("schema", "result").stdout) == document_schema("result")


def test_version_and_help() -> None:
    assert re.fullmatch(r"fairaudit \d+\.\d+\.\d+\S*\n", run("--version").stdout)
    assert "run" in run("--help").stdout


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        (["--help"], ["numpy", "polars", "pyarrow", "pydantic", "scipy"]),
        (["--version"], ["numpy", "polars", "pyarrow", "pydantic", "scipy"]),
        (
            ["run", str(SPECS / "titanic.yaml")],
            ["altair", "jinja2", "pandas", "pyarrow", "scipy.stats", "sklearn", "vl_convert"],
        ),
        (
            ["run", str(SPECS / "florida_1976.yaml")],
            ["numpy.ma", "pyarrow", "pydantic", "scipy"],
        ),
        (
            ["run", str(SPECS / "florida_1976.yaml"), "--format", "json"],
            [
                "concurrent.futures",
                "fairaudit.cli.results",
                "fairaudit.tools.compare",
                "fairaudit.counting.sources.parquet",
            ],
        ),
    ],
    ids=["help", "version", "small audit", "smaller audit", "JSON of a CSV file"],
)
def test_a_command_loads_nothing_that_it_does_not_need(
    arguments: list[str], heavy: list[str]
) -> None:
    code = (
        f"import sys; from fairaudit.cli import run_line; run_line({arguments}); "
        f"print(set({heavy}) & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.splitlines()[-1] == "set()"


def test_a_command_that_is_made_alone_is_the_one_among_all() -> None:
    every = command_line()
    assert len(every.commands) > 10
    for name, command in every.commands.items():
        (alone,) = command_line(name).commands.values()
        assert alone.name == name
        assert [(one.name, one.opts, one.default) for one in alone.params] == [
            (one.name, one.opts, one.default) for one in command.params
        ]
    for first_word in ("--help", "rnu", ""):
        assert command_line(first_word).commands.keys() == every.commands.keys()


def test_interruption_exits_130(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fairaudit.counting.polars_engine.count", interrupted)
    spec = spec_file(tmp_path, *GOOD)
    assert cli.run_line(["run", str(spec), "-o", str(tmp_path / "r.json")]) == 130
    assert not (tmp_path / "r.json").exists()
    assert capsys.readouterr().err == "INTERRUPTED  no verdict\n"


def test_our_own_crash_gives_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def crash(*_: object) -> None:
        raise ZeroDivisionError("secret of a row")

    monkeypatch.setattr("fairaudit.counting.polars_engine.count", crash)
    assert cli.run_line(["run", str(spec_file(tmp_path, *GOOD))]) == 2
    errors = capsys.readouterr().err
    assert "internal error in fairaudit: ZeroDivisionError" in errors
    assert "secret" not in errors


@pytest.mark.long
def test_a_broken_pipe_is_no_traceback() -> None:
    command = [sys.executable, "-m", "fairaudit", "run", str(SPECS / "loans.yaml")]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read()
    assert "Traceback" not in errors
    assert "BrokenPipe" not in errors


@pytest.mark.long
def test_equal_input_gives_equal_bytes() -> None:
    first, second = (call("run", SPECS / "loans.yaml", "--format", "json") for call in (run, start))
    assert first.stdout == second.stdout


@pytest.mark.long
def test_csv_and_parquet_of_the_loans_agree() -> None:
    csv, parquet = (
        fairaudit.audit(SPECS / "loans.yaml", SAMPLES / f"loans.{kind}")
        for kind in ("csv", "parquet")
    )
    assert csv.provenance.cube_sha256 == parquet.provenance.cube_sha256
    ours, theirs = (report_json.document(one) for one in (csv, parquet))
    assert {**ours, "provenance": 0} == {**theirs, "provenance": 0}
    assert [one.status for one in csv.findings] == [one.status for one in parquet.findings]


def test_wrong_command_lines_are_usage_errors_not_crashes() -> None:
    spec = str(SPECS / "titanic.yaml")
    for wrong in (
        ["run"],
        ["run", spec, "--foo"],
        ["run", spec, "--fail-on", "x"],
        ["schema", "x"],
    ):
        done = run(*wrong)
        assert done.returncode == 2, wrong
        assert "internal error in fairaudit" not in done.stderr
        assert "Traceback" not in done.stderr
        assert f"hint: fairaudit {wrong[0]} --help" in done.stderr
    assert "Usage" in run().stdout + run().stderr


def test_json_is_json_on_a_stream_without_signs() -> None:
    for spec in ("kidney_admissions", "titanic"):
        done = run("run", SPECS / f"{spec}.yaml", "--format", "json", PYTHONIOENCODING="ascii")
        assert done.stdout.isascii()
        titles = [one["title"] for one in json.loads(done.stdout)["definitions"]]
        assert "Differential fairness ε" in titles


@pytest.mark.long
@pytest.mark.parametrize("redirection", [">&-", "> /dev/full"])
@pytest.mark.parametrize("form", ["json", "terminal"])
def test_a_report_that_cannot_be_written_is_no_verdict(redirection: str, form: str) -> None:
    if redirection == "> /dev/full" and not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    spec = SPECS / "adult_counts.yaml"
    command = f"{sys.executable} -m fairaudit run {spec} --format {form} {redirection}"
    done = subprocess.run(
        ["/bin/sh", "-c", command], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 2
    assert "could not be written" in done.stderr
    assert "Traceback" not in done.stderr


def test_output_respects_folders_links_and_permissions(tmp_path: Path) -> None:
    spec = spec_file(tmp_path, *GOOD)
    (tmp_path / "dir.json").mkdir()
    assert run("run", spec, "-o", tmp_path / "dir.json").returncode == 2
    target = tmp_path / "target.json"
    target.write_text("old")
    (tmp_path / "link.json").symlink_to(target)
    assert run("run", spec, "-o", tmp_path / "link.json", "-q").returncode == 0
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads(target.read_text("utf-8"))["summary"]["verdict"] == "pass"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_control_characters_in_levels_do_not_steer_the_terminal(tmp_path: Path) -> None:
    done = run("run", spec_file(tmp_path, "\x1b[2Ja,1,48", "\x1b[2Ja,0,52", *GOOD[2:]))
    assert "\x1b" not in done.stdout
    assert "\\x1b[2Ja" in done.stdout


def test_no_width_is_too_silly() -> None:
    for full, words in (((), "next: "), (("--full",), "Meaning of a pass")):
        assert words in run("run", SPECS / "titanic.yaml", *full, COLUMNS="0").stdout


@pytest.mark.parametrize(
    "bad",
    [
        {"columns": {"protected": {"a": {"trim": []}}, "decision": "y"}, "metrics": ["f1"]},
        {"format": {"encoding": "undefined"}},
        {"format": {"encoding": "utf-8\0"}},
        {"filter": " and ".join(["a = 1"] * 4000)},
        {"data": "x" * 300 + ".csv"},
        {"title": {1, 2}},
        {"title": [[[[]]]]},
    ],
)
def test_python_callers_get_our_errors(bad: dict[str, object]) -> None:
    good = {
        "data": str(SAMPLES / "titanic.csv"),
        "columns": {"protected": ["sex"], "decision": {"column": "fate", "positive": "died"}},
        "metrics": ["selection_rate"],
    }
    with pytest.raises(FairauditError):
        fairaudit.audit({**good, **bad})


def test_python_misuse_is_told() -> None:
    endless: dict[str, object] = {}
    endless["columns"] = endless
    for spec in (5, None, endless):
        with pytest.raises(FairauditError):
            fairaudit.audit(spec)  # type: ignore[arg-type]
    with pytest.raises(FairauditError, match="fail_on"):
        fairaudit.audit(SPECS / "titanic.yaml", fail_on="nope")
    with pytest.raises(FairauditError, match=r"no check .zz."):
        fairaudit.audit(SPECS / "titanic.yaml", only="zz")


def test_a_deeply_nested_spec_is_told(tmp_path: Path) -> None:
    path = tmp_path / "deep.yaml"
    path.write_text("title: " + "[" * 1500 + "]" * 1500)
    done = start("run", path)
    assert done.returncode == 2
    assert "deep.yaml:1:57: nested more than 50 levels deep" in done.stderr


def test_a_date_that_is_none_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(FairauditError, match="SOURCE_DATE_EPOCH"):
        fairaudit.audit(SPECS / "titanic.yaml")


def test_a_date_that_is_empty_is_none() -> None:
    done = start("run", SPECS / "titanic.yaml", "-q", SOURCE_DATE_EPOCH="")
    assert done.returncode == 1
    assert "FAIL" in done.stderr


def test_an_error_is_told_in_the_format_asked_for_last() -> None:
    for last in (["--format", "github"], ["--format=github"]):
        done = run("run", "nope.yaml", "--format", "json", *last)
        assert done.returncode == 2
        assert done.stdout.startswith("::error")


def test_an_error_is_the_same_document_in_a_file_and_on_stdout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec, data = str(spec_file(tmp_path, *GOOD)), str(tmp_path / "gone.csv")
    path = tmp_path / "r.json"
    line = ["run", spec, "--data", data, "--format", "json", "-o", str(path)]
    assert cli.run_line(line) == 2
    written, printed = json.loads(path.read_text("utf-8")), json.loads(capsys.readouterr().out)
    assert written == printed
    assert written["summary"]["verdict"] == "error"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("run a.yaml b.yml --format json -or.json", ("run", "a.yaml", "json", ("r.json",))),
        ("run --bogus a.yaml --format=json", ("run", "a.yaml", "json", ())),
        ("run a.yaml --output", ("run", "a.yaml", "terminal", ())),
        ("run a.yaml --fail-on nothing --format github", ("run", "a.yaml", "github", ())),
        ("run --format json -- -a.yaml", ("run", "", "json", ())),
        ("--debug run a.yaml --data", ("run", "a.yaml", "terminal", ())),
        ("compare a.json --format csv", ("compare", "a.json", "csv", ())),
        ("audit a.yaml --format json", ("", "", "json", ())),
        ("", ("", "", "terminal", ())),
    ],
)
def test_a_command_line_that_cannot_be_carried_out_says_where_its_error_belongs(
    line: str, expected: tuple[str, str, str, tuple[str, ...]]
) -> None:
    request = read_request(line.split())
    assert (request.command, request.subject, request.format_name, request.written) == expected

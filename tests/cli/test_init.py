"""`fairaudit init`: a first spec of a file that check and run accept, and that decides nothing."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import polars as pl
import pytest
import yaml
from commands import run
from conftest import ROOT, SAMPLES, SHARED, long
from hypothesis import given
from hypothesis import strategies as st

import fairaudit
from fairaudit.counting.sources.profiles import guess_format, profile_file
from fairaudit.spec import quote
from fairaudit.tools.init import is_like_count, pair_counts

SAMPLE_ARGUMENTS = {
    "adult_counts.csv": "--protected race,gender,nationality --label income --positive >50K",
    "berkeley_admissions.csv": "--protected gender --strata department",
    "berkeley_wide.csv": "--protected gender --counts admitted=admitted --counts rejected=rejected",
    "compas_scores.csv": "--protected race --label rearrested --score decile",
    "fairlearn_page.csv": "--protected group",
    "florida_1976.csv": "--protected victim,defendant --decision sentence --positive other",
    "florida_1987.csv": "--protected defendant --decision sentence --positive other",
    "kidney_admissions.csv": "--protected gender,race",
    "long_stays.csv": "--protected language,sex --label stayed_long --prediction flagged --count n",
    "loans.csv": "--protected gender,race,age",
    "loans.parquet": "--protected gender,race,age --prediction score --positive >=0.5",
    "loans_theta.csv": "--protected gender,race --decision outcome --weight probability",
    "mortgages.csv": "--protected derived_race,birth_date --decision action_taken "
    "--positive originated",
    "published_rates.csv": "--protected sex,race --counts selected=selected --counts "
    "total=applicants",
    "titanic.csv": "--protected class,sex,age",
}
GERMAN = (
    "checking,months,history,purpose,amount,savings,employed,installment,status_sex,debtors,"
    "residence,property,age,other_plans,housing,credits,job,dependents,telephone,foreign,risk"
)
SHARED_ARGUMENTS = {
    "german.data": f"--header {GERMAN} --protected status_sex,age,foreign --decision risk "
    "--positive 1",
    "adult_train.csv": "--protected race,sex,age --label income --positive >50K",
    "compas-scores-two-years.csv": "--protected sex,race,age --label two_year_recid "
    "--prediction score_text --positive High",
}


def test_all_samples_are_tried() -> None:
    assert {*SAMPLE_ARGUMENTS} == {path.name for path in SAMPLES.glob("*.*") if is_data(path)}


def is_data(path: Path) -> bool:
    return path.suffix in {".csv", ".parquet"}


def round_trip(data: Path, arguments: str, folder: Path) -> str:
    """The spec that is written, once check and run accepted it."""
    spec = folder / "spec.yaml"
    written = run("init", data, "-o", spec, *arguments.split(" "))
    assert written.returncode == 0, written.stderr
    assert written.stdout == ""
    assert "fairaudit check" in written.stderr
    checked = run("check", spec)
    assert checked.returncode == 0, checked.stderr
    done = run("run", spec, "--format", "json")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("NO LIMITS  ")
    return spec.read_text("utf-8")


@pytest.mark.long
@pytest.mark.parametrize(
    "name", [long(name) if name == "loans.csv" else name for name in SAMPLE_ARGUMENTS]
)
def test_samples_go_from_init_to_run(name: str, tmp_path: Path) -> None:
    round_trip(SAMPLES / name, SAMPLE_ARGUMENTS[name], tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("name", SHARED_ARGUMENTS)
def test_published_files_go_from_init_to_run(name: str, tmp_path: Path) -> None:
    if not (SHARED / name).exists():
        pytest.skip(f"needs {name}")
    round_trip(SHARED / name, SHARED_ARGUMENTS[name], tmp_path)


def test_tables_of_counts_are_seen(tmp_path: Path) -> None:
    text = round_trip(SAMPLES / "titanic.csv", SAMPLE_ARGUMENTS["titanic.csv"], tmp_path)
    tree = yaml.safe_load(text)
    assert tree["columns"]["count"] == "n"
    assert tree["columns"]["decision"] == {
        "column": "fate",
        "positive": "survived",
        "negative": ["died"],
    }
    other = run("init", SAMPLES / "loans.csv", "--protected", "race").stdout
    assert "count" not in yaml.safe_load(other)["columns"]


@pytest.mark.parametrize(("codes", "is_told"), [("1312", True), ("1313", False)])
def test_values_that_may_be_no_decision_are_pointed_out(
    codes: str, is_told: bool, tmp_path: Path
) -> None:
    """Of 1 approved, 2 withdrawn, 3 denied: whoever withdrew was not approved."""
    rows = "".join(f"{g},{code}\n" for g in "ab" for code in codes * 30)
    (tmp_path / "d.csv").write_text(f"sex,action\n{rows}")
    arguments = ("--protected", "sex", "--decision", "action", "--positive", "3")
    done = run("init", tmp_path / "d.csv", *arguments)
    assert ("add `others: drop`" in done.stdout) is is_told, done.stderr


def test_it_starts_with_the_schema_and_sets_no_limit() -> None:
    done = run("init", "sample_data/loans.csv", "--protected", "gender")
    assert done.stdout.startswith("# yaml-language-server: $schema=")
    tree = yaml.safe_load(done.stdout)
    assert all(isinstance(metric, str) for metric in tree["metrics"])
    assert tree["data"] == "sample_data/loans.csv"
    assert [*tree["columns"]["protected"]] == ["gender"]
    assert "    # race: {}  # because of its name and its values" in done.stdout


def test_protected_columns_are_not_decided_alone() -> None:
    done = run("init", "sample_data/loans.csv", "--label", "repaid", "--positive", "yes")
    assert (done.returncode, done.stdout) == (2, "")
    assert "gender (because of its name and its values)" in done.stderr
    candidates, _, columns = done.stderr.partition(". All columns: ")
    assert "application_id" not in candidates
    assert "'application_id', 'gender', 'race'" in columns


def test_a_positive_that_nobody_can_guess_is_asked() -> None:
    done = run("init", "sample_data/florida_1976.csv", "--protected", "victim")
    assert done.returncode == 2
    assert "'death penalty'" in done.stderr
    assert "--positive" in done.stderr


@pytest.mark.parametrize("wrong", ["No", "maybe", ">=3"])
def test_a_positive_that_no_outcome_holds_is_refused(wrong: str, tmp_path: Path) -> None:
    file = tmp_path / "hired.csv"
    file.write_text("g,hired\n" + "A,yes\nB,no\n" * 30)
    for named in ([wrong], ["yes", wrong]):
        options = [part for name in named for part in ("--positive", name)]
        done = run("init", file, "--protected", "g", "--decision", "hired", *options)
        assert done.returncode == 2
        assert f"--positive '{wrong}': no outcome contains this value" in done.stderr
        assert "available: 'no', 'yes'" in done.stderr


def test_a_cut_is_of_the_outcome_that_it_divides(tmp_path: Path) -> None:
    """A cut of a credit score is none of a label of 0 and 1."""
    file = tmp_path / "credit.csv"
    file.write_text("g,paid,points\n" + "A,1,700\nB,0,500\n" * 30)
    roles = ("--protected", "g", "--label", "paid", "--decision", "points")
    done = run("init", file, *roles, "--positive", ">=600")
    assert done.returncode == 0
    assert 'label: {column: paid, positive: "1", negative: ["0"]}' in done.stdout
    assert "decision: {column: points, positive: {at_least: 600}}" in done.stdout
    for cut in (">=900", ">700", "<500", "<=700"):
        done = run("init", file, *roles, "--positive", cut)
        assert done.returncode == 2
        assert "the threshold does not split any outcome" in done.stderr
        assert "available: paid from 0 to 1, points from 500 to 700" in done.stderr


def test_codes_unknown_and_rare_levels_are_stubs(tmp_path: Path) -> None:
    file = tmp_path / "coded.csv"
    rows = [("A1", "yes")] * 60 + [("A2", "no")] * 60 + [("A3", "no")] * 3 + [("A4", "no")] * 2
    rows += [("?", "yes")] * 4
    file.write_text("\n".join(["sex,hired", *map(",".join, rows), ""]), "utf-8")
    text = round_trip(file, "--protected sex", tmp_path)
    stubs = [line.strip() for line in text.splitlines() if line.startswith("    # sex: {")]
    assert [stub.rpartition("  # ")[0] for stub in stubs] == [
        '# sex: {unknown: ["?"]}',
        "# sex: {labels: {A1: A1, A2: A2, A3: A3, A4: A4}}",
        "# sex: {merge: {Other: [A3, A4]}}",
    ]


@pytest.mark.long
@pytest.mark.parametrize("name", [long("loans.csv"), "compas_scores.csv", "titanic.csv"])
def test_proposals_may_be_taken_as_they_are(name: str, tmp_path: Path) -> None:
    text = round_trip(SAMPLES / name, SAMPLE_ARGUMENTS[name], tmp_path)
    proposal = re.compile(r"^( *)# (- \{|strata:|groups:|suppress_below:)", re.MULTILINE)
    taken = proposal.sub(r"\1\2", text)
    assert len(yaml.safe_load(taken)["metrics"]) > len(yaml.safe_load(text)["metrics"])
    (tmp_path / "taken.yaml").write_text(taken, "utf-8")
    checked = run("check", tmp_path / "taken.yaml")
    assert checked.returncode == 0, checked.stderr


def test_files_are_read_as_they_are_written(tmp_path: Path) -> None:
    file = tmp_path / "latin.csv"
    lines = ["Geschlecht;Größe;bewilligt", *["männlich;1,75;ja", "weiblich;1,62;nein"] * 20, ""]
    file.write_bytes("\n".join(lines).encode("latin-1"))
    text = round_trip(
        file, "--protected Geschlecht --decision bewilligt --positive ja --score Größe", tmp_path
    )
    assert yaml.safe_load(text)["format"] == {
        "separator": ";",
        "decimal": ",",
        "encoding": "latin-1",
    }


def test_a_comma_of_thousands_is_never_taken_for_one_of_decimals(tmp_path: Path) -> None:
    """M has 1,201 to 1,208, of mean 1,204.5; F has 981 to 988, of mean 984.5."""
    file = tmp_path / "data.csv"
    rows = [f"F;{981 + n}" for n in range(8)] + [f"M;1,{201 + n}" for n in range(8)]
    file.write_text("\n".join(["sex;score", *rows, ""]), "utf-8")
    asked = "--protected sex --score score"
    refused = run("init", file, *asked.split())
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "the comma in 1,201 can be a decimal comma or a thousands separator" in refused.stderr
    assert "--decimal , or --thousands ," in refused.stderr
    text = round_trip(file, f"{asked} --thousands ,", tmp_path)
    assert yaml.safe_load(text)["format"] == {"separator": ";", "thousands": ","}
    means = fairaudit.audit({**yaml.safe_load(text), "data": str(file)}).table("sex")
    assert sorted(means["mean_score"]) == [984.5, 1204.5]
    text = round_trip(file, f"{asked} --decimal , --force", tmp_path)
    assert yaml.safe_load(text)["format"] == {"separator": ";", "decimal": ","}


@pytest.mark.parametrize(
    ("values", "separator", "expected"),
    [
        (["1,5", "1,500"], ";", (",", "")),
        (["0,500", "1,500"], ";", (",", "")),
        (["1,234,567", "1,500"], ";", (".", ",")),
        (["1,234.5", "1,500"], ";", (".", ",")),
        (['"1,500"', "900"], ",", (".", ",")),
        (["1.5", "900"], ";", (".", "")),
        (["1.234.567", "2.000"], ";", (",", ".")),
        (["1.234,5", "900"], ";", (",", ".")),
        (["2.000", "62,5"], ";", (",", ".")),
        (["2.000", "0.625"], ";", (".", "")),
        (["2.000", "900"], ",", (".", "")),
    ],
)
def test_the_signs_of_numbers_are_guessed_where_they_are_clear(
    tmp_path: Path, values: list[str], separator: str, expected: tuple[str, str]
) -> None:
    file = tmp_path / "data.csv"
    lines = [f"a{separator}x", *(f"g{separator}{value}" for value in values), ""]
    file.write_text("\n".join(lines), "utf-8")
    form = guess_format(file)
    assert (form.decimal, form.thousands) == expected


@pytest.mark.parametrize(
    ("value", "accounting"),
    [("(12)", True), ("($1,200.50)", True), ("(F1)", False), ("(3rd)", False)],
)
def test_parentheses_around_a_number_make_it_negative_and_a_code_is_none(
    value: str, accounting: bool, tmp_path: Path
) -> None:
    (tmp_path / "d.csv").write_text(f'g,x\na,"{value}"\nb,7\n')
    assert guess_format(tmp_path / "d.csv").accounting is accounting


def test_a_point_before_three_digits_is_asked_for(tmp_path: Path) -> None:
    """A count of 2.000 is two people or two thousand; it comes after the first 20 lines."""
    file = tmp_path / "counts.csv"
    rows = [f"{sex};{age};900" for sex in "mf" for age in range(20, 35)]
    file.write_text("\n".join(["sex;age;n", *rows, "f;35;2.000", ""]), "utf-8")
    line = ("init", file, "--protected", "sex", "--count", "n", "--decision", "age", "--positive")
    refused = run(*line, ">=30")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "the point in 2.000 can be a decimal point or a thousands separator" in refused.stderr
    assert "choose one: --decimal . or --thousands ." in refused.stderr
    text = run(*line, ">=30", "--thousands", ".").stdout
    assert yaml.safe_load(text)["format"] == {"separator": ";", "decimal": ",", "thousands": "."}
    assert "decimal" not in yaml.safe_load(run(*line, ">=30", "--decimal", ".").stdout)["format"]


def test_columns_of_a_file_without_names_are_numbered(tmp_path: Path) -> None:
    file = tmp_path / "rows.data"
    file.write_text("\n".join(["F 31 1", "M 44 0", "F 52 0", "M 25 1"] * 10) + "\n", "utf-8")
    text = round_trip(file, "--protected column_1,column_2 --decision column_3", tmp_path)
    assert yaml.safe_load(text)["format"]["header"] == ["column_1", "column_2", "column_3"]


def test_missing_outcomes_are_set_aside(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    lines = ["sex,approved,score", *["F,yes,0.5", "M,no,0.1", "F,,", "M,NA,NA"] * 9, ""]
    file.write_text("\n".join(lines), "utf-8")
    text = round_trip(file, "--protected sex --decision approved --score score", tmp_path)
    assert yaml.safe_load(text)["missing"] == {
        "tokens": ["", "NA"],
        "decision": "aside",
        "score": "aside",
    }


HOSTILE = [
    *('a"b', "a'b", "a: b", "- a", "a # b", "{a}", "[a]", "&a", "*a", "!a", "|", ">", "%a", "@a"),
    *(
        "yes",
        "null",
        "1",
        "1e3",
        "label",
        "all",
        "prediction",
        "x-a",
        "a * b",
        "ünï→😀",
        "a\\b",
        "=1",
    ),
    *("a\tb", "a, b", "\x7f", "\u2028", "?", "a\u202eb", "<<", "~", " lead", "trail "),
]


@pytest.mark.long
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_written_so_that_a_run_reads_them(name: str, tmp_path: Path) -> None:
    file, text = tmp_path / "people.csv", io.StringIO()
    rows = [("F", "1"), ("M", "0"), ("F", "0"), ("M", "1")] * 9
    csv.writer(text, lineterminator="\n").writerows([(name, "hired"), *rows])
    file.write_text(text.getvalue(), "utf-8")
    field = io.StringIO()
    csv.writer(field, lineterminator="", quoting=csv.QUOTE_ALL).writerow([name])
    spec = tmp_path / "spec.yaml"
    done = run("init", file, "-o", spec, "--protected", field.getvalue(), "--has-header")
    assert done.returncode == 0, done.stderr
    (attribute,) = yaml.safe_load(spec.read_text("utf-8"))["columns"]["protected"].items()
    assert attribute[1].get("column", attribute[0]) == name
    checked = run("run", spec)
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("level", ["a\nb", 'say "x"', "no", "#", "a: b", "\x1b", "😀", "[x"])
def test_hostile_levels_stay_what_they_are(level: str, tmp_path: Path) -> None:
    file = tmp_path / "people.parquet"
    frame = pl.DataFrame({"sex": ["F", "M"] * 40, "y": [level, "other", "other", level] * 20})
    frame.write_parquet(file)
    spec = tmp_path / "spec.yaml"
    done = run("init", file, "-o", spec, "--protected", "sex", "--label", "y", "--positive", level)
    assert done.returncode == 0, done.stderr
    assert yaml.safe_load(spec.read_text("utf-8"))["columns"]["label"]["positive"] == level
    assert run("run", spec).returncode == 0


@pytest.mark.parametrize("text", [*HOSTILE, "", "\0", "\ud83d\ude00", "\x1b[31m", "a" * 300])
def test_what_is_quoted_is_read_again(text: str) -> None:
    text = text.encode("utf-16", "surrogatepass").decode("utf-16")
    assert yaml.load(f"x: [{quote(text)}]", yaml.BaseLoader) == {"x": [text]}  # noqa: S506  # plain texts


@pytest.mark.long
def test_a_thousand_columns(tmp_path: Path) -> None:
    file = tmp_path / "wide.csv"
    names = [f"c{number}" for number in range(1000)]
    lines = [",".join([*names, "sex", "hired"])]
    lines += [",".join(["3"] * 1000 + [sex, hired]) for sex in "FM" for hired in "01" for _ in "ab"]
    file.write_text("\n".join([*lines, ""]), "utf-8")
    round_trip(file, "--protected sex --has-header", tmp_path)


BROKEN = {
    "no rows": "sex,hired\n",
    "nothing": "",
    "no name": ",hired\nF,1\nM,0\n",
    "twice": "sex,sex,hired\nF,F,1\nM,M,0\n",
    "ragged": "sex,hired\nF,1,2,3\nM\n",
    "binary": "\0\1\2\n",
    "an open quote": 'sex,hired\n"F,1\n',
}


@pytest.mark.parametrize("fault", BROKEN)
def test_broken_files_end_with_a_message(fault: str, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text(BROKEN[fault], "utf-8")
    done = run("init", file, "--protected", "sex", "--decision", "hired", "--positive", "1")
    assert done.returncode == 2
    assert (done.stdout, "failed" in done.stderr) == ("", False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sample_data"], "is a folder"),
        (["nowhere.csv"], "No such file"),
        (["README.md"], "unknown file format"),
        (["sample_data/loans.csv", "--protected", "gendr"], "did you mean 'gender'?"),
        (["sample_data/loans.csv", "--protected", "application_id"], "too many for groups"),
        (["sample_data/loans.csv", "--protected", "race", "--score", "branch"], "not a number"),
        (
            ["sample_data/loans.csv", "--protected", "race", "--count", "score"],
            "not a whole number",
        ),
        (["sample_data/loans.csv", "--encoding", "klingon"], "--encoding"),
        (["sample_data/loans.csv", "-o", "nowhere/spec.yaml"], "is not a file"),
        (["sample_data/titanic.csv", "--protected", "sex", "--counts", "n"], "LEVEL=COLUMN"),
    ],
)
def test_wrong_usage_is_told(arguments: list[str], message: str) -> None:
    done = run("init", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


odd = st.text(alphabet="a1,;\t \"'\n\r|.-?\0%=ü\x85", max_size=60)


@given(odd, st.sampled_from([[], ["--separator", "ab"], ["--separator", ""], ["--decimal", "x"]]))
def test_whatever_a_file_holds_there_is_a_message(
    tmp_path_factory: pytest.TempPathFactory, text: str, options: list[str]
) -> None:
    file = tmp_path_factory.mktemp("odd") / "odd.csv"
    file.write_text(text, "utf-8", newline="")
    line = [str(file), "--protected", "a", *options]
    for done in (run("init", *line), run("verify", file)):
        assert done.returncode in {0, 1, 2, 3}
        assert "internal error in fairaudit" not in done.stderr, done.stderr


@pytest.mark.parametrize("field", ["9" * 5000, "a" * 200_000, "1e999"])
def test_endless_fields_are_told(field: str, tmp_path: Path) -> None:
    file = tmp_path / "long.csv"
    file.write_text(f"sex,n,selected\nF,{field},1\nM,2,1\n", "utf-8")
    for done in (run("init", file, "--protected", "sex", "--score", "n"), run("verify", file)):
        assert "internal error in fairaudit" not in done.stderr


def test_nothing_is_written_over(tmp_path: Path) -> None:
    data = tmp_path / "people.csv"
    data.write_bytes((ROOT / "sample_data" / "titanic.csv").read_bytes())
    spec = tmp_path / "spec.yaml"
    spec.write_text("mine", "utf-8")
    line = ("init", data, "--protected", "sex")
    assert run(*line, "-o", spec).returncode == 2
    assert spec.read_text("utf-8") == "mine"
    assert run(*line, "-o", spec, "--force").returncode == 0
    assert spec.read_text("utf-8") != "mine"
    before = data.read_bytes()
    assert run(*line, "-o", data, "--force").returncode == 2
    assert data.read_bytes() == before


def test_a_large_file_is_profiled_by_its_first_rows_and_one_pass(tmp_path: Path) -> None:
    """The levels that come late are counted, if not named."""
    file = tmp_path / "late.csv"
    early, late = "\n".join(["a,1"] * 60_000), "\n".join(f"b{n},0" for n in range(40_000))
    file.write_text(f"group,hired\n{early}\n{late}\n", "utf-8")
    form = guess_format(file)
    group, hired = profile_file(file, form, is_like_count, pair_counts).columns
    assert group.values == (("a", 50_000),)
    assert not group.is_whole
    assert group.distinct == pytest.approx(40_001, rel=0.1)
    assert (hired.low, hired.high) == (0, 1)


def test_a_table_of_counts_is_pointed_to_its_option(tmp_path: Path) -> None:
    file = tmp_path / "c.csv"
    rows = [f"{sex},{100 + i},{40 + i}" for i, sex in enumerate(("men", "women", "Unknown") * 20)]
    file.write_text("\n".join(["sex,n,selected", *rows]) + "\n", "utf-8")
    done = run("init", file, "--protected", "sex", "--decision", "selected")
    assert done.returncode == 2
    assert "--counts selected=selected --counts total=COLUMN" in done.stderr


def test_few_rows_never_merge_every_level_and_unknown_is_named_once(tmp_path: Path) -> None:
    file = tmp_path / "d.csv"
    file.write_text("sex,hired\n" + "men,1\nwomen,0\nUnknown,1\n" * 4, "utf-8")
    done = run("init", file, "--protected", "sex", "--decision", "hired", "--positive", "1")
    assert done.returncode == 0
    assert "merge:" not in done.stdout
    assert "unknown: [Unknown]}" in done.stdout


@pytest.mark.parametrize(
    ("name", "values", "says", "keys"),
    [
        ("loan_default", "yes no", "favourable: false", {"positive": "yes", "favourable": False}),
        ("paid_back", "yes no", "", {"positive": "yes"}),
        ("rearrested", "1 0", "favourable: false", {"positive": "1", "favourable": False}),
        ("y", "1 -1", "", {"positive": "1"}),
    ],
)
def test_a_burden_is_proposed_as_one(
    name: str, values: str, says: str, keys: dict[str, object], tmp_path: Path
) -> None:
    file = tmp_path / "x.csv"
    words = values.split()
    file.write_text(
        f"sex,{name}\n" + "".join(f"{'fm'[n % 2]},{words[n % 3 > 0]}\n" for n in range(60))
    )
    done = run("init", file, "--protected", "sex", "--label", name)
    assert done.returncode == 0, done.stderr
    label = yaml.safe_load(done.stdout)["columns"]["label"]
    assert {key: label.get(key) for key in keys} == keys
    assert ("favourable" in label) == bool(says)


LOANS = "sex,defaulted,approved\n" + "".join(
    f"{'fm'[n % 2]},{'yes' if n % 5 == 0 else 'no'},{'yes' if n % 3 else 'no'}\n" for n in range(90)
)


@pytest.mark.parametrize("role", ["prediction", "decision"])
def test_an_approval_is_no_burden_where_the_label_is_one(role: str, tmp_path: Path) -> None:
    file = tmp_path / "loans.csv"
    file.write_text(LOANS)
    options = ("--label", "defaulted", f"--{role}", "approved", "--positive", "yes")
    text = run("init", file, "--protected", "sex", *options).stdout
    columns = yaml.safe_load(text)["columns"]
    assert columns["label"]["favourable"] is False
    assert "favourable" not in columns[role]
    assert "# - {metric: impact_ratio, " in text
    file.write_text(LOANS.replace("approved", "predicted"))
    denied = ("--label", "defaulted", "--prediction", "predicted", "--positive", "no")
    columns = yaml.safe_load(run("init", file, "--protected", "sex", *denied).stdout)["columns"]
    assert "favourable" not in columns["label"] | columns["prediction"]


def test_the_best_value_of_a_burden_is_none(tmp_path: Path) -> None:
    """A burden is the positive that affirms the name of its column."""
    file = tmp_path / "x.csv"
    for name, good, bad in (
        ("rejected", "no", "yes"),
        ("fraud_check", "passed", "failed"),
        ("rejected", "0", "1"),
        ("default_status", "Paid", "Default"),
        ("not_rejected", "yes", ""),
    ):
        file.write_text(f"sex,{name}\n" + f"f,{good}\nm,{bad or 'no'}\n" * 40)
        for positive in filter(None, (good, bad)):
            done = run(
                "init", file, "--protected", "sex", "--decision", name, "--positive", positive
            )
            decision = yaml.safe_load(done.stdout)["columns"]["decision"]
            is_burden = positive == bad and bad != "failed"
            assert ("favourable" in decision) == is_burden, (name, positive)


@pytest.mark.parametrize("negation", ["not_fraud,yes,no", "predicted,not fraud,fraud"])
def test_a_prediction_of_no_burden_is_none(negation: str, tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    name, good, bad = negation.split(",")
    file.write_text(f"sex,fraud,{name}\n" + f"f,1,{bad}\nm,0,{good}\n" * 40)
    line = ("--protected", "sex", "--label", "fraud", "--prediction", name, "--positive")
    columns = yaml.safe_load(run("init", file, *line, good).stdout)["columns"]
    assert columns["label"]["favourable"] is False
    assert "favourable" not in columns["prediction"]


def test_a_count_of_the_rejected_is_one_of_a_burden() -> None:
    line = "--protected gender --counts admitted=admitted --counts rejected=rejected --positive"
    for positive, is_burden in (("rejected", True), ("admitted", False)):
        done = run("init", SAMPLES / "berkeley_wide.csv", *line.split(), positive)
        decision = yaml.safe_load(done.stdout)["columns"]["decision"]
        assert ("favourable" in decision) == is_burden


@pytest.mark.parametrize(
    ("values", "positive", "alike", "negative"),
    [
        (["Yes", "No", "Yes "], "Yes", ["Yes", "Yes "], ["No"]),
        (["Hired", "Rejected", "hired"], "Hired", ["Hired", "hired"], ["Rejected"]),
    ],
)
def test_look_alikes_of_the_positive_are_no_negatives(
    values: list[str], positive: str, alike: list[str], negative: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "x.csv"
    rows = [f"{'fm'[n % 2]},{values[n % 3]}" for n in range(90)]
    file.write_text("\n".join(["sex,outcome", *rows, ""]), "utf-8")
    named = f"--protected sex --decision outcome --positive {positive}"
    text = round_trip(file, named, tmp_path)
    decision = yaml.safe_load(text)["columns"]["decision"]
    assert sorted(decision["positive"]) == alike
    assert decision["negative"] == negative
    assert "is this one value in several spellings? All count as positive" in text


def test_of_codes_1_and_2_none_is_evidently_positive(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("sex,risk\n" + "".join(f"{'fm'[n % 2]},{1 + (n % 3 > 0)}\n" for n in range(60)))
    done = run("init", file, "--protected", "sex", "--label", "risk")
    assert done.returncode == 2
    assert "it is not clear which value of 'risk' is positive: '2', '1'" in done.stderr


def test_years_of_birth_are_cut_where_ages_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In 2026 those born in 1966 turn 60; years that are none of birth are cut in quarters."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1790000000")
    file = tmp_path / "x.csv"
    cuts = {
        (1940, 2004): "bins: [1966, 1986, 2001]",
        (1940, 1990): "bins: [1966, 1986]",
        (2001, 2026): "quantiles: 4",
        (1500, 2000): "quantiles: 4",
    }
    for years, cut in cuts.items():
        rows = [f"{'fm'[n % 2]},{n},{n % 3 > 0:d}\n" for n in range(*years)]
        file.write_text("sex,born,y\n" + "".join(rows))
        done = run("init", file, "--protected", "born", "--label", "y")
        assert done.returncode == 0, done.stderr
        assert f"born: {{{cut}}}" in done.stdout
        assert ("each edge is a year of birth" in done.stdout) == cut.startswith("bins")


def test_a_header_of_another_length_is_told(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("f,a,1\nm,b,0\n" * 30)
    for header, n in (("sex,race", 2), ("sex,race,y,z", 4)):
        done = run("init", file, "--header", header, "--protected", "sex")
        assert done.returncode == 2
        assert f"--header names {n} columns, and the first line has 3" in done.stderr
    done = run("init", file, "--header", "sex,race,y", "--protected", "sex", "--label", "y")
    assert done.returncode == 0, done.stderr


WHOLE = {"women": (50, 200), "men": (120, 300), "other": (20, 40)}
COUNTED = {
    "n and selected": ("sex,n,selected", {"selected": "selected", "total": "n"}, WHOLE),
    "hired": ("sex,applicants,n_hired", {"hired": "n_hired", "total": "applicants"}, WHOLE),
    "with rates": ("sex,n,selected,rate", {"selected": "selected", "total": "n"}, WHOLE),
    "both sides": (
        "sex,admitted,rejected",
        {"admitted": "admitted", "rejected": "rejected"},
        {"women": (200, 250), "men": (300, 420), "other": (40, 60)},
    ),
}


@pytest.mark.parametrize("kind", COUNTED)
def test_counts_side_by_side_are_proposed(kind: str, tmp_path: Path) -> None:
    header, counts, expected = COUNTED[kind]
    width = header.count(",") + 1
    rows = [("women", 200, 50, 0.25), ("men", 300, 120, 0.4), ("other", 40, 20, 0.5)]
    file = tmp_path / "table.csv"
    file.write_text("\n".join([header, *(",".join(map(str, row[:width])) for row in rows), ""]))
    text = round_trip(file, "--protected sex", tmp_path)
    decision = {"counts": counts, "positive": next(iter(counts))}
    assert yaml.safe_load(text)["columns"]["decision"] == decision
    assert "# proposed because of their names, and because each row is a different group" in text
    told = run("run", tmp_path / "spec.yaml", "--format", "json").stdout
    rates = {
        row["group"]["sex"]: (row["numerator"], row["denominator"])
        for row in json.loads(told)["rates"]
        if row["metric"] == "selection_rate" and row["by"] == ["sex"]
    }
    assert rates == expected


@pytest.mark.parametrize(
    "rows",
    [
        ["women,200,50", "men,300,301"],  # more selected than people
        ["women,200,50", "men,300,120", "men,10,5"],  # a group twice
        ["women,1,1", "men,1,0", "other,1,1"],  # people
        ["women,20.5,3", "men,30,4"],  # no number of people
        ["women,,3", "men,30,4"],  # none at all
    ],
)
def test_what_is_no_table_of_counts_is_not_proposed(rows: list[str], tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text("\n".join(["sex,n,selected", *rows, ""]), "utf-8")
    assert "counts:" not in run("init", file, "--protected", "sex").stdout


def test_a_named_outcome_gets_no_counts() -> None:
    file = "sample_data/berkeley_wide.csv"
    line = ("--protected", "gender", "--decision", "admitted", "--positive", ">=100")
    decision = {"column": "admitted", "positive": {"at_least": 100}}
    assert yaml.safe_load(run("init", file, *line).stdout)["columns"]["decision"] == decision


def test_ids_are_no_groups_and_no_scores(tmp_path: Path) -> None:
    file = tmp_path / "visits.csv"
    # 6,000 visits of 2,000 people: an id has fewer levels than there are rows.
    rows = (
        f"{n % 2000},{20 + n % 50 / 7:.3f},R{n % 2000},{'FM'[n % 2]},{n % 3 % 2},{n % 2000}"
        for n in range(6000)
    )
    header = "race_id,age,native_key,sex,hired,risk_id"
    file.write_text("\n".join([header, *rows, ""]), "utf-8")
    done = run("init", file, "--decision", "hired", "--positive", "1")
    assert done.returncode == 2
    assert (
        "candidates: age (because of its name), sex (because of its name and its values)"
        in done.stderr
    )
    proposed = run("init", file, "--protected", "sex", "--positive", "1").stdout
    assert "score" not in proposed
    assert "  # id: race_id  # about 2,0" in proposed
    assert "different values in 6,000 rows: with it, no person counts twice" in proposed


FLAGS = "sex,race,flagged,fraud\n" + "".join(
    f"{'fm'[n % 2]},{'ab'[n % 3 > 0]},{n % 5 == 0},{n % 7 == 0}\n" for n in range(400)
)


def test_who_predicts_a_burden_selects_for_one(tmp_path: Path) -> None:
    """The gate that is proposed is of who is selected wrongly, not of who is selected least."""
    file = tmp_path / "flags.csv"
    file.write_text(FLAGS)
    options = ("--label", "fraud", "--positive", "true", "--prediction", "flagged")
    done = run("init", file, "--protected", "sex,race", *options)
    assert done.returncode == 0, done.stderr
    columns = yaml.safe_load(done.stdout)["columns"]
    assert columns["label"]["favourable"] is columns["prediction"]["favourable"] is False
    assert "# - {metric: predictive_equality, by: all, " in done.stdout
    assert "impact_ratio" not in done.stdout
    assert "strata" not in done.stdout.replace("# strata", "")


def test_a_prediction_that_is_no_burden_beside_a_label_that_is_one_is_told(tmp_path: Path) -> None:
    (tmp_path / "flags.csv").write_text(FLAGS)
    spec = {
        "data": "flags.csv",
        "columns": {
            "protected": ["sex"],
            "label": {"column": "fraud", "positive": "true", "favourable": False},
            "prediction": {"column": "flagged", "positive": "true"},
        },
        "metrics": ["false_positive_rate"],
    }
    words = (
        "the positive value of the label is a burden, and that of prediction is treated as a "
        "benefit"
    )
    for favourable, is_told in ((True, True), (False, False)):
        spec["columns"]["prediction"]["favourable"] = favourable  # type: ignore[index]
        (tmp_path / "spec.yaml").write_text(yaml.safe_dump(spec))
        for command in ("check", "run"):
            shown = run(command, tmp_path / "spec.yaml", *(["--full"] if command == "run" else []))
            assert (words in " ".join(shown.stdout.split())) == is_told, shown.stdout


def test_counts_may_stand_between_commas(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("sex,asked,got\nf,100,20\nm,120,50\n")
    done = run("init", file, "--protected", "sex", "--counts", "got=got, total=asked")
    assert done.returncode == 0, done.stderr
    counts = yaml.safe_load(done.stdout)["columns"]["decision"]["counts"]
    assert counts == {"got": "got", "total": "asked"}


@pytest.mark.parametrize("options", [(), ("--count", "n")])
def test_masked_counts_are_proposed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    if options:
        Path("d.csv").write_text("sex,hired,n\nf,yes,<5\nf,no,40\nm,yes,(D)\nm,no,30\n")
    else:
        Path("d.csv").write_text("sex,n_selected,n\nf,<5,40\nm,(D),30\n")
    proposed = run("init", "d.csv", "--protected", "sex", *options, "-o", "s.yaml", folder=tmp_path)
    assert proposed.returncode == 0, proposed.stderr
    masks = yaml.safe_load(Path("s.yaml").read_text())["missing"]["masked"]
    assert masks == {"(D)": [0, 9], "<5": [0, 4]}
    assert run("run", "s.yaml", folder=tmp_path).returncode == 0


def test_every_mask_of_the_counts_is_proposed_also_of_totals_and_rare_ones(tmp_path: Path) -> None:
    """Each of these texts, and no other, has the ends that its words say; unclear ones 0 to 9."""
    ends = {
        "n<10": [0, 9], "<10": [0, 9], "< 10": [0, 9], "≤10": [0, 10], "<=7": [0, 7],
        "10 or fewer": [0, 10], "fewer than 10": [0, 9], "(D)": [0, 9], "s": [0, 9], "–": [0, 9],
        "*": [0, 9], "suppressed": [0, 9],
    }  # fmt: skip
    counts = [(f"{n}", f"{200 + n}") for n in range(100)]  # more values than a profile lists
    counts += [(text, f"{300 + n}") for n, text in enumerate(ends) if text != "n<10"]
    counts += [("0", "n<10")]
    rows = [f"g{n // 2},{'fm'[n % 2]},{k},{total}" for n, (k, total) in enumerate(counts)]
    (tmp_path / "d.csv").write_text("\n".join(["group,sex,n_selected,n", *rows, ""]))
    done = run("init", "d.csv", "--protected", "group,sex", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    spec = yaml.safe_load(done.stdout)
    assert spec["columns"]["decision"]["counts"] == {"selected": "n_selected", "total": "n"}
    assert spec["missing"]["masked"] == ends
    assert "the smallest and the largest count that each text hides" in done.stdout


def test_dates_are_declared_where_their_order_is_clear(tmp_path: Path) -> None:
    days = {"us": "12/31/1980 1/2/1990", "eu": "31.1.2024 1.2.2024", "open": "1/2/2024 3/4/2024"}
    rows = zip(*(texts.split() for texts in days.values()), strict=True)
    lines = [f"{us},{eu},{open_},{g},{g}" for (us, eu, open_), g in zip(rows, "10", strict=True)]
    (tmp_path / "d.csv").write_text("\n".join(["us,eu,open,sex,hired", *lines * 30, ""]))
    done = run("init", "d.csv", "--protected", "us", "--decision", "hired", folder=tmp_path)
    spec = yaml.safe_load(done.stdout)
    assert spec["dates"] == {"us": "%m/%d/%Y", "eu": "%d.%m.%Y"}
    assert {"from", "at", "bins"} == {*spec["columns"]["protected"]["us"]}
    assert "# strata: {month: {column: eu, period: month}}" in done.stdout


STAGES = {
    "stage": ["Applied", "Interviewed", "Offered", "Hired"],
    "status": ["hired", "applied", "phone screen", "withdrawn", "offer"],
}


def test_no_stages_are_proposed_if_two_levels_are_the_same_stage(tmp_path: Path) -> None:
    levels = ["Applied", "Phone interview", "Interviewed", "Hired"]
    rows = [f"{sex},{level}" for sex in "mf" for level in levels for _ in range(5)]
    (tmp_path / "d.csv").write_text("\n".join(["sex,stage", *rows, ""]))
    made = run("init", "d.csv", "--protected", "sex", "--decision", "stage", "--positive", "Hired",
               folder=tmp_path)  # fmt: skip
    assert "decision: {column: stage" in made.stdout
    assert "stages:" not in made.stdout


@pytest.mark.parametrize("name", STAGES)
def test_the_stages_of_a_process_are_proposed_in_their_order(tmp_path: Path, name: str) -> None:
    """The proposed line, in place of that of the decision, is a spec with a rate for each step."""
    levels = STAGES[name]
    rows = [f"{sex},{level}" for sex in "mf" for level in levels for _ in range(5)]
    (tmp_path / "d.csv").write_text("\n".join([f"sex,{name}", *rows, ""]))
    made = run("init", "d.csv", "--protected", "sex", "--decision", name, "--positive", levels[-1],
               folder=tmp_path)  # fmt: skip
    text = made.stdout
    (line,) = re.findall(r"# (stages: \{.*\})  # in place of", text)
    spec = re.sub(r"(?m)^  decision: .*$", f"  {line}", text)
    (tmp_path / "s.yaml").write_text(spec)
    result = fairaudit.audit(str(tmp_path / "s.yaml"))
    order = (
        ["Applied", "Interviewed", "Offered", "Hired"]
        if name == "stage"
        else ["applied", "phone screen", "offer", "hired"]
    )
    assert [*result.stages] == order
    remedy = "All other values are left out: replace them by the last stage reached"
    assert (remedy in text) == ("withdrawn" in levels)
    assert f"{order[-1]} among {order[-2]}" in {row.of for row in result.rates}

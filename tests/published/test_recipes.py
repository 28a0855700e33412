"""Tables as they are published are audited without reshaping; numbers by reading them in Python."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from pathlib import Path

import jsonschema
import pytest
import yaml
from conftest import ROOT, SPECS

import fairaudit
from fairaudit.base.errors import DataError
from fairaudit.result import AuditResult
from fairaudit.spec.editor_schema import json_schema

RECIPES = SPECS / "recipes"
SAMPLES = ROOT / "sample_data"
GERMAN = ROOT.parent / "shared" / "data" / "german.data"
DECISIONS = ("approved", "refused")
Shares = dict[str, tuple[int, int]]


def _audited(name: str, attribute: str) -> Shares:
    result = fairaudit.audit(RECIPES / f"{name}.yaml")
    return _shares(result, attribute)


def _shares(result: AuditResult, attribute: str) -> Shares:
    return {
        row.group[0][1]: (row.estimate.numerator or 0, row.estimate.denominator or 0)
        for row in result.rates
        if row.by == (attribute,) and row.group and not row.stratum
    }


def _counted(
    rows: Iterable[Mapping[str, str]],
    level: Callable[[Mapping[str, str]], str],
    selected: Callable[[Mapping[str, str]], int],
    people: Callable[[Mapping[str, str]], int],
) -> Shares:
    hits, everybody = Counter[str](), Counter[str]()
    for row in rows:
        hits[level(row)] += selected(row)
        everybody[level(row)] += people(row)
    return {name: (hits[name], everybody[name]) for name in everybody}


def _read(name: str) -> list[dict[str, str]]:
    with (SAMPLES / name).open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*.yaml")), ids=lambda path: path.stem)
def test_recipes_fit_the_json_schema(path: Path) -> None:
    texts = yaml.load(path.read_text(), Loader=_Texts)  # noqa: S506  # a safe loader
    jsonschema.Draft202012Validator(json_schema()).validate(texts)


class _Texts(yaml.SafeLoader):
    """Reads dates as texts, as a spec does."""


_Texts.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith("timestamp")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def test_one_row_a_group_with_its_total() -> None:
    rows = _read("published_rates.csv")
    expected = _counted(
        rows,
        lambda row: "(unknown)" if row["sex"] == "Unknown" else row["sex"],
        lambda row: int(row["selected"]),
        lambda row: int(row["applicants"]),
    )
    assert _audited("published_rates", "sex") == expected


def test_the_summary_that_local_law_144_asks_for_counts_everybody_of_a_known_group() -> None:
    expected = _counted(
        [row for row in _read("published_rates.csv") if row["race"] != "Unknown"],
        lambda row: row["race"],
        lambda row: int(row["selected"]),
        lambda row: int(row["applicants"]),
    )
    result = fairaudit.audit(RECIPES / "hiring_ll144.yaml")
    found = _shares(result, "race")
    assert {name: found[name] for name in expected} == expected
    people = sum(n for _, n in expected.values())
    excluded = {
        (row["sex"], row["race"])
        for row in _read("published_rates.csv")
        if int(row["applicants"]) < 0.02 * people
    }
    unjudged = {
        (row.group[0][1], row.group[1][1])
        for row in result.groups
        if row.group and len(row.group) == 2 and row.standing == "excluded"
    }
    assert unjudged == excluded
    assert excluded


def test_whoever_stayed_long_and_was_flagged() -> None:
    expected = _counted(
        [row for row in _read("long_stays.csv") if row["stayed_long"] == "yes"],
        lambda row: row["language"],
        lambda row: int(row["n"]) * (row["flagged"] == "yes"),
        lambda row: int(row["n"]),
    )
    result = fairaudit.audit(RECIPES / "health.yaml")
    rates = [row for row in result.rates if row.metric == "true_positive_rate"]
    found = {
        row.group[0][1]: (row.estimate.numerator, row.estimate.denominator)
        for row in rates
        if row.group and row.by == ("language",)
    }
    assert found == expected
    (failed,) = [finding for finding in result.findings if finding.status == "fail"]
    assert failed.group == (("language", "Spanish"),)
    assert failed.value == pytest.approx(100 / 208 - 335 / 470)


def test_the_month_in_which_fewer_women_are_approved_fails() -> None:
    months = sorted((SAMPLES / "months").glob("*.csv"))
    spec = RECIPES / "monitoring.yaml"
    verdicts = {path.stem: fairaudit.audit(spec, path).verdict.value for path in months}
    ratios = {}
    for path in months:
        rows = [row.split(",") for row in path.read_text().split()[1:]]
        count = {(sex, decision): int(n) for sex, decision, n in rows}
        rate = {
            sex: Fraction(count[sex, "approved"], sum(count[sex, d] for d in DECISIONS))
            for sex in ("female", "male")
        }
        ratios[path.stem] = rate["female"] / rate["male"]
    assert verdicts == {
        month: "fail" if ratio < Fraction(8, 10) else "pass" for month, ratio in ratios.items()
    }
    assert [month for month, verdict in verdicts.items() if verdict == "fail"] == ["2025-04"]


def test_lending_finds_black_women_and_no_gap_within_branches() -> None:
    result = fairaudit.audit(RECIPES / "lending.yaml")
    (failed,) = [finding for finding in result.findings if finding.status == "fail"]
    assert failed.group == (("race", "Black"), ("gender", "female"))
    rows = _read("loans.csv")

    def rate(race: str, gender: str) -> Fraction:
        people = [row for row in rows if (row["race"], row["gender"]) == (race, gender)]
        return Fraction(sum(row["approved"] == "yes" for row in people), len(people))

    assert failed.value == pytest.approx(float(rate("Black", "female") / rate("White", "male")))


def test_a_column_for_each_outcome() -> None:
    expected = _counted(
        _read("berkeley_wide.csv"),
        lambda row: row["gender"],
        lambda row: int(row["admitted"]),
        lambda row: int(row["admitted"]) + int(row["rejected"]),
    )
    assert expected == {"men": (1198, 2691), "women": (557, 1835)}  # Bickel et al. 1975
    result = fairaudit.audit(RECIPES / "berkeley_wide.yaml")
    assert _shares(result, "gender") == expected
    assert [reversal.given for reversal in result.reversals] == [("department",)]


def test_race_and_ethnicity_in_two_columns_and_a_date_of_birth() -> None:
    rows = _read("mortgages.csv")

    def origin(row: Mapping[str, str]) -> str:
        race, ethnicity = row["derived_race"], row["derived_ethnicity"]
        if ethnicity == "Hispanic or Latino":
            return "Hispanic"
        is_unknown = "Not Available" in f"{race}{ethnicity}"
        return "(unknown)" if is_unknown else race.split()[0]

    def age(row: Mapping[str, str]) -> str:
        # On the last day of a year everybody has had a birthday.
        return "62 and over" if 2024 - int(row["birth_date"][:4]) >= 62 else "under 62"

    for attribute, level in (("origin", origin), ("age", age)):
        expected = _counted(
            rows,
            level,
            lambda row: int(row["n"]) * (row["action_taken"] == "originated"),
            lambda row: int(row["n"]),
        )
        assert _audited("mortgages", attribute) == expected


def test_codes_without_a_header(monkeypatch: pytest.MonkeyPatch) -> None:
    if not GERMAN.exists():
        pytest.skip(f"{GERMAN.name} is not in the data folder")
    monkeypatch.setenv("GERMAN_CREDIT", str(GERMAN))
    lines = [line.split() for line in GERMAN.read_text().splitlines()]
    people = Counter("over 25" if int(line[12]) > 25 else "25 and under" for line in lines)
    good = Counter(
        "over 25" if int(line[12]) > 25 else "25 and under" for line in lines if line[20] == "1"
    )
    expected = {name: (good[name], people[name]) for name in people}
    assert expected == {"over 25": (590, 810), "25 and under": (110, 190)}
    assert _audited("german_credit", "age") == expected
    single = _audited("german_credit", "status_sex")["male, single"]
    assert single[1] == sum(line[8] == "A93" for line in lines)


@pytest.mark.parametrize(
    ("text", "place"),
    [("m 1\nf\n", "people.data:2: 1 field where"), ("m 1 2\n", "people.data:1: 3 fields where")],
)
def test_faults_of_a_file_without_header_are_told_with_its_own_lines(
    text: str, place: str, tmp_path: Path
) -> None:
    path = tmp_path / "people.data"
    path.write_text(text)
    spec = {
        "columns": {"protected": ["sex"], "decision": "y"},
        "format": {"header": ["sex", "y"], "separator": " "},
        "metrics": "selection_rate",
    }
    with pytest.raises(DataError) as caught:
        fairaudit.audit(spec, path)
    assert place in str(caught.value)
    path.write_text("m 1\nf 0\n")
    result = fairaudit.audit(spec, path)
    assert result.ledger.read == 2
    assert result.provenance.files[0].lines == 2
    path.write_text("m 1\n\nf \n")
    with pytest.raises(DataError, match=r"no value in the decision 'y'.*people\.data:3"):
        fairaudit.audit(spec, path)

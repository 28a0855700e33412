"""The spec: what it accepts, and each fault with its place; see `bad_specs/` for the messages."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import jsonschema
import pytest
import yaml
from conftest import ROOT, SPECS

import fairaudit
from fairaudit import spec as specs
from fairaudit.base.errors import FairauditError, SpecError
from fairaudit.base.frozen import replace
from fairaudit.judge import Check
from fairaudit.judge.checks import About
from fairaudit.spec import Missing, MissingPolicy
from fairaudit.spec.editor_schema import json_schema
from fairaudit.spec.text import read

BAD = sorted((Path(__file__).parent / "bad_specs").glob("*.yaml"))
GOOD = sorted(SPECS.glob("*.yaml"))
MINIMAL = """\
columns:
  protected: [race]
  decision: {column: y, positive: 1}
metrics: [selection_rate]
"""


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_a_bad_spec_says_what_where_and_what_next(
    path: Path, golden: Callable[[Path, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(path.parent)
    with pytest.raises(FairauditError) as caught:
        fairaudit.audit(path.name)
    assert caught.value.exit_code == 2
    golden(path.with_suffix(".txt"), f"{caught.value}\n")


def test_five_faults_of_one_stage_are_five_messages() -> None:
    text = MINIMAL.replace("race", "race, {x: 1}").replace("column: y", "colum: y, number: true")
    text += "titel: x\nundefined: never\ngroups: {min_size: few}\n"
    with pytest.raises(SpecError) as caught:
        specs.parse(text)
    places = [
        (fault.place.line, fault.place.column) for fault in caught.value.faults if fault.place
    ]
    assert len(caught.value.faults) >= 5
    assert places == sorted(places)
    assert len(places) == len(caught.value.faults)


@pytest.mark.parametrize(
    "value", ["NO", "012", "1e3", "2020-01-01", "0x1F", "yes", "1.0", "null_", "12:30:45"]
)
def test_scalars_stay_text(value: str) -> None:
    text = MINIMAL.replace("positive: 1", f"positive: {value}")
    (outcome,) = specs.parse(text).predictions
    assert [one.value for one in outcome.positive] == [value]


def test_places_are_those_of_the_text() -> None:
    document = read("a: 1\nb:\n  - x\n  - {c: 2}\n", "s.yaml")
    assert str(document.place(("b", 1, "c"))) == "s.yaml:4:9"
    assert str(document.place(("b", 1, "c"), key=True)) == "s.yaml:4:6"
    assert document.tree == {"a": "1", "b": ["x", {"c": "2"}]}


def test_a_mapping_means_what_the_text_means() -> None:
    text = specs.parse(MINIMAL)
    mapping = specs.of_mapping(yaml.safe_load(MINIMAL))
    assert [one.id for one in text.checks] == [one.id for one in mapping.checks]
    assert text.requests == mapping.requests


def test_defaults_of_missing_values_are_those_that_fingerprints_leave_out() -> None:
    assert specs.parse(MINIMAL).missing == Missing()


def test_aliases_are_allowed_but_not_endless_ones() -> None:
    text = MINIMAL.replace("[selection_rate]", "\n  - &m selection_rate\n  - *m")
    assert len(specs.parse(text).requests) == 2
    bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
    for last, name in zip("abcdefg", "bcdefgh", strict=True):
        bomb += f"{name}: &{name} [{','.join(['*' + last] * 10)}]\n"
    with pytest.raises(SpecError, match="endless or huge"):
        specs.parse(bomb)
    with pytest.raises(SpecError, match="endless or huge"):
        specs.parse("a: &a [*a]\n")


def test_nothing_in_a_spec_runs_code() -> None:
    with pytest.raises(SpecError, match="not allowed"):
        specs.parse("title: !!python/object/apply:os.getcwd []\n")


@pytest.mark.parametrize(
    ("text", "mapping"),
    [
        ('"< 0.8"', "{below: 0.8}"),
        ('"> .05"', "{above: .05}"),
        (" <0.8", "{below: 0.8}"),
        ("outside -0.05..0.05", "{outside: [-0.05, 0.05]}"),
        ("outside 0..1e-1", "{outside: [0, 1e-1]}"),
        ('"outside  0. .. +.5"', "{outside: [0., +.5]}"),
    ],
)
def test_a_limit_is_a_text_or_a_mapping(text: str, mapping: str) -> None:
    entry = "metrics: [{metric: selection_rate, fail: LIMIT}]"
    spec = MINIMAL.replace("metrics: [selection_rate]", entry)
    limits = [specs.parse(spec.replace("LIMIT", written)).checks[0] for written in (text, mapping)]
    assert limits[0].source.fail is not None
    assert limits[0].source.fail.text[limits[0].source.fail.column - 1 :].startswith(text.strip())
    # Where the limit is written differs, what it says does not.
    assert replace(limits[0], source=limits[1].source) == limits[1]


INTERSECTION = """\
columns:
  protected: [race, sex, a * b]
  decision: {column: y, positive: 1}
metrics: [{metric: demographic_parity_ratio, by: BY, fail: "< 0.8"}]
"""


@pytest.mark.parametrize(
    ("by", "groupings", "is_hinted"),
    [
        ("[[race, sex]]", [("race", "sex")], False),
        ("race * sex", [("race", "sex")], False),
        ("[sex × race, sex]", [("race", "sex"), ("sex",)], False),
        ("a * b", [("a * b",)], False),
        ("each", [("race",), ("sex",), ("a * b",)], False),
        ("[race, sex]", [("race",), ("sex",)], True),
        ("[race, sex, race * sex]", [("race",), ("sex",), ("race", "sex")], False),
    ],
)
def test_an_intersection_is_written_with_a_sign(
    by: str, groupings: list[tuple[str, ...]], *, is_hinted: bool
) -> None:
    spec = specs.parse(INTERSECTION.replace("BY", by), "loans.yaml")
    assert sorted(check.by for check in spec.checks if hasattr(check, "by")) == sorted(groupings)
    hints = [notice for notice in spec.notices if "add `by: race * sex`" in notice]
    assert len(hints) == is_hinted
    assert all(
        hint.startswith("loans.yaml:4: race and sex are judged separately") for hint in hints
    )


SHARED = """\
x-four-fifths: &four-fifths {fail: "< 0.8", why: "29 CFR 1607.4(D)"}
x-unused:
columns:
  protected: {race: {reference: White}, sex: {}}
  decision: {column: y, positive: 1}
defaults: {by: [race * sex, race], reference: rest, average: pooled, warn: "< 0.9", owner: HR}
metrics:
  - {metric: selection_rate, warn: none}
  - {<<: *four-fifths, metric: disparate_impact_ratio, name: Four fifths, id: four-fifths, by: race}
  - {metric: impact_ratio, id: impact, owner: Legal}
simpson: {rates: selection_rate, given: race, name: No reversal, warn: true}
"""


def test_entries_share_defaults_and_merged_keys() -> None:
    checks = {check.id: check for check in specs.parse(SHARED, "s.yaml").checks}
    assert [*checks] == [
        "four-fifths",
        "impact/race+sex",
        "impact/race",
        "simpson_reversal/selection_rate/decision",
    ]
    four_fifths, impact, _, reversals = checks.values()
    assert isinstance(four_fifths, Check)
    assert isinstance(impact, Check)
    assert four_fifths.about == About("Four fifths", "29 CFR 1607.4(D)", "HR")
    assert impact.about == About(owner="Legal")
    assert reversals.about == About("No reversal")
    assert str(four_fifths.terms.reference and four_fifths.terms.reference.policy) == "rest"
    assert impact.terms.reference is None
    assert impact.terms.average is None
    assert [str(four_fifths.fail), str(four_fifths.warn)] == ["below 0.8", "below 0.9"]
    assert [impact.fail, str(impact.warn)] == [None, "below 0.9"]


def test_the_alias_that_was_asked_is_the_name_of_the_check() -> None:
    entry = "metrics: [{metric: tpr, fail: '< 0.5'}, {metric: fpr, name: Alarms, fail: '< 0.5'}]"
    text = MINIMAL.replace("metrics: [selection_rate]", f"{entry}\n") + "  label: y"
    text = text.replace("  label: y", "").replace("columns:\n", "columns:\n  label: z\n")
    checks = specs.parse(text).checks
    assert [check.about.name for check in checks] == ["tpr", "Alarms"]
    assert checks[0].id == "true_positive_rate/race/decision"


def test_what_is_missing_of_a_decision_may_be_called_so() -> None:
    text = MINIMAL + "missing: {decision: drop}\n"
    assert specs.parse(text).missing.prediction is MissingPolicy.DROP
    with pytest.raises(SpecError, match="`prediction` is a rule for the same rows"):
        specs.parse(text.replace("decision: drop", "decision: drop, prediction: drop"))


def test_a_fault_of_a_default_points_at_it() -> None:
    text = SHARED.replace('warn: "< 0.9"', 'warn: "> 0.9"')
    column = text.splitlines()[5].index('"> 0.9"') + 1
    with pytest.raises(SpecError) as caught:
        specs.parse(text, "s.yaml")
    assert {str(fault.place) for fault in caught.value.faults} == {f"s.yaml:6:{column}"}


def test_a_merged_key_gives_way_to_what_the_entry_says() -> None:
    text = SHARED.replace("<<: *four-fifths, metric", 'fail: "< 0.7", <<: *four-fifths, metric')
    check = specs.parse(text).checks[0]
    assert str(check.fail) == "below 0.7"
    assert check.about.why == "29 CFR 1607.4(D)"


@pytest.mark.parametrize("merged", ["*a", "[*a, *a]", "b", "[{x: 1}, b]"])
def test_merging_what_is_no_mapping_or_endless_is_a_fault(merged: str) -> None:
    with pytest.raises(
        SpecError, match=r"aliases make this spec endless|the value of `<<` must be"
    ):
        read(f"a: &a\n  <<: {merged}\n", "s.yaml")


def test_merged_aliases_do_not_grow_without_end() -> None:
    lines = ["a0: &a0 {x: 1}"]
    lines += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 12)]
    with pytest.raises(SpecError, match="endless or huge"):
        read("\n".join(lines), "s.yaml")


def test_groupings() -> None:
    text = MINIMAL.replace("[race]", "[race, sex, age]").replace("[selection_rate]", "\n")
    text += "  - {metric: demographic_parity_ratio, by: [race, [sex, race]], fail: {below: 0.8}}\n"
    text += "  - {metric: differential_fairness, fail: {above: 1}}\n"
    text += "  - {metric: demographic_parity_difference, by: all, fail: {above: 0.1}}\n"
    by = [check.by for check in specs.parse(text).checks if hasattr(check, "by")]
    assert by[:3] == [("race",), ("race", "sex"), ("race", "sex", "age")]
    assert len(by[3:]) == 7


def test_nothing_changes_a_document_that_is_read_once_for_several_uses() -> None:
    text = MINIMAL + "defaults: {by: each}\nprofile: four-fifths\n"
    document = read(text, "spec")
    assert read(text, "spec") is document
    before = deepcopy(document)
    specs.parse(text, settings=["groups.min_size=30", "defaults.fail='< 0.9'"])
    assert document == before


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_good_specs_fit_the_json_schema_and_name_it(path: Path) -> None:
    schema = json.loads((SPECS / "fairaudit.schema.json").read_text("utf-8"))
    text = path.read_text("utf-8")
    assert text.startswith("# yaml-language-server: $schema=fairaudit.schema.json\n")
    jsonschema.Draft202012Validator(schema).validate(yaml.safe_load(text))


def test_the_shipped_json_schema_is_the_printed_one() -> None:
    shipped = json.loads((SPECS / "fairaudit.schema.json").read_text("utf-8"))
    assert shipped == json_schema(), "fairaudit schema > audit_specs/fairaudit.schema.json"
    jsonschema.Draft202012Validator.check_schema(shipped)


@pytest.mark.long
@pytest.mark.parametrize(
    "wrong",
    [
        {"metrics": ["selection_rte"]},
        {"colums": {}},
        {"metrics": [{"metric": "selection_rate", "fail": {}}]},
        {"missing": {"label": "shown"}},
        {"columns": {"protected": {"a": {"merge": ["x"]}}}},
    ],
)
def test_the_json_schema_refuses_what_the_loader_refuses(wrong: dict[str, object]) -> None:
    good = yaml.safe_load(MINIMAL)
    validator = jsonschema.Draft202012Validator(json_schema())
    validator.validate(good)
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({**good, **wrong})
    with pytest.raises(SpecError):
        specs.of_mapping({**good, **wrong})


def test_readme_speaks_of_every_sample_spec() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert [path.name for path in GOOD if path.name not in readme] == []

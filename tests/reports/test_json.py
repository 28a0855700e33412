"""The JSON report is lossless: read back, a result makes every report that its run made."""

from __future__ import annotations

import copy
import json
import math
import random
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import both, fewer, is_quick, long, partly
from json_cases import CASES
from report_cases import NAMES, sample
from schemas import validate

import fairaudit
from fairaudit import codec
from fairaudit.api.results import make_public
from fairaudit.base.errors import (
    AuditFailed,
    DataError,
    FairauditError,
    Fault,
    NothingToAudit,
    OutOfMemory,
    Place,
    SpecError,
    Unwritten,
    UsageError,
)
from fairaudit.base.frozen import Frozen, field_names, replace
from fairaudit.codec.records import read as read_row
from fairaudit.codec.records import write as write_row
from fairaudit.judge import Check, Finding, Limit
from fairaudit.metrics import (
    CATALOGUE,
    Disparity,
    GroupMetric,
    Metric,
    average_classes,
    build_disparity,
)
from fairaudit.metrics.comparisons import COMPARISONS
from fairaudit.metrics.disparities import OverGroups
from fairaudit.metrics.formulas import macro_average
from fairaudit.report import FORMATS, content, summary
from fairaudit.report import json as report_json
from fairaudit.result import Answer, AuditResult
from fairaudit.tools.compare import document_schema

Path_ = tuple[str | int, ...]


@cache
def validator() -> jsonschema.Draft202012Validator:
    """Of results alone: among several kinds of document a fault would not be found."""
    tree = document_schema("result")
    return jsonschema.Draft202012Validator({"$ref": "#/$defs/Result", "$defs": tree["$defs"]})


def pieces(one: object) -> Iterator[tuple[str, object]]:
    """What a value of a result is made of, by name; nothing for what is one piece."""
    if isinstance(one, Mapping):
        yield from ((f"[{name!r}]", each) for name, each in one.items())
    elif isinstance(one, tuple | list):
        yield from ((f"[{at}]", each) for at, each in enumerate(one))
    elif isinstance(one, Frozen):
        yield from ((f".{name}", getattr(one, name)) for name in field_names(one))


def differences(one: object, other: object, path: str = "") -> Iterator[str]:
    """Where two results differ, to the type and the sign of every number."""
    mine, theirs = dict(pieces(one)), dict(pieces(other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        is_other = list(one) != list(other)
    else:
        is_other = type(one) is not type(other) or mine.keys() != theirs.keys()
        is_other = is_other or not (mine or repr(one) == repr(other))
    if is_other:
        yield path
    for name in mine.keys() & theirs.keys():
        yield from differences(mine[name], theirs[name], path + name)


def holds(result: AuditResult) -> None:
    """The law: nothing that a report reads is lost, whatever is in the result."""
    text = report_json.render(result)
    validator().validate(json.loads(text))
    again = codec.read_result(codec.parse(text))
    assert report_json.render(again) == text
    for all_rows in both():
        told, same = (content.document(one, all_rows=all_rows) for one in (result, again))
        # As text: a picture may hold a number that is none, which equals nothing.
        assert repr(told) == repr(same)
        answers = [Answer("spec.yaml", None, one) for one in (result, again)]
        # Prose with all rows holds what it says without; the other formats always have all rows.
        forms = () if is_quick() else FORMATS
        for each in (form for form in forms if bool(form.page) == all_rows):
            text_of_run, text_again = (each.render([one], all_rows=all_rows) for one in answers)
            assert text_again == text_of_run, each.name
    found = (again.verdict, again.tally, again.exit_code, repr(again))
    assert found == (result.verdict, result.tally, result.exit_code, repr(result))
    assert not [*differences(make_public(result), fairaudit.load(text))]


@pytest.mark.long
@pytest.mark.parametrize("name", [*NAMES[:3], *map(long, NAMES[3:])])
def test_sample_specs_are_read_back(name: str) -> None:
    holds(sample(name))


@pytest.mark.long
@pytest.mark.parametrize("name", partly(CASES))
def test_every_kind_of_result_is_read_back(name: str, tmp_path: Path) -> None:
    make, is_one = CASES[name]
    result = make(tmp_path)
    assert is_one(result), "the case shows what it is called"
    holds(result)


def rewritten(result: AuditResult, **changes: Any) -> AuditResult:
    """The result with another first finding."""
    first, *others = result.findings
    return replace(result, findings=(replace(first, **changes), *others))


def test_the_law_sees_what_is_lost(tmp_path: Path) -> None:
    result = CASES["gates"][0](tmp_path)
    check = result.findings[0].check
    assert isinstance(check, Check)
    lossy = {
        "findings[0].check.fail.below": rewritten(
            result, check=replace(check, fail=Limit(below=Decimal("0.8")))
        ),
        "findings[0].check.place": rewritten(result, check=replace(check, place=Place("a", 1, 1))),
        "findings[0].crossed": rewritten(result, crossed=()),
        "rates[0].estimate.value": replace(
            result,
            rates=(
                replace(result.rates[0], estimate=replace(result.rates[0].estimate, value=-0.0)),
                *result.rates[1:],
            ),
        ),
        "groups": replace(result, groups=result.groups[1:]),
        "compared": replace(result, compared=1),
    }
    for path, other in lossy.items():
        assert any(one.startswith(f".{path}") for one in differences(result, other)), path
    assert not [*differences(result, replace(result))]


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A report that holds something of nearly every kind."""
    result = CASES["a baseline"][0](tmp_path_factory.mktemp("then"))
    found: dict[str, Any] = json.loads(report_json.render(result))
    return found


def places(tree: object, path: Path_ = ()) -> Iterator[Path_]:
    """The path of every member of a document."""
    if path:
        yield path
    if isinstance(tree, dict):
        for name, one in tree.items():
            yield from places(one, (*path, name))
    elif isinstance(tree, list):
        for at, one in enumerate(tree):
            yield from places(one, (*path, at))


def parent(tree: Any, path: Path_) -> Any:
    for step in path[:-1]:
        tree = tree[step]
    return tree


JUNK: tuple[Any, ...] = (
    None, True, 0, -1, 7, 10**400, 0.5, -0.25, 1e308, "", "x", "1/0", "2026-13-01", [], {}, [[]],
    {"a": 1}, "pass", "infinite", "0.80", ["a", "b"], {"state": "defined", "value": None},
)  # fmt: skip


@contextmanager
def damaged(tree: dict[str, Any], path: Path_, value: Any) -> Iterator[None]:
    """The document with another value at a place, or with none where it is `GONE`."""
    at = parent(tree, path)
    before = copy.copy(at)
    if value is GONE:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    try:
        yield
    finally:
        # In the same order as before: groups name their columns in it.
        at.clear()
        at.update(before) if isinstance(at, dict) else at.extend(before)


def refusal(tree: dict[str, Any]) -> UsageError | None:
    """Why a document is not read; one that is read makes reports."""
    try:
        result = codec.read_result(tree)
    except UsageError as error:
        return error
    content.document(result, all_rows=True)
    report_json.render(result)
    return None


def thinned(tree: dict[str, Any]) -> dict[str, Any]:
    """The document with five rows of its long lists, from all over: more are of the same kinds."""
    long_lists = {"groups", "rates", "comparisons", "curves", "scores"}
    return {
        name: value[:: len(value) // 5 + 1] if name in long_lists else value
        for name, value in tree.items()
    }


@pytest.mark.long
@pytest.mark.parametrize("name", ["waivers", "a baseline", "subgroups", "reversals", "scores",
                                  "suppressed", "missing values"])  # fmt: skip
@pytest.mark.parametrize("most", [20, long(1406)])
def test_damage_is_told_and_never_a_crash(name: str, most: int, tmp_path: Path) -> None:
    """With `--all --examples 100` these are 10,402 documents."""
    count = max(most if most < 100 else 80, fewer(most))
    tree = thinned(json.loads(report_json.render(CASES[name][0](tmp_path))))
    everywhere, chance = list(places(tree)), random.Random(f"{name}{count}")
    told = 0
    for _ in range(count):
        with damaged(tree, chance.choice(everywhere), chance.choice((*JUNK, GONE, GONE))):
            found = refusal(tree)
        if found is not None:
            told += 1
            assert found.message
            assert found.hint
    assert count / 4 < told < count
    assert refusal(tree) is None


RARE = {
    "compare", "method", "no_interval", "error", "positives", "readings", "reversal_scan", "scan",
}  # fmt: skip
"""Members that a document may lack, of those that the case below has."""


@pytest.mark.long
def test_every_member_that_is_missing_is_named(tmp_path: Path) -> None:
    """Of each list the first row; a member that may be missing is one that others tell."""
    tree = json.loads(report_json.render(CASES["waivers"][0](tmp_path)))
    whole, told = copy.deepcopy(tree), 0
    for path in list(places(tree)):
        names = [step for step in path if isinstance(step, str)]
        is_first = not any(isinstance(step, int) and step for step in path)
        if not is_first or path[-1] != names[-1] or is_named_freely(path):
            continue
        with damaged(tree, path, GONE):
            found = refusal(tree)
            if found is None:
                again = json.loads(report_json.render(codec.read_result(tree)))
                is_rare = path[-1] in RARE
                assert again == whole or is_rare or names[-1].endswith("_state"), path
            else:
                told += 1
                assert {names[-1], "summary", "fairaudit"} & set(re.findall(r"\w+", str(found)))
    assert told > 150


def is_named_freely(path: Path_) -> bool:
    """Whether a member's name is one of the data: a group's column, a class, a control."""
    return any(step in FREE for step in path[-3:-1])


GONE = object()
FREE = {"group", "given", "counts", "context", "positives", "tested", "left_out",
        "parameters", "levels",
        "first", "second", "reference", "between", "stratum", "worse_off",
        "decided_by"}  # fmt: skip

NEAR = "did you mean 'selection_rate'"
FAULTS: dict[str, tuple[Path_, Any]] = {
    "checks[1].status is wrong: invalid enum value 'passd'": (("checks", 1, "status"), "passd"),
    "checks[0].warn is wrong: expected `object | null`": (("checks", 0, "warn"), "x"),
    "checks[0].fail.below is wrong: invalid decimal": (("checks", 0, "fail", "below"), 0.8),
    "checks[0].fail.below is wrong: invalid decimal string": (
        ("checks", 0, "fail", "below"), "1/3"),
    "checks[0].fail.above is wrong: invalid decimal string": (
        ("checks", 0, "fail", "above"), "1E999999999"),
    "checks[1].fail.above is wrong: invalid decimal string": (
        ("checks", 1, "fail", "above"), "NaN"),
    "rates[2].exact is wrong: 'x' is not a fraction": (("rates", 2, "exact"), "x"),
    "rates[2].exact is wrong: '1/0' is not a fraction": (("rates", 2, "exact"), "1/0"),
    "rates[2].denominator is wrong: expected `int | null`, got `str`": (
        ("rates", 2, "denominator"), "x" * 99),
    "rates[2].denominator is too large": (("rates", 2, "denominator"), 10**400),
    "rates[5].significance.freedom[0] does not follow from the rest: inf": (
        ("rates", 5, "significance", "freedom", 0), math.inf),
    "rates[2].n is negative": (("rates", 2, "n"), -1),
    "rates[2].parameters[...] is wrong: expected `": (("rates", 2, "parameters"), {"at": None}),
    "rates[2].scale is wrong: expected `int` >= 1": (("rates", 2, "scale"), 0),
    "summary.verdict is missing": (("summary", "verdict"), GONE),
    "checks[0].status is missing": (("checks", 0, "status"), GONE),
    "checks[0].crossed is missing": (("checks", 0, "crossed"), GONE),
    f"checks[0].asked is wrong: 'selection_rat' is not a metric of this version; {NEAR}": (
        ("checks", 0, "asked", "metric"), "selection_rat"),
    "checks[0].limit is neither limit of the check": (
        ("checks", 0, "limit"), {"type": "Limit", "below": "0.81"}),
    "checks[0].exact differs from the value": (("checks", 0, "exact"), "1/97"),
    "ledger is wrong: the numbers do not add up": (("ledger", "read"), 1),
    "summary.verdict does not follow from the rest: 'pass'": (("summary", "verdict"), "pass"),
    "summary.checks.pass does not follow from the rest: 99": (("summary", "checks", "pass"), 99),
    "groups is wrong: expected `array`, got `object`": (("groups",), {}),
    "checks[0].baseline.earlier is not the baseline of the result": (("baseline",), None),
    "rates[0].metric is not among the definitions": (("definitions",), []),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("message", FAULTS)
def test_a_fault_names_its_member(document: dict[str, Any], message: str) -> None:
    with damaged(document, *FAULTS[message]), pytest.raises(UsageError) as found:
        codec.read_result(document)
    assert found.value.message.startswith(f"the result cannot be read: {message}")
    assert found.value.hint == "create it again: fairaudit run SPEC -o result.json"


def test_a_bug_of_ours_is_no_damage(
    document: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Finding) -> None:
        raise TypeError("a bug")

    monkeypatch.setattr(Finding, "contradictions", fail)
    with pytest.raises(TypeError, match="a bug"):
        codec.read_result(document)


def test_two_checks_of_one_id_are_refused(document: dict[str, Any]) -> None:
    twice = document["checks"][0]["id"]
    with damaged(document, ("checks", 1, "id"), twice), pytest.raises(UsageError) as found:
        codec.read_result(document)
    assert "checks[1].id stands twice" in found.value.message


def members_of(schema: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every member that a schema names, by its path."""
    if isinstance(schema, dict):
        for name, member in schema.get("properties", {}).items():
            yield f"{path}.{name}", member
        for name, inner in schema.items():
            yield from members_of(inner, f"{path}.{name}")
    elif isinstance(schema, list):
        for inner in schema:
            yield from members_of(inner, path)


@pytest.mark.long
@pytest.mark.parametrize("schema", [document_schema("result"), document_schema("comparison")])
def test_the_schema_describes_the_members_of_every_row(schema: dict[str, Any]) -> None:
    assert schema["$id"].startswith("urn:fairaudit:schema:")
    jsonschema.Draft202012Validator.check_schema(schema)
    for name, row in schema["$defs"].items():
        assert row["description"], name
        for path, member in members_of(row):
            is_plain = "properties" in member or path.endswith((".state", ".value"))
            assert "description" in member or "$ref" in member or is_plain, name + path


@pytest.mark.parametrize("text", ["", "{", "nope", '{"a": NaN}', "[1]", "[" * 100_000, b"\xff{}"])
def test_what_is_no_json_is_refused(text: str | bytes) -> None:
    with pytest.raises(UsageError, match=r"not JSON|not a fairaudit result"):
        codec.parse(text)


@pytest.mark.parametrize("tree", [{}, {"tool": 1}, {"tool": {"name": "other"}}, {"checks": []}])
def test_what_is_no_result_is_refused(tree: dict[str, Any]) -> None:
    for read in (codec.read_result, codec.read_answers):
        with pytest.raises(UsageError, match="this is not a fairaudit result"):
            read(tree)


@pytest.mark.parametrize("version", ["1.0", "2.0", "0.9", "2", "one", "", "1.0.0", "99999999999.0"])
def test_another_major_version_is_refused(document: dict[str, Any], version: str) -> None:
    with pytest.raises(UsageError, match="schema version") as found:
        codec.read_result({**document, "schema_version": version})
    assert "read it with the version that wrote it" in str(found.value.hint)


def test_a_later_minor_version_is_read_and_its_new_members_are_not_looked_at(
    document: dict[str, Any],
) -> None:
    later = copy.deepcopy(document)
    for path in [*places(document)]:
        at = parent(later, path)[path[-1]]
        if isinstance(at, dict) and not any(step in FREE for step in path[-2:]):
            at["new_in_3_7"] = {"of": ["any", None]}
    later |= {"schema_version": "3.7", "annotations": [{"x": 1}]}
    again = codec.read_result(later)
    assert json.loads(report_json.render(again)) == document


def test_a_metric_of_another_version_is_read_with_the_words_it_had(
    document: dict[str, Any],
) -> None:
    older = copy.deepcopy(document)
    older["definitions"][0] |= {"version": 7, "means": "Something else."}
    again = codec.read_result(older)
    assert (again.definitions[0].version, again.definitions[0].means) == (7, "Something else.")


def test_limits_are_read_as_they_were_written(document: dict[str, Any]) -> None:
    again = codec.read_result(document)
    limits = {str(one.check.fail) for one in again.findings if isinstance(one.check.fail, Limit)}
    assert {"below 0.80", "outside [-0.50, 0.5]"} <= limits
    assert again.earlier is not None
    assert str(again.earlier.tolerance) == "0.010"


def variants() -> Iterator[Metric]:
    """Every record bare, compared in every way, as a macro mean, and as a mean over groups."""
    for one in CATALOGUE:
        yield one
        if isinstance(one, GroupMetric):
            yield macro_average(one)
            for how in COMPARISONS:
                yield from (
                    build_disparity(one, how),
                    replace(build_disparity(one, how), over_groups=OverGroups.MEAN),
                )
                yield from filter(None, [average_classes(build_disparity(one, how))])
        if isinstance(one, Disparity):
            yield from (replace(one, over_groups=over) for over in OverGroups)
            if (mean := average_classes(one)) is not None:
                yield mean


def test_every_record_that_a_check_can_name_is_found_again() -> None:
    several = [*variants()]
    for one in several:
        check = Check("x", one, "label", ("g",), fail=Limit(below=Decimal("0.50")))
        tree = json.loads(json.dumps(write_row(Check, check)))
        assert read_row(Check, tree) == check
    assert len(several) > 10 * len(CATALOGUE)


ERRORS: tuple[FairauditError, ...] = (
    UsageError("the call\n<b>", "do this"),
    DataError("the data", None),
    NothingToAudit("no row", "look again"),
    SpecError(
        [
            Fault("wrong", "metrics[0]", Place("spec.yaml", 3, 5), "  - {metrc: x}"),
            Fault("wrong, too"),
        ]
    ),
    FairauditError.crashed(ValueError("x")),
    OutOfMemory(),
    Unwritten("the report could not be written"),
)


def test_no_kind_of_error_is_forgotten() -> None:
    kinds = {FairauditError, *FairauditError.__subclasses__()} - {AuditFailed}
    assert {type(error) for error in ERRORS} == kinds


@pytest.mark.parametrize("error", ERRORS, ids=lambda one: type(one).__name__)
def test_errors_are_read_back(error: FairauditError) -> None:
    answer = Answer("<spec>.yaml", "a.csv", error)
    tree = json.loads(report_json.written(report_json.of_answers([answer])))
    validate(tree)
    (one,) = codec.read_answers(tree)
    again = one.result
    assert (one.title, type(again)) == (answer.title, type(error))
    assert isinstance(again, FairauditError)
    assert summary.report([one]) == summary.report([answer])
    for each in FORMATS:
        for all_rows in (False, True):
            texts = [each.render([told], all_rows=all_rows) for told in (one, answer)]
            assert texts[0] == texts[1], each.name
    assert report_json.of_answers([one]) == tree
    del tree["asked"]
    (bare,) = codec.read_answers(tree)
    assert (bare.spec, bare.data, str(bare.result)) == ("", None, str(error))
    assert (str(again), again.message, again.hint) == (str(error), error.message, error.hint)
    assert again.exit_code == error.exit_code
    assert getattr(again, "faults", ()) == getattr(error, "faults", ())
    with pytest.raises(UsageError, match="error"):
        codec.read_result(tree)


@pytest.mark.long
def test_several_answers_are_read_back(document: dict[str, Any]) -> None:
    result = codec.read_result(document)
    answers = [
        Answer("one.yaml", "a.csv", result),
        Answer("two.yaml", None, ERRORS[3]),
        Answer("x", "b", result),
    ]
    text = report_json.written(report_json.of_answers(answers))
    tree = json.loads(text)
    validate(tree)
    again = codec.read_answers(tree)
    assert [one.title for one in again] == ["one.yaml a.csv", "two.yaml", "x b"]
    assert report_json.written(report_json.of_answers(again)) == text
    for all_rows in both():
        told, same = (summary.report(each, all_rows=all_rows) for each in (answers, again))
        # As text: a picture may hold a number that is none, which equals nothing.
        assert repr(told) == repr(same)
        for one in FORMATS:
            assert one.render(again, all_rows=all_rows) == one.render(answers, all_rows=all_rows), (
                one.name
            )
    with pytest.raises(UsageError, match="several results"):
        codec.read_result(tree)
    tree["answers"][2]["result"]["checks"][0]["status"] = 1
    with pytest.raises(UsageError, match=r"answers\[2\]\.result\.checks\[0\]\.status"):
        codec.read_answers(tree)
    tree["answers"][0]["result"]["tool"]["name"] = "x"
    with pytest.raises(UsageError, match="this is not a fairaudit result"):
        codec.read_answers(tree)
    with pytest.raises(UsageError, match="answers is empty"):
        codec.read_answers({**tree, "answers": []})


def test_one_answer_says_what_was_asked(document: dict[str, Any]) -> None:
    result = codec.read_result(document)
    answer = Answer("spec.yaml", "data.csv", result)
    tree = json.loads(report_json.written(report_json.of_answers([answer])))
    validator().validate(tree)
    (one,) = codec.read_answers(tree)
    assert (one.spec, one.data) == ("spec.yaml", "data.csv")
    (bare,) = codec.read_answers(document)
    assert (bare.spec, bare.data) == (result.provenance.spec_path, None)

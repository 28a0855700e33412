"""Every value of a result says whom it is made of, and what says nothing is never published."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_type_hints

import polars as pl
import pytest

import fairaudit
from fairaudit.base.disclosure_marks import (
    Notice,
    Subjects,
    declare_subjects,
    disclosure_of,
    redact,
)
from fairaudit.base.errors import SpecError
from fairaudit.base.frozen import Frozen, field_names
from fairaudit.base.ledger import DataFile
from fairaudit.report.json import document
from fairaudit.result import AuditResult
from fairaudit.spec import of_mapping


def types_in(hint: Any) -> Iterator[type]:
    """The classes that a type names."""
    if isinstance(hint, type):
        yield hint
    for one in getattr(hint, "__args__", ()):
        yield from types_in(one)


def reachable(cls: type, seen: set[type]) -> set[type]:
    """The classes that stand in fields of a result which are made of people."""
    seen.add(cls)
    for name, hint in get_type_hints(cls).items():
        if name not in {*field_names(cls)}:
            continue
        if disclosure_of(cls).subjects[name] is Subjects.NOBODY:
            continue
        for one in types_in(hint):
            if issubclass(one, Frozen) and one not in seen:
                reachable(one, seen)
    return seen


def test_every_class_in_a_result_declares_all_of_its_fields() -> None:
    found = reachable(AuditResult, set())
    assert len(found) > 30
    for cls in found:
        assert {*disclosure_of(cls).subjects} == {*field_names(cls)}


def test_a_field_that_nobody_declared_is_refused_when_the_class_is_made() -> None:
    class Row(Frozen):
        group: str
        n: int
        median: float

    with pytest.raises(TypeError, match="Row must declare the subjects of each field once: median"):
        declare_subjects(nobody="group", row="n")(Row)
    with pytest.raises(TypeError, match="mean"):
        declare_subjects(nobody="group", row="n median mean")(Row)
    with pytest.raises(TypeError, match="Row must declare"):
        declare_subjects(nobody="group n", row="n median")(Row)
    with pytest.raises(ValueError, match="everyone"):
        declare_subjects(everyone="group n median")(Row)
    with pytest.raises(TypeError, match="does not declare"):
        redact(Row("a", 1, 2.0), {Subjects.ROW})
    with pytest.raises(TypeError, match="Row must say what stands for a hidden median"):
        declare_subjects(nobody="group", row="n", anybody="median")(Row)
    declared = declare_subjects(nobody="group", row="n", never="median", hidden={"median": -1.0})(
        Row
    )
    assert redact(declared("a", 1, 2.0), set()) == Row("a", None, -1.0)  # type: ignore[arg-type]
    assert redact(declared("a", 1, 2.0), {Subjects.ROW, Subjects.NEVER}) == Row("a", 1, -1.0)


def test_a_file_is_never_told_by_its_length() -> None:
    """A file may be that of one region, with its four people."""
    one = DataFile("north.csv", 41, None, 5)
    assert redact(one, {*Subjects}) == DataFile("north.csv", None, None, None)


def test_a_notice_is_a_sentence_that_says_whose_counts_it_tells() -> None:
    notice = Notice("3 scores lie outside [0, 1]", Subjects.NEVER)
    assert notice == "3 scores lie outside [0, 1]"
    assert notice.subjects is Subjects.NEVER
    with pytest.raises(TypeError):
        Notice("whose is it?")  # type: ignore[call-arg]


def test_every_notice_of_an_audit_is_typed() -> None:
    """A plain string would have no place in the proof; the type checker refuses one, too."""
    # The three of "b" are too few to show a gap.
    levels, decisions = [*["a", "A ", "n/a"] * 40, *"bbb"], [*[1, 0, 0] * 40, 1, 0, 0]
    people = {"g": levels, "p": decisions, "s": [0.2, 1.5, 0.3] * 41}
    spec = {
        "columns": {
            "protected": ["g"],
            "score": "s",
            "prediction": {"column": "p", "positive": 1},
        },
        "metrics": ["scoring_rate", {"metric": "impact_ratio", "fail": {"below": 0.8}}],
    }
    notices = fairaudit.audit(spec, pl.DataFrame(people)).notices
    assert len(notices) > 2
    assert all(isinstance(one, Notice) for one in notices)
    told_of = {one.subjects for one in notices}
    assert {Subjects.NOBODY, Subjects.NEVER, Subjects.ANYBODY} <= told_of


ELEVEN_ALONE = pl.DataFrame(
    [("a", y, n) for y, n in ((1, 70), (0, 50))]
    + [("b", y, n) for y, n in ((1, 70), (0, 50))]
    + [(f"t{at}", at % 2, 1) for at in range(11)],
    ["g", "p", "n"],
    orient="row",
)
COLUMNS = {"protected": ["g"], "prediction": {"column": "p", "positive": 1}, "count": "n"}


def test_groups_of_one_are_not_told_by_their_total() -> None:
    """Eleven people in eleven groups of somebody are one in each, and a 0 is the other's 1."""
    spec = {"columns": COLUMNS, "metrics": ["selection_rate"]}
    tree = document(fairaudit.audit({**spec, "suppress_below": 11}, ELEVEN_ALONE))
    shown = [row["n"] for row in tree["groups"] if row["n"] is not None]
    total = tree["ledger"]["people"]
    hidden = sum(row["n"] is None for row in tree["groups"] if row["group"])
    assert total is None or total - sum(n for n in shown if n != total) >= hidden + 10
    for row in tree["groups"]:
        if row["n"] is None:
            assert [*row["counts"].values()] == [None, None]
    # Without the threshold everything is there.
    assert document(fairaudit.audit(spec, ELEVEN_ALONE))["ledger"]["people"] == 251


def test_who_is_the_highest_is_not_told_by_a_row_that_is_missing() -> None:
    metric = {"metric": "selection_rate", "compare": "ratio", "reference": "highest"}
    spec = {"columns": COLUMNS, "metrics": [metric], "suppress_below": 11}
    found = fairaudit.audit(spec, ELEVEN_ALONE)
    assert not found.comparisons
    whole = fairaudit.audit({"columns": COLUMNS, "metrics": [metric]}, ELEVEN_ALONE)
    assert len(whole.comparisons) == 12, "all of 13 groups but the highest"


def test_reversals_are_not_counted_where_that_counts_groups() -> None:
    rows = pl.DataFrame(
        [(g, s, p, n) for g, n in (("a", 40), ("b", 40), ("c", 3)) for s in "xy" for p in (0, 1)],
        ["g", "s", "p", "n"],
        orient="row",
    )
    columns = {**COLUMNS, "strata": ["s"]}
    spec = {"columns": columns, "metrics": ["selection_rate"], "simpson": {}}
    assert fairaudit.audit(spec, rows).compared is not None
    assert fairaudit.audit({**spec, "suppress_below": 11}, rows).compared is None
    many = rows.with_columns(n=pl.lit(40))
    assert fairaudit.audit({**spec, "suppress_below": 11}, many).compared is not None


def test_an_open_baseline_is_not_published() -> None:
    metric = {"metric": "demographic_parity_difference", "fail": {"above": 0.01}}
    spec = {"columns": COLUMNS, "metrics": [metric]}
    before = pl.DataFrame([("a", 1, 1), ("a", 0, 6), ("b", 1, 1), ("b", 0, 1)], ["g", "p", "n"],
                          orient="row")  # fmt: skip
    earlier = document(fairaudit.audit(spec, before))
    assert any(one["value"] == pytest.approx(0.357142857) for one in earlier["checks"])
    published = fairaudit.audit({**spec, "suppress_below": 11}, ELEVEN_ALONE, baseline=earlier)
    (finding,) = published.findings
    assert finding.before is not None
    assert finding.before.value is finding.before.worse_by is finding.before.own is None
    text = str(document(published))
    assert "0.357" not in text
    assert "0.3571" in str(document(fairaudit.audit(spec, ELEVEN_ALONE, baseline=earlier)))


@pytest.mark.parametrize(("entries", "is_refused"), [(4, False), (5, True), (32, True)])
def test_a_ladder_of_limits_is_refused_where_counts_are_hidden(
    entries: int, *, is_refused: bool
) -> None:
    """Thirty-two verdicts on one number would tell it to nine digits."""
    metrics = [
        {"metric": "differential_fairness", "smoothing": 1 + at / 1000, "fail": {"above": at / 40}}
        for at in range(1, entries + 1)
    ]
    spec = {"columns": COLUMNS, "metrics": metrics}
    assert len(of_mapping(spec).checks) == entries
    if is_refused:
        with pytest.raises(
            SpecError, match=f"{entries} limits judge the same counts of people by g × p"
        ):
            of_mapping({**spec, "suppress_below": 11})
    else:
        assert len(of_mapping({**spec, "suppress_below": 11}).checks) == entries


def test_a_check_that_warns_and_fails_counts_as_two_limits() -> None:
    """Four such checks have nine statuses for ten possible counts of a hidden group."""
    metrics = [
        {"metric": name, "warn": {"above": 0.1}, "fail": {"above": 0.2}}
        for name in ("demographic_parity_difference", "total_variation", "differential_fairness")
    ]
    spec = {"columns": COLUMNS, "metrics": metrics[:2], "suppress_below": 11}
    assert len(of_mapping(spec).checks) == 2
    with pytest.raises(SpecError, match="6 limits judge the same counts of people by g × p"):
        of_mapping({**spec, "metrics": metrics})


def test_how_many_verdicts_rest_on_hidden_numbers_is_told() -> None:
    metric = {"metric": "demographic_parity_difference", "fail": {"above": 0.2}}
    spec = {"columns": COLUMNS, "metrics": [metric], "suppress_below": 11}

    def told_of(rows: pl.DataFrame) -> list[str]:
        return [one for one in fairaudit.audit(spec, rows).notices if "hidden numbers" in one]

    (notice,) = told_of(ELEVEN_ALONE)
    assert notice.startswith("suppression: 1 check looks at hidden numbers")
    assert not told_of(ELEVEN_ALONE.filter(pl.col("n") > 10))

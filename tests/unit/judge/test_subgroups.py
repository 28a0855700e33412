"""Subgroup discovery: exact against rows, silent where nothing is wrong, brief where it is."""

from __future__ import annotations

import csv
import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl
import pytest
from conftest import SPECS, count_data, examples, seeds
from hypothesis import given
from hypothesis import strategies as st
from schemas import validate
from subgroups_oracle import Name, People, benjamini_hochberg, explained, holm, search

import fairaudit
from fairaudit import spec as specs
from fairaudit.base.errors import DataError, SpecError, UsageError
from fairaudit.base.frozen import replace
from fairaudit.counting.plan import MOST_TABLED
from fairaudit.judge import EvidenceStatus, Status
from fairaudit.judge.subgroups import Discovery, search_subgroups
from fairaudit.pipeline.plan_builder import plan
from fairaudit.pipeline.recode import recode
from fairaudit.report import content, terminal
from fairaudit.report import json as report_json
from fairaudit.result import AuditResult

ALPHA = 0.05
RATES = [
    "selection_rate",
    "base_rate",
    "true_positive_rate",
    "false_positive_rate",
    "positive_predictive_value",
    "accuracy",
]
ROW = st.tuples(
    st.sampled_from(["x", "y", ""]),
    st.sampled_from(["u", "v", "w", ""]),
    st.sampled_from(["-1", "2", "3.5", "7", ""]),
    st.sampled_from(["0", "1", ""]),
    st.sampled_from(["0", "1", ""]),
    st.integers(0, 30),
)
ALWAYS = [("x", "u", "2", "0", "1", 1), ("y", "v", "7", "1", "0", 1)]
"""Each class of label and decision occurs."""

COLUMNS = ("a", "b", "c", "y", "d", "n")
Rates: TypeAlias = dict[tuple[str, ...], tuple[int, int]]
"""Of each combination of levels those selected, and the people."""

WHERE = ("protected", "strata", "features")


def spec_of(
    places: Mapping[str, str],
    missing: Mapping[str, str],
    subgroups: Mapping[str, Any],
    **other: Any,
) -> dict[str, Any]:
    """A spec by which a, b and c (cut at 2 and 5) are what `places` says."""
    columns: dict[str, Any] = {"protected": {"z": {}}}
    for name, place in places.items():
        body = {"bins": ["2", "5"]} if name == "c" else {}
        columns.setdefault(place, {})[name] = body
    return {
        "columns": {
            **columns,
            "label": {"column": "y", "positive": "1", "negative": "0"},
            "decision": {"column": "d", "positive": "1", "negative": "0"},
            "count": "n",
        },
        "missing": missing,
        "metrics": ["selection_rate"],
        "subgroups": subgroups,
        **other,
    }


def found_in(spec: Mapping[str, Any], path: Path) -> Discovery:
    """The whole search over a file."""
    read = specs.of_mapping(spec)
    asked = plan(read)
    recoded = recode(count_data(asked, path), read)
    assert read.subgroups is not None
    return search_subgroups(recoded.tables or (recoded.cube,), read.subgroups)


def write(path: Path, rows: Sequence[Sequence[object]], columns: Sequence[str] = COLUMNS) -> Path:
    """Rows as CSV or Parquet, a column z of one level beside them."""
    if path.suffix == ".csv":
        with path.open("w", newline="") as stream:
            csv.writer(stream).writerows([["z", *columns], *(["all", *row] for row in rows)])
        return path
    frame = pl.DataFrame([dict(zip(columns, row, strict=True)) for row in rows])
    texts = [pl.when(pl.col(name) != "").then(pl.col(name)).alias(name) for name in columns
             if frame.schema[name] == pl.String]  # fmt: skip
    frame = frame.with_columns(pl.lit("all").alias("z"), *texts)
    if "c" in columns:
        frame = frame.with_columns(pl.col("c").cast(pl.Float64))
    frame.write_parquet(path, row_group_size=7)
    return path


def recoded_rows(
    rows: Sequence[tuple[Any, ...]], places: Mapping[str, str], missing: Mapping[str, str]
) -> People:
    """The rows that are counted, as the spec recodes them."""

    def known(value: str) -> bool | None:
        return None if value == "" else value == "1"

    def level(name: str, value: str) -> str | None:
        if value == "":
            policy = missing["protected" if places[name] == "protected" else "strata"]
            return "(unknown)" if policy == "group" else None
        if name != "c":
            return value
        return "under 2" if float(value) < 2 else "2 to 5" if float(value) < 5 else "5 and over"

    kept = [
        row for row in rows
        if not (missing["label"] == "drop" and row[3] == "")
        and not (missing["prediction"] == "drop" and row[4] == "")
    ]  # fmt: skip
    return People(
        [{name: level(name, row[at]) for at, name in enumerate("abc")} for row in kept],
        [known(row[3]) for row in kept],
        [known(row[4]) for row in kept],
        [row[5] for row in kept],
    )


@examples(80)
@given(
    rows=st.lists(ROW, min_size=1, max_size=40),
    places=st.fixed_dictionaries({name: st.sampled_from(WHERE) for name in "abc"}),
    policies=st.tuples(
        st.sampled_from(["show", "group", "aside"]),
        st.sampled_from(["show", "group", "aside"]),
        st.sampled_from(["aside", "drop"]),
        st.sampled_from(["aside", "drop"]),
    ),
    depth=st.integers(1, 3),
    min_size=st.sampled_from([1, 5, 40]),
    rates=st.lists(st.sampled_from(RATES), min_size=1, max_size=3, unique=True),
    suffix=st.sampled_from([".csv", ".parquet"]),
)
def test_every_subgroup_is_that_of_the_rows(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[Any, ...]],
    places: dict[str, str],
    policies: tuple[str, str, str, str],
    depth: int,
    min_size: int,
    rates: list[str],
    suffix: str,
) -> None:
    """Whatever the columns are, whatever is missing, by either route."""
    rows = [*ALWAYS, *rows]
    missing = dict(zip(("protected", "strata", "label", "prediction"), policies, strict=True))
    asked = {"over": list("abc"), "rates": rates, "depth": str(depth), "min_size": str(min_size)}
    path = write(tmp_path_factory.mktemp("rows") / f"data{suffix}", rows)
    people = recoded_rows(rows, places, missing)
    found = found_in(spec_of(places, missing, asked), path)
    expected = {rate: search(people, "abc", rate, depth, min_size) for rate in rates}
    family = [one.p for rate in rates for one in expected[rate].values()]
    assert found.reported.looked_at == len(family)
    corrected = iter(holm(family))
    for rate in rates:
        adjusted = {name: next(corrected) for name in expected[rate]}
        agree(found, rate, expected[rate], adjusted)


def agree(
    found: Discovery, rate: str, expected: Mapping[Name, Any], adjusted: Mapping[Name, float]
) -> None:
    """Whether the search of a rate says what the rows say."""
    tested = found.of(rate)
    mine = {frozenset(tested.entries.group(at)): at for at in range(len(tested.p))}
    assert mine.keys() == expected.keys()
    for name, one in expected.items():
        at = mine[name]
        told = tested.describe(at)
        assert (told.over, told.under, told.exact) == (one.over, one.under, one.divergence)
        assert told.p == pytest.approx(one.p, rel=1e-9, abs=1e-15)
        assert told.adjusted == pytest.approx(adjusted[name], rel=1e-9, abs=1e-15)
        assert told.unfairness == pytest.approx(float(one.unfairness), rel=1e-12)
        assert told.low <= told.divergence <= told.high
    searched = next(one for one in found.reported.rates if one.rate == rate)
    if expected:
        worst = max(one.unfairness for one in expected.values())
        assert searched.unfairest is not None
        assert expected[frozenset(searched.unfairest.group)].unfairness == worst
        assert searched.widest is not None
        widest = max(abs(one.divergence) for one in expected.values())
        assert abs(searched.widest.exact) == widest
    significant = {name for name, p in adjusted.items() if p < ALPHA}
    redundant = explained(expected, adjusted, ALPHA)
    assert (searched.significant, searched.explained) == (len(significant), len(redundant))
    listed = [frozenset(one.group) for one in searched.listed]
    assert set(listed) <= significant - redundant
    assert len(listed) == min(len(significant - redundant), 10)
    nearest = [one.ends[0] for one in searched.listed]
    assert nearest == sorted(nearest, reverse=True)


def people_of(rates: Rates, columns: str) -> pl.DataFrame:
    """Of each combination of levels so many people, of whom so many are selected."""
    rows: list[dict[str, Any]] = []
    for levels, (selected, n) in rates.items():
        group = dict(zip(columns, levels, strict=True))
        rows += [{**group, "d": "1", "n": selected}, {**group, "d": "0", "n": n - selected}]
    return pl.DataFrame(rows)


def searched_for(
    frame: Any, over: Sequence[str], subgroups: Mapping[str, Any] | None = None, **other: Any
) -> AuditResult:
    """The audit of people by some columns, one of them protected."""
    asked: dict[str, Any] = {
        "columns": {
            "protected": [over[0]],
            "features": list(over[1:]),
            "decision": {"column": "d", "positive": "1", "negative": "0"},
            "count": "n",
        },
        "metrics": ["selection_rate"],
        "subgroups": {"min_size": "10", **(subgroups or {})},
    }
    return fairaudit.audit({**asked, **other}, frame)


def listed(result: AuditResult) -> list[dict[str, str]]:
    """The subgroups that are listed, by their conditions."""
    assert result.subgroups is not None
    return [dict(one.group) for one in result.subgroups.rates[0].listed]


@pytest.mark.long
@pytest.mark.parametrize("seed", seeds(6, quick=1))
def test_what_is_listed_is_what_no_larger_group_explains(tmp_path: Path, seed: int) -> None:
    """Effects of one, two and three columns at once, against the definition in plain Python."""
    chance = random.Random(seed)
    rows = []
    for _ in range(3000):
        a, b, c = chance.choice("xy"), chance.choice("uvw"), chance.choice(["-1", "2", "3.5", "7"])
        share = 0.3 + 0.15 * (a == "x") - 0.2 * (b == "u" and c == "7")
        share += 0.25 * (a == "y" and b == "v" and c == "2")
        y = str(int(chance.random() < 0.5))
        rows.append((a, b, c, y, str(int(chance.random() < share)), 1))
    places = {"a": "protected", "b": "features", "c": "features"}
    missing = {"protected": "show", "strata": "show", "label": "aside", "prediction": "error"}
    rates = ["selection_rate", "true_positive_rate"]
    asked = {"rates": rates, "min_size": "30", "over": list("abc")}
    found = found_in(spec_of(places, missing, asked), write(tmp_path / "data.parquet", rows))
    people = recoded_rows(rows, places, missing)
    expected = {rate: search(people, "abc", rate, 3, 30) for rate in rates}
    corrected = iter(holm(one.p for rate in rates for one in expected[rate].values()))
    for rate in rates:
        adjusted = {name: next(corrected) for name in expected[rate]}
        assert any(p < ALPHA for p in adjusted.values())
        agree(found, rate, expected[rate], adjusted)


def test_the_planted_intersection_of_the_loans_is_on_top() -> None:
    """Black women, whom neither gender nor race shows; no age explains more."""
    result = fairaudit.audit(SPECS / "loans_subgroups.yaml")
    first, second = listed(result)[:2]
    assert first == {"gender": "female", "race": "Black"}
    assert second == {"gender": "male", "race": "Black"}
    assert result.subgroups is not None
    (top, *_) = result.subgroups.rates[0].listed
    assert (top.over, top.under) == (497, 1337)
    assert top.exact == Fraction(497, 1337) - Fraction(10080, 20000)
    assert all(abs(part.divergence) < 0.005 for part in top.parts)


def test_an_effect_of_one_column_lists_no_intersections_of_it() -> None:
    """What holds alike in all parts of a group is told once."""
    rates: Rates = {
        (a, b, c): (24 if a == "x" else 60, 120) for a in "xy" for b in "uvw" for c in "12"
    }
    result = searched_for(people_of(rates, "abc"), "abc")
    assert sorted(map(str, listed(result))) == ["{'a': 'x'}", "{'a': 'y'}"]
    assert result.subgroups is not None
    (one,) = result.subgroups.rates
    assert one.explained == one.significant - 2 > 0


def test_an_intersection_beyond_its_parts_is_listed_beside_them() -> None:
    """Neither group that it is part of explains it: it differs from the rest of both."""
    rates: Rates = {
        (a, b): (20 if (a, b) == ("x", "u") else 150, 300) for a in "xyz" for b in "uvw"
    }
    found = listed(searched_for(people_of(rates, "ab"), "ab"))
    assert found[0] == {"a": "x", "b": "u"}


@pytest.mark.long
@pytest.mark.parametrize("share", [0.5, 0.02])
def test_where_nothing_is_wrong_hardly_ever_anything_is_found(share: float) -> None:
    """Of data sets by chance at most one in twenty shows a subgroup at all, by either test."""
    runs, alarms = 60, 0
    chance = random.Random(11)
    for _ in range(runs):
        rates: Rates = {}
        for levels in ((a, b, c) for a in "xyz" for b in "uvw" for c in "123"):
            n = chance.randrange(10, 60)
            rates[levels] = sum(chance.random() < share for _ in range(n)), n
        result = searched_for(people_of(rates, "abc"), "abc")
        assert result.subgroups is not None
        alarms += bool(result.subgroups.rates[0].significant)
    # Three standard errors above one in twenty.
    assert alarms <= runs * ALPHA + 3 * math.sqrt(runs * ALPHA * (1 - ALPHA))


CORRECTIONS: Mapping[str, Callable[[Sequence[float]], list[float]]] = {
    "holm": holm,
    "benjamini_hochberg": benjamini_hochberg,
    "none": list,
}


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_the_p_values_are_corrected_as_the_spec_asks(correction: str) -> None:
    """By the spec's correction, in the list, in the gate and in words; Holm's only by default."""
    rates: Rates = {
        (a, b): (50 + 3 * at, 100) for at, (a, b) in enumerate((a, b) for a in "xyz" for b in "uvw")
    }
    frame = people_of(rates, "ab")
    gate = {"top": "99", "fail": {"above": "0.02", "significant": "true"}}
    result = searched_for(frame, "ab", gate, inference={"correction": correction})
    groups = [{"a": row["a"], "b": row["b"]} for row in frame.to_dicts()]
    decisions = [row["d"] == "1" for row in frame.to_dicts()]
    people = People(groups, decisions, decisions, [row["n"] for row in frame.to_dicts()])
    truth = search(people, "ab", "selection_rate", 2, 1)
    adjusted = dict(
        zip(truth, CORRECTIONS[correction]([one.p for one in truth.values()]), strict=True)
    )
    assert result.subgroups is not None
    (rate,) = result.subgroups.rates
    assert rate.significant == sum(p < ALPHA for p in adjusted.values())
    for one in rate.listed:
        assert one.adjusted == pytest.approx(adjusted[frozenset(one.group)])
    estimate = result.findings[0].estimate
    assert estimate is not None
    test = estimate.significance
    assert test is not None
    assert test.adjusted == pytest.approx(adjusted[frozenset(result.findings[0].first)])
    words = {"holm": "Holm", "benjamini_hochberg": "Benjamini–Hochberg", "none": "none"}
    assert test.correction == words[correction]
    text = " ".join(terminal.render(content.document(result)).split())
    told = (
        "uncorrected: with this many"
        if correction == "none"
        else f"corrected by {test.correction} for all"
    )
    assert told in text
    assert ("adj. p" in text) is (correction != "none")


GATED = people_of(
    {("x", "u"): (30, 100), ("x", "v"): (50, 100), ("y", "u"): (50, 100), ("y", "v"): (70, 100)},
    "ab",
)
"""Everybody is selected at one half; x and u together, y and v together 0.2 away, each alone 0.1"""
CHECK = "subgroup_divergence/selection_rate/decision"


@pytest.mark.parametrize(
    ("limit", "status", "crossed"),
    [
        ({"above": "0.19999"}, Status.FAIL, 2),
        ({"above": "0.2"}, Status.PASS, 0),
        ({"above": "0.0999"}, Status.FAIL, 6),
        ({"above": "0.1"}, Status.FAIL, 2),
        ({"above": "0.15", "significant": "true"}, Status.FAIL, 2),
    ],
)
def test_a_gate_holds_the_farthest_subgroup_against_its_limit(
    limit: dict[str, str], status: Status, crossed: int
) -> None:
    """Strictly, and by fractions: 3/10 against 1/2 is not above 0.2."""
    (finding,) = searched_for(GATED, "ab", {"fail": limit}).findings
    assert (finding.check.id, finding.status, len(finding.crossed)) == (CHECK, status, crossed)
    assert finding.estimate is not None
    assert finding.estimate.exact == Fraction(1, 5)
    assert {dict(finding.first)["a"], dict(finding.first)["b"]} in ({"x", "u"}, {"y", "v"})


def test_a_gate_that_asks_for_significance_only_warns_without_it() -> None:
    """A wide gap among few people may be chance: the limit says whether that counts."""
    few = people_of({("x",): (3, 12), ("y",): (60, 120)}, "a")
    statuses = [
        searched_for(few, "a", {"fail": {"above": "0.2", "significant": word}}).findings[0]
        for word in ("false", "true")
    ]
    assert [one.status for one in statuses] == [Status.FAIL, Status.WARN]
    assert [one.backing for one in statuses] == [
        EvidenceStatus.UNASKED,
        EvidenceStatus.NOT_SIGNIFICANT,
    ]
    (warned,) = searched_for(few, "a", {"warn": {"above": "0.2", "significant": "true"}}).findings
    assert (warned.status, warned.backing) == (Status.PASS, EvidenceStatus.NOT_SIGNIFICANT)


def test_a_gate_on_subgroups_that_are_all_too_small_is_inconclusive() -> None:
    """Nobody to judge is no pass."""
    result = searched_for(GATED, "ab", {"min_size": "1000", "fail": {"above": "0.9"}})
    (finding,) = result.findings
    assert (finding.status, result.exit_code) == (Status.INCONCLUSIVE, 3)
    assert "no subgroup but everybody has min_size = 1,000" in finding.why


def test_a_waiver_of_a_group_takes_the_subgroups_in_it(tmp_path: Path) -> None:
    """What is left is judged; everything waived leaves nothing beyond."""
    waivers = tmp_path / "waivers.yaml"
    common = {"check": CHECK, "reason": "r", "approved_by": "J. Doe", "expires": "2100-01-01"}

    def status(*groups: Any) -> tuple[Status, int]:
        waivers.write_text(json.dumps([{**common, "group": group} for group in groups]))
        result = searched_for(GATED, "ab", {"fail": {"above": "0.09"}}, waivers=str(waivers))
        (finding,) = result.findings
        return finding.status, len(finding.crossed)

    assert status({"a": "x"}) == (Status.FAIL, 4)
    assert status({"a": "x"}, {"a": "y"}) == (Status.FAIL, 2)
    assert status({"a": "x"}, {"a": "y"}, {"b": "u"}, {"b": "v"})[0] is Status.WAIVED
    assert status("all")[0] is Status.WAIVED
    with pytest.raises(SpecError, match="no protected column 'c'"):
        status({"c": "x"})


def test_a_gate_beside_a_baseline_fails_only_where_it_is_worse() -> None:
    """As before it warns; wider, or of another subgroup, it fails."""
    asked = {"fail": {"above": "0.15"}}
    before = report_json.document(searched_for(GATED, "ab", asked))

    def status(frame: pl.DataFrame) -> Status:
        spec = {
            "columns": {
                "protected": ["a"],
                "features": ["b"],
                "decision": {"column": "d", "positive": "1", "negative": "0"},
                "count": "n",
            },
            "metrics": ["selection_rate"],
            "subgroups": {"min_size": "10", **asked},
        }
        return fairaudit.audit(spec, frame, baseline=before).findings[0].status

    assert status(GATED) is Status.WARN
    worse: Rates = {("x", "u"): (25, 100), ("x", "v"): (50, 100), ("y", "u"): (50, 100)}
    assert status(people_of({**worse, ("y", "v"): (75, 100)}, "ab")) is Status.FAIL
    other: Rates = {("x", "u"): (50, 100), ("x", "v"): (30, 100), ("y", "u"): (70, 100)}
    assert status(people_of({**other, ("y", "v"): (50, 100)}, "ab")) is Status.FAIL


def test_a_subgroup_that_turned_round_is_not_as_before() -> None:
    """Below everybody then, above everybody now: by as much, but somebody else is worse off."""
    even: Rates = {(a, b): (50, 100) for a in "xy" for b in "uv"}
    asked = {"fail": {"above": "0.2"}}
    low, high = (people_of({**even, ("y", "v"): (n, 100)}, "ab") for n in (10, 90))
    before = report_json.document(searched_for(low, "ab", asked))
    (row,) = before["checks"][0]["crossed"]
    assert (row["lower"], row["exact"]) == (True, "3/10")
    spec = {
        "columns": {
            "protected": ["a"],
            "features": ["b"],
            "decision": {"column": "d", "positive": "1", "negative": "0"},
            "count": "n",
        },
        "metrics": ["selection_rate"],
        "subgroups": {"min_size": "10", **asked},
    }
    assert fairaudit.audit(spec, low, baseline=before).findings[0].status is Status.WARN
    assert fairaudit.audit(spec, high, baseline=before).findings[0].status is Status.FAIL


def test_a_baseline_of_another_search_is_refused() -> None:
    """Other columns or depth make another question; how many are listed does not."""
    limit = {"above": "0.15"}
    before = report_json.document(searched_for(GATED, "ab", {"fail": limit}))

    def status(**asked: str) -> Status:
        spec = {
            "columns": {
                "protected": ["a"],
                "features": ["b"],
                "decision": {"column": "d", "positive": "1", "negative": "0"},
                "count": "n",
            },
            "metrics": ["selection_rate"],
            "subgroups": {"min_size": "10", "fail": limit, **asked},
        }
        return fairaudit.audit(spec, GATED, baseline=before).findings[0].status

    assert status() is status(top="1") is Status.WARN
    for other in ({"depth": "1"}, {"over": "a"}, {"min_size": "20"}):
        with pytest.raises(UsageError, match="asks something else now"):
            status(**other)


@pytest.mark.long
def test_a_filter_a_frame_files_and_several_specs_count_the_same(tmp_path: Path) -> None:
    """Tables beside the cells come out alike by every way that data is read."""
    rng = random.Random(3)
    rows = [
        (rng.choice("xy"), rng.choice("uv"), rng.choice(["1", "4", "9", ""]), rng.choice("01"),
         rng.choice("01"), rng.randrange(1, 9))
        for _ in range(400)
    ]  # fmt: skip
    missing = {"protected": "show", "strata": "show", "label": "aside", "prediction": "error"}
    places = {"a": "protected", "b": "strata", "c": "features"}
    asked = {"over": "all", "min_size": "20", "rates": ["selection_rate", "accuracy"]}
    spec = spec_of(places, missing, asked, filter="a = 'x' or d = '1'")
    whole = write(tmp_path / "whole.csv", rows)
    (tmp_path / "parts").mkdir()
    write(tmp_path / "parts" / "one.csv", rows[:150])
    write(tmp_path / "parts" / "two.csv", rows[150:])
    parquet = write(tmp_path / "whole.parquet", rows)
    told = [
        fairaudit.audit(spec, data).subgroups
        for data in (whole, tmp_path / "parts", parquet, pl.read_csv(whole, infer_schema=False))
    ]
    together = fairaudit.audit_together([spec, spec], whole)
    together += fairaudit.audit_each(spec, whole).values()
    told += [one.subgroups for one in together if isinstance(one, AuditResult)]
    assert told[0] is not None
    assert told[0].looked_at > 20
    assert len(told) == 7
    assert all(one == told[0] for one in told)
    apart = fairaudit.audit_each(spec, tmp_path / "parts").values()
    found = [one.subgroups for one in apart if isinstance(one, AuditResult)]
    assert [one is not None for one in found] == [True, True]


def test_features_are_cut_at_quantiles_and_share_a_column() -> None:
    """Two features of one column have bins of their own; the column may be a stratum's, too."""
    frame = pl.DataFrame(
        {
            "z": ["all"] * 400,
            "age": [str(at % 100) for at in range(400)],
            "d": [str(int(at % 100 < 30)) for at in range(400)],
        }
    )
    spec = {
        "columns": {
            "protected": ["z"],
            "strata": {"old": {"column": "age", "bins": ["50"]}},
            "features": {
                "third": {"column": "age", "quantiles": "4"},
                "young": {"column": "age", "bins": ["30"]},
            },
            "decision": {"column": "d", "positive": "1"},
        },
        "metrics": ["selection_rate"],
        "subgroups": {"over": ["old", "third", "young"], "min_size": "1"},
    }
    result = fairaudit.audit(spec, frame)
    # An edge belongs above: the first quartile, 24, begins the second bin.
    assert {"young": "under 30"} in listed(result)
    assert result.subgroups is not None
    names = {name for one in result.subgroups.rates[0].listed for name, _ in one.group}
    assert names <= {"old", "third", "young"}


def test_a_search_is_never_published_suppressed() -> None:
    """Also where a loaded spec is changed afterwards: the section would tell what is hidden."""
    read = specs.load(SPECS / "loans_subgroups.yaml")
    with pytest.raises(UsageError, match="`subgroups` and `suppress_below` cannot be combined"):
        fairaudit.audit(replace(read, suppress_below=11))


def test_another_outcome_is_searched_by_its_name() -> None:
    """Of two models that which `of` names; the other one treats everybody alike."""
    rows = [
        {"a": a, "even": str(at % 2), "uneven": str(int(at % 4 == 0 or a == "x"))}
        for at, a in enumerate("xxxxyyyyyyyy" * 40)
    ]
    models = {
        name: {"prediction": {"column": name, "positive": "1"}} for name in ("even", "uneven")
    }

    def found(**of: str) -> list[dict[str, str]]:
        return listed(
            fairaudit.audit(
                {
                    "columns": {"protected": ["a"], "models": models},
                    "metrics": ["selection_rate"],
                    "subgroups": {"min_size": "10", **of},
                },
                pl.DataFrame(rows),
            )
        )

    assert found() == []
    assert {"a": "x"} in found(of="uneven")


def test_a_missing_feature_is_told_or_refused(tmp_path: Path) -> None:
    """Whoever lacks it is in no subgroup by it, and among everybody."""
    rows = [("x", "u", "", "1", "1", 3), ("y", "u", "7", "0", "0", 4), ("y", "v", "1", "1", "0", 5)]
    path = write(tmp_path / "data.csv", rows)
    places = {"a": "protected", "b": "features", "c": "features"}
    missing = {"protected": "show", "strata": "show", "label": "aside", "prediction": "error"}
    asked = {"over": "all", "min_size": "1"}
    result = fairaudit.audit(spec_of(places, missing, asked), path)
    assert (
        "c: of 3 it is not known; those people are in no subgroup by it, and could change what is "
        "found"
    ) in result.notices
    assert result.subgroups is not None
    assert result.subgroups.rates[0].under == 12
    with pytest.raises(DataError, match="3 people have no value in the feature 'c'"):
        fairaudit.audit(spec_of(places, {**missing, "strata": "error"}, asked), path)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_tables_that_would_be_too_wide_are_refused(tmp_path: Path, suffix: str) -> None:
    """With the column to blame, by every route."""
    size = math.isqrt(MOST_TABLED) + 1
    frame = pl.DataFrame(
        {
            "z": ["all"] * size,
            "e": [f"{at:04}" for at in range(size)],
            "f": [f"{at:04}" for at in range(size)],
            "d": ["0", "1"] * (size // 2) + ["0"] * (size % 2),
        }
    )
    path = tmp_path / f"data{suffix}"
    (frame.write_csv if suffix == ".csv" else frame.write_parquet)(path)
    spec = {
        "columns": {
            "protected": ["z"],
            "features": ["e", "f"],
            "decision": {"column": "d", "positive": "1"},
        },
        "metrics": ["selection_rate"],
        "subgroups": {"over": ["e", "f"]},
    }
    with pytest.raises(DataError, match=r"the column '[ef]' alone has 4,0\d\d levels") as error:
        fairaudit.audit(spec, path)
    assert "bin or merge" in str(error.value.hint)


def test_the_section_says_what_was_looked_at_and_that_nothing_was_found() -> None:
    """In words, with the widest of those that chance explains."""
    even = people_of({(a, b): (50, 100) for a in "xy" for b in "uv"}, "ab")

    def printed(result: AuditResult) -> str:
        return " ".join(terminal.render(content.document(result)).split())

    text = printed(searched_for(even, "ab"))
    assert "8 subgroups searched: up to 2 conditions over a, b" in text
    assert "None of 8 subgroups diverges significantly" in text
    assert "the widest a=" in text
    text = printed(searched_for(GATED, "ab"))
    assert "clearest difference a=x, b=u: selection rate 30.0 % (30/100)" in text
    assert "Subgroup unfairness (Kearns) is 0.0500" in text
    assert "subgroups searched" in text
    assert "subgroups searched" not in printed(fairaudit.audit(SPECS / "kidney_admissions.yaml"))


def test_the_report_holds_every_number_in_full() -> None:
    """Each row with integers, interval and both p-values; the search with its counts."""
    document = report_json.document(searched_for(GATED, "ab", {"fail": {"above": "0.15"}}))
    validate(document)
    (one,) = document["subgroups"]["rates"]
    assert (one["looked_at"], document["subgroups"]["family"], one["people"]) == (8, 8, 400)
    assert one["unfairest"]["unfairness"] == 0.05
    rows = {tuple(row["group"].values()): row for row in one["listed"]}
    row = rows["x", "u"]
    assert (row["numerator"], row["denominator"], row["exact"]) == (30, 100, "-1/5")
    assert row["low"] < row["value"] == -0.2 < row["high"]
    assert row["adjusted"] == pytest.approx(8 * row["p"])
    assert "20.0 points less than everybody (50.0 %)" in row["sentence"]
    assert document["checks"][0]["metric"] == "subgroup_divergence"

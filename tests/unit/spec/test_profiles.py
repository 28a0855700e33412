"""Profiles are merged under the spec that names one, and printed by every report."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import fairaudit
from fairaudit import spec as specs
from fairaudit.base.errors import SpecError
from fairaudit.judge.checks import LimitQuotes
from fairaudit.report import FORMATS
from fairaudit.result import Answer
from fairaudit.spec import Spec
from fairaudit.spec.overlays import list_profiles

ABOUT = "about: {title: Ours, date: 2024-01-31, source: a memo, caution: none}\n"
SPEC = """\
profile: ours.yaml
columns:
  protected: [g]
  decision: d
groups: {min_size: 5}
metrics: [{metric: selection_rate, by: [g], warn: "< 0.1"}]
"""
ROWS = pl.DataFrame({"g": ["a", "b"] * 50, "d": [1, 0, 0, 1, 1] * 20})


def loaded(folder: Path, profile: str, spec: str = SPEC) -> Spec:
    (folder / "ours.yaml").write_text(profile)
    (folder / "spec.yaml").write_text(spec)
    return specs.load(folder / "spec.yaml")


def refused(folder: Path, profile: str, spec: str = SPEC) -> str:
    with pytest.raises(SpecError) as caught:
        loaded(folder, profile, spec)
    return str(caught.value)


def test_maps_are_merged_lists_replaced_and_metrics_of_both(tmp_path: Path) -> None:
    spec = loaded(
        tmp_path,
        f"{ABOUT}groups: {{min_size: 9, min_events: 3}}\nmissing: {{tokens: [NA]}}\n"
        "metrics:\n  - {metric: impact_ratio, fail: '< 0.8'}\n",
        f"{SPEC}missing: {{tokens: ['-']}}\n",
    )
    assert (spec.minimum.size, spec.minimum.events) == (5, 3)
    assert spec.missing.tokens == ("-",)
    assert [request.metric.id for request in spec.requests] == ["selection_rate", "impact_ratio"]
    assert [check.id.split("/")[0] for check in spec.checks] == ["selection_rate", "impact_ratio"]
    (profile,) = spec.profiles
    assert (profile.name, profile.title, profile.date) == ("ours", "Ours", "2024-01-31")


def test_what_the_spec_asks_itself_is_not_shown_twice_but_limits_stay(tmp_path: Path) -> None:
    profile = f"{ABOUT}metrics: [selection_rate, impact_ratio, {{metric: impact_ration}}]\n"
    told = refused(tmp_path, profile)
    assert "ours.yaml:2:50: metrics[2].metric: unknown metric" in told
    spec = loaded(
        tmp_path,
        f"{ABOUT}metrics: [{{metric: impact_ratio, fail: '< 0.8'}}, base_rate, selection_rate]\n",
        SPEC.replace("metrics: [", "metrics: [impact_ratio, "),
    )
    asked = [request.metric.id for request in spec.requests]
    assert asked == ["impact_ratio", "selection_rate", "impact_ratio"]
    assert len(spec.checks) == 2
    told = refused(tmp_path, f"{ABOUT}metrics: [{{metric: selection_rate, fail: '< 0.2'}}]\n")
    assert "the check selection_rate/g/decision is defined twice" in told


def test_a_limit_in_the_defaults_of_a_profile_stays(tmp_path: Path) -> None:
    profile = f"{ABOUT}defaults: {{fail: '< 0.8'}}\nmetrics: [impact_ratio]\n"
    own = "metrics: [{metric: impact_ratio, by: h, fail: none}]\n"
    head = SPEC[: SPEC.index("metrics:")].replace("[g]", "[g, h]")
    spec = loaded(tmp_path, profile, head + own)
    assert [check.id for check in spec.checks] == [
        "impact_ratio/g/decision", "impact_ratio/h/decision",
    ]  # fmt: skip


def test_faults_have_their_file_whatever_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One entry alone, in a profile; and a spec that is called as one of ours."""
    told = refused(tmp_path, f"{ABOUT}metrics:\n  metric: impact_ratio\n  fail: '< 80'\n")
    assert "ours.yaml:4:9: metrics[1].fail: perfect equality" in told
    monkeypatch.chdir(tmp_path)
    path = Path("four-fifths.yaml")
    path.write_text(SPEC.replace("ours.yaml", "four-fifths"))
    own, *others = specs.load(path).checks
    assert own.source.warn is not None
    assert own.source.warn.text == SPEC.splitlines()[-1]
    for check in others:
        assert check.source == LimitQuotes()
        assert check.place is not None
        assert check.place.file == "profiles/four-fifths.yaml"


def test_a_profile_extends_another(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(
        f"{ABOUT}extends: four-fifths\ngroups: {{min_size: 7, min_events: 4}}\n"
    )
    spec = loaded(
        tmp_path, f"{ABOUT}extends: base.yaml\ngroups: {{min_events: 2}}\n", SPEC.replace("5", "6")
    )
    assert (spec.minimum.size, spec.minimum.events) == (6, 2)
    assert [profile.name for profile in spec.profiles] == ["ours", "base", "four-fifths"]
    assert any(check.id.startswith("impact_ratio") for check in spec.checks)


def test_faults_of_a_profile_point_into_it(tmp_path: Path) -> None:
    told = refused(tmp_path, f"{ABOUT}metrics:\n  - {{metric: impact_ration}}\n")
    assert re.search(r"ours\.yaml:3:14: metrics\[1\]\.metric: unknown metric", told)
    assert "  3 |   - {metric: impact_ration}" in told


@pytest.mark.parametrize(
    ("profile", "words"),
    [
        ("metrics: [impact_ratio]\n", "ours.yaml:1:1: about: a profile needs the key `title`"),
        (ABOUT.replace("2024-01-31", "soon"), "about.date: expected a date, such as 2023-07-05"),
        (ABOUT.replace("}", ", by: me}"), "about.by: unknown key"),
        (f"{ABOUT}data: x.csv\n", "data: this key is not allowed in a profile"),
        (f"{ABOUT}extends: ours.yaml\n", "ours.yaml extends itself"),
        (f"{ABOUT}extends: [a, b]\n", "extends: expected the name of one profile"),
        (f"{ABOUT}extends: four-fith\n", "no profile 'four-fith'; did you mean 'four-fifths'?"),
        ("- a\n", "a profile must be a mapping with keys of a spec"),
        (f"{ABOUT}metricks: []\n", "metricks: unknown key"),
    ],
)
def test_what_is_no_profile_is_refused(profile: str, words: str, tmp_path: Path) -> None:
    assert words in refused(tmp_path, profile)


def test_a_name_that_none_has_is_a_fault(tmp_path: Path) -> None:
    told = refused(tmp_path, ABOUT, SPEC.replace("ours.yaml", "nyc"))
    assert "no profile 'nyc'" in told
    assert "nyc-ll144" in told
    told = refused(tmp_path, ABOUT, SPEC.replace("ours.yaml", "other.yaml"))
    assert "the profile other.yaml cannot be read: No such file" in told
    assert "profile" in refused(tmp_path, ABOUT, SPEC.replace("ours.yaml", "[a, b]"))


def test_a_measure_without_data_is_left_out_but_no_limit_is(tmp_path: Path) -> None:
    spec = loaded(tmp_path, f"{ABOUT}metrics: [impact_ratio, scoring_rate]\n")
    assert [request.metric.id for request in spec.requests] == ["selection_rate", "impact_ratio"]
    assert any(
        "not measured, because the data lacks columns: scoring_rate" in notice
        for notice in spec.notices
    )
    told = refused(tmp_path, f"{ABOUT}metrics: [{{metric: scoring_rate, fail: '< 0.5'}}]\n")
    assert "scoring_rate needs" in told


@pytest.mark.long
@pytest.mark.parametrize("name", list_profiles())
def test_each_profile_runs_and_is_printed_in_full(name: str) -> None:
    columns: dict[str, Any] = {"protected": ["g"], "label": "y", "prediction": "d", "score": "s"}
    rows = ROWS.with_columns(y=1 - pl.col("d").shift(1, fill_value=1), s=pl.col("d") * 0.5 + 0.1)
    spec = {"profile": name, "columns": columns, "defaults": {"reference": {"g": "a"}}}
    result = fairaudit.audit(spec, rows)
    (profile,) = result.provenance.profiles
    assert profile.date <= "2026-01-01"
    for word in ("compliant", "certified", "unbiased"):
        assert word not in profile.text.lower()
    words = {*re.findall(r"[a-z_]{5,}", profile.text)}
    for form in FORMATS:
        if form.name in {"markdown", "html", "json"}:
            rendered = form.render([Answer("spec.yaml", None, result)], all_rows=True)
            rendered = rendered if isinstance(rendered, str) else rendered.decode()
            assert {word for word in words if word not in rendered} == set()
    assert fairaudit.load(result.to_dict()).provenance.profiles == (profile,)


def test_a_check_of_the_spec_that_the_profile_has_is_a_fault_of_both_lines(tmp_path: Path) -> None:
    profile = f"{ABOUT}metrics: [{{metric: selection_rate, by: [g], fail: '< 0.2'}}]\n"
    text = refused(tmp_path, profile)
    where, line = text.splitlines()[:2]
    assert where.startswith(f"{tmp_path / 'ours.yaml'}:2:11: metrics: the check selection_rate/g/")
    assert where.endswith(f" is defined twice, first in line 6 of {tmp_path / 'spec.yaml'}")
    assert line == "  2 | metrics: [{metric: selection_rate, by: [g], fail: '< 0.2'}]"

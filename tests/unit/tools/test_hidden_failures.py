"""`compare` of published results: a check that fails and hides its values is no all-clear."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

import fairaudit
from fairaudit import cli

BEFORE = {"A": (100, 100), "B": (60, 140), "C": (95, 105), "D": (40, 5)}
AFTER = {"A": (100, 101), "B": (60, 141), "C": (15, 186), "D": (40, 5)}
"""Selected and others; C falls from .95 to .15 of A's rate, and B fails both times."""


RATIO: Mapping[str, object] = {
    "metric": "selection_rate",
    "compare": "ratio",
    "fail": {"below": 0.8},
}


def save(
    path: Path,
    groups: dict[str, tuple[int, int]],
    suppress: int | None,
    metric: Mapping[str, object] = RATIO,
    min_size: int = 1,
    more: Mapping[str, object] | None = None,
) -> Path:
    rows = [(g, p, n) for g, cells in groups.items() for p, n in zip("10", cells, strict=True)]
    columns = dict(zip(("race", "pred", "n"), map(list, zip(*rows, strict=True)), strict=True))
    spec = {
        "columns": {
            "protected": {"race": {"reference": "A"}},
            "prediction": {"column": "pred", "positive": "1"},
            "count": "n",
        },
        "metrics": [metric],
        "groups": {"min_size": min_size},
        **({} if suppress is None else {"suppress_below": suppress}),
        **(more or {}),
    }
    path.write_text(json.dumps(fairaudit.audit(spec, columns).to_dict()))
    return path


@pytest.mark.parametrize("suppress", [None, 11])
def test_fail_on_worse_does_not_pass_because_values_are_hidden(
    suppress: int | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = save(tmp_path / "before.json", BEFORE, suppress)
    after = save(tmp_path / "after.json", AFTER, suppress)
    assert cli.run_line(["compare", str(before), str(after), "--fail-on", "worse"]) == 1
    told = capsys.readouterr().err
    assert ("1 failing with hidden values" in told) == (suppress is not None)


@pytest.mark.parametrize(
    "metric",
    [
        {"metric": "selection_rate", "compare": "ratio", "fail": {"below": 0.2}},
        {"metric": "demographic_parity_difference", "fail": {"above": 0.9}},
    ],
)
def test_fail_on_worse_does_not_pass_over_groups_that_are_no_longer_judged(
    metric: Mapping[str, object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """C is neither the best nor the worst: without it each value is the same."""
    few = {**BEFORE, "C": (9, 10)}
    paths = [
        save(tmp_path / f"{n}.json", groups, None, metric, 30)
        for n, groups in enumerate((BEFORE, few))
    ]
    line = ["compare", *map(str, paths)]
    assert cli.run_line([*line, "--fail-on", "worse"]) == 1
    told = capsys.readouterr()
    assert "no longer judged: race=C" in " ".join(told.out.split())
    assert "SAME " not in told.out
    assert "1 with people who were judged before and are not now" in told.err
    assert cli.run_line([*line[:1], line[1], line[1], "--fail-on", "worse"]) == 0
    assert cli.run_line([line[0], line[2], line[1], "--fail-on", "worse"]) == 0


SEARCHED = {"over": ["race"], "rates": ["selection_rate"], "fail": {"above": 0.9}}


@pytest.mark.parametrize(
    ("metric", "more"),
    [
        ({"metric": "selection_rate", "compare": "ratio", "fail": {"below": 0.1}}, {}),
        ({"metric": "demographic_parity_difference", "fail": {"above": 0.9}}, {}),
        ({"metric": "selection_rate", "fail": {"below": 0.1}}, {}),
        ({"metric": "cramers_v", "fail": {"above": 0.9}}, {}),
        ({"metric": "selection_rate"}, {"subgroups": SEARCHED}),
    ],
)
def test_fail_on_worse_does_not_pass_if_a_new_group_determines_a_worse_value(
    metric: Mapping[str, object],
    more: Mapping[str, object],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Of the new E 10 % are selected, at least 30 % of all others, who have not changed."""
    bare = {name: BEFORE[name] for name in "ABC"}
    low, middle = (20, 180), (96, 104)
    assert low[0] / sum(low) < min(one / (one + other) for one, other in bare.values())
    paths = [
        save(tmp_path / f"{n}.json", groups, None, metric, more=more)
        for n, groups in enumerate((bare, {**bare, "E": low}, {**bare, "E": middle}))
    ]
    for after, code in zip(paths, (0, 1, 0), strict=True):
        line = ["compare", str(paths[0]), str(after), "--fail-on", "worse"]
        assert cli.run_line(line) == code
        told = capsys.readouterr()
        by_new = "worse by a group that was not judged before: race=E"
        assert (by_new in " ".join(told.out.split())) is bool(code)
        assert ("1 worse only by new groups" in told.err) is bool(code)
        assert told.err.startswith("WORSE") is False
    # E is judged before: the same values are no change.
    assert cli.run_line(["compare", str(paths[1]), str(paths[1]), "--fail-on", "worse"]) == 0
    assert cli.run_line(["compare", str(paths[1]), str(paths[0])]) == 0

"""`compare` of published results: a check that fails and hides its values is not cleared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import fairaudit
from fairaudit import cli

BEFORE = {"A": (100, 100), "B": (60, 140), "C": (95, 105), "D": (40, 5)}
AFTER = {"A": (100, 101), "B": (60, 141), "C": (15, 186), "D": (40, 5)}
"""Selected and others; C falls from .95 to .15 of A's rate, and B fails both times."""


def save(path: Path, groups: dict[str, tuple[int, int]], suppress: int | None) -> Path:
    rows = [(g, p, n) for g, cells in groups.items() for p, n in zip("10", cells, strict=True)]
    columns = dict(zip(("race", "pred", "n"), map(list, zip(*rows, strict=True)), strict=True))
    spec = {
        "columns": {
            "protected": {"race": {"reference": "A"}},
            "prediction": {"column": "pred", "positive": "1"},
            "count": "n",
        },
        "metrics": [{"metric": "selection_rate", "compare": "ratio", "fail": {"below": 0.8}}],
        **({} if suppress is None else {"suppress_below": suppress}),
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

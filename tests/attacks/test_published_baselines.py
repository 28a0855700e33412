"""A published check does not tell how few people were behind its value in the baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import fairaudit
from fairaudit import AuditResult

_COLUMNS: dict[str, Any] = {
    "protected": ["g"],
    "decision": {"column": "p", "positive": 1, "negative": 0},
    "count": "n",
}


def _audit(
    rates: dict[str, tuple[int, int]], metric: dict[str, Any], before: Any = None, **more: Any
) -> AuditResult:
    rows = [(g, p, n) for g, (k, m) in rates.items() for p, n in ((1, k), (0, m - k)) if n]
    people = pl.DataFrame(rows, ["g", "p", "n"], orient="row")
    spec = {"version": 1, "columns": _COLUMNS, "metrics": [metric], **more}
    return fairaudit.audit(spec, people, **({} if before is None else {"baseline": before}))


@pytest.mark.long
@pytest.mark.parametrize(
    "metric",
    [
        {"metric": "impact_ratio", "fail": {"below": 0.8}},
        {"metric": "demographic_parity_ratio", "fail": {"below": 0.8}},
        {"metric": "demographic_parity_difference", "fail": {"above": 0.1}},
        {"metric": "selection_rate", "fail": {"below": 0.5}},
        {"metric": "differential_fairness", "fail": {"above": 0.2}},
    ],
    ids=lambda metric: str(metric["metric"]),
)
def test_a_status_next_to_a_printed_value_does_not_tell_the_count_of_before(
    metric: dict[str, Any],
) -> None:
    """Of b 24 of 100 are selected, which is printed; before it was 0 to 4 of ten."""
    told = set()
    for selected in range(5):
        before = _audit({"a": (60, 100), "b": (selected, 10)}, metric)
        assert [str(finding.status) for finding in before.findings] == ["fail"]
        now = {"a": (60, 100), "b": (24, 100)}
        result = _audit(now, metric, before.to_dict(), suppress_below=11)
        (finding,) = result.findings
        assert finding.estimate is not None
        assert not finding.estimate.suppressed
        tree = result.to_dict()
        tree["provenance"].pop("baseline", None)
        told.add((str(finding.status), str(tree["checks"])))
        (whole,) = _audit(now, metric, before.to_dict()).findings
        assert str(whole.status) in {"fail", "warn"}
    assert [status for status, _ in told] == ["fail"]


def test_a_published_failure_says_that_it_is_not_compared_with_the_baseline(
    tmp_path: Path,
) -> None:
    metric = {"metric": "impact_ratio", "fail": {"below": 0.8}}
    before = _audit({"a": (60, 100), "b": (2, 10)}, metric).to_dict()
    result = _audit({"a": (60, 100), "b": (24, 100)}, metric, before, suppress_below=11)
    result.save(tmp_path / "report.md")
    text = " ".join((tmp_path / "report.md").read_text(encoding="utf-8").split())
    assert "not worse than before" not in text
    assert "published numbers are not compared with the baseline (fail, on" in text


def test_a_published_check_passes_next_to_a_baseline_that_fails() -> None:
    metric = {"metric": "impact_ratio", "fail": {"below": 0.8}}
    before = _audit({"a": (60, 100), "b": (2, 10)}, metric).to_dict()
    result = _audit({"a": (60, 100), "b": (58, 100)}, metric, before, suppress_below=11)
    assert [str(finding.status) for finding in result.findings] == ["pass"]

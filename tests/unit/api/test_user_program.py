"""A program of somebody who uses the package: mypy checks it as strictly as the package itself."""

from __future__ import annotations

from typing import assert_type

import polars as pl

import fairaudit
from fairaudit import AuditResult, FairauditError, Finding, Status, Verdict

ROWS = {"sex": ["f", "m"] * 100, "hired": [1, 0, 1, 1] * 50}
SPEC = {
    "columns": {"protected": ["sex"], "decision": {"column": "hired", "positive": 1}},
    "metrics": [{"metric": "demographic_parity_ratio", "fail": {"below": 0.4}}],
}


def worst(results: dict[str, AuditResult | FairauditError]) -> tuple[str, float] | None:
    """The smallest value of any check, and where it is."""
    values: list[tuple[float, str]] = []
    for name, result in results.items():
        if isinstance(result, FairauditError):
            raise result
        values += [
            (finding.value, name) for finding in result.findings if finding.value is not None
        ]
    return (min(values)[1], min(values)[0]) if values else None


def test_a_typed_program_runs() -> None:
    assert_type(fairaudit.__version__, str)
    result = assert_type(fairaudit.assert_audit(SPEC, pl.DataFrame(ROWS)), AuditResult)
    finding: Finding = result.findings[0]
    assert_type(finding.p, float | None)
    assert_type(finding.headline, str)
    assert finding.status is Status.PASS
    assert result.verdict is Verdict.PASS
    assert assert_type(result.checks(), pl.DataFrame).height == 1
    assert assert_type(result.group_rates(by="sex"), pl.DataFrame).height == 2
    assert result.group_rates(by="sex", to="pandas").shape[0] == 2
    assert worst(fairaudit.audit_each(SPEC, {"may": ROWS})) == ("may", 0.5)
    arrays = fairaudit.audit_arrays(y_pred=ROWS["hired"], sensitive_features={"sex": ROWS["sex"]})
    assert_type(arrays, AuditResult)
    assert fairaudit.load(arrays.to_dict()).verdict is Verdict.NONE

"""What an assertion says of an audit that does not pass: as a test runner shows it."""

from __future__ import annotations

from fairaudit.report.diagnostics import Diagnostic, diagnose
from fairaudit.result import AuditResult, FailOn
from fairaudit.verdict import Status

_MOST = 5


def render(result: AuditResult) -> str:
    """The verdict, and two lines for each check that did not pass, the most urgent first."""
    passed = {Status.PASS, Status.WAIVED}
    passed |= {Status.WARN} if result.fail_on is not FailOn.WARN else set()
    failed = [case for case in diagnose(result) if case.finding.status not in passed]
    counted = f"{len(failed)} of {len(result.findings)} checks did not pass"
    lines = [line for case in failed[:_MOST] for line in _lines(case)]
    lines += [f"and {len(failed) - _MOST} more"] if len(failed) > _MOST else []
    return "\n  ".join([f"the verdict is {result.verdict}: {counted}", *lines])


def _lines(case: Diagnostic) -> list[str]:
    interval = f" ({case.interval})" if case.interval else ""
    facts = [f"{case.value}{interval}" if case.value else "", case.limit, case.place]
    finding = case.finding
    return [
        f"{finding.status}: {finding.check.id}: {case.headline}",
        f"  {'; '.join(filter(None, facts))}",
    ]

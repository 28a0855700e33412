"""A whole result as one document, and back.

What is read back is all that reports read. Not there again are the fractions of values that are no
check's, those of checks whose digits would fill pages, and fractions of a second of files' times.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairaudit.disclosure import Notice, Subjects
from fairaudit.errors import UsageError
from fairaudit.report.json.accepted import (
    Which,
    read_earlier,
    read_told,
    write_earlier,
    write_told,
)
from fairaudit.report.json.checks import read_finding, write_finding
from fairaudit.report.json.definitions import read_definition, write_definition
from fairaudit.report.json.lattice import (
    read_epsilon,
    read_lattice_row,
    write_epsilon,
    write_lattice_row,
)
from fairaudit.report.json.models import read_model_change, write_model_change
from fairaudit.report.json.provenance import (
    read_ledger,
    read_provenance,
    write_data,
    write_ledger,
    write_options,
    write_spec,
)
from fairaudit.report.json.reading import AGAIN, Member, opened
from fairaudit.report.json.reversals import read_reversal, write_reversal
from fairaudit.report.json.rows import (
    read_comparison_row,
    read_group_row,
    read_rate_row,
    write_comparison_row,
    write_group_row,
    write_rate_row,
)
from fairaudit.report.json.scores import (
    read_curve,
    read_score_row,
    write_curve,
    write_score_row,
)
from fairaudit.report.json.subgroups import read_subgroups, write_searches, write_subgroups
from fairaudit.result import SCHEMA_VERSION, AuditResult, FailOn, Searched
from fairaudit.simpson import Reversal


def document(result: AuditResult) -> dict[str, Any]:
    """The result as plain data."""
    made, alpha = result.provenance, result.provenance.inference.alpha
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "fairaudit", "version": made.version},
        "created": made.created,
        "spec": write_spec(made),
        "data": write_data(made),
        "options": write_options(made, result.fail_on),
        "ledger": write_ledger(result.ledger),
        "summary": _summary(result),
        "groups": [write_group_row(row) for row in result.groups],
        "rates": [write_rate_row(row) for row in result.rates],
        "comparisons": [write_comparison_row(row) for row in result.comparisons],
        "checks": [write_finding(one) for one in result.findings],
        "reversals": [write_reversal(one, alpha) for one in result.reversals],
        "reversal_comparisons": result.compared,
        "searched": result.searched and _searched(result.searched),
        "subgroups": [*write_subgroups(result)],
        "subgroup_searches": [*write_searches(result)],
        "lattice": [write_lattice_row(row, alpha) for row in result.lattice],
        "epsilons": [write_epsilon(one) for one in result.epsilons],
        "scores": [write_score_row(row) for row in result.scores],
        "curves": [write_curve(one) for one in result.curves],
        "definitions": [write_definition(one) for one in result.definitions],
        "baseline": result.earlier and write_earlier(result.earlier),
        "waivers": [write_told(one) for one in result.waivers],
        "notices": list(result.notices),
        "model_changes": [write_model_change(one) for one in result.model_changes],
        "burdens": list(result.burdens),
    }


def read(document: Mapping[str, Any]) -> AuditResult:
    """The result in a document, so that every report of it is the one that its run wrote.

    A metric of another version is read: its numbers and its words are those of the document.
    Raises `UsageError` for what is no result, is of another major version of the schema, or lacks
    something; it names the member.
    """
    whole = opened(document)
    if "answers" in whole:
        raise UsageError("the document holds several results", "take one of its `answers[].result`")
    if "error" in whole:
        raise UsageError("the document is the report of an error: it holds no result", AGAIN)
    return read_result(whole)


def read_result(whole: Member) -> AuditResult:
    """The result in a document that is one."""
    made = read_provenance(whole)
    alpha = made.inference.alpha
    earlier = whole["baseline"].or_none(read_earlier)
    reversals = whole["reversals"].each(read_reversal)
    listed: dict[Which, Reversal]
    listed = {(one.rate, one.of, one.attribute, one.pair, one.given): one for one in reversals}
    _refuse_twins(whole["checks"])
    definitions = whole["definitions"].each(read_definition)
    _refuse_undefined(whole["rates"], {one.id for one in definitions})
    result = AuditResult(
        provenance=made,
        ledger=read_ledger(whole["ledger"], published=made.suppress_below is not None),
        groups=whole["groups"].each(read_group_row),
        rates=whole["rates"].each(lambda row: read_rate_row(row, alpha)),
        comparisons=whole["comparisons"].each(read_comparison_row),
        lattice=whole["lattice"].each(read_lattice_row),
        epsilons=whole["epsilons"].each(read_epsilon),
        findings=whole["checks"].each(lambda row: read_finding(row, earlier, listed)),
        reversals=reversals,
        definitions=definitions,
        notices=tuple(Notice(one, Subjects.NEVER) for one in whole["notices"].texts()),
        scores=whole["scores"].each(read_score_row),
        curves=whole["curves"].each(read_curve),
        fail_on=whole["options"]["fail_on"].one_of(FailOn),
        waivers=whole["waivers"].each(read_told),
        earlier=earlier,
        subgroups=read_subgroups(whole["subgroups"], whole["subgroup_searches"]),
        searched=whole["searched"].or_none(_read_searched),
        compared=whole["reversal_comparisons"].or_none(Member.count),
        model_changes=whole["model_changes"].each(read_model_change)
        if "model_changes" in whole
        else (),
        burdens=whole["burdens"].texts() if "burdens" in whole else (),
    )
    _refuse_changed(whole["summary"], result)
    return result


def _summary(result: AuditResult) -> dict[str, Any]:
    """The verdict, and how many checks came out how."""
    return {
        "verdict": str(result.verdict),
        "exit_code": result.exit_code,
        "checks": {str(status): count for status, count in result.tally.items()},
        "not_cleared": result.not_cleared,
    }


def _refuse_changed(summary: Member, result: AuditResult) -> None:
    """Raises `UsageError` where the summary is not that of the checks."""
    known = {name: found for name, found in _summary(result).items() if name in summary}
    said = [(summary[name], found) for name, found in known.items() if name != "checks"]
    said += [(summary["checks"][status], count) for status, count in result.tally.items()]
    for member, found in said:
        if member.value != found:
            member.refuse("is not what the checks of the result say")


def _refuse_twins(checks: Member) -> None:
    """Raises `UsageError` for two checks of one id: whoever asks for one would get either."""
    seen: set[str] = set()
    for row in checks.each(lambda one: one):
        name = row["id"].text()
        if name in seen:
            row["id"].refuse("stands twice")
        seen.add(name)


def _refuse_undefined(rates: Member, known: set[str]) -> None:
    """Raises `UsageError` for a rate without the definition that names it."""
    for row in rates.each(lambda one: one):
        if row["metric"].text() not in known:
            row["metric"].refuse("is not among the definitions")


def _searched(one: Searched) -> dict[str, Any]:
    """The columns that a search for reversals conditioned on."""
    return {"columns": list(one.columns), "left_out": dict(one.left_out)}


def _read_searched(row: Member) -> Searched:
    left_out = {name: why.text() for name, why in row["left_out"].members()}
    return Searched(row["columns"].texts(), left_out)

"""Comparison of two results, or of two models in one result; JSON Schemas of whole documents."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeAlias, TypeVar

import numpy as np

from fairaudit.base.errors import NothingToAudit, UsageError, did_you_mean, list_known
from fairaudit.base.frozen import field, replace
from fairaudit.codec import Answers, Document, Failure, Preview, Result
from fairaudit.codec.records import Tree
from fairaudit.codec.schema import describe
from fairaudit.judge import Check, Finding
from fairaudit.metrics import Rate, find_metric
from fairaudit.metrics.terms import Inference
from fairaudit.result import SCHEMA_VERSION, AuditResult, Summary
from fairaudit.result.rows import GroupKey, GroupRow, RateRow, group_key
from fairaudit.tools.compare.checks import compare_checks, list_behind
from fairaudit.tools.compare.measuring import ChangeTerms
from fairaudit.tools.compare.rates import (
    compare_notices,
    compare_paired_rates,
    compare_people,
    compare_rates,
    compare_reversals,
    list_conditions,
    rate_key,
)
from fairaudit.tools.compare.records import (
    Change,
    Changes,
    CheckChange,
    ComparedResult,
    Direction,
    PeopleChange,
    RateChange,
    Sampling,
)

_BARRED = {
    Sampling.SAME_PEOPLE: "not tested: the same people both times",
    Sampling.PAIRED: "not tested: both models are about the same people",
    Sampling.INDEPENDENT: "",
}
_LABEL = "label"
_OF_LABEL = {frozenset({"tp", "fn"}), frozenset({"fp", "tn"})}
"""The denominators of rates that condition on the label. Predictions do not change these."""

_Grouping: TypeAlias = tuple[str, frozenset[str], frozenset[str]]
"""The thing that is counted (people or labels), the columns of groups, the columns of strata."""

_Rank: TypeAlias = tuple[int, float, float]
_DIRECTIONS = [*Direction]
"""The order in which significant changes are listed."""


def compare(
    before: AuditResult,
    after: AuditResult,
    *,
    outcomes: tuple[str, str] | None = None,
    same_people: bool | None = None,
) -> Changes:
    """The changes from one result to another, tested as independent samples.

    `outcomes` are the names of one outcome of each result, such as a model; the names may differ.
    If `same_people` is true, changes are exact and not tested. If it is None, files and groups show
    whether the people are the same. Raises `NothingToAudit` if the results have no check and no
    rate in common, and `UsageError` for an outcome that a result does not have.
    """
    if outcomes is not None:
        before, after = (
            _select_outcome(result, name, outcomes[1])
            for result, name in zip((before, after), outcomes, strict=True)
        )
    assumed = ""
    if same_people is None:
        # Two results describe the same people if the numbers of rows, groups and labels are equal,
        # or if the files are the same and were not changed, even if the groups are different.
        then, now = before.provenance, after.provenance
        is_one_file = bool(then.files) and then.files == now.files
        is_one_file = is_one_file and all(file.modified for file in then.files)
        # Compare the sizes of all groups of common groupings. Without common groupings, compare the
        # files: files with equal numbers of bytes and lines are the same, even with other names.
        earlier, later = _list_sizes(before), _list_sizes(after)
        common = earlier.keys() & later.keys()
        files = [
            sorted((file.bytes or 0, file.lines or 0) for file in side.files)
            for side in (then, now)
        ]
        are_same_files = files[0] == files[1] and all(size for size, _ in files[0])
        is_known = bool(common) and then.rows is not None
        are_same_sizes = all(earlier[grouping] == later[grouping] for grouping in common)
        has_same_groups = are_same_sizes and (is_known or are_same_files)
        same_people = then.rows == now.rows and (is_one_file or has_same_groups)
        if same_people:
            equal = "numbers of rows and equal sizes of all groups" if common else "sizes of files"
            equal = "unchanged files" if is_one_file else equal
            assumed = f"assumed from equal {equal}; otherwise use --different-people"
    sampling = Sampling.SAME_PEOPLE if same_people else Sampling.INDEPENDENT
    changes = _compare_results(before, after, sampling, (), outcomes or (None, None))
    return replace(changes, assumed=assumed)


def compare_models(result: AuditResult, first: str, second: str) -> Changes:
    """The changes if the outcome `second` replaces the outcome `first` of the same result.

    Rates are tested by the people whose decision changes (McNemar). Checks need no test, because
    both outcomes are of the same people. Raises as `compare` does.
    """
    before, after = (_select_outcome(result, name, second) for name in (first, second))
    if first == second:
        raise UsageError(f"{first} would be compared with itself", "name two models")
    rates = tuple(compare_paired_rates(result, first, second))
    return _compare_results(before, after, Sampling.PAIRED, rates, (first, second))


def _compare_results(
    before: AuditResult,
    after: AuditResult,
    sampling: Sampling,
    paired: Sequence[RateChange],
    outcomes: tuple[str | None, str | None],
) -> Changes:
    earlier, later, is_paired = before.provenance, after.provenance, sampling is Sampling.PAIRED
    inference, are_same_people = later.inference, sampling is not Sampling.INDEPENDENT
    differ = earlier.inference.confidence != inference.confidence
    barred = _BARRED[sampling]
    if differ:
        barred = barred or "not tested: confidence levels differ"
    if earlier.cluster or later.cluster:
        barred = barred or "not tested: rows belong to clusters, which a report does not list"
    terms = ChangeTerms(
        inference,
        barred,
        same_people=are_same_people,
        unpaired=are_same_people and not differ,
        mean=not (earlier.weight or later.weight),
    )
    compared, otherwise = compare_checks(before, after, terms, renamed=outcomes[1] is not None)
    then, now = ({rate_key(row): row for row in side.rates} for side in (before, after))
    for rate in paired:
        now.pop(rate_key(rate), None)
    rates = (*paired, *compare_rates(then, now, frozenset(after.burdens), terms))
    if not (compared or otherwise or rates):
        what = "the results have no check and no rate in common"
        raise NothingToAudit(what, "compare results from specs with the same metrics")
    people = () if is_paired else compare_people(before, after, barred=barred)
    conditions = () if is_paired else list_conditions(before, after, compared, rates)
    new_notices, gone_notices = compare_notices(before.notices, after.notices)
    ids = [{finding.check.id for finding in side.findings} for side in (before, after)]
    only_before = [finding for finding in before.findings if finding.check.id not in ids[1]]
    if outcomes[0] is not None:
        # If only the earlier result has a check, restore the original name of its outcome.
        only_before = [_rename_check(finding, outcomes[0]) for finding in only_before]
    # All tests of groups of checks are one family: their p-values are corrected together.
    tested = iter(_correct([change for check in compared for change in check.tested], inference))
    both = [check.with_tested([next(tested) for _ in check.tested]) for check in compared]
    changes = _correct([rate.change for rate in rates], inference)
    corrected = [*map(lambda rate, change: replace(rate, change=change), rates, changes)]
    both = [replace(check, behind=list_behind(check, corrected, terms)) for check in both]

    def rank(check: CheckChange) -> tuple[int, _Rank]:
        return 0 if check.is_worse else 1 if check.is_better else 2, min(map(_rank, check.tested))

    return Changes(
        before=_describe_result(before, outcomes[0]),
        after=_describe_result(after, outcomes[1]),
        sampling=sampling,
        inference=inference,
        checks=tuple(sorted(both, key=rank)),
        otherwise=otherwise,
        only_before=tuple(only_before),
        only_after=tuple(finding for finding in after.findings if finding.check.id not in ids[0]),
        rates=tuple(sorted(corrected, key=lambda rate: _rank(rate.change))),
        people=tuple(_correct(people, inference)),
        reversals=tuple(compare_reversals(before, after)),
        conditions=tuple(conditions),
        new_notices=new_notices,
        gone_notices=gone_notices,
    )


def _describe_result(result: AuditResult, of: str | None) -> ComparedResult:
    return ComparedResult(result.provenance, result.verdict, result.exit_code, result.tally, of)


def _select_outcome(result: AuditResult, name: str, called: str) -> AuditResult:
    """The part of the result on the outcome `name`, which is renamed to `called`.

    Comparisons and checks with `against` involve two outcomes and are omitted.
    """
    models = [model for row in result.model_changes for model in (row.first, row.second)]
    rates, checks = result.rates, [finding.check for finding in result.findings]
    known = [*dict.fromkeys([*models, *(row.of for row in rates), *(check.of for check in checks)])]
    if name not in known:
        hint = did_you_mean(name, known)
        raise UsageError(f"no outcome {name!r}{hint}", list_known(known))
    scanned = result.scanned
    if scanned is not None:
        # The scan searched only its own outcome.
        scanned = replace(scanned, of=called, pairs=scanned.pairs if scanned.of == name else ())
    return replace(
        result,
        groups=tuple(replace(row, of=called) for row in result.groups if row.of == name),
        rates=tuple(replace(row, of=called) for row in result.rates if row.of == name),
        comparisons=tuple(
            replace(row, of=called)
            for row in result.comparisons
            if row.of == name and "against" not in row.parameters
        ),
        findings=tuple(
            _rename_check(finding, called)
            for finding in result.findings
            if finding.check.of == name
            and not (isinstance(finding.check, Check) and finding.check.against is not None)
        ),
        reversals=tuple(
            replace(reversal, of=called) for reversal in result.reversals if reversal.of == name
        ),
        scanned=scanned,
        burdens=tuple(called for burden in result.burdens if burden == name),
    )


def _rename_check(finding: Finding, name: str) -> Finding:
    """The finding with another name of its outcome, also in the id of its check."""
    check = finding.check
    parts = [name if part == check.of else part for part in check.id.split("/")]
    return replace(finding, check=replace(check, of=name, id="/".join(parts)))


_Tested = TypeVar("_Tested", bound=Change | PeopleChange)


def _correct(changes: Iterable[_Tested], inference: Inference) -> list[_Tested]:
    """The changes of one family, with adjusted p-values."""
    family, correction = [*changes], inference.correction
    tests = [change.significance for change in family]
    p = np.array([math.nan if test is None else test.p for test in tests], dtype=np.float64)
    size = int(np.count_nonzero(~np.isnan(p)))
    return [
        change
        if test is None
        else replace(
            change,
            significance=replace(test, adjusted=level, family=size, correction=correction.words),
            significant=level < inference.alpha,
        )
        for change, test, level in zip(family, tests, correction.adjust(p).tolist(), strict=True)
    ]


def _rank(change: Change) -> _Rank:
    """A sort key: significant changes first, worse before better; then by p-value and size."""
    if change.significance is None:
        return len(_DIRECTIONS) + 1, 1.0, -change.size
    place = _DIRECTIONS.index(change.way) if change.significant else len(_DIRECTIONS)
    return place, change.significance.p, -change.size


def _list_sizes(result: AuditResult) -> dict[_Grouping, dict[GroupKey, object]]:
    """By grouping, the number of people of each group, and of each label in the group.

    If labels are not listed, denominators of rates that condition on labels replace the labels.
    """
    sizes: dict[_Grouping, dict[GroupKey, object]] = defaultdict(dict)

    def add(of: str, row: GroupRow | RateRow, size: object) -> None:
        columns = frozenset(row.by), frozenset(name for name, _ in row.stratum)
        sizes[of, *columns][group_key(row.group, row.stratum)] = size

    for row in result.groups:
        if row.by and row.n is not None:
            add("", row, row.n)
            if row.of == _LABEL and row.counts and None not in row.counts.values():
                add(_LABEL, row, tuple(sorted(row.counts.items())))
    for rate in result.rates:
        metric, n = find_metric(rate.metric), rate.estimate.n
        if rate.by and n is not None and isinstance(metric, Rate):
            under = frozenset(metric.under)
            if under in _OF_LABEL and not rate.parameters:
                add(repr(sorted(under)), rate, n)
    return sizes


class Comparison(Document, tag=True):
    """A comparison of two results."""

    summary: Summary
    changes: Changes = field(name="*changes")

    @classmethod
    def of(cls, changes: Changes, exit_code: int) -> Comparison:
        """The document of some changes, with the exit code of the command."""
        compared, worse, better = map(len, (changes.checks, changes.worse, changes.better))
        checks = {"compared": compared, "worse": worse, "better": better}
        return cls(Summary(exit_code, checks=checks, rates=changes.rate_counts), changes)


_DOCUMENTS = {
    "result": Result | Failure | Answers,
    "comparison": Comparison,
    "check": Preview,
}
_ABOUT = {
    "result": "The output of `fairaudit run --format json`: a result, an error, or several answers "
    "in one document. Within one major `schema_version` members are only added: a reader ignores "
    "the members it does not know. No number is NaN or infinite: it is null, and a `state` or "
    "`x_state` says why. `x_text` next to a number `x` is the same number exactly.",
    "comparison": "The output of `fairaudit compare --format json`. If the results cannot be "
    "compared, it is an error as in the schema of results.",
    "check": "The output of `fairaudit check --format json`. If the spec or the data has a fault, "
    "it is an error as in the schema of results.",
}
_SENTENCE = {"type": "string", "description": "The row in words, which may change at any time."}
_SPOKEN = ("Finding", "Reversal", "Appearance", "Subgroup")
"""The rows to which a report adds a `sentence`."""


def document_schema(of: str) -> Tree:
    """The JSON Schema of the documents of a "result", a "comparison" or a "check"."""
    refers, definitions = describe(_DOCUMENTS[of])
    for name, row in definitions.items():
        for variant in row.get("anyOf", [row]) if of == "result" and name in _SPOKEN else ():
            variant["properties"]["sentence"] = _SENTENCE
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:fairaudit:schema:{of}:{SCHEMA_VERSION}",
        "title": f"fairaudit {of}",
        "description": _ABOUT[of],
        **refers,
        "$defs": definitions,
    }

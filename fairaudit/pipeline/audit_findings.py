"""`Judge`: findings of all checks, under waivers, beside a baseline; names look-alike levels."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial

from fairaudit.base.frozen import replace
from fairaudit.cube import Group, Grouping
from fairaudit.evidence import Evidence, correct_families, extend_family
from fairaudit.judge import (
    AnyCheck,
    Check,
    Finding,
    LeftOutPeople,
    NotEvaluated,
    ReversalCheck,
    SubgroupCheck,
    count_left_out,
    doubt_left_out,
    find_passed_over,
    judge,
    judge_reversals,
    judge_subgroups,
)
from fairaudit.judge import waivers as waiving
from fairaudit.judge.waivers import NO_EXCLUSION, Exclusion, Waiver
from fairaudit.metrics import Evaluation, Requirement, Terms, find_metric
from fairaudit.pipeline import baseline as baselines
from fairaudit.pipeline import provenance
from fairaudit.pipeline.tables import Audit, evaluate_check
from fairaudit.pipeline.uncounted_people import (
    HIDDEN_DOUBT,
    UNDECIDED_DOUBT,
    HiddenPeople,
    LeftOutRows,
    leave_open,
)


class Judge:
    """Finds the answer to each check of a spec: its value, its evidence, and the word for it."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit
        self._spec = audit.spec
        self._tables = audit.tables
        self._today = provenance.today()
        self._failing = audit.question.failing
        self._left_out = None if audit.cubes.left_out is None else LeftOutRows(audit)
        self._hidden = HiddenPeople(audit) if audit.hidden_people else None
        alike = audit.cubes.alike
        self._joined_tables = None if alike is None else audit.tables.of_cube(alike.cube)
        # The tests of all checks are corrected together, those that are not looked at among them:
        # what is asked does not change with `only`.
        self._evidence = correct_families({
            check.id: (evaluate_check(check, audit.tables), check.fails)
            for check in audit.spec.checks
            if isinstance(check, Check)
        })  # fmt: skip

    def find_all(self) -> tuple[Finding, ...]:
        """The finding of each check that is asked."""
        return tuple(map(self._find, self._audit.question.checks))

    def _find(self, check: AnyCheck) -> Finding:
        """The finding of a check under the waivers that hold, and beside the baseline."""
        if isinstance(check, ReversalCheck):
            finding = self._leave_scan_open(judge_reversals(check, self._audit.reversals))
        elif isinstance(check, SubgroupCheck):
            found = self._judge_subgroups(check)
            assert found is not None
            finding = found
        else:
            finding = self._judge(check)
        if waivers := self._list_waivers(check):
            finding = waiving.waive(finding, waivers, partial(self._judge_without, check))
        question = self._audit.question
        if question.baseline is not None:
            finding = baselines.compare(finding, question.baseline)
        return replace(finding, definition=question.definitions[check.id])

    def _list_waivers(self, check: AnyCheck) -> list[Waiver]:
        """The waivers of a check that hold."""
        return [
            waiver
            for waiver in self._spec.waivers
            if waiver.check == check.id and waiver.holds(self._today)
        ]

    def _judge(self, check: Check) -> Finding:
        """The finding of a check, which names levels that look alike where joining them matters."""
        evidence, alike = self._evidence[check.id], self._audit.cubes.alike
        evaluation = evaluate_check(check, self._tables)
        finding = self._judge_evaluation(check, evaluation, evidence, NO_EXCLUSION)
        if alike is None or self._joined_tables is None:
            return finding
        names = [name for name in (*check.by, *check.strata) if name in alike.levels]
        if not names or {Requirement.SCORE, Requirement.FEATURES} & check.metric.requirements:
            return finding
        joined = evaluate_check(check, self._joined_tables)
        status = judge(check, joined, extend_family(joined, evidence)).status
        if status is finding.status:
            return finding
        reason = (
            f"levels that look alike are counted apart: {alike.listed(names)}; joined, "
            f"its status would be {status}, not {finding.status}"
        )
        counted_apart = NotEvaluated((), (), reason, blocks=False)
        return replace(finding, not_evaluated=(*finding.not_evaluated, counted_apart))

    def _judge_evaluation(
        self, check: Check, evaluation: Evaluation, evidence: Evidence, exclusion: Exclusion
    ) -> Finding:
        """The finding of a check, which those who are left out may leave open."""
        missing = [] if self._left_out is None else self._left_out.find_gone(check)
        # Whom a waiver excludes is not left out.
        whole = evaluate_check(check, self._tables)
        waived = [waiver.group for waiver in self._list_waivers(check)]
        people = self._count_left_out(check, whole, waived)
        judge_beside = partial(
            judge,
            check,
            evaluation,
            evidence,
            missing,
            people=people,
            failing=self._failing,
            is_published=self._spec.suppress_below is not None,
        )
        finding = judge_beside()
        doubts = list[NotEvaluated]()
        if self._left_out is not None:
            doubts += self._left_out.list_doubts(check, finding.status, exclusion)
        if self._hidden and self._hidden.could_worsen(check, finding.status, exclusion):
            doubts.append(HIDDEN_DOUBT)
        return judge_beside(could_worsen=doubts) if doubts else finding

    def _count_left_out(
        self, check: AnyCheck, evaluation: Evaluation, waived: Collection[Group] = ()
    ) -> LeftOutPeople:
        """Who is left out of a check, in its table or in none."""
        by = evaluation.table.by
        counted = [self._tables.table(columns, (), check.of) for columns in ((), by)]
        passed_over = ~evaluation.table.known_strata
        if isinstance(check, Check):
            passed_over = find_passed_over(check, evaluation)
        outsiders = []
        if self._left_out is not None:
            outsiders = self._left_out.list_outsiders(by, check.of)
        return count_left_out(
            evaluation,
            passed_over,
            (counted[0], counted[1]),
            outsiders,
            self._audit.hidden_people,
            self._spec.suppress_below or 0,
            excludes=self._spec.exclude_below is not None,
            waived=waived,
        )

    def _leave_scan_open(self, finding: Finding) -> Finding:
        """The finding of a scan, open where people are hidden, or too many are left out.

        Of the tables that it looks at the one counts in which the most are left out.
        """
        check = finding.check
        assert not isinstance(check, Check)
        rate = find_metric(check.rate)
        assert rate is not None
        people = max(
            (
                self._count_left_out(
                    check, self._tables.evaluate(rate, (by, given, check.of), Terms())
                )
                for by, given in self._list_scanned(check)
            ),
            key=lambda people: (len(doubt_left_out(check, people)), people.find_share()),
        )
        doubts = [*([HIDDEN_DOUBT] if self._hidden else []), *doubt_left_out(check, people)]
        if self._left_out is not None and self._left_out.has_undecided:
            doubts.append(UNDECIDED_DOUBT)
        finding = replace(finding, left_out=people if people.reasons else None)
        return leave_open(finding, doubts, unless=self._failing)

    def _list_scanned(self, check: AnyCheck) -> Iterator[tuple[Grouping, Grouping]]:
        """The groupings that a scan looks at, with those it is given: of the cube alone."""
        yield (), ()
        groupable = {attribute.name for attribute in self._spec.groupable}
        scan, search = self._spec.simpson, self._spec.subgroups
        if isinstance(check, ReversalCheck) and scan is not None:
            yield from (((name,), given) for name in scan.attributes for given in scan.given)
        elif isinstance(check, SubgroupCheck) and search is not None:
            yield from (((name,), ()) for name in search.over if name in groupable)

    def _judge_subgroups(
        self, check: SubgroupCheck, waived: Collection[Group] = ()
    ) -> Finding | None:
        """The finding of a check on subgroups; None where all are waived."""
        assert self._audit.subgroups is not None
        finding = judge_subgroups(check, self._audit.subgroups, waived)
        return finding and self._leave_scan_open(finding)

    def _judge_without(self, check: AnyCheck, exclusion: Exclusion) -> Finding | None:
        """The finding of a check without what is excluded; None where nothing else is judged."""
        if isinstance(check, ReversalCheck):
            return None
        if isinstance(check, SubgroupCheck):
            return self._judge_subgroups(check, [breach.group for breach in exclusion.values])
        evaluation = evaluate_check(check, self._tables, exclusion)
        remaining = waiving.exclude_values(evaluation, exclusion)
        if remaining is None:
            return None
        evidence = self._evidence[check.id]
        if exclusion.groups:
            evidence = extend_family(remaining, evidence)
        return self._judge_evaluation(check, remaining, evidence, exclusion)

"""`Judge`: findings of all checks, under waivers, beside a baseline; names look-alike levels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, product

import numpy as np

from fairaudit.base.frozen import replace
from fairaudit.cube import Grouping, Marks
from fairaudit.evidence import correct_families, extend_family
from fairaudit.judge import (
    AnyCheck,
    Check,
    Finding,
    LeftOutPeople,
    NotEvaluated,
    ReversalCheck,
    SubgroupCheck,
    judge,
    leave_open,
)
from fairaudit.judge import waivers as waiving
from fairaudit.judge.entries import find_passed_over
from fairaudit.judge.judging import doubt_left_out
from fairaudit.judge.left_out import count_left_out
from fairaudit.judge.searches import (
    judge_reversals,
    judge_subgroups,
    list_unsearched,
    list_without_outcome,
)
from fairaudit.judge.waivers import NO_EXCLUSION, Exclusion, Waiver
from fairaudit.metrics import Evaluation, Metric, Requirement, Terms, find_metric
from fairaudit.pipeline import baseline as baselines
from fairaudit.pipeline import provenance
from fairaudit.pipeline.tables import Audit, evaluate_check
from fairaudit.pipeline.uncounted_people import (
    HIDDEN_DOUBT,
    MANY_LEFT_OUT_DOUBT,
    HiddenPeople,
    LeftOutRows,
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
        self._alike, self._joined = audit.cubes.alike, None
        if self._alike is not None:
            cube = self._alike.cube
            cubes = replace(audit.cubes, cube=cube, tables=(), searched_columns=None)
            self._joined = replace(audit, cubes=cubes, tables=audit.tables.of_cube(cube))
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
        finding = self._judge(check)
        assert finding is not None
        if waivers := self._list_waivers(check):
            finding = waiving.waive(finding, waivers, partial(self._judge, check))
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

    def _judge(self, check: AnyCheck, exclusion: Exclusion = NO_EXCLUSION) -> Finding | None:
        """The finding of a check without what is excluded; None where nothing else is judged.

        Whatever kind of check it is, the same reasons leave it open: groups that are gone, and
        people who are left out or could make it worse. It names levels that look alike where
        joining them would give it another status.
        """
        # Whom a waiver excludes is not left out.
        people, gone = self._count_left_out(check), self._list_gone(check)
        finding = self._apply_limits(check, self._audit, exclusion, gone)
        if finding is None:
            return None
        doubts = self._list_doubts(check, finding, people, exclusion)
        if doubts:
            finding = self._apply_limits(check, self._audit, exclusion, gone, doubts)
            assert finding is not None
        names = self._list_alike(check) if exclusion == NO_EXCLUSION else []
        if self._joined is not None and self._alike is not None and names:
            joined = self._apply_limits(check, self._joined, exclusion, gone, doubts)
            if joined is not None and joined.status is not finding.status:
                reason = (
                    "levels with similar spelling are counted separately: "
                    f"{self._alike.listed(names)}; joined, the status would be {joined.status}, "
                    f"not {finding.status}"
                )
                counted_apart = NotEvaluated((), (), reason, blocks=False)
                finding = leave_open(finding, [counted_apart], self._failing)
        return replace(finding, left_out=people if people.reasons else None)

    def _apply_limits(
        self,
        check: AnyCheck,
        audit: Audit,
        exclusion: Exclusion,
        gone: Sequence[NotEvaluated],
        doubts: Sequence[NotEvaluated] = (),
    ) -> Finding | None:
        """What the limits of a check make of an audit; None where nothing is left to judge."""
        if isinstance(check, Check):
            evaluation = evaluate_check(check, audit.tables, exclusion)
            remaining = waiving.exclude_values(evaluation, exclusion)
            if remaining is None:
                return None
            evidence = self._evidence[check.id]
            if exclusion.groups or audit is not self._audit:
                evidence = extend_family(remaining, evidence)
            return judge(check, remaining, evidence, gone, doubts, self._failing)
        if isinstance(check, ReversalCheck):
            if exclusion != NO_EXCLUSION:
                return None
            finding = judge_reversals(check, audit.reversals, self._failing)
            return leave_open(finding, [*gone, *doubts], self._failing)
        assert audit.subgroups is not None
        waived = [breach.group for breach in exclusion.values]
        found = judge_subgroups(check, audit.subgroups, waived)
        reasons = [*list_unsearched(check, audit.subgroups), *gone, *doubts]
        return found and leave_open(found, reasons, self._failing)

    def _list_doubts(
        self, check: AnyCheck, finding: Finding, people: LeftOutPeople, exclusion: Exclusion
    ) -> list[NotEvaluated]:
        """What leaves a check open as a whole: too many people are left out, or some could turn it.

        Of a published check bounds prove nothing: they would show how few people lack an outcome.
        """
        proof = None if self._spec.suppress_below is not None else finding.missing
        has_value = not isinstance(check, Check) or finding.estimate is not None
        doubts = doubt_left_out(check, people, proof) if has_value else []
        if doubts and self._spec.suppress_below is not None:
            doubts = [MANY_LEFT_OUT_DOUBT]  # a group that is named would show how many it loses
        if doubts and finding.status not in self._failing:
            return doubts
        if self._left_out is not None:
            doubts += self._left_out.list_doubts(check, finding.status, exclusion)
        if self._hidden and self._hidden.could_worsen(check, finding.status, exclusion):
            doubts.append(HIDDEN_DOUBT)
        return doubts

    def _list_places(self, check: AnyCheck) -> list[tuple[Grouping, Grouping]]:
        """The groupings that a check looks at, with their strata; a search also at everybody."""
        scan, search = self._spec.simpson, self._spec.subgroups
        if isinstance(check, Check):
            return [(check.by, check.given)]
        if isinstance(check, ReversalCheck):
            assert scan is not None
            pairs = product(scan.attributes, scan.given)
            return [((), ()), *(((by,), given) for by, given in pairs if by not in given)]
        assert search is not None
        groupable = {attribute.name for attribute in self._spec.groupable}
        return [(by, ()) for by in ((), *search.combinations) if groupable.issuperset(by)]

    def _list_gone(self, check: AnyCheck) -> list[NotEvaluated]:
        """The groups that the data has and that a check does not judge, by any of its groupings.

        Of averages, and of searches, not those of a stratum alone.
        """
        places, minimum = self._list_places(check), self._spec.minimum.size
        if isinstance(check, Check):
            minimum = check.terms.minimum.size
        elif isinstance(check, SubgroupCheck) and check.scope is not None:
            minimum = check.scope.min_size
        if not isinstance(check, Check) or check.terms.average:
            places = list(dict.fromkeys((by, ()) for by, _ in places))
        gone = [] if self._left_out is None else self._left_out.find_gone(places, minimum)
        if not isinstance(check, Check):
            gone = [group for group in gone if group.blocks]
            for by in (by for by, _ in places if len(by) == 1):
                evaluation = self._tables.evaluate(_rate_of(check), (by, (), check.of), Terms())
                gone += list_without_outcome(evaluation, minimum)
        return gone

    def _list_alike(self, check: AnyCheck) -> list[str]:
        """The columns of a check of which levels that look alike can be joined."""
        names = [*chain(*chain(*self._list_places(check)))]
        scan = self._spec.simpson
        cannot_join = isinstance(check, SubgroupCheck) and bool(self._spec.features)
        cannot_join |= isinstance(check, ReversalCheck) and scan is not None and scan.search
        if isinstance(check, Check):
            names += check.terms.parameters.controls
            needs = {Requirement.SCORE, Requirement.FEATURES}
            cannot_join = bool(needs & check.metric.requirements)
        if self._alike is None or cannot_join:
            return []
        return [name for name in dict.fromkeys(names) if name in self._alike.levels]

    def _count_left_out(self, check: AnyCheck) -> LeftOutPeople:
        """Who is left out of a check, in its table or in none.

        Of the tables that a search looks at the one counts in which the most are left out.
        """
        waived = [waiver.group for waiver in self._list_waivers(check)]
        found = []
        for evaluation, passed_over in self._list_evaluations(check):
            by = evaluation.table.by
            found.append(
                count_left_out(
                    evaluation,
                    passed_over,
                    (self._tables.table((), (), check.of), self._tables.table(by, (), check.of)),
                    [] if self._left_out is None else self._left_out.list_outsiders(by, check.of),
                    self._audit.hidden_people,
                    self._spec.suppress_below or 0,
                    excludes=self._spec.exclude_below is not None,
                    waived=waived,
                )
            )
        return max(
            found,
            key=lambda people: (
                len(doubt_left_out(check, people)),
                people.find_share(),
                people.groups or 0,
            ),
        )

    def _list_evaluations(self, check: AnyCheck) -> Iterator[tuple[Evaluation, Marks]]:
        """What a check looks at, of the cube alone, and in which strata it judges nobody."""
        if isinstance(check, Check):
            evaluation = evaluate_check(check, self._tables)
            yield evaluation, find_passed_over(check, evaluation)
            return
        for by, given in self._list_places(check):
            place, compared = (by, given, check.of), None
            terms = Terms()
            if by and isinstance(check, ReversalCheck):
                terms = Terms(minimum=self._spec.minimum)
                compared = self._audit.reversals.compared.get((check.rate, by[0], given))
                if compared is None:
                    continue  # too many groups, or cells
            evaluation = self._tables.evaluate(_rate_of(check), place, terms)
            passed_over = ~evaluation.table.known_strata[:, None]
            if compared is not None:
                takes_part = np.broadcast_to(compared.large, evaluation.takes_part.shape)
                evaluation = replace(evaluation, takes_part=takes_part)
                passed_over = compared.passed_over
            yield evaluation, passed_over


def _rate_of(check: ReversalCheck | SubgroupCheck) -> Metric:
    rate = find_metric(check.rate)
    assert rate is not None
    return rate

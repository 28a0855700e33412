"""Findings of all checks; `others: drop` or hidden people leave them open; waivers, baseline."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from datetime import date
from functools import partial

from fairaudit import baseline as baselines
from fairaudit import waivers as waiving
from fairaudit.baseline import Baseline
from fairaudit.cube import Cube, ExcludeBelow, Group, LostGroup
from fairaudit.evidence import Evidence, correct_families, extend_family
from fairaudit.evidence.missing_bounds import may_be_beyond
from fairaudit.frozen import Frozen, replace
from fairaudit.metrics import (
    Eligibility,
    Evaluation,
    Requirement,
    describe_groups,
    evaluate_against,
)
from fairaudit.recode import Cubes
from fairaudit.recode.left_out import LeftOut
from fairaudit.recode.suspicious_levels import Alike
from fairaudit.spec import Spec
from fairaudit.tables import Searches, Tables
from fairaudit.verdict import (
    AnyCheck,
    Check,
    Finding,
    Limit,
    NotEvaluated,
    ReversalCheck,
    Status,
    SubgroupCheck,
    collect_entries,
    judge,
    judge_reversals,
    judge_subgroups,
)
from fairaudit.waivers import NO_EXCLUSION, Exclusion

_NOT_FAILED = {Status.PASS, Status.WARN}

_COULD_WORSEN = NotEvaluated(
    (),
    (),
    "rows that `others: drop` leaves out could put it beyond the limit: say of their values what "
    "is `positive` and `negative`, or leave them out by name in `filter`",
    blocks=True,
)


_HIDDEN = NotEvaluated(
    (),
    (),
    "people whom sites hid in their counts could put it beyond the limit; a rate, or a comparison "
    "of rates, can pass beside them where `min_size` is larger than they are together",
    blocks=True,
)


class Judge:
    """Finds the answer to each check of a spec: its value, its evidence, and the word for it."""

    def __init__(
        self,
        spec: Spec,
        cubes: Cubes,
        tables: Tables,
        searches: Searches,
        baseline: Baseline | None,
        today: date,
        hidden_people: int = 0,
    ) -> None:
        self._spec = spec
        self._tables = tables
        self._searches = searches
        self._baseline = baseline
        self._today = today
        self._left_out = None
        if cubes.left_out is not None:
            self._left_out = _LeftOutRows(cubes.left_out, tables, spec)
        self._hidden = None
        if hidden_people:
            self._hidden = _HiddenPeople(hidden_people, cubes.cube, tables, spec)
        self._lookalikes = None
        # A published report must not tell what joined levels would count.
        if spec.suppress_below is None and (alike := Alike.of(cubes.cube)) is not None:
            self._lookalikes = _Lookalikes(alike, tables.of_cube(alike.cube))
        self._evidence = self._correct()

    def find(self, check: AnyCheck, definition: str) -> Finding:
        """The finding of a check under the waivers that hold, and beside the baseline."""
        if isinstance(check, ReversalCheck):
            finding = self._leave_open(judge_reversals(check, self._searches.reversals))
        elif isinstance(check, SubgroupCheck):
            finding = self._judge_subgroups(check)
        else:
            finding = self._judge(check)
        waivers = [
            waiver
            for waiver in self._spec.waivers
            if waiver.check == check.id and waiver.holds(self._today)
        ]
        if waivers:
            finding = waiving.waive(finding, waivers, partial(self._judge_without, check))
        if self._baseline is not None:
            finding = baselines.compare(finding, self._baseline)
        return replace(finding, definition=definition)

    def _correct(self) -> Mapping[Hashable, Evidence]:
        """What speaks for each value: the tests of all checks are corrected together.

        Those that are not looked at are among them: what is asked does not change with `only`.
        """
        checks = [check for check in self._spec.checks if isinstance(check, Check)]
        return correct_families(
            {check.id: (self._evaluate(check), check.fails) for check in checks}
        )

    def _evaluate(self, check: Check) -> Evaluation:
        return evaluate_check(check, self._tables)

    def _judge(self, check: Check) -> Finding:
        evidence = self._evidence[check.id]
        finding = self._judge_evaluation(check, self._evaluate(check), evidence, NO_EXCLUSION)
        if self._lookalikes is None:
            return finding
        return self._lookalikes.name_levels(check, finding, evidence)

    def _judge_evaluation(
        self, check: Check, evaluation: Evaluation, evidence: Evidence, exclusion: Exclusion
    ) -> Finding:
        """The finding of a check, which those who are left out may leave open."""
        missing = [] if self._left_out is None else self._left_out.find_gone(check)
        finding = judge(check, evaluation, evidence, missing)
        doubts = []
        if self._left_out and self._left_out.could_worsen(check, finding.status, exclusion):
            doubts.append(_COULD_WORSEN)
        if self._hidden and self._hidden.could_worsen(check, finding.status, exclusion):
            doubts.append(_HIDDEN)
        return judge(check, evaluation, evidence, missing, doubts) if doubts else finding

    def _leave_open(self, finding: Finding) -> Finding:
        """The finding of a scan, which cannot pass where some of the people are hidden."""
        if self._hidden is None or finding.status not in _NOT_FAILED:
            return finding
        return replace(
            finding,
            status=Status.INCONCLUSIVE,
            why="; ".join(filter(None, (finding.why, _HIDDEN.reason))),
            not_evaluated=(*finding.not_evaluated, _HIDDEN),
        )

    def _judge_subgroups(self, check: SubgroupCheck) -> Finding:
        assert self._searches.subgroups is not None
        finding = judge_subgroups(check, self._searches.subgroups)
        assert finding is not None
        return self._leave_open(finding)

    def _judge_without(self, check: AnyCheck, exclusion: Exclusion) -> Finding | None:
        """The finding of a check without what is excluded; None where nothing else is judged."""
        if isinstance(check, ReversalCheck):
            return None
        if isinstance(check, SubgroupCheck):
            assert self._searches.subgroups is not None
            groups = [crossing.group for crossing in exclusion.values]
            finding = judge_subgroups(check, self._searches.subgroups, groups)
            return finding and self._leave_open(finding)
        evaluation = evaluate_check(check, self._tables, exclusion)
        remaining = waiving.exclude_values(evaluation, exclusion)
        if remaining is None:
            return None
        evidence = self._evidence[check.id]
        if exclusion.groups:
            evidence = extend_family(remaining, evidence)
        return self._judge_evaluation(check, remaining, evidence, exclusion)


def evaluate_check(check: Check, tables: Tables, exclusion: Exclusion = NO_EXCLUSION) -> Evaluation:
    """What a check asks on its table, in which excluded groups take no part."""
    if not exclusion.groups:
        place = (check.by, check.strata, check.of)
        return tables.evaluate(check.asked, place, check.terms, check.against)
    cut = tables.table(check.by, check.strata, check.of, check.against)
    other = None
    if check.against is not None:
        other = tables.table(check.by, check.strata, check.against, check.of)
        other = waiving.exclude_groups(other, exclusion)
    return evaluate_against(check.asked, waiving.exclude_groups(cut, exclusion), check.terms, other)


class _LeftOutRows:
    """Those whom the data has and the cube does not, as checks ask for them."""

    def __init__(self, rows: LeftOut, tables: Tables, spec: Spec) -> None:
        self._rows = rows
        self._tables = tables
        self._rule = spec.exclude_below
        self._wide: dict[frozenset[str], Tables] = {}

    def find_gone(self, check: Check) -> list[NotEvaluated]:
        """The groups that were seen and cannot be judged; of an average in no stratum alone."""
        given = () if check.terms.average else check.given
        return _list_gone(check, self._rows.gone(check.by, given), self._rule)

    def could_worsen(self, check: Check, status: Status, exclusion: Exclusion) -> bool:
        """Whether rows that `others: drop` leaves out could make a check worse than it is."""
        if status not in _NOT_FAILED or not self._rows.others.any():
            return False
        requirements = check.asked.requirements
        label = {"label"} if Requirement.LABEL in requirements else set[str]()
        against = {check.against} if check.against else set[str]()
        needed = frozenset({check.of} | against | label)
        if Requirement.SCORE in requirements and label and self._rows.lacks("label"):
            return True  # histograms know nobody without a label, so no bounds do
        if Requirement.FEATURES in requirements:
            return True  # of whom is left out no features were read
        if needed not in self._wide:
            self._wide[needed] = self._tables.of_cube(self._rows.with_others(needed))
        wide = evaluate_check(check, self._wide[needed], exclusion)
        completions = (
            evaluate_check(check, self._tables.of_cube(cube), exclusion)
            for cube in self._rows.completions(check.by, needed)
        )
        return _could_cross(check, status, wide, completions)


class _HiddenPeople:
    """Those whom sites took out of their counts: of any group and outcome, nobody knows which."""

    def __init__(self, people: int, cube: Cube, tables: Tables, spec: Spec) -> None:
        self._people = people
        self._spec = spec
        self._wide = None if spec.weight else tables.of_cube(cube.with_unknown(people))

    def could_worsen(self, check: Check, status: Status, exclusion: Exclusion) -> bool:
        """Whether they could make a check worse than it is; so they could where no bounds are."""
        if status not in _NOT_FAILED:
            return False
        size = check.terms.minimum.size
        if (
            self._wide is None  # of hidden people no weight is told
            or check.given
            or size is None
            or check.terms.minimum.events is not None
            or self._spec.exclude_below is not None
        ):
            return True
        wide = evaluate_check(check, self._wide, exclusion)
        table = wide.table
        # Groups that do not take part, some of which nobody is left of, might all the same.
        aside = table.known & ~wide.takes_part.any(axis=0)
        largest = max(table.n[:, aside].sum(axis=0).tolist(), default=0)
        if largest + self._people >= size:
            return True
        limits = [check.fail] if status is Status.WARN else [check.fail, check.warn]
        bounded = (may_be_beyond(wide, limit, anywhere=True) for limit in limits if limit)
        return any(is_beyond is not False for is_beyond in bounded)


class _Lookalikes(Frozen):
    """Levels that look like one, and the tables in which they are one."""

    alike: Alike
    tables: Tables

    def name_levels(self, check: Check, finding: Finding, evidence: Evidence) -> Finding:
        """The finding, which names such levels where it would be another one with them joined."""
        names = [name for name in (*check.by, *check.strata) if name in self.alike.levels]
        if not names or {Requirement.SCORE, Requirement.FEATURES} & check.asked.requirements:
            return finding
        evaluation = evaluate_check(check, self.tables)
        status = judge(check, evaluation, extend_family(evaluation, evidence)).status
        if status is finding.status:
            return finding
        reason = (
            f"levels that look alike are counted apart: {self.alike.listed(names)}; joined by "
            f"`merge` or `trim`, its status would be {status}, not {finding.status}"
        )
        joined = NotEvaluated((), (), reason, blocks=False)
        return replace(finding, not_evaluated=(*finding.not_evaluated, joined))


def _list_gone(
    check: Check, gone: Iterable[LostGroup], rule: ExcludeBelow | None
) -> list[NotEvaluated]:
    """The groups that were seen and cannot be judged: they leave the check open.

    Unless the spec would set such a group aside in any case, as too small.
    """
    missing, open_by = list[NotEvaluated](), dict[tuple[Group, str], list[Group]]()
    for lost in gone:
        standing = None
        if rule is not None and lost.share < rule.share:
            standing = Eligibility.EXCLUDED
        elif check.terms.minimum.size is not None and lost.people < check.terms.minimum.size:
            standing = Eligibility.SMALL
        else:
            open_by.setdefault((lost.stratum, lost.why), []).append(lost.group)
            continue
        missing.append(
            NotEvaluated(lost.group, lost.stratum, lost.why, blocks=False, standing=standing)
        )
    for (stratum, why), groups in open_by.items():
        reason = f"in the data and not judged: {describe_groups(groups)} ({why})"
        missing += [NotEvaluated(group, stratum, reason, blocks=True) for group in groups]
    return missing


def _could_cross(
    check: Check, status: Status, wide: Evaluation, completions: Iterable[Evaluation]
) -> bool:
    """Whether people of unknown outcome could make a check that does not fail worse.

    `wide` is the evaluation with them, their outcome unknown; in the `completions` each has one:
    for metrics without bounds, and groups that may only then be large enough.
    """
    open_limits = [check.fail] if status is Status.WARN else [check.fail, check.warn]
    limits = [limit for limit in open_limits if limit is not None]
    bounded = [may_be_beyond(wide, limit) for limit in limits]
    if True in bounded:
        return True
    minimum = check.terms.minimum.size is not None or check.terms.minimum.events is not None
    if None not in bounded and not minimum:
        return False
    return any(_crosses(check, completion, limits) for completion in completions)


def _crosses(check: Check, evaluation: Evaluation, limits: Iterable[Limit]) -> bool:
    entries, _ = collect_entries(check, evaluation)
    return any(limit.is_crossed(entry.value, entry.exact) for entry in entries for limit in limits)

"""Whether rows that `drop` leaves out, or people hidden in counts, leave a check open."""

from __future__ import annotations

from collections.abc import Iterable

from fairaudit.cube import Cube, ExcludeBelow, Group
from fairaudit.evidence.missing_bounds import may_be_beyond
from fairaudit.frozen import replace
from fairaudit.metrics import Evaluation, Requirement, describe_groups
from fairaudit.recode.left_out import LeftOut, LostGroup
from fairaudit.spec import Spec
from fairaudit.tables import Tables, evaluate_check
from fairaudit.verdict import Check, Finding, Limit, NotEvaluated, Status, collect_entries
from fairaudit.waivers import Exclusion

NOT_FAILED = {Status.PASS, Status.WARN}

LEFT_OUT_DOUBT = NotEvaluated(
    (),
    (),
    "rows that `others: drop` leaves out could put it beyond the limit: say of their values what "
    "is `positive` and `negative`, or leave them out by name in `filter`",
    blocks=True,
)

MISSING_DOUBT = NotEvaluated(
    (),
    (),
    "rows that `missing: drop` leaves out have all that this check needs, and with them it is "
    "beyond the limit: say `aside`, which keeps rows wherever that column is not needed",
    blocks=True,
)

HIDDEN_DOUBT = NotEvaluated(
    (),
    (),
    "people whom sites hid in their counts could put it beyond the limit; a rate, or a comparison "
    "of rates, can pass beside them where `min_size` is larger than they are together",
    blocks=True,
)


class LeftOutRows:
    """Those whom the data has and the cube does not, as checks ask for them."""

    def __init__(self, rows: LeftOut, tables: Tables, spec: Spec) -> None:
        self._rows = rows
        self._tables = tables
        self._rule = spec.exclude_below
        self._wide: dict[frozenset[str], Tables] = {}
        self._with_missing = tables.of_cube(rows.with_missing()) if rows.missing.any() else None

    def find_gone(self, check: Check) -> list[NotEvaluated]:
        """The groups that were seen and cannot be judged; of an average in no stratum alone."""
        given = () if check.terms.average else check.given
        return _list_gone(check, self._rows.gone(check.by, given), self._rule)

    def could_worsen(self, check: Check, status: Status, exclusion: Exclusion) -> bool:
        """Whether rows that `others: drop` leaves out could make a check worse than it is."""
        if status not in NOT_FAILED or not self._rows.others.any():
            return False
        requirements = check.metric.requirements
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

    def is_worse_with_missing(self, check: Check, status: Status, exclusion: Exclusion) -> bool:
        """Whether a check is beyond a limit with those who lack only what it does not need.

        Scores and features are counted of all who have them, whatever else a row lacks.
        """
        if status not in NOT_FAILED or self._with_missing is None:
            return False
        if {Requirement.SCORE, Requirement.FEATURES} & check.metric.requirements:
            return False
        evaluation = evaluate_check(check, self._with_missing, exclusion)
        return _crosses(check, evaluation, _open_limits(check, status))


class HiddenPeople:
    """Those whom sites took out of their counts: of any group and outcome, nobody knows which."""

    def __init__(self, people: int, cube: Cube, tables: Tables, spec: Spec) -> None:
        self._people = people
        self._spec = spec
        self._wide = None if spec.weight else tables.of_cube(cube.with_unknown(people))

    def could_worsen(self, check: Check, status: Status, exclusion: Exclusion) -> bool:
        """Whether they could make a check worse than it is; so they could where no bounds are."""
        if status not in NOT_FAILED:
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
        not_compared = table.known & ~wide.takes_part.any(axis=0)
        largest = max(table.n[:, not_compared].sum(axis=0).tolist(), default=0)
        if largest + self._people >= size:
            return True
        limits = _open_limits(check, status)
        bounded = (may_be_beyond(wide, limit, anywhere=True) for limit in limits)
        return any(is_beyond is not False for is_beyond in bounded)

    @staticmethod
    def leave_scan_open(finding: Finding) -> Finding:
        """The finding of a scan, which cannot pass where some of the people are hidden."""
        if finding.status not in NOT_FAILED:
            return finding
        return replace(
            finding,
            status=Status.INCONCLUSIVE,
            why="; ".join(filter(None, (finding.why, HIDDEN_DOUBT.reason))),
            not_evaluated=(*finding.not_evaluated, HIDDEN_DOUBT),
        )


def _list_gone(
    check: Check, gone: Iterable[LostGroup], rule: ExcludeBelow | None
) -> list[NotEvaluated]:
    """The groups that were seen and cannot be judged: they leave the check open.

    Unless the spec would set such a group aside in any case, as too small.
    """
    missing, open_by = list[NotEvaluated](), dict[tuple[Group, str], list[Group]]()
    for lost in gone:
        standing = lost.standing(check.terms.minimum.size, rule)
        if standing is None:
            open_by.setdefault((lost.stratum, lost.why), []).append(lost.group)
        else:
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
    limits = _open_limits(check, status)
    bounded = [may_be_beyond(wide, limit) for limit in limits]
    if True in bounded:
        return True
    minimum = check.terms.minimum.size is not None or check.terms.minimum.events is not None
    if None not in bounded and not minimum:
        return False
    return any(_crosses(check, completion, limits) for completion in completions)


def _open_limits(check: Check, status: Status) -> list[Limit]:
    """The limits that a check which does not fail is within."""
    limits = [check.fail] if status is Status.WARN else [check.fail, check.warn]
    return [limit for limit in limits if limit is not None]


def _crosses(check: Check, evaluation: Evaluation, limits: Iterable[Limit]) -> bool:
    entries, _ = collect_entries(check, evaluation)
    return any(limit.is_crossed(entry.value, entry.exact) for entry in entries for limit in limits)

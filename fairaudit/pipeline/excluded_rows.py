"""Rows that are not in the cube (the table of all counts): dropped, undecided or hidden rows.

A check is open (inconclusive) if these rows could make it worse.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from itertools import chain, combinations
from typing import TypeAlias

import numpy as np

from fairaudit.base.frozen import replace
from fairaudit.cube import Group, Grouping, Marks
from fairaudit.evidence.missing_bounds import list_possible_breaches, may_take_part
from fairaudit.judge import AnyCheck, Check, Finding, NotEvaluated, Status
from fairaudit.judge.judging import worst_status
from fairaudit.judge.left_out import Outsiders
from fairaudit.judge.waivers import Exclusion, exclude_values
from fairaudit.metrics import Evaluation, Metric, Requirement, find_metric, list_requirements
from fairaudit.metrics.reasons import describe_groups
from fairaudit.pipeline.tables.audit import Audit, Tables, evaluate_check

NOT_FAILED = {Status.PASS, Status.SKIPPED, Status.WARN}

MayCross: TypeAlias = Callable[[Evaluation], bool]
"""Says whether a value of an evaluation may be beyond a limit that would make a status worse."""

_doubt = partial(NotEvaluated, (), (), blocks=True)
"""Makes a reason that leaves a whole check open."""

LEFT_OUT_DOUBT = _doubt(
    "rows that `others: drop` leaves out could put it over the limit: say of their values what "
    "is `positive` and `negative`, or leave them out by name in `filter`"
)

UNDECIDED_DOUBT = _doubt(
    "rows that lack a value the filter needs, or have a similar text, could put it over the limit: "
    "decide these rows in the filter, for example `x > 5 or x is null`, `x > 5 and x is not null` "
    "to leave them out, or `x in ('Yes', 'yes')`"
)

HIDDEN_DOUBT = _doubt(
    "people whom sites hid in their counts could put it over the limit; a rate or a comparison of "
    "rates can pass if `min_size` is larger than their number"
)

MASKED_DOUBT = _doubt(
    "the counts that `missing: {masked: …}` hides, of this group or another, could change it: "
    "audit the counts before they were masked"
)

DROPPED_DOUBT = _doubt(
    "`missing: drop` leaves out rows that have everything this check needs, and a report with "
    "`suppress_below` does not show what they would change; write `aside` in place of `drop`"
)
OTHERS_DOUBT = _doubt(
    "`others: drop` leaves out rows, and a report with `suppress_below` does not show what they "
    "could change: say of their values what is `positive` and `negative`, or leave them out by "
    "name in `filter`"
)

MANY_LEFT_OUT_DOUBT = _doubt(
    "more than half of the people or groups, or half of one group, may be left out: include more "
    "of them, or accept that with `accept_left_out`"
)

BASELINE_DOUBT = _doubt(
    "its numbers are hidden, so that it is not compared with the baseline; use the baseline "
    "without `suppress_below`"
)

PUBLISHED_DOUBTS = (DROPPED_DOUBT, OTHERS_DOUBT, MANY_LEFT_OUT_DOUBT, BASELINE_DOUBT)
"""Doubts that do not depend on the number of rows, which the status would reveal otherwise."""

_WORSE = {
    Status.WARN: "warn",
    Status.INCONCLUSIVE: "be inconclusive",
    Status.FAIL: "fail",
}
"""Statuses that are worse than a pass, as part of a sentence after "it would"."""
_LABEL = {Requirement.LABEL, Requirement.NUMERIC_LABEL}
_PREDICTION = {Requirement.PREDICTION, Requirement.CLASSES, Requirement.NUMBER}
_SCORE = {Requirement.SCORE, Requirement.DISTRIBUTION}


class LeftOutRows:
    """The people in the data who are not in the cube, and whether they could change a check."""

    def __init__(self, audit: Audit) -> None:
        assert audit.cubes.left_out is not None
        self._rows = audit.cubes.left_out
        self._tables = audit.tables
        self._models = audit.spec.predictions
        self._rule = audit.spec.exclude_below
        self._is_published = audit.spec.suppress_below is not None
        self._is_weighted = audit.spec.weight is not None
        self._wide: dict[tuple[Grouping, Grouping, frozenset[str], bytes, bool], Tables] = {}
        self._outsiders: dict[tuple[Grouping, Grouping, str, str | None], list[Outsiders]] = {}

    def find_gone(
        self, places: Sequence[tuple[Grouping, Grouping]], least: int | None
    ) -> list[NotEvaluated]:
        """The groups in the data that cannot be judged, for the groupings and strata of `places`.

        Such a group leaves the check open, unless the group is too small to be judged. With several
        places, a group is omitted if a group of fewer columns that contains it is listed.
        """
        missing, open_by = list[NotEvaluated](), dict[tuple[Group, str], list[Group]]()
        found = set[frozenset[tuple[str, str]]]()
        for lost in chain(*(self._rows.gone(by, given) for by, given in places)):
            sizes = range(1, len(lost.group)) if len(places) > 1 else ()
            smaller = chain(*(combinations(lost.group, size) for size in sizes))
            if not found.isdisjoint(map(frozenset, smaller)):
                continue
            found.add(frozenset(lost.group))
            standing = lost.standing(least, self._rule)
            if standing is None:
                open_by.setdefault((lost.stratum, lost.why), []).append(lost.group)
            else:
                small = NotEvaluated(lost.group, lost.stratum, lost.why, blocks=False)
                missing.append(replace(small, standing=standing))
        for (stratum, why), groups in open_by.items():
            reason = f"in the data and not judged: {describe_groups(groups)} ({why})"
            missing += [NotEvaluated(group, stratum, reason, blocks=True) for group in groups]
        return missing

    def list_outsiders(self, by: Grouping, strata: Grouping, check: AnyCheck) -> list[Outsiders]:
        """The people of dropped rows and of undecided rows, in the tables of a grouping."""
        of, score = check.of, None
        if isinstance(check, Check) and (
            check.terms.at is not None
            or Requirement.DISTRIBUTION in list_requirements(check.metric)
        ):
            # The check uses the distribution of a score.
            models = (model for model in self._models if model.name == of)
            score = next(((model.score or model.column).value for model in models), None)
        if (by, strata, of, score) not in self._outsiders:
            self._outsiders[by, strata, of, score] = [
                Outsiders(reason, cube.table((), (), of), cube.table(by, (), of))
                for reason, cube in self._rows.uncounted(strata, score)
            ]
        return self._outsiders[by, strata, of, score]

    def list_doubts(
        self, check: AnyCheck, status: Status, exclusion: Exclusion, may_cross: MayCross
    ) -> Iterator[NotEvaluated]:
        """Reasons that leave a check open, because rows outside the cube could make it worse."""
        if status not in NOT_FAILED:
            return
        if self._rows.others.any() and (
            self._is_published or self._could_worsen(check, exclusion, self._rows.others, may_cross)
        ):
            yield OTHERS_DOUBT if self._is_published else LEFT_OUT_DOUBT
        # In a published report, any undecided row leaves the check open. If only rows that can
        # change the status left it open, the status would reveal the number of undecided rows.
        if self._rows.undecided.any() and (
            self._is_published
            or self._rule is not None
            or self._rows.is_fitted
            or self._could_worsen(
                check, exclusion, self._rows.undecided | self._rows.others, may_cross
            )
        ):
            yield UNDECIDED_DOUBT

    def bound_masked(self, check: Check, exclusion: Exclusion) -> bool:
        """Whether the bounds of a check cover the people that a masked count (`<5`) may hide."""
        own = exclude_values(evaluate_check(check, self._tables, exclusion), exclusion)
        if (
            own is None
            or check.terms.minimum.events is not None
            or self._rule is not None
            or self._rows.is_fitted
            or self._rows.lack_one((*check.by, *check.given), self._rows.masked)
            or may_take_part(own)
        ):
            return False
        wide = self._widen(check, exclusion, self._rows.masked)
        return wide is not None and not may_take_part(wide)

    def _could_worsen(
        self, check: AnyCheck, exclusion: Exclusion, optional: Marks, may_cross: MayCross
    ) -> bool:
        """Whether `optional` rows could make a check worse; True if their effect has no bounds."""
        if not isinstance(check, Check):
            return True
        if (
            check.terms.minimum.events is not None
            or _needs_score(check)
            or Requirement.FEATURES in check.metric.requirements
            or (self._is_weighted and self._rows.count_replacing(optional))
            or self._rows.lack_one((*check.strata,), optional)
        ):
            return True
        wide = self._widen(check, exclusion, optional)
        if wide is not None and (
            (wide.judged & np.isnan(wide.value)).any() or may_take_part(wide) or may_cross(wide)
        ):
            return True
        # Optional rows may make the check worse only together with people of unknown outcome or
        # group. This effect counts only if those people alone cannot make the check worse.
        alone, joint = (
            self._widen(check, exclusion, marks, jointly=True)
            for marks in (np.zeros_like(optional), optional)
        )
        if joint is None:
            return False
        return (may_take_part(joint) and not (alone and may_take_part(alone))) or (
            may_cross(joint) and not (alone and may_cross(alone))
        )

    def _widen(
        self, check: Check, exclusion: Exclusion, optional: Marks, *, jointly: bool = False
    ) -> Evaluation | None:
        """The evaluation of a check with the `optional` rows; None if nothing is judged.

        With `jointly`, the evaluation includes people of unknown outcome or group.
        """
        outcomes = [name for name in (check.of, check.against) if name is not None]
        needed = frozenset(outcomes) | ({"label"} if _LABEL & check.metric.requirements else set())
        strata = (*check.strata,)
        key = (check.by, strata, needed, optional.tobytes(), jointly)
        if key not in self._wide:
            cube = self._rows.with_optional(optional, check.by, strata, needed, jointly=jointly)
            self._wide[key] = self._tables.of_cube(cube)
        return exclude_values(evaluate_check(check, self._wide[key], exclusion), exclusion)


class HiddenPeople:
    """The people whom sites removed from their counts. Their groups and outcomes are unknown."""

    def __init__(self, audit: Audit) -> None:
        self._people = audit.hidden_people
        self._spec = audit.spec
        cube, self._wide = audit.cubes.cube, None
        if audit.spec.weight is None:  # the weights of hidden people are unknown
            self._wide = audit.tables.of_cube(cube.with_unknown(self._people))

    def could_worsen(
        self, check: AnyCheck, status: Status, exclusion: Exclusion, may_cross: MayCross
    ) -> bool:
        """Whether hidden people could make a check worse; True if their effect has no bounds."""
        if status not in NOT_FAILED:
            return False
        if not isinstance(check, Check):
            return True
        size = check.terms.minimum.size
        if (
            self._wide is None
            or check.given
            or size is None
            or check.terms.minimum.events is not None
            or self._spec.exclude_below is not None
        ):
            return True
        wide = evaluate_check(check, self._wide, exclusion)
        table = wide.table
        # With the hidden people, groups that are too small or empty could be large enough.
        not_compared = table.known & ~wide.takes_part.any(axis=0)
        largest = max(table.n[:, not_compared].sum(axis=0).tolist(), default=0)
        if largest + self._people >= size:
            return True
        return may_cross(wide)


def may_cross_limit(evaluation: Evaluation, check: AnyCheck, status: Status) -> bool:
    """Whether a value of a check may be beyond a limit that would make the status worse."""
    assert isinstance(check, Check)
    limits = [check.fail] if status is Status.WARN else [check.fail, check.warn]
    return any(list_possible_breaches(evaluation, limit) != [] for limit in limits if limit)


def find_idle_roles(
    check: AnyCheck, roles: Collection[str], models: Sequence[str]
) -> frozenset[str]:
    """The roles whose columns a check does not need.

    The roles `prediction` and `score` stand for the columns of all `models` together. With several
    models, a row can lack the column of one model only, so these roles are always idle.
    """
    needs, is_alone = find_measure(check).requirements, [check.of] == [*models]
    needs_score = isinstance(check, Check) and _needs_score(check)
    is_cut = isinstance(check, Check) and check.terms.at is not None
    needed = {
        "label": check.of == "label" or bool(needs & _LABEL),
        "prediction": is_alone and bool(needs & _PREDICTION) and not is_cut,
        "score": is_alone and needs_score,
    }
    return frozenset(role for role in roles if not needed.get(role))


def find_measure(check: AnyCheck) -> Metric:
    """The metric of a check, or the rate of a search."""
    metric = check.metric if isinstance(check, Check) else find_metric(check.rate)
    assert metric is not None
    return metric


def _needs_score(check: Check) -> bool:
    """Whether a check needs the score for its metric, or for a threshold."""
    return check.terms.at is not None or bool(check.metric.requirements & _SCORE)


def downgrade_if_worse(
    finding: Finding, kept: Finding, rules: Sequence[str], failing: Collection[Status]
) -> Finding:
    """The finding, downgraded if it is worse with the rows that `missing: drop` leaves out.

    `kept` is the finding that counts these rows. `rules` are the keys of `missing` that drop rows
    for columns that the check does not need. If `kept` fails the run or is open, the result is
    open; if it warns, the result warns. A `failing` status does not change.
    """
    if kept.missing is not None and kept.missing.may_turn:
        finding = replace(finding, missing=kept.missing)
    if (
        not rules
        or kept.status not in _WORSE
        or worst_status(finding.status, kept.status) is finding.status
    ):
        return finding
    dropping = ", ".join(f"{rule}: drop" for rule in rules)
    reason = (
        f"it would {_WORSE[kept.status]} if `missing: {{{dropping}}}` did not leave out rows; "
        "write `aside` in place of `drop`"
    )
    is_open = kept.status in {Status.INCONCLUSIVE, *failing} and finding.status not in failing
    return replace(
        finding,
        status=Status.INCONCLUSIVE if is_open else Status.WARN,
        why="; ".join(filter(None, (finding.why, reason))),
        not_evaluated=(*finding.not_evaluated, NotEvaluated((), (), reason, blocks=is_open)),
    )

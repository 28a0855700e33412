"""Suppression: the counts that each row of a report is computed from, and could reveal."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import reduce
from itertools import combinations, product
from operator import or_

import numpy as np

from fairaudit.base.arrays import has_small
from fairaudit.base.frozen import Frozen, replace
from fairaudit.cube import Group, Grouping, Marks, ShareOf
from fairaudit.evidence.appearances import Appearance
from fairaudit.judge import Check
from fairaudit.judge.simpson import Reversal
from fairaudit.metrics import (
    Disparity,
    GroupMetric,
    Metric,
    Requirement,
    TableMetric,
    find_metric,
    list_quantities,
    list_requirements,
)
from fairaudit.metrics.scores import SCORING_RATE
from fairaudit.metrics.terms import POOLED_REFERENCES, ReferencePolicy
from fairaudit.pipeline.suppress.cell_sets import CellSets, ScoreSource
from fairaudit.pipeline.suppress.protection import Pieces, PrintedItem
from fairaudit.result.rows import ComparisonRow, LatticeEntry, LatticeRow, RateRow
from fairaudit.spec import MetricRequest, Spec

Number = GroupMetric | TableMetric

_OF_SCORE = {Requirement.SCORE, Requirement.DISTRIBUTION}
_OF_NUMBERS = {Requirement.NUMBER, Requirement.NUMERIC_LABEL, Requirement.NUMERIC_ATTRIBUTE}


class Value(Frozen):
    """A number of a report: its metrics, its table, and the groups that it is computed from.

    `groups` are the compared groups; None means all groups that take part. `stratum=None` means all
    strata. `wide` is set if the number depends on all people of the table, even of groups that do
    not take part. `everybody` is set if it depends on the totals of the stratum. `pairs` is set if
    each group is compared with a group that the spec names. `cut` is set if the number depends on a
    cut of the score.
    """

    metrics: tuple[Number, ...]
    of: str
    by: Grouping
    given: Grouping = ()
    stratum: Group | None = ()
    groups: tuple[Group, ...] | None = None
    wide: bool = False
    everybody: bool = False
    pairs: bool = False
    of_class: str | None = None
    against: str | None = None
    cut: bool = False

    @property
    def needs(self) -> frozenset[Requirement]:
        """The requirements of all its metrics together."""
        return frozenset().union(*map(list_requirements, self.metrics))

    def widen(self) -> Value:
        """The value with all people of the table instead of some groups."""
        return replace(self, groups=None, wide=True)


class Support:
    """Finds the counts that the rows of a result depend on, as the numbers of sets of cells.

    A comparison does not depend on a group below `min_size`. But readers of the comparison know
    that the group has fewer people, a bound that the proof must respect. If the bound alone shows
    that a group is small, the comparison counts as dependent on the group, and is hidden.
    """

    def __init__(
        self, cells: CellSets, scores: Collection[ScoreSource], spec: Spec, threshold: int
    ) -> None:
        self.cells = cells
        self.scores = scores
        self.excluding = spec.exclude_below
        self.most = (spec.minimum.size or 0) - 1
        self.threshold = threshold
        self.shown = spec.requests
        self.is_small = has_small(cells.people, threshold)
        self.few_above_a_cut = False
        self.hides_people = True
        self._items: dict[tuple[Value, ...], PrintedItem | None] = {}
        # If some people lack a number, sums and counts are about different people.
        self.incomplete = {
            of
            for of, lacking in cells.lacking
            if self.is_small
            or has_small(lacking, threshold)
            or has_small(cells.people - lacking, threshold)
        }
        self.hides_values = self.is_small or bool(self.incomplete)

    def item_of(self, values: tuple[Value, ...]) -> PrintedItem | None:
        """The printed item of a number that is one of these values; None if the number is hidden.

        Items are cached, because rows that depend on all groups of a table have the same item.
        """
        if values not in self._items:
            item = None
            if values and all(map(self.is_printable, values)):
                pieces = filter(None, map(self.pieces_of_value, values))
                item = PrintedItem(
                    frozenset().union(*map(self.counts_of_value, values)),
                    max(len(value.by) + len(value.given) for value in values),
                    frozenset().union(*pieces),
                )
            self._items[values] = item
            self.hides_values |= bool(values) and item is None
        return self._items[values]

    def is_printable(self, value: Value) -> bool:
        """Whether a value may be printed if its counts may be printed.

        It may not be printed if it reveals other numbers: sums over fewer people than the counts,
        or counts by a cut of the score, by the controls of a fit or by two outcomes.
        """
        outcomes = {value.of, value.against}
        if value.needs & (_OF_SCORE | _OF_NUMBERS) and outcomes & self.incomplete:
            return False
        if not all(score.is_whole for score in self._scores_of(value, also_cut=True)):
            return False
        if self.pieces_of_value(value) is None:
            return False
        if value.cut and (self.is_small or self.few_above_a_cut):
            return False
        return bool(value.metrics) or not self.is_small

    def counts_of_value(self, value: Value) -> frozenset[int]:
        """The counts that a value depends on."""
        sets = [*self._sets_of_value(value)]
        counts = self.counts_of_excluded(value.by, value.groups) | self.cells.register_all(sets)
        if self.cells.is_weighted or value.needs & _OF_NUMBERS:
            # Readers who know the weights or numbers of single people have one more equation.
            counts |= self.cells.register_each(reduce(or_, sets, ~self.cells.all_cells))
        for score in self._scores_of(value):
            counts |= frozenset().union(*map(score.counts_of, sets))
        return counts

    def pieces_of_value(self, value: Value) -> Pieces | None:
        """The pieces of scores that a value depends on; None if the pieces are unknown."""
        found: Pieces = frozenset()
        for score in self._scores_of(value):
            of_sets = [*map(score.pieces_of, self._sets_of_value(value))]
            if of_sets and not any(pieces is not None for pieces in of_sets):
                return None
            found = found.union(*filter(None, of_sets))
        return found

    def _scores_of(self, value: Value, *, also_cut: bool = False) -> list[ScoreSource]:
        """The scores that a value is computed from; with `also_cut`, also scores that cut it."""
        if not (value.needs & _OF_SCORE or (also_cut and value.cut)):
            return []
        outcomes = {value.of, value.against}
        return [score for score in self.scores if outcomes.intersection(score.outcomes)]

    def _sets_of_value(self, value: Value) -> Iterator[Marks]:
        """The cells that each metric counts, outcome by outcome and stratum by stratum."""
        inside = self.cells.taking_part(value.by, value.given) & self.cells.applicable(value.of)
        if value.against is not None:
            for of in (value.of, value.against):
                inside = inside & self.cells.known_outcome(of)
        by_stratum = self.cells.group_cells(value.given)
        if value.stratum is not None:
            strata = [by_stratum.within(value.stratum)]
        else:
            strata = by_stratum.each(with_unknown=value.wide)
        groups = self.cells.group_cells(value.by)
        known = groups.of_known
        if value.groups is not None:
            members = [groups.within(group) for group in value.groups]
        else:
            members = groups.each(with_unknown=value.wide)
        outcomes = dict.fromkeys([value.of, value.against or value.of])
        for of, metric, stratum in product(outcomes, value.metrics, strata):
            regions = self.cells.metric_cells(metric, of, value.of_class)
            there = inside & stratum
            for cells in (there & group for group in members):
                taking_part = cells if regions.small is None else cells & regions.small
                is_too_small = (
                    not (value.wide or value.groups is not None or regions.has_all_groups)
                    and self.cells.total(taking_part) <= self.most
                    # A cell may have `threshold` people if all other cells have one person.
                    and np.count_nonzero(taking_part) + self.threshold - 1 <= self.most
                )
                if is_too_small:
                    self.cells.bound(taking_part, self.most)
                else:
                    # If a group is hidden, no count of it is printed, not even a 0.
                    yield from (cells & region for region in (cells, *regions.own))
            totals = regions.everybody
            if value.everybody or value.wide:
                # The difference from the known groups would show the people of unknown group.
                totals = (*totals, *regions.own, known, *(region & known for region in regions.own))
            yield from (there & region for region in totals)

    def counts_of_excluded(
        self, by: Grouping, groups: Iterable[Group] | None = None
    ) -> frozenset[int]:
        """The counts that decide which of these `groups` are excluded; None means all groups.

        The counts are the people of each group in all strata, and all people that shares refer to.
        """
        if self.excluding is None:
            return frozenset()
        cells_by_group = self.cells.group_cells(by)
        is_of_known = self.excluding.of is ShareOf.KNOWN
        everybody = cells_by_group.of_known if is_of_known else self.cells.all_cells
        members = map(cells_by_group.within, cells_by_group.groups if groups is None else groups)
        return self.cells.register_all([everybody, *members])

    def cells_of(self, by: Grouping, of: str, stratum: Group, group: Group | None) -> Marks:
        """Marks the cells that an outcome counts in a stratum and a group (None: all groups)."""
        given = tuple(name for name, _ in stratum)
        marks = self.cells.taking_part(by) & self.cells.group_cells(given).within(stratum)
        marks &= self.cells.applicable(of)
        return marks if group is None else marks & self.cells.group_cells(by).within(group)

    def rate_values(self, row: RateRow, group: Group) -> list[Value]:
        """The values that may be the rate of a group, by request; averages are over all strata."""
        values = []
        of_class = row.parameters.get("class")
        for shown in self.shown:
            request = shown.in_class(None if of_class is None else str(of_class))
            numbers = [
                number
                for number in _numbers(request.metric)
                if number.id == row.metric and request.options_of(number) == row.parameters
            ]
            if request.of != row.of or not numbers:
                continue
            value = Value(
                metrics=tuple(numbers),
                of=row.of,
                by=row.by,
                given=tuple(name for name, _ in row.stratum),
                stratum=row.stratum,
                groups=(group,),
                of_class=request.terms.of_class,
                cut=request.terms.at is not None or SCORING_RATE in numbers,
            )
            if request.terms.average is not None or any(number.conditional for number in numbers):
                wide = replace(value.widen(), stratum=None)
                own = [row.averaged] if row.averaged else request.given
                values += [replace(wide, given=given) for given in own if given in request.given]
            else:
                values.append(value)
        return list(dict.fromkeys(values))

    def is_named(self, reference: Group, by: Grouping) -> bool:
        """Whether the spec names this group as a reference, so that it is not chosen by size."""
        return any(
            one is not None and {*one.group} == {*reference}
            for request in self.shown
            for one in (request.references.get(by), request.declared.get(by))
        )

    def comparison_values(self, row: ComparisonRow) -> list[Value]:
        """The values of a comparison of groups, for each request that it may belong to."""
        given = row.averaged or tuple(name for name, _ in row.stratum)
        values = []
        for request in self.shown:
            identity = request.metric.id, request.metric.title, request.of
            if identity != (row.metric, row.title, row.of) or request.options != row.parameters:
                continue
            value = _value_under(request, row.by, given)
            if value.wide:
                values.append(replace(value, stratum=None))
                continue
            # The comparison of a pair depends only on its two groups.
            is_pair = value.pairs and row.group is not None
            groups = (row.first, row.second) if is_pair else None
            stratum = None if row.averaged else row.stratum
            values.append(replace(value, stratum=stratum, groups=groups))
        return values

    def entry_values(self, row: LatticeRow, entry: LatticeEntry) -> list[Value]:
        """The values that may be the lattice entry, by request: an entry stores no parameters."""
        return [
            _value_under(request, row.by, ())
            for request in self.shown
            if (request.metric.id, request.of) == (entry.metric, entry.of)
            and request.given == ((),)
        ]

    def appearance_values(self, appearance: Appearance) -> list[Value]:
        """The rate of a group in which a gap first appears, and the rates of its parents."""
        rate = find_metric(appearance.metric)
        assert isinstance(rate, GroupMetric)
        return [
            Value(
                metrics=(rate,),
                of=appearance.of,
                by=tuple(name for name, _ in group),
                groups=(group,),
                everybody=True,
                of_class=appearance.of_class,
            )
            for group in (appearance.group, *(parent.group for parent in appearance.parents))
        ]

    def check_value(self, check: Check) -> Value:
        """The value of a check, over all groups and strata that take part."""
        return replace(_value_under(check, check.by, check.given), stratum=None)

    def plain_value(self, name: str, of: str, by: Grouping) -> Value:
        """The value of a metric over all groups, without options."""
        return Value(_numbers(find_metric(name)), of, by)

    def counts_of_reversal(self, reversal: Reversal) -> frozenset[int]:
        """The counts of the rates of a pair, in all strata together and in each stratum.

        Whether a reversal is listed also depends on strata by fewer of its conditioning columns, so
        the counts of these strata are added.
        """
        by = (reversal.attribute,)
        groups = tuple(((reversal.attribute, level),) for level in reversal.pair)
        alone = replace(self.plain_value(reversal.rate, reversal.of, by), groups=groups)
        within = [
            replace(alone, given=reversal.given, stratum=stratum.stratum)
            for stratum in reversal.strata
        ]
        fewer = [
            replace(alone, given=given, stratum=None)
            for size in range(1, len(reversal.given))
            for given in combinations(reversal.given, size)
        ]
        return frozenset().union(*map(self.counts_of_value, [alone, *within, *fewer]))


def _value_under(asked: Check | MetricRequest, by: Grouping, given: Grouping) -> Value:
    metric, terms, against = asked.metric, asked.terms, asked.against
    numbers = _numbers(metric)
    is_cut = terms.at is not None or SCORING_RATE in numbers or against is not None
    own, requested = None, terms.reference and terms.reference.policy
    # A value is wide if it depends on more than the rates of its groups.
    is_wide = terms.average is not None or metric.conditional
    if isinstance(metric, Disparity):
        own = metric.reference
        # Counts by the controls of a fit, and by two outcomes, are finer than the groups.
        is_cut |= metric.fitted
        is_wide |= bool(metric.averages)
        is_wide |= any(rate.conditional or gap.contrast is not None for rate, gap in metric.parts)
    policies = {policy for policy in (own, requested) if policy is not None}
    return Value(
        metrics=numbers,
        of=asked.of,
        by=by,
        given=given,
        wide=is_wide or ReferencePolicy.EVERYBODY in policies,
        everybody=bool(policies & POOLED_REFERENCES),
        # All groups together decide which group is the largest or the highest.
        pairs=policies <= {ReferencePolicy.DECLARED, ReferencePolicy.LEVEL},
        of_class=terms.of_class,
        against=against,
        cut=is_cut,
    )


def _numbers(metric: Metric | None) -> tuple[Number, ...]:
    return () if metric is None else list_quantities(metric)

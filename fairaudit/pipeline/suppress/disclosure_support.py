"""Suppression: which counts each row of a report rests on, and so would reveal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import combinations
from operator import or_

from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.notice import NoticeRate
from fairaudit.base.small_counts import has_small
from fairaudit.cube import ExcludeBelow, Group, Grouping, Marks, ShareOf
from fairaudit.evidence.appearances import Appearance
from fairaudit.judge import Check
from fairaudit.judge.simpson import Reversal
from fairaudit.metrics import (
    Disparity,
    GroupMetric,
    Metric,
    Reference,
    ReferencePolicy,
    Requirement,
    TableMetric,
    Terms,
    find_metric,
    list_quantities,
    list_requirements,
)
from fairaudit.metrics.formulas import Formula
from fairaudit.metrics.terms import POOLED_REFERENCES
from fairaudit.pipeline.suppress.cell_sets import CellSets, MetricCells
from fairaudit.pipeline.suppress.protection import Pieces, PrintedItem
from fairaudit.pipeline.suppress.scores import ScoreSets
from fairaudit.result import (
    ComparisonRow,
    EpsilonReading,
    GroupRow,
    LatticeEntry,
    LatticeRow,
    RateRow,
)
from fairaudit.spec import MetricRequest

Number = GroupMetric | TableMetric

_OF_SCORE = {Requirement.SCORE, Requirement.DISTRIBUTION}
_OF_NUMBERS = {Requirement.NUMBER, Requirement.NUMERIC_LABEL, Requirement.NUMERIC_ATTRIBUTE}


class Value(Frozen):
    """A number of a report: its metrics, its table, and the groups it is computed from.

    `groups` are those it compares, None for all that take part; `stratum` is None for all of them.
    `wide`: it is computed from everybody in the table, whoever takes part; `everybody`: from the
    totals of the stratum. `pairs`: each group is compared with one that the spec names. `cut`: it
    depends on a cut of the score.
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
        """What its metrics are computed from."""
        return frozenset().union(*map(list_requirements, self.metrics))

    def widen(self) -> Value:
        """The same number computed from everybody in the table."""
        return replace(self, groups=None, wide=True)


class Support:
    """Finds the counts that support the rows of one result, as the numbers of sets of cells.

    A group too small for `min_size` supports no comparison; that holds only where `min_size` is no
    less than the threshold, else the groups that take part would reveal which ones are small.
    """

    def __init__(
        self,
        cells: CellSets,
        scores: ScoreSets,
        min_size: int | None,
        excluding: ExcludeBelow | None,
        threshold: int,
        shown: tuple[MetricRequest, ...],
    ) -> None:
        self.cells = cells
        self.scores = scores
        self.excluding = excluding
        self.min_size = min_size if min_size is not None and min_size >= threshold else None
        self.shown = shown
        self.is_small = has_small(cells.people, threshold)
        self.few_above_a_cut = False
        self._items: dict[tuple[Value, ...], PrintedItem | None] = {}
        # Where a number is not known of some people, sums and counts are of different people.
        self.incomplete = {
            of
            for of, lacking in cells.lacking
            if self.is_small
            or has_small(lacking, threshold)
            or has_small(cells.people - lacking, threshold)
        }

    def item_of(self, values: tuple[Value, ...]) -> PrintedItem | None:
        """What a number prints, whichever of these values it is; None where it may not be printed.

        All rows of a table that depend on all of its groups print one item, which is made once.
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
        return self._items[values]

    def is_printable(self, value: Value) -> bool:
        """Whether a value may be printed once its counts may.

        Sums over fewer people than the counts, and counts by a cut on the score, by the controls of
        a fit or by two outcomes, are not those of its groups: what they reveal is not known.
        """
        outcomes = {value.of, value.against}
        if value.needs & (_OF_SCORE | _OF_NUMBERS) and outcomes & self.incomplete:
            return False
        columns = self._scores_of(value, also_cut=True)
        if not all(map(self.scores.is_whole, columns)):
            return False
        if self.pieces_of_value(value) is None:
            return False
        if value.cut and (self.is_small or self.few_above_a_cut):
            return False
        return bool(value.metrics) or not self.is_small

    def counts_of_value(self, value: Value) -> frozenset[int]:
        """The counts that support a value."""
        sets = [*self._sets_of_value(value)]
        counts = self.counts_of_excluded(value.by, value.groups) | self.cells.register_all(sets)
        if self.cells.is_weighted or value.needs & _OF_NUMBERS:
            # Who knows the weight or the number of the people in each cell has one equation more.
            counts |= self.cells.register_each(reduce(or_, sets, ~self.cells.all_cells))
        for column in self._scores_of(value):
            counts |= frozenset().union(*(self.scores.counts_of(column, marks) for marks in sets))
        return counts

    def pieces_of_value(self, value: Value) -> Pieces | None:
        """The pieces of scores that a value is made of; None where they are not known."""
        found: Pieces = frozenset()
        for column in self._scores_of(value):
            of_sets = [self.scores.pieces_of(column, marks) for marks in self._sets_of_value(value)]
            if of_sets and not any(pieces is not None for pieces in of_sets):
                return None
            found = found.union(*filter(None, of_sets))
        return found

    def _scores_of(self, value: Value, *, also_cut: bool = False) -> set[str]:
        """The columns of the scores that a value is computed from, or by a cut on them."""
        if not (value.needs & _OF_SCORE or (also_cut and value.cut)):
            return set()
        return {*filter(None, map(self.scores.column_of, (value.of, value.against)))}

    def _sets_of_value(self, value: Value) -> Iterator[Marks]:
        for of in dict.fromkeys([value.of, value.against or value.of]):
            for metric in value.metrics:
                regions = self.cells.metric_cells(metric, of, value.of_class)
                for inside in self._strata(value):
                    yield from self._in_stratum(value, regions, inside)

    def counts_of_excluded(
        self, by: Grouping, groups: Iterable[Group] | None = None
    ) -> frozenset[int]:
        """The counts that decide which of these groups are excluded, None for all of them.

        Their people in all strata, and the people that these are a share of.
        """
        if self.excluding is None:
            return frozenset()
        cells_by_group = self.cells.group_cells(by)
        is_of_known = self.excluding.of is ShareOf.KNOWN
        everybody = cells_by_group.of_known if is_of_known else self.cells.all_cells
        members = map(cells_by_group.within, cells_by_group.groups if groups is None else groups)
        return self.cells.register_all([everybody, *members])

    def _strata(self, value: Value) -> Iterator[Marks]:
        inside = self.cells.taking_part(value.by, value.given)
        if value.against is not None:
            for of in (value.of, value.against):
                inside = inside & self.cells.known_outcome(of)
        strata = self.cells.group_cells(value.given)
        if value.stratum is not None:
            yield inside & strata.within(value.stratum)
            return
        yield from (inside & cells for cells in strata.each(with_unknown=value.wide))

    def _in_stratum(self, value: Value, regions: MetricCells, inside: Marks) -> Iterator[Marks]:
        cells_by_group = self.cells.group_cells(value.by)
        if value.groups is not None:
            members = [cells_by_group.within(group) for group in value.groups]
        else:
            members = cells_by_group.each(with_unknown=value.wide)
        for cells in (inside & group for group in members):
            if value.wide or value.groups is not None or not self._is_too_small(cells, regions):
                # Nothing is published of a hidden group: not even that it has no positive.
                yield from (cells & region for region in (cells, *regions.own))
        totals = regions.everybody
        if value.everybody or value.wide:
            # The rest is of known groups; beside everybody it would tell how many are not known.
            known = cells_by_group.of_known
            totals = (*totals, *regions.own, known, *(region & known for region in regions.own))
        yield from (inside & region for region in totals)

    def _is_too_small(self, cells: Marks, regions: MetricCells) -> bool:
        """Whether a group is too small to take part."""
        if regions.has_all_groups:
            return False
        taking_part = cells if regions.small is None else cells & regions.small
        return self.min_size is not None and self.cells.total(taking_part) < self.min_size

    def cells_of(self, by: Grouping, stratum: Group, group: Group | None) -> Marks:
        """The cells of a group in a stratum, or of everybody there."""
        given = tuple(name for name, _ in stratum)
        marks = self.cells.taking_part(by) & self.cells.group_cells(given).within(stratum)
        return marks if group is None else marks & self.cells.group_cells(by).within(group)

    def known_cells(self, row: GroupRow) -> Marks:
        """Those a share is taken of: everybody in the stratum whose group is known."""
        known = self.cells.group_cells(row.by).of_known
        return self.cells_of(row.by, row.stratum, None) & known

    def rate_values(self, row: RateRow, group: Group) -> list[Value]:
        """The rate of one group; over all strata that the spec may mean where it is an average."""
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
                cut=request.terms.at is not None or _cuts_score(numbers),
            )
            if request.terms.average is not None or any(number.conditional for number in numbers):
                wide = replace(value.widen(), stratum=None)
                own = [row.averaged] if row.averaged else request.given
                values += [replace(wide, given=given) for given in own if given in request.given]
            else:
                values.append(value)
        return list(dict.fromkeys(values))

    def is_named(self, reference: Group, by: Grouping) -> bool:
        """Whether the spec names this group as a reference; others are chosen by their size."""
        return any(
            one is not None and {*one.group} == {*reference}
            for request in self.shown
            for one in (request.references.get(by), request.declared.get(by))
        )

    def comparison_values(self, row: ComparisonRow) -> list[Value]:
        """A comparison of groups: every request of the spec that it may answer."""
        given = row.averaged or tuple(name for name, _ in row.stratum)
        stratum = None if row.averaged else row.stratum
        return [
            _compared(self._request_value(request, row.by, given), stratum, row)
            for request in self.shown
            if (request.metric.id, request.metric.title, request.of)
            == (row.metric, row.title, row.of)
            and request.options == row.parameters
        ]

    def entry_values(self, row: LatticeRow, entry: LatticeEntry) -> list[Value]:
        """An entry of the lattice, by the requests of the spec: it has no parameters itself."""
        return [
            self._request_value(request, row.by, ())
            for request in self.shown
            if (request.metric.id, request.of) == (entry.metric, entry.of)
            and request.given == ((),)
        ]

    def appearance_values(self, appearance: Appearance) -> list[Value]:
        """Where a gap first appears: the group, each group it is part of, and everybody."""
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

    def _request_value(self, request: MetricRequest, by: Grouping, given: Grouping) -> Value:
        return _value_under(request.metric, request.terms, request.of, by, given, request.against)

    def check_value(self, check: Check) -> Value:
        """The value of a check: of everybody who takes part, in every stratum."""
        value = _value_under(
            check.metric, check.terms, check.of, check.by, check.given, check.against
        )
        return replace(value, stratum=None)

    def epsilon_value(self, row: EpsilonReading) -> Value:
        """The differential fairness of the full intersection."""
        metric = find_metric("differential_fairness")
        return Value(_numbers(metric), row.of, row.by)

    def notice_value(self, rate: NoticeRate) -> Value:
        """A rate that a notice mentions."""
        metric = find_metric(rate.rate)
        assert isinstance(metric, GroupMetric)
        return Value((metric,), rate.of, rate.by)

    def counts_of_reversal(self, reversal: Reversal) -> frozenset[int]:
        """The rates of a pair, in all strata together and in each.

        Given several columns, those given fewer of them, too: a reversal that these show as
        strongly is not listed.
        """
        by, rate = (reversal.attribute,), find_metric(reversal.rate)
        groups = tuple(((reversal.attribute, level),) for level in reversal.pair)
        alone = Value(_numbers(rate), reversal.of, by, groups=groups)
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


def _value_under(
    metric: Metric, terms: Terms, of: str, by: Grouping, given: Grouping, against: str | None
) -> Value:
    """The value of a metric under the terms of a check or a request."""
    numbers, policies = _numbers(metric), _policies(metric, terms.reference)
    is_cut = terms.at is not None or _cuts_score(numbers)
    # Counts by the controls of a fit, and by both outcomes of the same people, are finer, too.
    is_cut |= against is not None or (isinstance(metric, Disparity) and metric.fitted)
    return Value(
        metrics=numbers,
        of=of,
        by=by,
        given=given,
        wide=terms.average is not None or _is_wide(metric, terms.reference),
        everybody=bool(policies & POOLED_REFERENCES),
        # Which group is the largest depends on all groups, as which is the highest does.
        pairs=policies <= {ReferencePolicy.DECLARED, ReferencePolicy.LEVEL},
        of_class=terms.of_class,
        against=against,
        cut=is_cut,
    )


def _numbers(metric: Metric | None) -> tuple[Number, ...]:
    return () if metric is None else list_quantities(metric)


def _compared(value: Value, stratum: Group | None, row: ComparisonRow) -> Value:
    """The value of one row: where two groups are compared, of these two alone."""
    if value.wide:
        return replace(value, stratum=None)
    is_pair = value.pairs and row.group is not None
    groups = (row.first, row.second) if is_pair else None
    return replace(value, stratum=stratum, groups=groups)


def _policies(metric: Metric, reference: Reference | None) -> set[ReferencePolicy]:
    """The references of a metric: that of the spec, and that of its definition."""
    own = metric.reference if isinstance(metric, Disparity) else None
    requested = None if reference is None else reference.policy
    return {policy for policy in (own, requested) if policy is not None}


def _is_wide(metric: Metric, reference: Reference | None) -> bool:
    """Whether a metric is computed from more than the rates of its groups."""
    if metric.conditional or ReferencePolicy.EVERYBODY in _policies(metric, reference):
        return True
    if not isinstance(metric, Disparity):
        return False
    contrasts = any(disparity.contrast is not None for _, disparity in metric.parts)
    conditional = any(quantity.conditional for quantity, _ in metric.parts)
    return contrasts or conditional or bool(metric.averages)


def _cuts_score(numbers: Iterable[Number]) -> bool:
    return any(isinstance(number, Formula) and number.cuts_score for number in numbers)

"""What every row of a result is made of: the counts from which its numbers can be computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from fairaudit.cube import ExcludeBelow, Group, Grouping, Marks, ShareOf
from fairaudit.disclosure import NoticeRate
from fairaudit.evidence.appearances import Appearance
from fairaudit.metrics import (
    Disparity,
    GroupMetric,
    Metric,
    Reference,
    ReferencePolicy,
    TableMetric,
    find_metric,
)
from fairaudit.metrics.terms import POOLED_REFERENCES, SINGLE_REFERENCES
from fairaudit.result import (
    ComparisonRow,
    EpsilonReading,
    GroupRow,
    LatticeEntry,
    LatticeRow,
    RateRow,
)
from fairaudit.simpson import Reversal
from fairaudit.spec import MetricRequest
from fairaudit.suppress.cells import Cells, Regions, has_few
from fairaudit.verdict import Check

_CUT_BY_SCORE = "scoring_rate"

Number = GroupMetric | TableMetric


@dataclass(frozen=True, slots=True)
class Value:
    """A number of a report: of which quantities, in which table, and of whom it is made.

    `groups` are those it compares, None for all that take part; `stratum` is None for all of them.
    `wide`: everybody in the table stands behind it, whoever takes part; `everybody`: the totals of
    the stratum do. `pairs`: each group is compared with one other. `cut`: by a cut on the score.
    """

    asked: tuple[Number, ...]
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


class Support:
    """Says what the rows of one result are made of, as the numbers of sets of cells.

    A group too small for `min_size` stands behind no comparison; that is only believed where
    `min_size` is no less than the threshold, else who takes part would tell who is small.
    """

    def __init__(
        self,
        cells: Cells,
        min_size: int | None,
        excluding: ExcludeBelow | None,
        threshold: int,
        shown: tuple[MetricRequest, ...],
    ) -> None:
        self.cells = cells
        self.excluding = excluding
        self.min_size = min_size if min_size is not None and min_size >= threshold else None
        self.shown = shown
        self.is_small = bool((cells.people < threshold).any())
        self.few_above_a_cut = False
        # Some of whom the number is not known: then sums are over others than counts.
        self.incomplete = {
            of
            for of, lacking in cells.lacking
            if self.is_small
            or has_few(lacking, threshold)
            or has_few(cells.people - lacking, threshold)
        }

    def printable(self, value: Value) -> bool:
        """Whether a value may be printed at all, once its counts may.

        Sums over fewer people than the counts know of, and counts by a cut on the score, by the
        controls of a fit or by two outcomes, are not those of its groups: nobody can tell what they
        give away.
        """
        outcomes = {value.of, value.against}
        if self.cells.numeric(value.asked) and outcomes & self.incomplete:
            return False
        if value.cut and (self.is_small or self.few_above_a_cut):
            return False
        return bool(value.asked) or not self.is_small

    def of_value(self, value: Value) -> frozenset[int]:
        """The counts behind a value."""
        found: set[int | None] = {*self.excluded_of(value.by, value.groups)}
        for of in dict.fromkeys([value.of, value.against or value.of]):
            for asked in value.asked:
                regions = self.cells.regions(asked, of, value.of_class)
                for inside in self._strata(value):
                    found |= set(self._in_stratum(value, regions, inside))
        return frozenset(one for one in found if one is not None)

    def excluded_of(self, by: Grouping, groups: Iterable[Group] | None = None) -> frozenset[int]:
        """The counts that say which of these groups are excluded, None for all of them.

        Their people in all strata, and those that these are a share of.
        """
        if self.excluding is None:
            return frozenset()
        crowds = self.cells.crowds(by)
        known = np.isin(crowds.of_cell, np.flatnonzero(crowds.known))
        everybody = known if self.excluding.of is ShareOf.KNOWN else self.cells.everything
        each = map(crowds.within, crowds.groups if groups is None else groups)
        return self.of_marks(everybody, *each)

    def _strata(self, value: Value) -> Iterator[Marks]:
        inside = self.cells.inside(value.by, value.given)
        if value.against is not None:
            for of in (value.of, value.against):
                inside = inside & self.cells.known_outcome(of)
        strata = self.cells.crowds(value.given)
        if value.stratum is not None:
            yield inside & strata.within(value.stratum)
            return
        for z, known in enumerate(strata.known.tolist()):
            if known or value.wide:
                yield inside & (strata.of_cell == z)

    def _in_stratum(self, value: Value, regions: Regions, inside: Marks) -> Iterator[int | None]:
        crowds = self.cells.crowds(value.by)
        if value.groups is not None:
            each = [inside & crowds.within(group) for group in value.groups]
        else:
            each = [
                inside & (crowds.of_cell == g)
                for g, known in enumerate(crowds.known.tolist())
                if known or value.wide
            ]
        for mine in each:
            if value.wide or value.groups is not None or not self._stands_aside(mine, regions):
                # Of a group that is hidden nothing is told: not even that it has no positive.
                yield from (self.cells.count(mine & one) for one in (mine, *regions.own))
        totals = regions.everybody
        if value.everybody or value.wide:
            totals = (*totals, *regions.own)
        yield from (self.cells.count(inside & region) for region in totals)

    def _stands_aside(self, mine: Marks, regions: Regions) -> bool:
        """Whether a group is too small to take part."""
        counted = mine if regions.small is None else mine & regions.small
        return self.min_size is not None and self.cells.total(counted) < self.min_size

    def of_marks(self, *several: Marks) -> frozenset[int]:
        """The numbers of sets of cells."""
        counts = map(self.cells.count, several)
        return frozenset(one for one in counts if one is not None)

    def place(self, by: Grouping, stratum: Group, group: Group | None) -> Marks:
        """The cells of a group in a stratum, or of everybody there."""
        given = tuple(name for name, _ in stratum)
        marks = self.cells.inside(by) & self.cells.crowds(given).within(stratum)
        return marks if group is None else marks & self.cells.crowds(by).within(group)

    def known(self, row: GroupRow) -> Marks:
        """Those a share is taken of: everybody in the stratum whose group is known."""
        crowds = self.cells.crowds(row.by)
        known = np.isin(crowds.of_cell, np.flatnonzero(crowds.known))
        return self.place(row.by, row.stratum, None) & known

    def rate(self, row: RateRow, group: Group) -> list[Value]:
        """A rate of one group; where strata stand behind it, what the spec may mean by it."""
        found = []
        for one in self.shown:
            asked = [
                each
                for each in _numbers(one.metric)
                if each.id == row.metric and _said(one, each) == row.parameters
            ]
            if one.of != row.of or not asked:
                continue
            value = Value(
                asked=tuple(asked),
                of=row.of,
                by=row.by,
                given=tuple(name for name, _ in row.stratum),
                stratum=row.stratum,
                groups=(group,),
                of_class=one.terms.of_class,
                cut=one.terms.at is not None or _scored(asked),
            )
            if one.terms.average is not None or any(each.conditional for each in asked):
                wide = replace(value, stratum=None, groups=None, wide=True)
                own = [row.averaged] if row.averaged else one.given
                found += [replace(wide, given=given) for given in own if given in one.given]
            else:
                found.append(value)
        return list(dict.fromkeys(found))

    def comparison(self, row: ComparisonRow) -> list[Value]:
        """A comparison of groups: every entry of the spec that it may be."""
        given = row.averaged or tuple(name for name, _ in row.stratum)
        stratum = None if row.averaged else row.stratum
        return [
            _compared(self._entry(one, row.by, given), stratum, row)
            for one in self.shown
            if (one.metric.id, one.metric.title, one.of) == (row.metric, row.title, row.of)
            and one.said == row.parameters
        ]

    def entry(self, row: LatticeRow, one: LatticeEntry) -> list[Value]:
        """An entry of the lattice: it does not say its parameters, the spec does."""
        return [
            self._entry(each, row.by, ())
            for each in self.shown
            if (each.metric.id, each.of) == (one.metric, one.of) and each.given == ((),)
        ]

    def appearance(self, one: Appearance) -> list[Value]:
        """Where a gap first appears: the group, each group it is part of, and everybody beside."""
        rate = find_metric(one.metric)
        assert isinstance(rate, GroupMetric)
        return [
            Value(
                asked=(rate,),
                of=one.of,
                by=tuple(name for name, _ in group),
                groups=(group,),
                everybody=True,
                of_class=one.of_class,
            )
            for group in (one.group, *(parent.group for parent in one.parents))
        ]

    def _entry(self, one: MetricRequest, by: Grouping, given: Grouping) -> Value:
        asked = _numbers(one.metric)
        return Value(
            asked=asked,
            of=one.of,
            by=by,
            given=given,
            wide=one.terms.average is not None or _is_wide(one.metric, one.terms.reference),
            everybody=bool(_policies(one.metric, one.terms.reference) & POOLED_REFERENCES),
            pairs=_policies(one.metric, one.terms.reference) <= SINGLE_REFERENCES,
            of_class=one.terms.of_class,
            against=one.against,
            cut=one.terms.at is not None or _scored(asked) or _is_finer(one.metric, one.against),
        )

    def check(self, check: Check) -> Value:
        """What a check looks at: everybody who takes part, in every stratum."""
        asked = _numbers(check.asked)
        return Value(
            asked=asked,
            of=check.of,
            by=check.by,
            given=check.given,
            stratum=None,
            wide=check.terms.average is not None or _is_wide(check.asked, check.terms.reference),
            everybody=bool(_policies(check.asked, check.terms.reference) & POOLED_REFERENCES),
            of_class=check.terms.of_class,
            against=check.against,
            cut=check.terms.at is not None
            or _scored(asked)
            or _is_finer(check.asked, check.against),
        )

    def epsilon(self, row: EpsilonReading) -> Value:
        """The differential fairness of the full intersection."""
        asked = find_metric("differential_fairness")
        return Value(_numbers(asked), row.of, row.by)

    def counted(self, one: NoticeRate) -> Value:
        """A rate that a notice tells."""
        asked = find_metric(one.rate)
        assert isinstance(asked, GroupMetric)
        return Value((asked,), one.of, one.by)

    def reversal(self, one: Reversal) -> frozenset[int]:
        """The rates of a pair, in all strata together and in each."""
        by, rate = (one.attribute,), find_metric(one.rate)
        groups = tuple(((one.attribute, level),) for level in one.pair)
        alone = Value(_numbers(rate), one.of, by, groups=groups)
        within = [
            Value(_numbers(rate), one.of, by, one.given, stratum.stratum, groups)
            for stratum in one.strata
        ]
        return frozenset().union(*map(self.of_value, [alone, *within]))


def _numbers(asked: Metric | None) -> tuple[Number, ...]:
    if isinstance(asked, Disparity):
        return tuple(quantity for quantity, _ in asked.parts)
    return () if asked is None else (asked,)


def _said(one: MetricRequest, asked: Number) -> dict[str, object]:
    """What an entry says of one of its quantities, as its rows repeat it."""
    others = {"against", "aggregate", *(one.terms.parameters.as_texts().keys() - {*asked.takes})}
    return {name: value for name, value in one.said.items() if name not in others}


def _compared(value: Value, stratum: Group | None, row: ComparisonRow) -> Value:
    """The value of one row: where one group is set beside another, of these two alone."""
    if value.wide:
        return replace(value, stratum=None)
    is_pair = value.pairs and row.group is not None
    groups = (row.first, row.second) if is_pair else None
    return replace(value, stratum=stratum, groups=groups)


def _is_finer(asked: Metric, against: str | None) -> bool:
    """Whether counts stand behind a number that its groups and strata do not name.

    Those by the controls of a fit, and by both outcomes of the same people.
    """
    return against is not None or (isinstance(asked, Disparity) and asked.fitted)


def _policies(asked: Metric, reference: Reference | None) -> set[ReferencePolicy]:
    """Whom a measure compares with: as the spec asks, and as the definition says."""
    own = asked.reference if isinstance(asked, Disparity) else None
    asks = None if reference is None else reference.policy
    return {one for one in (own, asks) if one is not None}


def _is_wide(asked: Metric, reference: Reference | None) -> bool:
    """Whether more than the rates of the groups stands behind a measure."""
    if asked.conditional or ReferencePolicy.EVERYBODY in _policies(asked, reference):
        return True
    if not isinstance(asked, Disparity):
        return False
    contrasts = any(how.contrast is not None for _, how in asked.parts)
    conditional = any(quantity.conditional for quantity, _ in asked.parts)
    return contrasts or conditional or bool(asked.averages)


def _scored(asked: Iterable[Number]) -> bool:
    return any(one.id == _CUT_BY_SCORE for one in asked)

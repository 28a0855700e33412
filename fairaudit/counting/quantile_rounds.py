"""Quantiles of data in several places, by rounds of counts (`count --cuts`); version of a round.

A round of parts says in which of them a quantile lies. Where all of its people have one number,
that is the quantile, exactly; else the next round cuts this part into finer ones. docs/counts.md
has the commands.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import accumulate

from fairaudit.base.errors import DataError, NothingToAudit, UsageError
from fairaudit.base.frozen import Frozen, replace
from fairaudit.counting.columns import Cut, Quantile
from fairaudit.counting.counts import CountedFile, Median
from fairaudit.counting.plan import Plan

VERSION = 1
"""Of the file that holds a round."""


class Span(Frozen):
    """The numbers of a column that are looked at, both ends included; all without ends."""

    column: str
    low: float | None = None
    high: float | None = None


class PartsOfSpan(Frozen):
    """The people who have a number of a column, those below a span, and those in its parts.

    `parts` are numbers that grow with the values, each with its people and the range of what was
    seen in it. In every place a value is in the same part.
    """

    span: Span
    everybody: int
    below: int
    parts: tuple[int, ...]
    people: tuple[int, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    def __add__(self, other: PartsOfSpan) -> PartsOfSpan:
        total: dict[int, tuple[int, float, float]] = {}
        for summand in (self, other):
            rows = zip(summand.parts, summand.people, summand.low, summand.high, strict=True)
            for part, people, low, high in rows:
                n, least, most = total.get(part, (0, low, high))
                total[part] = n + people, min(least, low), max(most, high)
        parts = sorted(total)
        return PartsOfSpan(
            self.span,
            self.everybody + other.everybody,
            self.below + other.below,
            tuple(parts),
            tuple(total[part][0] for part in parts),
            tuple(total[part][1] for part in parts),
            tuple(total[part][2] for part in parts),
        )

    def locate(self, share: Fraction) -> tuple[float, float, Cut] | None:
        """The range in which a quantile lies, and its cut if it is the one number there.

        None where it lies in another span, or nobody has a number.
        """
        wanted = -(-share.numerator * self.everybody // share.denominator)
        reached = [*accumulate(self.people, initial=self.below)]
        if not self.below < wanted <= reached[-1]:
            return None
        number = bisect_left(reached, wanted, lo=1) - 1
        below, at = reached[number], self.people[number]
        low, high = self.low[number] + 0.0, self.high[number] + 0.0  # -0.0 is 0.0
        return low, high, Cut(low, self.everybody - below - at, at, below)


class CutsRound(Frozen):
    """What a round tells of the quantiles of a plan: of one place, or of several together.

    `rows` are those that the filter keeps.
    """

    plan: Plan
    quantiles: tuple[Quantile, ...]
    rows: int
    sources: tuple[CountedFile, ...]
    spans: tuple[PartsOfSpan, ...]
    version: int = VERSION
    made_by: str = ""
    digest: str = ""

    def __add__(self, other: CutsRound) -> CutsRound:
        return replace(
            self,
            rows=self.rows + other.rows,
            sources=(*self.sources, *other.sources),
            spans=tuple(own + more for own, more in zip(self.spans, other.spans, strict=True)),
        )

    def locate(self, quantile: Quantile) -> tuple[float, float, Cut] | None:
        """The range of a quantile, and its cut if that is one number; None if nobody has one."""
        column, share = quantile
        spans = [span.locate(share) for span in self.spans if span.span.column == column]
        return next((found for found in spans if found is not None), None)

    @property
    def open(self) -> tuple[Quantile, ...]:
        """The quantiles of which the round knows a range alone."""
        located = {quantile: self.locate(quantile) for quantile in self.quantiles}
        return tuple(quantile for quantile, at in located.items() if at and at[0] < at[1])

    def next_spans(self) -> tuple[Span, ...]:
        """What the next round looks at: the range of each quantile, which may be one number."""
        return tuple(dict.fromkeys(self._find_ranges()))

    def _find_ranges(self) -> Iterator[Span]:
        for quantile in self.quantiles:
            found = self.locate(quantile)
            yield Span(quantile[0]) if found is None else Span(quantile[0], found[0], found[1])

    def cuts(self, quantiles: Sequence[Quantile]) -> dict[Quantile, Cut]:
        """The cuts of these quantiles; raises an error where they are not known exactly."""
        return {quantile: self._cut(quantile) for quantile in quantiles}

    def _cut(self, quantile: Quantile) -> Cut:
        column, _ = quantile
        if quantile not in self.quantiles:
            what = f"the cuts file has no quantile of {column!r} that the spec needs"
            raise UsageError(what, "start with the first round for this spec: -o part.cuts")
        if not self.rows:
            raise NothingToAudit("no rows are left to audit", "check the data and the filter")
        found = self.locate(quantile)
        if found is None and any(
            span.everybody for span in self.spans if span.span.column == column
        ):
            what = f"a quantile of {column!r} is not in the interval that the previous round found"
            raise DataError(
                what, "the data changed: start again with the first round, -o part.cuts"
            )
        if found is None:
            raise refuse_no_numbers(column)
        low, high, cut = found
        if low < high:
            raise UsageError(
                "a quantile is not exact yet",
                "run another round: count SPEC --cuts all.cuts -o part.cuts, then merge",
            )
        return cut

    def medians(self, columns: Sequence[str]) -> dict[str, Median]:
        """The exact medians of these scores; of one that nobody has there is none."""
        half = Fraction(1, 2)
        there = [column for column in columns if self.locate((column, half)) is not None]
        cuts = {column: self._cut((column, half)) for column in there}
        return {
            column: Median(cut.value, cut.above + cut.at + cut.below)
            for column, cut in cuts.items()
        }


def list_quantiles(plan: Plan, quantiles: Sequence[Quantile]) -> tuple[Quantile, ...]:
    """The quantiles that a spec names, and the medians of its scores."""
    medians = ((column, Fraction(1, 2)) for column in plan.medians)
    return tuple(dict.fromkeys((*quantiles, *medians)))


def refuse_no_numbers(column: str) -> DataError:
    """The error of a column in which nobody has a number that could be cut."""
    what = f"no row has a number in the column {column!r}, so the column has no quantiles"
    return DataError(what, "check the column and the filter in the spec")

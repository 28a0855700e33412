"""`Axis`: a recoded column with its codes and missing values; sums of numbers in raw cells.

A cell is a combination of levels. It also distinguishes known and missing numbers. So a sum over
the people who have two numbers is a sum over the cells in which both numbers are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from msgspec import Struct, field

from fairaudit.base.arrays import ADDED_SCALE, Floats, Ints
from fairaudit.base.disclosure_marks import Notice, Subjects
from fairaudit.base.errors import DataError, Fault, Faults, Seek
from fairaudit.base.names import quoted
from fairaudit.counting.counts import Counts
from fairaudit.counting.plan import MISSING, SumName
from fairaudit.counting.raw_counts import RawKey
from fairaudit.counting.raw_rows import RawRows
from fairaudit.cube import Amount, AmountName, KeyColumn, Marks, Rows, SampleStrata, Sum, add_up
from fairaudit.pipeline.plan_builder import list_amounts
from fairaudit.spec import LocatedText, MissingPolicy, Spec

DROP = -3
"""The code of a raw value whose rows leave the audit."""


class Axis(Struct):
    """A recoded column: its key, a code for each cell, and marks of the cells without a value.

    `rule` is the key in `missing:` that sets the `policy`. `words` mean missing in this column, in
    addition to the tokens of the spec. `alike` are the sets of levels with similar spelling.
    `joined` are the codes after similar levels are joined; None without similar levels.
    """

    key: KeyColumn
    codes: Ints
    column: str
    rule: str
    policy: MissingPolicy
    missing: Marks
    words: tuple[str, ...] = ()
    alike: Sequence[Sequence[str]] = ()
    joined: Ints | None = None

    @property
    def written_rule(self) -> str:
        """The key of `missing` for this column in the spec, where a decision has its own key."""
        is_decision = self.rule == "prediction" and self.key.name == "decision"
        return "decision" if is_decision else self.rule

    @property
    def leaves_as_missing(self) -> Marks:
        """Marks the cells that leave the audit because their value is missing."""
        return np.asarray(self.missing & (self.codes == DROP))

    @property
    def leaves_by_value(self) -> Marks:
        """Marks the cells that leave the audit because of their value (`others: drop`)."""
        return np.asarray(~self.missing & (self.codes == DROP))

    def refuse_missing(self, counts: Counts) -> None:
        """Raises `DataError` for missing values if the policy of the column is `error`."""
        if self.policy is not MissingPolicy.ERROR:
            return
        missing = (counts.kept == 1) & self.missing
        rows = int(counts.file_rows[missing].sum()) or int(counts.rows[missing].sum())
        if rows:
            rule = self.written_rule
            role = {"strata": "stratum", "numbers": "number"}.get(rule, rule)
            what = f"no value in the {role} {quoted(self.column)}"
            raise DataError(
                f"{rows:,} {'row has' if rows == 1 else 'rows have'} {what}",
                "complete the data, or choose what to do with these rows: "
                f"`missing: {{{rule}: …}}`",
                seek=Seek(self.column, (None, *counts.plan.tokens, *self.words)),
                uncounted=f"rows have {what}",
            )


class Problems(Struct):
    """The problems of the data: faults make the audit fail, notices do not."""

    faults: list[Fault] = field(default_factory=Faults)
    notices: list[Notice] = field(default_factory=list)

    def fault(self, text: LocatedText, message: str) -> None:
        """Adds a fault at a text of the spec."""
        self.faults.append(text.fault(message))

    def note(self, name: str, what: str, subjects: Subjects = Subjects.NOBODY) -> None:
        """Adds a notice on a column, unless the same notice was added before."""
        notice = Notice(f"{name}: {what}", subjects)
        if notice not in self.notices:
            self.notices.append(notice)


def with_missing_last(raw_key: RawKey) -> Ints:
    """The codes of intervals, in which a missing number has the code after the last interval."""
    last = len(raw_key.key.edges or ()) + 1
    return np.where(raw_key.codes == MISSING, last, raw_key.codes)


def cluster_codes(counts: Counts) -> tuple[Ints, SampleStrata | None] | None:
    """The number of the cluster of each raw cell, and the strata of the sample, if it has any.

    Returns None without clusters. The same cluster name in two strata means two clusters. A
    stratum includes the clusters that a filter removes, because a part of a sample has the design
    of the whole sample. Raises `DataError` for rows that the filter keeps and that have no cluster.
    """
    if counts.plan.cluster is None:
        return None
    codes = _number_levels(counts, counts.plan.cluster, "cluster", "give each independent row its "
                           "own cluster")  # fmt: skip
    if counts.plan.sample_strata is None:
        return codes, None
    stratum = _number_levels(counts, counts.plan.sample_strata, "stratum of the sample",
                             "give them a stratum")  # fmt: skip
    known = (codes >= 0) & (stratum >= 0)
    drawn, index = np.unique(np.stack([stratum, codes])[:, known], axis=1, return_inverse=True)
    codes = np.full(len(codes), -1, dtype=np.int64)
    codes[known] = index
    return codes, SampleStrata(drawn[0], np.bincount(drawn[0]))


def _number_levels(counts: Counts, column: str, what: str, remedy: str) -> Ints:
    """The number of the level of each raw cell; raises `DataError` if a kept row has no level."""
    raw = counts.text_key(column)
    number: dict[str, int] = {}
    missing = {None, *counts.plan.tokens}
    texts = [None if level is None else level.strip() for level in raw.levels]
    places = [
        -1 if text is None or text in missing else number.setdefault(text, len(number))
        for text in texts
    ]
    codes = np.array(places, dtype=np.int64)[raw.codes]
    lacking = int(counts.rows[(counts.kept == 1) & (codes < 0)].sum())
    if lacking:
        raise DataError(
            f"{lacking:,} {'row has' if lacking == 1 else 'rows have'} no value in the {what} "
            f"{quoted(column)}",
            f"{remedy}, or remove these rows with a filter",
            seek=Seek(column, (None, *counts.plan.tokens)),
        )
    return codes


def amounts(counts: Counts, spec: Spec) -> dict[AmountName, Amount]:
    """The sums of numbers that metrics of all outcomes need, by raw cell."""
    if not counts.amounts:
        return {}
    added = _Added(counts)
    make: dict[str, Callable[..., Amount]]
    make = {"number": added.number, "product": added.product, "residual": added.residual}
    return {(of, name): make[kind](*columns) for of, name, kind, columns in list_amounts(spec)}


def notice_tiny_sums(amounts_by_name: dict[AmountName, Amount]) -> Iterator[Notice]:
    """Notices on numbers that are too small for the fixed-point sums."""
    for (of, name), amount in amounts_by_name.items():
        n, squares = int(amount.n.sum()), int(amount.squares.values.sum())
        if name in {"score", "value"} and squares * 10**6 < n * amount.squares.scale:
            yield Notice(
                f"{of}: numbers are added up at nine decimals, and these are small for that: their "
                "root mean square is below 0.001",
                Subjects.ANYBODY,
            )


class _Added:
    """Sums of columns, each over the cells in which all its columns are known."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts

    def number(self, column: str, *also: str) -> Amount:
        """The sum of a column over the people who have a number in each of the columns."""
        known = self._known(column, *also)
        total = self._sum(("sum", column), known)
        return Amount(self._people(known), total, self._product(column, column, known))

    def product(self, first: str, second: str) -> Amount:
        """The sum of the product of two columns, without its squares, which no metric needs."""
        known = self._known(first, second)
        total = self._product(first, second, known)
        return Amount(self._people(known), total, Sum(np.zeros(len(known), dtype=np.int64)))

    def residual(self, label: str, value: str) -> Amount:
        """The sum of label minus value."""
        known = self._known(label, value)
        label_amount, value_amount = self.number(label, value), self.number(value, label)
        difference = label_amount.total.values - value_amount.total.values
        products = self._product(label, value, known).values
        squares = label_amount.squares.values - 2 * products + value_amount.squares.values
        return Amount(
            label_amount.n,
            Sum(difference, ADDED_SCALE),
            Sum(squares, ADDED_SCALE**2),
            self._sum(("distance", label, value), known),
        )

    def _known(self, *columns: str) -> Marks:
        codes = [self._counts.cut_key(column).codes for column in columns]
        return np.asarray(np.all([column_codes != MISSING for column_codes in codes], axis=0))

    def _people(self, known: Marks) -> Ints:
        return np.where(known, self._counts.people, 0)

    def _product(self, first: str, second: str, known: Marks) -> Sum:
        return self._sum(("product", first, second), known, ADDED_SCALE**2)

    def _sum(self, name: SumName, known: Marks, scale: int = ADDED_SCALE) -> Sum:
        values = np.array(self._counts.amounts[name], dtype=object)
        return Sum(np.where(known, values, 0), scale)


def audited_rows(counts: Counts, read: RawRows, places: Ints) -> Rows:
    """The single people of the cube. `places` is the cell of each raw cell; -1: it is left out."""
    stays = places >= 0
    read = read.take(stays[read.cells])
    cells = places[read.cells]
    # Equal people of one cell may come from two raw cells. Missing scores count as equal.
    keys: list[Ints | Floats] = [cells]
    keys += [np.nan_to_num(score, nan=-np.inf) for score in read.scores.values()]
    order = read.features.canonical_order(*keys)
    is_new = np.zeros(len(order), dtype=np.bool_)
    is_new[:1] = True
    for values in (*keys, *read.features.numbers.T, *read.features.codes.T):
        column = values[order]
        is_new[1:] |= column[1:] != column[:-1]
    entry = np.cumsum(is_new) - 1
    first = order[is_new]
    numbers = np.full(len(first), np.iinfo(np.int64).max)
    np.minimum.at(numbers, entry, read.numbers[order])
    missing = {name: int(lacking[stays].sum()) for name, lacking in read.missing.items()}
    return Rows(
        cells[first],
        numbers,
        add_up(read.n[order], entry, len(first)),
        read.features.take(first),
        {name: values[first] for name, values in read.scores.items()},
        audited=int(counts.rows[stays].sum()),
        complete=int(read.complete[stays].sum()),
        capacity=read.capacity,
        share=0.5**read.halvings,
        missing={name: n for name, n in missing.items() if n},
    )

"""Every row that was read is somewhere, and none that is not counted hides what would fail.

The oracle tries in plain Python all that the rows could be which a filter cannot decide, or which
lack a value: in the audit or not, of each group, with each outcome and label.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, NamedTuple

import polars as pl
import pytest
from conftest import examples
from hypothesis import assume, given, reject
from hypothesis import strategies as st

import fairaudit
from fairaudit.base.errors import FairauditError

_MOST = 4_000
"""So many completions the oracle tries."""


class Row(NamedTuple):
    """A row: group, decision, label, stratum, and what the filter says of it."""

    g: str | None
    d: int | None
    y: int | None
    s: str
    keep: int | None


class Measure(NamedTuple):
    """A check: its entry in a spec, and whether rates of groups are beyond its limit."""

    entry: dict[str, Any]
    rate: str
    limit: float

    def is_beyond(self, rates: dict[str, float]) -> bool:
        """Whether the rates of some groups cross the limit; of one group there is no gap."""
        values, kind = [*rates.values()], self.entry["metric"]
        if kind in {"selection_rate", "true_positive_rate"} and "compare" not in self.entry:
            return any(value < self.limit for value in values)
        if len(values) < 2:
            return False
        low, high = min(values), max(values)
        if kind == "differential_fairness":
            pairs = [(1 - high, 1 - low), (low, high)]
            spreads = [math.inf if not a else math.log(b / a) for a, b in pairs if b]
            return max(spreads) > self.limit + 1e-9
        if kind in {"demographic_parity_ratio", "impact_ratio"}:
            return high > 0 and low / high < self.limit - 1e-9
        if "reference" in self.entry:
            others = [value for group, value in rates.items() if group != "a"]
            return "a" in rates and any(abs(v - rates["a"]) > self.limit + 1e-9 for v in others)
        return high - low > self.limit + 1e-9


def entry(metric: str, rate: str, limit: float, side: str, **more: Any) -> Measure:
    """A check of a metric with a limit."""
    return Measure({"metric": metric, "fail": {side: limit}, **more}, rate, limit)


MEASURES = [
    entry("selection_rate", "selection", 0.4, "below"),
    entry("true_positive_rate", "tpr", 0.4, "below"),
    entry("demographic_parity_difference", "selection", 0.3, "above"),
    entry("demographic_parity_ratio", "selection", 0.6, "below"),
    entry("impact_ratio", "selection", 0.7, "below"),
    entry("equal_opportunity_difference", "tpr", 0.35, "above"),
    entry("differential_fairness", "selection", 0.9, "above"),
]


def count_rates(rows: Iterable[Row], measure: Measure, least: int) -> dict[str, float]:
    """The rate of each group of at least so many people in the denominator."""
    counts: dict[str, list[int]] = {}
    for row in rows:
        if row.g is None or row.d is None or (measure.rate == "tpr" and row.y is None):
            continue
        if measure.rate == "tpr" and row.y == 0:
            continue
        counts.setdefault(row.g, []).append(row.d)
    return {g: sum(ds) / len(ds) for g, ds in counts.items() if len(ds) >= max(least, 1)}


def crosses(rows: list[Row], measure: Measure, least: int, *, by_stratum: bool) -> bool:
    """Whether the check would fail on complete rows."""
    strata = {row.s for row in rows} if by_stratum else {None}
    return any(
        measure.is_beyond(
            count_rates([row for row in rows if stratum in {None, row.s}], measure, least)
        )
        for stratum in strata
    )


def completions(rows: list[Row], groups: list[str], *, may_leave: bool) -> Iterator[list[Row]]:
    """All that rows could be, with what they lack filled in; they may not belong to the audit."""
    choices: list[list[Row | None]] = []
    for row in rows:
        filled: list[Row | None] = [
            row._replace(g=g, d=d, y=y)
            for g, d, y in product(
                groups if row.g is None else [row.g],
                (0, 1) if row.d is None else [row.d],
                (0, 1) if row.y is None else [row.y],
            )
        ]
        choices.append([*filled, *([None] if may_leave else [])])
    assume(math.prod(map(len, choices)) <= _MOST)
    for chosen in product(*choices):
        yield [row for row in chosen if row is not None]


ROW = st.builds(
    Row,
    g=st.sampled_from(["a", "a", "b", "b", "c", None]),
    d=st.sampled_from([0, 1, 1, 0, None]),
    y=st.sampled_from([0, 1, 1, None]),
    s=st.sampled_from(["s", "t"]),
    keep=st.sampled_from([1, 1, 1, 1, 0]),
)
PLAIN = st.builds(
    Row, g=st.sampled_from(["a", "b", "c"]), d=st.sampled_from([0, 1]), y=st.sampled_from([0, 1]),
    s=st.sampled_from(["s", "t"]), keep=st.just(1),
)  # fmt: skip


def audit(rows: list[Row], measure: Measure, **spec: Any) -> fairaudit.AuditResult:
    """The audit of rows; one without a verdict is none that the law is about."""
    frame = pl.DataFrame(rows, schema=[*Row._fields], orient="row").cast(pl.String)
    columns = {
        "protected": ["g"],
        "strata": ["s"],
        "label": {"column": "y", "positive": 1, "negative": 0},
        "prediction": {"column": "d", "positive": 1, "negative": 0},
    }
    asked = {"columns": columns, "filter": "keep = 1", "simpson": False, **spec}
    try:
        return fairaudit.audit({**asked, "metrics": [measure.entry]}, frame)
    except FairauditError:
        reject()


def is_plain_pass(result: fairaudit.AuditResult) -> bool:
    """Whether the check passes, and nothing says that it could be otherwise."""
    (finding,) = result.findings
    return str(finding.status) == "pass" and not finding.is_in_doubt


@examples(80)
@given(
    plain=st.lists(PLAIN, min_size=4, max_size=24),
    more=st.lists(ROW, max_size=8),
    undecided=st.lists(ROW, min_size=1, max_size=4),
    measure=st.sampled_from(MEASURES),
    least=st.sampled_from([0, 0, 3]),
    by_stratum=st.booleans(),
    policy=st.sampled_from(["aside", "drop"]),
    protected=st.sampled_from(["show", "aside"]),
)
def test_undecided_rows_hide_nothing_that_would_fail(
    plain: list[Row],
    more: list[Row],
    undecided: list[Row],
    measure: Measure,
    least: int,
    by_stratum: bool,
    policy: str,
    protected: str,
) -> None:
    kept = [*plain, *more]
    rows = [*kept, *(row._replace(keep=None) for row in undecided)]
    given_ = {"given": "s"} if by_stratum else {}
    asked = measure._replace(entry={**measure.entry, **given_})
    missing = {"prediction": policy, "label": policy, "protected": protected}
    result = audit(
        rows, asked, missing=missing, **({"groups": {"min_size": least}} if least else {})
    )
    ledger = result.ledger
    dropped = sum(line.rows for line in ledger.dropped)
    lacking = [row for row in kept if row.keep and policy == "drop" and None in {row.d, row.y}]
    assert ledger.read == len(rows)
    assert ledger.filtered == sum(row.keep == 0 for row in rows)
    assert ledger.undecided == len(undecided)
    assert dropped == len(lacking)
    assert ledger.counted == len(rows) - ledger.filtered - ledger.undecided - dropped
    if not is_plain_pass(result):
        return
    counted = [row for row in kept if row.keep and row not in lacking]
    for chosen in completions(undecided, ["a", "b", "c"], may_leave=True):
        assert not crosses([*counted, *chosen], measure, least, by_stratum=by_stratum), chosen


@examples(50)
@given(
    plain=st.lists(PLAIN, min_size=4, max_size=24),
    lacking=st.lists(ROW.filter(lambda row: None in row[:3]), min_size=1, max_size=4),
    measure=st.sampled_from(MEASURES),
)
def test_dropped_rows_hide_nothing_that_would_fail(
    plain: list[Row], lacking: list[Row], measure: Measure
) -> None:
    rows = [*plain, *(row._replace(keep=1) for row in lacking)]
    result = audit(rows, measure, missing={"prediction": "drop", "label": "drop"})
    if not is_plain_pass(result):
        return
    known = sorted({row.g for row in rows if row.g is not None})
    needed = [
        row if measure.rate == "tpr" else row._replace(y=1 if row.y is None else row.y)
        for row in lacking
    ]
    for chosen in completions(needed, known, may_leave=False):
        assert not crosses([*plain, *chosen], measure, 0, by_stratum=False), chosen


@examples(40)
@given(
    plain=st.lists(PLAIN, min_size=8, max_size=24),
    undecided=st.lists(PLAIN, min_size=1, max_size=3),
    measure=st.sampled_from(MEASURES[:4]),
)
def test_undecided_rows_that_turn_nothing_leave_a_pass(
    plain: list[Row], undecided: list[Row], measure: Measure
) -> None:
    assume({row.g for row in undecided} <= {row.g for row in plain})
    if measure.rate == "tpr":
        assume({row.g for row in undecided} <= {row.g for row in plain if row.y})
    before = audit(plain, measure, expect={"rows": {"at_least": 1}})
    assume(str(before.findings[0].status) == "pass")
    assume(len(undecided) < len(plain) / 10)
    could = any(
        crosses([*plain, *chosen], measure, 0, by_stratum=False)
        for chosen in completions(undecided, [], may_leave=True)
    )
    result = audit([*plain, *(row._replace(keep=None) for row in undecided)], measure)
    assert str(result.findings[0].status) == ("inconclusive" if could else "pass")


@pytest.mark.parametrize("hired", [0, 1])
def test_half_of_the_people_without_an_income(hired: int) -> None:
    """Among the known m and w are 25 of 50; with the others 75 and 30 of 100: ratio 0.4."""
    rows = [("m", 1, 900)] * 25 + [("m", 0, 900)] * 25 + [("m", hired, None)] * 50
    rows += [("w", 1, 900)] * 25 + [("w", 0, 900)] * 25 + [("w", 1 - hired, None)] * 50
    frame = pl.DataFrame(rows, schema=["sex", "hired", "income"], orient="row")
    columns = {"protected": ["sex"], "decision": {"column": "hired", "positive": 1}}
    spec = {"columns": columns, "metrics": [{"metric": "impact_ratio", "fail": {"below": 0.8}}]}
    result = fairaudit.audit({**spec, "filter": "income >= 500"}, frame)
    (finding,) = result.findings
    assert (str(finding.status), finding.value) == ("inconclusive", 1.0)
    assert "`x > 5 or x is null`" in finding.why
    listed = "100 rows lack a value that the filter needs; by sex: m (50), w (50); not counted"
    assert result.notices[0] == listed
    for rule, status in (("or income is null", "fail"), ("and income is not null", "pass")):
        decided = fairaudit.audit({**spec, "filter": f"income >= 500 {rule}"}, frame)
        assert str(decided.findings[0].status) == status
        assert decided.ledger.undecided == 0

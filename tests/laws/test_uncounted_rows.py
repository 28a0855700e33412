"""Every row that was read is somewhere, and none that is not counted hides what would fail.

The oracle tries in plain Python all that the rows could be which a filter cannot decide, or which
lack a value: in the audit or not, of each group, with each outcome and label.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
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
    """A metric with the side of its limit that fails, and the rate it is made of."""

    metric: str
    rate: str
    side: str

    def value(self, rates: dict[str, float]) -> float | None:
        """The worst value of some rates of groups; of one group there is no gap."""
        values = [*rates.values()]
        low, high = min(values, default=0.0), max(values, default=0.0)
        if self.metric in {"selection_rate", "true_positive_rate"}:
            return low if values else None
        if len(values) < 2:
            return None
        if self.side == "below":
            return low / high if high else None
        if self.metric == "differential_fairness":
            pairs = [(a, b) for a, b in ((1 - high, 1 - low), (low, high)) if b]
            return max(math.log(b / a) if a else math.inf for a, b in pairs)
        return high - low


MEASURES = [
    Measure("selection_rate", "selection", "below"),
    Measure("true_positive_rate", "tpr", "below"),
    Measure("demographic_parity_difference", "selection", "above"),
    Measure("demographic_parity_ratio", "selection", "below"),
    Measure("impact_ratio", "selection", "below"),
    Measure("equal_opportunity_difference", "tpr", "above"),
    Measure("differential_fairness", "selection", "above"),
]


def count_rates(rows: list[Row], measure: Measure, least: int) -> dict[str, float]:
    """The rate of each group of at least so many people in the denominator."""
    counts: dict[str, list[int]] = {}
    for row in rows:
        if row.g is None or row.d is None or (measure.rate == "tpr" and row.y is None):
            continue
        if measure.rate == "tpr" and row.y == 0:
            continue
        counts.setdefault(row.g, []).append(row.d)
    return {g: sum(ds) / len(ds) for g, ds in counts.items() if len(ds) >= max(least, 1)}


class Limit(NamedTuple):
    """A limit of a measure, in each stratum or in all together, for groups of so many people."""

    measure: Measure
    least: int
    by_stratum: bool
    bound: float

    def worst(self, rows: list[Row]) -> float | None:
        """The worst value of complete rows."""
        strata = {row.s for row in rows} if self.by_stratum else {None}
        values = [
            self.measure.value(
                count_rates(
                    [row for row in rows if stratum in {None, row.s}], self.measure, self.least
                )
            )
            for stratum in strata
        ]
        known = [value for value in values if value is not None]
        worst = min if self.measure.side == "below" else max
        return worst(known) if known else None

    def is_crossed(self, rows: list[Row]) -> bool:
        """Whether the check would fail on complete rows."""
        worst = self.worst(rows)
        if worst is None:
            return False
        if self.measure.side == "below":
            return worst < self.bound - 1e-9
        return worst > self.bound + 1e-9

    def near(self, rows: list[Row], slack: float) -> Limit:
        """The limit so far from the worst value of some rows, which pass."""
        worst = self.worst(rows)
        assume(worst is not None and math.isfinite(worst))
        assert worst is not None
        bound = worst - slack if self.measure.side == "below" else worst + slack
        assume(bound > 0)
        return self._replace(bound=round(bound, 4))

    @property
    def spec(self) -> dict[str, Any]:
        """What asks for the check."""
        entry = {"metric": self.measure.metric, "fail": {self.measure.side: self.bound}}
        given_ = {"given": "s"} if self.by_stratum else {}
        groups = {"groups": {"min_size": self.least}} if self.least else {}
        return {"metrics": [{**entry, **given_}], **groups}


LIMITS = st.builds(
    Limit,
    measure=st.sampled_from(MEASURES),
    least=st.sampled_from([0, 0, 4]),
    by_stratum=st.booleans(),
    bound=st.just(0.0),
)
SLACKS = st.sampled_from([0.01, 0.05, 0.15, 0.3])


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


def audit(rows: list[Row], limit: Limit, **spec: Any) -> fairaudit.AuditResult:
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
        return fairaudit.audit({**asked, **limit.spec}, frame)
    except FairauditError:
        reject()


def is_plain_pass(result: fairaudit.AuditResult) -> bool:
    """Whether the check passes, and nothing says that it could be otherwise."""
    (finding,) = result.findings
    return str(finding.status) == "pass" and not finding.is_in_doubt


@pytest.mark.long
@examples(300)
@given(
    plain=st.lists(PLAIN, min_size=8, max_size=30),
    more=st.lists(ROW, max_size=5),
    undecided=st.lists(ROW, min_size=1, max_size=4),
    limit=LIMITS,
    slack=SLACKS,
    policy=st.sampled_from(["aside", "drop"]),
    protected=st.sampled_from(["show", "aside"]),
)
def test_undecided_rows_hide_nothing_that_would_fail(
    plain: list[Row],
    more: list[Row],
    undecided: list[Row],
    limit: Limit,
    slack: float,
    policy: str,
    protected: str,
) -> None:
    kept = [*plain, *more]
    rows = [*kept, *(row._replace(keep=None) for row in undecided)]
    lacking = [row for row in kept if row.keep == 1 and policy == "drop" and None in {row.d, row.y}]
    counted = [row for row in kept if row.keep == 1 and row not in lacking]
    limit = limit.near(counted, slack)
    missing = {"prediction": policy, "label": policy, "protected": protected}
    result = audit(rows, limit, missing=missing)
    ledger = result.ledger
    assert ledger.read == len(rows)
    assert ledger.filtered == len([row for row in rows if row.keep == 0])
    assert ledger.undecided == len(undecided)
    assert sum(line.rows or 0 for line in ledger.dropped) == len(lacking)
    assert ledger.counted == len(counted)
    if not is_plain_pass(result):
        return
    for chosen in completions(undecided, ["a", "b", "c"], may_leave=True):
        assert not limit.is_crossed([*counted, *chosen]), chosen


@examples(150)
@given(
    plain=st.lists(PLAIN, min_size=8, max_size=30),
    lacking=st.lists(ROW.filter(lambda row: None in row[1:3]), min_size=1, max_size=4),
    limit=LIMITS,
    slack=SLACKS,
)
def test_dropped_rows_hide_nothing_that_would_fail(
    plain: list[Row], lacking: list[Row], limit: Limit, slack: float
) -> None:
    limit = limit._replace(least=0, by_stratum=False).near(plain, slack)
    rows = [*plain, *(row._replace(keep=1) for row in lacking)]
    result = audit(rows, limit, missing={"prediction": "drop", "label": "drop"})
    if not is_plain_pass(result):
        return
    known = sorted({row.g for row in plain if row.g is not None})
    for chosen in completions(lacking, known, may_leave=False):
        assert not limit.is_crossed([*plain, *chosen]), chosen


@examples(100)
@given(
    plain=st.lists(PLAIN, min_size=12, max_size=30),
    undecided=st.lists(PLAIN, min_size=1, max_size=2),
    limit=LIMITS.filter(lambda limit: limit.measure.metric != "differential_fairness"),
    slack=SLACKS,
)
def test_undecided_rows_that_turn_nothing_leave_a_pass(
    plain: list[Row], undecided: list[Row], limit: Limit, slack: float
) -> None:
    assume({row.g for row in undecided} <= {row.g for row in plain if row.y})
    limit = limit._replace(least=0, by_stratum=False).near(plain, slack)
    assume(str(audit(plain, limit).findings[0].status) == "pass")
    could = any(
        limit.is_crossed([*plain, *chosen]) for chosen in completions(undecided, [], may_leave=True)
    )
    result = audit([*plain, *(row._replace(keep=None) for row in undecided)], limit)
    # Half of one group is too many, whatever they could turn.
    sizes = [Counter(row.g for row in rows) for rows in (undecided, plain)]
    is_half = any(n >= sizes[1][group] for group, n in sizes[0].items() if group is not None)
    assert str(result.findings[0].status) == ("inconclusive" if could or is_half else "pass")


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
    assert "half or more of the people of sex=m are left out" in finding.why
    listed = "100 rows lack a value that the filter needs; by sex: m (50), w (50); not counted"
    assert result.notices[0] == listed
    for rule, status in (("or income is null", "fail"), ("and income is not null", "pass")):
        decided = fairaudit.audit({**spec, "filter": f"income >= 500 {rule}"}, frame)
        assert str(decided.findings[0].status) == status
        assert decided.ledger.undecided == 0


@pytest.mark.parametrize(("undecided", "status"), [(3, "pass"), (4, "inconclusive")])
def test_undecided_rows_could_make_a_group_large_enough(undecided: int, status: str) -> None:
    """With 4 of them x has the 6 people of `min_size`, of whom none is hired: ratio 0."""
    rows = [(sex, hired, 900) for sex in "mw" for hired in (0, 1) for _ in range(50)]
    rows += [("x", 0, 900)] * 2 + [("x", 0, None)] * undecided  # type: ignore[list-item]
    frame = pl.DataFrame(rows, schema=["sex", "hired", "income"], orient="row")
    columns = {"protected": ["sex"], "decision": {"column": "hired", "positive": 1}}
    spec = {"columns": columns, "metrics": [{"metric": "impact_ratio", "fail": {"below": 0.8}}]}
    result = fairaudit.audit({**spec, "filter": "income >= 500", "groups": {"min_size": 6}}, frame)
    assert str(result.findings[0].status) == status


def test_a_scan_is_open_where_rows_are_undecided() -> None:
    rows = [(g, s, d, 1) for g in "ab" for s in "st" for d in (0, 1) for _ in range(20)]
    frame = pl.DataFrame([*rows, ("a", "s", 1, None)], schema=["g", "s", "d", "keep"], orient="row")
    columns = {"protected": ["g"], "strata": ["s"], "decision": {"column": "d", "positive": 1}}
    spec = {"columns": columns, "metrics": "selection_rate", "simpson": {"fail": True}}
    (whole,) = fairaudit.audit(spec, frame).findings
    assert str(whole.status) == "pass"
    (open_,) = fairaudit.audit({**spec, "filter": "keep = 1"}, frame).findings
    assert str(open_.status) == "inconclusive"
    assert "rows that lack a value the filter needs" in open_.why

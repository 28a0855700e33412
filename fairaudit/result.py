"""The result of an audit: its rows, its verdict, and which exit code that means."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from fairaudit.cube import ExcludeBelow, Group, Grouping
from fairaudit.disclosure import Notice, declare_subjects
from fairaudit.errors import WORST_FIRST, AuditFailed, FairauditError
from fairaudit.estimate import HIDDEN, Estimate, Significance
from fairaudit.evidence import ComparisonPart
from fairaudit.evidence.appearances import Appearance
from fairaudit.evidence.method_names import name_interval, name_test
from fairaudit.ledger import Ledger, PublishedLedger
from fairaudit.members import (
    FLAT,
    STATED,
    STATED_OR_HIDDEN,
    SUPPRESSES,
    UNCOUNTED,
    WITNESS,
    Member,
    member,
)
from fairaudit.metrics import (
    FAMILIES,
    PREFERENCES,
    Bounds,
    Comparison,
    Disparity,
    Eligibility,
    GroupMetric,
    Metric,
    Minimum,
    Requirement,
    TableMetric,
)
from fairaudit.metrics.example import describe_example
from fairaudit.metrics.terms import Inference
from fairaudit.simpson import Reversal
from fairaudit.subgroups import Subgroups
from fairaudit.verdict import Check, Earlier, Finding, Status
from fairaudit.waivers import WaiverOutcome

if TYPE_CHECKING:
    import polars as pl


SCHEMA_VERSION = "2.0"
"""Of the JSON report: a baseline must have the same."""


class Verdict(StrEnum):
    """The word for the whole audit."""

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    NONE = "none"


class FailOn(StrEnum):
    """From which status on a check turns the exit code."""

    FAIL = "fail"
    WARN = "warn"
    NEVER = "never"


@declare_subjects(nobody="path modified", never="bytes lines", hidden={"bytes": 0})
@dataclass(frozen=True, slots=True)
class DataFile:
    """A file that was read; `lines` are the physical ones of a CSV file, the header included.

    `modified` is when it was last written, to the second.
    """

    path: str
    bytes: int
    modified: str | None
    lines: int | None = None


@declare_subjects(
    nobody="version spec_path spec_sha256 title context route filter count weight minimum "
    "exclude_below inference created suppress_below cluster",
    anybody="cube_sha256 clusters weight_error",
    nested="files rows",
    hidden={"weight_error": 0.0, "files": ()},
)
@dataclass(frozen=True, slots=True)
class Provenance:
    """What was run on what: enough to run it again.

    With `suppress_below` small counts are hidden, and every number that would tell them is None.
    `cluster` is the column of rows that belong together, `clusters` how many such there are.
    """

    version: Annotated[str, Member("tool.version")]
    spec_path: Annotated[str, Member("spec.path")]
    spec_sha256: Annotated[str, Member("spec.sha256")]
    title: Annotated[str, Member("spec.title")]
    context: Annotated[Mapping[str, str], Member("spec.context")]
    files: Annotated[tuple[DataFile, ...], Member("data.files")]
    rows: Annotated[int | None, Member("data.rows")]
    route: Annotated[str, Member("data.route")]
    cube_sha256: Annotated[str | None, Member("data.cube_sha256")]
    filter: Annotated[str | None, Member("data.filter")]
    count: Annotated[str | None, Member("data.count")]
    weight: Annotated[str | None, Member("data.weight")]
    weight_error: Annotated[float, Member("data.weight_error")]
    minimum: Annotated[Minimum, Member("options", flat=True)]
    exclude_below: Annotated[ExcludeBelow | None, Member("options.exclude_below")]
    inference: Annotated[Inference, Member("options.inference")]
    created: str
    suppress_below: Annotated[int | None, Member("options.suppress_below")] = None
    cluster: Annotated[str | None, Member("data.cluster")] = None
    clusters: Annotated[int | None, Member("data.clusters")] = None


@declare_subjects(
    nobody="of by stratum group",
    row="n standing",
    compared="share",
    nested="counts",
    hidden={"standing": Eligibility.SUPPRESSED},
)
@dataclass(frozen=True, slots=True)
class GroupRow:
    """A group: its people, its share of the known ones, and their outcomes; None is suppressed."""

    of: str
    by: Grouping
    stratum: Annotated[Group, Member("given")]
    group: Group
    n: int | None
    share: float | None
    counts: Mapping[str, int | None]
    standing: Eligibility


@declare_subjects(
    nobody="metric of by stratum group parameters alpha averaged",
    row="estimate standing",
    compared="reference difference ratio",
    hidden={"estimate": HIDDEN, "standing": Eligibility.SUPPRESSED, "reference": ()},
)
@dataclass(frozen=True, slots=True)
class RateRow:
    """A rate of one group, beside the group that its table compares with.

    Difference and ratio are None where they are suppressed. `averaged` are the columns over whose
    strata the rate was averaged.
    """

    metric: str
    of: str
    by: Grouping
    stratum: Annotated[Group, Member("given")]
    group: Group
    estimate: Annotated[Estimate, FLAT]
    standing: Eligibility
    reference: Group
    difference: Annotated[float | None, STATED_OR_HIDDEN]
    ratio: Annotated[float | None, STATED_OR_HIDDEN]
    parameters: Mapping[str, object] = field(default_factory=dict)
    alpha: Annotated[float, Member(shared="alpha")] = 0.05
    averaged: Annotated[Grouping, Member("averaged_over")] = ()


@declare_subjects(
    nobody="metric title compare of by stratum group reference parameters averaged",
    row="estimate parts decided_by first second",
    compared="takes_part",
    hidden={"estimate": HIDDEN, "parts": (), "first": (), "second": ()},
)
@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """A comparison: of one group with its reference, or over all groups (`group` is then None).

    `averaged` are the columns over whose strata rates were averaged before; `takes_part` is None
    where it is suppressed.
    """

    metric: str
    title: str
    compare: str | None
    of: str
    by: Grouping
    stratum: Annotated[Group, Member("given")]
    group: Group | None
    reference: str | None
    parameters: Mapping[str, object]
    estimate: Annotated[Estimate, UNCOUNTED]
    parts: tuple[ComparisonPart, ...]
    decided_by: Annotated[str | None, WITNESS]
    first: Annotated[Group, WITNESS]
    second: Annotated[Group, WITNESS]
    takes_part: Annotated[int | None, Member("groups_compared")]
    averaged: Annotated[Grouping, Member("averaged_over")] = ()

    @property
    def spread(self) -> bool:
        """Whether it is of all groups together."""
        return self.group is None


@declare_subjects(
    nobody="metric title of spread judged limited",
    row="estimate first second parts decided_by departure",
    hidden={"estimate": HIDDEN, "first": (), "second": (), "parts": (), "departure": math.nan},
)
@dataclass(frozen=True, slots=True)
class LatticeEntry:
    """The worst value of one measure in one subset, its witness, and whether a limit looked."""

    metric: str
    title: str
    of: str
    estimate: Annotated[Estimate, UNCOUNTED]
    first: Annotated[Group, WITNESS]
    second: Annotated[Group, WITNESS]
    parts: tuple[ComparisonPart, ...]
    spread: bool
    decided_by: Annotated[str | None, WITNESS]
    judged: bool
    limited: bool
    departure: Annotated[float, STATED]


@declare_subjects(
    nobody="by groups",
    row="smallest",
    anybody="tested",  # tells who takes part, and who is all of a larger group
    nested="entries appears",
    hidden={"entries": (), "appears": ()},
)
@dataclass(frozen=True, slots=True)
class LatticeRow:
    """One subset of the protected attributes.

    `appears` are the groups where a gap first appears, `tested` says for each outcome how many were
    looked at for that (each rate of a group counts), None where it is suppressed.
    """

    by: Grouping
    groups: int
    smallest: int | None
    entries: tuple[LatticeEntry, ...]
    appears: tuple[Appearance, ...] = ()
    tested: Mapping[str, int] | None = field(default_factory=dict)


@declare_subjects(
    nobody="of by parameters",
    row="epsilon factor twice bounds_subsets regime low high unbounded",
)
@dataclass(frozen=True, slots=True)
class EpsilonReading:
    """How to read ε of the full intersection (Foulds & Pan §3).

    `low` and `high` are the ends of its interval, None where there is none. `factor` is e^ε, the
    largest factor between two groups' expected utilities, for a non-negative utility of the outcome
    alone. `twice` is the bound of Theorem 3.2 on every subset. It holds, and so does ε itself, on
    the same rows, with no group set aside and no smoothing: `bounds_subsets` says whether that is
    so, and `unbounded` why it is not.
    """

    of: str
    by: Grouping
    parameters: str
    epsilon: Annotated[float, STATED]
    factor: Annotated[float, STATED]
    twice: Annotated[float, STATED]
    bounds_subsets: bool
    regime: str
    low: float | None = None
    high: float | None = None
    unbounded: Annotated[str, Member(nullable=True)] = ""


@declare_subjects(
    nobody="id title family compares use means formula values direction needs takes caution "
    "elsewhere source aliases interval test example version",
)
@dataclass(frozen=True, slots=True)
class Definition:
    """A metric in words, as `explain` prints it."""

    id: str
    title: str
    family: str
    compares: str
    use: str
    means: str
    formula: str
    values: str
    direction: str
    needs: str
    takes: tuple[str, ...]
    caution: str
    elsewhere: str
    source: str
    aliases: tuple[str, ...]
    interval: str
    test: str
    example: str = ""
    version: int = 1


@declare_subjects(
    nobody="column by group known",
    row="n mean deviation auc auc_error suppressed",
    nested="lowest highest median",
    hidden={"suppressed": True},
)
@dataclass(frozen=True, slots=True)
class ScoreRow:
    """A score in one group, or among everybody.

    The median lies between both of its numbers: equal where its bin holds one value. `auc` may be
    off by `auc_error`; it is None without positives or negatives. Mean and deviation are None where
    the fixed point of their sums does not serve. A `suppressed` row only says whose it is; in a
    published report lowest and highest are None where few people share them.
    """

    column: Annotated[str, Member("score")]
    by: Grouping
    group: Group
    known: bool
    n: int | None
    mean: float | None
    deviation: float | None
    lowest: float | None
    highest: float | None
    median: tuple[float, float] | None
    auc: float | None
    auc_error: float | None
    suppressed: Annotated[bool, SUPPRESSES] = False


@declare_subjects(row="lowest highest n mean_score share low high")
@dataclass(frozen=True, slots=True)
class Calibration:
    """One bin of a calibration curve: its scores, its people, and the share of positives.

    `low` and `high` bound that share by Wilson's interval.
    """

    lowest: float
    highest: float
    n: int
    mean_score: float
    share: float
    low: float
    high: float


@declare_subjects(row="at selected true_positive_rate false_positive_rate")
@dataclass(frozen=True, slots=True)
class Threshold:
    """What selecting all scores of at least `at` would do; a rate of nobody is None."""

    at: float
    selected: float
    true_positive_rate: float | None
    false_positive_rate: float | None


@declare_subjects(
    nobody="column by group known",
    row="calibration thresholds suppressed",
    hidden={"calibration": (), "thresholds": (), "suppressed": True},
)
@dataclass(frozen=True, slots=True)
class Curve:
    """How a score meets the label in one group, or among everybody; a suppressed one is empty."""

    column: Annotated[str, Member("score")]
    by: Grouping
    group: Group
    known: bool
    calibration: tuple[Calibration, ...]
    thresholds: tuple[Threshold, ...]
    suppressed: Annotated[bool, SUPPRESSES] = False


@declare_subjects(nobody="columns left_out")
@dataclass(frozen=True, slots=True)
class Searched:
    """The columns that the spec does not name and a search for reversals conditioned on.

    `left_out` says of each other one why it was not.
    """

    columns: tuple[str, ...]
    left_out: Mapping[str, str]


@declare_subjects(
    # So few people are treated unlike that hardly a count could stay.
    never="metric first second by stratum group standing n both first_only second_only neither "
    "first_value second_value difference low high significance",
)
@dataclass(frozen=True, slots=True)
class ModelChange:
    """A rate of the same people by two models: who is counted by both, by one alone, by neither.

    `difference` is the rate by `second` minus that by `first`, with its interval and McNemar's
    test; `n` are the people in the denominator. Under survey weights nobody is counted one by one:
    the four counts are None.
    """

    metric: str
    first: str
    second: str
    by: Grouping
    stratum: Annotated[Group, Member("given")]
    group: Group
    standing: Eligibility
    n: int
    both: int | None
    first_only: int | None
    second_only: int | None
    neither: int | None
    first_value: float
    second_value: float
    difference: float
    low: float | None
    high: float | None
    significance: Significance | None

    def swapped(self) -> ModelChange:
        """The same with the two models in the other order."""
        return replace(
            self,
            first=self.second,
            second=self.first,
            first_only=self.second_only,
            second_only=self.first_only,
            first_value=self.second_value,
            second_value=self.first_value,
            difference=0.0 - self.difference,
            low=None if self.high is None else 0.0 - self.high,
            high=None if self.low is None else 0.0 - self.low,
        )


@declare_subjects(
    nobody="definitions fail_on earlier searched burdens",
    anybody="compared",  # counts the groups that are large enough
    never="subgroups model_changes",
    nested="provenance ledger groups rates comparisons lattice epsilons findings reversals notices "
    "scores curves waivers",
    hidden={"model_changes": ()},
)
@dataclass(frozen=True, slots=True)
class AuditResult:
    """Everything an audit found. `fail_on` decides from which status on it fails.

    `earlier` is the result it was compared with, if any; `searched` are the columns that a search
    for reversals found in the data, where one was asked for; `compared` is how many comparisons
    the scan for reversals made, None where there was none. `model_changes` sets every two models
    beside each other; `burdens` are the outcomes whose positive is one (`favourable: false`).
    """

    provenance: Annotated[Provenance, FLAT]
    ledger: Ledger | PublishedLedger
    groups: tuple[GroupRow, ...]
    rates: tuple[RateRow, ...]
    comparisons: tuple[ComparisonRow, ...]
    lattice: tuple[LatticeRow, ...]
    epsilons: tuple[EpsilonReading, ...]
    findings: Annotated[tuple[Finding, ...], Member("checks")]
    reversals: tuple[Reversal, ...]
    definitions: tuple[Definition, ...]
    notices: tuple[Notice, ...]
    scores: tuple[ScoreRow, ...] = ()
    curves: tuple[Curve, ...] = ()
    fail_on: Annotated[FailOn, Member("options.fail_on")] = FailOn.FAIL
    waivers: tuple[WaiverOutcome, ...] = ()
    earlier: Annotated[Earlier | None, Member("baseline")] = None
    subgroups: Subgroups | None = None
    searched: Searched | None = None
    compared: Annotated[int | None, Member("reversal_comparisons")] = None
    model_changes: tuple[ModelChange, ...] = ()
    burdens: tuple[str, ...] = ()

    def __repr__(self) -> str:
        counted = ", ".join(f"{count} {status}" for status, count in self.tally.items() if count)
        return f"AuditResult(verdict={self.verdict}, checks: {counted or 'none'})"

    @property
    @member("summary.checks")
    def tally(self) -> dict[Status, int]:
        """How many checks came out how."""
        counted = Counter(finding.status for finding in self.findings)
        return {status: counted[status] for status in Status}

    @property
    def waived(self) -> int:
        """How many checks a waiver is used in, whatever became of them."""
        return sum(bool(one.waived) or one.status is Status.WAIVED for one in self.findings)

    @property
    @member("summary.not_cleared")
    def not_cleared(self) -> int:
        """How many checks lie beyond a limit without the evidence it asks for, not yet waived."""
        decided = {Status.FAIL, Status.WAIVED}
        return sum(one.not_cleared and one.status not in decided for one in self.findings)

    @property
    @member("summary.verdict")
    def verdict(self) -> Verdict:
        """Fail if a check failed; inconclusive if one could not be evaluated; none without any."""
        tally = self.tally
        if not self.findings:
            return Verdict.NONE
        if tally[Status.FAIL] or (self.fail_on is FailOn.WARN and tally[Status.WARN]):
            return Verdict.FAIL
        if tally[Status.INCONCLUSIVE] or all(map(_is_open, self.findings)):
            return Verdict.INCONCLUSIVE
        return Verdict.PASS

    @property
    @member("summary.exit_code")
    def exit_code(self) -> int:
        """0 pass or nothing judged, 1 failed or not all evaluated, 3 nothing could be evaluated."""
        if self.findings and all(map(_is_open, self.findings)):
            return 3
        if self.fail_on is FailOn.NEVER:
            return 0
        return 1 if self.verdict in {Verdict.FAIL, Verdict.INCONCLUSIVE} else 0

    def raise_for_failure(self) -> None:
        """Raises `AuditFailed` where the command would exit with 1 or 3."""
        if self.exit_code:
            bad = [one for one in self.findings if one.status in {Status.FAIL, Status.INCONCLUSIVE}]
            named = ", ".join(one.check.id for one in bad[:5])
            raise AuditFailed(f"the verdict is {self.verdict}: {named}")

    def table(self, by: str | Sequence[str]) -> pl.DataFrame:
        """One row a group of a grouping: its levels, people, standing, and every rate reported.

        A rate that is reported of several outcomes, or with several parameters, has a column for
        each, `selection_rate of current`, `selection_rate at=0.5`; an attribute that is called like
        another column is `group.n`. Undefined and suppressed values are null, infinite ones
        infinity; strata are not listed.
        """
        import polars as pl  # noqa: PLC0415  # the listed exception: only who asks for a frame pays

        grouping = frozenset([by] if isinstance(by, str) else by)
        known = {frozenset(row.by) for row in self.groups}
        if grouping not in known:
            named = "; ".join(" × ".join(row) for row in dict.fromkeys(r.by for r in self.groups))
            raise KeyError(f"no table by {', '.join(sorted(grouping))}; there is {named}")
        rates = [one for one in self.rates if frozenset(one.by) == grouping and not one.stratum]
        called = _columns(rates)
        ours = {"n", "standing", *called}
        rows: dict[Group, dict[str, object]] = {}
        for row in self.groups:
            if frozenset(row.by) == grouping and not row.stratum:
                levels = {f"group.{at}" if at in ours else at: level for at, level in row.group}
                people = {"n": row.n, "standing": str(row.standing)}
                rows.setdefault(row.group, {**levels, **people})
        for rate, column in zip(rates, called, strict=True):
            value = rate.estimate.value
            if rate.group not in rows:
                # Averaged over strata: its people are listed in each of them.
                levels = {f"group.{at}" if at in ours else at: level for at, level in rate.group}
                rows[rate.group] = {**levels, "n": None, "standing": str(rate.standing)}
            rows[rate.group][column] = None if math.isnan(value) else value
        return pl.DataFrame(list(rows.values()), infer_schema_length=None)


def _columns(rates: Sequence[RateRow]) -> list[str]:
    """What the column of each rate is called: its metric, and what tells it from the same one."""
    outcomes: dict[str, set[str]] = {}
    taken: dict[str, set[str]] = {}
    for one in rates:
        outcomes.setdefault(one.metric, set()).add(one.of)
        taken.setdefault(one.metric, set()).add(repr((one.parameters, one.averaged)))
    found = []
    for one in rates:
        name = one.metric
        if len(outcomes[name]) > 1:
            name += f" of {one.of}"
        if len(taken[one.metric]) > 1:
            name += "".join(f" {key}={value}" for key, value in one.parameters.items())
            name += f" over {'+'.join(one.averaged)}" if one.averaged else ""
        found.append(name)
    return found


def _is_open(one: Finding) -> bool:
    """Whether a check could not be evaluated at all, whatever that is to mean."""
    warned = one.status is Status.WARN and isinstance(one.check, Check) and one.estimate is None
    return warned or one.status in {Status.INCONCLUSIVE, Status.SKIPPED}


def definition(record: Metric | Comparison, *, worked: bool = False) -> Definition:
    """The words of a record, ready to print; with a worked example only if asked."""
    family = FAMILIES[record.family]
    return Definition(
        id=record.id,
        title=record.title,
        family=record.family,
        compares=family.compares,
        use=family.use,
        means=record.means,
        formula=_formula(record),
        values="" if isinstance(record, Comparison) else _values(record.bounds),
        direction=_direction(record),
        needs="" if isinstance(record, Comparison) else _needs(record),
        takes=() if isinstance(record, Comparison) else record.takes,
        caution=record.caution,
        elsewhere=record.elsewhere,
        interval="" if isinstance(record, Comparison) else name_interval(record),
        test="" if isinstance(record, Comparison) else name_test(record),
        source=str(record.source),
        aliases=record.aliases,
        example=describe_example(record) if worked else "",
        version=record.version,
    )


def _formula(record: Metric | Comparison) -> str:
    """The formula, with that of its comparison where it is not plain from its name."""
    if not isinstance(record, Disparity):
        return record.formula
    how = record.comparison
    plain = {"difference", "ratio", "gap", "min_ratio", "highest", "itself"}
    return record.formula + ("" if how.id in plain else f"; {how.id}: {how.formula}")


def _values(bounds: Bounds) -> str:
    low, high = bounds
    return f"{'-∞' if low is None else low} to {'∞' if high is None else high}"


def _needs(record: Metric) -> str:
    needed = [str(one) for one in sorted(record.requirements - {Requirement.DISTRIBUTION})]
    if record.conditional:
        needed.append("strata, by `given`")
    if isinstance(record, Disparity) and record.to_reference and record.reference is None:
        needed.append("a reference")
    return ", ".join(needed)


def _direction(record: Metric | Comparison) -> str:
    if isinstance(record, GroupMetric):
        return PREFERENCES[record.better].words
    if isinstance(record, TableMetric) and record.parity:
        return f"at parity {record.parity}"
    ideal = f"{record.ideal} at parity"
    if isinstance(record, Disparity) and record.signed:
        return f"{ideal}, either side departs from it"
    return ideal


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one spec on one set of data; `data` names the file where each has its own."""

    spec: str
    data: str | None
    found: AuditResult | FairauditError

    @property
    def exit_code(self) -> int:
        """The exit code of this answer alone."""
        return self.found.exit_code

    @property
    def title(self) -> str:
        """The spec, and the file where each has its own."""
        return self.spec if self.data is None else f"{self.spec} {self.data}"


def exit_code(answers: Iterable[Answer]) -> int:
    """The worst exit code of several answers."""
    return min((answer.exit_code for answer in answers), key=WORST_FIRST.index)

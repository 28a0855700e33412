"""Results as plain data: `AuditResult`, `DryRun`, `Verification`, with verdicts and exit codes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Annotated, TypeAlias

from fairaudit.base.disclosure_marks import Notice, declare_subjects
from fairaudit.base.errors import NOTHING_EVALUATED, WORST_FIRST, FailOn, FairauditError, Place
from fairaudit.base.frozen import RARE, WRITTEN, Frozen, Unreadable, field, force_setattr
from fairaudit.base.ledger import DataFile, Ledger, PublishedLedger
from fairaudit.base.masking import mask
from fairaudit.counting.strata_models import FeatureBalance
from fairaudit.cube import ExcludeBelow, Group, Grouping
from fairaudit.evidence.practice import DetectableGap
from fairaudit.judge import AnyCheck, Check, Finding, NotEvaluated, Status
from fairaudit.judge.findings import Earlier
from fairaudit.judge.simpson import Reversal, Scanned
from fairaudit.judge.subgroups import Subgroups
from fairaudit.judge.waivers import WaiverOutcome
from fairaudit.metrics.terms import Inference, Minimum
from fairaudit.result.rows import (
    ComparisonRow,
    Curve,
    Definition,
    EpsilonReading,
    FeatureRow,
    GroupRow,
    LatticeRow,
    LocalRates,
    ModelChange,
    RateRow,
    ScoreRow,
)

SCHEMA_VERSION = "3.0"
"""The schema version of the JSON report. A baseline must have the same version."""


class Verdict(StrEnum):
    """The verdict on the whole audit; only `PASS` is true as a condition."""

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    NONE = "none"

    def __bool__(self) -> bool:
        return self is Verdict.PASS


class Profile(Frozen):
    """A profile of a spec; it applies from its `date`, and `text` is the content of its file."""

    name: str
    title: str
    date: str
    source: str
    caution: str
    text: str


@declare_subjects(
    nobody="version spec_path spec_sha256 title context route filter count weight minimum "
    "exclude_below inference created suppress_below cluster sample_strata flags draws "
    "draws_sha256 profiles settings only not_run notation",
    anybody="clusters",
    never="cube_sha256",
    nested="files rows weight_error",
    hidden={"files": ()},
)
class Provenance(Frozen):
    """The origin of a result, sufficient to repeat the run.

    If `suppress_below` is set, smaller counts are hidden, and numbers that would reveal them have
    no value (None). `cluster` is the column of the clusters (rows that belong together), `clusters`
    their number, `sample_strata` the column of the sampling strata. `flags` are the fair ranges
    that mark comparisons, `draws` is the file of given probabilities, `profiles` are the profiles
    of the spec, and `settings` the changes of the spec on the command line. `only` are the names
    that chose the checks, `not_run` the ids of the other checks. `notation` is the notation of the
    CSV files in words.
    """

    version: str
    spec_path: str
    spec_sha256: str
    title: str
    context: Mapping[str, str]
    files: tuple[DataFile, ...]
    rows: int | None
    route: str
    cube_sha256: str | None
    filter: str | None
    count: str | None
    weight: str | None
    weight_error: float
    minimum: Minimum = field(name="*minimum")
    exclude_below: ExcludeBelow | None
    inference: Inference
    created: str
    suppress_below: int | None = None
    cluster: str | None = None
    clusters: int | None = None
    sample_strata: Annotated[str | None, RARE] = None
    flags: Annotated[str | None, RARE] = None
    draws: Annotated[str | None, RARE] = None
    draws_sha256: Annotated[str | None, RARE] = None
    profiles: Annotated[tuple[Profile, ...], RARE] = ()
    settings: Annotated[tuple[str, ...], RARE] = ()
    only: Annotated[tuple[str, ...], RARE] = ()
    not_run: Annotated[tuple[str, ...], RARE] = ()
    notation: Annotated[str, RARE] = ""


class Summary(Frozen):
    """The outcome of a run in numbers; a document has the exit code, and only members that apply.

    `checks` are the numbers of checks by status, `rates` the numbers of compared rates by change,
    and `exit_codes` the numbers of answers by exit code. `not_enough_evidence` is the number of
    checks over a limit without the evidence that the limit requires, and `evaluable` the number of
    checks that can be evaluated.
    """

    exit_code: int
    verdict: Annotated[str, RARE] = ""
    checks: Annotated[Mapping[str, int], RARE] = field(default_factory=dict)
    not_enough_evidence: Annotated[int | None, RARE] = None
    rates: Annotated[Mapping[str, int], RARE] = field(default_factory=dict)
    evaluable: Annotated[int | None, RARE] = None
    exit_codes: Annotated[Mapping[str, int], RARE] = field(default_factory=dict)


@declare_subjects(never="column kind low high blank distinct examples")
class ColumnReading(Frozen):
    """The content of a column of the data.

    `kind` is text, numbers, dates, or several of them. `low` and `high` are the smallest and the
    largest number or date. `blank` is the share of rows without a value. `distinct` is the number
    of different values; None for numbers that are cut into bins, because their values are not
    counted. `examples` are the most frequent values.
    """

    column: str
    kind: str
    low: str
    high: str
    blank: float
    distinct: int | None
    examples: tuple[str, ...]


@declare_subjects(
    nobody="definitions fail_on earlier burdens stages reversals_off positives",
    anybody="compared scanned",  # both show which groups are large enough
    never="subgroups model_changes features local_rates balance readings",
    nested="provenance ledger groups rates comparisons lattice epsilons findings reversals notices "
    "scores curves waivers",
    hidden={"model_changes": (), "features": (), "local_rates": (), "balance": (), "readings": ()},
)
class AuditResult(Frozen):
    """Everything that an audit found. `fail_on` is the lowest status that fails the audit.

    `earlier` is the baseline, if any. `compared` is the number of comparisons in the scan for
    reversals (None without a scan), and `scanned` its scope (None in a published report).
    `features` describe the people, if the spec asks for it. `model_changes` compares each pair of
    models. `burdens` are the outcomes with `favourable: false`, and `stages` the outcomes that are
    stages of a process. `balance` compares the features of both sides of a propensity model. With
    `reversals_off`, the spec turns off the scan for reversals, so an empty list has no meaning.
    `readings` are the contents of the counted columns. `positives` has the positive value of each
    outcome in the words of the spec, for example `repaid = yes` for the label.
    """

    provenance: Provenance
    ledger: Ledger | PublishedLedger
    groups: tuple[GroupRow, ...]
    rates: tuple[RateRow, ...]
    comparisons: tuple[ComparisonRow, ...]
    lattice: tuple[LatticeRow, ...]
    epsilons: tuple[EpsilonReading, ...]
    findings: tuple[Finding, ...] = field(name="checks")
    reversals: tuple[Reversal, ...]
    definitions: tuple[Definition, ...]
    notices: tuple[Notice, ...]
    scores: tuple[ScoreRow, ...] = ()
    curves: tuple[Curve, ...] = ()
    fail_on: FailOn = FailOn.FAIL
    waivers: tuple[WaiverOutcome, ...] = ()
    earlier: Earlier | None = field(default=None, name="baseline")
    subgroups: Subgroups | None = None
    compared: int | None = field(default=None, name="reversal_comparisons")
    scanned: Annotated[Scanned | None, RARE] = field(default=None, name="reversal_scan")
    model_changes: tuple[ModelChange, ...] = ()
    burdens: tuple[str, ...] = ()
    stages: Annotated[tuple[str, ...], RARE] = ()
    features: Annotated[tuple[FeatureRow, ...], RARE] = ()
    local_rates: Annotated[tuple[LocalRates, ...], RARE] = ()
    balance: Annotated[tuple[FeatureBalance, ...], RARE] = ()
    reversals_off: Annotated[bool, RARE] = False
    readings: Annotated[tuple[ColumnReading, ...], RARE] = ()
    positives: Annotated[Mapping[str, str], RARE] = field(default_factory=dict)

    def __repr__(self) -> str:
        worst_first = reversed([*self.tally.items()])
        counted = ", ".join(f"{count} {status}" for status, count in worst_first if count)
        return f"AuditResult(verdict={self.verdict}, checks: {counted or 'none'})"

    def contradictions(self) -> Iterator[Unreadable]:
        """The contradictions between the ledger, ids, baseline, reversals and definitions."""
        if not isinstance(self.ledger, Ledger) and self.provenance.suppress_below is None:
            yield Unreadable("hides numbers, and the result is not suppressed", "ledger")
        ids: set[str] = set()
        for index, finding in enumerate(self.findings):
            place, before = ("checks", index), finding.before
            if finding.check.id in ids:
                yield Unreadable("stands twice", *place, "id")
            ids.add(finding.check.id)
            if before is not None and before.earlier != self.earlier:
                why = "is not the baseline of the result"
                yield Unreadable(why, *place, "baseline", "earlier")
            listed = (*finding.reversals, *(before.reversals if before else ()))
            if any(reversal not in self.reversals for reversal in listed):
                yield Unreadable("are not among the reversals", *place, "reversals")
        known = {definition.id for definition in self.definitions}
        for index, rate in enumerate(self.rates):
            if rate.metric not in known:
                yield Unreadable("is not among the definitions", "rates", index, "metric")

    @property
    def summary(self) -> Annotated[Summary, WRITTEN]:
        """The exit code, the verdict, and the numbers of checks."""
        tally = {str(status): count for status, count in self.tally.items()}
        return Summary(self.exit_code, str(self.verdict), tally, self.not_enough_evidence)

    @property
    def tally(self) -> dict[Status, int]:
        """The number of checks with each status."""
        counted = Counter(finding.status for finding in self.findings)
        return {status: counted[status] for status in Status}

    @property
    def waived(self) -> int:
        """The number of checks that use a waiver, with any status."""
        return sum(
            bool(finding.waived) or finding.status is Status.WAIVED for finding in self.findings
        )

    @property
    def not_enough_evidence(self) -> int:
        """The number of checks over a limit without the required evidence, except waived checks."""
        decided = {Status.FAIL, Status.WAIVED}
        return sum(
            finding.not_enough_evidence and finding.status not in decided
            for finding in self.findings
        )

    @property
    def verdict(self) -> Verdict:
        """The worst of fail, inconclusive (also if all are open) and pass; None without checks."""
        tally = self.tally
        if not self.findings:
            return Verdict.NONE
        if tally[Status.FAIL] or (self.fail_on is FailOn.WARN and tally[Status.WARN]):
            return Verdict.FAIL
        if tally[Status.INCONCLUSIVE] or all(map(is_open, self.findings)):
            return Verdict.INCONCLUSIVE
        return Verdict.PASS

    @property
    def exit_code(self) -> int:
        """0: pass, or no checks. 1: fail or inconclusive. 3: no check could be evaluated."""
        if self.findings and all(map(is_open, self.findings)):
            return NOTHING_EVALUATED
        if self.fail_on is FailOn.NEVER:
            return 0
        return 1 if self.verdict in {Verdict.FAIL, Verdict.INCONCLUSIVE} else 0


def is_open(finding: Finding) -> bool:
    """Whether a check could not be evaluated, even if the spec makes this a warning."""
    warned = (
        finding.status is Status.WARN
        and isinstance(finding.check, Check)
        and finding.estimate is None
    )
    return warned or finding.status in {Status.INCONCLUSIVE, Status.SKIPPED}


ResultOrError: TypeAlias = AuditResult | FairauditError
"""The outcome of an audit: its result, or the error that prevented it."""


class Answer(Frozen):
    """The result of a spec on some data; `data` is the file, if each file has a separate result."""

    spec: str
    data: str | None
    result: ResultOrError
    notices: tuple[Notice, ...] = ()
    """Notices on the data that several answers share, such as files that are not read."""

    def __post_init__(self) -> None:
        force_setattr(self, "spec", mask(self.spec))
        force_setattr(self, "data", self.data and mask(self.data))

    @property
    def exit_code(self) -> int:
        """The exit code of this answer alone."""
        return self.result.exit_code

    @property
    def title(self) -> str:
        """The spec, and the file, if each file has a separate result."""
        return self.spec if self.data is None else f"{self.spec} {self.data}"


def list_notices(answers: Iterable[Answer]) -> list[Notice]:
    """The notices on the data of all answers, each once."""
    return list(dict.fromkeys(notice for answer in answers for notice in answer.notices))


def exit_code(answers: Iterable[Answer]) -> int:
    """The worst exit code of several answers."""
    return min((answer.exit_code for answer in answers), key=WORST_FIRST.index)


class LevelPreview(Frozen):
    """A level of the audit: its number of people, and the levels of the data that it includes.

    `sources` are the levels of the data; None is a missing value. They are empty for a bin of
    numbers. `role` is positive or negative for a class; for rows outside all groups, it says how
    they are treated. A suppressed `n` has no value (None). `is_rare` marks groups that are too
    small to compare.
    """

    level: str
    n: int | None
    sources: tuple[str | None, ...] = ()
    role: str = ""
    is_rare: bool = False


class ColumnPreview(Frozen):
    """A column of the spec: its role, the columns of the data (and their `reading`), its levels."""

    name: str
    role: str
    columns: tuple[str, ...]
    reading: str
    levels: tuple[LevelPreview, ...] = ()


class GroupingPreview(Frozen):
    """The groups by the columns `by`: their number, the number of `compared` groups, the smallest.

    `empty` is the number of combinations of levels without people. The smallest group has `n`
    people with a known outcome `of`. If `n` and `compared` are suppressed, they have no value
    (None).
    """

    by: Grouping
    of: str
    groups: int
    empty: int
    compared: int | None
    smallest: Group
    n: int | None


class CheckPreview(Frozen):
    """A check before the run: whether it can be evaluated, and if not, why.

    `is_evaluable` has no value (None) without data. `not_judged` are the groups that the check
    leaves out. `detectable` is the smallest gap that the test detects for the smallest group, if it
    is known. `finds_limit` says whether the test detects a gap as wide as the limit in all groups.
    """

    check: AnyCheck = field(name="*check")
    limit: str
    is_evaluable: bool | None = None
    why: str = field(default="", name="reason")
    not_judged: tuple[NotEvaluated, ...] = ()
    detectable: DetectableGap | None = None
    finds_limit: bool | None = None


class Cost(Frozen):
    """The cost of the audit: rows and bytes to read, cells to count, and passes over the data.

    `further_passes` are the purposes of the passes before and after the count. Suppressed numbers
    have no value (None).
    """

    rows: int | None
    bytes: int | None
    cells: int | None
    route: str
    further_passes: tuple[str, ...] = ()


class DryRun(Frozen):
    """The plan of a run, without rates, values or verdicts; `cost` is None if no data was read.

    `notation` is the notation of the first file in words, and `readings` are the contents of its
    columns. Both are empty if the report is to be published, or if the data is not in files.
    """

    spec: str
    title: str
    data: tuple[str, ...]
    columns: tuple[ColumnPreview, ...]
    checks: tuple[CheckPreview, ...]
    groupings: tuple[GroupingPreview, ...] = ()
    notices: tuple[Notice, ...] = ()
    cost: Cost | None = None
    readings: tuple[ColumnReading, ...] = ()
    notation: str = ""

    @property
    def summary(self) -> Annotated[Summary, WRITTEN]:
        """The exit code, and the number of checks that can be evaluated."""
        return Summary(self.exit_code, evaluable=self.evaluable)

    @property
    def evaluable(self) -> int:
        """The number of checks that can be evaluated."""
        return sum(check.is_evaluable is True for check in self.checks)

    @property
    def exit_code(self) -> int:
        """3 if there are checks but no check can be evaluated, as for a run; otherwise 0."""
        is_open = self.cost is not None and self.checks and not self.evaluable
        return NOTHING_EVALUATED if is_open else 0


class TableFault(Frozen):
    """A number that cannot be true: the rule that it breaks, its group and place, and a message."""

    rule: str
    place: Place
    group: Group
    message: str


class UnreadCell(Frozen):
    """A cell in a column of counts, rates or ratios that is not a number."""

    place: Place
    column: str
    text: str


class Verification(Frozen):
    """The faults in published tables.

    `tables` are the names of the tables, `rows` is the number of their rows. `unread` are the cells
    that were not checked, such as `N/A`.
    """

    tables: tuple[str, ...]
    rows: int
    faults: tuple[TableFault, ...]
    unread: tuple[UnreadCell, ...]

    @property
    def summary(self) -> Annotated[Summary, WRITTEN]:
        """The exit code."""
        return Summary(self.exit_code)

    @property
    def exit_code(self) -> int:
        """1 if there are faults, otherwise 0."""
        return int(bool(self.faults))

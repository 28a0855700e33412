"""Top-level keys and defaults. Add one here, in model.py, build.py, editor_schema `_SECTIONS`.

What stands below a key is its description and examples in the JSON Schema for editors and in
docs/spec.md.

Shorthand is normalised before a field is validated, so there are no unions and every fault is
reported once.
"""

# Annotations are no texts here: they say how a value is read.
from typing import Annotated, Literal

from fairaudit.cube import ExcludeBelow, ShareOf
from fairaudit.judge import OnUndefined
from fairaudit.metrics import Minimum
from fairaudit.metrics.inference import (
    DEFAULT_INFERENCE,
    Correction,
    Family,
    FisherTest,
    RatioInterval,
    TTest,
    ZTest,
)
from fairaudit.spec.column_schema import Columns
from fairaudit.spec.fields import (
    Flag,
    Groupings,
    Number,
    Reason,
    Share,
    Text,
    Texts,
    Whole,
    Words,
    read_design,
    read_entries,
    read_metric,
    read_row_limits,
    read_scan,
)
from fairaudit.spec.metrics_schema import Defaults, Metric, Simpson, Subgroups
from fairaudit.spec.shape import Reader, Shape

VERSION: Literal["1"] = "1"


class FileFormat(Shape):
    """How the CSV files are written, and which sheet of an Excel workbook is read."""

    separator: Text = ","
    """The sign between two values of a line. Example: `;`."""
    decimal: Text = "."
    """The sign before the decimals of a number. Example: `","`."""
    thousands: Text | None = None
    """The sign between the thousands of a number, other than the decimal sign. Example: `","`."""
    encoding: Text = "utf-8"
    """How the bytes of the file become text. Example: `latin-1`."""
    multiline: Flag = False
    """Whether a value in quotes may run over several lines. Example: `true`."""
    header: Texts | None = None
    """The names of the columns, of a file whose first line is a row.

    Example: `[sex, race, hired]`.
    """
    sheet: Text | None = None
    """The sheet of an Excel workbook, if several hold rows. Example: `Applicants 2024`."""


class MissingRules(Shape):
    """What is missing and what becomes of it."""

    tokens: Texts = [""]
    """Texts that mean missing, besides an empty one; of a number its value (999 is 999.0). Example:
    `["", NA]`.
    """
    protected: Literal["show", "group", "aside", "drop", "error"] = "show"
    """What becomes of a row without a level of an attribute: listed and never compared, a group of
    its own, left out (aside, drop), or an error.

    Example: `group`.
    """
    strata: Literal["show", "group", "aside", "drop", "error"] = "show"
    """The same of a row without a level of a stratum. Example: `drop`."""
    label: Literal["aside", "drop", "error"] = "aside"
    """What becomes of a row without a label: set aside and bounded, dropped from all checks, or an
    error.

    Example: `drop`.
    """
    prediction: Literal["aside", "drop", "error"] = "error"
    """What becomes of a row without a prediction: set aside and bounded, dropped, or an error.

    Example: `aside`.
    """
    decision: Literal["aside", "drop", "error"] | None = None
    """The same of the decision, where the outcome is called `decision`; error unless it is said.

    Example: `aside`.
    """
    score: Literal["aside", "drop", "error"] = "error"
    """What becomes of a row without a score: set aside, dropped, or an error. Example: `aside`."""
    numbers: Literal["aside", "drop", "error"] = "aside"
    """What becomes of a row without one of the further numbers. Example: `drop`."""


class ExpectedRows(Shape):
    """How many rows an audit must count."""

    at_least: Whole | None = None
    """The fewest rows that must be counted. Example: `500`."""
    at_most: Whole | None = None
    """The most rows that may be counted. Example: `100000`."""


class Expected(Shape):
    """What the data must hold to be audited: rows, and levels of attributes and strata."""

    rows: Annotated[ExpectedRows, Reader(read_row_limits)] = ExpectedRows()
    """How many rows must be counted; else there is an error and no verdict.

    Example: `{at_least: 500}`.
    """
    levels: dict[str, Texts] = {}
    """Levels of attributes and strata that must occur; else there is an error and no verdict.

    Example: `{race: [White, Black]}`.
    """


class Exclusion(Shape):
    """Groups that are too small a share of the people to be compared, and by whose rule."""

    share: Share
    """A group with a smaller share of the people is listed and not compared. Example: `2%`."""
    reason: Reason
    """Why such groups are not compared; every report says it.

    Example: `Local Law 144 allows it`.
    """
    of: Literal["known", "all"] = "known"
    """What the share is of: the people whose group is known, or all people. Example: `all`."""

    @property
    def rule(self) -> ExcludeBelow:
        """The rule as it is applied."""
        return ExcludeBelow(self.share, self.reason, ShareOf(self.of))


class Groups(Shape):
    """Which groupings are reported, and what a group must reach to take part."""

    by: Groupings = [["all"]]
    """Which groupings the tables show: columns, intersections, or `each`, `full`, `all`.

    Example: `[gender, gender * race]`.
    """
    min_size: Whole | None = None
    """A group with fewer people in the denominator is listed and not compared. Example: `30`."""
    min_events: Whole | None = None
    """A group with fewer expected events, or non-events, is listed and not compared.

    Example: `5`.
    """
    exclude_below: Exclusion | None = None
    """Leaves groups that are a small share of the people out of comparisons, for a reason.

    Example: `{share: 2%, reason: Local Law 144 allows it}`.
    """

    @property
    def minimum(self) -> Minimum:
        """What a group must reach to take part."""
        return Minimum(self.min_size, self.min_events)


class Inference(Shape):
    """How sure intervals and tests are, and by which of several accepted ways."""

    confidence: Number = DEFAULT_INFERENCE.confidence
    """The confidence of every interval; a test rejects below one minus it. Example: `0.99`."""
    correction: Correction = DEFAULT_INFERENCE.correction
    """How p-values are corrected over the tests behind the gates of the spec.

    Example: `benjamini_hochberg`.
    """
    family: Family = DEFAULT_INFERENCE.family
    """Which tests are corrected together: of the spec, of an outcome and model, or of a check.

    Tests that can fail the run, and tests that only warn, are corrected apart. Example: `outcome`.
    """
    ratio: RatioInterval = DEFAULT_INFERENCE.ratio
    """How the interval of a ratio of two rates is found. Example: `katz`."""
    z: ZTest = DEFAULT_INFERENCE.z
    """Whose variance a z test takes: that of both groups together, or each group's own.

    Example: `unpooled`.
    """
    t: TTest = DEFAULT_INFERENCE.t
    """Whether a t test lets the variances of the groups differ (welch) or not.

    Example: `student`.
    """
    fisher: FisherTest = DEFAULT_INFERENCE.fisher
    """Whether Fisher's test counts tables as likely as the observed one half, or whole.

    Example: `exact`.
    """
    yates: Flag = DEFAULT_INFERENCE.yates
    """Whether the z test of two shares is corrected for continuity. Example: `true`."""


class SampleDesign(Shape):
    """How the sample was drawn: clusters within strata."""

    strata: Text
    """The column of the strata that the sample was drawn from. A stratum of one cluster varies
    about the mean of all.

    Example: `SDMVSTRA`.
    """
    cluster: Text | None = None
    """The column of the clusters that were drawn first in each stratum; one name in two strata
    means two clusters. By default `columns.cluster`.

    Example: `SDMVPSU`.
    """


class AuditSpec(Shape):
    """An audit spec."""

    version: Literal["1"] = VERSION
    """The version of the language; there is one. Example: `1`."""
    title: Text | None = None
    """What is audited, as reports say it; `${env.NAME}` stands for a variable of the environment.

    Example: `Loan approvals 2024`.
    """
    context: dict[str, Text] = {}
    """What else every report says of the audit, a text for each key.

    Example: `{system: loan model 3}`.
    """
    profile: Text | None = None
    """A piece of a spec that a rule or a practice asks for, merged under this one and printed in
    every report: one that comes with fairaudit, or a file of your own beside the spec.

    Examples: `nyc-ll144`, `four-fifths`.
    """
    data: Texts | None = None
    """Data files, globs or folders of them, relative to the spec; `${env.NAME}` stands for a
    variable.

    Examples: `loans.csv`, `[jan.parquet, feb.parquet]`.
    """
    repeated_files: Literal["error", "allow"] = "error"
    """What becomes of data files with the same content, whose rows count twice: an error, or they
    are counted and reported.

    Example: `allow`.
    """
    columns: Columns
    """What each column of the data is to the audit.

    Example: `{protected: [gender, race], decision: approved}`.
    """
    design: Annotated[SampleDesign, Reader(read_design)] | None = None
    """The strata and the clusters of a survey's sample, from which variances follow.

    Example: `{strata: SDMVSTRA, cluster: SDMVPSU}`.
    """
    format: FileFormat = FileFormat()
    """How the CSV files are written. Example: `{separator: ;}`."""
    dates: dict[str, Text] = {}
    """The notation of a column's dates, where it is not 2024-12-31: `%d`, `%m`, `%b` (the name of a
    month), `%Y`, `%y`, `%H:%M:%S`.

    Example: `{decided: "%m/%d/%Y"}`.
    """
    filter: Text | None = None
    """A condition on rows, as in SQL: texts and dates stand in single quotes, names with a blank in
    double quotes. Rows that lack a value it needs leave checks open that they could turn.

    Examples: `hours >= 10 and country is not null`, `race in ('Black', 'White') and
    decided >= '2024-01-01'`, `'"days open" < 30'`.
    """
    missing: MissingRules = MissingRules()
    """Which values are missing, and what becomes of their rows.

    Example: `{tokens: [NA], label: drop}`.
    """
    undefined: OnUndefined = OnUndefined.FAIL
    """What a value that does not exist does to its check. Example: `warn`."""
    groups: Groups = Groups()
    """Which groupings tables show, and what a group must reach to be compared.

    Example: `{min_size: 30}`.
    """
    expect: Expected = Expected()
    """What the data must hold; else there is an error and no verdict.

    Example: `{rows: {at_least: 500}}`.
    """
    inference: Inference = Inference()
    """How sure intervals and tests are, and by which method. Example: `{confidence: 0.99}`."""
    defaults: Defaults = Defaults()
    """What the entries of `metrics` share, unless they say it themselves.

    Example: `{by: each, fail: "< 0.8"}`.
    """
    metrics: Annotated[list[Annotated[Metric, Reader(read_metric)]], Reader(read_entries)]
    """Metrics to report, and with a limit to check: a name, an entry, a preset, or a list of these.

    Examples: `selection_rate`, `[selection_rate, {metric: demographic_parity_ratio, fail: "<
    0.8"}]`.
    """
    simpson: Annotated[Simpson, Reader(read_scan)] = Simpson()
    """The scan for Simpson's reversals, which is made unless it is `false`.

    Examples: `false`, `{warn: every_stratum}`.
    """
    subgroups: Subgroups | None = None
    """A search for subgroups whose rate differs from that of all people.

    Example: `{fail: "> 0.1"}`.
    """
    waivers: Words | None = None
    """A file of waivers, relative to the spec. Example: `waivers.yaml`."""
    draws: Words | None = None
    """A file of draws of the groups' probabilities, relative to the spec. Example: `draws.csv`."""
    suppress_below: Whole | None = None
    """Counts of fewer people are not published, nor what would tell them. Example: `11`."""
    flags: Literal["fairmlhealth"] | None = None
    """Marks of ratios and differences in a table of groups; there is no limit and no verdict.

    Example: `fairmlhealth`.
    """
    describe: Flag = False
    """Whether a table describes the declared features in each group. Example: `true`."""

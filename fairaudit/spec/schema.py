"""Top-level keys of a spec, with their defaults and descriptions.

The text below a key is its description, with examples, in the JSON Schema for editors and in
docs/spec.md. To add a key, add it here, in `model.py` and `build.py`, and for a key of `AuditSpec`
in `_SECTIONS` of `editor_schema.py`.
"""

# Annotations are no texts here: they say how a value is read.
from enum import StrEnum
from fractions import Fraction
from typing import Annotated, Literal, TypeAlias

from fairaudit.base.frozen import Frozen, field
from fairaudit.cube import ExcludeBelow, ShareOf
from fairaudit.judge import OnUndefined
from fairaudit.metrics import Minimum
from fairaudit.metrics.inference import Inference
from fairaudit.spec.column_schema import Columns
from fairaudit.spec.fields import (
    METRIC_NAME,
    NO_REPLICATES,
    Groupings,
    Reason,
    Texts,
    Words,
    as_list,
    expand_metric,
)
from fairaudit.spec.metrics_schema import Defaults, Metric, Simpson, Subgroups
from fairaudit.spec.reading import ITEM, Reader, Short
from fairaudit.spec.text import Text

VERSION: Literal["1"] = "1"


class FileFormat(Frozen):
    """How the CSV files are written, and which sheet of an Excel workbook is read."""

    separator: str = ","
    """The sign between two values of a line. Example: `;`."""
    decimal: str = "."
    """The sign before the decimals of a number. Example: `","`."""
    thousands: str | None = None
    """The sign between the thousands of a number, other than the decimal sign. Example: `","`."""
    encoding: str = "utf-8"
    """How the bytes of the file become text. Example: `latin-1`."""
    multiline: bool = False
    """Whether a value in quotes may run over several lines. Example: `true`."""
    header: Texts | None = None
    """The names of the columns, of a file whose first line is a row.

    Example: `[sex, race, hired]`.
    """
    sheet: str | None = None
    """The sheet of an Excel workbook, if several hold rows. Example: `Applicants 2024`."""


class MissingPolicy(StrEnum):
    """What becomes of a row whose value is missing in a column."""

    SHOW = "show"
    GROUP = "group"
    ASIDE = "aside"
    DROP = "drop"
    ERROR = "error"


_OfOutcome: TypeAlias = Literal[MissingPolicy.ASIDE, MissingPolicy.DROP, MissingPolicy.ERROR]


class Missing(Frozen):
    """What is missing and what becomes of it."""

    tokens: Annotated[tuple[str, ...], Short(as_list, (ITEM,))] = ("",)
    """Texts that mean missing, besides an empty one; of a number its value (999 is 999.0). Example:
    `["", NA]`.
    """
    protected: MissingPolicy = MissingPolicy.SHOW
    """What becomes of a row without a level of an attribute: listed and never compared, a group of
    its own, left out (aside, drop), or an error.

    Example: `group`.
    """
    strata: MissingPolicy = MissingPolicy.SHOW
    """The same of a row without a level of a stratum. Example: `drop`."""
    label: _OfOutcome = MissingPolicy.ASIDE
    """What becomes of a row without a label: set aside and bounded, dropped from all checks, or an
    error.

    Example: `drop`.
    """
    prediction: _OfOutcome = MissingPolicy.ERROR
    """What becomes of a row without a prediction: set aside and bounded, dropped, or an error.

    Example: `aside`.
    """
    decision: _OfOutcome | None = None
    """The same of the decision, where the outcome is called `decision`; error unless it is said.

    Example: `aside`.
    """
    score: _OfOutcome = MissingPolicy.ERROR
    """What becomes of a row without a score: set aside, dropped, or an error. Example: `aside`."""
    numbers: _OfOutcome = MissingPolicy.ASIDE
    """What becomes of a row without one of the further numbers. Example: `drop`."""


class ExpectedRows(Frozen):
    """How many rows an audit must count."""

    at_least: int | None = None
    """The fewest rows that must be counted. Example: `500`."""
    at_most: int | None = None
    """The most rows that may be counted. Example: `100000`."""


def _refuse_number(value: object) -> object:
    if not isinstance(value, dict):
        raise ValueError("use `{at_least: 500}`, `{at_most: 500}` or both")  # noqa: TRY004  # readers raise ValueError
    return value


class Expected(Frozen):
    """What the data must hold to be audited: rows, and levels of attributes and strata."""

    rows: Annotated[ExpectedRows, Short(_refuse_number)] = ExpectedRows()
    """How many rows must be counted; else there is an error and no verdict.

    Example: `{at_least: 500}`.
    """
    levels: dict[str, Annotated[tuple[Text, ...], Short(as_list, (ITEM,))]] = {}
    """Levels of attributes and strata that must occur; else there is an error and no verdict.

    Example: `{race: [White, Black]}`.
    """


class Exclusion(Frozen):
    """Groups that are too small a share of the people to be compared, and by whose rule."""

    share: Fraction
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


class Groups(Frozen):
    """Which groupings are reported, and what a group must reach to take part."""

    by: Groupings = field(default_factory=lambda: [["all"]])
    """Which groupings the tables show: columns, intersections, or `each`, `full`, `all`.

    Example: `[gender, gender * race]`.
    """
    min_size: int | None = None
    """A group with fewer people in the denominator is listed and not compared. Example: `30`."""
    min_events: int | None = None
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


class SampleDesign(Frozen):
    """How the sample was drawn: clusters within strata."""

    strata: str
    """The column of the strata that the sample was drawn from. A stratum of one cluster varies
    about the mean of all.

    Example: `SDMVSTRA`.
    """
    cluster: str | None = None
    """The column of the clusters that were drawn first in each stratum; one name in two strata
    means two clusters. By default `columns.cluster`.

    Example: `SDMVPSU`.
    """


def _refuse_replicates(value: object) -> object:
    if isinstance(value, dict) and "replicates" in value:
        raise ValueError(NO_REPLICATES)
    return value


def _list_entries(value: object) -> object:
    if value in ([], None):
        raise ValueError("list at least one metric")
    return as_list(value)


def _expand_scan(value: object) -> object:
    return {"scan": "false"} if value == "false" else value


class AuditSpec(Frozen, kw_only=True):
    """An audit spec."""

    version: Annotated[Literal["1"], Reader(None, {"enum": [1, "1"]})] = VERSION
    """The version of the language; there is one. Example: `1`."""
    title: str | None = None
    """What is audited, as reports say it; `${env.NAME}` stands for a variable of the environment.

    Example: `Loan approvals 2024`.
    """
    context: dict[str, str] = {}
    """What else every report says of the audit, a text for each key.

    Example: `{system: loan model 3}`.
    """
    profile: str | None = None
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
    design: Annotated[SampleDesign, Short(_refuse_replicates)] | None = None
    """The strata and the clusters of a survey's sample, from which variances follow.

    Example: `{strata: SDMVSTRA, cluster: SDMVPSU}`.
    """
    format: FileFormat = FileFormat()
    """How the CSV files are written. Example: `{separator: ;}`."""
    dates: dict[str, str] = {}
    """The notation of a column's dates, where it is not 2024-12-31: `%d`, `%m`, `%b` (the name of a
    month), `%Y`, `%y`, `%H:%M:%S`.

    Example: `{decided: "%m/%d/%Y"}`.
    """
    filter: str | None = None
    """A condition on rows, as in SQL: texts and dates stand in single quotes, names with a blank in
    double quotes. Rows that lack a value it needs leave checks open that they could turn.

    Examples: `hours >= 10 and country is not null`, `race in ('Black', 'White') and
    decided >= '2024-01-01'`, `'"days open" < 30'`.
    """
    missing: Missing = Missing()
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
    metrics: Annotated[
        list[Annotated[Metric, Short(expand_metric, (METRIC_NAME,))]], Short(_list_entries, (ITEM,))
    ]
    """Metrics to report, and with a limit to check: a name, an entry, a preset, or a list of these.

    Examples: `selection_rate`, `[selection_rate, {metric: demographic_parity_ratio, fail: "<
    0.8"}]`.
    """
    simpson: Annotated[Simpson, Short(_expand_scan, ({"const": False},))] = Simpson()
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
    suppress_below: int | None = None
    """Counts of fewer people are not published, nor what would tell them. Example: `11`."""
    flags: Literal["fairmlhealth"] | None = None
    """Marks of ratios and differences in a table of groups; there is no limit and no verdict.

    Example: `fairmlhealth`.
    """
    describe: bool = False
    """Whether a table describes the declared features in each group. Example: `true`."""

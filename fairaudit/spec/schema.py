"""Top-level keys of a spec, with their defaults and descriptions.

The text below a key is its description, with examples, in the JSON Schema for editors and in
docs/spec.md. To add a key, add it here, in `model.py` and `build.py`, and for a key of `AuditSpec`
in `_SECTIONS` of `tests/spec_page.py`.
"""

# Annotations are evaluated, because they define how a value is read.
import json
from enum import StrEnum
from fractions import Fraction
from typing import Annotated, Literal, TypeAlias

from fairaudit.base.frozen import Frozen, field
from fairaudit.cube import ExcludeBelow, ShareOf
from fairaudit.judge.checks import OnUndefined
from fairaudit.metrics.terms import Inference, Minimum
from fairaudit.spec.key_schema import Columns, Defaults, Metric, Simpson, Subgroups
from fairaudit.spec.reading import (
    ITEM,
    METRIC_NAME,
    NO_REPLICATES,
    ColumnName,
    ColumnNames,
    Form,
    Groupings,
    LocatedTexts,
    Reason,
    Texts,
    Words,
    as_list,
    expand_metric,
    under_key,
)
from fairaudit.spec.text import LocatedText

VERSION: Literal["1"] = "1"


class FileFormat(Frozen):
    """The format of the CSV files, and the sheet of an Excel workbook."""

    separator: str = ","
    """The character between two values of a line. Example: `;`."""
    decimal: str = "."
    """The decimal separator of numbers. Example: `","`."""
    thousands: str | None = None
    """The thousands separator of numbers; it must differ from `decimal`. Example: `","`."""
    symbols: Annotated[tuple[str, ...], Form(as_list, (ITEM,))] = ()
    """Symbols before or after a number that are ignored: with `%`, 15 % is 15. Example:
    `["€", "%"]`."""
    accounting: bool = False
    """Whether `(12)` and `12-` are the number -12. Example: `true`."""
    encoding: str = "utf-8"
    """The text encoding of the file. Example: `latin-1`."""
    multiline: bool = False
    """Whether quoted values may contain line breaks. Example: `true`."""
    header: Texts | None = None
    """The names of the columns, for a file without a header line. Example: `[sex, race, hired]`."""
    skip_rows: int = 0
    """The number of lines (or rows of a sheet) to skip above the header, such as titles and blank
    lines. If `header` names the columns, above the first row. Example: `2`."""
    skip_footer: int = 0
    """The number of lines (or rows of a sheet) to skip at the end, such as notes, totals and blank
    lines. Example: `1`."""
    sheet: str | None = None
    """The sheet of an Excel workbook, if several sheets have rows. Example: `Applicants 2024`."""


_KEEP = {"enum": ["error", "first", "last"]}


class RepeatedPeople(Frozen):
    """Which row counts if a person has several rows."""

    keep: Literal["error", "first", "last"] = "error"
    """What to do: count the first or the last row of the person, or report an error. Example:
    `last`."""
    latest: ColumnNames = ()
    """Columns of dates or numbers: the row with the latest date or the largest number counts. The
    next column decides between rows with equal values; if all are equal, the last row counts.
    Examples: `applied_on`, `[applied_on, number]`."""


class MissingPolicy(StrEnum):
    """How to treat a row with a missing value in a column."""

    SHOW = "show"
    GROUP = "group"
    ASIDE = "aside"
    DROP = "drop"
    ERROR = "error"


_OfOutcome: TypeAlias = Literal[MissingPolicy.ASIDE, MissingPolicy.DROP, MissingPolicy.ERROR]


class Missing(Frozen):
    """Values that mean missing, and how to treat their rows."""

    tokens: Annotated[tuple[str, ...], Form(as_list, (ITEM,))] = ("",)
    """Values that mean missing, in addition to the empty text. A number matches by value: 999
    matches 999.0. Example: `["", NA]`."""
    protected: MissingPolicy = MissingPolicy.SHOW
    """How to treat rows without a value in a protected column: list them, but do not compare them
    (show), make them a group, leave them out of tables by this column (aside or drop), or report an
    error. Example: `group`."""
    strata: MissingPolicy = MissingPolicy.SHOW
    """How to treat rows without a value in a stratum. Example: `drop`."""
    label: _OfOutcome = MissingPolicy.ASIDE
    """How to treat rows without a label: leave them out and compute how much they could change a
    value (aside), drop them from all checks, or report an error. Example: `drop`."""
    prediction: _OfOutcome = MissingPolicy.ERROR
    """How to treat rows without a prediction: leave them out and compute how much they could change
    a value (aside), drop them from all checks, or report an error. Example: `aside`."""
    decision: _OfOutcome | None = None
    """The same as `prediction`, for a spec with a `decision`; `error` by default. Example:
    `aside`."""
    score: _OfOutcome = MissingPolicy.ERROR
    """How to treat rows without a score: leave them out of values of the score (aside), drop them
    from all checks, or report an error. Example: `aside`."""
    numbers: _OfOutcome = MissingPolicy.ASIDE
    """How to treat rows without a value in one of `numbers`. Example: `drop`."""
    masked: dict[str, list[int]] = {}
    """Texts that hide a count, each with the smallest and the largest count that it can mean, up to
    the total of the row. A check is inconclusive if the hidden counts could change it. Example:
    `{"<5": [0, 4], "*": [1, 10]}`."""

    def declare(self, *words: str) -> str:
        """The key with these words added to `tokens`, as a user writes it."""
        tokens = json.dumps([*self.tokens, *words], ensure_ascii=False)
        return f"`missing: {{tokens: {tokens}}}`"


class ExpectedRows(Frozen):
    """The number of rows that an audit requires."""

    at_least: int | None = None
    """The minimum number of counted rows. Example: `500`."""
    at_most: int | None = None
    """The maximum number of counted rows. Example: `100000`."""


def _refuse_number(value: object) -> object:
    if not isinstance(value, dict):
        raise ValueError("use `{at_least: 500}`, `{at_most: 500}` or both")  # noqa: TRY004  # readers raise ValueError
    return value


class Expected(Frozen):
    """Requirements for the data: the number of rows, and levels of columns and strata."""

    rows: Annotated[ExpectedRows, Form(_refuse_number)] = ExpectedRows()
    """The required number of rows; otherwise the run ends with an error and no verdict. Example:
    `{at_least: 500}`."""
    levels: dict[str, LocatedTexts] = {}
    """Levels of protected columns and strata that must occur; otherwise the run ends with an error
    and no verdict. Example: `{race: [White, Black]}`."""


class Exclusion(Frozen):
    """The rule that excludes groups with a small share of the people."""

    share: Fraction
    """The minimum share of the people; smaller groups are listed, but not compared. Example:
    `2%`."""
    reason: Reason
    """The reason for the exclusion; every report prints it. Example: `Local Law 144 allows it`."""
    of: Literal["known", "all"] = "known"
    """The population of the share: people whose group is known, or all people. Example: `all`."""

    @property
    def rule(self) -> ExcludeBelow:
        """The rule as `cube` applies it."""
        return ExcludeBelow(self.share, self.reason, ShareOf(self.of))


class Groups(Frozen):
    """The combinations of columns in tables, and the conditions for a group to be compared."""

    by: Groupings = field(default_factory=lambda: [["all"]])
    """The tables: by columns, by combinations of columns, or `each`, `full`, `all`. Example:
    `[gender, gender * race]`."""
    min_size: int | None = None
    """The minimum number of people in the denominator; smaller groups are listed, but not compared.
    Example: `30`."""
    min_events: int | None = None
    """The minimum number of expected events and of non-events; groups with fewer are listed, but
    not compared. Example: `5`."""
    exclude_below: Exclusion | None = None
    """Excludes groups with a small share of the people from comparisons, and states the reason.
    Example: `{share: 2%, reason: Local Law 144 allows it}`."""

    @property
    def minimum(self) -> Minimum:
        """The conditions for a group to be compared."""
        return Minimum(self.min_size, self.min_events)


class SampleDesign(Frozen):
    """The sampling design: clusters within strata."""

    strata: ColumnName
    """The column of the sampling strata. The variance of a stratum with a single cluster is
    computed around the overall mean. Example: `SDMVSTRA`."""
    cluster: ColumnName | None = None
    """The column of the clusters that were drawn first in each stratum. The same name in two strata
    means two clusters. By default `columns.cluster`. Example: `SDMVPSU`."""


def _refuse_replicates(value: object) -> object:
    if isinstance(value, dict) and "replicates" in value:
        raise ValueError(NO_REPLICATES)
    return value


def _list_entries(value: object) -> object:
    if value in ([], None):
        raise ValueError("list at least one metric")
    return as_list(value)


class AuditSpec(Frozen, kw_only=True):
    """An audit spec."""

    version: Annotated[Literal["1"], Form(described={"enum": [1, "1"]})] = VERSION
    """The version of the spec language; there is only one. Example: `1`."""
    title: str | None = None
    """The subject of the audit, as reports print it. `${env.NAME}` inserts an environment variable.
    Example: `Loan approvals 2024`."""
    context: dict[str, str] = {}
    """Further facts about the audit that every report prints, one text for each key. Example:
    `{system: loan model 3}`."""
    profile: str | None = None
    """A partial spec for a regulation or a practice: the name of a built-in profile, or a file next
    to the spec. The spec overrides it, and reports print it. Examples: `nyc-ll144`,
    `four-fifths`."""
    data: Texts | None = None
    """Data files, globs or folders, relative to the spec. `${env.NAME}` inserts an environment
    variable. Examples: `loans.csv`, `[jan.parquet, feb.parquet]`."""
    repeated_files: Literal["error", "allow"] = "error"
    """How to treat data files with identical content, whose rows count twice: report an error, or
    count them and report a notice. Example: `allow`."""
    repeats: Annotated[RepeatedPeople, Form(under_key("keep"), (_KEEP,))] | None = None
    """What to do if a person (by `columns.id`) has several rows: report an error, or count the
    first row, the last row, or the latest row by some columns. Rows that the filter leaves out are
    ignored. Examples: `first`, `{latest: applied_on}`."""
    columns: Columns
    """The role of each column of the data. Example:
    `{protected: [gender, race], decision: approved}`."""
    design: Annotated[SampleDesign, Form(_refuse_replicates)] | None = None
    """The strata and clusters of a survey sample, which determine variances. Example:
    `{strata: SDMVSTRA, cluster: SDMVPSU}`."""
    format: FileFormat = FileFormat()
    """The format of the CSV files. Example: `{separator: ;}`."""
    dates: dict[str, Annotated[tuple[str, ...], Form(as_list, (ITEM,))]] = {}
    """The date format of a column, if it is not 2024-12-31: `%d`, `%m`, `%b` (name of a month),
    `%Y`, `%y`, `%H:%M:%S`; or a list of formats that cannot be confused. Examples:
    `{decided: "%m/%d/%Y"}`, `{decided: ["%d.%m.%Y", "%m/%d/%Y"]}`."""
    filter: LocatedText | None = None
    """A condition in SQL: texts and dates in single quotes, names with spaces in double quotes. An
    empty cell is null. A check cannot be evaluated if rows that lack a value of the condition could
    change it. Examples: `hours >= 10 and country is not null`,
    `race in ('Black', 'White') and decided >= '2024-01-01'`, `'"days open" < 30'`."""
    missing: Missing = Missing()
    """Which values are missing, and how to treat their rows. Example:
    `{tokens: [NA], label: drop}`."""
    undefined: OnUndefined = OnUndefined.FAIL
    """The effect of an undefined value on its check. Example: `warn`."""
    groups: Groups = Groups()
    """The combinations of columns in tables, and the conditions for a group to be compared.
    Example: `{min_size: 30}`."""
    expect: Expected = Expected()
    """Requirements for the data; otherwise the run ends with an error and no verdict. Example:
    `{rows: {at_least: 500}}`."""
    inference: Inference = Inference()
    """The confidence and the methods of intervals and tests. Example: `{confidence: 0.99}`."""
    defaults: Defaults = Defaults()
    """Keys that entries of `metrics` share, unless an entry sets them. Example:
    `{by: each, fail: "< 0.8"}`."""
    metrics: Annotated[
        list[Annotated[Metric, Form(expand_metric, (METRIC_NAME,))]], Form(_list_entries, (ITEM,))
    ]
    """Metrics to report, and to check if they have a limit: a name, an entry, a preset, or a list
    of these. Examples: `selection_rate`,
    `[selection_rate, {metric: demographic_parity_ratio, fail: "< 0.8"}]`."""
    simpson: Annotated[
        Simpson,
        Form(lambda value: {"scan": "false"} if value == "false" else value, ({"const": False},)),
    ] = Simpson()
    """The scan for Simpson's reversals; `false` turns it off. Examples: `false`,
    `{warn: every_stratum}`."""
    subgroups: Subgroups | None = None
    """A search for subgroups whose rate differs from the overall rate. Example:
    `{fail: "> 0.1"}`."""
    waivers: Words | None = None
    """A file of waivers, relative to the spec. Example: `waivers.yaml`."""
    draws: Words | None = None
    """A file of draws of group probabilities, relative to the spec. Example: `draws.csv`."""
    suppress_below: int | None = None
    """The minimum count of people in reports; smaller counts, and values that would reveal them,
    are hidden. Example: `11`."""
    flags: Literal["fairmlhealth"] | None = None
    """The set of marks for ratios and differences in the table of groups. Marks are not limits, and
    do not change the verdict. Example: `fairmlhealth`."""
    describe: bool = False
    """Whether to add a table that describes the declared features of each group. Example:
    `true`."""

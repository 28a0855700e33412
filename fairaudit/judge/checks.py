"""Checks and their limits: `Check`, `Limit` (for example `below 0.8`), `Status`; `match_ids`.

A bound is stored as the decimal number in the spec. A value within 1e-9 of a bound is compared with
it as a fraction, any other value as a float. So the ratio of 48/100 to 60/100 is not below 0.8.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from enum import StrEnum
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import Annotated, Any, TypeAlias

import numpy as np

from fairaudit.base import names
from fairaudit.base.arrays import Floats, Marks
from fairaudit.base.errors import Place, Quote, UsageError, did_you_mean, list_known
from fairaudit.base.frozen import RARE, WRITTEN, Frozen, Unreadable, field, field_names, replace
from fairaudit.cube import Grouping
from fairaudit.judge.simpson import ReversalKind, ScanScope
from fairaudit.judge.subgroups import SearchScope
from fairaudit.metrics import Disparity, Metric, find_record, name_record
from fairaudit.metrics.definitions import Bounds
from fairaudit.metrics.disparities import OverGroups
from fairaudit.metrics.evaluation_record import MetricRecord
from fairaudit.metrics.terms import DEFAULT_INFERENCE, Inference, MetricOptions, ReferencePolicy

NEAR = 1e-9
"""A value that is at most this far from a bound is compared with it as a fraction."""


class Limit(Frozen, tag=True):
    """The bounds of a value: it crosses the limit if it is less than `below` or more than `above`.

    If `significant` is set, a value crosses the limit only if its test is significant. If
    `conclusive` is set, a value crosses the limit only if its whole interval is beyond the limit,
    and passes only if its whole interval is within the limit.
    """

    below: Annotated[Decimal | None, RARE] = None
    above: Annotated[Decimal | None, RARE] = None
    significant: Annotated[bool, RARE] = False
    conclusive: Annotated[bool, RARE] = False

    def __str__(self) -> str:
        bounds = f"below {self.below}" if self.below is not None else f"above {self.above}"
        if self.below is not None and self.above is not None:
            bounds = f"outside [{self.below}, {self.above}]"
        evidence = {"significant": self.significant, "conclusive": self.conclusive}
        evidence_words = " and ".join(word for word, is_asked in evidence.items() if is_asked)
        return f"{bounds}, if {evidence_words}" if evidence_words else bounds

    def contradictions(self) -> Iterator[Unreadable]:
        """Yields a fault if no bound is set."""
        if self.below is self.above is None:
            yield Unreadable("has neither `below` nor `above`")

    def scaled(self, factor: int) -> Limit:
        """The limit times a factor: with the factor 100, `above 0.1` becomes `above 10`."""
        ends = (self.below, self.above)
        below, above = (at and Decimal(f"{float(factor * at):.12g}") for at in ends)
        return replace(self, below=below, above=above)

    @property
    def bounds(self) -> tuple[Decimal, ...]:
        """The bounds that are set, the lower one first."""
        return tuple(bound for bound in (self.below, self.above) if bound is not None)

    def excess(self, value: float) -> float:
        """The distance by which a value is beyond the limit; negative if it is within."""
        return float(self.find_excess(value))

    def find_excess(self, values: Floats | float) -> Floats:
        """The distance by which each value is beyond the limit; negative if it is within."""
        below = -np.inf if self.below is None else float(self.below) - values
        above = -np.inf if self.above is None else values - float(self.above)
        return np.asarray(np.maximum(below, above))

    def mark_reached(self, values: Floats) -> Marks:
        """Marks the values that are beyond a bound or at most `NEAR` from it."""
        return np.asarray(self.find_excess(values) > -NEAR)

    def is_crossed(self, value: float, exact: Fraction | None) -> bool:
        """Whether the value is beyond a bound; near the bound, the fraction `exact` decides."""
        excess = self.excess(value)
        if exact is None or abs(excess) > NEAR:
            return excess > 0
        too_low = self.below is not None and exact < Fraction(self.below)
        return too_low or (self.above is not None and exact > Fraction(self.above))

    @property
    def asks(self) -> bool:
        """Whether the limit requires evidence: a significant test or a conclusive interval."""
        return self.significant or self.conclusive

    def covers(self, other: Limit) -> bool:
        """Whether each value that crosses the other limit also crosses this limit."""
        is_below = other.below is None or (self.below is not None and self.below >= other.below)
        is_above = other.above is None or (self.above is not None and self.above <= other.above)
        asks_more = self.significant > other.significant or self.conclusive > other.conclusive
        return is_below and is_above and not asks_more

    def excludes(self, low: float, high: float) -> bool:
        """Whether a whole interval lies beyond one bound."""
        too_low = self.below is not None and high < self.below
        return too_low or (self.above is not None and low > self.above)

    def includes(self, low: float, high: float) -> bool:
        """Whether a whole interval is within the bounds."""
        high_enough = self.below is None or low >= self.below
        return high_enough and (self.above is None or high <= self.above)


class ReversalLimit(Frozen, tag=True):
    """A limit for reversals.

    The texts below the fields describe the keys of this limit in a spec.
    """

    kind: ReversalKind
    """The weakest kind that crosses the limit: `every_stratum`, `adjusted`, `most_people`; or the
    notes `opposite`, `masked`, `explained`. Example: `every_stratum`."""
    significant: Annotated[bool, RARE] = False
    """Whether the reversal must be significant. Example: `true`."""

    def __str__(self) -> str:
        return f"{self.kind}, if significant" if self.significant else str(self.kind)


class LimitQuotes(Frozen):
    """The lines of the spec that set the limits of a check, as they are written."""

    warn: Annotated[Quote | None, RARE] = None
    fail: Annotated[Quote | None, RARE] = None


class EvidenceStatus(StrEnum):
    """The evidence for a value, if a limit requires evidence."""

    UNASKED = "unasked"
    SUPPORTED = "supported"
    NOT_SIGNIFICANT = "not_significant"
    NOT_CONCLUSIVE = "not_conclusive"
    SIGNIFICANT_WITHIN = "significant_within"
    UNTESTED = "untested"
    ONLY_TOGETHER = "only_together"


class Status(StrEnum):
    """The statuses of a check, from the best to the worst."""

    PASS = "pass"
    SKIPPED = "skipped"
    WAIVED = "waived"
    WARN = "warn"
    INCONCLUSIVE = "inconclusive"
    FAIL = "fail"

    @property
    def in_doubt(self) -> Status:
        """The status if evidence is missing: a warning instead of a failure, otherwise a pass."""
        return Status.WARN if self is Status.FAIL else Status.PASS


class OnUndefined(StrEnum):
    """The effect of an undefined value on its check."""

    FAIL = "fail"
    WARN = "warn"
    SKIP = "skip"


class About(Frozen):
    """The name, purpose and owner of a check, from the spec."""

    name: Annotated[str, RARE] = ""
    why: Annotated[str, RARE] = ""
    owner: Annotated[str, RARE] = ""


AcceptedShare: TypeAlias = Annotated[Fraction | None, RARE]
"""The largest share of the people, and of the groups, that a check may leave out."""


_MOST_WEIGHTS = 4


class Check(Frozen, tag=True):
    """A metric with a limit, for the outcome `of`, between the groups `by` within strata `given`.

    If `against` names a second outcome, the check is about the change from `of` to `against`.
    `burden` is set if the positive class of the outcome is a burden, such as an alarm.
    """

    id: str
    metric: MetricRecord = field(name="asked")
    of: str
    by: Grouping
    given: Grouping = ()
    against: str | None = None
    terms: MetricOptions = field(default_factory=MetricOptions, name="options")
    undefined: OnUndefined = field(default=OnUndefined.FAIL, name="on_undefined")
    warn: Limit | None = None
    fail: Limit | None = None
    place: Place | None = None
    about: Annotated[About, RARE] = About()
    source: Annotated[LimitQuotes, RARE] = LimitQuotes()
    accept_left_out: AcceptedShare = None
    burden: Annotated[bool, RARE] = False

    def __reduce__(self) -> tuple[Any, ...]:
        """Replaces the metric by its names, because records of metrics contain functions."""
        values = {name: getattr(self, name) for name in field_names(self)}
        return Check.of_names, (values | {"metric": name_record(self.metric)},)

    @classmethod
    def of_names(cls, values: dict[str, Any]) -> Check:
        """The check with these values, in which `__reduce__` replaced the metric by its names."""
        return cls(**values | {"metric": find_record(values["metric"])})

    @property
    def metric_id(self) -> Annotated[str, "metric"]:
        """The id of the metric."""
        return self.metric.id

    @property
    def strata(self) -> Grouping:
        """The columns that define the strata: the columns `given` and the controls."""
        return (*self.given, *self.terms.parameters.controls)

    @property
    def over_groups(self) -> OverGroups | None:
        """How the comparisons of all groups become one number; None if each is judged."""
        return self.metric.over_groups if isinstance(self.metric, Disparity) else None

    @property
    def weighs_strata(self) -> bool:
        """Whether the metric defines the weights of the strata, as Mantel and Haenszel's does."""
        metric = self.metric
        return isinstance(metric, Disparity) and metric.comparison.exact_in_strata is not None

    def describe_given(self) -> str:
        """The strata, and the weights of an average over them: `given m (average: uniform)`."""
        averages = self.metric.averages if isinstance(self.metric, Disparity) else ()
        if self.terms.average is not None and len(averages) < 2:
            averages = (self.terms.average,)
        weights = [str(one).split(", ") for one in averages if not self.weighs_strata]
        more = " …"
        text = " and ".join(
            ", ".join(one[:_MOST_WEIGHTS]) + more * (len(one) > _MOST_WEIGHTS) for one in weights
        )
        average = f" (average: {names.line(text)})" if text else ""
        return f"given {' × '.join(map(names.name, self.given))}{average}"

    @property
    def hypothesis(self) -> str:
        """The null hypothesis of the test, as words that follow "p of"."""
        if self.against is None:
            return self.metric.hypothesis
        return f"no difference between {names.name(self.of)} and {names.name(self.against)}"

    @property
    def inference(self) -> Inference:
        """The confidence and the methods of the check."""
        return self.terms.inference

    @property
    def fails(self) -> bool:
        """Whether the check can fail; checks that only warn are a separate family of tests."""
        return self.fail is not None


def find_bounds(metric: Metric, policy: ReferencePolicy | None, against: str | None) -> Bounds:
    """The lowest and highest value of a metric, or of its change if `against` is an outcome."""
    low, high = metric.bounds
    if isinstance(metric, Disparity) and metric.reference is None and policy is not None:
        low, high = metric.bounds_to(policy)
    if against is None:
        return low, high
    width = None if low is None or high is None else high - low
    return (None if width is None else -width), width


class SearchCheck(Frozen):
    """A limit on the results of a search by one rate. Only the search names columns."""

    id: str
    rate: str
    of: str
    inference: Inference = DEFAULT_INFERENCE
    place: Place | None = None
    about: Annotated[About, RARE] = About()
    source: Annotated[LimitQuotes, RARE] = LimitQuotes()
    accept_left_out: AcceptedShare = None

    @property
    def by(self) -> Annotated[Grouping, WRITTEN]:
        """Always empty: the search names the columns of groups."""
        return ()

    @property
    def given(self) -> Annotated[Grouping, WRITTEN]:
        """Always empty: the search names the columns of strata."""
        return ()


class ReversalCheck(SearchCheck, tag=True):
    """A limit on Simpson's reversals: reversals of its kind or of a stronger kind cross the limit.

    `scope` is the scope of the scan; None in reports that do not contain it.
    """

    warn: ReversalLimit | None = None
    fail: ReversalLimit | None = None
    scope: Annotated[ScanScope | None, RARE] = field(default=None, name="scan")

    @property
    def metric_id(self) -> Annotated[str, "metric"]:
        """The name that reports print instead of the id of a metric."""
        return "simpson_reversal"


class SubgroupCheck(SearchCheck, tag=True):
    """A limit on the difference between the rate of any subgroup and the rate of everybody.

    `scope` is the scope of the search; None in reports that do not contain it.
    """

    warn: Limit | None = None
    fail: Limit | None = None
    scope: Annotated[SearchScope | None, RARE] = field(default=None, name="search")

    @property
    def metric_id(self) -> Annotated[str, "metric"]:
        """The name that reports print instead of the id of a metric."""
        return "subgroup_divergence"


AnyCheck: TypeAlias = Check | ReversalCheck | SubgroupCheck
"""Any kind of check."""

_MOST_LISTED = 8
"""Maximum number of ids that an error message lists."""


def match_ids(text: str, ids: Sequence[str]) -> list[str]:
    """The ids that match a text, which is an id, a glob, or the beginning or a part of one id.

    Raises `UsageError` if no id matches, or if several ids match and the text is not a glob.
    """
    if text in ids:
        return [text]
    matches = [name for name in ids if fnmatchcase(name, text)]
    if matches:
        return matches
    matches = [name for name in ids if name.startswith(text)] if text else []
    matches = matches or ([name for name in ids if text in name] if text else [])
    if len(matches) == 1:
        return matches
    if matches:
        what = f"{len(matches)} checks contain {names.quoted(text)} in their id"
        hint = "give one whole id, or a pattern with * to choose several"
        raise UsageError(what, f"{list_known(matches, _listed(matches))}; {hint}")
    hint = list_known(ids, _listed(ids)) if ids else "the spec sets no limit"
    raise UsageError(f"the spec has no check {names.quoted(text)}{did_you_mean(text, ids)}", hint)


def _listed(ids: Sequence[str]) -> str:
    more = f", and {len(ids) - _MOST_LISTED} more" if len(ids) > _MOST_LISTED else ""
    return ", ".join(map(names.copied, ids[:_MOST_LISTED])) + more

"""Types of checks: `Check`, `OnUndefined`, `Status`; `match_ids`: the ids that a text names."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import Annotated, TypeAlias

from fairaudit.base import names
from fairaudit.base.errors import Place, UsageError, did_you_mean, list_known
from fairaudit.base.frozen import Frozen, field
from fairaudit.base.json_marks import RARE, WRITTEN, Member
from fairaudit.cube import Grouping
from fairaudit.judge.limits import Limit, LimitQuotes, ReversalLimit
from fairaudit.judge.simpson import ScanScope
from fairaudit.judge.subgroups import SearchScope
from fairaudit.metrics import Metric, Terms
from fairaudit.metrics.inference import DEFAULT_INFERENCE, Inference

_MOST_LISTED = 8


class Status(StrEnum):
    """What became of a check, the worst last."""

    PASS = "pass"
    SKIPPED = "skipped"
    WAIVED = "waived"
    WARN = "warn"
    INCONCLUSIVE = "inconclusive"
    FAIL = "fail"

    @property
    def in_doubt(self) -> Status:
        """The status by a limit crossed in doubt: one that fails warns, one that warns passes."""
        return Status.WARN if self is Status.FAIL else Status.PASS


class OnUndefined(StrEnum):
    """What a value that does not exist does to its check."""

    FAIL = "fail"
    WARN = "warn"
    SKIP = "skip"


class About(Frozen):
    """What the author of a spec says of a check: its name, why it is there, who answers for it."""

    name: Annotated[str, RARE] = ""
    why: Annotated[str, RARE] = ""
    owner: Annotated[str, RARE] = ""


AcceptedShare: TypeAlias = Annotated[
    Fraction | None, Member("asked.accept_left_out", rare=True, text=True)
]
"""The share of the people and of the groups that may be left out of a check."""


class Check(Frozen):
    """One question with a limit: a measure, one grouping, one conditioning, one outcome."""

    id: str
    metric: Annotated[Metric, Member("asked.*")]
    of: str
    by: Grouping
    given: Grouping = ()
    against: Annotated[str | None, Member("asked.against")] = None
    terms: Annotated[Terms, Member("asked.*")] = field(default_factory=Terms)
    undefined: Annotated[OnUndefined, Member("asked.undefined")] = OnUndefined.FAIL
    warn: Limit | None = None
    fail: Limit | None = None
    place: Place | None = None
    about: Annotated[About, RARE] = About()
    source: Annotated[LimitQuotes, RARE] = LimitQuotes()
    accept_left_out: AcceptedShare = None

    @property
    def metric_id(self) -> Annotated[str, Member("metric")]:
        """The id of its measure."""
        return self.metric.id

    @property
    def strata(self) -> Grouping:
        """The columns by which its table is stratified: what it is given, and its controls."""
        return (*self.given, *self.terms.parameters.controls)

    @property
    def hypothesis(self) -> str:
        """What its test tests, in words behind "p of"."""
        if self.against is None:
            return self.metric.hypothesis
        return f"no difference between {names.name(self.of)} and {names.name(self.against)}"

    @property
    def inference(self) -> Inference:
        """How sure the answer is to be, as of every kind of check."""
        return self.terms.inference

    @property
    def fails(self) -> bool:
        """Whether it can fail, not only warn: `evidence/families.py` tells its family by that."""
        return self.fail is not None


class ReversalCheck(Frozen):
    """A gate on Simpson's reversals: of which kind or stronger none may be found.

    `scope` is what the scan looks at; None in a document that does not say so.
    """

    id: str
    rate: Annotated[str, Member("asked.rate")]
    of: str
    warn: ReversalLimit | None = None
    fail: ReversalLimit | None = None
    inference: Annotated[Inference, Member("asked.inference")] = DEFAULT_INFERENCE
    place: Place | None = None
    about: Annotated[About, RARE] = About()
    source: Annotated[LimitQuotes, RARE] = LimitQuotes()
    accept_left_out: AcceptedShare = None
    scope: Annotated[ScanScope | None, Member("asked.scan", rare=True)] = None

    @property
    def metric_id(self) -> Annotated[str, Member("metric")]:
        """What stands in place of a metric's id."""
        return "simpson_reversal"

    @property
    def by(self) -> Annotated[Grouping, WRITTEN]:
        """No columns: it looks at all of them."""
        return ()

    @property
    def given(self) -> Annotated[Grouping, WRITTEN]:
        """No columns: it looks at all strata."""
        return ()


class SubgroupCheck(Frozen):
    """A gate on subgroups: by how much none that is found may diverge from everybody.

    `scope` is what the search looks at; None in a document that does not say so.
    """

    id: str
    rate: Annotated[str, Member("asked.rate")]
    of: str
    inference: Annotated[Inference, Member("asked.inference")] = DEFAULT_INFERENCE
    warn: Limit | None = None
    fail: Limit | None = None
    place: Place | None = None
    about: Annotated[About, RARE] = About()
    source: Annotated[LimitQuotes, RARE] = LimitQuotes()
    accept_left_out: AcceptedShare = None
    scope: Annotated[SearchScope | None, Member("asked.search", rare=True)] = None

    @property
    def metric_id(self) -> Annotated[str, Member("metric")]:
        """What stands in place of a metric's id."""
        return "subgroup_divergence"

    @property
    def by(self) -> Annotated[Grouping, WRITTEN]:
        """No columns: it looks at all of them."""
        return ()

    @property
    def given(self) -> Annotated[Grouping, WRITTEN]:
        """No columns: it looks at all strata."""
        return ()


AnyCheck: TypeAlias = Check | ReversalCheck | SubgroupCheck
"""Whatever a spec asks with a limit."""


def match_ids(text: str, ids: Sequence[str]) -> list[str]:
    """The ids that a text names: one by itself, by its beginning or a part; several by a glob.

    Raises `UsageError` where none matches, or where several do and the text is no glob.
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
        what = f"{len(matches)} checks have {names.quoted(text)} in their id"
        raise UsageError(what, f"{list_known(matches, _listed(matches))}; a glob may name several")
    hint = list_known(ids, _listed(ids)) if ids else "the spec sets no limit"
    raise UsageError(f"no check {names.quoted(text)}{did_you_mean(text, ids)}", hint)


def _listed(ids: Sequence[str]) -> str:
    more = f", and {len(ids) - _MOST_LISTED} more" if len(ids) > _MOST_LISTED else ""
    return ", ".join(map(names.copied, ids[:_MOST_LISTED])) + more

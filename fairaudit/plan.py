"""What a pass over the data must count, and the form in which the counts come back."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from fairaudit.cube import Floats, Ints, Sum
from fairaudit.histogram import Bins
from fairaudit.spec import Format, Outcome, Protected, Spec, Text, Threshold, value_of

MISSING = -1
"""The code of a number that is not there (in `RawKey.codes` of a cut column)."""


MOST_CELLS = 10_000_000
"""The cell budget: so many combinations of levels a pass may count."""


MOST_LEVELS = 10_000
"""More levels than that are no groups of people."""


@dataclass(frozen=True, slots=True, order=True)
class Edge:
    """A cut on a number: it counts for x ≥ value, or, where `beyond`, for x > value."""

    value: Decimal
    beyond: bool = False


@dataclass(frozen=True, slots=True)
class Key:
    """A column to count by: as text, or cut at the union of all edges the spec declares on it.

    The code of a cut number is how many of the ascending edges it has passed.
    """

    column: str
    edges: tuple[Edge, ...] | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything one pass must count.

    `unknown` holds the words that mean missing in a column that is read as a number, beside the
    `tokens` that mean it everywhere. `capped` are columns every level of which would be a group, so
    they may have at most `MOST_LEVELS`. `scores` are the keys by which `score` gets histograms.
    """

    keys: tuple[Key, ...]
    texts: tuple[Text, ...]
    tokens: tuple[str, ...]
    format: Format
    count: str | None = None
    weight: str | None = None
    filter: Text | None = None
    unknown: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    capped: tuple[Text, ...] = ()
    score: str | None = None
    scores: tuple[tuple[Key, ...], ...] = ()

    def text_key(self, column: str) -> int:
        """The number of the key that holds a column as text."""
        return self.keys.index(Key(column))

    def cut_key(self, column: str) -> int:
        """The number of the key that holds a column cut at edges."""
        return next(
            at for at, key in enumerate(self.keys) if key.column == column and key.edges is not None
        )


@dataclass(frozen=True, slots=True)
class RawKey:
    """A key as it was counted: text levels (None: null) with codes, or codes of intervals."""

    key: Key
    codes: Ints
    levels: tuple[str | None, ...] = ()


@dataclass(frozen=True, slots=True)
class File:
    """A file that was read, as the report names it; `lines` are the physical ones of a CSV file."""

    path: str
    bytes: int
    modified: float | None
    lines: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class RawHistogram:
    """A score by some keys, as they were counted: [E] entries of codes [E, K], a bin and people.

    `cells` are codes [C, K], each with its extreme scores `low` and `high`, and with what
    `histogram.Moments` holds as `sums`; None where a score is too large for the fixed point.
    """

    keys: tuple[int, ...]
    codes: Ints
    bins: Ints
    people: Ints
    cells: Ints
    low: Floats
    high: Floats
    sums: tuple[list[int], ...] | None


@dataclass(frozen=True, slots=True, eq=False)
class RawScores:
    """The histograms of a score, one for each grouping that the plan asks, and their bins."""

    histograms: tuple[RawHistogram, ...]
    bins: Bins


@dataclass(frozen=True, slots=True)
class RawCells:
    """The counts of one pass by raw levels: an entry, or several, for each combination.

    `kept` is 1 where the filter holds, 0 where it does not, -1 where it cannot decide. `read` is
    the control total: the records of the files, counted apart from the pass.
    """

    keys: tuple[RawKey, ...]
    kept: Ints
    rows: Ints
    people: Ints
    read: int
    files: tuple[File, ...]
    route: str
    weight: Sum | None = None
    squares: Sum | None = None
    weight_error: float = 0.0
    scores: RawScores | None = None
    notices: tuple[str, ...] = ()


def plan(spec: Spec) -> Plan:
    """What a pass must count for a spec."""
    texts: list[Text] = []
    keys: dict[str, None] = {}
    cuts: dict[str, set[Edge]] = {}
    for one in (*spec.protected, *spec.strata):
        texts.append(one.column)
        if one.bins:
            cuts.setdefault(one.column.value, set()).update(_bin_edges(one))
        else:
            keys.setdefault(one.column.value)
    for outcome in spec.outcomes:
        texts.append(outcome.column)
        if outcome.threshold is not None:
            cuts.setdefault(outcome.column.value, set()).update(edges_of(outcome.threshold))
        else:
            keys.setdefault(outcome.column.value)
    if spec.score is not None:
        texts.append(spec.score)
        cuts.setdefault(spec.score.value, set())
    texts += [text for text in (spec.count, spec.weight) if text is not None]
    made = _keys(keys, cuts)
    return Plan(
        keys=made,
        texts=tuple(texts),
        tokens=spec.missing.tokens,
        format=spec.format,
        count=value_of(spec.count),
        weight=value_of(spec.weight),
        filter=spec.filter,
        unknown={one.column.value: one.unknown for one in spec.protected if one.bins},
        capped=tuple(
            one.column
            for one in (*spec.protected, *spec.strata)
            if not one.bins and one.keep is None
        ),
        score=value_of(spec.score),
        scores=_score_keys(spec, made),
    )


def _score_keys(spec: Spec, keys: tuple[Key, ...]) -> tuple[tuple[Key, ...], ...]:
    """The keys by which a score gets histograms: each attribute alone, with the label."""
    if spec.score is None or spec.weight is not None:
        return ()

    def key_of(column: Text, *, is_cut: bool) -> Key:
        return next(k for k in keys if k.column == column.value and (k.edges is not None) is is_cut)

    label = () if spec.label is None else (
        key_of(spec.label.column, is_cut=spec.label.threshold is not None),
    )  # fmt: skip
    return tuple((key_of(one.column, is_cut=bool(one.bins)), *label) for one in spec.protected)


def united(plans: Sequence[Plan]) -> Plan | None:
    """One plan that counts for all of them; None where they cannot share a pass.

    Its cells are finer than each of them asks: recoding rolls them up.
    """
    first = plans[0]
    keys: dict[str, None] = {}
    cuts: dict[str, set[Edge]] = {}
    unknown: dict[str, tuple[str, ...]] = {}
    for one in plans:
        if _terms(one) != _terms(first) or (first.scores and one.keys != first.keys):
            return None
        for key in one.keys:
            if key.edges is None:
                keys.setdefault(key.column)
            elif unknown.setdefault(key.column, one.unknown.get(key.column, ())) != (
                one.unknown.get(key.column, ())
            ):
                return None
            else:
                cuts.setdefault(key.column, set()).update(key.edges)
    capped = {text.value: text for one in plans for text in one.capped}
    return replace(first, keys=_keys(keys, cuts), unknown=unknown, capped=tuple(capped.values()))


def _terms(one: Plan) -> tuple[object, ...]:
    """What all specs that share a pass have in common."""
    return one.tokens, one.format, one.count, one.weight, value_of(one.filter), one.scores


def _keys(texts: Iterable[str], cuts: Mapping[str, Iterable[Edge]]) -> tuple[Key, ...]:
    return (
        *(Key(column) for column in texts),
        *(Key(column, tuple(sorted(edges))) for column, edges in cuts.items()),
    )


def edges_of(threshold: Threshold) -> tuple[Edge, ...]:
    """The edges at which a threshold turns: `at_least`, `below` at ≥, `above`, `at_most` at >."""
    at_or_over = (threshold.at_least, threshold.below)
    beyond = (threshold.above, threshold.at_most)
    return (
        *(Edge(value) for value in at_or_over if value is not None),
        *(Edge(value, beyond=True) for value in beyond if value is not None),
    )


def is_positive(outcome: Outcome, passed: Iterable[Edge]) -> bool:
    """Whether a number that has passed these edges is positive under the outcome's threshold."""
    cut, over = outcome.threshold, set(passed)
    if cut is None:
        raise ValueError("the outcome has no threshold")
    return (
        (cut.at_least is None or Edge(cut.at_least) in over)
        and (cut.above is None or Edge(cut.above, beyond=True) in over)
        and (cut.at_most is None or Edge(cut.at_most, beyond=True) not in over)
        and (cut.below is None or Edge(cut.below) not in over)
    )


def is_finite_number(word: str) -> bool:
    """Whether a word, such as one that means missing, is a number itself."""
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False


def _bin_edges(one: Protected) -> set[Edge]:
    return {Edge(value) for value in one.bins}

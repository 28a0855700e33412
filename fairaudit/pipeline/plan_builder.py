"""The `Plan` of a spec: the columns to read, the counts to make, and the edges of thresholds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal

from fairaudit.base.frozen import replace
from fairaudit.counting.columns import (
    Age,
    Cut,
    Difference,
    OddDates,
    Period,
    Quantile,
    SimilarityColumns,
)
from fairaudit.counting.plan import NO_SUMS, CellSums, Edge, Key, Plan, RowPlan, SumName, unite_keys
from fairaudit.counting.sources.column_checks import parse_filter
from fairaudit.counting.strata_models import FittedStrata
from fairaudit.spec import (
    Outcome,
    OutcomeKind,
    Protected,
    Spec,
    Threshold,
    apply_cuts,
    spec_to_fit,
    value_of,
)


def plan(
    spec: Spec,
    cuts: Mapping[Quantile, Cut] | None = None,
    models: Mapping[str, FittedStrata] | None = None,
) -> Plan:
    """The plan of a spec, with the cuts of its quantiles and its fitted models, if it has any."""
    if cuts or models:
        cuts = cuts or {}
        return replace(plan(apply_cuts(spec, cuts)), cuts=cuts, models=models or {})
    columns, all_keys = _find_columns(spec)
    described = [
        tuple(dict.fromkeys([_find_key(all_keys, attribute), described_key(spec, name)]))
        for attribute in (spec.protected if spec.describe else ())
        for name in spec.similarity.columns
    ]
    searched: Iterable[tuple[Key, ...]] = ()
    features = {feature.name: feature for feature in spec.features}
    # A search without features needs no extra tables, because the cells have all its columns.
    if spec.subgroups is not None and not features.keys().isdisjoint(spec.subgroups.over):
        key_of = {attribute.name: _find_key(all_keys, attribute) for attribute in spec.groupable}
        key_of |= {name: feature_key(spec, feature) for name, feature in features.items()}
        outcomes = [_find_key(all_keys, outcome) for outcome in spec.side_outcomes]
        searched = dict.fromkeys(
            tuple(dict.fromkeys([*map(key_of.__getitem__, names), *outcomes]))
            for names in spec.subgroups.widest
        )
    # For each cut column, the words that mean missing, from all attributes that cut it.
    unknown: dict[str, tuple[str, ...]] = {}
    for attribute in (*spec.protected, *spec.strata, *spec.features):
        if attribute.is_cut:
            column = attribute.column.value
            unknown[column] = tuple(dict.fromkeys([*unknown.get(column, ()), *attribute.unknown]))
    return Plan(
        keys=all_keys,
        columns=columns,
        tokens=spec.missing.tokens,
        format=spec.format,
        count=value_of(spec.count),
        weight=value_of(spec.weight),
        filter=value_of(spec.filter),
        unknown=unknown,
        capped=tuple(
            attribute.column.value
            for attribute in (*spec.protected, *spec.strata, *spec.features)
            if not attribute.is_cut and attribute.keep is None and attribute.model is None
        ),
        scores=_score_keys(spec, all_keys),
        adding=_sum_cells(spec),
        tables=(*searched, *described),
        cluster=value_of(spec.cluster),
        sample_strata=value_of(spec.sample_strata),
        rows=RowPlan(spec.similarity, spec.scores_of_rows) if spec.needs_rows else None,
        # The exact median is one person's score, so it is not published.
        medians=() if spec.suppress_below is not None else tuple(spec.score_columns),
        derived=spec.derivations,
        counts=spec.counts,
        masked=spec.masked,
        repeats=spec.repeats,
        groups=tuple(name for one in spec.protected if not one.is_cut for name in one.columns),
    )


_GREATEST = Decimal("3.4028234663852886e38")
"""The greatest number of a Float32 column."""

SENTINELS = (-9999, -999, -99, -9, -8, -7, -1, 99, 999, 9999, 99999, 999999, 9999999)
"""Numbers that often stand for a missing value."""

_RARE_SENTINELS = {-8, -7, 999999, 9999999}
"""Sentinels that histograms do not watch: each further edge multiplies the cells of a histogram."""

AROUND: Mapping[Decimal, tuple[Edge, ...]] = {
    **{number: (Edge(number), Edge(number, beyond=True)) for number in map(Decimal, SENTINELS)},
    Decimal("Infinity"): (Edge(_GREATEST),),
    Decimal("-Infinity"): (Edge(-_GREATEST),),
}
"""The edges that separate each sentinel, and infinity, from all other numbers."""

_OF_WEIGHTS = (Edge(Decimal(0), beyond=True), *(Edge(Decimal(10) ** n) for n in range(-17, 9, 3)))
"""The edges that separate rows of weight 0, and weights that differ by a factor of 1,000."""

NEGATIVE = Edge(Decimal(0))
"""The edge that separates negative differences from all others, if no bin has this edge."""

PER_CENT = (
    Edge(Decimal(0), beyond=True),
    Edge(Decimal(1)),
    Edge(Decimal(1), beyond=True),
    Edge(Decimal(2), beyond=True),
    Edge(Decimal(100), beyond=True),
)
"""The edges that separate fractions from numbers in per cent."""

_FAR = 10
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?")


def watch_sentinels(plan: Plan) -> Plan:
    """The plan with additional edges, which separate sentinels and odd dates from other values.

    A sentinel is a number that may stand for a missing value. Rows of small weights, and numbers in
    per cent if cuts are below 100, are also counted separately. Recoding adds these counts up
    again. Sentinels are far above all cuts, or negative if no cut is negative. For a column of the
    filter, the numbers in the filter are the cuts. For a numeric outcome without cuts,
    `notice_sentinels` compares a sentinel with the mean of the other numbers.
    """
    own = {key.column for key in plan.keys if key.is_cut}
    apart = {key for keys in plan.tables for key in keys} | {
        key for key in plan.keys if key.column in {derived.name for derived in plan.derived}
    }
    keys = list[Key]()
    for key in plan.keys:
        cuts = [edge.value for edge in key.edges or ()]
        is_number = key.edges == () and key.column in plan.adding.columns
        if key in apart or not (cuts or is_number):
            keys.append(key)
            continue
        in_histogram = any(key in grouping for each in plan.scores.values() for grouping in each)
        around = _edges_around(plan, key.column, cuts, _RARE_SENTINELS if in_histogram else set())
        edges = {*(key.edges or ()), *around}
        keys.append(Key(key.column, tuple(sorted(edges))))
    rule = parse_filter(plan)
    numbers = (
        [Decimal(text) for text in _NUMBER.findall(_QUOTED.sub("", rule.text))] if rule else []
    )
    for column in sorted(rule.numeric - own) if rule and numbers else ():
        if edges := _edges_around(plan, column, numbers):
            keys.append(Key(column, tuple(sorted(edges))))
    if plan.weight is not None:
        of_weight = [key for key in keys if key.is_cut and key.column == plan.weight]
        edges = {*_OF_WEIGHTS, *(edge for key in of_weight for edge in key.edges or ())}
        divided = Key(plan.weight, tuple(sorted(edges)))
        keys = [divided if key in of_weight else key for key in keys]
        keys += [] if of_weight else [divided]
    dated = {*rule.dated} if rule else set[str]()
    if plan.repeats is not None:
        dated.update(plan.repeats.latest)
    for made in plan.derived:
        dated.update(made.columns if isinstance(made, Age | Difference | Period) else ())
    odd = [OddDates(column) for column in sorted(dated)]
    keys += [Key(dates.name) for dates in odd]
    renamed = dict(zip(plan.keys, keys, strict=False))
    scores = {
        column: tuple(tuple(renamed.get(key, key) for key in grouping) for grouping in groupings)
        for column, groupings in plan.scores.items()
    }
    return replace(plan, keys=tuple(keys), scores=scores, derived=(*plan.derived, *odd))


def _edges_around(
    plan: Plan, column: str, cuts: Sequence[Decimal], but: AbstractSet[int] = frozenset()
) -> set[Edge]:
    """The edges that separate each likely sentinel of a column, except `but`, from other numbers.

    If all cuts are between 0 and 100, further edges separate numbers in per cent.
    """
    largest = max(map(abs, cuts), default=Decimal(0))
    words = plan.missing_numbers(column)
    likely = [
        number
        for number in AROUND
        if float(number) not in words
        and number not in but
        and (
            not cuts or (number >= _FAR * largest if number > 0 else largest > 1 and min(cuts) >= 0)
        )
    ]
    per_cent = PER_CENT if cuts and min(cuts) > 0 and max(cuts) < 100 else ()
    return {*per_cent, *(edge for number in likely for edge in AROUND[number])}


def _find_columns(spec: Spec) -> tuple[tuple[str, ...], tuple[Key, ...]]:
    """All columns that a spec reads, and the keys by which people are counted."""
    columns: list[str] = []
    keys: dict[str, None] = {}
    edges: dict[str, set[Edge]] = {}
    for attribute in (*spec.protected, *spec.strata):
        model = attribute.model
        columns += attribute.columns if model is None else model.features.columns
        if attribute.is_cut:
            edges.setdefault(attribute.column.value, set()).update(_bin_edges(attribute))
        else:
            keys.setdefault(attribute.column.value)
    for outcome in spec.outcomes:
        columns += [outcome.column.value] if outcome.counts is None else outcome.counts.columns
        if outcome.has_classes and outcome.threshold is None:
            keys.setdefault(outcome.column.value)
        else:
            turning = edges_of(outcome.threshold) if outcome.threshold else ()
            edges.setdefault(outcome.column.value, set()).update(turning)
        if outcome.score is not None:
            columns.append(outcome.score.value)
            edges.setdefault(outcome.score.value, set())
    count = spec.count if spec.counts is None else None
    columns += [text.value for text in (count, spec.weight) if text is not None]
    columns += [name for attribute in spec.features for name in attribute.columns]
    columns += spec.similarity.columns if spec.needs_rows or spec.describe else ()
    if spec.repeats is not None:
        columns += [spec.repeats.id, *spec.repeats.latest]
    for design in (spec.cluster, spec.sample_strata):
        if design is not None:
            columns.append(design.value)
            keys.setdefault(design.value)
    return tuple(columns), unite_keys(keys, edges)


def plan_to_fit(
    spec: Spec, cuts: Mapping[Quantile, Cut], features: SimilarityColumns, most: int
) -> Plan:
    """The plan of the pass that reads at most `most` people, to fit models of these features."""
    counted = plan(spec_to_fit(spec), cuts)
    return replace(
        counted,
        columns=(*counted.columns, *features.columns),
        scores={},
        medians=(),
        adding=NO_SUMS,
        rows=RowPlan(features, most=most),
    )


def described_key(spec: Spec, name: str) -> Key:
    """The key of a described feature: by level, or for a number by whether it is known."""
    return Key(name, () if name in spec.similarity.numeric else None)


def _find_key(keys: Iterable[Key], counted: Protected | Outcome) -> Key:
    source = (counted.column.value, counted.is_cut)
    return next(key for key in keys if (key.column, key.is_cut) == source)


def feature_key(spec: Spec, feature: Protected) -> Key:
    """The key of a feature. If features share a column, the key has the edges of each feature."""
    if not feature.is_cut:
        return Key(feature.column.value)
    same = [other for other in spec.features if other.column.value == feature.column.value]
    edges = {edge for other in same for edge in _bin_edges(other)}
    return Key(feature.column.value, tuple(sorted(edges)))


def _score_keys(spec: Spec, keys: tuple[Key, ...]) -> dict[str, tuple[tuple[Key, ...], ...]]:
    """The keys of the histograms of each score: the columns of a grouping, and the label.

    Only the largest groupings get a histogram: histograms of smaller groupings are sums of it.
    """
    if spec.weight is not None:
        return {}
    columns = {attribute.name: _find_key(keys, attribute) for attribute in spec.groupable}
    has_label = spec.label is not None and spec.label.has_classes
    label = [_find_key(keys, spec.label)] if spec.label and has_label else []
    groupings_of: dict[str, dict[tuple[Key, ...], None]] = {}
    for outcome in spec.predictions:
        if outcome.score is not None:
            groupings = {by: frozenset(by) for by in spec.histograms_of(outcome)}
            largest = [
                by
                for by, names in groupings.items()
                if not any(map(names.__lt__, groupings.values()))
            ]
            largest_keys = {
                tuple(dict.fromkeys([*(columns[name] for name in by), *label])): None
                for by in largest
            }
            groupings_of.setdefault(outcome.score.value, {}).update(largest_keys)
    for outcome, attribute in spec.smoothed:
        by_outcome = (_find_key(keys, outcome),)
        groupings_of.setdefault(attribute.column.value, {})[by_outcome] = None
    for name in spec.similarity.numeric if spec.describe else ():
        for attribute in spec.protected:
            groupings_of.setdefault(name, {})[(columns[attribute.name],)] = None
    return {column: tuple(groupings) for column, groupings in groupings_of.items()}


def list_amounts(spec: Spec) -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
    """Yields the outcome, the name, the kind and the columns of each sum that metrics need.

    The kind is `number` (the first column), `product` (of two columns) or `residual` (the label
    minus the value). Each sum is over the people who have a value in all its columns.
    """
    for outcome in spec.outcomes:
        of, label = outcome.name, spec.label
        if outcome.score is not None and spec.adds_score(outcome):
            yield of, "score", "number", (outcome.score.value,)
        value = (outcome.column.value,) if outcome.kind is OutcomeKind.NUMBER else ()
        if value:
            yield of, "value", "number", value
        if value and label and label is not outcome and label.kind is OutcomeKind.NUMBER:
            yield of, "label", "number", (label.column.value, *value)
            yield of, "predicted", "number", (*value, label.column.value)
            yield of, "residual", "residual", (label.column.value, *value)
        for attribute in spec.attributes_measured(outcome):
            columns = (attribute.column.value, *value)
            yield of, f"attribute:{attribute.name}", "number", columns
            if value:
                yield of, f"attribute:{attribute.name}*value", "product", columns


def _sum_cells(spec: Spec) -> CellSums:
    """The sums over cells that the amounts of all outcomes are computed from."""
    sums = set[SumName]()
    for *_, kind, columns in list_amounts(spec):
        if kind == "number":
            sums |= {("sum", columns[0]), ("product", columns[0], columns[0])}
        else:
            sums.add(("product", *columns))
        if kind == "residual":
            sums.add(("distance", *columns))
    return CellSums(tuple(sorted(sums)))


def edges_of(threshold: Threshold) -> tuple[Edge, ...]:
    """The edges of a threshold: ≥ for `at_least` and `below`, > for `above` and `at_most`."""
    at_or_over = (threshold.at_least, threshold.below)
    beyond = (threshold.above, threshold.at_most)
    return (
        *(Edge(value) for value in at_or_over if value is not None),
        *(Edge(value, beyond=True) for value in beyond if value is not None),
    )


def is_positive(outcome: Outcome, passed: Iterable[Edge]) -> bool:
    """Whether a number above the `passed` edges is positive by the threshold of the outcome."""
    cut, over = outcome.threshold, set(passed)
    if cut is None:
        raise ValueError("the outcome has no threshold")
    return (
        (cut.at_least is None or Edge(cut.at_least) in over)
        and (cut.above is None or Edge(cut.above, beyond=True) in over)
        and (cut.at_most is None or Edge(cut.at_most, beyond=True) not in over)
        and (cut.below is None or Edge(cut.below) not in over)
    )


def _bin_edges(attribute: Protected) -> set[Edge]:
    edges = {Edge(value, attribute.is_over) for value in attribute.bins}
    if isinstance(attribute.derivation, Difference) and min(attribute.bins, default=0) > 0:
        edges.add(NEGATIVE)
    return edges

"""Attributes and outcomes of a `Spec`, and the functions that read attributes and strata."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise
from typing import Literal, TypeAlias

from fairaudit.base.errors import Fault, did_you_mean, suggest_known
from fairaudit.base.frozen import Frozen, field, replace
from fairaudit.base.names import listing, quoted
from fairaudit.counting.columns import (
    Age,
    Combination,
    CountColumns,
    Derivation,
    Difference,
    Period,
    SimilarityColumns,
)
from fairaudit.counting.plan import MOST_LEVELS
from fairaudit.cube import UNKNOWN
from fairaudit.spec import key_schema
from fairaudit.spec.reading import Conditions
from fairaudit.spec.text import LocatedText, SpecReader

_SAME = ("trim", "labels", "merge", "keep", "quantiles", "split")
"""Keys of a column that are copied to its attribute unchanged."""
_MOST_QUANTILES = 100
_MOST_RULES = 100
"""The maximum number of conditions. Each condition is tried on each combination of levels."""
_LIKE_A_DAY = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*")


class OutcomeKind(StrEnum):
    """The kind of an outcome: several classes, a number, or only a score."""

    CLASSES = "classes"
    NUMBER = "number"
    SCORE = "score"


def value_of(text: LocatedText | None) -> str | None:
    """The value of an optional text."""
    return None if text is None else text.value


def format_edge(edge: Decimal) -> str:
    """A number as the spec writes it. Python formats numbers that have an exponent."""
    text = repr(float(edge))
    return text.removesuffix(".0") if "E" in str(edge) or "e+" in text else str(edge)


class PropensityStrata(Frozen):
    """Bins of the predicted probability of belonging to a `group` of the attribute `of`.

    If `group` is None, the model predicts who is outside the reference group, or in one of two
    groups. Without `bins`, the number of bins depends on the number of people.
    """

    of: str
    group: LocatedText | None
    features: SimilarityColumns
    bins: int | None


class ClusterStrata(Frozen):
    """`k` clusters of people with similar features."""

    features: SimilarityColumns
    k: int
    seed: int


ModelledStrata: TypeAlias = PropensityStrata | ClusterStrata


class Protected(Frozen):
    """A protected attribute, a stratum or a feature: its column, and how its levels are recoded.

    `codebook` lists the allowed levels, `labels` the names of codes. An edge of `bins` belongs to
    the bin above it, or with `is_over` to the bin below it. `quantiles` is a number of bins with
    equal numbers of people; their edges are computed from the data. Strata from a `model` have no
    column in the data, and a `derivation` computes a column from others. For combined columns, the
    first of the `rules` that matches gives the level. `split` are the separators of several
    values in a cell, and `several` is the level of such cells.
    """

    name: str
    column: LocatedText
    trim: bool = False
    unknown: tuple[str, ...] = ()
    codebook: tuple[LocatedText, ...] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    merge: Mapping[str, tuple[LocatedText, ...]] | None = None
    keep: tuple[LocatedText, ...] | None = None
    other: str = "other"
    bins: tuple[Decimal, ...] = ()
    is_over: bool = False
    quantiles: int | None = None
    reference: LocatedText | None = None
    model: ModelledStrata | None = None
    derivation: Derivation | None = None
    split: tuple[str, ...] = ()
    several: str = ""
    rules: Mapping[str, Conditions] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the data that the attribute is read from."""
        return (self.column.value,) if self.derivation is None else self.derivation.columns

    @property
    def is_cut(self) -> bool:
        """Whether the column of the attribute holds numbers that are cut into bins."""
        return bool(self.bins or self.quantiles)

    def bin_labels(self) -> tuple[str, ...]:
        """The levels of the bins: `under 25`, `25 to 40`, `40 and over`, or their `labels`.

        With `is_over`, the levels are `25 and under`, `over 25 to 40`, `over 40`.
        """
        return tuple(self.labels.get(name, name) for name in self.bin_names())

    def bin_names(self) -> tuple[str, ...]:
        """The names of the bins by their edges, without `labels`."""
        edges = [format_edge(edge) for edge in self.bins]
        if edges and self.is_over:
            between = [f"over {low} to {high}" for low, high in pairwise(edges)]
            return (f"{edges[0]} and under", *between, f"over {edges[-1]}")
        middle = [f"{low} to {high}" for low, high in pairwise(edges)]
        return (f"under {edges[0]}", *middle, f"{edges[-1]} and over") if edges else ()


class Threshold(Frozen):
    """A cut on a number. The number is positive if it is within all bounds that are set.

    `beyond` is a share: numbers above the quantile of that share are positive. The quantile is
    computed from the data.
    """

    at_least: Decimal | None = None
    above: Decimal | None = None
    at_most: Decimal | None = None
    below: Decimal | None = None
    beyond: Fraction | None = None


class Outcome(Frozen):
    """A label, prediction, decision or number: its column and its positive values.

    Without `positive`, only metrics of all classes (differential fairness) can use it. If the
    outcome has only a score, `column` is the column of the score. `order` names the classes of an
    ordinal outcome from the lowest to the highest. If `is_assumed`, a metric needs a positive class
    but the spec names none, so the data must contain 0 and 1, or false and true. `counts` are
    columns with the number of people of each level. The outcome does not apply to people with an
    `outside` value: for example, people without an interview cannot get an offer.
    """

    name: str
    column: LocatedText
    positive: tuple[LocatedText, ...] = ()
    threshold: Threshold | None = None
    negative: tuple[LocatedText, ...] = ()
    others: Literal["error", "drop"] = "error"
    favourable: bool = True
    kind: OutcomeKind = OutcomeKind.CLASSES
    score: LocatedText | None = None
    order: tuple[LocatedText, ...] = ()
    is_assumed: bool = False
    counts: CountColumns | None = None
    outside: tuple[LocatedText, ...] = ()

    @property
    def positive_words(self) -> str:
        """Which values are positive: `hired = yes`, `score at least 0.5`; empty if unknown."""
        bounds = () if self.threshold is None else ("at_least", "above", "at_most", "below")
        cuts = [
            f"{bound.replace('_', ' ')} {number}"
            for bound in bounds
            if (number := getattr(self.threshold, bound)) is not None
        ]
        levels = [level.value for level in self.positive]
        if self.counts is not None:
            return " or ".join(levels)  # each is the name of a column of counts
        texts = [" and ".join(cuts)] if cuts else [f"= {level}" for level in levels]
        return " or ".join(f"{self.column.value} {text}" for text in texts)

    @property
    def has_classes(self) -> bool:
        """Whether the outcome has classes, by which people are counted."""
        return self.kind is OutcomeKind.CLASSES

    @property
    def is_cut(self) -> bool:
        """Whether the classes are the two sides of a cut on a number."""
        return self.threshold is not None

    @property
    def binary(self) -> bool:
        """Whether the spec says what is positive."""
        return bool(self.positive) or self.threshold is not None

    @property
    def may_be_binary(self) -> bool:
        """Whether the outcome is binary, or can be binary if its values are 0 and 1."""
        return self.binary or (self.has_classes and not self.order)


def read_attributes(
    reader: SpecReader, role: str, shapes: Mapping[str, key_schema.LevelColumn]
) -> tuple[Protected, ...]:
    """Protected attributes, strata or features: columns with the rules that recode them."""
    attributes = []
    for name, shape in shapes.items():
        at = reader.at("columns", role, name)
        attribute = _read_levels(at, name, shape)
        if isinstance(shape, key_schema.StratumColumn) and shape.levels is not None:
            attribute = replace(attribute, codebook=shape.levels)
            known = {*(text.value for text in shape.levels), *shape.labels.values()}
            recoded = [at.text(("labels", code), code) for code in shape.labels]
            recoded += [text for merged in shape.merge.values() for text in merged]
            recoded += [text for text in shape.keep or () if text.value not in shape.merge]
            for one in [one for one in recoded if one.value not in known]:
                hint = did_you_mean(one.value, known)
                at.faults.append(one.fault(f"{one.value!r} is not one of the `levels`{hint}"))
        if isinstance(shape, key_schema.ProtectedColumn):
            if (text := shape.reference) is not None:
                text = replace(text, value=shape.labels.get(text.value, text.value))
                attribute = replace(attribute, reference=text)
                at.faults.extend(reference_faults(attribute))
        else:
            # Fingerprints omit an empty `merge` of a stratum, but not of a protected attribute.
            attribute = replace(attribute, merge=attribute.merge or None)
        attributes.append(attribute)
    return tuple(attributes)


def _read_levels(reader: SpecReader, name: str, shape: key_schema.LevelColumn) -> Protected:
    """The attribute of a column, with the rules that recode its levels."""
    _refuse_recoding(reader, shape)
    derivation = _read_derivation(reader, name, shape)
    column = shape.column or reader.column((), name, key=True)
    if shape.quantiles is not None and not 2 <= shape.quantiles <= _MOST_QUANTILES:
        what = f"`quantiles` must be a number from 2 to {_MOST_QUANTILES}"
        reader.fault(("quantiles",), what)
    key = "bins" if shape.over is None else "over"
    edges: list[Decimal] | None = getattr(shape, key)
    if edges is not None and (not edges or edges != sorted(set(edges))):
        reader.fault((key,), "the values must be in ascending order without repeats")
    if edges is not None and len(edges) >= MOST_LEVELS:
        what = f"these values make {len(edges) + 1:,} groups, and the maximum is {MOST_LEVELS:,}"
        reader.fault((key,), f"{what}: use fewer values")
    attribute = Protected(
        name=name,
        column=column if derivation is None else replace(column, value=derivation.name),
        unknown=tuple(shape.unknown),
        other=shape.other or "other",
        bins=tuple(edges or ()),
        is_over=shape.over is not None,
        derivation=derivation,
        several=shape.several if shape.split else "",
        rules=shape.rule,
        **{key: getattr(shape, key) for key in _SAME},
    )
    combined = [text.value for text in shape.combine or ()]
    conditions = [(level, needed) for level, several in shape.rule.items() for needed in several]
    if len(conditions) > _MOST_RULES:
        what = f"`rule` has {len(conditions):,} conditions, and the maximum is {_MOST_RULES}"
        reader.fault(("rule",), f"{what}; `merge` accepts more levels")
    for level, several in shape.rule.items():
        if not several or not all(several):
            reader.fault(("rule", level), "a condition needs a column and a level: `{race: White}`")
    for level, needed in conditions:
        for part in [part for part in needed if part not in combined]:
            what = f"{part!r} is not one of the combined columns{did_you_mean(part, combined)}"
            reader.fault(("rule", level, part), what, key=True)
    is_split = all(map(str.strip, shape.split)) and not (derivation or attribute.is_cut)
    if shape.split and not is_split:
        what = "`split` needs a character, such as `|`, and a column of the data without bins"
        reader.fault(("split",), what)
    # Labels must name bins, and two bins cannot have the same label.
    names, labels = attribute.bin_names(), attribute.bin_labels()
    for unknown in [label for label in attribute.labels if names and label not in names]:
        hint = suggest_known(unknown, names, listing(names))
        reader.fault(("labels", unknown), f"unknown bin{hint}")
    for label in [label for label, count in Counter(labels).items() if count > 1]:
        reader.fault(("labels",), f"two bins have the label {quoted(label)}: use different labels")
    return attribute


def _read_derivation(
    reader: SpecReader, name: str, shape: key_schema.LevelColumn
) -> Derivation | None:
    """The computation of the column of an attribute; None if the data has the column."""
    written = {
        "from": shape.born,
        "minus": shape.minus,
        "period": shape.period,
        "combine": shape.combine,
    }
    kinds = [key for key, value in written.items() if value is not None]
    for key in kinds[1:]:
        reader.fault((key,), f"either `{kinds[0]}` or `{key}`, not both", key=True)
    if shape.at is not None and shape.born is None:
        reader.fault(("at",), "`at` is the reference day of an age and needs `from`", key=True)
    if shape.rule and shape.combine is None:
        reader.fault(("rule",), "`rule` needs `combine`, the list of its columns", key=True)
    if not kinds:
        return None
    if shape.column is not None and kinds[0] not in {"minus", "period"}:
        reader.fault(
            ("column",),
            f"remove `column`: `{kinds[0]}` already says which column is used",
            key=True,
        )
    is_cut = shape.bins or shape.over or shape.quantiles
    if kinds[0] not in {"combine", "period"} and not is_cut:
        reader.fault((kinds[0],), "a column of numbers needs `bins`, `over` or `quantiles`")
    if shape.period is not None:
        if is_cut:
            message = "each period is a level already: remove `bins`, `over` and `quantiles`"
            reader.fault(("period",), message)
        column = shape.column or reader.column(("column",), name)
        return Period(column.value, shape.period)
    if shape.born is not None:
        return _read_age(reader, shape.born, shape.at)
    if shape.minus is not None:
        column = shape.column or reader.column(("column",), name)
        return Difference(column.value, shape.minus.value)
    columns = tuple(text.value for text in shape.combine or ())
    if len({*columns}) < max(2, len(columns)) or is_cut:
        what = "`combine` needs two or more different columns, without `bins`, `over`, `quantiles`"
        reader.fault(("combine",), what)
    return Combination(columns)


def _read_age(reader: SpecReader, born: LocatedText, at: str | None) -> Age:
    where = ("at",)
    if at is None:
        what = "`at` is missing: name the day of the age, such as `at: 2024-12-31`, or a column"
        reader.fault((), what)
    elif _LIKE_A_DAY.fullmatch(at):
        try:
            date.fromisoformat(at)
        except ValueError:
            reader.fault(where, f"{at} is not a date: write a day that exists")
            at = None
    age = Age(born.value, at or "0001-01-01")
    if age.day is None:
        reader.column(where, age.at)
    return age


def reference_faults(column: Protected) -> list[Fault]:
    """The fault of a reference that is not the label of a bin; empty if it is correct."""
    labels = column.bin_labels()
    if not labels or column.reference is None or column.reference.value in labels:
        return []
    hint = suggest_known(column.reference.value, labels, listing(labels))
    return [column.reference.fault(f"unknown bin{hint}")]


def _refuse_recoding(reader: SpecReader, shape: key_schema.LevelColumn) -> None:
    """Adds faults of keys that exclude each other, and of levels that are named twice."""
    is_listed = isinstance(shape, key_schema.StratumColumn) and shape.levels is not None
    recoded = shape.merge or shape.keep is not None or shape.other or is_listed
    cuts = [key for key in ("bins", "over", "quantiles") if getattr(shape, key) is not None]
    for key in cuts[1:]:
        reader.fault((key,), f"either `{cuts[0]}` or `{key}`, not both", key=True)
    if shape.quantiles is not None and shape.labels:
        what = "`quantiles` cannot have labels, because the edges depend on the data: use `bins`"
        reader.fault(("labels",), what)
    if cuts and recoded:
        what = "a column with bins cannot have `levels`, `merge`, `keep` or `other`"
        reader.fault((cuts[0],), what)
    if shape.other is not None and shape.keep is None and not shape.rule:
        reader.fault(("other",), "`other` needs `keep`: list the levels to keep")
    kept_levels = {text.value for text in shape.keep or ()}
    if shape.other is not None and shape.other in kept_levels:
        reader.fault(("other",), f"{shape.other!r} is a kept level: use another name for `other`")
    if "" in shape.labels.values():
        reader.fault(("labels",), "a label cannot be empty; use `unknown` for unknown values")
    merge = {
        target: [shape.labels.get(text.value, text.value) for text in levels]
        for target, levels in shape.merge.items()
    }
    kept = {shape.labels.get(level, level) for level in kept_levels - {*shape.merge}}
    for target, levels in merge.items():
        if kept & {*levels}:
            reader.fault(("merge", target), "a level cannot be both merged and kept")
    times = Counter(level for levels in merge.values() for level in levels)
    for level in [level for level, count in times.items() if count > 1]:
        reader.fault(("merge",), f"the level {level!r} is merged twice")
    for word in (*shape.merge, *shape.labels.values(), shape.other):
        if word == UNKNOWN:
            reader.fault((), f"{UNKNOWN!r} is reserved for unknown values")

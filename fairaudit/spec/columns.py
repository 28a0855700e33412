"""Reads the `columns` of a spec: attributes, strata, features, outcomes, and their groupings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from fairaudit.cube import MOST_ATTRIBUTES, UNKNOWN, Grouping, every_subset
from fairaudit.errors import Fault, did_you_mean
from fairaudit.names import quoted
from fairaudit.spec import schema
from fairaudit.spec.derivations import COUNTED_LEVEL
from fairaudit.spec.derived_columns import (
    find_counted_positive,
    read_counts,
    read_derivation,
    read_rules,
)
from fairaudit.spec.fields import WORDS
from fairaudit.spec.model import (
    RESERVED,
    OtherValues,
    Outcome,
    OutcomeKind,
    Protected,
    SimilarityColumns,
    Threshold,
)
from fairaudit.spec.text import Draft, Path, Text

_MOST_QUANTILES = 100


@dataclass(frozen=True, slots=True)
class Groupings:
    """The columns that groupings are made of."""

    protected: tuple[str, ...]
    strata: tuple[str, ...]

    def by(
        self, words: Sequence[Sequence[str]], fault: Callable[[int, str], None]
    ) -> tuple[Grouping, ...]:
        """The groupings that a `by` asks for; a fault gets its number in the list."""
        return _expand(words, self.protected, self.protected, fault)

    def given(
        self, words: Sequence[Sequence[str]], by: Grouping, fault: Callable[[int, str], None]
    ) -> tuple[Grouping, ...]:
        """The strata that a `given` asks for beside `by`: declared ones, or other attributes."""
        others = tuple(name for name in self.protected if name not in by)
        return _expand(words, self.strata, (*self.strata, *others), fault)


def _expand(
    words: Sequence[Sequence[str]],
    words_mean: Sequence[str],
    known: Sequence[str],
    fault: Callable[[int, str], None],
) -> tuple[Grouping, ...]:
    groupings: list[Grouping] = []
    for number, written in enumerate(words):
        names = _split_intersection(written, known)
        if len(names) == 1 and names[0] in WORDS:
            if not words_mean:
                fault(number, f"{names[0]!r}: the spec declares no strata to condition on")
            if names[0] == "all" and len(words_mean) > MOST_ATTRIBUTES:
                count = len(words_mean)
                fault(
                    number,
                    f"{count} columns have {2**count - 1:,} subsets, and {MOST_ATTRIBUTES} at most "
                    "are taken in all combinations: say `each`, as in `groups: {by: each}`, or "
                    "name the groupings",
                )
                continue
            groupings += _expand_word(names[0], words_mean)
            continue
        unknown = [name for name in names if name not in known]
        for name in unknown:
            fault(number, f"no such column here: {name!r}{did_you_mean(name, (*known, *WORDS))}")
        if len(set(names)) < len(names):
            fault(number, "a column stands twice in one grouping")
        if not unknown:
            groupings.append(tuple(name for name in known if name in names))
    return tuple(dict.fromkeys(groupings))


def _split_intersection(names: Sequence[str], known: Sequence[str]) -> Sequence[str]:
    """The columns of an intersection that is written `gender * race`, or with the sign ×."""
    if len(names) != 1 or names[0] in known:
        return names
    return [name.strip() for name in re.split("[*×]", names[0])]


def _expand_word(word: str, names: Sequence[str]) -> list[Grouping]:
    if word == "each":
        return [(name,) for name in names]
    return every_subset(names) if word == "all" else [tuple(names)] if names else []


@dataclass(frozen=True, slots=True)
class Columns:
    """What each column of the data is to the audit."""

    protected: tuple[Protected, ...]
    strata: tuple[Protected, ...]
    features: tuple[Protected, ...]
    similarity: SimilarityColumns
    label: Outcome | None
    predictions: tuple[Outcome, ...]
    numbers: tuple[Outcome, ...]

    @property
    def groupings(self) -> Groupings:
        """What groupings are made of: the protected attributes and the strata."""
        return Groupings(
            tuple(attribute.name for attribute in self.protected),
            tuple(stratum.name for stratum in self.strata),
        )

    @property
    def outcomes(self) -> dict[str, Outcome]:
        """The outcomes by their name; of two that share one, which is a fault, the first."""
        outcomes: dict[str, Outcome] = {}
        for outcome in (self.label, *self.predictions, *self.numbers):
            if outcome is not None:
                outcomes.setdefault(outcome.name, outcome)
        return outcomes

    def assume_positives(self, names: Collection[str]) -> Columns:
        """The columns where each of these outcomes that names no positive has 0 and 1."""

        def assume(outcome: Outcome) -> Outcome:
            is_open = outcome.name in names and not outcome.binary and outcome.may_be_binary
            return outcome.assume_positive() if is_open else outcome

        label = None if self.label is None else assume(self.label)
        return replace(self, label=label, predictions=tuple(map(assume, self.predictions)))

    @property
    def first(self) -> str:
        """The outcome that is audited where none is named."""
        return self.predictions[0].name if self.predictions else next(iter(self.outcomes))


def read_columns(draft: Draft, shape: schema.Columns) -> Columns:
    """What the columns of a spec mean."""
    columns = Columns(
        protected=tuple(
            _read_protected(draft, ("columns", "protected", name), name, column)
            for name, column in shape.protected.items()
        ),
        strata=_read_strata(draft, "strata", shape.strata),
        features=_read_strata(
            draft,
            "features",
            {n: feature for n, feature in shape.features.items() if feature.names is None},
        ),
        similarity=_read_similarity(draft, shape),
        label=_read_outcome(draft, ("columns", "label"), "label", shape.label),
        predictions=_read_predictions(draft, shape),
        numbers=tuple(
            Outcome(name, draft.text(("columns", "numbers", name), column), kind=OutcomeKind.NUMBER)
            for name, column in shape.numbers.items()
        ),
    )
    if not columns.protected:
        draft.fault(("columns", "protected"), "name at least one protected attribute")
    if not columns.outcomes:
        draft.fault(("columns",), "name an outcome: a label, a prediction or a decision")
    _refuse_names(draft, columns)
    _refuse_outcome_names(draft, shape, columns)
    return columns


def _column_of(draft: Draft, path: Path, name: str, column: str | None) -> Text:
    """The column that is named; else it is called as its entry is."""
    if column is not None:
        return draft.text((*path, "column"), column)
    return draft.text(path, name, key=True)


def _read_protected(
    draft: Draft, path: Path, name: str, shape: schema.ProtectedColumn
) -> Protected:
    reference = draft.optional((*path, "reference"), shape.reference)
    if reference is not None:
        reference = replace(reference, value=shape.labels.get(reference.value, reference.value))
    attribute = replace(
        _read_levels(draft, path, name, shape),
        codebook=_read_codebook(draft, path, shape),
        reference=reference,
    )
    draft.faults.extend(reference_faults(attribute))
    return attribute


def _read_levels(draft: Draft, path: Path, name: str, shape: schema.LevelColumn) -> Protected:
    """A column and how its levels are recoded."""
    _refuse_recoding(draft, path, shape)
    derivation = read_derivation(draft, path, name, shape)
    column = _column_of(draft, path, name, shape.column)
    edges = "bins" if shape.over is None else "over"
    return Protected(
        name=name,
        column=column if derivation is None else replace(column, value=derivation.name),
        trim=shape.trim,
        unknown=tuple(shape.unknown),
        labels=shape.labels,
        merge={
            target: draft.texts((*path, "merge", target), levels)
            for target, levels in shape.merge.items()
        },
        keep=None if shape.keep is None else draft.texts((*path, "keep"), shape.keep),
        other=shape.other or "other",
        bins=_read_bins(draft, (*path, edges), getattr(shape, edges)),
        is_over=shape.over is not None,
        quantiles=_read_quantiles(draft, path, shape),
        derivation=derivation,
        rules=read_rules(draft, path, shape),
    )


def _read_codebook(
    draft: Draft, path: Path, shape: schema.StratumColumn
) -> tuple[Text, ...] | None:
    """The levels that may occur, with faults for what is recoded and is none of them."""
    if shape.levels is None:
        return None
    known = {*shape.levels, *shape.labels.values()}
    named: list[tuple[Path, str]] = [(("labels", code), code) for code in shape.labels]
    named += [
        (("merge", target, number), level)
        for target, levels in shape.merge.items()
        for number, level in enumerate(levels)
    ]
    named += [
        (("keep", number), level)
        for number, level in enumerate(shape.keep or ())
        if level not in shape.merge
    ]
    for inner, level in named:
        if level not in known:
            hint = did_you_mean(level, known)
            draft.fault((*path, *inner), f"{level!r} is none of the `levels`{hint}")
    return draft.texts((*path, "levels"), shape.levels)


def reference_faults(column: Protected) -> list[Fault]:
    """The fault of a reference that is none of the bins."""
    labels = column.bin_labels()
    if not labels or column.reference is None or column.reference.value in labels:
        return []
    known = ", ".join(quoted(label) for label in labels)
    hint = did_you_mean(column.reference.value, labels) or f"; there are {known}"
    return [column.reference.fault(f"no such bin{hint}")]


def _refuse_recoding(draft: Draft, path: Path, shape: schema.LevelColumn) -> None:
    """The faults of levels that are merged, kept or binned at once, or twice."""
    is_listed = isinstance(shape, schema.StratumColumn) and shape.levels is not None
    recoded = shape.merge or shape.keep is not None or shape.other or shape.labels or is_listed
    cuts = [key for key in ("bins", "over", "quantiles") if getattr(shape, key) is not None]
    for key in cuts[1:]:
        draft.fault((*path, key), f"either `{cuts[0]}` or `{key}`, not both", key=True)
    if cuts and recoded:
        what = "a column is either binned or its levels are recoded, not both"
        draft.fault((*path, cuts[0]), what)
    if shape.other is not None and shape.keep is None and not shape.rule:
        draft.fault((*path, "other"), "`other` names what `keep` leaves: name the levels to keep")
    for target, levels in shape.merge.items():
        if shape.keep is not None and set(levels) & set(shape.keep) - {*shape.merge}:
            draft.fault((*path, "merge", target), "a level is both merged and kept")
    times = Counter(level for levels in shape.merge.values() for level in levels)
    for level in [level for level, count in times.items() if count > 1]:
        draft.fault((*path, "merge"), f"the level {level!r} is merged twice")
    for word in (*shape.merge, *shape.labels.values(), shape.other):
        if word == UNKNOWN:
            draft.fault(path, f"{UNKNOWN!r} is the name of those who are not known")


def _read_strata(
    draft: Draft, role: str, shapes: Mapping[str, schema.LevelColumn]
) -> tuple[Protected, ...]:
    strata = []
    for name, shape in shapes.items():
        path: Path = ("columns", role, name)
        stratum = _read_levels(draft, path, name, shape)
        # As fingerprints have always had strata: of an attribute an empty `merge` is part of them.
        stratum = replace(stratum, merge=stratum.merge or None)
        if isinstance(shape, schema.StratumColumn):
            stratum = replace(stratum, codebook=_read_codebook(draft, path, shape))
        strata.append(stratum)
    return tuple(strata)


def _read_similarity(draft: Draft, shape: schema.Columns) -> SimilarityColumns:
    """The columns in which people are alike; each is named once."""
    columns: dict[str, tuple[Text, ...]] = {}
    known = set[str]()
    for kind, feature in shape.features.items():
        path: Path = ("columns", "features", kind)
        if feature.names is None:
            continue
        if kind not in schema.SIMILARITY:
            hint = did_you_mean(kind, schema.SIMILARITY)
            message = "a list of features stands under `numeric` or `categorical`"
            draft.fault(path, message + hint, key=True)
            continue
        columns[kind] = draft.texts(path, feature.names)
        for text in columns[kind]:
            if text.value in known:
                draft.faults.append(text.fault(f"the feature {text.value!r} stands twice"))
            known.add(text.value)
    return SimilarityColumns(**columns)


def _read_quantiles(draft: Draft, path: Path, shape: schema.LevelColumn) -> int | None:
    where = (*path, "quantiles")
    if shape.quantiles is not None and not 2 <= shape.quantiles <= _MOST_QUANTILES:
        draft.fault(where, f"from 2 to {_MOST_QUANTILES} quantiles make groups")
    return shape.quantiles


def _read_bins(draft: Draft, path: Path, edges: Sequence[Decimal] | None) -> tuple[Decimal, ...]:
    if edges is not None and (not edges or list(edges) != sorted(set(edges))):
        draft.fault(path, "bin edges must ascend, each one once")
    return tuple(edges or ())


def _read_predictions(draft: Draft, shape: schema.Columns) -> tuple[Outcome, ...]:
    """The prediction or decision with its score, or the score alone; or every model."""
    if shape.models is not None:
        for key in ("prediction", "decision", "score"):
            if getattr(shape, key) is not None:
                message = f"`models` stand instead of `{key}`: make it one of them"
                draft.fault(("columns", key), message, key=True)
        models = [
            _read_prediction(draft, ("columns", "models", name), name, model)
            for name, model in shape.models.items()
        ]
        return tuple(model for model in models if model is not None)
    if shape.prediction is not None and shape.decision is not None:
        draft.fault(
            ("columns", "decision"),
            "name a prediction (what a model says) or a decision (what people decided), not both",
        )
    name = "prediction" if shape.decision is None else "decision"
    outcome = _read_prediction(draft, ("columns",), name, shape)
    return () if outcome is None else (outcome,)


def _read_prediction(
    draft: Draft, path: Path, name: str, shape: schema.Columns | schema.ModelColumns
) -> Outcome | None:
    """What a model or people said, and its score; where there is that alone, it is `score`."""
    score = draft.optional((*path, "score"), shape.score)
    is_model = isinstance(shape, schema.ModelColumns)
    decision = None if isinstance(shape, schema.ModelColumns) else shape.decision
    if (column := decision or shape.prediction) is not None:
        where = (*path, "prediction" if is_model else name)
        outcome = _read_outcome(draft, where, name, column)
        return outcome and replace(outcome, score=score)
    if score is not None:
        return Outcome(name if is_model else "score", score, kind=OutcomeKind.SCORE, score=score)
    if is_model:
        draft.fault(path, "a model has a prediction, a score, or both", key=True)
    return None


def _read_outcome(
    draft: Draft, path: Path, name: str, shape: schema.OutcomeColumn | None
) -> Outcome | None:
    if shape is None:
        return None
    if shape.counts is None and shape.column is None:
        draft.fault(path, "`column` is missing")
    if shape.number:
        return _read_number(draft, path, name, shape)
    positive, where = shape.positive, (*path, "negative")
    values: tuple[Text, ...] = ()
    threshold = None
    if positive is not None:
        values = draft.texts((*path, "positive"), positive.values)
        threshold = _read_threshold(draft, (*path, "positive"), positive)
        if threshold is not None and shape.negative is not None:
            draft.fault(where, "a cut on a number needs no `negative`")
    counts = read_counts(draft, path, shape)
    if counts is not None and positive is None and (level := find_counted_positive(counts)):
        values = (draft.text((*path, "counts", level), level, key=True),)
    if shape.negative is not None and positive is None and not values:
        draft.fault(where, "`negative` needs `positive` beside it")
    negative = draft.texts(where, shape.negative)
    conflicting = {text.value for text in values} & {text.value for text in negative}
    for value in sorted(conflicting):
        draft.fault(where, f"{value!r} is both positive and negative")
    return Outcome(
        name=name,
        column=_outcome_column(draft, path, shape),
        positive=values,
        threshold=threshold,
        negative=negative,
        others=OtherValues(shape.others),
        favourable=shape.favourable,
        order=_read_order(draft, path, shape, threshold),
        counts=counts,
    )


def _outcome_column(draft: Draft, path: Path, shape: schema.OutcomeColumn) -> Text:
    """The column of an outcome; of counts that stand side by side the one they are turned into."""
    if shape.column is None:
        return draft.text((*path, "counts"), COUNTED_LEVEL, key=True)
    return draft.text((*path, "column"), shape.column)


def _read_order(
    draft: Draft, path: Path, shape: schema.OutcomeColumn, threshold: Threshold | None
) -> tuple[Text, ...]:
    """The classes of an ordinal outcome, the lowest first."""
    if shape.order and threshold is not None:
        draft.fault((*path, "order"), "a cut on a number has two classes, in their order", key=True)
    if len(shape.order) == 1 or len(set(shape.order)) < len(shape.order):
        draft.fault((*path, "order"), "name every class once, from the lowest to the highest")
    return draft.texts((*path, "order"), shape.order)


def _read_number(draft: Draft, path: Path, name: str, shape: schema.OutcomeColumn) -> Outcome:
    """An outcome that is a number: it has no classes to name."""
    for key in ("positive", "negative", "others", "order"):
        if key in shape.model_fields_set:
            draft.fault((*path, key), f"a number has no classes: leave out `{key}`", key=True)
    column = _outcome_column(draft, path, shape)
    return Outcome(name, column, favourable=shape.favourable, kind=OutcomeKind.NUMBER)


def _read_threshold(draft: Draft, path: Path, positive: schema.Positive) -> Threshold | None:
    by_median = isinstance(positive.above, str)
    above = positive.above if isinstance(positive.above, Decimal) else None
    cut = Threshold(positive.at_least, above, positive.at_most, positive.below)
    if by_median or positive.top is not None:
        if cut != Threshold() or positive.values is not None or (by_median and positive.top):
            draft.fault(path, "a cut by share (`above: median`, `top: 3%`) stands alone")
        return Threshold(beyond=Fraction(1, 2) if positive.top is None else 1 - positive.top)
    if cut == Threshold():
        if not positive.values:
            draft.fault(path, "say which values are positive, or cut: `at_least: 0.5`")
        return None
    if positive.values is not None:
        draft.fault(path, "either values or a cut, not both")
    lower = [bound for bound in (cut.at_least, cut.above) if bound is not None]
    upper = [bound for bound in (cut.at_most, cut.below) if bound is not None]
    if len(lower) > 1 or len(upper) > 1 or (lower and upper and lower[0] > upper[0]):
        draft.fault(path, "at most one lower and one higher upper bound")
    elif lower and lower == upper and (cut.at_least is None or cut.at_most is None):
        draft.fault(path, "no number lies between these bounds")
    return cut


def _refuse_names(draft: Draft, columns: Columns) -> None:
    """Faults of the names of columns: each is one column's, and no word of the spec."""
    protected = {column.name for column in columns.protected}
    for column in columns.strata:
        if column.name in protected:
            message = f"{column.name!r} is a protected attribute already"
            hint = f"`given: {column.name}` conditions on it"
            draft.faults.append(column.column.fault(f"{message}; {hint}"))
    taken = protected | {column.name for column in columns.strata}
    for column in columns.features:
        if column.name in taken:
            message = f"{column.name!r} is a protected attribute or a stratum already"
            draft.faults.append(column.column.fault(f"{message}: subgroups have it all the same"))
    for column in (*columns.protected, *columns.strata, *columns.features):
        if column.name in RESERVED:
            message = f"{column.name!r} is a word of the spec; name it otherwise and say"
            draft.faults.append(column.column.fault(f"{message} `column: {column.column.value}`"))


def _refuse_outcome_names(draft: Draft, shape: schema.Columns, columns: Columns) -> None:
    """Faults of the names of models and numbers: each is one outcome's, and nothing else's."""
    paths: list[Path] = [("columns", "models", name) for name in shape.models or ()]
    paths += [("columns", "numbers", name) for name in shape.numbers]
    named: dict[str, Sequence[Protected]] = {
        "a protected attribute": columns.protected,
        "a stratum": columns.strata,
        "a feature": columns.features,
    }
    taken = {column.name: what for what, columns in named.items() for column in columns}
    if shape.score is not None:
        taken["score"] = "the score"
    for path in paths:
        name = str(path[-1])
        if name in RESERVED:
            draft.fault(path, f"{name!r} is a word of the spec; name it otherwise", key=True)
        elif name in taken:
            what = f"{name!r} is the name of {taken[name]} already: name it otherwise"
            draft.fault(path, what, key=True)
        taken[name] = "a model" if path[1] == "models" else "a number"

"""Reads the `columns` of a spec: outcomes, refused names, fitted strata; expands `by`, `given`."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from fairaudit.base.errors import did_you_mean, suggest_known
from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.names import quoted
from fairaudit.counting.columns import COUNTED_LEVEL, CountColumns, SimilarityColumns
from fairaudit.cube import MOST_ATTRIBUTES, Grouping, every_subset
from fairaudit.spec import key_schema, schema
from fairaudit.spec.column_model import (
    ClusterStrata,
    ModelledStrata,
    Outcome,
    OutcomeKind,
    PropensityStrata,
    Protected,
    Threshold,
    read_attributes,
)
from fairaudit.spec.model import RESERVED
from fairaudit.spec.reading import WORDS
from fairaudit.spec.text import LocatedText, Path, SpecReader

_MOST_MODELS = 100
"""The maximum number of models, because each model is compared with every other model."""

_MOST_STRATA = 20

_Models: TypeAlias = key_schema.StrataModel | key_schema.FactorColumn
_By: TypeAlias = Sequence[Sequence[str]] | None


class Columns(Frozen):
    """The columns of an audit by their roles."""

    protected: tuple[Protected, ...]
    strata: tuple[Protected, ...]
    features: tuple[Protected, ...]
    similarity: SimilarityColumns
    label: Outcome | None
    predictions: tuple[Outcome, ...]
    numbers: tuple[Outcome, ...]

    @property
    def attributes(self) -> Grouping:
        """The names of the protected columns."""
        return tuple(attribute.name for attribute in self.protected)

    @property
    def factors(self) -> Grouping:
        """The names of the strata."""
        return tuple(stratum.name for stratum in self.strata)

    def by(self, words: Sequence[Sequence[str]], reader: SpecReader) -> tuple[Grouping, ...]:
        """The groupings of the key `by`."""
        return _expand(words, self.attributes, self.attributes, "`columns.protected`", reader)

    def given(
        self, words: Sequence[Sequence[str]], by: Grouping, reader: SpecReader
    ) -> tuple[Grouping, ...]:
        """The groupings of the key `given`: of strata, and of attributes that are not in `by`."""
        others = tuple(name for name in self.attributes if name not in by)
        where = "`columns.strata`, or as a protected column that is not in `by`"
        return _expand(words, self.factors, (*self.factors, *others), where, reader)

    @property
    def references(self) -> dict[str, str]:
        """For each protected attribute that declares a reference, this reference."""
        return {
            attribute.name: attribute.reference.value
            for attribute in self.protected
            if attribute.reference
        }

    @property
    def outcomes(self) -> dict[str, Outcome]:
        """The outcomes by name; if two share a name (which is a fault), the first outcome."""
        outcomes: dict[str, Outcome] = {}
        for outcome in (self.label, *self.predictions, *self.numbers):
            if outcome is not None:
                outcomes.setdefault(outcome.name, outcome)
        return outcomes

    def assume_positives(self, names: Collection[str]) -> Columns:
        """The columns; 1 becomes the positive value of `names` that do not declare a value."""

        def assume(outcome: Outcome) -> Outcome:
            if outcome.name not in names or outcome.binary or not outcome.may_be_binary:
                return outcome
            # The values false and true equal 0 and 1.
            one, zero = (replace(outcome.column, value=value) for value in ("1", "0"))
            return replace(outcome, positive=(one,), negative=(zero,), is_assumed=True)

        label = None if self.label is None else assume(self.label)
        return replace(self, label=label, predictions=tuple(map(assume, self.predictions)))

    @property
    def first(self) -> str:
        """The outcome that is audited by default."""
        return self.predictions[0].name if self.predictions else next(iter(self.outcomes))


def read_columns(reader: SpecReader, shape: key_schema.Columns) -> Columns:
    """The columns that a spec describes."""
    # The columns that define similarity, by their kind.
    similar: dict[str, tuple[str, ...]] = {}
    listed = set[str]()
    for kind, feature in shape.features.items():
        path: Path = ("columns", "features", kind)
        if feature.names is None:
            continue
        if kind not in key_schema.SIMILARITY:
            hint = did_you_mean(kind, key_schema.SIMILARITY)
            message = "list features under `numeric` or `categorical`"
            reader.fault(path, message + hint, key=True)
            continue
        similar[kind] = tuple(text.value for text in feature.names)
        for number, name in enumerate(similar[kind]):
            if name in listed:
                reader.fault((*path, number), f"the feature {name!r} is listed twice")
            listed.add(name)
    columns = Columns(
        protected=read_attributes(reader, "protected", shape.protected),
        strata=read_attributes(reader, "strata", shape.strata),
        features=read_attributes(
            reader,
            "features",
            {n: feature for n, feature in shape.features.items() if feature.names is None},
        ),
        similarity=SimilarityColumns(**similar),
        label=None
        if shape.label is None
        else read_outcome(reader.at("columns", "label"), "label", shape.label),
        predictions=read_predictions(reader, shape),
        numbers=tuple(
            Outcome(name, column, kind=OutcomeKind.NUMBER) for name, column in shape.numbers.items()
        ),
    )
    if not columns.protected:
        reader.fault(("columns", "protected"), "name at least one protected column")
    if not columns.outcomes:
        reader.fault(("columns",), "name an outcome: a label, a prediction or a decision")
    _refuse_names(reader, shape, columns)
    return columns


def _refuse_names(reader: SpecReader, shape: key_schema.Columns, columns: Columns) -> None:
    """Adds faults of names of columns, models and numbers that are reserved or used twice."""
    protected = {column.name for column in columns.protected}
    for column in columns.strata:
        if column.name in protected:
            message = f"{column.name!r} is already a protected column"
            hint = f"`given: {column.name}` compares people with the same value in it"
            reader.faults.append(column.column.fault(f"{message}; {hint}"))
    taken = protected | {column.name for column in columns.strata}
    for column in columns.features:
        if column.name in taken:
            message = f"{column.name!r} is already a protected column or a stratum"
            hint = "remove it, because the search for subgroups includes it anyway"
            reader.faults.append(column.column.fault(f"{message}: {hint}"))
    for column in (*columns.protected, *columns.strata, *columns.features):
        if column.name in RESERVED:
            message = f"{column.name!r} is a reserved word; use another name and set"
            reader.faults.append(column.column.fault(f"{message} `column: {column.column.value}`"))
    paths: list[Path] = [("columns", "models", name) for name in shape.models or ()]
    paths += [("columns", "numbers", name) for name in shape.numbers]
    named: dict[str, Sequence[Protected]] = {
        "a protected column": columns.protected,
        "a stratum": columns.strata,
        "a feature": columns.features,
    }
    uses = {column.name: what for what, columns in named.items() for column in columns}
    if shape.score is not None:
        uses["score"] = "the score"
    for path in paths:
        name = str(path[-1])
        if name in RESERVED:
            reader.fault(path, f"{name!r} is a reserved word; use another name", key=True)
        elif name in uses:
            what = f"{name!r} is already the name of {uses[name]}: use another name"
            reader.fault(path, what, key=True)
        uses[name] = "a model" if path[1] == "models" else "a number"


def _expand(
    words: Sequence[Sequence[str]],
    words_mean: Sequence[str],
    known: Sequence[str],
    where: str,
    reader: SpecReader,
) -> tuple[Grouping, ...]:
    """The groupings that a list of names and words means; `where` completes a message."""
    groupings: list[Grouping] = []
    for number, written in enumerate(words):
        names = list(written)
        if len(names) == 1 and names[0] not in known:
            names = [name.strip() for name in re.split("[*×]", names[0])]
        if len(names) == 1 and names[0] in WORDS:
            if not words_mean:
                reader.fault((number,), f"{names[0]!r}: the spec has no strata")
            if names[0] == "all" and len(words_mean) > MOST_ATTRIBUTES:
                count = len(words_mean)
                what = f"`all` makes {2**count - 1:,} combinations of {count} columns"
                hint = "use `each`, or name the combinations"
                reader.fault(
                    (number,), f"{what}, and the maximum is {MOST_ATTRIBUTES} columns: {hint}"
                )
                continue
            if names[0] == "each":
                groupings += [(name,) for name in words_mean]
            elif words_mean:
                groupings += every_subset(words_mean) if names[0] == "all" else [(*words_mean,)]
            continue
        unknown = [name for name in names if name not in known]
        for name in unknown:
            reader.fault((number,), f"{name!r} is not declared in {where}{_hint(name, known)}")
        if len(set(names)) < len(names):
            reader.fault((number,), "a column is listed twice in one combination: remove one")
        if not unknown:
            groupings.append(tuple(name for name in known if name in names))
    return tuple(dict.fromkeys(groupings))


def _hint(name: str, known: Sequence[str]) -> str:
    """A hint for an unknown name: a combination, a list, or a similar column."""
    parts = [part for part in re.split(r"\s*[,;&+/]\s*|\s+(?:x|by|and|or)\s+", name) if part]
    if len(parts) > 1 and {*parts} <= {*known}:
        listed = f"[{', '.join(parts)}]"
        return f"; for a combination, write `{' * '.join(parts)}`; for a list, `{listed}`"
    if name in WORDS:
        return f": this word cannot be part of a combination: write it alone, `[{name}]`"
    return suggest_known(name, (*known, *WORDS))


def read_predictions(reader: SpecReader, shape: key_schema.Columns) -> tuple[Outcome, ...]:
    """The prediction or decision with its score, or the score alone, or all models."""
    if shape.models is not None:
        for key in ("prediction", "decision", "score"):
            if getattr(shape, key) is not None:
                message = f"`models` replaces `{key}`: move `{key}` into `models`"
                reader.fault(("columns", key), message, key=True)
        if len(shape.models) > _MOST_MODELS:
            what = f"the spec has {len(shape.models):,} models, and the maximum is {_MOST_MODELS}"
            reader.fault(("columns", "models"), f"{what}: write several specs", key=True)
        models = [
            _read_prediction(reader.at("columns", "models", name), name, model)
            for name, model in shape.models.items()
        ]
        return tuple(model for model in models if model is not None)
    if shape.prediction is not None and shape.decision is not None:
        reader.fault(
            ("columns", "decision"),
            "use a prediction (by a model) or a decision (by people), not both",
        )
    name = "prediction" if shape.decision is None else "decision"
    outcome = _read_prediction(reader.at("columns"), name, shape)
    return () if outcome is None else (outcome,)


def _read_prediction(
    reader: SpecReader, name: str, shape: key_schema.Columns | key_schema.ModelColumns
) -> Outcome | None:
    """A prediction or decision with its score; a score alone is named `score`."""
    score = shape.score
    is_model = isinstance(shape, key_schema.ModelColumns)
    decision = None if isinstance(shape, key_schema.ModelColumns) else shape.decision
    if (column := decision or shape.prediction) is not None:
        outcome = read_outcome(reader.at("prediction" if is_model else name), name, column)
        return replace(outcome, score=score)
    if score is not None:
        return Outcome(name if is_model else "score", score, kind=OutcomeKind.SCORE, score=score)
    if is_model:
        reader.fault((), "a model needs a prediction, a score, or both", key=True)
    return None


def read_outcome(reader: SpecReader, name: str, shape: key_schema.OutcomeColumn) -> Outcome:
    """A label, prediction or decision: its column, and which of its values are positive."""
    if shape.counts is None and shape.column is None:
        reader.fault((), "`column` is missing")
    counts = _read_counts(reader, shape)
    if shape.number:
        return _read_number(reader, name, shape)
    positive, where = shape.positive, ("negative",)
    values: tuple[LocatedText, ...] = ()
    threshold = None
    if positive is not None:
        values = reader.texts(("positive",), positive.values)
        threshold = _read_threshold(reader.at("positive"), positive)
        if threshold is not None and shape.negative is not None:
            reader.fault(where, "an outcome with a threshold cannot have `negative`: remove it")
    if counts is not None and positive is None:
        # The positive value is the only level next to `total`, or the level named `positive`.
        is_alone = counts.total is not None and len(counts.levels) == 1
        for level in counts.levels:
            if is_alone or level == "positive":
                values = (reader.text(("counts", level), level, key=True),)
    if shape.negative is not None and positive is None and not values:
        reader.fault(where, "`negative` needs `positive`")
    negative = shape.negative or ()
    conflicting = {text.value for text in values} & {text.value for text in negative}
    for value in sorted(conflicting):
        reader.fault(where, f"{value!r} is both positive and negative")
    if shape.order and threshold is not None:
        what = "a threshold already orders its two classes: remove `order`"
        reader.fault(("order",), what, key=True)
    if len(shape.order) == 1 or len({text.value for text in shape.order}) < len(shape.order):
        reader.fault(("order",), "list every class once, from the lowest to the highest")
    return Outcome(
        name=name,
        column=_outcome_column(reader, shape),
        positive=values,
        threshold=threshold,
        negative=negative,
        others=shape.others,
        favourable=shape.favourable,
        order=shape.order,
        counts=counts,
        outside=shape.outside,
    )


def _read_counts(reader: SpecReader, shape: key_schema.OutcomeColumn) -> CountColumns | None:
    """The columns with the number of people of each level of an outcome."""
    where = ("counts",)
    if shape.counts is None:
        return None
    if shape.column is not None:
        what = "remove `column`: `counts` already names the columns"
        reader.fault(("column",), what, key=True)
    levels = {level: column.value for level, column in shape.counts.items()}
    is_repeated = len({*levels.values()}) < len(levels)
    total = levels.pop("total", None)
    if len(shape.counts) < 2 or is_repeated:
        reader.fault(where, "name a count column for each level, or for a single level and `total`")
    rest = f"not {next(iter(levels))}" if len(levels) == 1 else "rest"
    if total is not None and rest in levels:
        what = f"{rest!r} is reserved for people in `total` without another level: rename it"
        reader.fault((*where, rest), what, key=True)
    if shape.number:
        reader.fault(("number",), "`counts` has levels: remove `number`", key=True)
    elif shape.positive is not None and shape.positive.values is None:
        known = ", ".join([*levels, *([] if total is None else [rest])])
        reader.fault(("positive",), f"with `counts`, the positive value must be one of {known}")
    return CountColumns(levels, total, rest)


def _outcome_column(reader: SpecReader, shape: key_schema.OutcomeColumn) -> LocatedText:
    """The column of an outcome; for `counts`, the column that the counts are converted into."""
    return shape.column or reader.column(("counts",), COUNTED_LEVEL, key=True)


def _read_number(reader: SpecReader, name: str, shape: key_schema.OutcomeColumn) -> Outcome:
    """An outcome that is a number, and has no classes."""
    for key in ("positive", "negative", "others", "order"):
        if reader.is_written(key):
            reader.fault((key,), f"a number has no classes: remove `{key}`", key=True)
    column = _outcome_column(reader, shape)
    return Outcome(name, column, favourable=shape.favourable, kind=OutcomeKind.NUMBER)


def _read_threshold(reader: SpecReader, positive: key_schema.Positive) -> Threshold | None:
    by_median = positive.above == "median"
    above = None if by_median or positive.above is None else Decimal(positive.above)
    cut = Threshold(positive.at_least, above, positive.at_most, positive.below)
    if by_median or positive.top is not None:
        if cut != Threshold() or positive.values is not None or (by_median and positive.top):
            what = "a threshold by share (`above: median`, `top: 3%`) cannot have other keys"
            reader.fault((), what)
        return Threshold(beyond=Fraction(1, 2) if positive.top is None else 1 - positive.top)
    if cut == Threshold():
        if not positive.values:
            reader.fault((), "list the positive values, or set a threshold: `at_least: 0.5`")
        return None
    if positive.values is not None:
        reader.fault((), "use values or a threshold, not both")
    lower = [bound for bound in (cut.at_least, cut.above) if bound is not None]
    upper = [bound for bound in (cut.at_most, cut.below) if bound is not None]
    if len(lower) > 1 or len(upper) > 1 or (lower and upper and lower[0] > upper[0]):
        reader.fault((), "use at most one lower and one upper bound; the upper one must be higher")
    elif lower and lower == upper and (cut.at_least is None or cut.at_most is None):
        reader.fault((), "no number lies between these bounds")
    return cut


def add_modelled_strata(reader: SpecReader, shape: schema.AuditSpec, columns: Columns) -> Columns:
    """The columns, with the strata that models make added."""
    strata: dict[str, Protected] = {}
    for stratum in columns.strata:
        body = shape.columns.strata[stratum.name]
        model = None
        if body.propensity is not None or body.clusters is not None:
            at = reader.at("columns", "strata", stratum.name)
            for key in ("column", "bins", "quantiles"):
                if getattr(body, key) is not None:
                    at.fault((key,), f"strata from a model cannot have `{key}`", key=True)
            model = _read_model(at, columns, body, None)
        strata[stratum.name] = replace(stratum, model=model)
    for number, entry in enumerate(shape.metrics):
        if entry.given_model is None or not entry.given:
            continue
        at, ((name,), *_) = reader.at("metrics", number, "given"), entry.given
        model = _read_model(at, columns, entry.given_model, entry.by)
        known = strata.setdefault(name, Protected(name, at.text((), name), model=model))
        if _values(known.model) != _values(model):
            message = f"another entry has a different model with the name {quoted(name)}"
            hint = "declare both models in columns.strata under different names"
            at.fault((), f"{message}: {hint}", key=True)
    if all(stratum.model is None for stratum in strata.values()):
        return replace(columns, strata=tuple(strata.values()))
    # Models of individual people cannot be combined with these keys.
    whole = shape.columns
    reasons = {
        "count": ("a row that stands for several people", whole.has_counts),
        "weight": ("a weighted sample", whole.weight is not None),
        "cluster": ("rows that belong together", whole.cluster is not None),
    }
    for key, (what, is_there) in reasons.items():
        if is_there:
            message = f"strata from a model do not support {what}: remove one of the two"
            reader.fault(("columns", key), message)
    if shape.suppress_below is not None:
        message = "strata from a model reveal small counts: remove the model or `suppress_below`"
        reader.fault(("suppress_below",), message)
    return replace(columns, strata=tuple(strata.values()))


def _values(model: ModelledStrata | None) -> object:
    """The values that identify a model, without their places in the spec."""
    if model is None:
        return None
    features = [*model.features.columns]
    if isinstance(model, ClusterStrata):
        return features, model.k, model.seed
    return features, model.of, model.group and model.group.value, model.bins


def _read_model(
    reader: SpecReader, columns: Columns, body: _Models, by: _By
) -> ModelledStrata | None:
    """The model that `body` describes; None if it does not describe exactly one."""
    if (body.propensity is None) is (body.clusters is None):
        reader.fault((), "name one model: `propensity` or `clusters`")
        return None
    if body.clusters is not None:
        reader = reader.at("clusters")
        _refuse_number(reader.at("k"), body.clusters.k)
        features = _read_features(reader, columns, body.clusters.features)
        return ClusterStrata(features, body.clusters.k, body.clusters.seed)
    assert body.propensity is not None
    reader, propensity = reader.at("propensity"), body.propensity
    known = [attribute.name for attribute in columns.protected]
    named = {name for names in by or () for name in names if name not in WORDS} or {*known}
    of = propensity.of or (named.pop() if len(named) == 1 else "")
    if not of:
        what = f"name the column whose groups the model predicts: `of: {known[0]}`" if known else ""
        reader.fault((), what)
    elif of not in known:
        reader.fault(("of",), f"no protected column {quoted(of)}{did_you_mean(of, known)}")
    if propensity.bins is not None:
        _refuse_number(reader.at("bins"), propensity.bins)
    features = _read_features(reader, columns, propensity.features)
    for attribute in columns.protected:
        if attribute.name == of and attribute.column.value in features.columns:
            message = f"the model cannot predict {of} from its own column: remove this feature"
            reader.fault(("features",), message)
    return PropensityStrata(of, propensity.group, features, propensity.bins)


def _refuse_number(reader: SpecReader, number: int) -> None:
    if not 2 <= number <= _MOST_STRATA:
        reader.fault((), f"expected a number of strata from 2 to {_MOST_STRATA}")


def _read_features(
    reader: SpecReader, columns: Columns, names: Sequence[str] | None
) -> SimilarityColumns:
    """The features that are named, or all that are declared."""
    declared = columns.similarity
    known = declared.columns
    if not known:
        message = "a model needs features: add `features: {numeric: […], categorical: […]}`"
        reader.fault((), f"{message} to `columns`", key=True)
    elif names is not None and not names:
        reader.fault(("features",), "name at least one feature")
    for index, name in enumerate(names or ()):
        if known and name not in known:
            hint = suggest_known(name, known)
            reader.fault(("features", index), f"unknown feature: {name!r}{hint}")
    return declared if names is None else declared.only(names)

"""Reads label, predictions, decisions, numbers: `positive`, cuts, `counts`, `order`; refusals."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from fairaudit.base.frozen import replace
from fairaudit.counting.columns import COUNTED_LEVEL, CountColumns
from fairaudit.spec import column_schema
from fairaudit.spec.column_model import OtherValues, Outcome, OutcomeKind, Threshold
from fairaudit.spec.shape import written_fields
from fairaudit.spec.text import Draft, Path, Text

_TOTAL = "total"

_MOST_MODELS = 100
"""Each model is judged beside every other."""


def read_predictions(draft: Draft, shape: column_schema.Columns) -> tuple[Outcome, ...]:
    """The prediction or decision with its score, or the score alone; or every model."""
    if shape.models is not None:
        for key in ("prediction", "decision", "score"):
            if getattr(shape, key) is not None:
                message = f"`models` stand instead of `{key}`: make it one of them"
                draft.fault(("columns", key), message, key=True)
        if len(shape.models) > _MOST_MODELS:
            what = f"{len(shape.models):,} models, and at most {_MOST_MODELS} are compared"
            draft.fault(("columns", "models"), f"{what}: write several specs", key=True)
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
    draft: Draft, path: Path, name: str, shape: column_schema.Columns | column_schema.ModelColumns
) -> Outcome | None:
    """What a model or people said, and its score; where there is that alone, it is `score`."""
    score = draft.optional_column((*path, "score"), shape.score)
    is_model = isinstance(shape, column_schema.ModelColumns)
    decision = None if isinstance(shape, column_schema.ModelColumns) else shape.decision
    if (column := decision or shape.prediction) is not None:
        where = (*path, "prediction" if is_model else name)
        outcome = read_outcome(draft, where, name, column)
        return outcome and replace(outcome, score=score)
    if score is not None:
        return Outcome(name if is_model else "score", score, kind=OutcomeKind.SCORE, score=score)
    if is_model:
        draft.fault(path, "a model has a prediction, a score, or both", key=True)
    return None


def read_outcome(
    draft: Draft, path: Path, name: str, shape: column_schema.OutcomeColumn | None
) -> Outcome | None:
    """A label, prediction or decision: its column, and which of its values are positive."""
    if shape is None:
        return None
    if shape.counts is None and shape.column is None:
        draft.fault(path, "`column` is missing")
    counts = _read_counts(draft, path, shape)
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
    if counts is not None and positive is None and (level := _find_counted_positive(counts)):
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


def _read_counts(
    draft: Draft, path: Path, shape: column_schema.OutcomeColumn
) -> CountColumns | None:
    """The columns that hold counts of people, each of one level of an outcome."""
    where = (*path, "counts")
    if shape.counts is None:
        return None
    if shape.column is not None:
        draft.fault((*path, "column"), "`counts` name the columns already", key=True)
    levels = {
        level: draft.column((*where, level), column).value
        for level, column in shape.counts.items()
        if level != _TOTAL
    }
    total = shape.counts.get(_TOTAL)
    if total is not None:
        draft.column((*where, _TOTAL), total)
    if len(shape.counts) < 2 or len(set(shape.counts.values())) < len(shape.counts):
        draft.fault(where, "name a column of counts for each level, or one level and the `total`")
    rest = f"not {next(iter(levels))}" if len(levels) == 1 else "rest"
    if total is not None and rest in levels:
        draft.fault((*where, rest), f"{rest!r} is what is left of the total: rename it", key=True)
    if shape.number:
        draft.fault((*path, "number"), "`counts` are of levels: leave out `number`", key=True)
    elif shape.positive is not None and shape.positive.values is None:
        known = ", ".join([*levels, *([] if total is None else [rest])])
        draft.fault((*path, "positive"), f"`counts` are of levels: name one of {known}")
    return CountColumns(levels, total, rest)


def _find_counted_positive(counts: CountColumns) -> str | None:
    """The level that is positive where the spec does not say so: the only one of a total."""
    if counts.total is not None and len(counts.levels) == 1:
        return next(iter(counts.levels))
    return "positive" if "positive" in counts.levels else None


def _outcome_column(draft: Draft, path: Path, shape: column_schema.OutcomeColumn) -> Text:
    """The column of an outcome; of counts that stand side by side the one they are turned into."""
    if shape.column is None:
        return draft.column((*path, "counts"), COUNTED_LEVEL, key=True)
    return draft.column((*path, "column"), shape.column)


def _read_order(
    draft: Draft, path: Path, shape: column_schema.OutcomeColumn, threshold: Threshold | None
) -> tuple[Text, ...]:
    """The classes of an ordinal outcome, the lowest first."""
    if shape.order and threshold is not None:
        draft.fault((*path, "order"), "a cut on a number has two classes, in their order", key=True)
    if len(shape.order) == 1 or len(set(shape.order)) < len(shape.order):
        draft.fault((*path, "order"), "name every class once, from the lowest to the highest")
    return draft.texts((*path, "order"), shape.order)


def _read_number(
    draft: Draft, path: Path, name: str, shape: column_schema.OutcomeColumn
) -> Outcome:
    """An outcome that is a number: it has no classes to name."""
    for key in ("positive", "negative", "others", "order"):
        if key in written_fields(shape):
            draft.fault((*path, key), f"a number has no classes: leave out `{key}`", key=True)
    column = _outcome_column(draft, path, shape)
    return Outcome(name, column, favourable=shape.favourable, kind=OutcomeKind.NUMBER)


def _read_threshold(draft: Draft, path: Path, positive: column_schema.Positive) -> Threshold | None:
    by_median = isinstance(positive.above, str)
    above = positive.above if isinstance(positive.above, Decimal) else None
    cut = Threshold(positive.at_least, above, positive.at_most, positive.below)
    if by_median or positive.top is not None:
        if cut != Threshold() or positive.values is not None or (by_median and positive.top):
            draft.fault(
                path, "a cut by share (`above: median`, `top: 3%`) takes no other key beside it"
            )
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

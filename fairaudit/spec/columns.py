"""Reads the `columns` of a spec: refused names; expands `by`, `given` (`each`, `full`, `all`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from fairaudit.base.errors import did_you_mean, suggest_known
from fairaudit.base.frozen import Frozen, replace
from fairaudit.counting.columns import SimilarityColumns
from fairaudit.cube import MOST_ATTRIBUTES, Grouping, every_subset
from fairaudit.spec import column_schema
from fairaudit.spec.attributes import read_attribute, read_strata
from fairaudit.spec.column_model import Outcome, OutcomeKind, Protected
from fairaudit.spec.fields import WORDS
from fairaudit.spec.model import RESERVED
from fairaudit.spec.outcomes import read_outcome, read_predictions
from fairaudit.spec.text import Draft, Path

_FOR_BY = "`columns.protected`"
_FOR_GIVEN = "`columns.strata`, and no attribute beside those of `by`"


class Groupings(Frozen):
    """The columns that groupings are made of."""

    protected: tuple[str, ...]
    strata: tuple[str, ...]

    def by(
        self, words: Sequence[Sequence[str]], fault: Callable[[int, str], None]
    ) -> tuple[Grouping, ...]:
        """The groupings that a `by` asks for; a fault gets its number in the list."""
        return _expand(words, self.protected, self.protected, _FOR_BY, fault)

    def given(
        self, words: Sequence[Sequence[str]], by: Grouping, fault: Callable[[int, str], None]
    ) -> tuple[Grouping, ...]:
        """The strata that a `given` asks for beside `by`: declared ones, or other attributes."""
        others = tuple(name for name in self.protected if name not in by)
        return _expand(words, self.strata, (*self.strata, *others), _FOR_GIVEN, fault)


class Columns(Frozen):
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
    def references(self) -> dict[str, str]:
        """The reference of each protected attribute that declares one."""
        return {
            attribute.name: attribute.reference.value
            for attribute in self.protected
            if attribute.reference
        }

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


def read_columns(draft: Draft, shape: column_schema.Columns) -> Columns:
    """What the columns of a spec mean."""
    columns = Columns(
        protected=tuple(
            read_attribute(draft, ("columns", "protected", name), name, column)
            for name, column in shape.protected.items()
        ),
        strata=read_strata(draft, "strata", shape.strata),
        features=read_strata(
            draft,
            "features",
            {n: feature for n, feature in shape.features.items() if feature.names is None},
        ),
        similarity=_read_similarity(draft, shape),
        label=read_outcome(draft, ("columns", "label"), "label", shape.label),
        predictions=read_predictions(draft, shape),
        numbers=tuple(
            Outcome(
                name, draft.column(("columns", "numbers", name), column), kind=OutcomeKind.NUMBER
            )
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


def _read_similarity(draft: Draft, shape: column_schema.Columns) -> SimilarityColumns:
    """The columns in which people are alike; each is named once."""
    columns: dict[str, tuple[str, ...]] = {}
    known = set[str]()
    for kind, feature in shape.features.items():
        path: Path = ("columns", "features", kind)
        if feature.names is None:
            continue
        if kind not in column_schema.SIMILARITY:
            hint = did_you_mean(kind, column_schema.SIMILARITY)
            message = "a list of features stands under `numeric` or `categorical`"
            draft.fault(path, message + hint, key=True)
            continue
        columns[kind] = draft.column_names(path, feature.names)
        for number, name in enumerate(columns[kind]):
            if name in known:
                draft.fault((*path, number), f"the feature {name!r} stands twice")
            known.add(name)
    return SimilarityColumns(**columns)


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


def _refuse_outcome_names(draft: Draft, shape: column_schema.Columns, columns: Columns) -> None:
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


def _expand(
    words: Sequence[Sequence[str]],
    words_mean: Sequence[str],
    known: Sequence[str],
    where: str,
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
            fault(number, f"{name!r} is not declared in {where}{_hint(name, known)}")
        if len(set(names)) < len(names):
            fault(number, "a column stands twice in one grouping")
        if not unknown:
            groupings.append(tuple(name for name in known if name in names))
    return tuple(dict.fromkeys(groupings))


def _hint(name: str, known: Sequence[str]) -> str:
    """What is meant by a name that no column has: an intersection, a list, or a column."""
    parts = [part for part in re.split(r"\s*[,;&+/]\s*|\s+(?:x|by|and|or)\s+", name) if part]
    if len(parts) > 1 and {*parts} <= {*known}:
        listed = f"[{', '.join(parts)}]"
        return f"; an intersection is written `{' * '.join(parts)}`, one after the other `{listed}`"
    if name in WORDS:
        return f": it stands by itself, `[{name}]`, in no intersection"
    return suggest_known(name, (*known, *WORDS))


def _split_intersection(names: Sequence[str], known: Sequence[str]) -> Sequence[str]:
    """The columns of an intersection that is written `gender * race`, or with the sign ×."""
    if len(names) != 1 or names[0] in known:
        return names
    return [name.strip() for name in re.split("[*×]", names[0])]


def _expand_word(word: str, names: Sequence[str]) -> list[Grouping]:
    if word == "each":
        return [(name,) for name in names]
    return every_subset(names) if word == "all" else [tuple(names)] if names else []

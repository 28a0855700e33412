"""From the validated shape of a spec to what it means: names resolved, checks listed."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from fairaudit.cube import UNKNOWN
from fairaudit.errors import Fault, SpecError
from fairaudit.inputs import NO_PATH, can_be_named
from fairaudit.spec import schema
from fairaudit.spec.cuts import reference_faults
from fairaudit.spec.discovery import read_search
from fairaudit.spec.faults import Shape
from fairaudit.spec.groupings import Groupings
from fairaudit.spec.model import (
    RESERVED,
    Format,
    Kind,
    Missing,
    Others,
    Outcome,
    Policy,
    Protected,
    Spec,
    Text,
    Threshold,
)
from fairaudit.spec.questions import Questions
from fairaudit.spec.reversals import read_scan
from fairaudit.spec.text import Document, Path
from fairaudit.spec.waivers import read_waivers
from fairaudit.verdict import Check

_MOST_QUANTILES = 100

_LEAST_TO_SUPPRESS = 2

_MOST_LIMITS = 4
"""So many entries, each to warn and to fail, may judge one measure where counts are hidden."""


def build(document: Document, shape: Shape, text: str) -> Spec:
    """The spec that a validated document means; raises `SpecError` with every fault found."""
    return _Builder(document, shape).spec(text)


class _Builder:
    """Collects faults while the parts of a spec are resolved."""

    def __init__(self, document: Document, shape: Shape) -> None:
        self.document = document
        self.whole = shape
        self.shape = shape.spec
        self.faults: list[Fault] = list(shape.faults)

    def _fault(self, path: Path, message: str, *, key: bool = False) -> None:
        self.faults.append(self.document.fault(path, message, key=key))

    def spec(self, text: str) -> Spec:
        """The spec, or every fault that stands in its way."""
        shape, columns = self.shape, self.shape.columns
        protected = [
            self._protected(("columns", "protected", name), name, one)
            for name, one in columns.protected.items()
        ]
        strata = [
            self._stratum(("columns", "strata", name), name, one)
            for name, one in columns.strata.items()
        ]
        if not protected:
            self._fault(("columns", "protected"), "name at least one protected attribute")
        label = self._outcome(("columns", "label"), "label", columns.label)
        predictions = self._predictions()
        numbers = self._numbers()
        features = [
            self._stratum(("columns", "features", name), name, one)
            for name, one in columns.features.items()
        ]
        self._names(protected, strata, features)
        self._outcome_names({one.name for one in (*protected, *strata, *features)})
        outcomes: dict[str, Outcome] = {}
        for one in (label, *predictions, *numbers):
            if one is not None:
                outcomes.setdefault(one.name, one)
        if not outcomes:
            self._fault(("columns",), "name an outcome: a label, a prediction or a decision")
        self._weighted(outcomes)
        self._clustered()
        if not protected or not outcomes:
            raise SpecError(self.faults)
        groupings = Groupings(
            tuple(one.name for one in protected), tuple(one.name for one in strata)
        )
        first = predictions[0].name if predictions else next(iter(outcomes))
        questions = Questions(self.document, self.whole, groupings, outcomes, first, protected)
        requests, checks, notices = questions.all()
        self.faults += questions.faults
        of = first if outcomes[first].has_classes or label is None else label.name
        scan, gate = read_scan(
            self.document,
            shape,
            groupings,
            outcomes,
            of,
            protected,
            questions.inference,
            self._fault,
        )
        search, limits = read_search(
            self.document, shape, outcomes, of, questions.inference, self._fault
        )
        self._paths()
        spec = Spec(
            path=self.document.name,
            sha256=hashlib.sha256(text.encode()).hexdigest(),
            title=shape.title or "",
            context=shape.context,
            data=tuple(shape.data or ()),
            protected=tuple(protected),
            strata=tuple(strata),
            label=label,
            predictions=predictions,
            numbers=numbers,
            count=self._optional(("columns", "count"), columns.count),
            weight=self._optional(("columns", "weight"), columns.weight),
            cluster=self._optional(("columns", "cluster"), columns.cluster),
            format=self._format(),
            missing=self._missing(),
            filter=self._optional(("filter",), shape.filter),
            minimum=shape.groups.minimum,
            exclude_below=shape.groups.rule,
            inference=questions.inference,
            requests=requests,
            checks=(*checks, *gate, *limits),
            simpson=scan,
            subgroups=search,
            features=tuple(features),
            suppress_below=self._suppress_below(checks),
            notices=notices,
        )
        if self.faults:
            raise SpecError(self.faults)
        named = self._optional(("waivers",), shape.waivers)
        return spec if named is None else replace(spec, waivers=read_waivers(named, spec))

    def _paths(self) -> None:
        """A fault for each text that can be no path."""
        for at, entry in enumerate(self.shape.data or ()):
            if not can_be_named(entry):
                self._fault(("data", at), f"this is no path: {NO_PATH}")

    def _suppress_below(self, checks: Iterable[Check]) -> int | None:
        """From how many people on a count is published; verdicts on hidden numbers are bounded.

        Each tells on which side of its limit a number lies: a ladder of limits would tell it.
        """
        threshold = self.shape.suppress_below
        judged = Counter(
            (one.asked.id, one.of, one.by, one.given, one.against, one.terms.of_class)
            for one in checks
        )
        for (measure, of, by, *_), times in judged.items() if threshold is not None else ():
            if times > _MOST_LIMITS:
                self._fault(
                    ("suppress_below",),
                    f"{measure} of {of} by {' × '.join(by)} is judged by {times} entries, and at "
                    f"most {_MOST_LIMITS} may judge one measure of the same groups where small "
                    "counts are hidden: each verdict tells on which side of its limit it lies",
                )
        if threshold is not None and threshold < _LEAST_TO_SUPPRESS:
            message = "expected a whole number of people from 2 up, such as 11"
            self._fault(("suppress_below",), message)
        if threshold is not None and self.shape.simpson.search:
            message = (
                "`search` counts by columns whose small counts `suppress_below` does not hide: "
                "leave out one of them, or name the columns as `strata`"
            )
            self._fault(("simpson", "search"), message)
        return threshold

    def _text(self, path: Path, value: str) -> Text:
        found = self.document.fault(path, "")
        return Text(value, found.path, found.place, found.source)

    def _optional(self, path: Path, value: str | None) -> Text | None:
        return None if value is None else self._text(path, value)

    def _texts(self, path: Path, values: Iterable[str] | None) -> tuple[Text, ...]:
        return tuple(self._text((*path, at), one) for at, one in enumerate(values or ()))

    def _column(self, path: Path, name: str, column: str | None) -> Text:
        if column is not None:
            return self._text((*path, "column"), column)
        found = self.document.fault(path, "", key=True)
        return Text(name, found.path, found.place, found.source)

    def _protected(self, path: Path, name: str, shape: schema.ProtectedColumn) -> Protected:
        recoded = shape.merge or shape.keep is not None or shape.other
        for key in ("bins", "quantiles"):
            if getattr(shape, key) is not None and recoded:
                self._fault((*path, key), "a column is either binned or merged and kept, not both")
        if shape.other is not None and shape.keep is None:
            self._fault(
                (*path, "other"), "`other` names what `keep` leaves: name the levels to keep"
            )
        for target, levels in shape.merge.items():
            if shape.keep is not None and set(levels) & set(shape.keep):
                self._fault((*path, "merge", target), "a level is both merged and kept")
        merged = [level for levels in shape.merge.values() for level in levels]
        for level in [level for level, times in Counter(merged).items() if times > 1]:
            self._fault((*path, "merge"), f"the level {level!r} is merged twice")
        for word in (*shape.merge, shape.other):
            if word == UNKNOWN:
                self._fault(path, f"{UNKNOWN!r} is the name of those who are not known")
        built = Protected(
            name=name,
            column=self._column(path, name, shape.column),
            trim=shape.trim,
            unknown=tuple(shape.unknown),
            merge={
                target: self._texts((*path, "merge", target), levels)
                for target, levels in shape.merge.items()
            },
            keep=None if shape.keep is None else self._texts((*path, "keep"), shape.keep),
            other=shape.other or "other",
            bins=self._bins((*path, "bins"), shape.bins),
            quantiles=self._quantiles(path, shape),
            reference=self._optional((*path, "reference"), shape.reference),
        )
        self.faults += reference_faults(built)
        return built

    def _stratum(self, path: Path, name: str, shape: schema.StratumColumn) -> Protected:
        column = self._column(path, name, shape.column)
        bins = self._bins((*path, "bins"), shape.bins)
        return Protected(name, column, bins=bins, quantiles=self._quantiles(path, shape))

    def _quantiles(
        self, path: Path, shape: schema.ProtectedColumn | schema.StratumColumn
    ) -> int | None:
        where = (*path, "quantiles")
        if shape.quantiles is not None and shape.bins is not None:
            self._fault(where, "either bins or quantiles, not both", key=True)
        elif shape.quantiles is not None and not 2 <= shape.quantiles <= _MOST_QUANTILES:
            self._fault(where, f"from 2 to {_MOST_QUANTILES} quantiles make groups")
        return shape.quantiles

    def _bins(self, path: Path, edges: Sequence[Decimal] | None) -> tuple[Decimal, ...]:
        if edges is not None and (not edges or list(edges) != sorted(set(edges))):
            self._fault(path, "bin edges must ascend, each one once")
        return tuple(edges or ())

    def _predictions(self) -> tuple[Outcome, ...]:
        """The prediction or decision with its score, or the score alone; or every model."""
        columns = self.shape.columns
        if columns.models is not None:
            for key in ("prediction", "decision", "score"):
                if getattr(columns, key) is not None:
                    message = f"`models` stand instead of `{key}`: make it one of them"
                    self._fault(("columns", key), message, key=True)
            models = [
                self._prediction(("columns", "models", name), name, one.prediction, one.score)
                for name, one in columns.models.items()
            ]
            return tuple(one for one in models if one is not None)
        if columns.prediction is not None and columns.decision is not None:
            self._fault(
                ("columns", "decision"),
                "name a prediction (what a model says) or a decision (what people decided), "
                "not both",
            )
        name = "prediction" if columns.decision is None else "decision"
        shape = columns.decision or columns.prediction
        found = self._prediction(("columns",), name, shape, columns.score)
        return () if found is None else (found,)

    def _prediction(
        self, path: Path, name: str, shape: schema.OutcomeColumn | None, score: str | None
    ) -> Outcome | None:
        """What a model or people said, and its score; where there is that alone, it is `score`."""
        scored = self._optional((*path, "score"), score)
        is_model = len(path) > 1
        if shape is not None:
            found = self._outcome((*path, "prediction" if is_model else name), name, shape)
            return found and replace(found, score=scored)
        if scored is not None:
            name = name if is_model else "score"
            return Outcome(name, scored, kind=Kind.SCORE, score=scored)
        if is_model:
            self._fault(path, "a model has a prediction, a score, or both", key=True)
        return None

    def _numbers(self) -> tuple[Outcome, ...]:
        found = self.shape.columns.numbers.items()
        return tuple(
            Outcome(name, self._text(("columns", "numbers", name), column), kind=Kind.NUMBER)
            for name, column in found
        )

    def _number(self, path: Path, name: str, shape: schema.OutcomeColumn) -> Outcome:
        """An outcome that is a number: it has no classes to name."""
        for key in ("positive", "negative", "others"):
            if key in shape.model_fields_set:
                self._fault((*path, key), f"a number has no classes: leave out `{key}`", key=True)
        column = self._column(path, name, shape.column)
        return Outcome(name, column, favourable=shape.favourable, kind=Kind.NUMBER)

    def _outcome(self, path: Path, name: str, shape: schema.OutcomeColumn | None) -> Outcome | None:
        if shape is None:
            return None
        if shape.number:
            return self._number(path, name, shape)
        positive = shape.positive
        if positive is None:
            if shape.negative is not None:
                self._fault((*path, "negative"), "`negative` needs `positive` beside it")
            values: tuple[Text, ...] = ()
            threshold = None
        else:
            values = self._texts((*path, "positive"), positive.values)
            threshold = self._threshold((*path, "positive"), positive)
            if threshold is not None and shape.negative is not None:
                self._fault((*path, "negative"), "a cut on a number needs no `negative`")
        negative = self._texts((*path, "negative"), shape.negative)
        both = {one.value for one in values} & {one.value for one in negative}
        for value in sorted(both):
            self._fault((*path, "negative"), f"{value!r} is both positive and negative")
        return Outcome(
            name=name,
            column=self._column(path, name, shape.column),
            positive=values,
            threshold=threshold,
            negative=negative,
            others=Others(shape.others),
            favourable=shape.favourable,
        )

    def _threshold(self, path: Path, positive: schema.Positive) -> Threshold | None:
        by_median = isinstance(positive.above, str)
        above = positive.above if isinstance(positive.above, Decimal) else None
        cut = Threshold(positive.at_least, above, positive.at_most, positive.below)
        if by_median or positive.top is not None:
            if cut != Threshold() or positive.values is not None or (by_median and positive.top):
                self._fault(path, "a cut by share (`above: median`, `top: 3%`) stands alone")
            return Threshold(beyond=Fraction(1, 2) if positive.top is None else 1 - positive.top)
        if cut == Threshold():
            if not positive.values:
                self._fault(path, "say which values are positive, or cut: `at_least: 0.5`")
            return None
        if positive.values is not None:
            self._fault(path, "either values or a cut, not both")
        lower = [one for one in (cut.at_least, cut.above) if one is not None]
        upper = [one for one in (cut.at_most, cut.below) if one is not None]
        if len(lower) > 1 or len(upper) > 1 or (lower and upper and lower[0] > upper[0]):
            self._fault(path, "at most one lower and one higher upper bound")
        elif lower and lower == upper and (cut.at_least is None or cut.at_most is None):
            self._fault(path, "no number lies between these bounds")
        return cut

    def _names(
        self,
        protected: Sequence[Protected],
        strata: Sequence[Protected],
        features: Sequence[Protected],
    ) -> None:
        taken = {one.name for one in protected}
        for one in strata:
            if one.name in taken:
                self.faults.append(
                    one.column.fault(
                        f"{one.name!r} is a protected attribute already; `given: {one.name}` "
                        "conditions on it"
                    )
                )
        for one in features:
            if one.name in {each.name for each in (*protected, *strata)}:
                message = f"{one.name!r} is a protected attribute or a stratum already"
                self.faults.append(one.column.fault(f"{message}: subgroups have it all the same"))
        for one in (*protected, *strata, *features):
            if one.name in RESERVED:
                self.faults.append(
                    one.column.fault(f"{one.name!r} is a word of the spec; name it otherwise and "
                                     f"say `column: {one.column.value}`")
                )  # fmt: skip

    def _outcome_names(self, taken: set[str]) -> None:
        """Faults of the names of models and numbers: each is one outcome's, and nothing else's."""
        columns = self.shape.columns
        named: list[Path] = [("columns", "models", name) for name in columns.models or ()]
        named += [("columns", "numbers", name) for name in columns.numbers]
        seen = {*taken, *(["score"] if columns.score is not None else [])}
        for path in named:
            name = str(path[-1])
            if name in RESERVED:
                self._fault(path, f"{name!r} is a word of the spec; name it otherwise", key=True)
            elif name in seen:
                self._fault(path, f"{name!r} is the name of something else already", key=True)
            seen.add(name)

    def _weighted(self, outcomes: dict[str, Outcome]) -> None:
        """A fault where numbers would be added up in a weighted sample."""
        number = next((name for name, one in outcomes.items() if one.kind is Kind.NUMBER), None)
        if number is not None and self.shape.columns.weight is not None:
            self._fault(
                ("columns", "weight"),
                f"the numbers of a weighted sample ({number}) are not added up yet: leave out "
                "the weight, or the numbers",
            )

    def _clustered(self) -> None:
        """A fault where clusters meet what has no cluster-robust counts."""
        shape, where = self.shape, ("columns", "cluster")
        if shape.columns.cluster is None:
            return
        if shape.subgroups is not None:
            message = "subgroups of clustered rows are not looked for yet: leave out one of the two"
            self._fault(where, message)
        if shape.simpson.search:
            message = "`simpson: {search: …}` cannot be combined with `cluster`: leave out one"
            self._fault(where, message)
        if shape.suppress_below is not None:
            message = (
                "intervals by clusters tell how alike the members of clusters are, which are "
                "counts of few people: leave out `cluster` or `suppress_below`"
            )
            self._fault(where, message)

    def _format(self) -> Format:
        shape = self.shape.format
        if len(shape.separator.encode()) != 1 or shape.separator in '"\n\r':
            self._fault(("format", "separator"), "the separator must be one plain character")
        if shape.decimal not in {".", ","}:
            self._fault(("format", "decimal"), "the decimal sign is '.' or ','")
        elif shape.decimal == shape.separator:
            self._fault(("format", "decimal"), "the decimal sign cannot be the separator")
        try:
            "".encode(shape.encoding)
        except (LookupError, ValueError):
            self._fault(("format", "encoding"), f"no such encoding: {shape.encoding!r}")
        return Format(shape.separator, shape.decimal, shape.encoding, shape.multiline)

    def _missing(self) -> Missing:
        shape = self.shape.missing
        return Missing(
            tokens=tuple(shape.tokens),
            protected=Policy(shape.protected),
            strata=Policy(shape.strata),
            label=Policy(shape.label),
            prediction=Policy(shape.prediction),
            score=Policy(shape.score),
            numbers=Policy(shape.numbers),
        )

"""The `metrics` of a spec: what is reported, and which checks its limits make."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from fairaudit.cube import MOST_ATTRIBUTES, Grouping, every_subset
from fairaudit.disclosure import Notice, Subjects
from fairaudit.errors import Fault, did_you_mean
from fairaudit.evidence import explain_no_interval, explain_no_test
from fairaudit.metrics import (
    Average,
    Bounds,
    Disparity,
    GroupMetric,
    Metric,
    Parameters,
    Reference,
    ReferencePolicy,
    Requirement,
    TableMetric,
    Terms,
    Weights,
    build_disparity,
    find_comparison,
    find_metric,
    list_requirements,
    macro_average,
)
from fairaudit.metrics.comparisons import (
    STANDARDIZED_DIFFERENCE,
    STANDARDIZED_DIFFERENCE_TOTAL,
)
from fairaudit.metrics.differential_fairness import DIFFERENTIAL_FAIRNESS_CREDIBLE
from fairaudit.metrics.numbers import FirstOf
from fairaudit.metrics.rates import SELECTION_RATE
from fairaudit.metrics.scores import SCORING_RATE
from fairaudit.metrics.terms import SINGLE_REFERENCES, Inference, format_decimal
from fairaudit.spec import schema
from fairaudit.spec.faults import Shape
from fairaudit.spec.groupings import Groupings
from fairaudit.spec.model import Kind, MetricRequest, Outcome, Protected, Text, value_of
from fairaudit.spec.text import Document, Path
from fairaudit.verdict import Check, Limit

MACRO = "macro"
"""The class that stands for the mean over all of them."""

_CELLS = ("tp", "fp", "fn", "tn")
_ONLY_LABEL = {Requirement.LABEL, Requirement.NUMERIC_LABEL}


def unanswerable(
    asked: Metric, of: str, outcomes: Mapping[str, Outcome], *, one_class: bool = False
) -> str | None:
    """What the spec lacks for a measure of that outcome; None where nothing does.

    With `one_class` the entry says which class counts as positive.
    """
    parts = [quantity for quantity, _ in asked.parts] if isinstance(asked, Disparity) else [asked]
    for part in parts:
        options = part.options if isinstance(part, FirstOf) else (part,)
        lacking = [_lacking(one.requirements, of, outcomes, one_class=one_class) for one in options]
        if all(lacking):
            return f"{asked.id} {lacking[-1]}"
    return None


def _lacking(
    needs: frozenset[Requirement], of: str, outcomes: Mapping[str, Outcome], *, one_class: bool
) -> str | None:
    label = outcomes.get("label")
    if {Requirement.LABEL, Requirement.PREDICTION} <= needs and (label is None or of == "label"):
        return "compares a prediction with a label: name both in `columns`"
    if needs & _ONLY_LABEL and label is None:
        return "needs a label: name it in `columns`"
    of_class = {of} if needs & {Requirement.PREDICTION, Requirement.CLASSES} else set()
    of_class |= {"label"} if Requirement.LABEL in needs else set()
    for name in sorted(of_class):
        if outcomes[name].kind is not Kind.CLASSES:
            what = "is a number" if outcomes[name].kind is Kind.NUMBER else "has only a score"
            return f"needs classes, and {name} {what}"
        if not (outcomes[name].binary or one_class or Requirement.CLASSES in needs):
            return f"needs to know what is positive: `positive:` in {_place_of(name)}"
    return _lacking_number(needs, of, outcomes)


def _lacking_number(
    needs: frozenset[Requirement], of: str, outcomes: Mapping[str, Outcome]
) -> str | None:
    one = outcomes.get(of)
    if Requirement.SCORE in needs and (one is None or one.score is None):
        return f"needs a score, and {of} has none"
    if Requirement.NUMBER in needs and (one is None or one.kind is not Kind.NUMBER):
        return f"needs a number, and {of} is none: say `number: true`"
    if Requirement.NUMERIC_LABEL in needs and outcomes["label"].kind is not Kind.NUMBER:
        return "needs a numeric label: say `number: true`"
    if Requirement.NUMERIC_LABEL in needs and (Requirement.NUMBER in needs) is (of == "label"):
        return f"is no measure of the {of}"
    return None


def _place_of(outcome: str) -> str:
    """Where in a spec an outcome with classes is described."""
    plain = outcome in {"label", "prediction", "decision"}
    return f"columns.{outcome}" if plain else f"columns.models.{outcome}.prediction"


class Questions:
    """Resolves the entries of `metrics` one by one, collecting their faults."""

    def __init__(
        self,
        document: Document,
        shape: Shape,
        groupings: Groupings,
        outcomes: Mapping[str, Outcome],
        first: str,
        protected: Sequence[Protected],
    ) -> None:
        self.document = document
        self.shape = shape.spec
        self.skipped = shape.skipped
        self.groupings = groupings
        self.outcomes = outcomes
        self.first = first
        self.declared = {one.name: one.reference for one in protected}
        self.numeric = [[one.name] for one in protected if one.bins or one.quantiles]
        self.faults: list[Fault] = []
        self.notices: list[Notice] = []
        self.inference = self._inference()

    def all(self) -> tuple[tuple[MetricRequest, ...], tuple[Check, ...], tuple[Notice, ...]]:
        """Everything that is reported and checked, with notices on limits that mislead."""
        requests: list[MetricRequest] = []
        checks: list[Check] = []
        for number, entry in enumerate(self.shape.metrics):
            path: Path = ("metrics", number)
            before = len(self.faults)
            asked = None if number in self.skipped else self._asked(path, entry)
            if asked is None:
                continue
            of = self._of(path, entry, asked)
            if of is not None and (reason := self._unanswerable(entry, asked, of)):
                self._fault((*path, "metric"), reason)
            if of is not None and self._adds_up(list_requirements(asked), of):
                what = f"{asked.id} adds up numbers, which a weighted sample's are not yet"
                self._fault((*path, "metric"), f"{what}: leave out the weight, or the metric")
            self._fitted(path, entry, asked)
            if asked.conditional and entry.given is None:
                message = f"{asked.id} looks within strata: say `given:`"
                self._fault((*path, "metric"), message)
            parameters = self._parameters(path, entry, asked)
            bounds = _bounds(asked, entry)
            less = entry.against is not None
            warn, fail = (
                self._limit((*path, key), bound, asked, bounds, less=less)
                for key, bound in (("warn", entry.warn), ("fail", entry.fail))
            )
            self._lacking(path, entry, asked)
            request = self._request(path, entry, asked, of or "label", parameters)
            if len(self.faults) == before:
                self._notice(path, entry, asked, of)
                for at in entry.at or (None,):
                    request = replace(request, terms=replace(request.terms, at=at))
                    requests.append(request)
                    if warn or fail:
                        checks += self._checks(path, entry, request, (warn, fail))
        self._unique(checks)
        return tuple(requests), tuple(checks), tuple(self.notices)

    def _inference(self) -> Inference:
        """How sure to be, as the spec says."""
        asked = self.shape.inference
        if not Decimal("0.5") <= asked.confidence < 1:
            self._fault(("inference", "confidence"), "a confidence lies from 0.5 to below 1")
        return Inference(
            asked.confidence, asked.correction, asked.ratio, asked.z, asked.t, asked.fisher,
            asked.yates,
        )  # fmt: skip

    def _fault(self, path: Path, message: str, *, key: bool = False) -> None:
        self.faults.append(self.document.fault(path, message, key=key))

    def _fault_at(self, path: Path) -> Callable[[int, str], None]:
        return lambda at, message: self._fault((*path, at), message)

    def _asked(self, path: Path, entry: schema.Metric) -> Metric | None:
        """The record that an entry names, with its `compare`."""
        record = find_metric(entry.metric)
        if record is None:
            return None
        if entry.of_class == MACRO:
            record = self._macro(path, record)
        if entry.sd is not None and entry.compare is None:
            self._fault((*path, "sd"), f"{record.id} takes no deviation", key=True)
        if entry.compare is not None and isinstance(record, GroupMetric) and record.conditional:
            self._fault(
                (*path, "compare"), f"{record.id} tells where people are: no rate of theirs"
            )
            return None
        if entry.compare is not None:
            how = find_comparison(entry.compare)
            if entry.sd is not None and how is not STANDARDIZED_DIFFERENCE:
                self._fault((*path, "sd"), f"{entry.compare} takes no deviation", key=True)
            elif entry.sd == "total":
                how = STANDARDIZED_DIFFERENCE_TOTAL
            if not isinstance(record, GroupMetric) or how is None:
                self._fault((*path, "compare"), f"{record.id} is a comparison already")
                return None
            record = build_disparity(record, how)
        if entry.aggregate is not None:
            if not isinstance(record, Disparity) or not record.to_reference:
                self._fault((*path, "aggregate"), f"{record.id} has one value already", key=True)
                return None
            record = replace(record, mean=True)
        return record

    def _fitted(self, path: Path, entry: schema.Metric, asked: Metric) -> None:
        """The faults of a fit: what it cannot be combined with, and whom it cannot compare with."""
        if not isinstance(asked, Disparity) or not asked.fitted:
            return
        for key in ("given", "average"):
            if getattr(entry, key) is not None:
                self._fault((*path, key), f"{asked.id} takes `controls`, not `{key}`", key=True)
        if entry.of_class == MACRO:
            self._fault((*path, "class"), f"{asked.id} is of one class at a time", key=True)
        if self.shape.columns.weight is not None:
            what = f"{asked.id} has no standard error under survey weights"
            self._fault((*path, "metric"), f"{what}: leave out the weight, or the metric")
        word = (entry.reference or {}).get("")
        if word in schema.REFERENCES and ReferencePolicy(word) not in SINGLE_REFERENCES:
            what = f"{asked.id} is against one group: name a level, or say `largest`"
            self._fault((*path, "reference"), what)

    def _controls(self, path: Path, entry: schema.Metric) -> Grouping:
        """The columns that a regression holds fixed, in the order of the spec."""
        where, known = (*path, "controls"), (*self.groupings.protected, *self.groupings.strata)
        controls, by = entry.controls or [], entry.by or [["each"]]
        grouped = self.groupings.by(by, lambda _, __: None)
        if entry.controls == []:
            self._fault(where, "name at least one control, or leave the key out")
        for at, name in enumerate(controls):
            place = (*where, at)
            if name in self.outcomes and self.outcomes[name].kind is Kind.NUMBER:
                what = f"{name!r} is a number: name it in columns.strata with `bins` or `quantiles`"
                self._fault(place, f"{what} to hold it fixed")
            elif name not in known:
                hint = did_you_mean(name, known) or f"; there is {', '.join(known)}"
                self._fault(place, f"no such column here: {name!r}{hint}")
            elif controls.index(name) < at:
                self._fault(place, f"{name!r} stands twice")
            elif entry.by is not None and any(name in one for one in grouped):
                self._fault(place, f"{name!r} is in `by` too: held fixed, it has no difference")
        if entry.by is None and all(set(one) & set(controls) for one in grouped):
            self._fault(where, "every protected attribute is a control: nobody is left to compare")
        return tuple(name for name in known if name in controls)

    def _macro(self, path: Path, record: Metric) -> Metric:
        """The mean over classes of a quantity, or of the quantities that a measure compares."""
        if isinstance(record, GroupMetric):
            return macro_average(record)
        if isinstance(record, Disparity):
            return replace(
                record, parts=tuple((macro_average(one), how) for one, how in record.parts)
            )
        self._fault((*path, "class"), f"{record.id} looks at all classes already", key=True)
        return record

    def _of(self, path: Path, entry: schema.Metric, asked: Metric) -> str | None:
        """The audited outcome: the one asked for, else the first prediction, else the label.

        A score alone gives way to the label where the measure is one of classes.
        """
        if entry.of is not None:
            if entry.of not in self.outcomes:
                known = tuple(self.outcomes)
                hint = did_you_mean(entry.of, known) or f"; there is {', '.join(known)}"
                self._fault((*path, "of"), f"no such outcome: {entry.of!r}{hint}")
                return None
            return entry.of
        if asked.requirements and asked.requirements <= _ONLY_LABEL:
            if "label" not in self.outcomes:
                what = f"{asked.id} needs a label: name it in `columns`"
                self._fault((*path, "metric"), what)
                return None
            return "label"
        of = self.first
        is_score = self.outcomes[of].kind is Kind.SCORE and entry.at is None
        if is_score and "label" in self.outcomes:
            return "label" if unanswerable(asked, of, self.outcomes) else of
        return of

    def _unanswerable(self, entry: schema.Metric, asked: Metric, of: str) -> str | None:
        """What the spec lacks for an entry."""
        if entry.at is None:
            one_class = entry.of_class is not None
            return unanswerable(asked, of, self.outcomes, one_class=one_class)
        if not list_requirements(asked) <= {
            Requirement.LABEL,
            Requirement.PREDICTION,
            Requirement.CLASSES,
        }:
            return f"{asked.id} takes no threshold of a score"
        if self.outcomes[of].score is None:
            return f"{asked.id} at a threshold needs a score, and {of} has none"
        if self.shape.columns.weight is not None:
            return (
                f"{asked.id} at a threshold counts the bins of a score, which a weighted sample "
                "does not have yet: leave out the weight, or `at`"
            )
        if self.shape.columns.cluster is not None:
            return (
                f"{asked.id} at a threshold counts the bins of a score, which are not counted by "
                "clusters: leave out the cluster, or `at`"
            )
        labels = asked.requirements & {Requirement.LABEL}
        return _lacking(labels, of, self.outcomes, one_class=False) and (
            f"{asked.id} needs a label of two classes: name it in `columns`"
        )

    def _parameters(self, path: Path, entry: schema.Metric, asked: Metric) -> Parameters:
        utilities = tuple((entry.utilities or {}).items())
        parameters = Parameters(
            entry.smoothing,
            entry.concentration,
            entry.alpha,
            utilities,
            self._controls(path, entry),
        )
        for key in parameters.as_texts():
            if key not in asked.takes:
                self._fault((*path, key), f"{asked.id} takes no {key}", key=True)
        for key in ("smoothing", "concentration"):
            value = getattr(entry, key)
            if value is not None and value < 0:
                self._fault((*path, key), "a pseudo-count is not negative")
            elif value == 0 and asked is DIFFERENTIAL_FAIRNESS_CREDIBLE:
                self._fault((*path, key), "a credible region needs a pseudo-count above 0")
        if entry.at == []:
            self._fault((*path, "at"), "name at least one threshold")
        if entry.smoothing is not None and entry.concentration is not None:
            self._fault((*path, "concentration"), "either smoothing or concentration, not both")
        if "utilities" in asked.takes and {cell for cell, _ in utilities} != set(_CELLS):
            what = f"{asked.id} takes four utilities: `utilities: {{tp: 1, fp: 0, fn: -1, tn: 0}}`"
            self._fault((*path, "metric"), what)
        return parameters

    def _request(
        self, path: Path, entry: schema.Metric, asked: Metric, of: str, parameters: Parameters
    ) -> MetricRequest:
        """What is reported of an entry: every grouping by default."""
        is_asked = "by" in self.shape.groups.model_fields_set
        default: Path = ("groups", "by") if is_asked else ("columns", "protected")
        by_path = (*path, "by") if entry.by is not None else default
        asked_by = entry.by if entry.by is not None else self.shape.groups.by
        if Requirement.NUMERIC_ATTRIBUTE in asked.requirements:
            asked_by = self._numeric_by(path, entry, asked)
        by = self.groupings.by(asked_by, self._fault_at(by_path))
        given: tuple[Grouping, ...] = ((),)
        if entry.given is not None:
            given = self.groupings.given(entry.given, (), self._fault_at((*path, "given")))
        reference = self._reference(path, entry, asked)
        subsets: Sequence[Grouping] = by
        if len(self.groupings.protected) <= MOST_ATTRIBUTES:
            subsets = every_subset(self.groupings.protected)
        # In the order in which their faults are told.
        average, class_text = self._average(path, entry, asked), self._of_class(path, entry, of)
        return MetricRequest(
            metric=asked,
            of=of,
            by=by,
            given=given,
            terms=Terms(
                reference,
                self.shape.groups.minimum,
                parameters,
                average,
                value_of(class_text),
                inference=self.inference,
            ),
            references=self._for_each(reference, subsets),
            declared=self._for_each(Reference(ReferencePolicy.DECLARED), subsets),
            against=self._against(path, entry, of, asked),
            class_text=class_text,
            stratum_texts=tuple(self._strata_named(path, entry)),
        )

    def _numeric_by(self, path: Path, entry: schema.Metric, asked: Metric) -> list[list[str]]:
        """The attributes whose own numbers a measure looks at, one at a time."""
        if not self.numeric:
            what = f"{asked.id} needs a numeric attribute: one with `bins` or `quantiles`"
            self._fault((*path, "metric"), what)
        if entry.by is not None and any(one not in self.numeric for one in entry.by):
            self._fault((*path, "by"), f"{asked.id} is of one numeric attribute at a time")
        return entry.by or self.numeric

    def _adds_up(self, needs: frozenset[Requirement], of: str) -> bool:
        """Whether a measure of an outcome would add up numbers of a weighted sample."""
        if self.shape.columns.weight is None:
            return False
        has_score = self.outcomes[of].score is not None
        return Requirement.NUMERIC_ATTRIBUTE in needs or (Requirement.SCORE in needs and has_score)

    def _average(self, path: Path, entry: schema.Metric, asked: Metric) -> Average | None:
        """How an entry is averaged over its strata; None where each stratum is judged."""
        if entry.average is None:
            return None
        where = (*path, "average")
        if entry.given is None:
            self._fault(where, "an average is taken over strata: say `given:`", key=True)
        if isinstance(asked, TableMetric):
            self._fault(where, f"{asked.id} is no rate that could be averaged", key=True)
            return None
        if isinstance(asked, Disparity) and asked.comparison.exact_in_strata is not None:
            self._fault(where, f"{asked.id} says itself how strata are weighed", key=True)
            return None
        contrasts = (
            [how.id for _, how in asked.parts if how.contrast]
            if isinstance(asked, Disparity)
            else []
        )
        if contrasts:
            self._fault(where, f"{contrasts[0]} needs more than averages", key=True)
        if isinstance(asked, Disparity) and len(asked.averages) > 1:
            self._fault(where, f"{asked.id} says itself how it is averaged", key=True)
        (word, *_), weights = entry.average, entry.average.values()
        if not word.startswith("="):
            if any(weight < 0 for weight in weights) or not any(weights):
                self._fault(where, "weights are not negative, and not all of them are 0")
            return Average(Weights.LEVELS, dict(entry.average))
        rule = Weights(word[1:])
        compared = isinstance(asked, Disparity) and asked.to_reference
        if rule in {Weights.REFERENCE, Weights.GROUP} and not compared:
            self._fault(where, f"{asked.id} has no reference to weigh by: say pooled or uniform")
        return Average(rule)

    def _strata_named(self, path: Path, entry: schema.Metric) -> Iterator[Text]:
        """The strata that an entry gives a weight."""
        for name in entry.average or ():
            if not name.startswith("="):
                found = self.document.fault((*path, "average", name), "", key=True)
                yield Text(name, found.path, found.place, found.source)

    def _of_class(self, path: Path, entry: schema.Metric, of: str) -> Text | None:
        outcome = self.outcomes.get(of)
        if entry.of_class is None or outcome is None:
            return None
        if outcome.kind is Kind.NUMBER:
            self._fault((*path, "class"), f"{of} is a number: it has no classes", key=True)
        if entry.of_class == MACRO:
            return None
        if entry.at is not None:
            self._fault((*path, "class"), "a score cut at a threshold has no classes", key=True)
        elif outcome.threshold is not None:
            self._fault((*path, "class"), f"{of} is cut at a number: it has no classes", key=True)
        found = self.document.fault((*path, "class"), "")
        return Text(entry.of_class, found.path, found.place, found.source)

    def _against(self, path: Path, entry: schema.Metric, of: str, asked: Metric) -> str | None:
        """The outcome whose value is subtracted."""
        other = entry.against
        if other is None:
            return None
        where = (*path, "against")
        if other not in self.outcomes:
            known = tuple(self.outcomes)
            hint = did_you_mean(other, known) or f"; there is {' and '.join(known)}"
            self._fault(where, f"no such outcome: {other!r}{hint}")
            return None
        if other == of:
            self._fault(where, f"{other!r} against itself is nothing")
        elif reason := unanswerable(asked, other, self.outcomes):
            self._fault(where, reason)
        elif Requirement.SCORE in list_requirements(asked) and (
            self.outcomes[of].score is None
        ) is not (self.outcomes[other].score is None):
            self._fault(where, f"{asked.id} is of the score, and only one of both has one")
        return other

    def _reference(self, path: Path, entry: schema.Metric, asked: Metric) -> Reference | None:
        """The reference of an entry as it is written; None where the measure takes none."""
        takes = isinstance(asked, Disparity) and asked.to_reference
        fixed = isinstance(asked, Disparity) and asked.reference is not None
        if entry.reference is None:
            return Reference(ReferencePolicy.DECLARED) if takes and not fixed else None
        where = (*path, "reference")
        if not takes:
            self._fault(where, f"{asked.id} compares with no reference", key=True)
        elif fixed:
            self._fault(where, f"{asked.id} is always to the highest group", key=True)
        word = entry.reference.get("")
        if word is None:
            unknown = [name for name in entry.reference if name not in self.groupings.protected]
            for name in unknown:
                hint = did_you_mean(name, self.groupings.protected)
                self._fault((*where, name), f"no protected attribute {name!r}{hint}", key=True)
            return Reference(ReferencePolicy.LEVEL, tuple(entry.reference.items()))
        if word in schema.REFERENCES:
            return Reference(ReferencePolicy(word))
        return Reference(ReferencePolicy.LEVEL, (("", word),))

    def _for_each(
        self, reference: Reference | None, groupings: Sequence[Grouping]
    ) -> dict[Grouping, Reference]:
        """The reference of each grouping for which there is one."""
        found = {by: self._resolved(reference, by) for by in groupings}
        return {by: one for by, one in found.items() if one is not None}

    def _resolved(self, reference: Reference | None, by: Grouping) -> Reference | None:
        """The reference for one grouping; None where it names no group of it."""
        if reference is None or reference.policy not in {
            ReferencePolicy.DECLARED,
            ReferencePolicy.LEVEL,
        }:
            return reference
        if reference.policy is ReferencePolicy.DECLARED:
            levels = {name: text.value for name, text in self.declared.items() if text}
        else:
            levels = dict(reference.group)
            if set(levels) == {""}:
                levels = {by[0]: levels[""]} if len(by) == 1 else {}
        if not set(by) <= set(levels):
            return None
        return replace(reference, group=tuple((name, levels[name]) for name in by))

    def _limit(
        self, path: Path, bound: schema.Bound | None, asked: Metric, bounds: Bounds, *, less: bool
    ) -> Limit | None:
        """The limit, refused where it can never be crossed, or parity itself crosses it."""
        if bound is None:
            return None
        below, above = bound.below, bound.above
        if below is None and above is None:
            self._fault(path, "a limit says `below`, `above` or `outside: [lowest, highest]`")
            return None
        if below is not None and above is not None and below > above:
            self._fault(path, "the lowest bound is above the highest")
            return None
        low, high = bounds
        never_below = below is None or (low is not None and below <= low)
        never_above = above is None or (high is not None and above >= high)
        if never_below and never_above:
            span = f"{'-∞' if low is None else low} to {'∞' if high is None else high}"
            self._fault(path, f"this limit can never be crossed: {asked.id} lies in {span}")
        limit = Limit(below, above, significant=bound.significant, conclusive=bound.conclusive)
        ideal = None if isinstance(asked, GroupMetric) or _parity(asked) else asked.ideal
        if less:
            ideal = 0
        if ideal is not None and limit.excess(float(ideal)) > 0:
            percent = below is not None and 1 < below <= 100
            what = f"{below} % is written {below / 100}" if percent and below else "turn it round"
            self._fault(path, f"parity itself ({ideal}) would cross this limit: {what}")
        return limit

    def _lacking(self, path: Path, entry: schema.Metric, asked: Metric) -> None:
        """Faults for evidence that a limit asks for and that no data could give."""
        policy = asked.reference if isinstance(asked, Disparity) else None
        said = entry.reference.get("") if entry.reference else policy
        lacking = {
            "significant": explain_no_test(asked, said),
            "conclusive": explain_no_interval(asked),
        }
        if entry.against is not None and isinstance(asked, GroupMetric):
            # Of two outcomes a rate itself is compared.
            lacking["significant"] = explain_no_interval(asked)
        for side, bound in (("warn", entry.warn), ("fail", entry.fail)):
            for key, why in lacking.items():
                if why and bound is not None and getattr(bound, key):
                    what = f"`{key}` can never hold: {why.removeprefix('none: ')}"
                    self._fault((*path, side, key), what, key=True)

    def _notice(self, path: Path, entry: schema.Metric, asked: Metric, of: str | None) -> None:
        """Notices on limits that look at one side only, or at the wrong side of a burden."""
        place = self.document.place(path)
        where = f"{place.file}:{place.line}" if place else f"metrics[{path[1]}]"
        bounds = [bound for bound in (entry.warn, entry.fail) if bound is not None]
        one_sided = [b for b in bounds if b.below is None or b.above is None]
        policy = entry.reference.get("") if entry.reference else None
        two_sided = isinstance(asked, Disparity) and asked.signed
        if one_sided and two_sided and policy not in {"highest", "lowest"}:
            self._tell(
                f"{where}: {asked.id} can depart from parity on either side, and the limit looks "
                "at one; `outside: [lowest, highest]` looks at both"
            )
        if bounds and _parity(asked) and entry.against is None:
            self._tell(
                f"{where}: {asked.id} is at parity {_parity(asked)}, so a limit on it may be "
                "crossed where groups are equal; `goodman_kruskal_lambda` is 0 there"
            )
        burden = of is not None and not self.outcomes[of].favourable
        if (
            bounds
            and burden
            and isinstance(asked, Disparity)
            and asked.comparison.quotient
            and not asked.four_fifths
            and asked.parts[0][0] in {SELECTION_RATE, SCORING_RATE}
        ):
            self._tell(
                f"{where}: the positive is a burden here, and {asked.id} compares the rates of "
                "having it; `impact_ratio` applies the four-fifths rule to those of being spared"
            )

    def _tell(self, text: str) -> None:
        self.notices.append(Notice(text, Subjects.NOBODY))

    def _checks(
        self,
        path: Path,
        entry: schema.Metric,
        request: MetricRequest,
        limits: tuple[Limit | None, Limit | None],
    ) -> list[Check]:
        """One check for each grouping and conditioning of an entry with a limit."""
        asked = request.metric
        default = [["full"]] if "smoothing" in asked.takes else [["each"]]
        if Requirement.NUMERIC_ATTRIBUTE in asked.requirements:
            default = self.numeric
        by_path = (*path, "by")
        groupings = self.groupings.by(entry.by or default, self._fault_at(by_path))
        found = []
        for by in groupings:
            if set(by) & set(request.terms.parameters.controls):
                continue
            reference = self._resolved(request.terms.reference, by)
            if request.terms.reference is not None and reference is None:
                self._no_reference(path, by, entry)
                continue
            given_of = [[*names] for names in entry.given] if entry.given is not None else None
            given = (
                ((),)
                if given_of is None
                else self.groupings.given(given_of, by, self._fault_at((*path, "given")))
            )
            found += [
                self._check(path, entry, request, by, strata, reference, limits) for strata in given
            ]
        return found

    def _check(  # the parts of one question, gathered by its only caller
        self,
        path: Path,
        entry: schema.Metric,
        request: MetricRequest,
        by: Grouping,
        given: Grouping,
        reference: Reference | None,
        limits: tuple[Limit | None, Limit | None],
    ) -> Check:
        warn, fail = limits
        return Check(
            id=_id(entry, request, by, given),
            asked=request.metric,
            of=request.of,
            by=by,
            given=given,
            against=request.against,
            terms=replace(request.terms, reference=reference),
            undefined=entry.undefined or self.shape.undefined,
            warn=warn,
            fail=fail,
            place=self.document.place(path),
        )

    def _no_reference(self, path: Path, by: Grouping, entry: schema.Metric) -> None:
        name = " and ".join(by)
        if entry.reference is not None:
            message = f"this reference names no group of {name}: write {{attribute: level, …}}"
            self._fault((*path, "reference"), message)
            return
        missing = [one for one in by if self.declared[one] is None]
        self._fault(
            (*path, "metric"),
            f"{entry.metric} needs a reference for {name}: declare `reference:` in columns."
            f"protected.{missing[0]}, or say `reference: rest` (largest, highest, overall …) here",
        )

    def _unique(self, checks: Sequence[Check]) -> None:
        seen: dict[str, Check] = {}
        for check in checks:
            if check.id in seen and check.place is not None:
                first = seen[check.id].place
                line = f" in line {first.line}" if first else ""
                message = f"the check {check.id} stands twice, first{line}"
                source = self.document.lines[check.place.line - 1]
                self.faults.append(Fault(message, "metrics", check.place, source))
            elif check.id in seen:
                self.faults.append(Fault(f"the check {check.id} stands twice", "metrics"))
            seen.setdefault(check.id, check)


def _parity(asked: Metric) -> str:
    """What the value is at parity, where that is no number for all data."""
    return asked.parity if isinstance(asked, TableMetric) else ""


def _bounds(asked: Metric, entry: schema.Metric) -> Bounds:
    """The values that an entry can take, against the reference and the outcome that it names."""
    low, high = _bounds_alone(asked, entry)
    if entry.against is None:
        return low, high
    width = None if low is None or high is None else high - low
    return (None if width is None else -width), width


def _bounds_alone(asked: Metric, entry: schema.Metric) -> Bounds:
    word = (entry.reference or {}).get("", "")
    if isinstance(asked, Disparity) and asked.reference is None and word in schema.REFERENCES:
        return asked.bounds_to(ReferencePolicy(word))
    return asked.bounds


def _id(entry: schema.Metric, request: MetricRequest, by: Grouping, given: Grouping) -> str:
    """`metric.compare.reference/by/given/of`, without what is not said."""
    head = [request.metric.id]
    if entry.compare:
        head.append(entry.compare)
    if entry.reference is not None:
        head.append("+".join(entry.reference.values()))
    head += [f"{key}={value}" for key, value in request.terms.parameters.as_texts().items()]
    if entry.of_class is not None:
        head.append(f"class={entry.of_class}")
    if entry.sd is not None:
        head.append(f"sd={entry.sd}")
    if entry.aggregate is not None:
        head.append(entry.aggregate)
    if request.terms.at is not None:
        head.append(f"at={format_decimal(request.terms.at)}")
    strata = "+".join(given) + (f"={request.terms.average}" if request.terms.average else "")
    of = request.of if request.against is None else f"{request.of}-{request.against}"
    segments = [".".join(head), "+".join(by), strata, of]
    return "/".join(segment for segment in segments if segment)

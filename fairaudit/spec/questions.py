"""The `metrics` of a spec: what is shown, and which checks its limits make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from fairaudit.cube import Grouping, every_subset
from fairaudit.errors import Fault, did_you_mean
from fairaudit.metrics import (
    Asked,
    Bounds,
    Measure,
    Parameters,
    Policy,
    Quantity,
    Reference,
    Whole,
    compared,
    comparison,
    find,
)
from fairaudit.metrics.rates import SELECTION_RATE
from fairaudit.spec import schema
from fairaudit.spec.faults import Shape
from fairaudit.spec.groupings import Groupings
from fairaudit.spec.model import Kind, Outcome, Protected, Shown, uses
from fairaudit.spec.text import Document, Path
from fairaudit.verdict import Check, Limit

_LABEL_ONLY = {"positives", "negatives"}
_OF_SCORES = {"uses_score", "uses_histogram"}
_OF_NUMBERS = {"uses_score", "uses_histogram", "uses_number", "uses_residual"}
"""What a record sets where it is no measure of classes alone."""


def unanswerable(asked: Asked, of: str, outcomes: Mapping[str, Outcome]) -> str | None:
    """What the spec lacks for a measure of that outcome; None where nothing does."""
    label = outcomes.get("label")
    if reason := _without_number(asked, of, outcomes):
        return reason
    if isinstance(asked, Whole):
        if asked.needs_label and (label is None or of == "label"):
            return f"{asked.id} compares a prediction with a label: name both in `columns`"
        needed = {"label"} if asked.needs_label else set()
        needed |= set() if any(uses(asked, what) for what in _OF_NUMBERS) else {of}
        return _without_classes(asked, needed, outcomes)
    cells = _cells(asked)
    needs_both = bool(cells & {"tp", "fp", "fn", "tn"})
    if needs_both and (label is None or of == "label"):
        return f"{asked.id} compares a prediction with a label: name both in `columns`"
    if cells & _LABEL_ONLY and label is None:
        return f"{asked.id} needs a label: name it in `columns`"
    needed = {of} if cells - _LABEL_ONLY else set()
    needed |= {"label"} if needs_both or cells & _LABEL_ONLY else set()
    if reason := _without_classes(asked, needed, outcomes):
        return reason
    for name in sorted(needed):
        if not outcomes[name].binary:
            where = _place_of(name)
            return f"{asked.id} needs to know what is positive: `positive:` in {where}"
    return None


def _without_number(asked: Asked, of: str, outcomes: Mapping[str, Outcome]) -> str | None:
    """Why a measure of a score, or of numbers, cannot be asked: the outcome has none."""
    one, label = outcomes.get(of), outcomes.get("label")
    scored, numeric, compared_with_label = (
        any(uses(asked, what) for what in words)
        for words in (_OF_SCORES, _OF_NUMBERS - _OF_SCORES, {"uses_residual"})
    )
    if one is not None and scored and one.score is None:
        return f"{asked.id} needs a score, and {of} has none"
    if one is not None and numeric and one.kind is not Kind.NUMBER:
        return f"{asked.id} needs a number, and {of} is none"
    if compared_with_label and (of == "label" or label is None or label.kind is not Kind.NUMBER):
        return f"{asked.id} compares numbers with a label that is one: `number: true` beside it"
    return None


def _without_classes(
    asked: Asked, names: Iterable[str], outcomes: Mapping[str, Outcome]
) -> str | None:
    """Why a measure of classes cannot be asked: an outcome is a number, or has only a score."""
    for name in sorted(names):
        kind = outcomes[name].kind
        if kind is not Kind.CLASSES:
            what = "is a number" if kind is Kind.NUMBER else "has only a score"
            return f"{asked.id} needs classes, and {name} {what}"
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
        self.faults: list[Fault] = []
        self.notices: list[str] = []

    def all(self) -> tuple[tuple[Shown, ...], tuple[Check, ...], tuple[str, ...]]:
        """Everything that is shown and checked, with notices on limits that mislead."""
        shown: list[Shown] = []
        checks: list[Check] = []
        for at, entry in enumerate(self.shape.metrics):
            path: Path = ("metrics", at)
            before = len(self.faults)
            asked = None if at in self.skipped else self._asked(path, entry)
            if asked is None:
                continue
            of = self._of(path, entry, asked)
            if of is not None and (reason := unanswerable(asked, of, self.outcomes)):
                self._fault((*path, "metric"), reason)
            if isinstance(asked, Measure) and asked.conditional and entry.given is None:
                message = f"{asked.id} looks within strata: say `given:`"
                self._fault((*path, "metric"), message)
            parameters = self._parameters(path, entry, asked)
            bounds = _bounds(asked, entry)
            warn = self._limit((*path, "warn"), entry.warn, asked, bounds)
            fail = self._limit((*path, "fail"), entry.fail, asked, bounds)
            one = self._shown(path, entry, asked, of or "label", parameters)
            if len(self.faults) == before:
                self._notice(path, entry, asked, of)
                shown.append(one)
                if warn or fail:
                    checks += self._checks(path, entry, one, (warn, fail))
        self._unique(checks)
        return tuple(shown), tuple(checks), tuple(self.notices)

    def _fault(self, path: Path, message: str, *, key: bool = False) -> None:
        self.faults.append(self.document.fault(path, message, key=key))

    def _fault_at(self, path: Path) -> Callable[[int, str], None]:
        return lambda at, message: self._fault((*path, at), message)

    def _asked(self, path: Path, entry: schema.Metric) -> Asked | None:
        """The record that an entry names, with its `compare`."""
        record = find(entry.metric)
        if record is None or entry.compare is None:
            return record
        how = comparison(entry.compare)
        if not isinstance(record, Quantity) or how is None:
            self._fault((*path, "compare"), f"{record.id} is a comparison already")
            return None
        return compared(record, how)

    def _of(self, path: Path, entry: schema.Metric, asked: Asked) -> str | None:
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
        only_label = not isinstance(asked, Whole) and _cells(asked) <= _LABEL_ONLY
        if only_label and not any(uses(asked, what) for what in _OF_NUMBERS):
            return "label"
        of = self.first
        if self.outcomes[of].kind is Kind.SCORE and "label" in self.outcomes:
            return "label" if unanswerable(asked, of, self.outcomes) else of
        return of

    def _parameters(self, path: Path, entry: schema.Metric, asked: Asked) -> Parameters:
        parameters = Parameters(entry.smoothing, entry.concentration)
        for key in ("smoothing", "concentration"):
            value = getattr(entry, key)
            if value is not None and not isinstance(asked, Whole):
                self._fault((*path, key), f"{asked.id} takes no {key}", key=True)
            if value is not None and value < 0:
                self._fault((*path, key), "a pseudo-count is not negative")
        if entry.smoothing is not None and entry.concentration is not None:
            self._fault((*path, "concentration"), "either smoothing or concentration, not both")
        return parameters

    def _shown(
        self, path: Path, entry: schema.Metric, asked: Asked, of: str, parameters: Parameters
    ) -> Shown:
        """What is reported of an entry: every grouping by default."""
        by = self.groupings.by(
            entry.by if entry.by is not None else self.shape.groups.by,
            self._fault_at((*path, "by") if entry.by is not None else ("groups", "by")),
        )
        given: tuple[Grouping, ...] = ((),)
        if entry.given is not None:
            given = self.groupings.given(entry.given, (), self._fault_at((*path, "given")))
        reference = self._reference(path, entry, asked)
        subsets = every_subset(self.groupings.protected)
        return Shown(
            asked=asked,
            of=of,
            by=by,
            given=given,
            reference=reference,
            references=self._for_each(reference, subsets),
            declared=self._for_each(Reference(Policy.DECLARED), subsets),
            parameters=parameters,
            min_size=self.shape.groups.min_size,
        )

    def _reference(self, path: Path, entry: schema.Metric, asked: Asked) -> Reference | None:
        """The reference of an entry as it is written; None where the measure takes none."""
        takes = isinstance(asked, Measure) and asked.to_reference
        fixed = isinstance(asked, Measure) and asked.reference is not None
        if entry.reference is None:
            return Reference(Policy.DECLARED) if takes and not fixed else None
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
            return Reference(Policy.LEVEL, tuple(entry.reference.items()))
        if word in schema.REFERENCES:
            return Reference(Policy(word))
        return Reference(Policy.LEVEL, (("", word),))

    def _for_each(
        self, reference: Reference | None, groupings: Sequence[Grouping]
    ) -> dict[Grouping, Reference]:
        """The reference of each grouping for which there is one."""
        found = {by: self._resolved(reference, by) for by in groupings}
        return {by: one for by, one in found.items() if one is not None}

    def _resolved(self, reference: Reference | None, by: Grouping) -> Reference | None:
        """The reference for one grouping; None where it names no group of it."""
        if reference is None or reference.policy not in {Policy.DECLARED, Policy.LEVEL}:
            return reference
        if reference.policy is Policy.DECLARED:
            levels = {name: text.value for name, text in self.declared.items() if text}
        else:
            levels = dict(reference.group)
            if set(levels) == {""}:
                levels = {by[0]: levels[""]} if len(by) == 1 else {}
        if not set(by) <= set(levels):
            return None
        return replace(reference, group=tuple((name, levels[name]) for name in by))

    def _limit(
        self, path: Path, bound: schema.Bound | None, asked: Asked, bounds: Bounds
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
        limit = Limit(below, above)
        ideal = None if isinstance(asked, Quantity) else asked.ideal
        if ideal is not None and limit.excess(ideal) > 0:
            percent = below is not None and 1 < below <= 100
            what = f"{below} % is written {below / 100}" if percent and below else "turn it round"
            self._fault(path, f"parity itself ({ideal}) would cross this limit: {what}")
        return limit

    def _notice(self, path: Path, entry: schema.Metric, asked: Asked, of: str | None) -> None:
        """Notices on limits that look at one side only, or at the wrong side of a burden."""
        place = self.document.place(path)
        where = f"{place.file}:{place.line}" if place else f"metrics[{path[1]}]"
        bounds = [bound for bound in (entry.warn, entry.fail) if bound is not None]
        one_sided = [b for b in bounds if b.below is None or b.above is None]
        policy = entry.reference.get("") if entry.reference else None
        two_sided = isinstance(asked, Measure) and asked.signed
        if one_sided and two_sided and policy not in {"highest", "lowest"}:
            self.notices.append(
                f"{where}: {asked.id} can depart from parity on either side, and the limit looks "
                "at one; `outside: [lowest, highest]` looks at both"
            )
        burden = of is not None and not self.outcomes[of].favourable
        if (
            bounds
            and burden
            and isinstance(asked, Measure)
            and asked.comparison.quotient
            and not asked.four_fifths
            and asked.parts[0][0] is SELECTION_RATE
        ):
            self.notices.append(
                f"{where}: the positive is a burden here, and {asked.id} compares the rates of "
                "having it; `impact_ratio` applies the four-fifths rule to those of being spared"
            )

    def _checks(
        self,
        path: Path,
        entry: schema.Metric,
        shown: Shown,
        limits: tuple[Limit | None, Limit | None],
    ) -> list[Check]:
        """One check for each grouping and conditioning of an entry with a limit."""
        asked = shown.asked
        default = [["full"]] if isinstance(asked, Whole) else [["each"]]
        by_path = (*path, "by")
        groupings = self.groupings.by(entry.by or default, self._fault_at(by_path))
        found = []
        for by in groupings:
            reference = self._resolved(shown.reference, by)
            if shown.reference is not None and reference is None:
                self._no_reference(path, by, entry)
                continue
            given_of = [[*names] for names in entry.given] if entry.given is not None else None
            given = (
                ((),)
                if given_of is None
                else self.groupings.given(given_of, by, self._fault_at((*path, "given")))
            )
            found += [
                self._check(path, entry, shown, by, strata, reference, limits) for strata in given
            ]
        return found

    def _check(  # the parts of one question, gathered by its only caller
        self,
        path: Path,
        entry: schema.Metric,
        shown: Shown,
        by: Grouping,
        given: Grouping,
        reference: Reference | None,
        limits: tuple[Limit | None, Limit | None],
    ) -> Check:
        warn, fail = limits
        return Check(
            id=_id(entry, shown, by, given),
            asked=shown.asked,
            of=shown.of,
            by=by,
            given=given,
            reference=reference,
            parameters=shown.parameters,
            min_size=shown.min_size,
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


def _bounds(asked: Asked, entry: schema.Metric) -> Bounds:
    """The values that what is asked can take against the reference that the entry names."""
    word = (entry.reference or {}).get("", "")
    if isinstance(asked, Measure) and asked.reference is None and word in schema.REFERENCES:
        return asked.bounds_to(Policy(word))
    return asked.bounds


def _id(entry: schema.Metric, shown: Shown, by: Grouping, given: Grouping) -> str:
    """`metric.compare.reference/by/given/of`, without what is not said."""
    head = [shown.asked.id]
    if entry.compare:
        head.append(entry.compare)
    if entry.reference is not None:
        head.append("+".join(entry.reference.values()))
    for key in ("smoothing", "concentration"):
        value: Decimal | None = getattr(entry, key)
        if value is not None:
            head.append(f"{key}={value}")
    segments = [".".join(head), "+".join(by), "+".join(given), shown.of]
    return "/".join(segment for segment in segments if segment)


def _cells(asked: Quantity | Measure) -> frozenset[str]:
    if isinstance(asked, Quantity):
        return asked.cells
    return frozenset().union(*(quantity.cells for quantity, _ in asked.parts))

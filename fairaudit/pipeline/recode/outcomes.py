"""Classes of outcomes in the data: which are positive; values neither positive nor negative."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import numpy as np

from fairaudit.base.disclosure_marks import Notice, Subjects
from fairaudit.base.errors import did_you_mean, list_known
from fairaudit.base.frozen import Frozen
from fairaudit.base.names import canonical, is_value, listing, lookalike, quoted
from fairaudit.counting.counts import Counts
from fairaudit.counting.plan import MISSING
from fairaudit.cube import NO_LEVEL, KeyColumn, Role
from fairaudit.pipeline.plan_builder import edges_of, is_positive
from fairaudit.pipeline.recode.axes import DROP, Axis, Problems, with_missing_last
from fairaudit.pipeline.recode.suspicious_levels import is_like_missing
from fairaudit.spec import LocatedText, MissingPolicy, OtherValues, Outcome, OutcomeKind, Spec


def outcome_axis(outcome: Outcome, counts: Counts, spec: Spec, problems: Problems) -> Axis:
    """The axis of a label, prediction or decision; undeclared third values are a fault."""
    role = Role.LABEL if outcome.name == "label" else Role.PREDICTION
    policy = spec.missing.label if role is Role.LABEL else spec.missing.prediction
    if outcome.threshold is not None:
        return _cut_axis(outcome, role, policy, counts, problems)
    raw_key = counts.text_key(outcome.column.value)
    missing_words = {"", *spec.missing.tokens}
    levels_read = [None if level in missing_words else level for level in raw_key.levels]
    classes = _Classes.of([level for level in levels_read if level is not None])
    present = set(raw_key.codes[(counts.kept == 1) & (counts.rows > 0)].tolist())
    occurring = {
        classes.of_level[level]
        for code, level in enumerate(levels_read)
        if level is not None and code in present
    }
    positive, negative = classes.named(outcome.positive), classes.named(outcome.negative)
    dropped = _dropped(outcome, classes, occurring, problems)
    known = (occurring | positive | negative) - dropped
    # Classes that `order` names are levels even if no row has them.
    ordered = [name for text in outcome.order for name in classes.named([text])]
    if outcome.order and known - {*ordered}:
        missing = listing(sorted(known - {*ordered}))
        what = f"{quoted(outcome.column.value)} holds classes that `order` does not name: {missing}"
        problems.faults.append(outcome.order[0].fault(what))
    levels = tuple(ordered) if outcome.order else tuple(sorted(known))
    place = {level: code for code, level in enumerate(levels)}
    left_out = DROP if policy is MissingPolicy.DROP else NO_LEVEL

    def code(level: str | None) -> int:
        return left_out if level is None else place.get(classes.of_level[level], DROP)

    key = KeyColumn(
        outcome.name,
        role,
        levels,
        positive=frozenset(place[name] for name in positive if name in place)
        if outcome.binary
        else None,
        favourable=outcome.favourable,
    )
    return Axis(
        key,
        np.array([code(level) for level in levels_read], dtype=np.int64)[raw_key.codes],
        outcome.column.value,
        str(role),
        policy,
        missing=np.array([level is None for level in levels_read], dtype=np.bool_)[raw_key.codes],
    )


def _dropped(
    outcome: Outcome, classes: _Classes, occurring: set[str], problems: Problems
) -> set[str]:
    """The classes that `others: drop` leaves out; other undeclared classes are a fault."""
    if not outcome.binary:
        return set()
    positive, negative = classes.named(outcome.positive), classes.named(outcome.negative)
    if outcome.is_assumed:
        return _check_assumed(outcome, occurring, problems)
    is_well_named = _check_positive(outcome, classes, occurring, problems)
    is_well_named &= _check_negative(outcome, classes, occurring, problems)
    rest = occurring - positive - negative if is_well_named else set()
    if alike := _hint_alike(outcome, (negative & occurring) - positive):
        problems.faults.append(outcome.negative[0].fault(f"among the `negative` values {alike}"))
        return set()
    if outcome.negative and rest and outcome.others is OtherValues.DROP:
        return rest
    column = quoted(outcome.column.value)
    if outcome.negative and rest:
        what = f"{column} holds values that are neither positive nor negative"
        others = "add them to `positive` or `negative`, or set `others: drop`"
        hint = _hint_alike(outcome, rest) or others
        problems.faults.append(outcome.column.fault(f"{what}: {listing(sorted(rest))}; {hint}"))
    elif not outcome.negative and len(rest) > 1:
        named = listing([text.value for text in outcome.positive])
        hint = _hint_alike(outcome, rest) or "list the `negative` values"
        problems.faults.append(
            outcome.column.fault(
                f"{column} has more than two values: in addition to {named} there are "
                f"{listing(sorted(rest))}; {hint}"
            )
        )
    elif not outcome.negative:
        for name in rest:
            if is_like_missing(name) or _hint_alike(outcome, [name]):
                what = f"{outcome.name}: {quoted(name)} counts as the negative, for it is the only "
                what += "other value; say what is `negative`, or name it in `missing.tokens`"
                problems.notices.append(Notice(what, Subjects.NOBODY))
        several = positive & occurring
        if not rest and len(several) > 1:
            what = f"all values of {column} are positive: {listing(sorted(several))}"
            hint = (
                "list only the positive values; if all values are positive, declare what would be"
            )
            problems.faults.append(outcome.positive[0].fault(f"{what}; {hint} `negative`"))
    return set()


def _check_assumed(outcome: Outcome, occurring: set[str], problems: Problems) -> set[str]:
    """Adds a notice that 1 or true is the positive; a fault if there are other values."""
    column = quoted(outcome.column.value)
    others = sorted(level for level in occurring if canonical(level) not in {"0", "1"})
    if others:
        what = f"{column} holds {listing(sorted(occurring))}: say which are positive, `positive: …`"
        problems.faults.append(outcome.column.fault(f"{what}, or set a threshold, `at_least: 0.5`"))
        return set()
    one = next((level for level in sorted(occurring) if canonical(level) == "1"), "1")
    what = f"{outcome.name}: {quoted(one)} of {column} is the positive, since the spec names none"
    problems.notices.append(Notice(what, Subjects.NOBODY))
    values = {canonical(level) for level in occurring}
    for value in [value for value in ("0", "1") if value not in values]:
        what = f"{outcome.name}: no row has a {value} in {column}"
        problems.notices.append(Notice(what, Subjects.ANYBODY))
    return set()


class _Classes(Frozen):
    """The classes of an outcome column: levels of equal value are one class.

    Numbers and booleans are values (`1` and `1.0` are one class), even if the column has other
    texts. Each other text is a class.
    """

    of_level: dict[str, str]
    by_value: dict[str, str]

    @classmethod
    def of(cls, levels: Sequence[str]) -> _Classes:
        """The classes of the levels, each named by its first level."""
        first: dict[str, str] = {}
        for level in levels:
            first.setdefault(canonical(level), level)
        return cls({level: first[canonical(level)] for level in levels}, first)

    def named(self, texts: Iterable[LocatedText]) -> set[str]:
        """The classes that texts of the spec name, by text or by equal value."""
        return {self.by_value.get(canonical(text.value), text.value) for text in texts}


def _check_positive(
    outcome: Outcome, classes: _Classes, occurring: set[str], problems: Problems
) -> bool:
    """Whether the positives are named correctly: a positive that never occurs is a fault.

    It is not a fault if a declared negative occurs: a month without positives has a rate of 0.
    """
    before = len(problems.faults)
    positive_occurs = bool(classes.named(outcome.positive) & occurring)
    negative_occurs = bool(classes.named(outcome.negative) & occurring)
    absent = [text for text in outcome.positive if not classes.named([text]) & occurring]
    for text in absent:
        hint = did_you_mean(text.value, occurring)
        if negative_occurs and not hint:
            continue
        if positive_occurs and not hint:
            what = f"{outcome.name}: the positive {quoted(text.value)} does not occur"
            problems.notices.append(Notice(what, Subjects.NOBODY))
            continue
        known = list_known(occurring, listing(sorted(occurring)) or "no value at all")
        message = (
            f"the positive {quoted(text.value)} never occurs in {quoted(outcome.column.value)}"
        )
        tail = hint or f"; {known}" + (
            "" if outcome.negative else " (a month without any: declare `negative`)"
        )
        if len(occurring) > 2 and all(map(is_value, occurring)):
            tail += "; a threshold is written `positive: {at_least: 0.5}`"
        problems.faults.append(text.fault(message + tail))
    return len(problems.faults) == before


def _check_negative(
    outcome: Outcome, classes: _Classes, occurring: set[str], problems: Problems
) -> bool:
    """Whether the negatives are named correctly: a negative that never occurs may be a typo."""
    before = len(problems.faults)
    others = sorted(occurring - classes.named(outcome.positive) - classes.named(outcome.negative))
    is_there = bool(classes.named(outcome.negative) & occurring)
    absent = [text for text in outcome.negative if not classes.named([text]) & occurring]
    for text in absent if others else ():
        hint = did_you_mean(text.value, others)
        if hint or not is_there:
            message = (
                f"the negative {quoted(text.value)} never occurs in {quoted(outcome.column.value)}"
            )
            tail = hint or f"; {list_known(others, listing(others))}"
            problems.faults.append(text.fault(message + tail))
    return len(problems.faults) == before


def _hint_alike(outcome: Outcome, others: Iterable[str]) -> str:
    """Advice on values whose spelling resembles a positive; empty without any."""
    listed = [text.value for text in outcome.positive]
    looks = {*map(lookalike, listed)}
    alike = sorted(name for name in others if lookalike(name) in looks)
    line = json.dumps([*listed, *alike], ensure_ascii=False)
    what = f"{listing(alike)} looks like a positive: if it is one, say `positive: {line}`"
    return f"{what}; if not, rename it in the data" if alike else ""


def _cut_axis(
    outcome: Outcome,
    role: Role,
    policy: MissingPolicy,
    counts: Counts,
    problems: Problems,
) -> Axis:
    """The axis of an outcome that is a cut on a number: classes `negative` and `positive`."""
    raw_key = counts.cut_key(outcome.column.value)
    edges = raw_key.key.edges or ()
    turning = edges_of(outcome.threshold) if outcome.threshold else ()
    raw = with_missing_last(raw_key)
    own = [(place, edge) for place, edge in enumerate(edges) if edge in turning]
    codes = [
        int(is_positive(outcome, [edge for place, edge in own if place < passed]))
        for passed in range(len(edges) + 1)
    ]
    codes.append(DROP if policy is MissingPolicy.DROP else NO_LEVEL)
    key = KeyColumn(
        outcome.name,
        role,
        ("negative", "positive"),
        positive=frozenset({1}),
        favourable=outcome.favourable,
    )
    missing = raw_key.codes == MISSING
    reached = np.array(codes)[raw]
    for code, word in ((1, "positive"), (0, "negative")):
        if not ((reached == code) & (counts.kept == 1)).any():
            what = f"{outcome.name}: by its cut no row is {word}"
            problems.notices.append(Notice(what, Subjects.ANYBODY))
    return Axis(key, reached, outcome.column.value, str(role), policy, missing)


def number_axes(counts: Counts, spec: Spec) -> list[Axis]:
    """The axes of scores and numeric outcomes, for each column and policy.

    The cube does not have these axes: they only account for missing values in the ledger.
    """
    rules = {"label": spec.missing.label, "prediction": spec.missing.prediction}
    rules |= {"score": spec.missing.score, "numbers": spec.missing.numbers}
    rule_of: dict[tuple[str, MissingPolicy], str] = {}
    for outcome in spec.outcomes:
        if outcome.kind is OutcomeKind.NUMBER:
            rule = "numbers" if outcome in spec.numbers else "prediction"
            rule = "label" if outcome is spec.label else rule
            rule_of.setdefault((outcome.column.value, rules[rule]), rule)
    for outcome in spec.outcomes:
        if outcome.score is not None:
            rule_of.setdefault((outcome.score.value, rules["score"]), "score")
    axes = []
    for (column, policy), rule in rule_of.items():
        missing = counts.cut_key(column).codes == MISSING
        codes = np.where(missing & (policy is MissingPolicy.DROP), DROP, 0)
        key = KeyColumn(column, Role.PREDICTION, ())
        axes.append(Axis(key, codes, column, rule, policy, missing))
    return axes

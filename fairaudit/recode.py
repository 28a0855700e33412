"""From raw levels to audited ones: the recodings of the spec, the faults of levels, the ledger.

The order of recoding is trim, unknown, merge, keep and other, bins. Nothing disappears here without
a line in the ledger.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation

import numpy as np

from fairaudit.cube import ASIDE, UNKNOWN, Cube, Ints, KeyColumn, Ledger, Line, Marks, Role
from fairaudit.errors import DataError, Fault, NothingToAudit, Seek, SpecError, did_you_mean
from fairaudit.plan import MISSING, Plan, RawCells, RawKey, is_positive
from fairaudit.spec import Missing, Others, Outcome, Policy, Protected, Spec, Text

_DROP = -2
"""The code of a raw value whose rows leave the audit."""


@dataclass(frozen=True, slots=True)
class Recoded:
    """The cube, and what a reader should know about how the levels came out."""

    cube: Cube
    notices: tuple[str, ...]


@dataclass(slots=True)
class _Axis:
    """One recoded column: its key, a code for each cell, and which cells are missing.

    `words` are the texts that mean missing in this column, beside the tokens of the spec.
    """

    key: KeyColumn
    codes: Ints
    column: str
    policy: Policy
    missing: Marks
    dropped_values: Marks
    words: tuple[str, ...] = ()


@dataclass(slots=True)
class _Findings:
    faults: list[Fault] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)


def recode(cells: RawCells, plan: Plan, spec: Spec) -> Recoded:
    """The cube of a spec from raw counts; raises `SpecError` with every fault of the levels."""
    _refuse_nothing(cells)
    findings = _Findings()
    axes = [_group_axis(one, Role.PROTECTED, cells, plan, spec, findings) for one in spec.protected]
    axes += [_group_axis(one, Role.STRATUM, cells, plan, spec, findings) for one in spec.strata]
    axes += [_outcome_axis(one, cells, plan, spec, findings) for one in spec.outcomes]
    if spec.score is not None:
        axes.append(_score_axis(spec.score, cells, plan, spec))
    if findings.faults:
        raise SpecError(findings.faults)
    for axis in axes:
        _refuse_missing(axis, cells, plan)
    cube = _cube(cells, axes)
    return Recoded(cube, tuple(findings.notices))


def _refuse_nothing(cells: RawCells) -> None:
    """Without a row there are no levels to find fault with."""
    if not cells.rows[cells.kept == 1].sum():
        filtered = int(cells.rows[cells.kept == 0].sum())
        raise NothingToAudit(
            f"no row is left to audit: {cells.read:,} read, {filtered:,} filtered out",
            "check the data, and the filter in the spec",
        )


def _cube(cells: RawCells, axes: Sequence[_Axis]) -> Cube:
    ledger, stays = _ledger(cells, axes)
    if not stays.any() or not cells.people[stays].sum():
        raise NothingToAudit(
            f"no row is left to audit: {ledger.read:,} read, {ledger.filtered:,} filtered, "
            f"{sum(line.rows for line in ledger.dropped):,} dropped",
            "check the filter, and `missing:` in the spec",
        )
    kept_axes = [axis for axis in axes if axis.key.levels]
    codes = np.stack([axis.codes[stays] for axis in kept_axes], axis=1).astype(np.int32)
    return Cube.gather(
        [axis.key for axis in kept_axes],
        np.where(codes < 0, ASIDE, codes).astype(np.int32),
        cells.rows[stays],
        cells.people[stays],
        ledger,
        cells.weight and type(cells.weight)(cells.weight.values[stays], cells.weight.scale),
        cells.squares and type(cells.squares)(cells.squares.values[stays], cells.squares.scale),
    )


def _ledger(cells: RawCells, axes: Sequence[_Axis]) -> tuple[Ledger, Marks]:
    """Where every row went, and which cells stay; each row leaves for its first reason only."""
    stays = cells.kept == 1
    filtered = int(cells.rows[cells.kept == 0].sum())
    undecided = int(cells.rows[cells.kept == -1].sum())
    dropped, aside = [], []
    for axis in axes:
        reasons = [
            (axis.missing, f"missing ({_rule(axis)}: {axis.policy.value})"),
            (axis.dropped_values, "neither positive nor negative (others: drop)"),
        ]
        for marks, reason in reasons:
            gone = stays & marks & (axis.codes == _DROP)
            if gone.any():
                dropped.append(_line(cells, gone, axis.column, reason))
                stays = stays & ~gone
    for axis in axes:
        unknown = stays & axis.missing
        if unknown.any():
            aside.append(_line(cells, unknown, axis.column, _what_becomes(axis)))
    ledger = Ledger(
        read=cells.read,
        counted=int(cells.rows[stays].sum()),
        people=int(cells.people[stays].sum()),
        filtered=filtered,
        undecided=undecided,
        dropped=tuple(dropped),
        set_aside=tuple(aside),
    )
    return ledger, stays


def _what_becomes(axis: _Axis) -> str:
    match axis.policy:
        case Policy.SHOW:
            return f"not known: shown as {UNKNOWN}, never compared"
        case Policy.GROUP:
            return f"not known: a group of its own, {UNKNOWN}"
        case _ if axis.key.role in {Role.PROTECTED, Role.STRATUM}:
            return "not known: left out wherever this column is used"
        case _:
            return "not known: counted wherever this column is not needed"


def _line(cells: RawCells, marks: Marks, column: str, reason: str) -> Line:
    return Line(int(cells.rows[marks].sum()), int(cells.people[marks].sum()), column, reason)


def _refuse_missing(axis: _Axis, cells: RawCells, plan: Plan) -> None:
    if axis.policy is not Policy.ERROR:
        return
    missing = (cells.kept == 1) & axis.missing
    rows = int(cells.rows[missing].sum())
    if rows:
        role = axis.key.role.value if axis.key.levels else "score"
        raise DataError(
            f"{rows:,} {'row has' if rows == 1 else 'rows have'} no value in the {role} "
            f"{axis.column!r}",
            f"complete the data, or say what becomes of them: `missing: {{{_rule(axis)}: …}}`",
            seek=Seek(axis.column, (None, *plan.tokens, *axis.words)),
        )


def _rule(axis: _Axis) -> str:
    names = {Role.STRATUM: "strata"}
    return names.get(axis.key.role, axis.key.role.value) if axis.key.levels else "score"


def _group_axis(  # what a column is recoded with
    one: Protected,
    role: Role,
    cells: RawCells,
    plan: Plan,
    spec: Spec,
    findings: _Findings,
) -> _Axis:
    policy = spec.missing.protected if role is Role.PROTECTED else spec.missing.strata
    if one.bins:
        names, raw, levels = _binned(one, cells, plan)
    else:
        raw_key = cells.keys[plan.text_key(one.column.value)]
        raw = raw_key.codes
        names = _level_names(one, raw_key, spec.missing, findings)
        levels = tuple(sorted({name for name in names if name is not None}))
    missing = np.array([name is None for name in names], dtype=np.bool_)[raw]
    if policy in {Policy.SHOW, Policy.GROUP} and missing.any():
        levels = (*levels, UNKNOWN)
    place: dict[str | None, int] = {level: code for code, level in enumerate(levels)}
    # A protected value or stratum that is set aside or dropped leaves the subsets that use it.
    left_out = _DROP if role is Role.STRATUM and policy is Policy.DROP else ASIDE
    place[None] = place.get(UNKNOWN, left_out)
    unknown = frozenset({place[UNKNOWN]} if policy is Policy.SHOW and UNKNOWN in place else ())
    codes = np.array([place[name] for name in names], dtype=np.int64)[raw]
    if one.reference and not one.bins and one.reference.value not in levels:
        hint = did_you_mean(one.reference.value, levels)
        findings.faults.append(
            one.reference.fault(
                f"the reference {one.reference.value!r} is no level of {one.name}"
                f"{hint or '; there are ' + _listing(levels)}"
            )
        )
    nothing = np.zeros(len(raw), dtype=np.bool_)
    key = KeyColumn(one.name, role, levels, unknown)
    return _Axis(key, codes, one.column.value, policy, missing, nothing, one.unknown)


def _binned(
    one: Protected, cells: RawCells, plan: Plan
) -> tuple[list[str | None], Ints, tuple[str, ...]]:
    """The bin of each interval of the union of all cuts on that column; missing stands last."""
    raw_key = cells.keys[plan.cut_key(one.column.value)]
    edges = raw_key.key.edges or ()
    own = [edge for edge in edges if not edge.beyond and edge.value in set(one.bins)]
    labels = one.bin_labels()
    names: list[str | None] = [
        labels[sum(edge in own for edge in edges[:passed])] for passed in range(len(edges) + 1)
    ]
    return [*names, None], _with_missing_last(raw_key), labels


def _with_missing_last(raw_key: RawKey) -> Ints:
    last = len(raw_key.key.edges or ()) + 1
    return np.where(raw_key.codes == MISSING, last, raw_key.codes)


def _level_names(
    one: Protected, raw_key: RawKey, missing: Missing, findings: _Findings
) -> list[str | None]:
    """The audited level of each raw level; None where it is not known."""
    found = [level.strip() if level is not None and one.trim else level for level in raw_key.levels]
    known = [level for level in found if level is not None]
    unknown = {"", *missing.tokens, *(_stored(word, known) for word in one.unknown)}
    if UNKNOWN in known and UNKNOWN not in unknown:
        findings.faults.append(
            one.column.fault(
                f"{one.column.value!r} holds the level {UNKNOWN!r}, the name of those who are not "
                f"known: say `unknown: [{UNKNOWN}]`, or rename it in the data"
            )
        )
    known = [level for level in known if level not in unknown]
    target = {}
    for name, levels in (one.merge or {}).items():
        for text in levels:
            target[_named(text, known, one, findings)] = name
    kept = None if one.keep is None else {
        *(_named(text, known, one, findings) for text in one.keep), *(one.merge or {})
    }  # fmt: skip

    def audited(level: str | None) -> str | None:
        if level is None or level in unknown:
            return None
        name = target.get(level, level)
        return one.other if kept is not None and name not in kept else name

    return [audited(level) for level in found]


def _named(text: Text, known: Sequence[str], one: Protected, findings: _Findings) -> str:
    """The stored level that a recoding names; a fault where it is likely a typo, else a notice."""
    stored = _stored(text.value, known)
    if stored not in known:
        hint = did_you_mean(text.value, known)
        if hint:
            findings.faults.append(text.fault(f"no level {text.value!r} in {one.name}{hint}"))
        else:
            findings.notices.append(f"{one.name}: the level {text.value!r} does not occur")
    return stored


def _stored(word: str, known: Iterable[str]) -> str:
    """A level as the file stores it: the same text, else the only one of equal value."""
    known = set(known)
    if word in known:
        return word
    equal = [level for level in known if _canonical(level) == _canonical(word)]
    return equal[0] if len(equal) == 1 else word


def _canonical(text: str) -> str:
    """A text by its value: `1`, `1.0`, `true`, `01` are one value; other texts are themselves."""
    words = {"true": "1", "false": "0"}
    folded = words.get(text.strip().lower(), text.strip())
    try:
        number = Decimal(folded)
    except InvalidOperation:
        return text
    return str(number.normalize()) if number.is_finite() else text


def _outcome_axis(
    one: Outcome, cells: RawCells, plan: Plan, spec: Spec, findings: _Findings
) -> _Axis:
    role = Role.LABEL if one.name == "label" else Role.PREDICTION
    policy = spec.missing.label if role is Role.LABEL else spec.missing.prediction
    if one.threshold is not None:
        return _cut_axis(one, role, policy, cells, plan, findings)
    raw_key = cells.keys[plan.text_key(one.column.value)]
    raw = raw_key.codes
    found = [
        None if level is None or level in spec.missing.tokens else level for level in raw_key.levels
    ]
    classes = _Classes.of([level for level in found if level is not None])
    present = set(raw[(cells.kept == 1) & (cells.rows > 0)].tolist())
    occurring = {
        classes.of_level[level]
        for code, level in enumerate(found)
        if level is not None and code in present
    }
    positive = classes.named(one.positive)
    negative = classes.named(one.negative)
    dropped: set[str] = set()
    if one.binary:
        named = _check_positive(one, classes, occurring, findings)
        named &= _check_negative(one, classes, occurring, findings)
        rest = occurring - positive - negative if named else set()
        if one.negative and rest and one.others is Others.DROP:
            dropped = rest
        elif one.negative and rest:
            findings.faults.append(_others_fault(one, rest))
        elif not one.negative and len(rest) > 1:
            findings.faults.append(_too_many_fault(one, rest))
    levels = tuple(sorted((occurring | positive | negative) - dropped))
    place = {level: code for code, level in enumerate(levels)}
    code_missing = _DROP if policy is Policy.DROP else ASIDE

    def code(level: str | None) -> int:
        if level is None:
            return code_missing
        name = classes.of_level[level]
        return _DROP if name in dropped else place.get(name, _DROP)

    codes = np.array([code(level) for level in found], dtype=np.int64)[raw]
    missing = np.array([level is None for level in found], dtype=np.bool_)[raw]
    is_dropped = np.array(
        [level is not None and classes.of_level[level] in dropped for level in found],
        dtype=np.bool_,
    )[raw]
    key = KeyColumn(
        one.name,
        role,
        levels,
        positive=frozenset(place[name] for name in positive if name in place)
        if one.binary
        else None,
        favourable=one.favourable,
    )
    return _Axis(key, codes, one.column.value, policy, missing, is_dropped)


@dataclass(frozen=True, slots=True)
class _Classes:
    """The classes of an outcome column: levels of equal value are one class where all are values.

    A column of numbers and booleans holds values (`1` and `1.0` are one); any other holds texts.
    """

    of_level: dict[str, str]
    by_value: bool

    @classmethod
    def of(cls, levels: Sequence[str]) -> _Classes:
        by_value = all(_is_value(level) for level in levels)
        if not by_value:
            return cls({level: level for level in levels}, by_value=False)
        first: dict[str, str] = {}
        for level in levels:
            first.setdefault(_canonical(level), level)
        return cls({level: first[_canonical(level)] for level in levels}, by_value=True)

    def named(self, texts: Iterable[Text]) -> set[str]:
        """The classes that texts of the spec name, by the type of the column."""
        found = set()
        for text in texts:
            value = text.value
            if value in self.of_level:
                found.add(self.of_level[value])
            elif self.by_value:
                equal = (c for c in self.of_level.values() if _canonical(c) == _canonical(value))
                found.add(next(equal, value))
            else:
                found.add(value)
        return found


def _is_value(text: str) -> bool:
    if text.strip().lower() in {"true", "false"}:
        return True
    try:
        return Decimal(text.strip()).is_finite()
    except InvalidOperation:
        return False


def _check_positive(
    one: Outcome, classes: _Classes, occurring: set[str], findings: _Findings
) -> bool:
    """Whether the positives are well named: one that never occurs is a fault.

    Unless a declared negative does occur: a month without any is a rate of 0.
    """
    before = len(findings.faults)
    negative_occurs = bool(classes.named(one.negative) & occurring)
    for text in one.positive:
        (name,) = classes.named([text])
        if name in occurring:
            continue
        hint = did_you_mean(text.value, occurring)
        if negative_occurs and not hint:
            continue
        if any(classes.named([other]) & occurring for other in one.positive) and not hint:
            findings.notices.append(f"{one.name}: the positive {text.value!r} does not occur")
            continue
        known = _listing(sorted(occurring)) or "no value at all"
        message = f"the positive {text.value!r} never occurs in {one.column.value!r}"
        tail = hint or f"; there is {known}" + (
            "" if one.negative else " (a month without any: declare `negative`)"
        )
        findings.faults.append(text.fault(message + tail))
    return len(findings.faults) == before


def _check_negative(
    one: Outcome, classes: _Classes, occurring: set[str], findings: _Findings
) -> bool:
    """Whether the negatives are well named: one that never occurs may be a typo."""
    before = len(findings.faults)
    others = sorted(occurring - classes.named(one.positive) - classes.named(one.negative))
    for text in one.negative:
        if classes.named([text]) & occurring or not others:
            continue
        hint = did_you_mean(text.value, others)
        if hint or not classes.named(one.negative) & occurring:
            message = f"the negative {text.value!r} never occurs in {one.column.value!r}"
            findings.faults.append(text.fault(message + (hint or f"; there is {_listing(others)}")))
    return len(findings.faults) == before


def _others_fault(one: Outcome, rest: set[str]) -> Fault:
    return one.column.fault(
        f"{one.column.value!r} holds values that are neither positive nor negative: "
        f"{_listing(sorted(rest))}; add them to one, or say `others: drop`"
    )


def _too_many_fault(one: Outcome, rest: set[str]) -> Fault:
    positive = _listing([text.value for text in one.positive])
    return one.column.fault(
        f"{one.column.value!r} holds more than two values: beside {positive} there are "
        f"{_listing(sorted(rest))}; say which are `negative`"
    )


def _listing(levels: Sequence[str], most: int = 10) -> str:
    shown = ", ".join(repr(level) for level in levels[:most])
    return f"{shown} and {len(levels) - most} more" if len(levels) > most else shown


def _cut_axis(
    one: Outcome,
    role: Role,
    policy: Policy,
    cells: RawCells,
    plan: Plan,
    findings: _Findings,
) -> _Axis:
    """An outcome that is a cut on a number: classes `negative` and `positive`."""
    raw_key = cells.keys[plan.cut_key(one.column.value)]
    edges = raw_key.key.edges or ()
    raw = _with_missing_last(raw_key)
    codes = [int(is_positive(one, edges[:passed])) for passed in range(len(edges) + 1)]
    codes.append(_DROP if policy is Policy.DROP else ASIDE)
    key = KeyColumn(
        one.name,
        role,
        ("negative", "positive"),
        positive=frozenset({1}),
        favourable=one.favourable,
    )
    nothing = np.zeros(len(raw), dtype=np.bool_)
    missing = raw_key.codes == MISSING
    reached = np.array(codes)[raw]
    for code, word in ((1, "positive"), (0, "negative")):
        if not ((reached == code) & (cells.kept == 1)).any():
            findings.notices.append(f"{one.name}: by its cut no row is {word}")
    return _Axis(key, reached, one.column.value, policy, missing, nothing)


def _score_axis(score: Text, cells: RawCells, plan: Plan, spec: Spec) -> _Axis:
    """A score is no axis of the cube yet; here only its missing values are accounted for."""
    raw_key = cells.keys[plan.cut_key(score.value)]
    missing = raw_key.codes == MISSING
    policy = spec.missing.score
    codes = np.where(missing & (policy is Policy.DROP), _DROP, 0)
    key = KeyColumn(score.value, Role.PREDICTION, ())
    nothing = np.zeros(len(missing), dtype=np.bool_)
    return _Axis(key, codes, score.value, policy, missing, nothing)

"""From raw levels to audited ones: recodings, faults of levels, and the ledger.

Nothing disappears here without a line in the ledger.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fairaudit.cube import ASIDE, UNKNOWN, Cube, Marks, Role
from fairaudit.errors import DataError, NothingToAudit, Seek, SpecError
from fairaudit.histogram import TOO_LARGE, TOO_SMALL, Histogram
from fairaudit.ledger import Ledger, Line
from fairaudit.plan import Plan, RawCells
from fairaudit.recode.axis import DROP, Axis, Findings
from fairaudit.recode.groups import group_axis
from fairaudit.recode.outcomes import outcome_axis, score_axis
from fairaudit.recode.scores import histograms
from fairaudit.spec import Policy, Spec


@dataclass(frozen=True, slots=True)
class Recoded:
    """The cube, and what a reader should know about how the levels came out."""

    cube: Cube
    notices: tuple[str, ...]
    scores: tuple[Histogram, ...] = ()


def recode(cells: RawCells, plan: Plan, spec: Spec) -> Recoded:
    """The cube of a spec from raw counts; raises `SpecError` with every fault of the levels."""
    _refuse_nothing(cells)
    findings = Findings()
    axes = [group_axis(one, Role.PROTECTED, cells, plan, spec, findings) for one in spec.protected]
    axes += [group_axis(one, Role.STRATUM, cells, plan, spec, findings) for one in spec.strata]
    axes += [outcome_axis(one, cells, plan, spec, findings) for one in spec.outcomes]
    if spec.score is not None:
        axes.append(score_axis(spec.score, cells, plan, spec))
    if findings.faults:
        raise SpecError(findings.faults)
    for axis in axes:
        _refuse_missing(axis, cells, plan)
    cube = _cube(cells, axes)
    scores = histograms(cells, _by_key(axes, cells, spec))
    return Recoded(cube, (*findings.notices, *_oddities(spec, scores)), scores)


def _by_key(axes: Sequence[Axis], cells: RawCells, spec: Spec) -> dict[int, Axis]:
    """The axes that histograms need, by the number of the raw key that each was made of."""
    if cells.scores is None:
        return {}
    named = {axis.key.name: axis for axis in axes}
    order = [one.name for one in spec.protected]
    found = {}
    for name, histogram in zip(order, cells.scores.histograms, strict=True):
        found[histogram.keys[0]] = named[name]
        if len(histogram.keys) > 1 and spec.label is not None:
            found[histogram.keys[1]] = named[spec.label.name]
    return found


def _oddities(spec: Spec, scores: Sequence[Histogram]) -> Iterator[str]:
    """Notices on a score that is likely meant to be a probability, and on what is not counted."""
    if spec.score is None:
        return
    if not scores:
        if spec.weight is not None:
            yield f"{spec.score.value}: the score of a weighted sample is not summarised yet"
        return
    if scores[0].moments is None:
        yield (
            f"{spec.score.value}: no mean and no deviation: scores are added up at six and nine "
            f"decimals, for magnitudes up to {TOO_LARGE:,.0f} of which one reaches {TOO_SMALL:g}"
        )
    everybody = scores[0].people.sum(axis=(0, 1))
    bins = scores[0].bins
    outside = int(everybody[(bins.low < 0) | (bins.high > 1)].sum())
    if outside and 2 * outside < int(everybody.sum()):
        yield (
            f"{spec.score.value}: {outside:,} scores lie outside [0, 1], where most are: if it is "
            "a probability, they are mistakes"
        )


def _refuse_nothing(cells: RawCells) -> None:
    """Without a row there are no levels to find fault with."""
    if not cells.rows[cells.kept == 1].sum():
        filtered = int(cells.rows[cells.kept == 0].sum())
        raise NothingToAudit(
            f"no row is left to audit: {cells.read:,} read, {filtered:,} filtered out",
            "check the data, and the filter in the spec",
        )


def _cube(cells: RawCells, axes: Sequence[Axis]) -> Cube:
    ledger, stays = _ledger(cells, axes)
    if not stays.any() or not cells.people[stays].sum():
        raise NothingToAudit(
            f"no row is left to audit: {ledger.read:,} read, {ledger.filtered:,} filtered, "
            f"{sum(line.rows for line in ledger.dropped):,} dropped",
            "check the filter, and `missing:` in the spec",
        )
    # An attribute that nobody is known in stays; a score has no levels.
    groupings = {Role.PROTECTED, Role.STRATUM}
    kept_axes = [axis for axis in axes if axis.key.levels or axis.key.role in groupings]
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


def _ledger(cells: RawCells, axes: Sequence[Axis]) -> tuple[Ledger, Marks]:
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
            gone = stays & marks & (axis.codes == DROP)
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


def _what_becomes(axis: Axis) -> str:
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


def _refuse_missing(axis: Axis, cells: RawCells, plan: Plan) -> None:
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


def _rule(axis: Axis) -> str:
    names = {Role.STRATUM: "strata"}
    return names.get(axis.key.role, axis.key.role.value) if axis.key.levels else "score"

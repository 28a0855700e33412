"""The journey: spec → plan → counts → cube → readings → findings → result."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from fairaudit import engine
from fairaudit import spec as specs
from fairaudit.cube import Cube, Grouping, GroupTable
from fairaudit.errors import DataError, FairauditError, UsageError, did_you_mean
from fairaudit.metrics import Terms, evaluate
from fairaudit.plan import Plan, RawCells, plan
from fairaudit.recode import Recoded, recode
from fairaudit.result import AuditResult, DataFile, FailOn, Provenance
from fairaudit.simpson import Scanned, scan
from fairaudit.spec import Spec, value_of
from fairaudit.tables import tabulate
from fairaudit.tables.entries import TableOf
from fairaudit.verdict import Check, Finding, ReversalCheck, judge, judge_reversals


def audit(
    spec: str | Path | Mapping[str, object] | Spec,
    data: Any = None,  # noqa: ANN401  # a path, or any frame that narwhals reads
    *,
    fail_on: FailOn | str = FailOn.FAIL,
    only: str | Iterable[str] | None = None,
) -> AuditResult:
    """The result of an audit of the spec's data, or of `data` in its place.

    `spec` is a path, a mapping of the same shape, or a loaded spec; `data` a path (also a glob or
    folder) or a data frame. `only` names checks to judge. Raises the errors of
    `fairaudit.errors`; a failed check raises nothing: see `AuditResult.raise_for_failure`.
    """
    read = _loaded(spec)
    if fail_on not in set(FailOn):
        raise UsageError(f"fail_on is fail, warn or never, not {fail_on!r}")
    checks = _chosen(read.checks, (only,) if isinstance(only, str) else tuple(only or ()))
    asked = plan(read)
    raw, recoded = _counted(read, asked, data)
    cube = recoded.cube

    @cache
    def table(by: Grouping, given: Grouping, of: str) -> GroupTable:
        return cube.table(by, given, of)

    scanned = scan(table, read.simpson) if read.simpson else Scanned()
    listing = tabulate(cube, table, read.shown, checks)
    return AuditResult(
        provenance=_provenance(read, raw, cube),
        ledger=cube.ledger,
        groups=listing.groups,
        rates=listing.rates,
        comparisons=listing.comparisons,
        lattice=listing.lattice,
        epsilons=listing.epsilons,
        findings=tuple(_finding(check, table, scanned) for check in checks),
        reversals=scanned.found,
        definitions=listing.definitions,
        notices=(*read.notices, *raw.notices, *recoded.notices, *_unscanned(scanned)),
        fail_on=FailOn(fail_on),
    )


def _loaded(spec: str | Path | Mapping[str, object] | Spec) -> Spec:
    if isinstance(spec, Spec):
        return spec
    if isinstance(spec, Mapping):
        return specs.of_mapping(spec)
    try:
        return specs.load(Path(spec))
    except TypeError as error:
        kind = type(spec).__name__
        raise UsageError(f"a spec is a path or a mapping, not a {kind}", "see README.md") from error


def _chosen(
    checks: tuple[Check | ReversalCheck, ...], only: tuple[str, ...]
) -> tuple[Check | ReversalCheck, ...]:
    """The checks of those ids; an id that names none is an error, never an empty pass."""
    known = [check.id for check in checks]
    for name in only:
        if name not in known:
            hint = did_you_mean(str(name), known) or "; there is " + (
                ", ".join(known) or "no check"
            )
            raise UsageError(f"no check {name!r}{hint}")
    return tuple(check for check in checks if not only or check.id in only)


def _counted(read: Spec, asked: Plan, data: Any) -> tuple[RawCells, Recoded]:  # noqa: ANN401
    """The raw counts and the cube; an error about rows is told with the first such row."""
    is_frame = data is not None and not isinstance(data, str | Path)
    entries = read.data if data is None else (str(data),)
    base = Path(read.path).parent if data is None else Path()
    if not is_frame and not entries:
        raise UsageError("the spec names no data", "add `data:` to it, or give --data")
    try:
        raw = (
            engine.count_frame(asked, data)
            if is_frame
            else engine.count_files(asked, entries, base)
        )
        return raw, recode(raw, asked, read)
    except DataError as error:
        if error.seek is None or is_frame:
            raise
        spot = None
        with contextlib.suppress(FairauditError):  # the first error is the one to tell
            spot = engine.locate(asked, entries, base, error.seek)
        raise (error.found(spot) if spot else error) from error


def _finding(check: Check | ReversalCheck, table: TableOf, scanned: Scanned) -> Finding:
    if isinstance(check, ReversalCheck):
        return judge_reversals(check, scanned)
    terms = Terms(check.reference, check.min_size, check.parameters)
    return judge(check, evaluate(check.asked, table(check.by, check.given, check.of), terms))


def _unscanned(scanned: Scanned) -> tuple[str, ...]:
    """Notices on pairs that the scan for reversals could not compare at all."""
    reasons = (reason for group, reason in scanned.left_out if not group)
    return tuple(f"Simpson's reversals: {reason}" for reason in reasons)


def _provenance(read: Spec, raw: RawCells, cube: Cube) -> Provenance:
    return Provenance(
        version=tool_version(),
        spec_path=read.path,
        spec_sha256=read.sha256,
        title=read.title,
        context=read.context,
        files=tuple(DataFile(one.path, one.bytes, one.modified, one.lines) for one in raw.files),
        rows=raw.read,
        route=raw.route,
        cube_sha256=_hash(cube),
        filter=value_of(read.filter),
        count=value_of(read.count),
        weight=value_of(read.weight),
        weight_error=raw.weight_error,
        min_size=read.min_size,
        created=_now(),
    )


def tool_version() -> str:
    """The version of the installed distribution."""
    try:
        return version("fairaudit-cli")
    except PackageNotFoundError:
        return "0+unknown"


def _now() -> str:
    """The time of the run in UTC, or the one that SOURCE_DATE_EPOCH fixes."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        moment = datetime.fromtimestamp(int(fixed), UTC) if fixed else datetime.now(UTC)
    except (ValueError, OverflowError, OSError) as error:
        what = "SOURCE_DATE_EPOCH is no number of seconds since 1970"
        raise UsageError(what, "unset it, or set it to such a number") from error
    return moment.replace(microsecond=0).isoformat()


def _hash(cube: Cube) -> str:
    """A fingerprint of the counts: equal for equal cubes."""
    found = hashlib.sha256()
    for key in cube.keys:
        found.update(repr((key.name, str(key.role), key.levels)).encode())
    found.update(cube.codes.tobytes())
    weights = [one.values for one in (cube.weight, cube.squares) if one is not None]
    for counts in (cube.rows, cube.people, *weights):
        found.update(counts.tobytes())
    return found.hexdigest()

"""Provenance of a result: files, settings, SHA-256 of the cube, and the time of the run."""

from __future__ import annotations

import hashlib
import os
from datetime import UTC, date, datetime

from fairaudit.base.errors import UsageError
from fairaudit.base.version import __version__
from fairaudit.counting.counts import Counts
from fairaudit.counting.posterior_draws import Draws
from fairaudit.cube import Cube
from fairaudit.result import Provenance
from fairaudit.spec import Spec, value_of


def describe_provenance(
    spec: Spec, counts: Counts, cube: Cube, draws: Draws | None = None
) -> Provenance:
    """All that a reader needs to run the audit again."""
    return Provenance(
        version=__version__,
        spec_path=spec.path,
        spec_sha256=spec.sha256,
        title=spec.title,
        context=spec.context,
        files=counts.files,
        rows=counts.read,
        route=counts.route,
        cube_sha256=hash_cube(cube),
        filter=value_of(spec.filter),
        count=value_of(spec.count),
        weight=value_of(spec.weight),
        weight_error=counts.weight_error,
        minimum=spec.minimum,
        exclude_below=spec.exclude_below,
        inference=spec.inference,
        created=time_of_run(),
        flags=spec.flags,
        cluster=value_of(spec.cluster),
        sample_strata=value_of(spec.sample_strata),
        clusters=None if cube.clusters is None else cube.clusters.count,
        draws=None if draws is None else draws.path,
        draws_sha256=None if draws is None else draws.sha256,
        profiles=spec.profiles,
        settings=spec.settings,
    )


def describe_positives(spec: Spec) -> dict[str, str]:
    """The positive of each outcome in the words of the spec, such as `label`: `repaid = yes`."""
    return {
        outcome.name: " or ".join(
            f"{outcome.column.value} = {level.value}" for level in outcome.positive
        )
        for outcome in spec.outcomes
        if outcome.positive
    }


def today() -> date:
    """The day in UTC by which waivers expire; SOURCE_DATE_EPOCH does not change it."""
    return _clock().date()


def time_of_run() -> str:
    """The time of the run in UTC; SOURCE_DATE_EPOCH replaces it."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        moment = datetime.fromtimestamp(int(fixed), UTC) if fixed else _clock()
    except (ValueError, OverflowError, OSError) as error:
        what = "SOURCE_DATE_EPOCH is not a number of seconds since 1970"
        raise UsageError(what, "unset it, or set it to a number") from error
    return moment.replace(microsecond=0).isoformat()


def _clock() -> datetime:
    return datetime.now(UTC)


def hash_cube(cube: Cube) -> str:
    """A fingerprint of the counts: equal for equal cubes."""
    fingerprint = hashlib.sha256()
    for key in cube.keys:
        fingerprint.update(repr((key.name, str(key.role), key.levels)).encode())
    fingerprint.update(cube.codes.tobytes())
    weights = [part.values for part in (cube.weight, cube.squares) if part is not None]
    for counts in (cube.rows, cube.people, *weights):
        # Counts beyond 64 bits are Python integers.
        is_large = counts.dtype == object
        fingerprint.update(repr(counts.tolist()).encode() if is_large else counts.tobytes())
    for name, amount in sorted(cube.amounts.items()):
        sums = [(part.values.tolist(), part.scale) for part in amount.sums()]
        fingerprint.update(repr((name, amount.n.tolist(), sums)).encode())
    if cube.clusters is not None:
        strata = cube.clusters.strata
        design = () if strata is None else (strata.of_cluster, strata.units)
        for entries in (cube.clusters.cell, cube.clusters.code, cube.clusters.mass, *design):
            fingerprint.update(entries.tobytes())
    return fingerprint.hexdigest()

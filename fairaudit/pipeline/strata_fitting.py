"""Models of strata (propensity, k-means), fitted to the people of an audit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fairaudit.base.errors import SpecError, UsageError, suggest_known
from fairaudit.base.frozen import replace
from fairaudit.base.names import quoted
from fairaudit.counting.counts import Counts
from fairaudit.counting.strata_models import FittedStrata, StrataModel
from fairaudit.cube import KeyColumn, Rows
from fairaudit.pipeline.recode import Cubes, recode
from fairaudit.rows.fitted_models import fit_clusters, fit_propensity
from fairaudit.spec import ClusterStrata, PropensityStrata, Protected, Spec, spec_to_fit

MOST_FITTED = 100_000
"""The largest number of people that a model is fitted to; beyond, it is fitted to a sample."""

_CAUTION = (
    "The strata are estimated, and intervals and tests take them as given: the error of the model "
    "is not in them"
)


def fit_strata(
    spec: Spec, strata: Sequence[Protected], counts: Counts
) -> Mapping[str, FittedStrata]:
    """The models of strata that have the same features, fitted to the people who were read."""
    cubes = recode(counts, spec_to_fit(spec))
    if cubes.rows is None:
        what = "a model needs rows, which cannot be read from this source"
        raise UsageError(what, "remove the strata from models")
    fitted = {}
    for stratum in strata:
        if isinstance(stratum.model, PropensityStrata):
            fitted[stratum.name] = _fit_propensity(stratum, stratum.model, spec, cubes)
        elif stratum.model is not None:
            fitted[stratum.name] = _fit_clusters(stratum.name, stratum.model, cubes.rows)
    return fitted


def _fit_clusters(name: str, wanted: ClusterStrata, rows: Rows) -> FittedStrata:
    fit = fit_clusters(rows.people.features, wanted.k, wanted.seed)
    parts = [
        f"k-means of {', '.join(rows.features.names)}, seed {wanted.seed}, fitted to {_count(rows)}"
    ]
    if fit.model is None:
        parts.append(f"no clusters: {fit.reason}")
    else:
        sizes = ", ".join(f"{n:,}" for n in fit.people)
        parts.append(f"{len(fit.people)} clusters of {sizes} people")
        parts.append(f"{fit.explained:.0%} of the features' variance lies between clusters")
        parts.append(f"within-cluster sum of squares {fit.within:,.4g}, features standardised")
    return _describe_fit(name, fit.model, parts)


def _fit_propensity(
    stratum: Protected, wanted: PropensityStrata, spec: Spec, cubes: Cubes
) -> FittedStrata:
    rows, place = cubes.rows, cubes.cube.places([wanted.of])[0]
    assert rows is not None
    key = cubes.cube.keys[place]
    people = rows.people
    codes = cubes.cube.codes[rows.cells[people.entries], place]
    known = np.asarray((codes >= 0) & ~np.isin(codes, list(key.unknown)))
    attribute = next(protected for protected in spec.protected if protected.name == wanted.of)
    code, is_group = _choose_group(stratum, wanted, attribute, key, codes)
    member = codes[known] == code if is_group else codes[known] != code
    fit = fit_propensity(people.features.take(known), member, wanted.bins)
    level = key.levels[code]
    names = (level, "others") if is_group else (f"not {level}", level)
    what = f"{wanted.of} = {level}" if is_group else f"{wanted.of} other than {level}"
    features = ", ".join(rows.features.names)
    parts = [f"logistic model of {what} by {features}, fitted to {_count(rows)}"]
    if fit.model is not None:
        edges = ", ".join(f"{edge:.4g}" for edge in fit.model.edges)
        bins = len(fit.model.levels)
        parts.append(f"{bins} strata by its score, from {edges} on" if edges else "one stratum")
        apart = (f"{row.feature} {row.before:.3f} → {row.after:.3f}" for row in fit.balance)
        parts.append(f"standardised mean differences before → within strata: {', '.join(apart)}")
    else:
        parts.append(f"no strata: {fit.reason}")
    if fit.members is not None and fit.others is not None:
        sides = list(zip(names, (fit.members, fit.others), strict=True))
        ranges = (f"{name} {side.low:.4g} to {side.high:.4g}" for name, side in sides)
        parts.append(f"scores {', '.join(ranges)}")
        alone = " and ".join(
            f"{side.without_counterpart:,} of {side.people:,} {name}" for name, side in sides
        )
        parts.append(f"without a counterpart on the other side, and so in no stratum: {alone}")
    balance = tuple(replace(row, stratum=stratum.name) for row in fit.balance)
    return replace(_describe_fit(stratum.name, fit.model, parts), balance=balance)


def _choose_group(
    stratum: Protected,
    wanted: PropensityStrata,
    attribute: Protected,
    key: KeyColumn,
    codes: NDArray[np.int32],
) -> tuple[int, bool]:
    """The code of the level that the model separates, and whether it is the group or the others.

    If there are two levels, the group is the smaller one.
    """
    levels = [level for code, level in enumerate(key.levels) if code not in key.unknown]
    if wanted.group is not None:
        if wanted.group.value not in levels:
            hint = suggest_known(wanted.group.value, levels)
            message = f"{quoted(wanted.group.value)} is not a level of {wanted.of}{hint}"
            raise SpecError([wanted.group.fault(message)])
        return key.levels.index(wanted.group.value), True
    if attribute.reference is not None and attribute.reference.value in levels:
        return key.levels.index(attribute.reference.value), False
    if len(levels) > 2:
        message = (
            f"{stratum.name}: {wanted.of} has {len(levels)} levels, and a propensity compares one "
            f"group with all others: name the group, as in `group: {levels[0]}`, or declare a "
            f"`reference` in columns.protected.{wanted.of}"
        )
        raise SpecError([stratum.column.fault(message)])
    people = np.bincount(codes[codes >= 0], minlength=len(key.levels))
    return min(map(key.levels.index, levels), key=lambda code: int(people[code])), True


def _count(rows: Rows) -> str:
    """How many people a model was fitted to, and how many were left out."""
    n = len(rows.people.entries)
    people = f"{n:,} people"
    if rows.is_sample:
        people = f"a sample of {n:,} of {rows.complete:,} people"
    lacking = rows.audited - rows.complete
    return f"{people} ({lacking:,} lack a feature and are in no stratum)" if lacking else people


def _describe_fit(name: str, model: StrataModel | None, parts: Iterable[str]) -> FittedStrata:
    return FittedStrata(model, f"{name}: {'; '.join(parts)}. {_CAUTION}")

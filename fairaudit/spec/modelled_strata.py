"""Reads strata that models make (`propensity`, `clusters`): features, number, refused keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from fairaudit.base.errors import did_you_mean, suggest_known
from fairaudit.base.frozen import replace
from fairaudit.base.names import quoted
from fairaudit.counting.columns import SimilarityColumns
from fairaudit.metrics.conditional import PROPENSITY_STRATIFIED_DIFFERENCE
from fairaudit.spec import column_schema, schema
from fairaudit.spec.column_model import ClusterStrata, ModelledStrata, PropensityStrata, Protected
from fairaudit.spec.columns import Columns
from fairaudit.spec.entries import Entry
from fairaudit.spec.reading import WORDS
from fairaudit.spec.text import SpecReader

_MOST_STRATA = 20

_Models: TypeAlias = column_schema.StrataModel | column_schema.FactorColumn
_By: TypeAlias = Sequence[Sequence[str]] | None


def add_modelled_strata(reader: SpecReader, shape: schema.AuditSpec, columns: Columns) -> Columns:
    """The columns with the strata that models make."""
    strata: dict[str, Protected] = {}
    for stratum in columns.strata:
        body = shape.columns.strata[stratum.name]
        model = None
        if body.propensity is not None or body.clusters is not None:
            at = reader.at("columns", "strata", stratum.name)
            for key in ("column", "bins", "quantiles"):
                if getattr(body, key) is not None:
                    at.fault((key,), f"strata from a model cannot have `{key}`", key=True)
            model = _read(at, columns, body, None)
        strata[stratum.name] = replace(stratum, model=model)
    for number, entry in enumerate(shape.metrics):
        if entry.given_model is None or not entry.given:
            continue
        at, ((name,), *_) = reader.at("metrics", number, "given"), entry.given
        model = _read(at, columns, entry.given_model, entry.by)
        known = strata.setdefault(name, Protected(name, at.text((), name), model=model))
        if _values(known.model) != _values(model):
            message = f"{quoted(name)} stands for another model already"
            hint = "declare both in columns.strata under different names"
            at.fault((), f"{message}: {hint}", key=True)
    if any(stratum.model is not None for stratum in strata.values()):
        _refuse_company(reader, shape)
    return replace(columns, strata=tuple(strata.values()))


def refuse_other_strata(entry: Entry) -> None:
    """A fault where strata of equal propensity are needed, and others are given."""
    if entry.metric is not PROPENSITY_STRATIFIED_DIFFERENCE:
        return
    modelled = {
        stratum.name
        for stratum in entry.context.columns.strata
        if isinstance(stratum.model, PropensityStrata)
    }
    if any(len(names) != 1 or names[0] not in modelled for names in entry.shape.given or ()):
        message = "compares within strata of equal propensity: set `given: {propensity: {…}}`"
        entry.fault("given", f"{entry.metric.id} {message}")


def _values(model: ModelledStrata | None) -> object:
    """The values that identify a model, without places."""
    if model is None:
        return None
    features = [*model.features.columns]
    if isinstance(model, ClusterStrata):
        return features, model.k, model.seed
    return features, model.of, model.group and model.group.value, model.bins


def _refuse_company(reader: SpecReader, shape: schema.AuditSpec) -> None:
    """Faults of what models of people one by one do not go together with."""
    reasons = {
        "count": "a row that stands for several people",
        "weight": "a weighted sample",
        "cluster": "rows that belong together",
    }
    for key, what in reasons.items():
        is_there = shape.columns.has_counts if key == "count" else getattr(shape.columns, key)
        if is_there:
            message = f"strata from a model do not support {what}: remove one of the two"
            reader.fault(("columns", key), message)
    if shape.suppress_below is not None:
        message = "strata from a model reveal small counts: remove the model or `suppress_below`"
        reader.fault(("suppress_below",), message)


def _read(reader: SpecReader, columns: Columns, body: _Models, by: _By) -> ModelledStrata | None:
    """The one model that a body names; None with a fault."""
    if (body.propensity is None) is (body.clusters is None):
        reader.fault((), "name one model: `propensity` or `clusters`")
        return None
    if body.clusters is not None:
        reader = reader.at("clusters")
        _refuse_number(reader.at("k"), body.clusters.k)
        features = _read_features(reader, columns, body.clusters.features)
        return ClusterStrata(features, body.clusters.k, body.clusters.seed)
    assert body.propensity is not None
    reader, propensity = reader.at("propensity"), body.propensity
    known = [attribute.name for attribute in columns.protected]
    named = {name for names in by or () for name in names if name not in WORDS} or {*known}
    of = propensity.of or (named.pop() if len(named) == 1 else "")
    if not of:
        reader.fault((), f"name the attribute: `of: {known[0]}`" if known else "")
    elif of not in known:
        reader.fault(("of",), f"no protected attribute {quoted(of)}{did_you_mean(of, known)}")
    if propensity.bins is not None:
        _refuse_number(reader.at("bins"), propensity.bins)
    features = _read_features(reader, columns, propensity.features)
    for attribute in columns.protected:
        if attribute.name == of and attribute.column.value in features.columns:
            message = f"{quoted(attribute.column.value)} is {of} itself: leave it out"
            reader.fault(("features",), message)
    return PropensityStrata(of, propensity.group, features, propensity.bins)


def _refuse_number(reader: SpecReader, number: int) -> None:
    if not 2 <= number <= _MOST_STRATA:
        reader.fault((), f"from 2 to {_MOST_STRATA} strata can be compared")


def _read_features(
    reader: SpecReader, columns: Columns, names: Sequence[str] | None
) -> SimilarityColumns:
    """The features that are named, or all that are declared."""
    declared = columns.similarity
    known = declared.columns
    if not known:
        message = "a model needs features: add `features: {numeric: […], categorical: […]}`"
        reader.fault((), f"{message} in columns", key=True)
    elif names is not None and not names:
        reader.fault(("features",), "name at least one feature")
    for index, name in enumerate(names or ()):
        if known and name not in known:
            hint = suggest_known(name, known)
            reader.fault(("features", index), f"unknown feature: {name!r}{hint}")
    return declared if names is None else declared.only(names)

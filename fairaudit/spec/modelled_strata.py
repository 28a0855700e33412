"""Reads strata that models make (`propensity`, `clusters`): features, number, refused keys."""

from __future__ import annotations

from collections.abc import Sequence

from fairaudit.base.errors import did_you_mean, suggest_known
from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.names import quoted
from fairaudit.counting.columns import SimilarityColumns
from fairaudit.metrics.conditional import PROPENSITY_STRATIFIED_DIFFERENCE
from fairaudit.spec import column_schema, schema
from fairaudit.spec.column_model import ClusterStrata, ModelledStrata, PropensityStrata, Protected
from fairaudit.spec.columns import Columns
from fairaudit.spec.fields import WORDS
from fairaudit.spec.metric_lookup import Entry
from fairaudit.spec.text import Draft, Path

_MOST_STRATA = 20


def add_modelled_strata(draft: Draft, shape: schema.AuditSpec, columns: Columns) -> Columns:
    """The columns with the strata that models make."""
    reader = _Reader(draft, columns)
    strata: dict[str, Protected] = {}
    for stratum in columns.strata:
        body = shape.columns.strata[stratum.name]
        path: Path = ("columns", "strata", stratum.name)
        strata[stratum.name] = replace(stratum, model=reader.read_declared(path, body))
    for number, entry in enumerate(shape.metrics):
        if entry.given_model is None or not entry.given:
            continue
        path, ((name,), *_) = ("metrics", number, "given"), entry.given
        model = reader.read(path, entry.given_model, entry.by)
        known = strata.setdefault(name, Protected(name, draft.text(path, name), model=model))
        if _values(known.model) != _values(model):
            message = f"{quoted(name)} stands for another model already"
            hint = "declare both in columns.strata, each under a name of its own"
            draft.fault(path, f"{message}: {hint}", key=True)
    if any(stratum.model is not None for stratum in strata.values()):
        _refuse_company(draft, shape)
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
        message = "looks within strata of equal propensity: say `given: {propensity: {…}}`"
        entry.fault("given", f"{entry.metric.id} {message}")


def _values(model: ModelledStrata | None) -> object:
    """What a model is, wherever it is written."""
    if model is None:
        return None
    features = [*model.features.columns]
    if isinstance(model, ClusterStrata):
        return features, model.k, model.seed
    return features, model.of, model.group and model.group.value, model.bins


def _refuse_company(draft: Draft, shape: schema.AuditSpec) -> None:
    """Faults of what models of people one by one do not go together with."""
    reasons = {
        "count": "a row that stands for several people",
        "weight": "a weighted sample",
        "cluster": "rows that belong together",
    }
    for key, what in reasons.items():
        is_there = shape.columns.has_counts if key == "count" else getattr(shape.columns, key)
        if is_there:
            message = f"strata that a model makes are not fitted to {what}: leave out one of both"
            draft.fault(("columns", key), message)
    if shape.suppress_below is not None:
        message = (
            "strata that a model makes tell numbers of few people: leave out the model, or "
            "`suppress_below`"
        )
        draft.fault(("suppress_below",), message)


class _Reader(Frozen):
    """Reads models: of which attribute, and by which of the declared features."""

    draft: Draft
    columns: Columns

    def read_declared(self, path: Path, body: column_schema.FactorColumn) -> ModelledStrata | None:
        """The model of a declared factor, where it has one."""
        if body.propensity is None and body.clusters is None:
            return None
        for key in ("column", "bins", "quantiles"):
            if getattr(body, key) is not None:
                message = f"strata that a model makes have no `{key}` of their own"
                self.draft.fault((*path, key), message, key=True)
        return self.read(path, body, None)

    def read(
        self, path: Path, body: column_schema.StrataModel, by: Sequence[Sequence[str]] | None
    ) -> ModelledStrata | None:
        """The one model that a body names; None with a fault."""
        if (body.propensity is None) is (body.clusters is None):
            self.draft.fault(path, "name one model: `propensity` or `clusters`")
            return None
        if body.clusters is not None:
            where: Path = (*path, "clusters")
            self._refuse_number((*where, "k"), body.clusters.k)
            features = self._read_features(where, body.clusters.features)
            return ClusterStrata(features, body.clusters.k, body.clusters.seed)
        assert body.propensity is not None
        return self._read_propensity((*path, "propensity"), body.propensity, by)

    def _read_propensity(
        self, path: Path, body: column_schema.PropensityStrata, by: Sequence[Sequence[str]] | None
    ) -> PropensityStrata:
        known = [attribute.name for attribute in self.columns.protected]
        named = {name for names in by or () for name in names if name not in WORDS} or {*known}
        of = body.of or (named.pop() if len(named) == 1 else "")
        if not of:
            self.draft.fault(path, f"say of which attribute: `of: {known[0]}`" if known else "")
        elif of not in known:
            hint = did_you_mean(of, known)
            self.draft.fault((*path, "of"), f"no protected attribute {quoted(of)}{hint}")
        self._refuse_number((*path, "bins"), body.bins)
        features = self._read_features(path, body.features)
        for attribute in self.columns.protected:
            if attribute.name == of and attribute.column.value in features.columns:
                message = f"{quoted(attribute.column.value)} is {of} itself: leave it out"
                self.draft.fault((*path, "features"), message)
        group = self.draft.optional((*path, "group"), body.group)
        return PropensityStrata(of, group, features, body.bins)

    def _refuse_number(self, path: Path, number: int) -> None:
        if not 2 <= number <= _MOST_STRATA:
            self.draft.fault(path, f"from 2 to {_MOST_STRATA} strata can be compared")

    def _read_features(self, path: Path, names: Sequence[str] | None) -> SimilarityColumns:
        """The features that are named, or all that are declared."""
        declared = self.columns.similarity
        known = declared.columns
        if not known:
            message = "a model needs features: `features: {numeric: […], categorical: […]}`"
            self.draft.fault(path, f"{message} in columns", key=True)
        elif names is not None and not names:
            self.draft.fault((*path, "features"), "name at least one feature")
        for index, name in enumerate(names or ()):
            if known and name not in known:
                hint = suggest_known(name, known)
                self.draft.fault((*path, "features", index), f"no such feature: {name!r}{hint}")
        return declared if names is None else declared.only(names)

"""Validates a spec against its keys; messages: unknown key, wrong type, keys of other tools."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import get_args

from fairaudit.base.errors import Fault, Faults, SpecError, did_you_mean
from fairaudit.base.frozen import Frozen
from fairaudit.spec.fields import GIVEN_MODEL
from fairaudit.spec.schema import AuditSpec
from fairaudit.spec.shape import AnyShape, Kind, Misfit, Shape, read_shape
from fairaudit.spec.text import ALIASED, Document, Path, Tree

_MEANT: dict[str, dict[str, str]] = {
    "AuditSpec": {
        **dict.fromkeys(("alpha", "confidence", "level"), "inference: {confidence: 0.95}"),
        "correction": "inference: {correction: holm}",
        "min_size": "groups: {min_size: 30}",
        "checks": "metrics",
        "baseline": "run SPEC --baseline main.json",
        **{key: f"defaults: {{{key}: …}}" for key in ("fail", "warn", "reference", "average")},
    },
    "Metric": {
        **dict.fromkeys(("threshold", "limit", "min", "minimum"), 'fail: "< 0.8"'),
        **dict.fromkeys(("max", "maximum"), 'fail: "> 0.1"'),
        **dict.fromkeys(("groups", "group", "group_by", "attributes"), "by"),
        **dict.fromkeys(("condition", "conditional", "control", "within", "strata"), "given"),
        **dict.fromkeys(("thresholds", "cut"), "at"),
        **dict.fromkeys(("title", "label"), "name"),
        **dict.fromkeys(("description", "reason", "comment"), "why"),
        "responsible": "owner",
        "min_size": "groups: {min_size: 30}",
        "min_events": "groups: {min_events: 5}",
        "baseline": "reference",
    },
    "Bound": {
        **dict.fromkeys(("min", "minimum", "at_least"), "below: 0.8, which smaller values cross"),
        **dict.fromkeys(("max", "maximum", "at_most"), "above: 0.1, which larger values cross"),
    },
    "OutcomeColumn": {
        "top": "positive: {top: 10%}",
        "count": "columns: {count: n}",
        **dict.fromkeys(("threshold", "cut", "at_least"), "positive: {at_least: 0.5}"),
        "at_most": "positive: {at_most: 3}",
        **dict.fromkeys(("above", "below"), "positive: {above: 3}"),
    },
    "Simpson": {
        **dict.fromkeys(("strata", "condition", "within"), "given"),
        "search": "columns: {strata: [department, …]}",
    },
    "Positive": {
        **dict.fromkeys(("min", "threshold", "from"), "at_least"),
        **dict.fromkeys(("max", "to"), "at_most"),
    },
    "LevelColumn": {
        **dict.fromkeys(("values", "categories", "allowed"), "levels"),
        **dict.fromkeys(("cut", "cuts", "edges", "breaks"), "bins"),
        **dict.fromkeys(("rename", "names", "codes", "map"), "labels: {F: women}"),
        **dict.fromkeys(("columns", "join"), "combine: [race, ethnicity]"),
        **dict.fromkeys(("born", "birth_date", "date_of_birth"), "from: birth_date"),
        **dict.fromkeys(("drop", "exclude"), "keep: […], the levels that stay"),
        **dict.fromkeys(("missing", "na"), "unknown"),
    },
    "Expected": {"min_rows": "rows: {at_least: 500}", "max_rows": "rows: {at_most: 500}"},
    "ExpectedRows": {
        **dict.fromkeys(("min", "minimum"), "at_least"),
        **dict.fromkeys(("max", "maximum"), "at_most"),
    },
    "MissingRules": {**dict.fromkeys(("unknown", "values", "codes"), "tokens")},
}
"""What is meant by words that other tools have for a key, by the shape that has it."""

_SUCH_AS = {
    "merge": "{Other: [Asian, Native]}",
    "labels": "{F: women, M: men}",
    "counts": "{selected: n_selected, total: n}",
    "rule": "{Hispanic: {ethnicity: Hispanic or Latino}}",
    "defaults": '{fail: "< 0.8"}',
    "expect": "{rows: {at_least: 500}}",
    "filter": "race = 'White'",
    "compare": "ratio",
}
"""What a key takes, where something else was written."""

_NO_VALUE = "this key has no value: add one or remove the key"
_UNWRITTEN = {("Metric", GIVEN_MODEL), ("Positive", "values"), ("FeatureColumn", "names")}
"""Fields that shorthand becomes, and nobody writes."""

_NAMED = {("columns", name) for name in ("protected", "strata", "features")}
"""Mappings of columns, of which some are only named."""

_STAND_IN: Tree = {"metric": "differential_fairness"}
"""What stands for an entry of `metrics` that is faulty, while the others are looked at."""


class Validated(Frozen):
    """A validated spec; with faults, what is left of it without the faulty parts.

    `skipped` are the numbers of the entries of `metrics` that are faulty: they hold a stand-in.
    """

    spec: AuditSpec
    faults: tuple[Fault, ...] = ()
    skipped: frozenset[int] = frozenset()


def validate(document: Document) -> Validated:
    """The spec as its shape, with every fault of it, located.

    Raises `SpecError` where too little is left to go on: where the columns are not described.
    """
    written = document.tree
    if isinstance(written, dict):  # keys such as `x-limits` hold what merge keys (`<<`) refer to
        written = {name: body for name, body in written.items() if not name.startswith(ALIASED)}
    empty: list[Path] = []
    given = _prune(written, empty)
    faults = Faults()
    faults += (document.fault(path, _NO_VALUE, key=True) for path in empty)
    spec, misfits = _read(AuditSpec, given)
    # An empty key is told once: it is not missing, too.
    misfits = [misfit for misfit in misfits if misfit.path not in empty]
    if spec is not None:
        return Validated(spec, tuple(faults), _entries(empty))
    faults += _faults(document, misfits)
    tree, skipped = _without(given, [misfit.path for misfit in misfits])
    spec, _ = _read(AuditSpec, tree)
    if spec is None:
        raise SpecError(faults)
    return Validated(spec, tuple(faults), skipped | _entries(empty))


def validate_entries(
    document: Document, shape: type[AnyShape]
) -> tuple[dict[int, AnyShape], list[Fault]]:
    """The sound entries of a document that is a list, by their number, and every fault."""
    if not isinstance(document.tree, list):
        return {}, [document.fault((), f"expected a list, found {_kind_of(document.tree)}")]
    entries: dict[int, AnyShape] = {}
    faults = Faults()
    for number, tree in enumerate(document.tree):
        empty: list[Path] = []
        given = _prune(tree, empty, (number,))
        faults += (document.fault(path, "this key has no value", key=True) for path in empty)
        entry, misfits = _read(shape, given, (number,))
        told = [misfit for misfit in misfits if misfit.path not in empty]
        faults += _faults(document, told, shape)
        if entry is not None and not empty:
            entries[number] = entry
    return entries, faults


def _read(
    shape: type[AnyShape], tree: Tree, path: Path = ()
) -> tuple[AnyShape | None, list[Misfit]]:
    """A tree as its shape, or None and what does not fit."""
    misfits: list[Misfit] = []
    value = read_shape(shape, tree, path, misfits)
    return (None if misfits else value), misfits


def _prune(tree: Tree, empty: list[Path], path: Path = ()) -> Tree:
    """The tree without the keys that have no value, which are added to `empty`.

    A column that is only named needs none.
    """
    if isinstance(tree, list):
        return [_prune(body, empty, (*path, number)) for number, body in enumerate(tree)]
    if not isinstance(tree, dict):
        return tree
    kept = {}
    for name, body in tree.items():
        inner = (*path, name)
        if body is None and path not in _NAMED:
            empty.append(inner)
        else:
            kept[name] = _prune(body, empty, inner)
    return kept


def _entries(paths: Sequence[Path]) -> frozenset[int]:
    """The numbers of the entries of `metrics` that these paths lie in."""
    inside = (path[1] for path in paths if len(path) > 1 and path[0] == "metrics")
    return frozenset(number for number in inside if isinstance(number, int))


def _without(tree: Tree, paths: Sequence[Path]) -> tuple[Tree, frozenset[int]]:
    """The tree without its faulty parts, but for `columns`, on which all else rests."""
    if not isinstance(tree, dict):
        return tree, frozenset()
    skipped = _entries(paths)
    dropped = {path[0] for path in paths} - {"columns", "metrics"}
    sound = {name: body for name, body in tree.items() if name not in dropped}
    entries = sound.get("metrics")
    if isinstance(entries, list):
        sound["metrics"] = [
            _STAND_IN if number in skipped else entry for number, entry in enumerate(entries)
        ]
    return sound, skipped


def _faults(
    document: Document, misfits: Sequence[Misfit], root: type[Shape] = AuditSpec
) -> Iterator[Fault]:
    typos = [misfit.path for misfit in misfits if misfit.kind is Kind.UNKNOWN_KEY]
    for misfit in misfits:
        *parent, key = misfit.path or ("",)
        beside = [typo[-1] for typo in typos if typo[:-1] == (*parent,)]
        # A missing key is explained by a mistyped one beside it.
        is_mistyped = any(did_you_mean(str(typo), [str(key)]) for typo in beside)
        if misfit.kind is not Kind.MISSING_KEY or not is_mistyped:
            yield _fault(document, misfit, root)


def _fault(document: Document, misfit: Misfit, root: type[Shape]) -> Fault:
    path = tuple("given" if step == GIVEN_MODEL else step for step in misfit.path)
    match misfit.kind:
        case Kind.UNKNOWN_KEY:
            return document.fault(path, _unknown_key(misfit.path, root), key=True)
        case Kind.MISSING_KEY:
            return document.fault(path[:-1], f"`{path[-1]}` is missing")
        case Kind.REFUSED:
            return document.fault(path, *misfit.words)
        case Kind.NO_CHOICE:
            known = misfit.words
            word = misfit.value if isinstance(misfit.value, str) else "something else"
            message = f"{word!r} is not one of {', '.join(known)}{did_you_mean(word, known)}"
            return document.fault(path, message)
    example = next((_SUCH_AS[str(key)] for key in path[:-3:-1] if key in _SUCH_AS), None)
    what = f"{misfit.kind}, such as `{example}`" if example else str(misfit.kind)
    return document.fault(path, f"expected {what}, found {_kind_of(misfit.value)}")


def _kind_of(value: object) -> str:
    match value:
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case str():
            return "a text"
        case _:
            return "nothing"


def _unknown_key(path: Path, root: type[Shape]) -> str:
    shape = _shape_at(path[:-1], root)
    key = str(path[-1])
    known = _keys_of(shape)
    meant = [_MEANT.get(parent.__name__, {}).get(key) for parent in shape.__mro__]
    if word := next(filter(None, meant), None):
        return f"unknown key; say `{word}`"
    if key in _keys_of(root):
        return "unknown key; it belongs at the top of the spec"
    if key in _keys_of(_shape_at(("columns",), root)):
        return "unknown key; it belongs under `columns`"
    return f"unknown key{did_you_mean(key, known) or '; known here: ' + ', '.join(known)}"


def _keys_of(shape: type[Shape]) -> list[str]:
    return [key for key in shape.declared if (shape.__name__, key) not in _UNWRITTEN]


def _shape_at(path: Path, shape: type[Shape]) -> type[Shape]:
    """The shape that a path leads to, from the one at its root."""
    for step in path:
        field = shape.declared.get(str(step))
        shape = (field and _inner_shape(field.annotation)) or shape
    return shape


def _inner_shape(annotation: object) -> type[Shape] | None:
    if isinstance(annotation, type) and issubclass(annotation, Shape):
        return annotation
    shapes = map(_inner_shape, get_args(annotation))
    return next((shape for shape in shapes if shape is not None), None)

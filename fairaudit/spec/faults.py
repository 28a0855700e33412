"""Validates a spec against its keys; messages: unknown key, wrong type, keys of other tools.

What pydantic reports is put in words here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from fairaudit.errors import Fault, SpecError, did_you_mean
from fairaudit.frozen import Frozen
from fairaudit.spec.fields import GIVEN_MODEL
from fairaudit.spec.schema import AuditSpec
from fairaudit.spec.text import Document, Path, Tree

_MEANT: dict[str, dict[str, str]] = {
    "AuditSpec": {
        **dict.fromkeys(("alpha", "confidence", "level"), "inference: {confidence: 0.95}"),
        "correction": "inference: {correction: holm}",
        "min_size": "groups: {min_size: 30}",
        "checks": "metrics",
        "baseline": "run SPEC --baseline main.json",
    },
    "Metric": {
        **dict.fromkeys(("threshold", "limit", "min", "max"), 'fail: "< 0.8"'),
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

_NO_VALUE = "this key has no value: write one, or leave the key out"
_UNWRITTEN = {("Metric", GIVEN_MODEL), ("Positive", "values"), ("FeatureColumn", "names")}
"""Fields that shorthand becomes, and nobody writes."""

_NAMED = {("columns", name) for name in ("protected", "strata", "features")}
"""Mappings of columns, of which some are only named."""

Entry = TypeVar("Entry", bound=BaseModel)

_STAND_IN: Tree = {"metric": "differential_fairness"}
"""What stands for an entry of `metrics` that is faulty, while the others are looked at."""


class Shape(Frozen):
    """A validated spec; with faults, what is left of it without the faulty parts.

    `skipped` are the numbers of the entries of `metrics` that are faulty: they hold a stand-in.
    """

    spec: AuditSpec
    faults: tuple[Fault, ...] = ()
    skipped: frozenset[int] = frozenset()


def validate(document: Document) -> Shape:
    """The spec as a model, with every fault of its shape, located.

    Raises `SpecError` where too little is left to go on: where the columns are not described.
    """
    written = _without_anchors(document.tree)
    empty = list(_empty_keys(written))
    faults = [document.fault(path, _NO_VALUE, key=True) for path in empty]
    given = _pruned(written, set(empty))
    try:
        return Shape(AuditSpec.model_validate(given), tuple(faults), _entries(empty))
    except ValidationError as error:
        errors = error.errors()
    faults += _faults(document, errors)
    tree, skipped = _without(given, [error["loc"] for error in errors])
    try:
        return Shape(AuditSpec.model_validate(tree), tuple(faults), skipped | _entries(empty))
    except ValidationError:
        raise SpecError(faults) from None


def validate_entries(
    document: Document, model: type[Entry]
) -> tuple[dict[int, Entry], list[Fault]]:
    """The sound entries of a document that is a list, by their number, and every fault."""
    if not isinstance(document.tree, list):
        return {}, [document.fault((), f"expected a list, found {_kind_of(document.tree)}")]
    entries: dict[int, Entry] = {}
    faults: list[Fault] = []
    for number, tree in enumerate(document.tree):
        empty = list(_empty_keys(tree, (number,)))
        faults += [document.fault(path, "this key has no value", key=True) for path in empty]
        try:
            entry = model.model_validate(_pruned(tree, set(empty), (number,)))
        except ValidationError as error:
            errors = [{**line, "loc": (number, *line["loc"])} for line in error.errors()]
            # An empty key is told once: it is not missing, too.
            faults += _faults(
                document, [line for line in errors if line["loc"] not in empty], model
            )
        else:
            if not empty:
                entries[number] = entry
    return entries, faults


def _without_anchors(tree: Tree) -> Tree:
    """The tree without keys such as `x-limits`, which hold what merge keys (`<<`) refer to."""
    if not isinstance(tree, dict):
        return tree
    return {name: body for name, body in tree.items() if not name.startswith("x-")}


def _empty_keys(tree: Tree, path: Path = ()) -> Iterator[Path]:
    """The keys without a value; a column that is only named needs none."""
    if isinstance(tree, dict):
        for name, body in tree.items():
            inner = (*path, name)
            if body is None and path not in _NAMED:
                yield inner
            else:
                yield from _empty_keys(body, inner)
    elif isinstance(tree, list):
        for number, body in enumerate(tree):
            yield from _empty_keys(body, (*path, number))


def _pruned(tree: Tree, empty: set[Path], path: Path = ()) -> Tree:
    """The tree without its empty keys."""
    if isinstance(tree, dict):
        return {
            name: _pruned(body, empty, (*path, name))
            for name, body in tree.items()
            if (*path, name) not in empty
        }
    if isinstance(tree, list):
        return [_pruned(body, empty, (*path, number)) for number, body in enumerate(tree)]
    return tree


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
    document: Document,
    errors: Sequence[Any],  # pydantic's error dicts
    root: type[BaseModel] = AuditSpec,
) -> list[Fault]:
    """The faults that pydantic found, in our words."""
    typos = [error["loc"] for error in errors if error["type"] == "extra_forbidden"]
    return [_fault(document, error, root) for error in errors if not _explained(error, typos)]


def _explained(error: Any, typos: Sequence[Path]) -> bool:  # noqa: ANN401  # pydantic's error dict
    """Whether a missing key is explained by a mistyped one beside it."""
    path = error["loc"]
    return error["type"] == "missing" and any(
        typo[:-1] == path[:-1] and did_you_mean(str(typo[-1]), [str(path[-1])]) for typo in typos
    )


def _fault(
    document: Document,
    error: Any,  # noqa: ANN401  # pydantic's error dict
    root: type[BaseModel],
) -> Fault:
    read: Path = tuple(error["loc"])
    path = tuple("given" if step == GIVEN_MODEL else step for step in read)
    kind, context = error["type"], error.get("ctx", {})
    if kind == "extra_forbidden":
        return document.fault(path, _unknown_key(read, root), key=True)
    if kind == "missing":
        return document.fault(path[:-1], f"`{path[-1]}` is missing")
    if kind in {"literal_error", "enum"}:
        known = context["expected"].replace("'", "").replace(" or ", ", ").split(", ")
        word = error["input"] if isinstance(error["input"], str) else "something else"
        message = f"{word!r} is not one of {', '.join(known)}{did_you_mean(word, known)}"
        return document.fault(path, message)
    if kind == "value_error":
        return document.fault(path, str(context["error"]))
    expected = {"dict_type": "a mapping", "list_type": "a list", "model_type": "a mapping"}
    what = expected.get(kind, "a text")
    example = next((_SUCH_AS[str(key)] for key in path[:-3:-1] if key in _SUCH_AS), None)
    what += f", such as `{example}`" if example else ""
    return document.fault(path, f"expected {what}, found {_kind_of(error['input'])}")


def _kind_of(tree: Tree) -> str:
    match tree:
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case str():
            return "a text"
        case _:
            return "nothing"


def _unknown_key(path: Path, root: type[BaseModel]) -> str:
    model = _model_at(path[:-1], root)
    key = str(path[-1])
    known = _keys_of(model)
    meant = [_MEANT.get(shape.__name__, {}).get(key) for shape in model.__mro__]
    if word := next(filter(None, meant), None):
        return f"unknown key; say `{word}`"
    if home := _home_of(key, root):
        return f"unknown key; it stands {home}"
    return f"unknown key{did_you_mean(key, known) or '; known here: ' + ', '.join(known)}"


def _keys_of(model: type[BaseModel]) -> list[str]:
    return [
        field.alias or name
        for name, field in model.model_fields.items()
        if (model.__name__, name) not in _UNWRITTEN
    ]


def _home_of(key: str, root: type[BaseModel]) -> str | None:
    """Where a key stands that is a section of the spec, or a column of it."""
    if key in _keys_of(root):
        return "at the top of the spec"
    return "under `columns`" if key in _keys_of(_model_at(("columns",), root)) else None


def _model_at(path: Path, model: type[BaseModel]) -> type[BaseModel]:
    """The model that a path leads to, from a model at its root."""
    for step in path:
        if isinstance(step, str) and step in model.model_fields:
            model = _inner_model(model.model_fields[step].annotation) or model
    return model


def _inner_model(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    models = map(_inner_model, get_args(annotation))
    return next((model for model in models if model is not None), None)

"""Checks the keys and types of a spec and of its file of waivers; reads the waivers."""

# Annotations are evaluated, because they define how an entry of a file of waivers is read.

from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path as FilePath
from typing import Annotated, get_args

from fairaudit.base import inputs
from fairaudit.base.errors import Fault, Faults, SpecError, did_you_mean
from fairaudit.base.frozen import Frozen, fields
from fairaudit.base.names import quoted
from fairaudit.cube import Group
from fairaudit.judge import AnyCheck, ReversalCheck, SubgroupCheck
from fairaudit.judge.waivers import Waiver
from fairaudit.spec.model import Spec
from fairaudit.spec.reading import KINDS, Form, Kind, Record, SchemaError, Words, read_record
from fairaudit.spec.schema import AuditSpec
from fairaudit.spec.text import ALIASED, UNWRITTEN, Document, LocatedText, Path, Tree, read

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
    "Missing": {**dict.fromkeys(("unknown", "values", "codes"), "tokens")},
}
"""For each record, keys that users know from other tools, and what to write instead."""

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
"""Example values of keys, for messages about wrong types."""

_NO_VALUE = "this key has no value: add a value or remove the key"
_NAMED = {("columns", name) for name in ("protected", "strata", "features")}
"""Mappings whose keys (names of columns) need no value."""

_STAND_IN: Tree = {"metric": "differential_fairness"}
"""A valid entry that replaces faulty entries of `metrics` while other entries are checked."""


def validate(document: Document, faults: list[Fault]) -> tuple[AuditSpec, frozenset[int]]:
    """The record of a spec without faulty parts, and the numbers of faulty entries of `metrics`.

    Adds all faults. A valid entry (`_STAND_IN`) replaces each faulty entry. Raises `SpecError` if
    `columns` is faulty, because all other parts depend on it.
    """
    written = document.tree
    if isinstance(written, dict):  # keys such as `x-limits` only hold values for aliases
        written = {name: body for name, body in written.items() if not name.startswith(ALIASED)}
    empty: list[Path] = []
    given = _prune(written, empty)
    faults += (document.fault(path, _NO_VALUE, key=True) for path in empty)
    spec, errors = _read(AuditSpec, document, given)
    # A key without a value is reported once, and not as a missing key as well.
    errors = [error for error in errors if error.path not in empty]
    if spec is not None:
        return spec, _entries(empty)
    faults += _faults(document, errors)
    paths = [error.path for error in errors]
    skipped = _entries(paths)
    if isinstance(given, dict):
        # All other parts need `columns`, so its faulty parts are not removed.
        dropped = {path[0] for path in paths} - {"columns", "metrics"}
        given = {name: body for name, body in given.items() if name not in dropped}
        entries = given.get("metrics")
        if isinstance(entries, list):
            given["metrics"] = [
                _STAND_IN if number in skipped else entry for number, entry in enumerate(entries)
            ]
    spec, _ = _read(AuditSpec, document, given)
    if spec is None:
        raise SpecError(faults)
    return spec, skipped | _entries(empty)


def _read(
    shape: type[Record], document: Document, tree: Tree, path: Path = ()
) -> tuple[Record | None, list[SchemaError]]:
    """The record of a tree (None if it has errors), and the errors."""
    errors: list[SchemaError] = []
    value = read_record(shape, tree, path, document, errors)
    return (None if errors else value), errors


def _prune(tree: Tree, empty: list[Path], path: Path = ()) -> Tree:
    """The tree without keys that have no value. Adds the paths of these keys to `empty`."""
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
    """The numbers of the entries of `metrics` that contain these paths."""
    inside = (path[1] for path in paths if len(path) > 1 and path[0] == "metrics")
    return frozenset(number for number in inside if isinstance(number, int))


def _faults(
    document: Document, errors: Sequence[SchemaError], root: type[Frozen] = AuditSpec
) -> Iterator[Fault]:
    typos = [error.path for error in errors if error.kind is Kind.UNKNOWN_KEY]
    for error in errors:
        *parent, key = error.path or ("",)
        beside = [typo[-1] for typo in typos if typo[:-1] == (*parent,)]
        # If a mistyped key next to the missing key is the cause, only the typo is reported.
        is_mistyped = any(did_you_mean(str(typo), [str(key)]) for typo in beside)
        if error.kind is Kind.MISSING_KEY and is_mistyped:
            continue
        path = error.path
        match error.kind:
            case Kind.UNKNOWN_KEY:
                shape = _record_at(path[:-1], root)
                meant = [_MEANT.get(parent.__name__, {}).get(str(key)) for parent in shape.__mro__]
                hint = did_you_mean(str(key), _keys_of(shape))
                message = f"unknown key{hint or '; known here: ' + ', '.join(_keys_of(shape))}"
                if word := next(filter(None, meant), None):
                    message = f"unknown key; write `{word}`"
                elif key in _keys_of(root):
                    message = "unknown key; it belongs at the top of the spec"
                elif key in _keys_of(_record_at(("columns",), root)):
                    message = "unknown key; it belongs under `columns`"
                yield document.fault(path, message, key=True)
            case Kind.MISSING_KEY:
                yield document.fault(path[:-1], f"`{path[-1]}` is missing")
            case Kind.REFUSED:
                yield document.fault(path, *error.words)
            case Kind.NO_CHOICE:
                known = error.words
                word = error.value if isinstance(error.value, str) else "something else"
                message = f"{word!r} is not one of {', '.join(known)}{did_you_mean(word, known)}"
                yield document.fault(path, message)
            case _:
                example = next((_SUCH_AS[str(key)] for key in path[:-3:-1] if key in _SUCH_AS), "")
                what = f"{error.kind}, such as `{example}`" if example else str(error.kind)
                yield document.fault(path, f"expected {what}, found {KINDS[type(error.value)]}")


def _keys_of(record: type[Frozen]) -> list[str]:
    keys = (field.encode_name for field in fields(record))
    return [key for key in keys if not key.startswith(UNWRITTEN)]


def _record_at(path: Path, record: type[Frozen]) -> type[Frozen]:
    """The type of the record at the end of a path that begins at the type `record`."""
    for step in path:
        types = {field.encode_name: field.type for field in fields(record)}
        inner = map(_inner_record, (types.get(f"{UNWRITTEN}{step}"), types.get(str(step))))
        record = next((found for found in inner if found is not None), record)
    return record


def _inner_record(annotation: object) -> type[Frozen] | None:
    if (
        isinstance(annotation, type)
        and issubclass(annotation, Frozen)
        and annotation is not LocatedText
    ):
        return annotation
    records = map(_inner_record, get_args(annotation))
    return next((record for record in records if record is not None), None)


def _read_group(value: object) -> object:
    """The group as a mapping from columns to levels; `all` becomes an empty mapping."""
    if value == "all":
        return {}
    if not isinstance(value, dict) or not value:
        raise ValueError("expected a level for each column, such as `{gender: F}`, or `all`")
    return value


class _WaiverEntry(Frozen):
    """An entry of a file of waivers."""

    check: Words
    group: Annotated[dict[str, Words], Form(_read_group)]
    reason: Words
    approved_by: Words
    expires: date


def read_waivers(path_text: LocatedText, spec: Spec) -> tuple[Waiver, ...]:
    """The waivers in the file that a spec names by a path relative to it; raises `SpecError`.

    A waiver of an unknown check is allowed, because several specs may share a file.
    """
    path = FilePath(spec.path).parent / path_text.value
    try:
        content = inputs.read(path, inputs.SPEC).decode("utf-8-sig")
    except OSError as error:
        why = error.strerror or str(error)
        raise SpecError([path_text.fault(f"the file {path} cannot be read: {why}")]) from error
    except UnicodeDecodeError as error:
        fault = path_text.fault(f"the file {path} is not UTF-8: save it as UTF-8")
        raise SpecError([fault]) from error
    document = read(content, str(path), "the file of waivers")
    if not isinstance(document.tree, list):
        what = f"expected a list, found {KINDS[type(document.tree)]}"
        raise SpecError([document.fault((), what)])
    faults = Faults()
    checks = {check.id: check for check in spec.checks}
    known = [attribute.name for attribute in spec.protected]
    over = () if spec.subgroups is None else spec.subgroups.over
    waivers: dict[tuple[str, Group], Waiver] = {}
    for number, tree in enumerate(document.tree):
        empty: list[Path] = []
        pruned = _prune(tree, empty, (number,))
        faults += (document.fault(path, _NO_VALUE, key=True) for path in empty)
        entry, errors = _read(_WaiverEntry, document, pruned, (number,))
        told = [error for error in errors if error.path not in empty]
        faults += _faults(document, told, _WaiverEntry)
        if entry is None or empty:
            continue
        group = tuple(sorted(entry.group.items()))
        check = checks.get(entry.check)
        columns = over if isinstance(check, SubgroupCheck) else known
        faults += _find_group_faults(document, number, group, columns, check)
        first = waivers.get((entry.check, group))
        if first is not None and first.place is not None:
            message = f"this check and group are waived twice, first in line {first.place.line}"
            faults.append(document.fault((number,), message))
        place = document.place((number,))
        waivers.setdefault(
            (entry.check, group),
            Waiver(entry.check, group, entry.reason, entry.approved_by, entry.expires, place),
        )
    if faults:
        raise SpecError(faults)
    return tuple(waivers.values())


def _find_group_faults(
    document: Document, number: int, group: Group, known: Sequence[str], check: AnyCheck | None
) -> list[Fault]:
    """The faults of a group that does not name exactly the columns of its check."""
    names = [name for name, _ in group]
    faults = [
        document.fault(
            (number, "group", name),
            f"no protected column {quoted(name)}{did_you_mean(name, known)}",
            key=True,
        )
        for name in names
        if name not in known
    ]
    if faults or check is None or not names:
        return faults
    if isinstance(check, ReversalCheck):
        message = "a check on reversals can only be waived as a whole: use `group: all`"
        return [document.fault((number, "group"), message)]
    # In a search for subgroups, a waiver of a group also waives all subgroups in it.
    if isinstance(check, SubgroupCheck) or set(names) == set(check.by):
        return []
    by = ", ".join(check.by)
    return [
        document.fault(
            (number, "group"),
            f"the check compares groups by {by}: give one level for each of these columns",
        )
    ]

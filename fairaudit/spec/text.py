"""Parses YAML into texts with places; inserts environment variables.

Scalars are kept as texts, so `NO`, `012`, `1e3` and dates need no quotes. Repeated keys, tags, deep
nesting and huge documents are faults.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import count
from pathlib import PurePath
from typing import NamedTuple, TypeAlias

import yaml

from fairaudit.base import inputs, trust
from fairaudit.base.errors import Fault, Faults, Place, Quote, SpecError
from fairaudit.base.frozen import Frozen, field, replace
from fairaudit.base.masking import mask
from fairaudit.result import Profile

Tree: TypeAlias = "str | list[Tree] | dict[str, Tree] | None"
Path: TypeAlias = tuple[str | int, ...]

_MOST_NODES = 50_000
"""The maximum number of keys and values in a spec."""

_DEEPEST = 50
_PLAIN_TAGS = {
    f"tag:yaml.org,2002:{kind}"
    for kind in ("str", "int", "float", "bool", "null", "timestamp", "seq", "map", "value", "merge")
}
_ENVIRONMENT = re.compile(r"\$\{env\.([A-Za-z_][A-Za-z0-9_]*)\}")
_MERGE = "tag:yaml.org,2002:merge"
_ENDLESS = "aliases make this spec endless or huge"
ALIASED = "x-"
"""The prefix of keys that only hold values for aliases."""
UNWRITTEN = "\x7f"
"""The first character of internal keys, which users do not write: see `reading.py`."""
HALF = "this text contains half of a character (of a surrogate pair): write the character itself"

_LONGEST = 1_000
"""The maximum length of a quoted line in a message."""

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*(?: [A-Za-z0-9_.-]+)*")
_WORDS = "true false null yes no on off y n none nan inf"
"""Texts that need no quotes in YAML, and words that need quotes because they have a meaning."""


class LocatedText(Frozen):
    """A text of the spec with its path, its place, and the line that contains it."""

    value: str
    path: str
    place: Place | None
    source: str | None

    def fault(self, message: str) -> Fault:
        """A fault that points at this text."""
        return Fault(message, self.path, self.place, self.source)


class Spot(NamedTuple):
    """The place of a path: its key, its value, and the end of the value."""

    key: Place | None = None
    value: Place | None = None
    end: Place | None = None


class Document(Frozen):
    """A spec as a tree of texts, with `spots` as the places of its paths.

    `others` are the lines of profiles and settings by name. With a profile, `own_metrics` is the
    number of entries of `metrics` in the spec itself. `settings` are the settings of the command
    line. `columns` are the places where the spec names each column of the data.
    """

    name: str
    tree: Tree
    lines: tuple[str, ...] = ()
    spots: dict[Path, Spot] = field(default_factory=dict)
    others: dict[str, tuple[str, ...]] = field(default_factory=dict)
    profiles: tuple[Profile, ...] = ()
    own_metrics: int | None = None
    settings: tuple[str, ...] = ()
    columns: dict[str, list[LocatedText]] = field(default_factory=dict)

    def with_entries(self) -> Document:
        """The document with `metrics` as a list, even if it is a single entry."""
        alone = self.tree.get("metrics") if isinstance(self.tree, dict) else None
        if not isinstance(self.tree, dict) or not isinstance(alone, dict | str):
            return self
        entry = self.spots_below(("metrics",), ("metrics", 0))
        return replace(self, tree={**self.tree, "metrics": [alone]}, spots={**self.spots, **entry})

    def spots_below(self, path: Path, moved: Path) -> dict[Path, Spot]:
        """The places of a path and all paths below it, with `moved` in place of `path`."""
        size = len(path)
        return {(*moved, *at[size:]): spot for at, spot in self.spots.items() if at[:size] == path}

    def is_own(self, path: Path) -> bool:
        """Whether an entry of `metrics` is from the spec itself, and not from a profile."""
        number = path[1] if path[:1] == ("metrics",) and len(path) > 1 else 0
        return self.own_metrics is None or not isinstance(number, int) or number < self.own_metrics

    def place(self, path: Path, *, key: bool = False) -> Place | None:
        """The place of a path or of its nearest parent."""
        spot = self.spots.get(path, _NOWHERE)
        if key and spot.key is not None:
            return spot.key
        above = (self.spots.get(path[:end], _NOWHERE).value for end in range(len(path), -1, -1))
        return next(filter(None, above), None)

    def fault(self, path: Path, message: str, *, key: bool = False) -> Fault:
        """A fault at a path, with its place and source line."""
        place = self.place(path, key=key)
        return Fault(message, written(path), place, self.find_line(place))

    def text(self, path: Path, value: str, *, key: bool = False) -> LocatedText:
        """A text at a path, with its place and source line."""
        spot = self.fault(path, "", key=key)
        return LocatedText(value, spot.path, spot.place, spot.source)

    def column(self, text: LocatedText) -> LocatedText:
        """Keeps the place of a text that names a column, for messages; returns the text."""
        self.columns.setdefault(text.value, []).append(text)
        return text

    def is_written(self, path: Path) -> bool:
        """Whether the document has a key or an entry at a path."""
        return count_steps(self.tree, path) == len(path)

    def find_line(self, place: Place | None) -> str | None:
        """The line at a place: of the spec, of a profile, or of a setting."""
        lines = self.others.get(place.file, self.lines) if place else ()
        return lines[place.line - 1] if place and place.line <= len(lines) else None

    def quote(self, path: Path, keys: Sequence[str] = ()) -> Quote | None:
        """The line that contains a value, and its position; None if the path is not written.

        If a mapping has exactly one of `keys`, the result covers that key and its value.
        """
        inner = [self.spots.get((*path, key), _NOWHERE) for key in keys]
        inner = [spot for spot in inner if spot.end is not None]
        spot = inner[0] if len(inner) == 1 else self.spots.get(path, _NOWHERE)
        start, end = spot.key if len(inner) == 1 else spot.value, spot.end
        if start is None or end is None or start.file != self.name:
            return None  # the place is unknown, or in a profile
        if start.line > len(self.lines):
            return None
        text = self.lines[start.line - 1].rstrip()
        last = end.column if end.line == start.line else len(text) + 1
        last = min(last, len(text) + 1)
        return Quote(start.line, start.column, last, text) if start.column < last else None


_NOWHERE = Spot()


class SpecReader(Frozen):
    """A reader of a spec: the document, and all faults that were found so far."""

    document: Document
    faults: list[Fault] = field(default_factory=Faults)
    path: Path = ()
    """The path of the part of the spec that is read. Methods take paths relative to this part."""

    def at(self, *steps: str | int) -> SpecReader:
        """A reader of the part at these steps, with the same list of faults."""
        return replace(self, path=(*self.path, *steps))

    def fault(self, path: Path, message: str, *, key: bool = False) -> None:
        """Adds a fault at a path. With `key`, the fault points at the key, not at the value."""
        self.faults.append(self.document.fault((*self.path, *path), message, key=key))

    def text(self, path: Path, value: str, *, key: bool = False) -> LocatedText:
        """A text at a path."""
        return self.document.text((*self.path, *path), value, key=key)

    def is_written(self, *steps: str) -> bool:
        """Whether the spec has a key in the part that is read."""
        return self.document.is_written((*self.path, *steps))

    def column(self, path: Path, name: str, *, key: bool = False) -> LocatedText:
        """The name of a column of the data at a path."""
        return self.document.column(self.text(path, name, key=key))

    def texts(self, path: Path, values: Iterable[str] | None) -> tuple[LocatedText, ...]:
        """The texts of a list at a path."""
        return tuple(self.text((*path, number), value) for number, value in enumerate(values or ()))

    def fill_in(self, path: Path, written: str) -> str:
        """A text with `${env.NAME}` replaced; adds faults of variables that are not set or empty.

        With `--untrusted`, each variable is a fault.
        """
        if trust.current_root() is not None:
            for name in dict.fromkeys(_ENVIRONMENT.findall(written)):
                what = f"{trust.OPTION} refuses environment variables: `${{env.{name}}}`"
                self.fault(path, what)
            return written
        text, unset = fill_in_environment(written)
        for name in unset:
            self.fault(path, f"the environment variable {name} is not set, or is empty")
        # A shell writes `${NAME}`.
        for name in re.findall(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}", written):
            self.fault(path, f"write the environment variable {name} as `${{env.{name}}}`")
        return text


def fill_in_environment(text: str) -> tuple[str, list[str]]:
    """A text with each `${env.NAME}` replaced, and the names of unset or empty variables."""
    if trust.current_root() is not None:
        return text, []
    names = dict.fromkeys(_ENVIRONMENT.findall(text))
    unset = [name for name in names if not os.environ.get(name)]
    filled = _ENVIRONMENT.sub(lambda match: os.environ.get(match[1], match[0]), text)
    return filled, unset


def quote(text: str) -> str:
    """A text in YAML notation."""
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS.split():
        return text
    dumped = yaml.safe_dump(text, default_style='"', allow_unicode=True, width=math.inf)
    return str(dumped).rstrip("\n")


def is_broken(text: str) -> bool:
    """Whether a text contains half of a surrogate pair."""
    return not text.isascii() and any("\ud800" <= sign <= "\udfff" for sign in text)


def count_steps(tree: Tree, path: Path) -> int:
    """The number of steps of a path, from its first step, that exist in the tree."""
    for number, step in enumerate(path):
        inner = tree.get(str(step)) if isinstance(tree, dict) else None
        if isinstance(tree, list) and isinstance(step, int):
            inner = tree[step]
        if inner is None:
            return number
        tree = inner
    return len(path)


def written(path: Path) -> str:
    """A path as a person writes it: `metrics[1].fail.below`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text


@lru_cache(maxsize=1)  # a run reads its spec twice: first only for the names of files
def read(text: str, name: str, what: str = "the spec") -> Document:
    """The document of a YAML text; raises `SpecError` for other texts. Faults call it `what`."""
    if len(text) > inputs.SPEC:
        message = f"{what} has {len(text):,} characters, and the maximum is {inputs.SPEC:,}"
        raise SpecError([Fault(message, "", Place(name, 1, 1))])
    # A longer line would make the message unreadable.
    lines = tuple(mask(line)[:_LONGEST] for line in text.splitlines())
    document = Document(name, None, lines)
    try:
        loader = _Loader(text)
        try:
            root = loader.get_single_node()
        except (ValueError, OverflowError) as error:  # the number of an escape is not a character
            why = "an escape names no character"
            raise yaml.MarkedYAMLError(problem=why, problem_mark=loader.get_mark()) from error
        loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        spot = Place(name, mark.line + 1, mark.column + 1) if mark else None
        source = lines[mark.line] if mark and mark.line < len(lines) else None
        problem = error.problem or error.context or ""
        if not isinstance(error, _TooMuchError):
            problem = f"this is not YAML: {problem}; if this is a text, put it in quotes"
        raise SpecError([Fault(problem, "", spot, source)]) from error
    except yaml.reader.ReaderError as error:
        at = error.position
        spot = Place(name, text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at))
        message = f"this is not YAML: it contains the control character U+{ord(text[at]):04X}"
        raise SpecError([Fault(message, "", spot)]) from error
    if root is None:
        raise SpecError([Fault(f"{what} is empty", "", Place(name, 1, 1))])
    faults = Faults()
    tree = _Walk(document, faults).tree(root, (), ())
    if faults:
        raise SpecError(faults)
    return replace(document, tree=tree)


class _TooMuchError(yaml.MarkedYAMLError):
    """A spec is too large or nested too deeply."""


class _Loader(yaml.SafeLoader):
    """A loader that refuses documents that are too large or nested too deeply."""

    nodes = 0
    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]  # its types are bare
        self.nodes += 1
        if self.nodes > _MOST_NODES:
            what = f"over {_MOST_NODES:,} keys and values: the spec is too large"
            raise _TooMuchError(problem=what, problem_mark=mark)
        self.depth += 1
        if self.depth > _DEEPEST:
            what = f"nested more than {_DEEPEST} levels deep"
            raise _TooMuchError(problem=what, problem_mark=mark)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def of_mapping(mapping: Mapping[str, object], name: str) -> Document:
    """The document of a Python mapping: scalars become texts, as in a YAML spec."""
    return Document(name, _as_text(mapping, (), count()))


def _as_text(value: object, path: Path, seen: Iterator[int]) -> Tree:
    if len(path) > _DEEPEST:
        raise SpecError([Fault(f"nested more than {_DEEPEST} levels deep", written(path[:3]))])
    if next(seen) > _MOST_NODES:
        message = f"over {_MOST_NODES:,} values: the spec is too large"
        raise SpecError([Fault(message, written(path[:3]))])
    match value:
        case str() if is_broken(value):
            raise SpecError([Fault(HALF, written(path))])
        case None | str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | float() | Decimal() | PurePath():
            return str(value)
        case Mapping():
            tree = {
                str(key): _as_text(item, (*path, str(key)), seen) for key, item in value.items()
            }
            if len(tree) < len(value):
                raise SpecError([Fault("two keys are the same text", written(path))])
            return tree
        case list() | tuple():
            return [_as_text(item, (*path, number), seen) for number, item in enumerate(value)]
        case _:
            kind = type(value).__name__
            raise SpecError([Fault(f"a spec cannot contain a {kind}", written(path))])


class _Walk:
    """Walks once over the nodes of a YAML document, and collects places and faults."""

    def __init__(self, document: Document, faults: list[Fault]) -> None:
        self.document = document
        self.faults = faults
        self.seen = 0

    def tree(self, node: yaml.Node, path: Path, above: tuple[yaml.Node, ...]) -> Tree:
        """A node as a tree of texts; an alias must not refer to one of its parents (`above`)."""
        place = self.place(node.start_mark)
        self.put(path, value=place, end=self.place(node.end_mark))
        self.seen += 1
        if (
            self.seen > _MOST_NODES
            or len(above) > _DEEPEST
            or any(node is ancestor for ancestor in above)
        ):
            raise SpecError([Fault(_ENDLESS, written(path), place)])
        if node.tag not in _PLAIN_TAGS:
            self.fault(path, f"the tag {node.tag} is not allowed: a spec contains only plain data")
        if isinstance(node, yaml.ScalarNode):
            if is_broken(node.value):
                self.fault(path, HALF)
            empty = node.style is None and node.value in {"", "~", "null"}
            return None if empty else str(node.value)
        above = (*above, node)
        if isinstance(node, yaml.SequenceNode):
            return [
                self.tree(item, (*path, number), above) for number, item in enumerate(node.value)
            ]
        return dict(self.entries(node, path, above))

    def entries(
        self, node: yaml.Node, path: Path, above: tuple[yaml.Node, ...]
    ) -> Iterator[tuple[str, Tree]]:
        """The keys of a mapping with their values; adds faults of repeated keys."""
        first: dict[str, Place] = {}
        for key, value in self.pairs(node, path, above):
            place = self.place(key.start_mark)
            if not isinstance(key, yaml.ScalarNode):
                self.put(path, value=place)
                self.fault(path, "a key must be a text: put it in quotes")
                continue
            name = str(key.value)
            if is_broken(name):
                self.fault(path, HALF)
                continue
            inner = (*path, name)
            if name in first:
                self.put(inner, value=place)
                self.fault(inner, f"the key is defined twice, first in line {first[name].line}")
                continue
            first[name] = place
            self.put(inner, key=place)
            yield name, self.tree(value, inner, above)

    def pairs(
        self, node: yaml.Node, path: Path, above: tuple[yaml.Node, ...]
    ) -> list[tuple[yaml.Node, yaml.Node]]:
        """The keys and values of a mapping, including keys that it gets by merge keys (`<<`)."""
        pairs = [pair for pair in node.value if pair[0].tag != _MERGE]
        names = {key.value for key, _ in pairs if isinstance(key, yaml.ScalarNode)}
        for key, value in node.value:
            if key.tag != _MERGE:
                continue
            for source in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                self.seen += 1
                is_endless = any(source is ancestor for ancestor in above)
                if self.seen > _MOST_NODES or is_endless:
                    where = self.place(key.start_mark)
                    raise SpecError([Fault(_ENDLESS, written(path), where)])
                if not isinstance(source, yaml.MappingNode):
                    self.put((*path, "<<"), value=self.place(key.start_mark))
                    self.fault(
                        (*path, "<<"),
                        "the value of `<<` must be a mapping or a list of mappings: `<<: *name`",
                    )
                    continue
                merged = self.pairs(source, path, (*above, source))
                # Keys that are not texts are reported later.
                texts = {key.value for key, _ in merged if isinstance(key, yaml.ScalarNode)}
                known = names & texts
                pairs += [pair for pair in merged if str(pair[0].value) not in known]
                names |= texts
        return pairs

    def place(self, mark: yaml.Mark) -> Place:
        """The place of a mark; lines and columns are counted from 1."""
        return Place(self.document.name, mark.line + 1, mark.column + 1)

    def put(self, path: Path, **places: Place) -> None:
        """Adds the place of the key, the value or the end of a path."""
        self.document.spots[path] = self.document.spots.get(path, _NOWHERE)._replace(**places)

    def fault(self, path: Path, message: str) -> None:
        self.faults.append(self.document.fault(path, message))

"""`--set`: changes of a spec on the command line.

A setting is a path into the spec, with all that its profile adds, and a value that is read as YAML.
Its faults point into the option, as those of the file point into the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from fairaudit.base.errors import Fault, Place, SpecError, check_type, did_you_mean
from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.inputs import OPTION
from fairaudit.spec.text import (
    ALIASED,
    HALF,
    Document,
    Path,
    Spot,
    Tree,
    count_steps,
    is_broken,
    read,
    written,
)

_STEP = re.compile(r'"(?P<quoted>[^"]+)"|(?P<key>[^.\[\]="]+)|\[(?P<number>\d{1,6})\]')
_EXAMPLE = "metrics[0].fail.below=0.75"
_LONGEST = 20
"""So many steps a path may have: no spec is nested as deep."""
_ELSEWHERE = {
    "data": "say --data",
    "draws": "say --draws",
    "profile": "name the profile in the spec",
    "waivers": "name the file of waivers in the spec",
}
"""Keys that name files, which a run finds before it reads a spec; and what to do instead."""


class _Setting(Frozen):
    """One setting: where each step of its path stands, and its value, from `start` on."""

    place: Place
    text: str
    path: Path
    columns: tuple[int, ...]
    start: int

    def fault(self, message: str, step: int = -1) -> Fault:
        """A fault at a step of the path."""
        place = replace(self.place, column=self.columns[step])
        return Fault(message, written(self.path), place, self.text)

    def read_value(self) -> Document:
        """The value as a tree whose places are those of the option."""
        # Blanks in place of the path: columns are then those of the whole setting.
        try:
            document = read(" " * self.start + self.text[self.start :], OPTION, "the value")
        except SpecError as error:
            place = self.place
            raise SpecError(
                replace(
                    fault,
                    path=written(self.path),
                    place=fault.place and replace(fault.place, line=place.line),
                    source=self.text,
                )
                for fault in error.faults
            ) from error
        line = self.place.line
        spots = {
            path: Spot(key and replace(key, line=line), value and replace(value, line=line))
            for path, (key, value, _) in document.spots.items()
        }
        return replace(document, spots=spots)


def apply_settings(document: Document, settings: Iterable[str]) -> Document:
    """The document with the value of each setting at its path; raises `SpecError` with all faults.

    A later setting stands over an earlier one. Mappings on the way are made where there are none;
    an entry of a list must be there.
    """
    check_type(settings, Iterable, "settings are a list of texts", f"such as [{_EXAMPLE!r}]")
    texts = [settings] if isinstance(settings, str) else [*settings]
    if not isinstance(document.tree, dict):
        return document  # its shape is told where the spec is validated
    faults: list[Fault] = []
    for number, text in enumerate(texts, 1):
        try:
            document = _apply(document, _read(text, number))
        except SpecError as error:
            faults += error.faults
    if faults:
        raise SpecError(faults)
    return replace(document, settings=tuple(texts))


def _read(text: str, number: int) -> _Setting:
    """A setting in its parts; raises `SpecError` where it is none."""
    place = Place(OPTION, number, 1)
    path: list[str | int] = []
    columns: list[int] = []
    at = 0
    while len(path) <= _LONGEST and (match := _STEP.match(text, at)) is not None:
        number_text = match["number"]
        path.append(match["quoted"] or match["key"] if number_text is None else int(number_text))
        columns.append(match.start() + 1)
        at = match.end()
        if text[at : at + 1] == "." and not text[at + 1 :].startswith("["):
            at += 1
        elif text[at : at + 1] != "[":
            break
    spot = replace(place, column=at + 1)
    if is_broken(text):
        raise SpecError([Fault(HALF, "", place)])
    if "\n" in text or "\r" in text:
        raise SpecError([Fault(f"a setting must be one line, such as {_EXAMPLE}", "", place)])
    if len(path) > _LONGEST:
        what = f"a path has at most {_LONGEST} steps"
        raise SpecError([Fault(what, "", spot, text)])
    if not path or isinstance(path[0], int) or text[at : at + 1] != "=":
        what = f"expected a path, `=` and a value, such as {_EXAMPLE}"
        raise SpecError([Fault(what, "", spot, text)])
    setting = _Setting(place, text, tuple(path), tuple(columns), at + 1)
    if str(path[0]).startswith(ALIASED):
        what = f"`{path[0]}` is only used by aliases: set the place where it is used"
        raise SpecError([setting.fault(what, 0)])
    if instead := _ELSEWHERE.get(str(path[0])):
        raise SpecError([setting.fault(f"`{path[0]}` cannot be set here: {instead}", 0)])
    return setting


def _apply(document: Document, setting: _Setting) -> Document:
    """The document with one setting in it."""
    path, line = setting.path, setting.place.line
    has_value = bool(setting.text[setting.start :].strip())
    value = setting.read_value() if has_value else Document(OPTION, None)
    tree = _put(document.tree, setting, value.tree, 0)
    first = count_steps(document.tree, path)
    spots = {at: spot for at, spot in document.spots.items() if at[: len(path)] != path}
    for end, column in enumerate(setting.columns, 1):
        here = path[: end - 1]
        if here in spots:  # no line of the file holds all of it now
            spots[here] = spots[here]._replace(end=None)
        if end > min(first, len(path) - 1):
            step = Place(OPTION, line, column)
            spots[path[:end]] = Spot(step, step)
    start = Place(OPTION, line, min(setting.start + 1, len(setting.text)))
    within = {path: Spot(value=start), **value.spots_below((), path)}
    spots |= {**within, path: within[path]._replace(key=spots[path].key)}
    before = document.others.get(OPTION, ())
    # A setting stands in the line of its number, also where one before it is faulty.
    lines = (*before, *[""] * (line - 1 - len(before)), setting.text)
    others = {**document.others, OPTION: lines}
    document = replace(document, tree=tree, spots=spots, others=others)
    # All entries are asked for where the whole list is.
    return replace(document, own_metrics=None) if path == ("metrics",) else document


def _put(tree: Tree, setting: _Setting, value: Tree, depth: int) -> Tree:
    """A tree with the value at what is left of the path; raises `SpecError` where none leads on."""
    if depth == len(setting.path):
        return value
    step, here = setting.path[depth], written(setting.path[:depth])
    if isinstance(step, int):
        if not isinstance(tree, list):
            what = f"`{here}` is {_describe(tree)}, not a list"
            raise SpecError([setting.fault(what, depth)])
        if step >= len(tree):
            last = f"the last is `{here}[{len(tree) - 1}]`" if tree else "the list is empty"
            raise SpecError([setting.fault(f"unknown entry: {last}", depth)])
        inner = _put(tree[step], setting, value, depth + 1)
        return [*tree[:step], inner, *tree[step + 1 :]]
    if isinstance(tree, list):
        what = f"`{here}` is {_describe(tree)}{_find_entry(tree, here, step)}"
        raise SpecError([setting.fault(what, depth)])
    if isinstance(tree, str):
        what = f"`{here}` is {_describe(tree)}, which has no keys: set the whole value, `{here}=…`"
        raise SpecError([setting.fault(what, depth)])
    entries = {} if tree is None else tree
    return {**entries, step: _put(entries.get(step), setting, value, depth + 1)}


def _describe(tree: Tree) -> str:
    match tree:
        case str():
            return f"the text {tree!r:.60}"
        case list():
            return f"a list of {len(tree)}"
        case dict():
            return "a mapping"
        case _:
            return "not in the spec"


def _find_entry(entries: Sequence[Tree], here: str, name: str) -> str:
    """What to write in place of a name where entries have numbers."""
    for number, entry in enumerate(entries):
        names = [*entry.values()] if isinstance(entry, Mapping) else [entry]
        if name in names:
            return f": say `{here}[{number}]`"
    known = [entry for entry in entries if isinstance(entry, str)]
    hint = did_you_mean(name, known)
    return f", whose entries have numbers: `{here}[0]`{hint}"

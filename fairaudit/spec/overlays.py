"""Overlays of a spec: its profiles, and settings of the command line (`--set`).

A spec overrides its profiles, and settings override the spec. Mappings are merged by key. Lists are
replaced, except `metrics`: entries of spec and profile are joined. Faults of a setting point at a
column of the option.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path as FilePath

from fairaudit.base import inputs
from fairaudit.base.errors import Fault, Place, SpecError, check_type, did_you_mean, suggest_known
from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.inputs import OPTION
from fairaudit.result import Profile
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

_FOLDER = FilePath(__file__).parent / "profiles"
_ABOUT = ("title", "date", "source", "caution")
_OF_A_SPEC = ("profile", "data", "waivers", "draws", "title", "context")
_DEEPEST = 5

_STEP = re.compile(r'"(?P<quoted>[^"]+)"|(?P<key>[^.\[\]="]+)|\[(?P<number>\d{1,6})\]')
_EXAMPLE = "metrics[0].fail.below=0.75"
_LONGEST = 20
"""The maximum number of steps of a path, more than the depth of any spec."""
_ELSEWHERE = {
    "data": "use --data",
    "draws": "use --draws",
    "profile": "name the profile in the spec",
    "waivers": "name the file of waivers in the spec",
}
"""Keys that a run needs before it applies settings, and what to do instead."""


class _Setting(Frozen):
    """A setting: its place among the options, its `text`, and the path and value in this text."""

    place: Place
    text: str
    path: Path
    value: str

    @classmethod
    def parse(cls, text: str, number: int) -> _Setting:
        """The setting in a text; raises `SpecError` if the text is not a setting."""
        place, path, at = Place(OPTION, number, 1), list[str | int](), 0
        while len(path) <= _LONGEST and (match := _STEP.match(text, at)) is not None:
            number_text = match["number"]
            path.append(
                match["quoted"] or match["key"] if number_text is None else int(number_text)
            )
            at = match.end()
            if text[at : at + 1] == "." and not text[at + 1 :].startswith("["):
                at += 1
            elif text[at : at + 1] != "[":
                break
        if is_broken(text):
            raise SpecError([Fault(HALF, "", place)])
        if "\n" in text or "\r" in text:
            raise SpecError([Fault(f"a setting must be one line, such as {_EXAMPLE}", "", place)])
        if len(path) > _LONGEST:
            raise SpecError([Fault(f"a path has at most {_LONGEST} steps", "", place, text)])
        if not path or isinstance(path[0], int) or text[at : at + 1] != "=":
            what = f"expected a path, `=` and a value, such as {_EXAMPLE}"
            raise SpecError([Fault(what, "", place, text)])
        setting = cls(place, text, tuple(path), text[at + 1 :])
        if str(path[0]).startswith(ALIASED):
            what = f"`{path[0]}` only stores values for other keys (aliases): set the other key"
            raise SpecError([setting.fault(what)])
        if instead := _ELSEWHERE.get(str(path[0])):
            raise SpecError([setting.fault(f"`{path[0]}` cannot be set here: {instead}")])
        return setting

    def fault(self, message: str) -> Fault:
        return Fault(message, written(self.path), self.place, self.text)

    def read_value(self) -> Tree:
        """The value as a tree; None if the value is empty."""
        try:
            return read(self.value, OPTION, "the value").tree if self.value.strip() else None
        except SpecError as error:
            raise SpecError(self.fault(fault.message) for fault in error.faults) from error


def apply_settings(document: Document, settings: Iterable[str]) -> Document:
    """The document with the values of all settings; raises `SpecError` with all faults.

    A later setting overrides an earlier setting. Missing mappings on the path are created, but
    entries of a list must exist.
    """
    check_type(settings, Iterable, "settings are a list of texts", f"such as [{_EXAMPLE!r}]")
    texts = [settings] if isinstance(settings, str) else [*settings]
    if not isinstance(document.tree, dict):
        return document  # validation reports it
    faults: list[Fault] = []
    for number, text in enumerate(texts, 1):
        try:
            setting = _Setting.parse(text, number)
            tree = _put(document.tree, setting, setting.read_value(), 0)
        except SpecError as error:
            faults += error.faults
            continue
        path, place = setting.path, setting.place
        first = count_steps(document.tree, path)
        spots = {at: spot for at, spot in document.spots.items() if at[: len(path)] != path}
        # The values above are no longer completely in the file.
        above = {path[:end] for end in range(len(path))} & spots.keys()
        spots |= {at: spots[at]._replace(end=None) for at in above}
        # The option is the place of the value, and of the mappings that the setting creates.
        created = range(min(first + 1, len(path)), len(path) + 1)
        spots |= {path[:end]: Spot(place, place) for end in created}
        before = document.others.get(OPTION, ())
        # The number of a setting is its line, even if an earlier setting is faulty.
        lines = (*before, *[""] * (place.line - 1 - len(before)), setting.text)
        others = {**document.others, OPTION: lines}
        document = replace(document, tree=tree, spots=spots, others=others)
        if path == ("metrics",):  # no entry is from the profile any longer
            document = replace(document, own_metrics=None)
    if faults:
        raise SpecError(faults)
    return replace(document, settings=tuple(texts))


def _put(tree: Tree, setting: _Setting, value: Tree, depth: int) -> Tree:
    """The tree with a value at the path from step `depth`; raises `SpecError` for wrong paths."""
    if depth == len(setting.path):
        return value
    step, here = setting.path[depth], written(setting.path[:depth])
    if isinstance(step, int):
        if not isinstance(tree, list):
            what = f"`{here}` is {_describe(tree)}, not a list"
            raise SpecError([setting.fault(what)])
        if step >= len(tree):
            last = f"the last entry is `{here}[{len(tree) - 1}]`" if tree else "the list is empty"
            raise SpecError([setting.fault(f"this entry does not exist: {last}")])
        inner = _put(tree[step], setting, value, depth + 1)
        return [*tree[:step], inner, *tree[step + 1 :]]
    if isinstance(tree, list):
        # The path must name an entry of a list by its number: suggest the number.
        hint = f", whose entries have numbers: `{here}[0]`"
        hint += did_you_mean(step, [entry for entry in tree if isinstance(entry, str)])
        for number, entry in enumerate(tree):
            if step in ([*entry.values()] if isinstance(entry, Mapping) else [entry]):
                hint = f": write `{here}[{number}]`"
                break
        what = f"`{here}` is {_describe(tree)}{hint}"
        raise SpecError([setting.fault(what)])
    if isinstance(tree, str):
        what = f"`{here}` is {_describe(tree)}, which has no keys: set the whole value, `{here}=…`"
        raise SpecError([setting.fault(what)])
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


def list_profiles() -> list[str]:
    """The names of the built-in profiles."""
    return sorted(path.stem for path in _FOLDER.glob("*.yaml"))


def add_profile(document: Document) -> Document:
    """The document merged with the profile that it names; raises `SpecError`.

    The document overrides the profile. An entry of the profile without a limit is left out if the
    spec has an entry for the same value. Faults in the profile point at its lines. `own_metrics` of
    the document is the number of entries of `metrics` in the spec itself.
    """
    tree = document.tree
    named = tree.get("profile") if isinstance(tree, dict) else None
    if not isinstance(tree, dict) or not isinstance(named, str):
        return document  # validation reports it
    own = replace(document, own_metrics=len(_listed(tree.get("metrics"))))
    for profile, description in _read_all(document, ("profile",), named, ()):
        own, under = own.with_entries(), profile.with_entries()
        assert isinstance(own.tree, dict)
        assert isinstance(under.tree, dict)
        entries, further = _listed(own.tree.get("metrics")), _listed(under.tree.get("metrics"))
        asked = {_identify(entry) for entry in entries}
        is_limited = _has_limit(under.tree.get("defaults"))
        kept = [
            number
            for number, entry in enumerate(further)
            if is_limited or _has_limit(entry) or _identify(entry) not in asked
        ]
        place_of = {number: len(entries) + place for place, number in enumerate(kept)}
        merged = _merge_keys(own.tree, under.tree)
        if kept:
            merged["metrics"] = entries + [further[number] for number in kept]
        spots = {}
        for path, spot in under.spots.items():
            match path:
                case ("metrics", int(number), *rest):
                    if number in place_of:
                        spots["metrics", place_of[number], *rest] = spot
                case _:
                    spots[path] = spot
        own = replace(
            own,
            tree=merged,
            spots=spots | own.spots,
            others={**own.others, under.name: under.lines},
            profiles=(*own.profiles, description),
        )
    return own


def _read_all(
    document: Document, path: Path, name: str, above: tuple[FilePath, ...]
) -> Iterator[tuple[Document, Profile]]:
    """A profile and the profiles that it extends, with the highest precedence first.

    The name is that of a built-in profile, or a path relative to the spec.
    """
    shipped = list_profiles()
    if name in shipped:
        file = _FOLDER / f"{name}.yaml"
    elif name.lower().endswith((".yaml", ".yml")):
        # The name of a document is its path. Built-in profiles have no folder in their name.
        file = FilePath(document.name).parent / name
    else:
        hint = suggest_known(name, shipped)
        what = f"no profile {name!r}{hint}; for your own profile, write a path such as ours.yaml"
        raise SpecError([document.fault(path, what)])
    if file in above or len(above) >= _DEEPEST:
        raise SpecError([document.fault(path, f"{name} extends itself")])
    try:
        content = inputs.read(file, inputs.SPEC).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        fault = document.fault(path, f"the profile {name} cannot be read: {why}")
        raise SpecError([fault]) from error
    shown = file.name if file.parent == _FOLDER else str(file)
    if shown == document.name:  # a spec may have the name of a built-in profile
        shown = f"profiles/{shown}"
    profile = read(content, shown, "the profile")
    if not isinstance(profile.tree, dict):
        raise SpecError([profile.fault((), "a profile must be a mapping with keys of a spec")])
    about = profile.tree.get("about")
    described = about if isinstance(about, dict) else {}
    if faults := [*_find_faults(profile, profile.tree, described)]:
        raise SpecError(faults)
    yield (
        replace(
            profile,
            tree={
                key: tree for key, tree in profile.tree.items() if key not in {"about", "extends"}
            },
        ),
        Profile(name=file.stem, text=content, **{key: str(described[key]) for key in _ABOUT}),
    )
    further = profile.tree.get("extends")
    if isinstance(further, str):
        yield from _read_all(profile, ("extends",), further, (*above, file))
    elif further is not None:
        raise SpecError([profile.fault(("extends",), "expected the name of one profile")])


def _find_faults(
    profile: Document, keys: Mapping[str, Tree], about: Mapping[str, Tree]
) -> Iterator[Fault]:
    """Faults of forbidden keys, and of missing or wrong keys of `about`."""
    for key in _OF_A_SPEC:
        if key in keys:
            yield profile.fault((key,), "this key is not allowed in a profile", key=True)
    for key in _ABOUT:
        if not isinstance(about.get(key), str):
            yield profile.fault(("about",), f"a profile needs the key `{key}` with a text")
    for key in about:
        if key not in _ABOUT:
            known = ", ".join(_ABOUT)
            yield profile.fault(("about", key), f"unknown key; known here: {known}", key=True)
    try:
        if isinstance(day := about.get("date"), str):
            date.fromisoformat(day)
    except ValueError:
        yield profile.fault(("about", "date"), "expected a date, such as 2023-07-05")


def _listed(entries: Tree) -> list[Tree]:
    return entries if isinstance(entries, list) else [] if entries is None else [entries]


def _merge_keys(own: dict[str, Tree], under: dict[str, Tree]) -> dict[str, Tree]:
    tree = dict(own)
    for key, value in under.items():
        mine = own.get(key)
        if key not in own:
            tree[key] = value
        elif isinstance(mine, dict) and isinstance(value, dict):
            tree[key] = _merge_keys(mine, value)
    return tree


def _identify(entry: Tree) -> tuple[str, ...]:
    """The identity of an entry of `metrics`; it is equal for entries with the same value."""
    if not isinstance(entry, dict):
        return (str(entry), "", "", "")
    return tuple(str(entry.get(key, "")) for key in ("metric", "compare", "of", "given"))


def _has_limit(entry: Tree) -> bool:
    return isinstance(entry, dict) and not entry.keys().isdisjoint({"warn", "fail"})

"""`profile`: merges a profile below a spec. Add a profile in spec/profiles/.

Mappings are merged by key, where the spec says more; its lists stand in place of a profile's, but
for `metrics`, which are those of both. Each report prints the profiles that it used in full.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path as FilePath

from fairaudit.base import inputs
from fairaudit.base.errors import Fault, SpecError, suggest_known
from fairaudit.base.frozen import replace
from fairaudit.result import Profile
from fairaudit.spec.text import Document, Path, Tree, read

_FOLDER = FilePath(__file__).parent / "profiles"
_ABOUT = ("title", "date", "source", "caution")
_OF_A_SPEC = ("profile", "data", "waivers", "draws", "title", "context")
_DEEPEST = 5


def list_profiles() -> list[str]:
    """The names of the profiles that come with the tool."""
    return sorted(path.stem for path in _FOLDER.glob("*.yaml"))


def add_profile(document: Document) -> Document:
    """The document with the profile that it names merged under it; raises `SpecError`.

    `own_metrics` says how many entries of `metrics` are the spec's own.
    """
    tree = document.tree
    named = tree.get("profile") if isinstance(tree, dict) else None
    if not isinstance(tree, dict) or not isinstance(named, str):
        return document  # its shape is told where the spec is validated
    own = replace(document, own_metrics=len(_listed(tree.get("metrics"))))
    for profile, told in _read_all(document, ("profile",), named, ()):
        own = _merge(own, profile, told)
    return own


def _read_all(
    document: Document, path: Path, name: str, above: tuple[FilePath, ...]
) -> Iterator[tuple[Document, Profile]]:
    """A profile, and those that it extends: what stands first says more."""
    file = _find(document, path, name)
    if file in above or len(above) >= _DEEPEST:
        raise SpecError([document.fault(path, f"{name} extends itself")])
    try:
        content = inputs.read(file, inputs.SPEC).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        fault = document.fault(path, f"the profile {name} cannot be read: {why}")
        raise SpecError([fault]) from error
    shown = file.name if file.parent == _FOLDER else str(file)
    if shown == document.name:  # a spec may have the name of one of ours
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
    """What no profile may set, and what each must say `about` itself."""
    for key in _OF_A_SPEC:
        if key in keys:
            yield profile.fault((key,), "this key is not allowed in a profile", key=True)
    for key in _ABOUT:
        if not isinstance(about.get(key), str):
            yield profile.fault(("about",), f"a profile needs its `{key}`: a text")
    for key in about:
        if key not in _ABOUT:
            known = ", ".join(_ABOUT)
            yield profile.fault(("about", key), f"unknown key; known here: {known}", key=True)
    try:
        if isinstance(day := about.get("date"), str):
            date.fromisoformat(day)
    except ValueError:
        yield profile.fault(("about", "date"), "expected a date, such as 2023-07-05")


def _find(document: Document, path: Path, name: str) -> FilePath:
    """The file of a profile: one of ours by its name, or any by its path beside the spec."""
    shipped = list_profiles()
    if name in shipped:
        return _FOLDER / f"{name}.yaml"
    if name.lower().endswith((".yaml", ".yml")):
        # The name of a document is its path; one of ours has no folder.
        return FilePath(document.name).parent / name
    hint = suggest_known(name, shipped)
    what = f"no profile {name!r}{hint}; use a path for your own profile: ours.yaml"
    raise SpecError([document.fault(path, what)])


def _listed(entries: Tree) -> list[Tree]:
    return entries if isinstance(entries, list) else [] if entries is None else [entries]


def _merge(own: Document, under: Document, profile: Profile) -> Document:
    """A document with another one under it; what comes of that one keeps its places there.

    What the spec itself asks is not shown twice; but a limit of the profile always stays.
    """
    own, under = own.with_entries(), under.with_entries()
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
    tree = _united(own.tree, under.tree)
    if kept:
        tree["metrics"] = entries + [further[number] for number in kept]
    moved = ((_moved(path, place_of), spot) for path, spot in under.spots.items())
    return replace(
        own,
        tree=tree,
        spots={path: spot for path, spot in moved if path} | own.spots,
        others={**own.others, under.name: under.lines},
        profiles=(*own.profiles, profile),
    )


def _united(own: dict[str, Tree], under: dict[str, Tree]) -> dict[str, Tree]:
    tree = dict(own)
    for key, value in under.items():
        mine = own.get(key)
        if key not in own:
            tree[key] = value
        elif isinstance(mine, dict) and isinstance(value, dict):
            tree[key] = _united(mine, value)
    return tree


def _identify(entry: Tree) -> tuple[str, ...]:
    """What an entry of `metrics` measures: equal for two that show the same."""
    if not isinstance(entry, dict):
        return (str(entry), "", "", "")
    return tuple(str(entry.get(key, "")) for key in ("metric", "compare", "of", "given"))


def _has_limit(entry: Tree) -> bool:
    return isinstance(entry, dict) and not entry.keys().isdisjoint({"warn", "fail"})


def _moved(path: Path, place_of: Mapping[int, int]) -> Path:
    """A path of a profile in the merged spec, whose own `metrics` stand first; none if left out."""
    if path[:1] == ("metrics",) and len(path) > 1 and isinstance(path[1], int):
        place = place_of.get(path[1])
        return () if place is None else ("metrics", place, *path[2:])
    return path

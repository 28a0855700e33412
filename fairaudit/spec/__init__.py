"""Reads a spec from YAML or a mapping (entry point): `load`, `parse`, `of_mapping`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from fairaudit.base import inputs
from fairaudit.base.errors import SpecError, UsageError
from fairaudit.base.frozen import replace
from fairaudit.base.inputs import is_surely_data
from fairaudit.spec import text
from fairaudit.spec.build import build
from fairaudit.spec.column_model import (
    ClusterStrata,
    Outcome,
    OutcomeKind,
    PropensityStrata,
    Protected,
    Threshold,
    value_of,
)
from fairaudit.spec.model import (
    RESERVED,
    MetricRequest,
    Spec,
    apply_cuts,
    needed_quantiles,
    spec_to_fit,
)
from fairaudit.spec.overlays import add_profile, apply_settings
from fairaudit.spec.schema import Expected, Missing, MissingPolicy
from fairaudit.spec.text import LocatedText, quote

_BETWEEN = re.compile(r"""[\s"'\[\]{},:]+""")
"""The characters between texts in YAML."""


def load(path: str | Path, settings: Iterable[str] = ()) -> Spec:
    """The spec in a YAML file (`-` is stdin); raises `SpecError` with located faults.

    Each of the `settings`, such as `metrics[0].fail.below=0.75`, overrides the file. Raises
    `UsageError` if the file cannot be read, or if its name is that of a data file.
    """
    if is_surely_data(Path(path)):
        hint = f"`fairaudit init {path}` writes a spec for it"
        raise UsageError(f"{path} is a data file, not a spec", hint)
    try:
        raw = inputs.read_named(str(path), inputs.SPEC)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"the spec {path} cannot be read: {why}", "check the path") from error
    try:
        content = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise UsageError(f"{path}:{line}: the spec is not UTF-8", "save it as UTF-8") from error
    return parse(content, str(path), settings)


def files_named(path: Path) -> list[str]:
    """The files of data, waivers and draws that a file names, even if it is not a valid spec.

    If the file is not YAML, these are all words that could be paths, so that none is overwritten.
    """
    try:
        content = inputs.read_named(str(path), inputs.SPEC).decode("utf-8-sig", "replace")
    except (OSError, ValueError):
        return []
    try:
        tree = text.read(content, str(path)).tree
    except SpecError:
        return [word for word in _BETWEEN.split(content) if word.strip("./")]
    values = (
        [tree.get(key) for key in ("data", "waivers", "draws")] if isinstance(tree, dict) else []
    )
    lists = [value if isinstance(value, list) else [value] for value in values]
    named = (entry for entries in lists for entry in entries if isinstance(entry, str))
    return [text.fill_in_environment(entry)[0] for entry in named]


def parse(content: str, name: str = "spec", settings: Iterable[str] = ()) -> Spec:
    """The spec in a YAML text."""
    return _build(text.read(content, name), content, settings)


def of_mapping(
    mapping: Mapping[str, object], name: str = "spec", settings: Iterable[str] = ()
) -> Spec:
    """The spec in a Python mapping with the same keys as a YAML spec."""
    document = text.of_mapping(mapping, name)
    content = json.dumps(document.tree, sort_keys=True, ensure_ascii=False)
    return _build(document, content, settings)


def _build(document: text.Document, content: str, settings: Iterable[str]) -> Spec:
    """The spec of a document; it overrides its profile, and the settings override both."""
    document = apply_settings(add_profile(document), settings).with_entries()
    document = replace(document, columns={})  # the document may be cached: do not change it
    return build(document, content)


__all__ = [
    "RESERVED",
    "ClusterStrata",
    "Expected",
    "LocatedText",
    "MetricRequest",
    "Missing",
    "MissingPolicy",
    "Outcome",
    "OutcomeKind",
    "PropensityStrata",
    "Protected",
    "Spec",
    "Threshold",
    "apply_cuts",
    "files_named",
    "load",
    "needed_quantiles",
    "of_mapping",
    "parse",
    "quote",
    "spec_to_fit",
    "value_of",
]

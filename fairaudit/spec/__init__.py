"""The audit spec: YAML text, or a mapping, to a `Spec`; every fault of a stage at once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from fairaudit import inputs
from fairaudit.errors import SpecError, UsageError
from fairaudit.spec import text
from fairaudit.spec.build import build
from fairaudit.spec.cuts import Cut, Quantile, closed, quantiles_of
from fairaudit.spec.faults import validate
from fairaudit.spec.model import (
    RESERVED,
    Format,
    Kind,
    Missing,
    Others,
    Outcome,
    Policy,
    Protected,
    Shown,
    Spec,
    Text,
    Threshold,
    value_of,
)
from fairaudit.spec.schema import json_schema
from fairaudit.spec.searched import searched


def load(path: str | Path) -> Spec:
    """The spec in a YAML file; raises `SpecError` with located faults."""
    try:
        raw = inputs.read(Path(path), inputs.SPEC)
    except OSError as error:
        why = error.strerror or str(error)
        raise UsageError(f"the spec {path} cannot be read: {why}", "check the path") from error
    try:
        content = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise UsageError(f"{path}:{line}: the spec is not UTF-8", "save it as UTF-8") from error
    return parse(content, str(path))


def parse(content: str, name: str = "spec") -> Spec:
    """The spec in a YAML text."""
    document = text.read(content, name)
    return build(document, validate(document), content)


def of_mapping(mapping: Mapping[str, object], name: str = "spec") -> Spec:
    """The spec in a Python mapping of the same shape."""
    document = text.of_mapping({str(key): value for key, value in mapping.items()}, name)
    content = json.dumps(document.tree, sort_keys=True, ensure_ascii=False)
    return build(document, validate(document), content)


__all__ = [
    "RESERVED",
    "Cut",
    "Format",
    "Kind",
    "Missing",
    "Others",
    "Outcome",
    "Policy",
    "Protected",
    "Quantile",
    "Shown",
    "Spec",
    "SpecError",
    "Text",
    "Threshold",
    "closed",
    "json_schema",
    "load",
    "of_mapping",
    "parse",
    "quantiles_of",
    "searched",
    "value_of",
]

"""How several audits are called beside each other: short names, in the order people expect."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from fairaudit.result import Answer

_LONGEST = 36
_DIGITS = re.compile(r"(\d+)")


def labels(answers: Sequence[Answer]) -> list[str]:
    """A name for each audit: what tells it from the others, without the folder they share."""
    specs, data = (
        told_apart([answer.spec for answer in answers]),
        [answer.data for answer in answers],
    )
    if len({*data}) == 1:
        return specs
    files = told_apart([name or "" for name in data])
    if len({*specs}) == 1:
        return files
    return [f"{spec} {name}".strip() for spec, name in zip(specs, files, strict=True)]


def short(label: str, most: int = _LONGEST) -> str:
    """A label that leaves room for others in a line: of a long one the middle is left out."""
    if len(label) <= most:
        return label
    half = (most - 1) // 2
    return f"{label[:half]}…{label[-half:]}"


def natural(text: str) -> tuple[tuple[int, str], ...]:
    """A key that sorts `day 2` before `day 10`."""
    parts = enumerate(_DIGITS.split(text.casefold()))
    return tuple((len(part.lstrip("0")) if index % 2 else 0, part) for index, part in parts)


def told_apart(paths: Sequence[str]) -> list[str]:
    """The paths without the folders that all of them begin with."""
    try:
        shared = os.path.commonpath([Path(path).parent for path in paths])
    except ValueError:
        # Relative ones beside absolute ones share none.
        return [*paths]
    return [os.path.relpath(path, shared) if path else path for path in paths]

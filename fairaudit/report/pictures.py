"""What a picture shows: numbers with their names, not how they are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Interval:
    """A value on a line of its own; `panel` is the heading it stands under, `mark` what it is."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None
    panel: str = ""
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Intervals:
    """Values below each other with their intervals, beside a reference and the limits."""

    axis: str
    rows: Sequence[Interval]
    reference: float | None = None
    limits: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a line; x is a number, or a name where the axis has names."""

    x: float | str
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """Points that belong together, in their order."""

    label: str
    points: Sequence[Point]


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines over a common axis; `diagonal` where both axes are shares and equality is a line."""

    x: str
    y: str
    lines: Sequence[Line]
    diagonal: bool = False
    limits: Sequence[float] = ()


Picture: TypeAlias = Intervals | Lines

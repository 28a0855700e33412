"""`Draws`: random draws of the probabilities of outcomes, from a file (`draws` in a spec)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from fairaudit.base.arrays import Floats, Group, Grouping
from fairaudit.base.errors import DataError, UsageError
from fairaudit.base.frozen import Frozen
from fairaudit.base.inputs import TITLES
from fairaudit.base.names import quoted
from fairaudit.base.trust import refuse_path
from fairaudit.counting.columns import CsvFormat
from fairaudit.counting.sources import Copies, open_file, reader_of

DRAW, OUTCOME, PROBABILITY = "draw", "outcome", "probability"
_HINT = (
    "the file needs a row for each random draw, group and outcome, with the columns `draw`, the "
    "protected columns, `outcome` and `probability`"
)
_CLOSE = 1e-6


class Draws(Frozen, eq=False):
    """The probability [D draws, K outcomes, G groups] of each outcome in each group.

    `by` are the columns of the groups. If `outcomes` is empty, K is 1, for the positive outcome.
    """

    path: str
    sha256: str
    by: Grouping
    groups: tuple[Group, ...]
    outcomes: tuple[str, ...]
    probability: Floats

    def roll_up(self, groups: tuple[Group, ...], finest: dict[Group, float]) -> Floats:
        """The probabilities [D, K, G] of coarser groups: means over the groups of the draws.

        The weights are the people in `finest`, for each group of the draws. The probabilities of a
        group without people are NaN.
        """
        people = np.array([finest.get(group, 0.0) for group in self.groups])
        belongs = np.array([
            [set(group) <= set(part) for part in self.groups] for group in groups
        ]).reshape(len(groups), len(self.groups))  # fmt: skip
        weights = belongs * people
        with np.errstate(invalid="ignore"):
            shares = weights / weights.sum(axis=1, keepdims=True)
        return np.asarray(self.probability @ shares.T)


def read_draws(path: Path, attributes: Sequence[str]) -> Draws:
    """The draws in a file, by the protected `attributes` that are columns of the file.

    Raises `DataError` for probabilities outside [0, 1], for probabilities that do not add up to 1,
    and if not all draws have the same groups and outcomes.
    """
    try:
        refuse_path(path)
        if not path.is_file():
            hint = f"check the path; draws are a {TITLES} file"
            raise UsageError(f"{path}: the draws file does not exist", hint)
        with Copies() as copies:
            file = open_file(path, CsvFormat(",", ".", "utf-8", multiline=False), copies)
            scanned = reader_of(file.form).scan_files([file.path.absolute()], ",")
            frame = scanned.collect()
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error).split("\n", maxsplit=1)[0]
        raise DataError.unreadable(str(path), why) from error
    by = tuple(name for name in attributes if name in frame.columns)
    has_outcome = OUTCOME in frame.columns
    needed = [DRAW, PROBABILITY, *([] if by else attributes[:1])]
    if lacking := [name for name in needed if name not in frame.columns]:
        raise DataError(f"{path}: the draws have no column {quoted(lacking[0])}", _HINT)
    keys = [DRAW, *by, *([OUTCOME] if has_outcome else [])]
    frame = frame.select(
        *(pl.col(name).cast(pl.String) for name in keys),
        pl.col(PROBABILITY).cast(pl.Float64, strict=False),
    ).with_row_index("row", offset=1)
    _refuse(path, frame.filter(pl.any_horizontal(pl.col(*keys).is_null())), "a missing value")
    inside = pl.col(PROBABILITY).is_between(0, 1).fill_null(value=False)
    _refuse(path, frame.filter(~inside), "a probability that does not lie from 0 to 1")
    _refuse(path, frame.filter(pl.struct(keys).is_duplicated()), "a draw of this group twice")
    if has_outcome:
        total = pl.col(PROBABILITY).sum().over([DRAW, *by])
        off = frame.filter((total - 1).abs() > _CLOSE)
        _refuse(path, off, "probabilities of its group that do not add up to 1")
    if not len(frame):
        raise DataError(f"{path}: the file has no draws", _HINT)
    outcomes = tuple(frame[OUTCOME].unique(maintain_order=True)) if has_outcome else ()
    draws, d = _number(frame.select(DRAW).rows())
    names, g = _number(frame.select(by).rows())
    k = _number(frame.select(OUTCOME).rows())[1] if has_outcome else [0] * len(frame)
    probability = np.full((len(draws), max(len(outcomes), 1), len(names)), np.nan)
    probability[d, k, g] = frame[PROBABILITY].to_numpy()
    if np.isnan(probability).any():
        first, _, group = np.argwhere(np.isnan(probability))[0]
        what = f"draw {quoted(draws[first][0])} has no row for {' × '.join(names[group])}"
        raise DataError(f"{path}: {what}, or not for each outcome", _HINT)
    groups = tuple(tuple(zip(by, name, strict=True)) for name in names)
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    return Draws(os.path.normpath(path), sha256, by, groups, outcomes, probability)


def _number(rows: list[tuple[str, ...]]) -> tuple[list[tuple[str, ...]], list[int]]:
    """The distinct rows in the order of the file, and the index of the distinct row of each row."""
    place: dict[tuple[str, ...], int] = {}
    index = [place.setdefault(row, len(place)) for row in rows]
    return list(place), index


def _refuse(path: Path, rows: pl.DataFrame, what: str) -> None:
    if len(rows):
        first = rows.row(0, named=True)
        words = ", ".join(f"{name} {value}" for name, value in first.items() if name != "row")
        raise DataError(f"{path}: row {first['row']} of the draws has {what}: {words}", _HINT)

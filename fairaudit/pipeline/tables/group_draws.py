"""Posterior draws joined to the groups of the data; refused if they lack a group or an outcome."""

from __future__ import annotations

import numpy as np

from fairaudit.base.errors import DataError
from fairaudit.base.frozen import replace
from fairaudit.base.names import quoted
from fairaudit.counting.posterior_draws import Draws
from fairaudit.cube import Cube, GroupTable
from fairaudit.metrics import describe_group


def with_draws(table: GroupTable, draws: Draws, cube: Cube) -> GroupTable:
    """The table with the draws of its groups, by the people of their parts.

    Draws of other attributes are none of its groups. Raises `DataError` for draws that lack a
    group or an outcome.
    """
    if not set(table.by) <= set(draws.by):
        return table
    finest = cube.table(draws.by, (), table.of)
    people = finest.mass[:, :, : len(table.classes)].sum(axis=(0, 1, 2)) / table.scale
    counted = {
        group: float(n)
        for group, n, known in zip(finest.groups, people, finest.known, strict=True)
        if known and n
    }
    if lacking := [group for group in counted if group not in draws.groups]:
        what = f"{draws.path}: the draws lack {describe_group(lacking[0])}"
        raise DataError(what, "name every group of the data, with the levels of the spec")
    probability = draws.roll_up(table.groups, counted)
    if not draws.outcomes:
        if table.positive is None or len(table.classes) != 2:
            what = f"{draws.path}: the draws name no outcome, and {table.of} has not two"
            raise DataError(what, "add a column `outcome`")
        is_positive = table.positive[: len(table.classes), None]
        probability = np.where(is_positive, probability, 1 - probability)
    elif unknown := [name for name in table.classes if name not in draws.outcomes]:
        what = f"{draws.path}: the draws lack the outcome {quoted(unknown[0])} of {table.of}"
        raise DataError(what, f"they have {', '.join(draws.outcomes)}")
    else:
        probability = probability[:, [draws.outcomes.index(name) for name in table.classes]]
    return replace(table, draws=probability)

"""Catalogue: group size, and the four confusion cells, as counts of people."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fairaudit.metrics import works
from fairaudit.metrics.confusion_counts import Cell, GroupCounts
from fairaudit.metrics.definitions import Bounds, Requirement
from fairaudit.metrics.group_metrics import GroupMetric, GroupValues, sum_cells
from fairaudit.metrics.terms import NO_PARAMETERS, Parameters

_ALL_CELLS = ("tp", "fp", "fn", "tn")


class PeopleCount(GroupMetric, kw_only=True):
    """The number of people in a group, or in one `cell` of it, without weights."""

    cell: str = ""
    bounds: Bounds = (0, None)
    family: str = "data"
    no_interval: str = "a count of the people in the data estimates nothing"

    @property
    def requirements(self) -> frozenset[Requirement]:
        """Label and prediction of a cell; nothing of a group's size."""
        return frozenset({Requirement.LABEL, Requirement.PREDICTION} if self.cell else ())

    @property
    def formula(self) -> str:
        """The cell that is counted."""
        return self.cell or "n"

    def compute(self, counts: GroupCounts, parameters: Parameters = NO_PARAMETERS) -> GroupValues:  # noqa: ARG002  # takes none
        """Its value in every stratum and group; of a cell, `n` are all four cells together."""
        count = np.asarray(self._count(counts))
        n = np.asarray(sum_cells(counts.people, _ALL_CELLS)) if self.cell else count
        return GroupValues(self, count.astype(np.float64), n, n.astype(np.float64))

    def exact(self, counts: GroupCounts, z: int, g: int, parameters: Parameters) -> Fraction | None:  # noqa: ARG002  # takes none
        """Its value in one group."""
        return Fraction(int(self._count(counts)[z, g]))

    def _count(self, counts: GroupCounts) -> Cell:
        return getattr(counts.people, self.cell) if self.cell else counts.headcount


def _of_cell(cell: str, title: str, short: str, description: str) -> PeopleCount:
    return PeopleCount(
        id=title.lower().replace(" ", "_"),
        title=title,
        short=short,
        aliases=(cell,),
        description=description,
        caution="Depends on the size of the group: compare rates instead. Counts people, not "
        "their weights.",
        source=works.FAIRLEARN,
        other_tools=f"Aequitas' `{cell}`.",
        cell=cell,
    )


GROUP_SIZE = PeopleCount(
    id="group_size",
    short="people",
    aliases=("n", "count"),
    description="The number of people in the group, with or without a known outcome.",
    caution="Does not describe outcomes; whether a group should be larger depends on who could be "
    "in the data. Counts people, not their weights.",
    source=works.FAIRLEARN,
    other_tools="Fairlearn's `count`.",
    has_outcome=False,
)
PEOPLE_COUNTS = (
    GROUP_SIZE,
    _of_cell("tp", "True positives", "TP", "How many are selected whose label is positive."),
    _of_cell("fp", "False positives", "FP", "How many are selected whose label is negative."),
    _of_cell("fn", "False negatives", "FN", "How many are not selected whose label is positive."),
    _of_cell("tn", "True negatives", "TN", "How many are not selected whose label is negative."),
)
"""Group size and the four cells."""

"""Hides small cells of counts before they leave a site (`--suppress N` of cli/counting.py).

A reader of the file knows each cell that is left, the total number of hidden people, and the
combinations of levels that are missing. docs/counts.md says what that protects.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import TypeVar

import numpy as np

from fairaudit.base.arrays import MOST_ROUNDING, TINY, Marks, are_small, is_small
from fairaudit.base.disclosure_marks import Subjects
from fairaudit.base.errors import DataError, UsageError
from fairaudit.base.frozen import replace
from fairaudit.counting.counts import Counts, HiddenCells, RawWeights
from fairaudit.counting.plan import Plan

Value = TypeVar("Value")


def refuse_single_people(plan: Plan) -> None:
    """Raises `UsageError` for a plan that asks for more than cells: it would reveal small groups.

    A bin of a score is a person or two, and so is a cluster; an extra table minus the cells shows
    the people who are hidden in the cells.
    """
    reasons = {
        "scores": any(plan.scores.values()) and "the score of each person",
        "clusters": plan.cluster and "each cluster by its name",
        "cuts": plan.cuts and "a quantile, which is a value of one person",
        "tables": plan.tables and "extra tables, from which the cells can be computed",
    }
    kept = [reason for reason in reasons.values() if reason]
    if kept:
        raise UsageError(
            f"the spec asks for {', '.join(kept)}: --suppress cannot hide small counts there",
            "remove these measures, or count without --suppress for readers who may see all counts",
        )


def hide_small_cells(counts: Counts, below: int) -> Counts:
    """The counts without the cells of 1 to `below` - 1 people, and without cells that reveal them.

    The total of the hidden cells does not reveal that one of them has fewer than `below` people,
    even to a reader who knows that each has one person. If it would, the smallest other cells are
    hidden as well, cells of equal size together. Raises `DataError` if all people are too few.
    """
    counts = counts.compact()
    refuse_single_people(counts.plan)
    gone = are_small(counts.people, below)
    while gone.any() and counts.people[gone].sum() - (gone.sum() - 1) < below:
        others = ~gone & (counts.people > 0)
        if not others.any():
            break  # every cell is hidden
        gone |= counts.people == counts.people[others].min()
    stays = np.asarray(~gone)
    people = int(counts.people[gone].sum())
    if is_small(people, below):
        raise DataError(
            f"the data has fewer than {below:,} people, and their number itself is a small count",
            "do not send counts of these people",
        )
    few = counts.repeated if is_small(counts.repeated, below) else 0
    hidden = HiddenCells(below, int(counts.rows[gone].sum()), people)
    return replace(
        counts,
        keys=tuple(replace(key, codes=key.codes[stays]) for key in counts.keys),
        kept=counts.kept[stays],
        rows=counts.rows[stays],
        people=counts.people[stays],
        weights=counts.weights and _choose_weights(counts.weights, stays),
        amounts={name: _choose(sums, stays) for name, sums in counts.amounts.items()},
        # A few rows that repeat people are not mentioned at all.
        read=counts.read - few,
        repeated=counts.repeated - few,
        scores={},
        medians={},
        hidden=(hidden,) if people else (),
        notices=tuple(note for note in counts.notices if note.subjects is Subjects.NOBODY),
        # The size and the records of a file count people, and its hash confirms a guess.
        sources=tuple(
            replace(
                source,
                file=replace(source.file, bytes=None, lines=None),
                records=None if source.records else 0,
                sha256=None,
            )
            for source in counts.sources
        ),
    )


def _choose_weights(weights: RawWeights, stays: Marks) -> RawWeights:
    """The weights of some cells; the largest is only marked as tiny or not, without rounding.

    The sums of tiny weights are kept if all weights are tiny: otherwise they describe few people,
    and are not used.
    """
    is_tiny = 0 < weights.largest < TINY
    largest = TINY / 2 if is_tiny else float(weights.largest > 0)
    sums = (
        _choose(values if is_tiny or not is_fine else [0] * len(values), stays)
        for values, is_fine in zip(weights.sums, (False, True, False, True), strict=True)
    )
    return RawWeights(tuple(sums), largest, MOST_ROUNDING)


def _choose(values: Sequence[Value], stays: Marks) -> list[Value]:
    """The values of the cells that stay; none of nothing."""
    return [*compress(values, stays.tolist())]

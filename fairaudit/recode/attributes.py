"""The numbers of numeric attributes by outcome, where a spec asks for their slope."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from fairaudit.arrays import Floats
from fairaudit.counts import Counts
from fairaudit.recode.axes import Axis
from fairaudit.recode.scores import Recoding
from fairaudit.spec import Spec


@dataclass(frozen=True, slots=True, eq=False)
class AttributeNumbers:
    """The values of an attribute [B], ascending: people with a known outcome, and selected."""

    attribute: str
    of: str
    at: Floats
    hits: Floats
    people: Floats


def attribute_numbers(
    counts: Counts, spec: Spec, axis_of: Mapping[str, Axis]
) -> Iterator[AttributeNumbers]:
    """Each numeric attribute by each outcome whose slope on it is asked.

    A bin of several values stands at its middle.
    """
    for outcome, attribute in spec.smoothed:
        recoding = Recoding.of_column(outcome, axis_of, counts)
        scores = counts.scores.get(attribute.column.value)
        if scores is None:
            continue
        raw = next(one for one in scores.histograms if one.keys == (recoding.raw,))
        classes = recoding.codes(raw, raw.codes)
        people, hits = np.zeros((2, len(scores.bins.codes)))
        known = classes >= 0
        np.add.at(people, raw.bins[known], raw.people[known])
        selected = np.isin(classes, list(recoding.key.positive or ()))
        np.add.at(hits, raw.bins[selected], raw.people[selected])
        there = people > 0
        middle = (scores.bins.low + scores.bins.high) / 2
        yield AttributeNumbers(
            attribute.name, outcome.name, middle[there], hits[there], people[there]
        )

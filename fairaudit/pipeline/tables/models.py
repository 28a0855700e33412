"""Rows of two models (`ModelChange`): rates of the same people by group, tested by McNemar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from fairaudit.cube import GroupTable
from fairaudit.evidence import run_mcnemar
from fairaudit.metrics import (
    GroupMetric,
    count_pairs,
    find_eligibility,
    find_participants,
    is_over_classes,
)
from fairaudit.metrics.evaluation_record import compute, counts_for
from fairaudit.pipeline.tables.evaluation_cache import Tables, list_places, list_rates
from fairaudit.result import ModelChange
from fairaudit.spec import MetricRequest


def model_changes(
    tables: Tables, requests: Sequence[MetricRequest], models: Sequence[str]
) -> Iterator[ModelChange]:
    """A row for each rate of two models that counts the same people, of everybody and each group.

    Of the rates that a spec names for one of the two; none by a threshold, of one class, or
    averaged, for which no person is a hit or not.
    """
    plain = [
        request
        for request in requests
        if request.terms.at is None
        and request.terms.of_class is None
        and request.terms.average is None
        and not is_over_classes(request.metric)
    ]
    for first, second in combinations(models, 2):
        seen: set[tuple[object, ...]] = set()
        of_pair = [request for request in plain if request.of in {first, second}]
        for request, by, given in list_places(of_pair, everybody=True):
            for quantity in list_rates(request.metric):
                if (quantity.id, by, given) not in seen:
                    seen.add((quantity.id, by, given))
                    yield from _rows(
                        quantity, request, tables.table(by, given, first, second), second
                    )


def _rows(
    quantity: GroupMetric, request: MetricRequest, table: GroupTable, second: str
) -> Iterator[ModelChange]:
    """The rows of one rate, corrected over the groups of each stratum."""
    pairs = count_pairs(quantity, table)
    if pairs is None:
        return
    reading = compute(quantity, counts_for(quantity, table))
    takes_part = find_participants(table, reading, request.terms.minimum)
    tests = run_mcnemar(pairs, (quantity.id, "paired"))
    ends = [end.tolist() for end in pairs.ends(request.terms.inference.alpha)]
    cells = np.stack([pairs.both, pairs.first, pairs.second, pairs.neither])
    counts = np.moveaxis(cells, 0, -1).tolist()
    people, compared = reading.n.tolist(), takes_part.tolist()
    values = pairs.difference.tolist()
    corrected = tests.correct_strata(
        takes_part & (cells.sum(axis=0) > 0), request.terms.inference.correction
    )
    for z, stratum in enumerate(table.strata):
        for g, group in enumerate(table.groups):
            both, first_only, second_only, neither = counts[z][g]
            total = both + first_only + second_only + neither
            if not total > 0:
                continue
            yield ModelChange(
                metric=quantity.id,
                first=table.of,
                second=second,
                by=table.by,
                stratum=stratum,
                group=group,
                standing=find_eligibility(
                    table, g, people[z][g], request.terms.minimum, takes_part=compared[z][g]
                ),
                n=people[z][g],
                **_counts(counts[z][g], weighted=pairs.weighted),
                first_value=(both + first_only) / total,
                second_value=(both + second_only) / total,
                difference=0.0 - values[z][g],
                low=0.0 - ends[1][z][g],
                high=0.0 - ends[0][z][g],
                significance=corrected.at(z, g),
            )


def _counts(cells: Sequence[float], *, weighted: bool) -> dict[str, int | None]:
    """Who is a hit of both, of one alone, of neither; None under survey weights."""
    names = ("both", "first_only", "second_only", "neither")
    return {
        name: None if weighted else round(cell) for name, cell in zip(names, cells, strict=True)
    }

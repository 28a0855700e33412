"""Differences of two maxima, which a group of a few people can hide.

Such a group has the largest gap under both outcomes by chance alone, so that the difference of both
gaps is near 0, whatever the other groups say. A check that would fail among groups that are large
enough to be told apart is therefore left open.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairaudit.metrics import Evaluation, Minimum, evaluate, evaluate_against
from fairaudit.metrics.terms import EXTREME_REFERENCES
from fairaudit.stats.contingency import EXPECTED
from fairaudit.verdict.asked import Check
from fairaudit.verdict.findings import NotEvaluated

_LARGE = 10
"""Means of fewer people are known too badly."""

_INFINITE = "infinite by one of both outcomes: there is no change to be sure of"


def hidden_by_few(check: Check, evaluation: Evaluation) -> list[NotEvaluated]:
    """The strata where groups of a few people keep a difference of maxima within its limit.

    And those where one of the two is infinite.
    """
    limit, terms = check.fail or check.warn, evaluation.terms
    whole = evaluation.table_value
    is_difference = evaluation.subtracts or bool(whole is not None and whole.parts)
    part = evaluation.parts[0] if evaluation.parts else evaluation
    is_maximum = evaluation.spread or part.terms.policy in EXTREME_REFERENCES
    if limit is None or not (is_maximum and is_difference) or terms.minimum.events:
        return []
    large = replace(terms, minimum=Minimum(max(terms.minimum.size or 0, _LARGE), EXPECTED))
    if evaluation.subtracts:
        first, second = (part.table for part in evaluation.parts)
        among_large = evaluate_against(evaluation.metric, first, large, second)
    else:
        among_large = evaluate(evaluation.metric, evaluation.table, large)
    left_open = [
        NotEvaluated((), evaluation.table.strata[z], _INFINITE, blocks=True)
        for z in np.flatnonzero(
            (np.isinf(evaluation.value) & evaluation.judged).any(axis=1)
            & evaluation.table.known_strata
        )
    ]
    fewer = (among_large.takes_part != evaluation.takes_part).any(axis=1)
    for z in np.flatnonzero(fewer & evaluation.table.known_strata).tolist():
        beyond = limit.reached(among_large.value[z]) & among_large.judged[z]
        for value in among_large.value[z][beyond][:1].tolist():
            reason = (
                f"{value:.4f}, beyond the limit, among the groups of {_LARGE} people and more "
                f"where {EXPECTED} of every outcome are expected: smaller groups hide it"
            )
            left_open.append(NotEvaluated((), evaluation.table.strata[z], reason, blocks=True))
    return left_open

"""Differences of two maxima, which a group of a few people can hide.

Such a group has the largest gap under both outcomes by chance alone, so that the difference of both
gaps is near 0, whatever the other groups say. A check that would fail among groups that are large
enough to be told apart is therefore left open.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairaudit.metrics import Evaluation, evaluate, evaluate_against
from fairaudit.stats.proportions import EXPECTED
from fairaudit.verdict.asked import Check
from fairaudit.verdict.findings import NotEvaluated

_INFINITE = "infinite by one of both outcomes: there is no change to be sure of"


def hidden_by_few(check: Check, evaluation: Evaluation) -> list[NotEvaluated]:
    """The strata where groups of a few people keep a difference of maxima within its limit.

    And those where one of the two is infinite.
    """
    limit, terms = check.fail or check.warn, evaluation.terms
    whole = evaluation.whole
    is_difference = evaluation.subtracts or bool(whole is not None and whole.parts)
    if limit is None or not (evaluation.spread and is_difference) or terms.minimum.events:
        return []
    large = replace(terms, minimum=replace(terms.minimum, events=EXPECTED))
    if evaluation.subtracts:
        first, second = (part.table for part in evaluation.parts)
        among_large = evaluate_against(evaluation.asked, first, large, second)
    else:
        among_large = evaluate(evaluation.asked, evaluation.table, large)
    left_open = [
        NotEvaluated((), evaluation.table.strata[z], _INFINITE, blocks=True)
        for z in np.flatnonzero(np.isinf(evaluation.value[:, 0]) & evaluation.table.known_strata)
    ]
    fewer = (among_large.takes_part != evaluation.takes_part).any(axis=1)
    for z in np.flatnonzero(fewer & evaluation.table.known_strata).tolist():
        value = float(among_large.value[z, 0])
        if limit.crossed(value, None):
            reason = (
                f"{value:.4f}, beyond the limit, among the groups where {EXPECTED} people of every "
                "outcome are expected: smaller groups hide it"
            )
            left_open.append(NotEvaluated((), evaluation.table.strata[z], reason, blocks=True))
    return left_open

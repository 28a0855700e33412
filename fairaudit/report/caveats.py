"""Prose report: what the measures presume (class imbalance, harms, validity); docs/method.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fairaudit.base import names
from fairaudit.base.frozen import Frozen
from fairaudit.metrics.estimate import State
from fairaudit.metrics.rates import (
    BASE_RATE,
    FALSE_POSITIVE_RATE,
    SELECTION_RATE,
    TRUE_POSITIVE_RATE,
)
from fairaudit.report import metric_titles, numbers
from fairaudit.report.blocks import Block, Cell, Entries, Heading, Tone
from fairaudit.result import AuditResult

_IMBALANCED = 0.05
"""With a smaller share of positives, or of negatives, the classes are told to be imbalanced."""

_MANY = 20
"""Of so many comparisons one is expected to lie outside its 95 % interval by chance alone."""


class Caveat(Frozen):
    """What a reader should hold against a report: a word for it, and the text where it applies.

    Each has a section of its name in docs/method.md.
    """

    word: str
    text_of: Callable[[AuditResult], str]


def section(result: AuditResult) -> Iterator[Block]:
    """The remarks that apply."""
    texts = [(remark.word, remark.text_of(result)) for remark in REMARKS]
    rows = [(Cell(word, Tone.MUTED), text) for word, text in texts if text]
    if rows:
        yield Heading("What these measures presume")
        yield Entries(rows)


def _imbalance(result: AuditResult) -> str:
    """How few of everybody are positive, or negative, in each outcome where that is so few."""
    texts = [
        f"{numbers.percent(share)} of {words}"
        for words, share in _shares(result).items()
        if 0 < share < _IMBALANCED
    ]
    if not texts:
        return ""
    return (
        f"{numbers.first_few(texts, separator='; ')}. Rates among so few rest on a handful of "
        "people in a small group, ratios of small rates are unstable, and whoever calls everybody "
        "by the commoner name is seldom wrong: read the counts and intervals, and "
        "balanced_accuracy or average_precision beside accuracy."
    )


def _shares(result: AuditResult) -> dict[str, float]:
    """The rarer share of each outcome and label, as far as rates of everybody tell it."""
    everybody = {
        (row.metric, row.of): row
        for row in result.rates
        if not (row.by or row.stratum or row.parameters) and row.estimate.state is State.DEFINED
    }
    shares: dict[str, float] = {}
    for (metric, of), row in everybody.items():
        value = row.estimate.value
        if metric == SELECTION_RATE.id:
            named = metric_titles.heading(metric, of, "")
            words = "is positive by the label" if named else f"is selected by {names.name(of)}"
            _add(shares, words, value)
        elif metric == BASE_RATE.id:
            _add(shares, "is positive by the label", value)
        elif metric == TRUE_POSITIVE_RATE.id and (FALSE_POSITIVE_RATE.id, of) in everybody:
            positives, negatives = (
                everybody[rate.id, of].estimate.denominator or 0
                for rate in (TRUE_POSITIVE_RATE, FALSE_POSITIVE_RATE)
            )
            if positives + negatives:
                _add(shares, "is positive by the label", positives / (positives + negatives))
    return shares


def _add(shares: dict[str, float], words: str, share: float) -> None:
    """Notes the rarer side of a share."""
    is_rarer = share <= 1 - share
    side = words if is_rarer else words.replace("is ", "is not ", 1)
    shares.setdefault(f"everybody {side}", min(share, 1 - share))


def _families(result: AuditResult) -> set[str]:
    return {definition.family for definition in result.definitions}


def _validity(result: AuditResult) -> str:
    if any("label" in definition.needs for definition in result.definitions):
        return (
            "measures of errors take the label for what it stands for. If it records who was "
            "caught, or hired, by whom the data were made, parity with it repeats that. Whether it "
            "is a valid measure of what is meant is a judgement that no number here contains."
        )
    if "independence" in _families(result):
        return (
            "parity of decisions does not ask who qualifies. It presumes that the data do not "
            "show the world as it is, or that the world they show is not just; where neither "
            "holds, a difference may be earned, and equal rates may be carelessness."
        )
    return ""


def _harms(result: AuditResult) -> str:
    families = _families(result)
    kinds = []
    if families & {"independence", "conditional"}:
        kinds.append("who gets what (allocation)")
    if families & {"separation", "sufficiency", "accuracy"}:
        kinds.append("for whom errors are made, and how many (allocation, quality of service)")
    if not kinds:
        return ""
    return (
        f"these measures tell {' and '.join(kinds)}. Stereotypes, words that demean, and people "
        "who are missing from the data (representation) are in no rate."
    )


def _multiplicity(result: AuditResult) -> str:
    count = len(result.comparisons)
    if count < _MANY:
        return ""
    return (
        f"{numbers.whole(count)} numbers here compare groups, and the more there are, the more lie "
        "far from parity by chance. The p-values of checks are corrected over the checks, stars in "
        "a table over that table; each interval holds by itself."
    )


REMARKS = (
    Caveat("kinds of harm", _harms),
    Caveat("construct validity", _validity),
    Caveat("class imbalance", _imbalance),
    Caveat("multiplicity", _multiplicity),
)

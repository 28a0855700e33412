"""The catalogue of metrics: every record by id and alias, in display order."""

from __future__ import annotations

from difflib import SequenceMatcher

from fairaudit.errors import did_you_mean
from fairaudit.metrics import absolute, classes, conditional, inequality, numeric, parity
from fairaudit.metrics import epsilon as _epsilon
from fairaudit.metrics.average import Average, Weights
from fairaudit.metrics.classes import macro
from fairaudit.metrics.comparisons import COMPARISONS
from fairaudit.metrics.criteria import CRITERIA
from fairaudit.metrics.direction import DIRECTIONS, Better
from fairaudit.metrics.epsilon import epsilon
from fairaudit.metrics.evaluate import evaluate, evaluate_against
from fairaudit.metrics.evaluation import Asked, Evaluation, Terms
from fairaudit.metrics.measures import Comparison, Measure, Shape, Whole
from fairaudit.metrics.minimum import NO_MINIMUM, Minimum
from fairaudit.metrics.notions import NOTIONS, Notion, find_notion
from fairaudit.metrics.paired import Paired, paired
from fairaudit.metrics.quantities import Formula, Mean, Quantity, Rate, Reading
from fairaudit.metrics.rates import RATES
from fairaudit.metrics.reading import participants
from fairaudit.metrics.reasons import (
    Aside,
    describe,
    describe_all,
    exclusion,
    reason_of,
    set_aside,
    why_excluded,
    why_undefined,
)
from fairaudit.metrics.records import (
    FAMILIES,
    NO_PARAMETERS,
    Bounds,
    Named,
    Need,
    Parameters,
)
from fairaudit.metrics.reference import NOBODY, Policy, Reference, find_group
from fairaudit.metrics.scores import SCORES, FirstOf
from fairaudit.metrics.standing import Standing, standing_of

QUANTITIES: tuple[Quantity, ...] = (
    *RATES,
    *SCORES,
    *conditional.QUANTITIES,
    *inequality.INEQUALITY,
)
"""The numbers of one group."""

MEASURES: tuple[Measure, ...] = (
    *CRITERIA,
    *absolute.MEASURES,
    *conditional.MEASURES,
    classes.KL_DIVERGENCE,
)
"""The comparisons of groups that have a name of their own."""

WHOLES: tuple[Whole, ...] = (
    *_epsilon.WHOLES,
    classes.TOTAL_VARIATION,
    *absolute.WHOLES,
    *parity.WHOLES,
    inequality.BETWEEN_GROUPS,
    *numeric.WHOLES,
)
"""The measures of a whole table."""

CATALOGUE: tuple[Asked, ...] = (*QUANTITIES, *MEASURES, *WHOLES)
"""Everything a spec can name under `metric`, in display order."""

_BY_NAME = {name: record for record in CATALOGUE for name in (record.id, *record.aliases)}
_COMPARISONS = {record.id: record for record in COMPARISONS}


def find(name: str) -> Asked | None:
    """The record of that id or alias; None where there is none."""
    return _BY_NAME.get(name)


def find_words(name: str) -> Named | None:
    """The record of that name, comparisons included: what can be explained."""
    return _BY_NAME.get(name) or _COMPARISONS.get(name)


def comparison(name: str) -> Comparison | None:
    """The comparison of that id; None where there is none."""
    return _COMPARISONS.get(name)


def wanted(asked: Asked) -> frozenset[Need]:
    """What a measure is made of, where the spec has it."""
    parts = [quantity for quantity, _ in asked.parts] if isinstance(asked, Measure) else [asked]
    options = [
        one for part in parts for one in (part.options if isinstance(part, FirstOf) else (part,))
    ]
    return frozenset().union(*(one.needs for one in options))


def notion(name: str) -> Notion | None:
    """The well-known notion of that name which is no metric here; None for any other name."""
    return find_notion(name, (*_BY_NAME, *_COMPARISONS))


def suggestion(name: str) -> str:
    """The end of a message about an unknown metric: why it is none, or what is spelt alike.

    Names that share no more than a word such as `fairness` with it are not told.
    """
    known = notion(name)
    if known is not None:
        return f": not here, because {known.advice}"
    names = (*_BY_NAME, *_COMPARISONS)
    return did_you_mean(name, [other for other in names if _is_akin(name, other)])


_GENERIC = frozenset(
    {"fairness", "parity", "equality", "difference", "ratio", "rate", "gap", "score", "index"}
)
"""Words that say nothing of which measure is meant."""
_AKIN = 0.6


def _is_akin(name: str, other: str) -> bool:
    """Whether two names are alike in the words that tell measures apart."""
    words, other_words = (
        "_".join(word for word in text.casefold().split("_") if word not in _GENERIC) or text
        for text in (name, other)
    )
    return SequenceMatcher(None, words, other_words).ratio() >= _AKIN


def compared(quantity: Quantity, how: Comparison) -> Measure:
    """The measure that compares one quantity, as `compare:` in a spec asks."""
    return Measure(
        id=quantity.id,
        title=f"{quantity.title}, {how.title[0].lower()}{how.title[1:]}",
        short=f"{quantity.short} {how.id}",
        family=quantity.family,
        means=how.means,
        caution=how.caution,
        source=quantity.source,
        elsewhere=how.elsewhere,
        parts=((quantity, how),),
    )


__all__ = [
    "CATALOGUE",
    "COMPARISONS",
    "DIRECTIONS",
    "FAMILIES",
    "MEASURES",
    "NOBODY",
    "NOTIONS",
    "NO_MINIMUM",
    "NO_PARAMETERS",
    "QUANTITIES",
    "WHOLES",
    "Aside",
    "Asked",
    "Average",
    "Better",
    "Bounds",
    "Comparison",
    "Evaluation",
    "FirstOf",
    "Formula",
    "Mean",
    "Measure",
    "Minimum",
    "Named",
    "Need",
    "Notion",
    "Paired",
    "Parameters",
    "Policy",
    "Quantity",
    "Rate",
    "Reading",
    "Reference",
    "Shape",
    "Standing",
    "Terms",
    "Weights",
    "Whole",
    "compared",
    "comparison",
    "describe",
    "describe_all",
    "epsilon",
    "evaluate",
    "evaluate_against",
    "exclusion",
    "find",
    "find_group",
    "find_words",
    "macro",
    "notion",
    "paired",
    "participants",
    "reason_of",
    "set_aside",
    "standing_of",
    "suggestion",
    "wanted",
    "why_excluded",
    "why_undefined",
]

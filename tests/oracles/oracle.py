"""The oracle: every number computed slowly and obviously, from rows, with exact fractions.

Nothing here knows the counting, the arrays or the catalogue of the package: every function loops
over rows. Undefined is `None`, infinite is `math.inf`, and all that is rational is a `Fraction`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from statistics import NormalDist
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

Group = tuple[str | None, ...]
Defined = Fraction | float
Number = Fraction | float | None
Values = dict[Group, Number]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of data: `people` persons who share groups, label, prediction and weight."""

    groups: Mapping[str, str | None]
    label: str | None
    prediction: str | None
    people: int = 1
    weight: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True)
class Task:
    """What counts as positive, how people are counted and which groups are set aside.

    `everybody` are all rows of the data, by whom a group's share goes, where not all are looked at.
    """

    positive_label: AbstractSet[str]
    positive_prediction: AbstractSet[str]
    weighted: bool = False
    min_size: int | None = None
    favourable: bool = True
    exclude_below: Fraction | None = None
    share_of_all: bool = False
    min_events: int | None = None
    everybody: tuple[Row, ...] | None = None


class Spread(TypedDict):
    """A gap or a smallest ratio, and the pair of groups that attains it."""

    value: Number
    high: Group | None
    low: Group | None


class Epsilon(TypedDict):
    """A differential fairness, and the outcome and the pair of groups that attain it."""

    value: float | None
    outcome: str | None
    high: Group | None
    low: Group | None


class Stratum(TypedDict):
    """The rates of a pair in one stratum, and the stratum's share of the pair's denominators."""

    stratum: str
    g_rate: Fraction | None
    h_rate: Fraction | None
    weight: Fraction


class Reversal(TypedDict):
    """What conditioning on a column does to the difference between two groups."""

    kind: str | None
    crude: Fraction | None
    crude_everybody: Fraction | None
    standardized: Fraction | None
    standardized_pair: tuple[Fraction, Fraction] | None
    strata: list[Stratum]
    not_estimable: list[Stratum]
    composition: Fraction | None
    within: Fraction | None
    opposite_weight_share: Fraction | None
    reversed_strata: int
    estimable_strata: int
    mantel_haenszel_odds_ratio: Number


# --- Arithmetic with undefined and infinite values ---------------------------------------------


def _subtract(left: Number, right: Number) -> Number:
    """Return left - right, where infinite - infinite is undefined."""
    if left is None or right is None or (math.isinf(left) and math.isinf(right)):
        return None
    return left - right


def _divide(over: Number, under: Number) -> Number:
    """Return over / under of values from zero up: positive/0 is infinite, 0/0 is undefined."""
    if over is None or under is None or (math.isinf(over) and math.isinf(under)):
        return None
    if math.isinf(under):
        return Fraction(0)
    if under == 0:
        return None if over == 0 else math.inf
    return math.inf if math.isinf(over) else Fraction(over) / Fraction(under)


def _mean(left: Defined, right: Defined) -> Defined:
    """Return the mean of two values."""
    return (left + right) / 2


def _magnitude(value: Defined) -> Defined:
    """Return a value without its sign."""
    return -value if value < 0 else value


# --- Cells and rates of one group --------------------------------------------------------------

CELLS = ("tp", "fp", "fn", "tn", "selected", "rejected", "positives", "negatives")

# The numerator and the denominator of every rate that is a share of people.
SHARES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "base_rate": (("positives",), ("positives", "negatives")),
    "selection_rate": (("selected",), ("selected", "rejected")),
    "true_positive_rate": (("tp",), ("tp", "fn")),
    "false_negative_rate": (("fn",), ("tp", "fn")),
    "false_positive_rate": (("fp",), ("fp", "tn")),
    "true_negative_rate": (("tn",), ("fp", "tn")),
    "positive_predictive_value": (("tp",), ("tp", "fp")),
    "false_discovery_rate": (("fp",), ("tp", "fp")),
    "negative_predictive_value": (("tn",), ("tn", "fn")),
    "false_omission_rate": (("fn",), ("tn", "fn")),
    "accuracy": (("tp", "tn"), ("tp", "fp", "fn", "tn")),
    "error_rate": (("fp", "fn"), ("tp", "fp", "fn", "tn")),
}
RATES = (*SHARES, "balanced_accuracy", "f1", "error_type_ratio", "selected_share")

# Not a rate of the catalogue: the complement that `impact_ratio` compares when + is a burden.
REJECTION_RATE = "rejection_rate"
_SHARES = SHARES | {REJECTION_RATE: (("rejected",), ("selected", "rejected"))}


def _amount(row: Row, task: Task) -> Fraction:
    """Return what a row adds to a cell: its people, times its weight if the task is weighted."""
    if row.weight < 0:
        message = "a weight is negative"
        raise ValueError(message)
    return row.people * Fraction(row.weight) if task.weighted else Fraction(row.people)


def _cells_of(row: Row, task: Task) -> list[str]:
    """Return the names of the cells and margins in which a row counts."""
    names = []
    if row.label is not None:
        names.append("positives" if row.label in task.positive_label else "negatives")
    if row.prediction is not None:
        names.append("selected" if row.prediction in task.positive_prediction else "rejected")
    if row.label is not None and row.prediction is not None:
        is_selected = row.prediction in task.positive_prediction
        if row.label in task.positive_label:
            names.append("tp" if is_selected else "fn")
        else:
            names.append("fp" if is_selected else "tn")
    return names


def cells(rows: Iterable[Row], task: Task) -> dict[str, Fraction]:
    """Return the four cells and the four margins, each margin counted on its own."""
    counted = dict.fromkeys(CELLS, Fraction(0))
    for row in rows:
        for name in _cells_of(row, task):
            counted[name] += _amount(row, task)
    return counted


def _share(name: str, rows: Iterable[Row], task: Task) -> tuple[Fraction, Fraction]:
    """Return the numerator and the denominator of a rate that is a share of people."""
    over, under = _SHARES[name]
    counted = cells(rows, task)
    return (
        sum((counted[cell] for cell in over), Fraction(0)),
        sum((counted[cell] for cell in under), Fraction(0)),
    )


def _fraction(over: Fraction, under: Fraction) -> Fraction | None:
    """Return a share of people, undefined for an empty denominator."""
    return None if under == 0 else over / under


def rate(name: str, rows: Sequence[Row], task: Task, everybody: Sequence[Row]) -> Number:
    """Return a rate of the people in `rows`; only `selected_share` needs `everybody`."""
    if name in _SHARES:
        return _fraction(*_share(name, rows, task))
    counted = cells(rows, task)
    if name == "balanced_accuracy":
        sensitivity = _fraction(*_share("true_positive_rate", rows, task))
        specificity = _fraction(*_share("true_negative_rate", rows, task))
        if sensitivity is None or specificity is None:
            return None
        return _mean(sensitivity, specificity)
    if name == "f1":
        doubled = 2 * counted["tp"]
        return _fraction(doubled, doubled + counted["fp"] + counted["fn"])
    if name == "error_type_ratio":
        return _divide(counted["fn"], counted["fp"])
    if name == "selected_share":
        return _fraction(counted["selected"], cells(everybody, task)["selected"])
    message = f"no rate is called {name}"
    raise ValueError(message)


def denominator_people(
    name: str, rows: Sequence[Row], task: Task, everybody: Sequence[Row] | None = None
) -> int:
    """Return the people, never the weights, in the rate's own denominator.

    `balanced_accuracy`: the smaller denominator of its two parts. `f1`: the people with tp, fp or
    fn. `error_type_ratio`: the people with fp or fn, although it divides by fp alone.
    `selected_share`: the selected among `everybody`, which are `rows` if not given.
    """
    in_people = replace(task, weighted=False)
    counted = {cell: int(value) for cell, value in cells(rows, in_people).items()}
    if name in _SHARES:
        return sum(counted[cell] for cell in _SHARES[name][1])
    if name == "balanced_accuracy":
        return min(counted["tp"] + counted["fn"], counted["fp"] + counted["tn"])
    if name == "f1":
        return counted["tp"] + counted["fp"] + counted["fn"]
    if name == "error_type_ratio":
        return counted["fp"] + counted["fn"]
    if name == "selected_share":
        return int(cells(rows if everybody is None else everybody, in_people)["selected"])
    message = f"no rate is called {name}"
    raise ValueError(message)


# --- Groups ------------------------------------------------------------------------------------


def _people(rows: Iterable[Row]) -> int:
    """Return how many people the rows stand for."""
    return sum(row.people for row in rows)


def _group_of(row: Row, by: Sequence[str]) -> Group:
    """Return the group a row belongs to."""
    return tuple(row.groups[column] for column in by)


def groups_of(rows: Sequence[Row], by: Sequence[str]) -> dict[Group, list[Row]]:
    """Return the rows of every group that has people, the unknown groups included."""
    groups: dict[Group, list[Row]] = {}
    for row in rows:
        groups.setdefault(_group_of(row, by), []).append(row)
    return {group: members for group, members in groups.items() if _people(members) > 0}


def _known_groups(rows: Sequence[Row], by: Sequence[str]) -> dict[Group, list[Row]]:
    """Return the rows of every group of which all levels are known."""
    groups = groups_of(rows, by)
    return {group: members for group, members in groups.items() if None not in group}


def share_of_people(group: Group, rows: Sequence[Row], by: Sequence[str], task: Task) -> Fraction:
    """Return which share of the people whose group is known, or of all, belongs to a group."""
    groups = _known_groups(rows, by)
    known = sum(row.people for members in groups.values() for row in members)
    everybody = sum(row.people for row in rows)
    n = sum(row.people for row in groups[group])
    return Fraction(n, everybody if task.share_of_all else known)


def _eligible_groups(rows: Sequence[Row], by: Sequence[str], task: Task) -> dict[Group, list[Row]]:
    """Return the rows of every known group that is no smaller a share than is allowed."""
    known = _known_groups(rows, by)
    if task.exclude_below is None:
        return known
    everybody = rows if task.everybody is None else task.everybody
    return {
        group: members
        for group, members in known.items()
        if not share_of_people(group, everybody, by, task) < task.exclude_below
    }


def _is_large_enough(people: int, shares: Iterable[Number], task: Task) -> bool:
    """Return whether a group with so many people in the denominator takes part.

    `shares` are everybody's of each outcome, none where what is compared is no share of people.
    """
    if task.min_size is not None and people < task.min_size:
        return False
    for share in shares:
        if task.min_events is not None and (share is None or people * share < task.min_events):
            return False
    return True


def _shares_of_everybody(
    name: str, rows: Sequence[Row], by: Sequence[str], task: Task
) -> list[Number]:
    """Return the rate of all known groups together, and its complement; nothing for a formula."""
    if name not in _SHARES:
        return []
    together = [row for members in _known_groups(rows, by).values() for row in members]
    value = rate(name, together, task, together)
    return [value, _subtract(Fraction(1), value)]


def _taking_part(
    name: str, rows: Sequence[Row], by: Sequence[str], task: Task
) -> dict[Group, list[Row]]:
    """Return the rows of every group that takes part in a rate."""
    shares = _shares_of_everybody(name, rows, by, task)
    return {
        group: members
        for group, members in _eligible_groups(rows, by, task).items()
        if _is_large_enough(denominator_people(name, members, task, rows), shares, task)
    }


def _labels(group: Group) -> tuple[str, ...]:
    """Return the levels of a known group, by which the last ties are broken."""
    return tuple(str(level) for level in group)


def _highest(values: Mapping[Group, Defined], people: Mapping[Group, int]) -> Group:
    """Return the group with the highest value, on ties the larger, then the first by label."""
    return min(values, key=lambda group: (-values[group], -people[group], _labels(group)))


def _lowest(values: Mapping[Group, Defined], people: Mapping[Group, int]) -> Group:
    """Return the group with the lowest value, on ties the larger, then the first by label."""
    return min(values, key=lambda group: (values[group], -people[group], _labels(group)))


def _pair(values: Mapping[Group, Defined], people: Mapping[Group, int]) -> tuple[Group, Group]:
    """Return the highest group and the lowest of all the others, so that they are two."""
    high = _highest(values, people)
    others = {group: value for group, value in values.items() if group != high}
    return high, _lowest(others, people)


def _all_defined(values: Mapping[Group, Number]) -> dict[Group, Defined] | None:
    """Return the values, or nothing if one of them is undefined."""
    defined = {group: value for group, value in values.items() if value is not None}
    return defined if len(defined) == len(values) else None


# --- Comparisons of one rate -------------------------------------------------------------------


def _spread(name: str, compare: str, rows: Sequence[Row], by: Sequence[str], task: Task) -> Spread:
    """Return the gap or the smallest ratio of a rate over the groups that take part."""
    members = _taking_part(name, rows, by, task)
    values = _all_defined(
        {g: rate(name, group_rows, task, rows) for g, group_rows in members.items()}
    )
    if values is None or len(values) < 2:
        return Spread(value=None, high=None, low=None)
    people = {
        g: denominator_people(name, group_rows, task, rows) for g, group_rows in members.items()
    }
    high, low = _pair(values, people)
    if compare == "gap":
        value = _subtract(values[high], values[low])
    else:
        value = _divide(values[low], values[high])
    if value is None:
        return Spread(value=None, high=None, low=None)
    return Spread(value=value, high=high, low=low)


def _reference_group(
    name: str,
    members: Mapping[Group, Sequence[Row]],
    rows: Sequence[Row],
    task: Task,
    reference: str | Group,
) -> Group | None:
    """Return the group everyone is compared with, if it is a group and takes part."""
    if isinstance(reference, tuple):
        return reference if reference in members else None
    if reference in ("rest", "overall") or not members:
        return None
    people = {
        g: denominator_people(name, group_rows, task, rows) for g, group_rows in members.items()
    }
    if reference == "largest":
        return _highest(
            {g: Fraction(_people(group_rows)) for g, group_rows in members.items()}, people
        )
    values = _all_defined(
        {g: rate(name, group_rows, task, rows) for g, group_rows in members.items()}
    )
    if values is None:
        return None
    return _highest(values, people) if reference == "highest" else _lowest(values, people)


def _signed(
    name: str,
    compare: str,
    rows: Sequence[Row],
    by: Sequence[str],
    task: Task,
    reference: str | Group | None,
) -> tuple[Values, Group | None]:
    """Return each group against the reference, the reference itself included, and which it is."""
    kinds = ("largest", "highest", "lowest", "rest", "overall")
    if not isinstance(reference, tuple) and reference not in kinds:
        message = f"a reference is a group or one of {', '.join(kinds)}, not {reference}"
        raise ValueError(message)
    members = _taking_part(name, rows, by, task)
    against = _reference_group(name, members, rows, task, reference)
    known = [row for row in rows if None not in _group_of(row, by)]
    values: Values = {}
    for group, group_rows in members.items():
        own = rate(name, group_rows, task, rows)
        other: Number = None
        if len(members) < 2:
            other = None
        elif reference == "overall":
            other = rate(name, known, task, rows)
        elif reference == "rest":
            rest = [row for row in known if _group_of(row, by) != group]
            other = rate(name, rest, task, rows)
        elif against is not None:
            other = rate(name, members[against], task, rows)
        values[group] = _subtract(own, other) if compare == "difference" else _divide(own, other)
    return values, against


def comparison(
    rate_name: str,
    compare: str,
    rows: Sequence[Row],
    by: Sequence[str],
    task: Task,
    reference: str | Group | None = None,
) -> Values | Spread:
    """Return a rate compared between groups.

    `difference` and `ratio` return a value for every group that takes part but the reference;
    `gap` and `min_ratio` return a value and its witnesses. `reference` is a group, or one of
    `largest`, `highest`, `lowest`, `rest` and `overall`.
    """
    if compare in ("gap", "min_ratio"):
        return _spread(rate_name, compare, rows, by, task)
    if compare not in ("difference", "ratio"):
        message = f"no comparison is called {compare}"
        raise ValueError(message)
    values, against = _signed(rate_name, compare, rows, by, task, reference)
    return {group: value for group, value in values.items() if group != against}


# --- Criteria ----------------------------------------------------------------------------------


def _larger_magnitude(first: Defined, second: Defined) -> Defined:
    """Return the value further from 0 with its sign, on a tie the first."""
    return second if _magnitude(second) > _magnitude(first) else first


def _larger_departure(first: Defined, second: Defined) -> Defined:
    """Return the ratio further from 1, on a tie the first."""
    return second if _magnitude(second - 1) > _magnitude(first - 1) else first


def _mean_magnitude(first: Defined, second: Defined) -> Defined:
    """Return the mean of two magnitudes."""
    return _mean(_magnitude(first), _magnitude(second))


def _greater(first: Defined, second: Defined) -> Defined:
    """Return the greater of two values."""
    return max(first, second)


def _smaller(first: Defined, second: Defined) -> Defined:
    """Return the smaller of two values."""
    return min(first, second)


UNSIGNED: dict[str, tuple[str, str]] = {
    "demographic_parity_difference": ("selection_rate", "gap"),
    "demographic_parity_ratio": ("selection_rate", "min_ratio"),
    "equal_opportunity_difference": ("true_positive_rate", "gap"),
    "equal_opportunity_ratio": ("true_positive_rate", "min_ratio"),
    "predictive_equality": ("false_positive_rate", "gap"),
    "predictive_parity": ("positive_predictive_value", "gap"),
    "predictive_parity_ratio": ("positive_predictive_value", "min_ratio"),
    "overall_accuracy_equality": ("accuracy", "gap"),
}

_ODDS = ("true_positive_rate", "false_positive_rate")
_PREDICTIVE_VALUES = ("positive_predictive_value", "negative_predictive_value")
Fold = tuple[tuple[str, str], str, "Callable[[Defined, Defined], Defined]"]

UNSIGNED_FOLDS: dict[str, Fold] = {
    "equalized_odds_difference": (_ODDS, "gap", _greater),
    "equalized_odds_mean": (_ODDS, "gap", _mean),
    "equalized_odds_ratio": (_ODDS, "min_ratio", _smaller),
    "conditional_use_accuracy_equality": (_PREDICTIVE_VALUES, "gap", _greater),
}

SIGNED: dict[str, tuple[str, str]] = {
    "statistical_parity_difference": ("selection_rate", "difference"),
    "disparate_impact_ratio": ("selection_rate", "ratio"),
    "true_positive_rate_difference": ("true_positive_rate", "difference"),
    "true_positive_rate_ratio": ("true_positive_rate", "ratio"),
    "false_positive_rate_difference": ("false_positive_rate", "difference"),
    "false_positive_rate_ratio": ("false_positive_rate", "ratio"),
    "positive_predictive_value_difference": ("positive_predictive_value", "difference"),
    "positive_predictive_value_ratio": ("positive_predictive_value", "ratio"),
    "negative_predictive_value_difference": ("negative_predictive_value", "difference"),
    "negative_predictive_value_ratio": ("negative_predictive_value", "ratio"),
    "accuracy_difference": ("accuracy", "difference"),
    "accuracy_ratio": ("accuracy", "ratio"),
    "balanced_accuracy_difference": ("balanced_accuracy", "difference"),
    "balanced_accuracy_ratio": ("balanced_accuracy", "ratio"),
    "treatment_equality": ("error_type_ratio", "ratio"),
}

SIGNED_FOLDS: dict[str, Fold] = {
    "average_odds_difference": (_ODDS, "difference", _mean),
    "average_odds_error": (_ODDS, "difference", _mean_magnitude),
    "fairmlhealth_equal_odds_difference": (_ODDS, "difference", _larger_magnitude),
    "fairmlhealth_equal_odds_ratio": (_ODDS, "ratio", _larger_departure),
    "fairmlhealth_equal_odds_smaller_ratio": (_ODDS, "ratio", min),
}


def _folded_spread(name: str, rows: Sequence[Row], by: Sequence[str], task: Task) -> Number:
    """Return a criterion made of two spreads, undefined when either of them is."""
    (first_rate, second_rate), compare, fold = UNSIGNED_FOLDS[name]
    first = _spread(first_rate, compare, rows, by, task)["value"]
    second = _spread(second_rate, compare, rows, by, task)["value"]
    return None if first is None or second is None else fold(first, second)


def _folded_signed(
    name: str,
    rows: Sequence[Row],
    by: Sequence[str],
    task: Task,
    reference: str | Group | None,
) -> Values:
    """Return a criterion made of two signed comparisons, for groups that take part in both."""
    (first_rate, second_rate), compare, fold = SIGNED_FOLDS[name]
    first, first_against = _signed(first_rate, compare, rows, by, task, reference)
    second, second_against = _signed(second_rate, compare, rows, by, task, reference)
    folded: Values = {}
    for group in first:
        if group not in second or group == first_against == second_against:
            continue
        one_value, other = first[group], second[group]
        folded[group] = None if one_value is None or other is None else fold(one_value, other)
    return folded


CRITERIA = (*UNSIGNED, *UNSIGNED_FOLDS, *SIGNED_FOLDS, *SIGNED, "impact_ratio")
"""The criteria that are computed here; those of scores and the absolute ones have their own."""


def criterion(
    name: str,
    rows: Sequence[Row],
    by: Sequence[str],
    task: Task,
    reference: str | Group | None = None,
) -> Number | Values:
    """Return one value for an unsigned criterion, a value for each group for a signed one."""
    if name in UNSIGNED:
        rate_name, compare = UNSIGNED[name]
        return _spread(rate_name, compare, rows, by, task)["value"]
    if name in UNSIGNED_FOLDS:
        return _folded_spread(name, rows, by, task)
    if name in SIGNED_FOLDS:
        return _folded_signed(name, rows, by, task, reference)
    if name in SIGNED:
        rate_name, compare = SIGNED[name]
    elif name == "impact_ratio":
        rate_name = "selection_rate" if task.favourable else REJECTION_RATE
        compare, reference = "ratio", "highest"
    else:
        message = f"no criterion is called {name}"
        raise ValueError(message)
    values, against = _signed(rate_name, compare, rows, by, task, reference)
    return {group: value for group, value in values.items() if group != against}


# --- Differential fairness ---------------------------------------------------------------------


def _outcome(row: Row, of: str) -> str | None:
    """Return the class of a row, by its label or its prediction."""
    if of not in ("label", "prediction"):
        message = f"an outcome is label or prediction, not {of}"
        raise ValueError(message)
    return row.label if of == "label" else row.prediction


def _effective_people(rows: Iterable[Row], task: Task) -> Fraction:
    """Return the people, or (sum cw)^2 / sum cw^2 of people c and weights w, 0 if all weigh 0."""
    known = list(rows)
    if not task.weighted:
        return Fraction(_people(known))
    total = sum((_amount(row, task) for row in known), Fraction(0))
    squares = sum((row.people * Fraction(row.weight) ** 2 for row in known), Fraction(0))
    return Fraction(0) if squares == 0 else total**2 / squares


def _probabilities(
    rows: Iterable[Row], of: str, task: Task, classes: AbstractSet[str], smoothing: Fraction
) -> dict[str, Fraction] | None:
    """Return P(y|g) by Eq. 7 for every class, undefined for a group without a known outcome."""
    known = [row for row in rows if _outcome(row, of) is not None]
    total = sum((_amount(row, task) for row in known), Fraction(0))
    if total == 0:
        return None
    people = _effective_people(known, task)
    probabilities = {}
    for name in classes:
        amount = sum(
            (_amount(row, task) for row in known if _outcome(row, of) == name), Fraction(0)
        )
        smoothed = amount / total * people + smoothing
        probabilities[name] = smoothed / (people + len(classes) * smoothing)
    return probabilities


def _largest_ratio(
    probabilities: Mapping[Group, Mapping[str, Fraction]], people: Mapping[Group, int]
) -> tuple[Defined, str, Group, Group]:
    """Return the largest ratio over outcomes and pairs, and the outcome and pair that attain it.

    An outcome that no group has is 0/0 for every pair, and adds nothing.
    """
    outcomes = sorted({name for shares in probabilities.values() for name in shares})
    best: tuple[Defined, str, Group, Group] | None = None
    for name in outcomes:
        shares = {group: of_group[name] for group, of_group in probabilities.items()}
        high, low = _pair(shares, people)
        ratio = _divide(shares[high], shares[low])
        if ratio is not None and (best is None or ratio > best[0]):
            best = (ratio, name, high, low)
    if best is None:
        message = "the probabilities of a group sum to 0"
        raise ValueError(message)
    return best


def epsilon_groups(
    rows: Sequence[Row], by: Sequence[str], of: str, task: Task, classes: AbstractSet[str]
) -> dict[Group, list[Row]]:
    """Return the rows of every group that takes part in an epsilon."""
    together = [row for members in _known_groups(rows, by).values() for row in members]
    pooled = _probabilities(together, of, task, classes, Fraction(0))
    shares: list[Number] = [None] if pooled is None else [pooled[name] for name in classes]
    taking_part = {}
    for group, members in _eligible_groups(rows, by, task).items():
        known = _people(row for row in members if _outcome(row, of) is not None)
        if _is_large_enough(known, shares, task):
            taking_part[group] = members
    return taking_part


def epsilon(
    rows: Sequence[Row],
    by: Sequence[str],
    of: str,
    task: Task,
    classes: Iterable[str],
    smoothing: Fraction | int = 0,
    among: AbstractSet[Group] | None = None,
) -> Epsilon:
    """Return the differential fairness of the label or the prediction over all its classes.

    `classes` are those of the whole data, and `smoothing` is added to each of them. `among` are the
    groups to look at, if not all that take part.
    """
    named = frozenset(classes)
    occurring = {name for row in rows if (name := _outcome(row, of)) is not None}
    if occurring - named:
        message = f"not among the classes: {', '.join(sorted(occurring - named))}"
        raise ValueError(message)
    people: dict[Group, int] = {}
    shares: dict[Group, dict[str, Fraction] | None] = {}
    for group, members in epsilon_groups(rows, by, of, task, named).items():
        if among is None or group in among:
            people[group] = _people(row for row in members if _outcome(row, of) is not None)
            shares[group] = _probabilities(members, of, task, named, Fraction(smoothing))
    probabilities = {group: share for group, share in shares.items() if share is not None}
    if len(shares) < 2 or len(probabilities) < len(shares):
        return Epsilon(value=None, outcome=None, high=None, low=None)
    ratio, outcome, high, low = _largest_ratio(probabilities, people)
    return Epsilon(value=math.log(ratio), outcome=outcome, high=high, low=low)


def bias_amplification(
    rows: Sequence[Row],
    by: Sequence[str],
    task: Task,
    label_classes: Iterable[str],
    prediction_classes: Iterable[str],
) -> float | None:
    """Return epsilon(prediction) - epsilon(label) on the rows that have both.

    Less than an infinite one is not known.
    """
    both = [row for row in rows if row.label is not None and row.prediction is not None]
    classes = {"prediction": frozenset(prediction_classes), "label": frozenset(label_classes)}
    groups = [{*epsilon_groups(both, by, of, task, classes[of])} for of in classes]
    among = groups[0] & groups[1]
    of_prediction, of_label = (
        epsilon(both, by, of, task, classes[of], among=among)["value"] for of in classes
    )
    if of_label is not None and math.isinf(of_label):
        return None
    amplified = _subtract(of_prediction, of_label)
    return None if amplified is None else float(amplified)


def differential_fairness_table(
    table: Sequence[Sequence[Fraction | float]],
) -> float | None:
    """Return the epsilon of a plain groups x outcomes table of counts or probabilities."""
    probabilities: dict[Group, dict[str, Fraction]] = {}
    for place, counts in enumerate(table):
        total = sum((Fraction(count) for count in counts), Fraction(0))
        if total > 0:
            shares = {str(y): Fraction(count) / total for y, count in enumerate(counts)}
            probabilities[(str(place),)] = shares
    if len(probabilities) < 2:
        return None
    return math.log(_largest_ratio(probabilities, dict.fromkeys(probabilities, 0))[0])


# --- Simpson's reversals -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Pair:
    """The numerators and denominators of a rate for two groups, and Kish's effective sizes."""

    g_over: Fraction
    g_under: Fraction
    h_over: Fraction
    h_under: Fraction
    g_size: Fraction | None = None
    h_size: Fraction | None = None

    @property
    def people(self) -> Fraction:
        """Return both denominators together."""
        return self.g_under + self.h_under

    @property
    def g_rate(self) -> Fraction | None:
        """Return the rate of the first group."""
        return _fraction(self.g_over, self.g_under)

    @property
    def h_rate(self) -> Fraction | None:
        """Return the rate of the second group."""
        return _fraction(self.h_over, self.h_under)

    @property
    def difference(self) -> Fraction | None:
        """Return the rate of the first group minus that of the second."""
        if self.g_rate is None or self.h_rate is None:
            return None
        return self.g_rate - self.h_rate


def _count_pair(
    name: str, rows: Sequence[Row], attribute: str, pair: tuple[str, str], task: Task
) -> _Pair:
    """Return the numerators and denominators of a rate for two levels of an attribute."""
    g, h = pair
    g_over, g_under = _share(name, [row for row in rows if row.groups[attribute] == g], task)
    h_over, h_under = _share(name, [row for row in rows if row.groups[attribute] == h], task)
    squared = [replace(row, weight=row.weight**2) for row in rows]
    sizes = []
    for level, under in ((g, g_under), (h, h_under)):
        of_level = [row for row in squared if row.groups[attribute] == level]
        sizes.append(_fraction(under**2, _share(name, of_level, task)[1]))
    return _Pair(g_over, g_under, h_over, h_under, *sizes)


def _has_what_the_rate_needs(row: Row, name: str) -> bool:
    """Return whether the outcomes a rate counts are known."""
    needs_label = name != "selection_rate"
    needs_prediction = name != "base_rate"
    return not (needs_label and row.label is None) and not (
        needs_prediction and row.prediction is None
    )


def _strata(tables: Mapping[str, _Pair]) -> list[Stratum]:
    """Return the rates of strata in the order of their labels, with their share of the people."""
    people = sum((table.people for table in tables.values()), Fraction(0))
    return [
        Stratum(
            stratum=name,
            g_rate=tables[name].g_rate,
            h_rate=tables[name].h_rate,
            weight=tables[name].people / people,
        )
        for name in sorted(tables)
    ]


def _opposes(value: Fraction, crude: Fraction) -> bool:
    """Return whether a difference has the sign opposite to the crude one's."""
    return value * crude < 0


def _is_gap(sides: tuple[Fraction, Fraction], floor: Fraction, odds: Fraction) -> bool:
    """Return whether the rates differ by the floor, and their odds by the factor."""
    low, high = sorted(sides)
    if low == high:
        return floor == 0 and odds == 1
    in_odds = low == 0 or high == 1 or high / (1 - high) / (low / (1 - low)) >= odds
    return high - low >= floor and in_odds


def _chi_square_tail(x: float, freedom: int) -> float:
    """Return the tail of chi-square of a whole number of degrees of freedom, by its recursion."""
    tail, at = (math.erfc(math.sqrt(x / 2)), 1) if freedom % 2 else (math.exp(-x / 2), 2)
    while at < freedom:
        tail += math.exp(at / 2 * math.log(x / 2) - x / 2 - math.lgamma(at / 2 + 1))
        at += 2
    return tail


def gail_simon(tables: Sequence[_Pair]) -> float:
    """Return the p-value that no two strata have gaps of opposite signs; 1 where none have.

    Gail & Simon (1985), Biometrics 41:361: the smaller of Q+ and Q-, against a mixture of
    chi-squares whose weights are those of a fair coin tossed once less than there are strata.
    """
    sums, counted = {1: 0.0, -1: 0.0}, 0
    for table in tables:
        n, m = table.g_size, table.h_size
        gap = table.difference
        if n is None or m is None or gap is None or n + m <= 1:
            continue
        share = (n * table.g_over / table.g_under + m * table.h_over / table.h_under) / (n + m)
        variance = share * (1 - share) * (1 / n + 1 / m) * (n + m) / (n + m - 1)
        if variance:
            counted += 1
            if gap:
                sums[1 if gap > 0 else -1] += float(gap * gap / variance)
    least = min(sums.values())
    if least == 0:
        return 1.0
    tosses = counted - 1
    ways = [math.comb(tosses, k) * _chi_square_tail(least, k) for k in range(1, tosses + 1)]
    return math.ldexp(sum(ways), -tosses)


def _are_opposite(tables: Sequence[_Pair], floor: Fraction, odds: Fraction) -> bool:
    """Return whether the strata that point one way have a gap together, and so have the others."""
    for sign in (1, -1):
        side = [table for table in tables if table.difference and table.difference * sign > 0]
        people = sum((table.people for table in side), Fraction(0))
        if not people:
            return False
        rates = (
            sum((t.people * t.g_over / t.g_under for t in side), Fraction(0)) / people,
            sum((t.people * t.h_over / t.h_under for t in side), Fraction(0)) / people,
        )
        if not _is_gap(rates, floor, odds):
            return False
    return gail_simon(tables) < 0.05


def _kind(
    crude_pair: tuple[Fraction, Fraction],
    standardized_pair: tuple[Fraction, Fraction],
    tables: Sequence[_Pair],
    share: Fraction,
    floor: Fraction,
    odds: Fraction,
) -> str | None:
    """Return what the first matching rule calls it."""
    crude, standardized = (first - second for first, second in (crude_pair, standardized_pair))
    is_crude_large, is_standardized_large = (
        _is_gap(pair, floor, odds) for pair in (crude_pair, standardized_pair)
    )
    strata = [t.g_over / t.g_under - t.h_over / t.h_under for t in tables]
    if is_crude_large and is_standardized_large and all(_opposes(d, crude) for d in strata):
        return "every_stratum"
    if is_crude_large and is_standardized_large and _opposes(standardized, crude):
        return "adjusted"
    if is_crude_large and share > Fraction(1, 2):
        return "most_people"
    if _are_opposite(tables, floor, odds):
        return "opposite"
    turned = _opposes(standardized, crude)
    if not is_crude_large and is_standardized_large:
        return "masked" if turned or 2 * abs(crude) <= abs(standardized) else None
    if is_crude_large and (turned or 2 * abs(standardized) <= abs(crude)):
        return "explained"
    return None


def _mantel_haenszel(tables: Iterable[_Pair]) -> Number:
    """Return the common odds ratio, first group over second."""
    over = under = Fraction(0)
    for table in tables:
        over += table.g_over * (table.h_under - table.h_over) / table.people
        under += table.h_over * (table.g_under - table.g_over) / table.people
    return _divide(over, under)


def _without_support(everybody: Fraction | None, aside: list[Stratum]) -> Reversal:
    """Return the record of a pair that never meets in a stratum."""
    return Reversal(
        kind=None,
        crude=None,
        crude_everybody=everybody,
        standardized=None,
        standardized_pair=None,
        strata=[],
        not_estimable=aside,
        composition=None,
        within=None,
        opposite_weight_share=None,
        reversed_strata=0,
        estimable_strata=0,
        mantel_haenszel_odds_ratio=None,
    )


def _judge_pair(
    estimable: Mapping[str, _Pair],
    aside: list[Stratum],
    everybody: Fraction | None,
    floor: Fraction,
    odds: Fraction,
) -> Reversal:
    """Return the record of a pair from its table in every stratum where both occur."""
    tables = [estimable[name] for name in sorted(estimable)]
    g_people = sum((table.g_under for table in tables), Fraction(0))
    h_people = sum((table.h_under for table in tables), Fraction(0))
    crude = composition = within = g_standard = h_standard = opposite = Fraction(0)
    differences = []
    for table in tables:
        g_rate, h_rate = table.g_over / table.g_under, table.h_over / table.h_under
        g_share, h_share = table.g_under / g_people, table.h_under / h_people
        weight = table.people / (g_people + h_people)
        crude += table.g_over / g_people - table.h_over / h_people
        composition += (g_rate + h_rate) / 2 * (g_share - h_share)
        within += (g_rate - h_rate) * (g_share + h_share) / 2
        g_standard += weight * g_rate
        h_standard += weight * h_rate
        differences.append(g_rate - h_rate)
    for table, difference in zip(tables, differences, strict=True):
        if _opposes(difference, crude):
            opposite += table.people / (g_people + h_people)
    standardized = g_standard - h_standard
    crude_pair = (
        sum((table.g_over for table in tables), Fraction(0)) / g_people,
        sum((table.h_over for table in tables), Fraction(0)) / h_people,
    )
    return Reversal(
        kind=_kind(crude_pair, (g_standard, h_standard), tables, opposite, floor, odds),
        crude=crude,
        crude_everybody=everybody,
        standardized=standardized,
        standardized_pair=(g_standard, h_standard),
        strata=_strata(estimable),
        not_estimable=aside,
        composition=composition,
        within=within,
        opposite_weight_share=opposite,
        reversed_strata=sum(_opposes(difference, crude) for difference in differences),
        estimable_strata=len(tables),
        mantel_haenszel_odds_ratio=_mantel_haenszel(tables),
    )


def _not_estimable(tables: Mapping[str, _Pair]) -> list[Stratum]:
    """Return the strata with one empty side, with their weights before the rest is renormalised."""
    occupied = {name: table for name, table in tables.items() if table.people > 0}
    if not occupied:
        return []
    return [
        stratum
        for stratum in _strata(occupied)
        if stratum["g_rate"] is None or stratum["h_rate"] is None
    ]


def reversals(
    rows: Sequence[Row],
    attribute: str,
    given: str,
    rate_name: str,
    task: Task,
    floor: Fraction = Fraction(0),
    odds: Fraction = Fraction(21, 20),
) -> dict[tuple[str, str], Reversal]:
    """Return what conditioning on `given` does to a rate, for every pair of levels by label.

    Everything is the first level minus, or over, the second, on complete cases and on strata
    where both have a denominator; `crude_everybody` alone is on all rows.
    """
    if rate_name not in SHARES:
        message = f"{rate_name} is not a share of people and can't be standardised"
        raise ValueError(message)
    taking_part = _taking_part(rate_name, rows, (attribute,), task)
    reversed_pairs: dict[tuple[str, str], Reversal] = {}
    for pair in combinations(sorted(str(level) for (level,) in taking_part), 2):
        by_stratum: dict[str, list[Row]] = {}
        for row in rows:
            stratum = row.groups[given]
            is_in_pair = row.groups[attribute] in pair
            if stratum is not None and is_in_pair and _has_what_the_rate_needs(row, rate_name):
                by_stratum.setdefault(stratum, []).append(row)
        tables = {
            name: _count_pair(rate_name, members, attribute, pair, task)
            for name, members in by_stratum.items()
        }
        estimable = {name: table for name, table in tables.items() if table.difference is not None}
        everybody = _count_pair(rate_name, rows, attribute, pair, task).difference
        aside = _not_estimable(tables)
        reversed_pairs[pair] = (
            _judge_pair(estimable, aside, everybody, Fraction(floor), Fraction(odds))
            if estimable
            else _without_support(everybody, aside)
        )
    return reversed_pairs


# --- Intervals ---------------------------------------------------------------------------------


def wilson(
    successes: Fraction | float, n: Fraction | float, confidence: float = 0.95
) -> tuple[float, float] | None:
    """Return Wilson's score interval of a share, undefined for nobody."""
    if n == 0:
        return None
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, people = float(successes) / float(n), float(n)
    centre = (share + z**2 / (2 * people)) / (1 + z**2 / people)
    half = z * math.sqrt(share * (1 - share) / people + z**2 / (4 * people**2))
    half /= 1 + z**2 / people
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return low, high

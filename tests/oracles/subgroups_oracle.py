"""Subgroups from rows, in plain Python: one loop a subgroup, fractions, and scipy's tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from scipy import stats
from stats_oracle import fisher, is_counted

Row = Mapping[str, str | None]
Name = frozenset[tuple[str, str]]
"""A subgroup by its conditions."""


@dataclass(frozen=True)
class People:
    """Rows that were recoded, each with its people, its label and its decision (None: unknown)."""

    groups: Sequence[Mapping[str, str | None]]
    label: Sequence[bool | None]
    decision: Sequence[bool | None]
    n: Sequence[int]

    def sides(self, rate: str) -> list[tuple[int, int]]:
        """What each row adds to numerator and denominator of a rate."""
        found = []
        for y, d, n in zip(self.label, self.decision, self.n, strict=True):
            under, over = {
                "selection_rate": (d is not None, d),
                "base_rate": (y is not None, y),
                "true_positive_rate": (y is True and d is not None, d),
                "false_positive_rate": (y is False and d is not None, d),
                "positive_predictive_value": (d is True and y is not None, y),
                "accuracy": (d is not None and y is not None, d == y),
            }[rate]
            found.append((n if under and over else 0, n if under else 0))
        return found

    def complete(self, rate: str) -> int:
        """The people of whom everything is known that the rate asks."""
        asks_label = rate != "selection_rate"
        asks_decision = rate != "base_rate"
        return sum(
            n for y, d, n in zip(self.label, self.decision, self.n, strict=True)
            if not (asks_label and y is None) and not (asks_decision and d is None)
        )  # fmt: skip


@dataclass(frozen=True)
class Found:
    """One subgroup: its integers, its divergence, and its test."""

    over: int
    under: int
    divergence: Fraction
    unfairness: Fraction
    p: float


def search(
    people: People, over: Sequence[str], rate: str, depth: int, min_size: int
) -> dict[Name, Found]:
    """Every subgroup that is large enough and not everybody."""
    sides = people.sides(rate)
    whole = sum(a for a, _ in sides), sum(n for _, n in sides)
    found = {}
    for name in names(people, over, depth):
        inside = [all(row[c] == level for c, level in name) for row in people.groups]
        a = sum(one[0] for one, mine in zip(sides, inside, strict=True) if mine)
        n = sum(one[1] for one, mine in zip(sides, inside, strict=True) if mine)
        if n < max(min_size, 1) or n == whole[1]:
            continue
        divergence = Fraction(a, n) - Fraction(*whole)
        share = Fraction(n, people.complete(rate))
        p = test(a, n, whole[0] - a, whole[1] - n)
        found[name] = Found(a, n, divergence, share * abs(divergence), p)
    return found


def names(people: People, over: Sequence[str], depth: int) -> set[Name]:
    """The conditions that somebody meets."""
    found = set()
    for size in range(1, depth + 1):
        for columns in combinations(over, size):
            for row in people.groups:
                known = {(name, row[name] or "") for name in columns if row[name] is not None}
                if len(known) == size:
                    found.add(frozenset(known))
    return found


def test(a: int, n: int, c: int, m: int) -> float:
    """The p-value of a of n against c of m."""
    hits, misses = a + c, n + m - a - c
    if not hits or not misses:
        return 1.0
    if is_counted(a, n, c, m):
        return fisher(a, n, c, m)[1]
    table = [[a, n - a], [c, m - c]]
    return float(stats.chi2_contingency(table, correction=False).pvalue)


def holm(ps: Iterable[float]) -> list[float]:
    """Adjusted p-values, by Holm's own words."""
    listed = list(ps)
    order = sorted(range(len(listed)), key=lambda at: listed[at])
    adjusted, least = [0.0] * len(listed), 0.0
    for rank, at in enumerate(order):
        least = max(least, min(1.0, (len(listed) - rank) * listed[at]))
        adjusted[at] = least
    return adjusted


def explained(
    found: Mapping[Name, Found], adjusted: Mapping[Name, float], alpha: float
) -> set[Name]:
    """The significant subgroups that a group which contains them explains."""
    out: set[Name] = set()
    doubtful: list[tuple[Name, float]] = []
    for name, one in found.items():
        if adjusted[name] >= alpha:
            continue
        for size in range(1, len(name)):
            for some in combinations(sorted(name), size):
                parent = found.get(frozenset(some))
                if parent is None or adjusted[frozenset(some)] >= alpha:
                    continue
                if parent.divergence * one.divergence <= 0:
                    continue
                if abs(one.divergence) <= abs(parent.divergence):
                    out.add(name)
                else:
                    rest = parent.over - one.over, parent.under - one.under
                    doubtful.append((name, test(one.over, one.under, *rest)))
    corrected = holm(p for _, p in doubtful)
    return out | {name for (name, _), p in zip(doubtful, corrected, strict=True) if p >= alpha}


def benjamini_hochberg(ps: Iterable[float]) -> list[float]:
    """Adjusted p-values, by scipy."""
    return [float(p) for p in stats.false_discovery_control(list(ps))]

"""The scan for Simpson's reversals that a spec asks for: its rates, columns, pairs and limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations

from fairaudit.cube import Grouping
from fairaudit.errors import did_you_mean
from fairaudit.metrics.terms import Inference
from fairaudit.simpson import PairChoice, ReversalScan
from fairaudit.spec import schema
from fairaudit.spec.groupings import Groupings
from fairaudit.spec.model import Outcome, Protected
from fairaudit.spec.scans import Fault, chosen_outcome, chosen_rates
from fairaudit.spec.text import Document, Path
from fairaudit.verdict import ReversalCheck, ReversalLimit

_MOST_TOGETHER = 3
"""Of more columns held fixed together hardly anybody is left in a stratum."""

_HERE = "simpson"


def read_scan(
    document: Document,
    shape: schema.AuditSpec,
    groupings: Groupings,
    outcomes: Mapping[str, Outcome],
    of: str,
    protected: Sequence[Protected],
    inference: Inference,
    fault: Fault,
) -> tuple[ReversalScan | None, list[ReversalCheck]]:
    """The scan of a spec, None where nothing can be held fixed, and a gate for each of its rates.

    Whatever stands in its way is told to `fault`, with its path.
    """
    asked = shape.simpson
    gated = asked.fail is not None or asked.warn is not None
    of = chosen_outcome((_HERE, "of"), asked.of, of, outcomes, fault, gated=gated)
    rates = []
    if outcomes[of].binary or asked.rates:
        rates = chosen_rates(_HERE, asked.rates, of, outcomes, fault, so="none to reverse")
    by = _columns((_HERE, "by"), asked.by, groupings.protected, fault)
    given = _held_fixed(asked, (*groupings.protected, *groupings.strata), fault)
    references = {one.name: one.reference.value for one in protected if one.reference}
    conditioned = asked.search or any(name not in names for names in given for name in by)
    if not (0 <= asked.min_gap < 1):
        fault((_HERE, "min_gap"), "the floor of a gap is between 0 and 1")
    if (gated or asked.search) and not rates:
        what = "a gate on" if gated else "a search for"
        fault((_HERE,), f"{what} reversals needs a rate: `rates: [selection_rate]`")
    elif gated and not conditioned:
        fault((_HERE,), "no second column to condition on: name strata")
    without = [one for one in by if one not in references]
    if without and asked.pairs is PairChoice.REFERENCE:
        fault((_HERE, "pairs"), f"{', '.join(without)} has no declared `reference`")
    scan = ReversalScan(
        rates=tuple(rates),
        of=of,
        attributes=by,
        given=given,
        floor=Fraction(asked.min_gap),
        references=references,
        pairs=asked.pairs,
        minimum=shape.groups.minimum,
        inference=inference,
        search=asked.search,
    )
    gates = [
        ReversalCheck(
            id=f"simpson_reversal/{rate.id}/{of}",
            rate=rate.id,
            of=of,
            warn=_limit(asked.warn),
            fail=_limit(asked.fail),
            inference=inference,
            place=document.place((_HERE, "fail"), key=True),
        )
        for rate in rates
        if gated
    ]
    return (scan if rates and conditioned else None), gates


def _limit(limit: schema.Turned | None) -> ReversalLimit | None:
    return None if limit is None else ReversalLimit(limit.kind, limit.significant)


def _held_fixed(asked: schema.Simpson, known: Sequence[str], fault: Fault) -> tuple[Grouping, ...]:
    """The columns that are held fixed, one by one and together."""
    given: list[Grouping] = []
    for at, names in enumerate(asked.given):
        path: Path = (_HERE, "given", at)
        if len(names) == 1:
            # A column by itself, or the word that stands for each.
            given += [(name,) for name in _named(path, names[0], known, fault)]
        elif columns := _columns(path, names, known, fault):
            given.append(columns)
    if not 1 <= asked.together <= _MOST_TOGETHER:
        message = f"from 1 to {_MOST_TOGETHER} columns are held fixed together"
        fault((_HERE, "together"), message)
    alone = [names[0] for names in given if len(names) == 1]
    for size in range(2, min(asked.together, _MOST_TOGETHER) + 1):
        given += combinations(alone, size)
    first: dict[frozenset[str], Grouping] = {}
    for grouping in given:
        first.setdefault(frozenset(grouping), grouping)
    return tuple(first.values())


def _columns(path: Path, names: Iterable[str], known: Sequence[str], fault: Fault) -> Grouping:
    chosen: dict[str, None] = {}
    for at, name in enumerate(names):
        chosen |= dict.fromkeys(_named((*path, at), name, known, fault))
    return tuple(chosen)


def _named(path: Path, name: str, known: Sequence[str], fault: Fault) -> Grouping:
    """The column of that name, or all where the word for them stands."""
    if name in {"each", "all"}:
        return tuple(known)
    if name not in known:
        fault(path, f"no such column: {name!r}{did_you_mean(name, known)}")
        return ()
    return (name,)

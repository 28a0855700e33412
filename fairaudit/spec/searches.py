"""Reads `simpson` and `subgroups`: the two searches, and the checks that judge their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import chain, combinations
from math import comb
from typing import TypeAlias

from fairaudit.base.disclosure_marks import Notice, Subjects
from fairaudit.base.errors import did_you_mean, suggest_known
from fairaudit.cube import Grouping
from fairaudit.judge import Check, Limit, ReversalCheck, SubgroupCheck
from fairaudit.judge.simpson import DEFAULT_ODDS_RATIO, PairChoice, ReversalScan
from fairaudit.judge.subgroups import MOST_DEEP, SearchScope, SubgroupSearch
from fairaudit.metrics import Disparity, Rate, find_metric, list_quantities
from fairaudit.metrics.rates import SELECTION_RATE
from fairaudit.spec import key_schema
from fairaudit.spec.column_model import OutcomeKind
from fairaudit.spec.entries import Context, explain_score, find_unmet, quote_limits
from fairaudit.spec.text import Path, SpecReader

_Suggest: TypeAlias = Callable[[str, Sequence[str]], str]

_MOST_TOGETHER = 3
"""The maximum of `together`. With more columns, strata have hardly any people."""

_MOST_COMBINATIONS = 2_000
"""The maximum number of combinations of columns that are searched for subgroups."""


def read_scan(context: Context) -> tuple[ReversalScan | None, list[ReversalCheck]]:
    """The scan for reversals (None if no column can be held fixed), and a check for each rate."""
    reader, shape = context.reader.at("simpson"), context.shape.simpson
    gated = shape.fail is not None or shape.warn is not None
    if not shape.scan:
        if gated:
            reader.fault(("scan",), "a limit on reversals needs `scan: true`")
        return None, []
    of = _read_outcome(context, "simpson", shape.of, gated=gated)
    rates = []
    if context.outcomes[of].binary or shape.rates:
        rates = _read_rates(context, "simpson", shape.rates, of)
    protected = context.columns.attributes
    by = _read_columns(reader.at("by"), shape.by, protected)
    given = _read_given(reader, shape, (*protected, *context.columns.factors))
    references = context.columns.references
    is_conditioned = any(name not in names for names in given for name in by)
    if shape.min_odds_ratio is not None and shape.min_odds_ratio < 1:
        reader.fault(("min_odds_ratio",), "`min_odds_ratio` must be at least 1")
    if shape.min_gap is not None and not (0 <= shape.min_gap < 1):
        reader.fault(("min_gap",), "`min_gap` must be between 0 and 1")
    if gated and not rates:
        reader.fault((), "a limit on reversals needs a rate: `rates: [selection_rate]`")
    elif gated and not is_conditioned:
        reader.fault((), "the search for reversals needs a second column: declare strata")
    without = [name for name in by if name not in references]
    if without and shape.pairs is PairChoice.REFERENCE:
        reader.fault(("pairs",), f"{', '.join(without)} has no `reference`")
    odds = DEFAULT_ODDS_RATIO if shape.min_gap is None else Fraction(1)
    scan = ReversalScan(
        rates=tuple(rates),
        of=of,
        attributes=by,
        given=given,
        floor=Fraction(shape.min_gap or 0),
        odds=odds if shape.min_odds_ratio is None else Fraction(shape.min_odds_ratio),
        references=references,
        pairs=shape.pairs,
        minimum=context.shape.groups.minimum,
        inference=context.shape.inference,
    )
    gates = [
        ReversalCheck(
            id=f"simpson_reversal/{rate.id}/{of}",
            rate=rate.id,
            of=of,
            warn=shape.warn,
            fail=shape.fail,
            inference=context.shape.inference,
            scope=scan.scope,
            place=reader.document.place(("simpson", "fail"), key=True),
            about=shape.about,
            source=quote_limits(reader.document, ("simpson",)),
            accept_left_out=shape.accept_left_out or context.shape.defaults.accept_left_out,
        )
        for rate in rates
        if gated
    ]
    return (scan if rates and is_conditioned else None), gates


def notice_unsearched_rates(
    context: Context, scan: ReversalScan | None, checks: Iterable[Check]
) -> Iterator[Notice]:
    """A notice on rates that checks compare over strata but the default scan leaves out."""
    if scan is None or context.shape.simpson.rates is not None:
        return
    compared, within = dict[str, None](), {SELECTION_RATE.id}
    for check in checks:
        rates = [one.id for one in list_quantities(check.metric) if isinstance(one, Rate)]
        if check.given:
            within |= {*rates}
        elif isinstance(check.metric, Disparity) and check.of == scan.of and check.terms.at is None:
            compared |= dict.fromkeys(rates)
    names = [name for name in compared if name not in within]
    if names and {*context.columns.factors} & {*chain(*scan.given)}:
        searched = ", ".join([SELECTION_RATE.id, *names])
        yield Notice(
            "Simpson's reversals are searched in the selection rate only, although checks compare "
            f"other rates: to search these as well, set `simpson: {{rates: [{searched}]}}`",
            Subjects.NOBODY,
        )


def _read_given(
    reader: SpecReader, shape: key_schema.Simpson, known: Sequence[str]
) -> tuple[Grouping, ...]:
    """The groupings that are held fixed: single columns, and combinations of columns."""
    given: list[Grouping] = []
    for number, names in enumerate(shape.given):
        at = reader.at("given", number)
        if len(names) == 1:
            # One column, or the word for each column.
            given += [(name,) for name in _read_column(at, names[0], known)]
        elif columns := _read_columns(at, names, known):
            given.append(columns)
    if not 1 <= shape.together <= _MOST_TOGETHER:
        reader.fault(("together",), f"`together` must be a number from 1 to {_MOST_TOGETHER}")
    alone = [names[0] for names in given if len(names) == 1]
    for size in range(2, min(shape.together, _MOST_TOGETHER) + 1):
        given += combinations(alone, size)
    first: dict[frozenset[str], Grouping] = {}
    for grouping in given:
        first.setdefault(frozenset(grouping), grouping)
    return tuple(first.values())


def _read_columns(
    reader: SpecReader, names: Iterable[str], known: Sequence[str], suggest: _Suggest = did_you_mean
) -> Grouping:
    columns: dict[str, None] = {}
    for number, name in enumerate(names):
        columns |= dict.fromkeys(_read_column(reader.at(number), name, known, suggest))
    return tuple(columns)


def _read_column(
    reader: SpecReader, name: str, known: Sequence[str], suggest: _Suggest = did_you_mean
) -> Grouping:
    """The column with a name, or all columns if the name is `each` or `all`."""
    if name in {"each", "all"}:
        return tuple(known)
    if name not in known:
        reader.fault((), f"unknown column: {name!r}{suggest(name, known)}")
        return ()
    return (name,)


def read_subgroup_search(context: Context) -> tuple[SubgroupSearch | None, list[SubgroupCheck]]:
    """The search for subgroups, if the spec has one, and a check for each rate."""
    reader, shape = context.reader.at("subgroups"), context.shape.subgroups
    columns = context.shape.columns
    features = tuple(feature.name for feature in context.columns.features)
    if shape is None:
        if features:
            message = "features are only used by `subgroups`: add `subgroups:`"
            context.reader.fault(("columns", "features"), message)
        return None, []
    known = (*columns.protected, *columns.strata, *features)
    over = _read_columns(reader.at("over"), shape.over, known, suggest_known)
    _refuse_search(context, reader, shape, over)
    gated = shape.fail is not None or shape.warn is not None
    of = _read_outcome(context, "subgroups", shape.of, gated=gated)
    if shape.rates == []:
        reader.fault(("rates",), "name at least one rate, such as `selection_rate`")
    rates = _read_rates(context, "subgroups", shape.rates, of)
    search = SubgroupSearch(
        rates=tuple(rates),
        of=of,
        over=over,
        depth=shape.depth,
        min_size=shape.min_size,
        top=shape.top,
        inference=context.shape.inference,
    )
    warn = _read_divergence(reader.at("warn"), shape.warn)
    fail = _read_divergence(reader.at("fail"), shape.fail)
    side = "warn" if shape.fail is None else "fail"
    checks = [
        SubgroupCheck(
            id=f"subgroup_divergence/{rate.id}/{of}",
            rate=rate.id,
            of=of,
            inference=context.shape.inference,
            scope=SearchScope(search.over, search.depth, search.min_size),
            warn=warn,
            fail=fail,
            place=reader.document.place(("subgroups", side), key=True),
            about=shape.about,
            source=quote_limits(reader.document, ("subgroups",)),
            accept_left_out=shape.accept_left_out or context.shape.defaults.accept_left_out,
        )
        for rate in rates
        if warn or fail
    ]
    return search, checks


def _refuse_search(
    context: Context, reader: SpecReader, search: key_schema.Subgroups, over: Grouping
) -> None:
    """Adds faults of wrong sizes, and of rules that drop rows which `features` would count."""
    shape, outcomes = context.shape, context.outcomes
    numbers = any(outcome.kind is OutcomeKind.NUMBER for outcome in outcomes.values())
    drops_rows = {
        "strata": True,
        "score": any(outcome.score is not None for outcome in outcomes.values()),
        "numbers": numbers,
        "label": "label" in outcomes and outcomes["label"].kind is OutcomeKind.NUMBER,
        "prediction": numbers,
    }
    for role, is_there in drops_rows.items():
        if context.columns.features and is_there and getattr(shape.missing, role) == "drop":
            what = "subgroups by `features` would count rows that this rule drops"
            context.reader.fault(("missing", role), f"{what}: write `aside`, or remove `features`")
    if not search.over:
        reader.fault(("over",), "list the columns for the subgroups, or use `all`")
    if not 1 <= search.depth <= MOST_DEEP:
        reader.fault(("depth",), f"`depth` must be a number from 1 to {MOST_DEEP}")
        return
    for key in ("min_size", "top"):
        if getattr(search, key) < 1:
            reader.fault((key,), f"`{key}` must be 1 or more")
    deepest = min(search.depth, len(over))
    count = sum(comb(len(over), size) for size in range(1, deepest + 1))
    if count > _MOST_COMBINATIONS:
        what = f"{len(over)} columns and `depth: {search.depth}` make {count:,} combinations"
        hint = "use fewer columns in `over`, or lower `depth`"
        reader.fault((), f"{what}, and the maximum is {_MOST_COMBINATIONS:,}: {hint}")


def _read_divergence(reader: SpecReader, bound: key_schema.Bound | None) -> Limit | None:
    """The limit on the difference between a subgroup and all people, in both directions."""
    if bound is None:
        return None
    if bound.conclusive:
        what = "subgroups cannot have `conclusive`, because the search picks the largest difference"
        reader.fault(("conclusive",), f"{what}: use `significant`")
    if bound.below is not None or bound.above is None:
        reader.fault((), "a limit on subgroups needs `above`, which applies to both directions")
        return None
    if not 0 <= Fraction(bound.above) < 1:
        percent = 1 <= bound.above <= 100
        hint = f"; write {bound.above / 100} for {bound.above} points" if percent else ""
        reader.fault(("above",), f"a difference of rates must be between 0 and 1{hint}")
        return None
    return Limit(above=bound.above, significant=bound.significant)


def _read_outcome(context: Context, key: str, name: str | None, *, gated: bool) -> str:
    """The outcome of a search; with several models, a search with a limit must name one."""
    outcomes, first = context.outcomes, context.columns.first
    if not outcomes[first].has_classes and context.columns.label is not None:
        first = "label"
    if name is None:
        others = [of for of in outcomes if of not in {"label", first} and outcomes[of].binary]
        if gated and first != "label" and others:
            candidates = ", ".join([first, *others])
            message = f"name one outcome for the limit ({candidates}): `of: {first}`"
            context.reader.fault((key,), message)
        elif gated and (why := explain_score(context)):
            context.reader.fault((key,), why)
        return first
    if name not in outcomes:
        hint = suggest_known(name, outcomes)
        context.reader.fault((key, "of"), f"unknown outcome: {name!r}{hint}")
        return first
    return name


def _read_rates(context: Context, key: str, names: Sequence[str] | None, of: str) -> list[Rate]:
    """The rates of a search without repeats; by default the selection rate."""
    rates: dict[str, Rate] = {}
    for number, name in enumerate(["selection_rate"] if names is None else names):
        path: Path = (key,) if names is None else (key, "rates", number)
        rate = find_metric(name)
        if not isinstance(rate, Rate) or not rate.of_group:
            what = f"{name!r} is not a share of the people of a group: use a rate"
            context.reader.fault(path, what)
        elif why := find_unmet(rate, of, context.outcomes):
            context.reader.fault(path, why)
        else:
            rates.setdefault(rate.id, rate)
    return list(rates.values())

"""Profile of a data file for `fairaudit init`: numbers, levels, counts; which tables hold groups.

Memory does not grow with the rows: distinct values are counted by HyperLogLog, texts and their
counts are of the first rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import polars as pl

from fairaudit.base.frozen import Frozen, field
from fairaudit.counting.columns import CsvFormat
from fairaudit.counting.sources.batches import batches, collect, own
from fairaudit.counting.sources.column_checks import is_pattern
from fairaudit.counting.sources.readers import open_file
from fairaudit.counting.sources.sources import begin_pass

_SAMPLE = 50_000
_MOST_VALUES = 60
_MOST_DISTINCT = 5_000


class ColumnProfile(Frozen):
    """A column: how many values it has, how many of them are numbers, and which are common.

    `distinct` is about right where it is large. `values` are the commonest of the first rows,
    each with its count; `is_whole` tells that no other value is known. Of `numbers` so many values
    are `whole`; they lie between `low` and `high`.
    """

    name: str
    is_unique: bool
    present: int
    distinct: int
    values: tuple[tuple[str, int], ...]
    is_whole: bool
    numbers: int = 0
    whole: int = 0
    low: float | None = None
    high: float | None = None


class FileProfile(Frozen):
    """A file: its rows and columns. `count` is a column of counts, where one row is one group.

    `counts` are columns that count people side by side, in such a table, by what they count.
    """

    rows: int
    columns: tuple[ColumnProfile, ...]
    count: str | None
    counts: Mapping[str, str] = field(default_factory=dict)


def profile_file(
    path: Path,
    form: CsvFormat,
    is_like_count: Callable[[str], bool],
    pair_counts: Callable[[Sequence[str]], Iterable[Mapping[str, str]]],
) -> FileProfile:
    """The profile of a file; raises `DataError` where it cannot be read.

    By their names `is_like_count` says which columns may be counts, and `pair_counts` which may
    stand side by side: by what each counts, the `total` where there is one.
    """
    with begin_pass([path]) as copies:
        file = open_file(path, form, copies)
        (batch,) = batches([file], form.separator)
        schema = batch.frame.collect_schema()
        names = [name for name, dtype in schema.items() if _is_flat(dtype) and not is_pattern(name)]
        written = dict(zip(schema.names(), file.header, strict=False))
        texts = batch.frame.select(pl.col(name).cast(pl.String) for name in names)
        sample = collect(texts.head(_SAMPLE), batch)
        is_cut = sample.height == _SAMPLE
        facts = collect(_measure(texts, sample, form), batch).row(0, named=True)
    columns = []
    uses = Counter(file.header)
    for place, name in enumerate(names):
        counted = sample[name].drop_nulls().value_counts()
        values = sorted(counted.iter_rows(), key=lambda row: (-row[1], row[0]))
        values = [(text, n) for text, n in values if text]
        distinct = facts.get(f"{place}d", len(values)) if is_cut else len(values)
        columns.append(
            ColumnProfile(
                name=written[name],
                is_unique=uses[written[name]] == 1,
                present=facts[f"{place}p"],
                distinct=max(distinct, len(values)),
                values=tuple(values[:_MOST_VALUES]),
                is_whole=len(values) <= _MOST_VALUES and distinct <= len(values) + 1,
                numbers=facts.get(f"{place}n", 0),
                whole=facts.get(f"{place}w", 0),
                low=facts.get(f"{place}l"),
                high=facts.get(f"{place}h"),
            )
        )
    count = next((name for name in names if is_like_count(name) and _is_table(sample, name)), None)
    pairs = pair_counts(names) if not is_cut else ()
    counts = next((pair for pair in pairs if _are_side_by_side(sample, form, pair)), {})
    return FileProfile(facts["rows"], tuple(columns), count, counts)


def _are_side_by_side(sample: pl.DataFrame, form: CsvFormat, counts: Mapping[str, str]) -> bool:
    """Whether columns count people of one group a row: whole numbers, none above its total.

    What is 0 or 1 in every row is no count, but a person's own value.
    """
    numbers = sample.select(_as_number(pl.col(name), form) for name in counts.values())
    whole = numbers.select(pl.all_horizontal(pl.all().is_not_null() & (pl.all() >= 0)).all()).item()
    if not whole or not numbers.equals(numbers.with_columns(pl.all().round())):
        return False
    total = counts.get("total")
    parts = numbers.drop(total) if total is not None else numbers
    if parts.max_horizontal().max() in {None, 0, 1}:
        return False
    if total is not None and (parts.sum_horizontal() > numbers[total]).any():
        return False
    others = sample.drop(counts.values())
    groups = [
        name
        for name in others.columns
        if others[name].n_unique() <= sample.height / 2 + 1
        or (sample.height <= _MOST_VALUES and _holds_words(others[name], form))
    ]
    return bool(groups) and bool(others.select(groups).is_unique().all())


def _holds_words(texts: pl.Series, form: CsvFormat) -> bool:
    """Whether no value is a number."""
    return bool(
        texts.to_frame().select(_as_number(pl.col(texts.name), form).is_null().all()).item()
    )


def _is_table(sample: pl.DataFrame, count: str) -> bool:
    """Whether each row is a combination of few levels, which stands nowhere else."""
    others = sample.drop(count)
    if not others.width:
        return False
    few = all(others[name].n_unique() <= sample.height / 2 + 1 for name in others.columns)
    return few and bool(others.is_unique().all())


def _is_flat(dtype: pl.DataType) -> bool:
    """Whether values of a type are texts, numbers, dates: none is made of others."""
    return not dtype.is_nested() and dtype not in {pl.Binary, pl.Null, pl.Object}


def _measure(texts: pl.LazyFrame, sample: pl.DataFrame, form: CsvFormat) -> pl.LazyFrame:
    """One row with what is counted of each column, by its place.

    Numbers are looked for where the first rows have some, distinct values where those repeat.
    """
    facts, numbers = [pl.len().alias("rows")], list[pl.Expr]()
    for place, name in enumerate(sample.columns):
        first = _as_number(pl.col(name), form)
        facts.append((pl.col(name) != "").sum().alias(f"{place}p"))
        if sample[name].n_unique() < _MOST_DISTINCT:
            facts.append(pl.col(name).approx_n_unique().alias(f"{place}d"))
        if sample[name].to_frame().select(first.is_not_null().any()).item():
            number = pl.col(own(f"number{place}"))
            numbers.append(first.alias(own(f"number{place}")))
            facts += [
                number.is_not_null().sum().alias(f"{place}n"),
                (number == number.round()).sum().alias(f"{place}w"),
                number.min().alias(f"{place}l"),
                number.max().alias(f"{place}h"),
            ]
    return texts.with_columns(numbers).select(facts)


def _as_number(text: pl.Expr, form: CsvFormat) -> pl.Expr:
    """A text as a finite number; null where it is none."""
    bare = text.str.strip_chars()
    bare = bare.str.replace_all(form.thousands, "", literal=True) if form.thousands else bare
    bare = bare.str.replace(",", ".", literal=True) if form.decimal == "," else bare
    number = bare.cast(pl.Float64, strict=False)
    return pl.when(number.is_finite()).then(number)

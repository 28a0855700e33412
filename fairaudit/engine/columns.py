"""Whether the columns that a plan needs are in the files, once each, and of one type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from fairaudit.disclosure import Notice, Subjects
from fairaudit.engine.sources import SourceFile
from fairaudit.errors import Fault, SpecError, did_you_mean
from fairaudit.names import quoted
from fairaudit.plan import Plan
from fairaudit.spec import Text


def check_columns(plan: Plan, sources: Sequence[SourceFile]) -> list[Notice]:
    """Every column that is needed but not there, or twice in a Parquet file; notices of the rest.

    Columns of one name in text and in frames are compared where their rows are read.
    """
    faults: list[Fault] = []
    notices: list[Notice] = []
    texts = dict.fromkeys([*plan.texts, *_filter_columns(plan.filter)])
    needed = {text.value for text in texts}
    for file in sources:
        repeated = {name: times for name, times in Counter(file.header).items() if times > 1}
        where = f" in {file.file.path}" if len(sources) > 1 else ""
        for text in texts:
            if text.value not in file.header:
                hint = did_you_mean(text.value, file.header) or f"; there are {_some(file.header)}"
                if text.path == "filter":
                    hint += "; a text stands in single quotes: '…'"
                faults.append(text.fault(f"no column {quoted(text.value)}{where}{hint}"))
            elif text.value in repeated:
                what = f"{repeated[text.value]} columns are named {quoted(text.value)}"
                if file.layout is not None:
                    faults.append(text.fault(f"{what}{where}"))
                else:
                    what = f"{what} in {file.file.path}: equal in every row, and read as one"
                    notices.append(Notice(what, Subjects.NOBODY))
        unneeded = sorted(set(repeated) - needed)
        if unneeded:
            names = ", ".join(quoted(name) for name in unneeded)
            what = f"{file.file.path} repeats column names that are not audited: {names}"
            notices.append(Notice(what, Subjects.NOBODY))
    if faults:
        raise SpecError(dict.fromkeys(faults))
    levels = {key.column for key in plan.every_key if key.edges is None}
    return [*dict.fromkeys(notices), *_types_that_differ(sources, levels)]


def columns_read(plans: Sequence[Plan], header: Sequence[str]) -> set[str]:
    """The columns of a file that some pass of these plans reads."""
    if any(plan.search for plan in plans):
        # Which of them become candidates is told by their values.
        return {*header}
    texts = (text for plan in plans for text in (*plan.texts, *_filter_columns(plan.filter)))
    return {text.value for text in texts}


def _types_that_differ(sources: Sequence[SourceFile], columns: Iterable[str]) -> Iterator[Notice]:
    """Notices on columns that Parquet files hold in different types: levels join by their text."""
    for name in sorted(columns):
        first: dict[str, str] = {}
        for file in sources:
            if name in file.types:
                first.setdefault(file.types[name].removeprefix("large_"), file.file.path)
        if len(first) > 1:
            where = ", ".join(f"{kind} in {path}" for kind, path in first.items())
            what = f"{quoted(name)} differs in type from file to file: {where}"
            yield Notice(what, Subjects.NOBODY)


def _filter_columns(text: Text | None) -> list[Text]:
    """The columns that a filter looks at, each at the filter's place."""
    if text is None:
        return []
    from fairaudit.engine import filter as filters

    return [Text(name, text.path, text.place, text.source) for name in filters.parse(text).columns]


def _some(names: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(quoted(name) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown

"""The one pass: files and a plan in, raw counts out. To add an engine, add a file beside polars.py.

Polars lives in this package and nowhere else; it is imported where its route runs.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fairaudit import memory
from fairaudit.counts import Counts
from fairaudit.disclosure import Notice, Subjects
from fairaudit.engine.candidates import choose, fitness, of_few_levels, with_candidates
from fairaudit.engine.columns import check_columns, columns_read
from fairaudit.engine.copies import Copies
from fairaudit.engine.csv_text import (
    copied,
    is_utf8,
    line_of,
    read_header,
)
from fairaudit.engine.files import find_files, kind_of
from fairaudit.engine.merging import merge_counts
from fairaudit.engine.parquet import check_pages
from fairaudit.engine.partial_counts import PartialCounts
from fairaudit.engine.plain_csv import plain_lines
from fairaudit.engine.sources import (
    CheckedFile,
    SourceFile,
    parquet_footer,
    source,
)
from fairaudit.errors import DataError, FairauditError, OutOfMemory, Seek, SpecError, UsageError
from fairaudit.names import quoted
from fairaudit.plan import MOST_CELLS, Plan, united
from fairaudit.progress import SILENT, Progress
from fairaudit.result import DataFile
from fairaudit.spec import CsvFormat, Cut, Quantile

if TYPE_CHECKING:
    from fairaudit.engine.numbers import Batch

Found = TypeVar("Found")

_THREADS = "POLARS_MAX_THREADS"

Outcome = Counts | FairauditError
"""What comes of a pass: counts, or why there are none."""


def _pass(paths: Sequence[Path]) -> Copies:
    """Room for the copies that a pass makes; raises `OutOfMemory` where there is none for itself.

    A limit on memory that is met in the middle of it would abort Polars, or let it wait for ever.
    """
    if memory.is_limited():
        mapped = sum(path.stat().st_size for path in paths if kind_of(path) == "csv")
        if not memory.has_room_for_engine(mapped):
            room = f"{(memory.ENGINE + mapped) / 1e9:.1f} GB of address space"
            written = f"{memory.WRITTEN / 1e9:.1f} GB of data"
            raise OutOfMemory(f"out of memory: an audit of these files needs {room}, {written}")
    return Copies()


def count_files(
    plan: Plan, entries: Sequence[str], base: Path, progress: Progress = SILENT
) -> Counts:
    """The counts of the files that paths, folders and globs name, in one pass."""
    (counts,) = count_together([plan], entries, base, progress)
    return _sound(counts)


def count_together(
    plans: Sequence[Plan], entries: Sequence[str], base: Path, progress: Progress = SILENT
) -> list[Outcome]:
    """The counts for several plans of the same files and format, in as few passes as it takes.

    Each holds the plan that it was counted by: what is finer is rolled up by recoding.
    """
    paths, left_out = find_files(entries, base)
    form = plans[0].format
    found: dict[int, Outcome] = {}
    notices: dict[int, list[Notice]] = {}
    with _pass(paths) as copies:
        opened = [_opened(path, form, copies) for path in paths]
        for at, plan in enumerate(plans):
            try:
                notices[at] = [*left_out, *check_columns(plan, opened)]
            except SpecError as error:
                found[at] = error
        asked = {at: plans[at] for at in notices}
        if asked:
            counted = [plans[at] for at in notices]
            ready = [_guarded(one, counted, copies, progress) for one in opened]
            for at in [at for at, plan in asked.items() if plan.search]:
                try:
                    asked[at] = _with_candidates(asked[at], ready)
                except FairauditError as error:
                    del asked[at]
                    found[at] = error
            for plan, members in _shared(asked, ready, notices):
                found |= _in_one_pass(plan, {at: asked[at] for at in members}, ready, progress)
    for at, told in notices.items():
        counts = found[at]
        if isinstance(counts, Counts):
            found[at] = replace(counts, notices=(*told, *counts.notices))
    return [found[at] for at in range(len(plans))]


def _with_candidates(plan: Plan, ready: Sequence[CheckedFile]) -> Plan:
    """The plan with the candidates of its search, where it has one, by the first rows."""
    if plan.search is None:
        return plan
    sources = [one.source for one in ready]
    headers = [one.header for one in sources]
    if not plan.filter and all(one.kind == "parquet" for one in sources):
        fit = fitness(plan.search, headers)
        names = [name for name, why in fit.items() if why is None]
        few = of_few_levels(names, sources, plan.tokens)
        if few is not None:
            return with_candidates(plan, plan.search, fit, few)
    from fairaudit.engine import scan

    batches = scan.batches(sources, plan.format.separator)
    return choose(batches, plan, headers)


def _shared(
    plans: Mapping[int, Plan], ready: Sequence[CheckedFile], notices: Mapping[int, list[Notice]]
) -> list[tuple[Plan, list[int]]]:
    """Which plans share a pass: greedily, while their cells stay within the budget."""
    groups: list[tuple[Plan, list[int]]] = []
    for at, plan in plans.items():
        for place, (old, members) in enumerate(groups):
            both = united([old, plan])
            if both is None:
                continue
            if both == old or _estimated(both, ready) <= MOST_CELLS:
                groups[place] = both, [*members, at]
                break
            what = (
                f"counted in a pass of its own: with other specs there would be over "
                f"{MOST_CELLS:,} combinations of levels"
            )
            notices[at].append(Notice(what, Subjects.NOBODY))
        else:
            groups.append((plan, [at]))
    return groups


def _estimated(plan: Plan, ready: Sequence[CheckedFile]) -> float:
    """About how many cells a plan has, by a sample of the first file; infinite if it has none."""
    from fairaudit.engine import scan

    try:
        return scan.estimated_cells(ready[0].source, plan)
    except FairauditError:
        # Each plan by itself will tell what is wrong.
        return math.inf


def _in_one_pass(
    plan: Plan, members: Mapping[int, Plan], ready: Sequence[CheckedFile], progress: Progress
) -> dict[int, Outcome]:
    """The counts for all plans that share a pass; where it fails, each by itself tells why."""
    try:
        counted, route = _by_route(plan, ready, progress, apart=False)
        whole = [_sound(one) for each in counted.values() for one in each]
        counts = _with_medians(
            merge_counts(plan, whole, ready, route), [one.source for one in ready]
        )
    except FairauditError as error:
        if len(members) == 1:
            return dict.fromkeys(members, error)
        alone = [_in_one_pass(one, {at: one}, ready, progress) for at, one in members.items()]
        return {at: found for each in alone for at, found in each.items()}
    return dict.fromkeys(members, counts)


def _with_medians(counts: Counts, data: Sequence[SourceFile] | Batch) -> Counts:
    """The counts with the exact medians of scores, by a pass over each whose bins do not tell."""
    medians = {}
    for column in counts.plan.medians:
        scores = counts.scores.get(column)
        between = None if scores is None else scores.median_range
        if between is not None and between[0] < between[1]:
            from fairaudit.engine import quantiles

            medians[column] = quantiles.median(data, counts.plan, column, between)
    return replace(counts, medians=medians)


def count_each(
    plan: Plan, entries: Sequence[str], base: Path, progress: Progress = SILENT
) -> dict[str, Outcome]:
    """The counts of each file by its name, from one scan; a file that fails has its error."""
    paths, left_out = find_files(entries, base)
    found: dict[str, Outcome] = {}
    notices: dict[str, list[Notice]] = {}
    ready: list[CheckedFile] = []
    with _pass(paths) as copies:
        for path in paths:
            try:
                one = _opened(path, plan.format, copies)
                notices[_name(path)] = [*left_out, *check_columns(plan, [one])]
                ready.append(_guarded(one, [plan], copies, progress))
            except FairauditError as error:
                found[_name(path)] = error
        found |= _apart(plan, ready, progress)
    for name, told in notices.items():
        cells = found[name]
        if isinstance(cells, Counts):
            found[name] = replace(cells, notices=(*told, *cells.notices))
    return {_name(path): found[_name(path)] for path in paths}


def _apart(plan: Plan, ready: Sequence[CheckedFile], progress: Progress) -> dict[str, Outcome]:
    """The counts of each file; where the scan fails, each file by itself tells which is bad."""
    try:
        if (plan.scores or plan.tables or plan.search) and len(ready) > 1:
            return _one_by_one(plan, ready, progress)
        plan = _with_candidates(plan, ready)
        counted, route = _by_route(plan, ready, progress, apart=len(ready) > 1)
    except FairauditError as error:
        if len(ready) == 1:
            return {ready[0].source.file.path: error}
        return _one_by_one(plan, ready, progress)
    found: dict[str, Outcome] = {}
    for one in ready:
        name = one.source.file.path
        try:
            counts = merge_counts(plan, [_sound(part) for part in counted[name]], [one], route)
            found[name] = _with_medians(counts, [one.source])
        except FairauditError as error:
            found[name] = error
    return found


def _one_by_one(plan: Plan, ready: Sequence[CheckedFile], progress: Progress) -> dict[str, Outcome]:
    """The counts of each file by a pass of its own: scores, tables, searches know no files."""
    alone = [_apart(plan, [one], progress) for one in ready]
    return {name: cells for each in alone for name, cells in each.items()}


def count_frame(plan: Plan, data: Any) -> Counts:  # noqa: ANN401  # any frame narwhals reads
    """The counts of a data frame: Polars (lazy or not), pandas, Arrow, DuckDB and more."""
    from fairaudit.engine import scan

    batch, rows = scan.batch_of(data)
    one = SourceFile(DataFile(scan.FRAME_NAME, 0, None), Path(), "frame", tuple(batch.schema))
    notices = check_columns(plan, [one])
    plan = choose([batch], plan, [one.header])
    counted = [_sound(part) for part in scan.count_batch(batch, plan).values()]
    route = "Polars streaming over a frame"
    counts = _with_medians(merge_counts(plan, counted, [CheckedFile(one, rows)], route), batch)
    return replace(counts, notices=(*notices, *counts.notices))


def locate(plan: Plan, entries: Sequence[str], base: Path, seek: Seek) -> str | None:
    """Where a sought value first stands: `file:line`, or the row where a file has no lines."""
    from fairaudit.engine import scan

    for path in find_files(entries, base)[0]:
        with _pass([path]) as copies:
            one = _opened(path, plan.format, copies)
            ready = _guarded(one, [plan], copies).source
            row = scan.first_row(ready, plan, seek)
            if row is not None and one.kind == "csv":
                return f"{one.file.path}:{line_of(one, plan.format, row)}"
        if row is not None:
            return f"{one.file.path}, row {row}"
    return None


def locate_error(error: DataError, plan: Plan, entries: Sequence[str], base: Path) -> DataError:
    """The error with the place of the first row that it is about, where that can be found."""
    spot = None
    if error.seek is not None:
        with contextlib.suppress(FairauditError):  # the first error is the one to tell
            spot = locate(plan, entries, base, error.seek)
    return error.found(spot) if spot else error


def find_cuts(
    plan: Plan,
    wanted: Sequence[Quantile],
    entries: Sequence[str],
    base: Path,
    progress: Progress = SILENT,
) -> dict[Quantile, Cut]:
    """The quantiles of columns of the files, by passes over each such column."""
    paths, _ = find_files(entries, base)
    with _pass(paths) as copies:
        opened = [_opened(path, plan.format, copies) for path in paths]
        check_columns(plan, opened)
        ready = [_guarded(one, [plan], copies, progress).source for one in opened]
        return _cuts(ready, plan, wanted)


def find_cuts_of_frame(plan: Plan, wanted: Sequence[Quantile], data: Any) -> dict[Quantile, Cut]:  # noqa: ANN401
    """The quantiles of columns of a data frame."""
    from fairaudit.engine import scan

    batch, _ = scan.batch_of(data)
    check_columns(
        plan, [SourceFile(DataFile(scan.FRAME_NAME, 0, None), Path(), "frame", tuple(batch.schema))]
    )
    return _cuts(batch, plan, wanted)


def _cuts(
    data: Sequence[SourceFile] | Batch, plan: Plan, wanted: Sequence[Quantile]
) -> dict[Quantile, Cut]:
    from fairaudit.engine import quantiles

    found: dict[Quantile, Cut] = {}
    for column in dict.fromkeys(column for column, _ in wanted):
        shares = [share for name, share in wanted if name == column]
        cuts = quantiles.cuts(data, plan, column, shares)
        found |= {(column, share): cut for share, cut in zip(shares, cuts, strict=True)}
    return found


def named_files(entries: Sequence[str], base: Path) -> dict[str, str]:
    """The files that paths, folders and globs name, as the report names them, each by itself."""
    return {_name(path): str(path) for path in find_files(entries, base)[0]}


def _name(path: Path) -> str:
    """A path as the report names it: from here, where it lies below; as text that can be told."""
    plain = Path(os.path.normpath(path))
    with contextlib.suppress(ValueError):
        plain = plain.absolute().relative_to(Path.cwd())
    return os.fsencode(plain).decode(errors="backslashreplace")


def _opened(path: Path, form: CsvFormat, copies: Copies) -> SourceFile:
    """A source with its columns; a CSV file in another encoding is copied to UTF-8 first."""
    threads = os.environ.get(_THREADS)
    if threads is not None and not re.fullmatch(r"0*[1-9][0-9]{0,2}", threads):
        what = f"{_THREADS} is {quoted(threads)}, which is no number of threads"
        raise UsageError(what, f"unset {_THREADS}, or set it to a whole number from 1 to 999")
    one = source(path, _name(path))
    if one.kind == "parquet":
        footer = parquet_footer(one)
        return replace(one, header=footer.names, layout=footer.layout, types=footer.types)
    if not is_utf8(form):
        one = copied(one, form, copies, drop_blank=False)
    return replace(one, header=read_header(one, form))


def _guarded(
    one: SourceFile, plans: Sequence[Plan], copies: Copies, progress: Progress = SILENT
) -> CheckedFile:
    """A source of which all is proven that the passes of these plans rely on."""
    if one.layout is not None:
        check_pages(one.path, one.file.path, one.layout, columns_read(plans, one.header))
        return CheckedFile(one, one.layout.rows)
    form = plans[0].format
    plain = plain_lines(one, form, progress)
    if plain is not None:
        return CheckedFile(_of_lines(one, plain + 1), plain, plain=True)
    from fairaudit.engine.csv_checks import check_lines

    lines = check_lines(one, form, progress)
    if lines.blank:
        # The reader would make rows of nulls of them.
        one = copied(one, CsvFormat(), copies, drop_blank=True)
    return CheckedFile(_of_lines(one, lines.lines), lines.records, lines.blank)


def _of_lines(one: SourceFile, lines: int) -> SourceFile:
    return replace(one, file=replace(one.file, lines=lines))


def _by_route(
    plan: Plan, ready: Sequence[CheckedFile], progress: Progress, *, apart: bool
) -> tuple[dict[str, list[PartialCounts | DataError]], str]:
    """The counts of the files by name, each by the fastest route that serves it; which routes."""
    sources = {one.source.file.path: one.source for one in ready}
    progress.start("counting", sum(one.records for one in ready), "rows")
    tables = {name: one for name, one in sources.items() if one.layout is not None}
    found: dict[str, list[PartialCounts | DataError]] = {}
    if tables:
        from fairaudit.engine import dictionary_route

        found = {
            name: [*one] for name, one in dictionary_route.count(tables, plan, progress).items()
        }
    routes = ["dictionary codes of Parquet"] if found else []
    if plan.search and (coded := _by_fields(plan, ready, progress)):
        found |= coded
        routes.append("codes of CSV fields")
    rest = [one for name, one in sources.items() if name not in found]
    if rest:
        from fairaudit.engine import scan

        routes.append(f"Polars streaming over {' and '.join(sorted({one.kind for one in rest}))}")
        for name, counted in scan.count(rest, plan, progress, apart=apart).items():
            found[name] = [counted]
    return found, "; ".join(routes)


def _by_fields(
    plan: Plan, ready: Sequence[CheckedFile], progress: Progress
) -> dict[str, list[PartialCounts | DataError]]:
    """The counts of the CSV files of a search that can be told by the bytes of their fields."""
    plain = [one for one in ready if one.plain]
    if not plain:
        return {}
    from fairaudit.engine import csv_route

    found: dict[str, list[PartialCounts | DataError]] = {}
    for one in plain:
        counted = csv_route.count(one.source, plan, progress)
        if counted is not None:
            found[one.source.file.path] = [*counted]
    return found


def _sound(found: Found | FairauditError) -> Found:
    if isinstance(found, FairauditError):
        raise found
    return found

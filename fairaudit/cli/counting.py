"""The commands `fairaudit count` and `merge`, which write counts files."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairaudit.base import names
from fairaudit.base.errors import FairauditError, UsageError
from fairaudit.base.inputs import COUNTS_SUFFIX
from fairaudit.cli.app import Debug, Request, Settings, Timeout, Untrusted, app
from fairaudit.cli.files import Outputs
from fairaudit.cli.output import clear_outputs
from fairaudit.cli.streams import silenced, write_line

if TYPE_CHECKING:
    from fairaudit.counting.counts import Counts

_Spec = Annotated[Path, typer.Argument(metavar="SPEC", help="The audit spec, a YAML file.")]
_Data = Annotated[
    str | None, typer.Option(help="Count this file, folder or glob instead of the spec's `data`.")
]
_Output = Annotated[
    str,
    typer.Option("-o", "--output", help=f"The counts file to write, such as part{COUNTS_SUFFIX}."),
]
_Suppress = Annotated[
    int | None,
    typer.Option(min=2, help="Hide cells with fewer people, and cells that would reveal them."),
]
_Parts = Annotated[list[str], typer.Argument(metavar="PART", help="Counts files, or globs.")]
_Repeated = Annotated[
    bool, typer.Option("--repeated", help="Accept identical files that are not duplicates.")
]


@app.command()
def count(
    context: typer.Context,
    spec: _Spec,
    output: _Output,
    data: _Data = None,
    settings: Settings = None,
    timeout: Timeout = None,
    untrusted: Untrusted = False,  # noqa: ARG001  # read before parsing
    suppress: _Suppress = None,
    debug: Debug = False,
) -> None:
    """Count the data of a spec and write a counts file, which contains no rows of people."""
    from fairaudit.counting import counts_file
    from fairaudit.counting.counts_file import hide_small_cells, refuse_single_people
    from fairaudit.counting.sources.files import Files, find_files
    from fairaudit.pipeline import batch
    from fairaudit.pipeline import stages as pipeline
    from fairaudit.pipeline.audit_task import AuditTask, RunOptions

    request: Request = context.obj
    request.outputs = _clear(output, lambda: batch.list_inputs([spec], data))
    options = RunOptions(settings=settings or (), timeout=timeout)
    task = AuditTask.read(spec, options, reads_draws=False)
    source = task.find_data(data)
    if isinstance(source, Files) and source.are_counts:
        raise UsageError(
            "the data is already a counts file", "fairaudit merge PART.counts -o all.counts"
        )
    paths = find_files(source.entries, source.base)[0] if isinstance(source, Files) else []
    if suppress is not None:
        refuse_single_people(task.plan)
    with silenced(debug=debug):
        counts = pipeline.count(task, data)
    if suppress is not None:
        counts = hide_small_cells(counts, suppress)
    _write(counts_file.hash_sources(counts, paths), output, request.outputs)


@app.command()
def merge(
    context: typer.Context,
    parts: _Parts,
    output: _Output,
    repeated: _Repeated = False,
    debug: Debug = False,  # noqa: ARG001  # read before parsing
) -> None:
    """Add up counts files of several sites or months."""
    from fairaudit.counting import counts_file
    from fairaudit.counting.sources.files import find_files

    request: Request = context.obj
    try:
        paths, _ = find_files(parts, Path())
    except FairauditError:
        # Remove the file of an earlier run: users could take it for the new sum.
        there: list[Path] = []
        for part in parts:
            with contextlib.suppress(FairauditError):
                there += find_files([part], Path())[0]
        _clear(output, lambda: there)
        raise
    request.outputs = _clear(output, lambda: paths)
    _write(counts_file.add(paths, repeated=repeated), output, request.outputs)


def _clear(output: str, inputs: Callable[[], Iterable[Path]]) -> Outputs:
    """Removes the output of an earlier run; raises `UsageError` for a wrong suffix."""
    if not output.lower().endswith(COUNTS_SUFFIX):
        what = f"-o {names.copied(output)}: the name of a counts file must end with {COUNTS_SUFFIX}"
        raise UsageError(what, f"-o part{COUNTS_SUFFIX}")
    return clear_outputs([Path(output)], inputs)


def _write(counts: Counts, output: str, outputs: Outputs) -> None:
    from fairaudit.counting import counts_file

    content = counts_file.write(counts)
    outputs.write(Path(output), content)
    hidden = sum(cells.people for cells in counts.hidden)
    rows = counts.read // counts.plan.counts_per_row
    write_line(
        f"COUNTED  {rows:,} rows, {int(counts.people.sum()):,} people "
        f"{f'and {hidden:,} hidden ' if hidden else ''}of {len(counts.sources):,} "
        f"{'file' if len(counts.sources) == 1 else 'files'} "
        f"in {len(content):,} bytes: {names.copied(output)}"
    )

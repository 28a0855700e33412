"""`fairaudit count` and `merge`: counts in a file, of a part of the data or of all parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairaudit import names
from fairaudit.cli.app import Debug, Request, Settings, app
from fairaudit.cli.files import Outputs
from fairaudit.cli.output import clear_outputs
from fairaudit.cli.streams import silenced, write_line
from fairaudit.errors import UsageError
from fairaudit.inputs import COUNTS_SUFFIX

if TYPE_CHECKING:
    from fairaudit.counts import Counts

_Spec = Annotated[Path, typer.Argument(metavar="SPEC", help="The audit spec, a YAML file.")]
_Data = Annotated[
    str | None, typer.Option(help="Count this file, folder or glob in place of the spec's.")
]
_Output = Annotated[
    str, typer.Option("-o", "--output", help=f"Where to write: part{COUNTS_SUFFIX}.")
]
_Suppress = Annotated[
    int | None,
    typer.Option(min=2, help="Leave out cells of fewer people, and what would tell them."),
]
_Parts = Annotated[list[str], typer.Argument(metavar="PART.counts", help="Files of counts, globs.")]
_Repeated = Annotated[
    bool, typer.Option("--repeated", help="Add up files of the same bytes that are not the same.")
]


@app.command()
def count(
    context: typer.Context,
    spec: _Spec,
    output: _Output,
    data: _Data = None,
    settings: Settings = None,
    suppress: _Suppress = None,
    debug: Debug = False,
) -> None:
    """Count the data of a spec into a small file that holds no row."""
    from fairaudit import batch, counts_file, pipeline
    from fairaudit.engine import Files, find_files
    from fairaudit.question import Question
    from fairaudit.small_cells import hide_small_cells, refuse_single_people

    request: Request = context.obj
    request.outputs = _clear(output, lambda: batch.list_inputs([spec], data))
    question = Question.read(spec, settings=settings or (), reads_draws=False)
    source = question.find_data(data)
    if isinstance(source, Files) and source.are_counts:
        raise UsageError("the data are counts already", "fairaudit merge PART.counts -o all.counts")
    if suppress is not None:
        refuse_single_people(question.plan)
    with silenced(debug=debug):
        counts = pipeline.count(question, data)
    if suppress is not None:
        counts = hide_small_cells(counts, suppress)
    if isinstance(source, Files):
        counts = counts_file.hash_sources(counts, find_files(source.entries, source.base)[0])
    _write(counts, output, request.outputs)


@app.command()
def merge(
    context: typer.Context,
    parts: _Parts,
    output: _Output,
    repeated: _Repeated = False,
    debug: Debug = False,  # noqa: ARG001  # read before parsing
) -> None:
    """Add up files of counts: of several sites, months or machines."""
    from fairaudit import counts_file
    from fairaudit.engine import find_files

    request: Request = context.obj
    paths, _ = find_files(parts, Path())
    request.outputs = _clear(output, lambda: paths)
    _write(counts_file.add(paths, repeated=repeated), output, request.outputs)


def _clear(output: str, inputs: Callable[[], Iterable[Path]]) -> Outputs:
    """The output, cleared of what an earlier run left; refuses one that is no file of counts."""
    if not output.lower().endswith(COUNTS_SUFFIX):
        what = f"-o {names.copied(output)}: a file of counts ends with {COUNTS_SUFFIX}"
        raise UsageError(what, f"-o part{COUNTS_SUFFIX}")
    return clear_outputs([Path(output)], inputs)


def _write(counts: Counts, output: str, outputs: Outputs) -> None:
    from fairaudit import counts_file

    content = counts_file.write(counts)
    outputs.write(Path(output), content)
    people, files = int(counts.people.sum()), len(counts.sources)
    hidden = sum(cells.people for cells in counts.hidden)
    write_line(
        f"COUNTED  {counts.read:,} rows, {people:,} people "
        f"{f'and {hidden:,} hidden ' if hidden else ''}of {files:,} "
        f"{'file' if files == 1 else 'files'} in {len(content):,} bytes: {names.copied(output)}"
    )

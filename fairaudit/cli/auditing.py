"""The command `fairaudit run`: its options, with environment variables, and its progress bars."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Annotated, Self

import typer

from fairaudit.base import inputs, memory
from fairaudit.base.errors import FailOn, FairauditError, UsageError
from fairaudit.base.masking import mask
from fairaudit.base.processes import SILENT, Progress
from fairaudit.cli.app import (
    FORMAT_VARIABLE,
    ColorChoice,
    Debug,
    Full,
    Quiet,
    Request,
    Settings,
    Timeout,
    Untrusted,
    Verbose,
    app,
    show_examples,
)
from fairaudit.cli.files import report_paths
from fairaudit.cli.output import (
    FILE_HELP,
    check_outputs,
    clear_outputs,
    end_by_verdict,
    print_report,
    write_reports,
)
from fairaudit.cli.streams import Color, is_colored, silenced
from fairaudit.report import FORMATS, format_named, format_of_suffix


def _known_format(context: typer.Context, parameter: typer.CallbackParam, name: str) -> str:
    """The name of a known format; an error says if an environment variable set the name."""
    try:
        return format_named(name).name
    except UsageError as error:
        source = context.get_parameter_source(str(parameter.name))
        if source is None or source.name != "ENVIRONMENT":
            raise
        raise UsageError(f"{FORMAT_VARIABLE}: {error.message}", error.hint) from error


_SPECS_HERE = ("fairaudit.yaml", "fairaudit.yml")
SpecsArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="SPEC",
        help=f"The spec: a YAML file, or - for stdin. Default: {_SPECS_HERE[0]} in this folder.",
    ),
]
DataOption = Annotated[
    str | None,
    typer.Option(help="Audit this file, folder, glob or - (stdin) instead of the spec's `data`."),
]
_FOLDER_HELP = (
    "A folder (FOLDER/) gets a page and a JSON report for each audit, and an index. A folder named "
    "pictures/ gets each chart as an SVG file."
)
_Output = Annotated[
    list[str] | None, typer.Option("-o", "--output", help=f"{FILE_HELP} {_FOLDER_HELP}")
]
_FORMATS = ", ".join(form.name for form in FORMATS)
_Format = Annotated[
    str,
    typer.Option(
        "--format",
        envvar=FORMAT_VARIABLE,
        callback=_known_format,
        help=f"What to print: {_FORMATS}.",
    ),
]
_FailFrom = Annotated[
    FailOn, typer.Option(help="Exit with code 1 if a check has this status or a worse one.")
]
_ExitZero = Annotated[bool, typer.Option("--exit-zero", help="The same as `--fail-on never`.")]
_Only = Annotated[
    list[str] | None,
    typer.Option(help="Judge only this check: its id, a part of the id, or a pattern with *."),
]
_Baseline = Annotated[
    str | None, typer.Option(help="Fail only checks that are worse than in this JSON report.")
]
_Tolerance = Annotated[
    str | None,
    typer.Option(help="Accept values that are worse than in the baseline by at most this."),
]

_ForEach = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Make one audit for each value of this column. Values with few people share one "
        "audit.",
    ),
]
_Jobs = Annotated[
    int | None,
    typer.Option(
        "-j",
        "--jobs",
        min=1,
        metavar="N",
        help="Number of processes for several files. Default: 1, or one per core for 32 files or "
        "more.",
    ),
]
DrawsOption = Annotated[
    str | None,
    typer.Option(
        help="File with random draws of the rates of groups, made by your model (`model: draws`)."
    ),
]

_EXAMPLES = show_examples(
    "run spec.yaml",
    "run spec.yaml -o report.html -o report.json",
    "run spec.yaml --data 'exports/*.csv' -o reports/",
    "run spec.yaml --baseline main.json --tolerance 0.01",
)


@app.command(epilog=_EXAMPLES)
def run(  # noqa: PLR0913, PLR0917  # the options of the command
    context: typer.Context,
    spec: SpecsArgument = None,
    data: DataOption = None,
    output: _Output = None,
    format_name: _Format = "terminal",
    fail_on: _FailFrom = FailOn.FAIL,
    exit_zero: _ExitZero = False,
    only: _Only = None,
    baseline: _Baseline = None,
    tolerance: _Tolerance = None,
    draws: DrawsOption = None,
    for_each: _ForEach = None,
    jobs: _Jobs = None,
    settings: Settings = None,
    timeout: Timeout = None,
    untrusted: Untrusted = False,  # noqa: ARG001  # read before parsing
    quiet: Quiet = 0,
    full: Full = False,
    verbose: Verbose = False,
    color: ColorChoice = "auto",
    debug: Debug = False,
) -> None:
    """Audit the data of a spec; the exit code is the verdict."""
    from fairaudit.base.processes import Workers, choose_jobs
    from fairaudit.pipeline import batch
    from fairaudit.pipeline.audit_task import RunOptions
    from fairaudit.pipeline.baseline import NO_TOLERANCE

    request: Request = context.obj
    memory.keep_freed()
    started = time.monotonic()
    try:
        paths = check_outputs(format_name, output or [])
    except UsageError:
        clear_earlier(request)
        raise
    specs = _begin(request, paths, spec, tolerance)
    jobs = jobs or choose_jobs(len(batch.list_audits(specs, data)))
    with Workers(jobs) as workers:
        options = RunOptions(
            FailOn.NEVER if exit_zero else fail_on, tuple(only or ()), baseline,
            NO_TOLERANCE if tolerance is None else tolerance, draws, tuple(settings or ()), timeout,
        )  # fmt: skip
        with silenced(debug=debug), show_progress(quiet=quiet, color=color) as progress:
            answers = batch.answer(
                specs, data, options, progress=progress, workers=workers, for_each=for_each
            )
        if len(answers) == 1 and isinstance(answers[0].result, FairauditError):
            # If the only answer is an error, it ends the command.
            raise answers[0].result
        seconds = time.monotonic() - started
        write_reports(answers, request.outputs, request.outputs.paths, workers, full=full)
        form = format_named(format_name)
        print_report(answers, form, all_rows=verbose, full=full, quiet=quiet, color=color)
        code = end_by_verdict(answers, request, seconds)
    raise typer.Exit(code)


def clear_earlier(request: Request) -> None:
    """Clears the outputs of an invalid command, so that no old report is taken for a new one."""
    specs = [Path(name) for name in request.arguments] or None
    with contextlib.suppress(UsageError):
        written = [path for path in map(Path, request.written) if path.is_file()]
        reports = [path for path in written if format_of_suffix(path.suffix) is not None]
        _begin(request, reports, specs, None)


def _begin(
    request: Request, paths: Sequence[Path], named: list[Path] | None, tolerance: str | None
) -> list[Path]:
    """The specs of a run, after its outputs are cleared.

    Raises `UsageError` if an output is a file that the run reads, or for a tolerance without a
    baseline.
    """
    from fairaudit.pipeline import batch

    data, baseline, draws = request.data, request.baseline, request.draws
    specs = name_specs(named, data)
    request.arguments = tuple(map(str, specs))
    if paths:
        request.outputs = clear_outputs(
            paths,
            lambda: batch.list_inputs(specs, data, baseline, draws),
            lambda path: report_paths(
                path,
                [(spec, batch.name_data(file)) for spec, file in batch.list_audits(specs, data)],
            ),
        )
    if tolerance is not None and baseline is None:
        what = "--tolerance needs --baseline"
        raise UsageError(what, "add --baseline REPORT.json")
    return specs


def name_specs(named: list[Path] | None, data: str | None) -> list[Path]:
    """The named specs, or the spec in the current folder."""
    specs = named or [path for path in map(Path, _SPECS_HERE) if path.exists()]
    if len(specs) > 1 and not named:
        what = f"the current folder has both {' and '.join(_SPECS_HERE)}"
        raise UsageError(what, f"name the spec: fairaudit run {_SPECS_HERE[0]}")
    if not specs:
        what = f"no spec is named, and the current folder has no {_SPECS_HERE[0]}"
        raise UsageError(what, "fairaudit run --help")
    if Path(inputs.STDIN) in specs and data == inputs.STDIN:
        raise UsageError("stdin cannot be both the spec and the data", "name a file")
    return specs


class Bar(Progress):
    """Progress bars of running stages, one for each unit (rows, bytes); removed at the end."""

    silent = False

    def __init__(self, stream: IO[str], *, color: bool | None = None) -> None:
        from rich import progress as rich
        from rich.console import Console

        self._bars = rich.Progress(
            rich.TextColumn("{task.description}"),
            rich.BarColumn(bar_width=20),
            rich.TaskProgressColumn(),
            rich.TextColumn("{task.fields[rate]}"),
            rich.TimeElapsedColumn(),
            rich.TextColumn("left"),
            rich.TimeRemainingColumn(),
            console=Console(file=stream, no_color=None if color is None else not color),
            transient=True,
        )
        self._tasks: dict[str, rich.TaskID] = {}

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def start(self, stage: str, total: int | None, unit: str) -> None:
        """Shows the bar of a new stage; `total` is the number of units, None if unknown."""
        if unit in self._tasks:
            self._bars.remove_task(self._tasks[unit])
        self._tasks[unit] = self._bars.add_task(mask(stage), total=total, rate="")

    def advance(self, done: int, unit: str) -> None:
        """Adds `done` units to the bar of the running stage with this unit."""
        if unit not in self._tasks:
            return
        task = self._tasks[unit]
        self._bars.advance(task, done)
        speed = next(bar.speed for bar in self._bars.tasks if bar.id == task) or 0.0
        self._bars.update(task, rate=f"{speed / 1e6:.1f}M {unit}/s" if speed else "")


@contextlib.contextmanager
def show_progress(*, quiet: int, color: Color) -> Iterator[Progress]:
    """Shows the progress of passes on stderr, if it is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield SILENT
        return
    with Bar(sys.stderr, color=is_colored(color)) as bar:
        yield bar

"""Time fairaudit against its rivals: whole processes, in turn, on generated mortgage applications.

python compare.py parquet csv --pairs 7
python compare.py --all --scale 0.01 --others python3

Before anything is timed, the counts of both sides must be equal. The tables go to stdout as
Markdown, the progress to stderr.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from measure import Command, Failed, Pairs, in_turn, middle_seconds, peak_mib, run
from scenarios import HERE, SCENARIOS, Data, Program, Scenario

NOT_INSTALLED = "not installed"
HEADING = (
    "| scenario | rows | rival | fairaudit s | rival s | ratio | lowest–highest "
    "| fairaudit MiB | rival MiB |\n"
    "|---|--:|---|--:|--:|--:|--:|--:|--:|"
)


@dataclass(frozen=True, slots=True)
class Bench:
    """Where and how it is measured."""

    interpreters: dict[str, str]
    data: Path
    work: Path
    pairs: int
    scale: float

    def filled(self, program: Program, file: Path | None, out: Path) -> Command:
        """The command line of a program."""
        words = {"{file}": str(file), **self.interpreters}
        filled = (words.get(word, word) for word in program.command)
        return Command(tuple(word.replace("{out}", str(out)) for word in filled), program.exits)

    def version(self, program: Program) -> str | None:
        """The version of a program's package; None where it cannot be imported."""
        distribution = {"fairaudit": "fairaudit-cli"}.get(program.package, program.package)
        code = (
            f"import {program.package}; from importlib.metadata import version; "
            f"print(version({distribution!r}))"
        )
        python = self.interpreters[program.interpreter]
        asked = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
        return asked.stdout.strip() if asked.returncode == 0 else None

    def file(self, data: Data | None) -> Path | None:
        """The path of generated data, written now unless it is there."""
        if data is None:
            return None
        scaled = data.scaled(self.scale)
        path = self.data / scaled.name
        if not path.exists():
            _tell(f"writing {path.name}")
            half = path.with_name(f"half-{path.name}")
            script = (self.interpreters["{python}"], str(HERE / "generate.py"))
            run(Command((*script, *scaled.arguments, "--out", str(half))), self.work)
            half.rename(path)
        return path


def main() -> None:
    """Run the scenarios of the command line and print their table."""
    asked = _arguments()
    asked.data_dir.mkdir(parents=True, exist_ok=True)
    chosen = [one for one in SCENARIOS if asked.all or one.name in asked.scenarios]
    with tempfile.TemporaryDirectory(prefix="fairaudit-bench-") as work:
        bench = Bench(
            {"{python}": sys.executable, "{others}": asked.others},
            asked.data_dir.resolve(),
            Path(work),
            asked.pairs,
            asked.scale,
        )
        print(_circumstances(bench, chosen), "", HEADING, sep="\n", flush=True)
        try:
            for scenario in chosen:
                for line in _lines(bench, scenario):
                    print(line, flush=True)
        except Failed as failed:
            raise SystemExit(str(failed)) from failed


def _lines(bench: Bench, scenario: Scenario) -> Iterator[str]:
    """The lines of the table, one for each rival."""
    for rival in scenario.rivals:
        if bench.version(rival) is None:
            yield _line(scenario, bench, rival, None)
            continue
        _tell(f"{scenario.name}: {rival.title}")
        ours_on, theirs_on = bench.file(scenario.data), bench.file(scenario.data)
        if scenario.their_data:
            theirs_on = bench.file(scenario.their_data)
        ours = bench.filled(scenario.ours, ours_on, bench.work / "ours")
        theirs = bench.filled(rival, theirs_on, bench.work / "theirs")
        for command in (ours, theirs):
            run(command, bench.work)
        if rival.answers:
            _check(bench)
        pairs = in_turn(ours, theirs, bench.pairs * scenario.repeat, bench.work)
        yield _line(scenario, bench, rival, pairs)


def _check(bench: Bench) -> None:
    """Raises `Failed` unless both sides gave the same counts."""
    files = (str(bench.work / "ours.json"), str(bench.work / "theirs.csv"))
    python = bench.interpreters["{python}"]
    run(Command((python, str(HERE / "agree.py"), *files)), bench.work)
    _tell("  the counts agree")


def _line(scenario: Scenario, bench: Bench, rival: Program, pairs: Pairs | None) -> str:
    rows = f"{scenario.data.scaled(bench.scale).rows:,}" if scenario.data else ""
    named = [scenario.title, rows, rival.title]
    if pairs is None:
        return _joined([*named, "", NOT_INSTALLED, "", "", "", ""])
    ratios = pairs.ratios
    figures = [
        _brief(middle_seconds(pairs.ours)),
        _brief(middle_seconds(pairs.theirs)),
        _brief(median(ratios)),
        f"{_brief(min(ratios))}–{_brief(max(ratios))}",
        f"{peak_mib(pairs.ours):,.0f}",
        f"{peak_mib(pairs.theirs):,.0f}",
    ]
    return _joined([*named, *figures])


def _joined(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _brief(number: float) -> str:
    """A number by its first three figures."""
    return f"{number:.3g}" if number < 1000 else f"{number:,.0f}"


def _circumstances(bench: Bench, chosen: Sequence[Scenario]) -> str:
    """The machine and the versions of a measurement."""
    programs = {
        (program.package, program.interpreter): program
        for scenario in chosen
        for program in (scenario.ours, *scenario.rivals)
    }
    versions = [f"{package} {bench.version(one)}" for (package, _), one in programs.items()]
    memory = ""
    with contextlib.suppress(ValueError, OSError, AttributeError):
        pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        memory = f", {pages / 2**30:.0f} GiB"
    return (
        f"{os.cpu_count()} cores{memory}, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}; {', '.join(versions)}. Runs in turn, pairs: "
        f"{bench.pairs}; files in the cache. Ratio: fairaudit's time divided by the rival's, "
        "below 1 is faster."
    ).replace(" None", f" {NOT_INSTALLED}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time fairaudit against its rivals.")
    names = [one.name for one in SCENARIOS]
    parser.add_argument("scenarios", nargs="*", metavar="scenario", help=", ".join(names))
    parser.add_argument("--all", action="store_true", help="every scenario")
    parser.add_argument("--pairs", type=int, default=5, help="runs of each side (default 5)")
    parser.add_argument("--scale", type=float, default=1.0, help="0.01 for a hundredth of the rows")
    parser.add_argument("--others", default=sys.executable, help="the Python of other libraries")
    folder = Path(tempfile.gettempdir()) / "fairaudit-bench"
    parser.add_argument("--data-dir", type=Path, default=folder, help="where the data is kept")
    asked = parser.parse_args()
    unknown = sorted(set(asked.scenarios) - set(names))
    if unknown or not (asked.all or asked.scenarios):
        parser.error(f"name some of {', '.join(names)}, or say --all")
    if asked.pairs < 1 or asked.scale <= 0:
        parser.error("--pairs and --scale are above 0")
    return asked


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()

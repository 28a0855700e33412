"""The programs and the data of a comparison: one record for each scenario.

To add a rival, write its program next to the others and name it here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
RIVALS = HERE / "rivals"
SPECS = HERE / "specs"

LARGE, MEDIUM, SMALL, TINY = 10**8, 10**7, 10**6, 10**3


@dataclass(frozen=True, slots=True)
class Data:
    """A generated file; only the large ones leave the columns out that no audit reads."""

    rows: int
    form: str = "parquet"
    packing: str = "zstd"
    quoted: bool = False

    def scaled(self, scale: float) -> Data:
        """The same with more or fewer rows; what is tiny stays so."""
        rows = self.rows if self.rows == TINY else max(TINY, round(self.rows * scale))
        return Data(rows, self.form, self.packing, self.quoted)

    @property
    def name(self) -> str:
        """The name of the file."""
        quotes = "-quoted" if self.quoted else ""
        suffix = ".csv.gz" if self.packing == "gz" else f".{self.form}"
        return f"loans-{self.rows}{quotes}{suffix}"

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments of the generator, without the path."""
        payload = "--payload" if self.form == "csv" else "--no-payload"
        quotes = ("--quoted",) if self.quoted else ()
        form = ("--format", self.form, "--compression", self.packing)
        return ("--rows", str(self.rows), *form, payload, *quotes)


@dataclass(frozen=True, slots=True)
class Program:
    """A command line with `{python}`, `{others}`, `{file}` and `{out}` to be filled in.

    `package` must be there for it to run; `answers` says that it writes groups to compare.
    """

    title: str
    command: tuple[str, ...]
    package: str
    answers: bool = False

    @property
    def interpreter(self) -> str:
        """`{python}` or `{others}`."""
        return self.command[0]

    @property
    def exits(self) -> tuple[int, ...]:
        """The exit codes that are answers; an audit that finds a failure is one."""
        return (0, 1) if self.package == "fairaudit" else (0,)


@dataclass(frozen=True, slots=True)
class Scenario:
    """Our program against each of the others in turn, on the same data by default."""

    name: str
    title: str
    ours: Program
    rivals: tuple[Program, ...]
    data: Data | None = None
    their_data: Data | None = None
    repeat: int = 1


THREE = ("sex", "race", "age")
FIVE = ("sex", "race", "ethnicity", "age", "state")


def _audit(spec: str, title: str = "fairaudit") -> Program:
    run = ("run", str(SPECS / spec), "--data", "{file}", "-q", "-o", "{out}.json")
    return Program(title, ("{python}", "-m", "fairaudit", *run), "fairaudit")


def _command(option: str) -> Program:
    return Program("fairaudit", ("{python}", "-m", "fairaudit", option), "fairaudit")


def _typer(option: str) -> Program:
    command = ("{python}", str(RIVALS / "typer_help.py"), option)
    return Program("a typer program of two commands", command, "typer")


def _rival(  # a program and its keys
    title: str, script: str, package: str, keys: tuple[str, ...], *more: str, by: str = "{python}"
) -> Program:
    asked = ("{file}", "--keys", *keys, *more, "--out", "{out}.csv")
    return Program(title, (by, str(RIVALS / script), *asked), package, answers=True)


def _engines(keys: tuple[str, ...], *more: str) -> tuple[Program, ...]:
    return (
        _rival("DuckDB, one GROUP BY", "duckdb_cube.py", "duckdb", keys, *more),
        _rival("Polars, streaming", "polars_cube.py", "polars", keys, *more),
    )


def _libraries() -> tuple[Program, ...]:
    rivals = (
        ("Fairlearn, MetricFrame", "fairlearn_frames.py", "fairlearn"),
        ("AIF360, ClassificationMetric", "aif360_metrics.py", "aif360"),
        ("Aequitas, crosstabs", "aequitas_report.py", "aequitas"),
    )
    return tuple(_rival(*one, THREE, by="{others}") for one in rivals)


_RATES = "five rates, their gaps and ratios"
_ALL = "every metric"
_READ = (
    ("parquet", "Parquet, three attributes", Data(LARGE)),
    ("csv", "CSV, three attributes, all guards", Data(MEDIUM, "csv", "none")),
    ("csv-quoted", "CSV, every text in quotes", Data(MEDIUM, "csv", "none", quoted=True)),
    ("csv-gz", "CSV in gzip", Data(MEDIUM, "csv", "gz")),
)
"""Files that an audit of rates reads, and one of every metric: what differs is not the counting."""

SCENARIOS = (
    *(
        Scenario(name + suffix, f"{title}, {asked}", _audit(spec), _engines(THREE), data)
        for name, title, data in _READ
        for suffix, asked, spec in (("-rates", _RATES, "rates.yaml"), ("", _ALL, "three.yaml"))
    ),
    *(
        Scenario(
            name,
            f"Parquet, five attributes and a weight, {asked}",
            _audit(spec),
            _engines(FIVE, "--weight", "weight"),
            Data(LARGE),
        )
        for name, asked, spec in (
            ("weighted-rates", _RATES, "five_rates.yaml"),
            ("weighted", _ALL, "five_weighted.yaml"),
        )
    ),
    Scenario(
        "libraries",
        "Parquet, three attributes, all subsets, rates and comparisons",
        _audit("rates.yaml"),
        _libraries(),
        Data(SMALL),
    ),
    Scenario(
        "memory",
        "Parquet, three attributes, peak memory",
        _audit("three.yaml"),
        (_audit("three.yaml", "fairaudit on a tenth of the rows"),),
        Data(LARGE),
        Data(MEDIUM),
    ),
    Scenario("help", "--help", _command("--help"), (_typer("--help"),), repeat=4),
    Scenario("version", "--version", _command("--version"), (_typer("--version"),), repeat=4),
    Scenario(
        "tiny",
        "CSV, a gate of four limits",
        _audit("gate.yaml"),
        (Program("import polars, nothing else", ("{python}", "-c", "import polars"), "polars"),),
        Data(TINY, "csv", "none"),
        repeat=4,
    ),
)

"""Who may read a database stands in no report, on no stream, and in no name of a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import duckdb
import polars as pl
import pytest
from commands import run

from fairaudit.counting.sources.dialects import Database
from fairaudit.report import FORMATS, Format

SPEC = {
    "version": 1,
    "columns": {"protected": ["sex"], "decision": {"column": "y", "positive": "1"}},
    "metrics": [{"metric": "demographic_parity_ratio", "fail": {"below": 0.8}}],
}
REFUSED = (
    "postgresql://me:hush@127.0.0.1:9/db?table=t",
    "postgresql://127.0.0.1:9/db?table=t&password=hush",
    "postgresql://127.0.0.1:9/db?table=t&SSLPassword=hush",
    "sc://127.0.0.1:9/;token=hush?table=t",
    "sc://127.0.0.1:9/;Token=hush;use_ssl=true?table=t",
    "spark://127.0.0.1:9?table=t&token=hush",
    "duckdb:///gone.db?table=t&password=hush",
)
NO_ADDRESS = (
    "postgresql://me:a/hush@127.0.0.1:9/db?table=t",
    "postgresql://me:1/hush@127.0.0.1:9/db?table=t",
    "postgresql://me:hush#a@127.0.0.1:9/db?table=t",
    "postgresql://me:hush?a@127.0.0.1:9/db?table=t",
    "postgresql://[hush/db?table=t",
    "SC://me:hush/1@127.0.0.1:9?table=t",
)


def audit(folder: Path, address: str, forms: Sequence[Format] = FORMATS) -> tuple[int, str]:
    """The exit code of an audit, and all that it wrote, with the names of its files."""
    (folder / "spec.yaml").write_text(json.dumps(SPEC))
    reports = [form.suffixes[0] for form in FORMATS if form.suffixes]
    written = ["-o", "all/", *(word for suffix in reports for word in ("-o", f"report{suffix}"))]
    texts = []
    for form in forms:
        if form.name == "parquet":  # no text for a stream; its file is read below
            continue
        done = run("run", "spec.yaml", "--data", address, "--format", form.name, folder=folder)
        texts += [done.stdout, done.stderr]
    done = run("run", "spec.yaml", "--data", address, *written, folder=folder)
    texts += [done.stdout, done.stderr]
    for path in folder.rglob("*"):
        texts.append(str(path.relative_to(folder)))
        if path.suffix == ".parquet":
            texts.append(pl.read_parquet(path).write_csv())
        elif path.is_file() and path.suffix != ".db":
            texts.append(path.read_text("utf-8"))
    assert (folder / "report.json").is_file()
    return done.returncode, "\n".join(texts)


@pytest.mark.long
@pytest.mark.parametrize(
    ("address", "reason"),
    [
        *((address, "an address cannot contain a password") for address in REFUSED),
        *((address, "this is not a database address") for address in NO_ADDRESS),
    ],
)
def test_a_secret_of_an_address_is_refused_and_printed_nowhere(
    tmp_path: Path, address: str, reason: str
) -> None:
    code, said = audit(tmp_path, address)
    assert code == 2
    assert reason in said
    assert "hush" not in said


@pytest.mark.long
def test_who_reads_a_database_is_printed_nowhere(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "people.db")) as link:
        link.execute("CREATE TABLE t AS SELECT i % 2 AS sex, i % 3 % 2 AS y FROM range(600) r(i)")
    code, said = audit(tmp_path, "duckdb://hush@/people.db?table=t")
    assert code == 0
    assert "duckdb:///people.db?table=t" in said
    assert "hush" not in said


def test_what_else_a_server_is_told_is_printed_nowhere(tmp_path: Path) -> None:
    """Spark sends any parameter on as a header: one of them may let in."""
    # Each waits for a server that is not there.
    code, said = audit(tmp_path, "sc://127.0.0.1:9/;user_id=hush;x-key=hush?table=t", FORMATS[1:2])
    assert code == 2
    assert "sc://127.0.0.1:9/?table=t" in said
    assert "hush" not in said


def test_a_plus_of_a_query_is_one_and_a_space_reaches_the_server_as_one() -> None:
    data = Database("postgresql://host/db?options=-c%20a%3D1&query=SELECT a+b AS c FROM t")
    assert data.query == "SELECT a+b AS c FROM t"
    assert data.address_with({}) == "postgresql://host/db?options=-c%20a%3D1"


@pytest.mark.parametrize(
    "address",
    [
        "spark://one:7077,two:7077?table=t",
        "postgresql://[::1]:5432/db?table=t",
        "sc://host/;user_id=me@firm?table=t",
        "duckdb:////data/me@home.db?table=t",
        "duckdb://?query=SELECT 1 AS a",
    ],
)
def test_hosts_are_many_have_six_parts_or_none(address: str) -> None:
    assert Database.find([address], Path()) == Database(address)

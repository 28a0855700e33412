"""With `--untrusted` a stranger's spec reads files of the repository, and reaches nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import run

import fairaudit
from fairaudit.counting.sources import dialects, lakehouse_tables, objects

SPEC: dict[str, Any] = {
    "version": 1,
    "data": "d.csv",
    "columns": {"protected": ["g"], "decision": {"column": "y", "positive": 1}},
    "metrics": [{"metric": "demographic_parity_ratio", "fail": {"below": 0.8}}],
}
ROWS = "g,y\n" + "a,1\na,1\nb,1\nb,1\n" * 50
DRAWS = {"metrics": [{"metric": "differential_fairness", "model": "draws"}]}
OUTSIDE = "--untrusted reads only files inside "
HIDDEN = "--untrusted does not read hidden files or folders"
DATABASE = "--untrusted refuses databases and queries"

HOSTILE: dict[str, tuple[dict[str, Any], str]] = {
    "absolute": ({"data": "{out}/secret.csv"}, OUTSIDE),
    "dots": ({"data": "../out/secret.csv"}, OUTSIDE),
    "dots within": ({"data": "sub/../../out/secret.csv"}, OUTSIDE),
    "a link": ({"data": "link.csv"}, OUTSIDE),
    "a linked folder": ({"data": "linked"}, OUTSIDE),
    "a file of a linked folder": ({"data": "linked/secret.csv"}, OUTSIDE),
    "a glob outside": ({"data": "../out/*.csv"}, OUTSIDE),
    "an absolute glob": ({"data": "{out}/*.csv"}, OUTSIDE),
    "a glob over a link": ({"data": "l*.csv"}, OUTSIDE),
    "a glob through a link": ({"data": "l*/*.csv"}, OUTSIDE),
    "a glob of all folders": ({"data": "**/*.csv"}, OUTSIDE),
    "a folder with links": ({"data": "."}, OUTSIDE),
    "what is not there": ({"data": "../out/gone.csv"}, OUTSIDE),
    "the second file": ({"data": ["d.csv", "../out/secret.csv"]}, OUTSIDE),
    "waivers": ({"waivers": "../out/secret.csv"}, OUTSIDE),
    "linked waivers": ({"waivers": "link.csv"}, OUTSIDE),
    "draws": ({"draws": "../out/secret.csv", **DRAWS}, OUTSIDE),
    "a profile": ({"profile": "../out/secret.yaml"}, OUTSIDE),
    "counts": ({"data": "../out/secret.counts"}, OUTSIDE),
    "the token of a checkout": ({"waivers": ".git/config"}, HIDDEN),
    "a file of variables": ({"waivers": ".env"}, HIDDEN),
    "hidden data": ({"data": ".hidden/secret.csv"}, HIDDEN),
    "the process": ({"waivers": "/proc/self/environ"}, OUTSIDE),
    "a database": ({"data": "postgresql://db.example.org/x?table=t"}, DATABASE),
    "a file of DuckDB": ({"data": "duckdb:///d.db?table=t"}, DATABASE),
    "a query": ({"data": "duckdb://?query=SELECT * FROM read_text('{out}/*')"}, DATABASE),
    "a store": ({"data": "s3://bucket/x.parquet"}, "--untrusted refuses a cloud store"),
    "a store among files": ({"data": ["d.csv", "gs://b/x.csv"]}, "refuses a cloud store"),
    "a table with a log": ({"data": "delta"}, "--untrusted refuses a table of Delta"),
    "a title": ({"title": "${env.HUSH}"}, "--untrusted refuses environment variables"),
    "a path": ({"data": "${env.HUSH}.csv"}, "--untrusted refuses environment variables"),
    "no such variable": ({"data": "${env.NOT_SET}.csv"}, "refuses environment variables:"),
}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with links that lead out of it; any connection would fail the test."""
    out, folder = tmp_path / "out", tmp_path / "repository"
    for path in (out, folder / ".git", folder / "sub", folder / ".hidden", folder / "delta"):
        path.mkdir(parents=True)
    (folder / "delta" / "_delta_log").mkdir()
    for path in (out / "secret.csv", out / "secret.yaml", out / "secret.counts"):
        path.write_text("hush: [hush\n")
    for name in (".git/config", ".env", ".hidden/secret.csv"):
        (folder / name).write_text("hush: [hush\n")
    (folder / "d.csv").write_text(ROWS)
    (folder / "link.csv").symlink_to(out / "secret.csv")
    (folder / "linked").symlink_to(out)

    def reach(*_: object, **__: object) -> None:
        raise AssertionError("something was reached")

    monkeypatch.setattr(dialects, "dialect_of", reach)
    monkeypatch.setattr(objects, "_open_store", reach)
    monkeypatch.setattr(lakehouse_tables, "keep_fetched", reach)
    monkeypatch.setenv("HUSH", "hush")
    return folder


def write(folder: Path, more: dict[str, Any]) -> None:
    text = json.dumps({**SPEC, **more}, indent=1)
    (folder / "s.yaml").write_text(text.replace("{out}", str(folder.parent / "out")))


@pytest.mark.long
@pytest.mark.parametrize("attack", HOSTILE)
@pytest.mark.parametrize(
    "line",
    [("run", "s.yaml", "-v", "-o", "r.html", "-o", "all/"), ("check", "s.yaml"),
     ("count", "s.yaml", "-o", "x.counts")],
    ids=["run", "check", "count"],
)  # fmt: skip
def test_a_hostile_spec_is_refused_and_prints_nothing(
    repository: Path, attack: str, line: tuple[str, ...]
) -> None:
    more, reason = HOSTILE[attack]
    write(repository, more)
    if line[0] == "count" and ("draws" in more or attack == "counts"):  # neither is read
        return
    done = run(*line, "--untrusted", folder=repository)
    assert done.returncode == 2
    assert reason in done.stderr
    said = done.stdout + done.stderr
    for path in repository.rglob("*"):
        if path.is_file() and path.suffix in {".html", ".json", ".counts"}:
            said += path.read_bytes().decode("utf-8", "replace")
    assert "hush: [" not in said
    assert "from hush" not in said


@pytest.mark.parametrize("attack", HOSTILE)
def test_so_does_python(repository: Path, attack: str, monkeypatch: pytest.MonkeyPatch) -> None:
    more, reason = HOSTILE[attack]
    write(repository, more)
    monkeypatch.chdir(repository)
    with pytest.raises(fairaudit.FairauditError, match=reason) as caught:
        fairaudit.audit("s.yaml", untrusted=True)
    assert "hush: [" not in str(caught.value)
    (outcome,) = fairaudit.audit_together(["s.yaml"], untrusted=True)
    assert reason in str(outcome)
    with pytest.raises(fairaudit.FairauditError, match=reason):
        fairaudit.assert_audit("s.yaml", untrusted=True)


def test_what_is_in_the_repository_is_audited(repository: Path) -> None:
    """From a folder in it, too; and the profiles that come with the program are read."""
    write(repository, {"data": "../d.csv", "profile": "four-fifths"})
    (repository / "s.yaml").rename(repository / "sub" / "s.yaml")
    done = run("run", "s.yaml", "--untrusted", folder=repository / "sub")
    assert done.returncode == 0, done.stderr
    assert run("run", "sub/s.yaml", "--untrusted", folder=repository).returncode == 0
    absolute = str(repository / "d.csv")
    done = run("run", "sub/s.yaml", "--data", absolute, "--untrusted", folder=repository)
    assert done.returncode == 0, done.stderr


def test_what_is_named_beside_the_spec_stays_in_the_repository_too(repository: Path) -> None:
    write(repository, {})
    for more in (("--data", "link.csv"), ("--baseline", "../out/secret.yaml")):
        done = run("run", "s.yaml", "--untrusted", *more, folder=repository)
        assert done.returncode == 2
        assert OUTSIDE in done.stderr
    for line in (("init", "link.csv"), ("run", "linked/secret.yaml")):
        done = run(*line, "--untrusted", folder=repository)
        assert done.returncode == 2
        assert OUTSIDE in done.stderr
        assert "hush" not in done.stdout + done.stderr.replace("--untrusted", "")
    (repository / "s.yaml").unlink()
    (repository / "s.yaml").symlink_to(repository.parent / "out" / "secret.yaml")
    assert OUTSIDE in run("run", "s.yaml", "--untrusted", folder=repository).stderr


@pytest.mark.long
def test_other_processes_are_as_untrusting(repository: Path) -> None:
    """They read the spec again, and count where the data says what to count."""
    quantiles = {"g": {"column": "x", "quantiles": 2}}
    write(repository, {"columns": {**SPEC["columns"], "protected": quantiles}})
    (repository / "many").mkdir()
    for number in range(3):
        rows = "".join(f"{at % 7},{at % 2}\n" for at in range(100))
        (repository / "many" / f"{number}.csv").write_text(f"x,y\n{rows}")
    line = ("run", "s.yaml", "--untrusted", "--data", "many", "--jobs", "2", "-o", "all/")
    done = run(*line, folder=repository)
    assert done.returncode in {0, 1}, done.stderr
    (repository / "many" / "0.csv").unlink()
    (repository / "many" / "0.csv").symlink_to(repository.parent / "out" / "secret.csv")
    done = run(*line, folder=repository)
    assert done.returncode == 2
    assert OUTSIDE in done.stderr


@pytest.mark.parametrize("option", [(), ("--untrusted",)])
def test_no_file_is_written_that_the_command_line_does_not_name(
    tmp_path: Path, option: tuple[str, ...]
) -> None:
    """Not by a query either: no file, and no extension in the home folder."""
    pytest.importorskip("duckdb")
    (tmp_path / "home").mkdir()
    (tmp_path / "d.csv").write_text(ROWS)
    evil = f"{tmp_path}/evil.csv"
    queries = (
        "SELECT g, y FROM 'd.csv'",
        f"SELECT 1 AS g) AS t; COPY (SELECT 1) TO '{evil}'; SELECT * FROM (SELECT 1 AS g",
        f"FROM (COPY (SELECT 1) TO '{evil}')",
        "SELECT * FROM 'https://127.0.0.1:9/x.parquet'",
        f"WITH t AS (EXPORT DATABASE '{evil}') SELECT 1 AS g, 1 AS y",
    )
    for query in queries:
        data = f"duckdb://?query={query}"
        (tmp_path / "s.yaml").write_text(json.dumps({**SPEC, "data": data}))
        run("run", "s.yaml", *option, folder=tmp_path, HOME=str(tmp_path / "home"))
    found = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
    assert found == {"home", "d.csv", "s.yaml"}


def test_without_the_option_a_spec_is_trusted_like_a_script(repository: Path) -> None:
    write(repository, {"title": "${env.HUSH}", "data": "../repository/d.csv"})
    done = run("run", "s.yaml", "--full", folder=repository)
    assert done.returncode == 0
    assert "hush" in done.stdout


@pytest.mark.parametrize("decoy", ["~/secret.csv", "file:{out}/secret.csv"])
@pytest.mark.parametrize("more", [{}, {"format": {"multiline": True}}])
@pytest.mark.parametrize("untrusted", [True, False])
def test_a_folder_that_is_called_like_another_place_is_only_a_folder(
    decoy: str,
    more: dict[str, Any],
    untrusted: bool,
    repository: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A path is a name of the repository: no home folder, and no address of a file."""
    out = repository.parent / "out"
    monkeypatch.setenv("HOME", str(out))
    monkeypatch.setenv("FAIRAUDIT_ROUTE", "lazy")
    (out / "secret.csv").write_text("g,y\n" + "hush,1\nhush,0\nz,1\nz,0\n" * 50)
    name = decoy.format(out=out)
    path = repository / name
    path.parent.mkdir(parents=True)
    path.write_text(ROWS)
    write(repository, {"data": name, **more})
    option = ["--untrusted"] if untrusted else []
    done = run("run", "s.yaml", "--full", *option, folder=repository)
    assert done.returncode == 0
    assert "hush" not in done.stdout + done.stderr


def test_draws_in_such_a_folder_are_only_those(repository: Path) -> None:
    out = repository.parent / "out"
    (out / "draws.csv").write_text("draw,probability,g\n1,2,hush\n")
    path = repository / f"file:{out}/draws.csv"
    path.parent.mkdir(parents=True)
    path.write_text("draw,probability,g\n1,2,decoy\n")
    write(repository, {"draws": f"file:{out}/draws.csv", **DRAWS})
    done = run("run", "s.yaml", "--untrusted", folder=repository)
    assert done.returncode == 2
    assert "decoy" in done.stderr
    assert "hush" not in done.stderr


@pytest.mark.parametrize("output", ["report.html", "reports/"])
def test_no_link_of_the_repository_leads_a_report_out(output: str, repository: Path) -> None:
    """A stranger can commit a link under the name that a workflow writes to."""
    out = repository.parent / "out"
    (out / "bashrc").write_text("mine\n")
    (out / "home").mkdir()
    (repository / "report.html").symlink_to(out / "bashrc")
    (repository / "reports").symlink_to(out / "home")
    write(repository, {})
    done = run("run", "s.yaml", "--untrusted", "-o", output, folder=repository)
    assert done.returncode == 2
    assert "--untrusted does not follow a link to" in done.stderr
    assert (out / "bashrc").read_text() == "mine\n"
    assert list((out / "home").iterdir()) == []


def test_a_shell_that_follows_a_link_of_the_repository_stays_in_it(repository: Path) -> None:
    """A stranger can commit a link under the name of the folder that a workflow changes to."""
    out, linked = repository.parent / "out", repository / "linked"
    write(out, {"data": "../repository/d.csv"})
    for spec in ("s.yaml", repository / "inner.yaml"):
        write(repository, {})
        (repository / "s.yaml").rename(repository / "inner.yaml")
        done = run("run", spec, "--untrusted", "-o", "r.html", folder=linked, PWD=str(linked))
        assert done.returncode == 2
        assert "--untrusted" in done.stderr
        assert not (out / "r.html").exists()
    # The own link of a user to a repository leads into it.
    own = repository.parent / "own"
    own.symlink_to(repository)
    done = run("check", "inner.yaml", "--untrusted", folder=own, PWD=str(own))
    assert done.returncode == 0

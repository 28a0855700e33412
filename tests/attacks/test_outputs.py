"""Reports: never over what is read, never those of another run, never half of one."""

from __future__ import annotations

import errno
import itertools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import long

from fairaudit import cli
from fairaudit.base.errors import UsageError
from fairaudit.cli.files import Identity, Outputs
from fairaudit.cli.output import clear_outputs

ROWS = "group,y,n\na,1,48\na,0,52\nb,1,50\nb,0,50\n"
SPEC = """\
data: {data}
waivers: waivers.json
columns:
  protected: [group]
  decision: {{column: y, positive: 1, negative: 0}}
  count: n
metrics:
  - {{metric: demographic_parity_ratio, fail: {{below: 0.8}}}}
"""
INPUTS = ("spec.txt", "waivers.json", "data/people.csv", "base.json")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with all that a run reads, each called like a report."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "people.csv").write_text(ROWS)
    (tmp_path / "waivers.json").write_text("[]")
    (tmp_path / "spec.txt").write_text(SPEC.format(data="data/people.csv"))
    assert cli.run_line(["run", "spec.txt", "-q", "-o", "base.json"]) == 0
    return tmp_path


def _spellings(name: str) -> list[str]:
    """Other ways to the same file; a link has the suffix that names a format."""
    suffix = Path(name).suffix
    Path(f"symbolic{suffix}").symlink_to(name)
    os.link(name, f"hard{suffix}")
    Path("there").symlink_to(".")
    return [name, f"there/{name}", str(Path(name).resolve()), f"symbolic{suffix}", f"hard{suffix}"]


@pytest.mark.parametrize(
    "broken", ["", "metrix: 3\n", "title: [\n"], ids=["good", "bad", "no YAML"]
)
@pytest.mark.parametrize(
    "data", ["data/people.csv", long("data"), long("'data/*.csv'"), long("[data/people.csv]")]
)
@pytest.mark.parametrize("name", INPUTS)
def test_nothing_that_is_read_is_written_over(
    place: Path, name: str, data: str, broken: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "spec.txt").write_text(SPEC.format(data=data) + broken)
    before = {one: Path(one).read_bytes() for one in INPUTS}
    for output in _spellings(name):
        line = ["run", "spec.txt", "-q", "--baseline", "base.json", "-o", output]
        assert cli.run_line(line) == 2
        assert "the command reads" in capsys.readouterr().err
        assert {one: Path(one).read_bytes() for one in INPUTS} == before


def test_data_of_the_command_line_is_not_written_over(place: Path) -> None:
    (place / "other.csv").write_text(ROWS)
    assert cli.run_line(["run", "spec.txt", "-q", "--data", "*.csv", "-o", "other.csv"]) == 2
    assert (place / "other.csv").read_text() == ROWS


def test_an_output_that_is_refused_leaves_no_old_report_beside_it(place: Path) -> None:
    for name in ("old.html", "old.json"):
        (place / name).write_text("PASS")
    line = ["run", "spec.txt", "-q", "-o", "old.html", "-o", "spec.txt", "-o", "old.json"]
    assert cli.run_line(line) == 2
    assert not (place / "old.html").exists()
    assert not (place / "old.json").exists()
    assert (place / "spec.txt").read_text().startswith("data:")


def test_a_file_too_large_for_a_spec_is_not_read_to_find_what_it_names(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairaudit.base.inputs.SPEC", 100)
    (place / "old.html").write_text("PASS")
    whole: list[Path] = []

    def noted(path: Path) -> bytes:
        whole.append(path)
        return b""

    monkeypatch.setattr(Path, "read_bytes", noted)
    assert cli.run_line(["run", "spec.txt", "-q", "-o", "old.html"]) == 2
    assert not whole


@pytest.mark.parametrize("broken", ["", "metrix: 3\n"], ids=["good", "bad"])
@pytest.mark.parametrize("name", ["spec.yaml", "waivers.json", "data/people.csv", "base.json"])
def test_the_summary_of_a_step_is_appended_to_nothing_that_is_read(
    place: Path, monkeypatch: pytest.MonkeyPatch, name: str, broken: str
) -> None:
    (place / "spec.yaml").write_text(SPEC.format(data="data/people.csv") + broken)
    before = (place / name).read_bytes()
    (place / "link").symlink_to(name)
    for summary in (name, "link"):
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", summary)
        line = ["run", "spec.yaml", "-q", "--baseline", "base.json", "-o", "r.json"]
        assert cli.run_line(line) == (2 if broken else 0)
        assert (place / name).read_bytes() == before


@pytest.mark.parametrize("broken", ["", "metrix: 3\n"], ids=["good", "bad"])
@pytest.mark.parametrize("option", [["-o", "r.json"], ["-or.json"], ["--output=r.json"]])
def test_nor_to_another_report(
    place: Path, monkeypatch: pytest.MonkeyPatch, option: list[str], broken: str
) -> None:
    (place / "spec.txt").write_text(SPEC.format(data="data/people.csv") + broken)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "r.json")
    assert cli.run_line(["run", "spec.txt", "-q", *option]) == (2 if broken else 0)
    assert json.loads((place / "r.json").read_text())["summary"]["verdict"]


def test_nor_is_anything_in_a_folder_of_reports(place: Path) -> None:
    (place / "index.json").write_text(SPEC.format(data="data/people.csv"))
    assert cli.run_line(["run", "index.json", "-q", "-o", "./"]) == 2
    assert (place / "index.json").read_text().startswith("data:")
    (place / "data" / "summary.csv").write_text(ROWS)
    assert cli.run_line(["run", "spec.txt", "-q", "--data", "data", "-o", "data/"]) == 2
    assert (place / "data" / "summary.csv").read_text() == ROWS


@pytest.mark.parametrize(
    "command", [["render", "base.json"], ["show", "base.json"], ["compare", "base.json", "b.json"]]
)
def test_nor_a_stored_result(place: Path, command: list[str]) -> None:
    before = (place / "base.json").read_bytes()
    (place / "b.json").write_bytes(before)
    (place / "link.json").symlink_to("base.json")
    for output in ("base.json", "link.json"):
        assert cli.run_line([*command, "-o", output]) == 2
        assert (place / "base.json").read_bytes() == before


@pytest.mark.parametrize("name", ["", " "])
def test_an_empty_name_is_refused(
    place: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(place.iterdir())
    assert cli.run_line(["run", "spec.txt", "-q", "-o", name]) == 2
    assert "the path is empty" in capsys.readouterr().err
    assert sorted(place.iterdir()) == before


@pytest.mark.long
def test_whatever_ends_a_run_no_earlier_report_stays(place: Path) -> None:
    """A process that is killed in its pass cannot tidy up any more."""
    outputs = ["r.json", "r.html", "r.txt", "r.md", "r.xml", "r.csv", "r.parquet", "reports/"]
    (place / "target.json").write_text("PASS")
    (place / "link.json").symlink_to("target.json")
    line = ["run", "spec.txt", "-q", *(f"-o{one}" for one in [*outputs, "link.json"])]
    assert cli.run_line(line) == 0
    old = {one for one in place.rglob("*") if one.suffix and one.name != "spec.txt"}
    code = (
        "import os, signal, sys\n"
        "from fairaudit import cli\n"
        "from fairaudit.counting import polars_engine\n"
        f"polars_engine.count = lambda *_: os.kill(os.getpid(), {int(signal.SIGKILL)})\n"
        "cli.run_line(sys.argv[1:])\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code, *line], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    left = {one.name for one in old if one.exists()}
    assert left == {"waivers.json", "people.csv", "base.json"}
    assert (place / "link.json").is_symlink()


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY)


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("number", [*_FULL, *_READ_ONLY])
def test_a_report_is_whole_or_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, at: int, *, there: bool
) -> None:
    """Whichever step fails, and why: the file is the new report, empty, or none."""
    target = tmp_path / "r.html"
    if there:
        target.write_text("PASS, says the old one, and at some length")
    steps = itertools.count()

    def failing(name: str, path_class: type[Path]) -> None:
        real = getattr(path_class, name)

        def step(self: Path, *arguments: object) -> object:
            if next(steps) == at or (number in _FULL and name == "write_bytes" and at < 2):
                if name == "write_bytes":
                    with self.open("wb") as file:
                        file.write(b"<ht")
                raise OSError(number, os.strerror(number))
            return real(self, *arguments)

        monkeypatch.setattr(path_class, name, step)

    failing("write_bytes", Path)
    failing("replace", Path)
    try:
        Outputs((target,)).write(target, "<html>FAIL</html>")
    except UsageError:
        assert not target.exists() or not target.read_bytes()
    else:
        assert target.read_text() == "<html>FAIL</html>"
    assert {one.name for one in tmp_path.iterdir()} <= {"r.html"}


def test_a_report_that_cannot_be_removed_is_emptied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A single file may be mounted into a folder: it can be written to, and not be removed."""

    def refused(_: Path) -> None:
        raise OSError(errno.EBUSY, "busy")

    old = tmp_path / "r.txt"
    old.write_text("PASS")
    monkeypatch.setattr(Path, "unlink", refused)
    clear_outputs([old], list)
    assert not old.read_bytes()


def test_a_file_is_known_by_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    (tmp_path / "b").write_text("")
    (tmp_path / "link").symlink_to("a")
    assert Identity.of(tmp_path / "a") == Identity.of(tmp_path / "link")
    assert Identity.of(tmp_path / "a") != Identity.of(tmp_path / "b")
    assert Identity.of(tmp_path / "none") is None

"""What README and docs/ show is run, in order within a page, and does what the page says.

- `console`: a line after `$ ` is a command, what follows up to the next one is what it prints, with
  `…` for what is left out. `sh`: commands that end with 0 or 1; a block of `text` that comes next
  is what the last of them prints.
- `pycon` is a doctest. `python` runs; a statement whose comment says `fails` raises `AuditFailed`.
- A block with a `title` is written to the file of that name. A `yaml` block with `columns` and
  `metrics` is a spec, and is audited.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest
import yaml
from commands import run
from conftest import ROOT, long

import fairaudit
from fairaudit.cli import command_line
from fairaudit.spec.editor_schema import json_schema

PAGES = {
    str(page.relative_to(ROOT)): page.read_text("utf-8")
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
}
GIVEN = ["README.md", *(f"docs/{name}.md" for name in ("ci", "command", "counts", "json"))]
GIVEN += ["docs/spec_notes.md"]
"""Reference pages, which speak of files that somebody has: `desk` makes them."""

QUICK = {"README.md"}
"""Pages that every run follows; the others need `--all`."""
LANGUAGES = {"console", "sh", "text", "python", "pycon", "yaml", "csv", "sql", "make", ""}
NOT_RUN = {
    ("README.md", "-m pytest"): "this is that",
    (
        "docs/python.md",
        "import mlflow",
    ): "a part of somebody's training; tests/unit/api/test_mlflow.py",
    ("docs/counts.md", "# GNU parallel"): "asks for another program; test_counting_recipes.py",
    ("docs/counts.md", "# Slurm"): "asks for a cluster; test_counting_recipes.py",
    ("docs/engines.md", "dbt build"): "asks for another program",
    ("docs/coming_from.md", "from aif360"): "holds other packages back: others.py runs it",
    ("docs/coming_from.md", "from aequitas"): "the same",
    ("docs/counts.md", "# Airflow"): "asks for another program",
}
SETTING_UP = re.compile(r"python3 -m venv |\.venv/bin/pip install |\. \.venv/bin/activate")

SYNOPSES = {
    "[SPEC...]": "spec.yaml",
    "PATH|GLOB|-": "site1.parquet",
    "[-o FILE|FOLDER/]...": "-o out.html",
    "FORMAT": "json",
    "fail|warn|never": "never",
    "ID": "impact_ratio",
    "[--draws FILE]": "",
    "[--no-data]": "",
    "FILE": "main.json",
    "NUMBER": "0.01",
    "[--for-each COLUMN]": "",
    "[--jobs N]": "--jobs 1",
    "sex,race": "gender,race",
    "DATA": "sample_data/loans.csv",
    "[-o spec.yaml]": "--prediction approved --positive yes -o new.yaml",
    "[CHECK]": "1",
    "RESULT.json": "result.json",
    "MAY.json": "may.json",
    "JUNE.json": "june.json",
    "SITE.counts...": "site1.counts site2.counts",
    "SITE.counts": "site1.counts",
    "ALL.counts": "all.counts",
    "TABLE.csv...": "summary.csv",
    "NAME": "impact_ratio",
    "[spec|result|comparison|check]": "result",
    "SPEC": "spec.yaml",
    "METRIC": "impact_ratio",
}
"""What stands for a placeholder of README's list when it is run, the first that fits."""


PART = {key: value for key, value in json_schema().items() if key not in {"if", "then"}}
"""The schema of a part of a spec."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code: its line in the page, language, title and text."""

    line: int
    language: str
    title: str | None
    text: str


def blocks(page: str) -> list[Block]:
    """The blocks of code of a page, in order."""
    fence = re.compile(r'^```(\w*)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
    found = [
        Block(page.count("\n", 0, match.start(3)) + 1, *match.groups())
        for match in fence.finditer(page)
    ]
    assert len(re.findall("^```", page, re.MULTILINE)) == 2 * len(found), "a fence is not read"
    return found


def is_what_is_shown(shown: str, printed: str) -> bool:
    """Whether a text is the one that is shown, where `…` stands for anything, lines included."""
    parts = re.split("…", shown.strip("\n"))
    pattern = ".*".join(re.escape(part) for part in parts)
    trimmed = "\n".join(line.rstrip() for line in printed.split("\n"))
    return re.fullmatch(pattern, trimmed.strip("\n"), re.DOTALL) is not None


class Shell:
    """Runs commands as a reader would, `fairaudit` itself in this process."""

    def __init__(self, folder: Path) -> None:
        """Begins in a folder."""
        self.folder = folder
        self.code = 0

    def run(self, line: str) -> str:
        """What a line prints: stdout, then stderr."""
        printed = ""
        for command in re.split(r" && ", line):
            if SETTING_UP.match(command):
                continue
            name, *arguments = shlex.split(command, comments=True) or [""]
            if name == "cd":
                self.folder /= arguments[0]
                self.code = 0
            elif command.strip() == "echo $?":
                printed += f"{self.code}\n"
            elif name.removeprefix(".venv/bin/") == "fairaudit":
                done = run(*self._words(command), folder=self.folder, COLUMNS="80")
                printed += done.stdout + done.stderr
                self.code = done.returncode
            elif name:
                process = self._bash(command)
                printed += process.stdout + process.stderr
                self.code = process.returncode
            if self.code and name != "echo":
                break
        return printed

    def _words(self, command: str) -> list[str]:
        """The arguments that a shell makes of a command: names for a glob, no comment."""
        each = "each() { for word; do printf '%s\\0' \"$word\"; done; }"
        words = self._bash(f"{each}; each {command.partition(' ')[2]}").stdout
        return words.split("\0")[:-1]

    def _bash(self, command: str) -> subprocess.CompletedProcess[str]:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        return subprocess.run(
            ["/bin/bash", "-c", command], cwd=self.folder, capture_output=True, text=True,
            check=False, env={**os.environ, "PATH": path, "PYTHONUTF8": "1"},
        )  # fmt: skip


@pytest.fixture(scope="session")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that reference pages speak of: a spec, exports, earlier results."""
    folder = tmp_path_factory.mktemp("desk")
    _copy_samples(folder)
    spec = (folder / "audit_specs" / "loans.yaml").read_text("utf-8")
    (folder / "spec.yaml").write_text(spec.replace("../sample_data", "sample_data"))
    loans = pl.read_parquet(folder / "sample_data" / "loans.parquet")
    halves = (loans.head(10_000), loans.tail(10_000))
    for number, (half, month) in enumerate(zip(halves, ("may", "june"), strict=True), 1):
        for path in (f"site{number}.parquet", f"data/{month}.parquet", f"exports/{month}.parquet"):
            (folder / path).parent.mkdir(exist_ok=True)
            half.write_parquet(folder / path)
        result = fairaudit.audit(folder / "spec.yaml", folder / "exports" / f"{month}.parquet")
        result.save(folder / f"{month}.json")
    run("count", "spec.yaml", "--data", "site2.parquet", "-o", "site2.counts", folder=folder)
    for name in ("main", "report", "result"):
        shutil.copy(folder / "may.json", folder / f"{name}.json")
    shutil.copy(folder / "june.json", folder / "branch.json")
    return folder


@pytest.fixture
def place(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Where a page is followed: a copy of the samples, or of the desk."""
    if name in GIVEN:
        shutil.copytree(request.getfixturevalue("desk"), tmp_path, dirs_exist_ok=True)
    else:
        _copy_samples(tmp_path)
    return tmp_path


def _copy_samples(folder: Path) -> None:
    for samples in ("audit_specs", "sample_data"):
        shutil.copytree(ROOT / samples, folder / samples)


class Reader:
    """Follows a page; `wrong` says what did not come out, `mended` is the page as it would."""

    def __init__(self, name: str, page: str, folder: Path) -> None:
        """Opens a page in a folder."""
        self.name = name
        self.page = self.mended = page
        self.shell = Shell(folder)
        self.names = _names(name, folder)
        self.wrong: list[str] = []

    def follow(self) -> None:
        """Does what each block says."""
        printed = ""
        for block in blocks(self.page):
            assert block.language in LANGUAGES, f"{self.name}:{block.line}: {block.language}"
            if any(page == self.name and begins in block.text for page, begins in NOT_RUN):
                continue
            if block.title:
                (self.shell.folder / block.title).write_text(block.text, "utf-8")
            elif block.language == "sh":
                printed = self._commands(block)
            elif block.language == "text" and printed:
                self._compare(block, "", block.text, printed)
                printed = ""
            elif block.language == "console":
                self._session(block)
            elif block.language == "python":
                self._statements(block)
            elif block.language == "pycon":
                self._doctest(block)
            elif block.language == "yaml":
                self._spec(block)

    def _compare(self, block: Block, command: str, shown: str, printed: str) -> None:
        if is_what_is_shown(shown, printed):
            return
        self._tell(block, f"{command}\n--- shown\n{shown}--- printed\n{printed}")
        ahead = f"$ {command}\n" if command else f"```{block.language}\n"
        self.mended = self.mended.replace(ahead + shown, ahead + _cut(printed, shown), 1)

    def _tell(self, block: Block, what: str) -> None:
        self.wrong.append(f"{self.name}:{block.line}: {what}")

    def _commands(self, block: Block) -> str:
        printed = ""
        for line in block.text.replace("\\\n", " ").splitlines():
            command = _filled(line) if "[SPEC...]" in block.text else line
            printed = self.shell.run(command)
            if self.shell.code not in {0, 1}:
                self._tell(block, f"{command}\n{printed}")
        return printed

    def _session(self, block: Block) -> None:
        parts = re.split(r"^\$ ((?:.*\\\n)*.*)\n", block.text, flags=re.MULTILINE)
        assert not parts[0], f"{self.name}:{block.line}: a session begins with `$ `"
        for command, shown in zip(parts[1::2], parts[2::2], strict=True):
            printed = self.shell.run(command.replace("\\\n", ""))
            self._compare(block, command, shown, printed)

    def _statements(self, block: Block) -> None:
        lines = block.text.splitlines()
        for statement in ast.parse(block.text).body:
            fails = "fails" in lines[(statement.end_lineno or 0) - 1].partition("#")[2]
            code = compile(ast.Module([statement], []), f"{self.name}:{block.line}", "exec")
            expected = pytest.raises(fairaudit.AuditFailed) if fails else contextlib.nullcontext()
            with contextlib.chdir(self.shell.folder), expected:
                exec(code, self.names)  # noqa: S102  # our own pages

    def _doctest(self, block: Block) -> None:
        test = doctest.DocTestParser().get_doctest(block.text, {}, self.name, None, block.line - 1)
        test.globs = self.names
        told: list[str] = []
        runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
        with contextlib.chdir(self.shell.folder):
            runner.run(test, out=told.append, clear_globs=False)
        if told:
            self._tell(block, "".join(told))

    def _spec(self, block: Block) -> None:
        text = yaml.safe_load(block.text)
        spec = {"metrics": text} if isinstance(text, list) and "metric" in text[0] else text
        keys = {*spec} if isinstance(spec, dict) else set()
        if {"columns", "metrics", "data"} <= keys:
            fairaudit.audit(block.text, self.shell.folder / "audit_specs" / text["data"])
        elif keys & {*PART["properties"]}:
            part = {key: spec[key] for key in keys - {"about", "extends"}}
            faults = jsonschema.Draft202012Validator(PART).iter_errors(part)
            for fault in (fault for fault in faults if fault.validator != "required"):
                self._tell(block, f"{fault.json_path}: {fault.message}")


def _names(name: str, folder: Path) -> dict[str, Any]:
    """What a page takes for given in Python."""
    if name == "README.md":
        frame = {"sex": ["f", "f", "m", "m"]}
        return {"y_true": [1, 0, 1, 0], "y_pred": [1, 1, 1, 0], "frame": frame}
    if name == "docs/json.md":
        return {"text": (folder / "report.json").read_text("utf-8")}
    return {}


def _filled(line: str) -> str:
    """A line of README's list as somebody would write it, with every option."""
    line = line.partition(" # ")[0]
    for placeholder, word in SYNOPSES.items():
        line = re.sub(rf"(?<!\w){re.escape(placeholder)}(?![\w.])", word, line)
    return re.sub(r"[][]|\.\.\.", "", line)


def _cut(printed: str, shown: str) -> str:
    """What is printed, as short as what is shown: with `…` where that has it."""
    old = shown.splitlines()
    kept = [line for line in old if line != "…"]
    new = [
        next((old_line for old_line in kept if is_what_is_shown(old_line, line)), line)
        for line in printed.splitlines()
    ]
    cut: list[str] = []
    for _, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        was, part = old[i:j], new[k:m]
        if "…" in was:
            head, tail = was.index("…"), was[::-1].index("…")
            part = [*part[:head], "…", *part[max(head, len(part) - tail) :]]
        cut += part
    return "".join(f"{line}\n" for line in cut)


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else long(name) for name, page in PAGES.items() if blocks(page)],
)
def test_what_a_page_shows_comes_out(
    name: str,
    place: Path,
    golden: Callable[[Path, str], None],
    request: pytest.FixtureRequest,
) -> None:
    reader = Reader(name, PAGES[name], place)
    reader.follow()
    wrong = "\n\n".join(reader.wrong)
    if reader.mended != reader.page and request.config.getoption("--rewrite-goldens"):
        golden(ROOT / name, reader.mended)
    else:
        assert not wrong, wrong


def test_each_exception_is_one() -> None:
    for (name, begins), reason in NOT_RUN.items():
        assert reason
        assert sum(begins in block.text for block in blocks(PAGES[name])) == 1


@pytest.mark.parametrize(
    ("block", "told"),
    [
        ("console\n$ fairaudit explain wilson\nNo such word.\n", "No such word"),
        ("console\n$ fairaudit explain wilson\n", "--- printed"),
        ("console\n$ echo one\ntwo\n…\n", "--- printed\none"),
        ("sh\nfairaudit run there_is_none.yaml\n", "there_is_none.yaml"),
        ("sh\necho one\n```\n\n```text\ntwo\n", "--- printed\none"),
        ("pycon\n>>> 1 + 1\n3\n", "Expected"),
        ("yaml\nmetrics: 3\n", "$.metrics"),
        ("yaml\n- {metric: selection_rate, bx: 3}\n", "$.metrics"),
    ],
)
def test_what_does_not_come_out_is_told(block: str, told: str, tmp_path: Path) -> None:
    reader = Reader("a page", f"A page.\n\n```{block}```\n", tmp_path)
    reader.follow()
    assert len(reader.wrong) == 1
    assert told in reader.wrong[0]


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("no_such_name", NameError),
        ("assert 1 + 1 == 3", AssertionError),
        ("import fairaudit  # in a test: fails", pytest.fail.Exception),
    ],
)
def test_python_that_does_not_run_is_told(
    code: str, error: type[BaseException], tmp_path: Path
) -> None:
    reader = Reader("a page", f"```python\n{code}\n```\n", tmp_path)
    with pytest.raises(error):
        reader.follow()


@pytest.mark.parametrize(
    ("shown", "printed", "cut"),
    [
        ("one\ntwo\n…\n", "1\n2\n3\n4\n", "1\n2\n…\n"),
        ("…\nlast 3\n", "1\n2\nlast 4\n", "…\nlast 4\n"),
        ("one\n…\nfour\nin …s\n", "one\n2\n3\nfour!\nin 5s\n", "one\n…\nfour!\nin …s\n"),
        ("one\n\ntwo\n", "one\n\n2\n", "one\n\n2\n"),
    ],
)
def test_a_page_that_is_written_anew_leaves_out_what_it_left_out(
    shown: str, printed: str, cut: str
) -> None:
    assert _cut(printed, shown) == cut


def test_a_block_that_is_not_read_is_told() -> None:
    with pytest.raises(AssertionError, match="a fence is not read"):
        blocks("```sh hl_lines=1\nfairaudit run\n```\n")


def test_a_command_after_one_that_fails_is_not_run(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    assert shell.run("fairaudit run there_is_none.yaml && echo on").endswith("there_is_none.yaml\n")
    assert shell.run("echo $?") == "2\n"


@pytest.mark.parametrize("name", PAGES)
def test_commands_in_sentences_are_understood(name: str) -> None:
    prose = re.sub(r"^```.*?^```", "", PAGES[name], flags=re.MULTILINE | re.DOTALL)
    for words in re.findall(r"`fairaudit ([^`]+)`", prose):
        _, *arguments = command = shlex.split(words.replace("...", "").replace("…", ""))
        if not command[0].startswith("-"):
            known = command_line().commands[command[0]]
            if arguments or known.name in {"metrics", "schema", "explain"}:
                known.make_context(command[0], arguments)


def _anchors(page: str) -> set[str]:
    """What a link into a page may name: its headings, as GitHub writes them, and its anchors."""
    text = re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    names = [re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings]
    return {*names, *re.findall(r'<a id="([^"]+)">', text)}


def test_the_site_has_each_page_once() -> None:
    listed = re.findall(r"[\w/]+\.md", (ROOT / "mkdocs.yml").read_text("utf-8"))
    assert sorted(f"docs/{page}" for page in listed) == sorted(set(PAGES) - {"README.md"})


@pytest.mark.parametrize("name", [*PAGES, "CONTRIBUTING.md"])
def test_links_lead_somewhere(name: str) -> None:
    path, built = ROOT / name, (ROOT / ".ci" / "gallery.py").read_text("utf-8")
    for link in re.findall(r"\]\(([^)\s]+)\)", path.read_text("utf-8")):
        if "://" not in link:
            file, _, anchor = link.partition("#")
            if file.startswith("gallery/"):
                assert f'"{Path(file).parts[1].removesuffix(".html")}' in built, link
                continue
            target = path.parent / file if file else path
            assert target.exists(), link
            assert not anchor or anchor in _anchors(target.read_text("utf-8")), link

"""`-o` with a folder: a page and a JSON document for each audit, and an index of them.

Other files of the folder stay, including reports of an earlier run. The index lists only the
reports of this run, and the command prints the number of the others.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from fairaudit.base import input_formats, inputs
from fairaudit.base.errors import FairauditError, UsageError
from fairaudit.base.processes import THIS_PROCESS, Workers
from fairaudit.cli.files import Outputs
from fairaudit.report import FORMATS, Format

if TYPE_CHECKING:
    from fairaudit.base.disclosure_marks import Notice
    from fairaudit.codec.records import Tree
    from fairaudit.result import Answer

_REPORTS = ("html", "json")
"""The formats of the reports in a folder; the index links to the first."""

FIXED = ("index.html", "index.json", "summary.csv", "checks.csv")
"""The files of a folder with fixed names."""

_OURS = ("index", "summary", "checks")
_NO_SIGN = re.compile(r"[^\w.-]+")
_RUN = re.compile(r"([.-])[.-]+")
_SUFFIX = re.compile(
    "({})?({})?$".format(
        "|".join(re.escape(end) for form in input_formats.FORMATS for end in form.suffixes),
        "|".join(map(re.escape, input_formats.COMPRESSIONS)),
    ),
    re.IGNORECASE,
)
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)
_LONGEST = 120
"""Bytes of a name; a file system takes 255, and suffixes follow."""


def prepare(path: Path) -> None:
    """Makes the folder before anything is read. Raises `UsageError` where that cannot be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = error.strerror or str(error)
        raise UsageError(f"-o {path}/: {why}", "name a folder that can be made") from error


def formats() -> list[Format]:
    """The formats of the reports in a folder; the index links to the first."""
    return [form for name in _REPORTS for form in FORMATS if form.name == name]


def write_folder(
    path: Path, answers: Sequence[Answer], outputs: Outputs, workers: Workers = THIS_PROCESS
) -> int:
    """Writes the reports of all answers, then the index; returns the number of older reports.

    The index is written last, so that everything that it lists exists.
    """
    from fairaudit import codec
    from fairaudit.report import index, summary
    from fairaudit.report import json as report_json

    forms = formats()
    page_format = forms[0]
    audits = file_names([(answer.spec, answer.data) for answer in answers])
    listed = [
        index.Listed(answer, {form.name: name + form.suffixes[0] for form in forms})
        for name, answer in zip(audits, answers, strict=True)
    ]
    now = {name for entry in listed for name in entry.files.values()}
    before = outputs.earlier.get(path, frozenset())
    others = sum((path / name).is_file() for name in before - now)
    rendered: Iterable[list[str | bytes]] = map(_render, answers)
    if workers.jobs > 1:
        packed = ((one.spec, one.data, codec.pack(one.result), one.notices) for one in answers)
        rendered = workers.map(_render_elsewhere, packed)
    for entry, reports in zip(listed, rendered, strict=True):
        for form, content in zip(forms, reports, strict=True):
            outputs.write(path / entry.files[form.name], content)
    outputs.write(path / "summary.csv", index.summary_csv(listed))
    outputs.write(path / "checks.csv", index.checks_csv(listed))
    links = [quote(entry.files[page_format.name], safe="") for entry in listed]
    document = summary.document(answers, all_rows=True, links=links, has_headlines=True)
    assert page_format.page is not None
    outputs.write(path / "index.html", page_format.page(document))
    outputs.write(path / "index.json", report_json.written(index.index(listed)))
    return others


def _render_elsewhere(
    packed: tuple[str, str | None, Tree | FairauditError, tuple[Notice, ...]],
) -> list[str | bytes]:
    """The reports of an answer that another process packed."""
    from fairaudit import codec
    from fairaudit.result import Answer

    spec, data, outcome, notices = packed
    return _render(Answer(spec, data, codec.unpack(outcome), notices))


def _render(answer: Answer) -> list[str | bytes]:
    """The reports of an answer, in the order of `formats`."""
    return [form.render([answer], all_rows=True) for form in formats()]


def report_paths(path: Path, audits: Sequence[tuple[str, str | None]]) -> list[Path]:
    """Where the reports of such audits are written in a folder."""
    names = file_names(audits)
    return [path / f"{name}{form.suffixes[0]}" for name in names for form in formats()]


def file_names(audits: Sequence[tuple[str, str | None]]) -> list[str]:
    """A safe and unique file name for each audit, from its spec and data.

    It is the name of the data file, with the spec if there are several specs, and with folders if
    two files have the same name. Names that differ only in case count as equal.
    """
    from fairaudit.report.summary import told_apart

    specs = told_apart([spec for spec, _ in audits])
    files = told_apart([data or "" for _, data in audits])
    several = len({*specs}) > 1
    # For each audit the stem of its file, the file, then both with their folders.
    candidates = []
    for spec, file in zip(map(Path, specs), files, strict=True):
        path, stem = (Path(file), _SUFFIX.sub("", Path(file).name)) if file else (spec, spec.stem)
        short, long = [], []
        if several and file:
            short, long = [spec.stem], [*spec.parent.parts, spec.stem]
        folders = path.parent.parts
        parts = ((*short, stem), (*short, path.name), (*long, *folders, stem))
        spelled_out = map("-".join, (*parts, (*long, *folders, path.name)))
        candidates.append(tuple(map(_safe, spelled_out)))
    times = [Counter(map(_folded, names)) for names in zip(*candidates, strict=True)]
    taken = set(_OURS)
    chosen = []
    for names in candidates:
        unique = (name for name, seen in zip(names, times, strict=True) if seen[_folded(name)] == 1)
        numbered = (f"{names[0]}-{number}" for number in count(2))
        free = (name for name in chain(unique, names[:1], numbered) if _folded(name) not in taken)
        name = next(free)
        taken.add(_folded(name))
        chosen.append(name)
    return chosen


def _safe(text: str) -> str:
    """A text as the name of a file: letters, digits, single dots and dashes, of any script."""
    plain = unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode())
    plain = _RUN.sub(r"\1", _NO_SIGN.sub("-", plain)).strip("-._")
    while len(plain.encode()) > _LONGEST:
        # The end distinguishes files: a date, a number.
        plain = plain[1:].lstrip("-._")
    if not plain:
        return "data"
    return f"data-{plain}" if _DEVICE.match(plain) else plain


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name.casefold())


def listed_in(path: Path) -> frozenset[str]:
    """The reports in a folder that its index lists."""
    import json

    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
        index = json.loads(inputs.read(path / "index.json", inputs.REPORT))
        names = {name for audit in index["audits"] for name in audit["reports"].values()}
        return frozenset(name for name in names if Path(name).name == name)
    return frozenset()

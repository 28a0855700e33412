"""Writes and removes files atomically; for `-o FOLDER/`, writes pages, JSON and an index.

Files of an earlier run with the same names are removed before anything is read. So if a signal ends
the run, users find no older file that looks like its report.

Other files of the folder stay, including other reports of an earlier run. The index lists only the
reports of this run.
"""

from __future__ import annotations

import errno
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from fairaudit.base import inputs, names, trust
from fairaudit.base.errors import FairauditError, UsageError
from fairaudit.base.frozen import Frozen, field
from fairaudit.base.processes import Workers
from fairaudit.report import FORMATS

if TYPE_CHECKING:
    from fairaudit.result import Answer


_ONLY_IN_PLACE = {
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV, errno.ENAMETOOLONG)
}
"""Errors for which a file is overwritten in place, because it cannot be replaced."""


class Identity(Frozen):
    """The identity of a file, the same for each path and each link that leads to the file."""

    device: int
    number: int

    @classmethod
    def of(cls, path: Path) -> Identity | None:
        """The file at a path; None if it does not exist."""
        try:
            status = path.stat()
        except (OSError, ValueError):
            return None
        return cls(status.st_dev, status.st_ino)


class Outputs(Frozen):
    """The output paths and the input files of a command.

    `unwritten` are the paths without new content. An error that ends the command is written there.
    """

    paths: tuple[Path, ...] = ()
    inputs: Mapping[Identity, str] = field(default_factory=dict)
    unwritten: set[Path] = field(default_factory=set)

    def refuse(self, path: Path) -> None:
        """Raises `UsageError` if the command would overwrite one of its inputs."""
        known = Identity.of(path)
        if known is not None and known in self.inputs:
            read = names.copied(self.inputs[known])
            what = f"-o {names.copied(str(path))} would overwrite {read}, which the command reads"
            raise UsageError(what, "name another place")

    def write(self, path: Path, content: str | bytes) -> None:
        """Writes a complete file or nothing; a link is followed, not replaced.

        If the file cannot be replaced, it is overwritten in place: it may be mounted into a folder
        without write permission.
        """
        self.unwritten.discard(path)
        self.refuse(path)
        # `resolve` raises an error for a link that leads to itself.
        target = Path(os.path.realpath(path))
        data = content if isinstance(content, bytes) else content.encode(errors="backslashreplace")
        try:
            trust.refuse_output(path)
            if target.exists() and not target.is_file():
                # A pipe or a device is written to, never replaced.
                target.write_bytes(data)
            else:
                _replace(target, data)
        except OSError as error:
            why = error.strerror or str(error)
            raise UsageError(f"-o {names.copied(str(path))}: {why}", "check the folder") from error


def clear(path: Path) -> None:
    """Removes a report of an earlier run, or empties it if it cannot be removed."""
    target = Path(os.path.realpath(path))
    if not target.is_file():
        return
    try:
        trust.refuse_output(path)
    except OSError as error:
        what = f"-o {names.copied(str(path))}: {error.strerror}"
        raise UsageError(what, "remove the link, or name another place") from error
    try:
        target.unlink()
    except OSError as error:
        try:
            os.truncate(target, 0)
        except OSError:
            why = error.strerror or str(error)
            raise UsageError(f"-o {names.copied(str(path))}: {why}", "check the folder") from error


def _replace(target: Path, data: bytes) -> None:
    """Writes to a temporary file, then replaces the target; removes partial files."""
    half = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        half.write_bytes(data)
        half.replace(target)
    except BaseException as error:
        with suppress(OSError):
            half.unlink(missing_ok=True)
        if target.is_file():
            if isinstance(error, OSError) and error.errno in _ONLY_IN_PLACE:
                try:
                    target.write_bytes(data)
                except BaseException:
                    with suppress(OSError):
                        os.truncate(target, 0)
                    raise
                return
            # The existing file is a report of another run.
            clear(target)
        raise


_REPORTS = [form for name in ("html", "json") for form in FORMATS if form.name == name]
"""The formats of the reports in a folder; the index links to those in the first format."""

PICTURES = "pictures"
"""The name of a folder that gets the pictures of a page, and no reports."""

FIXED = ("index.html", "index.json", "summary.csv", "checks.csv")
"""The files of a folder with fixed names."""

_OURS = ("index", "summary", "checks")
_NO_SIGN = re.compile(r"[^\w.-]+")
_RUN = re.compile(r"([.-])[.-]+")
_SUFFIX = re.compile(
    "({})?({})?$".format(
        "|".join(re.escape(end) for form in inputs.FORMATS for end in form.suffixes),
        "|".join(map(re.escape, inputs.COMPRESSIONS)),
    ),
    re.IGNORECASE,
)
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)
_LONGEST = 120
"""The maximum number of bytes of a name. File systems allow 255, including suffixes."""


def write_folder(path: Path, answers: Sequence[Answer], outputs: Outputs, workers: Workers) -> None:
    """Writes the reports of all answers, then the index, which lists only what exists."""
    from fairaudit.report import export, summary
    from fairaudit.report import json as report_json

    page_format = _REPORTS[0]
    audits = file_names([(answer.spec, answer.data) for answer in answers])
    listed = [
        export.Listed(answer, {form.name: name + form.suffixes[0] for form in _REPORTS})
        for name, answer in zip(audits, answers, strict=True)
    ]
    rendered = workers.map(_render, answers)
    for entry, reports in zip(listed, rendered, strict=True):
        for form, content in zip(_REPORTS, reports, strict=True):
            outputs.write(path / entry.files[form.name], content)
    outputs.write(path / "summary.csv", export.summary_csv(listed))
    outputs.write(path / "checks.csv", export.checks_csv(listed))
    links = [quote(entry.files[page_format.name], safe="") for entry in listed]
    document = summary.document(answers, all_rows=True, links=links, has_headlines=True)
    assert page_format.page is not None
    outputs.write(path / "index.html", page_format.page(document))
    outputs.write(path / "index.json", report_json.written(export.index(listed)))


def write_pictures(path: Path, answers: Sequence[Answer], outputs: Outputs) -> None:
    """Writes each picture as an SVG file; with several audits, the file name has the audit."""
    from fairaudit.report import html
    from fairaudit.report.html import svg

    audits = file_names([(answer.spec, answer.data) for answer in answers])
    for audit, answer in zip(audits, answers, strict=True):
        if not isinstance(answer.result, FairauditError):
            for name, figure in html.pictures(answer.result).items():
                file = f"{audit}-{name}.svg" if len(answers) > 1 else f"{name}.svg"
                outputs.write(path / file, svg.draw(figure))


def _render(answer: Answer) -> list[str | bytes]:
    """The reports of an answer, in the order of `_REPORTS`."""
    return [form.render([answer], all_rows=True) for form in _REPORTS]


def report_paths(path: Path, audits: Sequence[tuple[str, str | None]]) -> list[Path]:
    """The paths of the reports of audits (spec and data) in a folder."""
    names = file_names(audits)
    return [path / f"{name}{form.suffixes[0]}" for name in names for form in _REPORTS]


def file_names(audits: Sequence[tuple[str, str | None]]) -> list[str]:
    """A safe and unique file name for each audit, from its spec and data.

    It is the name of the data file, with the spec if there are several specs, and with folders if
    two files have the same name. Names that differ only in case count as equal.
    """
    from fairaudit.report.summary import told_apart

    specs = told_apart([spec for spec, _ in audits])
    files = told_apart([data or "" for _, data in audits])
    several = len({*specs}) > 1
    # The possible names of each audit: the stem of its file, the file, then both with folders.
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
    times = [Counter(map(_folded, column)) for column in zip(*candidates, strict=True)]
    taken = set(_OURS)
    chosen = []
    for spellings in candidates:
        unique = (
            name for name, seen in zip(spellings, times, strict=True) if seen[_folded(name)] == 1
        )
        numbered = (f"{spellings[0]}-{number}" for number in count(2))
        free = (
            name for name in chain(unique, spellings[:1], numbered) if _folded(name) not in taken
        )
        name = next(free)
        taken.add(_folded(name))
        chosen.append(name)
    return chosen


def _safe(text: str) -> str:
    """A text as the name of a file: letters of any script, digits, single dots and dashes."""
    plain = unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode())
    plain = _RUN.sub(r"\1", _NO_SIGN.sub("-", plain)).strip("-._")
    while len(plain.encode()) > _LONGEST:
        # Cut the beginning: the end, such as a date or a number, distinguishes files.
        plain = plain[1:].lstrip("-._")
    if not plain:
        return "data"
    return f"data-{plain}" if _DEVICE.match(plain) else plain


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name.casefold())

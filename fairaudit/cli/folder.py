"""A folder of reports: a page and a document for each audit, an index that leads to all of them.

What else lies in the folder is left alone, reports of an earlier run too: the index lists those of
this run, and the command says how many others there are.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from fairaudit import inputs
from fairaudit.cli.files import Outputs
from fairaudit.errors import UsageError

if TYPE_CHECKING:
    from fairaudit.report.listing import Listed
    from fairaudit.result import Answer

_REPORTS = ("html", "json")
"""The formats of the reports in a folder; the index links to the first."""

FIXED = ("index.html", "index.json", "summary.csv", "checks.csv")
"""The files of a folder that are called the same whatever is audited."""

_OURS = ("index", "summary", "checks")
_NO_SIGN = re.compile(r"[^\w.-]+")
_RUN = re.compile(r"([.-])[.-]+")
_SUFFIX = re.compile(r"(?:\.(?:csv|tsv|txt|parquet|pq))?(?:\.(?:gz|zst))?$", re.IGNORECASE)
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


def write_folder(path: Path, answers: Sequence[Answer], outputs: Outputs) -> int:
    """Writes the report of each answer, then the index; how many of an earlier run lie there still.

    The index comes last: whoever finds it finds all that it lists.
    """
    from fairaudit import report
    from fairaudit.report import json as report_json
    from fairaudit.report import listing, summary

    forms = [one for name in _REPORTS if (one := report.format_of(name)) is not None]
    listed: list[Listed] = []
    asked = [(one.spec, one.data) for one in answers]
    for name, answer in zip(names(asked), answers, strict=True):
        files = {one.name: name + one.suffixes[0] for one in forms}
        listed.append(listing.Listed(answer, files))
    now = {name for one in listed for name in one.files.values()}
    before = outputs.earlier.get(path, frozenset())
    left = sum((path / one).is_file() for one in before - now)
    for each in listed:
        for one in forms:
            outputs.write(path / each.files[one.name], one.render([each.answer], True))
    outputs.write(path / "summary.csv", listing.summary_csv(listed))
    outputs.write(path / "checks.csv", listing.checks_csv(listed))
    page = forms[0].page
    if page is not None:
        links = [quote(one.files[forms[0].name], safe="") for one in listed]
        document = summary.document(answers, all_rows=True, links=links)
        outputs.write(path / f"index{forms[0].suffixes[0]}", page(document))
    outputs.write(path / "index.json", report_json.written(listing.index(listed)))
    return left


def files_of(path: Path, asked: Sequence[tuple[str, str | None]]) -> list[Path]:
    """Where the reports of such audits are written in a folder."""
    from fairaudit import report

    forms = [one for name in _REPORTS if (one := report.format_of(name)) is not None]
    return [path / f"{name}{one.suffixes[0]}" for name in names(asked) for one in forms]


def names(asked: Sequence[tuple[str, str | None]]) -> list[str]:
    """A name for the files of each answer, of its spec and data: safe, and no two are alike.

    It is that of the data file, with the spec where there are several; where two files are called
    alike, their folders are in it. Names that differ in case alone are alike.
    """
    wanted = _candidates(asked)
    times = [Counter(map(_folded, each)) for each in zip(*wanted, strict=True)]
    taken = set(_OURS)
    found = []
    for each in wanted:
        alone = (name for name, seen in zip(each, times, strict=True) if seen[_folded(name)] == 1)
        numbered = (f"{each[0]}-{number}" for number in count(2))
        free = (one for one in chain(alone, each[:1], numbered) if _folded(one) not in taken)
        name = next(free)
        taken.add(_folded(name))
        found.append(name)
    return found


def _candidates(asked: Sequence[tuple[str, str | None]]) -> list[tuple[str, ...]]:
    """Names for each answer: the stem of its file, the file, then both with their folders."""
    from fairaudit.report.labels import told_apart

    specs = told_apart([spec for spec, _ in asked])
    files = told_apart([data or "" for _, data in asked])
    several = len({*specs}) > 1
    return [
        tuple(map(_safe, _spelled_out(Path(spec), Path(file) if file else None, several=several)))
        for spec, file in zip(specs, files, strict=True)
    ]


def _spelled_out(spec: Path, file: Path | None, *, several: bool) -> tuple[str, ...]:
    """Names for one answer, each saying more than the one before."""
    first, last = (spec, spec.stem) if file is None else (file, _SUFFIX.sub("", file.name))
    short, long = [], []
    if several and file is not None:
        short, long = [spec.stem], [*spec.parent.parts, spec.stem]
    folders = first.parent.parts
    each = ((*short, last), (*short, first.name), (*long, *folders, last))
    return tuple(map("-".join, (*each, (*long, *folders, first.name))))


def _safe(text: str) -> str:
    """A text as the name of a file: letters, digits, single dots and dashes, of any script."""
    plain = unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode())
    plain = _RUN.sub(r"\1", _NO_SIGN.sub("-", plain)).strip("-._")
    while len(plain.encode()) > _LONGEST:
        # The end tells files apart: a date, a number.
        plain = plain[1:].lstrip("-._")
    if not plain:
        return "data"
    return f"data-{plain}" if _DEVICE.match(plain) else plain


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name.casefold())


def listed_in(path: Path) -> frozenset[str]:
    """The reports in a folder that its index lists."""
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
        tree = json.loads(inputs.read(path / "index.json", inputs.REPORT))
        found = {name for one in tree["audits"] for name in one["reports"].values()}
        return frozenset(name for name in found if Path(name).name == name)
    return frozenset()

# ruff: noqa: INP001  # no package
"""Hook of MkDocs: runs the specs of docs/gallery.md, and adds their reports to the site."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File, Files

from fairaudit import cli

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig

PAGES = {
    "loans": "audit_specs/loans.yaml",
    "ll144": "audit_specs/recipes/hiring_ll144.yaml",
    "compas": "audit_specs/compas_scores.yaml",
    "hmda": "audit_specs/recipes/mortgages.yaml",
    "berkeley": "audit_specs/berkeley_admissions.yaml",
}
"""The reports by their names in the site. Specs are paths from the top of the repository."""
SERIES = ("months", "audit_specs/recipes/monitoring.yaml", "sample_data/months")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The files of the site, with the reports in its folder `gallery`."""
    top = Path(config.config_file_path).parent
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(top):
        for name, spec in PAGES.items():
            _run(spec, "-o", f"{folder}/{name}.html")
        months, spec, data = SERIES
        _run(spec, "--data", data, "-o", f"{folder}/{months}/")
        for path in sorted(Path(folder).rglob("*.html")):
            name = path.relative_to(folder).as_posix()
            files.append(File.generated(config, f"gallery/{name}", content=path.read_bytes()))
    return files


def _run(*words: str) -> None:
    code = cli.run_line(["run", *words, "-qq", "--exit-zero"])
    if code:
        raise RuntimeError(f"fairaudit run {' '.join(words)} ended with {code}")

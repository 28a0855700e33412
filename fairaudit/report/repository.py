"""Links to the spec on GitHub, and to metrics in the documentation."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

from fairaudit.base.errors import Place
from fairaudit.base.inputs import is_file
from fairaudit.base.names import printable
from fairaudit.metrics import find_metric


def path_in_repository(file: str) -> str:
    """The file from the top of the repository, where it lies in that; else as it is named."""
    named = Path(file)
    top = os.environ.get("GITHUB_WORKSPACE")
    if top:
        # As it is written first: a link in the repository is a file of its own.
        pairs = [(Path(os.path.normpath(Path.cwd() / named)), Path(top))]
        pairs.append((named.resolve(), Path(top).resolve()))
        within = (path.relative_to(root) for path, root in pairs if path.is_relative_to(root))
        named = next(within, named)
    return printable(named.as_posix())


def link_to_line(place: Place) -> str:
    """The address of a line in the commit that a workflow runs on; empty where it is not known."""
    names = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_SHA")
    server, repository, commit = (os.environ.get(name, "") for name in names)
    path = path_in_repository(place.file)
    is_within = (
        is_file(place.file) and not path.startswith(("/", "../")) and path not in {"-", ".."}
    )
    if not (server.startswith("https://") and repository and commit and is_within):
        return ""
    address = f"{repository}/blob/{commit}/{path}"
    return f"{server.rstrip('/')}/{quote(address)}#L{place.line}"


def link_to_metric(name: str) -> str:
    """The address of a metric on the site that `FAIRAUDIT_DOCS` names; empty without one."""
    site = os.environ.get("FAIRAUDIT_DOCS", "").strip()
    if not site.startswith("https://") or find_metric(name) is None:
        return ""
    return f"{quote(site.rstrip('/'), safe=':/%')}/metrics.html#{name}"

"""MLflow: logs an audit's reports, values and statuses to the active run."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TypeVar

from fairaudit.base.errors import UsageError, check_type
from fairaudit.report import html, json
from fairaudit.result import Answer, AuditResult

Value = TypeVar("Value")

_LONGEST = 250
"""The maximum length of a key in MLflow."""
_MOST = 100
"""The maximum number of tags in one request; requests with metrics may be larger."""
_DIGITS = 8
_UNKNOWN = re.compile(r"[^\w\-. :/]")
"""Characters that MLflow does not allow in a key, such as `+` and `=` in the id of a check."""


def log_to_mlflow(result: AuditResult, name: str = "fairaudit") -> None:
    """Logs an audit to the active run of MLflow, or to a new one, as MLflow's own functions do.

    `name` is the folder of the artifacts `report.html` and `report.json`, and the first part of the
    names of metrics and tags. For example, the metric `fairaudit/impact_ratio/sex/decision` is the
    value that the limit of a check judges, and the tag of that name is its status. A check without
    a finite value has only the tag. The tags `fairaudit.verdict`, `fairaudit.spec`,
    `fairaudit.spec_sha256` and `fairaudit.version` identify the audit. Raises `UsageError` if
    MLflow is not installed, and the errors of MLflow.
    """
    check_type(result, AuditResult, "the logged object must be a result")
    try:
        import mlflow
    except ImportError as error:
        what = "MLflow is not installed"
        raise UsageError(what, "pip install 'fairaudit-cli[mlflow]'") from error
    provenance = result.provenance
    keys = name_keys((finding.check.id for finding in result.findings), name)
    tags = {
        f"{name}.verdict": str(result.verdict),
        f"{name}.spec": provenance.spec_path,
        f"{name}.spec_sha256": provenance.spec_sha256,
        f"{name}.version": provenance.version,
    }
    tags |= {keys[finding.check.id]: str(finding.status) for finding in result.findings}
    values = {
        keys[finding.check.id]: finding.value
        for finding in result.findings
        if finding.value is not None and math.isfinite(finding.value)
    }
    page = html.render([Answer(provenance.spec_path, None, result)], all_rows=True)
    mlflow.log_text(page, f"{name}/report.html")
    mlflow.log_text(json.render(result), f"{name}/report.json")
    for metrics in _split(values):
        mlflow.log_metrics(metrics)
    for statuses in _split(tags):
        mlflow.set_tags(statuses)


def name_keys(ids: Iterable[str], name: str) -> dict[str, str]:
    """The unique key in MLflow of each check, by its id.

    `_` replaces characters that keys cannot have. If two keys would become equal by this or by the
    maximum length, a digest of the id is added.

    >>> name_keys(["auc/race/decision", "gap/sex+race/decision"], "ours")["gap/sex+race/decision"]
    'ours/gap/sex_race/decision'
    """
    keys: dict[str, str] = {}
    for id_ in ids:
        parts = [part if part.strip(". ") else "_" for part in _UNKNOWN.sub("_", id_).split("/")]
        key = f"{name}/{'/'.join(parts)}"
        if len(key) > _LONGEST or key in keys.values():
            digest = hashlib.sha256(id_.encode(errors="backslashreplace")).hexdigest()[:_DIGITS]
            key = f"{key[: _LONGEST - _DIGITS - 1]}-{digest}"
        keys[id_] = key
    return keys


def _split(entries: Mapping[str, Value]) -> Iterator[dict[str, Value]]:
    """The entries in parts that MLflow accepts in one request."""
    rest = iter(entries.items())
    while part := dict(islice(rest, _MOST)):
        yield part

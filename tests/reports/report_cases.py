"""What tests of reports share: the sample specs, audited once; every kind of verdict; bad names."""

from __future__ import annotations

import contextlib
import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import SPECS, long

import fairaudit
from fairaudit.base.errors import Place
from fairaudit.base.frozen import replace
from fairaudit.report import json as report_json
from fairaudit.result import AuditResult

NAMES = sorted(path.stem for path in SPECS.glob("*.yaml"))
GOLDENS = Path(__file__).parent / "goldens"
WHOLE = ("kidney_admissions", "titanic", "loans_subgroups", "compas_scores")
GOLDEN = {
    "md": (*WHOLE, "adult_counts", "berkeley_admissions", "loans_theta"),
    "80.txt": WHOLE,
    "200.txt": ("kidney_admissions",),
    "html.txt": WHOLE,
    "screen.txt": (*WHOLE, "adult_counts", "loans"),
    "github.txt": ("fairlearn_page", "florida_1976", "loans"),
    "xml": ("florida_1976", "kidney_admissions", "loans_subgroups"),
    "json": ("florida_1976",),
}
"""The samples whose reports are expected texts: few of each format, and small where they can be.

Markdown has every section of a report once, and the other formats every kind of section.
"""
EACH = [name if any(name in names for names in GOLDEN.values()) else long(name) for name in NAMES]
"""The samples as cases of a test, of which the slow ones that show no more run with `--all`."""

HOSTILE = {
    "a|b": "a|b",
    "`code`": "`code`",
    "<script>alert(1)</script>": "<script>alert(1)</script>",
    "*bold* _it_ ~~no~~ __init__": "*bold* _it_ ~~no~~ __init__",
    "# heading": "# heading",
    "[x](javascript:alert)": "[x](javascript:alert)",
    "![x](//evil)": "![x](//evil)",
    "@mention and @org/team": "@mention and @org/team",
    "#123 GH-12 o/r#7": "#123 GH-12 o/r#7",
    ":tada:": ":tada:",
    "https://evil.example/x": "https://evil.example/x",
    "www.evil.example": "www.evil.example",
    "who@evil.example": "who@evil.example",
    "two\nlines\r\nand\ttab": r"two\nlines\r\nand\ttab",
    "- item": "- item",
    "1. item": "1. item",
    "\x1b[31mred\x00": r"\x1b[31mred\x00",
    "\u202egnp.exe": r"\u202egnp.exe",
    "שלום עולם": "שלום עולם",
    "&lt;b&gt; &amp;": "&lt;b&gt; &amp;",
    "--> <!--": "--> <!--",
    "$x$ $$y$$": "$x$ $$y$$",
    "  two  spaces  ": "  two  spaces  ",
    "\\": "\\",
    "::error::x": r"\x3a:error::x",
    "%0A::error::y,z:": "%0A::error::y,z:",
    "]]>": "]]>",
}
"""Names, and how each reads where signs that do not print are spelled out."""

COLUMNS = {
    "protected": ["race"],
    "decision": {"column": "y", "positive": 1, "negative": 0},
    "count": "n",
}
FLOOR: dict[str, Any] = {"metric": "selection_rate", "by": "race", "fail": {"below": 0.45}}
_WARNED = {"metric": "selection_rate", "by": "race", "warn": {"below": 0.45}}
KINDS = (
    *("failed", "passed", "waived", "expired", "as_before", "suppressed", "none", "inconclusive"),
    *("skipped", "warned", "warned_fails", "never"),
)


@cache
def sample(name: str) -> AuditResult:
    """The result of a sample spec, run from the top of the checkout, once.

    By the route that every installation has, since reports name theirs.
    """
    with contextlib.chdir(SPECS.parent), pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRAUDIT_ROUTE", "lazy")
        return fairaudit.audit(f"audit_specs/{name}.yaml")


def stable(text: str, result: AuditResult) -> str:
    """The text without what differs between checkouts and releases."""
    made = result.provenance
    text = text.replace(made.version, "VERSION").replace(str(SPECS.parent) + "/", "")
    return text.replace(made.spec_sha256[:12], "SPEC-HASH").replace(made.spec_sha256, "SPEC-HASH")


@cache
def kind(name: str) -> AuditResult:
    """A small audit of each kind of outcome there is."""
    with tempfile.TemporaryDirectory() as folder:
        return _made(name, Path(folder))


def people(rates: dict[str, int]) -> pl.DataFrame:
    """Of a hundred people of each group, so many are selected."""
    rows = [(race, y, n) for race, k in rates.items() for y, n in ((1, k), (0, 100 - k))]
    return pl.DataFrame(rows, schema=["race", "y", "n"], orient="row").filter(pl.col("n") > 0)


def many(count: int, like: str = "failed") -> AuditResult:
    """An audit with so many checks, each on a line of its own, that all came out alike."""
    result = kind(like)
    (one,) = result.findings
    checks = [
        replace(one.check, id=f"check {at}", place=Place("specs/a.yaml", at + 1, 5))
        for at in range(count)
    ]
    return replace(result, findings=tuple(replace(one, check=check) for check in checks))


def _made(name: str, folder: Path) -> AuditResult:  # noqa: PLR0911  # one for each kind
    frame = people({"a": 30, "b": 40, "c": 50, "d": 80})
    waiver = {
        "check": "selection_rate/race/decision",
        "group": "all",
        "reason": "a new form",
        "approved_by": "J. Doe",
        "expires": "2999-12-31" if name == "waived" else "2023-01-31",
    }
    (folder / "waivers.yaml").write_text(json.dumps([waiver]))
    spec: dict[str, Any] = {"columns": COLUMNS, "metrics": [FLOOR]}
    tiny = people({"a": 30, "b": 40}).with_columns(pl.col("n") * 0 + 3)
    match name:
        case "failed":
            return fairaudit.audit(spec, frame)
        case "passed":
            return fairaudit.audit({**spec, "metrics": [{**FLOOR, "fail": {"below": 0.1}}]}, frame)
        case "waived" | "expired":
            return fairaudit.audit({**spec, "waivers": str(folder / "waivers.yaml")}, frame)
        case "as_before":
            before = folder / "before.json"
            before.write_text(report_json.render(fairaudit.audit(spec, frame)))
            return fairaudit.audit(spec, frame, baseline=before)
        case "suppressed":
            return fairaudit.audit({**spec, "suppress_below": 35}, frame)
        case "none":
            return fairaudit.audit({**spec, "metrics": ["selection_rate"]}, frame)
        case "inconclusive":
            return fairaudit.audit({**spec, "groups": {"min_size": 1000}}, tiny)
        case "skipped":
            skipped = {**spec, "groups": {"min_size": 1000}, "undefined": "skip"}
            return fairaudit.audit(skipped, tiny)
        case "warned" | "warned_fails":
            how = "warn" if name == "warned_fails" else "fail"
            return fairaudit.audit({**spec, "metrics": [_WARNED]}, frame, fail_on=how)
        case "never":
            return fairaudit.audit(spec, frame, fail_on="never")
    raise KeyError(name)


@cache
def hostile() -> AuditResult:
    """An audit whose levels, columns, title and context are all of them hostile."""
    rates = {name: 10 + at for at, name in enumerate(HOSTILE)}
    spec = {
        "title": "[title](javascript:x) @all",
        "context": {"<b>by</b>": "@octocat, see #1\n# heading"},
        "columns": {**COLUMNS, "protected": {"race": {"trim": False}}},
        "metrics": [{**FLOOR, "fail": {"below": 0.9}}, "demographic_parity_ratio"],
    }
    return fairaudit.audit(spec, people({**rates, "x" * 10_000: 40}))

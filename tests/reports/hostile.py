"""Names that try to be more than names, and an audit made of them, for tests of every format."""

from __future__ import annotations

import csv
import itertools
import json
from pathlib import Path
from typing import Any

import fairaudit
from fairaudit.result import AuditResult

LEVELS = (
    "<script>alert('level')</script>",
    "</td></table><img src=x onerror=alert(1)>",
    "&lt;b&gt; &amp; \" '",
    "]]> <!-- -->",
    "long " + "x" * 10_000 + " end",
    "long " + "x" * 9_999 + "y end",
    "עברית",
    "العربية 12",
    "👩\u200d👩\u200d👧 family",
    "日本語の名前",
    "\x1b[31mred\x1b]0;title\x07",
    "a|b",
    "`code` *bold* [link](javascript:alert(1)) _x_",
    "line\nbreak",
    "next\x85line",
    "=cmd()",
    '=HYPERLINK("http://x","y")',
    "+1",
    "-1",
    "@SUM(A1)",
    "tab\there",
    "zero\u200bwidth",
    "\u202eevil gnp.exe",
    "\u2066isolate",
    "Z\u0351\u0351\u0351\u0351\u0351\u0351\u0351\u0351\u0351",
    "\u0301leads",
    "everybody",
    "not known",
    "a, b",
    "a, sex=man",
    "x=1",
    "rest",
    "line\u2028separator",
    "::error file=x,line=1::forged",
    "%0A%25",
    "no\u00a0break",
    "\ufeffmark",
    "back\\slash\\n",
)
"""Levels of one attribute. A CSV file has no level that is blank, or holds a carriage return."""

ATTRIBUTE = "gr|oup <b>=1"
OUTCOME = "y\u202ees, <i>\n"
TITLE = "<script>alert('title')</script>\x1b[2J\u202e | title"
REASON = "because <script>alert('reason')</script> | \x1b[31m\nnext line"

_COLUMNS = (ATTRIBUTE, "sex", "st\u200brata", "decided", "n")


def rows(levels: tuple[str, ...] = LEVELS) -> list[tuple[str, str, str, str, int]]:
    """Rows of counts in which groups differ, a few have nobody, and one never gets anything."""
    found = []
    cells = itertools.product(levels, ("man", "wo|man"), ("one", "<two>"), (OUTCOME, "no"))
    for at, (level, sex, stratum, decided) in enumerate(cells):
        which = levels.index(level)
        people = 40 + 7 * (at % 5) + (60 * (which % 7) if decided == "no" else 0)
        if which == 2 and decided == OUTCOME:
            continue
        found.append((level, sex, stratum, decided, people))
    return found


def spec(data: str, waivers: str) -> dict[str, Any]:
    """The spec, as plain data: limits that fail, warn and pass; a scan, a search, a waiver."""
    return {
        "version": 1,
        "title": TITLE,
        "data": data,
        "context": {"purpose <b>": "one\ntwo \x1b[31m", "long": "y" * 3_000},
        "columns": {
            "protected": {ATTRIBUTE: {}, "sex": {}},
            "decision": {"column": "decided", "positive": OUTCOME},
            "strata": ["st\u200brata"],
            "count": "n",
        },
        "format": {"multiline": True},
        "metrics": [
            "selection_rate",
            {"metric": "demographic_parity_ratio", "by": "all", "fail": {"below": "0.8"}},
            {"metric": "differential_fairness", "warn": {"above": "0.1"}},
            {"metric": "impact_ratio", "by": [ATTRIBUTE], "fail": {"below": "0.8"}},
            {
                "metric": "selection_rate",
                "compare": "difference",
                "reference": "rest",
                "given": "st\u200brata",
                "by": ["sex"],
                "fail": {"outside": ["-0.05", "0.05"]},
            },
        ],
        "simpson": {"warn": "every_stratum"},
        "subgroups": {"over": "all", "fail": {"above": "0.1"}},
        "waivers": waivers,
    }


def write(folder: Path, levels: tuple[str, ...] = LEVELS) -> Path:
    """Writes the data, a file of waivers and the spec, all with names that hurt; the spec's path.

    JSON is YAML, and says every sign in ASCII.
    """
    data, waivers = folder / "da ta [x] <b>.csv", folder / "waivers.yaml"
    with data.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([_COLUMNS, *rows(levels)])
    one = {
        "check": f"impact_ratio/{ATTRIBUTE}/decision",
        "group": {ATTRIBUTE: levels[3]},
        "reason": REASON,
        "approved_by": "J. <b>Doe</b>\x1b[31m",
        "expires": "2999-12-31",
    }
    waivers.write_text(json.dumps([one]), encoding="utf-8")
    path = folder / "spec <b> %0A.yaml"
    path.write_text(json.dumps(spec(data.name, waivers.name)), encoding="utf-8")
    return path


def audited(folder: Path, levels: tuple[str, ...] = LEVELS) -> AuditResult:
    """The result of auditing such levels."""
    return fairaudit.audit(str(write(folder, levels)))

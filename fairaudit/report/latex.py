"""Format `latex` (entry point): the tables of a report for a paper, in the style of booktabs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fairaudit.base.names import printable
from fairaudit.report import checks, numbers, rates, summary
from fairaudit.report.blocks import FEW_ROWS, Cell, Column, Document, Table, tabulate, text_column
from fairaudit.report.diagnostics import Diagnostic, diagnose
from fairaudit.result import Answer, AuditResult

_SIGNS = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "×": r"$\times$", "∞": r"$\infty$",
    "ε": r"$\varepsilon$", "χ": r"$\chi$", "²": r"$^2$", "Δ": r"$\Delta$", "±": r"$\pm$",
    "→": r"$\to$", "−": "$-$", "–": "--", "…": r"\dots{}", "§": r"\S{}", "‹": r"\guilsinglleft{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}  # fmt: skip
_SPECIAL = re.compile("[{}]".format(re.escape("".join(_SIGNS))))


def escape(text: str) -> str:
    """A text of one line that TeX prints unchanged."""
    return _SPECIAL.sub(lambda sign: _SIGNS[sign[0]], printable(text))


def render(answers: Sequence[Answer], *, all_rows: bool = False) -> str:
    """The tables of checks and rates of one answer, or the tables of the summary of several."""
    result = answers[0].result
    if len(answers) > 1:
        return _page(summary.document(answers, all_rows=all_rows))
    if not isinstance(result, AuditResult):
        return "".join(f"% {printable(line)}\n" for line in f"error: {result}".splitlines())
    rows = len(result.rates) if all_rows else FEW_ROWS
    every = diagnose(result)
    judged = [tabulate("Checks", _CHECKS, every)] if every else []
    changed = (f"% --set {printable(one)}\n" for one in result.provenance.settings)
    return "".join(changed) + _page((*judged, *rates.answers(result, rows)))


def _page(document: Document) -> str:
    texts = [r"% \usepackage{booktabs}"]
    for table in (block for block in document if isinstance(block, Table)):
        sides = "".join("r" if numeric else "l" for numeric in table.numeric)
        caption = f"\\caption{{{escape(table.caption[:1].upper() + table.caption[1:])}}}"
        lines = [
            r"\begin{table}",
            *([caption] if table.caption else []),
            *(f"\\begin{{tabular}}{{{sides}}}", r"\toprule", _row(table.header), r"\midrule"),
            *(_row([cell.text for cell in row]) for row in table.rows),
            *(r"\bottomrule", r"\end{tabular}"),
            *(f"\\par {escape(text)}" for text in table.more.splitlines()),
            r"\end{table}",
        ]
        texts.append("\n".join(lines))
    return "\n\n".join(texts) + "\n"


def _row(texts: Sequence[str]) -> str:
    # TeX would read a bracket at the beginning of a row as an option of the line break before.
    cells = (escape(text.replace("\n", " ")) for text in texts)
    return " & ".join(f"{{}}{text}" if text.startswith("[") else text for text in cells) + r" \\"


_CHECKS: tuple[Column[Diagnostic], ...] = (
    text_column("check", lambda row: checks.title(row.finding)),
    Column("value", lambda row: row.value),
    Column("interval", lambda row: row.interval),
    Column(
        "adjusted p",
        lambda row: (
            ""
            if (p := row.finding.adjusted_p) is None
            else numbers.compact_probability(p, row.finding.check.inference.alpha)
        ),
    ),
    text_column("limit", lambda row: row.limit),
    text_column("status", lambda row: Cell(str(row.finding.status))),
)

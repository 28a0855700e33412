"""Format `latex` and sources as BibTeX: what TeX would take for a command is escaped."""

from __future__ import annotations

import re

import polars as pl
import pytest
from report_cases import sample

import fairaudit
from fairaudit import cli
from fairaudit.base.errors import NothingToAudit
from fairaudit.metrics.citations import Citation
from fairaudit.report import format_named, latex
from fairaudit.report.explain import bibtex
from fairaudit.result import Answer, AuditResult


def written(result: AuditResult) -> str:
    """The tables of a result."""
    text = format_named("latex").render([Answer("s.yaml", None, result)], all_rows=True)
    assert isinstance(text, str)
    return text


def test_every_row_has_as_many_cells_as_its_table_has_columns() -> None:
    text = written(sample("loans"))
    tables = re.findall(r"\\begin\{tabular\}\{([lr]+)\}(.*?)\\end\{tabular\}", text, re.DOTALL)
    assert len(tables) > 5
    for columns, body in tables:
        rows = [line for line in body.splitlines() if line.endswith(r"\\")]
        assert rows
        assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {len(columns) - 1}
    assert len(re.findall(" fail ", tables[0][1])) == 1
    assert r"female $\times$ Black & 497/1,337 & 37.17 \%" in text
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == len(tables)


def test_names_are_no_commands() -> None:
    rows = {r"a_b": [r"\input{x}", "50 % & more", "$x^2$~", "#1"] * 5, "y": [1, 0, 1, 0] * 5}
    spec = {"columns": {"protected": ["a_b"], "decision": "y"}, "metrics": "selection_rate"}
    text = written(fairaudit.audit(spec, pl.DataFrame(rows)))
    assert r"\textbackslash{}input\{x\}" in text
    assert r"50 \% \& more" in text
    assert r"\$x\textasciicircum{}2\$\textasciitilde{}" in text
    assert r"\#1" in text
    assert r"a\_b" in text
    assert format_named("latex").encode_for("é‽", "latin-1") == "é?"


def test_an_error_is_a_comment() -> None:
    error = NothingToAudit("no rows\nin x")
    assert latex.render([Answer("s.yaml", None, error)]).startswith("% error: no rows\n% in x")


def test_several_answers_are_their_summary() -> None:
    answers = [Answer(name, None, sample(name)) for name in ("loans", "titanic")]
    assert r"FAIL" in latex.render(answers)


def test_sources_are_entries() -> None:
    assert bibtex(Citation("Zafar & van Öst, On 5 % rates", 2017, "https://arxiv.org/abs/1")) == (
        "@misc{zafar2017,\n  author = {{Zafar} and {van Öst}},\n  title = {{On 5 \\% rates}},\n"
        "  year = {2017},\n  url = {https://arxiv.org/abs/1},\n}"
    )
    assert bibtex(Citation("Žliobaitė et al.", 2015, "https://doi.org/10.1/x_y")) == (
        "@misc{zliobaite2015,\n  author = {{Žliobaitė} and others},\n  year = {2015},\n"
        "  doi = {10.1/x_y},\n}"
    )


def test_the_command_prints_the_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run_line(["explain", "wilson", "--bibtex"]) == 0
    assert capsys.readouterr().out.startswith("@misc{wilson1927,")
    assert cli.run_line(["explain", "causal_fairness", "--bibtex"]) == 2
    assert cli.run_line(["explain", "--bibtex"]) == 2
    assert "--bibtex needs a name" in capsys.readouterr().err

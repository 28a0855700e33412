"""docs/python.md: its examples run, and it has every public name."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest
from conftest import ROOT

import fairaudit

PAGE = (ROOT / "docs" / "python.md").read_text()


def test_the_examples_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("audit_specs", "sample_data"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(PAGE, {}, "python.md", None, 0)
    told: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    failed, tried = runner.run(test, out=told.append)
    assert tried > 12
    assert not failed, "".join(told)
    assert (tmp_path / "loans.json").exists()


def test_the_failure_on_the_page_is_the_one_that_is_raised() -> None:
    with pytest.raises(fairaudit.AuditFailed) as raised:
        fairaudit.assert_audit(ROOT / "audit_specs" / "loans.yaml")
    assert str(raised.value).replace(f"{ROOT}/", "") in PAGE


def test_the_page_has_every_public_name() -> None:
    words = set(re.findall(r"[A-Za-z_]+", PAGE))
    assert {*fairaudit.__all__} - words == set()

"""docs/python.md: its examples run, and it has every public name."""

from __future__ import annotations

import re

import pytest
from conftest import ROOT

import fairaudit

PAGE = (ROOT / "docs" / "python.md").read_text()


def test_the_failure_on_the_page_is_the_one_that_is_raised() -> None:
    with pytest.raises(fairaudit.AuditFailed) as raised:
        fairaudit.assert_audit(ROOT / "audit_specs" / "loans.yaml")
    assert str(raised.value).replace(f"{ROOT}/", "") in PAGE


def test_the_page_has_every_public_name() -> None:
    words = set(re.findall(r"[A-Za-z_]+", PAGE))
    assert {*fairaudit.__all__} - words == set()

"""The tests that SECURITY.md names exist."""

from __future__ import annotations

import re

import pytest
from conftest import ROOT

PAGE = (ROOT / "SECURITY.md").read_text("utf-8")
NAMED = sorted({*re.findall(r"`((?:tests/)?[\w/]*test_\w+\.py(?:::\w+)?)`", PAGE)})


def test_the_page_names_tests() -> None:
    assert len(NAMED) > 20
    assert PAGE.count("test_") == len(re.findall(r"`[\w/]*test_\w+\.py(?:::test_\w+)?`", PAGE)) + (
        len(re.findall(r"::test_", PAGE))
    )


@pytest.mark.parametrize("named", NAMED)
def test_each_of_them_is_there(named: str) -> None:
    path, _, function = named.partition("::")
    files = [*ROOT.glob(path)] if "/" in path else [*ROOT.glob(f"tests/*/{path}")]
    assert files, f"SECURITY.md names {path}, which does not exist"
    if function:
        assert f"\ndef {function}(" in files[0].read_text("utf-8")

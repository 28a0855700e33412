"""docs/messages.md has every message, and the watch over untried ones sees what it should."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT
from messages import Recorder, find_sites, list_untried, render_page

import fairaudit
from fairaudit import spec as specs
from fairaudit.base.errors import SpecError, UsageError


def test_the_page_has_every_message(golden: Callable[[Path, str], None]) -> None:
    golden(ROOT / "docs" / "messages.md", render_page())


def test_sites_are_found_with_their_words() -> None:
    site = next(site for site in find_sites() if "is not a count of people" in site.message)
    assert (site.file, site.kind) == ("tools/verify.py", "DataError")
    hints = {site.message: site.hint for site in find_sites() if site.hint}
    assert (
        hints["--counts expects LEVEL=COLUMN"]
        == "for example: --counts selected=n --counts total=m"
    )
    assert hints["MLflow is not installed"] == "pip install 'fairaudit-cli[mlflow]'"
    assert len(find_sites()) > 400


def test_what_a_test_raises_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder()
    recorder.install(monkeypatch.setattr)
    assert [*list_untried(recorder.lines)] == [*find_sites()]
    with pytest.raises(SpecError):
        specs.parse("version: 1\nversion: 1\ncolumns: 3")
    with pytest.raises(UsageError):
        fairaudit.audit_arrays(sensitive_features=[1])
    with pytest.raises(SpecError):
        specs.parse(
            "columns: {protected: [a], decision: b}\n"
            "metrics: [{metric: impact_ratio, fail: {below: much}}]"
        )
    untried = {*list_untried(recorder.lines)}
    tried = {site.message for site in find_sites() if site not in untried}
    for message in (
        "the key is defined twice, first in line ",
        "y_true and y_pred are both missing",
        "expected a number, such as 0.8",
    ):
        assert any(text.startswith(message) for text in tried), message
    assert "MLflow is not installed" not in tried

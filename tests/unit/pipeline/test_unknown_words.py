"""Levels that say in words that nothing is known are told; levels that say something are not."""

from __future__ import annotations

import polars as pl
import pytest

import fairaudit

SAYS_NOTHING = [
    "Not available",
    "Sex Not Available",
    "Unknown",
    "race unknown",
    "Prefer not to say",
    "I don't know",
    "Information not provided by applicant in mail, Internet, or telephone application",
    "Declined to answer",
    "not_reported",
    "No answer",
]
SAYS_SOMETHING = [
    "Other",
    "Not Hispanic or Latino",
    "Known",
    "Joint",
    "2 or more races",
    "None of us",
]


def _notices(level: str, **rules: object) -> list[str]:
    data = pl.DataFrame({"sex": [level, "female"] * 5, "y": ["yes", "no"] * 5})
    columns = {"protected": {"sex": rules}, "decision": {"column": "y", "positive": "yes"}}
    result = fairaudit.audit({"columns": columns, "metrics": "selection_rate"}, data)
    return [str(notice) for notice in result.notices]


@pytest.mark.parametrize("level", SAYS_NOTHING)
def test_a_level_that_says_nothing_comes_with_the_line_that_sets_it_aside(level: str) -> None:
    (notice,) = _notices(level)
    assert f'write `sex: {{unknown: ["{level}"]}}`' in notice
    assert not _notices(level, unknown=[level])


@pytest.mark.parametrize("level", SAYS_SOMETHING)
def test_a_level_that_says_something_is_a_group(level: str) -> None:
    assert not _notices(level)

"""What a newcomer would guess for a key: the message says what to write instead."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

import fairaudit
from fairaudit.base.errors import SpecError, UsageError

BASE: dict[str, Any] = {
    "columns": {
        "protected": {"gender": {}, "race": {}},
        "decision": {"column": "hired", "positive": "yes"},
    },
    "metrics": ["selection_rate"],
}
DATA = {
    "gender": ["f", "m"] * 10, "race": ["A", "B", "B", "A"] * 5, "hired": ["yes", "no"] * 10,
    "score": [number / 10 for number in range(20)],
}  # fmt: skip

GUESSES = {
    "metrics: [{metric: impact_ratio, threshold: 0.8}]": 'write `fail: "< 0.8"`',
    "metrics: [{metric: impact_ratio, fail: 0.8}]": "is it `< 0.8` or `> 0.8`?",
    "metrics: [{metric: impact_ratio, fail: '< 80%'}]": "write 0.8 for 80 %",
    "metrics: [{metric: impact_ratio, fail: {min: 0.8}}]": "write `below: 0.8",
    "metrics: [{metric: selection_rate, by: 'gender, race'}]": "write `gender * race`",
    "metrics: [{metric: selection_rate, by: gender x race}]": "a list, `[gender",
    "metrics: [{metric: selection_rate, by: sex}]": "available: gender, race, each, full, all",
    "metrics: [{metric: selection_rate, group_by: gender}]": "write `by`",
    "metrics: [{metric: selection_rate, condition: race}]": "write `given`",
    "metrics: [{metric: selection_rate, description: x}]": "write `why`",
    "metrics: [{metric: selection_rate, title: x}]": "write `name`",
    "metrics: [{metric: selection_rate, thresholds: [0.5]}]": "write `at`",
    "metrics: [{metric: selection_rate, compare: gap, reference: f}]": "compares the highest",
    "metrics: [{metric: selection_rate, reference: rest}]": "write `compare: difference` or",
    "metrics: [{metric: selection_rate, aggregate: max}]": ("is not a comparison: add `compare: "
    "difference` or `compare: ratio`"),
    "metrics: [equalized_odds]": "'equalized_odds_difference' or 'equalized_odds_mean' or",
    "metrics: [fpr_difference]": "write `metric: false_positive_rate, compare: difference`",
    "columns: {decision: {column: score, top: 10%}}": "write `positive: {top: 10%}`",
    "columns: {decision: {column: score, threshold: 0.5}}": "write `positive: {at_least: 0.5}`",
    "columns: {decision: {column: score, positive: {min: 0.5}}}": "write `at_least`",
    "columns: {decision: {column: score, positive: '>= 0.5'}}": "`positive: {at_least: 0.5}`",
    "columns: {decision: {column: hired, count: n}}": "write `columns: {count: n}`",
    "columns: {decision: {counts: [n_yes, n]}}": "such as `{selected: n_selected, total: n}`",
    "columns: {protected: {race: {values: [A, B]}}}": "write `levels`",
    "columns: {protected: {race: {rename: {A: a}}}}": "write `labels: {F: women}`",
    "columns: {protected: {race: {labels: [a, b]}}}": "such as `{F: women, M: men}`",
    "columns: {protected: {race: {merge: [A, B]}}}": "such as `{Other: [Asian, Native]}`",
    "columns: {protected: {race: {drop: [A]}}}": "write `keep: […], the levels that stay`",
    "columns: {protected: {race: {missing: [A]}}}": "write `unknown`",
    "columns: {protected: {race: {cut: 40}}}": "write `bins`",
    "columns: {protected: {both: {columns: [race, gender]}}}": "write `combine: [race, ethnicity]`",
    "columns: {protected: {age: {date_of_birth: born}}}": "write `from: birth_date`",
    "expect: {min_rows: 500}": "write `rows: {at_least: 500}`",
    "expect: {rows: 500}": "`{at_least: 500}`",
    "expect: {rows: {min: 500}}": "write `at_least`",
    "missing: {values: [NA]}": "write `tokens`",
    "filter: race != Total": "write texts in single quotes",
    "protected: [gender]": "it belongs under `columns`",
    "score: {column: score}": "it belongs under `columns`",
    "columns: {filter: race = 'A'}": "it belongs at the top of the spec",
    "metrics: [{metric: selection_rate, suppress_below: 5}]": "it belongs at the top of the spec",
    "min_size: 30": "write `groups: {min_size: 30}`",
    "alpha: 0.05": "write `inference: {confidence: 0.95}`",
    "checks: []": "write `metrics`",
    "baseline: main.json": "write `run SPEC --baseline main.json`",
    "metrics: [{metric: impact_ratio, min_size: 30}]": "write `groups: {min_size: 30}`",
    "defaults: '< 0.8'": 'such as `{fail: "< 0.8"}`',
}  # fmt: skip


def merge(base: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """A spec with the guess in it."""
    both = {
        key: merge(base[key], value)
        if isinstance(value, dict) and isinstance(base.get(key), dict)
        else value
        for key, value in more.items()
    }
    return base | both


@pytest.mark.parametrize(("guess", "words"), GUESSES.items())
def test_a_wrong_guess_is_told_what_to_write(guess: str, words: str) -> None:
    spec = merge(json.loads(json.dumps(BASE)), yaml.safe_load(guess))
    with pytest.raises(SpecError) as error:
        fairaudit.audit(spec, DATA)
    assert words in str(error.value)


@pytest.mark.parametrize("name", ["loans.csv", "loans.parquet", "loans.csv.gz"])
def test_data_in_place_of_a_spec_are_told_by_their_name(name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} is a data file, not a spec") as raised:
        fairaudit.audit(name)
    assert f"`fairaudit init {name}`" in str(raised.value.hint)

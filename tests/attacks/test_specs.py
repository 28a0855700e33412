"""What a stranger's spec may hold is bounded, and whatever it holds is told with its place."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ATTACKS

import fairaudit
from fairaudit import spec as specs
from fairaudit.base import inputs
from fairaudit.base.errors import FairauditError, SpecError, UsageError
from fairaudit.report import json as report_json

BASE = (
    "columns: {protected: [race], decision: {column: y, positive: 1}}\nmetrics: [selection_rate]\n"
)
QUICK = 20.0
"""Seconds of processor time that nothing below takes; most of it took minutes."""

_TERM: list[Callable[[int], str]] = [
    lambda size: " or ".join(["x = 1"] * size),
    lambda size: "(" * size + "x = 1" + ")" * size,
    lambda size: "x" + " + x" * size + " > 1",
    lambda size: "not (" * size + "x = 1" + ")" * size,
    lambda size: "x = 1" + " is null" * size,
    lambda size: "- " * size + "x > 1",
    lambda size: "lower(" * size + "race" + ")" * size + " = 'a'",
    lambda size: "x in (" + ", ".join(map(str, range(size))) + ")",
    lambda size: "case when " * size + "x = 1" + " then x end" * size,
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.csv"
    path.write_text("race,y,x\n" + "a,1,1\nb,0,1\n" * 5)
    return path


@pytest.mark.long
@pytest.mark.parametrize(
    ("more", "place"),
    [
        ("".join(f"k{at}: 1\n" for at in range(100_000)), "spec:24995:9: over 50,000 keys"),
        (f"context: {'[' * 2_000}{']' * 2_000}\n", "spec:3:59: nested more than 50 levels"),
        (f"context:{'{a: ' * 90}1{'}' * 90}\n", "spec:3:"),
        ("title: " + "x" * 3_000_000, "spec:1:1: the spec has 3,000,098 characters"),
    ],
)
def test_too_large_a_spec_is_a_fault_with_its_place(more: str, place: str) -> None:
    started = time.process_time()
    with pytest.raises(SpecError) as caught:
        specs.parse(BASE + more)
    assert str(caught.value).startswith(place)
    assert len(str(caught.value)) < 2_000
    assert time.process_time() - started < QUICK


@pytest.mark.parametrize(
    "more", [{"context": {str(at): "x" for at in range(60_000)}}, {"data": ["x"] * 60_000}]
)
def test_too_large_a_mapping_is_a_fault(more: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match="over 50,000 values"):
        specs.of_mapping({"metrics": ["selection_rate"], **more})


@pytest.mark.long
def test_a_filter_has_so_many_words(data: Path) -> None:
    text = f"{BASE}filter: {_TERM[0](6_000)}\n"
    with pytest.raises(SpecError) as caught:
        fairaudit.audit(specs.parse(text), data)
    assert str(caught.value).startswith("spec:3:9: filter: the filter has 17,999 words and signs")
    sound = f"{BASE}filter: {_TERM[0](200)}\n"
    assert fairaudit.audit(specs.parse(sound), data).ledger.read == 10


@pytest.mark.long
def test_no_filter_kills(data: Path) -> None:
    chance = random.Random(0)
    for _ in range(round(12 * ATTACKS)):
        text = chance.choice(_TERM)(chance.choice([10, 100, 300, 480, 3_000, 30_000]))
        started = time.process_time()
        told = ""
        try:
            fairaudit.audit(specs.parse(f"{BASE}filter: {text}\n"), data)
        except FairauditError as error:
            told = str(error)
        assert "internal error in fairaudit" not in told
        assert len(told) < 5_000
        assert time.process_time() - started < QUICK


@pytest.mark.long
def test_a_large_sound_spec_is_read() -> None:
    merged = ", ".join(f"m{at}: [a{at}]" for at in range(8_000))
    started = time.process_time()
    found = specs.parse(BASE.replace("[race]", f"{{race: {{merge: {{{merged}}}}}}}"))
    assert len(found.protected[0].merge or ()) == 8_000
    assert time.process_time() - started < QUICK


def test_a_level_that_is_merged_twice_is_found_among_many() -> None:
    merged = ", ".join(f"m{at}: [a{at % 999}]" for at in range(1_000))
    with pytest.raises(SpecError, match="the level 'a0' is merged twice"):
        specs.parse(BASE.replace("[race]", f"{{race: {{merge: {{{merged}}}}}}}"))


def test_a_spec_file_of_too_many_bytes_is_not_loaded(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    with path.open("wb") as file:
        file.truncate(inputs.SPEC + 1)
    with pytest.raises(FairauditError, match=r"2,000,001 bytes, and the maximum is 2,000,000"):
        specs.load(path)


_WITH_NUMBERS: list[Callable[[str], dict[str, Any]]] = [
    lambda text: {"metrics": [{"metric": "demographic_parity_ratio", "fail": {"below": text}}]},
    lambda text: {"groups": {"exclude_below": {"share": text, "reason": "few"}}},
    lambda text: {"columns": _columns({"column": "x", "positive": {"top": text}})},
    lambda text: {"columns": _columns({"column": "x", "positive": {"at_least": text}})},
    lambda text: {"inference": {"confidence": text}},
    lambda text: {"simpson": {"min_gap": text, "warn": "true"}},
    lambda text: {"metrics": [{"metric": "differential_fairness", "smoothing": text}]},
]


def _columns(decision: object) -> dict[str, object]:
    return {"protected": ["race", "y"], "decision": decision}


@pytest.mark.parametrize("size", [500, 5_000, 200_000])
@pytest.mark.parametrize("asked", range(len(_WITH_NUMBERS)))
def test_a_number_of_a_thousand_digits_is_refused(data: Path, asked: int, size: int) -> None:
    decision = {"column": "y", "positive": "1"}
    tree = {"columns": _columns(decision), "metrics": ["selection_rate"]}
    started = time.process_time()
    with pytest.raises(SpecError, match="a number has at most 400 digits"):
        fairaudit.audit({**tree, **_WITH_NUMBERS[asked]("0.8" + "1" * size)}, data)
    assert time.process_time() - started < QUICK


@pytest.mark.parametrize(
    "written", ["1e400", "1e-99999999", "1e99999999", "1_0", "\uff11", "9" * 9_000]
)
def test_so_is_a_tolerance(data: Path, written: str) -> None:
    tree = {"columns": _columns({"column": "y", "positive": "1"}), "metrics": ["selection_rate"]}
    before = json.loads(report_json.written(report_json.document(fairaudit.audit(tree, data))))
    fairaudit.audit(tree, data, baseline=before, tolerance="1e-3")
    with pytest.raises(UsageError, match="the tolerance must be a number of 0 or more, not"):
        fairaudit.audit(tree, data, baseline=before, tolerance=written)


def test_no_key_of_a_mapping_is_lost_to_another(data: Path) -> None:
    """A spec in Python may have keys that are no texts."""
    attributes = {1: {"column": "race"}, "1": {"column": "x"}}
    columns = {"protected": attributes, "decision": {"column": "y", "positive": 1}}
    with pytest.raises(SpecError, match=r"columns\.protected: two keys are the same text"):
        fairaudit.audit({"columns": columns, "metrics": ["selection_rate"]}, data)

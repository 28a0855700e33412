"""Every key of a spec is told with an example that can be written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from conftest import ROOT, about
from spec_page import render_page

from fairaudit import spec as specs
from fairaudit.spec import editor_schema

SCHEMA = editor_schema.json_schema()
BASE: dict[str, Any] = {
    "columns": {
        "protected": {"gender": {}, "race": {}},
        "decision": {"column": "approved", "positive": "yes", "negative": "no"},
        "strata": {"branch": {}},
    },
    "metrics": ["selection_rate"],
}
PLACES: dict[str, tuple[str | int, ...]] = {
    "": (),
    "FileFormat": ("format",),
    "Missing": ("missing",),
    "Expected": ("expect",),
    "ExpectedRows": ("expect", "rows"),
    "Groups": ("groups",),
    "Exclusion": ("groups", "exclude_below"),
    "Inference": ("inference",),
    "Defaults": ("defaults",),
    "Simpson": ("simpson",),
    "Subgroups": ("subgroups",),
    "Metric": ("metrics", 0),
    "Bound": ("metrics", 0, "fail"),
    "Columns": ("columns",),
    "RepeatedPeople": ("repeats",),
    "SampleDesign": ("design",),
    "ProtectedColumn": ("columns", "protected", "race"),
    "FactorColumn": ("columns", "strata", "made"),
    "FeatureColumn": ("columns", "features", "more"),
    "OutcomeColumn": ("columns", "decision"),
    "OutcomeColumn.positive": ("columns", "decision", "positive"),
    "ModelColumns": ("columns", "models", "current"),
    "StageColumn": ("columns", "stages"),
    "StrataModel": ("metrics", 0, "given"),
    "PropensityStrata": ("metrics", 0, "given", "propensity"),
    "ClusterStrata": ("metrics", 0, "given", "clusters"),
    "Simpson.warn": ("simpson", "warn"),
    "Simpson.fail": ("simpson", "fail"),
    "Columns.features": ("columns", "features"),
}
"""Where the members of each shape stand in a spec."""

BESIDE: dict[str, Any] = yaml.safe_load("""
.describe: &alike
  columns: {features: {numeric: [income, age], categorical: [job]}}
Columns.features: {subgroups: {}}
FeatureColumn: {subgroups: {}}
FeatureColumn.from: {columns: {features: {more: {at: day, bins: [40]}}}}
FeatureColumn.at: {columns: {features: {more: {from: born, bins: [40]}}}}
FeatureColumn.minus: {columns: {features: {more: {column: end, bins: [40]}}}}
FeatureColumn.rule: {columns: {features: {more: {combine: [race, ethnicity]}}}}
FeatureColumn.other: {columns: {features: {more: {keep: [White]}}}}
FactorColumn.from: {columns: {strata: {made: {at: day, bins: [40]}}}}
FactorColumn.at: {columns: {strata: {made: {from: born, bins: [40]}}}}
FactorColumn.minus: {columns: {strata: {made: {column: end, bins: [40]}}}}
FactorColumn.rule: {columns: {strata: {made: {combine: [race, ethnicity]}}}}
FactorColumn.other: {columns: {strata: {made: {keep: [White]}}}}
FactorColumn.propensity: *alike
FactorColumn.clusters: *alike
ProtectedColumn.from: {columns: {protected: {race: {at: day, bins: [40]}}}}
ProtectedColumn.at: {columns: {protected: {race: {from: born, bins: [40]}}}}
ProtectedColumn.minus: {columns: {protected: {race: {column: end, bins: [40]}}}}
ProtectedColumn.rule: {columns: {protected: {race: {combine: [race, ethnicity]}}}}
ProtectedColumn.other: {columns: {protected: {race: {keep: [White]}}}}
PropensityStrata: &strata
  columns: {features: {numeric: [income, age], categorical: [job]}}
  metrics: [{by: gender}]
ClusterStrata: *alike
SampleDesign: &sample {design: {strata: s, cluster: c}}
.design: *sample
RepeatedPeople: &repeats {columns: {id: candidate_id}}
.repeats: *repeats
StrataModel: *strata
FileFormat.decimal: {format: {separator: ;}}
Exclusion: {groups: {exclude_below: {share: 3%, reason: too few}}}
Bound.significant: &ratio {metrics: [{metric: demographic_parity_ratio, fail: {below: 0.8}}]}
Bound.conclusive: *ratio
Defaults.fail: {metrics: [{metric: demographic_parity_ratio}]}
Defaults.of: {columns: {decision: null, prediction: p, label: y}}
Metric.fail: {metrics: [{metric: demographic_parity_ratio}]}
Metric.reference: {metrics: [{compare: difference, by: gender}]}
Metric.of: {columns: {decision: null, prediction: p, label: y}}
Metric.smoothing: {metrics: [{metric: differential_fairness}]}
Metric.concentration: {metrics: [{metric: differential_fairness}]}
Metric.towards: {metrics: [{metric: differential_fairness, smoothing: 1}]}
Metric.alpha: &labelled
  columns: {decision: null, prediction: p, label: y}
  metrics: [{metric: generalized_entropy}]
Metric.utilities:
  columns: {decision: null, prediction: p, label: y}
  metrics: [{metric: expected_utility}]
Metric.controls: {metrics: [{metric: regression_slope, by: gender}]}
Metric.k: &people
  columns: {features: {numeric: [income, age], categorical: [job]}}
  metrics: [{metric: consistency}]
Metric.t:
  columns: {features: {numeric: [income, age], categorical: [job]}}
  metrics: [{metric: situation_testing, reference: {gender: men}, by: gender}]
Metric.lipschitz:
  columns: {score: s, features: {numeric: [income, age], categorical: [job]}}
  metrics: [{metric: lipschitz_violations}]
Metric.average: {metrics: [{compare: ratio, given: branch}]}
Metric.aggregate: {metrics: [{compare: ratio, reference: rest}]}
Metric.sd: {columns: {score: s}, metrics: [{metric: mean_score, compare: standardized_difference}]}
Metric.against: &models
  columns:
    decision: null
    models:
      current: {prediction: {column: c, positive: "yes"}, score: s1}
      candidate: {prediction: {column: d, positive: "yes"}, score: s2}
  metrics: [{of: candidate}]
Metric.at: {columns: {decision: null, label: y, score: s}}
Columns.prediction: {columns: {decision: null}}
Columns.models: {columns: {decision: null}, metrics: [{metric: mean_score}]}
Missing.masked: {columns: {count: n, score: null}}
Columns.stages: {columns: {decision: null}, metrics: [selection_rate]}
StageColumn:
    columns: {decision: null, stages: {column: s, order: [a, b]}}
    metrics: [selection_rate]
ModelColumns: {columns: {decision: null, models: {current: {prediction: p}}}}
OutcomeColumn.counts: {columns: {decision: {column: null, positive: selected, negative: null}}}
OutcomeColumn.positive: {columns: {decision: {negative: null}}}
OutcomeColumn.positive.at_least: &cut
  columns: {decision: {positive: null, negative: null}}
OutcomeColumn.positive.at_most: *cut
OutcomeColumn.positive.below: *cut
OutcomeColumn.positive.above: *cut
OutcomeColumn.positive.top: *cut
OutcomeColumn.number:
  columns: {decision: {positive: null, negative: null}}
  metrics: [{metric: mean_value}]
Simpson.pairs: {columns: {protected: {gender: {reference: men}, race: {reference: White}}}}
""")
"""What else a spec says where a key means nothing alone: of a key, or of a whole shape."""


def members(part: Any, owner: str = "", key: str = "") -> Iterator[tuple[str, str, Any]]:
    """The members at every depth: of which shape, their key, their schema."""
    if isinstance(part, list):
        for item in part:
            yield from members(item, owner, key)
    if not isinstance(part, dict):
        return
    for name, inner in part.get("$defs", {}).items():
        yield from members(inner, name)
    for name, member in part.get("properties", {}).items():
        yield f"{owner}.{key}" if key else owner, name, member
        yield from members(member, owner, name)
    for word in ("anyOf", "items", "additionalProperties"):
        yield from members(part.get(word), owner, key)


MEMBERS = [*members(SCHEMA)]


def test_no_member_is_forgotten() -> None:
    assert len(MEMBERS) > 200
    assert {owner for owner, _, _ in MEMBERS} == {*PLACES}


def test_every_key_has_a_sentence_and_an_example() -> None:
    for owner, key, member in MEMBERS:
        with about(f"{owner}.{key}"):
            words = member["description"]
            assert words[0].isupper()
            assert words.endswith(".")
            assert len(words) <= 200
            assert 1 <= len(member["examples"]) <= 3
            schema = jsonschema.Draft202012Validator({**member, "$defs": SCHEMA["$defs"]})
            for example in member["examples"]:
                schema.validate(example)


def merge(base: Any, more: Any) -> Any:
    """A spec and what it says besides; the first entry of a list is merged with the first."""
    if isinstance(base, dict) and isinstance(more, dict):
        merged = {key: merge(base.get(key), value) for key, value in more.items()}
        return {key: value for key, value in {**base, **merged}.items() if value is not None}
    if isinstance(base, list) and isinstance(more, list) and more and isinstance(more[0], dict):
        entry = base[0] if isinstance(base[0], dict) else {"metric": base[0]}
        return [merge(entry, more[0])]
    if isinstance(more, dict):
        return {key: value for key, value in more.items() if value is not None}
    return more


def place(path: tuple[str | int, ...], value: Any) -> Any:
    """A value below the keys and numbers of a path."""
    for step in reversed(path):
        value = [value] if isinstance(step, int) else {step: value}
    return value


def test_every_example_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("waivers.yaml").write_text("[]", "utf-8")
    for owner, key, member in MEMBERS:
        spec = merge(BASE, BESIDE.get(owner, {}))
        spec = merge(spec, BESIDE.get(f"{owner}.{key}", {}))
        for example in member["examples"]:
            with about(f"{owner}.{key}: {example}"):
                specs.of_mapping(merge(spec, place(PLACES[owner], {key: example})))


def test_the_page_is_made_from_the_schema(golden: Callable[[Path, str], None]) -> None:
    golden(ROOT / "docs" / "spec.md", render_page())


def test_the_page_has_every_key() -> None:
    page = render_page()
    missing = [key for _, key, _ in MEMBERS if f"`{key}`" not in page and f".{key}`" not in page]
    assert missing == []

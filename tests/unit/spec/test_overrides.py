"""`--set` changes a spec as if the file said so, and every report tells it."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from commands import run

import fairaudit
from fairaudit import spec as specs
from fairaudit.base.errors import SpecError, UsageError
from fairaudit.base.frozen import replace
from fairaudit.judge import Limit
from fairaudit.report import FORMATS
from fairaudit.result import Answer
from fairaudit.spec import Spec

SPEC = """\
version: 1
data: data.csv
columns:
  protected: {sex: {}, race: {}}
  decision: {column: d, positive: 1}
metrics:
  - selection_rate
  - {metric: impact_ratio, by: [sex], fail: {below: 0.6}}
"""
# Selected are 30 of 50 women and 45 of 50 men: the ratio is 2/3.
ROWS = pl.DataFrame(
    {
        "sex": ["f"] * 50 + ["m"] * 50,
        "race": ["x", "y"] * 50,
        "d": [1] * 30 + [0] * 20 + [1] * 45 + [0] * 5,
    }
)
STRICTER = "metrics[1].fail.below=0.75"


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    ROWS.write_csv(tmp_path / "data.csv")
    path = tmp_path / "spec.yaml"
    path.write_text(SPEC)
    return path


def meaning(spec: Spec) -> tuple[object, ...]:
    """What a spec says, wherever it stands."""
    asked = [(request.metric.id, request.of, request.by) for request in spec.requests]
    limits = [(check.id, check.warn, check.fail) for check in spec.checks]
    reference = spec.protected[0].reference
    return asked, limits, spec.minimum, spec.title, spec.context, specs.value_of(reference)


def faults(*settings: str, text: str = SPEC) -> list[tuple[str, str, str, int, int]]:
    """Of each fault the path, the message, and where it stands."""
    with pytest.raises(SpecError) as caught:
        specs.parse(text, settings=settings)
    return [
        (fault.path, fault.message, fault.place.file, fault.place.line, fault.place.column)
        for fault in caught.value.faults
        if fault.place is not None
    ]


@pytest.mark.parametrize(
    ("setting", "line", "instead"),
    [
        (STRICTER, "below: 0.6", "below: 0.75"),
        ("metrics[1].fail=< 0.7", "{below: 0.6}", '"< 0.7"'),
        ("metrics[1].warn.below=0.9", "fail:", "warn: {below: 0.9}, fail:"),
        ("metrics[0]={metric: group_size}", "selection_rate", "group_size"),
        ("metrics[1].by=[[sex, race]]", "[sex]", "[[sex, race]]"),
        ("groups.min_size=7", "metrics:", "groups: {min_size: 7}\nmetrics:"),
        ("title='A: b' # so", "version: 1", "version: 1\ntitle: 'A: b'"),
        ("title=a=b", "version: 1", "version: 1\ntitle: a=b"),
        ('context."purpose"=none', "version: 1", "version: 1\ncontext: {purpose: none}"),
        ("columns.protected.sex.reference=m", "sex: {}", "sex: {reference: m}"),
    ],
)
def test_a_setting_is_as_if_the_file_said_so(setting: str, line: str, instead: str) -> None:
    assert line in SPEC
    changed = meaning(specs.parse(SPEC, settings=[setting]))
    assert changed == meaning(specs.parse(SPEC.replace(line, instead, 1)))
    assert changed != meaning(specs.parse(SPEC))


def test_a_later_setting_stands_over_an_earlier_one() -> None:
    twice = specs.parse(SPEC, settings=["metrics[1].fail.below=0.1", STRICTER])
    assert meaning(twice) == meaning(specs.parse(SPEC, settings=[STRICTER]))


def test_entries_that_are_set_are_none_of_the_profile(tmp_path: Path) -> None:
    """What data lacks for an entry of a profile is left out; if it is asked for, it is a fault."""
    path = tmp_path / "spec.yaml"
    path.write_text(f"profile: four-fifths\n{SPEC}")
    with pytest.raises(SpecError, match="scoring_rate needs a score"):
        specs.load(path, settings=["metrics=[selection_rate, scoring_rate]"])


def test_what_a_profile_adds_can_be_set(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    entries = SPEC.index("  - {metric")
    path.write_text(SPEC[:entries].replace("version: 1", "version: 1\nprofile: four-fifths"))
    own = {check.fail for check in specs.load(path).checks}
    changed = {check.fail for check in specs.load(path, ["metrics[1].fail=< 0.5"]).checks}
    limit = next(iter(own - changed))
    assert isinstance(limit, Limit)
    assert limit.below == Decimal("0.8")
    assert {replace(limit, below=Decimal("0.5"))} == changed - own


@pytest.mark.parametrize(
    ("setting", "fault"),
    [
        (
            "metrics[1].fail.belo=0.7",
            ("metrics[1].fail.belo", "unknown key; did you mean 'below'?", 17),
        ),
        ("groups.min_sise=3", ("groups.min_sise", "unknown key; did you mean 'min_size'?")),
        ("grups.min_size=3", ("grups", "unknown key; did you mean 'groups' or 'subgroups'?")),
        ("metrics[1].fail={belo: 1}", ("metrics[1].fail.belo", "unknown key; did you mean")),
        (
            "metrics[1].fail.below=a lot",
            ("metrics[1].fail.below", "expected a number, such as 0.8", 23),
        ),
        (
            "metrics[2].by=sex",
            ("metrics[2].by", "this entry does not exist: the last entry is `metrics[1]`", 8),
        ),
        (
            "metrics.impact_ratio.by=sex",
            ("metrics.impact_ratio.by", "`metrics` is a list of 2: write `metrics[1]`", 9),
        ),
        (
            "metrics.impact_ratios=1",
            (
                "metrics.impact_ratios",
                "`metrics` is a list of 2, whose entries have numbers: `metrics[0]`",
            ),
        ),
        (
            "metrics[0].by=sex",
            (
                "metrics[0].by",
                "`metrics[0]` is the text 'selection_rate', which has no keys: set the whole value",
            ),
        ),
        ("columns[0]=1", ("columns[0]", "`columns` is a mapping, not a list")),
        ("groups[0]=1", ("groups[0]", "`groups` is not in the spec, not a list")),
        ("title=", ("title", "this key has no value: add a value or remove the key")),
        ("metrics[1].fail={below: [1}", ("metrics[1].fail", "this is not YAML: ")),
        ("data=other.csv", ("data", "`data` cannot be set here: use --data")),
        (
            "waivers=w.yaml",
            ("waivers", "`waivers` cannot be set here: name the file of waivers in the spec", 1),
        ),
        (
            "x-limits.fail.below=0.8",
            ("x-limits.fail.below", "`x-limits` only stores values for other keys", 1),
        ),
        ("nothing", ("", "expected a path, `=` and a value, such as metrics[0]")),
        ("[0]=1", ("", "expected a path, `=` and a value, such as metrics[0]")),
        ("metrics.[1]=1", ("", "expected a path, `=` and a value, such as metrics[0]")),
        ("a..b=1", ("", "expected a path, `=` and a value, such as metrics[0]")),
        ("=1", ("", "expected a path, `=` and a value, such as metrics[0]")),
        ("a." * 30 + "a=1", ("", "a path has at most 20 steps")),
        ("title=a\nversion: 2", ("", "a setting must be one line, such as metrics[0]")),
    ],
)
def test_a_fault_names_the_option_and_the_path(setting: str, fault: tuple[str, str]) -> None:
    ((path, message, file, line, column),) = faults("version=1", setting)
    assert path == fault[0]
    assert message.startswith(fault[1])
    assert (file, line, column) == ("--set", 2, 1)


def test_all_faults_are_told_at_once_and_those_of_the_file_in_the_file() -> None:
    assert [fault[:3] for fault in faults("x", "metrics[9]=1", "title=ok")] == [
        ("", "expected a path, `=` and a value, such as metrics[0].fail.below=0.75", "--set"),
        ("metrics[9]", "this entry does not exist: the last entry is `metrics[1]`", "--set"),
    ]
    found = faults("groups.min_sise=3", text=SPEC.replace("by: [sex]", "bi: [sex]"))
    assert [(path, file, line) for path, _, file, line, _ in found] == [
        ("groups.min_sise", "--set", 1),
        ("metrics[1].bi", "spec", 8),
    ]


@pytest.mark.parametrize(
    "setting", ["\udcff=1", "title=\udcff", "title=\0", "\0=1", "title=" + "[" * 999, "=" * 9, ""]
)
def test_whatever_stands_in_a_setting_there_is_a_message(spec: Path, setting: str) -> None:
    for form in ("json", "terminal", "github"):
        done = run("run", spec, "--set", setting, "--format", form)
        assert done.returncode == 2
        assert "internal error in fairaudit" not in done.stderr, done.stderr


def test_a_spec_that_is_no_mapping_is_told_as_such() -> None:
    with pytest.raises(SpecError) as plain:
        specs.parse("- 1\n- 2\n")
    with pytest.raises(SpecError) as changed:
        specs.parse("- 1\n- 2\n", settings=[STRICTER])
    assert str(plain.value) == str(changed.value)


def test_a_loaded_spec_takes_no_settings() -> None:
    with pytest.raises(UsageError, match="settings cannot change a spec that is already loaded"):
        fairaudit.audit(specs.parse(SPEC), ROWS, settings=[STRICTER])


def test_the_gate_is_that_of_the_setting(spec: Path) -> None:
    assert run("run", spec).returncode == 0
    done = run("run", spec, "--set", STRICTER)
    assert done.returncode == 1
    assert "fail below 67.5 %" in done.stdout
    assert "below: 0.6" not in done.stdout  # the file's line is not the limit that was judged
    assert f"fairaudit run {spec} --set 'metrics[1].fail.below=0.75'" in " ".join(
        done.stdout.split()
    )
    broken = run("run", spec, "--set", "metrics[1].fail.belo=1")
    assert broken.returncode == 2
    assert broken.stderr.startswith("--set:1:1: metrics[1].fail.belo: unknown key; did you mean")


@pytest.mark.long
def test_every_way_in_takes_settings(spec: Path, tmp_path: Path) -> None:
    checked = run("check", spec, "--no-data", "-v", "--set", STRICTER)
    assert (checked.returncode, "0.75" in checked.stdout) == (0, True)
    assert run("check", spec, "--no-data", "--set", "x").returncode == 2
    counted = run("count", spec, "-o", tmp_path / "all.counts", "--set", "columns.protected=[sex]")
    assert counted.returncode == 0
    lacking = run("run", spec, "--data", tmp_path / "all.counts")
    assert lacking.returncode == 2
    assert "the counts file does not contain what the spec needs" in lacking.stderr
    assert run("count", spec, "-o", tmp_path / "b.counts", "--set", "x").returncode == 2
    assert run("run", spec, spec, "--set", STRICTER).returncode == 1
    ROWS.write_csv(tmp_path / "data2.csv")
    many = run("run", spec, "--data", tmp_path / "data*.csv", "--set", STRICTER)
    assert many.returncode == 1
    assert run("run", spec, "--data", tmp_path / "data*.csv").returncode == 0
    elsewhere = ("--data", tmp_path / "data*.csv", "--jobs", "2", "--set", STRICTER)
    assert run("run", spec, *elsewhere).returncode == 1
    mapping = {
        "columns": {"protected": ["sex"], "decision": {"column": "d", "positive": 1}},
        "metrics": [{"metric": "impact_ratio", "fail": {"below": 0.6}}],
    }
    verdicts = [
        str(fairaudit.audit(mapping, ROWS, settings=settings).verdict)
        for settings in ([], ["metrics[0].fail.below=0.75"])
    ]
    assert verdicts == ["pass", "fail"]


@pytest.mark.parametrize("form", [form.name for form in FORMATS if form.name != "parquet"])
def test_reports_tell_what_was_changed(spec: Path, form: str) -> None:
    result = fairaudit.audit(spec, settings=[STRICTER])
    chosen = next(entry for entry in FORMATS if entry.name == form)
    assert chosen.render is not None
    rendered = chosen.render([Answer(str(spec), None, result)], all_rows=True)
    text = rendered if isinstance(rendered, str) else rendered.decode()
    if form in {"csv", "github", "sarif"}:  # rows of groups; annotations on lines of files
        assert "file=--set" not in text
        assert '"uri": "--set"' not in text
    else:
        assert STRICTER in text


def test_a_place_in_the_option_is_no_file(spec: Path) -> None:
    whole = "metrics[1]={metric: impact_ratio, by: [sex], fail: {below: 0.75}}"
    for form in ("github", "sarif"):
        done = run("run", spec, "--set", whole, "--format", form)
        assert done.returncode == 1
        assert "--set" not in done.stdout


def test_the_command_behind_ten_annotations_has_the_settings(spec: Path) -> None:
    entry = "{{metric: impact_ratio, by: [sex], fail: {{below: 0.75}}, id: n{}}}"
    many = ", ".join(entry.format(number) for number in range(12))
    done = run("run", spec, "--set", f"metrics=[{many}]", "--format", "github")
    lines = done.stdout.splitlines()
    assert len(lines) == 10
    assert f"or run: fairaudit run {spec} --set 'metrics=[" in lines[-1]


def test_the_file_keeps_its_fingerprint_and_the_changes_stand_beside_it(spec: Path) -> None:
    plain, changed = (fairaudit.audit(spec, settings=s).provenance for s in ([], [STRICTER]))
    assert plain.spec_sha256 == changed.spec_sha256
    assert (plain.settings, changed.settings) == ((), (STRICTER,))
    told = json.loads(run("run", spec, "--set", STRICTER, "--format", "json").stdout)
    assert told["provenance"]["settings"] == [STRICTER]
    assert "settings" not in json.loads(run("run", spec, "--format", "json").stdout)["provenance"]


def test_a_baseline_of_other_limits_asks_something_else(spec: Path, tmp_path: Path) -> None:
    before = tmp_path / "before.json"
    assert run("run", spec, "-o", before).returncode == 0
    other = run("run", spec, "--baseline", before, "--set", STRICTER)
    assert other.returncode == 2
    assert "the baseline answers other questions than the spec asks" in other.stderr
    same = run("run", spec, "--baseline", before, "--set", "title=Ours")
    assert same.returncode == 0


def test_a_comparison_names_the_settings_that_differ(spec: Path, tmp_path: Path) -> None:
    for name, settings in (("a.json", ()), ("b.json", ("--set", STRICTER))):
        run("run", spec, "-o", tmp_path / name, *settings)
    done = run("compare", tmp_path / "a.json", tmp_path / "b.json")
    text = " ".join(done.stdout.split())
    assert f"set on the command line: none before, {STRICTER} after" in text


def test_settings_that_are_no_list_are_refused() -> None:
    settings: Any = 3
    with pytest.raises(UsageError, match="settings are a list of texts, not"):
        specs.parse(SPEC, settings=settings)

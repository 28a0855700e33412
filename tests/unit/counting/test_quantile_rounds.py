"""Quantiles of several sites: rounds of parts find what all rows together give, exactly."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from plain_engine import PlainEngine

import fairaudit
from fairaudit.base.errors import DataError, NothingToAudit, UsageError
from fairaudit.base.frozen import replace
from fairaudit.counting.quantile_rounds import CutsRound, Span
from fairaudit.counting.stored import counts_file
from fairaudit.counting.stored import quantile_rounds_file as rounds_file
from fairaudit.pipeline import stages as pipeline
from fairaudit.pipeline.question import Question
from fairaudit.report import json as report_json
from fairaudit.result import AuditResult

SPEC: dict[str, Any] = {
    "columns": {
        "protected": {"sex": {}, "income": {"quantiles": 4}},
        "label": {"column": "y", "positive": "1"},
        "prediction": {"column": "s", "positive": {"top": "10%"}},
        "score": "s",
        "strata": {"wealth": {"quantiles": 3}},
    },
    "metrics": [
        "selection_rate",
        "auc",
        {"metric": "impact_ratio", "by": ["sex"], "warn": {"below": 0.8}},
    ],
}


def write_sites(folder: Path, seed: int, *, count: bool = False) -> list[Path]:
    """Five sites: numbers of one and of other sizes, the same ones, missing ones, and no row."""
    draw, paths = random.Random(seed), []
    for site in range(5):
        lines = ["sex,income,y,s,wealth,n"]
        for _ in range(0 if site == 2 else draw.randint(30, 150)):
            values = [
                draw.choice("fm"),
                draw.choice([draw.randint(1000, 9000), draw.gauss(3e4, 1e4), "", 4000]),
                draw.randint(0, 1),
                draw.random() if site else 0.5 + draw.random() * 2**-30,
                draw.choice([-1, 1]) * 10 ** draw.uniform(-300, 300),
                draw.randint(0, 3) if count else 1,
            ]
            lines.append(",".join(map(str, values)))
        paths.append(folder / f"site{site}.csv")
        paths[-1].write_text("\n".join(lines) + "\n")
    return paths


def go_rounds(spec: dict[str, Any], paths: Sequence[Path]) -> tuple[CutsRound, int]:
    """The last round, in which all is exact, by files as sites send them; how many it took."""
    question, known, rounds = Question.read(spec), None, 0
    while known is None or known.open:
        sent = []
        for path in paths:
            found = rounds_file.hash_sources(pipeline.find_round(question, path, known), [path])
            sent.append(path.with_suffix(".cuts"))
            sent[-1].write_bytes(rounds_file.write(found))
        known, rounds = rounds_file.add(sent), rounds + 1
    return known, rounds


def document(result: AuditResult) -> str:
    """The JSON of a result but for where the counts came from."""
    tree = report_json.document(result)
    for name in ("route", "files", "created"):
        tree["data"].pop(name, None)
    return json.dumps({name: tree[name] for name in tree if name not in {"spec", "created"}})


@pytest.mark.parametrize("name", ["as it is", "a filter", "counts", "to publish"])
def test_sites_with_common_cuts_are_all_rows_together(name: str, tmp_path: Path) -> None:
    spec = dict(SPEC)
    if name == "a filter":
        spec["filter"] = "wealth > 0"
    if name == "counts":
        spec["columns"] = {**SPEC["columns"], "count": "n"}
    if name == "to publish":
        spec["suppress_below"] = 5
    paths = write_sites(tmp_path, 1, count=name == "counts")
    known, rounds = go_rounds(spec, paths)
    assert 1 < rounds <= 5
    question = Question.read(spec)
    for path in paths:
        counts = pipeline.count_with_cuts(question, path, known)
        path.with_suffix(".counts").write_bytes(
            counts_file.write(counts_file.hash_sources(counts, [path]))
        )
    found = fairaudit.audit(spec, str(tmp_path / "*.counts"))
    assert document(found) == document(fairaudit.audit({**spec, "data": [*map(str, paths)]}))
    assert counts_file.add([path.with_suffix(".counts") for path in paths]).medians.keys() == (
        {"s"} if name != "to publish" else set()
    )


def test_quantiles_are_those_of_a_sorted_list(tmp_path: Path) -> None:
    for seed in range(3):
        paths = write_sites(tmp_path, seed)
        rows = [line.split(",") for path in paths for line in path.read_text().splitlines()[1:]]
        known, _ = go_rounds(SPEC, paths)
        for column, place in (("income", 1), ("s", 3), ("wealth", 4)):
            values = sorted(float(row[place]) for row in rows if row[place])
            shares = [share for name, share in known.quantiles if name == column]
            assert shares
            for share, cut in zip(
                shares, known.cuts([(column, share) for share in shares]).values(), strict=True
            ):
                expected = next(
                    value
                    for number, value in enumerate(values, 1)
                    if Fraction(number, len(values)) >= share
                )
                assert cut.value == expected
                assert cut.below == sum(value < expected for value in values)
                assert cut.at == values.count(expected)
                assert cut.above == sum(value > expected for value in values)


def test_few_different_numbers_take_one_round(tmp_path: Path) -> None:
    paths = []
    for site in range(3):
        paths.append(tmp_path / f"{site}.csv")
        ages = "".join(f"f,{age},1,{age / 8},{age}\n" for age in range(18 + site, 70))
        paths[-1].write_text("sex,income,y,s,wealth\n" + ages)
    assert go_rounds(SPEC, paths)[1] == 1


def test_another_engine_finds_the_same_in_parts_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    draw = random.Random(2)
    rows = [f"f,{draw.randint(1, 60)},1,{draw.randint(0, 9)},1" for _ in range(200)]
    path.write_text("\n".join(["sex,income,y,s,wealth", *rows]) + "\n")
    question = Question.read(SPEC)
    other = pipeline.find_round(question, path, engine=PlainEngine())
    own, _ = go_rounds(SPEC, [path])
    assert not other.open
    assert other.cuts(question.quantiles) == own.cuts(question.quantiles)


def test_a_part_without_the_common_cuts_is_not_added(tmp_path: Path) -> None:
    paths = write_sites(tmp_path, 3)
    known, _ = go_rounds(SPEC, paths)
    question = Question.read(SPEC)
    sent = []
    for path, counts in (
        (paths[0], pipeline.count_with_cuts(question, paths[0], known)),
        (paths[1], pipeline.count(question, paths[1])),
    ):
        sent.append(path.with_suffix(".counts"))
        sent[-1].write_bytes(counts_file.write(counts_file.hash_sources(counts, [path])))
    with pytest.raises(DataError, match=r"count differently: keys, .*cuts"):
        counts_file.add(sent)


def test_a_median_of_a_part_is_none_of_the_whole(tmp_path: Path) -> None:
    # Of a part, or of equal parts, whose medians are equal: the whole has more people.
    spec = {**SPEC, "columns": {**SPEC["columns"], "protected": ["sex"], "strata": []}}
    spec["columns"]["prediction"] = {"column": "s", "positive": {"at_least": 0.5}}
    rows = "".join(f"f,0,{n % 2},{0.5 + n * 2**-40},1\n" for n in range(60))
    sent = []
    for site in range(2):
        path = tmp_path / f"{site}.csv"
        path.write_text("sex,income,y,s,wealth\n" + rows + "\n" * site)
        counts = pipeline.count(Question.read(spec), path)
        assert counts.medians["s"].people == 60
        sent.append(path.with_suffix(".counts"))
        sent[-1].write_bytes(counts_file.write(counts_file.hash_sources(counts, [path])))
    apart = fairaudit.audit(spec, str(tmp_path / "*.counts"))
    (score,) = [row for row in apart.scores if not row.group]
    assert score.median is not None
    assert score.median[0] < score.median[1]
    known, _ = go_rounds(spec, [tmp_path / "0.csv", tmp_path / "1.csv"])
    assert known.medians(["s"])["s"].people == 120


def test_what_does_not_belong_together_is_refused(tmp_path: Path) -> None:
    paths = write_sites(tmp_path, 4)
    question = Question.read(SPEC)
    first = pipeline.find_round(question, paths[0])
    assert first.open
    with pytest.raises(UsageError, match="not exact yet"):
        first.cuts(question.quantiles)
    with pytest.raises(UsageError, match="the cuts file has no quantile of"):
        first.cuts([("income", Fraction(1, 7))])

    def send(name: str, found: CutsRound, path: Path) -> Path:
        target = tmp_path / name
        target.write_bytes(rounds_file.write(rounds_file.hash_sources(found, [path])))
        return target

    own = send("a.cuts", first, paths[0])
    with pytest.raises(DataError, match="is counted already"):
        rounds_file.add([own, send("b.cuts", first, paths[0])])
    later = pipeline.find_round(question, paths[1], first)
    with pytest.raises(DataError, match="belong to different rounds"):
        rounds_file.add([own, send("c.cuts", later, paths[1])])
    filtered = Question.read({**SPEC, "filter": "wealth > 0"})
    with pytest.raises(DataError, match="count differently: filter"):
        rounds_file.add([own, send("d.cuts", pipeline.find_round(filtered, paths[1]), paths[1])])
    plain = {
        "columns": {"protected": ["sex"], "label": {"column": "y", "positive": "1"}},
        "metrics": ["base_rate"],
    }
    with pytest.raises(
        UsageError,
        match=("the spec has no quantiles and no score with a median, so no rounds are needed"),
    ):
        pipeline.find_round(Question.read(plain), paths[0])


def test_rounds_are_of_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        rounds_file.read(tmp_path / "missing.cuts")
    with pytest.raises(UsageError, match="quantile rounds work on files, not on database tables"):
        pipeline.find_round(Question.read(SPEC), f"duckdb:///{tmp_path}/a.duckdb?table=t")


def test_of_nobody_there_is_no_quantile(tmp_path: Path) -> None:
    paths = write_sites(tmp_path, 4)
    question = Question.read(SPEC)
    empty = pipeline.find_round(question, paths[2])
    with pytest.raises(NothingToAudit):
        empty.cuts(question.quantiles)
    lacking = replace(empty, rows=3)
    with pytest.raises(DataError, match="no row has a number in the column"):
        lacking.cuts(question.quantiles)
    assert lacking.medians(["s"]) == {}
    assert [span.span for span in empty.spans] == [Span("s"), Span("income"), Span("wealth")]
    assert {*empty.next_spans()} == {Span("s"), Span("income"), Span("wealth")}


def test_data_that_changed_between_two_rounds_is_told(tmp_path: Path) -> None:
    path = write_sites(tmp_path, 4)[0]
    question = Question.read(SPEC)
    first = pipeline.find_round(question, path)
    path.write_text(path.read_text() + "f,99999,1,0.9,1,1\n" * 500)
    with pytest.raises(DataError, match="is not in the interval that the previous round found"):
        pipeline.find_round(question, path, first).cuts(question.quantiles)


def test_a_damaged_round_is_refused(tmp_path: Path) -> None:
    paths = write_sites(tmp_path, 4)
    whole = rounds_file.write(pipeline.find_round(Question.read(SPEC), paths[0]))
    path = tmp_path / "a.cuts"
    path.write_bytes(whole)
    expected = rounds_file.read(path)
    draw, refused = random.Random(9), 0
    for _ in range(200):
        damaged = bytearray(whole)
        damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
        path.write_bytes(damaged)
        try:
            assert rounds_file.read(path) == expected  # the last digit of a number, a default
        except DataError:
            refused += 1
    assert refused > 150
    shares = (whole.replace(b'"1/2"', share) for share in (b'"1/0"', b'"1e9999999"', b"0.5"))
    for other in (b"[" * 3000, *shares, *(whole[: len(whole) * part // 16] for part in range(16))):
        assert other != whole
        path.write_bytes(other)
        with pytest.raises(DataError, match=r"is damaged or not a cuts file"):
            rounds_file.read(path)

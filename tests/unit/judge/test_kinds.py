"""A kind of reversal is named for what it counts."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from evidence_specs import YES

import fairaudit
from fairaudit.base.errors import SpecError
from fairaudit.judge.simpson import ReversalKind, scanning
from fairaudit.report import json as report_json
from fairaudit.report.reversals import sentence
from fairaudit.result import AuditResult

SIX = {
    "A": ((62, 82), (512, 825)), "B": ((17, 25), (353, 560)), "C": ((202, 593), (120, 325)),
    "D": ((131, 375), (138, 417)), "E": ((94, 393), (53, 191)), "F": ((24, 341), (22, 373)),
}  # fmt: skip
"""Women and men, admitted of all, by department (Bickel et al. 1975): 4 of 6 turn."""
LARGE_AND_SMALL = {
    "big": ((40, 100), (390, 600)), "one": ((9, 20), (2, 8)), "two": ((8, 20), (1, 6)),
    "three": ((7, 20), (1, 6)),
}  # fmt: skip
"""Three small strata of four point the other way, with far less than half of the people."""


def audited(strata: dict[str, Any], baseline: Path | None = None, **more: Any) -> AuditResult:
    rows = [
        (g, z, p, n)
        for z, sides in strata.items()
        for g, (x, m) in zip("wm", sides, strict=True)
        for p, n in ((1, x), (0, m - x))
    ]
    columns = {"protected": ["g"], "strata": ["z"], "count": "n",
               "prediction": {"column": "p", **YES}}  # fmt: skip
    frame = pl.DataFrame(rows, ["g", "z", "p", "n"], orient="row")
    asking = {"columns": columns, "metrics": ["selection_rate"], **more}
    return fairaudit.audit(asking, frame, baseline=baseline)


def test_a_kind_is_asked_by_its_name() -> None:
    for gate in ("most_people", {"kind": "most_people", "significant": True}):
        (finding,) = audited(SIX, simpson={"fail": gate}).findings
        assert getattr(finding.limit, "kind", None) is ReversalKind.MOST_PEOPLE


@pytest.mark.parametrize(
    ("kind", "hint"),
    [
        ("evry_stratum", r"; did you mean 'every_stratum'\?"),
        (
            "most_strata",
            "; available: every_stratum, adjusted, most_people, opposite, masked, explained, true",
        ),
    ],
)
def test_an_unknown_kind_is_refused_with_the_names_of_today(kind: str, hint: str) -> None:
    with pytest.raises(SpecError, match=f"unknown kind '{kind}'{hint}$"):
        audited(SIX, simpson={"fail": kind})


def test_the_share_of_strata_stands_beside_that_of_people() -> None:
    (one,) = (found for found in audited(SIX).reversals if found.kind.reverses)
    people = sum(n + m for (_, n), (_, m) in (SIX[z] for z in "ABDF"))
    everybody = sum(n + m for (_, n), (_, m) in SIX.values())
    assert one.opposite_strata == pytest.approx(4 / 6)
    assert one.opposite_weight == pytest.approx(people / everybody)
    text = sentence(one, 0.05)
    assert "reversed for 4 of 6 values of " in text
    assert f"{100 * people / everybody:.1f} % of the people" in text
    (row,) = (
        found
        for found in json.loads(report_json.render(audited(SIX)))["reversals"]
        if found["kind"] == "adjusted"
    )
    assert row["opposite_strata"] == pytest.approx(4 / 6)


def test_most_strata_with_few_people_are_no_reversal_of_most_people() -> None:
    """Three of four strata point the other way; the name says what is counted."""
    found = [one for one in audited(LARGE_AND_SMALL).reversals if one.rate == "selection_rate"]
    assert ReversalKind.MOST_PEOPLE not in {one.kind for one in found}
    assert "however many strata" in ReversalKind.MOST_PEOPLE.description


@pytest.mark.long
def test_a_pair_of_any_kind_is_among_the_suspects(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shortcut of the scan finds what a look at every pair of groups finds."""

    def all_pairs(scan: Any) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        found = zip(scan.large.tolist(), scan.comparable, strict=True)
        return [(g, h) for g, partners in found for h in scan.large[partners].tolist()], []

    kinds = set()
    for seed in range(25):
        draw = random.Random(seed)
        rows = [
            (g, z, p, draw.choice([0, 1, 2, 3, 5, 8, 40, 200]))
            for g in "abcdef" for z in "uvw" for p in (0, 1)
        ]  # fmt: skip
        frame = pl.DataFrame(rows, ["g", "z", "p", "n"], orient="row")
        spec = {
            "columns": {"protected": ["g"], "strata": ["z"], "count": "n",
                        "prediction": {"column": "p", **YES}},
            "metrics": ["selection_rate"],
            "simpson": draw.choice(
                [{}, {"min_odds_ratio": 1.5}, {"min_gap": 0.02, "min_odds_ratio": 1.1}]
                + [{"min_gap": gap} for gap in (0, 0.02, 0.1)]
            ),
        }  # fmt: skip
        found = fairaudit.audit(spec, frame).reversals
        with monkeypatch.context() as patch:
            patch.setattr(scanning._PairScan, "suspected", property(all_pairs))
            again = fairaudit.audit(spec, frame).reversals
            # Other blocks of pairs are summed up in another order.
            assert [(one.kind, one.pair, one.given) for one in again] == [
                (one.kind, one.pair, one.given) for one in found
            ]
        kinds |= {reversal.kind for reversal in found}
    assert kinds == {*ReversalKind}

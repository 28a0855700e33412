"""Reversals: their tests against statsmodels and scipy, their ranks, gates and sentences.

Kinds and numbers are held against an oracle over rows in test_oracle.py.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import polars as pl
import pytest
from conftest import SPECS, long, sentence_of
from scipy import stats
from stats_oracle import fisher, is_counted
from statsmodels.stats.contingency_tables import StratifiedTable
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportions_ztest

import fairaudit
from fairaudit.base.errors import SpecError
from fairaudit.evidence.pair_tests import Sample
from fairaudit.judge import EvidenceStatus, Finding, Status
from fairaudit.judge.simpson import Reversal, ReversalKind, scanning
from fairaudit.judge.simpson.pairs import find_explained_share
from fairaudit.report import content, headlines, terminal
from fairaudit.report import json as report_json
from fairaudit.report.blocks import Entries
from fairaudit.result import AuditResult

Cells: TypeAlias = Mapping[tuple[str, ...], tuple[int, int]]
"""How many of how many are selected, by group and strata."""

ALPHA = 0.05
KIDNEY: Cells = {
    ("A", "1"): (81, 87),
    ("A", "2"): (192, 263),
    ("B", "1"): (234, 270),
    ("B", "2"): (55, 80),
}
"""Foulds & Pan, Table 1: who is admitted, by gender and race."""


def frame(cells: Cells, names: Sequence[str]) -> pl.DataFrame:
    """A row for each outcome of each cell, with its people."""
    rows = [
        (*levels, outcome, n)
        for levels, (over, under) in cells.items()
        for outcome, n in (("yes", over), ("no", under - over))
    ]
    return pl.DataFrame(rows, schema=[*names, "y", "n"], orient="row")


def audited(
    cells: Cells, names: Sequence[str] = ("g", "z"), protected: int = 1, **simpson: Any
) -> AuditResult:
    """The audit of such cells: the first columns are protected, the others strata."""
    spec = {
        "columns": {
            "protected": list(names[:protected]),
            "strata": list(names[protected:]),
            "decision": {"column": "y", "positive": "yes", "negative": "no"},
            "count": "n",
        },
        "metrics": ["selection_rate"],
        "simpson": simpson,
    }
    return fairaudit.audit(spec, frame(cells, names))


def drawn(seed: int, groups: int = 2, strata: int = 3, people: int = 60) -> Cells:
    """Random rates and sizes in every cell."""
    rng = np.random.default_rng(seed)
    cells: dict[tuple[str, ...], tuple[int, int]] = {}
    for g, z in itertools.product(range(groups), range(strata)):
        n = int(rng.integers(5, people))
        cells["abcdefgh"[g], str(z)] = (int(rng.binomial(n, rng.uniform(0.1, 0.9))), n)
    return cells


def two_sample_p(a: int, n: int, c: int, m: int) -> float:
    """Fisher's test by mid-p where few are expected or z is off, else the pooled z, by others."""
    table = np.array([[a, n - a], [c, m - c]])
    if min(table.sum(axis=0)) == 0:
        return 1.0
    if is_counted(a, n, c, m):
        return fisher(a, n, c, m)[1]
    return float(proportions_ztest([a, c], [n, m])[1])


def one_sided(tables: Sequence[tuple[int, int, int, int]], crude: float) -> float:
    """Half of Gail & Simon's test: that no stratum's gap points against the one overall."""
    terms = []
    for a, n, c, m in tables:
        yes, whole = a + c, n + m
        variance = yes * (whole - yes) / (n * m * (whole - 1))
        if variance:
            terms.append(min((a / n - c / m) * np.sign(crude), 0) ** 2 / variance)
    total, count = sum(terms), len(terms)
    if not total:
        return 1.0
    ways = [stats.binom(count, 0.5).pmf(k) * stats.chi2(k).sf(total) for k in range(1, count + 1)]
    return float(sum(ways))


def interacting(tables: Sequence[tuple[int, int, int, int]]) -> float:
    """Gail & Simon's test: that no two strata have gaps of opposite signs."""
    sums, count = {1: 0.0, -1: 0.0, 0: 0.0}, 0
    for a, n, c, m in tables:
        yes, whole = a + c, n + m
        variance = yes * (whole - yes) / (n * m * (whole - 1))
        if variance:
            count += 1
            gap = a / n - c / m
            sums[int(np.sign(gap))] += gap**2 / variance
    least = min(sums[1], sums[-1])
    coins = stats.binom(count - 1, 0.5)
    return float(sum(coins.pmf(k) * stats.chi2(k).sf(least) for k in range(1, count)))


def tables_of(one: Reversal) -> list[tuple[int, int, int, int]]:
    return [(s.first.over, s.first.under, s.second.over, s.second.under) for s in one.strata]


@pytest.mark.long
@pytest.mark.usefixtures("no_garbage_collection")
def test_tests_equal_statsmodels_on_random_tables() -> None:
    checked = 0
    for seed in range(20):
        for one in audited(drawn(seed, groups=5), min_gap=0.001).reversals:
            checked += 1
            tables = tables_of(one)
            theirs = StratifiedTable([np.array([[a, c], [n - a, m - c]]) for a, n, c, m in tables])
            joined = one.joined
            assert joined is not None
            assert one.mantel_haenszel_odds_ratio == pytest.approx(theirs.oddsratio_pooled)
            assert (joined.odds_low, joined.odds_high) == pytest.approx(
                theirs.oddsratio_pooled_confint()
            )
            assert joined.p == pytest.approx(theirs.test_null_odds().pvalue)
            assert joined.homogeneity == pytest.approx(theirs.test_equal_odds().pvalue)
            assert joined.opposite == pytest.approx(one_sided(tables, one.crude))
            if one.kind is ReversalKind.OPPOSITE:
                assert joined.interaction == pytest.approx(interacting(tables))
                assert (joined.interaction or 0) < ALPHA
            whole = [sum(column) for column in zip(*tables, strict=True)]
            assert one.crude_p == pytest.approx(two_sample_p(*whole))
            alone = [two_sample_p(*table) for table in tables]
            assert [s.significance and s.significance.p for s in one.strata] == pytest.approx(alone)
            adjusted = multipletests(alone, method="holm")[1]
            found = [s.significance and s.significance.adjusted for s in one.strata]
            assert found == pytest.approx(adjusted.tolist())
            assert one.significant_strata(ALPHA) == tuple(
                sum(
                    p < ALPHA and sign * one.crude * (a / n - c / m) > 0
                    for p, (a, n, c, m) in zip(adjusted, tables, strict=True)
                )
                for sign in (1, -1)
            )
            weights = [n + m for _, n, _, m in tables]
            gaps = [a / n - c / m for a, n, c, m in tables]
            standardized = sum(w * d for w, d in zip(weights, gaps, strict=True)) / sum(weights)
            assert one.standardized == pytest.approx(standardized)
            risk = sum((a * m - c * n) / (n + m) for a, n, c, m in tables)
            risk /= sum(n * m / (n + m) for _, n, _, m in tables)
            assert joined.difference == pytest.approx(risk)
    assert checked > 20


def claim(one: Reversal) -> float:
    """The p-value of what a kind claims, from the tests that statsmodels was held against."""
    assert one.joined is not None
    crude, together = one.crude_p, one.joined.p
    assert crude is not None
    assert together is not None
    if one.kind is ReversalKind.EXPLAINED:
        return crude
    if one.kind is ReversalKind.OPPOSITE:
        return interacting(tables_of(one))
    if one.kind is ReversalKind.MASKED:
        return together
    if one.kind is ReversalKind.MOST_PEOPLE:
        assert one.joined.opposite is not None
        return max(crude, one.joined.opposite)
    assert one.joined.difference is not None
    return max(crude, together) if one.joined.difference * one.crude < 0 else 1.0


@pytest.mark.long
@pytest.mark.usefixtures("no_garbage_collection")
def test_the_family_is_every_comparison_of_the_scan() -> None:
    kinds: set[ReversalKind] = set()
    for seed in range(40):
        result = audited(drawn(seed, groups=5, strata=4, people=400), min_gap=0.02)
        found = result.reversals
        raw = [claim(one) for one in found]
        adjusted = multipletests([*raw, *[1.0] * (10 - len(raw))], method="holm")[1]
        for one, p, among in zip(found, raw, adjusted, strict=False):
            assert one.significance is not None
            assert one.significance.p == pytest.approx(p)
            assert one.significance.adjusted == pytest.approx(among)
            assert one.significance.family == 10
            kinds.add(one.kind)
    assert kinds == set(ReversalKind)


def is_sure(one: Reversal) -> bool:
    return one.significance is not None and one.significance.adjusted < ALPHA


@pytest.mark.long
def test_those_that_matter_come_first() -> None:
    several = 0
    for seed in range(20):
        found = audited(drawn(seed, groups=6, strata=4, people=400)).reversals
        several += len(found) > 1
        order = [
            (one.kind.reverses, is_sure(one), one.kind.strength, abs(one.crude - one.standardized))
            for one in found
        ]
        assert order == sorted(order, reverse=True)
    assert several > 10


PUBLISHED = {
    # Of these tables the reversals that their sources tell of, and nothing else.
    "kidney_admissions": [("gender", {"A", "B"}, ("race",))],
    "berkeley_admissions": [],
    "titanic": [("class", {"3rd", "Crew"}, ("sex",))],
    "florida_1976": [("defendant", {"black", "white"}, ("victim",))],
    "florida_1987": [("defendant", {"black", "white"}, ("victim",))],
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_tables_reverse_where_they_should_and_nowhere_else(name: str) -> None:
    found = fairaudit.audit(SPECS / f"{name}.yaml").reversals
    every = [
        (one.attribute, set(one.pair), one.given)
        for one in found
        if one.kind is ReversalKind.EVERY_STRATUM
    ]
    assert every == PUBLISHED[name]
    if name == "berkeley_admissions":
        assert [(one.kind, one.attribute, one.given) for one in found if one.kind.reverses] == [
            (ReversalKind.ADJUSTED, "gender", ("department",))
        ]


@pytest.mark.long
@pytest.mark.parametrize("setting", ["independent", "mix"])
def test_where_nothing_reverses_nothing_is_sure_to(setting: str, bench: Any) -> None:
    """The chance of any false finding in a scan is at most 5 %: 50 data sets allow 6 of them.

    scipy: binom(50, .05).sf(6) = .012. benchmarks/reversals.py tells how they are drawn.
    """
    found = bench("reversals").of_nothing(setting, 50)
    assert found.sure <= 6
    # Where groups differ by their mix, chance turns strata: that is what the tests are there for.
    assert found.every > 10 if setting == "mix" else found.every < 3


@pytest.mark.long
@pytest.mark.parametrize("people", [1000, 10_000, long(100_000)])
def test_planted_reversals_are_found(people: int, bench: Any) -> None:
    """10 points in each stratum: a standard error of 4 points in 1,000 people, 1.3 in 10,000."""
    found = bench("reversals").of_planted(people, 20)
    assert found.every >= (16 if people == 1000 else 20)
    assert found.sure >= (8 if people == 1000 else 20)


def test_columns_are_held_fixed_together() -> None:
    names = ("g", "u", "v")
    cells: Cells = {
        ("a", "0", "0"): (10, 50),
        ("a", "0", "1"): (320, 400),
        ("a", "1", "0"): (320, 400),
        ("a", "1", "1"): (10, 50),
        ("b", "0", "0"): (120, 400),
        ("b", "0", "1"): (45, 50),
        ("b", "1", "0"): (45, 50),
        ("b", "1", "1"): (120, 400),
    }
    alone = audited(cells, names).reversals
    assert not [one for one in alone if one.kind.reverses]
    for simpson in ({"together": 2}, {"given": ["all", ["u", "v"]]}, {"given": [["u", "v"]]}):
        turned = [one for one in audited(cells, names, **simpson).reversals if one.kind.reverses]
        (one,) = turned
        assert (one.kind, one.given) == (ReversalKind.EVERY_STRATUM, ("u", "v"))
        assert [s.stratum for s in one.strata] == [(("u", u), ("v", v)) for u in "01" for v in "01"]
        assert is_sure(one)


def test_what_one_column_shows_is_not_repeated_for_two() -> None:
    halves: Cells = {
        (g, z, half): (over // 2 + (over % 2) * at, under // 2 + (under % 2) * at)
        for (g, z), (over, under) in KIDNEY.items()
        for at, half in enumerate("uv")
    }
    names = ("g", "z", "half")
    result = audited(halves, names, together=2)
    assert [(one.kind, one.given) for one in result.reversals] == [
        (ReversalKind.EVERY_STRATUM, ("z",))
    ]
    (notice,) = [text for text in result.notices if "Simpson" in text]
    assert "1 is not listed" in notice
    # Alone, it is shown: nothing else tells of it.
    (only,) = audited(halves, names, given=[["z", "half"]]).reversals
    assert only.given == ("z", "half")


def test_each_group_against_its_reference() -> None:
    cells = drawn(4, groups=5, strata=4, people=400)
    data = frame(cells, ("g", "z"))

    def found(pairs: str) -> AuditResult:
        spec = {
            "columns": {
                "protected": {"g": {"reference": "c"}},
                "strata": ["z"],
                "decision": {"column": "y", "positive": "yes", "negative": "no"},
                "count": "n",
            },
            "metrics": ["selection_rate"],
            "simpson": {"pairs": pairs},
        }
        return fairaudit.audit(spec, data)

    every, some = found("all").reversals, found("reference").reversals
    assert {one.pair for one in some} == {one.pair for one in every if "c" in one.pair}
    assert all(one.pair[1] == "c" for one in some)
    assert {one.significance.family for one in some if one.significance} == {4}
    assert len(some) < len(every)


def gate(cells: Cells, fail: Any, **more: Any) -> Finding:
    result = audited(cells, fail=fail, **more)
    (finding,) = result.findings
    return finding


def scaled(cells: Cells, by: int) -> Cells:
    return {key: (over * by, under * by) for key, (over, under) in cells.items()}


NOTHING: Cells = {(g, z): (n // 2, n) for (g, z), (_, n) in KIDNEY.items()}
SURE: dict[str, Any] = {"kind": "every_stratum", "significant": True}


def test_a_gate_takes_any_reversal_or_a_proven_one() -> None:
    assert gate(KIDNEY, fail=True).status is Status.FAIL
    assert gate(KIDNEY, "every_stratum").status is Status.FAIL
    assert gate(NOTHING, fail=True).status is Status.PASS
    assert gate(NOTHING, SURE).status is Status.PASS
    thin = gate(KIDNEY, SURE)
    assert (thin.status, thin.backing) == (Status.WARN, EvidenceStatus.NOT_SIGNIFICANT)
    proven = gate(scaled(KIDNEY, 10), SURE)
    assert (proven.status, proven.backing) == (Status.FAIL, EvidenceStatus.SUPPORTED)
    assert [one.pair for one in proven.reversals] == [("A", "B")]
    assert gate(scaled(KIDNEY, 10), {"significant": True}).status is Status.FAIL
    assert not audited(KIDNEY, fail=False).findings


def test_a_gate_that_asks_for_proof_names_the_proven_alone() -> None:
    both: Cells = {
        **{("big" + g, z): counts for (g, z), counts in scaled(KIDNEY, 30).items()},
        **{("thin" + g, z): counts for (g, z), counts in KIDNEY.items()},
    }
    finding = gate(both, SURE)
    assert finding.status is Status.FAIL
    assert ("bigA", "bigB") in [one.pair for one in finding.reversals]
    assert all(is_sure(one) for one in finding.reversals)
    assert ("thinA", "thinB") in [one.pair for one in gate(both, fail=True).reversals]


@pytest.mark.parametrize(
    ("simpson", "message"),
    [
        ({"fail": "evry_stratum"}, "did you mean 'every_stratum'"),
        ({"fail": {"kind": "often"}}, "'often' is not one of every_stratum"),
        ({"fail": ["every_stratum"]}, "expected a text, found a list"),
        ({"pairs": "reference"}, "g has no `reference`"),
        ({"pairs": "some"}, "'some' is not one of all, reference"),
        ({"together": 0}, "must be a number from 1 to 3"),
        ({"together": 9}, "must be a number from 1 to 3"),
        ({"given": [["z", "q"]]}, "unknown column: 'q'"),
        ({"given": "q"}, "unknown column: 'q'"),
        ({"given": [[]]}, "an empty list names no column"),
        ({"given": [], "fail": True}, "the search for reversals needs a second"),
        ({"given": ["g"], "fail": True}, "the search for reversals needs a second"),
    ],
)
def test_faults_of_the_scan_are_told(simpson: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError) as error:
        audited(KIDNEY, **simpson)
    assert message in str(error.value)
    assert str(error.value).count(message) == 1


def sentences(result: AuditResult) -> list[str]:
    return [one["sentence"] for one in json.loads(report_json.render(result))["reversals"]]


def test_the_sentence_of_berkeley() -> None:
    """Bickel, Hammel & O'Connell's table: 30.4 % against 44.5 %, 4 of 6, 17.8 of 14.2 points."""
    (told,) = sentences(fairaudit.audit(SPECS / "berkeley_admissions.yaml"))
    # Sato's interval and the Cochran–Mantel–Haenszel p: statsmodels' StratifiedTable has .2169.
    assert told == (
        "women against men, selection rate: 14.2 points lower overall, 30.35 % (557/1,835) against "
        "44.52 % (1,198/2,691), p < .0001; after adjustment for department no clear "
        "gap: 1.8 points higher [-1.1, +4.7], p = .2169 "
        "(Cochran–Mantel–Haenszel); reversed for 4 of 6 values of department (66.8 % of the "
        "people); the reversal: p = .2169, calculated from the larger p-value of both gaps."
    )


def test_the_gap_of_the_headline_is_the_one_that_is_tested() -> None:
    """Σ w (p - q) / Σ w with w = nm / (n + m), whose numerator is that of the test."""
    result = fairaudit.audit(SPECS / "berkeley_admissions.yaml")
    (one,) = result.reversals
    tables = [[Fraction(x) for x in table] for table in tables_of(one)]
    weights = [n * m / (n + m) for _, n, _, m in tables]
    gaps = [w * (a / n - c / m) for w, (a, n, c, m) in zip(weights, tables, strict=True)]
    assert one.joined is not None
    assert one.joined.difference == pytest.approx(float(sum(gaps) / sum(weights)))
    text = " ".join(terminal.render(content.document(result)).split())
    assert "1.8 points higher" in text
    # The same gap at other weights stands below, by name; no cause is claimed.
    assert (
        "With other weights, the gap after adjustment is +4.3 points (weight of a stratum: its "
        "people of both groups) or +3.6 points (weight: the mean of two shares, how much of each "
        "group is in the stratum). The overall gap of -14.2 points has two parts: +3.6 points (the "
        "last of these gaps), and -17.8 points because the groups are spread" in text
    )
    assert "accounts for" not in text


def test_mirror_cases_are_told_in_words() -> None:
    hidden: Cells = {
        ("a", "u"): (30, 100),
        ("a", "v"): (210, 300),
        ("b", "u"): (150, 300),
        ("b", "v"): (90, 100),
    }
    assert audited(hidden).reversals[0].kind is ReversalKind.MASKED
    explained: Cells = {
        ("a", "u"): (20, 100),
        ("a", "v"): (240, 400),
        ("b", "u"): (80, 400),
        ("b", "v"): (60, 100),
    }
    assert " ".join(sentences(audited(hidden))).startswith(
        "g=a against g=b, selection rate: no gap overall, "
        "60.0 % (240/400) against 60.0 % (240/400), "
        "p = 1.0000; after adjustment for z 20.0 points lower [-"
    )
    # Strata of .2 against .2 and .6 against .6: all of the gap goes with the mix.
    text = " ".join(sentences(audited(explained)))
    assert text.startswith(
        "g=a against g=b, selection rate: "
        "24.0 points higher overall, 52.0 % (260/500) against 28.0 % "
        "(140/500), p < .0001; after adjustment for z no clear gap: no gap [-"
    )
    assert "100.0 % of the gap [" in text
    assert "if both groups had the same mix of z, 100.0 % of the gap" in text


def test_a_gap_goes_with_the_strata_by_its_share_and_not_by_a_point() -> None:
    """1.0 point overall and 0.8 in each stratum: the mix has a fifth of it, and explains nothing.

    Of 40 points overall and 4 in each stratum the mix has nine tenths.
    """
    a_fifth: Cells = {
        ("a", "u"): (25_654, 50_500), ("a", "v"): (15_246, 49_500),
        ("b", "u"): (24_750, 49_500), ("b", "v"): (15_150, 50_500),
    }  # fmt: skip
    gaps = [Fraction(25_654, 50_500) - Fraction(1, 2), Fraction(15_246, 49_500) - Fraction(3, 10)]
    assert gaps == [Fraction(8, 1000)] * 2
    assert Fraction(25_654 + 15_246 - 24_750 - 15_150, 100_000) == Fraction(1, 100)
    assert not audited(a_fifth).reversals
    most: Cells = {
        ("a", "u"): (7_560, 9_000), ("a", "v"): (240, 1_000),
        ("b", "u"): (800, 1_000), ("b", "v"): (1_800, 9_000),
    }  # fmt: skip
    (one,) = audited(most).reversals
    assert one.kind is ReversalKind.EXPLAINED
    crude = Fraction(7_800, 10_000) - Fraction(2_600, 10_000)
    left = Fraction(1, 2) * (Fraction(84, 100) - Fraction(80, 100)) * 2
    assert one.explained is not None
    assert one.explained.value == pytest.approx(float(1 - left / crude))
    assert one.explained.low is not None
    assert one.explained.high is not None
    assert one.explained.low < one.explained.value < one.explained.high


def test_the_interval_of_a_share_covers() -> None:
    """Fieller's interval of 1 - left / crude: of 300 data sets 95 %, less three standard errors."""
    sizes = {("a", "u"): 300, ("a", "v"): 80, ("b", "u"): 90, ("b", "v"): 280}
    rates = {("a", "u"): 0.62, ("a", "v"): 0.34, ("b", "u"): 0.55, ("b", "v"): 0.26}
    n = {g: sizes[g, "u"] + sizes[g, "v"] for g in "ab"}
    crude = sum((1 if g == "a" else -1) * rates[g, z] * sizes[g, z] / n[g] for g, z in sizes)
    weight = {z: (sizes["a", z] + sizes["b", z]) / (n["a"] + n["b"]) for z in "uv"}
    left = sum(weight[z] * (rates["a", z] - rates["b", z]) for z in "uv")
    rng, covered, told = np.random.default_rng(18), 0, 0
    for _ in range(300):
        hits = {key: rng.binomial(size, rates[key]) for key, size in sizes.items()}
        samples = [
            Sample(
                np.array([hits[g, z] / sizes[g, z] for z in "uv"]),
                np.array([sizes[g, z] for z in "uv"], dtype=np.float64),
                None,
                None,
            )
            for g in "ab"
        ]
        masses = tuple(np.array([sizes[g, z] for z in "uv"], dtype=np.float64) for g in "ab")
        found = find_explained_share(samples[0], samples[1], (masses[0], masses[1]), 0.05)
        assert found is not None
        if found.low is not None and found.high is not None:
            told += 1
            covered += found.low <= 1 - left / crude <= found.high
    assert told > 290
    assert covered / told >= 0.95 - 3 * (0.95 * 0.05 / told) ** 0.5


def test_what_a_check_names_has_its_strata_though_it_is_not_significant() -> None:
    """The kidney table: no test tells its reversal from chance, and a bare gate fails on it."""
    bare, asked = audited(KIDNEY), audited(KIDNEY, fail=True)
    for result, shows in ((bare, False), (asked, True)):
        text = " ".join(terminal.render(content.document(result)).split())
        assert "1 pattern may be chance. Reversed in" in text
        assert ("81/87" in text.partition("Simpson's reversals")[2]) == shows
    (finding,) = asked.findings
    assert "; this may be chance" in sentence_of(asked, finding)


HANGING: Cells = {
    ("a", "u"): (3, 5),
    ("a", "v"): (1, 5),
    ("b", "u"): (5, 25),
    ("b", "v"): (25, 50),
}
"""40 % each overall; +40 points in u, -30 in v, of so few that chance may explain them.

At weights nm / (n + m) of 4.17 and 4.55 +3.5 points, by 30 and 55 people -5.3.
"""


def test_a_gap_whose_sign_depends_on_the_weights_has_no_p_and_is_not_claimed() -> None:
    result = audited(HANGING)
    (one,) = result.reversals
    assert (one.kind, one.hangs_on_weights) == (ReversalKind.MASKED, True)
    (told,) = sentences(result)
    assert told == (
        "g=a against g=b, selection rate: no gap overall, 40.0 % (4/10) against 40.0 % (30/75), "
        "p = .8665; after adjustment for z the sign of the gap depends on the weights of the "
        "strata: +3.5 points by Mantel–Haenszel, -5.3 by both groups' people; no single adjusted "
        "gap is reported."
    )
    text = " ".join(terminal.render(content.document(result)).split())
    assert "A gap hidden in the aggregate: 1 (g=a against g=b); -o report.json has them" in text


def test_no_gap_remains_only_of_one_that_is_significant_overall() -> None:
    """1/10 against 2/10 and 8/10 against 7/10: 9/20 each way but for one, p far above .05."""
    cells: Cells = {
        ("a", "u"): (2, 20),
        ("a", "v"): (7, 10),
        ("b", "u"): (1, 10),
        ("b", "v"): (14, 20),
    }
    (told,) = sentences(audited(cells))
    assert (
        "overall, 30.0 % (9/30) against 50.0 % (15/30), p = .1138; after adjustment for z " in told
    )
    assert "remains" not in told
    assert "cannot tell" not in told


def test_a_report_defines_its_labels_and_heads_the_share_of_people() -> None:
    text = " ".join(
        terminal.render(
            content.document(fairaudit.audit(SPECS / "berkeley_admissions.yaml"))
        ).split()
    )
    assert "overall gap not left The overall gap is significant (p below 0.05" in text
    assert "of people" in text
    assert "“of people”: the stratum's share of the people of both groups (not its" in text
    assert "evidence that the gaps have opposite directions: p " in text


@pytest.mark.parametrize("seed", range(8))
def test_what_chance_makes_is_counted_and_never_a_headline(seed: int) -> None:
    """Pure noise of 400 people: groups, strata and decisions are drawn without one another."""
    rng = np.random.default_rng([15, seed])
    cells: dict[tuple[str, ...], tuple[int, int]] = {}
    for g, z in itertools.product("abcd", "uv"):
        n = int(rng.integers(30, 70))
        cells[g, z] = (int(rng.binomial(n, 0.5)), n)
    result = audited(cells)
    patterns = [one for one in result.reversals if not is_sure(one)]
    text = " ".join(terminal.render(content.document(result)).split())
    section = text.partition("Simpson's reversals")[2].partition("Definitions")[0]
    if patterns and len(patterns) == len(result.reversals):
        assert f"{len(patterns)} pattern" in section
        assert " may be chance. " in section
        assert "points lower overall" not in section
    blocks = content.document(result, all_rows=True)
    told = {text for block in blocks if isinstance(block, Entries) for _, text in block.rows}
    established = {
        sentence
        for sentence, one in zip(sentences(result), result.reversals, strict=True)
        if one not in patterns
    }
    # What no test establishes and no check asks for is counted, and listed in JSON alone.
    assert {" ".join(one.split()) for one in told} >= established


@pytest.mark.long
def test_thin_strata_prove_nothing() -> None:
    """Groups that differ by their mix alone, in 100 strata of 24 people: chance turns many of them.

    A variance of each side by itself would be far too small there: all that turn would be sure to.
    """
    found = sure = 0
    for seed in range(60):
        rng = np.random.default_rng([3, seed])
        cells: dict[tuple[str, ...], tuple[int, int]] = {}
        for z in range(100):
            first, second, rate = (20, 4, 0.42) if z % 2 else (4, 20, 0.58)
            for g, n in (("a", first), ("b", second)):
                cells[g, str(z)] = (int(rng.binomial(n, rate)), n)
        for one in audited(cells).reversals:
            if one.kind.reverses:
                found += 1
                sure += is_sure(one)
    assert found >= 3
    assert sure <= 6  # 5 % of 60 are 3; scipy: binom(60, .05).sf(6) = .03


def test_all_strata_may_turn_without_the_mix() -> None:
    """Each stratum turns a little, surely: the gap at an equal mix is less than the floor."""
    cells: Cells = {
        ("a", "u"): (400_000, 800_000),
        ("a", "v"): (40_000, 200_000),
        ("b", "u"): (101_600, 200_000),
        ("b", "v"): (166_400, 800_000),
    }
    finding = gate(cells, {"kind": "most_people", "significant": True})
    assert finding.status is Status.FAIL
    (one,) = finding.reversals
    assert (one.kind, one.reversed_strata, is_sure(one)) == (ReversalKind.MOST_PEOPLE, 2, True)


def test_what_is_sure_is_not_hidden_by_what_is_not() -> None:
    """One column turns the gap by a little, two together surely: the gate has to see the two."""
    cells: dict[tuple[str, ...], tuple[int, int]] = {}
    for g, u, v in itertools.product("ab", (0, 1), (0, 1)):
        share = 0.2 if g == "a" else 0.8
        n = round(2000 * (share if u else 1 - share) * (share if v else 1 - share))
        rate = 0.2 + 0.1 * (g == "a") + 0.25 * u + 0.14 * v
        cells[g, str(u), str(v)] = (round(n * rate), n)
    names = ("g", "u", "v")
    for given in ([["u", "v"]], ["u", ["u", "v"]], ["all", ["u", "v"]]):
        result = audited(cells, names, fail=SURE, given=given)
        assert result.findings[0].status is Status.FAIL, given
        assert ("u", "v") in [one.given for one in result.findings[0].reversals]


def test_a_gate_on_what_could_not_be_looked_at_does_not_pass() -> None:
    one_stratum: Cells = {("a", "u"): (30, 100), ("b", "u"): (60, 100)}
    finding = gate(one_stratum, fail=True)
    assert finding.status is Status.INCONCLUSIVE
    assert "in two strata or more" in finding.why
    apart: Cells = {
        ("a", "u"): (30, 100), ("a", "v"): (30, 100),
        ("b", "u"): (60, 100), ("b", "w"): (60, 100),
    }  # fmt: skip
    assert gate(apart, fail=True).status is Status.INCONCLUSIVE
    rng = np.random.default_rng(5)
    many: Cells = {(f"{g:03}", z): (int(rng.integers(3, 9)), 10) for g in range(501) for z in "uv"}
    finding = gate(many, fail=True)
    assert finding.status is Status.INCONCLUSIVE
    assert "g has 501 groups" in finding.why


def test_a_warning_that_is_in_doubt_passes() -> None:
    result = audited(KIDNEY, warn=SURE)
    (finding,) = result.findings
    assert (finding.status, finding.backing) == (Status.PASS, EvidenceStatus.NOT_SIGNIFICANT)
    assert [one.pair for one in finding.reversals] == [("A", "B")]


def test_of_several_models_a_gate_names_one() -> None:
    """The first model selects half of everybody, the second as in the kidney table."""
    rows = [
        (g, z, str(at % 2), str(int(at < over)))
        for (g, z), (over, under) in KIDNEY.items()
        for at in range(under)
    ]
    data = pl.DataFrame(rows, schema=["g", "z", "even", "kidney"], orient="row")
    models = {name: {"prediction": {"column": name, "positive": 1}} for name in ("even", "kidney")}

    def audit(**simpson: Any) -> AuditResult:
        columns = {"protected": ["g"], "strata": ["z"], "models": models}
        spec = {"columns": columns, "metrics": ["selection_rate"], "simpson": simpson}
        return fairaudit.audit(spec, data)

    with pytest.raises(SpecError, match="name one outcome for the limit \\(even, kidney\\)"):
        audit(fail=True)
    with pytest.raises(SpecError, match="unknown outcome: 'kidny'; did you mean 'kidney'"):
        audit(fail=True, of="kidny")
    assert [one.status for one in audit(fail=True, of="even").findings] == [Status.PASS]
    assert [one.status for one in audit(fail=True, of="kidney").findings] == [Status.FAIL]
    assert not audit().findings


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ("MOST_COUNTS", "2 groups in 2 strata by labels and classes have 12 counts, more than 11"),
        ("MOST_GROUPS", "has 2 groups"),
    ],
)
def test_a_scan_that_is_too_large_is_refused_before_its_table_is_made(
    limit: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """10,000 strata of 2,000 groups took 3.7 GB, and were not looked at in the end."""
    made: list[int] = []
    monkeypatch.setattr(scanning, limit, 11 if limit == "MOST_COUNTS" else 1)
    monkeypatch.setattr(scanning, "_PairScan", made.append)
    columns = {"protected": ["g"], "strata": ["s"], "decision": {"column": "d", "positive": "1"}}
    spec = {
        "columns": {**columns, "count": "n"},
        "metrics": ["selection_rate"],
        "simpson": {"rates": ["selection_rate"], "fail": True},
    }
    rows = [(g, s, d, 20) for g in "ab" for s in "xy" for d in "01"]
    data = pl.DataFrame(rows, schema=["g", "s", "d", "n"], orient="row")
    result = fairaudit.audit(spec, data)
    assert any(words in notice for notice in result.notices)
    assert result.exit_code == 3
    assert made == []


RARE: Cells = {
    ("White", "0-44"): (30, 3_000_000),
    ("White", "45-64"): (220, 1_500_000),
    ("White", "65+"): (2_100, 1_200_000),
    ("Black", "0-44"): (18, 700_000),
    ("Black", "45-64"): (75, 250_000),
    ("Black", "65+"): (260, 90_000),
}
"""Deaths by age: 0.0412 % against 0.0339 % overall, the other way at each age."""
CANCELLING: Cells = {
    ("A", "1"): (80, 100),
    ("A", "2"): (40, 100),
    ("B", "1"): (40, 100),
    ("B", "2"): (80, 100),
}
"""60 % and 60 % overall; +40 points and -40 points."""


def test_a_reversal_of_rare_events_is_found() -> None:
    """Below one percentage point: a ratio of 0.82 overall, above 1 at each age (1.7 adjusted)."""
    (one,) = audited(RARE).reversals
    assert (one.kind, one.pair) == (ReversalKind.EVERY_STRATUM, ("Black", "White"))
    first, second = (rate.value for rate in one.crude_pair)
    assert first / second == pytest.approx(0.823282, abs=5e-7)
    ages = [
        sum(w * s.value for w, s in zip((0.6, 0.25, 0.15), side, strict=True))
        for side in zip(*((s.first, s.second) for s in one.strata), strict=True)
    ]
    assert ages[0] / ages[1] == pytest.approx(1.716314, abs=5e-7)
    assert gate(RARE, fail=True).status is Status.FAIL
    assert not audited(RARE, min_gap=0.01).reversals


@pytest.mark.parametrize("per", [10, 1_000, 1_000_000])
def test_what_counts_as_a_gap_does_not_depend_on_how_rare_it_is(per: int) -> None:
    """Rates of 2 and 1 in `per`, the same in both groups: the mix alone makes 1.06, or 1.04."""

    def found(share: int) -> list[ReversalKind]:
        cells: Cells = {
            ("a", "u"): (2 * share, share * per), ("a", "v"): (100 - share, (100 - share) * per),
            ("b", "u"): (100, 50 * per), ("b", "v"): (50, 50 * per),
        }  # fmt: skip
        return [one.kind for one in audited(cells).reversals]

    assert found(59) == [ReversalKind.EXPLAINED]  # 159 / 150
    assert found(56) == []  # 156 / 150; in odds 1.047 at 15.6 %


def test_gaps_that_cancel_are_a_finding_of_their_own() -> None:
    (one,) = audited(CANCELLING).reversals
    assert (one.kind, one.crude, one.kind.reverses) == (ReversalKind.OPPOSITE, 0, False)
    # Each variance is .6 * .4 * (2 / 100) * 200 / 199; Q+ = Q- = 33.17, one toss: half a tail.
    q = 0.4**2 / (0.6 * 0.4 * 2 / 100 * 200 / 199)
    assert one.significance is not None
    assert one.significance.test == "Gail–Simon"
    assert one.significance.p == pytest.approx(stats.chi2(1).sf(q) / 2)
    (told,) = sentences(audited(CANCELLING))
    assert "40.0 points higher for z=1 (50.0 % of the people)" in told
    assert "40.0 points lower for z=2 (50.0 % of the people)" in told
    text = terminal.render(content.document(audited(CANCELLING)))
    assert "no gap reverses" not in " ".join(text.split())
    assert gate(CANCELLING, "opposite").status is Status.FAIL
    assert gate(CANCELLING, {"kind": "opposite", "significant": True}).status is Status.FAIL
    assert gate(CANCELLING, fail=True).status is Status.PASS
    few: Cells = {key: (over // 20, under // 20) for key, (over, under) in CANCELLING.items()}
    assert not audited(few).reversals


def test_the_subsets_of_a_published_interaction_point_both_ways() -> None:
    """Gail & Simon's four subsets, the rates of both arms after three years; 300 people in each.

    The p-value of their own standard errors, .088, is in tests/unit/stats/test_stats_strata.py.
    """
    rates = ((0.599, 0.436), (0.526, 0.639), (0.651, 0.698), (0.639, 0.790))
    cells: Cells = {
        (g, str(at)): (round(300 * rate), 300)
        for at, sides in enumerate(rates)
        for g, rate in zip("ab", sides, strict=True)
    }
    (one,) = audited(cells).reversals
    assert one.kind is ReversalKind.OPPOSITE
    assert [len(side) for side in one.directions] == [1, 3]
    assert one.significance is not None
    assert one.significance.p == pytest.approx(interacting(tables_of(one)))


def test_nothing_found_says_what_was_looked_at() -> None:
    text = " ".join(terminal.render(content.document(audited(NOTHING))).split())
    assert (
        "None: in 1 comparison of selection rate (g given z; gaps of an odds ratio of 1.05 or "
        "more) no gap reverses, appears or disappears when another column is held fixed, and "
        "no gaps in strata are significantly opposite (Gail–Simon, p < 0.05)."
    ) in text
    text = " ".join(terminal.render(content.document(audited(NOTHING, min_gap=0.02))).split())
    assert "(g given z; gaps of 2 points or more)" in text
    finding = gate(NOTHING, fail="adjusted")
    assert headlines.headline(finding) == (
        "no gap in selection rate is reversed after adjustment (g given z; gaps of an odds ratio "
        "of 1.05 or more)"
    )


@pytest.mark.parametrize("ratio", [0, 0.5, 0.99])
def test_an_odds_ratio_below_1_is_no_threshold(ratio: float) -> None:
    with pytest.raises(SpecError, match="`min_odds_ratio` must be at least 1"):
        audited(NOTHING, min_odds_ratio=ratio)

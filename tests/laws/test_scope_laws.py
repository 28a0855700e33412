"""No sentence says that nothing was found without what was looked at, and from which size on."""

from __future__ import annotations

import html
import io
import re
from typing import Any

import polars as pl
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st

import fairaudit
from fairaudit.report import FORMATS, terminal
from fairaudit.result import Answer

SCAN = r"\([^()]* given [^()]*; gaps of (an odds ratio of \d|\d|any size)"
SCOPES = {
    "None: in ": rf"^None: in \d+ comparisons? of [^(]+{SCAN}",
    "no gap in ": rf"^no gap in [^(]+{SCAN}",
    "no gap with evidence ": r"^no gap with evidence \(p < 0?\.\d",
    "no gap reverses, ": r"^no gap reverses, appears or disappears when another column is held",
    "no gaps in strata ": r"^no gaps in strata are significantly opposite \(Gail–Simon, p < 0?\.\d",
    "Nothing could be compared": rf"^[^(]+{SCAN}",
    "no two groups share ": rf"^[^(]+{SCAN}",
    "no two groups could be compared": r"^[^.]{40,70}",
    "reversals of [^:]+: not evaluated": rf"^reversals of [^(]+{SCAN}",
    "No gap of more than ": r"^No gap of more than \d+ points? [^(]+\(p < 0?\.\d",
    "No subgroup has ": r"^No subgroup has [\d,]+ people in the denominator",
    "None of [^.]+ subgroups ": r"^None of [\d,]+ subgroups diverges significantly \([^)]*< 0?\.\d",
    "no subgroup but everybody ": r"min_size = [\d,]+ in the denominator",
    "none significant": r"^none significant \(p < 0?\.\d",
    "no clear gap: ": (
        r"^no clear gap: (no gap( \[|, p )|[\d.]+ points |p [=<] |[\d.]+ % interval )"
    ),
    "no gap, p ": r"^no gap, p [=<] ",
    "no gap overall, ": r"^no gap overall, [^(]+\([\d,/n= ]+\)",
    r"no gap \[": r"^no gap \[[^\]]+\], p ",
}
"""How a negative sentence begins, and what it must say."""
CLAIM = re.compile(
    r"\b(?:no|none of|none of the|not one) (?:\w+ )?(?:gaps?|subgroups?|reversals?)\b|\bNone: in |"
    r"\bNone of\b|none significant|Nothing could be compared|: not evaluated",
    re.IGNORECASE,
)
EXPLAINED = (
    # Of words in general, not of these data: what a test asks, and what a legend tells.
    "no gap overall there is nothing",
    "no larger group explains",
    "none of these larger groups has such a gap",
    "no opposite gaps: p ",
)


def plain(text: str | bytes) -> str:
    """A report of any format without what its format adds to words."""
    text = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    text = re.sub(r"<(style|script)\b.*?</\1>", " ", text, flags=re.DOTALL)
    text = html.unescape(re.sub(r"<[^<>]+>", " ", text))
    text = text.replace("%0A", " ").replace("\\n", " ").replace("\\", "")
    return " ".join(re.sub("[\u2060\u200b\u200c]", "", text).split())


def unscoped(text: str) -> list[str]:
    """The negative sentences that do not say of what."""
    found = []
    for claim in CLAIM.finditer(text):
        start = claim.start()
        if claim.group().endswith("not evaluated"):
            start = text.rfind("reversals of ", 0, claim.start())
            if start < 0:
                continue  # another kind of check, which says by itself why
        rest = text[start : start + 600]
        if rest.startswith(EXPLAINED):
            continue
        needed = [scope for begins, scope in SCOPES.items() if re.match(begins, rest)]
        if not needed or not all(re.search(scope, rest) for scope in needed):
            found.append(rest[:160])
    return found


KINDS = ["every_stratum", "adjusted", "most_people", "opposite", "masked", "explained"]
LIMITS = st.sampled_from([True, *KINDS, {"kind": "adjusted", "significant": True}])
SCANS = st.fixed_dictionaries(
    {},
    optional={
        "fail": LIMITS,
        "warn": LIMITS,
        "min_gap": st.sampled_from([0, 0.02, 0.3]),
        "min_odds_ratio": st.sampled_from([1, 1.5, 4]),
        "together": st.just(2),
        "rates": st.just(["selection_rate", "base_rate"]),
    },
)
SEARCHES = st.fixed_dictionaries(
    {
        "over": st.just(["all"]),
        "depth": st.sampled_from([1, 2]),
        "min_size": st.sampled_from([1, 30, 10**6]),
    },
    optional={"fail": st.sampled_from([{"above": 0.1}, {"above": 0.9, "significant": True}])},
)
CELLS = st.lists(st.sampled_from([0, 0, 1, 4, 30, 300]), min_size=36, max_size=36)


@given(
    cells=CELLS,
    scan=SCANS,
    search=st.none() | SEARCHES,
    metrics=st.sampled_from(
        [["selection_rate"], [{"metric": "demographic_parity_difference", "fail": "> 0.2"}]]
    ),
    full=st.booleans(),
)
@examples(25)
def test_no_negative_sentence_without_its_scope(
    cells: list[int], scan: dict[str, Any], search: dict[str, Any] | None, metrics: Any, full: bool
) -> None:
    """In each format, the first screen and the whole report."""
    levels = [(g, h, z, y) for g in "ab" for h in "xyz" for z in "uvw" for y in ("1", "0")]
    rows = [(*level, n) for level, n in zip(levels, cells, strict=True)]
    rows += [(g, h, "u", y, 1) for g, h in ("ax", "by") for y in ("1", "0")]
    outcome = {"positive": "1", "negative": "0"}
    spec: dict[str, Any] = {
        "columns": {
            "protected": ["g", "h"],
            "strata": ["z"],
            "label": {"column": "y", **outcome},
            "prediction": {"column": "y", **outcome},
            "count": "n",
        },
        "metrics": metrics,
        "simpson": scan,
        **({} if search is None else {"subgroups": search}),
    }
    result = fairaudit.audit(spec, pl.DataFrame(rows, schema=[*"ghzy", "n"], orient="row"))
    screen = io.StringIO()
    terminal.print_answers([Answer("spec.yaml", None, result)], screen)
    assert not unscoped(plain(screen.getvalue()))
    for form in FORMATS:
        text = plain(form.render([Answer("spec.yaml", None, result)], all_rows=full))
        assert not unscoped(text), form.name


def test_the_law_sees_a_sentence_without_its_scope() -> None:
    """What earlier versions wrote."""
    assert unscoped("None: in 3 comparisons no gap reverses, appears or disappears.")
    assert unscoped("no gap in selection rate is reversed by strata")
    assert unscoped("Everybody 20.0 % (1/5). No subgroup has that many people.")
    assert unscoped("None of 12 subgroups diverges significantly.")
    assert not unscoped(
        "no gap in selection rate is reversed by strata (g given d; gaps of 2 points"
    )

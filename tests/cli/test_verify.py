"""`fairaudit verify`: what of a published table cannot be true, and silence where all may be."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from commands import run
from hypothesis import given
from hypothesis import strategies as st

from fairaudit.tools import verify
from fairaudit.tools.verify import find_faults, read_table

# 6 RCNY 5-301: the worked example of the scoring table of New York's rule, 168 people.
CLEAN = """\
sex,race,applicants,scored above median,scoring rate,impact ratio
Male,,92,50,54.3%,1.00
Female,,76,34,44.7%,.82
,Hispanic,28,18,64.3%,1.00
,White,40,15,37.5%,.58
,Black,32,16,50.0%,.78
,Asian,24,10,41.7%,.65
Male,White,22,9,40.9%,N/A
Female,White,18,6,33.3%,N/A
"""


def write(folder: Path, text: str, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def rules_of(folder: Path, text: str, *arguments: str) -> list[tuple[str, int]]:
    """The rules that are broken, each with its line."""
    done = run("verify", write(folder, text), "--format", "json", *arguments)
    assert done.returncode in {0, 1}, done.stderr
    return [(row["rule"], row["place"]["line"]) for row in json.loads(done.stdout)["faults"]]


def test_the_example_of_the_rule_is_clean(tmp_path: Path) -> None:
    done = run("verify", write(tmp_path, CLEAN))
    assert done.returncode == 0
    assert "No contradictions found. The" in done.stdout
    assert done.stderr == "OK  0 faults in 8 rows; 2 cells without a number, not verified: 'N/A'\n"


@pytest.mark.parametrize(
    ("header", "told"),
    [
        (
            "ratio,adjusted ratio",
            "the role of the column 'adjusted ratio' is not clear",
        ),
        ("ratio,offer rate", "the role of the column 'offer rate' is not clear"),
        ("ratio,hired", "the role of the column 'hired' is not clear"),
        ("ratio,ratio", "several columns have the name 'ratio'"),
    ],
)
def test_a_second_column_of_numbers_is_not_passed_over(
    header: str, told: str, tmp_path: Path
) -> None:
    text = f"sex,n,selected,rate,{header}\nF,50,30,0.6,1,1\nM,50,15,0.3,0.5,N/A\n"
    done = run("verify", write(tmp_path, text))
    assert done.returncode == 2
    assert told in done.stderr
    if "several" not in told:
        assert run("verify", tmp_path / "table.csv", "--by", "sex").returncode == 0


@pytest.mark.parametrize(
    ("ratio", "told"),
    [
        ("0.85", "printed as 0.85, but the rate divided by the highest rate is 0.385 to 0.636"),
        (
            "0.6365",
            "printed as 0.6365, but the rate divided by the highest rate is 0.38462 to 0.63636",
        ),
    ],
)
def test_the_bounds_of_a_ratio_of_printed_rates_are_told(
    ratio: str, told: str, tmp_path: Path
) -> None:
    """Of 0.25 to 0.35 over 0.55 to 0.65."""
    path = write(tmp_path, f"sex,rate,ratio\nF,0.6,1\nM,0.3,{ratio}\n")
    assert told in " ".join(run("verify", path).stdout.split())


def test_three_planted_faults_are_found_and_nothing_else(tmp_path: Path) -> None:
    text = CLEAN.replace("34,44.7%", "34,45.7%")  # a rate off by one point
    text = text.replace("50.0%,.78", "50.0%,1.08")  # a ratio above 1
    text = text.replace("Male,White,22,9,40.9%", "Male,White,23,9,39.1%")  # 41 of 40 people
    assert rules_of(tmp_path, text) == [("rate", 3), ("margin", 5), ("ratio above 1", 6)]
    done = run("verify", tmp_path / "table.csv")
    told = " ".join(done.stdout.split())
    assert done.returncode == 1
    assert "race=White: 40 people, but its groups by sex × race have 41" in told
    assert "sex=Female: the rate is printed as 45.7%, but 34/76 = 44.74 %" in told
    assert done.stderr.startswith("FAIL  3 faults")


def test_a_number_that_is_read_as_per_cent_says_so(tmp_path: Path) -> None:
    """The ratio 87.5 is per cent, so the 1 above it is 1 %."""
    table = "sex,n,selected,rate,ratio\nF,100,80,80,1\nM,100,70,70,87.5\n"
    assert rules_of(tmp_path, table) == [("ratio", 2)]
    told = " ".join(run("verify", tmp_path / "table.csv").stdout.split())
    assert (
        "the ratio is printed as 1 (per cent), but the rate divided by the highest rate is 1.000"
        in told
    )
    assert "1.000 or 1.000" not in told


FAULTS = {
    # 0 of 50, and 0 of nobody: nothing is over a highest rate of 0, and nobody has a rate.
    "0/0 of two groups": (
        "sex,n,selected,rate,ratio\nF,50,0,0,0.37\nM,50,0,0,0.92\n",
        [("ratio", 2), ("ratio", 3)],
    ),
    "0/0 of nobody": (
        "sex,n,selected,rate,ratio\nF,50,9,18%,1.00\nM,0,0,N/A,0.5\n",
        [("ratio", 3)],
    ),
    # 60 % and 48 %, and a ratio of 0.8
    "numbers with footnotes": (
        "sex,n,selected,rate,ratio\nF,50,30,90%*,1.0\nM,50,24,10% ‡,.99†\n",
        [("rate", 2), ("rate", 3), ("ratio", 3)],
    ),
    # Rates alone: 65/68 is between 94 % and 97 %.
    "a ratio of printed rates": (
        "sex,n,rate,ratio\nM,7161,0.68,1\nF,3884,0.65,0.85\n",
        [("ratio", 3)],
    ),
    "a ratio of rates in per cent": (
        "sex,rate (%),impact ratio (%)\nM,68,100\nF,51,80\nX,NA,NA\n",
        [("ratio", 3)],
    ),
    # .68 over .98 is at most .703, .60 over .80 at least .739; the two others agree.
    "a ratio to a group that is not listed": (
        (
            "sex,race,rate,ratio\nM,,0.70,1\nF,,0.69,.99\n,a,0.68,1\n,b,0.67,.99\n"
            "M,a,0.68,0.98\nM,b,0.68,0.99\nF,a,0.60,0.80\n"
        ),
        [("ratio", 8)],
    ),
    # One of three is 33 %, two of three are 67 %.
    "a rate of no count": ("sex,n,rate\nF,3,0.50\nM,4,0.50\n", [("rate", 2)]),
    # At most 30.5 of 100 are selected, of the parts at least 32.7 + 19.8.
    "more selected in parts, by their rates": (
        "sex,race,n,rate\nF,,100,0.30\nF,a,60,0.55\nF,b,40,0.50\n",
        [("margin", 2)],
    ),
    "more selected": ("sex,n,selected\nF,10,11\n", [("selected", 2)]),
    "a rate of nobody": ("sex,n,selected,rate\nF,0,0,0%\n", [("rate", 2)]),
    "a ratio of other rates": (
        "sex,n,selected,ratio\nF,10,5,1.00\nM,10,4,0.70\n",
        [("ratio", 3)],
    ),
    "a highest below 1": ("sex,n,selected,ratio\nF,10,5,0.98\nM,10,4,0.80\n", [("ratio", 2)]),
    "twice": ("sex,n,selected\nF,10,5\nF,10,5\n", [("repeated", 3)]),
    "more selected in parts": (
        "sex,race,n,selected\nF,,10,5\nF,a,5,4\nF,b,5,2\n",
        [("margin", 2)],
    ),
    # 2 people are left, and 5 would have to be selected.
    # The finer table has other groups only.
    "more selected than people, and no part": (
        "sex,race,n,selected\nF,,10,11\nM,a,5,4\n",
        [("selected", 2)],
    ),
    "no room for the rest": ("sex,race,n,selected\nF,,100,50\nF,a,98,45\n", [("margin", 2)]),
    "an unknown group too many": (
        "sex,race,n,selected\nTotal,,30,9\nF,,10,3\nM,,10,3\nUnknown,,9,3\n",
        [("total", 5)],
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_rule_finds_its_fault(fault: str, tmp_path: Path) -> None:
    text, expected = FAULTS[fault]
    assert rules_of(tmp_path, text) == expected


SILENT = [
    "sex,n,selected,rate\nF,10,10,1\nM,0,0,\n",
    "sex,n,selected,rate\nF,8,1,12%\nM,8,1,13%\n",  # a half is rounded either way
    "sex,n,selected,rate (%)\nF,3,1,33.3\n",
    "sex,n,selected,rate\nF,3,1,33.3\nM,3,2,66.7\n",
    "sex,n,selected,rate\nF,3,1,.333\n",
    'sex,n,selected,rate\nF,"1,200",400,.33\n',
    "sex,n,selected,rate,ratio\nF,<11,<11,*,*\nM,40,20,50%,1\n",
    "sex,race,n,selected\nTotal,,30,9\nF,,10,3\nM,,10,3\nUnknown,,10,3\n",
    "sex,n,selected,ratio\nF,3,1,0.5\nM,3,2,1.0\nUnknown,2,2,\n",  # the unknown are not compared
    (
        "race,n,selected,rate,ratio\nAsian,47381,19022,0.401,0.8710000000000001\n"
        "Black,15126,6974,0.4610000000000001,1\n"
    ),
    "g,n,selected,rate,ratio\na,3,2,0.6666666666666666,1.0\nb,90000,3,3.3333333333333335e-05,5e-05\n",
    # .64/.70 is .914, whether the highest rate is printed 0.7 or 0.70.
    *(
        "race,n,selected,rate,ratio\nAsian,1000,644,0.64,0.91\nWhite,1000,672,0.67,0.96\n"
        f"Two or more,1000,702,{highest},1\n"
        for highest in ("0.7", "0.70")
    ),
    # Both unknown: nobody says how many are unknown in one of the two columns.
    (
        "sex,race,n,selected\nM,,50,25\nF,,40,18\nUnknown,,10,5\n,a,60,30\n,b,30,9\n,Unknown,10,9\n"
        "M,a,30,15\nF,a,20,9\nM,b,10,5\nF,b,8,3\nUnknown,Unknown,5,5\n"
    ),
    "sex,rate,ratio\nM,68%,1\nF,65%,95%\nX,NA,NA\n",
    # A ratio of printed rates: 0.67/0.33, though the counts give 0.5.
    "sex,n,selected,rate,ratio\nF,3,1,0.33,0.493\nM,3,2,0.67,1\n",
]


@pytest.mark.parametrize("text", SILENT)
def test_what_may_be_true_is_no_fault(text: str, tmp_path: Path) -> None:
    assert rules_of(tmp_path, text) == []


@pytest.mark.parametrize(
    "rows",
    [
        "F,<11,<11,0.9,\nM,<11,<11,0.2,\n",
        "F,50,30,nan,abc\nM,50,24,0.9.9,inf\n",
        "F,50,<11,,0.9\nM,60,<11,,1\n",
        # Two groupings, and no count to add up.
        "F,<11,<11,0.9,\nTotal,<11,<11,0.9,\n",
    ],
)
def test_where_no_number_could_be_contradicted_there_is_no_verdict(
    rows: str, tmp_path: Path
) -> None:
    done = run("verify", write(tmp_path, f"sex,n,selected,rate,ratio\n{rows}"))
    assert done.returncode == 3
    assert (
        "no numbers of the table could contradict each other, so nothing was verified"
    ) in done.stderr
    assert "OK" not in done.stderr


def test_cells_without_a_number_are_told(tmp_path: Path) -> None:
    rows = "F,50,30,60%,1.0\nM,50,24,0.9.9,abc\nX,<11,<11,nan,≈1\nY,<11,<11,-,\n"
    table = write(tmp_path, f"sex,n,selected,rate,ratio\n{rows}")
    done = run("verify", table)
    assert done.returncode == 0
    told = "10 cells without a number, not verified: '0.9.9', 'abc', '<11'"
    assert done.stderr == f"OK  0 faults in 4 rows; {told}, …\n"
    assert f"{told}, 'nan', '≈1', '-', ''" in " ".join(done.stdout.split())
    unread = json.loads(run("verify", table, "--format", "json").stdout)["unread"]
    assert [(cell["place"]["line"], cell["column"]) for cell in unread[:2]] == [
        (3, "rate"),
        (3, "ratio"),
    ]


@pytest.mark.parametrize("mark", ["n/a", "—", "–", ""])
def test_a_mark_is_a_missing_rate_and_an_unknown_group(mark: str, tmp_path: Path) -> None:
    rows = f"F,50,30,60%,1.0\nM,50,24,48%,0.8\nX,5,1,{mark},{mark}\n"
    table = f"sex,n,selected,rate,ratio\n{rows}"
    assert rules_of(tmp_path, table) == []
    assert rules_of(tmp_path, table, "--excluded-below", "2%") == [("excluded", 4)]
    unknown = table.replace("X,", "Unknown,") if not mark else table.replace("X,", f"{mark},")
    assert rules_of(tmp_path, unknown, "--excluded-below", "2%") == []


def test_excluded_groups_are_small(tmp_path: Path) -> None:
    text = "sex,n,selected,ratio\nF,500,250,1.0\nM,480,240,1.0\nX,15,3,excluded\nY,25,3,excluded\n"
    assert rules_of(tmp_path, text) == []
    assert rules_of(tmp_path, text, "--excluded-below", "2%") == [("excluded", 5)]


def test_tables_of_the_same_people_agree(tmp_path: Path) -> None:
    first = write(tmp_path, "sex,n,selected\nF,10,5\nM,10,5\nUnknown,2,1\n", "sex.csv")
    second = write(tmp_path, "race,n,selected\na,12,5\nb,8,5\nUnknown,1,1\n", "race.csv")
    cells = write(tmp_path, "sex,race,n,selected\nF,a,6,3\nF,b,5,2\n", "cells.csv")
    done = run("verify", first, second, cells, "--format", "json")
    faults = json.loads(done.stdout)["faults"]
    assert [(Path(row["place"]["file"]).name, row["rule"]) for row in faults] == [
        ("sex.csv", "margin"),
        ("race.csv", "total"),
    ]


@pytest.mark.parametrize(
    ("text", "arguments", "code", "message"),
    [
        ("", [], 3, "no row"),
        ("sex,n,selected\n", [], 3, "no row"),
        ("sex,n,selected\nF,1\n", [], 2, "2 fields where the header has 3"),
        ("sex,n,selected\nF,1.5,1\n", [], 2, "not a count of people"),
        ("sex,age\nF,1\n", [], 2, "the columns of people and of selected people were not found"),
        ("sex,rate\nF,1\n", [], 2, "the columns of people and of selected people were not found"),
        ("sex,n,hires,rate\nF,10,5,.5\n", [], 2, "the role of the column 'hires' is not clear"),
        ("n,selected\n1,1\n", [], 2, "no column contains groups"),
        ("sex,n,selected\nF,1,1\n", ["--n", "m"], 2, "no column 'm'"),
        ("sex,n,selected\nF,1,1\n", ["--excluded-below", "2"], 2, "is not a share"),
        ('sex,n,selected\n"F,1,1\n', [], 2, "table.csv"),
    ],
)
def test_what_is_no_table_is_told(
    text: str, arguments: list[str], code: int, message: str, tmp_path: Path
) -> None:
    done = run("verify", write(tmp_path, text), *arguments)
    assert done.returncode == code
    assert message in done.stderr
    assert "failed" not in done.stderr


def test_groups_that_contain_each_other_too_often_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify, "_MOST_STEPS", 20_000)
    columns = 60
    lines = [",".join([*(f"c{column}" for column in range(columns)), "n,selected,rate"])]
    lines += [f"{'a,' * size}{',' * (columns - size)}5,2,.4" for size in range(columns)]
    table = write(tmp_path, "\n".join(lines) + "\n")
    done = run("verify", table)
    assert done.returncode == 2
    assert "the table has too many groups in 60 combinations of columns" in done.stderr


def test_a_missing_file_and_a_folder_are_told(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere.csv"):
        assert run("verify", path).returncode == 2


counts = st.lists(st.tuples(st.integers(1, 400), st.integers(0, 400)), min_size=2, max_size=6)


def printed(value: Fraction, digits: int) -> str:
    """A share at so many decimals, as a spreadsheet rounds it."""
    return f"{round(value * 10**digits) / 10**digits:.{digits}f}"


@given(counts, st.integers(1, 4), st.booleans())
def test_a_true_table_is_silent_and_a_wrong_rate_is_found(
    tmp_path_factory: pytest.TempPathFactory,
    groups: list[tuple[int, int]],
    digits: int,
    by_printed: bool,
) -> None:
    rows = [(n, min(n, selected)) for n, selected in groups]
    rates = [Fraction(selected, n) for n, selected in rows]
    shown = [printed(rate, digits) for rate in rates]
    base = [Fraction(text) for text in shown] if by_printed else rates
    top = max(base)
    lines = ["group,n,selected,rate,ratio"]
    for place, ((n, selected), rate) in enumerate(zip(rows, base, strict=True)):
        ratio = printed(rate / top, 2) if top else "N/A"
        lines.append(f"g{place},{n},{selected},{shown[place]},{ratio}")
    path = tmp_path_factory.mktemp("tables") / "table.csv"
    path.write_text("\n".join([*lines, ""]), "utf-8")
    assert find_faults(read_table(str(path))) == ()
    off = printed(rates[0] + Fraction(2, 10**digits), digits)
    path.write_text("\n".join([*lines, ""]).replace(f",{shown[0]},", f",{off},", 1), "utf-8")
    assert "rate" in [fault.rule for fault in find_faults(read_table(str(path)))]


def test_a_table_without_printed_numbers_is_not_called_right(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("sex,n,selected,approval_pct\nf,100,40,41.0%\nm,100,50,50.0%\n")
    done = run("verify", table)
    assert done.returncode == 3
    assert (
        "no numbers of the table could contradict each other, so nothing was verified"
        in done.stderr
    )
    assert "--rate COLUMN" in done.stderr
    assert run("verify", table, "--rate", "approval_pct").returncode == 1


# Local Law 144: a table as employers publish it, with rates in two decimals and no one's count.
PUBLISHED = """\
race_ethnicity,sex,n,rate,ratio
Total,Male,7161,0.68,1
Total,Female,3884,0.65,0.95
Hispanic or Latino,Total,963,0.69,1
White,Total,3683,0.68,0.98
Black or African American,Total,1122,0.67,0.96
Native Hawaiian or Other Pacific Islander,Total,0,NA,NA
Asian,Total,4602,0.63,0.92
American Indian or Alaska Native,Total,0,NA,NA
Hispanic or Latino,Male,666,0.68,0.98
White,Male,2331,0.68,0.99
"""


def test_a_published_table_without_a_count_of_selected_people(tmp_path: Path) -> None:
    assert rules_of(tmp_path, PUBLISHED) == []
    wrong = PUBLISHED.replace("0.65,0.95", "0.65,0.85")
    assert rules_of(tmp_path, wrong) == [("ratio", 3)]
    # 0.67 over 0.69 is between 95.7 % and 98.6 %, as in the row above it: not 94 %.
    two = PUBLISHED + "Two or More Races,Total,300,0.67,0.94\n"
    assert rules_of(tmp_path, two) == [("ratio", 12)]


def test_published_rates_of_error_are_those_of_their_counts(tmp_path: Path) -> None:
    """ProPublica (2016), COMPAS: false positives of those who did not reoffend."""
    text = (
        "race,n,selected,rate\nAll,3963,1282,32.35\nAfrican-American,1795,805,44.85\n"
        "Caucasian,1488,349,23.45\n"
    )
    assert rules_of(tmp_path, text) == []
    without = "\n".join(",".join(line.split(",")[i] for i in (0, 1, 3)) for line in text.split())
    assert rules_of(tmp_path, without) == []
    assert rules_of(tmp_path, text.replace("44.85", "44.58")) == [("rate", 3)]


def test_columns_of_groups_may_stand_between_commas(tmp_path: Path) -> None:
    """A name with a comma is quoted, as in `init --protected`."""
    table = tmp_path / "t.csv"
    table.write_text('sex,"race, own",n,selected,rate\nf,x,100,20,20%\nm,x,100,30,31%\n')
    for by in (["--by", 'sex,"race, own"'], ["--by", "sex", "--by", '"race, own"']):
        done = run("verify", table, *by)
        assert done.returncode == 1
        assert "31%" in done.stdout


@pytest.mark.parametrize(("printed", "code"), [("6.2%", 0), ("6.3%", 0), ("6.1%", 1), ("6.4%", 1)])
def test_a_half_may_be_rounded_either_way(tmp_path: Path, printed: str, code: int) -> None:
    table = tmp_path / "t.csv"
    table.write_text(f"sex,n,selected,rate\nf,96,6,{printed}\nm,100,30,30%\n")
    assert run("verify", table).returncode == code


@pytest.mark.parametrize(
    ("lines", "faults"),
    [
        ("men,100,80,.8,0.9\nwomen,100,40,.4,0.45\nTotal,200,120,.6,\n", [("ratio", 2)]),
        ("men,100,80,.8,1.00\nwomen,100,40,.4,0.5\nTotal,200,120,.6,\n", []),
        # The total has ten people more, a group has no ratio: the highest rate may be theirs.
        ("men,100,80,.8,0.9\nwomen,100,40,.4,0.45\nTotal,210,120,.57,\n", []),
        ("men,100,80,.8,0.9\nwomen,90,36,.4,0.45\nother,10,9,.9,\nTotal,200,125,.6,\n", []),
    ],
)
def test_of_all_groups_of_a_total_one_has_the_highest_rate(
    tmp_path: Path, lines: str, faults: list[tuple[str, int]]
) -> None:
    """Rates of one digit hold 0.9 (.75 of .85), but no group is missing that could be higher."""
    assert rules_of(tmp_path, f"sex,n,selected,rate,ratio\n{lines}") == faults

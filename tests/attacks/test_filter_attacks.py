"""Filters by chance, held against what a person reads in them: kept right, or refused.

The meaning is computed from the tree that the text is written from, in plain Python with three
truth values; a chain such as `18 <= x <= 65` means what it means in a book.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable
from dataclasses import dataclass

import polars as pl
import pytest
from conftest import ATTACKS, count_data

import fairaudit
from fairaudit.base.errors import NothingToAudit, SpecError
from fairaudit.counting import filter as filters
from fairaudit.pipeline.plan_builder import plan
from fairaudit.spec import of_mapping

Row = dict[str, float | str | None]
Truth = bool | None

ROWS: list[Row] = [
    {"x": x, "y": y, "g": g}
    for x, y, g in [
        (17, 1, "a"), (18, 2.5, "b"), (40, -3, "A"), (65, 16, "10"), (66, 0, "9"), (10, 10, "a b"),
        (1, 1000, "b"), (None, 5, "a"), (16, None, "it's"), (2.5, 2, None), (1000, 17, "B"),
    ]
]  # fmt: skip
"""What the columns hold; the file is a CSV, so all of them are texts."""

SPEC = {
    "columns": {"protected": ["g"], "decision": {"column": "d", "positive": 1, "negative": 0}},
    "metrics": ["selection_rate"],
}


@dataclass(frozen=True)
class Part:
    """A part of a filter: how it is written, and what it means in a row."""

    text: str
    of: Callable[[Row], float | str | None]


@dataclass(frozen=True)
class Condition:
    """A condition: how it is written, and whether it holds in a row."""

    text: str
    holds: Callable[[Row], Truth]


SIGNS: dict[str, Callable[[float | str, float | str], bool]] = {
    "<": lambda a, b: a < b,  # type: ignore[operator]
    "<=": lambda a, b: a <= b,  # type: ignore[operator]
    ">": lambda a, b: a > b,  # type: ignore[operator]
    ">=": lambda a, b: a >= b,  # type: ignore[operator]
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "!=": lambda a, b: a != b,
    "==": lambda a, b: a == b,
}


def number(chance: random.Random) -> Part:
    """A number in one of the forms in which people write them, known to the filter or not."""
    value = chance.choice([0, 1, 2, 10, 16, 17, 18, 40, 65, 1000])
    forms = [
        str(value), f"{value}.0", f"{value}.", f"{value}e0", f"{value / 10}E1", f"+{value}",
        hex(value), bin(value), f"{value:_}", f"{value}L", f"{value}f", f"0{value}", f"{value:,}",
        f"'{value}'", f"0o{value:o}",
    ]  # fmt: skip
    plain = forms[:6] if chance.random() < 0.7 else forms
    return Part(chance.choice(plain), lambda _: value)


def operand(chance: random.Random, deep: int = 0) -> Part:
    """A column, a number, or a sum of two such."""
    kind = chance.random()
    if kind < 0.45:
        name = chance.choice(["x", "y", '"x"', "`y`"])
        return Part(name, lambda row: row[name.strip('"`')])
    if kind < 0.85 or deep > 1:
        return number(chance)
    sign = chance.choice(["+", "-", "*"])
    one, other = operand(chance, deep + 1), operand(chance, deep + 1)

    def value(row: Row) -> float | None:
        a, b = one.of(row), other.of(row)
        if a is None or b is None:
            return None
        assert not isinstance(a, str)
        assert not isinstance(b, str)
        return {"+": a + b, "-": a - b, "*": a * b}[sign]

    blank = chance.choice(["", " "])
    return Part(f"({one.text}{blank}{sign}{blank}{other.text})", value)


def comparison(chance: random.Random) -> Condition:
    """A comparison of numbers, now and then a chain of them."""
    length = chance.choice([2, 2, 2, 3, 4])
    parts = [operand(chance) for _ in range(length)]
    signs = [chance.choice([*SIGNS]) for _ in range(length - 1)]

    def holds(row: Row) -> Truth:
        found = [one.of(row) for one in parts]
        pairs = zip(found, signs, found[1:], strict=False)
        return all_of(
            [None if a is None or b is None else SIGNS[sign](a, b) for a, sign, b in pairs]
        )

    pieces = [parts[0].text]
    for sign, part in zip(signs, parts[1:], strict=True):
        pieces += [sign, part.text]
    return Condition(" ".join(pieces), holds)


def of_texts(chance: random.Random) -> Condition:
    """A condition on the column of texts."""
    levels = chance.sample(["a", "b", "A", "B", "it's", "10", "9", "zz"], 2)
    written = ["'" + one.replace("'", "''") + "'" for one in levels]
    first = levels[0]
    return chance.choice([
        Condition(f"g = {written[0]}", lambda row: known(row["g"], lambda v: v == first)),
        Condition(f"g in ({', '.join(written)})", lambda row: known(row["g"], levels.__contains__)),
        Condition(f"g > {written[0]}", lambda row: known(row["g"], lambda v: natural(v, first))),
        Condition("g is null", lambda row: row["g"] is None),
        Condition("x is not null", lambda row: row["x"] is not None),
        Condition(
            f"g = {written[0]} or {written[1]}",
            lambda row: known(row["g"], levels.__contains__),
        ),
        Condition(
            "x between 18 and 65", lambda row: known(row["x"], lambda v: 18 <= float(v) <= 65)
        ),
        Condition("x = null", lambda row: row["x"] is None),
    ])  # fmt: skip


def natural(one: str, other: str) -> bool:
    """Whether one comes after another: of two numbers by value, else letter by letter."""
    if one.isdigit() and other.isdigit():
        return int(one) > int(other)
    return one > other


def known(value: float | str | None, holds: Callable[[str], bool]) -> Truth:
    return None if value is None else holds(str(value))


def all_of(truths: list[Truth]) -> Truth:
    if False in truths:
        return False
    return None if None in truths else True


def condition(chance: random.Random, deep: int = 0) -> Condition:
    """A condition, or several joined by and, or, not."""
    kind = chance.random()
    if deep > 2 or kind < 0.6:
        return comparison(chance) if chance.random() < 0.75 else of_texts(chance)
    one = condition(chance, deep + 1)
    if kind < 0.7:

        def holds_not(row: Row) -> Truth:
            truth = one.holds(row)
            return None if truth is None else not truth

        return Condition(f"not ({one.text})", holds_not)
    other = condition(chance, deep + 1)
    if kind < 0.85:
        return Condition(
            f"({one.text}) and ({other.text})",
            lambda row: all_of([one.holds(row), other.holds(row)]),
        )

    def holds_or(row: Row) -> Truth:
        both = [one.holds(row), other.holds(row)]
        return True if True in both else None if None in both else False

    return Condition(f"({one.text}) or ({other.text})", holds_or)


def kept(text: str) -> tuple[int, int] | None:
    """How many rows a filter keeps, and cannot decide; None where it is refused."""
    texts = [
        {name: None if value is None else f"{value}" for name, value in row.items()}
        for row in ROWS
    ]  # fmt: skip
    frame = pl.DataFrame(texts, schema=dict.fromkeys("xyg", pl.String)).with_columns(
        d=pl.Series(["1", "0"] * 5 + ["1"])
    )
    try:
        cells = count_data(plan(of_mapping({**SPEC, "filter": text})), frame)
    except SpecError:
        return None
    return int(cells.rows[cells.kept == 1].sum()), int(cells.rows[cells.kept == -1].sum())


def unsure(text: str) -> list[Row]:
    """The rows, without texts that look like one that the filter names and are another."""
    named = [one.replace("''", "'") for one in re.findall(r"'((?:[^']|'')*)'", text)]
    if "g >" in text or "g is null" in text or "not (" in text:
        return [*ROWS]
    looks = {one.casefold() for one in named}

    def is_alike(text: object) -> bool:
        return isinstance(text, str) and text not in named and text.casefold() in looks

    return [row | ({"g": None} if is_alike(row["g"]) else {}) for row in ROWS]


def test_a_filter_keeps_what_a_person_reads_in_it_or_is_refused() -> None:
    chance = random.Random(13)
    refused = 0
    tries = int(400 * ATTACKS)
    for _ in range(tries):
        asked = condition(chance)
        found = kept(asked.text)
        if found is None:
            refused += 1
            continue
        truths = [asked.holds(row) for row in unsure(asked.text)]
        assert found == (truths.count(True), truths.count(None)), asked.text
    assert 0.1 < refused / tries < 0.9


def test_a_plain_comparison_is_never_refused() -> None:
    chance = random.Random(14)
    for _ in range(int(300 * ATTACKS)):
        value = chance.choice([chance.randint(-99, 99), chance.uniform(-1e6, 1e6), 1e-9, 2.5e7])
        sign = chance.choice([*SIGNS])
        text = f"x {sign} {value}" if chance.random() < 0.5 else f"{value} {sign} x"
        assert math.isfinite(float(value))
        assert filters.parse(text).columns == {"x"}


TEXT = "g,x,d\n" + "".join(
    f"{g},{x},{d}\n"
    for g, x, d, n in [
        ("a", 30, 1, 50), ("a", 30, 0, 50), ("b", 30, 1, 20), ("b", 30, 0, 80),
        ("a", 70, 1, 5), ("a", 10, 0, 60), ("b", 10, 1, 60),
    ]
    for _ in range(n)
)  # fmt: skip
LIMITED = {**SPEC, "metrics": [{"metric": "demographic_parity_ratio", "fail": {"below": 0.8}}]}


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("18 <= x <= 65", "do not chain.*write 18 <= x and x <= 65"),
        ("g = 'a' = 'b'", "do not chain"),
        ("(g = 'a') is distinct from true", "do not chain"),
        ("(x > 18) > 3", "do not chain"),
        ("x > 0x10", "'0x10' is not a number.*write 16"),
        ("x > X'10'", "neither a number nor a text"),
        ("x > 1_000", "write 1000"),
        ("x > 10k", "'10k' is not a number"),
        ("x > 10L", "'10L' is not a number"),
        ("x > 1e999", "too large"),
        ("x > 9007199254740993", "too large: a number is at most 9,007,199,254,740,991"),
        ("x > -9007199254740992", "too large"),
        ("x > 9007199254740993.0", "too large"),
        ("x > 1e16", "too large"),
        ("x > '18'", "is a text.*write 18, without quotes"),
        ("x > 18 -- grown up", "cannot contain comments"),
        ("x > 5--3", "cannot contain comments"),
        ("x > /* all */ 18", "cannot contain comments"),
        ("x = null", "is null"),
        *(
            (rule, "an empty cell is null; write `x is not null`")
            for rule in ("g <> ''", "g = ''", "g not in ('a', '')", "upper(g) is distinct from ''")
        ),
        ("x in (18, null)", "null is not a comparison"),
        ("g = 'a' or 'b'", r"x in \('a', 'b'\)"),
        ("x | 1", "a number is not a comparison"),
        ("x > true", "no order"),
        ("x > 18 is not null", "has a value"),
        ("x > 18 adults", "new names"),
        ("x + 'a' > 3", "take numbers"),
        ("lower(g) > 3", "a number is compared with a text"),
        ("lower(3) = g", "need texts, in single quotes"),
    ],
)
def test_what_sql_would_read_otherwise_is_a_fault(rule: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        filters.parse(rule)


@pytest.mark.parametrize(
    "rule",
    ["name = '-- x'", 'name = "0x10"', "name = '18 <= x'", "x1 > 3", "not (x = 5)", "x > -.5e-3",
     "(18 <= x) is true", "x is not distinct from null", '"2020" > 3', "x > 00012", "not x"],
)  # fmt: skip
def test_what_is_clear_is_no_fault(rule: str) -> None:
    assert filters.parse(rule).columns


def test_a_chain_and_what_was_meant_by_it() -> None:
    frame = pl.read_csv(TEXT.encode(), infer_schema=False)
    meant = fairaudit.audit({**LIMITED, "filter": "18 <= x and x <= 65"}, frame)
    assert (meant.verdict, meant.ledger.counted) == ("fail", 200)
    with pytest.raises(SpecError, match="do not chain"):
        fairaudit.audit({**LIMITED, "filter": "18 <= x <= 65"}, frame)


def test_a_filter_that_removes_nothing_or_everything_is_told() -> None:
    frame = pl.read_csv(TEXT.encode(), infer_schema=False)
    all_kept = fairaudit.audit({**LIMITED, "filter": "x > 5"}, frame)
    assert "the filter removes no row: x > 5" in all_kept.notices
    some = fairaudit.audit({**LIMITED, "filter": "x > 15"}, frame)
    assert not [one for one in some.notices if "filter" in one]
    with pytest.raises(NothingToAudit, match="325 filtered out"):
        fairaudit.audit({**LIMITED, "filter": "x > 100"}, frame)
    unread = frame.with_columns(x=pl.lit(""))
    with pytest.raises(NothingToAudit, match="325 that the filter cannot decide"):
        fairaudit.audit({**LIMITED, "filter": "x > 5"}, unread)

"""The applicants: chunks of 2**20 rows, each drawn from a separate seed.

Every draw is a uniform number of 16 bits, looked up in a table of answers: as fast as drawing
gets, and shares are right to the 65,536th part.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import population
import pyarrow as pa
from numpy.typing import NDArray

CHUNK = 2**20
MARKS = 2**16

Codes = NDArray[np.integer | np.bool_]
Columns = dict[str, pa.Array]

LENDERS = tuple(f"Lender {number:03d} Bank" for number in range(400))
REASONS = (
    "Debt-to-income ratio",
    "Credit history",
    "Collateral",
    "Insufficient cash",
    "Unverifiable information",
    "Credit application incomplete",
    "Employment history",
    "Other",
)
_FIRST_DAY = 18_993  # 2022-01-01, counted from 1970-01-01
_LONGEST_ID = 10


class Dice:
    """The draws of one chunk, all by table: one 16-bit number a row each."""

    def __init__(self, seed: int, chunk: int) -> None:
        self._random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(chunk,)))

    def marks(self) -> NDArray[np.uint16]:
        """A uniform number of 16 bits for each row."""
        return self._random.integers(0, MARKS, CHUNK, dtype=np.uint16)

    def uniform(self) -> NDArray[np.float64]:
        """A uniform double from 0 to 1 for each row."""
        return self._random.random(CHUNK)

    def look_up(self, table: Codes, given: Codes | None = None) -> Codes:
        """An entry of the table's row for each row; `given` says which row of the table."""
        at = self.marks().astype(np.int32)
        if given is not None:
            at += given.astype(np.int32) * MARKS
        return np.take(table.ravel(), at)

    def happens(self, rates: population.Floats, given: Codes) -> NDArray[np.bool_]:
        """Whether it happens, at the rate of the given cell."""
        cuts = np.minimum(np.rint(rates.ravel() * MARKS), MARKS - 1).astype(np.uint16)
        return self.marks() < np.take(cuts, given)


class Applicants:
    """The tables of answers, made once, and the chunks drawn from them."""

    def __init__(self, seed: int, *, payload: bool) -> None:
        self.seed = seed
        self.payload = payload
        self._state = _table(population.state_shares())
        self._race = _table(population.race_shares())
        self._ethnicity = _table(population.ethnicity_shares())
        self._sex = _table(population.sex_shares())
        self._age = _table(population.age_shares())
        self._purpose = _table(population.purpose_shares())
        self._repaid = population.repaid_rates()
        self._approved = population.approved_rates()
        self._cents = _cents()
        self._thousands = _thousands()

    def chunk(self, number: int) -> pa.Table:
        """The rows of one chunk."""
        dice = Dice(self.seed, number)
        columns = self._keys(dice)
        if self.payload:
            columns |= self._payload(dice, number)
        return pa.table(columns)

    def _keys(self, dice: Dice) -> Columns:
        """The columns of an audit."""
        state = dice.look_up(self._state)
        region = np.take(population.REGION_OF_STATE.astype(np.int16), state)
        race = dice.look_up(self._race, region)
        ethnicity = dice.look_up(self._ethnicity, _cell((region, race), (4, 7)))
        sex = dice.look_up(self._sex, race)
        age = dice.look_up(self._age, sex)
        purpose = dice.look_up(self._purpose, _cell((sex, age), (3, 8)))
        repaid = dice.happens(self._repaid, _cell((purpose, race, age), (5, 7, 8)))
        facts = (repaid, purpose, sex, race, age)
        approved = dice.happens(self._approved, _cell(facts, (2, 5, 3, 7, 8)))
        return {
            "sex": _texts(sex, population.SEXES),
            "race": _texts(race, population.RACES),
            "ethnicity": _texts(ethnicity, population.ETHNICITIES),
            "age": _texts(age, population.AGES),
            "state": _texts(state, population.STATES),
            "purpose": _texts(purpose, population.PURPOSES),
            "label": _texts(repaid, population.ANSWERS),
            "prediction": _texts(approved, population.DECISIONS),
            # At least 0.5 where approved, below it elsewhere.
            "score": pa.array((dice.uniform() + approved) / 2),
            "weight": pa.array(dice.look_up(self._cents, region) / 100),
        }

    def _payload(self, dice: Dice, number: int) -> Columns:
        """Ten columns that no audit reads, as exports have them."""
        day = (dice.marks() % 1095 + _FIRST_DAY).astype(np.int32)
        amount = dice.look_up(self._thousands).astype(np.int32) * 1000
        income = dice.look_up(self._thousands).astype(np.int32) // 3
        silent = dice.marks() < MARKS // 30
        return {
            "application_id": _identifiers(number * CHUNK),
            "lender": _texts(dice.marks() % len(LENDERS), LENDERS),
            "county": pa.array((dice.marks() % 56_000 + 1001).astype(np.int32)),
            "application_date": pa.array(day, pa.date32()),
            "decision_date": pa.array(day + (dice.marks() % 90).astype(np.int32), pa.date32()),
            "loan_amount": pa.array(amount),
            "property_value": pa.array(amount + amount // 4),
            "income": pa.array(income, mask=silent),
            "interest_rate": pa.array((dice.marks() % 6000 + 2000) / 1000),
            "reason": _texts(dice.marks() % len(REASONS), REASONS),
        }


def _table(shares: population.Floats) -> Codes:
    """Levels by 16-bit mark: `[..., MARKS]`, each level as often as its share says."""
    rows = shares.reshape(-1, shares.shape[-1])
    marks = (np.arange(MARKS) + 0.5) / MARKS
    levels = [np.searchsorted(np.cumsum(row), marks).clip(max=len(row) - 1) for row in rows]
    return np.array(levels, np.int8)


def _cents() -> Codes:
    """Weights of each region in cents, from 50 to 400, the low ones more often."""
    marks = np.arange(MARKS) / (MARKS - 1)
    bends = (1.6, 2.4, 2.0, 1.8)
    return np.array([np.rint(50 + 350 * marks**bend) for bend in bends], np.int16)


def _thousands() -> Codes:
    """Amounts in thousands, skewed as amounts are."""
    marks = (np.arange(MARKS) + 0.5) / MARKS
    return np.rint(180 * (marks / (1 - marks)) ** 0.45).astype(np.int32)


def _cell(codes: Sequence[Codes], sizes: Sequence[int]) -> Codes:
    """Several codes as one number, by mixed radix."""
    cell = codes[0].astype(np.int32)
    for code, size in zip(codes[1:], sizes[1:], strict=True):
        cell = cell * size + code
    return cell


def _texts(codes: NDArray[np.generic], levels: Sequence[str]) -> pa.Array:
    """Codes as a dictionary-encoded column of texts."""
    narrow = np.int8 if len(levels) <= np.iinfo(np.int8).max else np.int16
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(narrow)), list(levels))


def _identifiers(first: int) -> pa.Array:
    """`A0000000001` and on, a number for each row."""
    signs = np.full((CHUNK, _LONGEST_ID + 1), ord("A"), np.uint8)
    rest = np.arange(first + 1, first + 1 + CHUNK)
    for place in range(_LONGEST_ID, 0, -1):
        rest, digit = np.divmod(rest, 10)
        signs[:, place] = digit + ord("0")
    ends = np.arange(0, signs.size + 1, _LONGEST_ID + 1, dtype=np.int32)
    return pa.StringArray.from_buffers(CHUNK, pa.py_buffer(ends), pa.py_buffer(signs))

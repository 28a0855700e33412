"""Write `loans.csv` and `loans.parquet`: 20,000 invented loan applications, two planted effects.

Planted by quota, not by chance:

1. A disparity that no single attribute shows. Women and men are approved equally often within
   one percentage point, and so are the races. But Black women are approved far less often than
   anyone else and Black men more often, so that the two cancel in both margins. Black women
   repay as often as everybody else: the gap is the model's, not the applicants'.
2. A Simpson's reversal. Applicants under 40 are approved more often overall and less often at
   every single branch: they apply mostly at the branches that approve most. At each branch the
   two ages repay equally often, within one percentage point.

Gender, race, and the pair of age and branch are independent of each other, so neither effect
disturbs the other. In 0.5 % of the rows the race is empty (unknown), in another 0.5 % the label
(not known yet; all among the latest applications). `approved` is `yes` exactly when `score` is at
least 0.5. Nobody could know whether a declined loan would have been repaid: here it is invented.

    python make_loans.py            writes both files and prints what they show
    python make_loans.py --check    writes nothing; fails unless both files hold these very rows
"""

import argparse
import csv
import io
import math
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields, replace
from fractions import Fraction
from operator import itemgetter
from pathlib import Path
from random import Random
from typing import TypeVar

import polars as pl

T = TypeVar("T")

HERE = Path(__file__).parent
SEED = 1973
LABELS_UNKNOWN = 100  # among the latest tenth of the applications
CUT = 5_000  # the approval threshold, in ten-thousandths of the score
ADULT, MIDDLE, OLDEST = 18, 40, 80  # years of age: from, the border of the two bands, to

PEOPLE = {"White": 9_950, "Black": 3_184, "Hispanic": 3_582, "Asian": 2_189, "Other": 995, "": 100}
WOMEN = Fraction(42, 100)  # of every race alike, so that neither attribute explains the other

# Effect 1: the approval rate of each intersection, per mille (women, men).
APPROVED = {
    "White": (525, 488),
    "Black": (372, 604),
    "Hispanic": (523, 487),
    "Asian": (527, 489),
    "Other": (526, 488),
    "": (505, 505),
}

# Effect 2: who applies where, per cent of the age band, and the approval rate there, per mille.
# Only the differences between these rates count: each intersection keeps its own level.
UNDER_40 = Fraction(52, 100)
BRANCHES = ("Online", "West", "North", "South", "East")
YOUNGER_APPLY = (42, 19, 15, 13, 11)
OLDER_APPLY = (13, 14, 20, 26, 27)
YOUNGER_APPROVED = (650, 560, 430, 375, 320)
OLDER_APPROVED = (700, 600, 480, 420, 370)

# Who repays, per mille: that depends on the branch, and by less than a point on the age.
YOUNGER_REPAID = (654, 614, 574, 554, 534)
OLDER_REPAID = (650, 610, 570, 550, 530)
SKILL = Fraction(40, 100)  # how much likelier to repay the approved are than the declined

NUMBERS = {"age": pl.Int64, "income": pl.Int64, "score": pl.Float64}  # the rest is text


@dataclass(frozen=True, slots=True)
class Application:
    """One row of the file; an empty text is an unknown value."""

    application_id: str
    gender: str
    race: str
    age: int
    branch: str
    income: int
    repaid: str
    approved: str
    score: float


@dataclass(frozen=True, slots=True)
class Slot:
    """One age band at one branch: its share of all applicants and its rates."""

    younger: bool
    branch: str
    share: Fraction
    approved: Fraction
    repaid: Fraction


@dataclass(frozen=True, slots=True)
class Cell:
    """People alike in gender, race, age band, branch, label and prediction."""

    gender: str
    race: str
    younger: bool
    branch: str
    repaid: bool
    approved: bool
    people: int


class Quota:
    """Rounds one target after the other, carrying what each rounding left over to the next."""

    def __init__(self) -> None:
        """Start with nothing carried over."""
        self._carried = Fraction(0)

    def take(self, target: Fraction) -> int:
        """Return `target` as an integer; the sum of all taken is within a half of exact."""
        wanted = target + self._carried
        taken = math.floor(wanted + Fraction(1, 2))
        self._carried = wanted - taken
        return taken


def apportion(total: int, shares: Sequence[Fraction]) -> list[int]:
    """Return `total` split by `shares` into integers, the largest remainders served first."""
    parts = [math.floor(total * share) for share in shares]
    by_rest = sorted(range(len(parts)), key=lambda i: (parts[i] - total * shares[i], i))
    for i in by_rest[: total - sum(parts)]:
        parts[i] += 1
    return parts


def slots() -> list[Slot]:
    """Return the ten combinations of age band and branch."""
    bands = (
        (True, UNDER_40, YOUNGER_APPLY, YOUNGER_APPROVED, YOUNGER_REPAID),
        (False, 1 - UNDER_40, OLDER_APPLY, OLDER_APPROVED, OLDER_REPAID),
    )
    return [
        Slot(
            younger=younger,
            branch=branch,
            share=band * Fraction(percent, 100),
            approved=Fraction(approved, 1000),
            repaid=Fraction(repaid, 1000),
        )
        for younger, band, apply, approve, repay in bands
        for branch, percent, approved, repaid in zip(BRANCHES, apply, approve, repay, strict=True)
    ]


def cells() -> Iterator[Cell]:
    """Yield every cell with its exact number of people."""
    places = slots()
    mean = sum((slot.share * slot.approved for slot in places), Fraction(0))
    approved_quota, paid_approved_quota, paid_declined_quota = Quota(), Quota(), Quota()
    for race, total in PEOPLE.items():
        sexes = zip(
            ("female", "male"), apportion(total, (WOMEN, 1 - WOMEN)), APPROVED[race], strict=True
        )
        for gender, people, per_mille in sexes:
            counts = apportion(people, [slot.share for slot in places])
            for slot, n in zip(places, counts, strict=True):
                rate = Fraction(per_mille, 1000) + slot.approved - mean
                approved = approved_quota.take(n * rate)
                declined = n - approved
                # With these two the base rate is `slot.repaid`, whatever the approval rate.
                paid_approved = paid_approved_quota.take(
                    approved * (slot.repaid + SKILL * (1 - rate))
                )
                paid_declined = paid_declined_quota.take(declined * (slot.repaid - SKILL * rate))
                for is_paid, is_approved, count in (
                    (True, True, paid_approved),
                    (False, True, approved - paid_approved),
                    (True, False, paid_declined),
                    (False, False, declined - paid_declined),
                ):
                    yield Cell(gender, race, slot.younger, slot.branch, is_paid, is_approved, count)


def application(cell: Cell, chance: Callable[[], float]) -> Application:
    """Return one person of `cell`, without an id yet."""
    # Only products, sums and extremes of uniform numbers: the same digits on every machine.
    draw = chance()
    if cell.approved:
        draw = draw if cell.repaid else min(draw, chance())
        points = CUT + int(draw * 4_800)
    else:
        draw = max(draw, chance()) if cell.repaid else draw
        points = 300 + int(draw * (CUT - 300))
    if cell.younger:
        age = ADULT + int(chance() * (MIDDLE - ADULT))
    else:
        age = MIDDLE + int(min(chance(), chance()) * (OLDEST + 1 - MIDDLE))
    return Application(
        application_id="",
        gender=cell.gender,
        race=cell.race,
        age=age,
        branch=cell.branch,
        income=16 + points * 45 // 10_000 + int(70 * chance() * chance()),
        repaid="yes" if cell.repaid else "no",
        approved="yes" if cell.approved else "no",
        score=points / 10_000,
    )


def applications() -> list[Application]:
    """Return all rows in the order of the file; the same ones on every call."""
    chance = Random(SEED).random  # noqa: S311 - invented people need no secrecy
    people = [application(cell, chance) for cell in cells() for _ in range(cell.people)]
    people = shuffled(people, chance)
    latest = range(len(people) * 9 // 10, len(people))
    unknown = set(shuffled(latest, chance)[:LABELS_UNKNOWN])
    return [
        replace(row, application_id=f"L{i + 1:05}", repaid="" if i in unknown else row.repaid)
        for i, row in enumerate(people)
    ]


def shuffled(items: Iterable[T], chance: Callable[[], float]) -> list[T]:
    """Return `items` in a random order that no later Python version may change."""
    return [item for _, item in sorted(((chance(), item) for item in items), key=itemgetter(0))]


def csv_bytes(rows: Iterable[Application]) -> bytes:
    """Return the rows as CSV, unknown values as empty fields, scores with four decimals."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(field.name for field in fields(Application))
    writer.writerows((*astuple(row)[:-1], f"{row.score:.4f}") for row in rows)
    return text.getvalue().encode()


def frame(rows: Iterable[Application]) -> pl.DataFrame:
    """Return the rows as a typed table, unknown values as nulls."""
    return pl.DataFrame(
        [[value if value != "" else None for value in astuple(row)] for row in rows],
        schema={field.name: NUMBERS.get(field.name, pl.String) for field in fields(Application)},
        orient="row",
    )


def parquet_bytes(rows: Iterable[Application]) -> bytes:
    """Return the rows as Parquet; the same bytes for the same version of Polars."""
    buffer = io.BytesIO()
    frame(rows).write_parquet(buffer, compression="zstd", compression_level=9)
    return buffer.getvalue()


def rates(
    rows: Iterable[Application], by: Callable[[Application], tuple[str, ...]]
) -> dict[tuple[str, ...], tuple[int, int]]:
    """Return how many were approved, and of how many, in each group with known values."""
    found: dict[tuple[str, ...], list[int]] = defaultdict(lambda: [0, 0])
    for row in rows:
        group = by(row)
        if all(group):
            found[group][0] += row.approved == "yes"
            found[group][1] += 1
    return {group: (yes, n) for group, (yes, n) in sorted(found.items())}


def age_band(row: Application) -> str:
    """Return the age band as an audit with the edge 40 names it."""
    return "under 40" if row.age < MIDDLE else "40 and over"


def summary(rows: Sequence[Application]) -> str:
    """Return the planted rates as text, one group a line."""
    groupings: dict[str, Callable[[Application], tuple[str, ...]]] = {
        "gender": lambda row: (row.gender,),
        "race": lambda row: (row.race,),
        "gender x race": lambda row: (row.gender, row.race),
        "age": lambda row: (age_band(row),),
        "branch x age": lambda row: (row.branch, age_band(row)),
    }
    lines = [f"{len(rows):,} applications; share approved by"]
    for title, by in groupings.items():
        lines += ["", title]
        for group, (yes, n) in rates(rows, by).items():
            lines.append(f"  {', '.join(group):22} {yes / n:7.2%}  {yes:6,} of {n:6,}")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write both files, or with `--check` compare them; return the exit code."""
    parser = argparse.ArgumentParser(description="Write the invented loan applications.")
    parser.add_argument("--check", action="store_true", help="compare the files, write nothing")
    check: bool = parser.parse_args(arguments).check
    rows = applications()
    table, typed = HERE / "loans.csv", HERE / "loans.parquet"
    if not check:
        table.write_bytes(csv_bytes(rows))
        typed.write_bytes(parquet_bytes(rows))
    elif table.read_bytes() != csv_bytes(rows) or not pl.read_parquet(typed).equals(frame(rows)):
        sys.stderr.write("loans.csv or loans.parquet differs from what this script makes\n")
        return 1
    sys.stdout.write(summary(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())

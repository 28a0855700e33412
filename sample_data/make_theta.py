"""Write `loans_theta.csv`: draws of how often each group of the loans is approved.

From the posterior of the counts in `loans.csv`, with Jeffreys' prior, Beta(1/2, 1/2), for each
gender and race: 200 draws, seed 18. What a model of your own gives in their place has the same
columns: `draw`, the protected columns, `outcome`, `probability`.

    python make_theta.py
"""

import csv
from collections import Counter
from pathlib import Path
from random import Random

HERE = Path(__file__).parent
DRAWS, SEED = 200, 18


def main() -> None:
    """Write the file."""
    with (HERE / "loans.csv").open(newline="") as file:
        people = Counter(
            (row["gender"], row["race"], row["approved"] == "yes")
            for row in csv.DictReader(file)
            if row["race"]
        )
    groups = sorted({(gender, race) for gender, race, _ in people})
    random = Random(SEED)  # noqa: S311  # reproducible, not secret
    with (HERE / "loans_theta.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("draw", "gender", "race", "outcome", "probability"))
        for draw in range(1, DRAWS + 1):
            for group in groups:
                approved = random.betavariate(
                    people[*group, True] + 0.5, people[*group, False] + 0.5
                )
                share = round(approved, 4)
                writer.writerow((draw, *group, "yes", f"{share:.4f}"))
                writer.writerow((draw, *group, "no", f"{1 - share:.4f}"))


if __name__ == "__main__":
    main()

"""The counts of a model's predictions on Adult and COMPAS, as `predictions.json` beside this file.

python tests/published/transcripts/predictions.py

The model is the seeded one of test_crosscheck_models.py. Its counts stand in a file of their own,
so that what AIF360 and Aequitas printed for them (others.py) hangs on no version of the model.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1])]

from test_crosscheck_models import NAMES, case_of  # noqa: E402  # after the path


def main() -> None:
    """Write the counts of every subset of the protected attributes."""
    found: list[dict[str, Any]] = []
    for name in NAMES:
        case = case_of(name)
        for by in case.subsets:
            groups = [
                [*levels, *(int(((rows.y == y) & (rows.p == p)).sum()) for y, p in CELLS)]
                for levels, rows in case.data.groupby(list(by))
            ]
            reference = [case.references[attribute] for attribute in by]
            entry = {"name": f"{name} by {' × '.join(by)}", "by": by, "reference": reference}
            found.append({**entry, "groups": groups})
    text = json.dumps(found, indent=1, ensure_ascii=False)
    (HERE / "predictions.json").write_text(text + "\n", encoding="utf-8")


CELLS = ((1, 1), (0, 1), (1, 0), (0, 0))
"""Label and prediction of tp, fp, fn and tn."""


if __name__ == "__main__":
    main()

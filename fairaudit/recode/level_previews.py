"""Which levels of the data become which audited level, and how many people each has."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairaudit.counts import Counts, RawKey
from fairaudit.cube import add_up
from fairaudit.recode.axes import DROP, Axis
from fairaudit.result import LevelPreview
from fairaudit.spec import ABSENT, BETWEEN


def preview_levels(axis: Axis, counts: Counts, *, is_cut: bool) -> Iterator[LevelPreview]:
    """The levels of a recoded column, in its order; then what becomes of all other rows.

    Rows that the filter leaves out have no part in it.
    """
    kept = (counts.kept == 1) & (counts.rows > 0)
    # Places below 0 are of no level: missing values, and values that leave the audit.
    lowest = min(DROP, int(axis.codes.min(initial=0)))
    places = axis.codes - lowest
    people = add_up(counts.people[kept], places[kept], len(axis.key.levels) - lowest)
    raw = None if is_cut else counts.text_key(axis.column)
    for code in (*range(len(axis.key.levels)), *range(lowest, 0)):
        here = kept & (axis.codes == code)
        if here.any():
            sources = () if raw is None else _list_sources(raw, np.unique(raw.codes[here]).tolist())
            level = axis.key.levels[code] if code >= 0 else ""
            yield LevelPreview(level, int(people[code - lowest]), sources, _describe(axis, code))


def _list_sources(raw: RawKey, codes: list[int]) -> tuple[str | None, ...]:
    """The levels of the data by their codes; of combined columns all values, a missing one as ''.

    A derived column has signs of our own between them.
    """
    texts = [raw.levels[code] for code in codes]
    return tuple(
        text if text is None else ", ".join(text.replace(ABSENT, "").split(BETWEEN))
        for text in texts
    )


def _describe(axis: Axis, code: int) -> str:
    """What a code is to the audit, in one or two words."""
    key = axis.key
    if code < 0 and not axis.missing[axis.codes == code].all():
        return "left out"
    if code < 0:
        return f"missing ({axis.rule}: {axis.policy.value})"
    if code in key.unknown:
        return "never compared"
    if key.positive is None:
        return ""
    return "positive" if code in key.positive else "negative"

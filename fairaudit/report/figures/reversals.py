"""A reversal as slopes: both groups overall, and in every stratum."""

from __future__ import annotations

import math

from fairaudit.report import numbers, sentences
from fairaudit.report.blocks import Figure
from fairaudit.report.figures import most
from fairaudit.report.pictures import Slope, Slopes
from fairaudit.simpson import Reversal


def slopes(one: Reversal, text: str) -> Figure:
    """The picture of a reversal; `text` tells it in words."""
    heaviest = sorted(one.strata, key=lambda stratum: -stratum.weight)[: most.LINES]
    kept = [stratum for stratum in one.strata if stratum in heaviest]
    drawn = [
        Slope(numbers.named_group(stratum.stratum), stratum.first.value, stratum.second.value)
        for stratum in kept
    ]
    overall = Slope("overall", one.crude_pair[0].value, one.crude_pair[1].value, strong=True)
    missing = [each.label for each in drawn if not math.isfinite(each.first + each.second)]
    left = most.left_out(len(one.strata) - len(kept), "strata", "those with the fewest people")
    if missing:
        left += f" Without a rate of both: {most.listed(missing)}."
    given = numbers.subset(one.given)
    return Figure(
        f"{sentences.title_of(one.rate, one.of).capitalize()}: {one.pair[0]} against "
        f"{one.pair[1]}, overall and by {given}",
        text + left,
        Slopes(sentences.title_of(one.rate, one.of), one.pair, [overall, *drawn]),
        note=f"Thick: everybody. The others: each {given} by itself.{left}",
    )

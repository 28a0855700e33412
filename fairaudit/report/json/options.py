"""How large a group must be, and how sure an audit asks to be.

A member `x_text` beside a number `x` is the same number exactly as the spec writes it, or as a
fraction: no float holds `0.80`.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from fairaudit.metrics import Minimum
from fairaudit.metrics.terms import Correction, FisherTest, Inference, RatioInterval, TTest, ZTest
from fairaudit.report.json.reading import Member


def write_minimum(one: Minimum) -> dict[str, Any]:
    """What a group must reach to be compared."""
    return {"min_size": one.size, "min_events": one.events}


def read_minimum(row: Member) -> Minimum:
    """What a group must reach to be compared."""
    return Minimum(
        row["min_size"].or_none(Member.integer), row["min_events"].or_none(Member.integer)
    )


def write_inference(one: Inference) -> dict[str, Any]:
    """How sure an audit asks to be, and how it finds out."""
    return {
        "confidence": float(one.confidence),
        "confidence_text": str(one.confidence),
        "correction": str(one.correction),
        "ratio": str(one.ratio),
        "z": str(one.z),
        "t": str(one.t),
        "fisher": str(one.fisher),
        "yates": one.yates,
    }


def read_inference(row: Member) -> Inference:
    """How sure an audit asks to be; a confidence lies from 0.5 to below 1."""
    confidence = row["confidence_text"].decimal()
    if not Decimal("0.5") <= confidence < 1:
        row["confidence_text"].refuse("does not lie from 0.5 to below 1")
    return Inference(
        confidence,
        row["correction"].one_of(Correction),
        row["ratio"].one_of(RatioInterval),
        row["z"].one_of(ZTest),
        row["t"].one_of(TTest),
        row["fisher"].one_of(FisherTest),
        row["yates"].flag(),
    )

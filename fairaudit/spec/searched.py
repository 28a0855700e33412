"""What of a spec is asked by the columns that a search for reversals finds in the data."""

from __future__ import annotations

from dataclasses import replace

from fairaudit.metrics import Requirement
from fairaudit.spec.model import Others, Outcome, Policy, Spec


def searched(spec: Spec) -> Spec | None:
    """The spec of the tables of a search, without their candidates; None where it asks for none.

    It has the attributes that are compared and the outcome, and what else may drop a row: whoever
    is not counted in the cube is counted in no table beside it.
    """
    scan = spec.simpson
    if scan is None or not scan.search:
        return None
    drops = {
        role for role in ("strata", "label", "prediction", "score", "numbers")
        if getattr(spec.missing, role) is Policy.DROP
    }  # fmt: skip

    asked = {scan.of}
    if any(Requirement.LABEL in rate.requirements for rate in scan.rates):
        asked.add("label")

    def kept(one: Outcome, role: str) -> Outcome | None:
        score = one.score if "score" in drops else None
        needed = one.has_classes and (one.name in asked or one.others is Others.DROP)
        drops_rows = role in drops or score is not None
        return replace(one, score=score) if needed or drops_rows else None

    predictions = (kept(one, "prediction") for one in spec.predictions)
    return replace(
        spec,
        protected=tuple(one for one in spec.protected if one.name in scan.attributes),
        strata=spec.strata if "strata" in drops else (),
        label=spec.label and kept(spec.label, "label"),
        predictions=tuple(one for one in predictions if one is not None),
        numbers=spec.numbers if "numbers" in drops else (),
        features=(),
        subgroups=None,
        requests=(),
        checks=(),
        simpson=None,
    )

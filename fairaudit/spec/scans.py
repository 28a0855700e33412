"""What every scan of a spec says, for reversals and for subgroups: its outcome and its rates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from fairaudit.errors import did_you_mean
from fairaudit.metrics import Rate, find_metric
from fairaudit.spec.model import Outcome
from fairaudit.spec.questions import unanswerable
from fairaudit.spec.text import Path

Fault: TypeAlias = Callable[[Path, str], None]
"""Takes what stands in the way, with its path in the spec."""


def chosen_outcome(
    path: Path,
    name: str | None,
    first: str,
    outcomes: Mapping[str, Outcome],
    fault: Fault,
    *,
    gated: bool,
) -> str:
    """The outcome that a scan is about; of several models a gate must name one."""
    others = [one for one in outcomes if one not in {"label", first} and outcomes[one].binary]
    if name is None:
        if gated and first != "label" and others:
            several = ", ".join([first, *others])
            fault(path[:-1], f"say which of {several} the gate is about: `of: {first}`")
        return first
    if name not in outcomes:
        hint = did_you_mean(name, outcomes) or f"; there is {', '.join(outcomes)}"
        fault(path, f"no such outcome: {name!r}{hint}")
        return first
    return name


def chosen_rates(
    key: str,
    names: Sequence[str] | None,
    of: str,
    outcomes: Mapping[str, Outcome],
    fault: Fault,
    *,
    so: str,
) -> list[Rate]:
    """The rates that a scan is by, each once; the selection rate where none is named.

    `so` says what does not follow from a name that is no rate.
    """
    found: dict[str, Rate] = {}
    for at, name in enumerate(["selection_rate"] if names is None else names):
        path: Path = (key,) if names is None else (key, "rates", at)
        record = find_metric(name)
        if not isinstance(record, Rate) or not record.of_group:
            fault(path, f"{name!r} is no share of a group's people, so {so}")
        elif reason := unanswerable(record, of, dict(outcomes)):
            fault(path, reason)
        else:
            found.setdefault(record.id, record)
    return list(found.values())

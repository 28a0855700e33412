"""What entries of `metrics` name, held against the data: classes, and the strata of an average."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fairaudit.cube import UNKNOWN, Cube
from fairaudit.disclosure import Notice, Subjects
from fairaudit.errors import Fault, SpecError, did_you_mean
from fairaudit.names import quoted
from fairaudit.spec import MetricRequest


def refuse_unknown(shown: Iterable[MetricRequest], cube: Cube) -> None:
    """Raises `SpecError` for every class and stratum that entries name and the data do not hold."""
    shown = tuple(shown)
    faults = [fault for one in shown for fault in _unknown_strata(one, cube)]
    for one in shown:
        if one.class_text is None:
            continue
        axes = [axis for name in (one.of, "label") if (axis := cube.outcome(name)) is not None]
        known = list(dict.fromkeys(level for axis in axes for level in axis.levels))
        name = one.class_text.value
        if name not in known:
            hint = did_you_mean(name, known) or f"; there is {', '.join(known)}"
            faults.append(one.class_text.fault(f"no class {quoted(name)} in the {one.of}{hint}"))
    if faults:
        raise SpecError(faults)


def _unknown_strata(one: MetricRequest, cube: Cube) -> Iterator[Fault]:
    """The strata that an average gives a weight and that do not occur in one of its groupings."""
    for given in one.given if one.stratum_texts else ():
        strata = cube.table((), given, one.of).strata
        known = [", ".join(level for _, level in stratum) for stratum in strata]
        for text in one.stratum_texts:
            hint = did_you_mean(text.value, known)
            if text.value not in known and hint:
                yield text.fault(f"no stratum {quoted(text.value)} of {' × '.join(given)}{hint}")


def unweighed(shown: Iterable[MetricRequest], cube: Cube) -> Iterator[Notice]:
    """Notices on strata without a weight, and on weights without a stratum."""
    for one in shown:
        for given in one.given if one.stratum_texts else ():
            strata = cube.table((), given, one.of).strata
            known = {", ".join(level for _, level in stratum) for stratum in strata} - {UNKNOWN}
            named = {text.value for text in one.stratum_texts}
            pairs = (("has no weight", known - named), ("does not occur", named - known))
            for what, names in pairs:
                for name in map(quoted, sorted(names)):
                    text = f"{one.metric.id}: the stratum {name} of {' × '.join(given)} {what}"
                    yield Notice(text, Subjects.NOBODY)

"""`Definition`: a metric's words for `explain` and reports: values, direction, what it needs."""

from __future__ import annotations

from fairaudit.base.disclosure_marks import declare_subjects
from fairaudit.base.frozen import Frozen
from fairaudit.evidence.methods import name_interval, name_test
from fairaudit.metrics import (
    FAMILIES,
    PREFERENCES,
    Bounds,
    Comparison,
    Disparity,
    GroupMetric,
    Metric,
    Requirement,
    TableMetric,
)
from fairaudit.metrics.example import describe_example


@declare_subjects(
    nobody="id title family compares use means formula values direction needs takes caution "
    "elsewhere source aliases interval test example version",
)
class Definition(Frozen):
    """A metric in words, as `explain` prints it."""

    id: str
    title: str
    family: str
    compares: str
    use: str
    means: str
    formula: str
    values: str
    direction: str
    needs: str
    takes: tuple[str, ...]
    caution: str
    elsewhere: str
    source: str
    aliases: tuple[str, ...]
    interval: str
    test: str
    example: str = ""
    version: int = 1

    def __repr__(self) -> str:
        return f"Definition({self.id}: {self.means})"


def definition(record: Metric | Comparison, *, worked: bool = False) -> Definition:
    """The words of a record, ready to print; with a worked example only if asked."""
    family = FAMILIES[record.family]
    return Definition(
        id=record.id,
        title=record.title,
        family=record.family,
        compares=family.compares,
        use=family.use,
        means=record.means,
        formula=_formula(record),
        values="" if isinstance(record, Comparison) else _values(record.bounds),
        direction=_direction(record),
        needs="" if isinstance(record, Comparison) else _needs(record),
        takes=() if isinstance(record, Comparison) else record.takes,
        caution=record.caution,
        elsewhere=record.elsewhere,
        interval="" if isinstance(record, Comparison) else name_interval(record),
        test="" if isinstance(record, Comparison) else name_test(record),
        source=str(record.source),
        aliases=record.aliases,
        example=describe_example(record) if worked else "",
        version=record.version,
    )


def _formula(record: Metric | Comparison) -> str:
    """The formula, with that of its comparison where it is not plain from its name."""
    if not isinstance(record, Disparity):
        return record.formula
    how = record.comparison
    is_said = how.is_plain or record.formula == how.formula
    return record.formula + ("" if is_said else f"; {how.id}: {how.formula}")


def _values(bounds: Bounds) -> str:
    low, high = bounds
    return f"{'-∞' if low is None else low} to {'∞' if high is None else high}"


def _needs(record: Metric) -> str:
    needed = [
        str(requirement) for requirement in sorted(record.requirements - {Requirement.DISTRIBUTION})
    ]
    if record.conditional:
        needed.append("strata, by `given`")
    if isinstance(record, Disparity) and record.to_reference and record.reference is None:
        needed.append("a reference")
    return ", ".join(needed)


def _direction(record: Metric | Comparison) -> str:
    if isinstance(record, GroupMetric):
        return PREFERENCES[record.better].words
    if isinstance(record, TableMetric) and record.parity:
        return f"at parity {record.parity}"
    ideal = f"{record.ideal} at parity"
    if isinstance(record, Disparity) and record.is_two_sided:
        return f"{ideal}, either side departs from it"
    return ideal

"""Recoding of raw levels to audited levels: cubes (tables of all counts), notices, data errors."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from fairaudit.base.arrays import Marks
from fairaudit.base.disclosure_marks import Notice, Subjects
from fairaudit.base.errors import (
    DataError,
    Fault,
    NothingToAudit,
    SpecError,
    did_you_mean,
    suggest_known,
)
from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.names import is_like_total, listing, quoted
from fairaudit.counting.columns import ABSENT, BETWEEN, Combination
from fairaudit.counting.counts import Counts
from fairaudit.counting.plan import MASKED, MISSING
from fairaudit.cube import Cube, Ints, Role, Rows, add_up, distinct_rows
from fairaudit.pipeline.recode.cells import Cells, notice_left_out
from fairaudit.pipeline.recode.columns import Axis, Problems, notice_tiny_sums
from fairaudit.pipeline.recode.groups import group_axis, refuse_absent_references, refuse_undeclared
from fairaudit.pipeline.recode.outcomes import (
    Alike,
    make_number_axes,
    make_outcome_axis,
    notice_filtered_outcomes,
    notice_merged,
    notice_odd_dates,
    notice_per_cent_cuts,
    notice_sentinels,
)
from fairaudit.pipeline.recode.scores import (
    AttributeNumbers,
    Described,
    Distribution,
    Recoding,
    attribute_numbers,
    describe,
    feature_recodings,
    not_known,
    notice_odd_scores,
    table_cubes,
)
from fairaudit.spec import Expected, Outcome, Protected, Spec

_VALUE = re.compile(r"'(?:[^']|'')*'")
_COMPARED = re.compile(
    r"""(?<![\w).])(?:(\w+)|"([^"]+)"|`([^`]+)`)\s*(?:==?|<>|!=|\b(?:not\s+)?in\s*\("""
    r"""|\bis\s+(?:not\s+)?distinct\s+from\b)"""
    rf"""\s*({_VALUE.pattern}(?:\s*,\s*{_VALUE.pattern})*)""",
    re.IGNORECASE,
)
"""Matches a column and the texts it is compared with: `race in ('White', 'Black')`."""

_SURE_DIGITS = 6
"""Two sums of counts have this number of equal digits by chance in one of a million tables."""
_NOTABLE_DIGITS = 2
"""Two sums of counts have this number of equal digits by chance in one of a hundred tables."""
_ROUNDED_DIGITS = 4
"""Rounded sums, and sums of a level that some combinations lack, need this many equal digits."""
_ROUNDED_MEAN = 0.005
"""The relative error of a sum that is computed from a printed mean."""
_COUNTED_TWICE = "if its rows are totals, people are counted twice: leave them out with `filter`"
_FEWEST_PARTS = 2
"""A level is compared with sums of this number of levels or more: single levels are often equal."""

LONGEST_LEVEL = 100_000
"""Maximum length of a level, because reports repeat each level many times."""


class Cubes(Frozen):
    """The cube of an audit, extra cubes of a few columns, and notices on the levels.

    Subgroups are searched in the extra cubes `tables`. `left_out` are the rows that the filter
    keeps but the cube does not contain; None without such rows. `rows` are the single people of the
    cube; None if no metric needs them. `alike` has the cube in which levels with similar spelling
    are joined; None without such levels. `moving` maps each column whose quantiles missing numbers
    could move to the number of people without a number.
    """

    cube: Cube
    notices: tuple[Notice, ...]
    scores: Mapping[str, Distribution]
    tables: tuple[Cube, ...]
    left_out: Cells | None
    rows: Rows | None
    alike: Alike | None
    described: tuple[Described, ...]
    attributes: tuple[AttributeNumbers, ...]
    moving: Mapping[str, int]


def recode(counts: Counts, spec: Spec) -> Cubes:
    """The cubes of a spec from raw counts; raises `SpecError` with all faults of the levels."""
    _refuse_unusable(counts, spec)
    problems = Problems()
    counts = _leave_out_totals(counts, spec, problems)
    axes = build_axes(counts, spec, problems)
    refuse_absent_references(spec, axes, problems)
    axis_of = {axis.key.name: axis for axis in axes}
    axes += make_number_axes(counts, spec)
    features = feature_recodings(counts, spec, problems)
    _find_missing_levels(counts, spec, axis_of, problems)
    if problems.faults:
        raise SpecError(problems.faults)
    for attribute in (*spec.protected, *spec.strata):
        refuse_undeclared(attribute, counts, spec.missing)
    for axis in axes:
        axis.refuse_missing(counts)
    cells = Cells(counts, axes, spec)
    cube = cells.cube()
    _refuse_unexpected(spec.expected, cube.ledger.counted)
    left_out = cells if cells.are_left_out else None
    scores: dict[str, Distribution] = {}
    if counts.scores:
        recodings = {one.name: Recoding.of_column(one, axis_of, counts) for one in spec.groupable}
        labelled = spec.label if spec.label and spec.label.has_classes else None
        label = Recoding.of_column(labelled, axis_of, counts) if labelled else None
        scores = {
            name: Distribution(name, raw, recodings, label) for name, raw in counts.scores.items()
        }
    tables = table_cubes(counts, spec, axis_of, features, cube.ledger)
    notices = (
        *_notice_odd_rows(counts, spec),
        *notice_sentinels(counts, spec),
        *notice_odd_dates(counts, spec),
        *notice_per_cent_cuts(counts),
        *notice_filtered_outcomes(counts, spec, axes),
        *problems.notices,
        *notice_merged(counts, spec, axes),
        *notice_left_out(left_out, spec),
        *notice_odd_scores(spec, scores),
        *notice_tiny_sums(cells.added),
        *not_known(tables, features),
    )
    return Cubes(
        cube,
        notices,
        scores,
        tables,
        left_out,
        cells.people_one_by_one(),
        # A published report must not show the counts of joined levels.
        alike=None if spec.suppress_below is not None else cells.joined(),
        described=tuple(describe(counts, spec, axis_of)),
        attributes=tuple(attribute_numbers(counts, spec, axis_of)),
        moving=dict(_count_moving(counts, spec)),
    )


def _find_missing_levels(
    counts: Counts, spec: Spec, axis_of: Mapping[str, Axis], problems: Problems
) -> None:
    """Adds a fault for each expected level that no counted row has."""
    there = (counts.kept == 1) & (counts.rows > 0)
    for name, texts in spec.expected.levels.items():
        axis = axis_of[name]
        levels = [axis.key.levels[code] for code in np.unique(axis.codes[there]) if code >= 0]
        for text in (text for text in texts if text.value not in levels):
            hint = suggest_known(text.value, levels, listing(levels))
            problems.fault(text, f"no row has the {name} {quoted(text.value)}{hint}")


def _count_moving(counts: Counts, spec: Spec) -> Iterator[tuple[str, int]]:
    """Yields each column whose quantiles missing numbers could move, and how many are missing."""
    columns: list[Protected | Outcome] = [*spec.groupable, *spec.outcomes]
    for one in columns:
        edges = one.bins if isinstance(one, Protected) else [one.threshold and one.threshold.above]
        for (column, share), cut in counts.plan.cuts.items():
            if column == one.column.value and cut.edge in edges:
                missing = counts.cut_key(column).codes == MISSING
                people = int(counts.people[missing & (counts.kept == 1)].sum())
                if cut.may_move(share, people):
                    yield one.name, people


def _leave_out_totals(counts: Counts, spec: Spec, problems: Problems) -> Counts:
    """The counts without rows of totals, as if the filter removed them; adds notices on totals.

    Only tables of counts have such rows. A level is a total if it has as many people as all other
    levels together, and if one more condition is met: its name means a total, or the numbers are
    equal in each combination of the other columns and too large for chance. It is enough if the
    numbers are equal before the filter, which may remove parts of a total. If the numbers are equal
    only up to rounding, or if some combinations lack the level, the only effect is a notice.
    """
    plan, people, masked = counts.plan, counts.people, counts.kept == MASKED
    for name, levels, codes, others in _list_text_columns(counts, spec) if plan.is_table else ():
        kept, found = counts.kept == 1, list[tuple[int, bool, bool]]()
        for code in (code for code, level in enumerate(levels) if is_like_total(level)):
            (total, rest), every, (hidden, of_rest) = (
                [int(people[marks & side].sum()) for side in (codes == code, codes != code)]
                for marks in (kept, people > 0, masked)
            )
            if every[0] == every[1] or rest - hidden <= total <= rest + of_rest:
                found.append((code, True, True))
        for there in (np.ones_like(kept), kept):
            found += _find_sums(counts, codes, others, there)
        for code, is_exact, is_sure in found:
            is_total = codes == code
            if not people[is_total & (counts.kept == 1)].any():
                continue
            what = f"{quoted(levels[code])} has as many people as all other levels together"
            # Counts of scores and of further tables do not allow to leave out single rows.
            if is_sure and not (plan.scores or plan.tables):
                counts = replace(counts, kept=np.where(is_total, 0, counts.kept))
                what += ": its rows are totals, and are left out as filtered rows"
            else:
                where = "" if is_exact else " that has it, up to rounding"
                what += f", in each combination of the other columns{where}; {_COUNTED_TWICE}"
            problems.note(name, what)
    for name, level in _find_margins(counts, spec) if plan.is_table else ():
        what = f"rows with {quoted(level)} and such a level in all other columns but one have as "
        problems.note(name, f"{what}many people as the rows without these levels; {_COUNTED_TWICE}")
    return counts


def _find_margins(counts: Counts, spec: Spec) -> list[tuple[str, str]]:
    """Columns with totals in rows such as (a, all, all), each with the level that means all.

    There are three such columns or more, and each of these levels has at least half of the people.
    """
    columns = {one.column.value: one.name for one in (*spec.protected, *spec.strata)}
    there, majority = (counts.kept == 1) & (counts.people > 0), list[tuple[int, int]]()
    for number, key in enumerate(counts.keys):
        sizes = add_up(counts.people[there], key.codes[there], key.size)
        if key.levels and key.key.column in columns and 2 * sizes.max() >= sizes.sum():
            majority.append((number, int(sizes.argmax())))
    for size in (len(majority), len(majority) - 1):  # one column may have no totals
        for chosen in itertools.combinations(majority, size) if size > _FEWEST_PARTS else ():
            if _are_margins(counts, dict(chosen), there):
                keys = [(counts.keys[number], code) for number, code in chosen]
                return [(columns[key.key.column], key.levels[code] or "") for key, code in keys]
    return []


def _are_margins(counts: Counts, levels: Mapping[int, int], there: Marks) -> bool:
    """Whether each row with all `levels` except one is the sum of the rows without these levels."""
    codes, people = [key.codes[there] for key in counts.keys], counts.people[there]
    totals = np.sum([codes[number] == code for number, code in levels.items()], axis=0)
    digits, is_part, is_margin = 0.0, totals == 0, totals == len(levels) - 1
    if not (is_part | is_margin | (totals == len(levels))).all():
        return False
    for number, code in levels.items():
        sides = is_part, is_margin & (codes[number] != code)
        shown = [one for at, one in enumerate(codes) if at == number or at not in levels]
        cells, place = distinct_rows(np.stack(shown, axis=1).astype(np.int32))
        parts, whole = (add_up(np.where(side, people, 0), place, len(cells)) for side in sides)
        if not np.array_equal(parts, whole):
            return False
        digits += float(np.log10(1 + whole).sum())
    return digits >= _ROUNDED_DIGITS


def _list_text_columns(
    counts: Counts, spec: Spec
) -> Iterator[tuple[str, Sequence[str], Ints, list[Ints]]]:
    """Yields the name, levels and codes of each text column, and the codes of all other columns.

    Text columns contain groups or classes. A combination of columns yields each column separately.
    """
    made = {one.name: one.columns for one in counts.plan.derived}
    columns = [
        (one.name, one.column.value)
        for one in (*spec.protected, *spec.strata)
        if not (one.is_cut or one.model) and isinstance(one.derivation, Combination | None)
    ]
    columns += [
        (one.name, one.column.value)
        for one in spec.outcomes
        if one.has_classes and one.threshold is None and one.counts is None
    ]
    for name, column in columns:
        key, sources = counts.text_key(column), made.get(column, (column,))
        rows = [(level or "").split(BETWEEN, len(sources) - 1) for level in key.levels]
        texts = [np.unique(part, return_inverse=True) for part in zip(*rows, strict=True)]
        codes = [place[key.codes] for _, place in texts]
        for at, (levels, _) in enumerate(texts):
            others = [
                other.codes
                for other in counts.keys
                if sources[at] not in made.get(other.key.column, (other.key.column,))
            ]
            shown = [level.replace(ABSENT, "") for level in levels.tolist()]
            part = sources[at] if column in made else name
            yield part, shown, codes[at], [*others, *codes[:at], *codes[at + 1 :]]


def _find_sums(
    counts: Counts, codes: Ints, others: Sequence[Ints], there: Marks
) -> Iterator[tuple[int, bool, bool]]:
    """Yields the levels that equal the sum of two or more other levels, up to rounding.

    It also yields whether a level is exactly equal in all combinations of the other columns, and
    whether the number of equal decimal digits, added up over the combinations, excludes chance. If
    all levels have the same distribution over the combinations, only digits of the total are used.
    Up to rounding means a difference of at most half a unit per level. The unit divides all counts.
    """
    there = there & (counts.people > 0)
    people, own_codes = counts.people[there], codes[there]
    columns = [np.zeros_like(people), *(other[there] for other in others)]
    combinations, place = distinct_rows(np.stack(columns, axis=1).astype(np.int32))
    everybody = add_up(people, place, len(combinations))
    pairs, index = distinct_rows(np.stack([own_codes, place], axis=1).astype(np.int32))
    own, (of_level, of_place) = add_up(people, index, len(pairs)), pairs.T
    sizes = add_up(people, own_codes, codes.max(initial=0) + 1)
    size, off, unit = np.count_nonzero(sizes), np.zeros_like(sizes), np.gcd.reduce(people)
    np.maximum.at(off, of_level, np.abs(everybody[of_place] - 2 * own))
    is_alike = len(pairs) == size * len(combinations)
    is_alike &= np.allclose(own / sizes[of_level], everybody[of_place] / people.sum())
    is_close = (off <= unit * size / 2) & (sizes > 0) & (size > _FEWEST_PARTS)
    for code in np.flatnonzero(is_close).tolist():
        mine = of_level == code
        among = np.isin(place, of_place[mine])
        # Sums of numbers must be equal, too, up to the rounding of means.
        amounts = [np.array(sums, dtype=np.float64)[there] for sums in counts.amounts.values()]
        both = [(2 * one[own_codes == code].sum(), one[among].sum()) for one in amounts]
        if all(np.isclose(*pair, rtol=_ROUNDED_MEAN) for pair in both):
            is_exact = bool(mine.sum() == len(combinations) and not off[code])
            agreeing = np.atleast_1d(sizes[code] if is_alike else own[mine])
            digits = np.log10(1 + agreeing / (unit + 2 * off[code] if off[code] else 1)).sum()
            # The chance that a level of half of all people is this near to the sum of the others.
            chance = np.minimum(2 * (off[code] + unit) / np.sqrt(4 * np.pi * agreeing), 1).prod()
            least = _NOTABLE_DIGITS if is_exact else _ROUNDED_DIGITS
            if digits >= least or (not is_exact and chance <= 10**-_NOTABLE_DIGITS):
                yield code, is_exact, is_exact and digits >= _SURE_DIGITS


def build_axes(counts: Counts, spec: Spec, problems: Problems) -> list[Axis]:
    """The axes of the groups, strata and classes of a spec."""
    axes = [
        group_axis(attribute, role, counts, spec, problems)
        for role, attributes in ((Role.PROTECTED, spec.protected), (Role.STRATUM, spec.strata))
        for attribute in attributes
    ]
    outcomes = (outcome for outcome in spec.outcomes if outcome.has_classes)
    return axes + [make_outcome_axis(outcome, counts, spec, problems) for outcome in outcomes]


def _refuse_unusable(counts: Counts, spec: Spec) -> None:
    """Raises `NothingToAudit` for data without rows, `SpecError` for levels that are too long."""
    if not counts.rows[counts.kept == 1].sum():
        filtered = int(counts.file_rows[counts.kept == 0].sum())
        undecided = int(counts.file_rows[counts.kept == -1].sum())
        why = f", {undecided:,} that the filter cannot decide" if undecided else ""
        filters = f", {filtered:,} filtered out{why}" if filtered or undecided else ""
        hidden = sum(cells.rows for cells in counts.hidden)
        filters += f", {hidden:,} hidden where they were counted" if hidden else ""
        raise NothingToAudit(
            f"no rows are left to audit: {int(counts.file_rows.sum()):,} read{filters}",
            "check the data and the filter in the spec" if filters else "check the data",
            uncounted="no rows are left to audit",
        )
    texts = {key.key.column: key.levels for key in counts.keys}
    texts |= {key.column: levels for key, levels in counts.table_levels.items()}
    faults = []
    for column, levels in texts.items():
        longest = max((len(level) for level in levels if level is not None), default=0)
        if longest > LONGEST_LEVEL:
            message = (
                f"{quoted(column)} holds a text of {longest:,} characters; a level can "
                f"have at most {LONGEST_LEVEL:,}: name another column, or shorten the text"
            )
            places = spec.places.get(column, ())
            faults.append(places[0].fault(message) if places else Fault(message))
    if faults:
        raise SpecError(faults)


def _refuse_unexpected(expected: Expected, rows: int) -> None:
    """Raises `DataError` if there are fewer or more rows than the spec expects."""
    least, most = expected.rows.at_least, expected.rows.at_most
    bound = f"at least {least:,}" if least is not None and rows < least else ""
    bound = bound or (f"at most {most:,}" if most is not None and rows > most else "")
    if bound:
        counted = "1 row is counted" if rows == 1 else f"{rows:,} rows are counted"
        raise DataError(
            f"{counted}, and the spec expects {bound}",
            "check that the export is complete, or change `expect` in the spec",
            uncounted=f"the spec expects {bound} rows",
        )


def _notice_odd_rows(counts: Counts, spec: Spec) -> Iterator[Notice]:
    """Notices on a filter that removes no row or has absent texts; on masked and hidden people."""
    if spec.filter is not None and not counts.rows[counts.kept == 0].sum():
        # A filter that removes no row may be a mistake.
        but = " but those that lack a value it needs" if (counts.kept == -1).any() else ""
        yield Notice(f"the filter removes no row{but}: {spec.filter.value}", Subjects.ANYBODY)
    counted = {key.column for key in counts.plan.keys if not key.is_cut}
    for compared in _COMPARED.finditer(spec.filter.value if spec.filter is not None else ""):
        *names, values = compared.groups()
        column = next(filter(None, names))
        if column not in counted:
            continue
        levels = [level for level in counts.text_key(column).levels if level is not None]
        for value in [text[1:-1].replace("''", "'") for text in _VALUE.findall(values)]:
            if value not in levels:
                what = f"{quoted(value)} of the filter does not occur{did_you_mean(value, levels)}"
                # If this notice were hidden, readers would know that some row has the text.
                yield Notice(f"{column}: {what}", Subjects.ANYBODY)
    if masked := counts.plan.masked:
        hidden = int(counts.people[(counts.kept == 1) & (counts.rows == 0)].sum())
        possible = int(counts.people[counts.kept == MASKED].sum())
        listed = ", ".join(f"{quoted(m.text)} is {m.least:,} to {m.most:,}" for m in masked)
        whom = [f"{hidden:,} people with unknown outcome"] if hidden else []
        whom += [f"up to {possible:,} people who may not exist"] if possible else []
        yield Notice(
            f"masked counts ({listed}): {' and '.join(whom) or 'no people'} are "
            "left out of rates. A range is from the least to the greatest value over all counts "
            "that the masks may stand for, and replaces the interval; these groups have no test, a "
            "check that they could change is inconclusive; Simpson's reversals are not searched",
            Subjects.NEVER,
        )
    people = sum(cells.people for cells in counts.hidden)
    if people:
        below = " or ".join(f"{cells.below:,}" for cells in counts.hidden)
        yield Notice(
            f"{people:,} people are hidden where they were counted, in cells of fewer than {below} "
            "and in cells that would reveal those: groups may be larger than here, or missing, and "
            "rates may differ; no check passes if these people could put it over its limit",
            Subjects.NEVER,
        )

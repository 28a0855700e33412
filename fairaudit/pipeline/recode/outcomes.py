"""Classes of outcomes in the data; notices on similar levels, and on values that mean missing."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import product

import numpy as np

from fairaudit.base.arrays import ADDED_SCALE
from fairaudit.base.disclosure_marks import Notice, Subjects
from fairaudit.base.errors import did_you_mean, list_known
from fairaudit.base.frozen import Frozen
from fairaudit.base.names import canonical, is_value, listing, lookalike, percent, quoted
from fairaudit.counting.columns import ABSENT, BETWEEN, OddDates, Period
from fairaudit.counting.counts import Counts
from fairaudit.counting.plan import MISSING
from fairaudit.counting.sources.column_checks import filter_columns
from fairaudit.cube import NO_LEVEL, OUTSIDE, Cube, KeyColumn, Marks, Role, add_up
from fairaudit.pipeline.plan_builder import AROUND, PER_CENT, edges_of, is_positive
from fairaudit.pipeline.recode.columns import DROP, Axis, Problems, with_missing_last
from fairaudit.spec import Missing, MissingPolicy, Outcome, OutcomeKind, Protected, Spec
from fairaudit.stats import contingency

_FAR = 10
"""A number this many standard deviations from the mean is far from it. A number with this many
times the rows of all more extreme numbers is not part of a tail."""
_DROP_AT_1 = 5
_RISE_AT_2 = 4
_FEWEST_SHARES = 10
_FAR_APART, _FOUR_FIFTHS = 0.1, 0.8
_RARE = 50
"""A mix of fractions and per cent is reported if one in this many values is of the rarer kind."""

_LIKE_MISSING = {*"?-–—.", "", "na", "n/a", "nan", "null", "none", "missing", "unknown"}
_LIKE_UNKNOWN = re.compile(
    r"(.* )?(unknown|undisclosed|unspecified|undeclared|unanswered|refused|refusal|unavailable)"
    r"|(.* )?not (known|available|applicable|provided|stated|specified|disclosed|reported|given"
    r"|answered|recorded|collected)( .*)?"
    r"|(.* )?(prefers?|preferred|chose|choose|wish) not to .*|(i )?(do not|don t) know"
    r"|(.* )?(declined?|declines|refused?)( to .*)?|no (answer|response|data|information)( .*)?"
    r"|8888|9999"  # codes of HMDA and of surveys
)


def is_like_missing(text: str) -> bool:
    """Whether a text likely means a missing value, even if the spec does not declare it."""
    return text.strip().casefold() in _LIKE_MISSING


def is_like_unknown(text: str) -> bool:
    """Whether a level likely means "not known" in words, such as `Prefer not to say`."""
    words = " ".join(re.sub(r"[\W_]+", " ", text.casefold()).split())
    return _LIKE_UNKNOWN.fullmatch(words) is not None


def join_alike(
    attribute: Protected, stored: Sequence[str | None], audited: Sequence[str | None]
) -> tuple[list[str | None], list[list[str]]]:
    """The audited level of each stored level after similar levels are joined, and the joined sets.

    Levels are similar if their stored or renamed spelling is similar, unless `labels` renames all
    of these levels. The joined level is unknown if one of the levels is unknown. Otherwise it is a
    level that the spec names, if there is one.
    """
    named = {*attribute.labels.values(), *(attribute.merge or {})}
    named |= {text.value for text in (*(attribute.keep or ()), attribute.reference) if text}

    def rank(level: str | None) -> tuple[bool, bool, bool, str]:
        return level is not None, level not in named, level == attribute.other, level or ""

    joined, sets = [*audited], []
    for texts in (stored, joined) if stored != audited else (stored,):
        look_of = {text: lookalike(text) for text in {*texts} if text is not None}
        if len({*look_of.values()}) == len(look_of):
            continue
        places_of: dict[str, list[int]] = {}
        for place, text in enumerate(texts):
            if text is not None:
                places_of.setdefault(look_of[text], []).append(place)
        for places in places_of.values():
            levels = {joined[place] for place in places}
            is_told_apart = all(stored[place] in attribute.labels for place in places)
            if len(levels) > 1 and not (texts is stored and is_told_apart):
                sets.append(sorted({text for place in places if (text := texts[place])}))
                joined_level = min(levels, key=rank)
                for place in places:
                    joined[place] = joined_level
    return joined, sets


def note_oddities(
    attribute: Protected,
    levels: Sequence[str],
    alike: Iterable[Sequence[str]],
    missing: Missing,
    problems: Problems,
) -> None:
    """Adds notices on levels that are likely the same, or likely mean missing."""
    words = {*missing.tokens, *attribute.unknown}
    declared = {lookalike(word) for word in words if word}
    for same in alike:
        if lookalike(same[0]) not in declared:
            what = f"the levels {listing(same)} are counted apart; `merge` or `trim` joins them"
            problems.note(attribute.name, what)
    made = attribute.derivation
    if isinstance(made, Period) and (gaps := made.find_gaps(levels)):
        problems.note(attribute.name, f"no row is of {listing(gaps)}", Subjects.ANYBODY)
    unknown = [level for level in levels if is_like_unknown(level) and level != attribute.other]
    if unknown:
        line = json.dumps([*attribute.unknown, *unknown], ensure_ascii=False)
        what = f"{listing(unknown)} counts as a group like any other; if nothing is known of these "
        remedy = f"people, write `{attribute.name}: {{unknown: {line}}}`"
        problems.note(attribute.name, what + remedy)
    blank = [
        level
        for level in dict.fromkeys([*levels, *(level for same in alike for level in same)])
        if (is_like_missing(level) or (declared and lookalike(level) in declared))
        and level not in words
        and level not in unknown
    ]
    if blank:
        what = f"{listing(blank)} counts as a level like any other; if it means missing, write "
        problems.note(attribute.name, f"{what}{missing.declare(*blank)}, or name it in `unknown`")


def note_folded(attribute: Protected, folded: Mapping[str, str], problems: Problems) -> None:
    """Adds a notice on levels that likely mean unknown and are merged into another level."""
    unknown = [
        level
        for level, name in folded.items()
        if (is_like_unknown(level) or is_like_missing(level)) and not is_like_unknown(name)
    ]
    if unknown:
        words = [*dict.fromkeys([*attribute.unknown, *unknown])]
        line = json.dumps(words, ensure_ascii=False)
        joined = listing([*dict.fromkeys(folded[level] for level in unknown)])
        what = f"{listing(unknown)} counts as a part of {joined}; if nothing is known of these "
        remedy = f"people, write instead `{attribute.name}: {{unknown: {line}}}`"
        problems.note(attribute.name, what + remedy)


def notice_merged(counts: Counts, spec: Spec, axes: Sequence[Axis]) -> Iterator[Notice]:
    """Notices on groups that join a level of the data with levels that have another rate.

    Joining is common, so a notice needs a significant difference of 10 points or four fifths.
    """
    own = {one.name for one in spec.protected if not one.is_cut}
    joined = [axis for axis in axes if axis.key.name in own and axis.key.levels]
    decisions = [axis for axis in axes if axis.key.role is Role.PREDICTION and axis.key.positive]
    for axis, outcome in product(joined, decisions):
        key, raw_key = axis.key, counts.text_key(axis.column)
        there = (counts.kept == 1) & (axis.codes >= 0) & (outcome.codes >= 0)
        there &= ~np.isin(axis.codes, [*key.unknown])
        is_hit = there & np.isin(outcome.codes, [*(outcome.key.positive or ())])
        group = np.zeros(raw_key.size, dtype=np.int64)
        group[raw_key.codes[there]] = axis.codes[there]
        raw, size, people = raw_key.codes, raw_key.size, counts.people
        n, hits = (add_up(people[side], raw[side], size) for side in (there, is_hit))
        m, others = (add_up(each, group, len(key.levels))[group] - each for each in (n, hits))
        low, high = np.sort([hits / np.maximum(n, 1), others / np.maximum(m, 1)], axis=0)
        is_far = (high - low >= _FAR_APART) | (low < _FOUR_FIFTHS * high)
        codes = np.flatnonzero(is_far & (np.minimum(n, m) >= (spec.minimum.size or _FAR)))
        p = contingency.fisher_mid_p(hits[codes], n[codes], others[codes], m[codes])
        surest = codes[np.argsort(p)][np.sort(p) < float(spec.inference.alpha) / raw_key.size]
        for code in {group[code]: code for code in surest[::-1].tolist()}.values():
            text = (raw_key.levels[code] or "").replace(BETWEEN, ", ").replace(ABSENT, "")
            what = f"{key.name}: the group {quoted(key.levels[group[code]])} joins {quoted(text)} "
            what += f"(positive {outcome.key.name}: {percent(hits[code] / n[code])} of {n[code]:,} "
            what += f"people) with others ({percent(others[code] / m[code])} of {m[code]:,} people)"
            yield Notice(what, Subjects.NEVER)


def notice_sentinels(counts: Counts, spec: Spec) -> Iterator[Notice]:
    """A notice for each column with numbers that likely mean missing, such as 999 or -1.

    Almost no other numbers are more extreme. In a numeric outcome, they are also far from the mean.
    """
    cut = {one.column.value for one in spec.groupable if one.is_cut}
    cut |= {one.column.value for one in spec.outcomes if one.is_cut}
    for raw_key in counts.keys:
        column, edges, codes = raw_key.key.column, raw_key.key.edges or (), raw_key.codes
        is_of_filter = column not in cut and column not in counts.plan.adding.columns
        seen = counts.kept != -1 if is_of_filter else counts.kept == 1
        code_of = {
            number: edges.index(around[0]) + (number > around[0].value or len(around) > 1)
            for number, around in AROUND.items()
            if {*around} <= {*edges}
        }
        others = seen & (codes >= 0)
        for code in code_of.values():
            others &= codes != code
        if not code_of or not others.any():
            continue
        texts, infinite = dict[str, str](), False
        for number, code in code_of.items():
            rows = int(counts.file_rows[seen & (codes == code)].sum())
            beyond = others & (codes > code if number > 0 else codes < code)
            is_most = rows > _FAR * int(counts.file_rows[beyond].sum())
            if not rows or not is_most or not _is_far(number, column, counts, others):
                continue
            removed = int(counts.file_rows[(counts.kept == 0) & (codes == code)].sum())
            by_filter = f", {removed:,} removed by the filter" if is_of_filter and removed else ""
            infinite |= number.is_infinite()
            texts[str(number)] = f"{number} ({rows:,} {'row' if rows == 1 else 'rows'}{by_filter})"
        if texts:
            yield Notice(
                f"{column}: {' and '.join(texts.values())} may be missing values; if so, "
                + ("leave them blank" if infinite else f"write {spec.missing.declare(*texts)}"),
                Subjects.NEVER,
            )


def notice_per_cent_cuts(counts: Counts) -> Iterator[Notice]:
    """Notices on columns with cuts below 100 that have both fractions and numbers in per cent."""
    for raw_key in counts.keys:
        edges = raw_key.key.edges or ()
        if {*PER_CENT} <= {*edges}:
            passed = [
                int(counts.people[raw_key.codes > edges.index(edge)].sum()) for edge in PER_CENT
            ]
            above_0, at_1, above_1, above_2, above_100 = passed
            yield from notice_per_cent(
                raw_key.key.column, above_0 - at_1, above_1 - above_2, above_2 - above_100
            )


def notice_per_cent(column: str, fractions: int, to_2: int, to_100: int) -> Iterator[Notice]:
    """A notice if some values are fractions, and others are in per cent.

    The counts are the numbers of values in 0–1, 1–2 and 2–100. In most other columns, values that
    are rare in 1–2 are not frequent again in 2–100.
    """
    fewer = min(fractions, to_100)
    is_frequent = fewer >= _FEWEST_SHARES and _RARE * fewer >= fractions + to_100
    if is_frequent and fractions > _DROP_AT_1 * to_2 and to_100 > _RISE_AT_2 * to_2:
        yield Notice(
            f"{column}: {fractions:,} values lie between 0 and 1, and {to_100:,} between 2 and "
            "100: if some are in per cent, divide these by 100",
            Subjects.NEVER,
        )


def notice_filtered_outcomes(counts: Counts, spec: Spec, axes: Iterable[Axis]) -> Iterator[Notice]:
    """Notices if the filter selects people by an outcome, because rates describe only these people.

    A filter selects by an outcome if it uses the column of the outcome, or if it keeps or removes
    almost no people of one class. The second rule is not for `--for-each`, which removes levels.
    """
    why = "rates and gaps describe only people whose outcome it keeps"
    read, removed = filter_columns(counts.plan), int(counts.file_rows[counts.kept == 0].sum())
    outcomes = [one.name for one in spec.outcomes if one.column.value in read]
    if outcomes and removed:
        count = f" and removes {removed:,} {'row' if removed == 1 else 'rows'}"
        what = f"the filter uses the column of {listing(outcomes)}{'' if spec.is_level else count}"
        yield Notice(f"{what}: {why}", Subjects.NEVER)
    for axis in () if spec.is_level else axes:
        if axis.key.positive is None or axis.key.name in outcomes:
            continue
        # A value that occurs only in removed rows is not a class, and counts as not positive.
        sides = ((counts.kept == 0) & ~axis.missing, (counts.kept == 1) & (axis.codes >= 0))
        positive = np.isin(axis.codes, list(axis.key.positive))
        people = np.array(
            [[counts.people[side & of].sum() for side in sides] for of in (positive, ~positive)],
            dtype=np.float64,
        )
        expected = people.sum(axis=0) * people.sum(axis=1)[:, None] / max(people.sum(), 1.0)
        if ((expected >= _FAR) & (_FAR * people <= expected)).any():
            shares = people[0] / people.sum(axis=0)
            yield Notice(
                f"{axis.key.name}: {percent(shares[1])} of the people whom the filter keeps are "
                f"positive, and {percent(shares[0])} of those whom it removes: {why}",
                Subjects.NEVER,
            )


def notice_odd_dates(counts: Counts, spec: Spec) -> Iterator[Notice]:
    """A notice for each column with dates that likely mean missing: 1900-01-01 or 9999-12-31."""
    columns = {one.name: one.column for one in counts.plan.derived if isinstance(one, OddDates)}
    for raw_key in counts.keys:
        name = raw_key.key.column
        found = [code for code, level in enumerate(raw_key.levels) if level in {"early", "late"}]
        is_odd = np.isin(raw_key.codes, found)
        rows = int(counts.file_rows[(counts.kept != -1) & is_odd].sum())
        if name not in columns or not rows:
            continue
        removed = int(counts.file_rows[(counts.kept == 0) & is_odd].sum())
        by_filter = f" ({removed:,} removed by the filter)" if removed else ""
        likely = "9999-12-31" if "early" not in raw_key.levels else "1900-01-01"
        yield Notice(
            f"{columns[name]}: {rows:,} {'row has' if rows == 1 else 'rows have'} a date before "
            f"1901 or after 2099{by_filter}; if such a date means that the date is missing, write "
            f"{spec.missing.declare(likely)}",
            Subjects.NEVER,
        )


def _is_far(number: Decimal, column: str, counts: Counts, others: Marks) -> bool:
    """Whether a number is far from the mean of the other rows; True for a column without sums."""
    sums, squares = (
        counts.amounts.get(name) for name in (("sum", column), ("product", column, column))
    )
    if sums is None or squares is None:
        return True
    cells = np.flatnonzero(others).tolist()
    people = int(counts.people[others].sum())
    mean = sum(sums[cell] for cell in cells) / ADDED_SCALE / max(people, 1)
    variance = sum(squares[cell] for cell in cells) / ADDED_SCALE**2 / max(people, 1) - mean**2
    return (
        abs(float(number) - mean) > _FAR * math.sqrt(max(variance, 0)) if number > 0 else mean > 1
    )


class Alike(Frozen, eq=False):
    """The sets of levels with similar spelling, by column, and the `cube` that joins them."""

    levels: Mapping[str, Sequence[Sequence[str]]]
    cube: Cube

    def describe(self, names: Sequence[str]) -> str:
        """The similar levels of these columns as text."""
        return "; ".join(
            f"{listing(same)} of {quoted(name)}" for name in names for same in self.levels[name]
        )


def make_outcome_axis(outcome: Outcome, counts: Counts, spec: Spec, problems: Problems) -> Axis:
    """The axis of a label, prediction or decision; adds faults for undeclared values."""
    role = Role.LABEL if outcome.name == "label" else Role.PREDICTION
    policy = spec.missing.label if role is Role.LABEL else spec.missing.prediction
    if outcome.threshold is not None:
        return _make_cut_axis(outcome, role, policy, counts, problems)
    raw_key = counts.text_key(outcome.column.value)
    missing_words = {"", *spec.missing.tokens}
    levels_read = [None if level in missing_words else level for level in raw_key.levels]
    present = set(raw_key.codes[(counts.kept == 1) & (counts.rows > 0)].tolist())
    occurring = (level for code, level in enumerate(levels_read) if code in present)
    classes = _Classes(outcome, filter(None, levels_read), filter(None, occurring), problems)
    positive = classes.positive
    dropped = classes.list_dropped() if outcome.binary else set[str]()
    known = (classes.occurring | positive | classes.negative) - dropped
    # Classes that `order` names are levels even if no row has them.
    ordered = [classes.find(text.value) for text in outcome.order]
    if outcome.order and known - {*ordered}:
        missing = listing(sorted(known - {*ordered}))
        what = f"{quoted(outcome.column.value)} holds classes that `order` does not name: {missing}"
        problems.fault(outcome.order[0], what)
    levels = tuple(ordered) if outcome.order else tuple(sorted(known))
    place = {level: code for code, level in enumerate(levels)}
    place |= dict.fromkeys(classes.outside, OUTSIDE)
    left_out = DROP if policy is MissingPolicy.DROP else NO_LEVEL

    def code(level: str | None) -> int:
        return left_out if level is None else place.get(classes.find(level), DROP)

    key = KeyColumn(
        outcome.name,
        role,
        levels,
        positive=frozenset(place[name] for name in positive if name in place)
        if outcome.binary
        else None,
        favourable=outcome.favourable,
    )
    return Axis(
        key,
        np.array([code(level) for level in levels_read], dtype=np.int64)[raw_key.codes],
        outcome.column.value,
        str(role),
        policy,
        missing=np.array([level is None for level in levels_read], dtype=np.bool_)[raw_key.codes],
    )


class _Classes:
    """The classes of an outcome column. Levels with equal values are one class.

    Numbers and booleans are compared by value, so `1` and `1.0` are one class. Any other text is a
    class. A class has the name of its first level. `occurring` are the classes that have rows. The
    methods add the problems that they find.
    """

    def __init__(
        self,
        outcome: Outcome,
        levels: Iterable[str],
        occurring: Iterable[str],
        problems: Problems,
    ) -> None:
        self.outcome, self.problems = outcome, problems
        self.column = quoted(outcome.column.value)
        self._by_value: dict[str, str] = {}
        for level in levels:
            self._by_value.setdefault(canonical(level), level)
        self.outside = {self.find(text.value) for text in outcome.outside}
        self.occurring = {*map(self.find, occurring)} - self.outside
        self.positive = {self.find(text.value) for text in outcome.positive}
        self.negative = {self.find(text.value) for text in outcome.negative}

    def find(self, text: str) -> str:
        """The class with the same value as a level or a text in the spec, or the text itself."""
        return self._by_value.get(canonical(text), text)

    def list_dropped(self) -> set[str]:
        """The classes that `others: drop` leaves out; adds faults for other undeclared classes."""
        outcome, problems, column = self.outcome, self.problems, self.column
        if outcome.is_assumed:  # the positive is 1 or true, and the other value must be 0 or false
            listed = sorted(self.occurring)
            values = {*map(canonical, listed)}
            if values - {"0", "1"}:
                what = f"{column} holds {listing(listed)}: name the positive ones in `positive`"
                problems.fault(outcome.column, f"{what}, or set a threshold: `at_least: 0.5`")
                return set()
            one = next((level for level in listed if canonical(level) == "1"), "1")
            what = f"{quoted(one)} of {column} is the positive, since the spec names none"
            problems.note(outcome.name, what)
            for value in sorted({"0", "1"} - values):
                problems.note(outcome.name, f"no row has a {value} in {column}", Subjects.ANYBODY)
            return set()
        rest = self.occurring - self.positive - self.negative if self._check_names() else set()
        if alike := self._hint_alike((self.negative & self.occurring) - self.positive):
            problems.fault(outcome.negative[0], f"among the `negative` values {alike}")
            return set()
        if outcome.negative and rest and outcome.others == "drop":
            return rest
        if outcome.negative and rest:
            what = f"{column} holds values that are neither positive nor negative"
            others = "add them to `positive` or `negative` (of stages: to `order`), or set "
            others += "`others: drop`"
            hint = self._hint_alike(rest) or others
            problems.fault(outcome.column, f"{what}: {listing(sorted(rest))}; {hint}")
        elif not outcome.negative and len(rest) > 1:
            named = listing([text.value for text in outcome.positive])
            hint = self._hint_alike(rest) or "list the `negative` values"
            what = f"{column} has more than two values: in addition to {named} there are "
            problems.fault(outcome.column, f"{what}{listing(sorted(rest))}; {hint}")
        elif not outcome.negative:
            for name in rest:
                if is_like_missing(name) or self._hint_alike([name]):
                    what = f"{quoted(name)} counts as the negative, for it is the only other "
                    remedy = "value; say what is `negative`, or name it in `missing.tokens`"
                    problems.note(outcome.name, what + remedy)
            several = self.positive & self.occurring
            if not rest and len(several) > 1:
                what = f"all values of {column} are positive: {listing(sorted(several))}"
                hint = "list only the positive values; if all values are positive, declare what "
                problems.fault(outcome.positive[0], f"{what}; {hint}would be `negative`")
        return set()

    def _check_names(self) -> bool:
        """Whether the spec names all classes correctly; adds faults.

        A positive without rows is a fault, except in two cases. If a declared negative has rows,
        there may be no positives, for example in one month. An outcome with `outside` values may
        apply to no people. A negative with a typo is a fault.
        """
        outcome, problems, occurring = self.outcome, self.problems, self.occurring
        before = len(problems.faults)
        for text in () if outcome.outside else outcome.positive:
            if self.find(text.value) in occurring:
                continue
            hint = did_you_mean(text.value, occurring)
            if self.negative & occurring and not hint:
                continue
            if self.positive & occurring and not hint:
                problems.note(
                    outcome.name, f"the positive value {quoted(text.value)} does not occur"
                )
                continue
            known = list_known(occurring, listing(sorted(occurring)) or "no value at all")
            message = f"the positive value {quoted(text.value)} never occurs in {self.column}"
            tail = hint or f"; {known}" + (
                "" if outcome.negative else " (a month without any: declare `negative`)"
            )
            if len(occurring) > 2 and all(map(is_value, occurring)):
                tail += "; write a threshold as `positive: {at_least: 0.5}`"
            problems.fault(text, message + tail)
        others = sorted(occurring - self.positive - self.negative)
        for text in outcome.negative if others else ():
            if self.find(text.value) in occurring:
                continue
            hint = did_you_mean(text.value, others)
            if hint or not self.negative & occurring:
                message = f"the negative value {quoted(text.value)} never occurs in {self.column}"
                tail = hint or f"; {list_known(others, listing(others))}"
                problems.fault(text, message + tail)
        return len(problems.faults) == before

    def _hint_alike(self, others: Iterable[str]) -> str:
        """Advice on values with a spelling similar to a positive; empty without such values."""
        listed = [text.value for text in self.outcome.positive]
        looks = {*map(lookalike, listed)}
        alike = sorted(name for name in others if lookalike(name) in looks)
        line = json.dumps([*listed, *alike], ensure_ascii=False)
        what = f"{listing(alike)} looks like a positive: if it is one, write `positive: {line}`"
        return f"{what}; if not, rename it in the data" if alike else ""


def _make_cut_axis(
    outcome: Outcome,
    role: Role,
    policy: MissingPolicy,
    counts: Counts,
    problems: Problems,
) -> Axis:
    """The axis of an outcome that is a cut of a number, with the classes negative and positive."""
    raw_key = counts.cut_key(outcome.column.value)
    edges = raw_key.key.edges or ()
    turning = edges_of(outcome.threshold) if outcome.threshold else ()
    raw = with_missing_last(raw_key)
    own = [(place, edge) for place, edge in enumerate(edges) if edge in turning]
    codes = [
        int(is_positive(outcome, [edge for place, edge in own if place < passed]))
        for passed in range(len(edges) + 1)
    ]
    codes.append(DROP if policy is MissingPolicy.DROP else NO_LEVEL)
    key = KeyColumn(
        outcome.name,
        role,
        ("negative", "positive"),
        positive=frozenset({1}),
        favourable=outcome.favourable,
    )
    missing = raw_key.codes == MISSING
    reached = np.array(codes)[raw]
    for code, word in ((1, "positive"), (0, "negative")):
        if not ((reached == code) & (counts.kept == 1)).any():
            problems.note(outcome.name, f"by its cut no row is {word}", Subjects.ANYBODY)
    return Axis(key, reached, outcome.column.value, str(role), policy, missing)


def make_number_axes(counts: Counts, spec: Spec) -> list[Axis]:
    """The axes of scores and numeric outcomes, one for each column and policy.

    They are not axes of the cube. The ledger uses them to count missing values.
    """
    rules = {"label": spec.missing.label, "prediction": spec.missing.prediction}
    rules |= {"score": spec.missing.score, "numbers": spec.missing.numbers}
    rule_of: dict[tuple[str, MissingPolicy], str] = {}
    for outcome in spec.outcomes:
        if outcome.kind is OutcomeKind.NUMBER:
            rule = "numbers" if outcome in spec.numbers else "prediction"
            rule = "label" if outcome is spec.label else rule
            rule_of.setdefault((outcome.column.value, rules[rule]), rule)
    for outcome in spec.outcomes:
        if outcome.score is not None:
            rule_of.setdefault((outcome.score.value, rules["score"]), "score")
    axes = []
    for (column, policy), rule in rule_of.items():
        missing = counts.cut_key(column).codes == MISSING
        codes = np.where(missing & (policy is MissingPolicy.DROP), DROP, 0)
        key = KeyColumn(column, Role.PREDICTION, ())
        axes.append(Axis(key, codes, column, rule, policy, missing))
    return axes

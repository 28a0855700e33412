"""Audited levels of groups: `trim`, `labels`, `merge`, `keep`, rules, bins and missing values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, islice

import numpy as np

from fairaudit.base.disclosure_marks import Subjects
from fairaudit.base.errors import MOST_FAULTS, DataError, Seek, did_you_mean, suggest_known
from fairaudit.base.frozen import Frozen
from fairaudit.base.names import canonical, is_like_total, listing, quoted
from fairaudit.counting.columns import ABSENT, BETWEEN, Combination
from fairaudit.counting.counts import Counts
from fairaudit.counting.plan import MOST_LEVELS, Edge
from fairaudit.counting.raw_counts import RawKey
from fairaudit.cube import NO_COUNTERPART, NO_LEVEL, UNKNOWN, KeyColumn, Role, add_up
from fairaudit.pipeline.plan_builder import NEGATIVE
from fairaudit.pipeline.recode import outcomes
from fairaudit.pipeline.recode.columns import DROP, Axis, Problems, with_missing_last
from fairaudit.spec import LocatedText, Missing, MissingPolicy, PropensityStrata, Protected, Spec
from fairaudit.spec.key_schema import REFERENCES


def group_axis(
    attribute: Protected, role: Role, counts: Counts, spec: Spec, problems: Problems
) -> Axis:
    """The axis of a protected attribute or a stratum."""
    rule = "protected" if role is Role.PROTECTED else "strata"
    # People without a counterpart are in no stratum of a model, and they stay in the audit.
    policy = MissingPolicy.SHOW if attribute.model is not None else getattr(spec.missing, rule)
    names: list[str | None]
    joined_names, alike = list[str | None](), list[list[str]]()
    if attribute.bins:
        # The column is cut at the edges of all its attributes; the last code means missing.
        raw_key, levels = counts.cut_key(attribute.column.value), attribute.bin_labels()
        own = {Edge(value, attribute.is_over) for value in attribute.bins}
        passed = accumulate((edge in own for edge in raw_key.key.edges or ()), initial=0)
        names, raw = [*(levels[number] for number in passed), None], with_missing_last(raw_key)
        _note_negative(attribute, counts, levels[0], problems)
    else:
        raw_key = counts.text_key(attribute.column.value)
        raw = raw_key.codes
        reading = _Levels(attribute, spec.missing, problems, counts)
        stored = reading.read(raw_key)
        names = reading.name(stored)
        levels = tuple(sorted({name for name in names if name is not None}))
        joined_names, alike = outcomes.join_alike(attribute, stored, names)
        outcomes.note_oddities(attribute, levels, alike, spec.missing, problems)
        kept = {names[code] for code in {*raw[counts.kept == 1].tolist()}}
        between = ", " if isinstance(attribute.derivation, Combination) else None
        parts = {level: level.split(between) if between else [level] for level in levels}
        if totals := [one for one in levels if one in kept and any(map(is_like_total, parts[one]))]:
            what = f"{listing(totals)} counts as a group like any other; if its rows are totals"
            remedy = "people are counted twice: leave them out with `filter`"
            problems.note(attribute.name, f"{what}, {remedy}")
        if len(levels) > MOST_LEVELS:
            what = f"{quoted(attribute.column.value)} has {len(levels):,} levels, and at most"
            hint = "if it is an id, remove it; otherwise reduce the levels with `keep`, `merge` or "
            hint += "`bins`"
            problems.fault(attribute.column, f"{what} {MOST_LEVELS:,} can be audited: {hint}")
    missing = np.array([name is None for name in names], dtype=np.bool_)[raw]
    nobody = NO_COUNTERPART if isinstance(attribute.model, PropensityStrata) else UNKNOWN
    if policy in {MissingPolicy.SHOW, MissingPolicy.GROUP} and missing.any():
        levels = (*levels, nobody)
    place: dict[str | None, int] = {level: code for code, level in enumerate(levels)}
    # Missing values leave only tables that use the column, unless missing strata are dropped.
    left_out = DROP if role is Role.STRATUM and policy is MissingPolicy.DROP else NO_LEVEL
    place[None] = place.get(nobody, left_out)
    unknown = frozenset({place[nobody]} if policy is MissingPolicy.SHOW and nobody in place else ())
    codes = np.array([place[name] for name in names], dtype=np.int64)[raw]
    joined = (
        np.array([place[name] for name in joined_names], dtype=np.int64)[raw] if alike else None
    )
    reference = attribute.reference
    if reference is not None and not attribute.bins and reference.value not in levels:
        hint = suggest_known(reference.value, levels, listing(levels))
        what = f"the reference {quoted(reference.value)} is not a level of {attribute.name}{hint}"
        problems.fault(reference, what)
    absent = tuple(_absent_levels(attribute, counts, levels))
    key = KeyColumn(attribute.name, role, levels, unknown, absent=absent)
    name = attribute.column.value
    return Axis(key, codes, name, rule, policy, missing, attribute.unknown, alike, joined)


def _note_negative(attribute: Protected, counts: Counts, lowest: str, problems: Problems) -> None:
    """Adds a notice on negative differences in the lowest bin, which begins above 0."""
    raw_key = counts.cut_key(attribute.column.value)
    if NEGATIVE in (raw_key.key.edges or ())[:1] and min(attribute.bins) > 0:
        rows = int(counts.file_rows[(counts.kept == 1) & (raw_key.codes == 0)].sum())
        what = f"rows with a negative difference ({rows:,}) count as {quoted(lowest)}: "
        what += "leave out errors with `filter`, or add a bin at 0"
        if rows:
            problems.note(attribute.name, what, Subjects.NEVER)


def _absent_levels(attribute: Protected, counts: Counts, levels: Sequence[str]) -> Iterator[str]:
    """The audited levels that a codebook declares but no row has."""
    if not attribute.codebook or attribute.bins:
        return
    stored = {text for text in counts.text_key(attribute.column.value).levels if text is not None}
    known, there = _Known(stored), {*levels}
    labels = {canonical(code): label for code, label in attribute.labels.items()}
    target_of = {
        text.value: target for target, texts in (attribute.merge or {}).items() for text in texts
    }
    kept = {*(attribute.merge or {}), *(text.value for text in attribute.keep or ())}
    names: dict[str, None] = {}
    for text in attribute.codebook:
        label = labels.get(canonical(text.value), text.value)
        name = target_of.get(label) or target_of.get(text.value) or label
        is_kept = attribute.keep is None or not kept.isdisjoint({name, text.value})
        is_there = known.find(text.value) in known or name in there
        if is_kept and not is_there and text.value not in attribute.unknown:
            names[name] = None
    yield from names


def refuse_absent_references(spec: Spec, axes: Iterable[Axis], problems: Problems) -> None:
    """Adds a fault for each reference in the spec that no row has as a level."""
    keys = {axis.key.name: axis.key for axis in axes}
    for names, text in spec.references:
        levels = [level for name in names if name in keys for level in keys[name].levels]
        levels = [level for level in levels if level != UNKNOWN]
        if text.value not in levels:
            word = did_you_mean(text.value, REFERENCES)
            hint = word or suggest_known(text.value, levels, listing(levels))
            what = f"the reference {quoted(text.value)} is not a level of {' or '.join(names)}"
            problems.fault(text, what + hint)


class _Levels(Frozen):
    """Reads the levels of an attribute, and adds the problems that it finds."""

    attribute: Protected
    missing: Missing
    problems: Problems
    counts: Counts

    def name(self, levels_read: Sequence[str | None]) -> list[str | None]:
        """The audited level for each level that was read; None for an unknown level."""
        attribute, problems = self.attribute, self.problems
        known = [level for level in levels_read if level is not None]
        unknown = self._missing_words(known)
        if UNKNOWN in known and UNKNOWN not in unknown:
            problems.fault(
                attribute.column,
                f"{quoted(attribute.column.value)} holds the level {quoted(UNKNOWN)}, the name "
                f"for unknown values: add `unknown: [{UNKNOWN}]`, or rename it in the data",
            )
        self._note_labels(known)
        stored_levels = _Known(known)
        absent = (
            word for word in attribute.unknown if stored_levels.find(word) not in stored_levels
        )
        for word in islice(absent, MOST_FAULTS):
            if hint := did_you_mean(word, known):
                problems.note(attribute.name, f"{quoted(word)} of `unknown` does not occur{hint}")
        known = [level for level in known if level not in unknown]
        stored_levels = _Known(known)
        stored = {stored_levels.find(code): label for code, label in attribute.labels.items()}
        label_of = {level: stored.get(level, level) for level in known}
        labelled = {*label_of.values()}

        def resolve(text: LocatedText, *, may_lack: bool = False) -> str:
            label = label_of.get(stored_levels.find(text.value), text.value)
            is_declared = attribute.codebook is not None or text.value in attribute.rules
            if label not in labelled and not is_declared and not may_lack:
                hint = suggest_known(text.value, labelled, listing(sorted(labelled)))
                what = f"no level {quoted(text.value)} in {attribute.name}{hint}"
                more = "correct it, or list it in `levels:` if it may be absent"
                problems.fault(text, f"{what}: {more}")
            return label

        target: dict[str, str] = {}
        for name, texts in (attribute.merge or {}).items():
            sources = [resolve(text, may_lack=True) for text in texts]
            lacking = [label for label in sources if label not in labelled]
            # Different exports contain different combinations, so some may be absent.
            if attribute.several == "combination" and len(lacking) < len(texts):
                self._note_absent("merge", lacking)
            else:
                sources = [resolve(text) for text in texts]
            target |= dict.fromkeys(sources, name)
        kept: set[str] | None = None
        if attribute.keep is not None:
            merged = {*(attribute.merge or {})}
            kept = merged | {resolve(text) for text in attribute.keep if text.value not in merged}

        def audited(level: str | None) -> str | None:
            if level is None or level in unknown:
                return None
            name = target.get(label_of[level], label_of[level])
            return attribute.other if kept is not None and name not in kept else name

        names = {label_of[level]: audited(level) for level in known}
        folded = {label: name for label, name in names.items() if name and label != name}
        outcomes.note_folded(attribute, folded, problems)
        return [audited(level) for level in levels_read]

    def read(self, raw_key: RawKey) -> list[str | None]:
        """The stored levels. For combined columns, the levels by the rules of the spec.

        A value with several parts (`split`) becomes its known part if there is only one. Otherwise
        it becomes the level for several parts. Equal parts count once.
        """
        if isinstance(self.attribute.derivation, Combination):
            return self._combine(self.attribute.derivation, raw_key)
        levels = [self._trim(level) for level in raw_key.levels]
        attribute, several = self.attribute, list[str]()
        if not attribute.split:
            return levels
        separator = re.compile("|".join(map(re.escape, attribute.split)))

        def join(level: str) -> str:
            parts = [part.strip() for part in separator.split(level)]
            words = self._missing_words(parts)
            known = sorted({part for part in parts if part not in words})
            if len(known) < 2:
                return known[0] if known else parts[0]
            several.append(level)
            return " + ".join(known) if attribute.several == "combination" else attribute.several

        joined = [None if level is None else join(level) for level in levels]
        if several:
            how = f"as {quoted(attribute.several)}"
            if attribute.several == "combination":
                how = "by their combination"
            what = f"cells with several values, such as {listing(several, 5)}, are counted {how}"
            self.problems.note(attribute.name, what)
        return joined

    def _trim(self, level: str | None) -> str | None:
        return level.strip() if level is not None and self.attribute.trim else level

    def _missing_words(self, known: Sequence[str]) -> set[str]:
        levels = _Known(known)
        words = {*map(levels.find, self.attribute.unknown)}
        by_label = {
            levels.find(code)
            for code, label in self.attribute.labels.items()
            if label in words and label not in levels
        }
        return {"", *self.missing.tokens, *words, *by_label}

    def _combine(self, combination: Combination, raw_key: RawKey) -> list[str | None]:
        """The level of each combination, by the first rule that fits; all its levels without rules.

        If a rule depends on a missing level, the combination is missing (None). If a rule names a
        blank, blanks are a level in all columns and do not mean missing.
        """
        names, attribute = combination.columns, self.attribute
        rows = [(level or "").split(BETWEEN, len(names) - 1) for level in raw_key.levels]
        columns: dict[str, list[str | None]] = {}
        conditions = [needed for several in attribute.rules.values() for needed in several]
        texts = [text for needed in conditions for texts in needed.values() for text in texts]
        is_blank_a_level = any(not text.value for text in texts)
        for name, parts in zip(names, zip(*rows, strict=True), strict=True) if rows else ():
            absent = "" if is_blank_a_level else None
            stored = [absent if part == ABSENT else self._trim(part) for part in parts]
            words = self._missing_words([part for part in stored if part is not None])
            words -= {""} if is_blank_a_level else set()
            columns[name] = [None if part in words else part for part in stored]
        known = {
            name: _Known(part for part in parts if part is not None)
            for name, parts in columns.items()
        }
        everywhere = _Known(
            part for parts in columns.values() for part in parts if part is not None
        )
        rules = {
            level: [
                {
                    name: self._find_parts(texts, known[name], name, everywhere)
                    for name, texts in needed.items()
                }
                for needed in conditions
            ]
            for level, conditions in attribute.rules.items()
        }

        def combine(row: int) -> str | None:
            parts = {name: levels[row] for name, levels in columns.items()}
            if not rules:
                there = [part for part in parts.values() if part is not None]
                return ", ".join(there) if len(there) == len(parts) else None
            for level, conditions in rules.items():
                found = {_meets(needed, parts) for needed in conditions}
                if True in found:
                    return level
                if None in found:
                    return None
            return attribute.other

        combined = [combine(row) for row in range(len(rows))]
        every = [{name: of[row] for name, of in columns.items()} for row in range(len(rows))]
        for level, several in rules.items():
            met = [any(_meets(needed, parts) for needed in several) for parts in every]
            self._note_unreached(level, np.flatnonzero(met).tolist(), combined, raw_key)
        folded = {
            part: level
            for name, parts in columns.items()
            for part, level in zip(parts, combined, strict=True)
            if part and level and rules
            if level == attribute.other
            or any(part in needed.get(name, ()) for needed in rules.get(level, ()))
        }
        outcomes.note_folded(attribute, folded, self.problems)
        return combined

    def _note_unreached(
        self, level: str, met: Sequence[int], combined: Sequence[str | None], raw_key: RawKey
    ) -> None:
        """Adds a notice if no row has a `level` of `rule` although rows meet its conditions."""
        kept = np.where(self.counts.kept == 1, self.counts.file_rows, 0)
        sizes = add_up(kept, raw_key.codes, len(combined)).tolist()
        there = [row for row in met if combined[row] is not None and sizes[row]]
        taken = [*dict.fromkeys(str(combined[row]) for row in there)]
        if taken and level not in taken:
            what = f"no row has the level {quoted(level)} of `rule`: an earlier rule makes the "
            what += f"{sum(sizes[row] for row in there):,} rows that meet its condition "
            self.problems.note(self.attribute.name, what + listing(taken), Subjects.NEVER)

    def _find_parts(
        self, texts: Sequence[LocatedText], known: _Known, column: str, everywhere: _Known
    ) -> set[str]:
        """The levels of a combined column that a condition of a rule names.

        It is a fault if all of these levels are absent from all columns. If only some are absent,
        or if a codebook declares them, there is a notice on the absent levels.
        """
        levels = sorted(known.levels)
        absent = [text for text in texts if known.find(text.value) not in known]
        nowhere = [text for text in absent if everywhere.find(text.value) not in everywhere]
        is_expected, problems = self.attribute.codebook is not None, self.problems
        if not is_expected and 0 < len(nowhere) < len(texts):
            lacking = listing([text.value for text in nowhere])
            problems.note(self.attribute.name, f"no level {lacking} in its columns")
            nowhere = []
        for text in absent if is_expected else nowhere:
            hint = suggest_known(text.value, levels, listing(levels))
            what = f"no level {quoted(text.value)} in {column}{hint}"
            if is_expected:
                problems.note(self.attribute.name, what)
            else:
                problems.fault(text, f"{what} (list levels that may be absent in `levels:`)")
        return {known.find(text.value) for text in texts}

    def _note_labels(self, known: Sequence[str]) -> None:
        """Adds notices on labels that are also the text of another level, and on absent codes.

        With a codebook, absent codes are expected. Two labels of one level are a fault.
        """
        attribute, problems = self.attribute, self.problems
        levels = _Known(known)
        codes_of: dict[str, list[str]] = {}
        for code in attribute.labels:
            codes_of.setdefault(levels.find(code), []).append(code)
        for codes in codes_of.values():
            if len({attribute.labels[code] for code in codes}) > 1:
                what = f"{listing(codes)} of `labels` are one level of {attribute.name}: "
                problems.fault(attribute.column, f"{what}name it once")
        for code, label in attribute.labels.items():
            stored = levels.find(code)
            if label != stored in levels and label in levels and label not in codes_of:
                what = f"{quoted(stored)} joins the level {quoted(label)} by its label"
                problems.note(attribute.name, what)
        absent = [
            code for level, codes in codes_of.items() if level not in levels for code in codes
        ]
        self._note_absent("labels", absent)

    def _note_absent(self, key: str, absent: Sequence[str]) -> None:
        """Adds a notice on absent words of a key; with a codebook, absent words are expected."""
        if absent and self.attribute.codebook is None:
            verb = "does" if len(absent) == 1 else "do"
            self.problems.note(
                self.attribute.name, f"{listing(absent)} of `{key}` {verb} not occur"
            )


def _meets(needed: Mapping[str, set[str]], parts: Mapping[str, str | None]) -> bool | None:
    """Whether combined levels meet a condition; None if this depends on a missing level."""
    are_in = {
        None if (part := parts[name]) is None else part in levels for name, levels in needed.items()
    }
    return None if None in are_in and False not in are_in else False not in are_in


def refuse_undeclared(attribute: Protected, counts: Counts, missing: Missing) -> None:
    """Raises `DataError` if the data has a level that the codebook does not declare."""
    if attribute.codebook is None:
        return
    raw_key = counts.text_key(attribute.column.value)
    levels = _Levels(attribute, missing, Problems(), counts).read(raw_key)
    known = [level for level in levels if level is not None]
    words = [*missing.tokens, *attribute.unknown, *(text.value for text in attribute.codebook)]
    declared = {"", None, *map(_Known(known).find, words)}
    undeclared = [
        (code, stored)
        for code, (level, stored) in enumerate(zip(levels, raw_key.levels, strict=True))
        if level not in declared
    ]
    codes = [code for code, _ in undeclared]
    rows = int(counts.file_rows[(counts.kept == 1) & np.isin(raw_key.codes, codes)].sum())
    if rows:
        texts = tuple(stored for _, stored in undeclared)
        undeclared_levels = listing([text for text in texts if text is not None])
        what = f"a {attribute.name} of {undeclared_levels}, which `levels` leaves out"
        raise DataError(
            f"{rows:,} {'row has' if rows == 1 else 'rows have'} {what}",
            "correct the data, or add the level to `levels`",
            seek=Seek(attribute.column.value, texts),
            uncounted=f"rows have {what}",
        )


class _Known:
    """Stored levels, which can be found by text or by equal value."""

    def __init__(self, levels: Iterable[str]) -> None:
        self.levels = set(levels)
        self._equal: dict[str, list[str]] = {}
        for level in self.levels:
            self._equal.setdefault(canonical(level), []).append(level)

    def __contains__(self, level: str) -> bool:
        return level in self.levels

    def find(self, word: str) -> str:
        """The level with the same text, or the only level with an equal value; otherwise `word`."""
        equal = self._equal.get(canonical(word), ())
        return equal[0] if word not in self.levels and len(equal) == 1 else word

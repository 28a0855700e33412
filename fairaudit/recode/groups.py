"""Protected attributes and strata: trim, unknown, merge, keep and other, bins, in this order."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import numpy as np

from fairaudit.counts import Counts, RawKey
from fairaudit.cube import NO_LEVEL, UNKNOWN, Ints, KeyColumn, Role
from fairaudit.disclosure import Notice, Subjects
from fairaudit.errors import did_you_mean
from fairaudit.names import quoted
from fairaudit.plan import MOST_LEVELS
from fairaudit.recode.axes import DROP, Axis, Findings, with_missing_last
from fairaudit.recode.levels import alike, canonical, is_like_missing, listing
from fairaudit.spec import Missing, MissingPolicy, Protected, Spec, Text


def group_axis(
    attribute: Protected,
    role: Role,
    counts: Counts,
    spec: Spec,
    findings: Findings,
) -> Axis:
    """The axis of a protected attribute or a stratum."""
    is_protected = role is Role.PROTECTED
    policy = spec.missing.protected if is_protected else spec.missing.strata
    if attribute.model is not None:
        # Whoever has no counterpart is in no stratum, and in the audit all the same.
        policy = MissingPolicy.SHOW
    if attribute.bins:
        names, raw, levels = _binned(attribute, counts)
    else:
        raw_key = counts.text_key(attribute.column.value)
        raw = raw_key.codes
        names = _level_names(attribute, raw_key, spec.missing, findings)
        levels = tuple(sorted({name for name in names if name is not None}))
        findings.notices += _oddities(attribute, levels, spec.missing)
        if len(levels) > MOST_LEVELS:
            findings.faults.append(
                attribute.column.fault(
                    f"{quoted(attribute.column.value)} has {len(levels):,} levels, and at most "
                    f"{MOST_LEVELS:,} can be audited: is it an id? "
                    "`keep`, `merge` or `bins` make fewer"
                )
            )
    missing = np.array([name is None for name in names], dtype=np.bool_)[raw]
    if policy in {MissingPolicy.SHOW, MissingPolicy.GROUP} and missing.any():
        levels = (*levels, UNKNOWN)
    place: dict[str | None, int] = {level: code for code, level in enumerate(levels)}
    # A protected value or stratum that is set aside or dropped leaves the subsets that use it.
    left_out = DROP if role is Role.STRATUM and policy is MissingPolicy.DROP else NO_LEVEL
    place[None] = place.get(UNKNOWN, left_out)
    unknown = frozenset(
        {place[UNKNOWN]} if policy is MissingPolicy.SHOW and UNKNOWN in place else ()
    )
    codes = np.array([place[name] for name in names], dtype=np.int64)[raw]
    _check_reference(attribute, levels, findings)
    key = KeyColumn(attribute.name, role, levels, unknown)
    rule = "protected" if is_protected else "strata"
    return Axis(key, codes, attribute.column.value, rule, policy, missing, attribute.unknown)


def _check_reference(attribute: Protected, levels: Sequence[str], findings: Findings) -> None:
    """Adds a fault where the declared reference is no level of the data."""
    reference = attribute.reference
    if reference is not None and not attribute.bins and reference.value not in levels:
        hint = did_you_mean(reference.value, levels) or f"; there are {listing(levels)}"
        message = f"the reference {quoted(reference.value)} is no level of {attribute.name}{hint}"
        findings.faults.append(reference.fault(message))


def candidate_axis(raw_key: RawKey) -> Axis:
    """The axis of a candidate of a search: its levels as they are stored, missing ones shown."""
    column = raw_key.key.column
    levels = tuple(sorted(level for level in raw_key.levels if level is not None))
    place: dict[str | None, int] = {level: code for code, level in enumerate((*levels, UNKNOWN))}
    place[None] = place[UNKNOWN]
    codes = np.array([place[level] for level in raw_key.levels], dtype=np.int64)[raw_key.codes]
    key = KeyColumn(column, Role.STRATUM, (*levels, UNKNOWN), frozenset({place[UNKNOWN]}))
    return Axis(key, codes, column, "strata", MissingPolicy.SHOW, codes == place[UNKNOWN])


def _oddities(attribute: Protected, levels: Sequence[str], missing: Missing) -> list[Notice]:
    """Notices on levels that are likely one, or likely mean missing; none is joined silently."""
    oddities = [
        Notice(
            f"{attribute.name}: the levels {listing(same)} are counted apart; `merge` or `trim` "
            "joins them",
            Subjects.NOBODY,
        )
        for same in alike(levels)
    ]
    blank = [level for level in levels if is_like_missing(level)]
    if blank:
        tokens = json.dumps([*missing.tokens, *blank], ensure_ascii=False)
        what = (
            f"{attribute.name}: {listing(blank)} counts as a level like any other; if it means "
            f"missing, say `missing: {{tokens: {tokens}}}`, or name it in `unknown`"
        )
        oddities.append(Notice(what, Subjects.NOBODY))
    return oddities


def _binned(attribute: Protected, counts: Counts) -> tuple[list[str | None], Ints, tuple[str, ...]]:
    """The bin of each interval of the union of all cuts on that column; missing stands last."""
    raw_key = counts.cut_key(attribute.column.value)
    edges = raw_key.key.edges or ()
    own = [edge for edge in edges if not edge.beyond and edge.value in set(attribute.bins)]
    labels = attribute.bin_labels()
    names: list[str | None] = [
        labels[sum(edge in own for edge in edges[:passed])] for passed in range(len(edges) + 1)
    ]
    return [*names, None], with_missing_last(raw_key), labels


def _level_names(
    attribute: Protected, raw_key: RawKey, missing: Missing, findings: Findings
) -> list[str | None]:
    """The audited level of each raw level; None where it is not known."""
    levels_read = [
        level.strip() if level is not None and attribute.trim else level for level in raw_key.levels
    ]
    known = [level for level in levels_read if level is not None]
    unknown = {"", *missing.tokens, *(_stored(word, known) for word in attribute.unknown)}
    if UNKNOWN in known and UNKNOWN not in unknown:
        findings.faults.append(
            attribute.column.fault(
                f"{quoted(attribute.column.value)} holds the level {quoted(UNKNOWN)}, the name of "
                f"those who are not known: say `unknown: [{UNKNOWN}]`, or rename it in the data"
            )
        )
    known = [level for level in known if level not in unknown]
    target = {}
    for name, levels in (attribute.merge or {}).items():
        for text in levels:
            target[_named(text, known, attribute, findings)] = name
    kept: set[str] | None = None
    if attribute.keep is not None:
        kept = {_named(text, known, attribute, findings) for text in attribute.keep}
        kept |= {*(attribute.merge or {})}

    def audited(level: str | None) -> str | None:
        if level is None or level in unknown:
            return None
        name = target.get(level, level)
        return attribute.other if kept is not None and name not in kept else name

    return [audited(level) for level in levels_read]


def _named(text: Text, known: Sequence[str], attribute: Protected, findings: Findings) -> str:
    """The stored level that a recoding names; a fault where it is likely a typo, else a notice."""
    stored = _stored(text.value, known)
    if stored not in known:
        hint = did_you_mean(text.value, known)
        if hint:
            findings.faults.append(
                text.fault(f"no level {quoted(text.value)} in {attribute.name}{hint}")
            )
        else:
            what = f"{attribute.name}: the level {quoted(text.value)} does not occur"
            findings.notices.append(Notice(what, Subjects.NOBODY))
    return stored


def _stored(word: str, known: Iterable[str]) -> str:
    """A level as the file stores it: the same text, else the only one of equal value."""
    known = set(known)
    if word in known:
        return word
    equal = [level for level in known if canonical(level) == canonical(word)]
    return equal[0] if len(equal) == 1 else word

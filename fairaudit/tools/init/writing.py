"""First spec: its YAML text, with proposed bins, metrics and limits as comments."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from fairaudit.base import names
from fairaudit.base.names import lookalike
from fairaudit.counting.columns import CsvFormat, MaskedCount
from fairaudit.counting.sources.profiles import ColumnProfile, FileProfile
from fairaudit.pipeline.audit_task import today
from fairaudit.pipeline.recode.outcomes import is_like_missing, is_like_unknown
from fairaudit.spec import RESERVED, quote
from fairaudit.spec.checks import names_burden
from fairaudit.tools.init import (
    OUTCOMES,
    Choices,
    Role,
    count_unfit,
    find_candidates,
    find_column,
    find_notations,
    find_positive,
    is_burden,
    is_code,
    is_date,
    is_id,
    is_many,
    is_year,
    list_known,
    refuse_unused_positives,
)

_MOST_LISTED = 6
_FEW = 30
_AGE = (0, 120)

_STAGES = (
    "applied applicant application submitted received",
    "screened screening screen reviewed shortlisted",
    "tested test assessed assessment",
    "interviewed interview interviewing",
    "offered offer",
    "hired accepted joined onboarded enrolled",
)
"""Words for the stages of a selection process, in order."""


def write_spec(
    profile: FileProfile, form: CsvFormat, choices: Choices, *, data: str, title: str
) -> str:
    """The text of a spec; raises `UsageError` if the positive value of an outcome is unknown."""
    refuse_unused_positives(choices, profile)
    lines = [
        "# yaml-language-server: $schema=fairaudit.schema.json",
        "#   (to create this file: fairaudit schema > fairaudit.schema.json)",
        "#",
        f"# A first spec, proposed from {profile.rows:,} rows: read and correct every line.",
        "version: 1",
        f"title: {quote(title)}",
        f"data: {quote(data)}",
        *_write_notation(form, profile),
        "columns:",
        "  protected:                # the groups of these columns are compared",
    ]
    for name in choices.protected:
        lines += _write_protected(find_column(profile, name))
    others = find_candidates(profile, Role.PROTECTED, choices.used)
    lines += [f"    # {quote(name)}: {{}}  # {reason}" for name, reason in others.items()]
    for role in OUTCOMES:
        if role in choices.columns:
            lines += _write_outcome(role, profile, choices)
    if choices.counts:
        pairs = (f"{quote(level)}: {quote(name)}" for level, name in choices.counts.items())
        levels = [level for level in choices.counts if level != "total"]
        positive = next((text for text in choices.positives if text in levels), levels[0])
        keys = [f"counts: {{{', '.join(pairs)}}}", f"positive: {quote(positive)}"]
        keys += ["favourable: false"] if names_burden(positive) else []
        is_proposed = Role.DECISION in choices.proposed
        why = "  # proposed because of their names, and because each row is a different group"
        lines.append(f"  decision: {{{', '.join(keys)}}}{why if is_proposed else ''}")
    if choices.counts or {*OUTCOMES} & {*choices.columns}:
        lines += [
            "  # `favourable: false` means that the positive value of an outcome is a burden, such",
            "  # as an alarm. Check each outcome: this key decides which group is worse off.",
        ]
    for role in (Role.SCORE, Role.COUNT, Role.WEIGHT):
        found = find_candidates(profile, role, choices.used)
        if role in choices.columns:
            column = quote(choices.columns[role])
            lines.append(f"  {role}: {column}{_explain(role, profile, choices)}")
        elif found and role is not Role.COUNT:
            name, reason = next(iter(found.items()))
            lines.append(f"  # {role}: {quote(name)}  # {reason}")
    lines += [
        f"  # id: {quote(column.name)}  # about {column.distinct:,} different values in "
        f"{profile.rows:,} rows: with it, no person counts twice (`repeats: first`)"
        for column in profile.columns
        if is_id(column, profile.rows) and Role.COUNT not in choices.columns
    ][:1]
    lines += _write_strata(profile, choices)
    lines += _write_missing(profile, choices)
    return "\n".join([*lines, *_write_metrics(profile, choices), ""])


_KEYS_OF_FORMAT = {
    **dict.fromkeys(("separator", "decimal", "thousands", "encoding", "sheet"), ""),
    "skip_rows": "  # the lines above the header: check them",
    "skip_footer": "  # the lines below the rows: check them",
    "symbols": "",
    "accounting": "",
    "header": "  # the first line of the file is a row of data: name the columns",
}


def _write_notation(form: CsvFormat, profile: FileProfile) -> Iterator[str]:
    """The lines of `format` and `dates`, for values that are not the defaults."""
    usual = CsvFormat(",", ".", "utf-8", multiline=False)
    found = {key: getattr(form, key) for key in _KEYS_OF_FORMAT}
    found = {key: value for key, value in found.items() if value != getattr(usual, key)}
    yield from ["format:"] if found else []
    for key, value in found.items():
        text = quote(value) if isinstance(value, str) else json.dumps(value)
        text = _list(value) if isinstance(value, tuple) else text
        yield f"  {key}: {text}{_KEYS_OF_FORMAT[key]}"
    dates = [(column, find_notations(column) or []) for column in profile.columns]
    dates = [(column, notations) for column, notations in dates if notations]
    if dates:
        yield "dates:  # the order of day and month follows from days above 12: check it"
    for column, notations in dates:
        unfit = count_unfit(column)
        note = f"  # {unfit:,} values do not fit: correct them, or add their notation"
        written = _list(notations) if len(notations) > 1 else quote(notations[0])
        yield f"  {quote(column.name)}: {written}{note if unfit else ''}"


def _list(texts: Sequence[str]) -> str:
    return f"[{', '.join(map(quote, texts))}]"


def _write_protected(column: ColumnProfile) -> Iterator[str]:
    """The line of a protected column, with its possible keys as comments."""
    name = column.name
    key, keys = quote(name), list[str]()
    if name in RESERVED or "*" in name or name.startswith("x-"):
        key, keys = quote(f"attribute {name.replace('*', '')}".strip()), [f"column: {quote(name)}"]
    shown = [f"{names.name(text)} ({n:,})" for text, n in column.values[:_MOST_LISTED]]
    more = ", …" if column.distinct > len(shown) else ""
    note = f"{column.distinct:,} levels: {', '.join(shown)}{more}"
    words = [text for text, _ in column.values if is_like_missing(text)]
    if is_date(column):
        keys = [f"from: {quote(name)}", f'at: "{today().isoformat()}"', "bins: [40]"]
        note = "a date: if it is the date of birth, set the bins, and in `at` the day of the ages"
    elif is_many(column):
        low, high = column.low or 0.0, column.high or 0.0
        this_year = today().year
        years = [str(this_year - age) for age in (60, 40, 25) if low < this_year - age <= high]
        if _AGE[0] <= low and 40 < high <= _AGE[1] and column.whole == column.numbers:
            keys.append("bins: [25, 40, 60]")
        else:
            is_birth = is_year(column) and years
            keys.append(f"bins: [{', '.join(years)}]" if is_birth else "quantiles: 4")
        keys += [f"unknown: {_list(words)}"] if words else []
        note = f"numbers from {column.low:g} to {column.high:g}: the bins are a proposal"
        if is_year(column):
            note += "; each edge is a year of birth"
    yield f"    {key}: {{{', '.join(keys)}}}  # {note}"
    if is_many(column) or is_date(column):
        return
    doubtful = [text for text, _ in column.values if is_like_unknown(text)]
    unknown = [*dict.fromkeys([*words, *doubtful])]
    known = [(text, n) for text, n in column.values if text not in unknown]
    rare = [text for text, n in known if n < _FEW]
    rare = rare if len(rare) < len(known) else []
    labels = [f"{quote(text)}: {quote(text)}" for text in list_known(column)]
    levels = {text for text, _ in known}
    # Some levels consist of other levels with a separator between them.
    signs = [
        sign
        for sign in "|;/,"
        if any(
            sign in text and all(part.strip() in levels for part in text.split(sign))
            for text in levels
        )
    ]
    split = quote(signs[0]) if len(signs) == 1 else _list(signs)
    stubs = {
        f"split: {split}": ("several values in a cell", signs),
        f"unknown: {_list(unknown)}": ("unknown: listed, never compared", unknown),
        f"labels: {{{', '.join(labels)}}}": ("what the codes mean", is_code(column)),
        f"merge: {{Other: {_list(rare)}}}": (f"fewer than {_FEW} rows each", len(rare) > 1),
    }
    for stub, (why, is_there) in stubs.items():
        if is_there:
            yield f"    # {key}: {{{', '.join([*keys, stub])}}}  # {why}"


def _write_outcome(role: Role, profile: FileProfile, choices: Choices) -> Iterator[str]:
    """The line of a label, prediction or decision with its positive value."""
    column = find_column(profile, choices.columns[role])
    positive = find_positive(column, choices.positives)
    known = list_known(column)
    if isinstance(positive, dict):
        ((bound, value),) = positive.items()
        keys = [f"column: {quote(column.name)}", f"positive: {{{bound}: {value}}}"]
    else:
        alike = [text for text in known if lookalike(text) == lookalike(positive)]
        others = [text for text in known if text not in alike]
        written = quote(positive)
        if len(alike) > 1:
            written = _list(alike)
            yield f"  # {written}: is this one value in several spellings? All count as positive."
        keys = [f"column: {quote(column.name)}", f"positive: {written}"]
        keys += [f"negative: {_list(others)}"] if others else []
        if len(others) > 1:
            yield "  # `negative` has all other values: remove values without a decision,"
            yield "  # such as Withdrawn, and add `others: drop`."
    if is_burden(role, profile, choices):
        keys.append("favourable: false")
    # The levels that are stages of a selection; if two are the same stage, their order is unknown.
    reached = []
    for level in known if role is not Role.LABEL else ():
        words = {*re.findall(r"[a-z]+", level.casefold())}
        places = [place for place, stage in enumerate(_STAGES) if words & {*stage.split()}]
        reached += [(places[0], level)] if places else []
    order = [level for _, level in sorted(reached)]
    if len(order) > 2 and len({place for place, _ in reached}) == len(order):
        stages = [f"column: {quote(column.name)}", f"order: {_list(order)}"]
        stages += ["others: drop"] if len(order) < len(known) else []
        yield f"  # stages: {{{', '.join(stages)}}}  # in place of `{role}`: a rate for each"
        yield "  # step of the process; check the order."
        if len(order) < len(known):
            yield "  # All other values are left out: replace them by the last stage reached."
    yield f"  {role}: {{{', '.join(keys)}}}{_explain(role, profile, choices)}"


def _explain(role: Role, profile: FileProfile, choices: Choices) -> str:
    """Why a column was proposed, and other candidates; empty if the user named it."""
    if role not in choices.proposed:
        return ""
    reason = find_candidates(profile, role)[choices.columns[role]]
    others = [*map(names.name, find_candidates(profile, role, choices.used))]
    return f"  # proposed: {reason}" + (
        f"; or {', '.join(others[:_MOST_LISTED])}" if others else ""
    )


def _write_strata(profile: FileProfile, choices: Choices) -> Iterator[str]:
    """The lines of strata: factors that may explain a difference."""
    if choices.strata:
        yield f"  strata: {_list(choices.strata)}"
        return
    taken = choices.used.union(find_candidates(profile, Role.PROTECTED))
    free = [
        quote(column.name)
        for column in profile.columns
        if column.is_unique and column.name not in taken and column.is_whole
        and 1 < len(list_known(column)) <= 20
    ]  # fmt: skip
    if free:
        yield f"  # strata: [{', '.join(free[:_MOST_LISTED])}]  # what may explain a difference"
    days = [column.name for column in profile.columns if is_date(column)]
    yield from (
        f"  # strata: {{month: {{column: {quote(name)}, period: month}}}}  # a trend"
        for name in [name for name in days if name not in taken][:1]
    )


def _write_missing(profile: FileProfile, choices: Choices) -> Iterator[str]:
    """The line of rules for missing values. Without this line, a run would refuse the data."""
    rules, words = [], dict[str, None]()
    for role in (*OUTCOMES, Role.SCORE):
        if role in choices.columns:
            column = find_column(profile, choices.columns[role])
            own = [text for text, _ in column.values if is_like_missing(text)]
            words |= dict.fromkeys(own)
            if role is not Role.LABEL and (own or column.present < profile.rows):
                rules.append(f"{role}: aside")
    if words:
        rules.insert(0, f"tokens: {_list(['', *words])}")
    note = "rows without a value are left out; reports show how much they could change a value"
    counted = filter(None, [*choices.counts.values(), choices.columns.get(Role.COUNT)])
    masks = {
        text: MaskedCount.propose(text)
        for name in counted
        for text, _ in find_column(profile, name).values
    }
    found = [mask for mask in masks.values() if mask is not None]
    if found:
        listed = ", ".join(f"{quote(m.text)}: [{m.least}, {m.most}]" for m in found)
        rules.append(f"masked: {{{listed}}}")
        note = "the smallest and the largest count that each text hides: check them"
    if rules:
        yield f"missing: {{{', '.join(rules)}}}  # {note}"


def _write_metrics(profile: FileProfile, choices: Choices) -> Iterator[str]:
    """The metrics to report, with proposed limits as comments."""
    has_decision = bool(choices.counts) or bool(
        {Role.PREDICTION, Role.DECISION} & {*choices.columns}
    )
    has_label, has_score = Role.LABEL in choices.columns, Role.SCORE in choices.columns
    has_score = has_score and Role.WEIGHT not in choices.columns
    metrics = {
        "selection_rate": has_decision,
        "demographic_parity_ratio": has_decision,
        "base_rate": has_label,
        "true_positive_rate": has_decision and has_label,
        "false_positive_rate": has_decision and has_label,
        "mean_score": has_score,
        "auc": has_score and has_label,
    }
    yield "metrics:                    # the report shows them; only metrics with a limit can fail"
    yield from (f"  - {metric}" for metric, is_there in metrics.items() if is_there)
    yield "  # A metric with a limit is a check, which can fail. Choose the limits that you need."
    by = "all" if len(choices.protected) > 1 else "each"
    decisions = [role for role in (Role.PREDICTION, Role.DECISION) if role in choices.columns]
    burdens = [role for role in decisions if is_burden(role, profile, choices)]
    if has_label and burdens and is_burden(Role.LABEL, profile, choices):
        yield f'  # - {{metric: predictive_equality, by: {by}, warn: "> 0.1"}}  # wrongly selected'
    elif has_decision:
        yield f'  # - {{metric: impact_ratio, by: {by}, fail: "< 0.8"}}  # the four-fifths rule'
    elif has_label:
        yield f'  # - {{metric: base_rate, compare: gap, by: {by}, warn: "> 0.1"}}'
    if has_decision and has_label:
        yield f'  # - {{metric: equalized_odds_difference, by: {by}, warn: "> 0.1"}}'
    yield "# groups: {min_size: 30}    # smaller groups are listed, but not compared"
    yield "# suppress_below: 11        # for a published report: smaller counts are hidden"

"""Reads `metrics`: entries and presets, their checks and limits, and warnings about limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairaudit.base.disclosure_marks import Notice, Subjects
from fairaudit.base.errors import Fault, SpecError
from fairaudit.base.frozen import field_names, replace
from fairaudit.base.names import canonical, listing, quoted
from fairaudit.counting.sources.column_checks import split_words
from fairaudit.cube import Grouping
from fairaudit.evidence.methods import explain_no_interval, explain_no_test
from fairaudit.judge import Check, Limit
from fairaudit.judge.checks import About, find_bounds
from fairaudit.metrics import Disparity, GroupMetric, Metric, Requirement, TableMetric, find_metric
from fairaudit.metrics.definitions import Bounds
from fairaudit.metrics.differential_fairness import PSEUDO_COUNTS
from fairaudit.metrics.other_names import Preset, find_preset
from fairaudit.metrics.rates import SELECTION_RATE
from fairaudit.metrics.scores import SCORING_RATE
from fairaudit.metrics.terms import ReferencePolicy, format_decimal
from fairaudit.spec import key_schema
from fairaudit.spec.column_model import OutcomeKind
from fairaudit.spec.entries import (
    Context,
    Entry,
    adds_up,
    choose_numeric,
    explain_score,
    find_unmet,
    is_of_label,
    quote_limits,
    read_entry,
    read_outcome,
    refuse_other_strata,
    refuse_reference,
    refuse_unmet,
)
from fairaudit.spec.model import MetricRequest
from fairaudit.spec.requests import (
    read_metric_request,
    read_parameters,
    refuse_people_count,
    refuse_row_measure,
)
from fairaudit.spec.text import Path, SpecReader, written

_SITUATION_TESTS = {"situation_testing", "situation_testing_reversed"}
_OF_PRESETS = {
    *("metric", "by", "given", "given_model", "of", "reference", "warn", "fail", "undefined")
}
"""The keys that an entry with a preset can have."""

MOST_ASKED = 5_000
"""The maximum number of measures, and of checks; each threshold and each grouping counts."""


def read_metrics(
    context: Context, skipped: frozenset[int]
) -> tuple[tuple[MetricRequest, ...], tuple[Check, ...], tuple[Notice, ...]]:
    """The requests and checks of all entries, and notices on limits that may mislead.

    `skipped` are the numbers of entries with faulty keys or types.
    """
    requests: list[MetricRequest] = []
    checks: list[Check] = []
    entries: list[tuple[Path, key_schema.Metric]] = [
        (("metrics", number), shape)
        for number, shape in enumerate(context.shape.metrics)
        if number not in skipped
    ]
    expanded, preset_notices = _expand_presets(context, entries)
    notices = [*preset_notices]
    if context.shape.columns.stages is not None:
        stages = [outcome.name for outcome in context.columns.predictions]
        expanded = [
            (path, replace(shape, of=stage))
            for path, shape in expanded
            for stage in ([shape.of] if shape.of else stages)
        ]
    for path, shape in expanded:
        before = len(context.reader.faults)
        entry = read_entry(context, path, shape)
        if entry is None:
            continue
        of = read_outcome(entry)
        entry = choose_numeric(entry, of)
        refuse_unmet(entry, of)
        refuse_row_measure(entry)
        refuse_people_count(entry)
        refuse_other_strata(entry)
        parameters = read_parameters(entry)
        warn, fail = _read_limit(entry, "warn"), _read_limit(entry, "fail")
        is_fallback = of == "label" and shape.of is None and not is_of_label(entry.metric)
        if is_fallback and (warn or fail):
            if why := explain_score(context):
                entry.fault("metric", why)
            elif context.columns.first == "label":
                text = f"{_where(context.reader, path)}: the limit on {entry.metric.id} judges the "
                text += "label, because the spec has no prediction or decision; to confirm this, "
                text += "write `of: label`"
                notices.append(Notice(text, Subjects.NOBODY))
        _refuse_evidence(entry)
        request = read_metric_request(entry, of or "label", parameters)
        if len(context.reader.faults) > before:
            continue
        notices += [Notice(text, Subjects.NOBODY) for text in _warnings(entry, request)]
        for threshold in shape.at or (None,):
            request_at = replace(request, terms=replace(request.terms, at=threshold))
            requests.append(request_at)
            if warn or fail:
                checks += _make_checks(entry, request_at, warn, fail)
        if max(len(requests), len(checks)) > MOST_ASKED:
            message = (
                f"up to this entry, `metrics` has {len(requests):,} measures and {len(checks):,} "
                f"checks, and the maximum is {MOST_ASKED:,}: use fewer entries, combinations "
                "(`by`) or thresholds (`at`), or write several specs"
            )
            raise SpecError([*context.reader.faults, context.reader.document.fault(path, message)])
    _refuse_duplicates(context.reader, checks)
    notices += _list_hints(context, entries, checks)
    return tuple(requests), tuple(checks), tuple(notices)


def split_set(words: str) -> frozenset[str]:
    """The set of the words in a text."""
    return frozenset(words.split())


BURDENS = split_set(
    "default defaulted recid recidivism rearrested arrested convicted fraud churn churned died dead"
    " denied declined rejected refused dismissed suspended suspension expelled expulsion"
)
"""Words in names of columns for outcomes that are bad for people."""
NEGATIONS = split_set("no not non never without")
AFFIRMED = split_set("1 yes y t")


def names_burden(name: str) -> bool:
    """Whether a column or a level is named after a burden, without a negation."""
    words = split_words(name)
    return bool({*words, "".join(words)} & BURDENS) and not {*words} & NEGATIONS


def _list_hints(
    context: Context, entries: Sequence[tuple[Path, key_schema.Metric]], checks: Sequence[Check]
) -> Iterator[Notice]:
    """Notices on combinations of columns without a limit, and on outcomes that may be burdens.

    The name of an outcome, its positive values or the label show that it may be a burden.
    """
    for path, shape in entries:
        names = {column for column, *others in shape.by or [] if not others}
        apart = [name for name in context.columns.attributes if name in names]
        is_met = any(len(names.intersection(check.by)) > 1 for check in checks)
        if len(apart) > 1 and shape.limits and not is_met:
            text = (
                f"{_where(context.reader, path)}: {' and '.join(apart)} are judged separately, and "
                f"no limit judges their combination: add `by: {' * '.join(apart)}`"
            )
            yield Notice(text, Subjects.NOBODY)
    for name, outcome in context.outcomes.items():
        affirmed = {canonical(level.value).strip().lower() for level in outcome.positive}
        is_named = names_burden(outcome.column.value) and affirmed <= AFFIRMED
        if affirmed and outcome.favourable and (is_named or all(map(names_burden, affirmed))):
            levels = " or ".join(quoted(level.value) for level in outcome.positive)
            text = (
                f"{levels} of {quoted(outcome.column.value)} is treated as a benefit: if it is a "
                f"burden, write `favourable: false` in {name}"
            )
            yield Notice(text, Subjects.NOBODY)
    label = context.outcomes.get("label")
    for name, outcome in context.outcomes.items() if label and not label.favourable else ():
        if outcome.favourable and outcome.kind is OutcomeKind.CLASSES:
            text = (
                f"the positive value of the label is a burden, and that of {name} is treated as a "
                f"benefit: if {name} selects people for the burden, write `favourable: false` in it"
            )
            yield Notice(text, Subjects.NOBODY)


def _read_limit(entry: Entry, side: str) -> Limit | None:
    """The limit; adds a fault if no value can cross it, or if perfect equality crosses it."""
    metric, bound = entry.metric, entry.shape.limits.get(side)
    if bound is None:
        return None
    below, above = bound.below, bound.above
    if below is None and above is None:
        entry.fault(side, "a limit needs `below`, `above` or `outside: [lowest, highest]`")
        return None
    if below is not None and above is not None and below > above:
        entry.fault(side, "the lower bound must not be above the upper bound")
        return None
    outcome = entry.context.outcomes.get(entry.shape.of or entry.context.columns.first)
    of_shares = outcome is not None and outcome.may_be_binary and outcome.score is None
    is_slope = of_shares and isinstance(metric, Disparity) and metric.fitted
    low, high = (-1, 1) if is_slope else _find_bounds(entry)
    never_below = below is None or (low is not None and below <= low)
    never_above = above is None or (high is not None and above >= high)
    if never_below and never_above:
        span = f"{'-∞' if low is None else low} to {'∞' if high is None else high}"
        name = f"{entry.shape.compare} of {metric.id}" if entry.shape.compare else metric.id
        what = f"this limit can never be crossed: {name} is always from {span}"
        if is_slope:  # several controls, or three groups, may extrapolate
            what = f"only a fit that extrapolates can cross this limit: {name} is within ±1"
        entry.fault(side, f"{what}; choose a limit in this range")
    limit = _limit_of(bound)
    ideal = None if isinstance(metric, GroupMetric) or _parity(metric) else metric.ideal
    if entry.shape.against is not None:
        ideal = 0
    if ideal is not None and limit.excess(float(ideal)) > 0:
        percent = below is not None and 1 < below <= 100
        hint = "swap `below` (`<`) and `above` (`>`)"
        if percent and below:
            hint = f"{below} % is written {below / 100}"
        entry.fault(side, f"perfect equality ({ideal}) would cross this limit: {hint}")
    return limit


def _find_bounds(entry: Entry) -> Bounds:
    """The lowest and the highest possible value; a mean utility is between its utilities."""
    metric, utilities = entry.metric, (entry.shape.utilities or {}).values()
    if utilities and "utilities" in metric.parameters:
        bounds = min(utilities), max(utilities)
        if isinstance(metric, GroupMetric):
            metric = replace(metric, bounds=bounds)
        elif isinstance(metric, Disparity):
            parts = tuple((replace(rate, bounds=bounds), how) for rate, how in metric.parts)
            metric = replace(metric, parts=parts)
    return find_bounds(metric, entry.reference_policy, entry.shape.against)


def _limit_of(bound: key_schema.Bound) -> Limit:
    return Limit(
        bound.below, bound.above, significant=bound.significant, conclusive=bound.conclusive
    )


def _parity(metric: Metric) -> str:
    """The value at parity in words, if it depends on the data."""
    return metric.parity if isinstance(metric, TableMetric) else ""


def _refuse_evidence(entry: Entry) -> None:
    """Adds faults of required evidence that no data could provide."""
    metric = entry.metric
    policy: str | None = metric.reference if isinstance(metric, Disparity) else None
    if entry.shape.reference:
        policy = entry.reference_word
    lacking = {
        "significant": explain_no_test(metric, policy),
        "conclusive": explain_no_interval(metric, scored=entry.context.has_numbers),
    }
    if entry.shape.against is not None and isinstance(metric, GroupMetric):
        # The rate of one outcome is compared with the rate of the other.
        lacking["significant"] = explain_no_interval(metric)
    if any(getattr(entry.shape, key) for key in PSEUDO_COUNTS):
        lacking["conclusive"] = (
            "with pseudo-counts, even equal groups have a value above 0 if their sizes differ; "
            "use `significant`, which tests the counts, or remove the pseudo-counts"
        )
    for side, bound in entry.shape.limits.items():
        for key, why in lacking.items():
            if why and getattr(bound, key):
                message = f"`{key}` cannot be evaluated: {why.removeprefix('none: ')}"
                message += f"; set a limit on {metric.instead} instead" if metric.instead else ""
                entry.context.reader.fault((*entry.path, side, key), message, key=True)


def _where(reader: SpecReader, path: Path) -> str:
    """The place of an entry, for a notice: its line, or its path if the spec has no lines."""
    place = reader.document.place(path)
    return f"{place.file}:{place.line}" if place else written(path)


def _warnings(entry: Entry, request: MetricRequest) -> list[str]:
    """Warnings of limits that judge only one direction, or the wrong direction of a burden."""
    metric, where = entry.metric, _where(entry.context.reader, entry.path)
    bounds = entry.shape.limits.values()
    warnings = []
    one_sided = any(bound.below is None or bound.above is None for bound in bounds)
    two_sided = not isinstance(metric, GroupMetric) and metric.is_two_sided
    if one_sided and two_sided and entry.reference_word not in {"highest", "lowest"}:
        warnings.append(
            f"{where}: {metric.id} can differ from parity in both directions, and the limit judges "
            "only one direction; `outside: [lowest, highest]` judges both"
        )
    limited = {shape.metric for shape in entry.context.shape.metrics if shape.limits}
    if metric.id in limited & _SITUATION_TESTS and not limited >= _SITUATION_TESTS:
        (other,) = _SITUATION_TESTS - {metric.id}
        warnings.append(
            f"{where}: {metric.id} judges only one direction, people who are treated worse or "
            f"better than similar people of the reference; `{other}` judges the other direction"
        )
    warnings += [f"{where}: {text}" for text in _idle_limits(entry)]
    if bounds and isinstance(metric, Disparity) and metric.looks_at_nearest:
        warnings.append(
            f"{where}: `aggregate: min` of differences judges only the group nearest to parity; "
            "`max` judges the group farthest from it"
        )
    if bounds and _parity(metric) and entry.shape.against is None:
        warnings.append(
            f"{where}: at parity, {metric.id} is {_parity(metric)}, so equal groups may cross the "
            "limit; `goodman_kruskal_lambda` is 0 at parity"
        )
    is_burden = not entry.context.outcomes[request.of].favourable
    # A ratio of selection rates to which the four-fifths rule for burdens is not applied.
    is_rate_ratio = (
        isinstance(metric, Disparity)
        and metric.comparison.is_ratio
        and not metric.four_fifths
        and metric.parts[0][0] in {SELECTION_RATE, SCORING_RATE}
    )
    is_low = two_sided and all(bound.above is None for bound in bounds)
    is_low &= entry.reference_word not in {"highest", "lowest"}
    if bounds and is_burden and is_rate_ratio and is_low:
        what = f"the positive value is a burden, and a limit `below` on {metric.id} cannot find"
        remedy = "use `impact_ratio`, or `outside: [lowest, highest]`"
        entry.fault("metric", f"{what} groups that have this burden more often: {remedy}")
    elif bounds and is_burden and is_rate_ratio:
        warnings.append(
            f"{where}: the positive value is a burden, and {metric.id} compares how often people "
            "have it; `impact_ratio` compares how often people do not have it"
        )
    return warnings


def _idle_limits(entry: Entry) -> Iterator[str]:
    """Warnings of a bound that no value can cross, and of a `warn` that `fail` always hides."""
    name = entry.metric.id
    low, high = _find_bounds(entry)
    for side, bound in entry.shape.limits.items():
        if bound.below is None or bound.above is None:
            continue
        if low is not None and bound.below < low:
            yield f"the lower bound of `{side}` can never be crossed: {name} is never below {low}"
        if high is not None and bound.above > high:
            yield f"the upper bound of `{side}` can never be crossed: {name} is never above {high}"
    limits = {side: _limit_of(bound) for side, bound in entry.shape.limits.items()}
    if len(limits) > 1 and limits["fail"].covers(limits["warn"]):
        yield "every value over `warn` is also over `fail`, so the check can never warn"


def _make_checks(
    entry: Entry, request: MetricRequest, warn: Limit | None, fail: Limit | None
) -> list[Check]:
    """The checks of an entry with a limit: one for each grouping and each set of strata."""
    context, shape = entry.context, entry.shape
    metric = entry.metric
    is_whole = isinstance(metric, TableMetric) and metric.judges_all_attributes
    default = [["full"]] if is_whole else [["each"]]
    if Requirement.NUMERIC_ATTRIBUTE in entry.metric.requirements:
        default = context.numeric_attributes
    # If the spec uses an alias of the metric, the alias is the name of the check.
    record = find_metric(shape.metric)
    alias = shape.metric if record is not None and record.id != shape.metric else ""
    about = About(shape.name or alias, shape.why or "", shape.owner or "")
    checks: list[Check] = []
    for by in context.columns.by(shape.by or default, entry.reader_at("by")):
        if set(by) & set(request.terms.parameters.controls):
            continue
        reference = context.resolve(request.terms.reference, by)
        if request.terms.reference is not None and reference is None:
            refuse_reference(entry, by)
            continue
        strata: tuple[Grouping, ...] = ((),)
        if shape.given is not None:
            strata = context.columns.given(shape.given, by, entry.reader_at("given"))
        checks += [
            Check(
                id=_id(entry, request, by, given),
                metric=entry.metric,
                of=request.of,
                by=by,
                given=given,
                against=request.against,
                terms=replace(request.terms, reference=reference),
                undefined=shape.undefined or context.shape.undefined,
                warn=warn,
                fail=fail,
                place=context.reader.document.place(entry.path),
                about=about,
                source=quote_limits(context.reader.document, entry.path),
                accept_left_out=shape.accept_left_out,
                burden=not context.outcomes[request.of].favourable,
            )
            for given in strata
        ]
    if shape.id is not None and len(checks) == 1 and shape.at is None:
        return [replace(checks[0], id=shape.id)]
    return checks


def _refuse_duplicates(reader: SpecReader, checks: Sequence[Check]) -> None:
    first: dict[str, Check] = {}
    for check in checks:
        place, before = check.place, first.setdefault(check.id, check).place
        if first[check.id] is check:
            continue
        line = f", first in line {before.line}" if place and before else ""
        line += f" of {before.file}" if place and before and before.file != place.file else ""
        message = f"the check {check.id} is defined twice{line}"
        reader.faults.append(Fault(message, "metrics", place, reader.document.find_line(place)))


def _id(entry: Entry, request: MetricRequest, by: Grouping, given: Grouping) -> str:
    """The id of a check, `metric.compare.reference/by/given/of`; unused parts are omitted."""
    shape, terms = entry.shape, request.terms
    strata = "+".join(given) + (f"={terms.average}" if terms.average else "")
    at = [] if terms.at is None else [f"at={format_decimal(terms.at)}"]
    if shape.id is not None:
        return "/".join(filter(None, [shape.id, "+".join(by), strata, *at]))
    head = [entry.metric.id]
    if shape.compare:
        head.append(shape.compare)
    if shape.reference is not None:
        head.append("+".join(shape.reference.values()))
    head += [f"{key}={value}" for key, value in terms.parameters.as_texts().items()]
    if shape.of_class is not None:
        head.append(f"class={shape.of_class}")
    if shape.sd is not None:
        head.append(f"sd={shape.sd}")
    if shape.aggregate is not None:
        head.append(shape.aggregate)
    head += at
    of = request.of if request.against is None else f"{request.of}-{request.against}"
    segments = [".".join(head), "+".join(by), strata, of]
    return "/".join(segment for segment in segments if segment)


def _expand_presets(
    context: Context, written: Sequence[tuple[Path, key_schema.Metric]]
) -> tuple[list[tuple[Path, key_schema.Metric]], list[Notice]]:
    """The entries with each preset replaced by its measures, and a notice for each preset.

    A preset applies to every model, unless `of` names one; its limit applies to its first measure.
    If the spec declares no reference, groups are compared with the largest group. Measures are
    left out if their data is missing, and the notice lists them.
    """
    entries: list[tuple[Path, key_schema.Metric]] = []
    notices = []
    left_out = []
    for path, shape in written:
        preset = find_preset(shape.metric)
        if preset is None:
            metric = find_metric(shape.metric)
            is_of_profile = not context.reader.document.is_own(path) and not shape.limits
            of = shape.of or context.columns.first
            # An entry of a profile is left out only if it has no limit.
            if metric and is_of_profile and not _has_data(Entry(context, path, shape, metric), of):
                left_out.append(shape.metric)
            else:
                entries.append((path, shape))
            continue
        set_keys = {key for key in field_names(shape) if getattr(shape, key) is not None}
        for key in sorted(set_keys - _OF_PRESETS):
            what = (
                f"a preset cannot have `{key}`: replace {preset.name} by entries with its metrics"
            )
            context.reader.fault((*path, key), what, key=True)
        parts = list(_expand_preset(context, path, shape, preset))
        entries += [(path, part) for part in parts]
        # The measures that this data allows, and the reason that the source gives.
        used = [name for name in preset.metrics if name in {part.metric for part in parts}]
        others = [name for name in preset.metrics if name not in used]
        noun = "measure" if len(used) == 1 else "measures"
        only = f", a limit for {preset.metrics[0]} alone" if shape.limits else " without a limit"
        text = f"the preset {preset.name} adds {len(used) or 'no'} {noun}{only}"
        text += f", such as {used[0]!r}" if used else ""
        rest = listing(others, 3) if len(others) <= 3 else f"{len(others)} others"
        text += f"; the data has no columns for {rest}" if others else ""
        text += f". From {preset.source}: {preset.why}"
        notices.append(Notice(text, Subjects.NOBODY))
        if shape.limits and not any(part.limits for part in parts):
            first = preset.metrics[0]
            what = f"the limit of {preset.name} applies to {first}, but the spec lacks its columns"
            context.reader.fault((*path, "metric"), what)
    profiles = context.reader.document.profiles
    if left_out:
        names = ", ".join(profile.name for profile in profiles)
        what = f"not measured, because the data lacks columns: {', '.join(left_out)} ({names})"
        notices.append(Notice(what, Subjects.NOBODY))
    return entries, notices


def _expand_preset(
    context: Context, path: Path, shape: key_schema.Metric, preset: Preset
) -> Iterator[key_schema.Metric]:
    """The entries of a preset for which the spec has the data."""
    models = [shape.of] if shape.of else [outcome.name for outcome in context.columns.predictions]
    for name in preset.metrics:
        metric = find_metric(name)
        assert metric is not None
        of_label = is_of_label(metric)
        for of in ["label"] if of_label else models or [context.columns.first]:
            changes: dict[str, object] = {"metric": name, "of": None if of_label else of}
            if not isinstance(metric, Disparity) or not metric.to_reference or metric.reference:
                changes["reference"] = None
            elif shape.reference is None and not context.columns.references:
                changes["reference"] = {"": str(ReferencePolicy.LARGEST)}
            if metric.conditional and shape.given is None:
                changes["given"] = [[stratum] for stratum in context.columns.factors] or None
            if name != preset.metrics[0]:
                changes |= {"warn": None, "fail": None}
            part = replace(shape, **changes)
            if _has_data(Entry(context, path, part, metric), of):
                yield part


def _has_data(entry: Entry, of: str) -> bool:
    """Whether the spec has the columns that the metric of an entry needs."""
    outcomes = entry.context.outcomes
    if of not in outcomes:
        return entry.shape.of is not None  # A later fault suggests the nearest name.
    entry = choose_numeric(entry, of)
    if entry.metric.conditional and entry.shape.given is None:
        return False
    weighs = entry.context.is_weighted and adds_up(entry, of)
    return not weighs and find_unmet(entry.metric, of, outcomes) is None

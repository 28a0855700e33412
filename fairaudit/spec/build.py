"""Builds a `Spec` from validated records, and refuses keys that cannot be combined."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from itertools import permutations
from pathlib import Path as FilePath

from fairaudit.base.arrays import LEAST_THRESHOLD
from fairaudit.base.errors import Fault, Faults, SpecError, did_you_mean
from fairaudit.base.frozen import field_names, replace
from fairaudit.base.inputs import NO_PATH, can_be_named
from fairaudit.base.names import quoted
from fairaudit.counting.columns import COUNTED_PEOPLE, CsvFormat, MaskedCount, Repeats
from fairaudit.cube import Grouping
from fairaudit.judge import AnyCheck, Check, ReversalCheck
from fairaudit.metrics import (
    Disparity,
    Rate,
    Requirement,
    find_metric,
    is_over_classes,
    list_requirements,
)
from fairaudit.spec import schema
from fairaudit.spec.checks import read_metrics
from fairaudit.spec.column_model import OutcomeKind
from fairaudit.spec.columns import Columns, add_modelled_strata, read_columns
from fairaudit.spec.entries import Context
from fairaudit.spec.faults import read_waivers, validate
from fairaudit.spec.key_schema import REFERENCES, Defaults, ModelColumns, OutcomeColumn, Positive
from fairaudit.spec.model import MetricRequest, Spec, needed_quantiles
from fairaudit.spec.reading import NO_REPLICATES
from fairaudit.spec.schema import Missing, MissingPolicy
from fairaudit.spec.searches import notice_unsearched_rates, read_scan, read_subgroup_search
from fairaudit.spec.text import Document, LocatedText, SpecReader

_SYMBOL = re.compile(r"[^\d\s.,+()-]+")
_REPLICATE = re.compile(r"(.*rep_?w.*|.*brr.*|jk.*|p?wgtp|w_fstu?r.*)\d+$", re.IGNORECASE)
"""Columns of replicate weights as agencies name them: repwgt1, PWGTP12, BRR_3, W_FSTR80."""
_MOST_LIMITS = 4
"""The maximum number of limits on the same counts if small counts are hidden."""


def build(document: Document, text: str) -> Spec:
    """The spec in a document; raises `SpecError` with all faults."""
    faults = Faults()
    shape, skipped = validate(document, faults)
    document, shape = _fill_defaults(document, shape)
    reader = SpecReader(document, faults)
    shape = _expand_stages(reader, shape)
    columns = add_modelled_strata(reader, shape, read_columns(reader, shape.columns))
    _refuse_company(reader, shape, columns)
    if not columns.protected or not columns.outcomes:
        raise SpecError(reader.faults)
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    spec = _build(Context(reader, shape, columns), skipped, sha256)
    _refuse_suppression(reader, shape, columns, spec.checks)
    _refuse_masked(reader, shape, spec)
    if reader.faults:
        raise SpecError(reader.faults)
    if shape.draws is not None:
        spec = replace(spec, draws=str(FilePath(spec.path).parent / shape.draws))
    if shape.waivers is None:
        return spec
    return replace(spec, waivers=read_waivers(reader.text(("waivers",), shape.waivers), spec))


def _expand_stages(reader: SpecReader, shape: schema.AuditSpec) -> schema.AuditSpec:
    """Adds a model for each stage after the first; people who reached the stage are positive.

    From the third stage on, a second model covers only people who reached the stage before.
    """
    columns = shape.columns
    if columns.stages is None:
        return shape
    order = tuple({text.value: text for text in columns.stages.order}.values())
    for key in ("models", "prediction", "decision", "score"):
        if getattr(columns, key) is not None:
            reader.fault(("columns", key), f"`stages` replaces `{key}`: remove one", key=True)
    if len(order) < max(2, len(columns.stages.order)):
        message = "list two or more different stages, from the first to the last"
        reader.fault(("columns", "stages", "order"), message)
    models = {}
    for number, stage in enumerate(order[1:], start=1):
        reached = OutcomeColumn(
            column=columns.stages.column,
            positive=Positive(values=[text.value for text in order[number:]]),
            negative=order[:number],
            others=columns.stages.others,
        )
        models[stage.value] = ModelColumns(prediction=reached)
        if number > 1:
            before = order[number - 1]
            step = replace(reached, negative=(before,), outside=order[: number - 1])
            models[f"{stage.value} among {before.value}"] = ModelColumns(prediction=step)
    columns = replace(columns, models=models, prediction=None, decision=None, score=None)
    return replace(shape, columns=columns)


def _build(context: Context, skipped: frozenset[int], sha256: str) -> Spec:
    reader, shape = context.reader, context.shape
    if not Decimal("0.5") <= shape.inference.confidence < 1:
        reader.fault(("inference", "confidence"), "the confidence must be at least 0.5 and below 1")
    requests, checks, notices = read_metrics(context, skipped)
    columns = context.columns.assume_positives({*_list_assumed(context, requests)})
    context = replace(context, columns=columns)
    scan, gates = read_scan(context)
    stages = shape.columns.stages
    if shape.missing.masked and not gates:
        scan = None  # masked counts could make, reverse or hide any gap within strata
    rows = shape.expect.rows
    if rows.at_least is not None and rows.at_most is not None and rows.at_least > rows.at_most:
        reader.fault(("expect", "rows"), "`at_least` is above `at_most`")
    known = [column.name for column in (*columns.protected, *columns.strata)]
    for name in [name for name in shape.expect.levels if name not in known]:
        message = f"no protected column or stratum {name!r}{did_you_mean(name, known)}"
        reader.fault(("expect", "levels", name), message, key=True)
    search, limits = read_subgroup_search(context)
    exclusion = shape.groups.exclude_below
    data = tuple(
        reader.fill_in(("data", number), path) for number, path in enumerate(shape.data or ())
    )
    for number, path in enumerate(data):
        if not can_be_named(path):
            reader.fault(("data", number), f"this is not a path: {NO_PATH}")
    return Spec(
        path=reader.document.name,
        sha256=sha256,
        title=reader.fill_in(("title",), shape.title or ""),
        context=shape.context,
        data=data,
        **{role: getattr(columns, role) for role in field_names(columns)},
        count=_read_count(reader, shape, columns),
        weight=shape.columns.weight,
        cluster=_find_cluster(shape)[1],
        sample_strata=None if shape.design is None else shape.design.strata,
        format=replace(_read_format(reader, shape.format), dates=_read_dates(reader, shape.dates)),
        missing=_resolve_missing(reader, shape.missing, columns),
        filter=shape.filter,
        minimum=shape.groups.minimum,
        exclude_below=None if exclusion is None else exclusion.rule,
        expected=shape.expect,
        inference=shape.inference,
        requests=requests,
        checks=(*checks, *gates, *limits),
        simpson=scan,
        stages=tuple(stage.value for stage in stages.order) if stages else (),
        subgroups=search,
        repeats=_read_repeats(reader, shape),
        suppress_below=shape.suppress_below,
        may_repeat_files=shape.repeated_files == "allow",
        flags=shape.flags,
        describe=shape.describe,
        notices=(*notices, *notice_unsearched_rates(context, scan, checks)),
        profiles=reader.document.profiles,
        settings=reader.document.settings,
        references=tuple(_list_references(reader, shape, columns)),
        places={name: tuple(texts) for name, texts in reader.document.columns.items()},
    )


def _list_references(
    reader: SpecReader, shape: schema.AuditSpec, columns: Columns
) -> Iterator[tuple[tuple[str, ...], LocatedText]]:
    """The levels that entries name as references, each with the attributes that may have it."""
    for number, entry in enumerate(shape.metrics):
        path = ("metrics", number, "reference")
        for name, level in (entry.reference or {}).items():
            if name:
                yield (name,), reader.text((*path, name), level)
            elif level not in REFERENCES:
                names = [attribute.name for attribute in columns.protected]
                by = {name for grouping in entry.by or () for name in grouping}
                named = [name for name in names if name in by] if by <= {*names} else names
                yield tuple(named or names), reader.text(path, level)


def _list_assumed(context: Context, requests: Iterable[MetricRequest]) -> Iterator[str]:
    """The outcomes of metrics and searches that need a positive class."""
    for request in requests:
        by_class = request.terms.of_class is not None or is_over_classes(request.metric)
        if by_class or request.uses(Requirement.CLASSES):
            continue
        if request.uses(Requirement.PREDICTION):
            yield from (request.of, request.against or request.of)
        if request.uses(Requirement.LABEL):
            yield "label"
    simpson, subgroups = context.shape.simpson, context.shape.subgroups
    searches = [(simpson.of, simpson.rates or [])]
    if subgroups is not None:
        searches.append((subgroups.of, subgroups.rates or ["selection_rate"]))
    for of, names in searches:
        for rate in map(find_metric, names):
            if isinstance(rate, Rate) and Requirement.PREDICTION in rate.requirements:
                yield of or context.columns.first
            if isinstance(rate, Rate) and Requirement.LABEL in rate.requirements:
                yield "label"


def _read_count(
    reader: SpecReader, shape: schema.AuditSpec, columns: Columns
) -> LocatedText | None:
    """The column with the number of people in a row; for `counts`, a derived column."""
    where = ("columns", "count")
    counted = [name for name, outcome in columns.outcomes.items() if outcome.counts is not None]
    if not counted:
        count = shape.columns.count
        for outcome in filter(None, (columns.label, *columns.predictions)):
            if count is not None and outcome.column.value == count.value:
                what = f"{quoted(count.value)} is also the column of the {outcome.name}"
                hint = "name the column with the number of people in a row, or remove `count`"
                reader.fault(where, f"{what}: {hint}")
        return count
    if len(counted) > 1:
        reader.fault(("columns",), "only one outcome can use `counts`")
    if shape.columns.count is not None:
        what = f"`counts` of the {counted[0]} already has the number of people: remove `count`"
        reader.fault(where, what)
    return reader.text(("columns", counted[0], "counts"), COUNTED_PEOPLE, key=True)


def _read_format(reader: SpecReader, shape: schema.FileFormat) -> CsvFormat:
    if len(shape.separator.encode()) != 1 or shape.separator in '"\n\r':
        reader.fault(("format", "separator"), "the separator must be a single ASCII character")
    if shape.decimal not in {".", ","}:
        reader.fault(("format", "decimal"), "the decimal separator must be '.' or ','")
    elif shape.decimal == shape.separator:
        reader.fault(("format", "decimal"), "`decimal` and `separator` must be different")
    try:
        "".encode(shape.encoding)
    except (LookupError, ValueError):
        reader.fault(("format", "encoding"), f"unknown encoding: {shape.encoding!r}")
    header = tuple(shape.header or ())
    if shape.header is not None and (not header or len(set(header)) < len(header)):
        reader.fault(("format", "header"), "list each column of the file once, in order")
    thousands = shape.thousands or ""
    if shape.thousands is not None and thousands not in {",", ".", " ", "'", "’"}:
        reader.fault(
            ("format", "thousands"), "the thousands separator must be ',', '.', ' ' or \"'\""
        )
    elif thousands == shape.decimal:
        reader.fault(("format", "thousands"), "`thousands` and `decimal` must be different")
    if not all(map(_SYMBOL.fullmatch, shape.symbols)):
        message = "a symbol cannot contain digits, blanks or the characters . , + - ( )"
        reader.fault(("format", "symbols"), message)
    own = {key: getattr(shape, key) for key in field_names(shape)}
    return CsvFormat(**{**own, "header": header, "thousands": thousands})


def _read_dates(
    reader: SpecReader, dates: Mapping[str, tuple[str, ...]]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The date formats of each column; adds faults of formats that are invalid or ambiguous."""
    for column, notations in dates.items():
        where = ("dates", column)
        reader.column(where, column, key=True)
        for notation in notations:
            parts = {*re.findall("%(.)", notation)}
            is_whole = parts & {"Y", "y"} and parts & {"m", "b", "B"} and parts & {"d", "e"}
            if not is_whole or not parts <= {*"YymbBdeHIMSp"}:
                what = "a date format needs %d, %m (or %b) and %Y (or %y)"
                reader.fault(where, f"{what}; %H, %I, %M, %S and %p are optional")
        for first, second in permutations(notations, 2):
            if text := _find_ambiguous(first, second):
                what = f"{text} means different dates in the formats {first} and {second}"
                reader.fault(where, f"{what}: remove one format")
                break
    return tuple(dates.items())


def _find_ambiguous(first: str, second: str) -> str | None:
    """A text that means different dates in both formats; None if such a text is not found."""
    first, second = first.replace("%e", "%d"), second.replace("%e", "%d")
    for day in (datetime(2003, 4, 5, tzinfo=UTC), datetime(2010, 11, 12, tzinfo=UTC)):
        text = day.strftime(first)
        # Polars reads 03 in place of %Y as the year 3.
        for notation in {second, second.replace("%Y", "%y")}:
            with suppress(ValueError):
                read = datetime.strptime(text, notation).replace(tzinfo=UTC)
                if read != day or notation != second:
                    return text
    return None


def _resolve_missing(reader: SpecReader, missing: Missing, columns: Columns) -> Missing:
    """The rules for missing values; the rule `decision` becomes the rule `prediction`."""
    for name, outcome in columns.outcomes.items():
        for kind, texts in (("positive", outcome.positive), ("negative", outcome.negative)):
            for number, token in enumerate(missing.tokens):
                if token in {text.value for text in texts}:
                    what = f"{token!r} is {kind} in the {name}, so it cannot also mean missing"
                    reader.fault(("missing", "tokens", number), what)
    if missing.decision is None:
        return missing
    if reader.is_written("missing", "prediction"):
        what = "`prediction` is a rule for the same rows: remove one of the two"
        reader.fault(("missing", "decision"), what, key=True)
    return replace(missing, prediction=missing.decision, decision=None)


def _fill_defaults(
    document: Document, shape: schema.AuditSpec
) -> tuple[Document, schema.AuditSpec]:
    """The spec with the `defaults` in each entry. Faults of defaults point at lines of `defaults`.

    Only entries that compare with a reference get `reference`, and only entries with strata get
    `average`.
    """
    keys = [key for key in field_names(Defaults) if document.is_written(("defaults", key))]
    if not keys:
        return document, shape
    spots, entries = dict(document.spots), []
    for number, entry in enumerate(shape.metrics):
        metric, is_compared = find_metric(entry.metric), entry.compare is not None
        if isinstance(metric, Disparity):
            is_compared |= metric.to_reference and metric.reference is None
        has_strata = entry.given is not None or shape.defaults.given is not None
        applies = {"reference": is_compared, "average": has_strata}
        taken = [
            key
            for key in keys
            if applies.get(key, True) and not document.is_written(("metrics", number, key))
        ]
        for key in taken:
            spots |= document.spots_below(("defaults", key), ("metrics", number, key))
        update = {key: getattr(shape.defaults, key) for key in taken}
        entries.append(replace(entry, **update))
    return replace(document, spots=spots), replace(shape, metrics=entries)


def _refuse_suppression(
    reader: SpecReader, shape: schema.AuditSpec, columns: Columns, checks: Iterable[AnyCheck]
) -> None:
    """Adds faults of checks and searches that would reveal hidden counts.

    A verdict shows on which side of a limit a number is. Verdicts on several limits show it more
    exactly.
    """
    threshold, where = shape.suppress_below, ("suppress_below",)
    if threshold is None:
        return
    by_name = {attribute.name: attribute.column.value for attribute in columns.protected}

    def name_counts(by: Iterable[str], of: str) -> tuple[frozenset[str], str]:
        counted = frozenset({*map(by_name.__getitem__, by), columns.outcomes[of].column.value})
        return counted, " × ".join(sorted(counted))

    for fault in find_ladders(checks, name_counts):
        reader.fault(where, fault.message)
    if threshold < LEAST_THRESHOLD:
        reader.fault(where, f"`suppress_below` must be {LEAST_THRESHOLD} or more, such as 11")
    if shape.subgroups is not None:
        what = "differences between the many tables of subgroups would reveal hidden counts"
        reader.fault(("subgroups",), f"{what}: remove `subgroups` or `suppress_below`")


def _refuse_masked(reader: SpecReader, shape: schema.AuditSpec, spec: Spec) -> None:
    """Adds faults of `missing.masked`: wrong ranges, and keys that need the hidden counts."""
    for text, ends in shape.missing.masked.items():
        where = ("missing", "masked", text)
        if len(ends) != 2 or not 0 <= ends[0] <= ends[1]:
            what = "expected the smallest and the largest count that the text can mean"
            reader.fault(where, f"{what}, such as [1, 9]")
        stated = MaskedCount.propose(text)
        if stated and re.search(r"\d", text) and ends[-1:] > [stated.most]:
            reader.fault(where, f"{text!r} means at most {stated.most}, not {ends[-1]}")
        if text in shape.missing.tokens:
            reader.fault(where, f"{text!r} is also in `tokens`: remove one of the two", key=True)
    if not shape.missing.masked:
        return
    policies = {
        spec.missing.label if outcome.name == "label" else spec.missing.prediction
        for outcome in spec.outcomes
        if outcome.counts is not None
    }
    reasons = {
        "`columns` has no counts: add `count` or `counts`": not shape.columns.has_counts,
        "the number of people without a decision may be hidden: use `aside` instead of `drop`":
            MissingPolicy.DROP in policies,
        "masked counts need bounds, which reveal small counts: remove `suppress_below`":
            spec.suppress_below is not None,
        "hidden people have no number: remove `quantiles`, `top` or `median`":
            bool(needed_quantiles(spec)),
        "hidden people have no score: remove `score`": bool(spec.score_columns),
        "masked counts could reverse any difference: remove the limit of `simpson`":
            any(isinstance(check, ReversalCheck) for check in spec.checks),
        "masked counts hide the rates of small subgroups: remove `subgroups`":
            spec.subgroups is not None,
    }  # fmt: skip
    for reason, applies in reasons.items():
        if applies:
            reader.fault(("missing", "masked"), reason, key=True)


def find_ladders(
    checks: Iterable[AnyCheck], name_counts: Callable[[Grouping, str], tuple[Hashable, str]]
) -> Iterator[Fault]:
    """Faults of too many limits on the same counts of people, which verdicts would reveal.

    `name_counts` returns an identity and a name of the counts by some columns and an outcome.
    Strata are ignored, because a column with a single level does not change the counts. A check
    that needs only the label counts as a check of the label. A check with utilities counts for its
    outcomes and for the label.
    """
    judging: dict[Hashable, list[str]] = {}
    named: dict[Hashable, str] = {}
    for check in (check for check in checks if isinstance(check, Check)):
        outcomes = {check.of, check.against}
        needs = list_requirements(check.metric)
        if needs and needs <= {Requirement.LABEL, Requirement.NUMERIC_LABEL}:
            outcomes = {"label"}
        elif check.terms.parameters.utilities:
            outcomes.add("label")
        for of in sorted(filter(None, outcomes)):
            counts, name = name_counts(check.by, of)
            # A check that warns and fails has three statuses, and reveals as much as two checks.
            number = sum(limit is not None for limit in (check.warn, check.fail))
            judging.setdefault(counts, []).extend([check.metric.id] * number)
            named.setdefault(counts, name)
    for counts, metrics in judging.items():
        if len(metrics) > _MOST_LIMITS:
            yield Fault(
                f"{len(metrics)} limits judge the same counts of people by {named[counts]} "
                f"({', '.join(dict.fromkeys(metrics))}), and the maximum is {_MOST_LIMITS}: each "
                "verdict shows whether a hidden number is above a limit; remove entries or `warn`, "
                "name one outcome with `of`, or remove `suppress_below`",
                "suppress_below",
            )


def _refuse_company(reader: SpecReader, shape: schema.AuditSpec, columns: Columns) -> None:
    """Adds faults of keys that exclude each other, and of replicate weights."""
    where, cluster = _find_cluster(shape)
    weight, features = shape.columns.weight, columns.similarity
    hides = shape.suppress_below is not None
    searches, is_described = shape.subgroups is not None, shape.describe
    numbers = (name for name, one in columns.outcomes.items() if one.kind is OutcomeKind.NUMBER)
    if weight is not None and (number := next(numbers, None)) is not None:
        what = f"an outcome that is a number ({number}) does not support weights"
        reader.fault(("columns", "weight"), f"{what}: remove one of the two")
    if weight is not None and _REPLICATE.match(weight.value):
        reader.fault(("columns", "weight"), f"{quoted(weight.value)}: {NO_REPLICATES}")
    if searches and weight is not None:
        what = "`subgroups` does not support weights: remove one of the two"
        reader.fault(("subgroups",), what)
    if is_described and not features.columns:
        what = "`describe` needs `columns: {features: {numeric: […], categorical: […]}}`"
        reader.fault(("describe",), what)
    if is_described and hides:
        what = "`describe` lists levels with few people, which `suppress_below` must hide"
        reader.fault(("describe",), f"{what}: remove one of the two")
    if is_described and weight is not None and features.numeric:
        what = "`describe` does not support survey weights for numeric columns"
        reader.fault(("describe",), f"{what}: remove `describe` or the weights")
    if shape.columns.cluster not in {None, cluster}:
        reader.fault(where, "the clusters are named twice: remove `columns: {cluster: …}`")
    if shape.design is not None and cluster is None:
        what = "`design` needs the clusters that were drawn in each stratum: add `cluster: COLUMN`"
        hint = "if single rows were drawn, name a column with a number for each row"
        reader.fault(("design",), f"{what}; {hint}", key=True)
    if searches and cluster is not None:
        what = "`subgroups` does not support clusters: remove one of the two"
        reader.fault(where, what)
    if hides and cluster is not None:
        what = "intervals with clusters reveal small counts: remove `cluster` or `suppress_below`"
        reader.fault(where, what)


def _find_cluster(shape: schema.AuditSpec) -> tuple[tuple[str, str], LocatedText | None]:
    """The path of the key that names the column of clusters, and this column."""
    if shape.design is not None and shape.design.cluster is not None:
        return ("design", "cluster"), shape.design.cluster
    return ("columns", "cluster"), shape.columns.cluster


def _read_repeats(reader: SpecReader, shape: schema.AuditSpec) -> Repeats | None:
    """The column that identifies people, and the rule for the row of a person that counts."""
    rule = shape.repeats or schema.RepeatedPeople()
    name = shape.columns.id
    if name is None:
        if shape.repeats is not None:
            what = (
                "`repeats` needs the column that identifies people: `columns: {id: candidate_id}`"
            )
            reader.fault(("repeats",), what, key=True)
        return None
    if shape.columns.has_counts:
        message = "a row that represents several people has no id: remove `id` or the counts"
        reader.fault(("columns", "id"), message)
    return Repeats(name.value, rule.keep, tuple(column.value for column in rule.latest))

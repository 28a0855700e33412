"""The `AuditResult` of an audit: its rows, notices, provenance and column readings."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from fairaudit.base import __version__
from fairaudit.base.inputs import CSV, format_of
from fairaudit.counting.counts import Counts
from fairaudit.counting.plan import MISSING, Plan, is_finite_number
from fairaudit.counting.raw_counts import RawKey
from fairaudit.cube import add_up
from fairaudit.judge import Check, Finding
from fairaudit.judge import waivers as waiving
from fairaudit.judge.simpson import Scanned
from fairaudit.metrics import Disparity, Metric, TableMetric, find_comparison_id
from fairaudit.metrics.other_names import find_ranges
from fairaudit.pipeline import audit_task
from fairaudit.pipeline.tables.audit import Audit, has_room_for_lattice, list_rates
from fairaudit.pipeline.tables.check_notices import notice_unsearched
from fairaudit.pipeline.tables.lattice import (
    curves,
    epsilons,
    features,
    lattice,
    local_rates,
    scores,
)
from fairaudit.pipeline.tables.notices import write_notices
from fairaudit.pipeline.tables.rates import comparisons, groups, model_changes, rates
from fairaudit.result import AuditResult, ColumnReading, Provenance
from fairaudit.result.rows import Definition, definition
from fairaudit.spec import MetricRequest, value_of

_EXAMPLES = 5
"""The number of values that describe a column."""


def tabulate(audit: Audit, findings: tuple[Finding, ...]) -> AuditResult:
    """The result: its findings, the rows of all metrics of the spec, and notices.

    Every two models of the spec are compared. The lattice (the worst values by each subset of
    attributes) has only the groupings of the spec if all subsets together have too many groups.
    """
    task, counts, spec = audit.task, audit.counts, audit.spec
    cubes, tables, requests = audit.cubes, audit.tables, spec.requests
    is_whole = has_room_for_lattice(cubes.cube, requests)
    on_metrics = [check for check in spec.checks if isinstance(check, Check)]
    subsets = tuple(lattice(tables, requests, on_metrics, whole=is_whole))
    summaries = {
        name: tuple(score.summaries())
        for name, score in cubes.scores.items()
        if name in spec.score_columns
    }
    known = counts.medians if spec.suppress_below is None else {}
    alpha = spec.inference.alpha
    ids = [check.id for check in spec.checks]
    waivers = waiving.report_waivers(spec.waivers, findings, ids, audit_task.today())
    described = _describe_provenance(audit)
    scan, reversals, earlier = spec.simpson, audit.reversals, task.baseline
    scanned = None
    if scan is not None:
        # A published report must not show which columns have no pair to compare.
        scope = scan.scope if spec.suppress_below else reversals.narrow(scan.scope)
        scanned = Scanned(scan.of, scope, reversals.pairs)
    return AuditResult(
        provenance=described,
        ledger=cubes.cube.ledger,
        groups=tuple(groups(tables, requests)),
        rates=tuple(rates(tables, requests)),
        comparisons=tuple(comparisons(tables, requests, find_ranges(spec.flags))),
        lattice=subsets,
        epsilons=tuple(epsilons(tables, requests, whole=is_whole)),
        findings=findings,
        reversals=reversals.found,
        subgroups=None if audit.subgroups is None else audit.subgroups.reported,
        definitions=tuple(_definitions(requests)),
        notices=(
            *write_notices(audit, subsets),
            *notice_unsearched(findings),
            *waiving.write_notices(waivers, date.fromisoformat(described.created[:10])),
        ),
        scores=tuple(
            row for name, summary in summaries.items() for row in scores(name, summary, known)
        ),
        features=tuple(features(cubes)),
        local_rates=tuple(local_rates(cubes, alpha)),
        balance=tuple(row for fitted in counts.plan.models.values() for row in fitted.balance),
        curves=tuple(
            curve for name, summary in summaries.items() for curve in curves(name, summary, alpha)
        ),
        fail_on=task.fail_on,
        waivers=waivers,
        earlier=None if earlier is None else earlier.earlier,
        scanned=scanned,
        compared=None if scan is None else sum(one.pairs for one in reversals.compared.values()),
        model_changes=tuple(
            model_changes(
                tables, requests, [] if spec.stages else [one.name for one in spec.predictions]
            )
        ),
        burdens=tuple(outcome.name for outcome in spec.outcomes if not outcome.favourable),
        stages=spec.stages,
        reversals_off=scan is None,
        readings=tuple(_read_columns(counts, task.plan)),
        positives={
            outcome.name: outcome.positive_words
            for outcome in spec.outcomes
            if outcome.positive_words
        },
    )


_SETTINGS = (
    "title", "context", "minimum", "exclude_below", "inference", "flags", "profiles", "settings",
)  # fmt: skip
_TEXTS = ("filter", "count", "weight", "cluster", "sample_strata")
"""Settings that the result repeats under the same name; texts are repeated without places."""


def _describe_provenance(audit: Audit) -> Provenance:
    """The data, settings and versions that a reader needs to run the audit again."""
    spec, counts, cube, draws = audit.spec, audit.counts, audit.cubes.cube, audit.task.draws
    same: dict[str, Any] = {name: getattr(spec, name) for name in (*_SETTINGS, *_TEXTS)}
    same |= {name: value_of(same[name]) for name in _TEXTS}
    # A fingerprint of the counts, equal for equal cubes.
    fingerprint = hashlib.sha256()
    for key in cube.keys:
        fingerprint.update(repr((key.name, str(key.role), key.levels)).encode())
    fingerprint.update(cube.codes.tobytes())
    weights = [part.values for part in (cube.weight, cube.squares) if part is not None]
    for numbers in (cube.rows, cube.people, *weights):
        # Counts beyond 64 bits are Python integers.
        is_large = numbers.dtype == object
        fingerprint.update(repr(numbers.tolist()).encode() if is_large else numbers.tobytes())
    for name, amount in sorted(cube.amounts.items()):
        sums = [(part.values.tolist(), part.scale) for part in amount.sums()]
        fingerprint.update(repr((name, amount.n.tolist(), sums)).encode())
    if cube.clusters is not None:
        strata = cube.clusters.strata
        design = () if strata is None else (strata.of_cluster, strata.units)
        for entries in (cube.clusters.cell, cube.clusters.code, cube.clusters.mass, *design):
            fingerprint.update(entries.tobytes())
    return Provenance(
        version=__version__,
        spec_path=spec.path,
        spec_sha256=spec.sha256,
        files=counts.files,
        rows=cube.ledger.read,
        route=counts.route,
        cube_sha256=fingerprint.hexdigest(),
        weight_error=counts.weights.error if counts.weights else 0.0,
        created=audit_task.time_of_run(),
        clusters=None if cube.clusters is None else cube.clusters.count,
        draws=None if draws is None else draws.path,
        draws_sha256=None if draws is None else draws.sha256,
        **same,
        only=audit.task.only,
        not_run=audit.task.not_run,
        notation=counts.plan.format.words
        if any(format_of(Path(file.path)) == CSV for file in counts.files)
        else "",
    )


def _read_columns(counts: Counts, plan: Plan) -> Iterator[ColumnReading]:
    """The content of each column of a plan, over all rows.

    It shows no names of clusters, because they may identify people.
    """
    column_of: dict[str, RawKey] = {}
    # If a column has texts and intervals, its texts are described.
    for key in sorted(plan.keys, key=lambda key: key.edges is not None):
        if all(key.column != one.name for one in plan.derived):
            find = counts.text_key if key.edges is None else counts.cut_key
            column_of.setdefault(key.column, find(key.column))
    for column, raw_key in column_of.items():
        is_cut, rows = raw_key.key.edges is not None, max(int(counts.rows.sum()), 1)
        missing = {None, *counts.plan.missing_words(column)}
        is_blank = raw_key.codes == MISSING
        if not is_cut:
            is_blank = np.array([text in missing for text in raw_key.levels])[raw_key.codes]
        n = add_up(counts.rows, np.where(is_blank, raw_key.size, raw_key.codes), raw_key.size + 1)
        counted = [] if is_cut else zip(raw_key.levels, n.tolist(), strict=False)
        present = [(-rows_of, text) for text, rows_of in counted if rows_of and text is not None]
        texts = [text for _, text in sorted(present)]
        numbers = [float(text) for text in texts if is_finite_number(text)]
        kinds = ["text"] if len(texts) > len(numbers) else []
        kinds += ["numbers"] if numbers or is_cut else []
        for histogram in counts.scores[column].histograms if column in counts.scores else ():
            numbers += [*histogram.low.tolist(), *histogram.high.tolist()]
        ends = [f"{end:,.10g}" for end in (min(numbers), max(numbers))] if numbers else ["", ""]
        yield ColumnReading(
            column=column,
            kind=" and ".join(kinds) or "nothing",
            low=ends[0],
            high=ends[1],
            blank=int(n[-1]) / rows,
            distinct=None if is_cut else len(texts),
            examples=tuple(texts[: 0 if column == counts.plan.cluster else _EXAMPLES]),
        )


def _definitions(requests: Sequence[MetricRequest]) -> Iterator[Definition]:
    """The definition of each metric that the rows show."""
    seen: set[str] = set()
    for request in requests:
        metric = request.metric
        records: list[Metric] = [*list_rates(metric)]
        is_of_rate = isinstance(metric, Disparity) and find_comparison_id(metric) is not None
        if isinstance(metric, TableMetric) or (isinstance(metric, Disparity) and not is_of_rate):
            records.insert(0, metric)
        comparison = [metric.comparison] if isinstance(metric, Disparity) else []
        for record in (*records, *comparison):
            if record.id not in seen:
                seen.add(record.id)
                yield definition(record)

"""The machine-readable report: the result copied field by field, under a schema version.

Full precision, integer numerators and denominators, no NaN and no Infinity: a value that does not
exist is null, and its `state` says why.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from fractions import Fraction
from importlib.resources import files
from typing import Any

from pydantic_core import to_json

from fairaudit.answers import Answer, exit_code
from fairaudit.cube import Group
from fairaudit.errors import FairauditError, SpecError
from fairaudit.estimate import Estimate, Significance, State, state_of
from fairaudit.evidence import MissingBounds, Part, Side
from fairaudit.evidence.appearances import Appearance
from fairaudit.evidence.crowds import Apart
from fairaudit.evidence.practice import Detectable, Practice
from fairaudit.ledger import Line, PublishedLine
from fairaudit.metrics.inference import Inference
from fairaudit.report import appearances, reversals, sentences
from fairaudit.report import subgroup_rows as subgroups
from fairaudit.result import (
    SCHEMA_VERSION,
    AuditResult,
    ComparisonRow,
    Curve,
    Definition,
    EpsilonReading,
    GroupRow,
    LatticeEntry,
    LatticeRow,
    RateRow,
    ScoreRow,
)
from fairaudit.simpson import Joined, Reversal, Share
from fairaudit.verdict import (
    AnyCheck,
    Before,
    Check,
    Crossing,
    Finding,
    Limit,
    ReversalLimit,
    SubgroupCheck,
    Waived,
)
from fairaudit.version import version
from fairaudit.waivers import Told

_MOST_BITS = 10_000

_NUMBERS_OF_A_REVERSAL = (
    "crude",
    "crude_everybody",
    "standardized",
    "composition",
    "within",
    "crude_p",
    "significance",
    "opposite_weight",
    "incomplete",
)


def render(result: AuditResult) -> str:
    """The result as one JSON document."""
    return written(document(result))


def written(tree: Mapping[str, Any], *, ascii_only: bool = False) -> str:
    """A document as text, one row of a list on each line: for people, for grep and for diffs."""

    def plain(value: object) -> str:
        if ascii_only:
            return json.dumps(value, allow_nan=False)
        return to_json(value, inf_nan_mode="null").decode()

    members = []
    for name, value in tree.items():
        rows = ",\n  ".join(map(plain, value)) if isinstance(value, list) else ""
        members.append(f"{plain(name)}: " + (f"[\n  {rows}\n ]" if rows else plain(value)))
    return "{\n " + ",\n ".join(members) + "\n}\n"


def of_answers(answers: Sequence[Answer]) -> dict[str, Any]:
    """One answer as the document of its result, or error; several as one document of them all."""
    return answers_document(answers) if len(answers) > 1 else _of_answer(answers[0])


def _of_answer(one: Answer) -> dict[str, Any]:
    if isinstance(one.found, FairauditError):
        return error_document(one.found)
    return document(one.found)


def error_document(error: FairauditError) -> dict[str, Any]:
    """An error as plain data of the same kind: no verdict, and why."""
    faults = error.faults if isinstance(error, SpecError) else ()
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "fairaudit", "version": version()},
        "summary": {"verdict": "error", "exit_code": error.exit_code},
        "error": {
            "kind": type(error).__name__,
            "message": error.message,
            "hint": error.hint,
            "faults": [
                {
                    "message": fault.message,
                    "path": fault.path,
                    "place": fault.place
                    and {
                        "file": fault.place.file,
                        "line": fault.place.line,
                        "column": fault.place.column,
                    },
                }
                for fault in faults
            ],
        },
    }


def answers_document(answers: Sequence[Answer]) -> dict[str, Any]:
    """Several answers as plain data, each a document of its own."""
    codes = [one.exit_code for one in answers]
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "fairaudit", "version": version()},
        "summary": {
            "exit_code": exit_code(answers),
            "exit_codes": {str(code): codes.count(code) for code in sorted(set(codes))},
        },
        "answers": [
            {
                "spec": one.spec,
                "data": one.data,
                "exit_code": one.exit_code,
                "result": _of_answer(one),
            }
            for one in answers
        ],
    }


def schema() -> dict[str, Any]:
    """The JSON Schema of the document."""
    text = files("fairaudit.report").joinpath("result.schema.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def document(result: AuditResult) -> dict[str, Any]:
    """The result as plain data."""
    made = result.provenance
    ledger = result.ledger
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "fairaudit", "version": made.version},
        "created": made.created,
        "spec": {
            "path": made.spec_path,
            "sha256": made.spec_sha256,
            "title": made.title,
            "context": dict(made.context),
        },
        "data": {
            "files": [
                {
                    "path": one.path,
                    "bytes": one.bytes,
                    "lines": one.lines,
                    "modified": None if one.modified is None else _moment(one.modified),
                }
                for one in made.files
            ],
            "rows": made.rows,
            "route": made.route,
            "cube_sha256": made.cube_sha256,
            "filter": made.filter,
            "count": made.count,
            "weight": made.weight,
            "weight_error": made.weight_error if made.weight else None,
        },
        "options": {
            "fail_on": str(result.fail_on),
            "min_size": made.minimum.size,
            "min_events": made.minimum.events,
            "exclude_below": made.exclude_below
            and {
                "share": float(made.exclude_below.share),
                "reason": made.exclude_below.reason,
            },
            "inference": {
                "confidence": float(made.inference.confidence),
                "correction": str(made.inference.correction),
                "ratio": str(made.inference.ratio),
                "z": str(made.inference.z),
                "t": str(made.inference.t),
                "fisher": str(made.inference.fisher),
            },
            "suppress_below": made.suppress_below,
        },
        "ledger": {
            "read": ledger.read,
            "counted": ledger.counted,
            "people": ledger.people,
            "filtered": ledger.filtered,
            "undecided": ledger.undecided,
            "dropped": [_line(one) for one in ledger.dropped],
            "set_aside": [_line(one) for one in ledger.set_aside],
        },
        "summary": {
            "verdict": str(result.verdict),
            "exit_code": result.exit_code,
            "checks": {str(status): count for status, count in result.tally.items()},
        },
        "groups": [_group_row(row) for row in result.groups],
        "rates": [_rate_row(row) for row in result.rates],
        "comparisons": [_comparison_row(row) for row in result.comparisons],
        "checks": [_finding(one) for one in result.findings],
        "reversals": [_reversal(one, result.provenance.inference) for one in result.reversals],
        "reversal_comparisons": result.compared,
        "searched": result.searched
        and {
            "columns": list(result.searched.columns),
            "left_out": dict(result.searched.left_out),
        },
        "subgroups": [*subgroups.rows(result)],
        "subgroup_searches": [*subgroups.searches(result)],
        "lattice": [_lattice_row(row, made.inference.alpha) for row in result.lattice],
        "epsilons": [_epsilon(one) for one in result.epsilons],
        "scores": [_score_row(row) for row in result.scores],
        "curves": [_curve(one) for one in result.curves],
        "definitions": [_definition(one) for one in result.definitions],
        "baseline": result.earlier
        and {
            "path": result.earlier.path,
            "created": result.earlier.created,
            "age_days": result.earlier.days,
            "tolerance": float(result.earlier.tolerance),
        },
        "waivers": [_told(one) for one in result.waivers],
        "notices": list(result.notices),
    }


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _line(one: Line | PublishedLine) -> dict[str, Any]:
    return {"rows": one.rows, "people": one.people, "column": one.column, "reason": one.reason}


def _group(group: Group) -> dict[str, str]:
    return dict(group)


def _value(value: float | None) -> dict[str, Any]:
    """State and value; null where there is no finite number, or it is not told."""
    if value is None:
        return {"state": State.SUPPRESSED.value, "value": None}
    if math.isfinite(value):
        return {"state": State.DEFINED.value, "value": value}
    return {"state": state_of(value).value, "value": None}


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _value_of(one: Estimate) -> dict[str, Any]:
    """State and value of an estimate."""
    return _value(None if one.suppressed else one.value)


def _estimate(one: Estimate) -> dict[str, Any]:
    return {
        **_value_of(one),
        "reason": one.reason,
        "n": one.n,
        "numerator": one.numerator,
        "denominator": one.denominator,
        "scale": one.scale,
        **_interval(one),
        "significance": _significance(one.significance),
        **({"error": _finite(one.error)} if one.error else {}),
    }


def _significance(one: Significance | None) -> dict[str, Any] | None:
    return None if one is None else asdict(one)


def _interval(one: Estimate) -> dict[str, Any]:
    """The ends of an interval, null where there are none; an infinite one is null and says so."""
    ends: dict[str, Any] = {}
    for name, end in (("low", one.low), ("high", one.high)):
        ends[name] = None if end is None else _finite(end)
        if end is not None and not math.isfinite(end):
            ends[f"{name}_state"] = str(state_of(end))
    if one.method:
        return {**ends, "method": one.method}
    return {**ends, "no_interval": one.no_interval} if one.no_interval else ends


def _group_row(row: GroupRow) -> dict[str, Any]:
    return {
        "of": row.of,
        "by": list(row.by),
        "given": _group(row.stratum),
        "group": _group(row.group),
        "n": row.n,
        "share": row.share,
        "counts": dict(row.counts),
        "standing": str(row.standing),
    }


def _score_row(row: ScoreRow) -> dict[str, Any]:
    return {
        "score": row.column,
        "by": list(row.by),
        "group": _group(row.group),
        "known": row.known,
        "n": row.n,
        "mean": row.mean,
        "deviation": row.deviation,
        "lowest": _finite(row.lowest),
        "highest": _finite(row.highest),
        "median": None if row.median is None else [_finite(one) for one in row.median],
        "auc": row.auc,
        "auc_error": row.auc_error,
        **({"state": State.SUPPRESSED.value} if row.suppressed else {}),
    }


def _curve(one: Curve) -> dict[str, Any]:
    return {
        "score": one.column,
        "by": list(one.by),
        "group": _group(one.group),
        "known": one.known,
        "calibration": [asdict(point) for point in one.calibration],
        "thresholds": [{**asdict(point), "at": _finite(point.at)} for point in one.thresholds],
        **({"state": State.SUPPRESSED.value} if one.suppressed else {}),
    }


def _rate_row(row: RateRow) -> dict[str, Any]:
    return {
        "metric": row.metric,
        "of": row.of,
        "by": list(row.by),
        "given": _group(row.stratum),
        "group": _group(row.group),
        **_estimate(row.estimate),
        "standing": str(row.standing),
        "reference": _group(row.reference),
        "difference": _value(row.difference),
        "ratio": _value(row.ratio),
        "parameters": dict(row.parameters),
    }


def _comparison_row(row: ComparisonRow) -> dict[str, Any]:
    return {
        "metric": row.metric,
        "compare": row.compare,
        "of": row.of,
        "by": list(row.by),
        "given": _group(row.stratum),
        "group": None if row.group is None else _group(row.group),
        "reference": row.reference,
        **_value_of(row.estimate),
        "reason": row.estimate.reason,
        **_interval(row.estimate),
        "significance": _significance(row.estimate.significance),
        **({"error": _finite(row.estimate.error)} if row.estimate.error else {}),
        "parameters": dict(row.parameters),
        "averaged_over": list(row.averaged),
        "witness": _witness(row.parts, row.decided_by, row, spread=row.group is None),
        "parts": [_part(part) for part in row.parts],
        "groups_compared": row.takes_part,
    }


def _witness(
    parts: tuple[Part, ...],
    decided_by: str | None,
    row: ComparisonRow | Finding | LatticeEntry,
    *,
    spread: bool,
) -> dict[str, Any] | None:
    """The pair, and the outcome or the rate, that attain a value; null where none does.

    A spread names the highest and the lowest group, any other comparison group and reference.
    """
    if not row.first and not row.second:
        return None
    names = ("high", "low") if spread else ("group", "reference")
    outcomes = {part.outcome for part in parts if part.outcome}
    key = "outcome" if decided_by in outcomes else "metric"
    return {
        **({key: decided_by} if decided_by else {}),
        names[0]: _group(row.first),
        names[1]: _group(row.second),
    }


def _part(part: Part) -> dict[str, Any]:
    return {
        "metric": part.metric,
        "outcome": part.outcome,
        **_value(part.value),
        "first": _side(part.first),
        "second": _side(part.second),
    }


def _side(side: Side | None) -> dict[str, Any] | None:
    if side is None:
        return None
    return {"group": _group(side.group), "crowd": side.crowd, **_estimate(side.estimate)}


def _finding(one: Finding) -> dict[str, Any]:
    check = one.check
    common = {
        "id": check.id,
        "status": str(one.status),
        "metric": _metric(check),
        "of": check.of,
        "by": list(check.by) if isinstance(check, Check) else [],
        "given": list(check.given) if isinstance(check, Check) else [],
        "limit": _limit(one.limit),
        "warn": _limit(check.warn),
        "fail": _limit(check.fail),
        "sentence": sentences.answer(one),
        "place": check.place and {"file": check.place.file, "line": check.place.line},
    }
    estimate = one.estimate
    return {
        **common,
        **_estimate(estimate or Estimate(math.nan)),
        "reason": one.why or None,
        "exact": None if estimate is None else _exact(estimate.exact),
        "group": _group(one.first),
        "witness": _witness(one.parts, one.decided_by, one, spread=one.spread),
        "stratum": _group(one.stratum),
        "worse_off": _group(one.worse_off),
        "backing": str(one.backing),
        "practice": None if one.practice is None else _practice(one.practice),
        "detectable": None if one.detectable is None else _detectable(one.detectable),
        "parts": [_part(part) for part in one.parts],
        "crossed": [_crossing(crossing) for crossing in one.crossed],
        "not_evaluated": [
            {
                "group": _group(who.group),
                "given": _group(who.stratum),
                "reason": who.reason,
                "blocks": who.blocks,
                "detail": who.detail,
            }
            for who in one.not_evaluated
        ],
        "reversals": [_pair(each) for each in one.reversals],
        "waived": [_waived(each) for each in one.waived],
        "baseline": one.before and _before(one.before),
        "definition": one.definition,
        "missing": None if one.missing is None else _missing(one.missing),
    }


def _metric(check: AnyCheck) -> str:
    if isinstance(check, Check):
        return check.asked.id
    return "subgroup_divergence" if isinstance(check, SubgroupCheck) else "simpson_reversal"


def _crossing(one: Crossing) -> dict[str, Any]:
    return {
        "group": _group(one.group),
        "given": _group(one.stratum),
        "between": [_group(group) for group in one.between],
        **_value(one.value),
        "exact": _exact(one.exact),
        "backing": str(one.backing),
        "lower": one.lower,
    }


def _exact(value: Fraction | None) -> str | None:
    """A fraction as text; None where its digits would fill pages."""
    return None if value is None or value.denominator.bit_length() > _MOST_BITS else str(value)


def _pair(one: Reversal) -> str:
    return f"{one.attribute}: {one.pair[0]} / {one.pair[1]}"


def _waived(one: Waived) -> dict[str, Any]:
    return {
        "group": _group(one.group) or "all",
        "reason": one.reason,
        "approved_by": one.approved_by,
        "expires": one.expires.isoformat(),
        "crossed": [_crossing(crossing) for crossing in one.crossed],
    }


def _told(one: Told) -> dict[str, Any]:
    waiver = one.waiver
    return {
        "check": waiver.check,
        "group": _group(waiver.group) or "all",
        "reason": waiver.reason,
        "approved_by": waiver.approved_by,
        "expires": waiver.expires.isoformat(),
        "state": str(one.state),
        "why": one.why,
        "place": waiver.place and {"file": waiver.place.file, "line": waiver.place.line},
    }


def _before(one: Before) -> dict[str, Any]:
    value = math.nan if one.value is None else one.value
    return {
        "status": one.status,
        **_value(value),
        "worse_by": one.worse_by,
        "worse": [_crossing(crossing) for crossing in one.worse],
        "reversals": [_pair(each) for each in one.reversals],
        "between": [_group(group) for group in one.between],
    }


def _practice(one: Practice) -> dict[str, Any]:
    return {
        "shortfall": one.shortfall,
        "people_to_limit": one.to_limit,
        "limit": float(one.limit),
        "ratio": _finite(one.ratio),
        "below": one.below,
        "flip_flop": one.flips,
        "large": one.large,
        "standard_deviations": one.deviations,
        "of_those_spared": one.burden,
    }


def _detectable(one: Detectable) -> dict[str, Any]:
    return {
        "group": _group(one.group),
        "given": _group(one.stratum),
        "down": _finite(one.down),
        "up": _finite(one.up),
        "n": one.n,
        "reference_n": one.m,
        "power": one.power,
    }


def _missing(one: MissingBounds) -> dict[str, Any]:
    """Who is missing, and the bounds: each with its state, for a ratio may be infinite."""

    def bounds(low: float | None, high: float | None) -> dict[str, Any] | None:
        if low is None or high is None:
            return None
        return {"low": _value(low), "high": _value(high)}

    return {
        "outcome": one.missing_outcome,
        "group": one.missing_group,
        "anywhere": bounds(one.low, one.high),
        "apart": bounds(one.apart_low, one.apart_high),
        "proportional": bounds(one.proportional_low, one.proportional_high),
        "turns": one.turns,
        "others": [
            {
                "group": _group(other.group),
                "given": _group(other.stratum),
                "low": _value(other.low),
                "high": _value(other.high),
            }
            for other in one.others
        ],
        "reason": one.reason,
    }


def _limit(limit: Limit | ReversalLimit | None) -> dict[str, Any] | None:
    """A limit as it was written: decimals stay text-exact as numbers."""
    if limit is None:
        return None
    if isinstance(limit, ReversalLimit):
        said = {"significant": True} if limit.significant else {}
        return {"kind": str(limit.kind), **said}
    bounds = {"below": limit.below, "above": limit.above}
    asked = {"significant": limit.significant, "conclusive": limit.conclusive}
    return {
        **{name: float(bound) for name, bound in bounds.items() if bound is not None},
        **{name: True for name, is_asked in asked.items() if is_asked},
    }


def _reversal(one: Reversal, inference: Inference) -> dict[str, Any]:
    named = {
        "rate": one.rate,
        "of": one.of,
        "attribute": one.attribute,
        "pair": list(one.pair),
        "given": list(one.given),
        "kind": str(one.kind),
    }
    if one.suppressed:
        return {
            **named,
            "state": State.SUPPRESSED.value,
            **dict.fromkeys(_NUMBERS_OF_A_REVERSAL),
            "mantel_haenszel_odds_ratio": _value(None),
            "joined": None,
            "crude_pair": [],
            "standardized_pair": [],
            "facts": None,
            "strata": [],
            "off_support": [],
            "sentence": reversals.sentence(one, inference.alpha),
        }
    return {
        **named,
        "crude": one.crude,
        "crude_pair": [_share(share) for share in one.crude_pair],
        "crude_everybody": _finite(one.crude_everybody),
        "standardized": one.standardized,
        "standardized_pair": list(one.standardized_pair),
        "composition": one.composition,
        "within": one.within,
        "mantel_haenszel_odds_ratio": _value(one.mantel_haenszel_odds_ratio),
        "joined": None if one.joined is None else _joined(one.joined),
        "crude_p": one.crude_p,
        "significance": _significance(one.significance),
        "opposite_weight": one.opposite_weight,
        "facts": {
            "reversed_strata": f"{one.reversed_strata}/{one.estimable_strata}",
            "adjusted": one.adjusted,
        },
        "strata": [
            {
                "given": _group(stratum.stratum),
                "first": _share(stratum.first),
                "second": _share(stratum.second),
                "difference": stratum.difference,
                "weight": stratum.weight,
                "significance": _significance(stratum.significance),
            }
            for stratum in one.strata
        ],
        "off_support": [_group(stratum) for stratum in one.off_support],
        "incomplete": one.incomplete,
        "sentence": reversals.sentence(one, inference.alpha),
    }


def _joined(one: Joined) -> dict[str, Any]:
    """What strata say together; an end that is infinite is null, as one that does not exist."""
    ends = asdict(one)
    return {name: None if value is None else _finite(value) for name, value in ends.items()}


def _share(one: Share) -> dict[str, Any]:
    return {
        "value": one.value,
        "numerator": one.over,
        "denominator": one.under,
        "scale": one.scale,
        "n": one.n,
    }


def _lattice_row(row: LatticeRow, alpha: float) -> dict[str, Any]:
    return {
        "by": list(row.by),
        "groups": row.groups,
        "smallest": row.smallest,
        "entries": [
            {
                "metric": entry.metric,
                "title": entry.title,
                "of": entry.of,
                **_value_of(entry.estimate),
                "reason": entry.estimate.reason,
                **_interval(entry.estimate),
                "witness": _witness(entry.parts, entry.decided_by, entry, spread=entry.spread),
                "judged": entry.judged,
                "parts": [_part(part) for part in entry.parts],
            }
            for entry in row.entries
        ],
        "tested": None if row.tested is None else dict(row.tested),
        "appears": [_appearance(one, alpha) for one in row.appears],
    }


def _appearance(one: Appearance, alpha: float) -> dict[str, Any]:
    return {
        "metric": one.metric,
        "of": one.of,
        "class": one.of_class,
        "group": _group(one.group),
        **_crowd(one.estimate),
        "everybody_else": _apart(one.apart),
        "worse_off": one.worse_off,
        "significance": None if one.significance is None else asdict(one.significance),
        "parents": [
            {
                "group": _group(parent.group),
                **_crowd(parent.estimate),
                "everybody_else": None if parent.apart is None else _apart(parent.apart),
                "rest": _apart(parent.rest),
            }
            for parent in one.parents
        ],
        "sentence": appearances.sentence(one, alpha),
    }


def _apart(one: Apart) -> dict[str, Any]:
    return {
        "other": _crowd(one.other),
        "difference": one.difference,
        "low": one.low,
        "high": one.high,
        "p": one.p,
        "test": one.test,
    }


def _crowd(one: Estimate) -> dict[str, Any]:
    """The share of a group or of a crowd; its test stands where it is compared."""
    return {name: value for name, value in _estimate(one).items() if name != "significance"}


def _epsilon(one: EpsilonReading) -> dict[str, Any]:
    return {
        "of": one.of,
        "by": list(one.by),
        "parameters": one.parameters,
        "epsilon": _value(one.epsilon),
        "factor": _value(one.factor),
        "twice": _value(one.twice),
        "bounds_subsets": one.bounds_subsets,
        "regime": one.regime,
    }


def _definition(one: Definition) -> dict[str, Any]:
    return {
        "id": one.id,
        "version": one.version,
        "title": one.title,
        "family": one.family,
        "means": one.means,
        "formula": one.formula,
        "direction": one.direction,
        "caution": one.caution,
        "elsewhere": one.elsewhere,
        "interval": one.interval,
        "test": one.test,
        "source": one.source,
        "aliases": list(one.aliases),
    }

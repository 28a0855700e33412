"""Expands presets into entries; leaves out measures that the data has nothing for; its limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairaudit.base.disclosure_marks import Subjects
from fairaudit.base.notice import Notice
from fairaudit.metrics import Disparity, Preset, ReferencePolicy, find_metric, find_preset
from fairaudit.spec import metrics_schema
from fairaudit.spec.fields import GIVEN_MODEL
from fairaudit.spec.metric_lookup import Context, Entry, of_numbers
from fairaudit.spec.metric_needs import adds_up, find_unmet, is_of_label
from fairaudit.spec.shape import change_fields, written_fields
from fairaudit.spec.text import Path

_TAKEN = {"metric", "by", "given", GIVEN_MODEL, "of", "reference", "warn", "fail", "undefined"}


def expand_presets(
    context: Context, written: Sequence[tuple[Path, metrics_schema.Metric]]
) -> tuple[list[tuple[Path, metrics_schema.Metric]], list[Notice]]:
    """The entries with presets written out, and a notice on each preset.

    A preset is of every model, unless `of` names one; a limit is on its first measure. Where the
    spec declares no reference, groups are compared with the largest. What it lacks the data for is
    left out, and told.
    """
    entries: list[tuple[Path, metrics_schema.Metric]] = []
    notices = []
    left_out = []
    for path, shape in written:
        preset = find_preset(shape.metric)
        if preset is None:
            if _is_without_data(context, path, shape):
                left_out.append(shape.metric)
            else:
                entries.append((path, shape))
            continue
        for key in sorted(set(written_fields(shape)) - _TAKEN):
            what = f"the preset {preset.name} takes no `{key}`: name its measures one by one"
            context.draft.fault((*path, key), what, key=True)
        parts = list(_expand(context, path, shape, preset))
        entries += [(path, part) for part in parts]
        notices.append(Notice(_describe(preset, parts), Subjects.NOBODY))
        if shape.limits and not any(part.limits for part in parts):
            first = preset.metrics[0]
            what = f"the limit of {preset.name} is on {first}, which is not of this data"
            context.draft.fault((*path, "metric"), what)
    profiles = context.draft.document.profiles
    if left_out:
        names = ", ".join(profile.name for profile in profiles)
        what = f"of the profile {names} this data has nothing for {', '.join(left_out)}"
        notices.append(Notice(what, Subjects.NOBODY))
    return entries, notices


def _is_without_data(context: Context, path: Path, shape: metrics_schema.Metric) -> bool:
    """Whether a profile shows a measure that the data has nothing for; no limit is left out."""
    metric = find_metric(shape.metric)
    if context.draft.document.is_own(path) or metric is None or shape.limits:
        return False
    of = shape.of or context.columns.first
    return not _has_data(Entry(context, path, shape, metric), of)


def _expand(
    context: Context, path: Path, shape: metrics_schema.Metric, preset: Preset
) -> Iterator[metrics_schema.Metric]:
    """The entries of a preset that the spec has the data for."""
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
                changes["given"] = [[stratum] for stratum in context.groupings.strata] or None
            if name != preset.metrics[0]:
                changes |= {"warn": None, "fail": None}
            part = change_fields(shape, changes)
            if _has_data(Entry(context, path, part, metric), of):
                yield part


def _has_data(entry: Entry, of: str) -> bool:
    """Whether the spec has what the measure of an entry is computed from."""
    outcomes = entry.context.outcomes
    if of not in outcomes:
        return entry.shape.of is not None  # A fault of its own, with the nearest name.
    entry = of_numbers(entry, of)
    if entry.metric.conditional and entry.shape.given is None:
        return False
    weighs = entry.context.is_weighted and adds_up(entry, of)
    return not weighs and find_unmet(entry.metric, of, outcomes) is None


def _describe(preset: Preset, parts: Sequence[metrics_schema.Metric]) -> str:
    """What a preset stands for here, and why its source uses it."""
    used = [name for name in preset.metrics if name in {part.metric for part in parts}]
    others = [name for name in preset.metrics if name not in used]
    text = f"preset {preset.name}: {', '.join(used) or 'nothing'}"
    text += f"; not of this data: {', '.join(others)}" if others else ""
    return f"{text}. Why: {preset.why} ({preset.source})"

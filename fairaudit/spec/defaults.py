"""Fills what entries of `metrics` leave out from the `defaults` of a spec."""

from __future__ import annotations

from dataclasses import replace

from fairaudit.metrics import Disparity, find_metric
from fairaudit.spec.check_schema import Defaults, Metric
from fairaudit.spec.schema import AuditSpec
from fairaudit.spec.text import Document


def fill_defaults(document: Document, shape: AuditSpec) -> tuple[Document, AuditSpec]:
    """The spec with its defaults in each entry; faults of them point at the line in `defaults`.

    `reference` goes to entries that compare with one, `average` to those within strata.
    """
    keys = [key for key in Defaults.model_fields if key in shape.defaults.model_fields_set]
    if not keys:
        return document, shape
    places = {name: dict(getattr(document, name)) for name in ("keys", "values", "ends")}
    entries = []
    for number, entry in enumerate(shape.metrics):
        taken = {key for key in keys if _takes(entry, key, shape.defaults)}
        for key in taken:
            path, source = ("metrics", number, key), ("defaults", key)
            for kind in places.values():
                kind |= {
                    (*path, *inner[2:]): place
                    for inner, place in kind.items()
                    if inner[:2] == source
                }
        update = {key: getattr(shape.defaults, key) for key in taken}
        entries.append(entry.model_copy(update=update))
    filled = shape.model_copy(update={"metrics": entries})
    key_places, values, ends = places.values()
    return replace(document, keys=key_places, values=values, ends=ends), filled


def _takes(entry: Metric, key: str, defaults: Defaults) -> bool:
    """Whether an entry takes a default: it does not say the key, and the key means something."""
    if key in entry.model_fields_set:
        return False
    if key == "average":
        return entry.given is not None or defaults.given is not None
    if key != "reference" or entry.compare is not None:
        return True
    metric = find_metric(entry.metric)
    return isinstance(metric, Disparity) and metric.to_reference and metric.reference is None

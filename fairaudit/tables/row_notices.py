"""What a reader should know of metrics of people one by one: who was read, and who was not."""

from __future__ import annotations

from collections.abc import Iterator

from fairaudit.cube import Rows
from fairaudit.disclosure import Notice, Subjects
from fairaudit.metrics import Requirement
from fairaudit.rows.neighbours import locate
from fairaudit.spec import Spec


def write_row_notices(spec: Spec, rows: Rows | None) -> Iterator[Notice]:
    """Notices on people who lack a feature, on samples, and on features that tell nothing."""
    if rows is None:
        return
    needing = (request.metric.id for request in spec.requests if request.uses(Requirement.FEATURES))
    names = ", ".join(dict.fromkeys(needing))
    read = f"{names}: {rows.complete:,} of {rows.audited:,} people were read one by one"
    if rows.missing:
        lacking = ", ".join(f"{name} {n:,}" for name, n in rows.missing.items())
        read += f"; the others lack a feature ({lacking}) and are left out"
    if rows.is_sample:
        read += (
            f"; {len(rows.cells):,} of these, drawn by a hash of their row numbers, fit into the "
            "memory, so neighbours are farther apart than in the whole data"
        )
    yield Notice(read, Subjects.NEVER)
    constant = locate(rows.features).constant
    if constant:
        what = f"{names}: {', '.join(constant)} does not vary, and so tells nobody apart"
        yield Notice(what, Subjects.NEVER)

"""`Audit`: a question with its counts, cubes and tables, and what its searches find."""

from __future__ import annotations

from functools import cache, cached_property

from fairaudit.base.disclosure_marks import Subjects
from fairaudit.base.errors import UsageError
from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.notice import Notice
from fairaudit.counting.counts import Counts
from fairaudit.judge.simpson import ScanResult, scan_reversals
from fairaudit.judge.subgroups import Discovery, search_subgroups
from fairaudit.pipeline.plan_builder import plan
from fairaudit.pipeline.question import Question
from fairaudit.pipeline.recode import Cubes, recode
from fairaudit.pipeline.tables.evaluation_cache import Tables
from fairaudit.pipeline.tables.request_refusals import check_requests
from fairaudit.spec import Spec, apply_cuts


class Audit(Frozen, eq=False, dict=True):
    """A question whose people are counted; `spec` has the cuts and models of the data."""

    question: Question
    counts: Counts
    spec: Spec
    cubes: Cubes
    tables: Tables

    @classmethod
    def of(cls, question: Question, counts: Counts) -> Audit:
        """Raises `UsageError` for counts that do not hold what the question asks."""
        has_cuts = {*question.quantiles} <= {*counts.plan.cuts}
        spec = apply_cuts(question.spec, counts.plan.cuts) if has_cuts else question.spec
        has_models = {stratum.name for stratum in spec.modelled} <= {*counts.plan.models}
        if (
            not has_cuts
            or not has_models
            or not counts.plan.covers(plan(spec, models=counts.plan.models))
        ):
            what = "the counts file does not contain what the spec needs"
            raise UsageError(what, "count the data with this spec")
        fitted = counts.plan.models.values()
        reports = (Notice(model.report, Subjects.NEVER) for model in fitted)
        spec = replace(spec, notices=(*spec.notices, *reports))
        cubes = recode(counts, spec)
        check_requests(spec, cubes.cube)
        return cls(question, counts, spec, cubes, Tables(cubes, spec, draws=question.draws))

    @cached_property
    def reversals(self) -> ScanResult:
        """The reversals that the scan of the spec finds; none without a scan."""
        scan, columns = self.spec.simpson, self.cubes.searched_columns
        if scan is None:
            return ScanResult()
        more = () if columns is None else columns.columns
        given = (*scan.given, *((name,) for name in more))
        tables = self.tables
        table = tables.table if self.spec.cluster is None else cache(tables.table_of_rows)
        return scan_reversals(table, replace(scan, given=given))

    @cached_property
    def subgroups(self) -> Discovery | None:
        """What the search of subgroups finds; None where the spec asks for none."""
        if self.spec.subgroups is None:
            return None
        cubes = self.cubes
        return search_subgroups(cubes.tables or (cubes.cube,), self.spec.subgroups)

    @property
    def hidden_people(self) -> int:
        """How many people sites hid in their counts."""
        return sum(cells.people for cells in self.counts.hidden)

"""`RunOptions`, defaults; `Question`: its data, checks by `--only`, `--timeout`, missing draws."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from fairaudit import spec as specs
from fairaudit.base.errors import FairauditError, UsageError, check_type
from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.progress import Progress
from fairaudit.counting.columns import Cut, Quantile, SimilarityColumns
from fairaudit.counting.contract import Data, Engine
from fairaudit.counting.plan import Plan
from fairaudit.counting.posterior_draws import Draws
from fairaudit.counting.sources.dialects import Database
from fairaudit.counting.sources.files import Files
from fairaudit.counting.sources.sources import Frame
from fairaudit.counting.strata_models import FittedStrata
from fairaudit.judge import AnyCheck, Status, match_ids
from fairaudit.metrics import Requirement
from fairaudit.pipeline import baseline as baselines
from fairaudit.pipeline import provenance
from fairaudit.pipeline.baseline import NO_TOLERANCE, Baseline, BaselineSource
from fairaudit.pipeline.plan_builder import plan, plan_to_fit
from fairaudit.result import FailOn
from fairaudit.spec import Protected, Spec, apply_cuts, needed_quantiles

SpecLike: TypeAlias = str | Path | Mapping[str, object] | Spec
"""A path, a YAML text of several lines, a mapping of the same shape, or a loaded spec."""


DataLike: TypeAlias = Any
"""A path (also a glob or folder), a frame, a dict of columns, or None: what the spec names."""

Value = TypeVar("Value")

_LONGEST = 1_000_000


class RunOptions(Frozen):
    """The options of a run, as `audit` and the command take them; `Question.read` checks them."""

    fail_on: FailOn | str = FailOn.FAIL
    only: str | Iterable[str] | None = None
    baseline: BaselineSource | None = None
    tolerance: Decimal | float | str = NO_TOLERANCE
    draws: str | Path | None = None
    settings: Iterable[str] = ()
    timeout: float | None = None


NO_OPTIONS = RunOptions()


class Question(Frozen):
    """A spec that was read: the checks to judge, and what a pass must count for it.

    Where the spec names `quantiles`, or strata that models make, the plan that counts is the one
    with their cuts and models.
    `definitions` are the fingerprints of the checks, of the spec as it is written. `draws` are
    those that the spec names: no stage after the counts opens a file. `timeout` is the seconds that
    a database has to answer.
    """

    spec: Spec
    plan: Plan
    checks: tuple[AnyCheck, ...]
    fail_on: FailOn
    definitions: Mapping[str, str]
    quantiles: tuple[Quantile, ...] = ()
    baseline: Baseline | None = None
    draws: Draws | None = None
    timeout: float | None = None
    only: tuple[str, ...] = ()

    @classmethod
    def read(
        cls, source: SpecLike, options: RunOptions = NO_OPTIONS, *, reads_draws: bool = True
    ) -> Question:
        """The question that a spec and the options of a run ask; raises what is wrong with them.

        Whoever does not conclude needs no draws.
        """
        created = provenance.time_of_run()  # NumPy itself trips over a date that is none
        spec = _load(source, options.settings)
        if options.draws is not None:
            spec = replace(spec, draws=str(options.draws))
        if spec.draws is None and _asks_for_draws(spec):
            what = "the spec has a metric of posterior draws but no `draws`"
            raise UsageError(what, "add `draws: theta.parquet` to the spec, or use --draws")
        if spec.subgroups is not None and spec.suppress_below is not None:
            # Of a spec that was read this is a fault; here is one that was changed since.
            what = "`subgroups` and `suppress_below` cannot be combined"
            raise UsageError(what, "remove `subgroups` or `suppress_below`")
        if options.fail_on not in [*FailOn]:
            raise UsageError(f"fail_on must be fail, warn or never, not {options.fail_on!r}")
        check_type(options.only, Iterable | None, "only is an id or a list of ids")
        only = (options.only,) if isinstance(options.only, str) else tuple(options.only or ())
        ids = [check.id for check in spec.checks]  # a name that none has is an error
        chosen = {match for name in only for match in match_ids(str(name), ids)}
        checks = tuple(check for check in spec.checks if not only or check.id in chosen)
        definitions = {check.id: baselines.compute_fingerprint(check, spec) for check in checks}
        earlier = None
        if options.baseline is not None:
            earlier = baselines.load(options.baseline, options.tolerance, created)
            baselines.refuse_other(earlier, spec, definitions)
        timeout = options.timeout
        if timeout is not None and not 0 < timeout <= _LONGEST:
            what = f"the time limit must be a number of seconds up to {_LONGEST:,}, not {timeout:g}"
            raise UsageError(what, "--timeout 600")
        quantiles = needed_quantiles(spec)
        return cls(
            spec,
            plan(spec),
            checks,
            FailOn(options.fail_on),
            definitions,
            quantiles,
            earlier,
            _read_draws(spec) if reads_draws else None,
            timeout,
            tuple(map(str, only)),
        )

    @property
    def failing(self) -> frozenset[Status]:
        """The statuses that fail the run."""
        also = {Status.WARN} if self.fail_on is FailOn.WARN else set[Status]()
        return frozenset({Status.FAIL, *also})

    @property
    def not_run(self) -> tuple[str, ...]:
        """The ids of the checks that `only` leaves out."""
        return tuple(check.id for check in self.spec.checks if check.id not in self.definitions)

    def find_data(self, data: DataLike) -> Data:
        """What is to be read: `data`, or what the spec names.

        Raises `UsageError` where it is to be read within a time, and is no database.
        """
        found = self._name_data(data)
        if self.timeout is None:
            return found
        if not isinstance(found, Database):
            what = "--timeout applies only to databases"
            raise UsageError(what, "remove it; `timeout 600 …` limits any command")
        return replace(found, timeout=self.timeout)

    def _name_data(self, data: DataLike) -> Data:
        if isinstance(data, str | Path):
            found = Database.find([str(data)], Path())
            return found or Files((str(data),), may_repeat=self.spec.may_repeat_files)
        if data is not None:
            return data if isinstance(data, Frame) else Frame(data)
        if not self.spec.data:
            raise UsageError("the spec has no `data`", "add `data:` to the spec, or use --data")
        base = Path(self.spec.path).parent
        found = Database.find(self.spec.data, base)
        return found or Files(self.spec.data, base, self.spec.may_repeat_files)

    def find_plan(self, data: Data, progress: Progress, engine: Engine) -> Plan:
        """The plan that counts; its quantiles are those of the data, its models fitted to it."""
        if not self.depends_on_data:
            return self.plan
        cuts: Mapping[Quantile, Cut] = {}
        if self.quantiles:
            cuts = engine.find_cuts(self.plan, self.quantiles, data, progress)
        if not self.spec.modelled:
            return plan(self.spec, cuts)
        from fairaudit.pipeline import strata_fitting

        models: dict[str, FittedStrata] = {}
        groups: dict[SimilarityColumns, list[Protected]] = {}
        for stratum in self.spec.modelled:
            if stratum.model is not None:
                groups.setdefault(stratum.model.features, []).append(stratum)
        for features, strata in groups.items():  # models of the same features share a pass
            needed = plan_to_fit(self.spec, cuts, features, strata_fitting.MOST_FITTED)
            (counts,) = engine.count([needed], data, progress)
            spec = apply_cuts(self.spec, cuts)
            models |= strata_fitting.fit_strata(spec, strata, get_or_raise(counts))
        return plan(self.spec, cuts, models)

    def locate(self, outcome: Value | FairauditError) -> Value | FairauditError:
        """What came of a pass; an error points at the places of its columns in the spec."""
        return self.spec.locate(outcome) if isinstance(outcome, FairauditError) else outcome

    @property
    def depends_on_data(self) -> bool:
        """Whether the data says what to count: by its quantiles, or by models fitted to it."""
        return bool(self.quantiles or self.spec.modelled)


def _load(spec: SpecLike, settings: Iterable[str]) -> Spec:
    if isinstance(spec, Spec):
        if [*settings]:
            what = "settings cannot change a spec that is already loaded"
            raise UsageError(what, "pass a path, a text or a mapping")
        return spec
    if isinstance(spec, Mapping):
        return specs.of_mapping(spec, settings=settings)
    if isinstance(spec, str) and "\n" in spec:
        return specs.parse(spec, settings=settings)
    check_type(spec, str | Path, "a spec is a path, a text or a mapping", "see docs/spec.md")
    return specs.load(Path(spec), settings)


def _asks_for_draws(spec: Spec) -> bool:
    """Whether a metric of the spec is of the user's own draws."""
    return any(request.uses(Requirement.DRAWS) for request in spec.requests)


def _read_draws(spec: Spec) -> Draws | None:
    """The draws of the posterior, where a metric is of them."""
    if spec.draws is None or not _asks_for_draws(spec):
        return None
    from fairaudit.counting.sources.sources import begin_pass

    with begin_pass(()):  # asks for room, before Polars is loaded
        from fairaudit.counting.sources.posterior_files import read_draws

        return read_draws(Path(spec.draws), [attribute.name for attribute in spec.protected])


def get_or_raise(value: Value | FairauditError) -> Value:
    """The value; raises it where it is an error."""
    if isinstance(value, FairauditError):
        raise value
    return value

"""`AuditTask`: a spec with the options of a run. It finds the data, the plan and fitted strata."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from fairaudit import spec as specs
from fairaudit.base.errors import (
    FailOn,
    FairauditError,
    SpecError,
    UsageError,
    check_type,
    suggest_known,
)
from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.names import quoted
from fairaudit.base.processes import Progress
from fairaudit.counting.columns import Cut, Quantile, SimilarityColumns
from fairaudit.counting.contract import Data, Engine
from fairaudit.counting.plan import Plan
from fairaudit.counting.sources import Frame
from fairaudit.counting.sources.dialects import Database
from fairaudit.counting.sources.files import Files
from fairaudit.counting.strata_models import FittedStrata
from fairaudit.cube import Rows
from fairaudit.judge import AnyCheck, Status
from fairaudit.judge.checks import match_ids
from fairaudit.metrics import Requirement
from fairaudit.pipeline import baseline as baselines
from fairaudit.pipeline.baseline import NO_TOLERANCE, Baseline, BaselineSource
from fairaudit.pipeline.plan_builder import plan, plan_to_fit
from fairaudit.pipeline.recode import Cubes, recode
from fairaudit.rows.fitted_models import fit_clusters, fit_propensity
from fairaudit.spec import (
    PropensityStrata,
    Protected,
    Spec,
    apply_cuts,
    needed_quantiles,
    spec_to_fit,
)

if TYPE_CHECKING:
    from fairaudit.counting.sources.posterior_files import Draws


def today() -> date:
    """The date in UTC by which waivers expire. SOURCE_DATE_EPOCH does not change this date."""
    return _clock().date()


def time_of_run() -> str:
    """The time of the run in UTC, or the time that SOURCE_DATE_EPOCH sets."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        moment = datetime.fromtimestamp(int(fixed), UTC) if fixed else _clock()
    except (ValueError, OverflowError, OSError) as error:
        what = "SOURCE_DATE_EPOCH is not a number of seconds since 1970"
        raise UsageError(what, "unset it, or set it to a number") from error
    return moment.replace(microsecond=0).isoformat()


def _clock() -> datetime:
    return datetime.now(UTC)


SpecLike: TypeAlias = str | Path | Mapping[str, object] | Spec
"""A path, a YAML text of several lines, a mapping with the same keys, or a loaded spec."""

DataLike: TypeAlias = Any
"""A path (also a glob or folder), a frame, a dict of columns, or None for the data of the spec."""

Value = TypeVar("Value")

_LONGEST = 1_000_000
"""The largest accepted `timeout`, in seconds."""


class RunOptions(Frozen):
    """The options of a run, as the user gives them; `AuditTask.read` checks them."""

    fail_on: FailOn | str = FailOn.FAIL
    only: str | Iterable[str] | None = None
    baseline: BaselineSource | None = None
    tolerance: Decimal | float | str = NO_TOLERANCE
    draws: str | Path | None = None
    settings: Iterable[str] = ()
    timeout: float | None = None


NO_OPTIONS = RunOptions()


class AuditTask(Frozen):
    """A spec with the options of a run: the checks to judge, and the plan of what to count.

    If the spec has `quantiles` or strata from models, `find_plan` adds the cuts and the models to
    the plan. `definitions` maps the id of each check to its fingerprint before cuts are applied.
    `draws` are the posterior draws, which are read in advance, so that no stage after the counts
    opens a file. A database must answer within `timeout` seconds; None sets no limit.
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
    ) -> AuditTask:
        """The task of a spec and the options of a run; raises `FairauditError` for faults.

        Pass `reads_draws=False` if the task is not used to compute a result.
        """
        created = time_of_run()  # refuses an invalid SOURCE_DATE_EPOCH, on which NumPy fails
        spec = _load(source, options.settings)
        if options.draws is not None:
            spec = replace(spec, draws=str(options.draws))
        uses_draws = any(request.uses(Requirement.DRAWS) for request in spec.requests)
        if spec.draws is None and uses_draws:
            what = "the spec has a metric of posterior draws but no `draws`"
            raise UsageError(what, "add `draws: theta.parquet` to the spec, or use --draws")
        if spec.subgroups is not None and spec.suppress_below is not None:
            # Reading refuses a spec file with both keys, so this spec was changed afterwards.
            what = "`subgroups` and `suppress_below` cannot be combined"
            raise UsageError(what, "remove `subgroups` or `suppress_below`")
        if options.fail_on not in [*FailOn]:
            raise UsageError(f"fail_on must be fail, warn or never, not {options.fail_on!r}")
        check_type(options.only, Iterable | None, "only is an id or a list of ids")
        only = (options.only,) if isinstance(options.only, str) else tuple(options.only or ())
        ids = [check.id for check in spec.checks]
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
        draws = None
        if reads_draws and uses_draws and spec.draws is not None:
            from fairaudit.counting.sources import begin_pass

            with begin_pass(()):  # checks the free memory before Polars is loaded
                from fairaudit.counting.sources.posterior_files import read_draws

                draws = read_draws(Path(spec.draws), [one.name for one in spec.protected])
        return cls(
            spec,
            plan(spec),
            checks,
            FailOn(options.fail_on),
            definitions,
            needed_quantiles(spec),
            earlier,
            draws,
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
        """The data to read: `data` if it is given, otherwise the data of the spec.

        Raises `UsageError` without data, or if data outside a database have a time limit.
        """
        if data is None and not self.spec.data:
            raise UsageError("the spec has no `data`", "add `data:` to the spec, or use --data")
        found: Data
        if data is None or isinstance(data, str | Path):
            names, base = self.spec.data, Path(self.spec.path).parent
            if data is not None:
                names, base = (str(data),), Path()
            database = Database.find(names, base)
            found = database or Files(names, base, self.spec.may_repeat_files)
        else:
            found = data if isinstance(data, Frame) else Frame(data)
        if self.timeout is None:
            return found
        if not isinstance(found, Database):
            what = "--timeout applies only to databases"
            raise UsageError(what, "remove it; `timeout 600 …` limits any command")
        return replace(found, timeout=self.timeout)

    def find_plan(self, data: Data, progress: Progress, engine: Engine) -> Plan:
        """The plan to count with, after quantiles and models are fitted to the data."""
        if not (self.quantiles or self.spec.modelled):
            return self.plan
        cuts: Mapping[Quantile, Cut] = {}
        if self.quantiles:
            cuts = engine.find_cuts(self.plan, self.quantiles, data, progress)
        if not self.spec.modelled:
            return plan(self.spec, cuts)

        models: dict[str, FittedStrata] = {}
        groups: dict[SimilarityColumns, list[Protected]] = {}
        for stratum in self.spec.modelled:
            if stratum.model is not None:
                groups.setdefault(stratum.model.features, []).append(stratum)
        for features, strata in groups.items():  # models of the same features share a pass
            needed = plan_to_fit(self.spec, cuts, features, MOST_FITTED)
            (counts,) = engine.count([needed], data, progress)
            spec = apply_cuts(self.spec, cuts)
            cubes = recode(get_or_raise(counts), spec_to_fit(spec))
            if cubes.rows is None:
                what = "a model makes strata from rows, and this source has no rows to read"
                raise UsageError(
                    what, "remove the strata that a model makes (`propensity`, `clusters`)"
                )
            for stratum in strata:
                if isinstance(stratum.model, PropensityStrata):
                    models[stratum.name] = _fit_propensity(stratum, stratum.model, spec, cubes)
                elif (wanted := stratum.model) is not None:
                    people, names = cubes.rows.people.features, ", ".join(cubes.rows.features.names)
                    fit = fit_clusters(people, wanted.k, wanted.seed)
                    what = f"k-means of {names}, seed {wanted.seed}, fitted to {_count(cubes.rows)}"
                    found = f"no clusters: {fit.reason}"
                    if fit.model is not None:
                        sizes = ", ".join(f"{n:,}" for n in fit.people)
                        found = (
                            f"{len(fit.people)} clusters of {sizes} people; "
                            f"{100 * fit.explained:.0f} % of the features' variance lies between "
                            f"clusters; within-cluster sum of squares {fit.within:,.4g}, "
                            "features standardised"
                        )
                    report = f"{stratum.name}: {what}; {found}. {_CAUTION}"
                    models[stratum.name] = FittedStrata(fit.model, report)
        return plan(self.spec, cuts, models)

    def locate(self, outcome: Value | FairauditError) -> Value | FairauditError:
        """Returns the outcome of a pass. An error gets the places of its columns in the spec."""
        return self.spec.locate(outcome) if isinstance(outcome, FairauditError) else outcome


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


def get_or_raise(value: Value | FairauditError) -> Value:
    """Returns the value, or raises it if it is an error."""
    if isinstance(value, FairauditError):
        raise value
    return value


MOST_FITTED = 100_000
"""A model of more people than this is fitted to a sample of the people."""

_CAUTION = (
    "The strata are estimated, and intervals and tests take them as given: the error of the model "
    "is not in them"
)


def _fit_propensity(
    stratum: Protected, wanted: PropensityStrata, spec: Spec, cubes: Cubes
) -> FittedStrata:
    rows, place = cubes.rows, cubes.cube.places([wanted.of])[0]
    assert rows is not None
    key = cubes.cube.keys[place]
    people = rows.people
    codes = cubes.cube.codes[rows.cells[people.entries], place]
    known = np.asarray((codes >= 0) & ~np.isin(codes, list(key.unknown)))
    attribute = next(protected for protected in spec.protected if protected.name == wanted.of)
    # The model separates a group from all others, or all others from the reference.
    levels = [level for code, level in enumerate(key.levels) if code not in key.unknown]
    is_group, reference = True, attribute.reference
    if wanted.group is not None:
        if wanted.group.value not in levels:
            hint = suggest_known(wanted.group.value, levels)
            message = f"{quoted(wanted.group.value)} is not a level of {wanted.of}{hint}"
            raise SpecError([wanted.group.fault(message)])
        code = key.levels.index(wanted.group.value)
    elif reference is not None and reference.value in levels:
        code, is_group = key.levels.index(reference.value), False
    elif len(levels) > 2:
        message = (
            f"{stratum.name}: {wanted.of} has {len(levels)} levels, and a propensity compares one "
            f"group with all others: name the group, as in `group: {levels[0]}`, or declare a "
            f"`reference` in columns.protected.{wanted.of}"
        )
        raise SpecError([stratum.column.fault(message)])
    else:  # the smaller one of two groups
        people_of = np.bincount(codes[codes >= 0], minlength=len(key.levels))
        code = min(map(key.levels.index, levels), key=lambda code: int(people_of[code]))
    member = codes[known] == code if is_group else codes[known] != code
    fit = fit_propensity(people.features.take(known), member, wanted.bins)
    level = key.levels[code]
    names = (level, "others") if is_group else (f"not {level}", level)
    what = f"{wanted.of} = {level}" if is_group else f"{wanted.of} other than {level}"
    features = ", ".join(rows.features.names)
    parts = [f"logistic model of {what} by {features}, fitted to {_count(rows)}"]
    if fit.model is not None:
        edges = ", ".join(f"{edge:.4g}" for edge in fit.model.edges)
        bins = len(fit.model.levels)
        parts.append(f"{bins} strata by its score, from {edges} on" if edges else "one stratum")
        apart = (f"{row.feature} {row.before:.3f} → {row.after:.3f}" for row in fit.balance)
        parts.append(f"standardised mean differences before → within strata: {', '.join(apart)}")
    else:
        parts.append(f"no strata: {fit.reason}")
    if fit.members is not None and fit.others is not None:
        sides = list(zip(names, (fit.members, fit.others), strict=True))
        ranges = (f"{name} {side.low:.4g} to {side.high:.4g}" for name, side in sides)
        parts.append(f"scores {', '.join(ranges)}")
        alone = " and ".join(
            f"{side.without_counterpart:,} of {side.people:,} {name}" for name, side in sides
        )
        parts.append(f"without a counterpart on the other side, and so in no stratum: {alone}")
    balance = tuple(replace(row, stratum=stratum.name) for row in fit.balance)
    return FittedStrata(fit.model, f"{stratum.name}: {'; '.join(parts)}. {_CAUTION}", balance)


def _count(rows: Rows) -> str:
    """A text with the number of people that a model was fitted to, and of people left out."""
    n = len(rows.people.entries)
    people = f"{n:,} people"
    if rows.is_sample:
        people = f"a sample of {n:,} of {rows.complete:,} people"
    lacking = rows.audited - rows.complete
    return f"{people} ({lacking:,} lack a feature and are in no stratum)" if lacking else people

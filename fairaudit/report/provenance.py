"""Prose report: provenance, profiles, ledger of rows, people; commands and links to the spec."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from fairaudit.base import names
from fairaudit.base.errors import Place
from fairaudit.base.inputs import is_file
from fairaudit.base.masking import mask
from fairaudit.base.names import printable
from fairaudit.metrics import find_metric
from fairaudit.metrics.reasons import describe_rule
from fairaudit.report import numbers
from fairaudit.report.blocks import Block, Column, Facts, Heading, tabulate, text_column
from fairaudit.result import AuditResult, ColumnReading, Provenance


def provenance(result: AuditResult) -> Iterator[Block]:
    """The section on provenance: the tool, the spec, the data, and how groups were counted."""
    origin = result.provenance
    if result.readings:
        yield Heading("Columns as they were read", is_record=True)
        yield tabulate("", READINGS, result.readings)
    yield Heading("Provenance", is_record=True)
    pairs = [
        ("tool", f"fairaudit {origin.version}"),
        ("spec", f"{names.copied(origin.spec_path)} (sha256 {origin.spec_sha256[:12]})"),
    ]
    pairs += [("changed by --set", names.line(setting)) for setting in origin.settings]
    if origin.not_run:
        pairs.append(("not run (--only)", numbers.first_few([*map(names.line, origin.not_run)])))
    for file in origin.files[:5]:
        lines = "" if file.lines is None else f", {numbers.whole(file.lines)} lines"
        size = f" ({numbers.whole(file.bytes)} bytes{lines})" if file.bytes else ""
        pairs.append(("data", f"{names.copied(file.path)}{size}"))
    if len(origin.files) > 5:  # only the first five are named
        pairs.append(("", f"and {len(origin.files) - 5} more files"))
    draws, draws_hash, counts_hash = origin.draws, origin.draws_sha256, origin.cube_sha256
    strata = origin.sample_strata
    drawn = f", drawn in the strata of the column {names.name(strata)}" if strata else ""
    smallest = []  # the minimum sizes of groups in comparisons
    if origin.minimum.size:
        smallest.append(f"{origin.minimum.size} people in the denominator")
    if events := origin.minimum.events:
        smallest.append(f"{events} people with each outcome expected at the overall rate")
    if origin.exclude_below is not None:
        smallest.append(f"excluded {names.line(describe_rule(origin.exclude_below))}")
    optional = {
        "draws": draws and draws_hash and f"{names.copied(draws)} (sha256 {draws_hash[:12]})",
        "written": names.line(origin.notation),
        "read by": origin.route,
        "filter": origin.filter and names.line(origin.filter),
        "people per row": origin.count and f"the column {names.name(origin.count)}",
        "survey weight": origin.weight
        and f"the column {names.name(origin.weight)}; "
        f"{'' if origin.sample_strata else 'the sampling design is not modelled, '}"
        f"intervals use the effective sample size; no weight is rounded by more than "
        f"{origin.weight_error:.1g}",
        "clusters": origin.cluster
        and f"{numbers.whole(origin.clusters or 0)}, by the column {names.name(origin.cluster)}"
        f"{drawn}; "
        "only intervals and tests named cluster-robust account for the clusters",
        "smallest group": "; ".join(smallest),
        "suppressed": origin.suppress_below
        and (
            f"counts of fewer than {origin.suppress_below} people, and counts that would reveal "
            "them; zeros of published groups are shown"
        ),
        "counts": f"sha256 {counts_hash[:12]}" if counts_hash else numbers.SUPPRESSED,
        "created": origin.created,
    }
    yield Facts([*pairs, *((name, str(text)) for name, text in optional.items() if text)])


READINGS: tuple[Column[ColumnReading], ...] = (
    text_column("column", lambda row: names.name(row.column)),
    text_column("holds", lambda row: row.kind),
    text_column("from", lambda row: names.line(row.low)),
    text_column("to", lambda row: names.line(row.high)),
    Column("blank", lambda row: numbers.percent(row.blank)),
    Column("different", lambda row: "" if row.distinct is None else numbers.whole(row.distinct)),
    text_column(
        "examples",
        lambda row: ", ".join(names.quoted(numbers.short(text)) for text in row.examples),
    ),
)


def origin(result: AuditResult) -> str:
    """The spec, the data, the date and the version in a line."""
    made = result.provenance
    files = numbers.first_few([names.copied(file.path) for file in made.files], 2)
    spec = f"{names.copied(made.spec_path)} (sha256 {made.spec_sha256[:12]})"
    return "; ".join(filter(None, [spec, files, made.created, f"fairaudit {made.version}"]))


def name_spec(origin: Provenance, path: str | None = None) -> str:
    """The spec (or `path`) as an argument of `run`, with the options `--set` and `--only`."""
    words = [names.copied(origin.spec_path if path is None else path)]
    for setting in origin.settings:
        words += ["--set", names.printable(setting)]
    for name in origin.only:
        words += ["--only", names.printable(name)]
    return shlex.join(words)


def profiles(result: AuditResult) -> Iterator[Block]:
    """The contents of the profiles that the spec names."""
    for profile in result.provenance.profiles:
        yield Heading(f"Profile {names.name(profile.name)}", is_record=True)
        said = {
            "what": profile.title,
            "as of": profile.date,
            "source": profile.source,
            "caution": profile.caution,
        }
        yield Facts([(name, names.line(text)) for name, text in said.items()])
        yield tabulate("", _PROFILE, profile.text.splitlines())


_PROFILE: tuple[Column[str], ...] = (
    text_column("text of the profile", lambda line: names.line(line).replace("  ", "\u00a0\u00a0")),
)


def ledger(result: AuditResult) -> Iterator[Block]:
    """The section on rows: how many were read, how many were left out and why, how many count."""
    counts = result.ledger
    yield Heading("Account of all rows")
    has_people = counts.people != counts.counted
    rows = [("read", counts.read, "", ""), ("filtered out", counts.filtered, "", "")]
    rows.append(("filter undecided", counts.undecided, "", "a required value is missing"))
    rows = [row for row in rows if row[1] != 0 or row[0] == "read"]
    rows += [
        ("dropped", line.rows, names.name(line.column), line.reason) for line in counts.dropped
    ]
    rows.append(("counted", counts.counted, "", _people(counts.people) if has_people else ""))
    for line in counts.set_aside:
        people = f" ({_people(line.people)})" if has_people else ""
        rows.append(("  of these", line.rows, names.name(line.column), f"{line.reason}{people}"))
    yield tabulate("", _LEDGER, rows)


_LEDGER: tuple[Column[tuple[str, int | None, str, str]], ...] = (
    text_column("", lambda row: row[0]),
    Column("rows", lambda row: numbers.whole(row[1])),
    text_column("column", lambda row: row[2]),
    text_column("why", lambda row: row[3]),
)


def _people(people: int | None) -> str:
    return f"{numbers.whole(people)} people"


def path_in_repository(file: str) -> str:
    """The path from the top of the repository if the file is inside it, or the given path."""
    named = Path(file)
    top = os.environ.get("GITHUB_WORKSPACE")
    if top:
        # First the path as written, because a link in the repository is a separate file.
        pairs = [(Path(os.path.normpath(Path.cwd() / named)), Path(top))]
        pairs.append((named.resolve(), Path(top).resolve()))
        within = (path.relative_to(root) for path, root in pairs if path.is_relative_to(root))
        named = next(within, named)
    return printable(named.as_posix())


def link_to_line(place: Place) -> str:
    """The address of a line in the commit that a workflow runs on; empty outside a workflow."""
    repository, commit = (os.environ.get(f"GITHUB_{name}", "") for name in ("REPOSITORY", "SHA"))
    server = _find_site("GITHUB_SERVER_URL")
    path = path_in_repository(place.file)
    is_within = (
        is_file(place.file) and not path.startswith(("/", "../")) and path not in {"-", ".."}
    )
    if not (server and repository and commit and is_within):
        return ""
    address = f"{repository}/blob/{commit}/{path}"
    return f"{server}/{quote(address)}#L{place.line}"


def link_to_metric(name: str) -> str:
    """The address of a metric on the site that `FAIRAUDIT_DOCS` names; empty without one."""
    site = _find_site("FAIRAUDIT_DOCS")
    if not site or find_metric(name) is None:
        return ""
    return f"{quote(site, safe=':/%')}/metrics.html#{name}"


def _find_site(variable: str) -> str:
    """The https address in an environment variable; empty without one, or if it has a password."""
    site = os.environ.get(variable, "").strip().rstrip("/")
    return site if site.startswith("https://") and mask(site) == site else ""

"""Reads a file of waivers: keys of an entry, every fault with its place."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Annotated

from fairaudit.base import inputs
from fairaudit.base.errors import Fault, SpecError, did_you_mean
from fairaudit.base.frozen import Frozen
from fairaudit.base.names import quoted
from fairaudit.cube import Group
from fairaudit.judge import AnyCheck, ReversalCheck, SubgroupCheck
from fairaudit.judge.waivers import Waiver
from fairaudit.spec import text
from fairaudit.spec.faults import validate_entries
from fairaudit.spec.model import Spec
from fairaudit.spec.reading import Form, Words
from fairaudit.spec.text import Document, LocatedText


def _read_group(value: object) -> object:
    """`all` as no group at all; else a level for each attribute."""
    if value == "all":
        return {}
    if not isinstance(value, dict) or not value:
        raise ValueError("expected a level for each attribute, such as {gender: F}, or `all`")
    return value


class _WaiverEntry(Frozen):
    """An entry of a file of waivers."""

    check: Words
    group: Annotated[dict[str, Words], Form(_read_group)]
    reason: Words
    approved_by: Words
    expires: date


def read_waivers(path_text: LocatedText, spec: Spec) -> tuple[Waiver, ...]:
    """The waivers in the file that a spec names, relative to the spec; raises `SpecError`.

    A waiver of an unknown check is allowed, because several specs may share a file.
    """
    path = Path(spec.path).parent / path_text.value
    try:
        content = inputs.read(path, inputs.SPEC).decode("utf-8-sig")
    except OSError as error:
        why = error.strerror or str(error)
        raise SpecError([path_text.fault(f"the file {path} cannot be read: {why}")]) from error
    except UnicodeDecodeError as error:
        fault = path_text.fault(f"the file {path} is not UTF-8: save it as UTF-8")
        raise SpecError([fault]) from error
    document = text.read(content, str(path), "the file of waivers")
    entries, faults = validate_entries(document, _WaiverEntry)
    checks = {check.id: check for check in spec.checks}
    known = [attribute.name for attribute in spec.protected]
    over = () if spec.subgroups is None else spec.subgroups.over
    waivers: dict[tuple[str, Group], Waiver] = {}
    for number, entry in entries.items():
        group = tuple(sorted(entry.group.items()))
        check = checks.get(entry.check)
        columns = over if isinstance(check, SubgroupCheck) else known
        faults += _find_group_faults(document, number, group, columns, check)
        first = waivers.get((entry.check, group))
        if first is not None and first.place is not None:
            message = f"this check and group are waived twice, first in line {first.place.line}"
            faults.append(document.fault((number,), message))
        place = document.place((number,))
        waivers.setdefault(
            (entry.check, group),
            Waiver(entry.check, group, entry.reason, entry.approved_by, entry.expires, place),
        )
    if faults:
        raise SpecError(faults)
    return tuple(waivers.values())


def _find_group_faults(
    document: Document, number: int, group: Group, known: Sequence[str], check: AnyCheck | None
) -> list[Fault]:
    """The faults of a group: it names the attributes of its check, all of them and no other."""
    names = [name for name, _ in group]
    faults = [
        document.fault(
            (number, "group", name),
            f"no such attribute: {quoted(name)}{did_you_mean(name, known)}",
            key=True,
        )
        for name in names
        if name not in known
    ]
    if faults or check is None or not names:
        return faults
    if isinstance(check, ReversalCheck):
        message = "a check on reversals can only be waived as a whole: use `group: all`"
        return [document.fault((number, "group"), message)]
    # Of subgroups any group is waived, with all subgroups in it.
    if isinstance(check, SubgroupCheck) or set(names) == set(check.by):
        return []
    by = ", ".join(check.by)
    return [
        document.fault(
            (number, "group"), f"the check is by {by}: give one level for each of these attributes"
        )
    ]

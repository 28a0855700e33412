"""Which checks a text names: an id, its beginning, a part of it, or a glob."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from fairaudit import names
from fairaudit.errors import UsageError, did_you_mean

_MOST_LISTED = 8


def match_ids(text: str, ids: Sequence[str]) -> list[str]:
    """The ids that a text names: one by itself, by its beginning or a part; several by a glob.

    Raises `UsageError` where none matches, or where several do and the text is no glob.
    """
    if text in ids:
        return [text]
    matches = [name for name in ids if fnmatchcase(name, text)]
    if matches:
        return matches
    matches = [name for name in ids if name.startswith(text)] if text else []
    matches = matches or ([name for name in ids if text in name] if text else [])
    if len(matches) == 1:
        return matches
    if matches:
        what = f"{len(matches)} checks have {names.quoted(text)} in their id"
        raise UsageError(what, f"there is {_listed(matches)}; a glob may name several")
    hint = f"there is {_listed(ids)}" if ids else "the spec sets no limit"
    raise UsageError(f"no check {names.quoted(text)}{did_you_mean(text, ids)}", hint)


def _listed(ids: Sequence[str]) -> str:
    more = f", and {len(ids) - _MOST_LISTED} more" if len(ids) > _MOST_LISTED else ""
    return ", ".join(map(names.copied, ids[:_MOST_LISTED])) + more

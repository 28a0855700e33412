"""The grammar of RFC 4180: what a record is, and what is wrong with one that is none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

QUOTED = r'"(?:[^"\r]|"")*"'
_QUOTED_ON_MORE_LINES = r'"(?:[^"]|"")*"'


def record(separator: str, more: str, *, multiline: bool = False) -> str:
    """A regular expression for a whole record of fields, quoted or plain; `more` repeats them."""
    mark = re.escape(separator)
    quoted = _QUOTED_ON_MORE_LINES if multiline else QUOTED
    field = rf'(?:{quoted}|[^"\r\n{mark}]*)'
    return rf"^{field}(?:{mark}{field}){more}$"


def records(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Records that may run over several lines, each with the number of its first line.

    A record goes on while its quotes are not closed; the last one may stay open.
    """
    first, parts, odd = 1, list[str](), False
    for number, line in enumerate(lines, start=1):
        if not parts:
            first = number
        parts.append(line)
        odd ^= line.count('"') % 2 == 1
        if not odd:
            yield first, _without_end("".join(parts))
            parts = []
    if parts:
        yield first, _without_end("".join(parts))


def _without_end(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r")


def fault_of(text: str, separator: str, fields: int, *, multiline: bool) -> tuple[str, str | None]:
    """What is wrong with a record that is none, without what it holds, and a hint."""
    quotes = text.count('"')
    if quotes % 2:
        if multiline:
            return "a quote is not closed", "inner quotes are doubled"
        hint = "records over several lines: say `format: {multiline: true}`"
        return "a quote is not closed in its line", hint
    if "\r" in re.sub(_QUOTED_ON_MORE_LINES, "", text) or ("\r" in text and not multiline):
        return "a carriage return inside the line", "end lines in LF or CRLF, all of them"
    if quotes and not re.search(record(separator, "*", multiline=multiline), text):
        hint = 'a field with quotes is written "…" with inner quotes doubled'
        return "quotes inside a field", hint
    found = re.sub(_QUOTED_ON_MORE_LINES, "", text).count(separator) + 1
    plural = "" if found == 1 else "s"
    hint = "check the line, or `format: {separator: …}`"
    return f"{found} field{plural} where the header has {fields}", hint

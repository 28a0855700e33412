"""Lines checked by a regular expression, against a reader of one character at a time."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from conftest import examples
from hypothesis import example, given
from hypothesis import strategies as st

from fairaudit.base.errors import DataError
from fairaudit.base.frozen import replace
from fairaudit.base.processes import SILENT
from fairaudit.counting.columns import CsvFormat
from fairaudit.counting.sources import inspect_file
from fairaudit.counting.sources.csv_reader import check_lines

FIELDS = ["", "a", "é", "ab cd", '""', '"a"', '"a,b"', '"a""b"', '""""', '""","""', "x" * 70]
FAULTS = ['"', 'a"', '"a', '"a"b', '"a"" "b', "a,b", '"\n"', "\r", "a\rb", '"\r"', '"a" ']


def records(text: str, separator: str, fields: int) -> int | None:
    """The records of lines that each are one, character by character."""
    count = 0
    for line in text.removesuffix("\n").split("\n"):
        found = 1
        state = "start"
        for sign in line.removesuffix("\r"):
            if sign == "\r":
                return None
            if state == "quoted":
                state = "closed" if sign == '"' else "quoted"
            elif sign == separator:
                found, state = found + 1, "start"
            elif sign == '"' and state in ("start", "closed"):
                state = "quoted"
            elif sign == '"' or state == "closed":
                return None
            else:
                state = "plain"
        if state == "quoted" or found != fields or line in ("", "\r"):
            return None
        count += 1
    return count


def form_of(separator: str) -> CsvFormat:
    return CsvFormat(separator=separator, decimal=".", encoding="utf-8", multiline=False)


def looked_at(text: str, separator: str, fields: int) -> int | None:
    """The records below a header, by the check in Python; None where it refuses one.

    A blank line is none to the grammar, and is left out of what is counted.
    """
    header = separator.join(map(str, range(fields)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "data.csv")
        path.write_bytes(f"{header}\n{text}".encode())
        file = replace(inspect_file(path, "data.csv"), header=tuple(header.split(separator)))
        try:
            lines = check_lines(file, form_of(separator), SILENT)
        except DataError:
            return None
    return None if lines.blank else lines.records


def lines(field: st.SearchStrategy[str], fields: st.SearchStrategy[int]) -> st.SearchStrategy[str]:
    line = fields.flatmap(lambda n: st.lists(field, min_size=n, max_size=n).map(",".join))
    ends = st.sampled_from(["\n", "\r\n"])
    whole = st.tuples(line, ends).map("".join)
    return st.lists(whole, min_size=1, max_size=12).map("".join)


@examples(60)
@given(lines(st.sampled_from(FIELDS), st.just(3)))
def test_sound_lines_are_counted(text: str) -> None:
    assert looked_at(text, ",", 3) == text.count("\n")


@examples(120)
@given(lines(st.sampled_from([*FIELDS, *FAULTS]), st.integers(2, 4)))
@example('a,b,"\nc",d,e\n')
@example("a,b\nc,d,e,f\n")
@example("a,b,c\n\na,b,c\n")
def test_a_fault_is_seen_wherever_it_stands(text: str) -> None:
    assert looked_at(text, ",", 3) == records(text, ",", 3)


@examples(120)
@given(st.text(alphabet='a;,"\r\n', max_size=200).map(lambda text: text + "\n"), st.integers(1, 3))
def test_any_signs_are_read_as_by_the_grammar(text: str, fields: int) -> None:
    assert looked_at(text, ";", fields) == records(text, ";", fields)


@pytest.mark.parametrize("at", [0, 7, 62, 63, 64, 65, 127, 128, 500])
@pytest.mark.parametrize("bad", ['"', ",", "\n", "\r", 'x"y"'])
def test_a_fault_at_the_edge_of_a_word_is_seen(at: int, bad: str) -> None:
    text = "abc,defghi\n" * 60
    damaged = text[:at] + bad + text[at:]
    assert looked_at(text, ",", 2) == 60
    assert looked_at(damaged, ",", 2) == records(damaged, ",", 2)


def test_what_is_no_utf8_is_told() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "data.csv")
        path.write_bytes("a,b\nä,b\n".encode("latin-1"))
        file = replace(inspect_file(path, "data.csv"), header=("a", "b"))
        with pytest.raises(DataError, match=r"data\.csv:2: not UTF-8"):
            check_lines(file, form_of(","), SILENT)

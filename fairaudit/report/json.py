"""The machine-readable report: the result as the codec writes it, with a sentence for each row.

Full precision, integer numerators and denominators, no NaN and no Infinity: a value that does not
exist is null, and its `state` says why.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fairaudit.codec import Result, write, write_answers
from fairaudit.report import diagnostics, lattice, reversals, subgroups
from fairaudit.result import Answer, AuditResult

_UNSEEN = re.compile(
    r"[\x7f-\x9f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)
"""The characters to escape: invisible characters, and characters that change the direction."""

_ENCODER = msgspec.json.Encoder()
_SEEN = bytes(range(0x7F)).replace(b"#", b"")


def render(result: AuditResult) -> str:
    """The result as one JSON document."""
    return written(document(result))


def document(result: AuditResult) -> dict[str, Any]:
    """The result as plain data, with sentences for checks, reversals, gaps and subgroups."""
    tree = write(Result(result))
    _add_sentences(tree, result)
    return tree


def _add_sentences(tree: dict[str, Any], result: AuditResult) -> None:
    inference = result.provenance.inference
    every = diagnostics.diagnose_by_id(result).values()
    for row, diagnostic in zip(tree["checks"], every, strict=True):
        row["sentence"] = diagnostic.sentence
    for row, reversal in zip(tree["reversals"], result.reversals, strict=True):
        row["sentence"] = reversals.sentence(reversal, inference.alpha)
    for subset, listed in zip(tree["lattice"], result.lattice, strict=True):
        for row, appearance in zip(subset["appears"], listed.appears, strict=True):
            row["sentence"] = lattice.sentence(appearance, inference.alpha)
    if result.subgroups is not None:
        for search, rate in zip(tree["subgroups"]["rates"], result.subgroups.rates, strict=True):
            for row, subgroup in zip(search["listed"], rate.listed, strict=True):
                row["sentence"] = subgroups.sentence(subgroup, rate, inference)


def render_answers(answers: Sequence[Answer], *, all_rows: bool = True) -> bytes:  # noqa: ARG001  # it always has all rows
    """The answers as one JSON document."""
    return encode(of_answers(answers))


def encode_for(text: str, encoding: str) -> str:  # noqa: ARG001  # ASCII is in every encoding
    """A document in ASCII; all other characters become JSON escapes."""
    return re.sub(r"[^\0-\x7f]", lambda sign: _escape(sign[0]), text)


def of_answers(answers: Sequence[Answer]) -> dict[str, Any]:
    """The document of the answers; for a single answer, the document of its result or error.

    In the document of a single answer, `asked` names the spec and the data file.
    """
    tree = write_answers(answers)
    trees = [row["result"] for row in tree["answers"]] if len(answers) > 1 else [tree]
    for answer, result in zip(answers, trees, strict=True):
        if isinstance(answer.result, AuditResult):
            _add_sentences(result, answer.result)
    return tree


def written(tree: Mapping[str, Any]) -> str:
    """A document as text."""
    return encode(tree).decode()


def encode(tree: Mapping[str, Any]) -> bytes:
    """A document in UTF-8 with one row of a list on each line, for readers, grep and diffs.

    Invisible characters and commands of build servers (`##vso[…]`) are written as JSON escapes.
    """
    text = bytearray(b"{\n ")
    for name, value in tree.items():
        _append(text, name, b": ")
        if isinstance(value, list) and value:
            text += b"[\n  "
            for row in value:
                _append(text, row, b",\n  ")
            text[-4:] = b"\n ],\n "
        else:
            _append(text, value, b",\n ")
    text[-3:] = b"\n}\n"
    encoded = bytes(text)
    # Only strings can have such characters. Without plain ASCII, only few characters are searched.
    others = encoded.translate(None, _SEEN)
    for sign in {*_UNSEEN.findall(others.decode())}:
        encoded = encoded.replace(sign.encode(), _escape(sign).encode())
    # The second `#` of `##vso[…]`, which a build server would read as a command.
    has_command = b"#" in others and b"##" in encoded
    return re.sub(rb"(?<=#)#", rb"\\u0023", encoded) if has_command else encoded


def _append(text: bytearray, value: object, end: bytes) -> None:
    before = len(text)
    try:
        _ENCODER.encode_into(value, text, -1)
    except (TypeError, UnicodeEncodeError):  # a number of NumPy; a path that is not text
        text[before:] = json.dumps(value, allow_nan=False, separators=(",", ":")).encode()
    text += end


def _escape(sign: str) -> str:
    """The JSON escape of a character: one or two UTF-16 units."""
    return re.sub("(....)", r"\\u\1", sign.encode("utf-16-be").hex())

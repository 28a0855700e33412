"""The machine-readable report: the result as the codec writes it, with its rows in sentences.

Full precision, integer numerators and denominators, no NaN and no Infinity: a value that does not
exist is null, and its `state` says why.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from fairaudit.codec import Result, write, write_answers
from fairaudit.report import appearances, diagnostics, reversal_sentences, subgroups
from fairaudit.result import Answer, AuditResult

_UNSEEN = re.compile(
    r"[\x7f-\x9f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
"""What is written as an escape: signs that are not seen or turn the direction of writing, and
halves of characters, as paths that are no text have."""


def render(result: AuditResult) -> str:
    """The result as one JSON document."""
    return written(document(result))


def document(result: AuditResult) -> dict[str, Any]:
    """The result as plain data; checks, reversals, appearances and subgroups also in words."""
    tree = write(Result(result))
    _add_sentences(tree, result)
    return tree


def _add_sentences(tree: dict[str, Any], result: AuditResult) -> None:
    inference = result.provenance.inference
    explanations = diagnostics.explanations_of(result)
    for row, finding in zip(tree["checks"], result.findings, strict=True):
        row["sentence"] = explanations[finding.check.id].sentence
    for row, reversal in zip(tree["reversals"], result.reversals, strict=True):
        row["sentence"] = reversal_sentences.sentence(reversal, inference.alpha)
    for subset, lattice in zip(tree["lattice"], result.lattice, strict=True):
        for row, appearance in zip(subset["appears"], lattice.appears, strict=True):
            row["sentence"] = appearances.sentence(appearance, inference.alpha)
    if result.subgroups is not None:
        for search, rate in zip(tree["subgroups"]["rates"], result.subgroups.rates, strict=True):
            for row, subgroup in zip(search["listed"], rate.listed, strict=True):
                row["sentence"] = subgroups.sentence(subgroup, rate, inference)


def render_answers(answers: Sequence[Answer], *, all_rows: bool = True) -> str:  # noqa: ARG001  # it always has all rows
    """The answers as one JSON document."""
    return written(of_answers(answers))


def spell(text: str, encoding: str) -> str:  # noqa: ARG001  # ASCII is in every encoding
    """A document in ASCII: all other signs are escapes of JSON."""
    return written(json.loads(text), ascii_only=True)


def of_answers(answers: Sequence[Answer]) -> dict[str, Any]:
    """One answer as the document of its result, or error; several as one document of them all.

    Of one `asked` says which spec and file it is the answer for.
    """
    tree = write_answers(answers)
    trees = [row["result"] for row in tree["answers"]] if len(answers) > 1 else [tree]
    for answer, result in zip(answers, trees, strict=True):
        if isinstance(answer.found, AuditResult):
            _add_sentences(result, answer.found)
    return tree


def written(tree: Mapping[str, Any], *, ascii_only: bool = False) -> str:
    """A document as text, one row of a list on each line: for people, for grep and for diffs.

    What a log would not show, or a build server would read as a command, is an escape of JSON.
    """
    encode = json.JSONEncoder(
        ensure_ascii=ascii_only, allow_nan=False, separators=(",", ":")
    ).encode
    members = []
    for name, value in tree.items():
        rows = ",\n  ".join(map(encode, value)) if isinstance(value, list) else ""
        members.append(f"{encode(name)}: " + (f"[\n  {rows}\n ]" if rows else encode(value)))
    text = "{\n " + ",\n ".join(members) + "\n}\n"
    # Such signs stand in strings alone.
    text = _UNSEEN.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)
    # Of `##vso[…]` the second `#`: a build server would read a command.
    return re.sub(r"(?<=#)#", r"\\u0023", text) if "##" in text else text

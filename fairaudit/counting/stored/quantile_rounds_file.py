"""Files of quantile rounds (`.cuts`): writing, reading and adding them up."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from fairaudit.base.errors import DataError
from fairaudit.base.frozen import replace
from fairaudit.base.inputs import refuse_special
from fairaudit.base.names import copied
from fairaudit.base.version import __version__
from fairaudit.counting.quantile_rounds import VERSION, CutsRound
from fairaudit.counting.stored.counts_header import (
    hash_file,
    parse_stored,
    refuse_other_plans,
    refuse_twice,
    spell_stored,
    spell_without_digest,
)


def write(cuts: CutsRound) -> bytes:
    """A round as a file: JSON with a fingerprint of all that it says."""
    plan = replace(cuts.plan.counted(), cuts={})
    cuts = replace(cuts, plan=plan, made_by=f"fairaudit {__version__}", digest="")
    return spell_stored(replace(cuts, digest=_digest(spell_stored(cuts))))


def _digest(content: bytes) -> str:
    return hashlib.sha256(spell_without_digest(content)).hexdigest()


def read(path: Path) -> CutsRound:
    """The round in a file; raises `DataError` where it holds none, or is damaged."""
    name = copied(str(path))
    hint = "write it again: fairaudit count SPEC -o part.cuts"
    try:
        refuse_special(path)
        content = path.read_bytes()
        cuts = parse_stored(content, CutsRound)
    except OSError as error:
        raise DataError(f"{name}: {error.strerror or error}", "check the path") from error
    except ValueError as error:
        raise DataError(f"{name} is damaged or not a cuts file", hint) from error
    if cuts.version != VERSION or _digest(content) != cuts.digest:
        raise DataError(
            f"{name} is damaged or from another version: the fingerprint does not match", hint
        )
    return cuts


def add(paths: Sequence[Path], *, repeated: bool = False) -> CutsRound:
    """One round of several places as one; raises `DataError` for what does not add up."""
    total = read(paths[0])
    for path in paths[1:]:
        part = read(path)
        refuse_other_plans(total.plan, part.plan, path, paths[0])
        if [span.span for span in total.spans] != [span.span for span in part.spans]:
            what = f"{copied(str(path))} and {copied(str(paths[0]))} belong to different rounds"
            raise DataError(what, "use the same --cuts for each part")
        if not repeated:
            refuse_twice(total.sources, part.sources, path)
        total += part
    return total


def hash_sources(cuts: CutsRound, paths: Sequence[Path]) -> CutsRound:
    """The round with the SHA-256 of each of its files, which lie at these paths."""
    sources = zip(cuts.sources, paths, strict=True)
    hashed = tuple(replace(source, sha256=hash_file(path)) for source, path in sources)
    return replace(cuts, sources=hashed)

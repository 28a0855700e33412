"""Levels that are likely one, and what the counts would be if they were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairaudit.cube import NO_LEVEL, UNKNOWN, Cube, Role
from fairaudit.names import quoted
from fairaudit.recode.values import alike, listing


@dataclass(frozen=True, slots=True, eq=False)
class Alike:
    """Levels of attributes and strata that look like one, and the `cube` in which they are one."""

    levels: dict[str, list[list[str]]]
    cube: Cube

    @classmethod
    def of(cls, cube: Cube) -> Alike | None:
        """None where all levels look different."""
        found: dict[str, list[list[str]]] = {}
        codes = cube.codes.copy()
        for at, key in enumerate(cube.keys):
            if key.role not in {Role.PROTECTED, Role.STRATUM}:
                continue
            same = alike([level for level in key.levels if level != UNKNOWN])
            if not same:
                continue
            found[key.name] = same
            place = np.arange(len(key.levels) + 1, dtype=np.int32)
            for first, *others in same:
                for level in others:
                    place[key.levels.index(level)] = key.levels.index(first)
            codes[:, at] = np.where(codes[:, at] == NO_LEVEL, NO_LEVEL, place[codes[:, at]])
        return cls(found, replace(cube, codes=codes)) if found else None

    def listed(self, names: Sequence[str]) -> str:
        """The levels of some columns in words."""
        return "; ".join(
            f"{listing(same)} of {quoted(name)}" for name in names for same in self.levels[name]
        )

"""Whether to print in colours: what the command line asks, else what the environment asks."""

from __future__ import annotations

import os
from enum import StrEnum


class Color(StrEnum):
    """What `--color` may be."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


def is_colored(color: Color) -> bool | None:
    """Whether to print in colours; None where the stream decides.

    `NO_COLOR`, `FORCE_COLOR`, `CLICOLOR_FORCE` and `CLICOLOR` are as no-color.org, force-color.org
    and bixense.com/clicolors have them, in this order.
    """
    if color is not Color.AUTO:
        return color is Color.ALWAYS
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR") or os.environ.get("CLICOLOR_FORCE", "0") not in {"", "0"}:
        return True
    return False if os.environ.get("CLICOLOR") == "0" else None

"""The version of the tool. Its only place: the build reads it here, too."""

from __future__ import annotations

__version__ = "0.1.0"
